"""Forward mode: tangents of every op, of programs with branches and loops, nested, on both targets.

What tangents should be is told by finite differences and by JAX.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from checks import (
    assert_close,
    assert_same_bits,
    direction_like,
    jax_value_and_gradients,
    slope,
    wide_jax,
)
from programs import PROGRAMS, Program
from samples.sampling import PHASE_FREE, TOGETHER, samples
from test_ops import (
    as_function,
    direction_for,
    floating,
    flows,
    precise,
    separated,
    spread,
    takes,
)

import tracegrad as tg
from tracegrad import config
from tracegrad.ops.record import TABLE
from tracegrad.values.pytree import flatten, map_tree

differentiable = pytest.mark.parametrize(
    "op",
    [op for op in TABLE.values() if op.vjp is not None and op.name not in TOGETHER],
    ids=lambda op: op.name,
)
X = np.array([0.3, -0.7, 1.1])
V = np.array([1.0, -2.0, 0.5])


@pytest.fixture(autouse=True)
def verified_graphs(monkeypatch):
    """Every graph is verified between passes."""
    monkeypatch.setattr(config, "check", True)


def flat(tree: Any) -> np.ndarray:
    """All numbers of a pytree."""
    return np.concatenate([np.ravel(np.asarray(leaf)) for leaf in flatten(tree)[0]])


def moved(primals: Any, tangents: Any, h: float) -> Any:
    return map_tree(lambda x, v: x + h * v, primals, tangents)


def assert_tangent(f: Any, primals: Any, tangents: Any, rtol: float = 1e-6, **settings: Any) -> Any:
    """The value is the function's, and the tangent that of differences; gives the tangent."""
    out, dot = tg.jvp(f, primals, tangents, **settings)
    expected = f(*primals)
    assert flatten(out)[1] == flatten(expected)[1] == flatten(dot)[1]
    assert_close(flat(out), flat(expected), 1e-12)
    for y, t in zip(flatten(out)[0], flatten(dot)[0], strict=True):
        assert np.shape(y) == np.shape(t) and np.asarray(y).dtype == np.asarray(t).dtype
    assert_close(
        flat(dot), slope(lambda h: flat(f(*moved(primals, tangents, h)))), rtol=rtol, atol=1e-7
    )
    return dot


# -- ops ----------------------------------------------------------------------------------------


@pytest.mark.sampled(9)
@differentiable
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_tangents_of_ops_against_differences(op, dtype):
    if dtype == "complex128" and op.name in PHASE_FREE:
        dtype = "float64"
    for sample in spread(samples(op, dtype), 6):
        if not takes(op, sample) or not flows(op, sample) or not precise(sample):
            continue
        xs, rest = separated(sample)
        f = as_function(op, sample)
        v = direction_for(op, xs, 5)

        def at(xs: Any, f: Any = f, rest: Any = rest) -> list[Any]:
            y = f(xs, rest)
            several = y if isinstance(y, tuple | list) else [y]
            return [y for y in several if np.asarray(y).dtype.kind in "fc"]

        def along(h: float, xs: Any = xs, v: Any = v, at: Any = at) -> np.ndarray:
            return flat(at(tuple(x + h * d for x, d in zip(xs, v, strict=True))))

        with np.errstate(all="ignore"):
            _, found = tg.jvp(at, (xs,), (v,))
            expected = slope(along)
        if np.all(np.isfinite(expected)):
            assert_close(flat(found), expected, rtol=1e-6, atol=1e-6, what=str(sample))


@pytest.mark.sampled(4, 1)
@differentiable
def test_eager_and_compiled_tangents_have_the_same_bits(op, monkeypatch):
    for sample in spread(samples(op, "float64"), 3):
        if not flows(op, sample) or not floating(sample.operands):
            continue
        xs, rest = separated(sample)
        f = as_function(op, sample)
        v = direction_for(op, xs, 7)

        def at(xs: Any, f: Any = f, rest: Any = rest) -> list[Any]:
            y = f(xs, rest)
            several = y if isinstance(y, tuple | list) else [y]
            return [y for y in several if np.asarray(y).dtype.kind in "fc"]

        with np.errstate(all="ignore"):
            compiled = tg.jvp(at, (xs,), (v,))
            monkeypatch.setattr(config, "compile", False)
            eager = tg.jvp(at, (xs,), (v,))
            monkeypatch.setattr(config, "compile", True)
        assert_same_bits(compiled, eager, str(sample))


