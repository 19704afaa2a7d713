"""Functions with a derivative rule of the user's, on plain arrays."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable
from typing import Any

class Ruled:
    """A function with a derivative of its own. Subclasses say how it is given."""

    written: Written | None
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __init__(self, function: Callable[..., Any], **settings: Any) -> None: ...
    missing: Any

class Written:
    """The two halves as statements of an exported file, around calls of the user's functions.

    Both get what gives the name of a function in the file. ``forward(name, args, kwargs)`` makes
    `value` and `kept`; ``backward(name, cotangent, asked)`` makes `found` of `kept`, one cotangent
    an argument.
    """

    forward: Callable[[Callable[[Any], str], list[str], dict[str, str]], list[str]]
    backward: Callable[[Callable[[Any], str], str, list[int]], list[str]]
    def __eq__(self, other: Any) -> Any: ...
    def __hash__(self) -> Any: ...
