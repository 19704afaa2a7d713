"""Python state that a function reads enters; a compiled call never returns what it was before.

Every test compares a compiled callable with the plain function, called at the same moment.
"""

from __future__ import annotations

import math
import random as python_random
import types
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits

import tracegrad as tg
from tracegrad.errors import RecompileWarning

X = np.array([1.0, 2.0, 3.0])

SCALE: Any = 2.0
TABLE: Any = {"a": 1.0, "nested": {"list": [1.0, 2.0]}}
ARRAY: Any = np.array([1.0, 10.0, 100.0])


def helper(x):
    return x * SCALE


def watch(f: Callable[..., Any], *args: Any) -> tuple[Any, Callable[[], None]]:
    """A compiled `f` and a check that it, and its gradient, say what `f` says now."""
    compiled = tg.compile(f)
    gradient = tg.value_and_grad(lambda *args: np.sum(f(*args)))
    args = args or (X,)

    def agree() -> None:
        for _ in range(2):
            expected = f(*args)
            assert_same_bits(compiled(*args), expected)
            value, slope = gradient(*args)
            assert_close(value, np.sum(expected), 1e-13)
            h = 1e-6
            ends = [np.sum(f(args[0] + s * h, *args[1:])) for s in (1.0, -1.0)]
            assert_close(np.sum(slope), (ends[0] - ends[1]) / (2.0 * h), 1e-6, atol=1e-7)

    agree()
    return compiled, agree


@pytest.fixture(autouse=True)
def module_state(monkeypatch):
    """Globals of this module are what they were after each test."""
    for name in ("SCALE", "TABLE", "ARRAY", "helper"):
        monkeypatch.setitem(globals(), name, globals()[name])
    monkeypatch.setitem(globals(), "TABLE", {"a": 1.0, "nested": {"list": [1.0, 2.0]}})
    monkeypatch.setitem(globals(), "ARRAY", np.array([1.0, 10.0, 100.0]))


# -- globals, cells, defaults -------------------------------------------------------------------


def test_a_global_number():
    global SCALE
    compiled, agree = watch(lambda x: x * SCALE)
    for value in (3.0, 3, True, -0.0, 0.0, np.float32(2.5), 1e300, 2.0):
        SCALE = value
        agree()
    assert compiled.cache_info().versions <= 10


def test_a_global_read_by_a_function_that_is_called():
    global SCALE
    _, agree = watch(lambda x: helper(x) + 1.0)
    SCALE = 5.0
    agree()


def test_a_function_replaced():
    global helper
    _, agree = watch(lambda x: helper(x) + 1.0)
    before = helper
    helper = lambda x: x**2
    agree()
    helper = before
    agree()


def test_the_code_of_a_function_replaced():
    def inner(x):
        return x * 2.0

    _, agree = watch(lambda x: inner(x) + 1.0)
    inner.__code__ = (lambda x: x * 7.0).__code__
    agree()


def test_defaults_replaced():
    def f(x, a=2.0, *, b=3.0):
        return x * a + b

    _, agree = watch(lambda x: f(x))
    f.__defaults__ = (5.0,)
    agree()
    f.__kwdefaults__["b"] = 7.0
    agree()
    f.__kwdefaults__ = {"b": 9.0}
    agree()


def test_own_defaults_replaced():
    def f(x, a=2.0):
        return x * a

    compiled = tg.compile(f)
    assert_close(compiled(X), 2.0 * X, 0.0)
    assert_close(compiled(X, 3.0), 3.0 * X, 0.0)


def test_closure_cells():
    a, label = 2.0, "up"

    def f(x):
        return x * a if label == "up" else x / a

    _, agree = watch(f)
    a = 3.0
    agree()
    label = "down"
    agree()
    a = 5
    agree()


def test_a_cell_bound_later():
    def f(x):
        try:
            return x * late
        except NameError:
            return x

    _, agree = watch(f)
    late = 4.0
    agree()
    del late
    agree()


def test_a_global_bound_later():
    def f(x):
        return x * APPEARS if "APPEARS" in globals() else x  # noqa: F821

    _, agree = watch(f)
    globals()["APPEARS"] = 3.0
    try:
        agree()
        globals()["APPEARS"] = 4.0
        agree()
    finally:
        del globals()["APPEARS"]
    agree()


def test_nested_functions_and_comprehensions():
    a = [1.0, 2.0]

    def f(x):
        def inner(y):
            return sum(y * v for v in a)

        return inner(x) + sum([x * v for v in a])

    _, agree = watch(f)
    a[1] = 5.0
    agree()
    a.append(7.0)
    agree()
    a = [3.0]
    agree()


