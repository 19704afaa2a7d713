"""What rules get in a program is what plain Python gives them: Python's numbers are no Tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.array([1.0, 2.0])
seen: list[Any] = []


class Scaled(tg.autograd.Function):
    """Multiplies by a number, which it must be given as one."""

    @staticmethod
    def forward(ctx: Any, x: Any, n: Any) -> Any:
        seen.append((type(n), ctx.needs_input_grad[1]))
        ctx.n = n
        return x * n

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        seen.append(type(ctx.n))
        return g * ctx.n, None


class Doubled(tg.autograd.Function):
    """Of a number it returns a number, which is no Tensor."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


@tg.custom_vjp
def multiplied(x, n):
    seen.append(type(n))
    return x * n


multiplied.defvjp(lambda x, n: (multiplied(x, n), n), lambda n, g: (g * n, None))


def turns(rule):
    def f(x):
        for i in range(9):
            x = rule(x, i + 1) * 0.2
        return np.sum(x)

    return f


PROGRAMS = {
    "argument": (lambda rule: lambda x, n: np.sum(rule(x, n)), (X, 2.5)),
    "int": (lambda rule: lambda x, n: np.sum(rule(x, n)), (X, 2)),
    "computed": (lambda rule: lambda x, n: np.sum(rule(x, 2 * n + 1)), (X, 2)),
    "float": (lambda rule: lambda x, n: np.sum(rule(x, 2.0 * n + 1.0)), (X, 2.5)),
    "constant": (lambda rule: lambda x: np.sum(rule(x, 3.0)), (X,)),
    "counter": (turns, (X,)),
}


@pytest.mark.parametrize("rule", [Scaled.apply, multiplied], ids=["Function", "custom_vjp"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_numbers_are_numbers_to_rules(program, rule, monkeypatch):
    make, args = PROGRAMS[program]

    def gone(compiled: bool) -> list[Any]:
        monkeypatch.setattr(tg.config, "compile", compiled)
        f, found = tg.value_and_grad(make(rule)), []
        for _ in range(3):
            seen.clear()
            value, gradient = f(*args)
            found.append((value, gradient.tolist(), [*seen]))
        return found

    expected = gone(False)
    assert gone(True) == expected


@pytest.mark.parametrize("rule", [Scaled.apply, multiplied], ids=["Function", "custom_vjp"])
def test_each_call_has_its_own_number(rule):
    f = tg.value_and_grad(lambda x, n: np.sum(rule(x, n)))
    for n in (2.0, 3.0, 4.0, 5.0):
        value, gradient = f(X, n)
        assert (value, gradient.tolist()) == (3.0 * n, [n, n])
    assert f.cache_info().versions == 1


@pytest.mark.parametrize("compiled", [False, True])
def test_a_number_for_a_number_is_refused(compiled, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiled)
    f = tg.compile(lambda x: Doubled.apply(x))
    for _ in range(3):
        with pytest.raises(tg.errors.ArgumentError, match="forward returned float"):
            f(1.0)
        np.testing.assert_array_equal(f(X), 2.0 * X)


def test_a_number_that_is_differentiated_is_a_tensor():
    assert tg.value_and_grad(lambda x: Doubled.apply(x))(1.0) == (2.0, 2.0)
    f = tg.value_and_grad(lambda x: multiplied(x, 3.0) * x)
    for x in (1.0, 2.0):
        assert f(x) == (3.0 * x * x, 6.0 * x)
    assert tg.jvp(lambda x, n: multiplied(x, 3.0) * n, (2.0, 5.0), (1.0, 0.0)) == (30.0, 15.0)


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_examples_of_a_batch_have_the_number():
    f = tg.vmap(lambda x, n: multiplied(x, n), in_axes=(0, None))
    np.testing.assert_array_equal(f(np.ones((3, 2)), 4.0), np.full((3, 2), 4.0))
    np.testing.assert_array_equal(
        tg.jacobian(lambda x, n: multiplied(x, n))(X, 4.0), 4.0 * np.eye(2)
    )
