"""Learning rates by the number of updates made, as functions and as objects."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable, Mapping
from typing import Any

from tracegrad.optim.optimizers import Optimizer

class Schedule:
    """Sets ``lr`` of every group to its initial rate times ``factor(number of steps)``."""

    optimizer: Any
    factor: Any
    count: Any
    def __init__(self, optimizer: Optimizer, factor: Callable[[Any], Any]) -> None: ...
    def get_last_lr(self) -> list[float]:
        """The rate of each group at present."""
    def load_state_dict(self, state_dict: Mapping[str, int]) -> None:
        """Goes on from where `state_dict` was taken."""
    def state_dict(self) -> dict[str, int]:
        """How far the schedule is."""
    def step(self) -> None:
        """One step further."""

class CosineLR(Schedule):
    """Down to `minimum` (a share of the initial rate) along half a cosine in `steps` steps."""
    def __init__(self, optimizer: Optimizer, steps: int, minimum: float = 0.0) -> None: ...

class LinearWarmup(Schedule):
    """Up from `start` (a share of the initial rate) along a line in `steps` steps."""
    def __init__(
        self, optimizer: Optimizer, steps: int, start: float = 0.3333333333333333
    ) -> None: ...

class StepLR(Schedule):
    """`gamma` times less after every `step_size` steps."""
    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None: ...
