"""SciPy's solvers of differential equations as users call them: values and gradients.

Forms of every argument, every option, every way in which a right side captures parameters; values
are SciPy's, gradients those of differences, compiled and eagerly.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from checks import assert_close

import tracegrad as tg

pytest.importorskip("scipy")
from scipy import integrate

pytestmark = pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
Y0, RATES, TIMES = np.array([1.0, 0.4]), np.array([0.7, 1.3]), np.linspace(0.0, 2.0, 5)
TIGHT = {"rtol": 1e-9, "atol": 1e-11}
IMPLICIT = {"rtol": 1e-7, "atol": 1e-9}


def hunted(t, y, p):
    return np.array([y[0] * (p[0] - y[1]), y[1] * (p[1] * y[0] - 1.0)])


def hunted_list(t, y, p):
    return [y[0] * (p[0] - y[1]), y[1] * (p[1] * y[0] - 1.0)]


def hunted_in_time(t, y, p):
    return hunted(t, y, p) * np.cos(t)


def hunted_tuple(t, y, p):
    return tuple(hunted_list(t, y, p))


def jacobian(t, y, p):
    return np.array([[p[0] - y[1], -y[0]], [p[1] * y[1], p[1] * y[0] - 1.0]])


def swapped(y, t, *p):
    return hunted(t, y, *p)


def fades(t, y, a, b=1.0):
    return -a * b * y


def fades_swapped(y, t, a, b=1.0):
    return -a * b * y


def ivp(y, p, fun=hunted, t_eval=TIMES, args=True, span=(0, 2), y0=None, **options):
    """States by `solve_ivp`."""
    options = {"args": (p,) if args is True else args, "t_eval": t_eval, **TIGHT, **options}
    return integrate.solve_ivp(fun, span, y if y0 is None else y0, **options).y


def ode(y, p, func=swapped, t=TIMES, **options):
    """States by `odeint`."""
    return integrate.odeint(func, y, t, **{"args": (p,), **TIGHT, **options})


class Model:
    def __init__(self, p):
        self.p = p

    def __call__(self, t, y):
        return hunted(t, y, self.p)

    def slope(self, t, y):
        return hunted(t, y, self.p)


def of_keyword_default(p):
    def slope(t, y, *, k=p):
        return hunted(t, y, k)

    return slope


def of_default(p):
    def slope(t, y, k=p):
        return hunted(t, y, k)

    return slope


def of_inner(p):
    def inner(y):
        return hunted(0.0, y, p)

    def slope(t, y):
        return inner(y)

    return slope


def of_dictionary(p):
    held = {"p": (p, 2)}
    return lambda t, y: hunted(t, y, held["p"][0])


def of_itself(p):
    def slope(t, y, depth=2):
        return hunted(t, y, p) if depth == 0 else slope(t, y, depth - 1)

    return slope


def of_counter(p):
    count = []

    def slope(t, y):
        count.append(t)
        return hunted(t, y, p)

    return slope


def in_turns(y, p):
    for t in range(3):
        y = ivp(y, p, span=(t, t + 1), t_eval=[t + 1])[:, -1]
    return y


class Box:
    """What a solver gives, with its times and flags."""

    @staticmethod
    def of(y, p):
        found = integrate.solve_ivp(hunted, (0, 2), y, t_eval=TIMES, args=(p,), **TIGHT)
        assert found.success
        assert found["status"] == 0
        return found["y"] * found.t


CASES: dict[str, Callable[..., Any]] = {
    # what the right side gives
    **{
        f"{name} of {fun.__name__}": f
        for fun in (hunted, hunted_list, hunted_tuple, hunted_in_time)
        for name, f in {
            "solve_ivp": lambda y, p, fun=fun: ivp(y, p, fun),
            "odeint": lambda y, p, fun=fun: ode(y, p, lambda y, t, p: fun(t, y, p)),
            "tfirst": lambda y, p, fun=fun: ode(y, p, fun, tfirst=True),
        }.items()
    },
    # methods and options of solve_ivp
    **{
        f"method {method}": lambda y, p, m=method: ivp(y, p, method=m, **IMPLICIT)
        for method in ("RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA", integrate.RK45)
    },
    "first_step": lambda y, p: ivp(y, p, first_step=1.9),
    "max_step": lambda y, p: ivp(y, p, max_step=0.1),
    "atol of each": lambda y, p: ivp(y, p, atol=np.array([1e-11, 1e-10])),
    "atol in a list": lambda y, p: ivp(y, p, atol=[1e-11, 1e-10]),
    "rtol of each": lambda y, p: ivp(y, p, rtol=np.array([1e-9, 1e-8])),
    "jac": lambda y, p: ivp(y, p, method="Radau", jac=jacobian, **IMPLICIT),
    "jac of no arguments": lambda y, p: ivp(
        *(y, p, lambda t, y: -y * p),
        **{"args": None, "method": "BDF", "jac": np.diag([-0.7, -1.3]), **IMPLICIT},
    ),
    "jac_sparsity": lambda y, p: ivp(y, p, method="BDF", jac_sparsity=np.ones((2, 2)), **IMPLICIT),
    "LSODA": lambda y, p: ivp(
        y, p, method="LSODA", min_step=1e-12, lband=1, uband=1, first_step=0.3
    ),
    "vectorized": lambda y, p: ivp(y, p, vectorized=True),
    "dense_output": lambda y, p: ivp(y, p, dense_output=True),
    "events": lambda y, p: ivp(y, p, events=lambda t, y, p: y[0] - 3.0),
    "the object": Box.of,
    "own steps": lambda y, p: ivp(y, p, t_eval=None)[:, -1],
    # times
    "no times": lambda y, p: ivp(y, p, t_eval=[]),
    "times in a list": lambda y, p: ivp(y, p, t_eval=[0, 1, 2]),
    "times in a tuple": lambda y, p: ivp(y, p, t_eval=(0.5, 1.0)),
    "a range": lambda y, p: ivp(y, p, t_eval=range(3)),
    "integers": lambda y, p: ivp(y, p, t_eval=np.arange(3)),
    "times of two axes": lambda y, p: ivp(y, p, t_eval=TIMES.reshape(1, 5)),
    "a time that is no array": lambda y, p: ivp(y, p, t_eval=1.0),
    "times outside": lambda y, p: ivp(y, p, t_eval=[0.0, 3.0]),
    "times out of order": lambda y, p: ivp(y, p, t_eval=[0.0, 1.5, 1.0]),
    "traced times": lambda y, p: ivp(y, p, t_eval=[0.1, p[0], p[1]]),
    "backwards": lambda y, p: ivp(y, p, t_eval=TIMES[::-1], span=(2, 0)),
    # initial values and arguments
    "y0 in a list": lambda y, p: ivp(y, p, y0=[y[0], y[1]]),
    "y0 partly traced": lambda y, p: ivp(y, p, y0=[y[0], 0.4]),
    "y0 constant": lambda y, p: ivp(y, p, y0=(1, 0.4)),
    "y0 of integers": lambda y, p: ivp(y, p, y0=np.array([1, 2])),
    "y0 a number": lambda y, p: ivp(y, p, fades, y0=y[0]),
    "y0 of two axes": lambda y, p: ivp(y, p, y0=y.reshape(1, 2)),
    "y0 complex": lambda y, p: ivp(y, p, y0=y * (1.0 + 0.0j)).real,
    "args no tuple": lambda y, p: ivp(y, p, fades, args=p[0]),
    "args an array": lambda y, p: ivp(y, p, fades, args=p),
    "args a list": lambda y, p: ivp(y, p, fades, args=[p[0], 2]),
    "args empty": lambda y, p: ivp(y, p, lambda t, y: -p * y, args=()),
    # what captures
    **{
        f"captured in {name}": lambda y, p, m=make: ivp(y, p, m(p), args=None)
        for name, make in {
            "a default by name": of_keyword_default,
            "a default": of_default,
            "an inner function": of_inner,
            "a dictionary": of_dictionary,
            "a function that calls itself": of_itself,
            "a function that counts": of_counter,
            "an object": Model,
            "the object of a method": lambda p: Model(p).slope,
            "a partial": lambda p: partial(hunted, p=p),
            "an arm": lambda p: lambda t, y: hunted(t, y, p) if y[0] > 0.0 else -y,
        }.items()
    },
    "captured by odeint": lambda y, p: ode(y, p, lambda y, t: hunted(t, y, p), args=()),
    "two after one another": lambda y, p: ivp(ivp(y, p)[:, -1], p)[:, -1],
    "in turns": in_turns,
    # odeint
    "odeint: list": lambda y, p: ode(y, p, t=[0, 0.5, 1, 2.0]),
    "odeint: tuple": lambda y, p: ode(y, p, t=(0, 0.5, 2.0)),
    "odeint: integers": lambda y, p: ode(y, p, t=np.arange(3)),
    "odeint: range": lambda y, p: ode(y, p, t=range(3)),
    "odeint: traced times": lambda y, p: ode(y, p, t=[0.0, p[0], p[1]]),
    "odeint: back": lambda y, p: ode(y, p, t=TIMES[::-1]),
    "odeint: twice": lambda y, p: ode(y, p, t=[0, 1, 1, 2]),
    "odeint: one time": lambda y, p: ode(y, p, t=[0.0]),
    "odeint: two axes": lambda y, p: ode(y, p, t=TIMES.reshape(1, 5)),
    "odeint: y0 in a list": lambda y, p: ode([y[0], y[1]], p),
    "odeint: y0 a number": lambda y, p: ode(y[0], p, fades_swapped, args=(p[0],)),
    "odeint: y0 constant": lambda y, p: ode(1, p, fades_swapped, args=(p[0],)),
    "odeint: y0 of two axes": lambda y, p: ode(y.reshape(1, 2), p),
    "odeint: y0 complex": lambda y, p: ode(y * (1.0 + 0.0j), p),
    "odeint: args no tuple": lambda y, p: ode(y, p, fades_swapped, args=p[0]),
    "odeint: by place": lambda y, p: integrate.odeint(
        swapped, y, TIMES, (p,), None, 0, 0, None, None, 1e-9, 1e-11
    ),
    "odeint: tolerances": lambda y, p: ode(y, p, rtol=[1e-9, 1e-9], atol=np.array([1e-11, 1e-10])),
    "odeint: h0": lambda y, p: ode(y, p, h0=0.4),
    "odeint: steps": lambda y, p: ode(y, p, hmax=0.05, hmin=1e-10, mxstep=5000),
    "odeint: orders": lambda y, p: ode(y, p, mxordn=6, mxords=3, ixpr=0, mxhnil=1, printmessg=0),
    "odeint: tcrit": lambda y, p: ode(y, p, tcrit=np.array([0.3, 2.5])),
    "odeint: Dfun": lambda y, p: ode(y, p, Dfun=lambda y, t, p: jacobian(t, y, p).T, col_deriv=1),
    "odeint: bands": lambda y, p: ode(y, p, ml=1, mu=1),
    "odeint: full_output": lambda y, p: ode(y, p, full_output=1)[0],
}
REFUSED = {
    *("vectorized", "dense_output", "events", "no times", "y0 complex", "odeint: full_output"),
    *("captured in an object", "captured in the object of a method"),
}


def measured(f: Callable[..., Any], place: int, step: float = 1e-5) -> np.ndarray:
    """The gradient of ``f(Y0, RATES)`` by central differences."""
    found = np.zeros(2)
    for i in range(2):
        at = [Y0.copy(), RATES.copy()]
        at[place][i] += step
        ahead = f(*at)
        at[place][i] -= 2.0 * step
        found[i] = (ahead - f(*at)) / (2.0 * step)
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "eager"])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name, compiled, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiled)
    f = CASES[name]
    try:
        wanted = f(Y0, RATES)
    except Exception:
        with pytest.raises(Exception):  # noqa: B017
            tg.grad(lambda y, p: np.sum(f(y, p)))(Y0, RATES)
        return
    weights = np.cos(np.arange(np.size(wanted))).reshape(np.shape(wanted))

    def weighed(y, p):
        return np.sum(weights * f(y, p) ** 2)

    try:
        of_y0, of_rates = tg.grad(weighed, (0, 1))(Y0, RATES)
    except tg.errors.TracegradError:
        assert name in REFUSED
        return
    assert name not in REFUSED
    assert_close(of_y0, measured(weighed, 0), 1e-4, 1e-5)
    assert_close(of_rates, measured(weighed, 1), 1e-4, 1e-5)
    assert_close(tg.compile(f)(Y0, RATES), wanted, 1e-10)


@pytest.mark.parametrize("function", [integrate.odeint, integrate.solve_ivp])
def test_each_parameter_of_scipy_is_among_the_calls(function, monkeypatch):
    signature = inspect.signature(function)
    used: set[str] = set()

    def seen(*args, **named):
        used.update(signature.bind(*args, **named).arguments)
        return function(*args, **named)

    monkeypatch.setattr(integrate, function.__name__, seen)
    for f in CASES.values():
        try:
            f(Y0, RATES)
        except Exception:
            continue
    assert used == set(signature.parameters)


def test_a_failed_integration_is_an_error():
    def late(y):
        return np.sum(integrate.odeint(lambda y, t: -50.0 * y, y, TIMES, mxstep=2))

    with pytest.raises(ArithmeticError, match="odeint: Excess work"):
        tg.grad(late)(Y0)


def test_a_solver_is_not_told_of_what_its_right_side_hides():
    """Eagerly, where nobody reads the right side, its own results tell."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tg.config, "compile", False)
        with pytest.raises(tg.errors.TracegradError):
            tg.grad(lambda p: np.sum(ivp(Y0, p, Model(p), args=None)))(RATES)


