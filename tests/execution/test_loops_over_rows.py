"""Source goes over the rows of an array where that is all that the number of a turn is for."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import textwrap

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")

X = np.random.default_rng(0).normal(size=(11, 3))
W = np.array([0.3, -0.2, 0.9])


def rows(x, w):
    s = 0.0
    for row in x:
        s = np.tanh(s + row @ w)
    return s


def all_but_the_first(x, w):
    s = x[0, 0]
    for row in x[:, 0]:
        s = 0.5 * s + np.sin(s) * row
    return s * w[0]


def rows_by_number(x, w):
    h = np.zeros(3)
    for t in range(len(x)):
        row = x[t]
        h = np.tanh(h * w + row)
    return h.sum()


def rows_of_rows(x, w):
    s = 0.0
    for row in x:
        for v in w:
            s = 0.9 * np.sin(s) + v * row[0]
    return s


def left_early(x, w):
    s = 0.0
    for row in x:
        s = s + row @ w
        if s > 5.0:
            break
        s = s * 0.5 + row[0]
    return s


def targets(x, w):
    loss = 0.0
    for row, target in zip(x, x[:, 2]):
        loss += (np.tanh(row @ w) - target) ** 2
    return loss


def neighbours(x, w):
    s = 0.0
    for before, behind in itertools.pairwise(x[:, 0]):
        s += np.sin(behind - before) * w[0]
    return s


def pairs(x, w):
    s = x[0, 0]
    for a, b in x[:, :2]:
        s = np.sin(s) * a + b * w[0]
    return s


def both_ends(x, w):
    s = 0.0
    for k, (first, last) in enumerate(zip(x, reversed(x)), 1):
        s = 0.5 * s + np.tanh(first * w) @ last / k
    return s


def numbered(x, w):
    s = 0.0
    for t, row in enumerate(x):
        s = 0.5 * s + t * (row @ w)
    return s


def every_other(x, w):
    s = 0.0
    for t in range(0, len(x), 2):
        row = x[t]
        s = 0.5 * s + row @ w
    return s


def written_to(x, w):
    y = np.zeros(11)
    for t in range(1, len(x)):
        last = y[t - 1]
        y[t] = last * 0.5 + x[t] @ w
    return y.sum()


def set_before_it_is_read(x, w):
    y = x * 2.0
    for t in range(len(x)):
        y[t] = y[t] * w
        row = y[t]
        y[t] = row + np.sin(row)
    return y.sum()


OVER_ROWS = [rows, all_but_the_first, rows_by_number, rows_of_rows, left_early]
OVER_SEVERAL = [targets]
BY_NUMBER = [numbered, every_other, written_to, set_before_it_is_read, neighbours, pairs, both_ends]


def eager(function, *args):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tg.config, "compile", False)
        return function(*args)


@pytest.mark.parametrize("function", [*OVER_ROWS, *OVER_SEVERAL, *BY_NUMBER])
def test_the_bits_are_those_of_plain_numpy(function):
    compiled, gradient = tg.compile(function), tg.value_and_grad(function, argnums=(0, 1))
    for x in (X, -X, X[::-1].copy(), 30.0 * X):
        assert_same_bits(compiled(x, W), function(x, W))
        assert_same_bits(gradient(x, W), eager(tg.value_and_grad(function, argnums=(0, 1)), x, W))


def test_a_number_that_is_returned_is_counted():
    """A forward returns how many turns there were, for the backward."""

    def broken_off(w, x):
        h = np.zeros(3)
        for row in x:
            h = np.tanh(h @ w + row)
            if h.sum() > 1.2:
                break
        return h.sum()

    def gradient(function, x):
        w = tg.tensor(np.outer(W, W), requires_grad=True)
        function(w, x).backward()
        return w.grad.numpy()

    compiled = tg.compile(broken_off)
    for x in (-np.abs(X), X, np.vstack([-np.abs(X), np.abs(X)])):
        assert_same_bits(gradient(compiled, x), gradient(broken_off, x))


@pytest.mark.parametrize("function", OVER_ROWS)
def test_source_goes_over_rows(function):
    source = re.sub(" *#.*", "", tg.compile(function).source(X, W))
    assert re.search(r"for \w+ in \w+(\[1:\])?:", source)
    assert "range(" not in source


@pytest.mark.parametrize("function", OVER_SEVERAL)
def test_source_goes_over_several_at_once(function):
    source = re.sub(" *#.*", "", tg.compile(function).source(X, W))
    targets = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0].body[1].target
    assert f"for {ast.unparse(targets)[1:-1]} in zip(" in source
    assert "range(" not in source


def test_what_a_loop_gets_at_once_has_the_names_of_its_targets():
    source = re.sub(" *#.*", "", tg.value_and_grad(both_ends).source(X, W))
    assert re.search(r"first = x\[\w+\]\n", source)
    assert re.search(r"last = x\[.+\]\n", source)
    source = tg.value_and_grad(pairs).source(X, W)
    assert re.search(r" row = \w+\[\w+\]\n +a\w* = row.*\n +b\w* = row", source)


@pytest.mark.parametrize("function", BY_NUMBER)
def test_source_counts_where_the_number_is_read(function):
    source = re.sub(" *#.*", "", tg.compile(function).source(X, W))
    assert not re.search(r"for \w+ in \w+(\[1:\])?:", source)
