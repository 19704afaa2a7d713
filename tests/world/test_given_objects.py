"""Objects that are arguments: of another object of the class the versions are the same.

Each program is run on several objects, plain and compiled; the results, what stands in the objects
afterwards and the number of versions are compared.
"""

from __future__ import annotations

import copy
import gc
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg
from tracegrad.runtime.thread_state import STATE

X = np.array([0.5, -1.25, 2.0])
PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]], int]] = {}
CALLS = 6


class Model:
    def __init__(self, k: float = 1.0) -> None:
        self.w = np.arange(3) * k
        self.rate = 0.5 * k
        self.depth = 2


class Slotted:
    __slots__ = ("rate", "w")

    def __init__(self, k: float = 1.0) -> None:
        self.w = np.arange(3) * k
        self.rate = 0.5 * k


class Guarded:
    """Python asks it for what it lacks, and for a property."""

    def __init__(self, k: float = 1.0) -> None:
        self.w, self._rate = np.arange(3) * k, k

    @property
    def rate(self) -> float:
        return self._rate * 2

    def __getattr__(self, name: str) -> Any:
        if name == "scale":
            return self.__dict__["_rate"] + 1.0
        raise AttributeError(name)


class Nested:
    def __init__(self, k: float = 1.0) -> None:
        self.layers = [Model(k), Model(k + 1.0)]
        self.options = {"rate": 0.1 * k, "name": "relu"}


def program(make: Callable[[int], Any], versions: int = 1) -> Any:
    """What is run on the objects of each turn; how many versions it may have."""

    def enter(function: Callable[..., Any]) -> Any:
        def made(turn: int) -> tuple[Any, ...]:
            given = make(turn)
            return given if type(given) is tuple else (given,)

        PROGRAMS[function.__name__] = function, made, versions
        return function

    return enter


@program(lambda turn: Model(turn + 1.0))
def reads_arrays_and_floats(m, x):
    return x * m.w + m.rate


@program(lambda turn: Slotted(turn + 1.0))
def reads_slots(m, x):
    return x * m.w + m.rate


@program(lambda turn: Guarded(turn + 1.0))
def reads_by_code(m, x):
    return x * m.w + m.rate * m.scale


@program(lambda turn: Nested(turn + 1.0))
def reads_what_it_holds(m, x):
    for layer in m.layers:
        x = np.tanh(x * layer.w + layer.rate)
    return x * m.options["rate"] if m.options["name"] == "relu" else x


def of_depth(turn: int) -> Any:
    m = Model(turn + 1.0)
    m.depth = turn % 2
    return m


@program(of_depth, 2)
def compares_other_attributes(m, x):
    return x * m.w if m.depth else x + m.rate


@program(lambda turn: (m := Model(turn + 1.0), m if turn % 2 else Model(turn + 2.0)), 2)
def may_be_one_object(a, b, x):
    return x * a.w + b.w if a is b else x * a.w - b.w


@program(lambda turn: (m := Model(turn + 1.0), m if turn % 2 else Model(turn + 2.0)), 2)
def writes_where_two_may_be_one(a, b, x):
    a.w = x * 2.0
    return b.w + a.rate


@program(lambda turn: (lambda a, b: setattr(b, "w", a.w) or (a, b))(Model(turn + 1.0), Model()), 9)
def objects_with_one_array(a, b, x):
    return a.w * x + b.w


@program(lambda turn: Model(turn + 1.0))
def writes_an_attribute(m, x):
    m.w = m.w + x
    m.last = x * 2.0
    return m.w.sum()


@program(lambda turn: Slotted(turn + 1.0))
def writes_a_slot(m, x):
    m.w = m.w + x
    return m.w.sum()


@program(lambda turn: Model(turn + 1.0))
def writes_into_an_array(m, x):
    m.w[0] = x[1]
    m.w += x
    return m.w.sum()


@program(lambda turn: Nested(turn + 1.0), 2)
def changes_what_it_holds(m, x):
    m.layers[0].w = x * m.layers[1].w
    m.layers.append(x + 1.0)
    m.options["rate"] = 3.0
    m.options.pop("name", None)
    return m.layers[0].w


def with_one_float(turn: int) -> Any:
    m = Model(turn + 1.0)
    m.other = m.rate  # the very object
    return m


@program(with_one_float)
def floats_that_are_one_object(m, x):
    return x * m.w * m.rate + m.other


def with_bias(turn: int) -> Any:
    m = Model(turn + 1.0)
    if turn % 3 == 1:
        m.bias = np.ones(3)
    return m


@program(with_bias, 2)
def asks_for_what_some_lack(m, x):
    return x * m.w + (m.bias if hasattr(m, "bias") else 0.0)


@program(lambda turn: Model(turn + 1.0), 2)
def counts(m, x):
    m.depth += 1
    return x * m.depth


