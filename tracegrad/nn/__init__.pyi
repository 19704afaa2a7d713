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
    """The mean of each window; arguments as for `max_pool2d`.

    count_include_pad
        Whether the zeros of the padding count as elements.
    divisor_override
        What the sum of a window is divided by, instead of the number of its elements.

    >>> import tracegrad as tg
    >>> tg.nn.avg_pool2d(tg.arange(16.0).reshape(1, 1, 4, 4), 2)
    tensor([[[[ 2.5000,  4.5000],
              [10.5000, 12.5000]]]])
    """

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
    """`input` with mean 0 and variance 1 for each channel.

    Parameters
    ----------
    input
        Shape ``(batch, channels, *lengths)``.
    running_mean, running_var
        What is subtracted, and what is divided by the root of, when not training: Tensors or
        arrays of shape ``(channels,)``. When training they are written to: a part of the batch's
        mean and (unbiased) variance enters them, through which no gradient flows.
    weight, bias
        Shape ``(channels,)``, or None.
    training
        Whether to take mean and variance from the batch.
    momentum
        How much of the batch's statistics enters the running ones.
    eps
        What is added to the variance.

    Raises
    ------
    ShapeError
        The input has no axis of channels.
    ArgumentError
        There are no running statistics and `training` is False, or they cannot be written to.

    Examples
    --------
    >>> import tracegrad as tg
    >>> mean, variance = tg.zeros(1), tg.ones(1)
    >>> tg.nn.batch_norm(tg.tensor([[1.0], [3.0]]), mean, variance, training=True, eps=0.0)
    tensor([[-1.],
            [ 1.]])
    >>> mean, variance
    (tensor([0.2000]), tensor([1.1000]))

    >>> import tracegrad as tg
    >>> tg.nn.batch_norm(tg.tensor([[1.0], [3.0]]), training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """

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
    """The cross-entropy of probabilities in `target` under the sigmoid of `input`, elementwise.

    weight, pos_weight
        What losses, and losses of positive targets, are multiplied by; they broadcast.

    >>> import tracegrad as tg
    >>> tg.nn.binary_cross_entropy_with_logits(tg.tensor([0.0, 0.0]), tg.tensor([1.0, 0.0]))
    tensor(0.6931)
    """

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
    """The convolution of sequences; as `conv2d`, with one axis of lengths.

    >>> import tracegrad as tg
    >>> tg.nn.conv1d(tg.tensor([[[1.0, 2.0, 3.0]]]), tg.tensor([[[1.0, 1.0]]]))
    tensor([[[3., 5.]]])
    """

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
    """The convolution (cross-correlation, as everywhere in networks) of images.

    Parameters
    ----------
    input
        Shape ``(batch, channels, height, width)``; the batch axis may be missing.
    weight
        Shape ``(out_channels, channels // groups, kernel_height, kernel_width)``.
    bias
        Shape ``(out_channels,)``, or None.
    stride, dilation
        How far apart windows, and the elements of a window, are: an int or one for each axis.
    padding
        How many zeros surround the image: an int, one for each axis, ``"valid"`` for none or
        ``"same"`` (with ``stride=1``) for as many as keep its size.
    groups
        Channels are convolved in so many groups of their own.

    Returns
    -------
    Shape ``(batch, out_channels, out_height, out_width)`` with ``out_height = (height + 2 * padding
    - dilation * (kernel_height - 1) - 1) // stride + 1``.

    Raises
    ------
    ShapeError
        Channels or groups do not fit, or a kernel is larger than the padded image.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.nn.conv2d(np.ones((1, 3, 28, 28)), np.ones((8, 3, 3, 3)), padding="same").shape
    (1, 8, 28, 28)
    """

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
    """The convolution of volumes; as `conv2d`, with three axes of lengths.

    >>> import tracegrad as tg
    >>> tg.nn.conv3d(tg.ones((1, 2, 3, 3, 3)), tg.ones((4, 2, 2, 2, 2))).shape
    (1, 4, 2, 2, 2)
    """

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
    """The transpose of `conv2d` in its input: from the shape of a result to that of an input.

    Parameters
    ----------
    input
        Shape ``(batch, channels, height, width)``; the batch axis may be missing.
    weight
        Shape ``(channels, out_channels // groups, kernel_height, kernel_width)``.
    bias
        Shape ``(out_channels,)``, or None.
    stride, padding, dilation, groups
        Those of the convolution that this is the transpose of.
    output_padding
        Rows and columns at the end of the result which that convolution does not read.

    Returns
    -------
    Shape ``(batch, out_channels, out_height, out_width)`` with ``out_height = (height - 1) * stride
    - 2 * padding + dilation * (kernel_height - 1) + 1 + output_padding``.

    >>> import tracegrad as tg
    >>> tg.nn.conv_transpose2d(tg.ones((1, 1, 2, 2)), tg.ones((1, 1, 2, 2)))
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """

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
    """The negative log-likelihood of the classes in `target` under the softmax of `input`.

    Parameters
    ----------
    input
        Logits, shape ``(batch, classes)``, ``(batch, classes, *lengths)`` or ``(classes,)``.
    target
        Classes as integers, of the shape of `input` without the axis of classes; or probabilities
        of classes, of the shape of `input`.
    weight
        A weight for each class, shape ``(classes,)``.
    ignore_index
        Targets with this class do not count.
    reduction
        "mean" (by the weights of the targets), "sum" or "none".
    label_smoothing
        How much of each target is spread evenly over all classes, between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> round(float(tg.nn.cross_entropy(np.array([[2.0, 0.0], [0.0, 0.0]]), np.array([0, 1]))), 4)
    0.41
    """

