"""Calls by a version's own function in the slot: as the general way answers them."""

import copy
import pickle
import threading

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

X = np.linspace(0.1, 0.9, 4)


def warm(f, *args, **kwargs):
    for _ in range(5):
        f(*args, **kwargs)
    return f


def runs_directly(f, *args, **kwargs):
    """The result of a call that goes no other way."""
    before = f.cache_info().hits
    asked = []
    whole = type(f)._call
    entered = type(f)._entered
    try:
        type(f)._call = lambda self, *given: asked.append("call") or whole(self, *given)
        type(f)._entered = lambda self, *given: asked.append("entry") or entered(self, *given)
        result = f(*args, **kwargs)
    finally:
        type(f)._call, type(f)._entered = whole, entered
    assert not asked and f.cache_info().hits == before + 1
    return result


def test_every_way_to_give_arguments():
    def f(x, y=2.0, *, z=3.0):
        return np.sum(np.sin(x) * y * z)

    g = tg.value_and_grad(f)
    ways = [((X,), {}), ((X, 5.0), {}), ((X,), {"y": 7.0}), ((X,), {"z": 2.0})]
    ways += [((X, 1.5), {"z": 2.5}), ((), {"x": X, "y": 4.0}), ((), {"z": 1.0, "y": 2.0, "x": X})]
    for _ in range(5):
        for args, kwargs in ways:
            assert g(*args, **kwargs)[0] == f(*args, **kwargs)
    assert g.cache_info().versions == 1
    for args, kwargs in (ways[0], ways[1], ways[4], ways[6]):
        assert runs_directly(g, *args, **kwargs)[0] == f(*args, **kwargs)


def test_wrong_arguments_are_refused_in_pythons_words():
    def f(x, y):
        return np.sum(x * y)

    def keyword_only(x, *, scale):
        return np.sum(x * scale)

    wrong = [((), {}), ((X,), {}), ((X, X, X), {}), ((X,), {"w": 1}), ((X, X), {"x": X})]
    for plain, right, calls in (
        (f, ((X, X), {}), wrong),
        (keyword_only, ((X,), {"scale": X}), [((X,), {}), ((X, X), {}), ((), {"scale": X})]),
    ):
        for transform in (tg.compile, tg.grad):
            known = warm(transform(plain), *right[0], **right[1])
            for args, kwargs in calls:
                with pytest.raises(TypeError) as expected:
                    plain(*args, **kwargs)
                for g in (transform(plain), known):
                    with pytest.raises(TypeError) as told:
                        g(*args, **kwargs)
                    assert str(told.value) == str(expected.value)


def test_names_that_the_text_has_another_use_for():
    def f(program, version, type, value0, ndarray, otherwise):
        return np.sum(program * version + type * value0 - ndarray / otherwise)

    args = [X + i for i in range(6)]
    g = warm(tg.value_and_grad(f), *args)
    assert runs_directly(g, *args)[0] == f(*args)
    names = ["program", "version", "type", "value0", "ndarray", "otherwise"]
    assert g(**dict(zip(names, args, strict=True)))[0] == f(*args)

    def h(x, *, program):
        return np.sum(x * program)

    h_ = warm(tg.value_and_grad(h), X, program=X)
    assert h_(X, program=2 * X)[0] == h(X, program=2 * X)


WEIGHTS = np.array([1.0, -2.0, 0.5, 3.0])


def test_names_are_given_to_versions_that_take_them_by_position_alone():
    """The text of one has a use for ``c0``, an array from outside; that of the other has none."""

    def f(c0, flag=None):
        return np.sum(c0 if flag is None else c0 * WEIGHTS)

    g = tg.compile(f)
    for _ in range(6):
        assert g(X) == f(X) and g(X, True) == f(X, True)
    first = {d.function.__code__.co_varnames[0] for d in g._directs}
    assert first == {"c0", "a0"}
    for order in (g._directs, g._directs[::-1]):
        g._chain(list(order))
        for _ in range(3):
            assert g(c0=X) == f(X) and g(flag=True, c0=X) == f(X, True)
            assert g(X, flag=True) == f(X, True)


SCALE = 2.0
np_ = np


def of_globals(x, np=1.0):
    return np_.sum(x * SCALE) * np