@program(lambda turn: ([Model(turn + 1.0), Model(2.0)],))
def objects_in_a_list(models, x):
    return sum((x * m.w for m in models), x)


@program(lambda turn: {"one": Model(turn + 1.0), "other": Slotted(2.0)})
def objects_in_a_dict(models, x):
    return x * models["one"].w + models["other"].w


KEPT = Model(7.0)


@program(lambda turn: KEPT if turn == 3 else Model(turn + 1.0), 2)
def may_be_one_from_outside(m, x):
    m.rate = 2.0
    return x * m.w + KEPT.w * KEPT.rate


@program(lambda turn: Model(turn + 1.0))
def takes_branches(m, x):
    return x * m.w if x[0] > 0 else x - m.w


def shown(given: Any) -> Any:
    """What objects hold, in plain containers."""
    if isinstance(given, list | tuple):
        return [shown(x) for x in given]
    if isinstance(given, dict):
        return {name: shown(x) for name, x in given.items()}
    if isinstance(given, Slotted):
        return [given.w, given.rate]
    return shown(vars(given)) if hasattr(given, "__dict__") else given


def calls(function: Callable[..., Any], make: Callable[[int], Any], of: Any = None) -> list[Any]:
    """What calls give and leave, each of three on the objects of a turn."""
    found: list[Any] = []
    vars(KEPT).update(vars(Model(7.0)))
    call = function if of is None else of(function)
    with warnings.catch_warnings(action="error", category=tg.errors.RecompileWarning):
        for turn in range(CALLS):
            given = make(turn)
            for k in (1.0, -1.0, 1.0):
                found += [np.asarray(call(*given, X * k)), copy.deepcopy(shown(given))]
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_plain(name: str) -> None:
    function, make, versions = PROGRAMS[name]
    made = tg.compile(function)
    expected, found = calls(function, make), calls(function, make, lambda f: made)
    assert_same_bits(found, expected)
    assert made.cache_info().versions <= versions, made.explain()


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name: str) -> None:
    function, make, _ = PROGRAMS[name]

    def loss(*args: Any) -> Any:
        return function(*args).sum()

    def fresh(*args: Any) -> Any:
        return tg.grad(lambda x: loss(*args[:-1], x))(args[-1])

    expected, found = calls(fresh, make), calls(loss, make, lambda f: tg.grad(f, argnums=-1))
    assert_same_bits(found, expected)


class Method:
    def __init__(self, k: float = 1.0) -> None:
        self.w = np.full(1000, k)

    @tg.compile
    def f(self, x: Any) -> Any:
        return x * self.w[0]


def test_a_method_has_one_version_and_keeps_no_object() -> None:
    Method.f.clear_cache()
    references = []
    with warnings.catch_warnings(action="error"):
        for turn in range(40):
            m = Method(turn)
            references += [weakref.ref(m), weakref.ref(m.w)]
            assert_same_bits(m.f(X), X * turn)
    del m
    gc.collect()
    assert not [reference for reference in references if reference() is not None]
    info = Method.f.cache_info()
    assert (info.hits, info.misses, info.versions) == (39, 1, 1)


@pytest.mark.parametrize("name", ["changes_what_it_holds", "reads_by_code", "takes_branches"])
def test_objects_are_not_kept(name: str) -> None:
    function, make, _ = PROGRAMS[name]
    compiled, references = tg.compile(function), []
    for turn in range(4):
        (given,) = make(turn)
        for k in (1.0, -1.0):
            compiled(given, X * k)
        references.append(weakref.ref(given))
    del given
    gc.collect()
    assert not [reference for reference in references if reference() is not None]


def test_a_subclass_is_another_version() -> None:
    class Doubled(Model):
        @property
        def rate(self) -> float:
            return 10.0

        @rate.setter
        def rate(self, value: float) -> None:
            pass

    f = tg.compile(reads_arrays_and_floats)
    for m in (Model(1.0), Doubled(2.0), Model(3.0), Doubled(4.0)):
        assert_same_bits(f(m, X), reads_arrays_and_floats(m, X))
    assert f.cache_info().versions == 2


def test_an_attribute_that_goes_raises_as_in_python() -> None:
    f, m = tg.compile(reads_arrays_and_floats), Model()
    f(m, X)
    other = Model(2.0)
    del other.rate
    with pytest.raises(AttributeError, match="rate"):
        f(other, X)
    assert_same_bits(f(Model(3.0), X), reads_arrays_and_floats(Model(3.0), X))


