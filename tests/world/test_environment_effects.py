"""What a function does besides computing, and what it reads that no guard can hold.

Stored arrays are told from other effects; clocks, files and hidden state keep a function eager;
arrays that are read by NumPy alone are compared by what they hold.
"""

from __future__ import annotations

import collections
import contextvars
import copy
import datetime
import decimal
import functools
import itertools
import logging
import os
import random as python_random
import sys
import threading
import time
import types
import uuid
import warnings
import weakref
from collections.abc import Callable
from dataclasses import asdict, dataclass
from operator import attrgetter
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits

import tracegrad as tg
from tracegrad.values.pytree import flatten

X = np.array([1.0, 2.0, 3.0])
TOTAL: Any = None
RATE: Any = 2.0


# -- stores -------------------------------------------------------------------------------------


class Layer:
    shared: Any = None

    def __init__(self):
        self.mean: Any = None
        self.calls = 0
        self.buffer = np.zeros(3)
        self.log: list[Any] = []
        self.state: dict[str, Any] = {"m": None}
        self.running = tg.tensor([0.0, 0.0, 0.0])

    def averages(self, x):
        self.mean = x * 1.0 if self.mean is None else self.mean * 0.9 + x
        return x

    def keeps_in_a_dict(self, x):
        self.state["m"] = x * 2.0
        return x

    def keeps_in_its_class(self, x):
        Layer.shared = x * 2.0
        return x

    def keeps_globally(self, x):
        global TOTAL
        TOTAL = x * 2.0
        return x

    def counts(self, x):
        self.calls += 1
        return x

    def writes(self, x):
        self.buffer += 1.0
        return x

    def writes_a_tensor(self, x):
        self.running.mul_(0.9)
        self.running += 1.0
        return x

    def appends(self, x):
        self.log.append(x)
        return x

    def replaces_a_number(self, x):
        self.calls = x.sum()
        return x


def leaves_what_the_plain_call_leaves(method, calls=4):
    """A compiled method and the plain one, on layers of their own, change the same."""
    global TOTAL
    results = []
    for make in (lambda f: f, tg.compile):
        TOTAL = Layer.shared = None
        layer = Layer()
        f, states = make(getattr(layer, method)), []
        for i in range(calls):
            assert_same_bits(f(X + i), X + i)
            states.append(copy.deepcopy([vars(layer), Layer.shared, TOTAL]))
        results.append(states)
    plain, compiled = results
    assert_same_bits(compiled, plain)
    assert list(map(type, flatten(compiled)[0])) == list(map(type, flatten(plain)[0]))
    return f


@pytest.mark.parametrize(
    "method",
    ["averages", "keeps_in_a_dict", "keeps_in_its_class", "keeps_globally", "writes"]
    + ["writes_a_tensor"],
)
def test_stored_arrays(method, monkeypatch):
    monkeypatch.setattr(Layer, "shared", None)
    monkeypatch.setitem(globals(), "TOTAL", None)
    with warnings.catch_warnings(action="error"):
        info = leaves_what_the_plain_call_leaves(method).cache_info()
    assert info.versions == info.traces <= 2 and info.hits >= 2


def test_cells_and_elements_of_lists():
    kept, held = None, [None]

    def f(x):
        nonlocal kept
        kept, held[0] = x * 2.0, x * 3.0
        return x

    made = tg.compile(f)
    for i in range(4):
        made(X + i)
        assert_same_bits(kept, (X + i) * 2.0)
        assert_same_bits(held[0], (X + i) * 3.0)
    assert made.cache_info().traces == 1


@pytest.mark.parametrize("method", ["appends", "replaces_a_number"])
def test_what_is_no_store(method, monkeypatch):
    monkeypatch.setattr(Layer, "shared", None)
    monkeypatch.setitem(globals(), "TOTAL", None)
    with warnings.catch_warnings(action="error"):
        info = leaves_what_the_plain_call_leaves(method).cache_info()
    assert info.versions == 1 and info.traces <= 2 and info.hits >= 2


# -- what no guard can hold ---------------------------------------------------------------------


def stays_eager(f: Callable[[Any], Any], calls: int = 4) -> list[Any]:
    """Results of a compiled function that says once that it runs eagerly."""
    compiled = tg.compile(f)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        results = [compiled(X) for _ in range(calls)]
    assert [w.category for w in seen].count(tg.errors.RecompileWarning) == 1
    return results


def clock_of_a_module(x):
    return x * time.perf_counter()


