"""Maps lines of the user's code to generated statements, and back."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any

class Statement:
    """A generated statement, and the line of the user's that it comes from."""

    line: int
    text: str
    section: str
    place: str
    user: str
    def __eq__(self, other: Any) -> Any: ...
    def __hash__(self) -> Any: ...

class Statements(tuple[Any, ...]):
    """Several statements, which print one a line."""
