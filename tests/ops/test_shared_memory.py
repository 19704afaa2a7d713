"""Every op record enters: what it says of the memory of its results is what NumPy does.

Whose memory a result is in decides what may be written over, and how it lies there decides in which
order sums add. Records claim it (`Op.memory_of`, `Trait.C_ORDER`, `Trait.CONTIGUOUS`), passes
believe it. Here the kernels run on operands that lie in memory in every way, and
`np.shares_memory` and strides tell whether the claims hold: none too bold, none too careful.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from samples.sampling import DTYPES, Draw, Sample, samples

import tracegrad as tg
from codegen.ir import Builder, Call, Frame, Graph, Op, Trait, Value
from codegen.loop_ownership import may_be_overwritten
from codegen.memory_order import Ordered, note_order
from codegen.sizes import Sizes
from tracegrad.differentiation.backwards_apart import backward_begins
from tracegrad.fast_math import product_ops
from tracegrad.ops import checkpoint_markers, jax_random_keys, python_lists, unbatched_calls
from tracegrad.ops.elementwise import arrays_and_scalars, powers, python_numbers
from tracegrad.ops.elementwise import ufuncs as ew
from tracegrad.ops.linear_algebra import contractions
from tracegrad.ops.record import TABLE, OpRecord
from tracegrad.ops.reductions import sums_and_extremes
from tracegrad.ops.shape import memory_order
from tracegrad.optimizer.scalar_outputs import ARRAYS, scalars
from tracegrad.traced_scipy import linalg
from tracegrad.traced_scipy import special as of_special
from tracegrad.traced_scipy.op_records import SciPyOp
from tracegrad.values.dispatch import type_of

MOST = 24
"""Ways to lay out the operands of one sample."""

REFUSED = (TypeError, ValueError, IndexError, AttributeError)
"""What NumPy raises where dtypes, or the values that a layout changed, are none for an op."""


# -- operands in every layout -------------------------------------------------------------------


def layouts(x: Any) -> Iterator[Any]:
    """The same values in other orders, with gaps, backwards; the first repeated; as a number."""
    if not isinstance(x, np.ndarray | np.generic):
        yield x
        return
    x = np.asarray(x)
    yield x
    if not x.ndim:
        yield x[()]
        return
    yield np.repeat(x, 2, axis=-1)[..., ::2]
    yield np.flip(np.flip(x).copy())
    if x.ndim > 1:
        yield np.asfortranarray(x)
        yield np.repeat(x, 2, axis=0)[::2]
        yield np.swapaxes(np.swapaxes(x, 0, -1).copy(), 0, -1)
    if x.size:
        yield np.broadcast_to(x[..., :1], x.shape)


def laid_out(sample: Sample) -> Iterator[tuple[Any, ...]]:
    """The operands of a sample, each in every layout, and numbers where they stand for arrays."""
    ways = list(product(*map(list, map(layouts, sample.operands))))
    yield from ways[:: -(-len(ways) // MOST)]
    if any(isinstance(x, np.ndarray) and not x.ndim for x in sample.operands):
        yield tuple([x if np.ndim(x) else np.asarray(x).item() for x in sample.operands])


# -- what is claimed ----------------------------------------------------------------------------


class Claims:
    """What a graph of one call says of the memory of its results."""

    def __init__(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> None:
        builder = Builder(Sizes())
        self.inputs = tuple(Value(type_of(x)) for x in operands)
        self.results = builder.call(op, self.inputs, **attributes)
        (self.call,) = builder.nodes
        assert isinstance(self.call, Call)
        names = tuple(f"x{i}" for i in range(len(operands)))
        frame = Frame(names, names)
        self.graph = Graph("one", self.inputs, (self.call,), self.results, frame)
        pairs = [*zip(self.inputs, operands, strict=True)]
        arrays = [(value, x) for value, x in pairs if isinstance(x, np.ndarray)]
        dense = {value for value, x in arrays if x.flags.c_contiguous}
        self.order = Ordered(dense, {value for value, x in arrays if has_axes_in_order(x)})
        note_order(self.graph, self.call, self.order)

    def shared(self) -> list[int]:
        """The operands whose memory the results may show."""
        owner = self.graph.owner[self.results[0]]
        return [i for i, value in enumerate(self.inputs) if value is owner]

    def new(self) -> bool:
        """Whether the results may be overwritten."""
        return may_be_overwritten(self.graph, self.results[0])

    def in_order(self) -> bool:
        """Whether the results are taken to be in C order."""
        return self.results[0] in self.order.dense

    def has_axes_in_order(self) -> bool:
        """Whether what is made like the results is taken to be in C order."""
        return self.order.holds(self.results[0])


def has_axes_in_order(x: np.ndarray) -> bool:
    """Whether what is made like an array is in C order."""
    return x.ndim < 2 or (np.empty_like(x).flags.c_contiguous and 0 not in x.strides)


def is_dense(x: np.ndarray) -> bool:
    """Whether the elements fill their memory, the axes in whatever order."""
    step = x.itemsize
    for stride, length in sorted(zip(x.strides, x.shape, strict=True)):
        if length > 1:
            if stride != step:
                return False
            step *= length
    return True


def share(a: Any, b: Any) -> bool:
    return all(isinstance(x, np.ndarray) for x in (a, b)) and np.shares_memory(a, b)


def wrong(op: OpRecord, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Iterator[str]:
    """What a record claims of one call, and is not so; nothing for a call that NumPy refuses."""
    try:
        found = op.kernel(attributes)(*operands, **attributes)
        claims = Claims(op, operands, attributes)
    except REFUSED:
        return
    several = tuple(found) if isinstance(found, tuple | list) else (found,)
    may = claims.shared()
    for i, result in enumerate(several):
        for k, operand in enumerate(operands):
            if share(operand, result) and not any(share(operands[m], operand) for m in may):
                yield f"result {i} shares memory with operand {k}"
        if not isinstance(result, np.ndarray) or not result.size:
            continue
        if claims.in_order() and not result.flags.c_contiguous:
            yield f"result {i} is not in C order"
        if claims.has_axes_in_order() and not np.empty_like(result).flags.c_contiguous:
            yield f"the axes of result {i} are not in C order"
        if may:
            continue
        if not result.flags.writeable or 0 in np.array(result.strides)[np.array(result.shape) > 1]:
            yield f"result {i} cannot be written to"
        if claims.new() and not is_dense(result):
            yield f"result {i} does not lie as a new array"
        if any(share(other, result) for other in several[:i]):
            yield f"result {i} shares memory with another result"


# -- every record -------------------------------------------------------------------------------


def _numbers(*values: float) -> list[Sample]:
    return [Sample(values, {})]


def _arrays(draw: Draw) -> dict[OpRecord, list[Sample]]:
    """Samples of the records that are not in the table: programs alone have them."""
    matrix, vector = draw(40, 3), draw(6)
    rows = [Sample((matrix,), {})]
    pairs = [Sample((x, x), {}) for x in (vector, draw(3, 4))]
    return {
        sums_and_extremes.plain_mean: [
            Sample((matrix,), {"axis": a, "keepdims": False}) for a in (0, 1)
        ],
        arrays_and_scalars.copy_number: [Sample((np.array(2.0),), {})],
        arrays_and_scalars.copy_lying: rows,
        arrays_and_scalars.as_scalar: [Sample((np.array(2.0),), {})],
        arrays_and_scalars.returned_array: [Sample((np.array(2.0),), {})],
        arrays_and_scalars.returned_scalar: [Sample((np.array(2.0),), {})],
        ew.python_absolute: _numbers(-2.0),
        python_numbers.python_round: [Sample((2.675,), {"decimals": 2})],
        python_numbers.python_float: [Sample((np.array(2.0),), {})],
        python_numbers.python_bool: [Sample((np.array(True),), {})],
        python_numbers.whole_number: [Sample((np.array(2),), {})],
        python_numbers.number_read: [Sample((np.array(2.0),), {"lost": ""})],
        python_numbers.python_complex: [Sample((np.array(2.0 + 1j),), {})],
        powers.python_power: _numbers(2.0, 3.0),
        powers.python_number_power: [Sample((2.0,), {"exponent": 2})],
        powers.python_square: _numbers(2.0),
        powers.python_base_power: [Sample((2.0,), {"base": 2})],
        product_ops.vector_dot: [Sample((vector, vector), {})],
        product_ops.array_dot: pairs,
        product_ops.ordered_dot: pairs,
        product_ops.dot_of_parts: pairs,
        product_ops.rows_dot: [Sample((matrix, matrix), {})],
        product_ops.rows_sum: rows,
        product_ops.sum_of_others: [Sample((draw(2, 3, 4),), {"axis": (0, 2)})],
        product_ops.columns_apart: [*rows, Sample((draw(3, 40),), {})],
        product_ops.columns_product: [Sample((matrix, draw(3, 4)), {})],
        product_ops.at_least_one: _numbers(3),
    }


OUTSIDE = _arrays(Draw("float64"))
FOREIGN = {"call", "compiled", "draw", "register_hook", "to_device"}
"""Ops that run what nobody here can see, or are on no program's way: what they hold is kept."""

