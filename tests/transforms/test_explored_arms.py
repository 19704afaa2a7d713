"""Arms that a first call did not take: its version knows them, and nobody sees what they do."""

from __future__ import annotations

import builtins
import logging
import os
import random
import subprocess
import sys
import threading
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from checks import assert_close, assert_same_bits, run_eagerly, split

import tracegrad as tg
from tracegrad.world.explorer import MOST_NODES, Explorer


def twelve(x):
    s = np.sum(x)
    for_all = 0.1
    if x[0] > 0:
        s = s + np.sin(x[0])
    if x[1] > 0:
        s = s * 1.1
    else:
        s = s - x[1]
    if x[2] > 1:
        for_all = 0.5
    elif x[2] > 0:
        for_all = 0.2
    side = 1.0 if x[3] > 0 else -1.0
    if x[4] > 0 and x[5] > 0:
        s = s + x[4] * x[5]
    bonus = 0.0
    if s > 0:
        bonus = 0.1 * s
    return s * s * side + for_all * x[3] + bonus


@pytest.mark.parametrize("transform", [tg.compile, tg.grad, tg.value_and_grad, tg.jacobian])
def test_one_version_knows_all_arms_from_the_first_call_on(transform):
    made, rng = transform(twelve), np.random.default_rng(0)
    for _ in range(60):
        x = rng.normal(size=6)
        found = made(x)
        if transform is tg.value_and_grad:
            assert_same_bits(split(found), run_eagerly(twelve, (x,)))
        elif transform is tg.compile:
            assert_same_bits(found, twelve(x))
    info = made.cache_info()
    assert (info.versions, info.misses, info.traces) == (1, 1, 1)


HELD = SimpleNamespace(count=0, best=np.inf, log=[], rate=2.0, seen={}, array=np.ones(3))
RNG = np.random.default_rng(0)
ITEMS = iter([1.0, 2.0, 3.0])
DONE = []


class Tracked:
    @property
    def value(self):
        DONE.append("property")
        return 1.0

    def __call__(self, x):
        DONE.append("call")
        return x

    def __del__(self):
        pass


TRACKED = Tracked()


def leaves_the_process(x):
    sys.exit(3)


def counts(x):
    HELD.count += 1
    return x


def appends(x):
    HELD.log.append(x)
    return x


def puts(x):
    HELD.seen["x"] = 1
    return x


def writes_an_array(x):
    HELD.array[0] = 7.0
    return x


def writes_in_place(x):
    np.add(HELD.array, 1.0, out=HELD.array)
    return x


def writes_its_argument(x):
    x[0] = 3.0
    return x


def stores(x):
    HELD.best = x[0]
    return x


def sleeps(x):
    time.sleep(30)
    return x


def starts_a_thread(x):
    threading.Thread(target=DONE.append, args=("thread",)).start()
    return x


def runs_a_process(x):
    subprocess.run(["false"], check=True)
    return x


def kills(x):
    os._exit(3)
    return x


def opens(x):
    with open("/nowhere/at/all") as file:
        return x * len(file.read())


def asks(x):
    return x * float(builtins.input())


def never_ends(x):
    while x[0] > -5.0:
        x = x + 1.0
    return x


def never_ends_by_recursion(x):
    return never_ends_by_recursion(x + 1.0)


def goes_on_for_long(x):
    for _ in range(10**9):
        x = x + 1.0
    return x


def raises(x):
    raise ValueError("not for these")


def divides_by_zero(x):
    return x * (1.0 / (HELD.rate - 2.0))


def draws(x):
    return x * RNG.normal()


def draws_of_python(x):
    return x * random.random()


def takes_the_next(x):
    return x * next(ITEMS)


def warns(x):
    warnings.warn("not so large", stacklevel=1)
    return x


def logs(x):
    logging.getLogger("arms").error("large")
    return x


def prints(x):
    print("large", x)
    return x


def reads_a_property(x):
    return x * TRACKED.value


def calls_an_object(x):
    return TRACKED(x)


def takes_a_bad_logarithm(x):
    return np.log(x - 100.0) * np.linalg.inv(np.zeros((3, 3)))[0, 0]


def reads_a_number(x):
    return x * HELD.seen.get(int(x[0]), 1.0)


def other_shapes(x):
    return x[:2].reshape(-1, 1) @ np.ones((1, 3))


ARMS = [
    *(leaves_the_process, counts, appends, puts, writes_an_array, writes_in_place, stores, sleeps),
    *(writes_its_argument, starts_a_thread, runs_a_process, kills, opens, asks, never_ends, raises),
    *(never_ends_by_recursion, goes_on_for_long, divides_by_zero, draws, draws_of_python, warns),
    *(takes_the_next, logs, prints, reads_a_property, calls_an_object, takes_a_bad_logarithm),
    *(reads_a_number, other_shapes),
]


