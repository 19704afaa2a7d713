"""Layers and losses against definitions written plainly in NumPy, differences and JAX.

Every case is run eagerly, compiled and on JAX; the definitions go element by element.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits, direction_like, dot, run_eagerly, slope
from scipy import special

import tracegrad as tg
from tracegrad import nn
from tracegrad.ops.nn.convolution_kernels import correlate, correlate_back, correlate_input

rng = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return rng.normal(size=shape)


@dataclass
class Case:
    """A function of arrays, its definition, arguments, and how many of them are differentiated."""

    function: Callable[..., Any]
    definition: Callable[..., Any]
    args: tuple[Any, ...]
    wanted: int = 1
    options: dict[str, Any] = field(default_factory=dict)
    reference: dict[str, Any] | None = None  # options of the definition, where they differ

    def loss(self, *args: Any) -> Any:
        """A number whose gradient depends on the result."""
        y = self.function(*args, **self.options)
        shape = np.shape(self.function(*self.args, **self.options))
        weights = np.random.default_rng(1).normal(size=shape)
        return (weights * (y * y + y)).sum()

    def expected(self) -> Any:
        options = self.options if self.reference is None else self.reference
        return self.definition(*self.args, **options)


CASES: dict[str, Case] = {}


def case(name: str, function: Any, definition: Any, *args: Any, wanted: int = 1, **options: Any):
    CASES[name] = Case(function, definition, args, wanted, options)


# -- activations --------------------------------------------------------------------------------


def phi(x: Any) -> Any:
    return 0.5 * (1.0 + special.erf(x / np.sqrt(2.0)))


def bent(x: Any, approximate: str) -> Any:
    inner = np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1.0 + np.tanh(inner))


x = 3.0 * normal(4, 5)
case("relu", nn.relu, lambda x: np.where(x > 0, x, 0.0), x)
case("gelu", nn.gelu, lambda x: x * phi(x), x)
case("gelu_tanh", nn.gelu, bent, x, approximate="tanh")
case("silu", nn.silu, lambda x: x / (1.0 + np.exp(-x)), x)
case("elu", nn.elu, lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(x)), x, alpha=1.5)
case(
    "leaky_relu",
    nn.leaky_relu,
    lambda x, negative_slope: np.where(x > 0, x, negative_slope * x),
    x,
    negative_slope=0.2,
)
case("softplus", nn.softplus, lambda x, beta: np.log(1 + np.exp(beta * x)) / beta, x, beta=2.0)
case("sigmoid", nn.sigmoid, special.expit, x)
case("softmax", nn.softmax, lambda x, dim: special.softmax(x, axis=dim), x, dim=0)
case("log_softmax", nn.log_softmax, lambda x, dim: special.log_softmax(x, axis=dim), x, dim=1)


# -- losses -------------------------------------------------------------------------------------


def reduce(losses: Any, weights: Any, reduction: str) -> Any:
    match reduction:
        case "mean":
            return np.sum(losses) / np.sum(weights)
        case "sum":
            return np.sum(losses)
    return losses


def naive_cross_entropy(
    x: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Target by target."""
    classes = x.shape[1]
    log_p = special.log_softmax(x, axis=1)
    weight = np.ones(classes) if weight is None else weight
    losses, weights = np.zeros(target.shape), np.zeros(target.shape)
    for place in np.ndindex(*target.shape):
        k = target[place]
        if k != ignore_index:
            log_q = log_p[(place[0], slice(None), *place[1:])]
            weights[place] = weight[k]
            spread = -np.sum(weight * log_q) / classes
            losses[place] = -(1 - label_smoothing) * weight[k] * log_q[k] + label_smoothing * spread
    return reduce(losses, weights, reduction)


def naive_soft_cross_entropy(
    x: Any, target: Any, weight: Any = None, reduction: str = "mean", label_smoothing: float = 0.0
) -> Any:
    target = target * (1 - label_smoothing) + label_smoothing / x.shape[1]
    weight = np.ones(x.shape[1]) if weight is None else weight
    losses = -np.sum(target * weight * special.log_softmax(x, axis=1), axis=1)
    return reduce(losses, np.ones(losses.shape), reduction)


def naive_nll(x: Any, target: Any, weight: Any = None, **options: Any) -> Any:
    """Log-probabilities may be any numbers here."""
    weight = np.ones(x.shape[1]) if weight is None else weight
    losses = np.array([0.0 if k == -100 else -weight[k] * x[i, k] for i, k in enumerate(target)])
    weights = np.array([0.0 if k == -100 else weight[k] for k in target])
    return reduce(losses, weights, options.get("reduction", "mean"))