EVERY = [*TABLE.values(), *OUTSIDE]


Calls = Iterator[tuple[tuple[Any, ...], dict[str, Any]]]


def tried(op: OpRecord, chosen: Callable[[list[Any]], Sequence[Any]] = list) -> Calls:
    """Operands and attributes: every sample in every dtype and layout, or those chosen of them."""
    for sample in OUTSIDE.get(op) or [s for dtype in DTYPES for s in samples(op, dtype)]:
        for operands in chosen([*laid_out(sample)]):
            yield operands, sample.attributes


@pytest.fixture(autouse=True)
def quiet_arithmetic():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", EVERY, ids=lambda op: op.name)
def test_what_a_record_says_of_memory_is_so(op, few):
    for operands, attributes in tried(op, lambda layouts: few(layouts, 8)):
        for claim in wrong(op, operands, attributes):
            strides = [getattr(x, "strides", x) for x in operands]
            pytest.fail(f"{op.name}{Sample(operands, attributes)}, strides {strides}: {claim}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "op",
    [op for op in EVERY if op.memory or not op.traits.isdisjoint((Trait.VIEW, Trait.SPLAT))],
    ids=lambda op: op.name,
)
def test_no_record_is_more_careful_than_need_be(op):
    """What may share memory, or lie loosely, does for some operands of each kind that is told."""
    told: dict[Any, bool] = {}
    for operands, attributes in tried(op):
        try:
            found = op.kernel(attributes)(*operands, **attributes)
        except REFUSED:
            continue
        memory = op.memory_of([type_of(x) for x in operands], attributes)
        several = found if isinstance(found, tuple | list) else (found,)
        match memory:
            case Trait.VIEW | Trait.SPLAT:
                so = any(share(operands[0], y) for y in several)
            case Trait.LOOSE:
                so = not all(map(is_dense, several))
            case _:
                so = True
        told[memory] = told.get(memory, False) or so
    assert all(told.values()), told


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "op", [op for op in EVERY if op.name != "returned_array"], ids=lambda op: op.name
)
def test_what_a_program_takes_for_a_scalar_is_one(op, few):
    """What a program returns without axes is no array, where no conversion says so."""
    for operands, attributes in tried(op, lambda layouts: few(layouts, 8)):
        try:
            found = op.kernel(attributes)(*operands, **attributes)
            several = found if isinstance(found, tuple | list) else (found,)
            if all(map(np.ndim, several)):
                continue
            claims = Claims(op, operands, attributes)
        except REFUSED:
            continue
        is_scalar = scalars(claims.graph)
        for result, value in zip(several, claims.results, strict=False):
            if not np.ndim(result):
                assert not (is_scalar(value) and isinstance(result, np.ndarray)), attributes
                of_numpy = isinstance(result, np.ndarray)
                assert of_numpy or value.type.weak or op.name not in ARRAYS, attributes


