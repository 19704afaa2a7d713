"""Runs a function of one example on batches, by batching each op: `vmap` on Tensors.

While a function is traced, what it does with the first example is recorded; then the same is done
for all of them, op by op, by the batching rules (`tracegrad.differentiation.batched_values`). What
it did with the first alone is read by nobody and goes away. Where its way depends on the example
(Python reads a value of it, it draws, it changes something outside), the function runs for one
example after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from codegen.ir import NOWHERE, Builder, Call, Check, Node, Origin, Trait, Value
from codegen.spelling import Subscript
from tracegrad.arguments.batch_axes import Axis, spread
from tracegrad.differentiation.batched_values import Lane
from tracegrad.differentiation.batching import batch_of
from tracegrad.eager.derivatives import unrolled
from tracegrad.eager.within_traces import entered
from tracegrad.errors import RAISED_BY_NUMPY, ArgumentError, NotBatchedError
from tracegrad.ops.batching_rules import moved
from tracegrad.ops.record import TABLE
from tracegrad.ops.shape.indexing import getitem_at, getitem_basic
from tracegrad.ops.staging import Stage, Staged
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.tape import LEAF
from tracegrad.tape.views import base_of
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.tracing.restarts import Place
from tracegrad.values.dispatch import apply, apply_in, is_number, ndim_of, shape_of
from tracegrad.values.pytree import TreeSpec, flatten, leaf_paths, unflatten
from tracegrad.values.structure_words import in_words
from tracegrad.world.lengths import Length

FOR_ALL_AT_ONCE = (
    "because tg.vmap goes through it for all examples at once. Call tg.vmap itself, not within "
    "another transform: there loops stay loops"
)
PATIENCE = 8  # turns that are unrolled before a loop is tried
Function = Callable[[Sequence[Any]], Any]
"""What runs the user's function on one value a parameter."""


class _Given(dict[Value, Any]):
    """What operations were given, by its value in the graph: as it was then.

    `outer` is told as well.
    """

    def __init__(self, trace: Any) -> None:
        super().__init__()
        self.trace = trace
        self.outer: Callable[..., None] | None = trace.operands
        self.tried: set[int] = set()  # nodes, by id: the function may catch what they raise

    def notes(self, values: Sequence[Value], operands: Sequence[Any]) -> None:
        """An operation is given these."""
        if self.trace.catches:
            self.tried.update(map(id, self.trace.builder.nodes[-1:]))
        for value, x in zip(values, operands, strict=True):
            if value not in self:
                self[value] = _as_it_is(x)
        if self.outer is not None:
            self.outer(values, operands)


def _as_it_is(x: Any) -> Any:
    """A Tensor that stays what it is now, when the function writes to `x`.

    A leaf is nobody's to write to, and its gradient is its own.
    """
    if type(x) is not Tensor or x._node is LEAF:
        return x
    now = wrap(x._array, STATE.trace.traced(x))
    now._node = x._node
    return now


# -- all examples at once ------------------------------------------------------------------------


