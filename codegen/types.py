"""Types of arrays: dtypes, promotion and broadcasting.

All functions are pure in the types; lengths are compared through a `Sizes`, which may assume an
equality (and so record a guard) where a trace has seen it to hold. The rules are NumPy's (NEP 50
for promotion: Python numbers are *weak*, they take the dtype of what they meet).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from codegen.errors import CodegenError
from codegen.sizes import Dim, Sizes

KINDS = ("bool", "int", "float", "complex")
ZEROS: Mapping[str, bool | int | float | complex]
ZEROS = {"bool": False, "int": 0, "float": 0.0, "complex": 0j}
"""Python's zero of each kind."""
_DEFAULT = {"bool": "bool", "int": "int64", "float": "float64", "complex": "complex128"}
_FLOATS = ("float16", "float32", "float64")
BFLOAT16 = "bfloat16"
"""A float of JAX's: it stays beside integers, and meets other floats in float32 or wider."""
DTYPES = (
    "bool",
    *(f"int{bits}" for bits in (8, 16, 32, 64)),
    *(f"uint{bits}" for bits in (8, 16, 32, 64)),
    *_FLOATS,
    "complex64",
    "complex128",
)


class ShapeError(CodegenError):
    """Shapes that an operation cannot take together."""


@dataclass(frozen=True, slots=True)
class ArrayType:
    """dtype and shape of a value; `weak` marks a Python number, which has no dtype of its own.

    A number that is `either` is computed as one of the dtype, and may be one of Python's when the
    program runs: turns of a loop put now the one into a variable, now the other. An array of such
    is a list when the program runs.
    """

    dtype: str
    shape: tuple[Dim, ...] = ()
    weak: bool = False
    either: bool = field(default=False, compare=False)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def may_be_python(self) -> bool:
        """Whether a value may be a number of Python's when the program runs."""
        return self.weak or (self.either and not self.shape)

    def __str__(self) -> str:
        if self.weak:
            return kind(self.dtype)
        return f"{self.dtype}{'?' if self.either else ''}[{', '.join(map(str, self.shape))}]"

    def with_shape(self, shape: Sequence[Dim]) -> ArrayType:
        either = self.either and len(shape) == self.ndim
        return ArrayType(self.dtype, tuple(shape), self.weak, either)

    def with_dtype(self, dtype: str) -> ArrayType:
        return ArrayType(dtype, self.shape)


LIST = ArrayType("list", (1,))
"""A Python list of values, which a program keeps for itself: it can be updated, as an array can."""


@cache
def kind(dtype: str) -> str:
    """One of `KINDS`."""
    if dtype in ("bool", BFLOAT16):
        return "bool" if dtype == "bool" else "float"
    return dtype.rstrip("0123456789").removeprefix("u")


def bounded(sizes: Sizes, type: ArrayType) -> ArrayType:
    """The type without lengths that are very long to write."""
    shape = tuple([sizes.bounded(dim) for dim in type.shape])
    return type if shape == type.shape else type.with_shape(shape)


def either_of(types: Sequence[ArrayType], operands: Sequence[ArrayType]) -> tuple[ArrayType, ...]:
    """What one of Python's operators gives: a number of Python's of operands that are all such."""
    either = all(operand.may_be_python for operand in operands)
    return tuple([replace(type, either=either) for type in types])


def real_of(dtype: str) -> str:
    """The dtype of a component of a floating-point or complex dtype."""
    return f"float{bits(dtype)}" if kind(dtype) == "complex" else dtype


@cache
def bits(dtype: str) -> int:
    """Width of one component: 32 for float32 and complex64."""
    width = int(dtype.lstrip("abcdefghijklmnopqrstuvwxyz") or 8)
    return width // 2 if kind(dtype) == "complex" else width


def is_inexact(dtype: str) -> bool:
    """True for floating-point and complex dtypes: those that carry gradients."""
    return kind(dtype) in ("float", "complex")


def weak_of(number: bool | int | float | complex) -> ArrayType:
    """The type of a Python number, of a subclass as well."""
    match number:
        case bool():
            return weak("bool")
        case int():
            return weak("int")
        case float():
            return weak("float")
    return weak("complex")


def weak(number_kind: str) -> ArrayType:
    """The type of a Python ``bool``, ``int``, ``float`` or ``complex``."""
    return ArrayType(_DEFAULT[number_kind], (), weak=number_kind != "bool")


