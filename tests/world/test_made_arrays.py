"""Arrays that a function makes, uses and changes: each use has the numbers of its time.

Every program is called compiled, eagerly and for gradients in three ways, against plain NumPy and
finite differences. `x` has four floats.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits
from numpy.testing import assert_allclose

import tracegrad as tg

pytestmark = pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")

PROGRAMS: list[Callable[[Any], Any]] = []


def program(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS.append(f)
    return f


# -- used, then changed -------------------------------------------------------------------------


@program
def changed_after_use(x):
    y = np.ones(4)
    t = x * y
    y[:] = 5.0
    return np.sum(t * np.sin(x * y))


@program
def changed_and_put_back(x):
    y = np.ones(4)
    t = x * y
    y *= 4.0
    u = np.sin(x * y)
    y /= 4.0
    return np.sum(t * u)


@program
def changed_in_one_branch(x):
    y = np.ones(4) * 0.5
    t = x * y
    if x[0] > 0:
        y[:] = 5.0
    return np.sum(t * x * y)


@program
def a_view_is_used(x):
    y = np.ones(6)
    t = x * y[2:]
    y[3:] = 4.0
    u = x * y[2:]
    y[:] = 0.5
    return np.sum(t * u)


@program
def a_base_is_used(x):
    y = np.arange(4.0)
    v = y[1:]
    t = x * y
    v += 1.0
    return np.sum(t * x * y) + np.sum(x[1:] * v)


@program
def columns_of_a_matrix(x):
    a = np.outer(x, x[::-1])
    e = np.zeros(4)
    columns = []
    for i in range(4):
        e[i] = 1.0
        columns.append(a @ e)
        e[i] = 0.0
    return np.sum(np.array(columns) ** 2)


@program
def weights_that_grow(x):
    y = np.ones(4)
    t = 0.0
    for i in range(12):
        t = t * 0.5 + np.dot(x, y)
        y[i % 4] = 3.0
        y *= 1.1
    return t


@program
def filled_while_its_rest_is_read(x):
    y = np.zeros(4)
    for i in range(3, -1, -1):
        y[i] = np.sin(x[i]) - x[i + 1 :] @ y[i + 1 :]
    return np.sum(y * x)


@program
def an_object_holds_it(x):
    class Layer:
        def __init__(self, w):
            self.w = w

    layer = Layer(np.ones(4))
    t = x * layer.w
    layer.w += 1.0
    return np.sum(t * np.sin(x * layer.w))


@program
def a_mask_and_an_index(x):
    mask, order = np.zeros(4, bool), np.arange(4)
    t = np.where(mask, x, 2.0 * x) * x[order]
    mask[1] = True
    order[:2] = 1, 0
    return np.sum(t * np.where(mask, x, 3.0 * x) * x[order])


@program
def methods_that_write(x):
    y, order = np.array([3.0, 1.0, 2.0, 0.0]), np.arange(4)
    t = x * y + x[order]
    y.sort()
    np.random.default_rng(0).shuffle(order)
    t = t * np.sin(y * x[order])
    y.fill(2.0)
    np.add.at(y, [0, 0, 1], 1.0)
    return np.sum(t * y)


@program
def another_shape(x):
    y = np.ones(4)
    t = x * y
    y.shape = (2, 2)
    y[0] = 3.0
    return np.sum(t * y.ravel())


@program
def fields_of_a_record(x):
    y = np.zeros(4, dtype=[("a", float), ("b", int)])
    t = x * y["a"]
    y["a"][1] = 3.0
    y["b"] = 2
    return np.sum((t + x) * y["a"] * y["b"])


@program
def what_was_visited(x):
    left = np.ones(4, bool)
    total = 0.0
    for _ in range(4):
        i = int(np.argmax(np.where(left, x, -9.0)))
        left[i] = False
        total = total * 0.5 + x[i]
    return total


# -- how they lie in memory ----------------------------------------------------------------------


@program
def filled_column_after_column(x):
    y = np.zeros((2, 2), order="F")
    y[0] = x[:2]
    full = np.full((2, 2), 3.0, order="F")
    full[:, 1] = x[2:]
    given = np.array([[1.0, 2.0], [3.0, 4.0]], order="F")
    given[1, 1] = x[3]
    places = np.arange(4.0)
    return sum(np.sum(z.ravel("K") * places) for z in (y, full, given, y.copy("K").T))


@program
def an_array_of_three_axes_in_an_order_of_its_own(x):
    y = np.ones((2, 4, 3)).transpose(1, 0, 2).copy("K")
    y[0, 0] = x[:3]
    return np.sum(y.transpose(1, 0, 2).reshape(-1) * np.arange(24.0))


def _asked(pair):
    """A program that asks whether two arrays share memory."""
    source = f"lambda x: (lambda y, z: np.sum(y) * (1.0 + np.shares_memory({pair})))(np.exp(x), x)"
    asked = eval(source, {"np": np})
    asked.__name__ = pair
    return asked


for _pair in (
    *("y, y[1:]", "y[0:1], y[1:2]", "y[::2], y[1::2]", "y, y.copy()", "y, y.reshape(2, 2).T"),
    *("y, np.array(y)", "y, np.asarray(y)", "y, x", "x, x[1:]", "x[1:], x[:1]", "y, y[[0]]"),
    *("y, np.ones(4)", "y.flat[0:2], y", "next(iter(y.reshape(2, 2))), y", "y.real, y"),
):
    program(_asked(_pair))


# -- held in many ways when it takes recorded values ---------------------------------------------


@program
def in_an_array_of_objects(x):
    held = np.empty(2, object)
    y = np.zeros(4)
    held[0] = y
    y[1:] = x[1:] * x[:-1]
    held[0][0] = x[0]
    return np.sum(held[0] * np.arange(4.0))


@program
def in_slots(x):
    class Ring:
        __slots__ = ("at", "data")

        def __init__(self):
            self.data, self.at = np.zeros(3), 0

        def push(self, value):
            self.data[self.at % 3] = value
            self.at += 1

    ring = Ring()
    for i in range(4):
        ring.push(x[i] * x[i])
    return np.sum(ring.data * np.arange(3.0))


LARGE = [[] for _ in range(110_000)]
"""What else a module holds, which a search for what holds an array leaves alone."""


@program
def in_a_generator(x):
    y = np.zeros(4)
    doubled = (v * 2.0 for v in y)
    y[1:] = x[1:]
    y[0] = x[0] * x[1]
    return sum(doubled)


@program
def in_an_iterator_that_goes_on(x):
    y = np.zeros(5)
    total, values = 0.0, iter(y)
    next(values)
    for i in range(4):
        y[i + 1] = x[i] + y[i] * 0.5
        total = total * 1.5 + next(values)
    return total


@program
def written_ahead_of_its_loop(x):
    y = np.zeros(5)
    total = 0.0
    for i, v in enumerate(y):
        total = total * 2.0 + v
        if i < 4:
            y[i + 1] = v * 0.5 + x[i]
    return total


@program
def beside_a_length(x):
    n = len(x)
    upper = np.outer(x, x) + 5.0 * np.eye(n)
    for k in range(n):
        for i in range(k + 1, n):
            upper[i, k:] -= upper[i, k] / upper[k, k] * upper[k, k:]
    y = np.zeros(n)
    for i in range(n - 1, -1, -1):
        y[i] = (x[i] - upper[i, i + 1 :] @ y[i + 1 :]) / upper[i, i]
    return np.sum(y * y)


# -- arrays of integers end gradients ------------------------------------------------------------


@program
def an_element_of_integers(x):
    y = np.zeros(4, dtype=int)
    y[0] = 10.0 * x[1]
    return np.sum(y * x)


@program
def integers_by_copyto(x):
    y = np.zeros(4, dtype=int)
    np.copyto(y, 10.0 * x, casting="unsafe")
    return np.sum(y * x)


@program
def integers_that_were_cast(x):
    y = (10.0 * x).astype(int)
    y[1] = 10.0 * x[0]
    return np.sum(y * x)


@program
def truth_of_a_float(x):
    y = np.zeros(4, dtype=bool)
    y[0] = x[1]
    return np.sum(y * x)


@program
def integers_in_a_loop(x):
    y = np.zeros(20, dtype=int)
    for k in range(20):
        y[k] = 10.0 * x[k % 4]
    return np.sum(y) * np.sum(x)


# -- filled with what is differentiated: arrays still ----------------------------------------------


@program
def sorted_in_place(x):
    y = np.zeros(5)
    y[0] = x[0]
    y[1] = 3.0
    y.sort()
    return np.sum(y * np.arange(5))


@program
def elements_that_change_places(x):
    y = np.zeros(4)
    y[0], y[1] = x[0], x[1]
    y[0], y[1] = y[1], y[0]
    return np.sum(y * np.arange(4))


@program
def what_is_made_of_a_filled_array(x):
    y = np.zeros(4)
    y[:] = x
    z = y * 2.0
    z.sort()
    total = y.sum()
    total += 1.0
    some = y[[0, 1]]
    some += 5.0
    parted = y[:3].copy()
    parted.partition(1)
    return np.sum(z * np.arange(4)) + total * y.sum() + some @ y[:2] + parted[1]


@program
def a_part_of_a_filled_array_is_sorted(x):
    y = np.zeros(5)
    y[1:] = x
    part = y[1:]
    part.sort()
    first = y[1]
    y[1] = 100.0
    return np.sum(y[2:] * np.arange(3)) + first


@program
def rows_of_a_filled_array(x):
    y = np.zeros((2, 4))
    y[0] = x
    for row in y:
        row += 1.0
    first, _ = y
    first *= 2.0
    element = y[0, 1]
    y[0, 1] = 7.0
    element += 1.0
    return np.sum(y * np.arange(8).reshape(2, 4)) + element


@program
def what_a_filled_array_is(x):
    y = np.zeros(4)
    y[:] = x
    kinds = isinstance(y, np.ndarray) + 2 * (type(y) is np.ndarray)
    return kinds * y[y.argmax()] + sum(v for v in y.flat) + sum(v for v in y)


# -- arrays that NumPy has just made: by an index, or views of memory that nobody else has ---------


@program
def scattered_to_a_list(x):
    y = np.zeros(3)
    y[[0, 1]] += x[0]
    y[[1, 2]] -= x[1:3] * y[[0, 1]]
    y[[0, 0]] *= x[3]
    return np.sum(y * y)


@program
def scattered_to_blocks(x):
    stiff, load = np.eye(5), np.zeros(5)
    for e in range(4):
        nodes = [e, e + 1]
        stiff[np.ix_(nodes, nodes)] += x[e] ** 2 * np.array([[1.0, -1.0], [-1.0, 1.0]])
        load[nodes] += x[e] * 0.5
    return np.sum(np.linalg.solve(stiff, load) ** 2)


@program
def scattered_by_a_table(x):
    table = np.arange(10)[:, None] + np.arange(2)
    stiff = np.zeros((11, 11))
    for nodes in table:
        stiff[np.ix_(nodes, nodes)] += x[0] * np.eye(2)
    return np.sum(stiff**2)


@program
def scattered_in_turns(x):
    s = 0.0
    for k in range(10):
        y = np.zeros(3)
        y[[0, 1]] += x[0] * k
        s = s + np.sum(y * y)
    return s


@program
def written_at_indices_of_numpy(x):
    y = np.eye(4)
    y[np.diag_indices(4)] += x
    y[np.tril_indices(4)] *= x[0]
    y[np.nonzero(np.eye(4))] -= x * x
    y[:, [1]] += x[1]
    y[0][[0, 1]] += x[2]
    return np.sum(y * y)


@program
def written_at_a_mask(x):
    y = np.arange(3.0)
    y[y > 0] += x[0]
    v = y[np.array([True, False, True])]
    v *= x[1]
    part = np.arange(4.0)
    part = part[part > 1]
    part *= x[2]
    return np.sum(y * y) + np.sum(v * v) + np.sum(part * part)


@program
def an_indexed_part_is_no_view(x):
    y = np.zeros(3)
    part = y[[0, 1]]
    same = part
    same += x[0]
    return np.sum(part * same) + np.sum(y)


@program
def grids_are_written_to(x):
    v = np.linspace(0.0, 1.0, 4)
    w = v[1:]
    v -= x[0]
    w *= x[1]
    a, b = np.meshgrid(np.arange(3.0), np.arange(2.0))
    a -= x[2]
    b *= x[3]
    g = np.mgrid[0:2, 0:3][0] * 1.0
    g += x[0]
    r = np.r_[0.0:3.0, 5.0]
    r *= x
    return np.sum(v * v) + np.sum(a * b * b) + np.sum(g * g) + np.sum(r * r)


@program
def parts_of_several_results_are_written_to(x):
    whole, rest = np.modf(np.arange(3.0) * 1.5)
    whole *= x[0]
    first, _ = np.split(np.arange(6.0), 2)
    first -= x[1]
    _, vectors = np.linalg.eigh(np.array([[2.0, 1.0], [1.0, 3.0]]))
    vectors *= x[2]
    tiled = np.tile(np.arange(2.0), 2)
    tiled -= x
    return np.sum(whole * rest) + np.sum(first**2) + np.sum(vectors**2) + np.sum(tiled**2)


FRESH = PROGRAMS[-9:]


@program
def resized(x):
    y = np.arange(4.0)
    y.resize(2, refcheck=False)
    z = np.arange(4.0)
    total = np.sum(x * z)
    z.resize((2, 3), refcheck=False)
    w = x * 2.0
    w.resize((2, 2), refcheck=False)
    return np.sum(x[:2] * y) + total + np.sum(z * x[0]) + np.sum(w @ w)


# -- functions of math ---------------------------------------------------------------------------


@program
def hypot_of_as_many_as_one_likes(x):
    return math.hypot(x[0], x[1], x[2]) + math.hypot(*x) * math.hypot(x[3])


X = [np.array([0.52, -0.33, 1.27, 0.81]), np.array([-0.52, 0.73, 0.47, -1.21])]


def _differences(f: Any, x: Any) -> Any:
    return np.array([(f(x + d) - f(x - d)) / 2e-6 for d in 1e-6 * np.eye(4)])


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values_of_arrays_that_a_function_changes(f: Any) -> None:
    compiled = tg.compile(f)
    for x in (*X, *reversed(X), *X):
        assert_allclose(compiled(x), f(x), rtol=1e-13)
    tg.config.compile = False
    try:
        assert_allclose(compiled(X[0]), f(X[0]), rtol=1e-13)
    finally:
        tg.config.compile = True


def _backward(f: Any) -> Callable[[Any], Any]:
    """The gradient of a function of Tensors."""

    def gradient(x: Any) -> Any:
        given = tg.tensor(x, requires_grad=True)
        f(given).backward()
        return given.grad.numpy()

    return gradient


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients_of_arrays_that_a_function_changes(f: Any) -> None:
    ways: list[Callable[[Any], Any]] = [
        tg.grad(f),
        tg.grad(tg.compile(f)),
        lambda x: tg.vjp(f, x)[1](1.0)[0],
        tg.jacfwd(f),
        _backward(tg.compile(f)),
    ]
    for x in (*X, *reversed(X)):
        slope = _differences(f, x)
        for way in ways:
            assert_allclose(way(x), slope, rtol=2e-7, atol=2e-7)
        tg.config.compile = False
        try:
            assert_allclose(ways[0](x), slope, rtol=2e-7, atol=2e-7)
        finally:
            tg.config.compile = True


@pytest.mark.parametrize("f", FRESH, ids=lambda f: f.__name__)
def test_arrays_that_numpy_has_just_made_are_written_in_programs(f: Any) -> None:
    for transform in (tg.compile, tg.value_and_grad, tg.jacfwd):
        called = transform(f)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            given = [called(x) for x in (*X, *X)]
        tg.config.compile = False
        try:
            eager = [transform(f)(x) for x in (*X, *X)]
        finally:
            tg.config.compile = True
        assert_same_bits(given, eager)
        assert called.cache_info().versions == 1


def test_what_cannot_be_told_apart_is_refused() -> None:
    def shared(x):
        y = np.ones(4)
        t = tg.as_tensor(y)
        y[0] = x[0]
        return np.sum(x * t)

    with pytest.raises(tg.errors.ConversionError, match="y\\[0\\] = x\\[0\\]"):
        tg.grad(shared)(X[0])

    def locked(x):
        y = np.ones(4)
        t = x * y
        y.setflags(write=False)
        y[0] = 2.0
        return np.sum(t * y)

    with pytest.raises(ValueError, match="read-only"):
        tg.grad(locked)(X[0])


def test_an_array_of_a_list_that_holds_arrays_may_be_written() -> None:
    held = [0.5, 1.0, np.array(1.5)]

    def f(x: Any) -> Any:
        y = np.asarray(held)
        y += x
        return y.sum()

    x = np.arange(3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it runs eagerly
        for way in (tg.compile(f), lambda x: tg.value_and_grad(f)(x)[0]):
            for _ in range(3):
                assert way(x) == f(x)
        assert_allclose(tg.grad(f)(x), np.ones(3))
    assert held[:2] == [0.5, 1.0] and held[2] == 1.5


def test_what_a_function_of_tensors_leaves_behind() -> None:
    """An array that it filled with something that has a history is a Tensor, by each call."""
    kept: dict[str, Any] = {}

    def f(x: Any) -> Any:
        y = np.zeros(3)
        y[:] = x
        kept["y"] = y
        kept["part"] = (y * 2.0)[1:]
        return y, y.sum()

    for steps in (f, lambda x: [open(os.devnull).close(), f(x)][1]):
        compiled = tg.compile(steps)
        for _ in range(3):
            x = tg.tensor([2.0, 1.0, 5.0], requires_grad=True)
            y, total = compiled(x)
            (total + kept["y"].sum() + kept["part"].sum() + (y * y).sum()).backward()
            assert_allclose(x.grad.numpy(), [6.0, 6.0, 14.0])


@pytest.mark.parametrize(
    "function",
    [
        lambda w, labels: (np.eye(3)[labels] * w).sum(),
        lambda w, labels: (np.array([1.0, 2.0, 3.0])[labels] * w[0]).sum(),
        lambda w, labels: (np.arange(3.0)[labels > 0] * w[0]).sum(),
        lambda w, labels: (np.eye(3)[labels, labels] * w[0]).sum(),
    ],
)
def test_rows_of_an_array_of_constants_are_taken_by_an_argument(function) -> None:
    """One-hot rows are compiled: for all labels, as many as there are."""
    draw = np.random.default_rng(0)
    compiled, gradient = tg.compile(function), tg.value_and_grad(function)
    for length in (3, 3, 3):
        w, labels = draw.normal(size=3), draw.integers(0, 3, length)
        expected = function(w, labels)
        assert compiled(w, labels) == gradient(w, labels)[0] == expected
    assert compiled.cache_info().traces == gradient.cache_info().traces == 1
