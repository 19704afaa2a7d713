"""Layers and losses of neural networks, as functions of arrays and parameters.

Plain functions under PyTorch's names and with its argument names; they take NumPy arrays and
Tensors, in eager code and in functions that are compiled. Parameters are arguments, so there are
no classes of layers: keep them in whatever structure you like, and differentiate by it. `init`
holds initialisers.

>>> import numpy as np
>>> import tracegrad as tg
>>> def loss(w, x, labels):
...     h = tg.nn.relu(tg.nn.conv2d(x, w, padding=1))
...     return tg.nn.cross_entropy(h.mean(axis=(2, 3)), labels)
>>> w, x = np.ones((4, 3, 3, 3)), np.ones((2, 3, 8, 8))
>>> tg.grad(loss)(w, x, np.array([0, 1])).shape
(4, 3, 3, 3)
"""

from __future__ import annotations

from tracegrad.nn import init
from tracegrad.nn.activations import (
    elu,
    gelu,
    leaky_relu,
    log_softmax,
    relu,
    sigmoid,
    silu,
    softmax,
    softplus,
)
from tracegrad.nn.attention import scaled_dot_product_attention
from tracegrad.nn.convolution import conv1d, conv2d, conv3d, conv_transpose2d
from tracegrad.nn.layers import dropout, embedding, linear, one_hot
from tracegrad.nn.losses import (
    binary_cross_entropy_with_logits,
    cross_entropy,
    huber_loss,
    mse_loss,
    nll_loss,
)
from tracegrad.nn.norms import batch_norm, group_norm, layer_norm, rms_norm
from tracegrad.nn.pooling import avg_pool2d, max_pool2d
from tracegrad.runtime.missing_names import missing_names_of

__getattr__ = missing_names_of(__name__)

__all__ = [
    "avg_pool2d",
    "batch_norm",
    "binary_cross_entropy_with_logits",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose2d",
    "cross_entropy",
    "dropout",
    "elu",
    "embedding",
    "gelu",
    "group_norm",
    "huber_loss",
    "init",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "max_pool2d",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "relu",
    "rms_norm",
    "scaled_dot_product_attention",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
]
