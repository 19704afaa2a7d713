"""Hooks on gradients, kept beside the leaf or in the node of the tape."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any

class RemovableHandle:
    """What registering a hook returns; ``remove()`` ends the hook."""

    id: Any
    def __enter__(self) -> RemovableHandle: ...
    def __exit__(self, *error: object) -> None: ...
    def remove(self) -> None:
        """The hook is called no more."""
