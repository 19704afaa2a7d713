"""Decides what operators do with an array and an object that is neither array nor number.

NumPy makes an array of such an object, as a rule one of Python's objects, and asks each element.
`==` and `!=` have an answer for objects that no number equals, and for numbers of the standard
library. Programs have no arrays of objects: everything else is refused, with the user's line.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from tracegrad.errors import DTypeError
from tracegrad.ops.elementwise.python_numbers import as_python_number
from tracegrad.ops.elementwise.ufuncs import equal, not_equal
from tracegrad.ops.shape.creation import full_like
from tracegrad.runtime.array_manners import is_array_to_function, is_number_of_python
from tracegrad.tensors.devices import class_in_numpy
from tracegrad.tensors.numpy_words import class_named
from tracegrad.user_code.program_points import at_line

EQUALS_NO_NUMBER = frozenset({
    *(kind.__eq__ for kind in (object, dict, set, frozenset, slice, np.dtype)),
    *(kind.__eq__ for kind in (types.MethodType, types.BuiltinMethodType, re.Pattern)),
})  # fmt: skip
"""The `__eq__` of types that say of each number that it is another thing."""
TAKEN_APART = ("__array__", "__array_interface__", "__array_struct__", "__buffer__")
"""What NumPy makes an array of that has elements."""
ABSENT = object()


def compared(x: Any, other: Any, unequal: bool) -> Any:
    """``x == other`` or ``x != other``; `NotImplemented` where Python's answer is NumPy's."""
    kind = type(other)
    if not is_array_to_function(x) or decides_itself(kind):
        return NotImplemented
    of_numpy = class_in_numpy(x._array)
    if kind in (Decimal, Fraction):
        return _compared_by_value(x, other, unequal, issubclass(of_numpy, np.ndarray))
    answer = _of_class(kind, "__eq__")
    if is_number_of_python(x) and not isinstance(answer, types.FunctionType):
        return NotImplemented  # Python asks the other, which no number equals
    no_number = issubclass(kind, str | bytes) or answer in EQUALS_NO_NUMBER
    if no_number and not _has_elements(kind):
        return full_like(x, unequal, dtype="bool") if x.ndim else NotImplemented
    if not issubclass(of_numpy, np.ndarray) and isinstance(answer, types.FunctionType):
        return NotImplemented  # a number leaves the answer to the other operand
    raise DTypeError(
        f"`{'!=' if unequal else '=='}` of {_named(of_numpy)} and {_named(kind)}: NumPy compares "
        f"each number with the object, as the class {kind.__name__} says, which no program does"
        + at_line(": look at the object's type first (`isinstance`), or compare with a number")
    ).as_refusal()


def computed(
    x: Any, other: Any, name: str, function: Callable[[Any, Any], Any], reflected: bool = False
) -> Any:
    """An operator other than ``==`` and ``!=``; `NotImplemented` where the other one is asked."""
    kind = type(other)
    if not is_array_to_function(x) or decides_itself(kind):
        return NotImplemented
    of_numpy = class_in_numpy(x._array)
    if name == "mul" and _is_sequence(kind) and not issubclass(of_numpy, np.ndarray):
        return NotImplemented  # Python asks the sequence, which may be repeated
    if kind is Fraction and not x.ndim and x.dtype.kind in "fc" and not reflected:
        return _with_fraction(x, other, name, function)
    answer = _of_class(kind, ANSWERS.get(name, f"__r{name}__"))
    of_objects = bool(x.ndim) and kind is Fraction
    if isinstance(answer, types.FunctionType) and not (reflected or of_objects):
        return NotImplemented
    classes = (class_named(of_numpy), class_named(kind))
    left, right = reversed(classes) if reflected else classes
    what = (
        f"'{SYMBOLS[name]}' not supported between instances of '{left}' and '{right}'"
        if name in ANSWERS
        else f"unsupported operand type(s) for {SYMBOLS[name]}: '{left}' and '{right}'"
    )
    write = ": write float(...) of it" if kind in (Decimal, Fraction) else ""
    raise DTypeError(f"{what}: programs have no arrays of objects{at_line(write)}").as_refusal()


ANSWERS = {"lt": "__gt__", "le": "__ge__", "gt": "__lt__", "ge": "__le__"}
"""The method of the other operand that a comparison asks."""
SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "divmod": "divmod()",
    "pow": "** or pow()",
    "matmul": "@",
    "and": "&",
    "or": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}


def decides_itself(kind: type) -> bool:
    """Whether NumPy leaves operators to objects of this type."""
    names = ("__array_ufunc__", "__array_priority__")
    return not issubclass(kind, np.generic) and any(_has(kind, name) for name in names)


def _of_class(kind: type, name: str) -> Any:
    """What a class has under a name for its objects, which its metaclass may have for itself."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), ABSENT)


def _has(kind: type, name: str) -> bool:
    return _of_class(kind, name) is not ABSENT


def _has_elements(kind: type) -> bool:
    """Whether NumPy makes an array of the object's elements."""
    if issubclass(kind, str | bytes | dict | np.dtype):
        return False
    return _is_sequence(kind) or any(_has(kind, name) for name in TAKEN_APART)


def _is_sequence(kind: type) -> bool:
    return _has(kind, "__len__") and _has(kind, "__getitem__")


def _compared_by_value(x: Any, other: Any, unequal: bool, is_array: bool) -> Any:
    """``==`` with a number that may be none of the array's dtype, and equals nothing then."""
    number = _same_number(other, np.dtype(x.dtype.name))
    if number is None:
        found = full_like(x, unequal, dtype="bool")
    else:
        found = (not_equal if unequal else equal)(x, number)
    return found if is_array else bool(found)


def _same_number(other: Any, dtype: np.dtype) -> Any:
    """The number of a dtype that equals a Decimal or Fraction, as Python's; None without one."""
    try:
        number = int(other) if dtype.kind in "iub" else float(other)
        with np.errstate(all="ignore"):
            held = np.asarray(number).astype(dtype, casting="unsafe")[()]
        return number if number == other and held == number else None
    except (ValueError, OverflowError):  # infinite, not a number, or too large
        return None


def _with_fraction(x: Any, other: Fraction, name: str, function: Callable[..., Any]) -> Any:
    """What a Fraction makes of a number on its left: it takes both as Python's numbers."""
    if name == "pow" and other.denominator == 1 and other >= 0:
        return function(as_python_number(x), other.numerator)
    return function(as_python_number(x), float(other))


def _named(kind: type) -> str:
    return "an array" if issubclass(kind, np.ndarray) else f"a {class_named(kind)}"
