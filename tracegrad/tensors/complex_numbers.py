"""What ``float(z)`` and ``int(z)`` read of a complex value."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracegrad.errors import DTypeError, warn_caller
from tracegrad.runtime.array_manners import is_array_to_function


def real_part(x: Any, kind: str) -> Any:
    """The real part of a number of NumPy's, with NumPy's warning; an array has none by itself."""
    if not (isinstance(x._array, np.generic) and is_array_to_function(x)):
        raise DTypeError(
            f"{kind}() of a complex array, of which it is not known whether the real part or the "
            f"size is meant: write {kind}(x.real) or {kind}(abs(x))"
        )
    text = "Casting complex values to real discards the imaginary part"
    warn_caller(text, np.exceptions.ComplexWarning)
    return x.real
