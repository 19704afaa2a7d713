"""The names of `scipy.interpolate`: functions of Tensors where there is a derivative."""

from scipy import interpolate as _interpolate  # type: ignore[import-untyped]

from tracegrad.scipy.dispatching import names_of

globals().update(names_of(_interpolate))
