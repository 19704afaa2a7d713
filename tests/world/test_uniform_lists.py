"""Loops over lists of arrays of one type, and of tuples of such: they stay loops.

Compiled calls and gradients have the bits of eager ones; the text has one turn.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")

N = 9


def arrays(seed, *shape):
    random = np.random.default_rng(seed)
    return [random.normal(size=shape) for _ in range(N)]


def layers(seed=0):
    return list(zip(arrays(seed, 3, 3), arrays(seed + 1, 3), strict=True))


def perceptron(params, x):
    for w, b in params:
        x = np.tanh(x @ w + b)
    return x.sum()


def one_array_each(ws, x):
    for w in ws:
        x = np.sin(w * x) + w
    return (x * x).sum()


def by_number(ws, x):
    for t in range(len(ws)):
        x = np.tanh(ws[t] * x) * ws[t]
    return x.sum()


def backwards(ws, x):
    for w in reversed(ws):
        x = np.tanh(w * x)
    return x.sum()


def enumerated(params, x):
    for i, (w, b) in enumerate(params):
        x = np.tanh(x @ w + b) / (i + 1)
    return x.sum()


def zipped(ws, x):
    total = 0.0
    for w, v in zip(ws, x, strict=True):
        total = total + np.tanh(w * v).sum()
    return total


def two_loops(params, x):
    for w, b in params:
        x = np.tanh(x @ w + b)
    total = 0.0
    for w, b in params:
        total = total + (w * w * 0.3).sum() + np.sin(b).sum() * total
    return x.sum() + total


def read_around(ws, x):
    x = x * ws[0] + ws[3]
    for w in ws:
        x = np.tanh(w * x)
    return (x * ws[0]).sum() + np.sin(ws[2]).sum() + (ws[2] * ws[-1]).sum()


def in_time(params, x):
    h = np.zeros(3)
    for v in x:
        for w, b in params:
            h = np.tanh(h @ w + b * v)
    return h.sum()


def in_time_by_number(params, x):
    h = np.zeros(3)
    for t in range(len(x)):
        for k in range(len(params)):
            h = np.tanh(h @ params[k][0] + params[k][1] * x[t])
    return h.sum()


def items_by_number(ws, x):
    h = np.zeros(3)
    for t in range(len(x)):
        h = np.tanh(h * ws[t]) + x[t]
    return h.sum()


def left_early(ws, x):
    for w in ws:
        x = np.tanh(w * x)
        if x[0] > 0.3:
            break
    return x.sum()


def some_of_them(ws, x):
    for t in range(8):
        if x[0] > 0:
            x = np.tanh(ws[t] * x) - 0.2
        else:
            x = x * 0.5 + 0.1
    return x.sum()


def named(params, x):
    for layer in params:
        w, b = layer
        x = np.tanh(x @ w + b)
    return x.sum()


def on_all(params, x):
    norms = sum((w * w).sum() for w, _ in params)
    for w, b in params:
        x = np.tanh(x @ w + b)
    return x.sum() + 0.1 * norms


class Net:
    """A model that holds its layers."""

    def __init__(self):
        self.layers, self.scale = layers(), arrays(9, 3)

    def __call__(self, x):
        for (w, b), v in zip(self.layers, self.scale, strict=True):
            x = np.tanh(x @ w + b) * v
        return x.sum()


def without_the_ends(ws, x):
    x = np.tanh(x * ws[0])
    for w in ws[1:-1]:
        x = np.tanh(x * w)
    return (x * ws[-1]).sum()


def fields(params, x):
    for layer in params:
        x = np.tanh(x @ layer.w + layer.b)
    return x.sum()


def written_to(ws, x):
    vs = [w * 1.0 for w in ws]
    for v in vs:
        x = np.tanh(x * v)
        v += 1.0
    return x.sum() + sum(vs).sum()


def written_to_behind(ws, x):
    for v in (ws[0] * 1.0, *ws[1:]):
        x = np.tanh(x * v)
    v = v * 1.0
    v += x
    return v.sum()


def replaced(ws, x):
    vs = [w * 1.0 for w in ws]
    for i, v in enumerate(vs):
        x = np.tanh(x * v)
        vs[i] = x
    return x.sum() + vs[0].sum()


def asked_for(ws, x):
    k = 0
    for w in ws:
        x = np.tanh(w * x)
        if w is ws[0]:
            k += 1
    return x.sum() * k


def asked_for_in_a_filled_list(ws, x):
    vs, k = [], 0
    for t in range(N):
        x = np.tanh(ws[t] * x)
        vs.append(x)
    for v in vs:
        x = np.tanh(v * x)
        if v is vs[0]:
            k += 1
    return x.sum() * k


def of_some_turns(ws, x):
    for w in ws:
        if (w * x).sum() > 0:
            x = np.tanh(w * x)
    return x.sum()


def one_array_for_all(ws, x):
    for w in [ws[0]] * N:
        x = np.tanh(x * w)
    return x.sum()


def kept_behind(ws, x):
    for w in ws:
        x = x * w
    return (x * w).sum()


Layer = namedtuple("Layer", "w b")
X = np.array([0.3, -0.7, 1.1])
LONG = np.linspace(-1.0, 1.0, N)
CASES = {
    perceptron: (layers(), X),
    one_array_each: (arrays(1, 3), X),
    by_number: (arrays(2, 3), X),
    backwards: (arrays(3, 3), X),
    enumerated: (layers(4), X),
    zipped: (arrays(5, 3), LONG),
    two_loops: (layers(6), X),
    in_time: (layers(7), LONG),
    items_by_number: (arrays(9, 3), LONG),
    named: (layers(10), X),
    read_around: (arrays(8, 3), X),
    left_early: (arrays(9, 3), X),
    in_time_by_number: (layers(7), LONG),
    without_the_ends: (arrays(9, 3) + arrays(10, 3), X),
    fields: ([Layer(*layer) for layer in layers()], X),
}
UNROLLED = {
    some_of_them: (arrays(9, 3), X),
    on_all: (layers(7), X),
    written_to: (arrays(9, 3), X),
    written_to_behind: (arrays(9, 3), X),
    replaced: (arrays(9, 3), X),
    asked_for: (arrays(9, 3), X),
    asked_for_in_a_filled_list: (arrays(9, 3), X),
    of_some_turns: (arrays(9, 3), X),
    one_array_for_all: (arrays(9, 3), X),
    kept_behind: (arrays(9, 3), X),
}


def gradients(f, args, wanted=(0, 1)):
    """The eager value and gradients."""
    tg.config.compile = False
    try:
        return tg.value_and_grad(f, argnums=wanted)(*args)
    finally:
        tg.config.compile = True


@pytest.mark.parametrize("f", [*CASES, *UNROLLED], ids=lambda f: f.__name__)
def test_bits_are_those_of_eager_calls(f):
    args = {**CASES, **UNROLLED}[f]
    wanted, compiled = gradients(f, args), tg.value_and_grad(f, argnums=(0, 1))
    value = tg.compile(f)
    for _ in range(2):
        assert_same_bits(compiled(*args), wanted, "gradients")
        assert_same_bits(value(*args), f(*args), "value")


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_turns_are_written_once(f):
    compiled = tg.value_and_grad(f, argnums=(0, 1))
    compiled(*CASES[f])
    assert "loops that are unrolled" not in compiled.explain()


def test_arrays_in_fortran_order_are_used_as_they_are():
    params = [(np.asfortranarray(w) if i % 2 else w, b) for i, (w, b) in enumerate(layers())]
    assert_same_bits(
        tg.value_and_grad(perceptron, argnums=(0, 1))(params, X),
        gradients(perceptron, (params, X)),
        "gradients",
    )


def test_each_gradient_has_memory_of_its_own():
    found = tg.grad(one_array_each)(arrays(1, 3), X)
    before = [np.copy(x) for x in found]
    found[0][:] = 7.0
    assert_same_bits(found[1:], before[1:], "others")


def test_layers_of_a_model_are_read_again():
    net = Net()
    compiled = tg.value_and_grad(net)
    for _ in range(4):
        assert_same_bits(compiled(X), gradients(net, (X,), 0), "gradients")
        net.layers = [(w - 0.1, b) for w, b in net.layers]
        net.scale[2] = net.scale[2] * 1.1
    assert compiled.cache_info().versions <= 2


@pytest.mark.parametrize("f", [perceptron, in_time, two_loops], ids=lambda f: f.__name__)
def test_jax_has_loops_as_well(f):
    pytest.importorskip("jax")
    compiled = tg.value_and_grad(f, argnums=(0, 1), backend="jax")
    value, (of_params, of_x) = compiled(*CASES[f])
    wanted, (params, x) = gradients(f, CASES[f])
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    np.testing.assert_allclose(of_x, x, rtol=1e-10)
    for one, other in zip(of_params, params, strict=True):
        np.testing.assert_allclose(one[0], other[0], rtol=1e-10)
    assert "lax.fori_loop" in compiled.source(*CASES[f])
