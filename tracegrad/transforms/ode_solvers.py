"""Ordinary differential equations with SciPy's solvers on Tensors, differentiated by the adjoint.

The backward solves another equation backwards in time, of the state, its cotangent and those of the
parameters; no step of the forward is kept. Its right side is one compiled call of the user's. An
equation whose solutions come together drives them apart on the way back, so the state that is come
to is compared with that of the forward. Where it departs, and for solvers of stiff equations, the
states are those of the forward, which is gone once more and read between its steps. In second
derivatives, whose forward goes back in time itself, the way is gone in halves instead.

Reference: Pontryagin et al. 1962; Chen, Rubanova, Bettencourt, Duvenaud 2018, Neural ordinary
differential equations, appendices B and C; Kim, Ji, Deng, Ma, Rackauckas 2021, Stiff neural
ordinary differential equations (the interpolating adjoint).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from tracegrad.errors import ArgumentError, ShapeError
from tracegrad.runtime.thread_state import call
from tracegrad.traced_scipy.refusals import refused
from tracegrad.transforms.custom_rule_functions import Rule, WithRule
from tracegrad.transforms.public import value_and_grad
from tracegrad.user_code.captures import lifted
from tracegrad.values.pytree import TreeSpec, flatten, joiner, unflatten
from tracegrad.world.scipy_table import is_tensor

Integrate = Callable[..., Any]
"""``integrate(func, y0, t, args, options)``: the states at all times, ``(len(t), len(y0))``.

``integrate.backwards`` is what goes back from one time to the one before, with the equation of the
adjoint, whose values begin with the state. The last two arguments are the state at the earlier
time, to which it must come, and this time.
"""


def _states(integrate: Integrate, func: Any, y0: Any, t: Any, args: Any, options: Any) -> Any:
    return integrate(func, y0, t, args, options)


def _forward(
    integrate: Integrate, func: Any, y0: Any, t: Any, args: Any, options: Any
) -> tuple[Any, Any]:
    states = integrate(func, y0, t, args, options)
    return states, (integrate, func, states, t, args, options)


def _differentiable(leaf: Any) -> bool:
    return np.asarray(getattr(leaf, "_array", leaf)).dtype.kind == "f"


def _backward(kept: Any, g: Any, asked: tuple[int, ...]) -> tuple[Any, ...]:
    integrate, func, states, t, args, options = kept
    leaves, spec = flatten(args)
    wanted = [i for i, leaf in enumerate(leaves) if _differentiable(leaf)]
    sizes = [int(np.prod(np.shape(leaves[i]))) for i in wanted]
    n = np.shape(states)[1]
    options = _options_backwards(options, 2 * n + 1 + sum(sizes))
    adjoint = _adjoint_of(func, spec, tuple(wanted), n)
    state_bar = np.zeros(n)
    start_bar: Any = 0.0
    args_bar = np.zeros(sum(sizes))
    times_bar = []
    for i in range(len(t) - 1, 0, -1):
        state_bar = state_bar + g[i]
        slope = call(func, (states[i], t[i], *args), {})
        moved = np.sum(slope * g[i])
        times_bar.append(moved)
        start_bar = start_bar - moved
        if t[i] == t[i - 1]:  # the first of the times asked for is that of the start
            continue
        whole = np.concatenate([states[i], state_bar, np.reshape(start_bar, (1,)), args_bar])
        between = np.array([t[i], t[i - 1]])
        known = (*args, states[i - 1], t[i - 1])
        found = path(integrate.backwards, adjoint, whole, between, known, options)[-1]
        state_bar, start_bar, args_bar = found[n : 2 * n], found[2 * n], found[2 * n + 1 :]
    times_bar.append(start_bar)
    cts: list[Any] = [0.0] * len(leaves)
    start = 0
    for i, size in zip(wanted, sizes, strict=True):
        cts[i] = np.reshape(args_bar[start : start + size], np.shape(leaves[i]))
        start += size
    whole_args = unflatten(spec, cts) if wanted else None
    return None, None, state_bar + g[0], np.array(times_bar[::-1]), whole_args, None


class _Adjoint:
    """The right side of the equation that runs backwards in time."""

    def __init__(self, func: Any, spec: TreeSpec, wanted: tuple[int, ...], n: int) -> None:
        self.func = func
        self._step = _step_of(func, spec, wanted)
        self._n = n

    def __call__(self, state: Any, t: Any, *args: Any) -> Any:
        n, args = self._n, args[:-2]
        (_, slope), bars = self._step(state[n : 2 * n], state[:n], t, *args)
        found = [slope, -bars[0], -np.reshape(bars[1], (1,))]
        found += [-np.reshape(bar, (-1,)) for bar in flatten(bars[2:])[0]]
        return np.concatenate(found)


_adjoint_of = lru_cache(maxsize=64)(_Adjoint)
"""One for each function and structure, so that what is compiled of it is found again."""


@lru_cache(maxsize=64)
def _step_of(func: Any, spec: TreeSpec, wanted: tuple[int, ...]) -> Any:
    """The slope and the pullback of a right side, compiled once for each function.

    The pullback is that in the state, the time and those leaves of its further arguments.
    """

    args_of = joiner(spec, wanted)

    def product(ct: Any, y: Any, t: Any, floats: Any, rest: Any) -> tuple[Any, Any]:
        slope = np.asarray(func(y, t, *args_of(floats, rest)))
        return np.sum(ct * slope), slope

    compiled = value_and_grad(product, (1, 2, 3) if wanted else (1, 2), has_aux=True)

    def step(ct: Any, y: Any, t: Any, *args: Any) -> Any:
        leaves = flatten(args)[0]
        rest = [leaf for i, leaf in enumerate(leaves) if i not in wanted]
        return compiled(ct, y, t, [leaves[i] for i in wanted], rest)

    return step


path = WithRule("odeint", _states, Rule(_forward, _backward))
"""``path(integrate, func, y0, t, args, options)``: the states of y' = func(y, t, *args)."""


