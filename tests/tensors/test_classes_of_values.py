"""What `isinstance` says of arrays, numbers and Tensors in functions that are traced."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


def of_a_result(x: Any) -> Any:
    y = x * 2.0
    return y.detach().sum() if isinstance(y, tg.Tensor) else 10.0 * y.sum()


def of_a_union(x: Any) -> Any:
    return x.sum() if isinstance(x, tg.Tensor | int) else 3.0 * x.sum()


def of_a_tuple(x: Any) -> Any:
    return x.sum() if isinstance(x, (int, tg.Tensor)) else 3.0 * x.sum()


def of_a_number(x: Any) -> Any:
    y = x.sum()
    return y * 2.0 if isinstance(y, tg.Tensor) else y * (3.0 if isinstance(y, float) else 5.0)


def of_an_abstract_class(x: Any) -> Any:
    y = x[0]
    return y * 2.0 if isinstance(y, Iterable) else y * 3.0


def of_a_tensor_made_inside(x: Any) -> Any:
    y = tg.ones(2)
    return x.sum() * (2.0 if isinstance(y, tg.Tensor) else 3.0)


def matched(x: Any) -> Any:
    match x:
        case tg.Tensor():
            return x.sum()
        case np.ndarray():
            return 7.0 * x.sum()
    return 0.0


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize(
    "f",
    [
        *(of_a_result, of_a_union, of_a_tuple, of_a_number),
        *(of_an_abstract_class, of_a_tensor_made_inside, matched),
    ],
    ids=lambda f: f.__name__,
)
def test_arrays_are_no_tensors(f: Any, eager: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tg.config, "compile", not eager)
    compiled, derived = tg.compile(f), tg.value_and_grad(f)
    for x in (np.ones(2), np.array([2.0, 3.0])):
        assert float(compiled(x)) == float(f(x))
        assert float(derived(x)[0]) == float(f(x))


class Model:
    """It tells parameters by their class, and counts calls."""

    def __init__(self) -> None:
        self.__dict__["names"] = []
        self.calls = 0
        self.w = tg.tensor([1.0, 2.0], requires_grad=True)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, tg.Tensor) and value.requires_grad:
            self.names.append(name)
        object.__setattr__(self, name, value)

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return (x * self.w).sum() * self.calls


def test_a_counter_is_no_tensor() -> None:
    model, plain = Model(), Model()
    compiled = tg.compile(lambda x: model(x))
    for _ in range(5):
        assert compiled(tg.ones(2)).item() == plain(tg.ones(2)).item()
    assert (model.calls, model.names) == (5, ["w"])
