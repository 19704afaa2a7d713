"""What the machine asks about objects is answered here, and what was read or changed is kept.

An object is *outside* when it was there before the run. Every read of a place outside (a global, an
attribute, an item) is a guard: a program stands for a call while the places hold what they held.
Every change of a place outside is a store, where an array takes the place of one, or an effect,
which a program replays if it can. All that C code does goes through `native`, whose default is to
say that it does not know.
"""

from __future__ import annotations

import operator
import re
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from math import isfinite
from os.path import basename
from types import (
    CellType,
    FunctionType,
    MappingProxyType,
    ModuleType,
)
from typing import Any, NoReturn
from weakref import ref

import numpy as np

from tracegrad import config, machine
from tracegrad.errors import ConversionError
from tracegrad.machine.translation import VARKEYWORDS
from tracegrad.machine.world_protocol import get_plainly
from tracegrad.ops.dtypes import DEFAULT
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.tracing.restarts import HeldElsewhere, Unprogrammed
from tracegrad.values.dispatch import SEQUENCES
from tracegrad.values.prng_keys import Key
from tracegrad.world import native_tables
from tracegrad.world.array_to_tensor import written_by
from tracegrad.world.changed_containers import Changed
from tracegrad.world.class_attributes import Classes
from tracegrad.world.code_origin import (
    is_mutable,
    is_of_library,
    is_renewable,
    is_trusted,
    slots_of,
)
from tracegrad.world.container_copies import Copies
from tracegrad.world.dict_keys import Keys
from tracegrad.world.equal_keys import EqualKeys
from tracegrad.world.functions import EMPTY, Functions, is_made_anew
from tracegrad.world.guard_function import StateCheck, agrees, check, without
from tracegrad.world.guards import (
    ATTRIBUTE,
    CELL,
    CLASS,
    GIVEN,
    GLOBAL,
    ITEM,
    ITSELF,
    KEYS,
    LENGTH,
    MISSING,
    PACKED,
    PLAIN,
    PRESENT,
    Guard,
    Place,
    Seen,
    has_attributes,
    is_array,
    key_of,
    kind_of_items,
    packed,
    same,
)
from tracegrad.world.interception import MAKERS_OF_TENSORS, array_given_to, makes_arrays, of_jax
from tracegrad.world.mutating_operations import may_change
from tracegrad.world.number_inputs import FLOATS, Numbers, hands_on, moves
from tracegrad.world.outside_memory import ReadMemory
from tracegrad.world.reads_of_versions import NO_ITEMS, Reads
from tracegrad.world.sequence_items import Sequences
from tracegrad.world.stores import Store, is_name, store_of
from tracegrad.world.tensor_histories import give_memory, refuse_history_write
from tracegrad.world.tensor_places import held
from tracegrad.world.variables import Variables

HANDFUL = 4


