"""Functions of numbers, or of small arrays, called for each element: ``vectorize``."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.types import broadcast, kind
from tracegrad.errors import ArgumentError, ArgumentValueError, DTypeError, ShapeError
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise.python_numbers import whole_number
from tracegrad.ops.elementwise.ufuncs import astype, strengthen
from tracegrad.ops.shape.creation import dtype_name, zeros_in
from tracegrad.ops.shape.joining import stack, unstack
from tracegrad.ops.shape.memory_order import lies_as
from tracegrad.ops.shape.reshaping import broadcast_beside, reshape_to, sizes_of
from tracegrad.runtime.thread_state import call as call_user
from tracegrad.values.dispatch import (
    HANDLERS,
    apply_in,
    dtype_of,
    is_number,
    is_weak,
    ndim_of,
    shape_of,
)


def vectorize(
    pyfunc: Callable[..., Any],
    otypes: Any = None,
    doc: str | None = None,
    excluded: Any = None,
    cache: bool = False,
    signature: str | None = None,
) -> Callable[..., Any]:
    """A function of numbers as one of arrays, which are broadcast: it is called for each element.

    As ``np.vectorize`` it is a loop, in a graph an unrolled one: what can be said of whole arrays
    (``tg.where`` for a branch) is faster. `cache` changes nothing.

    otypes
        The dtypes of the results.
    excluded
        Arguments, by number or name, that are handed on as they are.
    signature
        Of functions of small arrays, such as ``"(n),(n)->()"``: the last axes of each argument are
        handed on together.

    Examples
    --------
    >>> import tracegrad as tg
    >>> positive_part = tg.vectorize(lambda x: x if x > 0 else 0 * x)
    >>> positive_part(tg.tensor([-1.0, 2.0]))
    tensor([-0., 2.])
    """
    apart = set(excluded or ())
    axes = None if signature is None else _axes_of(signature)

    @wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        names = [name for name in kwargs if name not in apart]
        places = [i for i in range(len(args)) if i not in apart]
        given = [as_array(x) for x in (*(args[i] for i in places), *map(kwargs.get, names))]
        if not given:
            raise ArgumentError("vectorize: there is no argument to take the elements of")
        handed = axes if axes is not None else [0] * len(given)
        if len(handed) != len(given):
            raise ArgumentError(
                f"vectorize: {signature} is about {len(handed)} arguments, not {len(given)}"
            )
        shape, several = _elements(given, handed)

        def called(elements: tuple[Any, ...]) -> Any:
            filled = list(args)
            for i, x in zip(places, elements, strict=False):
                filled[i] = x
            named = dict(zip(names, elements[len(places) :], strict=True))
            return call_user(pyfunc, filled, {**kwargs, **named})

        results = [called(each) for each in zip(*several, strict=True)]
        like = next((x for x in given if type(x) in HANDLERS), given[0])
        if not results:
            return _of_nothing(like, shape, otypes)
        found = _gathered(results, shape, otypes, like)
        if signature is None and len(given) == 1 and type(found) is not tuple:
            return lies_as(found, given[0])
        return found

    vectorized.__doc__ = pyfunc.__doc__ if doc is None else doc
    return vectorized


def _axes_of(signature: str) -> list[int]:
    """How many axes of each argument belong together."""
    before, arrow, _ = signature.partition("->")
    if not arrow or not re.fullmatch(r"\s*\([\w\s,]*\)(\s*,\s*\([\w\s,]*\))*\s*", before):
        raise ArgumentValueError(
            f'vectorize: {signature!r} is no signature, such as "(n),(m,n)->(m)"'
        )
    lists = re.findall(r"\(([^)]*)\)", before)
    return [len([name for name in inner.split(",") if name.strip()]) for inner in lists]


def _elements(given: list[Any], axes: list[int]) -> tuple[tuple[Any, ...], list[Any]]:
    """The shape that the arguments broadcast to, without their last `axes`, and their elements."""
    outer = []
    for x, kept in zip(given, axes, strict=True):
        if ndim_of(x) < kept:
            raise ShapeError(f"vectorize: {kept} axes are needed, there are {ndim_of(x)}")
        outer.append(shape_of(x)[: ndim_of(x) - kept])
    shape = broadcast(sizes_of(given), outer)
    like = next((x for x in given if type(x) in HANDLERS), given[0])  # whose graph has the lengths
    several = []
    for x, kept in zip(given, axes, strict=True):
        inner = shape_of(x)[ndim_of(x) - kept :]
        wanted = (*shape, *inner)
        whole = x if shape_of(x) == wanted else broadcast_beside(x, wanted, like)
        several.append(unstack(reshape_to(whole, shape=(sz.mul(shape), *inner)), 0))
    return shape, several


def _gathered(results: list[Any], shape: tuple[Any, ...], otypes: Any, like: Any) -> Any:
    """What the calls gave as one array, or as several where they gave tuples.

    Without `otypes` the first result tells the dtype, to which all others are converted.
    """
    if isinstance(results[0], tuple):
        columns = list(zip(*results, strict=True))
        wanted = list(otypes) if otypes is not None else [None] * len(columns)
        return tuple(
            _gathered(list(column), shape, None if one is None else [one], like)
            for column, one in zip(columns, wanted, strict=True)
        )
    dtype = dtype_name(otypes[0]) if otypes else dtype_of(_as_numpys(results[0]))
    found = stack([_in_dtype(_as_numpys(r), dtype) for r in results])
    return apply_in(like, reshape_to, {"shape": (*shape, *shape_of(found)[1:])}, found)


def _as_numpys(x: Any) -> Any:
    """A result as an array or a number of NumPy's."""
    x = as_array(x)
    return np.asarray(x)[()] if is_number(x) else strengthen(x) if is_weak(x) else x


def _in_dtype(x: Any, dtype: str) -> Any:
    if dtype_of(x) == dtype:
        return x
    if kind(dtype_of(x)) == "complex" and kind(dtype) != "complex":
        raise DTypeError(f"vectorize: the first result is of {dtype}, another one is complex")
    if kind(dtype) == "int" and kind(dtype_of(x)) == "float" and not ndim_of(x):
        x = strengthen(whole_number(x))  # which raises of NaN, as NumPy does
    return x if dtype_of(x) == dtype else astype(x, dtype=dtype)


def _of_nothing(like: Any, shape: tuple[Any, ...], otypes: Any) -> Any:
    """The results of no calls, whose dtypes `otypes` tells."""
    if not otypes:
        raise ShapeError("vectorize: there are no elements to call the function with")
    found = tuple(zeros_in(like, shape, dtype_name(one)) for one in otypes)
    return found if len(found) > 1 else found[0]


__all__ = ["vectorize"]
