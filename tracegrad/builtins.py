"""Python's own types, which HIPS autograd has replacements for: here they need none.

Containers of traced values are containers of Python's, so `DictBox` and its like are their classes.
"""

import builtins

__all__ = ["DictBox", "ListBox", "TupleBox", "dict", "isinstance", "list", "tuple", "type"]

globals().update({name: getattr(builtins, name) for name in __all__ if "Box" not in name})
DictBox, ListBox, TupleBox = builtins.dict, builtins.list, builtins.tuple
