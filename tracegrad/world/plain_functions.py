"""Tells functions that give the same run as they are, on the caller's own arrays.

The machine runs a function without a program on Tensors, which takes tens of times as long as plain
Python. Most functions on arrays need none of it: they read no Tensor, ask nothing of arrays that
NumPy's do not have, and call nothing that tracegrad computes in another way. That is known where
all code that they may run is seen: the function's own, and what can be reached from it and from its
arguments. What is not understood is not plain.
"""

from __future__ import annotations

import dis
import sys
from collections import OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, partial
from io import IOBase
from logging import Logger
from random import Random
from threading import local
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GeneratorType,
    MappingProxyType,
    MethodType,
    ModuleType,
)
from typing import Any
from weakref import ReferenceType, WeakKeyDictionary, WeakSet, WeakValueDictionary

import numpy as np

from tracegrad.config.compile_mode import CHOSEN
from tracegrad.machine.world_protocol import ABSENT, attributes_of, type_dict, type_mro
from tracegrad.runtime.weak_proxies import is_gone
from tracegrad.tensors.tensor import Tensor
from tracegrad.world import native_tables

MOST = 1_000  # objects looked at for a call
ROWS = frozenset({
    *("sum", "mean", "average", "std", "var", "norm", "reduce"),
    *("nansum", "nanmean", "nanstd", "nanvar"),
})  # fmt: skip
"""What adds in another order than NumPy does, if it adds along an axis."""
OTHERWISE = frozenset({
    *("einsum", "cov", "corrcoef", "vander", "eig", "eigvals", "fsum", "fmean", "isreal"),
    *("poly", "histogram2d", "histogramdd", "nanquantile", "fft"),
})  # fmt: skip
"""What gives other bits, types or memory orders than NumPy and Python do, or what may."""
_OF_TORCH = frozenset({"dim", "keepdim", "dims"})
"""Keywords that methods of Tensors take, and those of arrays do not."""


@dataclass(frozen=True)
class Reading:
    """Attributes that code reads one after the other, of a name or (None) of what it computes."""

    root: str | None
    names: tuple[str, ...]
    given: int | None  # how many arguments the last of them is called with; None: it is not called

    @property
    def called(self) -> str:
        """The method that is called, if one is."""
        return "" if self.given is None else self.names[-1]


@dataclass(frozen=True)
class Facts:
    """What the text of one code object says."""

    plain: bool  # as far as its constants tell
    readings: tuple[Reading, ...]
    names: tuple[str, ...]  # globals and variables around it that it reads otherwise


_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})


@lru_cache(maxsize=512)
def facts_of(code: CodeType) -> Facts:
    """What a code object reads by name, with that of functions which it makes."""
    readings: list[Reading] = []
    names: list[str] = []
    plain = not any(_is_strange(x) for x in code.co_consts)
    instructions = list(dis.get_instructions(code))
    root: str | None = None
    path: list[str] = []
    for i, one in enumerate(instructions):
        follows = i + 1 < len(instructions) and instructions[i + 1].opname in _ATTRIBUTES
        if one.opname in _LOADS and follows:
            root, path = one.argval, []
        elif one.opname in _LOADS:
            names.append(one.argval)
        elif one.opname in _ATTRIBUTES:
            path.append(one.argval)
            if not follows:
                readings.append(Reading(root, tuple(path), _arguments(instructions[i:])))
                root, path = None, []
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found = facts_of(inner)
            plain = plain and found.plain
            readings += found.readings
            names += found.names
    return Facts(plain, tuple(readings), tuple(names))


def _is_strange(x: Any) -> bool:
    """Whether a constant tells of what arrays of NumPy's are not, or of complex numbers."""
    return isinstance(x, complex) or (type(x) is tuple and not _OF_TORCH.isdisjoint(x))