# -- Equations whose solutions come together, and run apart on the way back ------------------------


def swings(p, solver, rtol=1e-6):
    """The oscillator of van der Pol, drawn to one orbit, at one late time."""

    def slope(t, y):
        return [y[1], p[0] * (1.0 - y[0] ** 2) * y[1] - y[0]]

    if solver == "odeint":
        times = np.array([0.0, 7.0])
        return integrate.odeint(slope, [2.0, 0.0], times, tfirst=True, rtol=rtol, atol=rtol)[-1, 0]
    options = {"rtol": rtol, "atol": rtol, "t_eval": [7.0], "method": solver}
    return integrate.solve_ivp(slope, (0.0, 7.0), [2.0, 0.0], **options).y[0, -1]


def grows(p, end):
    """Logistic growth up to the bound ``p[1]``."""
    times = np.array([0.0, end])
    return integrate.odeint(lambda y, t: p[0] * y * (1.0 - y / p[1]), p[2], times)[-1, 0]


@pytest.mark.parametrize("solver", ["odeint", "RK45", "LSODA"])
def test_solutions_that_run_apart_on_the_way_back(solver):
    ahead, behind = [swings(np.array([p]), "odeint", 1e-11) for p in (2.0001, 1.9999)]
    wanted = (ahead - behind) / 2e-4
    assert_close(tg.grad(lambda p: swings(p, solver))(np.array([2.0])), np.array([wanted]), 1e-3)


