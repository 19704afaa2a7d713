"""The different elements of arrays, and what two arrays have in common."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any, NamedTuple

class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any

class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Any
    counts: Any

class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Any
    inverse_indices: Any
