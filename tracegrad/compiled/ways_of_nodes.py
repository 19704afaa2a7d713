"""The ways back of a node of the tape that is a call: programs from cotangents to gradients.

A `Way` belongs to one return of the forward. Where no program stands for what is asked of it, the
function's ops run again on Tensors (`Way.replay`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from codegen import ir
from codegen.ir import Block, Call, Graph, Origin, Trait, Value, renamed, walk
from codegen.passes.dce import dce
from codegen.rewrite import at_ends
from codegen.types import LIST
from tracegrad.compiled.captured import memory
from tracegrad.differentiation.backwards_apart import backwards_apart, kept_alike, with_alike_ends
from tracegrad.differentiation.joins import Unjoined
from tracegrad.differentiation.loops.residual_reads import read_in
from tracegrad.differentiation.loops.residuals import Unrollable
from tracegrad.differentiation.partition import backward_graph, is_told
from tracegrad.differentiation.reverse_mode import differentiate, reached, sources
from tracegrad.differentiation.ways_back import Apart
from tracegrad.errors import BackwardError
from tracegrad.execution.graph_interpreter import run_through
from tracegrad.execution.pipeline import Program, compile_graph
from tracegrad.ops.elementwise.arrays_and_scalars import copy_as_it_lies
from tracegrad.ops.python_lists import OF_LISTS, array_list, stacked
from tracegrad.ops.random_draws import drawn, given_back
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.foreign_arrays import Foreign, kept, memory_of, note
from tracegrad.tape.tape import Node, next_stamp
from tracegrad.tape.write_checks import is_changed
from tracegrad.tensors.devices import bare
from tracegrad.tensors.tensor import wrap
from tracegrad.user_code.program_points import capture, label
from tracegrad.values.dispatch import apply

Generators: TypeAlias = "Sequence[tuple[Any, Any]]"
"""Generators of random bits, each with a state."""


class Asked(NamedTuple):
    """What a backward is asked for.

    `same` are pairs of inputs, by place, that are one Tensor: the second has the gradients of both.
    `onto` are inputs that have a part of their cotangents already, to which theirs are added, in
    the order of an eager tape: the gradients of these are the sums.
    """

    given: tuple[int, ...]  # the outputs that have cotangents
    same: tuple[tuple[int, int], ...] = ()
    onto: tuple[int, ...] = ()


@dataclass(frozen=True)
class Back:
    """From residuals and cotangents to gradients."""

    program: Program
    reads: tuple[Value, ...]
    numbers: frozenset[Value]  # those of which it reads more than lengths
    places: tuple[int, ...]  # the inputs of the path whose gradients it gives
    kept: bool  # whether calls keep what it reads
    told: tuple[int, ...] = ()  # gradients of which further results tell whether there are any
    onto: tuple[int, ...] = ()  # the inputs whose cotangents so far it takes behind the others


@dataclass
class Way:
    """One path, or those whose arms meet, with its backward."""

    path: Graph  # straight code, or all of the forward
    replayed: Graph  # the same, without what is kept
    target: str
    targets: tuple[Value, ...]
    behind: Set[Value]  # of these, on which outputs may depend
    returned: tuple[Value, ...]  # the outputs, and what tells of them whether they require grad
    outputs: tuple[Value, ...]  # those of them that may have a gradient
    residuals: tuple[Value, ...] = ()  # that the path makes
    slots: tuple[int, ...] | None = None  # where they are among what the path returns besides
    read: frozenset[int] = frozenset()  # inputs, by place, that are read where they are
    number: int = 0  # of its return, in the order of the graph
    told: Mapping[Value, int] = field(default_factory=dict)  # where it is told of an output
    backwards: dict[Asked, Back | None] = field(default_factory=dict)

    def backward(self, asked: Asked) -> Back | None:
        """The way back from cotangents of some of the outputs; None where it has no program.

        For JAX, and where the program cannot, cotangents so far are not taken, nor those of inputs
        that are one Tensor together: then the tape adds what comes back.
        """
        known = self.backwards.get(asked)
        if known is not None:
            return known
        if self.target == "jax":
            asked = Asked(asked.given)
        if asked not in self.backwards:
            outputs = [self.outputs[k] for k in asked.given]
            straight = _is_straight(self.path)
            made = self._straight if straight else self._of_some
            found = made(outputs, asked)
            self.backwards[asked] = found if found is not None and found.kept else None
        found = self.backwards[asked]
        plain = Asked(asked.given)
        return self.backward(plain) if found is None and asked != plain else found

    def _straight(self, outputs: Sequence[Value], asked: Asked) -> Back:
        cts = {
            v: Value(v.type, Origin(f"ct{k}", True))
            for v, k in zip(outputs, asked.given, strict=True)
        }
        path = _united(self.path, asked.same)
        flows = sources(path, outputs)
        targets = [target for target in self.targets if target in flows]
        onto = [v for v in self._onto(asked) if v in targets]
        cts |= {v: Value(v.type, Origin(f"ct_of_{v.origin.name}", True)) for v in onto}
        joint = differentiate(path, targets, cts, keep=())
        back = self._back(joint, asked, tuple(cts.values()), targets)
        return replace(back, onto=tuple(map(self.path.inputs.index, onto)))

    def _onto(self, asked: Asked) -> list[Value]:
        """The inputs that go on with what they have; one that is returned has two cotangents."""
        inputs = [self.path.inputs[i] for i in asked.onto]
        return [v for v in inputs if v not in self.outputs and not v.type.weak]

    def _of_some(self, outputs: Sequence[Value], asked: Asked) -> Back | None:
        """The way back from some outputs, where it reads what calls keep for that from all."""
        try:
            onto = self._onto(asked)
            some = {self.number: [*outputs, *onto]}
            replayed = _united(self.replayed, asked.same)
            apart = backwards_apart(replayed, self.targets, some)
        except (Unrollable, Unjoined):
            return None
        alike = kept_alike(self.replayed, self.path, apart.forward)
        backward = renamed(apart.backwards[self.number], alike)
        made = {result for node in walk(backward.nodes) for result in node.results}
        given = apart.cotangents[self.number]
        cts = tuple(given.values())
        known = {*made, *cts, *self.path.inputs, *self.path.producer}
        if not known.issuperset(read_in(backward)):
            return None
        absent = {alike.get(value, value) for value in apart.absent}
        back = self._back(self._behind(backward), asked, cts, self.targets, absent)
        return replace(back, onto=tuple([self.places[v] for v in given if v in onto]))

    def _behind(self, backward: Block) -> Graph:
        """A backward, with the numbers and lengths that it has in common with the forward."""
        told = [node for node in self.path.all_nodes if is_told(node)]
        return self.path.with_block(backward.with_nodes((*told, *backward.nodes)))

    def _back(
        self,
        joint: Graph,
        asked: Asked,
        cts: tuple[Value, ...],
        targets: Sequence[Value],
        absent: Set[Value] = frozenset(),
    ) -> Back:
        """The program of the backward part of a graph."""
        told: tuple[int, ...] = ()
        if self.target == "jax":
            joint, told = with_alike_ends(joint, targets)
        graph, reads = backward_graph(joint, self.path, cts, absent)
        shapeless = [i for i, v in enumerate(reads) if v in absent or self._is_list(v)]
        frame = replace(graph.frame, absent=frozenset(shapeless))
        graph = graph.replace(name=f"{self.path.name}_backward", about="", frame=frame)
        program = compile_graph(graph, self.target, sound=True)
        places = tuple(map(self.path.inputs.index, targets))
        numbers = frozenset(reads).intersection(read_in(graph.block))
        known = {*self.residuals, *(self.path.inputs[i] for i in self.read)}
        known.update(set(self.path.inputs).difference(numbers))  # of these the lengths
        kept = asked == self._all or known.issuperset(reads)
        return Back(program, tuple(reads), numbers, places, kept, told)

    def _is_list(self, value: Value) -> bool:
        """Whether a value of the forward is a list of arrays in its program."""
        made = self.path.producer.get(value)
        return isinstance(made, Call) and made.op is array_list

    def enter_all(self, apart: Apart) -> None:
        """Enters the way back from cotangents of all outputs, where arms meet."""
        backward = apart.backwards[self.number]
        cts = tuple(apart.cotangents[self.number].values())
        joint = self._behind(backward)
        self.backwards[self._all] = self._back(joint, self._all, cts, self.targets, apart.absent)

    def keeps(self, back: Back) -> None:
        """Has calls keep what the way back reads, and what was drawn: no replay draws it again."""
        made = [v for v in back.reads if v not in self.path.inputs]
        self.residuals = tuple(dict.fromkeys([*made, *self._drawn]))
        self.read = frozenset(i for i, v in enumerate(self.path.inputs) if v in back.numbers)

    def kept_of(self, given: Sequence[Any]) -> list[Any]:
        """The residuals, of what the path has returned besides its outputs."""
        return [*given] if self.slots is None else [given[i] for i in self.slots]

    def own_items(self, kept: Mapping[Value, Any], inputs: Sequence[Any]) -> None:
        """Copies what lists among the residuals hold of the caller's arrays, which may be written.

        Tensors that are written to are told by their versions.
        """
        for residual, place, at in self._lent:
            array, items = inputs[place], kept[residual]
            if type(array) is not np.ndarray:
                continue
            for k in range(len(items)) if at is None else [at]:
                if np.may_share_memory(items[k], array):
                    items[k] = copy_as_it_lies(items[k])

    @cached_property
    def _lent(self) -> tuple[tuple[Value, int, int | None], ...]:
        """Lists among the residuals, inputs that they may show, and in which item; None for any."""
        found: dict[tuple[Value, int, int | None], None] = {}
        for residual in self.residuals:
            lists, seen = [residual] if residual.type == LIST else [], set[Value]()
            while lists:
                value = lists.pop()
                if value in seen:
                    continue
                seen.add(value)
                lists += self.path.given.get(value, ())
                made = self.path.producer.get(value)
                if not isinstance(made, Call) or Trait.HOLDS not in made.op.traits:
                    continue
                grows = any(operand.type == LIST for operand in made.operands)
                for at, operand in enumerate(made.operands):
                    if operand.type == LIST:
                        lists.append(operand)
                        continue
                    for i in self._inputs_of(operand):
                        found[residual, i, None if grows else at] = None
        return tuple(found)

    def _inputs_of(self, value: Value) -> set[int]:
        """The inputs, by place, whose memory a value may show, as a parameter, too."""
        found, seen, waiting = set[int](), set[Value](), [value]
        while waiting:
            owner = self.path.owner[waiting.pop()]
            if owner in seen:
                continue
            seen.add(owner)
            waiting += self.path.given.get(owner, ())
            if owner in self.places:
                found.add(self.places[owner])
        return found

    @property
    def _drawn(self) -> list[Value]:
        """The random numbers of straight code."""
        if not _is_straight(self.path):
            return []
        calls = (node for node in walk(self.path.nodes) if isinstance(node, Call))
        return [call.results[0] for call in calls if call.op is drawn]

    @cached_property
    def count(self) -> int:
        """How many outputs the function has."""
        return min(self.told.values(), default=len(self.returned))

    @cached_property
    def stands(self) -> tuple[tuple[int, int], ...]:
        """The outputs of the function that may have a gradient: among all, and among those."""
        outputs = {output: k for k, output in enumerate(self.outputs)}
        return tuple((i, outputs[v]) for i, v in enumerate(self.returned) if v in outputs)

    @cached_property
    def firsts(self) -> tuple[int, ...]:
        """Where each of the outputs that may have a gradient stands first."""
        return tuple(map(self.returned.index, self.outputs))

    @cached_property
    def places(self) -> dict[Value, int]:
        """The inputs, by place."""
        return {value: i for i, value in enumerate(self.path.inputs)}

    @cached_property
    def constant(self) -> tuple[int, ...]:
        """The inputs to whose histories no gradient goes."""
        return tuple(i for i, v in enumerate(self.path.inputs) if v not in self.behind)

    @cached_property
    def inner(self) -> frozenset[int]:
        """The outputs from which others are computed, of which a backward goes past them."""
        every = range(len(self.outputs))
        if not _is_straight(self.path):
            return frozenset(every if len(every) > 1 else ())
        return frozenset(
            k
            for k in every
            if not reached(self.path, [self.outputs[k]]).isdisjoint(
                other for j, other in enumerate(self.outputs) if j != k
            )
        )

    @cached_property
    def _all(self) -> Asked:
        """What asks for the way back from all outputs."""
        return Asked(tuple(range(len(self.outputs))))

    @property
    def whole(self) -> Back:
        """The way back from cotangents of all outputs."""
        back = self.backward(self._all)
        assert back is not None
        return back

    @cached_property
    def run_again(self) -> frozenset[int]:
        """The inputs, by place, of which a replay computes what the way back reads."""
        numbers = count()

        def change(end: Block) -> Block:
            kept = self.residuals if straight or next(numbers) == self.number else ()
            return replace(end, outputs=kept, returns=None, names=())

        straight = _is_straight(self.path)
        block = dce(self.path.with_block(at_ends(self.path.block, change))).block
        read = set(read_in(block))
        return frozenset(i for i, v in enumerate(self.path.inputs) if v in read)

    @cached_property
    def looked_at(self) -> tuple[int, ...]:
        """The inputs of whose numbers a backward, or what runs again for it, reads."""
        return tuple(sorted(self.read | self.run_again))

    def keep(self, node: Node, inputs: Sequence[Any], written: Sequence[int]) -> None:
        """Copies or watches what the node of a call keeps of arrays that have other owners.

        Behind it stand the histories alone on which its outputs may depend.

        Into `written` inputs the call itself writes, which a replay reads as they were before.
        """
        values = [*node.values]
        if self.constant:
            parents = [*node.parents]
            for i in self.constant:
                parents[i] = None
            node.parents = tuple(parents)
        for i in written:
            if i not in self.read:
                values[i] = np.copy(memory(inputs[i]))
        for i in self.looked_at:
            if type(values[i]) is Foreign:
                note((values[i],))
                node.stamp = next_stamp()  # later than the note
            elif type(inputs[i]) is np.ndarray:
                values[i] = kept(values[i])
        node.values = tuple(values)

    def replay(
        self, inputs: Sequence[Any], residuals: Mapping[Value, Any], generators: Generators = ()
    ) -> list[Any]:
        """The outputs that have a gradient, by the ops of the path on Tensors.

        What turns and arms draw is drawn again, from `generators` in the states that they had.
        """

        def recorded(
            call: Call, kernel: Any, operands: Sequence[Any], read: Mapping[str, Any]
        ) -> Any:
            if call.op is drawn:
                again = bool(generators)
                return wrap(
                    kernel(*map(bare, operands), **read) if again else residuals[call.results[0]]
                )
            if call.op in OF_LISTS:
                return OF_LISTS[call.op](*operands)
            return apply(call.op, [stacked(x) for x in operands], read)

        if generators and STATE.trace is not None:
            STATE.trace.read("gradients of gradients through draws of a call before")
        with given_back([source for source, _ in generators]):
            for source, state in generators:
                source.state = state
            end, values = run_through(self.replayed, inputs, recorded)
        if end.outputs != self.returned:
            self._refuse_changed()
        return [stacked(values[output]) for output in self.outputs]

    def compare_inputs(self, node: Node | None, inputs: Sequence[Any]) -> None:
        """Raises where the call's node has kept something else than a replay would read.

        That is told by the memory, so whatever the results of a program are rounded to.
        """
        if STATE.trace is not None or node is None:  # not yet returned
            return
        places = sorted(self.read | self.run_again)
        kept = [node.values[i] for i in places]
        now = [memory(inputs[i]) for i in places]
        alike = all(_is_same(a, b) for a, b in zip(kept, now, strict=True))
        if not alike or is_changed(kept, node.stamp):
            self._refuse_changed()

    def _refuse_changed(self) -> None:
        at = label(capture())
        raise BackwardError(
            "one of the variables needed for gradient computation has been modified by an "
            f"inplace operation: an argument of {self.path.name}, or an array that it "
            "reads, was changed before its gradient was recorded (create_graph)\n"
            "  write to a copy (a = a.copy()), or after the backward\n"
            f"  at {at.file}:{at.line}  {at.text}"
        )


def _united(path: Graph, same: Sequence[tuple[int, int]]) -> Graph:
    """The graph of which some inputs are others."""
    if not same:
        return path
    new = {path.inputs[i]: path.inputs[first] for i, first in same}
    sizes = path.sizes.copy()
    for one, other in new.items():
        for a, b in zip(one.type.shape, other.type.shape, strict=True):
            sizes.same(a, b)
    return path.replace(sizes=sizes).with_block(renamed(path.block, new))


def _is_same(kept: Any, now: Any) -> bool:
    """Whether an operand is what a node has kept of it."""
    if isinstance(kept, np.ndarray) and memory_of(kept) is memory_of(now):
        return True
    return kept is now or np.array_equal(kept, now, equal_nan=True)


def _is_straight(graph: Graph) -> bool:
    """Whether it is the code of one path."""
    return not any(isinstance(node, ir.Branch | ir.Join | ir.Loop) for node in graph.all_nodes)
