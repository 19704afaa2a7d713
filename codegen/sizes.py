"""Exact arithmetic on lengths that are known only at the call, and the assumptions made about
them.

A dimension (`Dim`) is a plain ``int`` or a `Size`: a polynomial with integer coefficients over
atoms. An atom is a symbol (``"n0"``: the length of some axis of some input), the length of a slice
of a dimension, or a quotient. Polynomials are kept canonical, so equal lengths are equal objects
wherever algebra can show it.

`Sizes` is what one trace believes about its symbols: the values seen, and the equalities that the
operations needed. Every belief is a guard: the program made from the trace holds for exactly the
calls for which all of them are true.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import gcd
from typing import Any, TypeAlias

from codegen.errors import CodegenError

MANY = 16
"""So many equalities of composed lengths are compared with each other and by every call."""
LONG = 64
"""The weight of a length up to which it is worth writing."""


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
    """``of // by``: the ``-1`` of a reshape, where no polynomial shows that `by` divides `of`."""

    of: Dim
    by: Dim

    def __str__(self) -> str:
        return f"quotient({self.of}, {self.by})"


Atom: TypeAlias = "str | SliceLength | Quotient"


@dataclass(frozen=True, slots=True)
class Size:
    """A length known only at the call: ``((atoms, coefficient), ...)`` in canonical order."""

    terms: tuple[tuple[tuple[Atom, ...], int], ...]
    _hash: int = field(init=False, repr=False, compare=False)  # asked for at every look-up

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(self.terms))

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return " + ".join(_term_text(atoms, factor) for atoms, factor in self.terms)

    __repr__ = __str__

    def atom(self) -> Atom | None:
        """The atom when this size is one and nothing else."""
        atoms, factor = self.terms[0]
        return atoms[0] if len(self.terms) == len(atoms) == factor == 1 else None

    def symbol(self) -> str | None:
        """The symbol's name when this size is a bare symbol."""
        atom = self.atom()
        return atom if isinstance(atom, str) else None


Dim: TypeAlias = "int | Size"


@dataclass(frozen=True, slots=True)
class CountedLength:
    """A length that the number of a turn tells: the symbol is ``times * number + plus``."""

    symbol: str
    times: int = 1
    plus: Dim = 0

    def of(self, number: int, known: Mapping[str, int]) -> int:
        """What the symbol is in a turn; `known` are the other symbols."""
        plus = substitute(self.plus, known)
        assert isinstance(plus, int)
        return self.times * number + plus


NO_TEXTS: Mapping[str, str] = {}
IN_LENGTHS = frozenset({"len", "max", "min", "range"})
"""The builtins that a length as Python may call."""


def as_python(dim: Dim, texts: Mapping[str, str] = NO_TEXTS) -> str:
    """A length as Python: ``n1 + 2 - n0``, ``max(n0 - 1, 0)``; `texts` stand for symbols,
    and for builtins that have other names where it is read."""
    if isinstance(dim, int):
        return str(dim)
    if atom := dim.atom():
        return _bare_text(atom, texts)
    text = ""
    for atoms, factor in sorted(dim.terms, key=lambda term: (term[1] < 0, not term[0])):
        sign = (" - " if factor < 0 else " + ") if text else ("-" if factor < 0 else "")
        parts = tuple([_atom_text(atom, texts) for atom in atoms])
        text += sign + _term_text(parts, abs(factor))
    return text


def _atom_text(atom: Atom, texts: Mapping[str, str]) -> str:
    """An atom as an operand."""
    text = _bare_text(atom, texts)
    return f"({text})" if " // " in text else text


def _bare_text(atom: Atom, texts: Mapping[str, str]) -> str:
    match atom:
        case SliceLength():
            return _slice_text(atom, texts)
        case Quotient(of, by):
            return f"{_in_product(of, texts)} // {_in_product(by, texts)}"
        case str():
            return texts.get(atom, atom)


