"""Plans which parts of a turn can be done behind the loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from codegen.ir import Attributes, Call, Constant, Graph, Node, Value
from codegen.types import LIST, is_inexact
from tracegrad.fast_math.loops.loop_body import FIRST, Read, Turn, is_batched
from tracegrad.fast_math.loops.loop_rewriting import of_one_type
from tracegrad.fast_math.loops.reassociation import JOINS, leaves_of
from tracegrad.ops.elementwise.ufuncs import add, divide, multiply, negative, subtract
from tracegrad.ops.python_lists import collected
from tracegrad.ops.shape.indexing import add_at, set_at, subtract_at


class Term(NamedTuple):
    """What a turn adds to a parameter, takes from it, or puts there.

    `at` is an index that is the same in all turns, `rows` are those that the turns have.
    """

    value: Value
    negative: bool = False
    at: Attributes | None = None
    rows: Read | None = None
    put: bool = False


@dataclass(eq=False)
class Sum:
    """A parameter that turns add terms to, and that nobody else reads."""

    parameter: Value
    first: Value
    terms: list[Term]


def sums_in(graph: Graph, turn: Turn) -> Iterator[Sum]:
    uses = Counter(v for node in (*turn.nodes, turn.again) for v in node.operands)
    for parameter, first, argument in zip(
        turn.loop.parameters, turn.loop.arguments, turn.again.arguments, strict=True
    ):
        type = argument.type
        if uses[parameter] != 1 or not is_inexact(type.dtype) or type.weak or type == LIST:
            continue
        terms = list(_terms(turn, argument, parameter, uses))
        begun = [term for term in terms if term.value is parameter]
        terms = [term for term in terms if term.value is not parameter]
        if len(begun) != 1 or begun[0].negative or not terms:
            continue
        plain = [term.value.type for term in terms if term.at is None and term.rows is None]
        if any(term.put for term in terms) and len(terms) > 1:
            continue
        if of_one_type(graph, [type, *plain]):
            yield Sum(parameter, first, terms)


def _terms(turn: Turn, value: Value, parameter: Value, uses: Mapping[Value, int]) -> Iterator[Term]:
    """What a parameter of the next turn is made of, this turn's parameter among it."""
    for leaf, less in leaves_of(turn, value, uses, JOINS[0]):
        node = turn.maker.get(leaf)
        while isinstance(node, Call) and not less and uses[leaf] == 1:
            term = _placed(turn, node)
            if term is None:
                break
            yield term
            leaf = node.operands[0]
            node = turn.maker.get(leaf)
        if leaf is not parameter and isinstance(node, Call) and node.op in JOINS[0]:
            yield from _terms(turn, leaf, parameter, uses) if uses[leaf] == 1 else ()
        yield Term(leaf, less)


def _placed(turn: Turn, call: Call) -> Term | None:
    """What a call adds to elements of its first operand, or puts into a row."""
    if call.op not in (add_at, subtract_at, set_at, collected):
        return None
    known = dict(call.attributes)
    if call.op is not collected and (known["repeats"] or known["counts"]):
        return None
    less, put = call.op is subtract_at, call.op in (set_at, collected)
    if len(call.operands) == 2:
        if put:
            return None
        return Term(call.operands[1], less, at=call.attributes)
    array, value, place, *more = call.operands
    if more or place not in turn.places or known.get("index", FIRST) != FIRST:
        return None
    rows = turn.rows_of(array, place)
    if rows is None or value.type.shape != array.type.shape[1:]:
        return None
    return Term(value, less, rows=rows, put=put)


CHEAP = frozenset({add, subtract, multiply, divide, negative})
"""What is computed again rather than kept."""


