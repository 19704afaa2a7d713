"""NumPy's ufuncs as functions that run in Python and in machine code of numba alike.

``from tracegrad.backends.numba_functions import log`` gives a function of one number. Python runs
``np.log``; what numba compiles calls NumPy's own inner loop for one element, so both have the same
bits. ``log_of(x, out)`` does so for arrays of one axis, of whose operands some may be numbers;
``log_all(x)`` gives a new array with the bits that ``log`` has for each element, and ``sum_of(x)``
adds one up. Numba is imported when the first of these is asked for, and is not needed
for what Python runs.

>>> import math
>>> from tracegrad.backends.numba_functions import log
>>> math.isclose(log(10.0), math.log(10.0))
True
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tracegrad.backends.ufunc_pointers import (
    InnerLoop,
    inner_loop,
    is_one_by_one,
    power_of_c,
    product_loop,
)

DTYPES = ("float64", "float32")

UNARY = (
    *("arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "cos", "cosh"),
    *("exp", "exp2", "expm1", "floor", "log", "log10", "log1p", "log2", "rint", "sin", "sinh"),
    *("sign", "tan", "tanh", "trunc"),
)
BINARY = (
    *("arctan2", "copysign", "floor_divide", "fmax", "fmin", "hypot", "logaddexp", "logaddexp2"),
    *("maximum", "minimum", "power", "remainder"),
)
"""Ufuncs that machine code may call; arithmetic, ``sqrt`` and ``abs`` are the processor's."""

SPECIAL = ("erf", "erfc", "expit", "gammaln", "log_ndtr", "ndtr")
"""Ufuncs of one operand in ``scipy.special`` that it may call as well."""


def _bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function for numba to compile, which takes annotations for a part of its signature."""
    function.__annotations__ = {}
    return function


def __getattr__(name: str) -> Callable[..., Any]:
    """The function of numbers, or of arrays (``log_of``, ``log_all``), which numba knows then."""
    if _base(name) not in (*UNARY, *BINARY, *SPECIAL) and name not in WRITTEN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if not teach(name) and importlib.util.find_spec("numba"):
        raise AttributeError(f"NumPy's loops for {name!r} are not to be had")
    return plain(name)


def _base(name: str) -> str:
    """The ufunc of whose numbers, or arrays, a function is."""
    return name.removesuffix("_of").removesuffix("_all")


def _plain_quotient(a: Any, b: Any) -> Any:
    """``a / b`` of Python's floats, in machine code too: it raises where b is zero."""
    return a / b


def _plain_raised(a: Any, b: Any) -> Any:
    """``a ** b`` of numbers, Python's as those of NumPy, in machine code too."""
    return (a if isinstance(a, np.floating) else np.float64(a)) ** b


@cache
def plain(name: str) -> Callable[..., Any]:
    """The function as Python runs it."""
    if name in WRITTEN:
        return WRITTEN[name]
    ufunc = _ufunc(_base(name))
    kind = _of_all if name.endswith("_all") else _of_arrays if name.endswith("_of") else _of_numbers
    made = kind(ufunc, ufunc.nin == 1)
    made.__name__ = made.__qualname__ = name
    return made


def _plain_sum(x: Any) -> Any:
    """``x.sum()`` of an array of one axis, or one in C order, in machine code too."""
    return x.sum()


def _plain_product(a: Any, b: Any, out: Any) -> None:
    """``a @ b`` of matrices and vectors, written to `out`, in machine code too."""
    np.matmul(a, b, out=out)


def _plain_dot(a: Any, b: Any) -> Any:
    """``a @ b`` of two vectors, in machine code too."""
    return a @ b


def _plain_sum_of_rows(x: Any, out: Any) -> None:
    """``x.sum(axis=0)`` of an array in C order, written to `out`, in machine code too."""
    x.sum(axis=0, out=out)


def _plain_count(x: Any) -> Any:
    """``x.sum()`` of bools, in machine code too."""
    return x.sum()


def _plain_max(x: Any) -> Any:
    """``x.max()`` of an array of one axis, or one in C order, in machine code too."""
    return x.max()


def _plain_min(x: Any) -> Any:
    """``x.min()`` of such an array, in machine code too."""
    return x.min()


