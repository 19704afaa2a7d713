"""`tg.vmap` beside a loop in Python and beside `jax.vmap`: programs, nests, errors, effects."""

from __future__ import annotations

import pickle
import re
import time
import warnings
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits, run_in_jax
from numpy.testing import assert_allclose
from programs import PROGRAMS, Draw, Program

import tracegrad as tg
from tracegrad.errors import ArgumentError, RecompileWarning
from tracegrad.values.pytree import flatten, unflatten

rng = np.random.default_rng(0)
X, Y, W = rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), rng.normal(size=3)


@pytest.fixture(autouse=True)
def quiet_arithmetic():
    with np.errstate(all="ignore"):
        yield


def energy(a):
    return np.sum(np.tanh(a) ** 2)


def slope(a):
    return 2 * np.tanh(a) * (1 - np.tanh(a) ** 2)


def each(f: Any, *batches: Any) -> Any:
    """What a loop in Python gives, stacked."""
    results = [flatten(f(*row)) for row in zip(*batches, strict=True)]
    leaves = [np.stack(part) for part in zip(*(leaves for leaves, _ in results), strict=True)]
    return unflatten(results[0][1], leaves)


# -- the corpus ---------------------------------------------------------------------------------

ONE_BY_ONE = {
    "accepted_states",
    "losses_until_it_converges",
    "boolean_mask_given",
    "boolean_mask_of_values",
    "branch_on_value",
    "while_on_value",
    "early_return",
    "early_break",
    "larger_of_two",
    "states_of_a_class",
    "thinned_copy",
    "variables_that_turns_set_to_floats",
    "adaptive_steps",
    "best_so_far",
    "highest_price_paid",
    "snapshot_in_rare_turns",
    "one_array_from_the_first_turn_on",
    "names_that_begin_like_keywords",
}
"""Programs whose way depends on the example."""


def batch_of(program: Program) -> tuple[Any, Any, list[Any]] | None:
    """Arguments of which arrays and floats are batches, their axes, and the single examples."""
    draws = [flatten(program.draw(Draw(seed))) for seed in range(3)]
    spec = draws[0][1]
    leaves: list[Any] = []
    axes: list[int | None] = []
    for parts in zip(*(found for found, _ in draws), strict=True):
        alike = all(np.shape(part) == np.shape(parts[0]) for part in parts)
        array = isinstance(parts[0], np.ndarray | np.generic) or type(parts[0]) is float
        axes.append(0 if alike and array else None)
        leaves.append(np.stack(parts) if alike and array else parts[0])
    if all(axis is None for axis in axes):
        return None
    single = [
        unflatten(spec, [x if a is None else x[i] for x, a in zip(leaves, axes, strict=True)])
        for i in range(3)
    ]
    return unflatten(spec, leaves), unflatten(spec, axes), single


MAPPED = [p for p in PROGRAMS if batch_of(p) is not None and p.name != "auxiliary_argument"]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("what", ["value", "gradient"])
@pytest.mark.parametrize("program", MAPPED, ids=lambda p: p.name)
def test_programs_over_a_batch(program, what):
    args, in_axes, single = batch_of(program)
    static = {"static_argnames": program.static_argnames}

    def function():
        if what == "value":
            return program.new()
        return tg.grad(program.new(), program.argnums, has_aux=program.has_aux, **static)

    expected = [flatten(function()(*example))[0] for example in single]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if program.name in ONE_BY_ONE else "error", RecompileWarning)
        compiled = tg.vmap(function(), in_axes=in_axes, **static)
        for _ in range(2):
            found = flatten(compiled(*args))[0]
            for a, *parts in zip(found, *expected, strict=True):
                assert_close(a, np.stack(parts), 1e-9, 1e-10)


