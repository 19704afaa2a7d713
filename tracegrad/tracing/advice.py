"""What to write where a run inside JAX's transforms would need values that nobody knows."""

from __future__ import annotations

INSTEAD = {
    "bool": "write np.where(condition, a, b), or decide by a static argument (static_argnames)",
    "int": "pass the whole number itself, or as a static argument (static_argnames); an index that "
    "is an array needs no int()",
    "float": "compute with the array itself, or pass the number as a static argument "
    "(static_argnames)",
}
"""What to write where Python reads a value that is not known, by the kind of reading."""

COUNTED = "keep the length and write np.where(mask, x, 0)"
OPAQUE = "write it as operations on arrays, or call it outside JAX"
RAISING = 'call it once outside JAX, with backend="jax": inside JAX that program is used then'
DRAWN = "draw before the call and pass the numbers (jax.random makes them inside JAX)"
