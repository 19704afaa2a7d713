"""Python's own types, which HIPS autograd has replacements for: here they need none."""

import builtins

__all__ = ["dict", "isinstance", "list", "tuple", "type"]

globals().update({name: getattr(builtins, name) for name in __all__})
