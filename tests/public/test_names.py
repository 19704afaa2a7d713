"""Names that users give: letters of all kinds, names that generated source reads, long ones."""

from __future__ import annotations

import numpy
import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

X = np.array([0.1, -0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])


def decayed(x, w=0.9):
    s = 0.0
    for v in x:
        s = w * s + v * v
        if s > 100.0:
            s = s * 0.5
    return s


def renamed(name: str):
    """The function under another name."""
    made = type(decayed)(decayed.__code__, globals(), name, decayed.__defaults__)
    made.__qualname__ = name
    return made


@pytest.mark.parametrize("name", ["range", "np", "LookupError", "type", "reversed", "ValueError"])
def test_a_function_hides_nothing_that_its_program_reads(name, tmp_path):
    f = renamed(name)
    compiled, gradient = tg.compile(f), tg.value_and_grad(f)
    for x in (X, X * 9.0, X):  # the second takes an arm that the program has not
        assert_same_bits(compiled(x), decayed(x))
        assert_same_bits(gradient(x), tg.value_and_grad(decayed)(x))
    for callee, names in ((compiled, {name, f"{name}_"}), (gradient, {name, f"{name}_"})):
        space = {"__file__": str(tmp_path / "exported.py")}
        exec(callee.export(tmp_path / "exported.py", X).read_text(), space)
        (exported,) = [space[each] for each in names if callable(space.get(each))]
        assert_same_bits(exported(X), callee(X))


def test_a_file_that_does_not_read_the_name_keeps_it(tmp_path):
    space = {}
    exec(tg.compile(renamed("filter")).export(tmp_path / "f.py", X).read_text(), space)
    assert_same_bits(space["filter"](X), decayed(X))


def prices(S, K, σ, τ):
    μ = 0.5 * σ * σ
    d = (np.log(S / K) + μ * τ) / σ
    if d > 0:
        δ = np.tanh(d)
    else:
        δ = np.sin(d) * σ
    return S * δ - K * np.exp(-τ)


def energy(θ, η):
    for a, b in zip(θ, θ, strict=True):
        θ = θ - η * np.sin(θ) * a * b
    return (θ * θ).sum()


def test_letters_of_all_alphabets():
    """What is read is not deleted before."""
    hessian = tg.hessian(prices, argnums=(0, 2))
    for start in (1.2, 0.8):
        (a, b), (c, d) = hessian(start, 1.0, 0.3, 1.0)
        g = tg.grad(prices, argnums=(0, 2))
        h = 1e-6
        up, down = g(start + h, 1.0, 0.3, 1.0), g(start - h, 1.0, 0.3, 1.0)
        np.testing.assert_allclose(
            [a, c], [(p - q) / (2 * h) for p, q in zip(up, down, strict=True)], 1e-5
        )
        np.testing.assert_allclose(b, c, 1e-12)
        assert np.isfinite(d)
    x = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    value, gradient = tg.value_and_grad(energy)(x, 0.1)
    assert_same_bits(value, energy(x, 0.1))
    approximate = [
        (energy(x + 1e-6 * e, 0.1) - energy(x - 1e-6 * e, 0.1)) / 2e-6 for e in np.eye(5)
    ]
    np.testing.assert_allclose(gradient, approximate, 1e-6)
    assert tg.hessian(energy)(x, 0.1).shape == (5, 5)


@pytest.mark.parametrize("length", range(60, 100, 3))
def test_long_names_of_functions(length):
    f = renamed("f" + "x" * (length - 1))
    assert_same_bits(tg.compile(f)(X), decayed(X))
    assert_same_bits(tg.value_and_grad(f)(X), tg.value_and_grad(decayed)(X))


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_a_variable_of_a_loop_named_as_a_module(backend):
    if backend == "numba":
        pytest.importorskip("numba")

    def smooth(x, w):
        np = x * 2.0
        for t in x:
            if t > 0:
                np = np + t * numpy.sin(np)
            else:
                np = np * w
        return np.sum()

    compiled = tg.compile(smooth, backend=backend)
    assert_same_bits(compiled(X, 0.5), smooth(X, 0.5))
    expected = tg.value_and_grad(smooth)(X, 0.5)
    assert_same_bits(tg.value_and_grad(smooth, backend=backend)(X, 0.5), expected)
