"""Tensors, and containers of them, that compiled functions write to: by every call, as eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")


def added(buffer, x):
    buffer += x.sum()
    return x.sum()


def by_methods(buffer, x):
    buffer.mul_(2.0)
    buffer.add_(x.sum())
    return x.sum() * 2.0


def overwritten(buffer, x):
    buffer[...] = x.sum()
    return x.sum()


def through_a_view(buffer, x):
    view = buffer.reshape(-1)
    view[0] = x[0] * 3.0
    return x.sum()


def in_a_dictionary(state, x):
    state["buffer"] += x.sum()
    state["last"] = x
    return x.sum()


def in_a_list(history, x):
    history[0] *= 2.0
    history.append(x * 2.0)
    return x.sum()


def where_it_is_positive(buffer, x):
    if x[0] > 0:
        buffer += 1.0
    return x.sum()


FUNCTIONS = [added, by_methods, overwritten, through_a_view, in_a_dictionary, in_a_list]
FUNCTIONS += [where_it_is_positive]
BUFFERS: dict[str, Callable[[], Any]] = {
    "vector": lambda: tg.tensor(np.ones(3)),
    "number": lambda: tg.tensor(1.0),
    "of memory of NumPy's": lambda: tg.as_tensor(np.ones(3)),
    "row": lambda: tg.tensor(np.ones((2, 3)))[1],
    "float32": lambda: tg.tensor(np.ones(3, np.float32)),
}


def shown(x: Any) -> Any:
    if isinstance(x, dict):
        return {key: shown(value) for key, value in x.items()}
    if isinstance(x, list):
        return [shown(value) for value in x]
    return type(x).__name__, x.dtype.name, x.detach().numpy().tolist(), x.requires_grad


@pytest.mark.sampled(3)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", BUFFERS)
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_written_as_in_eager(f: Any, kind: str, requires_grad: bool, backend: str) -> None:
    def results(called: Any) -> list[Any]:
        given: Any = BUFFERS[kind]()
        if f is in_a_dictionary:
            given = {"buffer": given}
        if f is in_a_list:
            given = [given]
        found: list[Any] = []
        for i in range(4):
            x = tg.tensor(np.arange(3.0) + i - 1.0, requires_grad=requires_grad)
            try:
                found.append((float(called(given, x).detach()), shown(given)))
            except tg.errors.GradientError as error:  # memory of NumPy's has no history
                found.append(str(error).split(":")[0])
        return found

    assert results(tg.compile(f, backend=backend)) == results(f)


def test_what_a_tape_reads_is_watched() -> None:
    """A backward that reads what a call has written since is an error."""

    def f(buffer, x, writes):
        if writes:
            buffer += x
        return x.sum()

    for known in (False, True):  # a version that does not write
        compiled = tg.compile(f, static_argnames=("writes",))
        buffer, x = tg.tensor(np.ones(3)), tg.tensor(np.ones(3))
        if known:
            compiled(buffer, x, False)
            compiled(buffer, x, False)
        for _ in range(3):
            w = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
            product = w * buffer
            compiled(buffer, x, True)
            with pytest.raises(tg.errors.GradientError, match="modified"):
                product.sum().backward()
