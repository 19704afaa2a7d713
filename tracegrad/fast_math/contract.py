"""A graph enters; sums of products leave as the products that BLAS has for them.

What is added up is taken apart into factors and numbers, through the views, products, quotients and
signs that nobody else reads. Factors without the axes that are summed go out of the sum, sums come
before products, and what is left is contracted: to products of vectors, of matrices, of batches of
them. A sum of such terms is a sum of their sums; a difference is not taken apart, for what cancels
element by element would cancel behind two long sums.

Before::                                   After::

    graph f(a: float64[n0],                    graph f(a: float64[n0],
            x: float64[n0, n1]) {                      x: float64[n0, n1]) {
      %b = expand_dims(%a, axis=1)               %value = matmul(%a, %x)
      %c = multiply(%b, %x)                      return %value
      %value = sum(%c, axis=0)                 }
      return %value
    }

The lengths are not known, so an array with more axes counts as larger than any with fewer: a sum
is rewritten where what it saves on the largest arrays is more than what it costs there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from codegen.ir import Call, Graph, Op, Value, dims_of, ends, walk
from codegen.passes.client import NO_CLIENT, Client
from codegen.passes.lifetime import in_c_order
from codegen.rewrite import Rewriter, sweep
from codegen.sizes import Dim
from codegen.types import weak
from tracegrad.fast_math.network import TIMES, Labels, Part, Planner, Step, Writer, size_of
from tracegrad.fast_math.products import rows_sum
from tracegrad.ops import creation, elementwise, linear, powers, reductions, shape
from tracegrad.ops.rules import axes_of

FLOATS = ("float32", "float64")

VIEWS = frozenset({shape.expand_axes, shape.transpose_axes, shape.broadcast_to_shape})

DISSOLVED = VIEWS | {
    elementwise.multiply,
    elementwise.divide,
    elementwise.negative,
    elementwise.add,
    powers.number_power,
    linear.matmul,
}
"""Ops that sums see through."""

ROUNDS = 6
"""So often sums are planned anew when it is known what the others read."""

MOST = 24
"""So many ops a sum sees through at most."""

SLOWER = 1.2
"""What half of the work on large arrays may cost on small ones."""


def contract(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Sums of products as products."""
    sums = _Sums(graph)
    plans = sums.plans
    stands: dict[Value, Value] = {}
    ordered = _in_order(graph)

    def rewritten(r: Rewriter, call: Call) -> Value | None:
        if call.op is not reductions.sum_over:
            return None
        plan = plans.get(call.results[0])
        if plan is None:
            found = _first_axis(r, call)
            if found is not None:
                stands[call.results[0]] = found
            return found

        def now(value: Value) -> Value:
            return r.current(stands.get(value, value))

        value = _written(r, plan, now, lambda v: v in ordered)
        if call.attribute("keepdims"):
            axes = axes_of(call.attribute("axis"), call.operands[0].type.ndim)
            value = r.emit(shape.expand_axes, value, axis=shape.one_or_many(axes))
        stands[call.results[0]] = value
        return value

    return sweep(graph, Rewriter(graph, (rewritten,)))


def _in_order(graph: Graph) -> set[Value]:
    """The values that are in C order whatever order the inputs have."""
    ordered: set[Value] = set()
    for node in walk(graph.nodes):
        if isinstance(node, Call) and in_c_order(graph, node, ordered):
            ordered.update(node.results)
    return ordered


def _first_axis(r: Rewriter, call: Call) -> Value | None:
    """A sum over the first axis of several."""
    x = call.operands[0]
    if call.attribute("axis") != 0 or x.type.ndim < 2 or x.type.dtype not in FLOATS:
        return None
    total = r.emit(rows_sum, x)
    return r.emit(shape.expand_axes, total, axis=0) if call.attribute("keepdims") else total


# -- terms --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Factor:
    """A value, or one over it, whose axes have these labels (None: of length 1)."""

    value: Value
    labels: tuple[int | None, ...]
    inverse: bool = False


@dataclass
class Term:
    """A product: of a number, of numbers that the program computes, and of factors."""

    number: float = 1.0
    factors: list[Factor] = field(default_factory=list)
    divisors: list[Factor] = field(default_factory=list)
    lengths: list[Dim] = field(default_factory=list)
    over: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class TermPlan:
    """A term, the labels of its parts and the steps that contract them."""

    term: Term
    parts: tuple[Factor, ...]
    labels: tuple[Labels, ...]
    steps: tuple[Step, ...]
    dims: Mapping[int, Dim]


