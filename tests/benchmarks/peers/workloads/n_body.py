"""Potential energy of bodies that attract each other: positions and masses in, a number out."""

import numpy as np

from tests.benchmarks.peers.workload import Workload

SOFTENING = 0.01


def inputs(random, n):
    return random.normal(size=(n, 3)), random.uniform(0.5, 2.0, n)


def loss(library):
    np = library.np

    def energy(position, mass):
        apart = position[:, None, :] - position[None, :, :]
        distance = np.sqrt(np.sum(apart * apart, axis=2) + SOFTENING)
        return -0.5 * np.sum(mass[:, None] * mass[None, :] / distance)

    return energy


def by_hand(position, mass):
    apart = position[:, None, :] - position[None, :, :]
    square = np.einsum("ijk,ijk->ij", apart, apart) + SOFTENING
    pair = mass[:, None] * mass / np.sqrt(square)
    value = -0.5 * pair.sum()
    return value, (np.einsum("ij,ijk->ik", pair / square, apart), -(pair.sum(axis=1) / mass))


def tuned(position, mass):
    n = len(mass)
    apart, product = np.empty((2, n, n, 3), position.dtype)
    square, pair = np.empty((2, n, n), position.dtype)
    bar, mass_bar = np.empty((n, 1, 3), position.dtype), np.empty_like(mass)
    flat, flat_square, ones = product.reshape(-1, 3), square.reshape(-1), np.ones(3, mass.dtype)
    rows, column = pair[:, None, :], mass[:, None]
    softening = np.array(SOFTENING, mass.dtype)
    bars = bar[:, 0], mass_bar

    def call():
        np.subtract(position[:, None, :], position, out=apart)
        np.multiply(apart, apart, out=product)
        np.matmul(flat, ones, out=flat_square)  # sums of three, sooner than a reduction's
        np.add(square, softening, out=square)
        np.sqrt(square, out=pair)
        np.divide(mass, pair, out=pair)  # without the mass of the row
        np.add.reduce(pair, axis=1, out=mass_bar)
        value = -0.5 * mass_bar.dot(mass)
        np.divide(pair, square, out=pair)
        np.matmul(rows, apart, out=bar)
        np.multiply(bars[0], column, out=bars[0])
        np.negative(mass_bar, out=mass_bar)
        return value, bars

    return call


N_BODY = Workload(
    name="N-body",
    about="energy of 100 bodies in space, positions and masses",
    sizes={"": dict(n=100)},
    inputs=inputs,
    wanted=(0, 1),
    loss=loss,
    by_hand=by_hand,
    tuned=tuned,
    elements=lambda n: n * n,
    dtypes=("float64",),
)