IN_JAX = [p for p in MAPPED if p.name not in ONE_BY_ONE and p.order > 0][::4]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("program", IN_JAX, ids=lambda p: p.name)
def test_programs_over_a_batch_are_those_of_jax(program, wide):
    import jax
    import jax.numpy as jnp

    args, in_axes, _ = batch_of(program)
    if program.static_argnames or any(isinstance(x, str | bool) for x in flatten(args)[0]):
        pytest.skip("its arguments are static")
    try:
        expected = run_in_jax(jax.vmap(program.reference(jnp), in_axes=in_axes), *args)
    except (TypeError, jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
        pytest.skip(f"JAX does not map it: {type(error).__name__}")
    mapped = tg.vmap(program.new(), in_axes=in_axes)
    assert_close(mapped(*args), jax.tree.map(np.asarray, expected), 1e-9, 1e-10)
    mapped = tg.vmap(program.new(), in_axes=in_axes, backend="jax")
    assert_close(mapped(*args), jax.tree.map(np.asarray, expected), 1e-9, 1e-10)


@pytest.fixture
def wide():
    """JAX with 64 bits."""
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


# -- axes ---------------------------------------------------------------------------------------


def test_axes_of_arguments_and_results():
    np.testing.assert_array_equal(tg.vmap(np.sum, in_axes=1)(X), X.sum(0))
    np.testing.assert_array_equal(tg.vmap(np.sum, in_axes=-1)(X), X.sum(0))
    np.testing.assert_array_equal(tg.vmap(lambda a: a * 2, out_axes=1)(X), 2 * X.T)
    np.testing.assert_array_equal(tg.vmap(lambda a: a * 2, out_axes=-1)(X), 2 * X.T)
    scaled = tg.vmap(lambda a, b: a * b, in_axes=(0, None))
    np.testing.assert_array_equal(scaled(X, W), X * W)
    np.testing.assert_array_equal(scaled(X, 2.0), X * 2.0)
    a, b = tg.vmap(lambda a: (a, W.sum()), out_axes=(0, None))(X)
    np.testing.assert_array_equal(a, X)
    assert b == W.sum()


Pair = namedtuple("Pair", "a b")


def test_axes_of_pytrees():
    def f(d, e):
        return {"s": d["a"] * d["b"] + e, "n": (d["a"].sum(), 3.0)}

    mapped = tg.vmap(f, in_axes=({"a": 0, "b": None}, None))
    found = mapped({"a": X, "b": W}, 2.0)
    np.testing.assert_array_equal(found["s"], X * W + 2.0)
    np.testing.assert_allclose(found["n"][0], X.sum(1))
    np.testing.assert_array_equal(found["n"][1], np.full(4, 3.0))
    pair = tg.vmap(lambda p: Pair(p.a + 1, p.b), in_axes=(Pair(0, 1),), out_axes=Pair(1, 0))
    found = pair(Pair(X, X.T))
    np.testing.assert_array_equal(found.a, (X + 1).T)
    np.testing.assert_array_equal(found.b, X)


def test_named_arguments_have_axis_0_and_defaults_none():
    f = tg.vmap(lambda a, b=2.0: a * b)
    np.testing.assert_array_equal(f(X), X * 2.0)
    np.testing.assert_array_equal(f(X, b=Y), X * Y)
    np.testing.assert_array_equal(f(a=X, b=Y), X * Y)


def test_as_a_decorator_and_a_method():
    @tg.vmap(in_axes=(0, None))
    def scaled(a, b):
        """Docs."""
        return a * b

    assert (scaled.__name__, scaled.__doc__) == ("scaled", "Docs.")
    np.testing.assert_array_equal(scaled(X, W), X * W)

    class Model:
        def __init__(self):
            self.w = W

        @tg.vmap
        def predict(self, x):
            return x @ self.w

    model = Model()
    np.testing.assert_allclose(model.predict(X), X @ W)
    model.w = 2 * W
    np.testing.assert_allclose(model.predict(X), X @ (2 * W))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tg.vmap(lambda x, y: x)(X, Y[:3]), r"x has 4 \(axis 0\), y has 3 \(axis 0\)"),
        (lambda: tg.vmap(lambda x, n: x)(X, 3), "axis 0 for n, which has no axes: None says"),
        (lambda: tg.vmap(lambda x: x, in_axes=2)(X), "axis 2 for x, which has 2 axes"),
        (lambda: tg.vmap(lambda x, y: x, in_axes=(0,))(X, Y), "has 1 entries, but 2 positional"),
        (lambda: tg.vmap(lambda x: x, in_axes=("a",))(X), "'a' is no axis"),
        (lambda: tg.vmap(lambda x: x, in_axes="a")(X), "must be an int, None, or a tuple"),
        (lambda: tg.vmap(lambda x: x, in_axes=({"a": 0},))(X), "must begin alike"),
        (lambda: tg.vmap(lambda x: x, in_axes=None)(X), "no argument is mapped"),
        (lambda: tg.vmap(lambda x: x, out_axes=None)(X), "out_axes is None for a result that"),
        (lambda: tg.vmap(lambda x: (x, x), out_axes=(0, 0, 0))(X), "must begin alike"),
        (lambda: tg.vmap(lambda x: x, out_axes=5)(X), "axis 5 for a result that has 2 axes"),
        (lambda: tg.vmap(lambda x: "text")(X), "'text' of type str, which cannot be stacked"),
        (lambda: tg.vmap(written)(X), "writes to its argument: write to a copy"),
        (lambda: tg.vmap(renamed)({"a": X}), "changes a container that it is given"),
        (lambda: tg.compile(lambda x, y: tg.vmap(lambda a, b: a)(x, y))(X, Y[:2]), "differ in le"),
    ],
)
def test_errors_name_what_is_wrong(call, words):
    with pytest.raises(ArgumentError, match=words):
        call()


