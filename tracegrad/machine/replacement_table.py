"""The table of C functions that the machine has its own versions of.

`len(x)` runs a `__len__` written in Python, `sorted(key=f)` runs `f`: those are to be interpreted.
What remains of the work is asked of the world under the C function's own name. `REPLACED` is keyed
by the identity of the function; each entry takes the machine, the arguments and the keywords.
`REPLACED_KINDS` is keyed by the type of a callable; its entries take the callable too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

REPLACED: dict[int, Callable] = {}
REPLACED_KINDS: dict[int, Callable] = {}
KEPT: list[Any] = []  # what is replaced stays alive, as its id is a key


def replaces(*functions: Any) -> Callable:
    def register(own: Callable) -> Callable:
        for function in functions:
            REPLACED[id(function)] = own
            KEPT.append(function)
        return own

    return register
