"""Calls of C functions that would lose a gradient: what computes the same on Tensors is called.

``math.sin`` reads a number, ``np.array([x[0], 1.0])`` reads an array: on Tensors they are
``np.sin`` and `tracegrad.asarray`; for SciPy there is a table (`scipy_table.py`). So it is in
traces and in functions that stay eager alike.
"""

from __future__ import annotations

import binascii
import cmath
import functools
import math
import operator
import sys
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from types import MethodDescriptorType, WrapperDescriptorType
from typing import Any

import numpy as np

from tracegrad.errors import ArgumentError, ConversionError, TracegradError
from tracegrad.ops.arguments import as_array
from tracegrad.ops.dtypes import get_default_dtype, natural_dtype
from tracegrad.ops.elementwise.python_numbers import as_python_number, python_float
from tracegrad.ops.function_of_elements import vectorize
from tracegrad.ops.shape.creation import full, full_like
from tracegrad.ops.shape.indexing import getitem
from tracegrad.ops.shape.reshaping import laid_out
from tracegrad.runtime.array_manners import is_array_to_function
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.array_functions import asarray, astype, broadcast_to, copy
from tracegrad.tensors.complex_numbers import real_part
from tracegrad.tensors.constructors import as_tensor, tensor
from tracegrad.tensors.refused_writes import is_read_only
from tracegrad.tensors.tensor import Tensor
from tracegrad.tensors.whole_numbers import with_ints
from tracegrad.tensors.zero_dimensional import as_0d_array, as_of_function, as_of_method
from tracegrad.traced_scipy.index_concatenation import joined
from tracegrad.traced_scipy.sparse import Sparse
from tracegrad.tracing.raising_ops import raising
from tracegrad.values.dispatch import FLOATING, SEQUENCES, is_jax_array
from tracegrad.world import jax_table, native_tables, scipy_table
from tracegrad.world.jax_random import is_key_within
from tracegrad.world.number_inputs import own as new
from tracegrad.world.numbers_for_functions import (
    numbers_for,
    with_numbers,
    with_numbers_it_takes,
)
from tracegrad.world.numbers_of_arrays import as_int, item, number_of_array, rounded

Operands = tuple[Any, ...]
Keywords = dict[str, Any]

_BY_NAME = (
    "acos acosh asin asinh atan atan2 atanh copysign cos cosh degrees exp exp2 expm1 fabs fmod "
    "isfinite isinf isnan log10 log1p log2 pow radians sin sinh sqrt tan tanh cbrt"
)
_NUMPY = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "pow": "power",
}
"""Names of NumPy that differ from those of `math`."""


def _raising(
    own: Callable[..., Any], function: Callable[..., Any], read: Callable[[Any], Any] = float
) -> Callable[..., Any]:
    """A function of NumPy's that raises where one of `math`, of numbers alone, does.

    Where the function that runs catches exceptions its program asks whether there is one, so that
    each arm is a path of its own. Otherwise the call ends, and no program stands for it.
    """

    def called(*operands: Any) -> Any:
        operands = _real_parts(own, operands) if read is float else operands
        trace, values = STATE.trace, [_value(x, read) for x in operands]
        found, expected, uncaught = None, False, None
        if trace is not None and not trace.catches:
            trace.raises_as_math, uncaught = True, trace
        elif trace is not None and own.__name__ not in _NEVER:
            if own in _OUTSIDE:
                expected = bool(_OUTSIDE[own](*values))
            else:
                with np.errstate(all="ignore"):
                    found = function(*values)
                expected = _is_error(found, values)
                if expected and own is math.pow:  # else it is an overflow
                    bool(values[0] == 0)
        _raise_as(own, [_number(x, read) for x in operands], expected)
        if found is None:
            with raising(uncaught):
                found = function(*values)
        return as_python_number(found)

    return called


_NEVER = frozenset({
    *("asinh", "atan", "atan2", "cbrt", "copysign", "degrees", "fabs", "isfinite", "isinf"),
    *("isnan", "radians", "tanh"),
})  # fmt: skip
"""Functions of `math` that raise for no number."""
_OUTSIDE: dict[Callable[..., Any], Callable[..., Any]] = {
    **dict.fromkeys((math.log, math.log2, math.log10), lambda x: x <= 0),
    **dict.fromkeys((math.acos, math.asin), lambda x: abs(x) > 1),
    **dict.fromkeys((math.sin, math.cos, math.tan), lambda x: abs(x) == math.inf),
    math.log1p: lambda x: x <= -1,
    math.sqrt: lambda x: x < 0,
    math.acosh: lambda x: x < 1,
    math.atanh: lambda x: abs(x) >= 1,
}
"""For which numbers functions of `math` raise. The others do by their result."""


