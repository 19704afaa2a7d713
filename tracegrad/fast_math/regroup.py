"""Puts float arithmetic in a form that takes fewer operations: ``0.5 / v * d * 2.0`` is ``d / v``.

What additions, products, quotients, signs and small powers compute is read as a number times a
product of values and sums. It is written with common factors taken out of sums (Horner's rule) and
numbers applied once, to small arrays, if that takes fewer calls or elements, and more of neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from math import frexp, inf, isfinite, prod
from typing import Any, SupportsFloat, TypeAlias

from codegen.ir import Block, Call, Graph, Node, Op, Trait, Value, dims_of, inner_blocks
from codegen.passes.client import NO_CLIENT, Client
from codegen.passes.dce import dce
from codegen.rewrite import Rewriter, sweep
from codegen.sizes import guessed
from codegen.types import weak
from tracegrad.ops.elementwise.powers import number_power
from tracegrad.ops.elementwise.ufuncs import add, divide, multiply, negative, square, subtract

Product: TypeAlias = "tuple[tuple[int, int], ...]"  # factors, which have numbers, and exponents
Term: TypeAlias = "tuple[float, Product]"
Sum: TypeAlias = "dict[Product, float]"

ONE: Product = ()
OPS: set[Op] = {add, subtract, multiply, divide, negative, square, number_power}
SMALL = 2.0**-10  # beside another number: 1 - t + 1e-12 stays so, that is what keeps it from 0
TERMS, FACTORS, DEPTH, LATEST = 12, 8, 4, 40  # beyond these nothing is read: work stays linear


class NoTermError(Exception):
    """The arithmetic is not read, or not written in another form."""


def regroup(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Rewrites the arithmetic of each block."""
    graph = dce(graph, client)  # what nobody reads would count as a reader
    terms, blocks = _Terms(graph), [graph.block]
    for block in blocks:
        blocks += [inner for node in block.nodes for inner in inner_blocks(node)]
        terms.whole.update(block.outputs)
    roots = {value: root for block in blocks for value, root in terms.read(block).items()}
    return dce(sweep(graph, Rewriter(graph, (_Writer(terms, roots),))), client)


