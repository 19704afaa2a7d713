"""A random generator made of a seed or a key of JAX's, from which programs for JAX can draw."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any

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

    key: Any
    def __init__(self, seed: Any = 0) -> None: ...
    def bernoulli(self, p: Any = 0.5, size: Any = ()) -> Any:
        """True with probability `p`."""
    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = ()) -> Any:
        """Normal numbers of this mean and standard deviation; differentiable in both."""
    def random(self, size: Any = (), dtype: Any = ...) -> Any:
        """Numbers spread evenly over [0, 1), of float32 or float64."""
    def standard_normal(self, size: Any = (), dtype: Any = ...) -> Any:
        """Normal numbers of mean 0 and standard deviation 1; in NumPy they need SciPy."""
    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = ()) -> Any:
        """Numbers spread evenly over [low, high); differentiable in both bounds."""
