"""Estimate the volatility of a share, day by day, with a GARCH model of its returns.

In: the 1,047 closing prices of Google from 2004 to 2008 that ship with matplotlib (``goog.npz``).
Out: the generated gradient of the likelihood, whose loop over days stays a loop; the parameters of
maximum likelihood, by L-BFGS; the volatility of every day, and the fraction of returns that are
more than two standard deviations from the mean, in ``examples/output/garch.png``.

    python examples/garch.py [--backend numba|jax] [--quick] [--beside-jax]
"""

import common
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.cbook import get_sample_data
from scipy.optimize import minimize
from tqdm import tqdm

import tracegrad as tg

YEAR = 252  # trading days
START = np.array([0.0, np.log(0.2), np.log(0.05), np.log(0.9)])


# The model: GARCH(1, 1) (Bollerslev, 1986).


def parameters(theta):
    """(mean, omega, alpha, beta) from numbers without bounds: 0 < omega, 0 < alpha + beta < 1."""
    weights = np.exp(theta[2:4])
    alpha, beta = weights / (0.02 + np.sum(weights))
    return theta[0], np.exp(theta[1]), alpha, beta


@tg.value_and_grad
def loss(theta, returns):
    """Minus the mean log likelihood of returns, in percent, and its gradient in theta."""
    mean, omega, alpha, beta = parameters(theta)
    variance = omega / (1.0 - alpha - beta)
    total = 0.0
    for r in returns:
        surprise = r - mean
        total = total + np.log(variance) + surprise**2 / variance
        variance = omega + alpha * surprise**2 + beta * variance
    return 0.5 * total / len(returns) + 0.5 * np.log(2.0 * np.pi)


def in_jax():
    """The same in JAX, where the loop is a scan."""
    import jax
    import jax.numpy as jnp

    def loss(theta, returns):
        weights = jnp.exp(theta[2:4])
        alpha, beta = weights / (0.02 + weights.sum())
        mean, omega = theta[0], jnp.exp(theta[1])

        def day(variance, r):
            surprise = r - mean
            part = jnp.log(variance) + surprise**2 / variance
            return omega + alpha * surprise**2 + beta * variance, part

        _, parts = jax.lax.scan(day, omega / (1.0 - alpha - beta), returns)
        return 0.5 * parts.mean() + 0.5 * jnp.log(2.0 * jnp.pi)

    return jax.jit(jax.value_and_grad(loss))


@tg.compile
def volatility(theta, returns):
    """The standard deviation that the model predicts for each day from the days before it."""
    mean, omega, alpha, beta = parameters(theta)
    variance = omega / (1.0 - alpha - beta)
    expected = []
    for r in returns:
        expected.append(variance)
        variance = omega + alpha * (r - mean) ** 2 + beta * variance
    return np.sqrt(np.stack(expected))


# The share.


def share():
    """The days and the log returns of Google's share, in percent."""
    with get_sample_data("goog.npz") as data:
        prices = data["price_data"]
    returns = 100.0 * np.diff(np.log(prices["adj_close"]))
    return prices["date"][1:], returns


def shown():
    """The function whose source and time are shown, and the arguments of a call."""
    return loss, (START, share()[1])


def fit(returns, steps):
    """The most likely theta, by L-BFGS."""
    with tqdm(desc="fitting", unit="step") as bar:
        found = minimize(
            loss,
            START,
            args=(returns,),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": steps},
            callback=lambda _: bar.update(),
        )
    return found


def plot(days, returns, mean, deviation):
    figure, (top, bottom) = plt.subplots(
        2, 1, figsize=(10, 6), sharex=True, layout="constrained", height_ratios=[2, 1]
    )
    top.plot(days, returns, ".", markersize=3, color="0.4", label="return of a day")
    top.fill_between(
        days, mean - 2 * deviation, mean + 2 * deviation, alpha=0.3, label="two standard deviations"
    )
    top.set(title="Google, and what GARCH(1, 1) expected the day before", ylabel="percent")
    bottom.plot(days, np.sqrt(YEAR) * deviation)
    bottom.set(ylabel="volatility of a year (%)", ylim=(0, None))
    top.legend(frameon=False)
    for axes in (top, bottom):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    common.save(figure, "garch")


def main(arguments=None):
    parser = common.options(__doc__, "5 steps", ("numpy", "numba", "jax"))
    args = parser.parse_args(arguments)
    tg.config.backend = args.backend
    if args.beside_jax:
        return common.beside_jax(loss, in_jax(), shown()[1])

    days, returns = share()
    print(f"The likelihood and its gradient, generated for {args.backend}:\n")
    print(loss.source(START, returns))
    found = fit(returns, 5 if args.quick else 200)
    mean, omega, alpha, beta = parameters(found.x)
    deviation = volatility(found.x, returns)
    plot(days, returns, mean, deviation)
    outside = np.mean(np.abs(returns - mean) > 2 * deviation)
    print(f"omega {omega:.3f}, alpha {alpha:.3f}, beta {beta:.3f}; {found.message}")
    print(f"minus log likelihood of a day: {loss(START, returns)[0]:.4f} -> {found.fun:.4f}")
    print(f"{outside:.1%} of {len(returns)} returns left the band")
    constant = 0.5 * np.log(2.0 * np.pi * np.var(returns)) + 0.5
    print(f"a normal distribution without a memory has {constant:.4f}")
    assert found.fun < constant


if __name__ == "__main__":
    main()
