"""Programs as users write NumPy, forty and more: compiled, they give and do what Python does.

Each is run five times with changing arguments and state, plain and compiled, on states of their
own. `EAGER` says for each program that is not compiled which words its one warning has.
"""

from __future__ import annotations

import abc
import contextlib
import copy
import enum
import functools
import io
import itertools
import json
import logging
import math
import operator
import statistics
import warnings
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from jobs import picture

import tracegrad as tg
from tracegrad.errors import LostGradientError, RecompileWarning

USERS: dict[str, Callable[[], tuple[Any, Any, Any]]] = {}
EAGER: dict[str, str] = {
    "noise_of_a_generator": "rng",
    "dropout": "self.rng",
    "windows": "window",
}
"""Programs that run eagerly, each with words of its warning."""


def user(make: Callable[[], Any]) -> Callable[[], Any]:
    """``make() -> (function of one array, its state, what happens to the state between calls)``."""
    USERS[make.__name__] = make
    return make


def nothing(turn: int) -> None:
    """Between calls."""


@user
def linear_model():
    class Linear:
        def __init__(self, n):
            self.w = np.linspace(0.1, 1.0, n)
            self.b = 0.5

        def __call__(self, x):
            return np.dot(x, self.w) + self.b

        def loss(self, x):
            return (self(x) - 1.0) ** 2

    model = Linear(4)

    def between(turn):
        model.w -= 0.1
        model.b = 0.1 * turn

    return model.loss, model, between


@user
def network_of_layers():
    class Layer:
        def __init__(self, rng, n, m, act=np.tanh):
            self.w, self.b, self.act = rng.normal(size=(n, m)), np.zeros(m), act

        def forward(self, x):
            return self.act(x @ self.w + self.b)

    class Net:
        def __init__(self):
            rng = np.random.default_rng(0)
            self.layers = [Layer(rng, 4, 3), Layer(rng, 3, 2), Layer(rng, 2, 1, lambda v: v)]
            self.training = True

        def forward(self, x):
            for layer in self.layers:
                x = layer.forward(x)
            return x.sum() * (0.9 if self.training else 1.0)

    net = Net()

    def between(turn):
        net.training = turn % 2 == 0
        net.layers[0].b = net.layers[0].b + 0.1

    return net.forward, net, between


@user
def parameters_in_a_dict():
    params = {"w": np.ones(4), "b": 0.5, "scale": {"out": 2.0}}

    def f(x):
        h = np.tanh(x * params["w"] + params["b"])
        return np.sum(h) * params["scale"]["out"]

    def between(turn):
        params["w"] = params["w"] * 0.9
        params["b"] -= 0.05
        params["scale"]["out"] = 1.0 + turn

    return f, params, between


@dataclass
class Settings:
    rate: float = 0.1
    steps: int = 3
    decay: float = 0.5
    names: list = field(default_factory=lambda: ["a"])


@user
def settings_in_a_dataclass():
    settings = Settings()

    def f(x):
        y = x
        for i in range(settings.steps):
            y = y - settings.rate * settings.decay**i * np.sin(y)
        return (y**2).sum() + len(settings.names)

    def between(turn):
        settings.rate *= 0.5
        settings.names.append("b")
        settings.steps = 2 + turn % 2

    return f, settings, between


@user
def arrays_of_numbers():
    k = SimpleNamespace(a=2.0)

    def f(x):
        a, b, c, d = x
        rotation = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
        return (rotation @ np.array([b * k.a, c])).sum() + d

    return f, k, lambda turn: setattr(k, "a", 1.0 + turn)


@user
def zeros_and_fill():
    state = SimpleNamespace(k=0.5)

    def f(x):
        out = np.zeros(len(x))
        out[0] = x[0]
        for i in range(1, len(x)):
            out[i] = state.k * out[i - 1] + x[i]
        return out.sum()

    return f, state, lambda turn: setattr(state, "k", 0.5 + 0.1 * turn)


