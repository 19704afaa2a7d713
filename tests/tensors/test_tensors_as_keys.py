"""Dictionaries and sets that have Tensors as keys, as the state of an optimizer has."""

from __future__ import annotations

from typing import Any

import pytest

import tracegrad as tg


def tensors() -> list[Any]:
    leaf = tg.tensor([3.0, 4.0], requires_grad=True)
    return [tg.tensor([1.0, 2.0]), tg.tensor([3.0, 4.0]), leaf]


@pytest.mark.parametrize("mode", [tg.enable_grad, tg.no_grad])
def test_an_argument_is_found_by_who_it_is(mode: Any) -> None:
    keys = tensors()
    scale = {key: 2.0 + i for i, key in enumerate(keys)}

    def f(p: Any, x: Any) -> Any:
        return (x * p).sum() * scale[p]

    compiled, x = tg.compile(f), tg.ones(2)
    with mode():
        for i in (0, 1, 0, 2, 2, 1, 0):
            assert compiled(keys[i], x).item() == f(keys[i], x).item()
        with pytest.raises(KeyError):
            compiled(tg.ones(2), x)


@pytest.mark.parametrize("transform", [tg.compile, tg.grad])
def test_whether_an_argument_is_a_key(transform: Any) -> None:
    keys = tensors()
    known, in_tuples = set(keys), {(key, "a"): 5.0 for key in keys}

    def f(p: Any) -> Any:
        factor = 2.0 if p in known else 3.0
        return (p * p).sum() * factor * in_tuples.get((p, "a"), 1.0)

    made = transform(f)
    for i in (0, 1, 0, 2, 1):
        p = keys[i].detach()
        for x, factor in ((keys[i], 10.0), (p, 3.0)):
            expected = (p * p * factor).sum() if transform is tg.compile else 2.0 * factor * p
            assert made(x).tolist() == expected.tolist()


@pytest.mark.parametrize("x", [2.0, tg.tensor(2.0)])
def test_a_key_from_outside_reads_no_number(x: Any) -> None:
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    scale = {w: 2.0}
    compiled = tg.compile(lambda x: x * scale[w])
    for value in (2.0, 3.0, 4.0):
        scale[w] = value
        assert float(compiled(x)) == 2.0 * value


def test_state_that_the_function_fills() -> None:
    w = tg.tensor([1.0, 2.0], requires_grad=True)

    def made() -> Any:
        state: dict[Any, Any] = {}

        def step(p: Any, x: Any) -> Any:
            with tg.no_grad():
                if p not in state:
                    state[p] = tg.zeros(2)
                state[p].add_(x)
                return state[p] * 1.0

        return step, state

    (step, held), (plain, expected) = made(), made()
    compiled = tg.compile(step)
    for i in range(5):
        x = tg.ones(2) * float(i)
        assert compiled(w, x).tolist() == plain(w, x).tolist()
    assert [key is w for key in held] == [True]
    assert held[w].tolist() == expected[w].tolist()
