"""Functions enter with backend="jax" or with JAX arrays; what comes back is tested."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from checks import assert_close, devices, leaves

import tracegrad as tg
from tracegrad.errors import ArgumentError, TracegradError
from tracegrad.values.jax_library import wide_types

jax = pytest.importorskip("jax")
jnp = jax.numpy

from tracegrad.backends import jax as jax_backend  # noqa: E402

RTOL = 1e-12


def loss(w, b, x, y):
    h = np.tanh(x @ w + b)
    err = h - y
    return np.mean(err**2)


def draw(*shapes: tuple[int, ...], seed: int = 0) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(seed)
    return tuple(random.normal(size=shape) for shape in shapes)


LAYER = ((4, 3), (3,), (5, 4), (5, 3))


def assert_equal_types(found: Any, expected: Any) -> None:
    """Equal classes and dtypes, leaf by leaf."""
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        assert type(a) is type(b), (a, b)
        assert getattr(a, "dtype", None) == getattr(b, "dtype", None)


def assert_as_numpy(f, *args, rtol=RTOL, **options) -> Any:
    """`f` gives the same on both backends: values, classes and dtypes; returns the callable."""
    on_jax = tg.value_and_grad(f, backend="jax", **options)
    found, expected = on_jax(*args), tg.value_and_grad(f, backend="numpy", **options)(*args)
    assert_equal_types(found, expected)
    assert_close(found, expected, rtol)
    return on_jax


def python(code: str, **environment: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# -- the text -----------------------------------------------------------------------------------


def test_the_source_is_a_jitted_function():
    args = draw(*LAYER)
    text = tg.value_and_grad(loss, (0, 1), backend="jax").source(*args)
    assert "import jax\nimport jax.numpy as jnp\n\n\n@jax.jit\ndef loss_value_and_grad(" in text
    assert "h = jnp.tanh(x @ w + b)" in text
    assert "h_bar = err_bar * (1.0 - h * h)" in text
    assert "return value, (w_bar, b_bar)" in text
    assert "import numpy" not in text and "out=" not in text


def test_the_source_runs_alone():
    args = draw(*LAYER)
    f = tg.value_and_grad(loss, (0, 1), backend="jax")
    scope: dict[str, Any] = {}
    exec(f.source(*args), scope)
    with wide_types(True):
        assert_close(jax.device_get(scope["loss_value_and_grad"](*args)), f(*args), RTOL)


def test_nothing_is_copied_in_the_text():
    x = draw((3,))[0]
    text = tg.compile(lambda x: x, backend="jax").source(x)
    assert "array(" not in text


def test_what_is_written_as_a_whole_can_be_reversed():
    """XLA itself would end the process: it takes a write of a whole array for an operator."""
    python("""
        import numpy as np, tracegrad as tg

        def f(x, y):
            u = x * 1.0
            u[...] = 0.3
            v, w = np.sin(x), x * 2.0
            v[:3] += 0.5
            w[-3:] -= y[0]
            z = x * 1.0
            z[0:] = 2.0
            return (u[::-1] * y + v[::-1] * w[::-1] + z[::-1]).sum()

        def g(x):  # cotangents of wholes, reversed
            parts = np.concatenate([x[::-1], x[:0]])[:3] * x[::-1][:, None][:, 0]
            split, none = np.split(x[::-1], [3])
            return (parts * parts).sum() + (split * x).sum() + none.sum()

        def h(x):  # windows of one element
            y = tg.nn.max_pool2d(np.flip(x), 1) + tg.nn.avg_pool2d(np.flip(x), 1)
            l = np.tril(np.flip(x[0, 0])) + 2.0 * np.eye(2)
            return (y * y).sum() + tg.linalg.solve_triangular(l, np.eye(2), lower=True)[::-1].sum()

        x, y = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
        for function, args in ((f, (x, y)), (g, (x,)), (h, (np.arange(4.0).reshape(1, 1, 2, 2),))):
            on_jax = tg.value_and_grad(function, backend="jax")(*args)
            in_numpy = tg.value_and_grad(function)(*args)
            assert np.allclose(on_jax[0], in_numpy[0], rtol=1e-12)
            assert np.allclose(on_jax[1], in_numpy[1], rtol=1e-12)
    """)


# -- values -------------------------------------------------------------------------------------


def test_value_and_gradients():
    assert_as_numpy(loss, *draw(*LAYER), argnums=(0, 1, 2, 3))


@dataclass
class Layer:
    w: Any
    b: Any = None


def test_pytrees():
    def f(layers, scale, x):
        for layer in layers["all"]:
            x = np.sin(x @ layer.w) * scale["s"]
        return np.sum(x)

    a, b, x = draw((3, 3), (3, 2), (4, 3))
    layers = {"all": [Layer(a), Layer(b)], "none": ()}
    f = assert_as_numpy(f, layers, {"s": 0.5}, x, argnums=(0, 1))
    assert isinstance(f(layers, {"s": 0.5}, x)[1][0]["all"][0], Layer)


def test_aux_may_hold_what_is_no_array():
    def f(x):
        return np.sum(x * x), {"h": 2.0 * x, "name": "squares", "n": 3, "none": None, "yes": True}

    assert_as_numpy(f, *draw((4,)), has_aux=True)


def test_compiled_forward_only():
    (x,) = draw((4,))
    f = tg.compile(lambda x: {"b": np.cos(x), "a": (x.sum(), [x])}, backend="jax")
    expected = {"b": np.cos(x), "a": (x.sum(), [x])}
    assert_equal_types(f(x), expected)
    assert_close(f(x), expected, RTOL)


def test_captured_arrays_are_read_at_every_call():
    w = np.ones(3)
    (x,) = draw((3,))

    def f(x):
        return np.sum(w * x * x)

    on_jax = assert_as_numpy(f, x)
    assert "*, w" in on_jax.source(x)
    w[:] = 5.0
    assert_close(on_jax(x)[1], 10.0 * x, RTOL)
    assert_close(on_jax(jnp.asarray(x, "float32"))[1], 10.0 * x, 1e-6)
    assert on_jax.cache_info().versions == 2  # float64 and float32


def test_derivatives_of_derivatives():
    def slope(x):
        return np.sum(tg.grad(lambda y: np.sum(np.sin(y) * y))(x))

    def curvature(x):
        return np.sum(tg.grad(slope)(x) * x)

    assert_as_numpy(curvature, *draw((4,)))


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_any_length_is_one_version(n):
    f = tg.value_and_grad(loss, (0, 1), backend="jax")
    g = tg.value_and_grad(loss, (0, 1), backend="numpy")
    f(*draw(*LAYER))
    args = draw((4, 3), (3,), (n, 4), (n, 3))
    with np.errstate(all="ignore"):
        assert_close(f(*args), g(*args), RTOL)
    assert f.cache_info().versions == 1


def test_a_constant_index_outside_raises_where_jax_would_clamp():
    f = tg.compile(lambda x: x[3] * 1.0 + x[-4] + x[1:, None][0, 0], backend="jax")
    (x,) = draw((6,))
    for n in (6, 5, 4):
        assert_close(f(x[:n]), x[3] + x[n - 4] + x[1], RTOL)
    assert f.cache_info().versions == 1
    with pytest.raises(IndexError):
        f(x[:3])


def test_masks():
    def selected(x):
        return np.sum(x[x > 0] ** 2)

    def filled(m):
        y = m * 2.0
        y[m[:, 0] > 0] = 1.0
        return np.sum(y * m)

    def moved(x):
        chosen = x > 0
        y = x * 2.0
        y[chosen] = x[chosen] * 3.0
        return np.sum(y * x)

    x, m = draw((6,), (4, 3))
    for f in (selected, moved):
        on_jax = tg.value_and_grad(f, backend="jax")
        for y in (x, -x, abs(x), -abs(x), x[:2]):
            assert_close(on_jax(y), tg.value_and_grad(f, backend="numpy")(y), RTOL)
    on_jax = assert_as_numpy(filled, m)
    on_jax(-m)
    assert on_jax.cache_info().versions == 1


# -- dtypes -------------------------------------------------------------------------------------

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint64")
DTYPES = ("bool", *INTEGERS, "float16", "float32", "float64", "complex64")
VECTORS = {dtype: np.array([3, 1, 2]).astype(dtype) for dtype in DTYPES}
OPERANDS = {**VECTORS, "float": 0.5, "int": 2}
BINARY = {
    "add": lambda a, b: a + b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "maximum": lambda a, b: np.maximum(a, b),
    "where": lambda a, b: np.where(np.abs(a) > 1, a, b),
    "matmul": lambda a, b: a @ b,
    "outer": lambda a, b: np.sqrt(a)[:, None] * b,
    "literal": lambda a, b: (a * 1.5) * (np.float32(2.0) * b),
    "nested": lambda a, b: a * (b * b + 1),
    "equal": lambda a, b: a == b,
    "indexed": lambda a, b: a[np.array([0, 2], dtype=np.int32)] + b[:2],
}


def number_of(value: Any) -> bool:
    return isinstance(value, float | int)


@pytest.mark.parametrize("name", BINARY)
def test_binary_dtypes_are_numpys(name, few):
    """One compilation for all pairs: NumPy's promotion holds in each of them."""
    f = BINARY[name]
    pairs = [
        (a, b)
        for a in VECTORS.values()
        for b in OPERANDS.values()
        if not (number_of(b) and name in ("matmul", "indexed"))
    ]
    pairs = few(pairs, 15)

    def every(pairs):
        return [f(a, b) for a, b in pairs]

    with np.errstate(all="ignore"):
        expected = every(pairs)
        found = tg.compile(every, backend="jax")(pairs)
    for (a, b), x, y in zip(pairs, found, expected, strict=True):
        y = np.asarray(y)
        what = f"{np.asarray(a).dtype} {b!r}"
        assert np.asarray(x).dtype == y.dtype, what
        rtol = {"e": 2e-3, "f": 1e-5, "F": 1e-5}.get(y.dtype.char, RTOL)
        assert_close(x, y, rtol, what=what)