# -- programs -----------------------------------------------------------------------------------


def in_wanted(program: Program) -> tuple[Any, tuple[Any, ...]]:
    """A program as a function of the arguments by which it is differentiated, and these."""
    args, f = program.args, program.new()

    def at(*wanted: Any) -> Any:
        given = list(args)
        for i, value in zip(program.positions, wanted, strict=True):
            given[i] = value
        returned = f(*given)
        return returned[0] if program.has_aux else returned

    return at, tuple(args[i] for i in program.positions)


smooth = pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if p.order >= 1], ids=lambda p: p.name
)
twice = pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if p.order >= 2], ids=lambda p: p.name
)


@pytest.mark.sampled(8)
@smooth
def test_tangents_of_programs_are_those_of_jax(program):
    import jax.numpy as jnp

    at, primals = in_wanted(program)
    v = tuple(direction_like(x, 3) for x in primals)
    out, found = tg.jvp(at, primals, v)
    args = (program.reference(jnp), program.args, program.argnums, program.has_aux)
    value, gradient = jax_value_and_gradients(*args)
    assert_close(out, value[0], 1e-10)
    parts = zip(gradient, flatten(v)[0], strict=True)
    expected = sum(np.sum(np.asarray(g) * np.asarray(d)) for g, d in parts)
    scale = sum(np.sum(np.abs(np.asarray(g) * d)) for g, d in zip(gradient, flatten(v)[0]))
    assert found == pytest.approx(float(expected), rel=1e-9, abs=1e-10 * max(1.0, float(scale)))


@pytest.mark.sampled(4)
@twice
def test_hessian_vector_products_of_programs_against_differences(program):
    at, primals = in_wanted(program)
    v = tuple(direction_like(x, 4) for x in primals)
    gradient = tg.grad(at, tuple(range(len(primals))))
    expected = slope(lambda h: flat(gradient(*moved(primals, v, h))))
    assert_close(flat(tg.hvp(at, primals, v)), expected, rtol=1e-6, atol=1e-7)


def counted(x, w):
    h = x
    for _ in range(20):
        h = np.tanh(h * w + x[0])
    return h


def decided(x):
    y = x
    while np.sum(y * y) < 100.0:
        y = y * 1.5
    return y, x.sum()


def branching(x):
    if x[0] > 0:
        return np.sin(x)
    return np.stack([x[0], x[1], x[2] * x[2]])


def looping_and_leaving(x):
    y = x * 1.0
    for i in range(50):
        y = y * 1.1 + 0.01 * i * x
        if y[0] > 5.0:
            return y * y
    return y


def filled(x):
    y = np.zeros(12)
    y[0] = x[0]
    for t in range(1, 12):
        y[t] = np.sin(y[t - 1]) * x[1] + x[2]
    return y


def rows(x):
    total = 0.0
    for row in np.outer(np.arange(1.0, 10.0), x):
        total = total + np.exp(-np.sum(row * row)) * total + row[0]
    return total


def tree(p, s):
    return {"a": (p["w"] * s, np.sum(p["b"])), "b": [np.outer(p["w"], p["b"])]}


FLOWS = [
    (counted, (X, X + 1.0)),
    (decided, (X,)),
    (branching, (X,)),
    (branching, (-X,)),
    (looping_and_leaving, (np.abs(X),)),
    (looping_and_leaving, (-np.abs(X),)),
    (filled, (X,)),
    (rows, (X,)),
    (tree, ({"w": X, "b": X[:2]}, 2.0)),
]


@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize(("f", "primals"), FLOWS)
def test_branches_loops_and_pytrees(f, primals, backend):
    tangents = tuple(direction_like(x, 8) for x in primals)
    assert_tangent(f, primals, tangents, backend=backend)


@pytest.mark.parametrize(("f", "primals"), FLOWS)
def test_eager_and_compiled_give_the_same_bits(f, primals, monkeypatch):
    tangents = tuple(direction_like(x, 8) for x in primals)
    compiled = tg.jvp(f, primals, tangents)
    monkeypatch.setattr(config, "compile", False)
    assert_same_bits(compiled, tg.jvp(f, primals, tangents))


def test_a_loop_stays_a_loop():
    found = tg.jvp(counted)
    found(X, X + 1.0, V, V)
    text = found.source()
    assert text.count("np.tanh") == 3  # the user's line above the two generated ones
    assert "for _ in range(20):" in text and "h_dot" in text


