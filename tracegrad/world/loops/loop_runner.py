"""Runs closed loops by the ways through their turns, one in another, from where the frames stand.

What is run is the tree of ways (`path_tree.py`), on Tensors, so that the tape goes on. Where a look
ends otherwise than on any known way, or nobody knows what follows a loop, the walk stops there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from codegen.ir import Call, Check, Value
from codegen.types import ArrayType
from tracegrad.machine.world_protocol import ABSENT
from tracegrad.ops.python_lists import (
    FILLING,
    append_row,
    collected,
    list_item,
    list_length,
    new_list,
)
from tracegrad.ops.shape.joining import stack
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.tape import LEAF, parent_of
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.tracing import compile_budget
from tracegrad.tracing.path_tree import Cycle, Entry, Joint, Limb, Meet, outcome_key, turn_of
from tracegrad.world.loops.loop_heads import Head
from tracegrad.world.loops.straight_code import (
    active,
    function_of,
    is_plain,
    pending,
    tell,
    tellers_of,
    varies,
)
from tracegrad.world.loops.widened_states import widened


@contextmanager
def outside_of_traces() -> Iterator[None]:
    """What runs inside is recorded on the tape alone, and no machine executes it."""
    before = STATE.update(trace=None, machine=None)
    try:
        yield
    finally:
        STATE.update(**before)


def untraced(x: Any) -> Any:
    """The same Tensor, of no trace."""
    if type(x) is not Tensor:
        return x
    tensor = wrap(x._array)
    tensor._node = parent_of(x)
    return tensor


def as_given(type_: ArrayType, x: Any) -> Any:
    """What a variable holds, of no trace, as a parameter of a type gets it."""
    now = untraced(x)
    if type(now) is not Tensor:
        return widened(type_, now)
    now._array = widened(type_, now._array)
    return now


class Held:
    """The items of a list, as turns that are run read them."""

    def __init__(self, items: Sequence[Any], either: bool = False) -> None:
        self.tensors = tuple(items)
        self.either = either  # a float of Python's among them is one
        differentiated = (x for x in items if getattr(x, "_node", None) is not None)
        self.differentiated: Tensor | None = next(differentiated, None)
        self._node = getattr(self.differentiated, "_node", None)

    def item(self, k: int) -> Any:
        """An item, of no trace."""
        x = self.tensors[k]
        return np.float64(x) if type(x) is float and not self.either else untraced(x)

    @cached_property
    def _array(self) -> list[Any]:
        return [*map(array_of, self.tensors)]


def array_of(x: Any) -> Any:
    """What an item computes with: a number of Python is one of NumPy's."""
    return np.float64(x) if type(x) is float else getattr(x, "_array", x)


@dataclass(eq=False)
class Level:
    """A closed loop that runs: it stands among the nodes at `entered`."""

    head: Head
    cycle: Cycle
    numbers: Any  # what is left of them; None without a counter
    entered: int
    limb: Limb
    shown: Any = None  # what the function has in their place
    turned: bool = True  # a turn has begun since frames were put back to one

    @property
    def left(self) -> int:
        """How many turns are left for numbers of the loop."""
        return len(left_of(self.numbers)) - self.head.short

    def step_back(self) -> None:
        """The number of this turn comes once more, in what the function is given anew."""
        if self.numbers is not None:
            left = left_of(self.numbers)
            self.numbers = iter(range(left.start - left.step, left.stop, left.step))
            self.shown = None
        self.turned = True


def left_of(numbers: Any) -> range:
    """The numbers that an iterator over a range has still to give.

    CPython 3.11 keeps the range and counts what it gave, later versions keep what is left.
    """
    _, (kept,), given = numbers.__reduce__()
    found: range = kept[given or 0 :]
    return found


