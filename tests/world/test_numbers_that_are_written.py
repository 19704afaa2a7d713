"""Floats from outside that a function writes into arrays and stores: each use takes the input."""

from __future__ import annotations

import copy
import linecache
import warnings
from types import SimpleNamespace as State

import numpy as np
import pytest

import tracegrad as tg


def begun():
    return State(
        k=0.8,
        j=0.3,
        n=0,
        last=None,
        before=0.0,
        buffer=np.zeros(3),
        table={"k": 0.8, "z": 1.0},
        row=[0.4, 0.0],
        inner=State(v=0.0),
    )


def written_and_computed_with(s, x):
    y = x * 1.0
    y[-1] = s.k
    return np.sum(y) + s.k * x[0]


def stored_by_what_counts(s, x):
    s.before = s.k
    s.n += 1
    return np.sum(x) * s.k


def into_zeros(s, x):
    y = np.zeros(3)
    y[0] = s.k
    return np.sum(y * x) + s.k * x[0]


def into_an_array_outside(s, x):
    s.buffer[1] = s.k
    return np.sum(x) * s.k


def stored_and_written(s, x):
    s.last = s.k
    y = x * 1.0
    y[1:] = s.k
    return np.sum(y)


def first_of_a_recursion(s, x):
    u = np.zeros(12)
    u[0] = s.k
    for i in range(1, 12):
        u[i] = 0.5 * u[i - 1] + x[i % 3] * s.k
    return u.sum()


def first_of_a_list(s, x):
    rows = [s.k]
    for i in range(10):
        rows.append(rows[-1] * 0.5 + x[i % 3] * s.k)
    return sum(rows)


def first_of_a_list_computed(s, x):
    rows = [s.k * 2 + s.j]
    for i in range(10):
        rows.append(rows[-1] * 0.5 + x[i % 3] * s.k)
    return sum(rows)


def under_a_mask(s, x):
    y = x * 1.0
    y[y > 0.5] = s.k
    return np.sum(y) * s.k


def two_elements(s, x):
    y = x * 1.0
    y[0], y[1] = s.k * 2 + s.j, -s.k
    return np.sum(y * x)


def stored_products(s, x):
    s.n += 1
    s.last = s.k * 2
    s.table["z"] = s.k
    s.row[1] = s.j
    s.inner.v = s.j + s.k
    return np.sum(x)


def stored_before_a_return(s, x):
    s.last = s.k
    if x[0] < 0:
        return x[1]
    return x[0] * s.k


def written_before_a_look(s, x):
    s.last = s.k
    y = x * 1.0
    y[1:] = s.k
    return np.sum(np.tanh(y)) if x[0] > 0 else np.sum(y)


def read_of_a_list_that_was_changed(s, x):
    if x[0] > 0:
        s.row[1] = s.k
    s.buffer[0] = s.row[0]
    return s.row[0] * x[1] + np.sum(s.buffer)


def read_of_a_dict_that_was_changed(s, x):
    if x[0] > 0:
        s.table["z"] = s.j
    return s.table["k"] * x[1] + s.table["z"]


def exchanged(s, x):
    s.k, s.j = s.j, s.k
    return x[0] * s.k - x[1] * s.j


def stored_where_it_was(s, x):
    s.k = s.k
    s.n += 1
    return x[0] * s.j


def decayed(s, x):
    s.k *= 0.9
    s.before = s.k
    s.n += 1
    return x[0] * s.j


def chosen(s, x):
    y = x.copy()
    y[0] = s.k if x[0] > 0 else s.j
    return np.sum(y * y)


def on_a_diagonal(s, x):
    a = np.empty((3, 3))
    a[:] = x
    a[np.arange(3), np.arange(3)] = s.k
    return np.sum(a @ x)


