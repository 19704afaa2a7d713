"""A Python value enters; what code may find out by using it leaves, as a set of kinds.

An analysis of code (`reading.py`) computes with such sets in place of values. One letter is a kind:

    T  a Tensor of the trace: every use of it is recorded
    K  a Tensor from outside: operations are recorded, its shape and bare array are not
    C  plain and known: numbers, strings, None, shapes; what is computed from these is as well
    A  an array from outside: NumPy reads it without anybody's seeing
    M  a dict or set      L  a list, tuple or iterator      O  an object of a plain class
    V  anything at all

A callable that is known is an atom of its own, ``("call", function, binds)``, where `binds` says
that the object which it is looked up on is passed first; so are modules. A container that is there
is ``("box", letter, container)``; one that code makes ``("of", letter, kinds of its elements)`` or,
a tuple, ``("row", "L", (kinds, ...))``.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Iterable
from functools import partial
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

import numpy as np

from tracegrad.environment.facts import MISSING, PLAIN
from tracegrad.tensor import Tensor


class Doubt(Exception):
    """Code that may read an array; the message says where."""


Atom = Any
Kinds = frozenset[Any]

NONE: Kinds = frozenset()
T, K, C, A, M, L, O, V = (frozenset(letter) for letter in "TKCAMLOV")
ANY: Kinds = frozenset("TKCAMLOV")
SLICE: Kinds = frozenset({"slice"})  # plain, but it takes a container's part and no element

OPERATORS = frozenset(
    f"__{prefix}{name}__"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "divmod")
    for prefix in ("", "r", "i")
) | frozenset(
    f"__{name}__"
    for name in (
        *("and", "or", "xor", "lshift", "rshift", "neg", "pos", "abs", "invert", "index"),
        *("eq", "ne", "lt", "le", "gt", "ge", "float", "int", "rand", "ror"),
    )
)
"""Special methods with which an object decides what an operator gives."""

PLAIN_OF_TENSOR = frozenset({"shape", "ndim", "dtype", "size", "device", "requires_grad"})
GUARDED_OF_TENSOR = frozenset({"ndim", "dtype"})
TENSOR_OF_TENSOR = frozenset({"T", "mT", "real", "imag"})
PLAIN_FROM_TENSOR = frozenset({"item", "tolist", "dim", "__len__"})

OPERANDS = frozenset({
    "matmul", "dot", "vdot", "inner", "outer", "where", "clip", "einsum", "tensordot", "linear",
    "mse_loss",
})  # fmt: skip
"""Functions, besides ufuncs, whose arrays are operands, recorded as such."""

TO_TENSOR = OPERANDS | {
    "sum", "mean", "max", "min", "amax", "amin", "prod", "var", "std", "reshape", "transpose",
    "swapaxes", "moveaxis", "expand_dims", "squeeze", "ravel", "flatten", "broadcast_to", "cumsum",
    "trace", "norm", "relu", "gelu", "silu", "elu", "sigmoid", "softplus", "softmax",
    "log_softmax", "logsumexp", "cross_entropy", "layer_norm", "concatenate", "stack", "astype",
    "copy", "exp", "log", "sin", "cos", "tanh", "sqrt", "abs", "pow", "square", "detach", "clone",
}  # fmt: skip
"""Functions and methods of one result: a Tensor if an argument is one."""


CREATION = frozenset({
    "array", "asarray", "zeros", "ones", "full", "empty", "arange", "linspace", "eye", "identity",
    "zeros_like", "ones_like", "full_like",
})  # fmt: skip


def depth(found: Kinds) -> int:
    """How many containers made by code lie in one another."""
    made = [atom for atom in found if type(atom) is tuple]
    inner = [atom[2] for atom in made if atom[0] == "of"]
    inner += [union(atom[2]) for atom in made if atom[0] == "row"]
    return 1 + max(map(depth, inner)) if inner else 0


def kinds_of(value: Any) -> Kinds:
    """The kinds of a value that is there."""
    if value is MISSING:
        return NONE
    if isinstance(value, Tensor):
        return K
    if type(value) in PLAIN or isinstance(value, np.generic | np.dtype | enum.Enum):
        return C if not isinstance(value, enum.Enum) or isinstance(value, int | str) else O
    if isinstance(value, slice):
        return SLICE
    if isinstance(value, np.ndarray):
        return A
    if type(value) in (dict, set, frozenset):
        return frozenset({("box", "M", Same(value))})
    if type(value) in (list, deque) or (isinstance(value, tuple) and plain_class(type(value))):
        return frozenset({("box", "L", Same(value))})
    if type(value) is SimpleNamespace:
        return O
    if is_callable(value):
        return called(value)
    if type(value).__module__ != "builtins" and plain_class(type(value)):
        return O
    return V


def is_callable(value: Any) -> bool:
    """Functions, classes, modules: what is called, or holds what is called."""
    return isinstance(
        value,
        FunctionType
        | BuiltinFunctionType
        | MethodType
        | ModuleType
        | CodeType
        | np.ufunc
        | partial
        | type
        | type(np.mean),
    )


def called(value: Any, binds: bool = False) -> Kinds:
    """A callable that is known."""
    return frozenset({("call", Same(value), binds)})


class Same:
    """A value that equals itself alone, however it compares."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def plain_class(cls: type) -> bool:
    """No operators and no attribute access of the class's own; bases: object and tuple."""
    for owner in cls.__mro__:
        if owner in (object, tuple):
            continue
        if owner.__module__.partition(".")[0] in ("builtins", "numpy", "tracegrad"):
            return False
        if not (OPERATORS | {"__getattr__", "__getattribute__", "__setattr__"}).isdisjoint(
            name for name, made in vars(owner).items() if made is not None
        ) and not _generated(owner):
            return False
    return True


def _generated(cls: type) -> bool:
    """A dataclass has comparisons that compare its fields and nothing else that matters here."""
    names = {name for name, made in vars(cls).items() if made is not None} & OPERATORS
    return hasattr(cls, "__dataclass_fields__") and names <= {"__eq__", "__hash__"}


def union(parts: Iterable[Kinds]) -> Kinds:
    """What may be any of these."""
    return frozenset().union(*parts)
