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

from tracegrad.backends.ufunc_pointers import InnerLoop, inner_loop, is_one_by_one

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
    """``x.sum()`` of an array of one axis, in machine code too."""
    return x.sum()


WRITTEN: dict[str, Callable[..., Any]] = {"quotient": _plain_quotient, "sum_of": _plain_sum}
"""What is no ufunc of its own; a module's attribute would be there before numba is told of it."""


def _ufunc(name: str) -> np.ufunc:
    """The ufunc of a name, NumPy's or SciPy's."""
    if name in SPECIAL:
        from scipy import special  # type: ignore[import-untyped]

        return getattr(special, name)  # type: ignore[no-any-return]
    return getattr(np, name)  # type: ignore[no-any-return]


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
    if name == "sum_of":
        loops = {dtype: loop for dtype, loop in _loops("add").items() if loop.adds_up()}
        teach_it = _teach_sums
    elif name.endswith("_all"):
        return _teach_all(_base(name))
    else:
        loops = _loops(_base(name))
        teach_it = _teach_arrays if name.endswith("_of") else _teach_numbers
    if loops:
        teach_it(plain(name), loops)
    return bool(loops)


def _quotient(a, b):  # type: ignore[no-untyped-def]
    if b == 0:
        raise ZeroDivisionError("division by zero")
    return a / b


def _loops(name: str) -> dict[str, InnerLoop]:
    """NumPy's loops by dtype, which machine code knows by their symbols from here on."""
    from llvmlite import binding

    found = {dtype: inner_loop(_ufunc(name), dtype) for dtype in DTYPES}
    loops = {dtype: loop for dtype, loop in found.items() if loop is not None}
    for loop in loops.values():
        binding.add_symbol(loop.symbol, loop.address)
        if loop.data:
            binding.add_symbol(f"{loop.symbol}_data", loop.data)
    return loops


def _teach_numbers(plain: Callable[..., Any], loops: dict[str, InnerLoop]) -> None:
    """Has numba compile calls of a function of numbers as calls of the loops."""
    from numba import types
    from numba.extending import intrinsic, overload

    def chosen(*operands: Any) -> InnerLoop | None:
        """The loop for these types: numbers of Python are wide, as in NumPy."""
        if any(not isinstance(x, types.Float | types.Integer) for x in operands):
            return None
        wide = all(x is types.float32 for x in operands)
        return loops.get("float32" if wide else "float64")

    def signature_of(loop: InnerLoop, operands: tuple[Any, ...]) -> tuple[Any, Any]:
        type_ = types.float32 if loop.dtype == "float32" else types.float64

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return _call_of_numbers(context, builder, loop, args)

        return type_(*[type_ for _ in operands]), codegen

    @intrinsic  # type: ignore[untyped-decorator]
    def one(context: Any, x: Any) -> Any:
        return signature_of(chosen(x), (x,))  # type: ignore[arg-type]

    @intrinsic  # type: ignore[untyped-decorator]
    def two(context: Any, a: Any, b: Any) -> Any:
        return signature_of(chosen(a, b), (a, b))  # type: ignore[arg-type]

    if plain.__code__.co_argcount == 1:
        overload(plain)(lambda x: (lambda x: one(x)) if chosen(x) else None)
    else:
        overload(plain)(lambda a, b: (lambda a, b: two(a, b)) if chosen(a, b) else None)


def _call_of_numbers(context: Any, builder: Any, loop: InnerLoop, args: Any) -> Any:
    """The instructions that call a loop for one element."""
    from numba.core import cgutils

    places = [cgutils.alloca_once(builder, value.type) for value in args]
    for place, value in zip(places, args):
        builder.store(value, place)
    result = cgutils.alloca_once(builder, args[0].type)
    step = context.get_constant(_intp(), np.dtype(loop.dtype).itemsize)
    length = context.get_constant(_intp(), 1)
    _call(builder, loop, [*places, result], length, [step] * (len(places) + 1))
    return builder.load(result)


