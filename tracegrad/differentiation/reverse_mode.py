"""Reverse mode: appends the cotangents of a graph's inputs, by the VJP rules of its ops.

One walker, `pullback`, goes backwards over the steps of a program and applies the op records' VJP
rules. It knows nothing of where values live: over staged values it writes the derivative as a
graph (`differentiate`), over plain arrays it computes it at once (an eager backward met for the
first time), over Tensors it computes and records it (``create_graph=True``, derivatives inside
traced functions). One order of accumulation in all three, so all three give the same bits.

What rules need not do: sum a cotangent down to a broadcast operand, cast it to the operand's
dtype, add contributions, skip what needs no gradient. A cotangent from a branch of `where` carries
its mask to the end of the chain of elementwise rules (`Masked`), where it becomes an exact zero;
a sign (`Negated`) is carried on as well, through sums over broadcast axes, to a subtraction.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from codegen.ir import Builder, Call, Graph, Node, Origin, Trait, Value, renamed
from codegen.types import is_inexact
from tracegrad.differentiation.scattered_places import Places
from tracegrad.differentiation.steps import End, Folded, Key, Step, flowing_in, forget, moves
from tracegrad.errors import NotDifferentiableError
from tracegrad.ops.checkpoint_markers import Region, constants_of, regions_of
from tracegrad.ops.elementwise.ufuncs import add, astype, kept, real, subtract, where
from tracegrad.ops.python_calls import call_python, hooked
from tracegrad.ops.python_lists import as_recorded
from tracegrad.ops.reductions.sums_and_extremes import sum_over
from tracegrad.ops.repeated_cotangents import written_out
from tracegrad.ops.shape.creation import full_of, zeros_of
from tracegrad.ops.shape.indexing import Scattered
from tracegrad.ops.shape.reshaping import expand_axes, reshape_to
from tracegrad.ops.special_cotangents import (
    ZERO,
    Later,
    Masked,
    Negated,
    Replaced,
    Total,
    Undefined,
    computed,
)
from tracegrad.ops.staging import Stage, Staged, on_line_of
from tracegrad.values.dispatch import (
    dtype_of,
    fits_at_once,
    same_dtype,
    same_shape,
    same_value,
    shape_of,
)

Masks = tuple[tuple[Any, bool], ...]
"""Conditions with what of a cotangent is kept: where they are true, or where they are not."""
Around = Callable[["Step", Any, Callable[[], tuple[Any, ...]]], tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Pending:
    """A cotangent of which the sign, then masks, ``(condition, keep)``, are still to be applied."""

    value: Any
    masks: Masks
    negative: bool = False


def settled(ct: Any) -> Any:
    """The cotangent with its masks applied: exact zeros where a branch was not taken."""
    if type(ct) is not Pending:
        return ct
    with on_line_of(ct.value):
        value = -ct.value if ct.negative else ct.value
        for condition, keep in ct.masks:
            value = kept(value, condition, keep)
    return value


def pullback(
    steps: Sequence[Step],
    values_of: Callable[[Step], tuple[Any, Sequence[Any]]],
    seeds: Mapping[Key, Any],
    wanted: Iterable[Key],
    enter: Callable[[Step], None] | None = None,
    done: Callable[[Key, Any], Any] | None = None,
    watched: Container[Key] = (),
    around: Callable[[Step], Around | None] | None = None,
    zeros: bool = True,
    rows: dict[Key, Places] | None = None,
) -> dict[Key, Any]:
    """Cotangents of the `wanted` keys that depend on them; the others are absent.

    `values_of` gives the result of a step (a tuple of several) and its operands. `seeds` are
    cotangents of results. `enter` is told of every step before its rule runs. `done` is given every
    finished cotangent and returns it or what replaces it (a `Negated` one it is only shown); of
    `watched` keys it gets the exact one, with the masks of `where` applied. `around` says
    what runs the rule of a step, if that is to be seen: ``around(step)(step, ct, compute)`` returns
    ``compute()`` or what replaces it (profilers, checks, hooks of nodes); `ct` may be `Pending`:
    what is pending is applied to what it gives.
    Without `zeros`, keys to which nothing flows but the `ZERO` of flat rules are absent as well.
    `rows` has the places of the seeds that are arrays of the walker's own, then of the cotangents.
    """
    asked = list(dict.fromkeys(wanted))
    active: set[Key] = set(asked)
    flowing = flowing_in(steps, active)
    found = {key: ct for key, ct in seeds.items() if key in active}
    # whose cotangent is an array of the walker's own
    made: dict[Key, Places] = {} if rows is None else rows
    finished: set[Key] = set()
    nothing: dict[Key, Any] = {}  # what `ZERO` flows to, with its value
    while flowing:
        step = flowing.pop()
        if type(step) is End:
            forget(step.results, active, finished, found, made, nothing)
            continue
        op, folded = step.op, isinstance(step, Folded)
        seen_by = None if around is None or folded else around(step)
        if found.keys().isdisjoint(step.results):
            if nothing.keys().isdisjoint(step.results):
                continue
            unseen = seen_by is None and not any(k in watched for k in step.results)
            if unseen and not op.opaque:
                _pass_nothing_on(step, values_of(step)[1], active, nothing)
                continue
            if not (unseen and folded):
                found |= {k: zeros_of(nothing[k]) for k in step.results if k in nothing}
        if op.vjp is None:
            raise NotDifferentiableError(f"{op.name}: no derivative is known for this operation")
        if enter is not None:
            enter(step)
        if done is not None:
            finished.update(_show(step.results, found, done, watched))
        if isinstance(step, Folded):
            flowing += _unfolded(step, active, found, made, nothing)
            continue
        result, operands = values_of(step)
        masks: Masks = ()
        negative = False
        if len(step.results) > 1:
            ct: Any = _several(step, found, result)
        else:
            ct = found[step.results[0]]
            if type(ct) is Pending and not _passes(op, ct):
                ct = settled(ct)
        if op.opaque:
            ct = _as_arrays(ct)
        pending = ct
        if type(ct) is Pending:
            ct, masks, negative = ct.value, ct.masks, ct.negative
        if seen_by is None and op.opaque and (adding := _adding(step)) is not None:
            before = [_so_far(found.get(key)) for key in step.operands]
            given = adding(step.operands, before, ct, *operands)
        elif seen_by is None:
            given = op.vjp(ct, result, *operands, **step.attributes)
        else:
            rule = partial(op.vjp, ct, result, *operands, **step.attributes)
            takes = [key in active for key in step.operands]
            given = seen_by(step, pending, partial(_with_zeros, rule, operands, takes))
        for key, operand, new in zip(step.operands, operands, given, strict=True):
            if new is None or key not in active:
                continue
            new = computed(new)
            if type(new) is Undefined:
                raise new.error
            if new is ZERO:
                nothing.setdefault(key, operand)
                continue
            old = None if type(new) is Total else found.get(key)
            if type(new) is Replaced or type(new) is Total:
                new = new.ct if fits_at_once(new.ct, operand) else _fit(new.ct, operand)
                found[key] = new if old is None else _added(old, new)
                made.pop(key, None)
                continue
            if isinstance(new, Scattered):
                places = Places() if old is None else made.get(key)
                found[key] = _scatter_onto(old, new, operand, places, negative)
                made[key] = places or Places(known=False)
                continue
            if masks or negative or type(new) is Masked or type(new) is Negated:
                new = _fit_pending(_pending(new, masks, negative), operand)
            elif not fits_at_once(new, operand):
                new = _fit(new, operand)
            found[key] = new if old is None else _added(old, new)
            made.pop(key, None)
    gradients: dict[Key, Any] = {}
    for key in asked:
        if key in found:
            value = written_out(settled(found[key]))
            gradients[key] = value if done is None or key in finished else done(key, value)
        elif key in nothing and (zeros or key in watched):
            value = zeros_of(nothing[key])
            gradients[key] = value if done is None else done(key, value)
    return gradients


def _pass_nothing_on(
    step: Step, operands: Sequence[Any], active: Container[Key], nothing: dict[Key, Any]
) -> None:
    """Has `ZERO` flow on to the operands of a step, whose rule need not run for it."""
    for key, operand in zip(step.operands, operands, strict=True):
        if key in active:
            nothing.setdefault(key, operand)


def _with_zeros(
    rule: Callable[[], Sequence[Any]], operands: Sequence[Any], asked: Sequence[bool]
) -> tuple[Any, ...]:
    """What a rule gives, for those who look at it; nothing that is not `asked` for is computed."""
    shown = []
    for ct, operand, ask in zip(rule(), operands, asked, strict=True):
        if type(ct) is Later:
            ct = computed(ct) if ask else None
        shown.append(zeros_of(operand) if ct is ZERO else ct)
    return tuple(shown)


def _unfolded(
    step: Folded,
    active: set[Key],
    found: dict[Key, Any],
    made: dict[Key, Places],
    nothing: dict[Key, Any],
) -> list[Step]:
    """The steps that a step stands for, behind an end; the cotangents of its results are theirs."""
    steps, results = step.unfold(step)
    own = [key for inner in steps for key in inner.results]
    flowing = flowing_in(steps, active)
    for key, result in zip(step.results, results, strict=True):
        if result not in active:
            continue
        if key in found:
            ct, places = found.pop(key), made.pop(key, None)
            if result in found:
                ct, places = _added(found[result], ct), None
            found[result] = ct
            made.pop(result, None)
            if places is not None:
                made[result] = places
        elif key in nothing:
            nothing.setdefault(result, nothing[key])
    return [End(None, {}, (), tuple(own)), *flowing]


def reached(graph: Graph, wanted: Sequence[Value]) -> set[Any]:
    """The values through which gradients flow from the outputs of a graph to `wanted`."""
    active: set[Any] = set(wanted)
    flowing_in(steps_of(graph.nodes), active)
    return active


def sources(graph: Graph, outputs: Sequence[Value]) -> set[Any]:
    """The values to which gradients flow from these outputs of a graph."""
    found: set[Any] = set(outputs)
    for step in reversed(steps_of(graph.nodes)):
        if step.op.differentiable and not found.isdisjoint(step.results):
            found.update(filter(moves, step.operands))
    return found


def _show(
    keys: Iterable[Key],
    found: dict[Key, Any],
    done: Callable[[Key, Any], Any],
    watched: Container[Key],
) -> list[Key]:
    """Shows finished cotangents to `done`, which may replace them; those that there are."""
    shown = [key for key in keys if key in found]
    for key in shown:
        ct = settled(found[key]) if key in watched else found[key]
        if type(ct) is not Pending:
            found[key] = done(key, ct)
        elif ct.negative:
            done(key, Negated(ct.value))
        else:
            found[key] = replace(ct, value=done(key, ct.value))
    return shown


def _adding(step: Step) -> Any:
    """The rule of a call of a program that goes on with what its operands have already, if any."""
    return getattr(step.attributes.get("function"), "adding", None)


def _so_far(ct: Any) -> Any:
    """What an operand has of its cotangent until now, as an array; None for nothing."""
    return None if ct is None else _as_arrays(settled(ct))


def _as_arrays(ct: Any) -> Any:
    """What a user's own rule is given."""
    if isinstance(ct, tuple):
        return tuple(map(_as_arrays, ct))
    return replace(ct, value=written_out(ct.value)) if type(ct) is Pending else written_out(ct)