PROGRAMS = [
    *(written_and_computed_with, stored_by_what_counts, into_zeros, into_an_array_outside),
    *(stored_and_written, first_of_a_recursion, first_of_a_list, first_of_a_list_computed),
    *(under_a_mask, two_elements, stored_products, stored_before_a_return),
    *(written_before_a_look, read_of_a_list_that_was_changed, read_of_a_dict_that_was_changed),
    *(exchanged, stored_where_it_was, decayed, chosen, on_a_diagonal),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_each_call_has_the_number_of_now(f, transform, backend):
    ours, theirs = begun(), begun()
    compiled = transform(lambda x: f(ours, x), backend=backend)
    for n in range(15):
        x = np.random.default_rng(n).normal(size=3)
        if n % 3 == 0:
            ours.k = theirs.k = [0.8, 0.8, 0.5, -0.3, 0.9][n // 3]
            ours.row[0] = theirs.row[0] = 0.1 * n
        if n % 4 == 3:
            ours.j = theirs.j = 0.1 * n
        result = compiled(x)
        value = result[0] if transform is tg.value_and_grad else result
        np.testing.assert_allclose(value, f(theirs, x), rtol=1e-12)
        assert_alike(ours, theirs)


@pytest.mark.parametrize("f", [into_zeros, two_elements, first_of_a_recursion, on_a_diagonal])
def test_an_annealed_number_that_is_written_costs_no_compile(f):
    s = begun()
    compiled = tg.value_and_grad(lambda x: f(s, x))
    for n in range(8):
        s.k, s.j = 0.1 * n, -0.3 * n
        compiled(np.ones(3))
    assert compiled.cache_info().traces == 1


def assert_alike(ours, theirs):
    assert vars(ours).keys() == vars(theirs).keys()
    for name, mine in vars(ours).items():
        other = vars(theirs)[name]
        if isinstance(mine, State):
            assert_alike(mine, other)
        elif isinstance(mine, dict):
            assert mine.keys() == other.keys()
            np.testing.assert_allclose([*mine.values()], [*other.values()], rtol=1e-12)
        elif mine is None:
            assert other is None
        else:
            np.testing.assert_allclose(mine, other, rtol=1e-12)


# -- programs at random -------------------------------------------------------------------------


class Writer:
    """Writes a function that reads, writes and stores numbers, with ifs between."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.lines = ["def f(s, x):", "    a, y = x[0], x * 1.0"]
        for _ in range(self.random.integers(3, 8)):
            self.statement(1)
        self.lines.append("    return a + np.sum(y)")

    def any_of(self, *options):
        return options[self.random.integers(len(options))]

    def number(self):
        return self.any_of(
            *("s.k", "s.j", "s.k * 2", "s.j + s.k", 's.table["k"]', "s.row[0]", "s.inner.v"),
            *("s.buffer[1]", "s.before", "a", "x[1]", "0.3", "s.n * 0.1"),
        )

    def condition(self):
        return self.any_of("x[1] > 0", "a > 0", "y[0] > 0.3", "a > s.k", "s.n > 2", "np.sum(y) > 0")

    def statement(self, depth):
        options = [
            f"a = {self.number()} * {self.number()} + {self.number()}",
            f"s.last = {self.number()}",
            f"s.before = {self.number()}",
            f"y[{self.any_of('0', '1:', '-1', ':')}] = {self.number()}",
            f"s.buffer[{self.any_of('0', '1')}] = {self.number()}",
            f's.table["z"] = {self.number()}',
            f"s.row[1] = {self.number()}",
            f"s.inner.v = {self.number()}",
            f"y = y * {self.number()}",
            "s.n += 1",
            f"s.j = {self.number()}",
        ]
        space = "    " * depth
        if depth < 3 and self.random.random() < 0.3:
            self.lines.append(f"{space}if {self.condition()}:")
            for _ in range(self.random.integers(1, 3)):
                self.statement(depth + 1)
            if self.random.random() < 0.4:
                self.lines.append(f"{space}else:")
                self.statement(depth + 1)
        elif self.random.random() < 0.07:
            self.lines.append(f"{space}if {self.condition()}: return {self.number()} + 0.0 * x[0]")
        else:
            self.lines.append(space + self.any_of(*options))


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_with_state(seed):
    text = "\n".join(Writer(seed).lines) + "\n"
    name = f"<state {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope = {"np": np}
    exec(compile(text, name, "exec"), scope)
    f = scope["f"]
    ours, theirs = begun(), begun()
    compiled = tg.compile(lambda x: f(ours, x))
    random = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(16):
            for _ in range(random.integers(3)):
                change(random, ours, theirs)
            x = random.normal(size=3)
            value = compiled(x)
            np.testing.assert_array_equal(value, f(theirs, copy.copy(x)))
            assert_alike(ours, theirs)


def change(random, *states):
    """Changes one number in each state."""
    which, number = random.integers(7), round(float(random.uniform(-1, 1)), 2)
    for s in states:
        match which:
            case 0:
                s.k = number
            case 1:
                s.j = number
            case 2:
                s.table["k"] = number
            case 3:
                s.row[0] = number
            case 4:
                s.inner.v = number
            case 5:
                s.buffer = np.array([number, number + 1, 0.0])
            case 6:
                s.buffer[0] = number
