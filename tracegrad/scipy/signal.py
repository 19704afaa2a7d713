"""The names of `scipy.signal`; `convolve` takes HIPS autograd's arguments, and Tensors."""

from scipy import signal as _signal  # type: ignore[import-untyped]

from tracegrad.scipy.dispatching import convolve_of, names_of

globals().update(names_of(_signal))
convolve = convolve_of(_signal.convolve)