UNARY = {
    "exp": np.exp,
    "sqrt": lambda x: np.sqrt(x),
    "sum": lambda x: np.sum(x),
    "mean": lambda x: np.mean(x, axis=0, keepdims=True),
    "power": lambda x: x**3,
    "root": lambda x: x**0.5,
    "two to the": lambda x: 2.0**x,
    "literal": lambda x: 1.5 * x,
    "int literal": lambda x: 2 * x,
    "float64 scalar": lambda x: np.float64(1.5) * x,
    "int32 scalar": lambda x: np.int32(2) * x,
    "per element": lambda x: x / x.shape[0],
    "constant over length": lambda x: np.float64(2.0) / x.shape[0] * x,
    "floor": lambda x: x // 2,
    "choice of numbers": lambda x: np.where(x > 1, 1.0, 2.0) * x,
    "mask": lambda x: (x > 1) * 0.5 * x,
    "running sum": lambda x: np.cumsum(x),
    "view": lambda x: x[:, None].T.reshape(-1),
}


@pytest.mark.parametrize("name", UNARY)
def test_unary_dtypes_are_numpys(name, few):
    f = UNARY[name]
    taken = []
    for x in VECTORS.values():
        try:
            f(x)
        except TypeError:  # complex numbers have no floor
            continue
        taken.append(x)

    def every(xs):
        return [f(x) for x in xs]

    taken = few(taken, 6)
    expected, found = every(taken), tg.compile(every, backend="jax")(taken)
    for given, x, y in zip(taken, found, expected, strict=True):
        y = np.asarray(y)
        assert np.asarray(x).dtype == y.dtype, given.dtype
        rtol = {"e": 2e-3, "f": 1e-5, "F": 1e-5}.get(y.dtype.char, RTOL)
        assert_close(x, y, rtol, what=str(given.dtype))


