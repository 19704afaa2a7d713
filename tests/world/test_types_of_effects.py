"""What functions of arrays store outside has the types that plain Python leaves there."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

BY_LIST: dict[str, Callable[[Any, Any], Any]] = {
    "ints": lambda s, x: x[[1, 0]],
    "flags": lambda s, x: x[[True, False, True]],
    "nothing": lambda s, x: x[[]],
    "a tuple": lambda s, x: x[(0,),],
    "a list from outside": lambda s, x: x[s.places],
    "columns": lambda s, x: s.matrix[:, [0, 2]],
    "elements": lambda s, x: s.matrix[[0, 1], [1, 2]],
    "of what is computed": lambda s, x: (s.matrix @ x)[[0, 1, 0]],
    "computed from it": lambda s, x: np.tanh(x[[0, 2]]).sum() * 2,
    "a product of two": lambda s, x: x[[0, 1]] @ x[[1, 2]],
    "another dtype": lambda s, x: x[[0, 1]].astype(np.float32),
    "a list of it": lambda s, x: list(x[[0, 1]]),
    "a copy": lambda s, x: np.array(x[[0, 1]]),
    "taken": lambda s, x: np.take(x, [0, 1]),
    "taken by method": lambda s, x: x.take((0, 1)),
    "taken along an axis": lambda s, x: np.take(s.matrix, [0, 1], axis=1),
    "repeated": lambda s, x: np.repeat(x, [1, 2, 0]),
    "inserted": lambda s, x: np.insert(x, [1], 5.0),
    "deleted": lambda s, x: np.delete(x, [1]),
    "joined with a number": lambda s, x: np.r_[x, 1.0],
    "joined with a number before": lambda s, x: np.r_[1, x[0], x],
    "joined with a slice and a list": lambda s, x: np.r_[0:3, x, [1.0, 2.0]],
    "joined as columns": lambda s, x: np.c_[x, [1.0, 2.0, 3.0]],
}


def kinds(x: Any) -> Any:
    """The type of an object, and those of what it holds."""
    return list(map(kinds, x)) if isinstance(x, list) else type(x)


def stored(
    use: Callable[[Any, Any], Any], transform: Callable[..., Any]
) -> tuple[list[Any], list[Any]]:
    """Types and numbers of what three calls store."""
    s = SimpleNamespace(places=[1, 0], matrix=np.ones((2, 3)), log=[], found=None)

    def function(x: Any) -> Any:
        s.found = use(s, x)
        s.log.append(np.sum(s.found))
        return x.sum()

    called, types, numbers = transform(function), [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        for k in range(3):
            called(np.array([1.0, 2.0, 4.0]) + k)
            types.append([kinds(s.found), kinds(s.log)])
            numbers.append(np.asarray(s.found).tolist())
    return types, numbers


@pytest.mark.parametrize("name", BY_LIST)
def test_an_array_by_a_list_is_an_array(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use = BY_LIST[name]
    expected = stored(use, lambda function: function)
    assert stored(use, tg.compile) == expected
    assert stored(use, tg.value_and_grad) == expected
    monkeypatch.setattr(tg.config, "compile", False)
    assert stored(use, tg.value_and_grad) == expected


OWN: dict[str, Callable[[Any, Any], Any]] = {
    "zeros": lambda s, x: tg.zeros(3),
    "zeros and an array": lambda s, x: tg.zeros(3) + x,
    "a range times an array": lambda s, x: tg.arange(3) * x,
    "numbers": lambda s, x: tg.tensor([1.0, 2.0]),
    "a number": lambda s, x: tg.tensor(3) * x[0],
    "a Tensor by its class": lambda s, x: tg.Tensor([1.0, 2.0]),
    "numbers as they are": lambda s, x: tg.as_tensor([1.0, 2.0]),
    "an array that was made": lambda s, x: tg.from_numpy(np.ones(2)),
    "a copy of an array": lambda s, x: tg.tensor(s.matrix),
    "without history": lambda s, x: tg.ones(3).detach(),
    "one element": lambda s, x: tg.zeros(3)[0],
    "by NumPy": lambda s, x: np.exp(tg.ones(3)) * x,
    "by NumPy, a number": lambda s, x: np.sum(tg.ones(3)),
    "chosen": lambda s, x: np.where(x > 0, tg.zeros(3), x),
    "joined": lambda s, x: np.concatenate([x, tg.zeros(2)]),
    "a draw": lambda s, x: s.rng.normal(size=3),
    "one draw": lambda s, x: s.rng.normal(),
    "a draw and an array": lambda s, x: x * s.rng.normal(size=3),
    "a draw of a seed": lambda s, x: tg.random.Generator(1).normal(size=2),
    "a draw of the process": lambda s, x: tg.randn(3).sum(),
    "a permutation": lambda s, x: s.rng.permutation(3),
    "read as numbers": lambda s, x: tg.ones(3).tolist(),
    "read as an array": lambda s, x: tg.zeros(3).numpy(),
    "an array": lambda s, x: x + 1,
    "an array that is filled": lambda s, x: filled(x),
    "computed from an array that is filled": lambda s, x: filled(x)[0] ** 2,
}


def filled(x: Any) -> Any:
    """An array of the function's own, for which a Tensor stands from the first write on."""
    y = np.zeros(3)
    y[0] = x[0]
    y[1:] = x[1:] * 2
    return y


def kinds_left(
    use: Callable[[Any, Any], Any], transform: Callable[..., Any], eager: bool = False
) -> list[Any]:
    """Types of what three calls leave at a place, in a list, and at a place where they read it."""
    s = SimpleNamespace(matrix=np.ones((2, 3)), rng=tg.random.Generator(7), log=[], x=np.zeros(3))

    def function(x: Any) -> Any:
        if eager:
            time.time()
        s.found = use(s, x)
        s.log.append(s.found)
        s.x = s.x * 0.9 + np.sum(s.found)
        return x.sum()

    called, found = transform(function), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        for k in range(3):
            called(np.array([1.0, 2.0, 4.0]) + k)
            found.append([kinds(s.found), kinds(s.log), kinds(s.x)])
    return found


@pytest.mark.parametrize("name", OWN)
def test_tensors_of_the_function_are_tensors(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use = OWN[name]
    expected = kinds_left(use, lambda function: function)
    for transform in (tg.compile, tg.value_and_grad, tg.grad):
        assert kinds_left(use, transform) == expected
        assert kinds_left(use, transform, eager=True) == expected
    monkeypatch.setattr(tg.config, "compile", False)
    assert kinds_left(use, tg.value_and_grad) == expected
