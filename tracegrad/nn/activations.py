"""An array enters, what networks apply to each element, or along one axis, leaves."""

from __future__ import annotations

from typing import Any

from codegen.ir import Trait
from codegen.types import is_inexact, weak
from tracegrad.dispatch import dtype_of
from tracegrad.errors import ArgumentError
from tracegrad.ops import activations as base
from tracegrad.ops import softmax as soft
from tracegrad.ops.activations import as_inexact
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise import exp, expm1, tanh, where
from tracegrad.ops.record import define
from tracegrad.ops.rules import ufunc
from tracegrad.ops.windows import needs

SQRT_HALF = 0.7071067811865476
DENSITY = 0.3989422804014327  # of the normal distribution at 0: 1 / sqrt(2 pi)
TANH_SCALE = 0.7978845608028654  # sqrt(2 / pi)


# fmt: off
def normal_cdf(x):
    """The normal distribution function: erfc(-x / sqrt(2)) / 2, by a Chebyshev series."""
    series = (
        -0.6513268598908547, 0.6419697923564902, 0.019476473204185836,
        -0.009561514786808632, -0.0009465953444820369, 0.00036683949785276145,
        4.252332480690777e-05, -2.0278578112534242e-05, -1.6242900046470256e-06,
        1.3036558355805232e-06, 1.5626441722066142e-08, -8.523809591492654e-08,
        6.5290544390988515e-09, 5.059343495551469e-09, -9.91364156493033e-10,
        -2.273651222931836e-10, 9.646791102015527e-11, 2.3940380830391146e-12,
        -6.886027526497553e-12, 8.944879273090725e-13, 3.130921399342958e-13,
        -1.1270822361367252e-13, 3.810905255189232e-16, 7.106097613609237e-15,
        -1.5230282014571043e-15, -9.457494571291233e-17,
    )
    z = np.abs(x) * 0.7071067811865476  # noqa: F821
    t = 2.0 / (2.0 + z)
    if t.dtype.itemsize < 8:
        series = series[:14]
    u, b, c = 4.0 * t - 2.0, 0.0, 0.0  # Clenshaw's recurrence for the series in 2 t - 1
    for a in series[:0:-1]:
        b, c = u * b - c + a, b
    upper = 0.5 * t * np.exp(0.5 * u * b - c + series[0] - z * z)  # noqa: F821
    return np.where(x < 0.0, upper, 1.0 - upper)  # noqa: F821
# fmt: on


cdf = define(
    "normal_cdf",
    "normal_cdf(x)",
    jax="jax.scipy.special.ndtr(x)",
    infer=lambda sizes, x: ufunc("minimum")(sizes, x, weak("float")),
    vjp=lambda ct, y, x: (ct * (DENSITY * exp(x * x * -0.5)),),
    traits=(Trait.ELEMENTWISE,),
    needs=needs((normal_cdf,)),
    domain="floating",
    doc="The distribution function of the normal distribution.",
)


def relu(input: Any) -> Any:
    """``max(input, 0)``; the derivative at 0 is 0."""
    return base.relu(as_array(input))


def sigmoid(input: Any) -> Any:
    """``1 / (1 + exp(-input))``, accurate for all numbers."""
    return base.sigmoid(input)


def gelu(input: Any, approximate: str = "none") -> Any:
    """``input * P(X <= input)`` for a normal X (Hendrycks and Gimpel, 2016).

    approximate
        ``"none"``, or ``"tanh"`` for ``0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x**3)))``,
        which is several times as fast.
    """
    x = as_inexact(input)
    if approximate == "tanh":
        inner = TANH_SCALE * (x + 0.044715 * (x * x * x))
        return 0.5 * x * (1.0 + tanh(inner))
    if approximate != "none":
        raise ArgumentError(f'gelu: approximate={approximate!r} must be "none" or "tanh"')
    return x * cdf(x)


def silu(input: Any) -> Any:
    """``input * sigmoid(input)``, also called swish."""
    x = as_inexact(input)
    return x * base.sigmoid(x)


def elu(input: Any, alpha: float = 1.0) -> Any:
    """``input`` where it is positive, else ``alpha * (exp(input) - 1)``."""
    x = as_inexact(input)
    positive = x > 0
    return where(positive, x, alpha * expm1(where(positive, 0.0, x)))


def leaky_relu(input: Any, negative_slope: float = 0.01) -> Any:
    """``input`` where it is positive, else ``negative_slope * input``."""
    x = as_inexact(input)
    return where(x > 0, x, negative_slope * x)


def softplus(input: Any, beta: float = 1.0) -> Any:
    """``log(1 + exp(beta * input)) / beta``, accurate for all numbers.

    Nothing overflows, so there is no threshold above which it is taken as linear.
    """
    x = as_inexact(input)
    return base.softplus(x) if beta == 1 else base.softplus(beta * x) / beta


def softmax(input: Any, dim: int = -1, dtype: Any = None, *, axis: int | None = None) -> Any:
    """``exp(input)`` over its sum along `dim`, without overflow."""
    return soft.softmax(_in_dtype(input, dtype), axis=dim if axis is None else axis)


def log_softmax(input: Any, dim: int = -1, dtype: Any = None, *, axis: int | None = None) -> Any:
    """``log(softmax(input))``, exact where the softmax underflows."""
    return soft.log_softmax(_in_dtype(input, dtype), axis=dim if axis is None else axis)


def _in_dtype(x: Any, dtype: Any) -> Any:
    from tracegrad.ops.creation import astype

    x = as_inexact(x) if dtype is None else astype(as_array(x), dtype)
    if not is_inexact(dtype_of(x)):
        raise ArgumentError(f"softmax: dtype={dtype} must be a floating-point dtype")
    return x
