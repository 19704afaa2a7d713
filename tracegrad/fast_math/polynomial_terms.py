"""Writes float arithmetic as sums of products, algebraically.

A value is a sum of terms ``coefficient * product``; a product has atoms with whole exponents. Atoms
are values that arithmetic starts from (`Leaf`), sums (`Sum`, scaled so that equal sums are one
object), views of what had a coefficient (`Seen`), and products that something is divided by
(`Bottom`: neither is ``x / (y * z)`` taken apart nor ``x / y / z`` put together, since the one may
overflow where the other does not). Products are not multiplied out over sums, so nothing grows;
numbers are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from math import frexp, isfinite
from typing import TypeAlias

from codegen import sizes as sz
from codegen.ir import Call, Value
from codegen.sizes import Dim

Shape: TypeAlias = "tuple[Dim, ...]"
Poly: TypeAlias = "dict[Product, float]"
Term: TypeAlias = "tuple[float, Product]"

FACTORS, TERMS, DEPTH = 8, 12, 6
"""What is longer or deeper than this is not looked into: the work stays linear."""

LENGTH = 100
"""What a length is taken for that only the call tells."""

RANGE = {"float64": 900, "float32": 100}
"""Binary exponents of numbers that may meet without danger of overflow."""


class TooLong(Exception):
    """The expression is not worth looking at, or has no such form."""


class Atom:
    """One factor. `square` is what its square is, where that is known (of a square root)."""

    __slots__ = ("depth", "index", "shape", "square")

    def __init__(self, index: int, shape: Shape, depth: int) -> None:
        self.index, self.shape, self.depth = index, shape, depth
        self.square: Term | None = None


class Leaf(Atom):
    """A value that is no arithmetic, or whose arithmetic is not looked into."""

    __slots__ = ("value",)

    def __init__(self, index: int, shape: Shape, value: Value) -> None:
        super().__init__(index, shape, 0)
        self.value = value


class Sum(Atom):
    """Terms added up; that of the oldest product has the coefficient 1."""

    __slots__ = ("factored", "terms")

    def __init__(self, index: int, shape: Shape, depth: int, terms: Poly) -> None:
        super().__init__(index, shape, depth)
        self.terms = terms
        self.factored: Poly | None = None


class Seen(Atom):
    """A view of a product, by the call that shows it."""

    __slots__ = ("call", "inner")

    def __init__(self, index: int, shape: Shape, call: Call, inner: Product) -> None:
        super().__init__(index, shape, inner.depth + 1)
        self.call, self.inner = call, inner


class Bottom(Atom):
    """A product that something is divided by."""

    __slots__ = ("inner",)

    def __init__(self, index: int, inner: Product) -> None:
        super().__init__(index, inner.shape, inner.depth + 1)
        self.inner = inner


class Product:
    """Atoms with exponents, in the order first seen; equal products are one object."""

    __slots__ = ("depth", "factors", "index", "shape")

    def __init__(self, index: int, factors: dict[Atom, int], shape: Shape) -> None:
        self.index, self.factors, self.shape = index, factors, shape
        self.depth = max((atom.depth for atom in factors), default=0)

    def single(self) -> Atom | None:
        """The atom when the product is one and nothing else."""
        if len(self.factors) == 1:
            [(atom, exponent)] = self.factors.items()
            return atom if exponent == 1 else None
        return None

    def divides(self, factors: Mapping[Atom, int]) -> bool:
        """True when it is a part of the product of these factors."""
        for atom, exponent in self.factors.items():
            other = factors.get(atom, 0)
            if other < exponent if exponent > 0 else other > exponent:
                return False
        return True


class Terms:
    """Makes atoms and products, each once, for arithmetic in one dtype."""

    def __init__(self, dtype: str) -> None:
        self.limit = RANGE[dtype]
        self._atoms: dict[object, Atom] = {}
        self._products: dict[frozenset[tuple[Atom, int]], Product] = {}
        self._made = 0
        self.one = self.product({})

    def _next(self) -> int:
        self._made += 1
        return self._made

    def leaf(self, value: Value, shape: Shape) -> Leaf:
        found = self._atoms.get(value)
        if found is None:
            found = self._atoms[value] = Leaf(self._next(), shape, value)
        assert isinstance(found, Leaf)
        return found

    def product(self, factors: dict[Atom, int]) -> Product:
        """The one product of these factors."""
        key = frozenset(factors.items())
        found = self._products.get(key)
        if found is None:
            if len(factors) > FACTORS or sum(map(abs, factors.values())) > 2 * FACTORS:
                raise TooLong
            shape: Shape = ()
            for atom in factors:
                shape = joined(shape, atom.shape)
            found = self._products[key] = Product(self._next(), factors, shape)
            if found.depth > DEPTH:
                raise TooLong
        return found

    def owns(self, product: Product) -> bool:
        """True for products of this dtype."""
        return self._products.get(frozenset(product.factors.items())) is product

    def of(self, atom: Atom, exponent: int = 1) -> Product:
        return self.product({atom: exponent})

    def number(self, value: float) -> float:
        """The number, if arithmetic with it is safe."""
        found = safe(value, self.limit)
        if found is None:
            raise TooLong
        return found

    # -- products -------------------------------------------------------------------------------

    def times(self, a: Term, b: Term) -> Term:
        """The product of two terms; squares of square roots are what is under them."""
        coefficient, factors = a[0] * b[0], dict(a[1].factors)
        squares: list[Term] = []
        for atom, exponent in b[1].factors.items():
            exponent += factors.pop(atom, 0)
            if atom.square is not None and abs(exponent) >= 2:
                half = int(exponent / 2)
                squares += [atom.square if half > 0 else self.inverse(atom.square)] * abs(half)
                exponent -= 2 * half
            if exponent:
                factors[atom] = exponent
        term = self.number(coefficient), self.product(factors)
        for square in squares:
            term = self.times(term, square)
        return term

    def inverse(self, term: Term) -> Term:
        """One over a term; a product of several atoms stays together."""
        over = {atom: -exponent for atom, exponent in term[1].factors.items() if exponent < 0}
        under = {atom: exponent for atom, exponent in term[1].factors.items() if exponent > 0}
        if len(under) == 1 and set(under.values()) == {1}:
            over |= {atom: -1 for atom in under}
        elif under:
            over[self._bottom(self.product(under))] = -1
        return self.number(1.0 / term[0]), self.product(over)

    def _bottom(self, inner: Product) -> Atom:
        found = self._atoms.get(inner)
        if found is None:
            found = self._atoms[inner] = Bottom(self._next(), inner)
        return found

    def seen(self, call: Call, key: object, shape: Shape, inner: Product) -> Atom:
        """The atom that is a view of a product."""
        found = self._atoms.get((key, inner))
        if found is None:
            found = self._atoms[key, inner] = Seen(self._next(), shape, call, inner)
        return found

    # -- sums -----------------------------------------------------------------------------------

    def added(self, parts: Iterable[tuple[float, Poly]]) -> Poly:
        """The sum of multiples; like terms meet."""
        total: Poly = {}
        for scale, terms in parts:
            for product, coefficient in terms.items():
                total[product] = total.get(product, 0.0) + scale * coefficient
        total = {p: c if p is self.one else self.number(c) for p, c in total.items() if c}
        if not total or len(total) > TERMS:
            raise TooLong
        return total

    def term(self, terms: Poly) -> Term:
        """A sum as one term: what all terms share is taken out, the rest is a `Sum`."""
        if len(terms) == 1:
            [(product, coefficient)] = terms.items()
            return coefficient, product
        shared = self.shared(terms)
        if shared:
            common = self.product(shared)
            terms = {self.without(product, common): c for product, c in terms.items()}
            terms = self.opened(terms)
        if len(terms) == 1:
            coefficient, whole = self.term(terms)
            return self.times((coefficient, whole), (1.0, self.product(shared)))
        scale = terms[min(terms, key=lambda product: product.index)]
        if scale != 1.0:
            terms = {product: self.number(c / scale) for product, c in terms.items()}
        key = frozenset(terms.items())
        found = self._atoms.get(key)
        if found is None:
            shape: Shape = ()
            for product in terms:
                shape = joined(shape, product.shape)
            depth = 1 + max(product.depth for product in terms)
            found = self._atoms[key] = Sum(self._next(), shape, depth, terms)
        return self.times((scale, self.product(shared)), (1.0, self.of(found)))

    def opened(self, terms: Poly) -> Poly:
        """The sum with sums in it opened where their terms meet others: 0.1 + 0.3 * (1 - x)."""
        for product, coefficient in terms.items():
            atom = product.single()
            if isinstance(atom, Sum) and any(inner in terms for inner in atom.terms):
                rest = {other: c for other, c in terms.items() if other is not product}
                found = self.added([(1.0, rest), (coefficient, atom.terms)])
                if len(found) <= len(terms):
                    return self.opened(found)
        return terms

    def shared(self, terms: Iterable[Product]) -> dict[Atom, int]:
        """The factors that all of several products have."""
        first, *others = terms
        shared = dict(first.factors)
        for product in others:
            for atom in list(shared):
                a, b = shared[atom], product.factors.get(atom, 0)
                if a * b <= 0:
                    del shared[atom]
                elif abs(b) < abs(a):
                    shared[atom] = b
            if not shared:
                break
        return shared

    def without(self, product: Product, common: Product) -> Product:
        """The product divided by a part of it."""
        factors = dict(product.factors)
        for atom, exponent in common.factors.items():
            factors[atom] -= exponent
            if not factors[atom]:
                del factors[atom]
        return self.product(factors)

    def factored(self, terms: Poly) -> Poly:
        """The sum with what several terms share taken out of them, greedily: Horner's rule."""
        while len(terms) > 1:
            count: dict[tuple[Atom, bool], int] = {}
            for product in terms:
                for atom, exponent in product.factors.items():
                    key = atom, exponent > 0
                    count[key] = count.get(key, 0) + 1
            best = max(count, key=lambda key: (count[key], -key[0].index), default=None)
            if best is None or count[best] < 2:
                break
            atom, positive = best
            group: Poly = {}
            for product, c in terms.items():
                exponent = product.factors.get(atom, 0)
                if exponent and (exponent > 0) is positive:
                    group[product] = c
            coefficient, whole = self.term(group)
            rest: Poly = {}
            for product, c in terms.items():
                if product not in group:
                    rest[product] = rest.get(product, 0.0) + c
                elif coefficient:  # in the place of the first of the group
                    rest[whole] = rest.get(whole, 0.0) + coefficient
                    coefficient = 0.0
            terms = rest
        return terms


@lru_cache(4096)
def safe(value: float, limit: int) -> float | None:
    """The number, tidy, unless it is 0, not finite, or near the ends of what is."""
    if value == 0.0 or not isfinite(value) or abs(frexp(value)[1]) > limit:
        return None
    return tidy(value)


@lru_cache(4096)
def tidy(value: float) -> float:
    """The number as it was meant: 0.3 / 0.1 is 3, but for a rounding or two."""
    short = float(f"{value:.12g}")
    return short if abs(short - value) <= 4e-16 * abs(value) else value


def joined(a: Shape, b: Shape) -> Shape:
    """The shape of both together; all lengths are resolved."""
    if a == b or not b:
        return a
    if not a:
        return b
    if len(a) < len(b):
        a, b = b, a
    lead = len(a) - len(b)
    dims = list(a)
    for i, dim in enumerate(b):
        if dims[lead + i] == 1:
            dims[lead + i] = dim
        elif dim not in (1, dims[lead + i]):
            raise TooLong
    return tuple(dims)


@cache
def elements(shape: Shape) -> float:
    """About how many elements arrays of this shape have."""
    total = 1.0
    for dim in shape:
        total *= sz.guessed(dim, LENGTH)
    return total