def _several(step: Step, found: Mapping[Key, Any], results: Sequence[Any]) -> tuple[Any, ...]:
    """The cotangents of a step with several results, of which some may be absent."""
    cts = [settled(found.get(key)) for key in step.results]
    if step.op.opaque or step.op.partial:
        return tuple(cts)
    return tuple([zeros_of(y) if ct is None else ct for ct, y in zip(cts, results, strict=True)])


def _passes(op: Any, ct: Pending) -> bool:
    """Whether what is pending may wait until after the op's rule, and not cost more there."""
    return Trait.ELEMENTWISE in op.traits or (Trait.VIEW in op.traits and not ct.masks)


def _pending(new: Any, masks: Masks, negative: bool) -> Pending:
    """A contribution with what was carried past its rule, and its own mask last."""
    match new:
        case Masked():
            return Pending(new.ct, (*masks, (new.condition, new.keep)), negative)
        case Negated():
            return Pending(new.ct, masks, not negative)
    return Pending(new, masks, negative)


def _scatter_onto(
    old: Any, new: Scattered, operand: Any, places: Places | None, negative: bool
) -> Any:
    """A cotangent that is zero but at an index, added to what there is.

    The first makes an array of zeros. What there is is ours, and written in place, where its
    `places` are given: values are written where it is still 0. Reading n elements so has a backward
    of n steps on elements.
    """
    free = places is not None and places.take(new.index(), new.sizes)
    if old is None:
        whole = (new.with_value(-new.ct) if negative else new).alone()
        return whole if fits_at_once(whole, operand) else _fit(whole, operand)
    if not same_dtype(new.ct, operand):
        new = new.with_value(in_dtype(new.ct, operand))
    if places is None:
        return new.onto(settled(old), negative)
    return (new.beside if free else new.into)(old, negative)


