"""Programs whose containers and objects are made anew between calls: compiled once or twice.

Each is run six times with something made anew before each call, plain and compiled, on states of
their own; the gradients are compared with those of a fresh transform.
"""

from __future__ import annotations

import copy
import dataclasses
import warnings
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

PROGRAMS: dict[str, tuple[Callable[[], tuple[Any, Any]], int]] = {}
X = np.array([0.5, -1.25, 2.0])
CALLS = 6


def program(traces: int = 2) -> Any:
    """``make() -> (function of one array, what happens between calls)``; how often traced."""

    def enter(make: Callable[[], tuple[Any, Any]]) -> Any:
        PROGRAMS[make.__name__] = make, traces
        return make

    return enter


# -- containers of arrays -------------------------------------------------------------------------

params: Any = None


@program()
def rebound_global_dict():
    global params
    params = {"w": np.array([0.1, 0.2, 0.3]), "b": 0.5}

    def f(x):
        return np.tanh(x * params["w"] + params["b"]).sum()

    def between(turn):
        global params
        params = {name: value - 0.01 * turn for name, value in params.items()}

    return f, between


@program()
def rebound_closure_of_nested_lists():
    layers = [[np.full(3, 0.5), 0.1], [np.full(3, 0.25), 0.2]]

    def f(x):
        for w, b in layers:
            x = np.tanh(x * w + b)
        return x.sum()

    def between(turn):
        nonlocal layers
        layers = [[w * 0.9, b + 0.1] for w, b in layers]

    return f, between


@program()
def parameters_and_state_of_the_optimizer():
    model = SimpleNamespace(params={"w": X * 0.1}, opt={"w": {"m": X * 0.0, "v": X * 0.0 + 1.0}})

    def f(x):
        total = 0.0
        for name, w in model.params.items():
            step = model.opt[name]["m"] / np.sqrt(model.opt[name]["v"])
            total = total + ((x * w - step) ** 2).sum()
        return total

    def between(turn):
        model.params = {name: w - 0.1 for name, w in model.params.items()}
        model.opt = {n: {"m": s["m"] + 0.1, "v": s["v"] * 1.1} for n, s in model.opt.items()}

    return f, between


@program()
def list_of_dicts():
    held = {"layers": [{"w": X * 0.1, "act": "tanh"}, {"w": X * 0.2, "act": "none"}]}

    def f(x):
        for layer in held["layers"]:
            x = x * layer["w"]
            if layer["act"] == "tanh":
                x = np.tanh(x)
        return x.sum()

    def between(turn):
        held["layers"] = [{**layer, "w": layer["w"] + 0.1} for layer in held["layers"]]

    return f, between


@program()
def ordered_state_dict():
    model = SimpleNamespace(state=OrderedDict(scale=0.5, shift=X * 0.2))

    def f(x):
        for name, value in model.state.items():
            x = x * value if name == "scale" else x + value
        return (x * x).sum()

    def between(turn):
        model.state = OrderedDict((n, v * 1.1) for n, v in model.state.items())

    return f, between


@program()
def tuple_of_arrays():
    model = SimpleNamespace(weights=(X * 0.1, (X * 0.2, 0.3)))

    def f(x):
        w, (v, k) = model.weights
        return (np.tanh(x * w) * v * k).sum()

    def between(turn):
        w, (v, k) = model.weights
        model.weights = (w + 0.1, (v * 0.9, k + 0.05))

    return f, between


# -- objects of users' classes --------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    rate: float
    mode: str = "tanh"
    steps: int = 3
    scales: tuple[float, ...] = (0.5, 0.25)


@program()
def replaced_frozen_dataclass():
    model = SimpleNamespace(settings=Settings(0.5))

    def f(x):
        s = model.settings
        for _ in range(s.steps):
            x = x * s.rate + s.scales[0] * s.scales[1]
        return (np.tanh(x) if s.mode == "tanh" else x).sum()

    def between(turn):
        model.settings = replace(model.settings, rate=0.5 / turn)

    return f, between


class State(NamedTuple):
    mean: Any
    velocity: Any
    decay: float


@program()
def named_tuple_states():
    model = SimpleNamespace(state=State(X * 0.1, X * 0.0, 0.9))

    def f(x):
        mean, velocity, _ = model.state
        moved = mean + velocity * model.state.decay
        return ((x - moved) ** 2).sum()

    def between(turn):
        s = model.state
        model.state = s._replace(velocity=s.velocity * s.decay + 0.1, mean=s.mean + 0.05)

    return f, between


class Layer:
    activation = staticmethod(np.tanh)

    def __init__(self, w: Any, b: float) -> None:
        self.w, self.b = w, b

    def __call__(self, x: Any) -> Any:
        return self.activation(x * self.w + self.b)


@program()
def renewed_list_of_layers():
    class Model:
        def __init__(self) -> None:
            self.layers = [Layer(X * 0.1 * k, 0.1) for k in (1, 2, 3)]

        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x.sum()

    model = Model()

    def between(turn):
        model.layers = [Layer(layer.w * 0.9, layer.b + 0.1) for layer in model.layers]

    return model.__call__, between


@program()
def one_layer_of_a_list_renewed():
    layers = [Layer(X * 0.1 * k, 0.1) for k in (1, 2, 3)]

    def f(x):
        for layer in layers:
            x = layer(x)
        return x.sum()

    def between(turn):
        layers[1] = Layer(X * turn, 0.2)

    return f, between