# -- attributes ---------------------------------------------------------------------------------


class Base:
    shared = 1.5

    def scale(self, x):
        return x * self.shared


class Layer(Base):
    def __init__(self):
        self.w = 2.0
        self.options = {"bias": 1.0}
        self.mode = "train"
        self.inner = types.SimpleNamespace(depth=1.0)

    @property
    def doubled(self):
        return self.w * 2.0

    def __call__(self, x):
        y = self.scale(x) * self.doubled + self.options["bias"]
        return y if self.mode == "train" else y * self.inner.depth


@pytest.mark.parametrize(
    "edit",
    [
        lambda layer: setattr(layer, "w", 3.0),
        lambda layer: layer.options.update(bias=7.0),
        lambda layer: setattr(layer, "options", {"bias": 8.0}),
        lambda layer: setattr(layer, "mode", "eval"),
        lambda layer: setattr(layer.inner, "depth", 4.0),
        lambda layer: setattr(layer, "inner", types.SimpleNamespace(depth=6.0)),
        lambda layer: setattr(layer, "shared", 9.0),
        lambda layer: setattr(layer, "scale", lambda x: x * 11.0),
    ],
)
def test_instances(edit):
    layer = Layer()
    _, agree = watch(lambda x: layer(x))
    _, agree_itself = watch(layer)
    _, agree_method = watch(layer.__call__)
    layer.mode = "eval"
    agree()
    edit(layer)
    agree()
    agree_itself()
    agree_method()
    layer = Layer()
    agree()


@pytest.mark.parametrize(
    ("cls", "name", "value"),
    [
        (Base, "shared", 4.0),
        (Layer, "shared", 5.0),
        (Base, "scale", lambda self, x: x * 3.0),
        (Layer, "scale", lambda self, x: x * 4.0),
        (Layer, "doubled", property(lambda self: self.w * 20.0)),
        (Layer, "__call__", lambda self, x: x + self.w),
    ],
)
def test_classes(cls, name, value):
    layer = Layer()
    _, agree = watch(lambda x: layer(x))
    _, agree_itself = watch(layer)
    before = cls.__dict__.get(name)
    setattr(cls, name, value)
    try:
        agree()
        agree_itself()
    finally:
        if before is None:
            delattr(cls, name)
        else:
            setattr(cls, name, before)
    agree()
    agree_itself()


def test_the_class_of_an_instance():
    class Other(Layer):
        def scale(self, x):
            return -x

    layer = Layer()
    _, agree = watch(lambda x: layer(x))
    layer.__class__ = Other
    agree()


def test_attributes_of_modules():
    module = types.ModuleType("settings_of_a_test")
    module.rate = 2.0
    module.nested = types.SimpleNamespace(rate=3.0)
    _, agree = watch(lambda x: x * module.rate + module.nested.rate)
    module.rate = 4.0
    agree()
    module.nested.rate = 5.0
    agree()
    module.nested = types.SimpleNamespace(rate=6.0)
    agree()


def test_slots_and_cached_values():
    class Slotted:
        __slots__ = ("a",)

    s = Slotted()
    s.a = 2.0
    _, agree = watch(lambda x: x * s.a)
    s.a = 3.0
    agree()


def test_attributes_by_name():
    state = types.SimpleNamespace(a=1.0, b=2.0)
    which = "a"
    _, agree = watch(lambda x: x * getattr(state, which))
    which = "b"
    agree()


def test_static_objects_among_the_arguments():
    class Settings:
        def __init__(self):
            self.rate = 2.0

    settings = Settings()

    def f(x, settings):
        return x * settings.rate

    _, agree = watch(f, X, settings)
    settings.rate = 5.0
    agree()
    settings.rate = 6.0
    agree()


def test_partials():
    options = {"k": 2.0}
    f = partial(lambda x, options: x * options["k"], options=options)
    _, agree = watch(lambda x: f(x))
    options["k"] = 3.0
    agree()
    f = partial(lambda x, k: x * k, k=5.0)
    agree()


# -- containers ---------------------------------------------------------------------------------


def test_containers():
    _, agree = watch(lambda x: x * TABLE["a"] + sum(TABLE["nested"]["list"]))
    TABLE["a"] = 4.0
    agree()
    TABLE["nested"]["list"][0] = 9.0
    agree()
    TABLE["nested"]["list"].append(3.0)
    agree()
    TABLE["nested"]["list"].reverse()
    agree()
    TABLE["nested"] = {"list": (1.0,)}
    agree()


