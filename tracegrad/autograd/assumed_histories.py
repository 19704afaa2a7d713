"""What a version assumes of the histories of its inputs: it takes derivatives itself, or asks.

``tg.autograd.grad(loss, w)`` in a compiled function is a part of the program. What the caller adds
to it is not: hooks of `w`, other inputs that the caller has made of `w`, graphs that a backward has
freed. Nor is whether inputs require grad, where the function asks that of what it computes
(``y.requires_grad``), or writes to them. Each call asks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codegen.ir import Value
from tracegrad.autograd import engine
from tracegrad.tape.tape import FREED, Node, Output, parent_of
from tracegrad.tensors.tensor import Tensor


@dataclass(frozen=True)
class Derivative:
    """The function takes a derivative by a Tensor that its caller has."""

    value: Value | None  # the input; None of one that no op has read
    held: Tensor | None  # the Tensor, of one from outside


def note_derivative(world: Any, nodes: Sequence[Node], wanted: Sequence[Any]) -> None:
    """Notes by which of the caller's Tensors a derivative is taken, of what `nodes` made.

    Ends the run where the caller's hooks are to see it, or where it goes on through the graph by
    which the caller made a Tensor: another call has another one.
    """
    inputs = set(world.trace.inputs)
    world.derived = {} if world.derived is None else world.derived
    for key in wanted:
        found = _by_caller(world, nodes, key, inputs)
        if found is None:
            continue
        derivative, made = found
        if is_watched(made):
            world.ends_run("takes a derivative that a hook of the caller's sees")
        world.derived.setdefault(derivative.value or key, derivative)
    captured = world.trace.captured.values()
    known = Assumed.of(world.derived, [*world.trace.inputs, *(v for _, v in captured)])
    if not known.stand([*world.given, *(holder for holder, _ in captured)]):
        does = "takes a derivative by a Tensor of which its caller has made another one"
        world.ends_run(does)
    reached = set(wanted)
    for node in nodes:
        if reached.isdisjoint(map(engine.key_of_parent, node.parents)):
            continue
        if not node.traced or node.traced[1][0][1] in inputs:
            world.ends_run("takes a derivative through the graph of a Tensor that it did not make")
        reached.update(engine.results_of(node))


def _by_caller(
    world: Any, nodes: Sequence[Node], key: Any, inputs: set[Value]
) -> tuple[Derivative, Any] | None:
    """A derivative by a Tensor of the caller's, and what made that; None of the run's own."""
    if type(key) is Tensor:
        if world.is_own_leaf(key) or not world.is_outside(key):
            return None
        known = world.trace.captured.get(id(key))
        return Derivative(None if known is None else known[1], key), key
    node, index = (key, 0) if type(key) is Node else key
    if node.traced:
        value = node.traced[1][index][1]
        given = value in inputs
        return (Derivative(value, None), node.parents[0]) if given else None
    read = engine.Tape(nodes).met.get(key, set())
    if len(read) != 1:
        world.ends_run("takes a derivative by a Tensor from outside that it does not use by itself")
    ((_, value),) = read
    return Derivative(value, None), key if type(key) is Node else Output(*key)


@dataclass(frozen=True)
class Assumed:
    """By which inputs derivatives are taken, and which require grad."""

    count: int  # of inputs
    places: tuple[int, ...]
    unread: tuple[Tensor, ...]  # by these as well, which no op reads
    derives: bool  # whether any derivative is taken
    histories: tuple[tuple[int, str], ...] = ()  # of the inputs of which that matters, by place

    @staticmethod
    def of(
        derived: Mapping[Any, Derivative] | None,
        inputs: Sequence[Value],
        histories: Sequence[tuple[int, str]] = (),
    ) -> Assumed:
        """That of a run which took these derivatives, of a program with these inputs."""
        if derived is None:
            return Assumed(len(inputs), (), (), False, tuple(histories))
        at = {value: i for i, value in enumerate(inputs)}
        read = [d for d in derived.values() if d.value in at]
        unread = [d.held for d in derived.values() if d.value not in at and d.held is not None]
        places = tuple([at[d.value] for d in read if d.value is not None])
        return Assumed(len(inputs), places, tuple(unread), True, tuple(histories))

    def stand_outside(self, captured: Sequence[Any]) -> bool:
        """Whether it is so of the last inputs, those from outside; each tells what is there now."""
        others = self.count - len(captured)
        if self.derives:
            return self.stand([*[None] * others, *[x.now() for x in captured]], others)
        return all([history_of(captured[i - others].now()) == h for i, h in self.histories])

    def stand(self, inputs: Sequence[Any], but: int = 0) -> bool:
        """Whether it is so of these inputs as given; the first few, `but`, are not known."""
        if not all([history_of(inputs[i]) == history for i, history in self.histories]):
            return False
        if not self.derives:
            return True
        asked = [inputs[i] for i in self.places if i >= but]
        asked += self.unread
        if not all(map(requires_grad, asked)):
            return False
        if any([is_watched(parent_of(x)) for x in asked]):
            return False
        keys = set(map(engine.key_of, asked))
        if len(keys) < len(asked):
            return False
        for i, x in enumerate(inputs):
            if not isinstance(x, Tensor) or x._node is None:
                continue
            if (engine.key_of(x) in keys and i not in self.places) or may_depend_on(x, keys):
                return False
        return True


def assumed_by(
    world: Any, inputs: Sequence[Value], holders: Sequence[Any], written: Collection[int]
) -> Assumed | None:
    """What a run assumes of the histories of inputs, the last of them `holders`, if they matter.

    It writes to those of the holders that stand at the places `written`.
    """
    histories = [
        (len(inputs) - len(holders) + i, history_of(holder))
        for i, holder in enumerate(holders)
        if world.asked_mode or i in written
    ]
    made = Assumed.of(world.derived, inputs, histories)
    tensors = world.tapes or made.unread or any(isinstance(holder, Tensor) for holder in holders)
    return made if tensors and (made.derives or histories) else None  # arrays have no histories


def requires_grad(x: Any) -> bool:
    """Whether an input is a Tensor with history."""
    return isinstance(x, Tensor) and x.requires_grad


def history_of(x: Any) -> str:
    """Which history an input has: of a leaf, of what an op has made, or none."""
    if getattr(x, "_node", None) is None:
        return ""
    return "leaf" if x.is_leaf else "made"


def is_watched(made: Any) -> bool:
    """Whether a derivative by a Tensor is seen by hooks: by the leaf, or by what made it."""
    if type(made) is Tensor:
        return bool(made._hooks)
    node, index = (made.node, made.index) if type(made) is Output else (made, 0)
    if node.more is None or node.more is FREED:
        return False
    extras = node.more.get(index, {})
    return "retain" in extras or bool(extras.get("hooks"))


def may_depend_on(x: Tensor, keys: set[Any]) -> bool:
    """Whether a Tensor was made of others, by their keys on the tape; one that was freed may be."""
    nodes = engine.left_behind([x])
    if any(node.more is FREED for node in nodes):
        return True
    return any(engine.key_of_parent(p) in keys for node in nodes for p in node.parents)
