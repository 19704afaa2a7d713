"""Layers and losses of neural networks, as functions of arrays and parameters."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any, overload

from tracegrad.nn import init as init
from tracegrad.random import Generator
from tracegrad.tensors.tensor import Tensor

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

@overload
def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor: ...
@overload
def avg_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """The mean of each window; arguments as for `max_pool2d`."""

@overload
def batch_norm(
    input: Tensor,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor: ...
@overload
def batch_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Any:
    """`input` with mean 0 and variance 1 for each channel."""

@overload
def binary_cross_entropy_with_logits(
    input: Tensor, target: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Tensor: ...
@overload
def binary_cross_entropy_with_logits(
    input: Any, target: Tensor, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Tensor: ...
@overload
def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    """The cross-entropy of probabilities in `target` under the sigmoid of `input`, elementwise."""

@overload
def conv1d(
    input: Tensor,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor: ...
@overload
def conv1d(
    input: Any,
    weight: Tensor,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor: ...
@overload
def conv1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """The convolution of sequences; as `conv2d`, with one axis of lengths."""

@overload
def conv2d(
    input: Tensor,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor: ...
@overload
def conv2d(
    input: Any,
    weight: Tensor,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor: ...
@overload
def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """The convolution (cross-correlation, as everywhere in networks) of images."""

@overload
def conv3d(
    input: Tensor,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor: ...
@overload
def conv3d(
    input: Any,
    weight: Tensor,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor: ...
@overload
def conv3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """The convolution of volumes; as `conv2d`, with three axes of lengths."""

@overload
def conv_transpose2d(
    input: Tensor,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor: ...
@overload
def conv_transpose2d(
    input: Any,
    weight: Tensor,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor: ...
@overload
def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The transpose of `conv2d` in its input: from the result's shape to one that it came from."""

@overload
def cross_entropy(
    input: Tensor,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor: ...
@overload
def cross_entropy(
    input: Any,
    target: Tensor,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor: ...
@overload
def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """The negative log-likelihood of the classes in `target` under the softmax of `input`."""

@overload
def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, generator: Generator | None = None
) -> Tensor: ...
@overload
def dropout(
    input: Any, p: float = 0.5, training: bool = True, generator: Generator | None = None
) -> Any:
    """`input` with each element set to 0 with probability `p`, the others over ``1 - p``."""

@overload
def elu(input: Tensor, alpha: float = 1.0) -> Tensor: ...
@overload
def elu(input: Any, alpha: float = 1.0) -> Any:
    """``input`` where it is positive, else ``alpha * (exp(input) - 1)``."""

@overload
def embedding(input: Tensor, weight: Any, padding_idx: int | None = None) -> Tensor: ...
@overload
def embedding(input: Any, weight: Tensor, padding_idx: int | None = None) -> Tensor: ...
@overload
def embedding(input: Any, weight: Any, padding_idx: int | None = None) -> Any:
    """The rows of `weight` at the integers in `input`."""

@overload
def gelu(input: Tensor, approximate: str = "none") -> Tensor: ...
@overload
def gelu(input: Any, approximate: str = "none") -> Any:
    """``input * P(X <= input)`` for a normal X (Hendrycks and Gimpel, 2016)."""

@overload
def group_norm(
    input: Tensor, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05
) -> Tensor: ...
@overload
def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05
) -> Any:
    """`input` with mean 0 and variance 1 over each of so many groups of channels."""

@overload
def huber_loss(
    input: Tensor, target: Any, reduction: str = "mean", delta: float = 1.0
) -> Tensor: ...
@overload
def huber_loss(
    input: Any, target: Tensor, reduction: str = "mean", delta: float = 1.0
) -> Tensor: ...
@overload
def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Any:
    """Half the squared difference where it is less than `delta`, beyond that linear."""

@overload
def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05
) -> Tensor: ...
@overload
def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05
) -> Any:
    """`input` with mean 0 and variance 1 over its last axes, times `weight`, plus `bias`."""

@overload
def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor: ...
@overload
def leaky_relu(input: Any, negative_slope: float = 0.01) -> Any:
    """``input`` where it is positive, else ``negative_slope * input``."""

@overload
def linear(input: Tensor, weight: Any, bias: Any = None) -> Tensor: ...
@overload
def linear(input: Any, weight: Tensor, bias: Any = None) -> Tensor: ...
@overload
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``input @ weight.T + bias``."""

@overload
def log_softmax(
    input: Tensor, dim: int = -1, dtype: Any = None, *, axis: int | None = None
) -> Tensor: ...
@overload
def log_softmax(input: Any, dim: int = -1, dtype: Any = None, *, axis: int | None = None) -> Any:
    """``log(softmax(input))``, exact where the softmax underflows."""

@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Tensor: ...
@overload
def max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:
    """The largest element of each window; of equal ones the first has the gradient."""

@overload
def mse_loss(input: Tensor, target: Any, reduction: str = "mean") -> Tensor: ...
@overload
def mse_loss(input: Any, target: Tensor, reduction: str = "mean") -> Tensor: ...
@overload
def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """The squared difference."""

@overload
def nll_loss(
    input: Tensor,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor: ...
@overload
def nll_loss(
    input: Any,
    target: Tensor,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor: ...
@overload
def nll_loss(
    input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
) -> Any:
    """The negative of the elements of `input` (log-probabilities) at the classes in `target`."""

@overload
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor: ...
@overload
def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """For each integer k a row of zeros with 1 at place k, as integers."""

@overload
def relu(input: Tensor) -> Tensor: ...
@overload
def relu(input: Any) -> Any:
    """``max(input, 0)``; the derivative at 0 is 0."""

@overload
def rms_norm(
    input: Tensor, normalized_shape: Any, weight: Any = None, eps: float | None = None
) -> Tensor: ...
@overload
def rms_norm(
    input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None
) -> Any:
    """`input` over the root of its mean square over the last axes, times `weight`."""

@overload
def scaled_dot_product_attention(
    query: Tensor,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    *,
    generator: Any = None,
) -> Tensor: ...
@overload
def scaled_dot_product_attention(
    query: Any,
    key: Tensor,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    *,
    generator: Any = None,
) -> Tensor: ...
@overload
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Tensor,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    *,
    generator: Any = None,
) -> Tensor: ...
@overload
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    *,
    generator: Any = None,
) -> Any:
    """``softmax(query @ key.mT * scale) @ value`` (Vaswani and others, 2017)."""

@overload
def sigmoid(input: Tensor) -> Tensor: ...
@overload
def sigmoid(input: Any) -> Any:
    """``1 / (1 + exp(-input))``, accurate for all numbers."""

@overload
def silu(input: Tensor) -> Tensor: ...
@overload
def silu(input: Any) -> Any:
    """``input * sigmoid(input)``, also called swish."""

@overload
def softmax(
    input: Tensor, dim: int = -1, dtype: Any = None, *, axis: int | None = None
) -> Tensor: ...
@overload
def softmax(input: Any, dim: int = -1, dtype: Any = None, *, axis: int | None = None) -> Any:
    """``exp(input)`` over its sum along `dim`, without overflow."""

@overload
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor: ...
@overload
def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """``log(1 + exp(beta * input)) / beta``, and `input` where that is larger than a threshold."""
