"""HIPS autograd's operators on functions, from `vjp` and `grad` and with its argument names.

All of them are called as ``operator(f, argnum)(*args, **kwargs)``: `argnum` is the position of the
argument to differentiate, or a tuple of positions.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from tracegrad import core
from tracegrad.arguments.signature import name_of, names_of, signature_of
from tracegrad.errors import ArgumentError
from tracegrad.runtime.thread_state import call
from tracegrad.transforms.checkpoint import checkpoint  # noqa: F401
from tracegrad.transforms.public import grad, hessian, jacobian, value_and_grad  # noqa: F401
from tracegrad.transforms.vector_space import is_complex, vspace
from tracegrad.wrap_util import unary_to_nary

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


@unary_to_nary
def make_vjp(fun: Any, x: Any) -> Any:
    """``make_vjp(f, argnum)(*args)`` is ``(vjp, value)``: from a cotangent to the argument's.

    The two stand the other way round than what `tg.vjp` returns.

    >>> import numpy as np
    >>> from tracegrad import make_vjp
    >>> vjp, value = make_vjp(np.sin)(0.0)
    >>> print(value, vjp(2.0))
    0.0 2.0
    """
    return core.make_vjp(fun, x)


@unary_to_nary
def make_jvp(fun: Any, x: Any) -> Any:
    """``make_jvp(f, argnum)(*args)`` maps a tangent to ``(value, tangent of the value)``.

    >>> import numpy as np
    >>> from tracegrad import make_jvp
    >>> value, tangent = make_jvp(np.sin)(0.0)(2.0)
    >>> print(value, tangent)
    0.0 2.0
    """
    return core.make_jvp(fun, x)


@unary_to_nary
def make_jvp_reversemode(fun: Any, x: Any) -> Any:
    """``make_jvp_reversemode(f, argnum)(*args)`` maps a tangent to the tangent of the value.

    >>> import numpy as np
    >>> from tracegrad import make_jvp_reversemode
    >>> print(make_jvp_reversemode(np.sin)(0.0)(2.0))
    2.0
    """
    push = core.make_jvp(fun, x)
    return lambda tangent: push(tangent)[1]


@unary_to_nary
def elementwise_grad(fun: Any, x: Any) -> Any:
    """The sum of each column of the Jacobian: of an elementwise function its derivative.

    >>> import numpy as np
    >>> from tracegrad import elementwise_grad
    >>> elementwise_grad(np.square)(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    pull, value = core.make_vjp(fun, x)
    if is_complex(value):
        raise ArgumentError(
            f"elementwise_grad: {name_of(fun)} returns complex numbers; it needs real ones"
        )
    return pull(vspace(value).ones())


@unary_to_nary
def deriv(fun: Any, x: Any) -> Any:
    """The derivative along ones: of a function of one number its derivative.

    >>> import numpy as np
    >>> from tracegrad import deriv
    >>> deriv(lambda t: np.array([t, t**2]))(3.0)
    array([1., 6.])
    """
    return core.make_jvp(fun, x)(vspace(x).ones())[1]


@unary_to_nary
def holomorphic_grad(fun: Any, x: Any) -> Any:
    """The derivative of a holomorphic function of one complex number, df/dz.

    >>> from tracegrad import holomorphic_grad
    >>> print(holomorphic_grad(lambda z: z**3)(1j))
    (-3+0j)
    """
    if not is_complex(x):
        warnings.warn("holomorphic_grad: the argument is not complex", stacklevel=3)
    pull, value = core.make_vjp(lambda z: np.real(call(fun, (z,), {})), x)
    return pull(vspace(value).ones())


def grad_and_aux(fun: Callable[..., Any], argnum: Any = 0) -> Callable[..., Any]:
    """The gradient of the first of two results, and the second as it is.

    >>> from tracegrad import grad_and_aux
    >>> gradient, aux = grad_and_aux(lambda x: (x**2, 2.0 * x))(3.0)
    >>> print(gradient, aux)
    6.0 6.0
    """
    return grad(fun, argnum, has_aux=True)


def grad_named(fun: Callable[..., Any], argname: str) -> Callable[..., Any]:
    """The gradient with respect to the argument of this name.

    >>> from tracegrad import grad_named
    >>> print(grad_named(lambda x, y: x * y**2, "y")(3.0, 2.0))
    12.0
    """
    names = names_of(fun)
    if argname not in names:
        raise ArgumentError(
            f"grad_named: {name_of(fun)} has no argument {argname!r}, but ({', '.join(names)})"
        )
    return grad(fun, names.index(argname))


def multigrad_dict(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The gradients with respect to all arguments, in a dict by their names.

    >>> from tracegrad import multigrad_dict
    >>> print({k: float(v) for k, v in multigrad_dict(lambda x, y=2.0: x * y**2)(3.0).items()})
    {'x': 4.0, 'y': 12.0}
    """
    signature = signature_of(fun)
    gradient = grad(lambda named: call(fun, *_arguments(signature, named)))

    @functools.wraps(fun)
    def of_arguments(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return OrderedDict(gradient(dict(bound.arguments)))

    return of_arguments


def _arguments(signature: inspect.Signature, named: dict[str, Any]) -> tuple[Any, Any]:
    """A call's positional and named arguments, from what each parameter holds."""
    bound = inspect.BoundArguments(signature, OrderedDict(named))
    return bound.args, bound.kwargs


# -- second derivatives and products --------------------------------------------------------------


@unary_to_nary
def make_hvp(fun: Any, x: Any) -> Any:
    """``make_hvp(f, argnum)(*args)`` is ``(hvp, gradient)``: hvp maps v to the Hessian times v.

    >>> import numpy as np
    >>> from tracegrad import make_hvp
    >>> hvp, gradient = make_hvp(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    >>> hvp(np.array([1.0, 0.0]))
    array([6., 0.])
    """
    return core.make_vjp(grad(fun), x)


def hessian_tensor_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function of ``(*args, v)``: the Hessian, contracted with v over all its axes.

    >>> import numpy as np
    >>> from tracegrad import hessian_tensor_product
    >>> product = hessian_tensor_product(lambda x: np.sum(x**3))
    >>> product(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    """
    gradient = grad(fun, argnum)

    def product(*args: Any, **kwargs: Any) -> Any:
        *given, v = args
        return np.tensordot(gradient(*given, **kwargs), v, np.ndim(v))

    return grad(product, argnum)


hessian_vector_product = hessian_tensor_product


def tensor_jacobian_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function of ``(*args, v)``: v, contracted with the first axes of the Jacobian.

    >>> import numpy as np
    >>> from tracegrad import tensor_jacobian_product
    >>> product = tensor_jacobian_product(lambda x: x * x[0])
    >>> product(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([4., 1.])
    """

    def product(*args: Any, **kwargs: Any) -> Any:
        *given, v = args
        pull, value = make_vjp(fun, argnum)(*given, **kwargs)
        rest = np.shape(value)[np.ndim(v) :]
        if not rest:
            return pull(v)
        rows = [pull(np.multiply.outer(v, e)) for e in vspace(np.zeros(rest)).standard_basis()]
        return np.reshape(np.stack(rows), (*rest, *np.shape(given[argnum])))

    return product


vector_jacobian_product = tensor_jacobian_product


def _half_square(y: Any) -> Any:
    return 0.5 * np.sum(y**2, axis=-1)


def make_ggnvp(
    f: Callable[..., Any], g: Callable[..., Any] = _half_square, f_argnum: int = 0
) -> Callable[..., Any]:
    """``make_ggnvp(f, g)(*args)`` maps v to the generalised Gauss-Newton matrix times v.

    The matrix of ``g(f(x))`` is ``J.T @ H @ J``, where J is the Jacobian of `f` and H the Hessian
    of `g` (Schraudolph, 2002).

    >>> import numpy as np
    >>> from tracegrad import make_ggnvp
    >>> make_ggnvp(lambda x: 3.0 * x)(np.array([1.0, 2.0]))(np.array([1.0, 0.0]))
    array([9., 0.])
    """

    @unary_to_nary
    def product(f: Any, x: Any) -> Any:
        pull, value = core.make_vjp(f, x)
        hvp, _ = core.make_vjp(grad(g), value)
        push = core.make_jvp(f, x)
        return lambda v: pull(hvp(push(v)[1]))

    return product(f, f_argnum)  # type: ignore[no-any-return]
