"""Learning rates by the number of updates made, as functions and as objects."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable, Mapping
from typing import Any

from tracegrad.optim.optimizers import Optimizer

class Schedule:
    """Sets ``lr`` of every group to its initial rate times ``factor(number of steps)``.

    Call `step` after the optimizer's. Schedules of one optimizer multiply: a `LinearWarmup` beside
    a `CosineLR` warms up first and decays all the while.

    Examples
    --------
    >>> import tracegrad as tg
    >>> opt = tg.optim.SGD([tg.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = tg.optim.Schedule(opt, lambda n: 0.5**n)
    >>> for _ in range(3):
    ...     opt.step()
    ...     schedule.step()
    ...     print(round(schedule.get_last_lr()[0], 3))
    0.5
    0.25
    0.125
    """

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
    """Down to `minimum` (a share of the initial rate) along half a cosine in `steps` steps.

    Examples
    --------
    >>> import tracegrad as tg
    >>> opt = tg.optim.SGD([tg.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = tg.optim.CosineLR(opt, steps=3)
    >>> for _ in range(3):
    ...     opt.step()
    ...     schedule.step()
    ...     print(round(schedule.get_last_lr()[0], 3))
    0.75
    0.25
    0.0
    """
    def __init__(self, optimizer: Optimizer, steps: int, minimum: float = 0.0) -> None: ...

class LinearWarmup(Schedule):
    """Up from `start` (a share of the initial rate) along a line in `steps` steps.

    Examples
    --------
    >>> import tracegrad as tg
    >>> opt = tg.optim.SGD([tg.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = tg.optim.LinearWarmup(opt, steps=3)
    >>> for _ in range(3):
    ...     opt.step()
    ...     schedule.step()
    ...     print(round(schedule.get_last_lr()[0], 3))
    0.556
    0.778
    1.0
    """
    def __init__(
        self, optimizer: Optimizer, steps: int, start: float = 0.3333333333333333
    ) -> None: ...

class StepLR(Schedule):
    """`gamma` times less after every `step_size` steps.

    Examples
    --------
    >>> import tracegrad as tg
    >>> opt = tg.optim.SGD([tg.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = tg.optim.StepLR(opt, step_size=2)
    >>> for _ in range(3):
    ...     opt.step()
    ...     schedule.step()
    ...     print(round(schedule.get_last_lr()[0], 3))
    1.0
    0.1
    0.1
    """
    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None: ...
