"""Loops over batches, ``for i in range(0, n, 16): X[i : i + 16]``: a program for all lengths.

The last slice may be shorter. A range that goes in steps may end at a length.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_close, assert_same_bits, run_eagerly, split, wide_jax

import tracegrad as tg


def descent(w, x, y):
    for _ in range(2):
        for i in range(0, len(x), 16):
            rows, targets = x[i : i + 16], y[i : i + 16]
            w = w - 0.1 * rows.T @ (rows @ w - targets) / len(rows)
    return ((x @ w - y) ** 2).mean()


def mean_of_each(w, x, y):
    total = 0.0
    for i in range(0, x.shape[0], 16):
        total = total + ((x[i : i + 16] @ w - y[i : i + 16]) ** 2).mean()
    return total


def permuted(w, x, y):
    order, total = np.argsort(y), 0.0
    for i in range(0, len(x), 16):
        rows = order[i : i + 16]
        total = total + ((x[rows] @ w - y[rows]) ** 2).mean()
    return total


def whole_ones(w, x, y):
    total = 0.0
    for b in range(len(x) // 16):
        total = total + (x[b * 16 : (b + 1) * 16] @ w * y[b * 16 : (b + 1) * 16]).sum()
    return total


def filled(w, x, y):
    out = np.zeros_like(y)
    for i in range(0, len(x), 16):
        out[i : i + 16] = x[i : i + 16] @ w
    return ((out - y) ** 2).mean()


def by_sign(w, x, y):
    total = 0.0
    for i in range(0, len(x), 16):
        rows = x[i : i + 16]
        if rows.sum() > 0.0:
            total = total + (rows @ w).sum()
        else:
            total = total - rows.mean()
    return total


def from_another_place(w, x, y):
    total = 0.0
    for i in range(3, len(x), 5):
        total = total + x[i : i + 5].sum() * y[i] + y[i - 3 : i + 2].sum()
    return total


def overlapping(w, x, y):
    total = w[0]
    for i in range(0, len(y), 4):
        rows = y[i : i + 10]
        total = 0.5 * total + (rows * -0.0).sum() + (rows**2).sum() * w[1]
    return total


def tiles(w, x, y):
    total = 0.0
    for i in range(0, x.shape[0], 8):
        for j in range(0, x.shape[1], 2):
            total = total + (x[i : i + 8, j : j + 2] ** 2).sum() * w[j]
    return total


def running_mean(w, x, y):
    mean, total = np.zeros(3), 0.0
    for i in range(0, len(x), 16):
        mean = 0.9 * mean + 0.1 * x[i : i + 16].mean(axis=0)
        total = total + (mean * w).sum()
    return total


def pairs(w, x, y):
    total = 0.0
    for i in range(0, len(y) - 1, 2):
        total = total + y[i] * y[i + 1]
    return total * w[0]


ONE_PROGRAM = [
    *(descent, mean_of_each, permuted, whole_ones, filled, by_sign, from_another_place),
    *(overlapping, tiles, running_mean, pairs),
]


def one_by_one(w, x, y):
    i, total = 0, 0.0
    while i < len(x):
        total = total + ((x[i : i + 16] @ w - y[i : i + 16]) ** 2).mean()
        i += 16
    return total


def collected(w, x, y):
    found = []
    for i in range(0, len(x), 16):
        found.append(x[i : i + 16] @ w)
    return ((np.concatenate(found) - y) ** 2).mean()


def until_a_short_one(w, x, y):
    total = 0.0
    for i in range(0, len(x), 16):
        rows = x[i : i + 16]
        if len(rows) < 16:
            break
        total = total + (rows @ w).sum()
    return total


def counted(w, x, y):
    count, total = 0, 0.0
    for i in range(0, len(x), 16):
        count += len(x[i : i + 16])
        total = total + x[i : i + 16].sum() * w[0]
    return total / count


def numbered(w, x, y):
    total = 0.0
    for k, i in enumerate(range(0, len(x), 16)):
        total = total + (x[i : i + 16] @ w).sum() / (k + 1)
    return total


OTHERS = [one_by_one, collected, until_a_short_one, counted, numbered]


def arrays(n):
    rng = np.random.default_rng(n)
    return np.array([1.0, 0.5, -0.25]), rng.normal(size=(n, 3)), rng.normal(size=n)


@pytest.mark.parametrize("f", [*ONE_PROGRAM, *OTHERS], ids=lambda f: f.__name__)
def test_batches_have_the_bits_of_eager_calls(f):
    made, value = tg.value_and_grad(f, (0, 1, 2)), tg.compile(f)
    for n in (160, 165, 192, 129, 200, 331, 20, 1):
        given = arrays(n)
        assert_same_bits(split(made(*given)), run_eagerly(f, given, (0, 1, 2)))
        assert_same_bits(value(*given), f(*given))
        if n == 331 and f in ONE_PROGRAM:
            assert made.cache_info().versions == value.cache_info().versions == 1


def from_the_second(w, x, y):
    total = 0.0
    for i in range(1, len(x) - 1, 16):
        total = total + (x[i : i + 16] @ w * i).sum() / len(x)
    return total


def named_in_turn(w, x, y):
    names = [f"batch {i}" for i in range(0, len(x), 16)]
    return (x @ w).sum() * len(names[-1]) + y.sum()


FEW_BATCHES = [mean_of_each, permuted, filled, from_the_second, named_in_turn]


@pytest.mark.parametrize("f", FEW_BATCHES, ids=lambda f: f.__name__)
def test_a_few_batches_are_a_version_for_each_number_of_them(f):
    made = tg.value_and_grad(f, (0, 1, 2))
    for n in (33, 48, 40, 17, 32, 30, 47, 3, 15, 34):  # three batches, two or one
        given = arrays(n)
        assert_same_bits(split(made(*given)), run_eagerly(f, given, (0, 1, 2)))
    assert made.cache_info().versions <= 4


@pytest.mark.parametrize("f", [*ONE_PROGRAM, *OTHERS], ids=lambda f: f.__name__)
def test_batches_in_source_for_jax(f):
    made = tg.value_and_grad(f, (0, 1, 2), backend="jax")
    for n in (48, 53, 160, 170):
        given = arrays(n)
        found, expected = split(made(*given)), run_eagerly(f, given, (0, 1, 2))
        for one, other in zip(found, expected, strict=True):
            assert_close(one, other, 1e-10)
    if f in ONE_PROGRAM:
        assert "loops that are unrolled" not in str(made.explain())


def sliding(w, x, y):
    peaks = []
    for i in range(0, len(x), 4):
        values = x[i : i + 10] @ w
        peaks.append(values.max() - values.mean() * y[0])
    return sum(peaks) / len(peaks)


INSIDE = [mean_of_each, overlapping, by_sign, sliding]


@pytest.mark.parametrize("f", INSIDE, ids=lambda f: f.__name__)
def test_last_batches_inside_transforms_of_jax(f):
    jax = pytest.importorskip("jax")
    value, gradient = tg.compile(f), tg.grad(f)
    with wide_jax():
        for n in (165, 150, 160):  # of which the second has the last batch of the first
            w, x, y = arrays(n)
            assert_close(np.asarray(jax.jit(value)(w, x, y)), f(w, x, y), 1e-10)
            several = jax.vmap(gradient, (0, None, None))(np.stack([w, -w]), x, y)
            assert_close(np.asarray(several[1]), gradient(-w, x, y), 1e-10)


def test_in_source_for_jax_the_last_batches_stand_behind_the_loop():
    for f, behind in ((mean_of_each, ["160:176"]), (overlapping, ["160:170", "164:174"])):
        source = str(tg.grad(f, backend="jax").source(*arrays(165)))
        assert source.count("fori_loop") == 2
        assert all(f"[{rows}]" in source for rows in behind)


def test_the_source_is_as_it_was_written():
    source = str(tg.grad(mean_of_each).source(*arrays(165)))
    assert "for i in range(0, x.shape[0], 16):" in source
    assert "x[i : i + 16] @ w" in source
    assert "count = (x.shape[0] + 15) // 16" in source


@pytest.mark.parametrize("transform", [tg.hessian, tg.jacfwd])
def test_other_derivatives(transform):
    made = transform(tg.grad(mean_of_each) if transform is tg.jacfwd else mean_of_each)
    for n in (160, 165):
        w, x, y = arrays(n)
        step = 1e-5
        expected = [
            (tg.grad(mean_of_each)(w + step * e, x, y) - tg.grad(mean_of_each)(w - step * e, x, y))
            / (2 * step)
            for e in np.eye(3)
        ]
        assert_close(made(w, x, y), np.array(expected), 1e-5)


def test_batches_under_a_budget():
    whole = tg.value_and_grad(descent)
    made = tg.value_and_grad(tg.checkpoint(descent, max_bytes=2_000))
    for n in (160, 165):
        given = arrays(n)
        assert_same_bits(split(made(*given)), split(whole(*given)))


def test_batches_are_exported(tmp_path):
    path = tmp_path / "exported.py"
    tg.value_and_grad(mean_of_each).export(path, *arrays(160))
    exported = tg.load(path, mean_of_each)
    for n in (160, 165, 331):
        assert_same_bits(split(exported(*arrays(n))), run_eagerly(mean_of_each, arrays(n)))


def left_by_a_look(w, x, y):
    s = 0.0
    for i in range(0, len(x), 8):
        s = s + ((x[i : i + 8] @ w) ** 2).mean()
        if y[i : i + 8].max() > 50:
            break
    return s


def left_at_the_end(w, x, y):
    s = 0.0
    for i in range(0, len(x), 8):
        s = s + (x[i : i + 8] @ w).sum()
        if i + 8 >= len(x):
            break
    return s


def returned_from(w, x, y):
    for i in range(0, len(x), 8):
        xb = x[i : i + 8]
        w = w - 0.1 * xb.T @ (xb @ w) / xb.shape[0]
        if y[i : i + 8].max() > 50:
            return (w * len(xb)).sum()
    return w.sum()


def growing(w, x, y):
    s = 0.0
    for i in range(1, len(y)):
        s = s + (y[:i] ** 2).mean()
        if y[i] > 40.0:
            break
    return s


def shrinking(w, x, y):
    s = 0.0
    for i in range(len(y) - 1):
        s = s + (y[i:] ** 2).mean() + y[i:].std()
        if y[i] > 40.0:
            break
    return s


def windows(w, x, y):
    s = 0.0
    for i in range(len(y)):
        s = s + (y[i : i + 5] ** 2).mean()
        if y[i] > 40.0:
            break
    return s


def written_and_left(w, x, y):
    z = y * 1.0
    for i in range(1, len(y)):
        z[:i] = z[:i] - 0.1 * z[:i].mean()
        if y[i] > 40:
            break
    return (z**2).sum()


def appended(w, x, y):
    L = []
    for i in range(0, len(x), 8):
        L.append((x[i : i + 8] @ w).mean())
        if y[i : i + 8].max() > 50:
            break
    return sum(L)


def in_epochs(w, x, y):
    s = 0.0
    for _ in range(3):
        for i in range(0, len(x), 8):
            xb = x[i : i + 8]
            s = s * 0.5 + (xb @ w).var()
            w = w - 0.01 * xb.mean(axis=0)
            if y[i : i + 8].max() > 50:
                break
    return s


def or_else(w, x, y):
    s = 0.0
    for i in range(0, len(x), 8):
        s = s + (x[i : i + 8] @ w).mean()
        if y[i : i + 8].max() > 50:
            break
    else:
        s = s * 2.0
    for i in range(0, len(x), 8):
        s = s + (x[i : i + 8] * w).std()
    return s


LEFT_EARLY = [
    *(left_by_a_look, left_at_the_end, returned_from, growing, shrinking, windows),
    *(written_and_left, appended, in_epochs, or_else),
]


@pytest.mark.parametrize("f", LEFT_EARLY, ids=lambda f: f.__name__)
def test_turns_have_widths_of_their_own_where_a_loop_is_left_early(f):
    """The backward of the turn that leaves stands before that of the others."""
    made = tg.value_and_grad(f, (0, 1, 2))
    kept = tg.value_and_grad(tg.checkpoint(f, max_bytes=4_000), (0, 1, 2))
    for n in (70, 64, 65, 9, 71):
        for at in (None, n - 1, n // 2, n - 3):
            w, x, y = arrays(n)
            if at is not None:
                y[at] = 60.0
            expected = run_eagerly(f, (w, x, y), (0, 1, 2))
            assert_equal(split(made(w, x, y)), expected)
            if f in (left_by_a_look, growing):
                assert_equal(split(kept(w, x, y)), expected)


def assert_equal(found, expected):
    """All but the signs of zeros."""
    for one, other in zip(found, expected, strict=True):
        for a, b in zip(one, other, strict=True):
            assert np.array_equal(a, b)


def written_columns(w, x, y):
    out = tg.zeros((len(x), 2))
    for i in range(0, len(x), 8):
        out[i : i + 8, 0] = x[i : i + 8] @ w
    return (out[:, 0] * y).sum()


def written_tiles(w, x, y):
    out = tg.zeros((len(x), len(x)))
    for i in range(0, len(x), 8):
        out[i : i + 8, i : i + 8] = x[i : i + 8] @ x[i : i + 8].T * w[0]
    return (out**2).sum()


def written_by_number(w, x, y):
    out = tg.zeros((3, 12))
    for t in range(12):
        out[:, t] = x[:3] @ w * t
    return (out**2).sum()


@pytest.mark.parametrize("f", [written_columns, written_tiles, written_by_number])
def test_what_is_taken_out_lies_in_one_part(f):
    """Products of matrices have other last bits where a column lies in parts."""
    made = tg.value_and_grad(f, (0, 1))
    for n in (64, 70, 72, 100, 200):
        assert_equal(split(made(*arrays(n))), run_eagerly(f, arrays(n), (0, 1)))