def clock_by_its_name(x):
    return x * perf_counter()


def date(x):
    return x * datetime.datetime.now().timestamp()


def fresh_generator(x):
    return x * np.random.default_rng().normal()


def fresh_python_generator(x):
    return x * python_random.Random().random()


def unique(x):
    return x * (uuid.uuid4().int % 1000003)


def bytes_of_the_system(x):
    return x * int.from_bytes(os.urandom(4), "big")


@pytest.mark.parametrize(
    "f",
    [
        *(clock_of_a_module, clock_by_its_name, date, fresh_generator, fresh_python_generator),
        *(unique, bytes_of_the_system),
    ],
)
def test_the_world_is_read_on_every_call(f):
    results = stays_eager(f)
    assert len({r.tobytes() for r in results}) == len(results)


def endless():
    n = 0.0
    while True:
        n += 1.0
        yield n


@pytest.mark.parametrize(
    "source",
    [
        lambda: itertools.count(1.0),
        lambda: itertools.cycle([1.0, 2.0, 3.0, 4.0]),
        lambda: endless(),
        lambda: map(float, range(1, 9)),
        lambda: zip(range(1, 9), strict=True),
        lambda: iter([1.0, 2.0, 3.0, 4.0]),
        lambda: iter({1.0: 0, 2.0: 0, 3.0: 0, 4.0: 0}),
    ],
)
def test_iterators(source):
    iterator, twin = source(), source()
    results = stays_eager(lambda x: x * np.sum(next(iterator)))
    for result in results:
        assert_close(result, X * np.sum(next(twin)), 0.0)


def test_files(tmp_path):
    path = tmp_path / "numbers"
    path.write_text("1\n2\n3\n4\n")
    with path.open() as file:
        results = stays_eager(lambda x: x * float(file.readline()))
    for i, result in enumerate(results, 1):
        assert_close(result, X * i, 0.0)
    path.write_text("5")
    assert_close(stays_eager(lambda x: x * float(path.read_text()))[0], X * 5.0, 0.0)


def test_logging(caplog):
    logger = logging.getLogger("of a test")

    def f(x):
        logger.warning("called")
        return x * 2.0

    stays_eager(f, 3)
    assert len(caplog.records) == 3


def test_writing_to_a_stream(capsys):
    def f(x):
        sys.stdout.write("called ")
        return x * 2.0

    stays_eager(f, 3)
    assert capsys.readouterr().out == "called called called "


def test_the_environment_is_a_guard(monkeypatch):
    monkeypatch.setenv("TRACEGRAD_TEST_RATE", "2.0")
    compiled = tg.compile(lambda x: x * float(os.environ["TRACEGRAD_TEST_RATE"]))
    assert_close(compiled(X), X * 2.0, 0.0)
    assert_close(compiled(X), X * 2.0, 0.0)
    assert compiled.cache_info().traces == 1
    monkeypatch.setenv("TRACEGRAD_TEST_RATE", "3.0")
    assert_close(compiled(X), X * 3.0, 0.0)
    monkeypatch.delenv("TRACEGRAD_TEST_RATE")
    with pytest.raises(KeyError):
        compiled(X)


def test_locks_are_no_state():
    lock = threading.Lock()

    def f(x):
        with lock:
            return x * 2.0

    compiled = tg.compile(f)
    for _ in range(3):
        assert_close(compiled(X), X * 2.0, 0.0)
    assert compiled.cache_info().traces == 1


# -- guards that need more than a name ----------------------------------------------------------


def agrees(f: Callable[[Any], Any]) -> Any:
    """A check that a compiled function says what the plain one says now, twice."""
    compiled = tg.compile(f)

    def check() -> None:
        for _ in range(2):
            assert_same_bits(compiled(X), f(X))

    check.cache_info = compiled.cache_info  # type: ignore[attr-defined]
    check()
    return check


def test_imports_inside_functions(monkeypatch):
    module: Any = types.ModuleType("settings_of_a_test")
    module.rate = 2.0
    monkeypatch.setitem(sys.modules, "settings_of_a_test", module)

    def whole(x):
        import settings_of_a_test

        return x * settings_of_a_test.rate

    def part(x):
        from settings_of_a_test import rate

        return x * rate

    checks = [agrees(whole), agrees(part)]
    module.rate = 3.0
    for check in checks:
        check()