@user
def math_functions():
    state = SimpleNamespace(c=1.5)

    def f(x):
        r = math.sqrt(x[0] ** 2 + x[1] ** 2)
        return r * math.exp(-state.c) + math.sin(x[2]) * math.pi + math.log1p(x[3] ** 2)

    return f, state, lambda turn: setattr(state, "c", 0.3 * turn)


@user
def counted_calls():
    class Objective:
        def __init__(self):
            self.calls = 0

        def __call__(self, x):
            self.calls += 1
            return np.sum(x**2)

    o = Objective()
    return o.__call__, o, nothing


@user
def warm_up():
    class Schedule:
        def __init__(self):
            self.step = 0

        def __call__(self, x):
            self.step += 1
            rate = min(1.0, self.step / 3)
            return rate * np.sum(np.cos(x))

    s = Schedule()
    return s.__call__, s, nothing


@user
def history_of_losses():
    history = []

    def f(x):
        loss = np.sum((x - 1.0) ** 2)
        history.append(loss)
        return loss

    return f, history, nothing


@user
def history_of_messages():
    state = SimpleNamespace(messages=[], verbose=True)

    def f(x):
        if state.verbose:
            state.messages.append(f"called with {x.shape}")
        return np.sum(np.exp(-(x**2)))

    return f, state, lambda turn: setattr(state, "verbose", turn % 2 == 0)


@user
def printing():
    state = SimpleNamespace(name="run")

    def f(x):
        print("evaluating", state.name)
        return np.prod(x + 2.0)

    return f, state, lambda turn: setattr(state, "name", f"run {turn}")


@user
def cache_made_late():
    class Basis:
        def __init__(self, n):
            self.n, self.matrix = n, None

        def get(self):
            if self.matrix is None:
                self.matrix = np.vander(np.linspace(0.0, 1.0, self.n), self.n)
            return self.matrix

        def __call__(self, x):
            return np.sum((self.get() @ x) ** 2)

    b = Basis(4)

    def between(turn):
        if turn == 2:
            b.matrix = None
        if turn == 3:
            b.matrix[0, 0] = 7.0

    return b.__call__, b, between


@user
def cache_by_key():
    cache: dict[int, Any] = {}

    def window(n):
        if n not in cache:
            cache[n] = np.hanning(n + 2)[1:-1]
        return cache[n]

    state = SimpleNamespace(cache=cache)

    def between(turn):
        if turn == 3:
            cache.clear()

    return lambda x: np.sum(window(len(x)) * x**3), state, between


@user
def context_managers():
    class Scope:
        stack: list = []  # noqa: RUF012

        def __init__(self, k):
            self.k = k

        def __enter__(self):
            self.stack.append(self.k)
            return self

        def __exit__(self, *exc):
            self.stack.pop()

    state = SimpleNamespace(k=2.0, stack=Scope.stack)

    def f(x):
        with Scope(state.k), np.errstate(all="ignore"):
            y = x * Scope.stack[-1]
        return np.sum(np.log(y**2 + 1.0))

    return f, state, lambda turn: setattr(state, "k", 1.0 + turn)


@user
def generator_as_context():
    state = SimpleNamespace(depth=0, log=[])

    @contextlib.contextmanager
    def timed(name):
        state.log.append(f"start {name}")
        yield
        state.log.append(f"end {name}")

    def f(x):
        with timed("sum"):
            return np.sum(np.sqrt(x**2 + 1.0))

    return f, state, nothing


@user
def properties():
    class Gaussian:
        def __init__(self):
            self.log_sigma, self.mu = 0.2, 0.5

        @property
        def sigma(self):
            return math.exp(self.log_sigma)

        @sigma.setter
        def sigma(self, v):
            self.log_sigma = math.log(v)

        def logpdf(self, x):
            z = (x - self.mu) / self.sigma
            return np.sum(-0.5 * z**2 - self.log_sigma - 0.5 * math.log(2 * math.pi))

    g = Gaussian()
    return g.logpdf, g, lambda turn: setattr(g, "sigma", 1.0 + turn)


@user
def cached_helpers():
    @functools.cache
    def binomials(n):
        return np.array([math.comb(n, k) for k in range(n + 1)], dtype=float)

    state = SimpleNamespace(n=3)

    def f(x):
        c = binomials(state.n)
        return np.sum(c[: len(x)] * np.sin(x)[: len(c)])

    return f, state, lambda turn: setattr(state, "n", 3 + turn % 3)


