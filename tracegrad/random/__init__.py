"""Random Tensors, by shape and distribution.

`Generator` is NumPy's random generator with Tensors as results. Functions that are compiled may
draw: every call of theirs advances the generator as an eager call would, and gives the same
numbers. `rand`, `randn` and their kin draw from one generator that serves the whole process, as in
PyTorch; `manual_seed` restarts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_int
from typing import Any

import numpy as np

from codegen.sizes import Dim
from codegen.types import broadcast
from tracegrad.errors import ArgumentError, DTypeError
from tracegrad.ops.arguments import as_array
from tracegrad.ops.dtypes import get_default_dtype
from tracegrad.ops.elementwise.ufuncs import less
from tracegrad.ops.random_draws import draw
from tracegrad.ops.shape.creation import shape_tuple
from tracegrad.ops.shape.reshaping import astype, length_of, one_axis, sizes_of
from tracegrad.ops.shape.selection import take
from tracegrad.random.key_generator import KeyGenerator as KeyGenerator
from tracegrad.runtime.missing_names import missing_names_of
from tracegrad.runtime.thread_state import STATE
from tracegrad.values.dispatch import HANDLERS, dtype_of, ndim_of, shape_of


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

    def __init__(self, seed: Any = None) -> None:
        seed = _number_read(seed)
        self._numpy = np.random.default_rng(seed)
        if STATE.trace is not None and seed is not None:
            STATE.trace.makes_generator(seed, self._numpy.bit_generator)

    def __repr__(self) -> str:
        return f"tracegrad.random.Generator({self._numpy!r})"

    @property
    def state(self) -> dict[str, Any]:
        """Where the generator stands; assigning it brings the generator back there."""
        source = self._numpy.bit_generator
        if STATE.trace is not None and not STATE.trace.generators.are_made(source):
            STATE.trace.read("the state of a random generator")
        found: dict[str, Any] = source.state  # type: ignore[assignment]
        return found

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        source, trace = self._numpy.bit_generator, STATE.trace
        if trace is None:
            source.state = state
        elif trace.generators.are_made(source):
            trace.generators.draws_constant()
            source.state = state
        else:
            trace.read("the state of a random generator, which it sets,")
            trace.generators.before_draw(source)
            source.state = state
            trace.generators.after_draw(source)

    # -- evenly spread ------------------------------------------------------------------------

    def random(self, size: Any = None, dtype: Any = np.float64) -> Any:
        """Numbers spread evenly over [0, 1)."""
        name = floating("random", dtype)
        return draw(self._numpy, "random", _size(size), name, dtype=np.dtype(name))

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Numbers spread evenly over [low, high); differentiable in both bounds."""
        size = _size(size, low, high)
        return low + (high - low) * draw(self._numpy, "random", size, "float64")

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: Any = False,
    ) -> Any:
        """Integers from `low` to before `high` (or `high` itself, with `endpoint`)."""
        low, high = (0, low) if high is None else (low, high)
        name = np.dtype(dtype).name
        how = {"dtype": np.dtype(name), "endpoint": bool(endpoint)}
        size = _size(size, low, high)
        return draw(self._numpy, "integers", size, name, low, high, **how)

    def bernoulli(self, p: Any = 0.5, size: Any = None, dtype: Any = bool) -> Any:
        """True with probability `p`."""
        even = draw(self._numpy, "random", _size(size, p), "float64")
        drawn = less(even, p)
        return drawn if np.dtype(dtype) == bool else astype(drawn, dtype)

    # -- of other distributions ---------------------------------------------------------------

    def standard_normal(self, size: Any = None, dtype: Any = np.float64) -> Any:
        """Normal numbers of mean 0 and standard deviation 1."""
        name = floating("standard_normal", dtype)
        return draw(self._numpy, "standard_normal", _size(size), name, dtype=np.dtype(name))

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Normal numbers of this mean and standard deviation; differentiable in both."""
        size = _size(size, loc, scale)
        return loc + scale * draw(self._numpy, "standard_normal", size, "float64")

    def standard_exponential(self, size: Any = None, dtype: Any = np.float64) -> Any:
        """Numbers of the density ``exp(-x)``, x > 0."""
        name = floating("standard_exponential", dtype)
        return draw(self._numpy, "standard_exponential", _size(size), name, dtype=np.dtype(name))

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Numbers of the density ``exp(-x / scale) / scale``; differentiable in `scale`."""
        return scale * draw(self._numpy, "standard_exponential", _size(size, scale), "float64")

    def standard_gamma(self, shape: Any, size: Any = None) -> Any:
        """Gamma numbers of scale 1; constant in `shape`."""
        return draw(self._numpy, "standard_gamma", _size(size, shape), "float64", shape)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
        """Gamma numbers; differentiable in `scale`, constant in `shape`."""
        size = _size(size, shape, scale)
        return scale * draw(self._numpy, "standard_gamma", size, "float64", shape)

    def beta(self, a: Any, b: Any, size: Any = None) -> Any:
        """Beta numbers; constant in both parameters."""
        return draw(self._numpy, "beta", _size(size, a, b), "float64", a, b)

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """How many of `n` trials of probability `p` succeed."""
        return draw(self._numpy, "binomial", _size(size, n, p), "int64", n, p)

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
        """How many events happen where `lam` are expected."""
        return draw(self._numpy, "poisson", _size(size, lam), "int64", lam)

    # -- choices ------------------------------------------------------------------------------

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """The integers before `x`, or the slices of an array along `axis`, in random order."""
        x = as_array(x)
        if ndim_of(x) == 0:
            return self._order(as_int(x))
        axis = one_axis(axis, ndim_of(x))
        return take(x, self._order(length_of(x, axis)), axis=axis)

    def _order(self, n: int) -> Any:
        return draw(_Sized(self._numpy), "permutation", (n,), "int64", n)

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Any:
        """Elements of an array along `axis`, or integers before `a`, with probabilities `p`."""
        a = as_array(a)
        axis = one_axis(axis, ndim_of(a)) if ndim_of(a) else 0
        count = length_of(a, axis) if ndim_of(a) else as_int(a)
        how = {"replace": bool(replace), "shuffle": bool(shuffle)}
        given = () if p is None else (as_array(p),)
        drawn = draw(_Sized(self._numpy), "choice", _size(size), "int64", count, *given, **how)
        return take(a, drawn, axis=axis) if ndim_of(a) else drawn


