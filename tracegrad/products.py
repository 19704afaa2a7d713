"""A function, a point and vectors there enter; its value and products with its Jacobian leave.

`jvp`, `hvp`, `linearize` and `vjp` are called with the point at once, where `grad` makes a
callable. In forward mode the callable that is made of a function is kept, so that the next call for
the same function finds it compiled.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dis import get_instructions
from functools import cache
from inspect import Parameter
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from tracegrad.autograd import engine
from tracegrad.autograd.foreign import COPIED, Foreign, memory_of, own_or_watched, seal
from tracegrad.autograd.tape import LEAF
from tracegrad.autograd.writes import arrays_of
from tracegrad.borrowed import Borrowed
from tracegrad.callables import Compiled
from tracegrad.devices import as_held, bare
from tracegrad.dispatch import is_jax_array
from tracegrad.errors import ArgumentError, raise_told
from tracegrad.lost import Watch
from tracegrad.nested import plain_leaf, taken, unrolled
from tracegrad.ops.creation import zeros_of
from tracegrad.ops.elementwise import alias
from tracegrad.returned import Transform
from tracegrad.signature import name_of, signature_of
from tracegrad.state import STATE
from tracegrad.state import call as call_user
from tracegrad.tensor import Tensor, wrap
from tracegrad.tree import flatten, leaf_paths, map_tree, path_text, unflatten
from tracegrad.world.answers import interpreted

MOST = 128
"""For so many functions the callable is kept."""

_PLAIN = frozenset({np.ndarray, np.float64, float})

_KEPT: OrderedDict[Any, Compiled] = OrderedDict()
_LOCK = threading.Lock()


def kept(f: Callable[..., Any], transform: Transform, backend: str | None) -> Compiled:
    """The callable that a transform makes of a function: that of the last call, if there was one.

    A lambda that is written in a loop is another function in each turn. Where it reads the very
    same objects it is taken for the one before.
    """
    key = (f.__code__ if type(f) is FunctionType else id(f), id(transform), backend)
    with _LOCK:
        found = _KEPT.get(key)
        if found is None or not (found._function is f or _alike(found._function, f)):
            found = _KEPT[key] = Compiled(f, transform, known(backend))
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
    parameters = signature_of(f).parameters.values()
    return sum(p.kind in kinds and p.default is Parameter.empty for p in parameters)


def known(backend: str | None) -> str | None:
    """The target, which is one that there is."""
    if backend not in (None, "numpy", "jax"):
        raise ArgumentError(f'backend={backend!r}: must be "numpy" or "jax"')
    return backend


def _names(f: Callable[..., Any], count: int) -> list[str]:
    """What to call the arguments."""
    try:
        names = list(signature_of(f).parameters)[:count]
    except (TypeError, ValueError):
        names = []
    return names + [f"argument {i}" for i in range(len(names), count)]


@cache
def _transform(kind: str, count: int, has_aux: bool = False) -> Transform:
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
    backend : "numpy" or "jax", optional
        The target of the generated source; default ``tg.config.backend``.

    Returns
    -------
    (out, out_tangent)
        The tangent has the structure, shapes and dtypes of ``out``. It costs about as much as the
        value, whatever the number of inputs and outputs. Without primals and tangents the callable
        behind: ``tg.jvp(f)(x, y, x_dot, y_dot)``, which has ``.source()``, ``.export()`` and so on.

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
        return Compiled(f, _transform("jvp", _required(f), bool(has_aux)), known(backend))
    at, dots = _with_tangents(f, primals, tangents, "jvp")
    return kept(f, _transform("jvp", len(at), bool(has_aux)), backend)(*at, *dots)


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
    return kept(f, _transform("hvp", len(at), bool(has_aux)), backend)(*at, *dots)


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
    backend : "numpy" or "jax", optional
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
    still = map_tree(_zeros, at)
    out, _ = jvp(f, at, still, backend=backend)

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


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function and the map from cotangents of it to cotangents of its arguments.

    The function runs eagerly; its backward is compiled and cached by the shape of the tape.

    Parameters
    ----------
    f : callable
        Plain Python over arrays, which may return any pytree of arrays.
    primals
        The arguments: arrays, floats or pytrees of them.
    has_aux : bool
        The function returns ``(value, aux)``; ``(out, vjp_fn, aux)`` is returned.

    Returns
    -------
    (out, vjp_fn)
        ``vjp_fn(cotangent)`` takes the structure of ``out`` and returns a tuple with one cotangent
        an argument; it may be called any number of times.

    Raises
    ------
    tg.errors.ArgumentError
        A primal is not floating point, or a cotangent is not like the result.
    tg.errors.LostGradientError
        A Python number that was read of an argument comes back in the result.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> out, pull = tg.vjp(lambda x: x * x, np.array([1.0, 2.0]))
    >>> pull(np.array([1.0, 10.0]))
    (array([ 2., 40.]),)
    """
    tensors: list[Tensor] = []

    def boxed(leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            tensor = alias(leaf) if leaf.requires_grad else wrap(leaf._array, leaf._traced)
        elif is_jax_array(leaf):
            tensor = wrap(as_held(leaf))
        else:
            array = np.asarray(leaf)
            number = not isinstance(leaf, np.ndarray) and not array.ndim
            tensor = wrap(array[()] if number else own_or_watched(array))
        if tensor.dtype.kind not in "fc":
            raise ArgumentError(
                f"vjp: a primal has dtype {tensor.dtype}: gradients need floating point"
            )
        if tensor._node is None:
            tensor._node = LEAF
        tensors.append(tensor)
        return tensor

    borrowed = Borrowed()
    specs = [flatten(primal)[1] for primal in primals]  # as they are before the function runs
    wants_tensors = STATE.trace is not None or any(
        isinstance(leaf, Tensor) for leaf in flatten(primals)[0]
    )
    numbers = STATE.standing or not wants_tensors
    within = STATE.machine is not None and not wants_tensors  # of a function with a tape of its own
    before = STATE.update(grad_enabled=True, standing=numbers)
    try:
        with interpreted(), unrolled():
            values = [borrowed.box(primal, boxed) for primal in primals]
            returned = Watch("vjp", has_aux).run(call_user, f, values, {})
            if has_aux and (not isinstance(returned, tuple) or len(returned) != 2):
                raise ArgumentError(f"{name_of(f)} must return (value, aux) with has_aux=True")
            main, aux = returned if has_aux else (returned, None)
            outputs, spec = flatten(main)  # before what stands in containers are arrays again
    except BaseException as error:
        borrowed.settle_raised()
        raise_told(error)
        raise
    finally:
        STATE.update(**before)
    borrowed.settle()
    wants_tensors = wants_tensors or (within and _reads_others(outputs, tensors))
    shown = outputs if wants_tensors else list(map(bare, _handed_over(outputs, tensors)))

    def pull(cotangent: Any) -> tuple[Any, ...]:
        given, given_spec = flatten(cotangent)
        if given_spec != spec:
            raise ArgumentError(f"vjp: the cotangent is {given_spec}, the value is {spec}")
        pairs = [
            (out, engine.cotangent_for(out, ct))
            for out, ct in zip(outputs, given, strict=True)
            if isinstance(out, Tensor) and out.requires_grad
        ]
        recorded = wants_tensors or any(isinstance(ct, Tensor) for ct in given)
        found = engine.gradients(
            [out for out, _ in pairs], [ct for _, ct in pairs], tensors, recorded
        )
        cts = [found.get(engine.key_of(t)) for t in tensors]
        full = [zeros_of(box) if ct is None else ct for ct, box in zip(cts, tensors, strict=True)]
        rest = iter(full if recorded else map(bare, full))
        return tuple([taken(spec, rest) for spec in specs])

    value = unflatten(spec, shown)
    if not has_aux:
        return value, pull
    return value, pull, aux if wants_tensors else map_tree(bare, aux)


def _reads_others(outputs: Sequence[Any], inputs: Sequence[Tensor]) -> bool:
    """Whether outputs have a gradient in other Tensors than the inputs: those of a closure."""
    made = [out for out in outputs if isinstance(out, Tensor) and out.requires_grad]
    own = set(map(id, inputs))
    leaves = [parent for node in engine.gather(made) for parent in node.parents]
    leaves += [out for out in made if out._node is LEAF]
    return any(isinstance(leaf, Tensor) and id(leaf) not in own for leaf in leaves)


def _handed_over(outputs: Sequence[Any], inputs: Sequence[Tensor]) -> list[Any]:
    """Results as arrays of the caller's own; what the tape keeps of the inputs is watched."""
    arrays = [plain_leaf(out) for out in outputs]
    sizes = [x.nbytes if type(x) is np.ndarray else 0 for x in arrays]
    large = [x for x in inputs if type(x._array) is Foreign]
    held: set[int] = set()  # ids of the memory of which others know
    if large or max(sizes, default=0) > COPIED:
        recorded = [out for out in outputs if isinstance(out, Tensor) and out.requires_grad]
        nodes = engine.gather(recorded)
        held = {id(memory_of(array)) for node in nodes for array in arrays_of(node)}
        for x in large:
            if id(memory_of(x._array)) in held:
                seal(x._array)
        held |= {id(memory_of(x._array)) for x in inputs}
    for i, size in enumerate(sizes):
        if isinstance(outputs[i], Tensor) and size:
            if size <= COPIED or id(memory_of(arrays[i])) in held:
                arrays[i] = arrays[i].copy(order="K")
            else:
                held.add(id(memory_of(arrays[i])))
    return arrays