def _times(solver: Any, func: Any, y0: Any, span: Any, args: Any, options: Any) -> Any:
    return solver.solved(func, y0, span, args, options).t


def _times_forward(
    solver: Any, func: Any, y0: Any, span: Any, args: Any, options: Any
) -> tuple[Any, Any]:
    return _times(solver, func, y0, span, args, options), None


def _times_backward(kept: None, g: Any, asked: tuple[int, ...]) -> tuple[Any, ...]:
    return None, None, None, (g[0], g[-1]), None, None


own_times = WithRule("own_times", _times, Rule(_times_forward, _times_backward))
"""``own_times(solver, func, y0, span, args, options)``: where a solver's own steps end.

Where these depend on the values is no business of a derivative: only the first and the last one
move, with the span.
"""


# -- SciPy's interfaces ----------------------------------------------------------------------------


def odeint(func: Any, y0: Any, t: Any, args: Any = (), tfirst: bool = False, **options: Any) -> Any:
    """`scipy.integrate.odeint`, differentiable in `y0`, `t`, `args` and what `func` captures."""
    if options.pop("full_output", 0):
        raise refused("scipy.integrate.odeint with full_output=True")
    if not isinstance(args, tuple):
        raise ArgumentError("odeint: further arguments must be in a tuple")
    function, captured = lifted(func, is_tensor)
    right_side = _swapped(function) if tfirst else function
    options = {k: v for k, v in options.items() if k not in ("Dfun", "col_deriv", "printmessg")}
    given = (*args, captured) if captured else args
    return path(_Odeint(), right_side, _vector(y0), _times_of(t, "t"), given, options)


