"""HIPS autograd's ways to give functions derivatives: ``primitive``, ``defvjp`` and their like."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracegrad.tensors.tensor import Tensor as Box
from tracegrad.transforms.custom_rule_functions import Ruled
from tracegrad.transforms.vector_space import VSpace

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

    fun: Any
    def __init__(self, f_raw: Callable[..., Any]) -> None: ...
    has_vjp: Any
    def pulls_by(
        self,
        maker: Callable[..., Any],
        users: Sequence[Any],
        makers: Mapping[int, Any] | None = None,
    ) -> None:
        """``maker(argnums, ans, args, kwargs)`` gives a function of the cotangent.

        `makers` are the rules of single arguments that it stands for, if it does.
        """
    def pushes_by(self, maker: Callable[..., Any], users: Sequence[Any]) -> None:
        """``maker(argnums, gs, ans, args, kwargs)`` gives the tangent of the value.

        Where `defvjp` gave the transpose already, that stays.
        """

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

def vspace(value: Any) -> VSpace:
    """The vector space of a value: HIPS autograd's name for `VSpace`.

    >>> import numpy as np
    >>> from tracegrad.extend import vspace
    >>> vspace({"w": np.ones(2), "b": 1.0}).zeros()
    {'w': array([0., 0.]), 'b': array(0.)}
    """
