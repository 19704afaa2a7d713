"""One call of a compiled function calls each rule of the user's as often as plain Python does.

What the rule raises is caught where plain Python catches it, and what the function has done before
stands.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.autograd import rule_outcomes
from tracegrad.extend import defvjp, primitive

pytestmark = pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")

KINDS = ("custom_vjp", "custom_jvp", "primitive", "Function", "setup_context")
TRANSFORMS = (tg.value_and_grad, tg.compile)


class Failed(Exception):
    """An exception of the user's own."""


class World:
    """A rule with state of its own, and what a function that calls it has left behind."""

    def __init__(self, kind: str, error: type[Exception] = ValueError) -> None:
        self.forwards = self.backwards = 0
        self.bad = self.bad_backward = False
        self.draws = np.random.default_rng(0)
        self.error = error
        self.rule = self.of_kind(kind)

    def core(self, x: Any) -> Any:
        self.forwards += 1
        if self.bad or np.max(x) > 5.0:
            raise self.error("no convergence")
        return x * 2.0 + self.draws.normal()

    def back(self, g: Any) -> Any:
        self.backwards += 1
        if self.bad_backward:
            raise self.error("no cotangent")
        return g * 2.0

    def of_kind(self, kind: str) -> Any:
        core, back = self.core, self.back
        if kind == "custom_vjp":
            rule: Any = tg.custom_vjp(core)
            rule.defvjp(lambda x: (core(x), x), lambda kept, g: (back(g),))
            return rule
        if kind == "custom_jvp":
            rule = tg.custom_jvp(core)
            rule.defjvp(lambda primals, tangents: (core(primals[0]), tangents[0] * 2.0))
            return rule
        if kind == "primitive":
            rule = primitive(core)
            defvjp(rule, lambda ans, x: lambda g: back(g))
            return rule

        class Rule(tg.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return core(x)

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                (x,) = ctx.saved_tensors
                return back(g) + 0.0 * x

        class WithSetup(tg.autograd.Function):
            @staticmethod
            def forward(x: Any) -> Any:
                return core(x)

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                ctx.save_for_backward(output)

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                (y,) = ctx.saved_tensors
                return back(g) + 0.0 * y

        return Rule.apply if kind == "Function" else WithSetup.apply


def plain(op, log):
    return lambda x: np.sum(op(x) ** 2)


def tried(op, log):
    def f(x):
        log.append("before")
        try:
            y = op(x)
        except (ValueError, KeyError, Failed):
            log.append("caught")
            y = x * 5.0
        log.append("after")
        return np.sum(y)

    return f


def finished(op, log):
    def f(x):
        log.append("start")
        try:
            return np.sum(op(x))
        finally:
            log.append("end")

    return f


def suppressed(op, log):
    def f(x):
        y = x * 0.0
        with contextlib.suppress(ValueError, KeyError, Failed):
            y = op(x)
        return np.sum(y)

    return f


def acted(op, log):
    def f(x):
        y = op(x)
        log.append(np.sum(y))
        z = op(y * 0.5)
        log.append(np.sum(z))
        return np.sum(op(z * 0.3) + y)

    return f


def in_a_helper(op, log):
    def h(x):
        try:
            return op(op(x) * 0.5)
        finally:
            log.append("helper")

    def f(x):
        try:
            return np.sum(h(x))
        except (ValueError, KeyError, Failed) as error:
            return np.sum(x) * len(str(error))

    return f


def again(op, log):
    def f(x):
        for _ in range(3):
            try:
                return np.sum(op(x))
            except (ValueError, KeyError, Failed):
                x = x * 0.5
        return np.sum(x)

    return f


def looked(op, log):
    def f(x):
        y = op(x)
        if y[0] > 3.0:
            return np.sum(op(y * 0.3))
        return np.sum(y)

    return f


def turned(op, log):
    def f(x):
        for i in range(9):
            try:
                x = op(x) * 0.7
            except (ValueError, KeyError, Failed):
                x = x * 0.1
                log.append(i)
        return np.sum(x)

    return f


def turned_while(op, log):
    def f(x):
        k = 0
        while np.sum(x) < 8.0 and k < 12:
            x = op(x) * 0.8
            k += 1
        return np.sum(x)

    return f


def written(op, log):
    def f(x):
        y = x * 1.0
        y[0] = 1.5
        y = op(y)
        y += 1.0
        y *= op(y * 0.1)
        return np.sum(y)

    return f


def singular(op, log):
    def f(x):
        y = op(x)
        try:
            z = np.linalg.inv(np.diag(x - 1.0))
        except np.linalg.LinAlgError:
            log.append("singular")
            z = x
        return np.sum(z) + np.sum(y)

    return f


PROGRAMS = (
    *(plain, tried, finished, suppressed, acted, in_a_helper, again, looked, turned),
    *(turned_while, written, singular),
)

GOOD, BAD, LARGE, SMALL, BACK = "good", "bad", "large", "small", "back"
CALLS = (
    (GOOD, GOOD, BAD, GOOD, LARGE),
    (BAD, GOOD, GOOD, BAD, GOOD),
    (LARGE, SMALL, GOOD, LARGE, GOOD),
    (*(GOOD,) * 5, BAD, GOOD, SMALL, LARGE),
    (BACK, GOOD, BACK, GOOD),
    (GOOD, BACK, GOOD, BACK),
)


def told(world: World, transform, program, calls) -> list[Any]:
    """What each call gives, and leaves behind."""
    log: list[Any] = []  # which the rule does not reach
    function = transform(program(world.rule, log))
    found = []
    for call in calls:
        world.bad, world.bad_backward = call == BAD, call == BACK
        x = np.array([1.0, 0.5]) * {LARGE: 9.0, SMALL: 0.3}.get(call, 1.0)
        try:
            result = function(x)
        except Exception as error:
            result = repr(error)
        flat = [np.asarray(part).tolist() for part in result] if type(result) is tuple else result
        left = [x if isinstance(x, str) else np.asarray(x).tolist() for x in log]
        counts = world.forwards, world.backwards, world.draws.bit_generator.state["state"]
        found.append((call, str(flat), left, counts))
        log.clear()
    return found


@pytest.fixture
def eager():
    """Turns compiling off and on."""

    def choose(off: bool) -> None:
        tg.config.compile = not off

    yield choose
    tg.config.compile = True


@pytest.mark.parametrize("calls", CALLS, ids="-".join)
@pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda t: t.__name__)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_rules_that_raise_and_draw(program, transform, calls, eager):
    eager(True)
    expected = told(World("custom_vjp"), transform, program, calls)
    eager(False)
    assert told(World("custom_vjp"), transform, program, calls) == expected


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("kind", KINDS[1:])
def test_rules_of_each_kind(kind, program, eager):
    calls = (GOOD, GOOD, BAD, LARGE, BACK, GOOD)
    eager(True)
    expected = told(World(kind), tg.value_and_grad, program, calls)
    eager(False)
    assert told(World(kind), tg.value_and_grad, program, calls) == expected