class SumsBehind:
    """Which nodes of a turn are done behind the loop, and what they read of each turn.

    `refused` are the sums that cannot go there. Where there are some, the others are planned again.
    """

    def __init__(self, turn: Turn, sums: Sequence[Sum]) -> None:
        self.turn = turn
        self.sums = sums
        gone = {each.parameter for each in sums}
        kept = [
            argument
            for parameter, argument in zip(turn.loop.parameters, turn.again.arguments, strict=True)
            if parameter not in gone
        ]
        self.staying = turn.behind(set(kept))
        self.left: dict[Value, None] = {}  # what turns leave, in order
        self.moved: set[Value] = set()
        self.refused = [each for each in sums if not self._add(each)]

    def _add(self, each: Sum) -> bool:
        turn = self.turn
        needed: set[Value] = set()
        left: dict[Value, None] = {}
        waiting = [term.value for term in each.terms]
        while waiting:
            value = waiting.pop()
            if value in needed or value not in turn.made:
                continue
            if value in turn.loop.parameters or (value in self.staying and self._waits(value)):
                if not _is_row(value):
                    return False
                left[value] = None
                continue
            node = turn.maker.get(value)
            if value in turn.places or not self._can_move(node):
                return False
            needed.add(value)
            if value not in turn.reads:
                waiting += node.operands  # type: ignore[union-attr]
        if any(self._stays(term, {*needed, *left}) for term in each.terms):
            return False
        self.moved |= needed
        self.left.update(left)
        return True

    def _stays(self, term: Term, there: set[Value]) -> bool:
        """Whether nothing is gained by having a term behind the loop."""
        value = term.value
        kept = term.rows is not None and value in self.staying and self._waits(value)
        return kept or value in self.turn.alike or value not in there

    def _waits(self, value: Value) -> bool:
        turn = self.turn
        return not (value in turn.alike or value in turn.reads or value in turn.wide)

    def _can_move(self, node: Node | None) -> bool:
        if isinstance(node, Constant):
            return True
        return isinstance(node, Call) and (node.results[0] in self.turn.reads or is_batched(node))

    @property
    def filled(self) -> Mapping[Value, Read]:
        """The rows that turns leave anyway."""
        gone = {each.parameter for each in self.sums}
        return {v: read for v, read in self.turn.filled.items() if read.rows not in gone}

    @property
    def pays(self) -> bool:
        """Whether turns save more calls than they need to leave what is read."""
        turn = self.turn
        work = [
            v
            for v in self.moved - self.staying - turn.alike
            if isinstance(call := turn.maker[v], Call) and call.memory is None
        ]
        new = [value for value in self.left if value not in self.filled]
        return len(work) >= max(len(new), 1)


class RowsBehind:
    """Rows that are made behind the loop of other rows that turns leave, at no cost to speak of."""

    def __init__(self, graph: Graph, turn: Turn) -> None:
        self.turn = turn
        self.sums: list[Sum] = []
        self.left: dict[Value, None] = {}
        self.moved: set[Value] = set()
        self.filled = filled = turn.filled
        begun = dict(zip(turn.loop.parameters, turn.loop.arguments, strict=True))
        early = {*turn.wide, *turn.reads, *turn.alike}
        for value in turn.maker:
            read, call = filled.get(value), turn.maker[value]
            if read is None or read.start or read.rest or not isinstance(call, Call):
                continue
            if value in turn.alike:
                continue
            known = [v for v in call.operands if v in filled or v in early or v not in turn.made]
            if call.op not in CHEAP or len(known) < len(call.operands) or read.rows not in begun:
                continue
            term = Term(value, rows=read, put=True)
            self.sums.append(Sum(read.rows, begun[read.rows], [term]))
            self.moved |= turn.behind({v for v in call.operands if v in early}) | {value}
            self.left.update((v, None) for v in call.operands if v in filled)
        made = {each.terms[0].value for each in self.sums}
        self.left = {v: None for v in self.left if v not in made}
        self.moved -= self.left.keys()


def _is_row(value: Value) -> bool:
    return value.type != LIST and not value.type.weak and value.type.dtype != "bool"