def contribution(given: Any, operand: Any) -> Any:
    """What a rule gave for an operand, as an array in the operand's shape and dtype."""
    if isinstance(given, Scattered):
        whole = given.alone()
        return whole if fits_at_once(whole, operand) else _fit(whole, operand)
    return settled(_fit_pending(_pending(given, (), False), operand))


def summed(parts: Sequence[Any]) -> Any:
    """The sum of what rules gave, with their masks and signs."""
    total = _pending(parts[0], (), False)
    for part in parts[1:]:
        total = _added(total, _pending(part, (), False))
    return settled(total)


def _added(old: Any, new: Any) -> Any:
    """The sum of two contributions."""
    if type(old) is not Pending and type(new) is not Pending:
        return old + new
    one, other = _as_pending(old), _as_pending(new)
    if not _same_masks(one.masks, other.masks):
        both = _both_branches(one, other)
        if both is not None:
            return both
        one, other = _with_masks_of(one, other), _with_masks_of(other, one)
    if one.negative == other.negative:
        total, negative = one.value + other.value, one.negative
    else:
        plus, minus = (other, one) if one.negative else (one, other)
        total, negative = plus.value - minus.value, False
    return Pending(total, one.masks, negative) if one.masks or negative else total


def _as_pending(ct: Any) -> Pending:
    return ct if type(ct) is Pending else Pending(ct, ())