def test_float32_stays_float32():
    x = draw((5,))[0].astype("float32")
    value, gradient = tg.value_and_grad(lambda x: np.mean(np.sin(x) * 2.0), backend="jax")(x)
    assert value.dtype == gradient.dtype == np.float32


@pytest.mark.parametrize("deg", [False, True])
@pytest.mark.parametrize("x", [-1.5, 0.0, -0.0, np.nan, [-1.0, 2.0]])
def test_angles_of_real_numbers_have_their_dtype(x, deg):
    x = np.array(x, np.float32)[()]
    found, expected = tg.compile(np.angle, backend="jax")(x, deg), np.angle(x, deg)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_python_numbers_are_weak_and_their_gradients_are_not():
    x = draw((5,))[0].astype("float32")

    def f(s, x):
        return np.sum(x * s)

    value, slope = tg.value_and_grad(f, backend="jax")(0.5, x)
    assert value.dtype == np.float32
    assert slope.dtype == np.float64
    assert_close(slope, x.sum(), 1e-6)


def test_casts_are_written_only_where_jax_promotes_otherwise():
    x, k = draw((3,))[0], np.array([1, 2, 3], dtype="int32")

    def body(f, *args):
        return tg.compile(f, backend="jax").source(*args).rsplit("value = ")[-1].splitlines()[0]

    assert body(lambda x, k: x * k, x, k) == "x * k"
    assert body(lambda x, k: x * k, x.astype("float32"), k) == "x * k.astype(jnp.float64)"
    assert body(lambda k: np.exp(k), k.astype("int64")) == "jnp.exp(k)"
    assert body(lambda k: np.exp(k), k) == "jnp.exp(k.astype(jnp.float64))"
    assert body(lambda x: 2.0 * x + 1, x.astype("float32")) == "2.0 * x + 1"
    assert body(lambda k: 0.5 * k, k) == "jnp.float64(0.5) * k"
    assert body(lambda k: k + 1, k) == "k + 1"


