"""A function and its static arguments enter; the Python state that it can read leaves as guards.

The rule is *names times reachable objects*: every name that the function's code, and the code of the
functions that it names, reads (globals, closure cells, attributes) is resolved on every object that
can be reached through such names. No flow of data is followed, so aliases and dispatch tables need
no analysis; what is guarded in excess costs a comparison, and at worst a trace that finds its program
again.

Values are guarded by what they are: numbers, strings and other immutables by type and value (first by
identity, which is cheaper), small containers by their elements, functions by their code, defaults and
cells, everything else by identity. Arrays and Tensors are guarded by identity alone: what they hold is
read at every call.

The same snapshot tells effects: state that is not the same after a trace was changed by the function,
and such a function is not compiled, because a compiled call would not change it.
"""

from __future__ import annotations

import builtins
import dis
import functools
import random
import re
import sys
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from codegen.load import load
from tracegrad.tensor import Tensor

LIMIT = 4096  # objects that one snapshot may reach
SMALL = 64  # elements of a container that are guarded one by one
IMMUTABLE = (int, float, complex, str, bytes, bool, type(None), range, type(Ellipsis))
LIBRARY = frozenset({"tracegrad", "codegen", "numpy", "scipy", "jax", "jaxlib", "black"})
WRITERS = frozenset({"print", "input", "open", "exec", "eval", "setattr", "delattr", "breakpoint"})
"""Builtins with which a function does what a compiled call would not do again."""


class Missing:
    """What a name is that is not there."""

    def __repr__(self) -> str:
        return "missing"


MISSING = Missing()


@dataclass(frozen=True, slots=True)
class Guard:
    """One fact: reading `name` from `holder` gives `value`; `text` is how the user would say it."""

    read: str  # a Python expression over ``holder`` and ``name``
    holder: Any
    name: Any
    value: Any
    text: str

    def now(self) -> Any:
        """What the place holds at this moment."""
        try:
            return READS[self.read](self.holder, self.name)
        except Exception:
            return MISSING

    def expression(self, stem: str, names: dict[str, Any]) -> str:
        """The reading as Python over names that are added to `names`."""
        names[f"holder{stem}"] = self.holder
        if type(self.name) in (int, str):
            literal = repr(self.name)
        else:
            literal, names[f"name{stem}"] = f"name{stem}", self.name
        if self.value is not MISSING:
            if self.read == ATTRIBUTE:
                return f"holder{stem}.{self.name}"
            if self.read == GLOBAL:
                return f"holder{stem}[{literal}]"
        text = re.sub(r"\bname\b", lambda _: literal, self.read)
        return re.sub(r"\bholder\b", f"holder{stem}", text)


READS: dict[str, Callable[[Any, Any], Any]] = {
    "holder.get(name, MISSING)": lambda holder, name: holder.get(name, MISSING),
    "getattr(holder, name, MISSING)": lambda holder, name: getattr(holder, name, MISSING),
    "holder.cell_contents": lambda holder, name: _cell(holder),
    "len(holder)": lambda holder, name: len(holder),
    "holder[name]": lambda holder, name: holder[name],
    "holder == name": lambda holder, name: holder == name,
}
GLOBAL, ATTRIBUTE, CELL, LENGTH, ITEM, SAME = READS