def test_every_record_is_tried():
    records = {
        value
        for name, module in list(sys.modules.items())
        if name.startswith("tracegrad") and module is not None
        for held in list(vars(module).values())
        for value in (held.values() if isinstance(held, dict) else (held,))
        if isinstance(value, OpRecord)
    }
    of_programs = {
        python_lists.new_list,
        python_lists.appended,
        python_lists.append_row,
        python_lists.listed_rows,
        python_lists.list_length,
        python_lists.item,
        python_lists.collected,
        python_lists.room,
        python_lists.first_items,
        python_lists.handed,
        python_lists.row_list,
        python_lists.unset,
        python_lists.filling,
    }
    of_programs |= {
        python_lists.array_list,
        python_lists.list_of,
        python_lists.put_item,
        python_lists.list_item,
        python_lists.row_before,
        python_lists.length,
        python_lists.least,
        python_lists.most,
        python_lists.either,
        python_lists.room_for_numbers,
        python_lists.listed_numbers,
        python_lists.array_of_numbers,
    }
    of_programs |= {checkpoint_markers.budget_start, checkpoint_markers.budget_end}
    of_programs |= {backward_begins, arrays_and_scalars.copy_if_set}
    of_programs |= {arrays_and_scalars.copy_lying_if_set}
    of_programs |= {jax_random_keys.split, jax_random_keys.spread}  # a key is two numbers
    of_programs |= {
        checkpoint_markers.region_start,
        checkpoint_markers.region_end,
        checkpoint_markers.recomputed,
        memory_order.written_part,
        contractions.diagonal_view,
    }
    of_programs |= {op for op in records if isinstance(op, SciPyOp)}
    of_programs |= set(
        unbatched_calls._RECORDS.values()
    )  # stacks of what records that are tried give
    assert {op.name for op in records - of_programs} - {op.name for op in EVERY} <= FOREIGN


