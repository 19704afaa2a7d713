"""Methods of Tensors that PyTorch has and NumPy's arrays have not."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any, NamedTuple

class TopK(NamedTuple):
    """What `topk` gives."""

    values: Any
    indices: Any
