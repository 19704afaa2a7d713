"""Transforms made anew for each call over data of that call share programs, and no results."""

from __future__ import annotations

import functools
import gc
import math
import operator
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import FunctionType, SimpleNamespace
from weakref import ref

import numpy as np
import pytest
from scipy import integrate, optimize

import tracegrad as tg
from tracegrad.compiled import version
from tracegrad.extend import defvjp, primitive
from tracegrad.tracing import compile_budget
from tracegrad.transforms import call

DATA = np.random.default_rng(0).normal(size=(8, 5))
X = np.linspace(0.1, 0.5, 5)


def loss(w, x, scale=1.0):
    return np.mean(np.tanh(w * x) ** 2) * scale


class Model:
    def __init__(self, x, scale=1.0):
        self.x, self.scale, self.more = x, scale, [x * 2.0, {"x": x}]

    def loss(self, w):
        return self.inner(w) + np.sum(w * self.more[1]["x"])

    def inner(self, w):
        return np.sum(np.sin(w * self.more[0])) * self.scale

    def __call__(self, w):
        return loss(w, self.x, self.scale)


class Other(Model):
    def inner(self, w):
        return np.sum(w * w)


def of_method(w, k):
    return Model(DATA[k], float(k)).loss


def of_object(w, k):
    return Model(DATA[k], float(k))


def of_object_in_cell(w, k):
    model = Model(DATA[k], float(k))
    return lambda w: model.loss(w)


def of_cells(w, k):
    x, scale = DATA[k], 0.5 * k
    return lambda w: loss(w, x, scale)


def of_definition(w, k):
    x = DATA[k]

    def f(w):
        y = w * x
        return np.sum(y * y)

    return f


def of_defaults(w, k):
    return lambda w, x=DATA[k], *, scale=0.5 * k: loss(w, x, scale)


def of_partial(w, k):
    return functools.partial(loss, x=DATA[k], scale=0.5 * k)


def of_partial_of_lambda(w, k):
    return functools.partial(lambda x, w: loss(w, x), DATA[k])


def of_decorated(w, k):
    x = DATA[k]

    def twice(f):
        @functools.wraps(f)
        def doubled(*args):
            return f(*args) * 2.0

        return doubled

    @twice
    def f(w):
        return loss(w, x)

    return f


def of_functions(w, k):
    x = DATA[k]
    inner = lambda w: np.sum(w * x)
    functions = [lambda w, j=j: np.sum(w**j) for j in range(3)]
    return lambda w: inner(w) * 2.0 + sum(f(w) for f in functions)


def of_method_in_cell(w, k):
    method, part = Model(DATA[k]).loss, functools.partial(loss, x=DATA[k])
    return lambda w: method(w) + part(w)


def of_transform_in_cell(w, k):
    x = DATA[k]
    slope = tg.grad(lambda w: loss(w, x))
    return lambda w: np.sum(slope(w) * w)


def of_containers(w, k):
    held = {"x": DATA[k], "scales": [0.5 * k, (1.0, float(k))]}
    return lambda w: loss(w, held["x"], held["scales"][0] + held["scales"][1][1])


FORMS = [
    *(of_cells, of_definition, of_defaults, of_partial, of_partial_of_lambda, of_decorated),
    *(of_method, of_object, of_object_in_cell, of_functions, of_method_in_cell),
    *(of_transform_in_cell, of_containers),
]

TRANSFORMS = {
    "grad": lambda f, w: tg.grad(f)(w),
    "value_and_grad": lambda f, w: tg.value_and_grad(f)(w),
    "compile": lambda f, w: tg.compile(f)(w),
    "jacobian": lambda f, w: tg.jacobian(f)(w),
    "hessian": lambda f, w: tg.hessian(f)(w),
    "vmap": lambda f, w: tg.vmap(f)(np.stack([w, w + 1.0])),
    "jvp": lambda f, w: tg.jvp(f, (w,), (w,)),
    "hvp": lambda f, w: tg.hvp(f, (w,), (w,)),
    "hessian_vector_product": lambda f, w: tg.hessian_vector_product(f)(w, w),
    "vmap of grad": lambda f, w: tg.vmap(tg.grad(f))(np.stack([w, w + 1.0])),
    "jacobian of grad": lambda f, w: tg.jacobian(tg.grad(f))(w),
    "decorator": lambda f, w: tg.grad(argnums=0)(f)(w),
    "Tensors": lambda f, w: tg.compile(f)(tg.tensor(w, requires_grad=True)).detach().numpy(),
}


