"""Finds the order in which to contract factors whose axes have labels.

A label is an axis of the whole product, which is never made. Labels that the sum keeps stand in
`out`; over all others it runs. A plan is a list of steps, each of which takes one or two parts and
makes one: a sum of a part over labels that it alone has, the product of two element by element,
their contraction as a product of vectors or (batches of) matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from codegen import sizes as sz
from codegen.ir import Value
from codegen.rewrite import Rewriter
from codegen.sizes import Dim
from tracegrad.fast_math.product_ops import (
    array_dot,
    dot_of_parts,
    ordered_dot,
    rows_dot,
    vector_dot,
)
from tracegrad.ops.elementwise import ufuncs
from tracegrad.ops.linear_algebra import contractions
from tracegrad.ops.reductions import row_normalization, sums_and_extremes
from tracegrad.ops.shape import reshaping

Labels: TypeAlias = "tuple[int, ...]"

LONG_ROW = 24
"""From this length on NumPy's products of rows are sooner than sums of products."""

MANY = 1000
"""What a length counts that is not known."""


TIMES = {
    "summed": 3.2,
    "multiplied": 1.0,
    "dot": 1.0,
    "array_dot": 2.0,
    "row_products": 2.6,
    "diagonal": 0.8,
    "matrices": 2.5,
    "batches": 3.4,
    "number": 0.2,
}
"""What a call takes on arrays of a few elements, in times of a ufunc on them."""


@dataclass(frozen=True)
class Step:
    """Parts by their places, the latest last; `kind` names the function below that does it."""

    kind: str
    parts: tuple[int, ...]
    labels: Labels
    over: Labels = ()


def size_of(dims: Mapping[int, Dim], labels: Sequence[int]) -> float:
    """The number of elements of an array with these labels, as far as it can be compared."""
    size = 1.0
    for label in labels:
        dim = dims[label]
        size *= dim if isinstance(dim, int) else MANY
    return size