def test_a_loop_in_a_hessian_vector_product_stays_a_loop():
    def loss(x):
        return np.sum(counted(x, x + 1.0) ** 2)

    gradient = tg.grad(loss)
    expected = slope(lambda h: gradient(X + h * V))
    assert_close(tg.hvp(loss, (X,), (V,)), expected, 1e-7)


# -- what is written ----------------------------------------------------------------------------


def layer(x, w):
    h = np.tanh(x @ w)
    return np.mean(h, axis=0)


def test_the_text_reads_as_that_of_a_gradient():
    compiled = tg.jvp(layer)
    a, b = np.ones((4, 3)), np.ones((3, 2))
    compiled(a, b, a, b)
    lines = [line.strip() for line in compiled.source().splitlines()]
    start = lines.index(f"# test_jvp.py:{layer.__code__.co_firstlineno + 1}  h = np.tanh(x @ w)")
    assert lines[start + 1 : start + 6] == [
        "h = x @ w",
        "h_dot = x_dot @ w",
        "h_dot += x @ w_dot",
        "np.tanh(h, out=h)",
        "h_dot *= 1.0 - h * h",
    ]


def test_products_of_a_hessian_by_a_callable():
    def f(x, y):
        return np.sum(x**3 * y)

    product, a = tg.hvp(f), np.array([1.0, 2.0])
    assert_close(product(a, a, a, a), tg.hvp(f, (a, a), (a, a)), rtol=1e-15)
    assert "def f_hvp(x, y, x_dot, y_dot):" in product.source()
    of_one, aux = tg.hvp(lambda x: np.sum(x**4)), tg.hvp(lambda x: (np.sum(x**4), x), has_aux=True)
    assert_close(of_one(a, a), 12.0 * a**3, rtol=1e-14)
    assert_close(aux(a, a), (12.0 * a**3, a), rtol=1e-14)
    assert_close(tg.grad(lambda x: np.sum(of_one(x, a)))(a), 24.0 * a * a, rtol=1e-14)


@pytest.mark.parametrize("transform", [tg.jvp, tg.hvp])
def test_callables_that_take_tangents_nest(transform):
    of_one, a = transform(lambda x: np.sum(x**4)), np.array([1.0, 2.0])
    assert list(inspect.signature(of_one).parameters) == ["x", "x_dot"]
    rows = tg.vmap(of_one, in_axes=(None, 0))(a, np.eye(2))
    each = [of_one(a, row) for row in np.eye(2)]
    wanted = [np.stack(x) for x in zip(*each)] if transform is tg.jvp else np.stack(each)
    assert_close(rows, tuple(wanted) if transform is tg.jvp else wanted, rtol=1e-14)
    assert_close(tg.compile(of_one)(a, a), of_one(a, a), rtol=1e-14)


@pytest.mark.parametrize("transform", [tg.jvp, tg.hvp])
def test_a_point_without_tangents_is_an_error_that_says_what_there_is(transform):
    with pytest.raises(tg.errors.ArgumentError, match=r"tangents are missing: .*, \(x_dot,\)\)"):
        transform(np.sum, (np.ones(2),))
    with pytest.raises(tg.errors.ArgumentError, match=r"ndarray: .* the callable tg\.[jh]vp\(f\)"):
        transform(np.sum, np.ones(2), np.ones(2))


def test_the_next_call_for_the_same_function_is_not_traced():
    from tracegrad.transforms.vector_products import _KEPT

    b = np.ones((3, 2))
    for n in (4, 5, 1):
        tg.jvp(layer, (np.ones((n, 3)), b), (np.ones((n, 3)), b))
    (compiled,) = [made for made in _KEPT.values() if made and made._function is layer]
    assert compiled.cache_info().traces == 1


def test_lambdas_of_one_line_share_a_program():
    from tracegrad.transforms.vector_products import _KEPT

    before = set(_KEPT)
    for n in range(3):
        c = 2.0 * n
        _, found = tg.jvp(lambda x: x * x, (X,), (V,))
        assert_close(found, 2 * X * V, 1e-14)
        _, found = tg.jvp(lambda x, c=c: x * c, (X,), (V,))
        assert_close(found, c * V, 1e-14)
        _, found = tg.jvp(lambda x: x * c, (X,), (V,))  # noqa: B023
        assert_close(found, c * V, 1e-14)
    assert len(set(_KEPT) - before) == 3


