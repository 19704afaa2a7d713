"""A leaf that a function makes and leaves outside is that leaf there, with its gradient."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import tracegrad as tg

X = np.array([1.0, 2.0, 3.0])


class Model:
    def __init__(self, w):
        self.w = w


def in_an_attribute(s, w):
    s.w = w


def in_a_list(s, w):
    s.items.append(w)
    s.items[:1] = [w, 2.0 * w.detach()]


def in_a_dict(s, w):
    s.table["w"] = {"inner": (w, w)}


def in_an_object(s, w):
    s.model = Model(w)


def leaves(x, found):
    if isinstance(x, tg.Tensor) and x.requires_grad:
        found.append(x)
    elif isinstance(x, dict | SimpleNamespace | Model):
        for item in (x if isinstance(x, dict) else vars(x)).values():
            leaves(item, found)
    elif isinstance(x, list | tuple):
        for item in x:
            leaves(item, found)
    return found


@pytest.mark.parametrize("keep", [in_an_attribute, in_a_list, in_a_dict, in_an_object])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("transform", [tg.compile, tg.grad])
@pytest.mark.parametrize("compiled", [True, False])
def test_it_is_the_leaf_with_its_gradient(keep, first, transform, compiled, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiled)
    state = SimpleNamespace(items=[], table={})

    def fit(x):
        w = tg.ones(3, requires_grad=True)
        if first:
            keep(state, w)
        (w * w * 3.0).sum().backward()
        if not first:
            keep(state, w)
        return np.sum(x * x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        f = transform(fit)
        for _ in range(3):
            state.items, state.table = [], {}
            expected = X @ X if transform is tg.compile else 2.0 * X
            np.testing.assert_array_equal(f(X), expected)
            found = leaves(state, [])
            assert found and all(w is found[0] for w in found) and found[0].is_leaf
            np.testing.assert_array_equal(found[0].grad.numpy(), np.full(3, 6.0))
            (found[0] * 2.0).sum().backward()  # it goes on as a leaf
            np.testing.assert_array_equal(found[0].grad.numpy(), np.full(3, 8.0))
