"""The names of `scipy.signal`; `convolve` takes HIPS autograd's arguments, and Tensors."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any

def __getattr__(name: str) -> Any: ...
