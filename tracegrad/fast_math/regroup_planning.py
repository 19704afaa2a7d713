"""Finds the cheapest steps that compute sums of products.

For every root the steps as they are written are compared with those of its form; a form wins where
it takes fewer calls or elements, and more of neither. The search looks at what is in use already,
so that a second round finds what the first made for others.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TypeAlias

from codegen.ir import Value
from codegen.keys import attributes_key
from tracegrad.fast_math.polynomial_terms import (
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
    tidy,
)
from tracegrad.fast_math.shared_steps import SCALAR, Price, Step, Steps
from tracegrad.fast_math.sum_of_products_forms import Forms, saturates
from tracegrad.ops.elementwise.ufuncs import divide

SHORT = 100
"""Blocks of up to so many calls are searched with more effort."""

SCALES = 3
"""So many ways are tried to put a number before a sum."""

READERS = 4
"""The readers of a value choose together when they are no more than this."""

EFFORT, LITTLE = 40, 12
"""So many products are looked at in the search for one value."""

WORTH = 4.0
"""What costs more than this is made once at first, not anew for each that uses it."""

Part: TypeAlias = "tuple[Step, int, Term]"
"""A factor of a product: the step, its exponent, and what the step computes."""


class Plan:
    """A step for each value of a block's arithmetic; none where what is written is as good."""

    def __init__(self, forms: Forms) -> None:
        self.forms = forms
        self._short = len(forms.calls) <= SHORT
        for greedy in (True, False):
            self.steps = Steps()
            self.step: dict[Value, Step] = {}
            self._sums: dict[tuple[Sum, float], tuple[float, Step]] = {}
            self._products: dict[tuple[float, Product], tuple[int, Step]] = {}
            self._depth = 0  # of the sum in sums that is being made
            self._left = 0
            self._made_at = 0
            self._now = 0  # counts changes
            self._changed: dict[Atom, int] = {}  # when a value made of it last changed
            self._asked: dict[tuple[Value | None, ...], int] = {}  # when these last chose
            before = self._begin(greedy)
            for _ in range(2 if self._short else 1):
                self._again()
            after = self.steps.in_use()
            self.better = after.is_below(before)
            if self.better or not (self._short or after.total < before.total):
                break

    def _begin(self, greedy: bool) -> Price:
        """The steps as written, and what they cost; greedy: at once the best for each value.

        From the steps as written the search only descends; from the others it mostly ends lower,
        but calls may have become more.
        """
        steps = self.steps
        for value in self.forms.calls:
            self.step[value] = self._as_written(value, self.step)
            if value in self.forms.demanded:
                steps.use(self.step[value])
        before = steps.in_use()
        if not greedy:
            return before
        for value in self.forms.demanded:
            steps.leave(self.step[value])
        held: list[Step] = []
        for value in self.forms.calls:
            step = self._as_written(value, self.step)
            if value in self.forms.roots:
                step = self._best(value, [step])
            self.step[value] = step
            if value in self.forms.demanded:
                steps.use(step)
            elif value in self.forms.roots and steps.cost(step).total > WORTH:
                steps.use(step)
                held.append(step)
        for step in held:
            steps.leave(step)
        return before

    # -- rounds ---------------------------------------------------------------------------------

    def _again(self) -> None:
        """Looks at each value once more: now it is known what the others use."""
        for value in self.forms.calls:
            before = self.step[value] = self.step[value].now()
            if not before.uses:
                self.step[value] = self._as_written(value, self.step)
            elif value in self.forms.roots:
                self._choose_anew((value,))
                readers = self.forms.readers.get(value, ())
                if self._short and 1 < len(readers) <= READERS:
                    self._choose_anew(readers)
                    if value not in self.forms.demanded:
                        self._choose_anew(readers, value)
        self._shared_anew()

    def _is_stale(self, key: tuple[Value | None, ...]) -> bool:
        """True when nothing that these values are made of was chosen anew since they were asked."""
        asked = self._asked.get(key, -1)
        self._asked[key] = self._now
        return all(
            self._changed.get(atom, 0) <= asked
            for value in key
            if value is not None
            for product in self.forms.forms[value]
            for atom in product.factors
        )

    def _note_change(self, value: Value) -> None:
        self._now += 1
        for product in self.forms.forms[value]:
            for atom in product.factors:
                self._changed[atom] = self._now

    def _shared_anew(self) -> None:
        """Looks once more at what several share without its being a value of the block."""
        steps, known = self.steps, set(self.step.values())
        for step in steps.shared():
            if step in known or step.uses < 2 or step.product is None or step.instead is not None:
                continue
            terms = next(t for t in self.forms.terms.values() if t.owns(step.product))
            self._start()
            steps.suspend(step)
            try:
                sign, other = self._product(terms, step.coefficient, step.product)
            except TooLong:
                sign, other = -1, step
            better = sign > 0 and steps.cost(other).is_below(steps.cost(step))
            if better and other.shape == step.shape and steps.may_replace({step: other}):
                steps.replace({step: other})
            else:
                steps.resume(step, step.suspended)
            steps.settle()

    def _choose_anew(self, values: tuple[Value, ...], kept: Value | None = None) -> None:
        """Takes other steps for these values where they cost less together.

        `kept` is a value that they may read at no cost but its own.
        """
        if self._is_stale((kept, *values)):
            return
        steps, old = self.steps, [self.step[value].now() for value in values]
        if len(set(old)) < len(old) or not all(step.uses and step.operands for step in old):
            return
        for step in reversed(old):
            steps.suspend(step)
        before = after = Price(0.0, 0.0)
        for step in old:
            before = before.plus(steps.cost(step))
            steps.use(step)
        for step in reversed(old):
            steps.leave(step)
        held = None
        if kept is not None:
            held = self.step[kept].now()
            after = steps.cost(held)
            steps.use(held)
        made: list[Step] = []
        for value, step in zip(values, old, strict=True):
            best = self._best(value, [step, self._as_written(value, self.step)])
            after = after.plus(steps.cost(best))
            steps.use(best)
            made.append(best)
        for step in reversed(made):
            steps.leave(step)
        if held is not None:
            steps.leave(held)
        others = {step: best for step, best in zip(old, made, strict=True) if best is not step}
        if not (after.is_below(before) and steps.may_replace(others)):
            others = {}
        steps.replace(others)
        for value, step in zip(values, old, strict=True):
            if step in others:
                self.step[value] = others[step]
                self._note_change(value)
            else:
                steps.resume(step, step.suspended)
        steps.settle()

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
                coefficient, product = self.forms.term(value)
            except TooLong:
                return made
            self.steps.computes(made, coefficient, product)
        return made

    def _value(self, value: Value) -> Step:
        made_by, place = self.forms.graph.producer.get(value), self.forms.place.get(value, -1)
        return self.steps.value(value, self.forms.shape(value), made_by, place)

    def _best(self, value: Value, options: list[Step]) -> Step:
        """The cheapest of these steps and those of the value's form."""
        best, price = options[0], self.steps.cost(options[0])
        others = iter(options[1:])
        if price.is_least(best.shape) and not self._divides_by_number(best):
            others = iter(())
        else:
            others = chain(others, self._options(value))
        for step in chain(self._equal(value), others):
            if step is best or step.number is not None or step.shape != best.shape:
                continue
            if step.place > self.forms.place[value]:  # of a square root, which may be the value's
                continue
            found = self.steps.cost(step)
            if found.is_below(price):
                best, price = step, found
            if price.is_least(best.shape):
                break
        return best

    def _divides_by_number(self, step: Step) -> bool:
        return step.op is divide and step.operands[1].number is not None

    def _start(self) -> None:
        """Begins a search; sums that were made since the last change are as good as then."""
        self._depth, self._left = 0, EFFORT if self._short else LITTLE
        self._products.clear()
        if self._short or self._made_at != self._now:
            self._made_at = self._now
            self._sums.clear()

    def _equal(self, value: Value) -> Iterator[Step]:
        """Steps in use that compute the value."""
        try:
            coefficient, product = self.forms.term(value)
        except TooLong:
            return
        for step in self.steps.multiples(product):
            if step.coefficient == coefficient:
                yield step

    def _options(self, value: Value) -> Iterator[Step]:
        """Other steps to a value."""
        terms, form = self.forms.of(value), self.forms.forms[value]
        for poly in (form, self._opened(terms, form)):
            if poly is None:
                continue
            self._start()
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
        """Ways to a sum: term by term, what all terms share taken out, a number alone."""
        pure = product.single() is not None
        if len(poly) > 1 and pure:
            yield self._added(terms, poly, 1.0)
        yield self._product(terms, coefficient, product)
        for scale in [] if len(poly) == 1 or pure else _scales(poly):
            sign, step = self._added(terms, poly, scale)
            yield sign, self.steps.scaled(scale, step)

    def _opened(self, terms: Terms, form: Poly) -> Poly | None:
        """The form with sums in it opened, which others read as well."""
        sums = {
            product: atom.terms
            for product in form
            if isinstance(atom := product.single(), Sum) and not saturates(terms, atom.terms)
        }
        if len(form) == 1 or not sums:
            return None
        try:
            return terms.added(
                (coefficient, sums[product]) if product in sums else (1.0, {product: coefficient})
                for product, coefficient in form.items()
            )
        except TooLong:
            return None

    # -- products -------------------------------------------------------------------------------

    def _product(self, terms: Terms, coefficient: float, product: Product) -> tuple[int, Step]:
        """A step that computes the term but for the sign, and the sign."""
        found = self._products.get((coefficient, product))
        if found is None:
            self._left -= 1
            if self._left < 0:
                raise TooLong
            found = self._new_product(terms, coefficient, product)
            self._products[coefficient, product] = found
        return found

    def _new_product(self, terms: Terms, coefficient: float, product: Product) -> tuple[int, Step]:
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
            coefficient = tidy(coefficient / part.coefficient)
            for atom, exponent in part.product.factors.items():
                factors[atom] -= exponent
                if not factors[atom]:
                    del factors[atom]
        smallest = min((atom.shape for atom in product.factors), key=elements, default=())
        for atom, exponent in factors.items():
            found = list(self._atom(terms, atom, exponent, coefficient))
            prices = [  # rounded: of equal ones the first, which applies no number
                round(
                    self.steps.cost(step).total + _extra(coefficient / scale**exponent, smallest), 6
                )
                for scale, step in found
            ]
            scale, step = found[prices.index(min(prices))]
            parts.append((step, exponent, (scale, terms.of(atom))))
            coefficient = tidy(coefficient / scale**exponent)
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
        whole: Term = (number, terms.one)
        waiting: list[Part] = []
        shapes = sorted(by_shape, key=elements)
        for shape in shapes:
            todo = waiting + by_shape[shape]
            waiting = []
            if done is None:
                start = next((i for i, part in enumerate(todo) if part[1] > 0), None)
                if start is not None:
                    step, _, term = todo.pop(start)
                    done, whole = self.steps.scaled(number, step), terms.times(whole, term)
                    self.steps.computes(done, *whole)
                elif number == 1.0 and shape != shapes[-1] and len(todo) == 1:
                    waiting = todo  # x / n sooner than (1 / n) * x
                    continue
                else:
                    done = self.steps.number(number)
            for step, exponent, term in todo:
                for _ in range(abs(exponent)):
                    if exponent > 0:
                        done, whole = self.steps.multiply(done, step), terms.times(whole, term)
                    else:
                        over = terms.inverse(term)
                        done, whole = self.steps.divide(done, step), terms.times(whole, over)
                    self.steps.computes(done, *whole)
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
        if isinstance(atom, Leaf):
            yield 1.0, (self.step.get(atom.value) or self._value(atom.value)).now()
        known = False
        for step in self.steps.multiples(terms.of(atom)):
            known = True
            yield step.coefficient, step
        match atom:
            case Bottom(inner=inner):
                yield self._product(terms, 1.0, inner)
            case Seen(inner=inner):
                for scale in dict.fromkeys((1.0, coefficient if exponent == 1 else 1.0)):
                    sign, step = self._product(terms, scale, inner)
                    yield sign * scale, self._view(terms, atom, step, sign * scale)
            case Sum(terms=of) if not known:
                scales = [1.0]
                if exponent == 1 and not _is_unit(coefficient) and _takes_numbers(terms, of):
                    scales.append(1.0 / abs(coefficient))
                for scale in dict.fromkeys(scales + ([] if self._depth else _scales(of))):
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
            polys = [atom.factored]
            if not self._depth and atom.factored is not atom.terms:
                polys.insert(0, atom.terms)
            self._depth += 1
            made = []
            for poly in polys:
                sign, step = self._added(terms, poly, scale)
                made.append((self.steps.cost(step).total, sign / scale, step))
            self._depth -= 1
            _, multiple, step = min(made, key=lambda each: each[0])
            found = multiple, step
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


def _scales(terms: Poly) -> list[float]:
    """The numbers that may be taken out of a sum: none, and those before several terms or few."""
    numbers: dict[float, int] = {}
    for product, coefficient in terms.items():
        if product.factors:
            numbers[abs(coefficient)] = numbers.get(abs(coefficient), 0) + 1
    numbers.pop(1.0, None)
    return [1.0, *sorted(numbers, key=lambda number: -numbers[number])[: SCALES - 1]]


def _takes_numbers(terms: Terms, of: Poly) -> bool:
    """True when a number before the sum costs nothing in one of its terms."""
    return any(product is terms.one or not _is_unit(c) for product, c in of.items())


def _is_unit(number: float) -> bool:
    return abs(number) == 1.0


def _extra(number: float, shape: Shape) -> float:
    """What it costs to apply a number where arrays have this shape."""
    if _is_unit(number):
        return 0.0
    return 1.0 + elements(shape) / 1000.0 if shape else SCALAR
