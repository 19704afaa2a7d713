"""The names of `scipy.integrate`: functions of Tensors where there is a derivative."""

from scipy import integrate as _integrate  # type: ignore[import-untyped]

from tracegrad.scipy.dispatching import names_of

globals().update(names_of(_integrate))