@overload
def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, generator: Generator | None = None
) -> Tensor: ...
@overload
def dropout(
    input: Any, p: float = 0.5, training: bool = True, generator: Generator | None = None
) -> Any:
    """`input` with each element set to 0 with probability `p`, the others over ``1 - p``.

    Parameters
    ----------
    generator
        Where the noise comes from: a `tg.random.Generator`; by default the one of `tg.rand`.
        Compiled functions draw anew on every call, as eager ones do.

    >>> import tracegrad as tg
    >>> tg.nn.dropout(tg.ones(3), 0.5, training=False)
    tensor([1., 1., 1.])
    """

@overload
def elu(input: Tensor, alpha: float = 1.0) -> Tensor: ...
@overload
def elu(input: Any, alpha: float = 1.0) -> Any:
    """``input`` where it is positive, else ``alpha * (exp(input) - 1)``.

    >>> import tracegrad as tg
    >>> tg.nn.elu(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.6321,  0.0000,  1.0000])
    """

@overload
def embedding(input: Tensor, weight: Any, padding_idx: int | None = None) -> Tensor: ...
@overload
def embedding(input: Any, weight: Tensor, padding_idx: int | None = None) -> Tensor: ...
@overload
def embedding(input: Any, weight: Any, padding_idx: int | None = None) -> Any:
    """The rows of `weight` at the integers in `input`.

    Shapes: input ``(...)``, weight ``(entries, features)``, result ``(..., features)``. The row
    `padding_idx` gets no gradient.

    >>> import tracegrad as tg
    >>> tg.nn.embedding(tg.tensor([2, 0]), tg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    tensor([[5., 6.],
            [1., 2.]])
    """

@overload
def gelu(input: Tensor, approximate: str = "none") -> Tensor: ...
@overload
def gelu(input: Any, approximate: str = "none") -> Any:
    """``input * P(X <= input)`` for a normal X (Hendrycks and Gimpel, 2016).

    approximate
        ``"none"``, or ``"tanh"`` for ``0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x**3)))``,
        which is several times as fast.

    >>> import tracegrad as tg
    >>> tg.nn.gelu(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """

@overload
def group_norm(
    input: Tensor, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05
) -> Tensor: ...
@overload
def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05
) -> Any:
    """`input` with mean 0 and variance 1 over each of so many groups of channels.

    Shapes: input ``(batch, channels, *lengths)``, weight and bias ``(channels,)``.

    >>> import tracegrad as tg
    >>> tg.nn.group_norm(tg.tensor([[1.0, 3.0, 5.0, 9.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """

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
    """Half the squared difference where it is less than `delta`, beyond that linear.

    >>> import tracegrad as tg
    >>> tg.nn.huber_loss(tg.tensor([0.0, 3.0]), tg.tensor([0.5, 0.0]))
    tensor(1.3125)
    """

@overload
def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05
) -> Tensor: ...
@overload
def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05
) -> Any:
    """`input` with mean 0 and variance 1 over its last axes, times `weight`, plus `bias`.

    Parameters
    ----------
    input
        Shape ``(..., *normalized_shape)``.
    normalized_shape
        The lengths of the last axes: an int or a tuple.
    weight, bias
        Shape `normalized_shape`, or None.
    eps
        What is added to the variance.

    >>> import tracegrad as tg
    >>> tg.nn.layer_norm(tg.tensor([[1.0, 3.0], [0.0, 10.0]]), 2)
    tensor([[-1.0000,  1.0000],
            [-1.0000,  1.0000]])
    """

@overload
def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor: ...
@overload
def leaky_relu(input: Any, negative_slope: float = 0.01) -> Any:
    """``input`` where it is positive, else ``negative_slope * input``.

    >>> import tracegrad as tg
    >>> tg.nn.leaky_relu(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.0100,  0.0000,  1.0000])
    """

