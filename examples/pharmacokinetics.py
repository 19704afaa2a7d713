"""Model a medicine in the blood of twelve people, with an ODE solver inside the loss.

In: the doses of theophylline that twelve people took, and the concentrations in their blood at
eleven times (Boeckmann, Sheiner and Beal, 1994; ``Theoph`` of R; the numbers stand below).
Out: the generated gradient through the solver, whose ``while`` chooses its own steps; the rates at
which each person absorbs and eliminates the medicine, by L-BFGS; the solver compared with the
closed-form solution; the curves in ``examples/output/pharmacokinetics.png``.

    python examples/pharmacokinetics.py [--quick] [--beside-jax]
"""

import common
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from tqdm import tqdm

import tracegrad as tg

# Of each person: the dose (mg per kg), then hours and the concentration found then (mg per litre).
PEOPLE = """
4.02  0 0.25 0.57 1.12 2.02 3.82 5.1 7.03 9.05 12.12 24.37
      0.74 2.84 6.57 10.5 9.66 8.58 8.36 7.47 6.89 5.94 3.28
4.4   0 0.27 0.52 1 1.92 3.5 5.02 7.03 9 12 24.3
      0 1.72 7.91 8.31 8.33 6.85 6.08 5.4 4.55 3.01 0.9
4.53  0 0.27 0.58 1.02 2.02 3.62 5.08 7.07 9 12.15 24.17
      0 4.4 6.9 8.2 7.8 7.5 6.2 5.3 4.9 3.7 1.05
4.4   0 0.35 0.6 1.07 2.13 3.5 5.02 7.02 9.02 11.98 24.65
      0 1.89 4.6 8.6 8.38 7.54 6.88 5.78 5.33 4.19 1.15
5.86  0 0.3 0.52 1 2.02 3.5 5.02 7.02 9.1 12 24.35
      0 2.02 5.63 11.4 9.33 8.74 7.56 7.09 5.9 4.37 1.57
4     0 0.27 0.58 1.15 2.03 3.57 5 7 9.22 12.1 23.85
      0 1.29 3.08 6.44 6.32 5.53 4.94 4.02 3.46 2.78 0.92
4.95  0 0.25 0.5 1.02 2.02 3.48 5 6.98 9 12.05 24.22
      0.15 0.85 2.35 5.02 6.58 7.09 6.66 5.25 4.39 3.53 1.15
4.53  0 0.25 0.52 0.98 2.02 3.53 5.05 7.15 9.07 12.1 24.12
      0 3.05 3.05 7.31 7.56 6.59 5.88 4.73 4.57 3 1.25
3.1   0 0.3 0.63 1.05 2.02 3.53 5.02 7.17 8.8 11.6 24.43
      0 7.37 9.03 7.14 6.33 5.66 5.67 4.24 4.11 3.16 1.12
5.5   0 0.37 0.77 1.02 2.05 3.55 5.05 7.08 9.38 12.1 23.7
      0.24 2.89 5.22 6.41 7.83 10.21 9.18 8.02 7.14 5.68 2.42
4.92  0 0.25 0.5 0.98 1.98 3.6 5.02 7.03 9.03 12.12 24.08
      0 4.86 7.24 8 6.81 5.87 5.22 4.45 3.62 2.69 0.86
5.3   0 0.25 0.5 1 2 3.52 5.07 7.07 9.03 12.05 24.15
      0 1.25 3.96 7.82 9.72 9.75 8.57 6.59 6.11 4.57 1.17
"""
START = np.log([1.5, 0.1, 0.5])  # into the blood and out of it (per hour), litres per kg
TOLERANCE = 1e-5  # of a step


# The model: from the gut into the blood, and out of it.


def compartments(theta):
    """The matrix of y' = A @ y, where y has the amount in the gut and in a litre of blood."""
    absorbed, eliminated, volume = np.exp(theta)
    return np.array([[-absorbed, 0.0], [absorbed / volume, -eliminated]])


def advance(rates, y, t, end, h):
    """y at the end, from y at t, and the length of the next step (Bogacki and Shampine, 1989).

    No gradient flows through the length of a step: steps are not part of the model.
    """
    while t < end:
        h = np.minimum(h, end - t)
        k1 = rates @ y
        k2 = rates @ (y + 0.5 * h * k1)
        k3 = rates @ (y + 0.75 * h * k2)
        after = y + h * (2.0 * k1 + 3.0 * k2 + 4.0 * k3) / 9.0
        k4 = rates @ after
        error = h * (-5.0 * k1 + 6.0 * k2 + 8.0 * k3 - 9.0 * k4) / 72.0
        size = tg.stop_gradient(np.max(np.abs(error)) / TOLERANCE)
        accepted = size <= 1.0
        y = np.where(accepted, after, y)
        t = np.where(accepted, t + h, t)
        h = h * np.clip(0.9 * (size + 1e-10) ** (-1.0 / 3.0), 0.2, 5.0)
    return y, h


def concentrations(theta, dose, times):
    """The concentrations in the blood at the times; the first is the time of the dose."""
    rates = compartments(theta)
    y = np.array([1.0, 0.0]) * dose
    h = 0.01 * (times[-1] - times[0])
    found = []
    for begin, end in zip(times[:-1], times[1:]):  # noqa: RUF007
        y, h = advance(rates, y, begin, end, h)
        found.append(y[1])
    return np.stack(found)


