"""Optimizers that change Tensors in place by their ``grad``, as PyTorch has them."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from tracegrad.optim.update_rules import Rule
from tracegrad.tensors.tensor import Tensor

class Optimizer:
    """Updates Tensors in place from their ``grad``; made by `SGD`, `Adam`, `AdamW`, `RMSprop`.

    ``param_groups`` is a list of dicts: ``"params"``, a list of leaf Tensors, and the settings with
    which they are updated, which may be changed between steps. ``state`` holds what the rule keeps
    of each Tensor.

    Examples
    --------
    >>> import tracegrad as tg
    >>> w, b = tg.ones(2, requires_grad=True), tg.zeros(1, requires_grad=True)
    >>> opt = tg.optim.SGD([{"params": [w], "lr": 0.1}, {"params": [b]}], lr=1.0)
    >>> isinstance(opt, tg.optim.Optimizer), [group["lr"] for group in opt.param_groups]
    (True, [0.1, 1.0])
    >>> (w.sum() + b.sum()).backward()
    >>> opt.step()
    >>> w.detach(), b.detach()
    (tensor([0.9000, 0.9000]), tensor([-1.]))
    >>> opt.zero_grad()
    """

    rule: ClassVar[Rule]
    defaults: Any
    param_groups: list[dict[str, Any]]
    state: dict[Tensor, dict[str, Any]]
    schedules: list[Any]
    def __init__(self, params: Iterable[Any], **defaults: Any) -> None: ...
    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """More Tensors to update: ``{"params": [...], "lr": ...}``, the rest from the defaults."""
    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes up what `state_dict` gave, of an optimizer of Tensors in the same groups."""
    def state_dict(self) -> dict[str, Any]:
        """Settings and state with Tensors numbered, as PyTorch lays it out; made to be saved."""
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update of every Tensor that has a gradient.

        `closure`, where given, computes the gradients first; what it returns is returned.
        """
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients; with ``set_to_none=False`` they become zeros."""

class Adam(Optimizer):
    """Steps by running averages of the gradient and its square (Kingma and Ba, 2015).

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([2.0, 4.0], requires_grad=True)
    >>> opt = tg.optim.Adam([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> opt.step()
    >>> x.detach()
    tensor([1.5000, 3.5000])
    """
    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.001,
        betas: tuple[float, float] = ...,
        eps: float = 1e-08,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None: ...

class RMSprop(Optimizer):
    """Steps divided by a running root mean square of the gradient (Hinton, 2012).

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([2.0, 4.0], requires_grad=True)
    >>> opt = tg.optim.RMSprop([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> opt.step()
    >>> x.detach()
    tensor([1.0000, 3.0000])
    """
    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.01,
        alpha: float = 0.99,
        eps: float = 1e-08,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None: ...

class SGD(Optimizer):
    """Gradient descent with momentum: ``v = momentum v + g``, ``p = p - lr v``.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([2.0, 4.0], requires_grad=True)
    >>> opt = tg.optim.SGD([x], lr=0.25)
    >>> (x * x).sum().backward()
    >>> opt.step()
    >>> x.detach()
    tensor([1., 2.])
    """
    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.001,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None: ...

class AdamW(Adam):
    """Adam whose weight decay acts on the parameter, not through the averages.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([2.0, 4.0], requires_grad=True)
    >>> opt = tg.optim.AdamW([x], lr=0.5, weight_decay=0.1)
    >>> (x * x).sum().backward()
    >>> opt.step()
    >>> x.detach()
    tensor([1.4000, 3.3000])
    """
    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.001,
        betas: tuple[float, float] = ...,
        eps: float = 1e-08,
        weight_decay: float = 0.01,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None: ...
