"""Compiled functions of Tensors do to histories what they do without compiling, or run eagerly.

Each program runs plainly and compiled, several times, with a backward after each call; gradients,
what is stored, and what raises are compared. `compiled` tells which of them have a program.
"""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

CALLS = 3
PROGRAMS: dict[str, tuple[Callable[..., Any], bool]] = {}


class Held:
    """What a program reads from outside."""

    def __init__(self) -> None:
        self.w = tg.tensor([1.0, 2.0], requires_grad=True)
        self.v = tg.tensor([0.5, -0.5], requires_grad=True)
        self.c = tg.tensor([3.0, 4.0])
        self.acts: dict[str, Any] = {}


def program(compiled: bool) -> Callable[..., Any]:
    """Enters a function that makes the function to be called, of what is held."""

    def entered(make: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[make.__name__] = make, compiled
        return make

    return entered


@program(compiled=True)
def gradient_is_a_constant(held):
    def f(x):
        h = x.detach().requires_grad_()
        (g,) = tg.autograd.grad((h * held.w).sin().sum(), h)
        return (g * held.w).sum()

    return f


@program(compiled=True)
def gradient_of_an_inner_value_is_a_constant(held):
    def f(x):
        h = x * 2.0
        (g,) = tg.autograd.grad((h * held.w).sin().sum(), h, retain_graph=True)
        return (g * held.w * x).sum()

    return f


@program(compiled=True)
def first_order_inner_step(held):
    def f(x):
        fast = held.w * 1.0
        (g,) = tg.autograd.grad(((fast * x) ** 2).sum(), fast)
        return (((fast - 0.1 * g) * x) ** 2).sum()

    return f


@program(compiled=True)
def penalty_of_the_gradient_in_an_argument(held):
    def f(x):
        (g,) = tg.autograd.grad((x * held.w).sin().sum(), [x], create_graph=True)
        return (g.norm() - 1.0) ** 2

    return f


@program(compiled=True)
def inner_step_by_a_leaf(held):
    def f(x):
        (g,) = tg.autograd.grad(((held.w * x) ** 2).sum(), held.w, create_graph=True)
        return (((held.w - 0.1 * g) * x) ** 2).sum()

    return f


@program(compiled=True)
def detached_in_place(held):
    def f(x):
        y = x * held.w
        y.detach_()
        return y.sum() + held.w.sum()

    return f


@program(compiled=True)
def reads_detached_parameters(held):
    def f(x):
        scale = held.w.detach().norm() + held.w.data.sum() + held.c.detach().sum()
        return (x * held.w / scale).sum()

    return f


@program(compiled=False)
def kept_gradient(held):
    def f(x):
        held.acts["h"] = h = tg.tanh(x * held.w)
        h.retain_grad()
        return (h**2).sum()

    return f


@program(compiled=False)
def returned_leaf(held):
    def f(x):
        w = tg.ones(2, requires_grad=True)
        held.acts["w"] = w
        return (x * w * held.w).sum(), w

    return f


@program(compiled=False)
def leaf_is_clipped(held):
    def f(x):
        with tg.no_grad():
            held.w.clamp_(-1.5, 1.5)
        return (x * held.w).sum()

    return f


@program(compiled=False)
def leaf_is_copied_to(held):
    def f(x):
        with tg.no_grad():
            held.w.copy_(x)
        return (x * held.w).sum()

    return f


@program(compiled=False)
def data_is_set(held):
    def f(x):
        held.w.data = x * 1.0
        return (x * held.w).sum()

    return f


@program(compiled=False)
def data_is_written(held):
    def f(x):
        held.w.data.mul_(2.0)
        held.w.data -= x
        return (x * held.w).sum()

    return f


@program(compiled=False)
def data_is_clipped(held):
    def f(x):
        held.w.data.clamp_(-1.5, 1.5)
        return (x * held.w).sum()

    return f


@program(compiled=True)
def data_is_clipped_behind_its_use(held):
    def f(x):
        y = (x + held.w).sum()
        held.w.data.clamp_(-1.5, 1.5)
        return y

    return f


@program(compiled=False)
def leaf_is_used_between_writes(held):
    def f(x):
        with tg.no_grad():
            held.w.mul_(0.5)
        y = (x + held.w).sum()
        with tg.no_grad():
            held.w.mul_(3.0)
        return y

    return f


@program(compiled=False)
def leaf_is_read_by_iterations_that_write_it(held):
    def f(x):
        y = x.sum()
        for _ in range(10):
            y = y + held.w.sum()
            with tg.no_grad():
                held.w.mul_(0.9)
        return y

    return f


@program(compiled=False)
def written_leaf_begins_a_loop(held):
    def f(x):
        with tg.no_grad():
            held.w.mul_(0.9)
        h = held.w
        for _ in range(10):
            h = h * 1.1
        return (h * x).sum()

    return f


@program(compiled=False)
def written_leaf_is_handed_on_by_an_arm(held):
    def f(x):
        with tg.no_grad():
            held.w.mul_(0.9)
        p = held.w if x[0] > 1.5 else held.v
        return (p * x).sum()

    return f


@program(compiled=True)
def written_leaf_is_read_under_no_grad(held):
    def f(x):
        held.v.data.mul_(0.9)
        with tg.no_grad():
            norm = held.v.norm()
        return (x * held.w).sum() * norm + (x * held.v.detach()).sum()

    return f


@program(compiled=False)
def view_with_a_history_follows_a_write(held):
    def f(x):
        first = held.w[:1]
        held.w.data.mul_(2.0)
        return (x + first).sum()

    return f


@program(compiled=True)
def data_follows_another_one(held):
    def f(x):
        held.c.data.mul_(0.9).add_(0.1 * held.w.data)
        held.v.data.copy_(held.w.data)
        return (x * held.w).sum()

    return f


@program(compiled=True)
def data_is_written_in_iterations(held):
    def f(x):
        for _ in range(12):
            held.v.data.mul_(0.9)
        return (x * held.w).sum()

    return f


@program(compiled=False)
def data_of_an_argument_is_written(held):
    def f(x):
        x.data.mul_(2.0)
        return (x * held.w).sum()

    return f


@program(compiled=False)
def data_of_an_own_leaf_is_written(held):
    def f(x):
        w = tg.ones(2, requires_grad=True)
        w.data.mul_(3.0)
        return (x * held.w).sum() + w.detach().sum()

    return f


@program(compiled=False)
def leaf_is_detached_in_place(held):
    def f(x):
        if held.v.requires_grad:
            held.v.detach_()
        return (x * held.w * held.v).sum()

    return f


@program(compiled=False)
def buffer_gets_a_history(held):
    def f(x):
        if held.c.requires_grad:
            held.c = held.c.detach()
        held.c.mul_(held.w)
        return (x * held.c).sum()

    return f


@program(compiled=False)
def gradient_is_emptied(held):
    def f(x):
        held.w.grad = None
        return (x * held.w).sum()

    return f


@program(compiled=False)
def gradient_is_set(held):
    def f(x):
        held.w.grad = x * 2.0
        return (x * held.w).sum()

    return f


@program(compiled=False)
def gradient_is_deleted(held):
    def f(x):
        del held.w.grad
        return (x * held.w).sum()

    return f


@program(compiled=False)
def hook_on_a_leaf(held):
    def f(x):
        held.w.register_hook(lambda g: g * 2.0)
        return (x * held.w).sum()

    return f


@program(compiled=False)
def leaf_is_frozen(held):
    def f(x):
        held.w.requires_grad_(False)
        return (x * held.w).sum()

    return f


@program(compiled=False)
def recording_is_left_off(held):
    def f(x):
        y = (x * held.w).sum()
        tg.set_grad_enabled(False)
        return y

    return f


@program(compiled=False)
def detached_alias_is_written(held):
    def f(x):
        y = x * held.w
        y.detach()[0] = 3.0
        y.data.mul_(2.0)
        return (y * held.w).sum()

    return f


@program(compiled=False)
def result_is_written_unrecorded(held):
    def f(x):
        y = x * held.w
        with tg.no_grad():
            y.mul_(3.0)
        return (y * y).sum()

    return f


@program(compiled=False)
def saved_result_is_written_unrecorded(held):
    def f(x):
        y = tg.tanh(x * held.w)
        with tg.no_grad():
            y.clamp_(-0.5, 0.5)
        return (y * held.w).sum()

    return f


def shown(x: Any) -> Any:
    return x.detach().numpy().copy() if isinstance(x, tg.Tensor) else x


def ran(f: Callable[..., Any], held: Held) -> list[Any]:
    seen = []
    for k in range(CALLS):
        x = tg.tensor([1.0 + k, 2.0], requires_grad=True)
        try:
            result = f(x)
            first = result[0] if isinstance(result, tuple) else result
            first.backward()
            leaf = result[1] if isinstance(result, tuple) else None
            leaves = [x, held.w, held.v, held.c, *([] if leaf is None else [leaf])]
            own = [shown(acts.grad) for acts in held.acts.values()]
            modes = [tg.is_grad_enabled(), *(leaf.requires_grad for leaf in leaves)]
            state = [held.w, held.v, held.c]
            seen += [first, [shown(leaf.grad) for leaf in leaves], own, *state, modes]
        except tg.errors.GradientError as error:
            seen.append(str(error).partition(":")[0])
        finally:
            tg.set_grad_enabled(True)
    return [shown(x) for x in seen]


@pytest.mark.parametrize("name", PROGRAMS)
def test_histories_are_as_without_compiling(name):
    make, compiled = PROGRAMS[name]
    one, other = Held(), Held()
    expected = ran(make(one), one)
    f = tg.compile(make(other))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        found = ran(f, other)
    assert_same_bits(found, expected)
    assert (f.cache_info().hits > 0) is compiled


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("data_is_clipped", "writes to a leaf that requires grad, and goes on with it"),
        ("data_of_an_argument_is_written", "writes by .data or .detach() to a Tensor that has"),
        ("detached_alias_is_written", "writes by .data or .detach() to a Tensor that has"),
        ("leaf_is_detached_in_place", "calls .detach_ of a Tensor from outside"),
    ],
)
def test_what_no_program_does_is_traced_once(name, reason):
    held = Held()
    f = tg.compile(PROGRAMS[name][0](held))
    with pytest.warns(tg.errors.RecompileWarning) as caught:
        ran(f, held)
    assert len(caught) == 1
    assert reason in str(caught[0].message)
    assert f.cache_info().traces == 1
    assert f"runs eagerly: it {reason}" in f.explain()


