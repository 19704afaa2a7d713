"""Leaves of a function that a transform runs: its own get gradients, those outside are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.array([[1.0, -2.0], [0.5, 3.0], [2.0, 1.0]])


def leaf() -> Any:
    return tg.tensor(np.ones(2), requires_grad=True)


# -- leaves of the function's own -----------------------------------------------------------------


def trained(make: Any) -> Any:
    def f(x):
        w = leaf()
        opt = make([w])
        losses = []
        for _ in range(4):
            opt.zero_grad()
            loss = ((x @ w) ** 2).mean()
            loss.backward()
            opt.step()
            losses.append(loss.detach() * 1.0)
        return w.detach() * 1.0, losses

    return f


def descent(x):
    w, seen = tg.tensor(np.ones(2)).requires_grad_(), []
    for _ in range(3):
        w.grad = None
        ((x @ w) ** 2).sum().backward()
        seen.append(w.grad * 1.0)
        with tg.no_grad():
            w.sub_(0.01 * w.grad)
            w[0] = w[0] * 0.5
    return seen


def read_before_it_is_written(x):
    w = leaf()
    y = x @ w
    with tg.no_grad():
        w.mul_(3.0)
    return y, w * 1.0


def gradient_before_it_is_written(x):
    w = leaf()
    (found,) = tg.autograd.grad(((x @ w) ** 2).sum(), [w])
    with tg.no_grad():
        w.sub_(found)
    return found


def one_number(x):
    w = tg.tensor(2.0, requires_grad=True)
    seen = []
    for _ in range(3):
        ((w * 2.0 - x[0, 0]) ** 2).backward()
        seen.append(w.grad * 1.0)
        with tg.no_grad():
            w -= 0.1 * w.grad
        w.grad.zero_()
    return seen


OPTIMIZERS = {
    "sgd": lambda params: tg.optim.SGD(params, lr=0.1, momentum=0.9),
    "adam": lambda params: tg.optim.Adam(params, lr=0.1),
}
PROGRAMS = [descent, one_number, read_before_it_is_written, gradient_before_it_is_written]
OWN = {name: trained(make) for name, make in OPTIMIZERS.items()}
OWN |= {program.__name__: program for program in PROGRAMS}


@pytest.mark.parametrize("given", [np.asarray, tg.as_tensor], ids=["arrays", "tensors"])
@pytest.mark.parametrize("name", OWN)
def test_own_leaves_are_trained_as_eagerly(name, given):
    f = tg.compile(OWN[name])
    for x in (X, 2.0 * X):
        expected = [np.asarray(tg.as_tensor(leaf).detach()) for leaf in _leaves(OWN[name](x))]
        for _ in range(2):
            found = [np.asarray(tg.as_tensor(leaf).detach()) for leaf in _leaves(f(given(x)))]
            assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]
    assert f.cache_info().hits >= 2


@pytest.mark.parametrize("given", [np.asarray, tg.as_tensor], ids=["arrays", "tensors"])
@pytest.mark.parametrize("name", OWN)
def test_own_leaves_are_trained_without_a_program(name, given):
    f = tg.compile(OWN[name])
    f._give_up("it was told to")
    for x in (X, 2.0 * X):
        expected = [np.asarray(tg.as_tensor(leaf).detach()) for leaf in _leaves(OWN[name](x))]
        found = [np.asarray(tg.as_tensor(leaf).detach()) for leaf in _leaves(f(given(x)))]
        assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]


def _leaves(result: Any) -> list[Any]:
    return [x for part in result for x in (part if isinstance(part, list) else [part])]


# -- leaves from outside --------------------------------------------------------------------------


class Model:
    def __init__(self) -> None:
        self.w = leaf()
        self.opt = tg.optim.SGD([self.w], lr=0.1)

    def step(self, x):
        self.opt.zero_grad()
        loss = ((x @ self.w) ** 2).mean()
        loss.backward()
        self.opt.step()
        return loss

    def goes_back(self, x):
        ((x @ self.w) ** 2).mean().backward()
        return x.sum()

    def goes_back_by_name(self, x):
        tg.autograd.backward(((x @ self.w) ** 2).mean())
        return x.sum()

    def updates(self, x):
        self.opt.step()
        return x.sum()

    def logged(self, x):
        with open("/dev/null", "w") as file:
            file.write("x")
        return self.step(x)


METHODS = ["step", "goes_back", "goes_back_by_name", "updates", "logged"]


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("given", [np.asarray, tg.as_tensor], ids=["arrays", "tensors"])
@pytest.mark.parametrize("method", METHODS)
def test_leaves_from_outside_are_refused_by_name_and_left_alone(method, given):
    model = Model()
    model.w.grad = tg.ones(2)
    compiled = tg.compile(getattr(model, method))
    for _ in range(3):
        with pytest.raises(tg.errors.GradientError, match=r"(?s)from outside.*test_own_leaves"):
            compiled(given(X))
        assert model.opt.param_groups[0]["params"][0] is model.w
        assert model.w.requires_grad and model.w.detach().numpy().tolist() == [1.0, 1.0]
        assert model.w.grad.numpy().tolist() == [1.0, 1.0]
    model.step(X)  # outside of the transform all is as it was
    assert model.w.detach().numpy().tolist() != [1.0, 1.0]


def test_an_argument_is_refused_as_well():
    def f(x, w):
        ((x @ w) ** 2).sum().backward()
        return x.sum()

    w = leaf()
    for _ in range(2):
        with pytest.raises(tg.errors.GradientError, match="from outside"):
            tg.compile(f)(X, w)
    assert w.grad is None


@pytest.mark.parametrize("given", [np.asarray, tg.as_tensor], ids=["arrays", "tensors"])
def test_a_leaf_outside_that_is_written_to_under_no_grad_stays_one(given):
    w = leaf()

    @tg.compile
    def f(x):
        with tg.no_grad():
            w.sub_(0.1 * x[0])
        return x.sum()

    for turn in range(1, 4):
        f(given(X))
        assert w.requires_grad and w.is_leaf
        assert np.allclose(w.detach().numpy(), 1.0 - 0.1 * turn * X[0])


def gradients_added_in_turns(x):
    w = tg.tensor(np.ones(3), requires_grad=True)
    for i in range(9):
        (w * x * i).sum().backward()
    return w.grad.numpy()


def trained_in_turns(x):
    w = tg.tensor(np.ones(3), requires_grad=True)
    for _ in range(10):
        loss = ((w * 2.0 - x) ** 2).sum()
        loss.backward()
        with tg.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
    return w.detach()


def trained_and_shown(x):
    """Has no program: it asks for the numbers."""
    return trained_in_turns(x).numpy()


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("steps", [gradients_added_in_turns, trained_in_turns, trained_and_shown])
def test_no_turn_stands_for_others_that_go_back_to_one_leaf(steps):
    """Each turn adds to the gradient of the leaf: loops of eight turns and more are unrolled."""
    compiled = tg.compile(steps)
    for x in (np.arange(1.0, 4.0), np.arange(2.0, 5.0), np.arange(3.0, 6.0)):
        np.testing.assert_array_equal(np.asarray(compiled(x)), np.asarray(steps(x)))
