"""Compiled steps that call transforms on what stands outside, and store there what comes of it."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

ONE = np.ones(2)

WITHIN = {
    "grad": lambda w, x: tg.grad(lambda a: np.sum(a**2 * x))(w),
    "grad of another": lambda w, x: tg.grad(lambda x, a: np.sum(a**2 * x**2))(x, w),
    "value_and_grad": lambda w, x: tg.value_and_grad(lambda a: np.sum(a**2 * x))(w)[1],
    "its value": lambda w, x: tg.value_and_grad(lambda a: np.sum(a**2 * x))(w)[0] * w,
    "its aux": lambda w, x: tg.grad(lambda a: (np.sum(a**2 * x), a * x), has_aux=True)(w)[1],
    "vjp": lambda w, x: tg.vjp(lambda a: a**2 * x, w)[1](ONE)[0],
    "its cotangent": lambda w, x: tg.vjp(lambda a: a**2 * 2.0, x)[1](w)[0],
    "jvp": lambda w, x: tg.jvp(lambda a: a**2 * x, (w,), (ONE,))[1],
    "its tangent": lambda w, x: tg.jvp(lambda a: a**2 * 3.0, (x,), (w,))[1],
    "linearize": lambda w, x: tg.linearize(lambda a: a**3 * x, w)[1](w),
    "hvp": lambda w, x: tg.hvp(lambda a: np.sum(a**3 * x), (w,), (w,)),
    "hessian": lambda w, x: tg.hessian(lambda a: np.sum(a**3 * x))(w) @ ONE,
    "jacobian": lambda w, x: tg.jacobian(lambda a: a**2 * x)(w) @ ONE,
    "vmap": lambda w, x: tg.vmap(lambda a, b: a**2 * b)(w, x),
    "vmap of grad": lambda w, x: tg.vmap(tg.grad(lambda a, b: a**2 * b))(w, x),
    "compile": lambda w, x: tg.compile(lambda a: a**2 * x)(w),
    "grad of grad": lambda w, x: tg.grad(
        lambda a: np.sum(tg.grad(lambda b: np.sum(b**3 * x))(a) ** 2)
    )(w),
}


class Model:
    w = None


def steps(within):
    """A step for each kind of place, with what puts something there and what finds it."""
    model, items, names = Model(), {}, {"np": np, "within": within}

    def on_attribute(x):
        model.w = model.w - 0.1 * within(model.w, x)
        return np.sum(model.w)

    def on_item(x):
        items["w"] = items["w"] - 0.1 * within(items["w"], x)
        return np.sum(items["w"])

    listed = [None]

    def on_list(x):
        listed[0] = listed[0] - 0.1 * within(listed[0], x)
        return np.sum(listed[0])

    exec(
        "def on_global(x):\n    global w\n    w = w - 0.1 * within(w, x)\n    return np.sum(w)\n",
        names,
    )

    def what_is_computed(x):
        model.w = within(model.w, x) * 0.5
        return np.sum(model.w)

    yield on_attribute, lambda v: setattr(model, "w", v), lambda: model.w
    yield on_item, lambda v: items.update(w=v), lambda: items["w"]
    yield on_list, lambda v: listed.__setitem__(0, v), lambda: listed[0]
    yield names["on_global"], lambda v: names.update(w=v), lambda: names["w"]
    yield what_is_computed, lambda v: setattr(model, "w", v), lambda: model.w


def trained(step, put, held, start, compiled):
    """What five calls return and leave, the fourth of which finds what the caller has put there."""
    before, tg.config.compile = tg.config.compile, compiled
    try:
        step, found = tg.compile(step), []
        put(start)
        for k in range(5):
            returned = step(np.array([1.0 + k, 0.5 - k]) / 4)
            now = held()
            found.append((float(returned), type(now), np.array(now.tolist())))
            if k == 2:
                put(now * 0.5)
        return found
    finally:
        tg.config.compile = before


@pytest.mark.parametrize("kind", [np.array, tg.tensor])
@pytest.mark.parametrize("name", WITHIN)
def test_each_call_reads_what_stands_there_and_leaves_what_python_leaves(name, kind):
    for step, put, held in steps(WITHIN[name]):
        start = kind([0.9, -0.4])
        wanted = trained(step, put, held, start, False)
        assert trained(step, put, held, start, True)[0][1] is wanted[0][1], step.__name__
        got = trained(step, put, held, start, True)
        for (a, one, left), (b, other, kept) in zip(got, wanted, strict=True):
            assert (a, one) == (b, other), step.__name__
            assert_same_bits(left, kept)


class Network:
    """Parameters in a dictionary, with momentum: as training loops are written."""

    def __init__(self):
        random = np.random.default_rng(0)
        self.params = {"W": random.normal(size=(3, 2)), "b": random.normal(size=2)}
        self.velocity = {name: np.zeros_like(value) for name, value in self.params.items()}
        self.rate, self.losses, self.steps = 0.1, [], 0

    def loss(self, params, x):
        return np.sum(np.tanh(x @ params["W"] + params["b"]) ** 2)

    def step(self, x):
        value, gradient = tg.value_and_grad(self.loss)(self.params, x)
        for name in self.params:
            self.velocity[name] = 0.9 * self.velocity[name] + gradient[name]
            self.params[name] = self.params[name] - self.rate * self.velocity[name]
        self.losses.append(value)
        self.steps += 1
        return value


class Renewed(Network):
    """A dictionary of new parameters in each step, clipped by their norm."""

    def step(self, x):
        gradient = tg.grad(self.loss)(self.params, x)
        norm = np.sqrt(sum(np.sum(g**2) for g in gradient.values()))
        if norm > 1.0:
            gradient = {name: g / norm for name, g in gradient.items()}
        self.params = {name: p - self.rate * gradient[name] for name, p in self.params.items()}
        return norm


class InPlace(Network):
    def step(self, x):
        gradient = tg.grad(self.loss)(self.params, x)
        for name in self.params:
            self.params[name] -= self.rate * gradient[name]
        return self.loss(self.params, x)


class Listed(Network):
    """Parameters in a list, and a method in the place of a function."""

    def __init__(self):
        super().__init__()
        self.params = [*self.params.values()]

    def loss(self, params, x):
        return np.sum(np.tanh(x @ params[0] + params[1]) ** 2)

    def step(self, x):
        gradient = tg.grad(self.loss)(self.params, x)
        self.params = [p - self.rate * g for p, g in zip(self.params, gradient, strict=True)]
        return self.params[0].sum()


@pytest.mark.parametrize("cls", [Network, Renewed, InPlace, Listed])
def test_training_loops_leave_what_python_leaves(cls):
    inputs = [np.random.default_rng(k).normal(size=(4 + k % 2, 3)) for k in range(6)]
    found = []
    for compiled in (False, True):
        before, tg.config.compile = tg.config.compile, compiled
        try:
            network = cls()
            step = tg.compile(network.step)
            found.append(([step(x) for x in inputs], network.params, vars(network)))
        finally:
            tg.config.compile = before
    (one, params, rest), (other, now, besides) = found
    assert type(now) is type(params) and rest["steps"] == besides["steps"]
    for name in params if isinstance(params, dict) else range(2):
        assert_same_bits(now[name], params[name])
        assert type(now[name]) is np.ndarray
    assert_same_bits(other, one)
    assert_same_bits(besides["losses"], rest["losses"])


def test_the_program_reads_what_is_differentiated_from_outside():
    model = Model()
    model.w = tg.tensor([1.0, 2.0])

    @tg.compile
    def step(x):
        return tg.grad(lambda a: np.sum(a**2 * x))(model.w)

    x = np.array([1.0, 3.0])
    source = step.source(x)
    assert "Constants that the function makes" not in source
    assert "value = x * 2.0 * w" in source


def test_arguments_in_containers_from_outside_are_read_at_every_call():
    state = {"params": {"w": np.array([1.0, 2.0])}, "scale": np.array([2.0, 2.0])}

    def step(x):
        return tg.grad(lambda p, s: np.sum(p["w"] ** 2 * x * s))(state["params"], state["scale"])

    compiled, x = tg.compile(step), np.array([1.0, 3.0])
    for k in range(4):
        state["params"]["w"] = np.array([1.0 + k, 2.0])
        state["scale"] = np.array([2.0, 1.0 - k])
        wanted = 2 * state["params"]["w"] * x * state["scale"]
        assert_same_bits(compiled(x)["w"], wanted)
