"""The log of changes of state that a run made, and what a program replays of it.

A run keeps in order what it changed outside (`Done`): an operation and what it was given. Each
object among that is known again at later calls by its *form*: a constant (whatever guards hold
fast), an argument, what stands at a place outside, an output of the program, or a container made of
these. Every call of the program replays the log after the last look (`Effect`). What has no form
is not replayed: the run itself answers its call, and the function stays eager.
"""

from __future__ import annotations

import io
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from tracegrad.arguments.argument_changes import ArgumentStore, overwrite_argument
from tracegrad.runtime.concurrency import wrote
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.views import base_of, chain_of
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.tracing.path_tree import agree
from tracegrad.values.pytree import children, is_leaf
from tracegrad.world.code_origin import is_mutable, is_trusted, slots_of
from tracegrad.world.guards import PLAIN, Guard, same
from tracegrad.world.lengths import TELLING
from tracegrad.world.stores import PUTTING, Store, as_kept, kind_kept, of_kind
from tracegrad.world.tensor_places import ATTRIBUTE, CELL, ITEM


class NoForm(Exception):
    """An object that a later call does not have; the text says which, as the user would."""


@dataclass
class Done:
    """One thing that a run did."""

    operation: Callable[..., Any]
    operands: tuple[Any, ...]
    text: str  # of the place, as the user would say it: ``self.history``
    keywords: Mapping[str, Any] = field(default_factory=dict)
    after: int = 0  # so many of the stores of the run come before it


# -- forms ----------------------------------------------------------------------------------------


class Replay:
    """What one call has: the outputs of its program, and its arguments as they were given."""

    def __init__(self, outputs: Sequence[Any], leaves: Sequence[Any], first: int = 0) -> None:
        self.outputs, self.leaves, self.first = outputs, leaves, first
        self.made: dict[int, Any] = {}  # what was built, by the number of its form

    def output(self, index: int) -> Any:
        """An output of the traced run, of which the program leaves out those before `first`."""
        return self.outputs[index - self.first]


@dataclass(frozen=True)
class Constant:
    """What guards hold fast, or what Python writes as a literal."""

    value: Any

    def build(self, call: Replay) -> Any:
        return self.value

    def agrees(self, other: Any) -> bool:
        return type(other) is Constant and same(self.value, other.value)

    def __str__(self) -> str:
        text = " ".join(repr(self.value).split()) if type(self.value) in PLAIN else ""
        return text if 0 < len(text) <= 40 else f"a {type(self.value).__name__}"


@dataclass(frozen=True)
class Argument:
    """A traced leaf of the arguments: the caller's own object."""

    leaf: int
    text: str

    def build(self, call: Replay) -> Any:
        return call.leaves[self.leaf]

    def agrees(self, other: Any) -> bool:
        return bool(self == other)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Outside:
    """What stands at a place outside when the call begins."""

    guard: Guard

    def build(self, call: Replay) -> Any:
        return self.guard.now()

    def agrees(self, other: Any) -> bool:
        return type(other) is Outside and self.guard.place == other.guard.place

    def __str__(self) -> str:
        return self.guard.text


@dataclass(frozen=True)
class Output:
    """A value that the program computes; the same object wherever it goes."""

    value: Any  # the Tensor of the run; once the program is made, one without an array
    stands: bool  # for an array or number of NumPy's
    index: int = -1

    def build(self, call: Replay) -> Any:
        if -1 - self.index not in call.made:
            found = as_kept(call.output(self.index), self.value, self.stands)
            call.made[-1 - self.index] = found
        return call.made[-1 - self.index]

    def agrees(self, other: Any) -> bool:
        if type(other) is not Output or type(self.value) is not type(other.value):
            return False
        kinds = [kind_kept(x.value) for x in (self, other)]
        return (self.stands, self.index) == (other.stands, other.index) and kinds[0] is kinds[1]

    def __str__(self) -> str:
        traced = getattr(self.value, "_traced", None)
        return (traced and traced[1].origin.name) or "a value"


