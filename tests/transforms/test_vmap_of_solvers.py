"""`tg.vmap` of derivatives of roots and integrals: for one example after the other, by programs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import integrate, optimize

import tracegrad as tg


def root(a):
    return optimize.newton(lambda x: x**3 + x - a, 1.0)


def fixed_point(a):
    return optimize.fixed_point(lambda x: 0.3 * a * np.cos(x), np.ones(2)).sum()


def integral(a):
    return integrate.quad(lambda t: np.sin(a * t), 0.0, 1.0)[0]


def path(a):
    return integrate.odeint(lambda y, t: -a * y, 1.0, np.linspace(0.0, 1.0, 3))[-1].sum()


DERIVATIVES = {
    "gradient": tg.grad,
    "second derivative": lambda f: tg.grad(tg.grad(f)),
    "forward": lambda f: tg.jacobian(f, mode="forward"),
    "tangent": lambda f: lambda a: tg.jvp(f, (a,), (1.0,))[1],
}


@pytest.mark.parametrize("f", [root, fixed_point, integral, path])
@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_each_example_is_a_call_of_a_program(f, derivative, few):
    g, examples = DERIVATIVES[derivative](f), np.array([1.5, 2.0])
    call = tg.vmap(g)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            found = call(examples)
    expected = [g(a) for a in examples]
    np.testing.assert_allclose(found, np.reshape(expected, found.shape), rtol=1e-9)
    told = [str(w.message) for w in caught if issubclass(w.category, tg.errors.RecompileWarning)]
    assert len(told) == 1
    assert "Python code is called for each example (test_vmap_of_solvers.py:" in told[0]


@pytest.mark.parametrize("f", [root, integral, path])
def test_second_derivatives_of_solvers_are_compiled(f):
    second = tg.compile(tg.grad(tg.grad(f)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", tg.errors.RecompileWarning)
        for a in (1.5, 2.0, 2.5):
            second(a)
    assert "eagerly" not in second.explain()
