"""Remembers to which places of a cotangent reads by an index have added something."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

from codegen.sizes import Sizes
from codegen.spelling import Subscript
from tracegrad.errors import TraceError
from tracegrad.ops.index_bounds import apart, joined

Element: TypeAlias = "tuple[object, ...]"
"""What an index names, as a key: its items, of a slice the three numbers."""
WHOLE: Element = (...,)


class Mixed(TraceError):
    """What a cotangent is added to depends on the path, in a way that no number tells."""


def element_of(index: Subscript) -> Element:
    """What an index without operands names."""
    return tuple([(i.start, i.stop, i.step) if isinstance(i, slice) else i for i in index.items])


def index_of(element: Element) -> Subscript:
    """The index that names it."""
    return Subscript(tuple([slice(*i) if type(i) is tuple else i for i in element]))


def name_of(element: Element) -> str:
    """It as part of a name: ``0_1`` of ``x[0, 1]``, ``1_to`` of ``x[1:]``."""
    if element == WHOLE:
        return "all"
    texts = ["_to_".join(map(_text, i[:2])) if type(i) is tuple else _text(i) for i in element]
    return "_".join(re.findall("[a-z0-9]+", "_".join(texts)))


def _text(item: object) -> str:
    return "" if item is None else str(item).replace("-", "minus_")


def is_single(element: Element) -> bool:
    """Whether it is one place, which all of these have that are told apart by their numbers."""
    return all(type(item) is int and item >= 0 for item in element)


class Places:
    """Where an array of the walker's own is not 0, as far as that is told by indices.

    Single places (which loops over elements name by the thousand) are told apart at once; of others
    so many are remembered.
    """

    MANY = 64
    __slots__ = ("elements", "known", "mixed", "others", "zeros")

    def __init__(self, known: bool = True, mixed: bool = False, zeros: bool = True) -> None:
        self.elements: set[Element] = set()
        self.others: list[Subscript] = []
        self.known = known
        self.mixed = mixed  # nobody knows which path has been taken to here
        self.zeros = zeros  # it is an array of zeros where nothing was met

    def copy(self) -> Places:
        """The same, to be changed by itself."""
        found = Places(self.known, self.mixed, self.zeros)
        found.elements, found.others = set(self.elements), list(self.others)
        return found

    @property
    def are_known(self) -> bool:
        """Whether all places that are not 0 are told."""
        return self.known and not self.mixed

    @property
    def met(self) -> Iterator[Element]:
        """What is not 0."""
        if not self.known:
            yield WHOLE
        yield from self.elements
        yield from map(element_of, self.others)

    def has_met(self, element: Element) -> bool:
        """Whether it is among these."""
        met = element in self.elements or index_of(element) in self.others
        return met or (element == WHOLE and not self.known)

    def meet(self, element: Element) -> None:
        """It is one of these from now on."""
        if element == WHOLE:
            self.known = False
        elif self._is_like_others(element):
            self.elements.add(element)
        else:
            self.others.append(index_of(element))

    def _is_like_others(self, element: Element) -> bool:
        """Whether it is a single place, told by as many numbers as the others."""
        alike = not self.elements or len(next(iter(self.elements))) == len(element)
        return alike and is_single(element)

    def take(self, index: Subscript | None, sizes: Callable[[], Sizes] = Sizes) -> bool:
        """Whether there were only zeros at an index, where there are none from now on."""
        if self.mixed:
            raise Mixed("what elements were met before differs from path to path")
        among = None if index is None else self._joined(index)
        if index is None or (len(self.others) == self.MANY and among is None):
            self.known = False
        if not self.known or index is None:
            return False
        free = all(apart(other, index, sizes) for other in self.others)
        items = index.items
        if self._is_like_others(items):
            free = free and items not in self.elements
            self.elements.add(items)
            return free
        if among is None:
            self.others.append(index)
        else:
            self.others[among[0]] = among[1]
        return free and all(apart(Subscript(element), index, sizes) for element in self.elements)

    def _joined(self, index: Subscript) -> tuple[int, Subscript] | None:
        """The one of the others that makes one slice with an index, and that slice."""
        for i in reversed(range(len(self.others))):
            whole = joined(self.others[i], index)
            if whole is not None:
                return i, whole
        return None


ALL = Places(known=False)
"""Those of an array of other things: nothing is known to be 0."""
