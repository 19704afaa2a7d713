"""Lengths that are known only at the call enter; exact arithmetic and recorded assumptions leave.

A dimension (`Dim`) is a plain ``int`` or a `Size`: a polynomial with integer coefficients over
atoms. An atom is a symbol (``"n0"``: the length of some axis of some input), the length of a slice
of a dimension, or a quotient. Polynomials are kept canonical, so equal lengths are equal objects
wherever algebra can show it.

`Sizes` is what one trace believes about its symbols: the values seen, and the equalities that the
operations needed. Every belief is a guard: the program made from the trace holds for exactly the
calls for which all of them are true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from codegen.errors import CodegenError


class SizeError(CodegenError):
    """Two lengths that had to be equal are not, or cannot be shown to be."""


@dataclass(frozen=True, slots=True)
class SliceLength:
    """``len(range(*slice(start, stop, step).indices(of)))``."""

    of: Dim
    start: int | None
    stop: int | None
    step: int | None

    def __str__(self) -> str:
        return f"length({self.of}, {self.start}, {self.stop}, {self.step})"


@dataclass(frozen=True, slots=True)
class Quotient:
    """``of // by``, where `by` divides `of` (the ``-1`` of a reshape)."""

    of: Dim
    by: Dim

    def __str__(self) -> str:
        return f"quotient({self.of}, {self.by})"


Atom: TypeAlias = "str | SliceLength | Quotient"


@dataclass(frozen=True, slots=True)
class Size:
    """A length known only at the call: ``((atoms, coefficient), ...)`` in canonical order."""

    terms: tuple[tuple[tuple[Atom, ...], int], ...]

    def __str__(self) -> str:
        return " + ".join(_term_text(atoms, factor) for atoms, factor in self.terms)

    __repr__ = __str__

    def symbol(self) -> str | None:
        """The symbol's name when this size is a bare symbol."""
        if len(self.terms) == 1:
            atoms, factor = self.terms[0]
            if factor == 1 and len(atoms) == 1 and isinstance(atoms[0], str):
                return atoms[0]
        return None


Dim: TypeAlias = "int | Size"


def _term_text(atoms: tuple[Atom, ...], factor: int) -> str:
    parts = [str(atom) for atom in atoms]
    if factor != 1 or not parts:
        parts.insert(0, str(factor))
    return "*".join(parts)


def symbol(name: str) -> Size:
    """The size named `name`."""
    return Size((((name,), 1),))


def _terms(dim: Dim) -> dict[tuple[Atom, ...], int]:
    return {(): dim} if isinstance(dim, int) else dict(dim.terms)


def _canonical(terms: Mapping[tuple[Atom, ...], int]) -> Dim:
    kept = {atoms: factor for atoms, factor in terms.items() if factor}
    if not kept:
        return 0
    if set(kept) == {()}:
        return kept[()]
    return Size(tuple(sorted(kept.items(), key=lambda item: (len(item[0]), str(item[0])))))


def add(*dims: Dim) -> Dim:
    """The sum of lengths."""
    total: dict[tuple[Atom, ...], int] = {}
    for dim in dims:
        for atoms, factor in _terms(dim).items():
            total[atoms] = total.get(atoms, 0) + factor
    return _canonical(total)


def mul(dims: Iterable[Dim]) -> Dim:
    """The product of lengths (1 for none)."""
    product: dict[tuple[Atom, ...], int] = {(): 1}
    for dim in dims:
        step: dict[tuple[Atom, ...], int] = {}
        for left, a in product.items():
            for right, b in _terms(dim).items():
                atoms = tuple(sorted(left + right, key=str))
                step[atoms] = step.get(atoms, 0) + a * b
        product = step
    return _canonical(product)


def quotient(of: Dim, by: Dim) -> Dim:
    """``of // by`` for a `by` that divides `of`; exact where the polynomials show it."""
    if of == by:
        return 1
    if isinstance(of, int) and isinstance(by, int):
        return of // by if by else 0
    divisor = _terms(by)
    if len(divisor) == 1:
        (atoms, factor) = next(iter(divisor.items()))
        result: dict[tuple[Atom, ...], int] = {}
        for term, scale in _terms(of).items():
            rest = list(term)
            try:
                for atom in atoms:
                    rest.remove(atom)
            except ValueError:
                break
            if scale % factor:
                break
            result[tuple(rest)] = scale // factor
        else:
            return _canonical(result)
    return Size((((Quotient(of, by),), 1),))


def slice_length(of: Dim, item: slice) -> Dim:
    """The length of ``x[item]`` along an axis of length `of`."""
    if item == slice(None) or (item.start in (None, 0) and item.stop is None and item.step == 1):
        return of
    if isinstance(of, int):
        return len(range(*item.indices(of)))
    if item.start is None and item.stop is None and item.step == -1:
        return of
    atom = SliceLength(of, item.start or (None if _forward(item) else item.start), item.stop,
                       None if item.step == 1 else item.step)
    return Size((((atom,), 1),))


