"""The flat namespace of functions on arrays (``tg.sum``, ``tg.exp``), from the op families.

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

from tracegrad.ops.elementwise.activations import *
from tracegrad.ops.elementwise.number_parts import *
from tracegrad.ops.elementwise.powers import *
from tracegrad.ops.elementwise.ufuncs import *
from tracegrad.ops.function_of_elements import *
from tracegrad.ops.linear_algebra.contractions import *
from tracegrad.ops.linear_algebra.einsum import *
from tracegrad.ops.linear_algebra.matrix_norms import norm
from tracegrad.ops.linear_algebra.vector_norms import *
from tracegrad.ops.record import OpRecord as _OpRecord
from tracegrad.ops.reductions.averages import *
from tracegrad.ops.reductions.nan_statistics import *
from tracegrad.ops.reductions.products import *
from tracegrad.ops.reductions.softmax import *
from tracegrad.ops.reductions.sums_and_extremes import *
from tracegrad.ops.shape.creation import *
from tracegrad.ops.shape.grids_and_blocks import *
from tracegrad.ops.shape.indexing import *  # type: ignore[assignment]  # `where` of one argument too
from tracegrad.ops.shape.joining import *
from tracegrad.ops.shape.padding import *
from tracegrad.ops.shape.reshaping import *
from tracegrad.ops.shape.selection import *
from tracegrad.ops.shape.sliding_windows import *
from tracegrad.ops.signal.convolution_1d import *
from tracegrad.ops.signal.differences_and_integrals import *
from tracegrad.ops.signal.polynomial_fitting import *
from tracegrad.ops.signal.polynomials import *
from tracegrad.ops.statistics.covariance import *
from tracegrad.ops.statistics.histograms import *
from tracegrad.ops.statistics.quantiles import *
from tracegrad.ops.statistics.sets import *
from tracegrad.ops.statistics.sorting import *
from tracegrad.tensors.constructors import asarray
from tracegrad.tensors.methods import install_methods as _install_methods
from tracegrad.tensors.methods import power
from tracegrad.tensors.operand_facts import install_facts as _install_facts
from tracegrad.tensors.public_functions import function_of as _function_of

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
_install_facts()