# -- nesting ------------------------------------------------------------------------------------


def cubic(x):
    return np.sum(x**3) + x[0] * x[1] * x[2]


def test_nested_in_any_order():
    import jax
    import jax.numpy as jnp

    def in_jax(x):
        return jnp.sum(x**3) + x[0] * x[1] * x[2]

    with wide_jax():
        x, v = jnp.asarray(X), jnp.asarray(V)
        hv = np.asarray(jax.jvp(jax.grad(in_jax), (x,), (v,))[1])
        third = jax.grad(lambda x: jax.jvp(jax.grad(in_jax), (x,), (v,))[1] @ v)
        third = np.asarray(jax.jit(third)(x))
    assert_close(tg.jvp(tg.grad(cubic), (X,), (V,))[1], hv, 1e-12)
    assert_close(tg.grad(lambda x: tg.jvp(cubic, (x,), (V,))[1])(X), hv, 1e-12)
    assert_close(tg.hvp(tg.compile(cubic), (X,), (V,)), hv, 1e-12)
    assert_close(tg.compile(lambda x: tg.hvp(cubic, (x,), (V,)))(X), hv, 1e-12)
    assert_close(tg.vjp(lambda x: tg.jvp(cubic, (x,), (V,))[1], X)[1](1.0)[0], hv, 1e-12)
    assert_close(tg.grad(lambda x: tg.hvp(cubic, (x,), (V,)) @ V)(X), third, 1e-12)
    _, of_second = tg.jvp(lambda x: tg.jvp(cubic, (x,), (V,))[1], (X,), (V,))
    assert of_second == pytest.approx(float(hv @ V), rel=1e-12)


def test_a_tangent_may_depend_on_the_argument():
    """d/dx of (J(x) x) has a part for each of the two."""
    found = tg.grad(lambda x: np.sum(tg.jvp(np.sin, (x,), (x * x,))[1]))(X)
    assert_close(found, -np.sin(X) * X * X + 2 * X * np.cos(X), 1e-12)


def test_the_argument_closed_over_is_another_one():
    """What the inner function reads of the outer one's argument does not move."""
    found = tg.grad(lambda x: np.sum(tg.jvp(lambda z: z * x, (x,), (np.ones(3),))[1]))(X)
    assert_close(found, np.ones(3), 1e-14)


def test_tensors_with_history():
    x = tg.tensor(X, requires_grad=True)
    out, found = tg.jvp(lambda x: x**3, (x,), (tg.tensor(V),))
    found.sum().backward()
    assert_close(x.grad.numpy(), 6 * X * V, 1e-12)
    assert_close(out.detach().numpy(), X**3, 1e-12)


def test_linearize():
    out, along = tg.linearize(tree, {"w": X, "b": X[:2]}, 2.0)
    p, s = {"w": X.copy(), "b": X[:2].copy()}, 2.0
    assert_close(flat(out), flat(tree(p, s)), 1e-14)
    for seed in (1, 2):
        v = direction_like((p, s), seed)
        assert_same_bits(along(*v), tg.jvp(tree, (p, s), v)[1])


def test_linearize_keeps_its_point():
    x = X.copy()
    _, along = tg.linearize(np.sin, x)
    x[:] = 0.0
    assert_close(along(V), np.cos(X) * V, 1e-14)


def test_aux():
    out, found, aux = tg.jvp(lambda x: (x * x, {"n": 3, "x": x}), (X,), (V,), has_aux=True)
    assert_close(found, 2 * X * V, 1e-14)
    assert aux["n"] == 3 and np.array_equal(aux["x"], X) and np.array_equal(out, X * X)
    product, aux = tg.hvp(lambda x: (np.sum(x**3), "said"), (X,), (V,), has_aux=True)
    assert aux == "said"
    assert_close(product, 6 * X * V, 1e-14)
    out, pull, aux = tg.vjp(lambda x: (x * x, x.shape), X, has_aux=True)
    assert aux == (3,)
    assert_close(pull(V)[0], 2 * X * V, 1e-14)


def test_settings_among_the_arrays():
    """A string in a dict has no tangent."""

    def f(p):
        return p["x"] * 2.0 if p["kind"] == "double" else p["x"]

    out, found = tg.jvp(f, ({"x": X, "kind": "double"},), ({"x": V, "kind": "double"},))
    assert_close(found, 2 * V, 1e-14)
    assert_close(out, 2 * X, 1e-14)


