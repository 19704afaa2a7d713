"""Functions that write recorded values to arrays from outside enter; without a program the same
values, gradients and numbers in the caller's arrays leave as with one."""

from __future__ import annotations

import copy
import pickle
import warnings
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import scipy.linalg

import tracegrad as tg
from tracegrad.errors import ArgumentError, ConversionError

XS = [np.array([1.0, 2.0, 1.5]), np.array([1.3, 2.2, 1.1]), np.array([2.3, 0.2, 1.1])]
PROGRAMS = []


class State:
    """What a caller keeps between calls."""

    def __init__(self):
        self.rows = np.arange(12.0).reshape(4, 3) + 1
        self.columns = np.asfortranarray(np.arange(12.0).reshape(3, 4))
        self.vector = np.arange(3.0)
        self.square = np.zeros((3, 3))
        self.whole = np.arange(6)
        self.turned = np.ones(3, complex)
        self.number = np.zeros(())
        self.held = {"a": np.ones(3), "list": [np.ones(3), np.zeros((2, 3))]}
        self.pair = (np.ones(3), np.zeros(3))
        self.large = np.ones((200, 100))
        self.kept = None
        self.count = 0

    def arrays(self):
        """All that it holds, by name."""
        inner = [*self.held.values(), *self.held["list"], *self.pair]
        found = [*vars(self).values(), *inner]
        return [x for x in found if isinstance(x, np.ndarray)]


def program(f):
    PROGRAMS.append(f)
    return f


@program
def rows_of_a_ring(s, x):
    s.rows[s.count % 4] = x
    s.count += 1
    n = min(s.count, 4)
    return np.sum(s.rows[:n].sum(axis=0) * x / n)


@program
def added_to_a_row(s, x):
    s.rows[1] += x
    return np.sum(s.rows * s.rows)


@program
def added_to_all(s, x):
    s.rows += x
    return np.sum(s.rows**2)


@program
def multiplied_under_another_name(s, x):
    rows = s.rows
    rows *= x
    return np.sum(s.rows**2) * (2.0 if rows is s.rows else 1.0)


@program
def copied_to(s, x):
    np.copyto(s.rows, x)
    return np.sum(s.rows**2 * x)


@program
def filled(s, x):
    s.rows.fill(x[0])
    return np.sum(s.rows**2 * x)


@program
def filled_by_a_slice(s, x):
    s.rows[:] = x * 2
    return np.sum(s.rows**2 * x)


@program
def out_of_a_ufunc(s, x):
    found = np.add(s.rows, x, out=s.rows)
    return np.sum(s.rows**2 * x) + np.sum(found) + (5.0 if found is s.rows else 0.0)


@program
def out_of_functions(s, x):
    np.cumsum(x, out=s.vector)
    np.dot(s.square + 1.0, x, out=s.pair[0])
    np.sum(s.rows * x, axis=0, out=s.pair[1])
    return np.sum(s.vector * x) + np.sum(s.pair[0] * s.pair[1])


@program
def added_at_places(s, x):
    np.add.at(s.vector, np.array([0, 1, 1]), x)
    return np.sum(s.vector**2 * x)


@program
def views_taken_before(s, x):
    row, columns = s.rows[2], s.rows.T
    s.rows[2] = x
    row *= 2
    return np.sum(columns[:, 2] * x) + np.sum(row)


@program
def containers(s, x):
    s.held["a"][:] = x
    s.held["list"][1][0] = x * 2
    s.pair[0][:] = x
    listed = [s.held["a"], s.rows]
    return np.sum(listed[0] * x) + np.sum(s.held["list"][1] ** 2) + np.sum(s.pair[0] * listed[1])


@program
def other_dtypes(s, x):
    s.whole[0] = x[0] * 2
    s.turned[:] = x
    return np.sum(s.whole) * x[1] + np.sum(np.abs(s.turned) ** 2)


@program
def columns_in_memory(s, x):
    s.columns[:, 0] = x
    return np.sum(s.columns.reshape(-1)[:3] * x) + np.sum(s.columns.sum(axis=1) * x)


@program
def rows_swapped(s, x):
    s.rows[0] = x
    s.rows[[0, 1]] = s.rows[[1, 0]]
    s.vector[:] = x
    s.vector[0], s.vector[2] = s.vector[2], s.vector[0]
    return np.sum(s.rows[1] * x) + np.sum(s.rows[0]) + np.sum(s.vector * np.arange(3.0) * x)


