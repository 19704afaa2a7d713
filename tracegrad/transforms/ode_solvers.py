"""Ordinary differential equations with SciPy's solvers on Tensors, differentiated by the adjoint.

The backward solves another equation backwards in time, of the state, its cotangent and those of the
parameters; no step of the forward is kept. Its right side is one compiled call of the user's.

Reference: Pontryagin et al. 1962; Chen, Rubanova, Bettencourt, Duvenaud 2018, Neural ordinary
differential equations, appendices B and C.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache, partial
from types import CellType, FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from tracegrad.errors import ArgumentError
from tracegrad.runtime.thread_state import call
from tracegrad.traced_scipy.refusals import refused
from tracegrad.transforms.custom_rule_functions import Rule, Ruled
from tracegrad.transforms.public import value_and_grad
from tracegrad.values.pytree import TreeSpec, flatten, joiner, unflatten
from tracegrad.world.scipy_table import closed_over, solvers

Integrate = Callable[..., Any]
"""``integrate(func, y0, t, args)``: the states at all times, shape ``(len(t), len(y0))``."""


class _Path(Ruled):
    """``path(integrate, func, y0, t, args)``: the states of y' = func(y, t, *args) at times t."""

    _by_position = False

    def __init__(self) -> None:
        super().__init__(_states)
        self.__name__ = "odeint"
        self._follows(Rule(_forward, _backward), ())


def _states(integrate: Integrate, func: Any, y0: Any, t: Any, args: Any) -> Any:
    return integrate(func, y0, t, args)


def _forward(integrate: Integrate, func: Any, y0: Any, t: Any, args: Any) -> tuple[Any, Any]:
    states = integrate(func, y0, t, args)
    return states, (integrate.between, func, states, t, args)


def _differentiable(leaf: Any) -> bool:
    return np.asarray(getattr(leaf, "_array", leaf)).dtype.kind == "f"


def _backward(kept: Any, g: Any, asked: tuple[int, ...]) -> tuple[Any, ...]:
    integrate, func, states, t, args = kept
    leaves, spec = flatten(args)
    wanted = [i for i, leaf in enumerate(leaves) if _differentiable(leaf)]
    sizes = [int(np.prod(np.shape(leaves[i]))) for i in wanted]
    n = np.shape(states)[1]
    adjoint = partial(_adjoint, _step_of(func, spec, tuple(wanted)), n)
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
        found = path(integrate, adjoint, whole, np.array([t[i], t[i - 1]]), args)[-1]
        state_bar, start_bar, args_bar = found[n : 2 * n], found[2 * n], found[2 * n + 1 :]
    times_bar.append(start_bar)
    cts: list[Any] = [0.0] * len(leaves)
    start = 0
    for i, size in zip(wanted, sizes, strict=True):
        cts[i] = np.reshape(args_bar[start : start + size], np.shape(leaves[i]))
        start += size
    whole_args = unflatten(spec, cts) if wanted else None
    return None, None, state_bar + g[0], np.array(times_bar[::-1]), whole_args


def _adjoint(step: Any, n: int, state: Any, t: Any, *args: Any) -> Any:
    """The right side of the equation that runs backwards in time."""
    (_, slope), bars = step(state[n : 2 * n], state[:n], t, *args)
    found = [slope, -bars[0], -np.reshape(bars[1], (1,))]
    found += [-np.reshape(bar, (-1,)) for bar in flatten(bars[2:])[0]]
    return np.concatenate(found)


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


path = _Path()


class _OwnTimes(Ruled):
    """``own_times(solver, func, y0, span, args)``: the times at which a solver's own steps end.

    Where these depend on the values is no business of a derivative: only the first and the last
    one move, with the span.
    """

    _by_position = False

    def __init__(self) -> None:
        super().__init__(_times)
        self.__name__ = "own_times"
        self._follows(Rule(_times_forward, _times_backward), ())


def _times(solver: Any, func: Any, y0: Any, span: Any, args: Any) -> Any:
    return solver.solved(func, y0, span, args).t


def _times_forward(solver: Any, func: Any, y0: Any, span: Any, args: Any) -> tuple[Any, Any]:
    return _times(solver, func, y0, span, args), None


def _times_backward(kept: None, g: Any, asked: tuple[int, ...]) -> tuple[Any, ...]:
    return None, None, None, (g[0], g[-1]), None


own_times = _OwnTimes()


# -- SciPy's interfaces ----------------------------------------------------------------------------


def odeint(func: Any, y0: Any, t: Any, args: Sequence[Any] = (), **options: Any) -> Any:
    """`scipy.integrate.odeint`, differentiable in `y0`, `t` and `args`; `func` must read no other
    traced value."""
    if options.pop("tfirst", False):
        raise refused("scipy.integrate.odeint with tfirst=True")
    if options.pop("full_output", False):
        raise refused("scipy.integrate.odeint with full_output=True")
    options = {k: v for k, v in options.items() if k not in ("Dfun", "printmessg")}
    func, args = _lifted(func, tuple(args))
    return path(_Odeint(options), func, y0, t, args)


