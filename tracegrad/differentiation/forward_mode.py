"""Forward mode: appends the tangents of a graph's results.

Forward mode: one walk in the order of the program, through branches and the turns of loops. The
tangent of `h` is written behind `h` and called `h_dot`; a loop has the tangents of its parameters
as further parameters, a list of values that turns leave has a list of their tangents beside it.

There is one rule an op, its VJP (`tracegrad.ops`), and the JVP is made of it. The Jacobian of an
elementwise op is diagonal, its own transpose: the rule is given the tangent for a cotangent. Any
other rule is linear in the cotangent, so the walker of `reverse_mode` transposes it once more.
An op has a JVP in its record where that is measurably better. "No tangent" is no zero: nothing is
written for what does not depend on the inputs.

After R. E. Wengert, "A simple automatic derivative evaluation program" (1964), for forward mode,
and A. Radul, A. Paszke, R. Frostig, M. Johnson and D. Maclaurin, "You only linearize once: tangents
transpose to gradients" (2023), for the two transpositions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

from codegen.ir import (
    Again,
    Block,
    Branch,
    Builder,
    Call,
    Graph,
    Join,
    Loop,
    Node,
    Origin,
    Trait,
    Value,
)
from codegen.types import LIST, kind
from tracegrad.differentiation.joins import Unjoined
from tracegrad.differentiation.loops.residuals import Unrollable
from tracegrad.differentiation.reverse_mode import (
    contribution,
    in_dtype,
    moves,
    pullback,
    relabel,
    summed,
)
from tracegrad.differentiation.reverse_mode import steps_of as walked
from tracegrad.errors import NotDifferentiableError
from tracegrad.ops.elementwise.ufuncs import strengthen
from tracegrad.ops.python_lists import (
    append_row,
    appended,
    first_items,
    item,
    listed_rows,
    new_list,
    unset_like,
)
from tracegrad.ops.shape.creation import zeros_of
from tracegrad.ops.shape.reshaping import broadcast_to_shape
from tracegrad.ops.special_cotangents import ZERO, Undefined, computed
from tracegrad.ops.staging import Stage, Staged
from tracegrad.values.dispatch import same_shape, shape_of

Tangents: TypeAlias = "Sequence[Staged | None]"


def with_tangents(
    graph: Graph, tangents: Mapping[Value, Value], asked: Sequence[Sequence[Value]]
) -> Graph:
    """The graph whose every return gives tangents besides.

    Parameters
    ----------
    tangents
        Those of inputs. Values among them that the graph does not have become inputs.
    asked
        For each return, in the order of the graph, the values whose tangents it gives after its
        outputs.
    """
    return _Writer(graph, tangents, asked).whole()


class _Writer:
    def __init__(
        self,
        graph: Graph,
        tangents: Mapping[Value, Value],
        asked: Sequence[Sequence[Value]],
    ) -> None:
        self.graph = graph
        self.given = tuple(tangents.values())
        self.asked = iter(asked)
        self.dots: dict[Value, Value] = dict(tangents)
        self.names: dict[Value, Origin] = {}  # what values turned out to be
        self.heads = {n.label: n for n in graph.all_nodes if isinstance(n, Loop | Join)}
        self.active = self._active(tangents) & self._told({v for end in asked for v in end})
        self.stage = Stage(Builder(graph.sizes))
        for node in graph.all_nodes:
            self.builder.producer.update((result, node) for result in node.results)

    @property
    def builder(self) -> Builder:
        return self.stage.builder

    def whole(self) -> Graph:
        block = self._block(self.graph.block)
        known = {*self.graph.inputs, *self.graph.producer}
        further = tuple([v for v in self.given if v not in known])
        whole = self.graph.replace(inputs=(*self.graph.inputs, *further)).with_block(block)
        return relabel(whole, self.names)

    def _active(self, tangents: Mapping[Value, Value]) -> set[Value]:
        """The values that depend on the inputs that have a tangent, lists of such values too."""
        active, before = set(tangents), -1
        while before != len(active):
            before = len(active)
            for node in self.graph.all_nodes:
                if isinstance(node, Call):
                    passes = node.op.differentiable or _is_of_lists(node)  # type: ignore[attr-defined]
                    if passes and not active.isdisjoint(node.operands):
                        active.update(filter(moves, node.results))
                elif isinstance(node, Loop | Again):
                    parameters = self.heads[node.label].parameters
                    for parameter, argument in zip(parameters, node.arguments, strict=True):
                        if argument in active and moves(parameter):
                            active.add(parameter)
        return active

    def _told(self, asked: set[Value]) -> set[Value]:
        """The values whose tangents those of the `asked` are made of.

        A number that the function only compares is none of them, whatever its rule refuses.
        """
        found, before, backwards = asked, -1, [*self.graph.all_nodes][::-1]
        while before != len(found):
            before = len(found)
            for node in backwards:
                if isinstance(node, Call):
                    passes = node.op.differentiable or _is_of_lists(node)  # type: ignore[attr-defined]
                    if passes and not found.isdisjoint(node.results):
                        found.update(node.operands)
                elif isinstance(node, Loop | Again):
                    parameters = self.heads[node.label].parameters
                    pairs = zip(parameters, node.arguments, strict=True)
                    found.update(argument for parameter, argument in pairs if parameter in found)
        return found

    # -- blocks -----------------------------------------------------------------------------------

    @contextmanager
    def _writing(self) -> Iterator[list[Node]]:
        """Nodes are appended to a list of their own."""
        before: list[Node] = self.builder.nodes
        nodes: list[Node] = []
        self.builder.nodes = nodes
        try:
            yield nodes
        finally:
            self.builder.nodes = before

    def _block(self, block: Block) -> Block:
        with self._writing() as nodes:
            outputs = block.outputs
            for node in block.nodes:
                match node:
                    case Call():
                        self.builder.append(node)
                        self._call(node)
                    case Branch(blocks=blocks):
                        self.builder.append(replace(node, blocks=tuple(map(self._block, blocks))))
                    case Loop():
                        arguments = self._handed(node.label, node.arguments, node.origin)
                        whole = replace(node, arguments=(*node.arguments, *arguments))
                        self.builder.append(self._with_parameters(whole))
                    case Join():
                        self.builder.append(self._with_parameters(node))
                    case Again():
                        carried = self._handed(node.label, node.arguments, node.origin)
                        self.builder.append(replace(node, arguments=(*node.arguments, *carried)))
                    case _:
                        self.builder.append(node)
            if not nodes or not isinstance(nodes[-1], Branch | Loop | Join | Again):
                self.stage.origin = replace(block.origin, name=None, final=False)
                outputs = (*outputs, *[self._given_back(v) for v in next(self.asked)])
        return block.with_nodes(tuple(nodes), outputs)

    def _with_parameters(self, head: Loop | Join) -> Loop | Join:
        """The loop or join with the tangents of its parameters as further parameters."""
        parameters = []
        for parameter in self._carried(head.label):
            type = parameter.type if parameter.type == LIST else replace(parameter.type, weak=False)
            self.dots[parameter] = Value(type, _dotted(parameter.origin))
            parameters.append(self.dots[parameter])
        blocks = tuple(map(self._block, head.blocks))
        return replace(head, parameters=(*head.parameters, *parameters), blocks=blocks)

    def _carried(self, label: object) -> list[Value]:
        """The parameters of a loop or join that have a tangent."""
        return [p for p in self.heads[label].parameters if p in self.active]

    def _handed(self, label: object, arguments: Sequence[Value], origin: Origin) -> list[Value]:
        """The tangents of what the parameters of a loop or join are given.

        "No tangent" is not zero: where it depends on the path whether there is one, `Unjoined`.
        """
        given = dict(zip(self.heads[label].parameters, arguments, strict=True))
        tangents = []
        for parameter in self._carried(label):
            self.stage.origin = replace(_dotted(parameter.origin), section=origin.section)
            if isinstance(self.heads[label], Join) and given[parameter] not in self.dots:
                tangents.append(self._unset(label, given[parameter], self.dots[parameter]))
                continue
            tangent = self._tangent_of(given[parameter])
            if parameter.type != LIST:
                staged = in_dtype(self._staged(tangent), self._staged(parameter))
                if staged.value.type.weak:
                    staged = strengthen(staged)
                if not same_shape(staged, self._staged(parameter)):
                    staged = broadcast_to_shape(staged, shape=shape_of(self._staged(parameter)))
                tangent = staged.value
            tangents.append(tangent)
        return tangents

    def _unset(self, label: object, value: Value, like: Value) -> Value:
        """The tangent of what is not there on a path."""
        made = self.builder.producer.get(value)
        if isinstance(made, Call) and Trait.UNSET in made.op.traits:
            return unset_like(self.builder, like, self.stage.origin, made.op)  # type: ignore[arg-type]
        raise Unjoined(label, "what arms hand on has a tangent in some of them")

    def _tangent_of(self, value: Value) -> Value:
        """A value's tangent, zeros where it does not depend on the inputs."""
        found = self.dots.get(value)
        if found is not None:
            return found
        if value.type == LIST:
            return self._list_of_zeros(value)
        zeros: Value = zeros_of(self._staged(value)).value
        return zeros

    def _given_back(self, value: Value) -> Value:
        """A value's tangent as the caller gets it: a number is NumPy's, as gradients are."""
        tangent = self._tangent_of(value)
        strong: Value = strengthen(self._staged(tangent)).value if tangent.type.weak else tangent
        return strong

    # -- calls ------------------------------------------------------------------------------------

    def _staged(self, value: Value) -> Staged:
        return Staged(self.stage, value)

    def _call(self, call: Call) -> None:
        """Writes the tangents of what a call makes."""
        op: Any = call.op
        if self.active.isdisjoint(call.results):
            return
        self.stage.origin = _dotted(call.results[0].origin, inner=True)
        if _is_of_lists(call):
            self._call_of_lists(call)
            return
        tangents = [self.dots.get(v) for v in call.operands]
        if not any(tangents):
            return
        if op.vjp is None:
            raise NotDifferentiableError(f"{op.name}: no derivative is known for this operation")
        staged = [None if t is None else self._staged(t) for t in tangents]
        with self._writing() as nodes:
            made = self._pushed(call, staged)
            found = {v: t for v, t in zip(call.results, made, strict=True) if t is not None}
            found = {v: self._fitted(t, v) for v, t in found.items() if moves(v)}
        for node in live(nodes, [t.value for t in found.values()]):
            self.builder.append(node)
        ours = {result for node in nodes for result in node.results}
        for value, tangent in found.items():
            self.dots[value] = tangent.value
            name, known = value.origin.name, self.names.get(tangent.value)
            if name and tangent.value in ours and known is None:
                self.names[tangent.value] = tangent.value.origin.named(
                    f"{name}_dot", value.origin.final
                )

    def _pushed(self, call: Call, tangents: Tangents) -> Sequence[Any]:
        """The tangents of the results, None where nothing flows."""
        op: Any = call.op
        operands = [self._staged(v) for v in call.operands]
        results = [self._staged(v) for v in call.results]
        real = all(kind(v.type.dtype) != "complex" for v in (*call.operands, *call.results))
        if op.jvp is not None:
            y: Any = results[0] if len(results) == 1 else tuple(results)
            made = op.jvp(tangents, y, *operands, **dict(call.attributes))
            if made is not NotImplemented:
                return made if isinstance(made, tuple) else (made,)
        if op.linear == "together":
            pairs = zip(tangents, operands, strict=True)
            dots = [zeros_of(x) if dot is None else dot for dot, x in pairs]
            return (op(*dots, **dict(call.attributes)),)
        if op.linear == "each":
            places = [i for i, dot in enumerate(tangents) if dot is not None]
            moved = [[*operands[:i], tangents[i], *operands[i + 1 :]] for i in places]
            return (summed([op(*each, **dict(call.attributes)) for each in moved]),)
        if Trait.ELEMENTWISE in op.traits and real and len(results) == 1:
            return [self._elementwise(call, results[0], operands, tangents)]
        return self._transposed(call, results, operands, tangents)

    def _elementwise(
        self, call: Call, y: Staged, operands: Sequence[Staged], tangents: Tangents
    ) -> Any:
        """The derivative times the tangent, for each operand: what the VJP rule says of itself."""
        op: Any = call.op
        parts = []
        for i, tangent in enumerate(tangents):
            if tangent is not None:
                given = computed(op.vjp(tangent, y, *operands, **dict(call.attributes))[i])
                if type(given) is Undefined:
                    raise given.error
                if given is not None and given is not ZERO:
                    parts.append(given)
        return summed(parts) if parts else None

    def _transposed(
        self,
        call: Call,
        results: Sequence[Staged],
        operands: Sequence[Staged],
        tangents: Tangents,
    ) -> Sequence[Any]:
        """The VJP rule as a graph, which is linear in the cotangents, pulled back itself."""
        op: Any = call.op
        cts: list[Any] = [None] * len(results)
        for i, value in enumerate(call.results):
            if op.opaque and moves(value):  # the user's code gets it
                cts[i] = zeros_of(self._staged(value)).value
            elif not op.opaque:
                cts[i] = Value(replace(value.type, weak=False), value.origin)
        staged = tuple([None if ct is None else self._staged(ct) for ct in cts])
        several = len(results) > 1
        seeds: dict[Any, Any] = {}
        with self._writing() as nodes:
            given = op.vjp(
                staged if several else staged[0],
                tuple(results) if several else results[0],
                *operands,
                **dict(call.attributes),
            )
            for operand, new, tangent in zip(operands, given, tangents, strict=True):
                if tangent is None or new is None or new is ZERO:
                    continue
                new = computed(new)
                if type(new) is Undefined:
                    raise new.error
                value = contribution(new, operand).value
                seeds[value] = tangent if value not in seeds else seeds[value] + tangent
        depends, linear = {ct for ct in cts if ct is not None}, []
        for node in nodes:
            if depends.isdisjoint(node.operands) or op.opaque:
                self.builder.append(node)
            if not depends.isdisjoint(node.operands):
                depends.update(node.results)
                linear.append(node)

        def values_of(step: Any) -> tuple[Any, list[Any]]:
            made = tuple(map(self._staged, step.results))
            return made[0] if len(made) == 1 else made, [*map(self._staged, step.operands)]

        with self._writing() as further:
            wanted = [ct for ct in cts if ct is not None]
            found = pullback(walked(linear), values_of, seeds, wanted, zeros=False)
        ends = [t.value for t in found.values()]
        kept = live(further, ends)
        read = {v for node in kept for v in (*node.operands, *ends)}
        if not op.opaque and not depends.isdisjoint(read):
            raise NotDifferentiableError(f"{op.name}: no derivative in forward mode is known")
        for node in kept:
            self.builder.append(node)
        return [found.get(ct) for ct in cts]

    def _fitted(self, tangent: Any, value: Value) -> Staged:
        """A tangent in the shape and dtype of what it is the tangent of."""
        y = self._staged(value)
        lifted = self._staged(self.stage.lift(tangent))
        if not same_shape(lifted, y):
            lifted = broadcast_to_shape(lifted, shape=shape_of(y))
        fitted: Staged = in_dtype(lifted, y)
        return fitted

    # -- lists that turns leave -------------------------------------------------------------------

    def _call_of_lists(self, call: Call) -> None:
        """A list of tangents, in the places of their values, beside a list of values."""
        (result,) = call.results
        builder = self.builder
        origin = replace(_dotted(result.origin), section=result.origin.section)
        if call.op in (item, first_items):
            listed, k = call.operands
            given = dict(call.attributes)
            (made,) = builder.call(call.op, (self._tangent_of(listed), k), origin, **given)
        elif call.op is appended:
            listed, value = call.operands
            pair = (self._tangent_of(listed), self._kept(value))
            (made,) = builder.call(appended, pair, origin)
        elif call.op is append_row:
            listed, value, k = call.operands
            rows = (self._tangent_of(listed), self._tangent_of(value), k)
            (made,) = builder.call(append_row, rows, origin)
        elif call.op is listed_rows:
            given = dict(call.attributes)
            dots = self._tangent_of(call.operands[0])
            (made,) = builder.call(listed_rows, (dots,), origin, **given)
        else:
            (made,) = builder.call(new_list, tuple(map(self._kept, call.operands)), origin)
        self.dots[result] = made

    def _kept(self, value: Value) -> Value:
        """What stands in a list of tangents for a value."""
        return self._tangent_of(value) if moves(value) else value

    def _list_of_zeros(self, listed: Value) -> Value:
        """The tangents of a list whose values do not depend on the inputs, yet."""
        made = self.builder.producer.get(listed)
        if not isinstance(made, Call) or made.op is not new_list:
            raise Unrollable("a list that turns leave has no tangents")
        zeros = tuple(map(self._kept, made.operands))
        (found,) = self.builder.call(new_list, zeros, _dotted(listed.origin))
        return found


def _is_of_lists(call: Call) -> bool:
    return call.op in (item, first_items, appended, new_list, append_row, listed_rows)


def _dotted(origin: Origin, inner: bool = False) -> Origin:
    """The place of a tangent, and its name; `inner` for what is made on the way to it."""
    stem = origin.name or ("value" if origin.final else None)
    return origin.named(stem and f"{stem}_dot", origin.final and not inner)


def live(nodes: Sequence[Node], wanted: Sequence[Value]) -> list[Node]:
    """The nodes that `wanted` values need, of straight code."""
    needed, kept = set(wanted), []
    for node in reversed(nodes):
        if not needed.isdisjoint(node.results):
            needed.update(node.operands)
            kept.append(node)
    return kept[::-1]
