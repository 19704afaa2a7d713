"""The log likelihood of a Gaussian mixture with a Wishart prior, as ADBench has it.

In: weights, means and the inverse Cholesky factors of the covariances of k components (logarithms
of the diagonal first, then the rest, row by row), and n points in d dimensions. Constants of the
objective are left out.
"""

import numpy as np

from tests.benchmarks.peers.workload import Workload

GAMMA, DEGREES = 1.0, 0


def inputs(random, n, k, d):
    lower = d * (d - 1) // 2
    return (
        random.normal(size=k),
        random.normal(size=(k, d)),
        0.3 * random.normal(size=(k, d + lower)),
        random.normal(size=(n, d)),
        places(d),
    )


def places(d):
    """Where entry (i, j) of a factor stands in (0, the entries below the diagonal)."""
    index = np.zeros((d, d), int)
    index[np.tril_indices(d, -1)] = np.arange(1, d * (d - 1) // 2 + 1)
    return index


def loss(library):
    np, logsumexp = library.np, library.logsumexp

    def log_likelihood(alphas, means, factors, x, places):
        n, d = x.shape
        k = means.shape[0]
        log_scale = factors[:, :d]
        scale = np.exp(log_scale)
        total = np.sum(log_scale, 1)
        # the first column for zeros: entries on and above the diagonal
        below = np.concatenate([0.0 * factors[:, :1], factors[:, d:]], 1)
        lower = np.reshape(below[:, np.reshape(places, (-1,))], (k, d, d))
        apart = x - means[:, None, :]
        white = scale[:, None, :] * apart + apart @ np.swapaxes(lower, 1, 2)
        terms = (alphas + total)[:, None] - 0.5 * np.sum(white * white, 2)
        prior = 0.5 * GAMMA**2 * (np.sum(scale * scale) + np.sum(factors[:, d:] ** 2))
        prior = prior - DEGREES * np.sum(total)
        return np.sum(logsumexp(terms, 0)) - n * logsumexp(alphas, 0) + prior

    return log_likelihood


def by_hand(alphas, means, factors, x, places):
    n, d = x.shape
    k = len(alphas)
    rows, columns = np.tril_indices(d, -1)
    diagonal = np.arange(d)
    factor = np.zeros((k, d, d), x.dtype)
    factor[:, rows, columns] = factors[:, d:]
    scale = np.exp(factors[:, :d])
    factor[:, diagonal, diagonal] = scale
    total = factors[:, :d].sum(axis=1)
    apart = x - means[:, None, :]
    white = apart @ factor.swapaxes(1, 2)
    terms = (alphas + total)[:, None] - 0.5 * (white * white).sum(axis=2)
    top = terms.max(axis=0)
    p = np.exp(terms - top)
    z = p.sum(axis=0)
    weights = np.exp(alphas - alphas.max())
    mass = weights.sum()
    value = (np.log(z) + top).sum() - n * (np.log(mass) + alphas.max())
    value += 0.5 * GAMMA**2 * ((scale * scale).sum() + (factors[:, d:] ** 2).sum())
    value -= DEGREES * total.sum()

    p /= z
    alphas_bar = p.sum(axis=1)
    white_bar = p[:, :, None] * -white
    factor_bar = white_bar.swapaxes(1, 2) @ apart
    apart_bar = white_bar @ factor
    factors_bar = np.empty_like(factors)
    of_scale = factor_bar[:, diagonal, diagonal] + GAMMA**2 * scale
    factors_bar[:, :d] = of_scale * scale + (alphas_bar - DEGREES)[:, None]
    factors_bar[:, d:] = factor_bar[:, rows, columns] + GAMMA**2 * factors[:, d:]
    return value, (
        alphas_bar - n * weights / mass,
        -apart_bar.sum(axis=1),
        factors_bar,
    )


def tuned(alphas, means, factors, x, places):
    n, d = x.shape
    k = len(alphas)
    rows, columns = np.tril_indices(d, -1)
    below, diagonal = rows * d + columns, np.arange(d) * (d + 1)
    factor, factor_bar = np.zeros((k, d, d), x.dtype), np.empty((k, d, d), x.dtype)
    flat, flat_bar = factor.reshape(k, -1), factor_bar.reshape(k, -1)
    stacked, stacked_bar = factor.reshape(k * d, d), factor_bar.reshape(k * d, d)
    offset = np.empty((k, d, 1), x.dtype)
    white = np.empty((k * d, n), x.dtype)
    blocks = white.reshape(k, d, n)
    square = np.empty((k, d, n), x.dtype)
    terms, row = np.empty((k, n), x.dtype), np.empty(n, x.dtype)
    x_t = np.ascontiguousarray(x.T)
    alphas_bar, means_bar, factors_bar = (np.empty_like(a) for a in (alphas, means, factors))
    log_scale, rest = factors[:, :d], factors[:, d:]

    def call():
        scale = np.exp(log_scale)
        flat[:, below] = rest
        flat[:, diagonal] = scale
        total = np.add.reduce(log_scale, axis=1)
        # factor @ (x - mean) for all points: one product, less factor @ mean
        np.matmul(factor, means[:, :, None], out=offset)
        np.matmul(stacked, x_t, out=white)
        np.subtract(blocks, offset, out=blocks)
        np.multiply(blocks, blocks, out=square)
        np.add.reduce(square, axis=1, out=terms)
        np.multiply(terms, -0.5, out=terms)
        np.add(terms, (alphas + total)[:, None], out=terms)
        np.maximum.reduce(terms, axis=0, out=row)
        np.subtract(terms, row, out=terms)
        np.exp(terms, out=terms)
        value = np.add.reduce(row)
        np.add.reduce(terms, axis=0, out=row)
        np.divide(terms, row, out=terms)
        np.log(row, out=row)
        value += np.add.reduce(row)
        top = np.maximum.reduce(alphas)
        weights = np.exp(alphas - top)
        mass = np.add.reduce(weights)
        value -= n * (np.log(mass) + top)
        value += 0.5 * GAMMA**2 * (np.vdot(scale, scale) + np.add.reduce(rest * rest, axis=None))
        value -= DEGREES * np.add.reduce(total)

        np.add.reduce(terms, axis=1, out=alphas_bar)
        np.multiply(blocks, terms[:, None, :], out=blocks)  # minus the cotangent of white
        sums = np.add.reduce(blocks, axis=2)
        np.matmul(white, x, out=stacked_bar)
        np.subtract(sums[:, :, None] * means[:, None, :], factor_bar, out=factor_bar)
        np.matmul(sums[:, None, :], factor, out=means_bar[:, None, :])
        of_scale = flat_bar[:, diagonal]
        of_scale += GAMMA**2 * scale
        of_scale *= scale
        np.add(of_scale, (alphas_bar - DEGREES)[:, None], out=factors_bar[:, :d])
        np.add(flat_bar[:, below], GAMMA**2 * rest, out=factors_bar[:, d:])
        np.multiply(weights, n / mass, out=weights)
        np.subtract(alphas_bar, weights, out=alphas_bar)
        return value, (alphas_bar, means_bar, factors_bar)

    return call


GMM = Workload(
    name="GMM",
    about="ADBench, d=10 k=25 n=1000",
    sizes={"": dict(n=1000, k=25, d=10)},
    inputs=inputs,
    wanted=(0, 1, 2),
    loss=loss,
    by_hand=by_hand,
    tuned=tuned,
    elements=lambda n, k, d: n * k * d,
    dtypes=("float64",),
)