def test_bound_methods_of_containers_and_views():
    table = {"k": 2.0}
    get, values = table.get, table.values()
    checks = [agrees(lambda x: x * get("k")), agrees(lambda x: x * sum(values))]
    table["k"] = 3.0
    for check in checks:
        check()
    table["other"] = 1.0
    for check in checks:
        check()


def test_getters_and_copies():
    @dataclass
    class Options:
        rate: float = 2.0
        unread: float = 1.0

    options = Options()
    read = attrgetter("rate")
    checks = [agrees(lambda x: x * read(options)), agrees(lambda x: x * asdict(options)["rate"])]
    checks.append(agrees(lambda x: x * len(repr(options))))
    options.rate = 30.0
    for check in checks:
        check()


def test_caches():
    rate = 2.0

    @functools.lru_cache
    def scaled(k):
        return k * rate

    check = agrees(lambda x: x * scaled(3.0))
    rate = 4.0
    check()
    scaled.cache_clear()
    check()


def test_the_default_dtype():
    check = agrees(lambda x: x * tg.tensor([0.1, 0.2, 0.3]))
    tg.set_default_dtype(tg.float32)
    try:
        check()
    finally:
        tg.set_default_dtype(tg.float64)
    check()


def test_static_arguments_that_are_equal_and_not_the_same():
    class Named:
        def __init__(self, rate):
            self.rate = rate

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 0

    @dataclass(frozen=True)
    class Options:
        rate: Any

    compiled = tg.compile(lambda x, o: x * o.rate)
    for rate in (2.0, 3.0, 2, True):
        for options in (Named(rate), Options(rate), Options(rate)):
            for _ in range(2):
                assert_same_bits(compiled(X, options), X * rate)
    static = tg.compile(lambda x, k: x * k[0], static_argnames="k")
    for k in ((1,), (True,), (1.0,), (2,)):
        for _ in range(2):
            assert_same_bits(static(X > 1.0, k), (X > 1.0) * k[0])
    versions = compiled.cache_info().versions
    compiled(X, Options(2.0))
    assert compiled.cache_info().versions == versions, "equal records share a version"


def test_special_methods_that_appear():
    class Flag:
        value = 2.0

    flag = Flag()
    check = agrees(lambda x: x * flag.value if flag else x)
    Flag.__bool__ = lambda self: False  # type: ignore[attr-defined]
    check()


def test_subclasses_of_containers_and_numbers():
    class Names(list):
        scale = 2.0

        def __getitem__(self, i):
            return super().__getitem__(i) * self.scale

    class Meters(float):
        pass

    names, length = Names([1.0, 2.0]), Meters(2.0)
    length.factor = 3.0  # type: ignore[attr-defined]
    checks = [agrees(lambda x: x * names[1]), agrees(lambda x: x * length.factor)]
    names.scale = 5.0
    length.factor = 7.0  # type: ignore[attr-defined]
    for check in checks:
        check()
    names[1] = 9.0
    checks[0]()


def test_places_that_hold_another_kind_of_thing():
    state = types.SimpleNamespace(w=tg.tensor([1.0, 2.0, 3.0]))

    compiled = tg.compile(lambda x: x * state.w)
    for value in (X, tg.tensor(X), 2.0, np.float32(2.0), X[:1], tg.tensor(2.0)):
        state.w = value
        for _ in range(2):
            expected = X * np.asarray(value.numpy() if isinstance(value, tg.Tensor) else value)
            assert_close(compiled(X), expected, 0.0)
    del state.w
    with pytest.raises(AttributeError):
        compiled(X)


def test_a_guard_says_what_changed():
    layer = Layer()
    made = tg.compile(lambda x: x * layer.calls)
    made(X)
    layer.calls = 7
    assert "layer.calls was 0 and is 7" in str(made._every[0].world.changed())


# -- code that reads arrays ---------------------------------------------------------------------


class Linear:
    def __init__(self):
        self.w, self.b = np.ones((3, 3)), np.zeros(3)

    def __call__(self, x):
        return x @ self.w + self.b


