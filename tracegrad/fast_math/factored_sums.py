"""Takes the sums of a graph apart into factors, and plans those that are better contracted.

A sum is one of terms, a term a product: of a number, of what has no axes, and of factors whose axes
have labels (`contraction_order`). A plan tells how each term is contracted, and what the sum costs
so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from codegen.ir import Call, Graph, Op, Value, dims_of, ends
from codegen.sizes import Dim
from tracegrad.fast_math.contraction_order import TIMES, Labels, Planner, Step, size_of
from tracegrad.fast_math.empty_lengths import is_extent, names_of, reads_length, share
from tracegrad.ops.elementwise import powers, ufuncs
from tracegrad.ops.linear_algebra import contractions
from tracegrad.ops.reductions import sums_and_extremes
from tracegrad.ops.shape import reshaping
from tracegrad.ops.type_rules import axes_of

FLOATS = ("float32", "float64")

TURNED = frozenset({reshaping.expand_axes, reshaping.transpose_axes})
REPEATED = frozenset({reshaping.broadcast_to_shape, reshaping.spread})
VIEWS = TURNED | REPEATED

DISSOLVED = VIEWS | {
    ufuncs.multiply,
    ufuncs.divide,
    ufuncs.negative,
    ufuncs.add,
    ufuncs.subtract,
    powers.number_power,
    contractions.matmul,
}
"""Ops that sums see through."""

SUMS = (ufuncs.add, ufuncs.subtract)

ROUNDS = 6
"""So often sums are planned anew when it is known what the others read."""

MOST = 24
"""So many ops a sum sees through at most."""

SLOWER = ((10.0, 2.0), (5.0, 1.5), (2.0, 1.2), (0.0, 1.0))
"""How often less work on large arrays may take how much longer on small ones."""

ELEMENTS = 1000.0
"""So many elements take the time of a call on a few, where lengths are known."""


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


class Sums:
    """Finds the sums of a graph that are better contracted, and how."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        calls = [node for node in graph.all_nodes if isinstance(node, Call)]
        self.sums = [call for call in calls if _is_sum(call) or _is_product(call)]
        kept = {value for end in ends(graph.block) for value in end.outputs}
        self.plans: dict[Value, Plan] = {}
        self.made: set[tuple[Value, Value]] = set()  # products p.mT @ q that are planned
        for _ in range(ROUNDS if self.sums else 0):
            self.free = self._unread(kept)
            self.plans = {}
            for call in self.sums:
                plan = self._plan(call)
                if plan is not None:
                    self.plans[call.results[0]] = plan
            more, made = self._read() - kept, set(self._products())
            if not more & self.free and made == self.made:
                break
            kept |= more
            self.made = made

    def _unread(self, kept: set[Value]) -> set[Value]:
        """The values that only sums read, if all are contracted, through ops that they see."""
        sums = {node.results[0] for node in self.sums}
        free: set[Value] = set()
        for node in reversed(self.graph.all_nodes):
            if not isinstance(node, Call) or node.op not in DISSOLVED:
                continue
            result = node.results[0]
            users = self.graph.users.get(result, ())
            seen = all(
                isinstance(user, Call)
                and (user.results[0] in sums or user.results[0] in free)
                and not (user.op is ufuncs.divide and user.operands[1] is result)
                for user in users
            )
            if users and seen and result not in kept:
                free.add(result)
        return free

    def _read(self) -> set[Value]:
        """What the sums read as they are planned now, but for those that others see through."""
        read: set[Value] = set()
        for call in reversed(self.sums):
            result = call.results[0]
            if result in self.free and result not in read:
                continue
            plan = self.plans.get(result)
            if plan is None:
                read.update(call.operands)
                continue
            for term in plan.terms:
                read.update(factor.value for factor in (*term.parts, *term.term.divisors))
        return read

    def _products(self) -> Iterator[tuple[Value, Value]]:
        """The pairs of which ``p.mT @ q`` is planned."""
        for plan in self.plans.values():
            for term in plan.terms:
                if [step.kind for step in term.steps] == ["matrices"]:
                    step = term.steps[0]
                    if all(term.labels[i][-2:-1] == step.over for i in step.parts):
                        p, q = (term.parts[i].value for i in step.parts)
                        yield p, q

    # -- one sum --------------------------------------------------------------------------------

    def _plan(self, call: Call) -> Plan | None:
        best: Plan | None = None
        saved = 0.0
        for split, deep, shared in product((True, False), repeat=3):
            finder = _Terms(self, call, split, deep, shared)
            if 1 in finder.dims.values():
                return None
            plan = finder.plan()
            if shared and not finder.saw:
                break
            if plan is None or not finder.saw:
                continue
            found = _saved(plan, *finder.before(), finder.is_known)
            if found > saved:
                best, saved = plan, found
        return best


