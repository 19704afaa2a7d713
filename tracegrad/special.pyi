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
    """The regularised incomplete beta function; differentiable in `x`."""

@overload
def betaln(a: Tensor, b: Any) -> Tensor: ...
@overload
def betaln(a: Any, b: Tensor) -> Tensor: ...
@overload
def betaln(a: Any, b: Any) -> Any:
    """The logarithm of the absolute value of the beta function."""

@overload
def digamma(x: Tensor) -> Tensor: ...
@overload
def digamma(x: Any) -> Any:
    """The derivative of `gammaln`."""

@overload
def erf(x: Tensor) -> Tensor: ...
@overload
def erf(x: Any) -> Any:
    """The error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to `x`."""

@overload
def erfc(x: Tensor) -> Tensor: ...
@overload
def erfc(x: Any) -> Any:
    """``1 - erf(x)``, exact where that is small."""

@overload
def erfinv(y: Tensor) -> Tensor: ...
@overload
def erfinv(y: Any) -> Any:
    """The inverse of `erf` on [-1, 1]."""

@overload
def expit(x: Tensor) -> Tensor: ...
@overload
def expit(x: Any) -> Any:
    """``1 / (1 + exp(-x))``."""

@overload
def gammaln(x: Tensor) -> Tensor: ...
@overload
def gammaln(x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function."""

@overload
def i0(x: Tensor) -> Tensor: ...
@overload
def i0(x: Any) -> Any:
    """The modified Bessel function of order 0."""

@overload
def i1(x: Tensor) -> Tensor: ...
@overload
def i1(x: Any) -> Any:
    """The modified Bessel function of order 1."""

@overload
def log_ndtr(x: Tensor) -> Tensor: ...
@overload
def log_ndtr(x: Any) -> Any:
    """The logarithm of `ndtr`, exact where that underflows."""

@overload
def log_softmax(x: Tensor, axis: Any = None) -> Tensor: ...
@overload
def log_softmax(x: Any, axis: Any = None) -> Any:
    """``log(softmax(x))``, exact where the softmax underflows."""

@overload
def logit(x: Tensor) -> Tensor: ...
@overload
def logit(x: Any) -> Any:
    """``log(x / (1 - x))``, the inverse of `expit`."""

@overload
def logsumexp(a: Tensor, axis: Any = None, b: Any = None, keepdims: bool = False) -> Tensor: ...
@overload
def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False) -> Any:
    """``log(sum(b * exp(a)))`` over `axis` without overflow; NaN where that sum is negative."""

@overload
def ndtr(x: Tensor) -> Tensor: ...
@overload
def ndtr(x: Any) -> Any:
    """The distribution function of the normal distribution."""

@overload
def polygamma(n: int, x: Tensor) -> Tensor: ...
@overload
def polygamma(n: int, x: Any) -> Any:
    """The n-th derivative of `digamma`."""

@overload
def psi(x: Tensor) -> Tensor: ...
@overload
def psi(x: Any) -> Any:
    """The derivative of `gammaln`."""

@overload
def softmax(x: Tensor, axis: Any = None) -> Tensor: ...
@overload
def softmax(x: Any, axis: Any = None) -> Any:
    """``exp(x)`` over its sum along `axis`: an axis, several, or all of them."""

@overload
def xlogy(x: Tensor, y: Any) -> Tensor: ...
@overload
def xlogy(x: Any, y: Tensor) -> Tensor: ...
@overload
def xlogy(x: Any, y: Any) -> Any:
    """``x * log(y)``, 0 where `x` is 0."""
