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
    """The absolute values; of complex numbers their distances from 0.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool,
    int64, float32, float64; complex128 gives float64.

    >>> import tracegrad as tg
    >>> tg.absolute(tg.tensor([-1.5, 0.0, 2.0]))
    tensor([1.5000, 0.0000, 2.0000])
    """

@overload
def absolute(x: Tensor, /) -> Tensor: ...
@overload
def absolute(x: ArrayLike, /) -> Any:
    """The absolute values; of complex numbers their distances from 0.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool,
    int64, float32, float64; complex128 gives float64.

    >>> import tracegrad as tg
    >>> tg.absolute(tg.tensor([-1.5, 0.0, 2.0]))
    tensor([1.5000, 0.0000, 2.0000])
    """

@overload
def acos(x: Tensor, /) -> Tensor: ...
@overload
def acos(x: ArrayLike, /) -> Any:
    """The angles in [0, pi] with these cosines.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.arccos(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([3.1416, 1.5708, 0.0000])
    """

@overload
def acosh(x: Tensor, /) -> Tensor: ...
@overload
def acosh(x: ArrayLike, /) -> Any:
    """The numbers from 0 on with these hyperbolic cosines.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.arccosh(tg.tensor([1.0, 2.0]))
    tensor([0.0000, 1.3170])
    """

