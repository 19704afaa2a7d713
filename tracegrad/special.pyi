"""Special functions: SciPy's, with derivatives."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any, overload

from tracegrad.tensors.tensor import Tensor

__all__ = [
    "betainc",
    "betaln",
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "expit",
    "gammaln",
    "i0",
    "i1",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "ndtr",
    "polygamma",
    "psi",
    "softmax",
    "xlogy",
]

@overload
def betainc(a: Tensor, b: Any, x: Any) -> Tensor: ...
@overload
def betainc(a: Any, b: Tensor, x: Any) -> Tensor: ...
@overload
def betainc(a: Any, b: Any, x: Tensor) -> Tensor: ...
@overload
def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularised incomplete beta function; differentiable in `x`.

    >>> import tracegrad as tg
    >>> tg.special.betainc(2.0, 3.0, tg.tensor([0.0, 0.5, 1.0]))
    tensor([0.0000, 0.6875, 1.0000])
    """

@overload
def betaln(a: Tensor, b: Any) -> Tensor: ...
@overload
def betaln(a: Any, b: Tensor) -> Tensor: ...
@overload
def betaln(a: Any, b: Any) -> Any:
    """The logarithm of the absolute value of the beta function.

    >>> import tracegrad as tg
    >>> tg.special.betaln(tg.tensor([1.0, 2.0]), tg.tensor([3.0, 3.0]))
    tensor([-1.0986, -2.4849])
    """

@overload
def digamma(x: Tensor) -> Tensor: ...
@overload
def digamma(x: Any) -> Any:
    """The derivative of `gammaln`.

    >>> import tracegrad as tg
    >>> tg.special.digamma(tg.tensor([1.0, 2.0]))
    tensor([-0.5772,  0.4228])
    """

@overload
def erf(x: Tensor) -> Tensor: ...
@overload
def erf(x: Any) -> Any:
    """The error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to `x`.

    >>> import tracegrad as tg
    >>> tg.special.erf(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.8427,  0.0000,  0.8427])
    """

@overload
def erfc(x: Tensor) -> Tensor: ...
@overload
def erfc(x: Any) -> Any:
    """``1 - erf(x)``, exact where that is small.

    >>> import tracegrad as tg
    >>> tg.special.erfc(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([1.8427, 1.0000, 0.1573])
    """

@overload
def erfinv(y: Tensor) -> Tensor: ...
@overload
def erfinv(y: Any) -> Any:
    """The inverse of `erf` on [-1, 1].

    >>> import tracegrad as tg
    >>> tg.special.erfinv(tg.tensor([-0.5, 0.0, 0.5]))
    tensor([-0.4769,  0.0000,  0.4769])
    """

@overload
def expit(x: Tensor) -> Tensor: ...
@overload
def expit(x: Any) -> Any:
    """``1 / (1 + exp(-x))``.

    >>> import tracegrad as tg
    >>> tg.special.expit(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([0.2689, 0.5000, 0.7311])
    """

@overload
def gammaln(x: Tensor) -> Tensor: ...
@overload
def gammaln(x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function.

    >>> import tracegrad as tg
    >>> tg.special.gammaln(tg.tensor([1.0, 5.0]))
    tensor([0.0000, 3.1781])
    """

@overload
def i0(x: Tensor) -> Tensor: ...
@overload
def i0(x: Any) -> Any:
    """The modified Bessel function of order 0.

    >>> import tracegrad as tg
    >>> tg.special.i0(tg.tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])
    """

@overload
def i1(x: Tensor) -> Tensor: ...
@overload
def i1(x: Any) -> Any:
    """The modified Bessel function of order 1.

    >>> import tracegrad as tg
    >>> tg.special.i1(tg.tensor([0.0, 1.0]))
    tensor([0.0000, 0.5652])
    """

@overload
def log_ndtr(x: Tensor) -> Tensor: ...
@overload
def log_ndtr(x: Any) -> Any:
    """The logarithm of `ndtr`, exact where that underflows.

    >>> import tracegrad as tg
    >>> tg.special.log_ndtr(tg.tensor([-40.0, 0.0]))
    tensor([-8.0461e+02, -6.9315e-01])
    """

@overload
def log_softmax(x: Tensor, axis: Any = None) -> Tensor: ...
@overload
def log_softmax(x: Any, axis: Any = None) -> Any:
    """``log(softmax(x))``, exact where the softmax underflows.

    >>> import tracegrad as tg
    >>> tg.special.log_softmax(tg.tensor([0.0, 0.0]))
    tensor([-0.6931, -0.6931])
    """

@overload
def logit(x: Tensor) -> Tensor: ...
@overload
def logit(x: Any) -> Any:
    """``log(x / (1 - x))``, the inverse of `expit`.

    >>> import tracegrad as tg
    >>> tg.special.logit(tg.tensor([0.5, 0.75]))
    tensor([0.0000, 1.0986])
    """

@overload
def logsumexp(a: Tensor, axis: Any = None, b: Any = None, keepdims: bool = False) -> Tensor: ...
@overload
def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False) -> Any:
    """``log(sum(b * exp(a)))`` over `axis` without overflow; NaN where that sum is negative.

    >>> import tracegrad as tg
    >>> tg.special.logsumexp(tg.tensor([1000.0, 1000.0]))
    tensor(1000.6931)
    """

@overload
def ndtr(x: Tensor) -> Tensor: ...
@overload
def ndtr(x: Any) -> Any:
    """The distribution function of the normal distribution.

    >>> import tracegrad as tg
    >>> tg.special.ndtr(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([0.1587, 0.5000, 0.8413])
    """

@overload
def polygamma(n: int, x: Tensor) -> Tensor: ...
@overload
def polygamma(n: int, x: Any) -> Any:
    """The n-th derivative of `digamma`.

    >>> import tracegrad as tg
    >>> tg.special.polygamma(1, tg.tensor([1.0, 2.0]))
    tensor([1.6449, 0.6449])
    """

@overload
def psi(x: Tensor) -> Tensor: ...
@overload
def psi(x: Any) -> Any:
    """The derivative of `gammaln`.

    >>> import tracegrad as tg
    >>> tg.special.digamma(tg.tensor([1.0, 2.0]))
    tensor([-0.5772,  0.4228])
    """

@overload
def softmax(x: Tensor, axis: Any = None) -> Tensor: ...
@overload
def softmax(x: Any, axis: Any = None) -> Any:
    """``exp(x)`` over its sum along `axis`: an axis, several, or all of them.

    >>> import tracegrad as tg
    >>> tg.special.softmax(tg.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

@overload
def xlogy(x: Tensor, y: Any) -> Tensor: ...
@overload
def xlogy(x: Any, y: Tensor) -> Tensor: ...
@overload
def xlogy(x: Any, y: Any) -> Any:
    """``x * log(y)``, 0 where `x` is 0.

    >>> import tracegrad as tg
    >>> tg.special.xlogy(tg.tensor([0.0, 2.0]), tg.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """
