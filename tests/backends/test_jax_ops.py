"""The op table in programs for JAX: every sample has NumPy's numbers, but for those listed.

``--long`` runs all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from checks import assert_close, leaves
from samples.sampling import DTYPES, NOT_IN_JAX, PHASE_FREE, TOGETHER, Sample, samples
from test_ops import as_function, every_op, flows, loss_of, on_numpy, separated
from test_ops import takes as numpy_takes

import tracegrad as tg
from tracegrad.ops.record import TABLE, OpRecord

pytest.importorskip("jax")

CLOSE = {"float16": 2e-3, "float32": 1e-5, "complex64": 1e-5}
AT_ONCE = 48  # samples in one program


@pytest.fixture(autouse=True)
def quiet_arithmetic():
    with np.errstate(all="ignore"):
        yield


def tried(op: OpRecord) -> list[tuple[str, Sample]]:
    """All samples that NumPy takes, with their dtypes."""
    return [(dtype, s) for dtype in DTYPES for s in samples(op, dtype) if numpy_takes(op, s)]


def listed(op: OpRecord, dtype: str) -> bool:
    return (op.name, dtype) in NOT_IN_JAX


def computed(op: OpRecord, given: Sequence[Sample]) -> list[Any]:
    """What one program for JAX gives for each sample."""
    functions = [as_function(op, sample) for sample in given]

    def f(xs, rests):
        return [each(x, rest) for each, x, rest in zip(functions, xs, rests, strict=True)]

    xs, rests = zip(*map(separated, given), strict=True)
    return list(tg.compile(f, backend="jax")(xs, rests))


def of_one_sign(results: Any) -> Any:
    """Eigenvalues with the vectors of which the first elements are positive: the sign is free."""
    values, vectors = map(np.asarray, results)
    return values, vectors / (vectors[..., :1, :] / abs(vectors[..., :1, :]))


def assert_numpys(results: Any, expected: Any, what: str) -> None:
    for found, wanted in zip(leaves(results), leaves(expected), strict=True):
        found, wanted = np.asarray(found), np.asarray(wanted)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), what
        within = CLOSE.get(wanted.dtype.name, 1e-10)
        assert_close(found, wanted, within, atol=within / 10, what=what)


@pytest.mark.sampled(9)
@every_op
def test_samples_have_numpys_numbers(op):
    given = [sample for dtype, sample in tried(op) if not listed(op, dtype)]
    for start in range(0, len(given), AT_ONCE):
        part = given[start : start + AT_ONCE]
        for sample, results in zip(part, computed(op, part), strict=True):
            expected = on_numpy(op, sample)
            if op.name == "eig" and expected[1].size:
                results, expected = of_one_sign(results), of_one_sign(expected)
            assert_numpys(results, expected, str(sample))


@pytest.mark.parametrize("name, dtype", NOT_IN_JAX)
def test_what_is_listed_is_not_in_jax(name, dtype):
    """None of its samples: who mends one takes the entry away."""
    op = TABLE[name]
    of_dtype = [sample for of, sample in tried(op) if of == dtype]
    assert of_dtype, "an entry without samples"
    for sample in of_dtype:
        with pytest.raises((TypeError, AssertionError)):
            assert_numpys(computed(op, [sample])[0], on_numpy(op, sample), str(sample))


def test_it_is_one_sample_of_a_hundred_at_most():
    every = [(op, dtype) for op in TABLE.values() for dtype, _ in tried(op)]
    assert sum(listed(op, dtype) for op, dtype in every) <= len(every) / 100


FREE = {"eig", *PHASE_FREE}  # a gradient depends on the phases that were chosen


@pytest.mark.sampled(12, 4)
@pytest.mark.parametrize(
    "op",
    [op for op in TABLE.values() if op.vjp and op.name not in {*TOGETHER, *FREE}],
    ids=lambda op: op.name,
)
def test_gradients_have_numpys_numbers(op, few):
    """One program for the samples of a dtype, by a sum over them."""
    for dtype in ("float32", "float64", "complex128"):
        given = [s for of, s in tried(op) if of == dtype and flows(op, s) and not listed(op, of)]
        given = few(given, 8)
        if not given:
            continue
        losses = [loss_of(op, sample) for sample in given]

        def total(xs, rests, losses=losses):
            return sum(each(x, r) for each, x, r in zip(losses, xs, rests, strict=True))

        xs, rests = zip(*map(separated, given), strict=True)
        pairs = [tg.grad(total, backend=backend)(xs, rests) for backend in ("jax", "numpy")]
        for sample, found, expected in zip(given, *pairs, strict=True):
            assert_numpys(found, expected, f"gradient {sample}")


# -- masks ----------------------------------------------------------------------------------------

X = np.array([1.0, np.nan, np.inf])
MASK = np.array([True, False, True])


def filled(m, x):
    z = np.zeros(3)
    z[:] = m
    return z * x


PRODUCTS = {
    "logarithm": lambda m, x: (x > 1) * np.log(x),
    "narrow": lambda m, x: m * x.astype(np.float32),
    "cast": lambda m, x: m.astype(np.float64) * x,
    "cast to a narrow one": lambda m, x: m.astype(np.float32) * x,
    "array": lambda m, x: np.array(m, dtype=float) * x,
    "sum": lambda m, x: (m + 0.0) * x - (m - 0.0) * x,
    "quotient": lambda m, x: m / x[1] + m / m[1],
    "product": lambda m, x: m @ x,
    "einsum": lambda m, x: np.einsum("i,i->", m, x),
    "average": lambda m, x: np.average(x, weights=m),
    "complex": lambda m, x: m * (x + 1j),
    "logic": lambda m, x: np.logical_and(m, x > 0) * x + np.isnan(x) * x,
    "rows": lambda m, x: (np.stack([m, ~m]) * x).sum(axis=1),
    "outer": lambda m, x: np.outer(m, x),
    "contracted": lambda m, x: np.tensordot(m, x, 1) + np.cross(m, x),
    "written": filled,
    "whole numbers": lambda m, x: m.astype(np.int32) * x,
    "a number": lambda m, x: m.any() * x + m[1] * x,
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_mask_times_nan_is_nan(name):
    """XLA takes the product of a mask for a choice, which has 0 there."""
    f = PRODUCTS[name]
    assert_numpys(tg.compile(f, backend="jax")(MASK, X), f(MASK, X), name)
    if name not in ("written", "array"):  # these make arrays of NumPy's
        m, x = tg.tensor(MASK).to("jax"), tg.tensor(X).to("jax")
        assert_numpys(f(m, x).cpu().numpy(), f(MASK, X), f"{name}, op by op")


def test_gradients_of_masked_products():
    def loss(x, m):
        return np.sum(m * np.log(x) * (x > 1))

    x = np.array([0.0, 2.0, np.inf])
    assert_numpys(tg.grad(loss, backend="jax")(x, MASK), tg.grad(loss)(x, MASK), "gradient")


@pytest.mark.parametrize(
    "f, a, b, expected",
    [
        (lambda a, b: np.exp(a) * np.exp(b), 720.0, -720.0, 1.0),
        (lambda a, b: np.log(np.exp(a)) + b, 800.0, 1.0, 801.0),
        (lambda a, b: a / b / b, 1e-300, 1e-200, np.inf),
    ],
)
def test_what_xla_computes_by_other_formulas(f, a, b, expected):
    """As docs/jax.md says; who finds NumPy's numbers here takes the sentence away."""
    a, b = np.full(4, a), np.full(4, b)
    assert_close(tg.compile(f, backend="jax")(a, b), np.full(4, expected), 1e-9)
    assert not np.allclose(f(a, b), expected)