class Network:
    def __init__(self):
        self.layers = [Linear(), Linear()]
        self.options = types.SimpleNamespace(act="tanh", rate=0.1, train=True)
        self.acts = {"tanh": np.tanh, "sin": np.sin}
        self.params = [(np.ones((3, 3)), np.zeros(3)), (np.ones((3, 3)), np.zeros(3))]
        self.table = {"w": np.ones(3), "b": np.zeros(3)}

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if i < len(self.layers) - 1:
                x = self.acts[self.options.act](x)
        return x * self.options.rate if self.options.train else x

    def pairs(self, x):
        for w, b in self.params[:-1]:
            x = np.maximum(x @ w + b, 0.0)
        w, b = self.params[-1]
        return np.sum(x @ w + b) / len(self.params)

    def items(self, x):
        for name, value in self.table.items():
            x = x * value if name == "w" else x + value
        return x

    def looks(self, x):
        y = x * self.table["w"]
        while y.sum() > 1.0:
            y = y * 0.5
        return y if float(y[0]) > 0.1 else -y

    def recurs(self, x):
        h, states = np.zeros(3), []
        for t in range(x.shape[0]):
            h = np.tanh(x[t] * self.table["w"] + h)
            states.append(h)
        return sum(states) + np.stack(states).mean()

    def comprehends(self, x):
        return sum([x @ w for w, _ in self.params]) + max(self.options.rate, 0.0)

    # -- these read an array

    def decides(self, x):
        return x * self.table["w"] if self.table["w"].sum() > 0 else x

    def decides_in_another_function(self, x):
        def positive(a):
            return a[0] > 0

        return x if positive(self.table["w"]) else -x

    def counts(self, x):
        return x * len(self.table["w"])

    def converts(self, x):
        return x * float(self.layers[0].b[0])

    def computes(self, x):
        return x * (self.table["w"] * 2.0)

    def loops(self, x):
        for v in self.table["w"]:
            x = x + v
        return x

    def chooses(self, x):
        return x * max([1.0, 2.0], key=lambda i: self.table["w"][int(i)])

    def shapes(self, x):
        return x.reshape(self.table["w"].shape)

    def searches(self, x):
        return x if 1.0 in self.table["w"] else -x


CLEAN = ("forward", "pairs", "items", "looks", "recurs", "comprehends")
READING = (
    *(
        "decides",
        "decides_in_another_function",
        "counts",
        "converts",
        "computes",
        "loops",
        "chooses",
    ),
    *("shapes", "searches"),
)


@pytest.mark.parametrize("name", READING)
def test_code_that_reads_an_array(name):
    network = Network()
    f = getattr(network, name)
    check = agrees(f)
    for value in (np.array([-1.0, 3.0, 2.0]), np.zeros(3), np.ones(3)):
        network.table["w"][:] = network.layers[0].b[:] = value
        check()


@pytest.mark.parametrize("name", CLEAN)
def test_arrays_are_read_anew(name):
    network = Network()
    check = agrees(getattr(network, name))
    network.table["w"] = network.table["w"] * 1.5
    network.layers[1].w = network.layers[1].w * 0.5
    network.params[0][0][1] = -2.0
    check()
    more = name == "looks"  # whose loop goes round more often
    assert check.cache_info().traces == 1 + more


class Sized:
    """Its special methods read an array."""

    def __init__(self, w):
        self.w = w

    def __len__(self):
        return int(self.w[0])

    def __getitem__(self, i):
        return float(self.w[i])

    def __contains__(self, v):
        return bool(self.w[1] > v)

    def __call__(self, x):
        return x * 2.0 if self.positive else x

    def __enter__(self):
        return float(self.w[1])

    def __exit__(self, *error):
        return None

    @property
    def positive(self):
        return self.w[1] > 0

    @staticmethod
    def sign(a, default=1.0):
        return default if a[1] > 0 else -default

    @classmethod
    def over(cls, a, *rest, **named):
        return cls.sign(a) * len(rest) + named.get("k", 0.0)