class _Sized:
    """A NumPy generator whose choices take their arguments in the order of other draws."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator
        self.bit_generator = generator.bit_generator

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Sized) and other.generator is self.generator

    def __hash__(self) -> int:
        return id(self.generator)

    def permutation(self, n: Any, size: Any) -> Any:
        return self.generator.permutation(int(n))

    def choice(self, n: Any, p: Any = None, *, size: Any, **how: Any) -> Any:
        return self.generator.choice(int(n), size, p=p, **how)


def _number_read(seed: Any) -> Any:
    """A seed with Python's numbers for Tensors, which NumPy takes: a look at each."""
    if type(seed) in HANDLERS:
        return seed.tolist()
    return [_number_read(x) for x in seed] if isinstance(seed, list | tuple) else seed


process_generator = Generator()


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
    process_generator.state = np.random.default_rng(seed).bit_generator.state  # type: ignore[assignment]


def keep_mask(x: Any, p: float, generator: Generator | None) -> Any:
    """True with probability ``1 - p`` for each element of `x`, where `x` lives."""
    generator = process_generator if generator is None else generator
    if not isinstance(generator, Generator):
        raise ArgumentError(
            f"generator is a {type(generator).__name__}: make one by tg.random.Generator(seed)"
        )
    dtype = "float32" if dtype_of(x) == "float32" else "float64"  # half the work for float32
    even = draw(generator._numpy, "random", shape_of(x), dtype, like=x, dtype=np.dtype(dtype))
    return even >= p


