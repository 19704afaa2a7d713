"""Jacobians and Hessians against JAX and differences, nested, as decorators, of any structure."""

from __future__ import annotations

import copy
import inspect
import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits, run_in_jax, slope, wide_jax
from programs import PROGRAMS
from test_jvp import flat, in_wanted

import tracegrad as tg
from tracegrad import config
from tracegrad.autograd import functional
from tracegrad.errors import ArgumentError, LostGradientError, NonScalarError
from tracegrad.errors import NotDifferentiableError as NoDerivativeError
from tracegrad.values.pytree import flatten

RANDOM = np.random.default_rng(5)
A, B = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(3, 2))
X, S = RANDOM.normal(size=3), 1.5


@pytest.fixture(autouse=True)
def verified_graphs(monkeypatch):
    """Every graph is verified between passes."""
    monkeypatch.setattr(config, "check", True)


# -- functions over NumPy and over jax.numpy ----------------------------------------------------


def vector(np):
    return lambda x: np.tanh(A @ x) * x[0]


def matrix(np):
    return lambda w: np.sin(A @ w)


def structure(np):
    return lambda w, x: {"a": w @ x[:2], "b": (x.sum(), [x * x])}


def scalar_in(np):
    return lambda s: np.stack([s, s * s, np.exp(s)])


def scalar_out(np):
    return lambda x: np.sum(np.exp(x) * x[0])


def looping(np):
    def f(x):
        h = x
        for _ in range(10):
            h = np.tanh(h * x + 0.5)
        return h

    return f


def branching(np):
    return lambda x: x[:2] * x[0] if x[0] > 0 else x * x


def twice_returned(np):
    def f(x):
        y = x * x
        return y, y, x

    return f


def constant(np):
    return lambda x: (np.ones(2) * 3.0, x[:1])


def gathering(np):
    return lambda x: np.concatenate([x[np.array([0, 2, 0])], x[::-1], np.cumsum(x)])


CASES = [
    (vector, (X,), 0),
    (matrix, (B,), 0),
    (structure, (B, X), (0, 1)),
    (structure, (B, X), 1),
    (structure, (B, X), (1, 0)),
    (scalar_in, (S,), 0),
    (scalar_out, (X,), 0),
    (looping, (X,), 0),
    (branching, (np.abs(X),), 0),
    (branching, (-np.abs(X),), 0),
    (twice_returned, (X,), 0),
    (constant, (X,), 0),
    (gathering, (X,), 0),
]
IDS = [f"{make.__name__}-{argnums}" for make, _, argnums in CASES]


def in_jax(transform: str, make: Any, args: Any, argnums: Any) -> Any:
    import jax
    import jax.numpy as jnp

    with wide_jax():
        f = getattr(jax, transform)(make(jnp), argnums=argnums)
        return jax.tree.map(np.asarray, run_in_jax(f, *jax.tree.map(jnp.asarray, args)))


@cache  # results of both backends are compared with it
def jacobian_in_jax(transform: str, case: int) -> Any:
    return in_jax(transform, *CASES[case])


@cache
def hessian_in_jax(case: int) -> Any:
    return in_jax("hessian", *HESSIANS[case])


@cache
def nested_in_jax(outer: str, inner: str, make: Any) -> np.ndarray:
    import jax
    import jax.numpy as jnp

    with wide_jax():
        f = getattr(jax, outer)(getattr(jax, inner)(make(jnp)))
        return np.asarray(run_in_jax(f, jnp.asarray(X)))


def assert_like(found: Any, expected: Any) -> None:
    """The same structure, shapes and numbers."""
    assert flatten(found)[1] == flatten(expected)[1]
    for a, b in zip(flatten(found)[0], flatten(expected)[0], strict=True):
        assert np.shape(a) == np.shape(b)
        assert_close(a, b, 1e-11, 1e-12)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize("transform", ["jacrev", "jacfwd", "jacobian"])
@pytest.mark.parametrize("case", range(len(CASES)), ids=IDS)
def test_jacobians_are_those_of_jax(case, transform, backend):
    make, args, argnums = CASES[case]
    expected = jacobian_in_jax("jacfwd" if transform == "jacobian" else transform, case)
    assert_like(getattr(tg, transform)(make(np), argnums, backend=backend)(*args), expected)