@dataclass(frozen=True)
class Made:
    """A container or object that every call makes anew; the same one wherever it goes."""

    kind: type
    number: int  # how many forms the run had before: no other one's
    keys: tuple[Any, ...] | None  # of a dict, as they are
    names: tuple[str, ...]  # of attributes
    items: tuple[Any, ...]  # forms: of what it contains, and then of its attributes
    text: str
    most: int | None = None  # of a deque

    def build(self, call: Replay) -> Any:
        if self.number not in call.made:
            items = [form.build(call) for form in self.items]
            call.made[self.number] = self._filled(items)
        return call.made[self.number]

    def _filled(self, items: list[Any]) -> Any:
        count = len(items) - len(self.names)
        made = self._containing(items[:count])
        if self.names:
            slots = {slot.__name__: slot for slot in slots_of(self.kind)}
            for name, value in zip(self.names, items[count:], strict=True):
                if name in slots:
                    slots[name].__set__(made, value)
                else:
                    vars(made)[name] = value
        return made

    def _containing(self, items: list[Any]) -> Any:
        kind: Any = self.kind
        if self.keys is not None:
            made = dict.__new__(kind)
            dict.update(made, zip(self.keys, items, strict=True))
            return made
        if issubclass(kind, tuple):
            return tuple.__new__(kind, items)
        if kind is deque:
            return deque(items, self.most)
        if kind in (list, set, frozenset):
            return kind(items)
        if issubclass(kind, BaseException):
            return base_in_c(kind).__new__(kind, *items)
        return SimpleNamespace() if kind is SimpleNamespace else object.__new__(kind)

    def agrees(self, other: Any) -> bool:
        return (
            type(other) is Made
            and (self.kind, self.number, self.most) == (other.kind, other.number, other.most)
            and same((self.keys, self.names), (other.keys, other.names))
            and agree(self.items, other.items)
        )

    def __str__(self) -> str:
        return self.text


Form = Constant | Argument | Outside | Output | Made


# -- what a program replays -----------------------------------------------------------------------


@dataclass(frozen=True)
class Effect:
    """One change of state, or one print, that every call makes."""

    operation: Callable[..., Any]
    operands: tuple[Any, ...]  # forms
    place: str  # as the user would say it
    keywords: Mapping[str, Any]
    tells: str  # how the user would write it: ``history.append(loss)``
    after: int = 0  # so many of the stores come before it

    def agrees(self, other: Effect) -> bool:
        """Whether two traces did the same."""
        done = [getattr(e.operation, "__func__", e.operation) for e in (self, other)]
        return (
            done[0] is done[1]
            and (self.place, self.tells, self.after) == (other.place, other.tells, other.after)
            and dict(self.keywords) == dict(other.keywords)
            and agree(self.operands, other.operands)
        )

    @property
    def forms(self) -> Iterator[Form]:
        """All forms, inner ones as well."""
        waiting = list(self.operands)
        while waiting:
            form = waiting.pop()
            yield form
            waiting += getattr(form, "items", ())

    def numbered(self, place: Callable[[Any], int]) -> Effect:
        """The same with outputs by their place among those of the program."""

        def of(form: Any) -> Any:
            if isinstance(form, Made):
                return replace(form, items=tuple(map(of, form.items)))
            if isinstance(form, Output):
                like = of_kind(form.value)
                return Output(like, form.stands, place(form.value))
            return form

        return replace(self, operands=tuple(map(of, self.operands)))


@dataclass(frozen=True)
class Prepared:
    """An effect of one call, with all that it needs."""

    operation: Callable[..., Any]
    operands: Sequence[Any]
    keywords: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stands(self) -> Any:
        """Of a store: what stands in the place then, put there or written into."""
        return self.operands[-1 if self.operation in PUTTING.values() else 0]

    def do(self) -> None:
        """Does it; a world that runs the caller, without a trace, is told what it puts there."""
        if self.operands and self.operation is not print:
            wrote(self.operands[0])
            if STATE.machine is not None and STATE.trace is None:
                self._tell(STATE.machine.world)
        self.operation(*self.operands, **self.keywords)

    def _tell(self, world: Any) -> None:
        """Tells a world what is put where: Tensors of the call, which are arrays to its caller."""
        holder, *rest = self.operands
        if self.operation in _PLACES:
            world.writes(_PLACES[self.operation], holder, *rest)
        elif isinstance(holder, list | dict | set | deque):
            world.puts((holder, *rest), dict(self.keywords))


_PLACES: dict[Any, int] = {
    PUTTING["attribute"]: ATTRIBUTE,
    PUTTING["item"]: ITEM,
    PUTTING["cell"]: CELL,
}


