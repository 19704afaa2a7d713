"""NumPy's own functions on Tensors: ``__array_ufunc__`` and ``__array_function__``.

``np.tanh(t)`` comes through ``__array_ufunc__``, ``np.sum(t)`` through ``__array_function__``; both
look the function up by NumPy's name in tracegrad's namespace, which follows NumPy's names and
arguments. What has no counterpart is refused with what to write instead: a plain array would lose
the gradient.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from tracegrad import special
from tracegrad.errors import ArgumentError, DTypeError, ShapeError, TracegradError
from tracegrad.ops.arguments import SYNONYMS
from tracegrad.ops.elementwise.ufuncs import astype, strengthen
from tracegrad.ops.reductions.softmax import logaddexp_reduce
from tracegrad.ops.shape.creation import dtype_name
from tracegrad.ops.shape.indexing import getitem, normalize
from tracegrad.ops.shape.joining import segment_sums
from tracegrad.ops.shape.memory_order import in_place_of
from tracegrad.ops.shape.reshaping import laid_out, many_axes, one_axis
from tracegrad.ops.shape.sliding_windows import windows, windows_of
from tracegrad.runtime.values_in_traces import in_trace
from tracegrad.tape.foreign_arrays import plain
from tracegrad.tape.views import memory_shown, register
from tracegrad.tensors import array_functions, type_info
from tracegrad.tensors.devices import DeviceArray
from tracegrad.tensors.inplace import stay_equal, update
from tracegrad.tensors.methods import written_to_out
from tracegrad.tensors.repeated_places import RepeatedPlaces
from tracegrad.tensors.tensor import Tensor
from tracegrad.tensors.type_info import API_VERSIONS
from tracegrad.tensors.zero_dimensional import as_of_function
from tracegrad.user_code.lost_conversions import written_into_plain
from tracegrad.user_code.program_points import at_line
from tracegrad.values.dispatch import SEQUENCES, dtype_of, is_scalar, is_weak, shape_of
from tracegrad.values.given_rules import with_rule

# -- ufuncs -------------------------------------------------------------------------------------


def _odd_number(x: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False) -> Any:
    """``logical_xor.reduce``: whether an odd number of elements is not 0."""
    number = array_functions.count_nonzero(x, axis, keepdims=keepdims)
    return array_functions.remainder(number, 2) != 0


REDUCE: dict[str, Callable[..., Any]] = {
    "add": array_functions.sum,
    "fmax": array_functions.nanmax,
    "fmin": array_functions.nanmin,
    "logaddexp": logaddexp_reduce,
    "logical_and": array_functions.all,
    "logical_or": array_functions.any,
    "logical_xor": _odd_number,
    "maximum": array_functions.max,
    "minimum": array_functions.min,
    "multiply": array_functions.prod,
}
ACCUMULATE: dict[str, Callable[..., Any]] = {
    "add": array_functions.cumsum,
    "maximum": array_functions.cummax,
    "minimum": array_functions.cummin,
    "multiply": array_functions.cumprod,
}
REDUCED_WRONGLY = frozenset({"arctan2", "atan2", "pow", "power"})
"""Ufuncs whose reductions leave elements out in NumPy 2.4: there is nothing to be equal to."""
QUIET: dict[str, tuple[Any, ...]] = {
    "casting": ("same_kind", "safe", "unsafe"),
    "initial": (None,),
    "like": (None,),
    "order": ("K", None),
    "out": (None, (None,)),
    "subok": (True, False),
    "where": (True,),
}
"""Keyword arguments that change nothing when they have these values."""


def _spoken(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments that say something."""
    return {
        name: value
        for name, value in kwargs.items()
        if not (name in QUIET and any(value is quiet for quiet in QUIET[name]))
        and value is not np._NoValue
    }


