"""Devices of Tensors: moves arrays there and runs ops on them with JAX."""

# Made by tests/type_stubs.py from the library as it runs.

class Device(str):
    """Where an array is: a string such as ``"cpu"``, ``"jax"`` or ``"cuda:0"``."""
    @property
    def index(self) -> int | None: ...  # type: ignore[override]
    @property
    def type(self) -> str:
        """The kind of device: ``"cpu"``, ``"jax"`` or ``"cuda"``."""
