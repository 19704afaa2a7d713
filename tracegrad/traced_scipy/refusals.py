"""The error for a function of SciPy that cannot be called on Tensors."""

from __future__ import annotations

from tracegrad.errors import ConversionError


def refused(name: str) -> ConversionError:
    """The error for a function that has no counterpart."""
    return ConversionError(
        f"{name} has no counterpart in tracegrad that takes a traced value, its computation would "
        "be lost: write it with tg, tg.special or tg.linalg, or as a tg.autograd.Function with a "
        "backward of its own; where no gradient is due, pass tg.stop_gradient(x) or "
        "x.detach().numpy() outside of compiled functions"
    )
