"""Each transform, and each of each other one, of forty functions: what JAX says, on both targets.

What runs eagerly gives the same bits as the program. Two take other steps there: `tg.vmap` runs one
example after the other, and forward mode through a checkpoint transposes its backward.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits, wide_jax
from transform_pairs import (
    CASES,
    NESTS,
    Case,
    Library,
    checkpoint,
    hvp,
    point,
    transformed,
    vjp,
    vmap,
)

import tracegrad as tg
from tracegrad import config
from tracegrad.errors import RecompileWarning


def said_by_jax(case: Case, nest: tuple[Any, ...]) -> np.ndarray:
    import jax
    import jax.numpy as jnp

    with wide_jax():
        f = transformed(Library(jnp, jax), nest, case.make(jnp))
        return np.asarray(jax.jit(f)(jnp.asarray(point(nest, case.at))))


@pytest.mark.sampled(587)
@pytest.mark.parametrize("nest", NESTS, ids=lambda nest: "-".join(t.__name__ for t in nest))
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nested_transforms_are_those_of_jax(case, nest, monkeypatch):
    expected, x = said_by_jax(case, nest), point(nest, case.at)
    found = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error", RecompileWarning)
        for backend in ("numpy", "jax"):
            library = Library(np, tg, {"backend": backend})
            found[backend] = transformed(library, nest, case.make(np))(x)
            assert_close(found[backend], expected, 1e-10, 1e-12, what=backend)
        monkeypatch.setattr(config, "compile", False)
        eager = transformed(Library(np, tg), nest, case.make(np))(x)
    assert_close(eager, expected, 1e-10, 1e-12, what="eager")
    if vmap not in nest and checkpoint not in nest:  # eagerly one by one; forward by a transpose
        assert_same_bits(eager, found["numpy"])


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_functions_of_one_code_follow_each_other(backend):
    """`tg.vjp` of the second one runs on a tape, on the devices of JAX with ``backend="jax"``."""
    nest = (vjp, hvp)
    for case in (c for c in CASES if c.name in ("where_of_where", "einsum_of_every_kind")):
        own = transformed(Library(np, tg, {"backend": backend}), nest, case.make(np))
        with np.errstate(all="ignore"):
            assert_close(own(case.at), said_by_jax(case, nest), 1e-10, 1e-12)