@_bare
def _plain_with_row(x: Any, k: Any) -> Any:
    """An array that has a row k: `x`, or one with twice as many rows that begins with those."""
    if k < len(x):
        return x
    longer = np.empty((2 * len(x),) + x.shape[1:], x.dtype)
    longer[: len(x)] = x
    return longer


def _plain_empty_item(saved: Any) -> Any:
    """An empty list of the type of the lists in one, in machine code too."""
    return []


WRITTEN: dict[str, Callable[..., Any]] = {
    "count_of": _plain_count,
    "dot_of": _plain_dot,
    "empty_item": _plain_empty_item,
    "matmul_of": _plain_product,
    "max_of": _plain_max,
    "min_of": _plain_min,
    "quotient": _plain_quotient,
    "raised": _plain_raised,
    "sum_of": _plain_sum,
    "sum_of_rows": _plain_sum_of_rows,
    "with_row": _plain_with_row,
}
"""What is no ufunc of its own; a module's attribute would be there before numba is told of it."""


EXTREMES = {"max_of": "maximum", "min_of": "minimum"}
"""The ufuncs whose reductions begin with the first element."""


def _ufunc(name: str) -> np.ufunc:
    """The ufunc of a name, NumPy's or SciPy's."""
    if name in SPECIAL:
        from scipy import special  # type: ignore[import-untyped]

        found: np.ufunc = getattr(special, name)
        return found
    found = getattr(np, name)
    return found


def _of_numbers(ufunc: np.ufunc, unary: bool) -> Callable[..., Any]:
    def of_one(x: Any) -> Any:
        return ufunc(x)

    def of_two(a: Any, b: Any) -> Any:
        return ufunc(a, b)

    return of_one if unary else of_two


def _of_arrays(ufunc: np.ufunc, unary: bool) -> Callable[..., Any]:
    def of_one(x: Any, out: Any) -> None:
        ufunc(x, out=out)

    def of_two(a: Any, b: Any, out: Any) -> None:
        ufunc(a, b, out=out)

    return of_one if unary else of_two


def _of_all(ufunc: np.ufunc, unary: bool) -> Callable[..., Any]:
    def all_of(*operands: Any) -> Any:
        dtype = next(x.dtype for x in operands if isinstance(x, np.ndarray))
        if is_one_by_one(ufunc, str(dtype)):
            return ufunc(*operands)
        each = zip(*np.broadcast_arrays(*operands), strict=True)
        return np.array([ufunc(*numbers) for numbers in each], dtype)

    def all_of_one(x: Any) -> Any:
        return all_of(x)

    def all_of_two(a: Any, b: Any) -> Any:
        return all_of(a, b)

    return all_of_one if unary else all_of_two


@cache
def teach(name: str) -> bool:
    """Has numba compile calls of a function as calls of NumPy's own loops.

    False where numba or such a loop is missing.
    """
    try:
        from numba.extending import overload
    except ImportError:
        return False
    if name == "quotient":
        overload(_plain_quotient)(lambda a, b: _quotient)
        return True
    if name == "count_of":
        overload(_plain_count)(lambda x: _count)
        return True
    if name == "with_row":
        overload(_plain_with_row)(lambda x, k: _plain_with_row)
        return True
    if name == "empty_item":
        return _teach_empty_items()
    if name == "raised":
        return _teach_powers()
    if name == "sum_of_rows":
        return teach("sum_of") and _teach_sums_of_rows()
    if name in ("matmul_of", "dot_of"):
        loops = _known({dtype: product_loop(dtype) for dtype in DTYPES})
        teach_it = _teach_products if name == "matmul_of" else _teach_dots
    elif name == "sum_of":
        loops = {dtype: loop for dtype, loop in _loops("add").items() if loop.adds_up()}
        teach_it = _teach_reductions
    elif name in EXTREMES:
        found = _loops(EXTREMES[name])
        ufunc = _ufunc(EXTREMES[name])
        loops = {dtype: loop for dtype, loop in found.items() if loop.finds_extremes(ufunc)}
        teach_it = _teach_reductions
    elif name.endswith("_all"):
        return _teach_all(_base(name))
    else:
        loops = _loops(_base(name))
        teach_it = _teach_arrays if name.endswith("_of") else _teach_numbers
    if loops:
        teach_it(plain(name), loops)
    return bool(loops)


@_bare
def _quotient(a: Any, b: Any) -> Any:
    if b == 0:
        raise ZeroDivisionError("division by zero")
    return a / b


