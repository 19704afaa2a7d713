"""HIPS autograd's operators on functions of one value: ``make_vjp(f, x)`` and ``make_jvp(f, x)``."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable, Sequence
from typing import Any

from tracegrad.extend import primitive as primitive
from tracegrad.transforms.vector_space import VSpace

__all__ = [
    "VSpace",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "getval",
    "isbox",
    "make_jvp",
    "make_vjp",
    "primitive",
    "vspace",
]

def def_linear(fun: Any) -> None:
    """Says that a `primitive` is linear in each of its arguments; it is looked into after all."""

def defjvp(fun: Any, *jvpfuns: Any, argnums: Sequence[int] | None = None) -> None:
    """Gives a `primitive` one rule an argument, ``jvpfun(g, ans, *args, **kwargs)``.

    ``"same"`` stands for a function that is linear in this argument, and that is looked into to be
    transposed; None for a derivative of zero.
    Reverse derivatives are the transpose, where there is no `defvjp`; where there is, forward ones
    are the transpose of that.
    """

def defjvp_argnum(fun: Any, jvpmaker: Callable[..., Any]) -> None:
    """Gives a `primitive` the rule ``jvpmaker(argnum, g, ans, args, kwargs)``."""

def defjvp_argnums(fun: Any, jvpmaker: Callable[..., Any]) -> None:
    """Gives a `primitive` the rule ``jvpmaker(argnums, gs, ans, args, kwargs)``."""

def defvjp(fun: Any, *vjpmakers: Any, argnums: Sequence[int] | None = None) -> None:
    """Gives a `primitive` one rule an argument, ``vjpmaker(ans, *args, **kwargs)(g)``.

    None stands for a derivative of zero. `argnums` says which arguments the rules are for, default
    the first ones. Functions of NumPy's and SciPy's for which tracegrad has no derivative may get
    rules as well. A rule for any other function is not used, and a warning says so.
    """

def defvjp_argnum(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """Gives a `primitive` the rule ``vjpmaker(argnum, ans, args, kwargs)(g)``."""

def defvjp_argnums(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """Gives a `primitive` the rule ``vjpmaker(argnums, ans, args, kwargs)(g)``."""

def getval(x: Any) -> Any:
    """The value without its derivative; in a compiled function it is still the one of the call."""

def isbox(x: Any) -> bool:
    """Whether a value is traced or has a history: a Tensor."""

def make_jvp(fun: Callable[..., Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """The map from tangents of x to ``fun(x)`` and its tangent.

    >>> import numpy as np
    >>> from tracegrad.core import make_jvp
    >>> value, tangent = make_jvp(np.sin, 0.0)(2.0)
    >>> print(value, tangent)
    0.0 2.0
    """

def make_vjp(fun: Callable[..., Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """The map from cotangents of ``fun(x)`` to cotangents of x, and ``fun(x)``.

    >>> import numpy as np
    >>> from tracegrad.core import make_vjp
    >>> pull, value = make_vjp(np.sin, 0.0)
    >>> print(value, pull(2.0))
    0.0 2.0
    """

def vspace(value: Any) -> VSpace:
    """The vector space of a value: HIPS autograd's name for `VSpace`.

    >>> import numpy as np
    >>> from tracegrad.extend import vspace
    >>> vspace({"w": np.ones(2), "b": 1.0}).zeros()
    {'w': array([0., 0.]), 'b': array(0.)}
    """
