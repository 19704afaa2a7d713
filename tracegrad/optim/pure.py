"""Optimizers as two pure functions on pytrees.

They work on arrays, on Tensors, and inside compiled functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tracegrad.errors import ArgumentError
from tracegrad.ops.shape.creation import zeros_of
from tracegrad.optim.update_rules import RULES, Rule, check
from tracegrad.tensors.devices import zeros_beside
from tracegrad.values.dispatch import is_jax_array
from tracegrad.values.pytree import TreeSpec, flatten, map_tree, unflatten
from tracegrad.values.structure_words import in_words

Rate = float | Callable[[Any], Any]
"""A learning rate, or a function from the number of updates made so far to one."""


class Pure(NamedTuple):
    """An optimizer as two functions that change nothing.

    ``init(params)`` gives the state; ``update(params, grads, state)`` gives the next params and
    state. The state is a dict: ``"step"``, the number of updates made, and a tree like params for
    each array that the rule keeps. Of arrays of JAX these lie on their devices, as they do.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> init, update = tg.optim.sgd(lr=0.25)
    >>> params = {"w": np.array([2.0, 4.0])}
    >>> state = init(params)
    >>> params, state = update(params, {"w": 2.0 * params["w"]}, state)
    >>> params, state["step"]
    ({'w': array([1., 2.])}, np.int64(1))
    """

    init: Callable[[Any], dict[str, Any]]
    update: Callable[[Any, Any, Any], tuple[Any, dict[str, Any]]]


def _pure(rule: Rule, lr: Rate, **settings: Any) -> Pure:
    check(rule.name, {"lr": lr, **settings})
    names = rule.keeps(settings)

    def init(params: Any) -> dict[str, Any]:
        moving = map_tree(_moving, params)
        return {"step": np.int64(0), **{name: map_tree(_zeros, moving) for name in names}}

    def update(params: Any, grads: Any, state: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        t = state["step"] + 1
        chosen = {"lr": lr(state["step"]) if callable(lr) else lr, **settings}
        leaves, spec = flatten(map_tree(_moving, params))
        columns = [_leaves_like(spec, tree) for tree in (grads, *(state[name] for name in names))]
        results = [
            rule(p, g, dict(zip(names, kept, strict=True)), t, chosen)
            for p, g, *kept in zip(leaves, *columns, strict=True)
        ]
        kept = {name: unflatten(spec, [new[name] for _, new in results]) for name in names}
        moved = iter([p for p, _ in results])
        after = map_tree(lambda p: p if _moving(p) is None else next(moved), params)
        return after, {"step": t, **kept}

    return Pure(init, update)


def _moving(p: Any) -> Any:
    """A parameter; None for a setting among them, which `tracegrad.grad` has no gradient for."""
    return p if hasattr(p, "dtype") or isinstance(p, float | complex) else None


def _zeros(p: Any) -> Any:
    """Zeros like p; of a scalar a scalar, as compiled functions return, so types stay the same."""
    zeros = zeros_beside(p) if is_jax_array(p) else zeros_of(p)
    return zeros[()] if isinstance(p, np.generic) else zeros


def _leaves_like(spec: TreeSpec, tree: Any) -> list[Any]:
    leaves, found = flatten(tree)
    if found != spec:
        raise ArgumentError(
            f"update: the parameters are {in_words(spec)}, their gradients or state "
            f"{in_words(found)}"
        )
    return leaves


def sgd(
    lr: Rate,
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
    settings = {"momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
    return _pure(RULES["SGD"], lr, **settings, nesterov=nesterov, maximize=maximize)


def adam(
    lr: Rate = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    amsgrad: bool = False,
    *,
    maximize: bool = False,
) -> Pure:
    """Adam on pytrees; the rule of `Adam`. `lr` may be a function of the number of updates made."""
    settings = {"betas": betas, "eps": eps, "weight_decay": weight_decay}
    return _pure(RULES["Adam"], lr, **settings, amsgrad=amsgrad, maximize=maximize)


def adamw(
    lr: Rate = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
    amsgrad: bool = False,
    *,
    maximize: bool = False,
) -> Pure:
    """Adam with decoupled weight decay, on pytrees; the rule of `AdamW`."""
    settings = {"betas": betas, "eps": eps, "weight_decay": weight_decay}
    return _pure(RULES["AdamW"], lr, **settings, amsgrad=amsgrad, maximize=maximize)


def rmsprop(
    lr: Rate = 1e-2,
    alpha: float = 0.99,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    momentum: float = 0.0,
    centered: bool = False,
    *,
    maximize: bool = False,
) -> Pure:
    """Steps divided by a running root mean square of the gradient, on pytrees; as `RMSprop`."""
    settings = {"alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum}
    return _pure(RULES["RMSprop"], lr, **settings, centered=centered, maximize=maximize)
