"""Finds the statement that first made nan or inf in a call, and raises the error that names it.

A checked program is the program and one look at what it returned. Only where that holds nan or inf
is the call repeated, statement by statement on NumPy: from the bad outputs back through operands
that are not finite either, to the first statement whose operands were finite. An infinity that goes
nowhere (a mask that ``where`` or ``exp`` takes away) is on no such way and is not blamed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from codegen.ir import (
    Again,
    Block,
    Call,
    Constant,
    Graph,
    Loop,
    Node,
    Origin,
    Trait,
    Value,
    inner_blocks,
    walk,
)
from tracegrad import config
from tracegrad.errors import FiniteError
from tracegrad.execution.graph_interpreter import Turns, run_through
from tracegrad.ops.random_draws import given_back, sources_of
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.devices import bare
from tracegrad.tensors.tensor import Tensor
from tracegrad.values.dispatch import FLOATING, is_jax_array
from tracegrad.values.pytree import flatten

LONGEST = 60  # characters of an expression by which an operand without a name is called


def checking() -> bool:
    """Whether results of compiled calls on this thread are to be checked."""
    return config.check_finite or STATE.anomaly


# -- the check ------------------------------------------------------------------------------------


def is_finite(result: Any) -> bool:
    """Whether a result, of any structure, has neither nan nor inf; what is no number has none."""
    kind = type(result)
    if kind is np.ndarray:
        return _finite(result)
    if kind is Tensor:
        return is_finite(bare(result))
    if kind is tuple or kind is list:
        return all(map(is_finite, result))
    if kind is dict:
        return all(map(is_finite, result.values()))
    if kind is float or kind is complex or hasattr(result, "dtype"):
        return _finite(np.asarray(result))
    leaves, _ = flatten(result)
    return all(map(is_finite, leaves)) if leaves not in ([], [result]) else True


def _finite(array: np.ndarray) -> bool:
    if array.dtype.kind not in FLOATING:
        return True
    if isfinite(np.vdot(array, array).real):  # the fastest pass; never warns
        return True
    return bool(np.isfinite(array).all())  # the sum of squares may have overflown


def checked(run: Callable[..., Any], graph: Graph) -> Callable[..., Any]:
    """The function of a program, which raises `FiniteError` instead of returning nan or inf."""
    sources = sources_of(graph)

    def program(*args: Any, **captures: Any) -> Any:
        before = [source.state for source in sources]
        given = map(_copied, args) if graph.frame.donated else args  # the call can be repeated
        result = run(*given, **captures)
        if is_finite(result):
            return result
        for source, state in zip(sources, before, strict=True):
            source.state = state
        with given_back(sources):  # the call can be repeated
            raise blamed(graph, _inputs(graph, args, captures))

    return program


def _copied(argument: Any) -> Any:
    """What a program may be given for good in the place of an argument."""
    return argument.copy() if is_jax_array(argument) else argument


def _inputs(graph: Graph, args: Sequence[Any], captures: Mapping[str, Any]) -> list[Any]:
    """What the inputs of the graph are in a call of the program."""
    given = {**dict(zip(graph.frame.parameters, args, strict=False)), **captures}
    values = [eval(text, {}, given) for text in graph.frame.reads]
    return [np.asarray(v) if type(v).__module__.startswith("jax") else v for v in values]


def passed(result: Any, name: str) -> Any:
    """The result of a function that ran eagerly, where it is finite or nobody asks."""
    if checking() and not is_finite(result):
        raise FiniteError(
            f"{name} gave nan or inf. This call ran eagerly, so the statement is not known: "
            f"{name}.explain() tells why, and tg.autograd.detect_anomaly() looks at its backward"
        )
    return result


# -- the statement --------------------------------------------------------------------------------


def blamed(graph: Graph, inputs: Sequence[Any]) -> FiniteError:
    """The error for a call with these inputs."""
    calls: dict[Value, Call] = {}
    handed: dict[Value, Value] = {}

    def step(call: Call, run: Callable[..., Any], arrays: Sequence[Any], known: Any) -> Any:
        calls.update(dict.fromkeys(call.results, call))
        return run(*arrays, **known)

    try:
        with np.errstate(all="ignore"):
            block, values = run_through(graph, inputs, step, handed=handed)
            search = _Search(graph, calls, values, handed)
            bad = [v for v in block.outputs if search.bad(v)]
            bad = [v for v in bad if not v.origin.section] or bad  # derivatives of it follow
            first = _in_a_turn(graph, inputs, any(map(search.has_nan, bad))) if bad else None
    except Exception as error:  # of NumPy's where another target goes on
        return FiniteError(f"the result is not finite; repeated on NumPy, the call raises {error}")
    return first or search.error(bad)


class _Found(Exception):
    """A value in a turn of a loop is not finite."""


def _in_a_turn(graph: Graph, inputs: Sequence[Any], nan: bool) -> FiniteError | None:
    """The error for the first value that is not finite, where that is made in a loop.

    With `nan` an infinity is no such value: it may have been meant.
    """
    calls: dict[Value, Call] = {}
    values: dict[Value, Any] = dict(zip(graph.inputs, inputs, strict=True))
    turns: dict[object, Turns] = {}
    handed: dict[Value, Value] = {}
    inside = _loops_around(graph)
    found: list[Call] = []

    def step(call: Call, run: Callable[..., Any], arrays: Sequence[Any], known: Any) -> Any:
        calls.update(dict.fromkeys(call.results, call))
        values.update(zip(call.operands, arrays, strict=True))
        out = run(*arrays, **known)
        made = out if len(call.results) > 1 else (out,)
        values.update(zip(call.results, made, strict=True))
        for value in made:
            array = np.asarray(value) if type(value) is not list else np.zeros(())
            if array.dtype.kind in FLOATING and (
                np.isnan(array).any() if nan else not _finite(array)
            ):
                found.append(call)
                raise _Found
        return out

    try:
        run_through(graph, inputs, step, turns, handed)
    except _Found:
        (call,) = found
        if not inside[call]:
            return None
        search = _Search(graph, calls, values, handed)
        error = search.error([v for v in call.results if search.bad(v)])
        if error.operation:  # an argument is bad in any turn
            every, ran = [*turns.values()], [*calls.values()]
            here, *around = [_turn(turns[x], every, call, ran) for x in reversed(inside[call])]
            known = [text for text in around if not text.endswith(UNKNOWN_TURN)]
            error.args = (f"{error.args[0]}\n    {', '.join([here, *known])}",)
        return error
    return None


def _loops_around(graph: Graph) -> dict[Call, tuple[object, ...]]:
    """The labels of the loops in whose turns each call runs, the outermost first.

    What follows a loop stands in its turn, where that leaves it; no way leads from there to another
    turn.
    """
    found: dict[Call, tuple[object, ...]] = {}

    def reached(block: Block, known: Mapping[object, set[object]]) -> set[object]:
        """The loops of which another turn may follow; `known` has that of the loops around."""
        labels = {node.label for node in walk(block.nodes) if isinstance(node, Again)}
        return labels.union(*(known.get(label, ()) for label in labels))

    def note(block: Block, around: Sequence[object], known: Mapping[object, set[object]]) -> None:
        again = reached(block, known)
        here = tuple(label for label in around if label in again)
        for node in block.nodes:
            if isinstance(node, Call):
                found[node] = here
            elif isinstance(node, Loop):
                after = set().union(*(reached(inner, known) for inner in node.blocks))
                for inner in node.blocks:
                    own = (*here, node.label) if inner is node.turn else here
                    note(inner, own, {**known, node.label: after})
            else:
                for inner in inner_blocks(node):
                    note(inner, here, known)

    note(graph.block, (), {})
    return found


UNKNOWN_TURN = "a turn of the loop"


def _turn(here: Turns, every: Sequence[Turns], call: Call, ran: Sequence[Call]) -> str:
    """Which turn of the user's loop a call ran in, as far as that is known."""
    section = call.results[0].origin.section
    part = f"in the {section} of" if section else "in"
    if here.loop.counter is None:
        return f"{part} turn {here.done + 1 + _unrolled(here, call, ran)} of the loop"
    line = (here.loop.origin.file, here.loop.origin.line)
    known = [
        turns
        for turns in every
        if (turns.loop.origin.file, turns.loop.origin.line) == line and not _section(turns)
    ]
    number = _users_number(here, known[0]) if len(known) == 1 else None
    if number is None:
        return f"{part} {UNKNOWN_TURN}"
    assert known[0].loop.counter is not None
    name = known[0].loop.counter.index.origin.name
    shown = "the counter" if name == "_" else name  # i where it goes through rows
    return f"{part} the turn of the loop where {shown} is {number}"


