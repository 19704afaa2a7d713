"""Functions that run apart: they read nothing of the function around, and derive what is theirs."""

import logging
import warnings

import numpy as np
import pytest
from checks import assert_close
from scipy import optimize

import tracegrad as tg

X = np.array([0.5, 0.3])


@pytest.fixture(params=["compiled", "eager", "eager around"], autouse=True)
def way(request, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", request.param != "eager")
    return request.param


def around(f, way):
    """The function; where its way says so, one that runs eagerly and calls compiled ones."""

    def eager(x):
        logging.debug("")
        return f(x)

    return eager if way == "eager around" else f


LAYER = tg.checkpoint(lambda h: np.tanh(h) * h)


def kept(x):
    return np.sum(np.tanh(x) * x * x[0])


def checkpointed(x):
    return np.sum(LAYER(x) * x[0])


def checkpointed_closure(x):
    return np.sum(tg.checkpoint(lambda h: np.tanh(h) * h * x[0])(x))


def bracketed(x):
    def equation(z):
        return z + 0.5 * np.sin(x[0] * z) - 0.3

    return optimize.brentq(equation, -5, 5, xtol=1e-15) * x[1]


def by_newton(x):
    return optimize.newton(lambda z: z + 0.5 * np.sin(x[0] * z) - 0.3, 0.2, tol=1e-15) * x[1]


def by_args(x):
    found = optimize.newton(lambda z, a: z + 0.5 * np.sin(a * z) - 0.3, 0.2, args=(x[0],))
    return found * x[1]


def fixed(x):
    return optimize.fixed_point(lambda z: 0.3 - 0.5 * np.sin(x[0] * z), 0.2, xtol=1e-14) * x[1]


def steps(x):
    z = 0.2
    for _ in range(60):
        z = 0.3 - 0.5 * np.sin(x[0] * z)
    return z * x[1]


SAME = {
    checkpointed: kept,
    checkpointed_closure: kept,
    **dict.fromkeys((bracketed, by_newton, by_args, fixed), steps),
}


def hessian(f):
    return tg.hessian(f)(X)


def forward_over_reverse(f):
    return tg.jacfwd(tg.grad(f))(X)


def tangent_of_gradient(f):
    return tg.jvp(tg.grad(f), (X,), (X[::-1].copy(),))[1]


def product(f):
    return tg.hvp(f)(X, X[::-1].copy())


def batch_of_hessians(f):
    return tg.vmap(tg.hessian(f))(np.stack([X, X + 0.1]))


def batch_of_products(f):
    return tg.vmap(tg.hvp(f))(np.stack([X, X + 0.1]), np.stack([X, X]))


def batch_of_jacobians(f):
    return tg.vmap(tg.jacfwd(tg.grad(f)))(np.stack([X, X + 0.1]))


def within_a_program(f):
    return tg.compile(lambda x: tg.hessian(f)(x) * 2.0)(X)


def within_a_gradient(f):
    return tg.grad(lambda x: np.sum(tg.hessian(f)(x)))(X)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("f", SAME, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "derived",
    [
        hessian,
        forward_over_reverse,
        tangent_of_gradient,
        product,
        batch_of_hessians,
        batch_of_products,
        batch_of_jacobians,
        within_a_program,
        within_a_gradient,
    ],
)
def test_forward_mode_over_rules_of_the_library(derived, f, way):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = derived(SAME[f])
        derives = around(f, way)
        for _ in range(2):
            assert_close(derived(derives), expected, rtol=1e-6, atol=1e-9)


def half(w):
    return np.sum(w**2) / 2


def by_jvp(x):
    return tg.jvp(half, (x,), (x,))[1] * x


def by_jacfwd(x):
    return tg.jacfwd(lambda w: w**2)(x) @ x * x / 2


def by_jacrev(x):
    return tg.jacrev(lambda w: w**2)(x) @ x * x / 2


def by_linearize(x):
    return tg.linearize(half, x)[1](x) * x


def by_vjp(x):
    return tg.vjp(lambda w: w**2, x)[1](x)[0] / 2 * x


def by_hessian(x):
    def loss(w, scale):
        return np.sum(w**2) * scale[0] / 2

    return np.linalg.solve(tg.hessian(loss)(x, x), x) * x[0] * np.sum(x * x)


def by_compiled(x):
    return tg.compile(by_jvp)(x)


def by_functional(x):
    return tg.autograd.functional.jvp(half, tg.tensor(x), tg.tensor(x))[1].numpy() * x


def by_leaf(x):
    with tg.enable_grad():
        w = tg.tensor(x, requires_grad=True)
        half(w).backward()
    return w.grad.numpy() * np.sum(x * w.detach().numpy()) * x / x


PRIMALS = [
    by_jvp,
    by_jacfwd,
    by_jacrev,
    by_linearize,
    by_vjp,
    by_hessian,
    by_compiled,
    by_functional,
    by_leaf,
]


def ruled(primal):
    """It has the derivative of a multiple of its argument, whatever it computes."""
    made = tg.custom_vjp(primal)
    made.defvjp(lambda x: (primal(x), x), lambda x, ct: (ct * x,))
    return made


@pytest.mark.sampled(4)
@pytest.mark.parametrize("primal", PRIMALS)
@pytest.mark.parametrize("derived", ["gradient", "batch", "hessian"])
def test_rules_whose_function_takes_derivatives(primal, derived, way):
    f, value = ruled(primal), primal(X)
    loss = around(lambda x: np.sum(f(x) ** 2), way)
    transform, x, expected = {
        "gradient": (tg.grad, X, 2 * value * X),
        "batch": (lambda f: tg.vmap(tg.grad(f)), np.stack([X, X]), [2 * value * X] * 2),
        "hessian": (tg.hessian, X, np.diag(2 * X * X + 2 * value)),
    }[derived]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = transform(loss)
        for _ in range(2):
            assert_close(found(x), np.array(expected), rtol=1e-12)


def reads(y, z):
    return ruled(lambda x: x * z)


def reads_in_a_derivative(y, z):
    return ruled(lambda x: tg.jvp(lambda w: w * z, (x,), (x,))[1])


def derives_by_it(y, z):
    return ruled(lambda x: tg.jvp(lambda w: w * w, (z,), (x,))[1])


@pytest.mark.parametrize("made", [reads, reads_in_a_derivative, derives_by_it])
@pytest.mark.parametrize("of", [lambda y: y, lambda y: 2.0 * y], ids=["leaf", "computed"])
def test_what_is_of_the_function_around_is_refused(made, of, way):
    loss = around(lambda y: np.sum(made(y, of(y))(y)), way)
    with pytest.raises((tg.errors.GradientError, tg.errors.TraceError), match="reads"):
        tg.grad(loss)(X)


def test_a_backward_that_reads_of_the_function_around_is_refused_where_it_is_transposed(way):
    def loss(y):
        f = tg.custom_vjp(lambda x: x * x)
        taken = 2.0 * y
        f.defvjp(
            lambda x: (x * x, x),
            lambda x, ct: (ct * tg.grad(lambda w: np.sum(w * taken))(x),),
        )
        return np.sum(f(y))

    with pytest.raises((tg.errors.GradientError, tg.errors.TraceError), match="reads"):
        tg.hessian(around(loss, way))(X)
