"""The class of traced arrays, under the name that HIPS autograd has for it."""

from tracegrad.extend import Box as ArrayBox

__all__ = ["ArrayBox"]
