"""Loops with a budget: what they keep, the same bits, and what the source says of it."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg
from tracegrad.differentiation.loops.checkpoint_schedules import Schedule, schedule_of


def recurrent(x, w):
    h = w * 0.0
    for t in range(len(x)):
        h = np.tanh(h * w + x[t])
    return (h * h).sum()


def gated(x, w):
    h = w * 0.0
    c = w * 1.0
    for t in range(1, len(x)):
        i = 1 / (1 + np.exp(-(h + x[t])))
        c = (1 - i) * c + i * np.tanh(h * w + x[t - 1])
        h = i * np.tanh(c)
    return (h * h).sum()


def collected(x, w):
    out = []
    h = w * 0.0
    for t in range(len(x)):
        h = np.tanh(h * w + x[t])
        out.append(h)
    return (np.stack(out) ** 2).sum()


def settled(x, w):
    h = w * 0.0
    while True:
        n = np.tanh(0.5 * h + w * x[0])
        if abs(n - h).max() < 1e-9:
            break
        h = n
    return (h * h).sum()


def left(x, w):
    h = w * 0.0
    for t in range(len(x)):
        h = np.tanh(0.5 * h + w * x[t] ** 2)
        if h.sum() > 1.2:
            return h.sum() * 3.0
    return (h * h).sum()


def either(x, w):
    s = w[0]
    for t in range(len(x)):
        s = s + x[t] ** 2 * w[0] if x[t] > 0 else s - np.sin(x[t]) * s * w[1]
    return s


def nested(x, w):
    s = w * 1.0
    for i in range(12):
        for j in range(len(x)):
            s = np.tanh(s * w + 0.1 * x[j] * (i + 1))
    return s.sum()


def summed(x, w):
    h = w * 0.0
    s = 0.0
    for t in range(len(x)):
        h = np.tanh(h * w + x[t])
        s = s + (h * h).sum()
    return s


def summed_around(x, w):
    h = w * 0.0
    s = 0.0
    for t in range(len(x)):
        for _ in range(9):
            h = np.tanh(h * w + 0.1 * x[t])
        s = s + (h * h).sum()
    return s


def summed_around_while(x, w):
    h = w * 0.0
    s = 0.0
    for t in range(len(x)):
        while (h * h).sum() < 3.0:
            h = 1.5 * h + np.tanh(h * w + 0.1 + 0.1 * x[t])
        h = 0.1 * h
        s = s + (h * h).sum()
    return s


def said_by(source):
    """The header as one line."""
    return " ".join(line.strip("# ") for line in source.splitlines() if line.startswith("#"))


def value_of(function, x, w):
    return tg.value_and_grad(function, argnums=(0, 1))(x, w)


CASES = [(recurrent, 0), (gated, 1200), (collected, 200), (settled, 0)]
CASES += [(left, 300), (either, 100), (nested, 1200)]
CASES += [(f, 0) for f in (collected, summed, summed_around, summed_around_while)]


@pytest.mark.parametrize(("function", "budget"), CASES, ids=[f"{f.__name__}-{n}" for f, n in CASES])
def test_no_bit_changes(function, budget):
    random = np.random.default_rng(2)
    bounded = tg.value_and_grad(tg.checkpoint(function, max_bytes=budget), argnums=(0, 1))
    for length in (23, 23):
        x, w = random.normal(size=length), random.normal(size=3)
        assert_same_bits(bounded(x, w), value_of(function, x, w))
    assert "turns are made again" in said_by(bounded.source(x, w))


def test_a_loop_that_fits_keeps_all():
    x, w = np.ones(23), np.ones(3)
    source = tg.grad(tg.checkpoint(recurrent, max_bytes=10**6)).source(x, w)
    loops = [line for line in source.splitlines() if line.lstrip().startswith("for t in")]
    assert len(loops) == 2
    assert "keeps what" not in said_by(source)


def steps(h, a):
    for t in range(400):
        h = np.tanh(h * a + 0.01 * t)
    return (h * h).sum()


def peak_of(function, *args):
    function(*args)
    function(*args)
    tracemalloc.start()
    try:
        function(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_peak_is_within_the_budget_and_the_header_says_so():
    random = np.random.default_rng(0)
    h, a = random.normal(size=2000), random.normal(size=2000)
    state = 8 * 2000
    for budget, names in ((42 * state, "775 runs of 400"), (25 * state, "823 runs of 400")):
        bounded = tg.grad(tg.checkpoint(steps, max_bytes=budget), argnums=(0, 1))
        assert peak_of(bounded, h, a) < budget + 8 * state  # and what the statements make
        assert names in said_by(bounded.source(h, a))
        assert_same_bits(bounded(h, a), tg.grad(steps, argnums=(0, 1))(h, a))
    assert peak_of(tg.grad(steps, argnums=(0, 1)), h, a) > 400 * state


def long(x):
    for _ in range(10_000):
        x = x - 0.01 * np.sin(x)
    return x.sum()


class Counting:
    """NumPy, whose sines are counted."""

    def __init__(self):
        self.count = 0

    def __getattr__(self, name):
        return getattr(np, name)

    def sin(self, x):
        self.count += 1
        return np.sin(x)


def test_10_000_turns_within_125_states_are_made_2_2_times():
    x = np.random.default_rng(0).normal(size=1000)
    state = 8 * 1000
    bounded = tg.grad(tg.checkpoint(long, max_bytes=125 * state))
    assert_same_bits(bounded(x), tg.grad(long)(x))
    assert peak_of(bounded, x) < 125 * state + 8 * state  # and what the statements make
    source, counting = bounded.source(x), Counting()
    names = {}
    exec(source, names)
    names["np"] = counting
    names["long_grad"](x)
    assert f"{counting.count} runs of 10000 turns" in said_by(source)
    assert counting.count <= 2.2 * 10_000


def test_schedules_have_room_for_all_turns_within_their_places():
    for turns in (4, 23, 100, 777, 10_000):
        for places in (1, 3, 10, 50, 126):
            for each in (1, 2, 5):
                schedule = schedule_of(turns, places, each)
                lengths = schedule.lengths(turns)
                assert sum(map(sum, lengths)) == turns
                assert min(map(min, lengths)) >= 0
                for k, segment in enumerate(lengths):
                    for part, length in enumerate(segment):
                        assert k + part + length * each <= schedule.places
                assert schedule.runs(turns, 0) <= 3 * turns
                if schedule.places > places:  # there are none of fewer
                    fewer = schedule.places - 1
                    assert not Schedule(fewer, each, max(fewer - each + 1, 1), 1).holds(turns)


def test_settings_hold_for_all_loops():
    x, w = np.linspace(-1, 1, 40), np.array([0.5, -0.3, 0.9])
    gradient = tg.grad(recurrent, argnums=(0, 1))
    wanted = gradient(x, w)
    tg.config.max_bytes = 500
    try:
        assert "keeps what" in said_by(gradient.source(x, w))
        assert_same_bits(gradient(x, w), wanted)
    finally:
        tg.config.max_bytes = None
    assert "keeps what" not in said_by(gradient.source(x, w))
    with pytest.raises(tg.errors.ArgumentError, match="max_bytes"):
        tg.config.max_bytes = "2 MB"
    assert tg.config.max_bytes is None


def test_second_derivatives_go_through_segments():
    x, w = np.linspace(-1, 1, 20), np.array([0.5, -0.3, 0.9])
    bounded = tg.hessian(tg.checkpoint(recurrent, max_bytes=200), argnums=1)
    assert_same_bits(bounded(x, w), tg.hessian(recurrent, argnums=1)(x, w))
    assert "keeps what" in said_by(bounded.source(x, w))


def left_in_a_turn(x, c):
    for _ in range(20):
        x = np.sin(x)
        if x[0] < c:
            break
    return np.sum(x)


def left_and_goes_on(x, c):
    for t in range(20):
        x = np.sin(x) + 0.01 * t
        if x[0] < c:
            return np.sum(x * x)
    return np.sum(np.cos(x))


def rows_until(x, c):
    h = x
    for row in np.linspace(1.0, 2.0, 400).reshape(20, 20):
        h = np.tanh(h * row)
        if np.sum(h) < c:
            break
    h = h * 2.0
    return np.sum(h**3)


@pytest.mark.parametrize("budget", [100, 300, 600, 1000, 2000])
@pytest.mark.parametrize("function", [left_in_a_turn, left_and_goes_on, rows_until])
def test_a_loop_with_a_budget_is_left_in_any_turn(function, budget):
    bounded = tg.value_and_grad(tg.checkpoint(function, max_bytes=budget))
    plain = tg.value_and_grad(function)
    for c in (-1.0, 2.0, 0.9, 0.7, 0.6, 0.5, 0.4, 0.35, 0.3):
        assert_same_bits(bounded(np.ones(20), c), plain(np.ones(20), c))


def either_arm(x, w):
    h = np.zeros(3)
    for t in range(len(x)):
        if x[t] > 0:
            h = np.tanh(w * h + x[t])
        else:
            h = np.sin(h) * w
        h = h * 0.9
    return np.sum(h**2)


def warped(x, y):
    n, m = len(x), len(y)
    table = np.full((n + 1, m + 1), np.inf)
    table[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            nearest = min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
            table[i, j] = (x[i - 1] - y[j - 1]) ** 2 + nearest
    return table[n, m]


@pytest.mark.parametrize("budget", [50, 400, 2000, 20000])
@pytest.mark.parametrize("function", [either_arm, warped])
def test_arms_that_meet_in_turns_have_a_budget(function, budget):
    x, w = np.sin(np.arange(30.0)), np.array([0.5, -0.3, 0.9])
    plain = tg.grad(function, argnums=(0, 1))
    bounded = tg.grad(tg.checkpoint(function, max_bytes=budget), argnums=(0, 1))
    assert_same_bits(bounded(x, w), plain(x, w))
    assert_same_bits(bounded(x[::-1].copy(), w), plain(x[::-1].copy(), w))
    assert len(bounded.source(x, w)) < 3 * len(plain.source(x, w))


def last_number(x, w):
    s = w[0]
    for v in x:
        s = np.sin(s) + v
    return s


def last_arrays(x, w):
    h, p = w * 0.5, np.ones(3)
    for t in range(len(x)):
        h, p = np.sin(h) * 1.1 + x[t], p * h
    return {"h": h, "p": p}


def last_beside_its_list(x, w):
    h, kept = w * 0.5, []
    for t in range(len(x)):
        h = np.tanh(h * w + x[t])
        kept.append(h)
    return h, np.cos(h), np.stack(kept), h


def last_of_nested(x, w):
    h = w * 1.0
    for i in range(8):
        for t in range(len(x)):
            h = np.tanh(h * w + 0.1 * i * x[t])
    return h


def last_or_left(x, w):
    s = w[0]
    for t in range(len(x)):
        s = 0.9 * np.sin(s) + x[t] if x[t] > -0.5 else s * w[1]
        if s < -1.2:
            return s * 2
    return s


def last_of_while(x, w):
    h = w * 1.0
    while (h * h).sum() < 9.0:
        h = 1.1 * h + 0.01 * x[0]
    return h


LAST = [last_number, last_arrays, last_beside_its_list, last_of_nested, last_or_left, last_of_while]


@pytest.mark.parametrize("budget", [60, 400])
@pytest.mark.parametrize("function", LAST, ids=[f.__name__ for f in LAST])
def test_jacobians_of_what_a_loop_leaves(function, budget):
    x, w = np.linspace(-1, 1, 23), np.array([0.5, -0.3, 0.9])
    bounded = tg.jacrev(tg.checkpoint(function, max_bytes=budget), argnums=(0, 1))
    for at in (x, -x):
        assert_same_bits(bounded(at, w), tg.jacrev(function, argnums=(0, 1))(at, w))
    if budget == 60:
        assert "turns are made again" in said_by(bounded.source(x, w))


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: tg.jacobian(f, mode="reverse"),
        lambda f: tg.jacfwd(tg.jacrev(f)),
        lambda f: tg.compile(tg.jacrev(f)),
        lambda f: tg.jacrev(f, backend="numba"),
        lambda f: lambda x, w: tg.vmap(tg.jacrev(f))(np.stack([x, -x]), np.stack([w, w])),
        lambda f: lambda x, w: tg.vjp(f, x, w)[1](1.0),
    ],
    ids=["jacobian", "of jacfwd", "compiled", "numba", "vmap", "vjp"],
)
def test_what_a_loop_leaves_in_other_transforms(transform):
    x, w = np.linspace(-1, 1, 23), np.array([0.5, -0.3, 0.9])
    bounded = tg.checkpoint(last_number, max_bytes=60)
    assert_same_bits(transform(bounded)(x, w), transform(last_number)(x, w))


def noisy(generator, x):
    for _ in range(20):
        x = x * (1 + 0.1 * generator.normal(size=2))
    return np.sum(np.sin(x))


def noisy_until(generator, x):
    while np.sum(x) < 9.0:
        x = x * (1 + generator.uniform())
    return np.sum(np.sin(x))


def noisy_in_inner_loops(generator, x):
    for _ in range(8):
        for _ in range(9):
            x = np.sin(x) * 1.1
        x = x + 0.1 * x * generator.standard_normal(2)
    return np.sum(x * x)


def noisy_before_it_is_left(generator, x):
    for _ in range(20):
        if generator.uniform() > 0.9:
            return np.sum(x) * 2
        x = np.sin(x) * 1.1
    return np.sum(x * x)


def dropped(generator, x):
    for _ in range(20):
        x = np.sin(x) + tg.nn.dropout(x, 0.3) * 0.1
    return np.sum(x * x)


NOISY = [noisy, noisy_until, noisy_in_inner_loops, noisy_before_it_is_left, dropped]
TRANSFORMS = {
    "grad": tg.value_and_grad,
    "jacrev": tg.jacrev,
    "hessian": tg.hessian,
    "hvp": lambda f: lambda x: tg.hvp(f, (x,), (np.ones(2),)),
    "numba": lambda f: tg.value_and_grad(f, backend="numba"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("function", NOISY, ids=[f.__name__ for f in NOISY])
def test_numbers_are_drawn_once(function, transform):
    found = []
    for max_bytes in (None, 40):
        generator = tg.random.Generator(0)
        tg.random.manual_seed(0)
        drawing = partial(function, generator)
        if max_bytes is not None:
            drawing = tg.checkpoint(drawing, max_bytes=max_bytes)
        derived = TRANSFORMS[transform](drawing)
        calls = [derived(np.array([0.7, 0.9])) for _ in range(3)]
        found.append((calls, generator.normal(), tg.random.normal()))
    assert_same_bits(*found)


def test_unknown_code_runs_once():
    calls = []

    def forward(x):
        calls.append(1)
        return x * 1.1, None

    @tg.custom_vjp
    def scaled(x):
        return x * 1.1

    scaled.defvjp(forward, lambda _, ct: (ct * 1.1,))

    def loss(x):
        for _ in range(20):
            x = scaled(np.sin(x))
        return np.sum(x)

    plain, bounded = tg.grad(loss), tg.grad(tg.checkpoint(loss, max_bytes=40))
    assert_same_bits(bounded(np.ones(2)), plain(np.ones(2)))
    calls.clear()
    bounded(np.ones(2))
    assert len(calls) == 20
    assert "they draw numbers or run unknown code" in said_by(bounded.source(np.ones(2)))