def written(x):
    x[0] = 1.0
    return x


def renamed(d):
    d["b"] = d["a"]
    return d["a"]


# -- nests --------------------------------------------------------------------------------------


def scaled_dot(a, b, scale=1.0):
    return scale * (a @ b)


def test_vmap_of_vmap():
    np.testing.assert_array_equal(tg.vmap(tg.vmap(lambda s: s * s))(X), X * X)
    outer = tg.vmap(tg.vmap(scaled_dot, in_axes=(None, 0)), in_axes=(0, None))
    np.testing.assert_allclose(outer(X, Y), X @ Y.T)
    closed = tg.vmap(lambda r: tg.vmap(lambda s: (r * s).sum())(Y))
    np.testing.assert_allclose(closed(X), X @ Y.T)


def test_vmap_of_derivatives():
    np.testing.assert_allclose(tg.vmap(tg.grad(energy))(X), slope(X))
    value, gradient = tg.vmap(tg.value_and_grad(energy))(X)
    np.testing.assert_allclose(value, each(energy, X))
    np.testing.assert_allclose(gradient, slope(X))
    np.testing.assert_allclose(tg.vmap(lambda a: tg.vjp(energy, a)[1](1.0)[0])(X), slope(X))

    def product(a):
        return tg.grad(lambda q: (tg.grad(energy)(q) * W).sum())(a)

    np.testing.assert_allclose(tg.vmap(product)(X), each(product, X), rtol=1e-12)


def test_derivatives_of_vmap():
    mapped = tg.vmap(energy)
    np.testing.assert_allclose(tg.grad(lambda q: mapped(q).sum())(X), slope(X))
    value, gradient = tg.value_and_grad(lambda w: (tg.vmap(lambda a: a @ w)(X) ** 2).sum())(W)
    np.testing.assert_allclose(value, ((X @ W) ** 2).sum())
    np.testing.assert_allclose(gradient, 2 * X.T @ (X @ W))
    second = tg.grad(lambda q: tg.grad(lambda z: mapped(z).sum())(q).sum())(X)
    expected = each(tg.grad(lambda a: tg.grad(energy)(a).sum()), X)
    np.testing.assert_allclose(second, expected, rtol=1e-12)


def test_beside_compile():
    np.testing.assert_allclose(tg.compile(tg.vmap(energy))(X), each(energy, X))
    np.testing.assert_allclose(tg.vmap(tg.compile(energy))(X), each(energy, X))
    twice = tg.compile(lambda q: tg.vmap(energy)(q) + tg.vmap(energy)(2 * q))
    np.testing.assert_allclose(twice(X), each(energy, X) + each(energy, 2 * X))


def test_tensors():
    mapped = tg.vmap(energy)
    assert isinstance(mapped(tg.tensor(X)), tg.Tensor)
    for f in (mapped, tg.vmap(branches)):
        t = tg.tensor(X, requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RecompileWarning)
            f(t).sum().backward()
            plain = tg.grad(lambda q, f=f: f(q).sum())(X)
        np.testing.assert_allclose(t.grad.numpy(), plain)


