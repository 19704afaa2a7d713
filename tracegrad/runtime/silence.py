"""Silences the warnings of code that runs for nobody: no call has asked for what it computes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def silenced() -> Iterator[None]:
    """Nothing is said of floating-point errors, or by warnings."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
