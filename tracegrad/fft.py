"""Fourier transforms: what ``np.fft`` computes, as ``tg.fft``.

The names and arguments of NumPy and of the array API standard's extension; ``np.fft.f(tensor)``
finds its counterpart here.
"""

from __future__ import annotations

from tracegrad.ops.signal.fourier import *
from tracegrad.ops.signal.fourier import __all__ as __all__

# ruff: noqa: F403