def test_jax_arrays(wide):
    import jax
    import jax.numpy as jnp

    for backend in ("numpy", "jax"):
        found = tg.vmap(energy, backend=backend)(jnp.asarray(X))
        assert isinstance(found, jax.Array)
        np.testing.assert_allclose(found, each(energy, X))
    assert isinstance(tg.vmap(energy, backend="jax")(X), np.ndarray)


@pytest.mark.parametrize("target", ["numpy", "jax"])
def test_an_op_without_a_rule_runs_in_a_loop(target, wide):
    f = tg.vmap(lambda a: np.convolve(a, W), backend=target)
    np.testing.assert_allclose(f(X), each(lambda a: np.convolve(a, W), X))
    assert ("for a in all_a" if target == "numpy" else "jax.vmap(of_one") in f.source(X)
    for argnum in (0, 1):
        gradient = tg.grad(
            lambda q, w: (tg.vmap(lambda a: np.convolve(a, w))(q) ** 2).sum(),
            argnum,
            backend=target,
        )
        looped = tg.grad(lambda q, w: sum((np.convolve(a, w) ** 2).sum() for a in q), argnum)
        np.testing.assert_allclose(gradient(X, W), looped(X, W), rtol=1e-12)


# -- loops --------------------------------------------------------------------------------------


def recurrence(a, w):
    h = np.zeros(3)
    for _ in range(50):
        h = np.tanh(h * w + a)
    return h.sum(), h


def rows(m, w):
    s = 0.0
    for row in m:
        s = s + np.sin(row @ w)
    return s


def while_less(a, n):
    k = 0
    while k < n[0]:
        a = a * 1.5 + 1
        k += 1
    return a


def leaves_early(a, n):
    for i in range(40):
        a = a * 0.9 + i
        if i > n[0]:
            return a
    return -a


TURNS = [
    (recurrence, (X, W), (0, None)),
    (recurrence, (X, Y), (0, 0)),
    (rows, (rng.normal(size=(20, 4, 3)), W), (1, None)),
    (rows, (rng.normal(size=(20, 3)), X), (None, 0)),
    (while_less, (X, np.array([12.0])), (0, None)),
    (leaves_early, (X, np.array([12.0])), (0, None)),
]


@pytest.mark.parametrize(("f", "args", "in_axes"), TURNS, ids=lambda x: getattr(x, "__name__", ""))
def test_loops_stay_loops(f, args, in_axes):
    def examples(g):
        pairs = zip(args, in_axes, strict=True)
        lists = [[x] * 4 if a is None else [np.take(x, i, a) for i in range(4)] for x, a in pairs]
        return each(g, *lists)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mapped = tg.vmap(f, in_axes=in_axes)
        for _ in range(2):
            assert_close(mapped(*args), examples(f), 1e-12, 1e-12)
        assert re.search(r"^    (for|while) ", mapped.source(*args), re.M)
        assert mapped.cache_info().versions == 1

        def total(a, w):
            return np.sum(np.sum(flatten(f(a, w))[0][0]))

        gradient = tg.vmap(tg.grad(total), in_axes=in_axes)
        assert_close(gradient(*args), examples(tg.grad(total)), 1e-11, 1e-12)
        assert re.search(r"^    for ", gradient.source(*args), re.M)


def test_loops_elsewhere():
    """In other transforms loops are unrolled, and Tensors with history run one by one."""
    mapped = tg.vmap(lambda a: recurrence(a, W)[0])
    expected = each(tg.grad(lambda a: recurrence(a, W)[0]), X)
    np.testing.assert_allclose(tg.grad(lambda q: mapped(q).sum())(X), expected)
    np.testing.assert_allclose(mapped(X), each(lambda a: recurrence(a, W)[0], X))
    t = tg.tensor(X, requires_grad=True)
    mapped(t).sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), expected)
    twice = tg.vmap(tg.vmap(lambda s: recurrence(s + np.zeros(3), W)[0]))
    one = lambda s: recurrence(s + np.zeros(3), W)[0]
    np.testing.assert_allclose(twice(X), [[one(s) for s in row] for row in X])


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_a_loop_that_an_example_ends():
    def f(a):
        while a.sum() < 100:
            a = a * 1.1 + 1
        return a

    np.testing.assert_allclose(tg.vmap(f)(X), each(f, X))


