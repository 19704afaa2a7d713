"""Whole numbers that calls change are inputs of one program, unless the function asks for them."""

from __future__ import annotations

import math
import types
import warnings

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

X = np.array([0.3, -0.7, 1.1])
TABLE = np.arange(60.0).reshape(20, 3)
SERIES = np.linspace(-1.0, 2.0, 64)


def batch_of(x, n):
    of = slice(n % 6 * 3, (n % 6 + 1) * 3)
    return np.sum((TABLE[of] @ x - 1.0) ** 2)


def part_of_a_table(x, n):
    rows = TABLE[: n % 7] @ x
    return np.sum(rows * rows) + rows.size * x[0] + np.sum(TABLE[n % 7 :] @ x)


def window_of(x, n):
    return np.sum(SERIES[n : n + 4] * x[0]) + np.sum(SERIES[n:]) * x[1] - np.sum(SERIES[:n] * x[2])


def turns_over_windows(x, n):
    w = x
    for k in range(n):
        rows = TABLE[k % 9 * 2 : (k % 9 + 1) * 2]
        w = w - 1e-4 * rows.T @ (rows @ w)
    return np.sum(w * w)


def computed_with(x, n):
    return np.sum(x * n) / (n + 1) + np.sum(x ** (n % 3))


def decayed(x, n):
    return np.sum(x * (0.1 * 0.9**n)) * max(0.01, 1 - n / 10)


def of_a_table(x, n):
    return np.sum(x * TABLE[n % 20])


def both_ways(x, n):
    return np.sum(x) if n % 2 else np.sum(x * x)


def by_match(x, n):
    match n % 3:
        case 0:
            return np.sum(x)
        case 1:
            return np.sum(x * 2)
    return np.sum(x * n)


def as_other_numbers(x, n):
    return np.sum(x) * float(n) + math.sqrt(n) * x[0] + int(n / 3) + np.float64(n)


def turns(x, n):
    s = x
    for i in range(n):
        s = np.tanh(s) * 1.1 + 0.1 * x / (i + 1)
    return np.sum(s)


def turns_from_one(x, n):
    s = x[0]
    for i in range(1, n + 1):
        s = s * x[1] + x[2] / i
    return s


def turns_backwards(x, n):
    p = x[0]
    for i in reversed(range(n)):
        p = p * x[1] + i
    return p


def nested_turns(x, n):
    s = np.sum(x)
    for i in range(n):
        for j in range(i):
            s = s + 0.01 * s * x[j % 3]
    return s


def left_early(x, n):
    s = x
    for _ in range(n):
        if np.sum(s) > 3:
            break
        s = s * 1.1
    return np.sum(s * s)


def steps_of_size(x, n):
    h = 1.0 / n
    y = x[0]
    for _ in range(n):
        k = -y * x[1]
        y = y + 0.5 * h * (k - (y + h * k) * x[1])
    return y


def filled(x, n):
    y = np.zeros(n)
    for i in range(n):
        y[i] = x[i % 3] * i
    return np.sum(y * y)


def collected(x, n):
    found = []
    s = x[0]
    for _ in range(n):
        s = np.sin(s) + x[1]
        found.append(s)
    return sum(found) / n


def summed(x, n):
    return sum(x[0] ** k for k in range(1, n)) + sum([np.sin(x[1] * k) for k in range(n)])


def counted_down(x, n):
    s = np.sum(x)
    while n > 0:
        s = s * 0.9 + x[0]
        n -= 1
    return s


def spaced(x, n):
    return np.sum(np.linspace(0.0, 1.0, n)) * x[0] + np.sum(np.arange(n)) * x[1] + x[2]


COMPUTED = [computed_with, decayed, of_a_table, both_ways, by_match, as_other_numbers]
COMPUTED += [batch_of, window_of]
LOOPS = [turns, turns_from_one, turns_backwards, nested_turns, left_early, steps_of_size]
LOOPS += [filled, collected, summed, counted_down, spaced, turns_over_windows]
NUMBERS = (20, 30, 15, 25, 11, 40, 9, 16, 50)


def eagerly(f, *args):
    tg.config.compile = False
    try:
        return f(*args)
    finally:
        tg.config.compile = True


def as_argument(f):
    made = tg.value_and_grad(f)
    return made, made


def by_name(f):
    made = tg.value_and_grad(f)
    return made, lambda x, n: made(x, n=n)


def in_a_container(f):
    made = tg.value_and_grad(lambda x, options: f(x, options["n"][0]))
    return made, lambda x, n: made(x, {"n": [n]})


