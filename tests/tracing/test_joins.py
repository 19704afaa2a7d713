"""Functions with ifs enter; the arms meet behind them, in one program with the bits of eager."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from checks import assert_same_bits, run_eagerly, split
from if_programs import inputs, program

import tracegrad as tg
from tests.benchmarks.varied import twelve_ifs


def versions_of(f):
    return [version for versions in f._versions.values() for version in versions]


def same_as_eager(function, calls, **options):
    """The compiled gradient, after calls that give what eager gives."""
    f = tg.value_and_grad(function, **options)
    argnums = options.get("argnums", 0)
    for args in calls:
        assert_same_bits(split(f(*args)), run_eagerly(function, args, argnums=argnums))
    return f


def of_twelve(x):
    return twelve_ifs(np, x)


def test_twelve_ifs_are_known_after_a_few_traces():
    random = np.random.default_rng(0)
    f = same_as_eager(of_twelve, [(random.normal(size=12),) for _ in range(40)])
    (version,) = versions_of(f)
    assert version.tree.joined and f.cache_info().traces <= 8
    lines = [line.strip() for line in f.source(np.ones(12)).splitlines()]
    code = [line for line in lines if line and not line.startswith("#")]
    assert len(code) <= 4 * 32 and sum(line.startswith("return") for line in code) == 1


def used_in_one_arm(x):
    d = np.sqrt(x[0])  # whose derivative at 0 is no number
    if x[1] > 0:
        y = d * x[1]
    else:
        y = x[2] * 2.0
    return y + x[2]


def is_another_or_the_same(x):
    y = x * 1.0
    z = y
    if x[0] > 0:
        z = np.sin(y)
    return np.sum(y * z) + np.sum(z) * y[1]


def derives_inside(x):
    def inner(v):
        s = np.sum(v)
        s = s * s if v[0] > 0 else np.sin(s)
        return s + v[1] ** 3

    y = np.sum(tg.grad(inner)(x) * x)
    if x[2] > 0:
        y = y * 2.0
    return y


def writes_behind(x):
    y = x * 1.0
    if x[0] > 0:
        y = y * 2.0
    y[1] = 3.0
    if x[1] > 0:
        y = y + 1.5
    return np.sum(y)


def loops_behind(x):
    s = np.sum(x)
    if x[0] > 0:
        s = s * 2.0
    for t in range(12):
        s = s + np.sin(x[t % 3]) * s * 0.1
    return s


def reads_an_element_again(x):
    s = x[1] * 1.0
    if x[0] > 0:
        s = s * x[2]
    if x[1] > 0:
        s = s + x[2] * x[0]
    return s * x[2]


@pytest.mark.parametrize(
    "function",
    [
        *(used_in_one_arm, is_another_or_the_same, derives_inside, writes_behind),
        *(loops_behind, reads_an_element_again),
    ],
)
def test_arms_meet_only_where_they_may(function):
    signs = [np.array([a, b, c]) for a in (1.0, -1.0) for b in (2.0, -2.0) for c in (0.5, -0.5)]
    zeros = [np.array([0.0, 1.0, 2.0]), np.array([-0.0, -0.0, 1.0]), np.array([1.0, -0.0, 0.0])]
    with np.errstate(all="ignore"):
        same_as_eager(function, [(x,) for x in (*signs, *zeros, *signs)])


@pytest.mark.parametrize("seed", range(6))
def test_random_ifs_equal_eager(seed):
    function, _ = program(seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        same_as_eager(function, inputs(seed, 8), argnums=(0, 1))


def test_what_is_returned_beside_the_value_keeps_its_structure():
    def decides_nothing(x):
        if x.sum() > 0.2:
            y = x * 3.0  # noqa: F841
        return np.sum(np.sin(x)), (x * 2.0, 3)

    def decides(x):
        y = x
        if x.sum() > 0.2:
            y = x * 3.0
        return np.sum(np.sin(x) * y), {"y": y, "none": ()}

    for function in (decides_nothing, decides):
        made = tg.value_and_grad(function, argnums=(0,), has_aux=True)
        for sign in (1.0, -1.0, 1.0, -1.0):
            x = np.full(2, sign)
            (value, aux), (x_bar,) = made(x)
            wanted, wanted_aux = function(x)
            assert value == wanted and x_bar.shape == x.shape
            assert str(aux) == str(wanted_aux)
