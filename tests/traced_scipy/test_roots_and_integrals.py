"""SciPy's `quad`, `brentq`, `root` and their like as users call them: values and gradients.

Values are SciPy's; gradients and second derivatives those of differences, compiled and eagerly.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from checks import assert_close

import tracegrad as tg
import tracegrad.scipy.integrate
import tracegrad.scipy.optimize

pytest.importorskip("scipy")
from scipy import integrate, optimize

pytestmark = [
    pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]
P = np.array([0.7, 1.3])
BRACKETING = ("brentq", "brenth", "ridder", "bisect", "toms748")


def fades(t, p):
    return np.exp(-p[0] * t) * p[1]


def waves(t, a, b=1.0):
    return np.sin(a * t) * b


def cubic(x, p):
    return x**3 + x - p[0] * p[1]


def cubic_slope(x, p):
    return 3.0 * x**2 + 1.0


def cubic_bend(x, p):
    return 6.0 * x


def pair(x, p):
    return np.array([x[0] ** 2 * x[1] - p[0], x[1] ** 3 - x[0] * p[1]])


def pair_list(x, p):
    return [x[0] ** 2 * x[1] - p[0], x[1] ** 3 - x[0] * p[1]]


def pair_slope(x, p):
    return np.array([[2.0 * x[0] * x[1], x[0] ** 2], [-p[1], 3.0 * x[1] ** 2]])


def settles(x, p):
    return p[1] * np.cos(p[0] * x)


def area(p, a=0.0, b=2.0, func=fades, **options):
    return integrate.quad(func, a, b, **{"args": (p,), **options})[0]


def areas(p, a=0.0, b=2.0, f=lambda t, p: np.exp(-p * t), **options):
    return integrate.quad_vec(f, a, b, **{"args": (p,), **options})[0]


def scalar(p, f=cubic, **options):
    return optimize.root_scalar(f, **{"args": (p,), **options}).root


def zeros(p, fun=pair, x0=(1.0, 1.2), **options):
    return optimize.root(fun, x0, **{"args": (p,), **options}).x


def solved(p, func=pair, x0=(1.0, 1.2), **options):
    return optimize.fsolve(func, x0, **{"args": (p,), **options})


def near(p, func=cubic, x0=0.8, **options):
    return optimize.newton(func, x0, **{"args": (p,), **options})


def steady(p, x0=0.5, **options):
    return optimize.fixed_point(settles, x0, **{"args": (p,), "xtol": 1e-12, **options})


def shown(x, f):
    """A callback that does nothing."""


class Held:
    def __init__(self, p):
        self.p = p

    def __call__(self, x):
        return cubic(x, self.p)


def of_default(p):
    def f(x, p=p):
        return cubic(x, p)

    return f


def of_inner(p):
    def inner(x):
        return cubic(x, p)

    def f(x):
        return inner(x)

    return f


def both_ways(p):
    found = optimize.root_scalar(cubic, args=(p,), bracket=(0.0, 3.0))
    assert found.converged
    second = optimize.root(pair, [1.0, 1.2], args=(p,))
    assert second.success
    return found.root * second.x + second["x"][0]


CASES: dict[str, Callable[..., Any]] = {
    # integrals
    "quad": area,
    "quad: captured": lambda p: integrate.quad(lambda t: fades(t, p), 0, 2)[0],
    "quad: one argument": lambda p: area(p, func=waves, args=p[0]),
    "quad: whole numbers": lambda p: area(p, func=waves, args=(p[0], 2)),
    "quad: bounds": lambda p: area(p, p[0], p[1]),
    "quad: bounds the other way": lambda p: area(p, p[1], p[0]),
    "quad: a bound that is no number of the function": lambda p: integrate.quad(np.cos, 0, p[0])[0],
    "quad: infinite": lambda p: area(p, 0.0, np.inf),
    "quad: infinite both ways": lambda p: area(
        p, -np.inf, np.inf, lambda t, p: np.exp(-p[0] * t**2 + p[1] * t)
    ),
    "quad: infinite and traced": lambda p: area(p, p[1], np.inf),
    "quad: a singular end": lambda p: area(p, 0.0, p[1], lambda t, p: t ** (p[0] - 1.0)),
    "quad: an end where it raises": lambda p: area(
        p, 0, p[1], lambda t, p: math.log(t) * np.exp(-p[0] * t)
    ),
    "quad: points": lambda p: area(p, func=lambda t, p: np.abs(t - 1.0) ** p[0], points=[1.0]),
    "quad: tolerances": lambda p: area(p, epsabs=1e-12, epsrel=1e-11, limit=100),
    "quad: small": lambda p: 1e12 * area(p, func=lambda t, p: 1e-12 * fades(t, p), epsabs=0.0),
    "quad: error": lambda p: sum(integrate.quad(fades, 0, 2, (p,))),
    "quad: unused": lambda p: area(p, func=lambda t, p: np.cos(t)) * p[0],
    "quad: with a look": lambda p: area(
        p, func=lambda t, p: p[0] * t if t < 1.0 else p[1] * t**2, points=[1.0]
    ),
    "quad: nested": lambda p: area(
        p, func=lambda t, p: area(p, 0.0, 1.0, lambda s, p: np.exp(-p[0] * s) * p[1]) * t
    ),
    "quad: full_output": lambda p: area(p, full_output=1),
    "quad: weight": lambda p: area(p, weight="cos", wvar=2.0),
    "quad: cauchy": lambda p: area(p, weight="cauchy", wvar=0.5, wopts=None, maxp1=9, limlst=9),
    "quad: complex": lambda p: area(p, func=lambda t, p: np.exp(1j * p[0] * t), complex_func=True),
    "quad_vec": areas,
    "quad_vec: captured": lambda p: integrate.quad_vec(lambda t: np.exp(-p * t), 0.0, 2.0)[0],
    "quad_vec: bounds": lambda p: areas(p, p[0], p[1]),
    "quad_vec: a number": lambda p: areas(p, f=fades),
    "quad_vec: a matrix": lambda p: areas(p, f=lambda t, p: np.outer(np.exp(-p * t), p)),
    "quad_vec: options": lambda p: areas(
        p, epsabs=1e-12, epsrel=1e-10, norm="max", limit=500, points=[1.0], quadrature="gk15"
    ),
    "quad_vec: memory": lambda p: areas(p, cache_size=1e6, workers=1),
    "quad_vec: full_output": lambda p: areas(p, full_output=True),
    # roots of one number
    **{name: lambda p, n=name: getattr(optimize, n)(cubic, 0.0, 3.0, (p,)) for name in BRACKETING},
    **{
        f"{name}: captured": lambda p, n=name: getattr(optimize, n)(lambda x: cubic(x, p), 0, 3)
        for name in BRACKETING
    },
    **{
        f"{name}: options": lambda p, n=name: getattr(optimize, n)(
            cubic, p[0] - 1.0, 3.0, (p,), xtol=1e-13, rtol=1e-14, maxiter=200
        )
        for name in BRACKETING
    },
    **{
        f"{name}: {option}": lambda p, n=name, given=given: getattr(optimize, n)(
            cubic, 0.0, 3.0, (p,), **given
        )
        for name in BRACKETING
        for option, given in {"full": {"full_output": True}, "disp": {"disp": False}}.items()
    },
    "toms748: k": lambda p: optimize.toms748(cubic, 0.0, 3.0, args=(p,), k=2),
    **{
        f"brentq: captured in {name}": lambda p, m=make: optimize.brentq(m(p), 0.0, 3.0)
        for name, make in {
            "a default": of_default,
            "an inner function": of_inner,
            "a partial": lambda p: partial(cubic, p=p),
            "an object": Held,
            "the object of a method": lambda p: Held(p).__call__,
        }.items()
    },
    "brentq: in turns": lambda p: sum(
        optimize.brentq(lambda x, k=k: cubic(x, p) - k, 0.0, 3.0) for k in range(3)
    ),
    "brentq: of a root": lambda p: optimize.brentq(
        lambda x: x - optimize.brentq(cubic, 0.0, 3.0, (p * x,)) - p[0], 0.0, 3.0
    ),
    "newton": near,
    "newton: captured": lambda p: optimize.newton(lambda x: cubic(x, p), 0.8),
    "newton: arguments in an array": lambda p: optimize.newton(
        lambda x, a, b: x**3 + x - a * b, 0.8, args=p
    ),
    "newton: a traced guess": lambda p: near(p, x0=p[1]),
    "newton: fprime": lambda p: near(p, fprime=cubic_slope),
    "newton: fprime2": lambda p: near(p, fprime=cubic_slope, fprime2=cubic_bend),
    "newton: fprime captured": lambda p: optimize.newton(
        lambda x: cubic(x, p), 0.8, lambda x: cubic_slope(x, p) * np.ones_like(p[0])
    ),
    "newton: options": lambda p: near(p, x1=1.5, tol=1e-10, rtol=1e-12, maxiter=60),
    "newton: several": lambda p: near(
        p, lambda x, p: x**3 - p * np.sum(p), np.ones(2), fprime=lambda x, p: 3.0 * x**2
    ),
    "newton: full_output": lambda p: near(p, full_output=True)[0],
    "newton: disp": lambda p: near(p, disp=False),
    "newton: complex": lambda p: near(p, lambda x, p: x**2 + p[0], 1.0j).imag,
    "root_scalar": lambda p: scalar(p, bracket=(0.0, 3.0)),
    "root_scalar: captured": lambda p: (
        optimize.root_scalar(lambda x: cubic(x, p), bracket=[0.0, 3.0], method="brentq").root
    ),
    "root_scalar: secant": lambda p: scalar(p, x0=p[0], x1=1.5, method="secant"),
    "root_scalar: newton": lambda p: scalar(p, x0=0.8, fprime=cubic_slope, method="newton"),
    "root_scalar: halley": lambda p: scalar(
        p, x0=0.8, fprime=cubic_slope, fprime2=cubic_bend, method="halley"
    ),
    "root_scalar: options": lambda p: scalar(
        p, bracket=(0.0, 3.0), xtol=1e-13, rtol=1e-13, maxiter=90, options={}
    ),
    "root_scalar: fprime=True": lambda p: scalar(
        p, lambda x, p: (cubic(x, p), cubic_slope(x, p)), x0=0.8, fprime=True
    ),
    # roots of several
    "root": zeros,
    "root: captured": lambda p: optimize.root(lambda x: pair_list(x, p), [1.0, 1.2]).x,
    "root: a list": lambda p: zeros(p, pair_list),
    "root: jac": lambda p: zeros(p, jac=pair_slope),
    "root: jac=True": lambda p: zeros(p, lambda x, p: (pair(x, p), pair_slope(x, p)), jac=True),
    "root: of one number": lambda p: zeros(p, cubic, 0.8),
    "root: traced guess": lambda p: zeros(p, x0=[p[0], p[1]]),
    **{
        f"root: {method}": lambda p, m=method: zeros(p, method=m, tol=1e-10)
        for method in ("hybr", "LM", "broyden1", "krylov", "df-sane")
    },
    "root: options": lambda p: zeros(p, options={"xtol": 1e-12}, callback=None),
    "root: callback": lambda p: zeros(p, method="krylov", callback=shown),
    "fsolve": solved,
    "fsolve: captured": lambda p: optimize.fsolve(lambda x: pair_list(x, p), [1.0, 1.2]),
    "fsolve: fprime": lambda p: solved(p, fprime=pair_slope, xtol=1e-12),
    "fsolve: columns": lambda p: solved(p, fprime=lambda x, p: pair_slope(x, p).T, col_deriv=1),
    "fsolve: options": lambda p: solved(
        p, maxfev=200, band=None, epsfcn=1e-10, factor=10.0, diag=(1.0, 2.0)
    ),
    "fsolve: full_output": lambda p: solved(p, full_output=1)[0],
    "the objects": both_ways,
    # fixed points
    "fixed_point": steady,
    "fixed_point: captured": lambda p: optimize.fixed_point(lambda x: settles(x, p), 0.5),
    "fixed_point: iteration": lambda p: steady(p, method="iteration", maxiter=900),
    "fixed_point: arguments in a list": lambda p: optimize.fixed_point(
        lambda x, a, b: b * np.cos(a * x), 0.5, [p[0], p[1]]
    ),
    "fixed_point: several": lambda p: optimize.fixed_point(
        lambda x, p: np.cos(p * x), np.ones(2), (p,), xtol=1e-12
    ),
}
REFUSED = {
    *("quad: full_output", "quad: weight", "quad: cauchy", "quad: complex"),
    *("quad_vec: full_output", "newton: full_output", "newton: disp", "newton: complex"),
    *("root_scalar: fprime=True", "root: jac=True", "root: LM", "root: callback"),
    *("fsolve: full_output", "brentq: captured in an object"),
    "brentq: captured in the object of a method",
    *(f"{name}: {option}" for name in BRACKETING for option in ("full", "disp")),
}


def measured(f: Callable[..., Any], step: float = 1e-5) -> np.ndarray:
    """The derivatives of ``f(P)`` by central differences."""
    found = [(f(P + step * e) - f(P - step * e)) / (2.0 * step) for e in np.eye(2)]
    return np.stack(found, axis=-1)


def weighed(f: Callable[..., Any]) -> Callable[..., Any]:
    def value(p):
        found = f(p)
        return np.sum(np.cos(np.arange(np.size(found))).reshape(np.shape(found)) * found**2)

    return value


@pytest.mark.sampled(3)
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "eager"])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name, compiled, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiled)
    f = CASES[name]
    if name in REFUSED:
        with pytest.raises(tg.errors.TracegradError, match=name.partition(":")[0] + "|complex"):
            tg.grad(weighed(f))(P)
        return
    assert_close(tg.compile(f)(P), f(P), 1e-13)
    assert_close(tg.grad(weighed(f))(P), measured(weighed(f)), 1e-6, 1e-7)


SECOND = (
    *("quad", "quad: bounds", "quad: infinite and traced", "quad_vec: a matrix"),
    *("brentq", "brentq: of a root", "newton: several", "root: captured", "fixed_point: several"),
)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "eager"])
@pytest.mark.parametrize("name", SECOND)
def test_other_derivatives(name, compiled, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiled)
    f = CASES[name]
    wanted = measured(tg.grad(weighed(f)))
    assert_close(tg.hessian(weighed(f))(P), wanted, 1e-6, 1e-6)
    assert_close(tg.jacfwd(f)(P), measured(f), 1e-6, 1e-7)
    assert_close(tg.jacrev(f)(P), measured(f), 1e-6, 1e-7)
    several = np.stack([P, 1.1 * P])
    assert_close(tg.vmap(f)(several), np.stack([f(p) for p in several]), 1e-13)
    of_each = tg.vmap(tg.grad(weighed(f)))(several)
    assert_close(of_each, np.stack([tg.grad(weighed(f))(p) for p in several]), 1e-12)


@pytest.mark.parametrize(("name", "called"), [("quad", "integral"), ("brentq", "root_of")])
def test_a_program_for_jax_calls_no_solver(name, called):
    pytest.importorskip("jax")
    with pytest.raises(tg.errors.TraceError, match=f"{called}_forward .*a program for jax"):
        tg.compile(CASES[name], backend="jax")(P)


NAMES = {
    integrate: ("quad", "quad_vec"),
    optimize: (*BRACKETING, "newton", "root_scalar", "root", "fsolve", "fixed_point"),
}


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in NAMES.items() for name in names]
)
def test_each_parameter_of_scipy_is_among_the_calls(module, name, monkeypatch):
    function = getattr(module, name)
    signature = inspect.signature(function)
    used: set[str] = set()

    def seen(*args, **named):
        used.update(signature.bind(*args, **named).arguments)
        return function(*args, **named)

    monkeypatch.setattr(module, name, seen)
    for case, f in CASES.items():
        if case.partition(":")[0] == name:
            f(P)
    assert used == set(signature.parameters)


def test_the_guess_and_the_bracket_have_no_derivative():
    def found(x0, a):
        return optimize.newton(lambda x: x**2 - 2.0, x0) + optimize.brentq(lambda x: x**2 - 2, a, 3)

    assert tg.grad(found, (0, 1))(1.0, 0.5) == (0.0, 0.0)


def test_a_bound_may_be_infinite_in_one_call_and_not_in_the_next():
    def whole(p, b):
        return area(p, 0.0, b)

    slope, bend = tg.grad(whole, (0, 1)), tg.hessian(whole, (0, 1))
    for b in (2.0, np.inf, 3.0):
        value = P[1] * (1.0 - np.exp(-P[0] * b)) / P[0]
        of_p, of_b = slope(P, b)
        assert_close(of_p[1], value / P[1], 1e-8)
        assert_close(of_b, 0.0 if np.isinf(b) else fades(b, P), 1e-12)
        assert np.all(np.isfinite(np.asarray(bend(P, b)[0][0])))


class Settings:
    scale = 2.0
    weights = np.array([2.0])


def of_settings(p):
    scale = Settings.scale
    whole = area(p, func=lambda t, p: fades(t, p) * scale * Settings.weights[0])
    return optimize.brentq(lambda x: cubic(x, p * Settings.weights) - scale, 0.0, 9.0) * whole


def in_a_loop(p):
    y = p[0]
    for _ in range(5):
        y = y + 0.1 * integrate.quad(lambda t, y=y: t * y, 0.0, 1.0)[0]
    return y if y > 1.0 else y * p[1]


@pytest.mark.parametrize("f", [of_settings, in_a_loop])
def test_what_a_function_reads_from_outside_is_read_at_every_call(f, monkeypatch):
    compiled, slope = tg.compile(f), tg.grad(f)
    for k in range(3):
        monkeypatch.setattr(Settings, "scale", 2.0 + k)
        monkeypatch.setattr(Settings, "weights", np.array([2.0 + 0.5 * k]))
        p = P * (1.0 + 0.5 * k)
        steps = 1e-6 * np.eye(2)
        assert_close(compiled(p), f(p), 1e-13)
        assert_close(slope(p), np.array([(f(p + h) - f(p - h)) / 2e-6 for h in steps]), 1e-6)


def test_small_cotangents_do_not_make_integrals_rough():
    """Tolerances are those of an integral of numbers near one."""
    found = tg.grad(lambda p: 1e-14 * area(p, func=lambda t, p: np.cos(30.0 * p[0] * t) * p[1]))(P)
    a = 30.0 * P[0]
    slope = P[1] * 30.0 * (2.0 * np.cos(2.0 * a) / a - np.sin(2.0 * a) / a**2)
    assert_close(found, 1e-14 * np.array([slope, np.sin(2.0 * a) / a]), 1e-8)


@pytest.mark.parametrize(
    ("solve", "message"),
    [
        (lambda p: np.sum(optimize.root(lambda x: x**2 + p, np.ones(2)).x), "root: The iteration"),
        (lambda p: np.sum(optimize.fsolve(lambda x: x**2 + p, np.ones(2))), "fsolve: The iterat"),
        (
            lambda p: optimize.root_scalar(lambda x: cubic(x, p), x0=0.1, x1=9.0, maxiter=2).root,
            "root_scalar: convergence error",
        ),
    ],
)
def test_what_is_no_root_is_an_error(solve, message):
    with pytest.raises(ArithmeticError, match=message):
        tg.grad(solve)(P)


def test_as_many_equations_as_unknowns():
    def solve(p):
        return np.sum(optimize.root(lambda x: pair(x, p)[:1], [1.0], method="broyden1").x)

    with pytest.raises(Exception, match=r"\w"):
        tg.grad(solve)(P)


def test_on_a_tape_from_the_module_of_tracegrad():
    p = tg.tensor(P, requires_grad=True)
    for function in (
        lambda p: tracegrad.scipy.integrate.quad(lambda t: fades(t, p), 0.0, 2.0)[0],
        lambda p: tracegrad.scipy.optimize.brentq(lambda x: cubic(x, p), 0.0, 3.0),
        lambda p: np.sum(tracegrad.scipy.optimize.fsolve(pair, [1.0, 1.2], (p,))),
    ):
        p.grad = None
        function(p).backward()
        assert_close(p.grad, measured(function), 1e-6)


def test_what_is_compiled_of_a_function_is_found_again(monkeypatch):
    made = []

    def make(*args, **options):
        made.append(tg.value_and_grad(*args, **options))
        return made[-1]

    monkeypatch.setattr("tracegrad.transforms.quadrature.value_and_grad", make)
    monkeypatch.setattr("tracegrad.transforms.implicit_functions.value_and_grad", make)
    hessian = tg.hessian(lambda p: area(p) * optimize.brentq(cubic, 0.0, 3.0, (p,)))
    hessian(P)
    count = len(made)
    hessian(1.1 * P)
    assert len(made) == count
