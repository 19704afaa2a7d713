"""Says why each version of a function was compiled and what each is valid for."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import NamedTuple

class CacheInfo(NamedTuple):
    """What `Compiled.cache_info` returns."""

    hits: int
    misses: int
    traces: int
    versions: int
