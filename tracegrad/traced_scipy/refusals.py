"""The error for a function of SciPy that cannot be called on Tensors."""

from __future__ import annotations

from tracegrad.errors import ConversionError
from tracegrad.user_code.solver_advice import INSTEAD


def refused(name: str) -> ConversionError:
    """The error for a function that has no counterpart."""
    instead = INSTEAD.get(name.rpartition(".")[2])
    return ConversionError(
        f"{name} has no counterpart in tracegrad that takes a traced value, its computation would "
        "be lost: "
        + (
            instead
            or "write it with tg, tg.special or tg.linalg, or as a tg.autograd.Function with a "
            "backward of its own"
        )
        + "; where no gradient is due, pass tg.stop_gradient(x) or x.detach().numpy() outside of "
        "compiled functions"
    )


def refuses_callback(error: Exception) -> bool:
    """Whether a function of SciPy got a traced value from one of the user's that it called."""
    return isinstance(error, ConversionError) or "not a proper array of floats" in str(error)
