"""The names of `scipy.stats`: distributions whose densities take Tensors."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any

def __getattr__(name: str) -> Any: ...