class Slotted:
    __slots__ = ("inner", "k")

    def __init__(self, k: Any, inner: Any = None) -> None:
        self.k, self.inner = k, inner

    @property
    def twice(self) -> Any:
        return self.k * 2.0


@program()
def slots_and_properties():
    held = {"state": Slotted(X * 0.5, Slotted(0.25))}

    def f(x):
        state = held["state"]
        return (x * state.twice + state.inner.twice).sum()

    def between(turn):
        held["state"] = Slotted(X * turn, Slotted(0.1 * turn))

    return f, between


@dataclass
class Node:
    value: float
    left: Node | None = None
    right: Node | None = None


def tree_of(depth: int, value: float) -> Node | None:
    if depth == 0:
        return None
    return Node(value, tree_of(depth - 1, value * 0.7), tree_of(depth - 1, value + 0.1))


@program()
def rebuilt_tree():
    held = SimpleNamespace(root=tree_of(3, 0.5))

    def walk(node, x):
        if node is None:
            return x
        return walk(node.left, np.tanh(x * node.value)) + walk(node.right, x + node.value)

    def f(x):
        return walk(held.root, x).sum()

    def between(turn):
        held.root = tree_of(3, 0.1 * turn)

    return f, between


@program()
def deep_copies():
    model = SimpleNamespace(net={"a": Layer(X * 0.3, 0.1), "b": [Layer(X * 0.2, 0.2)]})

    def f(x):
        return model.net["b"][0](model.net["a"](x)).sum()

    def between(turn):
        model.net = copy.deepcopy(model.net)
        model.net["a"].w += 0.1

    return f, between


@program()
def settings_with_defaults():
    class Config:
        gain = 2.0

        def __init__(self, k):
            self.k = k

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            return 1.5

    held = {"config": Config(0.5)}

    def f(x):
        c = held["config"]
        return (x * c.k * c.gain * c.other * getattr(c, "_bias", 0.5)).sum()

    def between(turn):
        held["config"] = Config(0.5 * turn)

    return f, between


@program()
def best_kept_beside_the_current():
    model = SimpleNamespace(params={"w": X * 0.1}, best={"w": X * 0.3})

    def f(x):
        return ((model.params["w"] - model.best["w"]) * x).sum()

    def between(turn):
        model.best = model.params
        model.params = {"w": model.params["w"] * 1.1}

    return f, between


@program()
def targets_that_are_the_parameters():
    model = SimpleNamespace(params={"w": X * 0.1})
    model.target = model.params

    def f(x):
        return (model.params["w"] * x - model.target["w"] * 2.0).sum()

    def between(turn):
        model.params = model.target = {"w": model.params["w"] * 1.1}

    return f, between


@program()
def writes_into_a_renewed_object():
    model = SimpleNamespace(state=SimpleNamespace(mean=X * 0.0, beta=0.9))

    def f(x):
        s = model.state
        s.mean = s.beta * s.mean + x
        s.beta = s.beta * 0.5
        return (s.mean * x).sum()

    def between(turn):
        model.state = SimpleNamespace(mean=model.state.mean + turn, beta=0.8)

    return f, between


@program()
def settings_among_the_fields():
    @dataclass
    class Optimizer:
        rate: float
        name: str = "sgd"
        moments: dict = field(default_factory=dict)

    held = SimpleNamespace(opt=Optimizer(0.1, moments={"m": X}))

    def f(x):
        o = held.opt
        if o.name != "sgd" or len(o.moments) != 1 or "v" in o.moments:
            return x.sum()
        return (x - o.rate * o.moments["m"] * o.moments.get("scale", 2.0)).sum()

    def between(turn):
        held.opt = dataclasses.replace(held.opt, rate=0.1 / turn, moments={"m": X * turn})

    return f, between


def run(name: str, call: Callable[[Any, Any], Any]) -> tuple[list[Any], list[str]]:
    """What the calls give, and what was warned of."""
    f, between = PROGRAMS[name][0]()
    found, said = [], []
    for turn in range(CALLS):
        if turn:
            between(turn)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found.append(call(f, X * (1.0 - 0.1 * turn)))
        said += [str(w.message) for w in caught if w.category is tg.errors.RecompileWarning]
    return found, said


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled(name):
    kept: list[Any] = []

    def call(f, x):
        kept[:] = kept or [tg.compile(f)]
        return kept[0](x)

    got, said = run(name, call)
    expected, _ = run(name, lambda f, x: f(x))
    for one, other in zip(got, expected, strict=True):
        assert_same_bits(one, other)
    assert not said, said
    assert kept[0].cache_info().traces <= PROGRAMS[name][1], kept[0].explain()


@pytest.mark.parametrize("name", PROGRAMS)
def test_value_and_grad(name):
    kept: list[Any] = []

    def call(f, x):
        kept[:] = kept or [tg.value_and_grad(f)]
        return kept[0](x)

    got, said = run(name, call)
    expected, _ = run(name, lambda f, x: tg.value_and_grad(f)(x))
    for one, other in zip(got, expected, strict=True):
        assert_same_bits(one[0], other[0])
        assert_same_bits(one[1], other[1])
    assert not said, said
    assert kept[0].cache_info().traces <= PROGRAMS[name][1], kept[0].explain()