class Walk:
    """Runs loops; `levels` are those that it stands in, the outermost first.

    `values` are what turns made or were given, and `tensors` what was there before.
    """

    def __init__(self, trace: Any) -> None:
        self.trace = trace
        self.levels: list[Level] = []
        self.values: dict[Value, Any] = {}
        self.tensors: dict[Value, Any] = {}
        self.heads: dict[Cycle, Head] = {}
        self.rows: dict[Value, list[Any]] = {}  # what turns put into arrays that stand for lists
        self.collecting: set[Value] = set()  # arrays that stand for lists to which turns append
        self.meeting: dict[Joint, tuple[Check, Limb]] = {}
        """The looks of the turn whose arms have not met yet, in order."""
        self.limb: Limb | None = None  # that runs, or ran last
        self.turn_before: dict[Value, Any] = {}
        """What the last turn was given, of a ``while`` whose turns begin with its test."""
        self.straight = False  # turns are run on arrays, and leave no tape
        self.active: set[Value] = set()  # then: to which a gradient would flow
        self.tellers: Mapping[Value, Sequence[str]] = {}  # lengths that a turn's masks tell
        self._outer: dict[Value, Any] = {}
        self._functions: dict[tuple[Any, ...], Any] = {}
        self._attributes: dict[Call, dict[str, Any]] = {}

    def notes(self, values: Sequence[Value], operands: Sequence[Any]) -> None:
        """An operation is given these: Tensors are kept as they are now.

        They may be written to later, but for leaves.
        """
        for value, x in zip(values, operands, strict=True):
            if value in self.tensors:
                continue
            if type(x) is Tensor and x._node is not LEAF:
                now = wrap(x._array)
                now._node = x._node
                x = now
            self.tensors[value] = x

    def forget(self) -> None:
        """No loop runs any more."""
        self.levels.clear()
        for known in (self.values, self.tensors, self._outer, self._attributes, self.meeting):
            known.clear()  # type: ignore[attr-defined]
        self.active.clear()

    def around(self, head: Head) -> Level | None:
        """The level of a loop that runs."""
        return next((level for level in self.levels if level.head is head), None)

    def enter(self, head: Head, cycle: Cycle) -> Level:
        """The frames stand at the beginning of a loop that was closed here."""
        level = Level(head, cycle, head.iterator, len(self.trace.builder.nodes), Limb(()))
        level.shown = head.shown
        self.levels.append(level)
        self.trace.builder.append(Entry(cycle, True))
        return level

    def run(self, behind: bool = False) -> Limb | Level | None:
        """Goes on with the next turn of the innermost loop, or `behind` where arms have met in one.

        None where the outermost one comes to its end; a loop, where nobody knows what follows it; a
        limb where its look ends otherwise than before.
        """
        began = compile_budget.clock()
        try:
            with self.trace.generators.untraced_draws():
                return self._run(behind)
        finally:
            self.trace.computing += compile_budget.clock() - began

    def _run(self, behind: bool) -> Limb | Level | None:
        self._find_limbs()
        self._functions.clear()
        self.tellers = tellers_of(self.trace)
        if self.trace.choices is not None:
            self.trace.choices.walks()
        nodes = self.trace.builder.nodes
        limb: Limb | Level | None = self._here() if behind else self._next()
        while isinstance(limb, Limb):
            self.limb = limb
            if limb.again is not None and limb.again[0].test:
                known = self.values
                self.turn_before = {p: known[p] for p in limb.again[0].parameters if p in known}
            if self.straight:
                self._compute(limb)
            else:
                for node in limb.nodes:
                    if type(node) is Call:
                        self._call(node)
            nodes += limb.nodes
            if limb.look is not None:
                choices = self.trace.choices
                if choices is None:
                    outcome = bool(self.value(limb.look.operand))
                else:
                    outcome = choices.takes(limb, self.levels)
                arm = limb.arms.get(outcome_key(outcome))
                if arm is None:
                    return limb
                look = Check(limb.look.operand, "bool", outcome, limb.look.origin)
                nodes.append(look)
                if limb.joint is not None:
                    self.meeting[limb.joint] = look, limb
                limb = arm[1]
            elif limb.meets is not None:
                limb = self._meet(*limb.meets)
            elif limb.cycle is not None:
                limb = self._enter(limb, limb.cycle)
            else:
                assert limb.again is not None
                limb = self._again(*limb.again)
        return limb

    def _find_limbs(self) -> None:
        """Finds where loops stand among the ways that are known by now."""
        nodes = self.trace.builder.nodes
        above: Level | None = None
        for level in self.levels:
            known: Limb | None = None
            if above is not None:
                known = _limb_at(above.limb, nodes[above.entered + 1 : level.entered], {})
            if known is None or known.cycle is not level.cycle:
                known = Limb((), cycle=level.cycle, turn=turn_of(level.cycle))
            above, level.limb = level, known

    def _here(self) -> Limb:
        """Where a path through a turn of the innermost loop has led."""
        level = self.levels[-1]
        self.meeting.clear()
        limb = _limb_at(level.limb, self.trace.builder.nodes[level.entered + 1 :], self.meeting)
        assert limb is not None
        return limb

    def _meet(self, joint: Joint, arguments: tuple[Value, ...]) -> Limb:
        """What is behind the look of which an arm comes to where they meet."""
        if not self.straight:
            given = zip(joint.parameters, arguments, strict=True)
            self.values.update([(p, _handed(p.type, self.value(v))) for p, v in given])
        look, limb = self.meeting.pop(joint)
        self.trace.builder.append(Meet(joint, arguments, look))
        assert limb.after is not None
        return limb.after

    def _next(self) -> Limb | Level | None:
        """The next turn of the innermost loop, or what follows it."""
        level = self.levels[-1]
        self.meeting.clear()
        counter, goes_on = level.cycle.counter, self._goes_on(level)
        if counter is None:
            level.turned = True
            return level.limb.turn
        number = next(level.numbers) if goes_on is not False and level.left > 0 else ABSENT
        if goes_on and number is ABSENT:
            number = self.values.get(counter.index, level.head.numbers[-1])
        if number is not ABSENT:
            self.values[counter.index] = number
            for name, index in self.trace.sizes.counters.items():
                if index is counter.index:
                    self.trace.sizes.seen[name] = number
            level.turned = True
            return level.limb.turn
        if len(self.levels) > 1:
            self._stack(level)
        del self.trace.builder.nodes[level.entered :]
        if len(self.levels) > 1 and level.limb.after is None:
            return level
        self.trace.builder.append(Entry(level.cycle, False))
        if len(self.levels) == 1:
            return None
        self.levels.pop()
        return level.limb.after

    def _goes_on(self, level: Level) -> bool | None:
        """Whether a loop goes through another turn where values do not tell; None where they do."""
        choices = self.trace.choices
        if choices is None:
            return None
        goes_on: bool = choices.goes_through(self)
        if not goes_on:
            deque(islice(level.numbers, level.left), maxlen=0)
        return goes_on

    def _enter(self, limb: Limb, cycle: Cycle) -> Limb | Level | None:
        numbers, counter = None, cycle.counter
        if counter is not None:
            start, stop = (int(self.value(v)) for v in (counter.start, counter.stop))
            left = self.heads[cycle].short  # so many numbers are left when the loop ends
            numbers = iter(range(start, stop + left * counter.step, counter.step))
        self._give(cycle, cycle.arguments)
        self.rows.update((known.parameter, []) for known in self.heads[cycle].collects)
        nodes = self.trace.builder.nodes
        self.levels.append(Level(self.heads[cycle], cycle, numbers, len(nodes), limb))
        nodes.append(Entry(cycle, True))
        return self._next()

    def _again(self, cycle: Cycle, arguments: Sequence[Value]) -> Limb | Level | None:
        while self.levels[-1].cycle is not cycle:
            self.levels.pop()
        if not self.straight:
            self._give(cycle, arguments)
        del self.trace.builder.nodes[self.levels[-1].entered + 1 :]
        return self._next()

    def _give(self, cycle: Cycle, arguments: Sequence[Value]) -> None:
        given = [
            (parameter, _handed(parameter.type, self.value(v)))
            for parameter, v in zip(cycle.parameters, arguments, strict=True)
            if not self._is_rows(v)
        ]
        self.values.update(given)

    def _stack(self, level: Level) -> None:
        """A loop in a turn has come to its end: the arrays that stand for the lists it filled."""
        for known in level.head.collects:
            at = level.cycle.parameters.index(known.parameter)
            begins: list[Any] = []
            made = self.trace.builder.producer.get(level.cycle.arguments[at])
            while isinstance(made, Call) and made.op is collected:
                begins.append(self.value(made.operands[1]))
                made = self.trace.builder.producer.get(made.operands[0])
            before = [] if known.own else known.items[known.before + level.head.peeled :]
            rows = [*reversed(begins), *before, *self.rows[known.parameter]]
            if self.straight:
                self.values[known.parameter] = np.stack([getattr(x, "_array", x) for x in rows])
            else:
                self.values[known.parameter] = stack(rows)

    def _is_rows(self, value: Value) -> bool:
        """Whether it is a list, or an array that stands for one, which runs as the list."""
        if value in self.collecting:
            return True
        made = self.trace.builder.producer.get(value)
        return isinstance(made, Call) and (made.op in FILLING or made.op is new_list)

    def step_back(self, level: Level) -> None:
        """This turn of a loop has raised: it is to come once more.

        The frames of a ``while`` stand behind its test: where that has raised, the turn before it
        comes once more as well.
        """
        if level.cycle.test and self.limb is level.limb.turn:
            self.values.update(self.turn_before)
        level.step_back()

    def begin(self, straight: bool) -> None:
        """Turns are about to be run: on arrays, or on Tensors that leave a tape."""
        self.turn_before = {}
        cycles = [level.cycle for level in self.levels]
        for cycle in cycles:
            inner = [n.cycle for way in cycle.ways for n in way.nodes if type(n) is Entry]
            cycles += [found for found in inner if found not in cycles]
        for head in (level.head for level in self.levels):
            for known in head.collects:
                if known.own:
                    self.rows[known.parameter] = known.items[known.before + head.peeled :]
        lists = [known for head in self.heads.values() for known in head.collects]
        self.collecting = {known.parameter for known in lists}
        self.straight = straight and is_plain(cycles)
        if self.straight:
            self.active = active(cycles, self.tensors)
            for value, x in self.values.items():
                self.values[value] = getattr(x, "_array", x)
                if getattr(x, "_node", None) is not None:
                    self.active.add(value)

    def node_of(self, value: Value, found: Any) -> Any:
        """The node of what a value is now."""
        if not self.straight or value not in self.active:
            return getattr(found, "_node", None)
        known = (x for x in self.tensors.values() if getattr(x, "_node", None) is not None)
        of = next(known, None)
        of = of.differentiated if isinstance(of, Held) else of
        return None if of is None else pending(found, of)

    def _compute(self, limb: Limb) -> None:
        function = self._functions.get((limb.nodes, limb.again, limb.meets))
        if function is None:
            made = [n for n in limb.nodes if type(n) is Call]
            calls = [n for n in made if n.op not in FILLING and n.op is not list_length]
            rows = [(n, into) for n in made if (into := self._collects(n)) is not None]
            moves: list[Any] = []
            if limb.again is not None:
                cycle, arguments = limb.again
                pairs = zip(cycle.parameters, arguments, strict=True)
                moves = [pair for pair in pairs if not self._is_rows(pair[1])]
            if limb.meets is not None:
                joint, arguments = limb.meets
                moves = [*zip(joint.parameters, arguments, strict=True)]
            run = function_of(
                *(calls, moves, [n.operands[1] for n, _ in rows]),
                *(self.values, self.value, self.trace),
            )
            function = self._functions[limb.nodes, limb.again, limb.meets] = run, rows
        for (node, into), x in zip(function[1], function[0](self.values), strict=True):
            row = wrap(x)
            row._node = self.node_of(node.operands[1], x)
            self.rows.setdefault(into, []).append(row)

    def _collects(self, node: Call) -> Value | None:
        """The list to which a call appends in a turn; others make what such a list begins with."""
        if node.op not in FILLING:
            return None
        rows, producer = node.operands[0], self.trace.builder.producer
        while rows not in self.collecting:
            made = producer.get(rows)
            if not isinstance(made, Call) or made.op is not append_row:
                return None
            rows = made.operands[0]
        return rows

    def _call(self, node: Call) -> None:
        if node.op in FILLING or node.op is list_length:
            rows = self._collects(node)
            if rows is not None:
                self.rows.setdefault(rows, []).append(self.value(node.operands[1]))
            return
        if node.op is list_item:
            rows, k = map(self.value, node.operands)
            self.values[node.results[0]] = rows.item(int(k)) if type(rows) is Held else rows[int(k)]
            return
        given = self._attributes.get(node)
        if given is None:
            given = {name: self.trace.concrete(x) for name, x in node.attributes}
            if not any(varies(self.trace.sizes, x) for _, x in node.attributes):
                self._attributes[node] = given
        result = node.op(*[self.value(v) for v in node.operands], **given)  # type: ignore[operator]
        if len(node.results) == 1:
            self.values[node.results[0]] = result
        else:
            self.values.update(zip(node.results, result, strict=True))
        for value in node.results if self.tellers else ():
            for name in self.tellers.get(value, ()):
                tell(self.trace.sizes, name, self.values[value])

    def value(self, value: Value) -> Any:
        """What a value is now: of this turn, a number, or what was there before the loops."""
        if value in self.values:
            return self.values[value]
        if value not in self._outer:
            self._outer[value] = self._known(value)
        return self._outer[value]

    def _known(self, value: Value) -> Any:
        constant = self.trace.builder.constant_of(value)
        if constant is not None:
            return _of_type(value.type, constant.value)
        x = self.tensors[value]
        return x if getattr(x, "_node", None) is LEAF else untraced(x)