@pytest.mark.parametrize("transform", ["jacrev", "jacfwd"])
@pytest.mark.parametrize(("make", "args", "argnums"), CASES, ids=IDS)
def test_eager_and_compiled_give_the_same_bits(make, args, argnums, transform, monkeypatch):
    compiled = getattr(tg, transform)(make(np), argnums)(*args)
    monkeypatch.setattr(config, "compile", False)
    assert_same_bits(getattr(tg, transform)(make(np), argnums)(*args), compiled)


def quartic(np):
    return lambda x: np.sum(np.tanh(A @ x) ** 2) * x[0] + x[1] ** 4


def of_dict(np):
    return lambda w, p: np.sum(np.tanh(p["k"] @ w) ** 2) * p["s"]


HESSIANS = [
    (quartic, (X,), 0),
    (of_dict, (B, {"k": A, "s": 2.0}), (0, 1)),
    (of_dict, (B, {"k": A, "s": 2.0}), 1),
    (lambda np: lambda s: np.sin(s) * s, (S,), 0),
    (lambda np: lambda x: np.sum(looping(np)(x)), (X,), 0),
    (lambda np: lambda x: np.prod(x) if x[0] > 0 else np.sum(x**3), (np.abs(X),), 0),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize("case", range(len(HESSIANS)))
def test_hessians_are_those_of_jax(case, backend):
    make, args, argnums = HESSIANS[case]
    expected = hessian_in_jax(case)
    assert_like(tg.hessian(make(np), argnums, backend=backend)(*args), expected)


def is_small(program: Any) -> bool:
    """Whether differences of all columns are few, and the first argument is one float64 array."""
    first = program.args[program.positions[0]]
    return isinstance(first, np.ndarray) and first.dtype == np.float64 and 0 < first.size <= 20


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if p.order >= 2 and is_small(p)], ids=lambda p: p.name
)
def test_hessians_of_programs_against_differences(program):
    at, (first, *others) = in_wanted(program)
    found = tg.hessian(at)(first, *others)
    gradient = tg.grad(at)
    columns = [
        slope(lambda h, v=v: flat(gradient(first + h * v.reshape(first.shape), *others)))
        for v in np.eye(first.size)
    ]
    whole = found.reshape(first.size, first.size)
    assert_close(whole, np.stack(columns, axis=1), rtol=1e-5, atol=1e-6)


# -- nested -------------------------------------------------------------------------------------