def _is_error(found: Any, values: Sequence[Any]) -> bool:
    """Whether C code takes a result for an error: NaN of no NaN, an infinity of finite numbers."""
    if bool(np.isfinite(found)):
        return False
    if bool(np.isnan(found)):
        return not any([bool(np.isnan(x)) for x in values])
    return all([bool(np.isfinite(x)) for x in values])


def _raise_as(own: Callable[..., Any], numbers: Sequence[Any], expected: bool = False) -> None:
    """Raises what C code raises for these numbers; `expected` where the program knows of it."""
    trace = STATE.trace
    try:
        own(*numbers)
    except (ValueError, ArithmeticError) as error:
        if trace is not None and trace.samples:
            trace.raises(error)
        if trace is not None and not expected:
            trace.notes_exception(f"an exception in {own.__name__}")
        raise


def _real_parts(own: Callable[..., Any], operands: Sequence[Any]) -> tuple[Any, ...]:
    """Operands of a function of `math`, which reads the real part of complex numbers."""
    return tuple(
        [
            real_part(x, own.__name__) if type(x) is Tensor and x.dtype.kind == "c" else x
            for x in operands
        ]
    )


def _number(x: Any, read: Callable[[Any], Any]) -> Any:
    """What a Tensor holds, as C code would read it; raises for more than one element."""
    return read(np.asarray(x._array)) if type(x) is Tensor else x


def _value(x: Any, read: Callable[[Any], Any]) -> Any:
    """A Tensor of one element as a number, which is a float64 or Python's own."""
    if type(x) is not Tensor:
        return x
    if read is complex:
        return x.astype(complex)
    x = x.reshape(()) if x.ndim else x
    return x if x.dtype.name in ("float64", "complex128") else python_float(x)


def _hypot(*xs: Any) -> Any:
    """``math.hypot``, which takes as many numbers as one likes; NumPy's takes two."""
    first, *rest = xs
    return functools.reduce(np.hypot, rest, first) if rest else np.abs(first)


_log_of_one = _raising(math.log, np.log)


def _log(x: Any, base: Any = None) -> Any:
    x, base = _real_parts(math.log, (x, base))
    found = _log_of_one(x)
    if base is None:
        return found
    divisor = _log_of_one(base)
    expected = STATE.trace is not None and STATE.trace.catches and bool(divisor == 0)
    _raise_as(math.log, [_number(x, float), _number(base, float)], expected)
    return found / divisor


MATH: dict[int, Callable[..., Any]] = {
    id(getattr(math, name)): _raising(getattr(math, name), getattr(np, _NUMPY.get(name, name)))
    for name in _BY_NAME.split()
    if hasattr(math, name) and hasattr(np, _NUMPY.get(name, name))
}
MATH[id(math.log)] = _log
MATH[id(math.hypot)] = _raising(math.hypot, _hypot)
MATH[id(math.prod)] = lambda xs, start=1: _folded(operator.mul, xs, start)
MATH[id(math.fsum)] = lambda xs: as_python_number(_folded(operator.add, xs, 0.0))
_COMPLEX = "acos acosh asin asinh atan atanh cos cosh exp log10 sin sinh sqrt tan tanh"
for _name in _COMPLEX.split():
    _own = getattr(cmath, _name)
    MATH[id(_own)] = _raising(_own, getattr(np, _NUMPY.get(_name, _name)), complex)


def _folded(operation: Any, xs: Any, start: Any) -> Any:
    for x in xs:
        start = operation(start, x)
    return start


JOINING = (np.r_, np.c_)
MAKERS = frozenset(map(id, (np.array, np.asarray, np.asanyarray)))
LAYING = frozenset({*MAKERS, *map(id, (np.ascontiguousarray, np.asfortranarray, np.require))})


_OF_ARRAYS = frozenset({
    *("where", "array", "asarray", "asanyarray", "dot", "inner", "outer", "vdot"),
    *("sum", "mean", "prod", "cumsum"),
})  # fmt: skip


