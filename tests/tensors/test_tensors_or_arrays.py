"""Methods whose meaning differs between NumPy's arrays and Tensors, in every way of calling.

What the plain function does with a Tensor its programs and derivatives do, whether anything is
recorded or not, and whichever call came first; so do they with an array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

MATRIX = np.array([[3.0, 1.0], [2.0, 4.0]])
VECTOR = np.array([1.0, 2.0])


def transposed(a: Any, x: Any) -> Any:
    return (x @ a.transpose(0, 1)).sum()


def ordered(a: Any, x: Any) -> Any:
    b = a * 1.0
    c = b.sort()
    return (x @ (b if c is None else c)).sum()


def written_through_a_row(a: Any, x: Any) -> Any:
    b = a * 1.0
    row = b[0]
    row[0] = 7.0
    return (b * x).sum()


def written_behind_an_element(a: Any, x: Any) -> Any:
    row = (a * 1.0)[0]
    element = row[0]
    row[0] = 7.0 * x[1]
    return (element * row).sum()


def added_to_an_element(a: Any, x: Any) -> Any:
    row = (a * 1.0)[0]
    element = row[1]
    element += 3.0
    return (row * x).sum()


def written_behind_unpacking(a: Any, x: Any) -> Any:
    row = (a * 1.0)[0]
    p, q = row
    row[0] = 5.0 * x[1]
    return p * q + row[1]


def written_behind_a_loop(a: Any, x: Any) -> Any:
    row = (a * 1.0)[0]
    for element in row:
        element *= 3.0
    return (row * x).sum()


def of_class(a: Any, x: Any) -> Any:
    return (x * 2.0 if isinstance(a, tg.Tensor) else x * 3.0).sum() * a[0, 0]


def of_a_result(a: Any, x: Any) -> Any:
    b = a * x
    return b.sum() if isinstance(b, tg.Tensor) else 10.0 * b.sum()


def of_union(a: Any, x: Any) -> Any:
    return a.sum() * x.sum() if isinstance(a, tg.Tensor | int) else a.sum()


def of_array(a: Any, x: Any) -> Any:
    return a.sum() * x.sum() if isinstance(a, np.ndarray) else a.sum()


def matched(a: Any, x: Any) -> Any:
    match a:
        case tg.Tensor():
            return (a * x).sum()
        case _:
            return (a * x * 10.0).sum()


def of_name(a: Any, x: Any) -> Any:
    return a.sum() * x.sum() if type(a).__name__ == "Tensor" else a.sum()


def of_attribute(a: Any, x: Any) -> Any:
    return a.sum() * x.sum() if hasattr(a, "backward") else a.sum()


FUNCTIONS = [
    *(transposed, ordered, written_through_a_row, written_behind_an_element),
    *(added_to_an_element, written_behind_unpacking, written_behind_a_loop),
    *(of_class, of_a_result, of_union, of_array, matched, of_name, of_attribute),
]
KINDS: dict[str, Callable[[Any], Any]] = {
    "array": np.array,
    "tensor": tg.tensor,
    "leaf": lambda x: tg.tensor(x, requires_grad=True),
}
MODES = {
    "plain": lambda: tg.enable_grad(),
    "no_grad": lambda: tg.no_grad(),
    "inference": lambda: tg.inference_mode(),
}


def ones_like(x: Any) -> Any:
    return tg.ones(x.shape) if isinstance(x, tg.Tensor) else np.ones(x.shape)


TRANSFORMS: dict[str, Callable[..., Any]] = {
    "grad": tg.grad,
    "value_and_grad": tg.value_and_grad,
    "jacobian": tg.jacobian,
    "jvp": lambda f: lambda *args: tg.jvp(f, args, tuple(map(ones_like, args))),
}


def shown(x: Any) -> Any:
    """The numbers of a result, and whether it is a Tensor."""
    if isinstance(x, tuple):
        return tuple(map(shown, x))
    tensor = isinstance(x, tg.Tensor)
    return tensor, np.round(np.asarray(x.detach() if tensor else x), 9).tolist()


def own(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function anew: programs and what is known of it are by its code's object."""
    return lambda *args: f(*args)


@pytest.mark.parametrize("arrays_first", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_programs(f: Any, kind: str, mode: str, arrays_first: bool) -> None:
    compiled = tg.compile(own(f))
    if arrays_first:
        assert shown(compiled(MATRIX.copy(), VECTOR)) == shown(f(MATRIX.copy(), VECTOR))
    a, x, b = KINDS[kind](MATRIX), KINDS[kind](VECTOR), KINDS[kind](MATRIX)
    with MODES[mode]():
        expected = shown(f(a, x))
        for _ in range(3):
            assert shown(compiled(b, x)) == expected
    assert (np.asarray(b.detach() if kind != "array" else b) == MATRIX).all()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["tensor", "leaf"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_programs_that_read_a_tensor_from_outside(f: Any, kind: str, mode: str) -> None:
    """Results are arrays, but where they have a history."""
    a = KINDS[kind](MATRIX)
    compiled = tg.compile(lambda x: f(a, x))
    with MODES[mode]():
        result = f(a, VECTOR)
        recorded = isinstance(result, tg.Tensor) and result.requires_grad
        for _ in range(3):
            assert shown(compiled(VECTOR)) == (recorded, shown(result)[1])


@pytest.mark.parametrize("arrays_first", [False, True])
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_derivatives_by_tensors(f: Any, transform: str, arrays_first: bool) -> None:
    made = TRANSFORMS[transform](own(f))
    if arrays_first:
        made(MATRIX.copy(), VECTOR)
    a, x = tg.tensor(MATRIX), tg.tensor(VECTOR)
    before, tg.config.compile = tg.config.compile, False
    try:
        expected = shown(TRANSFORMS[transform](own(f))(a, x))
    finally:
        tg.config.compile = before
    for _ in range(3):
        assert shown(made(a, x)) == expected


@pytest.mark.parametrize("kind", ["array", "tensor"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients_are_those_of_differences(f: Any, kind: str) -> None:
    a, x, step = KINDS[kind](MATRIX), KINDS[kind](VECTOR), 1e-6
    found = np.asarray(tg.grad(own(f))(a, x))
    for i in np.ndindex(*MATRIX.shape):
        e = np.zeros((2, 2))
        e[i] = step
        more, less = (float(f(KINDS[kind](MATRIX + s * e), x)) for s in (1.0, -1.0))
        assert abs((more - less) / (2 * step) - found[i]) < 1e-6


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_derivatives_that_read_a_tensor_from_outside(f: Any) -> None:
    a, step = tg.tensor(MATRIX), 1e-6
    made = tg.value_and_grad(lambda x: f(a, x))
    for _ in range(3):
        value, gradient = made(VECTOR)
        assert float(value) == float(f(a, VECTOR))
        for i in range(2):
            e = np.zeros(2)
            e[i] = step
            more, less = (float(f(a, VECTOR + s * e)) for s in (1.0, -1.0))
            assert abs((more - less) / (2 * step) - gradient[i]) < 1e-6


def made_inside(x: Any) -> Any:
    return (tg.tensor([[3.0, 1.0], [2.0, 4.0]]).transpose(0, 1) @ x).sum() * x[0]


def test_a_tensor_that_the_function_makes() -> None:
    x = VECTOR
    assert float(tg.compile(made_inside)(x)) == float(made_inside(x))
    value, gradient = tg.value_and_grad(made_inside)(x)
    assert float(value) == float(made_inside(x))
    assert gradient.tolist() == [20.0, 6.0]