@pytest.fixture
def traces(monkeypatch):
    """A list with an item for each trace."""
    seen = []

    def counted(function, *rest):
        seen.append(len(seen))
        return version.traced_run(function, *rest)

    monkeypatch.setattr(call, "traced_run", counted)
    return seen


def eagerly(function, *args):
    tg.config.compile = False
    try:
        return function(*args)
    finally:
        tg.config.compile = True


def same(one, other):
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return np.array_equal(one, other) and np.asarray(one).dtype == np.asarray(other).dtype


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize("transform", ["grad", "value_and_grad", "Tensors"])
def test_calls_over_other_data_have_one_program(traces, form, transform):
    made = TRANSFORMS[transform]
    for i in range(12):
        w, k = X + 0.1 * i, (3 * i + 1) % 8
        found = made(form(w, k), w)
        if i == 6:
            so_far = len(traces)
        assert same(found, eagerly(made, form(w, k), w))
    assert len(traces) == so_far <= 6


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_of_every_transform(traces, transform):
    made = TRANSFORMS[transform]
    for i in range(12):
        w, k = X + 0.1 * i, (3 * i + 1) % 8
        if i == 6:
            so_far = len(traces)
        assert same(made(of_cells(w, k), w), eagerly(made, of_cells(w, k), w))
    assert len(traces) == so_far <= 6


def test_shapes_and_types_of_the_data_are_told_apart():
    for i in range(24):
        x = DATA[i % 8].astype([np.float64, np.float32, np.int64][i % 3])
        x = x.reshape([(5,), (1, 5), (5, 1)][i % 2])
        assert same(_product(x), eagerly(_product, x))


def _product(x):
    return tg.value_and_grad(lambda w: np.sum(w * x))(X)


