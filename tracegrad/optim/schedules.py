"""Learning rates by the number of updates made, as functions and as objects.

A function from the number of updates, plain or traced, to a factor is all that a schedule is; the
pure optimizers take it as it is: ``adam(lr=lambda t: 1e-3 * linear_warmup(100)(t))``. The classes
set the rate of an `Optimizer` by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from tracegrad.ops.elementwise.ufuncs import cos, minimum
from tracegrad.optim.optimizers import Optimizer


def step_decay(step_size: int, gamma: float = 0.1) -> Callable[[Any], Any]:
    """1, then `gamma` times less after every `step_size` updates."""
    return lambda t: gamma ** (t // step_size)


def cosine_decay(steps: int, minimum: float = 0.0) -> Callable[[Any], Any]:
    """From 1 to `minimum` along half a cosine in `steps` updates, and `minimum` from then on."""
    return lambda t: minimum + (1.0 - minimum) * 0.5 * (1.0 + cos(math.pi * _done(t, steps)))


def linear_warmup(steps: int, start: float = 1 / 3) -> Callable[[Any], Any]:
    """From `start` to 1 along a line in `steps` updates, and 1 from then on."""
    return lambda t: start + (1.0 - start) * _done(t, steps)


def _done(t: Any, steps: int) -> Any:
    return minimum(t / steps, 1.0)


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

    def __init__(self, optimizer: Optimizer, factor: Callable[[Any], Any]) -> None:
        self.optimizer = optimizer
        self.factor = factor
        self.count = 0
        optimizer.schedules.append(self)
        self._set()

    def step(self) -> None:
        """One step further."""
        self.count += 1
        self._set()

    def get_last_lr(self) -> list[float]:
        """The rate of each group at present."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, int]:
        """How far the schedule is."""
        return {"count": self.count}

    def load_state_dict(self, state_dict: Mapping[str, int]) -> None:
        """Goes on from where `state_dict` was taken."""
        self.count = state_dict["count"]
        self._set()

    def _set(self) -> None:
        factors = [float(schedule.factor(schedule.count)) for schedule in self.optimizer.schedules]
        for group in self.optimizer.param_groups:
            group["lr"] = group.setdefault("initial_lr", group["lr"]) * math.prod(factors)


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

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        super().__init__(optimizer, step_decay(step_size, gamma))


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

    def __init__(self, optimizer: Optimizer, steps: int, minimum: float = 0.0) -> None:
        super().__init__(optimizer, cosine_decay(steps, minimum))


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

    def __init__(self, optimizer: Optimizer, steps: int, start: float = 1 / 3) -> None:
        super().__init__(optimizer, linear_warmup(steps, start))
