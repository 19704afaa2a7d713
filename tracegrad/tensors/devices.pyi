"""Devices of Tensors: moves arrays there and runs ops on them with JAX."""

# Made by tests/type_stubs.py from the library as it runs.

class Device(str):
    """Where an array is: a string such as ``"cpu"``, ``"jax"`` or ``"cuda:0"``.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.ones(3).device
    device(type='cpu')
    >>> tg.ones(3).device == "cpu"
    True
    """
    @property
    def index(self) -> int | None: ...  # type: ignore[override]
    @property
    def type(self) -> str:
        """The kind of device: ``"cpu"``, ``"jax"`` or ``"cuda"``."""