def _slice_text(length: SliceLength, texts: Mapping[str, str]) -> str:
    """The length of a slice: of ``x[1:]`` ``max(n0 - 1, 0)``, of ``x[:2]`` ``min(n0, 2)``."""
    of, start, stop, step = length.of, length.start or 0, length.stop, length.step or 1
    up = step - 1  # to be rounded up
    if (start, stop) == (0, None) and step > 1:
        return _bare_text(Quotient(add(of, up), step), texts)
    least, most = (texts.get(name, name) for name in ("min", "max"))
    if stop is None and start > 0 < step:
        text = f"{most}({as_python(add(of, up - start), texts)}, 0)"
        return f"{text} // {step}" if step > 1 else text
    whole = as_python(of, texts)
    match (start, stop):
        case (int(), None) if start < 0 < step:
            text = f"{least}({whole}, {-start})"
        case (0, int(end)) if end >= 0 < step:
            text = f"{least}({whole}, {end})"
        case (int(), int(end)) if start > 0 < step and end >= 0:
            text = f"{most}({least}({whole}, {end}) - {start}, 0)"
        case _:
            ends = [length.start, stop, *([step] if step != 1 else [])]
            item = ":".join("" if end is None else str(end) for end in ends)
            count, numbers = (texts.get(name, name) for name in ("len", "range"))
            return f"{count}({numbers}({whole})[{item}])"
    return f"({text} + {up}) // {step}" if step > 1 else text


def _term_text(atoms: tuple[Atom, ...], factor: int) -> str:
    parts = [str(atom) for atom in atoms]
    if factor != 1 or not parts:
        parts.insert(0, str(factor))
    return "*".join(parts)


def limits(a: Dim, b: Dim) -> tuple[Dim, int, int | None] | None:
    """The length that was sliced, its least and its largest number (None: any), where that is
    what ``a == b`` says: of ``x[:2]`` that has 2 elements, 2 and None."""
    if not isinstance(b, int):
        return None
    low, sliced = b, False
    high: int | None = b
    while isinstance(a, Size):
        constant = _terms(a).get((), 0)
        a, low = add(a, -constant), low - constant
        high = None if high is None else high - constant
        match a.atom() if isinstance(a, Size) else None:
            case SliceLength(of, start, stop, step) if _grows(start, stop, step or 1):
                item = slice(start, stop, step)
                least = _least_length(item, low)
                if least is None:
                    return None  # so long it never is
                longer = None if high is None else _least_length(item, high + 1)
                a, low, high, sliced = of, least, None if longer is None else longer - 1, True
            case _:
                return (a, low, high) if sliced else None
    return None


def ordered(a: Dim, b: Dim) -> tuple[Dim, Dim] | None:
    """Two lengths, where ``a == b`` says that the first is no less than the second."""
    match limits(a, b):
        case (Size() as of, 1, None) if isinstance(parts := of.atom(), Quotient):
            common = min(_terms(dim).get((), 0) for dim in (parts.of, parts.by))
            return add(parts.of, -common), add(parts.by, -common)
    return None


def _least_length(item: slice, count: int) -> int | None:
    """The least length of an array that has so many elements in a slice; None: none has."""
    enough = abs(item.start or 0) + abs(item.stop or 0) + (abs(count) + 1) * abs(item.step or 1)
    found = bisect_left(range(enough), count, key=lambda n: len(range(n)[item]))
    return None if found == enough else found


def _grows(start: int | None, stop: int | None, step: int) -> bool:
    """Whether a slice of a longer array is never shorter."""
    if start is not None and start < 0:
        return stop is None and step > 0
    return stop is None or stop >= 0 or step > 0


def solved(a: Dim, b: Dim) -> tuple[str, int] | None:
    """The one symbol of a length and what it is, where a number is the length: ``n0 - 1 == 2``."""
    terms = _terms(a)
    added = terms.pop((), 0)
    if not isinstance(b, int) or len(terms) != 1:
        return None
    ((atoms, factor),) = terms.items()
    value, rest = divmod(b - added, factor)
    if rest or len(atoms) != 1:
        return None
    match atoms[0]:
        case str() as name if value >= 0:
            return name, value
        case SliceLength() as sliced:  # of which one number alone may have so many elements
            limited = limits(size_of(sliced), value)
            if limited is not None and limited[1] == limited[2]:
                return solved(limited[0], limited[1])
    return None


def equality_as_python(a: Dim, b: Dim, texts: Mapping[str, str] = NO_TEXTS) -> str:
    """That two lengths are equal, as Python: ``n0 >= 8`` where the first eight are eight."""
    if (order := ordered(a, b)) is not None:
        return f"{as_python(order[0], texts)} >= {as_python(order[1], texts)}"
    if (limited := limits(a, b)) is not None:
        return between(*limited, texts)
    by = _divided(a, b) or _divided(b, a)
    if by is not None:
        whole, part = (_in_product(dim, texts) for dim in by)
        return f"{whole} % {part} == 0"
    return f"{as_python(a, texts)} == {as_python(b, texts)}"