# -- programs as one would write them -----------------------------------------------------------


def loss(params, x, y):
    W1, b1, W2, b2 = params
    h = np.tanh(x @ W1 + b1)
    return np.mean((h @ W2 + b2 - y) ** 2)


def network():
    params = [rng.normal(size=s) for s in ((5, 7), (7,), (7, 2), (2,))]
    return params, rng.normal(size=(6, 5)), rng.normal(size=(6, 2))


def test_gradients_of_examples_in_one_program():
    params, x, y = network()
    gradients = tg.vmap(tg.grad(loss), in_axes=(None, 0, 0))
    found = gradients(params, x, y)
    for i in range(6):
        for a, b in zip(found, tg.grad(loss)(params, x[i], y[i]), strict=True):
            assert_close(a[i], b, 1e-12)
    source = gradients.source(params, x, y)
    assert "h = x @ params_0" in source
    assert "x[:, :, None] *" in source
    assert "for " not in source and "einsum" not in source
    assert gradients(params, x[:2], y[:2])[0].shape == (2, 5, 7)
    assert gradients(params, x[:0], y[:0])[0].shape == (0, 5, 7)
    assert gradients.cache_info().versions == 1


def test_what_is_the_same_for_all_is_computed_once():
    f = tg.vmap(lambda x, w: x * np.exp(w).sum(), in_axes=(0, None))
    assert "np.exp(w)" in f.source(X, W)


def test_what_a_mapped_function_shows(tmp_path):
    f = tg.vmap(energy)
    f(X)
    assert "1 version" in f.explain()
    assert "energy" in str(f.graph(X))
    assert repr(f) == "<tracegrad.vmap of energy, compiled once>"
    assert pickle.loads(pickle.dumps(tg.vmap(energy, in_axes=1)))(X).shape == (3,)
    assert bool(f.verify(X))
    file = f.export(tmp_path / "mapped.py", X)
    names: dict[str, Any] = {}
    exec(file.read_text(encoding="utf-8"), names)
    np.testing.assert_array_equal(names["energy"](X), f(X))


# -- where the way depends on the example -------------------------------------------------------


def branches(a):
    return np.sin(a) if a[0] > 0 else np.cos(a)


def grows(a):
    n = 0
    while np.sum(a * a) < 100:
        a, n = a * 1.5, n + 1
    return a, n


def positive(a):
    return a[a > 0].sum()


def as_text(a):
    return a * float(f"{a[0]}")


@pytest.mark.parametrize("f", [branches, grows, positive, as_text], ids=lambda f: f.__name__)
@pytest.mark.parametrize("target", ["numpy", "jax"])
def test_a_function_that_looks_at_its_example(f, target, wide):
    mapped = tg.vmap(f, backend=target)
    with pytest.warns(RecompileWarning, match="one example after the other") as told:
        assert_close(mapped(X), each(f, X), 1e-9)
        assert_close(mapped(X[::-1].copy()), each(f, X[::-1]), 1e-9)
    assert len([w for w in told if "one example" in str(w.message)]) == 1
    assert f.__name__ in mapped.source(X)


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_it_may_look_inside_other_transforms():
    expected = np.where(X[:, :1] > 0, np.cos(X), -np.sin(X))
    np.testing.assert_allclose(tg.grad(lambda q: tg.vmap(branches)(q).sum())(X), expected)
    np.testing.assert_allclose(tg.vmap(tg.grad(lambda a: branches(a).sum()))(X), expected)
    np.testing.assert_allclose(tg.compile(tg.vmap(branches))(X), each(branches, X))
    halves = tg.vmap(tg.vmap(lambda s: s * 2 if s > 0 else s))
    np.testing.assert_array_equal(halves(X), np.where(X > 0, 2 * X, X))