# -- what comes back ----------------------------------------------------------------------------


def test_numpy_results_belong_to_the_caller():
    (x,) = draw((1000,))
    same, twice, again = tg.compile(lambda x: (x, x * 2.0, x), backend="jax")(x)
    for result in (same, twice, again):
        assert type(result) is np.ndarray
        assert result.flags.writeable and result.flags.owndata
        assert not np.shares_memory(result, x)
    assert not np.shares_memory(same, again)
    same[:] = 0.0
    assert x.any() and again.any()


def test_the_process_keeps_its_own_precision():
    before = jnp.ones(2).dtype
    (x,) = draw((3,))
    assert tg.grad(lambda x: np.sum(x * x), backend="jax")(x).dtype == np.float64
    with pytest.raises(IndexError):
        tg.grad(lambda x: x[7], backend="jax")(x)
    assert jnp.ones(2).dtype == before


def test_threads():
    f = tg.value_and_grad(loss, (0, 1), backend="jax")
    expected = {n: f(*draw(*LAYER, seed=n)) for n in range(8)}
    wrong: list[Any] = []

    def work(n: int) -> None:
        try:
            for _ in range(20):
                assert_close(f(*draw(*LAYER, seed=n)), expected[n], RTOL)
                assert jnp.ones(2).dtype == np.float32
        except Exception as error:
            wrong.append(error)

    with wide_types(False):
        threads = [threading.Thread(target=work, args=(n,)) for n in expected]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


# -- JAX arrays ---------------------------------------------------------------------------------


@pytest.fixture
def no_transfers(monkeypatch):
    """A call of this stops every later conversion between JAX and NumPy."""

    def refused(*_: Any) -> None:
        raise AssertionError("values were moved between JAX and NumPy")

    def start() -> None:
        for name in ("to_numpy", "from_numpy", "owned"):
            monkeypatch.setattr(jax_backend, name, refused)

    return start


def test_jax_arrays_in_jax_arrays_out(no_transfers):
    args = tuple(jnp.asarray(a, "float32") for a in draw(*LAYER))
    f = tg.value_and_grad(loss, (0, 1), backend="jax")
    value, gradient = f(*args)
    no_transfers()
    again = f(*args)
    by_keyword = f(*args[:3], y=args[3])
    assert f.cache_info().versions == 1
    for result in leaves([value, gradient, again, by_keyword]):
        assert isinstance(result, jax.Array)
        assert result.dtype == np.float32
    expected = jax.value_and_grad(
        lambda w, b, x, y: jnp.mean((jnp.tanh(x @ w + b) - y) ** 2), (0, 1)
    )(*args)
    for result in ((value, gradient), again, by_keyword):
        assert_close(jax.device_get(result), jax.device_get(expected), 1e-5)


