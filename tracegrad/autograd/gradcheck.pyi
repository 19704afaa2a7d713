"""Checks gradients of a function against finite differences."""

# Made by tests/type_stubs.py from the library as it runs.

from tracegrad.errors import GradientError

class GradcheckError(GradientError):
    """Gradients and differences do not agree; the message names input, output and both numbers."""
