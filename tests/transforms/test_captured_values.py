"""Functions that read values which are none of their arguments, under all that takes functions.

Derivatives are taken with respect to the argument and to the value that is captured, in every mode
in which functions run. The value is set within the function, or by the caller between calls.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from functools import partial
from operator import methodcaller
from typing import Any

import captured_values
import numpy as np
import pytest
from captured_values import HELD, MADE, TAKERS, Taker, programs

import tracegrad as tg

XS = np.array([[0.4, 0.9, -0.5], [1.2, 0.3, 0.8], [-0.6, 0.7, 0.1]])
WS = np.array([[0.8, -0.3, 0.5], [-0.4, 0.6, 1.1], [0.9, 0.2, -0.7]])
BOTH = (0, 1)


def exact(taker: Taker, x: Any, w: Any, argnum: int) -> np.ndarray:
    """The derivative by complex steps."""

    def at(step: Any) -> Any:
        return taker.exact(x + step, w, x, w) if argnum == 0 else taker.exact(x, w + step, x, w)

    return np.array([np.imag(at(1e-30j * unit)) * 1e30 for unit in np.eye(len(x))])


def hold(taker: Taker, i: int, found: Any, argnums: Sequence[int]) -> None:
    for argnum, derivative in zip(argnums, found, strict=True):
        wanted = exact(taker, XS[i], WS[i], argnum)
        np.testing.assert_allclose(np.asarray(derivative), wanted, 1e-6, 1e-8, err_msg=f"{i}")


# -- the value is set within the function ---------------------------------------------------------


def by_grad(of_both: Any, **options: Any) -> Any:
    return tg.grad(of_both, BOTH, **options)


def by_tensors(of_both: Any) -> Any:
    def gradients(x: Any, w: Any) -> Any:
        leaves = [tg.tensor(v, requires_grad=True) for v in (x, w)]
        of_both(*leaves).backward()
        return [np.zeros(3) if leaf.grad is None else leaf.grad.numpy() for leaf in leaves]

    return gradients


def by_lanes(of_both: Any) -> Any:
    together = tg.vmap(tg.grad(of_both, BOTH))

    def gradients(x: Any, w: Any) -> Any:
        i = int(np.flatnonzero((x == XS).all(1))[0])
        return [d[i] for d in together(XS, WS)]

    return gradients


INSIDE: dict[str, tuple[Callable[[Any], Any], Sequence[int]]] = {
    "grad": (by_grad, BOTH),
    "in x": (lambda f: lambda x, w: [tg.grad(f)(x, w)], (0,)),
    "in w": (lambda f: lambda x, w: [tg.grad(f, 1)(x, w)], (1,)),
    "jax": (lambda f: by_grad(f, backend="jax"), BOTH),
    "compile": (lambda f: tg.grad(tg.compile(f), BOTH), BOTH),
    "jacfwd": (lambda f: tg.jacfwd(f, BOTH), BOTH),
    "vjp": (lambda f: lambda x, w: tg.vjp(f, x, w)[1](1.0), BOTH),
    "vmap": (by_lanes, BOTH),
    "tensors": (by_tensors, BOTH),
}
EAGER = ("grad", "in x", "in w", "jacfwd", "tensors")
CASES = [(mode, True) for mode in INSIDE] + [(mode, False) for mode in EAGER]


@pytest.fixture(autouse=True)
def settings_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tg.config, "compile", True)


def captures_for(taker: Taker, few: Any, number: int, computing: bool = True) -> Sequence[str]:
    """Ways to capture for one case: with ``--long`` all, else one, another for each case."""
    left_out = {"default", "defaults"} if taker.variadic else set()
    if not computing:
        left_out |= {"fields", "computed", "indirect"}
    given = [kind for kind in (*MADE, *HELD) if kind not in left_out]
    chosen = list(few(given, 1))
    return chosen if len(chosen) > 1 else [given[number % len(given)]]


WITH_MODES = [
    pytest.param(taker, mode, compiled, 7 * number, id=f"{taker.name}-{mode}-{how}")
    for number, (taker, (mode, compiled), how) in enumerate(
        (taker, case, "compiled" if case[1] else "eager") for taker in TAKERS for case in CASES
    )
    if (taker.name, mode) != ("function_class", "tensors")  # other Tensors get no gradient of it
]


@pytest.mark.sampled(31)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("taker", "mode", "compiled", "number"), WITH_MODES)
def test_derivatives_in_captured_values(
    taker: Taker, mode: str, compiled: bool, number: int, few: Any
) -> None:
    tg.config.compile = compiled
    derive, argnums = INSIDE[mode]
    for capture in captures_for(taker, few, number):
        derivative = derive(programs(taker, capture)[0])
        try:
            for i in (0, 1, 2, 0, 1):
                hold(taker, i, derivative(XS[i], WS[i]), argnums)
        except tg.errors.TracegradError:
            assert taker.refuses, capture


# -- the caller changes the value between calls ----------------------------------------------------


def pushed(f: Any) -> Any:
    return lambda x: [tg.jvp(f, (x,), (unit,))[1] for unit in np.eye(3)]


def of_tensor(f: Any) -> Any:
    def gradient(x: Any) -> Any:
        leaf = tg.tensor(x, requires_grad=True)
        f(leaf).backward()
        return np.zeros(3) if leaf.grad is None else leaf.grad.numpy()

    return gradient


OUTSIDE: dict[str, Callable[[Any], Any]] = {
    "grad": tg.grad,
    "jax": lambda f: tg.grad(f, backend="jax"),
    "jvp": pushed,
    "jacfwd": tg.jacfwd,
    "vjp": lambda f: lambda x: tg.vjp(f, x)[1](1.0)[0],
    "tensors": of_tensor,
}
VALUES: dict[str, tuple[Sequence[Any], Callable[[Any], Any]]] = {
    "arrays": (WS, lambda w: w),
    "floats": ([1.0, 2.0, -0.5], lambda k: k * WS[0]),
    "ints": ([3, 4, 7], lambda n: WS[{3: 0, 4: 1, 7: 2}[n]]),
    "strings": (["a", "b", "c"], lambda name: WS["abc".index(name)]),
    "flags": ([None, True, False], lambda flag: WS[0 if flag is None else 1 if flag else 2]),
}
WITH_VALUES = [
    pytest.param(taker, mode, values, 11 * number, id=f"{taker.name}-{mode}-{values}")
    for number, (taker, mode, values) in enumerate(
        (t, m, v) for t in TAKERS for m in OUTSIDE for v in VALUES
    )
]


@pytest.mark.sampled(47)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("taker", "mode", "values", "number"), WITH_VALUES)
def test_captured_values_that_change_between_calls(
    taker: Taker, mode: str, values: str, number: int, few: Any
) -> None:
    given, read = VALUES[values]

    def reading(body: Any) -> Any:
        return lambda *v: body(*v[:-1], read(v[-1]))

    of_read = Taker(
        taker.name, lambda capture: taker.use(lambda body: capture(reading(body))), *_rest(taker)
    )
    for capture in captures_for(taker, few, number, values not in ("strings", "flags")):
        _, run, put = programs(of_read, capture)
        derivative = OUTSIDE[mode](run)
        try:
            for i in (0, 1, 2, 0, 2):
                put(given[i])
                found = np.asarray(derivative(XS[i]))
                step = [
                    np.imag(taker.exact(XS[i] + 1e-30j * e, read(given[i]), XS[i], read(given[i])))
                    for e in np.eye(3)
                ]
                np.testing.assert_allclose(found, np.array(step) * 1e30, 1e-6, 1e-8)
        except tg.errors.TracegradError:
            assert taker.refuses, capture


def _rest(taker: Taker) -> tuple[Any, bool, bool]:
    return taker.exact, taker.refuses, taker.variadic


# -- one by one ------------------------------------------------------------------------------------


def _along(product: Any, x: Any) -> Any:
    return product(x, x)


WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "checkpoint": tg.checkpoint,
    "enable_grad": lambda f: tg.enable_grad()(f),
    "vectorize": tg.vectorize,
    "elementwise_grad": tg.elementwise_grad,
    "hessian_vector_product": lambda f: partial(_along, tg.hessian_vector_product(f)),
    "custom_vjp": tg.custom_vjp,
    "itself": lambda f: f,
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_what_functions_read_that_an_object_of_tracegrad_holds_is_guarded(wrapper: str) -> None:
    settings = {"scale": 2.0}

    def f(settings: dict[str, float], v: Any) -> Any:
        return np.sum(v**2 * settings["scale"])

    class Called:
        def of(self, settings: dict[str, float]) -> Any:
            return lambda v: f(settings, v)

    of_settings, called = methodcaller("of", settings), Called()
    for held in (
        lambda v: f(settings, v),
        partial(f, settings),
        lambda v: of_settings(called)(v),
    ):
        settings["scale"] = 2.0
        g = WRAPPERS[wrapper](held)
        compiled = tg.compile(lambda x, g=g: np.sum(g(x)))
        first = compiled(np.ones(2))
        for scale in (3.0, 5.0):
            settings["scale"] = scale
            assert compiled(np.ones(2)) == first * scale / 2.0


@pytest.mark.parametrize("functional", ["vjp", "jacobian", "hessian"])
def test_functions_of_tensors_are_followed_like_others(functional: str) -> None:
    scales = [2.0]
    of_tensors = getattr(tg.autograd.functional, functional)

    def found(x: Any) -> Any:
        result = of_tensors(lambda v: np.sum(v**2 * scales[0]), tg.as_tensor(x))
        return np.sum(result[1] if functional == "vjp" else result)

    compiled = tg.compile(found)
    first = compiled(np.ones(2))
    scales[0] = 3.0
    assert compiled(np.ones(2)) == 1.5 * first


HIDDEN = ("cell", "slotted", "of_a_class", "attribute_of_the_function", "in_a_deque")
BY_RULES = ("custom_vjp", "rule_of_custom_vjp", "custom_jvp", "primitive", "function_class")


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("taker", BY_RULES)
@pytest.mark.parametrize("capture", [*HIDDEN, "context_variable", "thread_local"])
def test_rules_that_read_what_is_differentiated_lose_no_gradient(
    taker: str, capture: str, compiled: bool
) -> None:
    tg.config.compile = compiled
    (taken,) = [t for t in TAKERS if t.name == taker]
    gradient = tg.grad(programs(taken, capture)[0], BOTH)
    try:
        hold(taken, 0, gradient(XS[0], WS[0]), BOTH)
    except (tg.errors.TraceError, tg.errors.GradientError) as refused:
        assert "hand it over as an argument" in str(refused)


class Scales(tg.autograd.Function):
    @staticmethod
    def forward(ctx: Any, v: Any) -> Any:
        return v * HELD_TENSOR[0]

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return ct * HELD_TENSOR[0]


class ScalesInPlace(tg.autograd.Function):
    @staticmethod
    def forward(ctx: Any, v: Any) -> Any:
        ctx.mark_dirty(v)
        return v.mul_(HELD_TENSOR[0])

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return ct * HELD_TENSOR[0]


HELD_TENSOR: list[Any] = [None]
scaled_vjp = tg.custom_vjp(lambda v: v * HELD_TENSOR[0])
scaled_vjp.defvjp(lambda v: (v * HELD_TENSOR[0], None), lambda _, ct: (ct * HELD_TENSOR[0],))
square_vjp = tg.custom_vjp(lambda v: v * v)
square_vjp.defvjp(lambda v: (v * v, None), lambda _, ct: (2.0 * ct * HELD_TENSOR[0],))
scaled_jvp = tg.custom_jvp(lambda v: v * HELD_TENSOR[0])
scaled_jvp.defjvp(lambda p, t: (p[0] * HELD_TENSOR[0], t[0] * HELD_TENSOR[0]))
scaled_primitive = tg.primitive(lambda v: v * HELD_TENSOR[0])
tg.extend.defvjp(scaled_primitive, lambda ans, v: lambda ct: ct * HELD_TENSOR[0])
OF_THE_ARGUMENT: dict[str, Callable[[Any], Any]] = {
    "function": Scales.apply,
    "in place": lambda x: ScalesInPlace.apply(x.copy()),
    "custom_vjp": scaled_vjp,
    "rule of custom_vjp": square_vjp,
    "custom_jvp": scaled_jvp,
    "primitive": scaled_primitive,
}
DERIVATIVES: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda f, x: (tg.grad(f)(x), 2.0 * x),
    "jvp": lambda f, x: (tg.jvp(f, (x,), (x,))[1], np.sum(2.0 * x * x)),
    "hessian": lambda f, x: (tg.hessian(f)(x), 2.0 * np.eye(2)),
    "jacobian of grad": lambda f, x: (tg.jacobian(tg.grad(f))(x), 2.0 * np.eye(2)),
}


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("rule", OF_THE_ARGUMENT)
def test_a_rule_that_reads_the_very_argument_by_another_name_loses_no_gradient(
    rule: str, derivative: str, compiled: bool
) -> None:
    tg.config.compile = compiled

    def loss(x: Any) -> Any:
        HELD_TENSOR[0] = x
        return np.sum(OF_THE_ARGUMENT[rule](x))

    try:
        found, wanted = DERIVATIVES[derivative](loss, np.array([2.0, 3.0]))
        np.testing.assert_allclose(found, wanted)
    except (tg.errors.TraceError, tg.errors.GradientError) as refused:
        assert "hand it over as an argument" in str(refused)


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("taker", BY_RULES)
def test_rules_read_numbers_that_the_function_has_computed(taker: str) -> None:
    (taken,) = [t for t in TAKERS if t.name == taker]
    _, run, put = programs(
        Taker(
            taker, lambda capture: taken.use(lambda body: capture(_with_row(body))), *_rest(taken)
        ),
        "computed",
    )
    for derivative in (tg.grad(run), lambda x: tg.jacfwd(run)(x)):
        for k in (1.0, 2.0, -0.5, 1.0):
            put(k)
            try:
                found = derivative(XS[0])
            except tg.errors.TraceError:
                continue
            np.testing.assert_allclose(found, exact(taken, XS[0], k * WS[0], 0), 1e-6)


def _with_row(body: Any) -> Any:
    return lambda *v: body(*v[:-1], v[-1] * WS[0])


def test_a_checkpoint_reads_a_value_in_any_way() -> None:
    tg.config.compile = False
    (taken,) = [t for t in TAKERS if t.name == "checkpoint"]
    for capture in (*MADE, *HELD):
        gradient = tg.grad(programs(taken, capture)[0], BOTH)
        hold(taken, 0, gradient(XS[0], WS[0]), BOTH)


def test_a_checkpoint_says_that_it_computes_something_else_the_second_time() -> None:
    scale = [2.0]
    f = tg.checkpoint(lambda v: v**2 * scale[0])

    def loss(x: Any) -> Any:
        scale[0] = 2.0
        first = f(x)
        scale[0] = 3.0
        return np.sum(first * f(x))

    assert (tg.grad(loss)(np.ones(2)) == 24.0).all()
    tg.config.compile = False
    with pytest.raises(tg.errors.GradientError, match="computes something else in the backward"):
        tg.grad(loss)(np.ones(2))


@pytest.mark.parametrize("compiled", [True, False])
def test_what_a_checkpoint_stores_outside_has_its_gradient(compiled: bool) -> None:
    tg.config.compile = compiled
    kept: list[Any] = []

    def f(v: Any) -> Any:
        kept.append(v**3)
        return v**2

    def loss(x: Any) -> Any:
        kept.clear()
        return np.sum(tg.checkpoint(f)(x)) + np.sum(kept[0])

    assert (tg.grad(loss)(np.ones(2)) == 5.0).all()


# -- what is written within the function -----------------------------------------------------------


class Held:
    """What a function writes, and the rule of another one reads."""

    scale = 1


def _writes() -> dict[str, tuple[Callable[[int], None], Callable[[], Any]]]:
    held, items, by_name, array = Held(), [1], {"scale": 1}, np.ones(1)
    cell = 1

    def to_cell(k: int) -> None:
        nonlocal cell
        cell = k

    def to_function(k: int) -> None:
        to_function.scale = k  # type: ignore[attr-defined]

    to_function(1)

    def to_global(k: int) -> None:
        captured_values.GLOBAL = k

    return {
        "attribute": (lambda k: setattr(held, "scale", k), lambda: held.scale),
        "class": (lambda k: setattr(Held, "scale", k), lambda: Held.scale),
        "function": (to_function, lambda: to_function.scale),  # type: ignore[attr-defined]
        "cell": (to_cell, lambda: cell),
        "module": (to_global, lambda: captured_values.GLOBAL),
        "item": (lambda k: by_name.update(scale=k), lambda: by_name["scale"]),
        "last item": (items.append, lambda: items[-1]),
        "array": (lambda k: array.__setitem__(0, k), lambda: array[0]),
    }


def _scaled_by_rule(read: Callable[[], Any]) -> Callable[[Any], Any]:
    scaled = tg.custom_vjp(lambda v: v * read())
    scaled.defvjp(lambda v: (v * read(), read()), lambda scale, ct: (ct * scale,))
    return scaled


def _scaled_by_class(read: Callable[[], Any]) -> Callable[[Any], Any]:
    class Scaled(tg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, v: Any) -> Any:
            ctx.scale = read()
            return v * ctx.scale

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            return ct * ctx.scale

    return Scaled.apply


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("scaled_by", [_scaled_by_rule, _scaled_by_class])
@pytest.mark.parametrize("place", _writes())
def test_rules_read_what_was_written_before(
    place: str, scaled_by: Callable[..., Any], compiled: bool
) -> None:
    tg.config.compile = compiled
    write, read = _writes()[place]
    scaled = scaled_by(read)

    def loss(x: Any, k: int) -> Any:
        write(k)
        return np.sum(scaled(x))

    gradient = tg.grad(loss)
    try:
        for k in (2, 3, 5, 2):
            assert (gradient(np.ones(2), k) == k).all()
    except tg.errors.TraceError as refused:
        assert place == "array" and "hand it over as an argument" in str(refused)


def test_rules_that_read_something_else_than_is_written_are_compiled() -> None:
    counter, other = Held(), Held()
    counter.calls = 0  # type: ignore[attr-defined]
    scaled = _scaled_by_rule(lambda: other.scale)

    def loss(x: Any) -> Any:
        counter.calls += 1  # type: ignore[attr-defined]
        return np.sum(scaled(x))

    gradient = tg.grad(loss)
    for scale in (2, 3, 4, 5):
        other.scale = scale
        assert (gradient(np.ones(2)) == scale).all()
    assert counter.calls == 4 and gradient.cache_info().versions  # type: ignore[attr-defined]


STORING = ("grad", "grad_of_grad", "jacrev", "hessian", "hvp", "jvp", "vjp", "linearize", "compile")


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("taker", [*STORING, "checkpoint", "make_vjp", "functional_vjp"])
def test_what_functions_store_outside_has_its_gradient(taker: str, compiled: bool) -> None:
    tg.config.compile = compiled
    (taken,) = [t for t in TAKERS if t.name == taker]
    kept: list[Any] = []

    def of_both(x: Any, w: Any) -> Any:
        def capture(body: Any) -> Any:
            def f(*v: Any) -> Any:
                kept.append(np.sum(v[0] * w))
                return body(*v, w)

            return f

        return taken.use(capture)(x) + kept[-1]

    gradient = tg.grad(of_both, BOTH)
    for i in (0, 1, 2):
        found = gradient(XS[i], WS[i])
        stored = WS[i], XS[i]
        hold(taken, i, [d - s for d, s in zip(found, stored, strict=True)], BOTH)


# -- what rules store ------------------------------------------------------------------------------


class Kept:
    value: Any = None


KEPT: list[Any] = []
BUFFER = np.zeros(2)
GLOBAL_OF_RULES: Any = None


def _to_global(v: Any) -> None:
    global GLOBAL_OF_RULES
    GLOBAL_OF_RULES = v


STORES: dict[str, tuple[Callable[[Any], Any], Callable[[], Any]]] = {
    "list": (KEPT.append, lambda: KEPT[-1]),
    "class": (lambda v: setattr(Kept, "value", v), lambda: Kept.value),
    "array": (lambda v: BUFFER.__setitem__(slice(None), v), lambda: BUFFER),
    "global": (_to_global, lambda: GLOBAL_OF_RULES),
    "number": (lambda v: KEPT.append(np.sum(v)), lambda: KEPT[-1]),
}


def _storing(kind: str, store: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def tripled(v: Any) -> Any:
        store(3.0 * v)
        return 2.0 * v

    if kind == "custom_vjp":
        rule: Any = tg.custom_vjp(tripled)
        rule.defvjp(lambda v: (tripled(v), None), lambda _, ct: (2.0 * ct,))
    elif kind == "custom_jvp":
        rule = tg.custom_jvp(tripled)
        rule.defjvp(lambda p, t: (tripled(p[0]), 2.0 * t[0]))
    elif kind == "primitive":
        rule = tg.primitive(tripled)
        tg.extend.defvjp(rule, lambda ans, v: lambda ct: 2.0 * ct)
    else:

        class Stores(tg.autograd.Function):
            @staticmethod
            def forward(ctx: Any, v: Any) -> Any:
                return tg.as_tensor(tripled(tg.stop_gradient(v)))

            @staticmethod
            def backward(ctx: Any, ct: Any) -> Any:
                return 2.0 * ct

        rule = Stores.apply
    return rule


KINDS = ("custom_vjp", "custom_jvp", "primitive", "function")


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("place", STORES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_rules_store_is_read_as_it_is_and_has_no_gradient(
    kind: str, place: str, compiled: bool
) -> None:
    tg.config.compile = compiled
    store, read = STORES[place]
    rule = _storing(kind, store)

    def f(x: Any) -> Any:
        y = rule(x)
        return np.sum(y) + np.sum(read())

    run, gradient = tg.compile(f), tg.grad(f)
    for k in range(4):
        KEPT.clear()
        assert run(np.ones(2) + k) == 10.0 * (1 + k)
        KEPT.clear()
        BUFFER[:] = 0.0
        with pytest.raises(tg.errors.LostGradientError, match="what it stores outside comes back"):
            gradient(np.ones(2) + k)


@pytest.mark.parametrize("kind", KINDS)
def test_what_rules_store_and_nobody_reads_ends_no_program(kind: str) -> None:
    kept: list[Any] = []
    rule = _storing(kind, kept.append)
    gradient = tg.grad(lambda x: np.sum(rule(x)))
    for k in range(4):
        assert (gradient(np.ones(2) + k) == 2.0).all()
        assert (kept[-1] == 3.0 + 3.0 * k).all()
    assert gradient.cache_info().versions == 1


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_a_rule_may_store_in_a_list_of_the_function() -> None:
    def f(x: Any) -> Any:
        kept: list[Any] = []
        return np.sum(_storing("custom_vjp", kept.append)(x)) + np.sum(kept[0])

    run = tg.compile(f)
    for k in range(4):
        assert run(np.ones(2) + k) == 10.0 * (1 + k)


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("compiled", [True, False])
def test_a_context_variable_keeps_the_gradient_and_is_left_an_array(compiled: bool) -> None:
    tg.config.compile = compiled
    variable: contextvars.ContextVar[Any] = contextvars.ContextVar("variable")

    def f(x: Any) -> Any:
        variable.set(2.0 * x)
        return np.sum(variable.get() * x)

    gradient = tg.grad(f)
    for x in XS:
        np.testing.assert_allclose(gradient(x), 4.0 * x)
        assert type(variable.get()) is np.ndarray
        np.testing.assert_array_equal(variable.get(), 2.0 * x)


def test_of_many_objects_a_rule_reaches_the_nearest_are_compared_in_eager_calls() -> None:
    tg.config.compile = False
    many = [[i] for i in range(2000)]
    kept: list[Any] = []

    def stored(v: Any) -> Any:
        kept.append(3.0 * v)
        return v * len(many)

    rule = tg.primitive(stored)
    tg.extend.defvjp(rule, lambda ans, v: lambda ct: 2000.0 * ct)
    assert (tg.grad(lambda x: np.sum(rule(x)))(np.ones(2)) == 2000.0).all()
    with pytest.raises(tg.errors.LostGradientError):
        tg.grad(lambda x: np.sum(rule(x) + kept[-1]))(np.ones(2))