def _size(size: Any, *parameters: Any) -> tuple[Dim, ...]:
    """The shape asked for, or that to which the parameters broadcast."""
    if size is not None:
        return tuple(shape_tuple(size))
    return broadcast(sizes_of(parameters), [shape_of(x) for x in parameters])


def floating(name: str, dtype: Any) -> str:
    """The name of a dtype of random numbers; raises for what they cannot be."""
    chosen = np.dtype(dtype)
    if chosen not in (np.float32, np.float64):
        raise DTypeError(f"tg.{name} draws float32 or float64, not {chosen}: use .astype()")
    return chosen.name


# -- the process's generator --------------------------------------------------------------------


def rand(*shape: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Any:
    """Numbers drawn evenly from [0, 1): ``tg.rand(3, 4)`` or ``tg.rand((3, 4))``."""
    return _tensor(
        process_generator.random(_shape(shape), _dtype("rand", dtype)), requires_grad, device
    )


def randn(*shape: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Any:
    """Numbers of the standard normal distribution.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.randn(3, 4, requires_grad=True).shape
    (3, 4)
    """
    drawn = process_generator.standard_normal(_shape(shape), _dtype("randn", dtype))
    return _tensor(drawn, requires_grad, device)


def rand_like(x: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Any:
    """`rand` of the shape of `x`, and of its dtype and device unless others are given."""
    dtype, device = _like(x, dtype, device)
    return rand(shape_of(x), dtype=dtype, requires_grad=requires_grad, device=device)


def randn_like(x: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Any:
    """`randn` of the shape of `x`, and of its dtype and device unless others are given."""
    dtype, device = _like(x, dtype, device)
    return randn(shape_of(x), dtype=dtype, requires_grad=requires_grad, device=device)


def randint(
    low: int,
    high: Any = None,
    size: Any = None,
    *,
    dtype: Any = np.int64,
    requires_grad: bool = False,
    device: Any = None,
) -> Any:
    """Integers drawn evenly from ``low, ..., high - 1``; `low` may be left out and is 0 then.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.randint(10, (2, 3)).shape, tg.randint(5, 10, (4,)).shape
    ((2, 3), (4,))
    """
    if size is None and isinstance(high, Sequence):
        high, size = None, high
    if size is None:
        raise ArgumentError("randint: give a shape: tg.randint(10, (2, 3))")
    if high is None:
        low, high = 0, low
    drawn = process_generator.integers(low, high, _shape((size,)))
    return _tensor(_in(drawn, dtype), requires_grad, device)


def randperm(
    n: int, *, dtype: Any = np.int64, requires_grad: bool = False, device: Any = None
) -> Any:
    """The integers ``0, ..., n - 1`` in random order."""
    return _tensor(_in(process_generator.permutation(n), dtype), requires_grad, device)


def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    dtype: Any = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Any:
    """Normal numbers of this mean and standard deviation, which may be Tensors with gradients.

    Without `size` the shape is that to which mean and std broadcast.
    """
    mean, std = as_array(mean), as_array(std)
    drawn = randn(_size(size, mean, std), dtype=dtype, device=device) * std + mean
    return drawn.requires_grad_() if requires_grad else drawn


def _shape(given: tuple[Any, ...]) -> tuple[Dim, ...]:
    """``3, 4`` or ``(3, 4)``."""
    if len(given) == 1 and isinstance(given[0], Sequence):
        given = tuple(given[0])
    return tuple(shape_tuple(given))


def _dtype(name: str, dtype: Any) -> Any:
    return floating(name, get_default_dtype() if dtype is None else dtype)


def _in(x: Any, dtype: Any) -> Any:
    return x if x.dtype == dtype else astype(x, dtype)


def _like(x: Any, dtype: Any, device: Any) -> tuple[Any, Any]:
    dtype = getattr(x, "dtype", None) if dtype is None else dtype
    return dtype, getattr(x, "device", None) if device is None else device


def _tensor(tensor: Any, requires_grad: bool, device: Any) -> Any:
    if device is not None:
        tensor = tensor.to(device)
    return tensor.requires_grad_() if requires_grad else tensor


__getattr__ = missing_names_of(__name__)

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
