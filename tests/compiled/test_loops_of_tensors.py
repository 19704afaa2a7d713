"""Loops in compiled functions of Tensors that require grad stay loops: one node of the tape a call.

Values, gradients and what is left behind have the bits of eager calls; calls with other lengths are
answered by the same version.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits

import tracegrad as tg
from tracegrad.compiled.ways_of_nodes import Asked

pytestmark = pytest.mark.usefixtures("fresh_loops")

RNG = np.random.default_rng(0)
SEQUENCES = [RNG.normal(size=(n, 4)) for n in (12, 12, 10, 15, 9, 3, 12)]


class Model:
    """Weights, and what a model keeps from call to call."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self.w = tg.tensor(rng.normal(size=(4, 4)) * 0.4, requires_grad=True)
        self.b = tg.tensor(rng.normal(size=4), requires_grad=True)
        self.losses: list[float] = []
        self.state: Any = None
        self.steps = 0
        self.mean = tg.zeros(4)


def recurrent(m, x):
    h = tg.zeros(4)
    for t in range(len(x)):
        h = tg.tanh(h @ m.w + x[t] + m.b)
    return h.sum()


def of_numpy(m, x):
    h = np.zeros(4)
    for row in x:
        h = np.tanh(h @ m.w + row)
    return h


def all_states(m, x):
    h, states = tg.zeros(4), []
    for row in x:
        h = tg.tanh(h @ m.w + row)
        states.append(h)
    return tg.stack(states), h


def two_cells(m, x):
    h = c = tg.zeros(4)
    for row in x:
        gate = tg.sigmoid(row @ m.w + h)
        c = gate * c + (1.0 - gate) * m.b
        h = tg.tanh(c)
    return {"h": h, "c": c}


def truncated(m, x):
    h, total = tg.zeros(4), 0.0
    for t in range(len(x)):
        if t % 3 == 0:
            h = h.detach()
        h = tg.tanh(h @ m.w + x[t] + m.b)
        total = total + h.sum()
    return total


def unrecorded_part(m, x):
    h, n = tg.zeros(4), 0.0
    for row in x:
        h = tg.tanh(h @ m.w + row)
        with tg.no_grad():
            n = n + (h * h).sum()
    return h.sum() * n


def warmed_up(m, x):
    h = tg.zeros(4)
    with tg.no_grad():
        for row in x:
            h = tg.tanh(h @ m.w + row)
    for row in x:
        h = tg.tanh(h @ m.w + row)
    return h.sum()


def asked(m, x):
    h, n = tg.zeros(4), 0
    for row in x:
        h = tg.tanh(h @ m.w + row)
        if h.requires_grad:
            n += 1
    return h.sum(), n


def broken_off(m, x):
    h = tg.zeros(4)
    for row in x:
        h = tg.tanh(h @ m.w + row)
        if h.sum().item() > 1.2:
            break
    return h.sum()


def converged(m, x):
    h, n = x[0], 0
    while float(abs(h).max()) > 1e-3 and n < 50:
        h = tg.tanh(h @ m.w) * 0.7
        n += 1
    return (h + m.b).sum(), n


def by_sign(m, x):
    total = tg.zeros(4)
    for row in x:
        if row[0] > 0.5:
            total = total + row * m.b
    return total


def nothing_flows(m, x):
    total = 0.0
    for row in x:
        if row[1] > 5.0:
            total = total + (row @ m.w).sum()
        total = total + (row * m.b).sum()
    return total


def written(m, x):
    out, h = tg.zeros_like(x), tg.zeros(4)
    for t in range(len(x)):
        h = tg.tanh(h @ m.w + x[t])
        out[t] = h
    return (out * out).sum()


def in_place(m, x):
    h = tg.zeros(4)
    for row in x:
        h += row
        h *= 0.5
        h += m.b * 0.1
    return (h @ m.w).sum()


def nested(m, x):
    total = 0.0
    for row in x:
        h = row
        for k in range(10):
            h = tg.tanh(h @ m.w) * 0.5 + m.b * k
        total = total + h.sum()
    return total


def state_kept(m, x):
    h = tg.zeros(4) if m.state is None else m.state
    for row in x:
        h = tg.tanh(h @ m.w + row)
        m.steps += 1
    m.state = h.detach()
    m.losses.append((h * h).sum().item())
    return (h * h).sum()


