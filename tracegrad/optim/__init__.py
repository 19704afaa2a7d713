"""Optimizers, gradient clipping and learning rate schedules.

``SGD``, ``Adam``, ``AdamW`` and ``RMSprop`` change Tensors in place, as in PyTorch. ``sgd``,
``adam``, ``adamw`` and ``rmsprop`` are the same rules as functions on pytrees that change nothing,
to be used in compiled functions as well.
"""

from tracegrad.optim.clipping import clip_grad_norm_, clip_grad_value_, clip_norm, clip_value
from tracegrad.optim.optimizers import SGD, Adam, AdamW, Optimizer, RMSprop
from tracegrad.optim.pure import Pure, adam, adamw, rmsprop, sgd
from tracegrad.optim.schedules import (
    CosineLR,
    LinearWarmup,
    Schedule,
    StepLR,
    cosine_decay,
    linear_warmup,
    step_decay,
)
from tracegrad.optim.update_rules import SettingError
from tracegrad.runtime.missing_names import missing_names_of

__getattr__ = missing_names_of(__name__)

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
