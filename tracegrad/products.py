"""A function, a point and vectors there enter; its value and products with its Jacobian leave.

`jvp`, `hvp`, `linearize` and `vjp` are called with the point at once, where `grad` makes a
callable. Each keeps the callable that it makes of a function, so that the next call for the same
function finds it compiled.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dis import get_instructions
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from tracegrad.callables import Compiled
from tracegrad.errors import ArgumentError
from tracegrad.returned import Transform
from tracegrad.signature import signature_of
from tracegrad.tree import flatten, leaf_paths, map_tree, path_text

MOST = 128
"""For so many functions the callable is kept."""

_KEPT: OrderedDict[Any, Compiled] = OrderedDict()
_LOCK = threading.Lock()


def kept(f: Callable[..., Any], transform: Transform, backend: str | None) -> Compiled:
    """The callable that a transform makes of a function: that of the last call, if there was one.

    A lambda that is written in a loop is another function in each turn. Where it reads the very
    same objects it is taken for the one before.
    """
    code = f.__code__ if type(f) is FunctionType else f
    key = (code if isinstance(code, CodeType) else id(f), transform, backend)
    with _LOCK:
        found = _KEPT.get(key)
        if found is None or not (found._function is f or _alike(found._function, f)):
            found = _KEPT[key] = Compiled(f, transform, backend)
            while len(_KEPT) > MOST:
                _KEPT.popitem(last=False)
        _KEPT.move_to_end(key)
    return found


def _alike(one: Any, other: Any) -> bool:
    """Whether two functions of one code read the same, and write nothing there."""
    if type(one) is not FunctionType or type(other) is not FunctionType:
        return False
    if one.__dict__ or other.__dict__ or _writes_cells(one.__code__):
        return False
    try:
        pairs = list(zip(_read_by(one), _read_by(other), strict=True))
    except ValueError:  # a cell is empty, or there are more of them
        return False
    return all(a is b for a, b in pairs)


def _read_by(f: FunctionType) -> list[Any]:
    """What a function has besides its arguments."""
    cells = [cell.cell_contents for cell in f.__closure__ or ()]
    return [f.__globals__, *(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values(), *cells]


def _writes_cells(code: CodeType) -> bool:
    """Whether a function binds variables of the one around it."""
    return any(
        i.opname in ("STORE_DEREF", "DELETE_DEREF", "MAKE_CELL") and i.argval in code.co_freevars
        for i in get_instructions(code)
    )


def _several(what: str, given: Any) -> tuple[Any, ...]:
    if not isinstance(given, tuple | list):
        raise ArgumentError(
            f"{what} are {type(given).__name__}: pass a tuple, one for each argument: (x,)"
        )
    return tuple(given)


def _floats(primal: Any, tangent: Any, name: str) -> Any:
    """A tangent in the structure of its primal; whole numbers of Python as floats."""
    leaves, spec = flatten(primal)
    given, given_spec = flatten(tangent)
    if spec != given_spec:
        raise ArgumentError(f"the tangent of {name} is {given_spec}, {name} is {spec}")
    for leaf, dot, path in zip(leaves, given, leaf_paths(spec), strict=True):
        shapes = [np.shape(getattr(x, "_array", x)) for x in (leaf, dot)]
        if shapes[0] != shapes[1]:
            text = path_text(name, path)
            raise ArgumentError(f"the tangent of {text} has shape {shapes[1]}, not {shapes[0]}")
    return map_tree(lambda x: float(x) if type(x) in (int, bool) else x, tangent)


def _with_tangents(
    f: Callable[..., Any], primals: Any, tangents: Any, what: str
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The arguments and their tangents, one for each."""
    at = _several(f"{what}: the primals", primals)
    dots = _several(f"{what}: the tangents", tangents)
    if len(at) != len(dots):
        raise ArgumentError(f"{what}: {len(at)} primals and {len(dots)} tangents")
    if not at:
        raise ArgumentError(f"{what}: there are no primals")
    names = _names(f, len(at))
    pairs = zip(at, dots, names, strict=True)
    return at, tuple([_floats(x, dot, name) for x, dot, name in pairs])


def _names(f: Callable[..., Any], count: int) -> list[str]:
    """What to call the arguments."""
    try:
        names = list(signature_of(f).parameters)[:count]
    except (TypeError, ValueError):
        names = []
    return names + [f"argument {i}" for i in range(len(names), count)]


def _transform(kind: str, count: int, has_aux: bool = False) -> Transform:
    one = kind == "hvp" and count == 1
    return Transform(kind, 0 if one else tuple(range(count)), has_aux, count)


def jvp(
    f: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    has_aux: bool = False,
    backend: str | None = None,
) -> Any:
    """The value of a function and its derivative along tangents: forward mode, as compiled source.

    Parameters
    ----------
    f : callable
        Plain Python over arrays, which may return any pytree of arrays.
    primals : sequence
        The arguments, one for each parameter of `f`: arrays, floats or pytrees of them.
    tangents : sequence
        A tangent for each, of the same structure and shapes.
    has_aux : bool
        The function returns ``(value, aux)``; ``(out, out_tangent, aux)`` is returned.
    backend : "numpy" or "jax", optional
        The target of the generated source; default ``tg.config.backend``.

    Returns
    -------
    (out, out_tangent)
        The tangent has the structure, shapes and dtypes of ``out``. It costs about as much as the
        value, whatever the number of inputs and outputs.

    Raises
    ------
    tg.errors.ArgumentError
        A primal is an integer or no array at all, or a tangent is not like its primal.
    tg.errors.NotDifferentiableError
        Some of the result is not floating point: return that as ``aux``.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.jvp(np.sin, (np.array([0.0, 1.0]),), (np.array([1.0, 0.0]),))
    (array([0.        , 0.84147098]), array([1., 0.]))
    """
    at, dots = _with_tangents(f, primals, tangents, "jvp")
    return kept(f, _transform("jvp", len(at), has_aux), backend)(*at, *dots)


def hvp(
    f: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    has_aux: bool = False,
    backend: str | None = None,
) -> Any:
    """The product of the Hessian of a function of one number with tangents, without the Hessian.

    The gradient in reverse mode, and its tangent in forward mode (B. A. Pearlmutter, "Fast exact
    multiplication by the Hessian", 1994): a few times the cost of the gradient.

    Parameters
    ----------
    f, primals, tangents, has_aux, backend
        As for `jvp`; `f` returns one real number.

    Returns
    -------
    product
        Of the structure of the argument; for several arguments a tuple, one for each. With
        `has_aux` ``(product, aux)``.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
    array([ 6., 12.])
    """
    at, dots = _with_tangents(f, primals, tangents, "hvp")
    return kept(f, _transform("hvp", len(at), has_aux), backend)(*at, *dots)