def running_mean(m, x):
    h = tg.zeros(4)
    for row in x:
        h = tg.tanh(h @ m.w + row)
        m.mean = 0.9 * m.mean + 0.1 * h.detach()
    return h.sum()


def gradient_inside(m, x):
    z = x[0] * 1.0
    for _ in range(len(x)):
        at = z.detach().requires_grad_()
        (slope,) = tg.autograd.grad(((at @ m.w) ** 2).sum(), [at], create_graph=True)
        z = z - 0.05 * slope
    return (z * m.b).sum()


def hooked(m, x):
    h = tg.zeros(4)
    for row in x:
        h = tg.tanh(h @ m.w + row)
        h.register_hook(lambda ct: ct * 0.9)
    return h.sum()


def kept_gradient(m, x):
    h = tg.zeros(4)
    for row in x:
        h = tg.tanh(h @ m.w + row)
    h.retain_grad()
    m.state = h
    return h.sum()


def checkpointed(m, x):
    step = tg.checkpoint(lambda h, row: tg.tanh(h @ m.w + row))
    h = tg.zeros(4)
    for row in x:
        h = step(h, row)
    return h.sum()


STAY = [recurrent, of_numpy, all_states, two_cells, truncated, unrecorded_part, warmed_up, asked]
STAY += [broken_off, converged, by_sign, nothing_flows, written, in_place, nested]
OTHERS = [state_kept, running_mean, gradient_inside, hooked, kept_gradient, checkpointed]


def leaves(x: Any) -> list[Any]:
    if isinstance(x, dict):
        x = list(x.values())
    return [y for v in x for y in leaves(v)] if isinstance(x, list | tuple) else [x]


def told(x: Any) -> Any:
    """What somebody may see of a value: a Tensor's numbers, and what it says of its history."""
    if isinstance(x, tg.Tensor):
        return x.detach().numpy().copy(), x.requires_grad, x.is_leaf
    return x


def calls(f: Any, x_requires_grad: bool, backward: Any) -> list[Any]:
    """What calls on all sequences gave and left; gradients add up in every other call."""
    m, found = Model(), []
    for i, x in enumerate(SEQUENCES):
        x = tg.tensor(x, requires_grad=x_requires_grad)
        outputs = leaves(f(m, x))
        moving = [y for y in outputs if isinstance(y, tg.Tensor) and y.requires_grad]
        backward(moving)
        gradients = [None if v.grad is None else told(v.grad) for v in (m.w, m.b, x)]
        kept = None if m.state is None else [told(m.state), told(m.state.grad)]
        found.append([*map(told, outputs), gradients, kept, m.losses[:], m.steps, told(m.mean)])
        if i % 2:
            m.w.grad = m.b.grad = None
    return found


def all_at_once(outputs):
    sum((y * y).sum() for y in outputs).backward()


def the_last_first(outputs):
    for y in outputs[::-1]:
        y.sum().backward(retain_graph=True)


@pytest.mark.parametrize("backward", [all_at_once, the_last_first])
@pytest.mark.parametrize("x_requires_grad", [False, True])
@pytest.mark.parametrize("f", STAY + OTHERS, ids=lambda f: f.__name__)
def test_calls_have_the_bits_of_eager_ones(f, x_requires_grad, backward):
    made = tg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice to functions that run eagerly
        assert_same_bits(*(calls(g, x_requires_grad, backward) for g in (made, f)))
    if f in STAY:
        assert made.cache_info().versions <= 4


@pytest.mark.parametrize("f", STAY, ids=lambda f: f.__name__)
def test_no_ops_are_recorded_but_the_call(f):
    m, made = Model(), tg.compile(f)
    for x in SEQUENCES[:-2]:
        for y in leaves(made(m, tg.tensor(x))):
            if isinstance(y, tg.Tensor) and y.requires_grad:
                assert y.grad_fn.name() == "CompiledBackward"
    before = made.cache_info().traces
    made(m, tg.tensor(RNG.normal(size=(40, 4)) * 0.1))
    assert made.cache_info().traces <= before + (f in (broken_off, converged, by_sign))


