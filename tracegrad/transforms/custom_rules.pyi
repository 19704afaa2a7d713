"""Decorators that give a function a derivative of the user's: `custom_vjp`, `custom_jvp`."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable
from typing import Any

from tracegrad.transforms.custom_rule_functions import Ruled

class custom_jvp(Ruled):
    """Decorates a function whose forward derivative is given by a function of the user's."""
    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Gives the rule; see the class."""

class custom_vjp(Ruled):
    """Decorates a function whose reverse derivative is given by two functions of the user's."""
    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Gives the two halves; see the class."""
