"""Programs whose loops go through generators and iterators enter; they stay loops, bit for bit."""

from __future__ import annotations

import itertools
import sys
import threading
import traceback
import types

import numpy as np
import pytest
from checks import assert_same_bits, leaves, run_eagerly, split

import tracegrad as tg

LOOPS = []
OTHERS = []


def loop(function):
    """One whose text does not depend on the number of turns."""
    LOOPS.append(function)
    return function


def other(function):
    """One that is unrolled, or runs eagerly."""
    OTHERS.append(function)
    return function


def halved(x):
    for v in x:
        if v > 0:
            yield v
        else:
            yield -v * 0.5


def states(x, h=0.0):
    for v in x:
        h = np.tanh(h + v)
        yield h


def windows(x, width=3):
    for i in range(len(x) - width):
        yield x[i : i + width]


def squares(values):
    for v in values:
        yield v * v


def growing(a, b):
    while True:
        yield a
        a, b = b, a * 0.5 + b * 0.3


def numbers(n):
    for i in range(n):
        for j in range(3):
            yield i, j


def folded(values):
    s = 0.0
    for v in values:
        s = s * 0.5 + v
    return s


class Doubled:
    def __init__(self, x):
        self.x = x

    def __iter__(self):
        for v in self.x:
            yield v * 2.0


@loop
def of_states(x):
    s = 0.0
    for h in states(x):
        s = s + h * h
    return s


@loop
def of_windows(x):
    s = 0.0
    for w in windows(x):
        s = s * 0.5 + np.sum(np.sin(w))
    return s


@loop
def of_two_yields(x):
    s = 0.0
    for v in halved(x):
        s = s * 0.5 + v
    return s


@loop
def left_by_break(x):
    s = 0.0
    for v in halved(x):
        s = s * 0.5 + v
        if s > 1.2:
            break
    return s * 2.0


@loop
def left_by_break_or_not(x):
    s = 0.0
    for v in halved(x):
        s = s * 0.5 + v
        if s > 9.2:
            break
    else:
        s = s * 3.0
    return s


@loop
def left_by_return(x):
    s = 0.0
    for v in states(x):
        s = s * 0.5 + v
        if s > 100.0:
            return s * 7.0
    return s


@loop
def some_turns_continue(x):
    s = 0.0
    for v in states(x):
        if v < 0.3:
            continue
        s = s * 0.5 + v
    return s


@loop
def within_try(x):
    s = 0.0
    try:
        for v in states(x):
            s = s * 0.5 + v
    except ValueError:
        s = -1.0
    return s


@loop
def of_an_object(x):
    s = 0.0
    for v in Doubled(x):
        s = s * 0.5 + v
    return s


@loop
def handed_to_a_helper(x):
    return folded(states(x)) + folded(v * v for v in x)


@loop
def of_generators_in_generators(x):
    s = 0.0
    for v in squares(squares(states(x))):
        s = s * 0.5 + v
    return s


@loop
def added_up(x):
    return sum(states(x)) + sum(v * v for v in states(x))


@loop
def listed(x):
    return np.sum(np.stack(list(states(x))) ** 2)


@loop
def in_a_comprehension(x):
    return np.sum(np.stack([v * v for v in states(x)]))


@loop
def delegated(x):
    def both(x):
        yield from states(x)
        yield from x

    s = 0.0
    for v in both(x):
        s = s * 0.5 + v
    return s


@loop
def endless(x):
    s = 0.0
    for number, a in enumerate(growing(x[0], x[1])):
        if number >= 30:
            break
        s = s + a
    return s


@loop
def with_a_cell(x):
    k = [x[0]]

    def scaled():
        for v in x:
            yield v * k[0]

    s = 0.0
    for v in scaled():
        s = s * 0.5 + v
    return s


@loop
def with_a_cell_that_changes(x):
    a = x[0]

    def fading():
        nonlocal a
        for v in x:
            a = a * 0.9
            yield v * a

    s = 0.0
    for v in fading():
        s = s * 0.5 + v * a
    return s + a


@loop
def with_a_function_made_in_turns(x):
    def doubled(x):
        for v in x:
            twice = lambda w: w * v  # noqa: B023
            yield twice(2.0)

    s = 0.0
    for v in doubled(x):
        s = s * 0.5 + v
    return s


