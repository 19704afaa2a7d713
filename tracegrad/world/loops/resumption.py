"""Where frames stood at a look in a turn, to go on from there with the values of another turn.

A `Seat` has the frames from that of the outermost loop to the one that looked; where native code
between two of them makes something else of what the inner one returns (`sorted(key=f)`), from the
inner one on. What they held is kept as forms: a Tensor that was recorded is known by its value in
the graph; containers that a turn made are made again, around the values of now; iterators stand
where they stood. What was there before the loop is the very same object. Where a frame holds
something else, there is no seat.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import ref

import numpy as np

from codegen.ir import Check, Origin, Value
from tracegrad.machine.frames import Frame
from tracegrad.machine.liveness import live
from tracegrad.machine.own_generators import Endless
from tracegrad.machine.world_protocol import ABSENT
from tracegrad.runtime.own_references import keeps_programs
from tracegrad.tape.views import base_of
from tracegrad.tensors.coercion import without_axes_like
from tracegrad.tensors.tensor import Tensor
from tracegrad.values.prng_keys import Key
from tracegrad.world.lengths import Length
from tracegrad.world.loops.loop_heads import Head
from tracegrad.world.loops.remade_objects import contents, is_instance, maker_like
from tracegrad.world.loops.written_places import Place as Slotted
from tracegrad.world.row_iterators import Items, Rows

CONSTANT = frozenset(
    {
        *(int, float, complex, bool, str, bytes, type(None), type, range, type(ABSENT)),
        *(ModuleType, BuiltinFunctionType, np.ufunc, type(Ellipsis), type(np.dtype("f8"))),
        *(np.float64, np.float32, np.int64, np.bool_, Endless),
    }
)
ITERATORS = frozenset(map(type, (iter(range(0)), iter([]), iter(()), iter(""))))


MOST_KNOWN = 1_000


class Unknown(Exception):
    """A frame holds something that cannot be made again."""


@dataclass(frozen=True, slots=True, eq=False)
class OfTensor:
    """A Tensor that was recorded; `link` is the one at whose memory it looks, and how."""

    holder: Tensor
    value: Value
    stands: bool  # for an array or a number of the caller's
    link: tuple[Any, ...] | None


@dataclass(frozen=True, slots=True, eq=False)
class OfContainer:
    """A container that a turn made, with the forms of what it held."""

    holder: Any
    items: Any
    make: Callable[[Any], Any]


@dataclass(frozen=True, slots=True, eq=False)
class OfList:
    """A list that a turn made, to which a loop in that turn appends; with what it held at first."""

    holder: list[Any]
    known: Any
    begins: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class OfIterator:
    """An iterator, as it stood."""

    holder: Any
    state: Any


@dataclass(frozen=True, slots=True, eq=False)
class OfLoop:
    """What a loop goes through; `form` is how that stood, for when the loop is over.

    Where the loop is the rest of another one, `index` is the number that it had come to.
    """

    head: Head
    form: Any
    index: Value | None


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A frame, where it stood, and the forms of what it held."""

    frame: Frame
    index: int
    fast: tuple[Any, ...]
    stack: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Seat:
    """The frames, the outermost first."""

    places: tuple[Place, ...]
    heads: frozenset[Head]  # the loops that they stand in
    slots: tuple[tuple[Slotted, Any], ...]  # the places that turns write to, with forms
    renamed: Mapping[Value, Value]  # values that have others in their place by now
    counts: Mapping[Any, Any]  # what masks were known to pick there: see `Trace.counts`

    def inside(self, frame: Frame) -> Sequence[Place]:
        """The frames from this one on; none where it is not among them."""
        frames = [place.frame for place in self.places]
        at = next((i for i, other in enumerate(frames) if other is frame), len(frames))
        return self.places[at:]


