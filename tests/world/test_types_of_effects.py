"""What functions of arrays store outside has the types that plain Python leaves there."""

from __future__ import annotations

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
