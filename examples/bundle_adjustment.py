"""Find the positions of points and cameras from photographs alone, by bundle adjustment.

In: points of the mountains around the Jacksboro fault in Tennessee (a digital elevation model that
ships with matplotlib). The flight over them is invented, and so are the positions of the points in
the photographs, with errors of about a pixel.
Out: the generated source of products with the Jacobian, which is sparse: a few products give all
its entries; positions of points and cameras, by the Levenberg-Marquardt method; the distances of
the points from their true positions, in ``examples/output/bundle_adjustment.png``.

    python examples/bundle_adjustment.py [--backend jax] [--quick] [--beside-jax]
"""

import common
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse
from matplotlib.cbook import get_sample_data
from scipy.sparse.linalg import spsolve
from tqdm import trange

import tracegrad as tg

CELL = (0.092, 0.074)  # kilometres from one measured height to the next, south and east
WINDOW = (slice(180, 270), slice(160, 280))  # the part of the map that is flown over
CAMERAS, POINTS = 18, 400
FOCAL = 1500.0  # pixels
FRAME = 900.0  # pixels from the middle of a photograph to its edges
NOISE = 1.0  # pixels


# The model: what a camera sees.


def rotated(points, turns):
    """Points, rotated around axes; the length of an axis is the angle (Rodrigues)."""
    angle = np.sqrt(np.sum(turns**2, axis=1, keepdims=True) + 1e-24)
    axis = turns / angle
    along = np.sum(axis * points, axis=1, keepdims=True) * axis
    across = np.cross(axis, points)
    return np.cos(angle) * points + np.sin(angle) * across + (1.0 - np.cos(angle)) * along


def seen(cameras, points):
    """The position of each point in the photograph of its camera (six numbers), in pixels."""
    from_camera = rotated(points, cameras[:, :3]) + cameras[:, 3:]
    return -FOCAL * from_camera[:, :2] / from_camera[:, 2:]


def residuals(unknown, camera, point, found):
    """The differences between predicted and observed positions in the photographs.

    unknown holds six numbers for each camera, then three for each point. Observation i is of
    point[i], by camera[i].
    """
    cameras = unknown[: 6 * CAMERAS].reshape(CAMERAS, 6)
    points = unknown[6 * CAMERAS :].reshape(-1, 3)
    return np.ravel(seen(cameras[camera], points[point]) - found)


jacobian = tg.jacobian(residuals, sparse=True)


def in_jax():
    """The same in JAX: derivatives of each observation, put into the matrix by hand."""
    import jax
    import jax.numpy as jnp

    def one(camera, point):
        angle = jnp.sqrt(jnp.sum(camera[:3] ** 2) + 1e-24)
        axis = camera[:3] / angle
        across = jnp.cross(axis, point)
        turned = jnp.cos(angle) * point + jnp.sin(angle) * across
        turned = turned + (1.0 - jnp.cos(angle)) * (axis @ point) * axis
        from_camera = turned + camera[3:]
        return -FOCAL * from_camera[:2] / from_camera[2]

    blocks = jax.vmap(jax.jacfwd(one, argnums=(0, 1)))

    @jax.jit
    def entries(unknown, camera, point):
        cameras = unknown[: 6 * CAMERAS].reshape(CAMERAS, 6)
        points = unknown[6 * CAMERAS :].reshape(-1, 3)
        return jnp.concatenate(blocks(cameras[camera], points[point]), axis=2)

    def jacobian(unknown, camera, point, found):
        columns = np.hstack(
            [
                6 * np.asarray(camera)[:, None] + np.arange(6),
                6 * CAMERAS + 3 * np.asarray(point)[:, None] + np.arange(3),
            ]
        )
        columns = np.repeat(columns, 2, axis=0).ravel()
        begins = np.arange(0, len(columns) + 1, 9)
        values = np.asarray(entries(unknown, camera, point)).ravel()
        shape = len(begins) - 1, len(unknown)
        return scipy.sparse.csr_array((values, columns, begins), shape=shape)

    return jacobian


# The flight.


def mountains(rng, count):
    """Points on the ground, in kilometres from the middle: east, north and up."""
    with get_sample_data("jacksboro_fault_dem.npz") as data:
        heights = data["elevation"][WINDOW].astype(float) / 1000.0
    south, east = (rng.integers(n, size=count) for n in heights.shape)
    places = np.stack([east * CELL[1], -south * CELL[0], heights[south, east]], axis=1)
    return places - places.mean(axis=0)