def test_dtypes():
    x, v = X.astype(np.float32), V.astype(np.float32)
    out, found = tg.jvp(np.sin, (x,), (v,))
    assert out.dtype == found.dtype == np.float32
    assert tg.jvp(np.sin, (x,), (V,))[1].dtype == np.float32  # a tangent in another precision
    assert tg.jvp(lambda x: x * x, (3.0,), (1,)) == (9.0, 6.0)
    z, w = X + 1j * V, V - 0.5j * X
    _, found = tg.jvp(lambda z: z**2 * np.conj(z), (z,), (w,))
    assert_close(found, 2 * z * w * np.conj(z) + z**2 * np.conj(w), 1e-12)


def test_a_custom_function_in_forward_mode():
    class Cube(tg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    _, found = tg.jvp(lambda x: Cube.apply(x) * 2.0, (X,), (V,))
    assert_close(found, 6 * X * X * V, 1e-12)


# -- wrong uses ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "said", "use"),
    [
        (tg.errors.ArgumentError, "tuple", lambda: tg.jvp(np.sin, X, V)),
        (tg.errors.ArgumentError, "1 primals and 2", lambda: tg.jvp(np.sin, (X,), (V, V))),
        (tg.errors.ArgumentError, "no primals", lambda: tg.jvp(lambda: 1.0, (), ())),
        (tg.errors.ArgumentError, "shape", lambda: tg.jvp(np.sin, (X,), (V[:2],))),
        (tg.errors.ArgumentError, "shape", lambda: tg.jvp(np.sin, (X,), (1.0,))),
        (tg.errors.ArgumentError, "int64", lambda: tg.jvp(np.sin, (np.arange(3),), (V,))),
        (tg.errors.ArgumentError, "1", lambda: tg.jvp(np.sin, (1,), (1.0,))),
        (tg.errors.ArgumentError, "complex", lambda: tg.jvp(np.sin, (X,), (V * 1j,))),
        (
            tg.errors.ArgumentError,
            "tangent of p",
            lambda: tg.jvp(lambda p: p["a"], ({"a": X},), ({"b": V},)),
        ),
        (tg.errors.NotDifferentiableError, "int64", lambda: tg.jvp(np.argsort, (X,), (V,))),
        (
            tg.errors.NotDifferentiableError,
            "str",
            lambda: tg.jvp(lambda x: (x, "a"), (X,), (V,)),
        ),
        (
            tg.errors.LostGradientError,
            "float",
            lambda: tg.jvp(lambda x: float(x[0]), (X,), (V,)),
        ),
        (tg.errors.NonScalarError, "shape", lambda: tg.hvp(lambda x: x, (X,), (V,))),
        (
            tg.errors.ArgumentError,
            "aux",
            lambda: tg.jvp(lambda x: x, (X,), (V,), has_aux=True),
        ),
        (
            tg.errors.ArgumentError,
            "aux",
            lambda: tg.vjp(lambda x: x, X, has_aux=True),
        ),
        (
            tg.errors.ArgumentError,
            "backend",
            lambda: tg.jvp(np.sin, (X,), (V,), backend="fortran"),
        ),
    ],
)
@pytest.mark.parametrize("compile", [True, False])
def test_wrong_uses_are_named(error, said, use, compile, monkeypatch):
    monkeypatch.setattr(config, "compile", compile)
    with pytest.raises(error, match=said):
        use()


def test_nothing_that_moves_is_no_error():
    out, found = tg.jvp(lambda x: np.ones(3) + 0 * np.floor(x), (X,), (V,))
    assert np.array_equal(found, np.zeros(3)) and np.array_equal(out, np.ones(3))


@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize(
    "function",
    [lambda x, a: a * 2.0, lambda x, a: a, lambda x, a: a + 1, lambda x, a: 2.0],
    ids=["times", "itself", "plus", "constant"],
)
def test_the_tangent_of_a_number_is_one_of_numpy(function, backend):
    if backend == "jax":
        pytest.importorskip("jax")
    at, dots = (np.ones(3), 0.5), (np.ones(3), 1.0)
    before = tg.config.compile
    try:
        for tg.config.compile in (True, True, False):
            value, tangent = tg.jvp(function, at, dots, backend=backend)
            assert type(value) is float
            assert type(tangent) is np.float64
    finally:
        tg.config.compile = before
