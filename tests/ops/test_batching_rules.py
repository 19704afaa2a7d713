"""Every op is batched over each of its operands, and over all, because it is in the table.

The reference is the op itself, run for one example after the other by its own kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits, leaves
from samples.sampling import Sample, is_elementwise, samples

from codegen.ir import Builder, Frame, Graph, Origin, Value
from codegen.sizes import Sizes
from codegen.types import ArrayType
from tracegrad.differentiation.batched_values import Lane
from tracegrad.differentiation.batching import batched
from tracegrad.errors import NotBatchedError
from tracegrad.execution.pipeline import compile_graph
from tracegrad.ops.record import TABLE, OpRecord

every_op = pytest.mark.parametrize(
    "op", [op for op in TABLE.values() if op.operands], ids=lambda op: op.name
)
BATCH = 3


@pytest.fixture(autouse=True)
def quiet_arithmetic():
    with np.errstate(all="ignore"):
        yield


def several(op: OpRecord, dtype: str) -> Iterator[list[Sample]]:
    """Samples of the op that differ in nothing but the values of their operands."""
    for same in zip(*(samples(op, dtype, seed) for seed in range(BATCH)), strict=True):
        shapes = [[np.shape(x) for x in s.operands] for s in same]
        if all(repr(s.attributes) == repr(same[0].attributes) for s in same[1:]) and all(
            shape == shapes[0] for shape in shapes[1:]
        ):
            yield list(same)


def choices(n: int) -> list[tuple[bool, ...]]:
    """Each operand a batch in turn, and all of them."""
    one = [tuple(i == j for j in range(n)) for i in range(n)]
    return one if n == 1 else [*one, (True,) * n]


def examples(same: Sequence[Sample], wide: Sequence[bool]) -> list[tuple[Any, ...]]:
    """The operands of every example."""
    return [
        tuple(s.operands[i] if w else same[0].operands[i] for i, w in enumerate(wide)) for s in same
    ]


def of_each(op: OpRecord, same: Sequence[Sample], wide: Sequence[bool]) -> Any:
    """The results of the op for one example after the other, as batches."""
    attributes = same[0].attributes
    results = [op.kernel(attributes)(*xs, **attributes) for xs in examples(same, wide)]
    if isinstance(results[0], tuple | list):
        return tuple(np.stack(parts) for parts in zip(*results, strict=True))
    return np.stack(results)


def as_batch(op: OpRecord, same: Sequence[Sample], wide: Sequence[bool]) -> Any:
    """The results of the op on lanes."""
    whole = zip(*examples(same, wide), strict=True)
    lanes = [
        Lane(np.stack(xs) if w else xs[0], w, BATCH) for xs, w in zip(whole, wide, strict=True)
    ]
    results = op(*lanes, **same[0].attributes)
    if isinstance(results, tuple):
        return tuple(map(of_every_example, results))
    return of_every_example(results)


def of_every_example(lane: Lane) -> Any:
    """A result as a batch: repeated, where it is the same in all examples."""
    return lane.value if lane.wide else np.stack([lane.value] * BATCH)


def agrees(op: OpRecord, actual: Any, expected: Any, what: str) -> None:
    """Equal bits of elementwise ops; of complex products NumPy's loops round in two ways."""
    complex_ = any(np.iscomplexobj(x) for x in leaves(expected))
    if is_elementwise(op) and not complex_:
        assert_same_bits(actual, expected, what)
    else:
        assert_close(actual, expected, 1e-12, 1e-12, what)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["float64", "int64", "complex128", "bool"])
@every_op
def test_an_op_on_batches_is_the_op_on_every_example(op, dtype):
    for same in several(op, dtype):
        for wide in choices(len(same[0].operands)):
            try:
                expected = of_each(op, same, wide)
            except (TypeError, ValueError, ArithmeticError, np.linalg.LinAlgError):
                continue  # NumPy does not have it, or has results of different lengths
            what = f"{op.name}{same[0]} over {wide}"
            try:
                actual = as_batch(op, same, wide)
            except NotBatchedError:
                assert op.name in NOT_BATCHED, what
                continue
            agrees(op, actual, expected, what)


NOT_BATCHED = {
    "nonzero",
    "argwhere",
    "gather",
    "index_set",
    "index_add",
    "index_subtract",
    "scatter",
}
"""Ops that a mask which differs between examples gives results of different lengths."""


# -- graphs -------------------------------------------------------------------------------------


def graph_of(op: OpRecord, sample: Sample) -> Graph:
    """The graph of one call, of arrays with free lengths."""
    sizes, inputs = Sizes(), []
    for k, x in enumerate(sample.operands):
        type_ = ArrayType(np.asarray(x).dtype.name, tuple(map(sizes.new, np.shape(x))))
        inputs.append(Value(type_, Origin(f"x{k}")))
    builder = Builder(sizes)
    outputs = builder.call(op, tuple(inputs), **sample.attributes)
    names = tuple(f"x{k}" for k in range(len(inputs)))
    return Graph("f", tuple(inputs), tuple(builder.nodes), outputs, Frame(names, names), sizes)


def in_jax(op: OpRecord, sample: Sample) -> bool:
    """Whether programs for JAX have such a call."""
    masks = any(np.asarray(x).dtype == bool for x in sample.operands)
    indexing = "index" in sample.attributes and masks  # places, which have lengths, stand for masks
    return not indexing and op.name not in ("substituted", "inverted_blocks", "bitwise_count")


def run_batched(graph: Graph, wide: Sequence[bool], args: Sequence[Any], target: str) -> Any:
    length = graph.sizes.new(BATCH)
    program = compile_graph(batched(graph, wide, length), target)
    return program.run(*args)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("target", ["numpy", "jax"])
@every_op
def test_a_graph_of_one_op_on_batches(op, target):
    """Symbolic lengths, generated source, and what is differentiated after it was batched."""
    tried = list(several(op, "int64" if op.domain == "integer" else "float64"))
    for same in tried[:: max(len(tried) // 3, 1)] if target == "numpy" else tried[:1]:
        if target == "jax" and not in_jax(op, same[0]):
            continue
        for wide in choices(len(same[0].operands))[:: 1 if target == "numpy" else -2]:
            try:
                expected = of_each(op, same, wide)
            except (TypeError, ValueError, ArithmeticError, np.linalg.LinAlgError):
                continue
            whole = zip(*examples(same, wide), strict=True)
            args = [np.stack(xs) if w else xs[0] for xs, w in zip(whole, wide, strict=True)]
            graph = graph_of(op, same[0])
            try:
                found = run_batched(graph, wide, args, target)
            except NotBatchedError:
                assert op.name in NOT_BATCHED
                continue
            rtol = 1e-12 if target == "numpy" else 1e-6
            expected = expected if isinstance(expected, tuple) else (expected,)
            found = found[0] if isinstance(found[0], tuple) else found
            found = found[: len(expected)]  # in JAX looks of sound programs are behind
            assert_close(found, expected, rtol, rtol, f"{op.name}{same[0]} over {wide}")
