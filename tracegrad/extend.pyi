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
    """Decorates a function that is not looked into: `defvjp` or `defjvp` gives its derivative."""

    fun: Any
    def __init__(self, f_raw: Callable[..., Any]) -> None: ...
    has_vjp: Any
    def pulls_by(
        self,
        maker: Callable[..., Any],
        users: Sequence[Any],
        makers: Mapping[int, Any] | None = None,
    ) -> None:
        """``maker(argnums, ans, args, kwargs)`` gives a function of the cotangent."""
    def pushes_by(self, maker: Callable[..., Any], users: Sequence[Any]) -> None:
        """``maker(argnums, gs, ans, args, kwargs)`` gives the tangent of the value."""

def def_linear(fun: primitive) -> None:
    """Says that a `primitive` is linear in each of its arguments; it is looked into after all."""

def defjvp(fun: primitive, *jvpfuns: Any, argnums: Sequence[int] | None = None) -> None:
    """Gives a `primitive` one rule an argument, ``jvpfun(g, ans, *args, **kwargs)``."""

def defjvp_argnum(fun: primitive, jvpmaker: Callable[..., Any]) -> None:
    """Gives a `primitive` the rule ``jvpmaker(argnum, g, ans, args, kwargs)``."""

def defjvp_argnums(fun: primitive, jvpmaker: Callable[..., Any]) -> None:
    """Gives a `primitive` the rule ``jvpmaker(argnums, gs, ans, args, kwargs)``."""

def defvjp(fun: primitive, *vjpmakers: Any, argnums: Sequence[int] | None = None) -> None:
    """Gives a `primitive` one rule an argument, ``vjpmaker(ans, *args, **kwargs)(g)``."""

def defvjp_argnum(fun: primitive, vjpmaker: Callable[..., Any]) -> None:
    """Gives a `primitive` the rule ``vjpmaker(argnum, ans, args, kwargs)(g)``."""

def defvjp_argnums(fun: primitive, vjpmaker: Callable[..., Any]) -> None:
    """Gives a `primitive` the rule ``vjpmaker(argnums, ans, args, kwargs)(g)``."""

def notrace_primitive(f_raw: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function through which no derivative flows: what it gets are constants."""

def vspace(value: Any) -> VSpace:
    """The vector space of a value: HIPS autograd's name for `VSpace`."""
