"""Roots and fixed points by SciPy's solvers on Tensors, differentiated by their equation.

Where ``f(x, p) = 0``, the root moves with the parameters by ``dx = -(df/dx)^-1 (df/dp) dp``,
whatever steps the solver took (the implicit function theorem). Brackets and first guesses choose
among roots: their derivatives are zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tracegrad.errors import ArgumentError, ShapeError
from tracegrad.transforms.custom_rule_functions import Rule, WithRule
from tracegrad.transforms.public import jacobian, value_and_grad
from tracegrad.transforms.solver_functions import (
    Functions,
    Parameters,
    number_of,
    taken_from,
    tuple_of,
    untraced,
)
from tracegrad.values.pytree import TreeSpec, joiner


class _Solver:
    """What finds a root of the first of some functions."""

    fixed = False  # True where it finds what this function gives back

    def find(self, functions: Sequence[Any], start: Any, args: Any, options: Any) -> Any:
        """The root, from a start that is its own, on plain arrays."""
        raise NotImplementedError


def _found(solver: _Solver, functions: Functions, start: Any, given: Any, options: Any) -> Any:
    args, captured = given
    x = np.asarray(solver.find(functions.of(captured), start, args, options))
    if x.dtype.kind == "c":
        raise ArgumentError("a complex root, where values are traced: find its two parts")
    return x[()]


def _forward(
    solver: _Solver, functions: Functions, start: Any, given: Any, options: Any
) -> tuple[Any, Any]:
    x = _found(solver, functions, start, given, options)
    return x, (solver.fixed, functions, x, given)


def _backward(kept: Any, g: Any, asked: tuple[int, ...]) -> tuple[Any, ...]:
    fixed, functions, x, given = kept
    parameters = Parameters(given)
    if not parameters.floats:
        return None, None, None, None, None
    slope, pull = _equation_of(fixed, functions, *parameters.structure)
    operands = x, parameters.floats, parameters.rest
    n = int(np.prod(np.shape(x)))
    matrix = np.reshape(slope(*operands), (n, n))
    weights = np.linalg.solve(matrix.T, -np.reshape(g, (n,)))
    bars = pull(np.reshape(weights, np.shape(x)), *operands)
    return None, None, None, parameters.cotangents(bars), None


@lru_cache(maxsize=64)
def _equation_of(
    fixed: bool, functions: Functions, spec: TreeSpec, places: tuple[int, ...]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The derivative of an equation in its unknown, and the pullback in its parameters.

    Compiled once for each function.
    """
    given_of = joiner(spec, places)

    def residual(x: Any, floats: Any, rest: Any) -> Any:
        args, captured = given_of(floats, rest)
        found = np.asarray(functions.of(captured)[0](x, *args))
        if found.size != np.size(x):
            raise ShapeError(
                f"no derivative of a root of {np.size(x)} numbers: its function gives {found.size}"
            )
        found = np.reshape(found, np.shape(x))
        return found - x if fixed else found

    def product(weights: Any, x: Any, floats: Any, rest: Any) -> Any:
        return np.sum(weights * residual(x, floats, rest))

    pull = value_and_grad(product, 2)
    return jacobian(residual), lambda *operands: pull(*operands)[1]


root_of = WithRule("root_of", _found, Rule(_forward, _backward))
"""``root_of(solver, functions, start, given, options)``.

`given` are the further arguments of the functions, and the Tensors that these have captured.
"""


# -- SciPy's interfaces ----------------------------------------------------------------------------


def _refuse_reports(name: str, options: dict[str, Any]) -> None:
    """Raises where the solver's own account is asked for, which no program has."""
    if options.pop("full_output", False):
        raise untraced(name, "full_output", "a solver that fails raises")
    if not options.pop("disp", True):
        raise untraced(name, "disp=False", "a solver that fails raises")


class _Bracketing(_Solver):
    """`brentq` and its like, which narrow a bracket."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find(self, functions: Sequence[Any], start: Any, args: Any, options: Any) -> Any:
        from scipy import optimize  # type: ignore[import-untyped]

        solver = getattr(optimize, self.name)
        return solver(functions[0], *map(number_of, start), args, **options)


def _bracketing(name: str) -> Callable[..., Any]:
    solver = _Bracketing(name)

    def solved(f: Any, a: Any, b: Any, args: Any = (), **options: Any) -> Any:
        _refuse_reports(name, options)
        functions, captured = taken_from(f)
        return root_of(solver, functions, (a, b), (tuple_of(args), captured), options)

    solved.__name__ = name
    solved.__doc__ = f"`scipy.optimize.{name}`, differentiable in `args` and what `f` captures."
    return solved


def newton(
    func: Any,
    x0: Any,
    fprime: Any = None,
    args: Any = (),
    fprime2: Any = None,
    x1: Any = None,
    **options: Any,
) -> Any:
    """`scipy.optimize.newton`, differentiable in `args` and what the functions capture."""
    _refuse_reports("newton", options)
    slopes = [slope for slope in (fprime, fprime2) if slope is not None]
    if fprime is None and fprime2 is not None:
        raise ArgumentError("newton: a second derivative without the first one")
    functions, captured = taken_from(func, *slopes)
    start = (x0,) if x1 is None else (x0, x1)
    return root_of(_Newton(), functions, start, (tuple(args), captured), options)


class _Newton(_Solver):
    """`scipy.optimize.newton`."""

    def find(self, functions: Sequence[Any], start: Any, args: Any, options: Any) -> Any:
        from scipy import optimize

        func, *slopes = functions
        given = dict(zip(("fprime", "fprime2"), slopes, strict=False))
        given |= dict(zip(("x1",), map(_plain, start[1:]), strict=False))
        return optimize.newton(func, _plain(start[0]), args=args, **given, **options)


def _plain(x: Any) -> Any:
    """A first guess: a number of Python's, or an array."""
    return np.asarray(x) if np.ndim(x) else np.asarray(x).item()