@loop
def with_keywords(x):
    def scaled(x, *, k=2.0, **more):
        for v in x:
            yield v * k

    s = 0.0
    for v in scaled(x, k=3.0):
        s = s * 0.5 + v
    return s


@loop
def written_by_numbers(x):
    y = np.outer(x, x[:3]) * 0.0
    for i, j in numbers(len(x)):
        y[i, j] = x[i] * j
    return np.sum(y * y)


@loop
def of_map(x):
    s = 0.0
    for v in map(lambda v: v * v, x):
        s = s * 0.5 + v
    for v in map(lambda a, b: a * b, x[1:], x[:-1]):
        s = s * 0.5 + v
    return s


@loop
def of_filter(x):
    s = 0.0
    for v in filter(lambda v: v > 0, x):
        s = s * 0.5 + v
    return s


@loop
def of_pipes(x):
    s = 0.0
    for i, v in enumerate(map(np.sin, filter(lambda v: v > -1, states(x)))):
        s = s * 0.5 + v * i
    return s


@loop
def of_accumulate(x):
    s = 0.0
    for v in itertools.accumulate(x):
        s = s * 0.5 + v
    for v in itertools.accumulate(x, lambda a, b: np.tanh(a + b)):
        s = s * 0.5 + v
    for v in itertools.accumulate(x, lambda a, b: a * 0.5 + b, initial=x[1]):
        s = s * 0.5 + v
    return s


@loop
def of_chain(x):
    s = 0.0
    for v in itertools.chain(x, x[::-1]):
        s = s * 0.5 + v
    return s


@loop
def of_islice(x):
    s = 0.0
    for v in itertools.islice(x, 1, None):
        s = s * 0.5 + v * x[0]
    for v in itertools.islice(growing(x[0], x[1]), 20):
        s = s + v
    return s


@loop
def of_product_and_starmap(x):
    s = 0.0
    for i, j in itertools.product(range(len(x)), range(3)):
        s = s * 0.5 + x[i] * x[j]
    for v in map(lambda a, b: a * b, x, x[::-1]):
        s = s * 0.5 + v
    return s


@loop
def of_takewhile(x):
    s = 0.0
    for v in itertools.takewhile(lambda v: v < 30.0, x):
        s = s * 0.5 + v
    for v in itertools.filterfalse(lambda v: v < 0.0, x):
        s = s * 0.5 + v
    return s


@loop
def of_count_and_repeat(x):
    s = 0.0
    for i, v in zip(itertools.count(3, 2), x):
        s = s * 0.5 + v * i
    for v, k in zip(x, itertools.repeat(0.5)):
        s = s * 0.5 + v * k
    for _ in itertools.repeat(None, len(x)):
        s = np.tanh(s + x[0])
    return s


# -- what is not one loop -------------------------------------------------------------------------

LOG = []


def with_an_end(x):
    try:
        yield from x
    finally:
        LOG.append(1)


@other
def that_do_something_at_their_end(x):
    s = 0.0
    for v in with_an_end(x):
        s = s * 0.5 + v
    return s + len(LOG) * 0.0


@other
def held_by_a_variable(x):
    values = halved(x)
    s = next(values)
    for v in values:
        s = s * 0.5 + v
        if s > 1.0:
            break
    for v in values:
        s = s * 0.25 - v
    return s


@other
def of_an_array_and_itself(x):
    """Gradients of rows are added up as for rows that were all taken before the first turn."""
    s = 0.0
    for a, b in itertools.product(x, x):
        s = s * 0.5 + a * b
    return s


@other
def that_raise(x):
    def few(x):
        for number, v in enumerate(x):
            if number > 4:
                raise KeyError("no more")
            yield v

    s = 0.0
    try:
        for v in few(x):
            s = s * 0.5 + v
    except KeyError:
        s = s * 2.0
    return s


@other
def ended_by_what_map_calls(x):
    few = iter([1.0, 2.0, 3.0])
    s = 0.0
    for v in map(lambda w: w * next(few), x):
        s = s * 0.5 + v
    return s * x[0]


@other
def ended_by_stop_iteration(x):
    def bad(x):
        few = iter([1.0, 2.0, 3.0])
        for v in x:
            yield v * next(few)

    s = 0.0
    try:
        for v in bad(x):
            s = s * 0.5 + v
    except RuntimeError:
        s = s * 3.0
    return s * x[0]