def test_a_key_that_appears():
    table: dict[str, float] = {}
    _, agree = watch(lambda x: x * table.get("k", 2.0))
    table["k"] = 5.0
    agree()
    del table["k"]
    agree()


def test_the_order_of_a_dict():
    table = {"a": 1.0, "b": 2.0}

    def f(x):
        y = x
        for i, value in enumerate(table.values()):
            y = y + i * value
        return y

    _, agree = watch(f)
    table["a"] = table.pop("a")
    agree()


def test_sets():
    names = {"relu"}
    _, agree = watch(lambda x: x * 2.0 if "double" in names else x)
    names.add("double")
    agree()
    names.remove("double")
    agree()


def test_large_containers():
    big = [float(i) for i in range(500)]
    _, agree = watch(lambda x: x * big[3] + big[400])
    big[3] = -1.0
    agree()
    big[400] = -5.0
    agree()


def test_dispatch_tables():
    table = {"f": np.sin, "g": lambda x: x * 2.0}
    which = "f"
    _, agree = watch(lambda x: table[which](x))
    which = "g"
    agree()
    table["g"] = lambda x: x * 3.0
    agree()
    table["f"], which = np.cos, "f"
    agree()


# -- arrays -------------------------------------------------------------------------------------


def test_arrays_are_read_where_they_stand():
    """Rebound or written to: nothing is traced again."""
    global ARRAY
    compiled, agree = watch(lambda x: x * ARRAY)
    traces = compiled.cache_info().traces
    ARRAY = np.array([5.0, 6.0, 7.0])
    agree()
    ARRAY[1] = -1.0
    agree()
    ARRAY *= 2.0
    agree()
    assert compiled.cache_info().traces == traces


def test_arrays_in_cells_attributes_and_containers():
    w, state, table = np.ones(3), types.SimpleNamespace(w=np.ones(3)), {"w": [np.ones(3)]}
    _, agree = watch(lambda x: x * w + state.w * 2.0 + table["w"][0] * 3.0)
    for value in (2.0, 3.0):
        w = np.full(3, value)
        agree()
        state.w = np.full(3, value)
        agree()
        table["w"][0] = np.full(3, value)
        agree()
        w[0] = state.w[1] = table["w"][0][2] = 50.0
        agree()


def test_arrays_of_another_dtype_or_rank():
    global ARRAY
    _, agree = watch(lambda x: x * ARRAY)
    for value in (
        np.arange(3),
        np.float32([1, 2, 3]),
        np.array(2.0),
        3.0,
        np.ones((2, 3)),
        np.ones(1),
        np.array([True, False, True]),
    ):
        ARRAY = value
        agree()


def test_an_array_under_two_names():
    a = np.ones(3)
    b = a
    _, agree = watch(lambda x: x * a + b)
    a = np.full(3, 2.0)
    agree()
    b = a
    agree()
    b[0] = 9.0
    agree()


def test_arrays_made_by_numpy_on_the_way():
    data = np.arange(6.0).reshape(3, 2)
    factor = 2.0
    _, agree = watch(lambda x: x * (data[:, 0] * factor + np.sum(data)))
    data[1, 0] = 50.0
    agree()
    data = data * 3.0
    agree()
    factor = 4.0
    agree()


def test_views_and_numbers_of_arrays():
    data = np.arange(3.0)
    view = data[1:]
    _, agree = watch(lambda x: x * float(view[0]) + view.sum() + (1.0 if data[2] > 1.0 else 0.0))
    data[1] = 30.0
    agree()
    view[1] = -5.0
    agree()


def test_looks_at_captured_arrays():
    mask = np.array([True, False, True])
    _, agree = watch(lambda x: x[mask] * 2.0)
    mask[1] = True
    agree()
    mask[:] = False
    agree()


def test_indices_from_outside():
    index = 0
    indices = np.array([0, 2])
    _, agree = watch(lambda x: x[index] * x[indices])
    index = 2
    agree()
    indices[0] = 1
    agree()
    indices = np.array([1, 1, 1])
    agree()