def prepared_stores(
    stores: Sequence[Any], values: Sequence[Any], leaves: Sequence[Any] = ()
) -> list[Prepared]:
    """The stores of a call with their values, made before anything is written."""
    return [
        Prepared(overwrite_argument, (leaves[store.leaf], value))
        if isinstance(store, ArgumentStore)
        else Prepared(*store.writing(value))
        for store, value in zip(stores, values, strict=True)
    ]


def prepared_changes(
    stores: Sequence[Prepared], effects: Sequence[Effect], call: Replay
) -> list[Prepared]:
    """All that is to be done in a call, made before anything is written.

    It is in the order of the run: what a dictionary shows is the order of its new keys, and which
    are new each call finds.
    """
    made = [_prepared(e, [x.build(call) for x in e.operands]) for e in effects]
    found = [*stores]
    for effect, prepared in zip(reversed(effects), reversed(made), strict=True):
        found.insert(effect.after, prepared)
    return found


def _prepared(effect: Effect, operands: list[Any]) -> Prepared:
    """An effect of one call: a store is into what stands at its place then."""
    store = getattr(effect.operation, "__self__", None)
    if not isinstance(store, Store):
        return Prepared(effect.operation, operands, effect.keywords)
    if operands:  # it is put
        return Prepared(PUTTING[store.kind], (store.find(), store.guard.name, *operands))
    return Prepared(getattr(store.of_call(), effect.operation.__name__), ())


def changed_containers(
    stores: Iterable[Any], effects: Iterable[Effect]
) -> Iterator[tuple[type, Callable[[], Any]]]:
    """What finds the containers and objects outside that a call changes, each with its type."""
    done = [getattr(effect.operation, "__self__", None) for effect in effects]
    for store in [*stores, *done]:
        if isinstance(store, Store) and store.kind != "contents":
            yield store.guard.holder_kind, store.find
    for effect in effects:
        match effect.operands[:1]:
            case [Outside(guard)]:
                yield guard.kind, guard.now
            case [Constant(value) as form]:
                yield type(value), partial(getattr, form, "value")


class Placed:
    """The places of Tensors and arrays among the outputs of a program; each has one."""

    def __init__(self, count: int) -> None:
        """`count` are the outputs that there are."""
        self._count = count
        self._places: dict[int, int] = {}
        self.more: list[Any] = []  # those that are outputs besides

    def returns(self, value: Any, place: int) -> None:
        """One that is an output because the function returns it."""
        self._places.setdefault(id(value), place)

    def of(self, value: Any) -> int:
        """The place of one."""
        if id(value) not in self._places:
            self._places[id(value)] = self._count + len(self.more)
            self.more.append(value)
        return self._places[id(value)]


# -- finding forms --------------------------------------------------------------------------------


