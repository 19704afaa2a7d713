"""Draw a map of mountains from a few hundred measured heights, with a Gaussian process.

In: heights around the Jacksboro fault in Tennessee (a digital elevation model that ships with
matplotlib). The model gets the heights at a few random places.
Out: the generated gradient of the log marginal likelihood, compared with scikit-learn's for one
kind of kernel; the hyperparameters of maximum likelihood; the error at all other places; the map,
with its uncertainty, in ``examples/output/gaussian_process.png``.

    python examples/gaussian_process.py [--backend jax] [--steps 120] [--quick] [--beside-jax]
"""

from time import perf_counter

import common
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.cbook import get_sample_data
from matplotlib.patches import Ellipse
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from tqdm import trange

import tracegrad as tg

CELL = (0.092, 0.074)  # kilometres from one measured height to the next, south and east
WINDOW = (slice(180, 270), slice(160, 280))  # the part of the map that is drawn
RATE = 0.05  # of Adam
REQUIRED = 0.8  # share of the variance of heights that must be explained where none was measured


# The model: plain NumPy, and one decorator.


def covariance(params, a, b):
    """The covariance of heights at places a and b, shape (len(a), len(b)).

    ``metric`` divides distances by a length scale that depends on the direction.
    """
    p, q = a @ params["metric"], b @ params["metric"]
    squares = np.sum((p[:, None] - q) ** 2, axis=2)
    return np.exp(2.0 * params["log_height"] - 0.5 * squares)


@tg.value_and_grad
def loss(params, x, y):
    """Negative log marginal likelihood for each height, and its gradient in params."""
    noise = np.exp(2.0 * params["log_noise"])
    k = covariance(params, x, x) + noise * tg.eye(len(x))
    factor = np.linalg.cholesky(k)
    white = tg.linalg.solve_triangular(factor, y, lower=True)
    fit = 0.5 * (white @ white) + np.sum(np.log(np.diagonal(factor)))
    return fit / len(y) + 0.5 * np.log(2.0 * np.pi)


def in_jax():
    """The same in JAX."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.linalg import solve_triangular

    def loss(params, x, y):
        p = x @ params["metric"]
        squares = ((p[:, None] - p) ** 2).sum(axis=2)
        k = jnp.exp(2.0 * params["log_height"] - 0.5 * squares)
        factor = jnp.linalg.cholesky(k + jnp.exp(2.0 * params["log_noise"]) * jnp.eye(len(x)))
        white = solve_triangular(factor, y, lower=True)
        fit = 0.5 * (white @ white) + jnp.log(jnp.diagonal(factor)).sum()
        return fit / len(y) + 0.5 * jnp.log(2.0 * jnp.pi)

    return jax.jit(jax.value_and_grad(loss))


def predict(params, x, y, places):
    """Mean and standard deviation of the heights at other places."""
    k = covariance(params, x, x) + np.exp(2.0 * params["log_noise"]) * np.eye(len(x))
    factor = np.linalg.cholesky(k)
    beside = np.linalg.solve(factor, covariance(params, x, places))
    mean = np.linalg.solve(factor, y) @ beside
    variance = np.exp(2.0 * params["log_height"]) - np.sum(beside**2, axis=0)
    return mean, np.sqrt(np.maximum(variance, 0.0))


# Learning.


def terrain(count, rng):
    """(places, heights, measured): all cells of the window, and which of them are known.

    Places are kilometres east and north, heights have mean 0 and standard deviation 1 (with the
    numbers to undo that).
    """
    with get_sample_data("jacksboro_fault_dem.npz") as data:
        heights = data["elevation"][WINDOW].astype(float)
    south, east = np.indices(heights.shape)
    places = np.stack([east * CELL[1], -south * CELL[0]], axis=-1).reshape(-1, 2)
    measured = rng.choice(len(places), count, replace=False)
    scale = (heights.mean(), heights.std())
    return places, ((heights - scale[0]) / scale[1]).ravel(), measured, heights.shape, scale


def initial_params():
    return {"metric": np.eye(2), "log_height": np.float64(0.0), "log_noise": np.float64(-1.0)}


def shown():
    """The function whose source and time are shown, and the arguments of a call."""
    places, heights, measured, *_ = terrain(300, np.random.default_rng(0))
    return loss, (initial_params(), places[measured], heights[measured])


def learn(params, x, y, steps):
    """The params after all steps of Adam, and the loss before each step."""
    init, update = tg.optim.adam(lr=RATE)
    state, history = init(params), []
    bar = trange(steps, desc="learning", unit="step")
    for _ in bar:
        value, grads = loss(params, x, y)
        params, state = update(params, grads, state)
        history.append(value)
        bar.set_postfix(loss=f"{value:.4f}", refresh=False)
    return params, np.array(history)


# What is shown.


def compare_with_scikit_learn(x, y, calls=5):
    """Value and gradient beside GaussianProcessRegressor's, for a metric along the axes."""
    lengths, height, noise = np.array([0.7, 1.3]), 0.9, 0.3
    kernel = ConstantKernel(height**2) * RBF(lengths) + WhiteKernel(noise**2)
    theirs = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.0).fit(x, y)
    params = {
        "metric": np.diag(1.0 / lengths),
        "log_height": np.log(height),
        "log_noise": np.log(noise),
    }

    def ours():
        return loss(params, x, y)

    def by_scikit_learn():
        return theirs.log_marginal_likelihood(kernel.theta, eval_gradient=True)

    value, grads = ours()
    # theta is log(height**2), log(lengths), log(noise**2)
    found = [
        grads["log_height"] / 2,
        *(-np.diag(grads["metric"]) / lengths),
        grads["log_noise"] / 2,
    ]
    expected, gradient = by_scikit_learn()
    difference = np.abs(np.array([value, *found]) + np.array([expected, *gradient]) / len(y)).max()
    assert difference <= 1e-9, f"differs from scikit-learn by {difference:.1e}"

    def milliseconds(f):
        times = []
        for _ in range(calls):
            start = perf_counter()
            f()
            times.append(perf_counter() - start)
        return np.median(times) * 1e3

    print(f"largest difference from scikit-learn's value and gradient: {difference:.1e}")
    print(
        f"value and gradient of {len(y)} heights: {milliseconds(ours):.1f} ms generated, "
        f"{milliseconds(by_scikit_learn):.1f} ms scikit-learn"
    )


