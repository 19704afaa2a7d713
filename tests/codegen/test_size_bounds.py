"""Which lengths are known to be no less than others."""

from __future__ import annotations

from itertools import product

import pytest

from codegen import Sizes
from codegen.size_bounds import at_least
from codegen.sizes import Dim, add, mul, slice_length, substitute, symbol

N, M = symbol("n0"), symbol("n1")


def minus(a: Dim, b: Dim) -> Dim:
    return add(a, mul([-1, b]))


def sliced(of: Dim, *ends: int | None) -> Dim:
    return slice_length(of, slice(*ends))


KNOWN = [
    (add(N, 1), N),
    (mul([N, M]), 0),
    (N, sliced(N, 1, None)),
    (sliced(N, 1, None), add(N, -1)),
    (N, sliced(N, None, 3)),
    (3, sliced(N, None, 3)),
    (N, sliced(N, -3, None)),
    (add(sliced(N, 1, None), 1), N),
    (N, sliced(sliced(N, 1, None), None, 4)),
]
UNKNOWN = [
    (N, 1),
    (N, M),
    (minus(N, 1), 0),
    (mul([N, M]), N),
    (sliced(N, 1, None), N),
    (sliced(N, None, 3), 3),
    (mul([2, N]), add(N, 1)),
]


@pytest.mark.parametrize("a, b", KNOWN, ids=str)
def test_algebra_tells(a: Dim, b: Dim) -> None:
    assert at_least(a, b, Sizes())
    for n, m in product(range(9), repeat=2):
        known: dict[str, Dim] = {"n0": n, "n1": m}
        assert substitute(a, known) >= substitute(b, known)  # type: ignore[operator]


@pytest.mark.parametrize("a, b", UNKNOWN, ids=str)
def test_nobody_knows(a: Dim, b: Dim) -> None:
    assert not at_least(a, b, Sizes())


@pytest.mark.parametrize(
    "assumed, told, more",
    [
        ((N, 4), [(N, 4), (add(N, -2), 2), (mul([2, N]), 8), (mul([N, N]), 16)], (N, 5)),
        ((add(N, -2), 8), [(N, 10), (add(mul([2, N]), -2), 0)], (N, 11)),
        ((sliced(N, 1, None), 8), [(N, 9), (sliced(N, 1, None), 8)], (N, 10)),
        ((N, add(M, 1)), [(N, M), (add(N, -1), M), (N, 1)], (M, 1)),
    ],
    ids=str,
)
def test_what_was_assumed_tells(assumed, told, more) -> None:  # type: ignore[no-untyped-def]
    sizes = Sizes({"n0": 40, "n1": 3})
    sizes.require_at_least(*assumed)
    for a, b in told:
        assert at_least(a, b, sizes), (a, b)
        assert not at_least(a, b, Sizes())
    assert not at_least(*more, sizes)
    assert len(sizes.guards) == 1
