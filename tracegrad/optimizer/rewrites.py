"""The optimizer's rules over ops of tracegrad, which traits cannot say; all keep the bits.

Every rule is exact: it gives the same bits for every input, NaN, infinities and the sign of zero
included. They are handed to ``codegen.optimize``.
"""

from __future__ import annotations

import math
from cmath import isfinite
from collections.abc import Callable

import numpy as np

from codegen import sizes as sz
from codegen.ir import Call, Number, Op, Trait, Value, dims_of
from codegen.passes.simplify import may_stand_for, same_type
from codegen.rewrite import Rewriter, Rule, offered
from codegen.spelling import Subscript
from codegen.types import ArrayType, is_inexact, kind, weak
from tracegrad.ops import masking, python_lists
from tracegrad.ops.elementwise import arrays_and_scalars, python_numbers, ufuncs
from tracegrad.ops.linear_algebra import contractions, decompositions, determinants, solving
from tracegrad.ops.reductions import sums_and_extremes
from tracegrad.ops.shape import creation, indexing, joining, memory_order, reshaping, selection
from tracegrad.ops.type_rules import axes_of


def on(*ops: Op) -> Callable[[Rule], Rule]:
    """The rule, offered only calls of these ops."""
    return offered(frozenset(ops).__contains__)


@on(sums_and_extremes.mean_over)
def mean_to_sum(r: Rewriter, call: Call) -> Value | None:
    """mean(x) -> sum(x) / n: half the cost on small arrays, and what NumPy computes."""
    x = call.operands[0]
    if x.type.dtype not in ("float32", "float64"):
        return r.emit(sums_and_extremes.plain_mean, x, **dict(call.attributes))
    axis, keepdims = call.attribute("axis"), call.attribute("keepdims")
    total = r.emit(sums_and_extremes.sum_over, x, axis=axis, keepdims=keepdims)
    dims = dims_of(r.sizes, x.type)
    size = sz.mul([dims[i] for i in axes_of(axis, len(dims))])
    n = r.emit(creation.extent, size=size, dtype=x.type.dtype)
    return r.emit(ufuncs.divide, total, n)


@on(sums_and_extremes.sum_over)
def sum_of_ones(r: Rewriter, call: Call) -> Value | None:
    """broadcast_to(1.0, x.shape).sum() -> x.size, which float64 holds exactly."""
    splat = r.node(call.operands[0])
    if splat is None or Trait.SPLAT not in splat.op.traits or r.number(splat.operands[0]) != 1:
        return None
    type_ = call.results[0].type
    if type_.shape or type_.dtype != "float64":
        return None
    size = sz.mul(dims_of(r.sizes, splat.results[0].type))
    return r.emit(creation.extent, size=size, dtype="float64")


_FLOATS = (python_numbers.python_float, python_numbers.number_read)


@on(ufuncs.add, ufuncs.subtract, ufuncs.multiply, ufuncs.divide)
def float_beside_arrays(r: Rewriter, call: Call) -> Value | None:
    """float(x) * y -> x * y, where y has a dtype that x does not change: the bits are the same."""
    bare = [
        made.operands[0] if (made := r.node(x)) and made.op in _FLOATS else x for x in call.operands
    ]
    if bare == list(call.operands) or any(x.type.weak for x in bare):
        return None
    if all(x.type.weak for x in call.operands):
        return None
    type_ = r.infer(call.op, *bare)
    return r.emit(call.op, *bare) if type_ == call.results[0].type else None


def _power_of_two(number: object) -> bool:
    return isinstance(number, int | float) and abs(number) in (0.25, 0.5, 1, 2, 4, 8)


@on(ufuncs.multiply)
def scale_after_divide(r: Rewriter, call: Call) -> Value | None:
    """(1 / n) * 2 -> 2 / n: scaling by a power of two commutes with rounding."""
    for position in (0, 1):
        scale, inner = call.operands[position], r.node(call.operands[1 - position])
        if inner is None or inner.op is not ufuncs.divide:
            continue
        top = r.number(inner.operands[0])
        factor = r.number(scale)
        bottom = r.node(inner.operands[1])
        if top is None or factor is None or bottom is None or bottom.op is not creation.extent:
            continue
        if not (_power_of_two(top) and _power_of_two(factor)):
            continue
        number = r.make_number(float(top) * float(factor), inner.operands[0].type)  # type: ignore[arg-type]
        return r.emit(ufuncs.divide, number, inner.operands[1])
    return None