@program
def under_a_mask(s, x):
    s.vector[s.vector > 0.5] = 2.0 * x[1]
    np.putmask(s.square, s.square < 1.0, x)
    return np.sum(s.vector**2) + np.sum(s.square @ x)


@program
def rows_in_a_loop(s, x):
    for i, row in enumerate(s.rows):
        row[:] = x * i
    total = 0.0
    for row in s.rows:
        total = total + np.sum(row * x)
    return total


@program
def elements_in_a_loop(s, x):
    total = 0.0
    for i, v in enumerate(s.vector):
        s.vector[i] = v * x[i]
        s.vector[(i + 1) % 3] += x[0]
        total = total + v * x[2]
    return np.sum(s.vector**2) + total


@program
def used_before_and_after(s, x):
    first = s.vector * x
    s.vector[:] = x
    second = s.vector * x
    s.vector[:] = 0.0
    s.vector[1] = 5.0
    return np.sum(first) + np.sum(second) + np.sum(s.vector * x)


@program
def large(s, x):
    first = s.large[:, :3] * x
    s.large[7] = 2.0
    second = s.large[:, :3] * x
    s.large[5, :3] = x
    return np.sum(first) + np.sum(second) + np.sum(s.large[:, :3] * x)


@program
def without_axes(s, x):
    s.number[...] = x[0]
    s.number += x[1]
    return s.number * x[0]


@program
def diagonal(s, x):
    np.fill_diagonal(s.square, x)
    return np.sum(s.square @ x) + np.sum(np.stack([s.square[0], s.vector]) * x)


@program
def sorted_in_place(s, x):
    s.vector[:] = x * [3.0, 1.17, 2.31]
    s.vector.sort()
    return np.sum(s.vector * np.arange(3.0))


@program
def through_flat(s, x):
    s.rows.flat[2] = x[0]
    return np.sum(s.rows * x)


@program
def left_as_another_array(s, x):
    s.vector[:] = x
    s.kept = s.vector * 2
    return np.sum(s.kept)


@program
def buffers_exchanged(s, x):
    s.rows[0] = x
    s.rows, s.pair = s.pair[0], (s.rows[0].copy(), s.vector)
    found = np.sum(s.pair[0] * x) + np.sum(s.rows)
    s.rows, s.pair = np.arange(12.0).reshape(4, 3), (np.ones(3), np.zeros(3))
    return found


@program
def branch_on_what_was_written(s, x):
    s.vector[:] = x
    a, b, c = s.vector
    return a * b + c if s.vector[0] > 1.5 else np.sum(s.vector**2)


@program
def by_another_function(s, x):
    def inner(v):
        return np.sum(s.vector * v)

    s.vector[:] = x
    return tg.compile(inner)(s.vector) + tg.grad(inner)(x) @ x


def slopes(f, s, x):
    """Central differences; the state stays as it was."""
    names, before = dict(vars(s)), [(a, a.copy()) for a in s.arrays()]
    found = []
    for i in range(x.size):
        step = np.zeros(x.size)
        step[i] = 1e-6
        values = []
        for y in (x + step, x - step):
            values.append(f(s, y))
            vars(s).update(names)
            for a, held in before:
                a[...] = held
        found.append((values[0] - values[1]) / 2e-6)
    return np.array(found)


def pulled(f, x):
    value, pull = tg.vjp(f, x)
    return value, pull(1.0)