@overload
def linear(input: Tensor, weight: Any, bias: Any = None) -> Tensor: ...
@overload
def linear(input: Any, weight: Tensor, bias: Any = None) -> Tensor: ...
@overload
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``input @ weight.T + bias``.

    Shapes: input ``(..., in_features)``, weight ``(out_features, in_features)``, bias
    ``(out_features,)`` or None.

    >>> import tracegrad as tg
    >>> tg.nn.linear(tg.tensor([1.0, 2.0]), tg.tensor([[1.0, 0.0], [1.0, 1.0]]), tg.tensor([0.5, 0.5]))
    tensor([1.5000, 3.5000])
    """

@overload
def log_softmax(
    input: Tensor, dim: int = -1, dtype: Any = None, *, axis: int | None = None
) -> Tensor: ...
@overload
def log_softmax(input: Any, dim: int = -1, dtype: Any = None, *, axis: int | None = None) -> Any:
    """``log(softmax(input))``, exact where the softmax underflows.

    >>> import tracegrad as tg
    >>> tg.nn.log_softmax(tg.tensor([0.0, 0.0]))
    tensor([-0.6931, -0.6931])
    """

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
    """The largest element of each window; of equal ones the first has the gradient.

    Parameters
    ----------
    input
        Shape ``(batch, channels, height, width)``; the batch axis may be missing.
    kernel_size
        The size of a window: an int or one for each axis.
    stride
        How far apart windows are; by default they touch.
    padding
        How many elements, smaller than all others, surround the image: at most half a window.
    ceil_mode
        Whether windows that begin in the image, or the margin before it, may end beyond it.

    Returns
    -------
    Shape ``(batch, channels, out_height, out_width)``.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.nn.max_pool2d(np.arange(16.0).reshape(1, 1, 4, 4), 2)
    array([[[[ 5.,  7.],
             [13., 15.]]]])
    """

@overload
def mse_loss(input: Tensor, target: Any, reduction: str = "mean") -> Tensor: ...
@overload
def mse_loss(input: Any, target: Tensor, reduction: str = "mean") -> Tensor: ...
@overload
def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """The squared difference.

    >>> import tracegrad as tg
    >>> tg.nn.mse_loss(tg.tensor([0.0, 3.0]), tg.tensor([1.0, 0.0]))
    tensor(5.)
    """

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
    """The negative of the elements of `input` (log-probabilities) at the classes in `target`.

    Shapes and arguments as for `cross_entropy`.

    >>> import tracegrad as tg
    >>> tg.nn.nll_loss(tg.nn.log_softmax(tg.tensor([[0.0, 0.0]])), tg.tensor([1]))
    tensor(0.6931)
    """

@overload
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor: ...
@overload
def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """For each integer k a row of zeros with 1 at place k, as integers.

    Shapes: tensor ``(...)``, result ``(..., num_classes)``; without `num_classes` as many as the
    largest integer needs.

    >>> import tracegrad as tg
    >>> tg.nn.one_hot(tg.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """

@overload
def relu(input: Tensor) -> Tensor: ...
@overload
def relu(input: Any) -> Any:
    """``max(input, 0)``; the derivative at 0 is 0.

    >>> import tracegrad as tg
    >>> tg.nn.relu(tg.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """

@overload
def rms_norm(
    input: Tensor, normalized_shape: Any, weight: Any = None, eps: float | None = None
) -> Tensor: ...
@overload
def rms_norm(
    input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None
) -> Any:
    """`input` over the root of its mean square over the last axes, times `weight`.

    Arguments as for `layer_norm`; `eps` is by default the spacing of the dtype at 1.

    >>> import tracegrad as tg
    >>> tg.nn.rms_norm(tg.tensor([3.0, 4.0]), 2)
    tensor([0.8485, 1.1314])
    """

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
    """``softmax(query @ key.mT * scale) @ value`` (Vaswani and others, 2017).

    Parameters
    ----------
    query
        Shape ``(..., targets, features)``.
    key
        Shape ``(..., sources, features)``.
    value
        Shape ``(..., sources, value_features)``.
    attn_mask
        Shape that broadcasts to ``(..., targets, sources)``: bool, True where a target may attend,
        or numbers that are added to the scores.
    dropout_p
        The probability with which a weight is set to 0; 0 when not training.
    is_causal
        Whether each target attends only to sources at its own place and before.
    scale
        ``1 / sqrt(features)`` by default.
    generator
        As for `dropout`.

    Returns
    -------
    Shape ``(..., targets, value_features)``.

    >>> import tracegrad as tg
    >>> q = tg.ones((1, 2, 4))
    >>> tg.nn.scaled_dot_product_attention(q, q, q)
    tensor([[[1., 1., 1., 1.],
             [1., 1., 1., 1.]]])
    """

@overload
def sigmoid(input: Tensor) -> Tensor: ...
@overload
def sigmoid(input: Any) -> Any:
    """``1 / (1 + exp(-input))``, accurate for all numbers.

    >>> import tracegrad as tg
    >>> tg.nn.sigmoid(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([0.2689, 0.5000, 0.7311])
    """

@overload
def silu(input: Tensor) -> Tensor: ...
@overload
def silu(input: Any) -> Any:
    """``input * sigmoid(input)``, also called swish.

    >>> import tracegrad as tg
    >>> tg.nn.silu(tg.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.2689,  0.0000,  0.7311])
    """

@overload
def softmax(
    input: Tensor, dim: int = -1, dtype: Any = None, *, axis: int | None = None
) -> Tensor: ...
@overload
def softmax(input: Any, dim: int = -1, dtype: Any = None, *, axis: int | None = None) -> Any:
    """``exp(input)`` over its sum along `dim`, without overflow.

    >>> import tracegrad as tg
    >>> tg.nn.softmax(tg.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

@overload
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor: ...
@overload
def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """``log(1 + exp(beta * input)) / beta``, and `input` where that is larger than a threshold.

    Parameters
    ----------
    input
        Any shape; integers become float64.
    beta
        How steep it is at 0.
    threshold
        Where ``beta * input`` is larger, the result is `input` itself and its derivative 1. Nothing
        overflows, so ``math.inf`` gives the function without a threshold.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.nn.softplus(tg.tensor([0.0, 5.0]), threshold=4.0)
    tensor([0.6931, 5.0000])
    """