class Seats:
    """Where frames stood at the looks of a run.

    A value may be looked at in several arms. So each look is known by its origin, which no other
    look has, and which stays the same object in all paths that go through it.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Origin, Seat | None]] = {}
        self.clear = self._known.clear

    def of(self, look: Check) -> Seat | None:
        """Where the frames stood at a look; None where they cannot be put back."""
        return self._known.get(id(look.origin), (None, None))[1]

    def __getitem__(self, look: Check) -> Seat:
        seat = self.of(look)
        assert seat is not None
        return seat

    def add(self, look: Check, seat: Seat) -> None:
        """Where they stand at a look; looks of one origin have no seat."""
        other = id(look.origin) in self._known
        self._known[id(look.origin)] = look.origin, None if other else seat

    def put(self, look: Check, seat: Seat) -> None:
        """Where they stand at a look that takes the place of another."""
        self._known[id(look.origin)] = look.origin, seat


def at_jump(frame: Frame) -> int | None:
    """The jump by a value that a frame asks for its truth; None where something else asks."""
    instructions = frame.program.instructions
    index = frame.index + instructions[frame.index].asks
    return index if instructions[index].name.startswith("POP_JUMP") else None


class Keeper:
    """Makes seats: `known` are the objects that were there before the outermost loop, by id."""

    def __init__(self, loops: Any, heads: Collection[Head], frames: Sequence[Frame]) -> None:
        self.loops = loops
        begin = max((i for i, x in enumerate(frames) if i and not x.gives_result), default=0)
        self.frames = frames[begin:]  # the outermost first
        self.heads = heads
        self.shown = {id(head.shown): head for head in heads if head.shown is not None}
        outermost = next(iter(heads))
        self.known = reached([leaf.holder for leaf in outermost.before.values()])
        self.made: dict[int, Any] = {}

    def seat(self, stack: Sequence[Any], index: int) -> Seat | None:
        """The seat, with this stack of the innermost frame; None where there is none."""
        try:
            places = tuple(self._places(stack, index))
            slots = tuple((p, self.form(p.now())) for p in self.loops.places)
            counts = {**self.loops.trace.counts}
            return Seat(places, self._around(), slots, {}, counts)
        except Unknown:
            return None

    def _around(self) -> frozenset[Head]:
        """The loops whose frames are among these."""
        frames = set(map(id, self.frames))
        return frozenset(head for head in self.heads if id(head.frame) in frames)

    def _places(self, stack: Sequence[Any], index: int) -> Iterator[Place]:
        for i, frame in enumerate(self.frames):
            inner = i + 1 == len(self.frames)
            if id(frame.function) in self.known or self.loops.world.is_outside(frame.function):
                self.known.update(map(id, frame.closure or ()))
            at, held = (index, stack) if inner else (frame.index, frame.stack)
            fast = tuple(self._live(frame, at))
            yield Place(frame, at, fast, tuple(map(self.form, held)))

    def _live(self, frame: Frame, index: int) -> Iterator[Any]:
        """The forms of variables that are read later."""
        known = live(frame.code)[index]
        for slot, x in enumerate(frame.fast):
            yield self.form(x) if slot in known else ABSENT

    def form(self, x: Any) -> Any:
        """How an object is made again; the object itself where it stays."""
        kind = type(x)
        if kind in CONSTANT:
            return x
        if id(x) not in self.made:
            self.made[id(x)] = x, self._form(x, kind)
        return self.made[id(x)][1]

    def _form(self, x: Any, kind: type) -> Any:
        if kind is Tensor:
            return self._of_tensor(x) if self.loops.is_recorded(x) else x
        if id(x) in self.shown:
            head = self.shown[id(x)]
            return OfLoop(head, self._of_iterator(x), head.index if head.follows else None)
        if kind in ITERATORS or kind is Rows:
            return self._of_iterator(x)
        if is_record(x):
            held = items_of(x)
            items = tuple(map(self.form, held))
            return x if _all_same(items, held) else OfContainer(x, items, maker_of(kind))
        if id(x) in self.known or self.loops.world.is_outside(x):
            return x
        if kind is list:
            return self._of_list(x)
        if kind is dict:
            return OfContainer(x, {key: self.form(item) for key, item in x.items()}, dict)
        if kind is deque:
            return OfContainer(x, [*map(self.form, x)], maker_like(x))
        if is_instance(x):
            forms = {name: self.form(item) for name, item in contents(x).items()}
            return OfContainer(x, forms, maker_like(x))
        if kind is slice:
            items = tuple(map(self.form, (x.start, x.stop, x.step)))
            return x if _all_same(items, (x.start, x.stop, x.step)) else OfContainer(x, items, _cut)
        if kind is Items and self.loops.lists.read_by_number(x.items) is not None:
            return x
        if kind is np.ndarray or isinstance(x, np.generic | type):
            return x
        if kind is FunctionType:
            given = (*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values())
            held = (*(x.__closure__ or ()), *given)
            if _all_same(tuple(map(self.form, held)), held):
                return x
        if kind is MethodType and self.form(x.__self__) is x.__self__:
            return x
        raise Unknown

    def _of_list(self, x: list[Any]) -> Any:
        lists = self.loops.lists
        known, filled = lists.stands(x), lists.filled(x)
        if known is not None:
            begins = tuple(map(self.form, known.begins[: known.before]))
            return OfList(x, known, begins)
        make = list if filled is None else partial(lists.filled_again, filled.value)
        return OfContainer(x, [*map(self.form, x)], make)

    def _of_iterator(self, x: Any) -> Any:
        if type(x) is not Rows:
            return OfIterator(x, copy.copy(x))
        items = (*map(self.form, x.given), self.form(x.numbers))
        return OfContainer(x, items, lambda now: x.over(now[:-1], now[-1]))

    def _of_tensor(self, x: Tensor) -> OfTensor:
        link = x._view
        if link is not None:
            base, op, others, attributes, output = link
            link = self.form(base), op, tuple(map(self.form, others)), attributes, output
        original = self.loops.world.original(x)
        stands = original is not x and type(original) is not Tensor
        return OfTensor(x, x._traced[1], stands, link)


def _stands(iterator: Any, state: Any) -> bool:
    """Whether an iterator stands where a copy of it does: nobody has moved it on."""
    (_, (of,), *at), (_, (other,), *before) = iterator.__reduce__(), state.__reduce__()
    return at == before and (of is other or (type(of) is range and of == other))


def reached(objects: Iterable[Any]) -> set[int]:
    """The ids of objects, and of what they hold, as far as it is plain to see: the nearest ones."""
    known: set[int] = set()
    waiting = deque(objects)
    while waiting and len(known) < MOST_KNOWN:
        x = waiting.popleft()
        if id(x) in known or type(x) in CONSTANT or type(x) is Tensor:
            continue
        known.add(id(x))
        if type(x) is Length:  # which holds what is ours
            continue
        if type(x) in (list, tuple):
            waiting += x
        elif type(x) is dict:
            waiting += x.values()
        elif keeps_programs(x):
            waiting.append(x.__wrapped__)
        else:
            attributes = getattr(x, "__dict__", None)
            waiting += attributes.values() if type(attributes) is dict else ()
    return known


def _all_same(forms: Sequence[Any], items: Sequence[Any]) -> bool:
    return all(map(_is, forms, items))


def _is(a: Any, b: Any) -> bool:
    return a is b


def is_tuple(x: Any) -> bool:
    """Whether an object is a tuple, or a named one with nothing besides."""
    kind = type(x)
    return kind is tuple or (issubclass(kind, tuple) and maker_of(kind) is not None)


def is_record(x: Any) -> bool:
    """Whether an object is no more than the items that it was made of: a tuple, or a key of JAX."""
    return type(x) is Key or is_tuple(x)


def items_of(x: Any) -> tuple[Any, ...]:
    """What such an object was made of."""
    return (x.data, x.impl) if type(x) is Key else tuple(x)


def maker_of(kind: type) -> Any:
    """What makes a tuple, or a key, of its items; None of other classes."""
    if kind is tuple:
        return tuple
    if kind is Key:
        return _key_of
    plain = kind.__bases__ == (tuple,) and hasattr(kind, "_fields")
    return kind._make if plain else None  # type: ignore[attr-defined]


def _key_of(items: Any) -> Key:
    return Key(*items)


def _cut(items: Any) -> slice:
    return slice(*items)


class Return:
    """Puts frames back to a seat, with the values of now."""

    def __init__(
        self,
        loops: Any,
        seat: Seat,
        values: Mapping[Value, Any],
        running: Mapping[Head, Any],
        written: Collection[int],
    ) -> None:
        self.loops = loops
        self.seat = seat
        self.values = values
        self.running = running  # what loops go through now
        self.written = written  # ids of Tensors that stay the same objects
        self.made: dict[int, Any] = {}

    def frames(self, outermost: Frame) -> list[Frame]:
        """The frames from the outermost one on, which is changed; the others are new."""
        found: list[Frame] = []
        for place in self.seat.inside(outermost):
            frame = place.frame if not found else place.frame.copy()
            frame.fast[:] = map(self.now, place.fast)
            frame.stack[:] = map(self.now, place.stack)
            frame.index = place.index
            if found:
                frame.back = found[-1]
            found.append(frame)
        for slot, x in [(slot, self.now(form)) for slot, form in self.seat.slots]:
            self.loops.world.renews(slot.of(self.made), x)
        for made in self.made.values():
            self.loops.world.kept.made_again(made)
        return found

    def now(self, form: Any) -> Any:
        """The object that a form says, of now."""
        match form:
            case OfTensor():
                return self._tensor(form)
            case OfContainer(holder, items):
                if id(holder) not in self.made:
                    self.made[id(holder)] = self._container(form, items)
                return self.made[id(holder)]
            case OfList(holder):
                if id(holder) not in self.made:
                    self.made[id(holder)] = self._list(form)
                return self.made[id(holder)]
            case OfIterator(holder, state):
                if id(holder) not in self.made:
                    again = holder if _stands(holder, state) else copy.copy(state)
                    self.made[id(holder)] = again
                    if again is not holder:
                        self.loops.makes(again, holder)
                return self.made[id(holder)]
            case OfLoop():
                return self._shown(form)
        return form

    def _shown(self, form: OfLoop) -> Any:
        head = form.head
        level = self.running.get(head)
        if level is None:
            watched = any(head is other for other in self.loops.heads.values())
            if not watched and head.follows is not None and form.index is not None:
                return self._rest(head, form.index)
            return head.shown if watched else self.now(form.form)
        if level.shown is None:
            level.shown = self._over(head, level.numbers)
        return level.shown

    def _over(self, head: Head, numbers: Any) -> Any:
        """What the function has in the place of these numbers, which a loop goes through."""
        return numbers if head.goes is None else head.shown.over(self.now(head.goes), numbers)

    def _rest(self, head: Head, index: Value) -> Any:
        """What is left of the rest of a loop, which begins elsewhere now: the run is no program."""
        self.loops.begins_elsewhere(head)
        value = self.loops.walk.value
        number, last = (
            int(getattr(x, "_array", x)) for x in (value(index), value(head.follows[1]))
        )
        return self._over(head, iter(range(number + head.numbers.step, last, head.numbers.step)))

    def _list(self, form: OfList) -> list[Any]:
        loops, begins = self.loops, [*map(self.now, form.begins)]
        if form.known.head.peeled:  # by the turn that stands before the loop
            first = form.known.first
            stays = first not in self.values
            found = form.known.begins[len(begins)] if stays else self.values[first]
            begins.append(found if stays else loops.now(first, found, False))
        before = form.known.items  # it may have been made again since then
        made: list[Any] = loops.lists.made_again(form.known, begins, loops.walk.rows)
        self.made[id(before)] = made
        return made

    def _container(self, form: OfContainer, items: Any) -> Any:
        if type(items) is dict:
            return form.make({key: self.now(item) for key, item in items.items()})
        return form.make(tuple(map(self.now, items)))

    def _tensor(self, form: OfTensor) -> Any:
        value = self.seat.renamed.get(form.value, form.value)
        key = id(form.holder)
        if key in self.made:
            return self.made[key]
        if value in self.values:
            self.made[key] = self._renewed(form, value, self.values[value])
        elif form.link is not None:
            base = form.link[0]
            if isinstance(base, OfTensor) and self.now(base) is not base.holder:
                self.made[key] = self._renewed(form, value, form.holder)  # it looks at another one
        return self.made.get(key, form.holder)

    def _renewed(self, form: OfTensor, value: Value, found: Any) -> Any:
        of_numpy, before = isinstance(found, np.generic), form.holder._array
        if id(form.holder) in self.written and (type(found) in (Tensor, np.ndarray) or of_numpy):
            tensor = self.loops.renewed(form.holder, value, found)
            tensor._array = without_axes_like(before, tensor._array)
            return tensor
        tensor = self.loops.now(value, found, form.stands)
        tensor._array = without_axes_like(before, tensor._array)
        if form.link is not None:
            base, op, others, attributes, output = form.link
            base = self.now(base)
            tensor._view = base, op, tuple(map(self.now, others)), attributes, output
            whole = base_of(base)
            whole._views = [*(whole._views or ()), ref(tensor)]
        return tensor
