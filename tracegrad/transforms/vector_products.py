"""Values and products with the Jacobian of a function: `jvp`, `hvp`, `linearize`.

`jvp`, `hvp` and `linearize` are called with the point at once, where `grad` makes a callable (`vjp`
is in `vjp.py`). The callable that is made of a function is kept, so that the next call for
the same function finds it compiled.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cache
from inspect import Parameter
from operator import is_
from types import CellType, FunctionType, MethodType
from typing import Any

import numpy as np

from tracegrad.arguments.signature import names_of, shown_signature, signature_of
from tracegrad.config.compile_mode import CHOSEN, EXACT
from tracegrad.errors import ArgumentError
from tracegrad.ops.shape.creation import zeros_of
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.tensor import Tensor
from tracegrad.tracing.outputs import Transform
from tracegrad.transforms.compiled_callable import Compiled
from tracegrad.transforms.made_again import made, made_so, writes_cells
from tracegrad.user_code.closures import reads_history
from tracegrad.values.dispatch import is_jax_array
from tracegrad.values.pytree import flatten, leaf_paths, map_tree, path_text
from tracegrad.values.structure_words import in_words

MOST = 128
"""For so many functions the callable is kept."""

_PLAIN = frozenset({np.ndarray, np.float64, float})

_KEPT: OrderedDict[Any, Compiled | None] = OrderedDict()
_LOCK = threading.Lock()


def kept(f: Callable[..., Any], transform: Transform, backend: str | None) -> Compiled:
    """The callable that a transform makes of a function: that of the last call, if there was one.

    A lambda that is written in a loop is another function in each turn. Where it reads the very
    same objects it is taken for the one before; else as `made` has it.
    """
    found = _kept(f, transform, backend, False)
    return made(f, transform, known(backend)) if found is None else found


def kept_if_alike(
    f: Callable[..., Any], transform: Transform, backend: str | None
) -> Compiled | None:
    """As `kept`; None for a function whose code was called last with other objects around it.

    If it comes again it is kept: what is another function at every call is not worth a program.
    """
    return _kept(f, transform, backend, True)


def _kept(
    f: Callable[..., Any], transform: Transform, backend: str | None, replaces: bool
) -> Compiled | None:
    """The callable; None where one of the same code was called with others around it.

    With `replaces` that of `f` is kept from then on; else none is, any more.
    """
    key = (_identity(f), id(transform), backend)
    with _LOCK:
        found = _KEPT.get(key)
        if key not in _KEPT:
            found = _KEPT[key] = Compiled(f, transform, known(backend))
            while len(_KEPT) > MOST:
                _KEPT.popitem(last=False)
        elif found is None or not _alike(found._function, f):
            _KEPT[key] = Compiled(f, transform, known(backend)) if replaces else None
            found = None
        _KEPT.move_to_end(key)
    return found


def _identity(f: Any) -> Any:
    """What functions that may be alike have in common."""
    if type(f) is MethodType:
        return _identity(f.__func__)
    if type(f) is Compiled:
        return (_identity(f._function), *made_so(f))
    if type(f) is not FunctionType:
        return id(f)
    functions = [x for x in _read_by(f) if type(x) is FunctionType]  # those that it wraps
    return (f.__code__, id(f.__globals__), *[x.__code__ for x in functions])


def _alike(one: Any, other: Any) -> bool:
    """Whether two functions of one code read the same, and write nothing there."""
    if one is other:
        return True
    if type(one) is MethodType and type(other) is MethodType:
        return one.__self__ is other.__self__ and _alike(one.__func__, other.__func__)
    if type(one) is Compiled and type(other) is Compiled:
        return made_so(one) == made_so(other) and _alike(one._function, other._function)
    if type(one) is not FunctionType or type(other) is not FunctionType:
        return False
    if one.__dict__ or other.__dict__ or writes_cells(one.__code__):
        return False
    read, others = _read_by(one), _read_by(other)
    return len(read) == len(others) and all(map(is_, read, others))


def _read_by(f: FunctionType) -> list[Any]:
    """What a function has besides its arguments; of a short tuple its items."""
    found: list[Any] = [f.__globals__]
    todo = [*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()]
    todo += map(_held_by, f.__closure__ or ())
    for x in todo:
        short = type(x) is tuple and len(x) <= _SHORT and len(todo) <= MOST
        found.append(len(x) if short else x)
        todo += x if short else ()
    return found


_SHORT = 16


def _held_by(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty, and like no other
        return object()


def _several(what: str, given: Any) -> tuple[Any, ...]:
    if not isinstance(given, tuple | list):
        kind = what.partition(":")[0]
        found = "missing" if given is None else type(given).__name__
        raise ArgumentError(
            f"{what} are {found}: pass a tuple, one for each argument, as in tg.{kind}(f, (x,), "
            f"(x_dot,)); the callable tg.{kind}(f) takes x, x_dot"
        )
    return tuple(given)


def _floats(primal: Any, tangent: Any, name: str) -> Any:
    """A tangent in the structure of its primal; whole numbers of Python as floats."""
    leaves, spec = flatten(primal)
    given, given_spec = flatten(tangent)
    if spec != given_spec:
        raise ArgumentError(
            f"the tangent of {name} is {in_words(given_spec)}, {name} is {in_words(spec)}"
        )
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
    tuples = type(primals) is tuple and type(tangents) is tuple
    pairs_up = tuples and len(primals) == len(tangents) > 0
    if pairs_up and _PLAIN.issuperset(map(type, (*primals, *tangents))):
        return primals, tangents  # what is wrong with them is seen when the call is traced
    at = _several(f"{what}: the primals", primals)
    dots = _several(f"{what}: the tangents", tangents)
    if len(at) != len(dots):
        raise ArgumentError(f"{what}: {len(at)} primals and {len(dots)} tangents")
    if not at:
        raise ArgumentError(f"{what}: there are no primals")
    names = _names(f, len(at))
    pairs = zip(at, dots, names, strict=True)
    return at, tuple([_floats(x, dot, name) for x, dot, name in pairs])


def _required(f: Callable[..., Any]) -> int:
    """How many arguments a function needs."""
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    parameters = (shown_signature(f) or signature_of(f)).parameters.values()
    return sum(p.kind in kinds and p.default is Parameter.empty for p in parameters)


def known(backend: str | None) -> str | None:
    """The target, which is one that there is."""
    if backend not in CHOSEN:
        names = " or ".join(f'"{name}"' for name in EXACT)
        raise ArgumentError(f"backend={backend!r}: must be {names}")
    return backend


def _names(f: Callable[..., Any], count: int) -> list[str]:
    """What to call the arguments."""
    try:
        names = names_of(f)[:count]
    except (TypeError, ValueError):
        names = []
    return names + [f"argument {i}" for i in range(len(names), count)]


@cache
def transform_of(kind: str, count: int, has_aux: bool = False) -> Transform:
    """The transform of a function that is called with so many arguments."""
    one = kind == "hvp" and count == 1
    return Transform(kind, 0 if one else tuple(range(count)), has_aux, count)


def jvp(
    f: Callable[..., Any],
    primals: Sequence[Any] | None = None,
    tangents: Sequence[Any] | None = None,
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
    backend : "numpy", "numba", "auto" or "jax", optional
        The target of the generated source; default ``tg.config.backend``.

    Returns
    -------
    (out, out_tangent)
        The tangent has the structure, shapes and dtypes of ``out``; that of a number is one of
        NumPy's. It costs about as much as the value, whatever the number of inputs and outputs.
        Without primals and tangents the callable behind: ``tg.jvp(f)(x, y, x_dot, y_dot)``, which
        has ``.source()``, ``.export()`` and so on.

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
    if primals is None and tangents is None:
        return made(f, transform_of("jvp", _required(f), bool(has_aux)), known(backend))
    at, dots = _with_tangents(f, primals, tangents, "jvp")
    return kept(f, transform_of("jvp", len(at), bool(has_aux)), backend)(*at, *dots)


def jvp_of_one(f: Callable[..., Any], primal: Any, tangent: Any) -> tuple[Any, Any]:
    """As `jvp` in one argument: by a program where the function is one that may come again."""
    leaves = flatten((primal, tangent))[0]
    outside = STATE.trace is None and STATE.machine is None
    if outside and not any(isinstance(x, Tensor) or is_jax_array(x) for x in leaves):
        made = kept_if_alike(f, transform_of("jvp", 1), None)
        if made is not None:
            at, dots = _with_tangents(f, (primal,), (tangent,), "jvp")
            value, moved = made(*at, *dots)
            return value, moved
    return jvp_on_tape(f, primal, tangent)


def jvp_on_tape(f: Callable[..., Any], primal: Any, tangent: Any) -> tuple[Any, Any]:
    """As `jvp` in one argument, for a function that is called once: it runs on Tensors."""
    (given,) = _with_tangents(f, (primal,), (tangent,), "jvp")[1]
    made, leaves = Compiled(f, transform_of("jvp", 1)), flatten((primal, given))[0]
    recorded = STATE.trace is not None or reads_history(f)
    if any(map(is_jax_array, leaves)):
        found = made(primal, given)
    elif recorded or any(isinstance(x, Tensor) for x in leaves):
        found = made._inline(made._bind((primal, given), {}))
    else:
        found = made._eager(made._bind((primal, given), {}))
    value, moved = found
    return value, moved


def hvp(
    f: Callable[..., Any],
    primals: Sequence[Any] | None = None,
    tangents: Sequence[Any] | None = None,
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
        `has_aux` ``(product, aux)``. Without primals and tangents the callable behind:
        ``tg.hvp(f)(x, y, x_dot, y_dot)``, which has ``.source()``, ``.export()`` and so on.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
    array([ 6., 12.])
    """
    if primals is None and tangents is None:
        return made(f, transform_of("hvp", _required(f), bool(has_aux)), known(backend))
    at, dots = _with_tangents(f, primals, tangents, "hvp")
    return kept(f, transform_of("hvp", len(at), bool(has_aux)), backend)(*at, *dots)


