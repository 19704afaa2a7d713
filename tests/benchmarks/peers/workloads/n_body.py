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
    apart = np.empty((3, n, n), position.dtype)
    x, y, z = apart
    square, pair, other = np.empty((3, n, n), position.dtype)
    columns = position.T
    bar, mass_bar = np.empty_like(position), np.empty_like(mass)

    def call():
        np.subtract(columns[:, :, None], columns[:, None, :], out=apart)
        np.multiply(x, x, out=square)
        np.multiply(y, y, out=other)
        np.add(square, other, out=square)
        np.multiply(z, z, out=other)
        np.add(square, other, out=square)
        np.add(square, SOFTENING, out=square)
        np.sqrt(square, out=pair)
        np.divide(mass, pair, out=pair)  # without the mass of the row
        np.add.reduce(pair, axis=1, out=mass_bar)
        value = -0.5 * mass_bar.dot(mass)
        np.divide(pair, square, out=pair)
        np.multiply(apart, pair, out=apart)
        np.add.reduce(apart, axis=2, out=bar.T)
        np.multiply(bar, mass[:, None], out=bar)
        np.negative(mass_bar, out=mass_bar)
        return value, (bar, mass_bar)

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