@pytest.mark.parametrize("error", [KeyError, LookupError, Failed])
@pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda t: t.__name__)
@pytest.mark.parametrize("program", [tried, finished, acted, looked], ids=lambda p: p.__name__)
def test_exceptions_of_any_class(program, transform, error, eager):
    eager(True)
    expected = told(World("custom_vjp", error), transform, program, CALLS[0])
    eager(False)
    assert told(World("custom_vjp", error), transform, program, CALLS[0]) == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("program", [plain, tried, acted, turned], ids=lambda p: p.__name__)
def test_tensors(kind, program, eager):
    def gone(off: bool) -> list[Any]:
        eager(off)
        world, found, log = World(kind), [], []
        function = tg.compile(program(world.rule, log))
        for bad in (False, False, True, False):
            for enabled in (True, False):
                world.bad = bad
                x = tg.tensor([1.0, 0.5], requires_grad=True)
                try:
                    with contextlib.nullcontext() if enabled else tg.no_grad():
                        y = function(x)
                    if enabled:
                        y.backward()
                except ValueError as error:
                    y = error
                left = [
                    x if isinstance(x, str | int) else float(getattr(x, "detach", lambda x=x: x)())
                    for x in log
                ]
                counts = world.forwards, world.backwards
                value = y if isinstance(y, ValueError) else float(y.detach() if enabled else y)
                found.append((repr(value), str(x.grad), left, counts))
                log.clear()
        return found

    expected = gone(True)
    assert gone(False) == expected


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "custom_jvp"])
def test_the_first_call_of_vjp_and_of_a_jacobian(kind):
    world = World(kind)
    tg.vjp(lambda x: world.rule(x) ** 2, np.ones(2))
    assert world.forwards == 1
    tg.jacobian(lambda x: world.rule(x) ** 2)(np.ones(2))
    assert world.forwards == 2


@pytest.mark.parametrize("kind", KINDS)
def test_to_look_at_a_program_calls_a_rule_once(kind):
    world = World(kind)
    tg.grad(plain(world.rule, [])).source(np.ones(2))
    assert world.forwards == 1