def _with_masks_of(ct: Pending, other: Pending) -> Pending:
    """The same after the masks that the other has not; the sign comes before them."""
    shared = [_among((mask,), other.masks) for mask in ct.masks]
    if all(shared):
        return ct
    own = tuple([mask for mask, both in zip(ct.masks, shared, strict=True) if not both])
    common = tuple([mask for mask, both in zip(ct.masks, shared, strict=True) if both])
    return Pending(settled(replace(ct, masks=own)), common)


def _both_branches(old: Pending, new: Pending) -> Any:
    """The two branches of one `where` make one choice instead of a sum of masked values."""
    if not old.masks or len(old.masks) != len(new.masks):
        return None
    (condition, keep), (other, kept) = old.masks[-1], new.masks[-1]
    if keep == kept or not same_value(condition, other):
        return None
    if not _same_masks(old.masks[:-1], new.masks[:-1]):
        return None
    negative = old.negative and new.negative
    values = [-ct.value if ct.negative and not negative else ct.value for ct in (old, new)]
    value = where(condition, *(values if keep else reversed(values)))
    pending = Pending(value, old.masks[:-1], negative)
    return pending if pending.masks or pending.negative else value


def _same_masks(a: tuple[tuple[Any, bool], ...], b: tuple[tuple[Any, bool], ...]) -> bool:
    """One set of masks, in whatever order; either may hold one of them twice."""
    return _among(a, b) and _among(b, a)


def _among(a: Iterable[tuple[Any, bool]], b: Sequence[tuple[Any, bool]]) -> bool:
    """Whether all these masks are among others."""
    return all(any(same_value(c, d) and keep == kept for d, kept in b) for c, keep in a)


