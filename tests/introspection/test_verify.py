"""What ``verify`` compares, and what it says of points where differences tell little."""

from __future__ import annotations

import numpy as np
import pytest

import tracegrad as tg


class Wrong(tg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return np.maximum(x, 0) * 2.0

    @staticmethod
    def backward(ctx, ct):
        return ct * 2.01


def said(found, what):
    (check,) = [check for check in found.checks if check.what.startswith(what)]
    return check.said


@pytest.mark.parametrize("near", [1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(np.maximum(x, 0.0)),
        lambda x: np.sum(np.where(x > 0, x**2, 0.0)),
        lambda x: np.sum(np.abs(x) ** 1.5),
        lambda x: sum(v * v if v > 0 else -v for v in x),
        lambda x: tg.grad(lambda y: np.sum(np.maximum(y, 0.0) ** 2))(x).sum(),
    ],
)
def test_steps_are_small_enough_for_a_kink_that_is_near(function, near):
    found = tg.grad(function).verify(np.array([0.7, near, -near]))
    assert found, str(found)
    assert "slopes" in said(found, "gradient")


def test_steps_and_what_they_allow_are_told():
    found = tg.grad(lambda x: np.sum(np.sin(x))).verify(np.ones(3))
    assert said(found, "gradient").endswith("in steps of 0.001, to within 8e-07")
    found = tg.grad(lambda x: np.sum(np.sqrt(x))).verify(np.array([1e-5, 1.0]))
    assert found and "in steps of 1e-06" in said(found, "gradient")  # larger ones leave the domain
    found = tg.grad(lambda x: Wrong.apply(x).sum()).verify(np.array([1.0, 1e-4]))
    assert not found and "(in steps of 0.0001, to within " in said(found, "gradient")


def test_a_kink_is_told():
    """Between the two slopes every gradient is one that a convention may choose."""
    at = np.array([1.0, 0.0])
    found = tg.grad(lambda x: np.sum(tg.nn.relu(x))).verify(at)
    assert found and "has a kink here" in said(found, "gradient")
    assert said(found, "gradient").endswith("is between them")
    found = tg.grad(lambda x: Wrong.apply(x).sum()).verify(at)
    assert not found and "is not between them; pass arguments apart" in said(found, "gradient")


def unlike_traced(x):
    try:
        return np.sum(x) * (0.0 if x.requires_grad is None else 2.0)
    except AttributeError:
        return np.sum(x)


def test_the_value_is_compared_with_the_plain_function():
    """It is the first thing that somebody compares; programs of gradients alone are asked too."""
    plain = "value against the plain function"
    for transform in (tg.compile, tg.grad, tg.value_and_grad, tg.hessian, tg.jacobian):
        found = transform(lambda x: np.sum(np.sin(x))).verify(np.ones(3))
        assert found and found.checks[0].what.startswith(plain)
        assert found.checks[0].said == "the same bits"
        found = transform(unlike_traced).verify(np.ones(3))
        assert not found and not found.checks[0].ok
        assert "differs by up to 3, 1.0e+00 of its largest" in found.checks[0].said
        assert "(1e-10 of it is allowed)" in found.checks[0].said


def test_the_plain_function_is_run_where_it_can_be():
    plain = "value against the plain function"
    found = tg.grad(lambda x: x.relu().sum()).verify(np.ones(3))
    assert found and "'numpy.ndarray' object has no attribute 'relu'" in said(found, plain)

    def written(x, y):
        z = y
        z += x[0]
        return np.sum(x * z)

    y = np.ones(3)
    assert tg.compile(written).verify(np.ones(3), y)
    np.testing.assert_array_equal(y, np.ones(3))
    generator = tg.random.Generator(0)
    found = tg.compile(lambda x: x * generator.normal(size=3)).verify(np.ones(3))
    assert found and said(found, plain) == "the same bits"
    assert [c.what[:6] for c in tg.vmap(np.sum).verify(np.ones((2, 3))).checks] == ["result"]

    class Model:
        w = 2.0

        @tg.value_and_grad(argnums=1)
        def loss(self, x):
            return np.sum(self.w * x)

    assert said(Model().loss.verify(np.ones(3)), plain) == "the same bits"


def test_functions_of_jax_in_numpys_place_are_compared():
    jnp = pytest.importorskip("jax.numpy")
    found = tg.value_and_grad(lambda x: jnp.sum(jnp.sin(x))).verify(np.ones(3))
    assert found, str(found)
