"""Gradients of gradients of compiled calls, which run the function's ops again on Tensors.

What the ops read is to be what the call read. Where it was changed in between, that is told by the
memory that was written: programs of other backends round otherwise than NumPy does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from checks import assert_close

import tracegrad as tg

RNG = np.random.default_rng(0)
X, SHIFT = RNG.normal(size=(10, 3)), RNG.normal(size=3)
BACKENDS = ["numpy", "numba", "jax"]
outside = SHIFT.copy()


def straight(x, shift):
    return (np.tanh(x[0] * 0.3 + x + shift) ** 2).sum()


def loop(x, shift):
    h = x[0]
    for row in x:
        h = np.tanh(h * 0.3 + row + shift)
    return (h * h).sum()


def of_outside(x, shift):
    return (np.tanh(x + outside) ** 2).sum()


def linear(x, shift):
    return (np.tanh(x) ** 2).sum() + shift.sum()


PROGRAMS = [straight, loop, of_outside, linear]


def leaf() -> Any:
    return tg.tensor(X, requires_grad=True)


def second(out: Any, x: Any) -> Any:
    (gradient,) = tg.autograd.grad(out, [x], create_graph=True)
    (found,) = tg.autograd.grad((gradient * gradient).sum(), [x])
    return found


def available(backend: str) -> str:
    if backend != "numpy":
        pytest.importorskip(backend)
    return backend


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_backends_may_round_otherwise(f, backend):
    made = tg.compile(f, backend=available(backend))
    for _ in range(3):
        x, y = leaf(), leaf()
        assert_close(second(made(x, SHIFT), x), second(f(y, SHIFT), y), 1e-12)


def of_tensor() -> tuple[Any, Callable[[], None]]:
    """A Tensor that requires grad, and what writes to it."""
    shift = tg.tensor(SHIFT, requires_grad=True)

    def write() -> None:
        with tg.no_grad():
            shift.add_(1e-9)

    return shift, write


def of_plain_tensor() -> tuple[Any, Callable[[], None]]:
    shift = tg.tensor(SHIFT)
    return shift, lambda: shift.add_(1e-9)


def of_data() -> tuple[Any, Callable[[], None]]:
    shift = tg.tensor(SHIFT, requires_grad=True)

    def write() -> None:
        shift.data = tg.tensor(SHIFT + 1e-9)

    return shift, write


def of_array() -> tuple[Any, Callable[[], None]]:
    shift = SHIFT.copy()
    return shift, lambda: shift.__iadd__(1e-9)


def of_shared_memory() -> tuple[Any, Callable[[], None]]:
    shift = SHIFT.copy()
    return tg.as_tensor(shift), lambda: shift.__iadd__(1e-9)


def of_handed_out() -> tuple[Any, Callable[[], None]]:
    shift = tg.tensor(SHIFT)
    given = shift.numpy()
    return shift, lambda: given.__iadd__(1e-9)


WRITTEN = [of_tensor, of_plain_tensor, of_data, of_array, of_shared_memory, of_handed_out]


def first_of(f: Callable[..., Any], x: Any, shift: Any) -> Any:
    out = f(x, shift)
    return out, tg.autograd.grad(out, [x], retain_graph=True)[0]


def refused_or_as_before(f: Callable[..., Any], shift: Any, write: Callable[[], None]) -> bool:
    """Whether a gradient after a write is refused; else it is that of the numbers before."""
    x = leaf()
    out, expected = first_of(f, x, shift)
    write()
    try:
        (found,) = tg.autograd.grad(out, [x], create_graph=True)
    except tg.errors.BackwardError as error:
        assert "modified by an inplace operation" in str(error)
        return True
    assert_close(found, expected, 1e-14)
    return False


@pytest.mark.parametrize("written", WRITTEN, ids=lambda w: w.__name__)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [straight, loop, linear], ids=lambda f: f.__name__)
def test_small_changes_of_inputs_are_told(f, backend, written):
    """Also those that first gradients do not read, which are far below what rounding may do."""
    made = tg.compile(f, backend=available(backend))
    for _ in range(3):
        refused = refused_or_as_before(made, *written())
        assert refused == (f is not linear and written is not of_array)  # the tape has a copy


@pytest.mark.parametrize("backend", BACKENDS)
def test_changes_of_arrays_outside_are_told(backend):
    made = tg.compile(of_outside, backend=available(backend))
    for _ in range(3):
        refused_or_as_before(made, SHIFT, lambda: outside.__iadd__(1e-9))
