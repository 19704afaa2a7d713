"""Derivatives of functions that read a Tensor from outside which requires grad."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from checks import assert_close

import tracegrad as tg

TRANSFORMS: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda f, x: tg.grad(f)(x),
    "value": lambda f, x: tg.value_and_grad(f)(x)[0],
    "jacobian": lambda f, x: tg.jacobian(f)(x),
    "jvp": lambda f, x: tg.jvp(f, (x,), (x,))[1],
    "hessian": lambda f, x: tg.hessian(f)(x),
    "hvp": lambda f, x: tg.hvp(f)(x, x),
}


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_what_is_returned_depends_on_it(
    transform: str, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tg.config, "compile", compiled)
    factor = tg.tensor([2.0, 3.0], requires_grad=True)
    x = tg.tensor([1.0, 2.0])

    def of_factor(v: Any) -> Any:
        return (v**3).sum() * factor[0]

    def of_itself(v: Any) -> Any:
        return (v**3).sum() * 2.0

    for _ in range(3):
        found = TRANSFORMS[transform](of_factor, x)
        found.sum().backward()
        expected = TRANSFORMS[transform](of_itself, x)
        assert not expected.requires_grad
        assert_close(found.detach().numpy(), expected.numpy(), 1e-12)
        assert_close(factor.grad.numpy(), np.array([expected.numpy().sum() / 2.0, 0.0]), 1e-12)
        factor.grad = None
        with tg.no_grad():
            assert not TRANSFORMS[transform](of_factor, x).requires_grad


@pytest.mark.parametrize("compiled", [True, False])
def test_a_penalty_of_gradients_has_gradients(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tg.config, "compile", compiled)
    w = tg.tensor([0.5, -0.3], requires_grad=True)
    x = tg.tensor([1.0, 2.0])

    def penalty(w: Any) -> Any:
        slope = tg.grad(lambda v: tg.tanh(v * w).sum())(x)
        return ((slope * slope).sum() - 1.0) ** 2

    for _ in range(2):
        w.grad = None
        penalty(w).backward()
        assert_close(w.grad.numpy(), tg.grad(penalty)(w.detach().numpy()), 1e-12)


@pytest.mark.parametrize("compiled", [True, False])
def test_one_arm_alone_reads_it(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tg.config, "compile", compiled)
    factor = tg.tensor([2.0, 3.0], requires_grad=True)

    def f(v: Any) -> Any:
        return (v**3).sum() if v.sum() > 0 else (v**3).sum() * factor[0]

    slope = tg.grad(f)
    for sign in (1.0, 1.0, -1.0, -1.0, 1.0):
        found = slope(tg.tensor([1.0, 2.0]) * sign)
        assert found.requires_grad == (sign < 0)


def _draws(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda v: f(v) + 0.0 * np.random.standard_normal()


def _keeps(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The first calls are traced, and answered by the tape of that run."""
    kept: dict[str, Any] = {}

    def keeping(v: Any) -> Any:
        kept["view"] = v[1:]
        return f(v)

    return keeping


OF_ARRAYS = TRANSFORMS | {
    "vjp": lambda f, x: tg.vjp(f, x)[1](1.0),
    "linearize": lambda f, x: tg.linearize(f, x)[1](x),
    "make_vjp": lambda f, x: tg.make_vjp(f)(x)[0](1.0),
    "make_jvp": lambda f, x: tg.make_jvp(f)(x)(x),
    "deriv": lambda f, x: tg.deriv(lambda t: f(t * x))(1.0),
    "vmap of grad": lambda f, x: tg.vmap(tg.grad(f))(np.stack([x, x])),
}


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("made", [lambda f: f, _draws, _keeps])
@pytest.mark.parametrize("transform", OF_ARRAYS)
def test_of_arrays_the_loss_of_its_history_is_told(
    transform: str, made: Any, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tg.config, "compile", compiled)
    factor = tg.tensor([2.0, 3.0], requires_grad=True)
    x = np.array([1.0, 2.0])

    def call(f: Callable[[Any], Any]) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            OF_ARRAYS[transform](f, x)
        return [str(w.message) for w in caught if "requires grad, and is called" in str(w.message)]

    assert call(made(lambda v: (v**3).sum() * factor[0]))
    assert not call(made(lambda v: (v**3).sum() * factor.detach()[0]))
    with tg.no_grad():
        assert not call(made(lambda v: (v**3).sum() * factor[0]))


def test_a_summand_that_the_derivative_does_not_have_is_no_loss() -> None:
    factor = tg.tensor([2.0, 3.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tg.grad(lambda v: (v**3).sum() + factor.sum())(np.array([1.0, 2.0]))


class Holder:
    """Tensors that calls leave outside."""

    h = v = None


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("of", [np.array, tg.tensor])
@pytest.mark.parametrize("given_up", [False, True])
def test_tensors_stored_before_an_exception_have_a_history(of, given_up):
    w, holder = tg.tensor([1.0, 2.0], requires_grad=True), Holder()

    @tg.compile
    def step(x):
        holder.h = w * x
        if given_up:  # no program stores a view
            holder.v = holder.h[0:1]
        if x[0] > 2.0:
            raise ValueError
        return holder.h.sum()

    for x in (3.0, 1.0, 1.0, 3.0, 1.0):
        with contextlib.suppress(ValueError):
            step(of([x, 1.0]))
        assert holder.h.grad_fn is not None
        (found,) = tg.autograd.grad(holder.h.sum(), w)
        np.testing.assert_array_equal(found.numpy(), [x, 1.0])
    with tg.no_grad(), contextlib.suppress(ValueError):
        step(of([3.0, 1.0]))
    assert not holder.h.requires_grad
