"""The mode in which a call is compiled: target, fast math, and what loops may keep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from codegen import TARGETS
from tracegrad.errors import ArgumentError


@dataclass(frozen=True, eq=False)
class Mode:
    """A target, how freely its programs round, and what a loop may keep; of each there is one."""

    target: str  # the library that runs its programs, "numpy" or "jax"
    text: str  # the target that source is written in, one of `codegen.TARGETS`
    fast_math: bool = False
    max_bytes: int | None = None

    def __str__(self) -> str:
        text = f"{self.text} with fast math" if self.fast_math else self.text
        return text if self.max_bytes is None else f"{text} within {self.max_bytes} bytes a loop"


EXACT = {name: Mode(target.dialect, name) for name, target in TARGETS.items()}
FAST = {  # XLA regroups as it likes anyway
    name: mode if mode.target == "jax" else replace(mode, fast_math=True)
    for name, mode in EXACT.items()
}

CHOSEN: dict[str | None, Mode] = {None: EXACT["numpy"]}
"""The modes of calls now, by the backend that a function names; None where it names none."""
CHOSEN.update(EXACT)


_CHOICES: dict[Any, Any] = {}
_BOUNDED: dict[tuple[Mode, int], Mode] = {}


def choose(backend: str, fast_math: bool, max_bytes: int | None) -> None:
    """Makes these the choice for all calls from now on.

    `ArgumentError` for an unknown backend, and a bound that is no number of bytes.
    """
    if backend not in EXACT:
        known = " or ".join(f'"{name}"' for name in EXACT)
        raise ArgumentError(f"backend={backend!r}: must be {known}")
    check_bytes(max_bytes)
    modes = FAST if fast_math else EXACT
    if max_bytes is not None:
        modes = {name: _bounded(mode, max_bytes) for name, mode in modes.items()}
    CHOSEN.update(modes)
    CHOSEN[None] = modes[backend]


def chosen() -> Any:
    """What stands for the choice now: of equal choices it is one object."""
    modes = tuple(CHOSEN.items())
    return _CHOICES.setdefault(modes, modes)


def check_bytes(max_bytes: int | None) -> None:
    """Raises where a bound is no number of bytes."""
    if max_bytes is not None and (type(max_bytes) is not int or max_bytes < 0):
        raise ArgumentError(
            f"max_bytes={max_bytes!r}: must be an int, the number of bytes, or None"
        )


def _bounded(mode: Mode, max_bytes: int) -> Mode:
    made = replace(mode, max_bytes=max_bytes)
    return _BOUNDED.setdefault((mode, max_bytes), made)