def readers(w: Any) -> dict[str, Callable[[Any], Any]]:
    """Functions of x and of what they find in w, by NumPy and Python alone."""
    ws, table, sized = [w, w], {"w": w, 1: 2.0, 2: 3.0}, Sized(w)
    get, w_sum, w_item = table.get, w.sum, w.item
    row, window = (w, (w, 1.0)), collections.deque([w])

    def augmented(x):
        v = w.copy()
        v += 1.0
        return x * float(v[1])

    def unpacked(x):
        a, b, _ = w
        return x * a if b > 0 else x

    def caught(x):
        try:
            return x * [1.0, 2.0, 3.0, 4.0][int(w[0])]
        except IndexError:
            return x

    def looped(x):
        i = 0
        while i < w[0]:
            x, i = x * 2.0, i + 1
        return x

    def asserted(x):
        try:
            assert w[1] > 0
        except AssertionError:
            return -x
        return x

    def matched(x):
        match int(w[0]):
            case 1:
                return x
            case _:
                return -x

    def with_default(x, a=w):
        return x if a[1] > 0 else -x

    def generated(x):
        return sum(x * (1.0 if v > 0 else 2.0) for v in w)

    def entered(x):
        with sized as k:
            return x * k

    def held(x):
        kept = []
        kept.append(w)
        return x if kept[0][1] > 0 else -x

    def stored(x):
        box = types.SimpleNamespace(a=w)
        return x if box.a[1] > 0 else -x

    def made(x):
        return x if Sized(w).positive else -x

    def starred(x):
        return x * (lambda *a: 1.0 if a[0][1] > 0 else 2.0)(*ws)

    def named(x):
        return x * (lambda **k: 1.0 if k["a"][1] > 0 else 2.0)(a=w)

    def nested(x):
        def inner(a, b=None):
            return lambda: (a if b is None else b)[1] > 0

        return x if inner(1.0, b=w)() else -x

    found = [
        augmented, unpacked, caught, looped, asserted, matched, with_default, generated, entered,
        held, stored, made, starred, named, nested,
    ]  # fmt: skip
    lambdas = [
        lambda x: x * (1.0 if w[1] > 0 else 2.0),
        lambda x: x if (w > 0)[1] and True else -x,
        lambda x: x if not w[1] > 0 else -x,
        lambda x: x * table[int(w[0])],
        lambda x: x[: int(w[0])],
        lambda x: x.sum(axis=0) if np.any(w > 2.0) else x.sum(),
        lambda x: x * int(np.argmax(w)),
        lambda x: x * max(w),
        lambda x: x * sum(w),
        lambda x: x * min(w[1], 2.0),
        lambda x: x * sorted(w)[0],
        lambda x: x * w.tolist()[1],
        lambda x: x * w.item(1),
        lambda x: x * len(f"{w[1]}"),
        lambda x: x * len(str(w)),
        lambda x: x * (1 + w.tobytes()[7]),
        lambda x: x if 1.0 in w else -x,
        lambda x: x if 1.0 in w.tolist() else -x,
        lambda x: x if w[1] == 2.0 else -x,
        lambda x: x if row[1][0][1] > 0 else -x,
        lambda x: x if window[0][1] > 0 else -x,
        lambda x: x if ws[-1][1] > 0 else -x,
        lambda x: x if table["w"][1] > 0 else -x,
        lambda x: x if next(iter(table.values()))[1] > 0 else -x,
        lambda x: x if functools.reduce(np.add, ws)[1] > 0 else -x,
        lambda x: x * len(sized),
        lambda x: x if sized else -x,
        lambda x: x * sized[1],
        lambda x: x if 0.0 in sized else -x,
        lambda x: sized(x),
        lambda x: x if sized.positive else -x,
        lambda x: x if get("w")[1] > 0 else -x,
        lambda x: x if w_sum() > 0 else -x,
        lambda x: x * w_item(1),
        lambda x: x * Sized.sign(w),
        lambda x: x * sized.sign(w, default=2.0),
        lambda x: x * Sized.over(w, 1, 2, k=0.5),
        lambda x: x * next(v for v in w if v != 0.0),
        lambda x: x * len([v for v in w if v > 0]),
        lambda x: x * len({float(v) for v in w}),
        lambda x: x * {i: v for i, v in enumerate(w)}[1],
        lambda x: x * list(map(float, w))[1],
        lambda x: x * len(list(filter(lambda v: v > 0, w))),
        lambda x: x * sum(a for a, b in zip(w, w, strict=True) if b > 0),
        lambda x: x * np.where(w > 0, 1.0, 2.0)[1],
        lambda x: np.where(w[1] > 0, x, -x),
        lambda x: x * (w @ w),
        lambda x: x * float(w.mean()),
        lambda x: x[:2].reshape(int(w[0]), -1),
        lambda x: np.repeat(x, w.astype(int) % 3),
        lambda x: x * (abs(w[1]) + round(w[1])),
        lambda x: x * -w[1],
        lambda x: (x, w[1])[0] * (x, w[1])[1],
        lambda x: x if (lambda a: a[1])(w) > 0 else -x,
        lambda x: x if getattr(sized, "w")[1] > 0 else -x,  # noqa: B009
        lambda x: x if vars(sized)["w"][1] > 0 else -x,
        lambda x: x if type(sized)(w).positive else -x,
        lambda x: x if all(v > -5.0 for v in w) else -x,
        lambda x: np.clip(x, w[1], w[1] + 1.0),
        lambda x: x * w.shape[0] * w.size,
        lambda x: np.full(3, w[1]) * x,
        lambda x: x * np.linalg.norm(w),
        lambda x: x if np.array_equal(w, [1.0, 2.0, 3.0]) else -x,
        lambda x: x if w.any() or w[1] else -x,
        lambda x: x * (w[1] if w[0] else 2.0),
        lambda x: np.sum(x, axis=int(w[0]) - 2),
    ]
    return {f"{i}_{f.__name__}": f for i, f in enumerate([*found, *lambdas])}


