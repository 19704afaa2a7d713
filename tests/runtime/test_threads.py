"""Many threads call one compiled function, its first call included; exceptions end traces half way.

Python switches threads as often as it can. What every call returns is compared with what the plain
function gives, and what the callable has compiled in the end with what one thread makes it compile.
"""

from __future__ import annotations

import inspect
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits

import tracegrad as tg
from tracegrad.runtime.thread_state import STATE

THREADS = 8
WAIT = 240.0  # seconds after which a thread that waits is taken for dead


@pytest.fixture(autouse=True)
def restless() -> Iterator[None]:
    """Threads take turns after a microsecond."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(work: Callable[[int], None], count: int = THREADS) -> None:
    """Runs `work` on all threads at once; the first error is raised here."""
    barrier, errors = threading.Barrier(count), []

    def run(number: int) -> None:
        try:
            barrier.wait()
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert not any(thread.is_alive() for thread in threads), "a thread waits for ever"
    if errors:
        raise errors[0]


# -- programs -----------------------------------------------------------------------------------


def straight(x):
    return np.sum(np.tanh(x) * x)


def branches(x):
    h = np.tanh(x)
    if h[0] > 0:
        return np.sum(h * h) if h[1] > 0 else np.sum(h) * 2.0
    return -np.sum(h * x)


def loop(x):
    total = np.sum(x * 0.0)
    for item in x:
        if item > 0:
            total = total + item * item
    return total


def helper(x):
    return x * x if np.sum(x) > 0 else x


def calls_others(x):
    return np.sum(np.sin(helper(x)))


def fills(x):
    y = x * 1.0
    y[1:] = x[:-1] * 2.0
    y += x
    return np.sum(y * x)


PROGRAMS = [straight, branches, loop, calls_others, fills]
INPUTS = [np.array([a, b, 0.5]) for a in (1.0, -1.0) for b in (2.0, -2.0)]
INPUTS += [np.array([0.3, -0.7])]


def sequential(f: Any, make: Any) -> Any:
    """The callable after one thread has called it until nothing new is compiled."""
    made = make(f)
    for _ in range(12):
        for x in INPUTS:
            made(x)
    return made


@pytest.mark.parametrize("make", [tg.value_and_grad, tg.compile, tg.grad])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_results_are_those_of_one_thread(f, make):
    alone = sequential(f, make)
    expected = [alone(x) for x in INPUTS]
    for _ in range(2):
        made = make(f)

        def work(number: int, made: Any = made) -> None:
            order = np.random.default_rng(number)
            for i in order.integers(len(INPUTS), size=60):
                x = INPUTS[i].copy()
                assert_same_bits(made(x), expected[i])
                assert_same_bits(x, INPUTS[i])

        in_threads(work)
        for _ in range(12):
            for x, wanted in zip(INPUTS, expected, strict=True):
                assert_same_bits(made(x), wanted)
        assert made.cache_info().versions == alone.cache_info().versions
        assert not made._given_up


def test_sources_are_asked_for_while_others_call():
    made = tg.value_and_grad(branches)
    texts: list[str] = []

    def work(number: int) -> None:
        for x in INPUTS[:4]:
            if number % 2:
                texts.append(made.source(x))
                made.graph(x)
                made.cache_info()
                assert "version" in made.explain()
            else:
                made(x)

    in_threads(work)
    assert all("def branches_value_and_grad(x):" in text for text in texts)
    assert made.cache_info().versions == 1


def test_caches_are_cleared_while_others_call():
    made = tg.grad(straight)
    expected = made(INPUTS[0])

    def work(number: int) -> None:
        for _ in range(10):
            if number == 0:
                made.clear_cache()
            assert_same_bits(made(INPUTS[0]), expected)

    in_threads(work)
    assert made.cache_info().versions <= 1


def test_ints_that_vary():
    made = tg.compile(lambda x, n: x * n + n)

    def work(number: int) -> None:
        for n in range(12):
            assert_same_bits(made(INPUTS[0], n + number), INPUTS[0] * (n + number) + n + number)

    in_threads(work)


def test_on_jax():
    pytest.importorskip("jax")
    made = tg.value_and_grad(branches, backend="jax")
    expected = [tg.value_and_grad(branches)(x) for x in INPUTS]

    def work(number: int) -> None:
        for i in np.random.default_rng(number).integers(4, size=8):
            assert_close(made(INPUTS[i]), expected[i], 1e-14)

    in_threads(work, 4)


# -- state --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_one_tensor_is_handed_out_by_racing_threads():
    """The array of a Tensor goes out in one thread, and is gone in another."""
    for _ in range(20):
        x = tg.tensor(np.arange(3.0))

        def work(number: int, x: Any = x) -> None:
            for _ in range(300):
                assert x.numpy().sum() == 3.0

        in_threads(work)
        x.numpy()[0] = 5.0
        assert (x * 1.0).sum().item() == 8.0


class Norm:
    """Keeps the last mean that it has seen."""

    def __init__(self) -> None:
        self.mean = np.zeros(3)

    def __call__(self, x: Any) -> Any:
        self.mean = x * 2.0 if x[0] > 0 else x * 3.0
        return np.sum(x * x)


def test_stores_of_racing_calls():
    """The place holds what some call wrote, and the function is compiled as one that stores."""
    xs = [np.full(3, 1.0 + i) * (-1) ** i for i in range(THREADS)]
    for _ in range(5):
        norm = Norm()
        made = tg.compile(norm)

        def work(number: int, made: Any = made, norm: Any = norm) -> None:
            for x in xs[number:] + xs[:number]:
                assert_same_bits(made(x), np.sum(x * x))
                kept = np.asarray(norm.mean)
                assert any(np.array_equal(kept, x * k) for x in xs for k in (2.0, 3.0))

        with warnings.catch_warnings():
            warnings.simplefilter("error", tg.errors.RecompileWarning)
            in_threads(work)
        for _ in range(3):
            for x in xs:
                assert_same_bits(made(x), np.sum(x * x))
                assert_same_bits(norm.mean, x * (2.0 if x[0] > 0 else 3.0))
        assert not made._given_up
        assert made.cache_info().versions == 1


def test_each_object_keeps_what_its_own_thread_stores():
    class Counter:
        def __init__(self) -> None:
            self.total = np.zeros(2)

        @tg.compile
        def add(self, x):
            self.total = self.total + x
            return np.sum(self.total)

    counters = [Counter() for _ in range(THREADS)]

    def work(number: int) -> None:
        for i in range(20):
            counters[number].add(np.array([1.0, float(number)]))
            assert_same_bits(counters[number].total, np.array([1.0, number]) * (i + 1))

    in_threads(work)


def test_each_thread_draws_from_a_generator_of_its_own():
    @tg.compile
    def noisy(x, g):
        step = g.normal(size=3)
        return x + step if step[0] > 0 else x - step + g.random(3)

    def work(number: int) -> None:
        ours, numpys = tg.random.Generator(number), np.random.default_rng(number)
        for _ in range(20):
            step = numpys.normal(size=3)
            expected = INPUTS[0] + step if step[0] > 0 else INPUTS[0] - step + numpys.random(3)
            assert_same_bits(noisy(INPUTS[0], ours), expected)

    in_threads(work, 4)


def test_no_number_is_drawn_twice_from_a_shared_generator():
    g = tg.random.Generator(5)
    noisy = tg.compile(lambda x: x + g.random(2))
    found: list[float] = []

    def work(number: int) -> None:
        for _ in range(10):
            found.extend(noisy(np.zeros(2)).tolist())

    in_threads(work)
    assert len(set(found)) == len(found) == THREADS * 20


def test_effects_are_neither_lost_nor_done_twice():
    seen: list[int] = []

    @tg.compile
    def f(x, n):
        seen.append(n)
        return x * 2.0

    def work(number: int) -> None:
        for i in range(10):
            assert f(1.0 + i, f"{number}-{i}") == 2.0 * (1.0 + i)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        in_threads(work)
    assert sorted(seen) == sorted(f"{n}-{i}" for n in range(THREADS) for i in range(10))


# -- waiting for each other ---------------------------------------------------------------------


@pytest.mark.parametrize("make", [tg.compile, tg.grad, tg.value_and_grad])
def test_a_traced_function_may_wait_for_another_thread(make):
    """The other thread calls the same compiled function, which is being traced."""
    expected = make(straight)(INPUTS[0])
    results: list[Any] = []
    asked = threading.local()
    outer = threading.get_ident

    main: list[int] = []

    def f(x):
        if threading.get_ident() in main and not getattr(asked, "done", False):
            asked.done = True
            thread = threading.Thread(target=lambda: results.append(made(INPUTS[0])), daemon=True)
            thread.start()
            thread.join(WAIT)
            assert not thread.is_alive(), "they wait for each other"
        return np.sum(np.tanh(x) * x)

    made = make(f)

    def call() -> None:
        main.append(outer())
        results.append(made(INPUTS[0]))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        in_threads(lambda number: call(), 1)
    assert len(results) == 2
    for result in results:
        assert_same_bits(result, expected)


def test_threads_that_meet_inside_the_function():
    """All of them are inside the first call at once: each waits for all others."""
    meet = threading.Barrier(4)
    made = tg.grad(lambda x: np.sum(x * x) + 0.0 * meet.wait(WAIT))
    found: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        in_threads(lambda number: found.append(made(INPUTS[0])), 4)
    assert len(found) == 4
    for gradient in found:
        assert_same_bits(gradient, 2.0 * INPUTS[0])


def test_recursion_on_many_threads():
    @tg.compile
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    @tg.compile
    def halve(x):
        return x if x < 1.0 else halve(x / 2.0)

    def work(number: int) -> None:
        for n in (3, 1, 2, 4):
            assert_close(power(INPUTS[0], n), INPUTS[0] ** n, 1e-15)
            assert halve(float(2 ** (n + number % 3))) == 0.5
            assert_close(tg.grad(lambda x, n=n: power(x, n))(2.0), n * 2.0 ** (n - 1), 1e-15)

    in_threads(work)


# -- exceptions ---------------------------------------------------------------------------------


class Stop(BaseException):
    """Like KeyboardInterrupt: no Exception."""


class Keeper:
    def __init__(self) -> None:
        self.mean = np.ones(3)
        self.last: Any = None


RNG = tg.random.Generator(11)
INNER = tg.compile(lambda x: x * 3.0)


def long_program(x, keeper, at):
    at(1)
    keeper.mean = keeper.mean * 0.5 + x
    at(2)
    y = np.sin(x) + RNG.normal(size=3)
    at(3)
    keeper.last = y
    y = INNER(y)
    at(4)
    if y[0] > x[1]:
        at(5)
        y = y * 2.0
    with tg.no_grad():
        z = y * 1.0
        at(6)
    slope = tg.grad(lambda v: np.sum(v * y) + at(7))(x)
    at(8)
    return np.sum(y * x + slope + z)


LINES = sum("at(" in line for line in inspect.getsource(long_program).splitlines()[1:])


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, Stop, LookupError])
@pytest.mark.parametrize("make", [tg.compile, tg.grad, tg.value_and_grad])
def test_an_exception_at_any_line_leaves_what_was_done_before_it(make, error):
    keeper, stop = Keeper(), 0
    kept = keeper.mean, keeper.last
    x = np.array([0.3, -5.0, 0.9])
    where = RNG.state

    def at(line: int) -> float:
        if line == stop:
            raise error(f"at line {line}")
        return 0.0

    def f(x):
        return long_program(x, keeper, at)

    expected = None
    for attempt in range(2):  # the second time from a version that exists
        for stop in range(1, LINES + 1):
            made = make(f)
            before = made.cache_info()
            with pytest.raises(error, match=f"at line {stop}"):
                f(x)
            done, drawn = (keeper.mean, keeper.last), RNG.state
            keeper.mean, keeper.last = kept
            RNG.state = where
            with pytest.raises(error, match=f"at line {stop}"):
                made(x)
            assert STATE.trace is None and STATE.grad_enabled and not STATE.special
            assert made.cache_info().versions == before.versions == 0
            assert repr(RNG.state) == repr(drawn)
            assert_same_bits((keeper.mean, keeper.last), done)
            assert not made._tracing.locked()
            stop = 0
            keeper.mean, keeper.last = kept
            RNG.state = where
            found = made(x)
            keeper.mean, keeper.last = kept
            RNG.state = where
            expected = found if expected is None else expected
            assert_same_bits(found, expected, f"attempt {attempt}")


def test_a_path_that_raises_is_no_path():
    """An arm that raises leaves the version as it is, on every call, and others grow later."""

    def f(x):
        y = x * 2.0
        if y[0] < 0:
            raise ValueError("negative")
        return np.sum(y if y[1] > 0 else -y)

    made = tg.value_and_grad(f)
    made(INPUTS[0])
    for _ in range(5):
        with pytest.raises(ValueError, match="negative"):
            made(INPUTS[2])
    assert made.cache_info().versions == 1
    made(INPUTS[1])
    assert (made.cache_info().versions, made.cache_info().traces) == (1, 6)
    assert_same_bits(made(INPUTS[1]), (np.sum(-INPUTS[1] * 2.0), np.full(3, -2.0)))


def test_exceptions_on_many_threads():
    def f(x):
        y = np.tanh(x)
        if y[0] < 0:
            raise KeyError("negative")
        return np.sum(y * x)

    made = tg.value_and_grad(f)
    expected = tg.value_and_grad(straight)(INPUTS[0])

    def work(number: int) -> None:
        for i in range(20):
            if (number + i) % 3 == 0:
                with pytest.raises(KeyError):
                    made(INPUTS[2])
            else:
                assert_same_bits(made(INPUTS[0]), expected)

    in_threads(work)
    assert made.cache_info().versions == 1
    assert STATE.trace is None