def test_jax_arrays_share_versions_with_numpy_arrays():
    args = draw(*LAYER)
    f = tg.value_and_grad(loss, backend="jax")
    f(*args)
    with wide_types(True):
        wide = tuple(map(jnp.asarray, args))
    value, _ = f(*wide)
    assert isinstance(value, jax.Array) and value.dtype == np.float64
    assert isinstance(f(args[0], *wide[1:])[0], jax.Array)
    assert f.cache_info().versions == 1


def test_a_tree_of_jax_arrays_with_aux():
    def f(params):
        return np.sum(params["w"] * params["b"][0]), {"h": params["w"] * 2.0, "n": 3}

    params = {"w": jnp.arange(3.0), "b": [jnp.ones(3), None]}
    (value, aux), gradient = tg.value_and_grad(f, has_aux=True, backend="jax")(params)
    assert isinstance(value, jax.Array) and isinstance(aux["h"], jax.Array) and aux["n"] == 3
    assert gradient["b"][1] is None
    assert_close(jax.device_get(gradient["b"][0]), np.arange(3.0), 1e-6)


def test_the_numpy_backend_converts():
    args = tuple(jnp.asarray(a, "float32") for a in draw(*LAYER))
    value, gradient = tg.value_and_grad(loss, backend="numpy")(*args)
    assert isinstance(value, jax.Array) and isinstance(gradient, jax.Array)
    assert value.dtype == gradient.dtype == np.float32
    summed = tg.compile(lambda k: np.sum(k), backend="numpy")(jnp.arange(3))
    assert summed.dtype == np.int64  # as NumPy sums


def test_source_and_graph_take_jax_arrays():
    x = jnp.ones(3)
    f = tg.grad(lambda x: np.sum(x * x), backend="jax")
    assert "x_bar" in f.source(x)
    assert "x" in str(f.graph(x))


def test_what_cannot_be_an_argument():
    f = tg.grad(lambda x: np.sum(x * x), backend="jax")
    with pytest.raises(ArgumentError, match="argument x has dtype float8_e4m3fn"):
        f(jnp.ones(3, jnp.float8_e4m3fn))
    with pytest.raises(ArgumentError, match=r"argument x is to be differentiated .* int32"):
        f(jnp.arange(3, dtype="int32"))


def test_results_stay_where_the_arguments_are():
    """On a process that has two devices: committed arrays, and one array spread over both."""
    python(
        """
        import jax, jax.numpy as jnp, numpy as np, tracegrad as tg
        from jax.sharding import Mesh, NamedSharding, PartitionSpec

        def f(w, x):
            return np.sum(np.tanh(x * w) ** 2)

        first, second = jax.devices()
        x = jax.device_put(np.arange(8.0, dtype="float32"), second)
        for backend in ("jax", "numpy"):
            g = tg.value_and_grad(f, backend=backend)
            for _ in range(2):
                value, gradient = g(np.float32(0.5), x)
                assert value.devices() == gradient.devices() == {second}, (backend, gradient)
        loose = tg.value_and_grad(f, backend="jax")(0.5, jnp.arange(8.0))
        assert loose[0].devices() == {first} and not loose[0].committed

        rows = NamedSharding(Mesh(np.array([first, second]), ("i",)), PartitionSpec("i"))
        spread = jax.device_put(np.arange(8.0, dtype="float32"), rows)
        g = tg.value_and_grad(lambda x: f(0.5, x), backend="jax")
        for _ in range(2):
            value, gradient = g(spread)
            assert gradient.sharding.is_equivalent_to(rows, 1), gradient.sharding
        assert np.allclose(value, f(0.5, np.arange(8.0)))
        """,
        **devices(2),
    )


# -- looks --------------------------------------------------------------------------------------


def branch(x):
    if x[0] > 0:
        return np.sum(x * x)
    return np.sum(x * x * x)


def test_both_outcomes_of_a_look():
    (x,) = abs(np.array(draw((4,)))) + 0.1
    f = assert_as_numpy(branch, x)
    for y in (-x, x, -x, 2.0 * x):
        assert_close(f(y), tg.value_and_grad(branch, backend="numpy")(y), RTOL)
    assert f.cache_info().versions == 1
    assert "return jax.lax.cond(x[0] > 0, taken, otherwise)\n" in f.source(x)
    on_device = f(jnp.asarray(-x, "float32"))
    assert isinstance(on_device[0], jax.Array)


