"""Methods of Tensors with PyTorch's or ndarray's names give what PyTorch or NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_close

import tracegrad as tg

torch = pytest.importorskip("torch")

RANDOM = np.random.default_rng(5)
X, Y, M = (RANDOM.normal(size=shape) for shape in ((3, 4), (3, 4), (4, 2)))
B = RANDOM.normal(size=(2, 3, 4))
MASK = RANDOM.random((3, 4)) < 0.5
PLACES = RANDOM.integers(0, 3, size=(2, 4))
WIDE = RANDOM.normal(size=(3, 1))

LIKE_PYTORCH = {
    "absolute": lambda x: x.absolute(),
    "addcdiv": lambda x: x.addcdiv(x * 2, x * x + 1, value=0.5),
    "addcmul": lambda x: x.addcmul(x, x, value=2.0),
    "addmm": lambda x: x[:2].addmm(x[:2, :2], x[:2], beta=0.5, alpha=2.0),
    "arctan": lambda x: x.arctan(),
    "arctan2": lambda x: x.arctan2(x * x + 1),
    "bmm": lambda x: (x[None] * 2).bmm(x.T[None]),
    "chunk": lambda x: x.chunk(3, dim=1),
    "chunk, fewer": lambda x: x.chunk(3, 1)[-1],
    "clamp_max": lambda x: x.clamp_max(0.3),
    "clamp_min": lambda x: x.clamp_min(-0.3),
    "count_nonzero": lambda x: (x > 0).count_nonzero(dim=1),
    "cov": lambda x: x.cov(),
    "corrcoef": lambda x: x.corrcoef(),
    "diff": lambda x: x.diff(dim=0),
    "expand": lambda x: x[:, :1].expand(3, 5),
    "expand, more axes": lambda x: x.expand(2, -1, -1),
    "expand_as": lambda x: x[:1].expand_as(x),
    "frac": lambda x: (3 * x).frac(),
    "index_select": lambda x: x[:, [1, 3]],
    "kron": lambda x: x[:2].kron(x),
    "lerp": lambda x: x.lerp(x * x, 0.25),
    "masked_fill": lambda x: x.masked_fill(x > 0, 7.0),
    "masked_select": lambda x: x.masked_select(x > 0),
    "mm": lambda x: x.mm(x.T),
    "mv": lambda x: x.mv(x[0]),
    "movedim": lambda x: x.movedim(0, 1),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "quantile": lambda x: x.quantile(0.3, dim=1),
    "repeat_interleave": lambda x: x.repeat_interleave(2, dim=1),
    "reshape_as": lambda x: x.reshape_as(x.T),
    "rot90": lambda x: x.rot90(),
    "rsqrt": lambda x: (x * x + 1).rsqrt(),
    "select": lambda x: x.select(1, -1),
    "swapdims": lambda x: x.swapdims(0, 1),
    "tensor_split": lambda x: x.tensor_split(3, dim=1),
    "topk": lambda x: tuple(x.topk(2)),
    "topk, smallest": lambda x: tuple(x.topk(2, dim=0, largest=False)),
    "unbind": lambda x: x.unbind(1),
    "unflatten": lambda x: x.unflatten(1, (2, -1)),
    "where": lambda x: x.where(x > 0, x * x),
    "ties of max(dim)": lambda x: x.round().abs().clamp_max(1.0).amax(dim=1) * x[:, 0],
}


@pytest.mark.parametrize("name", LIKE_PYTORCH)
def test_as_pytorch(name):
    """Values, and the gradient of their weighted sum."""
    call = LIKE_PYTORCH[name]
    ours, theirs = tg.tensor(X, requires_grad=True), torch.tensor(X, requires_grad=True)
    found, expected = call(ours), call(theirs)
    several = found if isinstance(found, tuple) else (found,)
    wanted = expected if isinstance(expected, tuple | list) else (expected,)
    assert len(several) == len(wanted)
    for a, b in zip(several, wanted, strict=True):
        assert_close(a.detach().numpy(), b.detach().numpy(), 1e-12, 1e-14, name)
        if a.requires_grad:
            weights = np.cos(np.arange(a.detach().numpy().size)).reshape(a.shape)
            (a * weights).sum().backward(retain_graph=True)
            (b * torch.tensor(weights)).sum().backward(retain_graph=True)
    if theirs.grad is not None:
        assert_close(ours.grad.numpy(), theirs.grad.numpy(), 1e-12, 1e-14, name)


def test_gather_and_scatter_add():
    x, t = tg.tensor(X, requires_grad=True), torch.tensor(X, requires_grad=True)
    index = torch.tensor(PLACES)
    found, expected = x.gather(0, tg.tensor(PLACES)), t.gather(0, index)
    assert_close(found.detach().numpy(), expected.detach().numpy(), 0)
    (found * found).sum().backward()
    (expected * expected).sum().backward()
    assert_close(x.grad.numpy(), t.grad.numpy(), 1e-12)
    added = x.scatter_add(0, tg.tensor(PLACES), x[:2]).detach()
    assert_close(added.numpy(), t.scatter_add(0, index, t[:2]).detach().numpy(), 1e-12)


def test_index_select():
    found = tg.tensor(X).index_select(1, tg.tensor([0, 0, 2]))
    assert_close(found.numpy(), torch.tensor(X).index_select(1, torch.tensor([0, 0, 2])).numpy(), 0)


@pytest.mark.parametrize("name", ["max", "min"])
def test_of_ties_along_an_axis_the_first_has_the_gradient(name):
    ties = np.array([[5.0, 1.0, 5.0], [2.0, 2.0, 2.0]])
    for axis in (0, 1):
        x, t = tg.tensor(ties, requires_grad=True), torch.tensor(ties, requires_grad=True)
        getattr(x, name)(dim=axis).sum().backward()
        getattr(t, name)(dim=axis).values.sum().backward()
        assert np.array_equal(x.grad.numpy(), t.grad.numpy()), (name, axis)


@pytest.mark.parametrize("name", ["amax", "amin"])
def test_amax_and_amin_share_ties(name):
    ties = np.array([[5.0, 1.0, 5.0], [2.0, 2.0, 2.0]])
    for axis in (0, 1, (0, 1)):
        x, t = tg.tensor(ties, requires_grad=True), torch.tensor(ties, requires_grad=True)
        getattr(x, name)(dim=axis).sum().backward()
        getattr(t, name)(dim=axis).sum().backward()
        assert_close(x.grad.numpy(), t.grad.numpy(), 1e-15, what=f"{name} {axis}")


@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_of_ties_the_latest_has_the_gradient_of_running_extremes(name):
    ties = np.array([1.0, 3.0, 3.0, 2.0, 3.0, 0.0])
    x, t = tg.tensor(ties, requires_grad=True), torch.tensor(ties, requires_grad=True)
    weights = np.arange(6.0)
    (getattr(x, name)(0) * weights).sum().backward()
    (getattr(t, name)(0).values * torch.tensor(weights)).sum().backward()
    assert np.array_equal(x.grad.numpy(), t.grad.numpy())


def test_the_gradient_of_equal_elements_keeps_their_order():
    """As PyTorch's stable sort, and JAX's."""
    ties = np.array([2.0, 1.0, 2.0, 1.0])
    x, t = tg.tensor(ties, requires_grad=True), torch.tensor(ties, requires_grad=True)
    weights = np.arange(4.0)
    (tg.sort(x) * weights).sum().backward()
    (torch.sort(t, stable=True).values * torch.tensor(weights)).sum().backward()
    assert np.array_equal(x.grad.numpy(), t.grad.numpy())


NDARRAY = {
    "argpartition": lambda x: x.argpartition(1, axis=1)[:, 1],
    "argsort": lambda x: x.argsort(axis=0, kind="stable"),
    "searchsorted": lambda x: x[0].searchsorted(x[1]),
}


@pytest.mark.parametrize("name", NDARRAY)
def test_as_ndarray(name):
    assert np.array_equal(NDARRAY[name](tg.tensor(X)).numpy(), NDARRAY[name](X))


def test_sort_gives_values():
    assert np.array_equal(tg.tensor(X).sort(dim=1).numpy(), np.sort(X, axis=1))
