"""Jobs that keep settings, units, tables and logs beside what they compute, as users write them."""

from __future__ import annotations

import contextvars
import functools
import logging
import math
import os
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from jobs import job

METHODS = threading.local()
PRECISION: contextvars.ContextVar[str] = contextvars.ContextVar("PRECISION", default="full")


@job(lambda rng: (rng.normal(size=4),))
def settings_of_a_thread_and_a_context():
    METHODS.scale = 2.0

    def scale():
        return getattr(METHODS, "scale", 1.0)

    def f(x):
        y = np.tanh(x * scale())
        if PRECISION.get() == "half":
            y = y * 0.5
        return y.sum()

    def between(turn):
        METHODS.scale = 1.0 + turn
        PRECISION.set("half" if turn in (2, 3) else "full")
        if turn == 4:
            del METHODS.scale

    return f, None, between


@job(lambda rng: (rng.normal(size=4),), eager="warn_explicit")
def warnings_and_logs():
    log = logging.getLogger("jobs.simulation")
    log.setLevel(logging.ERROR)
    state = SimpleNamespace(limit=10.0, seen=[])

    def f(x):
        total = np.sum(np.exp(x))
        if total > state.limit:
            warnings.warn(f"total exceeds {state.limit}", RuntimeWarning, stacklevel=1)
        log.info("total is %s", total)
        state.seen.append(total)
        return np.log(total)

    return f, state, lambda turn: setattr(state, "limit", 10.0 - 2.0 * turn)


@job(lambda rng: (rng.normal(size=4),))
def switches_in_the_environment():
    os.environ.pop("JOB_MODE", None)

    def f(x):
        mode = os.environ.get("JOB_MODE", "plain")
        return np.sum(x**2 if mode == "plain" else np.abs(x) ** 3)

    def between(turn):
        if turn == 2:
            os.environ["JOB_MODE"] = "cubed"
        if turn == 4:
            del os.environ["JOB_MODE"]

    return f, None, between


@job(lambda rng: (rng.uniform(0.5, 2.0, size=3),))
def quantities_with_units():
    class Quantity:
        factors: ClassVar[dict[str, float]] = {"m": 1.0, "km": 1000.0, "s": 1.0, "h": 3600.0}

        def __init__(self, value, **units):
            self.value, self.units = value, units

        def __mul__(self, other):
            if not isinstance(other, Quantity):
                return Quantity(self.value * other, **self.units)
            units = dict(self.units)
            for u, p in other.units.items():
                units[u] = units.get(u, 0) + p
            return Quantity(self.value * other.value, **{u: p for u, p in units.items() if p})

        __rmul__ = __mul__

        def __truediv__(self, other):
            return self * Quantity(1.0 / other.value, **{u: -p for u, p in other.units.items()})

        def si(self):
            scale = 1.0
            for u, p in self.units.items():
                scale *= self.factors[u] ** p
            return self.value * scale

        def __repr__(self):
            return f"{self.value} {self.units}"

    state = SimpleNamespace(unit="km", shown=[])

    def f(x):
        length, time = Quantity(x[0], **{state.unit: 1}), Quantity(x[1], h=1)
        speed = 2.0 * length / time
        state.shown.append(sorted(speed.units.items()))
        return speed.si() * x[2]

    def between(turn):
        state.unit = "km" if turn % 2 else "m"
        if turn == 4:
            Quantity.factors["h"] = 60.0

    return f, [state, Quantity.factors], between


@job(lambda rng: (rng.uniform(0.0, 4.0, size=3),))
def table_that_is_looked_up():
    class Table:
        def __init__(self, xs, ys):
            self.xs, self.ys = list(xs), list(ys)

        def add(self, x, y):
            at = sum(v < x for v in self.xs)
            self.xs.insert(at, x)
            self.ys.insert(at, y)

        def __call__(self, x):
            i = np.clip(np.searchsorted(self.xs, x) - 1, 0, len(self.xs) - 2)
            xs, ys = np.asarray(self.xs), np.asarray(self.ys)
            t = (x - xs[i]) / (xs[i + 1] - xs[i])
            return ys[i] + t * (ys[i + 1] - ys[i])

        def interp(self, x):
            return np.interp(x, self.xs, self.ys)

    table = Table([0.0, 1.0, 2.0, 4.0], [0.0, 2.0, 1.0, 5.0])

    def between(turn):
        table.ys[1] += 0.5
        if turn == 3:
            table.add(3.0, -1.0)

    return lambda x: np.sum(table(x) ** 2) + table.interp(x).sum(), table, between