def _cell(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


class Environment:
    """The state that one function can read, as it is at one moment."""

    def __init__(self, function: Any, objects: Iterable[tuple[str, Any]] = ()) -> None:
        self.guards: dict[tuple[int, str, Any], Guard] = {}
        self.kept: list[Any] = []  # what guards refer to by id stays alive
        self.names: set[str] = set()  # attribute names that code reads or writes
        self.stored: set[str] = set()
        self.effects: list[str] = []
        self._objects: dict[int, tuple[Any, str]] = {}
        self._todo: list[tuple[Any, str]] = []
        self._codes: set[CodeType] = set()
        inner = getattr(function, "__func__", function)
        if isinstance(function, MethodType):
            self._reach(function.__self__, "self")
        self._reach(inner, getattr(inner, "__name__", "function"))
        for text, value in objects:
            self._reach(value, text)
        self._settle()

    # -- the walk -------------------------------------------------------------------------------

    def _reach(self, value: Any, text: str) -> None:
        if id(value) not in self._objects and len(self._objects) < LIMIT:
            self._objects[id(value)] = (value, text)
            self.kept.append(value)
            self._todo.append((value, text))

    def _settle(self) -> None:
        """Resolves names on objects until nothing new is found."""
        done: dict[int, int] = {}
        while True:
            while self._todo:
                self._open(*self._todo.pop())
            again = [
                (value, text)
                for key, (value, text) in list(self._objects.items())
                if done.get(key) != len(self.names) and _has_attributes(value)
            ]
            if not again:
                return
            for value, text in again:
                done[id(value)] = len(self.names)
                self._attributes(value, text)

    def _guard(self, read: str, holder: Any, name: Any, text: str) -> Any:
        key = (id(holder), read, name)
        if key in self.guards:
            return self.guards[key].value
        value = READS[read](holder, name)
        self.guards[key] = Guard(read, holder, name, value, text)
        self.kept.append(holder)
        self._reach_value(value, text)
        return value

    def _reach_value(self, value: Any, text: str) -> None:
        if isinstance(value, IMMUTABLE) or value is MISSING:
            return
        self._reach(value, text)

    def _open(self, value: Any, text: str) -> None:
        """Guards what an object of this kind is made of."""
        match value:
            case FunctionType():
                self._function(value, text)
            case MethodType():
                self._reach(value.__self__, f"{text}.__self__")
                self._reach(value.__func__, text)
            case functools.partial():
                self._reach(value.func, f"{text}.func")
                self._reach(value.args, f"{text}.args")
                self._reach(value.keywords, f"{text}.keywords")
            case list() | tuple():
                self._guard(LENGTH, value, None, f"len({text})")
                for i in range(min(len(value), SMALL)):
                    self._guard(ITEM, value, i, f"{text}[{i}]")
            case dict():
                self._guard(LENGTH, value, None, f"len({text})")
                for key in list(value)[:SMALL]:
                    self._guard(GLOBAL, value, key, f"{text}[{key!r}]")
            case set() | frozenset():
                copy = frozenset(value)
                self.guards[(id(value), SAME, copy)] = Guard(SAME, value, copy, True, text)
            case type():
                pass  # its attributes are guarded by name
            case _:
                wrapped = getattr(value, "__wrapped__", None)
                if isinstance(wrapped, FunctionType):
                    self._reach(wrapped, text)

    def _function(self, function: FunctionType, text: str) -> None:
        if _library(function):
            return
        self._guard(ATTRIBUTE, function, "__code__", f"the code of {text}")
        for name in ("__defaults__", "__kwdefaults__"):
            self._guard(ATTRIBUTE, function, name, f"the defaults of {text}")
        code, scope = function.__code__, function.__globals__
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
            self._guard(CELL, cell, None, name)
        self._code(code, scope)

    def _code(self, code: CodeType, scope: dict[str, Any]) -> None:
        if code in self._codes:
            return
        self._codes.add(code)
        read = read_names(code)
        self.names |= read.attributes
        self.stored |= read.stored
        for name in sorted(read.globals):
            if name in scope or not hasattr(builtins, name):
                self._guard(GLOBAL, scope, name, name)
            elif name in WRITERS:
                self.effects.append(f"{name}() in {code.co_name}")
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._code(constant, scope)

    def _attributes(self, value: Any, text: str) -> None:
        """Guards the attributes of an object whose names the code mentions."""
        cls = type(value)
        for name in sorted(self.names):
            descriptor = getattr(cls, name, MISSING) if not isinstance(value, ModuleType) else MISSING
            if isinstance(descriptor, property | functools.cached_property):
                getter = getattr(descriptor, "fget", None) or getattr(descriptor, "func", None)
                if isinstance(getter, FunctionType):
                    self._reach(getter, f"{text}.{name}")
                continue
            if isinstance(descriptor, FunctionType) and name not in getattr(value, "__dict__", {}):
                self._guard(ATTRIBUTE, cls, name, f"{cls.__name__}.{name}")
                continue
            if _held(value, name) or name in self.stored:
                self._guard(ATTRIBUTE, value, name, f"{text}.{name}")

    # -- what it says later -----------------------------------------------------------------------

    def sources(self, holder: Any) -> Guard | None:
        """Where an array is read from, when that is one place: calls read it there again."""
        found = [guard for guard in self.guards.values() if guard.value is holder]
        return found[0] if len(found) == 1 and found[0].read in (GLOBAL, ATTRIBUTE, CELL) else None

    def fingerprints(self, captured: Iterable[Any]) -> list[tuple[np.ndarray, int]]:
        """Reachable arrays that the trace did not see as operands, with a sum over their bytes.

        When the trace captured an array that no name leads to, Python made it on the way, perhaps
        from one of these, by NumPy alone: it holds while they are as they were.
        """
        seen = [id(holder) for holder in captured]
        values = {id(g.value): g.value for g in self.guards.values()}
        if all(key in values for key in seen):
            return []
        arrays = [v for key, v in values.items() if isinstance(v, np.ndarray) and key not in seen]
        return [(array, checksum(array)) for array in arrays]

    def changed(self, but: Iterable[Guard] = ()) -> Guard | None:
        """The first guard that no longer holds, by type and value; None while all hold."""
        skipped = {id(guard) for guard in but}
        for guard in self.guards.values():
            if id(guard) not in skipped and not same(guard.now(), guard.value):
                return guard
        return None

    def check(self, but: Iterable[Guard] = (), arrays: Iterable[Any] = ()) -> Callable[[], bool]:
        """One generated function: True while every guard holds.

        Identity is compared first; what differs is compared by type and value, and its new identity
        is remembered. `but` are guards to leave out, `arrays` pairs of an array and its checksum.
        """
        skipped = {id(guard) for guard in but}
        guards = [guard for guard in self.guards.values() if id(guard) not in skipped]
        names: dict[str, Any] = {"MISSING": MISSING, "checksum": checksum}
        conditions: list[str] = []
        for i, guard in enumerate(guards):
            names[f"value{i}"] = guard.value
            text = guard.expression(str(i), names)
            conditions.append(f"{text} {'==' if guard.read in (LENGTH, SAME) else 'is'} value{i}")
        for i, (array, total) in enumerate(arrays):
            names[f"array{i}"] = array
            conditions.append(f"checksum(array{i}) == {total}")
        if not conditions:
            return lambda: True
        body = "\n        and ".join(conditions)
        quick = load(f"def unchanged():\n    return (\n        {body}\n    )\n", "unchanged", names)

        def unchanged() -> bool:
            try:
                if quick():
                    return True
            except (AttributeError, KeyError, IndexError, ValueError):
                return False
            now = [guard.now() for guard in guards]
            if not all(same(a, guard.value) for a, guard in zip(now, guards, strict=True)):
                return False
            if any(checksum(array) != total for array, total in arrays):
                return False
            quick.__globals__.update({f"value{i}": value for i, value in enumerate(now)})
            return True

        return unchanged


def random_state() -> tuple[Any, ...]:
    """The global random states of Python and NumPy: drawing from them moves these."""
    state: Any = np.random.get_state(legacy=False)
    return random.getstate(), state["state"]["pos"], state["gauss"], state["state"]["key"].tobytes()


def checksum(array: np.ndarray) -> int:
    """A sum over the bytes of an array."""
    return zlib.crc32(np.ascontiguousarray(array).data)


def same(a: Any, b: Any) -> bool:
    """Equal as a guarded value: identical, or immutables of one type and value."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return repr(a) == repr(b)
    if isinstance(a, IMMUTABLE):
        return bool(a == b)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.generic):
        return a.tobytes() == b.tobytes()
    if isinstance(a, MethodType):
        return a.__self__ is b.__self__ and a.__func__ is b.__func__
    return False


def _library(function: FunctionType) -> bool:
    root = (getattr(function, "__module__", None) or "").partition(".")[0]
    return root in LIBRARY or (root in sys.stdlib_module_names and root != "__main__")


def _has_attributes(value: Any) -> bool:
    """Objects of the user's: modules, classes and instances, not arrays, numbers or libraries."""
    if isinstance(value, Tensor | np.ndarray | np.generic | BuiltinFunctionType | np.ufunc | CodeType):
        return False
    if isinstance(value, FunctionType | MethodType | list | tuple | dict | set | frozenset | CellType):
        return False
    module = value.__name__ if isinstance(value, ModuleType) else _module_of(value)
    root = module.partition(".")[0]
    return root not in LIBRARY and root not in sys.stdlib_module_names or root == "__main__"


def _module_of(value: Any) -> str:
    cls = value if isinstance(value, type) else type(value)
    return getattr(cls, "__module__", None) or "builtins"


def _held(value: Any, name: str) -> bool:
    """True when reading the attribute runs no code of the user's."""
    own = getattr(value, "__dict__", {})
    if name in own:
        return True
    slot = getattr(type(value), name, MISSING)
    if slot is MISSING:
        return False
    return not callable(slot) or isinstance(slot, type)


@dataclass(frozen=True, slots=True)
class Names:
    """What a code object mentions."""

    globals: frozenset[str]
    attributes: frozenset[str]
    stored: frozenset[str]


@functools.lru_cache(maxsize=4096)
def read_names(code: CodeType) -> Names:
    """The globals and attributes that a code object reads or stores."""
    scopes: set[str] = set()
    attributes: set[str] = set()
    stored: set[str] = set()
    for instruction in dis.get_instructions(code):
        name = instruction.argval
        match instruction.opname:
            case "LOAD_GLOBAL" | "LOAD_NAME" | "STORE_GLOBAL" | "DELETE_GLOBAL":
                scopes.add(name)
            case "LOAD_ATTR" | "LOAD_METHOD" | "LOAD_SUPER_ATTR":
                attributes.add(name)
            case "STORE_ATTR" | "DELETE_ATTR":
                attributes.add(name)
                stored.add(name)
    return Names(frozenset(scopes), frozenset(attributes), frozenset(stored))


