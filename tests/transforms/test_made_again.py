"""Transforms that are made anew for each call, `grad(f)(x)`, find the programs of those before."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from weakref import ref

import numpy as np
import pytest

import tracegrad as tg
from tracegrad import deriv, make_jvp, make_jvp_reversemode
from tracegrad.compiled import version
from tracegrad.extend import defvjp, primitive
from tracegrad.transforms import call, made_again

SCALE = 2.0


def plain(x, y):
    return np.sin(x) * y


def scaled(x):
    return SCALE * x


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """The first one that nobody holds any more is handed out again."""
    monkeypatch.setattr(made_again, "FEW", 0)


def test_only_what_is_made_for_one_call_again_and_again_is_handed_out(monkeypatch):
    monkeypatch.setattr(made_again, "FEW", 3)
    for _ in range(5):
        held = tg.grad(plain)
        for x in (0.5, 1.0, 1.5):
            held(x, 2.0)
        assert held.cache_info() == (2, 1, 1, 1)
        del held
    for _ in range(5):
        asked = tg.grad(plain)
        asked(0.5, 2.0)
        assert asked.cache_info().misses == 1
        del asked


def test_few_are_made_anew_before(traces, monkeypatch):
    monkeypatch.setattr(made_again, "FEW", 3)
    for i in range(9):
        assert tg.grad(plain, 1)(0.5 + i, 1.0) == np.sin(0.5 + i)
    assert len(traces) == 3


@pytest.fixture
def traces(monkeypatch):
    """A list with an item for each trace."""
    seen = []

    def counted(function, *rest):
        seen.append(function)
        return version.traced_run(function, *rest)

    monkeypatch.setattr(call, "traced_run", counted)
    return seen


@pytest.mark.parametrize("times", [1, 5])
def test_a_transform_that_nobody_holds_is_handed_out_again(traces, times):
    for i in range(times):
        assert tg.grad(plain, 1)(0.5 + i, 1.0) == np.sin(0.5 + i)
        value, slope = tg.value_and_grad(plain)(0.5 + i, 2.0)
        assert (value, slope) == (2.0 * np.sin(0.5 + i), 2.0 * np.cos(0.5 + i))
    assert len(traces) == 2
    assert tg.grad(plain, 1).cache_info().traces == 1


def test_what_is_held_is_nobody_elses():
    first, second = tg.grad(plain), tg.grad(plain)
    assert first is not second
    first(1.0, 2.0)
    assert (first.cache_info().versions, second.cache_info().versions) == (1, 0)
    bound = type("Owner", (), {"method": tg.grad(plain)})().method
    assert tg.grad(plain) is not bound.__func__


def test_each_setting_has_its_own(traces):
    for _ in range(3):
        assert tg.grad(plain)(0.5, 2.0) == 2.0 * np.cos(0.5)
        assert tg.grad(plain, argnum=1)(0.5, 2.0) == np.sin(0.5)
        assert len(tg.grad(plain, (0, 1))(0.5, 2.0)) == 2
        assert tg.grad(lambda x: (x * x, "aux"), has_aux=True)(0.5) == (1.0, "aux")
        assert tg.grad(plain, static_argnames="y")(0.5, 2.0) == 2.0 * np.cos(0.5)
        assert tg.jacobian(plain)(0.5, 2.0) == 2.0 * np.cos(0.5)
    assert len(traces) == 6


def test_a_lambda_in_a_loop_reads_what_there_is_then(traces):
    factor = np.array([1.0, 2.0])
    for i in range(6):
        if i == 3:
            factor = np.array([3.0, 4.0])
        gradient = tg.grad(lambda x: np.sum(x * factor))(np.full(2, 0.5 + i))  # noqa: B023
        np.testing.assert_array_equal(gradient, factor)
    assert len(traces) <= 2


def test_a_variable_that_changes_before_the_call_is_seen():
    factor = 2.0
    for i in range(4):
        slope = tg.grad(lambda x: x * factor)  # noqa: B023
        factor = 3.0 + i
        assert slope(1.0) == factor
        del slope


def test_functions_of_one_code_with_variables_of_their_own():
    def times(factor):
        return lambda x: x * factor

    for factor in (2.0, 3.0, 2.0, 4.0):
        assert tg.grad(times(factor))(1.0) == factor


def test_defaults_are_those_of_the_function():
    for factor in (2.0, 3.0, 4.0):
        assert tg.grad(lambda x, factor=factor: x * factor)(1.0) == factor

    def scaled(x, factor=2.0):
        return x * factor

    assert tg.grad(scaled)(1.0) == 2.0
    scaled.__defaults__ = (3.0,)
    assert tg.grad(scaled)(1.0) == 3.0
    scaled.__code__ = (lambda x, factor: x * x * factor).__code__
    assert tg.grad(scaled)(1.0) == 6.0


def test_globals_and_methods(monkeypatch, traces):
    class Model:
        def __init__(self, w):
            self.w = w

        def loss(self, x):
            return self.w * x

    one, other = Model(2.0), Model(3.0)
    for _ in range(3):
        assert tg.grad(one.loss)(1.0) == 2.0
        assert tg.grad(other.loss)(1.0) == 3.0
        assert tg.grad(scaled)(1.0) == 2.0
    assert len(traces) == 3
    one.w = 5.0
    monkeypatch.setitem(globals(), "SCALE", 7.0)
    assert tg.grad(one.loss)(1.0) == 5.0
    assert tg.grad(scaled)(1.0) == 7.0


def test_derivatives_of_derivatives(traces):
    for i in range(4):
        x = 0.5 + i
        assert tg.grad(tg.grad(lambda x: x**3))(x) == pytest.approx(6.0 * x)
    assert len(traces) == 1


def test_rules_of_the_users():
    @primitive
    def cube(x):
        return x**3

    defvjp(cube, lambda ans, x: lambda g: 3.0 * x**2 * g)
    assert [tg.grad(cube)(x) for x in (1.0, 2.0, 3.0)] == [3.0, 12.0, 27.0]
    defvjp(cube, lambda ans, x: lambda g: -g)
    assert tg.grad(cube)(1.0) == -1.0


def test_what_a_user_sets_on_one_is_not_handed_out():
    made = tg.grad(plain)
    made.__name__, made.unit = "force", "N"
    del made
    again = tg.grad(plain)
    assert again.__name__ == "plain"
    assert not hasattr(again, "unit")


def test_of_a_lambda_it_has_the_one_that_was_given():
    for _ in range(3):

        def f(x):
            return x

        assert tg.grad(f).__wrapped__ is f


def test_one_that_has_all_versions_is_left(monkeypatch):
    monkeypatch.setattr(tg.config, "versions", 2)
    for n in range(1, 8):  # no warning: as many as ever are made
        gradient = tg.grad(lambda xs: sum(np.sum(x) for x in xs))([np.ones(2)] * n)
        assert len(gradient) == n


def test_what_a_function_holds_goes_with_it():
    def run():
        data = np.ones(3)
        function = lambda x: np.sum(data * x)
        tg.grad(function)(2.0)
        return ref(data), ref(function)

    gone = run()
    gc.collect()
    assert [r() for r in gone] == [None, None]


def test_threads():
    def work(seed):
        draws = np.random.default_rng(seed).normal(size=50)
        return [tg.grad(plain)(x, 1.0) == np.cos(x) for x in draws.tolist()]

    with ThreadPoolExecutor(4) as pool:
        assert all(map(all, pool.map(work, range(8))))


def test_inside_another_transform():
    def penalized(x):
        return tg.grad(lambda y: y**3)(x) + x

    for x in (1.0, 2.0):
        assert tg.grad(penalized)(x) == 6.0 * x + 1.0


# -- HIPS autograd's operators in forward mode -----------------------------------------------------


def powers(x, w, p=2):
    return np.sum(np.tanh(x * w) ** p)


@pytest.mark.parametrize("argnum", [0, 1, -1, (0, 1)])
def test_make_jvp_has_a_program(traces, argnum):
    x, w, v = np.array([0.3, 0.7]), np.array([1.5, -0.5]), np.array([1.0, 2.0])
    push, moves = make_jvp(powers, argnum), np.atleast_1d(argnum) % 2
    for i in range(1, 5):
        args = [a * i if k in moves else a for k, a in enumerate((x, w))]
        slope = 2.0 * np.tanh(args[0] * args[1]) * (1.0 - np.tanh(args[0] * args[1]) ** 2) * v
        value, moved = push(*args)((v, v) if argnum == (0, 1) else v)
        assert value == powers(*args)
        assert moved == pytest.approx(np.sum([slope * args[1 - k] for k in moves]))
    assert len(traces) == 1


def test_other_arguments_of_make_jvp_are_those_of_the_call():
    x, v = np.array([0.3, 0.7]), np.ones(2)
    for w, p in ((1.0, 2), (2.0, 2), (2.0, 3), (2.0, 3), (np.ones(2), 3)):
        value, moved = make_jvp(powers)(x, w, p=p)(v)
        assert value == pytest.approx(powers(x, w, p))
        assert moved == pytest.approx(tg.grad(powers)(x, w, p) @ v)


def test_an_argument_of_make_jvp_that_is_written_to_is_read_again():
    x, w, v = np.array([0.3, 0.7]), np.array([1.5, -0.5]), np.ones(2)
    push = make_jvp(powers)
    for i in range(4):
        w[:] = i
        assert push(x, w)(v)[1] == pytest.approx(tg.grad(powers)(x, w) @ v)


def test_operators_by_make_jvp_have_its_program(traces):
    for i in range(4):
        x = 0.5 + i
        assert deriv(lambda t: t**3)(x) == pytest.approx(3.0 * x**2)
        assert make_jvp_reversemode(powers)(x, 1.0)(1.0) == pytest.approx(tg.grad(powers)(x, 1.0))
    assert len(traces) == 3


def test_functions_of_tuples_of_variables_are_told_apart():
    for pair in ((2.0, 3.0), (2.0, 4.0), (2.0, (4.0,)), (2.0, 4.0)):
        second = pair[1] if type(pair[1]) is float else 10.0
        value, _ = tg.jvp(
            lambda x, pair=pair: x * (pair[1] if type(pair[1]) is float else 10.0), (1.0,), (1.0,)
        )
        assert value == second


def test_make_jvp_inside_a_derivative():
    assert tg.grad(lambda x: make_jvp(lambda y: y**3)(x)(1.0)[1])(2.0) == pytest.approx(12.0)
    assert tg.grad(lambda x: deriv(lambda y: x * y**2)(x))(2.0) == pytest.approx(8.0)
