"""Functions that read a value which is none of their arguments, and what takes such functions.

`MADE` and `HELD` are the ways in which a function comes by such a value, `TAKERS` the transforms,
the functions of NumPy's and Python's, and the decorators that are given the function. Every taker
says what it computes, in plain arrays: derivatives of that by complex steps are what is right.
"""

from __future__ import annotations

import contextvars
import functools
import itertools
import threading
import types
from collections import ChainMap, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tracegrad as tg
from tracegrad.misc import optimizers
from tracegrad.misc.fixed_points import fixed_point

Body = Callable[..., Any]
"""``body(*arguments, w)``, where w is what the function is to capture."""

# -- ways to hold a value --------------------------------------------------------------------------

MADE: dict[str, Callable[[Body, Any], Callable[..., Any]]] = {}
"""``make(body, w)``: a function that is made where the value is known."""
HELD: dict[str, Callable[[Body], tuple[Callable[..., Any], Callable[[Any], None]]]] = {}
"""``hold(body)``: a function that is there before the value, and what gives it the value."""


def _made(make: Any) -> Any:
    MADE[make.__name__.strip("_")] = make
    return make


def _held(hold: Any) -> Any:
    HELD[hold.__name__.strip("_")] = hold
    return hold


@dataclass
class Record:
    w: Any


@dataclass(frozen=True)
class FrozenRecord:
    w: Any


Pair = namedtuple("Pair", "other w")


class Model:
    """Reads an attribute in a method."""

    def __init__(self, body: Body, w: Any = None) -> None:
        self.body, self.w = body, w

    def apply(self, *v: Any) -> Any:
        return self.body(*v, self.w)

    def apply_to(self, w: Any, *v: Any) -> Any:
        return self.body(*v, w)


class Slotted:
    """Can be called, and has no dictionary."""

    __slots__ = ("body", "w")

    def __init__(self, body: Body, w: Any = None) -> None:
        self.body, self.w = body, w

    def __call__(self, *v: Any) -> Any:
        return self.body(*v, self.w)


class Indirect:
    """Has the value under three names that are no attributes of its own."""

    def __init__(self, w: Any) -> None:
        self._w = w

    @property
    def w(self) -> Any:
        return self._w

    @functools.cached_property
    def once(self) -> Any:
        return self._w * 1.0

    def __getattr__(self, name: str) -> Any:
        if name == "dynamic":
            return self._w
        raise AttributeError(name)


@_made
def cell(body: Body, w: Any) -> Any:
    def f(*v: Any) -> Any:
        return body(*v, w)

    return f


@_made
def default(body: Body, w: Any) -> Any:
    def f(v: Any, w: Any = w) -> Any:
        return body(v, w)

    return f


@_made
def keyword_default(body: Body, w: Any) -> Any:
    def f(*v: Any, w: Any = w) -> Any:
        return body(*v, w)

    return f


@_made
def partial_first(body: Body, w: Any) -> Any:
    return functools.partial(lambda w, *v: body(*v, w), w)


@_made
def partial_keyword(body: Body, w: Any) -> Any:
    def f(*v: Any, w: Any) -> Any:
        return body(*v, w)

    return functools.partial(f, w=w)


@_made
def method(body: Body, w: Any) -> Any:
    return Model(body, w).apply


@_made
def partial_of_method(body: Body, w: Any) -> Any:
    return functools.partial(Model(body).apply_to, w)


@_made
def slotted(body: Body, w: Any) -> Any:
    return Slotted(body, w)


@_made
def nested_items(body: Body, w: Any) -> Any:
    ws = {"layers": [(1.0, {"w": w})]}
    return lambda *v: body(*v, ws["layers"][0][1]["w"])


@_made
def cell_of_an_inner_function(body: Body, w: Any) -> Any:
    def f(*v: Any) -> Any:
        def inner() -> Any:
            return w

        return body(*v, inner())

    return f


@_made
def cell_of_a_helper(body: Body, w: Any) -> Any:
    def helper() -> Any:
        return w

    return lambda *v: body(*v, helper())


@_made
def fields(body: Body, w: Any) -> Any:
    record, frozen, pair = Record(w), FrozenRecord(w), Pair(1, w)
    return lambda *v: body(*v, (record.w + frozen.w + pair.w) / 3.0)