def _array_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    name = ufunc.__name__
    ruled = with_rule(ufunc)
    if ruled is not None and method == "__call__":
        return ruled(*inputs, **kwargs)
    operands = [
        np.asarray(x) if isinstance(x, SEQUENCES) and (i != 1 or method != "at") else x
        for i, x in enumerate(inputs)  # the second one of `at` is an index
    ]
    if len(operands) == 2 and method == "__call__" and all(map(is_weak, operands)):
        operands = _of_numpy(operands)
    given = _spoken(kwargs)
    if _writes_numbers(method, operands, given):
        plain = [x._array if type(x) is Tensor else x for x in operands]
        named = {n: x._array if type(x) is Tensor else x for n, x in kwargs.items()}
        return getattr(ufunc, method)(*plain, **named)
    if method == "__call__" and given.get("dtype") is not None:
        casting = kwargs.get("casting", "same_kind")
        operands = _cast(ufunc, operands, np.dtype(given.pop("dtype")), casting)
    if "out" in given and method in ("__call__", "reduce", "accumulate"):
        return _written_out(self, ufunc, method, operands, given)
    if method == "at" and not given:
        return _at(name, *operands)
    return as_of_function(name, _called(name, method, operands, given), None)


def _of_numpy(numbers: Sequence[Any]) -> list[Any]:
    """Numbers of Python's of which NumPy computes as NumPy does, which raises elsewhere."""
    i = next((i for i, x in enumerate(numbers) if type(x) is Tensor), None)  # else `out` is one
    return [strengthen(x) if k == i else x for k, x in enumerate(numbers)]


def _called(name: str, method: str, operands: list[Any], given: dict[str, Any]) -> Any:
    """A ufunc, or one of its methods, that gives something new."""
    match method:
        case "__call__":
            return _call_ufunc(name, operands, given)
        case "reduce" if name in REDUCE or getattr(np, name).nin != 2:
            return _along_axis(name, REDUCE, method, operands, given)
        case "reduce" if name not in REDUCED_WRONGLY:
            return _reduced(name, *operands, **given)
        case "accumulate" if name in ACCUMULATE or getattr(np, name).nin != 2:
            return _along_axis(name, ACCUMULATE, method, operands, given)
        case "accumulate":
            return _accumulated(name, *operands, **given)
        case "outer" if not given and len(operands) == 2:
            a, b = (strengthen(x) if is_weak(x) else x for x in operands)
            return _ufunc_called(name)(getitem(a, (..., *[None] * np.ndim(b))), b)
        case "reduceat" if getattr(np, name).nin == 2 and name not in REDUCED_WRONGLY:
            return _segments(name, operands, **given)
    raise _no_counterpart(f"np.{name}.{method}")


def _writes_numbers(method: str, operands: list[Any], given: dict[str, Any]) -> bool:
    """Whether an array of NumPy's is written to, of Tensors that have no gradient to lose."""
    out = operands[:1] if method == "at" else given.get("out")
    outs = [x for x in (out if isinstance(out, tuple | list) else (out,)) if x is not None]
    tensors = [x for x in (*operands, given.get("where")) if type(x) is Tensor]
    arrays = bool(outs) and all(type(x) is np.ndarray for x in outs)
    return arrays and _has_numbers_alone(tensors)


def _has_numbers_alone(tensors: Sequence[Tensor]) -> bool:
    """Whether Tensors are no values of a trace, have no history, and lie in NumPy's memory."""
    return not any(
        x.requires_grad or type(x._array) is DeviceArray or in_trace(x) is not None for x in tensors
    )


def _written_out(
    self: Tensor, ufunc: Any, method: str, operands: list[Any], given: dict[str, Any]
) -> Any:
    """``np.exp(x, out=y)``: the result is written into `y`, which is returned."""
    outs, mask = given.pop("out"), given.pop("where", True)
    outs = outs if isinstance(outs, tuple) else (outs,)
    found = _array_ufunc(self, ufunc, method, *operands, **given)
    results = found if isinstance(found, tuple) else (found,)
    broadcasts = method == "__call__" and ufunc.signature is None
    written = [
        result if out is None else _write_into(out, result, broadcasts, mask)
        for out, result in zip(outs, results, strict=True)
    ]
    return tuple(written) if isinstance(found, tuple) else written[0]


