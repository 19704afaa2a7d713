"""Settings that users choose, such as ``tg.config.backend = "jax"``."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from tracegrad.config.compile_mode import choose, chosen
from tracegrad.runtime.thread_state import DIRECT, State

backend: str = "numpy"
"""The target of compiled functions that name none: "numpy", "numba", "auto" or "jax".

"numba" is NumPy source whose loops over numbers and small arrays, and elementwise operations, numba
compiles; "auto" has those compiled in which Python has spent a second.
"""

compile: bool = True
"""Off, every function runs eagerly, line by line: for a debugger in the user's own code."""

fast_math: bool = False
"""Let the programs of compiled functions (NumPy source) regroup sums and products.

That is faster and rounds otherwise than eager: factors meet and cancel, sums of products are
BLAS's, the products of a loop's turns are one. Off, compiled and eager agree in every bit.
"""

max_bytes: int | None = None
"""What a loop of a compiled function may keep of its turns for the backward, in bytes.

None: all that the backward reads. A loop that keeps more is gone through in segments, of which it
keeps the beginnings, and its turns are made once more (see `tg.checkpoint`); no bit changes.
"""

versions: int = 32
"""How many compiled versions a function may have before it stays eager."""

check: bool = False
"""Verify every graph between passes (slow; tests switch it on)."""

check_finite: bool = False
"""Raise `tg.errors.FiniteError`, which names the statement, where a compiled call gives nan or inf.

One check of the results a call; off, it costs nothing.
"""


class _Settings(ModuleType):
    """This module's class: compiled calls learn of settings without asking each time."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not hasattr(self, name):
            known = ", ".join(key for key in self.__annotations__)
            raise AttributeError(f"no setting {name!r}: there are {known}", name=name, obj=self)
        if name in ("backend", "fast_math", "max_bytes"):
            now = {key: getattr(self, key) for key in ("backend", "fast_math", "max_bytes")}
            choose(**{**now, name: value})
        if name in ("check_finite", "compile"):
            settings = {"check_finite": self.check_finite, "compile": self.compile, name: value}
            State.aside = bool(settings["check_finite"] or not settings["compile"])
        super().__setattr__(name, value)
        DIRECT.choose(None if State.aside else chosen())


sys.modules[__name__].__class__ = _Settings
DIRECT.choose(chosen())