def test_tensors_from_outside():
    w = tg.tensor([1.0, 2.0, 3.0])
    f = lambda x: x * w
    compiled = tg.compile(f)
    for edit in (lambda: None, lambda: w.__setitem__(0, 5.0), lambda: w.__setitem__(1, -1.0)):
        edit()
        for _ in range(2):
            assert_close(compiled(X), X * w.numpy(), 0.0)
    w = tg.tensor([7.0, 7.0, 7.0])
    assert_close(compiled(X), 7.0 * X, 0.0)


def test_arrays_of_objects_that_come_and_go():
    """Identity is not confused with that of an object that took its place in memory."""
    global ARRAY
    compiled = tg.compile(lambda x: x + ARRAY)
    for i in range(50):
        ARRAY = None
        ARRAY = np.full(3, float(i))
        assert_close(compiled(X), X + i, 0.0)


def test_first_arguments_are_not_kept_alive():
    import gc
    import weakref

    made = tg.grad(lambda p, y: np.sum(p["w"] * y))
    w, y = np.ones(1000), np.ones(1000)
    refs = [weakref.ref(w), weakref.ref(y)]
    made({"w": w}, y)
    made({"w": w}, y)
    del w, y
    gc.collect()
    assert [r() is None for r in refs] == [True, True]


# -- effects ------------------------------------------------------------------------------------


@contextmanager
def no_warning():
    """What happens inside is compiled, or at least not said."""
    with warnings.catch_warnings(action="error"):
        yield