@job(lambda rng: (rng.normal(size=(5, 2)),))
def springs_between_nodes():
    @dataclass
    class Mesh:
        edges: np.ndarray
        stiffness: float = 2.0
        rest: float | np.ndarray = 1.0
        fixed: tuple = (0,)

        def forces(self, x):
            i, j = self.edges.T
            d = x[i] - x[j]
            length = np.sqrt(np.sum(d**2, axis=1))
            f = (-self.stiffness * (length - self.rest) / length)[:, None] * d
            total = np.zeros_like(x)
            np.add.at(total, i, f)
            np.add.at(total, j, -f)
            total[list(self.fixed)] = 0.0
            return total

    mesh = Mesh(np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]]))

    def f(x):
        for _ in range(3):
            x = x + 0.05 * mesh.forces(x)
        return np.sum(x**2)

    def between(turn):
        mesh.stiffness += 0.5
        if turn == 2:
            mesh.rest = np.linspace(0.5, 1.5, 5)
        if turn == 3:
            mesh.fixed = (0, 2)
        if turn == 4:
            mesh.edges[0] = [0, 2]

    return f, mesh, between


@job(lambda rng: (rng.normal(size=6),), eager='print(f"step')
def progress_every_few_calls():
    class Progress:
        def __init__(self, every):
            self.every, self.step, self.lr = every, 0, 0.1

        def report(self, loss):
            self.step += 1
            if self.step % self.every == 0:
                print(f"step {self.step:3d}  lr {self.lr:.3g}  loss {loss:.6f}")

    progress = Progress(2)

    def f(x):
        loss = np.sum(np.diff(x) ** 2) + progress.lr * np.sum(np.abs(x))
        progress.report(loss)
        return loss

    def between(turn):
        progress.lr *= 0.5
        if turn == 3:
            progress.every = 1

    return f, progress, between


@job(lambda rng: (rng.uniform(0.2, 1.0, size=3),))
def solver_chosen_by_name():
    class Solver:
        order: Callable[..., Any] | int = 1

        def __init__(self, method):
            self.method, self.evaluations = method, 0

        def _euler(self, f, y, h):
            return y + h * f(y)

        def _heun(self, f, y, h):
            k = f(y)
            return y + h / 2 * (k + f(y + h * k))

        def integrate(self, f, y, end, n):
            step = getattr(self, f"_{self.method}", None)
            if step is None:
                raise ValueError(self.method)

            def counted(y):
                self.evaluations += 1
                return f(y)

            h = end / n
            for _ in range(n):
                y = step(counted, y, h)
            return y

    solver = Solver("euler")

    def f(p):
        try:
            return solver.integrate(lambda y: p[0] * y * (1.0 - y / p[1]), p[2], 2.0, 5)
        except ValueError:
            return p.sum()

    def between(turn):
        solver.method = ["euler", "heun", "midpoint"][turn % 3]

    return f, solver, between


@job(lambda rng: (rng.normal(size=5),))
def weighted_quantile():
    class Quantiles:
        def __init__(self, qs):
            self.qs, self.weights, self.last = qs, None, {}

        def __call__(self, x):
            order = np.argsort(x)
            weights = np.ones(len(x)) if self.weights is None else np.asarray(self.weights)
            cumulative = np.cumsum(weights[order])
            cumulative = (cumulative - 0.5 * weights[order]) / cumulative[-1]
            self.last = {q: np.interp(q, cumulative, x[order]) for q in self.qs}
            return sum(self.last.values())

    quantiles = Quantiles([0.1, 0.5])

    def between(turn):
        if turn == 2:
            quantiles.weights = [1.0, 2.0, 1.0, 3.0, 1.0]
        if turn == 3:
            quantiles.qs.append(0.9)
        if turn == 4:
            quantiles.weights[0] = 5.0

    return quantiles.__call__, quantiles, between


@job(lambda rng: (rng.normal(size=4), rng.normal(size=4)), argnums=(0, 1))
def spline_of_cached_matrices():
    @functools.cache
    def basis(knots, degree):
        x = np.asarray(knots)
        return np.vstack([x**k for k in range(degree + 1)]).T

    spec = SimpleNamespace(knots=(0.0, 0.3, 0.7, 1.0), degree=3)

    @functools.lru_cache
    def penalty(n):
        d = np.diff(np.eye(n), axis=0)
        return d.T @ d

    def f(coefficients, y):
        b = basis(spec.knots, spec.degree)
        fit = b @ coefficients[: spec.degree + 1]
        rough = coefficients @ penalty(len(coefficients)) @ coefficients
        return np.sum((fit - y) ** 2) + 0.1 * rough

    def between(turn):
        if turn == 2:
            spec.degree = 2
        if turn == 3:
            spec.knots = (0.0, 0.2, 0.5, 1.0)
        if turn == 4:
            basis.cache_clear()

    return f, spec, between