def _is_float(value: Value) -> bool:
    return kind(value.type.dtype) == "float"


@on(ufuncs.add, ufuncs.subtract)
def negated_sum(r: Rewriter, call: Call) -> Value | None:
    """a + -b -> a - b, -a + b -> b - a, a - -b -> a + b.

    Not where a narrower integer is negated: -128 in int8 is its own negative.
    """
    a, b = call.operands
    if any(not _is_float(v) and v.type.dtype != call.results[0].type.dtype for v in (a, b)):
        return None
    right = r.node(b)
    if right is not None and right.op is ufuncs.negative:
        other = ufuncs.subtract if call.op is ufuncs.add else ufuncs.add
        return r.emit(other, a, right.operands[0])
    left = r.node(a)
    if call.op is ufuncs.add and left is not None and left.op is ufuncs.negative:
        return r.emit(ufuncs.subtract, b, left.operands[0])
    return None


@on(ufuncs.multiply, ufuncs.divide)
def negation_last(r: Rewriter, call: Call) -> Value | None:
    """-a * b -> -(a * b), -a / b -> -(a / b): negations move on until a sum absorbs them.

    Only of floats: the integer -0 is 0, and complex numbers add up products of their parts.
    """
    if not all(map(_is_float, call.operands)):
        return None
    for position in (0, 1):
        node = r.node(call.operands[position])
        if node is not None and node.op is ufuncs.negative:
            operands = list(call.operands)
            operands[position] = node.operands[0]
            return r.emit(ufuncs.negative, r.emit(call.op, *operands))
    return None


@on(ufuncs.subtract, indexing.scattered)
def negated_multiple(r: Rewriter, call: Call) -> Value | None:
    """-(2 * x) - y -> -2 * x - y, and what is written into zeros likewise: nothing absorbs it."""
    negation = r.node(call.operands[0])
    if negation is None or negation.op is not ufuncs.negative:
        return None
    product = r.node(negation.operands[0])
    if product is None or product.op is not ufuncs.multiply:
        return None
    for position in (0, 1):
        factor, other = product.operands[position], product.operands[1 - position]
        number = r.number(factor)
        typed = factor.type.weak or factor.type.dtype == other.type.dtype
        if type(number) is float and number > 0 and typed and _is_float(other):
            multiple = r.emit(ufuncs.multiply, r.make_number(-number, factor.type), other)
            return r.emit(call.op, multiple, *call.operands[1:], **dict(call.attributes))
    return None


@on(indexing.add_at, indexing.subtract_at)
def negated_at(r: Rewriter, call: Call) -> Value | None:
    """x[i] += -a -> x[i] -= a."""
    x, value, *arrays = call.operands
    node = r.node(value)
    if node is None or node.op is not ufuncs.negative or not _is_float(value):
        return None
    other = indexing.subtract_at if call.op is indexing.add_at else indexing.add_at
    return r.emit(other, x, node.operands[0], *arrays, **dict(call.attributes))


@on(indexing.add_at, indexing.subtract_at)
def added_where_written(r: Rewriter, call: Call) -> Value | None:
    """zeros, x[i] = a, x[i] += b -> zeros, x[i] = a + b, where i names every place once."""
    written = r.node(call.operands[0])
    if written is None or written.op is not indexing.scattered or call.attribute("repeats"):
        return None
    (a, *before), (_, b, *now) = written.operands, call.operands
    alike = all(written.attribute(n) == call.attribute(n) for n in ("index", "counts", "repeats"))
    dtypes = {a.type.dtype, b.type.dtype, call.results[0].type.dtype}
    same_shape = dims_of(r.sizes, a.type) == dims_of(r.sizes, b.type)
    if before != now or not (alike and same_shape) or len(dtypes) > 1 or not _is_float(a):
        return None
    combine = ufuncs.add if call.op is indexing.add_at else ufuncs.subtract
    total = r.emit(combine, a, b)
    return r.emit(indexing.scattered, total, *before, **dict(written.attributes))


