"""Runs a function with everything outside as a tripwire: the machine itself finds nothing there.

The machine is to ask the world for all that it reads, writes or has C code do. `armed` makes that
so: while the machine's own code runs, the containers outside the function (lists, dictionaries,
sets, deques, dictionaries of attributes, the program's globals) are empty, and a method of the
world fills them for as long as it runs. What is touched past the world is so another value, or an
error, than plain Python's.

Within the world, each operation in C is accounted for: a container from outside that is an operand,
or that C code may reach through one, must have left a guard, a change or an effect; else `Tripped`
is raised, with the operation.
"""

from __future__ import annotations

import contextlib
import operator
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial, wraps
from itertools import zip_longest
from types import CodeType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import pytest

from tracegrad.machine import frames
from tracegrad.world.code_origin import is_mutable, is_trusted
from tracegrad.world.joined_containers import joins
from tracegrad.world.native_calls import call
from tracegrad.world.native_gate import compute
from tracegrad.world.world import RULES, World

DICTS = (dict, OrderedDict, defaultdict, Counter)
LISTS = (list, deque)
CONTAINERS = (*DICTS, *LISTS, set)
METHODS = (
    *("native", "decide", "class_attribute", "own_attribute", "set_own_attribute", "type_of"),
    *("delete_own_attribute", "load_global", "store_global", "delete_global", "load_cell"),
    *("store_cell", "delete_cell", "part", "from_c", "interprets", "parts_of"),
)
"""What the machine calls of a world."""


class Tripped(BaseException):  # no program catches it
    """An operation in C had a container from outside, and nothing is known of that."""


# -- what is outside ------------------------------------------------------------------------------


def names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def parts(x: Any) -> Iterable[Any]:
    """What an object of a program's holds."""
    kind = type(x)
    if kind is FunctionType:
        if is_trusted(x.__globals__):
            return ()
        named = [x.__globals__[name] for name in names_in(x.__code__) if name in x.__globals__]
        cells = [cell.cell_contents for cell in x.__closure__ or () if is_full(cell)]
        return [*cells, *named, *(x.__defaults__ or ()), x.__kwdefaults__, x.__globals__]
    if kind is MethodType:
        return x.__self__, x.__func__
    if kind is partial:
        return x.func, *x.args, *x.keywords.values()
    if kind in DICTS:
        return () if "__builtins__" in x else list(x.values())
    if kind in LISTS or kind in (tuple, set, frozenset):
        return list(x)
    if isinstance(x, type):
        return list(vars(x).values()) if is_mutable(x) else ()
    if isinstance(x, ModuleType):
        return ()
    if is_mutable(kind) or kind.__name__ == "SimpleNamespace":
        held = getattr(x, "__dict__", None)
        return [held, kind] if type(held) is dict else [kind]
    return ()


def is_full(cell: Any) -> bool:
    try:
        return cell.cell_contents is cell.cell_contents
    except ValueError:
        return False


def containers(roots: Iterable[Any]) -> list[Any]:
    """The containers that can be reached."""
    seen: dict[int, Any] = {}
    waiting = list(roots)
    while waiting:
        x = waiting.pop()
        if id(x) not in seen:
            seen[id(x)] = x
            waiting += parts(x)
    return [x for x in seen.values() if type(x) in CONTAINERS]


class Wires:
    """Containers that are empty while the machine runs."""

    def __init__(self, roots: Iterable[Any]) -> None:
        self.containers = containers(roots)
        self.held: list[Any] | None = None  # what they hold, while they are empty

    def hide(self) -> None:
        if self.held is None:
            self.held = [dict(x) if type(x) in DICTS else x.copy() for x in self.containers]
            for x in self.containers:
                x.clear()

    def show(self) -> None:
        if self.held is not None:
            held, self.held = self.held, None
            for x, content in zip(self.containers, held, strict=True):
                x.extend(content) if type(x) in LISTS else x.update(content)

    @contextlib.contextmanager
    def shown(self, wanted: bool) -> Iterator[None]:
        """Full or empty for a while, then as before."""
        before = self.held is None
        self.show() if wanted else self.hide()
        try:
            yield
        finally:
            self.show() if before else self.hide()


