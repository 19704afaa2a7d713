"""The random generators that one traced run draws from, and those that it makes itself.

Programs draw again from generators that were there before the run. One that the run made of a seed
is made anew in each call, and gives the same numbers there: what is drawn of it is a constant.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def same_state(a: Any, b: Any) -> bool:
    """Whether a generator of bits stands where it stood."""
    return repr(a) == repr(b)


class RandomSources:
    """The generators of bits that a run has met, by id."""

    def __init__(self) -> None:
        self.before: dict[int, tuple[Any, Any]] = {}  # those drawn from, and how they stood
        self.disturbed = False  # another thread drew from one of them meanwhile
        self._after: dict[int, Any] = {}  # how they stood after this run's last draw
        self._made: dict[int, Any] = {}  # those that the run made of a seed
        self._constants = 0  # how often it drew from these

    def makes(self, source: Any) -> None:
        """The run has made a generator of a seed that calls with this program have too."""
        self._made[id(source)] = source

    def are_made(self, source: Any) -> bool:
        """Whether the run has made a generator itself, so that each call makes another one."""
        return id(source) in self._made

    def draws_constant(self) -> None:
        """The run has drawn from a generator that it made."""
        self._constants += 1

    def before_draw(self, source: Any) -> None:
        """The function is about to draw from a generator."""
        now = source.state
        self.before.setdefault(id(source), (source, now))
        if not same_state(now, self._after.get(id(source), now)):
            self.disturbed = True

    def after_draw(self, source: Any) -> None:
        """It has drawn."""
        self._after[id(source)] = source.state

    @contextmanager
    def untraced_draws(self) -> Iterator[None]:
        """What runs inside draws for the function, outside of the trace."""
        for source, _ in self.before.values():
            self.before_draw(source)
        yield
        for source, _ in self.before.values():
            self.after_draw(source)

    def drew_alone(self) -> bool:
        """Whether the generators stand where this run left them."""
        left = (
            same_state(source.state, self._after.get(key))
            for key, (source, _) in self.before.items()
        )
        return not self.disturbed and all(left)

    def give_back(self) -> None:
        """What the run drew will be drawn again, by the program."""
        for source, state in self.before.values():
            source.state = state

    @property
    def marks(self) -> tuple[int, bool]:
        """What is another one after a draw that turns, and arms, do not all make alike."""
        return self._constants, self.disturbed
