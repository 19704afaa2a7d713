"""Samples of the ops on matrices: well conditioned, with spectra whose values are apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from samples.sampling import (
    CLOSE,
    DERIVED_OTHERWISE,
    PHASE_FREE,
    REFERENCES,
    TOGETHER,
    Draw,
    Sample,
    samples_of,
)

BATCHES = ((), (2,))


def _of(draw: Draw, x: np.ndarray) -> np.ndarray:
    """In the dtype at hand; whole numbers are rounded."""
    if draw.dtype.kind in "biu":
        return np.round(x.real).astype(draw.dtype)
    return x.astype(draw.dtype)


def with_values(draw: Draw, batch: tuple[int, ...], rows: int, columns: int) -> np.ndarray:
    """Matrices whose singular values are near 1, 2, 3, ... (whole numbers: apart, and not 0).

    Near diagonal ones: of others LAPACK turns singular vectors round from one step to the next.
    """
    whole = np.eye(rows, columns) * np.arange(1.0, columns + 1)
    if draw.dtype.kind in "biu":
        whole = whole + np.tril(np.ones((rows, columns)), -1)
    else:
        whole = whole + 0.2 * draw(*batch, rows, columns)
    return _of(draw, np.broadcast_to(whole, (*batch, rows, columns)))


def hermitian(draw: Draw, batch: tuple[int, ...], n: int, lowest: float = -1.0) -> np.ndarray:
    """Near diagonal Hermitian matrices whose eigenvalues are near `lowest`, `lowest` + 1, ..."""
    whole = np.broadcast_to(np.diag(lowest + np.arange(n)), (*batch, n, n))
    if draw.dtype.kind not in "biu":
        beside = 0.2 * draw(*batch, n, n)
        whole = whole + (beside + np.swapaxes(beside.conj(), -1, -2)) / 2
    return _of(draw, whole)


@samples_of("cholesky")
def _positive_definite(draw: Draw) -> Iterator[Sample]:
    for batch in BATCHES:
        yield Sample((hermitian(draw, batch, 3, 2.0),), {})
    for n in (1, 0):
        yield Sample((hermitian(draw, (), n, 2.0),), {})


@samples_of("eigh", "eigvalsh")
def _hermitian(draw: Draw) -> Iterator[Sample]:
    for batch in BATCHES:
        yield Sample((hermitian(draw, batch, 3),), {"UPLO": "L"})
    for n in (1, 0, 4):
        yield Sample((hermitian(draw, (), n),), {"UPLO": "U"})


@samples_of("inv", "slogdet", "eig", "eigvals")
def _square(draw: Draw) -> Iterator[Sample]:
    yield from _determinants(draw)
    yield Sample((with_values(draw, (), 0, 0),), {})


@samples_of("det")  # JAX knows none of nothing
def _determinants(draw: Draw) -> Iterator[Sample]:
    for batch in BATCHES:
        yield Sample((with_values(draw, batch, 3, 3),), {})
    yield Sample((with_values(draw, (), 1, 1),), {})


@samples_of("cofactors")
def _cofactors(draw: Draw) -> Iterator[Sample]:
    x = with_values(draw, (), 3, 3)
    yield Sample((x, x), {})


@samples_of("svd")
def _svd(draw: Draw) -> Iterator[Sample]:
    for rows, columns in ((3, 3), (4, 2), (2, 4), (1, 1), (0, 2)):
        yield Sample((with_values(draw, (), rows, columns),), {"full_matrices": False})
    yield Sample((with_values(draw, (2,), 3, 2),), {"full_matrices": False})
    yield Sample((with_values(draw, (2,), 3, 3),), {"full_matrices": True})


@samples_of("svdvals")
def _svdvals(draw: Draw) -> Iterator[Sample]:
    for batch in BATCHES:
        yield Sample((with_values(draw, batch, 3, 2),), {})
    for rows, columns in ((3, 3), (2, 4), (1, 1), (0, 2)):
        yield Sample((with_values(draw, (), rows, columns),), {})


@samples_of("qr")
def _qr(draw: Draw) -> Iterator[Sample]:
    for rows, columns in ((3, 3), (4, 2), (2, 4), (1, 1), (2, 0)):
        yield Sample((with_values(draw, (), rows, columns),), {"mode": "reduced"})
    yield Sample((with_values(draw, (2,), 4, 2),), {"mode": "reduced"})
    yield Sample((with_values(draw, (2,), 2, 3),), {"mode": "complete"})


@samples_of("solve")
def _solve(draw: Draw) -> Iterator[Sample]:
    for a, b in (
        ((), (3,)),
        ((), (3, 2)),
        ((2,), (3,)),
        ((2,), (2, 3, 2)),
        ((2, 1), (2, 3, 2)),
        ((), (2, 3, 1)),
        ((2,), (3, 2)),
    ):
        yield Sample((with_values(draw, a, 3, 3), draw(*b)), {})
    yield Sample((with_values(draw, (), 0, 0), draw(0, 2)), {})


@samples_of("solve_triangular")
def _solve_triangular(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind in "biu":  # whole numbers are made floats before
        return
    for batch, b, lower, unit in (
        ((), (3,), True, False),
        ((), (3, 2), False, False),
        ((2,), (2, 3, 2), True, False),
        ((), (3, 2), True, True),
        ((2,), (2, 3, 1), False, True),
    ):
        a = with_values(draw, batch, 3, 3) + _of(draw, 2 * np.eye(3))
        yield Sample((a, draw(*b)), {"lower": lower, "unit_diagonal": unit})


@samples_of("inverted_blocks")
def _inverted_blocks(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind in "fc":
        for batch, n, clean, unit in (
            ((), 3, False, False),
            ((2,), 3, False, True),
            ((), 70, True, False),
            ((), 0, False, False),
        ):
            a = _triangles(draw, batch, n)
            yield Sample((np.tril(a) if clean else a,), {"clean": clean, "unit_diagonal": unit})


@samples_of("substituted")
def _substituted(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind in "fc":
        for batch, n, b, lower in (
            ((), 3, (3,), True),
            ((2,), 3, (2, 3, 2), False),
            ((), 70, (70, 2), True),
            ((), 70, (70,), False),
        ):
            a = np.tril(_triangles(draw, batch, n))
            inverses = _blocks(a)
            if not lower:
                a, inverses = a.mT, inverses.mT
            yield Sample((a, inverses, draw(*b)), {"lower": lower})


def _triangles(draw: Draw, batch: tuple[int, ...], n: int) -> np.ndarray:
    return _of(draw, 0.1 * draw(*batch, n, n) + 3 * np.eye(n))


def _blocks(a: np.ndarray, clean: bool = False, unit_diagonal: bool = False) -> np.ndarray:
    """Blocks of 64 rows of lower triangles, inverted."""
    a = np.tril(a, -1) + np.eye(a.shape[-1], dtype=a.dtype) if unit_diagonal else np.tril(a)
    first, last = a[..., :64, :64], a[..., 64:, 64:]
    out = np.zeros_like(a)
    out[..., :64, :64], out[..., 64:, 64:] = np.linalg.inv(first), np.linalg.inv(last)
    return out


@samples_of("pinv")
def _pinv(draw: Draw) -> Iterator[Sample]:
    for (rows, columns), rcond in (((3, 3), 1e-15), ((4, 2), 1e-15), ((2, 4), 1e-12)):
        yield Sample((with_values(draw, (), rows, columns),), {"rcond": rcond})
    if draw.dtype.kind in "fc":  # of integers NumPy takes neither
        yield Sample((draw(0, 2),), {"rcond": 1e-15})
        yield Sample((with_values(draw, (2,), 3, 2),), {"rcond": "auto"})


@samples_of("pinv_beyond")
def _pinv_beyond(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind in "fc":
        yield Sample((with_values(draw, (2,), 3, 2), np.array([1e-15, 1e-9])), {})
        yield Sample((with_values(draw, (2, 1), 2, 3), np.array([[1e-12], [1e-15]])), {})


@samples_of("lstsq")
def _lstsq(draw: Draw) -> Iterator[Sample]:
    for (rows, columns), b in (((4, 2), (4,)), ((4, 2), (4, 3)), ((2, 4), (2,)), ((3, 3), (3, 1))):
        yield Sample((with_values(draw, (), rows, columns), draw(*b)), {"rcond": None})


@samples_of("matrix_rank")
def _matrix_rank(draw: Draw) -> Iterator[Sample]:
    x = with_values(draw, (2,), 3, 3)
    x[0, 2] = x[0, 1]
    yield Sample((x,), {"rtol": None})
    yield Sample((x[0],), {"rtol": 1e-3})


@samples_of("multi_dot")
def _multi_dot(draw: Draw) -> Iterator[Sample]:
    yield Sample((draw(2, 3), draw(3, 1), draw(1, 4)), {})
    yield Sample((draw(2, 3), draw(3, 2), draw(2, 2), draw(2, 5)), {})
    yield Sample((draw(2, 0), draw(0, 3), draw(3, 2)), {})


def _triangle(
    a: np.ndarray, b: np.ndarray, lower: bool, unit_diagonal: bool, **_: object
) -> np.ndarray:
    half = np.tril(a, -unit_diagonal) if lower else np.triu(a, int(unit_diagonal))
    return np.linalg.solve(half + np.eye(3, dtype=a.dtype) if unit_diagonal else half, b)


REFERENCES["eig"] = lambda x: tuple(part + 0j for part in np.linalg.eig(x))
REFERENCES["eigvals"] = lambda x: np.linalg.eigvals(x) + 0j
REFERENCES["svdvals"] = np.linalg.svdvals
CLOSE["solve_triangular"] = _triangle
CLOSE["inverted_blocks"] = _blocks
CLOSE["substituted"] = lambda a, inverses, b, lower: np.linalg.solve(a, b)
REFERENCES["cofactors"] = lambda value, x: value
REFERENCES["multi_dot"] = lambda *arrays: np.linalg.multi_dot(arrays)
REFERENCES["lstsq"] = lambda a, b, rcond: np.linalg.lstsq(a, b, rcond=rcond)[0]
REFERENCES["pinv"] = lambda x, rcond: np.linalg.pinv(x, 1e-15)
for _name in ("cholesky", "eigh", "eigvalsh", "inv", "det", "slogdet", "svd", "qr", "solve"):
    REFERENCES[_name] = getattr(np.linalg, _name)
REFERENCES["pinv_beyond"] = np.linalg.pinv
REFERENCES["matrix_rank"] = np.linalg.matrix_rank
del REFERENCES["pinv"]
CLOSE["pinv"] = lambda x, rcond: np.linalg.pinv(x)
TOGETHER["cofactors"] = "its first operand is computed from the second"
PHASE_FREE.update({"eigh", "svd"})
DERIVED_OTHERWISE["eig", "float64"] = DERIVED_OTHERWISE["svd", "complex128"] = (
    "JAX fixes the phases, which are free, in another way"
)
DERIVED_OTHERWISE["eig", "complex128"] = "JAX has no derivative of eigenvectors unless asked for"
