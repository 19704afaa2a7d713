"""HIPS autograd's operators on functions, from `vjp` and `grad` and with its argument names."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable
from typing import Any

__all__ = [
    "deriv",
    "elementwise_grad",
    "grad_and_aux",
    "grad_named",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "multigrad_dict",
    "tensor_jacobian_product",
    "vector_jacobian_product",
]

def deriv(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """The derivative along ones: of a function of one number its derivative."""

def elementwise_grad(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """The sum of each column of the Jacobian: of an elementwise function its derivative."""

def grad_and_aux(fun: Callable[..., Any], argnum: Any = 0) -> Callable[..., Any]:
    """The gradient of the first of two results, and the second as it is."""

def grad_named(fun: Callable[..., Any], argname: str) -> Callable[..., Any]:
    """The gradient with respect to the argument of this name."""

def hessian_tensor_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function of ``(*args, v)``: the Hessian, contracted with v over all its axes."""

def hessian_vector_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function of ``(*args, v)``: the Hessian, contracted with v over all its axes."""

def holomorphic_grad(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """The derivative of a holomorphic function of one complex number, df/dz."""

def make_ggnvp(
    f: Callable[..., Any], g: Callable[..., Any] = ..., f_argnum: int = 0
) -> Callable[..., Any]:
    """``make_ggnvp(f, g)(*args)`` maps v to the generalised Gauss-Newton matrix times v."""

def make_hvp(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """``make_hvp(f, argnum)(*args)`` is ``(hvp, gradient)``: hvp maps v to the Hessian times v."""

def make_jvp(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """``make_jvp(f, argnum)(*args)`` maps a tangent to ``(value, tangent of the value)``."""

def make_jvp_reversemode(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """``make_jvp_reversemode(f, argnum)(*args)`` maps a tangent to the tangent of the value."""

def make_vjp(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """``make_vjp(f, argnum)(*args)`` is ``(vjp, value)``: from a cotangent to the argument's."""

def multigrad_dict(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The gradients with respect to all arguments, in a dict by their names."""

def tensor_jacobian_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function of ``(*args, v)``: v, contracted with the first axes of the Jacobian."""

def vector_jacobian_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function of ``(*args, v)``: v, contracted with the first axes of the Jacobian."""
