"""A recorded program and cotangents of its results enter, cotangents of its inputs leave.

One walker, `pullback`, goes backwards over the steps of a program and applies the op records' VJP
rules. It knows nothing of where values live: over staged values it writes the derivative as a
graph (`differentiate`), over plain arrays it computes it at once (an eager backward met for the
first time), over Tensors it computes and records it (``create_graph=True``, derivatives inside
traced functions). One order of accumulation in all three, so all three give the same bits.

What rules need not do: sum a cotangent down to a broadcast operand, cast it to the operand's
dtype, add contributions, skip what needs no gradient. A cotangent from a branch of `where` carries
its mask to the end of the chain of elementwise rules (`Masked`), where it becomes an exact zero.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from codegen.ir import Builder, Call, Check, Constant, Graph, Node, Origin, Trait, Value
from codegen.types import is_inexact
from tracegrad.autograd.python_op import call_python, hooked
from tracegrad.dispatch import dtype_of, same_shape, shape_of
from tracegrad.errors import NotDifferentiableError
from tracegrad.ops.creation import full_of, zeros_of
from tracegrad.ops.elementwise import Masked, Undefined, add, astype, real, where
from tracegrad.ops.reductions import sum_over
from tracegrad.ops.shape import reshape_to
from tracegrad.staging import Stage, Staged

Key = Hashable
Around = Callable[["Step", Any, Callable[[], tuple[Any, ...]]], tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Step:
    """One op of a recorded program; keys name its operands and results."""

    op: Any
    attributes: Mapping[str, Any]
    operands: tuple[Key, ...]
    results: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class _Cotangent:
    """What has been added up for one value; `masks` are ``(condition, keep)`` still to apply."""

    value: Any
    masks: tuple[tuple[Any, bool], ...] = ()

    def settled(self) -> Any:
        """The value with its masks applied: exact zeros where a branch was not taken."""
        value = self.value
        for condition, keep in self.masks:
            value = where(condition, value, 0.0) if keep else where(condition, 0.0, value)
        return value


def pullback(
    steps: Sequence[Step],
    value_of: Callable[[Key], Any],
    seeds: Mapping[Key, Any],
    wanted: Iterable[Key],
    enter: Callable[[Step], None] = lambda step: None,
    done: Callable[[Key, Any], Any] = lambda key, value: value,
    watched: Container[Key] = (),
    around: Around | None = None,
) -> dict[Key, Any]:
    """Cotangents of the `wanted` keys that depend on them; the others are absent.

    `seeds` are cotangents of results. `enter` is told of every step before its rule runs. `done` is
    given every finished cotangent and returns it or what replaces it; of `watched` keys it gets
    the exact one, with the masks of `where` applied. `around` runs the rules: ``around(step, cts,
    compute)`` returns ``compute()`` or what replaces it (profilers, checks, hooks of nodes).
    """
    asked = list(dict.fromkeys(wanted))
    wanted = set(asked)
    active = _active(steps, wanted)
    found: dict[Key, _Cotangent] = {}
    for key, ct in seeds.items():
        if key in active:
            found[key] = _Cotangent(ct)
    finished: set[Key] = set()
    for step in reversed(steps):
        if not any(key in found for key in step.results) or not _flows(step, active):
            continue
        enter(step)
        cts = [_take(key, found, finished, done, watched) for key in step.results]
        _apply_rule(step, cts, value_of, active, found, around)
    gradients: dict[Key, Any] = {}
    for key in asked:
        if key in found:
            value = found[key].settled()
            gradients[key] = value if key in finished else done(key, value)
    return gradients


def _take(
    key: Key,
    found: dict[Key, _Cotangent],
    finished: set[Key],
    done: Callable[[Key, Any], Any],
    watched: Container[Key],
) -> _Cotangent | None:
    """The finished cotangent of a step's result."""
    ct = found.get(key)
    if ct is None:
        return None
    if key in watched:
        ct = _Cotangent(ct.settled())
    value = done(key, ct.value)
    found[key] = ct if value is ct.value else replace(ct, value=value)
    finished.add(key)
    return found[key]


def reached(graph: Graph, wanted: Sequence[Value]) -> set[Any]:
    """The values through which gradients flow from the outputs of a graph to `wanted`."""
    return _active(steps_of(graph), set(wanted))


def sources(graph: Graph, outputs: Sequence[Value]) -> set[Any]:
    """The values to which gradients flow from these outputs of a graph."""
    found: set[Any] = set(outputs)
    for step in reversed(steps_of(graph)):
        if step.op.differentiable and not found.isdisjoint(step.results):
            found.update(step.operands)
    return found


def _active(steps: Sequence[Step], wanted: set[Key]) -> set[Key]:
    """Keys that depend on what is wanted by a differentiable path."""
    active = set(wanted)
    for step in steps:
        if step.op.differentiable and any(key in active for key in step.operands):
            active.update(step.results)
    return active


