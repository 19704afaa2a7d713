"""Compares a compiled callable with the function itself and with differences."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any

class Verification:
    """What `verify` found; true where everything agrees. Prints as a report."""

    name: str
    checks: tuple[Check, ...]
    departure: Departure | None
    def __bool__(self) -> bool: ...
    def __eq__(self, other: Any) -> Any: ...
    def __hash__(self) -> Any: ...
    @property
    def ok(self) -> bool: ...

class Check:
    """One comparison: what was compared, whether it agrees, in words."""

    what: str
    ok: bool
    said: str
    def __eq__(self, other: Any) -> Any: ...
    def __hash__(self) -> Any: ...

class Departure:
    """The first statement of an edited program that gives another value than it did."""

    line: int
    statement: str
    said: str
    user: str
    def __eq__(self, other: Any) -> Any: ...
    def __hash__(self) -> Any: ...
