"""Whether ops are recorded in this thread: ``no_grad``, ``enable_grad``, ``inference_mode``."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

class _Mode:
    """A context manager that is a decorator as well; each use remembers what was before."""
    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...

class set_grad_enabled:
    """Switches recording, at once; as a context it is switched back on leaving.

    Examples
    --------
    >>> import tracegrad as tg
    >>> with tg.set_grad_enabled(False):
    ...     tg.is_grad_enabled()
    False
    """
    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...
    def __init__(self, mode: bool) -> None: ...