class _Terms:
    """What values are, each as one term.

    Sums are factors, scaled so that equal ones are one. Products are not multiplied out: nothing
    grows. What divides is no product: ``x / (y * z)`` may overflow where ``x / y / z`` does not.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.of: dict[Value, Term] = {}
        self.factors: list[Value | Sum] = []
        self.whole: set[Value] = set()  # what is computed as it is
        self._numbers: dict[object, int] = {}
        self._depths: list[int] = []
        self._closed: set[int] = set()  # sums that others do not take apart
        self._python: set[Value] = set()  # maybe Python's numbers, which raise divided by 0

    def read(self, block: Block) -> dict[Value, Value]:
        """What the values of a block are parts of: those that only one other is made of."""
        before, self.of, users = self.of, {}, self.graph.users
        roots: dict[Value, Value] = {}
        for call in [node for node in block.nodes if isinstance(node, Call)]:
            numbers = [x in self._python or self.graph.constant(x) for x in call.operands]
            python = call.op in OPS and all(numbers) and self._python.intersection(call.operands)
            if python or Trait.EXTENT in call.op.traits:
                self._python.add(call.results[0])
            elif call.op in OPS and call.results[0].type.dtype in ("float32", "float64"):
                with suppress(NoTermError):
                    self.of[call.results[0]] = self._term(call)
        for value in reversed(self.of):
            tops = {roots.get(u.results[0]) if u.results else None for u in users.get(value, ())}
            alone = len(tops) == 1 and value not in self.whole
            roots[value] = (tops.pop() if alone else None) or value
        self.of |= before
        return roots

    def _term(self, call: Call) -> Term:
        terms = [self._operand(value, call.results[0].type.dtype) for value in call.operands]
        if call.op is add or call.op is subtract:
            first, (number, product) = terms
            return self.added([first, (number if call.op is add else -number, product)], True)
        total = (-1.0 if call.op is negative else 1.0), ONE
        power = call.attribute("exponent") if call.op is number_power else 1 + (call.op is square)
        exponents = (1, -1 if call.op is divide else 1) if len(terms) > 1 else (power,)
        for value, (number, product), exponent in zip(call.operands, terms, exponents, strict=True):
            if exponent not in (-3, -2, -1, 1, 2, 3, 4):
                raise NoTermError
            sign = 1 if exponent > 0 else -1
            if sign < 0 and sum(max(e, 0) for _, e in product) > 1:
                self.whole.add(value)
                number, product = 1.0, self.factor(value)
            for _ in range(abs(int(exponent))):
                total = safe(total[0] * safe(number) ** sign), times(total[1], product, sign)
        return total

    def _operand(self, value: Value, dtype: str) -> Term:
        constant, alike = self.graph.constant(value), value.type.dtype == dtype
        if constant and isinstance(constant.value, SupportsFloat) and (alike or value.type.weak):
            return float(constant.value), ONE
        if not alike or value.type.weak or value in self._python:
            raise NoTermError
        return self.of.get(value) or (1.0, self.factor(value))

    def factor(self, what: Value | Sum) -> Product:
        terms = what if isinstance(what, dict) else {}
        number = self._numbers.setdefault(tuple(sorted(terms.items())) or what, len(self.factors))
        if number == len(self.factors):
            self.factors.append(what)
            inner = [self._depths[f] + 1 for product in terms for f, _ in product]
            self._depths.append(max(inner, default=0))
        if self._depths[number] > DEPTH:
            raise NoTermError
        return ((number, 1),)

    def added(self, terms: Iterable[Term], as_written: bool = False) -> Term:
        """The sum: what all terms share, times the rest as a factor."""
        total = collected(self._opened(list(terms)))
        (first, number), *others = total.items()
        if not others:
            return number, first
        powers = [(f, [dict(product).get(f, 0) for product in total]) for f, _ in first]
        shared = tuple([(f, min(e, key=abs)) for f, e in powers if min(e) > 0 or max(e) < 0])
        if shared:
            number, whole = self.added([(c, times(p, shared, -1)) for p, c in total.items()])
            return number, times(shared, whole)
        whole = self.factor({product: safe(c / number) for product, c in total.items()})
        if as_written and ONE in total:  # 1 - t * t, maybe near 0, stays as exact as it is
            self._closed.add(whole[0][0])
        return number, whole

    def _opened(self, terms: list[Term]) -> Iterator[Term]:
        """The terms, with those of sums among them."""
        numbers = [abs(number) for number, product in terms if product == ONE]
        least = min(numbers, default=inf) if len(numbers) == len(terms) - 1 else 0.0
        for number, product in terms:
            factor = product[0][0] if len(product) == 1 == product[0][1] else None
            what = product if factor is None else self.factors[factor]
            if isinstance(what, dict) and (
                factor not in self._closed or least > SMALL * abs(number * what[ONE])
            ):
                yield from [(number * c, inner) for inner, c in what.items()]
            else:
                yield number, product

    def factored(self, terms: Sum) -> Sum:
        """The sum with what several terms share taken out of them, the most frequent first."""
        while True:
            having: dict[tuple[int, bool], list[Product]] = {}
            for product, (factor, exponent) in [(p, power) for p in terms for power in p]:
                having.setdefault((factor, exponent > 0), []).append(product)
            group = max(having.values(), key=len, default=[])
            if len(group) < 2:
                return terms
            put = {group[0]: self.added((terms[product], product) for product in group)}
            terms = collected(put.get(p, (c, p)) for p, c in terms.items() if p not in group[1:])


class _Writer:
    """A rule that writes terms with what is computed anyway."""

    def __init__(self, terms: _Terms, roots: dict[Value, Value]) -> None:
        self.terms, self.sizes, self._roots = terms, terms.graph.sizes, roots
        self._parts: dict[Value, list[Call]] = {}
        self._now: dict[Value, Value] = {}  # what stands for values

    def __call__(self, r: Rewriter, call: Call) -> Value | None:
        value, start = call.results[0], len(r.nodes)
        (calls := self._parts.setdefault(self._roots.get(value, value), [])).append(call)
        if self._roots.get(value) is not value or not self.terms.of[value][1]:
            return None
        self._r, self._made = r, dict[int, tuple[float, Any]]()
        try:
            sign, found = self._product(*self.terms.of[value])
            found = self._emit(negative, found) if sign < 0 else found
            cost, before = self._cost(r.nodes[start:]), self._cost(calls)
            worse = cost == before or cost[0] > before[0] or cost[1] > before[1]
            if worse or dims_of(self.sizes, found.type) != dims_of(self.sizes, value.type):
                raise NoTermError
            self._now[value], calls = found, [call]
        except NoTermError:
            del r.nodes[start:]
        for made in [each.results[0] for each in calls]:
            for newest, _ in self.terms.of[made][1][-1:]:
                known = *self.terms.of[made], self._now.get(made, made)
                r.learn(newest, (*r.facts.get(newest, ())[-LATEST:], known))
        return self._now.get(value)

    def _cost(self, nodes: Sequence[Node]) -> tuple[int, int]:
        """What calls cost beside elements, and these."""
        calls = elements = 0
        for call in [node for node in nodes if isinstance(node, Call)]:
            power = call.op is number_power and call.attribute("exponent") != 2
            each, weight = (25, 40) if power else (10, 3 if call.op is divide else 2)
            calls += each if call.results[0].type.shape else 1
            elements += weight * self._size(call.results[0])
        return calls, elements

    def _size(self, value: Value | float) -> int:
        dims = dims_of(self.sizes, value.type) if isinstance(value, Value) else (0,)
        return prod(guessed(dim, 100) for dim in dims)

    def _emit(self, op: Op, *of: Value | float) -> Value:
        number, float_ = self._r.make_number, weak("float")
        return self._r.emit(op, *[number(x, float_) if isinstance(x, float) else x for x in of])

    def _part(self, number: float, product: Product) -> tuple[float, Product, Value] | None:
        """What is known and saves most of so many times a product."""
        best, most, of = None, 3 + 2 * (abs(number) == 1.0), dict(product)
        for known in [k for factor in of for k in self._r.facts.get(factor, ())]:
            if all(0 < e <= of.get(f, 0) or of.get(f, 0) <= e < 0 for f, e in known[1]):
                sums = [abs(e) * (1 + isinstance(self.terms.factors[f], dict)) for f, e in known[1]]
                ratio = number / known[0]  # sooner 1, and positive
                saved = 2 * (sum(sums) + (abs(ratio) == 1.0)) + (ratio > 0.0)
                if saved > most:
                    best, most = known, saved
        return best

    def _product(self, number: float, product: Product) -> tuple[int, Any]:
        """A sign, and the value or number that it stands before: so many times a product."""
        parts: list[tuple[Value, int]] = []
        while (known := self._part(number, product)) is not None:
            number, product = safe(number / known[0]), times(product, known[1], -1)
            parts.append((known[2], 1))
        for factor, exponent in product:
            k, value = self._factor(factor, number**exponent if abs(exponent) == 1 else 1.0)
            number = safe(number / k**exponent)
            while exponent > 2 and exponent % 2 == 0:
                value, exponent = self._emit(multiply, value, value), exponent // 2
            parts.append((value, exponent))
        done: Value | float = 1.0 if number == -1.0 else number
        first = next((part for part in parts if part[1] > 0), None) if done == 1.0 else None
        parts.sort(key=lambda part: (part is not first, self._size(part[0]), part[1] < 0))
        for value, exponent in [part for part in parts for _ in range(abs(part[1]))]:
            op = multiply if exponent > 0 else divide
            done = value if done == 1.0 and exponent > 0 else self._emit(op, done, value)
        return (-1 if number == -1.0 else 1), done

    def _factor(self, factor: int, number: float) -> tuple[float, Value]:
        """A value, and how many times a factor it is that a number stands before."""
        what = self.terms.factors[factor]
        if isinstance(what, Value):
            return 1.0, self._now.get(what, what)
        if factor not in self._made:
            terms = self.terms.factored(what)
            _, scale = self._scale(terms, number)
            parts = [(c, *self._product(safe(abs(c) / scale), p)) for p, c in terms.items()]
            parts.sort(key=lambda part: (part[0] * part[1] < 0.0, self._size(part[2])))
            (c, sign, done), *others = parts
            if c * sign < 0.0:
                raise NoTermError
            for c, sign, value in others:
                done = self._emit(add if c * sign > 0.0 else subtract, done, value)
            self._made[factor] = 1.0 / scale, done
        return self._made[factor]

    def _scale(self, terms: Sum, outer: float, deep: bool = True) -> tuple[int, float]:
        """How few numbers may stand in a sum and before it, and what it is divided by then."""
        found, factors = [], self.terms.factors
        for scale in (1.0, safe(1.0 / abs(outer)), *map(abs, terms.values())):
            count = int(abs(safe(outer * scale)) != 1.0)
            for product, c in [(p, safe(c / scale)) for p, c in terms.items() if p]:
                inner = [factors[f] for f, e in product if e == 1 and deep]
                sums = [each for each in inner if isinstance(each, dict)]
                more = [self._scale(s, c, False)[0] - self._scale(s, 1.0, False)[0] for s in sums]
                count += min(more, default=1) if abs(c) != 1.0 else 0
            found.append((count, scale))
        return min(found, key=lambda each: each[0])


def times(a: Product, b: Product, sign: int = 1) -> Product:
    """The product of two, or with the sign -1 their quotient."""
    exponents = dict(a)
    for factor, exponent in b:
        exponents[factor] = exponents.get(factor, 0) + sign * exponent
    if sum(map(abs, exponents.values())) > FACTORS:
        raise NoTermError
    return tuple(sorted((factor, e) for factor, e in exponents.items() if e))


def collected(terms: Iterable[Term]) -> Sum:
    """The sum of terms, with like terms added up."""
    total: Sum = {}
    for number, product in terms:
        total[product] = total.get(product, 0.0) + number
    total = {product: safe(c) for product, c in total.items() if c}
    if not 0 < len(total) <= TERMS:
        raise NoTermError
    return total


def safe(number: float) -> float:
    """The number, tidy (0.3 / 0.1 is 3), if products with it do not overflow."""
    if not isfinite(number) or not number or abs(frexp(number)[1]) > 60:
        raise NoTermError
    short = float(f"{number:.12g}")
    return short if abs(short - number) <= 4e-16 * abs(number) else number
