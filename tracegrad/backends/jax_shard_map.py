"""Programs inside `jax.shard_map`, where JAX knows over which axes of the mesh a value varies.

What a loop carries, and what the arms of a branch give, must vary over the same axes before and
after, and in both arms. JAX leaves that to who writes the loop, and takes no condition into
account: what an arm gives varies as the condition does too. So inside `jax.shard_map` a program
runs with ``lax.scan``, ``while_loop``, ``fori_loop`` and ``cond`` that find out, and see to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import CellType, FunctionType
from typing import Any, TypeAlias

import codegen
from codegen.emit.target import Source
from tracegrad.values.dispatch import is_jax_tracer
from tracegrad.values.jax_library import jax


def varying(leaf: Any) -> frozenset[Any]:
    """The axes of a mesh over which a tracer inside `jax.shard_map` varies."""
    aval = jax.typeof(leaf) if is_jax_tracer(leaf) else None
    kind = getattr(aval, "manual_axis_type", None)  # before JAX 0.9 these are its `vma`
    found = getattr(aval, "vma", frozenset()) if kind is None else kind.varying
    return frozenset(found)


def is_inside(leaves: Iterable[Any]) -> bool:
    """Whether these are values of one device of a mesh, as in `jax.shard_map`."""
    mesh = jax.sharding.get_abstract_mesh()
    return bool(getattr(mesh, "manual_axes", ())) or any(map(varying, leaves))


def for_one_device(source: Source, leaves: Iterable[Any]) -> Callable[..., Any]:
    """The function of a source for such arguments."""
    if not any(map(varying, leaves)):  # nothing varies, or nobody checks
        return codegen.load(source.text, source.name, source.names)
    lines = source.text.splitlines(keepends=True)
    without_imports = ["\n" if line in _IMPORTS else line for line in lines]
    names = {**source.names, "jax": _Library(), "jnp": jax.numpy}
    return codegen.load(source.text, source.name, names, "".join(without_imports))


_IMPORTS = ("import jax\n", "import jax.numpy as jnp\n")
Axes: TypeAlias = "frozenset[Any]"


class _Library:
    """JAX with other loops and branches."""

    def __init__(self) -> None:
        self.lax = _Lax()

    def __getattr__(self, name: str) -> Any:
        return getattr(jax, name)


class _Lax:
    """`jax.lax`, with loops and branches whose values vary as they have to."""

    def __getattr__(self, name: str) -> Any:
        return getattr(jax.lax, name)

    def scan(self, body: Callable[..., Any], init: Any, xs: Any = None, **options: Any) -> Any:
        row = jax.tree.map(lambda x: x[0], xs) if options.get("length") != 0 else xs
        axes = _carried(lambda carry: body(carry, row)[0], init)

        def turn(carry: Any, x: Any) -> Any:
            carry, made = body(carry, x)
            return _vary(carry, axes), made

        return jax.lax.scan(turn, _vary(init, axes), xs, **options)

    def while_loop(self, going: Callable[..., Any], turn: Callable[..., Any], init: Any) -> Any:
        axes = _carried(turn, init, going)
        return jax.lax.while_loop(going, lambda x: _vary(turn(x), axes), _vary(init, axes))

    def fori_loop(
        self, lower: Any, upper: Any, body: Callable[..., Any], init: Any, **options: Any
    ) -> Any:
        times = varying(lower) | varying(upper)
        lower, upper = _vary((lower, upper), [times, times]) if times else (lower, upper)
        axes = _carried(lambda carry: body(lower, carry), init, lambda carry: upper)
        turn = lambda k, carry: _vary(body(k, carry), axes)
        return jax.lax.fori_loop(lower, upper, turn, _vary(init, axes), **options)

    def cond(self, condition: Any, taken: Any, otherwise: Any, *operands: Any) -> Any:
        every = [*_given(taken, *operands), *_given(otherwise, *operands), varying(condition)]
        around: Axes = frozenset().union(*every)
        arms = [_read_varying(arm, around) for arm in (taken, otherwise)]
        pairs = zip(*[_given(arm, *operands) for arm in arms], strict=True)
        axes = [one | other | varying(condition) for one, other in pairs]
        arms = [lambda *x, arm=arm: _vary(arm(*x), axes) for arm in arms]
        return jax.lax.cond(condition, *arms, *operands)


def _vary(tree: Any, axes: Sequence[Axes]) -> Any:
    """The leaves, each of which varies over its axes, and perhaps more."""
    leaves, structure = jax.tree.flatten(tree)
    missing = [tuple(wanted - varying(x)) for x, wanted in zip(leaves, axes, strict=True)]
    pairs = zip(leaves, missing, strict=True)
    return structure.unflatten([_made_varying(x, more) if more else x for x, more in pairs])


def _read_varying(function: Any, axes: Axes) -> Any:
    """An arm that reads what is around it as varying, which it is made outside of the arm.

    A derivative that JAX takes adds up over the devices where that is, and not within an arm, which
    some devices do not run.
    """
    cells = function.__closure__ if isinstance(function, FunctionType) else None
    if not cells:
        return function
    own = CellType()
    cells = tuple([own if _holds(c, function) else _varying_cell(c, axes) for c in cells])
    made = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, cells
    )
    own.cell_contents = made
    return made


def _holds(cell: CellType, x: Any) -> bool:
    return _held(cell) is x


def _held(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is set later
        return None


def _varying_cell(cell: CellType, axes: Axes) -> CellType:
    held = _held(cell)
    if isinstance(held, FunctionType):
        return CellType(_read_varying(held, axes))
    leaves = jax.tree.leaves(held)
    if not any(map(is_jax_tracer, leaves)):
        return cell
    return CellType(_vary(held, [axes if is_jax_tracer(x) else varying(x) for x in leaves]))


def _given(function: Callable[..., Any], *operands: Any) -> list[Axes]:
    """Over which axes each leaf of a result varies."""
    found: list[Axes] = []

    def noted(*given: Any) -> Any:
        result = function(*given)
        found[:] = map(varying, jax.tree.leaves(result))
        return result

    jax.make_jaxpr(noted)(*operands)
    return found


def _carried(turn: Callable[..., Any], init: Any, going: Any = None) -> list[Axes]:
    """Over which axes each leaf that a loop carries varies: as it begins, and after each turn."""
    axes = [*map(varying, jax.tree.leaves(init))]
    while True:
        carry = _vary(init, axes)
        times = frozenset().union(*_given(going, carry)) if going is not None else frozenset()
        after = [a | b | times for a, b in zip(axes, _given(turn, carry), strict=True)]
        if after == axes:
            return axes
        axes = after


def _made_varying(leaf: Any, axes: tuple[Any, ...]) -> Any:
    if hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(leaf, axes, to="varying")
    return jax.lax.pvary(leaf, axes)  # before JAX 0.9
