"""Results of compiled functions require grad where those of eager calls do, and nowhere else.

What a loop or an arm hands on may depend on what requires grad or not: the turns that a call takes
decide it. A result that does not refuses a backward, and gives no gradient, not zeros.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits

import tracegrad as tg
from tracegrad.autograd import engine
from tracegrad.errors import BackwardError

pytestmark = pytest.mark.usefixtures("fresh_loops")


def overwritten(x, p, q):
    h = p * 2.0
    for row in x:
        h = row * 1.0
    return h, p.sum() + q.sum()


def swapped(x, p, q):
    h, g = p * 0.5, x[0]
    for _ in x:
        h, g = g, h
    return h, g


def of_no_turn(x, p, q):
    h, c = tg.zeros(3), tg.zeros(3)
    for row in x:
        h = np.tanh(h * p + row)
        c = c + h * q
    return h, c, row_or_none(x)


def row_or_none(x):
    return x[0] if len(x) else None


def reset_in_turns(x, p, q):
    h = p * 0.5
    for row in x:
        h = row * 2.0 if row[0] > 0 else h * q
    return h, h * 2.0


def set_by_an_arm(x, p, q):
    h = x[0]
    if x[0, 0] > 0:
        h = h * p
    elif x[0, 1] > 0:
        h = h + q
    return np.sin(h), h * q


def sums_of_both(x, p, q):
    a, b = x[0], x[0]
    for row in x:
        if row[0] > 0.8:
            a = row * p
        if row[1] > 0.8:
            b = row * q
        if row[2] > 0.8:
            a, b = row, row
    c = a + b
    return a, b, c, np.sum(c) * a


def nested(x, p, q):
    h, g = x[0], x[0]
    for row in x:
        for k in range(10):
            g = g * 0.5 + k
            if row[0] > 0.5:
                g = g * p
        h, g = g, row
    return h, g


def left_early(x, p, q):
    h, g = x[0], p * 1.0
    for row in x:
        h, g = g, h * 0.5
        if row[0] > 0.5:
            break
    else:
        h = x[-1] * 1.0
    return h, g


def of_a_list(x, p, q):
    ys, h = [], x[0]
    for row in x:
        h = h * p if row[0] > 0 else row
        ys.append(h)
    return np.stack(ys), h


def written(x, p, q):
    out, seen = tg.zeros_like(x), tg.zeros_like(x)
    for t in range(len(x)):
        out[t] = x[t]
        if x[t, 0] > 0.3:
            seen[t] = x[t] * p
    return out, seen, (seen * out).sum()


def until_small(x, p, q):
    h, n = x[0].sum(), 0
    while h > 0.1 and n < 20:
        h = h * 0.7 * p[0]
        n += 1
    return h, p * q


FUNCTIONS = [overwritten, swapped, of_no_turn, reset_in_turns, set_by_an_arm, sums_of_both]
FUNCTIONS += [nested, left_early, of_a_list, written, until_small]
ALL = [np.random.default_rng(k).normal(size=(n, 3)) for k, n in enumerate((9, 8, 12, 9, 10, 11))]
FEW = [np.random.default_rng(k).normal(size=(n, 3)) for k, n in enumerate((2, 1, 3), 10)]
REQUIRED = [(False, True, True), (False, True, False), (True, False, True)]


def told(call: Any) -> Any:
    """What is seen of a call, whatever comes of it."""
    try:
        found = call()
    except BackwardError as error:
        return str(error).partition("\n")[0]
    return [None if g is None else g.numpy().copy() for g in found]


def lacking(x: Any) -> Any:
    """Where there is a number, and what else stands there."""
    if isinstance(x, list | tuple):
        return [lacking(v) for v in x]
    return True if isinstance(x, np.ndarray | np.generic) else x


def seen(f: Any, x: Any, required: Any) -> list[Any]:
    """What a call gives and which gradients flow from each of its results, and from all."""
    rng, found = np.random.default_rng(0), []
    p, q = (tg.tensor(rng.normal(size=3), requires_grad=r) for r in required[1:])
    x = tg.tensor(x, requires_grad=required[0])
    leaves = [v for v in (x, p, q) if v.requires_grad]
    outputs = [y for y in f(x, p, q) if y is not None]
    found += [(y.requires_grad, y.detach().numpy().copy()) for y in outputs]
    how: dict[str, Any] = {"retain_graph": True, "allow_unused": True}
    for y in outputs:
        found.append(told(lambda y=y: tg.autograd.grad(y.sum(), leaves, **how)))
    moving = [y for y in outputs if y.requires_grad]
    if moving:
        sum((y * y).sum() for y in moving).backward()
    return [*found, *(None if v.grad is None else v.grad.numpy() for v in (x, p, q))]


@pytest.mark.parametrize("required", REQUIRED, ids=str)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_results_require_grad_as_those_of_eager_calls(f, required):
    made = tg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice on what is looked at
        for x in (*ALL, *FEW):
            assert_same_bits(seen(made, x, required), seen(f, x, required))


@pytest.mark.parametrize("backend", ["numba", "jax"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_so_do_those_of_other_targets(f, backend):
    made = tg.compile(f, backend=backend)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice on what is looked at
        warnings.simplefilter("error", tg.errors.NoKernelsWarning)
        for x in ALL[:4]:
            found, expected = seen(made, x, REQUIRED[0]), seen(f, x, REQUIRED[0])
            assert_close(found, expected, rtol=1e-10, atol=1e-12)
            assert lacking(found) == lacking(expected)


def test_a_call_without_turns_is_a_constant():
    def f(x, p):
        h = tg.zeros(3)
        for row in x:
            h = np.tanh(h * p + row)
        return h

    made, p = tg.compile(f), tg.tensor(np.ones(3), requires_grad=True)
    for n in (9, 0, 10, 0):
        y = made(tg.tensor(np.ones((n, 3))), p)
        assert y.requires_grad == (n > 0)
        assert y.grad_fn is None or y.grad_fn.name() == "CompiledBackward"


@pytest.mark.parametrize("f", [swapped, reset_in_turns, sums_of_both], ids=lambda f: f.__name__)
def test_gradients_of_gradients_of_such_results(f):
    def second(g: Any, x: Any) -> list[Any]:
        p, q = (tg.tensor(np.ones(3) * k, requires_grad=True) for k in (0.5, 0.8))
        moving = [y for y in g(tg.tensor(x), p, q) if y.requires_grad]
        if not moving:
            return []
        how: dict[str, Any] = {"allow_unused": True}
        total = sum((y * y).sum() for y in moving)
        first = tg.autograd.grad(total, [p, q], create_graph=True, **how)
        squares = [(v * v).sum() for v in first if v is not None and v.requires_grad]
        last = tg.autograd.grad(sum(squares), [p, q], **how) if squares else ()
        return [None if v is None else v.detach().numpy() for v in (*first, *last)]

    made = tg.compile(f)
    for x in ALL:
        found, expected = second(made, x), second(f, x)
        assert_close(found, expected, rtol=1e-10, atol=1e-12)
        assert lacking(found) == lacking(expected)


class Net:
    """What a network keeps between calls."""

    def __init__(self) -> None:
        self.h: Any = tg.zeros(3)
        self.steps = 0


def truncated(net, x, w):
    h = net.h.detach()
    for row in x:
        h = np.tanh(w @ h + row)
    net.h = h
    net.steps += 1
    return (h * h).sum()


def truncated_by_an_arm(net, x, w):
    h = net.h
    if x[0, 0] > -100.0:
        h = h.detach()
    for row in x:
        h = np.tanh(w @ h + row)
    net.h = h
    return (h * h).sum()


def truncated_without_a_loop(net, x, w):
    net.h = np.tanh(w @ net.h.detach() + x[0])
    net.steps += 1
    return (net.h * net.h).sum()


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize(
    "f", [truncated, truncated_by_an_arm, truncated_without_a_loop], ids=lambda f: f.__name__
)
def test_what_is_detached_is_not_behind_a_call(f, keep):
    """Its graph may be freed, and is not kept from call to call."""

    def steps(g: Any) -> list[Any]:
        net, rng = Net(), np.random.default_rng(0)
        w = tg.tensor(rng.normal(size=(3, 3)), requires_grad=True)
        behind = []
        for _ in range(6):
            y = g(net, tg.tensor(rng.normal(size=(9, 3))), w)
            behind.append(len(engine.left_behind([y])))
            y.backward(retain_graph=keep)
        assert behind[-1] == behind[-2]
        return [w.grad.numpy(), net.h.detach().numpy()]

    net = Net()

    def step(x, w):
        return f(net, x, w)

    made = tg.compile(step)

    def compiled(here: Net, x: Any, w: Any) -> Any:
        net.h = here.h
        found = made(x, w)
        here.h = net.h
        return found

    assert_same_bits(steps(compiled), steps(f))
