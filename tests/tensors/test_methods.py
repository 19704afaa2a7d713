"""Methods of Tensors with PyTorch's or ndarray's names, beside what they are in NumPy.

What stands on the right was compared with PyTorch; gradients are compared with differences.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_close, direction_like, slope

import tracegrad as tg

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(3, 4))
PLACES = RANDOM.integers(0, 3, size=(2, 4))
ORDER = np.argsort(-X, axis=1)

METHODS = {
    "absolute": (lambda x: x.absolute(), np.abs),
    "addcdiv": (lambda x: x.addcdiv(x, x * x + 1, value=0.5), lambda x: x + 0.5 * x / (x * x + 1)),
    "addcmul": (lambda x: x.addcmul(x, x, value=2.0), lambda x: x + 2.0 * x * x),
    "addmm": (
        lambda x: x[:2].addmm(x[:2, :2], x[:2], beta=0.5, alpha=2.0),
        lambda x: 0.5 * x[:2] + 2.0 * (x[:2, :2] @ x[:2]),
    ),
    "arctan": (lambda x: x.arctan(), np.arctan),
    "arctan2": (lambda x: x.arctan2(x * x + 1), lambda x: np.arctan2(x, x * x + 1)),
    "bmm": (lambda x: x[None].bmm(x.T[None]), lambda x: (x @ x.T)[None]),
    "chunk": (lambda x: x.chunk(3, dim=1), lambda x: (x[:, :2], x[:, 2:])),
    "clamp_max": (lambda x: x.clamp_max(0.3), lambda x: np.minimum(x, 0.3)),
    "clamp_min": (lambda x: x.clamp_min(-0.3), lambda x: np.maximum(x, -0.3)),
    "count_nonzero": (lambda x: (x > 0).count_nonzero(dim=1), lambda x: (x > 0).sum(axis=1)),
    "cov": (lambda x: x.cov(), np.cov),
    "corrcoef": (lambda x: x.corrcoef(), np.corrcoef),
    "diff": (lambda x: x.diff(dim=0), lambda x: np.diff(x, axis=0)),
    "expand": (lambda x: x[:, :1].expand(3, 5), lambda x: np.tile(x[:, :1], (1, 5))),
    "expand_front": (lambda x: x.expand(2, -1, -1), lambda x: np.stack([x, x])),
    "expand_as": (lambda x: x[:1].expand_as(x), lambda x: np.tile(x[:1], (3, 1))),
    "frac": (lambda x: (3 * x).frac(), lambda x: np.modf(3 * x)[0]),
    "gather": (
        lambda x: x.gather(0, PLACES),
        lambda x: x[PLACES, np.arange(4)],
    ),
    "gather_narrow": (lambda x: x.gather(1, PLACES[:, :2]), lambda x: x[[[0], [1]], PLACES[:, :2]]),
    "index_select": (lambda x: x.index_select(1, tg.tensor([0, 0, 2])), lambda x: x[:, [0, 0, 2]]),
    "kron": (lambda x: x[:2].kron(x), lambda x: np.kron(x[:2], x)),
    "lerp": (lambda x: x.lerp(x * x, 0.25), lambda x: 0.75 * x + 0.25 * x * x),
    "masked_fill": (lambda x: x.masked_fill(x > 0, 7), lambda x: np.where(x > 0, 7.0, x)),
    "masked_select": (lambda x: x.masked_select(x > 0), lambda x: x[x > 0]),
    "mm": (lambda x: x.mm(x.T), lambda x: x @ x.T),
    "mv": (lambda x: x.mv(x[0]), lambda x: x @ x[0]),
    "movedim": (lambda x: x.movedim(0, 1), lambda x: x.T),
    "narrow": (lambda x: x.narrow(1, 1, 2), lambda x: x[:, 1:3]),
    "quantile": (lambda x: x.quantile(0.3, dim=1), lambda x: np.quantile(x, 0.3, axis=1)),
    "repeat_interleave": (lambda x: x.repeat_interleave(2, dim=1), lambda x: np.repeat(x, 2, 1)),
    "reshape_as": (lambda x: x.reshape_as(x.T), lambda x: x.reshape(4, 3)),
    "rot90": (lambda x: x.rot90(), np.rot90),
    "rsqrt": (lambda x: (x * x + 1).rsqrt(), lambda x: (x * x + 1) ** -0.5),
    "scatter_add": (
        lambda x: x.scatter_add(1, PLACES[:, :1][[0, 1, 0]], x[:, :1]),
        lambda x: x + x[:, :1] * (np.arange(4) == PLACES[:, :1][[0, 1, 0]]),
    ),
    "select": (lambda x: x.select(1, -1), lambda x: x[:, -1]),
    "swapdims": (lambda x: x.swapdims(0, 1), lambda x: x.T),
    "tensor_split": (lambda x: x.tensor_split(3, dim=1), lambda x: np.array_split(x, 3, axis=1)),
    "scatter_add_of_more": (
        lambda x: x.scatter_add(0, PLACES[:1], x),
        lambda x: x + x[0] * (np.arange(3)[:, None] == PLACES[:1]),
    ),
    "flatten": (lambda x: x[None].flatten(1), lambda x: x.reshape(1, 12)),
    "flatten_some": (lambda x: x[None].flatten(0, 1), lambda x: x.reshape(3, 4)),
    "flatten_in_order": (lambda x: x.flatten("F"), lambda x: x.flatten("F")),
    "index_add": (
        lambda x: x.index_add(1, [0, 0, 2, 1], x, alpha=2),
        lambda x: x + 2 * np.stack([x[:, 0] + x[:, 1], x[:, 3], x[:, 2], 0 * x[:, 0]], axis=1),
    ),
    "norm_of_a_matrix": (lambda x: x.norm(1), lambda x: np.abs(x).sum()),
    "norm_of_a_matrix_2": (lambda x: x.norm(2), lambda x: np.sqrt((x * x).sum())),
    "norm_of_rows": (lambda x: x.norm(p=3, dim=1), lambda x: (np.abs(x) ** 3).sum(1) ** (1 / 3)),
    "norm_over_two_axes": (
        lambda x: x[None].norm(1, dim=(1, 2), keepdim=True),
        lambda x: np.abs(x).sum().reshape(1, 1, 1),
    ),
    "nuclear_norm": (lambda x: x.norm("nuc"), lambda x: np.linalg.norm(x, "nuc")),
    "permute": (lambda x: x[None].permute(2, 0, 1), lambda x: x[None].transpose(2, 0, 1)),
    "split_size": (lambda x: x.split(3, dim=1), lambda x: (x[:, :3], x[:, 3:])),
    "split_sizes": (lambda x: x.split([1, 2]), lambda x: (x[:1], x[1:])),
    "transpose_two": (lambda x: x.transpose(0, 1), lambda x: x.T),
    "transpose_two_of_three": (
        lambda x: x[None].transpose(-1, 1),
        lambda x: np.swapaxes(x[None], 1, 2),
    ),
    "transpose_in_order": (lambda x: x[None].transpose((2, 0, 1)), lambda x: x.T[:, None]),
    "nonzero": (lambda x: x.nonzero(), np.nonzero),
    "argwhere": (lambda x: x.argwhere(), np.argwhere),
    "topk": (
        lambda x: tuple(x.topk(2)),
        lambda x: (np.take_along_axis(x, ORDER[:, :2], 1), ORDER[:, :2]),
    ),
    "topk_smallest": (
        lambda x: x.topk(2, dim=0, largest=False).values,
        lambda x: np.sort(x, axis=0)[:2],
    ),
    "unbind": (lambda x: x.unbind(1), lambda x: list(x.T)),
    "flatten_rest": (lambda x: x.reshape(3, 2, 2).flatten(1), lambda x: x),
    "flatten_to": (
        lambda x: tg.flatten(x.reshape(3, 1, 2, 2), start_dim=0, end_dim=-2),
        lambda x: x.reshape(6, 2),
    ),
    "flatten_all": (lambda x: x.flatten("F"), lambda x: x.flatten("F")),
    "unflatten": (lambda x: x.unflatten(1, (2, -1)), lambda x: x.reshape(3, 2, 2)),
    "where": (lambda x: x.where(x > 0, x * x), lambda x: np.where(x > 0, x, x * x)),
    # ndarray's
    "argpartition": (lambda x: x.argpartition(1, axis=1)[:, 1], lambda x: np.argsort(x)[:, 1]),
    "argsort": (lambda x: x.argsort(axis=0, kind="stable"), lambda x: np.argsort(x, axis=0)),
    "choose": (lambda x: tg.tensor(PLACES).choose(x), lambda x: np.choose(PLACES, list(x))),
    "searchsorted": (lambda x: x[0].searchsorted(x[1]), lambda x: np.searchsorted(x[0], x[1])),
    "sort": (lambda x: x.sort(dim=1), lambda x: np.sort(x, axis=1)),
}


def several(result):
    return list(result) if isinstance(result, tuple | list) else [result]


@pytest.mark.parametrize("name", METHODS)
def test_method(name):
    """Values, and the gradient of their weighted sum along a direction."""
    method, in_numpy = METHODS[name]
    expected = several(in_numpy(X))
    x = tg.tensor(X, requires_grad=True)
    found = several(method(x))
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert_close(a, b, 1e-12, 1e-14, name)
    floating = [i for i, b in enumerate(expected) if np.asarray(b).dtype.kind == "f"]
    if not floating:
        return
    weights = direction_like([np.asarray(expected[i]) for i in floating], 2)
    total = sum((w * found[i]).sum() for w, i in zip(weights, floating, strict=True))
    total.backward()
    (direction,) = direction_like([X], 3)

    def along(h):
        moved = several(in_numpy(X + h * direction))
        return sum(float(np.sum(w * moved[i])) for w, i in zip(weights, floating, strict=True))

    change = float(np.sum(x.grad.numpy() * direction))
    assert change == pytest.approx(slope(along), rel=1e-7, abs=1e-9)


TIES = np.array([[5.0, 1.0, 5.0], [2.0, 2.0, 2.0]])


def gradient_of(f, x):
    leaf = tg.tensor(x, requires_grad=True)
    f(leaf).sum().backward()
    return leaf.grad.tolist()


def test_of_ties_along_one_axis_the_first_has_the_gradient():
    first = [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    assert gradient_of(lambda x: x.max(dim=1), TIES) == first
    assert gradient_of(lambda x: tg.max(x, axis=1, keepdims=True), TIES) == first
    assert gradient_of(lambda x: x.min(dim=1), -TIES) == first
    assert tg.grad(lambda x: np.sum(np.max(x, axis=1)), backend="jax")(TIES).tolist() == first


def test_ties_over_the_whole_and_of_amax_share_the_gradient():
    third = 1.0 / 3.0
    shared = [[0.5, 0.0, 0.5], [third, third, third]]
    assert gradient_of(lambda x: x.amax(dim=1), TIES) == shared
    assert gradient_of(lambda x: x.amin(dim=1), -TIES) == shared
    assert gradient_of(lambda x: x.max(), TIES) == [[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]
    assert gradient_of(lambda x: x.max(axis=(0, 1)), TIES) == [[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]


def test_of_ties_the_latest_has_the_gradient_of_running_extremes():
    ties, weights = np.array([1.0, 3.0, 3.0, 2.0, 3.0, 0.0]), np.arange(6.0)
    expected = [0.0, 1.0, 5.0, 0.0, 9.0, 0.0]
    assert gradient_of(lambda x: x.cummax(0) * weights, ties) == expected
    assert gradient_of(lambda x: x.cummin(0) * weights, -ties) == expected


def test_the_gradient_of_equal_elements_keeps_their_order():
    ties, weights = np.array([2.0, 1.0, 2.0, 1.0]), np.arange(4.0)
    assert gradient_of(lambda x: tg.sort(x) * weights, ties) == [2.0, 0.0, 3.0, 1.0]
    backwards = gradient_of(lambda x: tg.sort(x, descending=True) * weights, ties)
    assert backwards == [0.0, 2.0, 1.0, 3.0]


def test_put_writes():
    x = tg.tensor(X)
    expected = X.copy()
    x.put([0, -1], [1.0, 2.0])
    expected.put([0, -1], [1.0, 2.0])
    assert np.array_equal(x.numpy(), expected)


def test_descending_order_is_stable():
    ties = tg.tensor([1, 2, 1, 2])
    assert tg.argsort(ties, descending=True).tolist() == [1, 3, 0, 2]
    assert tg.argsort(ties).tolist() == [0, 2, 1, 3]


def test_sinc_in_place():
    x = tg.tensor([0.25, 2.0])
    expected = np.sinc(x.numpy())
    assert x.sinc_() is x and np.array_equal(x.numpy(), expected)


def test_what_numpy_and_pytorch_mean_otherwise_is_refused_of_tensors_and_numpys_of_arrays():
    x = tg.tensor(X, requires_grad=True)
    for call in (lambda: x.repeat(2), lambda: x.repeat(2, 1)):
        with pytest.raises(tg.errors.ArgumentError, match=r"repeat_interleave.*tile"):
            call()
    assert x.repeat(2, axis=1).shape == (3, 8)
    for call in (lambda: x.split([1, 1]), lambda: x.squeeze(0)):
        with pytest.raises(tg.errors.ShapeError, match=r"split|squeeze"):
            call()
    f = tg.value_and_grad(lambda a: np.sum(a.transpose(0, 1) * X) + np.sum(a.repeat(2, 0)))
    for _ in range(2):
        value, gradient = f(X)
        assert_close(value, np.sum(X * X) + 2 * X.sum(), 1e-12)
        assert_close(gradient, X + 2, 1e-12)
    tg.config.compile = False
    try:
        assert_close(f(X)[1], X + 2, 1e-12)
    finally:
        tg.config.compile = True