@on(ufuncs.negative, ufuncs.multiply)
def minus_one(r: Rewriter, call: Call) -> Value | None:
    """x * -1 -> -x; numbers are negated at once."""
    if call.op is ufuncs.negative:
        number = r.number(call.operands[0])
        if number is not None and not isinstance(number, bool):
            return r.make_number(-number, call.operands[0].type)
        return None
    for position in (0, 1):
        number, other = r.number(call.operands[position]), call.operands[1 - position]
        exact = kind(other.type.dtype) != "complex"  # (inf + 1j) * -1 is not -(inf + 1j)
        if number == -1 and exact and other.type == call.results[0].type:
            return r.emit(ufuncs.negative, other)
    return None


@on(reshaping.transpose_axes)
def transposed_twice(r: Rewriter, call: Call) -> Value | None:
    """x.T.T -> x."""
    inner = r.node(call.operands[0])
    if inner is None or inner.op is not reshaping.transpose_axes:
        return None
    ndim = call.results[0].type.ndim
    first, second = (c.attribute("axes") or tuple(reversed(range(ndim))) for c in (inner, call))
    if tuple(first[i] for i in second) == tuple(range(ndim)):
        return inner.operands[0]
    return None


@on(reshaping.reshape_to, reshaping.expand_axes, reshaping.squeeze_axes)
def reshape_of_reshape(r: Rewriter, call: Call) -> Value | None:
    """x.reshape(a).reshape(b) -> x.reshape(b), and nothing at all when that is the shape of x.

    Not where the first copies what is not in C order: then the rest has another order in memory.
    """
    x = call.operands[0]
    inner = r.node(x)
    wanted = dims_of(r.sizes, call.results[0].type)
    if inner is not None and inner.op in (
        reshaping.reshape_to,
        reshaping.expand_axes,
        reshaping.squeeze_axes,
    ):
        source = inner.operands[0]
        between, given = dims_of(r.sizes, x.type), dims_of(r.sizes, source.type)
        if len(given) < 2 or _without_ones(between) == _without_ones(given):
            if given == wanted:
                return source
            if call.op is reshaping.reshape_to and inner.op is reshaping.reshape_to:
                return r.emit(reshaping.reshape_to, source, shape=wanted)
    return x if dims_of(r.sizes, x.type) == wanted else None


def _without_ones(dims: tuple[sz.Dim, ...]) -> list[sz.Dim]:
    """The lengths but for axes that may come and go without a copy."""
    return [dim for dim in dims if dim != 1]


@on(reshaping.squeeze_axes)
def squeezed_sum(r: Rewriter, call: Call) -> Value | None:
    """x.sum(axis=0, keepdims=True).squeeze(axis=0) -> x.sum(axis=0), in a derivative.

    There nobody else reads the longer sum: it undoes a broadcast, and then the axis that was added.
    """
    inner = r.node(call.operands[0])
    if (
        inner is None
        or inner.op is not sums_and_extremes.sum_over
        or not inner.attribute("keepdims")
    ):
        return None
    x, axis = inner.operands[0], inner.attribute("axis")
    ndim = x.type.ndim
    same = set(axes_of(axis, ndim)) == set(axes_of(call.attribute("axis"), ndim))
    if not same or inner.results[0].origin.section != "backward":
        return None
    return r.emit(sums_and_extremes.sum_over, x, axis=axis, keepdims=False)


@on(reshaping.reshape_to, reshaping.expand_axes, reshaping.squeeze_axes, reshaping.transpose_axes)
def reshaped_splat(r: Rewriter, call: Call) -> Value | None:
    """A repeated number in another shape is the number repeated to that shape."""
    splat = r.node(call.operands[0])
    if splat is None or Trait.SPLAT not in splat.op.traits or splat.operands[0].type.shape:
        return None
    return r.emit(splat.op, splat.operands[0], shape=call.results[0].type.shape)


