"""A function and its static arguments enter; the state that it can read, as it is now, leaves.

The rule is *names times reachable objects*: every name that the function's code, and the code of
the functions that it names, reads (globals, closure cells, attributes) is resolved on every object
that can be reached through such names, special methods (``__call__``, ``__getitem__``) included. No
flow of data is followed, so aliases and dispatch tables need no analysis; what is guarded in excess
costs a comparison, and at worst a trace that finds its program again.

Values are guarded by what they are: numbers, strings and other immutables by type and value (first
by identity, which is cheaper), containers by their elements, functions by their code, defaults and
cells, iterators and random generators by where they stand, everything else by identity. Arrays and
Tensors that the trace saw as operands are guarded by their type alone: what they hold is read at
every call. Other arrays within reach, which NumPy may have read on the way, are guarded by their
contents.

The same snapshot tells effects: state that is not the same after a trace was changed by the
function, and a compiled call would not change it; stored Tensors alone it can store again.
"""

from __future__ import annotations

import builtins
import enum
import functools
import importlib.util
import operator
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

import numpy as np

from tracegrad import dtypes
from tracegrad.environment import outside
from tracegrad.environment.check import check, without
from tracegrad.environment.facts import (
    ATTRIBUTE,
    CELL,
    CLASS,
    EACH,
    GLOBAL,
    ITEM,
    KEYS,
    LENGTH,
    MISSING,
    PLAIN,
    READS,
    SAME,
    STATE_OF,
    STATEFUL,
    Guard,
    content,
    held_arrays,
    is_array,
    same,
)
from tracegrad.environment.names import cells_read, line_reading, nested, read_names
from tracegrad.environment.reading import BARE, RAW, why
from tracegrad.environment.stores import Store, store_of, stores_of
from tracegrad.tensor import Tensor

LIMIT = 4096  # objects that one snapshot may reach
SMALL = 64  # elements of a container that are guarded one by one
LIBRARY = frozenset({"tracegrad", "codegen", "numpy", "scipy", "jax", "jaxlib", "black"})
HOLDING = ("tracegrad.optim", "tracegrad.nn")
"""Modules of tracegrad's own whose objects hold what the user put there."""
NUMERIC = Tensor | np.ndarray | np.generic
CALLABLE = FunctionType | MethodType | BuiltinFunctionType | CodeType | np.ufunc
CONTAINERS = frozenset({list, tuple, dict, set, frozenset, deque, MappingProxyType})
UNCALLED = frozenset({"__init__", "__new__", "__post_init__", "__del__", "__init_subclass__"})
"""Special methods that using an instance does not call."""
UNREAD = frozenset({"__doc__", "__module__", "__qualname__", "__dict__", "__weakref__"})
"""Special names of classes that mean nothing to a computation."""
MAKERS = frozenset({"type", "__class__", "replace", "copy", "deepcopy", "__new__"})
"""With these, code may make another object of an object's class."""


