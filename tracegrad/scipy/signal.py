"""The names of `scipy.signal`: functions of Tensors where there is a derivative."""

from scipy import signal as _signal  # type: ignore[import-untyped]

from tracegrad.scipy.dispatching import names_of

globals().update(names_of(_signal))
