"""HIPS autograd's helpers: flat vectors of pytrees, optimisers, fixed points."""

from tracegrad.misc.compiled import const_graph
from tracegrad.misc.flatten import flatten

__all__ = ["const_graph", "flatten"]