@pytest.mark.parametrize(
    "name", ["data_is_clipped", "data_is_clipped_behind_its_use", "data_follows_another_one"]
)
def test_a_function_of_arrays_writes_by_data(name):
    def held_after(call):
        held = Held()
        f = call(PROGRAMS[name][0](held))
        for k in range(CALLS):
            f(np.array([1.0 + k, 2.0]))
        return [shown(x) for x in (held.w, held.v, held.c)], f

    expected, _ = held_after(lambda f: f)
    found, f = held_after(tg.compile)
    assert_same_bits(found, expected)
    assert (f.cache_info().hits > 0) is PROGRAMS[name][1]


def test_what_a_trace_raises_time_and_again_is_not_traced_again():
    s = Held()

    @tg.compile
    def f(x):
        s.w.detach().mul_(s.v)
        return x.sum()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(4):
            with pytest.raises(tg.errors.GradientError):
                f(tg.ones(2))
    assert f.cache_info().traces == 2
    assert [w.category for w in caught] == [tg.errors.RecompileWarning]
    assert "raises while it is traced" in f.explain()


def test_what_is_asked_of_arguments_is_the_callers():
    def sgd(parameters, lr=0.1):
        with tg.no_grad():
            for p in parameters:
                if p.grad is not None:
                    p -= lr * p.grad
                p.grad = None
        return [p.is_leaf for p in parameters]

    runs = []
    for step in sgd, tg.compile(sgd):
        p = tg.tensor([1.0, 2.0], requires_grad=True)
        for _ in range(CALLS):
            (p**2).sum().backward()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", tg.errors.RecompileWarning)
                runs.append([step([p]), shown(p), p.grad])
    assert_same_bits(runs[:CALLS], runs[CALLS:])
    assert runs[0][0] == [True]


