"""Jobs that learn: models, losses, optimisers, schedules, logs, as users write them."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from jobs import job, nothing


def table(rng):
    return rng.normal(size=(6, 3)), (rng.random(6) > 0.5).astype(float)


@job(lambda rng: (rng.normal(size=3), *table(rng)))
def classifier_with_late_weights():
    class LogisticRegression:
        def __init__(self, l2=0.1):
            self.l2 = l2
            self.classes_ = None
            self.sample_weight = None
            self.n_iter_ = 0

        def _weights(self, y):
            if self.sample_weight is None:
                counts = np.bincount(y.astype(int), minlength=2)
                self.sample_weight = len(y) / (2.0 * np.maximum(counts, 1))
            return self.sample_weight[y.astype(int)]

        def loss(self, w, x, y):
            if self.classes_ is None:
                self.classes_ = [0, 1]
            self.n_iter_ += 1
            margin = (2.0 * y - 1.0) * (x @ w)
            losses = np.log1p(np.exp(-margin))
            return np.mean(losses * self._weights(y)) + self.l2 * np.dot(w, w)

    model = LogisticRegression()

    def between(turn):
        model.l2 *= 0.5
        if turn == 3:
            model.sample_weight = None

    return model.loss, model, between


@dataclass
class Dense:
    w: np.ndarray
    b: np.ndarray
    act: str = "relu"
    calls: int = 0

    ACTS = {"relu": lambda v: np.maximum(v, 0.0), "tanh": np.tanh, "none": lambda v: v}  # noqa: RUF012

    def __call__(self, x):
        self.calls += 1
        return self.ACTS[self.act](x @ self.w + self.b)


@dataclass
class Network:
    layers: list[Dense] = field(default_factory=list)
    name: str = "net"

    def add(self, *sizes, rng, acts):
        for (n, m), act in zip(itertools.pairwise(sizes), acts, strict=True):
            self.layers.append(Dense(rng.normal(size=(n, m)) / np.sqrt(n), np.zeros(m), act))
        return self

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


@job(lambda rng: (rng.normal(size=(5, 3)),))
def network_of_dataclasses():
    net = Network().add(3, 4, 2, rng=np.random.default_rng(0), acts=["tanh", "none"])
    target = np.array([[1.0, -1.0]])

    def loss(x):
        out = net(x)
        penalty = sum((layer.w**2).sum() for layer in net.layers)
        return ((out - target) ** 2).mean() + 1e-3 * penalty

    def between(turn):
        net.layers[0].w = net.layers[0].w - 0.1
        net.layers[1].b += 0.05
        if turn == 2:
            net.layers[0].act = "relu"
        if turn == 4:
            net.layers.append(Dense(np.eye(2), np.zeros(2), "tanh"))

    return loss, net, between


def parameters(rng):
    return {
        "hidden": {"w": rng.normal(size=(3, 4)), "b": rng.normal(size=4)},
        "out": {"w": rng.normal(size=4), "b": float(rng.normal())},
    }


@job(lambda rng: (parameters(rng), *table(rng)))
def dict_of_parameters_with_a_step_counter():
    config = {"weight_decay": 0.01, "clip": 3.0, "smoothing": {"eps": 0.05}}
    stats = {"steps": 0, "names": []}

    def predict(params, x):
        h = np.tanh(x @ params["hidden"]["w"] + params["hidden"]["b"])
        return h @ params["out"]["w"] + params["out"]["b"]

    def loss(params, x, y):
        stats["steps"] += 1
        if not stats["names"]:
            stats["names"].extend(f"{a}.{b}" for a, group in params.items() for b in group)
        eps = config["smoothing"].get("eps", 0.0)
        y = y * (1 - eps) + 0.5 * eps
        logits = np.clip(predict(params, x), -config["clip"], config["clip"])
        nll = np.logaddexp(0.0, logits) - y * logits
        decay = sum(np.sum(p**2) for group in params.values() for p in group.values())
        return nll.mean() + config["weight_decay"] * decay

    def between(turn):
        config["weight_decay"] *= 0.9
        if turn == 3:
            del config["smoothing"]["eps"]
        if turn == 4:
            config["clip"] = 1.5

    return loss, [config, stats], between


@job(lambda rng: (rng.normal(size=4),))
def warm_up_and_cosine_schedule():
    class Schedule:
        def __init__(self, base, warmup, total):
            self.base, self.warmup, self.total = base, warmup, total
            self.step = 0
            self.rates = []

        @property
        def rate(self):
            if self.step < self.warmup:
                return self.base * (self.step + 1) / self.warmup
            progress = (self.step - self.warmup) / max(1, self.total - self.warmup)
            return self.base * 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))

    schedule = Schedule(0.5, 2, 8)

    def look_ahead(x):
        rate = schedule.rate
        schedule.rates.append(rate)
        schedule.step += 1
        grad = 4 * x**3 - 2 * x
        x = x - rate * grad
        return np.sum(x**4 - x**2)

    return look_ahead, schedule, nothing


@job(lambda rng: (rng.normal(size=(8, 4)),))
def batch_norm_with_modes():
    class BatchNorm:
        def __init__(self, n, momentum=0.1):
            self.running_mean, self.running_var = np.zeros(n), np.ones(n)
            self.gamma, self.beta = np.ones(n), np.zeros(n)
            self.momentum = momentum
            self.training = True
            self.num_batches = 0

        @contextlib.contextmanager
        def evaluating(self):
            before, self.training = self.training, False
            try:
                yield self
            finally:
                self.training = before

        def __call__(self, x):
            if self.training:
                mean, var = x.mean(axis=0), x.var(axis=0)
                m = self.momentum
                self.running_mean = (1 - m) * self.running_mean + m * mean
                self.running_var = (1 - m) * self.running_var + m * var
                self.num_batches += 1
            else:
                mean, var = self.running_mean, self.running_var
            return self.gamma * (x - mean) / np.sqrt(var + 1e-5) + self.beta

    norm = BatchNorm(4)

    def f(x):
        train = np.sum(np.tanh(norm(x)))
        with norm.evaluating():
            test = np.sum(np.tanh(norm(x)))
        return train - 0.5 * test

    def between(turn):
        norm.gamma[0] += 0.5
        if turn == 2:
            norm.training = False
        if turn == 4:
            norm.training, norm.momentum = True, 0.5

    return f, norm, between


@job(lambda rng: (rng.normal(size=3),))
def early_stopping_with_messages():
    class EarlyStopping:
        def __init__(self, patience):
            self.patience, self.best, self.bad = patience, math.inf, 0
            self.stopped = False

        def update(self, loss):
            if loss < self.best - 1e-6:
                self.best, self.bad = loss, 0
                print(f"improved to {loss:.4f}")
            else:
                self.bad += 1
                print("no improvement,", self.bad, "of", self.patience)
            self.stopped = self.bad >= self.patience

    stopper = EarlyStopping(2)

    def f(x):
        loss = np.sum((x - np.array([0.1, 0.2, 0.3])) ** 2)
        stopper.update(loss)
        if stopper.stopped:
            print("stop")
        return loss

    return f, stopper, nothing


@job(lambda rng: (rng.normal(size=(2, 3)), rng.normal(size=(4, 2))))
def exponential_average_of_weights():
    class Averaged:
        def __init__(self, decay):
            self.decay, self.shadow, self.t = decay, None, 0

        def update(self, w):
            self.t += 1
            if self.shadow is None:
                self.shadow = w.copy()
            else:
                self.shadow = self.decay * self.shadow + (1 - self.decay) * w
            return self.shadow

    ema = Averaged(0.9)

    def f(w, x):
        slow = ema.update(w)
        a, b = np.tanh(x @ w), np.tanh(x @ slow)
        return np.mean((a - b) ** 2) + np.mean(a)

    def between(turn):
        if turn == 3:
            ema.shadow = None
        ema.decay = 0.9 - 0.05 * turn

    return f, ema, between


@job(lambda rng: (rng.normal(size=4), rng.normal(size=4)), argnums=(0, 1))
def momentum_with_slots_made_late():
    class Momentum:
        def __init__(self, lr=0.1, beta=0.9):
            self.lr, self.beta = lr, beta
            self.state = {}

        def step(self, name, p, g):
            v = self.state.setdefault(name, np.zeros_like(p))
            v = self.beta * v + g
            self.state[name] = v
            return p - self.lr * v

    opt = Momentum()

    def f(a, b):
        a = opt.step("a", a, 2 * a)
        b = opt.step("b", b, np.cos(b))
        return np.sum(a * b) + np.sum(a**2)

    def between(turn):
        opt.lr *= 0.5
        if turn == 3:
            opt.state.clear()

    return f, opt, between


@job(lambda rng: (rng.normal(size=(4, 2)), rng.normal(size=(5, 2))), argnums=(0, 1))
def factors_of_a_list_of_ratings():
    Rating = namedtuple("Rating", "user item stars")
    ratings = [Rating(0, 1, 4.0), Rating(2, 3, 1.0), Rating(3, 0, 5.0), Rating(1, 4, 2.5)]
    options = SimpleNamespace(l2=0.05, mean=None, seen=set())

    def f(users, items):
        if options.mean is None:
            options.mean = sum(r.stars for r in ratings) / len(ratings)
        total = 0.0
        for r in ratings:
            options.seen.add((r.user, r.item))
            predicted = options.mean + np.dot(users[r.user], items[r.item])
            total += (predicted - r.stars) ** 2
        return total / len(ratings) + options.l2 * (np.sum(users**2) + np.sum(items**2))

    def between(turn):
        if turn % 2:
            ratings.append(Rating(turn % 4, turn % 5, 3.0))
            options.mean = None
        else:
            ratings[0] = ratings[0]._replace(stars=float(turn))

    return f, [ratings, options], between


@job(lambda rng: (rng.normal(size=(3, 4)), rng.normal(size=(4, 4))), argnums=(0, 1))
def attention_with_masks_by_length():
    class Attention:
        _masks: dict[int, np.ndarray] = {}  # noqa: RUF012

        def __init__(self, heads):
            self.heads, self.scale = heads, None

        @classmethod
        def mask(cls, n):
            try:
                return cls._masks[n]
            except KeyError:
                cls._masks[n] = np.triu(np.full((n, n), -1e9), 1)
                return cls._masks[n]

        def __call__(self, x, w):
            n, d = x.shape
            scale = self.scale or 1.0 / math.sqrt(d // self.heads)
            q = (x @ w).reshape(n, self.heads, -1).transpose(1, 0, 2)
            k = x.reshape(n, self.heads, -1).transpose(1, 2, 0)
            scores = q @ k * scale + self.mask(n)
            e = np.exp(scores - scores.max(axis=-1, keepdims=True))
            return e / e.sum(axis=-1, keepdims=True) @ k.transpose(0, 2, 1)

    attention = Attention(2)

    def between(turn):
        attention.scale = [None, 0.0, 0.5][turn % 3]
        if turn == 3:
            Attention._masks.clear()
        if turn == 4:
            Attention._masks[3] = np.zeros((3, 3))

    return (
        lambda x, w: np.sum(np.sin(attention(x, w))),
        [attention, Attention._masks],
        between,
    )


@job(lambda rng: (rng.normal(size=(4, 3)),))
def recurrent_cell_that_remembers():
    class GRU:
        def __init__(self, n, m, seed=0):
            rng = np.random.default_rng(seed)
            self.wz, self.wr, self.wh = (rng.normal(size=(n + m, m)) * 0.5 for _ in range(3))
            self.h = None
            self.m = m

        def reset(self):
            self.h = None

        def step(self, x):
            if self.h is None:
                self.h = np.zeros(self.m)
            both = np.concatenate([x, self.h])
            z = 1 / (1 + np.exp(-(both @ self.wz)))
            r = 1 / (1 + np.exp(-(both @ self.wr)))
            new = np.tanh(np.concatenate([x, r * self.h]) @ self.wh)
            self.h = (1 - z) * self.h + z * new
            return self.h

    cell = GRU(3, 2)

    def f(xs):
        outputs = [cell.step(x) for x in xs]
        return np.mean(np.stack(outputs) ** 2) + outputs[-1].sum()

    def between(turn):
        if turn == 2:
            cell.reset()
        if turn == 4:
            cell.wz *= 0.5

    return f, cell, between


@job(lambda rng: (rng.normal(size=(1, 6, 6)),))
def convolutions_from_a_registry():
    registry = {}

    def register(name):
        def enter(f):
            registry[name] = f
            return f

        return enter

    @register("conv")
    def conv(x, kernel):
        _, h, w = x.shape
        k = kernel.shape[-1]
        out = np.zeros((kernel.shape[0], h - k + 1, w - k + 1))
        for i in range(k):
            for j in range(k):
                patch = x[:, i : i + h - k + 1, j : j + w - k + 1]
                out += np.einsum("oc,chw->ohw", kernel[:, :, i, j], patch)
        return out

    @register("relu")
    def relu(x):
        return np.where(x > 0, x, 0.0)

    @register("pool")
    def pool(x, size=2):
        c, h, w = x.shape
        return x.reshape(c, h // size, size, w // size, size).max(axis=(2, 4))

    rng = np.random.default_rng(3)
    spec = [("conv", {"kernel": rng.normal(size=(2, 1, 3, 3))}), ("relu", {}), ("pool", {})]

    def f(x):
        for name, options in spec:
            x = registry[name](x, **options)
        return x.sum()

    def between(turn):
        spec[0][1]["kernel"][0, 0, 1, 1] += 0.5
        if turn == 2:
            spec[1] = ("relu", {})
            registry["relu"] = np.tanh
        if turn == 4:
            spec[2][1]["size"] = 4

    return f, spec, between


@job(lambda rng: (rng.normal(size=3), *table(rng)))
def callbacks_on_every_step():
    class Trainer:
        def __init__(self):
            self.callbacks, self.step, self.log = [], 0, defaultdict(list)

        def on_step(self, **values):
            for callback in self.callbacks:
                callback(self, **values)

        def loss(self, w, x, y):
            residual = x @ w - y
            loss = 0.5 * np.mean(residual**2)
            self.step += 1
            self.on_step(loss=loss, size=len(y))
            return loss

    trainer = Trainer()
    trainer.callbacks.append(lambda t, loss, **kw: t.log["loss"].append(loss))

    def count_rows(trainer, size, **kw):
        trainer.log["rows"].append(size * trainer.step)

    def between(turn):
        if turn == 2:
            trainer.callbacks.append(count_rows)
        if turn == 4:
            trainer.callbacks.pop(0)

    return trainer.loss, trainer, between


@job(lambda rng: (rng.normal(size=(4, 3)),), eager="layers[0].rng")
def dropout_of_a_generator():
    class Dropout:
        def __init__(self, p, seed):
            self.p, self.rng = p, np.random.default_rng(seed)

        def __call__(self, x):
            keep = self.rng.random(x.shape) >= self.p
            return np.where(keep, x / (1 - self.p), 0.0)

    layers = [Dropout(0.2, 1), np.tanh, Dropout(0.5, 2)]

    def f(x):
        for layer in layers:
            x = layer(x)
        return np.sum(x**2)

    return f, layers, lambda turn: setattr(layers[0], "p", 0.1 * turn)


@job(lambda rng: (rng.normal(size=5),))
def noise_drawn_once():
    class Reparameterised:
        def __init__(self, n, samples):
            self.n, self.samples, self.seed = n, samples, 7
            self._noise = None

        @property
        def noise(self):
            if self._noise is None:
                rng = np.random.default_rng(self.seed)
                self._noise = rng.normal(size=(self.samples, self.n))
            return self._noise

        def elbo(self, phi):
            mu, log_sigma = phi[:-1], phi[-1]
            z = mu + np.exp(log_sigma) * self.noise
            log_p = -0.5 * np.sum((z - 1.0) ** 2, axis=1)
            entropy = self.n * log_sigma
            return -(np.mean(log_p) + entropy)

    q = Reparameterised(4, 3)

    def between(turn):
        if turn == 2:
            q._noise = None
            q.seed = 8
        if turn == 4:
            q.noise[0, 0] = 3.0

    return q.elbo, q, between


@job(lambda rng: (rng.normal(size=4),))
def decorators_that_count():
    stats = {}

    def counted(f):
        stats[f.__name__] = {"calls": 0, "shapes": []}

        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            entry = stats[f.__name__]
            entry["calls"] += 1
            entry["shapes"].append(tuple(np.shape(a) for a in args))
            return f(*args, **kwargs)

        wrapper.stats = stats[f.__name__]
        return wrapper

    @counted
    def softmax(v, temperature=1.0):
        e = np.exp((v - np.max(v)) / temperature)
        return e / np.sum(e)

    @counted
    def entropy(p):
        return -np.sum(p * np.log(p))

    options = {"temperature": 1.0}

    def f(x):
        return entropy(softmax(x, **options)) * (1.0 + 0.01 * softmax.stats["calls"])

    def between(turn):
        options["temperature"] = 0.5 + turn
        if turn == 3:
            options.clear()

    return f, [stats, options], between


@job(lambda rng: (rng.normal(size=6),))
def vector_of_named_parameters():
    shapes = OrderedDict([("w", (2, 2)), ("b", (2,))])
    bounds = {"w": (None, None), "b": (0.0, None)}
    x = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]])

    def unpack(theta):
        params, at = {}, 0
        for name, shape in shapes.items():
            size = int(np.prod(shape))
            value = theta[at : at + size].reshape(shape)
            low, high = bounds[name]
            if low is not None:
                value = low + np.exp(value)
            if high is not None:
                value = np.minimum(value, high)
            params[name] = value
            at += size
        return params

    def objective(theta):
        p = SimpleNamespace(**unpack(theta))
        return np.mean((x @ p.w + p.b) ** 2) + np.sum(np.log(p.b)) ** 2

    def between(turn):
        bounds["b"] = (0.1 * turn, None if turn % 2 else 2.0)
        x[0] += 1.0
        if turn == 4:
            shapes.move_to_end("w")

    return objective, [shapes, bounds], between


@job(lambda rng: (rng.normal(size=5), rng.normal(size=(9, 5)), rng.normal(size=9)))
def robust_regression_with_weights():
    class Huber:
        def __init__(self, delta=1.0):
            self.delta = delta
            self.weights = np.zeros(0)
            self.outliers = 0

        def __call__(self, w, x, y):
            r = y - x @ w
            small = np.abs(r) <= self.delta
            self.outliers = int(np.sum(~small))
            self.weights = np.where(small, 1.0, self.delta / np.maximum(np.abs(r), 1e-12))
            return np.sum(np.where(small, 0.5 * r**2, self.delta * (np.abs(r) - 0.5 * self.delta)))

    loss = Huber()
    return loss.__call__, loss, lambda turn: setattr(loss, "delta", 0.5 + 0.3 * turn)


@job(lambda rng: (rng.normal(size=3),), eager="len(memory.buffer)")
def replay_of_the_last_states():
    class Replay:
        def __init__(self, size):
            self.buffer = deque(maxlen=size)
            self.gamma = 0.9

        def push(self, state, reward):
            self.buffer.append((state, reward))

        def __len__(self):
            return len(self.buffer)

        def returns(self):
            total = 0.0
            for _, reward in reversed(self.buffer):
                total = reward + self.gamma * total
            return total

    memory = Replay(3)

    def f(x):
        reward = -np.sum(x**2)
        target = memory.returns() if len(memory) else 0.0
        memory.push(x, reward)
        return (reward - target) ** 2

    def between(turn):
        memory.gamma *= 0.9

    return f, memory, between


@job(lambda rng: (rng.normal(size=(3, 2)), rng.normal(size=2)), argnums=(0, 1))
def layers_by_single_dispatch():
    @dataclass(frozen=True)
    class Scale:
        k: float

    @dataclass(frozen=True)
    class Rotate:
        angle: float

    @functools.singledispatch
    def apply(layer, x):
        raise TypeError(type(layer))

    @apply.register(Scale)
    def _(layer, x):
        return x * layer.k

    @apply.register(Rotate)
    def _(layer, x):
        c, s = math.cos(layer.angle), math.sin(layer.angle)
        return x @ np.array([[c, -s], [s, c]])

    layers: list[Any] = [Scale(2.0), Rotate(0.3)]

    def f(x, shift):
        for layer in layers:
            x = apply(layer, x) + shift
        return np.sum(np.exp(-(x**2)))

    def between(turn):
        layers[turn % 2] = [Scale(1.0 + turn), Rotate(0.1 * turn)][turn // 2 % 2]

    return f, layers, between
