"""Python's own types, which HIPS autograd has replacements for: here they need none."""

# Made by tests/type_stubs.py from the library as it runs.

from builtins import dict as DictBox
from builtins import dict as dict
from builtins import isinstance as isinstance
from builtins import list as ListBox
from builtins import list as list
from builtins import tuple as TupleBox
from builtins import tuple as tuple
from builtins import type as type

__all__ = ["DictBox", "ListBox", "TupleBox", "dict", "isinstance", "list", "tuple", "type"]
