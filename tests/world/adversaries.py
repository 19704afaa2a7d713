"""What an adversary is: a program that is made to be told wrong, entered in a list.

`adversaries_that_*.py` list them, and `test_adversaries.py` runs each, compiled and eager.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Adversary:
    """``make()`` gives a function of one array, its state, and what happens to this between calls.

    Differences confirm the gradient of one that is `smooth`.
    """

    name: str
    make: Callable[[], tuple[Callable[[Any], Any], Any, Callable[[int], None]]]
    smooth: bool


ADVERSARIES: dict[str, Adversary] = {}


def adversary(make: Any = None, *, smooth: bool = True) -> Any:
    """Enters one in `ADVERSARIES`."""

    def enter(make: Callable[[], Any]) -> Callable[[], Any]:
        assert make.__name__ not in ADVERSARIES, make.__name__
        ADVERSARIES[make.__name__] = Adversary(make.__name__, make, smooth)
        return make

    return enter if make is None else enter(make)