@pytest.mark.parametrize("name", readers(np.ones(3)))
def test_every_way_to_read_an_array(name):
    w = np.array([1.0, 2.0, 3.0])
    f = readers(w)[name]
    check = agrees(f)
    for values in ([1.0, -2.0, 3.0], [2.0, 1.0, 3.0], [1.0, 2.0, 3.0], [1.0, 0.0, -6.0]):
        w[:] = values
        check()


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int8", "bool", "float16"])
@pytest.mark.parametrize("order", ["C", "F", "strided"])
def test_large_arrays_are_compared_exactly(dtype, order):
    w = np.zeros((200, 400), dtype, order="F" if order == "F" else "C")
    w = w[::2, ::2] if order == "strided" else w
    check = agrees(lambda x: x * float(abs(w).sum()))
    for at in ((0, 0), (50, 100), (99, 199)):
        w[at] = 1
        check()
    if w.dtype.kind == "f":
        w[0, 0] = -0.0
        check()


def test_arrays_of_objects():
    w = np.array([1.0, 2.0, 3.0], dtype=object)
    check = agrees(lambda x: x * float(w[1]))
    w[1] = 5.0
    check()


def test_arrays_that_are_one_object():
    a, b = np.ones(3), np.ones(3)
    t, u = tg.tensor([1.0, 2.0, 3.0]), tg.tensor([1.0, 2.0, 3.0])
    checks = [
        agrees(lambda x: x * a + b if a is b else x * a - b),
        agrees(lambda x: x * t + u if t is u else x * t - u),
        agrees(lambda x: x * a + b if id(a) == id(b) else x * a - b),
    ]
    for _ in range(2):
        a, t = b, u
        for check in checks:
            check()
        b, u = b.copy(), u.clone()
        for check in checks:
            check()


def test_the_array_in_a_tensor():
    t = tg.tensor([1.0, 2.0, 3.0])
    checks = [
        agrees(lambda x: x * t if t.numpy().sum() > 3.0 else -x),
        agrees(lambda x: x * t if t.data[1] > 0.0 else -x),
        agrees(lambda x: x * t if np.asarray(t)[1] > 0.0 else -x),
        agrees(lambda x: x * t if t[1].item() > 0.0 else -x),
        agrees(lambda x: x * t if t.tolist()[1] > 0.0 else -x),
    ]
    for value in (-5.0, 2.0, -1.0):
        t[1] = value
        for check in checks:
            check()
    t = tg.tensor([1.0, -2.0, 3.0])
    for check in checks:
        check()


def test_files_of_numpy(tmp_path):
    path = str(tmp_path / "numbers.npy")
    np.save(path, np.ones(3))
    np_load = np.load
    for f in (lambda x: x * np.load(path), lambda x: x * np_load(path)):
        np.save(path, np.ones(3))
        assert_close(stays_eager(f)[-1], X, 0.0)


def inner_defaults(w):
    def f(x):
        def inner(a=w, *, b=w):
            return a[1] > 0 and b[1] > 0

        return x * w if inner() else -x

    return f


def replaced_fields(w):
    point = stateful_point(1.0, 2.0)

    def f(x):
        return x * w if point._replace(a=w).a[1] > 0 else -x

    return f


stateful_point = collections.namedtuple("stateful_point", ["a", "b"])


@pytest.mark.parametrize("make", [inner_defaults, replaced_fields])
def test_arrays_that_take_a_detour(make):
    w = np.array([1.0, 2.0, 3.0])
    check = agrees(make(w))
    w[1] = -1.0
    check()