def test_a_parameter_that_hides_a_global(monkeypatch):
    g = warm(tg.value_and_grad(of_globals), X)
    assert g(X, np=3.0)[0] == of_globals(X, 3.0)
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert g(X)[0] == of_globals(X) == np.sum(X * 5.0)
    monkeypatch.setitem(globals(), "SCALE", X)
    assert g(X)[0] == np.sum(X * X)


def test_what_is_read_from_outside_is_asked_each_time(monkeypatch):
    class Model:
        scale, power = 2.0, 2

    model = Model()
    model.names = ["a", "b"]

    def f(x):
        for name in model.names:
            x = x * (model.scale if name == "a" else 1.5)
        return np.sum(x**model.power)

    g = warm(tg.value_and_grad(f), X)
    assert runs_directly(g, X)[0] == f(X)
    for change in (
        lambda: setattr(model, "power", 3),
        lambda: setattr(model, "scale", 0.5),
        lambda: model.names.append("a"),
        lambda: setattr(model, "names", ["b"]),
        lambda: setattr(Model, "power", 4) or delattr(model, "power"),
        lambda: monkeypatch.setattr(np, "sum", np.max),
    ):
        change()
        for _ in range(6):
            assert g(X)[0] == f(X)


def test_an_equal_object_in_its_place_is_taken_over():
    settings = {"mode": ("a", 1000)}

    def f(x):
        return np.sum(x * settings["mode"][1])

    g = warm(tg.value_and_grad(f), X)
    settings["mode"] = ("a", int("1000"))
    assert g(X)[0] == f(X)
    assert runs_directly(g, X)[0] == f(X)
    assert g.cache_info().versions == 1
    settings["mode"] = ("a", 1001)
    assert g(X)[0] == f(X)


def test_versions_hand_on_to_each_other():
    def f(x, flag):
        return np.sum(np.sin(x) if flag else np.cos(x))

    g = tg.value_and_grad(f)
    kinds = [(X, True), (X, False), (np.ones((2, 2)), True), (X.astype(np.float32), False)]
    for _ in range(6):
        for args in kinds:
            assert g(*args)[0] == f(*args)
    assert len(g._directs) == 4
    for args in kinds:
        assert runs_directly(g, *args)[0] == f(*args)


def test_a_version_that_grows_takes_the_place_of_its_function():
    def f(x):
        if x[0] > 0:
            return np.sum(x * 2)
        if x[1] > 0:
            return np.sum(x * 3)
        return np.sum(x * 4)

    g = tg.value_and_grad(f)
    for signs in ([1, 1], [1, -1], [-1, 1], [-1, -1]) * 3:
        x = np.array(signs, float)
        for _ in range(3):
            assert g(x)[0] == f(x)
    assert len(g._directs) == 1


def test_settings_decide_which_way():
    def f(x):
        return np.sum(np.exp(x))

    g = warm(tg.value_and_grad(f), X)
    with pytest.MonkeyPatch.context() as m:
        m.setattr(tg.config, "compile", False)
        assert g(X)[0] == f(X)
    with pytest.MonkeyPatch.context() as m:
        m.setattr(tg.config, "check_finite", True)
        with pytest.raises(tg.errors.FiniteError), np.errstate(all="ignore"):
            g(X * 1e4)
    with pytest.MonkeyPatch.context() as m:
        m.setattr(tg.config, "fast_math", True)
        g(X)
    assert runs_directly(g, X)[0] == f(X)
    assert g.cache_info().versions == 2


def test_inside_a_trace_it_is_part_of_that():
    inner = warm(tg.grad(lambda x: np.sum(x**3)), X)
    outer = tg.grad(lambda x: np.sum(inner(x)))
    for _ in range(4):
        np.testing.assert_array_equal(outer(X), 6 * X)
    runs_directly(inner, X)


def test_tensors_and_tracers_go_the_general_way():
    jax = pytest.importorskip("jax")
    g = warm(tg.grad(lambda x: np.sum(x**2)), X)
    y = tg.tensor(X, requires_grad=True)
    assert isinstance(g(y), tg.Tensor)
    inside = jax.jit(g)(X.astype(np.float32))
    np.testing.assert_allclose(inside, 2 * X, rtol=1e-6)
    found = [g(jax.numpy.asarray(X, "float32")) for _ in range(5)]
    assert all(isinstance(a, jax.Array) for a in found)