# -- what C code is given -------------------------------------------------------------------------

_HANDING_ON = frozenset(
    map(
        id,
        (
            *(operator.is_, operator.is_not, type, id, isinstance, hash, callable, super, print),
            *(setattr, getattr, delattr, object.__setattr__, operator.setitem, MethodType, partial),
            SimpleNamespace,
        ),
    )
)
"""Operations that ask nothing of what they are given, or put it somewhere."""
_STORING = frozenset({
    *("append", "insert", "appendleft", "extend", "extendleft", "update", "setdefault", "add"),
    *("__setitem__", "__setattr__", "__init__", "pop", "get", "copy", "items", "values", "keys"),
    *("popleft", "popitem", "rotate", "reverse", "clear"),
})  # fmt: skip
"""Methods that ask nothing of what they are given but the object that they are of, and no item."""


def given(operation: Any, operands: tuple[Any, ...], keywords: dict[str, Any]) -> list[Any]:
    """The operands of which an operation in C may read something."""
    if id(operation) in _HANDING_ON or isinstance(operation, FunctionType):
        return []
    owner = getattr(operation, "__self__", None)
    found = [*operands, *(() if operation in (dict, zip_longest) else keywords.values())]
    if getattr(operation, "__name__", "") in _STORING:
        found = [] if type(owner) in CONTAINERS else found[:1]
    return [owner, *found]


def reached(operation: Any, found: list[Any]) -> Iterator[Any]:
    """The containers among these, and in them where an operation reads all that it is given."""
    deep = RULES.get(id(operation), call) in (call, compute)
    deep &= getattr(operation, "__name__", "") not in _STORING and operation is not zip_longest
    deep &= len(found) != 3 or not joins(operation, found[1:])  # it hands on what they hold
    seen: dict[int, Any] = {}
    waiting = list(found)
    while waiting:
        x = waiting.pop()
        if id(x) in seen or type(x) not in (*CONTAINERS, tuple):
            continue
        seen[id(x)] = x
        if type(x) in CONTAINERS:
            yield x
        if deep:
            waiting += x.values() if type(x) in DICTS else x


def accounted(world: World, x: Any) -> bool:
    """Whether the run has noted something about a container from outside."""
    if world.effects or world.has_changed(x) or id(x) not in world._sources:
        return True
    known = {id(x), id(world.attributes_of(x))}
    if any(holder in known for holder, _ in world._stored):
        return True
    holders = [guard.holder for guard in world.guards.values()]
    return any(id(y) in known or (type(y) is type({}.values()) and y.mapping == x) for y in holders)


def tripped(world: World, operation: Any, found: list[Any]) -> None:
    for x in reached(operation, found):
        if not accounted(world, x):
            raise Tripped(f"{operation!r} had {world.text_of(x)}: {x!r}")


# -- arming ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def armed() -> Iterator[list[int]]:
    """All runs that are traced meanwhile have tripwires; gives how many containers each had."""
    counts: list[int] = []
    with pytest.MonkeyPatch.context() as patch:

        def begin(
            self: World, outside: Iterable[tuple[str, Any]], made: Any = World.__init__
        ) -> None:
            outside = list(outside)
            self.wires = Wires([x for _, x in outside])
            counts.append(len(self.wires.containers))
            made(self, outside)

        patch.setattr(World, "__init__", begin)
        for name in METHODS:
            patch.setattr(World, name, asked(getattr(World, name), name))
        patch.setattr(frames, "run_frame", executed(frames.run_frame))
        yield counts


def asked(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A method of the world, for which containers are full."""

    @wraps(method)
    def answered(world: World, *args: Any, **kwargs: Any) -> Any:
        with world.wires.shown(True):
            if name != "native":
                return method(world, *args, **kwargs)
            result = method(world, *args, **kwargs)
            tripped(world, args[0], given(args[0], args[1:], kwargs))
            return result

    return answered


def executed(run_frame: Callable[..., Any]) -> Callable[..., Any]:
    """The machine's own code, for which containers are empty."""

    def run(machine: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(machine.world, World):
            return run_frame(machine, *args, **kwargs)
        with machine.world.wires.shown(False):
            return run_frame(machine, *args, **kwargs)

    return run