def _loops(name: str) -> dict[str, InnerLoop]:
    """NumPy's loops by dtype."""
    return _known({dtype: inner_loop(_ufunc(name), dtype) for dtype in DTYPES})


def _known(found: dict[str, InnerLoop | None]) -> dict[str, InnerLoop]:
    """The loops that are there, which machine code knows by their symbols from here on."""
    from llvmlite import binding

    loops = {dtype: loop for dtype, loop in found.items() if loop is not None}
    for loop in loops.values():
        binding.add_symbol(loop.symbol, loop.address)
        if loop.data:
            binding.add_symbol(f"{loop.symbol}_data", loop.data)
    return loops


def _teach_numbers(plain: Callable[..., Any], loops: dict[str, InnerLoop]) -> None:
    """Has numba compile calls of a function of numbers as calls of the loops."""
    from numba import types
    from numba.extending import overload

    def chosen(*operands: Any) -> InnerLoop | None:
        """The loop for these types: numbers of Python are wide, as in NumPy."""
        if any(not isinstance(x, types.Float | types.Integer) for x in operands):
            return None
        wide = all(x is types.float32 for x in operands)
        return loops.get("float32" if wide else "float64")

    def signature_of(*operands: Any) -> tuple[Any, Any]:
        loop = chosen(*operands)
        assert loop is not None
        type_ = types.float32 if loop.dtype == "float32" else types.float64

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return _call_of_numbers(context, builder, loop, args)

        return type_(*[type_ for _ in operands]), codegen

    @_intrinsic
    def one(context: Any, x: Any) -> Any:
        return signature_of(x)

    @_intrinsic
    def two(context: Any, a: Any, b: Any) -> Any:
        return signature_of(a, b)

    if plain.__code__.co_argcount == 1:
        overload(plain)(lambda x: (lambda x: one(x)) if chosen(x) else None)
    else:
        overload(plain)(lambda a, b: (lambda a, b: two(a, b)) if chosen(a, b) else None)


def _teach_empty_items() -> bool:
    """Has numba compile empty lists whose items are of the type that other such lists have."""
    from numba import types
    from numba.extending import overload

    zeros = {types.float64: 0.0, types.float32: np.float32(0.0), types.int64: 0, types.bool_: False}

    def chosen(saved: Any) -> Callable[..., Any] | None:
        item = getattr(saved, "dtype", None)
        if not isinstance(item, types.List) or item.dtype not in zeros:
            return None
        zero = zeros[item.dtype]
        return lambda saved: [zero for _ in range(0)]

    overload(_plain_empty_item)(_bare(chosen))
    return True


def _teach_powers() -> bool:
    """Has numba compile powers of numbers as calls of the C library's function.

    By a name of its own: LLVM computes some powers otherwise where it knows what is called.
    """
    from llvmlite import binding
    from numba import types
    from numba.extending import overload

    addresses = {dtype: power_of_c(dtype) for dtype in DTYPES}
    if None in addresses.values():
        return False
    raise_: dict[str, Any] = {}
    for dtype, address in addresses.items():
        type_, symbol = getattr(types, dtype), f"tracegrad_pow_{dtype}"
        binding.add_symbol(symbol, address)
        raise_[dtype] = types.ExternalFunction(symbol, type_(type_, type_))
    narrow, wide = raise_["float32"], raise_["float64"]

    def chosen(a: Any, b: Any) -> Callable[..., Any] | None:
        if any(not isinstance(x, types.Float | types.Integer) for x in (a, b)):
            return None
        if a is b is types.float32:
            return lambda a, b: narrow(a, b)
        return lambda a, b: wide(float(a), float(b))

    overload(_plain_raised)(_bare(chosen))
    return True


def _call_of_numbers(context: Any, builder: Any, loop: InnerLoop, args: Any) -> Any:
    """The instructions that call a loop for one element."""
    from numba.core import cgutils

    places = [cgutils.alloca_once(builder, value.type) for value in args]
    for place, value in zip(places, args):
        builder.store(value, place)
    result = cgutils.alloca_once(builder, args[0].type)
    step = context.get_constant(_intp(), np.dtype(loop.dtype).itemsize)
    length = context.get_constant(_intp(), 1)
    _call(builder, loop, [*places, result], [length], [step] * (len(places) + 1))
    return builder.load(result)