def makes_arrays(operation: Any, operands: Operands) -> bool:
    """Whether an operation makes arrays of the lists among its operands, as an array would do."""
    if id(operation) in native_tables.OPERATORS or id(operation) in native_tables.IN_PLACE:
        first = operands[:1] if id(operation) in native_tables.IN_PLACE else operands
        return any(type(x) is Tensor and x.ndim for x in first)
    if isinstance(operation, np.ufunc) or id(operation) in MAKERS_OF_TENSORS:
        return True
    module = getattr(operation, "__module__", None)
    return module == "numpy" and getattr(operation, "__name__", "") in _OF_ARRAYS


def _of_floats(numbers: Any) -> np.dtype:
    return get_default_dtype() if numbers.dtype.kind in "biu" else natural_dtype(numbers)


MAKERS_OF_TENSORS: dict[int, Callable[[Any], np.dtype]] = {
    id(tensor): natural_dtype,
    id(as_tensor): natural_dtype,
    id(asarray): lambda numbers: numbers.dtype,
    id(Tensor): _of_floats,
}
"""tracegrad's functions that make Tensors of lists: the dtype that they give numbers."""


def array_given_to(
    operation: Any, operands: Operands, keywords: Keywords
) -> Callable[[Tensor], Tensor]:
    """What an operation is given of an array input where a list of numbers stands.

    What it makes of a list is the function's own.
    """
    dtype_of_numbers = MAKERS_OF_TENSORS.get(id(operation))
    if dtype_of_numbers is None:
        return copy if id(operation) in MAKERS else lambda x: x
    exact = len(operands) > 1 or keywords.get("dtype") is not None

    def given(x: Tensor) -> Tensor:
        made: Tensor = copy(x) if exact else astype(x, dtype_of_numbers(x), copy=True)
        STATE.trace.shown.add(made._traced[1])
        return made

    return given


def holds_tensors(x: Any) -> bool:
    """Whether a nested sequence, or a sparse matrix, holds a Tensor."""
    if type(x) is Tensor or type(x) is Sparse:
        return True
    return type(x) in SEQUENCES and any(map(holds_tensors, x))


def instead(callee: Any, operands: Operands, keywords: Keywords) -> Callable[[], Any] | None:
    """What is called in place of a C function on Tensors; None where it can have them itself."""
    own = MATH.get(id(callee))
    if own is not None:
        if any(type(x) is Tensor for x in operands) or any(map(holds_tensors, operands)):
            return lambda: own(*operands, **keywords)
        return None
    if callee is operator.getitem:
        return _taken(*operands)
    if id(callee) in LAYING:
        return _array(callee, operands, keywords)
    if callee is np.full or callee is np.full_like:
        return _filled(callee, operands, keywords)
    if id(callee) in _OF_BUFFERS:
        return _of_buffer(callee, operands, keywords)
    if type(callee) is MethodDescriptorType and callee.__objclass__ in _OF_NUMPY:
        return _method_of_array(callee, operands, keywords)
    if type(callee) is WrapperDescriptorType:
        found = _operator_of_type(callee, operands, keywords)
        return found or _of_numbers(callee, operands, keywords)
    if any(callee is x for x in _PRODUCTS):
        return of_sparse(callee, operands)
    if "scipy" in sys.modules and scipy_table.is_of_scipy(callee):
        return _of_scipy(callee, operands, keywords)
    if "jax" in sys.modules and jax_table.is_of_jax(callee):
        return _of_jax(callee, operands, keywords)
    if callee is float or callee is int:
        return number_of_array(callee, operands, keywords)
    if callee is round and len(operands) == 1 and type(operands[0]) is Tensor and not keywords:
        return rounded(operands[0])
    if callee is Tensor.item:
        return item(operands, keywords)
    if type(callee) is type and callee in _SCALARS:
        one = [type(x) for x in operands] == [Tensor] and not keywords
        return partial(_cast, callee, *operands) if one and _casts(callee, *operands) else None
    if type(callee) is np.vectorize and any(
        type(x) is Tensor for x in (*operands, *keywords.values())
    ):
        return lambda: vectorized(callee)(*operands, **keywords)
    if callee is np.ndenumerate and [type(x) for x in operands] == [Tensor]:
        return lambda: ((at, operands[0][at]) for at in np.ndindex(operands[0].shape))
    return _of_numbers(callee, operands, keywords)


_OF_NUMPY = (np.ndarray, np.generic)


