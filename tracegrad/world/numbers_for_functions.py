"""Numbers of Python's for Tensors that stand for such, where a function takes no Tensor."""

from __future__ import annotations

import operator
from types import BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType
from typing import Any

from tracegrad.tensors.tensor import Tensor
from tracegrad.tensors.whole_numbers import with_ints
from tracegrad.world import native_tables

Operands = tuple[Any, ...]
Keywords = dict[str, Any]


def with_numbers_it_takes(callee: Any, operands: Operands, keywords: Keywords) -> Any:
    """Calls native code; what refuses a Tensor that stands for a number of Python's gets that.

    NumPy's random functions take such a Tensor for an array: they get ints at once. Functions of
    arrays get ints for whole numbers alone; what they raise with these is what they raise.
    """
    if is_of_random(callee):
        seeds = getattr(callee, "__name__", "") in native_tables.SEEDED
        named = {name: with_ints(x, seeds) for name, x in keywords.items()}
        return callee(*[with_ints(x, seeds) for x in operands], **named)
    try:
        return callee(*operands, **keywords)
    except Exception as error:
        takes = numbers_for if _is_in_c(callee) else _ints_for
        refused = takes is _ints_for or isinstance(error, TypeError)
        numbers = takes(operands, keywords) if refused else None
        once = [type(x) in native_tables.ITERATORS or callable(x) for x in operands]
        if numbers is None or any(once):
            raise
        return callee(*numbers[0], **numbers[1])


def _ints_for(operands: Operands, keywords: Keywords) -> tuple[Operands, Keywords] | None:
    """Operands with Python's ints for Tensors that stand for such; None where there are none."""
    every = [*operands, *keywords.values()]
    given = [with_ints(x, False) for x in every]
    if not any(map(operator.is_not, given, every)):
        return None
    count = len(operands)
    return tuple(given[:count]), dict(zip(keywords, given[count:], strict=True))


_IN_C = (BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType)


def _is_in_c(callee: Any) -> bool:
    """Whether it is a function, or a type, of Python's own in C."""
    known = isinstance(callee, _IN_C) or id(callee) in native_tables.PURE_TYPES
    module = getattr(callee, "__module__", None) or "builtins"
    return known and module.partition(".")[0] not in native_tables.LIBRARY


def is_of_random(callee: Any) -> bool:
    """Whether it is a function, a type or a bound method of ``np.random``."""
    if isinstance(getattr(callee, "__self__", None), native_tables.GENERATORS):
        return True
    of = getattr(callee, "__objclass__", None) or callee
    return str(getattr(of, "__module__", None)).startswith("numpy.random")


def numbers_for(operands: Operands, keywords: Keywords) -> tuple[Operands, Keywords] | None:
    """Operands with Python's numbers for Tensors that stand for such; None where there are none."""
    given = tuple(map(with_numbers, operands))
    named = {name: with_numbers(x) for name, x in keywords.items()}
    found = map(operator.is_not, (*given, *named.values()), (*operands, *keywords.values()))
    return (given, named) if any(found) else None


def with_numbers(x: Any) -> Any:
    """A nested container with Python's numbers for Tensors that stand for such: a look at each."""
    if type(x) is Tensor:
        return number_of(x)
    if type(x) is dict:
        items = {key: with_numbers(value) for key, value in x.items()}
        return items if any(items[key] is not x[key] for key in x) else x
    if type(x) in (list, tuple):
        found = type(x)(map(with_numbers, x))
        return found if any(map(operator.is_not, found, x)) else x
    return x


def number_of(x: Tensor) -> Any:
    """The number of Python's that a Tensor stands for; the Tensor where it stands for none."""
    for kind in (bool, int, float, complex):
        if issubclass(x.__class__, kind):
            return kind(x)
    return x