class Forms:
    """The forms of the objects of one run, at its end."""

    def __init__(
        self,
        world: Any,
        returned: Any,
        given: Mapping[int, tuple[int, str]],
        stored: Sequence[Any] = (),
    ) -> None:
        """`given` are the arguments' Tensors, by id: which traced leaf, and how it is called.

        `stored` is what the run has left in places, as far as that is no effect.
        """
        self.world, self.given = world, given
        self.returned = _containers(returned)
        self._known: dict[int, tuple[Any, Form]] = {}
        self._bases: dict[int, Any] = {}  # Tensors whose memory is kept, by the id of their base
        for leaf in (*_leaves(returned), *stored):
            if type(leaf) is Tensor and isinstance(leaf._array, np.ndarray):
                self._bases.setdefault(id(base_of(leaf)), leaf)

    def of(self, x: Any) -> Form:
        """The form of an object; raises `NoForm`."""
        if type(x) in TELLING and self.world.lengths is not None:
            x = self.world.lengths.looked(x)
        if type(x) in PLAIN and self.world.numbers.found(x) is None:
            return Constant(x)
        if id(x) not in self._known:
            number = len(self._known)
            self._known[id(x)] = (x, _INSIDE)
            self._known[id(x)] = (x, self._found(x, number))
        elif self._known[id(x)][1] is _INSIDE:
            raise NoForm("a container that holds itself")
        return self._known[id(x)][1]

    def _found(self, x: Any, number: int) -> Form:
        world = self.world
        if world.numbers.found(x) is not None:
            return Output(world.numbers.lifted(world, x), True)
        kind = type(x)
        if kind is Tensor:
            return self._of_tensor(x)
        if kind is np.ndarray and not world.is_outside(x):
            if x.base is not None or x.dtype.kind not in "biufc":
                raise NoForm("an array that shows another one's memory")
            return Output(x, True)
        if world.original(x) is not x:
            raise NoForm("a container among the arguments")
        place = world.place_by_path(x)
        if place is not None:
            return Outside(place)
        if world.is_outside(x) or isinstance(x, np.generic | ModuleType | np.ufunc | np.dtype):
            return Constant(x)
        if kind is slice and all(type(part) in PLAIN for part in (x.start, x.stop, x.step)):
            return Constant(x)
        if kind is FunctionType and is_trusted(x.__globals__):
            return Constant(x)
        if isinstance(x, type) and not is_mutable(x):
            return Constant(x)
        if kind is BuiltinFunctionType and isinstance(x.__self__, ModuleType | None):
            return Constant(x)
        return self._of_container(x, number)

    def _of_tensor(self, x: Tensor) -> Form:
        world, original = self.world, self.world.original(x)
        if world.is_own_leaf(x):
            raise NoForm("a Tensor that requires grad")
        if id(x) in self.given:
            return Argument(*self.given[id(x)])
        if world.stands_in(x) or world.is_outside(x):
            source = world.source_of(original)
            return Constant(original) if source is None else Outside(source)
        own = all(map(self._is_own, chain_of(x)))
        first = self._bases.setdefault(id(base_of(x)), x) if isinstance(x._array, np.ndarray) else x
        if not own or first is not x:
            raise NoForm("an array that shows another one's memory")
        return Output(x, world.is_array_to_caller(x))

    def _is_own(self, x: Tensor) -> bool:
        """Whether the run has made a Tensor."""
        world = self.world
        return not (id(x) in self.given or world.stands_in(x) or world.is_outside(x))

    def _of_container(self, x: Any, number: int) -> Form:
        kind = type(x)
        if id(x) in self.returned and len(x if kind is tuple else [x]):
            raise NoForm(f"a {kind.__name__} that is returned as well")
        keys = None
        if isinstance(x, dict) and self._is_plain(kind):
            for key in dict.keys(x):  # which Python hashes
                self.world.numbers.look(key)
            if not all(
                type(key) in PLAIN or type(self.of(key)) is Constant for key in dict.keys(x)
            ):
                raise NoForm("a dict with values as keys")
            keys, items = tuple(dict.keys(x)), [*dict.values(x)]
        elif self._is_filled(x):
            items = list(x)
        elif isinstance(x, BaseException) and self._is_plain(kind) and _is_new(x):
            items = list(x.args)
        elif kind is SimpleNamespace or (self._is_plain(kind) and base_in_c(kind) is object):
            items = []
        else:
            raise NoForm(f"a {kind.__name__}")
        held = _attributes(x)
        forms = tuple(map(self.of, (*items, *held.values())))
        if kind in (set, frozenset) and not all(type(form) is Constant for form in forms):
            raise NoForm(f"a {kind.__name__} of values")
        most = x.maxlen if kind is deque else None
        return Made(kind, number, keys, tuple(held), forms, f"a {kind.__name__}", most)

    def _is_filled(self, x: Any) -> bool:
        """Whether a sequence or set is its items and nothing besides."""
        kind = type(x)
        if isinstance(x, tuple) and hasattr(kind, "_fields"):
            return bool(self.world.knows_class(kind))
        return kind in _FILLED

    def _is_plain(self, cls: type) -> bool:
        """Whether objects of a class are their attributes and what C code sees in them."""
        base = base_in_c(cls)
        return cls is base is dict or (
            self.world.knows_class(cls)
            and not issubclass(cls, Enum | type)
            and (base in (object, dict) or _is_of_args(base))
        )


def base_in_c(cls: type) -> type:
    """The first class among those that a class derives from that no class statement has made."""
    return next(base for base in cls.__mro__ if not is_mutable(base))


def _is_of_args(base: type) -> bool:
    """Whether exceptions of a class in C have their arguments and nothing besides."""
    return issubclass(base, BaseException) and base.__basicsize__ == BaseException.__basicsize__