def derivative(kind, s, f):
    def of_state(x):
        return f(s, x)

    made = {
        "eager": lambda: tg.value_and_grad(of_state),
        "compiled": lambda: tg.value_and_grad(of_state),
        "jacobian": lambda: tg.jacobian(of_state),
        "vjp": lambda: lambda x: pulled(of_state, x),
    }[kind]()
    if kind in ("eager", "jacobian"):
        made._give_up("it was told to")
    return made


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["eager", "compiled", "jacobian", "vjp"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_numbers_are_left(f, kind):
    given, plain = State(), State()
    taken = derivative(kind, given, f)
    for x in XS:
        slope = slopes(f, plain, x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = taken(x)
        value, gradient = (None, found) if kind == "jacobian" else found
        expected = f(plain, x)
        if value is not None:
            np.testing.assert_allclose(value, expected)
        gradient = gradient[0] if isinstance(gradient, tuple) else gradient
        whole = f is other_dtypes  # a step in it has no slope
        np.testing.assert_allclose(gradient, slope, rtol=1e-4, atol=2e-4 + 1e9 * whole)
        for a, b in zip(given.arrays(), plain.arrays(), strict=True):
            assert type(a) is np.ndarray and a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-12)
        assert np.shares_memory(given.rows, State.arrays(given)[0])


def test_all_calls_of_a_counting_function_are_right():
    s, plain = State(), State()
    f = tg.value_and_grad(lambda x: rows_of_a_ring(s, x))
    for k in range(9):
        x = np.arange(3.0) + k
        slope = slopes(rows_of_a_ring, plain, x)
        value, gradient = f(x)
        np.testing.assert_allclose(value, rows_of_a_ring(plain, x))
        np.testing.assert_allclose(gradient, slope, rtol=1e-4, atol=1e-4)
    assert f.cache_info().hits


def test_views_outside_show_what_is_written():
    buffer = np.zeros((3, 3))
    first, part = buffer[0], buffer[:, 1:]

    def f(x):
        part[1] = x[1:]
        first[:] = x
        return np.sum(buffer * x) + np.sum(part**2)

    eager = tg.value_and_grad(f)
    eager._give_up("it was told to")
    value, gradient = eager(np.array([1.0, 2.0, 4.0]))
    assert value == 81.0
    np.testing.assert_allclose(gradient, [2.0, 16.0, 32.0])
    np.testing.assert_array_equal(buffer, [[1, 2, 4], [0, 2, 4], [0, 0, 0]])


def test_a_second_derivative():
    s = State()
    f = tg.hessian(lambda x: added_to_a_row(s, x))
    f._give_up("it was told to")
    np.testing.assert_allclose(f(XS[0]), 2 * np.eye(3))
    np.testing.assert_allclose(s.rows[1], [5.0, 7.0, 7.5])


def test_numbers_are_left_where_the_function_raises():
    buffer = np.zeros(3)

    def f(x):
        buffer[:] = x
        raise KeyError("later")

    eager = tg.grad(f)
    eager._give_up("it was told to")
    with pytest.raises(KeyError, match="later"):
        eager(XS[0])
    np.testing.assert_array_equal(buffer, XS[0])


def test_an_argument_that_shares_memory_is_refused():
    buffer = np.zeros(3)

    def f(x, y):
        buffer[:] = x
        return np.sum(y * x)

    eager = tg.grad(f)
    eager._give_up("it was told to")
    with pytest.raises(ArgumentError, match="shares memory"):
        eager(XS[0], buffer[1:])


def test_a_call_that_is_refused_leaves_what_stood_there():
    """Views of one array are written: each call is refused, and the next one finds the arrays."""
    state = SimpleNamespace(calls=0, log=[], made=None)
    state.memory = np.zeros(3)
    state.view = memory = state.memory[1:]

    def f(x):
        state.calls += 1
        state.log.append(x)
        state.made = x * 2.0
        state.memory += x[:3]
        state.view *= 2.0
        return np.sum(state.memory)

    for step in (tg.compile(f), tg.value_and_grad(f)):
        for _ in range(2):
            with pytest.raises(ArgumentError, match="shares memory"):
                step(XS[0])
            assert state.view is memory and memory.base is state.memory
            assert not state.memory.any()
            assert (state.calls, state.log, state.made) == (0, [], None)


def the_caller_has_it_too(memory):
    def f(x):
        before = np.sin(x)
        memory[:] = memory + 1.0
        return np.sum(before * x)

    return f


def under_a_second_name(memory):
    def f(x, y=memory):
        y += 1.0
        return np.sum(x * x)

    return f


def by_a_view(memory):
    view = memory[1:]

    def f(x):
        np.multiply(view, 2.0, out=view)
        return np.sum(x * x)

    return f


WAYS = {
    "compile": lambda f, x: tg.compile(f)(x),
    "value_and_grad": lambda f, x: tg.value_and_grad(f)(x)[0],
    "vjp": lambda f, x: tg.vjp(f, x)[0],
    "jvp": lambda f, x: tg.jvp(f, (x,), (np.ones(3),))[0],
    "linearize": lambda f, x: tg.linearize(f, x)[0],
}


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("make", [the_caller_has_it_too, under_a_second_name, by_a_view])
@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_what_is_an_argument_and_outside_is_one_array(make, way, compiled, monkeypatch):
    """The argument shows what is written outside, or the call is refused."""
    monkeypatch.setattr(tg.config, "compile", compiled)
    plain, given = XS[0].copy(), XS[0].copy()
    wanted = make(plain)(plain)
    try:
        value = way(make(given), given)
    except ArgumentError as error:
        assert "pass a copy" in str(error)
        return
    assert value == wanted
    np.testing.assert_array_equal(given, plain)


def test_a_program_for_other_arrays_is_not_run_on_one_array():
    memory = XS[0].copy()
    compiled = tg.value_and_grad(the_caller_has_it_too(memory))
    for x in XS:
        compiled(x)
    with pytest.raises(ArgumentError, match="pass a copy"):
        compiled(memory)


def test_a_view_that_is_left_is_one():
    s = State()

    def f(x):
        s.vector[:] = x
        s.kept = s.vector[1:]
        return np.sum(s.kept)

    eager = tg.grad(f)
    eager._give_up("it was told to")
    eager(XS[0])
    assert np.shares_memory(s.kept, s.vector)
    np.testing.assert_array_equal(s.kept, [2.0, 1.5])


# -- what C code goes through while it is written -------------------------------------------------


def held_flat(y, x):
    flat = y.flat
    y[0] = x[0]
    flat[1] = x[1] * 2
    return sum(flat) + np.sum(y)


def held_method(y, x):
    total = y.sum
    y[0] = x[0]
    return total() * x[1]


def places(y, x):
    total = 0.0
    for (i,), v in np.ndenumerate(y):
        y[(i + 1) % 3] += x[i]
        total = total + v * x[1]
    return total + y[0]


def held_view_of_other_axes(y, x):
    turned = y.reshape(1, 3).T
    y[0] = x[0]
    turned[1:] += 1.0
    return np.sum(y * x)


def held_diagonal(y, x):
    whole = np.zeros((3, 3))
    line = np.einsum("ii->i", whole)
    whole[1, 1] = x[0]
    line[2] = x[1]
    return np.sum(whole @ x) + np.sum(line * y)


def held_buffer(y, x):
    shown = memoryview(y)
    y[0] = x[0]
    return shown[0] * x[1]


def held_nditer(y, x):
    several = np.nditer(y)
    y[0] = x[0]
    return sum(v * x[1] for v in several)


def held_broadcast(y, x):
    pairs = np.broadcast(y, y)
    y[0] = x[0]
    return sum(u * x[1] for u, _ in pairs)


def held_windows(y, x):
    windows = np.lib.stride_tricks.sliding_window_view(y, 2)
    y[1] = x[0]
    return windows.sum() * x[1]


FOLLOWED = [held_flat, held_method, places, held_view_of_other_axes, held_diagonal]
REFUSED = [held_buffer, held_nditer, held_broadcast, held_windows]


def in_it(f, outside):
    y = np.zeros(3)

    def of_own(x):
        return f(np.zeros(3), x)

    def of_outside(x):
        y[:] = 0.0
        return f(y, x)

    return of_outside if outside else of_own


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("f", FOLLOWED, ids=lambda f: f.__name__)
def test_what_goes_through_an_array_sees_what_is_written(f, eager):
    for outside in [False, *([True] if eager else [])]:
        g = tg.value_and_grad(in_it(f, outside))
        if eager:
            g._give_up("it was told to")
        slope = slopes(lambda s, x: f(np.zeros(3), x), State(), XS[0])
        value, gradient = g(XS[0])
        np.testing.assert_allclose(value, f(np.zeros(3), XS[0]))
        np.testing.assert_allclose(gradient, slope, atol=1e-6)


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_what_shows_old_numbers_is_refused(f, eager):
    for outside in [False, *([True] if eager else [])]:
        g = tg.value_and_grad(in_it(f, outside))
        if eager:
            g._give_up("it was told to")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(ConversionError, match="written into a plain array"):
                g(XS[0])


# -- arrays that others may hold: no program ------------------------------------------------------


def of_another_library(x):
    matrix = scipy.linalg.toeplitz([1.0, 2.0, 3.0])
    matrix[0] = x
    return np.sum(matrix @ x)


def read_from_text(x):
    y = pickle.loads(pickle.dumps(np.zeros(3)))
    y[1:] += x[:-1]
    return y @ x


def added(v, held=np.zeros(3)):  # noqa: B008
    held *= 0.0
    held += v
    return held


def default_of_a_helper(x):
    return np.sum(added(x) * added(x * x))


class Pair(NamedTuple):
    a: np.ndarray
    b: np.ndarray


def in_a_named_tuple(x):
    pair = Pair(np.zeros(3), np.ones(3))
    pair.a[:] = x
    pair.b[0] = x[1]
    return np.sum(pair.a * pair.b * x)


HELD_ELSEWHERE = {
    of_another_library: "which others may hold as well",
    read_from_text: "pickle.dumps",
    in_a_named_tuple: "which others may hold as well",
}


@pytest.mark.parametrize("f", HELD_ELSEWHERE, ids=lambda f: f.__name__)
def test_a_function_that_no_program_follows_runs_eagerly(f):
    g = tg.value_and_grad(f)
    with pytest.warns(tg.errors.RecompileWarning, match=HELD_ELSEWHERE[f]):
        found = [g(x) for x in XS]
    for x, (value, gradient) in zip(XS, found, strict=True):
        np.testing.assert_allclose(value, f(x))
        slope = slopes(lambda s, x: f(x), State(), x)
        np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-6)
    assert g.cache_info().versions == 0


