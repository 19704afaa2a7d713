"""Colours the columns of a sparse pattern, so that few products give all entries.

Columns of one colour share no row, so their sum still has each of their entries by itself: "On the
estimation of sparse Jacobian matrices" (Curtis, Powell and Reid 1974). That is a colouring of a
graph: "Estimation of sparse Jacobian matrices and graph coloring problems" (Coleman and Moré 1983).
It is greedy here, in the order of the columns or by how many others each meets, whichever needs
fewer colours: "What color is your Jacobian?" (Gebremedhin, Manne and Pothen 2005).
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


def star_colours(pattern: Any) -> Any:
    """A colour for each row and column of a symmetric matrix: a star colouring, greedy.

    Rows that meet differ, and every path over four of them has three colours. So of each entry and
    its mirror image at least one stands by itself in a sum of the columns of one colour: "What
    color is your Jacobian?" (Gebremedhin, Manne and Pothen 2005).

    Parameters
    ----------
    pattern : scipy.sparse.csr_array
        Of the shape (n, n), symmetric.

    Returns
    -------
    numpy.ndarray
        Of n whole numbers.
    """
    n = pattern.shape[0]
    if pattern.nnz == n * n:
        return np.arange(n)
    starts, others = pattern.indptr, pattern.indices
    colours = np.full(n, -1, np.int64)
    counts = np.zeros((n, 4), np.int64)  # how many that each meets have a colour
    for v in np.argsort(-np.diff(starts), kind="stable"):
        near = others[starts[v] : starts[v + 1]]
        near = near[near != v]
        taken = np.zeros(counts.shape[1] + 1, bool)
        for w in near[colours[near] >= 0]:
            colour = colours[w]
            taken[colour] = True
            ends = others[starts[w] : starts[w + 1]]
            ends = ends[(colours[ends] >= 0) & (ends != w)]
            if counts[v, colour] < 2:  # else v stands between two of that colour
                ends = ends[counts[ends, colour] >= 2]
            taken[colours[ends]] = True
        colours[v] = found = int(np.argmin(taken))
        if found == counts.shape[1]:
            counts = np.pad(counts, ((0, 0), (0, found)))
        counts[near, found] += 1
    return colours


def mirrored(pattern: Any, colours: Any) -> Any:
    """Which entries of a symmetric matrix are read as their mirror images.

    Those that share their row with another column of their column's colour. In the order of the
    entries, by row.
    """
    n = pattern.shape[0]
    rows = np.repeat(np.arange(n), np.diff(pattern.indptr))
    sums = rows * (int(colours.max(initial=0)) + 1) + colours[pattern.indices]
    _, which, several = np.unique(sums, return_inverse=True, return_counts=True)
    return several[which] > 1
