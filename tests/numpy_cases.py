"""Calls of NumPy's functions, as one writes them, and the operands that they are about.

Every line is Python over the names in `OPERANDS` and a namespace ``np``, which is NumPy or
tracegrad. `tests/tensors/test_numpy_functions.py` runs each in every way that there is.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy

_random = numpy.random.default_rng(7)


def _with_nan(x: numpy.ndarray) -> numpy.ndarray:
    x = x.copy()
    x[1, 2] = x[0, 0] = numpy.nan
    return x


OPERANDS = {
    "x": _random.normal(size=(4, 5)),
    "y": _random.normal(size=(4, 5)),
    "v": _random.normal(size=5),
    "u": _random.normal(size=3),
    "w": _random.normal(size=6),
    "up": numpy.sort(_random.normal(size=6)),
    "p": _random.uniform(0.5, 2.0, size=(4, 5)),
    "s": _random.normal(size=(3, 3)),
    "t": _random.normal(size=(2, 3, 4)),
    "a": _random.normal(size=()),
    "c": _random.normal(size=(2, 3)) + 1j * _random.normal(size=(2, 3)),
    "n": _with_nan(_random.normal(size=(4, 5))),
    "f": _random.normal(size=(2, 3)).astype(numpy.float32),
    "k": _random.integers(0, 5, size=(4, 5)),
    "j": _random.integers(0, 4, size=7),
    "b": _random.random(size=(4, 5)) < 0.5,
    "one": _random.normal(size=(3, 1, 2)),
    "none": numpy.zeros((0, 3)),
}

EXPRESSIONS = """
np.all(b), np.all(b, axis=1), np.all(b, axis=0, keepdims=True), np.all(x > 0, where=b)
np.any(b), np.any(b, axis=(0, 1)), np.any(none, axis=0)
np.allclose(x, x + 1e-9), np.allclose(x, y, rtol=0.1)
np.isclose(x, x + 1e-9), np.isclose(n, n, equal_nan=True)
np.array_equiv(v, x * 0 + v), np.array_equiv(x, u), np.apply_over_axes(np.sum, t, [0, 2])
np.array_equal(x, y), np.array_equal(n, n, equal_nan=True), np.array_equal(k, k)
np.amax(x), np.amax(x, axis=1), np.amin(x, axis=0, keepdims=True)
np.max(x, axis=1), np.max(x, initial=0.5), np.max(t, axis=(0, 2)), np.max(x, where=b, initial=-9)
np.min(x), np.min(x, axis=-1, keepdims=True), np.min(k, axis=0)
np.ptp(x, axis=1), np.ptp(x)
np.angle(c), np.angle(c, deg=True)
np.append(x, y), np.append(x, y, axis=0), np.append(v, 1.0), np.append(v, [1.0, 2.0])
np.apply_along_axis(np.cumsum, 1, x), np.apply_along_axis(np.sum, 0, t)
np.arange(5), np.arange(2, 9, 3), np.arange(0.0, 1.0, 0.25), np.arange(3, dtype=np.float32)
np.arange(0.0, 3), np.arange(0, 3, 1.0), np.arange(0.0, 3, 1)
np.argmax(x), np.argmax(x, axis=1), np.argmax(x, axis=0, keepdims=True)
np.argmin(x), np.argmin(k, axis=1)
np.argpartition(v, 4)[4], np.partition(v, 2)[2], np.partition(x, 0, axis=1)[:, 0]
np.argsort(v), np.argsort(x, axis=0), np.argsort(k, axis=1, kind="stable"), np.argsort(x, axis=None)
np.sort(v), np.sort(x, axis=0), np.sort(x, axis=None), np.sort(n, axis=1), np.sort(none, axis=0)
np.sort_complex(c), np.lexsort((k[0], k[1])), np.lexsort(k)
np.argwhere(b), np.nonzero(b), np.flatnonzero(x > 0), np.nonzero(x > 0)
np.around(x, 1), np.round(x, 2), np.round(x), np.around(x, decimals=1)
np.array_split(v, 3), np.array_split(x, 2, axis=1), np.split(x, 2), np.split(x, [1, 3], axis=1)
np.hsplit(x, [2]), np.vsplit(x, 2), np.dsplit(t, 2)
np.asarray([1.0, 2.0]), np.asarray([1, 2], dtype=np.float32), np.asarray(x, dtype=np.float32)
np.copy(x)
np.astype(x, np.float32), np.astype(x, np.int64)
np.atleast_1d(a), np.atleast_2d(v), np.atleast_3d(x), np.atleast_1d(a, v)
np.average(x), np.average(x, axis=1, weights=v), np.average(x, weights=p, returned=True)
np.average(x, axis=0, keepdims=True)
np.bincount(j), np.bincount(j, minlength=9), np.bincount(j, weights=w[[0, 1, 2, 3, 4, 5, 0]])
np.block([[s, s], [s, s]]), np.block([v, u]), np.block([[s, u[:, None]], [u, 1.0]])
np.broadcast_arrays(v, x), np.broadcast_to(v, (4, 5)), np.broadcast_shapes((2, 1), (3,))
np.choose(k, [x, y, p, x, y]), np.choose(k, [x, 2.0], mode="clip")
np.choose(k, [x, y], mode="wrap")
np.clip(x, -0.5, 0.5), np.clip(x, None, p), np.clip(x, y, None), np.clip(x, min=0.0)
np.clip(x, a_min=-1, a_max=0.5), np.clip(k, 1, 3)
np.column_stack([v, v]), np.column_stack([s, u]), np.hstack([v, u]), np.hstack([s, s])
np.vstack([v, v]), np.dstack([v, v]), np.dstack([s, s]), np.stack([x, y], axis=1), np.stack([a, a])
np.concat([x, y], axis=1), np.concatenate([v, u]), np.concatenate([x, y], axis=None)
np.concatenate((x, k)), np.concatenate((f, f), axis=-1), np.concatenate([x, y], dtype=np.float32)
np.compress([True, False, True], u), np.compress(v > 0, x, axis=1), np.extract(b, x)
np.convolve(v, u), np.convolve(v, u, mode="same"), np.convolve(u, v, "valid")
np.correlate(v, u), np.correlate(v, u, "full"), np.correlate(u, w, mode="same")
np.corrcoef(x), np.corrcoef(x, rowvar=False), np.corrcoef(v, x[0]), np.corrcoef(c)
np.cov(x), np.cov(v), np.cov(x, rowvar=False, bias=True), np.cov(v, x[1], ddof=0), np.cov(c)
np.cov(x, aweights=p[0]), np.cov(x, fweights=k[0] + 1, aweights=p[0])
np.count_nonzero(b), np.count_nonzero(k, axis=1), np.count_nonzero(k, axis=0, keepdims=True)
np.cross(u, s), np.cross(s, u), np.cross(s, s.T, axis=0)
np.cumsum(x), np.cumsum(x, axis=1), np.cumprod(x, axis=0), np.cumprod(v), np.cumsum(b, axis=0)
np.cumulative_sum(v), np.cumulative_sum(x, axis=1, include_initial=True)
np.cumulative_prod(x, axis=0, include_initial=True), np.cumulative_prod(v)
np.delete(v, 1), np.delete(x, [0, -1], axis=1), np.delete(x, slice(1, 3), axis=0), np.delete(x, 3)
np.insert(v, 1, 9.0), np.insert(x, [1, 3], v, axis=0), np.insert(x, 2, 1.5, axis=1)
np.insert(v, [0, 5], [1.0, 2.0]), np.insert(v, -1, u), np.insert(x, 1, v, axis=0)
np.insert(x, 3, 7)
np.diag(v), np.diag(s), np.diag(x, 1), np.diag(v, -1), np.diagflat(s), np.diagonal(t, 1, 0, 2)
np.diag_indices(3), np.diag_indices_from(s), np.trace(s), np.trace(t, axis1=1, axis2=2)
np.diff(v), np.diff(x, n=2), np.diff(x, axis=0, prepend=0, append=x[:1]), np.diff(b), np.diff(k, 0)
np.ediff1d(x), np.ediff1d(v, to_end=[1.0, 2.0], to_begin=0.0)
np.digitize(x, up), np.digitize(x, [1.0, 0.0, -1.0], right=True), np.digitize(k, [1, 3])
np.searchsorted(up, x), np.searchsorted(up, v, side="right")
np.searchsorted(w, v, sorter=np.argsort(w))
np.dot(x, v), np.dot(x, y.T), np.dot(v, v), np.dot(a, x), np.dot(t, x)
np.einsum("ij,j->i", x, v), np.einsum("ij,ij", x, y), np.einsum("ii->i", s), np.einsum("ii", s)
np.einsum("...j,j", t, t[0, 0]), np.einsum("i...->...", t), np.einsum("ijk->kji", t)
np.einsum("ij,jk,kl->il", s, s, s), np.einsum("i,i,i", u, u, u), np.einsum("ij,kj->ik", x, y)
np.einsum("a,b,c,d,e->abcde", u, u, v[:2], v[:2], w[:2]), np.einsum(x, [0, 1], v, [1], [0])
np.einsum("i,ij,jk,kl,l,l", u, s, s, s, u, u), np.einsum(x, [0, 1])
np.einsum(t, [..., 0], [0, ...])
np.einsum("ij,ij,ij->j", x, y, p), np.einsum("iij->j", t[[0, 1]][:, :2]), np.einsum("ba", x)
np.einsum("...ij,...jk->...ik", t, t.transpose(0, 2, 1)), np.einsum("ij,j", k, k[0])
np.empty((2, 0)), np.empty_like(none), np.zeros((2, 3)), np.zeros(3, dtype=np.int32)
np.zeros_like(x)
np.ones(4), np.ones((2, 2), dtype=bool), np.ones_like(k), np.ones_like(x, dtype=np.float32)
np.full((2, 3), 1.5), np.full(3, 2), np.full((2, 3), u)
np.full_like(x, 3), np.full_like(k, 2, dtype=np.float64)
np.eye(3), np.eye(2, 4, k=1), np.identity(3), np.tri(3, 4, 1), np.tri(3, dtype=np.float32)
np.expand_dims(x, 1), np.expand_dims(v, (0, 2)), np.squeeze(one), np.squeeze(one, axis=1)
np.flip(x), np.flip(x, axis=1), np.fliplr(x), np.flipud(x), np.rot90(x), np.rot90(t, 2, axes=(1, 2))
np.rot90(x, k=3), np.rot90(x, -1)
np.fromfunction(lambda row, column: row * 10 + column, (2, 3)), np.indices((2, 3))
np.indices((2, 3), sparse=True)
np.geomspace(1.0, 1000.0, 4), np.geomspace(2.0, 9.0, num=5, endpoint=False)
np.geomspace(p[0], p[1], 3), np.logspace(v, v + 1, 3)
np.logspace(0.0, 2.0, 5), np.logspace(1, 3, num=3, base=2.0), np.linspace(0, 1, 5)
np.linspace(0.0, 2.0, num=4, endpoint=False), np.linspace(v, v + 1, 3, axis=1), np.linspace(a, 1, 3)
np.linspace(0, 1, 3, retstep=True)
np.gradient(v), np.gradient(x), np.gradient(x, 0.5, axis=1, edge_order=2), np.gradient(w, up)
np.gradient(w, up, edge_order=2), np.gradient(x, 2.0, v, axis=(0, 1)), np.gradient(k, axis=0)
np.histogram(x, 4), np.histogram(x, bins=3, range=(-1, 1), density=True), np.histogram(k, [0, 2, 5])
np.histogram(x, up, weights=p), np.histogram_bin_edges(x, 5)
np.histogram2d(v, v[::-1], 3), np.histogram2d(w, up, [2, 3], weights=up, density=True)
np.histogram2d(v, v * v, [up, [-3.0, 0.0, 1.0, 3.0]]), np.histogramdd(s, 2), np.histogramdd(v, 3)
np.histogramdd([v, v, v], (2, 3, 1), range=[(-1, 1), (-2, 2), (0, 1)], weights=v)
np.inner(v, v), np.inner(x, y), np.inner(t, t[0]), np.outer(u, v), np.outer(s, u)
np.vdot(x, y), np.vdot(c, c), np.vecdot(x, y), np.vecdot(x, y, axis=0), np.matvec(x, v)
np.vecmat(u, s)
np.interp(x, up, w), np.interp(v, up, w, left=0.0, right=a), np.interp(v, up, w, period=2.0)
np.intersect1d(k, j), np.setdiff1d(k, j), np.setxor1d(j, k[0]), np.union1d(j, k[0])
np.setxor1d(u, v), np.union1d(u, v)
np.intersect1d(x, x[0]), np.setdiff1d(v, v[:2])
np.isin(k, [1, 2]), np.isin(k, j, invert=True)
np.iscomplex(c), np.isreal(c), np.isreal(x), np.isneginf(x / 0.0), np.isposinf(x / 0.0)
np.ix_(j, v > 0)[0], np.ix_([0, 1], [2, 3])
np.kron(s, x), np.kron(v, u), np.kron(a, x)
np.ldexp(x, 3), np.ldexp(x, k), np.modf(x), np.modf(k), np.sign(x), np.sign(c), np.sinc(x)
np.gcd(k, 6), np.lcm(k, 4), np.bitwise_count(k), np.spacing(x)
np.matrix_transpose(t), np.swapaxes(t, 0, 2), np.transpose(t), np.transpose(t, (1, 2, 0))
np.moveaxis(t, 0, -1), np.moveaxis(t, [0, 1], [2, 0]), np.rollaxis(t, 2)
np.permute_dims(t, (2, 0, 1))
np.mean(x), np.mean(x, axis=1, keepdims=True), np.mean(k, axis=0), np.mean(f), np.mean(x, where=b)
np.sum(x), np.sum(x, axis=(0, 1)), np.sum(k, axis=1), np.sum(f, dtype=np.float64), np.sum(b)
np.sum(x, where=b, initial=2.0), np.prod(x, axis=0), np.prod(k + 1), np.prod(x, keepdims=True)
np.std(x, axis=0, where=b), np.var(x, where=b, ddof=1), np.var(c, axis=0, where=b[:2, :3])
np.var(x, axis=1, mean=np.mean(y, axis=1, keepdims=True)), np.std(x, mean=0.5, correction=1)
np.std(k, axis=1, where=b, keepdims=True), np.std(f, mean=f[:1, :1], axis=(0, 1))
np.mean(f, axis=1, where=b[:2, :3]), np.nanmean(n, axis=1, where=b), np.nanvar(n, where=b)
np.nanstd(n + x, axis=0, mean=np.mean(x, axis=0, keepdims=True)), np.nanstd(n, where=b, ddof=1)
np.std(x), np.std(x, axis=1, ddof=1), np.var(x, axis=0, keepdims=True), np.var(c), np.var(k)
np.var(x, axis=1, correction=1), np.std(x, axis=(0, 1))
np.median(x), np.median(x, axis=1), np.median(k, axis=0, keepdims=True), np.median(n, axis=1)
np.quantile(x, 0.3), np.quantile(x, [0.1, 0.5], axis=1), np.quantile(x, 0.7, method="nearest")
np.quantile(x, [[0.2], [0.4]], axis=0, keepdims=True), np.quantile(x, 0.5, axis=(0, 1))
np.quantile(x, 0.35, axis=0, method="hazen"), np.quantile(x, 0.35, method="median_unbiased")
np.quantile(v, [0.2, 0.5, 1.0], method="inverted_cdf"), np.quantile(v, 0.4, method="weibull")
np.quantile(v, 0.4, method="averaged_inverted_cdf")
np.quantile(v, 0.5, method="closest_observation")
np.quantile(v, 0.4, method="interpolated_inverted_cdf")
np.quantile(v, 0.4, method="normal_unbiased")
np.quantile(x, 0.4, method="lower"), np.quantile(x, 0.4, method="higher"), np.quantile(f, 0.4)
np.quantile(x, 0.4, method="midpoint"), np.quantile(k, 0.3, axis=1), np.quantile(n, 0.5, axis=0)
np.percentile(x, 30), np.percentile(x, [10, 90], axis=0), np.percentile(f, 33)
np.percentile(k, 50.0), np.quantile(v, 0.4, weights=p[0], method="inverted_cdf")
np.quantile(x, [0.2, 0.9], axis=1, weights=p, method="inverted_cdf")
np.quantile(x, 0.6, axis=0, weights=u[[0, 1, 2, 2]] ** 2, method="inverted_cdf", keepdims=True)
np.percentile(k, [[20], [70]], weights=p, method="inverted_cdf")
np.quantile(n, 0.6, axis=1, weights=p, method="inverted_cdf")
np.nanquantile(n, [0.1, 0.6], axis=1, weights=p, method="inverted_cdf")
np.nanpercentile(n, 45.0, weights=p, method="inverted_cdf")
np.nanmedian(n), np.nanmedian(n, axis=1), np.nanquantile(n, 0.3, axis=0)
np.nanquantile(n, [0.2, 1.0])
np.nanpercentile(n, 40), np.nanpercentile(n, [40], axis=1, keepdims=True)
np.nanargmax(n), np.nanargmin(n, axis=1), np.nancumsum(n, axis=1), np.nancumprod(n)
np.nanmax(n), np.nansum(n, where=b), np.nanmin(n, initial=0.1), np.nanmax(n, where=b, initial=-9)
np.nanmin(n, axis=0), np.nanmean(n, axis=1), np.nansum(n), np.nanprod(n, axis=0)
np.nanstd(n), np.nanvar(n, axis=1, ddof=1), np.nanvar(n, axis=0, keepdims=True)
np.nan_to_num(n), np.nan_to_num(n, nan=1.0), np.nan_to_num(n / 0.0, posinf=1.0, neginf=-1.0)
np.meshgrid(u, v), np.meshgrid(u, v, sparse=True), np.meshgrid(u, v, indexing="ij")
np.pad(v, 2), np.pad(x, ((1, 0), (0, 2)), mode="edge"), np.pad(v, (1, 2), constant_values=3.0)
np.pad(v, 2, mode="mean"), np.pad(x, 1, mode="median"), np.pad(x, ((1, 0), (2, 1)), mode="maximum")
np.pad(x, 2, mode="minimum", stat_length=2), np.pad(k, 1, mode="mean", stat_length=((2, 3), (1, 4)))
np.pad(x, (1, 2), mode="linear_ramp", end_values=0.5), np.pad(k, 2, mode="linear_ramp")
np.pad(v, (0, 3), mode="linear_ramp", end_values=(1.0, -1.0)), np.pad(v, 0, mode="mean")
np.pad(x, 3, mode="reflect", reflect_type="odd"), np.pad(v, (2, 4), "symmetric", reflect_type="odd")
np.pad(x, ((0, 2), (1, 0)), mode="symmetric", reflect_type="odd")
np.pad(x, 1, mode="reflect"), np.pad(x, 2, mode="wrap"), np.pad(x, 1, mode="symmetric")
np.real_if_close(c), np.real_if_close(c.real + 1e-20j), np.real_if_close(x)
np.piecewise(x, [x < 0, x > 1], [lambda z: z**2, 3.0, lambda z: -z]), np.piecewise(x, [b], [np.sin])
np.polyval([1.0, 2.0, 3.0], x), np.polyval(u, a), np.polyadd(v, u), np.polysub(u, v)
np.polyfit(up, w, 1, full=True)[1], np.polyfit(up, w, 1, full=True)[3:]
np.polyfit(up, w, 2), np.polyfit(v, x.T, 1), np.polyfit(up, w, 1, w=p[0, 0] + up * up)
np.polyfit(up, w, 1, cov=True), np.polyfit(up, w, 1, cov="unscaled")
np.polyfit(v, x.T, 1, cov=True)
np.polyfit(j, j * j, 2), np.poly(u), np.poly(s), np.poly([1, 2, 3]), np.roots([1.0, 1.0, 1.0])
np.roots(w), np.roots(v) + 0j, np.roots([1, 0, 0, 4]), np.polydiv(v, u), np.polydiv(u, v)
np.polydiv([1.0, 3.0, 2.0], [1.0, 1.0])
np.trim_zeros(np.append(np.append([0.0, 0.0], v), 0.0)), np.trim_zeros(np.append(j, 0), "b")
np.polymul(u, v), np.polyder(v), np.polyder(v, 2), np.polyint(v), np.polyint(u, 2, k=[1.0, 2.0])
np.polyadd(v, [1.0, 2.0]), np.polyder(k[0]), np.polyint(j), np.polyint(u, k=3.0), np.polyadd(v, v)
np.power(p, 2), np.power(p, y), np.power(2.0, x), np.pow(k, 2), np.pow(p, 2.5), np.power(p, 0.5)
np.ravel(x), np.reshape(x, (5, 4)), np.reshape(x, -1), np.reshape(x, (2, -1)), np.resize(v, (2, 4))
np.reshape(x, (10, 2), order="F"), np.reshape(t, (4, -1), order="F"), np.ravel(t, order="F")
np.reshape(v, (5, 1), order="F"), np.reshape(x, -1, order="F"), np.reshape(a, (1, 1), order="F")
np.ravel_multi_index((j, j), (5, 6)), np.unravel_index(j, (2, 3))
np.ravel_multi_index((j, 2 * j), (5, 2), mode=("raise", "wrap")), np.unravel_index(j, (3, 2), "F")
np.ravel_multi_index((j, 9 * j), (5, 6), "clip", "F"), np.unravel_index(j, 9)
np.reshape(x, (-7, 5)), np.reshape(x, (4, -3)), np.reshape(x, -9)
np.repeat(v, 2), np.repeat(x, 3, axis=1), np.repeat(u, [1, 0, 2]), np.tile(v, 2)
np.tile(x, (2, 1, 2))
np.roll(x, 2), np.roll(x, 1, axis=0), np.roll(x, (1, 2), axis=(0, 1))
np.select([x < 0, x > 1], [x, x**2], 5.0), np.select([b], [k])
np.take(x, [0, 2]), np.take(x, j, axis=0), np.take(x, [7, -9], axis=1, mode="wrap")
np.take(x, 2, axis=1), np.take(v, j, mode="clip")
np.take_along_axis(x, np.argsort(x, axis=1), axis=1)
np.take_along_axis(x, k[:, :2], axis=1)
np.tensordot(x, y), np.tensordot(x, v, axes=1), np.tensordot(t, t, axes=([0, 1], [0, 1]))
np.trapezoid(x), np.trapezoid(x, dx=0.5, axis=0), np.trapezoid(w, up), np.trapezoid(y, x)
np.tril(x), np.tril(s, -1), np.triu(s, k=1), np.triu(t), np.tril_indices(3)
np.triu_indices(2, 1, 4)
np.tril_indices_from(s), np.triu_indices_from(s, k=1)
np.unique(k), np.unique(k, return_index=True, return_inverse=True, return_counts=True), np.unique(n)
np.unique(k % 2, axis=0), np.unique(k, return_counts=True), np.unique(x), np.unique(none)
np.sort(np.unique_values(k)), np.sort(np.unique_values(v))
np.unique_counts(k), np.unique_inverse(k), np.unique_all(k)
np.unique_all(v), np.unique_counts(v), np.unique_inverse(v)
np.unstack(x), np.unstack(t, axis=1), np.unwrap(4 * x), np.unwrap(k, period=4)
np.unwrap(x * 9, axis=0)
np.vander(v), np.vander(u, 2), np.vander(u, N=4, increasing=True), np.vander(j, 3)
np.where(b, x, y), np.where(b, x, 0.0), np.where(b), np.where(x > 0, np.sqrt(p), -x)
np.fmax(x, y), np.fmin(n, x), np.fmod(x, p), np.float_power(p, x), np.logaddexp(x, y), np.exp2(x)
np.logaddexp2(x, y), np.deg2rad(x), np.rad2deg(x), np.heaviside(x, 0.5), np.hypot(x, y)
np.nextafter(x, y), np.copysign(x, y), np.signbit(x), np.arctan2(y, x), np.cbrt(p), np.rint(x)
"""

MADE_BY_NUMPY = frozenset({"np.asarray(x, dtype=np.float32)", "np.full((2, 3), u)"})
"""Calls of NumPy's own functions that give its arrays, whatever they get."""

