"""Lists of arrays of one type that are there before a loop: the program reads items by number.

``for W in Ws``, ``for W, b in params`` and ``Ws[t]`` are loops over numbers. The program has a list
of the arrays (`array_list`), one for each place in an item where items are tuples. Such a list is
made before the outermost loop that reads it. Where that is known too late, the run is made again
(`Learned`), and the loop is known (`READING_LISTS`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import CodeType
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from codegen.ir import Origin, Value
from tracegrad.machine.liveness import live
from tracegrad.ops.python_lists import array_list, list_item
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.tape import parent_of
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.world.lengths import FEWEST
from tracegrad.world.loops.loop_runner import Held, shows
from tracegrad.world.loops.resumption import is_tuple, maker_of
from tracegrad.world.loops.widened_states import Learned
from tracegrad.world.native_reads import followed

DEEPEST = 3  # containers in one another that are looked through for such lists

READING_LISTS: WeakKeyDictionary[CodeType, set[int]] = WeakKeyDictionary()
"""The loops, by where they begin, in whose turns lists from before them are read by number."""

Path: TypeAlias = "tuple[int, ...]"


@dataclass(eq=False)
class Uniform:
    """Such a list, and the lists of the program that stand for what is at a place of each item."""

    items: Any  # as the function has it: of one from outside, a copy
    then: tuple[Any, ...]  # the items, of Tensors
    columns: dict[Path, tuple[Value, tuple[Tensor, ...]]]

    @cached_property
    def ids(self) -> frozenset[int]:
        """The ids of the arrays."""
        return frozenset(id(x) for _, tensors in self.columns.values() for x in tensors)

    @property
    def length(self) -> int:
        """How many items there are."""
        return len(self.then)


class Uniforms:
    """The lists of arrays of one type that a run goes through."""

    loops: Any
    trace: Any
    known: dict[int, Any]
    stand_ins: set[Value]
    listed: dict[tuple[Value, ...], Value]  # lists of the program, by what they hold

    def uniform(self, x: Any) -> Uniform | None:
        """What is known of a list of arrays of one type, which is about to be read by number."""
        if type(x) not in (list, tuple) or len(x) < FEWEST or not self._may_be_listed(x):
            return None
        if self.loops.suspended or STATE.trace is not self.trace:
            return None
        if self.loops.heads:
            self._learn_reading()
            return None
        return self._list(x)

    def list_for(self, frame: Any, target: int) -> None:
        """A loop is about to begin: lists that its turns are known to read by number are listed."""
        if self.loops.heads or target not in READING_LISTS.get(frame.code, ()):
            return
        waiting = [frame.fast[i] for i in live(frame.code)[target]]
        while (frame := frame.back) is not None:
            waiting += frame.fast
        for _ in range(DEEPEST):
            waiting = [x for x in waiting if type(x) in (list, tuple, dict)]
            for x in waiting:
                if id(x) not in self.known and len(x) >= FEWEST and self._may_be_listed(x):
                    self._list(x)
            waiting = [y for x in waiting for y in (x.values() if type(x) is dict else x)]

    def _learn_reading(self) -> None:
        """The outermost loop reads such a list: in the next run that is known where it begins."""
        outermost = next(iter(self.loops.heads.values()))
        known = READING_LISTS.setdefault(outermost.frame.code, set())
        if outermost.target not in known and self.loops.is_repeatable():
            known.add(outermost.target)
            raise Learned

    def _may_be_listed(self, x: Sequence[Any]) -> bool:
        """Whether all items are arrays of one type, or tuples of such; nothing is read of them."""
        kinds = {_kind(item) for item in x} if type(x) is not dict else {None}
        return len(kinds) == 1 and None not in kinds

    def _list(self, x: Any) -> Uniform | None:
        items = followed(self.loops.world, x)
        then = tuple(map(self._as_own, items))
        found: dict[Path, tuple[Value, tuple[Tensor, ...]]] = {}
        columns = [dict(_leaves(item, ())) for item in then]
        values: list[Value] = []
        for path in columns[0]:
            tensors = tuple([column[path] for column in columns])
            if not all(map(self.loops.is_recorded, tensors)) or any(t._view for t in tensors):
                return None
            values += [t._traced[1] for t in tensors]
            found[path] = values[-1], tensors
        alone = len(set(values)) == len(values) and not any(v.type.weak for v in values)
        if not alone or not self._are_of_no_other(found):
            return None
        name = self._name_of(x)
        for path, (_, tensors) in found.items():
            found[path] = self._listed(tensors, name, path), tensors
        known = Uniform(items, then, found)
        self.known[id(x)] = self.known[id(items)] = known
        return known

    def _are_of_no_other(self, columns: dict[Path, tuple[Value, tuple[Tensor, ...]]]) -> bool:
        """Whether the arrays are in no list of the program but in those of the very same arrays."""
        others = {v for values in self.listed for v in values}
        for _, tensors in columns.values():
            values = tuple([t._traced[1] for t in tensors])
            if values not in self.listed and not others.isdisjoint(values):
                return False
        return True

    def _listed(self, tensors: Sequence[Tensor], name: str, path: Path) -> Value:
        values = tuple([t._traced[1] for t in tensors])
        if values not in self.listed:
            origin = self.trace.origin().named("_".join([name, *map(str, path)]), True)
            self.listed[values] = self.trace.builder.call(array_list, values, origin)[0]
        return self.listed[values]

    def _name_of(self, x: Any) -> str:
        """What the user calls the list."""
        frame = self.loops.world.machine.frame
        while frame is not None:
            for name, held in zip(frame.program.slots, frame.fast, strict=True):
                if held is x and name.isidentifier():
                    return name
            frame = frame.back
        return "arrays"

    def uniform_item(self, known: Uniform, k: Value, number: int) -> Any:
        """The item at a number of the program.

        Where a gradient is due, the numbers are known: each array has one, or none.
        """
        if self.loops.differentiated:
            for head in self.loops.heads.values():
                if k is head.index and head.ends is not None:
                    self.loops.lengths.fix(head.ends[0])
                    self.loops.lengths.fix(head.ends[1])

        def at(path: Path, x: Any) -> Any:
            if type(x) is not Tensor:
                return maker_of(type(x))([at((*path, i), item) for i, item in enumerate(x)])
            rows, tensors = known.columns[path]
            origin = self.trace.origin()
            name = names.get(path, origin.name)
            return self._array_at(rows, tensors, k, number, origin.named(name, path in names))

        names = self._targets(tuple(known.columns))
        return at((), known.then[number])

    def _targets(self, paths: Sequence[Path]) -> dict[Path, str]:
        """What a ``for`` calls what stands at these places of an item."""
        frame = self.loops.world.machine.frame
        instructions, slots = frame.program.instructions, frame.program.slots
        steps = (part for x in instructions[frame.index :] for part in x.parts)

        def targets(path: Path) -> Iterator[tuple[Path, str]]:
            name, arg = next(steps)
            if name == "UNPACK_SEQUENCE":
                for i in range(arg):
                    yield from targets((*path, i))
            elif name == "STORE_FAST":
                yield path, slots[arg]

        if next(steps)[0] != "FOR_ITER":
            return {}
        named = dict(targets(()))
        for start in sorted({path[:n] for path in named for n in range(len(path) + 1)}, key=len):
            found = {p[len(start) :]: x for p, x in named.items() if p[: len(start)] == start}
            if found.keys() == set(paths):  # items of ``zip`` and ``enumerate`` are in a tuple
                return found
        return {}

    def _array_at(
        self, rows: Value, tensors: Sequence[Tensor], k: Value, number: int, origin: Origin
    ) -> Tensor:
        same, first = self.trace.sizes.same, tensors[0]._traced[1].type.shape
        for x in tensors:  # equal lengths are assumed where they matter
            assert all(map(same, first, x._traced[1].type.shape))
        (value,) = self.trace.builder.call(list_item, (rows, k), origin)
        self.stand_ins.add(value)
        self.loops.walk.tensors.setdefault(rows, Held(tensors))
        shows(self.trace, value, tensors)
        tensor = wrap(tensors[number]._array, (self.trace, value))
        tensor._node = parent_of(tensors[number])
        return tensor

    def _as_own(self, item: Any) -> Any:
        """An item with what the function has in place of arrays from outside."""
        if not is_tuple(item):
            return item
        return maker_of(type(item))(map(self._as_own, self.loops.world.items_alone(item)))


def _leaves(x: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """The arrays in an item, each with its place."""
    if not is_tuple(x):
        yield path, x
        return
    for i, item in enumerate(x):
        yield from _leaves(item, (*path, i))


def _kind(x: Any) -> Any:
    """What items have in common that are of one type; None of what is no array and no tuple."""
    array = x._array if type(x) is Tensor else x
    if isinstance(array, np.ndarray | np.generic):  # no number of Python
        return array.dtype.str, array.shape, isinstance(array, np.ndarray)
    if not is_tuple(x) or not x:
        return None
    kinds = tuple(map(_kind, x))
    return None if None in kinds else (type(x), kinds)
