"""tracegrad: plain Python functions in, gradients as readable, fast Python source out."""

# Made by tests/type_stubs.py from the library as it runs.

import builtins
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, ParamSpec, Protocol, TypeVar, overload, type_check_only

import numpy as np
from numpy import float16 as float16
from numpy.typing import ArrayLike, NDArray

from codegen.sizes import Size
from tracegrad import autograd as autograd
from tracegrad import config as config
from tracegrad import errors as errors
from tracegrad import fft as fft
from tracegrad import linalg as linalg
from tracegrad import nn as nn
from tracegrad import optim as optim
from tracegrad import random as random
from tracegrad import special as special
from tracegrad.extend import primitive as primitive
from tracegrad.ops.statistics.sets import UniqueAll, UniqueCounts, UniqueInverse
from tracegrad.tape.grad_mode import _Mode
from tracegrad.tape.grad_mode import set_grad_enabled as set_grad_enabled
from tracegrad.tensors.devices import Device
from tracegrad.tensors.tensor import Tensor
from tracegrad.tensors.type_info import FloatInfo, IntegerInfo
from tracegrad.transforms.compiled_callable import Compiled
from tracegrad.transforms.custom_rules import custom_jvp as custom_jvp
from tracegrad.transforms.custom_rules import custom_vjp as custom_vjp
from tracegrad.transforms.load import Exported
from tracegrad.transforms.sparse_derivatives import Sparse

__all__ = [
    "Tensor",
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "all",
    "allclose",
    "amax",
    "amin",
    "angle",
    "any",
    "append",
    "apply_along_axis",
    "apply_over_axes",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "argwhere",
    "around",
    "array_equal",
    "array_equiv",
    "array_split",
    "as_tensor",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "autograd",
    "average",
    "backward_source",
    "bincount",
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "block",
    "bool",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "can_cast",
    "cbrt",
    "cdouble",
    "ceil",
    "cfloat",
    "checkpoint",
    "choose",
    "clip",
    "column_stack",
    "compile",
    "complex64",
    "complex128",
    "compress",
    "concat",
    "concatenate",
    "config",
    "conj",
    "conjugate",
    "convolve",
    "copy",
    "copysign",
    "copyto",
    "corrcoef",
    "correlate",
    "cos",
    "cosh",
    "count_nonzero",
    "cov",
    "cross",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "custom_jvp",
    "custom_vjp",
    "deg2rad",
    "degrees",
    "delete",
    "deriv",
    "device",
    "diag",
    "diag_indices",
    "diag_indices_from",
    "diagflat",
    "diagonal",
    "diff",
    "digitize",
    "divide",
    "dot",
    "double",
    "dsplit",
    "dstack",
    "e",
    "ediff1d",
    "einsum",
    "elementwise_grad",
    "empty",
    "empty_like",
    "enable_grad",
    "equal",
    "errors",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "extract",
    "eye",
    "fabs",
    "fft",
    "fill_diagonal",
    "finfo",
    "fix",
    "flatnonzero",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "float",
    "float16",
    "float32",
    "float64",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "from_dlpack",
    "from_numpy",
    "fromfunction",
    "full",
    "full_like",
    "gcd",
    "geomspace",
    "get_default_dtype",
    "grad",
    "grad_and_aux",
    "grad_named",
    "gradient",
    "greater",
    "greater_equal",
    "heaviside",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
    "holomorphic_grad",
    "hsplit",
    "hstack",
    "hvp",
    "hypot",
    "identity",
    "iinfo",
    "imag",
    "index_add",
    "index_set",
    "indices",
    "inf",
    "inference_mode",
    "inner",
    "insert",
    "int",
    "int8",
    "int16",
    "int32",
    "int64",
    "interp",
    "intersect1d",
    "invert",
    "is_grad_enabled",
    "isclose",
    "iscomplex",
    "isdtype",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "ix_",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "kron",
    "lcm",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "lexsort",
    "linalg",
    "linearize",
    "linspace",
    "load",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_softmax",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logspace",
    "logsumexp",
    "long",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "manual_seed",
    "matmul",
    "matrix_transpose",
    "matvec",
    "max",
    "maximum",
    "mean",
    "median",
    "meshgrid",
    "min",
    "minimum",
    "mod",
    "modf",
    "moveaxis",
    "multigrad_dict",
    "multiply",
    "nan",
    "nan_to_num",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "negative",
    "newaxis",
    "nextafter",
    "nn",
    "no_grad",
    "nonzero",
    "norm",
    "normal",
    "not_equal",
    "ones",
    "ones_like",
    "optim",
    "outer",
    "pad",
    "partition",
    "percentile",
    "permute_dims",
    "pi",
    "piecewise",
    "place",
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "positive",
    "pow",
    "power",
    "primitive",
    "prod",
    "promote_types",
    "ptp",
    "put",
    "put_along_axis",
    "putmask",
    "quantile",
    "rad2deg",
    "radians",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "random",
    "randperm",
    "ravel",
    "ravel_multi_index",
    "real",
    "real_if_close",
    "reciprocal",
    "relu",
    "remainder",
    "repeat",
    "reshape",
    "resize",
    "result_type",
    "right_shift",
    "rint",
    "roll",
    "rollaxis",
    "roots",
    "rot90",
    "round",
    "searchsorted",
    "select",
    "set_default_dtype",
    "set_grad_enabled",
    "setdiff1d",
    "setxor1d",
    "short",
    "sigmoid",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "sliding_window_view",
    "softmax",
    "softplus",
    "sort",
    "sort_complex",
    "spacing",
    "special",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "stop_gradient",
    "subtract",
    "sum",
    "swapaxes",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensor",
    "tensor_jacobian_product",
    "tensordot",
    "tile",
    "trace",
    "transpose",
    "trapezoid",
    "trapz",
    "tri",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "trim_zeros",
    "triu",
    "triu_indices",
    "triu_indices_from",
    "true_divide",
    "trunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unravel_index",
    "unstack",
    "unwrap",
    "value_and_grad",
    "vander",
    "var",
    "vdot",
    "vecdot",
    "vecmat",
    "vector_jacobian_product",
    "vector_norm",
    "vectorize",
    "vjp",
    "vmap",
    "vsplit",
    "vstack",
    "where",
    "zeros",
    "zeros_like",
]

_P = ParamSpec("_P")
_R = TypeVar("_R")

@type_check_only
class _OfOne(Protocol):
    @overload
    def __call__(self, x: Tensor, /) -> Tensor: ...
    @overload
    def __call__(self, x: builtins.float, /) -> Any: ...

@type_check_only
class _OfTwo(Protocol):
    @overload
    def __call__(self, a: Tensor, b: Any, /) -> Tensor: ...
    @overload
    def __call__(self, a: builtins.float, b: builtins.float, /) -> Any: ...

_ArrayFunction = _OfOne | _OfTwo

@type_check_only
class _CompileDecorator(Protocol):
    @overload
    def __call__(self, f: _ArrayFunction, /) -> Compiled[..., Any]: ...
    @overload
    def __call__(self, f: Callable[_P, _R], /) -> Compiled[_P, _R]: ...

@type_check_only
class _DerivativeDecorator(Protocol):
    @overload
    def __call__(self, f: _ArrayFunction, /) -> Compiled[..., Any]: ...
    @overload
    def __call__(self, f: Callable[_P, _R], /) -> Compiled[_P, Any]: ...

@type_check_only
class _ValueAndGradDecorator(Protocol):
    @overload
    def __call__(self, f: _ArrayFunction, /) -> Compiled[..., builtins.tuple[Any, Any]]: ...
    @overload
    def __call__(self, f: Callable[_P, _R], /) -> Compiled[_P, builtins.tuple[_R, Any]]: ...

@type_check_only
class _VmapDecorator(Protocol):
    @overload
    def __call__(self, f: _ArrayFunction, /) -> Compiled[..., Any]: ...
    @overload
    def __call__(self, f: Callable[_P, _R], /) -> Compiled[..., Any]: ...

@type_check_only
class _SparseDecorator(Protocol):
    @overload
    def __call__(self, f: _ArrayFunction, /) -> Sparse[...]: ...
    @overload
    def __call__(self, f: Callable[_P, _R], /) -> Sparse[_P]: ...

__array_api_version__: str

__version__: str

@overload
def abs(x: Tensor, /) -> Tensor: ...
@overload
def abs(x: ArrayLike, /) -> Any:
    """The absolute values; of complex numbers their distances from 0."""

@overload
def absolute(x: Tensor, /) -> Tensor: ...
@overload
def absolute(x: ArrayLike, /) -> Any:
    """The absolute values; of complex numbers their distances from 0."""

@overload
def acos(x: Tensor, /) -> Tensor: ...
@overload
def acos(x: ArrayLike, /) -> Any:
    """The angles in [0, pi] with these cosines."""

@overload
def acosh(x: Tensor, /) -> Tensor: ...
@overload
def acosh(x: ArrayLike, /) -> Any:
    """The numbers from 0 on with these hyperbolic cosines."""

