"""What a workload is: in come a size and a dtype, out come inputs, one loss for every library, and
two gradients derived by hand.

A file in `workloads/` holds one `Workload`. Its loss is written once, in NumPy's style, over a
`Library`; a library whose users would write it differently has a loss of its own in `own`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Arrays = tuple[np.ndarray, ...]
Loss = Callable[..., Any]


@dataclass(frozen=True)
class Library:
    """The names that a loss may use: a NumPy look-alike and what each library has besides."""

    name: str
    np: Any
    logsumexp: Callable[[Any, int], Any]
    """Of an array along an axis."""
    softmax: Callable[[Any], Any]
    """Along the last axis."""
    conv2d: Callable[[Any, Any], Any]
    """A 3 x 3 convolution, channels before height and width, padded by one, stride 1."""


@dataclass(frozen=True)
class Workload:
    name: str
    about: str
    sizes: Mapping[str, Mapping[str, int]]
    """What a user says of the size, and the keywords that `inputs` takes for it."""
    inputs: Callable[..., tuple[Any, ...]]
    """`inputs(random, **size)`: arrays in float64 or of integers."""
    wanted: tuple[int, ...]
    """The positions of the inputs to differentiate in."""
    loss: Callable[[Library], Loss]
    by_hand: Callable[..., tuple[Any, Arrays]]
    """The value and the gradients as a careful engineer writes them, in plain NumPy."""
    tuned: Callable[..., Callable[[], tuple[Any, Arrays]]]
    """The same for given inputs, in buffers that every call reuses, those of results included."""
    elements: Callable[..., int]
    """The length of the arrays that elementwise steps make, by size."""
    dtypes: tuple[str, ...] = ("float64", "float32")
    own: Mapping[str, Callable[[Library], Loss]] = field(default_factory=dict)
    """Losses of libraries that would not write `loss`: library name to loss."""
    second_order: bool = False
    """The last input is a direction: the product of the Hessian with it is wanted, no value."""


@dataclass(frozen=True)
class Case:
    """A workload at one size and dtype."""

    workload: Workload
    size: str
    dtype: str

    @property
    def name(self) -> str:
        words = (self.workload.name, self.size, {"float64": "f64", "float32": "f32"}[self.dtype])
        return " ".join(word for word in words if word)

    @property
    def elements(self) -> int:
        return self.workload.elements(**self.workload.sizes[self.size])

    def inputs(self, dtype: str | None = None) -> tuple[Any, ...]:
        """The arguments, the same on each call; floats are rounded to the case's dtype first."""
        random = np.random.default_rng(0)
        made = self.workload.inputs(random, **self.workload.sizes[self.size])
        return tuple(self._cast(x, dtype or self.dtype) for x in made)

    def _cast(self, x: np.ndarray, dtype: str) -> np.ndarray:
        return x.astype(self.dtype).astype(dtype) if x.dtype.kind == "f" else x

    def loss(self, library: Library) -> Loss:
        return self.workload.own.get(library.name, self.workload.loss)(library)


def cases(workloads: list[Workload]) -> Iterator[Case]:
    for workload in workloads:
        for size in workload.sizes:
            for dtype in workload.dtypes:
                yield Case(workload, size, dtype)