def _teach_arrays(plain: Callable[..., Any], loops: dict[str, InnerLoop]) -> None:
    """Has numba compile calls of a function of arrays of one axis as calls of the loops.

    Operands may be numbers of the arrays' dtype, Python's too where that is float64.
    """
    from numba import types
    from numba.extending import intrinsic, overload

    def chosen(*operands: Any) -> InnerLoop | None:
        *given, out = operands
        if not isinstance(out, types.Array) or out.ndim != 1:
            return None
        for x in given:
            if isinstance(x, types.Array):
                if x.ndim != 1 or x.dtype != out.dtype:
                    return None
            elif x != out.dtype:
                return None
        return loops.get(str(out.dtype))

    def signature_of(*operands: Any) -> tuple[Any, Any]:
        loop = chosen(*operands)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            _call_of_arrays(context, builder, loop, signature, args)  # type: ignore[arg-type]
            return context.get_dummy_value()

        return types.void(*operands), codegen

    @intrinsic  # type: ignore[untyped-decorator]
    def one(context: Any, x: Any, out: Any) -> Any:
        return signature_of(x, out)

    @intrinsic  # type: ignore[untyped-decorator]
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
    length = builder.extract_value(out.shape, 0)
    _call(builder, loop, [place for place, _ in operands], length, [step for _, step in operands])


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

    def whole_of_one(x, like):  # type: ignore[no-untyped-def]
        out = np.empty_like(like)
        at_once(x, out)
        return out

    def whole_of_two(a, b, like):  # type: ignore[no-untyped-def]
        out = np.empty_like(like)
        at_once(a, b, out)
        return out

    def each_of_one(x, like):  # type: ignore[no-untyped-def]
        out = np.empty_like(like)
        for i in range(out.size):
            out[i] = alone(x[i])
        return out

    def each_of_two(a, b, like):  # type: ignore[no-untyped-def]
        out = np.empty_like(like)
        x, y = np.broadcast_to(a, out.shape), np.broadcast_to(b, out.shape)
        for i in range(out.size):
            out[i] = alone(x[i], y[i])
        return out

    whole_of = [register_jitable(f) for f in (whole_of_one, whole_of_two)]
    each_of = [register_jitable(f) for f in (each_of_one, each_of_two)]

    def one(x):  # type: ignore[no-untyped-def]
        run = chosen(x)
        return run and (lambda x: run(x, x))

    def two(a, b):  # type: ignore[no-untyped-def]
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
        return array.data, builder.extract_value(array.strides, 0)
    place = cgutils.alloca_once(builder, value.type)
    builder.store(value, place)
    return place, context.get_constant(_intp(), 0)


def _teach_sums(plain: Callable[..., Any], loops: dict[str, InnerLoop]) -> None:
    """Has numba compile sums of arrays of one axis as NumPy's ``add.reduce``."""
    from numba import types
    from numba.extending import intrinsic, overload

    def chosen(x: Any) -> InnerLoop | None:
        if not isinstance(x, types.Array) or x.ndim != 1:
            return None
        return loops.get(str(x.dtype))

    @intrinsic  # type: ignore[untyped-decorator]
    def total(context: Any, x: Any) -> Any:
        loop: InnerLoop = chosen(x)  # type: ignore[assignment]

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            from numba.core import cgutils

            number = context.get_value_type(signature.return_type)
            place = cgutils.alloca_once_value(builder, number(0.0))
            data, step = _place_and_step(context, builder, x, args[0])
            array = context.make_array(x)(context, builder, args[0])
            still = context.get_constant(_intp(), 0)
            length = builder.extract_value(array.shape, 0)
            _call(builder, loop, [place, data, place], length, [still, step, still])
            return builder.load(place)

        return x.dtype(x), codegen

    overload(plain)(lambda x: (lambda x: total(x)) if chosen(x) else None)


def _intp() -> Any:
    from numba import types

    return types.intp


def _call(builder: Any, loop: InnerLoop, places: list[Any], length: Any, steps: list[Any]) -> None:
    """Calls ``loop(args, length, steps, data)``."""
    from llvmlite import ir
    from numba.core import cgutils

    byte = ir.IntType(8).as_pointer()
    word = length.type
    args = cgutils.alloca_once(builder, byte, size=len(places))
    lengths = cgutils.alloca_once(builder, word)
    strides = cgutils.alloca_once(builder, word, size=len(places))
    builder.store(length, lengths)
    for i, (place, step) in enumerate(zip(places, steps, strict=True)):
        builder.store(builder.bitcast(place, byte), cgutils.gep_inbounds(builder, args, i))
        builder.store(step, cgutils.gep_inbounds(builder, strides, i))
    type_ = ir.FunctionType(
        ir.VoidType(), [byte.as_pointer(), word.as_pointer(), word.as_pointer(), byte]
    )
    function = cgutils.get_or_insert_function(builder.module, type_, loop.symbol)
    data = ir.Constant(byte, None)
    if loop.data:
        name = f"{loop.symbol}_data"
        known = builder.module.globals.get(name)
        data = known or ir.GlobalVariable(builder.module, ir.IntType(8), name)
    builder.call(function, [args, lengths, strides, data])
