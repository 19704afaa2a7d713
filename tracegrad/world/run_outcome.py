"""What a run of a function has left behind: stores, effects, counters; how to take it back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from types import MethodType
from typing import Any

import numpy as np

from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.views import Step, base_of, chain_of, follow, memory_at, place_of
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.values.dispatch import is_number
from tracegrad.world.changed_containers import Changed
from tracegrad.world.effects import Done, Effect, Forms, NoForm, effect_of, shown
from tracegrad.world.guards import (
    APART,
    APART_OF,
    ATTRIBUTE,
    GLOBAL,
    MISSING,
    Guard,
    Place,
    is_array,
    same,
)
from tracegrad.world.loops.written_places import tensors_in
from tracegrad.world.native_readers import numbers_read, reads_any, refuse_written
from tracegrad.world.number_inputs import Numbers, Read
from tracegrad.world.outside_memory import ReadMemory, objects_shown
from tracegrad.world.stand_ins import StandIns
from tracegrad.world.stored_by_natives import telling
from tracegrad.world.stores import Store, store_of
from tracegrad.world.tensor_places import held


def _sharing(values: Iterable[Any]) -> set[int]:
    """The ids of Tensors of which another one looks at the same memory."""
    by_base: dict[int, set[int]] = {}
    for x in values:
        if type(x) is Tensor and isinstance(x._array, np.ndarray):
            by_base.setdefault(id(base_of(x)), set()).add(id(x))
    return {key for alike in by_base.values() if len(alike) > 1 for key in alike}


def _gives_way_to_array(value: Any) -> bool:
    """Whether a place that held this before the run may hold an array, or a Tensor, by its end."""
    return value is None or value is MISSING or is_array(value)


class Outcome(StandIns):
    """The places that one run has written, and the log of what else it did."""

    trace: Any
    numbers: Numbers
    guards: dict[tuple[int, str, Any], Guard]
    effects: list[str]
    counters: Collection[Any]
    tapes: bool
    source_of: Callable[[Any], Guard | None]
    is_by_path: Callable[[Any], bool]
    _guard: Callable[..., Guard]
    text_of: Callable[[Any], str]
    line: Callable[[], str]

    def __init__(self) -> None:
        super().__init__()
        self._stored: dict[Place, Guard] = {}  # what stood where the run has written
        self._again: dict[int, Guard] = {}  # those that it has removed and then set
        self._absent: dict[int, tuple[str, Any, list[str], str, str]] = {}  # names that dicts lack
        self._classes: dict[int, type] = {}  # the class of a class's dictionary, by its id
        self._changed: dict[int, Changed] = {}  # containers, by id
        self._log: list[Done] = []
        self._memory = ReadMemory()
        self._printed = 0  # so many of the log were looked at for prints that are held back
        self._floats: dict[int, tuple[float, Tensor]] = {}  # stored, and what is recorded of them
        self._drawn_from: dict[int, Callable[[], None]] = {}  # what puts generators back
        self._natives: dict[int, tuple[Any, str]] = {}  # what programs call as it is, and its name
        self.has_handlers = False  # a function that runs has a ``try`` or a ``with``
        self._acted_before = False  # any of these was called
        outcomes = STATE.outcomes
        self._rules = None if outcomes is None else (outcomes, outcomes.place)
        self._by_natives: dict[tuple[int, str | None], tuple[Any, str]] = {}  # what they stored at
        self._stand_ins: dict[int, Tensor] = {}  # the Tensor for an array outside, by id
        self._tensors: dict[int, tuple[Tensor, Any, Any]] = {}  # those outside, as they were

    def written_over(self) -> list[Any]:
        if self.trace is None:
            return []
        arrays = [(self.original(x), x._traced[1]) for x in self._stand_ins.values()]
        return [x for x, v in arrays if self.trace.captured[id(x)][1] is not v]

    def outside_memory(self, x: Any) -> str:
        """How the user calls the memory from outside that an object is, or shows; "" for none."""
        known = next(filter(self.is_outside, objects_shown(x)), None)
        return self._memory.shown_by(x) if known is None else self.text_of(known) or "an array"

    # -- the log ----------------------------------------------------------------------------------

    def does(
        self, operation: Callable[..., Any], *operands: Any, text: str = "", **keywords: Any
    ) -> Done:
        """The function does something outside that a program may replay."""
        done = Done(operation, operands, text, keywords)
        self._log.append(done)
        return done

    def does_together(self, known: Sequence[Done], done: Done | None = None) -> None:
        """Something in the log is done at once, by another entry in its place, or by another one's.

        It comes where the first of this was; at the end, where it is to do nothing yet.
        """
        gone = set(map(id, known))
        at = next((i for i, x in enumerate(self._log) if id(x) in gone), len(self._log))
        put = [] if done is None else [done]
        printed = [x for x in self._log[: self._printed] if id(x) not in gone]
        self._printed = len(printed) + len(put) * (at < self._printed)
        self._log[:] = [*self._log[:at], *put, *(x for x in self._log[at:] if id(x) not in gone)]

    def print_now(self) -> None:
        """What the function has printed is seen from now on: no program will print it."""
        for done in self._log[self._printed :]:
            if done.operation is print:
                print(*map(shown, done.operands), **done.keywords)
        self._printed = len(self._log)

    def written(self) -> list[Any]:
        return [*super().written(), *(x for done in self._log for x in done.operands)]

    def swaps(self, array: Any, tensor: Any) -> None:
        if self.loops is not None:
            self.loops.takes_place_of(array)
        for done in self._log:
            if any(x is array for x in done.operands):
                done.operands = tuple([tensor if x is array else x for x in done.operands])
        super().swaps(array, tensor)

    def forget_last(self, x: Any, operation: Any) -> bool:
        """Takes the last thing out of the log that was done to a container, if it was this."""
        for i in range(len(self._log) - 1, -1, -1):
            done = self._log[i]
            if done.operation is not print and done.operands[0] is x:
                if done.operation is operation:
                    del self._log[i]
                    self._printed -= i < self._printed
                    return True
                return False
        return False

    @property
    def marks(self) -> tuple[int, ...]:
        """What is more after the function has changed something."""
        written = self.written_over()
        tensors = [x for x, _, _ in self._tensors.values() if x._traced is not None]
        return len(self._log), len(self.effects), len(self._stored), len(written), len(tensors)

    @property
    def shows_exceptions(self) -> bool:
        """Whether it shows where in a program that calls rules something is raised.

        The function may catch it, or has acted before.
        """
        return self.calls_rules and (self.has_handlers or self._acted_before)

    @property
    def calls_rules(self) -> bool:
        """Whether the run has called functions of the user's that programs call as they are."""
        return bool(self._natives)

    @property
    def has_acted(self) -> bool:
        """Whether the run has done anything outside that `take_back` undoes."""
        return any(self.marks) or bool(self._drawn_from or self.trace.generators.before)

    def calls_natively(self, thing: Any, name: str) -> None:
        refuse_written(thing, name, self.written_over())
        for number in numbers_read(thing):
            self.numbers.look(number)
        self._natives[id(thing)] = thing, name
        self._acted_before = self._acted_before or self.has_acted

    def stores_natively(self, rule: Any, users: Any, history: bool) -> AbstractContextManager[None]:
        name = rule.__name__
        applied = getattr(rule, "_applied", None)
        if applied is not None:  # another rule may be given
            self.guard(ATTRIBUTE, rule, "_applied", applied, f"the rule of {name}")

        def stored(holder: Any, of: str | None) -> None:
            rule._stores = True
            self._by_natives[id(holder), of] = holder, name
            if not (self.is_outside(rule) or self.is_outside(holder)):
                self.effect(f"what {name} stores, which a program calls as it is,")

        return telling(users, name if history else "", stored)

    # -- after the run ----------------------------------------------------------------------------

    def finish(self) -> None:
        """The run is over."""
        moved = {key for key, changed in self._changed.items() if changed.moved}
        for guard in self._stored.values():  # what is written again may be something else by then
            if id(guard.holder) in moved or self._is_read_at(guard, held(guard)):
                continue
            if self._holds_again(guard, held(guard)):
                text = f"{guard.text}, which is written"
                kept = self.guard(guard.read, guard.holder, guard.name, guard.value, text)
                self.numbers.look_at(kept)
        for read, holder, names, text, line in self._absent.values():
            if read == GLOBAL and len(names) == 1:
                guard = self._guard(GLOBAL, holder, names[0], MISSING, text, line)
            else:
                apart = APART if read == GLOBAL else APART_OF
                guard = self._guard(apart, holder, frozenset(names), True, text, line)
            self.guards[id(holder), "", frozenset(names)] = guard

    def _compare_with_natives(self) -> None:
        """What rules and hooks read, a program may not write: it does so after it has called them.

        Those of arms and turns that were run before are in the same function.
        """
        if not self._natives:
            return
        written = [*self.changed_holders(), *self.written_over()]
        names: dict[int, set[str]] = {}
        for guard in self._stored.values():
            if type(guard.holder) is dict:
                names.setdefault(id(guard.holder), set()).add(guard.name)
        found = {id(self._classes.get(id(x), x)) for x in written}
        for thing, name in self._natives.values():
            if written and reads_any(thing, lambda x: id(x) in found, names):
                self.effect(f"what {name} reads, which a program calls as it is,")
        for (holder, of), (x, name) in self._by_natives.items():
            read = isinstance(x, np.ndarray) and id(x) in self.trace.captured
            for guard in self.guards.values():
                at = id(self._classes.get(id(guard.holder), guard.holder))
                read |= at == holder and of in (None, guard.name)
            if read:
                self.effect(f"what {name} stores, which a program calls as it is,")

    def _moved(self) -> list[tuple[Guard, Any]]:
        """Places outside that hold something else than before the run, as no log tells."""
        moved = {key for key, changed in self._changed.items() if changed.moved}
        stored = [guard for guard in self._stored.values() if id(guard.holder) not in moved]
        changed = [(guard, held(guard)) for guard in stored]
        return [
            (guard, now)
            for guard, now in changed
            if (id(guard) in self._again and now is not MISSING)
            or not self._holds_again(guard, now)
        ]

    def _holds_again(self, guard: Guard, now: Any) -> bool:
        """Whether a place that was written holds what it held, whatever stands there at a call."""
        if type(guard.value) is int and guard.place in self.counters:
            return False  # an input: no guard
        if not same(now, guard.value):
            return False
        if self.numbers.found(now) is not None:
            return self._is_read_at(guard, now)
        stood = now is guard.value
        if self.is_by_path(guard.value) and not stood:
            return False  # its class alone is guarded
        return self._is_fixed(now, stood)

    def _is_fixed(self, x: Any, stood: bool) -> bool:
        """Whether an object of the run is, or equals, the same one in each call that guards let in.

        That is no tuple among the arguments, and nothing that holds a number which may be another
        one. What is known by its place may be another object, but where it `stood` itself.
        """
        if self.original(x) is not x and isinstance(x, tuple):
            return False
        if self.numbers.found(x) is not None or (self.is_by_path(x) and not stood):
            return False
        if isinstance(x, tuple):
            held: tuple[Any, ...] = x
        elif type(x) is slice:
            held = x.start, x.stop, x.step
        elif isinstance(x, MethodType):
            held = x.__self__, x.__func__
        else:
            return True
        return all([self._is_fixed(item, stood) for item in held])

    def _is_read_at(self, guard: Guard, now: Any) -> bool:
        """Whether a number is what was read at the place where it is stored."""
        number = self.numbers.found(now)
        return isinstance(number, Read) and number.guard.place == guard.place

    def _written(self) -> list[tuple[Guard, Any]]:
        """The same, but for what was changed where it stands."""
        return [pair for pair in self._moved() if not self._is_still_there(*pair)]

    def _is_still_there(self, guard: Guard, now: Any) -> bool:
        """Whether a place holds the array that it held: ``self.w += 1``."""
        if self.original(now) is not guard.value or not self.stands_in(now):
            return False
        source = self.source_of(guard.value)
        return source is not None and source.place == guard.place

    def stores(self) -> list[Store]:
        """After a run: the places that now hold an array or Tensor that they did not hold.

        A program can give these values as outputs, and every call write them there again. It
        serves only if there is no effect besides.
        """
        found, written = [], self._written()
        shared = _sharing([now for _, now in written])
        for guard, now in written:
            number, stands = self._floats.get(id(now)), self.is_array_to_caller(now)
            if number is not None and (isinstance(guard.value, float) or guard.value is None):
                found.append(store_of(guard, number[1], self._classes, True))
            elif type(guard.value) is int and stands and type(now._array) is int:
                found.append(store_of(guard, now, self._classes, True))
            elif id(guard) in self._again:
                continue  # it goes, and comes after the names that there are
            elif self.original(now) is not now or id(now) in shared or self._shows_given(now):
                continue  # an array that is there already, or a view of one: a copy is not that
            elif self.is_own_leaf(now):
                continue
            elif _gives_way_to_array(guard.value) and isinstance(now, Tensor | np.ndarray):
                found.append(store_of(guard, now, self._classes, stands))
        return found

    def _is_from_outside(self, x: Any) -> bool:
        """Whether a Tensor is one that was there before the run, which has not written to it."""
        return type(x) is Tensor and x._traced is None and self.is_outside(x)

    def _shows_given(self, x: Any) -> bool:
        """Whether a Tensor is one that was there before the run, or looks at the memory of one.

        Or at the memory of an array that was there.
        """
        every = [*chain_of(x)] if type(x) is Tensor else [x]
        return self.original(every[-1]) is not every[-1] or any(map(self.is_outside, every))

    def settle(self, tapes: bool = False) -> list[Tensor]:
        """After a run that answers its call itself: what it left in places is no part of a trace.

        Tensors keep their history with `tapes` alone: else it ends with the call. Gives those that
        have one.
        """
        recorded: list[Tensor] = []
        views: dict[int, tuple[Tensor, Any]] = {}  # of memory that was given: one for each Tensor

        def shown(x: Tensor, tensor: bool) -> Any:
            original = self.original(x)
            if original is not x:
                return original
            base, path = place_of(x)
            memory = self.original(base)
            if memory is not base and type(memory) is np.ndarray:  # which gets what was written
                return views.setdefault(id(x), (x, memory_at(memory, path)))[1]
            if self._is_from_outside(x):
                return x
            view = self._at_end(x)
            if view is not None:
                x._array = view._array
            if self.is_own_leaf(x):
                x._traced = None
                if x._grad is not None:
                    x._grad = wrap(x._grad._array)
                return x
            if self.is_array_to_caller(x):
                return x._array
            if tapes and x._node is not None:
                x._traced = None
                recorded.append(x)
                return x
            if x._traced is None and not x.requires_grad:
                return x
            found = wrap(x._array) if view is None else view
            found._node = x._node if tapes else None
            recorded.append(found)
            return found

        around = STATE.machine
        self.kept.settle(shown, None if around is None else around.world)
        return recorded

    def _at_end(self, x: Tensor) -> Tensor | None:
        """A view of a Tensor of the caller's, which has its own memory again; None for others."""
        path: list[Step] = []
        for one in chain_of(x):
            owner = self.original(one)
            if type(owner) is Tensor and (owner is not one or self.is_outside(one)):
                view: Tensor = follow(owner, path)
                view._array = memory_at(owner._array, path)
                return view
            if one._view is not None:
                _, op, others, attributes, output = one._view
                read = {name: self.trace.concrete(value) for name, value in attributes.items()}
                path.insert(0, Step(op, others, read, output))
        return None

    def is_array_to_caller(self, x: Any) -> bool:
        """The same after a run: to a caller who gave Tensors, what has a history is a Tensor.

        A number of Python's (`math.exp(x[0])`) is one to all others.
        """
        traced = x._traced if type(x) is Tensor else None
        if self.tapes and traced is not None and x._node is not None:
            return False
        if traced is None or self.trace is not traced[0]:
            return False
        return is_number(x._array) or self.trace.stands(traced[1])

    def stands_in(self, x: Any) -> bool:
        """Whether a Tensor stands for an array from outside."""
        return self._stand_ins.get(id(self.original(x))) is x

    def replayed(
        self, returned: Any, given: Mapping[int, tuple[int, str]]
    ) -> tuple[tuple[Effect, ...], str]:
        """After a run: what a program is to do besides storing, or what of it none can do.

        `returned` is what the function returned, `given` are the Tensors for its arguments.
        """
        self._tell_of_kept(returned)
        self._compare_with_natives()
        counts = self.counted()
        for guard, _ in self._written():
            if guard.place in counts and guard.place not in self.counters:
                return (), guard.text
        log = [*self._settings(), *self._moves()]
        unseen = self._memory.written()
        if self.effects or unseen:
            return (), self.effects[0] if self.effects else f"{unseen}, which C code writes to"
        stored = [store.value for store in self.stores()]
        forms, found = Forms(self, returned, given, stored), []
        for done in log:
            try:
                found.append(effect_of(done, forms))
            except NoForm as error:
                return (), f"{done.text}, which gets {error}"
        return tuple(found), ""

    def _tell_of_kept(self, returned: Any) -> None:
        """Loops are told which Tensors the function leaves outside, and which it has returned."""
        if self.loops is None or not self.loops.closed or self.effects:
            return
        self.loops.require_as_begun()
        kept = [now for _, now in self._written()]
        kept += [x for done in self._moves() if done.operation is not print for x in done.operands]
        found = tensors_in(kept, self.is_outside)
        self.loops.keeps(found, tensors_in([returned], self.is_outside) or [])

    def _settings(self) -> list[Done]:
        """Places that hold something else by the end, but for those that are stores."""
        stored = {id(store.guard) for store in self.stores()}
        found, after = [], 0
        for guard, now in self._written():
            store = store_of(guard, now, self._classes)
            if id(guard) in stored:
                after += 1
                continue
            if not store.kind:
                continue  # an effect
            if now is MISSING or id(guard) in self._again:
                found.append(Done(store.clear, (), guard.text, after=after))
            if now is not MISSING:
                found.append(Done(store.put, (now,), guard.text, after=after))
        return found

    def changed_holders(self) -> list[Any]:
        """The containers and objects outside that the run has changed."""
        stored = [guard.holder for guard in self._stored.values()]
        return [*stored, *[changed.holder for changed in self._changed.values()]]

    @property
    def met(self) -> set[int]:
        """The ids of the objects outside of which the run has read something."""
        return {id(guard.holder) for guard in self.guards.values()}

    def written_to(self) -> list[Any]:
        """What the run has put into objects from outside."""
        found = [held(guard) for guard in self._stored.values()]
        for changed in self._changed.values():
            x = changed.holder
            found += x.values() if isinstance(x, dict) else x
        return found

    def _moves(self) -> list[Done]:
        """What was done to containers, and printed, in order."""
        after = len(self.stores())
        return [
            replace(done, after=after)
            for done in self._log
            if done.operation is print or self._changed[id(done.operands[0])].moved
        ]

    def draws_from(self, generator: Any) -> None:
        """C code is about to draw: a run that is made again draws the same numbers."""
        if isinstance(generator, np.random.RandomState):  # it keeps a number besides
            state = generator.get_state()
            self._drawn_from.setdefault(id(generator), partial(generator.set_state, state))
            return
        bits = getattr(generator, "bit_generator", generator)
        if isinstance(bits, np.random.BitGenerator):
            self._drawn_from.setdefault(id(bits), partial(setattr, bits, "state", bits.state))

    def take_back(self) -> None:
        """Puts back what stood at all places before the run."""
        self.machine.given_up = True
        if self._rules is not None:
            outcomes, place = self._rules
            outcomes.begin_at(place)
        for tensor, array, node in self._tensors.values():
            if tensor._traced is not None:
                tensor._array, tensor._traced, tensor._node = array, None, node
        for restore in self._drawn_from.values():
            restore()
        for guard, now in self._moved():
            store = store_of(guard, now, self._classes)
            if store.kind:
                store.restore()
        for changed in self._changed.values():
            if changed.moved:
                changed.restore()
        self._memory.restore()

    def _counts(self, guard: Guard, now: Any) -> bool:
        """Whether a loop has made a number of the program of an int that it began with."""
        return type(now) is Tensor and type(now._array) is int and guard.place not in self.counters

    def counted(self) -> set[Any]:
        """After a run: the places of ints that it read and gave another value."""
        if self.effects:
            return set()
        read = {guard.place for guard in self.guards.values()}
        return {
            guard.place
            for guard, now in self._written()
            if type(guard.value) is int
            and (type(now) is int or self._counts(guard, now))
            and guard.place in read
        }