@job(lambda rng: (rng.normal(size=5),), eager="state.rng")
def bootstrap_of_a_generator():
    rng = np.random.default_rng(3)
    state = SimpleNamespace(rng=rng, rounds=3, means=[])

    def f(x):
        means = []
        for _ in range(state.rounds):
            index = state.rng.integers(0, len(x), size=len(x))
            means.append(x[index].mean())
        state.means = means
        return np.std(means) + np.mean(means) ** 2

    return f, state, lambda turn: setattr(state, "rounds", 3 + turn % 2)


@job(lambda rng: (rng.normal(size=4),))
def hidden_states_by_name():
    states = {"calm": {"mu": 0.0, "stay": 0.9}, "wild": {"mu": 1.0, "stay": 0.7}}

    def logsumexp(values):
        m = max(values)
        return m + math.log(sum(math.exp(v - m) for v in values))

    def loglik(xs):
        names = list(states)
        alpha = {s: -math.log(len(names)) for s in names}
        for x in xs:
            new = {}
            for s in names:
                arrive = []
                for r in names:
                    stay = states[r]["stay"]
                    p = stay if r == s else (1.0 - stay) / (len(names) - 1)
                    arrive.append(alpha[r] + math.log(p))
                new[s] = logsumexp(arrive) - 0.5 * (x - states[s]["mu"]) ** 2
            alpha = new
        return logsumexp(list(alpha.values()))

    def between(turn):
        states["wild"]["mu"] += 0.5
        if turn == 3:
            states["mixed"] = {"mu": -1.0, "stay": 0.5}

    return loglik, states, between


@job(lambda rng: (rng.normal(size=6),))
def autoregression_with_residuals():
    class AR:
        def __init__(self, order):
            self.coef, self.order, self.residuals = np.full(order, 0.4), order, []

        def __getitem__(self, k):
            return self.coef[k]

        def __len__(self):
            return self.order

        def fit_error(self, x):
            self.residuals = [
                x[t] - sum(self[k] * x[t - 1 - k] for k in range(len(self)))
                for t in range(len(self), len(x))
            ]
            return np.array(self.residuals).std() + np.mean(np.square(self.residuals))

    model = AR(2)

    def between(turn):
        model.coef[0] -= 0.1
        if turn == 3:
            model.coef, model.order = np.array([0.2, 0.1, 0.05]), 3

    return model.fit_error, model, between


@job(lambda rng: (rng.uniform(0.0, 2.0, size=(4, 2)),))
def image_warped_bilinearly():
    class Image:
        def __init__(self, pixels):
            self.pixels = pixels
            self.mode = "edge"

        @functools.cached_property
        def mean(self):
            return self.pixels.mean()

        def sample(self, points):
            h, w = self.pixels.shape
            y, x = points[:, 0], points[:, 1]
            y0, x0 = np.floor(y).astype(int), np.floor(x).astype(int)
            fy, fx = y - y0, x - x0
            if self.mode == "edge":
                y0, x0 = np.clip(y0, 0, h - 2), np.clip(x0, 0, w - 2)
            else:
                y0, x0 = y0 % (h - 1), x0 % (w - 1)
            p = self.pixels
            top = p[y0, x0] * (1 - fx) + p[y0, x0 + 1] * fx
            bottom = p[y0 + 1, x0] * (1 - fx) + p[y0 + 1, x0 + 1] * fx
            return top * (1 - fy) + bottom * fy

    image = Image(np.arange(12.0).reshape(3, 4) ** 1.5)

    def f(points):
        return np.sum((image.sample(points) - image.mean) ** 2)

    def between(turn):
        image.pixels[1, 1] = 10.0 * turn
        if turn == 2:
            del image.mean
        if turn == 3:
            image.mode = "wrap"
        if turn == 4:
            image.mean = 1.0

    return f, image, between


