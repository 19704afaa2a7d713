"""Programs that read Python state in every way known to us; the staleness fuzzer edits that state.

Each function here makes fresh state and returns a function of one array, which reads that state
and changes none of it. `PROGRAMS` lists them by name.
"""

from __future__ import annotations

import enum
import functools
import math
import types
from collections import ChainMap, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tracegrad as tg

PROGRAMS: dict[str, Callable[[], Callable[[Any], Any]]] = {}

SCALE: Any = 2.0
MODE: Any = "up"
LIMITS: Any = {"low": -1.0, "high": [1.0, 2.0]}
WEIGHTS: Any = np.array([1.0, -2.0, 0.5])
EDITED_GLOBALS = ("SCALE", "MODE", "LIMITS", "WEIGHTS", "global_layer")


def program(make: Callable[[], Any]) -> Callable[[], Any]:
    PROGRAMS[make.__name__] = make
    return make


def global_layer(x, k=1.5):
    return x * k + SCALE


@program
def global_state():
    def f(x):
        y = global_layer(x) * WEIGHTS
        if MODE == "up":
            return y + LIMITS["high"][0]
        return y - LIMITS["low"]

    return f


@program
def classes_with_configs():
    class Config:
        def __init__(self):
            self.rate = 0.5
            self.act = "tanh"
            self.inner = types.SimpleNamespace(depth=2, bias=True)

    class Model:
        gain = 1.25

        def __init__(self):
            self.cfg = Config()
            self.w = np.array([0.5, 1.0, -1.0])
            self.acts = {"tanh": np.tanh, "sin": np.sin}

        def __call__(self, x):
            for _ in range(self.cfg.inner.depth):
                x = self.acts[self.cfg.act](x * self.w * self.cfg.rate)
            return x * self.gain + 1.0 if self.cfg.inner.bias else x * self.gain

    return Model()


@program
def methods_bound():
    class Net:
        def __init__(self):
            self.scale = 3.0
            self.shift = np.array([1.0, 2.0, 3.0])

        def forward(self, x):
            return self.activate(x * self.scale) + self.shift

        @staticmethod
        def activate(x):
            return np.sin(x)

    return Net().forward


@program
def cells():
    a, b, word, w = 2.0, [1.0, 2.0, 3.0], "add", np.ones(3)

    def inner(x):
        return x * a

    def f(x):
        y = inner(x)
        for v in b:
            y = y + v if word == "add" else y * v
        return y * w

    return f


@program
def nested_cells():
    depth, rates = 2, (0.5, 1.5)

    def make(rate):
        offset = rate * 2.0

        def layer(x):
            return x * rate + offset

        return layer

    layers = [make(r) for r in rates]

    def f(x):
        def apply(x, n):
            return x if n == 0 else apply(layers[n % 2](x), n - 1)

        return apply(x, depth)

    return f


@program
def defaults():
    def scaled_by(x, a=2.0, b=(1.0, "left"), *, c=0.5, mode="plus"):
        y = x * a if b[1] == "left" else x / a
        return y + c * b[0] if mode == "plus" else y - c

    def f(x, table={"k": 2.0}):  # noqa: B006
        return scaled_by(x) * table["k"] + scaled_by(x, 3.0)

    return f


@program
def inheritance():
    class Base:
        gain = 1.5

        def scale(self, x):
            return x * self.gain

        @property
        def total(self):
            return self.gain + self.offset

        @classmethod
        def shared(cls, x):
            return x + cls.gain

    class Middle(Base):
        offset = 0.25

        def scale(self, x):
            return super().scale(x) + self.total

    class Leaf(Middle):
        def __init__(self):
            self.own = 2.0

        def scale(self, x):
            return super().scale(x) * self.own

    leaf = Leaf()
    return lambda x: leaf.shared(leaf.scale(x))


@program
def dispatch():
    class Table:
        def __init__(self):
            self.entries = {"sin": np.sin, "double": lambda x: x * 2.0, "square": np.square}
            self.order = ["sin", "double"]

        def __getitem__(self, name):
            return self.entries[name]

    table = Table()

    def f(x):
        for name in table.order:
            x = table[name](x)
        return x

    return f


@program
def containers():
    items: Any = [1.0, (2.0, [3.0]), {"deep": {"deeper": 0.5}}]
    names: Any = {"relu", "bias"}
    window: Any = deque([1.0, 2.0, 3.0], maxlen=3)
    order: Any = OrderedDict(a=1.0, b=2.0)
    default: Any = defaultdict(float, a=2.0)
    chain: Any = ChainMap({"a": 1.0}, {"b": 3.0})

    def f(x):
        y = x * items[0] + items[1][0] * items[1][1][0] + items[2]["deep"]["deeper"]
        y = np.maximum(y, 0.0) if "relu" in names else y
        for i, value in enumerate(order.values()):
            y = y + value * i
        return y * sum(window) + default.get("a", 1.0) + chain["b"] * len(chain)

    return f


