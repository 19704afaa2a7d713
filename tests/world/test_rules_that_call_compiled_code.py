"""Rules of the user's that call compiled code: what its objects hold is looked at plainly."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
from checks import assert_close

import tracegrad as tg
from tracegrad.extend import defvjp, primitive

X = np.full(20, 0.1)


def fill(x, out):
    total = 0.0
    for i in range(len(x)):
        total = 0.9 * total + x[i]
        out[i] = total


class Handle:
    """Answers every name, as handles of libraries in C do."""

    __slots__ = ()

    def __getattr__(self, name):
        return Handle()

    def __call__(self, x, out):
        fill(x, out)


def compiled_by_numba():
    return pytest.importorskip("numba").njit(fill)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("made", [Handle, compiled_by_numba])
@pytest.mark.parametrize("draws", [False, True])
def test_a_primitive_calls_it(made, draws):
    cumulate = made()

    @primitive
    def smooth(x):
        out = np.zeros(len(x))
        cumulate(x, out)
        return out

    def pull(ans, x):
        def back(g):
            out = np.zeros(len(g))
            cumulate(g[::-1].copy(), out)
            return out[::-1]

        return back

    defvjp(smooth, pull)

    def loss(x):
        return np.sum(smooth(x) ** 2) + (0.0 * np.random.standard_normal() if draws else 0.0)

    slope = tg.grad(loss)
    for _ in range(3):
        assert_close(slope(X)[:2], np.array([8.23481212, 8.92756902]), 1e-8)


def test_a_primitive_holds_a_proxy_of_what_is_no_more():
    class Owner:
        pass

    owner = Owner()
    held = [weakref.proxy(owner)]

    @primitive
    def doubled(x):
        return 2.0 * x if held else x

    defvjp(doubled, lambda ans, x: lambda g: 2.0 * g)
    del owner
    slope = tg.grad(lambda x: np.sum(doubled(x)))
    for _ in range(3):
        assert_close(slope(X), np.full(X.shape, 2.0), 0.0)
