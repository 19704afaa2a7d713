"""Makes operators on functions of one value operators on functions of several arguments.

HIPS autograd's way to say which argument is meant: ``operator(f, argnum)(*args, **kwargs)``, where
`argnum` is a position or a tuple of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import index
from typing import Any

from tracegrad.arguments.signature import name_of
from tracegrad.errors import ArgumentError
from tracegrad.runtime.thread_state import call


def wraps(
    fun: Callable[..., Any], namestr: str = "{fun}", docstr: str = "{doc}", **named: Any
) -> Callable[[Any], Any]:
    """Gives a function the name and the docstring of another one, within a text.

    >>> from tracegrad.wrap_util import wraps
    >>> wraps(abs, "slope_of_{fun}_in_{argnum}", argnum=0)(lambda x: x).__name__
    'slope_of_abs_in_0'
    """
    told = {**named, "fun": name_of(fun), "doc": getattr(fun, "__doc__", None)}

    def named_so(function: Any) -> Any:
        function.__name__, function.__doc__ = namestr.format(**told), docstr.format(**told)
        return function

    return named_so


def unary_to_nary(operator: Callable[..., Any]) -> Callable[..., Any]:
    """``operator(f, x, ...)``, of functions of one value, for functions of several arguments.

    Returns
    -------
    callable
        ``nary(f, argnum=0, ...)`` gives a function of the arguments of `f`. It calls `operator`
        with a function of ``args[argnum]`` alone (a tuple where `argnum` is one), and with that
        value.

    Raises
    ------
    tg.errors.ArgumentError
        `argnum` is no position, or the call has no such argument.

    Examples
    --------
    >>> from tracegrad.wrap_util import unary_to_nary
    >>> @unary_to_nary
    ... def slope(f, x):
    ...     return (f(x + 1e-3) - f(x - 1e-3)) / 2e-3
    >>> print(round(slope(lambda x, y: x * y, 1)(3.0, 4.0), 6))
    3.0
    """

    @functools.wraps(operator)
    def nary(fun: Callable[..., Any], argnum: Any = 0, *options: Any, **named: Any) -> Any:
        several = isinstance(argnum, tuple | list)
        positions = tuple(map(_position, argnum)) if several else (_position(argnum),)

        def of_arguments(*args: Any, **kwargs: Any) -> Any:
            for position in positions:
                if not -len(args) <= position < len(args):
                    raise ArgumentError(
                        f"argnum={argnum!r}: {name_of(fun)} is called with {len(args)} positional "
                        "arguments"
                    )

            x = tuple([args[position] for position in positions]) if several else args[positions[0]]
            if len(args) == 1 and not (several or kwargs):
                return operator(fun, x, *options, **named)
            left_out = {position % len(args) for position in positions}
            others = tuple([None if i in left_out else arg for i, arg in enumerate(args)])
            names, values = tuple(kwargs), tuple(kwargs.values())

            def unary(x: Any) -> Any:  # it holds what another call may hand over again
                given = list(others)
                for position, value in zip(positions, x if several else (x,), strict=True):
                    given[position] = value
                return call(fun, given, dict(zip(names, values, strict=True)))

            unary.__name__ = name_of(fun)
            return operator(unary, x, *options, **named)

        functools.update_wrapper(of_arguments, fun, updated=())
        return of_arguments

    del nary.__wrapped__  # type: ignore[attr-defined]  # it has another signature
    return nary


def _position(argnum: Any) -> int:
    try:
        return index(argnum)
    except TypeError:
        raise ArgumentError(
            f"argnum={argnum!r}: must be an int or a tuple of ints, the positions of arguments"
        ) from None
