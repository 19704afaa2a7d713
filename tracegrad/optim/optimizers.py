"""Optimizers that change Tensors in place by their ``grad``, as PyTorch has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from tracegrad.errors import ArgumentError
from tracegrad.ops.shape.creation import zeros_of
from tracegrad.optim.update_rules import RULES, Rule, SettingError, check
from tracegrad.tape.grad_mode import enable_grad, no_grad
from tracegrad.tape.own_leaves import refuse_others
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

    def __init__(self, params: Iterable[Any], **defaults: Any) -> None:
        self.defaults = defaults
        self.param_groups: list[dict[str, Any]] = []
        self.state: dict[Tensor, dict[str, Any]] = {}
        self.schedules: list[Any] = []  # what sets the rates: see tracegrad.optim.schedules
        given = [] if isinstance(params, Tensor | Mapping) else list(params)
        if not given:
            raise ArgumentError(
                f"{self.rule.name}: give a list of Tensors, or of dicts with the key 'params', "
                f"not {'an empty one' if isinstance(params, Sequence) else type(params).__name__}"
            )
        for group in given if isinstance(given[0], Mapping) else [{"params": given}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """More Tensors to update: ``{"params": [...], "lr": ...}``, the rest from the defaults."""
        params = param_group["params"]
        group = {**self.defaults, **param_group}
        group["params"] = [params] if isinstance(params, Tensor) else list(params)
        check(self.rule.name, group)
        known = {id(p) for p in self._params()}
        for p in group["params"]:
            if not isinstance(p, Tensor):
                raise ArgumentError(f"{self.rule.name} updates Tensors, not {type(p).__name__}")
            if not p.is_leaf:
                raise ArgumentError(
                    f"{self.rule.name}: a Tensor that an op made cannot be updated, only a leaf; "
                    "create it with requires_grad=True, or use x.detach().requires_grad_()"
                )
            if id(p) in known:
                raise SettingError(f"{self.rule.name}: a Tensor stands twice among the parameters")
            known.add(id(p))
        self.param_groups.append(group)

    def _params(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update of every Tensor that has a gradient.

        `closure`, where given, computes the gradients first; what it returns is returned.
        """
        refuse_others(self._params(), "step() of an optimizer changes values")
        value = None
        if closure is not None:
            with enable_grad():
                value = closure()
        for group in self.param_groups:
            settings = {name: group[name] for name in self.defaults}
            for p in group["params"]:
                if p.grad is not None:
                    self._update(p, p.grad.detach(), settings)
        return value

    def _update(self, p: Tensor, g: Tensor, settings: Mapping[str, Any]) -> None:
        value = p.detach()  # what is computed from detached Tensors is not recorded
        state = self.state.setdefault(p, {"step": 0})
        kept = {n: state[n] if n in state else zeros_of(value) for n in self.rule.keeps(settings)}
        state["step"] += 1
        new, kept = self.rule(value, g, kept, state["step"], settings)
        state.update(kept)
        write(p, new)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients; with ``set_to_none=False`` they become zeros."""
        refuse_others(self._params(), "zero_grad() of an optimizer changes gradients")
        for p in self._params():
            if p.grad is not None:
                p.grad = None if set_to_none else zeros_of(p.grad.detach())

    def state_dict(self) -> dict[str, Any]:
        """Settings and state with Tensors numbered, as PyTorch lays it out; made to be saved."""
        number = {p: i for i, p in enumerate(self._params())}
        groups = [{**g, "params": [number[p] for p in g["params"]]} for g in self.param_groups]
        state = {number[p]: dict(kept) for p, kept in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes up what `state_dict` gave, of an optimizer of Tensors in the same groups."""
        groups = state_dict["param_groups"]
        have = [len(group["params"]) for group in self.param_groups]
        given = [len(group["params"]) for group in groups]
        if have != given:
            raise SettingError(
                f"load_state_dict: the state is of groups of {given} Tensors, these are {have}"
            )
        for group, new in zip(self.param_groups, groups, strict=True):
            group.update({name: value for name, value in new.items() if name != "params"})
        numbers = [i for group in groups for i in group["params"]]
        params = dict(zip(numbers, self._params(), strict=True))
        self.state = {
            params[i]: _kept_by(params[i], kept) for i, kept in state_dict["state"].items()
        }

    def __repr__(self) -> str:
        lines = [f"{self.rule.name}("]
        for i, group in enumerate(self.param_groups):
            settings = ", ".join(f"{k}={v}" for k, v in group.items() if k != "params")
            n = len(group["params"])
            lines.append(f"    group {i}: {n} Tensor{'s' * (n != 1)}, {settings}")
        return "\n".join([*lines, ")"])


def write(tensor: Any, values: Any) -> None:
    """Puts the values into the Tensor's own memory; this is not recorded."""
    with no_grad():
        tensor[...] = values


def _kept_by(p: Tensor, kept: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of one Tensor's state, in its dtype and on its device."""
    own: dict[str, Any] = {"step": int(kept.get("step", 1))}  # PyTorch's SGD keeps no count
    for name, value in kept.items():
        if name != "step" and value is not None:
            own[name] = zeros_of(p.detach())
            write(own[name], value if isinstance(value, Tensor) else np.asarray(value))
    return own


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

    rule = RULES["SGD"]

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            momentum=momentum,
            dampening=dampening,
            weight_decay=weight_decay,
            nesterov=nesterov,
            maximize=maximize,
        )


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

    rule = RULES["Adam"]

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            amsgrad=amsgrad,
            maximize=maximize,
        )


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

    rule = RULES["AdamW"]

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)


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

    rule = RULES["RMSprop"]

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            alpha=alpha,
            eps=eps,
            weight_decay=weight_decay,
            momentum=momentum,
            centered=centered,
            maximize=maximize,
        )