def test_what_is_asked_of_arguments_under_no_grad_is_the_callers():
    def step(parameters):
        for p in parameters:
            if p.grad is not None:
                p.sub_(0.1 * p.grad)
        return sum((p**2).sum() for p in parameters if p.requires_grad)

    seen = []
    for call in step, tg.compile(step):
        p = tg.tensor([1.0, 2.0], requires_grad=True)
        (p**2).sum().backward()
        with tg.no_grad():
            seen.append([[shown(call([p])) for _ in range(CALLS)], shown(p)])
    assert_same_bits(seen[:1], seen[1:])


def test_an_unrecorded_write_to_a_value_keeps_its_history_in_derivatives_too():
    def f(w, x):
        y = tg.asarray(x * w)
        with tg.no_grad():
            y *= 2.0
        return tg.sum(y * y)

    w, x = np.array([1.0, 2.0]), np.array([0.3, 0.4])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        found = [tg.value_and_grad(f)(w, x) for _ in range(2)]
    for value, gradient in found:
        np.testing.assert_allclose(value, 4.0 * np.sum((w * x) ** 2))
        np.testing.assert_allclose(gradient, 2.0 * x * 2.0 * x * w)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_gradient_without_a_graph_is_a_constant_to_transforms(compiled, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiled)

    def f(x, w):
        h = x * 1.0
        (g,) = tg.autograd.grad(tg.sum(tg.sin(h * w)), h)
        return tg.sum(g * w)

    x, w = np.array([0.2, 0.2]), np.array([0.5, -1.0])
    gx, gw = tg.grad(f, argnums=(0, 1))(x, w)
    assert_same_bits(gx, np.zeros(2))
    np.testing.assert_allclose(gw, w * np.cos(x * w))


