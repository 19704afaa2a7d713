"""Vectors that lie in one piece or apart: products have eager's bits for both."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

FUNCTIONS = {
    "vdot": lambda z: np.vdot(z, z),
    "vdot beside": lambda z: np.vdot(z, z) + (z * z).sum(),
    "outer": lambda z: (np.outer(z, z.conj()) * np.arange(36.0).reshape(6, 6)).sum(),
    "outer of itself": lambda z: (np.outer(z, z) @ z).sum(),
    "ravel": lambda z: (np.ravel(z) * z).sum(),
    "products of ravel": lambda z: np.ravel(z) @ z.ravel(),
    "inner": lambda z: np.inner(z, z.conj()),
    "kron": lambda z: np.kron(z, z).sum(),
    "append": lambda z: np.append(z, z) @ np.append(z, z),
    "convolve": lambda z: np.convolve(z, z).sum(),
    "flatten": lambda z: (z.flatten() * z).sum(),
}
LAYOUTS = {
    "in one piece": lambda z: z.copy(),
    "backwards": lambda z: z[::-1],
    "apart": lambda z: np.repeat(z, 2)[::2],
}


def vector(seed, dtype):
    random = np.random.default_rng(seed)
    z = random.normal(size=6) + 1j * random.normal(size=6)
    return z if dtype == "complex128" else z.real.copy()


@pytest.mark.parametrize("dtype", ["complex128", "float64"])
@pytest.mark.parametrize("first", LAYOUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bits_are_those_of_eager_calls(name, first, dtype, monkeypatch):
    function = FUNCTIONS[name]

    def loss(z):
        value = function(z)
        return value.real + value.imag * 0.5

    gradient = tg.value_and_grad(loss)
    gradient(LAYOUTS[first](vector(0, dtype)))
    for layout in LAYOUTS.values():
        for seed in range(3):
            z = layout(vector(seed, dtype))
            found = gradient(z)
            with monkeypatch.context() as patch:
                patch.setattr(tg.config, "compile", False)
                expected = tg.value_and_grad(loss)(z)
            assert_same_bits(found, expected)
    assert gradient.cache_info().versions <= 2  # one for vectors in one piece, one for any


def test_programs_for_vectors_in_one_piece_make_no_copies():
    f = tg.value_and_grad(lambda z: np.outer(z, z).sum() + np.ravel(z) @ z)
    f(np.ones(3))
    assert "ascontiguousarray" not in f.source(np.ones(3))
    f(np.ones(6)[::2])
    assert "ascontiguousarray" in f.source(np.ones(6)[::2])