def _method_of_array(
    method: MethodDescriptorType, operands: Operands, keywords: Keywords
) -> Callable[[], Any] | None:
    """``np.ndarray.sum(x)`` of a Tensor; ``copy.copy(x)``, which shares no memory as arrays do."""
    if not operands or type(operands[0]) is not Tensor:
        return None
    if method.__name__ in ("__copy__", "__deepcopy__"):
        return lambda: as_of_method("copy", copy(operands[0]), operands[0])
    own = getattr(Tensor, method.__name__, None)
    return None if own is None else lambda: own(*operands, **keywords)


def _reflected(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: operation(y, x)


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "divmod": divmod,
    **{n: getattr(operator, n) for n in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")},
}
_OPERATORS: dict[str, Callable[..., Any]] = {
    **{f"__{name}__": operation for name, operation in _BINARY.items()},
    **{f"__r{name}__": _reflected(operation) for name, operation in _BINARY.items()},
    **{f"__{n}__": getattr(operator, n) for n in ("lt", "le", "eq", "ne", "gt", "ge")},
    **{f"__{n}__": getattr(operator, n) for n in ("neg", "pos", "abs")},
}
"""The operators that are methods of types, by their names."""
_NUMBERS = (int, float, complex)
"""Python's: each takes those before it."""


def _operator_of_type(
    slot: WrapperDescriptorType, operands: Operands, keywords: Keywords
) -> Callable[[], Any] | None:
    """``(2.0).__mul__(x)`` and ``np.ndarray.__add__(x, y)``: a type's method on Tensors.

    None where a type's own method says NotImplemented of what a Tensor stands for.
    """
    operation, kind = _OPERATORS.get(slot.__name__), slot.__objclass__
    if operation is None or keywords or not any(type(x) is Tensor for x in operands):
        return None
    if issubclass(kind, _OF_NUMPY):
        return (lambda: operation(*operands)) if type(operands[0]) is Tensor else None
    takes = _NUMBERS[: _NUMBERS.index(kind) + 1] if kind in _NUMBERS else ()
    if not isinstance(operands[0], kind) or not all(isinstance(x, takes) for x in operands):
        return None

    def number() -> Any:
        found = operation(*map(as_python_number, operands))
        several = type(found) is tuple
        return tuple(map(as_python_number, found)) if several else as_python_number(found)

    return number


_OF_BUFFERS = frozenset(map(id, (
    *(memoryview, np.frombuffer, np.nditer, bytes, bytearray),
    *(zlib.crc32, zlib.adler32, zlib.compress),
    *(binascii.crc32, binascii.hexlify, binascii.b2a_hex, binascii.b2a_base64),
)))  # fmt: skip


def _of_buffer(callee: Any, operands: Operands, keywords: Keywords) -> Callable[[], Any] | None:
    """A function in C that reads the memory of an array: it gets the numbers of a Tensor."""
    x = operands[0] if operands else None
    is_list = isinstance(x, list | tuple) and callee is np.nditer
    several: list[Any] = [*x] if is_list else [x]  # type: ignore[misc]
    if not any(map(_has_memory_to_function, several)):
        return None

    def made() -> Any:
        given = [y.__array__() if _has_memory_to_function(y) else y for y in several]
        return callee(given if is_list else given[0], *operands[1:], **keywords)

    return made


def _has_memory_to_function(x: Any) -> bool:
    """Whether an object is a Tensor of which the function may ask the memory, as of an array."""
    return type(x) is Tensor and isinstance(x._array, np.ndarray) and is_array_to_function(x)


_SCALARS = frozenset({
    *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_),
    *(np.float16, np.float32, np.float64, np.complex64, np.complex128),
})  # fmt: skip


