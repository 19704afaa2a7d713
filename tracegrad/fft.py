"""Signals enter, what ``np.fft`` computes of them leaves: ``tg.fft``.

The names and arguments of NumPy and of the array API standard's extension; ``np.fft.f(tensor)``
finds its counterpart here.
"""

from __future__ import annotations

from tracegrad.ops.fft import *
from tracegrad.ops.fft import __all__ as __all__

# ruff: noqa: F403
