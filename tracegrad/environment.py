"""A function and its static arguments enter; the Python state that it can read leaves as guards.

The rule is *names times reachable objects*: every name that the function's code, and the code of
the functions that it names, reads (globals, closure cells, attributes) is resolved on every object
that can be reached through such names, special methods (``__call__``, ``__getitem__``) included. No
flow of data is followed, so aliases and dispatch tables need no analysis; what is guarded in excess
costs a comparison, and at worst a trace that finds its program again.

Values are guarded by what they are: numbers, strings and other immutables by type and value (first
by identity, which is cheaper), containers by their elements, functions by their code, defaults and
cells, iterators and random generators by where they stand, everything else by identity. Arrays and
Tensors that the trace saw as operands are guarded by identity alone: what they hold is read at
every call. Other arrays within reach, which NumPy may have read on the way, are guarded by a sum
over their bytes.

The same snapshot tells effects: state that is not the same after a trace was changed by the
function, and such a function is not compiled, because a compiled call would not change it.
"""

from __future__ import annotations

import builtins
import dis
import functools
import pickle
import random
import re
import sys
import zlib
from array import array as PackedArray
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import is_, length_hint
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from codegen.load import load
from tracegrad.tensor import Tensor

LIMIT = 4096  # objects that one snapshot may reach
SMALL = 64  # elements of a container that are guarded one by one
IMMUTABLE = (int, float, complex, str, bytes, bool, type(None), range, type(Ellipsis))
LIBRARY = frozenset({"tracegrad", "codegen", "numpy", "scipy", "jax", "jaxlib", "black"})
NUMERIC = Tensor | np.ndarray | np.generic
CALLABLE = FunctionType | MethodType | BuiltinFunctionType | CodeType | np.ufunc
WRITERS = frozenset({"print", "input", "open", "exec", "eval", "setattr", "delattr", "breakpoint"})
"""Builtins with which a function does what a compiled call would not do again."""
BY_NAME = frozenset({"getattr", "hasattr", "vars", "attrgetter", "__dict__"})
"""With these, code reads attributes whose names it does not spell."""
UNCALLED = frozenset({"__init__", "__new__", "__post_init__", "__del__", "__repr__", "__str__"})
"""Special methods that using an instance does not call."""


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
    "tuple(holder)": lambda holder, name: tuple(holder),
    "all(map(is_, holder, name))": lambda holder, name: all(map(is_, holder, name)),
    "state_of(holder)": lambda holder, name: state_of(holder),
}
GLOBAL, ATTRIBUTE, CELL, LENGTH, ITEM, SAME, KEYS, EACH, STATE_OF = READS
BY_VALUE = frozenset({LENGTH, SAME, KEYS, EACH, STATE_OF})


def state_of(value: Any) -> Any:
    """What reading a stateful object of Python or NumPy moves: equal while it was not read."""
    match value:
        case np.random.Generator():
            return pickle.dumps(value.bit_generator.state)
        case np.random.BitGenerator():
            return pickle.dumps(value.state)
        case np.random.RandomState():
            return pickle.dumps(value.get_state(legacy=False))
        case random.Random():
            return value.getstate()
        case bytearray() | PackedArray():
            return bytes(value)
        case GeneratorType():
            return value.gi_frame and value.gi_frame.f_lasti
    return repr(value), length_hint(value, -1)


STATEFUL = (
    np.random.Generator,
    np.random.BitGenerator,
    np.random.RandomState,
    random.Random,
    bytearray,
    PackedArray,
    Iterator,
)