def naive_huber(x: Any, y: Any, reduction: str, delta: float) -> Any:
    size = np.abs(x - y)
    losses = np.where(size < delta, 0.5 * size**2, delta * (size - 0.5 * delta))
    return reduce(losses, np.ones(losses.shape), reduction)


def naive_bce(
    x: Any, y: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = 1.0
) -> Any:
    losses = -(pos_weight * y * special.log_expit(x) + (1 - y) * special.log_expit(-x))
    losses = losses if weight is None else losses * weight
    return reduce(losses, np.ones(losses.shape), reduction)


logits, other = 2.0 * normal(6, 4), normal(6, 4)
labels = np.array([0, 3, 1, -100, 2, 2])
weight, chance = rng.random(4) + 0.5, rng.random((6, 4))
images, pixels = normal(2, 3, 4, 2), rng.integers(3, size=(2, 4, 2))
for reduction in ("mean", "sum", "none"):
    how: dict[str, Any] = {"reduction": reduction}
    case(f"cross_entropy_{reduction}", nn.cross_entropy, naive_cross_entropy, logits, labels, **how)
    case(f"nll_{reduction}", nn.nll_loss, naive_nll, logits, labels, weight, **how)
    case(
        f"mse_{reduction}",
        nn.mse_loss,
        lambda x, y, reduction: reduce((x - y) ** 2, np.ones(x.shape), reduction),
        logits,
        other,
        wanted=2,
        **how,
    )
    case(
        f"huber_{reduction}", nn.huber_loss, naive_huber, logits, other, wanted=2, delta=0.7, **how
    )
    case(
        f"bce_{reduction}",
        nn.binary_cross_entropy_with_logits,
        naive_bce,
        5.0 * logits,
        chance,
        wanted=2,
        **how,
    )
    case(
        f"cross_entropy_of_probabilities_{reduction}",
        nn.cross_entropy,
        naive_soft_cross_entropy,
        logits,
        chance,
        weight,
        wanted=2,
        label_smoothing=0.1,
        **how,
    )
case("cross_entropy_images", nn.cross_entropy, naive_cross_entropy, images, pixels)
case(
    "cross_entropy_smooth",
    nn.cross_entropy,
    naive_cross_entropy,
    logits,
    labels,
    weight,
    label_smoothing=0.2,
)
case(
    "bce_weights",
    nn.binary_cross_entropy_with_logits,
    lambda x, y, w, pos_weight: naive_bce(x, y, w, pos_weight=pos_weight),
    logits,
    chance,
    weight,
    wanted=2,
    pos_weight=2.5,
)


# -- layers -------------------------------------------------------------------------------------


def standardized(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    spread = np.var(x, axis=axes, keepdims=True)
    return (x - np.mean(x, axis=axes, keepdims=True)) / np.sqrt(spread + eps)


def naive_group_norm(x: Any, groups: int, weight: Any, bias: Any, eps: float = 1e-5) -> Any:
    parts = [standardized(p, (1, 2, 3), eps) for p in np.split(x, groups, axis=1)]
    return np.concatenate(parts, axis=1) * weight[:, None, None] + bias[:, None, None]


image, scale, shift = normal(3, 4, 5, 6), normal(4), normal(4)
case(
    "layer_norm",
    lambda x, w, b: nn.layer_norm(x, (5, 6), w, b),
    lambda x, w, b: standardized(x, (2, 3), 1e-5) * w + b,
    image,
    normal(5, 6),
    normal(5, 6),
    wanted=3,
)
case(
    "rms_norm",
    lambda x, w: nn.rms_norm(x, 6, w),
    lambda x, w: x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 2.0**-52) * w,
    image,
    normal(6),
    wanted=2,
)
case(
    "group_norm",
    lambda x, w, b: nn.group_norm(x, 2, w, b),
    lambda x, w, b: naive_group_norm(x, 2, w, b),
    image,
    scale,
    shift,
    wanted=3,
)
case(
    "batch_norm_training",
    lambda x, w, b: nn.batch_norm(x, None, None, w, b, training=True),
    lambda x, w, b: standardized(x, (0, 2, 3), 1e-5) * w[:, None, None] + b[:, None, None],
    image,
    scale,
    shift,
    wanted=3,
)
case(
    "batch_norm",
    nn.batch_norm,
    lambda x, mean, var: (x - mean) / np.sqrt(var + 1e-5),
    normal(5, 4),
    normal(4),
    rng.random(4) + 0.5,
    wanted=3,
)
case(
    "linear",
    nn.linear,
    lambda x, w, b: np.einsum("nij,kj->nik", x, w) + b,
    normal(2, 3, 4),
    normal(5, 4),
    normal(5),
    wanted=3,
)
index = rng.integers(5, size=(3, 2))
case("embedding", lambda w: nn.embedding(index, w), lambda w: w[index], normal(5, 4))


