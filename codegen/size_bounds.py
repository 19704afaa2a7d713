"""Tells which lengths are known to be no less than others, by algebra and by what was assumed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, prod
from typing import Any

from codegen.sizes import (
    Atom,
    Dim,
    Size,
    Sizes,
    SliceLength,
    add,
    limits,
    minus,
    mul,
    ordered,
    size_of,
)

MOST = 4
"""So many slices of a length are told apart by where they end."""


def at_least(a: Dim, b: Dim, sizes: Sizes) -> bool:
    """Whether a length is known to be no smaller than another one; assumes nothing."""
    more = sizes.resolve(minus(a, b))
    return _is_natural(more, ()) or (
        isinstance(more, Size) and _is_natural(more, [*_assumed(sizes)])
    )


def _assumed(sizes: Sizes) -> Iterable[tuple[Dim, int]]:
    """Lengths with the least that they are, as guards say it."""
    for guard in sizes.guards:
        a, b = map(sizes.resolve, guard)
        if (pair := ordered(a, b)) is not None:
            yield minus(*pair), 0
        elif (limited := limits(a, b)) is not None:
            yield limited[:2]


def _is_natural(dim: Dim, known: Sequence[tuple[Dim, int]], depth: int = MOST) -> bool:
    """Whether a number is not below 0; `known` are lengths with the least that they are."""
    if _least(dim, known) >= 0:
        return True
    if isinstance(dim, int):
        return False
    if any(_least(add(minus(dim, of), low), known) >= 0 for of, low in known):
        return True
    for atom in dict.fromkeys(atom for atoms, _ in dim.terms for atom in atoms) if depth else ():
        cases, of_one = _cases(atom)
        if cases:
            terms = [(atoms.count(atom), factor > 0) for atoms, factor in dim.terms]
            grows = {term for term in terms if term[0]}
            enough = any if grows == {(1, of_one is max)} else all
            return enough(_is_natural(_with(dim, atom, case), known, depth - 1) for case in cases)
    return False


def _least(dim: Dim, known: Sequence[tuple[Dim, int]]) -> float:
    """What a number is where each length in it is the least that it can be."""
    if isinstance(dim, int):
        return dim
    if any(factor < 0 for atoms, factor in dim.terms if atoms):
        return -inf

    def least(atom: Atom) -> int:
        return max((low for of, low in known if of == size_of(atom)), default=0)

    return sum(factor * prod(map(least, atoms)) for atoms, factor in dim.terms)


def _cases(atom: Atom) -> tuple[Sequence[Dim], Any]:
    """Two lengths, and which of them that of a slice is, the larger or the smaller one.

    ``x[2:]`` has two elements less than x, or none.
    """
    match atom:
        case SliceLength(of, int(start), None, None) if start >= 0:
            return (add(of, -start), 0), max
        case SliceLength(of, None | 0, int(stop), None) if stop >= 0:
            return (of, stop), min
        case SliceLength(of, int(start), None, None):
            return (of, -start), min
    return (), None


def _with(dim: Size, atom: Atom, case: Dim) -> Dim:
    """The number with a length in the place of an atom."""
    return add(
        *(
            mul([factor, *(case if one == atom else size_of(one) for one in atoms)])
            for atoms, factor in dim.terms
        )
    )