@user
def noise_of_a_generator():
    rng = np.random.default_rng(0)

    def f(x):
        noise = rng.normal(size=x.shape)
        return np.sum((x + 0.1 * noise) ** 2)

    return f, SimpleNamespace(rng=rng), lambda turn: rng.normal()


@user
def dropout():
    class Dropout:
        def __init__(self):
            self.rng, self.p, self.training = np.random.default_rng(1), 0.5, True

        def __call__(self, x):
            if not self.training:
                return np.sum(x**2)
            mask = self.rng.random(x.shape) > self.p
            return np.sum((x * mask / (1.0 - self.p)) ** 2)

    d = Dropout()
    return d.__call__, d, lambda turn: setattr(d, "training", turn != 2)


class Activation(enum.Enum):
    TANH = "tanh"
    SINE = "sine"


@user
def enums():
    state = SimpleNamespace(kind=Activation.TANH)
    table = {Activation.TANH: np.tanh, Activation.SINE: np.sin}

    def f(x):
        scale = 2.0 if state.kind is Activation.SINE else 1.0
        return np.sum(table[state.kind](x)) * scale + len(state.kind.value)

    def between(turn):
        state.kind = [Activation.SINE, Activation.TANH][turn % 2]

    return f, state, between


@user
def logging_levels():
    log, records = logging.Logger("users"), []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())
    log.addHandler(handler)
    log.setLevel("INFO")

    def f(x):
        log.debug("shape %s", x.shape)
        return np.sum(x**4)

    def between(turn):
        log.setLevel("DEBUG" if turn == 3 else "INFO")

    return f, records, between


@user
def deep_copies():
    params = {"w": [1.0, 2.0, 3.0, 4.0], "k": 0.5}

    def f(x):
        mine = copy.deepcopy(params)
        mine["k"] *= 2.0
        return np.sum(x * np.array(mine["w"])) * mine["k"]

    def between(turn):
        params["w"][0] += 1.0
        params["k"] = 0.1 * turn

    return f, params, between


@user
def folded():
    steps = [np.sin, lambda v: v * 2.0, np.tanh]

    def f(x):
        y = functools.reduce(lambda v, g: g(v), steps, x)
        return functools.reduce(operator.add, list(y))

    return f, steps, lambda turn: steps.append(np.cos)


@user
def sorted_by_key():
    rules = [{"order": 2, "k": 3.0}, {"order": 1, "k": 0.5}]

    def f(x):
        for rule in sorted(rules, key=lambda r: r["order"]):
            x = np.sin(x * rule["k"])
        return np.sum(x)

    def between(turn):
        rules[0]["order"] = turn % 3
        rules[1]["k"] += 0.25

    return f, rules, between


@user
def iteration_tools():
    weights = [1.0, 2.0, 0.5]

    def f(x):
        total = 0.0
        for (i, a), w in zip(enumerate(x), itertools.cycle(weights)):
            total = total + w * a**2 * (i + 1)
        for a, b in itertools.combinations(range(len(x)), 2):
            total = total + x[a] * x[b]
        return total

    return f, weights, lambda turn: weights.append(turn * 0.5)


@user
def texts_as_keys():
    params = {f"w{i}": np.full(4, 0.1 * (i + 1)) for i in range(3)}
    state = SimpleNamespace(params=params, depth=3)

    def f(x):
        for i in range(state.depth):
            x = np.tanh(x * state.params[f"w{i}"])
        return x.sum()

    def between(turn):
        params["w1"] += 0.1
        state.depth = 2 + turn % 2

    return f, state, between


@user
def exceptions():
    table = {"k": 2.0}

    def f(x):
        try:
            k = table["k"]
        except KeyError:
            k = table.get("default", 1.0)
        finally:
            table["looked"] = True
        return np.sum(x**2) * k

    def between(turn):
        if turn % 2:
            table.pop("k", None)
        else:
            table["k"] = float(turn)

    return f, table, between