def from_a_cell(f):
    state = types.SimpleNamespace(n=0)
    made = tg.value_and_grad(lambda x: f(x, state.n))

    def call(x, n):
        state.n = n
        return made(x)

    return made, call


def of_an_object(f):
    made = tg.value_and_grad(lambda x, state: f(x, state.n))
    return made, lambda x, n: made(x, types.SimpleNamespace(n=n))


WAYS = [as_argument, by_name, in_a_container, from_a_cell, of_an_object]


@pytest.mark.parametrize("way", WAYS, ids=lambda w: w.__name__)
@pytest.mark.parametrize("f", [*COMPUTED, *LOOPS], ids=lambda f: f.__name__)
def test_all_values_have_one_program(f, way):
    made, call = way(f)
    random = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", tg.errors.RecompileWarning)
        for n in NUMBERS:
            x = X + 0.1 * random.normal(size=3)
            for one, other in zip(call(x, n), eagerly(tg.value_and_grad(f), x, n), strict=True):
                assert_same_bits(one, other)
    assert made.cache_info().traces <= 3 + 2  # two values, all values, other ways
    assert made.cache_info().hits >= 4


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("transform", [tg.compile, tg.grad, tg.hessian])
def test_loops_over_them_in_other_transforms(f, transform):
    made = transform(f)
    for n in NUMBERS:  # second derivatives but for the signs of zeros
        np.testing.assert_array_equal(made(X, n), eagerly(transform(f), X, n))
    assert made.cache_info().hits >= 4


@pytest.mark.parametrize("f", [f for f in LOOPS if f is not filled], ids=lambda f: f.__name__)
def test_loops_over_them_on_tensors(f):
    made = tg.compile(f)
    for n in NUMBERS:
        x, y = (tg.tensor(X, requires_grad=True) for _ in range(2))
        value, other = made(x, n), eagerly(f, y, n)
        value.backward()
        other.backward()
        assert_same_bits(value.detach().numpy(), other.detach().numpy())
        assert_same_bits(x.grad.numpy(), y.grad.numpy())
    assert made.cache_info().hits >= 4


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_the_source_keeps_their_loop(f):
    made = tg.value_and_grad(f)
    for n in NUMBERS:
        made(X, n)
    text = made.source(X, 12)
    assert "a Python int" in text
    assert len(text.splitlines()) < 90


@pytest.mark.parametrize("numbers", [(0, 1, 2, 3, 4), (1, 2, 3, 40, 7, 0, 50, 9), (-3, 5, -1, 20)])
@pytest.mark.parametrize("f", [turns, nested_turns, filled, counted_down], ids=lambda f: f.__name__)
def test_few_turns_and_none(f, numbers):
    made = tg.value_and_grad(f)
    for n in (*numbers, *numbers):
        if f is filled and n < 0:
            with pytest.raises(ValueError, match="negative dimensions"):
                made(X, n)
            continue
        for one, other in zip(made(X, n), eagerly(tg.value_and_grad(f), X, n), strict=True):
            assert_same_bits(one, other)


ASKED = {
    "as a key": lambda x, n: np.sum(x) * {1: 2.0, 2: 3.0}.get(n, 4.0),
    "as a text": lambda x, n: np.sum(x) * len(f"{n}"),
    "as a length": lambda x, n: np.sum(x[:n]),  # which is cut off
    "as a length of a part": part_of_a_table,
    "as an axis": lambda x, n: np.sum(np.sum(x.reshape(1, 3), axis=n % 2)),
    "as a shift": lambda x, n: np.sum(np.roll(x, n) * x),
    "by a function in C": lambda x, n: np.sum(x) * math.comb(n, 2),
    "as a length of a transform": lambda x, n: np.sum(np.abs(np.fft.fft(x, n)) ** 2),
    "as degrees of freedom": lambda x, n: np.var(x, ddof=n % 2) * x[0],
    "as how often": lambda x, n: np.sum(np.tile(x, n)) + np.sum(np.repeat(x * x, n)),
    "as a diagonal": lambda x, n: np.sum(np.tril(np.outer(x, x), k=n % 3)),
    "as a width": lambda x, n: np.sum(np.pad(x, n) ** 2),
    "as a number of axes": lambda x, n: np.sum(np.tensordot(TABLE[:3], TABLE[:3] * x, n % 2 + 1)),
    "as an exponent of a matrix": lambda x, n: np.sum(np.linalg.matrix_power(np.outer(x, x), n)),
}


