"""Every transform of functions with a derivative of the user's, compiled and on the tape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from checks import assert_close

import tracegrad as tg
from tracegrad.extend import defjvp, defvjp, primitive

X = np.array([0.3, 0.5, 0.7])
V = np.array([1.0, -1.0, 2.0])
BOTH = np.stack([X, V])
pytestmark = pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")


@tg.custom_vjp
def by_vjp(x):
    return np.sin(x)


by_vjp.defvjp(lambda x: (np.sin(x), x), lambda kept, ct: (ct * np.cos(kept),))


@tg.custom_jvp
def by_jvp(x):
    return np.sin(x)


@by_jvp.defjvp
def by_jvp_rule(primals, tangents):
    return np.sin(primals[0]), tangents[0] * np.cos(primals[0])


class Sine(tg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return np.sin(x)

    @staticmethod
    def backward(ctx, ct):
        return ct * np.cos(ctx.saved_tensors[0])


by_hips_vjp = primitive(lambda x: np.sin(x))
defvjp(by_hips_vjp, lambda ans, x: lambda g: g * np.cos(x))
by_hips_jvp = primitive(lambda x: np.sin(x))
defjvp(by_hips_jvp, lambda g, ans, x: g * np.cos(x))
compiled = tg.compile(lambda x: np.sin(x))

FUNCTIONS = {
    "custom_vjp": by_vjp,
    "custom_jvp": by_jvp,
    "Function": Sine.apply,
    "defvjp": by_hips_vjp,
    "defjvp": by_hips_jvp,
    "compiled": compiled,
}


def first(x: Any) -> Any:
    return np.cos(x) * x + np.sin(x)


def second(x: Any) -> Any:
    return 2.0 * np.cos(x) - x * np.sin(x)


CUBE = np.einsum("ij,jk->ijk", np.eye(3), np.diag(second(X)))
TRANSFORMS: dict[str, tuple[Any, Any]] = {
    "jvp": (lambda f: tg.jvp(f, (X,), (V,))[1], first(X) * V),
    "linearize": (lambda f: tg.linearize(f, X)[1](V), first(X) * V),
    "jacfwd": (lambda f: tg.jacfwd(f)(X), np.diag(first(X))),
    "jacrev": (lambda f: tg.jacrev(f)(X), np.diag(first(X))),
    "vmap": (lambda f: tg.vmap(f)(BOTH), BOTH * np.sin(BOTH)),
    "vmap_of_jacobian": (lambda f: tg.vmap(tg.jacobian(f))(BOTH)[0], np.diag(first(X))),
    "jacobian_of_vmap": (
        lambda f: tg.jacobian(lambda x: tg.vmap(f)(np.stack([x, x]))[1])(X),
        np.diag(first(X)),
    ),
    "hessian": (lambda f: tg.hessian(lambda x: np.sum(f(x)))(X), np.diag(second(X))),
    "hvp": (lambda f: tg.hvp(lambda x: np.sum(f(x)), (X,), (V,)), second(X) * V),
    "jacfwd_of_jacrev": (lambda f: tg.jacfwd(tg.jacrev(f))(X), CUBE),
    "jacrev_of_jacfwd": (lambda f: tg.jacrev(tg.jacfwd(f))(X), CUBE),
    "grad_of_jacobian": (lambda f: tg.grad(lambda x: np.sum(tg.jacobian(f)(x)))(X), second(X)),
}


@pytest.mark.parametrize("compiles", [True, False])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_transform(name, compiles, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiles)
    function = FUNCTIONS[name]
    for transform, expected in TRANSFORMS.values():
        assert_close(transform(lambda x: function(x) * x), expected, 1e-12)


@pytest.mark.parametrize("transform", ["jvp", "jacfwd", "jacrev"])
def test_a_compiled_function_in_one_that_stays_eager(transform):
    """Its call is one node of the tape, whose rule is a program."""

    def f(x):
        return compiled(x) * x

    made = getattr(tg, transform)(f)
    made._give_up("it was told to")
    found = made(X, V)[1] if transform == "jvp" else made(X)
    expected = first(X) * V if transform == "jvp" else np.diag(first(X))
    assert_close(found, expected, 1e-12)


def test_the_source_calls_the_rule_for_each_row():
    made = tg.jacrev(lambda x: by_vjp(x) * x)
    assert "by_vjp_backward_of_each(" in made.source(X)


class Column:
    """What pandas has for a column of a table, as far as NumPy asks."""

    def __init__(self, numbers: Any) -> None:
        self.numbers = np.asarray(numbers)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.numbers, dtype=dtype)


@pytest.mark.parametrize("module", ["pandas", "pandas.core.series"])
def test_columns_of_tables_are_arrays_that_are_read_by_every_call(module, monkeypatch):
    """Such a run is no program; its tape answers, rules of the user's on it."""
    monkeypatch.setattr(Column, "__module__", module)
    mask = Column([True, False, True])

    def f(x):
        return np.sum(by_vjp(x)[mask])

    gradient, hessian = tg.grad(f), tg.hessian(f)
    for _ in range(3):
        kept = np.asarray(mask)
        assert_close(gradient(X), np.cos(X) * kept, 1e-14)
        assert_close(hessian(X), np.diag(-np.sin(X) * kept), 1e-14)
        mask.numbers = ~mask.numbers


def test_numbers_that_c_code_reads_of_what_is_not_differentiated():
    """They are no part of a program; of a batch each example has its own."""

    def f(x, w):
        return x * float.fromhex(np.asarray(w).tobytes().hex()[:2] and "0x1p1") * w

    gradient = tg.grad(lambda x, w: np.sum(f(x, w)))
    for scale in (1.0, 2.0, 3.0):
        assert_close(gradient(X, scale * V), 2.0 * scale * V, 0.0)
    assert_close(tg.vmap(f)(BOTH, BOTH), 2.0 * BOTH * BOTH, 0.0)