def _write_into(out: Any, result: Any, broadcasts: bool, mask: Any = True) -> Any:
    """The Tensor `out`, which now holds the result (where the mask is true).

    An array of NumPy's may be given numbers that have no gradient to lose. Where the function does
    not broadcast to `out`, the shapes are equal.
    """
    result = array_functions.asarray(result)
    numbers = type(out) is np.ndarray and mask is True and _has_numbers_alone([result])
    if not (isinstance(out, Tensor) or numbers):
        raise written_into_plain()
    if not np.can_cast(result.dtype, out.dtype, "same_kind"):
        raise DTypeError(f"out= of dtype {out.dtype} cannot hold a result of {result.dtype}")
    shape = np.shape(out if numbers else out._array)
    fits = np.broadcast_shapes(np.shape(result._array), shape) == shape
    traced = result if numbers or result._is_traced else out
    if not fits or not (broadcasts or stay_equal(shape_of(result), shape_of(out), traced)):
        raise ShapeError(
            f"out= of shape {shape} cannot hold a result of shape {np.shape(result._array)}"
        )
    if numbers:
        np.copyto(out, np.asarray(result._array), casting="same_kind")
        return out
    out[...] = result if mask is True else array_functions.where(mask, result, out)  # type: ignore[index]
    return out


def _at(name: str, x: Any, index: Any, *values: Any) -> None:
    """``np.add.at(x, index, v)``: the ufunc in place, once for each time that a place is named."""
    if not isinstance(x, Tensor):
        raise written_into_plain()
    if is_scalar(x._array):
        raise TypeError("first operand must be array")
    if name in ("add", "subtract"):
        update(x, partial(_added, index), values[0] if name == "add" else -values[0])
        return
    function = _ufunc_called(name)
    if not normalize(x, index)[1]["repeats"] or 0 in np.shape(x._array):  # no place is there twice
        x[index] = function(getitem(x, index), *values)  # type: ignore[index]
        return
    places = RepeatedPlaces(index, np.shape(x._array), name)
    whole = [array_functions.broadcast_to(array_functions.asarray(v), places.shape) for v in values]
    for at, turn in places.groups():
        x[at] = function(getitem(x, at), *[getitem(v, turn) for v in whole])  # type: ignore[index]


def _added(index: Any, x: Any, value: Any) -> Any:
    return array_functions.index_add(x, index, value)


def _cast(ufunc: Any, operands: list[Any], dtype: np.dtype, casting: str) -> list[Any]:
    """The operands in the dtypes in which NumPy computes results of `dtype`; raises as it does."""
    weak = (int, float, complex)
    kinds = [type(x) if type(x) in weak else np.dtype(dtype_of(x)) for x in operands]
    wanted = (*[None] * ufunc.nin, *[dtype] * ufunc.nout)
    found = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout), signature=wanted, casting=casting)
    return [
        astype(array_functions.asarray(x), dtype=dtype_name(to))
        for x, to in zip(operands, found[: ufunc.nin], strict=True)
    ]


def _call_ufunc(name: str, operands: list[Any], given: dict[str, Any]) -> Any:
    given.pop("dtype", None)  # None, else the operands are cast
    order = given.pop("order", None)
    if "where" in given:
        raise TracegradError(
            f"np.{name}(..., where=mask) leaves places unwritten: write "
            f"tg.where(mask, tg.{name}(...), ...)"
        )
    if given and not (name == "vecdot" and set(given) == {"axis"}):
        raise TracegradError(f"np.{name} of Tensors takes no {', '.join(given)}")
    found = _ufunc_called(name)(*operands, **given)
    if order is None:
        return found
    parts = [laid_out(x, order, None) for x in (found if type(found) is tuple else (found,))]
    return tuple(parts) if type(found) is tuple else parts[0]


def _ufunc_called(name: str) -> Callable[..., Any]:
    if name == "divmod":
        return divmod
    function: Callable[..., Any] | None = getattr(array_functions, name, None)
    if function is None:  # SciPy's are ufuncs as well
        function = getattr(special, name, None)
    if function is None:
        raise _no_counterpart(f"np.{name}")
    return function


def _along_axis(
    name: str,
    functions: Mapping[str, Callable[..., Any]],
    method: str,
    operands: list[Any],
    given: dict[str, Any],
) -> Any:
    if name not in functions:
        raise _no_counterpart(f"np.{name}.{method}")
    given.setdefault("axis", 0)
    x, *rest = operands
    names = ("axis", "dtype")
    given |= dict(zip(names, rest))
    return _call(f"np.{name}.{method}", functions[name], (x,), given)