def what_is_told_apart():
    """Functions of a call with number `k`, which differ in what a guard must tell."""

    def functions(k):
        f = [np.sum, np.prod, lambda w: np.sum(w * 3.0), lambda w: np.sum(w**k), loss_of(k)][k % 5]
        return lambda w: f(w) + 1.0

    def values(k):
        v = [1.0, 2, DATA[0], np.float32(3), None, "ab", (1.0, 2.0), [DATA[1], 3.0]][k]

        def f(w):
            if v is None or isinstance(v, str):
                return np.sum(w) * (0.5 if v is None else len(v))
            return np.sum(w * v[0]) * v[1] if isinstance(v, tuple | list) else np.sum(w * v)

        return f

    def modules(k):
        module = [np, math, SimpleNamespace(sin=np.cos)][k % 3]
        return lambda w: np.sum(w * module.sin(0.5 + k))

    def classes(k):
        made = [Model, Other][k % 2](DATA[k])
        return lambda w: made.loss(w)

    def classes_made_anew(k):
        cls = type("Made", (), {"scale": 1.0 + k})
        return lambda w: np.sum(w * cls.scale)

    def settings(k):
        held = SimpleNamespace(act=[np.tanh, np.sin][k % 2], depth=k % 3, name="ab"[k % 2])
        if k == 5:
            held.more = True

        def f(w):
            for _ in range(held.depth):
                w = held.act(w * DATA[0])
            w = w * 2.0 if hasattr(held, "more") else w
            return np.sum(w * w) if held.name == "a" else np.sum(w)

        return f

    def variables_that_functions_share(k):
        def pair():
            x = DATA[k]
            return (lambda w: np.sum(w * x)), (lambda w: np.sum(w * w * x))

        (first, second), (_, other) = pair(), pair()
        third = second if k % 2 else other
        return lambda w: first(w) + third(w)

    def arrays_that_are_one(k):
        x = DATA[k]
        y = x if k % 2 else x + 1.0
        return lambda w: np.sum(w * x) + np.sum(w * w * y)

    def who_functions_are(k):
        f = lambda w: np.sum(w) * 2.0
        g = f if k % 2 else lambda w: np.sum(w) * 3.0
        return lambda w: f(w) * g(w) * (10.0 if f is g else 1.0)

    def functions_as_keys(k):
        f = lambda w: np.sum(w) * k
        known = {f: 2.0} if k % 2 else {np.sum: 3.0}
        return lambda w: f(w) * known.get(f, 5.0)

    def attributes_of_functions(k):
        def f(w):
            return np.sum(w) * f.scale * len(f.__name__)

        f.scale, f.__name__ = 1.0 + k, "n" * (k + 1)
        return lambda w: f(w)

    def parts_that_python_reads(k):
        x = DATA[k]

        def f(w, scale=1.0 + k):
            return np.sum(w * x) * scale

        return lambda w: np.sum(w * f.__closure__[0].cell_contents) * f.__defaults__[0]

    def parts_of_partials(k):
        part = functools.partial(lambda x, w: np.sum(x * w), DATA[k])
        return lambda w: part(w) + np.sum(part.args[0] * w * w)

    def kinds_of_callables(k):
        f = [lambda w: np.sum(w) * k, Model(DATA[k]).inner, functools.partial(np.sum)][k % 3]
        return lambda w: f(w) * (2.0 if isinstance(f, FunctionType) else 3.0)

    def unbound_variables(k):
        def f(w):
            return np.sum(w * x) if k % 3 else np.sum(w)

        if k % 3:
            x = DATA[k]
        return f

    def evaluated_texts(k):
        return eval(["lambda w: (w**2).sum()", "lambda w: (w**3).sum()"][k % 2])

    def globals_of_one_code(k):
        scope = {"np": np, "scale": float(k)}
        exec(CODE, scope)
        f = scope["f"]
        return f if k % 2 else lambda w: f(w)

    def functions_that_c_calls(k):
        scale = float(k)
        each = np.vectorize(lambda t: t * scale)
        key = (lambda t: -t) if k % 2 else (lambda t: t)
        return lambda w: np.sum(w * each(DATA[0])) + sorted([1.0, 2.0], key=key)[0] * np.sum(w)

    def functions_that_python_calls(k):
        step = [operator.add, operator.mul, lambda a, b: a * b + k][k % 3]
        return lambda w: np.sum(functools.reduce(step, [w, w * 2.0, *map(np.sin, [w])]))

    def caches(k):
        @functools.lru_cache
        def scale(n):
            return n * 2.0 + k

        return lambda w: np.sum(w) * scale(3)

    def rules(k):
        scale = float(k)

        @tg.custom_vjp
        def square(v):
            return v * v * scale

        square.defvjp(lambda v: (v * v * scale, v), lambda v, ct: (20.0 * v * ct * scale,))
        return lambda w: np.sum(square(w))

    def rules_of_classes(k):
        scale = float(k)

        class Square(tg.autograd.Function):
            @staticmethod
            def forward(ctx, v):
                ctx.save_for_backward(v)
                return v * v * scale

            @staticmethod
            def backward(ctx, ct):
                return 20.0 * ctx.saved_tensors[0] * ct * scale

        return lambda w: np.sum(Square.apply(w))

    def functions_that_rules_call(k):
        scale = float(k)
        f = lambda v: np.asarray(v) * scale
        return lambda w: np.sum(applied(f, w)) + np.sum(Applied.apply(w, f))

    def callbacks(k):
        scale = 1.0 + k
        f = lambda t, a: t * a * scale
        g = lambda t, a: t * t - a * scale
        return lambda w: (
            integrate.quad(f, 0.0, 1.0, args=(np.sum(w),))[0]
            + optimize.brentq(g, 0.0, 100.0, args=(np.sum(w),))
        )

    def recomputed(k):
        x = DATA[k]
        f = tg.checkpoint(lambda w: np.tanh(w * x))
        return lambda w: np.sum(f(w))

    def generators(k):
        arrays = [*DATA[: 1 + k % 3]]

        def each():
            yield from arrays

        return lambda w: sum(np.sum(w * x) for x in each())

    def ways(k):
        x = DATA[k]
        return lambda w: np.sum(w * x) if np.sum(w * x) > 0.0 else np.sum(w * w * x)

    def loops(k):
        x, n = DATA[k], k % 4 + 1

        def f(w):
            for j in range(n):
                w = np.tanh(w * x) + j
            return np.sum(w)

        return f

    def draws(k):
        generator = np.random.default_rng(k)
        return lambda w: np.sum(w * generator.normal(size=5))

    return locals()


