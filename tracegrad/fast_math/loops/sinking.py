"""Moves sums over turns, and rows that follow from others, behind the loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from codegen import sizes as sz
from codegen.ir import Builder, Call, Constant, Graph, Node, Origin, Value, renamed
from codegen.spelling import Subscript
from codegen.types import ArrayType
from tracegrad.differentiation.batched_values import Lane
from tracegrad.differentiation.batching import Writer
from tracegrad.fast_math.loops.hoisting import written_at_once
from tracegrad.fast_math.loops.loop_body import Read, Turn, place_of, rows_at
from tracegrad.fast_math.loops.loop_rewriting import new_rows, of_rows, replaced
from tracegrad.fast_math.loops.sinking_plans import RowsBehind, Sum, SumsBehind, Term, sums_in
from tracegrad.ops.linear_algebra.contractions import matmul
from tracegrad.ops.python_lists import collected
from tracegrad.ops.reductions.sums_and_extremes import sum_over
from tracegrad.ops.shape.creation import full_of
from tracegrad.ops.shape.indexing import add_at, set_at, subtract_at
from tracegrad.ops.shape.reshaping import matrix_transpose, reshape_to
from tracegrad.ops.staging import Staged
from tracegrad.ops.type_rules import axes_of


def summed_behind(graph: Graph, turn: Turn) -> Graph | None:
    """The graph with sums over turns behind the loop."""
    sums = list(sums_in(graph, turn))
    plan = None
    while sums:
        plan = SumsBehind(turn, sums)
        if not plan.refused:
            break
        sums = [each for each in sums if each not in plan.refused]
    if not sums or plan is None or not plan.pays:
        return None
    return _Moved(graph, turn, plan).graph


def derived_behind(graph: Graph, turn: Turn) -> Graph | None:
    """The graph whose turns leave no rows that follow from others."""
    plan = RowsBehind(graph, turn)
    return _Moved(graph, turn, plan).graph if plan.sums else None


class _Moved:
    """Puts sums behind the loop."""

    def __init__(self, graph: Graph, turn: Turn, plan: SumsBehind | RowsBehind) -> None:
        self.turn = turn
        self.plan = plan
        self.sizes = graph.sizes
        self.before = Builder(graph.sizes)
        self.writer = Writer(graph.sizes, turn.span.turns)
        self.parameters: list[tuple[Value, Value, Value]] = []
        self.inside: list[Node] = []
        rows = self._rows()
        gone = {each.parameter for each in plan.sums}
        self._write(rows)
        totals = {each.parameter: self._total(each) for each in plan.sums}
        loop = turn.loop
        given = zip(loop.parameters, loop.arguments, turn.again.arguments, strict=True)
        kept = [*(each for each in given if each[0] not in gone), *self.parameters]
        parameters, arguments, again = zip(*kept, strict=True) if kept else ((), (), ())
        alike = [node for node in turn.nodes if node in self.alike]
        inside = [node for node in turn.nodes if node not in self.alike]
        body = replace(
            loop.turn,
            nodes=(*inside, *self.inside, replace(turn.again, arguments=tuple(again))),
        )
        assert loop.after is not None
        after = renamed(loop.after, totals)
        after = after.with_nodes((*self.writer.stage.builder.nodes, *after.nodes))
        changed = replace(
            loop, parameters=tuple(parameters), arguments=tuple(arguments), blocks=(body, after)
        )
        nodes = (*alike, *self.before.nodes, changed)
        self.graph = self.writer.named(graph.with_block(replaced(graph.block, loop, nodes)))

    def _rows(self) -> dict[Value, Read]:
        """For each value that turns leave, the rows of an array that have it."""
        turn, span = self.turn, self.turn.span
        filled = self.plan.filled
        rows: dict[Value, Read] = {}
        inside = Builder(self.sizes)
        place: Value | None = None
        for value in self.plan.left:
            if value in filled:
                rows[value] = filled[value]
                continue
            type = ArrayType(value.type.dtype, (span.turns, *value.type.shape))
            origin = of_rows(value.origin)
            parameter = Value(type, origin)
            if place is None:
                place = place_of(inside, turn.index, span.first)
            written = inside.call(collected, (parameter, value, place), origin)[0]
            first = new_rows(self.before, type, origin)
            self.parameters.append((parameter, first, written))
            rows[value] = Read(parameter, 0, 0)
        self.inside = inside.nodes
        return rows

    def _write(self, rows: Mapping[Value, Read]) -> None:
        """Writes what makes the terms, for all turns."""
        turn, writer, plan = self.turn, self.writer, self.plan
        builder = writer.stage.builder
        for value, read in rows.items():
            made = rows_at(builder, read, turn.span, value.origin.named(value.origin.name))
            writer.lanes[value] = writer.lane(made, True)
        needed = turn.behind({v for v in plan.moved if v in turn.alike}) & turn.alike
        self.alike = {node for node in turn.nodes if needed.intersection(node.results)}
        for node in turn.nodes:
            if node in self.alike or not plan.moved.intersection(node.results):
                continue
            (result, *_) = node.results
            if result in turn.reads:
                made = rows_at(builder, turn.reads[result], turn.span, result.origin)
                writer.lanes[result] = writer.lane(made, True)
            else:
                written_at_once(writer, node)

    def _total(self, each: Sum) -> Value:
        """What the parameter is after the last turn."""
        stage = self.writer.stage
        total = None if self._is_zero(each.first) else Staged(stage, each.first)
        plain = [term for term in each.terms if term.at is None and term.rows is None]
        for term in sorted(plain, key=lambda term: term.negative):
            stage.origin = self._origin(each, term)
            found: Any = self._summed(term.value, self.turn.maker.get(term.value))
            if total is not None:
                found = total - found if term.negative else total + found
            elif term.negative:
                found = 0.0 - found
            total = found
        for term in each.terms:
            if term not in plain:
                stage.origin = self._origin(each, term)
                total = self._placed(each, term, total)
        assert total is not None
        return total.value

    def _origin(self, each: Sum, term: Term) -> Origin:
        return term.value.origin.named(each.parameter.origin.name)

    def _placed(self, each: Sum, term: Term, total: Staged | None) -> Staged:
        """The array with a term at the elements or rows where the turns have it."""
        array = Staged(self.writer.stage, each.first) if total is None else total
        if term.rows is None:
            known = dict(term.at or ())
            added = self._summed(term.value, self.turn.maker.get(term.value))
        else:
            added, rows = self.writer.lanes[term.value].value, term.rows
            if not rows.start and not rows.rest and (term.put or total is None):
                return -added if term.negative else added
            cut = slice(rows.start or None, -rows.rest or None)
            known = {"index": Subscript((cut,)), "counts": (), "repeats": False}
        op = set_at if term.put else subtract_at if term.negative else add_at
        return op(array, added, **known)  # type: ignore[no-any-return]

    def _summed(self, term: Value, node: Node | None) -> Staged:
        """The sum of a term over all turns."""
        lane = self.writer.lanes[term]
        if isinstance(node, Call) and node.op is matmul and term in self.plan.moved:
            a, b = (self.writer.lanes.get(v) for v in node.operands)
            if a and b and a.wide and b.wide and a.ndim == b.ndim == 2:
                return _joint_product(a, b)
        if isinstance(node, Call) and node.op is sum_over and term in self.plan.moved:
            whole = self.writer.lanes[node.operands[0]]
            if whole.wide and not node.attribute("keepdims"):
                return _joint_sum(whole, node.attribute("axis"))
        return sum_over(lane.value, axis=0, keepdims=False)  # type: ignore[no-any-return]

    def _is_zero(self, value: Value) -> bool:
        graph = self.turn.graph
        made = graph.producer.get(value)
        while isinstance(made, Call) and made.op is full_of:
            made = graph.producer.get(made.operands[0])
        return isinstance(made, Constant) and made.slot is None and made.value == 0


def _joint_sum(lane: Lane, axis: Any) -> Staged:
    """The sum over all turns of sums along axes."""
    x, axes = lane.value, axes_of(axis, lane.ndim)
    if axes == (0,) and lane.ndim > 1:
        x, axes = reshape_to(x, shape=(sz.mul(x.shape[:2]), *x.shape[2:])), (0,)
    else:
        axes = (0, *(a + 1 for a in axes))
    whole = None if len(axes) == x.ndim else axes[0] if len(axes) == 1 else axes
    return sum_over(x, axis=whole, keepdims=False)  # type: ignore[no-any-return]


def _joint_product(a: Lane, b: Lane) -> Staged:
    """The sum of the products of matrices: one product, of those side by side and of the others."""
    left, right = a.value, b.value
    turns, m, k = left.shape
    joint = sz.mul((turns, k))
    left = matrix_transpose(reshape_to(matrix_transpose(left), shape=(joint, m)))
    right = reshape_to(right, shape=(joint, right.shape[2]))
    return matmul(left, right)  # type: ignore[no-any-return]