@pytest.mark.parametrize("f", STAY, ids=lambda f: f.__name__)
def test_gradients_of_gradients(f):
    def orders(g: Any) -> list[Any]:
        m, found = Model(), []
        for x in SEQUENCES[:-2]:
            outputs = leaves(g(m, tg.tensor(x, requires_grad=True)))
            moving = [y for y in outputs if isinstance(y, tg.Tensor) and y.requires_grad]
            total = sum((y * y).sum() for y in moving)
            how = {"allow_unused": True}
            first = tg.autograd.grad(total, [m.w, m.b], create_graph=True, **how)
            norms = [(v * v).sum() for v in first if v is not None and v.requires_grad]
            second = tg.autograd.grad(sum(norms), [m.w, m.b], **how) if norms else ()
            found += [None if v is None else v.detach().numpy() for v in (*first, *second)]
        return found

    found, expected = orders(tg.compile(f)), orders(f)
    assert [v is None for v in found] == [v is None for v in expected]
    for a, b in zip(found, expected, strict=True):
        assert a is None or np.allclose(a, b, rtol=1e-9, atol=1e-9)


def test_a_backward_from_some_outputs_is_a_program_too():
    """It reads what the forward keeps for the backward from all of them."""
    m, made = Model(), tg.compile(all_states)
    _, last = made(m, tg.tensor(SEQUENCES[0]))
    last.sum().backward()
    way = last.grad_fn._node.attributes["function"].way  # its backwards, by outputs given
    assert way.backwards[Asked((1,))] is not None
    assert "length" not in way.whole.program.source.text  # `x` tells it


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_vjp_of_loops_is_a_program(backend):
    def f(w, x):
        h = np.zeros(4)
        for row in x:
            h = np.tanh(h @ w + row)
        return h

    w = RNG.normal(size=(4, 4))
    for x in SEQUENCES[:-2]:
        out, pull = tg.vjp(f, w, x, backend=backend)
        leaves = [tg.tensor(v, requires_grad=True) for v in (w, x)]
        y = f(*leaves)
        y.backward(np.arange(4.0))
        found = [out, *pull(np.arange(4.0))]
        expected = [y.detach().numpy(), *(v.grad.numpy() for v in leaves)]
        if backend == "numpy":
            assert_same_bits(found, expected)
        else:
            assert_close(found, expected, rtol=1e-12, atol=1e-14)
        assert "for " in pull.source("forward") and "for " in pull.source("backward")


@pytest.mark.parametrize("f", [recurrent, broken_off, converged, by_sign], ids=lambda f: f.__name__)
def test_programs_for_jax_are_nodes_too(f):
    """Where turns look, too; arms that give no gradient return that they give none."""
    ours, theirs, made = Model(), Model(), tg.compile(f, backend="jax")
    for x in (SEQUENCES[0], -SEQUENCES[0], SEQUENCES[2]):
        found, expected = [], []
        for m, call, kept in ((ours, made, found), (theirs, f, expected)):
            outputs = [y for y in leaves(call(m, tg.tensor(x))) if isinstance(y, tg.Tensor)]
            moving = [y for y in outputs if y.requires_grad]
            if call is made:
                assert all(y.grad_fn.name() == "CompiledBackward" for y in moving)
            sum((y * y).sum() for y in moving).backward()
            gradients = [None if v.grad is None else v.grad.numpy() for v in (m.w, m.b)]
            kept += [*(y.detach().numpy() for y in outputs), *gradients]
            m.w.grad = m.b.grad = None
        assert [v is None for v in found] == [v is None for v in expected]
        for a, b in zip(found, expected, strict=True):
            assert a is None or np.allclose(a, b, rtol=1e-10, atol=1e-12)


def test_what_a_caller_writes_between_forward_and_backward_is_told():
    m, made = Model(), tg.compile(of_numpy)
    y = made(m, tg.tensor(SEQUENCES[0]))
    with tg.no_grad():
        m.w.mul_(2.0)
    with pytest.raises(tg.errors.BackwardError, match="modified by an inplace operation"):
        y.sum().backward()


def test_an_item_of_a_list_that_turns_read_is_returned_too():
    def f(p):
        items = [np.sin(p * k) for k in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)]
        s = np.sum(p)
        for item in items:
            s = np.sin(s) * np.sum(item)
        return s, items[3]

    def gradient(g: Any) -> Any:
        p = tg.tensor(np.linspace(0.1, 0.5, 3), requires_grad=True)
        s, item = g(p)
        (s * s + (item * item).sum()).backward()
        return p.grad.numpy()

    assert_same_bits(gradient(tg.compile(f)), gradient(f))