def _is_new(x: BaseException) -> bool:
    """Whether nobody has raised an exception."""
    return x.__traceback__ is x.__cause__ is x.__context__ is None and not x.__suppress_context__


def _attributes(x: Any) -> dict[str, Any]:
    """The attributes that an object holds itself, in slots or in a dictionary."""
    found: dict[str, Any] = {}
    for slot in slots_of(type(x)):
        if slot.__name__ in found:
            raise NoForm(f"a {type(x).__name__} with two slots of one name")
        with suppress(AttributeError):  # it is not set
            found[slot.__name__] = slot.__get__(x)
    return {**found, **getattr(x, "__dict__", {})}


_FILLED = frozenset({list, tuple, set, frozenset, deque})
_INSIDE = Constant(None)  # of what is being looked at


def _containers(returned: Any) -> set[int]:
    """The ids of all objects in what a function returned that are no arrays."""
    found, waiting = set(), [returned]
    while waiting:
        x = waiting.pop()
        if type(x) not in PLAIN and type(x) is not Tensor:
            found.add(id(x))
            waiting += [] if is_leaf(x) else children(x)
    return found


def _leaves(returned: Any) -> Iterator[Any]:
    waiting = [returned]
    while waiting:
        x = waiting.pop()
        if is_leaf(x):
            yield x
        else:
            waiting += children(x)


def effect_of(done: Done, forms: Forms) -> Effect:
    """The effect that does again what a run did; raises `NoForm`."""
    operands = tuple(map(forms.of, done.operands))
    told = _told(done, operands)
    return Effect(done.operation, operands, done.text, done.keywords, told, done.after)


_SIGNS = {"setitem": "{0}[{1}] = {2}", "delitem": "del {0}[{1}]", "put": "{0} = {1}",
          "clear": "del {0}"}  # fmt: skip


def _told(done: Done, forms: Sequence[Form]) -> str:
    """An effect as the user would write it."""
    name = done.operation.__name__
    texts = list(map(str, forms))
    if name == "print":
        return f"print({', '.join(texts)})"
    if isinstance(getattr(done.operation, "__self__", None), Store):
        return _SIGNS[name].format(done.text, *texts)
    if name in _SIGNS:
        return _SIGNS[name].format(done.text, *texts[1:])
    return f"{done.text}.{name}({', '.join(texts[1:])})"


# -- prints ---------------------------------------------------------------------------------------


def prints_plainly() -> bool:
    """Whether what prints go to is a stream, and no object of the user's own."""
    return sys.stdout is None or isinstance(sys.stdout, io.TextIOBase)


_PRINTED = frozenset({list, tuple, dict})


def frozen(world: Any, x: Any) -> Any:
    """A value as it is now, whatever the run makes of it later; raises `NoForm`."""
    x = world.numbers.lifted(world, x)
    kind = type(x)
    if kind is Tensor:
        if not world.is_array_to_caller(x):
            raise NoForm("a Tensor")
        return wrap(x._array, x._traced) if isinstance(x._array, np.ndarray) else x
    if kind in PLAIN or isinstance(x, np.generic):
        return x
    if kind is np.ndarray and not world.is_outside(x):
        return x.copy()
    if kind in _PRINTED and not world.is_outside(x):
        if kind is dict:
            return {key: frozen(world, item) for key, item in x.items()}
        return kind([frozen(world, item) for item in x])
    raise NoForm(f"a {kind.__name__}")


def as_printed(world: Any, x: Any) -> Any:
    """A value of the run as Python prints it: a Tensor of the caller's is one, with its history."""
    if type(x) is Tensor and not world.is_array_to_caller(x):
        original = world.original(x)
        if original is not x or x._traced is None:
            return original
        tensor = wrap(x._array)
        tensor._node = x._node
        return tensor
    if type(x) is dict:
        return {key: as_printed(world, item) for key, item in x.items()}
    return type(x)([as_printed(world, y) for y in x]) if type(x) in (list, tuple) else shown(x)


def shown(x: Any) -> Any:
    """A value of the run as what is printed: arrays for Tensors that stand for them."""
    if type(x) is Tensor:
        return x._array
    if type(x) is dict:
        return {key: shown(item) for key, item in x.items()}
    return type(x)(map(shown, x)) if type(x) in (list, tuple) else x
