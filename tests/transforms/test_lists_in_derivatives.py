"""Loops over lists of arrays under every transform: what eager calls give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from checks import assert_close

import tracegrad as tg

RANDOM = np.random.default_rng(0)
X, V = RANDOM.normal(size=3), RANDOM.normal(size=3)
WS = [0.5 * RANDOM.normal(size=(3, 3)) for _ in range(9)]
BS = [RANDOM.normal(size=3) for _ in range(9)]
W_DOTS, B_DOTS = [0.3 * w for w in WS], [0.2 * b for b in BS]
BOTH = [np.stack([w, 2.0 * w]) for w in WS]


def layers(ws, bs, x):
    for w, b in zip(ws, bs, strict=True):
        x = np.tanh(w @ x + b)
    return np.sum(x)


def backwards(ws, bs, x):
    for w, b in zip(reversed(ws), bs[::-1], strict=True):
        x = np.tanh(w @ x + b)
    return np.sum(x)


def with_memory(ws, bs, x):
    before = x
    for i in range(9):
        x, before = np.tanh(ws[i] @ x + bs[i] * before), x
    return np.sum(x)


def with_arms(ws, bs, x):
    for w, b in zip(ws, bs, strict=True):
        if x[0] > 0:
            x = np.tanh(w @ x)
        else:
            x = np.sin(x + b)
    return np.sum(x)


def collecting(ws, bs, x):
    out = []
    for w, b in zip(ws, bs, strict=True):
        x = np.tanh(w @ x + b)
        out.append(x)
    return np.sum(np.stack(out) ** 2)


ALL = (0, 1, 2)
TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "jvp": lambda f: tg.jvp(f, (WS, BS, X), (W_DOTS, B_DOTS, V)),
    "linearize": lambda f: tg.linearize(f, WS, BS, X)[1](W_DOTS, B_DOTS, V),
    "hvp": lambda f: tg.hvp(f, (WS, BS, X), (W_DOTS, B_DOTS, V)),
    "jacfwd": lambda f: tg.jacfwd(f, ALL)(WS, BS, X),
    "jacrev": lambda f: tg.jacrev(f, ALL)(WS, BS, X),
    "hessian": lambda f: tg.hessian(f, (1, 2))(WS, BS, X),
    "jvp of grad": lambda f: tg.jvp(tg.grad(f, (0, 1)), (WS, X), (W_DOTS, V))[1],
    "jacfwd of jacrev": lambda f: tg.jacfwd(tg.jacrev(f, 1), 1)(WS, BS, X),
    "sparse": lambda f: [m.toarray() for m in tg.jacobian(f, 1, sparse=True)(WS, BS, X)],
    "vmap over x": lambda f: tg.vmap(f, in_axes=(None, None, 0))(WS, BS, np.stack([X, V])),
    "vmap over lists": lambda f: tg.vmap(f, in_axes=(0, None, None))(BOTH, BS, X),
    "vmap over one": lambda f: tg.vmap(f, in_axes=([0] + [None] * 8, None, None))(
        [BOTH[0], *WS[1:]], BS, X
    ),
    "vmap of grad": lambda f: tg.vmap(tg.grad(f, ALL), in_axes=(0, None, 0))(
        BOTH, BS, np.stack([X, V])
    ),
    "vmap of hessian": lambda f: tg.vmap(tg.hessian(f, 1), in_axes=(None, None, 0))(
        WS, BS, np.stack([X, V])
    ),
    "hvp of checkpoint": lambda f: tg.hvp(tg.checkpoint(f), (WS, BS, X), (W_DOTS, B_DOTS, V)),
}


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("f", [layers, backwards, with_memory, with_arms, collecting])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_program_gives_what_an_eager_call_gives(
    name: str, f: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "jvp of grad":
        f = _without_biases(f)
    found = TRANSFORMS[name](f)
    monkeypatch.setattr(tg.config, "compile", False)
    assert_close(found, TRANSFORMS[name](f), 1e-11)


def _without_biases(f: Any) -> Any:
    return lambda ws, x: f(ws, BS, x)


@pytest.mark.parametrize("name", ["jvp", "vmap over lists"])
def test_programs_for_jax(name: str) -> None:
    pytest.importorskip("jax")
    run = {
        "jvp": lambda **k: tg.jvp(layers, (WS, BS, X), (W_DOTS, B_DOTS, V), **k),
        "vmap over lists": lambda **k: tg.vmap(layers, in_axes=(0, None, None), **k)(BOTH, BS, X),
    }[name]
    assert_close(run(backend="jax"), run(), 1e-12)


def test_the_loop_stays_a_loop_and_the_list_a_list() -> None:
    text = tg.jvp(layers).source(WS, BS, X, WS, BS, X)
    assert text.count("for i in range(9)") == 1 and "] + [" not in text