@pytest.mark.parametrize("f", ASKED.values(), ids=ASKED)
def test_what_the_function_asks_for_has_a_program_for_each_value(f):
    made = tg.value_and_grad(f)
    for n in (*range(1, 6), *range(1, 6)):
        for one, other in zip(made(X, n), eagerly(tg.value_and_grad(f), X, n), strict=True):
            assert_same_bits(one, other)
    assert made.cache_info().hits >= 3


@pytest.mark.parametrize("value", [2**62, 2**63, 2**70, -(2**63), True, np.int64(3), 3.0])
def test_numbers_of_other_kinds_among_them(value):
    def f(x, n):
        return x * n, type(n).__name__, n + 1

    made = tg.compile(f)
    for n in (1, 2, 3, value, 4, value):
        (scaled, name, following), expected = made(X, n), f(X, n)
        assert_same_bits(scaled, expected[0])
        assert (name, following) == expected[1:]
        assert type(following) is type(expected[2])


def test_static_argnames_stay_settings():
    made = tg.compile(computed_with, static_argnames="n")
    for n in range(1, 7):
        made(X, n)
    assert made.cache_info() == (0, 6, 6, 6)


def test_on_jax_they_are_settings():
    made = tg.compile(lambda x, n: x * n**2, backend="jax")
    for n in (1, 2, 3, 2**20):
        np.testing.assert_allclose(made(X, n), X * float(n**2), rtol=1e-15)
    assert made.cache_info().versions == 4


def test_exported_files_take_any_of_them(tmp_path):
    made = tg.value_and_grad(turns)
    for n in NUMBERS:
        made(X, n)
    path = tmp_path / "turns.py"
    made.export(path, X, 20)
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    exported = scope["turns"]
    for n in (12, 33, 90):
        for one, other in zip(exported(X, n), eagerly(made, X, n), strict=True):
            assert_same_bits(one, other)
    with pytest.raises(TypeError, match="n must be a int"):
        exported(X, 12.0)
    with pytest.raises(ValueError, match="n"):
        exported(X, 2)


def test_settings_of_models_are_told_apart():
    class Layer:
        def __init__(self, size, depth):
            self.weights, self.depth = np.full((size, size), 0.1), depth

        def loss(self, x):
            for _ in range(self.depth):
                x = np.tanh(self.weights @ x)
            return np.sum(x)

    made = tg.value_and_grad(lambda x, layer: layer.loss(x))
    for depth in (1, 2, 3, 4, 12, 9, 30, 2, 1):
        layer = Layer(3, depth)
        for one, other in zip(
            made(X, layer), eagerly(tg.value_and_grad(layer.loss), X), strict=True
        ):
            assert_same_bits(one, other)


def test_the_header_says_which_numbers_a_program_is_for():
    made = tg.value_and_grad(turns)
    for n in (20, 30, 15, 3):
        made(X, n)
    assert "#     n: a Python int, 8 or more\n" in made.source(X, 40)
    assert "#     n: a Python int, 3\n" in made.source(X, 3)
    made = tg.value_and_grad(computed_with)
    for n in (20, 30, 15):
        made(X, n)
    assert "#     n: a Python int\n" in made.source(X, 40)


def from_to(x, a, b):
    s = x[0]
    for i in range(a, b):
        s = s * x[1] + i * x[2]
    return s


def two_sizes(x, a, b):
    total = np.sum(np.zeros((a, b)) + x[0]) * x[1]
    for i in range(a):
        for j in range(b):
            total = total + 1e-3 * x[(i + j) % 3]
    return total


@pytest.mark.parametrize("f", [from_to, two_sizes], ids=lambda f: f.__name__)
@pytest.mark.parametrize("apart", [lambda n: n + 20, lambda n: 60 - n], ids=["one more", "less"])
def test_two_of_them_that_change_together(f, apart):
    made = tg.value_and_grad(f)
    for n in NUMBERS:
        args = X, n, apart(n)
        for one, other in zip(made(*args), eagerly(tg.value_and_grad(f), *args), strict=True):
            assert_same_bits(one, other)
    assert made.cache_info().hits >= 4


@pytest.mark.parametrize("f", [turns, filled, counted_down, ASKED["as a text"]])
@pytest.mark.parametrize("called", [False, True])
def test_looks_at_programs_of_other_numbers(f, called):
    """They are no calls: what a function is asked about decides nothing."""
    made = tg.value_and_grad(f)
    for n in (2, 3, 1, 4, 20, 2, 30, 12, 3):
        if called:
            made(X, n)
        assert "def " in made.source(X, n)
        assert made.graph(X, n)
        made.verify(X, n)
    for one, other in zip(made(X, 7), eagerly(tg.value_and_grad(f), X, 7), strict=True):
        assert_same_bits(one, other)
