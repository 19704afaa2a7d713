"""Functions that change containers among their arguments: later calls have them as objects.

Each program is called several times with the caller's own containers, plain and compiled; the
results, what the containers hold afterwards and the number of traces are compared.
"""

from __future__ import annotations

import copy
import sys
import time
import warnings
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg
from tracegrad.errors import ArgumentError, GradientError

X = np.array([0.5, -1.25, 2.0])
PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]], int]] = {}


def program(make: Callable[[], tuple[Any, ...]], traces: int = 2) -> Any:
    """What is called with the containers and then an array; how many traces it may need."""

    def enter(function: Callable[..., Any]) -> Any:
        PROGRAMS[function.__name__] = function, make, traces
        return function

    return enter


def parameters() -> dict[str, Any]:
    return {"w": np.arange(3.0), "b": np.ones(3)}


def moments() -> dict[str, Any]:
    zeros = {name: np.zeros(3) for name in ("w", "b")}
    return {"t": 0, "m": dict(zeros), "v": dict(zeros)}


def loss(p, x):
    return np.sum((p["w"] * x + p["b"]) ** 2)


@program(lambda: (parameters(),))
def descent(p, x):
    g = tg.grad(loss)(p, x)
    for k in p:
        p[k] = p[k] - 0.01 * g[k]
    return loss(p, x)


@program(lambda: (parameters(),))
def descent_that_returns(p, x):
    g = tg.grad(loss)(p, x)
    for k in p:
        p[k] = p[k] - 0.01 * g[k]
    return p


@program(lambda: (parameters(), moments()), traces=3)
def adam(p, s, x):
    value, g = tg.value_and_grad(loss)(p, x)
    s["t"] += 1
    for k in p:
        s["m"][k] = 0.9 * s["m"][k] + 0.1 * g[k]
        s["v"][k] = 0.99 * s["v"][k] + 0.01 * g[k] ** 2
        m, v = s["m"][k] / (1 - 0.9 ** s["t"]), s["v"][k] / (1 - 0.99 ** s["t"])
        p[k] = p[k] - 0.1 * m / (np.sqrt(v) + 1e-8)
    return value


@program(lambda: ([np.ones(3), X.copy()], []))
def list_and_history(layers, history, x):
    for i, w in enumerate(layers):
        layers[i] = w - 0.01 * x * w
    total = sum(np.sum(w) for w in layers)
    history.append(total)
    return total


@dataclass
class State:
    rate: float = 1.0
    w: Any = field(default_factory=lambda: np.ones(3))
    calls: int = 0


@program(lambda: (State(),), traces=3)
def dataclass_fields(s, x):
    s.rate = s.rate * 0.9
    s.w = s.w + s.rate * x
    s.calls += 1
    return s.w.sum() * s.calls


@program(lambda: ({"log": [], "p": parameters()},))
def nested(s, x):
    s["log"].append(x.sum())
    s["p"]["w"] = s["p"]["w"] * 0.5 + x
    return s["p"]["w"].sum()


@program(lambda: ((parameters(), [0.0]),), traces=3)
def within_a_tuple(s, x):
    p, total = s
    p["w"] = p["w"] + x
    total[0] = total[0] + x.sum()
    return total[0]


@program(lambda: ({"a": 3.0},), traces=3)
def removes_and_adds(s, x):
    first = s.pop("a", None)
    s["z"] = x * 2.0
    return x.sum() if first is None else first * x.sum()


@program(lambda: (parameters(),))
def updates(p, x):
    p.update(w=p["w"] + x, b=p["b"] * 0.5)
    return np.sum(p["w"] * p["b"])


@program(lambda: (OrderedDict(parameters()),))
def ordered(p, x):
    p["w"] = p["w"] + x
    return np.sum(p["w"])


@program(lambda: (lambda p: (p, p))(parameters()))
def one_under_two_names(p, q, x):
    p["w"] = p["w"] + x
    return q["w"].sum()


@program(lambda: (lambda p: ({"inner": p}, p))(parameters()))
def one_within_another(outer, p, x):
    outer["inner"]["w"] = p["w"] + x
    return p["w"].sum()


@program(lambda: (parameters(),))
def in_place_and_anew(p, x):
    p["w"] += x
    p["b"] = p["b"] * 2.0
    return np.sum(p["w"] + p["b"])


@program(lambda: (deque([1.0, 2.0], maxlen=3),))
def window(seen, x):
    seen.append(x.sum())
    return x.sum() * 2.0


