"""Lengths that Python compares: a program is for all that compare so."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_close, assert_same_bits, run_eagerly, split

import tracegrad as tg


def at_least(x, y):
    return x.sum() * (2.0 if len(x) > 3 else 3.0)


def empty(x, y):
    if x.shape[0] == 0:
        return y.sum()
    return (x * x).mean()


def true(x, y):
    return x.sum() * 2.0 if len(x) else y.sum()


def not_true(x, y):
    if not x.size:
        return y.sum()
    return x.sum()


def other_lengths(x, y):
    if len(x) != len(y):
        return x.sum() - y.sum()
    return (x * y).sum()


def longer(x, y):
    return x.sum() * 2.0 if len(x) > len(y) else y.sum() * 3.0


def of_sums(x, y):
    if len(x) - 1 > 2 and 2 * len(x) <= 16:
        return (x / len(x)).sum()
    return x.sum() + y.sum()


def at_most(x, y):
    return x.sum() / max(len(x), 4)


def in_a_chain(x, y):
    return x.sum() * 2.0 if 2 <= len(x) < 6 else y.sum()


def asserted(x, y):
    assert x.ndim == 1 and x.shape[0] >= 0
    return x.sum() * y.sum()


def sorted_by_length(x, y):
    a, b = (x, y) if len(x) <= len(y) else (y, x)
    return a.sum() * 2.0 - b.sum()


def below_zero(x, y):
    return x.sum() if len(x) - 5 < -2 else x.sum() * 3.0


PROGRAMS = {
    at_least: 2,
    empty: 2,
    true: 2,
    not_true: 2,
    other_lengths: 3,
    longer: 2,
    of_sums: 3,
    at_most: 2,
    in_a_chain: 3,
    asserted: 1,
    sorted_by_length: 2,
    below_zero: 2,
}
LENGTHS = (6, 5, 3, 2, 1, 8, 9, 10, 0, 4, 7)


@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_is_for_all_lengths_that_compare_so(f, transform):
    made = transform(f)
    calls = [(n, m) for n in LENGTHS for m in (3, n, 7, 0)]
    for turn in range(2):
        for n, m in calls[:: 1 if turn else -1]:
            x, y = np.linspace(-0.5, 1.5, n), np.linspace(0.25, 2.5, m)
            with np.errstate(all="ignore"):
                found, expected = made(x, y), f(x, y)
                value = found if transform is tg.compile else found[0]
                assert_close(value, expected, 1e-12)
                if transform is tg.value_and_grad:
                    assert_same_bits(split(found), run_eagerly(f, (x, y)))
    assert made.cache_info().versions <= PROGRAMS[f]
    assert made.cache_info().traces == made.cache_info().versions


def test_what_lengths_were_is_told():
    f = tg.compile(longer)
    f(np.ones(3), np.ones(2))
    f(np.ones(2), np.ones(2))
    told = f.explain()
    assert "x.shape[0] >= y.shape[0] + 1" in told and "y.shape[0] >= x.shape[0]" in told
    assert "x.shape[0] was y.shape[0] + 1 or more, is 2 and 3" in told
    f = tg.compile(at_least)
    f(np.ones(4), np.ones(1))
    f(np.ones(3), np.ones(1))
    assert "x.shape[0] was at least 4, is 3" in f.explain()


@pytest.mark.parametrize(
    "f, given, refused, message",
    [
        (longer, (4, 2), (2, 2), r"x\.shape\[0\] is 2: .* it is 3 or more"),
        (longer, (2, 2), (3, 2), r"y\.shape\[0\] is 2: .* it is 3 or more"),
        (at_least, (4, 1), (3, 1), r"x\.shape\[0\] is 3: .* it is 4 or more"),
        (at_least, (3, 1), (4, 1), r"x\.shape\[0\] is 4: .* it is 3 or less"),
    ],
)
def test_exported_files_are_for_these_lengths(f, given, refused, message, tmp_path):
    given, refused = ([np.linspace(0.0, 1.0, n) for n in lengths] for lengths in (given, refused))
    path = tmp_path / "exported.py"
    tg.compile(f).export(path, *given)
    exported = tg.load(path, f)
    assert_close(exported(*given), f(*given), 0)
    with pytest.raises(ValueError, match=message):
        exported(*refused)


def test_lengths_that_data_tell_are_looked_at():
    def f(x):
        y = x[x > 0]
        return y.sum() * 2.0 if len(y) > 2 else x.sum()

    made = tg.value_and_grad(f)
    rng = np.random.default_rng(0)
    for _ in range(30):
        x = rng.normal(size=rng.integers(1, 8))
        assert_close(made(x)[0], f(x), 1e-12)


def test_turns_compare_lengths_with_their_number():
    def f(x, y):
        total = 0.0
        for t in range(len(x)):
            if t < len(y):
                total = total + x[t] * y[t]
            elif t < len(x) - 1:
                total = total - x[t]
        return total

    made = tg.value_and_grad(f)
    for n, m in ((12, 9), (12, 12), (9, 12), (20, 9), (3, 2), (2, 3), (30, 8)):
        x, y = np.linspace(0.5, 1.5, n), np.linspace(0.25, 2.5, m)
        assert_close(made(x, y)[0], f(x, y), 1e-12)


class Layer:
    shape: tuple[int, ...] = (3,)
    sizes: object = (3, 7)


LAYER = Layer()


def has_the_shape_of_the_layer(x):
    return x.sum() * (2.0 if x.shape == LAYER.shape else 3.0)


def has_another_shape(x):
    return x.sum() * (2.0 if x.shape != LAYER.shape else 3.0)


def begins_with_that_shape(x):
    return x.sum() * (2.0 if x.shape[:1] == LAYER.shape else 3.0)


def is_a_size_of_the_layer(x):
    return x.sum() * (2.0 if len(x) in LAYER.sizes else 3.0)


OF_LAYERS = [
    *(has_the_shape_of_the_layer, has_another_shape),
    *(begins_with_that_shape, is_a_size_of_the_layer),
]


@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad])
@pytest.mark.parametrize("f", OF_LAYERS, ids=lambda f: f.__name__)
def test_shapes_from_outside_may_be_others(f, transform, monkeypatch):
    made = transform(f)
    for turn, shape in enumerate([(3,), (4,), (4,), (4, 5), (4,), (3,), (), (5, 4), (5,)]):
        monkeypatch.setattr(LAYER, "shape", shape)
        monkeypatch.setattr(LAYER, "sizes", [shape, [*shape], {*shape}][turn % 3])
        for n in (3, 4, 5, 4):
            found = made(np.ones(n))
            assert_close(found if transform is tg.compile else found[0], f(np.ones(n)), 0)


@pytest.mark.parametrize(
    "f, versions",
    [
        (lambda x: x.sum() * (2.0 if x.shape == (5,) else 3.0), 3),
        (lambda x: x.sum() * (2.0 if x.shape != (2, 3) else 3.0), 1),
        (lambda x: x.sum() * (2.0 if len(x) in (3, 7) else 3.0), 5),
        (lambda x: x.sum() * (2.0 if len(x) not in {3, 4} else 3.0), 4),
    ],
)
def test_numbers_that_a_length_is_not_part_ranges(f, versions):
    made = tg.value_and_grad(f)
    for n in (4, 1, 9, 5, 3, 2, 6, 7, 8, 10, 5, 3, 7, 1):
        assert_close(made(np.ones(n))[0], f(np.ones(n)), 0)
    assert made.cache_info().versions <= versions
