"""Python's own types, which HIPS autograd has replacements for: here they need none."""

from builtins import dict, isinstance, list, tuple, type

__all__ = ["dict", "isinstance", "list", "tuple", "type"]