def test_generators_are_where_plain_python_has_them():
    rule: Any = tg.custom_vjp(lambda x: x * 2.0)

    def forward(x):
        if x[0] > 5.0:
            raise Failed
        return x * 2.0, None

    rule.defvjp(forward, lambda kept, g: (g * 2.0,))
    draws = np.random.default_rng(0)

    def f(x):
        scale = draws.normal()
        try:
            return np.sum(rule(x)) * scale
        except Failed:
            return np.sum(x) * draws.normal()

    g, own = tg.value_and_grad(f), np.random.default_rng(0)
    for x in (1.0, 1.0, 9.0, 1.0, 9.0):
        first = own.normal()
        expected = first * 2.0 * 2.0 * x if x < 5.0 else own.normal() * 2.0 * x
        assert g(np.full(2, x))[0] == expected


def test_a_rule_that_stores_is_known_to_in_each_run():
    class Seen:
        value = 0.0

    seen = Seen()
    rule: Any = tg.custom_vjp(lambda x: x * 2.0)

    def forward(x):
        seen.value = seen.value + 1.0
        return x * 2.0, None

    rule.defvjp(forward, lambda kept, g: (g * 2.0,))

    @tg.compile
    def f(x):
        y = rule(x)
        if y[0] > 3.0:
            return np.sum(y) * seen.value
        return np.sum(y)

    calls = (1.0, 1.0, 2.0, 2.0, 1.0, 2.0, 2.0)
    found = [f(np.full(2, x)) for x in calls]
    expected = [4.0 * x if x < 1.5 else 4.0 * x * k for k, x in enumerate(calls, 1)]
    assert found == expected


def test_results_that_a_program_writes_to_are_as_they_were():
    """The program writes to the first result, and then a rule raises: the next run has both."""
    world, log = World("custom_vjp"), []

    @tg.value_and_grad
    def f(x):
        log.append("begun")
        y = world.rule(x)
        y += 1.0
        y *= 3.0
        try:
            z = world.rule(y * 0.01)
        except ValueError:
            z = y
        return np.sum(z)

    def fails_next(x):
        raise ValueError("the second time")

    f(np.ones(2))
    f(np.ones(2))
    second = world.core

    def core(x):
        if np.max(x) < 0.5:
            fails_next(x)
        return second(x)

    world.rule.defvjp(lambda x: (core(x), x), lambda kept, g: (g * 2.0,))
    world.draws = np.random.default_rng(1)
    value, gradient = f(np.ones(2))
    y = (2.0 + np.random.default_rng(1).normal() + 1.0) * 3.0
    assert value == y + y
    np.testing.assert_array_equal(gradient, [6.0, 6.0])


def test_a_call_keeps_no_more_than_it_may(monkeypatch):
    """Beyond that a further run calls the rules again, and finds the same where they are plain."""
    monkeypatch.setattr(rule_outcomes, "MOST_BYTES", 100)
    calls = []

    @tg.custom_vjp
    def rule(x):
        calls.append(1)
        if x[0] > 5.0:
            raise ValueError("too large")
        return x * 2.0

    rule.defvjp(lambda x: (rule(x), None), lambda kept, g: (g * 2.0,))

    @tg.value_and_grad
    def f(x):
        y = rule(x)
        y = rule(y * 0.5)
        try:
            return np.sum(rule(y))
        except ValueError:
            return np.sum(y)

    assert f(np.full(20, 1.0))[0] == 80.0
    assert len(calls) == 6
    assert f(np.full(20, 4.0))[0] == 160.0
    assert f(np.full(20, 1.0))[0] == 80.0


def test_rules_that_call_compiled_functions_and_are_called_by_them():
    counts = {"inner": 0, "outer": 0}

    @tg.custom_vjp
    def inner(x):
        counts["inner"] += 1
        return x * 3.0

    inner.defvjp(lambda x: (inner(x), None), lambda kept, g: (g * 3.0,))
    compiled = tg.compile(lambda x: inner(x) + 1.0)
    compiled(np.ones(2))

    @tg.custom_vjp
    def outer(x):
        counts["outer"] += 1
        return compiled(x)

    outer.defvjp(lambda x: (outer(x), None), lambda kept, g: (g * 3.0,))

    @tg.value_and_grad
    def f(x):
        try:
            y = outer(x)
        except ValueError:
            y = x
        return np.sum(compiled(y))

    for number in range(1, 5):
        value, gradient = f(np.ones(2))
        assert value == 26.0
        np.testing.assert_array_equal(gradient, [9.0, 9.0])
        assert counts == {"outer": number, "inner": 2 * number + 1}