def _teach_arrays(plain: Callable[..., Any], loops: dict[str, InnerLoop]) -> None:
    """Has numba compile calls of a function of arrays as calls of the loops.

    The arrays have one axis, or are in C order. Operands may be numbers of their dtype, Python's
    too where that is float64.
    """
    from numba import types
    from numba.extending import overload

    def chosen(*operands: Any) -> InnerLoop | None:
        *given, out = operands
        if not isinstance(out, types.Array) or not _is_in_line(out):
            return None
        for x in given:
            if isinstance(x, types.Array):
                if x.ndim != out.ndim or not _is_in_line(x) or x.dtype != out.dtype:
                    return None
            elif x != out.dtype:
                return None
        return loops.get(str(out.dtype))

    def signature_of(*operands: Any) -> tuple[Any, Any]:
        loop = chosen(*operands)
        assert loop is not None

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            _call_of_arrays(context, builder, loop, signature, args)
            return context.get_dummy_value()

        return types.void(*operands), codegen

    @_intrinsic
    def one(context: Any, x: Any, out: Any) -> Any:
        return signature_of(x, out)

    @_intrinsic
    def two(context: Any, a: Any, b: Any, out: Any) -> Any:
        return signature_of(a, b, out)

    if plain.__code__.co_argcount == 2:
        overload(plain)(lambda x, out: (lambda x, out: one(x, out)) if chosen(x, out) else None)
    else:
        overload(plain)(
            lambda a, b, out: (lambda a, b, out: two(a, b, out)) if chosen(a, b, out) else None
        )


def _call_of_arrays(context: Any, builder: Any, loop: InnerLoop, signature: Any, args: Any) -> None:
    """The instructions that call a loop for the elements of arrays; `out` says how many."""
    operands = [
        _place_and_step(context, builder, type_, value)
        for type_, value in zip(signature.args, args, strict=True)
    ]
    out = context.make_array(signature.args[-1])(context, builder, args[-1])
    places, steps = zip(*operands, strict=True)
    _call(builder, loop, list(places), [out.nitems], list(steps))


def _teach_all(name: str) -> bool:
    """Has numba compile calls for all elements as one call of a loop, where bits allow that."""
    from numba import types
    from numba.extending import overload, register_jitable

    ufunc, alone, at_once = _ufunc(name), plain(name), plain(f"{name}_of")

    def chosen(*operands: Any) -> Callable[..., Any] | None:
        """What computes the function of these operands and an array of the result's shape."""
        arrays = [x for x in operands if isinstance(x, types.Array)]
        if not arrays:
            return None
        whole = is_one_by_one(ufunc, str(arrays[0].dtype))
        return (whole_of if whole else each_of)[len(operands) - 1]

    @_bare
    def whole_of_one(x: Any, like: Any) -> Any:
        out = np.empty_like(like)
        at_once(x, out)
        return out

    @_bare
    def whole_of_two(a: Any, b: Any, like: Any) -> Any:
        out = np.empty_like(like)
        at_once(a, b, out)
        return out

    @_bare
    def each_of_one(x: Any, like: Any) -> Any:
        out = np.empty_like(like)
        for i in range(out.size):
            out[i] = alone(x[i])
        return out

    @_bare
    def each_of_two(a: Any, b: Any, like: Any) -> Any:
        out = np.empty_like(like)
        x, y = np.broadcast_to(a, out.shape), np.broadcast_to(b, out.shape)
        for i in range(out.size):
            out[i] = alone(x[i], y[i])
        return out

    whole_of = [register_jitable(f) for f in (whole_of_one, whole_of_two)]
    each_of = [register_jitable(f) for f in (each_of_one, each_of_two)]

    @_bare
    def one(x: Any) -> Any:
        run = chosen(x)
        return run and (lambda x: run(x, x))

    @_bare
    def two(a: Any, b: Any) -> Any:
        run = chosen(a, b)
        if isinstance(a, types.Array):
            return run and (lambda a, b: run(a, b, a))
        return run and (lambda a, b: run(a, b, b))

    known = teach(name) and teach(f"{name}_of")
    if known:
        overload(plain(f"{name}_all"))(one if ufunc.nin == 1 else two)
    return known


