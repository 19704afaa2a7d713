"""The op families enter; the flat namespace of functions on arrays leaves (``tg.sum``, ``tg.exp``).

Every family lists in its ``__all__`` what users see, under the array API standard's and NumPy's
names; aliases, dtypes and constants stand here.
"""

# ruff: noqa: F401, F403, F405

from __future__ import annotations

from numpy import (
    bool,
    complex64,
    complex128,
    e,
    float16,
    float32,
    float64,
    inf,
    int8,
    int16,
    int32,
    int64,
    nan,
    newaxis,
    pi,
    uint8,
    uint16,
    uint32,
    uint64,
)

from tracegrad.functions import function_of as _function_of
from tracegrad.making import asarray
from tracegrad.methods import install_methods as _install_methods
from tracegrad.methods import power
from tracegrad.ops.activations import *
from tracegrad.ops.building import *
from tracegrad.ops.calculus import *
from tracegrad.ops.convolving import *
from tracegrad.ops.counting import *
from tracegrad.ops.creation import *
from tracegrad.ops.einsum import *
from tracegrad.ops.elements import *
from tracegrad.ops.elementwise import *
from tracegrad.ops.fitting import *
from tracegrad.ops.indexing import *  # type: ignore[assignment]  # `where` of one argument too
from tracegrad.ops.joining import *
from tracegrad.ops.linear import *
from tracegrad.ops.matrix_norms import norm
from tracegrad.ops.nan import *
from tracegrad.ops.norms import *
from tracegrad.ops.numbers import *
from tracegrad.ops.padding import *
from tracegrad.ops.polynomials import *
from tracegrad.ops.powers import *
from tracegrad.ops.products import *
from tracegrad.ops.quantiles import *
from tracegrad.ops.record import OpRecord as _OpRecord
from tracegrad.ops.reductions import *
from tracegrad.ops.selecting import *
from tracegrad.ops.sets import *
from tracegrad.ops.shape import *
from tracegrad.ops.softmax import *
from tracegrad.ops.sorting import *
from tracegrad.ops.statistics import *
from tracegrad.ops.windows import *

abs = absolute
acos = arccos
acosh = arccosh
around = round
asin = arcsin
asinh = arcsinh
atan = arctan
atan2 = arctan2
atanh = arctanh
bitwise_not = invert = bitwise_invert
conjugate = conj
degrees = rad2deg
fix = trunc
left_shift = bitwise_left_shift
mod = remainder
pow = power
radians = deg2rad
right_shift = bitwise_right_shift
trapz = trapezoid
true_divide = divide

globals().update(
    {name: _function_of(op) for name, op in globals().items() if isinstance(op, _OpRecord)}
)
__all__ = [name for name in dir() if not name.startswith("_") and name != "annotations"]

_install_methods(globals())
