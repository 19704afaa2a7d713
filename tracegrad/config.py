"""Settings that users may change: ``tg.config.backend = "jax"``."""

from __future__ import annotations

backend: str = "numpy"
"""The target of compiled functions that name none: "numpy" or "jax"."""

versions: int = 32
"""How many compiled versions a function may have before it stays eager."""

check: bool = False
"""Verify every graph between passes (slow; tests switch it on)."""
