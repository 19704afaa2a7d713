"""Loops in programs for JAX: they stay loops, forward and backward, and give NumPy's numbers."""

from __future__ import annotations

import importlib.util
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import tracegrad as tg
from tracegrad.world.loops.loop_heads import KNOWN_LOOPS

RTOL = 1e-10


@pytest.fixture(autouse=True)
def checked():
    """Graphs are verified after each pass; no loop is known not to close."""
    before = tg.config.check
    tg.config.check = True
    KNOWN_LOOPS["jax"].clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.SlowCompileWarning)
        yield
    tg.config.check = before


def rnn(w, x):
    h = np.zeros(3)
    for row in x:
        h = np.tanh(w @ h + row)
    return np.sum(h * h)


def branching(w, x):
    s = w[0, 0]
    for t in range(1, len(x)):
        if x[t, 0] > 0:
            s = s * w[0, 1] + x[t, 1]
        elif s > 0.5:
            s = s - np.sin(s)
        else:
            continue
    return s * s


def broken(w, x):
    s = w[0, 0]
    for row in x:
        s = s * 0.9 + row[0] * w[1, 1]
        if s * s > 2.0:
            s = s * w[2, 2]
            break
    else:
        s = s + 1.0
    return s


def two_ways_out(w, x):
    s = w[0, 0]
    for t in range(len(x)):
        for v in x[t]:
            s = s + v * w[0, 1]
            if s > 3.0:
                return s * v
            if s < -2.0:
                break
        else:
            s = s * 0.5
    return s * s


def filled(w, x):
    y = np.zeros(len(x))
    y[0] = w[0, 0]
    for t in range(1, len(x)):
        y[t] = y[t - 1] * w[0, 1] + x[t, 0]
    return np.sum(y * y)


def listed(w, x):
    rows = []
    h = w[0]
    for t in reversed(range(len(x))):
        h = np.tanh(h + x[t])
        rows.append(h)
    return np.sum(np.stack(rows) ** 2)


def nested(w, x):
    s = 0.0
    for row in x:
        t = w[0, 0]
        for v in w[1]:
            t = t * np.sin(v + row[0])
        s = s + t
    return s


def settled(w, x):
    u = w[0, 0]
    while abs(np.cos(u * x[0, 0]) - u) > 1e-9:
        u = np.cos(u * x[0, 0]) * 0.5 + u * 0.5
    return u * w[0, 1]


LOOPS = [rnn, branching, broken, two_ways_out, filled, listed, nested, settled]


def drawn(seed, length=20):
    random = np.random.default_rng(seed)
    return random.uniform(0.2, 0.9, (3, 3)), random.uniform(-0.5, 0.6, (length, 3))


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_numbers_are_those_of_numpy(f):
    on_jax, on_numpy = (tg.value_and_grad(f, argnums=(0, 1), backend=b) for b in ("jax", "numpy"))
    for seed in range(3):
        found, expected = (g(*drawn(seed)) for g in (on_jax, on_numpy))
        jax.tree.map(lambda a, b: assert_allclose(a, b, rtol=RTOL), found, expected)
    text = on_jax.source(*drawn(0))
    assert "jax.lax.fori_loop" in text or "jax.lax.while_loop" in text


def test_the_text_reads_as_one_writes_it():
    w, x = drawn(0)
    text = tg.value_and_grad(rnn, backend="jax").source(w, x)
    lines = text.partition("@jax.jit\n")[2].splitlines()[1:]
    lines = [line for line in lines if line and "# test_jax_loops.py" not in line]
    assert lines[:8] == [
        "    n = x.shape[0]",
        "    h_saved = jnp.zeros((x.shape[0] + 1, w.shape[0])).at[0].set(h)",
        "    def turn(i, carry):",
        "        h, h_saved = carry",
        "        row = x[i]",
        "        h = jnp.tanh(w @ h + row)",
        "        h_saved = h_saved.at[i + 1].set(h)",
        "        return h, h_saved",
    ]


