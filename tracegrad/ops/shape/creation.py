"""Ops that make new arrays of lengths and numbers.

A record here has numbers or nothing as operands, so it belongs to no algebra by itself: `new` runs
it in the current mode (a Tensor, in the graph while a function is being traced), `apply_in` where
another value lives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from operator import index as as_int
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.ir import Trait
from codegen.sizes import Dim, Size, Sizes
from codegen.spelling import Spelling, spell
from codegen.types import (
    BFLOAT16,
    DTYPES,
    ArrayType,
    broadcast,
    is_inexact,
    kind,
    promote,
    weak,
    weak_of,
)
from tracegrad.errors import ArgumentError, ArgumentValueError, DTypeError
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array, holds_tensors, stacked
from tracegrad.ops.record import KERNEL_NAMES, TABLE, define
from tracegrad.runtime.provided import Provided
from tracegrad.runtime.thread_state import STATE
from tracegrad.values.dispatch import (
    HANDLERS,
    SEQUENCES,
    Nothing,
    apply_in,
    dtype_of,
    is_jax_array,
    is_number,
    ndim_of,
    shape_of,
)

DEFAULT_FLOAT = "float64"


def new(op: Any, *operands: Any, **attributes: Any) -> Any:
    """The op as a Tensor; while tracing it is a node of the graph."""
    return HANDLERS[Nothing](None, op, operands, attributes)


tensor_of = Provided("Tensors of other arrays")


# -- numbers of elements ------------------------------------------------------------------------

extent = define(
    "extent",
    "_number_of_elements(size, dtype)",
    jax="size",
    operands="",
    infer=lambda sizes, size, dtype: ArrayType(dtype),
    attributes={"size": ..., "dtype": ...},
    traits=(Trait.EXTENT,),
    differentiable=False,
    doc="A number of elements, as a scalar of `dtype`; known from types alone.",
)


def _number_of_elements(size: int, dtype: str) -> Any:
    return np.dtype(dtype).type(size)


KERNEL_NAMES["_number_of_elements"] = _number_of_elements


def count(dims: tuple[Dim, ...], like: Any) -> Any:
    """The product of lengths, as a number to divide values of `like`'s dtype by."""
    size = sz.mul(dims)
    dtype = dtype_of(like)
    dtype = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    return extent_like(like, size, dtype)


def extent_like(like: Any, size: Dim, dtype: str) -> Any:
    """`extent` in the algebra of `like` (an op without operands belongs to none by itself)."""
    return apply_in(like, extent, {"size": size, "dtype": dtype})


# -- arrays of one number -----------------------------------------------------------------------


def dims_of_shape(shape: Any) -> tuple[Dim, ...]:
    """The attribute `shape` as a tuple."""
    return shape if isinstance(shape, tuple) else (shape,)


def bare(dims: tuple[Dim, ...]) -> Any:
    """The attribute `shape`: a single length stands without parentheses, as one writes it."""
    return dims[0] if len(dims) == 1 else dims


def _filled(sizes: Sizes, *value: ArrayType, shape: Any, dtype: str | None) -> ArrayType:
    if value:
        broadcast(sizes, [value[0].shape, dims_of_shape(shape)])
    return ArrayType(dtype or value[0].dtype, dims_of_shape(shape))


full_of = define(
    "full",
    "np.full(shape, value, dtype=dtype)",
    operands="value",
    infer=_filled,
    vjp=lambda ct, y, value, shape, dtype: (ct,),
    attributes={"shape": ..., "dtype": None},
    traits=(Trait.C_ORDER,),
    batch=batching_rules.broadcasting,
    of_numbers=True,
    doc="An array of one number, or of an array repeated; without `dtype` of its own dtype.",
)


def _constant_array(name: str) -> Any:
    def text(attributes: Mapping[str, Any]) -> Spelling:
        if not dims_of_shape(attributes["shape"]):  # a number, as every result of no axes
            if attributes["dtype"] == BFLOAT16:  # of which NumPy has no class
                return spell(f"np.{name}(shape, dtype=dtype)[()]")
            of = np.dtype(attributes["dtype"])
            number = of.type(name == "ones").item()
            return spell(f"np.{'bool_' if of.kind == 'b' else of.name}({number!r})")
        return spell(f"np.{name}(shape, dtype=dtype)")

    return define(
        name,
        text,
        operands="",
        infer=_filled,
        attributes={"shape": ..., "dtype": DEFAULT_FLOAT},
        traits=(Trait.C_ORDER,),
        differentiable=False,
    )


zeros_of_shape = _constant_array("zeros")
ones_of_shape = _constant_array("ones")