def doubled(x):
    y, n = x, 0
    while np.sum(y) < 100.0 and n < 50:
        y, n = y * 2.0, n + 1
    return np.sum(y * n)


def picked(x):
    i = int(x[0])
    return x[i] * 2.0


def scaled(x):
    return np.sum(x) * float(tg.stop_gradient(x[1]))


def unless_nan(x):
    if np.isnan(x[0]) or not x[1]:
        return x[1] * 3.0
    return np.sum(x)


@pytest.mark.parametrize("f", [doubled, picked, scaled, unless_nan], ids=lambda f: f.__name__)
def test_looks_of_every_kind(f):
    on_jax, on_numpy = (tg.value_and_grad(f, backend=backend) for backend in ("jax", "numpy"))
    calls = [(1.0, 2.0, 3.0), (2.5, 2.0, 3.0), (1.9, 2.0, 3.0), (np.nan, 1.0, 1.0), (1.0, 0.0, 9.0)]
    if f is picked:
        calls = [call for call in calls if call[0] == call[0]]
    for call in (*calls, *calls, *calls):
        for _ in range(2):  # a path is compiled at once where the one before was met again
            x = np.array(call)
            assert_close(on_jax(x), on_numpy(x), RTOL, what=f"{call}")
    assert on_jax.cache_info().traces >= on_numpy.cache_info().traces  # there loops stay loops


def test_a_look_of_another_outcome_is_a_plain_lookup_error():
    (x,) = abs(np.array(draw((4,)))) + 0.1
    f = tg.value_and_grad(branch, backend="jax")
    f(x)
    (version,) = [v for versions in f._versions.values() for v in versions]
    with pytest.raises(LookupError) as caught:
        version.run(-x)
    assert type(caught.value) is LookupError
    assert_close(version.run(x), f(x), RTOL)


def test_a_look_that_xla_rounds_otherwise_runs_eagerly():
    def f(x):
        return np.sum(x) * float(tg.stop_gradient(np.sum(np.exp(x))))

    for seed in range(4):
        (x,) = draw((1001,), seed=seed)
        expected = tg.value_and_grad(f, backend="numpy")(x)
        assert_close(tg.value_and_grad(f, backend="jax")(x), expected, RTOL)
        found = tg.value_and_grad(f, backend="jax")(jnp.asarray(x, "float32"))
        assert_close(jax.device_get(found), expected, 1e-4)


# -- importing ----------------------------------------------------------------------------------


def test_jax_is_imported_only_when_it_is_used():
    python(
        """
        import sys
        import numpy as np, tracegrad as tg
        f = lambda x: np.sum(x * x)
        tg.grad(f)(np.ones(3))
        tg.tensor([1.0], requires_grad=True).sum().backward()
        assert "jax" not in sys.modules
        tg.grad(f, backend="jax")(np.ones(3))
        assert "jax" in sys.modules
        """
    )


def test_a_missing_jax_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    for module in ("tracegrad.backends.jax", "tracegrad.values.jax_library"):
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(ImportError, match=r"pip install jax \(or in a checkout") as caught:
        tg.grad(lambda x: np.sum(np.sinh(x)), backend="jax")(np.ones(3))
    assert isinstance(caught.value, TracegradError)


# -- the memory of devices ----------------------------------------------------------------------


def layers(p, x):
    return np.mean(np.tanh(x @ p["w"] + p["b"]) ** 2)


def test_donated_arguments_are_given_away():
    w, b, x, _ = draw(*LAYER)
    expected = tg.grad(layers)({"w": w, "b": b}, x)
    slopes = tg.grad(layers, backend="jax", donate_argnums=0)
    assert '@partial(jax.jit, donate_argnames=("b", "w"))' in slopes.source({"w": w, "b": b}, x)
    for _ in range(2):
        with jax.enable_x64(True):
            p, there = {"w": jnp.array(w), "b": jnp.array(b)}, jnp.array(x)
        assert_close(slopes(p, there), expected, RTOL)
    assert p["w"].is_deleted() and p["b"].is_deleted() and not there.is_deleted()
    kept = {"w": w.copy(), "b": b.copy()}  # NumPy's stay
    assert_close(slopes(kept, x), expected, RTOL)
    assert (kept["w"] == w).all() and (kept["b"] == b).all()