@cache
def _fold_dtype(name: str, dtype: str) -> str:
    """The dtype in which a ufunc folds elements of another; raises where NumPy has no such loop."""
    return str(getattr(np, name).accumulate(np.ones(1, dtype)).dtype.name)


def _folded(name: str, parts: Sequence[Any], initial: Any = None) -> list[Any]:
    """What a ufunc gives of the first part, of the first two, ...: one after the other."""
    function, dtype = _ufunc_called(name), _fold_dtype(name, dtype_of(parts[0]))
    found: list[Any] = [] if initial is None else [np.dtype(dtype).type(initial)]
    for part in parts:
        found.append(function(found[-1], part) if found else astype(part, dtype=dtype))
    return found


def _accumulated(name: str, x: Any, axis: int = 0, dtype: Any = None) -> Any:
    """``ufunc.accumulate`` of a ufunc that has no function for it: one element after the other."""
    x = array_functions.asarray(x, dtype=dtype)
    if not x.ndim:
        raise TypeError("cannot accumulate on a scalar")
    axis = one_axis(axis, x.ndim)
    parts = array_functions.unstack(x, axis=axis)
    if not parts:
        return astype(x, dtype=_fold_dtype(name, dtype_of(x)))
    return in_place_of(array_functions.stack(_folded(name, parts), axis), x)


def _reduced(
    name: str,
    x: Any,
    axis: Any = 0,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
) -> Any:
    """``ufunc.reduce`` of a ufunc that has no function for it: one element after the other."""
    ufunc = getattr(np, name)
    x = array_functions.asarray(x, dtype=dtype)
    places = (1,) * x.ndim
    given = {} if initial is None else {"initial": initial}
    ufunc.reduce(np.ones(places, dtype_of(x)), axis=axis, keepdims=keepdims, **given)  # or raises
    axes = many_axes(tuple(range(x.ndim)) if axis is None else axis, x.ndim)
    last = tuple(range(x.ndim - len(axes), x.ndim))
    lines = array_functions.moveaxis(x, axes, last)
    kept = lines.shape[: x.ndim - len(axes)]
    parts = array_functions.unstack(array_functions.reshape(lines, (*kept, -1)), axis=-1)
    if not parts:
        empty = ufunc.reduce(np.zeros(0, dtype_of(x)), **given)
        found = array_functions.full(kept, empty, dtype=empty.dtype) if kept else empty
    else:
        start = ufunc.identity if initial is None else initial
        found = _folded(name, parts, start)[-1]
    return array_functions.expand_dims(found, axes) if keepdims else found


def _segments(name: str, operands: list[Any], axis: int = 0, dtype: Any = None) -> Any:
    """``ufunc.reduceat``: of what lies between each place and the next, which are looked at."""
    x, places = operands
    x = array_functions.asarray(x, dtype=dtype)
    axis = one_axis(axis, x.ndim)
    starts = [int(place) for place in places]
    if any(not 0 <= start < x.shape[axis] for start in starts):
        raise IndexError(f"np.{name}.reduceat: {starts} are no places on {x.shape[axis]} elements")
    ends = [max(a + 1, b) for a, b in zip(starts, [*starts[1:], x.shape[axis]], strict=True)]
    before = (slice(None),) * axis
    if name == "add" and starts and ends[:-1] == starts[1:]:
        x = getitem(x, (*before, slice(starts[0], None)))
        lengths = tuple([end - start for start, end in zip(starts, ends, strict=True)])
        return segment_sums(x, lengths=lengths, axis=axis)
    parts = [getitem(x, (*before, slice(*ends))) for ends in zip(starts, ends, strict=True)]
    if name == "add":
        sums = [segment_sums(part, lengths=(part.shape[axis],), axis=axis) for part in parts]
        return array_functions.concatenate(sums, axis)
    if name in REDUCE:
        return array_functions.stack([REDUCE[name](part, axis) for part in parts], axis)
    rows = [array_functions.unstack(part, axis=axis) for part in parts]
    return array_functions.stack([_folded(name, row)[-1] for row in rows], axis)


