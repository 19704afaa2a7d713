"""Integrals by SciPy's adaptive quadrature on Tensors, differentiated by Leibniz' rule.

The derivative of an integral is the integral of the derivative, by another adaptive quadrature, and
what the integrand is at the bounds. (Where the integrand jumps, the place of the jump must not move
with the parameters: split the integral there.)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from tracegrad.errors import ArgumentError
from tracegrad.runtime.thread_state import call
from tracegrad.tensors.array_functions import stop_gradient
from tracegrad.transforms.custom_rule_functions import Rule, WithRule
from tracegrad.transforms.public import value_and_grad
from tracegrad.transforms.solver_functions import (
    Functions,
    Parameters,
    number_of,
    taken_from,
    tuple_of,
    untraced,
)
from tracegrad.values.pytree import TreeSpec, joiner
from tracegrad.world.scipy_table import is_tensor

Integrate = Callable[..., Any]
"""``integrate(function, a, b, args, options)``: the integral and the estimate of its error."""


def _found(
    integrate: Integrate, functions: Functions, bounds: Any, given: Any, options: Any
) -> tuple[Any, Any]:
    args, captured = given
    (function,), (a, b) = functions.of(captured), map(number_of, bounds)
    found, error = integrate(function, a, b, args, options)
    if np.asarray(found).dtype.kind == "c":
        raise ArgumentError("a complex integrand, where values are traced: integrate its parts")
    return found, error


def _forward(
    integrate: Integrate, functions: Functions, bounds: Any, given: Any, options: Any
) -> tuple[Any, Any]:
    found = _found(integrate, functions, bounds, given, options)
    return found, (functions, bounds, given, options)


def _backward(kept: Any, g: Any, asked: tuple[int, ...]) -> tuple[Any, ...]:
    functions, bounds, given, options = kept
    ct, parameters = g[0], Parameters(given)
    args, captured = given
    function = functions.of(captured)[0]
    bars: list[Any] = []
    for sign, bound in zip((-1.0, 1.0), bounds, strict=True):
        bars.append(sign * _at_bound(ct, function, bound, args))
    whole = None
    if parameters.floats:
        scale = stop_gradient(np.max(np.abs(ct)))  # tolerances are those of numbers near one
        scale = scale + (scale == 0.0)
        slope = _slope_of(functions, *parameters.structure)
        operands = ct / scale, parameters.floats, parameters.rest
        found, _ = integral(_Slopes(), slope, bounds, (operands, ()), _of_slopes(options))
        found, start = found * scale, 0
        cts = []
        for x in parameters.floats:
            stop = start + int(np.prod(np.shape(x)))
            cts.append(np.reshape(found[start:stop], np.shape(x)))
            start = stop
        whole = parameters.cotangents(cts)
    return None, None, tuple(bars), whole, None


def _at_bound(ct: Any, function: Any, bound: Any, args: Any) -> Any:
    """The weighted integrand at a bound; zero at an infinite one, and at one that is a constant."""
    if type(bound) is float:
        return 0.0  # the integrand may be infinite there
    infinite = np.isinf(bound)
    if isinstance(infinite, np.bool_):
        return 0.0 if infinite else np.sum(ct * call(function, (bound, *args), {}))
    found = call(function, (np.where(infinite, 0.0, bound), *args), {})
    return np.where(infinite, 0.0, np.sum(ct * found))


@lru_cache(maxsize=64)
def _slope_of(functions: Functions, spec: TreeSpec, places: tuple[int, ...]) -> Functions:
    """The derivatives of an integrand in its parameters, one after the other.

    Compiled once for each function.
    """
    given_of = joiner(spec, places)

    def product(ct: Any, x: Any, floats: Any, rest: Any) -> Any:
        args, captured = given_of(floats, rest)
        return np.sum(ct * functions.of(captured)[0](x, *args))

    compiled = value_and_grad(product, 2)

    def slope(x: Any, ct: Any, floats: Any, rest: Any) -> Any:
        bars = compiled(ct, x, floats, rest)[1]
        return np.concatenate([np.reshape(bar, (-1,)) for bar in bars])

    return Functions((slope,), None)


integral = WithRule("integral", _found, Rule(_forward, _backward))
"""``integral(integrate, functions, bounds, given, options)``: it and the estimated error.

`given` are the further arguments of the integrand, and the Tensors that it has captured.
"""


# -- SciPy's interfaces ----------------------------------------------------------------------------


def quad(func: Any, a: Any, b: Any, args: Any = (), full_output: Any = 0, **options: Any) -> Any:
    """`scipy.integrate.quad`, differentiable in its bounds, `args` and what `func` captures."""
    if full_output:
        raise untraced("quad", "full_output", "it gives the integral and its error")
    if options.get("weight") is not None:
        raise untraced("quad", "weight", "multiply the integrand by it")
    if options.pop("complex_func", False):
        raise untraced("quad", "complex_func", "integrate the two parts")
    functions, captured = taken_from(func)
    given = tuple_of(args), captured
    return integral(_Numbers(), functions, _bounds(a, b), given, options)


def quad_vec(f: Any, a: Any, b: Any, *, args: Any = (), **options: Any) -> Any:
    """`scipy.integrate.quad_vec`, differentiable in its bounds, `args` and what `f` captures."""
    if options.pop("full_output", False):
        raise untraced("quad_vec", "full_output", "it gives the integral and its error")
    functions, captured = taken_from(f)
    given = tuple_of(args), captured
    return integral(_Arrays(), functions, _bounds(a, b), given, options)


def _bounds(*bounds: Any) -> tuple[Any, ...]:
    """The bounds: those that have no derivative as numbers of Python's."""
    return tuple([x if is_tensor(x) else number_of(x) for x in bounds])


class _Numbers:
    """`scipy.integrate.quad`."""

    def __call__(self, function: Any, a: float, b: float, args: Any, options: Any) -> Any:
        from scipy import integrate  # type: ignore[import-untyped]

        return integrate.quad(function, a, b, args, **options)


class _Arrays:
    """`scipy.integrate.quad_vec`."""

    def __call__(self, function: Any, a: float, b: float, args: Any, options: Any) -> Any:
        from scipy import integrate

        return integrate.quad_vec(function, a, b, args=args, **options)


class _Slopes:
    """The same of a derivative; warns where it did not converge."""

    def __call__(self, function: Any, a: float, b: float, args: Any, options: Any) -> Any:
        from scipy import integrate

        found, error, information = integrate.quad_vec(
            function, a, b, args=args, full_output=True, **options
        )
        if information.status == 1:
            warnings.warn(
                f"the derivative of an integral did not converge: {information.message}",
                integrate.IntegrationWarning,
                stacklevel=2,
            )
        return found, error


def _of_slopes(options: dict[str, Any]) -> dict[str, Any]:
    """The options for the integral of a derivative, whose size is another one: none is absolute."""
    known = {name: options[name] for name in ("epsrel", "points") if options.get(name) is not None}
    return {"epsrel": _TOLERANCE, **known}


_TOLERANCE = 1.49e-8
"""That of `scipy.integrate.quad`."""


TABLE: dict[str, Callable[..., Any]] = {"quad": quad, "quad_vec": quad_vec}
