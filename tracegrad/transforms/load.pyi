"""Loads an exported file: its function, which can be verified after an edit."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any

from tracegrad.introspection.verify import Verification

class Exported:
    """An exported function, perhaps edited; made by `load`."""
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def verify(self, *args: Any, tolerance: float | None = None, **kwargs: Any) -> Verification:
        """Whether the file still computes what the function does; prints as a report.

        tolerance
            How far apart numbers may be, of the largest; default 1e-9 (1e-4 for float32).
        """