class _Odeint:
    """`scipy.integrate.odeint` with options."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    def __call__(self, func: Any, y0: Any, t: Any, args: Any) -> Any:
        from scipy import integrate  # type: ignore[import-untyped]

        start = np.atleast_1d(np.asarray(y0, float))
        return integrate.odeint(func, start, np.asarray(t), tuple(args), **self.options)

    @property
    def between(self) -> Integrate:
        """What goes back from one time to the one before."""
        return self


class _SolveIvp(_Odeint):
    """`scipy.integrate.solve_ivp` with options: of times, the first is that of the start.

    It goes on `until` a time behind the last one, if that is not None.
    """

    def __init__(self, options: dict[str, Any], until: Any = None) -> None:
        super().__init__(options)
        self.until = until

    def __call__(self, func: Any, y0: Any, t: Any, args: Any) -> Any:
        end = t[-1] if self.until is None else self.until
        found = self.solved(func, y0, (t[0], end), args, np.asarray(t)[1:])
        return np.concatenate([np.reshape(np.asarray(y0, float), (1, -1)), found.y.T])

    @property
    def between(self) -> Integrate:
        """What goes back from one time to the one before."""
        return _SolveIvp(self.options)

    def solved(self, func: Any, y0: Any, span: Any, args: Any, t_eval: Any = None) -> Any:
        """What SciPy returns."""
        from scipy import integrate

        found = integrate.solve_ivp(
            lambda s, y: func(y, s, *args),
            tuple(map(float, span)),
            np.asarray(y0, float),
            t_eval=t_eval,
            **self.options,
        )
        if not found.success:
            raise ArithmeticError(f"solve_ivp: {found.message}")
        return found


class _OwnSteps(_SolveIvp):
    """The same where the solver's own steps end: `t` are these times."""

    def __call__(self, func: Any, y0: Any, t: Any, args: Any) -> Any:
        return self.solved(func, y0, (t[0], t[-1]), args).y.T


class _Swapped:
    """A right side ``fun(t, y, *args)`` as ``func(y, t, *args)``."""

    def __init__(self, fun: Any) -> None:
        self.fun = fun

    def __call__(self, y: Any, t: Any, *args: Any) -> Any:
        return self.fun(t, y, *args)


@lru_cache(maxsize=64)
def _swapped(fun: Any) -> _Swapped:
    return _Swapped(fun)


class _Lifted:
    """A function that is handed what some of its cells hold, as a tuple behind its arguments."""

    def __init__(self, function: FunctionType, places: Collection[int]) -> None:
        cells = enumerate(function.__closure__ or ())
        self.places = tuple(places)
        self.empty = _with_cells(
            function, [CellType() if i in self.places else cell for i, cell in cells]
        )

    def __call__(self, *args: Any) -> Any:
        *own, held = args
        cells = list(self.empty.__closure__ or ())
        for i, value in zip(self.places, held, strict=True):
            cells[i] = CellType(value)
        return _with_cells(self.empty, cells)(*own)


def _with_cells(function: FunctionType, cells: Sequence[CellType]) -> FunctionType:
    made = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells),
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _lifted(function: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """A right side and its arguments, with the Tensors in its cells among these."""
    if type(function) is not FunctionType:
        return function, args
    held = closed_over(function)
    if not held:
        return function, args
    return _Lifted(function, held), (*args, tuple(held.values()))


def solve_ivp(
    fun: Any,
    t_span: Any,
    y0: Any,
    method: str = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Sequence[Any] | None = None,
    **options: Any,
) -> Any:
    """`scipy.integrate.solve_ivp` on Tensors.

    Differentiable in `y0`, `t_span[0]`, `t_eval`, `args` and the Tensors that `fun` closes over.
    Without `t_eval` at the ends of the solver's own steps, of which the first and the last move
    with `t_span` and the others are constants. Returns an object with `t`, `y`, `success`.
    """
    if dense_output or events is not None or vectorized:
        raise ArgumentError(
            "solve_ivp takes no dense_output, events or vectorized where values are traced"
        )
    options = {"method": method, **options}
    fun, args = _lifted(fun, tuple(args or ()))
    func = _swapped(fun)
    if t_eval is None:
        steps = _OwnSteps(options)
        times = own_times(steps, func, y0, tuple(t_span), args)
        states = path(steps, func, y0, times, args)
    else:
        begin, end = t_span
        given = list(t_eval) if isinstance(t_eval, list | tuple) else [t_eval]
        times = np.concatenate([np.reshape(x, (-1,)) for x in (begin * 1.0, *given)])
        states = path(_SolveIvp(options, _number(end)), func, y0, times, args)[1:]
        times = times[1:]
    return SimpleNamespace(t=times, y=states.T, success=True, status=0, message="", sol=None)


def _number(x: Any) -> float:
    """The end of the span, on which no state at an earlier time depends."""
    return float(np.asarray(getattr(x, "_array", x)))


TABLE: dict[str, Callable[..., Any]] = {"odeint": odeint, "solve_ivp": solve_ivp}
solvers.by(lambda: TABLE)