# -- all of them ----------------------------------------------------------------------------------


def drawn(n, seed=0):
    return np.random.default_rng(seed).normal(size=n)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("function", [*LOOPS, *OTHERS], ids=lambda f: f.__name__)
def test_values_and_gradients_are_those_of_eager_calls(function, backend):
    compiled = tg.value_and_grad(function, backend=backend)
    for n, seed in ((12, 0), (12, 1), (25, 2), (12, 3)):
        x = drawn(n, seed)
        assert_same_bits(split(compiled(x)), run_eagerly(function, (x,)), f"{n}, {seed}")


@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_the_text_is_one_for_all_numbers_of_turns(function):
    lines = [tg.value_and_grad(function).source(drawn(n)) for n in (40, 41)]
    assert lines[0] == lines[1]
    assert lines[0].count("\n") < 170


@pytest.mark.parametrize("function", [of_states, of_pipes, left_by_break, of_accumulate])
def test_programs_for_jax_have_loops_too(function):
    x = drawn(20)
    compiled = tg.value_and_grad(function, backend="jax")
    value, gradient = compiled(x)
    expected = run_eagerly(function, (x,))
    np.testing.assert_allclose(value, expected[0][0], rtol=1e-12)
    np.testing.assert_allclose(gradient, expected[1][0], rtol=1e-12)
    assert compiled.source(drawn(20)) == compiled.source(drawn(20, 1))


def test_errors_have_the_lines_of_the_generator_and_of_its_reader():
    def scaled(x):
        for v in x:
            yield v * None

    def total(x):
        s = 0.0
        for v in scaled(x):
            s = s + v
        return s

    def entries(function, *args):
        with pytest.raises(TypeError) as caught:
            function(*args)
        found = traceback.extract_tb(caught.value.__traceback__)
        return [(e.name, e.line) for e in found if e.filename == __file__][-2:]

    told = entries(tg.grad(total), drawn(12))
    assert told == [("total", "for v in scaled(x):"), ("scaled", "yield v * None")]
    assert told == entries(total, drawn(12))


def test_lines_of_a_generator_are_named_in_the_source():
    source = tg.value_and_grad(of_states).source(drawn(12))
    assert "h = np.tanh(h + v)" in source
    assert "s = s + h * h" in source


def test_a_generator_that_is_left_is_another_one_in_the_next_call():
    compiled = tg.value_and_grad(left_by_break)
    for seed in range(6):
        x = drawn(15, seed)
        value, _ = compiled(x)
        assert leaves(value)[0] == left_by_break(x)


def test_a_generator_whose_module_is_gone():
    """What was written for a loop over it is for that module; others are gone through plainly."""
    module = types.ModuleType("gone")
    sys.modules["gone"] = module
    try:
        exec("def terms(x):\n    for k in range(3):\n        yield x * k\n", vars(module))
        held = types.SimpleNamespace(terms=module.terms)

        def f(x):
            return np.sum(sum(held.terms(x)))

        g = tg.grad(f)
        assert np.array_equal(g(np.ones(2)), [3.0, 3.0])
    finally:
        del sys.modules["gone"]
    assert np.array_equal(g(np.ones(3)), [3.0, 3.0, 3.0])
    held.terms = types.FunctionType(held.terms.__code__, {"__name__": "another"})
    assert np.array_equal(g(np.ones(2)), [3.0, 3.0])
    assert np.array_equal(tg.grad(f)(np.ones((2, 2))), np.full((2, 2), 3.0))


def test_what_map_calls_may_end_it_while_another_thread_runs():
    """Then no run is made again, so `map` is left to C code."""
    ends = threading.Event()
    other = threading.Thread(target=ends.wait)
    other.start()
    try:

        def f(x):
            few = iter([1.0, 2.0, 3.0])
            s = 0.0
            for v in map(lambda w: w * next(few), x):
                s = s * 0.5 + v
            return s * x[0]

        compiled = tg.value_and_grad(f)
        for n in (12, 13, 14):
            x = drawn(n, n)
            assert_same_bits(split(compiled(x)), run_eagerly(f, (x,)), str(n))
    finally:
        ends.set()
        other.join()
