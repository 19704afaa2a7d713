"""Optimizers, gradient clipping and learning rate schedules."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable, Iterable
from typing import Any

from tracegrad.optim.optimizers import SGD as SGD
from tracegrad.optim.optimizers import Adam as Adam
from tracegrad.optim.optimizers import AdamW as AdamW
from tracegrad.optim.optimizers import Optimizer as Optimizer
from tracegrad.optim.optimizers import RMSprop as RMSprop
from tracegrad.optim.pure import Pure
from tracegrad.optim.schedules import CosineLR as CosineLR
from tracegrad.optim.schedules import LinearWarmup as LinearWarmup
from tracegrad.optim.schedules import Schedule as Schedule
from tracegrad.optim.schedules import StepLR as StepLR
from tracegrad.optim.update_rules import SettingError as SettingError
from tracegrad.tensors.tensor import Tensor

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "CosineLR",
    "LinearWarmup",
    "Optimizer",
    "Pure",
    "RMSprop",
    "Schedule",
    "SettingError",
    "StepLR",
    "adam",
    "adamw",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_norm",
    "clip_value",
    "cosine_decay",
    "linear_warmup",
    "rmsprop",
    "sgd",
    "step_decay",
]

def adam(
    lr: float | Callable[[Any], Any] = 0.001,
    betas: tuple[float, float] = ...,
    eps: float = 1e-08,
    weight_decay: float = 0.0,
    amsgrad: bool = False,
    *,
    maximize: bool = False,
) -> Pure:
    """Adam on pytrees; the rule of `Adam`. `lr` may be a function of the number of updates made.

    >>> import tracegrad as tg
    >>> init, update = tg.optim.adam(lr=0.1)
    >>> params = {"w": tg.tensor([1.0, 2.0])}
    >>> grads = {"w": tg.tensor([0.5, -0.5])}
    >>> params, state = update(params, grads, init(params))
    >>> params["w"]
    tensor([0.9000, 2.1000])
    """

def adamw(
    lr: float | Callable[[Any], Any] = 0.001,
    betas: tuple[float, float] = ...,
    eps: float = 1e-08,
    weight_decay: float = 0.01,
    amsgrad: bool = False,
    *,
    maximize: bool = False,
) -> Pure:
    """Adam with decoupled weight decay, on pytrees; the rule of `AdamW`.

    >>> import tracegrad as tg
    >>> init, update = tg.optim.adamw(lr=0.1)
    >>> params = {"w": tg.tensor([1.0, 2.0])}
    >>> grads = {"w": tg.tensor([0.5, -0.5])}
    >>> params, state = update(params, grads, init(params))
    >>> params["w"]
    tensor([0.8990, 2.0980])
    """

def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scales the gradients of these Tensors in place to a common norm of at most `max_norm`.

    Returns the norm that they had.

    >>> import tracegrad as tg
    >>> w = tg.tensor([3.0, 4.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> tg.optim.clip_grad_norm_([w], 1.0)
    tensor(10.)
    >>> w.grad
    tensor([0.6000, 0.8000])
    """

def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Brings every element of the gradients of these Tensors into [-clip_value, clip_value].

    >>> import tracegrad as tg
    >>> w = tg.tensor([3.0, -4.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> tg.optim.clip_grad_value_([w], 1.0)
    >>> w.grad
    tensor([ 1., -1.])
    """

def clip_norm(grads: Any, max_norm: float, norm_type: float = 2.0) -> tuple[Any, Any]:
    """Gradients scaled down together to a norm of at most `max_norm`; and the norm they had.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> grads, norm = tg.optim.clip_norm([np.array([3.0]), np.array([4.0])], max_norm=1.0)
    >>> float(norm), grads[0].round(3)
    (5.0, array([0.6]))
    """

def clip_value(grads: Any, limit: float) -> Any:
    """Gradients with every element in ``[-limit, limit]``.

    >>> import tracegrad as tg
    >>> tg.optim.clip_value({"w": tg.tensor([3.0, -0.5])}, 1.0)
    {'w': tensor([ 1.0000, -0.5000])}
    """

def cosine_decay(steps: int, minimum: float = 0.0) -> Callable[[Any], Any]:
    """From 1 to `minimum` along half a cosine in `steps` updates, and `minimum` from then on.

    >>> import tracegrad as tg
    >>> float(tg.optim.cosine_decay(10)(5))
    0.5
    """

def linear_warmup(steps: int, start: float = 0.3333333333333333) -> Callable[[Any], Any]:
    """From `start` to 1 along a line in `steps` updates, and 1 from then on.

    >>> import tracegrad as tg
    >>> float(tg.optim.linear_warmup(10)(10))
    1.0
    """

def rmsprop(
    lr: float | Callable[[Any], Any] = 0.01,
    alpha: float = 0.99,
    eps: float = 1e-08,
    weight_decay: float = 0.0,
    momentum: float = 0.0,
    centered: bool = False,
    *,
    maximize: bool = False,
) -> Pure:
    """Steps divided by a running root mean square of the gradient, on pytrees; as `RMSprop`.

    >>> import tracegrad as tg
    >>> init, update = tg.optim.rmsprop(lr=0.1)
    >>> params = {"w": tg.tensor([1.0, 2.0])}
    >>> grads = {"w": tg.tensor([0.5, -0.5])}
    >>> params, state = update(params, grads, init(params))
    >>> params["w"]
    tensor([2.0000e-07, 3.0000e+00])
    """

def sgd(
    lr: float | Callable[[Any], Any],
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    *,
    maximize: bool = False,
) -> Pure:
    """Gradient descent with momentum, on pytrees; the rule of `SGD`.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> init, update = tg.optim.sgd(lr=0.25, momentum=0.5)
    >>> params = {"w": np.array([2.0, 4.0])}
    >>> params, state = update(params, {"w": np.array([1.0, 2.0])}, init(params))
    >>> params["w"], int(state["step"])
    (array([1.75, 3.5 ]), 1)
    """

def step_decay(step_size: int, gamma: float = 0.1) -> Callable[[Any], Any]:
    """1, then `gamma` times less after every `step_size` updates.

    >>> import tracegrad as tg
    >>> float(tg.optim.step_decay(10)(10))
    0.1
    """