def two(x, w):
    return tg.tanh(x * w).sum()


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("form", ["default", "keyword", "partial", "within"])
def test_a_default_that_is_a_tensor_is_read_from_outside(form, required):
    w = tg.tensor([1.0, 2.0], requires_grad=required)

    def default(x, w=w):
        return two(x, w)

    def keyword(x, *, w=w):
        return two(x, w)

    def within(x, held={"w": w}):  # noqa: B006
        return two(x, held["w"])

    f = {"default": default, "keyword": keyword, "within": within}.get(form)
    f = functools.partial(two, w=w) if f is None else f
    made, seen = tg.compile(f), []
    for call in f, made:
        for k in range(CALLS):
            w.grad = None
            x = tg.tensor([1.0, 2.0 + k], requires_grad=True)
            y = call(x)
            y.backward()
            seen.append([shown(y), shown(x.grad), shown(w.grad)])
    assert_same_bits(seen[:CALLS], seen[CALLS:])
    assert made.cache_info().hits == CALLS - 1
    np.testing.assert_allclose(tg.grad(f)(np.ones(2)), shown(w) / np.cosh(shown(w)) ** 2)
    if form != "within":
        np.testing.assert_array_equal(shown(made(tg.ones(2), w=tg.zeros(2))), 0.0)


def test_a_frozen_leaf_gets_no_gradient():
    """It is asked at the backward, as in PyTorch."""
    a, b = (tg.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    for f in (lambda: (a * b).sum(), tg.compile(lambda: (a * b).sum() * tg.tensor(1.0))):
        del f
        a.requires_grad_(True)
        a.grad = b.grad = None
        loss = (a * b).sum()
        a.requires_grad_(False)
        loss.backward()
        assert a.grad is None
        np.testing.assert_array_equal(shown(b.grad), [1.0, 2.0])


def test_a_leaf_or_result_that_requires_grad_may_be_told_so_again():
    w = tg.tensor([1.0], requires_grad=True)
    y = w * 2.0
    assert y.requires_grad_() is y
    with pytest.raises(tg.errors.GradientError, match="only leaves"):
        y.requires_grad_(False)


def test_profilers_and_anomaly_detection_lose_no_gradient():
    w, x = tg.tensor([1.0, 2.0], requires_grad=True), tg.ones(2)
    f = tg.compile(lambda x: tg.tanh(x * w).sum())
    assert f(x).requires_grad
    with tg.autograd.profiler.profile():
        assert f(x).requires_grad
    with tg.autograd.detect_anomaly():
        assert f(x).requires_grad


def test_results_with_graphs_apart_have_backwards_apart():
    seen = []
    for compiled in False, True:
        d, g = (tg.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))

        def losses(z, d=d, g=g):
            fake = z * g
            return (d * fake.detach()).sum().exp(), -(fake**2).sum()

        f = tg.compile(losses) if compiled else losses
        for _ in range(CALLS):
            one, other = f(tg.tensor([1.0, 0.5]))
            one.backward()
            other.backward()
            seen.append([shown(d.grad), shown(g.grad)])
        one, other = f(tg.tensor([1.0, 0.5]))
        one.backward(retain_graph=True)
        one.backward()
        with pytest.raises(tg.errors.GradientError, match="second time"):
            one.backward()
        other.backward()
        seen.append([shown(d.grad), shown(g.grad)])
    assert_same_bits(seen[: CALLS + 1], seen[CALLS + 1 :])


def test_why_a_call_on_tensors_has_no_program_is_told():
    w = tg.tensor(np.ones((3, 3)), requires_grad=True)

    @tg.compile
    def masked(x):
        y = x @ w
        return y[y > 0]

    masked(tg.tensor(np.ones((3, 3))))
    assert "runs op by op where Tensors require grad: it has lengths" in masked.explain()