@dataclass
class Options:
    rate: Any = 0.5
    layers: Any = field(default_factory=lambda: [1.0, 2.0])
    mode: Any = "sum"


@dataclass(frozen=True)
class Frozen:
    scale: Any = 2.0
    inner: Any = field(default_factory=Options)


@program
def dataclasses():
    options, frozen = Options(), Frozen()

    def f(x):
        y = x * options.rate * frozen.scale
        for width in options.layers:
            y = y + width if options.mode == "sum" else y * width
        return y - frozen.inner.rate

    return f


Point = namedtuple("Point", ["a", "b"])


@program
def named_tuples():
    point = Point(1.5, Point(np.array([1.0, 2.0, 3.0]), "x"))

    def f(x):
        return x * point.a + point.b.a if point.b.b == "x" else x - point.a

    return f


@program
def slots():
    class Slotted:
        __slots__ = ("a", "b", "w")

        def __init__(self):
            self.a, self.b, self.w = 2.0, True, np.ones(3)

        def value(self):
            return self.a if self.b else -self.a

    s = Slotted()
    return lambda x: x * s.value() + s.w


@program
def partials():
    options = {"k": 2.0}

    def scaled(x, k, shift=0.0, *, options=None):
        return x * k + shift + options["k"]

    f = functools.partial(scaled, k=1.5, options=options)
    g = functools.partial(f, shift=2.0)
    return lambda x: g(x) * f(x)


@program
def lambdas_in_lists():
    k = 0.5
    steps = [lambda x: x * k, lambda x: x + 1.0, np.cos, functools.partial(np.multiply, 3.0)]
    chosen = [0, 1, 3]

    def f(x):
        for i in chosen:
            x = steps[i](x)
        return x

    return f


@program
def modules():
    settings = types.ModuleType("settings_of_a_program")
    settings.rate = 0.5
    settings.inner = types.SimpleNamespace(names=["a"], rate=2.0)
    settings.act = lambda x: np.tanh(x)

    def f(x):
        y = settings.act(x) * settings.rate
        return y * settings.inner.rate if "a" in settings.inner.names else y

    return f


class Color(enum.Enum):
    RED = 1.0
    BLUE = 2.0


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


@program
def enums():
    state = types.SimpleNamespace(color=Color.RED, level=Level.LOW)

    def f(x):
        y = x * state.color.value if state.color is Color.RED else x + state.color.value
        return y * state.level

    return f


@program
def arrays():
    state = types.SimpleNamespace(w=np.array([1.0, 2.0, 3.0]), b=np.array(0.5))
    params = {"w": [np.array([2.0, 2.0, 2.0])], "b": (np.zeros(3), np.array([1.0]))}

    def f(x):
        y = x * state.w + state.b
        return y * params["w"][0] + params["b"][0] - params["b"][1]

    return f


@program
def arrays_that_decide():
    w, v = np.array([1.0, -0.5, 0.25]), np.array([2.0, 1.0, 1.0])

    def f(x):
        y = x * w
        if w.sum() > 0.0:
            y = y * 2.0
        if (v > 1.0).any():
            return y + v
        return y - v

    return f


@program
def arrays_as_numbers():
    w, n, at = np.array([2.0, 3.0, 0.5]), np.array([2, 1]), np.array([1, 0, 2])

    def f(x):
        y = x * w * float(w[0]) + 2.0
        for _ in range(int(n[0])):
            y = y * 0.5
        return y[at] + y[int(at[0])]

    return f


@program
def arrays_that_choose():
    scores = np.array([0.1, 0.7, 0.2])
    table = {0: np.sin, 1: np.cos, 2: np.tanh}
    layers = [1.0, 2.0, 3.0]

    def f(x):
        best = max(range(3), key=lambda i: scores[i])
        y = table[int(np.argmax(scores))](x) * layers[best]
        return y * scores

    return f


@program
def arrays_by_their_shapes():
    w, table = np.ones((2, 3)), [np.ones(3), np.ones(1)]

    def f(x):
        y = x * w / w.shape[0] + len(w)
        for v in table:
            y = y * v if v.size > 1 else y + v
        return y * w.ndim

    return f


@program
def arrays_made_on_the_way():
    class Net:
        def __init__(self):
            self.w = np.array([[1.0, 2.0, 3.0], [0.5, -0.5, 1.0]])
            self.norm = 1.0

        @property
        def unit(self):
            return self.w / (self.norm * np.abs(self.w).max())

        def __call__(self, x):
            return x * self.unit.T[:, 0] + self.w[1]

    return Net()