@on(reshaping.reshape_to)
def repeated(r: Rewriter, call: Call) -> Value | None:
    """broadcast_to(x[:, :, None], (n, m, 2)).reshape((n, 2 * m)) -> np.repeat(x, 2, axis=1)."""
    splat = r.node(call.operands[0])
    if splat is None or Trait.SPLAT not in splat.op.traits:
        return None
    expanded = r.node(splat.operands[0])
    if expanded is None or expanded.op is not reshaping.expand_axes:
        return None
    x = expanded.operands[0]
    wide, old = dims_of(r.sizes, splat.results[0].type), list(dims_of(r.sizes, x.type))
    new = axes_of(expanded.attribute("axis"), len(wide))
    if len(wide) != expanded.results[0].type.ndim or 0 in new:
        return None
    whole, times = list(old), [1] * len(old)
    for axis in sorted(new):
        count, before = wide[axis], axis - 1 - sum(a < axis for a in new)
        if not isinstance(count, int):
            return None
        whole[before], times[before] = sz.mul([whole[before], count]), times[before] * count
    kept = [dim for axis, dim in enumerate(wide) if axis not in new]
    shape = call.results[0].type.shape
    if kept != old or len(whole) != len(shape) or not all(map(r.sizes.equal, whole, shape)):
        return None
    for axis in reversed(range(len(old))):
        if times[axis] != 1:
            along = None if len(old) == 1 else axis
            x = r.emit(joining.repeat_along, x, repeats=times[axis], axis=along)
    return x


@on(ufuncs.astype)
def same_dtype(r: Rewriter, call: Call) -> Value | None:
    """astype to the dtype that it is -> nothing."""
    x = call.operands[0]
    own = x.type.dtype == call.attribute("dtype") and not x.type.weak
    return x if own and may_stand_for(r, x) else None


@on(ufuncs.multiply)
def number_times_one(r: Rewriter, call: Call) -> Value | None:
    """1 * c -> c in the result's dtype, for a number c that is a parameter."""
    for position in (0, 1):
        constant = r.constant_of(call.operands[1 - position])
        if constant is None or constant.slot is None or r.number(call.operands[position]) != 1:
            continue
        type_ = call.results[0].type
        if type_.dtype == "float64":
            return r.constant(constant.value, type_, constant.slot, r.origin)
    return None


@on(ufuncs.where)
def ones_on_a_diagonal(r: Rewriter, call: Call) -> Value | None:
    """where(eye(n, dtype=bool), 1.0, 0.0) -> eye(n): what the derivative of a trace begins with."""
    mask = r.node(call.operands[0])
    numbers = [r.number(value) for value in call.operands[1:]]
    if mask is None or mask.op is not creation.eye_of or repr(numbers) != "[1.0, 0.0]":
        return None
    type_ = call.results[0].type
    if dims_of(r.sizes, type_) != dims_of(r.sizes, mask.results[0].type) or type_.weak:
        return None
    return r.emit(creation.eye_of, **{**dict(mask.attributes), "dtype": type_.dtype})


@on(ufuncs.where)
def infinite_and_finite(r: Rewriter, call: Call) -> Value | None:
    """where((x == 0) & isinf(x), a, b) -> b: the derivative of logaddexp(x, 0) asks for that."""
    condition, _, otherwise = call.operands
    both = r.node(condition)
    if both is None or both.op is not ufuncs.logical_and:
        return None
    equal, infinite = map(r.node, both.operands)
    if equal is None or equal.op is not ufuncs.equal:
        return None
    if infinite is None or infinite.op is not ufuncs.isinf:
        return None
    x = infinite.operands[0]
    numbers = [r.number(value) for value in equal.operands if value is not x]
    finite = len(numbers) == 1 and numbers[0] is not None and isfinite(numbers[0])
    return otherwise if finite and same_type(r, otherwise, call.results[0]) else None


@on(ufuncs.where)
def either_way(r: Rewriter, call: Call) -> Value | None:
    """where(c, x, x) -> x: what is left of the derivative of where(c, x + y, x)."""
    _, chosen, otherwise = call.operands
    same = chosen is otherwise and same_type(r, chosen, call.results[0])
    return chosen if same and may_stand_for(r, chosen) else None


