"""The names of `scipy.optimize`: functions of Tensors where there is a derivative."""

from scipy import optimize as _optimize  # type: ignore[import-untyped]

from tracegrad.scipy.dispatching import names_of

globals().update(names_of(_optimize))