State = namedtuple("State", ["position", "velocity"])


class Physics(NamedTuple):
    mass: float = 1.0
    step: float = 0.1


@user
def named_tuples():
    state = SimpleNamespace(physics=Physics())

    def f(x):
        s = State(x[:2], x[2:])
        for _ in range(3):
            v = s.velocity - state.physics.step * s.position / state.physics.mass
            s = s._replace(position=s.position + state.physics.step * v, velocity=v)
        return np.sum(s.position**2) + s.velocity[0]

    return f, state, lambda turn: setattr(state, "physics", Physics(1.0 + turn, 0.1))


class Kernel(abc.ABC):
    def __init__(self, length):
        self.length = length

    @abc.abstractmethod
    def of(self, r): ...

    def __call__(self, x):
        return self.of((x[:, None] - x[None, :]) / self.length)

    def __add__(self, other):
        return Sum(self, other)


class Squared(Kernel):
    def of(self, r):
        return np.exp(-0.5 * r**2)


class Periodic(Kernel):
    def of(self, r):
        return np.exp(-2.0 * np.sin(r) ** 2)


class Sum(Kernel):
    def __init__(self, *parts):
        super().__init__(1.0)
        self.parts = parts

    def of(self, r):
        return sum(p.of(r / p.length) for p in self.parts)


@user
def abstract_classes():
    a, b = Squared(1.0), Periodic(2.0)
    state = SimpleNamespace(kernel=a + b, a=a)
    return lambda x: state.kernel(x).sum(), state, lambda turn: setattr(a, "length", 1.0 + turn)


@user
def generators():
    state = SimpleNamespace(rates=[0.1, 0.2, 0.3])

    def steps(x):
        for rate in state.rates:
            x = x - rate * np.sin(x)
            yield x

    def f(x):
        return sum(np.sum(v**2) for v in steps(x))

    return f, state, lambda turn: state.rates.append(0.05)


@user
def walrus():
    state = SimpleNamespace(tolerance=1.0, turns=0)

    def f(x):
        y, n = x, 0
        while (norm := np.sum(y**2)) > state.tolerance:
            y, n = y * 0.7, n + 1
        return norm + n

    return f, state, lambda turn: setattr(state, "tolerance", 1.0 / (turn + 1))


@user
def matched():
    state = SimpleNamespace(layers=[("scale", 2.0), {"kind": "shift", "by": 1.0}, "tanh"])

    def f(x):
        for layer in state.layers:
            match layer:
                case ("scale", k):
                    x = x * k
                case {"kind": "shift", "by": b}:
                    x = x + b
                case "tanh":
                    x = np.tanh(x)
                case _:
                    raise ValueError(layer)
        return x.sum()

    def between(turn):
        state.layers[0] = ("scale", 1.0 + turn)
        state.layers[1]["by"] *= 0.5

    return f, state, between


@user
def running_mean():
    class Norm:
        def __init__(self):
            self.mean, self.momentum = np.zeros(4), 0.9

        def __call__(self, x):
            self.mean = self.momentum * self.mean + (1.0 - self.momentum) * x
            return np.sum((x - self.mean) ** 2)

    n = Norm()
    return n.__call__, n, lambda turn: setattr(n, "momentum", 0.9 - 0.1 * turn)


@user
def buffers():
    class Filter:
        def __init__(self):
            self.buffer, self.at = np.zeros((3, 4)), 0

        def __call__(self, x):
            self.buffer[self.at % 3] = x
            self.at += 1
            return np.sum(x**2)

    f = Filter()
    return f.__call__, f, nothing


@user
def annealing():
    state = SimpleNamespace(beta=2.0, temperature=np.float64(1.0))

    def f(x):
        return state.beta * np.sum(np.exp(-(x**2) / state.temperature))

    def between(turn):
        state.beta *= 0.9
        state.temperature = state.temperature * 0.8

    return f, state, between


@user
def best_so_far():
    state = SimpleNamespace(best=np.inf, at=None)

    def f(x):
        value = np.sum((x - 0.5) ** 2)
        if value < state.best:
            state.best, state.at = value, x.copy()
        return value

    return f, state, nothing


