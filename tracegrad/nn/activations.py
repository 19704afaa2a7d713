"""Activation functions of neural networks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from codegen.ir import Trait
from codegen.types import is_inexact, weak
from tracegrad.errors import ArgumentError
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise import activations as base
from tracegrad.ops.elementwise.activations import as_inexact
from tracegrad.ops.elementwise.ufuncs import exp, expm1, tanh, where
from tracegrad.ops.program_functions import needs
from tracegrad.ops.record import define
from tracegrad.ops.reductions import softmax as soft
from tracegrad.ops.shape.reshaping import astype
from tracegrad.ops.type_rules import ufunc
from tracegrad.values.dispatch import dtype_of
from tracegrad.world import jax_table

DENSITY = 0.3989422804014327  # of the normal distribution at 0: 1 / sqrt(2 pi)
TANH_SCALE = 0.7978845608028654  # sqrt(2 / pi)


# fmt: off
def normal_cdf(x):
    """The normal distribution function, erfc(-x / sqrt(2)) / 2, by a series."""
    series = (
        -1.5867042924138042e-09, -1.2776086554968677e-08, 3.972203547273795e-08,
        7.745572408758512e-08, -3.168341367694147e-07, -4.146853754663642e-08,
        1.3267813608518889e-06, -1.409445991433531e-06, -3.007645434410669e-06,
        8.662535397475538e-06, 1.6992332312276997e-07, -3.023784054007137e-05,
        3.173310599377061e-05, 7.141810433422301e-05, -0.00017429984933155647,
        -9.373894767667295e-05, 0.0006736782697069831, -0.00014624628742128406,
        -0.002345812444802156, 0.001758933507402803, 0.008824938553738762,
        -0.009872689364099222, -0.046895610231083025, 0.047343306841863525,
        0.672643223977656, -0.6717940840566922,
    )
    z = np.abs(x) * 0.7071067811865476  # noqa: F821
    t = 2.0 / (2.0 + z)
    if t.dtype.itemsize < 8:
        series = (
            -8.728381021688478e-05, 8.000738161697865e-06, 0.0005737663720050471,
            -0.00022791096599906395, -0.002288765238593006, 0.0017940662497394012,
            0.008808825369385993, -0.009880019324020219, -0.046893640559962625,
            0.047343887612987114, 0.672643154774543, -0.6717940916807759,
        )
    u = 2.0 * t - 1.0
    upper = series[0] * u + series[1]
    for coefficient in series[2:]:
        upper *= u
        upper += coefficient
    upper = 0.5 * t * np.exp(upper - z * z)  # noqa: F821
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


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """``log(1 + exp(beta * input)) / beta``, and `input` where that is larger than a threshold.

    Parameters
    ----------
    input
        Any shape; integers become float64.
    beta
        How steep it is at 0.
    threshold
        Where ``beta * input`` is larger, the result is `input` itself and its derivative 1. Nothing
        overflows, so ``math.inf`` gives the function without a threshold.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.nn.softplus(tg.tensor([0.0, 5.0]), threshold=4.0)
    tensor([0.6931, 5.0000])
    """
    x = as_inexact(input)
    scaled = x if beta == 1 else beta * x
    smooth = base.softplus(x) if beta == 1 else base.softplus(scaled) / beta
    return smooth if threshold == math.inf else where(scaled > threshold, x, smooth)


def softmax(input: Any, dim: int = -1, dtype: Any = None, *, axis: int | None = None) -> Any:
    """``exp(input)`` over its sum along `dim`, without overflow."""
    return soft.softmax(_in_dtype(input, dtype), axis=dim if axis is None else axis)


def log_softmax(input: Any, dim: int = -1, dtype: Any = None, *, axis: int | None = None) -> Any:
    """``log(softmax(input))``, exact where the softmax underflows."""
    return soft.log_softmax(_in_dtype(input, dtype), axis=dim if axis is None else axis)


def _in_dtype(x: Any, dtype: Any) -> Any:
    x = as_inexact(x) if dtype is None else astype(as_array(x), dtype)
    if not is_inexact(dtype_of(x)):
        raise ArgumentError(f"softmax: dtype={dtype} must be a floating-point dtype")
    return x


def _gelu_of_jax(x: Any, approximate: bool = True) -> Any:
    return gelu(x, "tanh" if approximate else "none")


def _softplus_of_jax(x: Any) -> Any:
    return base.softplus(as_inexact(as_array(x)))


@jax_table.activations.by
def functions_of_jax() -> dict[str, Callable[..., Any]]:
    """By their names in `jax.nn`, with the arguments that they have there."""
    same = (relu, sigmoid, silu, elu, leaky_relu)
    named: dict[str, Callable[..., Any]] = {function.__name__: function for function in same}
    return {**named, "gelu": _gelu_of_jax, "softplus": _softplus_of_jax}