# -- functions ----------------------------------------------------------------------------------


def _share(shares: Callable[..., bool], a: Any, b: Any, max_work: int | None) -> bool:
    return shares(memory_shown(a), memory_shown(b), max_work)


LOOKS: dict[str, Callable[..., Any]] = {
    "imag": lambda val: val.imag,
    "iscomplexobj": lambda x: x.dtype.kind == "c",
    "isrealobj": lambda x: x.dtype.kind != "c",
    "may_share_memory": lambda a, b, max_work=None: _share(np.may_share_memory, a, b, max_work),
    "ndim": lambda a: a.ndim,
    "can_cast": type_info.can_cast,
    "result_type": type_info.result_type,
    "real": lambda val: val.real,
    "shape": lambda a: a.shape,
    "shares_memory": lambda a, b, max_work=None: _share(np.shares_memory, a, b, max_work),
    "size": lambda a, axis=None: int(a.size) if axis is None else a.shape[axis],
}
"""Functions that ask for type, shape or memory only, and those that name an attribute."""


PLAIN = frozenset(
    [
        "array2string",
        "array_repr",
        "array_str",
        "save",
        "savetxt",
        "savez",
        "savez_compressed",
    ]
)
"""Functions that show or keep numbers: they get the array, unless its gradient would be lost."""


BROADCAST_TO_OUT = frozenset(
    ["choose", "clip", "einsum", "nanpercentile", "nanquantile", "outer", "percentile", "quantile"]
)
"""Functions, beside ufuncs, whose result may have fewer or shorter axes than ``out=``."""


@written_to_out.by
def _written_to_out(out: Any, found: Any, name: str) -> Any:
    """What a function or method of NumPy's gives that was given ``out=``."""
    return _write_into(out, found, name in BROADCAST_TO_OUT)


CONTAINERS: dict[str, type] = {
    **dict.fromkeys(["broadcast_arrays", "meshgrid"], tuple),
    **dict.fromkeys(["array_split", "dsplit", "hsplit", "split", "vsplit"], list),
}
"""What NumPy gives several arrays in: ``np.split(x, 2)[0] += 1`` assigns an item."""