def loss_of(k):
    x = DATA[k]
    return lambda w: np.sum(w * x)


CODE = compile("def f(w): return np.sum(w * w) * scale", "<text>", "exec")


@primitive
def applied(f, x):
    return f(x)


defvjp(applied, None, lambda ans, f, x: lambda ct: f(ct) * 7.0)


class Applied(tg.autograd.Function):
    @staticmethod
    def forward(ctx, x, f):
        ctx.f = f
        return x * f(1.0)

    @staticmethod
    def backward(ctx, ct):
        return ct * ctx.f(3.0), None


TOLD_APART = {key: f for key, f in what_is_told_apart().items() if callable(f)}


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("kind", TOLD_APART)
@pytest.mark.parametrize("transform", ["value_and_grad", "compile"])
def test_nothing_stale(kind, transform):
    make, made = TOLD_APART[kind], TRANSFORMS[transform]
    draws = np.random.default_rng(1)
    for k in draws.integers(8, size=30).tolist():
        assert same(made(make(k), X), eagerly(made, make(k), X))


def test_what_calls_leave_is_that_of_each():
    def run(k):
        log, held, buffer = [], SimpleNamespace(count=0), np.zeros(5)
        number = float(k)

        def f(w):
            nonlocal number
            number = number + 1.0
            log.append(2.0 * k)
            held.count += 1
            held.last = DATA[k] * 2.0
            buffer[0] += number
            return np.sum(w * held.last) * len(log) * number + buffer[0]

        def g(w):
            log.append(1.0 * k)
            held.last = DATA[k]
            return np.sum(w * held.last)

        return tg.grad(f)(X), tg.grad(g)(X), log, held.count, held.last, buffer, number

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(16):
            assert same(run(i % 8), eagerly(run, i % 8))


def test_variables_are_read_by_each_call():
    for i in range(10):
        x, twice = DATA[i % 8].copy(), i % 2 == 0
        slope = tg.grad(lambda w: np.sum(w * x) * (2.0 if twice else 1.0))  # noqa: B023
        assert same(slope(X), x * (2.0 if twice else 1.0))
        x[0] = 100.0
        assert same(slope(X), x * (2.0 if twice else 1.0))
        x, twice = DATA[(i + 3) % 8], not twice
        assert same(slope(X), x * (2.0 if twice else 1.0))
        del slope


def test_by_a_default_or_from_the_end_it_is_differentiated_too():
    def run(k):
        def f(w, x=DATA[k], scale=2.0 * k):
            return np.sum(w * x * x) * scale

        return tg.grad(f, 1)(X), tg.grad(f, -1)(X), tg.grad(f)(X, scale=3.0), tg.grad(f)(X, X)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(12):
            assert same(run(i % 8), eagerly(run, i % 8))


def held(k, function):
    f = tg.grad(of_cells(X, k))
    return {"callable": f, "call": f.__call__}[function]


@pytest.mark.parametrize("function", ["callable", "call"])
@pytest.mark.parametrize("calls", [1, 5])
def test_what_is_held_stays_of_its_function(function, calls):
    kept = []
    for i in range(8):
        for j in range(3):
            tg.grad(of_cells(X, (i + j) % 8))(X)
        kept.append((i, held(i, function)))
        for k, made in kept:
            for _ in range(calls):
                assert same(made(X), eagerly(tg.grad(of_cells(X, k)), X))


def test_of_what_somebody_may_ask_for_nothing_is_handed_out():
    seen = []
    for i in range(8):
        made = tg.grad(of_cells(X, i))
        made(X)
        seen.append((ref(made), made.__wrapped__))
        del made
    assert all(r() is None or r().__wrapped__ is f for r, f in seen)


