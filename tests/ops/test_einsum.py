"""Einsums of random subscripts: values, gradients and compiled bits against NumPy's einsum.

Up to eight operands, labels repeated within one, ellipses over broadcast axes, results explicit and
implicit, axes left out, given as labels or as lists.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from checks import assert_close, assert_same_bits, direction_like, slope

import tracegrad as tg

LABELS = "abcde"


def drawn(seed: int) -> tuple[str, list[np.ndarray]]:
    """Subscripts that NumPy takes, and operands for them."""
    choose, numbers = random.Random(seed), np.random.default_rng(seed)
    while True:
        lengths = {label: choose.randint(1, 3) for label in LABELS}
        dots = [choose.randint(2, 3) for _ in range(2)]
        terms, shapes = [], []
        for _ in range(choose.randint(1, 8)):
            labels = [choose.choice(LABELS) for _ in range(choose.randint(0, 3))]
            shape = [lengths[label] for label in labels]
            if choose.random() < 0.3:
                at, count = choose.randint(0, len(labels)), choose.randint(0, 2)
                shape[at:at] = [n if choose.random() < 0.8 else 1 for n in dots[2 - count :]]
                labels.insert(at, "...")
            terms.append("".join(labels))
            shapes.append(shape)
        subscripts = ",".join(terms)
        if choose.random() < 0.6:
            used = sorted(set(subscripts) - set(".,"))
            result = choose.sample(used, choose.randint(0, len(used)))
            if "..." in subscripts:
                result.insert(choose.randint(0, len(result)), "...")
            subscripts += "->" + "".join(result)
        operands = [numbers.normal(size=shape) for shape in shapes]
        try:
            np.einsum(subscripts, *operands)
        except ValueError:
            continue  # a label repeated in the result, say: NumPy refuses it
        return subscripts, operands


@pytest.mark.parametrize("seed", range(50))
def test_einsum(seed):
    subscripts, operands = drawn(seed)
    expected = np.einsum(subscripts, *operands)
    found = tg.einsum(subscripts, *map(tg.tensor, operands))
    assert_close(found, expected, 1e-12, 1e-13, subscripts)
    compiled = tg.compile(lambda xs: np.einsum(subscripts, *xs))
    assert_same_bits(np.asarray(compiled(operands)), np.asarray(found.numpy()), subscripts)
    weights, *directions = direction_like([np.asarray(expected), *operands], seed)

    def loss(xs):
        return np.sum(weights * np.einsum(subscripts, *xs))

    gradient = tg.grad(loss)(operands)
    change = sum(float(np.sum(g * d)) for g, d in zip(gradient, directions, strict=True))
    along = slope(
        lambda h: float(loss([x + h * d for x, d in zip(operands, directions, strict=True)]))
    )
    assert change == pytest.approx(along, rel=1e-6, abs=1e-7), subscripts


def test_lists_of_labels():
    x, y = (np.random.default_rng(i).normal(size=(2, 3)) for i in range(2))
    expected = np.einsum(x, [0, 1], y, [0, 1], [1])
    assert_close(tg.einsum(tg.tensor(x), [0, 1], tg.tensor(y), [0, 1], [1]), expected, 1e-14)
    assert_close(tg.einsum(tg.tensor(x), [..., 1]), np.einsum(x, [..., 1]), 1e-14)


def test_many_operands_are_contracted_where_they_share_labels():
    """Twelve matrices in a chain: never a product of two that share nothing."""
    chain = ",".join(f"{chr(97 + i)}{chr(98 + i)}" for i in range(12)) + "->am"
    operands = [np.random.default_rng(i).normal(size=(9, 9)) / 3 for i in range(12)]
    assert_close(tg.einsum(chain, *map(tg.tensor, operands)), np.linalg.multi_dot(operands), 1e-12)


@pytest.mark.parametrize(
    ("subscripts", "shapes", "message"),
    [
        ("ij,jk->ik", [(2, 3), (4, 2)], "label j"),
        ("ij->ijj", [(2, 3)], "not one axis"),
        ("ijk", [(2, 3)], "2 axes"),
        ("ij,j", [(2, 3)], "2 terms"),
        ("ij->ik", [(2, 3)], "not one axis"),
    ],
)
def test_errors_name_the_label(subscripts, shapes, message):
    with pytest.raises(tg.errors.ShapeError, match=message):
        tg.einsum(subscripts, *[tg.zeros(shape) for shape in shapes])
