"""What operations tell of Tensors from outside, and what loops are told of what happens."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import BuiltinFunctionType, CellType, FunctionType, MethodType
from typing import Any

import numpy as np

from codegen.ir import NOWHERE
from tracegrad.autograd.assumed_histories import Derivative, note_derivative
from tracegrad.machine.world_protocol import ABSENT
from tracegrad.runtime.concurrency import is_only_thread
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.devices import DeviceArray
from tracegrad.tensors.tensor import Tensor
from tracegrad.tracing.restarts import AsGiven, AsksMode, Purpose, Unreplayed
from tracegrad.world import native_tables, tensor_places
from tracegrad.world.arrays_of_lengths import give_up
from tracegrad.world.code_origin import is_trusted
from tracegrad.world.guards import ATTRIBUTE, CELL, GLOBAL, ITEM, Guard, Seen
from tracegrad.world.interception import as_key
from tracegrad.world.lengths import Length
from tracegrad.world.loops.constant_arrays import gives_up
from tracegrad.world.loops.iterators_of_several import inlines, runs_again
from tracegrad.world.loops.widened_states import Learned
from tracegrad.world.loops.written_places import Place
from tracegrad.world.number_inputs import FLOATS
from tracegrad.world.run_outcome import Outcome
from tracegrad.world.tensor_histories import refuse_written_leaf

_BY_NAME = frozenset({ATTRIBUTE, CELL, GLOBAL, ITEM})
_LONGEST = 8  # ways from outside to an object

_MADE_ANEW = frozenset({int, complex, str, bytes, range, *FLOATS})
_NUMBERS = (int, float, complex, np.number)
_TOLD = frozenset({"grad", "shape", "ndim", "dtype", "size"})
"""Attributes of which a Tensor from outside tells itself; `grad` is a place of its own."""


def _kind(x: Any) -> Any:
    """The type of an object in the eyes of the function."""
    return x.__class__ if type(x) is Tensor else type(x)


def _reads_of(function: Any, x: Any) -> bool:
    """Whether an object has the variables around a function, or its globals."""
    if type(function) is not FunctionType:
        return False
    return x is function.__globals__ or any(x is cell for cell in function.__closure__ or ())


def _is_one_object(x: Any) -> bool:
    """Whether Python has one object alone of this value."""
    return -5 <= x <= 256 if type(x) is int else type(x) in (str, bytes) and len(x) <= 1


SAMPLED = "pass what it reads, return what is to be kept, and do the rest outside JAX"


class Told(Outcome):
    """The part of a world that watches operations on Tensors, and loops."""

    effects: list[str]  # that no program replays
    joins: Any  # where arms of looks meet, if they may
    happened: int
    contents: list[Seen]
    shown: list[Seen]
    identities: bool
    asked_mode = False  # the function asked whether operations are recorded
    mode_is_own = False  # the run records, and its caller does not
    purpose = Purpose.ANSWER
    given: Sequence[Any] = ()  # the traced arguments, as the caller gave them
    derived: dict[Any, Derivative] | None = None  # by what the function takes derivatives, if any
    _read: dict[Any, tuple[Any, Any]]
    _place: Callable[[Any, Any], Any]

    def knows_class(self, cls: type) -> bool:
        """Whether a class was there before the run: it was seen outside, or an object of it was."""
        return self.is_outside(cls) or any(type(x) is cls for x, _ in self._sources.values())

    def is_outside_tensor(self, x: Any) -> bool:
        """Whether it is a Tensor that was there before the run."""
        return id(x) in self._tensors

    def watch_loops(self, loops: Any) -> None:
        """Has loops stay loops, as far as they can."""
        self.loops, self.lengths = loops, loops.lengths
        self.turn = self.machine.turn = loops.turn
        self.machine.inlines = partial(inlines, loops)
        self.machine.runs_again = partial(runs_again, loops)

    def watch_turns(self, unseen: Any) -> None:
        """Has the run made again where it goes through a loop that it cannot close."""
        self.turn = self.machine.turn = unseen.turn

    def end_loops(self) -> None:
        """The function has returned."""
        if self.loops is not None:
            self.loops.fixed = True
            self.loops.finish()

    @property
    def unrolls(self) -> bool:
        """Whether a loop of this run will not stay one in the next."""
        return self.loops is not None and self.loops.refused

    def at_line(self, text: str) -> str:
        """What the function does, with the line that runs."""
        line = self.line()
        return f"{text} ({line})" if line else text.rstrip(",")

    def effect(self, text: str, lasts: bool = True) -> None:
        """The function does something that a program would not do again.

        `lasts` tells that the next call will do it too.
        """
        self.about_to(text, lasts)
        text = self.at_line(text)
        if text not in self.effects:
            self.effects.append(text)
        self.print_now()

    @property
    def may_stop(self) -> bool:
        """Whether the run may end here, with all that it has done taken back.

        One that only looks ends: what it uses up is the calls'. Where Tensors stand for arrays of
        JAX another goes on: functions of JAX's take them in a trace, and not in an eager call.
        """
        if self.trace.samples:
            return False
        if self.purpose is Purpose.LOOK:
            return True
        if STATE.of_jax or self.holds_jax:
            return False
        return is_only_thread() or not self.has_acted

    def about_to(self, text: str, lasts: bool = True) -> None:
        """The function is about to read or change something as no program does.

        A run that goes on from there may still be given up, for many reasons, and nothing takes
        that back: it ends here, and the function runs eagerly. Where other threads may have used
        what is to be taken back, it goes on, and answers the call.
        """
        if self.trace is not None and self.trace.samples:
            self.trace.refuse(f"reads or changes {text}", SAMPLED)
        if self.in_other_form:
            raise AsGiven
        if give_up(self.lengths) or gives_up(self.loops):
            raise Learned
        if self.may_stop:
            counts = lasts and not self.unrolls
            self.trace.unprogrammed = Unreplayed(self.at_line(text), counts)
            raise self.trace.unprogrammed
        if self.mode_is_own:
            raise AsksMode
        if self.loops is not None:
            self.loops.needs_tape()
        if self.loops is None or self.loops.follows:  # which is not to be done twice
            self.turn = self.machine.turn = None

    def follows(self, x: Any) -> bool:
        if type(x) is tuple:
            return any(map(self.follows, x))
        return self.numbers.found(x) is not None

    def decide(self, x: Any) -> bool:
        if type(x) is Length:
            return bool(self.lengths.is_some(x))
        if self.loops is not None:
            self.loops.decides(x)
        if self.joins is not None:
            self.joins.decides(x)
        return bool(super().decide(x))

    def delete_global(self, names: dict[str, Any], name: str) -> None:
        self.tell_of_removal()
        super().delete_global(names, name)

    def delete_cell(self, cell: CellType, name: str) -> None:
        self.tell_of_removal()
        super().delete_cell(cell, name)

    def delete_own_attribute(self, x: Any, name: str) -> None:
        self.tell_of_removal()
        super().delete_own_attribute(x, name)

    def set_own_attribute(self, x: Any, name: str, value: Any) -> None:
        super().set_own_attribute(x, name, self._kept(x, value))

    def store_global(self, names: dict[str, Any], name: str, value: Any) -> None:
        super().store_global(names, name, self._kept(names, value))

    def store_cell(self, cell: CellType, name: str, value: Any) -> None:
        super().store_cell(cell, name, self._kept(cell, value))

    def _kept(self, holder: Any, value: Any) -> Any:
        """What an object from outside is given: no length that nobody has looked at."""
        return value.look() if type(value) is Length and self.is_outside(holder) else value

    def tell_of_removal(self) -> None:
        """Something is about to be deleted that is no local variable."""
        self.happened += 1
        if self.loops is not None:
            self.loops.bars("something is removed")

    def stood(self, place: Place) -> Any:
        """What stands at a place, as the function has it."""
        now = place.now()
        known = self._read.get(self._place(place.holder, place.name))
        return known[1] if known is not None and known[0] is now else now

    def with_way(self, place: Place) -> Place | None:
        """A place with the way to it, for a run that is made again; None where there is none."""
        holder, way = place.holder, list[Guard]()
        while (guard := self._reading_of(holder)) is not None and len(way) < _LONGEST:
            way.append(guard)
            holder = guard.holder
        if not self.is_outside(place.holder) or len(way) == _LONGEST:
            return None
        return replace(place, way=tuple(reversed(way)))

    def _reading_of(self, x: Any) -> Guard | None:
        """How the run came to an object: by a name, or by a function that it called."""
        known = [g for g in self.guards.values() if g.read in _BY_NAME]
        found = next((guard for guard in known if guard.value is x), None)
        return found or next((guard for guard in known if _reads_of(guard.value, x)), None)

    def reaches(self, place: Place) -> bool:
        """Goes the way to the holder of a place; whether it leads there."""
        for guard in place.way:
            if self.is_outside(guard.value):
                continue
            if not self.is_outside(guard.holder) or guard.now() is not guard.value:
                return False
            found = self.read(guard.read, guard.holder, guard.name, guard.value, guard.text)
            if type(found) is FunctionType:
                self.parts_of(found)
        return self.is_outside(place.holder)

    def expects(self, place: Place) -> bool:
        """Writes what stands at a place once more, as turns do that are to come; whether it can."""
        if not self.reaches(place) or place.now() is ABSENT:
            return False
        holder, name = place.holder, place.name
        if place.kind == tensor_places.ITEM:
            self.native(operator.setitem, holder, name, self.native(operator.getitem, holder, name))
        elif place.kind == tensor_places.CELL:
            self.store_cell(holder, place.called, self.load_cell(holder, place.called))
        else:
            self.set_own_attribute(holder, name, self.own_attribute(holder, name))
        return True

    def renews(self, place: Place, x: Any) -> None:
        """A place that turns of a loop write to gets what the last of them has left there."""
        if place.now() is x:
            return
        if x is not ABSENT:
            self.kept.writes(place.kind, place.holder, place.name, x)
        place.put(x)
        for i, done in reversed([*enumerate(self._log)]):
            if not done.operands or done.operands[0] is not place.holder:
                continue
            if done.operation is not operator.setitem:
                break  # what stood there before may stand elsewhere since
            if Place(place.kind, *done.operands[:2]) == place:
                self._log[i] = replace(done, operands=(*done.operands[:2], x))

    def entered(self, x: Any) -> tuple[Any, Any] | None:
        """A Tensor from outside that is asked for something: the trace, and the input that it is.

        None for any other, and for one on a device, of which no program is made.
        """
        trace = self.trace
        if id(x) not in self._tensors:
            return None
        if type(x._array) is DeviceArray:
            self.reads(x)
            return None
        known = trace.captured.get(id(x))
        origin = NOWHERE if known is not None or trace.planned else trace.origin()
        value = trace.capture(x, origin) if known is None else known[1]
        trace.asked.add(id(value))
        return trace, value

    def reads_whole(self, x: Any) -> None:
        """Code that nobody follows has all the numbers of a Tensor, if it is from outside."""
        if id(x) in self._tensors:
            self.reads(x)

    def _tell_of_dtypes(self, operands: tuple[Any, ...]) -> None:
        """An operation may ask an array from outside for its dtype: it is an input of the program.

        What calls find in its place is of the same dtype then, and has as many axes.
        """
        for x in operands:
            if type(x) is Tensor and x._traced is not None and id(x) in self._originals:
                self.trace.asked.add(id(x._traced[1]))

    def _tell_of_tensors(self, operation: Any, operands: tuple[Any, ...], result: Any) -> None:
        """What an operation told of Tensors from outside, beside what they have told themselves.

        That is whether they require grad, and where they are. An operation that gives nothing, or a
        value that is recorded, has told nothing.
        """
        asked = operands[1] if operation is getattr else ""
        if (
            (result is None and not asked)
            or type(result) in (MethodType, BuiltinFunctionType)
            or (type(result) is Tensor and result._traced is not None)
            or id(operation) in native_tables.ASKS_WHO
            or asked in _TOLD
        ):
            return
        for x in (*operands, getattr(operation, "__self__", None)):
            if type(x) is Tensor and x._traced is None and id(x) in self._tensors:
                self._tell_of_history(x)

    def _tell_of_history(self, x: Tensor) -> None:
        """Code asks whether a Tensor from outside requires grad, say: calls compare that."""
        if all(x is not known.array for known in self.shown):
            self.shown.append(Seen(x, self.text_of(x), self.line()))

    def derives_from(self, x: Tensor) -> None:
        """The result of an operation on a Tensor of the trace gets a history."""
        refuse_written_leaf(self, x)

    def asks_mode(self) -> None:
        """The function asks whether operations are recorded."""
        self.asked_mode = True
        if self.mode_is_own:
            raise AsksMode

    def derives(self, nodes: Sequence[Any], wanted: Sequence[Any]) -> None:
        """The function takes a derivative of what it has computed, by keys of the tape."""
        if self.loops is not None:
            self.loops.derives()
        if self.joins is not None:
            self.joins.derives()
        note_derivative(self, nodes, wanted)

    def absorb_derivatives(self, before: Told) -> None:
        """Takes over those that runs along other paths have taken."""
        if before.derived is not None:
            self.derived = {**before.derived, **(self.derived or {})}

    def reads(self, array: Any) -> None:
        """C code reads an array, or Python the numbers of a Tensor: what it holds is guarded."""
        if all(array is not known.array for known in self.contents):
            self.contents.append(Seen(array, self.text_of(array), self.line()))
            if id(array) not in self._stand_ins:
                self._memory.note(array, self.text_of(array))
        if type(array) is Tensor:
            self._tell_of_history(array)

    def may_be_one_number(self, a: Any, b: Any) -> bool:
        """Whether a number that is an input, or is computed, may be the very object of another one.

        Another call gives another object, of which the program knows the value alone.
        """
        if a is b or Tensor not in (type(a), type(b)):
            return False
        kind = _kind(a)
        given = self.original(a) is not a and self.original(b) is not b  # two inputs
        return kind is _kind(b) and kind is not bool and issubclass(kind, _NUMBERS) and not given

    @property
    def copies_deeply(self) -> bool:
        """Whether `copy.deepcopy` runs, with a memo of its own: who an object is tells nothing."""
        frame = self.machine.frame
        if frame is None or frame.globals is not vars(copy):
            return False
        return not self.is_outside(frame.locals().get("memo"))

    def compares(self, a: Any, b: Any) -> None:
        """The function asks whether two objects are one; tuples may be shared otherwise then."""
        if self.joins is not None:
            self.joins.compares(a, b)
        for x in (a, b):
            if isinstance(x, tuple) and not self.copies_deeply:
                self.pin(x)
        if self.may_be_one_number(a, b):
            self.effect(f"which of two equal objects of type {_kind(a).__name__} it has")
            return
        if type(a) in native_tables.ATOMS or type(b) in native_tables.ATOMS:
            equal = type(a) is type(b) and (type(a) in FLOATS or a == b)
            frame = self.machine.frame
            plain = frame is not None and is_trusted(frame.globals)  # which keeps what it compares
            plain = plain and (a is b or type(a) not in FLOATS)
            if equal and not plain and type(a) in _MADE_ANEW and not _is_one_object(a):
                self.effect(f"which of two equal objects of type {type(a).__name__} it has")
            return
        if a is b and type(a) is not Tensor and id(a) not in self.shared:
            return  # it is at one place, whatever calls give
        for x in (a, b):
            original = self.original(x)
            if original is x:
                self.identities |= type(x) is Tensor and self.is_outside(x)
                continue
            if self._stand_ins.get(id(original)) is x:
                self.identities = True
            else:  # another call may give others
                self.trace.read("which objects its arguments are")

    def hashed(self, x: Any, stays: bool = True) -> Any:
        """What Python hashes, as the caller has it: a number is looked at, a Tensor compared."""
        if type(x) is tuple:
            found = tuple([self.hashed(item, stays) for item in x])
            return x if all(map(operator.is_, found, x)) else found
        self.numbers.look(x)
        if type(x) is not Tensor:
            return x
        if self.is_array_to_caller(x):
            hash(x)  # Python looks at it
            return as_key(x, stays)
        original = self.original(x)
        if original is not x or self.is_outside(x):
            self.compares(x, self)
        return original

    def owns(self, x: Any, scope: Any) -> None:
        """The function asks an object from outside for its dictionary of attributes."""
        if not isinstance(scope, dict):
            return
        self._scopes[id(scope)] = x
        text = f"{self.text_of(x)}.__dict__"
        if id(x) in self._by_path:
            self.read(ATTRIBUTE, x, "__dict__", scope, text)
        else:
            self._sources.setdefault(id(scope), (scope, text))

    def holds(self, owner: Any, function: Any) -> None:
        if self.is_outside(owner):
            self.part(owner, "__wrapped__", function)