def plot(params, history, places, heights, shape, scale, measured, mean, deviation):
    extent = (places[:, 0].min(), places[:, 0].max(), places[:, 1].min(), places[:, 1].max())
    figure, axes = plt.subplots(2, 2, figsize=(11, 7.6), layout="constrained")

    def picture(ax, values, title, **how):
        image = ax.imshow(values.reshape(shape), extent=extent, **how)
        ax.set(title=title, xlabel="east (km)", ylabel="north (km)")
        figure.colorbar(image, ax=ax, label="metres", shrink=0.9)

    metres = scale[0] + scale[1] * heights
    how = {"cmap": "terrain", "vmin": metres.min(), "vmax": metres.max()}
    picture(axes[0, 0], metres, f"Heights, and where {len(measured)} were measured", **how)
    axes[0, 0].plot(*places[measured].T, ".", color="black", markersize=2)
    picture(axes[0, 1], scale[0] + scale[1] * mean, "What the process makes of them", **how)
    add_lengths(axes[0, 1], params, extent)
    picture(axes[1, 0], scale[1] * deviation, "Its standard deviation", cmap="magma")
    axes[1, 1].plot(np.arange(1, len(history) + 1), history)
    axes[1, 1].set(
        title="Learning the hyperparameters",
        xlabel="step",
        ylabel="negative log likelihood for each height",
    )
    axes[1, 1].grid(alpha=0.3)
    axes[1, 1].spines[["top", "right"]].set_visible(False)
    common.save(figure, "gaussian_process")


def add_lengths(ax, params, extent):
    """An ellipse whose semi-axes are the length scales: heights within it are correlated."""
    values, vectors = np.linalg.eigh(params["metric"] @ params["metric"].T)
    long, short = 2.0 / np.sqrt(values)
    angle = np.degrees(np.arctan2(*vectors[::-1, 0]))
    center = (
        extent[0] + 0.12 * (extent[1] - extent[0]),
        extent[2] + 0.16 * (extent[3] - extent[2]),
    )
    ax.add_patch(Ellipse(center, long, short, angle=angle, fill=False, color="black", linewidth=2))
    box = {"boxstyle": "round", "facecolor": "white", "alpha": 0.8, "linewidth": 0}
    ax.text(center[0] + 0.8, center[1], "length of the metric", va="center", fontsize=8, bbox=box)


def main(arguments=None):
    parser = common.options(__doc__, "300 heights and 30 steps")
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args(arguments)
    tg.config.backend = args.backend
    if args.beside_jax:
        return common.beside_jax(loss, in_jax(), shown()[1])
    count, steps = (300, min(args.steps, 30)) if args.quick else (600, args.steps)

    rng = np.random.default_rng(0)
    places, heights, measured, shape, scale = terrain(count, rng)
    x, y = places[measured], heights[measured]
    params = initial_params()

    print(f"The gradient of loss, generated for {args.backend}:\n")
    print(loss.source(params, x, y))
    compare_with_scikit_learn(x, y)
    params, history = learn(params, x, y, steps)

    mean, deviation = predict(params, x, y, places)
    unknown = np.setdiff1d(np.arange(len(places)), measured)
    error = (mean - heights)[unknown]
    spread = np.hypot(deviation, np.exp(params["log_noise"]))[unknown]
    explained = 1.0 - np.mean(error**2) / np.var(heights[unknown])
    plot(params, history, places, heights, shape, scale, measured, mean, deviation)
    print(
        f"{len(unknown)} other places: error {scale[1] * np.sqrt(np.mean(error**2)):.1f} m "
        f"(root mean square), {explained:.1%} of the variance explained, "
        f"{np.mean(np.abs(error) < 2 * spread):.1%} within two standard deviations"
    )
    assert explained >= REQUIRED, f"below {REQUIRED:.0%}"


if __name__ == "__main__":
    main()
