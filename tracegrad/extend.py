"""HIPS autograd's ways to give functions derivatives: ``primitive``, ``defvjp`` and their like.

>>> import numpy as np
>>> from tracegrad import grad
>>> from tracegrad.extend import defvjp, primitive
>>> @primitive
... def log1pexp(x):
...     return np.logaddexp(0.0, x)
>>> defvjp(log1pexp, lambda ans, x: lambda g: g / (1.0 + np.exp(-x)))
>>> print(grad(log1pexp)(0.0))
0.5
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracegrad.arguments.signature import name_of
from tracegrad.errors import ArgumentError, NotDifferentiableError, warn_caller
from tracegrad.ops.elementwise.ufuncs import stop_gradient
from tracegrad.runtime.thread_state import call
from tracegrad.tensors.numpy_protocols import has_counterpart, is_of_numpy
from tracegrad.tensors.tensor import Tensor as Box
from tracegrad.transforms.custom_rule_functions import Rule, Ruled, Written
from tracegrad.transforms.custom_rules import transposed
from tracegrad.transforms.vector_space import VSpace, vspace
from tracegrad.user_code.program_points import line_of_function
from tracegrad.values import given_rules
from tracegrad.values.pytree import map_tree
from tracegrad.world.scipy_table import counterpart, is_of_scipy

__all__ = [
    "Box",
    "VSpace",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "notrace_primitive",
    "primitive",
    "vspace",
]


class primitive(Ruled):
    """Decorates a function that is not looked into: `defvjp` or `defjvp` gives its derivative.

    It runs on plain arrays, and as a call by name in generated source. Arguments that are given by
    name have no derivative.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> from tracegrad.extend import defvjp
    >>> @tg.primitive
    ... def cube(x):
    ...     return x**3
    >>> defvjp(cube, lambda ans, x: lambda g: g * 3.0 * x**2)
    >>> tg.grad(cube)(2.0)
    np.float64(12.0)
    """

    missing = "give it with defvjp(f, ...) or defjvp(f, ...)"
    _by_position = False

    def __init__(self, f_raw: Callable[..., Any]) -> None:
        super().__init__(f_raw)
        self.fun = f_raw

    def pulls_by(
        self,
        maker: Callable[..., Any],
        users: Sequence[Any],
        makers: Mapping[int, Any] | None = None,
    ) -> None:
        """``maker(argnums, ans, args, kwargs)`` gives a function of the cotangent.

        `makers` are the rules of single arguments that it stands for, if it does.
        """

        def forward(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
            ans = self._function(*args, **kwargs)
            return ans, (ans, args, kwargs)

        def backward(kept: Any, cotangent: Any, asked: tuple[int, ...]) -> list[Any]:
            ans, args, kwargs = kept
            pull = call(maker, (asked, ans, args, kwargs), {})
            found: list[Any] = [None] * len(args)
            for argnum, ct in zip(asked, call(pull, (cotangent,), {}), strict=True):
                found[argnum] = ct
            return found

        written = None if makers is None else Written(self._forward_lines, _pulling(makers))
        self._follows(
            Rule(forward, backward, source=self._source(users, makers or {})), users, written
        )
        self.has_vjp = True

    def _source(self, users: Sequence[Any], makers: Mapping[int, Any]) -> Callable[[Any], Any]:
        """The function whose line messages name: the rule of an argument, or the first rule."""
        first = next(filter(callable, users), self._function)
        return lambda which: makers.get(which) or first

    def _forward_lines(self, name: Any, args: list[str], kwargs: dict[str, str]) -> list[str]:
        named = ", ".join(f'"{key}": {text}' for key, text in kwargs.items())
        return [
            f"args, kwargs = ({''.join(f'{x}, ' for x in args)}), {{{named}}}",
            f"value = {name(self._function)}(*args, **kwargs)",
            "kept = value, args, kwargs",
        ]

    has_vjp = False

    def pushes_by(self, maker: Callable[..., Any], users: Sequence[Any]) -> None:
        """``maker(argnums, gs, ans, args, kwargs)`` gives the tangent of the value.

        Where `defvjp` gave the transpose already, that stays.
        """
        if self.has_vjp:
            return

        def forward(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
            ans = self._function(*args, **kwargs)
            return ans, (ans, args, kwargs)

        def push(kept: Any, tangents: Any, asked: tuple[int, ...]) -> Any:
            ans, args, kwargs = kept
            gs = [tangents[argnum] for argnum in asked]
            return call(maker, (asked, gs, ans, args, kwargs), {})

        def backward(kept: Any, cotangent: Any, asked: tuple[int, ...]) -> Any:
            return transposed(self, made, kept, kept[1:], cotangent, asked, asked)

        made = Rule(forward, backward, push, self._source(users, {}))
        self._follows(made, users)


def _pulling(makers: Mapping[int, Any]) -> Callable[..., list[str]]:
    """Writes the cotangents that rules of single arguments give."""

    def lines(name: Any, cotangent: str, asked: list[int]) -> list[str]:
        made = ["value, args, kwargs = kept", "found = [None] * len(args)"]
        for argnum in asked:
            if makers.get(argnum) is not None:
                rule = name(makers[argnum])
                made.append(f"found[{argnum}] = {rule}(value, *args, **kwargs)({cotangent})")
        return made

    return lines


def notrace_primitive(f_raw: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function through which no derivative flows: what it gets are constants.

    >>> from tracegrad import grad
    >>> from tracegrad.extend import notrace_primitive
    >>> @notrace_primitive
    ... def scale(x):
    ...     return abs(x)
    >>> print(grad(lambda x: x * scale(x))(3.0))
    3.0
    """

    def called(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = map_tree(_constant, (args, kwargs))
        return call(f_raw, args, kwargs)

    functools.update_wrapper(called, f_raw, updated=())
    return called


def _constant(x: Any) -> Any:
    return stop_gradient(x) if isinstance(x, Box) else x


# -- reverse -----------------------------------------------------------------------------------


def defvjp(fun: Any, *vjpmakers: Any, argnums: Sequence[int] | None = None) -> None:
    """Gives a `primitive` one rule an argument, ``vjpmaker(ans, *args, **kwargs)(g)``.

    None stands for a derivative of zero. `argnums` says which arguments the rules are for, default
    the first ones. Functions of NumPy's and SciPy's for which tracegrad has no derivative may get
    rules as well. A rule for any other function is not used, and a warning says so.
    """
    makers = _numbered(fun, vjpmakers, argnums, "VJP")

    def maker(asked: Sequence[int], ans: Any, args: Any, kwargs: Any) -> Any:
        rules = [_rule_for(fun, makers, argnum, "VJP") for argnum in asked]
        pulls = [None if rule is None else call(rule, (ans, *args), kwargs) for rule in rules]
        return lambda g: [None if pull is None else call(pull, (g,), {}) for pull in pulls]

    _given(fun, lambda f: f.pulls_by(maker, vjpmakers, makers))


def defvjp_argnum(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """Gives a `primitive` the rule ``vjpmaker(argnum, ans, args, kwargs)(g)``."""

    def maker(asked: Sequence[int], ans: Any, args: Any, kwargs: Any) -> Any:
        pulls = [call(vjpmaker, (argnum, ans, args, kwargs), {}) for argnum in asked]
        return lambda g: [call(pull, (g,), {}) for pull in pulls]

    _given(fun, lambda f: f.pulls_by(maker, (vjpmaker,)))


def defvjp_argnums(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """Gives a `primitive` the rule ``vjpmaker(argnums, ans, args, kwargs)(g)``."""
    _given(fun, lambda f: f.pulls_by(vjpmaker, (vjpmaker,)))


# -- forward -----------------------------------------------------------------------------------


def defjvp(fun: Any, *jvpfuns: Any, argnums: Sequence[int] | None = None) -> None:
    """Gives a `primitive` one rule an argument, ``jvpfun(g, ans, *args, **kwargs)``.

    ``"same"`` stands for a function that is linear in this argument, and that is looked into to be
    transposed; None for a derivative of zero.
    Reverse derivatives are the transpose, where there is no `defvjp`; where there is, forward ones
    are the transpose of that.
    """
    rules = _numbered(fun, jvpfuns, argnums, "JVP")

    def maker(asked: Sequence[int], gs: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        total = None
        for argnum, g in zip(asked, gs, strict=True):
            rule = _rule_for(fun, rules, argnum, "JVP")
            if rule is None:
                continue
            if rule == "same":
                tangent = call(_looked_into(fun), [*args[:argnum], g, *args[argnum + 1 :]], kwargs)
            else:
                tangent = call(rule, (g, ans, *args), kwargs)
            total = tangent if total is None else vspace(ans).add(total, tangent)
        return vspace(ans).zeros() if total is None else total

    _given(fun, lambda f: f.pushes_by(maker, jvpfuns))


def defjvp_argnum(fun: Any, jvpmaker: Callable[..., Any]) -> None:
    """Gives a `primitive` the rule ``jvpmaker(argnum, g, ans, args, kwargs)``."""
    _given(fun, lambda f: f.pushes_by(_one_by_one(jvpmaker), (jvpmaker,)))


def _one_by_one(jvpmaker: Callable[..., Any]) -> Callable[..., Any]:
    """One rule for all arguments of a rule for each of them."""

    def maker(asked: Sequence[int], gs: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        pairs = zip(asked, gs, strict=True)
        tangents = [call(jvpmaker, (argnum, g, ans, args, kwargs), {}) for argnum, g in pairs]
        return functools.reduce(vspace(ans).add, tangents)

    return maker


def defjvp_argnums(fun: Any, jvpmaker: Callable[..., Any]) -> None:
    """Gives a `primitive` the rule ``jvpmaker(argnums, gs, ans, args, kwargs)``."""
    _given(fun, lambda f: f.pushes_by(jvpmaker, (jvpmaker,)))


def def_linear(fun: Any) -> None:
    """Says that a `primitive` is linear in each of its arguments; it is looked into after all."""

    def same(argnum: int, g: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        return call(_looked_into(fun), [*args[:argnum], g, *args[argnum + 1 :]], kwargs)

    _given(fun, lambda f: f.pushes_by(_one_by_one(same), (_looked_into(fun),)))


def _looked_into(fun: Any) -> Callable[..., Any]:
    """The function that a primitive was made of."""
    function: Callable[..., Any] = fun.fun if isinstance(fun, primitive) else fun
    return function


def _given(fun: Any, give: Callable[[primitive], None]) -> None:
    """Gives a rule to a `primitive`, or to a function of NumPy's or SciPy's that has none here.

    As in HIPS autograd, a rule for a plain function has no effect.
    """
    ruled = fun if isinstance(fun, primitive) else given_rules.with_rule(fun)
    if isinstance(ruled, primitive):
        give(ruled)
    elif isinstance(fun, Ruled) or not callable(fun):
        raise ArgumentError(
            f"{name_of(fun)} is no primitive: decorate a function with @primitive, and give that "
            "its derivative"
        )
    elif _has_derivative(fun):
        warn_caller(
            f"{name_of(fun)}: tracegrad differentiates it itself, and does not use this rule; a "
            "function of your own, decorated with @primitive, has the rule that you give it",
            UserWarning,
        )
    elif is_of_numpy(fun) or is_of_scipy(fun):
        ruled = primitive(fun)
        give(ruled)
        given_rules.give(fun, ruled)
    else:
        warn_caller(
            f"{name_of(fun)} is no primitive: this rule has no effect, and what the function does "
            "is differentiated; decorate it with @primitive, for its rule to count",
            UserWarning,
        )


def _has_derivative(fun: Any) -> bool:
    """Whether a function is of tracegrad's own, or one that it computes in another's place."""
    if (getattr(fun, "__module__", None) or "").partition(".")[0] == "tracegrad":
        return True
    if is_of_numpy(fun):
        return has_counterpart(fun)
    return is_of_scipy(fun) and counterpart(fun, ()) is not None


def _numbered(fun: Any, rules: Sequence[Any], argnums: Any, kind: str) -> dict[int, Any]:
    for rule in rules:
        if not (rule is None or callable(rule) or (rule == "same" and kind == "JVP")):
            raise ArgumentError(f"{name_of(fun)}: {rule!r} is no {kind}; give a function, or None")
    return dict(zip(range(len(rules)) if argnums is None else argnums, rules, strict=False))


def _rule_for(fun: Any, rules: dict[int, Any], argnum: int, kind: str) -> Any:
    if argnum not in rules:
        raise NotDifferentiableError(
            f"{name_of(fun)}: no {kind} was given for argument {argnum}; None says that it is zero"
            f"{line_of_function(_looked_into(fun))}"
        )
    return rules[argnum]
