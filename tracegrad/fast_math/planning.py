"""Sums of products enter (`forms`), the cheapest steps that compute them leave (`steps`).

For every root the steps as they are written are compared with those of its form; a form wins where
it takes fewer calls or elements, and more of neither. The search looks at what is in use already, so
that a second round finds what the first made for others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from codegen.ir import Trait, Value, attributes_key
from tracegrad.fast_math.forms import Forms
from tracegrad.fast_math.steps import SCALAR, Price, Step, Steps
from tracegrad.fast_math.terms import (
    Atom,
    Bottom,
    Leaf,
    Poly,
    Product,
    Seen,
    Shape,
    Sum,
    Term,
    Terms,
    TooLong,
    elements,
)

ROUNDS = 3
"""From the second on, every value knows what the others make of theirs."""

SCALES = 4
"""So many ways are tried to put a number before a sum."""

READERS = 4
"""The readers of a value choose together when they are no more than this."""

WORTH = 4.0
"""What costs more than this is made once, not anew for each that uses it."""

Part: TypeAlias = "tuple[Step, int, Term]"
"""A factor of a product: the step, its exponent, and what the step computes."""


class Plan:
    """A step for each value of a block's arithmetic; none where what is written is as good."""

    def __init__(self, forms: Forms) -> None:
        self.forms = forms
        self.steps = Steps()
        self.step: dict[Value, Step] = {}
        self._sums: dict[tuple[Sum, float], tuple[float, Step]] = {}
        self._first_round()
        for _ in range(ROUNDS - 1):
            self._again()
        before = Price(0.0, 0.0)
        for step in self._written:
            before = before.plus(step.price)
        self.better = self.steps.in_use().total < before.total - 1e-6

    # -- rounds ---------------------------------------------------------------------------------

    def _first_round(self) -> None:
        steps, forms = self.steps, self.forms
        self._written: dict[Step, None] = {}
        written: dict[Value, Step] = {}
        held: list[Value] = []
        for value in forms.calls:
            written[value] = self._as_written(value, written)
            self._written[written[value]] = None
            self.step[value] = self._as_written(value, self.step)
            if value in forms.roots:
                self.step[value] = self._best(value, [self.step[value]])
            if value in forms.demanded:
                steps.use(self.step[value])
            elif value in forms.roots and steps.cost(self.step[value]).total > WORTH:
                steps.use(self.step[value])
                held.append(value)
        for value in held:
            steps.leave(self.step[value])

    def _again(self) -> None:
        """Looks at each value once more: now it is known what the others use."""
        for value in self.forms.calls:
            before = self.step[value] = self.step[value].now()
            if not before.uses:
                self.step[value] = self._as_written(value, self.step)
            elif value in self.forms.roots:
                self._choose_anew([value])
                readers = self.forms.readers.get(value, ())
                if 1 < len(readers) <= READERS:
                    if value not in self.forms.demanded:
                        self._choose_anew(readers)
                    self._choose_anew(readers, self.step[value].now())

        self._shared_anew()

    def _shared_anew(self) -> None:
        """Looks once more at what several share without its being a value of the block."""
        steps, known = self.steps, set(self.step.values())
        for step in steps.shared():
            if step in known or step.uses < 2 or step.product is None or step.instead is not None:
                continue
            terms = next(t for t in self.forms.terms.values() if t.owns(step.product))
            self._sums.clear()
            steps.suspend(step)
            try:
                sign, other = self._product(terms, step.coefficient, step.product)
            except TooLong:
                sign, other = -1, step
            cheaper = steps.cost(other).total < steps.cost(step).total - 1e-6
            if sign > 0 and cheaper and other.shape == step.shape and steps.may_replace(step, other):
                steps.replace(step, other)
            else:
                steps.resume(step, step.suspended)

    def _choose_anew(self, values: Sequence[Value], held: Step | None = None) -> None:
        """Takes other steps for these values where they cost less together.

        `held` is a step that they may read at no cost but its own.
        """
        steps, old = self.steps, [self.step[value].now() for value in values]
        if len(set(old)) < len(old) or not all(step.uses and step.operands for step in old):
            return
        for step in reversed(old):
            steps.suspend(step)
        before = after = 0.0
        for step in old:
            before += steps.cost(step).total
            steps.use(step)
        for step in reversed(old):
            steps.leave(step)
        if held is not None:
            after += steps.cost(held).total
            steps.use(held)
        made: list[Step] = []
        for value, step in zip(values, old, strict=True):
            best = self._best(value, [step, self._as_written(value, self.step)])
            after += steps.cost(best).total
            steps.use(best)
            made.append(best)
        for step in reversed(made):
            steps.leave(step)
        if held is not None:
            steps.leave(held)
        for value, step, best in zip(values, old, made, strict=True):
            if after < before - 1e-6 and best is not step and steps.may_replace(step, best):
                steps.replace(step, best)
                self.step[value] = best
            else:
                steps.resume(step, step.suspended)

    def _as_written(self, value: Value, step: dict[Value, Step]) -> Step:
        """The call itself, on the steps of its operands."""
        call = self.forms.calls[value]
        operands = []
        for operand in call.operands:
            found = step.get(operand)
            if found is None:
                number = self.forms.number(operand, value)
                found = self._value(operand) if number is None else self.steps.number(number)
            operands.append(found)
        key = attributes_key(self.forms.graph.sizes, call)
        shape = self.forms.shape(value)
        made = self.steps.call(call.op, tuple(operands), call.attributes, key, shape)
        if made.product is None:
            try:
                coefficient, product = self.forms.of(value).term(self.forms.forms[value])
            except TooLong:
                return made
            self.steps.computes(made, coefficient, product)
        return made

    def _value(self, value: Value) -> Step:
        return self.steps.value(value, self.forms.shape(value), self.forms.graph.producer.get(value))

    def _best(self, value: Value, options: list[Step]) -> Step:
        """The cheapest of these steps and those of the value's form."""
        best = min(options, key=lambda step: self.steps.cost(step).total)
        most = self.steps.cost(best)
        if not most.calls:
            return best
        price = most
        for step in self._options(value):
            if step.number is not None or step.shape != best.shape:
                continue
            found = self.steps.cost(step)
            more = found.calls > most.calls + 3.5 * SCALAR or found.elements > most.elements * 1.001
            if not more and found.total < price.total - 1e-6:
                best, price = step, found
        return best

    def _options(self, value: Value) -> Iterator[Step]:
        """Other steps to a value."""
        terms, form = self.forms.of(value), self.forms.forms[value]
        for poly in (form, self._opened(terms, form)):
            if poly is None:
                continue
            self._sums.clear()
            try:
                coefficient, product = terms.term(poly)
                for sign, step in self._ways(terms, poly, coefficient, product):
                    step = self.steps.negated(step) if sign < 0 else step
                    yield self.steps.computes(step, coefficient, product)
            except TooLong:
                continue

    def _ways(
        self, terms: Terms, poly: Poly, coefficient: float, product: Product
    ) -> Iterator[tuple[int, Step]]:
        """Ways to a sum: what all terms share taken out, a number alone, or nothing."""
        yield self._product(terms, coefficient, product)
        if len(poly) > 1 and product.single() is None:
            scales = dict.fromkeys((1.0, *map(abs, poly.values())))
            for scale in list(scales)[:SCALES]:
                sign, step = self._added(terms, poly, scale)
                yield sign, self.steps.scaled(scale, step)

    def _opened(self, terms: Terms, form: Poly) -> Poly | None:
        """The form with sums in it opened, which others read as well."""
        parts: list[tuple[float, Poly]] = []
        for product, coefficient in form.items():
            atom = product.single()
            if len(form) > 1 and isinstance(atom, Sum):
                parts.append((coefficient, atom.terms))
            else:
                parts.append((1.0, {product: coefficient}))
        if len(parts) == len(form) and all(scale == 1.0 for scale, _ in parts):
            if all(len(part) == 1 for _, part in parts):
                return None
        try:
            return terms.added(parts)
        except TooLong:
            return None

    # -- products -------------------------------------------------------------------------------

    def _product(self, terms: Terms, coefficient: float, product: Product) -> tuple[int, Step]:
        """A step that computes the term but for the sign, and the sign."""
        for step in self.steps.multiples(product):
            if abs(step.coefficient) == abs(coefficient):
                return (1 if step.coefficient == coefficient else -1), step
        factors = dict(product.factors)
        parts: list[Part] = []
        while sum(map(abs, factors.values())) > 1:
            part = self._part(factors, coefficient)
            if part is None or part.product is None:
                break
            if parts and parts[-1][0] is part:
                parts[-1] = part, parts[-1][1] + 1, parts[-1][2]
            else:
                parts.append((part, 1, (part.coefficient, part.product)))
            coefficient /= part.coefficient
            for atom, exponent in part.product.factors.items():
                factors[atom] -= exponent
                if not factors[atom]:
                    del factors[atom]
        smallest = min((atom.shape for atom in product.factors), key=elements, default=())
        for atom, exponent in factors.items():
            found = list(self._atom(terms, atom, exponent, coefficient))
            prices = [  # rounded: of equal ones the first, which applies no number
                round(self.steps.cost(step).total + _extra(coefficient / scale**exponent, smallest), 6)
                for scale, step in found
            ]
            scale, step = found[prices.index(min(prices))]
            parts.append((step, exponent, (scale, terms.of(atom))))
            coefficient /= scale**exponent
        return (1 if coefficient > 0.0 else -1), self._combined(terms, abs(coefficient), parts)

    def _part(self, factors: dict[Atom, int], coefficient: float) -> Step | None:
        """A step in use that computes most of the product of these factors."""
        best, most = None, 0.0
        for atom in factors:
            for step in self.steps.parts(atom):
                assert step.product is not None
                if not step.product.divides(factors):
                    continue
                saved = sum(map(abs, step.product.factors.values())) - 1.0
                saved += _is_unit(coefficient / step.coefficient) - _is_unit(coefficient)
                if saved > most:
                    best, most = step, saved
        return best

    def _combined(self, terms: Terms, number: float, parts: list[Part]) -> Step:
        """The factors multiplied, small arrays first; the number is applied to the smallest."""
        by_shape: dict[Shape, list[Part]] = {}
        for step, exponent, term in parts:
            if exponent > 1:
                step, term = self._power(terms, step, term, exponent)
                exponent = 1
            by_shape.setdefault(step.shape, []).append((step, exponent, term))
        done: Step | None = None
        term: Term = (number, terms.one)
        waiting: list[Part] = []
        shapes = sorted(by_shape, key=elements)
        for shape in shapes:
            todo = waiting + by_shape[shape]
            waiting = []
            if done is None:
                start = next((i for i, part in enumerate(todo) if part[1] > 0), None)
                if start is not None:
                    step, _, of = todo.pop(start)
                    done, term = self.steps.scaled(number, step), terms.times(term, of)
                    self.steps.computes(done, *term)
                elif number == 1.0 and shape != shapes[-1] and len(todo) == 1:
                    waiting = todo  # x / n sooner than (1 / n) * x
                    continue
                else:
                    done = self.steps.number(number)
            for step, exponent, of in todo:
                for _ in range(abs(exponent)):
                    if exponent > 0:
                        done, term = self.steps.multiply(done, step), terms.times(term, of)
                    else:
                        over = terms.inverse(of)
                        done, term = self.steps.divide(done, step), terms.times(term, over)
                    self.steps.computes(done, *term)
        return self.steps.number(number) if done is None else done

    def _power(self, terms: Terms, step: Step, term: Term, exponent: int) -> tuple[Step, Term]:
        """A step raised to a whole exponent, by squares."""
        if exponent == 1:
            return step, term
        half, of = self._power(terms, step, term, exponent // 2)
        done, whole = self.steps.multiply(half, half), terms.times(of, of)
        self.steps.computes(done, *whole)
        if exponent % 2:
            done, whole = self.steps.multiply(done, step), terms.times(whole, term)
            self.steps.computes(done, *whole)
        return done, whole

    # -- atoms ----------------------------------------------------------------------------------

    def _atom(
        self, terms: Terms, atom: Atom, exponent: int, coefficient: float
    ) -> Iterator[tuple[float, Step]]:
        """Steps that compute multiples of an atom, which has this exponent in such a term."""
        one = terms.of(atom)
        for step in self.steps.multiples(one):
            yield step.coefficient, step
        match atom:
            case Leaf(value=value):
                yield 1.0, (self.step.get(value) or self._value(value)).now()
            case Bottom(inner=inner):
                yield self._product(terms, 1.0, inner)
            case Seen(inner=inner):
                for scale in {1.0, coefficient if exponent == 1 else 1.0}:
                    sign, step = self._product(terms, scale, inner)
                    yield sign * scale, self._view(terms, atom, step, sign * scale)
            case Sum(terms=of):
                scales = [1.0, 1.0 / abs(coefficient) if exponent == 1 else 1.0]
                scales += [abs(c) for c in of.values()]
                for scale in list(dict.fromkeys(scales))[:SCALES]:
                    yield self._sum(terms, atom, scale)

    def _view(self, terms: Terms, atom: Seen, step: Step, scale: float) -> Step:
        call = atom.call
        key = attributes_key(self.forms.graph.sizes, call)
        shown = self.steps.call(call.op, (step,), call.attributes, key, atom.shape)
        return self.steps.computes(shown, scale, terms.of(atom))

    def _sum(self, terms: Terms, atom: Sum, scale: float) -> tuple[float, Step]:
        """A step that computes a sum divided by the scale, or that with the other sign."""
        found = self._sums.get((atom, scale))
        if found is None:
            if atom.factored is None:
                atom.factored = terms.factored(atom.terms)
            made = []
            for poly in (atom.terms, atom.factored)[: 1 + (atom.factored is not atom.terms)]:
                sign, step = self._added(terms, poly, scale)
                made.append((self.steps.cost(step).total, len(made), sign / scale, step))
            found = min(made)[2:]
            self._sums[atom, scale] = found
            self.steps.computes(found[1], found[0], terms.of(atom))
        return found

    def _added(self, terms: Terms, poly: Poly, scale: float) -> tuple[int, Step]:
        """Terms divided by the scale and added up, small arrays first; and the sign before them."""
        parts: list[tuple[int, Step]] = []
        for product, coefficient in poly.items():
            if product is terms.one:
                number = terms.number(coefficient / scale)
                parts.append((1 if number > 0 else -1, self.steps.number(abs(number))))
            else:
                parts.append(self._product(terms, terms.number(coefficient / scale), product))
        sizes = [elements(step.shape) for _, step in parts if step.number is None]
        parts.sort(
            key=lambda part: min(sizes) if part[1].number is not None else elements(part[1].shape)
        )
        sign, done = parts[0]
        for other, step in parts[1:]:
            if other == sign:
                done = self.steps.add(done, step)
            elif sign > 0:
                done = self.steps.subtract(done, step)
            else:
                sign, done = 1, self.steps.subtract(step, done)
        return sign, done


def _is_unit(number: float) -> bool:
    return abs(number) == 1.0


def _extra(number: float, shape: Shape) -> float:
    """What it costs to apply a number where arrays have this shape."""
    if _is_unit(number):
        return 0.0
    return 1.0 + elements(shape) / 1000.0 if shape else SCALAR