def _arguments(instructions: Sequence[Any]) -> int | None:
    """How many arguments the call has whose function the first instruction reads.

    -1 if that is not known; None where there is no call.
    """
    at = instructions[0].positions
    if at is None or at.col_offset is None:
        return -1
    for one in instructions[1:]:
        where = one.positions
        begins = where is not None and where[0] == at[0] and where[2] == at[2]
        if begins and one.opname.startswith("CALL"):
            return one.arg if one.opname == "CALL" else -1
    return None


def runs_as_it_is(function: Any, values: Sequence[Any]) -> bool:
    """Whether a function is plain, with these arguments."""
    todo, seen = [function, *values], dict[int, Any]()
    while todo:
        x = todo.pop()
        if id(x) in seen or type(x) in _NUMBERS:
            continue
        if len(seen) == MOST or is_gone(x):
            return False
        seen[id(x)] = x
        held = _held(x)
        if held is None:
            return False
        todo += held
    return True


_NUMBERS = frozenset(
    {bool, int, float, str, bytes, type(None), type(...), slice, range, type(ABSENT)}
)
_CONTAINERS = (list, tuple, set, frozenset, deque)
_TABLES = frozenset({dict, OrderedDict, defaultdict})


def _held(x: Any) -> list[Any] | None:
    """What something holds that the function may come to; None for what is not plain."""
    kind = type(x)
    if kind is np.ndarray or isinstance(x, np.generic):
        return [] if x.dtype.kind in "biuf" else None
    if isinstance(x, FunctionType):
        return _held_by_function(x)
    if isinstance(x, BuiltinFunctionType):
        bound = [x.__self__] if not isinstance(x.__self__, ModuleType | type | None) else []
        return bound if _is_known(x.__module__ or "builtins") and _is_alike(x) else None
    if kind is MethodType:
        return [x.__func__, x.__self__]
    if kind is partial:
        return [x.func, *x.args, *x.keywords.values()]
    if kind is CellType:
        return [] if x == CellType() else [x.cell_contents]
    if kind in _TABLES:
        return [*x.keys(), *x.values()]
    if kind in _CONTAINERS:
        return [*x]
    if isinstance(x, ModuleType):
        return [] if _is_known(x.__name__) else None
    if isinstance(x, type):
        return _held_by_class(x)
    return _held_by_object(x)


def _is_known(module: str) -> bool:
    """Whether a module is NumPy's or Python's own, whose functions tracegrad calls as they are."""
    root = module.partition(".")[0]
    if root == "__main__" or root in _OTHERS:
        return False
    return root == "numpy" or root in sys.stdlib_module_names


def _is_alike(x: Any) -> bool:
    """Whether a function of such a module gives what it gives to tracegrad, whoever calls it."""
    name = getattr(x, "__name__", "") if callable(x) else ""
    return name not in OTHERWISE and (name not in ROWS or x is sum)


def _held_by_function(function: FunctionType) -> list[Any] | None:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    names = {name: x.cell_contents for name, x in cells.items() if x != CellType()}
    module = function.__globals__.get("__name__") or ""
    if module.partition(".")[0] in _OTHERS:
        return None
    if _is_known(module):
        return [*names.values(), *vars(function).values()] if _is_alike(function) else None
    facts = facts_of(function.__code__)
    if not facts.plain:
        return None
    held = [*names.values(), *(function.__defaults__ or ())]
    held += (function.__kwdefaults__ or {}).values()
    held += [_named(function, names, name) for name in facts.names]
    for reading in facts.readings:
        found = _read(reading, function, names)
        if found is None:
            return None
        held += found
    return held


def _named(function: FunctionType, names: dict[str, Any], name: str) -> Any:
    """What a name stands for in a function, if not for a variable of its own."""
    return names.get(name, function.__globals__.get(name, ABSENT))


