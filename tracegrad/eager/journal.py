"""Keeps the ops of one eager call, to name the statement that made nan or inf.

While results are checked for nan and inf, a call that no program answers keeps a journal: what ran,
on which arrays, on which line. Where its result is not finite the journal is a graph, of which
`nonfinite` finds the first bad statement, forward or backward, as it does for a program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os.path import basename
from typing import Any

import numpy as np

from codegen.ir import Builder, Frame, Graph, Origin, Value
from codegen.sizes import Sizes
from codegen.types import ArrayType, weak_of
from tracegrad.arguments.signature import Arguments
from tracegrad.differentiation.reverse_mode import differentiate
from tracegrad.errors import FiniteError
from tracegrad.execution.nonfinite import blamed, checking, is_finite
from tracegrad.ops.random_draws import drawn
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.tensor import Tensor
from tracegrad.tracing.outputs import Transform
from tracegrad.tracing.trace import plain_number
from tracegrad.user_code.program_points import capture, item_read, label
from tracegrad.values.dispatch import is_number
from tracegrad.values.pytree import flatten

UNKNOWN = "an operand"  # that no op of the journal made
Call = Callable[[Sequence[Any]], Any]


@dataclass(frozen=True)
class Entry:
    """An op that ran."""

    op: Any
    operands: tuple[Any, ...]
    attributes: Mapping[str, Any]
    results: tuple[Any, ...]
    origin: Origin
    gave: str  # "nan" or "inf" where its operands had neither; it may be overwritten since


class Journal:
    """What one call did, and with which arguments."""

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments
        self.entries: list[Entry] = []
        self.given: list[Any] = []  # the leaves of the arguments, as the function had them
        self.returned: Any = None

    def of(self, call: Call) -> Call:
        """The call, which keeps this journal."""

        def kept(values: Sequence[Any]) -> Any:
            self.given = [getattr(leaf, "_array", leaf) for leaf in flatten(list(values))[0]]
            outer = STATE.observer

            def observe(op: Any, run: Any, arrays: Sequence[Any], attributes: Any) -> Any:
                args = (op, run, arrays, attributes)
                result = run(*arrays, **attributes) if outer is None else outer(*args)
                if not isinstance(op, str) and hasattr(op, "infer"):  # else a step of a backward
                    self.enter(op, arrays, attributes, result)
                return result

            before = STATE.update(observer=observe)
            try:
                self.returned = call(values)
            finally:
                STATE.update(**before)
            return self.returned

        return kept

    def enter(
        self, op: Any, arrays: Sequence[Any], attributes: Mapping[str, Any], result: Any
    ) -> None:
        """One more op, at the line that runs."""
        of = label(capture(), item_read(attributes))
        name = of.name or ("value" if of.returned and not of.final else None)
        origin = Origin(name, of.final, basename(of.file), of.line, of.text)
        results = tuple(result) if isinstance(result, tuple | list) else (result,)
        bad = [x for x in results if not is_finite(x)]
        gave = ("nan" if np.isnan(bad[0]).any() else "inf") if bad else ""
        first = gave if all(map(is_finite, arrays)) else ""
        self.entries.append(Entry(op, tuple(arrays), dict(attributes), results, origin, first))

    # -- blame --------------------------------------------------------------------------------

    def error(self, transform: Transform) -> FiniteError:
        """The error for a result that is not finite."""
        try:
            found = self._blamed(transform)
        except Exception:  # a mask's length, a foreign op: no graph can be made of these entries
            return self._first()
        known = found.variable != UNKNOWN and (found.variable or found.line)
        return found if known else self._first()

    def _blamed(self, transform: Transform) -> FiniteError:
        builder, known, inputs = Builder(Sizes()), dict[int, Value](), list[tuple[Value, Any]]()
        names: list[str] = []
        places = {id(array): i for i, array in enumerate(self.given)}

        def lift(x: Any, origin: Origin) -> Value:
            if id(x) in known:
                return known[id(x)]
            if is_number(x) and id(x) not in places:
                return builder.constant(plain_number(x), weak_of(x), None, origin)
            if isinstance(x, np.generic) and id(x) not in places:
                return builder.constant(x.item(), ArrayType(x.dtype.name), None, origin)
            place = places.get(id(x))
            leaf = None if place is None else self.arguments.leaves[place]
            name = "array" if leaf is None else self.arguments.name_of(leaf)
            type_ = weak_of(x) if is_number(x) else ArrayType(x.dtype.name, x.shape)
            value = known[id(x)] = Value(type_, Origin(name, True))
            inputs.append((value, x))
            names.append(UNKNOWN if leaf is None else self.arguments.text_of(leaf))
            return value

        for entry in self.entries:
            operands = tuple(lift(x, entry.origin) for x in entry.operands)
            if entry.op is drawn or entry.op.opaque:
                continue  # what it gave is known, and is not to be made again
            values = builder.call(entry.op, operands, entry.origin, **entry.attributes)
            known.update(zip(map(id, entry.results), values, strict=True))
        arrays = [getattr(leaf, "_array", leaf) for leaf in flatten(self.returned)[0]]
        bad = [a for a in arrays if not is_finite(a)]
        wanted = [lift(self.given[i], Origin()) for i in self._wanted(transform)]
        outputs = tuple(known[id(a)] for a in bad or arrays[:1])
        graph = Graph(
            "journal",
            tuple(value for value, _ in inputs),
            tuple(builder.nodes),
            outputs,
            Frame(tuple(f"a{i}" for i in range(len(names))), tuple(names)),
            builder.sizes,
        )
        if not bad:
            graph = differentiate(graph, wanted)
        return blamed(graph, [x for _, x in inputs])

    def _wanted(self, transform: Transform) -> list[int]:
        """The leaves that are differentiated."""
        if not transform.differentiates:
            return []
        positions = {p % len(self.arguments.values) for p in transform.positions}
        leaves = enumerate(self.arguments.leaves)
        return [i for i, leaf in leaves if leaf.parameter in positions]

    def _first(self) -> FiniteError:
        """The first op in time that gave nan or inf without having been given one."""
        for entry in self.entries:
            if entry.gave:
                origin = entry.origin
                named = f" in {origin.name}" if origin.name else ""
                error = FiniteError(
                    f"{entry.op.name} gave {entry.gave}{named} "
                    f"({origin.file}:{origin.line}  {origin.text}), forward"
                )
                error.variable, error.operation = origin.name, entry.op.name
                error.file, error.line, error.text = origin.file, origin.line, origin.text
                error.section = "forward"
                return error
        return FiniteError("the gradient is not finite, though no operation of the forward is")


def journaled(
    call: Call, arguments: Arguments, transform: Transform, run: Callable[[Call], Any]
) -> Any:
    """``run(call)``, which while results are checked raises where its result is not finite."""
    if not checking() or STATE.trace is not None:
        return run(call)
    journal = Journal(arguments)
    result = run(journal.of(call))
    leaves, _ = flatten(result)
    if all(is_finite(leaf._array if type(leaf) is Tensor else leaf) for leaf in leaves):
        return result
    raise journal.error(transform)