def flight(rng):
    """Six numbers for each camera: three lines over the mountains, with some noise."""
    x, y = np.meshgrid(np.linspace(-3.5, 3.5, CAMERAS // 3), [-2.5, 0.0, 2.5])
    places = np.stack([x.ravel(), y.ravel(), np.full(CAMERAS, 6.0)], axis=1)
    places += rng.normal(0.0, 0.2, places.shape)
    turns = rng.normal(0.0, 0.05, (CAMERAS, 3))
    return np.hstack([turns, -rotated(places, turns)])


def survey(rng, count=POINTS):
    """The true values, as one vector; camera, point and position of each observation."""
    cameras, points = flight(rng), mountains(rng, count)
    camera, point = (a.ravel() for a in np.indices((CAMERAS, count)))
    found = seen(cameras[camera], points[point])
    inside = np.all(np.abs(found) < FRAME, axis=1)
    often = np.bincount(point[inside], minlength=count) >= 3
    kept = inside & often[point]
    point = np.cumsum(often)[point] - 1  # numbers of those that are kept
    found = found + rng.normal(0.0, NOISE, found.shape)
    truth = np.concatenate([cameras.ravel(), points[often].ravel()])
    return truth, (camera[kept], point[kept], found[kept])


def guessed(truth, rng):
    """The initial values: cameras and points with errors of hundreds of metres."""
    off = np.concatenate(
        [
            np.tile([0.03, 0.03, 0.03, 0.2, 0.2, 0.2], CAMERAS),
            np.full(len(truth) - 6 * CAMERAS, 0.2),
        ]
    )
    return truth + off * rng.normal(size=len(truth))


def shown():
    """The function whose source and time are shown, and the arguments of a call."""
    rng = np.random.default_rng(0)
    truth, findings = survey(rng)
    return jacobian, (guessed(truth, rng), *findings)


def adjusted(unknown, findings, steps):
    """The unknown that fits the observations best, and the error in pixels before each step."""
    damping, history = 1e-3, []
    value = residuals(unknown, *findings)
    bar = trange(steps, desc="adjusting", unit="step")
    for _ in bar:
        history.append(np.sqrt(np.mean(value**2)))
        bar.set_postfix(pixels=f"{history[-1]:.2f}", refresh=False)
        j = jacobian(unknown, *findings)
        square = (j.T @ j).tocsc()
        square = square + damping * scipy.sparse.diags_array(square.diagonal(), format="csc")
        step = spsolve(square, -(j.T @ value))
        tried = residuals(unknown + step, *findings)
        if np.sum(tried**2) < np.sum(value**2):
            unknown, value, damping = unknown + step, tried, damping / 5.0
        else:
            damping = damping * 5.0
    return unknown, np.array(history)


def fitted(points, truth):
    """Points, moved, rotated and scaled onto the true ones: photographs do not show north."""
    a, b = points - points.mean(axis=0), truth - truth.mean(axis=0)
    u, sizes, v = np.linalg.svd(a.T @ b)
    return np.sum(sizes) / np.sum(a**2) * (a @ u @ v) + truth.mean(axis=0)


def plot(before, after, truth, pattern, history):
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained")
    axes[0].spy(pattern, markersize=0.4, aspect="auto", color="tab:blue")
    axes[0].set(title=f"Jacobian: {pattern.shape[0]} x {pattern.shape[1]}", xlabel="unknowns")
    axes[1].semilogy(history, "o-", markersize=3)
    axes[1].axhline(NOISE, color="0.6", linestyle=":", label="error of a finding")
    axes[1].set(title="Error on the photographs", xlabel="step", ylabel="pixels")
    axes[1].legend(frameon=False)
    axes[2].plot(*before[:, ::2].T, ".", color="0.8", label="guessed")
    axes[2].plot(*truth[:, ::2].T, "o", markersize=4, color="0.6", label="true")
    axes[2].plot(*after[:, ::2].T, ".", markersize=3, color="tab:red", label="adjusted")
    axes[2].set(title="The mountains from the south", xlabel="east (km)", ylabel="up (km)")
    axes[2].legend(frameon=False, loc="upper left", ncols=3, fontsize=8)
    for ax in axes[1:]:
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    common.save(figure, "bundle_adjustment")


def main(arguments=None):
    args = common.options(__doc__, "100 points").parse_args(arguments)
    tg.config.backend = args.backend
    if args.beside_jax:
        return common.beside_jax(jacobian, in_jax(), shown()[1])

    rng = np.random.default_rng(0)
    truth, findings = survey(rng, 100 if args.quick else POINTS)
    start = guessed(truth, rng)
    print(f"Products with the Jacobian, generated for {args.backend}:\n")
    print(jacobian.source(start, *findings))
    pattern = jacobian(start, *findings)
    print(jacobian.explain().splitlines()[0])
    unknown, history = adjusted(start, findings, 10)
    true, guess, found = (v[6 * CAMERAS :].reshape(-1, 3) for v in (truth, start, unknown))
    found = fitted(found, true)
    plot(guess, found, true, pattern, history)
    before, after = (1000 * np.sqrt(np.mean(np.sum((p - true) ** 2, 1))) for p in (guess, found))
    print(f"error on the photographs: {history[0]:.1f} pixels at first, {history[-1]:.2f} at last")
    print(f"error of a point: {before:.0f} m at first, {after:.1f} m at last")
    assert history[-1] < 1.05 * NOISE and after < 30


if __name__ == "__main__":
    main()
