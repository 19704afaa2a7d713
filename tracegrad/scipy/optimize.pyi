"""The names of `scipy.optimize`: functions of Tensors where there is a derivative."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any

def __getattr__(name: str) -> Any: ...