def _forward(item: slice) -> bool:
    return item.step is None or item.step > 0


def symbols(dim: Dim) -> set[str]:
    """Every symbol that the length depends on."""
    if isinstance(dim, int):
        return set()
    found: set[str] = set()
    for atoms, _ in dim.terms:
        for atom in atoms:
            match atom:
                case str():
                    found.add(atom)
                case SliceLength(of):
                    found |= symbols(of)
                case Quotient(of, by):
                    found |= symbols(of) | symbols(by)
    return found


def substitute(dim: Dim, known: Mapping[str, Dim]) -> Dim:
    """The length with symbols replaced."""
    if isinstance(dim, int) or not known:
        return dim
    return add(
        *(
            mul([factor, *(_substitute_atom(atom, known) for atom in atoms)])
            for atoms, factor in dim.terms
        )
    )


def _substitute_atom(atom: Atom, known: Mapping[str, Dim]) -> Dim:
    match atom:
        case str():
            return known.get(atom, symbol(atom))
        case SliceLength(of, start, stop, step):
            return slice_length(substitute(of, known), slice(start, stop, step))
        case Quotient(of, by):
            return quotient(substitute(of, known), substitute(by, known))


def _age(name: str | None) -> int:
    """Symbols are numbered as they appear; the oldest of equal ones stands for all."""
    return int(name[1:]) if name is not None and name[1:].isdigit() else -1


class Sizes:
    """What one trace believes about its lengths; see the module's first lines."""

    def __init__(self, seen: Mapping[str, int] | None = None) -> None:
        self.seen: dict[str, int] = dict(seen or {})
        self.known: dict[str, Dim] = {}
        self.guards: list[tuple[Dim, Dim]] = []
        self._equal: set[tuple[Dim, Dim]] = set()
        self.data: dict[str, Callable[[int], None]] = {}

    def new(self, value: int, look: Callable[[int], None] | None = None) -> Size:
        """A fresh symbol whose value in this trace is `value`.

        A length that depends on data (the number of True in a mask) cannot be a guard before the
        program runs: `look` is called with the value when something is assumed about it.
        """
        name = f"n{len(self.seen)}"
        self.seen[name] = value
        if look is not None:
            self.data[name] = look
        return symbol(name)

    def resolve(self, dim: Dim) -> Dim:
        """The length in terms of symbols that nothing is known about."""
        return substitute(dim, self.known)

    def value(self, dim: Dim) -> int:
        """The length in this trace."""
        result = substitute(dim, self.seen)
        if not isinstance(result, int):
            raise SizeError(f"the length {dim} has no value here")
        return result

    def fix(self, dim: Dim) -> int:
        """Python looked at the length: it is a constant from here on."""
        if isinstance(dim, int):
            return dim
        value = self.value(dim)
        self._assume(dim, value)
        return value

    def same(self, a: Dim, b: Dim) -> bool:
        """True when the lengths are equal, assuming it (a guard) where only their values say so."""
        if a is b or a == b:
            return True
        a, b = self.resolve(a), self.resolve(b)
        if a == b or (a, b) in self._equal:
            return True
        if isinstance(a, int) and isinstance(b, int):
            return False
        if not (symbols(a) | symbols(b)) <= self.seen.keys():
            return False
        if self.value(a) != self.value(b):
            return False
        self._assume(a, b)
        return True

    def is_one(self, dim: Dim) -> bool:
        """True when the length was seen as 1."""
        dim = self.resolve(dim)
        return dim == 1 or (symbols(dim) <= self.seen.keys() and self.value(dim) == 1)

    def _assume(self, a: Dim, b: Dim) -> None:
        a, b = self.resolve(a), self.resolve(b)
        if a == b:
            return
        for name in sorted((symbols(a) | symbols(b)) & self.data.keys()):
            value = self.seen[name]
            self.data.pop(name)(value)
            self.known = {k: substitute(v, {name: value}) for k, v in self.known.items()}
            self.known[name] = value
        a, b = self.resolve(a), self.resolve(b)
        if a == b:
            return
        self.guards.append((a, b))
        self._equal |= {(a, b), (b, a)}
        bare = [d.symbol() if isinstance(d, Size) else None for d in (a, b)]
        later_first = sorted(((bare[0], b), (bare[1], a)), key=lambda pair: -_age(pair[0]))
        for name, other in later_first:
            if name is not None and name not in symbols(other):
                self.known = {k: substitute(v, {name: other}) for k, v in self.known.items()}
                self.known[name] = other
                return