NESTED = [
    ("jacfwd", "jacrev", vector),
    ("jacrev", "jacfwd", vector),
    ("jacrev", "jacrev", vector),
    ("jacfwd", "jacfwd", vector),
    ("jacfwd", "grad", quartic),
    ("jacrev", "grad", quartic),
    ("jacfwd", "hessian", quartic),
    ("jacrev", "hessian", quartic),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize(("outer", "inner", "make"), NESTED)
def test_nested_pairs_are_those_of_jax(outer, inner, make, backend):
    expected = nested_in_jax(outer, inner, make)
    found = getattr(tg, outer)(getattr(tg, inner)(make(np)), backend=backend)(X)
    assert_close(found, expected, 1e-10, 1e-11)


def test_nested_with_other_transforms():
    f, g = quartic(np), vector(np)
    expected = in_jax("hessian", quartic, (X,), 0)
    assert_close(tg.hessian(tg.compile(f))(X), expected, 1e-11)
    assert_close(tg.compile(lambda x: tg.hessian(f)(x))(X), expected, 1e-11)
    assert_close(tg.jacobian(lambda x: tg.vjp(f, x)[1](1.0)[0])(X), expected, 1e-11)
    columns = [tg.jvp(tg.grad(f), (X,), (unit,))[1] for unit in np.eye(3)]
    assert_close(np.stack(columns), expected, 1e-11)
    total = tg.grad(lambda x: np.sum(tg.jacobian(g)(x)))(X)
    assert_close(total, in_sums(), 1e-9)
    third = tg.grad(lambda x: np.trace(tg.hessian(f)(x)))(X)
    assert_close(third, traces(f), 1e-6)


def in_sums() -> np.ndarray:
    """The gradient of the sum of a Jacobian, by JAX."""
    import jax
    import jax.numpy as jnp

    with wide_jax():
        h = vector(jnp)
        slope = jax.grad(lambda x: jnp.sum(jax.jacobian(h)(x)))
        return np.asarray(run_in_jax(slope, jnp.asarray(X)))


def traces(f: Any) -> np.ndarray:
    """The gradient of the trace of a Hessian, by differences."""
    hessian = tg.hessian(f)
    return np.array(
        [slope(lambda h, unit=unit: np.trace(hessian(X + h * unit))) for unit in np.eye(3)]
    )


def test_of_tensors_with_history():
    x = tg.tensor(X, requires_grad=True)
    tg.jacobian(lambda x: x**3)(x).sum().backward()
    assert_close(x.grad.numpy(), 6 * X, 1e-12)


# -- the callable -------------------------------------------------------------------------------


@tg.jacobian
def decorated(x, y=2.0):
    """What it is for."""
    return x * y


@tg.jacobian(argnums=(0, 1))
def in_both(x, y):
    return x * y


def test_decorators_keep_what_a_function_is():
    assert decorated.__name__ == "decorated" and decorated.__doc__ == "What it is for."
    assert list(inspect.signature(decorated).parameters) == ["x", "y"]
    assert_close(decorated(X), 2.0 * np.eye(3), 1e-14)
    assert_close(decorated(X, y=3.0), 3.0 * np.eye(3), 1e-14)
    of_x, of_y = in_both(X, 2.0)
    assert_close(of_x, 2.0 * np.eye(3), 1e-14)
    assert_close(of_y, X, 1e-14)
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    assert copy.deepcopy(decorated) is decorated


def test_what_a_callable_also_has():
    jacobian = tg.jacobian(vector(np))
    jacobian(X)
    jacobian(X)
    assert jacobian.cache_info() == (1, 1, 1, 1)
    assert "np.eye" in jacobian.source() and "for " not in jacobian.source(X)
    assert "jacobian" in str(jacobian.graph(X))
    assert "1 version" in jacobian.explain()
    assert jacobian.verify(X)
    jacobian.clear_cache()
    assert jacobian.cache_info().versions == 0
    with pytest.raises(ArgumentError, match="backward"):
        jacobian.source(X, part="backward")
    assert "tanh" in jacobian.source(X, part="forward")


def test_one_program_for_every_length():
    jacobian = tg.jacobian(lambda x: x * x[0])
    for n in (3, 5, 1):
        x = np.linspace(1.0, 2.0, n)
        expected = np.eye(n) * x[0]
        expected[:, 0] += x
        assert_close(jacobian(x), expected, 1e-14)
    assert jacobian.cache_info().traces == 1


@pytest.mark.parametrize(("transform", "make"), [(tg.jacobian, vector), (tg.hessian, quartic)])
def test_export(transform, make, tmp_path):
    named = make(np)
    named.__name__ = "named"
    derivative = transform(named)
    path = derivative.export(tmp_path / "exported.py", X)
    assert_same_bits(tg.load(path, named)(X), derivative(X))
    assert tg.load(path, named).verify(X)


def test_a_method_and_static_arguments():
    class Model:
        w = 3.0

        @tg.jacobian(argnums=1)
        def __call__(self, x):
            return self.w * x

    assert_close(Model()(X), 3.0 * np.eye(3), 1e-14)
    f = tg.jacobian(lambda x, n: x**n, static_argnames="n")
    assert_close(f(X, 2), np.diag(2 * X), 1e-14)


def test_aux():
    found, aux = tg.jacobian(lambda x: (x * x, {"n": 1, "x": x}), has_aux=True)(X)
    assert_close(found, np.diag(2 * X), 1e-14)
    assert aux["n"] == 1 and np.array_equal(aux["x"], X)
    found, aux = tg.hessian(lambda x: (np.sum(x**3), x), has_aux=True)(X)
    assert_close(found, np.diag(6 * X), 1e-14)
    assert np.array_equal(aux, X)


def test_the_mode_is_chosen_by_the_lengths():
    few = tg.jacobian(lambda x: np.concatenate([x, x * x]))
    many = tg.jacobian(lambda x: x[:1] * x[1:2])
    few(X), many(X)
    assert "x_dot" in few.source() or "value_dot" in few.source()
    assert "backward" in many.source()


def test_nothing_is_shared_with_the_caller():
    x = X.copy()
    jacobian = tg.jacobian(lambda x: (x, x[::-1]))
    first, second = jacobian(x)
    first[:] = 7.0
    again, _ = jacobian(x)
    assert_close(again, np.eye(3), 1e-14)
    assert not np.shares_memory(first, second)


def test_empty_arrays():
    assert tg.jacobian(lambda x: x * 2.0)(np.zeros(0)).shape == (0, 0)
    assert tg.jacrev(lambda x: x[:0])(X).shape == (0, 3)
    assert tg.hessian(lambda x: np.sum(x * x))(np.zeros(0)).shape == (0, 0)


def test_dtypes():
    found = tg.jacobian(lambda x: x * x)(X.astype(np.float32))
    assert found.dtype == np.float32
    mixed = tg.jacobian(lambda x, y: x * y, (0, 1))(X.astype(np.float32), X)
    assert [part.dtype for part in mixed] == [np.float32, np.float64]  # as gradients of each


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_blocks_without_axes_are_arrays(backend, compiled, monkeypatch):
    monkeypatch.setattr(config, "compile", compiled)

    def f(p):
        a, b = p["a"], p["b"]
        return np.sin(a) * b**3 if a > 0 else a

    for transform in (tg.hessian, tg.jacfwd, tg.jacrev):
        for a in (0.5, np.float64(0.5), np.array(0.5), -0.5):
            blocks = transform(f, backend=backend)({"a": a, "b": 1.5})
            rows = blocks.values() if transform is tg.hessian else [blocks]
            assert {type(x) for row in rows for x in row.values()} == {np.ndarray}
    value, aux = tg.jacobian(lambda x: (x * x, x), has_aux=True, backend=backend)(1.0)
    assert type(value) is np.ndarray
    assert type(aux) is not np.ndarray  # as the function gave it


def test_names_of_errors_of_grad_are_true():
    with pytest.raises(NonScalarError, match=r"tg\.jacobian"):
        tg.grad(lambda x: x * x)(X)
    assert_close(tg.jacobian(lambda x: x * x)(X), np.diag(2 * X), 1e-14)


@pytest.mark.parametrize(
    ("error", "said", "use"),
    [
        (ArgumentError, "int64", lambda: tg.jacobian(np.sin)(np.arange(3))),
        (ArgumentError, "complex", lambda: tg.jacobian(np.sin)(X + 1j)),
        (NoDerivativeError, "complex", lambda: tg.jacobian(lambda x: x * 1j)(X)),
        (NoDerivativeError, "int64", lambda: tg.jacobian(np.argsort)(X)),
        (NoDerivativeError, "str", lambda: tg.jacobian(lambda x: ("a", x))(X)),
        (LostGradientError, "float", lambda: tg.jacobian(lambda x: (x, float(x[0])))(X)),
        (NonScalarError, "shape", lambda: tg.hessian(lambda x: x)(X)),
        (NonScalarError, "__wrapped__", lambda: tg.hessian(tg.value_and_grad(np.sum))(X)),
        (NonScalarError, "complex", lambda: tg.hessian(lambda x: np.sum(x) * 1j)(X)),
        (ArgumentError, "mode", lambda: tg.jacobian(np.sin, mode="both")),
        (ArgumentError, "argnums", lambda: tg.jacobian(np.sin, argnums="x")),
        (ArgumentError, "1 argument$", lambda: tg.jacobian(lambda x: x, argnums=1)(X)),
        (ArgumentError, "aux", lambda: tg.jacobian(lambda x: x, has_aux=True)(X)),
    ],
)
@pytest.mark.parametrize("compiled", [True, False])
def test_wrong_uses_are_named(error, said, use, compiled, monkeypatch):
    monkeypatch.setattr(config, "compile", compiled)
    with pytest.raises(error, match=said):
        use()


# -- PyTorch's names ----------------------------------------------------------------------------


def test_autograd_functional_is_that_of_pytorch():
    torch = pytest.importorskip("torch")
    theirs = torch.autograd.functional

    def compare(a: Any, b: Any) -> None:
        if isinstance(a, tuple):
            assert len(a) == len(b)
            for x, y in zip(a, b, strict=True):
                compare(x, y)
        else:
            assert a.shape == tuple(b.shape)
            assert_close(a.detach().numpy(), b.detach().numpy(), 1e-12)

    def f(x, w):
        return (x @ w).tanh() * x[0]

    def g(x, w):
        return ((x @ w) ** 2).sum() * x[1]

    def ours(*arrays):
        return tuple(map(tg.tensor, arrays))

    def of_torch(*arrays):
        return tuple(map(torch.tensor, arrays))

    at, along, ct = (X, B), (2 * X, 3 * B), X[:2]
    compare(functional.jacobian(f, ours(*at)), theirs.jacobian(f, of_torch(*at)))
    forward = functional.jacobian(f, ours(*at), strategy="forward-mode")
    compare(forward, theirs.jacobian(f, of_torch(*at)))
    compare(functional.hessian(g, ours(*at)), theirs.hessian(g, of_torch(*at)))
    compare(
        functional.jvp(f, ours(*at), ours(*along)), theirs.jvp(f, of_torch(*at), of_torch(*along))
    )
    compare(
        functional.vjp(f, ours(*at), ours(ct)[0]), theirs.vjp(f, of_torch(*at), of_torch(ct)[0])
    )
    for name in ("hvp", "vhp"):
        found = getattr(functional, name)(g, ours(*at), ours(*along))
        compare(found, getattr(theirs, name)(g, of_torch(*at), of_torch(*along)))

    def both(x):
        return x.exp(), x.sum()

    compare(functional.jacobian(both, ours(X)[0]), theirs.jacobian(both, of_torch(X)[0]))


def test_autograd_functional_records():
    x = tg.tensor(X, requires_grad=True)
    functional.jacobian(lambda x: x**3, x, create_graph=True).sum().backward()
    assert_close(x.grad.numpy(), 6 * X, 1e-12)
    assert not functional.jacobian(lambda x: x**3, x).requires_grad
    y = tg.tensor(X, requires_grad=True)
    functional.hvp(lambda x: (x**4).sum(), y, tg.tensor(X), create_graph=True)[1].sum().backward()
    assert_close(y.grad.numpy(), 24 * X * X, 1e-12)


def test_autograd_functional_names_what_is_wrong():
    x = tg.tensor(X)
    with pytest.raises(tg.errors.GradientError, match="depend"):
        functional.jvp(lambda x: tg.ones(2), x, x, strict=True)
    with pytest.raises(ArgumentError, match="left out"):
        functional.jvp(lambda x: x, x)
    with pytest.raises(NonScalarError):
        functional.hessian(lambda x: x, x)
    with pytest.raises(ArgumentError, match="strategy"):
        functional.jacobian(lambda x: x, x, strategy="sideways")
    with pytest.raises(ArgumentError, match="int64"):
        functional.jacobian(lambda x: x, tg.arange(3))


def test_negative_argnums_do_not_count_what_is_passed_by_name():
    def f(a, b, *, k=1.0):
        return a * b * k

    for transform in (tg.grad, tg.jacobian, tg.hessian):
        with pytest.raises(ArgumentError, match="argnums=-1 is k, which is passed by name"):
            transform(f, argnums=-1)(2.0, 3.0, k=5.0)
    assert tg.grad(lambda a, b: a * b, argnums=-1)(2.0, 3.0) == 2.0


def twice_around(x):
    h = x
    for _ in range(8):
        for _ in range(8):
            h = np.tanh(h + x)
    return np.sum(h)


def left_early(x):
    h = x
    for _ in range(9):
        for _ in range(10):
            h = np.tanh(h * x + 0.1)
            if h[0] > 0.105:
                break
    return h.sum()


def table_of(x):
    table = np.zeros((8, 8))
    for i in range(8):
        for j in range(8):
            table[i, j] = x[0] ** 2 * i + x[1] * x[0] * j
    return (table**2).sum()


@pytest.mark.parametrize("f", [twice_around, left_early, table_of])
def test_second_derivatives_of_loops_in_loops(f):
    """The tangents of lists of lists stand in lists of lists."""
    x, slope = np.array([0.1, 0.2]), tg.grad(f)
    steps = [(slope(x + d) - slope(x - d)) / 2e-6 for d in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(tg.hessian(f)(x), steps, rtol=1e-5, atol=1e-6)
    product = tg.hvp(f, (x,), (np.ones(2),))
    np.testing.assert_allclose(product, np.sum(steps, 0), rtol=1e-5, atol=1e-6)


def test_as_many_results_as_data_tell():
    x = np.array([1.0, -2.0, 3.0])
    expected = np.array([[2.0, 0.0, 0.0], [0.0, 0.0, 6.0]])
    for jacobian in (tg.jacobian, tg.jacrev, tg.jacfwd):
        assert_close(jacobian(lambda x: x[x > 0] ** 2)(x), expected, 1e-15)
        assert jacobian(lambda x: x[x > 0] ** 2)(-x).shape == (1, 3)


def test_dtypes_are_those_of_the_arguments_in_either_mode():
    narrow, wide = np.ones(3, np.float32), np.ones(2)
    for jacobian in (tg.jacrev, tg.jacfwd):
        found = jacobian(lambda a, b: np.sum(a) * b, (0, 1))(narrow, wide)
        assert [block.dtype for block in found] == [np.float32, np.float64]


@pytest.mark.parametrize(
    "f",
    [
        np.cumprod,
        lambda x: np.cumprod(x) * np.cumsum(x),
        lambda x: np.cumprod(np.outer(x, x), axis=1),
        lambda x: np.cumprod(np.outer(x, x), axis=0)[:, 1],
        lambda x: np.prod(np.outer(x, x) + 1.0, axis=0),
    ],
)
def test_second_derivatives_of_running_products_in_any_order(f):
    """The derivative of what a batch of cotangents was pulled back through."""
    x = np.array([0.4, -0.7, 1.3])
    expected = tg.jacfwd(tg.jacfwd(f))(x)
    for outer in (tg.jacfwd, tg.jacrev):
        np.testing.assert_allclose(outer(tg.jacrev(f))(x), expected, rtol=1e-12, atol=1e-12)


# -- the mode, where it is left open ---------------------------------------------------------------


def three_sums(x):
    return np.stack([np.sum(np.tanh(x) * np.sin(x * k) * x) for k in (1.0, 2.0, 3.0)])


@pytest.mark.parametrize("lengths", [(2, 7, 2, 3, 100, 0), (7, 2, 0, 3)])
@pytest.mark.parametrize("within", [False, True])
def test_the_mode_is_chosen_by_the_lengths_of_each_call(monkeypatch, lengths, within):
    """Each version is for one of the modes: whatever came first, calls have the bits of theirs."""
    one = tg.jacobian(three_sums)
    made = tg.compile(lambda x: one(x)) if within else one
    for n in lengths:
        x = np.linspace(0.1, 1.0, n)
        chosen = tg.jacfwd if n < 3 else tg.jacrev
        found = made(x)
        assert_same_bits(found, chosen(three_sums)(x), str(n))
        with monkeypatch.context() as context:
            context.setattr(config, "compile", False)
            assert_same_bits(found, tg.jacobian(three_sums)(x), str(n))
    assert made.cache_info().versions == 2


@pytest.mark.parametrize(
    ("f", "shapes", "versions"),
    [
        (lambda x: x * x, [(2,), (7,), (0,)], 1),  # there are as many of both, at all lengths
        (lambda x: np.concatenate([x, x]), [(2,), (7,)], 1),  # never fewer results
        (lambda x: np.sum(x, axis=0), [(2, 3), (5, 1), (1, 4)], 1),
        (lambda x: np.outer(x[0], x[1]), [(2, 3), (2, 5)], 1),
        (lambda x: x[:2] * x[0], [(2,), (5,)], 1),
    ],
)
def test_there_is_one_program_where_the_mode_is_one(f, shapes, versions):
    made = tg.jacobian(f)
    for shape in shapes:
        x = RANDOM.normal(size=shape)
        assert_close(made(x), tg.jacfwd(f)(x), 1e-12)
    assert made.cache_info().versions <= versions


def test_why_there_is_another_program_for_the_other_mode():
    made = tg.jacobian(three_sums)
    made(np.ones(2))
    made(np.ones(7))
    told = made.explain()
    assert "x.shape[0] <= 2" in told
    assert "x.shape[0] was at most 2, is 7" in told
    made = tg.jacobian(lambda x, y: np.outer(x, y), (0, 1))
    made(np.ones(2), np.ones(3))
    assert "x.shape[0]*y.shape[0] >= x.shape[0] + y.shape[0] + 1" in made.explain()