def zeros_in(like: Any, shape: tuple[Dim, ...], dtype: str) -> Any:
    """Zeros in the algebra of `like`."""
    return apply_in(like, zeros_of_shape, {"shape": bare(shape), "dtype": dtype})


def zeros_of(x: Any) -> Any:
    """Zeros of the shape and dtype of `x`, in the algebra of `x`."""
    return zeros_in(x, shape_of(x), dtype_of(x))


# -- arrays of one number that lie in memory as another array does ------------------------------


def _made_like_type(
    sizes: Sizes,
    x: ArrayType,
    *value: ArrayType,
    shape: Any,
    dtype: str | None,
    order: str,
) -> ArrayType:
    whole = x.shape if shape is None else dims_of_shape(shape)
    return _filled(sizes, *value, shape=whole, dtype=dtype or x.dtype)


def _like_text(module: str, name: str) -> Any:
    value = ", value" if name == "full" else ""

    def text(attributes: Mapping[str, Any]) -> Spelling:
        usual: dict[str, Any] = {"dtype": None, "shape": None}
        if module == "np":  # JAX has no order
            usual["order"] = "K"
        more = [f", {key}={key}" for key, value in usual.items() if attributes[key] != value]
        return spell(f"{module}.{name}_like(x{value}{''.join(more)})")

    return text


def _like_record(name: str, plain: Any, **more: Any) -> Any:
    """Arrays like `x`, in the order in which its elements lie in memory.

    Where that is C order, a program has an array of the shape: see `optimizer.memory_order`.
    """
    return define(
        f"{name}_like",
        _like_text("np", name),
        jax=_like_text("jnp", name),
        infer=_made_like_type,
        attributes={"shape": None, "dtype": None, "order": "K"},
        batch=batching_rules.made_like(plain),
        **more,
    )


zeros_like_of = _like_record("zeros", zeros_of_shape, differentiable=False)
ones_like_of = _like_record("ones", ones_of_shape, differentiable=False)
full_like_of = _like_record(
    "full",
    full_of,
    operands="x value",
    vjp=lambda ct, y, x, value, **_: (None, ct),
    of_numbers=True,
)
LIKE = {zeros_of_shape: zeros_like_of, ones_of_shape: ones_like_of, full_of: full_like_of}
"""The op that makes an array like another one, for each that makes one of a shape in C order."""


# -- arrays of a pattern ------------------------------------------------------------------------


def _arange_text(attributes: Mapping[str, Any]) -> Spelling:
    given = "stop" if _goes_without_saying("start", 0, attributes) else "start, stop"
    if not _goes_without_saying("step", 1, attributes):
        given = "start, stop, step"
    return spell(f"np.arange({given}, dtype=dtype)")


def _goes_without_saying(name: str, default: int, attributes: Mapping[str, Any]) -> bool:
    """Whether an argument has its default; 0.0 beside integers says that floats are meant."""
    value, stop = attributes[name], attributes["stop"]
    return value == default and (not isinstance(value, float) or isinstance(stop, float))


def _arange_type(sizes: Sizes, start: Any, stop: Any, step: Any, dtype: str | None) -> ArrayType:
    if isinstance(stop, Size):
        return ArrayType(dtype or "int64", (sz.add(stop, -start),))
    length = max(0, math.ceil((stop - start) / step))
    natural, _ = promote([weak_of(n) for n in (start, stop, step)])
    return ArrayType(dtype or natural, (length,))


arange_of = define(
    "arange",
    _arange_text,
    operands="",
    infer=_arange_type,
    attributes={"start": 0, "stop": ..., "step": 1, "dtype": None},
    differentiable=False,
    doc="Numbers from `start` to before `stop`; `stop` may be a length known only at the call.",
)


def arange_in(like: Any, stop: Dim) -> Any:
    """0, 1, ... to before a length, in the algebra of `like`."""
    return apply_in(like, arange_of, {"start": 0, "stop": stop, "step": 1, "dtype": None})


def _eye_text(attributes: Mapping[str, Any]) -> Spelling:
    square = attributes["rows"] == attributes["columns"]
    return spell(f"np.eye(rows{'' if square else ', columns'}, k=k, dtype=dtype)")


eye_of = define(
    "eye",
    _eye_text,
    operands="",
    infer=lambda sizes, rows, columns, k, dtype: ArrayType(dtype, (rows, columns)),
    attributes={"rows": ..., "columns": ..., "k": 0, "dtype": DEFAULT_FLOAT},
    traits=(Trait.C_ORDER,),
    differentiable=False,
)