@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad])
@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.__name__)
def test_what_an_arm_does_that_no_call_takes_is_not_done(arm, transform, capsys, caplog):
    def f(x):
        s = x * 2.0
        if x[1] > 0.0:
            s = s + 1.0
        if np.sum(x) > 100.0:
            s = arm(s)
        if x[2] > 0.0:
            s = s * 3.0
        return np.sum(s)

    def state():
        held = {name: np.copy(value) for name, value in vars(HELD).items() if name != "seen"}
        return held, dict(HELD.seen), list(DONE), RNG.bit_generator.state, random.getstate()

    made, before = transform(f), state()
    left = ITEMS.__length_hint__()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(6):
            x = np.array([0.5, (-1.0) ** i, (-1.0) ** (i // 2)])
            given = x.copy()
            found = made(x)
            assert_close(found if transform is tg.compile else found[0], f(x), 0)
            assert_same_bits(x, given)
    np.testing.assert_equal(state(), before)
    assert ITEMS.__length_hint__() == left
    assert capsys.readouterr() == ("", "") and not caplog.records


def test_an_arm_that_calls_itself_without_end_stops_soon(monkeypatch):
    recorded, plain = [], Explorer.computes

    def computes(self, values, operands):
        recorded.append(len(self.trace.builder.nodes))
        plain(self, values, operands)

    def again(x):
        return again(x + 1.0)

    def f(x):
        y = x * 2.0
        if np.sum(y) > 100.0:
            y = again(y)
        return np.sum(y * y)

    monkeypatch.setattr(Explorer, "computes", computes)
    made = tg.compile(f)
    assert made(np.ones(3)) == made(np.ones(3)) == 12.0
    assert MOST_NODES < max(recorded) < 2 * MOST_NODES


def test_lengths_stay_free_where_an_unknown_arm_fixes_them():
    def f(x):
        s = np.sum(x)
        if s > 100.0:
            s = s + np.sum(x.reshape(2, -1)[0]) * x.shape[0]
        return s * 2.0

    made = tg.value_and_grad(f)
    for n in (4, 6, 8, 3, 5, 1, 2):
        assert_close(made(np.ones(n))[0], 2.0 * n, 0)
    assert made.cache_info().versions == 1


def test_state_that_unknown_arms_read_costs_one_version():
    class Model:
        step = 0

        def loss(self, x):
            s = np.sum(x * x)
            if s > 1e6:
                s = s / self.step if self.step > 100 else s * 0.5
            return s + 1.0

    model = Model()
    made = tg.value_and_grad(model.loss)
    for i in range(40):
        model.step = i
        assert_close(made(np.full(3, float(i)))[0], 3.0 * i * i + 1.0, 0)
    assert made.cache_info().versions <= 3


def test_profiles_count_what_a_call_does():
    def f(x):
        s = np.sum(x)
        if s > 100.0:
            s = np.exp(s)
        return np.tanh(s)

    with tg.autograd.profiler.profile() as found:
        tg.compile(f)(np.ones(3))
    assert "tanh" in str(found) and "np.exp" not in str(found)


def mean_by_arms(x):
    mean = x.sum() / len(x)
    if mean > 0.2:
        mean = mean * 2.0
    else:
        mean = mean - x[x.shape[0] - 1]
    if x[0] > 0.3:
        mean = mean + x[0] * (len(x) - 1)
    weights = np.arange(len(x)) / x.size
    if mean < 0.0:
        mean = mean + weights @ x
    return mean / np.sqrt(len(x))


@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad])
def test_lengths_beside_ifs_stay_free(transform):
    made, rng = transform(mean_by_arms), np.random.default_rng(0)
    for _ in range(60):
        x = rng.normal(size=rng.integers(3, 9))
        found = made(x)
        if transform is tg.value_and_grad:
            assert_same_bits(split(found), run_eagerly(mean_by_arms, (x,)))
        else:
            assert_same_bits(found, mean_by_arms(x))
    info = made.cache_info()
    assert (info.versions, info.misses, info.traces) == (1, 1, 1)


def test_lengths_stay_free_on_paths_that_a_later_call_takes():
    """The arms return, so that they do not meet: each was a version for its length alone."""

    def f(x):
        if x[0] < -0.5:
            return np.sum(x) * len(x)
        total = x.sum() / len(x)
        if total > 0.3:
            return total * x.shape[0]
        return total + np.zeros(len(x)).sum() + x[len(x) - 1]

    made, rng = tg.value_and_grad(f), np.random.default_rng(1)
    for _ in range(60):
        x = rng.normal(size=rng.integers(3, 9))
        assert_same_bits(split(made(x)), run_eagerly(f, (x,)))
    assert made.cache_info().versions == 1


def test_a_loop_over_a_length_in_a_later_path_is_for_that_length_or_stays_a_loop():
    def f(x):
        if x[0] > 0.0:
            return np.sum(x)
        total = 0.0
        for i in range(len(x)):
            total = total + x[i] * i
        return total / len(x)

    made, rng = tg.value_and_grad(f), np.random.default_rng(2)
    made(np.ones(4))
    for n in [3, 5, 9, 20, 40, 3, 7, 30]:
        for sign in (1.0, -1.0):
            x = rng.normal(size=n)
            x[0] = sign * abs(x[0])
            assert_same_bits(split(made(x)), run_eagerly(f, (x,)))