def _array_function(self: Tensor, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    name = func.__name__
    module = getattr(func, "__module__", "numpy").removeprefix("numpy").lstrip(".")
    shown = f"np.{module + '.' if module else ''}{name}"
    if not module and name in PLAIN:
        return func(*map(_as_array, args), **{n: _as_array(x) for n, x in kwargs.items()})
    function = _counterpart(module, name)
    if function is None:
        ruled = with_rule(func)
        if ruled is not None:
            return ruled(*args, **kwargs)
        raise _no_counterpart(shown)
    if len(args) > 2:
        args, kwargs = _by_name(func, function, args, kwargs)
    given = _spoken(kwargs)
    out = given.pop("out", None)
    found = _call(shown, function, args, _renamed(func, function, given))
    if out is not None:
        return _written_to_out(out, found, "" if module else name)
    if name not in LOOKS:
        weighed = given.get("weights") is not None
        found = as_of_function(name, found, args[0] if args else None, weighed)
    return CONTAINERS[name](found) if name in CONTAINERS else found


def _by_name(func: Any, function: Any, args: Any, kwargs: Any) -> tuple[Any, dict[str, Any]]:
    """Arguments that stand elsewhere here than in NumPy's function, from the third on, by name."""
    alike, names = _shared_places(func, function)
    return args[:alike], {**dict(zip(names, args[alike:], strict=False)), **kwargs}


@cache
def _shared_places(func: Any, function: Any) -> tuple[int | None, tuple[str, ...]]:
    """How many arguments stand where NumPy has them, and the names of those behind."""
    theirs = inspect.signature(func).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in theirs):
        return None, ()
    names = [p.name for p in theirs if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    ours = list(inspect.signature(function).parameters)
    for i, name in enumerate(names[2:], 2):
        if name in (*ours, "out", "subok") and ours[i : i + 1] != [name]:
            return i, tuple(names[i:])
    return None, ()


def _as_array(x: Any) -> Any:
    return x.__array__() if isinstance(x, Tensor) else x


def _renamed(func: Any, function: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments under tracegrad's names: NumPy's ``a=`` is the first argument here too."""
    ours = list(inspect.signature(function).parameters) if kwargs else []
    if all(name in ours or name in SYNONYMS for name in kwargs):
        return kwargs
    theirs = list(inspect.signature(func).parameters)
    places = {name: i for i, name in enumerate(theirs[:2]) if name not in ours}
    return {
        ours[places[name]] if places.get(name, len(ours)) < len(ours) else name: value
        for name, value in kwargs.items()
    }


def is_of_numpy(function: Any) -> bool:
    """Whether it is a function or ufunc of NumPy's."""
    if isinstance(function, np.ufunc):
        return getattr(np, function.__name__, None) is function
    return (getattr(function, "__module__", None) or "").partition(".")[0] == "numpy"


def has_counterpart(function: Any) -> bool:
    """Whether tracegrad computes what a function of NumPy's does."""
    name = function.__name__
    if isinstance(function, np.ufunc):
        return name == "divmod" or hasattr(array_functions, name)
    module = function.__module__.removeprefix("numpy").lstrip(".")
    return _counterpart(module, name) is not None


def _counterpart(module: str, name: str) -> Callable[..., Any] | None:
    """tracegrad's function for NumPy's, by the module where it stands."""
    if not module or module == "lib.stride_tricks":
        if name == "sliding_window_view":
            return _sliding_window_view
        found = LOOKS.get(name) or getattr(array_functions, name, None)
        return special.numpy_i0 if name == "i0" else found
    scope = sys.modules.get(f"tracegrad.{module}")
    function: Callable[..., Any] | None = getattr(scope, name, None)
    return function


def _sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """NumPy's windows, which look at the memory of `x`."""
    if writeable:
        raise TracegradError(
            "sliding_window_view(writeable=True): a write to windows that overlap has no rule: "
            "write to the array itself"
        )
    return windows_of(array_functions.asarray(x), window_shape, axis, _looking)


def _looking(found: Tensor, x: Tensor, how: Mapping[str, Any]) -> Tensor:
    """The windows of a Tensor, as a view of it."""
    if not x._is_traced and x._node is None and isinstance(x._array, np.ndarray):
        n = len(how["span"])
        view = np.lib.stride_tricks.sliding_window_view(
            plain(x._array), how["span"], tuple(range(x.ndim - n, x.ndim))
        )
        found._array = np.moveaxis(view, range(-n, 0), range(n))
    register([found], x, windows, (), how)
    return found


def _call(shown: str, function: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> Any:
    """Calls it; where it does not take these arguments, says which it takes."""
    try:
        return function(*args, **kwargs)
    except TypeError as error:
        if isinstance(error, TracegradError) or _takes(function, args, kwargs):
            raise
        taken = ", ".join(inspect.signature(function).parameters)
        raise TracegradError(f"{shown} of Tensors: {error}; it takes ({taken})") from None


def _takes(function: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> bool:
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    except ValueError:
        return True  # it has no signature to judge by
    return True


def _no_counterpart(shown: str) -> TracegradError:
    return TracegradError(
        f"{shown} has no counterpart in tracegrad that records gradients: write it with functions "
        "of tg. Where no gradient is needed, call it outside of the function that is compiled or "
        "differentiated, on x.detach().numpy() if x is a Tensor" + at_line()
    )


Tensor.__array_ufunc__ = _array_ufunc  # type: ignore[attr-defined]
Tensor.__array_function__ = _array_function  # type: ignore[attr-defined]


def _array_namespace(self: Tensor, /, *, api_version: str | None = None) -> Any:
    """The namespace of functions on Tensors, as the array API standard asks for it."""
    if api_version is not None and api_version not in API_VERSIONS:
        raise ArgumentError(
            f"api_version={api_version!r}: the versions are {', '.join(API_VERSIONS)}"
        )
    return sys.modules["tracegrad"]


Tensor.__array_namespace__ = _array_namespace  # type: ignore[attr-defined]