def _whole(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``math.floor`` and its like: an int of Python's."""
    return lambda x: as_int(function(_value(x, float)))


for _own, _function in ((math.floor, np.floor), (math.ceil, np.ceil), (math.trunc, np.trunc)):
    MATH[id(_own)] = _whole(_function)


def _cast(kind: type, x: Tensor) -> Any:
    """``kind(x)``: of what has no axes a scalar."""
    return as_of_function(kind.__name__, astype(x, kind), x)


def _casts(kind: type, x: Tensor) -> bool:
    """Whether ``kind(x)`` gives what is recorded; else a number is read: of an int, or Python's."""
    if x._is_traced and not x.ndim and (x.__class__ is float or x.__class__ is int):
        return kind in (np.float64, np.float32) or (kind is np.int64 and x.dtype.kind == "i")
    return bool(x.ndim) or (x.dtype.kind in FLOATING and not issubclass(kind, float | complex))


def _reads_types(callee: Any) -> bool:
    """Whether a function in C takes Python's numbers alone, and no object that acts as one."""
    module = getattr(callee, "__module__", None) or type(callee).__module__
    return type(module) is str and module in native_tables.READS_TYPES


def _of_numbers(callee: Any, operands: Operands, keywords: Keywords) -> Callable[[], Any] | None:
    """A function that takes Python's numbers alone, of them; None where it is given no others."""
    if not (_reads_types(callee) or getattr(callee, "__objclass__", None) in _NUMBERS):
        return None
    numbers = numbers_for(operands, keywords)
    return None if numbers is None else lambda: callee(*numbers[0], **numbers[1])


def as_plain_slice(x: slice) -> slice:
    """A slice with numbers, of Python's or NumPy's, for Tensors that stand for such."""
    parts = [x.start, x.stop, x.step]
    given = [with_numbers(with_ints(part, False)) for part in parts]
    return slice(*given) if any(map(operator.is_not, given, parts)) else x


def as_key(x: Tensor, stays: bool = True) -> Any:
    """The number that Python hashes for a Tensor; where it `stays` its gradient goes no further."""
    key = x._array
    if not stays:
        return key
    if x._node is not None and isinstance(key, float) and key == key:
        key = new(key)  # no object that stands elsewhere
    x._became((key,))
    return key


def of_jax(
    original: Callable[[Any], Any], operation: Any, operands: Operands, keywords: Keywords
) -> tuple[Operands, Keywords]:
    """The operands of an operation, with arrays of JAX for the Tensors that stand for them.

    Functions of JAX's that have no counterpart here get those, and whoever asks of what class an
    object is.
    """
    kinds = (getattr(operation, "__module__", None), type(operation).__module__)
    of_jax = any(type(kind) is str and kind.startswith(("jax", "nanobind")) for kind in kinds)
    if not of_jax and operation is not isinstance and operation is not type:
        return operands, keywords
    tensors = [x for x in (*operands, *keywords.values()) if type(x) is Tensor]
    if not all(is_jax_array(original(x)) for x in tensors):
        return operands, keywords  # it computes with what is traced as well
    if of_jax and tensors and jax_table.is_known(operation, operands, keywords):
        return operands, keywords

    def given(x: Any) -> Any:
        known = original(x)
        return known if type(x) is Tensor and is_jax_array(known) else x

    return tuple(map(given, operands)), {name: given(x) for name, x in keywords.items()}


_PRODUCTS = (operator.matmul, operator.mul)


def of_sparse(callee: Any, operands: Operands) -> Callable[[], Any] | None:
    """A product of a sparse matrix of SciPy's and a Tensor; None of anything else."""
    if "scipy.sparse" not in sys.modules or all(callee is not x for x in _PRODUCTS):
        return None
    sparse = [x for x in operands if scipy_table.is_sparse(x)]
    if not sparse or not any(type(x) is Tensor for x in operands):
        return None
    if callee is operator.mul and not type(sparse[0]).__name__.endswith("matrix"):
        raise scipy_table.refused(f"scipy.sparse.{type(sparse[0]).__name__}.multiply")
    return lambda: scipy_table.times(*operands)


def _of_scipy(callee: Any, operands: Operands, keywords: Keywords) -> Callable[[], Any] | None:
    """A function of SciPy on Tensors."""
    given = (*operands, *keywords.values())
    if not (any(map(holds_tensors, given)) or scipy_table.solves_with_tensors(callee, given)):
        return None
    found = scipy_table.counterpart(callee, operands)
    if found is not None:
        return lambda: found(*operands, **keywords)
    return lambda: _tried(callee, operands, keywords)


def _of_jax(callee: Any, operands: Operands, keywords: Keywords) -> Callable[[], Any] | None:
    """A function of JAX on Tensors, and on keys of which the numbers are Tensors."""
    given = (*operands, *keywords.values())
    if not (any(map(holds_tensors, given)) or any(map(is_key_within, given))):
        return None
    found = jax_table.counterpart(callee, operands, keywords)
    if found is None:
        if jax_table.is_public(callee):  # what it would say of a Tensor helps nobody
            raise jax_table.refused(callee)
        return None
    own = instead(*found)
    return own if own is not None else lambda: stacked(*found)


def _tried(callee: Any, operands: Operands, keywords: Keywords) -> Any:
    """A function of SciPy without a counterpart: it may do what Tensors can do."""
    name = scipy_table.name_of(callee, operands)
    before = None if STATE.trace is None else STATE.trace.unseen
    try:
        found = callee(*operands, **keywords)
    except Exception as error:
        of_tensors = isinstance(error, TypeError | AttributeError) or _is_ours(error)
        if of_tensors or scipy_table.refuses_callback(error):
            raise scipy_table.refused(name) from error
        raise
    if STATE.trace is not None and STATE.trace.unseen != before:  # it has read a traced value
        raise scipy_table.refused(name)
    return found


def _is_ours(error: BaseException | None) -> bool:
    """Whether an error, or one that it came of, is of tracegrad's."""
    return error is not None and (
        isinstance(error, TracegradError) or _is_ours(error.__cause__ or error.__context__)
    )


def run_native(callee: Callable[..., Any], operands: Operands, keywords: Keywords) -> Any:
    """Runs C code; SciPy's, whose callback gave a traced value, is refused by name.

    So is JAX's that was given one.
    """
    try:
        if "jax" in sys.modules and jax_table.is_public(callee):
            return jax_table.run(callee, operands, keywords)
        return with_numbers_it_takes(callee, operands, keywords)
    except Exception as error:
        of_scipy = "scipy" in sys.modules and scipy_table.is_of_scipy(callee)
        if of_scipy and scipy_table.refuses_callback(error):
            raise scipy_table.refused(scipy_table.name_of(callee, operands)) from error
        if "jax" in sys.modules and jax_table.refuses(callee, error):
            raise jax_table.refused(callee) from error
        raise


def vectorized(callee: np.vectorize) -> Callable[..., Any]:
    """An object of ``np.vectorize`` as the function of Tensors."""
    otypes = None if callee.otypes is None else list(callee.otypes)
    return vectorize(callee.pyfunc, otypes, excluded=callee.excluded, signature=callee.signature)


def stacked(callee: Any, operands: Operands, keywords: Keywords) -> Any:
    """A function of NumPy that makes an array of a sequence: of Tensors it gets theirs."""
    nested = [type(x) in SEQUENCES and holds_tensors(x) for x in operands]
    module = getattr(callee, "__module__", None) or "numpy"
    if not any(nested) or module.startswith("tracegrad"):
        return run_native(callee, operands, keywords)
    trace = STATE.trace
    try:
        if trace is not None:
            trace.keeps_numbers = True
        if id(callee) not in _CATCHING:
            return run_native(callee, operands, keywords)
    except ConversionError:
        pass
    finally:
        if trace is not None:
            trace.keeps_numbers = False
    made = tuple([_joined_up(x) if n else x for x, n in zip(operands, nested, strict=True)])
    own = instead(callee, made, keywords)
    return own() if own is not None else run_native(callee, made, keywords)


_CATCHING = frozenset(map(id, (np.array_equal, np.array_equiv)))
"""Functions that answer False where no array can be made of what they are given."""


def _joined_up(data: Any) -> Any:
    """Nested lists with Tensors as one array; where that cannot be, their items as arrays."""
    if type(data) not in SEQUENCES or not holds_tensors(data):
        return data
    if _shape(data) is None:
        return list(map(_joined_up, data))
    try:
        return asarray(data)
    except (TracegradError, TypeError, ValueError):  # no array of numbers
        return list(data)


def _shape(data: Any) -> tuple[int, ...] | None:
    """The shape of the array that nested lists are now; None where they are none."""
    if not isinstance(data, SEQUENCES):
        return np.shape(getattr(data, "_array", data))
    shapes = set(map(_shape, data))
    shape = shapes.pop() if shapes else ()
    return None if shapes or shape is None else (len(data), *shape)


def _taken(x: Any, key: Any) -> Callable[[], Any] | None:
    """``x[key]`` of a plain array at places that are traced; ``np.r_[x, 1.0]``."""
    if any(x is joining for joining in JOINING):
        return (lambda: joined(x, key)) if holds_tensors(key) else None
    if type(x) is np.ndarray and type(key) is tuple and holds_tensors(key):
        return lambda: getitem(x, key)
    return None


def _filled(callee: Any, operands: Operands, keywords: Keywords) -> Callable[[], Any] | None:
    """``np.full`` and ``np.full_like`` with what is traced."""
    names = ("of", "fill_value", "dtype", "order")
    given = {"order": "C" if callee is np.full else "K", **dict(zip(names, operands, strict=False))}
    given |= keywords
    value = given.get("fill_value")
    if not holds_tensors(value):
        return None

    of: Any = given.get("of", given.get("shape", given.get("a")))
    dtype, order = given.get("dtype"), given["order"]
    is_int = type(value) is Tensor and type(value._array) is int  # which may not fit into `dtype`
    if callee is np.full:
        if is_int:
            return lambda: laid_out(full(of, value, dtype), order, None)
        whole = lambda: broadcast_to(asarray(value, dtype=dtype), of).copy()
        return lambda: laid_out(whole(), order, None)
    named = {"dtype": dtype, "shape": given.get("shape"), "order": order}
    return lambda: full_like(as_array(of), value if is_int else asarray(value), **named)


_PLACES: dict[int, tuple[str, ...]] = {
    id(np.asarray): ("dtype", "order"),
    id(np.asanyarray): ("dtype", "order"),
    id(np.require): ("dtype", "requirements"),
}
_QUIET = {"subok": (True, False), "device": (None, "cpu"), "like": (None,), "ndmax": (0,)}
_OF_ORDER = {
    id(np.ascontiguousarray): {"order": "C", "ndmin": 1},
    id(np.asfortranarray): {"order": "F", "ndmin": 1},
}


def _array(callee: Any, operands: Operands, keywords: Keywords) -> Callable[[], Any] | None:
    """``np.array`` and its like of Tensors."""
    if not operands or not holds_tensors(operands[0]):
        return None
    x, *rest = operands
    given = {**dict(zip(_PLACES.get(id(callee), ("dtype",)), rest, strict=False)), **keywords}
    for name, quiet in _QUIET.items():
        if name in given and given[name] in quiet:
            del given[name]
    if id(callee) == id(np.require):
        requirements = given.pop("requirements", None)
        given["order"] = _order_required(requirements)
        given["writeable"] = any(_of_writes(name) for name in requirements or ())
    given = {"copy": True if callee is np.array else None, **given, **_OF_ORDER.get(id(callee), {})}
    known = {"dtype", "copy", "order", "ndmin", "writeable"}
    return (lambda: _array_of(x, **given)) if given.keys() <= known else None


def _array_of(
    x: Any,
    dtype: Any = None,
    copy: Any = None,
    order: Any = None,
    ndmin: int = 0,
    writeable: bool = False,
) -> Any:
    """What ``np.array`` makes of a Tensor, or of a nested sequence that holds some."""
    found = asarray(x, dtype=dtype, copy=None if copy else copy)
    new = found is not x
    if type(x) is not Tensor and copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    if writeable and is_read_only(found):
        copy, new = True, False
    found = laid_out(found, order, copy and not new)
    if type(found) is Tensor:
        found = as_0d_array(found)
    return found.reshape((1,) * (ndmin - found.ndim) + found.shape) if ndmin > found.ndim else found


def _of_writes(requirement: Any) -> bool:
    return str(requirement).upper() in ("W", "WRITEABLE")


def _order_required(requirements: Any) -> str:
    """The order that ``np.require`` is asked for, of what it may be asked of a Tensor."""
    if not requirements:
        return "K"
    wanted = {_REQUIRED.get(str(name).upper(), "?") for name in requirements} - {""}
    if wanted == {"C", "F"}:
        raise ValueError('Cannot specify both "C" and "F" order')
    if not wanted <= {"C", "F"}:
        raise ArgumentError(
            f"np.require of {requirements}: whether a value that is computed owns its memory is "
            "not known: ask for an order (C, F) alone, or write x.copy()"
        )
    return next(iter(wanted), "A")


_REQUIRED = {
    **dict.fromkeys(("C", "C_CONTIGUOUS", "CONTIGUOUS"), "C"),
    **dict.fromkeys(("F", "F_CONTIGUOUS", "FORTRAN"), "F"),
    **dict.fromkeys(("A", "ALIGNED", "E", "ENSUREARRAY", "W", "WRITEABLE"), ""),
}
"""What every Tensor is, and what order can make of it."""