def test_arrays_for_a_transform_of_parameters_are_warned_of():
    w = tg.tensor([1.0, 2.0], requires_grad=True)

    def f(x):
        return ((x * w) ** 2).mean()

    with pytest.warns(UserWarning, match="reads w, which requires grad, and is called without a"):
        tg.grad(f)(np.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with tg.no_grad():
            tg.grad(lambda x: ((x * w) ** 2).mean())(np.ones(2))
        assert tg.compile(f)(np.ones(2)).requires_grad
        tg.compile(lambda: {"w": w.detach() * 2.0})()


def test_arrays_for_parameters_in_a_transform_within_are_warned_of():
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    made = tg.compile(lambda x: tg.grad(lambda z: ((z * w) ** 2).mean())(x))
    with pytest.warns(UserWarning, match="reads a Tensor, which requires grad, and is called with"):
        assert type(made(np.ones(2))) is np.ndarray


def test_steps_of_optimizers_written_by_hand_are_compiled():
    def bare(w):
        def step():
            with tg.no_grad():
                w.sub_(0.1 * w.grad)

        return step, ()

    def by_rate(w):
        def step(rate):
            with tg.no_grad():
                w.sub_(rate * w.grad)

        return step, (tg.tensor(0.1),)

    for make in bare, by_rate:
        seen = []
        for compiled in False, True:
            w = tg.tensor([1.0, 2.0], requires_grad=True)
            step, given = make(w)
            step = tg.compile(step) if compiled else step
            for _ in range(6):
                w.grad = None
                (w**2).sum().backward()
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    step(*given)
                seen.append(shown(w).copy())
        assert_same_bits(seen[:6], seen[6:])
        assert step.cache_info().hits == 5


def test_a_step_that_runs_eagerly_may_write_to_parameters():
    w = tg.tensor([1.0, 2.0], requires_grad=True)

    @tg.compile
    def step():
        time.perf_counter()
        with tg.no_grad():
            w.sub_(0.5)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        for _ in range(4):
            step()
    assert w.tolist() == [-1.0, 0.0]


def adversarial(w, x):
    h = x.clone().detach().requires_grad_()
    inner = (h * w).sin().sum()
    (g,) = tg.autograd.grad(inner, h)
    return ((h + 0.1 * g.sign()).detach() * w).sum(), inner


def of_what_was_let_go(w, x):
    h = x * w
    (g,) = tg.autograd.grad(h.sum(), w)
    return (w * x * g).sum(), (h * 2.0).sum() + (g * x).sum()


@pytest.mark.parametrize("program", [adversarial, of_what_was_let_go])
def test_results_whose_graph_was_let_go_are_returned(program):
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    made, seen = tg.compile(lambda x: program(w, x)), []
    for call in (lambda x: program(w, x), made, made, made):
        w.grad = None
        loss, inner = call(tg.tensor([1.0, 2.0]))
        loss.backward()
        with pytest.raises(tg.errors.GradientError, match="second time"):
            inner.backward()
        seen.append([shown(loss), shown(inner), shown(w.grad)])
    assert_same_bits(seen[:1] * 3, seen[1:])
    assert made.cache_info().hits == 2


def test_a_parameter_on_a_device_is_read_from_outside():
    pytest.importorskip("jax")
    w = tg.tensor([1.0, 2.0], requires_grad=True, device="jax")
    calls = []

    @tg.compile(backend="jax")
    def f(x):
        calls.append(1)
        return tg.tanh(x * w).sum()

    for k in range(3):
        assert len(calls) == k
        w.grad = None
        f(tg.tensor([1.0, 3.0], device="jax")).backward()
        expected = np.array([1.0, 3.0]) / np.cosh(np.array([1.0, 6.0])) ** 2
        np.testing.assert_allclose(w.grad.cpu().numpy(), expected, 1e-6)


class Config:
    scale = 2.0
    act = staticmethod(tg.nn.gelu)


class Scaled(tg.autograd.Function):
    """Its rule reads a number of an object that holds a function of the library's."""

    config = Config()

    @staticmethod
    def forward(ctx, x):
        return x * Scaled.config.scale

    @staticmethod
    def backward(ctx, g):
        return g * Scaled.config.scale


def test_a_rule_may_read_what_holds_functions_of_the_library():
    w = tg.tensor([1.0, 2.0], requires_grad=True)

    def f(x):
        return Scaled.apply(Scaled.config.act(x * w)).sum()

    made = tg.compile(f)
    for k in range(CALLS):
        x = tg.tensor([1.0, 2.0 + k])
        assert_same_bits(shown(made(x)), shown(f(x)))