@program
def tensors():
    class Net:
        def __init__(self):
            self.w = tg.tensor([1.0, 2.0, 3.0])
            self.parts = [tg.tensor([0.5, 0.5, 0.5]), tg.tensor(2.0)]
            self.mode = "scaled"

        def __call__(self, x):
            y = x * self.w + self.parts[0]
            return y * self.parts[1] if self.mode == "scaled" else y

    net = Net()
    return lambda x: net(x) * 1.0


@program
def tensors_that_decide():
    t = tg.tensor([1.0, -1.0, 3.0])

    def f(x):
        y = x * 2.0 if t[0] > 0.5 else x
        return y + t * float(t[2])

    return f


@program
def flags():
    state = types.SimpleNamespace(zero=0, no=False, none=None, minus=-0.0, nan=math.nan, one=1)

    def f(x):
        y = x + state.zero
        if state.no is False:
            y = y * 2.0
        if state.none is not None:
            y = y + 3.0
        if math.copysign(1.0, state.minus) < 0:
            y = -y
        if state.nan != state.nan:
            y = y * 0.5
        return y * state.one if isinstance(state.one, int) else y

    return f


@program
def reflection():
    state = types.SimpleNamespace(a=1.0, b=2.0, name="a")
    kind = type("Kind", (), {"c": 3.0})

    def f(x):
        y = x * getattr(state, state.name) + getattr(state, "missing", 4.0)
        if hasattr(state, "extra"):
            y = y * 3.0
        return y + vars(state)["b"] * kind.c

    return f


@program
def special_methods():
    class Vector:
        def __init__(self, *values):
            self.values = list(values)

        def __len__(self):
            return len(self.values)

        def __iter__(self):
            return iter(self.values)

        def __contains__(self, v):
            return v in self.values

        def __getattr__(self, name):
            return self.values[0] if name == "first" else object.__getattribute__(self, name)

        def __eq__(self, other):
            return self.values == other.values

        __hash__ = None

    u, v = Vector(1.0, 2.0), Vector(1.0, 2.0)

    def f(x):
        for value in u:
            x = x * value + len(u)
        return x + u.first if u == v else x - 3.0 * (2.0 in u)

    return f


@program
def descriptors():
    class Scaled:
        def __init__(self, factor):
            self.factor = factor

        def __get__(self, instance, owner):
            return self if instance is None else instance.raw * self.factor

    class Net:
        rate = Scaled(2.0)
        table = {"k": 1.0}  # noqa: RUF012 - state of a class is what is tested

        def __init__(self):
            self.raw = 0.5

        @functools.cached_property
        def cached(self):
            return self.raw + 1.0

    net = Net()
    net.cached  # noqa: B018
    return lambda x: x * net.rate + net.cached * net.table["k"]


@program
def recursion_over_trees():
    tree = {"value": 1.0, "children": [{"value": 2.0, "children": []}, {"value": 3.0}]}

    def visit(node, x):
        y = x * node["value"]
        for child in node.get("children", ()):
            y = y + visit(child, y)
        return y

    return lambda x: visit(tree, x)


@program
def decorated():
    factor = 2.0

    def scaled(g):
        @functools.wraps(g)
        def run(x):
            return g(x) * factor

        return run

    @scaled
    def f(x):
        return np.sin(x) + offsets[0]

    offsets = [1.0, 2.0]
    return lambda x: f(x)


@program
def generators_and_matches():
    state = types.SimpleNamespace(kind="scale", amount=2.0, pair=(1.0, 2.0))

    def terms(x):
        for value in state.pair:
            yield x * value

    def f(x):
        y = sum(terms(x))
        match state:
            case types.SimpleNamespace(kind="scale", amount=amount):
                return y * amount
            case _:
                return y + len(state.kind)

    return f


class Meta(type):
    def __call__(cls, *args):
        return super().__call__(*args)

    @property
    def level(cls):
        return cls.base * 2.0


@program
def metaclasses():
    class Net(metaclass=Meta):
        base = 1.0

        def __init__(self, k):
            self.k = k

        def apply(self, x):
            return x * self.k + Net.level

    return lambda x: Net(2.0).apply(x)


@program
def aliases():
    a, b = types.SimpleNamespace(k=1.0), types.SimpleNamespace(k=2.0)
    state = types.SimpleNamespace(which=a, other=b, pick=True)

    def f(x):
        chosen = state.which if state.pick else state.other
        for o in (a, b, chosen):
            x = x * o.k
        return x

    return f
