"""An op's record enters, operands and attributes to try it on leave.

A family of ops is a file here; every file beside `sampling` is imported, in the order of names.
"""

from importlib import import_module
from pkgutil import iter_modules

for _family in sorted(module.name for module in iter_modules(__path__)):
    import_module(f"{__name__}.{_family}")
