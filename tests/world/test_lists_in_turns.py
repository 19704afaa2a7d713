"""Lists that a turn makes and a loop in that turn fills: both loops stay loops.

Compiled calls and gradients have the bits of eager ones; the text does not grow with the turns.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits, function_of

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")

X = np.linspace(-1, 1, 12) + 0.01
W = np.array([0.3, -0.7, 1.1, 0.2, 0.9, -0.4, 0.8, 0.1, 0.5, 0.6])


def table(x, w):
    rows = []
    for i in range(len(x)):
        row = []
        for j in range(len(w)):
            row.append(np.sin(x[i] * w[j]))
        rows.append(np.array(row))
    return (np.stack(rows) * 0.5).sum()


def comprehension(x, w):
    rows = []
    for i in range(len(x)):
        row = [np.sin(x[i] * w[j]) for j in range(len(w))]
        rows.append(np.stack(row))
    return (np.stack(rows) ** 2).sum()


def mean(x, w):
    s = 0.0
    for i in range(len(x)):
        row = []
        for j in range(len(w)):
            row.append(np.sin(x[i] * w[j] + s))
        s = np.stack(row).mean()
    return s


def added_up(x, w):
    s = 0.0
    for i in range(len(x)):
        row = []
        for j in range(len(w)):
            row.append(np.sin(x[i] * w[j] + s))
        s = sum(row) / 9
    return s


def recurrence(x, w):
    rows = [w * 1.0]
    for i in range(len(x)):
        row = [x[i]]
        for j in range(1, len(w)):
            row.append(np.tanh(row[j - 1] * rows[-1][j] + w[j]))
        rows.append(np.stack(row))
    return (np.array(rows) ** 2).sum()


def two_lists(x, w):
    total = 0.0
    for i in range(len(x)):
        a, b = [], []
        for j in range(len(w)):
            a.append(np.sin(x[i] * w[j]))
            b.append(w[j] * x[i])
        for u, v in zip(a, b, strict=True):
            total = total + u * v
    return total


def states_of(v, w):
    found, s = [], v
    for j in range(len(w)):
        s = np.tanh(s * w[j])
        found.append(s)
    return np.stack(found)


def helper(x, w):
    total = 0.0
    for i in range(len(x)):
        total = total + states_of(x[i], w).sum()
    return total


def looked_at(x, w):
    rows = []
    for i in range(len(x)):
        row = np.stack([np.sin(x[i] * w[j]) for j in range(len(w))])
        if row.sum() > 0:
            rows.append(row)
        else:
            rows.append(row * 2)
    return (np.array(rows) ** 2).sum()


def sum_that_begins_in_each_turn(x, w):
    s = 0.0
    for i in range(len(x)):
        u = 0.0
        for j in range(len(w)):
            u = u + np.sin(x[i] * w[j] + s)
        s = u / 9
    return s


def last_one_on_one_way(x, w):
    s = w * 0.1
    for i in range(len(x)):
        row = []
        for j in range(9):
            row.append(np.sin(s * x[i]) + j)
            s = s * 0.7 if s.sum() > 0.5 else s + 0.1 * row[-1]
        s = s * 0.5 + np.stack(row).mean(axis=0) * 0.1
    return s.sum()


def last_ones_of_a_list_from_before(x, w):
    s, row = w * 0.3, [w, w * 0.1]
    for j in range(len(x)):
        row.append(np.sin(s * x[j]) + j)
        s = s * 0.7 if s.sum() > 0.5 else s + 0.1 * row[-1] - 0.2 * row[-2]
    return (s * 0.5 + np.stack(row).mean(axis=0) * 0.1).sum()


def look_inside(x, w):
    rows = []
    for i in range(len(x)):
        row = []
        for j in range(len(w)):
            v = np.sin(x[i] * w[j])
            if v > 0.1:
                v = v * 0.5
            row.append(v)
        rows.append(np.stack(row))
    return (np.array(rows) ** 2).sum()


def from_before_both(x, w):
    out = []
    for i in range(len(x)):
        for j in range(len(w)):
            out.append(np.sin(x[i] * w[j]))
    return (np.stack(out) ** 2).sum()


def left_early(x, w):
    s = 0.0
    for i in range(len(x)):
        row = []
        for j in range(len(w)):
            row.append(np.sin(x[i] * w[j] + s))
            if row[-1] > 0.7:
                break
        s = sum(row) / 9
    return s


LOOPS = [
    *(table, comprehension, mean, added_up, recurrence, two_lists, helper, looked_at),
    *(sum_that_begins_in_each_turn, last_one_on_one_way),
]
UNROLLED = [look_inside, from_before_both, left_early, last_ones_of_a_list_from_before]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("f", [*LOOPS, *UNROLLED], ids=lambda f: f.__name__)
def test_bits_are_those_of_eager_calls(f):
    compiled, value = tg.value_and_grad(f, argnums=(0, 1)), tg.compile(f)
    for x, w in ((X, W), (X, W), (-X, W[::-1].copy()), (X[:9], np.append(W, 0.3)), (X, -W)):
        tg.config.compile = False
        try:
            wanted = tg.value_and_grad(f, argnums=(0, 1))(x, w)
        finally:
            tg.config.compile = True
        assert_same_bits(compiled(x, w), wanted, "gradients")
        assert_same_bits(value(x, w), f(x, w), "value")


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_turns_are_written_once(f):
    compiled = tg.value_and_grad(f, argnums=(0, 1))
    compiled(X, W)
    assert "loops that are unrolled" not in compiled.explain()
    assert len(compiled.source(X, W).splitlines()) < 100


COUNTED = "    rows = []\n    for v in xs:\n        rows.append({item})\n"
TESTED = (
    "    rows, i = [], 0\n    while i < len(xs):\n        v = xs[i]\n        i += 1\n"
    "        rows.append({item})\n"
)


@pytest.mark.parametrize("loop", [COUNTED, TESTED], ids=["counted", "tested"])
@pytest.mark.parametrize(
    "end",
    ["rows", "{'rows': rows}", "(rows, len(rows))", "rows[1:3], rows", "[row for row in rows]"],
)
@pytest.mark.parametrize("item", ["x * v", "v", "x * 1.0", "np.zeros(len(x))", "(v, x * v)"])
def test_a_list_that_is_returned_has_an_item_for_each_turn(item, end, loop):
    text = f"def f(x, xs):\n{loop.format(item=item)}    return {end}\n"
    f, compiled = (function_of(f"import numpy as np\n\n\n{text}", "f") for _ in range(2))
    compiled = tg.compile(compiled)
    for size in (9, 10, 8, 3, 9, 0, 12):
        x, xs = np.arange(3.0), np.linspace(0.1, 1.0, size)
        assert repr(compiled(x, xs)) == repr(f(x, xs))
