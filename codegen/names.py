"""Names that generated source gives away, and those that it reads itself."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence

from codegen.ir import Value

MODULES = frozenset({"np", "numpy", "scipy", "math", "jax", "jnp", "lax", "numba", "njit", "Path"})
"""What generated source imports."""


def is_taken(name: str) -> bool:
    """Whether a function or parameter of this name would hide what generated source reads."""
    return name in MODULES or hasattr(builtins, name)


def hides(name: str, text: str) -> bool:
    """Whether a module that has a function of this name reads something else by it."""
    return is_taken(name) and any(
        isinstance(node, ast.Name) and node.id == name for node in ast.walk(ast.parse(text))
    )


def parameter_names(values: Sequence[Value]) -> tuple[str, ...]:
    """A name for each parameter of a function, as near to the user's as possible."""
    names: list[str] = []
    for value in values:
        stem = value.origin.name or ("x" if value.type.shape else "a")
        stem = stem if stem.isidentifier() else "x"
        name, count = stem, 1
        while name in names or is_taken(name):
            count += 1
            name = f"{stem}_{count}"
        names.append(name)
    return tuple(names)
