"""HIPS autograd's helpers: flat vectors of pytrees, optimisers, fixed points."""

from tracegrad.misc.flatten import flatten

__all__ = ["flatten"]