def test_a_bound_that_was_reached_has_forgotten_the_start():
    bars = tg.grad(lambda p: grows(p, 40.0))(np.array([1.0, 3.0, 0.1]))
    assert_close(bars, np.array([0.0, 1.0, 0.0]), 0.0, 1e-6)


def test_second_derivatives_where_solutions_run_apart():
    """Those of the solution itself, ``p[1] / (1 + (p[1] / p[2] - 1) * exp(-p[0] * t))``."""

    def solution(p):
        return p[1] / (1.0 + (p[1] / p[2] - 1.0) * np.exp(-14.0 * p[0]))

    p = np.array([1.0, 3.0, 0.1])
    assert_close(tg.hessian(lambda p: grows(p, 14.0))(p), tg.hessian(solution)(p), 1e-3, 1e-6)


def test_solutions_that_run_apart_too_fast_are_an_error(monkeypatch):
    monkeypatch.setattr("tracegrad.transforms.ode_solvers._FAILURES", 3)
    with pytest.raises(ArithmeticError, match="solve_ivp: its second derivative goes back in time"):
        tg.hessian(lambda p: swings(p, "RK45"))(np.array([5.0]))


def reacts(k, solver):
    """Three substances that react at rates between 0.04 and 3e7 (Robertson 1966)."""

    def slope(t, y, k):
        slow, fast, back = k[0] * y[0], k[2] * y[1] ** 2, k[1] * y[1] * y[2]
        return np.array([back - slow, slow - back - fast, fast])

    options = {"rtol": 1e-7, "atol": 1e-10, "t_eval": [1.0, 40.0], "method": solver}
    found = integrate.solve_ivp(slope, (0.0, 40.0), np.array([1.0, 0.0, 0.0]), args=(k,), **options)
    return np.sum(found.y[1]) * 1e4