def _cell(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


class Environment:
    """The state that one function can read, as it is at one moment."""

    def __init__(
        self,
        function: Any,
        objects: Iterable[tuple[str, Any]] = (),
        foreign: Iterable[CodeType] = (),
    ) -> None:
        self.guards: dict[tuple[int, str, Any], Guard] = {}
        self.kept: list[Any] = []  # what guards refer to by id stays alive
        self.names: set[str] = set()  # attribute names that code reads or writes
        self.stored: set[str] = set()
        self.effects: list[str] = []
        self._by_name = False
        self._scopes: dict[type, Any] = {}  # the names of classes
        self._numbers: dict[bool, set[str]] | None = None
        self._objects: dict[int, tuple[Any, str]] = {}
        self._todo: list[tuple[Any, str]] = []
        self.foreign = frozenset(foreign)  # code that programs call, which reads for itself
        self._codes: set[CodeType] = set(self.foreign)
        inner = getattr(function, "__func__", function)
        if isinstance(function, MethodType):
            self._reach(function.__self__, "self")
        self._reach(inner, getattr(inner, "__name__", "function"))
        for text, value in objects:
            self._reach(value, text)
        self._settle()
        if len(self._objects) >= LIMIT:
            self.effects.append(f"one of the more than {LIMIT} objects that it can reach")
        self._held_before = [(*held, content(held[0])) for held in self._contents()]

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
                if done.get(key) != len(self.names) + self._by_name and _has_attributes(value)
            ]
            if not again:
                return
            for value, text in again:
                done[id(value)] = len(self.names) + self._by_name
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
            case list() | tuple() | deque():
                self._guard(LENGTH, value, None, f"len({text})")
                if len(value) > SMALL:
                    self._each(value, list(value), text)
                    return
                for i in range(len(value)):
                    self._guard(ITEM, value, i, f"{text}[{i}]")
            case dict():
                self._guard(KEYS, value, None, f"the keys of {text}")
                if len(value) > SMALL:
                    self._each(value, list(value.values()), text)
                    return
                for key in list(value):
                    self._guard(GLOBAL, value, key, f"{text}[{key!r}]")
            case set() | frozenset():
                copy = frozenset(value)
                self.guards[(id(value), SAME, copy)] = Guard(SAME, value, copy, True, text)
            case _ if isinstance(value, STATEFUL):
                self._guard(STATE_OF, value, None, text)
            case type():
                self._special_methods(value, lambda name: name in UNCALLED)
            case _:
                wrapped = getattr(value, "__wrapped__", None)
                if isinstance(wrapped, FunctionType):
                    self._reach(wrapped, text)
                if _has_attributes(value) and not isinstance(value, ModuleType):
                    self._guard_class(value, text)

    def _each(self, value: Any, items: list[Any], text: str) -> None:
        """A large container: one guard for the identities of all its elements."""
        held = value.values() if isinstance(value, dict) else value
        self.kept.append(items)
        self.guards[(id(value), EACH, None)] = Guard(EACH, held, items, True, text)
        for i, item in enumerate(items):
            self._reach_value(item, f"{text}[{i}]")

    def _guard_class(self, value: Any, text: str) -> None:
        """An instance: its class, and the special methods that Python calls without naming them."""
        cls = type(value)
        if _module_of(cls).partition(".")[0] in sys.stdlib_module_names - {"__main__"}:
            return
        key = (id(value), ATTRIBUTE, "__class__")
        self.guards[key] = Guard(ATTRIBUTE, value, "__class__", cls, f"the class of {text}")
        self._special_methods(cls, lambda name: name not in UNCALLED)

    def _special_methods(self, cls: type, wanted: Callable[[str], bool]) -> None:
        for owner in cls.__mro__:
            for name, method in list(vars(owner).items()):
                special = name.startswith("__") and name.endswith("__") and wanted(name)
                if special and isinstance(method, FunctionType) and not _library(method):
                    self._guard_in_class(cls, name)

    def _function(self, function: FunctionType, text: str) -> None:
        if _library(function):
            return
        self._guard(ATTRIBUTE, function, "__code__", f"the code of {text}")
        for name in ("__defaults__", "__kwdefaults__"):
            self._guard(ATTRIBUTE, function, name, f"the defaults of {text}")
        code, scope = function.__code__, function.__globals__
        read = cells_read(code, self.foreign)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
            if name not in read:
                continue
            self._guard(CELL, cell, None, name)
        self._code(code, scope)

    def _code(self, code: CodeType, scope: dict[str, Any]) -> None:
        if code in self._codes:
            return
        self._codes.add(code)
        read = read_names(code)
        self.names |= read.attributes
        self._by_name |= not BY_NAME.isdisjoint(read.globals | read.attributes)
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
        names = self.names
        if self._by_name and not isinstance(value, ModuleType | type):
            names = names | {name for name in getattr(value, "__dict__", ()) if type(name) is str}
        for name in sorted(names):
            if isinstance(value, ModuleType):
                if _held(value, name) or name in self.stored:
                    self._guard(ATTRIBUTE, value, name, f"{text}.{name}")
            elif isinstance(value, type):
                if hasattr(value, name):
                    self._guard_in_class(value, name)
            else:
                self._attribute(value, name, text)

    def _attribute(self, value: Any, name: str, text: str) -> None:
        """Guards an attribute of an instance: its own, or what its class makes of the name."""
        cls = type(value)
        own = getattr(value, "__dict__", MISSING)
        made = getattr(cls, name, MISSING)
        if isinstance(made, property):
            self._guard_in_class(cls, name)
        elif isinstance(made, functools.cached_property | FunctionType | MethodType):
            self._guard_in_class(cls, name)
            if own is not MISSING:
                self._guard(GLOBAL, own, name, f"{text}.{name}")
        elif _held(value, name) or name in self.stored:
            self._guard(ATTRIBUTE, value, name, f"{text}.{name}")

    def _guard_in_class(self, cls: type, name: str) -> None:
        """Guards what a class, or the first of its bases that has it, holds under a name."""
        for owner in cls.__mro__:
            if owner not in self._scopes:
                self._scopes[owner] = vars(owner)
            found = self._guard(GLOBAL, self._scopes[owner], name, f"{cls.__name__}.{name}")
            if found is MISSING:
                continue
            for inner in ("fget", "func", "__func__"):
                function = getattr(found, inner, None)
                if isinstance(function, FunctionType):
                    self._reach(function, f"{cls.__name__}.{name}")
            return

    # -- what it says later -----------------------------------------------------------------------

    def sources(self, holder: Any) -> Guard | None:
        """Where an array is read from, when that is one place: calls read it there again."""
        found = [guard for guard in self.guards.values() if guard.value is holder]
        return found[0] if len(found) == 1 and found[0].read in (GLOBAL, ATTRIBUTE, CELL) else None

    def fingerprints(self, captured: Iterable[Any], computed: bool) -> list[tuple[np.ndarray, int]]:
        """Reachable arrays that Python may have read by itself, with a sum over their bytes.

        Those that the trace saw as operands are read again by every call. They are summed as well
        where the trace met numbers or arrays that no name leads to (`computed`): NumPy made those
        on the way, perhaps from one of these.
        """
        seen = {id(holder) for holder in captured}
        arrays = {id(g.value): g.value for g in self.guards.values() if _is_array(g.value)}
        computed = computed or not seen <= {id(g.value) for g in self.guards.values()}
        return [(a, checksum(a)) for key, a in arrays.items() if computed or key not in seen]

    def explains(self, number: Any, weak: bool) -> bool:
        """True for a number that the code spells, or that is guarded: it stays what it is.

        What is not `weak` was a NumPy scalar, which code cannot spell.
        """
        if self._numbers is None:
            spelled = [c for code in self._codes for c in _constants(code)]
            guarded = [g.value for g in self.guards.values()]
            scalars = [v.item() for v in guarded if isinstance(v, np.generic)]
            self._numbers = {
                True: {repr(v) for v in (*spelled, *guarded) if isinstance(v, IMMUTABLE)},
                False: set(map(repr, scalars)),
            }
        return repr(number) in self._numbers[weak]

    def _contents(self) -> list[tuple[Any, str]]:
        """Arrays and Tensors within reach."""
        return [held for held in self._objects.values() if isinstance(held[0], np.ndarray | Tensor)]

    def written(self) -> str:
        """The first array or Tensor that holds something else than before; "" for none."""
        for holder, text, before in self._held_before:
            if content(holder) != before:
                return text
        return ""

    def changed(self, but: Iterable[Guard] = ()) -> Guard | None:
        """The first guard that no longer holds, by type and value; None while all hold."""
        skipped = {id(guard) for guard in but}
        for guard in self.guards.values():
            if id(guard) not in skipped and not same(guard.now(), guard.value):
                return guard
        return None

    def keep(self, kept: Environment) -> None:
        """Forgets every guard and effect that another snapshot has not."""
        self.guards = {key: guard for key, guard in self.guards.items() if key in kept.guards}
        self.effects, self._codes = kept.effects, kept._codes

    def check(self, but: Iterable[Guard] = (), arrays: Iterable[Any] = ()) -> Callable[[], bool]:
        """One generated function: True while every guard holds.

        Identity is compared first; what differs is compared by type and value, and its new identity
        is remembered. `but` are guards to leave out, `arrays` pairs of an array and its checksum.
        """
        skipped = {id(guard) for guard in but}
        guards = [guard for guard in self.guards.values() if id(guard) not in skipped]
        names: dict[str, Any] = {
            "MISSING": MISSING,
            "checksum": checksum,
            "is_": is_,
            "state_of": state_of,
        }
        conditions: list[str] = []
        for i, guard in enumerate(guards):
            names[f"value{i}"] = guard.value
            text = guard.expression(str(i), names)
            conditions.append(f"{text} {'==' if guard.read in BY_VALUE else 'is'} value{i}")
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
    if array.dtype.hasobject:
        return hash(tuple(map(id, array.flat)))
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def content(holder: Any) -> tuple[int, int]:
    """What an array or Tensor holds."""
    array = getattr(holder, "_array", holder)
    return (id(array), checksum(np.asarray(array)))


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _constants(code: CodeType) -> Iterator[Any]:
    """The constants of a code object, those in tuples one by one."""
    for constant in code.co_consts:
        if isinstance(constant, tuple):
            yield from constant
        yield constant


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
    if root in LIBRARY or (root in sys.stdlib_module_names and root != "__main__"):
        return True
    return _installed(root)


@functools.lru_cache(maxsize=1024)
def _installed(root: str) -> bool:
    """True for a package that was installed, not written here: its state is left to it."""
    file = getattr(sys.modules.get(root), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file


def _has_attributes(value: Any) -> bool:
    """Objects of the user's: modules, classes and instances, not arrays, numbers or libraries."""
    if isinstance(value, NUMERIC | CALLABLE | list | tuple | dict | set | frozenset | CellType):
        return False
    module = value.__name__ if isinstance(value, ModuleType) else _module_of(value)
    root = module.partition(".")[0]
    if isinstance(value, ModuleType | type) and root in sys.stdlib_module_names:
        return root == "__main__"
    if isinstance(value, ModuleType | type) and _installed(root):
        return False
    return root not in LIBRARY  # an instance of a library's class holds the user's data


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


def cells_read(code: CodeType, foreign: Iterable[CodeType]) -> set[str]:
    """The closure variables that a code object, or code inside it that is not foreign, reads."""
    names = {
        instruction.argval
        for instruction in dis.get_instructions(code)
        if "DEREF" in instruction.opname or instruction.opname == "LOAD_CLASSDEREF"
    }
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and constant not in foreign:
            names |= cells_read(constant, foreign)
    return names