@dataclass(frozen=True)
class Plan:
    """The terms of a sum, the elements that they work on, and their time on a few elements."""

    terms: tuple[TermPlan, ...]
    out: Labels
    cost: float
    time: float


class _Sums:
    """Finds the sums of a graph that are better contracted, and how."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sums = [n for n in walk(graph.nodes) if isinstance(n, Call) and _is_sum(n)]
        kept = {value for end in ends(graph.block) for value in end.outputs}
        self.plans: dict[Value, Plan] = {}
        for _ in range(ROUNDS if self.sums else 0):
            self.free = self._unread(kept)
            self.plans = {}
            for call in self.sums:
                plan = self._plan(call)
                if plan is not None:
                    self.plans[call.results[0]] = plan
            more = set(self._read()) - kept
            if not more & self.free:
                break
            kept |= more

    def _unread(self, kept: set[Value]) -> set[Value]:
        """The values that only sums read, if all are contracted, through ops that they see."""
        sums = {node.results[0] for node in self.sums}
        free: set[Value] = set()
        for node in reversed(list(walk(self.graph.nodes))):
            if not isinstance(node, Call) or node.op not in DISSOLVED:
                continue
            result = node.results[0]
            users = self.graph.users.get(result, ())
            seen = all(
                isinstance(user, Call)
                and (user.results[0] in sums or user.results[0] in free)
                and not (user.op is elementwise.divide and user.operands[1] is result)
                for user in users
            )
            if users and seen and result not in kept:
                free.add(result)
        return free

    def _read(self) -> Iterator[Value]:
        """What the sums read as they are planned now."""
        for call in self.sums:
            plan = self.plans.get(call.results[0])
            if plan is None:
                yield call.operands[0]
                continue
            for term in plan.terms:
                yield from (factor.value for factor in (*term.parts, *term.term.divisors))

    # -- one sum --------------------------------------------------------------------------------

    def _plan(self, call: Call) -> Plan | None:
        x = call.operands[0]
        dims = dict(enumerate(dims_of(self.graph.sizes, x.type)))
        summed = axes_of(call.attribute("axis"), x.type.ndim)
        out = tuple(i for i in dims if i not in summed)
        if any(dims[i] == 1 for i in dims):
            return None
        best: Plan | None = None
        saved = 0.0
        for split, deep in product((True, False), (True, False)):
            finder = _Terms(self, dims, summed, split, deep)
            terms = finder.terms(x, tuple(dims))
            plan = finder.plan(terms, out)
            if plan is None:
                continue
            cost, time = finder.before(x)
            most = time * (SLOWER if 2 * plan.cost <= cost else 1.0)
            if cost - plan.cost > saved and plan.time <= most:
                best, saved = plan, cost - plan.cost
        return best


def _is_sum(node: Call) -> bool:
    if node.op is not reductions.sum_over:
        return False
    x = node.operands[0].type
    return x.dtype in FLOATS and bool(x.shape) and node.attribute("axis") != ()


def _is_double(node: Call) -> bool:
    return node.operands[0] is node.operands[1]


def _is_square(node: Call) -> bool:
    """Whether a call multiplies a value by itself."""
    if node.op is powers.number_power:
        return bool(node.attribute("exponent") == 2)
    return node.op is elementwise.multiply and _is_double(node)


class _Terms:
    """Takes apart what a sum adds up."""

    def __init__(
        self,
        sums: _Sums,
        dims: dict[int, Dim],
        summed: tuple[int, ...],
        split: bool,
        deep: bool,
    ) -> None:
        self.sums, self.graph = sums, sums.graph
        self.dims = dict(dims)
        self.summed = summed
        self.split = split  # sums of terms are taken apart
        self.deep = deep  # and factors with fewer axes
        self.ndim = len(dims)
        self.through: dict[Value, None] = {}

    def node(self, value: Value) -> Call | None:
        node = self.graph.producer.get(value)
        return node if isinstance(node, Call) else None

    def terms(self, value: Value, labels: tuple[int | None, ...]) -> list[Term]:
        """The terms whose sum the value is."""
        node = self.node(value)
        free = self.split and len(self.through) <= MOST and value in self.sums.free
        if node is not None and free and node.op is elementwise.add and not _is_double(node):
            self.through[value] = None
            return [
                term
                for operand in node.operands
                for term in self.terms(operand, self._labels_of(operand, labels))
            ]
        term = Term()
        self._take(value, labels, term, False)
        return self._inside(term)

    def _inside(self, term: Term) -> list[Term]:
        """The terms of a number times a sum."""
        if not self.split or len(term.factors) != 1 or term.factors[0].inverse:
            return [term]
        factor = term.factors[0]
        node = self.node(factor.value)
        again = node is not None and node.op is elementwise.add and factor.value in self.sums.free
        if not again:
            return [term]
        inner = self.terms(factor.value, factor.labels)
        for one in inner:
            one.number *= term.number
            one.divisors += term.divisors
        return inner

    def _labels_of(self, operand: Value, labels: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """The labels of an operand that broadcasts to these."""
        dims = dims_of(self.graph.sizes, operand.type)
        mine = labels[len(labels) - len(dims) :]
        return tuple(None if dim == 1 else label for dim, label in zip(dims, mine, strict=True))

    def _take(
        self, value: Value, labels: tuple[int | None, ...], term: Term, inverse: bool
    ) -> None:
        """Adds the factors of a value to a term."""
        node = self.node(value)
        constant = self.graph.constant(value)
        if constant is not None and isinstance(constant.value, int | float):
            number = float(constant.value)
            if inverse:
                term.divisors.append(Factor(value, ()))
            else:
                term.number *= number
            return
        if node is None or not self._passes(node, value, inverse):
            if value.type.ndim == 0 and inverse:
                term.divisors.append(Factor(value, ()))
            else:
                term.factors.append(Factor(value, labels, inverse))
            return
        self.through[value] = None
        operands = node.operands
        if node.op is elementwise.negative:
            term.number = -term.number
            self._take(operands[0], labels, term, inverse)
        elif node.op is elementwise.add:
            term.number *= 2.0
            self._take(operands[0], labels, term, inverse)
        elif _is_square(node):
            self._take_square(operands[0], self._labels_of(operands[0], labels), term)
        elif node.op in (elementwise.multiply, elementwise.divide):
            for position, operand in enumerate(operands):
                below = node.op is elementwise.divide and position == 1
                self._take(operand, self._labels_of(operand, labels), term, inverse or below)
        elif node.op is shape.expand_axes:
            axes = axes_of(node.attribute("axis"), 0)
            kept = tuple(label for i, label in enumerate(labels) if i not in axes)
            self._take(operands[0], kept, term, inverse)
        elif node.op is shape.broadcast_to_shape:
            self._take(operands[0], self._labels_of(operands[0], labels), term, inverse)
        elif node.op is shape.transpose_axes:
            order = node.attribute("axes") or tuple(reversed(range(len(labels))))
            turned = tuple(labels[order.index(i)] for i in range(len(labels)))
            self._take(operands[0], turned, term, inverse)
        else:
            self._take_product(node, labels, term)

    def _take_square(self, value: Value, labels: tuple[int | None, ...], term: Term) -> None:
        """A value times itself, which stays whole where it is more than a number times another."""
        before = dict(self.through)
        root = Term()
        self._take(value, labels, root, False)
        if len(root.factors) == 1 and not root.over:
            term.number *= root.number**2
            term.factors += root.factors * 2
            term.divisors += root.divisors * 2
        else:
            self.through = before
            term.factors += [Factor(value, labels)] * 2

    def _take_product(self, node: Call, labels: tuple[int | None, ...], term: Term) -> None:
        """A matrix product: a sum over a label of its own."""
        a, b = node.operands
        label = len(self.dims) + 1000
        self.dims[label] = dims_of(self.graph.sizes, a.type)[-1]
        term.over.append(label)
        row = labels[-2] if b.type.ndim > 1 else labels[-1]
        column = labels[-1] if b.type.ndim > 1 else None
        batch = labels[: len(labels) - (a.type.ndim > 1) - (b.type.ndim > 1)]
        for operand, last in ((a, (row, label)), (b, (label, column))):
            mine = last if operand.type.ndim > 1 else (label,)
            outer = dims_of(self.graph.sizes, operand.type)[: operand.type.ndim - len(mine)]
            of_batch = batch[len(batch) - len(outer) :]
            kept = tuple(None if d == 1 else x for d, x in zip(outer, of_batch, strict=True))
            self._take(operand, (*kept, *mine), term, False)

    def _passes(self, node: Call, value: Value, inverse: bool) -> bool:
        """Whether a sum sees through the call that makes a value."""
        if len(self.through) > MOST:
            return False
        if node.op in VIEWS:
            return True
        if inverse or value not in self.sums.free:
            return False
        if not self.deep and 0 < value.type.ndim < self.ndim:
            return False
        if node.op is elementwise.add:
            return _is_double(node)
        if node.op is linear.matmul:
            return self._sums_out(node)
        if node.op is powers.number_power:
            return _is_square(node)
        dtype = value.type.dtype
        return all(v.type.dtype == dtype or v.type.weak for v in node.operands)

    def _sums_out(self, node: Call) -> bool:
        """Whether a sum over rows or columns of a product is planned from matrices."""
        a, b = node.operands
        dtype = node.results[0].type.dtype
        same = a.type.dtype == b.type.dtype == dtype
        return same and a.type.ndim > 1 and b.type.ndim > 1

    # -- plans ----------------------------------------------------------------------------------

    def plan(self, terms: list[Term], out: Labels) -> Plan | None:
        """The steps of all terms, None where one has no good order."""
        planned: list[TermPlan] = []
        between = 1.0 if out else TIMES["number"]
        cost, time = 0.0, (len(terms) - 1) * between
        sums: set[tuple[Value, Labels]] = set()
        for term in terms:
            found = self._plan_of(term, out)
            if found is None:
                return None
            one, its_cost, its_time = found
            planned.append(one)
            cost += its_cost
            time += its_time
            for step in one.steps:  # what terms have in common is computed once
                if step.kind == "summed" and step.parts[0] < len(one.parts):
                    part = one.parts[step.parts[0]].value
                    time -= TIMES["summed"] * ((part, step.over) in sums)
                    sums.add((part, step.over))
        cost += (len(terms) - 1) * size_of(self.dims, out)
        return Plan(tuple(planned), out, cost, time)

    def _plan_of(self, term: Term, out: Labels) -> tuple[TermPlan, float, float] | None:
        factors = [f for f in term.factors if any(label is not None for label in f.labels)]
        scalars = [f for f in term.factors if f not in factors]
        divisors = list(term.divisors)
        parts: list[Factor] = []
        extra = 0.0
        for factor in factors:
            labels = [label for label in factor.labels if label is not None]
            if factor.inverse and not self._is_summed(labels):
                divisors.append(factor)
            else:
                parts.append(factor)
                extra += size_of(self.dims, labels) if factor.inverse else 0.0
        if not parts:
            return None
        labels_of = [tuple(x for x in f.labels if x is not None) for f in parts]
        if any(len(set(labels)) != len(labels) for labels in labels_of):
            return None
        present = {label for labels in labels_of for label in labels}
        kept = {label for f in divisors for label in f.labels if label is not None}
        if set(out) - present - kept:
            return None
        lengths = [self.dims[label] for label in self.summed if label not in present]
        inner = tuple(label for label in out if label in present)
        planner = Planner(self.dims, inner, list(labels_of), self._known(parts))
        steps = planner.plan()
        if steps is None:
            return None
        ended = Term(term.number, scalars, divisors, lengths)
        rest = len(scalars) + len(divisors) + len(lengths) + (abs(term.number) != 1.0)
        rest += term.number == -1.0
        cost = planner.cost() + extra + rest * size_of(self.dims, out)
        time = planner.time() + rest * (1.0 if out else TIMES["number"])
        time += sum(f.inverse for f in parts)
        plan = TermPlan(ended, tuple(parts), tuple(labels_of), tuple(steps), dict(self.dims))
        return plan, cost, time

    def _is_summed(self, labels: list[int]) -> bool:
        return any(label in self.summed or label >= 1000 for label in labels)

    def _known(self, parts: list[Factor]) -> Callable[[int, int], bool]:
        """Whether the graph has the matrix product whose diagonal a sum of products is."""

        def known(i: int, j: int) -> bool:
            if max(i, j) >= len(parts) or parts[i].inverse or parts[j].inverse:
                return False
            p, q = parts[i], parts[j]
            return None not in (*p.labels, *q.labels) and self._is_multiplied(p.value, q.value)

        return known

    def _is_multiplied(self, p: Value, q: Value) -> bool:
        """Whether p.mT @ q is there."""
        ndim = p.type.ndim
        last = (*range(ndim - 2), ndim - 1, ndim - 2)
        for turned in self._calls_on(p, shape.transpose_axes):
            if (turned.attribute("axes") or (1, 0)) == last:
                for product in self._calls_on(turned.results[0], linear.matmul):
                    if product.operands == (turned.results[0], q):
                        return True
        return False

    def _calls_on(self, value: Value, op: Op) -> Iterator[Call]:
        users = self.graph.users.get(value, ())
        return (user for user in users if isinstance(user, Call) and user.op is op)

    def before(self, x: Value) -> tuple[float, float]:
        """What the sum costs as it is, with what nobody else reads."""
        sizes = self.graph.sizes
        cost = _elements(dims_of(sizes, x.type))
        time = TIMES["summed"]
        for value in self.through:
            node = self.node(value)
            assert node is not None
            if node.op in VIEWS or value not in self.sums.free:
                continue
            dims = dims_of(sizes, value.type)
            if node.op is linear.matmul:
                dims = (*dims, dims_of(sizes, node.operands[0].type)[-1])
            cost += _elements(dims) / max(1, len(self.graph.users[value]))
            time += TIMES["matrices"] if node.op is linear.matmul else 1.0
        return cost, time


def _elements(dims: tuple[Dim, ...]) -> float:
    return size_of(dict(enumerate(dims)), range(len(dims)))


# -- writing ------------------------------------------------------------------------------------


def _written(
    r: Rewriter, plan: Plan, now: Callable[[Value], Value], ordered: Callable[[Value], bool]
) -> Value:
    """A plan as calls."""
    total: Value | None = None
    whole = all(term.term.number < 0 for term in plan.terms)
    for term in plan.terms:
        value = _term(r, term, plan.out, now, ordered)
        sign = term.term.number < 0 and not whole
        if total is None:
            total = r.emit(elementwise.negative, value) if sign else value
        else:
            total = r.emit(elementwise.subtract if sign else elementwise.add, total, value)
    assert total is not None
    return r.emit(elementwise.negative, total) if whole else total


def _term(
    r: Rewriter,
    plan: TermPlan,
    out: Labels,
    now: Callable[[Value], Value],
    ordered: Callable[[Value], bool],
) -> Value:
    """A term without its sign."""
    writer = Writer(r, plan.dims, ordered)
    parts = [Part(_part(r, f, now), labels) for f, labels in zip(plan.parts, plan.labels)]
    present = {label for labels in plan.labels for label in labels}
    inner = tuple(label for label in out if label in present)
    value = writer.run(parts, plan.steps, inner)
    for factor in plan.term.factors:
        value = r.emit(elementwise.multiply, _scalar(r, now(factor.value)), value)
    for length in plan.term.lengths:
        n = r.emit(creation.extent, size=length, dtype=value.type.dtype)
        value = r.emit(elementwise.multiply, n, value)
    if abs(plan.term.number) != 1.0:
        number = r.make_number(abs(plan.term.number), weak("float"))
        value = r.emit(elementwise.multiply, number, value)
    for factor in plan.term.divisors:
        labels = tuple(label for label in factor.labels if label is not None)
        below = _squeezed(r, now(factor.value), factor.labels) if labels else now(factor.value)
        if labels:
            below = writer.beside(Part(below, labels), out)
        value = r.emit(elementwise.divide, value, below)
    return value


def _part(r: Rewriter, factor: Factor, now: Callable[[Value], Value]) -> Value:
    """A factor without the axes that have no label."""
    value = _squeezed(r, now(factor.value), factor.labels)
    if not factor.inverse:
        return value
    return r.emit(elementwise.divide, r.make_number(1.0, weak("float")), value)


def _squeezed(r: Rewriter, value: Value, labels: tuple[int | None, ...]) -> Value:
    axes = tuple(i for i, label in enumerate(labels) if label is None)
    return r.emit(shape.squeeze_axes, value, axis=shape.one_or_many(axes)) if axes else value


def _scalar(r: Rewriter, value: Value) -> Value:
    """What has axes of length 1 alone, without them."""
    if not value.type.ndim:
        return value
    return r.emit(shape.reshape_to, value, shape=())