@_made
def lambda_in_a_lambda(body: Body, w: Any) -> Any:
    return (lambda w: lambda *v: body(*v, w))(w)


@_made
def computed(body: Body, w: Any) -> Any:
    half = w * 0.5
    return lambda *v: body(*v, half * 2.0)


@_made
def indirect(body: Body, w: Any) -> Any:
    p = Indirect(w)
    return lambda *v: body(*v, (p.w + p.once + p.dynamic) / 3.0)


@_made
def of_a_class(body: Body, w: Any) -> Any:
    class Holder:
        held = w

        @classmethod
        def f(cls, *v: Any) -> Any:
            return body(*v, cls.held)

    return Holder.f


@_made
def wrapped(body: Body, w: Any) -> Any:
    def f(*v: Any) -> Any:
        return body(*v, w)

    @functools.wraps(f)
    def g(*v: Any) -> Any:
        return f(*v)

    return g


@_made
def cell_set_later(body: Body, w: Any) -> Any:
    held = None

    def f(*v: Any) -> Any:
        return body(*v, held)

    held = w
    return f


@_made
def attribute_of_the_function(body: Body, w: Any) -> Any:
    def f(*v: Any) -> Any:
        return body(*v, f.w)  # type: ignore[attr-defined]

    f.w = w  # type: ignore[attr-defined]
    return f


@_made
def of_a_generator(body: Body, w: Any) -> Any:
    def values() -> Any:
        yield w

    return lambda *v: body(*v, next(values()))


@_made
def in_a_deque(body: Body, w: Any) -> Any:
    ws = deque([w])
    return lambda *v: body(*v, ws[-1])


@_made
def in_a_chain_map(body: Body, w: Any) -> Any:
    ws = ChainMap({}, {"w": w})
    return lambda *v: body(*v, ws["w"])


GLOBAL: Any = None


@_held
def global_(body: Body) -> Any:
    def put(w: Any) -> None:
        global GLOBAL
        GLOBAL = w

    return (lambda *v: body(*v, GLOBAL)), put


@_held
def attribute(body: Body) -> Any:
    model = Model(body)
    return model.apply, lambda w: setattr(model, "w", w)


@_held
def slot(body: Body) -> Any:
    model = Slotted(body)
    return model, lambda w: setattr(model, "w", w)


@_held
def list_item(body: Body) -> Any:
    ws = [None]

    def put(w: Any) -> None:
        ws[0] = w

    return (lambda *v: body(*v, ws[0])), put


@_held
def dict_item(body: Body) -> Any:
    ws: dict[str, Any] = {}

    def put(w: Any) -> None:
        ws["w"] = w

    return (lambda *v: body(*v, ws["w"])), put


@_held
def nonlocal_(body: Body) -> Any:
    held = None

    def put(w: Any) -> None:
        nonlocal held
        held = w

    return (lambda *v: body(*v, held)), put


@_held
def namespace(body: Body) -> Any:
    held = types.SimpleNamespace(w=None)

    def put(w: Any) -> None:
        held.w = w

    return (lambda *v: body(*v, held.w)), put


@_held
def defaults(body: Body) -> Any:
    def f(v: Any, w: Any = None) -> Any:
        return body(v, w)

    def put(w: Any) -> None:
        f.__defaults__ = (w,)

    return f, put


@_held
def last_item(body: Body) -> Any:
    ws: list[Any] = []
    return (lambda *v: body(*v, ws[-1])), ws.append


@_held
def dict_of_a_partial(body: Body) -> Any:
    ws: dict[str, Any] = {}

    def put(w: Any) -> None:
        ws["w"] = w

    return functools.partial(lambda ws, *v: body(*v, ws["w"]), ws), put


@_held
def context_variable(body: Body) -> Any:
    held: contextvars.ContextVar[Any] = contextvars.ContextVar("held")
    return (lambda *v: body(*v, held.get())), held.set


@_held
def thread_local(body: Body) -> Any:
    held = threading.local()

    def put(w: Any) -> None:
        held.w = w

    return (lambda *v: body(*v, held.w)), put


# -- takers ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Taker:
    """``use(capture)`` takes ``capture(body)``, and gives a function of x that returns a number.

    ``exact(x, w, x0, w0)`` computes the same; x0 and w0 have the values of x and w, and stand where
    no gradient flows. `refuses` says that the taker need not take such functions: it may raise.
    `variadic` says that it calls the function with other arguments than one.
    """

    name: str
    use: Callable[[Callable[[Body], Any]], Callable[[Any], Any]]
    exact: Callable[..., Any]
    refuses: bool
    variadic: bool