@job(lambda rng: (rng.normal(size=3),))
def results_kept_by_attribute():
    class Recorder:
        def __init__(self):
            object.__setattr__(self, "data", {})
            object.__setattr__(self, "writes", 0)

        def __setattr__(self, name, value):
            self.data[name] = value
            object.__setattr__(self, "writes", self.writes + 1)

        def __getattr__(self, name):
            try:
                return self.data[name]
            except KeyError:
                raise AttributeError(name) from None

    r = Recorder()

    def f(x):
        r.norm = np.sqrt(np.sum(x**2))
        r.direction = x / r.norm
        scale = getattr(r, "scale", 1.0)
        return scale * r.direction @ np.arange(3.0)

    def between(turn):
        if turn == 2:
            r.scale = 3.0
        if turn == 4:
            del r.data["scale"]

    return f, r, between


@job(lambda rng: (rng.normal(size=3),))
def configuration_with_sections():
    class Config(dict):
        def __getattr__(self, name):
            value = self[name]
            return Config(value) if isinstance(value, dict) else value

    class Registry(type):
        models: ClassVar[dict[str, type]] = {}

        def __new__(mcs, name, bases, namespace):
            cls = super().__new__(mcs, name, bases, namespace)
            mcs.models[name.lower()] = cls
            return cls

        @property
        def known(cls):
            return len(cls.models)

    class Linear(metaclass=Registry):
        def __call__(self, x, k):
            return k * x

    class Cubic(metaclass=Registry):
        def __call__(self, x, k):
            return k * x**3

    config = Config(model={"kind": "linear", "k": 2.0}, loss={"p": 2})

    def f(x):
        model = Registry.models[config.model.kind]()
        out = model(x, config.model.get("k", 1.0))
        return np.sum(np.abs(out) ** config.loss.p) + Linear.known

    def between(turn):
        config["model"]["kind"] = ["linear", "cubic"][turn % 2]
        if turn == 3:
            del config["model"]["k"]
        if turn == 4:
            config["loss"] = {"p": 3}

    return f, [config, Registry.models], between


@job(lambda rng: (rng.normal(size=4),))
def phases_of_a_signal():
    class Analyzer:
        def __init__(self):
            self.windows, self.log = {}, []

        def window(self, n, kind="hann"):
            key = n, kind
            w = self.windows.get(key)
            if w is None:
                w = self.windows[key] = getattr(self, kind)(n)
            return w

        def hann(self, n):
            return 0.5 - 0.5 * np.cos(2 * np.pi * (np.arange(n) + 0.5) / n)

        def flat(self, n):
            return np.ones(n)

        def power(self, x, kind):
            spectrum = np.fft.rfft(x * self.window(len(x), kind))
            power = np.abs(spectrum) ** 2
            self.log += [kind, power.sum()]
            return power

    analyzer = Analyzer()
    state = SimpleNamespace(kind="hann", analyzer=analyzer)

    def f(x):
        p = analyzer.power(x, state.kind)
        p = p / p.sum()
        return -np.sum(p * np.log(p + 1e-12))

    def between(turn):
        state.kind = "flat" if turn in (2, 3) else "hann"
        if turn == 4:
            analyzer.windows[4, "hann"] *= 2.0
        if turn == 5:
            analyzer.windows.pop((4, "hann"))

    return f, state, between


EVENTS: list[Any] = []
TOTAL = 0.0


@job(lambda rng: (rng.normal(size=3),), eager="EVENTS")
def events_of_the_module():
    global TOTAL
    EVENTS.clear()
    TOTAL = 0.0

    def emit(kind, **data):
        global TOTAL
        EVENTS.append((kind, data))
        TOTAL += data.get("amount", 0.0)

    def f(x):
        emit("start", n=len(x))
        try:
            y = np.log1p(x**2).sum()
            if len(EVENTS) > 100:
                raise RuntimeError("too many events")
        finally:
            emit("end", amount=2.5)
        return y * (1.0 + 0.1 * TOTAL)

    def between(turn):
        global TOTAL
        if turn == 3:
            TOTAL = -1.0

    return f, SimpleNamespace(events=EVENTS, total=lambda: TOTAL), between


@job(lambda rng: (rng.normal(size=5),))
def sums_of_a_priority_queue():
    import heapq

    tasks = [(3, "b", 0.5), (1, "a", 2.0), (2, "c", 1.5)]

    def f(x):
        queue = list(tasks)
        heapq.heapify(queue)
        total, at = 0.0, 0
        while queue and at < len(x):
            _, name, weight = heapq.heappop(queue)
            total = total + weight * x[at] ** (2 if name == "a" else 1)
            at += 1
        return total

    def between(turn):
        tasks.append((turn % 4, "d", 0.1 * turn))
        if turn == 3:
            tasks.pop(0)

    return f, tasks, between
