"""The names of `scipy.special`: functions of Tensors where there is a derivative."""

from scipy import special as _special  # type: ignore[import-untyped]

from tracegrad.scipy.dispatching import names_of

globals().update(names_of(_special))