def test_what_python_sees_of_a_tensor():
    """Shapes, flags and texts of Tensors from outside, which no operation records."""
    t = tg.tensor([2.0])
    checks = [
        agrees(lambda x: x * np.sum(t) * t.shape[0]),
        agrees(lambda x: x * np.sum(t) * len(t)),
        agrees(lambda x: x * np.sum(t) * sum(1 for _ in t)),
        agrees(lambda x: x * np.sum(t) * np.size(t)),
        agrees(lambda x: x * max(t)),
        agrees(lambda x: x * sorted(t)[0]),
        agrees(lambda x: x * np.sum(t) * len(str(t))),
        agrees(lambda x: x * np.sum(t) * len(f"{t}")),
        agrees(lambda x: x * np.sum(t) if t.requires_grad else x - np.sum(t)),
    ]
    for value in ([4.0, 3.0, 1.0], [0.0, 3.0, 1.25], [5.0], [2.0, 2.0]):
        t = tg.tensor(value)
        for check in checks:
            check()
    t.requires_grad_()
    with tg.no_grad():
        for check in checks:
            check()


def test_parameters_that_are_rebound_are_not_traced_again():
    network = Network()
    network.table["t"] = tg.tensor([1.0, 2.0, 3.0])

    def f(x):
        half = network.options.rate * 0.5 + sum([1.0, 2.0])  # numbers that nobody spells
        return network.items(x) * network.table["t"] + network.forward(x) * half * np.arange(3)

    compiled = tg.compile(f)
    for i in range(4):
        network.layers[0].w = network.layers[0].w * 0.5
        network.table["t"] = network.table["t"] * 0.5
        network.table["w"] = network.table["w"] * 1.01
        assert_same_bits(compiled(X), np.asarray(f(X)), str(i))
    assert compiled.cache_info().traces == 1


# -- state of rarer kinds -----------------------------------------------------------------------


class First:
    k = 2.0

    def scaled(self, x):
        return x * 2.0


class Second:
    k = 3.0

    def scaled(self, x):
        return x * 5.0


def weak_reference():
    state = First()
    reference = weakref.ref(state)
    return lambda x: x * reference().k, lambda: setattr(state, "k", 5.0)


def precision():
    number = decimal.Decimal
    f = lambda x: x * float(number(1) / number(3))
    return f, lambda: setattr(decimal.getcontext(), "prec", 3)


def single_dispatch():
    @functools.singledispatch
    def choose(o, x):
        return x * 2.0

    return lambda x: choose(1, x), lambda: choose.register(int, lambda o, x: x * 7.0)


def arguments_of_an_exception():
    error = ValueError("a")
    return lambda x: x * len(error.args), lambda: setattr(error, "args", (1, 2))


def bases():
    class Kid(First):
        pass

    kid = Kid()
    return lambda x: kid.scaled(x) * kid.k, lambda: setattr(Kid, "__bases__", (Second,))


def bases_behind_super():
    class Kid(First):
        def scaled(self, x):
            return super().scaled(x) + 1.0

    kid = Kid()
    return lambda x: kid.scaled(x), lambda: setattr(Kid, "__bases__", (Second,))


def attributes_of_functions():
    def f(x):
        return x * f.k + f.w

    f.k, f.w = 2.0, np.ones(3)
    return f, lambda: (setattr(f, "k", 3.0), setattr(f, "w", np.zeros(3)))


def a_builtin_shadowed():
    scope: dict[str, Any] = {}
    exec("def f(x):\n    return x * abs(-2.0)", scope)
    return scope["f"], lambda: scope.update(abs=lambda v: 7.0)


def a_class_behind_its_instance():
    class Net:
        k = 2.0

        @classmethod
        def scaled(cls, x):
            return x * cls.k

    net = Net()
    net.k = 9.0
    return lambda x: net.scaled(x) + net.k, lambda: setattr(Net, "k", 3.0)


def context_variable():
    variable = contextvars.ContextVar("of_a_test", default=2.0)
    return lambda x: x * variable.get(), lambda: variable.set(5.0)


def thread_local():
    state = threading.local()
    state.k = 2.0
    return lambda x: x * state.k, lambda: setattr(state, "k", 3.0)


def user_dict():
    table = collections.UserDict(a=2.0)
    return lambda x: x * table["a"], lambda: table.update(a=3.0)


def proxy():
    table = {"a": 2.0}
    shown = types.MappingProxyType(table)
    return lambda x: x * shown["a"], lambda: table.update(a=3.0)


def bytes_that_change():
    data = bytearray(b"ab")
    return lambda x: x * data[0], lambda: data.reverse()


def structured_array():
    table = np.zeros(2, dtype=[("a", "f8"), ("b", "i4")])
    return lambda x: x + float(table["a"][0]), lambda: table["a"].fill(2.0)


