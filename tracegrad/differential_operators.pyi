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
    """The derivative along ones: of a function of one number its derivative.

    >>> import numpy as np
    >>> from tracegrad import deriv
    >>> deriv(lambda t: np.array([t, t**2]))(3.0)
    array([1., 6.])
    """

def elementwise_grad(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """The sum of each column of the Jacobian: of an elementwise function its derivative.

    >>> import numpy as np
    >>> from tracegrad import elementwise_grad
    >>> elementwise_grad(np.square)(np.array([1.0, 2.0]))
    array([2., 4.])
    """

def grad_and_aux(fun: Callable[..., Any], argnum: Any = 0) -> Callable[..., Any]:
    """The gradient of the first of two results, and the second as it is.

    >>> from tracegrad import grad_and_aux
    >>> gradient, aux = grad_and_aux(lambda x: (x**2, 2.0 * x))(3.0)
    >>> print(gradient, aux)
    6.0 6.0
    """

def grad_named(fun: Callable[..., Any], argname: str) -> Callable[..., Any]:
    """The gradient with respect to the argument of this name.

    >>> from tracegrad import grad_named
    >>> print(grad_named(lambda x, y: x * y**2, "y")(3.0, 2.0))
    12.0
    """

def hessian_tensor_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function of ``(*args, v)``: the Hessian, contracted with v over all its axes.

    >>> import numpy as np
    >>> from tracegrad import hessian_tensor_product
    >>> product = hessian_tensor_product(lambda x: np.sum(x**3))
    >>> product(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    """

def hessian_vector_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function of ``(*args, v)``: the Hessian, contracted with v over all its axes.

    >>> import numpy as np
    >>> from tracegrad import hessian_tensor_product
    >>> product = hessian_tensor_product(lambda x: np.sum(x**3))
    >>> product(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    """

def holomorphic_grad(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """The derivative of a holomorphic function of one complex number, df/dz.

    >>> from tracegrad import holomorphic_grad
    >>> print(holomorphic_grad(lambda z: z**3)(1j))
    (-3+0j)
    """

def make_ggnvp(
    f: Callable[..., Any], g: Callable[..., Any] = ..., f_argnum: int = 0
) -> Callable[..., Any]:
    """``make_ggnvp(f, g)(*args)`` maps v to the generalised Gauss-Newton matrix times v.

    The matrix of ``g(f(x))`` is ``J.T @ H @ J``, where J is the Jacobian of `f` and H the Hessian
    of `g` (Schraudolph, 2002).

    >>> import numpy as np
    >>> from tracegrad import make_ggnvp
    >>> make_ggnvp(lambda x: 3.0 * x)(np.array([1.0, 2.0]))(np.array([1.0, 0.0]))
    array([9., 0.])
    """

def make_hvp(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """``make_hvp(f, argnum)(*args)`` is ``(hvp, gradient)``: hvp maps v to the Hessian times v.

    >>> import numpy as np
    >>> from tracegrad import make_hvp
    >>> hvp, gradient = make_hvp(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    >>> hvp(np.array([1.0, 0.0]))
    array([6., 0.])
    """

def make_jvp(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """``make_jvp(f, argnum)(*args)`` maps a tangent to ``(value, tangent of the value)``.

    >>> import numpy as np
    >>> from tracegrad import make_jvp
    >>> value, tangent = make_jvp(np.sin)(0.0)(2.0)
    >>> print(value, tangent)
    0.0 2.0
    """

def make_jvp_reversemode(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """``make_jvp_reversemode(f, argnum)(*args)`` maps a tangent to the tangent of the value.

    >>> import numpy as np
    >>> from tracegrad import make_jvp_reversemode
    >>> print(make_jvp_reversemode(np.sin)(0.0)(2.0))
    2.0
    """

def make_vjp(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> Any:
    """``make_vjp(f, argnum)(*args)`` is ``(vjp, value)``: from a cotangent to the argument's.

    The two stand the other way round than what `tg.vjp` returns.

    >>> import numpy as np
    >>> from tracegrad import make_vjp
    >>> vjp, value = make_vjp(np.sin)(0.0)
    >>> print(value, vjp(2.0))
    0.0 2.0
    """

def multigrad_dict(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The gradients with respect to all arguments, in a dict by their names.

    >>> from tracegrad import multigrad_dict
    >>> print({k: float(v) for k, v in multigrad_dict(lambda x, y=2.0: x * y**2)(3.0).items()})
    {'x': 4.0, 'y': 12.0}
    """

def tensor_jacobian_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function of ``(*args, v)``: v, contracted with the first axes of the Jacobian.

    >>> import numpy as np
    >>> from tracegrad import tensor_jacobian_product
    >>> product = tensor_jacobian_product(lambda x: x * x[0])
    >>> product(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([4., 1.])
    """

def vector_jacobian_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function of ``(*args, v)``: v, contracted with the first axes of the Jacobian.

    >>> import numpy as np
    >>> from tracegrad import tensor_jacobian_product
    >>> product = tensor_jacobian_product(lambda x: x * x[0])
    >>> product(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([4., 1.])
    """
