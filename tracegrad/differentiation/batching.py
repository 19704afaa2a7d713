"""Turns a graph for one example into the graph for a batch.

Every value of the new graph either is the same for all examples, and computed once, or is a batch:
an array with one axis more, the first. What makes a batch of batches stands in the op's record
(`tracegrad.ops.batching_rules`); an op without a rule runs for one example after the other
(`tracegrad.differentiation.batched_values`). Branches and loops stay where all examples go the same
way; where an example's own values decide that, `NotBatchedError` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from codegen.ir import (
    Again,
    Block,
    Branch,
    Builder,
    Call,
    Check,
    Constant,
    Graph,
    Join,
    Loop,
    Node,
    Origin,
    Trait,
    Value,
    with_operands,
)
from codegen.passes.dce import dce
from codegen.sizes import Dim, Sizes
from codegen.types import LIST
from tracegrad.differentiation.batched_values import Lane
from tracegrad.differentiation.reverse_mode import relabel
from tracegrad.errors import NotBatchedError
from tracegrad.ops.batching_rules import moved
from tracegrad.ops.python_lists import (
    append_row,
    appended,
    first_items,
    item,
    list_length,
    listed_rows,
    new_list,
    unset_like,
)
from tracegrad.ops.record import TABLE
from tracegrad.ops.staging import Stage, Staged
from tracegrad.values.dispatch import apply, apply_in

Finish = Callable[[Block, Sequence[Lane]], tuple[Value, ...]]
"""Gives what a block returns of what its outputs are for one example."""


def batched(graph: Graph, wide: Sequence[bool], length: Dim) -> Graph:
    """The graph that does for all examples of a batch what `graph` does for one.

    Parameters
    ----------
    graph
        Any graph, of branches and loops as well, before it is optimized or after.
    wide
        For each input whether it is a batch: then it gets an axis of `length` in front (a new
        `Value`, with the origin of the old one); else all examples share it, and it stays the very
        same `Value`.
    length
        How many examples there are: an int, or a `codegen.sizes.Size` over symbols of
        ``graph.sizes`` (of `Sizes.new`, or any product of lengths). It need not be read from an
        input.

    Returns
    -------
    Graph
        With inputs in the same order, the same `sizes` and frame. Every output has the axis of the
        batch in front; an output that does not depend on a batch is repeated.

    Raises
    ------
    tg.errors.NotBatchedError
        An example's own value decides which way the program goes (a `Check`, a `Branch`, the number
        of turns of a `Loop`), how long an array is (``x[mask]``), or is given to code of the
        user's; nothing has been changed then.

    Examples
    --------
    Of a backward graph, with the cotangent for input 1: ``batched(graph, [False, True], n)`` takes
    an array of n cotangents, such as the rows of an identity matrix, and gives n gradients.
    """
    writer = Writer(graph.sizes, length)
    inputs = tuple([writer.input(value, w) for value, w in zip(graph.inputs, wide, strict=True)])
    block = writer.block(dce(graph).block, repeated)
    return writer.named(graph.replace(inputs=inputs).with_block(block))


def repeated(block: Block, outputs: Sequence[Lane]) -> tuple[Value, ...]:
    """Outputs that all have the batch in front."""
    return tuple([front(lane) for lane in outputs])


def front(lane: Lane) -> Value:
    """A value as a batch: repeated, where it is the same for all examples."""
    value: Value = batch_of(lane).value
    return value


def batch_of(lane: Lane) -> Staged:
    """The same as a staged value."""
    staged: Staged = lane.value
    if not lane.wide:
        shape = (lane.length, *staged.shape)
        staged = apply_in(staged, TABLE["broadcast_to"], {"shape": shape}, staged)
    return staged


class Writer:
    """Writes the nodes of a batch for the nodes of one example."""

    def __init__(self, sizes: Sizes, length: Dim) -> None:
        self.length = length
        self.stage = Stage(Builder(sizes))
        self.lanes: dict[Value, Lane] = {}
        self.names: dict[Value, Origin] = {}  # of values that were made under another origin
        self.parameters: dict[Value, tuple[object, int]] = {}  # of loops and joins
        self.heads: dict[object, tuple[bool, ...]] = {}  # which parameters are batches, by label

    def input(self, value: Value, wide: bool, axis: int = 0, length: Dim | None = None) -> Value:
        """The input that stands for one of one example: a batch along `axis`.

        Its `length` may be called otherwise than that of others.
        """
        made = self._widened(value, axis, length) if wide else value
        lane = self.lane(made, wide)
        if axis:
            self.stage.origin = value.origin
            lane = Lane(moved(lane.value, axis, 0), wide, self.length)
        self.lanes[value] = lane
        return made

    def lane(self, value: Value, wide: bool) -> Lane:
        """A value of the new graph as one of one example."""
        return Lane(Staged(self.stage, value), wide, self.length)

    def named(self, graph: Graph) -> Graph:
        """The graph with the user's names and lines on what was made of his values."""
        return relabel(graph, self.names)

    def block(self, block: Block, finish: Finish) -> Block:
        """A block for all examples; `finish` makes what it returns."""
        builder = self.stage.builder
        before, builder.nodes = builder.nodes, []
        try:
            outputs: tuple[Value, ...] = ()
            for node in block.nodes:
                self._node(node, finish)
            if not block.nodes or not isinstance(block.nodes[-1], Branch | Loop | Join | Again):
                self.stage.origin = block.origin
                outputs = finish(block, [self._of(value) for value in block.outputs])
            return block.with_nodes(tuple(builder.nodes), outputs)
        finally:
            builder.nodes = before

    def _of(self, value: Value) -> Lane:
        """A value of one example; what was made before the graph is the same for all."""
        found = self.lanes.get(value)
        return self.lane(value, False) if found is None else found

    def _alike(self, value: Value, what: str) -> Value:
        """A value that must be the same for all examples."""
        lane = self._of(value)
        if lane.wide:
            raise NotBatchedError(f"{what} depends on the example")
        return lane.value.value  # type: ignore[no-any-return]

    def _widened(self, value: Value, axis: int, length: Dim | None) -> Value:
        type = value.type
        if type != LIST:
            shape = list(type.shape)
            shape.insert(axis, self.length if length is None else length)
            type = replace(type, shape=tuple(shape), weak=False)
        return Value(type, value.origin)

    def _node(self, node: Node, finish: Finish) -> None:
        append = self.stage.builder.append
        match node:
            case Constant():
                append(node)
            case Call():
                self._call(node)
            case Check():
                append(replace(node, operand=self._alike(node.operand, _look_at(node))))
            case Branch(blocks=blocks):
                operand = self._alike(node.operand, _look_at(node))
                inner = tuple([self.block(block, finish) for block in blocks])
                append(replace(node, operand=operand, blocks=inner))
            case Loop():
                self._loop(node, finish)
            case Join():
                wide = [False] * len(node.parameters)
                parameters, blocks = self._with_parameters(node, wide, finish)
                append(replace(node, parameters=parameters, blocks=blocks))
            case Again():
                self._again(node)

    def _call(self, node: Call) -> None:
        builder = self.stage.builder
        operands = [self._of(value) for value in node.operands]
        if not any(lane.wide for lane in operands):
            builder.append(with_operands(node, lambda value: self._of(value).value.value))
            return
        first, start = node.results[0].origin, len(builder.nodes)
        self.stage.origin = first.named(first.name)
        if node.op in _ON_LISTS:
            results: Any = self._on_list(node, operands)
        else:
            results = apply(node.op, operands, dict(node.attributes))
        several = results if isinstance(results, tuple) else (results,)
        new = {value for made in builder.nodes[start:] for value in made.results}
        for result, lane in zip(node.results, several, strict=True):
            self.lanes[result] = lane
            if lane.value.value in new:  # it may be an operand as it is
                self.names[lane.value.value] = result.origin

    # -- loops ----------------------------------------------------------------------------------

    def _loop(self, loop: Loop, finish: Finish) -> None:
        """A loop whose parameters are batches where anything that they are given is one."""
        if loop.counter is not None:
            self._alike(loop.counter.start, "how often a loop runs")
            self._alike(loop.counter.stop, "how often a loop runs")
        wide = [self._of(value).wide for value in loop.arguments]
        parameters, blocks = self._with_parameters(loop, wide, finish)
        arguments = self._arguments(loop.arguments, wide)
        counter = loop.counter
        if counter is not None:
            start, stop = (self._of(v).value.value for v in (counter.start, counter.stop))
            counter = replace(counter, start=start, stop=stop)
        self.stage.builder.append(
            replace(
                loop, parameters=parameters, arguments=arguments, blocks=blocks, counter=counter
            )
        )

    def _with_parameters(
        self, head: Loop | Join, wide: list[bool], finish: Finish
    ) -> tuple[tuple[Value, ...], tuple[Block, ...]]:
        """The parameters of a loop or join, and its blocks; `wide` gets more of them as it turns
        out.
        """
        while True:
            self.heads[head.label] = tuple(wide)
            parameters = tuple(map(self.input, head.parameters, wide))
            for position, parameter in enumerate(parameters):
                self.parameters[parameter] = head.label, position
            try:
                return parameters, tuple([self.block(block, finish) for block in head.blocks])
            except _Wider as wider:
                if wider.label is not head.label:
                    raise
                wide[wider.position] = True

    def _again(self, node: Again) -> None:
        """The next turn; a parameter that was the same for all examples may be a batch there."""
        wide = self.heads[node.label]
        for position, value in enumerate(node.arguments):
            if self._of(value).wide and not wide[position]:
                raise _Wider(node.label, position)
        self.stage.builder.append(replace(node, arguments=self._arguments(node.arguments, wide)))

    def _arguments(self, values: Sequence[Value], wide: Sequence[bool]) -> tuple[Value, ...]:
        """What parameters are given, of which some are batches."""
        given = []
        for value, w in zip(values, wide, strict=True):
            lane, self.stage.origin = self._of(value), value.origin
            made = self.stage.builder.producer.get(value)
            if w and isinstance(made, Call) and Trait.UNSET in made.op.traits:
                like = self._widened(value, 0, None)
                given.append(unset_like(self.stage.builder, like, value.origin))
            elif w and not lane.wide and value.type != LIST and value.type.ndim:
                given.append(self._one_after_another(lane, made))
            else:
                given.append(self._front(lane) if w else lane.value.value)
        return tuple(given)

    def _one_after_another(self, lane: Lane, made: Node | None) -> Value:
        """A batch of one array in memory of its own, that of each example lying as it does.

        A copy of what repeats it would have the examples last, and sums add as arrays lie.
        """
        if not isinstance(made, Call) or made.op is not TABLE["zeros"]:
            value: Value = TABLE["copy_in_order"](batch_of(lane)).value
            return value
        given = {**dict(made.attributes), "shape": (self.length, *made.results[0].type.shape)}
        (zeros,) = self.stage.builder.call(made.op, (), self.stage.origin, **given)
        return zeros

    # -- lists ----------------------------------------------------------------------------------

    def _on_list(self, node: Call, operands: Sequence[Lane]) -> Lane:
        """A list holds batches alone, or what is the same for all examples."""
        if node.op is list_length:
            value = self.stage.builder.call(list_length, (operands[0].value.value,))[0]
            return self.lane(value, False)
        if node.op is listed_rows:
            return self._listed_rows(node, operands[0])
        if node.op is append_row and operands[2].wide:
            raise NotBatchedError("how many items a list has depends on the example")
        if node.op is item:
            shape = (self.length, *node.attribute("shape"))
            attributes = {**dict(node.attributes), "shape": shape, "weak": False}
        else:
            attributes = dict(node.attributes)
        if node.op is append_row:
            values = [self._front(operands[0]), self._front(operands[1]), operands[2].value.value]
        elif node.op not in (item, first_items):
            values = [self._front(x) for x in operands]
        elif not operands[0].wide or operands[1].wide:
            raise NotBatchedError("which item of a list is read depends on the example")
        else:
            values = [x.value.value for x in operands]
        (made,) = self.stage.builder.call(node.op, tuple(values), self.stage.origin, **attributes)
        return self.lane(made, True)

    def _listed_rows(self, node: Call, saved: Lane) -> Lane:
        """The rows of a list of batches, of which the first axis counts examples."""
        count, *row = node.attribute("shape")
        given = {"dtype": node.attribute("dtype"), "shape": (count, self.length, *row)}
        value = self._front(saved)
        (made,) = self.stage.builder.call(listed_rows, (value,), self.stage.origin, **given)
        return self.lane(moved(Staged(self.stage, made), 1, 0).value, True)

    def _front(self, lane: Lane) -> Value:
        """A value as a batch; of a list, one of batches."""
        value = lane.value.value
        if value.type != LIST or lane.wide:
            return front(lane)
        made = self.stage.builder.producer.get(value)
        while isinstance(made, Call) and made.op in (appended, append_row):
            value = made.operands[0]  # to a list that a loop hands on
            made = self.stage.builder.producer.get(value)
        if value in self.parameters:
            raise _Wider(*self.parameters[value])
        if not isinstance(made, Call) or made.op is not new_list:
            raise NotBatchedError("a list holds values of all examples and of single ones")
        held = [self._front(self._of(v)) for v in made.operands]
        (value,) = self.stage.builder.call(new_list, tuple(held), value.origin)
        return value


_ON_LISTS = (new_list, appended, item, first_items, append_row, list_length, listed_rows)


class _Wider(Exception):
    """A parameter of a loop or join that is the same for all examples at first is a batch later."""

    def __init__(self, label: object, position: int) -> None:
        self.label = label
        self.position = position


def _look_at(node: Check | Branch) -> str:
    """What Python saw there, with the user's line."""
    line = f" ({node.origin.text.strip()})" if node.origin.text else ""
    name = node.operand.origin.name
    return f"the value of {name or 'an expression'}, which Python reads{line},"