@user
def windows():
    window: deque = deque(maxlen=3)
    counts: Counter = Counter()
    groups: defaultdict = defaultdict(list)
    order = OrderedDict(a=1.0, b=2.0)
    state = SimpleNamespace(window=window, counts=counts, groups=groups, order=order)

    def f(x):
        counts["calls"] += 1
        window.append(counts["calls"])
        groups["even" if counts["calls"] % 2 == 0 else "odd"].append(1)
        return np.sum(x**2) * sum(window) + sum(order.values())

    return f, state, lambda turn: order.move_to_end("a")


@user
def replaced_settings():
    state = SimpleNamespace(config=Settings(rate=0.5), log=[])

    def f(x):
        config = replace(state.config, rate=state.config.rate * 2.0)
        if config == state.config:
            return np.sum(x)
        return np.sum(x**2) * config.rate

    return f, state, lambda turn: setattr(state, "config", Settings(rate=0.1 * turn))


@user
def adam_in_numpy():
    class Adam:
        def __init__(self):
            self.t, self.m = 0, np.zeros(4)

        def step(self, x):
            self.t += 1
            g = 2.0 * x
            self.m = 0.9 * self.m + 0.1 * g
            return np.sum((x - 0.1 * self.m / (1.0 - 0.9**self.t)) ** 2)

    a = Adam()
    return a.step, a, nothing


@user
def kalman_filter():
    class Filter:
        def __init__(self):
            self.p, self.x, self.noise = np.eye(2), np.zeros(2), 0.1
            self.f = np.array([[1.0, 0.1], [0.0, 1.0]])
            self.history = []

        def step(self, z):
            self.x = self.f @ self.x
            self.p = self.f @ self.p @ self.f.T + 0.01 * np.eye(2)
            gain = self.p[:, :1] / (self.p[0, 0] + self.noise)
            self.x = self.x + gain[:, 0] * (z - self.x[0])
            self.p = (np.eye(2) - gain @ np.array([[1.0, 0.0]])) @ self.p
            self.history.append(self.x.copy())
            return self.x[0]

    tracker = Filter()

    def between(turn):
        tracker.noise = 0.1 * turn

    return lambda x: sum(tracker.step(z) for z in x), tracker, between


@user
def tridiagonal_matrix():
    def f(x):
        n = len(x)
        a = np.zeros((n, n))
        a[np.arange(n), np.arange(n)] = 2.0 + x**2
        a[np.arange(n - 1), np.arange(1, n)] = -1.0
        a[np.arange(1, n), np.arange(n - 1)] = -1.0
        return np.linalg.slogdet(a)[1] + np.linalg.solve(a, x).sum()

    return f, None, nothing


@user
def recorded_trajectory():
    class Simulation:
        def __init__(self):
            self.t, self.rows = 0.0, np.zeros((6, 2))

        def run(self, k):
            y = np.array([1.0, 0.0])
            for i in range(6):
                self.rows[i] = y
                y = y + 0.1 * np.array([y[1], -k * y[0]])
                self.t += 0.1
            return self.rows[-1].sum()

    simulation = Simulation()
    return lambda x: simulation.run(x[0] * x[1]), simulation, nothing


@user
def rotated_by_arrays_of_math():
    def turned(a):
        return np.array([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]])

    return lambda x: (turned(x[0]) @ turned(x[1]) @ np.array([x[2], 1.0]))[0], None, nothing


@user
def factor_of_a_list():
    def f(x):
        a = np.outer(x, x) + np.diag([2.0, 2.0, 2.0, 2.0 + x[3]])
        try:
            return np.log(np.diag(np.linalg.cholesky(a))).sum() + np.trace(
                [[x[0], 1.0], [2.0, x[1]]]
            )
        except np.linalg.LinAlgError:
            return x.sum()

    return f, None, nothing


@user
def newton_until_small():
    settings = {"tolerance": 1e-8, "most": 20}

    def f(x):
        z = 1.0
        for _ in range(settings["most"]):
            step = (z * z - abs(x[0]) - 1.0) / (2.0 * z)
            z = z - step
            if abs(step) < settings["tolerance"]:
                break
        return z * x.sum()

    return f, settings, lambda turn: settings.update(most=20 + turn)