def _promote_strong(a: str, b: str) -> str:
    if a == b:
        return a
    low, high = sorted((a, b), key=lambda dtype: KINDS.index(kind(dtype)))
    ka, kb = kind(low), kind(high)
    if BFLOAT16 in (a, b):
        if ka in ("bool", "int"):
            return high
        return _promote_strong(*["float32" if dtype == BFLOAT16 else dtype for dtype in (a, b)])
    if ka == "bool":
        return high
    if kb == "int":
        return _promote_integers(low, high)
    need = bits(low) if ka != "int" else _float_bits_for_integer(bits(low))
    width = max(need, bits(high))
    if kb == "float":
        return f"float{width}"
    return "complex64" if width <= 32 else "complex128"


def _float_bits_for_integer(width: int) -> int:
    return {8: 16, 16: 32}.get(width, 64)


def _promote_integers(a: str, b: str) -> str:
    unsigned = [dtype.startswith("u") for dtype in (a, b)]
    if unsigned[0] == unsigned[1]:
        return a if bits(a) >= bits(b) else b
    u, s = (a, b) if unsigned[0] else (b, a)
    if bits(s) > bits(u):
        return s
    return f"int{bits(u) * 2}" if bits(u) < 64 else "float64"


def promote(types: Sequence[ArrayType]) -> tuple[str, bool]:
    """``(dtype, weak)`` of an operation on these operands (NumPy's rules, NEP 50).

    The widest kind comes first: int8, uint16 and float32 are float32, although int8 and uint16
    alone are int32, which with float32 is float64.
    """
    strong = sorted(
        (t.dtype for t in types if not t.weak), key=lambda dtype: -KINDS.index(kind(dtype))
    )
    weak_kinds = [KINDS.index(kind(t.dtype)) for t in types if t.weak]
    if not strong:
        return _DEFAULT[KINDS[max(weak_kinds)]], True
    dtype = strong[0]
    for other in strong[1:]:
        dtype = _promote_strong(dtype, other)
    if weak_kinds and max(weak_kinds) > KINDS.index(kind(dtype)):
        top = KINDS[max(weak_kinds)]
        if top == "complex" and kind(dtype) == "float":
            return ("complex64" if bits(dtype) <= 32 else "complex128"), False
        return _DEFAULT[top], False
    return dtype, False


def inexact_of(dtype: str) -> str:
    """The floating dtype in which NumPy computes ``exp`` and its like for this dtype."""
    if is_inexact(dtype):
        return dtype
    return f"float{_float_bits_for_integer(bits(dtype))}"


def broadcast(sizes: Sizes, shapes: Sequence[tuple[Dim, ...]]) -> tuple[Dim, ...]:
    """The broadcast shape; raises `ShapeError` where NumPy would."""
    whole = next(filter(None, shapes), ())
    if all(shape == whole or not shape for shape in shapes):
        return whole
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Dim] = []
    for position in range(-rank, 0):
        dim: Dim = 1
        for shape in shapes:
            if len(shape) >= -position:
                dim = _broadcast_dim(sizes, dim, shape[position], shapes)
        result.append(dim)
    return tuple(result)


def _broadcast_dim(sizes: Sizes, a: Dim, b: Dim, shapes: Sequence[tuple[Dim, ...]]) -> Dim:
    if a == 1 and isinstance(a, int):
        return b
    if b == 1 and isinstance(b, int):
        return a
    for one, other in ((a, b), (b, a)):
        if sizes.counts(other) and not sizes.counts(one) and sizes.is_one(one):
            sizes.fix(one)  # that the number of a turn is 1 as well says nothing
            return other
    if sizes.same(a, b):
        return a
    for one, other in ((a, b), (b, a)):
        if sizes.is_one(one):
            sizes.fix(one)
            return other
    shown = " and ".join(shape_text(sizes, shape) for shape in shapes)
    raise ShapeError(f"shapes {shown} do not broadcast")


def shape_text(sizes: Sizes, shape: Sequence[Dim]) -> str:
    """The shape as the user knows it: with the lengths of this trace where there are any."""
    try:
        dims: list[object] = [sizes.value(dim) for dim in shape]
    except CodegenError:
        dims = list(shape)
    return f"({', '.join(map(str, dims))}{',' if len(dims) == 1 else ''})"