def _fit(ct: Any, operand: Any) -> Any:
    """The cotangent in the operand's own shape and dtype."""
    if not same_shape(ct, operand):
        ct = unbroadcast(ct, operand)
    return in_dtype(ct, operand)


def _fit_pending(ct: Pending, operand: Any) -> Any:
    """The same with what is pending; masks are applied where they have axes that it has not."""
    shape = shape_of(operand)
    fits = same_shape(ct.value, operand)
    if any(_narrower(shape, c) for c, _ in ct.masks):
        return _fit(settled(ct), operand)
    value = in_dtype(ct.value, operand) if fits else _fit(ct.value, operand)
    return Pending(value, ct.masks, ct.negative) if ct.masks or ct.negative else value


def in_dtype(ct: Any, operand: Any) -> Any:
    """The cotangent in the operand's dtype, unless that has no gradients."""
    dtype, own = dtype_of(ct), dtype_of(operand)
    if dtype == own or not is_inexact(own):
        return ct
    if dtype.startswith("complex") and not own.startswith("complex"):
        ct = real(ct)
    return ct if dtype_of(ct) == own else astype(ct, dtype=own)


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
    axes = (*range(extra), *stretched)
    if axes:
        every = len(axes) == len(wide) and not stretched
        axis = None if every else axes[0] if len(axes) == 1 else axes
        ct = sum_over(ct, axis=axis, keepdims=not extra)
    if extra and stretched:
        back = tuple(i - extra for i in stretched)
        ct = expand_axes(ct, axis=back[0] if len(back) == 1 else back)
    return ct if same_shape(ct, operand) else reshape_to(ct, shape=narrow)


def full_like_of(ct: Any, shape: tuple[Any, ...]) -> Any:
    """A cotangent that a rule gave as a number, in the operand's shape."""
    return full_of(ct, shape=shape, dtype=dtype_of(ct))


# -- graphs -------------------------------------------------------------------------------------


