"""Two results enter, an AssertionError leaves where they differ; the ways to compute one result.

A *value and gradients* here is ``(leaves of the returned value, leaves of the gradient)``, lists of
NumPy arrays and scalars, so that results of every mode compare whatever container they came in.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tracegrad as tg
from tracegrad.autograd import compiled_backward as eager_backwards
from tracegrad.values.pytree import flatten, map_tree, unflatten

ValueAndGradients = tuple[list[Any], list[Any]]


# -- comparing ----------------------------------------------------------------------------------


def plain(leaf: Any) -> Any:
    """The array or number in a Tensor; everything else as it is."""
    return leaf.detach().numpy() if isinstance(leaf, tg.Tensor) else leaf


def leaves(tree: Any) -> list[Any]:
    """The leaves of a pytree, Tensors as arrays."""
    return [plain(leaf) for leaf in flatten(tree)[0]]


def _is_number(x: Any) -> bool:
    return isinstance(x, np.ndarray | np.generic | bool | int | float | complex)


def assert_same_bits(actual: Any, expected: Any, what: str = "") -> None:
    """Equal dtype, shape, values, nan for nan, and sign of zero, leaf by leaf."""
    given, wanted = leaves(actual), leaves(expected)
    assert len(given) == len(wanted), f"{what}: {len(given)} leaves, expected {len(wanted)}"
    for i, (a, b) in enumerate(zip(given, wanted, strict=True)):
        where = f"{what}: leaf {i}"
        if not _is_number(b):
            assert type(a) is type(b) and a == b, f"{where}: {a!r}, expected {b!r}"
            continue
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype, f"{where}: dtype {a.dtype}, expected {b.dtype}"
        assert a.shape == b.shape, f"{where}: shape {a.shape}, expected {b.shape}"
        assert np.array_equal(_bits(a), _bits(b)), (
            f"{where}: differs by up to {_distance(a, b)}\n{a!r}\nexpected\n{b!r}"
        )


def _bits(a: np.ndarray) -> np.ndarray:
    """Integers that are equal exactly where values are, all nans being one value."""
    if a.dtype.kind not in "fc":
        return a
    parts = np.ascontiguousarray(a).reshape(-1).view(a.real.dtype).copy()
    parts[np.isnan(parts)] = np.nan
    return parts.view(f"i{parts.dtype.itemsize}")


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    with np.errstate(all="ignore"):
        return float(np.nanmax(np.abs(a - b), initial=0.0)) if a.dtype.kind in "fc" else np.nan


def assert_close(
    actual: Any, expected: Any, rtol: float, atol: float = 0.0, what: str = ""
) -> None:
    """Equal shapes, and values within `rtol` of the largest one of each leaf (or within `atol`)."""
    given, wanted = leaves(actual), leaves(expected)
    assert len(given) == len(wanted), f"{what}: {len(given)} leaves, expected {len(wanted)}"
    for i, (a, b) in enumerate(zip(given, wanted, strict=True)):
        if not _is_number(b):
            continue
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape, f"{what}: leaf {i}: shape {a.shape}, expected {b.shape}"
        finite = np.abs(b[np.isfinite(b)])
        scale = float(finite.max(initial=0.0))
        np.testing.assert_allclose(
            a, b, rtol=rtol, atol=max(atol, rtol * scale), err_msg=f"{what}: leaf {i}"
        )


# -- the ways to compute ------------------------------------------------------------------------


def split(result: Any) -> ValueAndGradients:
    """What ``value_and_grad`` returned."""
    value, gradient = result
    return leaves(value), leaves(gradient)


def positions_of(argnums: int | Sequence[int]) -> tuple[int, ...]:
    return (argnums,) if isinstance(argnums, int) else tuple(argnums)


def run_eagerly(
    function: Callable[..., Any],
    args: Sequence[Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    create_graph: bool = False,
) -> ValueAndGradients:
    """The function on Tensors, then ``backward()`` and the leaves' ``grad``."""
    inputs: list[tg.Tensor] = []

    def differentiated(leaf: Any) -> tg.Tensor:
        inputs.append(tg.tensor(leaf, requires_grad=True))
        return inputs[-1]

    def other(leaf: Any) -> Any:
        return tg.tensor(leaf) if isinstance(leaf, np.ndarray | np.generic) else leaf

    wanted = positions_of(argnums)
    values = [map_tree(differentiated if i in wanted else other, a) for i, a in enumerate(args)]
    returned = function(*values)
    main = returned[0] if has_aux else returned
    if isinstance(main, tg.Tensor) and main.requires_grad:
        main.backward(create_graph=create_graph)
    gradients = [np.zeros(x.shape, x.dtype) if x.grad is None else plain(x.grad) for x in inputs]
    # inputs were met in the order of the arguments; gradients come in the order of argnums
    counts = [len(flatten(args[i])[0]) for i in sorted(wanted)]
    starts = dict(zip(sorted(wanted), np.cumsum([0, *counts]), strict=False))
    ordered = [gradients[starts[i] + k] for i in wanted for k in range(len(flatten(args[i])[0]))]
    return leaves(returned), ordered