def _place_and_step(context: Any, builder: Any, type_: Any, value: Any) -> tuple[Any, Any]:
    """Where an operand lies, and how far its elements are apart: a number is at one place."""
    from numba import types
    from numba.core import cgutils

    if isinstance(type_, types.Array):
        array = context.make_array(type_)(context, builder, value)
        return array.data, builder.extract_value(array.strides, type_.ndim - 1)
    place = cgutils.alloca_once(builder, value.type)
    builder.store(value, place)
    return place, context.get_constant(_intp(), 0)


@_bare
def _count(x: Any) -> Any:
    count = 0
    for found in x.flat:
        count += found
    return count


def _teach_reductions(plain: Callable[..., Any], loops: dict[str, InnerLoop]) -> None:
    """Has numba compile reductions of arrays, ``x.sum()`` or ``x.max()``, as NumPy's."""
    from numba import types
    from numba.extending import overload

    def chosen(x: Any) -> InnerLoop | None:
        if not isinstance(x, types.Array) or not _is_in_line(x):
            return None
        return loops.get(str(x.dtype))

    first = 1 if plain is not _plain_sum else 0  # elements that the result begins with

    @_intrinsic
    def total(context: Any, x: Any) -> Any:
        loop = chosen(x)
        assert loop is not None

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            from numba.core import cgutils

            data, step = _place_and_step(context, builder, x, args[0])
            array = context.make_array(x)(context, builder, args[0])
            still, skipped = (context.get_constant(_intp(), number) for number in (0, first))
            if first:
                begin = builder.load(data)
                bytes_ = builder.bitcast(data, cgutils.voidptr_t)
                rest = builder.gep(bytes_, [builder.mul(step, skipped)])
            else:
                begin, rest = context.get_value_type(signature.return_type)(0.0), data
            place = cgutils.alloca_once_value(builder, begin)
            length = builder.sub(array.nitems, skipped)
            _call(builder, loop, [place, rest, place], [length], [still, step, still])
            return builder.load(place)

        return x.dtype(x), codegen

    @_bare
    def of_some(x: Any) -> Any:
        if x.size == 0:
            raise ValueError("an array without elements has no largest one")
        return total(x)

    of_all = of_some if first else (lambda x: total(x))
    overload(plain)(lambda x: of_all if chosen(x) else None)


def _is_in_line(array: Any) -> bool:
    """Whether all elements of an array of this type are as far apart as the next two."""
    return array.ndim == 1 or (array.ndim > 1 and array.layout == "C")


def _teach_products(plain: Callable[..., Any], loops: dict[str, InnerLoop]) -> None:
    """Has numba compile products of matrices and vectors as calls of NumPy's ``matmul``."""
    from numba import types
    from numba.extending import overload

    def chosen(a: Any, b: Any, out: Any) -> InnerLoop | None:
        if not all(isinstance(x, types.Array) for x in (a, b, out)):
            return None
        fits = out.ndim == a.ndim + b.ndim - 2 and {a.ndim, b.ndim} <= {1, 2}
        one = len({a.dtype, b.dtype, out.dtype}) == 1
        return loops.get(str(out.dtype)) if fits and one else None

    @_intrinsic
    def product(context: Any, a: Any, b: Any, out: Any) -> Any:
        loop = chosen(a, b, out)
        assert loop is not None

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            arrays = [
                _matrix(context, builder, type_, value)
                for type_, value in zip((a, b, out), args, strict=True)
            ]
            _call_of_product(context, builder, loop, arrays)
            return context.get_dummy_value()

        return types.void(a, b, out), codegen

    overload(plain)(
        lambda a, b, out: (lambda a, b, out: product(a, b, out)) if chosen(a, b, out) else None
    )


def _teach_dots(plain: Callable[..., Any], loops: dict[str, InnerLoop]) -> None:
    """Has numba compile products of two vectors as calls of NumPy's ``matmul``."""
    from numba import types
    from numba.extending import overload

    def chosen(a: Any, b: Any) -> InnerLoop | None:
        arrays = isinstance(a, types.Array) and isinstance(b, types.Array)
        one = arrays and a.ndim == b.ndim == 1 and a.dtype == b.dtype
        return loops.get(str(a.dtype)) if one else None

    @_intrinsic
    def dot(context: Any, a: Any, b: Any) -> Any:
        loop = chosen(a, b)
        assert loop is not None

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            from numba.core import cgutils

            place = cgutils.alloca_once(builder, context.get_value_type(a.dtype))
            arrays = [
                _matrix(context, builder, type_, value)
                for type_, value in zip((a, b), args, strict=True)
            ]
            _call_of_product(context, builder, loop, [*arrays, (place, [], [])])
            return builder.load(place)

        return a.dtype(a, b), codegen

    overload(plain)(lambda a, b: (lambda a, b: dot(a, b)) if chosen(a, b) else None)


