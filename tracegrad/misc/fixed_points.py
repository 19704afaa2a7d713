"""The fixed point of a contraction, differentiated by the implicit function theorem.

>>> from tracegrad import grad
>>> from tracegrad.misc.fixed_points import fixed_point
>>> def newton(a):
...     return lambda x: 0.5 * (x + a / x)
>>> def root(a):
...     return fixed_point(newton, a, 1.0, lambda x, y: abs(x - y), 1e-12)
>>> print(round(float(root(4.0)), 6), round(float(grad(root)(4.0)), 6))
2.0 0.25
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracegrad.core import make_vjp
from tracegrad.extend import defvjp, primitive
from tracegrad.runtime.thread_state import call
from tracegrad.transforms.vector_space import vspace

__all__ = ["fixed_point"]


@primitive
def fixed_point(
    f: Callable[[Any], Callable[[Any], Any]],
    a: Any,
    x0: Any,
    distance: Callable[[Any, Any], Any],
    tol: float,
) -> Any:
    """The x with ``f(a)(x) == x``, by iteration from `x0` until `distance` is at most `tol`.

    Its derivative in `a` is found by another iteration, not through the steps of the first.
    """
    step = call(f, (a,), {})
    x, before = call(step, (x0,), {}), x0
    while call(distance, (x, before), {}) > tol:
        x, before = call(step, (x,), {}), x
    return x


def _in_parameters(
    ans: Any, f: Any, a: Any, x0: Any, distance: Any, tol: float
) -> Callable[[Any], Any]:
    pull, _ = make_vjp(lambda given: call(call(f, (given,), {}), (ans,), {}), a)

    def adjoint(params: Any) -> Callable[[Any], Any]:
        a, x, ct = params
        back, _ = make_vjp(call(f, (a,), {}), x)
        return lambda g: vspace(ct).add(back(g), ct)

    def pulled(g: Any) -> Any:
        params = (a, ans, g)
        return pull(fixed_point(adjoint, params, vspace(x0).zeros(), distance, tol))

    return pulled


defvjp(fixed_point, None, _in_parameters, None, None, None)