def forget_eager_backwards() -> None:
    """Makes the next eager backward the first of its kind: interpreted, not compiled."""
    eager_backwards._SEEN.clear()


def run_interpreted(
    compiled: Any, args: Sequence[Any], stage: str, n_values: int
) -> ValueAndGradients:
    """The graph of a compiled callable run node by node."""
    from tracegrad.execution.graph_interpreter import interpret

    version = compiled._version_for(tuple(args), {})
    graph = compiled.graph(*args, stage=stage)
    inputs = [leaf.value for leaf in compiled._bind(args, {}).leaves if leaf.traced]
    outputs = interpret(graph, [*inputs, *version.captured_arrays()])
    return outputs[:n_values], outputs[n_values:]


# -- differences --------------------------------------------------------------------------------


def function_of(text: str, name: str = "programs") -> Any:
    """The function `f` of a text, whose lines tracegrad finds as those of a file."""
    file, scope = f"<{name} {hash(text)}>", dict[str, Any](np=np)
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), scope)
    return scope["f"]


def is_real(leaf: Any) -> bool:
    return isinstance(leaf, float) or np.asarray(leaf).dtype.kind in "fc"


def direction_like(tree: Any, seed: int = 0) -> Any:
    """Random numbers in the structure of a pytree of floating-point leaves."""
    random = np.random.default_rng(seed)

    def draw(leaf: Any) -> Any:
        x = np.asarray(leaf)
        v = random.normal(size=x.shape)
        return v + 1j * random.normal(size=x.shape) if x.dtype.kind == "c" else v

    return map_tree(draw, tree)


def moved(args: Sequence[Any], wanted: Sequence[int], direction: Sequence[Any], h: float) -> list:
    """The arguments with those at `wanted` moved by `h` times the direction."""
    args = list(args)
    for i, d in zip(wanted, direction, strict=True):
        args[i] = map_tree(lambda x, v: x + h * v, args[i], d)
    return args


def slope(f: Callable[[float], Any], h: float = 1e-4) -> Any:
    """The derivative at 0 of a function of one number, by central differences of order four."""
    near = [f(s * h) for s in (1, -1, 2, -2)]
    return (8.0 * (near[0] - near[1]) - (near[2] - near[3])) / (12.0 * h)


def dot(a: Any, b: Any) -> Any:
    """The inner product of two pytrees, differentiable in the leaves of the first."""
    pairs = zip(flatten(a)[0], flatten(b)[0], strict=True)
    return sum((np.sum(x * y) for x, y in pairs), start=0.0)


# -- JAX ----------------------------------------------------------------------------------------


def devices(n: int) -> dict[str, str]:
    """The environment of a process in which JAX has n virtual devices."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={n}"
    return {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}


def wide_jax() -> Any:
    """A context in which JAX keeps 64 bits; the process's own choice stays as it is."""
    import jax

    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    from jax.experimental import enable_x64

    return enable_x64(True)


def run_in_jax(f: Callable[..., Any], *args: Any) -> Any:
    """What a function over jax.numpy returns.

    Under jit, which starts sooner than op by op; functions that look at values run without.
    """
    import jax

    try:
        return jax.jit(f)(*args)
    except (TypeError, IndexError):  # JAX's errors of values that are not known yet
        return f(*args)


def jax_value_and_gradients(
    function: Callable[..., Any],
    args: Sequence[Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
) -> ValueAndGradients:
    """What JAX says of a function written over jax.numpy."""
    import jax
    import jax.numpy as jnp

    def given(leaf: Any) -> Any:
        return jnp.asarray(leaf) if isinstance(leaf, np.ndarray | np.generic) else leaf

    def of_leaves(flat: list[Any]) -> Any:
        values = list(args)
        for i, value in zip(wanted, unflatten(spec, flat), strict=True):
            values[i] = value
        returned = function(*values)
        main, aux = returned if has_aux else (returned, None)
        shown = [leaf for leaf in flatten(aux)[0] if hasattr(leaf, "dtype")]
        return jnp.asarray(main), shown

    wanted = positions_of(argnums)
    with wide_jax():
        args = map_tree(given, tuple(args))
        flat, spec = flatten(tuple(args[i] for i in wanted))
        whole = jax.value_and_grad(of_leaves, has_aux=True)
        (value, aux), gradient = run_in_jax(whole, flat)
    return [np.asarray(x) for x in (value, *aux)], [np.asarray(x) for x in gradient]