def test_a_look_at_what_is_the_same_for_all_is_a_look():
    def f(a, flag):
        return a * 2 if flag[0] > 0 else -a

    mapped = tg.vmap(f, in_axes=(0, None))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(mapped(X, np.ones(1)), 2 * X)
        np.testing.assert_array_equal(mapped(X, -np.ones(1)), -X)
        np.testing.assert_array_equal(mapped(X, np.ones(1)), 2 * X)
    assert "if flag[0] > 0:" in mapped.source(X, np.ones(1))


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_effects_happen_for_each_example():
    seen = []
    total = np.zeros(3)

    def f(a):
        seen.append(a.sum())
        return a

    def g(a):
        total[:] += a
        return a * 2

    np.testing.assert_array_equal(tg.vmap(f)(X), X)
    np.testing.assert_allclose(seen, X.sum(1))
    np.testing.assert_array_equal(tg.vmap(g)(X), 2 * X)
    np.testing.assert_allclose(total, X.sum(0))


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("transform", [tg.compile, lambda f: f], ids=["compile", "eager"])
def test_what_leaves_an_example_behind_is_that_of_the_last(transform):
    def summed(q):
        s = np.zeros(3)

        def inner(a):
            nonlocal s
            s = s + a
            return a * s

        return tg.vmap(inner)(q), s

    products, total = transform(summed)(X)
    np.testing.assert_allclose(products, X * np.cumsum(X, 0))
    np.testing.assert_allclose(total, X.sum(0))


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_every_example_has_draws_of_its_own():
    generator, other = tg.random.Generator(0), tg.random.Generator(0)
    found = tg.vmap(lambda a: a + generator.normal(size=3))(X)
    np.testing.assert_array_equal(found, np.stack([a + other.normal(size=3) for a in X]))
    again = tg.vmap(lambda a: a + generator.normal(size=3))(X)
    assert not np.any(again == found)


def filled(a):
    y = np.zeros(3)
    y[0] = a[0]
    y[1:] = a[1:] * 2
    y[y > 1] = 0
    y += a
    return y


def test_arrays_may_be_filled():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(tg.vmap(filled)(X), each(filled, X))
        gradient = tg.vmap(tg.grad(lambda a: (filled(a) ** 2).sum()))(X)
    np.testing.assert_allclose(gradient, each(tg.grad(lambda a: (filled(a) ** 2).sum()), X))


@pytest.mark.parametrize(
    "transform",
    [
        tg.grad,
        tg.jacrev,
        tg.jacfwd,
        tg.hessian,
        lambda f: tg.jacrev(tg.jacrev(f)),
        lambda f: tg.grad(lambda x: np.sum(tg.jacfwd(f)(x) ** 2)),
        lambda f: tg.vmap(lambda s: tg.grad(f)(s * np.ones(3))),
    ],
)
def test_masks_in_derivatives_of_examples(transform):
    """Rows of a derivative are a batch too, in front of the axes that the mask is for."""

    def filled(x):
        y = np.outer(x, x)
        y[x > 0.0] = 0.0
        y[:, x > 0.3] = x[0]
        y[y > 0.2] = x[1]
        return np.sum(y * x)

    def chosen(x):
        y = np.where((x > 0.0)[:, None], 0.0, np.outer(x, x))
        y = np.where(x > 0.3, x[0], y)
        return np.sum(np.where(y > 0.2, x[1], y) * x)

    found = tg.vmap(transform(filled))(X)
    assert_close(found, np.stack([transform(chosen)(x) for x in X]), 1e-12)


def test_writes_of_an_example_beside_torch_func():
    """To what the function makes they are those of `torch.func.vmap`; where that refuses to write a
    batched value to an array from outside, a loop is what happens."""
    torch = pytest.importorskip("torch")

    def filled(x):
        y = x * 2.0
        y[0] = y[1] + 1.0
        y *= x
        return y

    theirs = torch.func.vmap(filled)(torch.tensor(X)).numpy()
    assert_close(tg.vmap(filled)(X), theirs, 1e-14)

    total = np.zeros(3)

    def adding(x):
        nonlocal total
        total += x
        return x * 1.0

    with pytest.warns(RecompileWarning, match="one example after the other"):
        tg.vmap(adding)(X)
    assert_close(total, X.sum(axis=0), 1e-14)
    shared = torch.zeros(3, dtype=torch.float64)
    with pytest.raises(RuntimeError, match=r"place|broadcast shape"):
        torch.func.vmap(lambda x: shared.add_(x))(torch.tensor(X))