@on(masking.keep_where, masking.zero_where)
def masked_number(r: Rewriter, call: Call) -> Value | None:
    """A number, or a choice by one, is chosen by ``np.where``: only arrays have bits to look at."""
    mask, x = call.operands
    if mask.type.shape and x.type.shape:
        return None
    zero = r.make_number(0.0, weak("float"))
    branches = (x, zero) if call.op is masking.keep_where else (zero, x)
    return r.emit(ufuncs.where, mask, *branches)


@on(masking.keep_where, masking.zero_where)
def masked_twice(r: Rewriter, call: Call) -> Value | None:
    """zero_where(c, zero_where(c, x)) -> zero_where(c, x)."""
    mask, x = call.operands
    inner = r.node(x)
    again = inner is not None and inner.op is call.op and inner.operands[0] is mask
    return x if again and same_type(r, x, call.results[0]) else None


@on(ufuncs.halve_where)
def halved_number(r: Rewriter, call: Call) -> Value | None:
    """The same for ties: a number is chosen by ``np.where``."""
    x, lost, tied = call.operands
    if all(value.type.shape for value in call.operands):
        return None
    half = r.emit(ufuncs.multiply, r.make_number(0.5, weak("float")), x)
    shared = r.emit(ufuncs.where, tied, half, x)
    return r.emit(ufuncs.where, lost, r.make_number(0.0, weak("float")), shared)


@on(
    *(ufuncs.alias, memory_order.written_part, arrays_and_scalars.as_scalar),
    *(python_lists.handed, python_lists.row_list),
)
def same_value(r: Rewriter, call: Call) -> Value | None:
    """Marks for the differentiator are nothing to a program."""
    return call.operands[0]


@on(contractions.diagonal_view)
def diagonal_that_is_read(r: Rewriter, call: Call) -> Value | None:
    """No program writes to a diagonal: what is written there, is written to the whole."""
    return r.emit(contractions.diagonal_of, *call.operands, **dict(call.attributes))


@on(ufuncs.stop_gradient)
def stopped_value(r: Rewriter, call: Call) -> Value | None:
    """Nobody differentiates a program for NumPy; one for JAX, JAX may."""
    return call.operands[0]


@on(ufuncs.stop_gradient)
def stopped_constant(r: Rewriter, call: Call) -> Value | None:
    """What has no derivative needs no mark for JAX."""
    (x,) = call.operands
    return None if is_inexact(x.type.dtype) and r.constant_of(x) is None else x


@on(python_lists.list_item)
def row_of_list(r: Rewriter, call: Call) -> Value | None:
    """An item of a list is to a program a row of the array that turns fill, or an array."""
    rows, k = call.operands
    number, made = r.number(k), r.node(rows)
    if rows.type.either:
        return None  # it is a list
    if made is not None and made.op is python_lists.array_list:
        known = type(number) is int and -len(made.operands) <= number < len(made.operands)
        return made.operands[number] if known else None  # type: ignore[index]
    if type(number) is not int or number < 0:
        return r.emit(indexing.gather, rows, k, **python_lists.AT_ROW)
    op = indexing.element if rows.type.ndim == 1 else indexing.getitem_basic
    return r.emit(op, rows, index=Subscript((number,)))


@on(python_lists.append_row)
def row_of_growing_list(r: Rewriter, call: Call) -> Value | None:
    """Which item an array is that is appended, derivatives alone read."""
    saved, value, _ = call.operands
    return r.emit(python_lists.appended, saved, value)


NUMBERS = frozenset(
    {indexing.element, sums_and_extremes.argmax_over, sums_and_extremes.argmin_over}
)
"""Ops, beside ufuncs and sums, that give a NumPy scalar where their result has no axes."""


@on(indexing.gather)
def number_between_brackets(r: Rewriter, call: Call) -> Value | None:
    """x[:, k] -> x[:, k[()]] where k may be an array without axes.

    Of the number in it NumPy makes a view, as eager calls do, and of the array a copy, which a
    product adds in another order.
    """
    if call.memory is not Trait.VIEW:
        return None
    x, *arrays = call.operands
    numbers = [a if _is_number(r, a) else r.emit(indexing.element, a, index=HERE) for a in arrays]
    return None if numbers == arrays else r.emit(call.op, x, *numbers, **dict(call.attributes))


