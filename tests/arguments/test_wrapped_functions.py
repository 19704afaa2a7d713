"""Functions that say with `functools.wraps` what they wrap, and take other arguments than that."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.array([1.0, 2.0, 3.0])


def with_another_default(f: Any) -> Any:
    @functools.wraps(f)
    def g(x: Any, k: Any = 5.0) -> Any:
        return f(x, k)

    return g


def with_settings(f: Any) -> Any:
    @functools.wraps(f)
    def g(x: Any) -> Any:
        return f({"n": 2}, x)

    return g


def scaled(f: Any) -> Any:
    @functools.wraps(f)
    def g(x: Any, scale: Any) -> Any:
        return f(x) * scale

    return g


def by_keyword(f: Any) -> Any:
    @functools.wraps(f)
    def g(x: Any, *, k: Any = 5.0) -> Any:
        return f(x, k)

    return g


def counting_keywords(f: Any) -> Any:
    @functools.wraps(f)
    def g(*a: Any, **k: Any) -> Any:
        return f(*a, **k) * (1 + len(k))

    return g


def last_scales(f: Any) -> Any:
    @functools.wraps(f)
    def g(*a: Any) -> Any:
        return f(*a[:-1]) * a[-1]

    return g


def renamed(f: Any) -> Any:
    @functools.wraps(f)
    def g(y: Any) -> Any:
        return f(y)

    return g


def looking(f: Any) -> Any:
    @functools.wraps(f)
    def g(*a: Any, **k: Any) -> Any:
        value = f(*a, **k)
        if value > 20.0:
            value = value - 1.0
        if value > 10.0:
            value = value * 2.0
        return value

    return g


class Decorated:
    """A function as an object."""

    def __init__(self, f: Any) -> None:
        functools.update_wrapper(self, f)
        self.f = f

    def __call__(self, x: Any, k: Any = 5.0) -> Any:
        return self.f(x, k)


def plain(x: Any, k: Any = 2.0) -> Any:
    return (x * k).sum()


def squares(x: Any) -> Any:
    return (x * x).sum()


def of_settings(settings: Any, x: Any) -> Any:
    return (x * x).sum() * settings["n"]


class Model:
    weight = 2.0

    @counting_keywords
    def loss(self, x: Any, k: Any = 2.0) -> Any:
        return (x * k).sum() * self.weight

    @tg.compile
    def compiled(self, x: Any, k: Any = 2.0) -> Any:
        return (x * k).sum() * self.weight

    @tg.checkpoint
    def again(self, x: Any, k: Any = 2.0) -> Any:
        return (x * k).sum() * self.weight


def with_parameters_of_another(x: Any, k: Any = 5.0) -> Any:
    return (x * k).sum()


with_parameters_of_another.__signature__ = inspect.signature(squares)  # type: ignore[attr-defined]

CALLS: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "another default": (with_another_default(plain), (X,), {}),
    "an argument less": (with_settings(of_settings), (X,), {}),
    "an argument more": (scaled(squares), (X, 3.0), {}),
    "a default by keyword": (by_keyword(plain), (X,), {}),
    "by keyword": (by_keyword(plain), (X,), {"k": 4.0}),
    "any, by position": (counting_keywords(plain), (X, 3.0), {}),
    "any, by keyword": (counting_keywords(plain), (X,), {"k": 3.0}),
    "any, the default": (counting_keywords(plain), (X,), {}),
    "one more by position": (last_scales(squares), (X, 3.0), {}),
    "another name": (renamed(squares), (), {"y": X}),
    "branches": (looking(plain), (X,), {}),
    "other branches": (looking(plain), (X, 5.0), {}),
    "a method": (Model().loss, (X,), {"k": 3.0}),
    "a compiled method": (Model().compiled, (X,), {"k": 3.0}),
    "a compiled method, the default": (Model().compiled, (X,), {}),
    "a method under checkpoint": (Model().again, (X, 3.0), {}),
    "twice": (with_another_default(counting_keywords(plain)), (X,), {}),
    "a partial": (functools.partial(with_another_default(plain)), (X,), {}),
    "an object": (Decorated(plain), (X,), {}),
    "of what is compiled": (with_another_default(tg.compile(plain)), (X,), {}),
    "a signature that is not its own": (with_parameters_of_another, (X,), {}),
}


def with_axes(x: Any) -> Any:
    return np.asarray(x)[None]


def first(value: Any) -> float:
    return float(np.ravel(value[0] if isinstance(value, tuple) else value)[0])


TRANSFORMS: dict[str, Callable[[Any, str, Any, Any], Any]] = {
    "compile": lambda f, b, a, k: tg.compile(f, backend=b)(*a, **k),
    "value_and_grad": lambda f, b, a, k: tg.value_and_grad(f, backend=b)(*a, **k),
    "of what is compiled": lambda f, b, a, k: tg.value_and_grad(tg.compile(f), backend=b)(*a, **k),
    "vjp": lambda f, b, a, k: f(*a, **k) if k else tg.vjp(f, *a, backend=b)[0],
    "jvp": lambda f, b, a, k: f(*a, **k) if k else tg.jvp(f, a, a, backend=b)[0],
    "vmap": lambda f, b, a, k: tg.vmap(f, backend=b)(
        *map(with_axes, a), **{name: with_axes(x) for name, x in k.items()}
    ),
    "checkpoint": lambda f, b, a, k: tg.checkpoint(f)(*a, **k),
}


@pytest.mark.parametrize("backend", ["numpy", "numba", "jax"])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_calls_are_bound_as_python_binds_them(call: str, backend: str) -> None:
    f, args, kwargs = CALLS[call]
    expected = float(f(*args, **kwargs))
    found = {
        name: first(transformed(f, backend, args, kwargs))
        for name, transformed in TRANSFORMS.items()
    }
    assert found == pytest.approx(dict.fromkeys(found, expected))


def test_what_is_wrapped_names_the_arguments() -> None:
    made = tg.value_and_grad(counting_keywords(plain))
    made(X, 3.0)
    assert "def plain_value_and_grad(x, k):" in made.source()
    text = tg.compile(last_scales(squares)).source(X, 3.0)
    assert "def squares(a_0, a_1):" in text
    assert list(inspect.signature(tg.jvp(last_scales(squares))).parameters) == ["a_0", "a_0_dot"]
    named = tg.compile(counting_keywords(plain), static_argnames="k")
    assert named(X, 3.0) == 18.0
    assert "k = 3.0" in named.source()
    assert tg.grad_named(counting_keywords(plain), "k")(X, 3.0) == 6.0


def test_defaults_of_what_is_compiled_are_seen() -> None:
    def f(x: Any, k: Any = 2.0) -> Any:
        return (x * k).sum()

    made = tg.value_and_grad(tg.compile(f))
    assert made(X)[0] == 12.0
    f.__defaults__ = (5.0,)
    assert made(X)[0] == 30.0


def test_wrappers_in_c_are_bound_as_what_they_wrap() -> None:
    def f(n: int, m: int = 3) -> int:
        return n * m

    assert tg.compile(functools.lru_cache(f))(2) == 6
    assert tg.compile(functools.lru_cache(f))(2, m=4) == 8
    assert tg.compile(np.sum)(np.ones((2, 3)), axis=0).tolist() == [2.0, 2.0, 2.0]
    assert tg.vmap(np.sum)(np.ones((2, 3))).tolist() == [3.0, 3.0]


def passing_on(f: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    return wrapper


KEPT = {
    "grad": tg.grad,
    "value_and_grad": tg.value_and_grad,
    "compile": tg.compile,
    "jacobian": tg.jacobian,
    "hessian": tg.hessian,
    "vmap": tg.vmap,
    "checkpoint": tg.checkpoint,
    "grad of compile": lambda f: tg.grad(tg.compile(f)),
    "grad of grad": lambda f: tg.grad(tg.grad(f)),
}


@pytest.mark.parametrize("name", KEPT)
def test_the_parameters_of_what_is_wrapped_are_shown(name: str) -> None:
    def powers(x: Any, y: Any = 3.0) -> Any:
        return x**y

    for wrapped in (powers, passing_on(powers), passing_on(passing_on(powers))):
        assert str(inspect.signature(KEPT[name](wrapped))) == "(x: 'Any', y: 'Any' = 3.0) -> 'Any'"


def test_what_is_shown_binds_no_call() -> None:
    def scaled(x: Any, y: Any = 3.0) -> Any:
        return x * y

    def five(f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def wrapper(x: Any, **kwargs: Any) -> Any:
            return f(x, **{"y": 5.0, **kwargs})

        return wrapper

    gradient = tg.grad(five(scaled))
    assert list(inspect.signature(gradient).parameters) == ["x", "y"]
    assert (gradient(2.0), gradient(2.0, y=7.0)) == (5.0, 7.0)
    assert functools.partial(gradient)(2.0) == 5.0
    assert tg.grad(functools.partial(tg.compile(five(scaled))))(2.0) == 5.0


def test_methods_show_no_self() -> None:
    class Model:
        @tg.compile
        def plain(self, x: Any, y: Any = 2.0) -> Any:
            return x * y

        @tg.compile
        @passing_on
        def wrapped(self, x: Any, y: Any = 2.0) -> Any:
            return x * y

    model = Model()
    for method in (model.plain, model.wrapped, tg.grad(model.plain), tg.grad(model.wrapped)):
        assert list(inspect.signature(method).parameters) == ["x", "y"]
        assert method(3.0) in (6.0, 2.0)
    assert list(inspect.signature(Model.wrapped).parameters) == ["self", "x", "y"]
