"""Loops, written by hand and drawn: fast math gives what the exact mode gives."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tracegrad as tg

T = 9


@pytest.fixture(autouse=True)
def checked(monkeypatch):
    monkeypatch.setattr(tg.config, "check", True)


def in_mode(monkeypatch, fast, function, *args):
    """The value and gradients of a function."""
    monkeypatch.setattr(tg.config, "fast_math", fast)
    f = tg.value_and_grad(function, argnums=tuple(range(len(args))))
    value, gradients = f(*args)
    again = f(*args)
    assert np.array_equal(value, again[0])
    assert all(map(np.array_equal, gradients, again[1]))
    return value, gradients


def assert_alike(monkeypatch, f, *args, rtol=1e-13):
    """Fast math changes no more than roundings."""
    before = [np.array(a) for a in args]
    value, gradients = in_mode(monkeypatch, False, f, *args)
    fast_value, fast_gradients = in_mode(monkeypatch, True, f, *args)
    np.testing.assert_allclose(fast_value, value, rtol=rtol)
    for wanted, got in zip(gradients, fast_gradients, strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol * (1 + np.abs(wanted).max()))
    assert all(map(np.array_equal, before, args)), "an argument was changed"


def normal(*shapes, seed=0):
    draw = np.random.default_rng(seed)
    return [draw.normal(0.0, 0.4, shape) for shape in shapes]


def rnn(w, u, b, xs, target):
    h = 0.0 * target
    for x in xs:
        h = np.tanh(x @ w + h @ u + b)
    return ((h - target) ** 2).sum()


@pytest.mark.parametrize("batch", [(), (5,)])
def test_a_recurrent_network(monkeypatch, batch):
    args = normal((3, 4), (4, 4), (4,), (T, *batch, 3), (*batch, 4))
    assert_alike(monkeypatch, rnn, *args)


def test_a_matrix_on_the_left(monkeypatch):
    def f(w, u, b, xs, target):
        h = 0.0 * target
        for x in xs:
            h = np.tanh(w @ x + u @ h + b)
        return ((h - target) ** 2).sum()

    args = normal((4, 3), (4, 4), (4,), (T, 3), (4,))
    assert_alike(monkeypatch, f, *args)


def test_weights_that_every_turn_reads(monkeypatch):
    def f(a, b, y):
        for _ in range(T):
            y = y + 0.1 * np.tanh(y @ a) @ b
        return (y * y).sum()

    assert_alike(monkeypatch, f, *normal((3, 5), (5, 3), (4, 3)))


def test_dot_products_with_rows(monkeypatch):
    def f(w, xs, ys):
        loss = 0.0
        for t in range(T):
            loss = loss + (np.tanh(xs[t] @ w) - ys[t]) ** 2
        return loss

    assert_alike(monkeypatch, f, *normal((3,), (T, 3), (T,)))


def test_part_of_the_rows(monkeypatch):
    def f(w, xs):
        y = 0.0
        for t in range(1, T - 1):
            y = np.tanh(xs[t] @ w + y)
        return y.sum()

    assert_alike(monkeypatch, f, *normal((3, 4), (T, 2, 3)))


def test_rows_apart_from_each_other(monkeypatch):
    def f(w, xs):
        return sum(np.tanh(xs[t] @ w).sum() for t in (0, 2, 4))

    assert_alike(monkeypatch, f, *normal((3, 4), (T, 2, 3)))


def test_a_turn_that_is_different(monkeypatch):
    def f(w, v, xs):
        h = 0.0
        for t in range(7):
            h = np.tanh(h + (xs[t] @ v if t == 3 else xs[t] @ w))
        return h.sum()

    assert_alike(monkeypatch, f, *normal((3, 4), (3, 4), (7, 2, 3)))


def test_what_is_added_to_the_sum_of_turns(monkeypatch):
    def f(y, s, h):
        total = 0.0
        for t in range(3):
            total = total + (h * h).sum() / (1.5 + s.sum()) * y[t] * y[t] ** 2
        return total + s.sum() + (h * h).sum()

    assert_alike(monkeypatch, f, *normal((3,), (2,), (2,)))


def test_what_depends_on_the_turn_before(monkeypatch):
    def f(w, xs):
        for t in range(T):
            w = np.tanh(w + xs[t].T @ (xs[t] @ w))
        return w.sum()

    assert_alike(monkeypatch, f, *normal((3, 4), (T, 2, 3)))


def test_partial_sums_with_other_readers(monkeypatch):
    def f(xs, ys):
        total, out = xs[0].T @ ys[0], 0.0
        for t in range(1, 7):
            total = total + xs[t].T @ ys[t]
            if t == 3:
                out = np.sin(total).sum()
        return out + (total**2).sum()

    assert_alike(monkeypatch, f, *normal((7, 2, 3), (7, 2, 4)))


def test_differences_of_products(monkeypatch):
    def f(xs, ys, start):
        total = start
        for t in range(T):
            total = total - xs[t].T @ ys[t] if t % 2 else total + xs[t].T @ ys[t]
        return np.sin(total).sum()

    assert_alike(monkeypatch, f, *normal((T, 2, 3), (T, 2, 4), (3, 4)))


def test_outputs_keep_memory_of_their_own(monkeypatch):
    """What is returned is not written over, and nothing else stays alive with it."""
    monkeypatch.setattr(tg.config, "fast_math", True)

    def states(w, u, xs):
        h, found = np.zeros((2, 4)), []
        for x in xs:
            h = np.tanh(x @ w + h @ u)
            found.append(h)
        return found

    args = normal((3, 4), (4, 4), (T, 2, 3))
    for h, wanted in zip(tg.compile(states)(*args), states(*args), strict=True):
        np.testing.assert_allclose(h, wanted, rtol=1e-13)


def test_the_backward_of_a_compiled_call(monkeypatch):
    args = normal((3, 4), (4, 4), (4,), (T, 5, 3), (5, 4))
    monkeypatch.setattr(tg.config, "fast_math", True)
    f = tg.compile(rnn)
    for _ in range(3):
        tensors = [tg.tensor(a, requires_grad=True) for a in args]
        f(*tensors).backward()
    monkeypatch.setattr(tg.config, "fast_math", False)
    _, wanted = tg.value_and_grad(rnn, argnums=range(5))(*args)
    for tensor, gradient in zip(tensors, wanted, strict=True):
        np.testing.assert_allclose(tensor.grad.numpy(), gradient, rtol=1e-12, atol=1e-14)


def test_second_order(monkeypatch):
    args = normal((3, 4), (4, 4), (4,), (T, 5, 3), (5, 4))

    def curvature(w, u, b, xs, target):
        slope = tg.grad(rnn, argnums=(0, 1))(w, u, b, xs, target)
        return (slope[0] ** 2).sum() + np.cos(slope[1]).sum()

    assert_alike(monkeypatch, curvature, *args, rtol=1e-11)


def test_lengths_are_free(monkeypatch):
    """One program for all batches, empty ones included."""
    monkeypatch.setattr(tg.config, "fast_math", True)
    f = tg.value_and_grad(rnn, argnums=(0, 1, 2))
    exact = []
    for n in (5, 1, 0, 8):
        args = normal((3, 4), (4, 4), (4,), (T, n, 3), (n, 4), seed=n)
        exact.append((args, f(*args)))
    assert f.cache_info().versions <= 2  # a batch of one may have its own
    monkeypatch.setattr(tg.config, "fast_math", False)
    for args, (value, gradients) in exact:
        wanted_value, wanted = tg.value_and_grad(rnn, argnums=(0, 1, 2))(*args)
        np.testing.assert_allclose(value, wanted_value, rtol=1e-12)
        for gradient, other in zip(gradients, wanted, strict=True):
            np.testing.assert_allclose(gradient, other, rtol=1e-12, atol=1e-14)


def test_float32_stays_float32(monkeypatch):
    args = [a.astype(np.float32) for a in normal((3, 4), (4, 4), (4,), (T, 5, 3), (5, 4))]
    assert_alike(monkeypatch, rnn, *args, rtol=2e-5)


def test_nan_and_inf_stay_in_their_turn(monkeypatch):
    def f(w, xs):
        return [np.tanh(x @ w) for x in xs]

    (w, xs) = normal((3, 4), (T, 2, 3))
    xs[2, 0, 0], xs[4, 1, 1] = np.nan, np.inf
    monkeypatch.setattr(tg.config, "fast_math", True)
    with np.errstate(all="ignore"):
        for t, (got, wanted) in enumerate(zip(tg.compile(f)(w, xs), f(w, xs), strict=True)):
            np.testing.assert_allclose(got, wanted, rtol=1e-13, err_msg=str(t))


def test_losses_of_all_turns(monkeypatch):
    def f(w, u, v, xs, ys):
        h, loss = np.zeros((5, 4)), 0.0
        for x, y in zip(xs, ys, strict=True):
            h = np.tanh(x @ w + h @ u)
            loss = loss + ((h @ v - y) ** 2).sum()
        return loss

    args = normal((3, 4), (4, 4), (4, 2), (T, 5, 3), (T, 5, 2))
    assert_alike(monkeypatch, f, *args)


def test_arrays_that_are_too_short_are_refused(monkeypatch):
    """As by the loop itself: slices of them would only be shorter."""
    monkeypatch.setattr(tg.config, "fast_math", True)

    def f(xs, ys):
        return sum((xs[t] * ys[t]).sum() for t in range(T))

    compiled = tg.value_and_grad(f)
    compiled(*normal((T, 2), (T, 2)))
    compiled(*normal((T + 1, 2), (T, 2)))
    for shapes in [((T - 1, 2), (T, 2)), ((T, 2), (1, 2))]:
        with pytest.raises(IndexError):
            compiled(*normal(*shapes))


def test_cotangents_of_rows_that_are_read_twice(monkeypatch):
    def f(w, v, xs):
        a = b = np.zeros((5, 4))
        for t in range(T):
            a = np.tanh(xs[t] @ w + a)
        for t in reversed(range(T)):
            b = np.tanh(xs[t] @ v - b)
        return (a * b).sum()

    assert_alike(monkeypatch, f, *normal((3, 4), (3, 4), (T, 5, 3)))


def test_layers_one_behind_the_other(monkeypatch):
    def f(w1, u1, w2, u2, xs):
        h1 = h2 = np.zeros((5, 4))
        for x in xs:
            h1 = np.tanh(x @ w1 + h1 @ u1)
            h2 = np.tanh(h1 @ w2 + h2 @ u2)
        return (h2 * h2).sum()

    assert_alike(monkeypatch, f, *normal((3, 4), (4, 4), (4, 4), (4, 4), (T, 5, 3)))


def test_sequences_with_the_batch_first(monkeypatch):
    def f(w, u, xs):
        h = np.zeros((5, 4))
        for t in range(T):
            h = np.tanh(xs[:, t] @ w + h @ u)
        return (h * h).sum()

    assert_alike(monkeypatch, f, *normal((3, 4), (4, 4), (5, T, 3)))


def test_what_is_written_over_is_not_read_as_it_was(monkeypatch):
    """A derivative reads ``0.3 * x`` again, which stands in rows that the loop writes over."""

    def f(xs, z):
        for t in range(T):
            z = z - 0.3 * np.exp(-xs[t])
        return (z * z).sum()

    assert_alike(monkeypatch, f, *normal((T, 2), (2,)))


# -- paths --------------------------------------------------------------------------------------


def test_looks_between_turns(monkeypatch):
    def f(w, u, xs):
        h = np.zeros((2, 4))
        for x in xs:
            h = np.tanh(x @ w + h @ u)
            if h.sum() > 0.4:
                h = h * 0.5
        return (h**2).sum()

    monkeypatch.setattr(tg.config, "fast_math", True)
    fast = tg.value_and_grad(f, argnums=(0, 1, 2))
    several = [normal((3, 4), (4, 4), (T, 2, 3), seed=s) for s in range(12)]
    found = [fast(*args) for args in several]
    monkeypatch.setattr(tg.config, "fast_math", False)
    for args, (value, gradients) in zip(several, found, strict=True):
        wanted_value, wanted = tg.value_and_grad(f, argnums=(0, 1, 2))(*args)
        np.testing.assert_allclose(value, wanted_value, rtol=1e-12)
        for gradient, other in zip(gradients, wanted, strict=True):
            np.testing.assert_allclose(gradient, other, rtol=1e-11, atol=1e-14)


# -- drawn loops --------------------------------------------------------------------------------


class Drawn:
    """A loop drawn from a seed: each turn takes a few random steps on states of one shape."""

    def __init__(self, seed):
        draw = self.draw = random.Random(seed)
        self.turns = draw.choice([2, 3, 4, 7, 11])
        self.rows = draw.choice([None, 1, 3])
        self.n = draw.choice([1, 2, 4])
        self.steps = [self.step() for _ in range(draw.randint(1, 4))]
        self.odd = {t: self.step() for t in range(self.turns) if draw.random() < 0.15}
        self.early = draw.randrange(self.turns)
        self.outputs = draw.random() < 0.4
        self.mapped = draw.random() < 0.3

    def step(self):
        return self.draw.choice(["x", "u", "v", "gate", "slice", "left", "add", "sum", "square"])

    def arguments(self):
        n, batch = self.n, () if self.rows is None else (self.rows,)
        shapes = [(n, n), (n, n), (n, n), (n,), (self.turns, *batch, n), (*batch, n)]
        return normal(*shapes, seed=self.turns)

    def __call__(self, w, u, v, b, xs, h):
        total, kept = 0.0 * (w + u), 0.0
        states = []
        for t in range(self.turns):
            x = np.exp(-xs[t]) if self.mapped else xs[t]
            z = h
            for step in [*self.steps, *([self.odd[t]] if t in self.odd else [])]:
                match step:
                    case "x":
                        z = np.tanh(x @ w + z @ u + b)
                    case "u":
                        z = np.tanh(z @ u + x @ w)
                    case "v":
                        z = z + np.tanh(x @ v - b)
                    case "gate":
                        s = 1.0 / (1.0 + np.exp(-(x @ w + b)))
                        z = s * z + (1.0 - s) * x
                    case "slice":
                        z = np.concatenate([z[..., :1], z[..., 1:] * 0.5], axis=-1)
                    case "left":
                        z = np.tanh(z @ u.T + (xs[self.turns - 1 - t] @ v))
                    case "add":
                        z = z - 0.3 * x
                    case "sum":
                        total = total + np.outer(x, z) if x.ndim == 1 else total + x.T @ z
                    case "square":
                        kept = kept + (x @ w - z).sum() ** 2 * 0.01
            h = z
            states.append(h)
            if t == self.early:
                kept = kept + np.sin(total).sum()
        if self.outputs:
            kept = kept + sum((s * s).sum() for s in states)
        return kept + (h * h).sum() + np.cos(total).sum()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", [*range(24), 682])
def test_drawn_loops(monkeypatch, seed):
    loop = Drawn(seed)
    args = loop.arguments()
    assert_alike(monkeypatch, loop, *args, rtol=1e-10)
