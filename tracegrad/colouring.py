"""A sparse pattern enters; a colour for each column leaves, so that few products give all entries.

Columns of one colour share no row, so their sum still has each of their entries by itself: "On the
estimation of sparse Jacobian matrices" (Curtis, Powell and Reid 1974). That is a colouring of a
graph: "Estimation of sparse Jacobian matrices and graph coloring problems" (Coleman and Moré 1983).
It is greedy here, in the order of the columns or by how many others each meets, whichever needs
fewer colours: "What color is your Jacobian?" (Gebremedhin, Manne and Pothen 2005), section 3.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def column_colours(pattern: Any) -> Any:
    """A colour, from 0 up, for each column of a sparse matrix.

    Parameters
    ----------
    pattern : scipy.sparse.csr_array
        Of the shape (m, n); what is stored is what may be nonzero.

    Returns
    -------
    numpy.ndarray
        Of n whole numbers. No row has two entries in columns of one colour.
    """
    m, n = pattern.shape
    if m == 0 or n == 0:
        return np.zeros(n, np.int64)
    if np.diff(pattern.indptr).max() == n:  # a row that is full
        return np.arange(n)
    counted = pattern.astype(np.int32)
    meets = (counted.T @ counted).tocsr()
    degrees = np.diff(meets.indptr)
    orders = [np.arange(n), np.argsort(-degrees, kind="stable")]
    found = [_greedy(meets.indptr, meets.indices, order) for order in orders]
    return min(found, key=lambda colours: colours.max())


def _greedy(starts: Any, others: Any, order: Any) -> Any:
    """Each column in turn gets the first colour that none of those it meets has."""
    colours = np.full(len(order), -1, np.int64)
    for column in order:
        near = colours[others[starts[column] : starts[column + 1]]]
        taken = np.zeros(len(near) + 1, bool)
        taken[near[(near >= 0) & (near <= len(near))]] = True
        colours[column] = int(np.argmin(taken))
    return colours