STATEMENTS = """
np.put_along_axis(x, k[:, :1], 9.0, axis=1)
np.copyto(x, v)
np.copyto(x, y, where=b)
np.putmask(x, b, y)
np.place(x, b, u)
np.putmask(x, b, v)
np.fill_diagonal(x, 3.0)
np.put(x, [0, 7, -1], [1.0, 2.0, 3.0])
np.fill_diagonal(s, u)
"""
"""Calls that write into their first argument."""


# -- running them -------------------------------------------------------------------------------


def calls() -> list[str]:
    """Every expression by itself."""
    trees = [ast.parse(f"({line},)", mode="eval").body for line in EXPRESSIONS.strip().splitlines()]
    return [ast.unparse(call) for tree in trees for call in tree.elts]  # type: ignore[attr-defined]


def used(call: str) -> list[str]:
    """The operands that a call is about."""
    names = {node.id for node in ast.walk(ast.parse(call)) if isinstance(node, ast.Name)}
    return [name for name in OPERANDS if name in names]


def function_of(call: str) -> Any:
    """A call as a function of the namespace and, by name, of its operands."""
    text = f"lambda np, {', '.join(used(call))}: {call}"
    return eval(text, {"bool": bool})  # the calls stand above


def flat(result: Any) -> list[Any]:
    """The results of a call that gives several, in tuples and lists, one after the other."""
    if not isinstance(result, tuple | list):
        return [result]
    return [x for part in result for x in flat(part)]