def between(of: Dim, low: int, high: int | None, texts: Mapping[str, str] = NO_TEXTS) -> str:
    """That a length lies between two, as Python: ``n0 == 2``, ``n0 <= 2``, ``1 <= n0 <= 2``."""
    text = as_python(of, texts)
    if high is None:
        return f"{text} >= {low}"
    if low == high:
        return f"{text} == {low}"
    return f"{low} <= {text} <= {high}" if low > 0 else f"{text} <= {high}"


def _divided(a: Dim, b: Dim) -> tuple[Dim, Dim] | None:
    """`b`, and what divides it, where ``a == b`` says that: ``3 * (n0 // 3) == n0``."""
    for atoms, _ in a.terms if isinstance(a, Size) else ():
        for atom in atoms:
            if isinstance(atom, Quotient) and atom.of == b and a == mul([atom.by, size_of(atom)]):
                return b, atom.by
    return None


def _in_product(dim: Dim, texts: Mapping[str, str]) -> str:
    if isinstance(dim, int):
        return str(dim)
    return _atom_text(atom, texts) if (atom := dim.atom()) else f"({as_python(dim, texts)})"


def symbol(name: str) -> Size:
    """The size named `name`."""
    return size_of(name)


def size_of(atom: Atom) -> Size:
    """The size that is this atom and nothing else."""
    return Size((((atom,), 1),))


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
    """``of // by``; without a division where the polynomials show that `by` divides `of`.

    A factor that cancels is taken for non-zero: ``n0*n1 // n0`` is ``n1``. What is divided by a
    literal 0 can only be 0 elements, and so is the result.
    """
    if by == 0:
        return 0
    if isinstance(of, int) and isinstance(by, int):
        return of // by
    divisor = _terms(by)
    if len(divisor) == 1:
        (atoms, factor) = next(iter(divisor.items()))
        terms = {term: list(term) for term in _terms(of)}
        left = []
        for atom in atoms:
            if all(atom in rest for rest in terms.values()):
                for rest in terms.values():
                    rest.remove(atom)
            else:
                left.append(atom)
        scales = _terms(of).items()
        exact = not left and all(scale % factor == 0 for _, scale in scales)
        of = _canonical({tuple(terms[t]): n // factor if exact else n for t, n in scales})
        if exact:
            return of
        by = _canonical({tuple(left): factor})
    return size_of(Quotient(of, by))


def without_common(a: Dim, b: Dim) -> tuple[Dim, Dim]:
    """Two products of lengths without the factors that both have."""
    if not (isinstance(a, Size) and isinstance(b, Size) and len(a.terms) == len(b.terms) == 1):
        return a, b
    ((left, factor),), ((right, other),) = a.terms, b.terms
    common = gcd(factor, other)
    kept, rest = [], list(right)
    for atom in left:
        if atom in rest:
            rest.remove(atom)
        else:
            kept.append(atom)
    return _canonical({tuple(kept): factor // common}), _canonical({tuple(rest): other // common})


def slice_length(of: Dim, item: slice) -> Dim:
    """The length of ``x[item]`` along an axis of length `of`."""
    if isinstance(of, int):
        return len(range(of)[item])  # a length below 0, which a guess may give, has no elements
    step = 1 if item.step is None else item.step
    if step == 0:
        raise SizeError("slice step cannot be zero")
    start = None if item.start == (0 if step > 0 else -1) else item.start
    if start is None and item.stop is None and step in (1, -1):
        return of
    stop = item.stop
    if step == 1 and (start or 0) >= 0 and (stop is None or stop < 0):
        start, stop = (start or 0) - (stop or 0), None  # x[1:], x[:-1]: as many are dropped
        match of.atom():
            case SliceLength(whole, int(dropped), None, None) if dropped > 0:  # x[1:][1:] is x[2:]
                of, start = whole, start + dropped
    return size_of(SliceLength(of, start, stop, None if step == 1 else step))


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


def weight(dim: Dim) -> int:
    """How many numbers and symbols stand in the length as it is written."""
    if isinstance(dim, int):
        return 1
    total = 0
    for atoms, _ in dim.terms:
        for atom in atoms:
            match atom:
                case str():
                    total += 1
                case SliceLength(of):
                    total += 1 + weight(of)
                case Quotient(of, by):
                    total += weight(of) + weight(by)
    return total


def minus(a: Dim, b: Dim) -> Dim:
    """The difference of lengths, which may be below 0."""
    return add(a, mul((-1, b)))


def substitute(dim: Dim, known: Mapping[str, Dim]) -> Dim:
    """The length with symbols replaced."""
    if isinstance(dim, int) or not (known and any(name in known for name in symbols(dim))):
        return dim
    return add(
        *(
            mul([factor, *(_substitute_atom(atom, known) for atom in atoms)])
            for atoms, factor in dim.terms
        )
    )


def guessed(dim: Dim, length: int) -> int:
    """A length of which nobody knows the symbols: each counts as `length`; it is 1 at least."""
    found = substitute(dim, dict.fromkeys(symbols(dim), length))
    assert isinstance(found, int)
    return found if isinstance(dim, int) else max(found, 1)


def _substitute_atom(atom: Atom, known: Mapping[str, Dim]) -> Dim:
    if isinstance(atom, str):
        return known.get(atom, symbol(atom))
    return _rebuilt(atom, lambda dim: substitute(dim, known))


def _rebuilt(atom: Atom, change: Callable[[Dim], Dim]) -> Dim:
    """The atom with the lengths inside it changed."""
    match atom:
        case str():
            return symbol(atom)
        case SliceLength(of, start, stop, step):
            return slice_length(change(of), slice(start, stop, step))
        case Quotient(of, by):
            return quotient(change(of), change(by))


def _without_cuts(a: Dim, b: Dim) -> tuple[Dim, Dim]:
    """Of two lengths of like slices what is sliced: where these are equal, so are the slices."""
    match [d.atom() if isinstance(d, Size) else d for d in (a, b)]:
        case [SliceLength() as x, SliceLength() as y] if y == replace(x, of=y.of):
            return x.of, y.of
    return a, b


def _age(name: str | None) -> int:
    """Symbols are numbered as they appear; the oldest of equal ones stands for all."""
    return int(name[1:]) if name is not None and name[1:].isdigit() else -1


def _complexity(dim: Dim) -> tuple[bool, bool, int, str]:
    """Numbers before symbols before what is composed."""
    text = str(dim)
    composed = isinstance(dim, Size) and dim.symbol() is None
    return isinstance(dim, Size), composed, len(text), text


class Sizes:
    """What one trace believes about its lengths; see the module's first lines."""

    def __init__(self, seen: Mapping[str, int] | None = None) -> None:
        self.seen: dict[str, int] = dict(seen or {})
        self.known: dict[str, Dim] = {}
        self.guards: list[tuple[Dim, Dim]] = []
        self.unsolved: dict[Dim, Dim] = {}  # composed lengths that are assumed to be others
        self._next = max(map(_age, self.seen), default=-1) + 1
        self._readers: dict[str, set[str]] = {}  # symbol: those whose known length reads it
        self._resolved: dict[Size, Dim] = {}  # until more is known
        self.data: dict[str, Callable[[int], None]] = {}
        self.counters: dict[str, Any] = {}  # symbols that are the number of a turn, with that
        self.given: dict[str, Any] = {}  # symbols that are an input, a whole number, with that

    def copy(self) -> Sizes:
        """What is believed so far, to be added to on its own."""
        other = Sizes(self.seen)
        other.known = dict(self.known)
        other.guards = list(self.guards)
        other.unsolved = dict(self.unsolved)
        other._next = self._next
        other._readers = {name: set(readers) for name, readers in self._readers.items()}
        other.data = dict(self.data)
        other.counters = dict(self.counters)
        other.given = dict(self.given)
        return other

    def new(self, value: int, look: Callable[[int], None] | None = None) -> Size:
        """A fresh symbol whose value in this trace is `value`.

        A length that depends on data (the number of True in a mask) cannot be a guard before the
        program runs: `look` is called with the value when something is assumed about it.
        """
        name = f"n{self._next}"
        self._next += 1
        self.seen[name] = value
        if look is not None:
            self.data[name] = look
        return symbol(name)

    def name_of_input(self, value: Any) -> str | None:
        """The symbol that an input is, which is a whole number; None for others."""
        return next((name for name, known in self.given.items() if known is value), None)

    def see_number(self, value: Any, number: Any) -> None:
        """An input that is a length is this number."""
        if (name := self.name_of_input(value)) is not None:
            self.seen[name] = int(number)

    def resolve(self, dim: Dim) -> Dim:
        """The length in terms of symbols that nothing is known about."""
        if isinstance(dim, int):
            return dim
        found = self._resolved.get(dim)
        if found is None:
            found = substitute(dim, self.known)
            if self.unsolved:
                found = self._simplest(found)
            self._resolved[dim] = found
        return found

    def _simplest(self, dim: Dim) -> Dim:
        """The length with composed parts replaced by the simpler ones that they are equal to."""
        if isinstance(dim, Size):
            if len(dim.terms) > 1 or dim.atom() is None:
                dim = add(*(mul(self._factors(atoms, f)) for atoms, f in dim.terms))
            else:
                dim = _rebuilt(dim.terms[0][0][0], self._simplest)
        while dim in self.unsolved:
            dim = self.unsolved[dim]
        return dim

    def _factors(self, atoms: Sequence[Atom], factor: int) -> list[Dim]:
        """The factors of a product, with simpler ones for those whose product is known."""
        left, found = [*atoms], list[Dim]()
        for composed, simple in self.unsolved.items():
            terms = composed.terms if isinstance(composed, Size) else ()
            known, times = terms[0] if len(terms) == 1 else ((), 1)
            part = 0 < len(known) < len(left) and times > 1 and factor % times == 0
            if part and all(known.count(a) <= left.count(a) for a in known):
                for atom in known:
                    left.remove(atom)
                factor //= times
                found.append(simple)
        return [factor, *found, *(self._simplest(size_of(atom)) for atom in left)]

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

    def bounded(self, dim: Dim) -> Dim:
        """The length; one that would be very long to write is looked at, and is a number.

        Else lengths of slices of joined slices, and so on in a loop, double with each turn.
        """
        if isinstance(dim, int) or dim.symbol() is not None or weight(dim) <= LONG:
            return dim
        return self._specialised(dim) if symbols(dim) <= self.seen.keys() else dim

    def _specialised(self, *dims: Dim) -> Dim:
        """Looks at all that the lengths depend on; the first is returned."""
        for name in sorted(set().union(*map(symbols, dims)), key=_age):
            self.fix(self.resolve(symbol(name)))
        return self.resolve(dims[0])

    def same(self, a: Dim, b: Dim) -> bool:
        """True when the lengths are equal, assuming it (a guard) where only their values say so."""
        if a is b or a == b:
            return True
        a, b = self.resolve(a), self.resolve(b)
        if a == b:
            return True
        if isinstance(a, int) and isinstance(b, int):
            return False
        if not (symbols(a) | symbols(b)) <= self.seen.keys():
            return False
        if self.value(a) != self.value(b):
            return False
        self._assume(a, b)
        return True

    def require_at_least(self, a: Dim, b: Dim) -> None:
        """Assumes that one length is no less than another: a guard, if only their values say so."""
        terms = _terms(minus(self.resolve(a), self.resolve(b)))
        a = _canonical({atoms: factor for atoms, factor in terms.items() if factor > 0})
        b = _canonical({atoms: -factor for atoms, factor in terms.items() if factor < 0})
        guard: tuple[Dim, Dim]
        if b == 0:
            return
        if a == 0:
            self.same(b, 0)
            return
        if isinstance(a, int):  # that is where b ends
            guard = size_of(SliceLength(b, a, None, None)), 0
        elif isinstance(b, int):
            guard = size_of(SliceLength(a, b - 1, b, None)), 1
        else:  # which may be 0
            quotient = size_of(Quotient(add(a, 1), add(b, 1)))
            guard = size_of(SliceLength(quotient, 0, 1, None)), 1
        if guard not in self.guards:
            self.guards.append(guard)

    def equal(self, a: Dim, b: Dim) -> bool:
        """True when the lengths are known to be equal; assumes nothing."""
        return self.resolve(a) == self.resolve(b)

    def are_same(self, a: Dim, b: Dim) -> bool:
        """Whether lengths are equal: assumed as in `same`, but of those that the data tell."""
        told = not (symbols(a) | symbols(b)).isdisjoint(self.data)
        return self.resolve(a) == self.resolve(b) if told else self.same(a, b)

    def is_one(self, dim: Dim) -> bool:
        """True when the length was seen as 1."""
        dim = self.resolve(dim)
        return dim == 1 or (symbols(dim) <= self.seen.keys() and self.value(dim) == 1)

    def _assume(self, a: Dim, b: Dim) -> None:
        a, b = self._without_ends(*self._without_counters(self.resolve(a), self.resolve(b)))
        if a == b:
            return
        for name in sorted((symbols(a) | symbols(b)) & self.data.keys()):
            value = self.seen[name]
            self.data.pop(name)(value)
            self._learn(name, value)
        a, b = self.resolve(a), self.resolve(b)
        if a == b:
            return
        bare = [d.symbol() if isinstance(d, Size) else None for d in (a, b)]
        later_first = sorted(((bare[0], b), (bare[1], a)), key=lambda pair: -_age(pair[0]))
        for bare_name, other in later_first:
            if bare_name is not None and bare_name not in symbols(other):
                self.guards.append((a, b))
                self._learn(bare_name, other)
                return
        solution = solved(a, b) or solved(b, a)
        if solution is not None:
            self.guards.append((a, b))
            self._learn(*solution)
            return
        if len(self.unsolved) >= MANY:
            self._specialised(a, b)
            return
        self.guards.append((a, b))
        self._keep(a, b)

    def counts(self, dim: Dim) -> bool:
        """Whether a length depends on the number of a turn."""
        return not self.counters.keys().isdisjoint(symbols(dim))

    def _without_counters(self, a: Dim, b: Dim) -> tuple[Dim, Dim]:
        """Equal lengths without what turns count, where both depend on it alike."""
        if not (self.counts(a) or self.counts(b)):
            return a, b
        left = minus(*_without_cuts(a, b))
        if isinstance(left, int) or self.counts(left):
            return a, b
        more = {atoms: factor for atoms, factor in left.terms if factor > 0}
        less = {atoms: -factor for atoms, factor in left.terms if factor < 0}
        return _canonical(more), _canonical(less)

    def _without_ends(self, a: Dim, b: Dim) -> tuple[Dim, Dim]:
        """Equal lengths of like slices: what is sliced, where that ends before the slices do."""
        whole = _without_cuts(a, b)
        item = a.atom() if isinstance(a, Size) and whole != (a, b) else None
        if not isinstance(item, SliceLength) or item.stop is None or item.step is not None:
            return a, b
        length, other = map(self.value, whole)
        ends = 0 <= (item.start or 0) < length < item.stop
        return whole if ends and length == other else (a, b)

    def _keep(self, a: Dim, b: Dim) -> None:
        """Of two lengths that no symbol's value makes equal, the simpler stands for the other."""
        pairs = [(a, b), *self.unsolved.items()]
        for sweep in range(len(pairs) + 2):  # forth and back until each is in terms of the others
            self.unsolved.clear()
            self._resolved.clear()
            for pair in pairs:
                a, b = map(self.resolve, pair)
                if a != b:
                    simple, composed = sorted((a, b), key=_complexity)
                    self.stand_for(composed, simple)
            before, pairs = pairs, list(self.unsolved.items())[::-1]
            if sweep and set(before) == set(pairs):
                break
        for composed, simple in pairs:
            solution = solved(composed, simple)
            if solution is not None:
                del self.unsolved[composed]
                self._learn(*solution)
                return

    def settle(self, name: str, dim: Dim) -> None:
        """The number of a turn is known: it is no length of its own any more."""
        self.data.pop(name, None)
        self.counters.pop(name, None)
        self._learn(name, dim)

    def stand_for(self, composed: Dim, simple: Dim) -> None:
        """From here on the simple length stands for the composed one."""
        self.unsolved[composed] = simple
        self._resolved.clear()

    def _learn(self, name: str, dim: Dim) -> None:
        """From here on the symbol is `dim`, also in what is known of other symbols."""
        learned = {name: dim}
        for reader in self._readers.pop(name, ()):
            learned[reader] = substitute(self.known[reader], {name: dim})
        self.known.update(learned)
        self._resolved.clear()
        for reader, length in learned.items():
            for read in symbols(length):
                self._readers.setdefault(read, set()).add(reader)
        if self.unsolved:
            self._keep(*self.unsolved.popitem())


class Settled(Sizes):
    """Lengths of which nothing more may be assumed: they are equal where algebra, or what was
    assumed before, shows it. For graphs that are read from text or verified."""

    def __init__(self, assumed: Sizes, names: Iterable[str] = ()) -> None:
        super().__init__()
        self.known = assumed.known
        self.unsolved = assumed.unsolved
        self._resolved = assumed._resolved
        self._next = max((_age(name) + 1 for name in names), default=assumed._next)

    def value(self, dim: Dim) -> int:
        return super().value(self.resolve(dim))

    def fix(self, dim: Dim) -> int:
        return self.value(dim)

    def bounded(self, dim: Dim) -> Dim:
        return dim

    def same(self, a: Dim, b: Dim) -> bool:
        return a == b or self.equal(a, b)

    def is_one(self, dim: Dim) -> bool:
        return self.resolve(dim) == 1