def test_a_helper_writes_to_its_default():
    g = tg.value_and_grad(default_of_a_helper)
    for x in XS:
        value, gradient = g(x)
        np.testing.assert_array_equal(added.__defaults__[0], x * x)
        np.testing.assert_allclose(value, default_of_a_helper(x))
        slope = slopes(lambda s, x: default_of_a_helper(x), State(), x)
        np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-6)
    assert g.cache_info().versions == 1


def test_there_is_no_source_of_it():
    with (
        pytest.warns(tg.errors.RecompileWarning),
        pytest.raises(tg.errors.TraceError, match="there is no program of it"),
    ):
        tg.grad(of_another_library).source(XS[0])


@pytest.mark.parametrize("eager", [False, True])
def test_deep_copies_of_what_holds_arrays(eager):
    def f(x):
        state = {"list": [x * 2.0, np.zeros(3)]}
        state["list"][1][2] = x[2]
        other = copy.deepcopy(state)
        other["list"][1][:] *= x
        other["list"][0] += 1.0
        return np.sum(state["list"][1] * x) + np.sum(other["list"][1] * other["list"][0])

    g = tg.value_and_grad(f)
    if eager:
        g._give_up("it was told to")
    value, gradient = g(XS[0])
    np.testing.assert_allclose(value, f(XS[0]))
    np.testing.assert_allclose(gradient, slopes(lambda s, x: f(x), State(), XS[0]), atol=1e-6)