def fixed_point(func: Any, x0: Any, args: Any = (), **options: Any) -> Any:
    """`scipy.optimize.fixed_point`, differentiable in `args` and what `func` captures."""
    functions, captured = taken_from(func)
    return root_of(_FixedPoint(), functions, (x0,), (tuple(args), captured), options)


class _FixedPoint(_Solver):
    """`scipy.optimize.fixed_point`."""

    fixed = True

    def find(self, functions: Sequence[Any], start: Any, args: Any, options: Any) -> Any:
        from scipy import optimize

        return optimize.fixed_point(functions[0], _plain(start[0]), args, **options)


def root(
    fun: Any,
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    jac: Any = None,
    **options: Any,
) -> Any:
    """`scipy.optimize.root`, differentiable in `args` and what the functions capture.

    Returns SciPy's object, of which only `x` is a Tensor, without the counts of calls.
    """
    from scipy.optimize import OptimizeResult  # type: ignore[import-untyped]

    if method.lower() == "lm":  # what it finds may be no root
        raise untraced("root", "method='lm'", "take another one")
    if isinstance(jac, bool) and jac:
        raise untraced("root", "jac=True", "give jac a function of its own")
    if options.pop("callback", None) is not None:
        raise untraced("root", "callback", "call it from the function")
    functions, captured = taken_from(fun, *([jac] if jac else []))
    options = {"method": method, **options}
    x = root_of(_RootOfArrays(), functions, (x0,), (tuple_of(args), captured), options)
    message = "The solution converged."
    return OptimizeResult(x=x, success=True, status=1, message=message, method=method)


class _RootOfArrays(_Solver):
    """`scipy.optimize.root`."""

    def find(self, functions: Sequence[Any], start: Any, args: Any, options: Any) -> Any:
        from scipy import optimize

        fun, *jac = functions
        found = optimize.root(fun, _plain(start[0]), args, jac=jac[0] if jac else None, **options)
        if not found.success:
            raise ArithmeticError(f"root: {found.message}")
        return found.x


def fsolve(func: Any, x0: Any, args: Any = (), fprime: Any = None, **options: Any) -> Any:
    """`scipy.optimize.fsolve`, differentiable in `args` and what the functions capture."""
    _refuse_reports("fsolve", options)
    functions, captured = taken_from(func, *([] if fprime is None else [fprime]))
    return root_of(_Fsolve(), functions, (x0,), (tuple_of(args), captured), options)


class _Fsolve(_Solver):
    """`scipy.optimize.fsolve`."""

    def find(self, functions: Sequence[Any], start: Any, args: Any, options: Any) -> Any:
        from scipy import optimize

        func, *slope = functions
        fprime = slope[0] if slope else None
        x, _, status, message = optimize.fsolve(
            func, _plain(start[0]), args, fprime, full_output=True, **options
        )
        if status != 1:
            raise ArithmeticError(f"fsolve: {message}")
        return x


def root_scalar(
    f: Any,
    args: Any = (),
    method: Any = None,
    bracket: Any = None,
    fprime: Any = None,
    fprime2: Any = None,
    x0: Any = None,
    x1: Any = None,
    **options: Any,
) -> Any:
    """`scipy.optimize.root_scalar`, differentiable in `args` and what the functions capture.

    Returns SciPy's object, of which only `root` is a Tensor, without the counts of calls.
    """
    from scipy.optimize import RootResults

    slopes = {"fprime": fprime, "fprime2": fprime2}
    given = {name: slope for name, slope in slopes.items() if slope is not None}
    if any(isinstance(slope, bool) for slope in given.values()):
        raise untraced("root_scalar", "fprime=True", "give fprime a function of its own")
    functions, captured = taken_from(f, *given.values())
    places = {"x0": x0, "x1": x1, "bracket": None if bracket is None else tuple(bracket)}
    start = {name: place for name, place in places.items() if place is not None}
    options = {"method": method, "slopes": tuple(given), **options}
    x = root_of(_RootScalar(), functions, start, (tuple_of(args), captured), options)
    return RootResults(root=x, iterations=None, function_calls=None, flag=0, method=method)


class _RootScalar(_Solver):
    """`scipy.optimize.root_scalar`."""

    def find(self, functions: Sequence[Any], start: Any, args: Any, options: Any) -> Any:
        from scipy import optimize

        f, *slopes = functions
        options = dict(options)
        given = dict(zip(options.pop("slopes"), slopes, strict=True))
        places = {
            name: tuple(map(number_of, x)) if name == "bracket" else _plain(x)
            for name, x in start.items()
        }
        found = optimize.root_scalar(f, args, **given, **places, **options)
        if not found.converged:
            raise ArithmeticError(f"root_scalar: {found.flag}")
        return found.root


TABLE: dict[str, Callable[..., Any]] = {
    **{name: _bracketing(name) for name in ("brentq", "brenth", "ridder", "bisect", "toms748")},
    **{f.__name__: f for f in (newton, fixed_point, root, fsolve, root_scalar)},
}
