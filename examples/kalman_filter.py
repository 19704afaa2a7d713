"""Estimate the level of the Nile over a hundred years, with a Kalman filter.

In: the flow of the Nile at Aswan in the years 1871 to 1970 (Cobb, 1978; the numbers stand below).
Forty of them are hidden from the filter.
Out: the generated gradient of the likelihood, with its loop over years; the variances of maximum
likelihood, beside those that Durbin and Koopman (2012) give for all hundred years; the level in
every year, filtered and smoothed, in ``examples/output/kalman_filter.png``.

    python examples/kalman_filter.py [--backend numba|jax] [--quick] [--beside-jax]
"""

import common
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from tqdm import tqdm

import tracegrad as tg

NILE = """
1120 1160  963 1210 1160 1160  813 1230 1370 1140  995  935 1110  994 1020  960 1180  799  958 1140
1100 1210 1150 1250 1260 1220 1030 1100  774  840  874  694  940  833  701  916  692 1020 1050  969
 831  726  456  824  702 1120 1100  832  764  821  768  845  864  862  698  845  744  796 1040  759
 781  865  845  944  984  897  822 1010  771  676  649  846  812  742  801 1040  860  874  848  890
 744  749  838 1050  918  986  797  923  975  815 1020  906  901 1170  912  746  919  718  714  740
"""
YEARS = np.arange(1871, 1971)
PUBLISHED = np.array([15099.0, 1469.1])  # variances of noise and of steps, for all years
START = np.log([100.0, 30.0])  # the logarithms of two standard deviations
AT_FIRST = np.array([0.0, 1e7])  # mean and variance of the level at first: nothing is known


# The model: a level that takes a random step each year, and noise upon it.


def filtered(theta, flow):
    """For every year, the level predicted from the years before it, and its variance."""
    noise, step = np.exp(2.0 * theta)
    level, variance = AT_FIRST
    levels, variances = [], []
    for y in flow:
        levels.append(level)
        variances.append(variance)
        missing = np.isnan(y)
        gain = np.where(missing, 0.0, variance / (variance + noise))
        level = level + gain * np.where(missing, 0.0, y - level)
        variance = (1.0 - gain) * variance + step
    return np.stack(levels), np.stack(variances)


@tg.value_and_grad
def loss(theta, flow):
    """Minus the log likelihood of flow, and its gradient in theta.

    theta has the logarithms of two standard deviations: of the noise, and of a year's step.
    """
    levels, variances = filtered(theta, flow)
    spread = variances + np.exp(2.0 * theta[0])
    parts = np.log(2.0 * np.pi * spread) + (flow - levels) ** 2 / spread
    return 0.5 * np.sum(np.where(np.isnan(flow), 0.0, parts))


def in_jax():
    """The same in JAX, where the loop is a scan."""
    import jax
    import jax.numpy as jnp

    def loss(theta, flow):
        noise, step = jnp.exp(2.0 * theta)

        def year(state, y):
            level, variance = state
            missing = jnp.isnan(y)
            gain = jnp.where(missing, 0.0, variance / (variance + noise))
            after = level + gain * jnp.where(missing, 0.0, y - level)
            return (after, (1.0 - gain) * variance + step), state

        _, (levels, variances) = jax.lax.scan(year, tuple(AT_FIRST), flow)
        spread = variances + noise
        squares = jnp.where(jnp.isnan(flow), 0.0, flow - levels) ** 2
        parts = jnp.log(2.0 * jnp.pi * spread) + squares / spread
        return 0.5 * jnp.where(jnp.isnan(flow), 0.0, parts).sum()

    return jax.jit(jax.value_and_grad(loss))


def smoothed(theta, flow):
    """For every year, the level given all years, and its variance."""
    noise, step = np.exp(2.0 * theta)
    expected, before = filtered(theta, flow)
    gain = np.where(np.isnan(flow), 0.0, before / (before + noise))
    levels = expected + gain * np.where(np.isnan(flow), 0.0, flow - expected)
    variances = (1.0 - gain) * before
    for t in range(len(flow) - 2, -1, -1):
        back = variances[t] / (variances[t] + step)
        levels[t] += back * (levels[t + 1] - levels[t])
        variances[t] += back**2 * (variances[t + 1] - variances[t] - step)
    return levels, variances


# The river.


def river():
    """The flow of all years, and of those that the filter gets."""
    flow = np.array(NILE.split(), dtype=float)
    shown = flow.copy()
    shown[20:40] = np.nan
    shown[60:80] = np.nan
    return flow, shown


def shown():
    """The function whose source and time are shown, and the arguments of a call."""
    return loss, (START, river()[1])


def fit(flow, steps):
    """The most likely theta, by L-BFGS."""
    with tqdm(desc="fitting", unit="step") as bar:
        return minimize(
            loss,
            START,
            args=(flow,),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": steps},
            callback=lambda _: bar.update(),
        )


def plot(flow, seen, theta):
    figure, axes = plt.subplots(2, 1, figsize=(10, 7), sharex=True, layout="constrained")
    ways = {"as the years before say": filtered, "as all years say": smoothed}
    for ax, (title, way) in zip(axes, ways.items()):
        level, variance = way(theta, seen)
        band = 1.645 * np.sqrt(variance)
        ax.plot(YEARS, flow, "o", color="0.8", label="flow, not shown to the filter")
        ax.plot(YEARS, seen, "o", color="0.3", label="flow")
        ax.plot(YEARS, level, label="level")
        ax.fill_between(YEARS, level - band, level + band, alpha=0.25, label="nine times in ten")
        ax.set(title=f"The level of the Nile, {title}", ylabel="10⁸ m³ a year", ylim=(400, 1500))
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, ncols=2)
    common.save(figure, "kalman_filter")


def main(arguments=None):
    parser = common.options(__doc__, "5 steps", ("numpy", "numba", "jax"))
    args = parser.parse_args(arguments)
    tg.config.backend = args.backend
    if args.beside_jax:
        return common.beside_jax(loss, in_jax(), shown()[1])

    flow, seen = river()
    print(f"The likelihood and its gradient, generated for {args.backend}:\n")
    print(loss.source(START, seen))
    steps = 5 if args.quick else 100
    whole, parts = fit(flow, steps), fit(seen, steps)
    plot(flow, seen, parts.x)
    for name, found in {"all years": whole, "sixty years": parts}.items():
        print(f"{name}: variances {np.exp(2.0 * found.x).round(1)} of noise and step")
    print(f"published, for all years: {PUBLISHED}")
    if not args.quick:
        assert np.allclose(np.exp(2.0 * whole.x), PUBLISHED, rtol=1e-3)


if __name__ == "__main__":
    main()