HERE = Subscript(())


def _is_number(r: Rewriter, value: Value) -> bool:
    """Whether a value without axes is a scalar when the program runs, and no array."""
    made = r.node(value)
    if value.type.weak or r.constant_of(value) is not None:
        return True
    return made is not None and (
        made.op in NUMBERS or not made.op.traits.isdisjoint({Trait.OUT, Trait.TOTAL, Trait.EXTENT})
    )


@on(determinants.cofactors_of)
def computed_value(r: Rewriter, call: Call) -> Value | None:
    """A value that was given a derivative of its own is that value to a program."""
    return call.operands[0]


@on(solving.triangular_solve)
def triangle_of_a_factor(r: Rewriter, call: Call) -> Value | None:
    """solve(tril(cholesky(x)), b) -> solve(cholesky(x), b), and so its transpose.

    Not of complex factors, whose conjugates have zeros of another sign.
    """
    a, lower = call.operands[0], call.attribute("lower")
    if call.attribute("clean") or call.attribute("unit_diagonal") or not _is_float(a):
        return None
    node = r.node(a)
    if not lower and node is not None and node.op is reshaping.transpose_axes:
        axes, ndim = node.attribute("axes"), a.type.ndim
        if axes in (None, (*range(ndim - 2), ndim - 1, ndim - 2)) and (axes or ndim == 2):
            node, lower = r.node(node.operands[0]), True
    if not lower or node is None or node.op is not decompositions.cholesky_of:
        return None
    attributes = {**dict(call.attributes), "clean": True}
    return r.emit(solving.triangular_solve, *call.operands, **attributes)


@on(solving.triangular_solve)
def inverses_in_common(r: Rewriter, call: Call) -> Value | None:
    """solve_triangular(a, b) -> substituted(a, inverted_blocks(a), b): the second is shared.

    Of an upper triangle the transpose is inverted, so that the two triangles of a factor share it.
    """
    (a, b), how = call.operands, dict(call.attributes)
    lower, axes = how.pop("lower"), (*range(a.type.ndim - 2), a.type.ndim - 1, a.type.ndim - 2)

    def transposed(x: Value) -> Value:
        return r.emit(reshaping.transpose_axes, x, axes=None if a.type.ndim == 2 else axes)

    inverses = r.emit(solving.blocks_of, a if lower else transposed(a), **how)
    inverses = inverses if lower else transposed(inverses)
    return r.emit(solving.substituted_of, a, inverses, b, lower=lower)


@on(creation.full_of)
def full_of_nothing(r: Rewriter, call: Call) -> Value | None:
    """full((), 0.0) -> 0.0."""
    number, type_ = r.number(call.operands[0]), call.results[0].type
    if call.attribute("shape") != () or number is None or isinstance(number, bool):
        return None
    held = _as_held(number, call.operands[0].type, type_.dtype)
    return None if held is None else r.make_number(held, type_)


def _as_held(number: Number, own: ArrayType, dtype: str) -> Number | None:
    """A number as an array of `dtype` holds it; None where NumPy raises or warns for it."""
    of = kind(dtype)
    if of == "bool":
        return bool(number)
    if isinstance(number, complex):
        return number if of == "complex" else None
    if not is_inexact(dtype):
        if isinstance(number, float) and not math.isfinite(number):
            return None
        whole, held = int(number), np.iinfo(dtype)
        if held.min <= whole <= held.max:
            return whole
        wraps = isinstance(number, int) and not own.weak  # of Python's own ints NumPy raises
        return int(np.array(number, own.dtype).astype(dtype)) if wraps else None
    return float(number) if dtype == "float64" else number


@on(indexing.scattered, indexing.set_at, indexing.add_at)
def splat_written(r: Rewriter, call: Call) -> Value | None:
    """x[i] = broadcast_to(a, shape) -> x[i] = a: writing repeats it by itself."""
    position = 0 if call.op is indexing.scattered else 1
    splat = r.node(call.operands[position])
    if splat is None or Trait.SPLAT not in splat.op.traits:
        return None
    operands = list(call.operands)
    operands[position] = splat.operands[0]
    return r.emit(call.op, *operands, **dict(call.attributes))


