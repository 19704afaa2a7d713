"""Checks derivatives of a function against differences: ``check_grads``.

Derivatives are compared with central differences along random directions, which NumPy's global
generator draws.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tracegrad.arguments.signature import name_of
from tracegrad.core import make_jvp, make_vjp
from tracegrad.errors import ArgumentError
from tracegrad.transforms.vector_space import vspace
from tracegrad.wrap_util import unary_to_nary

__all__ = [
    "check_equivalent",
    "check_grads",
    "check_jvp",
    "check_vjp",
    "combo_check",
    "scalar_close",
]

STEP = 1e-6  # of the differences
CLOSE = 1e-6  # absolute, or relative to the sum of both


def scalar_close(a: Any, b: Any) -> bool:
    """Whether two numbers agree, to 1e-6 of 1 or of their sum."""
    return bool(abs(a - b) < CLOSE or abs(a - b) < CLOSE * abs(a + b))


def check_equivalent(x: Any, y: Any) -> None:
    """Raises an AssertionError where two values differ in structure, shape, dtype or elements.

    >>> import numpy as np
    >>> from tracegrad.test_util import check_equivalent
    >>> check_equivalent({"w": np.ones(2)}, {"w": np.ones(2)})
    """
    space, other = vspace(x), vspace(y)
    assert space == other, f"the spaces differ: {space} and {other}"
    direction = space.randn()
    along = [space.inner_prod(value, direction) for value in (x, y)]
    assert scalar_close(*along), f"the values differ: {x} and {y}"


def _differences(f: Callable[[Any], Any], x: Any) -> Callable[[Any], Any]:
    """The map from a tangent of x to that of ``f(x)``, by a central difference."""
    space, values = vspace(x), vspace(f(x))

    def push(tangent: Any) -> Any:
        ahead, behind = (
            f(space.add(x, space.scalar_mul(tangent, step))) for step in (STEP / 2, -STEP / 2)
        )
        return values.scalar_mul(values.add(ahead, values.scalar_mul(behind, -1.0)), 1.0 / STEP)

    return push


def check_vjp(f: Callable[[Any], Any], x: Any) -> None:
    """Compares ``<u, J v>`` of differences with ``<J^T u, v>`` of the pullback of `f` at x."""
    pull, value = make_vjp(f, x)
    space, values = vspace(x), vspace(value)
    v, u = space.randn(), values.randn()
    pulled = space.covector(pull(values.covector(u)))
    assert vspace(pulled) == space, (
        f"(VJP) check of {name_of(f)} failed: the gradient is of {vspace(pulled)}, the argument of "
        f"{space}"
    )
    ours, measured = space.inner_prod(v, pulled), values.inner_prod(u, _differences(f, x)(v))
    assert scalar_close(measured, ours), (
        f"(VJP) check of {name_of(f)} failed at {x}: {ours}, by differences {measured}"
    )


def check_jvp(f: Callable[[Any], Any], x: Any) -> None:
    """Compares ``J v`` of differences with the pushforward of `f` at x."""
    v = vspace(x).randn()
    _, ours = make_jvp(f, x)(v)
    measured = _differences(f, x)(v)
    space, other = vspace(ours), vspace(measured)
    assert space == other, f"(JVP) check of {name_of(f)} failed: {space}, by differences {other}"
    u = space.randn()
    along = [space.inner_prod(u, value) for value in (ours, measured)]
    assert scalar_close(*along), (
        f"(JVP) check of {name_of(f)} failed at {x}: {ours}, by differences {measured}"
    )


@unary_to_nary
def check_grads(f: Any, x: Any, modes: Sequence[str] | None = None, order: int = 2) -> None:
    """``check_grads(f, argnum)(*args)`` compares derivatives of `f` with central differences.

    Parameters
    ----------
    modes : sequence of "fwd" and "rev"
        Which derivatives: along tangents, of cotangents, or both (the default).
    order : int
        Derivatives of derivatives up to this order are checked as well.

    Raises
    ------
    AssertionError
        They do not agree; the message says which, and both numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from tracegrad.test_util import check_grads
    >>> check_grads(lambda x: np.sum(np.sin(x)))(np.array([0.3, 1.2]))
    """
    modes = ("fwd", "rev") if modes is None else modes
    if not set(modes) <= {"fwd", "rev"}:
        raise ArgumentError(f'check_grads: modes={modes!r}: may hold "fwd" and "rev"')
    if "fwd" in modes:
        check_jvp(f, x)
        if order > 1:

            def pushed(x: Any, v: Any) -> Any:
                return make_jvp(f, x)(v)[1]

            pushed.__name__ = f"jvp_{name_of(f)}"
            check_grads(pushed, (0, 1), modes, order=order - 1)(x, vspace(x).randn())
    if "rev" in modes:
        check_vjp(f, x)
        if order > 1:

            def pulled(x: Any, u: Any) -> Any:
                return make_vjp(f, x)[0](u)

            pulled.__name__ = f"vjp_{name_of(f)}"
            check_grads(pulled, (0, 1), modes, order=order - 1)(x, vspace(f(x)).randn())


def combo_check(fun: Callable[..., Any], *options: Any, **named: Any) -> Callable[..., None]:
    """Checks gradients for every combination: each argument is a list of those to take.

    >>> import numpy as np
    >>> from tracegrad.test_util import combo_check
    >>> combo_check(np.sum, (0,))([np.ones(3), np.ones((3, 3))], axis=[None, 0])
    """

    def check(*args: Iterable[Any], **kwargs: Iterable[Any]) -> None:
        for chosen in itertools.product(*args):
            for values in itertools.product(*kwargs.values()):
                given = dict(zip(kwargs, values, strict=True))
                check_grads(fun, *options, **named)(*chosen, **given)

    return check