def _saved(plan: Plan, cost: float, time: float, known: bool) -> float:
    """How much less work a plan is, or 0 where it may take longer; `known` are all lengths."""
    less = cost - plan.cost
    if known:
        return less + (time - plan.time) * ELEMENTS
    most = time * next(slower for often, slower in SLOWER if often * plan.cost <= cost)
    return less if plan.time <= most else 0.0


def _is_sum(node: Call) -> bool:
    if node.op is not sums_and_extremes.sum_over:
        return False
    x = node.operands[0].type
    return x.dtype in FLOATS and bool(x.shape) and node.attribute("axis") != ()


def _is_product(node: Call) -> bool:
    types = [value.type for value in (*node.operands, *node.results)]
    same = len({type_.dtype for type_ in types}) == 1 and types[0].dtype in FLOATS
    return node.op is contractions.matmul and same and bool(types[-1].shape)


def _is_double(node: Call) -> bool:
    return node.operands[0] is node.operands[1]


def _is_of_arrays(node: Call) -> bool:
    """Whether a call multiplies or divides two arrays."""
    product = node.op in (ufuncs.multiply, ufuncs.divide)
    return product and all(operand.type.shape for operand in node.operands)


def _is_square(node: Call) -> bool:
    """Whether a call multiplies a value by itself."""
    if node.op is powers.number_power:
        return bool(node.attribute("exponent") == 2)
    return node.op is ufuncs.multiply and _is_double(node)


