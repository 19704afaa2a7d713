"""The names of `scipy.linalg`: functions of Tensors where there is a derivative."""

from scipy import linalg as _linalg  # type: ignore[import-untyped]

from tracegrad.scipy.dispatching import names_of

globals().update(names_of(_linalg))