def _read(reading: Reading, function: FunctionType, names: dict[str, Any]) -> list[Any] | None:
    """What code comes to by the attributes that it reads; None for what is not plain."""
    x = ABSENT if reading.root is None else _named(function, names, reading.root)
    for i, name in enumerate(reading.names):
        if not isinstance(x, ModuleType):
            known = any(_is_of_tensors(other, reading.called) for other in reading.names[i:])
            return None if known or _adds_rows(reading) else [x]
        x = vars(x).get(name, ABSENT)
    if isinstance(x, ModuleType) or getattr(x, "__name__", "") not in ROWS:
        return [x]
    return [] if _is_known(x.__module__ or "") and reading.given == 1 else None


def _adds_rows(reading: Reading) -> bool:
    """Whether a method adds along an axis, as far as is known."""
    *names, last = reading.names
    return not ROWS.isdisjoint(names) or (last in ROWS and reading.given != 0)


@lru_cache(maxsize=1024)
def _is_of_tensors(name: str, called: str) -> bool:
    """Whether Tensors have such an attribute, or a method that is called, and arrays do not."""
    if name in OTHERWISE:
        return True
    found = None if hasattr(np.ndarray, name) else getattr(Tensor, name, None)
    return found is not None and (name == called or not callable(found))


def _held_by_class(cls: type) -> list[Any] | None:
    """The methods of a class of the user's."""
    found: list[Any] = []
    for base in type_mro(cls):
        if _is_known(base.__module__):
            continue
        if base.__module__.partition(".")[0] in _OTHERS:
            return None
        found += map(_unwrapped, type_dict(base).values())
    return found


_OTHERS = native_tables.LIBRARY - {"numpy"} | {
    *("threading", "_thread", "concurrent", "multiprocessing", "asyncio", "queue", "_queue"),
    *("pickle", "_pickle", "marshal", "shelve", "ctypes", "fractions", "decimal"),
}
"""Libraries that compute for tracegrad in another way, or that it gives no values to."""


def _unwrapped(x: Any) -> Any:
    """A method as the function that runs."""
    if isinstance(x, staticmethod | classmethod):
        return x.__func__
    return x.fget if isinstance(x, property) else getattr(x, "func", x)


def _held_by_object(x: Any) -> list[Any] | None:
    kind = type(x)
    if isinstance(x, GeneratorType) or hasattr(kind, "__next__"):
        return None
    if isinstance(x, _INERT):
        return [] if _is_alike(x) else None
    if isinstance(x, _HIDING):
        return None
    held = [*attributes_of(x).values(), *_items(x)]
    if _is_known(kind.__module__):
        return held if _is_alike(x) else None
    if kind.__module__.startswith("tracegrad."):
        return _held_by_compiled(x)
    if any(type_dict(base).get("__slots__") for base in type_mro(kind)):
        return None
    return [kind, *held]


_INERT = (np.ufunc, np.dtype, np.random.Generator, np.random.RandomState, Random, Logger, IOBase)
"""Objects that hold nothing of the user's, or nothing that a function computes with."""
_HIDING: tuple[type, ...] = (
    *(ReferenceType, WeakKeyDictionary, WeakValueDictionary, WeakSet, ContextVar, local),
    *(complex, np.ndarray, UserDict, UserList),
)
"""Objects that do not tell what they hold, or arrays and numbers that are none of those above."""


def _held_by_compiled(x: Any) -> list[Any] | None:
    """Whatever such a function computes for NumPy is what it computes here."""
    known = attributes_of(x)
    transform = known.get("_transform")
    if getattr(transform, "kind", "") not in ("compile", "grad", "value_and_grad"):
        return None
    return None if CHOSEN[known["_backend"]].target == "jax" else [known["_function"]]


def _items(x: Any) -> list[Any]:
    """What a container of a class of the user's holds."""
    if isinstance(x, dict):
        return [*dict.keys(x), *dict.values(x)]
    if isinstance(x, MappingProxyType):
        return [*x.values()]
    kind = next((kind for kind in _CONTAINERS if isinstance(x, kind)), None)
    return [] if kind is None else [*kind.__iter__(x)]