@overload
def add(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def add(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def add(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The sums ``a + b``."""

@overload
def all(
    x: Tensor,
    axis: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    *,
    where: Any = None,
) -> Tensor: ...
@overload
def all(
    x: Any,
    axis: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    *,
    where: Any = None,
) -> Any:
    """Whether all elements over `axis` are true."""

def allclose(
    a: Any,
    b: Any,
    rtol: builtins.float = 1e-05,
    atol: builtins.float = 1e-08,
    equal_nan: builtins.bool = False,
) -> builtins.bool:
    """Whether `a` and `b` are equal everywhere within ``atol + rtol * abs(b)``."""

@overload
def amax(
    x: Tensor,
    axis: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor: ...
@overload
def amax(
    x: Any,
    axis: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The largest element over `axis`; ties share the gradient evenly."""

@overload
def amin(
    x: Tensor,
    axis: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor: ...
@overload
def amin(
    x: Any,
    axis: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The smallest element over `axis`; ties share the gradient evenly."""

@overload
def angle(z: Tensor, deg: builtins.bool = False) -> Tensor: ...
@overload
def angle(z: Any, deg: builtins.bool = False) -> Any:
    """The angle of complex numbers, in (-pi, pi]."""

@overload
def any(
    x: Tensor,
    axis: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    *,
    where: Any = None,
) -> Tensor: ...
@overload
def any(
    x: Any,
    axis: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    *,
    where: Any = None,
) -> Any:
    """Whether any element over `axis` is true."""

@overload
def append(x: Tensor, values: Any, axis: builtins.int | None = None) -> Tensor: ...
@overload
def append(x: Any, values: Any, axis: builtins.int | None = None) -> Any:
    """`x` with `values` behind it along `axis` (both flattened without one)."""

@overload
def apply_along_axis(
    func1d: Callable[..., Any], axis: builtins.int, x: Tensor, *args: Any, **kw: Any
) -> Tensor: ...
@overload
def apply_along_axis(
    func1d: Callable[..., Any], axis: builtins.int, x: Any, *args: Any, **kw: Any
) -> Any:
    """A function of vectors on every line along `axis`; what it gives stands along that axis."""

@overload
def apply_over_axes(func: Callable[..., Any], a: Tensor, axes: Any) -> Tensor: ...
@overload
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """A reduction ``func(a, axis)`` over several axes, one after the other, which stay as 1."""

def arange(
    start: Any,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
) -> Tensor:
    """The numbers from `start` (0 when only one bound is given) to before `stop`."""

@overload
def arccos(x: Tensor, /) -> Tensor: ...
@overload
def arccos(x: ArrayLike, /) -> Any:
    """The angles in [0, pi] with these cosines."""

@overload
def arccosh(x: Tensor, /) -> Tensor: ...
@overload
def arccosh(x: ArrayLike, /) -> Any:
    """The numbers from 0 on with these hyperbolic cosines."""

@overload
def arcsin(x: Tensor, /) -> Tensor: ...
@overload
def arcsin(x: ArrayLike, /) -> Any:
    """The angles in [-pi/2, pi/2] with these sines."""

@overload
def arcsinh(x: Tensor, /) -> Tensor: ...
@overload
def arcsinh(x: ArrayLike, /) -> Any:
    """The numbers with these hyperbolic sines."""

@overload
def arctan(x: Tensor, /) -> Tensor: ...
@overload
def arctan(x: ArrayLike, /) -> Any:
    """The angles in (-pi/2, pi/2) with these tangents."""

@overload
def arctan2(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def arctan2(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def arctan2(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The angles in [-pi, pi] of the points (b, a)."""

@overload
def arctanh(x: Tensor, /) -> Tensor: ...
@overload
def arctanh(x: ArrayLike, /) -> Any:
    """The numbers with these hyperbolic tangents."""

@overload
def argmax(
    x: Tensor,
    axis: builtins.int | None = None,
    out: None = None,
    *,
    keepdims: builtins.bool = False,
) -> Tensor: ...
@overload
def argmax(
    x: Any, axis: builtins.int | None = None, out: None = None, *, keepdims: builtins.bool = False
) -> Any:
    """The index of the first largest element along `axis` (None: of the flattened array)."""

@overload
def argmin(
    x: Tensor,
    axis: builtins.int | None = None,
    out: None = None,
    *,
    keepdims: builtins.bool = False,
) -> Tensor: ...
@overload
def argmin(
    x: Any, axis: builtins.int | None = None, out: None = None, *, keepdims: builtins.bool = False
) -> Any:
    """The index of the first smallest element along `axis` (None: of the flattened array)."""

@overload
def argpartition(
    x: Tensor, kth: Any, axis: builtins.int | None = -1, kind: Any = None, order: None = None
) -> Tensor: ...
@overload
def argpartition(
    x: Any, kth: Any, axis: builtins.int | None = -1, kind: Any = None, order: None = None
) -> Any:
    """The indices of `partition`."""

@overload
def argsort(
    x: Tensor,
    axis: builtins.int | None = -1,
    kind: Any = None,
    order: None = None,
    *,
    descending: builtins.bool = False,
    stable: builtins.bool | None = True,
) -> Tensor: ...
@overload
def argsort(
    x: Any,
    axis: builtins.int | None = -1,
    kind: Any = None,
    order: None = None,
    *,
    descending: builtins.bool = False,
    stable: builtins.bool | None = True,
) -> Any:
    """The indices that put `x` in order along `axis`, as `sort` does; equal elements stay so."""

@overload
def argwhere(x: Tensor) -> Tensor: ...
@overload
def argwhere(x: Any) -> Any:
    """The indices of the elements that are not 0, a row for each."""

@overload
def around(x: Tensor, decimals: builtins.int = 0, out: None = None) -> Tensor: ...
@overload
def around(x: Any, decimals: builtins.int = 0, out: None = None) -> Any:
    """`x` rounded to so many decimals, halves to the even digit."""

def array_equal(a: Any, b: Any, equal_nan: builtins.bool = False) -> builtins.bool:
    """Whether two arrays have one shape and the same elements."""

def array_equiv(a1: Any, a2: Any) -> builtins.bool:
    """Whether two arrays, broadcast against each other, have the same elements."""

def array_split(x: Any, indices_or_sections: Any, axis: Any = 0) -> tuple[Any, ...]:
    """As `split`, but so many parts need not be equal: the first ones are longer by 1."""

def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """A Tensor of the data, which shares the memory of a NumPy array of the same dtype."""

def asarray(
    data: Any, dtype: Any = None, copy: builtins.bool | None = None, device: Any = None
) -> Any:
    """The data as a Tensor, sharing memory where it can (never with ``copy=True``)."""

@overload
def asin(x: Tensor, /) -> Tensor: ...
@overload
def asin(x: ArrayLike, /) -> Any:
    """The angles in [-pi/2, pi/2] with these sines."""

@overload
def asinh(x: Tensor, /) -> Tensor: ...
@overload
def asinh(x: ArrayLike, /) -> Any:
    """The numbers with these hyperbolic sines."""

@overload
def astype(
    x: Tensor, dtype: Any, copy: builtins.bool = True, device: Any = None, order: str | None = "K"
) -> Tensor: ...
@overload
def astype(
    x: Any, dtype: Any, copy: builtins.bool = True, device: Any = None, order: str | None = "K"
) -> Any:
    """`x` in another dtype; with ``copy=False`` `x` itself where it has that dtype."""

@overload
def atan(x: Tensor, /) -> Tensor: ...
@overload
def atan(x: ArrayLike, /) -> Any:
    """The angles in (-pi/2, pi/2) with these tangents."""

@overload
def atan2(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def atan2(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def atan2(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The angles in [-pi, pi] of the points (b, a)."""

@overload
def atanh(x: Tensor, /) -> Tensor: ...
@overload
def atanh(x: ArrayLike, /) -> Any:
    """The numbers with these hyperbolic tangents."""

def atleast_1d(*arrays: Any) -> Any:
    """The arrays with at least 1 axis."""

def atleast_2d(*arrays: Any) -> Any:
    """The arrays with at least 2 axes."""

def atleast_3d(*arrays: Any) -> Any:
    """The arrays with at least 3 axes."""

def average(
    x: Any,
    axis: Any = None,
    weights: Any = None,
    returned: builtins.bool = False,
    keepdims: builtins.bool = False,
) -> Any:
    """The mean over `axis` with `weights`; `returned` adds the sum of the weights."""

def backward_source(tensor: Tensor) -> str:
    """The source that ``tensor.backward()`` runs, formatted by black."""

@overload
def bincount(x: Tensor, weights: Any = None, minlength: builtins.int = 0) -> Tensor: ...
@overload
def bincount(x: Any, weights: Any = None, minlength: builtins.int = 0) -> Any:
    """How often each of the numbers 0, 1, ... is in a vector of such numbers."""

@overload
def bitwise_and(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def bitwise_and(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def bitwise_and(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``a & b``: the bits that are 1 in both."""

@overload
def bitwise_count(x: Tensor, /) -> Tensor: ...
@overload
def bitwise_count(x: ArrayLike, /) -> Any:
    """The number of bits that are 1 in the absolute values."""

@overload
def bitwise_invert(x: Tensor, /) -> Tensor: ...
@overload
def bitwise_invert(x: ArrayLike, /) -> Any:
    """``~x``: every bit the other way; of bools the negation."""

@overload
def bitwise_left_shift(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def bitwise_left_shift(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def bitwise_left_shift(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``a << b``: the bits of `a` moved up by `b` places."""

@overload
def bitwise_not(x: Tensor, /) -> Tensor: ...
@overload
def bitwise_not(x: ArrayLike, /) -> Any:
    """``~x``: every bit the other way; of bools the negation."""

@overload
def bitwise_or(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def bitwise_or(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def bitwise_or(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``a | b``: the bits that are 1 in one of both."""

@overload
def bitwise_right_shift(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def bitwise_right_shift(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def bitwise_right_shift(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``a >> b``: the bits of `a` moved down by `b` places."""

@overload
def bitwise_xor(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def bitwise_xor(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def bitwise_xor(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``a ^ b``: the bits in which both differ."""

@overload
def block(arrays: Iterable[Tensor]) -> Tensor: ...
@overload
def block(arrays: Any) -> Any:
    """One array of blocks: the innermost lists are joined along the last axis, and so on."""

bool: np.dtype[np.bool]

def broadcast_arrays(*arrays: Any) -> list[Any]:
    """A list of the arrays, repeated to the shape that they broadcast to together."""

def broadcast_shapes(*shapes: Any) -> tuple[builtins.int, ...]:
    """The shape that arrays of these shapes broadcast to."""

@overload
def broadcast_to(x: Tensor, shape: Sequence[builtins.int | Size] | builtins.int) -> Tensor: ...
@overload
def broadcast_to(x: Any, shape: Sequence[builtins.int | Size] | builtins.int) -> Any:
    """`x` repeated to `shape`, a read-only view, as ``np.broadcast_to``."""

def can_cast(from_: Any, to: Any, casting: str = "safe") -> builtins.bool:
    """Whether an array, or a dtype, can be cast to a dtype (by default without loss)."""

@overload
def cbrt(x: Tensor, /) -> Tensor: ...
@overload
def cbrt(x: ArrayLike, /) -> Any:
    """The real cube roots."""

cdouble: np.dtype[np.complex128]

@overload
def ceil(x: Tensor, /) -> Tensor: ...
@overload
def ceil(x: ArrayLike, /) -> Any:
    """The smallest integers that are not below `x`, in the dtype of `x`."""

cfloat: np.dtype[np.complex64]

@overload
def checkpoint(
    f: Callable[_P, _R], *, max_bytes: builtins.int | None = None
) -> Callable[_P, _R]: ...
@overload
def checkpoint(
    f: None = None, *, max_bytes: builtins.int | None = None
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """The same function, whose intermediate values are computed again in the backward."""

@overload
def choose(a: Tensor, choices: Any, mode: str = "raise") -> Tensor: ...
@overload
def choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    """For each place the element of the choice whose number stands in `a`."""

@overload
def clip(
    x: Tensor,
    min: Any = None,
    max: Any = None,
    out: None = None,
    *,
    a_min: Any = None,
    a_max: Any = None,
) -> Tensor: ...
@overload
def clip(
    x: Any,
    min: Any = None,
    max: Any = None,
    out: None = None,
    *,
    a_min: Any = None,
    a_max: Any = None,
) -> Any:
    """`x` within bounds, either of which may be left out; a bound that is met has gradient 1."""

@overload
def column_stack(arrays: Iterable[Tensor]) -> Tensor: ...
@overload
def column_stack(arrays: Any) -> Any:
    """Vectors as the columns of a matrix, matrices side by side."""

@overload
def compile(
    f: _ArrayFunction,
    *,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
) -> Compiled[..., Any]: ...
@overload
def compile(
    f: Callable[_P, _R],
    *,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
) -> Compiled[_P, _R]: ...
@overload
def compile(
    f: None = None,
    *,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
) -> _CompileDecorator:
    """The function itself as compiled source; it stays differentiable from outside."""

complex128: np.dtype[np.complex128]

complex64: np.dtype[np.complex64]

@overload
def compress(condition: Any, x: Tensor, axis: Any = None) -> Tensor: ...
@overload
def compress(condition: Any, x: Any, axis: Any = None) -> Any:
    """The slices along `axis` (the elements, without one) where `condition` is true."""

@overload
def concat(arrays: Iterable[Tensor], axis: Any = 0, dtype: Any = None) -> Tensor: ...
@overload
def concat(arrays: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """The arrays one after the other along `axis` (flattened for None)."""

@overload
def concatenate(arrays: Iterable[Tensor], axis: Any = 0, dtype: Any = None) -> Tensor: ...
@overload
def concatenate(arrays: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """The arrays one after the other along `axis` (flattened for None)."""

@overload
def conj(x: Tensor, /) -> Tensor: ...
@overload
def conj(x: ArrayLike, /) -> Any:
    """The complex conjugates; real numbers as they are."""

@overload
def conjugate(x: Tensor, /) -> Tensor: ...
@overload
def conjugate(x: ArrayLike, /) -> Any:
    """The complex conjugates; real numbers as they are."""

@overload
def convolve(a: Tensor, v: Any, mode: str = "full") -> Tensor: ...
@overload
def convolve(a: Any, v: Tensor, mode: str = "full") -> Tensor: ...
@overload
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The convolution of two vectors: sums of products, one of them reversed."""

@overload
def copy(x: Tensor, order: str = "K") -> Tensor: ...
@overload
def copy(x: Any, order: str = "K") -> Any:
    """The same values in memory of their own, in the order of `x` or in that of rows ("C")."""

@overload
def copysign(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def copysign(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def copysign(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The absolute values of `a` with the signs of `b`."""

def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Writes `src`, broadcast, into the Tensor `dst`, where `where` is true."""

@overload
def corrcoef(
    x: Tensor, y: Any = None, rowvar: builtins.bool = True, *, dtype: Any = None
) -> Tensor: ...
@overload
def corrcoef(x: Any, y: Any = None, rowvar: builtins.bool = True, *, dtype: Any = None) -> Any:
    """The correlations of variables, which are the rows of `x`: covariances over deviations."""

@overload
def correlate(a: Tensor, v: Any, mode: str = "valid") -> Tensor: ...
@overload
def correlate(a: Any, v: Tensor, mode: str = "valid") -> Tensor: ...
@overload
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """The correlation of two vectors: sums of products of one with the other conjugated, shifted."""

@overload
def cos(x: Tensor, /) -> Tensor: ...
@overload
def cos(x: ArrayLike, /) -> Any:
    """The cosines of angles in radians."""

@overload
def cosh(x: Tensor, /) -> Tensor: ...
@overload
def cosh(x: ArrayLike, /) -> Any:
    """The hyperbolic cosines."""

@overload
def count_nonzero(x: Tensor, axis: Any = None, *, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def count_nonzero(x: Any, axis: Any = None, *, keepdims: builtins.bool = False) -> Any:
    """The number of elements over `axis` that are not 0."""

@overload
def cov(
    m: Tensor,
    y: Any = None,
    rowvar: builtins.bool = True,
    bias: builtins.bool = False,
    ddof: builtins.int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
    correction: builtins.int | None = None,
) -> Tensor: ...
@overload
def cov(
    m: Any,
    y: Any = None,
    rowvar: builtins.bool = True,
    bias: builtins.bool = False,
    ddof: builtins.int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
    correction: builtins.int | None = None,
) -> Any:
    """The covariances of variables, which are the rows of `m` (the columns without `rowvar`)."""

@overload
def cross(
    a: Tensor,
    b: Any,
    axisa: builtins.int = -1,
    axisb: builtins.int = -1,
    axisc: builtins.int = -1,
    axis: builtins.int | None = None,
) -> Tensor: ...
@overload
def cross(
    a: Any,
    b: Tensor,
    axisa: builtins.int = -1,
    axisb: builtins.int = -1,
    axisc: builtins.int = -1,
    axis: builtins.int | None = None,
) -> Tensor: ...
@overload
def cross(
    a: Any,
    b: Any,
    axisa: builtins.int = -1,
    axisb: builtins.int = -1,
    axisc: builtins.int = -1,
    axis: builtins.int | None = None,
) -> Any:
    """The cross product of vectors of 3 components, which lie along the axes named."""

def cummax(x: Any, axis: builtins.int | None = None) -> Any:
    """The largest element up to each one, along `axis` (None: of the flattened array)."""

def cummin(x: Any, axis: builtins.int | None = None) -> Any:
    """The smallest element up to each one, along `axis` (None: of the flattened array)."""

@overload
def cumprod(
    x: Tensor, axis: builtins.int | None = None, dtype: Any = None, out: None = None
) -> Tensor: ...
@overload
def cumprod(x: Any, axis: builtins.int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The products of the elements up to each one, along `axis` (None: of the flattened array)."""

@overload
def cumsum(
    x: Tensor, axis: builtins.int | None = None, dtype: Any = None, out: None = None
) -> Tensor: ...
@overload
def cumsum(x: Any, axis: builtins.int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The sums of the elements up to each one, along `axis` (None: of the flattened array)."""

@overload
def cumulative_prod(
    x: Tensor,
    axis: builtins.int | None = None,
    dtype: Any = None,
    include_initial: builtins.bool = False,
) -> Tensor: ...
@overload
def cumulative_prod(
    x: Any,
    axis: builtins.int | None = None,
    dtype: Any = None,
    include_initial: builtins.bool = False,
) -> Any:
    """The products of the elements up to each one, along `axis`; `include_initial`: a 1 first."""

@overload
def cumulative_sum(
    x: Tensor,
    axis: builtins.int | None = None,
    dtype: Any = None,
    include_initial: builtins.bool = False,
) -> Tensor: ...
@overload
def cumulative_sum(
    x: Any,
    axis: builtins.int | None = None,
    dtype: Any = None,
    include_initial: builtins.bool = False,
) -> Any:
    """The sums of the elements up to each one, along `axis`; `include_initial`: a 0 first."""

@overload
def deg2rad(x: Tensor, /) -> Tensor: ...
@overload
def deg2rad(x: ArrayLike, /) -> Any:
    """Degrees in radians."""

@overload
def degrees(x: Tensor, /) -> Tensor: ...
@overload
def degrees(x: ArrayLike, /) -> Any:
    """Radians in degrees."""

@overload
def delete(x: Tensor, obj: Any, axis: builtins.int | None = None) -> Tensor: ...
@overload
def delete(x: Any, obj: Any, axis: builtins.int | None = None) -> Any:
    """`x` without the elements (without the slices along `axis`) at these places."""

def deriv(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """The derivative along ones: of a function of one number its derivative."""

def device(type: Any, index: builtins.int | None = None) -> Device:
    """The device of a name: ``device("cuda:0")``, ``device("cuda", 0)``; raises if it is absent."""

@overload
def diag(x: Tensor, k: builtins.int = 0) -> Tensor: ...
@overload
def diag(x: Any, k: builtins.int = 0) -> Any:
    """The k-th diagonal of a matrix, or the matrix with a vector on its k-th diagonal."""

def diag_indices(n: builtins.int, ndim: builtins.int = 2) -> tuple[Any, ...]:
    """The index of the main diagonal of an array of `ndim` axes of length `n`."""

def diag_indices_from(x: Any) -> tuple[Any, ...]:
    """The index of the main diagonal of `x`."""

@overload
def diagflat(x: Tensor, k: builtins.int = 0) -> Tensor: ...
@overload
def diagflat(x: Any, k: builtins.int = 0) -> Any:
    """The matrix with all elements of `x` on its k-th diagonal."""

@overload
def diagonal(
    x: Tensor, offset: builtins.int = 0, axis1: builtins.int = 0, axis2: builtins.int = 1
) -> Tensor: ...
@overload
def diagonal(
    x: Any, offset: builtins.int = 0, axis1: builtins.int = 0, axis2: builtins.int = 1
) -> Any:
    """A diagonal of the matrices along two axes, as the last axis; a read-only view."""

@overload
def diff(
    x: Tensor, n: builtins.int = 1, axis: builtins.int = -1, prepend: Any = None, append: Any = None
) -> Tensor: ...
@overload
def diff(
    x: Any, n: builtins.int = 1, axis: builtins.int = -1, prepend: Any = None, append: Any = None
) -> Any:
    """The differences of neighbours along `axis`, `n` times over."""

@overload
def digitize(x: Tensor, bins: Any, right: builtins.bool = False) -> Tensor: ...
@overload
def digitize(x: Any, bins: Any, right: builtins.bool = False) -> Any:
    """The number of the bin that each element is in: i where ``bins[i-1] <= x < bins[i]``."""

@overload
def divide(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def divide(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def divide(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The quotients ``a / b``; of integers in floating point."""

@overload
def dot(a: Tensor, b: Any) -> Tensor: ...
@overload
def dot(a: Any, b: Tensor) -> Tensor: ...
@overload
def dot(a: Any, b: Any) -> Any:
    """NumPy's dot product: over the last axis of `a` and the last but one of `b`."""

double: np.dtype[np.float64]

def dsplit(x: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`split` along the third axis."""

@overload
def dstack(arrays: Iterable[Tensor], dtype: Any = None) -> Tensor: ...
@overload
def dstack(arrays: Any, dtype: Any = None) -> Any:
    """The arrays one behind the other: along the third axis."""

e: builtins.float

@overload
def ediff1d(x: Tensor, to_end: Any = None, to_begin: Any = None) -> Tensor: ...
@overload
def ediff1d(x: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbours in the flattened array, between what is put around them."""

def einsum(
    subscripts: Any,
    *operands: Any,
    out: None = None,
    dtype: Any = None,
    order: str | None = "K",
    **_: Any,
) -> Any:
    """Sums of products by labelled axes, as ``np.einsum``; written as a matmul where it is one."""

def elementwise_grad(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """The sum of each column of the Jacobian: of an elementwise function its derivative."""

def empty(
    shape: Any = (),
    *lengths: Any,
    dtype: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
) -> Tensor:
    """An array to be filled: ``empty(3, 4)`` or ``empty((3, 4))``; until then it is zeros."""

@overload
def empty_like(
    x: Tensor,
    dtype: Any = None,
    shape: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
    order: str = "K",
) -> Tensor: ...
@overload
def empty_like(
    x: Any,
    dtype: Any = None,
    shape: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
    order: str = "K",
) -> Any:
    """An array to be filled, of the shape and dtype of `x`; until then it is zeros."""

@overload
def enable_grad(function: None = None) -> _Mode: ...
@overload
def enable_grad(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Ops are recorded again inside a `no_grad`."""

@overload
def equal(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def equal(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def equal(a: ArrayLike, b: ArrayLike, /) -> Any:
    """Where ``a == b``."""

@overload
def exp(x: Tensor, /) -> Tensor: ...
@overload
def exp(x: ArrayLike, /) -> Any:
    """The exponentials ``e ** x``."""

@overload
def exp2(x: Tensor, /) -> Tensor: ...
@overload
def exp2(x: ArrayLike, /) -> Any:
    """The powers ``2 ** x``."""

@overload
def expand_dims(x: Tensor, axis: Any = 0) -> Tensor: ...
@overload
def expand_dims(x: Any, axis: Any = 0) -> Any:
    """`x` with new axes of length 1 at these places of the result."""

@overload
def expm1(x: Tensor, /) -> Tensor: ...
@overload
def expm1(x: ArrayLike, /) -> Any:
    """``exp(x) - 1``, exact where that is small."""

@overload
def extract(condition: Any, x: Tensor) -> Tensor: ...
@overload
def extract(condition: Any, x: Any) -> Any:
    """The elements of `x` where `condition` is true."""

def eye(
    n_rows: builtins.int,
    n_cols: builtins.int | None = None,
    k: builtins.int = 0,
    dtype: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
) -> Tensor:
    """Ones on the k-th diagonal, zeros elsewhere."""

@overload
def fabs(x: Tensor, /) -> Tensor: ...
@overload
def fabs(x: ArrayLike, /) -> Any:
    """The absolute values of real numbers, in floating point."""

def fill_diagonal(x: Any, val: Any, wrap: builtins.bool = False) -> None:
    """Writes `val` into the main diagonal of the Tensor `x`."""

def finfo(type: Any) -> FloatInfo:
    """The limits of a floating or complex dtype, or of an array's, as Python numbers."""

@overload
def fix(x: Tensor, /) -> Tensor: ...
@overload
def fix(x: ArrayLike, /) -> Any:
    """The integers next to `x` towards 0, in the dtype of `x`."""

@overload
def flatnonzero(x: Tensor) -> Tensor: ...
@overload
def flatnonzero(x: Any) -> Any:
    """The indices of the elements that are not 0 in the flattened array."""

def flatten(x: Any, order: str = "C") -> Any:
    """`x` with one axis, in memory of its own."""

@overload
def flip(x: Tensor, axis: Any = None) -> Tensor: ...
@overload
def flip(x: Any, axis: Any = None) -> Any:
    """`x` with the order along these axes reversed (all axes by default)."""

@overload
def fliplr(x: Tensor) -> Tensor: ...
@overload
def fliplr(x: Any) -> Any:
    """`x` with its columns in reverse order."""

@overload
def flipud(x: Tensor) -> Tensor: ...
@overload
def flipud(x: Any) -> Any:
    """`x` with its rows in reverse order."""

float: np.dtype[np.float32]

float32: np.dtype[np.float32]

float64: np.dtype[np.float64]

@overload
def float_power(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def float_power(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def float_power(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The powers ``a ** b`` in float64 or complex128."""

@overload
def floor(x: Tensor, /) -> Tensor: ...
@overload
def floor(x: ArrayLike, /) -> Any:
    """The largest integers that are not above `x`, in the dtype of `x`."""

@overload
def floor_divide(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def floor_divide(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def floor_divide(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``a // b``: the quotients rounded down."""

@overload
def fmax(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def fmax(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def fmax(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The larger of `a` and `b`; where one is NaN, the other."""

@overload
def fmin(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def fmin(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def fmin(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The smaller of `a` and `b`; where one is NaN, the other."""

@overload
def fmod(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def fmod(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def fmod(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The remainders of ``a / b`` with the signs of `a`, as in C."""

def from_dlpack(x: Any, /, *, device: Any = None, copy: builtins.bool | None = None) -> Tensor:
    """A Tensor of the array of another library, by the DLPack protocol."""

def from_numpy(array: NDArray[Any]) -> Tensor:
    """A Tensor that shares the memory of a NumPy array; see `as_tensor`."""

def fromfunction(function: Callable[..., Any], shape: Any, *, dtype: Any = ..., **kw: Any) -> Any:
    """What the function gives for the indices of every place of an array of this shape."""

def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
) -> Tensor:
    """An array of one number (or of an array that broadcasts to the shape)."""

@overload
def full_like(
    x: Tensor,
    fill_value: Any,
    dtype: Any = None,
    shape: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
    order: str = "K",
) -> Tensor: ...
@overload
def full_like(
    x: Any,
    fill_value: Any,
    dtype: Any = None,
    shape: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
    order: str = "K",
) -> Any:
    """An array of one number, of the shape and dtype of `x`."""

@overload
def gcd(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def gcd(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def gcd(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The greatest common divisors."""

def geomspace(
    start: Any,
    stop: Any,
    num: builtins.int = 50,
    endpoint: builtins.bool = True,
    dtype: Any = None,
    axis: builtins.int = 0,
) -> Any:
    """`num` numbers from `start` to `stop`, each the same multiple of the one before."""

def get_default_dtype() -> np.dtype[Any]:
    """The dtype that Python floats get."""

@overload
def grad(
    f: _ArrayFunction,
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
    argnum: builtins.int | Sequence[builtins.int] | None = None,
) -> Compiled[..., Any]: ...
@overload
def grad(
    f: Callable[_P, _R],
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
    argnum: builtins.int | Sequence[builtins.int] | None = None,
) -> Compiled[_P, Any]: ...
@overload
def grad(
    f: None = None,
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
    argnum: builtins.int | Sequence[builtins.int] | None = None,
) -> _DerivativeDecorator:
    """The gradient of a function that returns one number, as compiled source."""

def grad_and_aux(fun: Callable[..., Any], argnum: Any = 0) -> Callable[..., Any]:
    """The gradient of the first of two results, and the second as it is."""

def grad_named(fun: Callable[..., Any], argname: str) -> Callable[..., Any]:
    """The gradient with respect to the argument of this name."""

def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: builtins.int = 1) -> Any:
    """The slopes of samples along each axis: central differences, one-sided at the edges."""

@overload
def greater(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def greater(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def greater(a: ArrayLike, b: ArrayLike, /) -> Any:
    """Where ``a > b``."""

@overload
def greater_equal(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def greater_equal(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def greater_equal(a: ArrayLike, b: ArrayLike, /) -> Any:
    """Where ``a >= b``."""

@overload
def heaviside(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def heaviside(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def heaviside(a: ArrayLike, b: ArrayLike, /) -> Any:
    """0 where `a` is negative, 1 where it is positive, `b` where it is 0."""

@overload
def hessian(
    f: _ArrayFunction,
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    sparse: Literal[True],
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
    argnum: builtins.int | Sequence[builtins.int] | None = None,
) -> Sparse[...]: ...
@overload
def hessian(
    f: Callable[_P, _R],
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    sparse: Literal[True],
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
    argnum: builtins.int | Sequence[builtins.int] | None = None,
) -> Sparse[_P]: ...
@overload
def hessian(
    f: None = None,
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    sparse: Literal[True],
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
    argnum: builtins.int | Sequence[builtins.int] | None = None,
) -> _SparseDecorator: ...
@overload
def hessian(
    f: _ArrayFunction,
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    sparse: Literal[False] = False,
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
    argnum: builtins.int | Sequence[builtins.int] | None = None,
) -> Compiled[..., Any]: ...
@overload
def hessian(
    f: Callable[_P, _R],
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    sparse: Literal[False] = False,
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
    argnum: builtins.int | Sequence[builtins.int] | None = None,
) -> Compiled[_P, Any]: ...
@overload
def hessian(
    f: None = None,
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    sparse: Literal[False] = False,
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
    argnum: builtins.int | Sequence[builtins.int] | None = None,
) -> _DerivativeDecorator:
    """The Hessian of a function that returns one number: forward mode over reverse, all at once."""

def hessian_tensor_product(fun: Callable[..., Any], argnum: builtins.int = 0) -> Callable[..., Any]:
    """A function of ``(*args, v)``: the Hessian, contracted with v over all its axes."""

def hessian_vector_product(fun: Callable[..., Any], argnum: builtins.int = 0) -> Callable[..., Any]:
    """A function of ``(*args, v)``: the Hessian, contracted with v over all its axes."""

def histogram(
    x: Any,
    bins: Any = 10,
    range: Any = None,
    density: builtins.bool | None = None,
    weights: Any = None,
) -> tuple[Any, Any]:
    """How many elements of `x` are in each bin, and the edges of the bins."""

def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    density: builtins.bool | None = None,
    weights: Any = None,
) -> tuple[Any, Any, Any]:
    """How many points are in each rectangle of bins, and the edges of the bins in `x` and in `y`."""

@overload
def histogram_bin_edges(
    x: Tensor, bins: Any = 10, range: Any = None, weights: Any = None
) -> Tensor: ...
@overload
def histogram_bin_edges(x: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of the bins that `histogram` counts in."""

def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,
    density: builtins.bool | None = None,
    weights: Any = None,
) -> tuple[Any, tuple[Any, ...]]:
    """How many points are in each box of bins, and the edges of the bins of every coordinate."""

def holomorphic_grad(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """The derivative of a holomorphic function of one complex number, df/dz."""

def hsplit(x: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`split` along the second axis; of vectors along their only one."""

@overload
def hstack(arrays: Iterable[Tensor], dtype: Any = None) -> Tensor: ...
@overload
def hstack(arrays: Any, dtype: Any = None) -> Any:
    """The arrays side by side: along the second axis, vectors along their only one."""

def hvp(
    f: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    has_aux: builtins.bool = False,
    backend: str | None = None,
) -> Any:
    """The product of the Hessian of a function of one number with tangents, without the Hessian."""

@overload
def hypot(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def hypot(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def hypot(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``sqrt(a**2 + b**2)`` without overflow."""

def identity(n: builtins.int, dtype: Any = None) -> Tensor:
    """The identity matrix."""

def iinfo(type: Any) -> IntegerInfo:
    """The limits of an integer dtype, or of an array's, as Python numbers."""

@overload
def imag(x: Tensor, /) -> Tensor: ...
@overload
def imag(x: ArrayLike, /) -> Any:
    """The imaginary parts."""

def index_add(x: Any, key: Any, value: Any) -> Any:
    """`x` with `value` added at ``x[key]`` as a new array, once for each time a place is named."""

def index_set(x: Any, key: Any, value: Any) -> Any:
    """`x` with ``x[key] = value`` as a new array; of values for one place the last stays."""

def indices(
    dimensions: Sequence[builtins.int], dtype: Any = ..., sparse: builtins.bool = False
) -> Any:
    """For each axis of an array of these lengths the index of every place along it."""

inf: builtins.float

@overload
def inference_mode(function: builtins.bool | None = None) -> _Mode: ...
@overload
def inference_mode(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Nothing is recorded, as in `no_grad`; ``inference_mode(False)`` changes nothing."""

@overload
def inner(a: Tensor, b: Any) -> Tensor: ...
@overload
def inner(a: Any, b: Tensor) -> Tensor: ...
@overload
def inner(a: Any, b: Any) -> Any:
    """The products of vectors along the last axes, of every vector of `a` with every one of `b`."""

@overload
def insert(x: Tensor, obj: Any, values: Any, axis: builtins.int | None = None) -> Tensor: ...
@overload
def insert(x: Any, obj: Any, values: Any, axis: builtins.int | None = None) -> Any:
    """`x` with `values` before these places, which are those of `x` as it is given."""

int: np.dtype[np.int32]

int16: np.dtype[np.int16]

int32: np.dtype[np.int32]

int64: np.dtype[np.int64]

int8: np.dtype[np.int8]

@overload
def interp(
    x: Tensor,
    xp: Any,
    fp: Any,
    left: Any = None,
    right: Any = None,
    period: builtins.float | None = None,
) -> Tensor: ...
@overload
def interp(
    x: Any,
    xp: Any,
    fp: Any,
    left: Any = None,
    right: Any = None,
    period: builtins.float | None = None,
) -> Any:
    """The values at `x` on straight lines between the samples `fp` at the rising places `xp`."""

@overload
def intersect1d(
    a: Tensor, b: Any, assume_unique: builtins.bool = False, return_indices: builtins.bool = False
) -> Tensor: ...
@overload
def intersect1d(
    a: Any, b: Tensor, assume_unique: builtins.bool = False, return_indices: builtins.bool = False
) -> Tensor: ...
@overload
def intersect1d(
    a: Any, b: Any, assume_unique: builtins.bool = False, return_indices: builtins.bool = False
) -> Any:
    """The different elements that are in both; their gradient goes to `a`."""

@overload
def invert(x: Tensor, /) -> Tensor: ...
@overload
def invert(x: ArrayLike, /) -> Any:
    """``~x``: every bit the other way; of bools the negation."""

def is_grad_enabled() -> builtins.bool:
    """Whether ops are recorded on this thread."""

@overload
def isclose(
    a: Tensor,
    b: Any,
    rtol: builtins.float = 1e-05,
    atol: builtins.float = 1e-08,
    equal_nan: builtins.bool = False,
) -> Tensor: ...
@overload
def isclose(
    a: Any,
    b: Tensor,
    rtol: builtins.float = 1e-05,
    atol: builtins.float = 1e-08,
    equal_nan: builtins.bool = False,
) -> Tensor: ...
@overload
def isclose(
    a: Any,
    b: Any,
    rtol: builtins.float = 1e-05,
    atol: builtins.float = 1e-08,
    equal_nan: builtins.bool = False,
) -> Any:
    """Where `a` and `b` are equal within ``atol + rtol * abs(b)``."""

@overload
def iscomplex(x: Tensor) -> Tensor: ...
@overload
def iscomplex(x: Any) -> Any:
    """Where the imaginary part is not 0."""

def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Whether a dtype is another, or of a kind, or of one of several."""

@overload
def isfinite(x: Tensor, /) -> Tensor: ...
@overload
def isfinite(x: ArrayLike, /) -> Any:
    """Where `x` is neither infinite nor NaN."""

def isin(
    element: Any,
    test_elements: Any,
    assume_unique: builtins.bool = False,
    invert: builtins.bool = False,
    *,
    kind: Any = None,
) -> Any:
    """Where elements of the first are among those of the second (with `invert`: are not)."""

@overload
def isinf(x: Tensor, /) -> Tensor: ...
@overload
def isinf(x: ArrayLike, /) -> Any:
    """Where `x` is infinite."""

@overload
def isnan(x: Tensor, /) -> Tensor: ...
@overload
def isnan(x: ArrayLike, /) -> Any:
    """Where `x` is NaN."""

@overload
def isneginf(x: Tensor) -> Tensor: ...
@overload
def isneginf(x: Any) -> Any:
    """Where `x` is negative infinity."""

@overload
def isposinf(x: Tensor) -> Tensor: ...
@overload
def isposinf(x: Any) -> Any:
    """Where `x` is positive infinity."""

@overload
def isreal(x: Tensor) -> Tensor: ...
@overload
def isreal(x: Any) -> Any:
    """Where the imaginary part is 0: everywhere, of real numbers."""

def ix_(*args: Any) -> tuple[Any, ...]:
    """Vectors shaped so that together they index every combination of their elements."""

@overload
def jacfwd(
    f: _ArrayFunction,
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
) -> Compiled[..., Any]: ...
@overload
def jacfwd(
    f: Callable[_P, _R],
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
) -> Compiled[_P, Any]: ...
@overload
def jacfwd(
    f: None = None,
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
) -> _DerivativeDecorator:
    """`jacobian` in forward mode: for functions of few inputs and many results."""

@overload
def jacobian(
    f: _ArrayFunction,
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    mode: str = "auto",
    sparse: Literal[True],
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
    argnum: builtins.int | Sequence[builtins.int] | None = None,
) -> Sparse[...]: ...
@overload
def jacobian(
    f: Callable[_P, _R],
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    mode: str = "auto",
    sparse: Literal[True],
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
    argnum: builtins.int | Sequence[builtins.int] | None = None,
) -> Sparse[_P]: ...
@overload
def jacobian(
    f: None = None,
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    mode: str = "auto",
    sparse: Literal[True],
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
    argnum: builtins.int | Sequence[builtins.int] | None = None,
) -> _SparseDecorator: ...
@overload
def jacobian(
    f: _ArrayFunction,
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    mode: str = "auto",
    sparse: Literal[False] = False,
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
    argnum: builtins.int | Sequence[builtins.int] | None = None,
) -> Compiled[..., Any]: ...
@overload
def jacobian(
    f: Callable[_P, _R],
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    mode: str = "auto",
    sparse: Literal[False] = False,
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
    argnum: builtins.int | Sequence[builtins.int] | None = None,
) -> Compiled[_P, Any]: ...
@overload
def jacobian(
    f: None = None,
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    mode: str = "auto",
    sparse: Literal[False] = False,
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
    argnum: builtins.int | Sequence[builtins.int] | None = None,
) -> _DerivativeDecorator:
    """The full Jacobian of a function, all rows or columns at once, as compiled source."""

@overload
def jacrev(
    f: _ArrayFunction,
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
) -> Compiled[..., Any]: ...
@overload
def jacrev(
    f: Callable[_P, _R],
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
) -> Compiled[_P, Any]: ...
@overload
def jacrev(
    f: None = None,
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
) -> _DerivativeDecorator:
    """`jacobian` in reverse mode: for functions of many inputs and few results."""

def jvp(
    f: Callable[..., Any],
    primals: Sequence[Any] | None = None,
    tangents: Sequence[Any] | None = None,
    *,
    has_aux: builtins.bool = False,
    backend: str | None = None,
) -> Any:
    """The value of a function and its derivative along tangents: forward mode, as compiled source."""

@overload
def kron(a: Tensor, b: Any) -> Tensor: ...
@overload
def kron(a: Any, b: Tensor) -> Tensor: ...
@overload
def kron(a: Any, b: Any) -> Any:
    """The Kronecker product: every element of `a` times the whole of `b`, as blocks."""

@overload
def lcm(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def lcm(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def lcm(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The least common multiples."""

@overload
def ldexp(x1: Tensor, x2: Any) -> Tensor: ...
@overload
def ldexp(x1: Any, x2: Tensor) -> Tensor: ...
@overload
def ldexp(x1: Any, x2: Any) -> Any:
    """``x1 * 2 ** x2``."""

@overload
def left_shift(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def left_shift(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def left_shift(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``a << b``: the bits of `a` moved up by `b` places."""

@overload
def less(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def less(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def less(a: ArrayLike, b: ArrayLike, /) -> Any:
    """Where ``a < b``."""

@overload
def less_equal(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def less_equal(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def less_equal(a: ArrayLike, b: ArrayLike, /) -> Any:
    """Where ``a <= b``."""

def lexsort(keys: Any, axis: builtins.int = -1) -> Any:
    """The indices that sort by the last key, then by the one before it, and so on."""

def linearize(
    f: Callable[..., Any], *primals: Any, backend: str | None = None
) -> tuple[Any, Callable[..., Any]]:
    """The value of a function and its derivative there, as a linear function of tangents."""

def linspace(
    start: Any,
    stop: Any,
    num: builtins.int = 50,
    endpoint: builtins.bool = True,
    retstep: builtins.bool = False,
    dtype: Any = None,
    axis: builtins.int = 0,
    requires_grad: builtins.bool = False,
    device: Any = None,
) -> Any:
    """`num` evenly spaced numbers from `start` to `stop`, differentiable in both."""

def load(path: str | os.PathLike[str], f: Any = None) -> Exported:
    """The function of a file that `.export` wrote, which may have been edited since."""

@overload
def log(x: Tensor, /) -> Tensor: ...
@overload
def log(x: ArrayLike, /) -> Any:
    """The natural logarithms."""

@overload
def log10(x: Tensor, /) -> Tensor: ...
@overload
def log10(x: ArrayLike, /) -> Any:
    """The logarithms to base 10."""

@overload
def log1p(x: Tensor, /) -> Tensor: ...
@overload
def log1p(x: ArrayLike, /) -> Any:
    """``log(1 + x)``, exact where `x` is small."""

@overload
def log2(x: Tensor, /) -> Tensor: ...
@overload
def log2(x: ArrayLike, /) -> Any:
    """The logarithms to base 2."""

def log_softmax(x: Any, axis: Any = -1) -> Any:
    """``log(softmax(x))``, exact where the softmax underflows."""

@overload
def logaddexp(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def logaddexp(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def logaddexp(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``log(exp(a) + exp(b))`` without overflow."""

@overload
def logaddexp2(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def logaddexp2(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def logaddexp2(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``log2(2**a + 2**b)`` without overflow."""

@overload
def logical_and(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def logical_and(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def logical_and(a: ArrayLike, b: ArrayLike, /) -> Any:
    """Where both are true; numbers are true unless they are 0."""

@overload
def logical_not(x: Tensor, /) -> Tensor: ...
@overload
def logical_not(x: ArrayLike, /) -> Any:
    """Where `x` is false; numbers are false where they are 0."""

@overload
def logical_or(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def logical_or(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def logical_or(a: ArrayLike, b: ArrayLike, /) -> Any:
    """Where one of both is true; numbers are true unless they are 0."""

@overload
def logical_xor(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def logical_xor(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def logical_xor(a: ArrayLike, b: ArrayLike, /) -> Any:
    """Where exactly one of both is true; numbers are true unless they are 0."""

def logspace(
    start: Any,
    stop: Any,
    num: builtins.int = 50,
    endpoint: builtins.bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: builtins.int = 0,
) -> Any:
    """Powers of `base` whose exponents are evenly spaced from `start` to `stop`."""

def logsumexp(x: Any, axis: Any = None, keepdims: builtins.bool = False) -> Any:
    """``log(sum(exp(x)))`` over `axis` without overflow; of nothing ``-inf``, the log of 0."""

long: np.dtype[np.int64]

def make_ggnvp(
    f: Callable[..., Any], g: Callable[..., Any] = ..., f_argnum: builtins.int = 0
) -> Callable[..., Any]:
    """``make_ggnvp(f, g)(*args)`` maps v to the generalised Gauss-Newton matrix times v."""

def make_hvp(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """``make_hvp(f, argnum)(*args)`` is ``(hvp, gradient)``: hvp maps v to the Hessian times v."""

def make_jvp(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """``make_jvp(f, argnum)(*args)`` maps a tangent to ``(value, tangent of the value)``."""

def make_jvp_reversemode(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """``make_jvp_reversemode(f, argnum)(*args)`` maps a tangent to the tangent of the value."""

def make_vjp(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """``make_vjp(f, argnum)(*args)`` is ``(vjp, value)``: from a cotangent to the argument's."""

def manual_seed(seed: builtins.int) -> None:
    """The draws that follow are the same whenever they follow the same seed."""

@overload
def matmul(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def matmul(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def matmul(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The matrix product over the last two axes, batches broadcast."""

@overload
def matrix_transpose(x: Tensor) -> Tensor: ...
@overload
def matrix_transpose(x: Any) -> Any:
    """`x` with its last two axes exchanged."""

@overload
def matvec(x1: Tensor, x2: Any) -> Tensor: ...
@overload
def matvec(x1: Any, x2: Tensor) -> Tensor: ...
@overload
def matvec(x1: Any, x2: Any) -> Any:
    """Matrices times vectors, which lie along the last axis, batches broadcast."""

@overload
def max(
    x: Tensor,
    axis: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor: ...
@overload
def max(
    x: Any,
    axis: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The largest element over `axis`."""

@overload
def maximum(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def maximum(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def maximum(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The larger of `a` and `b`, NaN where one is; ties share the gradient evenly."""

@overload
def mean(
    x: Tensor,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    where: Any = None,
) -> Tensor: ...
@overload
def mean(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    where: Any = None,
) -> Any:
    """The arithmetic mean over `axis`; of integers in float64."""

@overload
def median(
    x: Tensor,
    axis: Any = None,
    out: None = None,
    overwrite_input: builtins.bool = False,
    keepdims: builtins.bool = False,
) -> Tensor: ...
@overload
def median(
    x: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: builtins.bool = False,
    keepdims: builtins.bool = False,
) -> Any:
    """The middle of the sorted elements over `axis`, or the mean of the two in the middle."""

def meshgrid(
    *arrays: Any, indexing: str = "xy", copy: builtins.bool = True, sparse: builtins.bool = False
) -> list[Any]:
    """Coordinate arrays of a grid: for each vector one in the list, that varies along its own axis."""

@overload
def min(
    x: Tensor,
    axis: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor: ...
@overload
def min(
    x: Any,
    axis: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The smallest element over `axis`."""

@overload
def minimum(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def minimum(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def minimum(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The smaller of `a` and `b`, NaN where one is; ties share the gradient evenly."""

@overload
def mod(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def mod(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def mod(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``a % b``: the remainders of ``a // b``, with the signs of `b`."""

def modf(x: Any) -> tuple[Any, Any]:
    """The parts of numbers behind and before the point, both with the sign of the number."""

@overload
def moveaxis(x: Tensor, source: Any, destination: Any) -> Tensor: ...
@overload
def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """`x` with axes moved to other places, the rest in order."""

def multigrad_dict(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The gradients with respect to all arguments, in a dict by their names."""

@overload
def multiply(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def multiply(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def multiply(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The products ``a * b``, element by element."""

nan: builtins.float

@overload
def nan_to_num(
    x: Tensor,
    copy: builtins.bool = True,
    nan: builtins.float = 0.0,
    posinf: builtins.float | None = None,
    neginf: builtins.float | None = None,
) -> Tensor: ...
@overload
def nan_to_num(
    x: Any,
    copy: builtins.bool = True,
    nan: builtins.float = 0.0,
    posinf: builtins.float | None = None,
    neginf: builtins.float | None = None,
) -> Any:
    """`x` with NaN and the infinities replaced by numbers (by default 0 and the largest ones)."""

@overload
def nanargmax(
    x: Tensor,
    axis: builtins.int | None = None,
    out: None = None,
    *,
    keepdims: builtins.bool = False,
) -> Tensor: ...
@overload
def nanargmax(
    x: Any, axis: builtins.int | None = None, out: None = None, *, keepdims: builtins.bool = False
) -> Any:
    """The index of the first largest element along `axis` that is not NaN."""

@overload
def nanargmin(
    x: Tensor,
    axis: builtins.int | None = None,
    out: None = None,
    *,
    keepdims: builtins.bool = False,
) -> Tensor: ...
@overload
def nanargmin(
    x: Any, axis: builtins.int | None = None, out: None = None, *, keepdims: builtins.bool = False
) -> Any:
    """The index of the first smallest element along `axis` that is not NaN."""

@overload
def nancumprod(
    x: Tensor, axis: builtins.int | None = None, dtype: Any = None, out: None = None
) -> Tensor: ...
@overload
def nancumprod(
    x: Any, axis: builtins.int | None = None, dtype: Any = None, out: None = None
) -> Any:
    """`cumprod` with 1 in place of NaN."""

@overload
def nancumsum(
    x: Tensor, axis: builtins.int | None = None, dtype: Any = None, out: None = None
) -> Tensor: ...
@overload
def nancumsum(x: Any, axis: builtins.int | None = None, dtype: Any = None, out: None = None) -> Any:
    """`cumsum` with 0 in place of NaN."""

@overload
def nanmax(
    x: Tensor,
    axis: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor: ...
@overload
def nanmax(
    x: Any,
    axis: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The largest element over `axis` that is not NaN; ties share the gradient evenly."""

@overload
def nanmean(
    x: Tensor,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    *,
    where: Any = None,
) -> Tensor: ...
@overload
def nanmean(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    *,
    where: Any = None,
) -> Any:
    """The mean over `axis` of what is not NaN, and where `where` is true."""

@overload
def nanmedian(
    x: Tensor,
    axis: Any = None,
    out: None = None,
    overwrite_input: builtins.bool = False,
    keepdims: builtins.bool = False,
) -> Tensor: ...
@overload
def nanmedian(
    x: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: builtins.bool = False,
    keepdims: builtins.bool = False,
) -> Any:
    """The median over `axis` of what is not NaN."""

@overload
def nanmin(
    x: Tensor,
    axis: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor: ...
@overload
def nanmin(
    x: Any,
    axis: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The smallest element over `axis` that is not NaN; ties share the gradient evenly."""

@overload
def nanpercentile(
    x: Tensor,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: builtins.bool = False,
    method: str = "linear",
    keepdims: builtins.bool = False,
    *,
    weights: Any = None,
) -> Tensor: ...
@overload
def nanpercentile(
    x: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: builtins.bool = False,
    method: str = "linear",
    keepdims: builtins.bool = False,
    *,
    weights: Any = None,
) -> Any:
    """`percentile` of what is not NaN."""

@overload
def nanprod(
    x: Tensor,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor: ...
@overload
def nanprod(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The product over `axis` of what is not NaN."""

@overload
def nanquantile(
    x: Tensor,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: builtins.bool = False,
    method: str = "linear",
    keepdims: builtins.bool = False,
    *,
    weights: Any = None,
) -> Tensor: ...
@overload
def nanquantile(
    x: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: builtins.bool = False,
    method: str = "linear",
    keepdims: builtins.bool = False,
    *,
    weights: Any = None,
) -> Any:
    """`quantile` of what is not NaN."""

@overload
def nanstd(
    x: Tensor,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: builtins.float | None = None,
    keepdims: builtins.bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: builtins.float | None = None,
) -> Tensor: ...
@overload
def nanstd(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: builtins.float | None = None,
    keepdims: builtins.bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: builtins.float | None = None,
) -> Any:
    """The standard deviation over `axis` of what is not NaN; derivative 0 where it is 0."""

@overload
def nansum(
    x: Tensor,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor: ...
@overload
def nansum(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The sum over `axis` of what is not NaN."""

@overload
def nanvar(
    x: Tensor,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: builtins.float | None = None,
    keepdims: builtins.bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: builtins.float | None = None,
) -> Tensor: ...
@overload
def nanvar(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: builtins.float | None = None,
    keepdims: builtins.bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: builtins.float | None = None,
) -> Any:
    """The variance over `axis` of what is not NaN; arguments as for `var`."""

@overload
def negative(x: Tensor, /) -> Tensor: ...
@overload
def negative(x: ArrayLike, /) -> Any:
    """The values with the other sign, ``-x``."""

newaxis: None

@overload
def nextafter(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def nextafter(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def nextafter(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The next floating-point numbers after `a` in the direction of `b`."""

@overload
def no_grad(function: None = None) -> _Mode: ...
@overload
def no_grad(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Nothing is recorded: ``with tg.no_grad():``, ``@tg.no_grad()`` or ``@tg.no_grad``."""

def nonzero(x: Any) -> tuple[Any, ...]:
    """The indices of the elements that are not 0: a tuple with an array for each axis."""

def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: builtins.bool = False) -> Any:
    """A norm as ``np.linalg.norm``: of vectors along one axis, of matrices along two."""

def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    dtype: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
) -> Tensor:
    """Normal numbers of this mean and standard deviation, which may be Tensors with gradients."""

@overload
def not_equal(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def not_equal(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def not_equal(a: ArrayLike, b: ArrayLike, /) -> Any:
    """Where ``a != b``."""

def ones(
    shape: Any = (),
    *lengths: Any,
    dtype: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
) -> Tensor:
    """Ones: ``ones(3, 4)`` or ``ones((3, 4))``."""

@overload
def ones_like(
    x: Tensor,
    dtype: Any = None,
    shape: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
    order: str = "K",
) -> Tensor: ...
@overload
def ones_like(
    x: Any,
    dtype: Any = None,
    shape: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
    order: str = "K",
) -> Any:
    """Ones of the shape and dtype of `x`."""

@overload
def outer(a: Tensor, b: Any) -> Tensor: ...
@overload
def outer(a: Any, b: Tensor) -> Tensor: ...
@overload
def outer(a: Any, b: Any) -> Any:
    """All products of an element of `a` with one of `b`: a matrix."""

@overload
def pad(
    x: Tensor,
    pad_width: Any,
    mode: str = "constant",
    constant_values: Any = 0,
    *,
    end_values: Any = 0,
    stat_length: Any = None,
    reflect_type: str = "even",
) -> Tensor: ...
@overload
def pad(
    x: Any,
    pad_width: Any,
    mode: str = "constant",
    constant_values: Any = 0,
    *,
    end_values: Any = 0,
    stat_length: Any = None,
    reflect_type: str = "even",
) -> Any:
    """`x` with margins."""

@overload
def partition(
    x: Tensor, kth: Any, axis: builtins.int | None = -1, kind: Any = None, order: None = None
) -> Tensor: ...
@overload
def partition(
    x: Any, kth: Any, axis: builtins.int | None = -1, kind: Any = None, order: None = None
) -> Any:
    """`x` with the k-th smallest elements in place, smaller ones before: here, wholly in order."""

@overload
def percentile(
    x: Tensor,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: builtins.bool = False,
    method: str = "linear",
    keepdims: builtins.bool = False,
    *,
    weights: Any = None,
) -> Tensor: ...
@overload
def percentile(
    x: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: builtins.bool = False,
    method: str = "linear",
    keepdims: builtins.bool = False,
    *,
    weights: Any = None,
) -> Any:
    """`quantile` with `q` in percent."""

@overload
def permute_dims(x: Tensor, axes: Sequence[builtins.int]) -> Tensor: ...
@overload
def permute_dims(x: Any, axes: Sequence[builtins.int]) -> Any:
    """`x` with axis ``axes[i]`` at place i."""

pi: builtins.float

@overload
def piecewise(
    x: Tensor, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any
) -> Tensor: ...
@overload
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """Functions (or numbers) of `x`, each where its condition is true; one more is for the rest."""

def place(x: Any, mask: Any, vals: Any) -> None:
    """Writes values, repeated, into the Tensor `x`, one after the other where `mask` is true."""

def poly(seq_of_zeros: Any) -> Any:
    """The coefficients of the polynomial with these zeros, or with the eigenvalues of a matrix."""

@overload
def polyadd(a1: Tensor, a2: Any) -> Tensor: ...
@overload
def polyadd(a1: Any, a2: Tensor) -> Tensor: ...
@overload
def polyadd(a1: Any, a2: Any) -> Any:
    """The coefficients of the sum of two polynomials."""

@overload
def polyder(p: Tensor, m: builtins.int = 1) -> Tensor: ...
@overload
def polyder(p: Any, m: builtins.int = 1) -> Any:
    """The coefficients of the m-th derivative of a polynomial."""

def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """The coefficients of the quotient of two polynomials, and of the remainder."""

def polyfit(
    x: Any,
    y: Any,
    deg: builtins.int,
    rcond: builtins.float | None = None,
    full: builtins.bool = False,
    w: Any = None,
    cov: builtins.bool | str = False,
) -> Any:
    """The coefficients of the polynomial of a degree whose squared distances to points are least."""

@overload
def polyint(p: Tensor, m: builtins.int = 1, k: Any = None) -> Tensor: ...
@overload
def polyint(p: Any, m: builtins.int = 1, k: Any = None) -> Any:
    """The coefficients of the m-th integral of a polynomial, with the constants `k` (default 0)."""

@overload
def polymul(a1: Tensor, a2: Any) -> Tensor: ...
@overload
def polymul(a1: Any, a2: Tensor) -> Tensor: ...
@overload
def polymul(a1: Any, a2: Any) -> Any:
    """The coefficients of the product of two polynomials."""

@overload
def polysub(a1: Tensor, a2: Any) -> Tensor: ...
@overload
def polysub(a1: Any, a2: Tensor) -> Tensor: ...
@overload
def polysub(a1: Any, a2: Any) -> Any:
    """The coefficients of the difference of two polynomials."""

@overload
def polyval(p: Tensor, x: Any) -> Tensor: ...
@overload
def polyval(p: Any, x: Tensor) -> Tensor: ...
@overload
def polyval(p: Any, x: Any) -> Any:
    """The value at `x` of the polynomial with the coefficients `p`, the highest power's first."""

@overload
def positive(x: Tensor, /) -> Tensor: ...
@overload
def positive(x: ArrayLike, /) -> Any:
    """The same values, ``+x``."""

@overload
def pow(x: Tensor, exponent: Any) -> Tensor: ...
@overload
def pow(x: Any, exponent: Any) -> Any:
    """``x ** exponent``; a number as one of them has the cheaper rule."""

@overload
def power(x: Tensor, exponent: Any) -> Tensor: ...
@overload
def power(x: Any, exponent: Any) -> Any:
    """``x ** exponent``; a number as one of them has the cheaper rule."""

@overload
def prod(
    x: Tensor,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor: ...
@overload
def prod(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The product over `axis`; its derivatives are exact where elements are 0."""

def promote_types(type1: Any, type2: Any) -> np.dtype[Any]:
    """The smallest dtype to which both are cast safely."""

@overload
def ptp(
    x: Tensor, axis: Any = None, out: None = None, keepdims: builtins.bool = False
) -> Tensor: ...
@overload
def ptp(x: Any, axis: Any = None, out: None = None, keepdims: builtins.bool = False) -> Any:
    """The largest less the smallest element over `axis`."""

def put(x: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Writes `v` into the Tensor `x` at these places, which number its elements in order."""

def put_along_axis(x: Any, indices: Any, values: Any, axis: Any) -> None:
    """Writes `values` into the Tensor `x` at these indices along `axis`."""

def putmask(x: Any, mask: Any, values: Any) -> None:
    """Writes into the Tensor `x`, where `mask` is true, what `values`, repeated, has there."""

@overload
def quantile(
    x: Tensor,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: builtins.bool = False,
    method: str = "linear",
    keepdims: builtins.bool = False,
    *,
    weights: Any = None,
) -> Tensor: ...
@overload
def quantile(
    x: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: builtins.bool = False,
    method: str = "linear",
    keepdims: builtins.bool = False,
    *,
    weights: Any = None,
) -> Any:
    """What lies at the part `q`, in [0, 1], of the sorted elements over `axis`."""

@overload
def rad2deg(x: Tensor, /) -> Tensor: ...
@overload
def rad2deg(x: ArrayLike, /) -> Any:
    """Radians in degrees."""

@overload
def radians(x: Tensor, /) -> Tensor: ...
@overload
def radians(x: ArrayLike, /) -> Any:
    """Degrees in radians."""

def rand(
    *shape: Any, dtype: Any = None, requires_grad: builtins.bool = False, device: Any = None
) -> Tensor:
    """Numbers drawn evenly from [0, 1): ``tg.rand(3, 4)`` or ``tg.rand((3, 4))``."""

@overload
def rand_like(
    x: Tensor, dtype: Any = None, requires_grad: builtins.bool = False, device: Any = None
) -> Tensor: ...
@overload
def rand_like(
    x: Any, dtype: Any = None, requires_grad: builtins.bool = False, device: Any = None
) -> Any:
    """`rand` of the shape of `x`, and of its dtype and device unless others are given."""

def randint(
    low: builtins.int,
    high: Any = None,
    size: Any = None,
    *,
    dtype: Any = ...,
    requires_grad: builtins.bool = False,
    device: Any = None,
) -> Tensor:
    """Integers drawn evenly from ``low, ..., high - 1``; `low` may be left out and is 0 then."""

def randn(
    *shape: Any, dtype: Any = None, requires_grad: builtins.bool = False, device: Any = None
) -> Tensor:
    """Numbers of the standard normal distribution."""

@overload
def randn_like(
    x: Tensor, dtype: Any = None, requires_grad: builtins.bool = False, device: Any = None
) -> Tensor: ...
@overload
def randn_like(
    x: Any, dtype: Any = None, requires_grad: builtins.bool = False, device: Any = None
) -> Any:
    """`randn` of the shape of `x`, and of its dtype and device unless others are given."""

def randperm(
    n: builtins.int, *, dtype: Any = ..., requires_grad: builtins.bool = False, device: Any = None
) -> Tensor:
    """The integers ``0, ..., n - 1`` in random order."""

@overload
def ravel(x: Tensor, order: str = "C") -> Tensor: ...
@overload
def ravel(x: Any, order: str = "C") -> Any:
    """`x` with one axis; a copy where its elements do not lie one after the other in memory."""

def ravel_multi_index(
    multi_index: Any, dims: Any, mode: str | Sequence[str] = "raise", order: str = "C"
) -> Any:
    """The numbers, in the order of an array, of places given by an index along each axis."""

@overload
def real(x: Tensor, /) -> Tensor: ...
@overload
def real(x: ArrayLike, /) -> Any:
    """The real parts."""

@overload
def real_if_close(x: Tensor, tol: builtins.float = 100) -> Tensor: ...
@overload
def real_if_close(x: Any, tol: builtins.float = 100) -> Any:
    """The real part, where every imaginary part is below `tol`: these are looked at."""

@overload
def reciprocal(x: Tensor, /) -> Tensor: ...
@overload
def reciprocal(x: ArrayLike, /) -> Any:
    """The reciprocals ``1 / x``, in the dtype of `x`."""

def relu(x: Any) -> Any:
    """``max(x, 0)``; the derivative at 0 is 0."""

@overload
def remainder(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def remainder(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def remainder(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``a % b``: the remainders of ``a // b``, with the signs of `b`."""

@overload
def repeat(x: Tensor, repeats: Any, axis: Any = None) -> Tensor: ...
@overload
def repeat(x: Any, repeats: Any, axis: Any = None) -> Any:
    """`x` with each element (each slice along `axis`) so many times in a row."""

@overload
def reshape(
    x: Tensor, shape: Any = (), *lengths: Any, order: str = "C", copy: Any = None
) -> Tensor: ...
@overload
def reshape(x: Any, shape: Any = (), *lengths: Any, order: str = "C", copy: Any = None) -> Any:
    """`x` in another shape with as many elements; one length may be -1."""

@overload
def resize(x: Tensor, new_shape: Any) -> Tensor: ...
@overload
def resize(x: Any, new_shape: Any) -> Any:
    """The elements of `x`, from the start again as often as it takes, in another shape."""

def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype that an operation on these arrays, numbers and dtypes has."""

@overload
def right_shift(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def right_shift(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def right_shift(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``a >> b``: the bits of `a` moved down by `b` places."""

@overload
def rint(x: Tensor, /) -> Tensor: ...
@overload
def rint(x: ArrayLike, /) -> Any:
    """The nearest integers, halves to the even one, in the dtype of `x`."""

@overload
def roll(x: Tensor, shift: Any, axis: Any = None) -> Tensor: ...
@overload
def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    """`x` with its elements shifted along axes (along the whole without one), the last first."""

@overload
def rollaxis(x: Tensor, axis: builtins.int, start: builtins.int = 0) -> Tensor: ...
@overload
def rollaxis(x: Any, axis: builtins.int, start: builtins.int = 0) -> Any:
    """`x` with an axis moved before the one at `start` (`moveaxis` says it better)."""

@overload
def roots(p: Tensor) -> Tensor: ...
@overload
def roots(p: Any) -> Any:
    """The zeros of the polynomial with the coefficients `p`, the highest power's first: complex."""

@overload
def rot90(x: Tensor, k: builtins.int = 1, axes: Any = ...) -> Tensor: ...
@overload
def rot90(x: Any, k: builtins.int = 1, axes: Any = ...) -> Any:
    """`x` turned by `k` times 90 degrees, from the first of two axes towards the second."""

@overload
def round(x: Tensor, decimals: builtins.int = 0, out: None = None) -> Tensor: ...
@overload
def round(x: Any, decimals: builtins.int = 0, out: None = None) -> Any:
    """`x` rounded to so many decimals, halves to the even digit."""

@overload
def searchsorted(a: Tensor, v: Any, side: str = "left", sorter: Any = None) -> Tensor: ...
@overload
def searchsorted(a: Any, v: Tensor, side: str = "left", sorter: Any = None) -> Tensor: ...
@overload
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """The places in the sorted vector `a` before which the elements of `v` keep it sorted."""

def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """For each place the choice whose condition is the first that is true there."""

def set_default_dtype(dtype: Any) -> None:
    """Python floats, and arrays made without a dtype, get this float dtype from here on."""

@overload
def setdiff1d(a: Tensor, b: Any, assume_unique: builtins.bool = False) -> Tensor: ...
@overload
def setdiff1d(a: Any, b: Tensor, assume_unique: builtins.bool = False) -> Tensor: ...
@overload
def setdiff1d(a: Any, b: Any, assume_unique: builtins.bool = False) -> Any:
    """The different elements of the first that are not in the second."""

@overload
def setxor1d(a: Tensor, b: Any, assume_unique: builtins.bool = False) -> Tensor: ...
@overload
def setxor1d(a: Any, b: Tensor, assume_unique: builtins.bool = False) -> Tensor: ...
@overload
def setxor1d(a: Any, b: Any, assume_unique: builtins.bool = False) -> Any:
    """The different elements that are in one of both, not in the other."""

short: np.dtype[np.int16]

def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``, accurate for all x."""

@overload
def sign(x: Tensor) -> Tensor: ...
@overload
def sign(x: Any) -> Any:
    """-1, 0 or 1; of complex numbers ``x / abs(x)``."""

@overload
def signbit(x: Tensor, /) -> Tensor: ...
@overload
def signbit(x: ArrayLike, /) -> Any:
    """Where the sign is minus; -0.0 has one."""

@overload
def sin(x: Tensor, /) -> Tensor: ...
@overload
def sin(x: ArrayLike, /) -> Any:
    """The sines of angles in radians."""

@overload
def sinc(x: Tensor) -> Tensor: ...
@overload
def sinc(x: Any) -> Any:
    """``sin(pi x) / (pi x)``, and 1 at 0."""

@overload
def sinh(x: Tensor, /) -> Tensor: ...
@overload
def sinh(x: ArrayLike, /) -> Any:
    """The hyperbolic sines."""

def sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Any:
    """The windows that slide over axes of `x`, their elements on new axes behind."""

def softmax(x: Any, axis: Any = -1) -> Any:
    """``exp(x)`` over its sum along `axis`, without overflow."""

def softplus(x: Any) -> Any:
    """``log(1 + exp(x))``, accurate for all x."""

@overload
def sort(
    x: Tensor,
    axis: builtins.int | None = -1,
    kind: Any = None,
    order: None = None,
    *,
    descending: builtins.bool = False,
    stable: builtins.bool | None = True,
) -> Tensor: ...
@overload
def sort(
    x: Any,
    axis: builtins.int | None = -1,
    kind: Any = None,
    order: None = None,
    *,
    descending: builtins.bool = False,
    stable: builtins.bool | None = True,
) -> Any:
    """`x` in ascending order along `axis` (None: flattened), NaN last."""

@overload
def sort_complex(x: Tensor) -> Tensor: ...
@overload
def sort_complex(x: Any) -> Any:
    """`x`, as complex numbers, in order of the real parts, then of the imaginary ones."""

@overload
def spacing(x: Tensor, /) -> Tensor: ...
@overload
def spacing(x: ArrayLike, /) -> Any:
    """The distances to the next floating-point numbers away from 0."""

def split(x: Any, indices_or_sections: Any, axis: Any = 0) -> tuple[Any, ...]:
    """The parts of `x` along `axis`: so many equal ones, or cut at these places."""

@overload
def sqrt(x: Tensor, /) -> Tensor: ...
@overload
def sqrt(x: ArrayLike, /) -> Any:
    """The square roots that are not negative."""

@overload
def square(x: Tensor, /) -> Tensor: ...
@overload
def square(x: ArrayLike, /) -> Any:
    """The squares ``x * x``."""

@overload
def squeeze(x: Tensor, axis: Any = None) -> Tensor: ...
@overload
def squeeze(x: Any, axis: Any = None) -> Any:
    """`x` without axes of length 1: those named, or all of them."""

@overload
def stack(arrays: Iterable[Tensor], axis: Any = 0, dtype: Any = None) -> Tensor: ...
@overload
def stack(arrays: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """The arrays, all of one shape, along a new axis."""

@overload
def std(
    x: Tensor,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: builtins.float | None = None,
    keepdims: builtins.bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: builtins.float | None = None,
    unbiased: builtins.bool | None = None,
) -> Tensor: ...
@overload
def std(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: builtins.float | None = None,
    keepdims: builtins.bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: builtins.float | None = None,
    unbiased: builtins.bool | None = None,
) -> Any:
    """The standard deviation over `axis`; arguments as for `var`, derivative 0 where it is 0."""

@overload
def stop_gradient(x: Tensor, /) -> Tensor: ...
@overload
def stop_gradient(x: ArrayLike, /) -> Any:
    """x, through which no gradient flows."""

@overload
def subtract(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def subtract(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def subtract(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The differences ``a - b``."""

@overload
def sum(
    x: Tensor,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor: ...
@overload
def sum(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The sum over `axis` (None, an int or a tuple of ints); small integers are summed in int64."""

@overload
def swapaxes(x: Tensor, axis1: builtins.int, axis2: builtins.int) -> Tensor: ...
@overload
def swapaxes(x: Any, axis1: builtins.int, axis2: builtins.int) -> Any:
    """`x` with two axes exchanged."""

@overload
def take(x: Tensor, indices: Any, axis: Any = None, mode: str = "raise") -> Tensor: ...
@overload
def take(x: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    """The elements, or whole slices along `axis`, at these indices."""

@overload
def take_along_axis(x: Tensor, indices: Any, axis: Any = -1) -> Tensor: ...
@overload
def take_along_axis(x: Any, indices: Any, axis: Any = -1) -> Any:
    """The elements at these indices along `axis`, one for each place of `indices`."""

@overload
def tan(x: Tensor, /) -> Tensor: ...
@overload
def tan(x: ArrayLike, /) -> Any:
    """The tangents of angles in radians."""

@overload
def tanh(x: Tensor, /) -> Tensor: ...
@overload
def tanh(x: ArrayLike, /) -> Any:
    """The hyperbolic tangents."""

def tensor(
    data: Any, dtype: Any = None, requires_grad: builtins.bool = False, device: Any = None
) -> Tensor:
    """A Tensor with a copy of the data."""

def tensor_jacobian_product(
    fun: Callable[..., Any], argnum: builtins.int = 0
) -> Callable[..., Any]:
    """A function of ``(*args, v)``: v, contracted with the first axes of the Jacobian."""

@overload
def tensordot(a: Tensor, b: Any, axes: Any = 2) -> Tensor: ...
@overload
def tensordot(a: Any, b: Tensor, axes: Any = 2) -> Tensor: ...
@overload
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Sums of products over `axes`: a number (last of `a`, first of `b`) or a list for each."""

@overload
def tile(x: Tensor, reps: Any) -> Tensor: ...
@overload
def tile(x: Any, reps: Any) -> Any:
    """`x` side by side with itself, so many times along each axis."""

@overload
def trace(
    x: Tensor,
    offset: builtins.int = 0,
    axis1: builtins.int = 0,
    axis2: builtins.int = 1,
    dtype: Any = None,
    out: None = None,
) -> Tensor: ...
@overload
def trace(
    x: Any,
    offset: builtins.int = 0,
    axis1: builtins.int = 0,
    axis2: builtins.int = 1,
    dtype: Any = None,
    out: None = None,
) -> Any:
    """The sum of a diagonal of the matrices along two axes."""

@overload
def transpose(x: Tensor, *order: Any, axes: Sequence[builtins.int] | None = None) -> Tensor: ...
@overload
def transpose(x: Any, *order: Any, axes: Sequence[builtins.int] | None = None) -> Any:
    """`x` with its axes in another order (reversed when none is given)."""

@overload
def trapezoid(y: Tensor, x: Any = None, dx: Any = 1.0, axis: builtins.int = -1) -> Tensor: ...
@overload
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: builtins.int = -1) -> Any:
    """The integral along `axis` of samples joined by straight lines."""

@overload
def trapz(y: Tensor, x: Any = None, dx: Any = 1.0, axis: builtins.int = -1) -> Tensor: ...
@overload
def trapz(y: Any, x: Any = None, dx: Any = 1.0, axis: builtins.int = -1) -> Any:
    """The integral along `axis` of samples joined by straight lines."""

def tri(
    n_rows: builtins.int, n_cols: builtins.int | None = None, k: builtins.int = 0, dtype: Any = None
) -> Tensor:
    """Ones at and below the k-th diagonal, zeros above."""

@overload
def tril(x: Tensor, k: builtins.int = 0) -> Tensor: ...
@overload
def tril(x: Any, k: builtins.int = 0) -> Any:
    """The matrices along the last two axes with zeros above the k-th diagonal."""

def tril_indices(
    n: builtins.int, k: builtins.int = 0, m: builtins.int | None = None
) -> tuple[Any, Any]:
    """The index of what stands at and below the k-th diagonal of an n by m matrix."""

def tril_indices_from(x: Any, k: builtins.int = 0) -> tuple[Any, Any]:
    """The index of what stands at and below the k-th diagonal of `x`."""

def trim_zeros(filt: Any, trim: str = "fb") -> Any:
    """A vector without the zeros at its front ("f"), its back ("b") or both; they are looked at."""

@overload
def triu(x: Tensor, k: builtins.int = 0) -> Tensor: ...
@overload
def triu(x: Any, k: builtins.int = 0) -> Any:
    """The matrices along the last two axes with zeros below the k-th diagonal."""

def triu_indices(
    n: builtins.int, k: builtins.int = 0, m: builtins.int | None = None
) -> tuple[Any, Any]:
    """The index of what stands at and above the k-th diagonal of an n by m matrix."""

def triu_indices_from(x: Any, k: builtins.int = 0) -> tuple[Any, Any]:
    """The index of what stands at and above the k-th diagonal of `x`."""

@overload
def true_divide(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def true_divide(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def true_divide(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The quotients ``a / b``; of integers in floating point."""

@overload
def trunc(x: Tensor, /) -> Tensor: ...
@overload
def trunc(x: ArrayLike, /) -> Any:
    """The integers next to `x` towards 0, in the dtype of `x`."""

uint16: np.dtype[np.uint16]

uint32: np.dtype[np.uint32]

uint64: np.dtype[np.uint64]

uint8: np.dtype[np.uint8]

@overload
def union1d(a: Tensor, b: Any) -> Tensor: ...
@overload
def union1d(a: Any, b: Tensor) -> Tensor: ...
@overload
def union1d(a: Any, b: Any) -> Any:
    """The different elements of both."""

def unique(
    x: Any,
    return_index: builtins.bool = False,
    return_inverse: builtins.bool = False,
    return_counts: builtins.bool = False,
    axis: builtins.int | None = None,
    *,
    equal_nan: builtins.bool = True,
    sorted: builtins.bool = True,
) -> Any:
    """The different elements of `x` in ascending order (the different slices along `axis`)."""

def unique_all(x: Any) -> UniqueAll:
    """The different elements of `x`, where each first stands, which is which, and how often."""

def unique_counts(x: Any) -> UniqueCounts:
    """The different elements of `x`, and how often each is there; NaN as in `unique_values`."""

def unique_inverse(x: Any) -> UniqueInverse:
    """The different elements of `x`, and for each element of `x` which of them it is."""

def unique_values(x: Any) -> Any:
    """The different elements of `x` in ascending order; every NaN differs from every other."""

def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    """The indices along each axis of places that are numbered in the order of an array."""

def unstack(x: Any, axis: Any = 0) -> tuple[Any, ...]:
    """The slices of `x` along `axis`, as many as it is long."""

@overload
def unwrap(
    p: Tensor,
    discont: builtins.float | None = None,
    axis: builtins.int = -1,
    *,
    period: builtins.float = 6.283185307179586,
) -> Tensor: ...
@overload
def unwrap(
    p: Any,
    discont: builtins.float | None = None,
    axis: builtins.int = -1,
    *,
    period: builtins.float = 6.283185307179586,
) -> Any:
    """Angles without their jumps: neighbours differ by at most half a period."""

@overload
def value_and_grad(
    f: _ArrayFunction,
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
    argnum: builtins.int | Sequence[builtins.int] | None = None,
) -> Compiled[..., builtins.tuple[Any, Any]]: ...
@overload
def value_and_grad(
    f: Callable[_P, _R],
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
    argnum: builtins.int | Sequence[builtins.int] | None = None,
) -> Compiled[_P, builtins.tuple[_R, Any]]: ...
@overload
def value_and_grad(
    f: None = None,
    argnums: builtins.int | Sequence[builtins.int] = 0,
    *,
    has_aux: builtins.bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
    argnum: builtins.int | Sequence[builtins.int] | None = None,
) -> _ValueAndGradDecorator:
    """The value and the gradient together; parameters as for `grad`."""

@overload
def vander(
    x: Tensor, N: builtins.int | None = None, increasing: builtins.bool = False
) -> Tensor: ...
@overload
def vander(x: Any, N: builtins.int | None = None, increasing: builtins.bool = False) -> Any:
    """The powers of each element as the columns of a matrix, the highest first."""

@overload
def var(
    x: Tensor,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: builtins.float | None = None,
    keepdims: builtins.bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: builtins.float | None = None,
    unbiased: builtins.bool | None = None,
) -> Tensor: ...
@overload
def var(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: builtins.float | None = None,
    keepdims: builtins.bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: builtins.float | None = None,
    unbiased: builtins.bool | None = None,
) -> Any:
    """The variance over `axis`: squared deviations from the mean, over n - `correction`."""

@overload
def vdot(a: Tensor, b: Any) -> Tensor: ...
@overload
def vdot(a: Any, b: Tensor) -> Tensor: ...
@overload
def vdot(a: Any, b: Any) -> Any:
    """The product of two arrays as vectors, the first conjugated."""

@overload
def vecdot(x1: Tensor, x2: Any, axis: builtins.int = -1) -> Tensor: ...
@overload
def vecdot(x1: Any, x2: Tensor, axis: builtins.int = -1) -> Tensor: ...
@overload
def vecdot(x1: Any, x2: Any, axis: builtins.int = -1) -> Any:
    """The products of vectors along `axis`, the first conjugated, batches broadcast."""

@overload
def vecmat(x1: Tensor, x2: Any) -> Tensor: ...
@overload
def vecmat(x1: Any, x2: Tensor) -> Tensor: ...
@overload
def vecmat(x1: Any, x2: Any) -> Any:
    """Vectors, conjugated, times matrices: along the last axis, batches broadcast."""

def vector_jacobian_product(
    fun: Callable[..., Any], argnum: builtins.int = 0
) -> Callable[..., Any]:
    """A function of ``(*args, v)``: v, contracted with the first axes of the Jacobian."""

def vector_norm(
    x: Any, axis: Any = None, keepdims: builtins.bool = False, ord: builtins.float = 2
) -> Any:
    """The `ord`-norm over `axis`, all elements as one vector; 0 has the gradient 0."""

def vectorize(
    pyfunc: Callable[..., Any],
    otypes: Any = None,
    doc: str | None = None,
    excluded: Any = None,
    cache: builtins.bool = False,
    signature: str | None = None,
) -> Callable[..., Any]:
    """A function of numbers as one of arrays, which are broadcast: it is called for each element."""

def vjp(
    f: Callable[..., Any], *primals: Any, has_aux: builtins.bool = False, backend: str | None = None
) -> Any:
    """The value of a function and the map from cotangents of it to cotangents of its arguments."""

@overload
def vmap(
    f: _ArrayFunction,
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
) -> Compiled[..., Any]: ...
@overload
def vmap(
    f: Callable[_P, _R],
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
) -> Compiled[..., Any]: ...
@overload
def vmap(
    f: None = None,
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: builtins.int | Sequence[builtins.int] = (),
    out_shardings: Any = None,
) -> _VmapDecorator:
    """A function of one example as a function of a batch of them, as compiled source."""

def vsplit(x: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`split` along the first axis of a matrix."""

@overload
def vstack(arrays: Iterable[Tensor], dtype: Any = None) -> Tensor: ...
@overload
def vstack(arrays: Any, dtype: Any = None) -> Any:
    """The arrays on top of each other: along the first axis, vectors as rows."""

@overload
def where(condition: Any) -> builtins.tuple[Any, ...]: ...
@overload
def where(condition: Tensor, x: Any, y: Any) -> Tensor: ...
@overload
def where(condition: Any, x: Tensor, y: Any) -> Tensor: ...
@overload
def where(condition: Any, x: Any, y: Tensor) -> Tensor: ...
@overload
def where(condition: Any, x: Any, y: Any) -> Any:
    """`x` where `condition` is true, else `y`; with the condition alone, the indices of True."""

def zeros(
    shape: Any = (),
    *lengths: Any,
    dtype: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
) -> Tensor:
    """Zeros: ``zeros(3, 4)`` or ``zeros((3, 4))``."""

@overload
def zeros_like(
    x: Tensor,
    dtype: Any = None,
    shape: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
    order: str = "K",
) -> Tensor: ...
@overload
def zeros_like(
    x: Any,
    dtype: Any = None,
    shape: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
    order: str = "K",
) -> Any:
    """Zeros of the shape and dtype of `x`."""
