"""What users chose enters; the mode that calls are compiled in, and versions kept by, leaves."""

from __future__ import annotations

from dataclasses import dataclass

from tracegrad import config
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


def mode_of(backend: str) -> Mode:
    """The mode of a call for this backend, as `config` is now."""
    try:
        return (FAST if config.fast_math else EXACT)[backend]
    except KeyError:
        known = " or ".join(f'"{name}"' for name in EXACT)
        raise ArgumentError(f"backend={backend!r}: must be {known}") from None