def _tri_text(attributes: Mapping[str, Any]) -> Spelling:
    square = attributes["rows"] == attributes["columns"]
    return spell(f"np.tri(rows{'' if square else ', columns'}, k=k, dtype=dtype)")


tri_of = define(
    "tri",
    _tri_text,
    operands="",
    infer=lambda sizes, rows, columns, k, dtype: ArrayType(dtype, (rows, columns)),
    attributes={"rows": ..., "columns": ..., "k": 0, "dtype": DEFAULT_FLOAT},
    traits=(Trait.C_ORDER,),
    differentiable=False,
)


def _linspace_type(
    sizes: Sizes, start: ArrayType, stop: ArrayType, num: int, endpoint: bool, dtype: str | None
) -> ArrayType:
    natural, _ = promote((start, stop, weak("float")))
    return ArrayType(dtype or natural, (num, *broadcast(sizes, [start.shape, stop.shape])))


def _linspace_vjp(
    ct: Any, y: Any, start: Any, stop: Any, num: int, endpoint: bool, dtype: str | None
) -> tuple[Any, Any]:
    spacing = {"num": num, "endpoint": endpoint, "dtype": dtype_of(ct)}
    share = apply_in(ct, linspace_between, spacing, 0.0, 1.0)
    share = share[(slice(None), *[None] * (ndim_of(ct) - 1))]
    return ct * (1.0 - share), ct * share


linspace_between = define(
    "linspace",
    "np.linspace(start, stop, num, endpoint=endpoint, dtype=dtype)",
    operands="start stop",
    infer=_linspace_type,
    vjp=_linspace_vjp,
    batch=batching_rules.spacing,
    attributes={"num": ..., "endpoint": True, "dtype": None},
)


def _array_text(attributes: Mapping[str, Any]) -> Spelling:
    values, dtype = attributes["values"], attributes["dtype"]
    natural = np.array(values).dtype.name == dtype
    return spell(f"np.array({_listed(values)}{'' if natural else ', dtype=dtype'})")


def _array_in_jax(attributes: Mapping[str, Any]) -> Spelling:
    """With its dtype where it is one number, which JAX takes for one of Python's."""
    spelling = _array_text(attributes)
    if isinstance(attributes["values"], tuple):
        return spelling
    return spell(f"jnp.array({attributes['values']!r}, dtype=dtype)")


def _listed(values: Any) -> str:
    return f"[{', '.join(map(_listed, values))}]" if isinstance(values, tuple) else repr(values)


array_of = define(
    "array",
    _array_text,
    jax=_array_in_jax,
    operands="",
    infer=lambda sizes, values, dtype: ArrayType(dtype, np.shape(values)),
    attributes={"values": ..., "dtype": ...},
    differentiable=False,
    doc="A few numbers that stand in the program: nested tuples of bool, int or float.",
)


LITERAL = 16
"""A list with at most so many numbers is part of the program, longer ones are data."""


def nested(values: Any) -> Any:
    """Lists of numbers as tuples, which attributes are made of."""
    return tuple(map(nested, values)) if isinstance(values, list) else values


def beside(data: Any, like: Any) -> Any:
    """A list, or a number, as an array where `like` lives; anything else as it is.

    Short ones are written into programs, so they are on every device.
    """
    if not (isinstance(data, SEQUENCES) or is_number(data)):
        return data
    if holds_tensors(data):
        return stacked(data)
    array = np.asarray(data)
    if type(like) not in HANDLERS or array.size > LITERAL or array.dtype.name not in DTYPES:
        return array
    if not np.all(np.isfinite(array)):
        return array
    literal = {"values": nested(array.tolist()), "dtype": array.dtype.name}
    return apply_in(like, array_of, literal)


# -- what users call ----------------------------------------------------------------------------


def shape_tuple(shape: Any) -> tuple[Dim, ...]:
    """A shape as users give it (an int, a sequence, Tensors in it) as a tuple."""
    several = shape if isinstance(shape, tuple | list | np.ndarray) else (shape,)
    return tuple(d if isinstance(d, Size) else as_int(d) for d in several)


def dtype_name(dtype: Any) -> str:
    """The name of a dtype as users give it; raises for what arrays here cannot hold."""
    name = np.dtype(dtype).name
    if name not in DTYPES and not (name == BFLOAT16 and is_for_jax()):
        raise DTypeError(
            f"arrays hold numbers of up to 64 bits a component or bool, not {name}"
        ).as_refusal()
    return name


def is_for_jax() -> bool:
    """Whether what is computed now is computed by JAX."""
    return STATE.of_jax if STATE.trace is None else STATE.trace.static_lengths