@tg.value_and_grad
def loss(theta, dose, times, measured):
    """Mean squared difference from the measurements, and its gradient in theta."""
    return np.mean((concentrations(theta, dose, times) - measured[1:]) ** 2)


def in_jax():
    """The same in JAX, in forward mode: JAX has no reverse mode for such a while."""
    import jax
    import jax.numpy as jnp

    def step(rates, state, end):
        y, t, h = state
        h = jnp.minimum(h, end - t)
        k1 = rates @ y
        k2 = rates @ (y + 0.5 * h * k1)
        k3 = rates @ (y + 0.75 * h * k2)
        after = y + h * (2.0 * k1 + 3.0 * k2 + 4.0 * k3) / 9.0
        k4 = rates @ after
        error = h * (-5.0 * k1 + 6.0 * k2 + 8.0 * k3 - 9.0 * k4) / 72.0
        size = jax.lax.stop_gradient(jnp.abs(error).max() / TOLERANCE)
        accepted = size <= 1.0
        y, t = jnp.where(accepted, after, y), jnp.where(accepted, t + h, t)
        return y, t, h * jnp.clip(0.9 * (size + 1e-10) ** (-1.0 / 3.0), 0.2, 5.0)

    def loss(theta, dose, times, measured):
        absorbed, eliminated, volume = jnp.exp(theta)
        rates = jnp.array([[-absorbed, 0.0], [absorbed / volume, -eliminated]])

        def interval(state, end):
            done = jax.lax.while_loop(
                lambda state: state[1] < end, lambda state: step(rates, state, end), state
            )
            return done, done[0][1]

        y = jnp.array([1.0, 0.0]) * dose
        first = (y, times[0], 0.01 * (times[-1] - times[0]))
        _, found = jax.lax.scan(interval, first, times[1:])
        return jnp.mean((found - measured[1:]) ** 2)

    return jax.jit(lambda *args: (loss(*args), jax.jacfwd(loss)(*args)))


def formula(theta, dose, times):
    """The closed-form solution (Bateman, 1910)."""
    absorbed, eliminated, volume = np.exp(theta)
    share = dose / volume * absorbed / (absorbed - eliminated)
    return share * (np.exp(-eliminated * times) - np.exp(-absorbed * times))


# The people.


def people():
    """For each person: dose, times, and measurements."""
    numbers = np.array(PEOPLE.split(), dtype=float).reshape(12, 23)
    return [(row[0], row[1:12], row[12:]) for row in numbers]


def shown():
    """The function whose source and time are shown, and the arguments of a call."""
    return loss, (START, *people()[0])


def fit(person, steps):
    """The theta of one person, by L-BFGS."""
    options = {"maxiter": steps}
    return minimize(loss, START, args=person, jac=True, method="L-BFGS-B", options=options)


def compare_with_formula(theta, dose, times, measured):
    """Compare concentrations and the gradient with those of the formula."""

    @tg.value_and_grad
    def by_formula(theta):
        return np.mean((formula(theta, dose, times[1:]) - measured[1:]) ** 2)

    off = np.abs(concentrations(theta, dose, times) - formula(theta, dose, times[1:])).max()
    slopes = [loss(theta, dose, times, measured)[1], by_formula(theta)[1]]
    print(f"beside the formula: concentrations differ by {off:.1e}, ", end="")
    print(f"gradients by {np.abs(slopes[0] - slopes[1]).max():.1e}")
    assert np.allclose(*slopes, rtol=1e-3, atol=1e-3)


def plot(everyone, fitted):
    figure, axes = plt.subplots(
        3, 4, figsize=(11, 7), sharex=True, sharey=True, layout="constrained"
    )
    hours = np.linspace(0.0, 25.0, 251)
    for number, (ax, person, theta) in enumerate(zip(axes.flat, everyone, fitted), 1):
        dose, times, measured = person
        ax.plot(hours[1:], concentrations(theta, dose, hours), label="solved")
        ax.plot(times, measured, "o", markersize=4, color="0.3", label="measured")
        half = np.log(2.0) / np.exp(theta[1])
        ax.set_title(f"person {number}: half gone in {half:.1f} h", fontsize=10)
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("hours since the dose")
    figure.supylabel("theophylline (mg per litre)")
    axes[0, 0].legend(frameon=False)
    common.save(figure, "pharmacokinetics")


def main(arguments=None):
    args = common.options(__doc__, "two people", ("numpy",)).parse_args(arguments)
    tg.config.backend = args.backend
    if args.beside_jax:
        return common.beside_jax(loss, in_jax(), shown()[1])

    everyone = people()[:2] if args.quick else people()
    print(f"The loss and its gradient, generated for {args.backend}:\n")
    print(loss.source(START, *everyone[0]))
    compare_with_formula(START, *everyone[0])
    found = [fit(person, 50) for person in tqdm(everyone, desc="fitting", unit="person")]
    plot(everyone, [f.x for f in found])
    for number, f in enumerate(found, 1):
        taken, lost, volume = np.exp(f.x)
        error = np.sqrt(f.fun)
        print(f"person {number:2}: in {taken:.2f} and out {lost:.3f} per hour,", end="")
        print(f" {volume:.2f} l per kg, error {error:.2f} mg per l")
    assert all(f.fun < 1.5 for f in found)


if __name__ == "__main__":
    main()
