"""Prices of European calls by Black and Scholes: five vectors in, the sum of the prices out.

The normal distribution function is the approximation by `tanh` that GELU uses: NumPy has a vector
loop for `tanh` and no `erf`, and every library computes the same mathematics.
"""

import numpy as np

from tests.benchmarks.peers.workload import Workload

ROOT_2_OVER_PI = 0.7978845608028654
CUBIC = 0.044715


def inputs(random, n):
    spot, strike = random.uniform(80.0, 120.0, (2, n))
    rate, volatility = random.uniform(0.01, 0.05, n), random.uniform(0.1, 0.5, n)
    time = random.uniform(0.2, 2.0, n)
    return spot, strike, rate, volatility, time


def loss(library):
    np = library.np

    def normal_cdf(z):
        return 0.5 * (1.0 + np.tanh(ROOT_2_OVER_PI * (z + CUBIC * (z * z * z))))

    def price(spot, strike, rate, volatility, time):
        spread = volatility * np.sqrt(time)
        drift = rate + 0.5 * (volatility * volatility)
        d1 = (np.log(spot / strike) + drift * time) / spread
        d2 = d1 - spread
        discounted = strike * np.exp(-rate * time)
        return np.sum(spot * normal_cdf(d1) - discounted * normal_cdf(d2))

    return price


def normal_cdf_and_density(z):
    """The approximation and its derivative."""
    square = z * z
    t = np.tanh(z * (ROOT_2_OVER_PI + (ROOT_2_OVER_PI * CUBIC) * square))
    slope = 0.5 * ROOT_2_OVER_PI + (1.5 * ROOT_2_OVER_PI * CUBIC) * square
    return 0.5 + 0.5 * t, slope * (1.0 - t * t)


def by_hand(spot, strike, rate, volatility, time):
    root = np.sqrt(time)
    spread = volatility * root
    drift = rate + 0.5 * (volatility * volatility)
    d1 = (np.log(spot / strike) + drift * time) / spread
    d2 = d1 - spread
    discount = np.exp(-rate * time)
    discounted = strike * discount
    cdf1, density1 = normal_cdf_and_density(d1)
    cdf2, density2 = normal_cdf_and_density(d2)
    owed = discounted * cdf2
    value = (spot * cdf1 - owed).sum()

    d2_bar = discounted * density2  # with the other sign
    w = (spot * density1 - d2_bar) / spread
    spread_bar = d2_bar - w * d1
    w_time = w * time
    return value, (
        cdf1 + w / spot,
        -(discount * cdf2 + w / strike),
        time * owed + w_time,
        w_time * volatility + spread_bar * root,
        rate * owed + w * drift + 0.5 * spread_bar * volatility / root,
    )


def tuned(spot, strike, rate, volatility, time):
    root, spread, drift, d1, d2, discount, discounted, cdf1, cdf2, density1, density2, square = (
        np.empty_like(spot) for _ in range(12)
    )
    bars = tuple(np.empty_like(spot) for _ in range(5))
    spot_bar, strike_bar, rate_bar, volatility_bar, time_bar = bars
    # arrays without axes: a ufunc takes them sooner than Python's numbers
    one, half = (np.array(c, spot.dtype) for c in (1.0, 0.5))
    linear, cubic = (np.array(c * ROOT_2_OVER_PI, spot.dtype) for c in (1.0, CUBIC))
    slope_0, slope_2 = np.array(0.5 * linear), np.array(1.5 * cubic)

    def cdf_and_density(z, cdf, density):
        np.multiply(z, z, out=square)
        np.multiply(square, cubic, out=cdf)
        np.add(cdf, linear, out=cdf)
        np.multiply(cdf, z, out=cdf)
        np.tanh(cdf, out=cdf)
        np.multiply(cdf, cdf, out=density)
        np.subtract(one, density, out=density)
        np.multiply(square, slope_2, out=square)
        np.add(square, slope_0, out=square)
        np.multiply(density, square, out=density)
        np.multiply(cdf, half, out=cdf)
        np.add(cdf, half, out=cdf)

    def call():
        np.sqrt(time, out=root)
        np.multiply(volatility, root, out=spread)
        np.multiply(volatility, volatility, out=drift)
        np.multiply(drift, half, out=drift)
        np.add(drift, rate, out=drift)
        np.divide(spot, strike, out=d1)
        np.log(d1, out=d1)
        np.multiply(drift, time, out=d2)
        np.add(d1, d2, out=d1)
        np.divide(d1, spread, out=d1)
        np.subtract(d1, spread, out=d2)
        np.multiply(rate, time, out=discount)
        np.negative(discount, out=discount)
        np.exp(discount, out=discount)
        np.multiply(strike, discount, out=discounted)
        cdf_and_density(d1, cdf1, density1)
        cdf_and_density(d2, cdf2, density2)
        owed = d2
        np.multiply(discounted, cdf2, out=owed)
        np.multiply(spot, cdf1, out=square)
        np.subtract(square, owed, out=square)
        value = np.add.reduce(square)

        np.multiply(density2, discounted, out=density2)
        w = density1
        np.multiply(w, spot, out=w)
        np.subtract(w, density2, out=w)
        np.divide(w, spread, out=w)
        spread_bar = density2
        np.multiply(w, d1, out=d1)
        np.subtract(density2, d1, out=spread_bar)

        np.divide(w, spot, out=spot_bar)
        np.add(spot_bar, cdf1, out=spot_bar)
        np.multiply(discount, cdf2, out=strike_bar)
        np.divide(w, strike, out=cdf2)
        np.add(strike_bar, cdf2, out=strike_bar)
        np.negative(strike_bar, out=strike_bar)
        np.multiply(w, drift, out=time_bar)
        np.multiply(w, time, out=w)
        np.multiply(time, owed, out=rate_bar)
        np.add(rate_bar, w, out=rate_bar)
        np.multiply(w, volatility, out=w)
        np.multiply(spread_bar, root, out=volatility_bar)
        np.add(volatility_bar, w, out=volatility_bar)
        np.multiply(owed, rate, out=owed)
        np.add(time_bar, owed, out=time_bar)
        np.multiply(spread_bar, volatility, out=spread_bar)
        np.divide(spread_bar, root, out=spread_bar)
        np.multiply(spread_bar, half, out=spread_bar)
        np.add(time_bar, spread_bar, out=time_bar)
        return value, bars

    return call


BLACK_SCHOLES = Workload(
    name="Black-Scholes",
    about="prices of calls, all five inputs vectors",
    sizes={"1e2": dict(n=100), "1e4": dict(n=10_000), "1e6": dict(n=1_000_000)},
    inputs=inputs,
    wanted=(0, 1, 2, 3, 4),
    loss=loss,
    by_hand=by_hand,
    tuned=tuned,
    elements=lambda n: n,
)
