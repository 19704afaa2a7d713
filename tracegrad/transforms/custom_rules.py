"""Decorators that give a function a derivative of the user's: `custom_vjp`, `custom_jvp`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from tracegrad.autograd.linear_rules import FAR, is_linear, probe
from tracegrad.errors import GradientError
from tracegrad.runtime.thread_state import STATE, call
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.transforms.custom_rule_functions import (
    Rule,
    Ruled,
    Written,
    like_value,
    natively,
)
from tracegrad.transforms.vjp import vjp_on_tape
from tracegrad.user_code.program_points import line_of_function
from tracegrad.values.dispatch import FLOATING
from tracegrad.values.pytree import flatten, leaf_paths, map_tree, unflatten

__all__ = ["custom_jvp", "custom_vjp"]


class custom_vjp(Ruled):
    """Decorates a function whose reverse derivative is given by two functions of the user's.

    The function and both halves run on plain arrays, and as calls by name in generated source.
    Derivatives of the derivative come from the ops of the two halves.

    Methods
    -------
    defvjp(forward, backward)
        ``forward(*args)`` returns ``(value, kept)``, where `kept` is any pytree;
        ``backward(kept, cotangent)`` returns a tuple with one cotangent an argument, None for none.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> @tg.custom_vjp
    ... def clipped(x):
    ...     return np.clip(x, -1.0, 1.0)
    >>> clipped.defvjp(lambda x: (clipped(x), None), lambda kept, ct: (ct,))
    >>> tg.grad(lambda x: np.sum(clipped(x)))(np.array([0.5, 3.0]))
    array([1., 1.])
    """

    missing = "call its defvjp(forward, backward) first"

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Gives the two halves; see the class."""

        def pulled(kept: Any, cotangent: Any, asked: tuple[int, ...]) -> Any:
            return call(backward, (kept, cotangent), {})

        def forward_lines(name: Any, args: list[str], kwargs: dict[str, str]) -> list[str]:
            given = ", ".join([*args, *(f"{k}={v}" for k, v in kwargs.items())])
            return [f"value, kept = {name(forward)}({given})"]

        def backward_lines(name: Any, cotangent: str, asked: list[int]) -> list[str]:
            return [
                f"found = {name(backward)}(kept, {cotangent})",
                "found = found if isinstance(found, tuple | list) else (found,)",
            ]

        written = Written(forward_lines, backward_lines)

        def source(which: int | str | None) -> Any:
            return forward if which == "forward" else backward

        made = Rule(forward, pulled, source=source)
        self._follows(made, (forward, backward), written)