def view_of_an_array():
    whole = np.ones((3, 3))
    view = whole[1]
    return lambda x: x * view if view.sum() > 4.0 else -x, lambda: whole.fill(2.0)


def method_with_part():
    state = types.SimpleNamespace(k=2.0)

    class Net:
        scaled = functools.partialmethod(lambda self, x, k: x * k * state.k, k=2.0)

    net = Net()
    return lambda x: net.scaled(x), lambda: setattr(state, "k", 3.0)


def namespace_of_its_own():
    scope: dict[str, Any] = {"k": 2.0}
    exec("def f(x):\n    return x * k", scope)
    return scope["f"], lambda: scope.update(k=7.0)


@pytest.mark.parametrize(
    "make",
    [
        *(weak_reference, precision, single_dispatch, arguments_of_an_exception, bases),
        *(bases_behind_super, attributes_of_functions, a_builtin_shadowed, context_variable),
        *(thread_local, user_dict, proxy, bytes_that_change, structured_array, view_of_an_array),
        *(method_with_part, namespace_of_its_own, a_class_behind_its_instance),
    ],
)
def test_rarer_state(make):
    f, edit = make()
    with warnings.catch_warnings(), decimal.localcontext():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        check = agrees(f)
        before = f(X)
        edit()
        assert not np.array_equal(before, f(X)), "the edit changes the result"
        check()


def test_a_generator_with_a_seed_is_the_same_on_every_call():
    def f(x):
        return tg.sum(x * np.random.default_rng(3).normal(size=3))

    def anew(x):
        return tg.sum(x * np.random.default_rng().normal(size=3))

    made = tg.grad(f)
    for _ in range(3):
        assert_same_bits(made(np.ones(3)), np.random.default_rng(3).normal(size=3))
    assert made.cache_info() == (2, 1, 1, 1)
    with pytest.warns(tg.errors.RecompileWarning, match=r"default_rng\(\)"):
        eager = tg.grad(anew)
        draws = [eager(np.ones(3)) for _ in range(3)]
    assert len({d.tobytes() for d in draws}) == 3


# -- floating-point errors ----------------------------------------------------------------------


def raises_and_catches(x):
    try:
        with np.errstate(divide="raise", invalid="raise"):
            return np.log(x).sum()
    except FloatingPointError:
        return (x * x).sum()


def sets_what_numpy_does(x):
    np.seterr(under="warn" if np.geterr()["under"] == "ignore" else "ignore")
    return np.exp(x).sum()


@pytest.mark.parametrize("first", [X, -X])
@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad])
def test_errors_raised_inside_a_function_are_its_own(transform, first):
    f = transform(raises_and_catches)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        for x in (first, X, -X, 0.0 * X, X):
            value = f(x) if transform is tg.compile else f(x)[0]
            assert_same_bits(value, raises_and_catches(x))


def test_setting_what_numpy_does_about_errors_is_an_effect():
    f = tg.compile(sets_what_numpy_does)
    with np.errstate(), pytest.warns(tg.errors.RecompileWarning, match="geterr"):
        modes = [(f(X), np.geterr()["under"])[1] for _ in range(4)]
    assert modes == ["warn", "ignore"] * 2


def test_errors_that_the_caller_wants_raised_spare_what_the_function_ignores():
    def f(x):
        with np.errstate(all="ignore"):
            return np.where(x > 0, np.log(x), 0.0).sum()

    compiled = tg.compile(f)
    expected = [f(X), f(-X)]
    with warnings.catch_warnings(action="error"):
        for _ in range(2):
            assert_same_bits([compiled(X), compiled(-X)], expected)
    with np.errstate(all="raise"):
        for _ in range(2):
            assert_same_bits([compiled(X), compiled(-X)], expected)
        with pytest.raises(FloatingPointError, match="log"):
            tg.compile(lambda x: np.log(x).sum())(-X)


@pytest.mark.parametrize("settings", [np.errstate(all="raise"), warnings.catch_warnings()])
def test_a_program_that_such_an_error_ends_gives_its_draws_back(settings):
    def drawing(generator):
        def f(x):
            noise = generator.normal(size=3)
            try:
                return np.log(x) + noise
            except (FloatingPointError, RuntimeWarning):
                return x - noise

        return f

    compiled, eager = (drawing(tg.random.Generator(0)) for _ in range(2))
    compiled = tg.compile(compiled)
    with settings:
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        for x in (X, X, -X, X, -X, X):
            assert_same_bits(compiled(x), eager(tg.tensor(x)).numpy())