TAKERS: list[Taker] = []


def _takes(exact: Callable[..., Any], refuses: bool = False, variadic: bool = False) -> Any:
    def keep(use: Any) -> Any:
        TAKERS.append(Taker(use.__name__.strip("_"), use, exact, refuses, variadic))
        return use

    return keep


C = np.array([0.3, -0.7, 1.1])


def value(v: Any, w: Any) -> Any:
    return np.sin(v) * w + 0.25 * v**2 * w**2


def slope(v: Any, w: Any) -> Any:
    return np.cos(v) * w + 0.5 * v * w**2


def curvature(v: Any, w: Any) -> Any:
    return -np.sin(v) * w + 0.5 * w**2


def total(v: Any, w: Any) -> Any:
    return np.sum(value(v, w))


def wave(v: Any, w: Any) -> Any:
    return np.sum(np.sin(3.0 * v) * w)


def square(a: Any) -> Any:
    return np.sum(a**2)


def totals(x: Any, w: Any) -> Any:
    return np.array([total(v, w) for v in x])


@_takes(lambda x, w, x0, w0: square(value(x, w)))
def call(capture: Any) -> Any:
    f = capture(value)
    return lambda x: square(f(x))


@_takes(lambda x, w, x0, w0: square(slope(x, w)))
def grad(capture: Any) -> Any:
    g = tg.grad(capture(total))
    return lambda x: square(g(x))


@_takes(lambda x, w, x0, w0: total(x, w) ** 2 + square(slope(x, w)) + np.sum(w * x))
def value_and_grad(capture: Any) -> Any:
    g = tg.value_and_grad(capture(lambda v, w: (total(v, w), w * v)), has_aux=True)

    def run(x: Any) -> Any:
        (y, aux), gradient = g(x)
        return y**2 + square(gradient) + np.sum(aux)

    return run


@_takes(lambda x, w, x0, w0: square(2.0 * slope(x, w) * curvature(x, w)))
def grad_of_grad(capture: Any) -> Any:
    f = capture(total)
    g = tg.grad(lambda v: square(tg.grad(f)(v)))
    return lambda x: square(g(x))


def _jacobians() -> None:
    for name in ("jacobian", "jacrev", "jacfwd", "elementwise_grad"):

        def use(capture: Any, name: str = name) -> Any:
            j = getattr(tg, name)(capture(value))
            return lambda x: square(j(x))

        TAKERS.append(
            Taker(name, use, lambda x, w, x0, w0: square(slope(x, w)), False, variadic=False)
        )


_jacobians()


@_takes(lambda x, w, x0, w0: square(curvature(x, w)))
def hessian(capture: Any) -> Any:
    h = tg.hessian(capture(total))
    return lambda x: square(h(x))


@_takes(lambda x, w, x0, w0: square(curvature(x, w) * C))
def hvp(capture: Any) -> Any:
    f = capture(total)
    return lambda x: square(tg.hvp(f, (x,), (C,)))


@_takes(lambda x, w, x0, w0: square(value(x, w)) + square(slope(x, w) * x))
def jvp(capture: Any) -> Any:
    f = capture(value)

    def run(x: Any) -> Any:
        y, tangent = tg.jvp(f, (x,), (x,))
        return square(y) + square(tangent)

    return run


@_takes(lambda x, w, x0, w0: square(slope(x, w) * C) + square(slope(x, w) * value(x, w)))
def vjp(capture: Any) -> Any:
    f = capture(value)

    def run(x: Any) -> Any:
        y, pull = tg.vjp(f, x)
        return square(pull(C)[0]) + square(pull(y)[0])

    return run


@_takes(lambda x, w, x0, w0: square(slope(x, w) * C) + square(slope(x, w) * x))
def linearize(capture: Any) -> Any:
    f = capture(value)

    def run(x: Any) -> Any:
        _, push = tg.linearize(f, x)
        return square(push(C)) + square(push(x))

    return run


@_takes(lambda x, w, x0, w0: square(totals(x, w)))
def vmap(capture: Any) -> Any:
    f = tg.vmap(capture(total))
    return lambda x: square(f(x))