class custom_jvp(Ruled):
    """Decorates a function whose forward derivative is given by a function of the user's.

    Forward mode calls the rule. Reverse mode transposes it, for which it is to be linear in the
    tangents; a rule that is not is refused there.

    Methods
    -------
    defjvp(rule)
        ``rule(primals, tangents)`` returns ``(value, tangent)``; primals and tangents are tuples
        with one element an argument.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> @tg.custom_jvp
    ... def log1pexp(x):
    ...     return np.log1p(np.exp(x))
    >>> @log1pexp.defjvp
    ... def log1pexp_jvp(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), t / (1.0 + np.exp(-x))
    >>> print(tg.grad(log1pexp)(0.0))
    0.5
    """

    missing = "call its defjvp(rule) first"

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Gives the rule; see the class."""

        def forward(*args: Any) -> tuple[Any, Any]:
            return self._function(*args), args

        def push(args: Any, tangents: Any, asked: tuple[int, ...]) -> Any:
            returned = call(rule, (args, tangents), {})
            if isinstance(returned, tuple | list) and len(returned) == 2:
                return returned[1]
            raise GradientError(
                f"the rule of {self.__name__} does not return a pair: it returns the value of the "
                f"function and its tangent (return y, y_dot){line_of_function(rule)}"
            )

        def backward(args: Any, cotangent: Any, asked: tuple[int, ...]) -> tuple[Any, ...]:
            return transposed(self, made, args, (args, {}), cotangent, range(len(args)), asked)

        made = Rule(forward, backward, push, lambda which: rule)
        self._follows(made, (rule,))
        return rule


def transposed(
    ruled: Ruled,
    rule: Rule,
    kept: Any,
    arguments: tuple[Sequence[Any], Mapping[str, Any]],
    cotangent: Any,
    pushed: Sequence[int],
    asked: Sequence[int],
) -> tuple[Any, ...]:
    """The cotangents of arguments, from a linear map of their tangents to that of the value.

    The rule gets the tangents of the arguments that are `pushed`.

    The rule of a linear function applies it to the tangents, so what pulls this back would ask for
    itself. Within its own rule a function is looked into, as one without a rule.
    """
    args, kwargs = arguments
    if ruled in STATE.transposing:
        found, _ = _pulled(lambda xs: call(ruled._function, xs, kwargs), args, asked, cotangent)
        return found
    shapes, spec = flatten(cotangent)
    given: Any = rule.push
    line = rule.line()

    def tangent(kept: Any, tangents: Any) -> Any:
        leaves = like_value(
            given(kept, tangents, tuple(pushed)), spec, shapes, ruled.__name__, line
        )
        return unflatten(spec, leaves)

    before = STATE.update(transposing=(*STATE.transposing, ruled))
    try:
        tried = map_tree(_tried, tuple(args))
        found, near = _pulled(lambda ts: tangent(kept, ts), tried, range(len(args)), cotangent)
        plain = map_tree(_plain, (kept, tried))
        with np.errstate(all="ignore"):  # NumPy has said what there is to say of the first
            far = natively(tangent, plain[0], map_tree(_further, plain[1]))
    finally:
        STATE.update(**before)
    if not is_linear([_plain(x) for x in flatten(near)[0]], flatten(far)[0]):
        raise GradientError(
            f"reverse mode transposes the rule of {ruled.__name__}, whose tangent is not linear in "
            "the tangents of the arguments: for a multiple of these it is not that multiple (it "
            "is a constant, adds one, or multiplies tangents?). Forward mode (tg.jvp, tg.jacfwd) "
            f"uses it as it is{line}"
        )
    return found


def _pulled(
    function: Callable[[Any], Any], args: Sequence[Any], asked: Sequence[int], cotangent: Any
) -> tuple[tuple[Any, ...], Any]:
    """The cotangents of those arguments of a function that are asked for, None for others.

    And the value of the function.
    """
    leaves, spec = flatten(tuple(args))
    stops = list(accumulate(len(leaf_paths(child)) for child in spec.children))
    spans = list(zip([0, *stops], stops))
    places = [i for k in asked for i in range(*spans[k]) if _moves(leaves[i])]

    def of_places(*given: Any) -> Any:
        every = list(leaves)
        for i, x in zip(places, given, strict=True):
            every[i] = x
        return function(unflatten(spec, every))

    value, pull = vjp_on_tape(of_places, *[leaves[i] for i in places])
    cts = dict(zip(places, pull(cotangent), strict=True))
    found: list[Any] = []
    for child, span in zip(spec.children, spans, strict=True):
        given = [cts.get(i, 0.0) for i in range(*span)]
        found.append(unflatten(child, given) if any(i in cts for i in range(*span)) else None)
    return tuple(found), value


def _moves(x: Any) -> bool:
    return np.asarray(_plain(x)).dtype.kind in FLOATING


def _tried(x: Any) -> Any:
    """A tangent to try a rule on; a Tensor where x is one: what the rule makes is recorded."""
    if not _moves(x):
        return 0.0
    array = np.asarray(_plain(x))
    tangent = probe(array.shape, array.dtype)
    return wrap(tangent) if isinstance(x, Tensor) else tangent


def _further(x: Any) -> Any:
    return FAR * x


def _plain(x: Any) -> Any:
    return getattr(x, "_array", x)