def solve_ivp(
    fun: Any,
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """`scipy.integrate.solve_ivp` on Tensors.

    Differentiable in `y0`, `t_span[0]`, `t_eval`, `args` and the Tensors that `fun` captures.
    Without `t_eval` at the ends of the solver's own steps, of which the first and the last move
    with `t_span` and the others are constants. Returns SciPy's object, of which only `t` and `y`
    are Tensors, without the counts of calls.
    """
    from scipy.optimize import OptimizeResult  # type: ignore[import-untyped]

    for name, value in {
        "dense_output": dense_output,
        "events": events,
        "vectorized": vectorized,
    }.items():
        if value:
            raise ArgumentError(
                f"solve_ivp takes no {name} where values are traced: ask for states by t_eval"
            ).as_refusal()
    own = () if args is None else tuple(args)
    if callable(options.get("jac")) and own:
        jac = options["jac"]
        options["jac"] = _WithArguments(jac, len(own))
    function, captured = lifted(fun, is_tensor)
    func = _swapped(function)
    given = (*own, captured) if captured else own
    options = {"method": method, **options}
    start = _vector(_line_of(y0, "y0"))
    begin, end = t_span
    if t_eval is None:
        steps = _OwnSteps()
        times = own_times(steps, func, start, (begin, end), given, options)
        states = path(steps, func, start, times, given, options)
    else:
        asked = _times_of(t_eval, "t_eval")
        if not np.shape(asked)[0]:
            raise ArgumentError("solve_ivp: t_eval has no time, so there is nothing to give")
        times = np.concatenate([np.reshape(begin * 1.0, (1,)), asked])
        states = path(_SolveIvp(_number(end)), func, start, times, given, options)[1:]
        times = times[1:]
    return OptimizeResult(
        t=times,
        y=states.T,
        sol=None,
        t_events=None,
        y_events=None,
        status=0,
        success=True,
        message="The solver successfully reached the end of the integration interval.",
    )


def _number(x: Any) -> float:
    """The end of the span, on which no state at an earlier time depends."""
    return float(np.asarray(getattr(x, "_array", x)))


def _vector(y0: Any) -> Any:
    """The initial values as an array of one axis: a number, a sequence of them or an array."""
    sequence = isinstance(y0, list | tuple)
    start = _line_of(y0, "y0") if sequence or np.ndim(y0) else np.reshape(y0, (1,))
    if start.dtype.kind == "c":
        raise ArgumentError(
            "y0 is complex, where values are traced: integrate its two parts"
        ).as_refusal()
    return start * 1.0


def _times_of(t: Any, name: str) -> Any:
    """Times as an array of one axis."""
    return _line_of(t, name) * 1.0


def _line_of(numbers: Any, name: str) -> Any:
    """An array of one axis, or what is made of a sequence of numbers."""
    if isinstance(numbers, list | tuple | range) and not any(map(np.ndim, numbers)):
        parts = [np.reshape(x, (1,)) for x in numbers]
        numbers = np.concatenate(parts) if parts else np.zeros(0)
    if np.ndim(numbers) != 1:
        raise ShapeError(f"{name} must be one-dimensional, not of shape {np.shape(numbers)}")
    return numbers


# -- SciPy's solvers -------------------------------------------------------------------------------

_OF_STARTS = ("first_step", "h0")
_OF_JACOBIANS = ("jac", "jac_sparsity", "lband", "uband", "ml", "mu")
_TOLERANCES = ("rtol", "atol")
_STIFF = ("BDF", "Radau")
_FAILURES = 250  # of pieces of a way back
_EVALUATIONS = 4000  # of such a piece: solutions that run apart need ever more
_DEPARTURE = 10.0
"""How far apart two states may be that should be one, as multiples of the solver's tolerance."""


def _options_backwards(options: dict[str, Any], size: int) -> dict[str, Any]:
    """The options for the equation of the adjoint, of `size` values.

    Not those of the first step and of the Jacobian of the right side. Tolerances of each value of
    the state are those of its cotangent too; others have the least.
    """
    without = (*_OF_STARTS, *_OF_JACOBIANS, "tcrit")
    found = {name: x for name, x in options.items() if name not in without}
    for name in _TOLERANCES:
        if np.ndim(found.get(name, 0.0)):
            each = _line_of(found[name], name)
            rest = np.full(size - 2 * np.shape(each)[0], 1.0) * np.min(each)
            found[name] = np.concatenate([each, each, rest])
    return found


def _options_of(options: dict[str, Any], n: int) -> dict[str, Any]:
    """The options for the first `n` values: tolerances may be those of each."""
    cut = {k: options[k][:n] for k in _TOLERANCES if np.ndim(options.get(k, 0.0))}
    return {**options, **cut}


class _Odeint:
    """`scipy.integrate.odeint`."""

    name = "odeint"
    tolerances = (1.49012e-8, 1.49012e-8)  # SciPy's own

    def __call__(self, func: Any, y0: Any, t: Any, args: Any, options: Any) -> Any:
        from scipy import integrate  # type: ignore[import-untyped]

        start, times = np.asarray(y0, float), np.asarray(t)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", integrate.ODEintWarning)  # it is raised
            found, information = integrate.odeint(
                func, start, times, args, full_output=True, **options
            )
        if not information["message"].startswith(("Integration successful", "Nothing was done")):
            raise ArithmeticError(f"odeint: {information['message']}")
        return found

    @property
    def backwards(self) -> Integrate:
        """What goes back from one time to the one before."""
        return _Backwards(self, self)

    def between(self, func: Any, y0: Any, span: Any, args: Any, options: Any) -> Any:
        """The states as a function of time."""
        tolerances = dict(zip(_TOLERANCES, self.tolerances, strict=True))
        tolerances |= {k: options[k] for k in _TOLERANCES if options.get(k) is not None}
        if options.get("hmax"):
            tolerances["max_step"] = options["hmax"]
        return _SolveIvp().between(func, y0, span, args, {"method": "LSODA", **tolerances})


class _SolveIvp:
    """`scipy.integrate.solve_ivp`: of times, the first is that of the start.

    It goes on `until` a time behind the last one, if that is not None.
    """

    name = "solve_ivp"
    tolerances = (1e-3, 1e-6)

    def __init__(self, until: Any = None) -> None:
        self.until = until

    def __call__(self, func: Any, y0: Any, t: Any, args: Any, options: Any) -> Any:
        end = t[-1] if self.until is None else self.until
        found = self.solved(func, y0, (t[0], end), args, options, np.asarray(t)[1:])
        return np.concatenate([np.reshape(np.asarray(y0, float), (1, -1)), found.y.T])

    @property
    def backwards(self) -> Integrate:
        """What goes back from one time to the one before."""
        return _Backwards(_SolveIvp(), _SolveIvp())

    def between(self, func: Any, y0: Any, span: Any, args: Any, options: Any) -> Any:
        """The states as a function of time."""
        return self.solved(func, y0, span, args, {**options, "dense_output": True}).sol

    def solved(
        self, func: Any, y0: Any, span: Any, args: Any, options: Any, t_eval: Any = None
    ) -> Any:
        """What SciPy returns."""
        from scipy import integrate

        if isinstance(options.get("jac"), _WithArguments):
            options = {**options, "jac": options["jac"].of(args)}
        found = integrate.solve_ivp(
            lambda s, y: func(y, s, *args),
            tuple(map(float, span)),
            np.asarray(y0, float),
            t_eval=t_eval,
            **options,
        )
        if not found.success:
            raise ArithmeticError(f"solve_ivp: {found.message}")
        return found


class _OwnSteps(_SolveIvp):
    """The same where the solver's own steps end: `t` are these times."""

    def __call__(self, func: Any, y0: Any, t: Any, args: Any, options: Any) -> Any:
        return self.solved(func, y0, (t[0], t[-1]), args, options).y.T


class _Backwards:
    """Goes from one time to an earlier one by a solver, with the equation of an adjoint.

    The state must come to that which the forward had at the earlier time. Where it does not, the
    states are those of the forward; if `there`, which goes forward, is such a way back itself, the
    way is gone in halves, with the state in the middle to which `there` goes.
    """

    def __init__(self, there: Integrate, solver: Any) -> None:
        self._there = there
        self._solver = solver

    def __call__(self, func: Any, y0: Any, t: Any, args: Any, options: Any) -> Any:
        state, begin = args[-2:]
        ahead = _Ahead(self._there, func.func, args[:-2], _options_of(options, len(state)))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if t[-1] != begin:  # the adjoint of this adjoint, in halves
                state = ahead(state, begin, t[-1])

            def back(y: Any, span: Any) -> Any:
                return self._solver(_Counted(func), y, np.array(span), args, options)[-1]

            span = t[0], t[-1]
            if isinstance(self._there, _Backwards):
                failures = iter(range(_FAILURES))
                found = self._gone(back, ahead, y0, state, span, failures)
            else:
                stiff = options.get("method") in _STIFF
                found = None if stiff else self._met(back, y0, state, span, ahead.options)
                if found is None:
                    found = self._along(func, y0, state, span, args, options)
        return np.stack([y0, found])

    def _met(self, back: Any, y: Any, state: Any, span: Any, options: Any) -> Any:
        """The values at the end of a span, if the state is the one that it should be; else None."""
        n = len(state)
        try:
            found = back(y, span)
        except ArithmeticError:
            return None
        return found if self._is_met(found[:n], state, y[:n], options) else None

    def _along(self, func: Any, y: Any, state: Any, span: Any, args: Any, options: Any) -> Any:
        """The same, with the states of the forward, which is gone once more from the end of it."""
        n, (later, earlier) = len(state), span
        of_states = _options_of(options, n)
        states = self._there.between(func.func, state, (earlier, later), args[:-2], of_states)

        def slope(rest: Any, t: Any, *args: Any) -> Any:
            return func(np.concatenate([states(t), rest]), t, *args)[n:]

        cut = {k: options[k][n:] for k in _TOLERANCES if np.ndim(options.get(k, 0.0))}
        rest = self._solver(slope, y[n:], np.array(span), args, {**options, **cut})[-1]
        return np.concatenate([state, rest])

    def _gone(
        self, back: Any, ahead: Any, y: Any, state: Any, span: Any, failures: Iterator[int]
    ) -> Any:
        """The values at the end of a span, where the state is known; in halves where need be."""
        n = len(state)
        found = self._met(back, y, state, span, ahead.options)
        if found is not None:
            return found
        later, earlier = span
        middle = 0.5 * (later + earlier)
        if next(failures, None) is None or middle in span:
            raise ArithmeticError(
                f"{self._solver.name}: its second derivative goes back in time, on which way "
                f"solutions of this equation run apart too fast (near t = {span[1]:.6g}). Values "
                "may be out of bounds there: keep them in a range. A stiff equation needs a solver "
                "that is a loop of your own (implicit Euler, say), whose steps are differentiated"
            )
        between = ahead(state, earlier, middle)
        y = np.concatenate([ahead(between, middle, later), y[n:]])  # of this way, to come back on
        found = self._gone(back, ahead, y, between, (later, middle), failures)
        found = np.concatenate([between, found[n:]])
        return self._gone(back, ahead, found, state, (middle, earlier), failures)

    def _is_met(self, found: Any, state: Any, later: Any, options: Any) -> bool:
        """Whether a state is the one that it should be; `later` is where it came from."""
        given = zip(_TOLERANCES, self._solver.tolerances, strict=True)
        rtol, atol = [own if options.get(k) is None else np.asarray(options[k]) for k, own in given]
        size = np.maximum(np.abs(state), np.abs(later))
        return bool(np.sqrt(np.mean(((found - state) / (rtol * size + atol)) ** 2)) <= _DEPARTURE)

    @property
    def backwards(self) -> Integrate:
        """What goes with the equation of the adjoint of this one."""
        return _Backwards(self, self._solver)


class _Ahead:
    """The forward, from a state at one time to a later one."""

    def __init__(self, there: Integrate, func: Any, args: Any, options: dict[str, Any]) -> None:
        self.options = options
        self._to = lambda y, times: there(func, y, times, args, options)[-1]

    def __call__(self, state: Any, begin: Any, end: Any) -> Any:
        return self._to(state, np.array([begin, end]))


class _Counted:
    """A right side that may be evaluated so often."""

    def __init__(self, func: Any) -> None:
        self._func = func
        self._left = _EVALUATIONS

    def __call__(self, *args: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise ArithmeticError("too many evaluations")
        return self._func(*args)


class _WithArguments:
    """A Jacobian ``jac(t, y, *args)``, of which the first `count` arguments of a solution are."""

    def __init__(self, jac: Any, count: int) -> None:
        self.jac = jac
        self.count = count

    def of(self, args: Any) -> Any:
        """It as a function of time and state."""
        own = args[: self.count]
        return lambda t, y: self.jac(t, y, *own)


class _Swapped:
    """A right side ``fun(t, y, *args)`` as ``func(y, t, *args)``."""

    def __init__(self, fun: Any) -> None:
        self.fun = fun

    def __call__(self, y: Any, t: Any, *args: Any) -> Any:
        return self.fun(t, y, *args)


_swapped = lru_cache(maxsize=64)(_Swapped)


TABLE: dict[str, Callable[..., Any]] = {"odeint": odeint, "solve_ivp": solve_ivp}
