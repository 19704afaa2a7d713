"""What users chose enters; the mode that calls are compiled in, and versions kept by, leaves."""

from __future__ import annotations

from dataclasses import dataclass

from tracegrad.errors import ArgumentError


@dataclass(frozen=True, eq=False)
class Mode:
    """A target and how freely its programs round; of each there is one object."""

    target: str
    fast_math: bool = False

    def __str__(self) -> str:
        return f"{self.target} with fast math" if self.fast_math else self.target


EXACT = {target: Mode(target) for target in ("numpy", "jax")}
FAST = {**EXACT, "numpy": Mode("numpy", fast_math=True)}  # XLA regroups as it likes anyway

CHOSEN: dict[str | None, Mode] = {None: EXACT["numpy"]}
"""The modes of calls now, by the backend that a function names; None where it names none."""
CHOSEN.update(EXACT)


def choose(backend: str, fast_math: bool) -> None:
    """Makes these the choice for all calls from now on; `ArgumentError` for an unknown backend."""
    if backend not in EXACT:
        known = " or ".join(f'"{name}"' for name in EXACT)
        raise ArgumentError(f"backend={backend!r}: must be {known}")
    modes = FAST if fast_math else EXACT
    CHOSEN.update(modes)
    CHOSEN[None] = modes[backend]
