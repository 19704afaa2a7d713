"""Makes the outputs of a graph, and the structure around them, of what a function returned."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Sequence
from typing import Any

class Transform:
    """What is made of the function."""

    kind: str
    argnums: int | tuple[int, ...]
    has_aux: bool
    count: int
    mode: str
    in_axes: Any
    out_axes: Any
    placement: Placement
    def __eq__(self, other: Any) -> Any: ...
    def __hash__(self) -> Any: ...
    def __init__(
        self,
        kind: str,
        argnums: int | tuple[int, ...] = 0,
        has_aux: bool = False,
        count: int = 0,
        mode: str = "auto",
        in_axes: Any = 0,
        out_axes: Any = 0,
        placement: Placement = ...,
    ) -> None: ...
    def described(self, of: str, parameters: Sequence[str]) -> str:
        """What is made of the function, in words."""
    @property
    def differentiates(self) -> bool:
        """Whether derivatives are taken."""
    @property
    def gives_derivatives(self) -> bool:
        """Whether a call returns derivatives."""
    @property
    def gives_value(self) -> bool:
        """Whether the function's value is returned besides."""
    @property
    def is_matrix(self) -> bool:
        """Whether all derivatives of several numbers are given."""
    @property
    def of_number(self) -> bool:
        """Whether the function must return one number."""
    @property
    def positions(self) -> tuple[int, ...]: ...
    @property
    def takes_tangents(self) -> bool:
        """Whether arguments are followed by their tangents."""

class Placement:
    """What programs for JAX do with the memory of devices."""

    donated: tuple[int, ...]
    shardings: Any
    def __eq__(self, other: Any) -> Any: ...
    def __hash__(self) -> Any: ...
    def __init__(self, donated: tuple[int, ...] = (), shardings: Any = None) -> None: ...
