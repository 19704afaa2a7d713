"""Arms that differ in numbers of Python meet: one program, with the bits of eager."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from checks import assert_same_bits, run_eagerly, split

import tracegrad as tg
from tests.benchmarks.varied import ifs_from_zero, price


def sums_from_zero(x):
    s = 0.0
    if x[0] > 0:
        s = s + np.sin(x[0])
    if x[1] > 0:
        s = s + np.sin(x[1]) * x[0]
    if x[2] > 0:
        s = s + np.cos(x[2])
    if x[3] > 0:
        s = s * s + x[3]
    return s


def best_of_four(x):
    m = max(0.0, x[0] * x[1], x[2] - x[3], x[1] * 2.0)  # Smith and Waterman's
    return m * x[3] + np.sin(m)


def has_a_sign(x):
    sign = 1.0 if x[0] > 0 else -1.0
    if x[1] > 0:
        times, rate = 1, 0.5
    else:
        times, rate = 3, 0.25
    if x[2] > 0:
        rate *= 0.5
    return sign * np.sum(x * x) * rate + times * x[3]


def sets_flags(x):
    far = near = False
    if x[0] > 0:
        far = True
    if x[1] > x[2]:
        near = not far
    y = x[3] * 2.0
    if far:
        y = y + x[0] * x[1]
    if near:
        y = y * x[2]
    return y


def limited(v):
    if v > 1.0:
        return 1.0
    if v < -1.0:
        return -1.0
    return v


def calls_helpers(x):
    return limited(x[0]) * x[1] + limited(x[2] * x[3]) + limited(2.0 * x[3])


def chooses_an_index(x):
    k = 0
    if x[0] > 0:
        k = 2
    if x[1] > 0:
        k = k + 1
    return x[k] * x[3] + np.sum(x[: k + 1]) + (k + 1) * x[1] ** 2


def goes_round_so_often(x):
    n = 2 if x[0] > 0 else 3
    s = x[1]
    for _ in range(n):
        s = s * 0.5 + np.sin(x[2])
    return s


def mixes_in_float32(x):
    s = 0.0
    if x[0] > 0:
        s = s + x[1]
    return np.sum(x.astype(np.float32) * s) + x[2]


def goes_into_a_loop(x):
    bias = 0.0
    if x[0] > 0:
        bias = x[1] * x[0]
    s = x[2]
    for t in range(12):
        step = 0.1
        if s > bias:
            step = -0.2
        s = s + step * x[t % 4] + bias * 0.01
    return s


def nested(x):
    a = 0.0
    if x[0] > 0:
        b = 1.0
        if x[1] > 0:
            b = x[1] * x[2]
        elif x[2] > 0:
            b = 2.0
        a = a + b
    elif x[3] > 0:
        a = -1.0
    return a * x[0] + a * a * x[3]


def of_varied(program):
    def function(x):
        return program(np, np.concatenate([x, x[1:] * x[:-1], x * 0.5 - 0.1]))

    function.__name__ = program.__name__
    return function


JOINED = [sums_from_zero, best_of_four, has_a_sign, sets_flags, calls_helpers, nested]
JOINED += [of_varied(ifs_from_zero), of_varied(price)]
OTHERS = [chooses_an_index, goes_round_so_often, mixes_in_float32, goes_into_a_loop]


def calls(count=60):
    random = np.random.default_rng(3)
    found = random.normal(size=(count, 4))
    found[random.random((count, 4)) < 0.08] = 0.0
    found[random.random((count, 4)) < 0.05] = -0.0
    return found


@pytest.mark.parametrize("function", [*JOINED, *OTHERS], ids=lambda f: f.__name__)
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_bits_are_those_of_eager(function, backend):
    f = tg.value_and_grad(function, backend=backend)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x in calls():
            assert_same_bits(split(f(x)), run_eagerly(function, (x,)))


@pytest.mark.parametrize("function", JOINED, ids=lambda f: f.__name__)
def test_arms_meet_in_one_program(function):
    f = tg.value_and_grad(function)
    for x in calls():
        f(x)
    (version,) = [version for versions in f._versions.values() for version in versions]
    assert version.tree.joined and f.cache_info().traces <= 10
    code = [line.strip() for line in f.source(calls()[0]).splitlines()]
    assert sum(line.startswith("return ") for line in code) <= 2


@pytest.mark.parametrize("function", [*JOINED, *OTHERS], ids=lambda f: f.__name__)
def test_programs_for_jax(function):
    f = tg.value_and_grad(function, backend="jax")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x in calls(24):
            value, gradient = f(x)
            (expected,), (wanted,) = run_eagerly(function, (x,))
            tolerance = {"rtol": 1e-5 if function is mixes_in_float32 else 1e-12, "atol": 1e-12}
            np.testing.assert_allclose(value, expected, **tolerance)
            np.testing.assert_allclose(gradient, wanted, **tolerance)


@pytest.mark.parametrize("function", JOINED, ids=lambda f: f.__name__)
def test_other_derivatives(function):
    jacobian, hessian = tg.jacfwd(function), tg.hessian(function)
    for x in np.random.default_rng(0).normal(size=(24, 4)):
        _, (wanted,) = run_eagerly(function, (x,))
        np.testing.assert_allclose(jacobian(x), wanted, rtol=1e-12, atol=1e-12)
        steps = 1e-6 * np.eye(4)
        sides = [[run_eagerly(function, (x + h,))[1][0] for h in (s, -s)] for s in steps]
        differences = [(above - below) / 2e-6 for above, below in sides]
        np.testing.assert_allclose(hessian(x), differences, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "asked",
    [
        "s.size if hasattr(s, 'size') else 5.0",
        "1.0 if type(s) is float else 2.0",
        "1.0 if isinstance(s, np.generic) else 2.0",
        "getattr(s * 2.0, 'size', 7.0)",
        "{float: 1.0, np.float64: 2.0}[type(s + 1.0)]",
        "2.0 if s.__class__.__name__ == 'float' else 3.0",
        *("s.real", "s.conjugate()", "1.0 if isinstance(s, float) else 2.0", "np.ndim(s) + 1.0"),
    ],
)
def test_what_type_a_number_has_is_that_of_the_call(asked):
    names = {"np": np}
    exec(
        "def f(x):\n    s = 0.0\n    if x[0] > 0:\n        s = np.sum(x)\n"
        f"    return x[1] * x[1] + ({asked}) * x[2]\n",
        names,
    )
    f = names["f"]
    g = tg.compile(f)
    for x in calls(20):
        assert g(x) == f(x)


@pytest.mark.parametrize(
    "divided", ["1.0 / s", "1 // (s * 2.0)", "3.0 % s", "divmod(2.0, s)[0]", "s / k", "x[0] / s"]
)
@pytest.mark.parametrize("differentiated", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_a_division_by_0_raises_where_python_raises(divided, differentiated):
    names = {"np": np}
    exec(
        "def f(x):\n    s, k = 0.0, 0\n    if x[0] > 0:\n        s = np.sum(x) + 5.0\n"
        "    if x[2] > 0:\n        k = 2\n        s = s * 3.0\n"
        f"    return x[1] * ({divided})\n",
        names,
    )
    f = names["f"]
    g = tg.value_and_grad(f) if differentiated else tg.compile(f)
    for x in np.random.default_rng(0).normal(size=(30, 3)):
        try:
            expected = f(x)
        except ZeroDivisionError:
            with pytest.raises(ZeroDivisionError):
                g(x)
        else:
            np.testing.assert_equal(g(x)[0] if differentiated else g(x), expected)


@pytest.mark.parametrize(
    "power", ["abs((-2.0) ** k)", "d ** k", "10.0 ** (800 * k)", "(d + 0.0) ** -1", "x[0] ** k"]
)
@pytest.mark.filterwarnings("ignore")
def test_powers_of_numbers_are_those_of_python(power):
    names = {"np": np}
    exec(
        "def f(x):\n    k, d = 1.0, 2.0\n    if x[0] > 0:\n        k = 0.5\n"
        "    if x[1] > 0:\n        d = 0.0\n        k = -k\n"
        "    try:\n"
        f"        y = {power}\n"
        "    except (OverflowError, ZeroDivisionError):\n        y = 7.0\n"
        "    return x[2] * y\n",
        names,
    )
    f = names["f"]
    g = tg.compile(f)
    for x in np.random.default_rng(0).normal(size=(30, 3)):
        np.testing.assert_equal(g(x), f(x))


def test_what_the_function_raises_is_raised_in_each_call():
    def f(x):
        s = 0.0
        if x[0] > 0:
            s = s + x[0]
        if x[1] > 2:
            raise TypeError("too large")
        return s * x[2]

    g = tg.value_and_grad(f)
    for x in ([1.0, 0, 1], [-1.0, 0, 1], [1.0, 3, 1], [-1.0, 3, 1], [1.0, 3, 1], [1.0, 0, 1]) * 3:
        if x[1] > 2:
            with pytest.raises(TypeError, match="too large"):
                g(np.array(x))
        else:
            assert_same_bits(split(g(np.array(x))), run_eagerly(f, (np.array(x),)))
