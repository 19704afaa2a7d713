"""Random Tensors, by shape and distribution."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any, overload

from tracegrad.random.key_generator import KeyGenerator as KeyGenerator
from tracegrad.tensors.tensor import Tensor

__all__ = [
    "manual_seed",
    "normal",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "randperm",
]

class Generator:
    """A source of random numbers, under the method names of ``numpy.random.Generator``.

    The same seed gives the numbers that ``numpy.random.default_rng(seed)`` gives. Results are
    Tensors; they are differentiable in the parameters that only shift and scale (`normal`,
    `uniform`, `exponential`, the scale of `gamma`). Counts and choices are constant in theirs. In
    the shapes of `gamma` and `beta` no derivative is known, and asking for it raises.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> generator = tg.random.Generator(0)
    >>> noisy = tg.compile(lambda x: x + generator.normal(size=3))
    >>> first, second = noisy(np.zeros(3)), noisy(np.zeros(3))
    >>> same = np.random.default_rng(0)
    >>> bool((first == same.normal(size=3)).all()), bool((second == same.normal(size=3)).all())
    (True, True)
    """
    def __init__(self, seed: Any = None) -> None: ...
    def bernoulli(self, p: Any = 0.5, size: Any = None, dtype: Any = ...) -> Tensor:
        """True with probability `p`."""
    def beta(self, a: Any, b: Any, size: Any = None) -> Tensor:
        """Beta numbers; constant in both parameters."""
    def binomial(self, n: Any, p: Any, size: Any = None) -> Tensor:
        """How many of `n` trials of probability `p` succeed."""
    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Tensor:
        """Elements of an array along `axis`, or integers before `a`, with probabilities `p`."""
    def exponential(self, scale: Any = 1.0, size: Any = None) -> Tensor:
        """Numbers of the density ``exp(-x / scale) / scale``; differentiable in `scale`."""
    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Tensor:
        """Gamma numbers; differentiable in `scale`, constant in `shape`."""
    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = ..., endpoint: Any = False
    ) -> Tensor:
        """Integers from `low` to before `high` (or `high` itself, with `endpoint`)."""
    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Tensor:
        """Normal numbers of this mean and standard deviation; differentiable in both."""
    def permutation(self, x: Any, axis: int = 0) -> Tensor:
        """The integers before `x`, or the slices of an array along `axis`, in random order."""
    def poisson(self, lam: Any = 1.0, size: Any = None) -> Tensor:
        """How many events happen where `lam` are expected."""
    def random(self, size: Any = None, dtype: Any = ...) -> Tensor:
        """Numbers spread evenly over [0, 1)."""
    def standard_exponential(self, size: Any = None, dtype: Any = ...) -> Tensor:
        """Numbers of the density ``exp(-x)``, x > 0."""
    def standard_gamma(self, shape: Any, size: Any = None) -> Tensor:
        """Gamma numbers of scale 1; constant in `shape`."""
    def standard_normal(self, size: Any = None, dtype: Any = ...) -> Tensor:
        """Normal numbers of mean 0 and standard deviation 1."""
    @property
    def state(self) -> dict[str, Any]:
        """Where the generator stands; assigning it brings the generator back there."""
    @state.setter
    def state(self, value: Any) -> None: ...
    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Tensor:
        """Numbers spread evenly over [low, high); differentiable in both bounds."""

def manual_seed(seed: int) -> None:
    """The draws that follow are the same whenever they follow the same seed.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.manual_seed(0)
    >>> first = tg.rand(3)
    >>> tg.manual_seed(0)
    >>> bool((tg.rand(3) == first).all())
    True
    """

def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    dtype: Any = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Tensor:
    """Normal numbers of this mean and standard deviation, which may be Tensors with gradients.

    Without `size` the shape is that to which mean and std broadcast.

    >>> import tracegrad as tg
    >>> _ = tg.manual_seed(0)
    >>> tg.normal(0.0, 1.0, (2, 3)).shape
    (2, 3)
    """

def rand(*shape: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
    """Numbers drawn evenly from [0, 1): ``tg.rand(3, 4)`` or ``tg.rand((3, 4))``.

    >>> import tracegrad as tg
    >>> _ = tg.manual_seed(0)
    >>> x = tg.rand(3)
    >>> x.shape, bool(tg.all(x < 1.0))
    ((3,), True)
    """

@overload
def rand_like(
    x: Tensor, dtype: Any = None, requires_grad: bool = False, device: Any = None
) -> Tensor: ...
@overload
def rand_like(x: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Any:
    """`rand` of the shape of `x`, and of its dtype and device unless others are given.

    >>> import tracegrad as tg
    >>> _ = tg.manual_seed(0)
    >>> tg.rand_like(tg.eye(2)).shape
    (2, 2)
    """

def randint(
    low: int,
    high: Any = None,
    size: Any = None,
    *,
    dtype: Any = ...,
    requires_grad: bool = False,
    device: Any = None,
) -> Tensor:
    """Integers drawn evenly from ``low, ..., high - 1``; `low` may be left out and is 0 then.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.randint(10, (2, 3)).shape, tg.randint(5, 10, (4,)).shape
    ((2, 3), (4,))
    """

def randn(
    *shape: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None
) -> Tensor:
    """Numbers of the standard normal distribution.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.randn(3, 4, requires_grad=True).shape
    (3, 4)
    """

@overload
def randn_like(
    x: Tensor, dtype: Any = None, requires_grad: bool = False, device: Any = None
) -> Tensor: ...
@overload
def randn_like(x: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Any:
    """`randn` of the shape of `x`, and of its dtype and device unless others are given.

    >>> import tracegrad as tg
    >>> _ = tg.manual_seed(0)
    >>> tg.randn_like(tg.eye(2)).shape
    (2, 2)
    """

def randperm(
    n: int, *, dtype: Any = ..., requires_grad: bool = False, device: Any = None
) -> Tensor:
    """The integers ``0, ..., n - 1`` in random order.

    >>> import tracegrad as tg
    >>> _ = tg.manual_seed(0)
    >>> tg.sort(tg.randperm(4))
    tensor([0, 1, 2, 3])
    """
