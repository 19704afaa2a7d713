"""Values with a batch axis, which ops take for values without it.

A `Lane` stands for one example of a batch: it shows the shape that the example has, and holds the
values of all of them, whose first axis is the batch. An op on lanes applies its batching rule
(`OpRecord.batch`), so whatever is written as mathematics over values (a graph, a derivative rule)
becomes the same for a whole batch. What is held may be a staged value, a Tensor or an array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from codegen.ir import Trait
from codegen.sizes import Dim, Sizes
from codegen.types import ArrayType
from tracegrad.differentiation.reverse_mode import pullback
from tracegrad.differentiation.steps import Step
from tracegrad.errors import NotBatchedError, NotDifferentiableError
from tracegrad.ops.batching_rules import Alike, Batch, elementwise
from tracegrad.ops.reductions.sums_and_extremes import sum_over
from tracegrad.ops.special_cotangents import Undefined
from tracegrad.ops.unbatched_calls import each_record
from tracegrad.values.dispatch import HANDLERS, SIZES, TYPES, apply_in, shape_of, type_of


class Lane:
    """A value of one example: where `wide`, `value` has an axis more in front, of `length`."""

    __slots__ = ("length", "value", "wide")

    def __init__(self, value: Any, wide: bool, length: Dim) -> None:
        self.value = value
        self.wide = wide
        self.length = length

    @property
    def shape(self) -> tuple[Dim, ...]:
        return type_of(self).shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> str:
        return type_of(self).dtype

    def __repr__(self) -> str:
        return f"Lane({self.value!r}{'' if self.wide else ', alike'})"


def _apply(like: Lane, op: Any, operands: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """One op on values of a lane, for every lane; what is the same in all is computed once."""
    wide = tuple([type(x) is Lane and x.wide for x in operands])
    values = [x.value if type(x) is Lane else x for x in operands]
    length = like.length
    if not any(wide):
        return _lanes(apply_in(like.value, op, attributes, *values), False, length)
    if Trait.EFFECT in op.traits and not op.opaque:
        raise NotBatchedError(f"{op.name} does more than compute")
    whole = {name: attributes.get(name, default) for name, default in op.attributes.items()}
    batch = Batch(op, tuple(values), wide, whole, length)
    results = batching_rule(op)(batch)
    if isinstance(results, Alike):
        return _lanes(results.value, False, length)
    return _lanes(on_each(batch) if results is NotImplemented else results, True, length)


def batching_rule(op: Any) -> Callable[[Batch], Any]:
    """The rule of an op, where its record gives none."""
    rule: Callable[[Batch], Any] | None = op.batch
    return rule or (elementwise if Trait.ELEMENTWISE in op.traits else on_each)


def _lanes(result: Any, wide: bool, length: Dim) -> Any:
    if isinstance(result, tuple | list):
        return tuple([Lane(value, wide, length) for value in result])
    return Lane(result, wide, length)


def _type(x: Lane) -> ArrayType:
    whole = type_of(x.value)
    return whole.with_shape(whole.shape[1:]) if x.wide else whole


def _sizes(x: Lane) -> Sizes | None:
    rule = SIZES.get(type(x.value))
    return None if rule is None else rule(x.value)


# -- ops for each example -----------------------------------------------------------------------


def on_each(batch: Batch) -> Any:
    """The rule of ops that have none: the op for each example, in a loop."""
    record = each_record(batch.op, batch.wide, batch.attributes, _rules)
    return record(*batch.operands, **batch.attributes)


def _rules(op: Any, wide: tuple[bool, ...]) -> dict[str, Any]:
    """What the record of an op for each example says besides its source."""

    def infer(sizes: Sizes, *types: ArrayType, **attributes: Any) -> Any:
        length = next(t.shape[0] for t, w in zip(types, wide, strict=True) if w)
        of_one = [t.with_shape(t.shape[1:]) if w else t for t, w in zip(types, wide, strict=True)]
        found = op.infer(sizes, *of_one, **attributes)
        several = found if isinstance(found, tuple) else (found,)
        every = tuple([ArrayType(t.dtype, (length, *t.shape)) for t in several])
        return every if isinstance(found, tuple) else every[0]

    def vjp(ct: Any, y: Any, *operands: Any, **attributes: Any) -> tuple[Any, ...]:
        length = next(shape_of(x)[0] for x, w in zip(operands, wide, strict=True) if w)
        lanes = [Lane(x, w, length) for x, w in zip(operands, wide, strict=True)]
        ys, cts = (x if isinstance(x, tuple) else (x,) for x in (y, ct))
        results = [Lane(value, True, length) for value in ys]
        places = range(len(lanes))
        step = Step(op, attributes, tuple(places), tuple(range(-len(results), 0)))
        seeds = {
            key: Lane(value, True, length)
            for key, value in zip(step.results, cts, strict=True)
            if value is not None
        }
        whole = tuple(results) if len(results) > 1 else results[0]

        def back(wanted: Sequence[int]) -> dict[Any, Any]:
            return pullback([step], lambda _: (whole, lanes), seeds, wanted)

        try:
            found = back(places)
        except NotDifferentiableError as error:  # in one of them, which may not be asked for
            found = dict.fromkeys(places, Undefined(str(error)))
            for place in places:
                with suppress(NotDifferentiableError):
                    found[place] = back([place]).get(place)
        return tuple([_of_batch(found.get(i), lanes[i]) for i in places])

    return {"infer": infer, "vjp": None if op.vjp is None else vjp}


def _of_batch(ct: Any, x: Lane) -> Any:
    """The cotangent of an operand, of what was found for it in one lane."""
    if type(ct) is not Lane:
        return ct
    if ct.wide and not x.wide:
        return sum_over(ct.value, axis=0, keepdims=False)
    return ct.value  # what is alike in all lanes is 0, which the walker spreads


HANDLERS[Lane] = _apply
TYPES[Lane] = _type
SIZES[Lane] = _sizes