@contextmanager
def one_warning(match: str = ""):
    """RecompileWarning is said exactly once."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        yield
    found = [str(w.message) for w in seen if w.category is RecompileWarning]
    assert len(found) == 1, found
    assert match in found[0], found[0]


class Counter:
    def __init__(self):
        self.n = 0
        self.log: list[Any] = []
        self.mean = 0.0

    def count(self, x):
        self.n += 1
        return np.sum(x * self.n)

    def note(self, x):
        self.log.append(len(self.log))
        return np.sum(x * len(self.log))

    def average(self, x):
        self.mean = self.mean * 0.5 + 1.0
        return np.sum(x) * self.mean


@pytest.mark.parametrize("name", ["note"])
@pytest.mark.parametrize("transform", [tg.compile, tg.grad, tg.value_and_grad])
def test_effects_keep_a_function_eager_and_nothing_is_lost(name, transform):
    mine, twin = Counter(), Counter()
    made = transform(lambda x: getattr(mine, name)(x) if False else BOUND[name](mine, x))
    plain = lambda x: BOUND[name](twin, x)
    with one_warning():
        for i in range(6):
            found, expected = made(X), plain(X)
            value = found[0] if transform is tg.value_and_grad else found
            if transform is not tg.grad:
                assert_close(value, expected, 1e-15)
            else:
                assert_close(value, np.full(3, (expected / X.sum())), 1e-15)
            assert (mine.n, mine.log, mine.mean) == (twin.n, twin.log, twin.mean), i


@pytest.mark.parametrize("transform", [tg.compile, tg.grad, tg.value_and_grad])
def test_floats_that_a_function_keeps_are_stored(transform):
    mine, twin = Counter(), Counter()
    made = transform(mine.average)
    with warnings.catch_warnings(action="error"):
        for i in range(6):
            found, expected = made(X), twin.average(X)
            value = found[0] if transform is tg.value_and_grad else found
            if transform is tg.grad:
                expected = np.full(3, expected / X.sum())
            assert_close(value, expected, 1e-15)
            assert mine.mean == twin.mean and type(mine.mean) is float, i
    assert made.cache_info().versions == 1


BOUND = {"count": Counter.count, "note": Counter.note}


def test_effects_on_methods():
    counter = Counter()
    made = tg.grad(counter.count)
    with no_warning():
        for i in range(1, 6):
            assert_close(made(X), np.full(3, float(i)), 0.0)
    assert counter.n == 5


def test_global_counters():
    global SCALE

    def f(x):
        global SCALE
        SCALE += 1.0
        return x * SCALE

    SCALE = 0.0
    made = tg.compile(f)
    with no_warning():
        for i in range(1, 6):
            assert_close(made(X), X * i, 0.0)
    assert SCALE == 5.0 and made.cache_info().hits == 4


def test_nonlocal_counters():
    n = 0

    def f(x):
        nonlocal n
        n += 1
        return x * n

    made = tg.compile(f)
    with no_warning():
        for i in range(1, 6):
            assert_close(made(X), X * i, 0.0)


def test_printing(capsys):
    def f(x):
        print("called")
        return x * 2.0

    made = tg.compile(f)
    with no_warning():
        for _ in range(5):
            assert_close(made(X), 2.0 * X, 0.0)
    assert capsys.readouterr().out == "called\n" * 5 and made.cache_info().hits == 4


def test_printing_in_a_helper(capsys):
    def show(x):
        print("called")
        return x

    made = tg.grad(lambda x: np.sum(show(x) * 2.0))
    with no_warning():
        for _ in range(4):
            made(X)
    assert capsys.readouterr().out == "called\n" * 4


def test_arrays_written_to():
    buffer = np.zeros(3)

    def f(x):
        buffer[0] += 1.0
        return x * buffer[0]

    made = tg.compile(f)
    for i in range(1, 6):
        assert_close(made(X), X * i, 0.0)
    assert buffer[0] == 5.0


def test_items_of_containers_written():
    seen: dict[str, Any] = {"n": 0}

    def f(x):
        seen["n"] = seen["n"] + 1
        return x * seen["n"]

    made = tg.compile(f)
    with no_warning():
        for i in range(1, 6):
            assert_close(made(X), X * i, 0.0)
    assert seen == {"n": 5}


def test_a_cache_that_is_filled_once_is_no_effect():
    cache: dict[int, float] = {}

    def f(x):
        if 1 not in cache:
            cache[1] = 3.0
        return x * cache[1]

    made = tg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(6):
            assert_close(made(X), 3.0 * X, 0.0)
    assert made.cache_info().versions == 2  # one fills it, one finds it filled


def test_objects_of_its_own_are_no_effect():
    class Box:
        def __init__(self, value):
            self.value = value

    def f(x):
        boxes = []
        for i in range(3):
            boxes.append(Box(x * i))
        boxes[0].value = x
        table = {}
        table["sum"] = sum(b.value for b in boxes)
        return table["sum"]

    made = tg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(5):
            assert_close(made(X), 4.0 * X, 0.0)
    assert made.cache_info().traces == 1


def test_iterators_are_consumed_on_every_call():
    source = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])

    def f(x):
        return x * next(source)

    made = tg.compile(f)
    for i in range(1, 5):
        assert_close(made(X), X * i, 0.0)


# -- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "draw",
    [np.random.rand, python_random.random, lambda: np.random.normal(size=3)],
    ids=["numpy", "python", "array"],
)
def test_global_random_state(draw):
    def seed():
        np.random.seed(5)
        python_random.seed(5)

    compiled = tg.compile(lambda x: x * draw())
    seed()
    with pytest.warns(RecompileWarning, match="global random state") as seen:
        drawn = [compiled(X) for _ in range(4)]
    seed()
    assert len(seen) == 1 and compiled.cache_info().versions == 0
    assert_same_bits(drawn, [X * draw() for _ in range(4)])


def test_setting_the_global_seed_is_an_effect():
    def f(x):
        np.random.seed(0)
        return x * np.random.rand()

    compiled = tg.compile(f)
    with pytest.warns(RecompileWarning, match="numpy.random.seed"):
        for _ in range(3):
            np.random.seed(1)
            assert_same_bits([compiled(X), np.random.rand()], [f(X), np.random.rand()])


def test_generators_of_the_users_own():
    """A NumPy generator moves while tracing: never the same draw twice."""
    generator = np.random.default_rng(0)
    twin = np.random.default_rng(0)

    def f(x):
        return x * generator.normal()

    made = tg.compile(f)
    with pytest.warns(RecompileWarning, match="generator"):
        for _ in range(5):
            assert_close(made(X), X * twin.normal(), 0.0)


# -- a fuzzer -----------------------------------------------------------------------------------


class World:
    """State of every kind, and random edits of it."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.number: Any = 1.0
        self.flag = True
        self.word = "a"
        self.items: list[Any] = [1.0, 2.0]
        self.table: dict[str, Any] = {"a": 1.0, "b": {"deep": 2.0}}
        self.array: Any = self.random.normal(size=3)
        self.other: Any = self.array
        self.layer = Layer()
        self.layers = [Layer(), Layer()]
        self.function: Callable[[Any], Any] = lambda x: x * 2.0
        self.chosen = (1.0, (2.0, "x"))
        self.names = {"a"}

    def value(self) -> float:
        return float(np.round(self.random.normal(), 2))

    def edit(self) -> str:
        """One random change; its name."""
        edits = [name for name in dir(self) if name.startswith("edit_")]
        name = str(self.random.choice(edits))
        getattr(self, name)()
        return name

    def edit_number(self):
        choices = [self.value(), int(self.random.integers(1, 4)), np.float32(1.5), True, 2.0, 2]
        self.number = choices[self.random.integers(len(choices))]

    def edit_flag(self):
        self.flag = not self.flag

    def edit_word(self):
        self.word = str(self.random.choice(["a", "b"]))

    def edit_item(self):
        self.items[self.random.integers(len(self.items))] = self.value()

    def edit_items(self):
        if self.random.random() < 0.5 and len(self.items) > 1:
            self.items.pop()
        else:
            self.items.append(self.value())

    def edit_items_rebound(self):
        self.items = list(self.items) if self.random.random() < 0.5 else [self.value()]

    def edit_table(self):
        self.table[str(self.random.choice(["a", "c"]))] = self.value()

    def edit_deep(self):
        self.table["b"]["deep"] = self.value()

    def edit_deep_rebound(self):
        self.table["b"] = {"deep": self.value()}

    def edit_key_removed(self):
        self.table.pop("c", None)

    def edit_array_written(self):
        self.array[self.random.integers(3)] = self.value()

    def edit_array_rebound(self):
        self.array = self.random.normal(size=3)

    def edit_array_shared(self):
        self.other = self.array if self.random.random() < 0.5 else self.array.copy()

    def edit_array_dtype(self):
        self.other = self.array.astype(str(self.random.choice(["float32", "float64"])))

    def edit_layer(self):
        self.layer.w = self.value()

    def edit_layer_mode(self):
        self.layer.mode = str(self.random.choice(["train", "eval"]))

    def edit_layer_rebound(self):
        self.layer = Layer()

    def edit_layer_bias(self):
        self.layers[self.random.integers(2)].options["bias"] = self.value()

    def edit_layers(self):
        self.layers[0], self.layers[1] = self.layers[1], self.layers[0]

    def edit_class(self):
        Base.shared = self.value()

    def edit_instance_over_class(self):
        self.layers[0].shared = self.value()

    def edit_function(self):
        k = self.value()
        choices = [lambda x: x * k, lambda x: x + self.number, np.sin, self.layer, helper]
        self.function = choices[self.random.integers(len(choices))]

    def edit_global(self):
        global SCALE
        SCALE = self.value()

    def edit_chosen(self):
        self.chosen = (self.value(), (self.value(), str(self.random.choice(["x", "y"]))))

    def edit_names(self):
        self.names ^= {"b"}


