"""The JAX target: pure functions under one ``jax.jit``; outcomes of looks are returned beside."""

from __future__ import annotations

from codegen.emit.python import Target

JAX = Target(
    name="jax",
    module="jnp",
    imports=("import jax", "import jax.numpy as jnp"),
    decorator="@jax.jit",
    checks_returned=True,
)