@user
def signs_counted():
    counts = Counter()

    def f(x):
        for v in x:
            counts["up" if v > 0.0 else "down"] += 1
        return (x**3).sum()

    return f, counts, nothing


@user
def activations_by_match():
    @dataclass
    class Layer:
        w: np.ndarray
        act: str = "tanh"
        means: list = field(default_factory=list)

    layers = [Layer(np.eye(4) * 0.5), Layer(np.ones((4, 4)) * 0.1, "square")]

    def f(x):
        for layer in layers:
            x = layer.w @ x
            match layer.act:
                case "tanh":
                    x = np.tanh(x)
                case "square":
                    x = x * x
            layer.means.append(x.mean())
        return x.sum()

    def between(turn):
        layers[0].act = ("tanh", "square")[turn % 2]

    return f, layers, between


@user
def module_numbers():
    global RATE
    RATE = 0.5

    def f(x):
        global CALLS
        CALLS = CALLS + 1
        return np.sum(x**2) * RATE

    def between(turn):
        global RATE
        RATE = 0.5 * turn

    return f, SimpleNamespace(calls=lambda: CALLS), between


RATE, CALLS = 0.5, 0
XS = [np.array([0.5, -1.25, 2.0, 0.3]) * k for k in (1.0, 1.0, 0.7, -0.4, 1.1)]


@dataclass
class Run:
    values: list = field(default_factory=list)
    states: list = field(default_factory=list)
    printed: list = field(default_factory=list)
    warned: list = field(default_factory=list)
    traces: int = 0  # by the five calls
    info: Any = None


def run(name: str, transform: Callable[[Any], Any], xs: list[np.ndarray]) -> Run:
    """Five calls, something changed before each; then three with nothing changed."""
    global CALLS
    CALLS, found = 0, Run()
    f, state, between = USERS[name]()
    g = transform(f)
    for turn, x in enumerate(xs):
        if turn:
            between(turn)
        with warnings.catch_warnings(record=True) as caught, contextlib.ExitStack() as stack:
            warnings.simplefilter("always")
            text = stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
            found.values.append(g(x.copy()))
        found.warned += [str(w.message) for w in caught if w.category is RecompileWarning]
        found.printed.append(text.getvalue())
        found.states.append(picture([state, CALLS]))
    if hasattr(g, "cache_info"):
        found.traces = g.cache_info().traces
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(record=True):
            for _ in range(3):
                g(xs[-1].copy())  # nothing has changed
        found.info = g.cache_info()
    return found


def slopes(name: str) -> list[np.ndarray]:
    """Gradients of the plain program, each by finite differences in the last of the calls."""
    found, eps = [], 1e-6
    for turn, x in enumerate(XS):
        gradient = np.zeros(x.size)
        for i in range(x.size):
            up, down = x.copy(), x.copy()
            up[i] += eps
            down[i] -= eps
            ends = [run(name, lambda f: f, [*XS[:turn], end]).values[-1] for end in (up, down)]
            gradient[i] = (ends[0] - ends[1]) / (2 * eps)
        found.append(gradient)
    return found


def assert_same(got: Run, expected: Run) -> None:
    for turn, (value, right) in enumerate(zip(got.values, expected.values, strict=True)):
        same = picture(np.asarray(value)) == picture(np.asarray(right))
        assert same, f"call {turn}: {value!r}, plain: {right!r}"
        assert got.printed[turn] == expected.printed[turn], f"call {turn}: printed"
        assert got.states[turn] == expected.states[turn], f"call {turn}: state"


def assert_compiled(name: str, got: Run) -> None:
    if name in EAGER:
        assert len(got.warned) == 1, got.warned
        assert EAGER[name] in got.warned[0], got.warned
        return
    assert not got.warned, got.warned
    assert got.info.hits > 0, f"{name} never ran compiled and says nothing: {got.info}"