def test_results_have_memory_of_their_own():
    def f(q):
        r, s = tg.vmap(lambda a: (a, a))(q)
        r += 1
        return r, s

    x = X.copy()
    r, s = tg.compile(f)(x)
    np.testing.assert_array_equal(r, X + 1)
    np.testing.assert_array_equal(s, X)
    np.testing.assert_array_equal(x, X)


def test_an_empty_batch():
    assert tg.vmap(energy)(X[:0]).shape == (0,)
    assert tg.vmap(np.sin)(X[:0]).shape == (0, 3)


def test_without_compiling(monkeypatch):
    monkeypatch.setattr(tg.config, "compile", False)
    np.testing.assert_allclose(tg.vmap(energy)(X), each(energy, X))
    np.testing.assert_allclose(tg.vmap(tg.grad(energy))(X), slope(X))


def around_a_vmap(w):
    return np.sum(tg.vmap(lambda x: np.sum(x * w))(np.array([[1.0, 2.0], [3.0, 4.0]])))


def test_derivatives_inside_of_what_a_vmap_closes_over():
    """A leaf of a derivative that is taken while something records has its gradient."""
    w, slope = np.ones(2), np.array([4.0, 6.0])
    assert_allclose(tg.compile(tg.grad(around_a_vmap))(w), slope)
    assert_allclose(tg.compile(lambda w: w - 0.1 * tg.grad(around_a_vmap)(w))(w), w - 0.1 * slope)
    assert_allclose(tg.vmap(tg.grad(around_a_vmap))(w[None]), [slope])
    assert_allclose(tg.compile(lambda w: tg.jvp(around_a_vmap, (w,), (w,))[1])(w), 10.0)
    hessian = tg.compile(tg.hessian(lambda w: around_a_vmap(w) ** 2))(w)
    assert_allclose(hessian, 2.0 * np.outer(slope, slope))

    def scaled(u):
        return np.sum(tg.grad(lambda w: around_a_vmap(w * u))(np.ones(2)))

    assert_allclose(tg.grad(scaled)(w), slope)


def test_a_leaf_that_a_vmap_closes_over_has_its_gradient():
    leaf = tg.tensor([1.0, 2.0], requires_grad=True)
    batch = tg.tensor(np.arange(6.0).reshape(3, 2))
    tg.vmap(lambda a: np.sum(a * leaf))(batch).sum().backward()
    assert leaf.grad.tolist() == [6.0, 9.0]


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("made", [tg.vmap, tg.compile])
@pytest.mark.parametrize("logs", [True, False])
def test_tensors_that_a_function_reads_have_gradients_in_eager_calls(
    compiled, made, logs, monkeypatch
):
    """Also where no argument requires grad: of functions that run without a program too."""
    monkeypatch.setattr(tg.config, "compile", compiled)
    x, seen = tg.tensor(np.ones(3), requires_grad=True), []

    def f(b):
        if logs:
            seen.append(time.time())
        return (b * x).sum()

    mapped, batch = made(f), tg.as_tensor(np.ones((4, 3)))
    for _ in range(3):
        x.grad = None
        mapped(batch).sum().backward()
        assert (x.grad.numpy() == 4.0).all()


WHOLE_FACTORS = {
    "a literal": lambda w: np.sum(w) * 5,
    "within the sum": lambda w: np.sum(w * 5),
    "two": lambda w: -np.sum(w) * 3 * 2,
    "beyond 64 bits": lambda w: np.sum(w) * 2**40 * 2**40,
    "zero, and a sign": lambda w: np.sum(w) * 0 * -6,
    "beside nothing": lambda w: np.sum(w[:0]) + np.sum(w) * 5,
}


@pytest.mark.parametrize("f", WHOLE_FACTORS.values(), ids=WHOLE_FACTORS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("batched", [False, True])
def test_gradients_with_whole_factors_are_floats(monkeypatch, f, dtype, batched):
    x = np.ones((2, 3), dtype)
    made = tg.vmap(tg.grad(f)) if batched else tg.grad(f)
    found = made(x)
    monkeypatch.setattr(tg.config, "compile", False)
    assert_same_bits(found, (tg.vmap(tg.grad(f)) if batched else tg.grad(f))(x))
    assert found.dtype == dtype