def steps_of(nodes: Iterable[Node]) -> list[Step]:
    """The calls among nodes as the walker's steps."""
    return [
        Step(node.op, dict(node.attributes), node.operands, node.results)
        for node in nodes
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
    graph = as_recorded(graph)
    reverse = Reverse(graph)
    builder = reverse.builder
    for node in graph.nodes:
        builder.append(node)
    if seeds is None:
        seeds = {graph.outputs[0]: reverse.one(graph.outputs[0])}
    found = reverse.run(graph.nodes, {k: reverse.staged(v) for k, v in seeds.items()}, wanted)
    gradients = reverse.gradients(found, wanted)
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
    return relabel(whole, reverse.names)


class Reverse:
    """Writes the cotangents of steps into a graph under construction, with names and lines."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.names: dict[Value, Origin] = {}  # what values turned out to be
        self.hooks = _hooks_of(graph)
        self.regions: dict[Value, Region] = {}
        self.constants = constants_of(graph.all_nodes)
        self.last: Value | None = None  # the cotangent that was finished last
        self.arrays: dict[Value, Value] = {}  # what values are that are other names of an array
        self.stage = Stage(Builder(graph.sizes), Origin(section="backward"), graph.producer)

    @property
    def builder(self) -> Builder:
        """Where nodes are appended."""
        return self.stage.builder

    def staged(self, value: Value) -> Staged:
        return Staged(self.stage, value)

    def one(self, output: Value) -> Value:
        """The cotangent of a result that is one number; it has axes where that has."""
        type = replace(output.type, weak=False, shape=())
        one = self.builder.constant(1.0, type, None, self.stage.origin)
        if not output.type.ndim:
            return one
        shape = output.type.shape
        whole: Value = full_of(self.staged(one), shape=shape, dtype=output.type.dtype).value
        return whole

    def run(
        self,
        nodes: Sequence[Node],
        seeds: Mapping[Value, Any],
        wanted: Sequence[Value],
        rows: dict[Any, Places] | None = None,
    ) -> dict[Any, Any]:
        """Cotangents of the `wanted` values before straight code, of those after it."""
        given: dict[Key, Any] = {}
        given.update(seeds.items())
        self.regions.update(regions_of(nodes))
        steps = steps_of(nodes)
        names = {step.results: step.operands for step in steps}
        for step in steps if self.arrays else ():
            step.operands = tuple(map(self.array_of, step.operands))  # type: ignore[arg-type]
        return pullback(
            steps,
            lambda step: self._values_of(step, names[step.results]),
            given,
            wanted,
            self._enter,
            self._done,
            self.hooks,
            zeros=False,  # `gradients` makes them, as those that nothing flows to
            rows=rows,
        )

    def gradients(self, found: Mapping[Any, Any], wanted: Sequence[Value]) -> list[Value]:
        """The cotangents of `wanted`, zeros where nothing flows."""
        values = []
        for value in wanted:
            name = value.origin.name
            self.stage.origin = replace(
                value.origin, name=name and f"{name}_bar", section="backward"
            )
            ct = found[value] if value in found else zeros_of(self.staged(value))
            values.append(ct.value)
        return values

    def _enter(self, step: Step) -> None:
        forward = step.results[0].origin  # type: ignore[attr-defined]
        stem = forward.name or ("value" if forward.final else None)  # final: what is returned
        name = stem and f"{stem}_bar"
        place = forward.file, forward.line, forward.text, forward.point
        self.stage.origin = Origin(name, False, *place, "backward", forward.within)

    def _done(self, key: Any, value: Any) -> Any:
        origin, minus, builder = key.origin, "", self.builder
        if type(value) is Negated:
            value, minus = value.ct, "minus_"
        self.last = value.value if type(value) is Staged else self.last
        for mark in self.hooks.get(key, ()):
            value = _call_hook(self.stage, mark, value)
        made = builder.producer.get(value.value)
        ours = value.value.origin.section == "backward"
        final = origin.final or key in self.graph.inputs
        known = self.names.get(value.value)
        better = known is None or (final and not known.final)  # of a variable, not on the way to it
        if origin.name and ours and isinstance(made, Call) and better:
            name = f"{minus}{origin.name}_bar"
            self.names[value.value] = value.value.origin.named(name, final)
            for part in _summands(builder, made, self.names):  # on the way to this cotangent
                self.names[part] = part.origin.named(name)
        return value

    def array_of(self, value: Value) -> Value:
        """The value whose cotangent that of another name of it is."""
        while value in self.arrays:
            value = self.arrays[value]
        return value

    def _values_of(self, step: Step, read: tuple[Key, ...]) -> tuple[Any, list[Any]]:
        again = self._again(step)
        results = tuple([self.staged(again.get(key, key)) for key in step.results])  # type: ignore[arg-type,call-overload]
        operands = [self.staged(again.get(key, key)) for key in read]  # type: ignore[arg-type,call-overload]
        return results[0] if len(results) == 1 else results, operands

    def _again(self, step: Step) -> Mapping[Any, Value]:
        """What the backward computes again of the calls around a step, by what the forward did."""
        region = self.regions.get(step.results[0])  # type: ignore[call-overload]
        if region is None or self.last is None:
            return {}
        if region.again is None:
            region.compute(self.builder, self.last, self.constants)
        return region.again


def _summands(builder: Builder, total: Call, known: Container[Value]) -> list[Value]:
    """What a sum adds up, and the sums in it, as far as the backward makes them for this alone.

    Of a difference what is not subtracted.
    """
    found: dict[Value, None] = {}
    calls = [total]
    while calls:
        call = calls.pop()
        summed = 2 if call.op is add else 1 if call.op is subtract else 0
        for value in call.operands[:summed]:
            made = builder.producer.get(value)
            ours = value.origin.section == "backward" and value not in known
            if ours and isinstance(made, Call) and value not in found:
                found[value] = None
                calls.append(made)
    return list(found)


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
    block = renamed(graph.block, new)
    inputs = tuple([new.get(v, v) for v in graph.inputs])
    return graph.with_block(block).replace(inputs=inputs)
