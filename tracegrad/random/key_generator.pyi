"""A random generator made of a seed or a key of JAX's, from which programs for JAX can draw."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any

class KeyGenerator:
    """Random numbers that a key decides: the same in NumPy and in JAX, eager and compiled."""

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