def test_many_donated_arguments_are_written_as_black_writes_them():
    from codegen.emit.formatting import formatted

    p = {f"weights_of_layer_{i}": np.ones(2) for i in range(6)}
    slopes = tg.grad(lambda p: sum(w.sum() for w in p.values()), backend="jax", donate_argnums=0)
    slopes(p)
    (version,) = slopes._every
    text = version.program.source.text
    assert "@partial(\n    jax.jit,\n    donate_argnames=(\n" in text
    assert formatted(text) == text


def looking(x):
    return (x**2).sum() if x[0] > 0 else x.sum()


def turning(x):
    while (x * x).sum() > 1:
        x = np.sin(x)
    return (x * x).sum()


@pytest.mark.parametrize("f", [looking, turning])
def test_what_may_run_twice_gives_nothing_away(f):
    slopes = tg.grad(f, backend="jax", donate_argnums=-1)
    for value in (2.0, 2.0, 9.0):
        x = jnp.full(100, value)
        assert_close(slopes(x), tg.grad(f)(np.asarray(x)), 1e-4)
        assert not x.is_deleted()
    assert "donate" not in slopes.source()


def test_what_is_stored_is_not_given_away():
    class Model:
        last = None

        def loss(self, x):
            self.last = x
            return (x**2).sum()

    model = Model()
    slopes = tg.grad(model.loss, backend="jax", donate_argnums=0)
    for _ in range(3):
        x = jnp.ones(3)
        slopes(x)
        assert float(model.last.sum()) == 3.0


def test_what_is_stored_is_of_jax_in_the_first_call_of_a_function_that_counts_too():
    class Model:
        steps, last, seen = 0, None, {}

        def step(self, x):
            self.last = x * 2.0
            self.seen["x"] = x + 1.0
            self.steps += 1
            return x + self.steps

    model = Model()
    step = tg.compile(model.step, backend="jax")
    for k in range(3):
        x = jnp.arange(3.0) + k
        assert_close(step(x), x + model.steps, 0)
        assert model.steps == k + 1
        for stored, expected in (model.last, x * 2), (model.seen["x"], x + 1):
            assert isinstance(stored, jax.Array)
            assert_close(stored, expected, 0)


@pytest.mark.parametrize("compiled", [True, False])
def test_arrays_of_numpy_and_of_jax_meet_in_a_call(compiled, monkeypatch):
    """The gradient of each lies where the other arrays do, whatever numbers went between."""
    monkeypatch.setattr(tg.config, "compile", compiled)

    def f(x, a):
        return np.sum(np.sin(x) * a) + np.sum(x) + x[0] * a

    x, a = np.linspace(0.0, 1.0, 4), jnp.asarray(1.5, jnp.float32)
    for wanted in 0, 1, (0, 1):
        found = jax.tree.leaves(tg.grad(f, argnums=wanted, backend="jax")(x, a))
        expected = jax.tree.leaves(tg.grad(f, argnums=wanted)(x, 1.5))
        for one, other in zip(found, expected, strict=True):
            assert isinstance(one, jax.Array)
            assert_close(one, other, 1e-6)


def test_checked_calls_name_their_statement_all_the_same(monkeypatch):
    monkeypatch.setattr(tg.config, "check_finite", True)
    f = tg.compile(lambda x: np.log(x - 1.0) * 2.0, backend="jax", donate_argnums=0)
    for _ in range(2):
        x = jnp.ones(3)
        with pytest.raises(tg.errors.FiniteError, match="log"):
            f(x)
        assert not x.is_deleted()