@_takes(lambda x, w, x0, w0: square(np.array([np.sum(slope(v, w)) for v in x])))
def vmap_of_grad(capture: Any) -> Any:
    f = tg.vmap(tg.grad(capture(total)))
    return lambda x: square(f(x))


@_takes(lambda x, w, x0, w0: square(value(x, w)))
def checkpoint(capture: Any) -> Any:
    f = tg.checkpoint(capture(value))
    return lambda x: square(f(x))


@_takes(lambda x, w, x0, w0: square(slope(x, w)))
def grad_of_checkpoint(capture: Any) -> Any:
    f = tg.grad(tg.checkpoint(capture(total)))
    return lambda x: square(f(x))


@_takes(lambda x, w, x0, w0: square(value(x, w)))
def compile_(capture: Any) -> Any:
    f = tg.compile(capture(value))
    return lambda x: square(f(x))


@_takes(lambda x, w, x0, w0: square(value(x, w)), refuses=True, variadic=True)
def custom_vjp(capture: Any) -> Any:
    f, d = capture(value), capture(slope)
    c = tg.custom_vjp(f)
    c.defvjp(lambda v: (f(v), v), lambda v, ct: (ct * d(v),))
    return lambda x: square(c(x))


@_takes(lambda x, w, x0, w0: square(np.cos(x) * np.sum(w)), refuses=True, variadic=True)
def rule_of_custom_vjp(capture: Any) -> Any:
    """Only the rule reads the value, which counts in a second derivative."""
    d = capture(lambda v, w: np.cos(v) * np.sum(w))
    c = tg.custom_vjp(np.sin)
    c.defvjp(lambda v: (np.sin(v), v), lambda v, ct: (ct * d(v),))
    g = tg.grad(lambda v: np.sum(c(v)))
    return lambda x: square(g(x))


@_takes(lambda x, w, x0, w0: square(slope(x, w)), refuses=True, variadic=True)
def custom_jvp(capture: Any) -> Any:
    f, d = capture(value), capture(slope)
    c = tg.custom_jvp(f)
    c.defjvp(lambda primals, tangents: (f(*primals), d(*primals) * tangents[0]))
    g = tg.grad(lambda v: np.sum(c(v)))
    return lambda x: square(g(x))


@_takes(lambda x, w, x0, w0: square(value(x, w)), refuses=True, variadic=True)
def primitive(capture: Any) -> Any:
    f, d = capture(value), capture(slope)
    p = tg.primitive(f)
    tg.extend.defvjp(p, lambda ans, v: lambda ct: ct * d(v))
    return lambda x: square(p(x))


@_takes(lambda x, w, x0, w0: square(value(x, w)), refuses=True, variadic=True)
def function_class(capture: Any) -> Any:
    f, d = capture(value), capture(slope)

    class Applied(tg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, v: Any) -> Any:
            ctx.save_for_backward(v)
            return f(v)

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            (v,) = ctx.saved_tensors
            return ct * d(v)

    return lambda x: square(Applied.apply(x))


@_takes(lambda x, w, x0, w0: np.sum(value(x0, w0) * w * x))
def stopped_result(capture: Any) -> Any:
    f = capture(lambda v, w: tg.stop_gradient(value(v, w)) * w)
    return lambda x: np.sum(f(x) * x)


@_takes(lambda x, w, x0, w0: square(slope(x, w0)))
def stopped_value(capture: Any) -> Any:
    g = tg.grad(capture(lambda v, w: total(v, tg.stop_gradient(w))))
    return lambda x: square(g(x))


@_takes(lambda x, w, x0, w0: np.sum(value(x0, w0) * x))
def no_grad(capture: Any) -> Any:
    f = tg.no_grad(capture(value))
    return lambda x: np.sum(f(x) * x)


@_takes(lambda x, w, x0, w0: square(value(x, w)))
def enable_grad(capture: Any) -> Any:
    f = tg.enable_grad()(capture(value))
    return lambda x: square(f(x))


def _fixed(x: Any, w: Any) -> Any:
    z = x * 0.0
    for _ in range(200):
        z = 0.2 * np.sin(z) * w + x
    return z