def test_a_function_whose_signature_changes():
    def f(x, y):
        return np.sum(x * y)

    def other(x, z, w):
        return np.sum(x * z + w)

    g = warm(tg.value_and_grad(f), X, X)
    f.__code__ = other.__code__
    assert g(X, X, X)[0] == other(X, X, X)
    assert g(X, z=X, w=2 * X)[0] == other(X, X, 2 * X)
    with pytest.raises(TypeError):
        g(X, X)


def test_an_exception_of_numpy_is_the_functions():
    def f(x, y):
        try:
            return np.sum(x + y)
        except ValueError:
            return np.sum(x)

    g = warm(tg.value_and_grad(f), X, X)
    y = np.ones(3)
    with pytest.warns(tg.errors.RecompileWarning, match="exception in add") as told:
        for _ in range(4):
            assert g(X, y)[0] == np.sum(X)
            assert g(X, X)[0] == f(X, X)
    assert told[0].filename == __file__


class Linear:
    def __init__(self, scale):
        self.scale = scale

    def value(self, x):
        return np.sum(self.scale * x)

    loss = tg.grad(value, argnums=1)


def test_what_a_function_raises_behind_its_guards_is_raised_once():
    done = []

    def f(x, fails):
        done.append(fails)
        if fails:
            raise ValueError("told once")
        return np.sum(x)

    g = warm(tg.compile(f), X, False)
    runs_directly(g, X, False)
    before = len(done)
    with pytest.raises(ValueError, match="told once"):
        g(X, True)
    assert done[before:] == [True]


def test_methods():
    class Model:
        scale = 2.0
        loss = tg.grad(lambda self, x: np.sum(self.scale * x), argnums=1)

    model, other = Model(), Model()
    other.scale = 3.0
    for _ in range(5):
        for m in (model, other):
            np.testing.assert_array_equal(m.loss(X), np.full(4, m.scale))
    bound = model.loss
    assert (bound.__name__, bound.__self__, bound.__wrapped__) == ("<lambda>", model, Model.loss)
    assert not hasattr(bound, "other")
    inside = tg.compile(lambda x: np.sum(model.loss(x) * x))
    assert [inside(X) for _ in range(4)] == [np.sum(X * 2.0)] * 4
    for made in (copy.copy, lambda x: pickle.loads(pickle.dumps(x))):
        np.testing.assert_array_equal(made(Linear(3.0).loss)(X), np.full(4, 3.0))


def test_calls_from_many_threads_while_one_is_in_a_trace():
    g = warm(tg.value_and_grad(lambda x: np.sum(np.sin(x))), X)
    expected = g(X)
    wrong = []

    def work(seed):
        for i in range(30):
            fresh = tg.value_and_grad(lambda x, k=seed * 100 + i: np.sum(np.sin(x)) + k)
            if fresh(X)[0] != expected[0] + seed * 100 + i:
                wrong.append("fresh")
            value, gradient = g(X)
            if value != expected[0] or (gradient != expected[1]).any():
                wrong.append("known")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    runs_directly(g, X)


def test_what_is_dropped_is_not_called():
    g = warm(tg.value_and_grad(lambda x: np.sum(x)), X)
    g.clear_cache()
    assert g.cache_info() == (0, 0, 0, 0)
    assert g(X)[0] == np.sum(X)
    assert g.cache_info() == (0, 1, 1, 1)


def test_who_answers_most_calls_is_asked_first() -> None:
    @tg.compile
    def f(h):
        if np.sum(h) > 0:
            h = h * 2
        for _ in range(20):
            h = np.sin(h) + 0.1 * h
        return h

    x = np.ones(5)
    for k in (1.0, -1.0):
        for _ in range(4):
            f(k * x)
    assert f.cache_info().versions == len(f._directs) == 2
    older, newer = f._directs[1].version, f._directs[0].version
    for version, k in ((older, 1.0), (newer, -1.0), (older, 1.0)):
        expected = f(k * x)
        for _ in range(40):
            assert_same_bits(f(k * x), expected)
        assert f._directs[0].version is version
        assert next(iter(f._entries.values()))[0][1] is version
        passed = f._passed
        f(k * x)
        assert f._passed == passed  # who is asked first counts nothing