@pytest.mark.parametrize("f", [lambda x: x.T, lambda x: np.expand_dims(x, 1), np.real])
def test_copies_of_views_lie_as_those_of_programs(f):
    x = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    compiled, eager = tg.compile(f), tg.compile(f)
    eager._give_up("it was told to")
    assert eager(x).strides == compiled(x).strides


@pytest.mark.parametrize(
    "write",
    [
        lambda y: np.add(-0.25, -0.25, out=y),
        lambda y: np.sin(-0.25, out=(y,)),
        lambda y: np.maximum.reduce([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]], out=y),
        lambda y: np.take([1.0, 2.0, 3.0], [0, 2, 1], out=y),
        lambda y: np.clip([1.0, 2.0, 3.0], 1.5, 2.5, out=y),
    ],
)
def test_what_numbers_are_written_to_is_not_made_by_the_function(write):
    """A call that returns the array that it was given as ``out`` has not made it."""

    def f(x, arrays):
        y = arrays[0]
        write(y)
        y[:2] += x
        return np.sum(y) + np.sum(np.sin(x))

    x, plain, held = np.full(2, 1.5), [np.ones(3)], [np.ones(3)]
    array, value = held[0], f(x, plain)
    got, pull = tg.vjp(lambda x, arrays=held: f(x, arrays), x)
    assert held[0] is array
    np.testing.assert_allclose(array, plain[0])
    np.testing.assert_allclose(got, value)
    np.testing.assert_allclose(pull(1.0)[0], 1.0 + np.cos(x))
