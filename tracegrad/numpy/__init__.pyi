"""NumPy's own functions and names, as code written for HIPS autograd imports them."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any

from numpy import *

def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any: ...
def __getattr__(name: str) -> Any: ...