@pytest.mark.parametrize("name", USERS)
def test_compiled(name):
    got = run(name, tg.compile, XS)
    assert_same(got, run(name, lambda f: f, XS))
    assert_compiled(name, got)


@pytest.mark.parametrize("name", USERS)
def test_value_and_grad(name):
    got = run(name, tg.value_and_grad, XS)
    gradients = [gradient for _, gradient in got.values]
    got.values = [value for value, _ in got.values]
    assert_same(got, run(name, lambda f: f, XS))
    for turn, (gradient, right) in enumerate(zip(gradients, slopes(name), strict=True)):
        np.testing.assert_allclose(gradient, right, rtol=1e-5, atol=1e-6, err_msg=f"call {turn}")
    assert_compiled(name, got)


def test_there_are_forty():
    assert len(USERS) >= 40


def main() -> None:
    """A line for each program: how it ran, how often it was traced, what is wrong."""
    for name in USERS:
        for transform in (tg.compile, tg.value_and_grad):
            print(f"{name:24} {transform.__name__:15}", said_of(name, transform))


def said_of(name: str, transform: Any) -> str:
    try:
        got = run(name, transform, XS)
    except Exception as error:
        return f"WRONG raised {type(error).__name__}: {error}"
    wrong = ""
    try:
        if transform is tg.value_and_grad:
            for turn, ((_, gradient), right) in enumerate(
                zip(got.values, slopes(name), strict=True)
            ):
                np.testing.assert_allclose(gradient, right, 1e-5, 1e-6, err_msg=f"call {turn}")
            got.values = [value for value, _ in got.values]
        assert_same(got, run(name, lambda f: f, XS))
    except AssertionError as error:
        wrong = " WRONG " + " ".join(str(error).split())[:200]
    how = "compiled" if got.info.hits > 0 else "eager"
    return f"{how}, {got.traces} traces in 5 calls {got.warned}{wrong}"


if __name__ == "__main__":
    main()


def test_numbers_of_arguments_in_c_code_that_takes_python_numbers_alone():
    def averaged(x, values):
        return (x * statistics.mean(values) + statistics.median(values)).sum()

    def through_text(x, settings):
        read = json.loads(json.dumps(settings))
        return (x * read["b"]["c"] + sum(read["a"])).sum()

    x = np.array([1.0, -0.5, 2.0])
    for f, given, others in (
        (averaged, [1.0, 2.0, 4.0], [2.0, 2.0, 5.0]),
        (through_text, {"a": [1.0, 2.0], "b": {"c": 3.0}}, {"a": [1.5], "b": {"c": 2.0}}),
    ):
        compiled, both = tg.compile(f), tg.value_and_grad(f)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RecompileWarning)
            for argument in (given, others, given):
                assert compiled(x, argument) == both(x, argument)[0] == f(x, argument)
            with pytest.raises(LostGradientError):
                tg.grad(f, argnums=1)(x, given)


def test_a_frozen_dataclass_that_the_function_changes():
    @dataclass(frozen=True)
    class Settings:
        n: int = 0

    def f(x, settings):
        object.__setattr__(settings, "n", settings.n + 1)
        return x * settings.n

    settings, compiled = Settings(), tg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecompileWarning)
        assert [compiled(2.0, settings) for _ in range(3)] == [2.0, 4.0, 6.0]
    assert settings.n == 3


def test_an_object_whose_text_cannot_be_had():
    class Settings:
        k = 2.0

        def __repr__(self):
            raise RuntimeError("no text")

    assert tg.compile(lambda x, settings: x * settings.k)(1.5, Settings()) == 3.0


def test_what_lists_beside_arrays_give_is_stored_as_arrays():
    state = SimpleNamespace(last=None)

    def f(x):
        state.last = x * [1, 2, 3] - [True, False, True] * x
        return x + np.clip(x, [0, 0, 0], [1, 1, 1])

    compiled = tg.compile(f)
    for _ in range(2):
        compiled(np.ones(3))
        assert type(state.last) is np.ndarray and state.last.tolist() == [0.0, 2.0, 2.0]


