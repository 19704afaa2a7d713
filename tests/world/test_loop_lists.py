"""Lists that loops fill, and that loops behind them go through or read by number.

Compiled calls and gradients have the bits of eager ones; the text does not grow with the turns.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")


def states(x, w):
    found = []
    s = x[0]
    for t in range(len(x)):
        s = np.tanh(s * w + x[t])
        found.append(s)
    return found


def gone_through(x, w):
    total = 0.0
    for a in states(x, w):
        total = total + (a * a).sum()
    return total


def with_others(x, w):
    h, total = states(x, w), 0.0
    for i, (a, y) in enumerate(zip(h, x)):
        total = total + ((a - y) ** 2).sum() * i
    return total


def by_number(x, w):
    h, total = states(x, w), 0.0
    for t in range(len(h)):
        total = total + (h[t] * x[t]).sum() + np.sin(h[t]).sum()
    return total / len(h)


def twice(x, w):
    h, total = states(x, w), 0.0
    for a in h:
        total = total + (a * a * 0.3).sum() + np.sin(a).sum()
    for a in h:
        total = total * np.cos(a * total).sum() + np.tanh(a).sum()
    return total


def backwards(x, w):
    h = states(x, w)
    b = 0.0 * x[0]
    for a in reversed(h):
        b = a + 0.5 * (b - w * a)
    for a, y in zip(reversed(h), reversed(x), strict=True):
        b = a + np.sin(b * y)
    return b.sum()


def neighbours(x, w):
    h = states(x, w)
    total = (h[0] * h[-1]).sum() * 0.0
    for t in range(1, len(x)):
        total = total + (h[t] * h[t - 1] + h[t]).sum()
    return total


def stacked_and_read(x, w):
    h = states(x, w)
    rows = np.stack(h)
    total = (rows * x).sum()
    for t in range(len(x)):
        total = total + (rows[t] * h[t]).sum()
    return total


def filled_by_two(x, w):
    h = states(x, w)
    g = []
    for a in h:
        g.append(np.sin(a) * w)
    total = 0.0
    for a, b in zip(h, g, strict=True):
        total = total + (a * b).sum()
    return total


def filled_backwards(x, w):
    h = states(x, w)
    b, g = x[0], []
    for t in reversed(range(len(x))):
        b = np.tanh(b * w + h[t])
        g.append(b)
    total = 0.0
    for a in g:
        total = total + (a * a).sum()
    return total


def last(x, w):
    h = [np.zeros(3)]
    for t in range(len(x)):
        h.append(np.tanh(w * h[-1] + x[t]) + h[-1] * 0.3)
    return h[-1].sum()


def one_before(x, w):
    h = [x[0]]
    for t in range(1, len(x)):
        h.append(np.tanh(w * h[t - 1] + x[t]))
    return (np.stack(h) * x).sum()


def two_before(x, w):
    h = [x[0] * w, x[1] * w]
    for t in range(2, len(x)):
        h.append(np.tanh(w * h[t - 1] - h[t - 2] + x[t]))
        h[-1].sum()
    return h[-1].sum() + h[-2].sum()


def two_before_and_stacked(x, w):
    h = [x[0] * w, x[1] * w]
    for t in range(2, len(x)):
        h.append(np.tanh(w * h[-1]) - np.sin(h[-1]) * h[-2] + np.cos(h[-2] * x[t]))
    return (np.stack(h) ** 2 * x).sum()


def three_before_and_stacked(x, w):
    h = [x[0, 0], x[1, 0], x[2, 0]]
    for t in range(3, len(x)):
        h.append(np.sin(h[-1]) * 0.5 + h[-3] * x[t, 0] - np.cos(h[t - 3]) * w[0])
    return (np.array(h) ** 2).sum()


def third_before_alone(x, w):
    h = [x[0], x[1], x[2]]
    for t in range(3, len(x)):
        h.append(np.sin(h[-3]) * x[t] + h[-3] * w)
    return (np.stack(h) ** 2).sum()


def verlet(x, w):
    """A path of which only what two variables begin with is no item."""
    before, now, path = x[0, 0], x[1, 0], []
    for y in x[:, 1]:
        before, now = now, 1.9 * now - 0.9 * before - 0.1 * np.sin(now) * w[0] + y * before
        path.append(now)
    return (np.stack(path) ** 2).sum() + before * now


def verlet_from_its_last_item(x, w):
    before, now = x[0, 0], x[1, 0]
    path = [now]
    for y in x[:, 1]:
        before, now = now, 1.9 * now - 0.9 * before - 0.1 * np.sin(now) * w[0] + y * before
        path.append(now)
    return (np.stack(path) ** 2).sum()


def numbers_at_first(x, w):
    h, total = [0.0], 0.0
    for row in x:
        h.append(h[-1] * w[0] + row[0])
    for a in h:
        total = total + a * a
    return total


def states_and_costs(x, w):
    h, costs = [np.zeros(3)], []
    for y in x:
        h.append(np.tanh(w * h[-1] + y))
        costs.append((h[-1] * y).sum())
    return np.sum(np.stack(costs)) + np.stack(h).sum()


def counted_down(x, w):
    h = [x[-1]]
    for t in reversed(range(11)):
        h.append(np.tanh(w * h[10 - t] + x[t]))
    return h[-1].sum()


def several_readers(x, w):
    h, s = [], x[0]
    for t in range(len(x)):
        s = np.tanh(s * w) + np.sin(s * x[t]) * 0.3 + np.cos(s * 0.7)
        h.append(s)
    return (np.stack(h) ** 2 * x).sum() + (s * 1.7).sum()


def several_readers_from_the_list(x, w):
    h = [x[0] * w]
    for row in x:
        s = h[-1]
        h.append(np.tanh(s * w) + np.sin(s * row) * 0.3 + np.cos(s * 0.7))
    total = 0.0
    for a, y in zip(h[:-1], x, strict=True):
        total = total + (a * y).sum() * 0.1
    for a in h:
        total = total + np.sin(a).sum()
    return total


def added_up(x, w):
    costs = []
    s = x[0]
    for t in range(len(x)):
        s = np.tanh(s * w + x[t])
        costs.append((s * s).sum())
    return sum(costs) / len(costs)


def added_up_from_an_array(x, w):
    return sum(states(x, w), w * 0.0).sum() + sum([np.sin(row * w).sum() for row in x])


def smoothed(x, w):
    """A Kalman filter of one number, and its smoother backwards through the lists."""
    m, p = x[0, 0] * 0.0, w[0] * w[0] + 1.0
    means, variances, predicted = [], [], []
    for y in x[:, 0]:
        prior = p * 0.9 + 0.1
        gain = prior / (prior + 0.5)
        predicted.append(prior)
        m = m * 0.95 + gain * (y - m * 0.95)
        p = (1.0 - gain) * prior
        means.append(m)
        variances.append(p)
    s, total = means[-1], 0.0
    for t in reversed(range(len(x) - 1)):
        gain = variances[t] * 0.95 / predicted[t + 1]
        s = means[t] + gain * (s - 0.95 * means[t])
        total = total + (s - x[t, 1]) ** 2
    return total


def last_from_the_list(x, w):
    h = states(x, w)
    b = np.sin(h[-1])
    for t in reversed(range(len(x) - 1)):
        b = h[t] + 0.5 * (b - w * h[t])
    return b.sum()


KEPT = {
    f.__name__: f
    for f in (
        *(smoothed, last_from_the_list, several_readers),
        *(two_before_and_stacked, verlet, verlet_from_its_last_item),
        *(last, one_before, two_before, numbers_at_first, states_and_costs, counted_down),
        *(gone_through, with_others, by_number, twice, backwards, neighbours, stacked_and_read),
        *(filled_by_two, filled_backwards, added_up, added_up_from_an_array),
    )
}


def inputs(length, seed=0):
    random = np.random.default_rng([seed, length])
    return random.normal(size=(length, 3)), random.normal(size=3)


def eagerly(function, *args):
    before, tg.config.compile = tg.config.compile, False
    try:
        return function(*args)
    finally:
        tg.config.compile = before


def agree(function, args):
    """Values and gradients of a compiled function are those of eager calls."""
    assert_same_bits(tg.compile(function)(*args), function(*args))
    gradient = tg.value_and_grad(function, argnums=(0, 1))
    for _ in range(2):
        assert_same_bits(gradient(*args), eagerly(gradient, *args))
    return gradient


@pytest.mark.parametrize("name", KEPT)
def test_bits_and_text_do_not_depend_on_the_turns(name):
    gradient = tg.value_and_grad(KEPT[name], argnums=(0, 1))
    sizes = []
    for length in (12, 30):
        args = inputs(length)
        agree(KEPT[name], args)
        gradient(*args)
        sizes.append(len(str(gradient.source(*args)).splitlines()))
    assert sizes[0] == sizes[1] < 180


@pytest.mark.parametrize("name", [name for name in KEPT if name != "counted_down"])
def test_one_program_is_that_of_all_lengths(name):
    compiled = tg.compile(KEPT[name])
    for length in (12, 30, 19):
        args = inputs(length)
        assert_same_bits(compiled(*args), KEPT[name](*args))
    assert compiled.cache_info().misses == 1


@pytest.mark.parametrize("name", ["gone_through", "backwards", "stacked_and_read"])
def test_other_derivatives_and_targets(name):
    function, (x, w) = KEPT[name], inputs(12)
    value, gradient = tg.value_and_grad(function)(x, w)
    in_jax = tg.value_and_grad(function, backend="jax")(x, w)
    np.testing.assert_allclose(in_jax[0], value)
    np.testing.assert_allclose(in_jax[1], gradient)
    tangent = tg.jvp(lambda x: function(x, w), (x,), (x,))[1]
    np.testing.assert_allclose(tangent, (gradient * x).sum())
    each = tg.vmap(tg.grad(function), in_axes=(0, None))(np.stack([x, 2 * x]), w)
    np.testing.assert_allclose(each[0], gradient)


def test_infinities_do_not_meet_zeros_where_nothing_flows():
    def first_half(x, w):
        h, total = [], 0.0
        for t in range(len(x)):
            h.append(np.sqrt(x[t] * w))
        for t in range(6):
            total = total + h[t].sum()
        return total

    x, w = np.ones((12, 3)), np.ones(3)
    x[9] = 0.0
    agree(first_half, (x, w))


def test_infinities_do_not_meet_zeros_before_the_last_item():
    def all_but_the_last(x, w):
        h, total = [], 0.0
        for t in range(len(x)):
            h.append(np.sqrt(x[t] * w))
        for t in range(len(x) - 1):
            total = total + h[t].sum()
        return total

    x, w = np.ones((12, 3)), np.ones(3)
    x[11] = 0.0
    agree(all_but_the_last, (x, w))


CHANGED = {}


@pytest.mark.parametrize(
    "function",
    [
        *(several_readers, several_readers_from_the_list, verlet, verlet_from_its_last_item),
        *(two_before_and_stacked, three_before_and_stacked, third_before_alone),
    ],
)
def test_sums_are_in_the_order_of_the_tape(function):
    gradient = tg.value_and_grad(function, argnums=(0, 1))
    for seed in range(12):
        args = inputs(13, seed)
        assert_same_bits(gradient(*args), eagerly(gradient, *args))


@pytest.mark.parametrize("length", range(3, 8))
@pytest.mark.parametrize(
    "function", [verlet, verlet_from_its_last_item, three_before_and_stacked, third_before_alone]
)
def test_a_program_of_many_turns_is_that_of_few(function, length):
    gradient = tg.value_and_grad(function, argnums=(0, 1))
    gradient(*inputs(13))
    assert_same_bits(gradient(*inputs(length)), eagerly(gradient, *inputs(length)))


def changed(function):
    CHANGED[function.__name__] = function
    return function


@changed
def item_in_place(x, w):
    h = states(x, w)
    b = h[4]
    b *= 2.0
    total = np.stack(h).sum()
    for a in h:
        total = total + (a * w).sum()
    return total


@changed
def last_in_place(x, w):
    found = []
    s = x[0]
    for t in range(len(x)):
        s = np.tanh(s * w + x[t])
        found.append(s)
    s += 1.0
    return np.stack(found).sum()


@changed
def replaced_in_a_turn(x, w):
    h, total = states(x, w), 0.0
    for t in range(len(x)):
        total = total + (h[t] * w).sum()
        if t == 9:
            h[10] = x[0]
    return total


@changed
def grown_in_a_turn(x, w):
    h, total = states(x, w), 0.0
    for a in h:
        total = total + (a * w).sum()
        if len(h) == len(x):
            h.append(x[0])
    return total


@changed
def shrunk_in_a_turn(x, w):
    h, total = states(x, w), 0.0
    for a, b in zip(h, range(100), strict=False):
        total = total + (a * w).sum() * b
        if b == 8:
            h.pop()
            h.pop()
    return total


@changed
def grown_beside_another(x, w):
    h, g, total = states(x, w), states(x, w), 0.0
    try:
        for a, b in zip(h, g, strict=True):
            total = total + (a * b).sum()
            if len(h) == len(g):
                h.append(x[0])
    except ValueError as error:
        total = total * len(str(error))
    return total


@changed
def shrunk_backwards(x, w):
    h, total = states(x, w), 0.0
    for a in reversed(h):
        total = total + (a * w).sum()
        if len(h) > 10:
            del h[0]
    return total


@changed
def in_two_lists(x, w):
    h, g, s = [], [], x[0]
    for t in range(len(x)):
        s = np.tanh(s * w + x[t])
        h.append(s)
        g.append(s)
    return (np.stack(h) * np.stack(g) ** 2).sum()


@changed
def one_item_under_two_numbers(x, w):
    h, total = states(x, w), 0.0
    for t in range(len(x)):
        total = total + (np.sin(h[t]) * h[len(h) - 1 - t] + h[t]).sum()
    return total


@changed
def read_further_back(x, w):
    h = [x[0]]
    for t in range(1, len(x)):
        h.append(np.tanh(w * h[t // 2] + x[t]))
    return h[-1].sum()


@changed
def before_under_two_names(x, w):
    now, before, other, path = x[0] * w, x[1] * w, x[2] * w, []
    for t in range(len(x)):
        new = np.sin(now) * before + np.cos(other * x[t]) * now
        before, other, now = now, now, new
        path.append(now)
    return (np.stack(path) ** 2).sum()


@changed
def first_read_in_turns(x, w):
    h = [x[0] * w]
    for t in range(1, len(x)):
        h.append(np.tanh(w * h[0] + x[t]) * h[-1])
    return np.stack(h).sum()


@changed
def last_written(x, w):
    h = [x[0] * w]
    for t in range(1, len(x)):
        h.append(np.tanh(w * h[-1] + x[t]))
        h[-1] *= 0.5
    return np.stack(h).sum()


@changed
def last_replaced(x, w):
    h = [x[0] * w]
    for t in range(1, len(x)):
        h.append(np.tanh(w * h[-1] + x[t]))
        h[-2] = h[-1] * 0.5
    return np.stack(h).sum()


@changed
def gone_through_as_it_grows(x, w):
    h = []
    for row in x:
        for earlier in h:
            row = row - (row * earlier).sum() * earlier
        h.append(np.tanh(row * w))
    return np.stack(h).sum()


@changed
def appended_at_times(x, w):
    h, s = [x[0] * w], x[0]
    for t in range(1, len(x)):
        s = np.tanh(s * w + h[-1])
        if s[0] > 0:
            h.append(s * x[t])
    return np.stack(h).sum()


@changed
def items_are_tuples(x, w):
    h, s, c = [], x[0], x[0] * 0.5
    for row in x:
        s = np.tanh(s * w + c * row)
        c = c * 0.9 + s
        h.append((s, c))
    total = 0.0
    for a, b in h:
        total = total + (a * b).sum()
    return total


@changed
def left_early(x, w):
    h = [x[0] * w]
    for t in range(1, len(x)):
        h.append(np.tanh(w * h[-1] + x[t]))
        if h[-1].sum() > 1.5:
            break
    return np.stack(h).sum()


@changed
def popped(x, w):
    h = [x[0] * w]
    for t in range(1, len(x)):
        h.append(np.tanh(w * h[-1] + x[t]))
        h.pop(0)
    return np.stack(h).sum()


@changed
def reversed_in_place(x, w):
    h, total = states(x, w), 0.0
    h.reverse()
    for t in range(len(x)):
        total = total + (h[t] * x[t]).sum()
    return total


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CHANGED)
def test_what_is_changed_or_is_one_object_twice(name):
    for length in (12, 17):
        agree(CHANGED[name], inputs(length))


def test_an_item_that_a_turn_by_itself_reads_has_its_gradient():
    """The last item is read at a number, the others in a loop: whether they meet nobody knows."""

    def f(w, x):
        h, s = [], np.zeros(3)
        for t in range(len(x)):
            s = np.tanh(x[t] + w * s)
            h.append(s)
        total = 0.0
        for a in reversed(h):
            total = 0.9 * total + (a * a).sum()
        return total

    w, compiled = np.array([0.1, 0.2, 0.3]), tg.grad(f)
    for turns in (12, 12, 15, 9):
        x = np.random.default_rng(turns).normal(size=(turns, 3))
        steps = [(f(w + e, x) - f(w - e, x)) / 2e-6 for e in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(compiled(w, x), steps, rtol=1e-6)


def filled_by_number(x, w):
    h = [0.0] * len(x)
    for t in range(len(x)):
        h[t] = np.tanh(x[t] * w).sum()
    return sum(h)


def through_a_list(x, w):
    total = 0.0
    for row in [*x]:
        total = total + (row * w).sum()
    return total


def halves(x):
    for row in x:
        yield row * 0.5


def through_a_generator(x, w):
    total, rows = 0.0, halves(x)
    for row in rows:
        total = total + (row * w).sum()
    return total


def of_another_length(x, w):
    state = [x[0]]
    for row in x:
        state = [np.tanh(state[0] * w + row), *state]
    return state[0].sum()


@pytest.mark.parametrize(
    ("function", "loop", "why"),
    [
        (items_are_tuples, "for row in x", "not appended one array of one shape in each turn"),
        (filled_by_number, "for t in range(len(x))", "h[t] = np.tanh(x[t] * w).sum(): a place is"),
        (through_a_list, "for row in [*x]", "it goes through a list of which no array is known"),
        (through_a_generator, "for row in x", "turns of a generator alternate with what its"),
        (of_another_length, "for row in x", "state is another list in each turn"),
    ],
)
def test_an_unrolled_loop_is_explained_with_its_statement(function, loop, why):
    made = tg.grad(function)
    made(*inputs(12))
    (line,) = [s for s in made.explain().splitlines() if "test_loop_lists.py" in s and why in s]
    assert loop in line


def test_a_closed_loop_is_not_explained():
    made = tg.grad(added_up)
    made(*inputs(12))
    assert "unrolled" not in made.explain()