def _section(turns: Turns) -> str:
    """The section that a loop with a counter belongs to; one without is of the forward."""
    counter = turns.loop.counter
    return "" if counter is None else counter.index.origin.section


def _users_number(here: Turns, forward: Turns) -> int | None:
    """What the counter of a loop is for the user, of whose loop `forward` are the turns.

    A loop that goes back counts with the user's numbers, or the rows of what turns have saved.
    """
    if not forward.range:
        return None
    if here is forward:
        return here.number
    first, last = forward.range[0], here.range[-1]
    if last == first and here.range.step == -forward.range.step:
        return here.number
    whole = len(here.range) == len(forward.range)
    return forward.range[here.number] if whole and last == 0 else None


def _unrolled(here: Turns, call: Call, ran: Sequence[Call]) -> int:
    """How many first turns of a loop stand before it: by how often they ran the same statement."""

    def is_alike(other: Call) -> bool:
        a, b = call.results[0].origin, other.results[0].origin
        return other.op is call.op and (a.line, a.text, a.section) == (b.line, b.text, b.section)

    inside = {node for node in walk(here.loop.turn.nodes) if isinstance(node, Call)}
    each = sum(map(is_alike, inside))
    return sum(is_alike(other) for other in {*ran} - inside) // each


class _Search:
    """What ran, with what it gave."""

    def __init__(
        self,
        graph: Graph,
        calls: Mapping[Value, Call],
        values: Mapping[Value, Any],
        handed: Mapping[Value, Value],
    ) -> None:
        self.graph = graph
        self.handed = handed  # to the parameters of joins
        self.calls = calls
        self.values = values
        self.reads = dict(zip(graph.inputs, graph.frame.reads, strict=True))
        self.known: dict[Value, bool] = {}

    def bad(self, value: Value) -> bool:
        """Whether this value has nan or inf."""
        if value not in self.known:
            self.known[value] = not _finite(np.asarray(self.values[value]))
        return self.known[value]

    def has_nan(self, value: Value) -> bool:
        return self.bad(value) and bool(np.isnan(self.values[value]).any())

    def error(self, outputs: Sequence[Value]) -> FiniteError:
        """The error for these bad outputs."""
        if not outputs:
            return FiniteError(
                "the result is not finite, but the same statements on NumPy give a finite one: "
                "compare .verify(...) of the function"
            )
        way = self._way(outputs)
        for value in self.graph.inputs:
            if value in way:
                return self._of_input(value)
        order = [call for call in dict.fromkeys(self.calls.values()) if way & {*call.results}]
        sources = [call for call in order if not any(map(self._blames, call.operands))]
        if not sources:
            return FiniteError("the result is a constant that is not finite")
        first, more = sources[0], ""
        if any(map(self.has_nan, outputs)) and not any(map(self.has_nan, first.results)):
            nan = next(call for call in order if any(map(self.has_nan, call.results)))
            if any(map(self.bad, first.operands)):  # it was given the infinity: a mask
                first, more = nan, f"the infinity came from {self._made(first, way)}"
            else:
                more = f"which made {self._made(nan, way)}"
        result = self._result(first, way)
        message = self._said(first, result) + (f"\n    {more}" if more else "")
        origin = result.origin
        error = FiniteError(message)
        error.variable, error.operation = self._variable(result), first.op.name
        error.file, error.line, error.text = origin.file, origin.line, origin.text
        error.section = origin.section or "forward"
        error.index = self._index(result)
        return error

    def _result(self, call: Call, way: set[Value]) -> Value:
        return next(value for value in call.results if value in way)

    def _made(self, call: Call, way: set[Value]) -> str:
        """``nan at [3] in h (model.py:12  h = np.sqrt(x - m)), forward``."""
        result = self._result(call, way)
        return f"{self._kind(result)}{self._at(result)} {self._where(result)}"

    def _at(self, value: Value) -> str:
        index = self._index(value)
        return f" at {list(index)}" if index else ""

    def _blames(self, value: Value) -> bool:
        """Whether a bad operand takes the blame from the statement; constants do not."""
        while value in self.handed:
            value = self.handed[value]
        return self.bad(value) and (value in self.calls or value in self.reads)

    def _way(self, outputs: Sequence[Value]) -> set[Value]:
        """The bad values by which these became bad."""
        found: set[Value] = set()
        left = list(outputs)
        while left:
            value = left.pop()
            if value not in found:
                found.add(value)
                call = self.calls.get(value)
                left += filter(self.bad, call.operands if call is not None else ())
                left += [self.handed[value]] if value in self.handed else []
        return found

    # -- in words -----------------------------------------------------------------------------

    def _of_input(self, value: Value) -> FiniteError:
        name = self.reads[value]
        outside = name in self.graph.frame.captures
        what = f"{name}, read from outside," if outside else f"argument {name}"
        error = FiniteError(f"{what} is not finite: {self._kind(value)}{self._at(value)}")
        error.variable, error.index = name, self._index(value)
        return error

    def _said(self, call: Call, result: Value) -> str:
        index = self._index(result)
        at = self._at(result)
        parts = [f"{call.op.name} gave {self._kind(result)}{at} {self._where(result)}"]
        seen = dict.fromkeys(v for v in call.operands if not isinstance(self._node(v), Constant))
        same = Trait.ELEMENTWISE in call.op.traits and index
        for number, value in enumerate(seen, 1):
            shown = self._range(value)
            if shown:
                text = self._text(value)
                if len(text) > LONGEST:
                    text = f"operand {number}" if len(seen) > 1 else "its operand"
                parts.append(f"{text} {shown}{self._there(value, result, index) if same else ''}")
        return "; ".join(parts)

    def _where(self, result: Value) -> str:
        """``in h (model.py:12  h = np.sqrt(x - m)), forward``."""
        origin: Origin = result.origin
        place = f"{origin.file}:{origin.line}  {origin.text}" if origin.line else ""
        section = origin.section or "forward"
        name = self._variable(result)
        if name is None:
            return f"({place}), {section}" if place else f"in the {section}"
        return f"in {name}{f' ({place})' if place else ''}, {section}"

    def _kind(self, value: Value) -> str:
        """What stands at the bad place: nan, inf or -inf."""
        bad = np.asarray(self.values[value])[self._index(value)]
        if np.isnan(bad):
            return "nan"
        return "inf" if np.iscomplexobj(bad) or bad > 0 else "-inf"

    def _index(self, value: Value) -> tuple[int, ...]:
        """The first nan; where there is none, the first infinity."""
        array = np.asarray(self.values[value])
        fine = ~np.isnan(array) if self.has_nan(value) else np.isfinite(array)
        return tuple(map(int, np.unravel_index(int(np.argmin(fine)), array.shape)))

    def _range(self, value: Value) -> str:
        """``ranges from -0.2 to 1.3``, ``is 2``; "" where there is nothing to tell."""
        array = np.asarray(self.values[value])
        if array.size == 0 or array.dtype.kind not in "fiu":
            return ""
        if array.ndim == 0:
            return f"is {_number(array)}"
        low, high = array.min(), array.max()
        if low == high:
            return f"is {_number(low)} everywhere"
        return f"ranges from {_number(low)} to {_number(high)}"

    def _there(self, value: Value, result: Value, index: tuple[int, ...]) -> str:
        """What an operand is at the bad place."""
        array = np.asarray(self.values[value])
        if array.ndim == 0 or array.min() == array.max():
            return ""
        whole = np.broadcast_to(array, np.shape(self.values[result]))
        return f" and is {_number(whole[index])} there"

    def _variable(self, value: Value) -> str | None:
        """The variable of a value; an inner one that has none belongs to the next that has one."""
        while value.origin.name is None:
            users = self.graph.users.get(value, ())
            results = [result for user in users for result in user.results]
            if not results or results[0].origin.section != value.origin.section:
                return None
            value = results[0]
        return value.origin.name

    def _node(self, value: Value) -> Node | None:
        return self.graph.producer.get(value)

    def _text(self, value: Value) -> str:
        """A value as the user would call it: a variable, or the expression that makes it."""
        if value in self.reads:
            return self.reads[value]
        node, origin = self._node(value), value.origin
        if isinstance(node, Constant):
            return repr(node.value)
        if origin.name is not None and origin.final:
            return origin.name
        assert isinstance(node, Call)
        if Trait.EXTENT in node.op.traits:
            return _number(self.values[value])
        inner: list[str] = []
        for operand in node.operands:
            inner.append(self._text(operand))
            if len(inner[-1]) > LONGEST:  # of this nothing is shown
                return inner[-1]
        spelling = node.op.spelled("numpy", dict(node.attributes))
        if isinstance(spelling.expression, ast.Subscript) and _is_one_row(node):
            return f"{inner[0]}[{inner[1]}]"
        symbol = spelling.infix
        if symbol and len(inner) == 2:
            return f" {symbol} ".join(f"({text})" if " " in text else text for text in inner)
        return f"{node.op.name}({', '.join(inner)})"


def _is_one_row(call: Call) -> bool:
    """Whether a call reads an item of a list, or of an array with one axis."""
    return len(call.operands) == 2 and len(call.operands[0].type.shape) <= 1


def _number(value: Any) -> str:
    """A number as it reads best; six digits tell enough."""
    return f"{value:.6g}"