def test_a_backward_that_comes_later_is_that_of_its_call():
    waiting = []
    for i in range(12):
        k = i % 8
        w = tg.tensor(X, requires_grad=True)
        waiting.append((k, w, tg.compile(of_cells(X, k))(w)))
        if len(waiting) > 3:
            k, w, y = waiting.pop(0)
            (slope,) = tg.autograd.grad(y, [w], create_graph=True)
            (second,) = tg.autograd.grad(slope.sum(), [w])
            f = of_cells(X, k)
            np.testing.assert_allclose(slope.detach().numpy(), tg.grad(f)(X), rtol=1e-12)
            np.testing.assert_allclose(second.numpy(), tg.hessian(f)(X).sum(0), rtol=1e-10)


def test_recursive_calls_have_their_own():
    def run(k, depth):
        x = DATA[k]
        here = tg.grad(lambda w: np.sum(np.tanh(w * x)) * depth)(X)
        return here + (run((k + 1) % 8, depth - 1) if depth else 0.0)

    def nested(k):
        x = DATA[k]
        return tg.grad(lambda w: np.sum(tg.grad(lambda v: np.sum(v**2 * x))(w) * w))(X)

    for i in range(8):
        assert same(run(i, 3), eagerly(run, i, 3))
        assert same(nested(i), eagerly(nested, i))


def test_threads_have_their_own():
    def work(seed):
        draws = np.random.default_rng(seed).integers(8, size=40).tolist()
        return [same(tg.grad(loss_of(k))(X), DATA[k]) for k in draws]

    with ThreadPoolExecutor(4) as pool:
        assert all(map(all, pool.map(work, range(8))))


def test_a_collection_of_garbage_leaves_programs_and_no_data(traces):
    def run(k):
        model = Model(DATA[k].copy())
        inner = lambda w: model.loss(w)
        return tg.grad(lambda w: inner(w) * 2.0)(X), ref(model), ref(inner)

    gone = []
    for i in range(9):
        slope, *more = run(i % 8)
        gone += more
        assert same(slope, 2.0 * tg.grad(Model(DATA[i % 8]).loss)(X))
        gc.collect()
        assert [r() for r in gone if r() is not None] == []
    assert len(traces) <= 8


def test_inside_a_function_that_runs_eagerly(traces):
    def outer(w):
        with open("/dev/null") as file:
            file.read()
        return tg.grad(lambda v: np.sum(v * v * w))(w)

    compiled = tg.compile(outer)
    with pytest.warns(tg.errors.RecompileWarning, match="does more than compute"):
        for i in range(4):
            compiled(X + i)
    before = len(traces)
    for i in range(8):
        assert same(compiled(X + i), 2.0 * (X + i) ** 2)
    assert len(traces) <= before + 4


def held_by_a_list(k, kept):
    kept.append(tg.grad(of_cells(X, k)))
    return kept[-1](X)


def of_attributes(k, kept):
    def f(w):
        return np.sum(w) * f.scale

    f.scale = float(k)
    return tg.grad(f)(X)


def of_bound_variables(k, kept):
    count = float(k)

    def f(w):
        nonlocal count
        count = count + 1.0
        return np.sum(w) * count

    return tg.grad(f)(X)


def of_globals(k, kept):
    scope = {"np": np, "scale": float(k)}
    exec(CODE, scope)
    return tg.grad(scope["f"])(X)


@pytest.fixture
def timed(monkeypatch):
    """Time passes, which it does not in other tests."""
    monkeypatch.setattr(compile_budget, "clock", time.perf_counter)


@pytest.mark.parametrize("made", [held_by_a_list, of_attributes, of_bound_variables, of_globals])
def test_what_shares_no_program_runs_eagerly_after_a_few(traces, timed, made):
    kept = []
    with pytest.warns(tg.errors.RecompileWarning, match="made again and again") as told:
        results = [made(i % 8, kept) for i in range(20)]
    assert sum("made again and again" in str(w.message) for w in told) == 1
    so_far = len(traces)
    results += [made(i % 8, kept) for i in range(20, 30)]
    assert len(traces) == so_far <= 20
    for i, found in enumerate(results):
        assert same(found, eagerly(made, i % 8, []))


def test_one_that_is_called_often_is_compiled_all_the_same(timed):
    kept = []
    with pytest.warns(tg.errors.RecompileWarning, match="made again and again"):
        for i in range(30):
            held_by_a_list(i % 8, kept)
    made = kept[-1]
    assert made.cache_info().traces == 0
    for _ in range(400):
        made(X)
    assert made.cache_info().hits > 0