def test_what_scipy_gives_is_new():
    pytest.importorskip("scipy")
    tried = [linalg.expm_of, linalg.logm_of, linalg.sqrtm_of, linalg.sylvester_of]
    tried += [x for x in vars(of_special).values() if isinstance(x, SciPyOp)]
    assert len(tried) > 10
    for op in tried:
        given = [np.eye(2) + 0.1 * k for k in range(len(op.operands))]
        if op not in tried[:4]:
            given = [np.array([1.0, 2.0]), np.array([0.3, 0.6])][2 - len(op.operands) :]
        attributes = {k: v for k, v in op.attributes.items() if v is not ...}
        result = op.kernel(attributes)(*given, **attributes)
        assert not any(np.shares_memory(result, x) for x in given), op.name


# -- the test can fail --------------------------------------------------------------------------


def claims_of(op: OpRecord, *operands: Any, **attributes: Any) -> list[str]:
    return list(wrong(op, operands, attributes))


def test_a_false_claim_is_found():
    x = np.ones((3, 4))
    view = replace(TABLE["transpose"], traits=frozenset())
    assert claims_of(view, x, axes=None) == ["result 0 shares memory with operand 0"]
    backwards = replace(TABLE["sort"], memory=None)
    assert claims_of(backwards, np.ones(3), axis=0, descending=True) == [
        "result 0 is not in C order",
        "result 0 does not lie as a new array",
    ]
    columns = replace(TABLE["exp"], traits=frozenset({Trait.CONTIGUOUS}))
    assert claims_of(columns, x.T) == [
        "result 0 is not in C order",
        "the axes of result 0 are not in C order",
    ]
    repeated = replace(TABLE["broadcast_to"], traits=frozenset())
    assert "result 0 cannot be written to" in claims_of(repeated, np.ones(1), shape=(3,))
    assert claims_of(tg.exp, x) == []


# -- whole calls --------------------------------------------------------------------------------


def column(x, k):
    return x[:, k[0]]


def row_without_its_number(x, k):
    return x[np.max(k), ...]


def only_window(x, k):
    return np.lib.stride_tricks.sliding_window_view(x[0], 4)


def worked_on(x, k):
    y = x[:, k[1]]
    y = y * 2.0
    y = y + x[:, k[0]]
    return y


def real_part(x, k):
    y = np.real(x + 0j)
    return y * 2.0 + np.real(x[k[0]] * 1.0)


@pytest.mark.parametrize(
    "f",
    [column, row_without_its_number, only_window, worked_on, real_part],
    ids=lambda f: f.__name__,
)
def test_what_a_program_returns_is_no_part_of_its_arguments(f):
    x, k = np.random.default_rng(0).normal(size=(4, 4)), np.array([1, 2])
    before, expected = x.copy(), np.array(f(x, k))
    compiled = tg.compile(f)
    for _ in range(3):
        found = compiled(x, k)
        assert np.array_equal(found, expected)
        assert found.flags.writeable and not np.shares_memory(found, x)
        found[...] = 0.0
        assert np.array_equal(x, before)
