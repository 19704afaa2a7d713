"""A random generator made of a seed or a key of JAX's, from which programs for JAX can draw.

What decides the numbers is an array, the key, which a compiled function reads from here and writes
back: in the program it is an input and an output, and nobody calls back to Python. Functions of
this module are interpreted like the user's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracegrad.ops import jax_random_keys
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise.ufuncs import less
from tracegrad.special import erfinv
from tracegrad.values.prng_keys import Key


class KeyGenerator:
    """Random numbers that a key decides: the same in NumPy and in JAX, eager and compiled.

    A draw takes one of the two keys that the generator's is split in, and leaves it the other, as
    one does by hand with `jax.random.split`; the numbers are those of `jax.random` for that key.
    Results are Tensors, differentiable in the parameters that shift and scale. In a program for JAX
    the key is an input, and the one after the call an output: no call leaves the device.

    seed
        An int, or a key as `jax.random.key` and `jax.random.PRNGKey` give it (of the generator
        ``threefry2x32``), or an array of two uint32.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> generator = tg.random.KeyGenerator(0)
    >>> noisy = tg.compile(lambda x: x + generator.random(3))
    >>> first, second = noisy(np.zeros(3)), noisy(np.zeros(3))
    >>> again = tg.random.KeyGenerator(0)
    >>> bool((first == again.random(3)).all()), bool((second == again.random(3)).all())
    (True, True)
    """

    def __init__(self, seed: Any = 0) -> None:
        self.key = _key_of(seed)

    def __repr__(self) -> str:
        return f"tracegrad.random.KeyGenerator({np.asarray(self.key).tolist()})"

    def _next(self) -> Any:
        both = jax_random_keys.split(as_array(self.key))
        self.key = both[0]
        return both[1]

    def random(self, size: Any = (), dtype: Any = np.float64) -> Any:
        """Numbers spread evenly over [0, 1), of float32 or float64."""
        shape = (size,) if isinstance(size, int) else tuple(size)
        return jax_random_keys.spread(self._next(), shape=shape, dtype=np.dtype(dtype).name)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = ()) -> Any:
        """Numbers spread evenly over [low, high); differentiable in both bounds."""
        return low + (high - low) * self.random(size)

    def standard_normal(self, size: Any = (), dtype: Any = np.float64) -> Any:
        """Normal numbers of mean 0 and standard deviation 1; in NumPy they need SciPy."""
        least = float(np.nextafter(np.dtype(dtype).type(-1), np.dtype(dtype).type(0)))
        even = self.random(size, dtype) * (1.0 - least) + least
        return erfinv(even) * float(np.sqrt(2.0))

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = ()) -> Any:
        """Normal numbers of this mean and standard deviation; differentiable in both."""
        return loc + scale * self.standard_normal(size)

    def bernoulli(self, p: Any = 0.5, size: Any = ()) -> Any:
        """True with probability `p`."""
        return less(self.random(size), p)


def _key_of(seed: Any) -> Any:
    """The two uint32 of a key; of an int, those that JAX makes of it."""
    if isinstance(seed, int):
        return np.array([seed >> 32 & 0xFFFFFFFF, seed & 0xFFFFFFFF], np.uint32)
    if type(seed) is Key:
        return seed.data
    if type(seed).__module__.startswith("jax"):
        import jax

        if jax.dtypes.issubdtype(seed.dtype, jax.dtypes.prng_key):
            seed = jax.random.key_data(seed)
        return seed
    return as_array(seed)
