"""Programs with `min`, `sum`, `reduce` and generator expressions enter; their loops stay loops."""

from __future__ import annotations

import inspect
import operator
from functools import reduce
from itertools import pairwise
from types import FunctionType

import numpy as np
import pytest
from checks import assert_same_bits, run_eagerly, split

import tracegrad as tg


def error_of(function):
    """What a function of three numbers raises."""
    with pytest.raises(Exception) as caught:
        function(np.arange(3.0))
    return type(caught.value), str(caught.value)


def hinge(x):
    s = 0.0
    for v in x:
        s += max(0, 1 - v)
    return s


def clipped(v, low, high):
    return max(low, min(v, high))


def clipped_in_a_helper(x):
    s = 0.0
    for v in x:
        s += clipped(v, -1, 1) ** 2
    return s


def warped(x):
    n = len(x) // 2
    a, b = x[:n], x[n:]
    costs = np.full((n + 1, n + 1), np.inf)
    costs[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            least = min(costs[i - 1, j], costs[i, j - 1], costs[i - 1, j - 1])
            costs[i, j] = (a[i - 1] - b[j - 1]) ** 2 + least
    return costs[-1, -1]


def nearest(x):
    centers = [-1.0, 0.0, 1.0]
    s = 0.0
    for v in x:
        s += min((v - m) ** 2 for m in centers)
    return s


def largest_row(x):
    return max(x) * 2


def sum_of_squares(x):
    return sum(v * v for v in x)


def pairs(x):
    return sum(a * b for a, b in zip(x[1:], x[:-1]))


def by_number(x):
    return sum(x[i] * i for i in range(len(x)))


def nested(x):
    return sum(sum(v * w for w in x[:3]) for v in x)


def listed(x):
    values = list(v * 2 for v in x)
    return np.sum(np.stack(values) ** 2)


def discounted(x):
    return reduce(lambda total, v: 0.9 * total + v, x)


def product(x):
    return reduce(operator.mul, [1 + 0.01 * v for v in x], 2.0)


def conditional(x):
    return sum((v * v for v in x if v > 0), x[0] * 0.5)


def conditional_from_zero(x):
    return x[0] * 2 + sum(v * w for v, w in zip(x, x[::-1]) if v > w or v < -1)


def counted(x):
    return x[0] * sum(1.0 for v in x if v > 0)


def largest_of_some(x):
    return max((v * v for v in x if v < 0.5), default=x[0] * 2)


def least_difference(x):
    return min(v - w for v in x for w in x[:10])


def discounted_of_some(x):
    return reduce(lambda total, v: 0.9 * total + v, (v * 2 for v in x if v > 0), x[1])


def halved_where_all_are_small(x):
    return x[0] * 0.5 if all(abs(v) < 2 for v in x) else x[1] * 2


def with_some_far_out(x):
    s = x[0]
    for v in x:
        if any(abs(v - w) > 2.5 for w in x[:4]):
            s = s * 0.5 + v
    return s


def where_any_row_is_large(x):
    return np.sum(x * 2) if any(x > 2) else np.sum(x * 3)


def folded_in_turns(x):
    s = 0.0
    for v in x:
        s = s + sum(v * w for w in x[:10] if w != v)
    return s


def squares_mapped(x):
    return sum(map(lambda v: v * v if v > 0 else v, x))


def listed_by_map(x):
    return np.sum(np.stack(list(map(lambda v: v * 2, x))) ** 2)


def positive_ones(x):
    return x[0] + sum(filter(lambda v: v > 0, x)) + max(map(lambda v: v * v, x))


def where_any_is_far_out(x):
    return x[0] * 2 if any(map(lambda v: abs(v) > 2, x)) else x[1]


def nearest_by_key(x):
    near = min(x, key=lambda v: (v - 0.3) ** 2)
    far = max(x, key=abs)
    return near * far


def number_of_the_largest(x):
    number, v = max(enumerate(x), key=lambda pair: pair[1])
    return v * v * number


def nearest_of_three_in_turns(x):
    s = 0.0
    for v in x:
        s = s * 0.9 + min((x[0], x[1], x[2]), key=lambda u: (u - v) ** 2) * v
    return s


def by_a_function_made_in_turns(x):
    s = 0.0
    for v in x:

        def clipped_at_v(u):
            if u > v:  # noqa: B023
                return u - v  # noqa: B023
            return x[1] * u

        s = s * 0.9 + clipped_at_v(x[0] + s)
    return s


LOOPS = [
    *(squares_mapped, listed_by_map, positive_ones, where_any_is_far_out),
    *(hinge, clipped_in_a_helper, warped, nearest, largest_row, sum_of_squares, pairs),
    *(by_number, nested, listed, discounted, product, conditional, conditional_from_zero),
    *(counted, largest_of_some, discounted_of_some, halved_where_all_are_small),
    *(with_some_far_out, where_any_row_is_large, folded_in_turns),
    *(nearest_by_key, nearest_of_three_in_turns, by_a_function_made_in_turns),
]


def where_any_of_a_list_is_larger(x):
    s = 0.0
    for v in x:
        if any([u > v for u in x[:9]]):
            s = s * x[0] + v
        s = s + x[1]
    return s


def smallest_of_a_generator(x):
    return min(v * v + 1 for v in x)


def in_a_tuple(x):
    return sum(tuple(v * v for v in x))


def smallest_by_key(x):
    return min(x, key=lambda v: (v - 0.3) ** 2)


def with_a_default(x):
    return max((v for v in x if v > 100), default=x[0]) * x[1]


def of_two_and_more(x):
    return min(x[0], x[1]) * max(x[2], 0.5, x[3], x[4] * x[4]) + max([x[0] * 2, x[1]])


def ties(x):
    return min(x[0] * 1.0, x[0] * 2 - x[0]) + max(0.0, x[1] * 0.0)


def consumed_twice(x):
    squares = (v * v for v in x)
    return sum(squares) + 10 * sum(squares)


def partly_consumed(x):
    squares = (v * v for v in x)
    return 3 * next(squares) + sum(squares)


def sorted_by_itself(x):
    return sum(v * i for i, v in enumerate(sorted(w * w for w in x[:4])))


OTHERS = [
    *(least_difference, smallest_of_a_generator, smallest_by_key, with_a_default, of_two_and_more),
    *(in_a_tuple, ties, consumed_twice, partly_consumed, sorted_by_itself),
    *(where_any_of_a_list_is_larger, number_of_the_largest),
]
PROGRAMS = [*LOOPS, *OTHERS]
NAMES = [f.__name__ for f in PROGRAMS]


def risen(u):
    for k in range(9):
        u = 0.7 * np.tanh(u) + 0.01 * k
        if u > 0.6:
            return u
    return u * 2.0


def sums_of_a_helper_in_turns(x):
    s = 0.0
    for t in range(len(x)):
        s = 0.5 * s + sum(risen(x[t]) for _ in (1, 2))
    return s


def helper_mapped_in_turns(x):
    s = 0.0
    for t in range(len(x)):
        s = 0.5 * s + list(map(risen, [x[t], x[t - 1]]))[1]
    return s


def dict_of_a_helper_in_turns(x):
    s = 0.0
    for t in range(len(x)):
        s = 0.5 * s + dict((k, risen(x[t - k])) for k in range(2))[0]
    return s


def greatest_by_a_helper_in_turns(x):
    s = 0.0
    for t in range(len(x)):
        s = 0.5 * s + max((x[t], x[t - 1]), key=risen)
    return s


class Risen:
    def __new__(cls, u):
        self = object.__new__(cls)
        self.u = u
        for k in range(9):
            self.u = 0.7 * np.tanh(self.u) + 0.01 * k
            if self.u > 0.6:
                return self
        return self


def objects_made_in_turns(x):
    s = 0.0
    for t in range(len(x)):
        s = 0.5 * s + Risen(x[t]).u
    return s


MIDWAY = [
    *(sums_of_a_helper_in_turns, helper_mapped_in_turns, dict_of_a_helper_in_turns),
    *(greatest_by_a_helper_in_turns, objects_made_in_turns),
]
"""What a turn calls returns to native code, which makes something else of it."""


@pytest.mark.parametrize("function", MIDWAY, ids=[f.__name__ for f in MIDWAY])
@pytest.mark.parametrize("last", [0.2, 1.9])
def test_what_native_code_makes_of_results_in_turns(function, last, fresh_loops):
    f, plain = tg.value_and_grad(function), tg.compile(function)
    rising = np.concatenate([np.full(4, 0.1), np.linspace(-0.1, last, 6)])
    for x in (rising, rising * 1.1, -rising):
        assert_same_bits(plain(x), function(x))
        assert_same_bits(split(f(x)), run_eagerly(function, (x,)))


def test_sums_in_turns_stay_loops(fresh_loops):
    f = tg.compile(sums_of_a_helper_in_turns)
    f(np.concatenate([np.full(4, 0.1), np.linspace(-0.1, 1.9, 6)]))
    assert len(f.source().splitlines()) < 100


def arrays(count=3, size=12):
    random = np.random.default_rng(1)
    drawn = [random.normal(size=size) for _ in range(count)]
    return [*drawn, np.zeros(size), drawn[1][:10], drawn[0]]


@pytest.mark.parametrize("function", PROGRAMS, ids=NAMES)
def test_bits_are_those_of_eager(function):
    f, plain = tg.value_and_grad(function), tg.compile(function)
    for x in arrays():
        if function is not warped:  # eagerly it cannot fill a plain array
            assert_same_bits(split(f(x)), run_eagerly(function, (x,)))
        assert_same_bits(plain(x), function(x))


def test_gradients_of_what_is_filled_with_the_least():
    f = tg.value_and_grad(warped)
    for x in arrays()[:3]:
        value, slopes = f(x)
        assert value == warped(x)
        steps = np.eye(len(x)) * 1e-6
        found = [(warped(x + step) - warped(x - step)) / 2e-6 for step in steps]
        np.testing.assert_allclose(slopes, found, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("function", LOOPS, ids=[f.__name__ for f in LOOPS])
def test_the_source_does_not_grow_with_the_turns(function, fresh_loops):
    lengths = []
    for size in (24, 40):
        code = function.__code__.replace(co_name=f"first_called_with_{size}")
        f = tg.value_and_grad(FunctionType(code, globals()))
        f(np.random.default_rng(0).normal(size=size))
        lengths.append(len(f.source().splitlines()))
    assert lengths[0] == lengths[1] < 240
    assert "calling_builtins" not in f.source()


@pytest.mark.sampled(2)  # each function
@pytest.mark.parametrize(
    "function", [warped, nearest, sum_of_squares, discounted, conditional, with_some_far_out]
)
@pytest.mark.parametrize("backend", ["jax", "numba"])
def test_other_targets(function, backend):
    pytest.importorskip(backend)
    f = tg.value_and_grad(function, backend=backend)
    for x in arrays(2)[:2]:
        for a, b in zip(f(x), tg.value_and_grad(function)(x), strict=True):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-12, atol=1e-14)


def test_effects_of_an_expression_come_in_order():
    seen = []

    def noted(v):
        seen.append("noted")
        return v * v

    def f(x):
        total = sum(noted(v) for v in x)
        seen.append("summed")
        return total

    compiled = tg.compile(f)
    for _ in range(3):
        seen.clear()
        compiled(np.arange(3.0))
        assert seen == ["noted"] * 3 + ["summed"]


def test_errors_are_those_of_python():
    def stops(x):
        return sum(next(iter(())) for _ in x)

    def adds(x):
        return sum("a" for _ in x)

    for f in (stops, adds):
        assert error_of(tg.compile(f)) == error_of(f)


def test_a_traceback_names_the_expression():
    def f(x):
        return sum(1 // int(v) for v in x)

    with pytest.raises(ZeroDivisionError) as caught:
        tg.compile(f)(np.array([1.0, 0.0]))
    (entry,) = [entry for entry in caught.traceback if entry.name == "<genexpr>"]
    assert inspect.getsource(f).splitlines()[1].strip() == str(entry.statement).strip()


def test_any_and_all_stop_where_python_does():
    seen = []

    def noted(v):
        seen.append(len(seen))
        return v > 1

    def f(x):
        found = any(noted(v) for v in x), all(noted(v) for v in x), any(map(noted, x))
        return x * 2 if found[0] else x

    compiled = tg.compile(f)
    for x in (np.arange(9.0), -np.arange(9.0), np.arange(9.0)[::-1].copy()):
        lengths = []
        for run in (f, compiled):
            seen.clear()
            run(x)
            lengths.append(len(seen))
        assert lengths[0] == lengths[1]


def test_an_expression_that_somebody_has_goes_on_behind_any():
    def f(x):
        squares = (v * v for v in x)
        first = any(v > 3 for v in [next(squares)])
        found = any(squares)
        return next(squares) + found + first

    def in_a_list(x):
        kept = [v * 2 for v in x]
        several = [(v + w for v in kept) for w in (0.0, 1.0)]
        return any([any(g) for g in several]) + next(several[0])

    x = np.arange(1.0, 12.0)
    for function in (f, in_a_list):
        assert tg.compile(function)(x) == function(x)


def test_what_an_item_raises_is_what_python_raises():
    class Stopping:
        def __bool__(self):
            raise StopIteration("of the item")

        def __radd__(self, other):
            raise StopIteration("of the sum")

        __gt__ = __radd__

    def of_the_expression(x):
        return any(next(iter(())) for _ in x)

    def of_any(x):
        return any(Stopping() for _ in x)

    def of_a_sum(x):
        return sum(Stopping() for _ in x)

    def of_the_largest(x):
        return max(Stopping() for _ in x)

    def of_a_reduction(x):
        return reduce(lambda a, b: next(iter(())), (v for v in x))

    def of_nothing(x):
        return max(v for v in x if v > 100)

    def reduced_to_nothing(x):
        return reduce(operator.add, (v for v in x if v > 100))

    programs = [of_the_expression, of_any, of_a_sum, of_the_largest, of_a_reduction]
    for f in (*programs, of_nothing, reduced_to_nothing):
        assert error_of(tg.compile(f)) == error_of(f)


def test_floats_of_python_are_added_as_sum_adds_them():
    def f(x, count):
        large = (1e100, 1.0, -1e100)
        return x[0] * sum(0.1 * k for k in range(count)) + sum(large[k] for k in range(3))

    def after_others(x, count):
        return sum(x[0] if k == 3 else 0.1 for k in range(count)) + sum(k for k in range(count))

    x = np.random.default_rng(0).normal(size=4)
    for function in (f, after_others):
        compiled = tg.compile(function)
        for count in (5, 40, 100):
            assert_same_bits(compiled(x, count), function(x, count))


def first_of_all(x):
    rows = iter(x)
    s = next(rows)
    for v in rows:
        s = s * 0.9 + v
    return s


def first_pair(x):
    pairs = zip(x[1:], x[:-1])
    a, b = next(pairs)
    s = a * b
    for v, w in pairs:
        s = s * 0.9 + v * w
    return s


def first_numbers(x):
    numbers = iter(range(len(x)))
    s = x[next(numbers)] - x[next(numbers)]
    for k in numbers:
        s = s * 0.9 + x[k]
    return s


def first_of_a_list(x):
    values = iter([v * 2 for v in x])
    s = next(values)
    for v in values:
        s = s * 0.9 + v
    return s


def first_of_reversed(x):
    rows = reversed(x)
    s = next(rows)
    for v in rows:
        s = s * 0.9 + v
    return s


def all_that_come(x):
    rows = iter(x)
    s = 0.0
    while (v := next(rows, None)) is not None:
        s = s * 0.9 + v
    return s


def least_and_most(x):
    return min(x) * max(x) + reduce(lambda a, v: 0.9 * a + v, x)


ONE_AFTER_ANOTHER = [first_of_all, first_pair, first_numbers, first_of_a_list, least_and_most]


@pytest.mark.parametrize(
    "function", [*ONE_AFTER_ANOTHER, first_of_reversed, all_that_come], ids=lambda f: f.__name__
)
def test_what_is_asked_for_before_a_loop(function):
    f = tg.value_and_grad(function)
    for size in (20, 12, 30, 10, 9, 3, 50, 2, 1):
        x = np.random.default_rng(size).normal(size=size)
        try:
            expected = run_eagerly(function, (x,))
        except (StopIteration, RuntimeError, IndexError) as error:
            with pytest.raises(type(error)):
                f(x)
            continue
        assert_same_bits(split(f(x)), expected)


@pytest.mark.parametrize("function", ONE_AFTER_ANOTHER, ids=lambda f: f.__name__)
def test_one_version_stands_for_all_lengths(function, fresh_loops):
    f = tg.value_and_grad(function)
    for size in (20, 12, 30, 50):
        f(np.sort(np.random.default_rng(size).normal(size=size)))
    assert " 1 version," in str(f.explain())


def test_maps_that_somebody_has_go_on():
    def f(x):
        doubled, kept = map(lambda v: v * 2, x), filter(lambda v: v > 2, x)
        first = any(doubled)
        return next(doubled) + sum(doubled) + next(kept) * sum(kept) + first

    def in_an_expression(x):
        several = [map(lambda v: v * 2, x), map(lambda v: v * 3, x)]
        return sum(map(next, several)) + sum(several[0]) * len(list(several[1]))

    def ended(x):
        return sum(map(lambda v: next(iter(())), x)) + x[0]

    x = np.arange(1.0, 12.0)
    for function in (f, in_an_expression, ended):
        assert tg.compile(function)(x) == function(x)


def with_some_far_from_all(x):
    s = 0.0
    for v in x:
        if any(abs(v - w) > 3.5 for w in x[:10]):
            s = s * 0.5 + v
    return s


def test_a_loop_of_which_runs_never_see_the_rest_is_unrolled(fresh_loops):
    f = tg.value_and_grad(with_some_far_from_all)
    x = np.random.default_rng(0).normal(size=60) * 1.5
    for _ in range(4):
        assert_same_bits(split(f(x)), run_eagerly(with_some_far_from_all, (x,)))
    assert "version 1" in str(f.explain())


def test_a_loop_of_which_one_call_sees_no_rest_is_tried_again(fresh_loops):
    """The first number to add up comes last but one: of that loop there is no more to see."""

    def positive(x):
        return sum(v * v for v in x if v > 0)

    short, f = np.array([*[-1.0] * 8, 0.5, 2.0]), tg.value_and_grad(positive)
    assert_same_bits(split(f(short)), run_eagerly(positive, (short,)))
    x = np.random.default_rng(0).normal(size=200)
    assert_same_bits(split(f(x)), run_eagerly(positive, (x,)))
    assert len(f.source(x).splitlines()) < 100


def differences(x):
    s = 0.0
    for a, b in pairwise(x):
        s = s + (b - a) ** 2
    return s + np.sum(np.sin(x))


@pytest.mark.parametrize("length", [3, 6, 12, 20])
def test_pairs_that_share_rows_add_to_gradients_one_by_one(length, monkeypatch):
    x = np.random.default_rng(length).normal(size=length)
    gradient = tg.value_and_grad(differences)
    compiled = gradient(x)
    monkeypatch.setattr(tg.config, "compile", False)
    assert_same_bits(gradient(x), compiled)