@pytest.mark.parametrize("f", [rnn, two_ways_out, listed], ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:rnn computes in float64")
def test_nothing_grows_with_the_turns(f):
    """Neither the text nor what XLA compiles."""
    sizes = set()
    for length in (10, 100):
        g = tg.value_and_grad(f, backend="jax")
        w, x = drawn(0, length)
        lowered = jax.jit(g).lower(w, x) if f is not two_ways_out else None
        module = len(lowered.as_text().splitlines()) if lowered else 0
        sizes.add((len(g.source(w, x).splitlines()), module))
    assert len(sizes) == 1


def test_a_while_keeps_as_many_turns_as_there_are():
    def halved(u):
        turns = u
        while u > 1.0:
            u = u * 0.99
            turns = turns + u * u
        return turns

    f = tg.value_and_grad(halved, backend="jax")
    for start in (1.5, 1e5, 2.0, 0.5):
        expected = tg.value_and_grad(halved, backend="numpy")(start)
        assert_allclose(f(start), expected, rtol=1e-9)
    assert f.cache_info().versions <= 2


def test_programs_with_loops_are_for_tracers():
    w, x = drawn(1)
    f = tg.value_and_grad(rnn, argnums=(0, 1))
    expected = f(w, x)
    with jax.enable_x64(True):
        jax.tree.map(lambda a, b: assert_allclose(a, b, rtol=RTOL), jax.jit(f)(w, x), expected)
        many = jax.vmap(f, in_axes=(None, 0))(w, jnp.stack([x, 2 * x]))
        assert_allclose(many[1][1][0], expected[1][1], rtol=RTOL)
        twice = jax.grad(tg.compile(rnn))(w, x)
    assert_allclose(twice, expected[1][0], rtol=1e-8)


def test_second_derivatives():
    w, x = drawn(2, 9)
    on_jax, on_numpy = (tg.hessian(rnn, backend=b)(w, x) for b in ("jax", "numpy"))
    assert_allclose(on_jax, on_numpy, rtol=1e-8, atol=1e-12)


def test_an_index_that_is_out_of_range_raises_its_error():
    def picked(x, at):
        s = 0.0
        for t in range(len(at)):
            s = s + x[at[t]] * t
        return s

    x, at = np.arange(1.0, 6.0), np.arange(10) % 5
    f = tg.value_and_grad(picked, backend="jax")
    assert_allclose(f(x, at)[1], tg.grad(picked)(x, at))
    with pytest.raises(IndexError):
        f(x, np.where(at == 4, 5, at))


@pytest.mark.parametrize("f", [rnn, broken, settled], ids=lambda f: f.__name__)
def test_exported_files_have_the_loops(f, tmp_path):
    w, x = drawn(0)
    g = tg.value_and_grad(f, backend="jax")
    expected = g(w, x)
    g.export(tmp_path / "program.py", w, x)
    spec = importlib.util.spec_from_file_location("program", tmp_path / "program.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    assert_allclose(getattr(program, f.__name__)(w, x)[1], expected[1], rtol=RTOL)


def test_a_look_that_follows_a_loop_of_numbers() -> None:
    """Both arms give looks of one kind, also where one asks for what is a number by then."""

    def f(x, k):
        if x.sum() > 0.0:
            x = x * k[0]
        else:
            x = x + x[k[1]]
        j = 0
        while j < 3:
            j += 1
        return (x * x).sum()

    compiled = tg.compile(f, backend="jax")
    k = np.array([2, 1])
    for sign in (1.0, -1.0, 1.0, -1.0):
        x = sign * np.array([1.0, 2.0])
        assert compiled(x, k) == f(x, k)
    assert "3 < 3" not in compiled.source(x, k)


def test_states_of_one_length_that_are_given_apart_are_all_saved():
    """That two arguments have one length is known from what is done with them alone."""

    def f(before, now, x):
        for v in x:
            before, now = now * 1.5, np.tanh(before * now + v)
        return np.sum(before * now)

    def swapped(start, x):
        before, now = start[:3], start[3:]
        for v in x:
            before, now = now, np.tanh(before * now + v)
        return np.sum(before * now)

    random = np.random.default_rng(0)
    state, x = random.normal(size=6), random.normal(size=20)
    for function, args in ((f, (state[:3], state[3:], x)), (swapped, (state, x))):
        argnums = tuple(range(len(args)))
        found = tg.grad(function, argnums, backend="jax")(*args)
        for a, b in zip(found, tg.grad(function, argnums)(*args), strict=True):
            assert_allclose(a, b, rtol=RTOL)


def looks_after(x):
    s = 0.0
    for v in x:
        s = s + v * v
    if s > 2.0:
        s = s * 2.0
    return s


ONES, ZEROS = np.ones(9), np.zeros(9)


def test_a_loop_and_a_branch_in_two_functions_are_for_tracers():
    def squares(x):
        s = 0.0
        for v in x:
            s = s + v * v
        return s

    def doubled(s):
        if s > 2.0:
            s = s * 2.0
        return s

    loop, branch = (tg.compile(g, backend="jax") for g in (squares, doubled))
    with jax.enable_x64(True):
        for x in (ONES, ZEROS):
            branch(loop(jnp.array(x)))
        for x in (ONES, ZEROS):
            found = jax.value_and_grad(lambda x: branch(loop(x)))(jnp.array(x))
            expected = tg.value_and_grad(looks_after)(x)
            jax.tree.map(lambda a, b: assert_allclose(a, b, rtol=RTOL), found, expected)


def left_twice(w, x):
    s = w[0, 0]
    for row in x:
        for _ in range(9):
            s = s * 0.9 + row[0] * 0.1
            if s > w[1, 1]:
                s = s * 0.5
                break
            if s < -0.5:
                break
    return s


def test_a_loop_that_is_left_as_after_its_last_turn_or_otherwise():
    f = tg.compile(left_twice, backend="jax")
    for seed in range(6):
        w, x = drawn(seed)
        w[1, 1] = 0.3
        assert_allclose(f(w, 4.0 * x), left_twice(w, 4.0 * x), rtol=RTOL)


def grown(x):
    n = 0
    while n < 40:
        n += 1
        if x > 10.0:
            x = x / 3.0
        elif x > 1.0:
            x = x * x
        else:
            break
    return x


def raised(x):
    if x < 0.0:
        x = 1.0 - x
    while x < 30.0:
        x = x * 1.25
    return x


@pytest.mark.parametrize(
    ("f", "test"),
    [
        (grown, "return ~left & look & look_2 & sound\n"),
        (raised, "return (x < 30.0) & look\n"),
    ],
)
def test_a_loop_is_left_where_a_look_fails(f, test):
    """What nobody has seen may be what ends it."""
    for transform in (tg.compile, tg.value_and_grad):
        KNOWN_LOOPS["jax"].clear()
        g = transform(f, backend="jax")
        first, *others = map(np.float64, (1.5, 0.5, -2.0, 12.0, 1.5))
        results = [g(first)]
        if transform is tg.compile:
            assert test in g.source(first)
        results += map(g, others)
        for x, result in zip((first, *others), results, strict=True):
            expected = f(x) if transform is tg.compile else transform(f)(x)
            assert_allclose(result, expected, rtol=RTOL)


def in_an_arm(w, x):
    s = w[0, 0]
    for row in x:
        y = 9.0 + row[0] * row[0]
        a = row[2] * w[1, 1]
        if row[1] > 0:
            if a >= 0.9:
                a = 0.5 / a
            while y > 0.5:
                y = y * a
        s = s + y
    return s


def test_a_loop_in_a_turn_is_not_begun_where_a_look_has_failed():
    w, x = drawn(0)
    w[1, 1], x = 0.85, np.abs(x) + 0.1
    g = tg.compile(in_an_arm, backend="jax")
    assert_allclose(g(w, x), in_an_arm(w, x), rtol=RTOL)
    assert "return (y > 0.5) & sound & look & look_2\n" in g.source(w, x)
    for given in (2.0 * x, x * [1.0, -1.0, 2.0], x):
        assert_allclose(g(w, given), in_an_arm(w, given), rtol=RTOL)


def gauss_seidel(a, b, tolerance):
    x = np.zeros_like(b)
    n = len(b)
    for _ in range(40):
        old = x.copy()
        for i in range(n):
            s = b[i]
            for j in range(n):
                if j != i:
                    s = s - a[i, j] * x[j]
            x[i] = s / a[i, i]
        if np.linalg.norm(x - old) < tolerance:
            break
    return np.sum(x)


def test_bools_of_turns_are_saved_as_bools():
    a = np.eye(9) + 0.1 * np.random.default_rng(0).normal(size=(9, 9))
    g = tg.value_and_grad(gauss_seidel, backend="jax")
    value, gradient = g(a, np.ones(9), 1e-8)
    expected = tg.value_and_grad(gauss_seidel)(a, np.ones(9), 1e-8)
    assert_allclose(value, expected[0], rtol=RTOL)
    assert_allclose(gradient, expected[1], rtol=RTOL, atol=1e-13)
    assert "jnp.full(b.shape, False)" in g.source(a, np.ones(9), 1e-8)


def turned(x, c):
    s = 0.0
    for _ in range(40):
        c = c * 0.9 + 0.1j
        s = s + (x * c * x).imag
        if s > 30.0:
            break
    return s


def test_complex_numbers_of_turns_are_saved_as_they_are():
    value, gradient = tg.value_and_grad(turned, backend="jax")(1.5, 1.0 + 1.0j)
    expected = tg.value_and_grad(turned)(1.5, 1.0 + 1.0j)
    assert_allclose(value, expected[0], rtol=RTOL)
    assert_allclose(gradient, expected[1], rtol=RTOL)


def test_a_count_that_no_turn_raises_is_a_float_of_python():
    def f(x):
        k = 0
        for v in x:
            if v > 0:
                k += 1
        return float(k)

    compiled = tg.compile(f, backend="jax")
    for x in (np.array([1.0, 2.0, -3.0]), np.array([-1.0, -2.0, -3.0])):
        assert compiled(x) == f(x)


def in_one_arm(x, index):
    total = 0.0
    for t in range(20):
        y = np.sin(x[index[t]] * total) if x[t] > 0 else x[t]
        total = total + y
    return total


def in_both_arms(x, index):
    total = 0.0
    for t in range(20):
        if x[t] > 0:
            y = x[index[t]]
            y = np.sin(y * total)
        else:
            y = x[index[t] - 1] * 2.0
        total = total + y
    return total


@pytest.mark.usefixtures("fresh_loops")
@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad])
@pytest.mark.parametrize("f", [in_one_arm, in_both_arms])
def test_an_index_in_an_arm_that_meets_others_is_checked(f, transform):
    x, index = np.cos(np.arange(20.0)), np.arange(20)
    for begins in (0, 5):
        program = transform(f, backend="jax")
        for first in (begins, 0, 5, 0):
            if first:
                with pytest.raises(IndexError, match="out of bounds"):
                    program(x, index + first)
                continue
            found = program(x, index)
            assert_allclose(found if transform is tg.compile else found[0], f(x, index), rtol=RTOL)


@pytest.mark.parametrize("numbers", [range(28, -1, -3), range(31, -1, -4), range(32, 0, -2)])
def test_what_turns_that_count_down_in_steps_save(numbers):
    """The number of a turn is how far its counter is below the first one."""

    def f(x):
        s = 0.3
        for i in numbers:
            s = np.sin(s) + x[i] * s + 0.5 * x[i]
        return s

    x = np.random.default_rng(1).normal(size=33)
    on_jax, on_numpy = tg.grad(f, backend="jax"), tg.grad(f)
    np.testing.assert_allclose(on_jax(x), on_numpy(x), rtol=1e-10, atol=1e-12)
    assert "fori_loop" in str(on_jax.source(x))
