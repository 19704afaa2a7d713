"""Gradients of calls that are traced but get no program: the tape of the run gives them.

Such are calls of functions that count, read the clock or draw, until what they read is known.
Items of lists, and what loops carry, stand for the arrays that the caller gave.
"""

import time

import numpy as np
import pytest

import tracegrad as tg


class Calls:
    number = 0


RNG = np.random.default_rng(0)


def counts():
    Calls.number += 1


def reads_the_clock():
    return time.time()


def draws():
    return RNG.normal()


def layers(ws, x):
    for w in ws:
        x = np.tanh(x * w)
    return np.sum(x**2)


def layers_by_number(ws, x):
    for k in range(len(ws)):
        x = np.tanh(x * ws[k])
    return np.sum(x * ws[-1])


def decay(ws, x):
    return np.sum(x) + sum(np.sum(w**2) for w in ws)


def kept_in_a_list(ws, x):
    hidden = [x]
    for w in ws:
        hidden.append(np.tanh(hidden[-1] * w))
    total = 0.0
    for k in range(len(hidden)):
        total = total + np.sum(hidden[k] ** 2) * (k + 1)
    return total


def from_some_turn_on(ws, x):
    h = x
    for k in range(len(ws)):
        if k > 4:
            h = h * ws[k]
    return np.sum(h**2)


def both_ends(ws, x):
    total = 0.0
    for v, w in zip(ws, reversed(ws), strict=True):
        total = total + np.sum(v * w * x)
    return total


def changed_list(ws, x):
    ws = list(ws)
    ws[3] = ws[3] * 2
    ws.append(x)
    total = 0.0
    for w in ws:
        total = total + np.sum(w**2 * x)
    return total


def dict_of_arrays(ws, x):
    named = dict(enumerate(ws))
    total = 0.0
    for k, w in named.items():
        total = total + np.sum(w**2 * x) * k
    return total


def momenta(ws, x):
    ms = [np.zeros(2) for _ in ws]
    for _ in range(3):
        ms = [0.9 * m + w * x for m, w in zip(ms, ws, strict=True)]
    return sum(np.sum(m**2) for m in ms)


def carried_unchanged(ws, x):
    u = x
    total = 0.0
    for k in range(12):
        t, u = x, u + 0.0 * x
        total = total + np.sum(t * u * ws[k % 8])
    return total


def while_loop(ws, x):
    i, h = 0, x
    while i < 12:
        if i % 3 == 2:
            h = h + ws[i % 8]
        i += 1
    return np.sum(h**2)


def with_all_stacked(ws, x):
    total = 0.0
    for w in ws[1:]:
        total = total + np.sum(w**2 * x)
    return total + np.sum(np.stack(ws) ** 2)


PROGRAMS = [
    *(layers, layers_by_number, decay, kept_in_a_list, from_some_turn_on, both_ends),
    *(changed_list, dict_of_arrays, momenta, carried_unchanged, while_loop, with_all_stacked),
]


def gradient(f):
    return tg.grad(f, (0, 1))


def jacobian(f):
    return tg.jacobian(f, (0, 1))


def pullback(f):
    return lambda *args: tg.vjp(f, *args)[1](1.0)


def of_compiled(f):
    return tg.grad(tg.compile(f), (0, 1))


def inside_compiled(f):
    return tg.compile(lambda ws, x: tg.grad(f, (0, 1))(ws, x))


def flat(gradients):
    ws, x = gradients
    return np.concatenate([np.ravel(np.asarray(g)) for g in (*ws, x)])


WAYS = [
    *((gradient, effect) for effect in (counts, reads_the_clock, draws)),
    *((derived, counts) for derived in (jacobian, pullback, of_compiled, inside_compiled)),
]


@pytest.mark.sampled(5)
@pytest.mark.filterwarnings("ignore:.*more than compute")
@pytest.mark.parametrize(("derived", "effect"), WAYS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_call_has_the_gradients_of_all_arrays(program, derived, effect, monkeypatch):
    def function(ws, x):
        effect()
        return program(ws, x)

    compiled = derived(function)
    for n in (10, 10, 12):
        ws = [np.full(2, 1.0 + k / 10) for k in range(n)]
        x = np.array([1.0, 0.5])
        with monkeypatch.context() as context:
            context.setattr(tg.config, "compile", False)
            expected = flat(gradient(program)(ws, x))
        np.testing.assert_array_equal(flat(compiled(ws, x)), expected)
