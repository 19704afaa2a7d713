"""The update of one parameter by its gradient, for every optimizer, stated once.

A rule is ``step(p, g, kept, t, **settings) -> (p, kept)``: `kept` are the arrays that it keeps of
the parameter (zeros at first), `t` numbers the updates from 1. It is mathematics over whatever `p`
is: an array, a Tensor, a traced value. `pure` applies it to pytrees, `optimizers` to Tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from tracegrad.errors import TracegradError
from tracegrad.ops.elementwise.ufuncs import astype, imag, maximum, real, sqrt, where
from tracegrad.values.dispatch import dtype_of, is_number


class SettingError(TracegradError, ValueError):
    """A setting of an optimizer that its rule cannot take, or a state that does not fit it."""


def _sgd(
    p: Any,
    g: Any,
    kept: Mapping[str, Any],
    t: Any,
    *,
    lr: Any,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
) -> tuple[Any, dict[str, Any]]:
    g = _descent(p, g, weight_decay, maximize)
    if not momentum:
        return p - in_dtype_of(p, lr) * g, {}
    undamped = where(t == 1, 1.0, 1.0 - dampening) if dampening else 1.0
    velocity = momentum * kept["momentum_buffer"] + in_dtype_of(p, undamped) * g
    g = g + momentum * velocity if nesterov else velocity
    return p - in_dtype_of(p, lr) * g, {"momentum_buffer": velocity}


def _adam(
    p: Any,
    g: Any,
    kept: Mapping[str, Any],
    t: Any,
    *,
    lr: Any,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
    amsgrad: bool,
    maximize: bool,
    decoupled: bool = False,
) -> tuple[Any, dict[str, Any]]:
    """Adam (Kingma and Ba, 2015); decoupled weight decay is AdamW (Loshchilov and Hutter, 2019)."""
    if decoupled and weight_decay:
        p = p * in_dtype_of(p, 1.0 - lr * weight_decay)
    g = _descent(p, g, 0.0 if decoupled else weight_decay, maximize)
    beta1, beta2 = betas
    mean = kept["exp_avg"] + (1.0 - beta1) * (g - kept["exp_avg"])
    square = beta2 * kept["exp_avg_sq"] + (1.0 - beta2) * (g * g)
    new = {"exp_avg": mean, "exp_avg_sq": square}
    if amsgrad:
        square = new["max_exp_avg_sq"] = maximum(kept["max_exp_avg_sq"], square)
    rate = lr / (1.0 - beta1**t)  # both averages start at 0: this and the root make up for it
    root = (1.0 - beta2**t) ** 0.5
    return p - in_dtype_of(p, rate) * mean / (sqrt(square) / in_dtype_of(p, root) + eps), new


def _rmsprop(
    p: Any,
    g: Any,
    kept: Mapping[str, Any],
    t: Any,
    *,
    lr: Any,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
    maximize: bool,
) -> tuple[Any, dict[str, Any]]:
    g = _descent(p, g, weight_decay, maximize)
    square = alpha * kept["square_avg"] + (1.0 - alpha) * (g * g)
    new = {"square_avg": square}
    if centered:
        mean = new["grad_avg"] = kept["grad_avg"] + (1.0 - alpha) * (g - kept["grad_avg"])
        square = square - mean * mean
    g = g / (sqrt(square) + eps)
    if momentum:
        g = new["momentum_buffer"] = momentum * kept["momentum_buffer"] + g
    return p - in_dtype_of(p, lr) * g, new


def _descent(p: Any, g: Any, weight_decay: float, maximize: bool) -> Any:
    """The gradient of what is to be made small: turned for a maximum, with the decay added."""
    g = -g if maximize else g
    return g + weight_decay * p if weight_decay else g


def in_dtype_of(p: Any, number: Any) -> Any:
    """A number computed from the count of updates, in the dtype of `p`: it must not promote `p`."""
    return number if is_number(number) else astype(number, dtype=dtype_of(p))


class Rule(NamedTuple):
    """A rule's step and the names of the arrays, zeros at first, that it keeps of a parameter."""

    name: str
    step: Callable[..., tuple[Any, dict[str, Any]]]
    keeps: Callable[[Mapping[str, Any]], list[str]]

    def __call__(
        self, p: Any, g: Any, kept: Mapping[str, Any], t: Any, settings: Mapping[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """The parameter and what is kept of it after update `t`."""
        if not dtype_of(p).startswith("complex"):
            return self.step(p, g, kept, t, **settings)
        # A complex number is two real parameters: squares and maxima are of its parts.
        (x, kept_x), (y, kept_y) = [
            self.step(part(p), part(g), {n: part(k) for n, k in kept.items()}, t, **settings)
            for part in (real, imag)
        ]
        return x + 1j * y, {n: kept_x[n] + 1j * kept_y[n] for n in kept_x}


RULES = {
    "SGD": Rule("SGD", _sgd, lambda s: ["momentum_buffer"] if s["momentum"] else []),
    "Adam": Rule(
        "Adam",
        _adam,
        lambda s: ["exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if s["amsgrad"] else [])],
    ),
    "RMSprop": Rule(
        "RMSprop",
        _rmsprop,
        lambda s: [
            "square_avg",
            *(["grad_avg"] if s["centered"] else []),
            *(["momentum_buffer"] if s["momentum"] else []),
        ],
    ),
}
RULES["AdamW"] = Rule("AdamW", partial(_adam, decoupled=True), RULES["Adam"].keeps)


def check(name: str, settings: Mapping[str, Any]) -> None:
    """Raises for settings with which a rule does not descend."""
    for key in ("lr", "momentum", "weight_decay", "eps", "alpha"):
        value = settings.get(key, 0.0)
        if not callable(value) and (isinstance(value, str) or not value >= 0.0):
            raise SettingError(f"{name}: {key}={value!r} must be a number not below 0")
    for beta in settings.get("betas", ()):
        if not 0.0 <= beta < 1.0:
            raise SettingError(f"{name}: betas={settings['betas']} must be in [0, 1)")
    if settings.get("nesterov") and (not settings["momentum"] or settings["dampening"]):
        raise SettingError(f"{name}: nesterov=True needs a momentum, and no dampening")
