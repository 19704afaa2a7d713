"""Optimizers as two pure functions on pytrees."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable
from typing import Any, NamedTuple

class Pure(NamedTuple):
    """An optimizer as two functions that change nothing."""

    init: Callable[[Any], dict[str, Any]]
    update: Callable[[Any, Any, Any], tuple[Any, dict[str, Any]]]
