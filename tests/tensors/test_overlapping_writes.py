"""Writes of a part of an array to another part of it, and of what a mask has picked.

What is written is what stood there before, whatever the order in which NumPy would copy.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import function_of

import tracegrad as tg

WRITES = {
    "a row gets a column": ("a[1] = a[:, 2]", "a[1] = a[:, 2].copy()"),
    "a row gets a column backwards": ("a[1] = a[::-1, 2]", "a[1] = a[::-1, 2].copy()"),
    "a column gets a row": ("a[:, 1] = a[2]", "a[:, 1] = a[2].copy()"),
    "by copyto": ("np.copyto(a[1], a[:, 2])", "a[1] = a[:, 2].copy()"),
    "by views": ("r = a[1]\nc = a[:, 2]\nr[:] = c", "a[1] = a[:, 2].copy()"),
    "every second": ("v = a[0]\nv[1:3] = v[0:4:2]", "v = a[0]\nv[1:3] = v[0:4:2].copy()"),
    "in a loop": (
        "for i in range(12):\n    a[i % 4] = a[:, (i + 1) % 4]",
        "for i in range(12):\n    a[i % 4] = a[:, (i + 1) % 4].copy()",
    ),
    "the transposed": ("a[:] = a.T", "a[:] = a.T.copy()"),
    "shifted": ("a[0, 1:] = a[0, :-1]", "a[0, 1:] = a[0, :-1].copy()"),
    "reversed": ("a[0] = a[0, ::-1]", "a[0] = a[0, ::-1].copy()"),
    "a mask": ("m = a > 5\nr = a[m]\nr *= 0.5\na[m] = r", "a[a > 5] *= 0.5"),
    "places": ("m = [0, 2]\nr = a[m]\nr *= 0.5\na[m] = r", "a[[0, 2]] *= 0.5"),
    "a mask of a view": ("v = a[2]\nm = v > 5\nr = v[m]\nr += 1\nv[m] = r", "a[2][a[2] > 5] += 1"),
}
MADE = "def f(a):\n    {first}\n    {write}\n    return a"


def functions(name: str, first: str):
    lines = [text.replace("\n", "\n    ") for text in WRITES[name]]
    return [function_of(MADE.format(first=first, write=text), "f") for text in lines]


def data() -> np.ndarray:
    return np.arange(16.0).reshape(4, 4)[::-1].copy()


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("first", ["a = a * 1.0", "pass"])
def test_they_read_what_stood_there(name, first):
    f, plain = functions(name, first)
    expected, given = data(), data()
    call = tg.compile(f)
    for _ in range(3):
        result = plain(expected)
        assert call(given).tolist() == result.tolist()
        assert given.tolist() == expected.tolist()
    assert f(tg.tensor(data())).tolist() == plain(data()).tolist()


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("compiled", [True, False])
def test_gradients_are_those_of_a_copy(name, compiled, monkeypatch):
    f, plain = functions(name, "a = a * 1.0")
    weights = np.arange(16.0).reshape(4, 4) + 0.5
    expected = tg.value_and_grad(lambda a: np.sum(plain(a) * weights))(data())
    monkeypatch.setattr(tg.config, "compile", compiled)
    call = tg.value_and_grad(lambda a: np.sum(f(a) * weights))
    for _ in range(2):
        value, gradient = call(data())
        assert value == expected[0]
        assert gradient.tolist() == expected[1].tolist()


def test_rows_that_lie_alike_are_written_without_a_copy():
    def f(a):
        for i in range(1, len(a)):
            a[i] = a[i - 1]
        a[0, 1:] = a[0, :-1]
        return a * 1.0

    assert "copy" not in tg.compile(f).source(data())