def _asked(shape: Any, lengths: tuple[Any, ...], dtype: Any) -> dict[str, Any]:
    """``zeros(3, 4)``, ``zeros((3, 4))``, ``zeros((3, 4), float)`` and ``zeros(shape=(3, 4))``."""
    match lengths:
        case ((type() | str() | np.dtype()) as given,):
            lengths, dtype = (), given
    shape = (shape, *lengths) if lengths else shape
    name = DEFAULT_FLOAT if dtype is None else dtype_name(dtype)
    return {"shape": _shape_attribute(shape), "dtype": name}


def _shape_attribute(shape: Any) -> Any:
    dims = shape_tuple(shape)
    for dim in dims:
        if isinstance(dim, int) and dim < 0:
            raise ArgumentValueError(f"a shape has no negative lengths: {dims}")
    return bare(dims)


def leaf(tensor: Any, requires_grad: bool, device: Any) -> Any:
    """The new Tensor, on its device, with its gradient asked for."""
    if device is not None:
        tensor = tensor.to(device=device)
    return tensor.requires_grad_() if requires_grad else tensor


def zeros(
    shape: Any = (),
    *lengths: Any,
    dtype: Any = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Any:
    """Zeros: ``zeros(3, 4)`` or ``zeros((3, 4))``."""
    made = new(zeros_of_shape, **_asked(shape, lengths, dtype))
    return leaf(made, requires_grad, device)


def ones(
    shape: Any = (),
    *lengths: Any,
    dtype: Any = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Any:
    """Ones: ``ones(3, 4)`` or ``ones((3, 4))``."""
    made = new(ones_of_shape, **_asked(shape, lengths, dtype))
    return leaf(made, requires_grad, device)


def empty(
    shape: Any = (),
    *lengths: Any,
    dtype: Any = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Any:
    """An array to be filled: ``empty(3, 4)`` or ``empty((3, 4))``; until then it is zeros."""
    made = new(zeros_of_shape, **_asked(shape, lengths, dtype))
    return leaf(made, requires_grad, device)


def full(
    shape: Any, fill_value: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None
) -> Any:
    """An array of one number (or of an array that broadcasts to the shape)."""
    if isinstance(fill_value, list | tuple):
        fill_value = np.asarray(fill_value)
    if dtype is None and requires_grad and not is_inexact(dtype_of(fill_value)):
        dtype = DEFAULT_FLOAT
    name = dtype_of(fill_value) if dtype is None else dtype_name(dtype)
    fill_value = _cast(fill_value, name)
    attributes = {"shape": _shape_attribute(shape), "dtype": _unless_own(fill_value, name)}
    return leaf(new(full_of, fill_value, **attributes), requires_grad, device)


def _cast(value: Any, dtype: str) -> Any:
    """A whole number of NumPy's as one of `dtype`: it wraps, where Python's own does not fit."""
    whole = isinstance(value, np.integer) and kind(dtype) == "int"
    return value.astype(dtype) if whole else value


def _unless_own(value: Any, dtype: str) -> str | None:
    """None where an array of the value has this dtype anyway (NumPy scalars print as numbers)."""
    return None if dtype == dtype_of(value) and not isinstance(value, np.generic) else dtype


def _like(x: Any, shape: Any, dtype: Any) -> dict[str, Any]:
    """The attributes of an array like `x`; asking for its shape is not a look."""
    return {
        "shape": bare(shape_of(x)) if shape is None else _shape_attribute(shape),
        "dtype": dtype_of(x) if dtype is None else dtype_name(dtype),
    }


def _made_in_c_order(x: Any) -> bool:
    """Whether what is made like a plain array is in C order."""
    return bool(np.empty_like(x).flags.c_contiguous)


def _make_like(x: Any, order: str, op: Any, *operands: Any, **attributes: Any) -> Any:
    """The op where `x` lives, the result in memory as `order` says; of a plain array, anew."""
    if is_jax_array(x):
        x = tensor_of.call(x)
    order, dims = str(order).upper(), dims_of_shape(attributes["shape"])
    follows = len(dims) > 1 and (order in "FA" or (order == "K" and len(dims) == ndim_of(x)))
    if type(x) not in HANDLERS:
        follows = follows and not (order == "K" and _made_in_c_order(x))
    if follows:
        own = {"shape": bare(shape_of(x)), "dtype": dtype_of(x)}
        attributes = {k: None if v == own.get(k, ...) else v for k, v in attributes.items()}
        op, operands, attributes = LIKE[op], (x, *operands), {**attributes, "order": order}
    elif operands:
        attributes["dtype"] = _unless_own(operands[0], attributes["dtype"])
    if type(x) not in HANDLERS:
        return new(op, *operands, **attributes)
    return apply_in(x, op, attributes, *operands)


def zeros_like(
    x: Any,
    dtype: Any = None,
    shape: Any = None,
    requires_grad: bool = False,
    device: Any = None,
    order: str = "K",
) -> Any:
    """Zeros of the shape and dtype of `x`."""
    return leaf(
        _make_like(x, order, zeros_of_shape, **_like(x, shape, dtype)), requires_grad, device
    )


def ones_like(
    x: Any,
    dtype: Any = None,
    shape: Any = None,
    requires_grad: bool = False,
    device: Any = None,
    order: str = "K",
) -> Any:
    """Ones of the shape and dtype of `x`."""
    return leaf(
        _make_like(x, order, ones_of_shape, **_like(x, shape, dtype)), requires_grad, device
    )


def empty_like(
    x: Any,
    dtype: Any = None,
    shape: Any = None,
    requires_grad: bool = False,
    device: Any = None,
    order: str = "K",
) -> Any:
    """An array to be filled, of the shape and dtype of `x`; until then it is zeros."""
    return leaf(
        _make_like(x, order, zeros_of_shape, **_like(x, shape, dtype)), requires_grad, device
    )


def full_like(
    x: Any,
    fill_value: Any,
    dtype: Any = None,
    shape: Any = None,
    requires_grad: bool = False,
    device: Any = None,
    order: str = "K",
) -> Any:
    """An array of one number, of the shape and dtype of `x`."""
    attributes = _like(x, shape, dtype)
    fill_value = _cast(as_array(fill_value), attributes["dtype"])
    made = _make_like(x, order, full_of, fill_value, **attributes)
    return leaf(made, requires_grad, device)


def _number(x: Any) -> int | float | Size:
    """A bound as a Python number: what the length depends on is looked at."""
    if isinstance(x, int | float | Size) and not isinstance(x, np.generic):
        return x
    value = x.item() if hasattr(x, "item") else as_int(x)
    return value


def arange(
    start: Any,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Any:
    """The numbers from `start` (0 when only one bound is given) to before `stop`."""
    if stop is None:
        start, stop = 0, start
    start, stop, step = map(_number, (start, stop, step))
    if step == 0:
        raise ArgumentError("arange: step is 0")
    natural, _ = promote(
        [weak("int") if isinstance(n, Size) else weak_of(n) for n in (start, stop, step)]
    )
    if dtype is None and requires_grad and not is_inexact(natural):
        dtype = DEFAULT_FLOAT
    name = None if dtype is None or dtype_name(dtype) == natural else dtype_name(dtype)
    made = new(arange_of, start=start, stop=stop, step=step, dtype=name)
    return leaf(made, requires_grad, device)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    requires_grad: bool = False,
    device: Any = None,
) -> Any:
    """`num` evenly spaced numbers from `start` to `stop`, differentiable in both."""
    num = num if isinstance(num, Size) else as_int(num)
    name = None if dtype is None else dtype_name(dtype)
    start, stop = (np.asarray(x) if isinstance(x, list | tuple) else x for x in (start, stop))
    made = new(linspace_between, start, stop, num=num, endpoint=bool(endpoint), dtype=name)
    if axis % made.ndim:
        order = list(range(1, made.ndim))
        order.insert(axis % made.ndim, 0)
        made = TABLE["transpose"](made, axes=tuple(order))
    made = leaf(made, requires_grad, device)
    if not retstep:
        return made
    intervals = num - 1 if endpoint else num
    return made, (stop - start) / intervals if intervals > 0 else math.nan


def eye(
    n_rows: int,
    n_cols: int | None = None,
    k: int = 0,
    dtype: Any = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Any:
    """Ones on the k-th diagonal, zeros elsewhere."""
    made = new(eye_of, **_rectangle(n_rows, n_cols, k, dtype))
    return leaf(made, requires_grad, device)


def identity(n: int, dtype: Any = None) -> Any:
    """The identity matrix."""
    return eye(n, dtype=dtype)


def tri(n_rows: int, n_cols: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """Ones at and below the k-th diagonal, zeros above."""
    return new(tri_of, **_rectangle(n_rows, n_cols, k, dtype))


def _rectangle(rows: Any, columns: Any, k: Any, dtype: Any) -> dict[str, Any]:
    rows, columns = shape_tuple((rows, rows if columns is None else columns))
    name = DEFAULT_FLOAT if dtype is None else dtype_name(dtype)
    return {"rows": rows, "columns": columns, "k": as_int(k), "dtype": name}


__all__ = [
    "arange",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "identity",
    "linspace",
    "ones",
    "ones_like",
    "tri",
    "zeros",
    "zeros_like",
]
