"""What programs call for sparse matrices, given by their arrays, where a library has no function.

Those for JAX (``_jax``) are read as source alone.
"""

from __future__ import annotations

import numpy as np


def products_at(x, y, indices, indptr):
    """The products of rows of x and of y where a sparse matrix has elements."""
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    found = x[rows] * y[indices]
    return found if found.ndim == 1 else found.sum(axis=1)


# -- in JAX ---------------------------------------------------------------------------------------


def lines_of_jax(indices, indptr):
    """The row of each element of a matrix in CSR, the column of each in CSC."""
    lines = jnp.arange(indptr.shape[0] - 1)  # noqa: F821
    return jnp.repeat(lines, jnp.diff(indptr), total_repeat_length=indices.shape[0])  # noqa: F821


def csr_product_jax(data, indices, indptr, x, shape):
    """The product of a sparse matrix in CSR and x."""
    terms = jnp.expand_dims(data, tuple(range(1, x.ndim))) * x[indices]  # noqa: F821
    whole = jnp.zeros((shape[0], *x.shape[1:]), terms.dtype)  # noqa: F821
    return whole.at[lines_of(indices, indptr)].add(terms, indices_are_sorted=True)  # noqa: F821


def csc_product_jax(data, indices, indptr, x, shape):
    """The product of a sparse matrix in CSC and x."""
    lines = lines_of(indices, indptr)  # noqa: F821
    terms = jnp.expand_dims(data, tuple(range(1, x.ndim))) * x[lines]  # noqa: F821
    return jnp.zeros((shape[0], *x.shape[1:]), terms.dtype).at[indices].add(terms)  # noqa: F821


def products_at_jax(x, y, indices, indptr):
    """The products of rows of x and of y where a sparse matrix has elements."""
    found = x[lines_of(indices, indptr)] * y[indices]  # noqa: F821
    return found if found.ndim == 1 else found.sum(axis=1)


def csr_solve_jax(data, indices, indptr, b):
    """The solution x of A @ x = b for a sparse matrix A in CSR."""
    dtype = jnp.result_type(data, b)  # noqa: F821
    data, b = data.astype(dtype), b.astype(dtype)
    indices, indptr = indices.astype(jnp.int32), indptr.astype(jnp.int32)  # noqa: F821
    solve = sequential_vmap(lambda b, data: spsolve(data, indices, indptr, b))  # noqa: F821
    return solve(b, data) if b.ndim == 1 else jax.vmap(solve, (1, None), 1)(b, data)  # noqa: F821


def csc_solve_jax(data, indices, indptr, b):
    """The solution x of A @ x = b for a sparse matrix A in CSC."""
    order = jnp.argsort(indices, stable=True)  # noqa: F821
    starts = jnp.searchsorted(indices[order], jnp.arange(indptr.shape[0]))  # noqa: F821
    lines = lines_of(indices, indptr)[order]  # noqa: F821
    return csr_solve(data[order], lines, starts, b)  # noqa: F821


IN_JAX = (
    *(lines_of_jax, csr_product_jax, csc_product_jax, products_at_jax),
    *(csr_solve_jax, csc_solve_jax),
    "from jax.custom_batching import sequential_vmap",
    "from jax.experimental.sparse.linalg import spsolve",
)
"""The functions for JAX, and what they call."""
