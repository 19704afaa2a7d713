"""The update of one parameter by its gradient, for every optimizer, stated once."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tracegrad.errors import TracegradError

class Rule(NamedTuple):
    """A rule's step and the names of the arrays, zeros at first, that it keeps of a parameter."""

    name: str
    step: Callable[..., tuple[Any, dict[str, Any]]]
    keeps: Callable[[Mapping[str, Any]], list[str]]

class SettingError(TracegradError, ValueError):
    """A setting of an optimizer that its rule cannot take, or a state that does not fit it."""
