"""Dispatches ops on the kinds of their operands: arrays, Tensors, staged values.

Ops run on four kinds of operands: plain arrays, of NumPy or of JAX (the kernel runs, nothing is
recorded), Tensors
(recorded on the tape, and in the graph while tracing), staged values (a graph is being built, as
the derivative rules do) and mixtures. A kind is a class with an entry in `HANDLERS`; the first
operand whose class has one decides, but `Repeated` goes before all.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from codegen.sizes import Dim, Sizes
from codegen.types import BFLOAT16, ArrayType, weak_of
from tracegrad.errors import DTypeError

SEQUENCES = (list, tuple, deque)
"""Of whose items, nested too, NumPy makes an array."""
Handler = Callable[[Any, Any, Sequence[Any], Mapping[str, Any]], Any]
"""``handler(like, op, operands, attributes)``: `like` is the operand that chose the handler."""

HANDLERS: dict[type, Handler] = {}
SIZES: dict[type, Callable[[Any], Sizes | None]] = {}
"""What is known about lengths in the graph that an operand belongs to."""
TYPES: dict[type, Callable[[Any], ArrayType]] = {}
IDENTITIES: dict[type, Callable[[Any], Any]] = {}
"""The object that operands have in common which are one value."""
LENGTHS: dict[type, Callable[[Any], Dim | None]] = {}
"""The length that an operand is, as the graph that it belongs to has it."""

SCALARS = frozenset({np.float64, np.float32, np.complex128, np.complex64, np.int64, np.bool_})
"""Types of NumPy's numbers, whose dtype is known by their type."""
PLAIN = frozenset({np.ndarray, *SCALARS})
"""Types of operands that tell their own shape and dtype."""


class Repeated:
    """A cotangent that is a smaller value repeated to a shape; see
    `tracegrad.ops.repeated_cotangents`."""

    __slots__ = ("shape", "small")
    __array_ufunc__ = None  # arrays leave operators to it

    def __init__(self, small: Any, shape: tuple[Dim, ...]) -> None:
        self.small = small
        self.shape = shape


class JaxArray:
    """The class of JAX's own arrays in `HANDLERS`: which it is, only JAX knows."""


class Nothing:
    """The class in `HANDLERS` of operands that there are not: ``zeros(3)`` makes a Tensor."""


def length_of(x: Any) -> Dim | None:
    """The length that an operand is, as a graph has it; None where it is none."""
    found = LENGTHS.get(type(x))
    return None if found is None else found(x)


def small_of(x: Any) -> Any:
    """What a repeated value repeats, for what broadcasts by itself; any other value as it is."""
    return x.small if type(x) is Repeated else x