def _matrix(context: Any, builder: Any, type_: Any, value: Any) -> tuple[Any, list[Any], list[Any]]:
    """Where an array lies, its lengths, and how far apart elements are along each axis."""
    array = context.make_array(type_)(context, builder, value)
    axes = range(type_.ndim)
    lengths = [builder.extract_value(array.shape, axis) for axis in axes]
    return array.data, lengths, [builder.extract_value(array.strides, axis) for axis in axes]


def _call_of_product(context: Any, builder: Any, loop: InnerLoop, arrays: list[Any]) -> None:
    """The instructions that call ``matmul`` for two arrays and a place for the result."""
    one, still = (context.get_constant(_intp(), number) for number in (1, 0))
    (_, rows, _), (_, columns, _), _ = arrays
    inner, outer = rows[-1], columns[1:] or [one]
    lengths = [one, *(rows[:-1] or [one]), inner, *outer]

    def step(length: Any, step: Any) -> Any:
        return builder.select(builder.icmp_signed("==", length, one), still, step)

    def steps(array: Any, first: bool, second: bool) -> list[Any]:
        """Steps along two axes, of which one may be missing."""
        found = iter(list(map(step, array[1], array[2])))
        return [next(found) if there else still for there in (first, second)]

    a, b, out = arrays
    has_rows, has_columns = len(rows) == 2, len(columns) == 2
    all_steps = [
        *[still] * 3,
        *steps(a, has_rows, True),
        *steps(b, True, has_columns),
        *steps(out, has_rows, has_columns),
    ]
    _call(builder, loop, [place for place, _, _ in arrays], lengths, all_steps)


def _teach_sums_of_rows() -> bool:
    """Has numba compile sums of rows: NumPy adds one after the other, if they are no numbers."""
    from numba.extending import overload, register_jitable

    total = _plain_sum

    @_bare
    def sum_of_rows(x: Any, out: Any) -> None:
        if x.shape[1] == 1:
            out[0] = total(x[:, 0])
        else:
            out[:] = 0
            for i in range(x.shape[0]):
                for j in range(x.shape[1]):
                    out[j] += x[i, j]

    rows = register_jitable(sum_of_rows)

    @_bare
    def sum_of_matrices(x: Any, out: Any) -> None:
        rows(x.reshape(x.shape[0], x.shape[1] * x.shape[2]), out.reshape(out.size))

    chosen = {2: sum_of_rows, 3: sum_of_matrices}
    overload(_plain_sum_of_rows)(lambda x, out: chosen.get(x.ndim))
    return True


def _intrinsic(typing: Callable[..., Any]) -> Callable[..., Any]:
    """A function that numba compiles as the instructions that `typing` gives for its operands."""
    from numba.extending import intrinsic

    found: Callable[..., Any] = intrinsic(typing)
    return found


def _intp() -> Any:
    from numba import types

    return types.intp


def _call(
    builder: Any, loop: InnerLoop, places: list[Any], lengths: list[Any], steps: list[Any]
) -> None:
    """Calls ``loop(args, lengths, steps, data)``."""
    from llvmlite import ir
    from numba.core import cgutils

    byte = ir.IntType(8).as_pointer()
    word = lengths[0].type
    pointers = [builder.bitcast(place, byte) for place in places]
    tables = []
    for values in (pointers, lengths, steps):
        table = cgutils.alloca_once(builder, values[0].type, size=len(values))
        for i, value in enumerate(values):
            builder.store(value, cgutils.gep_inbounds(builder, table, i))
        tables.append(table)
    type_ = ir.FunctionType(
        ir.VoidType(), [byte.as_pointer(), word.as_pointer(), word.as_pointer(), byte]
    )
    function = cgutils.get_or_insert_function(builder.module, type_, loop.symbol)
    data = ir.Constant(byte, None)
    if loop.data:
        name = f"{loop.symbol}_data"
        known = builder.module.globals.get(name)
        data = known or ir.GlobalVariable(builder.module, ir.IntType(8), name)
    builder.call(function, [*tables, data])
