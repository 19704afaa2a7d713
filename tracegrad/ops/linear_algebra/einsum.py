"""Einsum: contractions of arrays by subscripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.ir import Trait
from codegen.sizes import Dim, Sizes
from codegen.spelling import Spelling, spell
from codegen.types import ArrayType, broadcast, promote, shape_text
from codegen.types import ShapeError as MismatchError
from tracegrad.errors import ShapeError
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array, refuse_out
from tracegrad.ops.elementwise.ufuncs import astype, multiply
from tracegrad.ops.linear_algebra.contractions import (
    contract_axes,
    diagonal_of,
    diagonal_view,
    matmul,
    trace,
)
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.reductions.sums_and_extremes import sum_over
from tracegrad.ops.repeated_cotangents import repeated
from tracegrad.ops.shape.creation import dtype_name
from tracegrad.ops.shape.reshaping import (
    expand_axes,
    laid_out,
    matrix_transpose,
    permute_dims,
    reshape_to,
    sizes_of,
)
from tracegrad.values.dispatch import dtype_of, ndim_of, shape_of, type_of

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _einsum_type(sizes: Sizes, *types: ArrayType, subscripts: str) -> ArrayType:
    inputs, output = _terms(subscripts)
    lengths: dict[str, Dim] = {}
    for labels, x in zip(inputs, types, strict=True):
        for label, dim in zip(labels, x.shape, strict=True):
            try:
                (lengths[label],) = broadcast(sizes, [(lengths.get(label, 1),), (dim,)])
            except MismatchError:
                shapes = ", ".join(shape_text(sizes, t.shape) for t in types)
                raise MismatchError(
                    f"einsum: in {subscripts!r} the label {label} stands for axes of different "
                    f"lengths; the shapes are {shapes}"
                ) from None
    return ArrayType(promote(types)[0], tuple(lengths[label] for label in output))


def _terms(subscripts: str) -> tuple[list[str], str]:
    given, _, output = subscripts.partition("->")
    return given.split(","), output


def _einsum_vjp(ct: Any, y: Any, *operands: Any, subscripts: str) -> tuple[Any, ...]:
    """Each operand's cotangent is the einsum of `ct` and the others, onto the operand's labels."""
    inputs, output = _terms(subscripts)
    found = []
    for i, operand in enumerate(operands):
        others = [x for j, x in enumerate(operands) if j != i]
        terms = [output, *(labels for j, labels in enumerate(inputs) if j != i)]
        part = contract(terms, inputs[i], [ct, *others])
        found.append(_stretched(part, operand))
    return tuple(found)


def _stretched(ct: Any, operand: Any) -> Any:
    """A cotangent repeated along the axes that only the operand itself is long in."""
    pairs = list(zip(shape_of(ct), shape_of(operand), strict=True))
    if all(have == want or want == 1 for have, want in pairs):
        return ct
    return repeated(ct, tuple(w if have == 1 else have for have, w in pairs))


def _einsum_record(count: int) -> OpRecord:
    names = " ".join(LETTERS[:count])
    arguments = ", ".join(LETTERS[:count])
    optimize = "" if count == 2 else ", optimize=True"  # several: NumPy finds the best order
    text = f"np.einsum(subscripts, {arguments}{optimize})"

    def scalar(attributes: Mapping[str, Any]) -> Spelling:
        """With ``optimize`` a sum over all labels may be an array."""
        whole = attributes["subscripts"].endswith("->")
        return spell(text + "[()]" if whole and optimize else text)

    return define(
        "einsum" if count == 2 else f"einsum_{count}",
        scalar,
        jax=text.replace("np.", "jnp."),
        operands=names,
        infer=_einsum_type,
        vjp=_einsum_vjp,
        linear="each",
        attributes={"subscripts": ...},
        traits=(Trait.NUMERIC,),
        domain="einsum",
        batch=batching_rules.labelled_product,
        doc=f"The sum of products of {count} arrays; a label of one alone is in the result.",
    )


einsum_of = {count: _einsum_record(count) for count in range(2, 7)}
"""The record for each number of operands; of more, some are contracted first."""


def einsum(
    subscripts: Any,
    *operands: Any,
    out: None = None,
    dtype: Any = None,
    order: str | None = "K",
    **_: Any,
) -> Any:
    """Sums of products by labelled axes, as ``np.einsum``; written as a matmul where it is one."""
    refuse_out("einsum", out)
    if not isinstance(subscripts, str):
        subscripts, operands = _from_lists((subscripts, *operands))
    arrays = [as_array(x) for x in operands]
    if dtype is not None:
        arrays = [astype(x, dtype=dtype_name(dtype)) for x in arrays]
    terms, output = _explicit(subscripts, [ndim_of(x) for x in arrays])
    one_view = len(arrays) == 1 and set(output) == set(terms[0])  # it lies as its operand does
    if one_view:
        labels, part = _alone(terms[0], arrays[0], set(output), diagonal_view)
        result = _onto(labels, output, part)
    else:
        result = contract(terms, output, arrays)
    common = promote([type_of(x) for x in arrays])[0]  # which sums of small integers exceed
    result = result if dtype_of(result) == common else astype(result, dtype=common)
    return result if one_view else laid_out(result, order, None)


def _from_lists(arguments: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """``einsum(a, [0, 1], b, [1, 2], [0, 2])`` as labels."""

    def text(labels: Sequence[Any]) -> str:
        return "".join("..." if label is Ellipsis else LETTERS[label] for label in labels)

    pairs = len(arguments) // 2
    subscripts = ",".join(text(labels) for labels in arguments[1 : 2 * pairs : 2])
    if len(arguments) % 2:
        subscripts += f"->{text(arguments[-1])}"
    return subscripts, arguments[0 : 2 * pairs : 2]


def _explicit(subscripts: str, ndims: Sequence[int]) -> tuple[list[str], str]:
    """The labels of every operand and of the result, without ellipses."""
    given, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = given.split(",")
    if len(terms) != len(ndims):
        raise ShapeError(f"einsum: {subscripts!r} has {len(terms)} terms for {len(ndims)} operands")
    unused = [letter for letter in reversed(LETTERS) if letter not in subscripts]
    rest = [n - len(term.replace("...", "")) for term, n in zip(terms, ndims, strict=True)]
    for term, n, missing in zip(terms, ndims, rest, strict=True):
        if missing < 0 or (missing and "..." not in term):
            raise ShapeError(f"einsum: {term!r} in {subscripts!r} stands for an array of {n} axes")
    most = max((n for term, n in zip(terms, rest, strict=True) if "..." in term), default=0)
    dots = "".join(reversed(unused[:most]))
    terms = [
        term.replace("...", dots[len(dots) - n :]) for term, n in zip(terms, rest, strict=True)
    ]
    if arrow:
        output = output.replace("...", dots)
    else:
        labels = "".join(terms)
        output = dots + "".join(
            sorted(label for label in set(labels) - set(dots) if labels.count(label) == 1)
        )
    named = set("".join(terms))
    for label in output:
        if label not in named or output.count(label) > 1:
            raise ShapeError(f"einsum: {label!r} in the result of {subscripts!r} is not one axis")
    return terms, output


@batching_rules.contract.by
def contract(terms: Sequence[str], output: str, operands: Sequence[Any]) -> Any:
    """The einsum of `operands`, by the plainest ops that do it."""
    terms, operands = list(terms), list(operands)
    for i, labels in enumerate(terms):
        elsewhere = {*output, *(label for j, term in enumerate(terms) if j != i for label in term)}
        terms[i], operands[i] = _alone(labels, operands[i], elsewhere)
    factors = [x for labels, x in zip(terms, operands, strict=True) if not labels]
    if factors and any(terms):
        rest = [(labels, x) for labels, x in zip(terms, operands, strict=True) if labels]
        whole = contract([labels for labels, _ in rest], output, [x for _, x in rest])
        return reduce(multiply, factors, whole)
    if len(terms) > max(einsum_of):
        terms, operands = _fewer(terms, output, operands)
    if len(terms) == 1:
        return _onto(terms[0], output, operands[0])
    if len(terms) == 2:
        for product_of in (_as_matmul, _as_transposed_matmul):
            product = product_of(terms[0], terms[1], output, *operands)
            if product is not None:
                return product
    written = "".join(label for label in output if any(label in term for term in terms))
    whole = einsum_of[len(terms)](*operands, subscripts=f"{','.join(terms)}->{written}")
    return _onto(written, output, whole)


def _fewer(terms: list[str], output: str, operands: list[Any]) -> tuple[list[str], list[Any]]:
    """As few operands as one op takes: some contracted first, in the order that NumPy finds.

    The order is that for axes of one length, so it is the same for every length.
    """
    while len(terms) > max(einsum_of):
        places = sorted(_first_step(terms, output), reverse=True)
        taken, arrays = ([row.pop(i) for i in places] for row in (terms, operands))
        later = {*output, *(label for term in terms for label in term)}
        kept = "".join(label for label in dict.fromkeys("".join(taken)) if label in later)
        operands.append(contract(taken, kept, arrays))
        terms.append(kept)
    return terms, operands


def _first_step(terms: Sequence[str], output: str) -> tuple[int, ...]:
    """Which operands to contract first; the first two where NumPy would take all at once."""
    written = "".join(label for label in output if any(label in term for term in terms))
    alike = [np.broadcast_to(0.0, (4,) * len(term)) for term in terms]
    subscripts = f"{','.join(terms)}->{written}"
    step = np.einsum_path(subscripts, *alike, optimize="greedy")[0][1]
    return tuple(step) if len(step) <= max(einsum_of) else (0, 1)


def _alone(
    labels: str, x: Any, elsewhere: set[str], diagonal: OpRecord = diagonal_of
) -> tuple[str, Any]:
    """An operand after what concerns it alone: its diagonals, and sums over labels of its own."""
    if len(labels) == 2 and labels[0] == labels[1] and labels[0] not in elsewhere:
        _square(labels[0], x, 0, 1)
        return "", trace(x)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            _square(label, x, first, second)
            x = diagonal(x, offset=0, axis1=first, axis2=second)
            labels = labels[:first] + labels[first + 1 : second] + labels[second + 1 :] + label
    own = tuple(i for i, label in enumerate(labels) if label not in elsewhere)
    if own:
        axis = None if len(own) == len(labels) and len(own) > 1 else own
        x = sum_over(x, axis=own[0] if len(own) == 1 else axis, keepdims=False)
    return "".join(label for label in labels if label in elsewhere), x


def _square(label: str, x: Any, first: int, second: int) -> None:
    """Raises unless two axes that one label stands for are equally long: 1 is no exception."""
    one, other = shape_of(x)[first], shape_of(x)[second]
    if not sizes_of([x]).same(one, other):
        raise ShapeError(
            f"einsum: dimensions in single operand for collapsing index {label!r} don't match "
            f"({one} != {other})"
        )


def _onto(labels: str, output: str, x: Any) -> Any:
    """`x` with its axes in the order of `output`; labels that it lacks become axes of length 1."""
    x = permute_dims(x, tuple(labels.index(label) for label in output if label in labels))
    new = tuple(i for i, label in enumerate(output) if label not in labels)
    return expand_axes(x, axis=new[0] if len(new) == 1 else new) if new else x


def _as_matmul(p: str, q: str, output: str, a: Any, b: Any) -> Any:
    """The contraction as a matrix product, or None where it is none."""
    shared = [label for label in p if label in q and label not in output]
    if p == q == output:
        return multiply(a, b)
    if len(shared) != 1 or not _equally_long(p, q, shared[0], a, b):
        return None
    for first, second, x, y in ((p, q, a, b), (q, p, b, a)):
        found = _rows_times_columns(first, second, shared[0], output)
        if found is not None:
            x = matrix_transpose(x) if found[0] else x
            return matmul(x, matrix_transpose(y) if found[1] else y)
    return None


def _rows_times_columns(p: str, q: str, k: str, output: str) -> tuple[bool, bool] | None:
    """Which of two operands are to be transposed so that their matmul is `output`."""
    if q == k:
        return (False, False) if p == output + k else None
    if p == k:
        vector_first = q[-2:-1] == k and q[:-2] + q[-1:] == output
        return (False, False) if vector_first else None
    if len(output) < 2 or len(p) < 2 or len(q) < 2:
        return None
    batch, i, j = output[:-2], output[-2], output[-1]
    if {i, k} != set(p[-2:]) or {k, j} != set(q[-2:]):
        return None
    if batch not in (p[:-2], q[:-2]) or not {p[:-2], q[:-2]} <= {batch, ""}:
        return None
    return p[-1] == i, q[-1] == k


def _as_transposed_matmul(p: str, q: str, output: str, a: Any, b: Any) -> Any:
    """The contraction as a product of matrices that transposing and merging axes gives, or None.

    The sums run over the axes that follow the batch, so a batch that lies innermost is left to
    einsum, whose inner loop it is; and so are plain sums of products, which need no matrix.
    """
    shared = [label for label in p if label in q and label not in output]
    batch = [label for label in output if label in p and label in q]
    if not shared or not all(_equally_long(p, q, label, a, b) for label in shared):
        return None
    if {p[-1], q[-1]} & set(batch) or not set(output) - set(batch):
        return None
    if output[-1] in p:  # the result's last axis are the columns, which lie side by side
        p, q, a, b = q, p, b, a
    rows = [label for label in output if label in p and label not in q]
    columns = [label for label in output if label in q and label not in p]
    made = "".join([*batch, *rows, *columns])
    if not batch and max(len(rows), len(columns), len(shared)) > 1:
        axes = tuple(tuple(term.index(label) for label in shared) for term in (p, q))
        made = "".join([label for term in (p, q) for label in term if label not in shared])
        return _onto(made, output, contract_axes(a, b, axes=axes))
    x = _onto(p, "".join([*batch, *rows, *shared]), a)
    y = _onto(q, "".join([*batch, *shared, *columns]), b)
    shape_x, shape_y, n = shape_of(x), shape_of(y), len(batch)
    of_rows, of_shared = shape_x[n : n + len(rows)], shape_x[n + len(rows) :]
    of_columns = shape_y[n + len(shared) :]
    x = _merged(x, shape_x[:n], of_rows, of_shared)
    y = _merged(y, shape_y[:n], of_shared, of_columns)
    product = matmul(x, y)
    return _onto(made, output, _merged(product, shape_of(product)[:n], of_rows, of_columns, True))


def _merged(
    x: Any, batch: Sequence[Dim], rows: Sequence[Dim], columns: Sequence[Dim], back: bool = False
) -> Any:
    """Batches of tensors as batches of matrices, each kind of axes as one; or `back` from it."""
    if len(rows) == len(columns) == 1:
        return x
    new = (*batch, *rows, *columns) if back else (*batch, sz.mul(rows), sz.mul(columns))
    return reshape_to(x, shape=tuple(new))


def _equally_long(p: str, q: str, label: str, a: Any, b: Any) -> bool:
    """False for a length of 1 against another, which einsum broadcasts and matmul refuses."""
    one, other = (np.shape(getattr(x, "_array", x)) for x in (a, b))  # no look: ops guard it
    return bool(one[p.index(label)] == other[q.index(label)])


__all__ = [
    "einsum",
]