def test_tensors_of_objects_have_gradients() -> None:
    class Layer:
        def __init__(self, k: float) -> None:
            self.w = tg.tensor(np.arange(3) * k, requires_grad=True)

    f = tg.compile(lambda m, x: (m.w * x).sum())
    for given in (X, tg.tensor(X)):
        for k in (1.0, 2.0, 3.0, 4.0, 5.0):
            m = Layer(k)
            f(m, given).backward()
            assert_same_bits(m.w.grad.numpy(), X)
            m.w.requires_grad_(False)
            assert_same_bits(np.asarray(f(m, X)), (np.arange(3) * k * X).sum())
    assert f.cache_info().versions <= 4, f.explain()


def test_an_object_that_is_returned() -> None:
    f = tg.compile(lambda m, x: (x * m.rate, m))
    for k in (1.0, 2.0):
        m = Model(k)
        value, same = f(m, X)
        assert same is m
        assert_same_bits(value, X * m.rate)


def test_calls_within_calls_have_their_own_objects() -> None:
    inner = tg.compile(writes_a_slot)

    class Asks(Model):
        def __repr__(self) -> str:
            inner(Slotted(5.0), X)
            return "asked"

    def f(m: Any, x: Any) -> Any:
        m.last = x * m.w
        return m.last + len(f"{m}")

    compiled = tg.compile(f)
    for k in (1.0, 2.0, 3.0, 4.0):
        m = Asks(k)
        for _ in range(3):
            assert_same_bits(compiled(m, X), X * m.w + len("asked"))
            assert_same_bits(m.last, X * m.w)
            assert STATE.objects == ()


def test_no_object_stays_behind_a_call_that_raises() -> None:
    def f(m: Any, x: Any) -> Any:
        m.last = np.linalg.inv(x * m.rate)
        return m.last

    compiled, singular = tg.compile(f), np.zeros((2, 2))
    for k in (1.0, 2.0, 3.0, 4.0):
        m = Model(k)
        for _ in range(3):
            assert_same_bits(compiled(m, np.eye(2)), np.linalg.inv(np.eye(2) * m.rate))
            with pytest.raises(np.linalg.LinAlgError):
                compiled(m, singular)
            assert STATE.objects == ()
    assert compiled.cache_info().versions == 1


def test_files_have_the_arrays_of_one_object(tmp_path: Any) -> None:
    for k in (1.0, 2.0):
        m = Method(k)
        m.f(X)
        for given in ((X,), ()):  # these arguments, or those of the latest version
            m.f.export(tmp_path / "f.py", *given)
            loaded = tg.load(tmp_path / "f.py", m.f)
            assert_same_bits(loaded(X), X * k)
            assert loaded.verify(X)
        with pytest.raises(tg.errors.ExportError, match="self is"):
            Method.f.export(tmp_path / "f.py", m, X)
        with pytest.raises(tg.errors.ArgumentError, match="pass these"):
            Method.f.export(tmp_path / "f.py")


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_looks_inside(backend: str, tmp_path: Any) -> None:
    f = tg.compile(reads_arrays_and_floats, backend=backend)
    for k in (1.0, 2.0):
        m = Model(k)
        np.testing.assert_allclose(f(m, X), reads_arrays_and_floats(m, X))
        assert "any Model" in f.source(m, X)
        assert f.verify(m, X)
        f.draw(tmp_path / "f.svg", m, X)
        f.graph(m, X)
    assert f.cache_info().versions == 1


def test_versions_of_objects_that_are_no_more_may_go() -> None:
    compiled = tg.compile(lambda m, x: x * m.w * {m: 2.0}[m])
    references = []
    with warnings.catch_warnings(action="error"):
        for turn in range(2 * tg.config.versions):
            m = Model(turn)
            for _ in range(2):
                assert_same_bits(compiled(m, X), X * m.w * 2.0)
            references += [weakref.ref(m), weakref.ref(m.w)]
    del m
    gc.collect()
    assert not [reference for reference in references if reference() is not None]
    assert 0 < compiled.cache_info().versions <= tg.config.versions


def tied(turn: int) -> Any:
    m = Nested(turn + 1.0)
    if turn % 2:
        m.layers[1].w = m.layers[0].w
    return m


@pytest.mark.parametrize("first", [0, 1])
def test_arrays_that_objects_share(first: int) -> None:
    def f(m: Any, x: Any) -> Any:
        m.layers[0].w += x
        return m.layers[1].w * x

    def g(m: Any, x: Any) -> Any:
        m.layers[0].w = m.layers[0].w + x
        return m.layers[1].w * x

    for function in (f, g):
        compiled, references = tg.compile(function), []
        for turn in range(first, 8):
            m, plain = tied(turn), tied(turn)
            for _ in range(2):
                assert_same_bits(compiled(m, X), function(plain, X))
                assert_same_bits(shown(m.layers), shown(plain.layers))
            references.append(weakref.ref(m.layers[1].w))
        del m
        gc.collect()
        assert compiled.cache_info().versions <= 2
        assert not [reference for reference in references if reference() is not None]