def apply(op: Any, operands: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """The op on operands of whatever kind."""
    if Repeated in map(type, operands):
        return HANDLERS[Repeated](None, op, operands, attributes)
    for operand in operands:
        handler = HANDLERS.get(type(operand))
        if handler is not None:
            return handler(operand, op, operands, attributes)
    if not PLAIN.issuperset(map(type, operands)) and any(map(is_jax_array, operands)):
        return HANDLERS[JaxArray](None, op, operands, attributes)
    if not op.takes_numbers:
        operands = [np.asarray(x) if is_number(x) else x for x in operands]
    return op.kernel(attributes)(*operands, **attributes)


def apply_in(like: Any, op: Any, attributes: Mapping[str, Any], *operands: Any) -> Any:
    """The op in the algebra of `like`, for ops whose operands are numbers or none at all."""
    handler = HANDLERS.get(type(like))
    if handler is not None:
        return handler(like, op, operands, attributes)
    return op.kernel(attributes)(*operands, **attributes)


def same_value(a: Any, b: Any) -> bool:
    """Whether two operands are known to be one value."""
    return _identity(a) is _identity(b)


def _identity(x: Any) -> Any:
    of = IDENTITIES.get(type(x))
    return x if of is None else of(x)


def is_jax_array(x: Any) -> bool:
    """True for arrays of JAX and for its tracers; it need not be installed."""
    if not type(x).__module__.startswith("jax"):
        return False
    return isinstance(x, sys.modules["jax"].Array)


def is_jax_tracer(x: Any) -> bool:
    """True where JAX is tracing: the array has a shape and a dtype, and no value."""
    return is_jax_array(x) and isinstance(x, sys.modules["jax"].core.Tracer)


NUMERIC = "biufc"
"""Kinds of NumPy's dtypes that hold numbers or bools."""
FLOATING = "fcV"
"""Those of dtypes that have gradients; V is that of bfloat16, as of no other that Tensors hold."""


def is_numeric(dtype: Any) -> bool:
    """Whether arrays of a dtype can be traced: NumPy's numbers and bools, and JAX's bfloat16."""
    return getattr(dtype, "kind", "?") in NUMERIC or dtype == BFLOAT16


class Count(int):
    """A number of elements; called, ``x.size()`` is the shape and ``x.size(1)`` one length.

    NumPy takes it for an int64, which it is not to be beside a float32.
    """

    shape: tuple[int, ...]

    def __call__(self, dim: int | None = None) -> tuple[int, ...] | int:
        return self.shape if dim is None else self.shape[dim]


def is_number(x: Any) -> bool:
    """True for Python numbers (np.float64 is a subclass of float, but has a dtype of its own)."""
    return isinstance(x, bool | int | float | complex) and not isinstance(x, np.generic)


def number_kind(x: Any) -> type | None:
    """The class of a number of Python's; None of anything else."""
    if not is_number(x):
        return None
    return next(kind for kind in (bool, int, float, complex) if isinstance(x, kind))


def with_plain_numbers(operands: Sequence[Any]) -> Sequence[Any]:
    """Operands with numbers of subclasses (`IntEnum`, ``class Degrees(float)``) as plain ones.

    Beside arrays NumPy takes them for an int64 or a float64 without axes, Python for its numbers.
    """
    own = [is_number(x) and type(x) not in NUMBERS for x in operands]
    if not any(own) or any(map(is_jax_array, operands)):
        return operands
    beside = any(isinstance(x, SEQUENCES) or not is_weak(x) for x in operands)
    return [_plain(x, beside) if found else x for x, found in zip(operands, own, strict=True)]


def _plain(x: Any, beside_arrays: bool) -> Any:
    if not beside_arrays:  # no method of the class is asked
        return next(kind for kind in (int, float, complex) if isinstance(x, kind)).__pos__(x)
    found = np.asarray(x)[()]
    if not isinstance(found, np.generic):
        raise DTypeError(
            f"{x!r} of class {type(x).__name__}: no dtype of NumPy's holds it"
        ).as_refusal()
    return found


NUMBERS = frozenset({bool, int, float, complex, Count})
"""Types of numbers that take the dtype of what they meet."""


def is_scalar(array: Any) -> bool:
    """True for numbers, NumPy's and Python's."""
    return isinstance(array, np.generic) or is_number(array)


def is_weak(x: Any) -> bool:
    """True for Python numbers of whatever kind: operands that take the dtype of what they meet."""
    return type(x) not in PLAIN and type_of(x).weak


def may_be_python(x: Any) -> bool:
    """True for those, and for what a program has that may be such a number when it runs."""
    return type(x) not in PLAIN and type_of(x).may_be_python


def gives_either(op: Any, operands: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    """Whether an op is one of Python's operators, on a number that may be one of Python's."""
    if not any(type(x) not in PLAIN and type_of(x).either for x in operands):
        return False
    return bool(op.spelled("numpy", attributes).is_operator)


def type_of(x: Any) -> ArrayType:
    """The type of any operand: Tensor, staged value, array, NumPy scalar or Python number."""
    rule = TYPES.get(type(x))
    if rule is not None:
        return rule(x)
    if isinstance(x, np.ndarray | np.generic):
        return array_type(x)
    if is_number(x):
        return weak_of(x)
    return array_type(x if is_jax_array(x) else np.asarray(x))


def array_type(x: Any) -> ArrayType:
    """The type of an array, with its lengths as they are."""
    return ArrayType(dtype_name(x.dtype), tuple(x.shape))


_NAMES: dict[np.dtype, str] = {}


def dtype_name(dtype: np.dtype) -> str:
    """``dtype.name``, which NumPy writes anew each time: that takes longer than an operation."""
    name = _NAMES.get(dtype)
    if name is None:
        name = _NAMES[dtype] = dtype.name
    return name


def shape_of(x: Any) -> tuple[Dim, ...]:
    """The shape, symbolic where a graph is being made (so asking is not a look)."""
    return x.shape if type(x) in PLAIN or type(x) is Repeated else type_of(x).shape


def fits_at_once(a: Any, b: Any) -> bool:
    """True for plain arrays of one shape and dtype; False leaves it open."""
    kind, other = type(a), type(b)
    if kind is other and kind in SCALARS:
        return True
    return kind in PLAIN and other in PLAIN and a.dtype is b.dtype and bool(a.shape == b.shape)


def same_shape(a: Any, b: Any) -> bool:
    """True when the shapes are known to be equal (in a graph: by algebra, or assumed so)."""
    one, other = shape_of(a), shape_of(b)
    if one == other:
        return True
    sizes = SIZES.get(type(a), SIZES.get(type(b)))
    known = sizes(a if type(a) in SIZES else b) if sizes is not None else None
    return (
        known is not None
        and len(one) == len(other)
        and all(known.equal(x, y) for x, y in zip(one, other, strict=True))
    )


def same_dtype(a: Any, b: Any) -> bool:
    """True when the dtypes are equal."""
    if type(a) in PLAIN and type(b) in PLAIN and a.dtype is b.dtype:
        return True
    return dtype_of(a) == dtype_of(b)


def ndim_of(x: Any) -> int:
    """The number of axes."""
    return len(shape_of(x))


def dtype_of(x: Any) -> str:
    """The dtype's name; of a Python number the one that it would have alone."""
    return dtype_name(x.dtype) if type(x) in PLAIN else type_of(x).dtype
