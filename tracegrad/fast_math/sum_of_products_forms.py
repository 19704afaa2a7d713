"""Gives every value of a block its form as a sum of products."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable

from codegen.ir import Block, Call, Graph, Op, Trait, Value, dims_of
from codegen.keys import attributes_key
from tracegrad.fast_math.polynomial_terms import RANGE, Poly, Shape, Term, Terms, TooLong, joined
from tracegrad.ops.elementwise.powers import number_power
from tracegrad.ops.elementwise.ufuncs import add, divide, multiply, negative, square, subtract

EXACT: dict[Op, Callable[..., float]] = {
    add: operator.add,
    subtract: operator.sub,
    multiply: operator.mul,
    divide: operator.truediv,
    negative: operator.neg,
}
OPS = {*EXACT, square, number_power}
DEEP, MANY = 4, 4
"""Values of so deep sums, or products of more factors, are not taken apart by what reads them."""

POWERS = (-3, -2, -1, 2, 3, 4)


class Forms:
    """The arithmetic of a block.

    `calls` are the calls that are read, by their results; `forms` what these are; `demanded` are
    the results that something else reads; `roots` those for which another form is worth a search
    (what only one call reads is a part of that one), `readers` the roots that read a value.
    """

    def __init__(self, graph: Graph, block: Block) -> None:
        self.graph = graph
        self.calls: dict[Value, Call] = {}
        self.forms: dict[Value, Poly] = {}
        self.terms = {dtype: Terms(dtype) for dtype in RANGE}
        self.roots: set[Value] = set()
        self.readers: dict[Value, tuple[Value, ...]] = {}
        self._shapes: dict[Value, Shape] = {}
        self._terms: dict[Value, Term] = {}
        self._numbers: dict[Value, float] = {}
        self.place = {v: i for i, node in enumerate(block.nodes) for v in node.results}
        for node in block.nodes:
            if not isinstance(node, Call) or self._is_number(node):
                continue
            if self._is_arithmetic(node) or self._is_view(node):
                self.calls[node.results[0]] = node
        if not self.calls:
            return
        self._find_readers(block)
        for value, call in self.calls.items():
            self._read(value, call)

    def shape(self, value: Value) -> Shape:
        found = self._shapes.get(value)
        if found is None:
            found = self._shapes[value] = dims_of(self.graph.sizes, value.type)
        return found

    def of(self, value: Value) -> Terms:
        """Where the atoms of a value's dtype are made."""
        return self.terms[value.type.dtype]

    def term(self, value: Value) -> Term:
        """What a value is, as one term."""
        found = self._terms.get(value)
        if found is None:
            found = self._terms[value] = self.of(value).term(self.forms[value])
        return found

    # -- what is read ---------------------------------------------------------------------------

    def _is_arithmetic(self, call: Call) -> bool:
        result = call.results[0]
        if call.op not in OPS:
            return False
        if result.type.dtype not in RANGE or result.type.weak:
            return False
        if call.op is number_power and call.attribute("exponent") not in POWERS:
            return False
        numbers = [self.number(operand, result) for operand in call.operands]
        for operand, number in zip(call.operands, numbers, strict=True):
            alike = operand.type.dtype == result.type.dtype and not operand.type.weak
            if number is None and (not alike or self.graph.constant(operand) is not None):
                return False
        return True

    def number(self, value: Value, result: Value) -> float | None:
        """The number behind an operand."""
        if value in self._numbers:
            return self._numbers[value]
        constant = self.graph.constant(value)
        if constant is None or value.type.shape or isinstance(constant.value, bool | complex):
            return None
        number = float(constant.value)
        if number != constant.value:
            return None
        return number if value.type.weak or value.type.dtype == result.type.dtype else None

    def _is_number(self, call: Call) -> bool:
        """True for arithmetic on numbers alone, which others may read as the number it gives."""
        result = call.results[0]
        if result.type.dtype not in RANGE or result.type.weak:
            return False
        if any(dim != 1 for dim in self.shape(result)):
            return False
        numbers = [self.number(operand, result) for operand in call.operands]
        known = [number for number in numbers if number is not None]
        if not numbers or len(known) < len(numbers):
            return False
        if Trait.VIEW in call.op.traits:
            number = known[0]
        elif call.op in EXACT:
            try:
                number = EXACT[call.op](*known)
            except ZeroDivisionError:
                return False
        else:
            return False
        self._numbers[result] = number
        return True

    def _is_view(self, call: Call) -> bool:
        """True for a view of arithmetic: numbers are led through it."""
        return (
            Trait.VIEW in call.op.traits
            and len(call.operands) == len(call.results) == 1
            and call.operands[0] in self.calls
            and call.results[0].type.dtype == call.operands[0].type.dtype
            and not call.results[0].type.weak
        )

    def _find_readers(self, block: Block) -> None:
        """Who reads a value decides whether it is a root."""
        self.demanded: set[Value] = set(block.outputs) & self.calls.keys()
        readers: dict[Value, list[Value]] = {}
        for node in block.nodes:
            read: Iterable[Value] = self.graph.reads(node)
            if isinstance(node, Call) and node.results[0] in self.calls:
                for operand in dict.fromkeys(node.operands):
                    readers.setdefault(operand, []).append(node.results[0])
            else:
                self.demanded.update(value for value in read if value in self.calls)
        self.single = {value for value, by in readers.items() if len(by) == 1}
        self.single -= self.demanded
        top: dict[Value, Value] = {}
        for value in reversed(self.calls):
            by = readers.get(value, [])
            seen = any(Trait.VIEW in self.calls[reader].op.traits for reader in by)
            top[value] = value if seen or value not in self.single else top[by[0]]
        self.roots = {value for value, root in top.items() if root is value}
        place = {value: i for i, value in enumerate(self.calls)}
        for value, by in readers.items():
            roots = {top[reader] for reader in by}
            self.readers[value] = tuple(sorted(roots, key=place.__getitem__))

    # -- reading --------------------------------------------------------------------------------

    def _read(self, value: Value, call: Call) -> None:
        terms = self.of(value)
        try:
            if Trait.VIEW in call.op.traits:
                form = self._view(terms, value, call)
            else:
                form = self._arithmetic(terms, call)
            shape: Shape = ()
            for product in form:
                shape = joined(shape, product.shape)
            if shape != self.shape(value) or form.keys() == {terms.one}:
                raise TooLong  # what cancelled gave the result its shape
        except TooLong:
            form = self._leaf(terms, value)
            self.roots.add(value)
            self.roots.update(v for v in call.operands if v in self.calls)
        self.forms[value] = form

    def _leaf(self, terms: Terms, value: Value) -> Poly:
        return {terms.of(terms.leaf(value, self.shape(value))): 1.0}

    def form(self, value: Value, result: Value) -> Poly:
        """What an operand is."""
        found = self.forms.get(value)
        if found is not None:
            if value in self.roots and self._is_long(found):
                return self._leaf(self.of(value), value)
            return found
        terms = self.of(result)
        number = self.number(value, result)
        if number is None:
            leaf = terms.leaf(value, self.shape(value))
            if leaf.square is None:
                self._note_square(terms, value)
            return {terms.of(leaf): 1.0}
        return {terms.one: number} if number else {}

    def _is_long(self, form: Poly) -> bool:
        """True for what others that read it take as it is: else forms would grow with each turn."""
        return any(p.depth >= DEEP or len(p.factors) > MANY for p in form)

    def _note_square(self, terms: Terms, value: Value) -> None:
        """The square of a square root is what is under it."""
        made = self.graph.producer.get(value)
        if not isinstance(made, Call) or made.op.name != "sqrt":
            return
        under = made.operands[0]
        if under.type.dtype == value.type.dtype and not under.type.weak:
            leaf = terms.leaf(value, self.shape(value))
            try:
                square = (
                    self.term(under) if under in self.forms else terms.term(self.form(under, value))
                )
            except TooLong:
                return
            if square[1].shape == leaf.shape:
                leaf.square = square

    def _arithmetic(self, terms: Terms, call: Call) -> Poly:
        """The terms of a call."""
        result = call.results[0]
        parts = [self.form(operand, result) for operand in call.operands]
        op = call.op
        if op is negative:
            return terms.added([(-1.0, parts[0])])
        if op is add or op is subtract:
            opened = [
                part if self._opens(value, part, other) else _closed(terms, part)
                for value, part, other in zip(call.operands, parts, reversed(parts), strict=True)
            ]
            return terms.added([(1.0, opened[0]), (1.0 if op is add else -1.0, opened[1])])
        if not all(parts):
            raise TooLong  # times 0
        if op is square or op is number_power:
            return self._power(terms, parts[0], 2 if op is square else call.attribute("exponent"))
        a, b = parts
        for one, other in ((a, b), (b, a)):
            if one.keys() == {terms.one}:
                number = one[terms.one]
                if op is multiply:
                    return terms.added([(terms.number(number), other)])
                if one is b:
                    return terms.added([(terms.number(1.0 / terms.number(number)), other)])
        right = terms.term(b)
        if op is divide:
            right = terms.inverse(right)
        coefficient, product = terms.times(terms.term(a), right)
        return {product: coefficient}

    def _opens(self, value: Value, part: Poly, other: Poly) -> bool:
        """Whether the terms of an operand become terms of the sum."""
        if value not in self.calls:
            return True
        terms = self.of(value)
        closed = saturates(terms, part) and other.keys() != {terms.one}
        return value in self.single and not closed

    def _power(self, terms: Terms, form: Poly, exponent: float) -> Poly:
        base = terms.term(form)
        power = base
        for _ in range(abs(int(exponent)) - 1):
            power = terms.times(power, base)
        if exponent < 0:
            power = terms.inverse(power)
        return {power[1]: power[0]}

    def _view(self, terms: Terms, value: Value, call: Call) -> Poly:
        """A view of a multiple is that multiple of a view."""
        operand = call.operands[0]
        coefficient, product = terms.term(self.forms[operand])
        if coefficient == 1.0 or product.shape != self.shape(operand):
            return self._leaf(terms, value)
        key = call.op.name, attributes_key(self.graph.sizes, call)
        seen = terms.seen(call, key, self.shape(value), product)
        return {terms.of(seen): coefficient}


def saturates(terms: Terms, form: Poly) -> bool:
    """True for sums with a number in them, such as 1 - t*t: small ones stay exact when closed."""
    return len(form) > 1 and terms.one in form


def _closed(terms: Terms, form: Poly) -> Poly:
    coefficient, product = terms.term(form)
    return {product: coefficient}