@pytest.mark.parametrize("solver", ["BDF", "Radau", "LSODA"])
def test_gradients_of_stiff_equations(solver):
    k = np.array([0.04, 1e4, 3e7])
    found, h = tg.grad(lambda k: reacts(k, solver))(k), 1e-4 * np.diag(k)
    pairs = [(reacts(k + e, "Radau"), reacts(k - e, "Radau")) for e in h]
    wanted = [(up - down) / (2e-4 * x) for (up, down), x in zip(pairs, k, strict=True)]
    np.testing.assert_allclose(found, wanted, rtol=1e-3)


def test_a_second_derivative_of_a_solution_is_compiled_once(monkeypatch):
    made = []

    def make(*args, **options):
        made.append(tg.value_and_grad(*args, **options))
        return made[-1]

    monkeypatch.setattr("tracegrad.transforms.ode_solvers.value_and_grad", make)

    def last(p):
        return integrate.odeint(lambda y, t: -p[0] * y, 2.0, TIMES, rtol=1e-9, atol=1e-9)[-1, 0]

    hessian, count = tg.hessian(last), 0
    for k in (0.7, 0.8, 0.9):
        found = hessian(np.array([k]))
        count = count or len(made)
        assert_close(found, np.array([[2.0 * TIMES[-1] ** 2 * np.exp(-k * TIMES[-1])]]), 1e-5)
    assert len(made) == count


@pytest.mark.filterwarnings("error::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("solver", ["odeint", "solve_ivp"])
def test_a_right_side_that_reads_a_dictionary_is_compiled(solver):
    def states(p):
        def slope(t, y):
            return -p["rate"] * y

        if solver == "odeint":
            return integrate.odeint(slope, p["start"], TIMES, tfirst=True, **TIGHT)
        return integrate.solve_ivp(slope, (0, 2), [p["start"]], t_eval=TIMES, **TIGHT).y

    bars = tg.grad(lambda p: np.sum(states(p)))({"rate": 0.7, "start": 2.0})
    falling = np.exp(-0.7 * TIMES)
    assert_close(bars["start"], np.sum(falling), 1e-6)
    assert_close(bars["rate"], -2.0 * np.sum(TIMES * falling), 1e-6)
