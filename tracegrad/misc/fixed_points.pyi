"""The fixed point of a contraction, differentiated by the implicit function theorem."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any

__all__ = ["fixed_point"]

fixed_point: Any