class Environment:
    """The state that one function can read, as it is at one moment."""

    def __init__(
        self,
        function: Any,
        objects: Iterable[tuple[str, Any]] = (),
        foreign: Iterable[CodeType] = (),
    ) -> None:
        self.guards: dict[tuple[int, str, Any], Guard] = {}
        self._holding: dict[int, list[Guard]] | None = None  # guards by the id of what they hold
        self._in_tuples: set[int] = set()  # ids of what is held by tuples
        self.kept: list[Any] = []  # what guards refer to by id stays alive
        self.names: set[str] = set()  # attribute names that code reads or writes
        self.stored: set[str] = set()
        self.effects: list[str] = []
        self.function = function
        self._by_name = self._makes = self._super = self._identities = self._texts = False
        self.by_identity = False  # code may ask whether two arrays are one: `self.a is self.b`
        self.by_length = False  # ... or for the shape of a Tensor
        self.by_content = False  # ... or for the array in a Tensor
        self._bare: set[str] = set()  # names that are read but not called with a constant
        self._scopes: dict[type, Any] = {}  # the names of classes
        self._classes: dict[int, type] = {}  # and the classes of such names, by their id
        self._objects: dict[int, tuple[Any, str]] = {}
        self._todo: list[tuple[Any, str]] = []
        self.foreign = frozenset(foreign)  # code that programs call, which reads for itself
        self._codes: set[CodeType] = set(self.foreign)
        self.scopes: dict[CodeType, list[dict[str, Any]]] = {}  # globals of each code
        self._modules: dict[str, ModuleType] = {}  # of the standard library, by what code says
        inner = getattr(function, "__func__", function)
        if isinstance(function, MethodType):
            self._reach(function.__self__, "self")
        self._reach(inner, getattr(inner, "__name__", "self"))
        for text, value in objects:
            self._reach(value, text)
        self._guard(ITEM, dtypes._default, 0, "the default dtype")
        self._settle()
        self._look_outside()
        self._held_before = [(*held, content(held[0])) for held in self._contents()]

    # -- the walk -------------------------------------------------------------------------------

    def _reach(self, value: Any, text: str) -> None:
        if type(value) in PLAIN or value is MISSING:
            return
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
            state = 8 * len(self.names) + 4 * self._by_name + 2 * self._makes + self._super
            again = [
                (value, text)
                for key, (value, text) in list(self._objects.items())
                if done.get(key) != state and _has_attributes(value)
            ]
            if not again:
                return
            for value, text in again:
                done[id(value)] = state
                self._attributes(value, text)

    def _guard(self, read: str, holder: Any, name: Any, text: str) -> Any:
        key = (id(holder), read, name)
        if key in self.guards:
            return self.guards[key].value
        value = READS[read](holder, name)
        self.guards[key] = Guard(read, holder, name, value, text)
        self.kept.append(holder)
        self._reach(value, text)
        return value

    def _open(self, value: Any, text: str) -> None:
        """Guards what an object of this kind is made of."""
        match value:
            case FunctionType():
                self._function(value, text)
            case MethodType() | BuiltinFunctionType():
                if not isinstance(value.__self__, ModuleType):
                    self._reach(value.__self__, f"{text}.__self__")
                self._reach(getattr(value, "__func__", None), text)
            case functools.partial():
                self._reach(value.func, f"{text}.func")
                self._reach(value.args, f"{text}.args")
                self._reach(value.keywords, f"{text}.keywords")
            case operator.attrgetter() | operator.methodcaller():
                self._by_name = True
            case list() | deque():
                self._guard(LENGTH, value, None, f"len({text})")
                if len(value) > SMALL:
                    self._each(value, list(value), text)
                else:
                    for i in range(len(value)):
                        self._guard(ITEM, value, i, f"{text}[{i}]")
            case tuple():  # never changes: its identity is guarded by what holds it
                for i, item in enumerate(value):
                    self._reach(item, f"{text}[{i}]")
            case dict() | MappingProxyType():
                self._guard(KEYS, value, None, f"the keys of {text}")
                if len(value) > SMALL:
                    self._each(value, list(value.values()), text)
                else:
                    for key in list(value):
                        self._guard(GLOBAL, value, key, f"{text}[{key!r}]")
            case set():
                copy = frozenset(value)
                self.guards[(id(value), SAME, copy)] = Guard(SAME, value, copy, True, text)
            case _ if isinstance(value, _VIEWS):
                self._reach(value.mapping, text)
            case type():
                self._class(value)
            case ModuleType():
                if not _has_attributes(value):
                    self._modules.setdefault(text, value)
        if isinstance(value, STATEFUL):
            self._guard(STATE_OF, value, None, text)
        wrapped = None if isinstance(value, ModuleType) else getattr(value, "__wrapped__", None)
        if isinstance(wrapped, FunctionType):
            self._reach(wrapped, text)
        if _has_attributes(value) and not isinstance(value, ModuleType | type):
            self._instance(value, text)

    def _each(self, value: Any, items: list[Any], text: str) -> None:
        """A large container: one guard for the identities of all its elements."""
        held = value.values() if isinstance(value, dict) else value
        self.kept.append(items)
        self.guards[(id(value), EACH, None)] = Guard(EACH, held, items, True, text)
        for i, item in enumerate(items):
            self._reach(item, f"{text}[{i}]")

    def _instance(self, value: Any, text: str) -> None:
        """An instance: its class, and the special methods that Python calls without naming them."""
        cls = type(value)
        if _is_standard(cls):
            return
        self.guards[id(value), CLASS, None] = Guard(CLASS, value, None, cls, f"type({text})")
        self._special_methods(cls, lambda name: name not in UNCALLED)
        self._guard_bases(cls)
        for owner in cls.__mro__:
            if not _is_standard(owner) and not _installed_class(owner):
                self._guard(LENGTH, self._scope_of(owner), None, f"the names of {owner.__name__}")

    def _class(self, cls: type) -> None:
        if _is_standard(cls) or _installed_class(cls):
            return
        self._special_methods(cls, lambda name: name in UNCALLED)
        self._guard_bases(cls)
        if type(cls) is not type and not _is_standard(type(cls)):
            self._special_methods(type(cls), lambda name: True)

    def _guard_bases(self, cls: type) -> None:
        if len(cls.__mro__) > 2:
            key = (id(cls), ATTRIBUTE, "__mro__")
            self.guards[key] = Guard(
                ATTRIBUTE, cls, "__mro__", cls.__mro__, f"{cls.__name__}.__mro__"
            )

    def _special_methods(self, cls: type, wanted: Callable[[str], bool]) -> None:
        for owner in cls.__mro__:
            for name, method in list(vars(owner).items()):
                special = name.startswith("__") and name.endswith("__") and name not in UNREAD
                if not special or not wanted(name):
                    continue
                inner = getattr(method, "__func__", method)
                if isinstance(inner, FunctionType) and not _library(inner):
                    self._guard_in_class(cls, name)

    def _function(self, function: FunctionType, text: str) -> None:
        if _library(function):
            return
        self._guard(ATTRIBUTE, function, "__code__", f"the code of {text}")
        if vars(function):
            self._reach(vars(function), f"{text}.__dict__")
        code, scope = function.__code__, function.__globals__
        for name in ("__defaults__", "__kwdefaults__"):  # without any, calls gave all arguments
            if getattr(function, name) is not None:
                self._guard(ATTRIBUTE, function, name, f"the defaults of {text}")
        read = cells_read(code, self.foreign)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
            if name in read:
                self._guard(CELL, cell, None, name)
        if code not in self.foreign:
            self._code(code, scope)

    def _code(self, code: CodeType, scope: dict[str, Any]) -> None:
        scopes = self.scopes.setdefault(code, [])
        if any(known is scope for known in scopes):
            return
        scopes.append(scope)
        self._codes.add(code)
        read = read_names(code)
        self._bare |= read.bare
        self.names |= read.attributes
        self._by_name |= read.by_name
        self._identities |= read.identities
        self._texts |= read.texts
        for name, member in read.members:
            if scope.get(name) is np and member in outside.FILES:
                self.effects.append(f"{name}.{member}()")
        self._makes |= not MAKERS.isdisjoint(read.globals | read.attributes)
        self._super |= "super" in read.globals
        self.stored |= read.stored
        for name in sorted(read.globals):
            found = self._guard(GLOBAL, scope, name, name)
            if found is MISSING and name in vars(builtins):
                self._guard(GLOBAL, vars(builtins), name, name)
                if name in outside.WRITERS:
                    self.effects.append(f"{name}() in {code.co_name}")
        if not _OF_THE_SYSTEM.isdisjoint(read.attributes | read.globals):
            self._reach(os.environ, "os.environ")
        for name, level in sorted(read.modules):
            self._imported(name, level, scope)
        for inner in nested(code):
            if inner not in self.foreign:
                self._code(inner, scope)

    def _imported(self, name: str, level: int, scope: dict[str, Any]) -> None:
        """An import statement inside a function."""
        if level:
            name = importlib.util.resolve_name("." * level + name, scope.get("__package__") or "")
        module = sys.modules.get(name)
        if module is None:
            self.effects.append(f"the first import of {name}")
        parts = name.split(".")
        for i in range(1, len(parts) + 1):  # `import a.b` binds a
            self._reach(sys.modules.get(".".join(parts[:i])), ".".join(parts[:i]))

    # -- attributes -------------------------------------------------------------------------------

    def _attributes(self, value: Any, text: str) -> None:
        """Guards the attributes of an object whose names the code mentions."""
        names = self.names
        if isinstance(value, ModuleType):
            for name in sorted(names):
                if name in vars(value) or name in self.stored:
                    self._guard(ATTRIBUTE, value, name, f"{text}.{name}")
            return
        if isinstance(value, type):
            for name in sorted(names):
                if _in_class(value, name) is not MISSING:
                    self._guard_in_class(value, name)
                elif type(value) is not type and _in_class(type(value), name) is not MISSING:
                    self._guard_in_class(type(value), name)
            return
        own = getattr(value, "__dict__", {})
        if self._by_name or not _is_all_users(type(value)):
            names = names | {name for name in own if type(name) is str} | _slots(type(value))
        for name in sorted(names):
            self._attribute(value, name, text)
        if self._makes:
            self._reach(type(value), type(value).__name__)

    def _attribute(self, value: Any, name: str, text: str) -> None:
        """Guards an attribute of an instance: its own, or what its class makes of the name."""
        cls = type(value)
        own: Any = getattr(value, "__dict__", MISSING)
        made = _in_class(cls, name)
        text = f"{text}.{name}"
        if isinstance(made, MemberDescriptorType) or (
            isinstance(made, GetSetDescriptorType) and not name.startswith("__")
        ):
            self._guard(ATTRIBUTE, value, name, text)
        elif made is not MISSING and hasattr(type(made), "__get__"):
            self._guard_in_class(cls, name)
            if own is not MISSING and not isinstance(made, property):
                self._guard(GLOBAL, own, name, text)
        elif isinstance(_in_class(cls, "__getattribute__"), FunctionType):
            if own is not MISSING and name in own:  # reading the attribute may run code
                self._guard(GLOBAL, own, name, text)
            elif made is not MISSING:
                self._guard_in_class(cls, name)
        elif made is not MISSING or (own is not MISSING and name in own) or name in self.stored:
            self._guard(ATTRIBUTE, value, name, text)

    def _guard_in_class(self, cls: type, name: str) -> None:
        """Guards what a class, or the first of its bases that has it, holds under a name.

        Where the code says ``super()``, the later ones are within reach as well.
        """
        for owner in cls.__mro__:
            if _is_standard(owner):
                continue
            found = self._guard(GLOBAL, self._scope_of(owner), name, f"{owner.__name__}.{name}")
            if found is MISSING:
                continue
            if isinstance(found, classmethod):
                self._reach(cls, cls.__name__)  # an instance may shadow what `cls` has
            for inner in ("fget", "fset", "func", "__func__"):
                function = getattr(found, inner, None)
                if isinstance(function, FunctionType):
                    self._reach(function, f"{owner.__name__}.{name}")
            if not self._super:
                return

    def _scope_of(self, cls: type) -> Any:
        if cls not in self._scopes:
            self._scopes[cls] = scope = vars(cls)
            self._classes[id(scope)] = cls
        return self._scopes[cls]

    # -- effects --------------------------------------------------------------------------------

    def _look_outside(self) -> None:
        """Notes what no guard can hold: clocks, files, fresh randomness, hidden state."""
        if len(self._objects) >= LIMIT:
            self.effects.append(f"one of the more than {LIMIT} objects that it can reach")
        for text, module in self._modules.items():
            self.effects.append(outside.of_module(module, self.names, self._bare, text))
        for value, text in list(self._objects.values()):
            if not isinstance(value, ModuleType | Tensor):
                self.effects.append(outside.of_value(value, self.names, self._bare, text))
        self.effects = [effect for effect in self.effects if effect]

    def stores(self) -> list[Store]:
        """After a trace: the places that now hold an array or Tensor that they did not hold.

        A program can give these values as outputs, and every call write them there again. It
        serves only if there is no `effect` besides.
        """
        return stores_of(self.guards.values(), self._classes)[0]

    def states_of(self, sources: Iterable[Any]) -> list[Guard]:
        """Where generators of bits stand that a program draws from: it moves them on every call.

        None where code may read that state as well.
        """
        if not {"state", "bit_generator"}.isdisjoint(self.names):
            return []
        drawn = set(map(id, sources))
        states = [guard for guard in self.guards.values() if guard.read == STATE_OF]
        return [g for g in states if id(getattr(g.holder, "bit_generator", g.holder)) in drawn]

    def leave_out(self, sources: Sequence[Any]) -> None:
        """Forgets where these generators stood: the trace recorded what was drawn from them."""
        drawn = set(map(id, self.states_of(sources)))
        self.guards = {key: g for key, g in self.guards.items() if id(g) not in drawn}
        self._holding = None

    def place_of(self, guard: Guard) -> tuple[int, str, Any]:
        """What tells the places of stores apart."""
        return store_of(guard, guard.value, self._classes).place

    def effect(self) -> str:
        """After a trace: the first thing that the function did besides computing and storing."""
        other = stores_of(self.guards.values(), self._classes)[1]
        return next(iter(self.effects), "") or (other.text if other else self.written())

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

    # -- what it says of a trace ------------------------------------------------------------------

    def sources(self, holder: Any) -> Guard | None:
        """Where an array is read from, when that is one place: calls read it there again."""
        if self._holding is None:
            self._holding = {}
            for guard in self.guards.values():
                self._holding.setdefault(id(guard.value), []).append(guard)
            tuples = (value for value, _ in self._objects.values() if isinstance(value, tuple))
            self._in_tuples = {id(item) for value in tuples for item in value}
        found = self._holding.get(id(holder), [])
        if len(found) != 1 or id(holder) in self._in_tuples:
            return None
        in_list = found[0].read == ITEM and type(found[0].holder) is list
        return found[0] if in_list or found[0].read in (GLOBAL, ATTRIBUTE, CELL) else None

    def called(self, holder: Any) -> str | None:
        """The name by which the function's code knows an array that stands in one place."""
        source = self.sources(holder)
        words = re.findall(r"\w+", source.text) if source is not None else []
        return words[-1] if words and words[-1].isidentifier() else None

    def reaches(self, value: Any) -> bool:
        """Whether an object was there before the function ran, within its reach."""
        return id(value) in self._objects

    def reaches_id(self, key: int) -> bool:
        """The same, of an object's ``id``."""
        return key in self._objects

    def reads_arrays(self, parameters: Sequence[str], values: Sequence[Any]) -> str:
        """Where code may read an array by NumPy alone, as its user would say it; "" for nowhere.

        `values` are the arguments of the traced call, by the names of the parameters.
        """
        if not self._contents():
            return ""
        reading, identities, self.by_length = why(self, self.function, parameters, values)
        self.by_identity = self._identities and identities
        bare = self._texts or not (RAW | BARE).isdisjoint(self.names)
        self.by_content = bool(reading) and bare
        return reading

    def fingerprints(self, captured: Iterable[Any], reading: bool) -> list[Any]:
        """Reachable arrays and Tensors that Python may have read by itself: their contents count.

        Those that the trace saw as operands are read again by every call, and are among them only
        where the code may be `reading` arrays (`reads_arrays`).
        """
        seen = {id(holder) for holder in captured}
        return [
            value
            for value, _ in self._contents()
            if (reading or id(value) not in seen if is_array(value) else self.by_content)
        ]

    def line_of(self, guard: Guard) -> str:
        """Where the function's code reads what a guard is about: ``train.py:31``."""
        names = [guard.name, *reversed(re.findall(r"[A-Za-z_]\w*", guard.text))]
        lines = (line_reading(self._codes, name) for name in names if isinstance(name, str))
        return next(filter(None, lines), "")

    def _contents(self) -> list[tuple[Any, str]]:
        """Arrays and Tensors within reach."""
        return held_arrays(self._objects.values())

    def keep(self, kept: Environment) -> None:
        """Forgets every guard and effect that another snapshot has not."""
        self.guards = {key: guard for key, guard in self.guards.items() if key in kept.guards}
        self._holding = None
        self.effects, self._codes = kept.effects, kept._codes

    def check(
        self,
        but: Iterable[Guard] = (),
        arrays: Iterable[np.ndarray] = (),
        stored: Iterable[Guard] = (),
    ) -> Callable[[], bool]:
        """One generated function: True while every guard holds.

        `but` are places of arrays and Tensors that calls read again, of which the type alone is
        compared; `arrays` are those whose contents are (and whose places then are compared);
        `stored` are places that every call writes.
        """
        arrays, places = list(arrays), [] if self.by_identity else list(but)
        read = set(map(id, arrays))
        guards = without(self.guards.values(), [*places, *stored], read)
        places = [place for place in places if id(place.value) not in read]
        shown = {id(place.value) for place in places}
        tensors = [v for v, _ in self._contents() if isinstance(v, Tensor) and id(v) not in shown]
        return check(guards, places, arrays, tensors if self.by_length else None)