class _Terms:
    """Takes apart what a sum adds up."""

    def __init__(self, sums: Sums, call: Call, split: bool, deep: bool, shared: bool) -> None:
        self.sums, self.graph, self.call = sums, sums.graph, call
        self.split = split  # sums of terms are taken apart
        self.deep = deep  # and factors with fewer axes
        self.shared = shared  # and products of arrays that several read
        self.through: dict[Value, None] = {}
        self.several: set[Value] = set()  # what several read, themselves or what is made of it
        self.saw = False  # more than views
        is_sum = call.op is sums_and_extremes.sum_over
        whole = call.operands[0] if is_sum else call.results[0]
        self.ndim = whole.type.ndim
        self.dims: dict[int, Dim] = dict(enumerate(dims_of(self.graph.sizes, whole.type)))
        self.summed = axes_of(call.attribute("axis"), self.ndim) if is_sum else ()
        self.out = tuple(i for i in self.dims if i not in self.summed)

    @property
    def is_known(self) -> bool:
        """Whether all lengths of the sum are."""
        return all(isinstance(dim, int) for dim in self.dims.values())

    def node(self, value: Value) -> Call | None:
        node = self.graph.producer.get(value)
        return node if isinstance(node, Call) else None

    def terms(self, value: Value, labels: tuple[int | None, ...]) -> list[Term]:
        """The terms whose sum the value is."""
        node = self.node(value)
        free = self.split and len(self.through) <= MOST and value in self.sums.free
        if node is not None and free and node.op in SUMS and not _is_double(node):
            self.through[value], self.saw = None, True
            first, second = (self.terms(x, self._labels_of(x, labels)) for x in node.operands)
            if node.op is ufuncs.subtract:
                for term in second:
                    term.number = -term.number
            return first + second
        term = Term()
        self._take(value, labels, term, False)
        return self._inside(value, term)

    def _inside(self, value: Value, term: Term) -> list[Term]:
        """The terms of a value that is a number times a sum."""
        if not self.split or len(term.factors) != 1 or term.factors[0].inverse:
            return [term]
        factor = term.factors[0]
        node = self.node(factor.value)
        again = node is not None and node.op in SUMS and factor.value in self.sums.free
        if not again or factor.value is value:
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
        if len(self.graph.users.get(value, ())) > 1:
            self.several.add(value)
        constant = self.graph.constant(value)
        if constant is not None and isinstance(constant.value, int | float):
            number = float(constant.value)
            if inverse:
                term.divisors.append(Factor(value, ()))
            else:
                term.number *= number
            return
        ratio = None if inverse else share(self.graph, value)
        if ratio is not None:
            term.number *= ratio[0]
            term.divisors.append(Factor(ratio[1], ()))
            return
        if node is None or not self._passes(node, value, inverse):
            if value.type.ndim == 0 and inverse:
                term.divisors.append(Factor(value, ()))
            else:
                term.factors.append(Factor(value, labels, inverse))
            return
        self.through[value] = None
        self.saw |= node.op not in TURNED
        operands = node.operands
        if value in self.several:
            self.several.update(operands)
        if node.op is ufuncs.negative:
            term.number = -term.number
            self._take(operands[0], labels, term, inverse)
        elif node.op is ufuncs.add:
            term.number *= 2.0
            self._take(operands[0], labels, term, inverse)
        elif _is_square(node):
            self._take_square(operands[0], self._labels_of(operands[0], labels), term)
        elif node.op in (ufuncs.multiply, ufuncs.divide):
            for position, operand in enumerate(operands):
                below = node.op is ufuncs.divide and position == 1
                self._take(operand, self._labels_of(operand, labels), term, inverse or below)
        elif node.op is reshaping.expand_axes:
            axes = axes_of(node.attribute("axis"), 0)
            kept = tuple(label for i, label in enumerate(labels) if i not in axes)
            self._take(operands[0], kept, term, inverse)
        elif node.op in REPEATED:
            self._take(operands[0], self._labels_of(operands[0], labels), term, inverse)
        elif node.op is reshaping.transpose_axes:
            order = node.attribute("axes") or tuple(reversed(range(len(labels))))
            turned = tuple(labels[order.index(i)] for i in range(len(labels)))
            self._take(operands[0], turned, term, inverse)
        else:
            self._take_product(node, labels, term)

    def _take_square(self, value: Value, labels: tuple[int | None, ...], term: Term) -> None:
        """A value times itself, which stays whole where it is more than a number times another."""
        before, dims = dict(self.through), dict(self.dims)
        root = Term()
        self._take(value, labels, root, False)
        if len(root.factors) == 1 and not root.over:
            term.number *= root.number**2
            term.factors += root.factors * 2
            term.divisors += root.divisors * 2
        else:
            self.through, self.dims = before, dims
            term.factors += [Factor(value, labels)] * 2

    def _take_product(self, node: Call, labels: tuple[int | None, ...], term: Term) -> None:
        """A matrix product: a sum over a label of its own."""
        a, b = node.operands
        label = len(self.dims) + 1000
        self.dims[label] = dims_of(self.graph.sizes, a.type)[-1]
        term.over.append(label)
        of_row, of_column = a.type.ndim > 1, b.type.ndim > 1
        batch = labels[: len(labels) - of_row - of_column]
        row = labels[len(batch)] if of_row else None
        column = labels[-1] if of_column else None
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
        if node.op in SUMS:
            return node.op is ufuncs.add and _is_double(node)
        if node.op is contractions.matmul:
            return self.call.op is sums_and_extremes.sum_over and self._sums_out(node)
        if node.op is powers.number_power:
            return _is_square(node)
        if not self.shared and value in self.several and _is_of_arrays(node):
            return False
        dtype = value.type.dtype
        return all(v.type.dtype == dtype or v.type.weak for v in node.operands)

    def _sums_out(self, node: Call) -> bool:
        """Whether a sum over rows or columns of a product is planned from matrices."""
        a, b = node.operands
        dtype = node.results[0].type.dtype
        same = a.type.dtype == b.type.dtype == dtype
        return same and a.type.ndim > 1 and b.type.ndim > 1

    # -- plans ----------------------------------------------------------------------------------

    def plan(self) -> Plan | None:
        """The steps of all terms, None where one has no good order."""
        labels, out = tuple(self.dims), self.out
        if self.call.op is contractions.matmul:
            term = Term()
            self._take_product(self.call, labels, term)
            terms = [term]
        else:
            terms = self.terms(self.call.operands[0], labels)
        if len({term.number < 0 for term in terms}) > 1:
            return None  # a difference
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
        numbers = [f for f in term.factors if f not in factors]
        scalars = [f for f in numbers if not f.inverse]
        divisors = [*term.divisors, *(f for f in numbers if f.inverse)]
        parts: list[Factor] = []
        extra = 0.0
        for factor in factors:
            labels = [label for label in factor.labels if label is not None]
            if factor.inverse and not self._is_summed(labels):
                divisors.append(factor)
            else:
                parts.append(factor)
                extra += size_of(self.dims, labels) if factor.inverse else 0.0
        if not parts or any(map(self._may_be_infinite, (*scalars, *divisors, *parts))):
            return None
        labels_of = [tuple(x for x in f.labels if x is not None) for f in parts]
        if any(len(set(labels)) != len(labels) for labels in labels_of):
            return None
        present = {label for labels in labels_of for label in labels}
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

    def _may_be_infinite(self, factor: Factor) -> bool:
        """Whether a factor may be, where there is nothing to sum."""
        producer, sizes = self.graph.producer, self.graph.sizes
        summed = [self.dims[x] for x in self.dims if self._is_summed([x])]
        own = [self.dims[x] for x in factor.labels if x is not None]
        names = names_of(summed) - names_of(own)
        if not names or is_extent(producer, factor.value):  # which is made 1 if it is 0
            return False
        return reads_length(producer, sizes, factor.value, names)

    def _known(self, parts: list[Factor]) -> Callable[[int, int], bool]:
        """Whether the graph has the matrix product whose diagonal a sum of products is."""

        def known(i: int, j: int) -> bool:
            if max(i, j) >= len(parts) or parts[i].inverse or parts[j].inverse:
                return False
            p, q = parts[i], parts[j]
            return None not in (*p.labels, *q.labels) and self._is_multiplied(p.value, q.value)

        return known

    def _is_multiplied(self, p: Value, q: Value) -> bool:
        """Whether p.mT @ q is there, or planned."""
        if (p, q) in self.sums.made:
            return True
        ndim = p.type.ndim
        last = (*range(ndim - 2), ndim - 1, ndim - 2)
        for turned in self._calls_on(p, reshaping.transpose_axes):
            if (turned.attribute("axes") or (1, 0)) == last:
                for product in self._calls_on(turned.results[0], contractions.matmul):
                    if product.operands == (turned.results[0], q):
                        return True
        return False

    def _calls_on(self, value: Value, op: Op) -> Iterator[Call]:
        users = self.graph.users.get(value, ())
        return (user for user in users if isinstance(user, Call) and user.op is op)

    def before(self) -> tuple[float, float]:
        """What the sum costs as it is, with what nobody else reads."""
        sizes = self.graph.sizes
        dims = dims_of(sizes, self.call.operands[0].type)
        time = TIMES["summed"]
        if self.call.op is contractions.matmul:
            dims = (*dims_of(sizes, self.call.results[0].type), dims[-1])
            time = TIMES["matrices"]
        cost = _elements(dims)
        for value in self.through:
            node = self.node(value)
            assert node is not None
            if node.op in VIEWS or value not in self.sums.free:
                continue
            dims = dims_of(sizes, value.type)
            if node.op is contractions.matmul:
                dims = (*dims, dims_of(sizes, node.operands[0].type)[-1])
            cost += _elements(dims) / max(1, len(self.graph.users[value]))
            time += TIMES["matrices"] if node.op is contractions.matmul else 1.0
        return cost, time


def _elements(dims: tuple[Dim, ...]) -> float:
    return size_of(dict(enumerate(dims)), range(len(dims)))