@program(lambda: (defaultdict(float),))
def default_entries(sums, x):
    sums["x"] = x.sum()
    return x.mean()


@program(lambda: (Counter(),), traces=3)
def counter(counts, x):
    counts["calls"] += 1
    return x.sum() * 2.0


@program(lambda: ({"seen"},), traces=3)
def a_set(seen, x):
    seen.add("called")
    return x.sum() * 2.0


def called(made: Any, function: Callable[..., Any], make: Callable[[], Any], pick: Any) -> None:
    """Six calls with the same containers, and three with others: all is as in plain Python."""
    for calls in (6, 3):
        ours, plain = make(), make()
        for turn in range(calls):
            x = X * (1.0 + turn)
            found, expected = pick(made(*ours, x.copy())), function(*plain, x.copy())
            assert_same_bits(found, expected, f"call {turn}")
            assert_same_bits(*[_without_dates(c) for c in (ours, plain)], f"state {turn}")


def _without_dates(state: Any) -> Any:
    """What the containers hold, as trees that can be compared."""
    if isinstance(state, deque | set):
        return sorted(state)
    if isinstance(state, State):
        return vars(state)
    if isinstance(state, dict):
        return {k: _without_dates(v) for k, v in state.items()}
    return [_without_dates(x) for x in state] if isinstance(state, list | tuple) else state


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_calls_are_those_of_python(name, backend):
    if backend == "numba":
        pytest.importorskip("numba")
    function, make, traces = PROGRAMS[name]
    made = tg.compile(function, backend=backend)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        called(made, function, make, lambda found: found)
        if backend == "numba":  # a thread that compiles leaves the filters that it began with
            sys.modules["tracegrad.backends.numba"].wait()
    assert made.cache_info().traces <= traces
    assert made.cache_info().hits >= 6


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "descent_that_returns"])
def test_derivatives_by_another_argument(name):
    function, make, _ = PROGRAMS[name]
    made = tg.value_and_grad(function, argnums=-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are no functions of x alone
        called(made, function, make, lambda found: found[0])


@pytest.mark.parametrize("name", PROGRAMS)
def test_looks_before_any_call(name):
    function, make, _ = PROGRAMS[name]
    ours, before = make(), make()
    made = tg.compile(function)
    text = made.source(*ours, X)
    assert "run eagerly" not in text
    assert_same_bits(_without_dates(ours), _without_dates(before))
    called(made, function, make, lambda found: found)


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_without_compiling(name, monkeypatch):
    function, make, _ = PROGRAMS[name]
    monkeypatch.setattr(tg.config, "compile", False)
    called(tg.compile(function), function, make, lambda found: found)


def test_a_counter_in_a_global_is_an_input_of_the_source():
    state = {"t": 0}

    def f(x):
        state["t"] += 1
        return x * state["t"]

    text = tg.compile(f).source(X)
    assert "run eagerly" not in text
    assert "t + 1" in text
    assert state == {"t": 0}


def test_what_raises_leaves_what_was_done():
    def f(p, x):
        p["n"] = x * 2.0
        if x[0] > 3.0:
            raise ValueError("too large")
        p["done"] = x.sum()
        return x.sum()

    made, ours, plain = tg.compile(f), {}, {}
    for turn in (1.0, 2.0, 9.0, 1.0, 9.0):
        ends = []
        for function, state in ((made, ours), (f, plain)):
            try:
                ends.append(function(state, X * turn))
            except ValueError as error:
                ends.append(str(error))
        assert ends[0] == ends[1]
        assert_same_bits(ours, plain)


def test_keywords_and_defaults():
    def f(x, *, state):
        state["w"] = state["w"] + x
        return state["w"].sum()

    made, ours, plain = tg.compile(f), parameters(), parameters()
    for turn in range(4):
        assert made(X * turn, state=ours) == f(X * turn, state=plain)
        assert_same_bits(ours, plain)
    assert made.cache_info().traces == 2


# -- one container by two ways ---------------------------------------------------------------------


class Model:
    def __init__(self, p: Any) -> None:
        self.p = p


def by_the_object(p, model, x):
    model.p["w"] = model.p["w"] * 2.0
    return np.sum(p["w"] * x)


def by_the_argument(p, model, x):
    p["w"] = p["w"] * 2.0
    return np.sum(model.p["w"] * x)


def by_the_object_within(p, model, x):
    model.p["inner"]["w"] = x * 1.0
    return np.sum(p["inner"]["w"] * x)


def by_appending(p, model, x):
    model.p.append(x.sum())
    return np.sum(p[-1] * x)


WAYS = [by_the_object, by_the_argument, by_the_object_within, by_appending]


@pytest.mark.parametrize("function", WAYS)
@pytest.mark.parametrize("given_up", [False, True])
@pytest.mark.parametrize("order", [(1, 1, 1, 1), (0, 1, 0, 1), (1, 0, 1, 0), (0, 0, 1, 1)])
def test_an_argument_that_is_met_outside(function, given_up, order):
    def tree() -> Any:
        if function is by_appending:
            return [1.0, 2.0]
        return {"w": X.copy(), "inner": {"w": X.copy()}}

    made = tg.compile(function)
    if given_up:
        made._give_up("a test wants it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for turn, one in enumerate(order):
            pairs = []
            for _ in range(2):
                p = tree()
                pairs.append((p, Model(p if one else tree())))
            ours, plain = pairs
            x = X * (1.0 + turn)
            expected = function(*plain, x)
            assert_same_bits(made(*ours, x), expected)
            assert_same_bits(ours[0], plain[0])
            assert_same_bits(ours[1].p, plain[1].p)


@pytest.mark.parametrize("function", [by_the_object, by_the_argument])
@pytest.mark.parametrize("order", [(1, 1), (0, 1)])
def test_a_differentiated_argument_that_is_met_outside(function, order):
    """It is changed by the one way, and read by the other: refused."""
    made = tg.value_and_grad(function)
    for one in order:
        p = {"w": X.copy()}
        model = Model(p if one else {"w": X.copy()})
        if one:
            with pytest.raises((ArgumentError, GradientError)):
                made(p, model, X)
            continue
        plain = copy.deepcopy((p, model))
        value, slope = made(p, model, X)
        assert_same_bits(value, function(*plain, X))
        assert np.allclose(slope["w"], X if function is by_the_object else 0.0)


KEPT: dict[str, Any] = {}


def by_a_global(p, x):
    KEPT["w"] = KEPT["w"] + x
    return np.sum(p["w"] * x)


@pytest.mark.parametrize("order", [(1, 1, 1), (0, 1, 0, 1), (1, 0, 1, 0)])
def test_an_argument_that_is_a_global(order):
    made = tg.compile(by_a_global)
    for turn, one in enumerate(order):
        x = X * (1.0 + turn)
        ends = []
        for function in (made, by_a_global):
            KEPT["w"] = X.copy()
            ends.append((function(KEPT if one else {"w": X * 3.0}, x), KEPT["w"]))
        assert_same_bits(*ends)


# -- within compiled functions ---------------------------------------------------------------------


def state() -> dict[str, Any]:
    return {"a": {"w": np.ones(3)}, "log": [], "n": 0, "z": X.copy(), "f": 1.5}


def changes(s, x):
    s["a"]["w"] = s["a"]["w"] * 2.0 + x
    s["log"].append(s["a"]["w"].sum())
    s["n"] = s["n"] + 1
    del s["z"]
    s["z"] = x * 1.0
    return s["a"]["w"].sum() * s["f"]


INNER: dict[str, Callable[[Any, Any], Any]] = {
    "compile": lambda s, x: tg.compile(changes)(s, x),
    "value_and_grad": lambda s, x: tg.value_and_grad(changes, argnums=1)(s, x)[0],
    "grad": lambda s, x: tg.grad(changes, argnums=1)(s, x),
    "jvp": lambda s, x: tg.jvp(lambda x: changes(s, x), (x,), (x,))[1],
    "vjp": lambda s, x: tg.vjp(lambda x: changes(s, x), x)[0],
    "hessian": lambda s, x: tg.hessian(lambda x: changes(s, x) ** 2)(x),
}


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("place", ["outside", "within", "an argument"])
@pytest.mark.parametrize("eagerly", [False, True])
def test_transforms_within_compiled_functions(inner, place, eagerly):
    """What the inner function changes is changed, whoever has made the container."""
    kept = state()

    def f(s, x):
        if eagerly:
            time.perf_counter()
        s = {"outside": kept, "within": {**state(), "f": 2.0}, "an argument": s}[place]
        result = INNER[inner](s, x)
        return result, s["a"]["w"] * x, s["n"], s["z"]

    found: list[Any] = []
    for call in (f, tg.compile(f)):
        kept, given = state(), state()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = [call(given, X * (1.0 + turn)) for turn in range(5)]
        found.append((results, kept, given))
    assert_same_bits(*found)
    assert _types(found[0]) == _types(found[1])


def _types(x: Any) -> Any:
    if isinstance(x, dict):
        return {key: _types(value) for key, value in x.items()}
    return list(map(_types, x)) if isinstance(x, list | tuple) else type(x)


class Logger:
    def __init__(self) -> None:
        self.log: list[Any] = []
        self.last: Any = None
        self.by_name: dict[str, Any] = {}

    def loss(self, x):
        self.log.append(x.sum())
        self.last = x * 2.0
        self.by_name["x"] = x.sum()
        return x.sum()


@pytest.mark.parametrize("wrap", [tg.compile, tg.value_and_grad])
@pytest.mark.parametrize("container", [list, deque])
def test_arrays_are_left_by_compiled_functions_in_eager_ones(wrap, container):
    """The inner function is called on Tensors, which stand for arrays of its caller's."""
    logger, kept = Logger(), container()
    bound = wrap(logger.loss)

    def append(x):
        kept.append(x.sum())
        return x.sum()

    appends = wrap(append)

    def f(x):
        time.perf_counter()
        bound(x), appends(x)
        return x.sum()

    compiled = tg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(5):
            compiled(X)
    assert set(map(type, [*logger.log, *kept, *logger.by_name.values()])) == {np.float64}
    assert type(logger.last) is np.ndarray


@pytest.mark.parametrize("requires_grad", [False, True])
def test_containers_of_tensors_keep_tensors(requires_grad):
    def f(p, x):
        p["w"] = p["w"] + x
        return p["w"].sum()

    p = {"w": tg.ones(3), "n": 1}
    x = tg.tensor(X, requires_grad=requires_grad)
    tg.value_and_grad(f, argnums=1)(p, x)
    assert type(p["w"]) is tg.Tensor
    assert p["w"].requires_grad == requires_grad
    assert np.array_equal(p["w"].detach().numpy(), 1.0 + X)


# -- what stands in one container and in another ---------------------------------------------------


def keeps_another(s, p, x):
    if "best" not in s:
        s["best"] = p
    s["best"]["w"] = s["best"]["w"] * 2.0
    return p["w"].sum() * x


def keeps_its_own(s, p, x):
    s["last"] = s["log"]
    s["log"].append(x.sum())
    return x * len(s["last"])


def swaps(s, p, x):
    s["log"], s["other"] = s["other"], s["log"]
    s["log"].append(x.sum())
    return x * 2.0


def moves_on(s, p, x):
    s["previous"] = s["current"]
    s["current"] = {"w": x * 1.0}
    s["previous"]["w"] = x * 2.0
    return x * 3.0


def copies_what_it_changes(s, p, x):
    copy.deepcopy(s), copy.copy(s)
    s["log"].append(x.sum())
    return x * 4.0


def replaces(s, p, x):
    s["kept"] = dict(s)
    s["log"].append(x.sum())
    return x * 5.0


@pytest.mark.parametrize(
    "function",
    [keeps_another, keeps_its_own, swaps, moves_on, copies_what_it_changes, replaces],
)
def test_containers_that_are_stored_stay_these(function):
    """From the first call on, in which the function has copies of them."""
    made, states = tg.compile(function), []
    for f in (made, function):
        s = {"log": [], "other": [], "current": {"w": X}, "previous": None}
        p, results = {"w": np.ones(3)}, []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for turn in range(4):
                s.pop("kept", None)
                results.append(f(s, p, X * (1.0 + turn)))
        one = [s.get("best") is p, s.get("last") is s["log"]]
        states.append((results, s, p, one))
    assert_same_bits(*[state[:3] for state in states])
    assert states[0][3] == states[1][3]


@dataclass
class Log:
    items: list[Any]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_dataclass_that_is_copied_and_changed(copied):
    def f(log, x):
        copied(log)
        log.items.append(x.sum())
        return x * 2.0

    made, log = tg.compile(f), Log([])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for turn in range(4):
            made(log, X)
            assert len(log.items) == turn + 1


@pytest.mark.parametrize("first", [1, 2, 3])
def test_an_array_that_comes_to_stand_at_two_places(first):
    def f(s):
        s["n"] = 1.0
        s["sub"]["v"] -= 0.1
        return s["sub"]

    made = tg.compile(f)
    for turn in range(5):
        ends = []
        for call in (made, f):
            v = np.ones(2)
            s = {"n": 0.0, "sub": {"v": v, "w": v if turn >= first else np.ones(2)}}
            ends.append((call(s), s))
        assert_same_bits(*ends)
