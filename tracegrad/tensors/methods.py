"""Gives Tensors and staged values their operators, methods and properties, from the op table."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any

import numpy as np

from tracegrad.differentiation.batched_values import Lane
from tracegrad.errors import ArgumentError, ShapeError
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise import powers
from tracegrad.ops.elementwise import ufuncs as ew
from tracegrad.ops.elementwise.python_numbers import as_python_number, python_round
from tracegrad.ops.linear_algebra import contractions
from tracegrad.ops.record import TABLE, OpRecord
from tracegrad.ops.shape import indexing, joining, reshaping, selection
from tracegrad.ops.shape.creation import shape_tuple
from tracegrad.ops.staging import Staged
from tracegrad.ops.statistics import sorting
from tracegrad.runtime.array_manners import is_array_to_function
from tracegrad.runtime.provided import Provided
from tracegrad.runtime.values_in_traces import in_trace, read_whole
from tracegrad.tape.foreign_arrays import plain
from tracegrad.tape.views import base_of
from tracegrad.tensors import fast_operators
from tracegrad.tensors.flat import Flat
from tracegrad.tensors.numpy_words import delete_items, set_in_place
from tracegrad.tensors.public_functions import RECORDS
from tracegrad.tensors.tensor import Tensor
from tracegrad.tensors.zero_dimensional import method_of_numpy
from tracegrad.user_code.program_points import at_line
from tracegrad.values.dispatch import (
    Count,
    Repeated,
    dtype_of,
    is_number,
    is_scalar,
    is_weak,
    may_be_python,
    ndim_of,
)

# -- operators ----------------------------------------------------------------------------------


def power(x: Any, exponent: Any) -> Any:
    """``x ** exponent``; a number as one of them has the cheaper rule."""
    if isinstance(exponent, np.float64) and dtype_of(x) in WIDE and not is_weak(x):
        exponent = float(exponent)  # which has the same dtype beside these
    return powers.raised(x, exponent)


WIDE = ("float64", "complex128")


def _pow(x: Any, exponent: Any) -> Any:
    """The operator, which of arrays of bools squares to int8 where `np.power` makes int64."""
    of_array = not is_scalar(getattr(x, "_array", x))
    if type(exponent) is int and exponent == 2 and dtype_of(x) == "bool" and of_array:
        return ew.square(x)
    return power(x, exponent)


BINARY: dict[str, Callable[..., Any]] = {
    "add": ew.add,
    "sub": ew.subtract,
    "mul": ew.multiply,
    "truediv": ew.divide,
    "floordiv": ew.floor_divide,
    "mod": ew.remainder,
    "divmod": lambda a, b: (ew.floor_divide(a, b), ew.remainder(a, b)),
    "pow": _pow,
    "matmul": contractions.matmul,
    "and": ew.bitwise_and,
    "or": ew.bitwise_or,
    "xor": ew.bitwise_xor,
    "lshift": ew.bitwise_left_shift,
    "rshift": ew.bitwise_right_shift,
}
COMPARISONS: dict[str, Callable[..., Any]] = {
    "eq": ew.equal,
    "ne": ew.not_equal,
    "lt": ew.less,
    "le": ew.less_equal,
    "gt": ew.greater,
    "ge": ew.greater_equal,
}
UNARY: dict[str, Callable[..., Any]] = {
    "neg": ew.negative,
    "pos": ew.positive,
    "abs": ew.absolute,
    "invert": ew.bitwise_invert,
}


def magnitude(x: Any) -> Any:
    """``abs(x)``: unlike ``np.abs(x)``, a Python number's is a Python number."""
    return ew.python_absolute(x) if may_be_python(x) else ew.absolute(x)


GENERAL: dict[str, Callable[..., Any]] = {"abs": magnitude}
"""Operators that choose an op where operands may be Python numbers, as in graphs."""