@dataclass
class Planner:
    """Finds the steps for some parts."""

    dims: Mapping[int, Dim]
    out: Labels
    parts: list[Labels]
    known: Callable[[int, int], bool]
    """Whether the product of a given part's transpose and another is computed anyway."""

    def __post_init__(self) -> None:
        self.steps: list[Step] = []
        self.first = list(range(len(self.parts)))  # the first given part in each
        self.active = [i for i, labels in enumerate(self.parts) if self._summed(labels)]
        self.aside = [i for i, labels in enumerate(self.parts) if not self._summed(labels)]

    def plan(self) -> list[Step] | None:
        """The steps, the last of which makes the result; None where there is no good order."""
        while any(self._summed(self.parts[i]) for i in self.active):
            if not (self._sum() or self._contract() or self._multiply()):
                return None
        rest = sorted(self.active + self.aside, key=lambda i: (len(self.parts[i]), i))
        while len(rest) > 1:
            a, b = rest[:2]
            both = {*self.parts[a], *self.parts[b]}
            labels = tuple(label for label in self.out if label in both)
            rest = [*rest[2:], self._take("multiplied", (b, a), labels)]
            rest.sort(key=lambda i: (len(self.parts[i]), i))
        return self.steps

    def cost(self) -> float:
        """Elements that the steps work on."""
        total = 0.0
        for step in self.steps:
            labels = {label for i in step.parts for label in self.parts[i]}
            total += size_of(self.dims, sorted(labels))
        return total

    def time(self) -> float:
        """What the steps take on arrays of a few elements."""
        return sum(TIMES[self._as_timed(step)] for step in self.steps)

    def _as_timed(self, step: Step) -> str:
        labels = [self.parts[i] for i in step.parts]
        if step.kind == "multiplied" and not any(labels):
            return "number"
        if step.kind == "dot" and len(step.over) > 1:
            return "array_dot"
        if step.kind == "matrices" and set(labels[0]) & set(labels[1]) - set(step.over):
            return "batches"
        return step.kind

    def _summed(self, labels: Labels) -> Labels:
        return tuple(label for label in labels if label not in self.out)

    def _take(self, kind: str, parts: tuple[int, ...], labels: Labels, over: Labels = ()) -> int:
        self.steps.append(Step(kind, parts, labels, over))
        self.parts.append(labels)
        self.first.append(min(self.first[i] for i in parts))
        return len(self.parts) - 1

    def _replace(self, kind: str, parts: tuple[int, ...], labels: Labels, over: Labels) -> bool:
        made = self._take(kind, parts, labels, over)
        self.active = [*(i for i in self.active if i not in parts), made]
        return True

    def _holders(self, label: int) -> list[int]:
        holders = [i for i in self.active if label in self.parts[i]]
        return sorted(holders, key=lambda i: self.first[i])

    def _sum(self) -> bool:
        """One part over what it alone has: sums come before products."""
        for i in self.active:
            labels = self.parts[i]
            own = tuple(x for x in self._summed(labels) if self._holders(x) == [i])
            if own:
                kept = tuple(label for label in labels if label not in own)
                return self._replace("summed", (i,), kept, own)
        return False

    def _contract(self) -> bool:
        """Two parts over all that they alone share, so that as little as possible is made."""
        best: tuple[float, int, Step] | None = None
        for label in {x for i in self.active for x in self._summed(self.parts[i])}:
            holders = self._holders(label)
            step = self._contraction(*holders) if len(holders) == 2 else None
            if step is not None:
                found = (size_of(self.dims, step.labels), -label, step)
                best = found if best is None else min(best, found, key=lambda x: x[:2])
        if best is None:
            return False
        step = best[2]
        return self._replace(step.kind, step.parts, step.labels, step.over)

    def _contraction(self, i: int, j: int) -> Step | None:
        p, q = self.parts[i], self.parts[j]
        over = tuple(x for x in self._summed(p) if x in q and len(self._holders(x)) == 2)
        batch = tuple(x for x in p if x in q and x not in over)
        rows_, columns = (tuple(x for x in a if x not in b) for a, b in ((p, q), (q, p)))
        if not rows_ and not columns:
            return self._equal_parts(i, j, batch, over)
        for labels, group in ((p, rows_), (p, over), (q, over), (q, columns)):
            if not _is_run(labels, group):
                return None
        if self._order(columns) < self._order(rows_):  # as the result has them, as far as it may
            i, j, rows_, columns = j, i, columns, rows_
        return Step("matrices", (i, j), (*batch, *rows_, *columns), over)

    def _order(self, labels: Labels) -> int:
        return min((self.out.index(x) for x in labels if x in self.out), default=0)

    def _equal_parts(self, i: int, j: int, batch: Labels, over: Labels) -> Step | None:
        """Two parts with the same labels."""
        p, q = self.parts[i], self.parts[j]
        if not batch:
            return Step("dot", (i, j), (), over) if p == q else None
        if len(over) > 1 or p != q:
            return None
        if over[0] == p[-2]:
            for pair in ((i, j), (j, i)):
                if self.known(*pair):
                    return Step("diagonal", pair, batch, over)
        last = self.dims[over[0]]
        known = isinstance(last, int) and last < LONG_ROW and size_of(self.dims, p) >= MANY
        if over[0] != p[-1] or known:
            return None
        return Step("row_products", (i, j), batch, over)

    def _multiply(self) -> bool:
        """Two parts, of which one has all labels of the other, element by element."""
        best: tuple[tuple[float, bool, int, int], tuple[int, int]] | None = None
        for i in self.active:
            for j in self.active:
                p, q = self.parts[i], self.parts[j]
                if i == j or not set(p) <= set(q) or (set(p) == set(q) and j > i):
                    continue
                if not set(self._summed(p)):
                    continue
                key = (size_of(self.dims, q), p != q, max(i, j), min(i, j))
                if best is None or key < best[0]:
                    best = key, (j, i)
        if best is None:
            return False
        j, i = best[1]
        pair = (i, j) if self.parts[i] == self.parts[j] and i < j else (j, i)
        return self._replace("multiplied", pair, self.parts[j], ())