def _flows(step: Step, active: set[Key]) -> bool:
    if not step.op.differentiable or not any(key in active for key in step.operands):
        return False
    if step.op.vjp is None:
        raise NotDifferentiableError(f"{step.op.name}: no derivative is known for this operation")
    return True


def _apply_rule(
    step: Step,
    cts: list[_Cotangent | None],
    value_of: Callable[[Key], Any],
    active: set[Key],
    found: dict[Key, _Cotangent],
    around: Around | None,
) -> None:
    op = step.op
    results: Any = tuple([value_of(key) for key in step.results])
    operands = [value_of(key) for key in step.operands]
    masks: tuple[tuple[Any, bool], ...] = ()
    ct: Any
    if len(cts) == 1:
        assert cts[0] is not None
        carries = Trait.ELEMENTWISE in op.traits and around is None and cts[0].masks
        ct = cts[0].value if carries else cts[0].settled()
        masks = cts[0].masks if carries else ()
        results = results[0]
    else:
        ct = tuple(
            ct.settled() if ct is not None else None if op.opaque or op.partial else zeros_of(y)
            for ct, y in zip(cts, results, strict=True)
        )
    if around is None:
        given = op.vjp(ct, results, *operands, **step.attributes)
    else:
        given = around(step, ct, lambda: op.vjp(ct, results, *operands, **step.attributes))
    for key, operand, contribution in zip(step.operands, operands, given, strict=True):
        if contribution is None or key not in active:
            continue
        if isinstance(contribution, Undefined):
            raise NotDifferentiableError(contribution.message)
        if isinstance(contribution, Masked):
            new = _Cotangent(contribution.ct, (*masks, (contribution.condition, contribution.keep)))
        else:
            new = _Cotangent(contribution, masks)
        _accumulate(key, _fit(new, operand), found)


def _accumulate(key: Key, new: _Cotangent, found: dict[Key, _Cotangent]) -> None:
    old = found.get(key)
    if old is None:
        found[key] = new
    elif _same_masks(old.masks, new.masks):
        found[key] = _Cotangent(add(old.value, new.value), old.masks)
    elif (merged := _both_branches(old, new)) is not None:
        found[key] = merged
    else:
        found[key] = _Cotangent(add(old.settled(), new.settled()))


def _both_branches(old: _Cotangent, new: _Cotangent) -> _Cotangent | None:
    """The two branches of one `where` make one choice instead of a sum of masked values."""
    if not old.masks or len(old.masks) != len(new.masks):
        return None
    (condition, keep), (other, kept) = old.masks[-1], new.masks[-1]
    if keep == kept or not _same_value(condition, other):
        return None
    if not _same_masks(old.masks[:-1], new.masks[:-1]):
        return None
    taken, rest = (old, new) if keep else (new, old)
    return _Cotangent(where(condition, taken.value, rest.value), old.masks[:-1])


def _same_masks(a: tuple[tuple[Any, bool], ...], b: tuple[tuple[Any, bool], ...]) -> bool:
    return len(a) == len(b) and all(
        _same_value(c, d) and keep == kept for (c, keep), (d, kept) in zip(a, b, strict=True)
    )


def _same_value(a: Any, b: Any) -> bool:
    """One value: of staged values the graph's value decides, else identity."""
    if type(a) is Staged and type(b) is Staged:
        return a.value is b.value
    return a is b


def _fit(ct: _Cotangent, operand: Any) -> _Cotangent:
    """The cotangent in the operand's own shape and dtype."""
    wanted = shape_of(operand)
    if not same_shape(ct.value, operand) or any(_narrower(wanted, c) for c, _ in ct.masks):
        ct = _Cotangent(unbroadcast(ct.settled(), operand))
    dtype, own = dtype_of(ct.value), dtype_of(operand)
    if dtype != own and is_inexact(own):
        value = ct.value
        if dtype.startswith("complex") and not own.startswith("complex"):
            value = real(value)
        if dtype_of(value) != own:
            value = astype(value, dtype=own)
        ct = replace(ct, value=value)
    return ct


def _narrower(shape: tuple[Any, ...], mask: Any) -> bool:
    """True when a mask has axes that a cotangent of this shape has not."""
    of = shape_of(mask)
    return len(of) > len(shape) or any(
        a != 1 and b == 1 for a, b in zip(reversed(of), reversed(shape), strict=False)
    )


def unbroadcast(ct: Any, operand: Any) -> Any:
    """`ct` summed over the axes along which `operand` was broadcast."""
    wide, narrow = shape_of(ct), shape_of(operand)
    extra = len(wide) - len(narrow)
    if extra < 0:
        return full_like_of(ct, narrow)
    stretched = tuple(
        i + extra for i, dim in enumerate(narrow) if dim == 1 and wide[i + extra] != 1
    )
    if stretched:
        axis: Any = stretched[0] if len(stretched) == 1 else stretched
        ct = sum_over(ct, axis=axis, keepdims=True)
    if extra:
        axes = tuple(range(extra))
        every = len(axes) == len(wide)
        ct = sum_over(ct, axis=None if every else axes[0] if extra == 1 else axes, keepdims=False)
    return ct if same_shape(ct, operand) else reshape_to(ct, shape=narrow)