@on(selection.place_along)
def splat_placed(r: Rewriter, call: Call) -> Value | None:
    """put_along_axis(x, indices, broadcast_to(a, shape)) -> put_along_axis(x, indices, a)."""
    splat, indices = r.node(call.operands[0]), call.operands[1]
    if splat is None or Trait.SPLAT not in splat.op.traits or splat.operands[0].type.shape:
        return None
    return r.emit(call.op, splat.operands[0], indices, **dict(call.attributes))


@on(ufuncs.floor_divide)
def divided_by_zero(r: Rewriter, call: Call) -> Value | None:
    """a // b of integers, where b may be 0: the expression that has 0 there, as NumPy has."""
    a, b = call.operands
    if is_inexact(call.results[0].type.dtype) or r.number(b) or _is_parameter(r, b):
        return None
    return r.emit(ufuncs.floor_divide_integers, a, b)


@on(ufuncs.reciprocal)
def reciprocal_of_integers(r: Rewriter, call: Call) -> Value | None:
    """1 / x of integers, rounded towards zero: x where that is 1 or -1, else 0.

    JAX divides integers as floats.
    """
    (x,) = call.operands
    result = call.results[0].type
    if is_inexact(result.dtype):
        return None
    if kind(x.type.dtype) == "bool":
        return r.emit(ufuncs.astype, x, dtype=result.dtype)
    one, zero = (r.make_number(n, weak("int")) for n in (1, 0))
    is_one = r.emit(ufuncs.equal, r.emit(ufuncs.absolute, x), one)
    return r.emit(ufuncs.where, is_one, x, zero)


@on(ufuncs.angle_of)
def angle_of_reals(r: Rewriter, call: Call) -> Value | None:
    """The angle of real numbers: 0 or half a turn, in their dtype.

    JAX gives float64 for one number of any dtype.
    """
    (x,) = call.operands
    if kind(x.type.dtype) != "float":
        return None
    angle = r.emit(ufuncs.arctan2, r.make_number(0.0, weak("float")), x)
    if not call.attribute("deg"):
        return angle
    return r.emit(ufuncs.multiply, angle, r.make_number(180 / math.pi, weak("float")))


@on(contractions.matmul)
def transposed_times_vector(r: Rewriter, call: Call) -> Value | None:
    """w.T @ x -> x @ w, and x @ w.T -> w @ x, of a vector: XLA would copy the matrix first."""
    a, b = call.operands
    for matrix, vector, order in ((a, b, 1), (b, a, -1)):
        made = r.node(matrix)
        if made is None or made.op is not reshaping.transpose_axes:
            continue
        if matrix.type.ndim == 2 and vector.type.ndim == 1:
            return r.emit(contractions.matmul, *(vector, made.operands[0])[::order])
    return None


def _is_parameter(r: Rewriter, value: Value) -> bool:
    """A number whose value rules do not see; it is none of the plain ones, so it is not 0."""
    constant = r.constant_of(value)
    return constant is not None and constant.slot is not None


RULES: tuple[Rule, ...] = (
    splat_written,
    mean_to_sum,
    sum_of_ones,
    float_beside_arrays,
    scale_after_divide,
    negated_sum,
    negation_last,
    negated_multiple,
    negated_at,
    added_where_written,
    minus_one,
    transposed_twice,
    reshape_of_reshape,
    squeezed_sum,
    reshaped_splat,
    same_dtype,
    number_times_one,
    ones_on_a_diagonal,
    infinite_and_finite,
    either_way,
    masked_twice,
    masked_number,
    halved_number,
    same_value,
    diagonal_that_is_read,
    row_of_list,
    row_of_growing_list,
    computed_value,
    triangle_of_a_factor,
    full_of_nothing,
)
NUMPY_RULES: tuple[Rule, ...] = (
    *RULES,
    stopped_value,
    inverses_in_common,
    splat_placed,
    repeated,
    number_between_brackets,
)
JAX_RULES: tuple[Rule, ...] = (
    *RULES,
    stopped_constant,
    divided_by_zero,
    reciprocal_of_integers,
    angle_of_reals,
    transposed_times_vector,
)