def _is_run(labels: Labels, group: Labels) -> bool:
    """Whether the group stands side by side and in this order, so that it can be one axis."""
    if len(group) < 2:
        return True
    if group[0] not in labels:
        return False
    first = labels.index(group[0])
    return labels[first : first + len(group)] == group


# -- from steps to calls ------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """An array and the labels of its axes."""

    value: Value
    labels: Labels


@dataclass
class Writer:
    """Writes steps as calls."""

    r: Rewriter
    dims: Mapping[int, Dim]
    ordered: Callable[[Value], bool]
    """Whether a value is known to be in C order."""

    def run(self, parts: Sequence[Part], steps: Sequence[Step], out: Labels) -> Value:
        """What the last step makes, its axes in the order of `out`."""
        made = list(parts)
        for step in steps:
            taken = [made[i] for i in step.parts]
            value = getattr(self, f"_{step.kind}")(step, *taken)
            made.append(value)
        return self._in_order(made[-1], out).value

    def _in_order(self, part: Part, labels: Labels) -> Part:
        """The part with its axes in this order."""
        if part.labels == labels:
            return part
        axes = tuple(part.labels.index(label) for label in labels)
        reverse = axes == (1, 0)
        value = self.r.emit(reshaping.transpose_axes, part.value, axes=None if reverse else axes)
        return Part(value, labels)

    def _shaped(self, part: Part, shape_: Sequence[Dim], labels: Labels) -> Part:
        if part.value.type.ndim == len(shape_):
            return Part(part.value, labels)
        return Part(self.r.emit(reshaping.reshape_to, part.value, shape=tuple(shape_)), labels)

    def _merged(self, part: Part, *groups: Labels) -> Part:
        """The part with each group of axes as one, which has the label of its first."""
        dims: list[Dim] = []
        labels: list[int] = []
        for label in part.labels:
            group = next((g for g in groups if label in g), (label,))
            if label == group[0]:
                dims.append(sz.mul(self.dims[x] for x in group))
                labels.append(label)
        return self._shaped(part, dims, tuple(labels))

    def _with_axis(self, value: Value, axis: int) -> Value:
        return self.r.emit(reshaping.expand_axes, value, axis=axis)

    def _summed(self, step: Step, part: Part) -> Part:
        axes = tuple(i for i, label in enumerate(part.labels) if label in step.over)
        axis = None if len(axes) == len(part.labels) else reshaping.one_or_many(axes)
        value = self.r.emit(sums_and_extremes.sum_over, part.value, axis=axis, keepdims=False)
        return Part(value, step.labels)

    def _multiplied(self, step: Step, whole: Part, other: Part) -> Part:
        operands = [self.beside(part, step.labels) for part in (whole, other)]
        return Part(self.r.emit(ufuncs.multiply, *operands), step.labels)

    def beside(self, part: Part, labels: Labels) -> Value:
        """The part so that it broadcasts against an array with these labels."""
        part = self._in_order(part, tuple(label for label in labels if label in part.labels))
        if not part.labels:
            return part.value
        first = min(labels.index(label) for label in part.labels)
        new = [i for i, label in enumerate(labels[first:]) if label not in part.labels]
        if not new:
            return part.value
        return self.r.emit(
            reshaping.expand_axes, part.value, axis=reshaping.one_or_many(tuple(new))
        )

    def _dot(self, step: Step, p: Part, q: Part) -> Part:
        if p.value.type.dtype == "float32":
            return Part(self.r.emit(dot_of_parts, p.value, q.value), ())
        if len(p.labels) == 1:
            return Part(self.r.emit(vector_dot, p.value, q.value), ())
        known = self.ordered(p.value) and self.ordered(q.value)
        return Part(self.r.emit(ordered_dot if known else array_dot, p.value, q.value), ())

    def _row_products(self, step: Step, p: Part, q: Part) -> Part:
        last = self.dims[step.over[0]]
        long = isinstance(last, int) and last >= LONG_ROW
        return Part(
            self.r.emit(row_normalization.row_dot if long else rows_dot, p.value, q.value),
            step.labels,
        )

    def _diagonal(self, step: Step, p: Part, q: Part) -> Part:
        ndim = len(p.labels)
        axes = None if ndim == 2 else (*range(ndim - 2), ndim - 1, ndim - 2)
        product = self.r.emit(
            contractions.matmul, self.r.emit(reshaping.transpose_axes, p.value, axes=axes), q.value
        )
        value = self.r.emit(
            contractions.diagonal_of, product, offset=0, axis1=ndim - 2, axis2=ndim - 1
        )
        return Part(value, step.labels)

    def _matrices(self, step: Step, p: Part, q: Part) -> Part:
        batch = tuple(label for label in p.labels if label in q.labels and label not in step.over)
        over = step.over
        rows_ = tuple(label for label in p.labels if label not in q.labels)
        columns = tuple(label for label in q.labels if label not in p.labels)
        p, q = self._merged(p, rows_, over), self._merged(q, over, columns)
        made = self._product(p, q, batch, rows_[:1], over[:1], columns[:1])
        shape_ = [self.dims[label] for label in (*batch, *rows_, *columns)]
        return self._shaped(made, shape_, (*batch, *rows_, *columns))

    def _product(
        self, p: Part, q: Part, batch: Labels, row: Labels, over: Labels, column: Labels
    ) -> Part:
        """Matrices, vectors, or batches of them, multiplied: (*batch, *row, *column)."""
        labels = (*batch, *row, *column)
        if not row:
            if q.labels[-1:] == over:  # the vector as a column behind the matrix, else before it
                q = self._in_order(q, (*batch, *column, *over))
                return self._times_vector(q, self._in_order(p, (*batch, *over)), labels)
            q = self._in_order(q, (*batch, *over, *column))
            return self._vector_times(self._in_order(p, (*batch, *over)), q, labels)
        if not column:
            if p.labels[-1:] == over:
                p = self._in_order(p, (*batch, *row, *over))
                return self._times_vector(p, self._in_order(q, (*batch, *over)), labels)
            p = self._in_order(p, (*batch, *over, *row))
            return self._vector_times(self._in_order(q, (*batch, *over)), p, labels)
        p = self._in_order(p, (*batch, *row, *over))
        q = self._in_order(q, (*batch, *over, *column))
        return Part(self.r.emit(contractions.matmul, p.value, q.value), labels)

    def _times_vector(self, matrix: Part, vector: Part, labels: Labels) -> Part:
        if vector.value.type.ndim == 1:
            return Part(self.r.emit(contractions.matmul, matrix.value, vector.value), labels)
        ndim = vector.value.type.ndim
        column = self._with_axis(vector.value, ndim)
        product = self.r.emit(contractions.matmul, matrix.value, column)
        return Part(self._without(product, ndim), labels)

    def _vector_times(self, vector: Part, matrix: Part, labels: Labels) -> Part:
        if vector.value.type.ndim == 1:
            return Part(self.r.emit(contractions.matmul, vector.value, matrix.value), labels)
        ndim = vector.value.type.ndim
        product = self.r.emit(
            contractions.matmul, self._with_axis(vector.value, ndim - 1), matrix.value
        )
        return Part(self._without(product, ndim - 1), labels)

    def _without(self, value: Value, axis: int) -> Value:
        return self.r.emit(reshaping.squeeze_axes, value, axis=axis)
