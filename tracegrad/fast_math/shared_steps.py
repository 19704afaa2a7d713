"""A store of operations on values that knows what is computed anyway.

A `Step` is an operation on steps; equal steps are one object. A step that is in use costs nothing
to use again, so what a form of an expression costs is what it adds to the store (`Steps.price`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from codegen.ir import Attributes, Call, Node, Op, Trait, Value
from tracegrad.fast_math.polynomial_terms import Product, Shape, TooLong, elements, joined
from tracegrad.ops.elementwise.ufuncs import add, divide, multiply, negative, subtract

SCALAR = 0.1
"""What an operation on scalars costs, where one on an array costs 1."""

WEIGHT = {"divide": 1.5, "number_power": 20.0}
"""How many elements of a sum take the time of one; square powers are products."""

SUSPENDED = 24
"""So many steps below one that is chosen anew count as its own."""

LOOKED_AT, TAKEN = 40, 6
"""Of so many steps with a factor, so many that are in use are looked at."""


class Price(NamedTuple):
    """Calls, and elements that they work on."""

    calls: float
    elements: float

    @property
    def total(self) -> float:
        return self.calls + self.elements / 1000.0

    def is_below(self, other: Price) -> bool:
        """True when something is saved and nothing is paid for it, but for a few scalars."""
        more = self.calls > other.calls + 3.5 * SCALAR or self.elements > other.elements * 1.001
        return not more and self.total < other.total - 1e-6

    def is_least(self, shape: Shape) -> bool:
        """True when nothing that makes an array of this shape anew costs less."""
        return self.calls <= 1.0 and self.elements <= WEIGHT["divide"] * elements(shape)

    def plus(self, other: Price) -> Price:
        return Price(self.calls + other.calls, self.elements + other.elements)


@dataclass(slots=True, eq=False)
class Step:
    """An operation, a value (`value`) or a number (`number`).

    `python` marks what may be a Python number at run time, which divides by 0 with an error.
    `product` times `coefficient` is what it computes, where that is known. `instead` is a cheaper
    step to the same, which was found later; `rank` is never below that of an operand. `place` is
    that of the node of the block behind which all values that it needs are made.
    """

    operands: tuple[Step, ...]
    shape: Shape
    price: Price
    op: Op | None = None
    attributes: Attributes = ()
    value: Value | None = None
    number: float | None = None
    python: bool = False
    uses: int = 0
    suspended: int = 0
    coefficient: float = 1.0
    product: Product | None = None
    instead: Step | None = None
    rank: int = 0
    place: int = -1

    def now(self) -> Step:
        """The step that stands for this one."""
        step = self
        while step.instead is not None:
            step = step.instead
        return step


FREE = Price(0.0, 0.0)


class Steps:
    """The store."""

    def __init__(self) -> None:
        self._known: dict[object, Step] = {}
        self._equal: dict[Product, list[Step]] = {}
        self._within: dict[object, list[Step]] = {}
        self._pinned: list[Step] = []

    def __len__(self) -> int:
        """How many steps were looked at."""
        return len(self._known)

    # -- making ---------------------------------------------------------------------------------

    def value(
        self, value: Value, shape: Shape, made_by: Node | None = None, place: int = -1
    ) -> Step:
        found = self._known.get(value)
        if found is None:
            python = isinstance(made_by, Call) and Trait.EXTENT in made_by.op.traits
            found = Step((), shape, FREE, value=value, python=python, place=place)
            self._known[value] = found
        return found

    def number(self, number: float) -> Step:
        key = repr(number)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Step((), (), FREE, number=number, python=True)
        return found

    def call(
        self,
        op: Op,
        operands: tuple[Step, ...],
        attributes: Attributes = (),
        key: object = (),
        shape: Shape | None = None,
    ) -> Step:
        """The step of this operation."""
        operands = order = tuple([operand.now() for operand in operands])
        if Trait.COMMUTATIVE in op.traits and id(operands[0]) > id(operands[1]):
            order = operands[::-1]
        whole = op.name, key, *map(id, order)
        found = self._known.get(whole)
        if found is None:
            if shape is None:
                shape = ()
                for operand in operands:
                    shape = joined(shape, operand.shape)
            python = all(operand.python for operand in operands)
            if op is divide:  # a number over what may be Python's is written as NumPy's
                python = False
            price = FREE if Trait.VIEW in op.traits else _price(op, attributes, shape)
            found = Step(operands, shape, price, op, attributes, python=python)
            found.rank = len(self._known)
            found.place = max(operand.place for operand in operands)
            self._known[whole] = found
        return found.now()

    def add(self, a: Step, b: Step) -> Step:
        return self.call(add, (a, b))

    def subtract(self, a: Step, b: Step) -> Step:
        return self.call(subtract, (a, b))

    def multiply(self, a: Step, b: Step) -> Step:
        return self.call(multiply, (a, b))

    def divide(self, a: Step, b: Step) -> Step:
        if a.python and a.number is None and b.python:
            raise TooLong
        return self.call(divide, (a, b))

    def scaled(self, number: float, step: Step) -> Step:
        """The step times a number."""
        if number == 1.0:
            return step
        return self.call(multiply, (self.number(number), step))

    def negated(self, step: Step) -> Step:
        """The step with the other sign, by a number or a difference in it where there is one."""
        if step.number is not None:
            return self.number(-step.number)
        plain = self.call(negative, (step,))
        if step.uses or not step.operands:
            return plain
        others: list[Step] = []
        a, *more = step.operands
        if step.op is subtract:
            others.append(self.subtract(more[0], a))
        elif step.op in (multiply, divide):
            if a.number is not None or a.op in (multiply, divide, subtract):
                others.append(self.call(step.op, (self.negated(a), more[0])))
            elif step.op is multiply and more[0].op in (multiply, divide, subtract):
                others.append(self.call(step.op, (a, self.negated(more[0]))))
        price = self.cost(plain)
        return next((other for other in others if self.cost(other).is_below(price)), plain)

    # -- what steps compute ---------------------------------------------------------------------

    def computes(self, step: Step, coefficient: float, product: Product) -> Step:
        """Notes what a step computes, so that it is found again."""
        if step.product is None and step.operands:
            step.coefficient, step.product = coefficient, product
            self._equal.setdefault(product, []).append(step)
            if sum(map(abs, product.factors.values())) > 1:
                newest = max(product.factors, key=lambda atom: atom.index)
                self._within.setdefault(newest, []).append(step)
        return step

    def multiples(self, product: Product) -> Iterator[Step]:
        """Steps in use that compute a multiple of the product, the latest ones."""
        return self._in_use(self._equal.get(product, ()))

    def parts(self, atom: object) -> Iterator[Step]:
        """Steps in use that compute a product of which this is the newest factor."""
        return self._in_use(self._within.get(atom, ()))

    def _in_use(self, steps: Sequence[Step]) -> Iterator[Step]:
        found = 0
        for step in reversed(steps[-LOOKED_AT:]):
            if step.uses:
                yield step
                found += 1
                if found == TAKEN:
                    return

    # -- use ------------------------------------------------------------------------------------

    def in_use(self) -> Price:
        """What all steps in use cost."""
        used = [step.price for step in self._known.values() if step.uses]
        return Price(sum(price.calls for price in used), sum(price.elements for price in used))

    def shared(self) -> list[Step]:
        """Operations that are used more than once."""
        return [step for step in self._known.values() if step.uses > 1 and step.operands]

    def cost(self, step: Step) -> Price:
        """What it costs to have this step besides those in use."""
        calls = work = 0.0
        seen: set[Step] = set()
        stack = [step]
        while stack:
            step = stack.pop()
            if step.instead is not None:
                step = step.now()
            if step.uses or step in seen:
                continue
            seen.add(step)
            calls += step.price.calls
            work += step.price.elements
            stack += step.operands
        return Price(calls, work)

    def use(self, step: Step) -> None:
        stack = [step]
        while stack:
            step = stack.pop()
            step.uses += 1
            if step.uses == 1:
                stack += [operand.now() for operand in step.operands]

    def replace(self, others: Mapping[Step, Step]) -> None:
        """Gives what uses steps (which were suspended) others that compute the same."""
        for step, other in others.items():
            for fresh in self._fresh(other):
                fresh.rank = min(fresh.rank, step.rank)
        for step, other in others.items():
            step.instead = other
            self.resume(other, step.suspended)

    def suspend(self, step: Step) -> None:
        """Takes a step out of use for a while, with what it alone uses; its users are unaware.

        Not more than `SUSPENDED` below it: the last result of a program uses all of it.
        """
        step.suspended, step.uses = step.uses, 0
        if not step.suspended:  # what used it was suspended before
            return
        todo = [operand.now() for operand in step.operands]
        for place, operand in enumerate(todo):  # grows: the nearest first
            operand.uses -= 1
            if not operand.uses:
                if place < SUSPENDED:
                    todo += [below.now() for below in operand.operands]
                else:
                    operand.uses = 1
                    self._pinned.append(operand)

    def settle(self) -> None:
        """Ends suspensions: what only they kept in use is left."""
        for step in self._pinned:
            self.leave(step.now())
        self._pinned.clear()

    def resume(self, step: Step, uses: int) -> None:
        if uses:
            self.use(step)
            step.uses += uses - 1

    def may_replace(self, others: Mapping[Step, Step]) -> bool:
        """True when nothing that the others stand on can stand on the steps that they replace."""
        for step, other in others.items():
            if other.place > step.place:  # of what stands on it, something may be made before
                return False
            if other.uses:
                below = [other]
            else:
                fresh = self._fresh(other)
                if any(each in others for each in fresh):
                    return False
                operands = (operand.now() for each in fresh for operand in each.operands)
                below = [operand for operand in operands if operand.uses]
            if any(each.rank >= step.rank for each in below):
                return False
        return True

    def _fresh(self, step: Step) -> list[Step]:
        """The step and those below it that are not in use."""
        found: dict[Step, None] = {}
        stack = [step]
        while stack:
            step = stack.pop()
            if not step.uses and step not in found:
                found[step] = None
                stack += [operand.now() for operand in step.operands]
        return list(found)

    def leave(self, step: Step) -> None:
        stack = [step]
        while stack:
            step = stack.pop()
            step.uses -= 1
            if not step.uses:
                stack += [operand.now() for operand in step.operands]


def _price(op: Op, attributes: Attributes, shape: Shape) -> Price:
    if not shape:
        return Price(SCALAR, 0.0)
    weight = WEIGHT.get(op.name, 1.0)
    calls = 1.0
    if op.name == "number_power":
        if dict(attributes)["exponent"] == 2:
            weight = 1.0
        else:
            calls = 2.5  # such a call takes as long as several on few elements
    return Price(calls, weight * elements(shape))
