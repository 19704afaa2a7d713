"""Errors about an argument that is written to name it as the user does, in each kind of call."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")


def overwritten(w, buffer, data):
    buffer[:] = w * 2.0
    return (w * buffer).sum() + (w * data).sum()


def overwritten_within(w, state, data):
    state["buffer"][:] = w * 2.0
    return (w * state["buffer"]).sum() + (w * data).sum()


def eager(f: Callable[..., Any]) -> Callable[..., Any]:
    def g(w, buffer, data):
        os.getcwd()
        return f(w, buffer, data)

    return g


CALLS: dict[str, Callable[..., Any]] = {
    "compile": tg.compile,
    "value_and_grad": tg.value_and_grad,
    "jacobian": tg.jacobian,
    "Tensors": lambda f: lambda w, *others: tg.value_and_grad(f)(tg.tensor(w), *others),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("compiled", [True, False])
def test_what_shares_memory_is_named(call, compiled, monkeypatch):
    if call == "compile" and not compiled:
        return  # it runs as it is
    monkeypatch.setattr(tg.config, "compile", compiled)
    shared = np.arange(6.0)
    given = shared[:4]
    for f, other, name in (
        (overwritten, given, "buffer"),
        (overwritten_within, {"buffer": given}, "state['buffer']"),
    ):
        with pytest.raises(tg.errors.ArgumentError) as caught:
            CALLS[call](f)(np.ones(4), other, shared[2:])
        assert f"writes to {name}, which" in str(caught.value)
        assert f"({name} = {name}.copy())" in str(caught.value)


@pytest.mark.parametrize("runs", [lambda f: f, eager])
@pytest.mark.parametrize("compiled", [True, False])
def test_what_is_differentiated_and_written_is_named(runs, compiled, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiled)
    f = runs(overwritten)
    for call in (
        lambda *args: tg.vjp(f, *args),
        lambda *args: tg.grad(f, argnums=1)(*args),
    ):
        with pytest.raises(tg.errors.GradientError, match=r"differentiated \(buffer\)"):
            call(np.ones(4), np.ones(4), np.ones(4))