# -- what is whose ------------------------------------------------------------------------------

_OF_THE_SYSTEM = frozenset({"environ", "getenv"})


_VIEWS: tuple[Any, ...] = (type({}.keys()), type({}.values()), type({}.items()))


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


def _root_of(cls: type) -> str:
    return (getattr(cls, "__module__", None) or "builtins").partition(".")[0]


def _is_standard(cls: type) -> bool:
    """A class of Python's own, or of a library that tracegrad knows."""
    root = _root_of(cls)
    return root in LIBRARY or (root in sys.stdlib_module_names and root != "__main__")


def _installed_class(cls: type) -> bool:
    return _installed(_root_of(cls))


def _is_all_users(cls: type) -> bool:
    """No base class reads attributes by code that is not read here."""
    return all(
        owner in (object, SimpleNamespace) or not (_is_standard(owner) or _installed_class(owner))
        for owner in cls.__mro__
    )


def _slots(cls: type) -> set[str]:
    """The names of the slots of a class, as they are read from outside."""
    return {
        name
        for owner in cls.__mro__
        for name, made in vars(owner).items()
        if isinstance(made, MemberDescriptorType) and not name.startswith("__")
    }


def _has_attributes(value: Any) -> bool:
    """Objects of the user's: modules, classes and instances, not arrays, numbers or libraries."""
    if (
        isinstance(value, NUMERIC | CALLABLE | CellType | property | staticmethod | classmethod)
        or type(value) in CONTAINERS
    ):
        return False
    if isinstance(value, ModuleType):
        root = value.__name__.partition(".")[0]
        if root in LIBRARY or _installed(root):
            return False
        return root not in sys.stdlib_module_names or root == "__main__"
    if isinstance(value, type):
        return not (_is_standard(value) or _installed_class(value)) or issubclass(value, enum.Enum)
    cls = type(value)
    if _root_of(cls) in LIBRARY and not cls.__module__.startswith(HOLDING):
        return False
    return hasattr(value, "__dict__") or bool(_slots(cls)) or not _is_standard(cls)


def _in_class(cls: type, name: str) -> Any:
    """What a class or its bases hold under a name, not asked for by attribute."""
    for owner in cls.__mro__:
        if name in vars(owner):
            return vars(owner)[name]
    return MISSING
