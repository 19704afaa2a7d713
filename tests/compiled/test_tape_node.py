"""Compiled functions called on Tensors that require grad: one node of the tape, eager's bits."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits, run_eagerly
from flow_programs import FLOWS
from programs import PROGRAMS as CORPUS

import tracegrad as tg
from tracegrad.errors import GradientError
from tracegrad.values.pytree import flatten, map_tree

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(3, 4)), RNG.normal(size=(4,))
W = tg.tensor(RNG.normal(size=(4, 2)), requires_grad=True)
CALLS = 4


def gradients(f: Any, *args: Any, before: Any = None, after: Any = None) -> list[Any]:
    """Outputs, and gradients of a weighted sum of them, with ops of the tape around the call."""
    leaves = [tg.tensor(x, requires_grad=True) if np.ndim(x) else x for x in flatten(args)[0]]
    rest = iter(leaves)
    given = map_tree(lambda _: next(rest), args)
    if before is not None:
        given = map_tree(lambda x: before(x) if isinstance(x, tg.Tensor) else x, given)
    W.grad = None
    out = flatten(f(*given))[0]
    ends = [y for y in out if isinstance(y, tg.Tensor) and y.requires_grad]
    if ends:
        total = sum(((y * (k + 1.5)).sum() for k, y in enumerate(ends)), 0.0)
        (total if after is None else after(total)).backward()
    kept = [x.grad for x in leaves if isinstance(x, tg.Tensor)]
    needs = [isinstance(y, tg.Tensor) and y.requires_grad for y in out]
    return [*out, *kept, W.grad, needs]


def straight(x, y):
    return tg.tanh(x * y) + x


def reductions(x, y):
    return (x @ y).sum(), x.mean(axis=0), (x * x).max()


def branches(x, y):
    h = tg.sin(x * y)
    if h[0, 0] > 0:
        return h.sum() if y[0] > 0 else (h * h).sum() * 2.0
    return h, (h * y).sum()


def weights(x, y):
    h = tg.tanh(x @ W)
    return (h * h).sum(), h[0]


def several_kinds(x, y):
    return {"n": x > 0, "i": tg.argmax(x), "s": "text", "v": [x[0] * y, None, 2], "c": y * 0 + 1.0}


def itself(x, y):
    return x, x[1:], x.T, y, y


def only_one(x, y):
    return x * 2.0, y


def detached(x, y):
    with tg.no_grad():
        scale = (x * x).sum()
    return x * scale, scale, tg.stop_gradient(y) * x


def fills(x, y):
    z = x * 1.0
    z[0] = y * 2.0
    z += x
    return z * z


def loops(x, y):
    total = x[0] * 0.0
    for row in x:
        total = tg.tanh(total + row * y)
    return total


def inner_derivative(x, y):
    slope = tg.grad(lambda v: (v**3).sum())(y)
    return (slope * x).sum()


PROGRAMS = [straight, reductions, branches, weights, several_kinds, itself, only_one, detached]
PROGRAMS += [fills, loops, inner_derivative]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_equals_eager(f):
    made = tg.compile(f)
    for _ in range(CALLS):
        for x, y in [(X, Y), (-X, Y), (X, -Y), (X[:2], Y), (X[:1], Y), (X[:, :4] * 3.0, Y)]:
            for before in (None, lambda t: t * 0.5):
                found, expected = (gradients(g, x, y, before=before) for g in (made, f))
                assert_same_bits(found[:-1], expected[:-1], f.__name__)
                assert found[-1] == expected[-1]
    assert made.cache_info().hits > made.cache_info().misses


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_of_jax_are_nodes_too(f):
    made = tg.compile(f, backend="jax")
    for x, y in [(X, Y), (-X, Y), (X[:2], Y), (X, Y)]:
        found, expected = (gradients(g, x, y, before=lambda t: t * 0.5) for g in (made, f))
        assert_close(found[:-1], expected[:-1], rtol=1e-12, atol=1e-14)
        assert found[-1] == expected[-1]
    names = {type(node).__name__ for node in _nodes(made(tg.tensor(X, requires_grad=True), Y))}
    assert "CompiledBackward" in names


def chosen(x, index):
    return (x[index] * 2.0).sum()


def chosen_in_turns(x, index):
    total = x[0] * 0.0
    for k in index:
        total = total * 0.5 + x[k]
    return total


@pytest.mark.parametrize("f", [chosen, chosen_in_turns], ids=lambda f: f.__name__)
def test_an_index_out_of_range_raises_in_programs_of_jax(f):
    """XLA would clamp it: the forward of a node looks at indices, as other programs do."""
    made, index = tg.compile(f, backend="jax"), np.arange(9)
    for length, k in [(12, index), (12, index + 1), (6, index), (12, index - 20), (12, index)]:
        x = np.arange(1.0, length + 1)
        try:
            expected = f(x, k)
        except IndexError:
            with pytest.raises(IndexError):
                made(tg.tensor(x, requires_grad=True), k)
            continue
        y = made(tg.tensor(x, requires_grad=True), k)
        assert y.grad_fn.name() == "CompiledBackward"
        assert_close(y.item(), expected, rtol=1e-12)


def _nodes(out):
    return [y.grad_fn for y in flatten(out)[0] if isinstance(y, tg.Tensor) and y.grad_fn]


@pytest.mark.sampled(2, 1)
@pytest.mark.parametrize("program", CORPUS, ids=lambda p: p.name)
def test_programs_equal_eager(program):
    made = tg.compile(program.function, static_argnames=program.static_argnames)
    for args in (program.args, program.args, program.other_args[-1]):
        how = (program.argnums, program.has_aux)
        assert_same_bits(run_eagerly(made, args, *how), run_eagerly(program.function, args, *how))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("flow", FLOWS, ids=lambda f: f.name)
def test_control_flow_equals_eager(flow):
    made = tg.compile(flow.function)
    for args in (*flow.inputs, *flow.inputs):
        how = (flow.argnums, flow.has_aux)
        assert_same_bits(run_eagerly(made, args, *how), run_eagerly(flow.function, args, *how))


@pytest.mark.parametrize("f", [straight, branches, weights, loops], ids=lambda f: f.__name__)
def test_python_runs_no_more_after_the_first_calls(f):
    made = tg.compile(f)
    signs = [(X, Y), (-X, Y), (X, -Y), (-X, -Y)]
    for x, y in signs * 3:
        gradients(made, x, y)
    before = made.cache_info()
    for x, y in signs:
        leaves = [tg.tensor(v, requires_grad=True) for v in (x, y)]
        out = flatten(made(*leaves))[0][0]
        assert out.grad_fn.name() == "CompiledBackward"
    after = made.cache_info()
    assert (after.traces, after.hits) == (before.traces, before.hits + 4)


def test_gradients_of_gradients():
    def orders(f):
        x, y = tg.tensor(X, requires_grad=True), tg.tensor(Y, requires_grad=True)
        out = flatten(f(x, y))[0][0].sum()
        first = tg.autograd.grad(out, (x, y), create_graph=True)
        second = tg.autograd.grad(sum((g * g).sum() for g in first), (x, y), create_graph=True)
        third = tg.autograd.grad(sum((g * X[0, 0]).sum() for g in second), (x, y))
        return [out, *first, *second, *third]

    for f in (straight, branches, loops):
        made = tg.compile(f)
        for _ in range(CALLS):
            assert_close(orders(made), orders(f), 1e-13)


def test_gradients_through_weights_that_are_read_from_outside():
    """No argument requires grad: the weight does."""
    made = tg.compile(weights)
    for _ in range(CALLS):
        W.grad = None
        loss, row = made(tg.tensor(X), tg.tensor(Y))
        assert loss.requires_grad and row.requires_grad
        (loss + row.sum()).backward()
        found, W.grad = W.grad, None
        loss, row = weights(tg.tensor(X), tg.tensor(Y))
        (loss + row.sum()).backward()
        assert_same_bits(found, W.grad)
    with tg.no_grad():
        assert not made(tg.tensor(X), tg.tensor(Y))[0].requires_grad
        assert type(made(X, Y)[1]) is np.ndarray
    assert made(X, Y)[1].requires_grad


def test_training_step():
    def loss(p, x, t):
        h = tg.tanh(x @ p["w"] + p["b"])
        return ((h - t) ** 2).mean()

    def train(f):
        p = {"w": tg.tensor(RNG0.normal(size=(4, 2)), requires_grad=True)}
        p["b"] = tg.zeros(2, requires_grad=True)
        optimizer = tg.optim.Adam(list(p.values()), lr=0.1)
        values = []
        for _ in range(6):
            optimizer.zero_grad()
            value = f(p, X, X[:, :2])
            value.backward()
            optimizer.step()
            values.append(value.detach())
        return [*values, p["w"].detach(), p["b"].detach()]

    RNG0 = np.random.default_rng(1)
    expected = train(loss)
    RNG0 = np.random.default_rng(1)
    made = tg.compile(loss)
    assert_same_bits(train(made), expected)
    assert (made.cache_info().traces, made.cache_info().hits) == (1, 5)


def test_hooks_and_kept_gradients():
    seen: list[Any] = []

    def run(f):
        x = tg.tensor(X, requires_grad=True)
        z = x * 2.0
        z.retain_grad()
        x.register_hook(lambda g: seen.append(g.sum()) or g * 3.0)
        out = f(z, tg.tensor(Y))
        out.retain_grad()
        out.register_hook(lambda g: g * 2.0)
        (out * out).sum().backward(retain_graph=True)
        (out * out).sum().backward()
        return [x.grad, z.grad, out.grad, *seen[-2:]]

    made = tg.compile(straight)
    for _ in range(CALLS):
        assert_same_bits(run(made), run(straight))


def test_a_hook_inside_runs_as_in_eager():
    seen: list[float] = []

    def f(x, y):
        h = x * y
        h.register_hook(lambda g: g * 2.0)
        return tg.sin(h)

    made = tg.compile(f)
    for _ in range(CALLS):
        assert_same_bits(gradients(made, X, Y)[:-1], gradients(f, X, Y)[:-1])
    assert not seen


def test_a_graph_is_freed_and_saved_tensors_are_watched():
    made = tg.compile(lambda x: tg.exp(x) * x)
    x = tg.tensor(X, requires_grad=True)
    for _ in range(CALLS):
        out = made(x).sum()
        out.backward()
        with pytest.raises(GradientError, match="freed"):
            out.backward()
    out = made(x * 1.0)
    out.zero_()  # the result is the caller's: what the backward needs is not in it
    y = x * 1.0
    out = made(y)
    y.detach().zero_()
    with pytest.raises(GradientError, match="changed"):
        out.sum().backward()


def test_stores_keep_their_history():
    class Keeper:
        last: Any = None

        def __call__(self, x, y):
            self.last = x * y
            return self.last.sum() if x[0, 0] > 0 else (self.last * 2.0).sum()

    plain, keeper = Keeper(), Keeper()
    made = tg.compile(keeper)
    for x in (X, -X) * CALLS:
        leaves = [tg.tensor(x, requires_grad=True) for _ in range(2)]
        outs = [f(leaf, tg.tensor(Y)) for f, leaf in zip((made, plain), leaves, strict=True)]
        for out, kept, leaf in zip(outs, (keeper.last, plain.last), leaves, strict=True):
            (out + (kept * kept).sum()).backward()
            assert leaf.grad is not None
        assert_same_bits(
            [outs[0], keeper.last, leaves[0].grad], [outs[1], plain.last, leaves[1].grad]
        )


def test_effects_happen_once_a_call():
    seen: list[int] = []

    def f(x):
        seen.append(1)
        return x * x

    made = tg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        for i in range(1, 6):
            x = tg.tensor(X, requires_grad=True)
            made(x * 2.0).sum().backward()
            assert_same_bits(x.grad, 2.0 * (X * 2.0) * 2.0)
            assert len(seen) == i


def test_draws_advance_the_generator():
    ours, theirs = tg.random.Generator(3), tg.random.Generator(3)

    def f(g, x):
        return x * g.normal(size=4)

    made = tg.compile(lambda x: f(ours, x))
    for _ in range(CALLS):
        a, b = (tg.tensor(Y, requires_grad=True) for _ in range(2))
        made(a).sum().backward()
        f(theirs, b).sum().backward()
        assert_same_bits(a.grad, b.grad)


def test_numbers_dtypes_and_keywords():
    def f(x, n, *, scale=2.0, mode="a", extra=None):
        out = x * n * scale if mode == "a" else x + n
        return out if extra is None else out + extra["e"]

    made = tg.compile(f)
    for dtype in ("float64", "float32"):
        x0 = X.astype(dtype)
        for args, kwargs in [
            ((3.0,), {}),
            ((3,), {"mode": "b"}),
            ((Y.astype(dtype),), {"scale": np.float32(2.0)}),
            ((np.array(2.0),), {"extra": {"e": tg.tensor(Y)}}),
            ((tg.tensor(1.5, requires_grad=True),), {}),
        ]:
            for _ in range(CALLS):
                leaves = [tg.tensor(x0, requires_grad=True) for _ in range(2)]
                found, expected = made(leaves[0], *args, **kwargs), f(leaves[1], *args, **kwargs)
                (found * found).sum().backward()
                (expected * expected).sum().backward()
                assert_same_bits([found, leaves[0].grad], [expected, leaves[1].grad])


def test_ints_that_vary_are_compiled_once():
    made = tg.compile(lambda x, n: x * n + n)
    for n in (*range(1, 6), *range(1, 6)):
        x = tg.tensor(X, requires_grad=True)
        out = made(x, n)
        out.sum().backward()
        assert_same_bits([out, x.grad], [X * n + n, np.full(X.shape, float(n))])
    assert made.cache_info() == (7, 3, 3, 3)  # two values, and a program for all others


def test_exceptions_leave_the_callable_usable():
    def f(x):
        y = x * 2.0
        if y[0, 0] < 0:
            raise ValueError("negative")
        return y * y

    positive = np.abs(X)
    made = tg.compile(f)
    for _ in range(CALLS):
        x = tg.tensor(positive, requires_grad=True)
        made(x).sum().backward()
        assert_same_bits(x.grad, 2.0 * (positive * 2.0) * 2.0)
        with pytest.raises(ValueError, match="negative"):
            made(tg.tensor(-positive, requires_grad=True))
    assert made.cache_info().versions == 1


def test_threads():
    made, results = tg.compile(branches), []

    def work() -> None:
        for x, y in [(X, Y), (-X, Y), (X, -Y)] * 3:
            results.append((gradients(made, x, y)[0], branches(tg.tensor(x), tg.tensor(y))))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 54
    for found, expected in results:
        assert_same_bits(found, flatten(expected)[0][0])


def test_complex():
    def f(z):
        return tg.abs(z * z + 1.0).sum(), z * 2.0

    made = tg.compile(f)
    for _ in range(CALLS):
        grads = []
        for g in (made, f):
            z = tg.tensor(X + 1j * X[::-1], requires_grad=True)
            norm, twice = g(z)
            (norm + tg.abs(twice).sum()).backward()
            grads.append(z.grad)
        assert_same_bits(*grads)


def test_exceptions_and_versions_for_plain_arrays_are_apart():
    def f(x):
        if x.requires_grad:
            return x * 2.0
        return x * 3.0

    made = tg.compile(f)
    for _ in range(CALLS):
        assert_same_bits(made(tg.tensor(X, requires_grad=True)), X * 2.0)
        assert_same_bits(made(X), X * 3.0)
        assert_same_bits(made(tg.tensor(X)), X * 3.0)
    with pytest.raises(tg.errors.ShapeError):
        tg.compile(lambda x, y: x @ y)(tg.tensor(X, requires_grad=True), tg.tensor(X))