def test_results_lie_where_they_are_asked_for():
    place = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    f = tg.compile(lambda x: {"a": (x, x + 1), "b": 2.5}, backend="jax", out_shardings=place)
    assert f(jnp.ones(3))["a"][1].committed
    for shardings in ({"a": place, "b": None}, {"a": (None, place), "b": place}):
        f = tg.compile(
            lambda x: {"a": (x, x + 1), "b": 2.5}, backend="jax", out_shardings=shardings
        )
        for _ in range(2):
            result = f(jnp.ones(3))
            assert result["a"][1].committed and result["b"] == 2.5
    assert type(f(np.ones(3))["a"][1]) is np.ndarray


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"donate_argnums": "x"}, "donate_argnums='x': must be an int"),
        ({"donate_argnums": 3}, "donate_argnums=3: the function has 1 argument"),
        ({"out_shardings": {"c": None}}, "out_shardings of <lambda> is .* but the result is"),
    ],
)
def test_what_is_said_of_memory_must_fit(options, told):
    with pytest.raises(ArgumentError, match=told):
        tg.compile(lambda x: {"a": x + 1}, backend="jax", **options)(jnp.ones(3))


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("backend", [None, "numpy", "numba"])
def test_programs_for_numpy_have_no_devices(backend, compiled, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiled)
    f = tg.compile(lambda x: x + 1, backend=backend, donate_argnums=0)
    for x in (np.ones(3), jnp.ones(3)):
        with pytest.raises(ArgumentError, match=r'donate_argnums is .* backend="jax"'):
            f(x)
    place = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    with pytest.raises(ArgumentError, match=r'out_shardings is .* backend="jax"'):
        tg.grad(np.sum, backend=backend, out_shardings=place)(np.ones(3))
    assert jax.jit(f)(jnp.ones(3))[0] == 2.0  # there it is a program for JAX


def test_sparse_matrices_have_no_place():
    with pytest.raises(ArgumentError, match="cannot be given with sparse=True"):
        tg.jacobian(np.sin, sparse=True, donate_argnums=0)


# -- the first call -----------------------------------------------------------------------------


def on_values(x):
    return np.sum(x**2) if x[0] > 0 else np.sum(x)


def test_a_first_call_brings_nothing_to_the_host(monkeypatch):
    """And takes no number from there that nobody has asked for."""
    w, b, x, _ = (a.astype(np.float32) for a in draw(*LAYER))
    expected = tg.value_and_grad(layers)({"w": w, "b": b}, x)

    def fail(*args, **kwargs):
        raise AssertionError("an array was brought to the host")

    there = {"w": jnp.array(w), "b": jnp.array(b)}, jnp.array(x)
    slopes = tg.value_and_grad(layers, backend="jax")
    array = jax_backend.array_class()
    jax_backend.array_class.cache_clear()  # as in a process that calls for the first time
    with monkeypatch.context() as patch, jax.transfer_guard("disallow"):
        patch.setattr(jax_backend, "to_numpy", fail)
        patch.setattr(array, "__array__", fail)
        found = [slopes(*there) for _ in range(2)]
    for one in found:
        assert_close(one, expected, 1e-5)
    assert slopes.cache_info() == (1, 1, 1, 1)


def test_a_first_call_gives_donated_arrays_away():
    slope = tg.grad(lambda x: np.sum(np.sin(x)), backend="jax", donate_argnums=0)
    x = jnp.ones(100)
    slope(x)
    assert x.is_deleted()


@pytest.mark.parametrize("value", [1.0, -1.0])
def test_a_first_call_that_looks_sees_the_values(value):
    slope = tg.grad(on_values, backend="jax")
    for _ in range(2):
        assert_close(slope(jnp.full(3, value)), np.full(3, 2.0 if value > 0 else 1.0), 1e-6)
    assert slope.cache_info().versions == 1


def test_a_first_call_that_does_more_does_it_once(capsys):
    done = []

    def logged(x):
        done.append(float(x[0]))
        print("called")
        return np.sum(x**2)

    assert_close(tg.grad(logged, backend="jax")(jnp.full(3, 2.0)), np.full(3, 4.0), 1e-6)
    assert done == [2.0]
    assert capsys.readouterr().out == "called\n"


def test_a_first_call_that_raises_tells_of_the_values():
    def refusing(x):
        if x.sum() > 100:
            raise ValueError(f"too large: {float(x.sum())}")
        return np.sum(x)

    with pytest.raises(ValueError, match="too large: 300"):
        tg.grad(refusing, backend="jax")(jnp.full(3, 100.0))