class World(Functions, Variables, Sequences, Classes, Keys, Reads):
    """The objects that one run of a function touches."""

    def __init__(self, outside: Iterable[tuple[str, Any]]) -> None:
        """`outside` are the function and what it is given that is no array, as users call it."""
        super().__init__()
        self.machine = machine.Machine(self)
        self.loops: Any = None  # those of the run, where they may stay loops
        self.joins: Any = None  # where arms of looks meet, if they may
        self.happened = 0  # how often something was changed that is no local variable
        self.trace: Any = None  # the trace of the run; None where it leaves no program
        self.guards: dict[tuple[int, str, Any], Guard] = {}
        self.effects: list[str] = []  # that no program replays
        self._scopes: dict[int, Any] = {}  # the object of a dictionary of attributes, by its id
        self._own: dict[int, tuple[type, Any]] = {}  # classes that the run makes: see `makes`
        self._orders: dict[int, Any] = {}  # of classes and their bases, known by identity
        self._sources: dict[int, tuple[Any, str]] = {}
        self._equal = EqualKeys()
        self._read: dict[Place, tuple[Any, Any]] = {}  # raw and as the function has it, by place
        self._arrays: list[Any] = []  # from outside, that the function saw
        self.numbers = Numbers()
        self._performed: Any = None  # what C code does
        self._given: Sequence[Any] = ()  # and with what
        self.copies = Copies()
        self.within: set[int] = set()  # containers whose contents are being read, by id
        self.special = native_tables.SPECIAL  # methods that who is given an object may call
        self.counters: Collection[Any] = ()  # places of ints that the function counts with
        self.tapes = False  # the caller gave Tensors, whose histories go on
        self.retained: list[ref[Tensor]] = []  # whose gradients the function asked to be kept
        self.arguments: Collection[int] = ()  # of the traced function, defaults too, by id
        self.renewed: Collection[Any] = ()  # places that were seen to hold another such object
        self._by_path: dict[int, Guard] = {}  # where objects stand that are known by their place
        self._pinned: dict[int, Any] = {}  # those of them whose identity matters
        self._checked: dict[int, Guard] = {}  # the same, as the check has them
        self._places: list[Guard] = []  # of which calls read whatever array stands there
        self.contents: list[Seen] = []  # arrays whose numbers were read unseen
        self.shown: list[Seen] = []  # Tensors of which was asked whether they require grad
        self.identities = False  # the function asked whether two arrays are one
        self._helpers: dict[Any, Any] = {}  # under caches, with keywords that they were called with
        self._in_tuples: set[int] = set()  # ids of what tuples hold
        self._holding: dict[int, list[Guard]] | None = None
        for text, value in outside:
            self.enter(value, text)

    def enter_object(self, number: int, value: Any, text: str) -> None:
        """One of the objects among the arguments: other calls have others of its class."""
        self._enter_at(self.guard(GIVEN, STATE, number, value, text), value, text)

    # -- what is outside --------------------------------------------------------------------------

    def enter(self, value: Any, text: str) -> Any:
        """An object from outside, as the function has it."""
        kind = type(value)
        if kind in PLAIN or id(value) in self._own:
            return value
        self.pin(value)  # nothing tells where it stands
        numbers = None if self.trace is None else self.trace.numbers_of(value, text)
        if numbers is not None:
            return self._stand_in(value, numbers, text)
        if id(value) not in self._sources:
            self._sources[id(value)] = (value, text)
            if kind is Tensor and self.trace is not None and value._traced is None:
                give_memory(value)
                self._tensors[id(value)] = (value, value._array, value._node)
            if kind is tuple:
                self._in_tuples.update(map(id, value))
        return value

    def _stand_in(self, array: Any, numbers: np.ndarray, text: str) -> Tensor:
        """The Tensor of these numbers that the function has for an array from outside, an input."""
        if (known := self._stand_ins.get(id(array))) is None:
            if text:  # else the function has made it
                self._sources[id(array)] = (array, text)
                self._arrays.append(array)
            value = self.trace.capture(array, self.trace.origin())
            known = self._stand_ins[id(array)] = wrap(numbers, (self.trace, value))
            self.stands_for(known, array)
            self.holds_jax |= array is not numbers
        return known

    def tensor_of_jax(self, array: Any) -> Any:
        """The Tensor for an array that a function of JAX's has made, if it holds numbers."""
        numbers = self.trace and self.trace.numbers_of(array, "an array of JAX")
        return array if numbers is None else self._stand_in(array, numbers, "")

    def is_outside(self, x: Any) -> bool:
        """Whether an object was there before the run."""
        return id(x) in self._sources or self.numbers.source_of(x) is not None

    def is_outside_id(self, key: int) -> bool:
        """The same, of an object's ``id``."""
        return key in self._sources

    def text_of(self, x: Any) -> str:
        """How the user would call an object from outside."""
        known = self._sources.get(id(x))
        return known[1] if known is not None else f"an object of type {type(x).__name__}"

    def guard(self, read: str, holder: Any, name: Any, value: Any, text: str) -> Guard:
        """Notes that a place outside held a value, which decides what the program is."""
        found = self._noted(read, holder, name, value, text)
        if type(value) in FLOATS:
            self.numbers.look_at(found)
        return found

    def _noted(self, read: str, holder: Any, name: Any, value: Any, text: str) -> Guard:
        """The guard of a place, which held this before the run changed what is there."""
        if id(holder) in self._own:
            return self._guard(read, holder, name, value, text)
        if type(holder) is MappingProxyType and self._changed and id(holder) not in self._classes:
            self.effect(f"{text}, which shows what is changed")
        if read in (KEYS, LENGTH) and id(holder) in self._scopes and self._stored:
            self.effect(f"{text}, which may change")
        changed = self._changed.get(id(holder))
        if changed is not None:
            self.reads_changed(holder)
            fact = changed.fact(read, name, value)
            own = read == PRESENT and self._is_own(changed, holder, name)
            if fact is None or own:
                return self._guard(read, holder, name, value, text)
            read, name, value = fact
        key = (id(holder), read, key_of(name))
        if key not in self.guards:
            self.guards[key] = self._guard(read, holder, name, value, text, self.line())
            self._holding = None
        return self.guards[key]

    def _guard(
        self, read: str, holder: Any, name: Any, value: Any, text: str, line: str = ""
    ) -> Guard:
        of = self._by_path.get(id(holder))
        return Guard(read, holder, name, value, text, line, of, type(value))

    def read(self, read: str, holder: Any, name: Any, value: Any, text: str) -> Any:
        """A value that the function reads at a place outside."""
        if id(holder) in self._own:
            return value
        place = self._place(holder, name)
        known = self._read.get(place)
        if known is not None and known[0] is value:
            return known[1]
        if place in self._stored:  # the run's own
            return value
        if known is not None:
            self.effect(f"{text}, which something else changes meanwhile")
            return value
        found = self.enter_from(read, holder, name, value, text)
        self._read[place] = (value, found)
        return found

    def enter_from(self, read: str, holder: Any, name: Any, value: Any, text: str) -> Any:
        """What stands at a place outside, as the function has it: numbers are inputs if may be."""
        guard = self._noted(read, holder, name, value, text)
        if type(value) is int and guard.place in self.counters:
            return self.numbers.count(self, value, guard.place, guard)
        if type(value) in FLOATS and isfinite(value) and self._may_change(holder):
            moved = self._performed is not None and moves(self, self._performed, self._given)
            return self.numbers.enter(value, guard.place, guard, moved)
        if type(value) in FLOATS:
            self.numbers.look_at(guard)
        return self._enter_at(guard, value, text)

    def _enter_at(self, guard: Guard, value: Any, text: str) -> Any:
        """An object that stands at a place outside, as the function has it."""
        if id(value) in self._by_path:  # it stands in two places
            return value
        if not self._is_renewed(guard):
            return self.enter(value, text)
        self._by_path[id(value)] = guard
        self._sources[id(value)] = (value, text)
        if type(value) is deque:
            self.guard(ATTRIBUTE, value, "maxlen", value.maxlen, f"{text}.maxlen")
        return value

    @contextmanager
    def calls_of(self, special: frozenset[str]) -> Iterator[None]:
        """Meanwhile operands are read for somebody who calls these methods of theirs, if any."""
        before, self.special = self.special, special
        try:
            yield
        finally:
            self.special = before

    def helper(self, helper: Any, keywords: dict[str, Any], known: Any) -> Any:
        """What the run knows a helper under a cache by: one object, as guards hold it."""
        key = id(helper), tuple((name, key_of(x)) for name, x in keywords.items())
        return self._helpers.setdefault(key, known(helper, keywords))

    def was_read(self, holder: Any, name: Any) -> bool:
        """Whether the run has read a place, or written to it."""
        return self._place(holder, name) in self._read or self.was_stored(holder, name)

    def was_stored(self, holder: Any, name: Any) -> bool:
        """Whether the run has written to a place."""
        return self._place(holder, name) in self._stored

    def attributes_of(self, scope: Any) -> Any:
        """The object whose attributes a dictionary holds; None for other dictionaries."""
        return self._scopes.get(id(scope))

    def as_returned(self, leaf: Any) -> Any:
        """A leaf of what the function returns; an array that it has written to as it is now."""
        known = self._stand_ins.get(id(leaf))
        return self.numbers.lifted(self, leaf) if known is None else known

    def has_changed(self, x: Any) -> bool:
        """Whether the run has changed a container from outside."""
        return id(x) in self._changed

    def _is_own(self, changed: Changed, holder: Any, name: Any) -> bool:
        """Whether it is the run that put something there, or took it out."""
        place = self._place(holder, name)
        return place in self._stored or place in changed.members

    def _is_renewed(self, guard: Guard) -> bool:
        """Whether calls may find another object of the same class in the place of this one.

        A place that was seen to hold another (``params = update(params)``) is one of `renewed`. In
        the next trace the object there, and all that it holds, is known by its place (`Guard.of`):
        its class is guarded, and what is read below it. Two such places hold different objects, or
        one, as they did. An object whose identity tells something (`pin`) stays guarded by that.
        """
        return (
            (guard.of is not None or guard.read == GIVEN or guard.place in self.renewed)
            and id(guard.value) not in self._sources
            and id(guard.value) not in self._orders
            and self._holds_all(guard)
            and guard.value is not NO_ITEMS
        )

    def _holds_all(self, guard: Guard) -> bool:
        """Whether all that an object is can be read of it again."""
        if is_renewable(guard.kind):
            return True
        return self.anew and guard.of is not None and is_made_anew(guard.value)

    def packed(self, x: Any, given: Callable[[Tensor], Tensor]) -> Any:
        """An operand that an array is made of: numbers from outside are one array input.

        `given` is what the operation gets of that array.
        """
        if type(x) not in SEQUENCES or not self.is_outside(x) or self.trace is None:
            return x
        if self.has_changed(x):  # what it holds is not what calls find
            return x
        kind = kind_of_items(x)
        if kind is None or (kind is int and len(x) <= HANDFUL):  # few ints are seldom data
            return x
        guard = self._guard(PACKED, x, kind, None, self.text_of(x))
        array: Any = self.numbers.known.get(guard.place)
        try:
            array = packed(x, kind) if array is None else array
        except OverflowError:
            return x
        array = self.guard(PACKED, x, kind, array, self.text_of(x)).value
        return given(self._stand_in(array, array, guard.text))

    def is_by_path(self, x: Any) -> bool:
        """Whether an object is known by its place, where calls may find another."""
        return id(x) in self._by_path and id(x) not in self._pinned

    def place_by_path(self, x: Any) -> Guard | None:
        """Where an object stands that is known by its place."""
        return self._by_path[id(x)] if self.is_by_path(x) else None

    def pin(self, x: Any) -> None:
        """Who an object is matters: it is guarded by identity, wherever it stands."""
        if id(x) in self._by_path:
            self._pinned[id(x)] = x

    def _may_change(self, holder: Any) -> bool:
        """Whether a float at a place is an input: one that is no constant of a library's."""
        if self.trace is None or config.fast_math:  # whose passes see every number
            return False
        return not (type(holder) is dict and is_trusted(holder))

    def line(self) -> str:
        """The line of the user's that runs: ``train.py:31``."""
        frame = innermost = self.machine.frame
        while frame is not None and is_trusted(frame.globals):
            frame = frame.back
        frame = frame or innermost
        return "" if frame is None else f"{basename(frame.place.code.co_filename)}:{frame.line}"

    # -- arrays that become Tensors ---------------------------------------------------------------

    def tensor_in_place_of(self, array: np.ndarray, operands: Any, recorded: bool = True) -> Tensor:
        try:
            return super().tensor_in_place_of(array, operands, recorded)
        except ConversionError:
            if not recorded or self.trace is None or self.trace.samples:
                raise
            self.trace.unprogrammed = told = HeldElsewhere(self.line())
            raise told from None

    # -- what no program does ---------------------------------------------------------------------

    def ends_run(self, does: str) -> NoReturn:
        """No program can do what the function `does`: its run ends, whatever it catches."""
        self.trace.unprogrammed = told = Unprogrammed(does, self.line())
        raise told

    def sets_in_history(self, x: Tensor, name: str) -> None:
        """The function sets an attribute of a Tensor that has to do with its history."""
        refuse_history_write(self, x, name)

    # -- effects ----------------------------------------------------------------------------------

    def may_end(self, cls: type) -> None:
        """An object may go within the call, which `__del__` is told in Python's time alone."""
        if is_mutable(cls) and self.class_attribute(cls, "__del__") is not machine.ABSENT:
            self.effect(f"{cls.__name__}.__del__()")

    def change(self, x: Any, moves: bool = True, reads: bool = True) -> Changed | None:
        """The function is about to change a container; None for one that no program changes again.

        That is one which it made itself, or of a kind that is not known. `moves` tells that more is
        done than to give an item another value, and `reads` that it is more than to append one.
        """
        if not self.is_outside(x):
            return None
        if id(x) in self._scopes or (moves and type(x) not in native_tables.REPLAYED):
            self.effect(self.text_of(x))
            return None
        if id(x) not in self._changed:
            self._changed[id(x)] = Changed(x)
        if reads:
            self.reads_changed(x)
        changed = self._changed[id(x)]
        changed.moved |= moves
        return changed

    def store(self, read: str, holder: Any, name: Any, text: str) -> None:
        """The function is about to write to a place outside."""
        if id(holder) in self._own:
            return
        if holder is vars(sys):
            self.effect(text)
        place = self._place(holder, name)
        if place not in self._stored:
            before = held(Guard(read, holder, name, MISSING, text))
            self.may_end(type(before))
            guard = self._stored[place] = self._guard(read, holder, name, before, text)
            if not store_of(guard, before, self._classes).kind:
                self.effect(text)
        elif held(self._stored[place]) is MISSING:  # it comes after the names that there are
            guard = self._stored[place] = self._stored.pop(place)
            if not same(guard.name, name):  # equal, and another object
                self.effect(text)
            self._again[id(guard)] = guard

    def writes(self, kind: int, holder: Any, name: Any, value: Any) -> None:
        self.happened += 1
        if self.loops is not None and type(holder) is not Key:  # what a key is never changes
            self.loops.stores(kind, holder, name)
        if self.numbers.found(value) is not None:
            self._floats[id(value)] = value, self.numbers.lifted(self, value)
        super().writes(kind, holder, name, value)

    def changes(self, x: Any) -> None:
        """C code is about to change an object, in a way that no program replays."""
        self.happened += 1
        if self.loops is not None:
            self.loops.bars("C code changes an object")
        if self.is_outside(x):
            self.effect(self.text_of(x))

    # -- attributes -------------------------------------------------------------------------------

    def type_of(self, x: Any) -> type:
        cls = type(x)
        if id(x) in self._sources and is_mutable(cls):
            self.guard(CLASS, x, None, cls, f"type({self.text_of(x)})")
        return cls

    def own_attribute(self, x: Any, name: str) -> Any:
        found = super().own_attribute(x, name)
        if isinstance(x, type):
            if not is_mutable(x):
                return found
            read, holder, text = GLOBAL, self.scope_of(x), f"{x.__name__}.{name}"
        elif id(x) not in self._sources:
            return found
        elif isinstance(x, ModuleType):
            read, holder, text = GLOBAL, vars(x), f"{self.text_of(x)}.{name}"
            if is_trusted(vars(x)) and is_of_library(found):
                self.guard(read, holder, name, found, text)
                return self.enter(found, text) if isinstance(found, ModuleType) else found
        else:
            read, holder, text = ATTRIBUTE, x, f"{self.text_of(x)}.{name}"
        if found is machine.ABSENT:
            if read == GLOBAL or has_attributes(x):
                self.lacks(read, holder, name, text)
            return found
        return self.read(read, holder, name, found, text)

    def set_own_attribute(self, x: Any, name: str, value: Any) -> None:
        self.about_to_set(x, name)
        super().set_own_attribute(x, name, value)

    def delete_own_attribute(self, x: Any, name: str) -> None:
        self.about_to_remove(x, name)
        super().delete_own_attribute(x, name)

    def about_to_set(self, x: Any, name: str) -> None:
        """The function writes to an attribute."""
        if isinstance(x, type):
            self.store(GLOBAL, self.scope_of(x), name, f"{x.__name__}.{name}")
        elif id(x) not in self._sources:
            return
        elif isinstance(x, ModuleType):
            self.store(GLOBAL, vars(x), name, f"{self.text_of(x)}.{name}")
        else:
            text = f"{self.text_of(x)}.{name}"
            if type(x) is FunctionType and name.startswith("__"):  # the next call is of another one
                self.effect(text)
            self.store(ATTRIBUTE, x, name, text)

    def about_to_remove(self, x: Any, name: str) -> None:
        """The function removes an attribute: calls find one there, or none."""
        if not (isinstance(x, type) or id(x) in self._sources):
            return
        text, scope = f"{self.text_of(x)}.{name}", self._scope_in_guards(x)
        if self.was_stored(scope if isinstance(x, type | ModuleType) else x, name):
            pass
        elif name in scope:
            self.guard(PRESENT, scope, name, True, f"whether {text} is there")
        elif any([slot.__name__ == name for slot in slots_of(type(x))]):
            value = held(Guard(ATTRIBUTE, x, name, MISSING, text))
            read = self.guard if value is MISSING else self.read
            read(ATTRIBUTE, x, name, value, text)
        else:
            self.own_attribute(x, name)  # which it lacks
        self.about_to_set(x, name)

    def _scope_in_guards(self, x: Any) -> Any:
        """The dictionary of an object's attributes, as guards read it; of none an empty one."""
        if isinstance(x, type):
            return self.scope_of(x)
        if isinstance(x, ModuleType):
            return vars(x)
        if not has_attributes(x):
            return {}
        scope = get_plainly(x, "__dict__")
        self.owns(x, scope)
        return scope

    # -- the gate ---------------------------------------------------------------------------------

    def perform(self, operation: Callable[..., Any], /, *operands: Any, **keywords: Any) -> Any:
        if self.numbers.any and operation is not operator.is_ and operation is not operator.is_not:
            taken = self.numbers.taken(self, operation, operands, keywords)
            if type(taken) is not tuple:
                return taken
            operands = taken
        self.shows_parts(operation, (*operands, *keywords.values()))
        if not self.reads_key_order and id(operation) not in native_tables.BY_KEY:
            self.reads_key_order = any(map(self.is_given_dict, operands))
        if makes_arrays(operation, operands):
            given, before = array_given_to(operation, operands, keywords), operands
            operands = tuple([self.packed(x, given) for x in operands])
            if id(operation) in MAKERS_OF_TENSORS and any(map(operator.is_not, operands, before)):
                self.guard(ITEM, DEFAULT, 0, DEFAULT[0], "tracegrad.get_default_dtype()")
        if self.holds_jax:
            operands, keywords = of_jax(self.original, operation, operands, keywords)
        self.happened += may_change(operation, operands)
        for x in written_by(operation, operands, keywords):
            if outside := self.outside_memory(x):
                self.effect(outside)
        if self.joins is not None and self.joins.met:
            self.joins.sees(operation, operands)
        rule = RULES.get(id(operation), RULES[CALL])
        if self.loops is not None:
            rule = self.loops.rule_for(operation, operands, keywords) or rule
        if self._stand_ins and id(operation) not in native_tables.ASKS_WHO:
            self._tell_of_dtypes(operands)
        copied = self.copies.count
        around, self._performed = (self._performed, self._given), operation
        self._given = operands
        try:
            result = self.copies.handed_on(rule(self, operation, operands, keywords), copied)
        finally:
            self._performed, self._given = around
        if operands and id(operation) in native_tables.CHANGING and self.copies.of(operands[0]):
            self.renew_copies(operands[0])
        if self._tensors:
            self._tell_of_tensors(operation, operands, result)
        return self.shows(operation, operands, keywords, result)

    def is_given_dict(self, x: Any) -> bool:
        """Whether a dictionary is one of the arguments, or what ``**kwargs`` took of these."""
        if type(x) is not dict or id(x) in self._originals:
            return type(x) is dict
        frame = self.machine.frame
        while frame is not None and frame.back is not None:
            frame = frame.back
        if frame is None or not frame.code.co_flags & VARKEYWORDS:
            return False
        cells = [y for y in frame.fast if type(y) is CellType and y != EMPTY]
        return any([y is x for y in (*frame.fast, *[cell.cell_contents for cell in cells])])

    def to_c(self, value: Any, looks: bool = False) -> None:
        if looks or (self._performed is not None and not hands_on(self._performed)):
            self.numbers.look(value)

    # -- what is left after the run ---------------------------------------------------------------

    def settle(self, tapes: bool = False) -> list[Tensor]:
        recorded = super().settle(tapes)
        self.let_go()
        return recorded

    def let_go(self) -> None:
        """The run is over, and leaves no program: what it met is not kept alive."""
        for known in vars(self).values():  # the world itself waits for the collector of circles
            if type(known) in (dict, list):
                known.clear()
        if self.joins is not None:
            self.joins.release()
        self.numbers, self._holding = Numbers(), None
        self._equal, self._memory = EqualKeys(), ReadMemory()
        self.copies.clear()

    def place_of(self, guard: Guard) -> tuple[Any, ...]:
        """What tells the places of stores apart."""
        return store_of(guard, guard.value, self._classes).place

    def written_arrays(self) -> list[Store]:
        """After a run: the arrays from outside that the function wrote to, with what they hold."""
        found = []
        for tensor in self._stand_ins.values():
            array = self.original(tensor)
            value = self.trace.captured[id(array)][1]
            if tensor._traced[1] is not value:
                itself = Guard(ITSELF, array, None, array, self.text_of(array))
                guard = self.source_of(array) or itself
                found.append(Store(guard, array, wrap(tensor._array, tensor._traced), "contents"))
        for tensor, array, node in self._tensors.values():
            if tensor._traced is not None:
                itself = Guard(ITSELF, tensor, None, tensor, self.text_of(tensor))
                guard = self.source_of(tensor) or itself
                value = wrap(tensor._array, tensor._traced)
                value._node = tensor._node  # until it was asked for its history
                self.trace.left[id(tensor)] = tensor, tensor._traced[1]
                tensor._array, tensor._traced, tensor._node = array, None, node
                found.append(Store(guard, tensor, value, "contents"))
        return found

    def places_of_arrays(self) -> list[Guard]:
        """Where the arrays from outside stand that the function saw: another may stand there."""
        found = map(self.source_of, self._arrays)
        return [guard for guard in found if guard is not None]

    # -- what it says of a trace ------------------------------------------------------------------

    def source_of(self, holder: Any) -> Guard | None:
        """Where an array is read from, when that is one place: calls read it there again."""
        number = self.numbers.source_of(holder)
        if number is not None:
            return number
        if self._holding is None:
            self._holding = {}
            for guard in self.guards.values():
                self._holding.setdefault(id(guard.value), []).append(guard)
        found = self._holding.get(id(holder), [])
        if not found or id(holder) in self._in_tuples:
            return None
        if len(found) > 1 and not self._is_shared(found):
            return None
        in_list = found[0].read == ITEM and (
            type(found[0].holder) in (list, deque) or found[0].of is not None
        )
        named = found[0].read in (GLOBAL, ATTRIBUTE, CELL, PACKED)
        return found[0] if in_list or named else None

    def _is_shared(self, places: Sequence[Guard]) -> bool:
        """Whether objects that are known by their place hold one array, or Tensor, at places.

        It is known by the first: at the others stands the same one, whichever that is.
        """
        return all([guard.of is not None and is_array(guard.value) for guard in places])

    def _shared_arrays(self, places: Iterable[Guard], but: Collection[int]) -> dict[int, Guard]:
        """The arrays that objects hold at several places: by id the first of these."""
        holding = self._holding or {}
        arrays = [guard for guard in places if is_array(guard.value)]
        shared = [guard for guard in arrays if len(holding.get(id(guard.value), [])) > 1]
        return {id(guard.value): guard for guard in shared if id(guard.value) not in but}

    def called(self, holder: Any) -> str | None:
        """The name by which the function's code knows an array, or a list, from outside."""
        source = self.source_of(holder)
        text = source.text if source is not None else self._sources.get(id(holder), (None, ""))[1]
        words = re.findall(r"\w+", text)
        numbers = [*takewhile(str.isdecimal, reversed(words))]  # ``layers[0][1]``: layers_0_1
        named = words[: len(words) - len(numbers)]
        return "_".join([named[-1], *reversed(numbers)]) if named and is_name(named[-1]) else None

    def changed(self, but: Iterable[Guard] = ()) -> Guard | None:
        """The first guard that no longer holds, by type and value; None while all hold."""
        return next(self.all_changed(but), None)

    def all_changed(self, but: Iterable[Guard] = ()) -> Iterator[Guard]:
        """All guards that no longer hold."""
        skipped, by_path = set(map(id, filter(self._is_read_again, but))), self._checked
        for guard in self.guards.values():
            if id(guard) in skipped or self.is_of_any_value(guard):
                continue
            if not agrees(guard, guard.now(), by_path):
                yield guard

    def _known_by_path(self) -> dict[int, Guard]:
        """The objects that may be others on another call, by id: the guards of their places."""
        return {key: g for key, g in self._by_path.items() if key not in self._pinned}

    def _others(self) -> list[Any]:
        """The objects outside that stay who they are, where others may not."""
        if not self._by_path:
            return []
        known = [value for key, (value, _) in self._sources.items() if key not in self._by_path]
        return [x for x in known if is_renewable(type(x))]

    def _is_read_again(self, guard: Guard) -> bool:
        """Whether of what stands at a place the type alone matters."""
        if type(guard.value) is int:
            return guard.place in self.counters
        if type(guard.value) in FLOATS:
            return not self.numbers.is_looked_at(guard)
        return not self.identities

    def is_of_any_value(self, guard: Guard) -> bool:
        """Whether a place holds a float that was only moved, which decided nothing."""
        numbers = self.numbers
        moved = type(guard.value) in FLOATS and numbers.is_moved(guard)
        return moved and not numbers.is_looked_at(guard)

    def check(
        self,
        but: Iterable[Guard] = (),
        stored: Iterable[Guard] = (),
        asked: Iterable[Guard] = (),
    ) -> StateCheck:
        """One generated function, which is True while every guard holds.

        `but` are places of arrays and Tensors that calls read again, of which the type alone is
        compared, and not even that of those in `asked`: whoever reads them asks it. `stored` are
        places that every call writes.
        """
        every = {id(g): g for g in (*but, *filter(self.is_of_any_value, self.guards.values()))}
        places = list(filter(self._is_read_again, every.values()))
        read = {id(seen.array) for seen in self.contents}
        by_path, others = self._known_by_path(), self._others()
        by_path.update(self._shared_arrays(places, read))
        known = set(map(id, places))  # what is stored there is another array on every call
        places += [g for g in stored if is_array(g.value) and id(g) not in known]
        places = [place for place in places if id(place.value) not in by_path]
        guards = without(self.guards.values(), places, read)
        self._places = [place for place in places if id(place.value) not in read]
        left_out = set(map(id, asked))
        places = [place for place in self._places if id(place) not in left_out]
        self._checked = by_path
        return check(guards, places, self.contents, self.shown, by_path, others)


CALL = 0
RULES: dict[int, Callable[[World, Any, tuple[Any, ...], dict[str, Any]], Any]] = {}
"""What is done in place of an operation of C, by its id; for all others there is `CALL`."""


def rule_for(*operations: Callable[..., Any]) -> Callable[[Any], Any]:
    """Enters a rule for these operations."""

    def enter(rule: Any) -> Any:
        RULES.update((id(operation), rule) for operation in operations)
        return rule

    return enter