def programs_of(world: World) -> dict[str, Callable[[Any], Any]]:
    """Functions that read the world in different ways."""

    def numbers(x):
        y = x * world.number
        return y if world.flag else y + len(world.word)

    def containers(x):
        return x * sum(world.items) + world.table["a"] * world.table["b"]["deep"]

    def keys(x):
        return x * world.table.get("c", 0.5) if "b" in world.names else x * len(world.items)

    def arrays(x):
        return x * world.array + world.other

    def made_on_the_way(x):
        return x * (world.array[::-1] * 2.0) + np.sum(world.other)

    def layers(x):
        for layer in world.layers:
            x = layer(x)
        return world.layer(x)

    def functions(x):
        return helper(world.function(x)) + world.chosen[1][0]

    def branches(x):
        if world.word == "a" and world.chosen[1][1] == "x":
            return x * world.chosen[0]
        return x - world.array if world.flag else x * world.layer.doubled

    found = [numbers, containers, keys, arrays, made_on_the_way, layers, functions, branches]
    return {f.__name__: f for f in found}


@pytest.mark.parametrize("name", programs_of(World(0)))
@pytest.mark.parametrize("seed", [1, 2])
def test_random_edits(name, seed, monkeypatch):
    """After every edit of the state the compiled function says what the plain one says."""
    monkeypatch.setattr(Base, "shared", Base.shared)
    monkeypatch.setattr(tg.config, "versions", 1000)
    world = World(seed)
    f = programs_of(world)[name]
    compiled = tg.compile(f)
    gradient = tg.grad(lambda x: np.sum(f(x) * X))
    history = []
    for step in range(60):
        history.append(world.edit())
        x = X + world.value()
        assert_same_bits(compiled(x), f(x), f"step {step}: {history[-3:]}")
        if step % 3 == 0:
            h = 1e-6
            expected = (np.sum(f(x + h) * X) - np.sum(f(x - h) * X)) / (2.0 * h)
            found = np.sum(gradient(x))
            assert math.isclose(found, expected, rel_tol=1e-5, abs_tol=1e-5), history[-3:]