def full_like_of(ct: Any, shape: tuple[Any, ...]) -> Any:
    """A cotangent that a rule gave as a number, in the operand's shape."""
    return full_of(ct, shape=shape, dtype=dtype_of(ct))


# -- graphs -------------------------------------------------------------------------------------


def steps_of(graph: Graph) -> list[Step]:
    """The calls of a graph as the walker's steps."""
    return [
        Step(node.op, dict(node.attributes), node.operands, node.results)
        for node in graph.nodes
        if isinstance(node, Call)
    ]


def differentiate(
    graph: Graph,
    wanted: Sequence[Value],
    seeds: Mapping[Value, Value] | None = None,
    keep: Sequence[Value] | None = None,
) -> Graph:
    """The graph with the gradients of its (first) output as further outputs.

    Parameters
    ----------
    wanted
        The values, usually inputs, whose cotangents become outputs after `keep`.
    seeds
        Cotangents of values; without them the first output is a scalar and its cotangent is 1.
        Values in it that the graph does not make become inputs.
    keep
        The outputs to keep; default: all.
    """
    builder = Builder(graph.sizes)
    for node in graph.nodes:
        builder.append(node)
    stage = Stage(builder, Origin(section="backward"))
    if seeds is None:
        output = graph.outputs[0]
        one = builder.constant(1.0, replace(output.type, weak=False, shape=()), None, stage.origin)
        seeds = {output: one}
    names: dict[Value, Origin] = {}
    hooks = _hooks_of(graph)

    def enter(step: Step) -> None:
        forward = step.results[0].origin  # type: ignore[attr-defined]
        stage.origin = replace(
            forward, name=forward.name and f"{forward.name}_bar", final=False, section="backward"
        )

    def done(key: Any, value: Any) -> Any:
        origin = key.origin
        for mark in hooks.get(key, ()):
            value = _call_hook(stage, mark, value)
        made = builder.producer.get(value.value)
        ours = value.value.origin.section == "backward"
        if origin.name and ours and isinstance(made, Call) and value.value not in names:
            names[value.value] = replace(
                value.value.origin,
                name=f"{origin.name}_bar",
                final=origin.final or key in graph.inputs,
            )
        return value

    found = pullback(
        steps_of(graph),
        lambda key: Staged(stage, key),  # type: ignore[arg-type]  # keys are values here
        {key: Staged(stage, seed) for key, seed in seeds.items()},
        wanted,
        enter,
        done,
        hooks,
    )
    gradients = []
    for value in wanted:
        stage.origin = Origin(section="backward")
        ct = found[value] if value in found else zeros_of(Staged(stage, value))
        gradients.append(ct.value)
    kept = graph.outputs if keep is None else tuple(keep)
    made = {result for node in builder.nodes for result in node.results}
    new_inputs = tuple(
        seed for seed in seeds.values() if seed not in made and seed not in graph.inputs
    )
    whole = graph.replace(
        nodes=tuple(builder.nodes),
        outputs=(*kept, *gradients),
        inputs=(*graph.inputs, *new_inputs),
    )
    return relabel(whole, names)


def _hooks_of(graph: Graph) -> dict[Any, list[Call]]:
    """Where hooks were registered on each value, in order, without those removed since."""
    found: dict[Any, list[Call]] = {}
    for node in graph.nodes:
        match node:
            case Call(op, (value,)) if op is hooked and node.attribute("function").call.alive():
                found.setdefault(value, []).append(node)
    return found


def _call_hook(stage: Stage, mark: Call, ct: Any) -> Any:
    """The cotangent that a hook was shown, or what it gave instead."""
    name, origin = mark.operands[0].origin.name, mark.results[0].origin
    stage.origin = replace(origin, name=name and f"{name}_bar", final=False, section="backward")
    function, closure = mark.attribute("function").call.resolved(dtype_of(ct))
    read = [Staged(stage, tensor._traced[1]) for tensor in closure]
    return call_python(ct, *read, function=function)


def relabel(graph: Graph, origins: Mapping[Value, Origin]) -> Graph:
    """The graph with other names and lines on some values."""
    new = {value: Value(value.type, origin) for value, origin in origins.items()}

    def of(values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(new.get(v, v) for v in values)

    nodes: list[Node] = []
    for node in graph.nodes:
        match node:
            case Constant(value, result, slot):
                nodes.append(Constant(value, new.get(result, result), slot))
            case Check(operand, look, outcome, origin):
                nodes.append(Check(new.get(operand, operand), look, outcome, origin))
            case Call():
                nodes.append(replace(node, operands=of(node.operands), results=of(node.results)))
    return graph.replace(nodes=tuple(nodes), inputs=of(graph.inputs), outputs=of(graph.outputs))
