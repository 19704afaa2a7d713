"""Dataclasses among the arguments whose ``__post_init__`` or methods set more than their fields."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import ArgumentError, RecompileWarning
from tracegrad.values.dataclass_attributes import besides_fields, converted


@dataclass
class Inner:
    w: Any

    def __post_init__(self) -> None:
        self.scale = 2.0


@dataclass
class Config:
    v: Any = 1.0
    w: Any = None
    inner: Any = None
    items: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.half = self.v / 2
        self._cache: dict[Any, Any] = {}
        self.arr = np.ones(2) * self.v

    def counted(self, x: Any) -> Any:
        self.count = getattr(self, "count", 0) + 1
        return np.sum(x) * self.v

    @tg.compile
    def loss(self, x: Any) -> Any:
        return np.sum(x) * self.half


@dataclass(frozen=True)
class Frozen:
    v: Any = 1.0
    w: Any = None
    inner: Any = None
    items: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        object.__setattr__(self, "half", self.v / 2)
        object.__setattr__(self, "_cache", {})
        object.__setattr__(self, "arr", np.ones(2) * self.v)


def new(kind: Any, v: Any = 1.0) -> Any:
    return kind(v, np.ones(2), Inner(np.zeros(2)))


READS = [
    "c.half",
    "c.half * c.v",
    "c.arr * c.w",
    "c.inner.scale * c.inner.w",
    "c.inner.scale if c.half > 0.6 else c.half",
    "getattr(c, 'new', 0.5)",
    "vars(c)['half']",
    "c._cache.get('k', 0.0) + len(c.items)",
    "dataclasses.replace(c, v=2.0).half",
    "sum(f.name == 'v' for f in dataclasses.fields(c))",
]
BETWEEN = [
    "pass",
    "c.half = 0.9",
    "c.arr = np.array([1.0, 5.0])",
    "c.arr[1] = 7.0",
    "c.v = 3.0",
    "c.new = 1",
    "c._cache['k'] = 2.0",
    "c.half = np.ones(2)",
    "c = new(type(c), 2.0)",
    "c.inner.scale = 3.0",
]


def _calls(text: str, kind: Any, decorate: Callable[[Any], Any]) -> list[Any]:
    scope = {"np": np, "dataclasses": dataclasses, "new": new, "c": new(kind)}
    exec(f"def f(x, given):\n    c = given['c']\n    return np.sum(x * ({text}))", scope)
    f, found = decorate(scope["f"]), []
    for between in BETWEEN:
        if kind is Frozen:
            between = between.replace("c.half = ", "vars(c)['half'] = ")
        try:
            exec(between, scope)
        except dataclasses.FrozenInstanceError:
            continue
        for _ in range(2):
            try:
                found.append(np.asarray(f(np.arange(2.0), {"c": scope["c"]})).tolist())
            except ValueError as error:  # of an array that is no flag
                found.append(isinstance(error, ValueError))
    return found


def _value(f: Callable[..., Any]) -> Callable[..., Any]:
    made = tg.value_and_grad(f)
    return lambda *args: made(*args)[0]


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("kind", [Config, Frozen])
@pytest.mark.parametrize("decorate", [tg.compile, _value], ids=["compile", "vg"])
def test_what_a_call_reads_is_what_stands_there(decorate, kind, read):
    assert _calls(read, kind, decorate) == _calls(read, kind, lambda f: f)


@pytest.mark.parametrize("kind", [Config, Frozen])
@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad, tg.grad, tg.jacobian])
def test_calls_are_compiled(transform, kind):
    f = transform(lambda x, c, given: np.sum(x) * c.half + given[0].inner.scale * x[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for v in (1.0, 2.0, 3.0):
            f(np.ones(2), new(kind, v), [new(kind, v)])
    assert f.cache_info() == (2, 1, 1, 1)
    assert f"c: any {kind.__name__}" in f.explain()


WRITES = [
    "c._cache['k'] = 2 * x",
    "c.half = c.half + x[0]",
    "c.new = [x]",
    "c.items.append(x * c.v)",
    "c.w += x",
    "c.arr = x; c.v = c.v + 1.0",
    "x = x * c.counted(x)",
    "c.inner.scale += 1.0; c.inner.w = x",
    "S.append(c); S.append(c.arr)",
    "del c._cache",
]


def _shown(x: Any, known: Any) -> Any:
    if x is known[0]:
        return "c"
    if isinstance(x, (list, dict)):
        items = list(x.items()) if isinstance(x, dict) else list(enumerate(x))
        return [(key, _shown(item, known)) for key, item in items]
    if isinstance(x, Inner):
        return _shown(vars(x), known)
    return (type(x).__name__, np.asarray(x).tolist())


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("decorate", [tg.compile, tg.value_and_grad], ids=["compile", "vg"])
def test_what_a_call_writes_stands_in_the_callers_object(decorate, write):
    def left(decorate: Callable[[Any], Any]) -> list[Any]:
        scope: dict[str, Any] = {"np": np, "S": []}
        exec(f"def f(x, c):\n    {write}\n    return np.sum(x)", scope)
        f, c, found = decorate(scope["f"]), new(Config), []
        for i in range(3):
            c._cache = getattr(c, "_cache", {})
            f(np.array([1.0 + i, 2.0]), c)
            found.append(_shown([dict(vars(c)), scope["S"]], [c]))
        return found

    assert left(decorate) == left(lambda f: f)


def test_the_object_that_a_method_is_of():
    c, before = new(Config), Config.loss.cache_info()
    for half in (0.5, 1.5, 2.5):
        c.half = half
        assert c.loss(np.ones(2)) == 2.0 * half
    assert Config.loss.cache_info().traces == before.traces + 1


def test_one_with_fields_alone_and_one_with_more():
    @dataclass
    class Point:
        v: float = 1.0

    f = tg.compile(lambda x, c: np.sum(x) * (c.half if hasattr(c, "half") else c.v))
    for v in (1.0, 2.0, 3.0):
        plain, more = Point(v), Point(v)
        more.half = v / 4  # type: ignore[attr-defined]
        assert (f(np.ones(2), plain), f(np.ones(2), more)) == (2.0 * v, v / 2)
    assert f.cache_info().traces == 2


TOLD = {
    "differentiated": (tg.grad(lambda c, x: np.sum(x) * c.half), lambda c, x: (c, x), "c is a"),
    "within": (tg.grad(lambda p, x: np.sum(x) * p["c"].half), lambda c, x: ({"c": c}, x), "holds"),
    "Tensors": (tg.compile(lambda x, c: x * c.half), lambda c, x: (tg.tensor(x), c), "c is a"),
    "derivatives of Tensors": (
        tg.grad(lambda x, c: (x * c.half).sum()),
        lambda c, x: (tg.tensor(x), c),
        "c is a",
    ),
    "mapped": (
        tg.vmap(lambda x, c: x * c.half, in_axes=(0, None)),
        lambda c, x: (x, c),
        "c is a",
    ),
}


@pytest.mark.parametrize("how", TOLD)
def test_calls_that_run_eagerly_say_so_once(how):
    f, given, words = TOLD[how]
    with pytest.warns(RecompileWarning, match=rf"{words}.* \(half\).*eagerly") as told:
        for v in (1.0, 2.0, 3.0):
            f(*given(Halved(v), np.ones(2)))
    assert len(told) == 1
    assert "attributes that are no fields (half)" in f.explain()
    assert f.cache_info().versions == 0


@dataclass
class Halved:
    v: float

    def __post_init__(self) -> None:
        self.half = self.v / 2


def test_a_gradient_by_the_fields_is_that_of_plain_calls():
    f = tg.grad(lambda c, x: np.sum(x) * c.half * c.v**2)
    with pytest.warns(RecompileWarning):
        assert f(Halved(3.0), np.ones(2)).v == 2.0 * 1.5 * 6.0


def test_with_arrays_of_jax():
    jax = pytest.importorskip("jax")
    x = jax.numpy.ones(2)
    for backend in ("numpy", "jax"):
        f = tg.compile(lambda x, c: np.sum(x) * c.half, backend=backend)
        for v in (1.0, 2.0, 3.0):
            assert f(x, Halved(v)) == v
        assert f.cache_info().versions == 1
    assert jax.jit(lambda x: f(x, Halved(2.0)))(x) == 2.0
    with pytest.raises(ArgumentError, match="no fields"):
        jax.jit(lambda x: f(x, Halved(x[0])))(x)


def test_looks_inside():
    c, f = Halved(3.0), tg.value_and_grad(lambda x, c: np.sum(x**2) * c.half)
    assert "half" in f.source(np.ones(2), c)
    assert f.verify(np.ones(2), c)
    assert f.graph(np.ones(2), c).inputs
    assert f(np.ones(2), c)[0] == 3.0


def test_containers_in_another_form():
    c, kept = Halved(3.0), [1, (2, None)]
    same = converted(lambda leaf: leaf, {"c": c, "kept": kept})
    assert same["c"] is c and same["kept"] is kept
    made = converted(lambda leaf: leaf + 1 if isinstance(leaf, float) else leaf, [c, kept])
    assert (made[0].v, made[0].half) == (4.0, 1.5) and made[1] is kept and c.v == 3.0
    assert besides_fields(made[0]) == {"half": 1.5} and besides_fields(Config) == {}