@dataclass(frozen=True)
class Mapping:
    """What is mapped: the axis of each leaf of the arguments, those of results, its name."""

    specs: tuple[TreeSpec, ...]  # of the arguments
    axes: tuple[Axis, ...]
    out_axes: Any
    name: str
    place: Place  # the function's code, and the key of the call
    texts: Callable[[], list[str]]  # what users call the leaves
    loops: bool = False  # whether `ManyTurns` is to be raised

    def leaves(self, values: Sequence[Any]) -> list[Any]:
        """The leaves of the arguments; what is static is one, whatever it holds."""
        found: list[Any] = []
        for value, spec in zip(values, self.specs, strict=True):
            found += [value] if spec.type is None else flatten(value)[0]
        return found

    def structured(self, leaves: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """Arguments of these leaves; of the `values` themselves those that are not mapped."""
        found: list[Any] = []
        rest, axes = iter(leaves), iter(self.axes)
        for spec, value in zip(self.specs, values, strict=True):
            count = len(leaf_paths(spec))
            own, mapped_over = [*islice(rest, count)], [*islice(axes, count)]
            alike = all(axis is None for axis in mapped_over)
            found.append(value if alike else unflatten(spec, iter(own)))
        return found

    def examples(self, values: Sequence[Any]) -> Iterator[list[Any]]:
        """The arguments of one example after the other."""
        leaves, axes = self.leaves(values), self.axes
        lengths = self.lengths(values)
        self.require_same(lengths, len(set(lengths)) == 1)
        x, axis = next((x, a) for x, a in zip(leaves, axes, strict=True) if a is not None)
        length = x.shape[axis]  # while tracing, a look
        if not length:
            raise ArgumentError(
                f"vmap of {self.name}: an axis is empty: there is no example to run"
            )
        for i in range(length):
            yield self.structured(
                [x if a is None else _example(x, a, i) for x, a in zip(leaves, axes, strict=True)],
                values,
            )

    def first(self, values: Sequence[Any]) -> list[Any]:
        """The arguments of the first example, or of what stands for one where there is none."""
        pairs = zip(self.leaves(values), self.axes, strict=True)
        found = [
            x if a is None else _example(x, a, 0) if np.shape(x)[a] else _any(np.asarray(x), a)
            for x, a in pairs
        ]
        return self.structured(found, values)

    def lengths(self, values: Sequence[Any]) -> list[int]:
        """How many examples each leaf holds that is mapped over."""
        pairs = zip(self.leaves(values), self.axes, strict=True)
        return [int(np.shape(getattr(x, "_array", x))[a]) for x, a in pairs if a is not None]

    def is_empty(self, values: Sequence[Any]) -> bool:
        """Whether there is no example."""
        return not any(self.lengths(values))

    def require_same(self, lengths: Sequence[int], are_same: bool) -> None:
        """Raises where the leaves do not hold as many examples as each other."""
        if are_same:
            return
        mapped_over = [
            pair for pair in zip(self.texts(), self.axes, strict=True) if pair[1] is not None
        ]
        shown = ", ".join(
            f"{text} has {length} (axis {axis})"
            for (text, axis), length in zip(mapped_over, lengths, strict=True)
        )
        raise ArgumentError(f"vmap of {self.name}: the mapped axes differ in length: {shown}")

    def placed(self, lane: Lane, place: Axis) -> Value:
        """What a graph returns of a value of one example, with the batch where it belongs."""
        value: Value
        if place is None:
            if lane.wide:
                raise ArgumentError(self.differs)
            value = lane.value.value
            return value
        whole = moved(batch_of(lane), 0, place_of(place, lane.ndim + 1, self.name))
        value = whole.value
        return value

    @property
    def differs(self) -> str:
        """What is wrong with a result of which the axis is None."""
        return f"vmap of {self.name}: out_axes is None for a result that differs between examples"


def mapped(call: Function, values: Sequence[Any], of: Mapping) -> Any:
    """The results of a function that is being traced for all examples at once.

    Raises `NotBatchedError` where its way depends on the example.
    """
    trace, axes, name = STATE.trace, of.axes, of.name
    pairs = zip(of.leaves(values), axes, strict=True)
    leaves = [x if a is None else _recorded(x) for x, a in pairs]
    batches = [(x, a) for x, a in zip(leaves, axes, strict=True) if a is not None]
    length = shape_of(batches[0][0])[batches[0][1]]
    alike = [trace.sizes.same(length, shape_of(x)[axis]) for x, axis in batches[1:]]
    of.require_same(of.lengths(values), all(alike))
    lanes: dict[Value, Lane] = {}
    firsts = [
        x if a is None else _first(trace, x, a, lanes, length)
        for x, a in zip(leaves, axes, strict=True)
    ]
    inputs = [lane.value for lane in lanes.values()]
    before, raised = _marks(trace), trace.raised
    start = len(trace.builder.nodes)
    given = _Given(trace)
    trace.operands, trace.raised = given.notes, ""
    structured = of.structured(firsts, values)
    try:
        with unrolled(FOR_ALL_AT_ONCE, PATIENCE if of.loops else None):
            returned = call(structured)
    finally:
        trace.operands = given.outer
        caught, trace.raised = trace.raised, raised or trace.raised
    nodes = trace.builder.nodes[start:]
    _refuse_writes(of, structured, firsts, lanes)
    if caught:
        raise NotBatchedError(f"it goes on after {caught}")
    if _marks(trace) != before:
        raise NotBatchedError("it changes something outside")
    for node in nodes:
        if isinstance(node, Call) and Trait.EFFECT in node.op.traits:
            raise NotBatchedError(_called(node))
    results, structure = flatten(returned)
    wide = _write(trace, nodes, given, lanes, [_value(trace, x) for x in results])
    finished = _finished(trace, results, structure, lanes, length, of, inputs)
    trace.lanes |= dict.fromkeys(wide, (of.place, name))
    return unflatten(structure, finished)


def _recorded(x: Any) -> Any:
    """A batch as a Tensor of the trace."""
    return x if type(x) is Tensor and x._is_traced else entered(x)


def _first(trace: Any, x: Tensor, axis: int, lanes: dict[Value, Lane], length: Any) -> Tensor:
    """The first example, which stands for all of them."""
    value = x._traced[1]
    index = Subscript((*[slice(None)] * axis, 0))
    (lane,) = trace.builder.call(getitem_basic, (value,), value.origin, index=index)
    if not trace.stands(value):
        trace.shown.add(lane)
    array = x._array
    one = np.array(np.take(array, 0, axis=axis)) if np.shape(array)[axis] else _any(array, axis)
    trace.standing, before = value.origin, trace.standing
    try:
        lanes[lane] = Lane(moved(x, axis, 0), True, length)
    finally:
        trace.standing = before
    return wrap(one if one.ndim else one[()], (trace, lane))


def _any(array: np.ndarray, axis: int) -> np.ndarray:
    """What stands for an example where there is none.

    No op is to raise for it that would not for others: numbers are not 0, matrices regular. A whole
    number may be an index.
    """
    shape, dtype = np.delete(array.shape, axis), array.dtype
    if dtype.kind not in "fc":
        return np.zeros(shape, dtype)
    if len(shape) < 2:
        return np.ones(shape, dtype)
    return np.array(np.broadcast_to(np.eye(*shape[-2:], dtype=dtype), shape))


def _value(trace: Any, x: Any) -> Value | None:
    traced = getattr(x, "_traced", None)
    return traced[1] if traced is not None and traced[0] is trace else None


def _marks(trace: Any) -> tuple[Any, ...]:
    """What differs after something was done besides computing."""
    return () if trace.world is None else (trace.unseen, *trace.world.marks)


def _refuse_writes(
    of: Mapping, structured: Sequence[Any], firsts: Sequence[Any], lanes: dict[Value, Lane]
) -> None:
    """Raises where the function has written to its arguments: to one example of its own."""
    now = of.leaves(structured)
    if len(now) != len(firsts) or any(a is not b for a, b in zip(now, firsts, strict=True)):
        raise ArgumentError(
            f"vmap of {of.name}: the function changes a container that it is given: change a copy"
        )
    for x, axis in zip(firsts, of.axes, strict=True):
        if axis is not None and x._traced[1] not in lanes:
            raise ArgumentError(
                f"vmap of {of.name}: the function writes to its argument: write to a copy "
                "(x = x.copy())"
            )


def _write(
    trace: Any,
    nodes: Sequence[Node],
    given: _Given,
    lanes: dict[Value, Lane],
    outputs: Sequence[Value | None],
) -> set[Value]:
    """Does for all examples what `nodes` do for one; `lanes` gets what is needed of it.

    Returns the values that differ between examples, as they were for the first.
    """
    wide, length = set(lanes), next(iter(lanes.values())).length
    for node in nodes:
        if not wide.isdisjoint(node.operands):
            if isinstance(node, Check):
                raise NotBatchedError(_look(node))
            wide.update(node.results)
    needed = {value for value in outputs if value in wide}
    live: list[Call] = []
    for node in reversed(nodes):
        if not isinstance(node, Call) or wide.isdisjoint(node.results):
            continue
        raises = node.raises and trace.lanes.keys().isdisjoint(node.results)
        if raises or not needed.isdisjoint(node.results):
            live.append(node)
            needed.update(x for x in node.operands if x in wide)
    for node in reversed(live):
        operands = [lanes[x] if x in wide else Lane(given[x], False, length) for x in node.operands]
        attributes, origin = dict(node.attributes), node.results[0].origin
        helpers = _count_of_ops(trace, node.op, operands, attributes) - 1
        trace.planned = [*[origin.named(origin.name)] * helpers, origin]
        try:
            made = apply(node.op, operands, attributes)
        except RAISED_BY_NUMPY as error:
            if id(node) not in given.tried:
                raise
            raise NotBatchedError(f"it may catch what one example raises: {error}") from error
        finally:
            trace.planned = []
        several = made if isinstance(made, tuple) else (made,)
        lanes.update(zip(node.results, several, strict=True))
    return wide


def _count_of_ops(trace: Any, op: Any, operands: Sequence[Lane], attributes: dict[str, Any]) -> int:
    """How many ops do for all examples what one does for each: the last one has its name."""
    stage = Stage(Builder(trace.sizes))

    def staged(lane: Lane) -> Lane:
        x = lane.value
        if type(x) is Tensor or isinstance(x, np.ndarray):
            x = Staged(stage, trace.lift(x, NOWHERE))
        return Lane(x, lane.wide, lane.length)

    apply(op, [staged(lane) for lane in operands], attributes)
    return sum(isinstance(node, Call) for node in stage.builder.nodes)


def _look(node: Check) -> str:
    """What Python read there."""
    return f"Python reads a value that differs between examples{_at(node.origin)}"


def _called(node: Call) -> str:
    """What a program calls, and does not look into."""
    at = _at(node.results[0].origin)
    what = "Python code" if at and node.op.opaque else node.op.name  # type: ignore[attr-defined]
    return f"{what} is called for each example{at}"


def _at(origin: Origin) -> str:
    return f" ({origin.file}:{origin.line}  {origin.text.strip()})" if origin.line else ""


def _finished(
    trace: Any,
    results: Sequence[Any],
    structure: TreeSpec,
    lanes: dict[Value, Lane],
    length: Any,
    of: Mapping,
    inputs: Sequence[Tensor],
) -> list[Any]:
    """The results with the batch at its place."""
    name = of.name
    places = spread(of.out_axes, structure, f"vmap of {name}: out_axes", "the result")
    like = next(lane.value for lane in lanes.values() if lane.wide)
    taken = {id(base_of(x)) for x in inputs}  # whose memory a result may not show
    finished = []
    for x, place in zip(results, places, strict=True):
        value = _value(trace, x)
        lane = None if value is None else lanes.get(value)
        if lane is not None and not lane.wide:  # what `np.zeros_like` makes
            x, lane = lane.value, None
        if place is None:
            if lane is not None:
                raise ArgumentError(of.differs)
            finished.append(x)
            continue
        _check_result(x, name)
        if lane is None:
            x = x.lengths.tensor(x) if type(x) is Length else x
            shape = (length, *shape_of(x))
            whole = apply_in(like, TABLE["broadcast_to"], {"shape": shape}, x)
            whole = TABLE["copy_in_order" if ndim_of(x) else "copy"](whole)
        else:
            whole = lane.value
            if id(base_of(whole)) in taken:
                whole = TABLE["copy"](whole)
        taken.add(id(base_of(whole)))
        finished.append(moved(whole, 0, place_of(place, ndim_of(whole), name)))
    return finished


def _check_result(x: Any, name: str) -> None:
    if not isinstance(x, Tensor | np.ndarray | np.generic) and not is_number(x):
        raise ArgumentError(
            f"vmap of {name}: a result is {x!r} of type {type(x).__name__}, which cannot be "
            "stacked: return arrays and numbers, or say out_axes=None for it"
        )


def place_of(axis: int, ndim: int, name: str) -> int:
    """``out_axes`` as a non-negative axis of a result."""
    if not -ndim <= axis < ndim:
        raise ArgumentError(
            f"vmap of {name}: out_axes says axis {axis} for a result that has {ndim} axes with "
            "the batch"
        )
    return axis % ndim


# -- one example after the other -----------------------------------------------------------------


def one_by_one(call: Function, values: Sequence[Any], of: Mapping) -> Any:
    """The results of a function that runs once for each example, stacked."""
    name = of.name
    results: list[list[Any]] = []
    structure: TreeSpec | None = None
    for example in of.examples(values):
        found, spec = flatten(call(example))
        if structure is not None and spec != structure:
            raise ArgumentError(
                f"vmap of {name}: it returns {in_words(spec)} for one example and "
                f"{in_words(structure)} for another"
            )
        structure = spec
        results.append(found)
    assert structure is not None
    places = spread(of.out_axes, structure, f"vmap of {name}: out_axes", "the result")
    parts = zip(zip(*results, strict=True), places, strict=True)
    return unflatten(structure, [_stacked(part, place, name) for part, place in parts])


def _example(x: Any, axis: int, i: int) -> Any:
    index = (*[slice(None)] * axis, i)
    if type(x) is Tensor:
        return getitem_at(x, index=Subscript(index))
    return x[index]


def _stacked(part: Sequence[Any], place: Axis, name: str) -> Any:
    first = part[0]
    if place is None:
        arrays = [getattr(x, "_array", x) for x in part]
        if any(type(a) is not type(arrays[0]) or np.any(a != arrays[0]) for a in arrays[1:]):
            raise ArgumentError(
                f"vmap of {name}: out_axes is None for a result that differs between examples"
            )
        return first
    for x in part:
        _check_result(x, name)
    shapes = {np.shape(getattr(x, "_array", x)) for x in part}
    if len(shapes) > 1:
        raise ArgumentError(
            f"vmap of {name}: results have the shapes {', '.join(map(str, sorted(shapes)))} for "
            "different examples, which cannot be stacked"
        )
    axis = place_of(place, len(shapes.pop()) + 1, name)
    if any(type(x) is Tensor for x in part):
        return TABLE["stack"](*part, axis=axis)
    return np.stack(part, axis=axis)