def linearize(
    f: Callable[..., Any], *primals: Any, backend: str | None = None
) -> tuple[Any, Callable[..., Any]]:
    """The value of a function and its derivative there, as a linear function of tangents.

    Parameters
    ----------
    f : callable
        Plain Python over arrays, which may return any pytree of arrays.
    primals
        The arguments: arrays, floats or pytrees of them. What is written to them later does not
        matter.
    backend : "numpy", "numba", "auto" or "jax", optional
        The target of the generated source; default ``tg.config.backend``.

    Returns
    -------
    (out, linear_fn)
        ``linear_fn(*tangents)`` takes a tangent for each argument and gives that of ``out``. It is
        the program of `jvp`, which computes ``out`` along with it: what the function reads besides
        its arguments is read again, and what it does besides is done again.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> out, along = tg.linearize(np.sin, np.array([0.0, 1.0]))
    >>> along(np.array([1.0, 0.0]))
    array([1., 0.])
    """
    at = map_tree(_owned, primals)
    out, _ = jvp(f, primals, map_tree(_zeros, at), backend=backend)

    def linear_fn(*tangents: Any) -> Any:
        """The tangent of the result, from those of the arguments."""
        return jvp(f, at, tangents, backend=backend)[1]

    return out, linear_fn


def _owned(leaf: Any) -> Any:
    return leaf.copy(order="K") if isinstance(leaf, np.ndarray) else leaf


def _zeros(leaf: Any) -> Any:
    """The tangent of what does not move."""
    if isinstance(leaf, float | complex) and not isinstance(leaf, np.generic):
        return type(leaf)(0.0)
    if isinstance(leaf, np.ndarray | np.generic):
        return np.zeros_like(leaf)[()]
    return zeros_of(leaf) if isinstance(leaf, Tensor) else leaf