def test_what_is_made_like_an_array_is_stored_as_an_array():
    state = SimpleNamespace(moments={})

    def f(x):
        moments = state.moments
        if "m" not in moments:
            moments["m"] = np.zeros_like(x)
        moments["m"] = 0.9 * moments["m"] + x
        state.ones, state.more = np.ones_like(x), np.full_like(x, 2.0) + 1.0
        return moments["m"].sum()

    compiled = tg.compile(f)
    for _ in range(4):
        compiled(np.ones(3))
        assert all(type(x) is np.ndarray for x in (state.moments["m"], state.ones, state.more))
    assert state.moments["m"][0] == 1.0 + 0.9 * (1.0 + 0.9 * (1.0 + 0.9))


def test_arrays_of_numpys_are_written_to_in_eager_calls_too():
    log = []

    def f(x):
        log.append(lambda: 1)  # no program does that again
        y = np.zeros(3)
        y += x
        v = y[1:]
        v *= x[0]
        np.add.at(y, [0, 0], x[1])
        np.multiply(x, 2.0, out=v[:1].repeat(3))
        return y

    compiled = tg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecompileWarning)
        for k in range(6):
            x = np.arange(1.0, 4.0) * k
            assert compiled(x).tolist() == f(x).tolist()


def test_complex_arrays_are_filled():
    def f(x):
        y = np.zeros(3, complex)
        y[1], y[0] = x[1], 1j * x[0]
        return y

    assert tg.compile(f)(np.arange(1.0, 4.0)).tolist() == [1j, 2.0, 0.0]


@pytest.mark.parametrize("a", [5.5, -0.3, 2.6])
def test_rounding_a_number_gives_an_int(a):
    for f in (round, math.trunc, math.floor, lambda a: round(a) // 2, lambda a: round(a, 1)):
        compiled = tg.compile(lambda a, f=f: f(a))
        for _ in range(2):
            assert compiled(a) == f(a) and isinstance(compiled(a), type(f(a)))


def test_an_array_beside_what_is_no_number():
    x = np.ones(2)
    for f in (lambda x: x == "a", lambda x: x != "a", lambda x: x == None):  # noqa: E711
        assert tg.compile(f)(x).tolist() == f(x).tolist()
    assert tg.compile(lambda a: a == "a")(1.0) is False


def test_keys_that_are_equal_are_not_the_same():
    compiled = tg.compile(lambda d: list(d))
    for _ in range(2):
        for key in (1, True, 1.0, 0.0, -0.0, (1, 2), (True, 2), "a"):
            (found,) = compiled({key: 2.0})
            assert repr(found) == repr(key)


def test_rows_that_are_exchanged_where_the_data_says():
    def decomposed(A):
        A = A.copy()
        n = len(A)
        for k in range(n - 1):
            i = k + np.argmax(np.abs(A[k:, k]))
            A[[k, i]] = A[[i, k]]
            for r in range(k + 1, n):
                A[r, k] /= A[k, k]
                A[r, k + 1 :] -= A[r, k] * A[k, k + 1 :]
        return A

    compiled = tg.compile(decomposed)
    for seed in range(4):
        A = np.random.default_rng(seed).normal(size=(4, 4))
        assert compiled(A).tolist() == decomposed(A).tolist()


def test_numpys_own_joining_by_brackets():
    def f(x):
        return np.sum(np.r_[x, 1.0, x[::-1] * 2.0] ** 2) + np.c_[x, x * x].sum() + np.r_[0:3].sum()

    x = np.arange(1.0, 4.0)
    for _ in range(2):
        assert tg.compile(f)(x) == f(x)
    assert tg.grad(f)(x).tolist() == [13.0, 25.0, 37.0]


def test_sizes_are_ints_beside_any_dtype():
    x = np.arange(3, dtype=np.float32)
    for f in (lambda x: x * x.size, lambda x: x.sum() / x.size, lambda x: x * len(x)):
        found, tensor = tg.compile(f)(x), f(tg.tensor(x))
        assert found.dtype == f(x).dtype == tensor.dtype == np.float32
        assert found.tolist() == f(x).tolist() == tensor.tolist()
    assert tg.compile(lambda x: x if type(x.size) is int else None)(x) is not None
