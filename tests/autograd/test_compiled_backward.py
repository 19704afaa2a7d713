"""Eager Tensors enter, gradients leave: interpreted once, compiled afterwards, never confused.

A compiled backward recognises a tape by comparing it with the one it was made for. What differs
must not be taken for the same: sharing, order, dtypes, ranks, shapes, attributes, constants or
leaves.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits, forget_eager_backwards
from hypothesis import given, settings
from hypothesis import strategies as st

import tracegrad as tg
from tracegrad import errors
from tracegrad.autograd import compiled_backward as eager_backwards
from tracegrad.tracing import compile_budget

X = np.array([0.5, -1.0, 2.0])
Y = np.array([1.5, 0.3, -0.7])


@pytest.fixture(autouse=True)
def fresh():
    """No backward is known at the start of a test."""
    eager_backwards._SEEN.clear()
    eager_backwards._COMPILED.clear()
    eager_backwards._BUDGETS.clear()
    eager_backwards._MATCHERS.clear()
    eager_backwards._UNSEEN.clear()


def leaf(x: Any) -> tg.Tensor:
    return tg.tensor(x, requires_grad=True)


def gradients(f: Callable[..., Any], *arrays: Any, **options: Any) -> list[np.ndarray]:
    """The gradients that one backward leaves in new leaves."""
    tensors = [leaf(a) for a in arrays]
    f(*tensors).backward(**options)
    return [np.zeros(t.shape) if t.grad is None else t.grad.detach().numpy() for t in tensors]


# -- basics -------------------------------------------------------------------------------------


def test_a_gradient_by_hand():
    x, y = leaf(X), leaf(Y)
    z = (np.sin(x) * y).sum()
    assert z.requires_grad and not z.is_leaf and x.is_leaf
    z.backward()
    assert_close((x.grad, y.grad), (np.cos(X) * Y, np.sin(X)), 1e-15)


def test_interpreted_and_compiled_have_the_same_bits():
    def f(x, y):
        h = np.tanh(x * y + x)
        return (h * h / (1.0 + np.exp(y))).sum() + h.mean()

    first = gradients(f, X, Y)
    assert not eager_backwards._MATCHERS
    second = gradients(f, X, Y)
    assert eager_backwards._MATCHERS
    assert_same_bits(second, first)
    assert_same_bits(gradients(f, X, Y), first)
    assert_same_bits(gradients(f, X, Y, create_graph=True), first)
    assert_same_bits(list(tg.grad(f, argnums=(0, 1))(X, Y)), first)


READS = {
    "elements": lambda x: sum((x[i, 0] * x[i, 1] for i in range(3)), 0.0),
    "rows": lambda x: sum(((row * row).sum() for row in x), 0.0),
    "overlapping": lambda x: ((x[1:] - x[:-1]) * -0.0).sum(),
    "a whole first": lambda x: x[0, 0] * x[1:].sum() + np.sin(x).sum() * x[2, 1],
    "a whole last": lambda x: (x[0] * np.cos(x)[1] * x[0]).sum(),
    "repeated": lambda x: (x[np.array([0, 0, 2])] * x[0]).sum() + x[0, 1],
    "masks": lambda x: (x[np.array([True, False, True])] * x[:2]).sum(),
    "of what is read": lambda x: (x[1:][0] * x[1:][1][0] * x[..., None][2]).sum(),
    "branches": lambda x: np.where(x > 0.0, x * x[0, 0], x[1] * x[:, :1]).sum(),
    "another dtype": lambda x: (x[0].astype(np.float32) * x[1] * 1j).imag.sum() + x[0, 0],
}


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_cotangents_of_reads_are_added_in_place(name, dtype):
    """In one order, so with the same bits, however the backward runs."""
    f, x = READS[name], np.array([[0.5, -0.0], [-1.5, 2.0], [0.0, 0.7]], dtype)
    first = gradients(f, x)
    assert first[0].dtype == dtype
    for options in ({}, {}, {"create_graph": True}):
        assert_same_bits(gradients(f, x, **options), first)
    assert_same_bits([tg.grad(f)(x)], first)
    if dtype == "float64":
        difference, h = np.zeros_like(x), 2.0**-10  # exact in float32 too
        for i in np.ndindex(x.shape):
            step = np.zeros_like(x)
            step[i] = h
            difference[i] = (f(tg.tensor(x + step)) - f(tg.tensor(x - step))).item()
        if name != "branches":  # not smooth at 0
            assert_close(first[0], difference / (2.0 * h), 1e-5)


def test_an_array_that_was_shared_is_not_written_to():
    x = leaf(X)
    kept = []
    y = x * 1.0
    y.register_hook(lambda ct: kept.append(ct) or None)
    z = y + x  # one array is the cotangent of both
    (z * Y).sum().backward(retain_graph=True)
    before = kept[0].numpy().copy()
    assert_close(x.grad, 2.0 * Y, 1e-15)
    total = (z * Y).sum() + x[0] * 3.0 + x[1:].sum()
    total.backward()
    assert_same_bits(kept[0].numpy(), before)
    assert_close(x.grad, 2.0 * Y + 2.0 * Y + np.array([3.0, 1.0, 1.0]), 1e-15)


def test_reading_elements_takes_steps_on_elements():
    def f(x):
        return x[0] * x[1] + 3.0 * x[2]

    source = tg.grad(f).source(X)
    backward = [line.strip() for line in source.split("# backward")[1].splitlines()]
    assert [line for line in backward if "x_bar" in line] == [
        "x_bar = np.zeros(x.size)",
        "x_bar[2] = 3.0",
        "x_bar[1] = value_1",  # where nothing else was added
        "x_bar[0] = value_2",
        "return x_bar",
    ]
    for dtype in ("float64", "float32"):  # a number that is repeated is written as it is
        source = tg.grad(lambda x: np.sum(x[1:]) + x[0]).source(X.astype(dtype))
        assert "x_bar[1:] = 1.0\n" in source


def test_tapes_that_never_repeat_and_one_that_does():
    """A key of long tapes that are never alike is seldom made; what repeats is compiled yet."""
    rng = np.random.default_rng(0)

    def signs(x):
        r = 1.0
        for element in x:
            r = r * element if element > 0.0 else r - element
        return r

    for _ in range(40):
        x = rng.normal(size=32)
        gradient = gradients(signs, x)[0]
        slopes = [np.prod(x[i + 1 :][x[i + 1 :] > 0.0]) for i in range(32)]
        before = [signs(x[:i]) for i in range(32)]
        assert_close(gradient, slopes * np.where(x > 0.0, before, -1.0), 1e-12)
    assert not eager_backwards._MATCHERS
    for _ in range(16):
        again = gradients(signs, x)[0]
        assert_same_bits(again, gradient)
    assert eager_backwards._MATCHERS


@pytest.fixture
def compiled(monkeypatch) -> list[int]:
    """Sizes of the tapes that were compiled; a node costs 1 ms in a walk, and 80 to compile."""
    now, sizes = [0.0], list[int]()
    walk, compile_tape = eager_backwards.pullback, eager_backwards.compile_backward

    def walked(steps, *args, **options):
        now[0] += 1e-3 * len(steps)
        return walk(steps, *args, **options)

    def compiled(steps, *args):
        now[0] += 0.08 * len(steps)
        sizes.append(len(steps))
        return compile_tape(steps, *args)

    monkeypatch.setattr(compile_budget, "clock", lambda: now[0])
    monkeypatch.setattr(eager_backwards, "pullback", walked)
    monkeypatch.setattr(eager_backwards, "compile_backward", compiled)
    return sizes


def chain(length):
    def f(x):
        for i in range(length):
            x = np.sin(x) if i % 2 else x * 0.5
        return x.sum()

    return f


@pytest.mark.parametrize("length, walks", [(5, 1), (11, 1), (18, 28), (38, 55)])
def test_a_tape_is_compiled_when_walks_have_paid(compiled, length, walks):
    """A second of compiling is given; what takes longer waits for as much as that lacks."""
    for _ in range(walks):
        gradients(chain(length), X)
        assert not compiled
    for _ in range(3):
        gradients(chain(length), X)
        assert compiled == [length + 1]


def test_tapes_of_many_lengths_have_one_budget(compiled):
    """A recurrent model whose sequences are all of another length is compiled for few of them."""
    lengths = [4, 6, 8, 10, 5, 7, 9]
    walked = 0.0
    for n in range(70):
        before = len(compiled)
        length = lengths[n % len(lengths)]
        gradients(chain(length), X)
        walked += 0.0 if len(compiled) > before else 1e-3 * (length + 1)
    assert 1 <= len(compiled) < len(lengths)
    assert sum(compiled) * 0.08 <= 1.0 + walked
    gradients(lambda x: np.cos(x).sum(), X)
    gradients(lambda x: np.cos(x).sum(), X)
    assert compiled[-1] == 2  # other ops: a budget of its own


def test_nothing_is_compiled_while_that_is_off(compiled):
    """The bits are the same, and what was compiled before is not run."""
    first = gradients(chain(5), X)
    tg.config.compile = False
    try:
        for _ in range(4):
            assert_same_bits(gradients(chain(5), X), first)
        assert not compiled and not eager_backwards._MATCHERS
        tg.config.compile = True
        gradients(chain(5), X)
        assert compiled == [6]
        tg.config.compile = False
        eager_backwards._MATCHERS.update(
            {op: (None,) for op in eager_backwards._MATCHERS}  # which nobody calls
        )
        assert_same_bits(gradients(chain(5), X), first)
    finally:
        tg.config.compile = True


def test_gradients_accumulate_in_leaves():
    x = leaf(X)
    for i in range(1, 5):
        (x * 2.0).sum().backward()
        assert_close(x.grad, np.full(3, 2.0 * i), 0.0)
    x.grad = None
    (x * 3.0).sum().backward()
    assert_close(x.grad, np.full(3, 3.0), 0.0)


def test_a_leaf_used_many_times():
    assert_close(gradients(lambda x: (x * x * x + x).sum(), X)[0], 3.0 * X**2 + 1.0, 1e-15)


def test_gradients_are_memory_of_their_own():
    for _ in range(3):
        x, y = leaf(X), leaf(Y)
        (x + y).sum().backward()
        assert not np.shares_memory(x.grad.numpy(), y.grad.numpy())
        seed = np.ones(3)
        z = leaf(X)
        (z * 1.0).backward(seed)
        assert not np.shares_memory(z.grad.numpy(), seed)


def test_what_needs_no_gradient_is_left_alone():
    x, y = leaf(X), tg.tensor(Y)
    (x * y).sum().backward()
    assert y.grad is None and not y.requires_grad
    assert (y * 2.0).grad_fn is None


def test_a_cotangent_given():
    for _ in range(3):
        x = leaf(X)
        (x * x).backward(np.array([1.0, 10.0, 100.0]))
        assert_close(x.grad, 2.0 * X * [1.0, 10.0, 100.0], 1e-15)


def test_retain_graph():
    for _ in range(3):
        x = leaf(X)
        y = (x * x).sum()
        y.backward(retain_graph=True)
        y.backward(retain_graph=True)
        y.backward()
        assert_close(x.grad, 6.0 * X, 1e-15)
        with pytest.raises(errors.GradientError):
            y.backward()


def test_create_graph_to_third_order():
    x = leaf(X)
    (x**4).sum().backward(create_graph=True)
    for expected in (12.0 * X**2, 24.0 * X):
        first, x.grad = x.grad, None
        assert first.requires_grad
        first.sum().backward(create_graph=True)
        assert_close(x.grad, expected, 1e-14)


def test_detach_ends_the_gradient():
    x = leaf(X)
    (x * x.detach()).sum().backward()
    assert_close(x.grad, X, 0.0)


def test_writing_into_a_result():
    for _ in range(3):
        x = leaf(X)
        y = x * 2.0
        y[0] = x[1] * 10.0
        y[2] = 0.0
        (y * y).sum().backward()
        assert_close(x.grad, np.array([0.0, 208.0 * X[1], 0.0]), 1e-14)


def test_leaves_and_results():
    x = leaf([1, 2])
    assert x.dtype == np.float64 and x.is_leaf and x.grad_fn is None
    y = x * 2
    assert y.grad_fn.name() == "MultiplyBackward0" or y.grad_fn.name() == "MulBackward0"
    assert repr(tg.tensor([1.0, 2.0])) == "tensor([1., 2.])"
    assert "requires_grad=True" in repr(x) and "grad_fn=<" in repr(y)


@pytest.mark.parametrize("value", [2.0, np.float64(2.0), np.array(2.0), np.array([2.0])])
def test_shapes_of_gradients(value):
    for _ in range(3):
        x = leaf(value)
        (x * x * 3.0).sum().backward()
        assert x.grad.shape == np.shape(value)
        assert_close(x.grad, np.full(np.shape(value), 12.0), 0.0)


def test_float32_stays_float32():
    for _ in range(3):
        x = leaf(X.astype(np.float32))
        y = (np.sin(x) * 2.0 + 1).sum()
        y.backward()
        assert y.dtype == x.grad.dtype == np.float32


def test_broadcasting():
    for _ in range(3):
        a, b, c = gradients(
            lambda a, b, c: (a * b + c).sum(), np.ones((2, 3)), X, np.array([[1.0], [2.0]])
        )
        assert_close((a, b, c), (np.tile(X, (2, 1)), np.full(3, 2.0), np.full((2, 1), 3.0)), 0.0)


def test_dropping_the_result_frees_the_graph_at_once():
    gc.disable()
    try:
        x = leaf(np.ones(1000))
        y = np.sin(x) * x
        refs = [weakref.ref(y), weakref.ref(y.grad_fn)]
        del y
        assert [r() for r in refs] == [None, None]
    finally:
        gc.enable()


def test_deep_graphs():
    n = 30_000
    x = leaf(1.0)
    y = x
    for _ in range(n):
        y = y + 1.0
    y.backward()
    assert x.grad.item() == 1.0
    z = x
    for _ in range(n):
        z = z * 1.0
    del z  # as deep, never walked


# -- what must not be confused ------------------------------------------------------------------


def expect(f: Callable[..., Any], *arrays: Any) -> list[np.ndarray]:
    """Gradients by central differences."""
    found = []
    for i, a in enumerate(arrays):
        g = np.zeros(np.shape(a))
        for index in np.ndindex(*np.shape(a)):
            ends = []
            for h in (1e-6, -1e-6):
                moved = np.array(a, dtype=float)
                moved[index] += h
                ends.append(float(f(*arrays[:i], moved, *arrays[i + 1 :])))
            g[index] = (ends[0] - ends[1]) / 2e-6
        found.append(g)
    return found


PAIRS: dict[str, list[Callable[..., Any]]] = {
    "sharing of a result": [
        lambda x, y: (lambda h: (h * h).sum())(np.sin(x)),
        lambda x, y: (np.sin(x) * np.sin(x)).sum(),
        lambda x, y: (np.sin(x) * np.sin(y)).sum(),
    ],
    "sharing of a leaf": [
        lambda x, y: (x * x).sum(),
        lambda x, y: (x * y).sum(),
        lambda x, y: (y * x).sum(),
        lambda x, y: (y * y).sum(),
    ],
    "order of operands": [
        lambda x, y: (x - y).sum(),
        lambda x, y: (y - x).sum(),
        lambda x, y: (x / y).sum(),
        lambda x, y: (y / x).sum(),
        lambda x, y: (2.0 - x).sum() + (y - 2.0).sum(),
        lambda x, y: (x - 2.0).sum() + (2.0 - y).sum(),
    ],
    "constants": [
        lambda x, y: (x * 2.0).sum(),
        lambda x, y: (x * 3.0).sum(),
        lambda x, y: (x * 3).sum(),
        lambda x, y: (x * Y).sum(),
        lambda x, y: (x * X[:1]).sum(),
        lambda x, y: (x**2).sum(),
        lambda x, y: (x**3).sum(),
        lambda x, y: (2.0 * x).sum(),
    ],
    "attributes": [
        lambda x, y: ((x[:, None] * y).sum(axis=0) ** 2).sum(),
        lambda x, y: ((x[:, None] * y).sum(axis=1) ** 2).sum(),
        lambda x, y: ((x[:, None] * y).sum(axis=1, keepdims=True) ** 2).sum(),
        lambda x, y: ((x[:, None] * y).mean(axis=1) ** 2).sum(),
    ],
    "indices": [
        lambda x, y: (x[0] * y[1]).sum(),
        lambda x, y: (x[1] * y[0]).sum(),
        lambda x, y: (x[1:] * y[:2]).sum(),
        lambda x, y: (x[:2] * y[1:]).sum(),
        lambda x, y: (x[::-1] * y).sum(),
        lambda x, y: (x[np.array([0, 0, 1])] * y).sum(),
        lambda x, y: (x[np.array([2, 1, 1])] * y).sum(),
    ],
    "ops": [
        lambda x, y: np.sin(x * y).sum(),
        lambda x, y: np.cos(x * y).sum(),
        lambda x, y: np.sin(x + y).sum(),
        lambda x, y: np.sin(x).sum() + y.sum(),
        lambda x, y: np.sin(y).sum() + x.sum(),
        lambda x, y: x.sum() + np.sin(x).sum(),
    ],
    "order in time": [
        lambda x, y: (lambda a: (lambda b: (a * b).sum())(np.cos(a)))(np.sin(x)),
        lambda x, y: (lambda a, b: (a * b).sum())(np.sin(x), np.cos(x)),
        lambda x, y: (lambda b, a: (a * b).sum())(np.cos(x), np.sin(x)),
    ],
}


@pytest.mark.parametrize("name", PAIRS)
def test_programs_that_look_alike(name):
    """Each of them twice in a row, then all of them in turn, forwards and backwards."""
    programs = PAIRS[name]
    expected = [expect(f, X, Y) for f in programs]
    order = [i for i in range(len(programs)) for _ in range(3)]
    order += [*range(len(programs)), *reversed(range(len(programs)))]
    for i in order:
        assert_close(gradients(programs[i], X, Y), expected[i], 1e-7, atol=1e-8, what=f"{name} {i}")


@pytest.mark.parametrize("first", [1.5, True, np.array([2.0, 3.0, 4.0])], ids=type)
def test_operands_that_were_one_object_are_two_another_time(first):
    for a, b in [(first, first)] * 3 + [(first + 1, first + 2), (True, False), (2.5, 0.5)]:
        t = tg.tensor([0.5, -1.0, 2.0], requires_grad=True)
        (t * a * b).sum().backward()
        assert np.array_equal(t.grad.numpy(), np.ones(3) * a * b)


def test_detached_operands():
    def whole(x, y):
        return (x * (x * y)).sum()

    def cut(x, y):
        return (x * (x.detach() * y)).sum()

    for f, expected in [(whole, 2.0 * X * Y), (cut, X * Y), (whole, 2.0 * X * Y)] * 3:
        assert_close(gradients(f, X, Y)[0], expected, 1e-15)


@pytest.mark.parametrize("one, two", [(tg.tensor(2.0 * Y), tg.tensor(Y)), (2, 1), (0.5, 7.0)])
def test_constants_that_were_one_object(one, two):
    """Constants that are the same object when a backward is compiled may differ later."""

    def f(x, c, d, e):
        return (x * c).sum() * d + (x * x * e).sum()

    for c, e in [(one, one)] * 3 + [(one, two), (two, one), (two, two)]:
        for d in (2, 1, 2):
            (found,) = gradients(lambda x, c=c, d=d, e=e: f(x, c, d, e), X)
            expected = _array(c) * d + 2.0 * X * _array(e)
            assert_close(found, expected, 1e-15)


def test_dtypes_ranks_and_shapes():
    """The same program on operands of every kind, in turn."""

    def f(x, y):
        return (np.sin(x) * y + x).sum()

    kinds = [
        (X, Y),
        (X.astype(np.float32), Y),
        (X, Y.astype(np.float32)),
        (X.astype(np.float32), Y.astype(np.float32)),
        (X[:1], Y),
        (X, Y[:1]),
        (X[0], Y),
        (X, Y[0]),
        (X[0], Y[0]),
        (X[:2], Y[:2]),
        (X[:, None], Y),
        (X[:, None], Y[None]),
        (X[:0], Y[:0]),
        (X[:0], Y[:1]),
    ]
    for _ in range(4):
        for x, y in kinds:
            gx, gy = gradients(f, x, y)
            assert gx.dtype == np.asarray(x).dtype and gy.dtype == np.asarray(y).dtype
            ones = np.ones(np.broadcast_shapes(np.shape(x), np.shape(y)))
            wx, wy = np.cos(x) * y * ones, np.sin(x) * ones
            expected = _summed_to(wx, np.shape(x)) + _repeats(ones, x), _summed_to(wy, np.shape(y))
            assert_close((gx, gy), expected, 1e-6, atol=1e-6, what=f"{np.shape(x)} {np.shape(y)}")


def _repeats(ones: Any, x: Any) -> Any:
    """The gradient of ``(... + x).sum()`` in the second x."""
    return _summed_to(ones, np.shape(x))


def _summed_to(array: Any, shape: tuple[int, ...]) -> Any:
    array = np.asarray(array)
    array = array.sum(axis=tuple(range(array.ndim - len(shape))))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and array.shape[i] != 1)
    return array.sum(axis=axes, keepdims=True)


def test_which_operand_requires_grad():
    for _ in range(4):
        for needs in [(True, True), (True, False), (False, True)]:
            x, y = (tg.tensor(a, requires_grad=n) for a, n in zip((X, Y), needs, strict=True))
            (np.sin(x) * y).sum().backward()
            assert (x.grad is None, y.grad is None) == (not needs[0], not needs[1])
            if needs[0]:
                assert_close(x.grad, np.cos(X) * Y, 1e-15)
            if needs[1]:
                assert_close(y.grad, np.sin(X), 1e-15)


def test_hooks_registered_after_a_compile_are_honoured():
    x = leaf(X)
    for _ in range(3):
        (x * 2.0).sum().backward()
    x.grad = None
    handle = x.register_hook(lambda g: g * 10.0)
    (x * 2.0).sum().backward()
    assert_close(x.grad, np.full(3, 20.0), 0.0)
    handle.remove()
    x.grad = None
    (x * 2.0).sum().backward()
    assert_close(x.grad, np.full(3, 2.0), 0.0)


def test_graphs_that_share_a_part():
    for _ in range(3):
        x = leaf(X)
        shared = np.sin(x)
        a, b = (shared * 2.0).sum(), (shared * shared).sum()
        a.backward(retain_graph=True)
        b.backward()
        assert_close(x.grad, 2.0 * np.cos(X) + 2.0 * np.sin(X) * np.cos(X), 1e-14)


# -- random tapes -------------------------------------------------------------------------------

UNARY: list[Callable[[Any], Any]] = [
    np.sin,
    np.tanh,
    lambda a: a * a,
    lambda a: -a,
    lambda a: a * 0.5,
    lambda a: 1.5 - a,
    lambda a: a[::-1] if a.ndim else a,
    lambda a: a.sum(),
    lambda a: a.T,
    lambda a: np.exp(a * 0.1),
    lambda a: a.reshape(-1),
]
BINARY: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / (1.0 + b * b),
    np.maximum,
]
LEAVES = (np.array(0.7), np.array([0.2]), X, Y, np.array([[0.3, -0.8, 1.1]]))


@st.composite
def tapes(draw):
    """A list of steps ``(op, places of operands)`` over the leaves and earlier results."""
    steps = []
    for n in range(len(LEAVES), len(LEAVES) + draw(st.integers(1, 7))):
        place = st.integers(0, n - 1) | st.integers(max(0, n - 2), n - 1)
        if draw(st.booleans()):
            steps.append((draw(st.integers(0, len(UNARY) - 1)), (draw(place),)))
        else:
            steps.append((draw(st.integers(0, len(BINARY) - 1)), (draw(place), draw(place))))
    return tuple(steps)


def run_tape(steps: Any, leaves: Any) -> Any:
    values = list(leaves)
    for op, places in steps:
        operands = [values[p] for p in places]
        table: Any = UNARY if len(places) == 1 else BINARY
        try:
            result = table[op](*operands)
        except ValueError:  # shapes that do not go together
            result = operands[0] * 2.0
        values.append(result if np.size(_array(result)) <= 64 else operands[0] * 3.0)
    return (values[-1] * values[-1]).sum()


def _array(x: Any) -> Any:
    return x._array if isinstance(x, tg.Tensor) else x


@settings(max_examples=40)
@given(
    st.lists(tapes(), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 31)), min_size=4, max_size=6),
)
def test_random_tapes_in_random_order(programs, order):
    """Tapes run again and again, in any order, on any choice of leaves, give their own gradients.

    Each is compared with the same tape walked over Tensors (`create_graph`), which never uses a
    compiled backward; that walk is compared with differences below.
    """
    for chosen, mask in [*order, *order[:3]]:
        steps = programs[chosen % len(programs)]
        needs = [bool(mask >> i & 1) for i in range(len(LEAVES))]
        found = []
        for create_graph in (False, True):
            tensors = [tg.tensor(a, requires_grad=n) for a, n in zip(LEAVES, needs, strict=True)]
            value = run_tape(steps, tensors)
            if value.requires_grad:
                value.backward(create_graph=create_graph)
            found.append([None if t.grad is None else t.grad.detach().numpy() for t in tensors])
        for a, b in zip(*found, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                assert_same_bits(a, b, str(steps))


@settings(max_examples=40)
@given(tapes())
def test_random_tapes_against_differences(steps):
    forget_eager_backwards()
    expected = [expect(lambda a, i=i: run_tape(steps, _put(i, a)), x)[0] for i, x in _numbered()]
    if not np.all(np.isfinite(np.concatenate([np.ravel(e) for e in expected]))):
        return
    for _ in range(3):
        tensors = [leaf(x) for x in LEAVES]
        value = run_tape(steps, tensors)
        if value.requires_grad:
            value.backward()
        for t, e in zip(tensors, expected, strict=True):
            found = np.zeros(t.shape) if t.grad is None else t.grad.numpy()
            if _smooth(steps):
                assert_close(found, e, 1e-5, atol=1e-4 * (1.0 + float(np.abs(value.item()))))


def _numbered() -> list[tuple[int, Any]]:
    return list(enumerate(LEAVES))


def _put(i: int, value: Any) -> list[Any]:
    return [value if k == i else x for k, x in enumerate(LEAVES)]


def _smooth(steps: Any) -> bool:
    """Without maximum, which may sit on a tie."""
    return not any(len(places) == 2 and op == len(BINARY) - 1 for op, places in steps)