def _method(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        known = fast_operators.operand(other, self)
        if known is NotImplemented:
            return fast_operators.beside_unknown(self, other, name, function)
        return function(self, known)

    return method


def _rounded(self: Any, ndigits: Any = None) -> Any:
    """``round(x)``: of a number, without digits, an int of Python's; of Python's own such a one."""
    if ndigits is not None and type(self._array) is int and is_array_to_function(self):
        return round(int(self), ndigits)
    traced = in_trace(self)
    if traced is not None:
        traced[0].shows_type(traced[1])
    if ndigits is not None and type(self._array) is float and is_weak(self):
        return python_round(self, decimals=int(ndigits))
    if ndigits is not None and is_number(self._array):
        return as_python_number(ew.round(self, ndigits))
    found = ew.round(self) if ndigits is None else ew.round(self, ndigits)
    return int(found) if ndigits is None and not self.ndim and is_array_to_function(self) else found


def _reflected(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        known = fast_operators.operand(other, self)
        if known is NotImplemented:
            return fast_operators.beside_unknown(self, other, name, function, True)
        return function(known, self)

    return method


def _unary(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self: function(self)


def install(cls: Any) -> None:
    """Gives a class the operators, and what derivative rules use besides.

    Tensors get the written-out forms of ops that have one.
    """
    fast = cls is Tensor
    for name, function in (*BINARY.items(), *COMPARISONS.items()):
        written_out = fast and isinstance(function, OpRecord)
        make, reflect = (
            (fast_operators.binary, partial(fast_operators.binary, reflected=True))
            if written_out
            else (_method, _reflected)
        )
        setattr(cls, f"__{name}__", make(function, name))
        if name in BINARY:
            setattr(cls, f"__r{name}__", reflect(function, name))
    for name, function in UNARY.items():
        written_out = fast and isinstance(function, OpRecord) and function.differentiable
        general = GENERAL.get(name, function)
        of_one = fast_operators.unary(function, general) if written_out else _unary(general)
        setattr(cls, f"__{name}__", of_one)
    cls.T = property(reshaping.transpose)
    cls.mT = property(reshaping.matrix_transpose)


for _cls in (Tensor, Staged, Lane, Repeated):
    install(_cls)
Staged.__getitem__ = Lane.__getitem__ = Repeated.__getitem__ = indexing.getitem  # type: ignore[misc]

# -- methods ------------------------------------------------------------------------------------

# fmt: off
NUMPY = (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "choose", "clip",
    "cumprod", "cumsum", "diagonal", "dot", "flatten", "max", "mean", "min",
    "nonzero", "prod", "ptp", "put", "ravel", "reshape", "round",
    "searchsorted", "squeeze", "std", "sum", "swapaxes", "take", "trace",
    "var",
)
"""ndarray's methods: functions of the namespace under their own names."""

PYTORCH = (
    "allclose", "amax", "amin", "angle", "arccos", "arccosh", "arcsin", "arcsinh", "arctan",
    "arctan2", "arctanh", "argwhere", "bincount", "bitwise_and", "bitwise_not", "bitwise_or",
    "bitwise_xor", "broadcast_to", "ceil", "copysign", "corrcoef", "cos", "cosh", "count_nonzero",
    "cov", "cross", "cummax", "cummin", "diag", "diagflat", "diff", "dsplit", "exp", "exp2",
    "expm1", "fix", "flip", "fliplr", "flipud", "float_power", "floor", "floor_divide", "fmax",
    "fmin", "fmod", "gcd", "greater", "greater_equal", "heaviside", "histogram", "hsplit", "hypot",
    "inner", "isclose", "isfinite", "isin", "isinf", "isnan", "isneginf", "isposinf",
    "isreal", "kron", "lcm", "ldexp", "less", "less_equal", "log", "log10", "log1p", "log2",
    "log_softmax", "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or",
    "logical_xor", "logsumexp", "matmul", "maximum", "median", "minimum", "moveaxis", "nan_to_num",
    "nanmean", "nanmedian", "nanquantile", "nansum", "nextafter", "not_equal", "outer",
    "positive", "quantile", "reciprocal", "relu", "remainder", "roll", "rot90", "sigmoid", "sign",
    "signbit", "sin", "sinc", "sinh", "softmax", "sqrt", "square", "tan", "tanh", "tile",
    "tril", "triu", "true_divide", "trunc", "unique", "unstack", "vdot", "vsplit",
)
# fmt: on
"""Methods that Tensors have besides: functions of the namespace under their own names."""

RENAMED = {
    "abs": "absolute",
    "absolute": "absolute",
    "acos": "arccos",
    "acosh": "arccosh",
    "add": "add",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "clamp": "clip",
    "clone": "copy",
    "deg2rad": "deg2rad",
    "div": "divide",
    "divide": "divide",
    "eq": "equal",
    "ge": "greater_equal",
    "gt": "greater",
    "le": "less_equal",
    "lt": "less",
    "movedim": "moveaxis",
    "mul": "multiply",
    "multiply": "multiply",
    "ne": "not_equal",
    "neg": "negative",
    "negative": "negative",
    "pow": "power",
    "rad2deg": "rad2deg",
    "sub": "subtract",
    "swapdims": "swapaxes",
    "take_along_dim": "take_along_axis",
    "unbind": "unstack",
    "subtract": "subtract",
    "unsqueeze": "expand_dims",
}
"""Methods that have another name than their function, most of them PyTorch's."""

METHODS: dict[str, str] = {**{name: name for name in (*NUMPY, *PYTORCH)}, **RENAMED}
"""Each method of Tensors that is a function of the namespace, and the function's name there."""


WHOLE = ("sum", "mean", "max", "min")
"""Reductions that are written out for calls without arguments, over the whole array."""


def _size(x: Tensor) -> int:
    """The number of elements; inside a traced function asking for it fixes the lengths."""
    lengths = x.shape
    if is_array_to_function(x):
        return int(np.prod(lengths, dtype=np.int64))
    count = Count(np.prod(lengths, dtype=np.int64))
    count.shape = lengths
    return count


def _view(x: Tensor, *lengths: Any) -> Any:
    """The Tensor in another shape (PyTorch's ``view``; NumPy's, of a dtype, has no derivative)."""
    if not lengths:
        return ew.alias(x)
    if len(lengths) == 1 and isinstance(lengths[0], type | str | np.dtype):
        raise ArgumentError(
            f"view({lengths[0]!r}): the bits of another dtype have no gradient: write "
            f"x.astype(...) for the values, x.numpy().view(...) for the bits{at_line()}"
        ).as_refusal()
    viewed = reshaping.reshape(x, shape_tuple(lengths[0] if len(lengths) == 1 else lengths))
    given, found = x._array, viewed._array
    looks = base_of(x) is not x and isinstance(found, np.ndarray) and found.size > 0
    if looks and not np.may_share_memory(given, found):  # a write would not reach what x looks at
        raise ShapeError(
            f"view: a part of another Tensor, of shape {given.shape}, that does not lie in C order "
            f"in memory (a transposed one, say) cannot be seen in the shape {found.shape} without "
            "a copy: write x.reshape(...), which makes one"
        )
    return viewed


def _t(x: Tensor) -> Any:
    """A matrix with its axes exchanged, a vector as it is."""
    if x.ndim > 2:
        raise ArgumentError(f"t(): a Tensor with {x.ndim} axes is no matrix: write x.mT or x.T")
    return reshaping.transpose(x)


def _transpose(x: Tensor, *axes: Any) -> Any:
    """Two axes exchanged, as PyTorch has it; the axes in the order of a tuple; reversed without.

    Of arrays, in functions that are called with these, several numbers are an order as well.
    """
    if len(axes) == 2 and not is_array_to_function(x):
        return reshaping.swapaxes(x, *axes)
    return _permute(x, *axes)


def _permute(x: Tensor, *dims: Any) -> Any:
    """The axes in this order, given as several numbers or as a tuple."""
    return reshaping.transpose(x, dims[0] if len(dims) == 1 else dims)


def _repeat(x: Tensor, repeats: Any, *sizes: int, axis: Any = None) -> Any:
    """NumPy's `repeat`: of arrays, or with ``axis=``; PyTorch's is `tile`."""
    if axis is None and not is_array_to_function(x):
        shown = ", ".join(map(repr, (repeats, *sizes)))
        raise ArgumentError(
            f"repeat({shown}): NumPy repeats each element and PyTorch the whole Tensor: write "
            "x.repeat_interleave(...) for the one and x.tile(...) for the other"
        )
    return joining.repeat(x, repeats, *sizes) if sizes else joining.repeat(x, repeats, axis)


def _strides(x: Tensor) -> tuple[int, ...]:
    """The bytes in memory from one element to the next along each axis; in no graph."""
    read_whole(x)
    array = x.__array__() if x._is_traced else plain(x._array)
    strides: tuple[int, ...] = np.asarray(array).strides
    return strides


def _fill(x: Tensor, value: Any) -> None:
    """Writes the value into every place."""
    x[...] = value  # type: ignore[index]


def _fill_flat(x: Tensor, value: Any) -> None:
    """``x.flat = value``: the elements one after the other, from the start again."""
    if ndim_of(as_array(value)):
        Flat(x)[:] = value
    else:
        _fill(x, value)


def _sort(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    """The elements in order along an axis; in functions of arrays written in place, as NumPy's."""
    return _in_place(x, sorting.sort(x, *args, **kwargs))


def _partition(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Parted at `kth` along an axis; in functions of arrays written in place, as NumPy's."""
    return _in_place(x, sorting.partition(x, *args, **kwargs))


_sort.__wrapped__, _partition.__wrapped__ = sorting.sort, sorting.partition


def _in_place(x: Tensor, result: Any) -> Any:
    if not is_array_to_function(x):
        return result
    x[...] = result  # type: ignore[index]
    return None


def _real(x: Tensor) -> Any:
    """The real part; of a number of Python's such a number, which a real one is itself."""
    if not is_number(x._array):
        return ew.real(x)
    return as_python_number(ew.real(x)) if x.is_complex() else x


def _imag(x: Tensor) -> Any:
    """The imaginary part; of a number of Python's such a number."""
    if not is_number(x._array):
        return ew.imag(x)
    return as_python_number(ew.imag(x)) if x.is_complex() else type(x._array)(0)


def _conj(x: Tensor) -> Any:
    """The complex conjugate; a real Tensor itself, as ndarray's method has it."""
    return ew.conj(x) if x.is_complex() else x


def _copy(x: Tensor, order: str = "C") -> Any:
    """The same values in memory of their own, in C order unless ``order="K"`` keeps that of `x`."""
    if x.ndim < 2 or order not in ("C", "F"):
        return reshaping.laid_out(x, order, True)
    return ew.copy_in_order(x) if order == "C" else ew.copy_in_order(x.T).T


def _compress(x: Tensor, condition: Any, axis: Any = None) -> Any:
    """The slices along `axis` (the elements, without one) where `condition` is true."""
    return selection.compress(condition, x, axis)


OWN: dict[str, Any] = {
    "copy": method_of_numpy("copy", _copy),
    "compress": _compress,
    "conj": _conj,
    "conjugate": _conj,
    "dim": lambda x: x.ndim,
    "fill": _fill,
    "flat": property(Flat, lambda x, value: _fill_flat(x, value)),
    "imag": property(_imag, lambda x, value: ew.imag(x).fill(value)),
    "itemsize": property(lambda x: x.dtype.itemsize),
    "nbytes": property(lambda x: x.dtype.itemsize * _size(x)),
    "numel": lambda x: int(_size(x)),
    "partition": _partition,
    "permute": method_of_numpy("transpose", _permute),
    "repeat": method_of_numpy("repeat", _repeat),
    "real": property(_real, lambda x, value: ew.real(x).fill(value)),
    "size": property(_size),
    "sort": _sort,
    "strides": property(_strides),
    "t": _t,
    "transpose": method_of_numpy("transpose", _transpose),
    "tobytes": lambda x, order="C": x.__array__().tobytes(order),
    "view": _view,
}
"""What Tensors have besides that is not just a function of the namespace."""


REASSIGNED = {
    "shape": "y = y.reshape(...)",
    "dtype": "y = y.astype(...), or y = y.view(...) for the same bits",
    "strides": "y.T, y[::-1] or np.lib.stride_tricks.as_strided",
}
"""Properties that NumPy sets in place, and what makes another array instead."""


def _bound(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function of the namespace as a method."""

    record = RECORDS.get(function)
    if record is not None and record.operands == ("x",) and record.differentiable:
        method = fast_operators.unary(record, record)
    elif name in WHOLE:
        op = TABLE[name]
        method = fast_operators.without_arguments(op, op.attributes, _with_out(function, name))
    else:
        method = _with_out(method_of_numpy(name, function), name)
    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = function.__doc__
    method.__wrapped__ = function  # whose signature is the method's
    return method


written_to_out = Provided("results that are written to out=")


def _with_out(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function of which the result is written to ``out=``, where it is given."""
    if "out" not in inspect.signature(function).parameters:
        return function

    @wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        found = function(self, *args, **kwargs)
        return found if out is None else written_to_out.call(out, found, name)

    return method


def install_methods(namespace: Mapping[str, Any]) -> None:
    """Gives Tensors the methods of the table; raises for a function that is not there."""
    missing = sorted({f for f in METHODS.values() if f not in namespace})
    if missing:
        raise AttributeError(f"methods without a function in the namespace: {', '.join(missing)}")
    for name, function in METHODS.items():
        setattr(Tensor, name, _bound(namespace[function], name))
    for name, member in OWN.items():
        setattr(Tensor, name, member)
    for name, instead in REASSIGNED.items():
        setattr(Tensor, name, vars(Tensor)[name].setter(set_in_place(name, instead)))
    Tensor.__delitem__ = delete_items  # type: ignore[attr-defined]
    Tensor.__round__ = _rounded  # type: ignore[attr-defined]
    Tensor.__trunc__ = Tensor.__int__  # type: ignore[attr-defined]