@_takes(lambda x, w, x0, w0: square(_fixed(x, w)), refuses=True, variadic=True)
def fixed_point_(capture: Any) -> Any:
    f = capture(lambda a, w: lambda z: 0.2 * np.sin(z) * w + a)

    def run(x: Any) -> Any:
        return square(fixed_point(f, x, np.zeros(3), lambda a, b: np.max(np.abs(a - b)), 1e-14))

    return run


def _descended(x: Any, w: Any) -> Any:
    velocity = x * 0.0
    for _ in range(4):
        velocity = 0.9 * velocity - 0.1 * slope(x, w)
        x = x + 0.1 * velocity
    return x


@_takes(lambda x, w, x0, w0: square(_descended(x, w)))
def sgd(capture: Any) -> Any:
    g = tg.grad(capture(total))
    return lambda x: square(optimizers.sgd(lambda p, i: g(p), x, num_iters=4))


@_takes(lambda x, w, x0, w0: square(totals(x, w)))
def vectorize(capture: Any) -> Any:
    f = tg.vectorize(capture(total))
    return lambda x: square(f(x))


@_takes(lambda x, w, x0, w0: square(totals(x, w)), refuses=True)
def vectorize_of_numpy(capture: Any) -> Any:
    f = np.vectorize(capture(total))
    return lambda x: square(f(x))


@_takes(lambda x, w, x0, w0: square(value(x, w)) + square(value(2.0 * x, w)))
def apply_along_axis(capture: Any) -> Any:
    f = capture(value)
    return lambda x: square(tg.apply_along_axis(f, 0, np.stack([x, 2.0 * x], axis=1)))


@_takes(lambda x, w, x0, w0: square(value(x, w)) + square(value(2.0 * x, w)))
def apply_along_axis_of_numpy(capture: Any) -> Any:
    f = capture(value)
    return lambda x: square(np.apply_along_axis(f, 0, np.stack([x, 2.0 * x], axis=1)))


@_takes(lambda x, w, x0, w0: square(np.sum(x) * np.sum(w)), variadic=True)
def apply_over_axes(capture: Any) -> Any:
    f = capture(lambda a, axis, w: np.sum(a, axis=axis, keepdims=True) * np.sum(w))
    return lambda x: square(np.apply_over_axes(f, x, [0]))


@_takes(lambda x, w, x0, w0: square(np.where(x.real > 0.6, x, x**2) * np.sum(w)))
def piecewise(capture: Any) -> Any:
    f, g = capture(lambda v, w: v * np.sum(w)), capture(lambda v, w: v**2 * np.sum(w))
    return lambda x: square(np.piecewise(x, [x > 0.6, x <= 0.6], [f, g]))


def _reduced(x: Any, w: Any) -> Any:
    return functools.reduce(lambda a, b: np.sin(a * b) + np.sum(w) * a, list(x), 1.0)


@_takes(lambda x, w, x0, w0: _reduced(x, w) ** 2, variadic=True)
def reduce(capture: Any) -> Any:
    f = capture(lambda a, b, w: np.sin(a * b) + np.sum(w) * a)
    return lambda x: functools.reduce(f, x, 1.0) ** 2


@_takes(lambda x, w, x0, w0: 4.0 * np.sum(totals(x, w)))
def sum_of_map(capture: Any) -> Any:
    f = capture(total)
    return lambda x: sum(map(f, np.tile(x, 4)))


@_takes(lambda x, w, x0, w0: sum(i * a for i, a in enumerate(sorted(x, key=_wave_at(w)))))
def key_of_sorted(capture: Any) -> Any:
    f = capture(wave)
    return lambda x: sum(i * a for i, a in enumerate(sorted([x[0], x[1], x[2]], key=f)))


def _wave_at(w: Any) -> Any:
    return lambda v: np.real(wave(v, w))


@_takes(lambda x, w, x0, w0: max(x, key=_wave_at(w)) ** 2)
def key_of_max(capture: Any) -> Any:
    f = capture(wave)
    return lambda x: max([x[0], x[1], x[2]], key=f) ** 2


@_takes(lambda x, w, x0, w0: sum(a**2 for a in x if np.real(wave(a, w)) > 0.5))
def filter_(capture: Any) -> Any:
    f = capture(lambda v, w: wave(v, w) > 0.5)
    return lambda x: sum(a**2 for a in filter(f, x)) + 0.0 * x[0]