# -- convolution and pooling --------------------------------------------------------------------


def naive_conv(x: Any, w: Any, b: Any, stride=1, padding=0, dilation=1, groups: int = 1) -> Any:
    """Element by element; `padding` may be pairs."""
    n = x.ndim - 2
    stride, dilation = np.broadcast_to(stride, n), np.broadcast_to(dilation, n)
    if np.ndim(padding) < 2:
        padding = [(p, p) for p in np.broadcast_to(padding, n)]
    x = np.pad(x, ((0, 0), (0, 0), *padding))
    spans = [d * (k - 1) + 1 for k, d in zip(w.shape[2:], dilation)]
    places = [(m - s) // step + 1 for m, s, step in zip(x.shape[2:], spans, stride)]
    out = np.empty((len(x), len(w), *places))
    for o in range(len(w)):
        first = o // (len(w) // groups) * w.shape[1]
        for p in np.ndindex(*places):
            window = x[:, first : first + w.shape[1]]
            for axis, (j, s, d, span) in enumerate(zip(p, stride, dilation, spans), 2):
                window = window.take(range(j * s, j * s + span, d), axis=axis)
            out[(slice(None), o, *p)] = (window * w[o]).reshape(len(x), -1).sum(axis=1) + b[o]
    return out


def naive_conv_transpose(x: Any, w: Any, b: Any, stride: int, padding: int, more: int) -> Any:
    """Each element of the input adds its multiple of the kernel to the result."""
    kernel = w.shape[2:]
    lengths = [(n - 1) * stride + k + more for n, k in zip(x.shape[2:], kernel)]
    out = np.zeros((len(x), w.shape[1], *lengths))
    for i, j in np.ndindex(*x.shape[2:]):
        window = out[:, :, i * stride : i * stride + kernel[0], j * stride : j * stride + kernel[1]]
        window += np.einsum("nc,cokl->nokl", x[:, :, i, j], w)
    out = out[:, :, padding : lengths[0] - padding, padding : lengths[1] - padding]
    return out + b[:, None, None]


def pooled(x: Any, kernel: Any, stride: Any, padding: Any, of: Any, counts: bool = True) -> Any:
    """Window by window; what lies outside of the image is nan."""
    margins = [(p, p) for p in padding]
    x = np.pad(x, ((0, 0), (0, 0), *margins), constant_values=np.nan)
    places = [(m - k) // s + 1 for m, k, s in zip(x.shape[2:], kernel, stride)]
    out = np.empty((*x.shape[:2], *places))
    for i, j in np.ndindex(*places):
        a, b = i * stride[0], j * stride[1]
        window = x[:, :, a : a + kernel[0], b : b + kernel[1]]
        out[:, :, i, j] = of(window.reshape(*x.shape[:2], -1))
    return out


def mean_with_zeros(windows: Any) -> Any:
    return np.mean(np.nan_to_num(windows), axis=-1)


def padded_same(x: Any, w: Any, b: Any, padding: str) -> Any:
    sides = [((k - 1) // 2, k // 2) for k in w.shape[2:]]
    return naive_conv(x, w, b, padding=sides)


picture, kernels, bias = normal(2, 4, 5, 6), normal(6, 4, 3, 2), normal(6)
for name, options in {
    "plain": {},
    "strided": {"stride": 2, "padding": 1},
    "dilated": {"stride": (2, 1), "padding": (0, 2), "dilation": (1, 2)},
}.items():
    case(f"conv2d_{name}", nn.conv2d, naive_conv, picture, kernels, bias, wanted=3, **options)
case("conv2d_same", nn.conv2d, padded_same, picture, kernels, bias, wanted=3, padding="same")
grouped = normal(6, 2, 3, 2)
case("conv2d_groups", nn.conv2d, naive_conv, picture, grouped, bias, wanted=3, padding=1, groups=2)
case("conv2d_depthwise", nn.conv2d, naive_conv, picture, normal(4, 1, 2, 2), scale, groups=4)
case("conv1d", nn.conv1d, naive_conv, normal(2, 3, 7), normal(4, 3, 3), scale, wanted=3, padding=1)
case(
    "conv3d",
    nn.conv3d,
    naive_conv,
    normal(2, 2, 4, 3, 5),
    normal(3, 2, 2, 3, 2),
    normal(3),
    wanted=3,
    stride=2,
    padding=1,
)
case(
    "conv_transpose2d",
    lambda x, w, b: nn.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1),
    lambda x, w, b: naive_conv_transpose(x, w, b, 2, 1, 1),
    picture,
    normal(4, 3, 3, 3),
    normal(3),
    wanted=3,
)
case(
    "max_pool2d",
    lambda x: nn.max_pool2d(x, 2),
    lambda x: pooled(x, (2, 2), (2, 2), (0, 0), lambda w: np.nanmax(w, axis=-1)),
    picture,
)
case(
    "max_pool2d_overlapping",
    lambda x: nn.max_pool2d(x, (3, 2), stride=(2, 1), padding=(1, 0)),
    lambda x: pooled(x, (3, 2), (2, 1), (1, 0), lambda w: np.nanmax(w, axis=-1)),
    picture,
)
case(
    "max_pool2d_ceil",
    lambda x: nn.max_pool2d(x, 2, ceil_mode=True),
    lambda x: pooled(
        np.pad(x, ((0, 0), (0, 0), (0, 1), (0, 0)), constant_values=np.nan),
        (2, 2),
        (2, 2),
        (0, 0),
        lambda w: np.nanmax(w, axis=-1),
    ),
    picture,
)
case(
    "avg_pool2d",
    lambda x: nn.avg_pool2d(x, 3, stride=2, padding=1),
    lambda x: pooled(x, (3, 3), (2, 2), (1, 1), mean_with_zeros),
    picture,
)
case(
    "avg_pool2d_without_padding",
    lambda x: nn.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False),
    lambda x: pooled(x, (3, 3), (2, 2), (1, 1), lambda w: np.nanmean(w, axis=-1)),
    picture,
)
case(
    "avg_pool2d_ceil",
    lambda x: nn.avg_pool2d(x, 2, ceil_mode=True),
    lambda x: pooled(
        np.pad(x, ((0, 0), (0, 0), (0, 1), (0, 0)), constant_values=np.nan),
        (2, 2),
        (2, 2),
        (0, 0),
        lambda w: np.nanmean(w, axis=-1),
    ),
    picture,
)


# -- attention ----------------------------------------------------------------------------------


def naive_attention(q: Any, k: Any, v: Any, mask: Any = None, scale: float | None = None) -> Any:
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    scores = np.einsum("bhie,bhje->bhij", q, k) * scale
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    return np.einsum("bhij,bhjf->bhif", special.softmax(scores, axis=-1), v)


heads = normal(2, 2, 5, 4), normal(2, 2, 6, 4), normal(2, 2, 6, 3)
allowed = rng.random((5, 6)) < 0.6
allowed[:, 0] = True
attention = nn.scaled_dot_product_attention
case("attention", attention, naive_attention, *heads, wanted=3)
case(
    "attention_causal",
    lambda q, k, v: attention(q, k, v, is_causal=True, scale=0.3),
    lambda q, k, v: naive_attention(q, k, v, np.tri(5, 6, dtype=bool), 0.3),
    *heads,
    wanted=3,
)
case("attention_mask", attention, naive_attention, *heads, allowed, wanted=3)
case("attention_bias", attention, naive_attention, *heads, normal(5, 6), wanted=4)

every_case = pytest.mark.parametrize("tried", CASES.values(), ids=CASES.keys())


@every_case
def test_values_are_those_of_the_definition(tried):
    found = tried.function(*tried.args, **tried.options)
    assert_close(found, tried.expected(), 1e-12)
    compiled = tg.compile(tried.function)(*tried.args, **tried.options)
    assert_same_bits(compiled, found)


@every_case
def test_gradients(tried):
    """Against differences; eager and compiled have the same bits."""
    positions = tuple(range(tried.wanted))
    compiled = tg.value_and_grad(tried.loss, argnums=positions)
    value, gradient = compiled(*tried.args)
    _, eager = run_eagerly(tried.loss, tried.args, positions)
    assert_same_bits(eager, list(gradient))
    direction = direction_like(tried.args[: tried.wanted], 3)

    def along(h: float) -> float:
        moved = [a + h * d for a, d in zip(tried.args, direction)]
        return float(tried.loss(*moved, *tried.args[tried.wanted :]))

    assert along(0.0) == pytest.approx(float(value), rel=1e-12)
    assert float(dot(gradient, direction)) == pytest.approx(slope(along), rel=1e-7, abs=1e-8)


def test_values_and_gradients_on_jax(few):
    """A quarter of the cases but repetitions, in one program: XLA is slow to start."""
    pytest.importorskip("jax")
    names = [name for name in CASES if not name.endswith(("_sum", "_none"))]
    names = few(names, -(-len(names) // 4))
    tried = [CASES[name] for name in names]

    def losses(wanted, rest):
        pairs = zip(tried, wanted, rest, strict=True)
        found = [case.loss(*xs, *others) for case, xs, others in pairs]
        return sum(found), found

    wanted = [case.args[: case.wanted] for case in tried]
    rest = [case.args[case.wanted :] for case in tried]
    results = [
        tg.value_and_grad(losses, has_aux=True, backend=backend)(wanted, rest)
        for backend in ("numpy", "jax")
    ]
    ((_, values), gradients), ((_, jax_values), jax_gradients) = results
    for name, *both in zip(names, values, jax_values, gradients, jax_gradients, strict=True):
        assert_close(both[1], both[0], 1e-9, what=name)
        assert_close(list(both[3]), list(both[2]), 1e-9, what=f"gradient of {name}")


# -- special points -----------------------------------------------------------------------------


def test_extreme_logits_give_finite_losses_and_gradients():
    for loss in (
        lambda x: nn.cross_entropy(x, np.array([0, 1])),
        lambda x: nn.binary_cross_entropy_with_logits(x, np.array([[0.0, 1.0], [1.0, 0.0]])),
    ):
        value, gradient = tg.value_and_grad(loss)(np.array([[1e4, -1e4], [1e4, -1e4]]))
        assert np.isfinite(value) and np.isfinite(gradient).all()
    tiny = nn.binary_cross_entropy_with_logits(np.array([50.0, -50.0]), np.array([1.0, 0.0]))
    assert tiny == pytest.approx(np.exp(-50.0), rel=1e-12)
    assert nn.cross_entropy(np.array([[50.0, 0.0]]), np.array([0])) == pytest.approx(
        np.exp(-50.0), rel=1e-12
    )


def test_derivatives_at_the_kinks_are_pytorchs():
    at_zero = np.zeros(1)
    slopes = {"relu": 0.0, "leaky_relu": 0.01, "elu": 1.0, "silu": 0.5, "gelu": 0.5}
    for name, expected in slopes.items():
        function = getattr(nn, name)
        assert tg.grad(lambda x, f=function: f(x).sum())(at_zero)[0] == expected, name


def test_the_first_of_equal_elements_is_the_largest():
    x = np.array([[[[1.0, 1.0], [0.0, 1.0]]]])
    gradient = tg.grad(lambda x: nn.max_pool2d(x, 2).sum())(x)
    assert gradient.tolist() == [[[[1.0, 0.0], [0.0, 0.0]]]]


def test_a_padded_row_of_an_embedding_has_no_gradient():
    index, table = np.array([0, 2, 2]), np.ones((3, 2))
    gradient = tg.grad(lambda w: (nn.embedding(index, w, padding_idx=2) * 3.0).sum())(table)
    assert gradient.tolist() == [[3.0, 3.0], [0.0, 0.0], [0.0, 0.0]]


def test_one_hot():
    assert nn.one_hot(np.array([0, 2]), 4).tolist() == [[1, 0, 0, 0], [0, 0, 1, 0]]
    assert nn.one_hot(np.array([[0, 2]])).tolist() == [[[1, 0, 0], [0, 0, 1]]]
    assert nn.one_hot(np.array([1])).dtype == np.int64


@pytest.mark.parametrize("kind", [np.array, tg.tensor])
def test_running_statistics_of_batches(kind):
    """As in PyTorch they are written to, without a gradient, and the result is the result alone."""
    x, mean, var = normal(8, 3), normal(3), rng.random(3)
    running_mean, running_var, t = kind(mean), kind(var), tg.tensor(x, requires_grad=True)
    weights = normal(8, 3)
    y = nn.batch_norm(t, running_mean, running_var, training=True, momentum=0.2)
    assert_close(y.detach().numpy(), standardized(x, (0,), 1e-5), 1e-12)
    assert_close(np.asarray(running_mean), 0.8 * mean + 0.2 * x.mean(axis=0), 1e-12)
    assert_close(np.asarray(running_var), 0.8 * var + 0.2 * x.var(axis=0, ddof=1), 1e-12)
    (y * weights).sum().backward()
    f = lambda x: (nn.batch_norm(x, training=True) * weights).sum()
    assert_close(t.grad.numpy(), tg.grad(f)(x), 1e-12)
    for refused in ([0.0] * 3, 0.0):
        with pytest.raises(tg.errors.ArgumentError, match=r"running_mean is written to"):
            nn.batch_norm(x, refused, training=True)


def test_running_statistics_of_a_model():
    class Model:
        def __init__(self):
            self.mean, self.var = tg.zeros(3), tg.ones(3)

        def __call__(self, x):
            return (nn.batch_norm(x, self.mean, self.var, training=True) ** 3).sum()

    model, other, x = Model(), Model(), normal(8, 3)
    gradient = tg.grad(model)
    for step in range(4):
        gradient(x + step)
        other(tg.tensor(x + step))
        assert_close(model.mean.numpy(), other.mean.numpy(), 1e-15)
        assert_close(model.var.numpy(), other.var.numpy(), 1e-15)


def test_a_missing_batch_axis():
    x, w = picture[0], kernels
    assert_close(nn.conv2d(x, w, bias), nn.conv2d(picture, w, bias)[0], 1e-12)
    assert_close(nn.max_pool2d(x, 2), nn.max_pool2d(picture, 2)[0], 0.0)


@pytest.mark.parametrize("channels, out", [(16, 5), (16, 40)])
def test_a_batch_whose_windows_do_not_fit_the_cache(channels, out):
    """Seven images, two at a time and the last alone, are convolved as each by itself."""
    x, w = normal(7, channels, 40, 41), normal(out, channels, 3, 3)
    weights = normal(7, out, 40, 41)
    f = tg.value_and_grad(
        lambda x, w, weights: (nn.conv2d(x, w, padding=1) * weights).sum(), argnums=(0, 1)
    )
    value, (to_x, to_w) = f(x, w, weights)
    alone = [f(x[i : i + 1], w, weights[i : i + 1]) for i in range(7)]
    assert value == pytest.approx(sum(one for one, _ in alone), rel=1e-12)
    assert_close(to_x, np.concatenate([one for _, (one, _) in alone]), 1e-12)
    assert_close(to_w, sum(one for _, (_, one) in alone), 1e-10)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    assert_close(nn.conv2d(x, w, padding=1), np.einsum("nchwij,ocij->nohw", windows, w), 1e-12)


@pytest.mark.parametrize("out, groups", [(3, 1), (6, 1), (12, 3), (20, 2)])
@pytest.mark.parametrize("padding", [((0, 0), (0, 0)), ((2, 1), (0, 3)), ((-1, 0), (1, 1))])
@pytest.mark.parametrize("dilation", [(1, 1), (2, 3)])
def test_the_transpose_in_the_input_where_windows_start_everywhere(out, groups, padding, dilation):
    """Against the one that serves every stride, with few and with many channels in the result."""
    x, w = np.empty((2, groups * 2, 9, 11)), normal(out, 2, 3, 2)
    ct = np.ones_like(correlate(x, w, padding, None, dilation, groups))
    ct *= normal(*ct.shape)
    lengths = [m + a + b for m, (a, b) in zip(x.shape[2:], padding, strict=True)]
    if np.min(padding) >= 0:
        expected = correlate_input(ct, w, lengths, padding, None, dilation, groups)
    else:  # what padding takes away has no gradient
        inner = [(max(a, 0), max(b, 0)) for a, b in padding]
        expected = np.zeros(x.shape)
        kept = [slice(max(-a, 0), m - max(-b, 0)) for m, (a, b) in zip(x.shape[2:], padding)]
        expected[(..., *kept)] = correlate_input(ct, w, lengths, inner, None, dilation, groups)
    assert_close(correlate_back(ct, w, padding, dilation, groups), expected, 1e-12)


@pytest.mark.parametrize(
    "stride, padding, dilation, more", [(1, 1, 2, 1), (1, 0, 3, 2), (2, 1, 4, 3)]
)
def test_rows_beyond_the_last_window_of_a_transposed_convolution(stride, padding, dilation, more):
    """They are those that a longer image would have had, less what its padding took away."""
    x, w = normal(2, 3, 4, 5), normal(3, 2, 2, 2)

    def f(x, w):
        return nn.conv_transpose2d(x, w, None, stride, padding, more, 1, dilation)

    whole = nn.conv_transpose2d(x, w, None, stride, 0, 0, 1, dilation)
    whole = np.pad(whole, ((0, 0), (0, 0), (0, more), (0, more)))
    inner = slice(padding, -padding or None)
    assert_close(f(x, w), whole[:, :, inner, inner], 1e-12)
    direction = normal(*x.shape), normal(*w.shape)
    to_x, to_w = tg.grad(lambda x, w: (f(x, w) ** 2).sum(), argnums=(0, 1))(x, w)
    expected = slope(lambda h: float((f(x + h * direction[0], w + h * direction[1]) ** 2).sum()))
    assert dot((to_x, to_w), direction) == pytest.approx(expected, rel=1e-6)


def test_functions_in_source_leave_the_users_names_alone():
    def image_buffer(correlate, w):
        return (nn.conv2d(correlate, w, padding=1) ** 2).sum()

    compiled = tg.compile(image_buffer)
    assert compiled(picture, kernels) == image_buffer(picture, kernels)
    text = compiled.source(picture, kernels)
    assert "def image_buffer(correlate, w):" in text
    assert "= image_buffer_(x, kernel" in text and "correlate_(correlate, w" in text


def test_one_program_serves_every_batch_and_image():
    f = tg.value_and_grad(lambda w, x: nn.max_pool2d(nn.conv2d(x, w, padding=1), 2).sum())
    for batch, height, width in ((2, 6, 8), (1, 4, 4), (0, 6, 6), (5, 9, 7)):
        value, gradient = f(kernels, normal(batch, 4, height, width))
        assert gradient.shape == kernels.shape
        assert batch or value == 0.0
    assert f.cache_info().versions == 1


def test_float32_stays_float32():
    small = {"x": picture.astype(np.float32), "w": kernels.astype(np.float32)}
    for function in (
        nn.gelu,
        nn.silu,
        lambda x: nn.max_pool2d(x, 2),
        lambda x: nn.layer_norm(x, 6),
    ):
        assert function(small["x"]).dtype == np.float32
    assert nn.conv2d(small["x"], small["w"]).dtype == np.float32
    assert nn.conv2d(small["x"], kernels).dtype == np.float64
    single = [part.astype(np.float32) for part in heads]
    assert attention(*single).dtype == np.float32


def test_the_source_of_a_convolution_reads_well(golden):
    @tg.value_and_grad
    def loss(w, x, labels):
        h = tg.nn.relu(tg.nn.conv2d(x, w, stride=2, padding=1))
        logits = h.mean(axis=(2, 3))
        return tg.nn.cross_entropy(logits, labels)

    text = loss.source(kernels, picture, np.array([0, 1]))
    golden("nn_conv_numpy", re.sub(r"test_nn\.py:\d+", "model.py", text))


# -- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.conv2d(picture, kernels[:, :3]), r"\(2, 4, 5, 6\).*\(6, 3, 3, 2\).*channels"),
        (lambda: nn.conv2d(picture, normal(6, 4, 9, 2)), "window of 9 is longer"),
        (lambda: nn.conv2d(picture[0, 0], kernels), "has 2 axes"),
        (lambda: nn.conv2d(picture, normal(5, 2, 3, 2), groups=2), "groups need"),
        (lambda: nn.conv2d(picture, kernels, stride=2, padding="same"), "needs stride=1"),
        (lambda: nn.conv2d(picture, kernels, padding="full"), "'full'"),
        (lambda: nn.conv2d(picture, kernels, stride=0), "at least 1"),
        (lambda: nn.conv_transpose2d(picture, kernels), "axis 1 of the input must be axis 0"),
        (lambda: nn.max_pool2d(picture, 2, padding=2), "more than half"),
        (lambda: nn.layer_norm(image, (5, 5)), r"\(5, 5\).*\(3, 4, 5, 6\)"),
        (lambda: nn.group_norm(image, 3), "4 channels are not 3 equal groups"),
        (lambda: nn.batch_norm(image), "training=True"),
        (lambda: nn.mse_loss(logits, normal(6, 1)), r"\(6, 4\).*\(6, 1\)"),
        (lambda: nn.mse_loss(logits, normal(4)), "2 axes and the target 1"),
        (lambda: nn.cross_entropy(logits, labels, reduction="max"), "'max'"),
        (lambda: nn.cross_entropy(logits, labels[None]), "one axis less"),
        (lambda: nn.embedding(normal(3), normal(4, 2)), "needs integers"),
        (lambda: nn.dropout(normal(3), p=1.5), "no probability"),
        (lambda: nn.dropout(normal(3), generator=rng), "tg.random.Generator"),
        (lambda: nn.gelu(normal(3), "fast"), "'fast'"),
        (lambda: attention(*heads, allowed, is_causal=True), "mask"),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(tg.errors.TracegradError, match=f"(?s){message}"):
        call()


# -- dropout ------------------------------------------------------------------------------------


def test_dropout_draws_anew_and_equals_eager():
    generator, numpys = tg.random.Generator(0), np.random.default_rng(0)
    x = np.ones((50, 40))

    def loss(x):
        return (nn.dropout(x, 0.25, generator=generator) * x).sum()

    compiled = tg.value_and_grad(loss)
    for _ in range(3):
        kept = numpys.random(x.shape) >= 0.25
        value, gradient = compiled(x)
        assert value == (np.where(kept, x * (1 / 0.75), 0.0) * x).sum()
        assert_close(gradient, np.where(kept, 2 / 0.75, 0.0), 1e-15)
    assert compiled.cache_info().traces == 1
    kept = numpys.random(x.shape) >= 0.25
    _, (gradient,) = run_eagerly(loss, (x,))
    assert_close(gradient, np.where(kept, 2 / 0.75, 0.0), 1e-15)
    shorter = nn.dropout(x[:2], 0.25, generator=generator)
    assert_close(shorter, np.where(numpys.random((2, 40)) >= 0.25, 1 / 0.75, 0.0), 1e-15)


def test_dropout_that_does_nothing():
    x = np.ones(3)
    assert nn.dropout(x, 0.5, training=False).tolist() == [1.0, 1.0, 1.0]
    assert nn.dropout(x, 0.0).tolist() == [1.0, 1.0, 1.0]
    assert nn.dropout(x, 1.0).tolist() == [0.0, 0.0, 0.0]


# -- initialisers -------------------------------------------------------------------------------

BIG = (400, 100, 3)
SPREADS = {
    "uniform": (lambda g: nn.init.uniform(BIG, -1.0, 3.0, g), 1.0, 16 / 12),
    "normal": (lambda g: nn.init.normal(BIG, 2.0, 3.0, g), 2.0, 9.0),
    "xavier_uniform": (lambda g: nn.init.xavier_uniform(BIG, 2.0, g), 0.0, 8 / 1500),
    "xavier_normal": (lambda g: nn.init.xavier_normal(BIG, 2.0, g), 0.0, 8 / 1500),
    "kaiming_uniform": (lambda g: nn.init.kaiming_uniform(BIG, generator=g), 0.0, 2 / 300),
    "kaiming_normal": (
        lambda g: nn.init.kaiming_normal(BIG, 0.5, "fan_out", generator=g),
        0.0,
        1.6 / 1200,
    ),
    "trunc_normal": (
        lambda g: nn.init.trunc_normal(BIG, 0.0, 1.0, -1.0, 1.0, g),
        0.0,
        0.2911250947,
    ),
}


@pytest.mark.parametrize("name", SPREADS)
def test_initialisers_have_their_mean_and_variance(name):
    make, mean, variance = SPREADS[name]
    found = make(np.random.default_rng(0))
    assert type(found) is np.ndarray and found.shape == BIG
    assert abs(found.mean() - mean) < 5 * np.sqrt(variance / found.size)
    assert found.var() == pytest.approx(variance, rel=0.03)
    again = make(tg.random.Generator(0))
    assert isinstance(again, tg.Tensor)
    assert_same_bits(again, found)


def test_orthogonal_and_constant_initialisers():
    for shape in ((6, 4), (4, 6), (4, 2, 3)):
        w = nn.init.orthogonal(shape, 2.0, np.random.default_rng(0)).reshape(shape[0], -1)
        small = w.T @ w if w.shape[0] > w.shape[1] else w @ w.T
        assert_close(small, 4.0 * np.eye(len(small)), 1e-12)
    assert nn.init.zeros((2, 3)).tolist() == [[0.0] * 3] * 2
    assert nn.init.ones(2, np.float32).dtype == np.float32
    with pytest.raises(tg.errors.ArgumentError, match="no fan"):
        nn.init.xavier_normal((3,))
    with pytest.raises(tg.errors.ArgumentError, match="swish"):
        nn.init.kaiming_normal((3, 3), nonlinearity="swish")


def test_rms_norm_knows_the_spacing_of_every_dtype():
    for dtype in ("float16", "float32", "float64", "complex64", "complex128"):
        x = np.full((2, 3), 1e-4, dtype)
        assert nn.rms_norm(x, 3).dtype == dtype
        assert_close(nn.rms_norm(x, 3), nn.rms_norm(x, 3, eps=np.finfo(dtype).eps), 0.0)


def test_every_function_says_what_it_does():
    for name in nn.__all__:
        member = getattr(nn, name)
        assert inspect.getdoc(member), name


def test_initialisers_have_the_default_dtype():
    before = tg.get_default_dtype()
    tg.set_default_dtype(np.float32)
    try:
        assert tg.nn.init.uniform((2, 3)).dtype == np.float32
        assert tg.nn.init.zeros(3).dtype == np.float32
        made = tg.nn.init.kaiming_normal((2, 3), generator=np.random.default_rng(0))
        assert made.dtype == np.float32
        assert tg.nn.init.normal((2,), dtype=np.float64).dtype == np.float64
    finally:
        tg.set_default_dtype(before)
    assert tg.nn.init.orthogonal((2, 2)).dtype == before
