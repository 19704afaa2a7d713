"""Loops whose ranges depend on the number of a loop around stay loops, for all lengths.

Of ``for i in range(n): for j in range(i)`` inner loops make none, one or many turns: one program
has them all, forward and backward, with the bits of eager runs.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits
from programs import PROGRAMS

import tracegrad as tg

(cholesky,) = (p.make(np) for p in PROGRAMS if p.name == "cholesky_by_hand")


def pair_energies(x):
    n, energy = len(x), 0.0
    for i in range(n - 1):
        for j in range(i + 1, n):
            energy += (x[i] - x[j]) ** 2
    return energy


def below(x):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            total = total + np.sin(x[i] - x[j])
    return total


def rest(x):
    n, y = len(x), np.zeros(len(x))
    for i in range(n):
        for k in range(n - i):
            y[i + k] += x[i] * x[k]
    return np.sum(y**3)


def downward(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i, -1, -1):
            total = 0.9 * total + x[j] * x[i - j]
    return total


def in_steps(x):
    total = 0.0
    for i in range(0, len(x), 2):
        for j in range(i % 2, i, 3):
            total = total * 0.5 + x[i] * x[j]
        for j in range(len(x) - 1, i, -2):
            total = total + np.cos(x[j])
    return total


def turned_round(x):
    total = 0.0
    for i in range(len(x)):
        for j in reversed(range(i)):
            total = 0.8 * total + x[i] * x[j]
    return total


def none_at_first(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i - 4):
            total = total + x[i] * x[j]
    return total


def none_at_last(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i, 5):
            total = total + x[i] * x[j]
    return total


def two_in_a_turn(x):
    total = 0.0
    for i in range(len(x)):
        part = 1.0
        for j in range(i):
            part = part * np.cos(x[j])
        for j in range(i + 1, len(x)):
            part = part + np.sin(x[j])
        total = total + part * x[i]
    return total


def branching(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            d = x[i] - x[j]
            if d > 0.1:
                total = total + d * d
            else:
                total = total - np.sin(d)
    return total


def behind_a_look(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            for j in range(i):
                total = total + x[i] * x[j]
    return total


def left_inside(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i):
            if x[j] * x[i] > 1.0:
                break
            total = total + x[i] * x[j]
    return total


def taken_over_at_times(x):
    total, other = 0.0, 0.5
    for i in range(len(x) - 1):
        for j in range(i + 1, len(x)):
            total += np.sin(x[j] - x[i])
            for _ in range(i % 3):
                other = total
        total, other = other, total * 0.9
    return total + other


def last_of_each(x):
    total = 0.0
    for i in range(len(x)):
        last, part = x[i], 0.0
        for j in range(i, len(x)):
            last = np.sin(x[j] * x[i])
            part = np.tanh(part + x[j])
        total = total + last * part
    return total


def from_the_end(x):
    total = 0.0
    for i in range(len(x)):
        part = 1.0
        for j in range(i - 5, i):
            part = part * np.cos(x[j]) + x[j]
        total = total + part
    return total


def counting(x):
    total, pairs = 0.0, 0
    for i in range(len(x)):
        for j in range(i):
            if x[j] > x[i]:
                pairs += 1
            total = total + x[i] * x[j]
    return total / (1.0 + pairs)


def bound_in_turns(x):
    total, turns = 0.0, 0
    for i in range(len(x) - 1, -1, -1):
        turns = turns + 1
        total = total + 0.01 * turns
        for j in range(1, i + 1):
            total = total + x[j] * 0.3
            last = total  # the last turn of i has none of j
    return total + last


def table(x):
    n = len(x)
    ways = np.zeros((n + 1, n + 1))
    ways[0, 0] = 1.0
    for i in range(1, n + 1):
        for j in range(1, i + 1):
            ways[i, j] = ways[i - 1, j - 1] * x[i - 1] + ways[i - 1, j]
    return np.sum(ways[n])


def by_rows(x):
    total = 0.0
    for i, row in enumerate(x):
        for j in range(i):
            total = total + row * x[j]
    return total


def down_from_the_end(x):
    total, n = 0.0, len(x)
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            total = total * 0.9 + x[j]
    for i in range(n, 0, -1):
        for j in reversed(range(i, n)):
            total = total * 0.9 + x[j]
    for i in range(n - 1, -1, -1):
        for j in range(n - 1 - i):
            total = total * 0.8 + x[j]
    return total


def behind_a_while(x):
    total = 0.0
    for i in range(len(x)):
        j = 0
        while j < 2:
            total = total + x[i]
            j += 1
        for k in range(i):
            total = total + x[k]
    return total


def counted_by_a_while(x):
    total = 0.0
    for i in range(len(x)):
        j = 0
        while j < i:
            total = total + x[j] * x[i - j]
            j += 1
    return total


def with_a_flag(x):
    total, some, last = 0.0, False, x.sum()
    for i in range(len(x)):
        j = 0
        while j < i:
            some, last = True, x[j]
            j += 1
        total = total + x[i] * last if some else total * x[i] - 2.0
    return total


def forces(r):
    force = np.zeros(r.shape)
    for i in range(len(r)):
        for j in range(i):
            d = r[i] - r[j]
            d = d / (np.sum(d * d) + 0.1)
            force[i] += d
            force[j] -= d
    return np.sum(force * force * r)


def elimination(a):
    n, u = a.shape[0], a * 1.0
    for k in range(n):
        for i in range(k + 1, n):
            m = u[i, k] / u[k, k]
            for j in range(k, n):
                u[i, j] = u[i, j] - m * u[k, j]
    return np.sum(np.log(np.abs(u[0])))


def gram_schmidt(a):
    n, q = a.shape[0], np.zeros(a.shape)
    for i in range(n):
        v = a[i]
        for j in range(i):
            v = v - (q[j] @ v) * q[j]
        q[i] = v / np.sqrt(v @ v)
    return np.sum(np.cos(q))


def solved_upward(a):
    n, y = a.shape[0], np.zeros(a.shape[0])
    for i in range(n - 1, -1, -1):
        s = 0.0
        for j in range(i + 1, n):
            s += a[i, j] * y[j]
        y[i] = (1.0 - s) / a[i, i]
    return np.sum(y * y)


OF_VECTORS = [
    *(pair_energies, below, rest, downward, in_steps, turned_round, none_at_first, none_at_last),
    *(two_in_a_turn, branching, table, by_rows, last_of_each, from_the_end, counting),
    *(behind_a_look, left_inside, taken_over_at_times, bound_in_turns),
    *(down_from_the_end, behind_a_while, counted_by_a_while, with_a_flag),
]
OF_MATRICES = [forces, cholesky, elimination, gram_schmidt, solved_upward]
LENGTHS = (2, 0, 1, 9, 2)
UNROLLED = {in_steps, counting, taken_over_at_times, bound_in_turns, with_a_flag}


def given(function, n):
    random = np.random.default_rng(n)
    if function not in OF_MATRICES:
        return random.standard_normal(n)
    m = random.standard_normal((n, n))
    return m @ m.T + n * np.eye(n)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def eagerly(transformed, x):
    before, tg.config.compile = tg.config.compile, False
    try:
        return transformed(x)
    finally:
        tg.config.compile = before


def assert_same_as_eagerly(compiled, function, x):
    """Value and gradient have the bits of the function, and of its gradient on the tape."""
    value, gradient = compiled(x)
    assert_same_bits(value, function(x.copy()))
    assert_same_bits(gradient, eagerly(tg.value_and_grad(function), x)[1])


def outcome(transformed, x):
    """What a call returns, or the class of what it raises."""
    try:
        return transformed(x)
    except (IndexError, ZeroDivisionError, UnboundLocalError) as error:
        return type(error)


@pytest.mark.parametrize("function", [*OF_VECTORS, *OF_MATRICES])
def test_ranges_of_any_length_have_the_bits_of_eager_runs(function):
    compiled = tg.value_and_grad(function)
    for n in LENGTHS:
        x = given(function, n)
        expected = outcome(lambda x: eagerly(tg.value_and_grad(function), x), x)
        found = outcome(compiled, x)
        if isinstance(expected, type):
            assert found is expected
        else:
            assert_same_bits(found[0], function(x.copy()))
            assert_same_bits(found[1], expected[1])


@pytest.mark.parametrize("function", [f for f in (*OF_VECTORS, *OF_MATRICES) if f not in UNROLLED])
def test_one_program_of_loops_serves_all_lengths(function):
    compiled = tg.value_and_grad(function)
    for n in (16, 21, 16, 17):
        assert_same_as_eagerly(compiled, function, given(function, n))
    assert compiled.cache_info().versions == 1
    assert "loops that are unrolled" not in compiled.explain()


def test_turns_that_stay_unrolled_have_the_numbers_that_they_had():
    compiled = tg.value_and_grad(taken_over_at_times)
    for n in (17, 12):
        assert_same_as_eagerly(compiled, taken_over_at_times, given(pair_energies, n))


@pytest.mark.parametrize("function", [pair_energies, downward, solved_upward, two_in_a_turn])
def test_second_derivatives_have_the_bits_of_eager_runs(function):
    def slope(x):
        return np.sum(tg.grad(function)(x) * np.cos(x))

    x = given(function, 12)
    compiled = tg.grad(slope)
    assert_same_bits(compiled(x), eagerly(tg.grad(slope), x))


def test_an_inner_range_reads_as_one_would_write_it():
    compiled = tg.value_and_grad(pair_energies)
    compiled(given(pair_energies, 12))
    source = str(compiled.source())
    assert "for j in range(i + 1, x.size):" in source
    assert "for j in reversed(range(i + 1, x.size)):" in source


def doubled_where_any(x):
    """Variables that turns set before they read them; without turns they are as they were."""
    m, j = np.sum(x > 0), np.sum(x < -100)
    s, some, last = x[0] * 1.0, False, x[1]
    while j < m:
        some, last = True, x[2]
        s = s * 0.5 + x[1]
        j = j + 1
    return s * 2 + last if some else s * 3 - last


def test_a_while_that_has_no_turns_in_another_call():
    compiled, x = tg.value_and_grad(doubled_where_any), np.arange(1.0, 13.0)
    for given in (x, -x, x, np.where(x > 3, x, -x)):
        assert_same_as_eagerly(compiled, doubled_where_any, given)


RANGES = ["range(i + 1, n)", "range(n - i)", "range(i % 3)", "range(i // 2, i)", "range(1, i)"]


@pytest.mark.parametrize("second", RANGES)
@pytest.mark.parametrize("first", RANGES)
def test_loops_with_a_budget(first, second):
    """Where turns that stand before the loop in segments write to the same elements."""

    made: dict[str, Any] = {}
    body = "\n".join(
        [
            "def loss(x):",
            "    total, n = 0.0, len(x)",
            "    for i in range(n):",
            f"        for j in {first}:",
            "            total = total + x[j] ** 2",
            f"        for _ in {second}:",
            "            total = total + x[i] * 1.5",
            "    return total",
        ]
    )
    exec(body, made)
    x = np.random.default_rng(0).normal(size=12)
    compiled = tg.value_and_grad(tg.checkpoint(made["loss"], max_bytes=64))
    expected = eagerly(tg.value_and_grad(made["loss"]), x)
    assert_same_bits(compiled(x)[1], expected[1])


def test_a_range_that_something_else_reads_is_looked_at():
    def counts(x):
        total = 0.0
        for i in range(len(x)):
            numbers = range(i)
            total = total + x[i] * len(numbers)
            for j in numbers:
                total = total + x[j]
        return total

    compiled = tg.compile(counts)
    for n in (12, 9):
        x = given(pair_energies, n)
        assert_same_bits(compiled(x), counts(x))


def test_a_list_that_an_inner_loop_fills_is_right():
    def sums(x):
        total = 0.0
        for i in range(1, len(x)):
            row = []
            for j in range(i):
                row.append(x[j] * x[i])
            total = total + np.sum(np.stack(row)) * i
        return total

    compiled = tg.value_and_grad(sums)
    for n in (12, 14):
        assert_same_as_eagerly(compiled, sums, given(pair_energies, n))


OF_OTHER_TARGETS = [
    pair_energies,
    solved_upward,
    turned_round,
    two_in_a_turn,
    cholesky,
    elimination,
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("backend", ["numba", "jax"])
@pytest.mark.parametrize("function", OF_OTHER_TARGETS)
def test_other_targets(function, backend):
    pytest.importorskip(backend)
    x = given(function, 10)
    compiled = tg.value_and_grad(function, backend=backend)
    value, gradient = compiled(x)
    sources = [str(compiled.source(given(function, n))) for n in (12, 16)]
    assert len({len(source.splitlines()) for source in sources}) == 1
    np.testing.assert_allclose(value, function(x), rtol=1e-6)
    np.testing.assert_allclose(
        gradient, eagerly(tg.value_and_grad(function), x)[1], rtol=1e-5, atol=1e-6
    )


def test_exported_files_have_the_loops(tmp_path):
    compiled = tg.value_and_grad(cholesky)
    compiled(given(cholesky, 12))
    path = tmp_path / "made.py"
    compiled.export(path)
    scope: dict[str, object] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    made = scope[cholesky.__name__]
    for n in (12, 15):
        x = given(cholesky, n)
        assert_same_bits(made(x), compiled(x))