@_takes(lambda x, w, x0, w0: square(np.array(list(itertools.accumulate(x, _plus(w))))), True, True)
def accumulate(capture: Any) -> Any:
    f = capture(lambda a, b, w: np.sin(a * b) + np.sum(w))
    return lambda x: square(np.array(list(itertools.accumulate(x, f))))


def _plus(w: Any) -> Any:
    return lambda a, b: np.sin(a * b) + np.sum(w)


def _gone_down(x: Any, w: Any) -> Any:
    for _ in range(12):
        x = x - 0.05 * slope(x, w)
    return x


@_takes(lambda x, w, x0, w0: square(_gone_down(x, w)))
def loop_of_gradients(capture: Any) -> Any:
    g = tg.grad(capture(total))

    def run(x: Any) -> Any:
        for _ in range(12):
            x = x - 0.05 * g(x)
        return square(x)

    return run


@_takes(lambda x, w, x0, w0: square(slope(x, w) * C))
def make_vjp(capture: Any) -> Any:
    m = tg.make_vjp(capture(value))
    return lambda x: square(m(x)[0](C))


@_takes(lambda x, w, x0, w0: square(slope(x, w) * C))
def make_jvp(capture: Any) -> Any:
    m = tg.make_jvp(capture(value))
    return lambda x: square(m(x)(C)[1])


@_takes(lambda x, w, x0, w0: square(curvature(x, w) * C))
def make_hvp(capture: Any) -> Any:
    m = tg.make_hvp(capture(total))
    return lambda x: square(m(x)[0](C))


@_takes(lambda x, w, x0, w0: square(slope(x, w) ** 2 * C))
def make_ggnvp(capture: Any) -> Any:
    m = tg.make_ggnvp(capture(value))
    return lambda x: square(m(x)(C))


@_takes(lambda x, w, x0, w0: square(curvature(x, w) * C))
def hessian_vector_product(capture: Any) -> Any:
    m = tg.hessian_vector_product(capture(total))
    return lambda x: square(m(x, C))


@_takes(lambda x, w, x0, w0: square(slope(x, w)))
def multigrad_dict(capture: Any) -> Any:
    f = capture(total)
    m = tg.multigrad_dict(lambda v: f(v))
    return lambda x: square(m(v=x)["v"])


@_takes(lambda x, w, x0, w0: square(slope(x, w)), refuses=True)
def sparse_jacobian(capture: Any) -> Any:
    m = tg.jacobian(capture(value), sparse=True)
    return lambda x: square(m(x).data)


def _functionals() -> None:
    of_values = {"jvp": value, "vjp": value, "jacobian": value}
    of_totals = {"hvp": total, "vhp": total, "hessian": total}
    for name, body in {**of_values, **of_totals}.items():
        given = () if name in ("jacobian", "hessian") else (C,)
        derivative = curvature if body is total else slope

        def use(capture: Any, name: str = name, body: Any = body, given: Any = given) -> Any:
            f, of_tensors = capture(body), getattr(tg.autograd.functional, name)

            def run(x: Any) -> Any:
                tensors = [tg.as_tensor(v) for v in (x, *given)]
                found = of_tensors(f, *tensors, create_graph=True)
                return square(found[1] if given else found)

            return run

        def exact(x: Any, w: Any, x0: Any, w0: Any, d: Any = derivative, given: Any = given) -> Any:
            return square(d(x, w) * (C if given else 1.0))

        TAKERS.append(Taker(f"functional_{name}", use, exact, refuses=False, variadic=False))


_functionals()


def programs(
    taker: Taker, capture: str
) -> tuple[Callable[[Any, Any], Any], Callable[[Any], Any], Callable[[Any], None]]:
    """What a taker computes of x and the captured value; of x alone; and what sets the value.

    What is made outside of a function that is transformed is made once.
    """
    if capture in MADE:
        make, box = MADE[capture], {}

        def of_both(x: Any, w: Any) -> Any:
            return taker.use(lambda body: make(body, w))(x)

        return of_both, lambda x: of_both(x, box["w"]), lambda w: box.update(w=w)
    puts: list[Any] = []

    def captured(body: Body) -> Any:
        f, put = HELD[capture](body)
        puts.append(put)
        return f

    run = taker.use(captured)

    def put(w: Any) -> None:
        for each in puts:
            each(w)

    def of_both_held(x: Any, w: Any) -> Any:
        put(w)
        return run(x)

    return of_both_held, run, put