@overload
def add(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def add(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def add(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The sums ``a + b``.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: bool, int64, float32, float64, complex128.

    >>> import tracegrad as tg
    >>> tg.add(tg.tensor([1.0, 2.0]), tg.tensor([[10.0], [20.0]]))
    tensor([[11., 12.],
            [21., 22.]])
    """

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
    """Whether all elements over `axis` are true.

    >>> import tracegrad as tg
    >>> tg.all(tg.tensor([[True, False], [True, True]]), axis=1)
    tensor([False,  True])
    """

def allclose(
    a: Any,
    b: Any,
    rtol: builtins.float = 1e-05,
    atol: builtins.float = 1e-08,
    equal_nan: builtins.bool = False,
) -> builtins.bool:
    """Whether `a` and `b` are equal everywhere within ``atol + rtol * abs(b)``.

    >>> import tracegrad as tg
    >>> tg.allclose(tg.tensor([1.0, 2.0]), tg.tensor([1.0, 2.0 + 1e-9]))
    True
    """

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
    """The largest element over `axis`; ties share the gradient evenly.

    >>> import tracegrad as tg
    >>> tg.amax(tg.tensor([[1.0, 5.0], [3.0, 2.0]]), axis=0)
    tensor([3., 5.])
    """

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
    """The smallest element over `axis`; ties share the gradient evenly.

    >>> import tracegrad as tg
    >>> tg.amin(tg.tensor([[1.0, 5.0], [3.0, 2.0]]), axis=0)
    tensor([1., 2.])
    """

@overload
def angle(z: Tensor, deg: builtins.bool = False) -> Tensor: ...
@overload
def angle(z: Any, deg: builtins.bool = False) -> Any:
    """The angle of complex numbers, in (-pi, pi].

    >>> import tracegrad as tg
    >>> tg.angle(tg.tensor([1.0j, -1.0 + 0.0j]))
    tensor([1.5708, 3.1416])
    """

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
    """Whether any element over `axis` is true.

    >>> import tracegrad as tg
    >>> tg.any(tg.tensor([[True, False], [False, False]]), axis=1)
    tensor([ True, False])
    """

@overload
def append(x: Tensor, values: Any, axis: builtins.int | None = None) -> Tensor: ...
@overload
def append(x: Any, values: Any, axis: builtins.int | None = None) -> Any:
    """`x` with `values` behind it along `axis` (both flattened without one).

    >>> import tracegrad as tg
    >>> tg.append(tg.tensor([1.0, 2.0]), [3.0])
    tensor([1., 2., 3.])
    """

@overload
def apply_along_axis(
    func1d: Callable[..., Any], axis: builtins.int, x: Tensor, *args: Any, **kw: Any
) -> Tensor: ...
@overload
def apply_along_axis(
    func1d: Callable[..., Any], axis: builtins.int, x: Any, *args: Any, **kw: Any
) -> Any:
    """A function of vectors on every line along `axis`; its results lie along that axis.

    >>> import tracegrad as tg
    >>> tg.apply_along_axis(lambda row: tg.sum(row ** 2), 1, tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([ 5., 25.])
    """

@overload
def apply_over_axes(func: Callable[..., Any], a: Tensor, axes: Any) -> Tensor: ...
@overload
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """A reduction ``func(a, axis)`` over several axes, one after the other, which stay as 1.

    >>> import tracegrad as tg
    >>> tg.apply_over_axes(tg.sum, tg.ones((2, 3)), (0, 1))
    tensor([[6.]])
    """

def arange(
    start: Any,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
) -> Tensor:
    """The numbers from `start` (0 when only one bound is given) to before `stop`.

    >>> import tracegrad as tg
    >>> tg.arange(2, 8, 2)
    tensor([2, 4, 6])
    """

@overload
def arccos(x: Tensor, /) -> Tensor: ...
@overload
def arccos(x: ArrayLike, /) -> Any:
    """The angles in [0, pi] with these cosines.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.arccos(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([3.1416, 1.5708, 0.0000])
    """

@overload
def arccosh(x: Tensor, /) -> Tensor: ...
@overload
def arccosh(x: ArrayLike, /) -> Any:
    """The numbers from 0 on with these hyperbolic cosines.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.arccosh(tg.tensor([1.0, 2.0]))
    tensor([0.0000, 1.3170])
    """

@overload
def arcsin(x: Tensor, /) -> Tensor: ...
@overload
def arcsin(x: ArrayLike, /) -> Any:
    """The angles in [-pi/2, pi/2] with these sines.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.arcsin(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([-1.5708,  0.0000,  1.5708])
    """

@overload
def arcsinh(x: Tensor, /) -> Tensor: ...
@overload
def arcsinh(x: ArrayLike, /) -> Any:
    """The numbers with these hyperbolic sines.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.arcsinh(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.8814,  0.0000,  0.8814])
    """

@overload
def arctan(x: Tensor, /) -> Tensor: ...
@overload
def arctan(x: ArrayLike, /) -> Any:
    """The angles in (-pi/2, pi/2) with these tangents.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.arctan(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.7854,  0.0000,  0.7854])
    """

@overload
def arctan2(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def arctan2(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def arctan2(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The angles in [-pi, pi] of the points (b, a).

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: float32, float64; bool gives float16; int64 gives float64. TypeError for
    complex128.

    >>> import tracegrad as tg
    >>> tg.arctan2(tg.tensor([0.0, 1.0, -1.0]), tg.tensor([-1.0, 1.0, 0.0]))
    tensor([ 3.1416,  0.7854, -1.5708])
    """

@overload
def arctanh(x: Tensor, /) -> Tensor: ...
@overload
def arctanh(x: ArrayLike, /) -> Any:
    """The numbers with these hyperbolic tangents.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.arctanh(tg.tensor([-0.5, 0.0, 0.5]))
    tensor([-0.5493,  0.0000,  0.5493])
    """

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
    """The index of the first largest element along `axis` (None: of the flattened array).

    >>> import tracegrad as tg
    >>> tg.argmax(tg.tensor([1.0, 5.0, 3.0]))
    tensor(1)
    """

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
    """The index of the first smallest element along `axis` (None: of the flattened array).

    >>> import tracegrad as tg
    >>> tg.argmin(tg.tensor([4.0, 1.0, 3.0]))
    tensor(1)
    """

@overload
def argpartition(
    x: Tensor, kth: Any, axis: builtins.int | None = -1, kind: Any = None, order: None = None
) -> Tensor: ...
@overload
def argpartition(
    x: Any, kth: Any, axis: builtins.int | None = -1, kind: Any = None, order: None = None
) -> Any:
    """The indices of `partition`.

    >>> import tracegrad as tg
    >>> tg.argpartition(tg.tensor([3.0, 1.0, 2.0]), 0)[0]
    tensor(1)
    """

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
    """The indices that put `x` in order along `axis`, as `sort` does; equal elements stay so.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.argsort(tg.tensor([3.0, 1.0, 2.0]))
    tensor([1, 2, 0])
    """

@overload
def argwhere(x: Tensor) -> Tensor: ...
@overload
def argwhere(x: Any) -> Any:
    """The indices of the elements that are not 0, a row for each.

    >>> import tracegrad as tg
    >>> tg.argwhere(tg.tensor([[0, 5], [7, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """

@overload
def around(x: Tensor, decimals: builtins.int = 0, out: None = None) -> Tensor: ...
@overload
def around(x: Any, decimals: builtins.int = 0, out: None = None) -> Any:
    """`x` rounded to so many decimals, halves to the even digit.

    >>> import tracegrad as tg
    >>> tg.round(tg.tensor([0.5, 1.5, 2.6]))
    tensor([0., 2., 3.])
    """

def array_equal(a: Any, b: Any, equal_nan: builtins.bool = False) -> builtins.bool:
    """Whether two arrays have one shape and the same elements.

    >>> import tracegrad as tg
    >>> tg.array_equal(tg.tensor([1, 2]), tg.tensor([1, 2]))
    True
    """

def array_equiv(a1: Any, a2: Any) -> builtins.bool:
    """Whether two arrays, broadcast against each other, have the same elements.

    >>> import tracegrad as tg
    >>> tg.array_equiv(tg.tensor([1, 2]), tg.tensor([[1, 2], [1, 2]]))
    True
    """

def array_split(x: Any, indices_or_sections: Any, axis: Any = 0) -> tuple[Any, ...]:
    """As `split`, but parts need not be equal: where they differ, the first are longer by 1.

    >>> import tracegrad as tg
    >>> tg.array_split(tg.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """

def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """A Tensor of the data, which shares the memory of a NumPy array of the same dtype.

    What NumPy writes into the array is seen by the Tensor. A backward that needs what the array
    held before raises; it is never silently wrong.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> array = np.zeros(2)
    >>> shared = tg.as_tensor(array)
    >>> array[0] = 1.0
    >>> shared
    tensor([1., 0.])
    """

def asarray(
    data: Any, dtype: Any = None, copy: builtins.bool | None = None, device: Any = None
) -> Any:
    """The data as a Tensor, sharing memory where it can (never with ``copy=True``).

    Lists of Tensors, nested or beside numbers, are stacked, so gradients flow to them.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> tg.asarray([x[0] * x[1], 3.0]).sum().backward()
    >>> x.grad
    tensor([2., 1.])
    """

@overload
def asin(x: Tensor, /) -> Tensor: ...
@overload
def asin(x: ArrayLike, /) -> Any:
    """The angles in [-pi/2, pi/2] with these sines.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.arcsin(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([-1.5708,  0.0000,  1.5708])
    """

@overload
def asinh(x: Tensor, /) -> Tensor: ...
@overload
def asinh(x: ArrayLike, /) -> Any:
    """The numbers with these hyperbolic sines.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.arcsinh(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.8814,  0.0000,  0.8814])
    """

@overload
def astype(
    x: Tensor, dtype: Any, copy: builtins.bool = True, device: Any = None, order: str | None = "K"
) -> Tensor: ...
@overload
def astype(
    x: Any, dtype: Any, copy: builtins.bool = True, device: Any = None, order: str | None = "K"
) -> Any:
    """`x` in another dtype; with ``copy=False`` `x` itself where it has that dtype.

    >>> import tracegrad as tg
    >>> tg.astype(tg.tensor([1, 2]), tg.float32)
    tensor([1., 2.], dtype=float32)
    """

@overload
def atan(x: Tensor, /) -> Tensor: ...
@overload
def atan(x: ArrayLike, /) -> Any:
    """The angles in (-pi/2, pi/2) with these tangents.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.arctan(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.7854,  0.0000,  0.7854])
    """

@overload
def atan2(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def atan2(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def atan2(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The angles in [-pi, pi] of the points (b, a).

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: float32, float64; bool gives float16; int64 gives float64. TypeError for
    complex128.

    >>> import tracegrad as tg
    >>> tg.arctan2(tg.tensor([0.0, 1.0, -1.0]), tg.tensor([-1.0, 1.0, 0.0]))
    tensor([ 3.1416,  0.7854, -1.5708])
    """

@overload
def atanh(x: Tensor, /) -> Tensor: ...
@overload
def atanh(x: ArrayLike, /) -> Any:
    """The numbers with these hyperbolic tangents.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.arctanh(tg.tensor([-0.5, 0.0, 0.5]))
    tensor([-0.5493,  0.0000,  0.5493])
    """

def atleast_1d(*arrays: Any) -> Any:
    """The arrays with at least 1 axis.

    >>> import tracegrad as tg
    >>> tg.atleast_1d(tg.tensor(3.0))
    tensor([3.])
    """

def atleast_2d(*arrays: Any) -> Any:
    """The arrays with at least 2 axes.

    >>> import tracegrad as tg
    >>> tg.atleast_2d(tg.tensor([1.0, 2.0]))
    tensor([[1., 2.]])
    """

def atleast_3d(*arrays: Any) -> Any:
    """The arrays with at least 3 axes.

    >>> import tracegrad as tg
    >>> tg.atleast_3d(tg.tensor([1.0, 2.0])).shape
    (1, 2, 1)
    """

def average(
    x: Any,
    axis: Any = None,
    weights: Any = None,
    returned: builtins.bool = False,
    keepdims: builtins.bool = False,
) -> Any:
    """The mean over `axis` with `weights`; `returned` adds the sum of the weights.

    Weights whose sum is 0 raise a ``ZeroDivisionError``.

    >>> import tracegrad as tg
    >>> tg.average(tg.tensor([1.0, 2.0, 4.0]), weights=[1.0, 1.0, 2.0])
    tensor(2.7500)
    """

def backward_source(tensor: Tensor) -> str:
    """The source that ``tensor.backward()`` runs, formatted by black.

    Of the result of a function of `tg.compile` it is the source of that call's backward.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> print(tg.backward_source((x * x).sum()).splitlines()[-1].strip())
    return (x0_bar,)
    """

@overload
def bincount(x: Tensor, weights: Any = None, minlength: builtins.int = 0) -> Tensor: ...
@overload
def bincount(x: Any, weights: Any = None, minlength: builtins.int = 0) -> Any:
    """How often each of the numbers 0, 1, ... is in a vector of such numbers.

    The result is as long as the largest number tells (it is looked at), at least `minlength`.
    With `weights` they are added up in place of ones; gradients flow to them.

    >>> import tracegrad as tg
    >>> tg.bincount(tg.tensor([0, 2, 2, 3]))
    tensor([1, 0, 2, 1])
    """

@overload
def bitwise_and(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def bitwise_and(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def bitwise_and(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``a & b``: the bits that are 1 in both.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: bool, int64. TypeError for float32, float64, complex128. Results carry no
    gradient.

    >>> import tracegrad as tg
    >>> tg.bitwise_and(tg.tensor([12, 6]), 10)
    tensor([8, 2])
    """

@overload
def bitwise_count(x: Tensor, /) -> Tensor: ...
@overload
def bitwise_count(x: ArrayLike, /) -> Any:
    """The number of bits that are 1 in the absolute values.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool,
    int64 give uint8. TypeError for float32, float64, complex128. Results carry no gradient.

    >>> import tracegrad as tg
    >>> tg.bitwise_count(tg.tensor([0, 7, 8]))
    tensor([0, 3, 1], dtype=uint8)
    """

@overload
def bitwise_invert(x: Tensor, /) -> Tensor: ...
@overload
def bitwise_invert(x: ArrayLike, /) -> Any:
    """``~x``: every bit the other way; of bools the negation.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool,
    int64. TypeError for float32, float64, complex128. Results carry no gradient.

    >>> import tracegrad as tg
    >>> tg.bitwise_invert(tg.tensor([0, 1, -3]))
    tensor([-1, -2,  2])
    """

@overload
def bitwise_left_shift(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def bitwise_left_shift(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def bitwise_left_shift(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``a << b``: the bits of `a` moved up by `b` places.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: int64; bool gives int8. TypeError for float32, float64, complex128. Results
    carry no gradient.

    >>> import tracegrad as tg
    >>> tg.bitwise_left_shift(tg.tensor([1, 3]), 2)
    tensor([ 4, 12])
    """

@overload
def bitwise_not(x: Tensor, /) -> Tensor: ...
@overload
def bitwise_not(x: ArrayLike, /) -> Any:
    """``~x``: every bit the other way; of bools the negation.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool,
    int64. TypeError for float32, float64, complex128. Results carry no gradient.

    >>> import tracegrad as tg
    >>> tg.bitwise_invert(tg.tensor([0, 1, -3]))
    tensor([-1, -2,  2])
    """

@overload
def bitwise_or(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def bitwise_or(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def bitwise_or(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``a | b``: the bits that are 1 in at least one of the two.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: bool, int64. TypeError for float32, float64, complex128. Results carry no
    gradient.

    >>> import tracegrad as tg
    >>> tg.bitwise_or(tg.tensor([12, 6]), 10)
    tensor([14, 14])
    """

@overload
def bitwise_right_shift(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def bitwise_right_shift(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def bitwise_right_shift(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``a >> b``: the bits of `a` moved down by `b` places.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: int64; bool gives int8. TypeError for float32, float64, complex128. Results
    carry no gradient.

    >>> import tracegrad as tg
    >>> tg.bitwise_right_shift(tg.tensor([8, 13]), 2)
    tensor([2, 3])
    """

@overload
def bitwise_xor(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def bitwise_xor(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def bitwise_xor(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``a ^ b``: the bits in which both differ.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: bool, int64. TypeError for float32, float64, complex128. Results carry no
    gradient.

    >>> import tracegrad as tg
    >>> tg.bitwise_xor(tg.tensor([12, 6]), 10)
    tensor([ 6, 12])
    """

@overload
def block(arrays: Iterable[Tensor]) -> Tensor: ...
@overload
def block(arrays: Any) -> Any:
    """One array of blocks: the innermost lists are joined along the last axis, and so on.

    >>> import tracegrad as tg
    >>> tg.block([[tg.eye(2), tg.zeros((2, 1))], [tg.ones((1, 3))]])
    tensor([[1., 0., 0.],
            [0., 1., 0.],
            [1., 1., 1.]])
    """

bool: np.dtype[np.bool]

def broadcast_arrays(*arrays: Any) -> list[Any]:
    """A list of the arrays, repeated to the shape that they broadcast to together.

    >>> import tracegrad as tg
    >>> a, b = tg.broadcast_arrays(tg.tensor([1.0, 2.0]), tg.tensor([[3.0], [4.0]]))
    >>> a
    tensor([[1., 2.],
            [1., 2.]])
    """

def broadcast_shapes(*shapes: Any) -> tuple[builtins.int, ...]:
    """The shape that arrays of these shapes broadcast to.

    >>> import tracegrad as tg
    >>> tg.broadcast_shapes((3, 1), (4,))
    (3, 4)
    """

@overload
def broadcast_to(x: Tensor, shape: Sequence[builtins.int | Size] | builtins.int) -> Tensor: ...
@overload
def broadcast_to(x: Any, shape: Sequence[builtins.int | Size] | builtins.int) -> Any:
    """`x` repeated to `shape`, a read-only view, as ``np.broadcast_to``.

    >>> import tracegrad as tg
    >>> tg.broadcast_to(tg.tensor([1.0, 2.0]), (2, 2))
    tensor([[1., 2.],
            [1., 2.]])
    """

def can_cast(from_: Any, to: Any, casting: str = "safe") -> builtins.bool:
    """Whether an array, or a dtype, can be cast to a dtype (by default without loss).

    >>> import tracegrad as tg
    >>> tg.can_cast(tg.int32, tg.int64), tg.can_cast(tg.float64, tg.int64)
    (True, False)
    """

@overload
def cbrt(x: Tensor, /) -> Tensor: ...
@overload
def cbrt(x: ArrayLike, /) -> Any:
    """The real cube roots.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64; bool gives float16; int64 gives float64. TypeError for complex128.

    >>> import tracegrad as tg
    >>> tg.cbrt(tg.tensor([-8.0, 0.0, 10.0]))
    tensor([-2.0000,  0.0000,  2.1544])
    """

cdouble: np.dtype[np.complex128]

@overload
def ceil(x: Tensor, /) -> Tensor: ...
@overload
def ceil(x: ArrayLike, /) -> Any:
    """The smallest integers that are not below `x`, in the dtype of `x`.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool,
    int64, float32, float64. TypeError for complex128.

    >>> import tracegrad as tg
    >>> tg.ceil(tg.tensor([-1.5, 0.2, 3.0]))
    tensor([-1.,  1.,  3.])
    """

cfloat: np.dtype[np.complex64]

@overload
def checkpoint(
    f: Callable[_P, _R], *, max_bytes: builtins.int | None = None
) -> Callable[_P, _R]: ...
@overload
def checkpoint(
    f: None = None, *, max_bytes: builtins.int | None = None
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """The same function, whose intermediate values are computed again in the backward.

    Time is exchanged for memory: a backward keeps what the function reads, not what it computes on
    the way. Values and gradients have the same bits. In compiled functions the second computation
    stands in the generated source; loops inside are unrolled. What has an effect (a draw of random
    numbers, a call of the user's own Python) runs once, and its result is kept. In eager calls the
    function itself runs again, with what it prints and stores; where it computes something else
    then, since what it reads has changed, that is an error.

    With `max_bytes` loops in NumPy source stay loops, and none keeps more than so many bytes of its
    turns for the backward; what the statements of a turn make comes on top. A loop that keeps less
    than that is left as it is. Any other loop is cut into segments. It keeps what each segment
    begins with, and the backward runs the turns of a segment once more before it goes back through
    them. Later segments are shorter, because more beginnings are kept by then. If that is still too
    much, the first segments are cut into parts, whose turns run three times. If even that is more
    than the budget, the loop keeps as little as it can. A ``while`` has an unknown number of turns,
    so each of its segments is a turn longer than the one before. The header of the source says what
    is kept and how many turns are run. The lengths of the call that is compiled decide. A loop over
    a range whose end is a traced value, and a loop with inner loops that is left early, keep all
    their turns.
    ``tg.config.max_bytes`` is the same for all loops.

    Raises
    ------
    tg.errors.ArgumentError
        `f` is no function, `max_bytes` no number of bytes.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> layer = tg.checkpoint(lambda w, x: np.tanh(x @ w))
    >>> tg.grad(lambda w: np.sum(layer(w, np.ones((1, 2)))))(np.zeros((2, 1)))
    array([[1.],
           [1.]])

    >>> def decay(x):
    ...     for t in range(1000):
    ...         x = x - 0.01 * np.sin(x)
    ...     return np.sum(x)
    >>> within = tg.grad(tg.checkpoint(decay, max_bytes=10_000))
    >>> bool(np.all(within(np.ones(20)) == tg.grad(decay)(np.ones(20))))
    True

    Reference: Griewank and Walther 2000, Algorithm 799: revolve; Chen, Xu, Zhang, Guestrin 2016,
    Training deep nets with sublinear memory cost.
    """

@overload
def choose(a: Tensor, choices: Any, mode: str = "raise") -> Tensor: ...
@overload
def choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    """For each place, the element of the choice whose number is in `a`.

    >>> import tracegrad as tg
    >>> tg.choose(tg.tensor([0, 1, 0]), [tg.tensor([1, 2, 3]), tg.tensor([10, 20, 30])])
    tensor([ 1, 20,  3])
    """

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
    """`x` within bounds, either of which may be left out; a bound that is met has gradient 1.

    The bounds are `min` and `max`, or by NumPy's older names `a_min` and `a_max`.

    >>> import tracegrad as tg
    >>> tg.clip(tg.tensor([-1.0, 0.5, 3.0]), 0.0, 1.0)
    tensor([0.0000, 0.5000, 1.0000])
    """

@overload
def column_stack(arrays: Iterable[Tensor]) -> Tensor: ...
@overload
def column_stack(arrays: Any) -> Any:
    """Vectors as the columns of a matrix, matrices side by side.

    >>> import tracegrad as tg
    >>> tg.column_stack([tg.tensor([1.0, 2.0]), tg.tensor([3.0, 4.0])])
    tensor([[1., 3.],
            [2., 4.]])
    """

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
    """The function itself as compiled source; it stays differentiable from outside.

    On Tensors that require grad, among the arguments or from outside, a call is one operation of
    the tape, with a compiled backward: what depends on them is a Tensor, whatever the arguments
    are. Parameters as for `grad`.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> @tg.compile
    ... def softplus(x):
    ...     return np.log1p(np.exp(x))
    >>> print(softplus(0.0))
    0.6931471805599453
    >>> w = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> loss = tg.compile(lambda: (w**2).sum())
    >>> loss().backward()
    >>> w.grad
    tensor([2., 4.])
    """

complex128: np.dtype[np.complex128]

complex64: np.dtype[np.complex64]

@overload
def compress(condition: Any, x: Tensor, axis: Any = None) -> Tensor: ...
@overload
def compress(condition: Any, x: Any, axis: Any = None) -> Any:
    """The slices along `axis` (the elements, without one) where `condition` is true.

    >>> import tracegrad as tg
    >>> tg.compress([True, False, True], tg.tensor([1.0, 2.0, 3.0]))
    tensor([1., 3.])
    """

@overload
def concat(arrays: Iterable[Tensor], axis: Any = 0, dtype: Any = None) -> Tensor: ...
@overload
def concat(arrays: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """The arrays one after the other along `axis` (flattened for None).

    >>> import tracegrad as tg
    >>> tg.concatenate([tg.tensor([1.0, 2.0]), tg.tensor([3.0])])
    tensor([1., 2., 3.])
    """

@overload
def concatenate(arrays: Iterable[Tensor], axis: Any = 0, dtype: Any = None) -> Tensor: ...
@overload
def concatenate(arrays: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """The arrays one after the other along `axis` (flattened for None).

    >>> import tracegrad as tg
    >>> tg.concatenate([tg.tensor([1.0, 2.0]), tg.tensor([3.0])])
    tensor([1., 2., 3.])
    """

@overload
def conj(x: Tensor, /) -> Tensor: ...
@overload
def conj(x: ArrayLike, /) -> Any:
    """The complex conjugates; real numbers as they are.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    int64, float32, float64, complex128; bool gives int8.

    >>> import tracegrad as tg
    >>> tg.conj(tg.tensor([1.0 + 2.0j, 3.0j]))
    tensor([1.-2.j, 0.-3.j])
    """

@overload
def conjugate(x: Tensor, /) -> Tensor: ...
@overload
def conjugate(x: ArrayLike, /) -> Any:
    """The complex conjugates; real numbers as they are.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    int64, float32, float64, complex128; bool gives int8.

    >>> import tracegrad as tg
    >>> tg.conj(tg.tensor([1.0 + 2.0j, 3.0j]))
    tensor([1.-2.j, 0.-3.j])
    """

@overload
def convolve(a: Tensor, v: Any, mode: str = "full") -> Tensor: ...
@overload
def convolve(a: Any, v: Tensor, mode: str = "full") -> Tensor: ...
@overload
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The convolution of two vectors: sums of products, one of them reversed.

    mode
        ``"full"``: wherever they overlap, n + m - 1 elements; ``"same"``: as many as the longer
        has, from the middle; ``"valid"``: where they overlap wholly. The last two compare the
        lengths, which are fixed by that while tracing.

    >>> import tracegrad as tg
    >>> tg.convolve(tg.tensor([1.0, 2.0, 3.0]), tg.tensor([1.0, 1.0]))
    tensor([1., 3., 5., 3.])
    """

@overload
def copy(x: Tensor, order: str = "K") -> Tensor: ...
@overload
def copy(x: Any, order: str = "K") -> Any:
    """The same values in memory of their own, in the order of `x` or in that of rows ("C").

    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0, 2.0])
    >>> y = tg.copy(x)
    >>> y[0] = 5.0
    >>> x
    tensor([1., 2.])
    """

@overload
def copysign(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def copysign(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def copysign(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The absolute values of `a` with the signs of `b`.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: float32, float64; bool gives float16; int64 gives float64. TypeError for
    complex128.

    >>> import tracegrad as tg
    >>> tg.copysign(tg.tensor([1.0, -2.0]), tg.tensor([-0.0, 5.0]))
    tensor([-1.,  2.])
    """

def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Writes `src`, broadcast, into the Tensor `dst`, where `where` is true.

    >>> import tracegrad as tg
    >>> x = tg.zeros(3)
    >>> tg.copyto(x, [1.0, 2.0, 3.0])
    >>> x
    tensor([1., 2., 3.])
    """

@overload
def corrcoef(
    x: Tensor, y: Any = None, rowvar: builtins.bool = True, *, dtype: Any = None
) -> Tensor: ...
@overload
def corrcoef(x: Any, y: Any = None, rowvar: builtins.bool = True, *, dtype: Any = None) -> Any:
    """The correlations of variables, which are the rows of `x`: covariances over deviations.

    >>> import tracegrad as tg
    >>> tg.corrcoef(tg.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """

@overload
def correlate(a: Tensor, v: Any, mode: str = "valid") -> Tensor: ...
@overload
def correlate(a: Any, v: Tensor, mode: str = "valid") -> Tensor: ...
@overload
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """The correlation of two vectors: sums of products of one with the other conjugated, shifted.

    `mode` as for `convolve`.

    >>> import tracegrad as tg
    >>> tg.correlate(tg.tensor([1.0, 2.0, 3.0]), tg.tensor([1.0, 1.0]))
    tensor([3., 5.])
    """

@overload
def cos(x: Tensor, /) -> Tensor: ...
@overload
def cos(x: ArrayLike, /) -> Any:
    """The cosines of angles in radians.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.cos(tg.tensor([0.0, tg.pi / 3, tg.pi]))
    tensor([ 1.0000,  0.5000, -1.0000])
    """

@overload
def cosh(x: Tensor, /) -> Tensor: ...
@overload
def cosh(x: ArrayLike, /) -> Any:
    """The hyperbolic cosines.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.cosh(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([1.5431, 1.0000, 1.5431])
    """

@overload
def count_nonzero(x: Tensor, axis: Any = None, *, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def count_nonzero(x: Any, axis: Any = None, *, keepdims: builtins.bool = False) -> Any:
    """The number of elements over `axis` that are not 0.

    >>> import tracegrad as tg
    >>> tg.count_nonzero(tg.tensor([0, 5, 7]))
    tensor(2)
    """

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
    """The covariances of variables, which are the rows of `m` (the columns without `rowvar`).

    Sums of products of deviations over n - 1, or over n with `bias`, or over n - `ddof` (PyTorch's
    `correction`); `fweights` are numbers of repetitions, `aweights` weights of observations.

    >>> import tracegrad as tg
    >>> tg.cov(tg.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """

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
    """The cross product of vectors of 3 components, which lie along the axes named.

    >>> import tracegrad as tg
    >>> tg.cross(tg.tensor([1.0, 0.0, 0.0]), tg.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """

def cummax(x: Any, axis: builtins.int | None = None) -> Any:
    """The largest element up to each one, along `axis` (None: of the flattened array).

    Of ties the latest has the gradient, as in PyTorch; the values alone are returned, as NumPy's
    ``maximum.accumulate`` does.

    >>> import tracegrad as tg
    >>> tg.cummax(tg.tensor([1.0, 3.0, 2.0]))
    tensor([1., 3., 3.])
    """

def cummin(x: Any, axis: builtins.int | None = None) -> Any:
    """The smallest element up to each one, along `axis` (None: of the flattened array).

    Ties as in `cummax`.

    >>> import tracegrad as tg
    >>> tg.cummin(tg.tensor([3.0, 1.0, 2.0]))
    tensor([3., 1., 1.])
    """

@overload
def cumprod(
    x: Tensor, axis: builtins.int | None = None, dtype: Any = None, out: None = None
) -> Tensor: ...
@overload
def cumprod(x: Any, axis: builtins.int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The products of the elements up to each one, along `axis` (None: of the flattened array).

    >>> import tracegrad as tg
    >>> tg.cumprod(tg.tensor([1.0, 2.0, 3.0]))
    tensor([1., 2., 6.])
    """

@overload
def cumsum(
    x: Tensor, axis: builtins.int | None = None, dtype: Any = None, out: None = None
) -> Tensor: ...
@overload
def cumsum(x: Any, axis: builtins.int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The sums of the elements up to each one, along `axis` (None: of the flattened array).

    >>> import tracegrad as tg
    >>> tg.cumsum(tg.tensor([1.0, 2.0, 3.0]))
    tensor([1., 3., 6.])
    """

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
    """The products of the elements up to each one, along `axis`; `include_initial`: a 1 first.

    >>> import tracegrad as tg
    >>> tg.cumulative_prod(tg.tensor([1.0, 2.0, 3.0]), include_initial=True)
    tensor([1., 1., 2., 6.])
    """

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
    """The sums of the elements up to each one, along `axis`; `include_initial`: a 0 first.

    >>> import tracegrad as tg
    >>> tg.cumulative_sum(tg.tensor([1.0, 2.0, 3.0]), include_initial=True)
    tensor([0., 1., 3., 6.])
    """

@overload
def deg2rad(x: Tensor, /) -> Tensor: ...
@overload
def deg2rad(x: ArrayLike, /) -> Any:
    """Degrees in radians.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64; bool gives float16; int64 gives float64. TypeError for complex128.

    >>> import tracegrad as tg
    >>> tg.deg2rad(tg.tensor([0.0, 90.0, 180.0]))
    tensor([0.0000, 1.5708, 3.1416])
    """

@overload
def degrees(x: Tensor, /) -> Tensor: ...
@overload
def degrees(x: ArrayLike, /) -> Any:
    """Radians in degrees.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64; bool gives float16; int64 gives float64. TypeError for complex128.

    >>> import tracegrad as tg
    >>> tg.rad2deg(tg.tensor([0.0, tg.pi / 2, tg.pi]))
    tensor([  0.,  90., 180.])
    """

@overload
def delete(x: Tensor, obj: Any, axis: builtins.int | None = None) -> Tensor: ...
@overload
def delete(x: Any, obj: Any, axis: builtins.int | None = None) -> Any:
    """`x` without the elements (without the slices along `axis`) at these places.

    Places in a Tensor are looked at: they decide the shape.

    >>> import tracegrad as tg
    >>> tg.delete(tg.tensor([1.0, 2.0, 3.0]), 1)
    tensor([1., 3.])
    """

def deriv(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """The derivative along ones: of a function of one number its derivative.

    >>> import numpy as np
    >>> from tracegrad import deriv
    >>> deriv(lambda t: np.array([t, t**2]))(3.0)
    array([1., 6.])
    """

def device(type: Any, index: builtins.int | None = None) -> Device:
    """The device of a name: ``device("cuda:0")``, ``device("cuda", 0)``; raises if it is absent.

    >>> import tracegrad as tg
    >>> tg.device("cpu")
    device(type='cpu')
    """

@overload
def diag(x: Tensor, k: builtins.int = 0) -> Tensor: ...
@overload
def diag(x: Any, k: builtins.int = 0) -> Any:
    """The k-th diagonal of a matrix, or the matrix with a vector on its k-th diagonal.

    >>> import tracegrad as tg
    >>> tg.diag(tg.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [0., 2.]])
    """

def diag_indices(n: builtins.int, ndim: builtins.int = 2) -> tuple[Any, ...]:
    """The index of the main diagonal of an array of `ndim` axes of length `n`.

    >>> import tracegrad as tg
    >>> tg.diag_indices(3)
    (tensor([0, 1, 2]), tensor([0, 1, 2]))
    """

def diag_indices_from(x: Any) -> tuple[Any, ...]:
    """The index of the main diagonal of `x`.

    >>> import tracegrad as tg
    >>> tg.diag_indices_from(tg.eye(2))
    (tensor([0, 1]), tensor([0, 1]))
    """

@overload
def diagflat(x: Tensor, k: builtins.int = 0) -> Tensor: ...
@overload
def diagflat(x: Any, k: builtins.int = 0) -> Any:
    """The matrix with all elements of `x` on its k-th diagonal.

    >>> import tracegrad as tg
    >>> tg.diagflat(tg.tensor([[1.0], [2.0]]))
    tensor([[1., 0.],
            [0., 2.]])
    """

@overload
def diagonal(
    x: Tensor, offset: builtins.int = 0, axis1: builtins.int = 0, axis2: builtins.int = 1
) -> Tensor: ...
@overload
def diagonal(
    x: Any, offset: builtins.int = 0, axis1: builtins.int = 0, axis2: builtins.int = 1
) -> Any:
    """A diagonal of the matrices along two axes, as the last axis; a read-only view.

    >>> import tracegrad as tg
    >>> tg.diagonal(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([1., 4.])
    """

@overload
def diff(
    x: Tensor, n: builtins.int = 1, axis: builtins.int = -1, prepend: Any = None, append: Any = None
) -> Tensor: ...
@overload
def diff(
    x: Any, n: builtins.int = 1, axis: builtins.int = -1, prepend: Any = None, append: Any = None
) -> Any:
    """The differences of neighbours along `axis`, `n` times over.

    prepend, append
        What is put before and behind `x` first: an array, or a number for each line.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.diff(tg.tensor([1.0, 4.0, 9.0]))
    tensor([3., 5.])
    """

@overload
def digitize(x: Tensor, bins: Any, right: builtins.bool = False) -> Tensor: ...
@overload
def digitize(x: Any, bins: Any, right: builtins.bool = False) -> Any:
    """The number of the bin that each element is in: i where ``bins[i-1] <= x < bins[i]``.

    `bins` rise, or fall; with `right` they hold their right edge in place of the left one.

    >>> import tracegrad as tg
    >>> tg.digitize(tg.tensor([0.5, 1.5, 9.0]), [0.0, 1.0, 2.0])
    tensor([1, 2, 3])
    """

@overload
def divide(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def divide(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def divide(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The quotients ``a / b``; of integers in floating point.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: float32, float64, complex128; bool, int64 give float64.

    >>> import tracegrad as tg
    >>> tg.divide(tg.tensor([1.0, 3.0]), 2)
    tensor([0.5000, 1.5000])
    """

@overload
def dot(a: Tensor, b: Any) -> Tensor: ...
@overload
def dot(a: Any, b: Tensor) -> Tensor: ...
@overload
def dot(a: Any, b: Any) -> Any:
    """NumPy's dot product: over the last axis of `a` and the last but one of `b`.

    >>> import tracegrad as tg
    >>> tg.dot(tg.tensor([1.0, 2.0]), tg.tensor([3.0, 4.0]))
    tensor(11.)
    """

double: np.dtype[np.float64]

def dsplit(x: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`split` along the third axis.

    >>> import tracegrad as tg
    >>> [part.shape for part in tg.dsplit(tg.ones((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """

@overload
def dstack(arrays: Iterable[Tensor], dtype: Any = None) -> Tensor: ...
@overload
def dstack(arrays: Any, dtype: Any = None) -> Any:
    """The arrays one behind the other: along the third axis.

    >>> import tracegrad as tg
    >>> tg.dstack([tg.tensor([1.0, 2.0]), tg.tensor([3.0, 4.0])])
    tensor([[[1., 3.],
             [2., 4.]]])
    """

e: builtins.float

@overload
def ediff1d(x: Tensor, to_end: Any = None, to_begin: Any = None) -> Tensor: ...
@overload
def ediff1d(x: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbours in the flattened array, between what is put around them.

    >>> import tracegrad as tg
    >>> tg.ediff1d(tg.tensor([1.0, 4.0, 9.0]))
    tensor([3., 5.])
    """

def einsum(
    subscripts: Any,
    *operands: Any,
    out: None = None,
    dtype: Any = None,
    order: str | None = "K",
    **_: Any,
) -> Any:
    """Sums of products by labelled axes, as ``np.einsum``; written as a matmul where it is one.

    >>> import tracegrad as tg
    >>> tg.einsum("ij,j->i", tg.tensor([[1.0, 2.0], [3.0, 4.0]]), tg.tensor([1.0, -1.0]))
    tensor([-1., -1.])
    """

def elementwise_grad(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """The sum of each column of the Jacobian: of an elementwise function its derivative.

    >>> import numpy as np
    >>> from tracegrad import elementwise_grad
    >>> elementwise_grad(np.square)(np.array([1.0, 2.0]))
    array([2., 4.])
    """

def empty(
    shape: Any = (),
    *lengths: Any,
    dtype: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
) -> Tensor:
    """An array to be filled: ``empty(3, 4)`` or ``empty((3, 4))``; until then it is zeros.

    >>> import tracegrad as tg
    >>> tg.empty((2, 3)).shape
    (2, 3)
    """

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
    """An array to be filled, of the shape and dtype of `x`; until then it is zeros.

    >>> import tracegrad as tg
    >>> tg.empty_like(tg.eye(2)).shape
    (2, 2)
    """

@overload
def enable_grad(function: None = None) -> _Mode: ...
@overload
def enable_grad(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Ops are recorded again inside a `no_grad`.

    >>> import tracegrad as tg
    >>> x = tg.tensor(2.0, requires_grad=True)
    >>> with tg.no_grad(), tg.enable_grad():
    ...     y = x * x
    >>> y.requires_grad
    True
    """

@overload
def equal(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def equal(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def equal(a: ArrayLike, b: ArrayLike, /) -> Any:
    """Where ``a == b``.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.

    >>> import tracegrad as tg
    >>> tg.equal(tg.tensor([1, 2, 3]), tg.tensor([1, 0, 3]))
    tensor([ True, False,  True])
    """

@overload
def exp(x: Tensor, /) -> Tensor: ...
@overload
def exp(x: ArrayLike, /) -> Any:
    """The exponentials ``e ** x``.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.exp(tg.tensor([0.0, 1.0]))
    tensor([1.0000, 2.7183])
    """

@overload
def exp2(x: Tensor, /) -> Tensor: ...
@overload
def exp2(x: ArrayLike, /) -> Any:
    """The powers ``2 ** x``.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.exp2(tg.tensor([0.0, 3.0, -1.0]))
    tensor([1.0000, 8.0000, 0.5000])
    """

@overload
def expand_dims(x: Tensor, axis: Any = 0) -> Tensor: ...
@overload
def expand_dims(x: Any, axis: Any = 0) -> Any:
    """`x` with new axes of length 1 at these places of the result.

    >>> import tracegrad as tg
    >>> tg.expand_dims(tg.tensor([1.0, 2.0]), 0)
    tensor([[1., 2.]])
    """

@overload
def expm1(x: Tensor, /) -> Tensor: ...
@overload
def expm1(x: ArrayLike, /) -> Any:
    """``exp(x) - 1``, exact where that is small.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.expm1(tg.tensor([0.0, 1.0]))
    tensor([0.0000, 1.7183])
    """

@overload
def extract(condition: Any, x: Tensor) -> Tensor: ...
@overload
def extract(condition: Any, x: Any) -> Any:
    """The elements of `x` where `condition` is true.

    >>> import tracegrad as tg
    >>> tg.extract([True, False, True], tg.tensor([1.0, 2.0, 3.0]))
    tensor([1., 3.])
    """

def eye(
    n_rows: builtins.int,
    n_cols: builtins.int | None = None,
    k: builtins.int = 0,
    dtype: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
) -> Tensor:
    """Ones on the k-th diagonal, zeros elsewhere.

    >>> import tracegrad as tg
    >>> tg.eye(2, 3)
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """

@overload
def fabs(x: Tensor, /) -> Tensor: ...
@overload
def fabs(x: ArrayLike, /) -> Any:
    """The absolute values of real numbers, in floating point.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64; bool gives float16; int64 gives float64. TypeError for complex128.

    >>> import tracegrad as tg
    >>> tg.fabs(tg.tensor([-1.5, 2.0]))
    tensor([1.5000, 2.0000])
    """

def fill_diagonal(x: Any, val: Any, wrap: builtins.bool = False) -> None:
    """Writes `val` into the main diagonal of the Tensor `x`.

    >>> import tracegrad as tg
    >>> x = tg.zeros((2, 2))
    >>> tg.fill_diagonal(x, 3.0)
    >>> x
    tensor([[3., 0.],
            [0., 3.]])
    """

def finfo(type: Any) -> FloatInfo:
    """The limits of a floating or complex dtype, or of an array's, as Python numbers.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.finfo(tg.float32).bits, tg.finfo(tg.float64).eps
    (32, 2.220446049250313e-16)
    """

@overload
def fix(x: Tensor, /) -> Tensor: ...
@overload
def fix(x: ArrayLike, /) -> Any:
    """The integers next to `x` towards 0, in the dtype of `x`.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool,
    int64, float32, float64. TypeError for complex128.

    >>> import tracegrad as tg
    >>> tg.trunc(tg.tensor([-1.5, 0.2, 2.7]))
    tensor([-1.,  0.,  2.])
    """

@overload
def flatnonzero(x: Tensor) -> Tensor: ...
@overload
def flatnonzero(x: Any) -> Any:
    """The indices of the elements that are not 0 in the flattened array.

    >>> import tracegrad as tg
    >>> tg.flatnonzero(tg.tensor([[0, 5], [7, 0]]))
    tensor([1, 2])
    """

def flatten(
    x: Any, start_dim: builtins.int | str = 0, end_dim: builtins.int = -1, order: str = "C"
) -> Any:
    """`x` with one axis for those from `start_dim` to `end_dim`, in memory of its own.

    >>> import tracegrad as tg
    >>> tg.flatten(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([1., 2., 3., 4.])
    """

@overload
def flip(x: Tensor, axis: Any = None) -> Tensor: ...
@overload
def flip(x: Any, axis: Any = None) -> Any:
    """`x` with the order along these axes reversed (all axes by default).

    >>> import tracegrad as tg
    >>> tg.flip(tg.tensor([1.0, 2.0, 3.0]))
    tensor([3., 2., 1.])
    """

@overload
def fliplr(x: Tensor) -> Tensor: ...
@overload
def fliplr(x: Any) -> Any:
    """`x` with its columns in reverse order.

    >>> import tracegrad as tg
    >>> tg.fliplr(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[2., 1.],
            [4., 3.]])
    """

@overload
def flipud(x: Tensor) -> Tensor: ...
@overload
def flipud(x: Any) -> Any:
    """`x` with its rows in reverse order.

    >>> import tracegrad as tg
    >>> tg.flipud(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """

float: np.dtype[np.float32]

float32: np.dtype[np.float32]

float64: np.dtype[np.float64]

@overload
def float_power(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def float_power(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def float_power(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The powers ``a ** b`` in float64 or complex128.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: float64, complex128; bool, int64, float32 give float64.

    >>> import tracegrad as tg
    >>> tg.float_power(tg.tensor([2, 3]), -1)
    tensor([0.5000, 0.3333])
    """

@overload
def floor(x: Tensor, /) -> Tensor: ...
@overload
def floor(x: ArrayLike, /) -> Any:
    """The largest integers that are not above `x`, in the dtype of `x`.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool,
    int64, float32, float64. TypeError for complex128.

    >>> import tracegrad as tg
    >>> tg.floor(tg.tensor([-1.5, 0.2, 3.0]))
    tensor([-2.,  0.,  3.])
    """

@overload
def floor_divide(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def floor_divide(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def floor_divide(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``a // b``: the quotients rounded down.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: int64, float32, float64; bool gives int8. TypeError for complex128.

    >>> import tracegrad as tg
    >>> tg.floor_divide(tg.tensor([7.0, -7.0]), 2.0)
    tensor([ 3., -4.])
    """

@overload
def fmax(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def fmax(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def fmax(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The larger of `a` and `b`; where one is NaN, the other.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: bool, int64, float32, float64, complex128.

    >>> import tracegrad as tg
    >>> tg.fmax(tg.tensor([1.0, tg.nan]), tg.tensor([2.0, 0.0]))
    tensor([2., 0.])
    """

@overload
def fmin(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def fmin(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def fmin(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The smaller of `a` and `b`; where one is NaN, the other.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: bool, int64, float32, float64, complex128.

    >>> import tracegrad as tg
    >>> tg.fmin(tg.tensor([1.0, tg.nan]), tg.tensor([2.0, 0.0]))
    tensor([1., 0.])
    """

@overload
def fmod(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def fmod(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def fmod(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The remainders of ``a / b`` with the signs of `a`, as in C.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: int64, float32, float64; bool gives int8. TypeError for complex128.

    >>> import tracegrad as tg
    >>> tg.fmod(tg.tensor([7.0, -7.0]), 3.0)
    tensor([ 1., -1.])
    """

def from_dlpack(x: Any, /, *, device: Any = None, copy: builtins.bool | None = None) -> Tensor:
    """A Tensor of the array of another library, by the DLPack protocol.

    It shares the array's memory where that is possible (never with ``copy=True``), and stays where
    the array is unless a `device` is named.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.from_dlpack(np.arange(3))
    tensor([0, 1, 2])
    """

def from_numpy(array: NDArray[Any]) -> Tensor:
    """A Tensor that shares the memory of a NumPy array; see `as_tensor`.

    >>> import tracegrad as tg
    >>> import numpy as np
    >>> a = np.zeros(2)
    >>> t = tg.from_numpy(a)
    >>> a[0] = 1.0
    >>> t
    tensor([1., 0.])
    """

def fromfunction(function: Callable[..., Any], shape: Any, *, dtype: Any = ..., **kw: Any) -> Any:
    """The values of a function at the indices of every place of an array of this shape.

    >>> import tracegrad as tg
    >>> tg.fromfunction(lambda i, j: i + 10 * j, (2, 3))
    tensor([[ 0., 10., 20.],
            [ 1., 11., 21.]])
    """

def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
) -> Tensor:
    """An array of one number (or of an array that broadcasts to the shape).

    >>> import tracegrad as tg
    >>> tg.full((2, 2), 0.5)
    tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]])
    """

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
    """An array of one number, of the shape and dtype of `x`.

    >>> import tracegrad as tg
    >>> tg.full_like(tg.tensor([1, 2, 3]), 7)
    tensor([7, 7, 7])
    """

@overload
def gcd(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def gcd(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def gcd(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The greatest common divisors.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: int64. TypeError for bool, float32, float64, complex128. Results carry no
    gradient.

    >>> import tracegrad as tg
    >>> tg.gcd(tg.tensor([12, 7]), 18)
    tensor([6, 1])
    """

def geomspace(
    start: Any,
    stop: Any,
    num: builtins.int = 50,
    endpoint: builtins.bool = True,
    dtype: Any = None,
    axis: builtins.int = 0,
) -> Any:
    """`num` numbers from `start` to `stop`, each the same multiple of the one before.

    >>> import tracegrad as tg
    >>> tg.geomspace(1, 1000, 4)
    tensor([   1.,   10.,  100., 1000.])
    """

def get_default_dtype() -> np.dtype[Any]:
    """The dtype that Python floats get.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.get_default_dtype()
    dtype('float64')
    """

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
    """The gradient of a function that returns one number, as compiled source.

    Parameters
    ----------
    f : callable
        Plain Python over arrays; any control flow. Left out in ``@tg.grad(argnums=1)``.
    argnums : int or sequence of int
        Which arguments to differentiate; each may be an array, a float, or a pytree of them.
        Settings in a dict or dataclass (strings, flags, whole numbers, objects) go along: the
        function has them as they are, and None stands in their places of the gradient.
    has_aux : bool
        The function returns ``(value, aux)``; the callable returns ``(gradient, aux)``.
    backend : "numpy", "numba", "auto" or "jax", optional
        The target of the generated source; default ``tg.config.backend``.
    static_argnames : sequence of str
        Arguments whose value is part of what is compiled.
    donate_argnums : int or sequence of int
        Arguments whose JAX arrays a call may overwrite, as for `jax.jit`: their memory becomes that
        of results, and who reads them afterwards gets an error. It needs ``backend="jax"``.
        Programs that may run a second time leave arguments alone: with looks at values, or a
        `while` whose turns a gradient keeps.
    out_shardings : sharding, or pytree of them, optional
        Where JAX arrays of the result are to lie, as for `jax.jit`: a tree that may end before the
        structure of the result does; None leaves it to the program. It needs ``backend="jax"``.
    argnum : int or sequence of int, optional
        HIPS autograd's name of `argnums`.

    Returns
    -------
    callable
        Same arguments as `f`; returns the structure of ``args[argnums]``. Copies and pickles as
        the plain function does: of a module's own function that is its name.

    Raises
    ------
    tg.errors.ArgumentError
        An argument to be differentiated is an integer, or no array at all.
    tg.errors.NonScalarError
        The function returns something other than one number.
    tg.errors.LostGradientError
        A Python number that was read of a differentiated value (``float(x[0])``, ``x.tolist()``)
        comes back in the result; ``x.item()`` and `tg.stop_gradient` say that a constant is meant.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> @tg.grad
    ... def slope(x):
    ...     return np.sum(x ** 2)
    >>> slope(np.array([1.0, 2.0]))
    array([2., 4.])
    """

def grad_and_aux(fun: Callable[..., Any], argnum: Any = 0) -> Callable[..., Any]:
    """The gradient of the first of two results, and the second as it is.

    >>> from tracegrad import grad_and_aux
    >>> gradient, aux = grad_and_aux(lambda x: (x**2, 2.0 * x))(3.0)
    >>> print(gradient, aux)
    6.0 6.0
    """

def grad_named(fun: Callable[..., Any], argname: str) -> Callable[..., Any]:
    """The gradient with respect to the argument of this name.

    >>> from tracegrad import grad_named
    >>> print(grad_named(lambda x, y: x * y**2, "y")(3.0, 2.0))
    12.0
    """

def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: builtins.int = 1) -> Any:
    """The slopes of samples along each axis: central differences, one-sided at the edges.

    varargs
        Nothing (a spacing of 1), one spacing for all axes, or for each axis a spacing or the
        coordinates of the samples.
    edge_order
        1 or 2: how exact the slopes at the edges are.

    A list with an array for each axis; the array itself where there is a single axis.

    >>> import tracegrad as tg
    >>> tg.gradient(tg.tensor([0.0, 1.0, 4.0, 9.0]))
    tensor([1., 2., 4., 5.])
    """

@overload
def greater(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def greater(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def greater(a: ArrayLike, b: ArrayLike, /) -> Any:
    """Where ``a > b``.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.

    >>> import tracegrad as tg
    >>> tg.greater(tg.tensor([1, 2, 3]), 2)
    tensor([False, False,  True])
    """

@overload
def greater_equal(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def greater_equal(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def greater_equal(a: ArrayLike, b: ArrayLike, /) -> Any:
    """Where ``a >= b``.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.

    >>> import tracegrad as tg
    >>> tg.greater_equal(tg.tensor([1, 2, 3]), 2)
    tensor([False,  True,  True])
    """

@overload
def heaviside(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def heaviside(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def heaviside(a: ArrayLike, b: ArrayLike, /) -> Any:
    """0 where `a` is negative, 1 where it is positive, `b` where it is 0.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: float32, float64; bool gives float16; int64 gives float64. TypeError for
    complex128.

    >>> import tracegrad as tg
    >>> tg.heaviside(tg.tensor([-1.0, 0.0, 2.0]), 0.5)
    tensor([0.0000, 0.5000, 1.0000])
    """

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
    """The Hessian of a function that returns one number: forward mode over reverse, all at once.

    Parameters as for `grad`, and `sparse` as for `jacobian`.

    Returns
    -------
    callable
        Same arguments as `f`; returns an array of the shape of the argument twice. For pytrees,
        and for several arguments, blocks: the structure of the argument in the place of each leaf
        of the argument, as `jax.hessian`.

    Notes
    -----
    With ``sparse=True`` it is a ``scipy.sparse.csr_array`` of the shape (elements of the argument)
    twice, as for `jacobian`. The symmetric pattern is coloured by columns, or by a star colouring
    (Gebremedhin, Manne and Pothen 2005), which reads an entry or its mirror image, where that needs
    fewer colours.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.hessian(lambda x: x[0] * x[1] ** 2)(np.array([1.0, 2.0]))
    array([[0., 4.],
           [4., 2.]])
    >>> sparse = tg.hessian(lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2), sparse=True)
    >>> sparse(np.ones(1000)).nnz
    2998
    """

def hessian_tensor_product(fun: Callable[..., Any], argnum: builtins.int = 0) -> Callable[..., Any]:
    """A function of ``(*args, v)``: the Hessian, contracted with v over all its axes.

    >>> import numpy as np
    >>> from tracegrad import hessian_tensor_product
    >>> product = hessian_tensor_product(lambda x: np.sum(x**3))
    >>> product(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    """

def hessian_vector_product(fun: Callable[..., Any], argnum: builtins.int = 0) -> Callable[..., Any]:
    """A function of ``(*args, v)``: the Hessian, contracted with v over all its axes.

    >>> import numpy as np
    >>> from tracegrad import hessian_tensor_product
    >>> product = hessian_tensor_product(lambda x: np.sum(x**3))
    >>> product(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    """

def histogram(
    x: Any,
    bins: Any = 10,
    range: Any = None,
    density: builtins.bool | None = None,
    weights: Any = None,
) -> tuple[Any, Any]:
    """How many elements of `x` are in each bin, and the edges of the bins.

    bins
        A number of equal bins between the extremes of `x` (or in `range`), or rising edges.
    density
        Counts over their sum and the widths of the bins: the integral is 1.
    weights
        For each element what it counts. Counts are whole numbers: gradients flow to the weights
        alone, and from the edges (and so with `density`) to given edges or to the extremes of `x`.

    >>> import tracegrad as tg
    >>> tg.histogram(tg.tensor([0.5, 1.5, 1.6]), bins=[0.0, 1.0, 2.0])
    (tensor([1, 2]), tensor([0., 1., 2.]))
    """

def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    density: builtins.bool | None = None,
    weights: Any = None,
) -> tuple[Any, Any, Any]:
    """How many points are in each rectangle of bins, and the edges of the bins in `x` and in `y`.

    `bins` is a number or edges for both, or a pair with one for each; see `histogramdd`.

    >>> import tracegrad as tg
    >>> x, y = tg.tensor([0.5, 1.5]), tg.tensor([0.5, 0.5])
    >>> tg.histogram2d(x, y, bins=[[0.0, 1.0, 2.0], [0.0, 1.0]])[0]
    tensor([[1.],
            [1.]])
    """

@overload
def histogram_bin_edges(
    x: Tensor, bins: Any = 10, range: Any = None, weights: Any = None
) -> Tensor: ...
@overload
def histogram_bin_edges(x: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of the bins that `histogram` counts in.

    >>> import tracegrad as tg
    >>> tg.histogram_bin_edges(tg.tensor([0.0, 4.0]), bins=4)
    tensor([0., 1., 2., 3., 4.])
    """

def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,
    density: builtins.bool | None = None,
    weights: Any = None,
) -> tuple[Any, list[Any]]:
    """How many points are in each box of bins, and the edges of the bins of every coordinate.

    sample
        An array with a row for each point, or a list with an array for each coordinate.
    bins, range
        One number for all coordinates, or what `histogram` takes, for each.
    density, weights
        As in `histogram`: gradients flow to the weights, and with `density` to given edges.

    >>> import tracegrad as tg
    >>> tg.histogramdd(tg.tensor([[0.5, 0.5], [1.5, 0.5]]), bins=[[0.0, 1.0, 2.0], [0.0, 1.0]])[0]
    tensor([[1.],
            [1.]])
    """

def holomorphic_grad(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """The derivative of a holomorphic function of one complex number, df/dz.

    >>> from tracegrad import holomorphic_grad
    >>> print(holomorphic_grad(lambda z: z**3)(1j))
    (-3+0j)
    """

def hsplit(x: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`split` along the second axis; of vectors along their only one.

    >>> import tracegrad as tg
    >>> tg.hsplit(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), 2)
    (tensor([[1.],
            [3.]]), tensor([[2.],
            [4.]]))
    """

@overload
def hstack(arrays: Iterable[Tensor], dtype: Any = None) -> Tensor: ...
@overload
def hstack(arrays: Any, dtype: Any = None) -> Any:
    """The arrays side by side: along the second axis, vectors along their only one.

    >>> import tracegrad as tg
    >>> tg.hstack([tg.tensor([1.0, 2.0]), tg.tensor([3.0])])
    tensor([1., 2., 3.])
    """

def hvp(
    f: Callable[..., Any],
    primals: Sequence[Any] | None = None,
    tangents: Sequence[Any] | None = None,
    *,
    has_aux: builtins.bool = False,
    backend: str | None = None,
) -> Any:
    """The product of the Hessian of a function of one number with tangents, without the Hessian.

    The gradient in reverse mode, and its tangent in forward mode (B. A. Pearlmutter, "Fast exact
    multiplication by the Hessian", 1994): a few times the cost of the gradient.

    Parameters
    ----------
    f, primals, tangents, has_aux, backend
        As for `jvp`; `f` returns one real number.

    Returns
    -------
    product
        Of the structure of the argument; for several arguments a tuple, one for each. With
        `has_aux` ``(product, aux)``. Without primals and tangents the callable behind:
        ``tg.hvp(f)(x, y, x_dot, y_dot)``, which has ``.source()``, ``.export()`` and so on.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
    array([ 6., 12.])
    """

@overload
def hypot(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def hypot(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def hypot(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``sqrt(a**2 + b**2)`` without overflow.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: float32, float64; bool gives float16; int64 gives float64. TypeError for
    complex128.

    >>> import tracegrad as tg
    >>> tg.hypot(tg.tensor([3.0, 5.0]), tg.tensor([4.0, 12.0]))
    tensor([ 5., 13.])
    """

def identity(n: builtins.int, dtype: Any = None) -> Tensor:
    """The identity matrix.

    >>> import tracegrad as tg
    >>> tg.identity(2)
    tensor([[1., 0.],
            [0., 1.]])
    """

def iinfo(type: Any) -> IntegerInfo:
    """The limits of an integer dtype, or of an array's, as Python numbers.

    >>> import tracegrad as tg
    >>> tg.iinfo(tg.int8).max
    127
    """

@overload
def imag(x: Tensor, /) -> Tensor: ...
@overload
def imag(x: ArrayLike, /) -> Any:
    """The imaginary parts.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool,
    int64, float32, float64; complex128 gives float64.

    >>> import tracegrad as tg
    >>> tg.imag(tg.tensor([1.0 + 2.0j, 3.0j]))
    tensor([2., 3.])
    """

def index_add(x: Any, key: Any, value: Any) -> Any:
    """`x` with `value` added at ``x[key]`` as a new array; a place named twice gets both values.

    >>> import tracegrad as tg
    >>> tg.index_add(tg.zeros(3), [0, 0, 2], 1.0)
    tensor([2., 0., 1.])
    """

def index_set(x: Any, key: Any, value: Any) -> Any:
    """`x` with ``x[key] = value`` as a new array; of two values for one place the last counts.

    >>> import tracegrad as tg
    >>> tg.index_set(tg.zeros(3), [0, 2], 1.0)
    tensor([1., 0., 1.])
    """

def indices(
    dimensions: Sequence[builtins.int], dtype: Any = ..., sparse: builtins.bool = False
) -> Any:
    """For each axis of an array of these lengths the index of every place along it.

    >>> import tracegrad as tg
    >>> tg.indices((2, 2))[1]
    tensor([[0, 1],
            [0, 1]])
    """

inf: builtins.float

@overload
def inference_mode(function: builtins.bool | None = None) -> _Mode: ...
@overload
def inference_mode(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Nothing is recorded, as in `no_grad`; ``inference_mode(False)`` changes nothing.

    >>> import tracegrad as tg
    >>> x = tg.tensor(2.0, requires_grad=True)
    >>> with tg.inference_mode():
    ...     y = x * x
    >>> y.requires_grad
    False
    """

@overload
def inner(a: Tensor, b: Any) -> Tensor: ...
@overload
def inner(a: Any, b: Tensor) -> Tensor: ...
@overload
def inner(a: Any, b: Any) -> Any:
    """The products of vectors along the last axes, of every vector of `a` with every one of `b`.

    >>> import tracegrad as tg
    >>> tg.inner(tg.tensor([1.0, 2.0]), tg.tensor([3.0, 4.0]))
    tensor(11.)
    """

@overload
def insert(x: Tensor, obj: Any, values: Any, axis: builtins.int | None = None) -> Tensor: ...
@overload
def insert(x: Any, obj: Any, values: Any, axis: builtins.int | None = None) -> Any:
    """`x` with `values` inserted before these places, which are counted in the original `x`.

    >>> import tracegrad as tg
    >>> tg.insert(tg.tensor([1.0, 3.0]), 1, 2.0)
    tensor([1., 2., 3.])
    """

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
    """The values at `x` on straight lines between the samples `fp` at the rising places `xp`.

    left, right
        The values before the first and behind the last sample (default: those of the samples).
    period
        The samples repeat: `xp` need not rise then, and `left` and `right` say nothing.

    Differentiable in `x`, `xp`, `fp`, `left` and `right`.

    >>> import tracegrad as tg
    >>> tg.interp(tg.tensor([0.5, 1.5]), [0.0, 1.0, 2.0], [0.0, 10.0, 40.0])
    tensor([ 5., 25.])
    """

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
    """The different elements that are in both; their gradient goes to `a`.

    >>> import tracegrad as tg
    >>> tg.intersect1d(tg.tensor([1, 2, 3]), tg.tensor([3, 1, 5]))
    tensor([1, 3])
    """

@overload
def invert(x: Tensor, /) -> Tensor: ...
@overload
def invert(x: ArrayLike, /) -> Any:
    """``~x``: every bit the other way; of bools the negation.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool,
    int64. TypeError for float32, float64, complex128. Results carry no gradient.

    >>> import tracegrad as tg
    >>> tg.bitwise_invert(tg.tensor([0, 1, -3]))
    tensor([-1, -2,  2])
    """

def is_grad_enabled() -> builtins.bool:
    """Whether ops are recorded on this thread.

    >>> import tracegrad as tg
    >>> with tg.no_grad():
    ...     tg.is_grad_enabled()
    False
    """

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
    """Where `a` and `b` are equal within ``atol + rtol * abs(b)``.

    >>> import tracegrad as tg
    >>> tg.isclose(tg.tensor([1.0, 2.0]), tg.tensor([1.0 + 1e-9, 2.1]))
    tensor([ True, False])
    """

@overload
def iscomplex(x: Tensor) -> Tensor: ...
@overload
def iscomplex(x: Any) -> Any:
    """Where the imaginary part is not 0.

    >>> import tracegrad as tg
    >>> tg.iscomplex(tg.tensor([1.0 + 0.0j, 2.0j]))
    tensor([False,  True])
    """

def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Whether a dtype is another, or of a kind, or of one of several.

    kind
        A dtype, ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``,
        ``"real floating"``, ``"complex floating"``, ``"numeric"``, or a tuple of such.

    >>> import tracegrad as tg
    >>> tg.isdtype(tg.float32, "real floating"), tg.isdtype(tg.int8, ("bool", "integral"))
    (True, True)
    """

@overload
def isfinite(x: Tensor, /) -> Tensor: ...
@overload
def isfinite(x: ArrayLike, /) -> Any:
    """Where `x` is neither infinite nor NaN.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool;
    int64, float32, float64, complex128 give bool. Results carry no gradient.

    >>> import tracegrad as tg
    >>> tg.isfinite(tg.tensor([1.0, tg.inf, tg.nan]))
    tensor([ True, False, False])
    """

def isin(
    element: Any,
    test_elements: Any,
    assume_unique: builtins.bool = False,
    invert: builtins.bool = False,
    *,
    kind: Any = None,
) -> Any:
    """Where elements of the first are among those of the second (with `invert`: are not).

    >>> import tracegrad as tg
    >>> tg.isin(tg.tensor([1, 2, 3]), [3, 1])
    tensor([ True, False,  True])
    """

@overload
def isinf(x: Tensor, /) -> Tensor: ...
@overload
def isinf(x: ArrayLike, /) -> Any:
    """Where `x` is infinite.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool;
    int64, float32, float64, complex128 give bool. Results carry no gradient.

    >>> import tracegrad as tg
    >>> tg.isinf(tg.tensor([1.0, -tg.inf, tg.nan]))
    tensor([False,  True, False])
    """

@overload
def isnan(x: Tensor, /) -> Tensor: ...
@overload
def isnan(x: ArrayLike, /) -> Any:
    """Where `x` is NaN.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool;
    int64, float32, float64, complex128 give bool. Results carry no gradient.

    >>> import tracegrad as tg
    >>> tg.isnan(tg.tensor([1.0, tg.inf, tg.nan]))
    tensor([False, False,  True])
    """

@overload
def isneginf(x: Tensor) -> Tensor: ...
@overload
def isneginf(x: Any) -> Any:
    """Where `x` is negative infinity.

    >>> import tracegrad as tg
    >>> tg.isneginf(tg.tensor([1.0, -tg.inf, tg.inf]))
    tensor([False,  True, False])
    """

@overload
def isposinf(x: Tensor) -> Tensor: ...
@overload
def isposinf(x: Any) -> Any:
    """Where `x` is positive infinity.

    >>> import tracegrad as tg
    >>> tg.isposinf(tg.tensor([1.0, -tg.inf, tg.inf]))
    tensor([False, False,  True])
    """

@overload
def isreal(x: Tensor) -> Tensor: ...
@overload
def isreal(x: Any) -> Any:
    """Where the imaginary part is 0: everywhere, of real numbers.

    >>> import tracegrad as tg
    >>> tg.isreal(tg.tensor([1.0 + 0.0j, 2.0j]))
    tensor([ True, False])
    """

def ix_(*args: Any) -> tuple[Any, ...]:
    """Vectors shaped so that together they index every combination of their elements.

    >>> import tracegrad as tg
    >>> rows, columns = tg.ix_([0, 2], [1])
    >>> tg.arange(9).reshape(3, 3)[rows, columns]
    tensor([[1],
            [7]])
    """

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
    """`jacobian` in forward mode: for functions of few inputs and many results.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.jacfwd(lambda t: np.array([1.0, 2.0]) * t)(3.0)
    array([1., 2.])
    """

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
    """The full Jacobian of a function, all rows or columns at once, as compiled source.

    Parameters
    ----------
    f : callable
        Plain Python over arrays that returns an array, or a pytree of arrays, of floating point.
    argnums, has_aux, backend, static_argnames, donate_argnums, out_shardings, argnum
        As for `grad`.
    mode : "auto", "forward" or "reverse"
        Whether tangents of all inputs are pushed forward, or cotangents of all results pulled back.
        "auto" pushes forward where a call has fewer inputs than results: there is a program of
        each kind, where calls need both.
    sparse : bool
        Whether the result is a ``scipy.sparse.csr_array``, of the shape (elements of the result,
        elements of the argument): see below.

    Returns
    -------
    callable
        Same arguments as `f`; returns an array of the shape of the result and then that of the
        argument. For a pytree of results it has their structure, with the structure of
        ``args[argnums]`` in the place of each, as `jax.jacobian`.

    Notes
    -----
    With ``sparse=True`` elements are counted in C order. Of pytrees there are blocks as without it,
    each a ``csr_array``; they share what is computed, as parts of one matrix. The graph tells which
    entries can be nonzero, for any values. Columns that share no row are summed (Curtis, Powell and
    Reid 1974), which are found by colouring a graph (Coleman and Moré 1983; Gebremedhin, Manne and
    Pothen 2005), greedily; in reverse mode rows. "auto" takes the mode that
    needs fewer colours. One compiled program gives all these sums. An entry that can be nonzero is
    stored, even where it is 0. Pattern and colours are kept for the shapes and whole numbers of a
    call; ``.explain()`` says what they are.

    Raises
    ------
    tg.errors.ArgumentError
        An argument to be differentiated is an integer or complex, or no array at all.
    tg.errors.NotDifferentiableError
        Some of the result is an integer, complex, or no array.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.jacobian(lambda x: x * x[0])(np.array([1.0, 2.0]))
    array([[2., 0.],
           [2., 1.]])
    >>> differences = tg.jacobian(lambda x: np.diff(x) ** 2, sparse=True)
    >>> matrix = differences(np.arange(100.0))
    >>> print(type(matrix).__name__, matrix.shape, matrix.nnz)
    csr_array (99, 100) 198
    >>> print(differences.explain().splitlines()[0])
    sparse: 99 x 100, 198 nonzeros, 2 colours, forward mode
    """

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
    """`jacobian` in reverse mode: for functions of many inputs and few results.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.jacrev(lambda x: x.sum() * x[:1])(np.array([1.0, 2.0]))
    array([[4., 1.]])
    """

def jvp(
    f: Callable[..., Any],
    primals: Sequence[Any] | None = None,
    tangents: Sequence[Any] | None = None,
    *,
    has_aux: builtins.bool = False,
    backend: str | None = None,
) -> Any:
    """The value of a function and its derivative along tangents: forward mode, as compiled source.

    Parameters
    ----------
    f : callable
        Plain Python over arrays, which may return any pytree of arrays.
    primals : sequence
        The arguments, one for each parameter of `f`: arrays, floats or pytrees of them.
    tangents : sequence
        A tangent for each, of the same structure and shapes.
    has_aux : bool
        The function returns ``(value, aux)``; ``(out, out_tangent, aux)`` is returned.
    backend : "numpy", "numba", "auto" or "jax", optional
        The target of the generated source; default ``tg.config.backend``.

    Returns
    -------
    (out, out_tangent)
        The tangent has the structure, shapes and dtypes of ``out``; that of a number is one of
        NumPy's. It costs about as much as the value, whatever the number of inputs and outputs.
        Without primals and tangents the callable behind: ``tg.jvp(f)(x, y, x_dot, y_dot)``, which
        has ``.source()``, ``.export()`` and so on.

    Raises
    ------
    tg.errors.ArgumentError
        A primal is an integer or no array at all, or a tangent is not like its primal.
    tg.errors.NotDifferentiableError
        Some of the result is not floating point: return that as ``aux``.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.jvp(np.sin, (np.array([0.0, 1.0]),), (np.array([1.0, 0.0]),))
    (array([0.        , 0.84147098]), array([1., 0.]))
    """

@overload
def kron(a: Tensor, b: Any) -> Tensor: ...
@overload
def kron(a: Any, b: Tensor) -> Tensor: ...
@overload
def kron(a: Any, b: Any) -> Any:
    """The Kronecker product: every element of `a` times the whole of `b`, as blocks.

    >>> import tracegrad as tg
    >>> tg.kron(tg.tensor([1.0, 2.0]), tg.tensor([1.0, 10.0]))
    tensor([ 1., 10.,  2., 20.])
    """

@overload
def lcm(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def lcm(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def lcm(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The least common multiples.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: int64. TypeError for bool, float32, float64, complex128. Results carry no
    gradient.

    >>> import tracegrad as tg
    >>> tg.lcm(tg.tensor([4, 7]), 6)
    tensor([12, 42])
    """

@overload
def ldexp(x1: Tensor, x2: Any) -> Tensor: ...
@overload
def ldexp(x1: Any, x2: Tensor) -> Tensor: ...
@overload
def ldexp(x1: Any, x2: Any) -> Any:
    """``x1 * 2 ** x2``, of whole numbers `x2`.

    >>> import tracegrad as tg
    >>> tg.ldexp(tg.tensor([1.0, 3.0]), 2)
    tensor([ 4., 12.])
    """

@overload
def left_shift(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def left_shift(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def left_shift(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``a << b``: the bits of `a` moved up by `b` places.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: int64; bool gives int8. TypeError for float32, float64, complex128. Results
    carry no gradient.

    >>> import tracegrad as tg
    >>> tg.bitwise_left_shift(tg.tensor([1, 3]), 2)
    tensor([ 4, 12])
    """

@overload
def less(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def less(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def less(a: ArrayLike, b: ArrayLike, /) -> Any:
    """Where ``a < b``.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.

    >>> import tracegrad as tg
    >>> tg.less(tg.tensor([1, 2, 3]), 2)
    tensor([ True, False, False])
    """

@overload
def less_equal(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def less_equal(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def less_equal(a: ArrayLike, b: ArrayLike, /) -> Any:
    """Where ``a <= b``.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.

    >>> import tracegrad as tg
    >>> tg.less_equal(tg.tensor([1, 2, 3]), 2)
    tensor([ True,  True, False])
    """

def lexsort(keys: Any, axis: builtins.int = -1) -> Any:
    """The indices that sort by the last key, then by the one before it, and so on.

    >>> import tracegrad as tg
    >>> tg.lexsort((tg.tensor([2, 1, 2]), tg.tensor([1, 1, 0])))
    tensor([2, 1, 0])
    """

def linearize(
    f: Callable[..., Any], *primals: Any, backend: str | None = None
) -> tuple[Any, Callable[..., Any]]:
    """The value of a function and its derivative there, as a linear function of tangents.

    Parameters
    ----------
    f : callable
        Plain Python over arrays, which may return any pytree of arrays.
    primals
        The arguments: arrays, floats or pytrees of them. What is written to them later does not
        matter.
    backend : "numpy", "numba", "auto" or "jax", optional
        The target of the generated source; default ``tg.config.backend``.

    Returns
    -------
    (out, linear_fn)
        ``linear_fn(*tangents)`` takes a tangent for each argument and gives that of ``out``. It is
        the program of `jvp`, which computes ``out`` along with it: what the function reads besides
        its arguments is read again, and what it does besides is done again.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> out, along = tg.linearize(np.sin, np.array([0.0, 1.0]))
    >>> along(np.array([1.0, 0.0]))
    array([1., 0.])
    """

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
    """`num` evenly spaced numbers from `start` to `stop`, differentiable in both.

    >>> import tracegrad as tg
    >>> tg.linspace(0.0, 1.0, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """

def load(path: str | os.PathLike[str], f: Any = None) -> Exported:
    """The function of a file that `.export` wrote, which may have been edited since.

    Parameters
    ----------
    path : path-like
        The exported ``.py`` file.
    f : callable, optional
        The function, or compiled callable, that it was exported from. Left out, it is imported
        from the file that the export names when `verify` needs it.

    Returns
    -------
    callable
        It takes what the exported function takes; ``.verify(*args)`` checks it against the
        function, finite differences and, statement by statement, the unedited program.

    Raises
    ------
    tg.errors.ExportError
        The file was not written by ``.export``.

    >>> import tracegrad as tg
    >>> import os, tempfile
    >>> import numpy as np
    >>> path = os.path.join(tempfile.mkdtemp(), "slope.py")
    >>> _ = tg.grad(lambda x: x * x).export(path, 3.0)
    >>> float(tg.load(path)(3.0))
    6.0
    """

@overload
def log(x: Tensor, /) -> Tensor: ...
@overload
def log(x: ArrayLike, /) -> Any:
    """The natural logarithms.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.log(tg.tensor([1.0, tg.e]))
    tensor([0., 1.])
    """

@overload
def log10(x: Tensor, /) -> Tensor: ...
@overload
def log10(x: ArrayLike, /) -> Any:
    """The logarithms to base 10.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.log10(tg.tensor([1.0, 100.0]))
    tensor([0., 2.])
    """

@overload
def log1p(x: Tensor, /) -> Tensor: ...
@overload
def log1p(x: ArrayLike, /) -> Any:
    """``log(1 + x)``, exact where `x` is small.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.log1p(tg.tensor([0.0, 1.0]))
    tensor([0.0000, 0.6931])
    """

@overload
def log2(x: Tensor, /) -> Tensor: ...
@overload
def log2(x: ArrayLike, /) -> Any:
    """The logarithms to base 2.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.log2(tg.tensor([1.0, 8.0]))
    tensor([0., 3.])
    """

def log_softmax(x: Any, axis: Any = -1) -> Any:
    """``log(softmax(x))``, exact where the softmax underflows.

    >>> import tracegrad as tg
    >>> tg.log_softmax(tg.tensor([0.0, 0.0]))
    tensor([-0.6931, -0.6931])
    """

@overload
def logaddexp(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def logaddexp(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def logaddexp(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``log(exp(a) + exp(b))`` without overflow.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: float32, float64; bool gives float16; int64 gives float64. TypeError for
    complex128.

    >>> import tracegrad as tg
    >>> tg.logaddexp(tg.tensor([0.0, 1000.0]), tg.tensor([0.0, 1000.0]))
    tensor([6.9315e-01, 1.0007e+03])
    """

@overload
def logaddexp2(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def logaddexp2(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def logaddexp2(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``log2(2**a + 2**b)`` without overflow.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: float32, float64; bool gives float16; int64 gives float64. TypeError for
    complex128.

    >>> import tracegrad as tg
    >>> tg.logaddexp2(tg.tensor([0.0, 1000.0]), tg.tensor([0.0, 1000.0]))
    tensor([1.0000e+00, 1.0010e+03])
    """

@overload
def logical_and(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def logical_and(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def logical_and(a: ArrayLike, b: ArrayLike, /) -> Any:
    """Where both are true; numbers are true unless they are 0.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.

    >>> import tracegrad as tg
    >>> tg.logical_and(tg.tensor([True, True, False]), tg.tensor([True, False, False]))
    tensor([ True, False, False])
    """

@overload
def logical_not(x: Tensor, /) -> Tensor: ...
@overload
def logical_not(x: ArrayLike, /) -> Any:
    """Where `x` is false; numbers are false where they are 0.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool;
    int64, float32, float64, complex128 give bool. Results carry no gradient.

    >>> import tracegrad as tg
    >>> tg.logical_not(tg.tensor([True, False]))
    tensor([False,  True])
    """

@overload
def logical_or(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def logical_or(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def logical_or(a: ArrayLike, b: ArrayLike, /) -> Any:
    """Where one of both is true; numbers are true unless they are 0.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.

    >>> import tracegrad as tg
    >>> tg.logical_or(tg.tensor([True, True, False]), tg.tensor([True, False, False]))
    tensor([ True,  True, False])
    """

@overload
def logical_xor(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def logical_xor(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def logical_xor(a: ArrayLike, b: ArrayLike, /) -> Any:
    """Where exactly one of both is true; numbers are true unless they are 0.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.

    >>> import tracegrad as tg
    >>> tg.logical_xor(tg.tensor([True, True, False]), tg.tensor([True, False, False]))
    tensor([False,  True, False])
    """

def logspace(
    start: Any,
    stop: Any,
    num: builtins.int = 50,
    endpoint: builtins.bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: builtins.int = 0,
) -> Any:
    """Powers of `base` whose exponents are evenly spaced from `start` to `stop`.

    >>> import tracegrad as tg
    >>> tg.logspace(0, 3, 4)
    tensor([   1.,   10.,  100., 1000.])
    """

def logsumexp(x: Any, axis: Any = None, keepdims: builtins.bool = False) -> Any:
    """``log(sum(exp(x)))`` over `axis` without overflow; of nothing ``-inf``, the log of 0.

    >>> import tracegrad as tg
    >>> tg.logsumexp(tg.tensor([1000.0, 1000.0]))
    tensor(1000.6931)
    """

long: np.dtype[np.int64]

def make_ggnvp(
    f: Callable[..., Any], g: Callable[..., Any] = ..., f_argnum: builtins.int = 0
) -> Callable[..., Any]:
    """``make_ggnvp(f, g)(*args)`` maps v to the generalised Gauss-Newton matrix times v.

    The matrix of ``g(f(x))`` is ``J.T @ H @ J``, where J is the Jacobian of `f` and H the Hessian
    of `g` (Schraudolph, 2002).

    >>> import numpy as np
    >>> from tracegrad import make_ggnvp
    >>> make_ggnvp(lambda x: 3.0 * x)(np.array([1.0, 2.0]))(np.array([1.0, 0.0]))
    array([9., 0.])
    """

def make_hvp(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """``make_hvp(f, argnum)(*args)`` is ``(hvp, gradient)``: hvp maps v to the Hessian times v.

    >>> import numpy as np
    >>> from tracegrad import make_hvp
    >>> hvp, gradient = make_hvp(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    >>> hvp(np.array([1.0, 0.0]))
    array([6., 0.])
    """

def make_jvp(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """``make_jvp(f, argnum)(*args)`` maps a tangent to ``(value, tangent of the value)``.

    >>> import numpy as np
    >>> from tracegrad import make_jvp
    >>> value, tangent = make_jvp(np.sin)(0.0)(2.0)
    >>> print(value, tangent)
    0.0 2.0
    """

def make_jvp_reversemode(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """``make_jvp_reversemode(f, argnum)(*args)`` maps a tangent to the tangent of the value.

    >>> import numpy as np
    >>> from tracegrad import make_jvp_reversemode
    >>> print(make_jvp_reversemode(np.sin)(0.0)(2.0))
    2.0
    """

def make_vjp(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """``make_vjp(f, argnum)(*args)`` is ``(vjp, value)``: from a cotangent to the argument's.

    The two stand the other way round than what `tg.vjp` returns.

    >>> import numpy as np
    >>> from tracegrad import make_vjp
    >>> vjp, value = make_vjp(np.sin)(0.0)
    >>> print(value, vjp(2.0))
    0.0 2.0
    """

def manual_seed(seed: builtins.int) -> None:
    """The draws that follow are the same whenever they follow the same seed.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.manual_seed(0)
    >>> first = tg.rand(3)
    >>> tg.manual_seed(0)
    >>> bool((tg.rand(3) == first).all())
    True
    """

@overload
def matmul(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def matmul(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def matmul(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The matrix product over the last two axes, batches broadcast.

    Shapes ``(..., m, k)`` and ``(..., k, n)`` give ``(..., m, n)``; a vector as `a` is a row, as
    `b` a column, and its axis is not in the result. Raises ShapeError where the k differ.

    Dtypes: bool, int64, float32, float64, complex128.

    >>> import tracegrad as tg
    >>> tg.matmul(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), tg.tensor([1.0, -1.0]))
    tensor([-1., -1.])
    """

@overload
def matrix_transpose(x: Tensor) -> Tensor: ...
@overload
def matrix_transpose(x: Any) -> Any:
    """`x` with its last two axes exchanged.

    >>> import tracegrad as tg
    >>> tg.matrix_transpose(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[1., 3.],
            [2., 4.]])
    """

@overload
def matvec(x1: Tensor, x2: Any) -> Tensor: ...
@overload
def matvec(x1: Any, x2: Tensor) -> Tensor: ...
@overload
def matvec(x1: Any, x2: Any) -> Any:
    """Matrices times vectors, which lie along the last axis, batches broadcast.

    >>> import tracegrad as tg
    >>> tg.matvec(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), tg.tensor([1.0, -1.0]))
    tensor([-1., -1.])
    """

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
    """The largest element over `axis`.

    Of ties along a single axis the first has the gradient, as in PyTorch's ``max(dim)``; over the
    whole array, or over several axes, they share it evenly, as always in ``amax``.

    >>> import tracegrad as tg
    >>> tg.max(tg.tensor([[1.0, 5.0], [3.0, 2.0]]), axis=1)
    tensor([5., 3.])
    """

@overload
def maximum(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def maximum(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def maximum(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The larger of `a` and `b`, NaN where one is; ties share the gradient evenly.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: bool, int64, float32, float64, complex128.

    >>> import tracegrad as tg
    >>> tg.maximum(tg.tensor([1.0, 5.0]), 2.0)
    tensor([2., 5.])
    """

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
    """The arithmetic mean over `axis`; of integers in float64.

    >>> import tracegrad as tg
    >>> tg.mean(tg.tensor([[1.0, 5.0], [3.0, 2.0]]), axis=1)
    tensor([3.0000, 2.5000])
    """

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
    """The middle of the sorted elements over `axis`, or the mean of the two in the middle.

    The gradient goes to those two, half to each.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.median(tg.tensor([3.0, 1.0, 2.0]))
    tensor(2.)
    """

def meshgrid(
    *arrays: Any, indexing: str = "xy", copy: builtins.bool = True, sparse: builtins.bool = False
) -> list[Any]:
    """Coordinate arrays of a grid: for each vector one in the list, that varies along its own axis.

    With ``indexing="xy"`` the first two axes are exchanged, as ``np.meshgrid`` does. With `sparse`
    the other axes have length 1.

    >>> import tracegrad as tg
    >>> x, y = tg.meshgrid(tg.tensor([1.0, 2.0]), tg.tensor([0.0, 5.0]))
    >>> x
    tensor([[1., 2.],
            [1., 2.]])
    >>> y
    tensor([[0., 0.],
            [5., 5.]])
    """

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
    """The smallest element over `axis`.

    Of ties along a single axis the first has the gradient, as in PyTorch's ``max(dim)``; over the
    whole array, or over several axes, they share it evenly, as always in ``amin``.

    >>> import tracegrad as tg
    >>> tg.min(tg.tensor([[1.0, 5.0], [3.0, 2.0]]), axis=1)
    tensor([1., 2.])
    """

@overload
def minimum(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def minimum(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def minimum(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The smaller of `a` and `b`, NaN where one is; ties share the gradient evenly.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: bool, int64, float32, float64, complex128.

    >>> import tracegrad as tg
    >>> tg.minimum(tg.tensor([1.0, 5.0]), 2.0)
    tensor([1., 2.])
    """

@overload
def mod(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def mod(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def mod(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``a % b``: the remainders of ``a // b``, with the signs of `b`.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: int64, float32, float64; bool gives int8. TypeError for complex128.

    >>> import tracegrad as tg
    >>> tg.remainder(tg.tensor([7.0, -7.0]), 3.0)
    tensor([1., 2.])
    """

def modf(x: Any) -> tuple[Any, Any]:
    """The fractional and the integral parts of numbers, both with the sign of the number.

    >>> import tracegrad as tg
    >>> tg.modf(tg.tensor([1.25, -2.5]))
    (tensor([ 0.2500, -0.5000]), tensor([ 1., -2.]))
    """

@overload
def moveaxis(x: Tensor, source: Any, destination: Any) -> Tensor: ...
@overload
def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """`x` with axes moved to other places, the rest in order.

    >>> import tracegrad as tg
    >>> tg.moveaxis(tg.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """

def multigrad_dict(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The gradients with respect to all arguments, in a dict by their names.

    >>> from tracegrad import multigrad_dict
    >>> print({k: float(v) for k, v in multigrad_dict(lambda x, y=2.0: x * y**2)(3.0).items()})
    {'x': 4.0, 'y': 12.0}
    """

@overload
def multiply(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def multiply(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def multiply(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The products ``a * b``, element by element.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: bool, int64, float32, float64, complex128.

    >>> import tracegrad as tg
    >>> tg.multiply(tg.tensor([1.0, 2.0]), tg.tensor([[10.0], [20.0]]))
    tensor([[10., 20.],
            [20., 40.]])
    """

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
    """`x` with NaN and the infinities replaced by numbers (by default 0 and the largest ones).

    With ``copy=False`` they are replaced in `x` itself, where that is an array.

    >>> import tracegrad as tg
    >>> tg.nan_to_num(tg.tensor([1.0, tg.nan]))
    tensor([1., 0.])
    """

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
    """The index of the first largest element along `axis` that is not NaN.

    >>> import tracegrad as tg
    >>> tg.nanargmax(tg.tensor([tg.nan, 1.0, 5.0]))
    tensor(2)
    """

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
    """The index of the first smallest element along `axis` that is not NaN.

    >>> import tracegrad as tg
    >>> tg.nanargmin(tg.tensor([tg.nan, 1.0, 5.0]))
    tensor(1)
    """

@overload
def nancumprod(
    x: Tensor, axis: builtins.int | None = None, dtype: Any = None, out: None = None
) -> Tensor: ...
@overload
def nancumprod(
    x: Any, axis: builtins.int | None = None, dtype: Any = None, out: None = None
) -> Any:
    """`cumprod` with 1 in place of NaN.

    >>> import tracegrad as tg
    >>> tg.nancumprod(tg.tensor([2.0, tg.nan, 3.0]))
    tensor([2., 2., 6.])
    """

@overload
def nancumsum(
    x: Tensor, axis: builtins.int | None = None, dtype: Any = None, out: None = None
) -> Tensor: ...
@overload
def nancumsum(x: Any, axis: builtins.int | None = None, dtype: Any = None, out: None = None) -> Any:
    """`cumsum` with 0 in place of NaN.

    >>> import tracegrad as tg
    >>> tg.nancumsum(tg.tensor([2.0, tg.nan, 3.0]))
    tensor([2., 2., 5.])
    """

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
    """The largest element over `axis` that is not NaN; ties share the gradient evenly.

    >>> import tracegrad as tg
    >>> tg.nanmax(tg.tensor([tg.nan, 1.0, 5.0]))
    tensor(5.)
    """

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
    """The mean over `axis` of what is not NaN, and where `where` is true.

    >>> import tracegrad as tg
    >>> tg.nanmean(tg.tensor([tg.nan, 1.0, 5.0]))
    tensor(3.)
    """

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
    """The median over `axis` of what is not NaN.

    >>> import tracegrad as tg
    >>> tg.nanmedian(tg.tensor([tg.nan, 1.0, 5.0]))
    tensor(3.)
    """

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
    """The smallest element over `axis` that is not NaN; ties share the gradient evenly.

    >>> import tracegrad as tg
    >>> tg.nanmin(tg.tensor([tg.nan, 1.0, 5.0]))
    tensor(1.)
    """

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
    """`percentile` of what is not NaN.

    >>> import tracegrad as tg
    >>> tg.nanpercentile(tg.tensor([tg.nan, 1.0, 5.0]), 50)
    tensor(3.)
    """

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
    """The product over `axis` of what is not NaN.

    >>> import tracegrad as tg
    >>> tg.nanprod(tg.tensor([tg.nan, 2.0, 5.0]))
    tensor(10.)
    """

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
    """`quantile` of what is not NaN.

    >>> import tracegrad as tg
    >>> tg.nanquantile(tg.tensor([tg.nan, 1.0, 5.0]), 0.25)
    tensor(2.)
    """

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
    """The standard deviation over `axis` of what is not NaN; derivative 0 where it is 0.

    >>> import tracegrad as tg
    >>> tg.nanstd(tg.tensor([tg.nan, 1.0, 5.0]))
    tensor(2.)
    """

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
    """The sum over `axis` of what is not NaN.

    >>> import tracegrad as tg
    >>> tg.nansum(tg.tensor([tg.nan, 1.0, 5.0]))
    tensor(6.)
    """

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
    """The variance over `axis` of what is not NaN; arguments as for `var`.

    >>> import tracegrad as tg
    >>> tg.nanvar(tg.tensor([tg.nan, 1.0, 5.0]))
    tensor(4.)
    """

@overload
def negative(x: Tensor, /) -> Tensor: ...
@overload
def negative(x: ArrayLike, /) -> Any:
    """The values with the other sign, ``-x``.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    int64, float32, float64, complex128. TypeError for bool.

    >>> import tracegrad as tg
    >>> tg.negative(tg.tensor([1.0, -2.0]))
    tensor([-1.,  2.])
    """

newaxis: None

@overload
def nextafter(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def nextafter(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def nextafter(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The next floating-point numbers after `a` in the direction of `b`.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: float32, float64; bool gives float16; int64 gives float64. TypeError for
    complex128.

    >>> import tracegrad as tg
    >>> tg.nextafter(tg.tensor([1.0]), 2.0) - 1.0 == tg.finfo(tg.float64).eps
    tensor([True])
    """

@overload
def no_grad(function: None = None) -> _Mode: ...
@overload
def no_grad(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Nothing is recorded: ``with tg.no_grad():``, ``@tg.no_grad()`` or ``@tg.no_grad``.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0], requires_grad=True)
    >>> with tg.no_grad():
    ...     (x * 2).requires_grad
    False
    """

def nonzero(x: Any) -> tuple[Any, ...]:
    """The indices of the elements that are not 0: a tuple with an array for each axis.

    >>> import tracegrad as tg
    >>> tg.nonzero(tg.tensor([0, 5, 7]))
    (tensor([1, 2]),)
    """

def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: builtins.bool = False) -> Any:
    """A norm as ``np.linalg.norm``: of vectors along one axis, of matrices along two.

    ord
        Of vectors: any number, `inf`, `-inf`, 0 (how many elements are not 0). Of matrices: "fro",
        "nuc" (the sum of singular values), 2 and -2 (the largest, the smallest one), 1, -1, `inf`,
        `-inf`. Without it the root of the sum of squares.

    >>> import tracegrad as tg
    >>> tg.norm(tg.tensor([3.0, 4.0]))
    tensor(5.)
    """

def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    dtype: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
) -> Tensor:
    """Normal numbers of this mean and standard deviation, which may be Tensors with gradients.

    Without `size` the shape is that to which mean and std broadcast.

    >>> import tracegrad as tg
    >>> _ = tg.manual_seed(0)
    >>> tg.normal(0.0, 1.0, (2, 3)).shape
    (2, 3)
    """

@overload
def not_equal(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def not_equal(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def not_equal(a: ArrayLike, b: ArrayLike, /) -> Any:
    """Where ``a != b``.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.

    >>> import tracegrad as tg
    >>> tg.not_equal(tg.tensor([1, 2, 3]), tg.tensor([1, 0, 3]))
    tensor([False,  True, False])
    """

def ones(
    shape: Any = (),
    *lengths: Any,
    dtype: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
) -> Tensor:
    """Ones: ``ones(3, 4)`` or ``ones((3, 4))``.

    >>> import tracegrad as tg
    >>> tg.ones(2, 3)
    tensor([[1., 1., 1.],
            [1., 1., 1.]])
    """

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
    """Ones of the shape and dtype of `x`.

    >>> import tracegrad as tg
    >>> tg.ones_like(tg.tensor([1, 2]))
    tensor([1, 1])
    """

@overload
def outer(a: Tensor, b: Any) -> Tensor: ...
@overload
def outer(a: Any, b: Tensor) -> Tensor: ...
@overload
def outer(a: Any, b: Any) -> Any:
    """All products of an element of `a` with one of `b`: a matrix.

    >>> import tracegrad as tg
    >>> tg.outer(tg.tensor([1.0, 2.0]), tg.tensor([1.0, 10.0]))
    tensor([[ 1., 10.],
            [ 2., 20.]])
    """

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
    """`x` with margins.

    Parameters
    ----------
    pad_width
        How much, as ``np.pad`` takes it: a number, ``(before, after)``, or such a pair for each
        axis.
    mode
        What stands in the margins: "constant", "edge", "reflect", "symmetric" or "wrap"; "mean",
        "median", "maximum" or "minimum" of each line; a "linear_ramp" to the end; or anything
        ("empty": zeros).
    constant_values, end_values
        For "constant" and "linear_ramp": a number (or Tensor without axes), or ``(before, after)``
        numbers, also for each axis.
    stat_length
        How many elements, from either end, the mean and its like are of: a number or such pairs.
    reflect_type
        ``"odd"``: what is reflected is subtracted from twice the edge.

    >>> import tracegrad as tg
    >>> tg.pad(tg.tensor([1.0, 2.0]), 1)
    tensor([0., 1., 2., 0.])
    """

@overload
def partition(
    x: Tensor, kth: Any, axis: builtins.int | None = -1, kind: Any = None, order: None = None
) -> Tensor: ...
@overload
def partition(
    x: Any, kth: Any, axis: builtins.int | None = -1, kind: Any = None, order: None = None
) -> Any:
    """`x` with the k-th smallest elements in place, smaller ones before: here, wholly in order.

    >>> import tracegrad as tg
    >>> tg.partition(tg.tensor([3.0, 1.0, 2.0]), 0)[0]
    tensor(1.)
    """

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
    """`quantile` with `q` in percent.

    >>> import tracegrad as tg
    >>> tg.percentile(tg.tensor([1.0, 2.0, 3.0]), 75)
    tensor(2.5000)
    """

@overload
def permute_dims(x: Tensor, axes: Sequence[builtins.int]) -> Tensor: ...
@overload
def permute_dims(x: Any, axes: Sequence[builtins.int]) -> Any:
    """`x` with axis ``axes[i]`` at place i.

    >>> import tracegrad as tg
    >>> tg.permute_dims(tg.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """

pi: builtins.float

@overload
def piecewise(
    x: Tensor, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any
) -> Tensor: ...
@overload
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """Functions of `x`, or numbers, where their conditions are true; one more is the default.

    >>> import tracegrad as tg
    >>> x = tg.tensor([-2.0, 3.0])
    >>> tg.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v * v])
    tensor([2., 9.])
    """

def place(x: Any, mask: Any, vals: Any) -> None:
    """Writes values, repeated, into the Tensor `x`, one after the other where `mask` is true.

    >>> import tracegrad as tg
    >>> x = tg.zeros(3)
    >>> tg.place(x, [True, False, True], [1.0, 2.0])
    >>> x
    tensor([1., 0., 2.])
    """

def poly(seq_of_zeros: Any) -> Any:
    """The coefficients of the polynomial with these zeros, or with the eigenvalues of a matrix.

    Real zeros, and real matrices, have real coefficients; complex zeros complex ones.

    >>> import tracegrad as tg
    >>> tg.poly(tg.tensor([1.0, 2.0]))
    tensor([ 1., -3.,  2.])
    """

@overload
def polyadd(a1: Tensor, a2: Any) -> Tensor: ...
@overload
def polyadd(a1: Any, a2: Tensor) -> Tensor: ...
@overload
def polyadd(a1: Any, a2: Any) -> Any:
    """The coefficients of the sum of two polynomials.

    >>> import tracegrad as tg
    >>> tg.polyadd(tg.tensor([1.0, 2.0]), tg.tensor([1.0, 0.0, 0.0]))
    tensor([1., 1., 2.])
    """

@overload
def polyder(p: Tensor, m: builtins.int = 1) -> Tensor: ...
@overload
def polyder(p: Any, m: builtins.int = 1) -> Any:
    """The coefficients of the m-th derivative of a polynomial.

    >>> import tracegrad as tg
    >>> tg.polyder(tg.tensor([1.0, 2.0, 3.0]))
    tensor([2., 2.])
    """

def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """The coefficients of the quotient of two polynomials, and of the remainder.

    Leading coefficients of the remainder that are 0 (below 1e-8) are left out: they are looked at.

    >>> import tracegrad as tg
    >>> tg.polydiv(tg.tensor([1.0, 3.0, 2.0]), tg.tensor([1.0, 1.0]))
    (tensor([1., 2.]), tensor([0.]))
    """

def polyfit(
    x: Any,
    y: Any,
    deg: builtins.int,
    rcond: builtins.float | None = None,
    full: builtins.bool = False,
    w: Any = None,
    cov: builtins.bool | str = False,
) -> Any:
    """The coefficients of the polynomial of a degree whose squared distances to points are least.

    x, y
        A vector of places, and what is there: a vector, or a matrix with a column for each fit.
    w
        Weights of the distances (not of their squares).
    full
        Gives residuals, rank, singular values and `rcond` as well.
    cov
        Gives the covariance of the coefficients as well, scaled by the residuals unless it is
        ``"unscaled"``.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.polyfit(tg.tensor([0.0, 1.0, 2.0]), tg.tensor([1.0, 3.0, 5.0]), 1)
    tensor([2.0000, 1.0000])
    """

@overload
def polyint(p: Tensor, m: builtins.int = 1, k: Any = None) -> Tensor: ...
@overload
def polyint(p: Any, m: builtins.int = 1, k: Any = None) -> Any:
    """The coefficients of the m-th integral of a polynomial, with the constants `k` (default 0).

    >>> import tracegrad as tg
    >>> tg.polyint(tg.tensor([2.0, 2.0]))
    tensor([1., 2., 0.])
    """

@overload
def polymul(a1: Tensor, a2: Any) -> Tensor: ...
@overload
def polymul(a1: Any, a2: Tensor) -> Tensor: ...
@overload
def polymul(a1: Any, a2: Any) -> Any:
    """The coefficients of the product of two polynomials.

    >>> import tracegrad as tg
    >>> tg.polymul(tg.tensor([1.0, 1.0]), tg.tensor([1.0, 2.0]))
    tensor([1., 3., 2.])
    """

@overload
def polysub(a1: Tensor, a2: Any) -> Tensor: ...
@overload
def polysub(a1: Any, a2: Tensor) -> Tensor: ...
@overload
def polysub(a1: Any, a2: Any) -> Any:
    """The coefficients of the difference of two polynomials.

    >>> import tracegrad as tg
    >>> tg.polysub(tg.tensor([1.0, 0.0, 0.0]), tg.tensor([1.0, 2.0]))
    tensor([ 1., -1., -2.])
    """

@overload
def polyval(p: Tensor, x: Any) -> Tensor: ...
@overload
def polyval(p: Any, x: Tensor) -> Tensor: ...
@overload
def polyval(p: Any, x: Any) -> Any:
    """The value at `x` of the polynomial with the coefficients `p`, the highest power's first.

    >>> import tracegrad as tg
    >>> tg.polyval(tg.tensor([1.0, 2.0, 3.0]), 2.0)
    tensor(11.)
    """

@overload
def positive(x: Tensor, /) -> Tensor: ...
@overload
def positive(x: ArrayLike, /) -> Any:
    """The same values, ``+x``.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    int64, float32, float64, complex128. TypeError for bool.

    >>> import tracegrad as tg
    >>> tg.positive(tg.tensor([1.0, -2.0]))
    tensor([ 1., -2.])
    """

@overload
def pow(x: Tensor, exponent: Any) -> Tensor: ...
@overload
def pow(x: Any, exponent: Any) -> Any:
    """``x ** exponent``; a number as one of them has the cheaper rule.

    >>> import tracegrad as tg
    >>> tg.power(tg.tensor([2.0, 3.0]), 2)
    tensor([4., 9.])
    """

@overload
def power(x: Tensor, exponent: Any) -> Tensor: ...
@overload
def power(x: Any, exponent: Any) -> Any:
    """``x ** exponent``; a number as one of them has the cheaper rule.

    >>> import tracegrad as tg
    >>> tg.power(tg.tensor([2.0, 3.0]), 2)
    tensor([4., 9.])
    """

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
    """The product over `axis`; its derivatives are exact where elements are 0.

    >>> import tracegrad as tg
    >>> tg.prod(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    tensor([3., 8.])
    """

def promote_types(type1: Any, type2: Any) -> np.dtype[Any]:
    """The smallest dtype to which both are cast safely.

    >>> import tracegrad as tg
    >>> tg.promote_types(tg.int32, tg.float32)
    dtype('float64')
    """

@overload
def ptp(
    x: Tensor, axis: Any = None, out: None = None, keepdims: builtins.bool = False
) -> Tensor: ...
@overload
def ptp(x: Any, axis: Any = None, out: None = None, keepdims: builtins.bool = False) -> Any:
    """The largest less the smallest element over `axis`.

    >>> import tracegrad as tg
    >>> tg.ptp(tg.tensor([1.0, 5.0, 3.0]))
    tensor(4.)
    """

def put(x: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Writes `v` into the Tensor `x` at these places, which number its elements in order.

    >>> import tracegrad as tg
    >>> x = tg.zeros(3)
    >>> tg.put(x, [0, 2], [1.0, 2.0])
    >>> x
    tensor([1., 0., 2.])
    """

def put_along_axis(x: Any, indices: Any, values: Any, axis: Any) -> None:
    """Writes `values` into the Tensor `x` at these indices along `axis`.

    >>> import tracegrad as tg
    >>> x = tg.zeros((2, 2))
    >>> tg.put_along_axis(x, tg.tensor([[1], [0]]), 5.0, 1)
    >>> x
    tensor([[0., 5.],
            [5., 0.]])
    """

def putmask(x: Any, mask: Any, values: Any) -> None:
    """Writes the elements of `values`, repeated to the size of `x`, to `x` where `mask` is true.

    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0, 2.0, 3.0])
    >>> tg.putmask(x, x > 1.5, 0.0)
    >>> x
    tensor([1., 0., 0.])
    """

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
    """The values at the fraction `q`, in [0, 1], of the sorted elements over `axis`.

    Several `q` give as many quantiles, on axes of their own in front. Differentiable in `x` and,
    where the method interpolates, in `q`.

    method
        NumPy's methods: ``"linear"``, ``"lower"``, ``"higher"``, ``"nearest"``, ``"midpoint"``,
        ``"hazen"``, ``"weibull"``, ``"median_unbiased"`` and so on.
    weights
        How often each element counts, for the method ``"inverted_cdf"``: they have the shape of
        `x`, or that of its `axis`. The quantile is an element: weights have no gradient.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.quantile(tg.tensor([3.0, 1.0, 2.0]), [0.25, 1.0])
    tensor([1.5000, 3.0000])
    """

@overload
def rad2deg(x: Tensor, /) -> Tensor: ...
@overload
def rad2deg(x: ArrayLike, /) -> Any:
    """Radians in degrees.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64; bool gives float16; int64 gives float64. TypeError for complex128.

    >>> import tracegrad as tg
    >>> tg.rad2deg(tg.tensor([0.0, tg.pi / 2, tg.pi]))
    tensor([  0.,  90., 180.])
    """

@overload
def radians(x: Tensor, /) -> Tensor: ...
@overload
def radians(x: ArrayLike, /) -> Any:
    """Degrees in radians.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64; bool gives float16; int64 gives float64. TypeError for complex128.

    >>> import tracegrad as tg
    >>> tg.deg2rad(tg.tensor([0.0, 90.0, 180.0]))
    tensor([0.0000, 1.5708, 3.1416])
    """

def rand(
    *shape: Any, dtype: Any = None, requires_grad: builtins.bool = False, device: Any = None
) -> Tensor:
    """Numbers drawn evenly from [0, 1): ``tg.rand(3, 4)`` or ``tg.rand((3, 4))``.

    >>> import tracegrad as tg
    >>> _ = tg.manual_seed(0)
    >>> x = tg.rand(3)
    >>> x.shape, bool(tg.all(x < 1.0))
    ((3,), True)
    """

@overload
def rand_like(
    x: Tensor, dtype: Any = None, requires_grad: builtins.bool = False, device: Any = None
) -> Tensor: ...
@overload
def rand_like(
    x: Any, dtype: Any = None, requires_grad: builtins.bool = False, device: Any = None
) -> Any:
    """`rand` of the shape of `x`, and of its dtype and device unless others are given.

    >>> import tracegrad as tg
    >>> _ = tg.manual_seed(0)
    >>> tg.rand_like(tg.eye(2)).shape
    (2, 2)
    """

def randint(
    low: builtins.int,
    high: Any = None,
    size: Any = None,
    *,
    dtype: Any = ...,
    requires_grad: builtins.bool = False,
    device: Any = None,
) -> Tensor:
    """Integers drawn evenly from ``low, ..., high - 1``; `low` may be left out and is 0 then.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.randint(10, (2, 3)).shape, tg.randint(5, 10, (4,)).shape
    ((2, 3), (4,))
    """

def randn(
    *shape: Any, dtype: Any = None, requires_grad: builtins.bool = False, device: Any = None
) -> Tensor:
    """Numbers of the standard normal distribution.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.randn(3, 4, requires_grad=True).shape
    (3, 4)
    """

@overload
def randn_like(
    x: Tensor, dtype: Any = None, requires_grad: builtins.bool = False, device: Any = None
) -> Tensor: ...
@overload
def randn_like(
    x: Any, dtype: Any = None, requires_grad: builtins.bool = False, device: Any = None
) -> Any:
    """`randn` of the shape of `x`, and of its dtype and device unless others are given.

    >>> import tracegrad as tg
    >>> _ = tg.manual_seed(0)
    >>> tg.randn_like(tg.eye(2)).shape
    (2, 2)
    """

def randperm(
    n: builtins.int, *, dtype: Any = ..., requires_grad: builtins.bool = False, device: Any = None
) -> Tensor:
    """The integers ``0, ..., n - 1`` in random order.

    >>> import tracegrad as tg
    >>> _ = tg.manual_seed(0)
    >>> tg.sort(tg.randperm(4))
    tensor([0, 1, 2, 3])
    """

@overload
def ravel(x: Tensor, order: str = "C") -> Tensor: ...
@overload
def ravel(x: Any, order: str = "C") -> Any:
    """`x` with one axis; a copy where its elements do not lie one after the other in memory.

    >>> import tracegrad as tg
    >>> tg.ravel(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([1., 2., 3., 4.])
    """

def ravel_multi_index(
    multi_index: Any, dims: Any, mode: str | Sequence[str] = "raise", order: str = "C"
) -> Any:
    """The numbers, in the order of an array, of places given by an index along each axis.

    Places that are not there raise; with the `mode` ``"wrap"`` they are counted on from the other
    end, with ``"clip"`` they are the last or first along the axis. Each axis may have its own.

    >>> import tracegrad as tg
    >>> tg.ravel_multi_index((tg.tensor([0, 1]), tg.tensor([2, 0])), (2, 3))
    tensor([2, 3])
    """

@overload
def real(x: Tensor, /) -> Tensor: ...
@overload
def real(x: ArrayLike, /) -> Any:
    """The real parts.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool,
    int64, float32, float64; complex128 gives float64.

    >>> import tracegrad as tg
    >>> tg.real(tg.tensor([1.0 + 2.0j, 3.0j]))
    tensor([1., 0.])
    """

@overload
def real_if_close(x: Tensor, tol: builtins.float = 100) -> Tensor: ...
@overload
def real_if_close(x: Any, tol: builtins.float = 100) -> Any:
    """The real part if every imaginary part is below `tol`: a look at the imaginary parts.

    `tol` counts in the machine precision of the dtype; below 1 it is the bound itself.

    >>> import tracegrad as tg
    >>> tg.real_if_close(tg.tensor([1.0 + 0.0j, 2.0 + 0.0j]))
    tensor([1., 2.])
    """

@overload
def reciprocal(x: Tensor, /) -> Tensor: ...
@overload
def reciprocal(x: ArrayLike, /) -> Any:
    """The reciprocals ``1 / x``, in the dtype of `x`.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    int64, float32, float64, complex128; bool gives int8.

    >>> import tracegrad as tg
    >>> tg.reciprocal(tg.tensor([2.0, -4.0]))
    tensor([ 0.5000, -0.2500])
    """

def relu(x: Any) -> Any:
    """``max(x, 0)``; the derivative at 0 is 0.

    >>> import tracegrad as tg
    >>> tg.relu(tg.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """

@overload
def remainder(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def remainder(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def remainder(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``a % b``: the remainders of ``a // b``, with the signs of `b`.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: int64, float32, float64; bool gives int8. TypeError for complex128.

    >>> import tracegrad as tg
    >>> tg.remainder(tg.tensor([7.0, -7.0]), 3.0)
    tensor([1., 2.])
    """

@overload
def repeat(x: Tensor, repeats: Any, axis: Any = None) -> Tensor: ...
@overload
def repeat(x: Any, repeats: Any, axis: Any = None) -> Any:
    """`x` with each element (each slice along `axis`) so many times in a row.

    repeats
        One number for all, or a sequence with a number for each.

    >>> import tracegrad as tg
    >>> tg.repeat(tg.tensor([1.0, 2.0]), 2)
    tensor([1., 1., 2., 2.])
    """

@overload
def reshape(
    x: Tensor, shape: Any = (), *lengths: Any, order: str = "C", copy: Any = None
) -> Tensor: ...
@overload
def reshape(x: Any, shape: Any = (), *lengths: Any, order: str = "C", copy: Any = None) -> Any:
    """`x` in another shape with as many elements; one length may be -1.

    The shape is a tuple, or lengths one by one. With ``order="F"`` the elements are taken, and put,
    column after column. With ``copy=True`` the result has memory of its
    own; otherwise it shares that of `x` where it can, and ``copy=False`` raises where it cannot.

    >>> import tracegrad as tg
    >>> tg.reshape(tg.arange(6), (2, -1))
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """

@overload
def resize(x: Tensor, new_shape: Any) -> Tensor: ...
@overload
def resize(x: Any, new_shape: Any) -> Any:
    """The elements of `x`, repeated from the start where more are needed, in another shape.

    >>> import tracegrad as tg
    >>> tg.resize(tg.tensor([1.0, 2.0, 3.0]), (2, 2))
    tensor([[1., 2.],
            [3., 1.]])
    """

def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype that an operation on these arrays, numbers and dtypes has.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.result_type(tg.float32, tg.ones(2, dtype=tg.int16), 1.5)
    dtype('float32')
    """

@overload
def right_shift(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def right_shift(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def right_shift(a: ArrayLike, b: ArrayLike, /) -> Any:
    """``a >> b``: the bits of `a` moved down by `b` places.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: int64; bool gives int8. TypeError for float32, float64, complex128. Results
    carry no gradient.

    >>> import tracegrad as tg
    >>> tg.bitwise_right_shift(tg.tensor([8, 13]), 2)
    tensor([2, 3])
    """

@overload
def rint(x: Tensor, /) -> Tensor: ...
@overload
def rint(x: ArrayLike, /) -> Any:
    """The nearest integers, halves to the even one, in the dtype of `x`.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.rint(tg.tensor([0.5, 1.5, -1.2]))
    tensor([ 0.,  2., -1.])
    """

@overload
def roll(x: Tensor, shift: Any, axis: Any = None) -> Tensor: ...
@overload
def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    """`x` with its elements shifted along axes (along the whole without one), the last first.

    >>> import tracegrad as tg
    >>> tg.roll(tg.tensor([1.0, 2.0, 3.0]), 1)
    tensor([3., 1., 2.])
    """

@overload
def rollaxis(x: Tensor, axis: builtins.int, start: builtins.int = 0) -> Tensor: ...
@overload
def rollaxis(x: Any, axis: builtins.int, start: builtins.int = 0) -> Any:
    """`x` with an axis moved before the one at `start` (`moveaxis` says it better).

    >>> import tracegrad as tg
    >>> tg.rollaxis(tg.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """

@overload
def roots(p: Tensor) -> Tensor: ...
@overload
def roots(p: Any) -> Any:
    """The zeros of the polynomial with the coefficients `p`, the highest power's first: complex.

    They are the eigenvalues of its companion matrix, in the order in which these are found. The
    derivative is that of simple zeros. The first coefficient must not be 0: there is a zero at
    infinity then.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.real(tg.roots(tg.tensor([2.0, -6.0, 4.0])))
    tensor([2., 1.])
    """

@overload
def rot90(x: Tensor, k: builtins.int = 1, axes: Any = ...) -> Tensor: ...
@overload
def rot90(x: Any, k: builtins.int = 1, axes: Any = ...) -> Any:
    """`x` turned by `k` times 90 degrees, from the first of two axes towards the second.

    >>> import tracegrad as tg
    >>> tg.rot90(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[2., 4.],
            [1., 3.]])
    """

@overload
def round(x: Tensor, decimals: builtins.int = 0, out: None = None) -> Tensor: ...
@overload
def round(x: Any, decimals: builtins.int = 0, out: None = None) -> Any:
    """`x` rounded to so many decimals, halves to the even digit.

    >>> import tracegrad as tg
    >>> tg.round(tg.tensor([0.5, 1.5, 2.6]))
    tensor([0., 2., 3.])
    """

@overload
def searchsorted(a: Tensor, v: Any, side: str = "left", sorter: Any = None) -> Tensor: ...
@overload
def searchsorted(a: Any, v: Tensor, side: str = "left", sorter: Any = None) -> Tensor: ...
@overload
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """The places in the sorted vector `a` before which the elements of `v` keep it sorted.

    side
        ``"left"``: the first such place, ``"right"``: the last.
    sorter
        The indices that sort `a` where it is not sorted itself.

    >>> import tracegrad as tg
    >>> tg.searchsorted(tg.tensor([1.0, 3.0, 5.0]), tg.tensor([0.0, 3.0, 9.0]))
    tensor([0, 1, 3])
    """

def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """For each place the choice whose condition is the first that is true there.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.arange(4.0)
    >>> tg.select([x < 1, x < 3], [-x, x * x], 9.0)
    tensor([-0., 1., 4., 9.])
    """

def set_default_dtype(dtype: Any) -> None:
    """Python floats, and arrays made without a dtype, get this float dtype from here on.

    >>> import tracegrad as tg
    >>> tg.set_default_dtype(tg.float32)
    >>> tg.tensor([1.0]).dtype
    dtype('float32')
    >>> tg.set_default_dtype(tg.float64)
    """

@overload
def setdiff1d(a: Tensor, b: Any, assume_unique: builtins.bool = False) -> Tensor: ...
@overload
def setdiff1d(a: Any, b: Tensor, assume_unique: builtins.bool = False) -> Tensor: ...
@overload
def setdiff1d(a: Any, b: Any, assume_unique: builtins.bool = False) -> Any:
    """The different elements of the first that are not in the second.

    >>> import tracegrad as tg
    >>> tg.setdiff1d(tg.tensor([1, 2, 3]), tg.tensor([2]))
    tensor([1, 3])
    """

@overload
def setxor1d(a: Tensor, b: Any, assume_unique: builtins.bool = False) -> Tensor: ...
@overload
def setxor1d(a: Any, b: Tensor, assume_unique: builtins.bool = False) -> Tensor: ...
@overload
def setxor1d(a: Any, b: Any, assume_unique: builtins.bool = False) -> Any:
    """The different elements that are in one of both, not in the other.

    >>> import tracegrad as tg
    >>> tg.setxor1d(tg.tensor([1, 2]), tg.tensor([2, 3]))
    tensor([1, 3])
    """

short: np.dtype[np.int16]

def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``, accurate for all x.

    >>> import tracegrad as tg
    >>> tg.sigmoid(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([0.2689, 0.5000, 0.7311])
    """

@overload
def sign(x: Tensor) -> Tensor: ...
@overload
def sign(x: Any) -> Any:
    """-1, 0 or 1; of complex numbers ``x / abs(x)``.

    >>> import tracegrad as tg
    >>> tg.sign(tg.tensor([-3.0, 0.0, 2.0]))
    tensor([-1.,  0.,  1.])
    """

@overload
def signbit(x: Tensor, /) -> Tensor: ...
@overload
def signbit(x: ArrayLike, /) -> Any:
    """Where the sign is minus; -0.0 has one.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool;
    int64, float32, float64 give bool. TypeError for complex128. Results carry no gradient.

    >>> import tracegrad as tg
    >>> tg.signbit(tg.tensor([-1.0, -0.0, 0.0]))
    tensor([ True,  True, False])
    """

@overload
def sin(x: Tensor, /) -> Tensor: ...
@overload
def sin(x: ArrayLike, /) -> Any:
    """The sines of angles in radians.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.sin(tg.tensor([0.0, tg.pi / 6, tg.pi / 2]))
    tensor([0.0000, 0.5000, 1.0000])
    """

@overload
def sinc(x: Tensor) -> Tensor: ...
@overload
def sinc(x: Any) -> Any:
    """``sin(pi x) / (pi x)``, and 1 at 0.

    >>> import tracegrad as tg
    >>> tg.sinc(tg.tensor([0.0, 0.5, 1.0]))
    tensor([1.0000e+00, 6.3662e-01, 3.8982e-17])
    """

@overload
def sinh(x: Tensor, /) -> Tensor: ...
@overload
def sinh(x: ArrayLike, /) -> Any:
    """The hyperbolic sines.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.sinh(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([-1.1752,  0.0000,  1.1752])
    """

def sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Any:
    """The windows that slide over axes of `x`, their elements on new axes behind.

    Unlike NumPy's it is a copy, through which gradients flow: what comes from one element adds up.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.sliding_window_view(tg.arange(4.0), 3)
    tensor([[0., 1., 2.],
            [1., 2., 3.]])
    """

def softmax(x: Any, axis: Any = -1) -> Any:
    """``exp(x)`` over its sum along `axis`, without overflow.

    >>> import tracegrad as tg
    >>> tg.softmax(tg.tensor([0.0, 0.0, tg.log(2.0)]))
    tensor([0.2500, 0.2500, 0.5000])
    """

def softplus(x: Any) -> Any:
    """``log(1 + exp(x))``, accurate for all x.

    >>> import tracegrad as tg
    >>> tg.softplus(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([0.3133, 0.6931, 1.3133])
    """

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
    """`x` in ascending order along `axis` (None: flattened), NaN last.

    With `descending` the other way round. Equal elements keep their order in any case, so `kind`
    and `stable` decide nothing. The gradient of each element goes to where it came from.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.sort(tg.tensor([3.0, 1.0, 2.0]))
    tensor([1., 2., 3.])
    """

@overload
def sort_complex(x: Tensor) -> Tensor: ...
@overload
def sort_complex(x: Any) -> Any:
    """`x`, as complex numbers, in order of the real parts, then of the imaginary ones.

    >>> import tracegrad as tg
    >>> tg.sort_complex(tg.tensor([2.0, 1.0]))
    tensor([1.+0.j, 2.+0.j])
    """

@overload
def spacing(x: Tensor, /) -> Tensor: ...
@overload
def spacing(x: ArrayLike, /) -> Any:
    """The distances to the next floating-point numbers away from 0.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64; bool gives float16; int64 gives float64. TypeError for complex128.

    >>> import tracegrad as tg
    >>> tg.spacing(tg.tensor([1.0])) == tg.finfo(tg.float64).eps
    tensor([True])
    """

def split(x: Any, indices_or_sections: Any, axis: Any = 0) -> tuple[Any, ...]:
    """The parts of `x` along `axis`: a number of equal parts, or parts cut at these places.

    >>> import tracegrad as tg
    >>> tg.split(tg.tensor([1.0, 2.0, 3.0, 4.0]), 2)
    (tensor([1., 2.]), tensor([3., 4.]))
    """

@overload
def sqrt(x: Tensor, /) -> Tensor: ...
@overload
def sqrt(x: ArrayLike, /) -> Any:
    """The square roots that are not negative.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.sqrt(tg.tensor([0.0, 4.0, 9.0]))
    tensor([0., 2., 3.])
    """

@overload
def square(x: Tensor, /) -> Tensor: ...
@overload
def square(x: ArrayLike, /) -> Any:
    """The squares ``x * x``.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    int64, float32, float64, complex128; bool gives int8.

    >>> import tracegrad as tg
    >>> tg.square(tg.tensor([-3.0, 2.0]))
    tensor([9., 4.])
    """

@overload
def squeeze(x: Tensor, axis: Any = None) -> Tensor: ...
@overload
def squeeze(x: Any, axis: Any = None) -> Any:
    """`x` without axes of length 1: those named, or all of them.

    >>> import tracegrad as tg
    >>> tg.squeeze(tg.ones((1, 3, 1))).shape
    (3,)
    """

@overload
def stack(arrays: Iterable[Tensor], axis: Any = 0, dtype: Any = None) -> Tensor: ...
@overload
def stack(arrays: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """The arrays, all of one shape, along a new axis.

    >>> import tracegrad as tg
    >>> tg.stack([tg.tensor([1.0, 2.0]), tg.tensor([3.0, 4.0])])
    tensor([[1., 2.],
            [3., 4.]])
    """

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
    """The standard deviation over `axis`; arguments as for `var`, derivative 0 where it is 0.

    >>> import tracegrad as tg
    >>> tg.std(tg.tensor([1.0, 2.0, 3.0]), correction=1)
    tensor(1.)
    """

@overload
def stop_gradient(x: Tensor, /) -> Tensor: ...
@overload
def stop_gradient(x: ArrayLike, /) -> Any:
    """The values of `x`, without a gradient.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool,
    int64, float32, float64, complex128. Results carry no gradient.

    >>> import tracegrad as tg
    >>> tg.grad(lambda x: x * tg.stop_gradient(x))(3.0)
    np.float64(3.0)
    """

@overload
def subtract(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def subtract(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def subtract(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The differences ``a - b``.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: int64, float32, float64, complex128. TypeError for bool.

    >>> import tracegrad as tg
    >>> tg.subtract(tg.tensor([1.0, 2.0]), tg.tensor([[10.0], [20.0]]))
    tensor([[ -9.,  -8.],
            [-19., -18.]])
    """

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
    """The sum over `axis` (None, an int or a tuple of ints); small integers are summed in int64.

    >>> import tracegrad as tg
    >>> tg.sum(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    tensor([4., 6.])
    """

@overload
def swapaxes(x: Tensor, axis1: builtins.int, axis2: builtins.int) -> Tensor: ...
@overload
def swapaxes(x: Any, axis1: builtins.int, axis2: builtins.int) -> Any:
    """`x` with two axes exchanged.

    >>> import tracegrad as tg
    >>> tg.swapaxes(tg.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """

@overload
def take(x: Tensor, indices: Any, axis: Any = None, mode: str = "raise") -> Tensor: ...
@overload
def take(x: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    """The elements, or whole slices along `axis`, at these indices.

    mode
        What an index out of bounds does: ``"raise"``, ``"wrap"`` or ``"clip"``.

    >>> import tracegrad as tg
    >>> tg.take(tg.tensor([10.0, 20.0, 30.0]), [2, 0])
    tensor([30., 10.])
    """

@overload
def take_along_axis(x: Tensor, indices: Any, axis: Any = -1) -> Tensor: ...
@overload
def take_along_axis(x: Any, indices: Any, axis: Any = -1) -> Any:
    """The elements at these indices along `axis`, one for each place of `indices`.

    >>> import tracegrad as tg
    >>> tg.take_along_axis(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), tg.tensor([[1], [0]]), 1)
    tensor([[2.],
            [3.]])
    """

@overload
def tan(x: Tensor, /) -> Tensor: ...
@overload
def tan(x: ArrayLike, /) -> Any:
    """The tangents of angles in radians.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.tan(tg.tensor([0.0, tg.pi / 4]))
    tensor([0.0000, 1.0000])
    """

@overload
def tanh(x: Tensor, /) -> Tensor: ...
@overload
def tanh(x: ArrayLike, /) -> Any:
    """The hyperbolic tangents.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
    float32, float64, complex128; bool gives float16; int64 gives float64.

    >>> import tracegrad as tg
    >>> tg.tanh(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.7616,  0.0000,  0.7616])
    """

def tensor(
    data: Any, dtype: Any = None, requires_grad: builtins.bool = False, device: Any = None
) -> Tensor:
    """A Tensor with a copy of the data.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.tensor([1, 2]), tg.tensor([1, 2], requires_grad=True)
    (tensor([1, 2]), tensor([1., 2.], requires_grad=True))
    """

def tensor_jacobian_product(
    fun: Callable[..., Any], argnum: builtins.int = 0
) -> Callable[..., Any]:
    """A function of ``(*args, v)``: v, contracted with the first axes of the Jacobian.

    >>> import numpy as np
    >>> from tracegrad import tensor_jacobian_product
    >>> product = tensor_jacobian_product(lambda x: x * x[0])
    >>> product(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([4., 1.])
    """

@overload
def tensordot(a: Tensor, b: Any, axes: Any = 2) -> Tensor: ...
@overload
def tensordot(a: Any, b: Tensor, axes: Any = 2) -> Tensor: ...
@overload
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Sums of products over `axes`: a number (last of `a`, first of `b`) or a list for each.

    >>> import tracegrad as tg
    >>> tg.tensordot(tg.ones((2, 3)), tg.ones((3, 4)), axes=1).shape
    (2, 4)
    """

@overload
def tile(x: Tensor, reps: Any) -> Tensor: ...
@overload
def tile(x: Any, reps: Any) -> Any:
    """`x` side by side with itself, so many times along each axis.

    >>> import tracegrad as tg
    >>> tg.tile(tg.tensor([1.0, 2.0]), 2)
    tensor([1., 2., 1., 2.])
    """

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
    """The sum of a diagonal of the matrices along two axes.

    >>> import tracegrad as tg
    >>> tg.trace(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(5.)
    """

@overload
def transpose(x: Tensor, axes: Any = None, *other: builtins.int) -> Tensor: ...
@overload
def transpose(x: Any, axes: Any = None, *other: builtins.int) -> Any:
    """`x` with its axes in another order (reversed when none is given).

    ``transpose(x, 0, 1)`` exchanges these two, as PyTorch has it.

    >>> import tracegrad as tg
    >>> tg.transpose(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[1., 3.],
            [2., 4.]])
    """

@overload
def trapezoid(y: Tensor, x: Any = None, dx: Any = 1.0, axis: builtins.int = -1) -> Tensor: ...
@overload
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: builtins.int = -1) -> Any:
    """The integral along `axis` of samples joined by straight lines.

    `x` holds their coordinates (a vector, or one for each sample); without it they are `dx` apart.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.trapezoid(tg.tensor([1.0, 2.0, 3.0]), dx=0.5)
    tensor(2.)
    """

@overload
def trapz(y: Tensor, x: Any = None, dx: Any = 1.0, axis: builtins.int = -1) -> Tensor: ...
@overload
def trapz(y: Any, x: Any = None, dx: Any = 1.0, axis: builtins.int = -1) -> Any:
    """The integral along `axis` of samples joined by straight lines.

    `x` holds their coordinates (a vector, or one for each sample); without it they are `dx` apart.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.trapezoid(tg.tensor([1.0, 2.0, 3.0]), dx=0.5)
    tensor(2.)
    """

def tri(
    n_rows: builtins.int, n_cols: builtins.int | None = None, k: builtins.int = 0, dtype: Any = None
) -> Tensor:
    """Ones at and below the k-th diagonal, zeros above.

    >>> import tracegrad as tg
    >>> tg.tri(3)
    tensor([[1., 0., 0.],
            [1., 1., 0.],
            [1., 1., 1.]])
    """

@overload
def tril(x: Tensor, k: builtins.int = 0) -> Tensor: ...
@overload
def tril(x: Any, k: builtins.int = 0) -> Any:
    """The matrices along the last two axes with zeros above the k-th diagonal.

    >>> import tracegrad as tg
    >>> tg.tril(tg.ones((2, 2)))
    tensor([[1., 0.],
            [1., 1.]])
    """

def tril_indices(
    n: builtins.int, k: builtins.int = 0, m: builtins.int | None = None
) -> tuple[Any, Any]:
    """The index of what stands at and below the k-th diagonal of an n by m matrix.

    >>> import tracegrad as tg
    >>> tg.tril_indices(2)
    (tensor([0, 1, 1]), tensor([0, 0, 1]))
    """

def tril_indices_from(x: Any, k: builtins.int = 0) -> tuple[Any, Any]:
    """The index of what stands at and below the k-th diagonal of `x`.

    >>> import tracegrad as tg
    >>> tg.tril_indices_from(tg.eye(2))
    (tensor([0, 1, 1]), tensor([0, 0, 1]))
    """

def trim_zeros(filt: Any, trim: str = "fb") -> Any:
    """A vector without the zeros at its front ("f"), its back ("b") or both: a look at values.

    >>> import tracegrad as tg
    >>> tg.trim_zeros(tg.tensor([0.0, 1.0, 2.0, 0.0]))
    tensor([1., 2.])
    """

@overload
def triu(x: Tensor, k: builtins.int = 0) -> Tensor: ...
@overload
def triu(x: Any, k: builtins.int = 0) -> Any:
    """The matrices along the last two axes with zeros below the k-th diagonal.

    >>> import tracegrad as tg
    >>> tg.triu(tg.ones((2, 2)))
    tensor([[1., 1.],
            [0., 1.]])
    """

def triu_indices(
    n: builtins.int, k: builtins.int = 0, m: builtins.int | None = None
) -> tuple[Any, Any]:
    """The index of what stands at and above the k-th diagonal of an n by m matrix.

    >>> import tracegrad as tg
    >>> tg.triu_indices(2)
    (tensor([0, 0, 1]), tensor([0, 1, 1]))
    """

def triu_indices_from(x: Any, k: builtins.int = 0) -> tuple[Any, Any]:
    """The index of what stands at and above the k-th diagonal of `x`.

    >>> import tracegrad as tg
    >>> tg.triu_indices_from(tg.eye(2))
    (tensor([0, 0, 1]), tensor([0, 1, 1]))
    """

@overload
def true_divide(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def true_divide(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def true_divide(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The quotients ``a / b``; of integers in floating point.

    Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
    Dtypes: float32, float64, complex128; bool, int64 give float64.

    >>> import tracegrad as tg
    >>> tg.divide(tg.tensor([1.0, 3.0]), 2)
    tensor([0.5000, 1.5000])
    """

@overload
def trunc(x: Tensor, /) -> Tensor: ...
@overload
def trunc(x: ArrayLike, /) -> Any:
    """The integers next to `x` towards 0, in the dtype of `x`.

    Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool,
    int64, float32, float64. TypeError for complex128.

    >>> import tracegrad as tg
    >>> tg.trunc(tg.tensor([-1.5, 0.2, 2.7]))
    tensor([-1.,  0.,  2.])
    """

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
    """The different elements of both.

    >>> import tracegrad as tg
    >>> tg.union1d(tg.tensor([1, 2]), tg.tensor([2, 3]))
    tensor([1, 2, 3])
    """

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
    """The different elements of `x` in ascending order (the different slices along `axis`).

    Besides, where each first stands, for each element of `x` which one it is, and how often each
    is there, as far as asked for: then a tuple.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.unique(tg.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """

def unique_all(x: Any) -> UniqueAll:
    """The different elements of `x`, their first indices, the inverse indices, and the counts.

    >>> import tracegrad as tg
    >>> tg.unique_all(tg.tensor([3, 1, 3])).indices
    tensor([1, 0])
    """

def unique_counts(x: Any) -> UniqueCounts:
    """The different elements of `x`, and how often each is there; NaN as in `unique_values`.

    >>> import tracegrad as tg
    >>> tg.unique_counts(tg.tensor([3, 1, 3])).counts
    tensor([1, 2])
    """

def unique_inverse(x: Any) -> UniqueInverse:
    """The different elements of `x`, and for each element of `x` its index among these.

    >>> import tracegrad as tg
    >>> tg.unique_inverse(tg.tensor([3, 1, 3])).inverse_indices
    tensor([1, 0, 1])
    """

def unique_values(x: Any) -> Any:
    """The different elements of `x` in ascending order; every NaN differs from every other.

    >>> import tracegrad as tg
    >>> tg.unique_values(tg.tensor([3, 1, 3]))
    tensor([1, 3])
    """

def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    """The indices along each axis of places that are numbered in the order of an array.

    Raises where there is no such place. With ``order="F"`` they are numbered column after column.

    >>> import tracegrad as tg
    >>> tg.unravel_index(tg.tensor([2, 3]), (2, 3))
    (tensor([0, 1]), tensor([2, 0]))
    """

def unstack(x: Any, axis: Any = 0) -> tuple[Any, ...]:
    """The slices of `x` along `axis`, one for each index.

    >>> import tracegrad as tg
    >>> tg.unstack(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    (tensor([1., 2.]), tensor([3., 4.]))
    """

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
    """Angles without their jumps: neighbours differ by at most half a period.

    A difference of more than `discont` (half a period, or more) is changed by whole periods.

    >>> import tracegrad as tg
    >>> tg.unwrap(tg.tensor([0.0, 3.0, 6.0, 9.0 - 2 * tg.pi]))
    tensor([0., 3., 6., 9.])
    """

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
    """The value and the gradient together; parameters as for `grad`.

    Returns
    -------
    callable
        ``(value, gradient)``, with `has_aux` ``((value, aux), gradient)``.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> value, gradient = tg.value_and_grad(lambda x: np.sum(x ** 2))(np.array([1.0, 2.0]))
    >>> print(value, gradient)
    5.0 [2. 4.]
    """

@overload
def vander(
    x: Tensor, N: builtins.int | None = None, increasing: builtins.bool = False
) -> Tensor: ...
@overload
def vander(x: Any, N: builtins.int | None = None, increasing: builtins.bool = False) -> Any:
    """The powers of each element as the columns of a matrix, the highest first.

    N
        The number of columns (default: as many as elements, which are counted).

    >>> import tracegrad as tg
    >>> tg.vander(tg.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 1., 1.],
            [4., 2., 1.],
            [9., 3., 1.]])
    """

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
    """The variance over `axis`: squared deviations from the mean, over n - `correction`.

    The correction is 0 as in NumPy and the array API (PyTorch's default is 1); it may be given as
    `ddof`, as `correction`, or as ``unbiased=True`` for 1. `where` chooses elements; a `mean` that
    is known already, with its axes kept, is taken as it is.

    >>> import tracegrad as tg
    >>> tg.var(tg.tensor([1.0, 2.0, 3.0]), correction=1)
    tensor(1.)
    """

@overload
def vdot(a: Tensor, b: Any) -> Tensor: ...
@overload
def vdot(a: Any, b: Tensor) -> Tensor: ...
@overload
def vdot(a: Any, b: Any) -> Any:
    """The product of two arrays as vectors, the first conjugated.

    >>> import tracegrad as tg
    >>> tg.vdot(tg.tensor([1.0j, 2.0]), tg.tensor([1.0j, 1.0]))
    tensor(3.+0.j)
    """

@overload
def vecdot(x1: Tensor, x2: Any, axis: builtins.int = -1) -> Tensor: ...
@overload
def vecdot(x1: Any, x2: Tensor, axis: builtins.int = -1) -> Tensor: ...
@overload
def vecdot(x1: Any, x2: Any, axis: builtins.int = -1) -> Any:
    """The products of vectors along `axis`, the first conjugated, batches broadcast.

    The vectors have one length, which is not broadcast, and the result has the dtype to which both
    are promoted.

    >>> import tracegrad as tg
    >>> tg.vecdot(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), tg.tensor([1.0, 10.0]))
    tensor([21., 43.])
    """

@overload
def vecmat(x1: Tensor, x2: Any) -> Tensor: ...
@overload
def vecmat(x1: Any, x2: Tensor) -> Tensor: ...
@overload
def vecmat(x1: Any, x2: Any) -> Any:
    """Vectors, conjugated, times matrices: along the last axis, batches broadcast.

    >>> import tracegrad as tg
    >>> tg.vecmat(tg.tensor([1.0, -1.0]), tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([-2., -2.])
    """

def vector_jacobian_product(
    fun: Callable[..., Any], argnum: builtins.int = 0
) -> Callable[..., Any]:
    """A function of ``(*args, v)``: v, contracted with the first axes of the Jacobian.

    >>> import numpy as np
    >>> from tracegrad import tensor_jacobian_product
    >>> product = tensor_jacobian_product(lambda x: x * x[0])
    >>> product(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([4., 1.])
    """

def vector_norm(
    x: Any, axis: Any = None, keepdims: builtins.bool = False, ord: builtins.float = 2
) -> Any:
    """The `ord`-norm over `axis`, all elements as one vector; 0 has the gradient 0.

    >>> import tracegrad as tg
    >>> tg.vector_norm(tg.tensor([[3.0, 4.0], [6.0, 8.0]]), axis=1)
    tensor([ 5., 10.])
    """

def vectorize(
    pyfunc: Callable[..., Any],
    otypes: Any = None,
    doc: str | None = None,
    excluded: Any = None,
    cache: builtins.bool = False,
    signature: str | None = None,
) -> Callable[..., Any]:
    """A function of numbers as one of arrays, which are broadcast: it is called for each element.

    As ``np.vectorize`` it is a loop, in a graph an unrolled one: what can be said of whole arrays
    (``tg.where`` for a branch) is faster. `cache` changes nothing.

    otypes
        The dtypes of the results.
    excluded
        Arguments, by number or name, that are handed on as they are.
    signature
        Of functions of small arrays, such as ``"(n),(n)->()"``: the last axes of each argument are
        handed on together.

    Examples
    --------
    >>> import tracegrad as tg
    >>> positive_part = tg.vectorize(lambda x: x if x > 0 else 0 * x)
    >>> positive_part(tg.tensor([-1.0, 2.0]))
    tensor([-0., 2.])
    """

def vjp(
    f: Callable[..., Any], *primals: Any, has_aux: builtins.bool = False, backend: str | None = None
) -> Any:
    """The value of a function and the map from cotangents of it to cotangents of its arguments.

    Forward and backward are compiled, and found again at the next call for the same function; what
    the backward reads of the forward is kept between the two.

    Parameters
    ----------
    f : callable
        Plain Python over arrays, which may return any pytree of arrays.
    primals
        The arguments: arrays, floats or pytrees of them. What is written to them later does not
        matter, or is told by name where a large one is read again.
    has_aux : bool
        The function returns ``(value, aux)``; ``(out, vjp_fn, aux)`` is returned.
    backend : "numpy", "numba", "auto" or "jax", optional
        The target of the generated source; default ``tg.config.backend``.

    Returns
    -------
    (out, vjp_fn)
        ``vjp_fn(cotangent)`` takes the structure of ``out`` and returns a tuple with one cotangent
        an argument; it may be called any number of times. ``vjp_fn.source()`` is the source of
        both, where they were compiled.

    Raises
    ------
    tg.errors.ArgumentError
        A primal is not floating point, or a cotangent is not like the result.
    tg.errors.LostGradientError
        A Python number that was read of an argument comes back in the result.
    tg.errors.GradientError
        A large argument was written to before ``vjp_fn`` read it again.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> out, pull = tg.vjp(lambda x: x * x, np.array([1.0, 2.0]))
    >>> pull(np.array([1.0, 10.0]))
    (array([ 2., 40.]),)
    """

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
    """A function of one example as a function of a batch of them, as compiled source.

    The source works on whole batches: an operation on one example becomes the operation on all of
    them (``x @ w`` of vectors a product of matrices), and what does not depend on the example is
    computed once. The function is run on the first example to see what it does.

    Parameters
    ----------
    f : callable
        Plain Python over the arrays of one example.
    in_axes : int, None, or a tuple of an entry for each positional argument
        The axis of each argument along which the examples lie; None: the same for all. An entry
        may be a pytree that begins as its argument does. Arguments passed by name have axis 0,
        defaults and arrays that the function reads from outside are the same for all.
    out_axes : int, None, or a pytree of them
        Where the batch stands in each result; None for a result that is the same for all.
    backend, static_argnames, donate_argnums, out_shardings
        As for `grad`.

    Returns
    -------
    callable
        Same arguments as `f`, with the axes of the batch; nests with every other transform.

    Raises
    ------
    tg.errors.ArgumentError
        Lengths of the batch that differ, axes that arguments do not have, `in_axes` or `out_axes`
        of another structure, a function that writes to its arguments.

    Notes
    -----
    Where the way of the function depends on the example (``if x[0] > 0``, ``float(x)``, ``x[mask]``
    of a length that differs), or it draws random numbers or changes something outside, it runs for
    one example after the other, compiled, as a loop in Python would: every example has draws of its
    own. A `tg.errors.RecompileWarning` says so once, with the reason.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> def loss(w, x, y):
    ...     return (x @ w - y) ** 2
    >>> gradients = tg.vmap(tg.grad(loss), in_axes=(None, 0, 0))
    >>> gradients(np.array([1.0, 2.0]), np.eye(2), np.zeros(2))
    array([[2., 0.],
           [0., 4.]])
    """

def vsplit(x: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`split` along the first axis of a matrix.

    >>> import tracegrad as tg
    >>> tg.vsplit(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), 2)
    (tensor([[1., 2.]]), tensor([[3., 4.]]))
    """

@overload
def vstack(arrays: Iterable[Tensor], dtype: Any = None) -> Tensor: ...
@overload
def vstack(arrays: Any, dtype: Any = None) -> Any:
    """The arrays on top of each other: along the first axis, vectors as rows.

    >>> import tracegrad as tg
    >>> tg.vstack([tg.tensor([1.0, 2.0]), tg.tensor([3.0, 4.0])])
    tensor([[1., 2.],
            [3., 4.]])
    """

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
    """`x` where `condition` is true, else `y`; with the condition alone, the indices of True.

    Where a branch is not taken it contributes exactly 0 to gradients, whatever stands there.

    >>> import tracegrad as tg
    >>> x = tg.tensor([-1.0, 4.0])
    >>> tg.where(x > 0, x, 0.0)
    tensor([0., 4.])
    """

def zeros(
    shape: Any = (),
    *lengths: Any,
    dtype: Any = None,
    requires_grad: builtins.bool = False,
    device: Any = None,
) -> Tensor:
    """Zeros: ``zeros(3, 4)`` or ``zeros((3, 4))``.

    >>> import tracegrad as tg
    >>> tg.zeros((2, 2))
    tensor([[0., 0.],
            [0., 0.]])
    """

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
    """Zeros of the shape and dtype of `x`.

    >>> import tracegrad as tg
    >>> tg.zeros_like(tg.tensor([1, 2]))
    tensor([0, 0])
    """