def _handed(type_: Any, x: Any) -> Any:
    """An argument as a parameter; a leaf of the tape is one Tensor, and variables have others."""
    number = type(getattr(x, "_array", None)) is float
    return as_given(type_, x) if number or getattr(x, "_node", None) is LEAF else _of_type(type_, x)


def _of_type(type_: Any, x: Any) -> Any:
    """A number of Python as a number of NumPy's, where a value is one."""
    if not type_.may_be_python and not type_.shape and type(x) in (bool, int, float, complex):
        return np.dtype(type_.dtype).type(x)
    return x


def _limb_at(
    loop: Limb, nodes: Sequence[Any], meeting: dict[Joint, tuple[Check, Limb]]
) -> Limb | None:
    """Where a path through a turn leads; None where it is not known.

    `meeting` gets the looks on it whose arms have not met.
    """
    limb, at = loop.turn, 0
    while limb is not None:
        end = at + len(limb.nodes)
        if limb.nodes != tuple(nodes[at:end]):
            return None
        if end == len(nodes):
            return limb
        node, at = nodes[end], end + 1
        match node:
            case Check():
                arm = limb.arms.get(outcome_key(node.outcome))
                same = limb.look is not None and limb.look.operand is node.operand
                if limb.joint is not None:
                    meeting[limb.joint] = node, limb
                limb = arm[1] if arm is not None and same else None
            case Meet(joint):
                limb = meeting.pop(joint)[1].after if joint in meeting else None
                if at == len(nodes):
                    return limb
            case Entry(cycle, in_turn):
                known = limb.cycle is cycle
                limb = (limb.turn if in_turn else limb.after) if known else None
            case _:
                return None
    return None


def shows(trace: Any, value: Value, items: Iterable[Any]) -> None:
    """What is read of a list is a Tensor to the caller where the items are: see `Trace.shown`."""
    values = [x._traced[1] for x in items if type(x) is Tensor and x._traced is not None]
    if not trace.shown.isdisjoint(values):
        trace.shown.add(value)
