"""Compiled functions hand out, store and return the very types that the plain function does.

Each program is called with Tensors, with grad mode on and off in any order, first and later, and
compared with the plain function: types, what requires grad, and values.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import GradientError

KINDS = {
    "computed": lambda s, x: x * 2.0,
    "a number of the argument": lambda s, x: x.mean(),
    "the argument": lambda s, x: x,
    "detached": lambda s, x: x.detach(),
    "a view": lambda s, x: x[1:],
    "with a weight": lambda s, x: x * s.w,
    "detached, with a weight": lambda s, x: (x * s.w).detach(),
    "the weight": lambda s, x: s.w,
    "of a Tensor outside": lambda s, x: s.h * 2,
    "a Tensor outside": lambda s, x: s.h,
    "made": lambda s, x: tg.zeros(2),
    "an int that counts": lambda s, x: s.n,
    "of an int": lambda s, x: s.n * 2,
    "a float": lambda s, x: s.k,
    "of a float": lambda s, x: s.k * 2 + s.n,
    "a bool": lambda s, x: s.n > 2,
    "a length": lambda s, x: x.shape,
    "of a length": lambda s, x: len(x) * s.k,
    "item": lambda s, x: x.sum().item(),
    "requires_grad": lambda s, x: x.requires_grad,
    "an array": lambda s, x: np.zeros(2),
    "an array outside": lambda s, x: s.a,
    "of an array": lambda s, x: s.a * 2,
    "a number of NumPy's": lambda s, x: s.a.sum(),
    "as an array": lambda s, x: x.detach().numpy() * 2,
    "several": lambda s, x: {"n": s.n, "y": x * 2, "l": [s.k, x.sum(), s.a * 2]},
    "times a float": lambda s, x: x.sum() * s.k,
    "compared": lambda s, x: x > 0,
    "of math": lambda s, x: [math.exp(s.h[0]), math.sin(x.detach()[0]) * 2],
    "a gradient": lambda s, x: tg.grad(square)(x),
    "a gradient of what requires none": lambda s, x: tg.value_and_grad(square)(s.h),
    "a gradient for each": lambda s, x: tg.vmap(tg.grad(lambda q: q * q))(x.detach()),
}


def square(q: Any) -> Any:
    return (q * q).sum()


def returned(s: Any, x: Any, kind: Any) -> Any:
    s.n += 1
    s.k *= 0.9
    return (x * s.w).sum(), kind(s, x)


def stored(s: Any, x: Any, kind: Any) -> Any:
    s.n += 1
    s.k *= 0.9
    s.kept = kind(s, x)
    return (x * s.w).sum()


def appended(s: Any, x: Any, kind: Any) -> Any:
    s.log.append(kind(s, x))
    s.items["last"] = s.log[-1]
    return (x * s.w).sum()


def state(weight_requires_grad: bool) -> SimpleNamespace:
    w = tg.tensor([1.0, 2.0], requires_grad=weight_requires_grad)
    return SimpleNamespace(
        w=w, h=tg.ones(2), a=np.array([1.0, 2.0]), n=0, k=0.5, kept=None, log=[], items={}
    )


def told(x: Any) -> Any:
    """Types and values of all that an object holds."""
    if isinstance(x, tg.Tensor):
        return "Tensor", x.requires_grad, x.detach().numpy().tolist()
    if isinstance(x, dict):
        return {key: told(item) for key, item in x.items()}
    if isinstance(x, list | tuple):
        return type(x).__name__, [told(item) for item in x]
    return type(x).__name__, x.tolist() if isinstance(x, np.ndarray) else x


def session(f: Any, compiled: bool, weight: bool, modes: str, argument: bool = False) -> list[Any]:
    """What calls return and leave behind; `g` in `modes` is a call in grad mode.

    `weight` and `argument` tell whether these require grad.
    """
    s = state(weight)
    call = tg.compile(lambda x: f(s, x)) if compiled else lambda x: f(s, x)
    seen = []
    for k, mode in enumerate(modes):
        x = tg.tensor([1.0, 2.0 + k], requires_grad=argument)
        with tg.set_grad_enabled(mode == "g"):
            result = call(x)
        seen.append((told(result), told(s.kept), told(s.log), told(s.items)))
    return seen


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", [returned, stored, appended])
def test_types_are_those_of_the_plain_function(kind: str, where: Any) -> None:
    def f(s: Any, x: Any) -> Any:
        return where(s, x, KINDS[kind])

    for weight, argument in ((True, False), (False, False), (True, True)):
        for modes in ("gngn", "ngng", "gggg", "nnnnn"):
            plain, found = (session(f, c, weight, modes, argument) for c in (False, True))
            assert found == plain, (weight, argument, modes)


def carried(s: Any, x: Any) -> Any:
    h, total, last, factor = x, 0.0, None, 1.0
    for _ in range(40):
        h = np.tanh(h * s.w)
        total = total + h.sum()
        last, factor = total * 2, factor * 1.1
    s.kept = (h, total, last, factor)
    return h * 1.0, total, last, factor


def looked_at(s: Any, x: Any) -> Any:
    h, total, rows = x, 0.0, []
    while total < 20:
        h = h * 0.9
        total = total + (h * s.w).sum()
        rows.append(h * 2)
    s.kept = (h, total, rows[0], rows[-1])
    return h, total, sum(rows)


def rows_appended(s: Any, x: Any) -> Any:
    h, rows = x, []
    for k in range(40):
        h = h + s.a[0] * k
        rows.append(h)
    s.kept = np.stack(rows)
    return h, np.stack(rows), rows[-1]


def array_filled(s: Any, x: Any) -> Any:
    y, h = np.zeros(40), 0.0
    for i in range(40):
        y[i] = i * 2.0
        h = h + y[i]
    s.kept = (y, h)
    return y, h, x * h


def in_arms(s: Any, x: Any) -> Any:
    h = x
    for _ in range(40):
        h = h * 0.5 if h.sum() > 2 else h + x
    s.kept = (h, h * 2)
    return h, h[0]


def beside_a_function(s: Any, x: Any) -> Any:
    s.made = lambda: 0.0  # calls are answered by their runs, then eagerly
    h = x
    for _ in range(40):
        h = h * 0.5 if h.sum() > 2 else h + x
    s.kept = (h, h * 2)
    return h, h[0]


LOOPS = [carried, looked_at, rows_appended, array_filled, in_arms, beside_a_function]


@pytest.mark.parametrize("f", LOOPS)
@pytest.mark.parametrize("modes", ["nnn", "ggg", "gngn"])
@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_types_of_what_loops_carry(f: Any, modes: str) -> None:
    for weight in (True, False):
        assert session(f, True, weight, modes) == session(f, False, weight, modes)


def test_items_of_lists_that_loops_read_are_tensors() -> None:
    kept: dict[str, Any] = {}

    @tg.compile
    def f(weights: Any) -> Any:
        h = total = 0.0
        for w in weights:
            h = np.tanh(h + w)
            total = total + np.sum(w**2)
        kept["total"] = total
        return h, total

    for _ in range(3):
        with tg.no_grad():
            results = f([tg.ones(2) * k for k in range(12)])
        assert [type(x) for x in (*results, kept["total"])] == [tg.Tensor] * 3


@pytest.mark.parametrize("requires_grad", [True, False])
def test_loops_of_arrays_and_a_tensor_outside_store_tensors(requires_grad: bool) -> None:
    plain, own = state(requires_grad), state(requires_grad)
    compiled = tg.compile(lambda x: carried(own, x))
    with tg.no_grad():
        for _ in range(3):
            carried(plain, np.ones(2))
            compiled(np.ones(2))
    assert told(own.kept) == told(plain.kept)


def test_a_tensor_that_is_returned_is_the_one_that_was_given() -> None:
    w = tg.ones(2, requires_grad=True)
    f = tg.compile(lambda x: (x, w, x * w))
    for grad in (True, False, True, False, False):
        x = tg.ones(2, requires_grad=True)
        with tg.set_grad_enabled(grad):
            results = f(x)
        assert results[0] is x and results[1] is w and results[2].requires_grad is grad


def test_positions_of_tensors_among_arrays_have_versions_of_their_own() -> None:
    kept: dict[str, Any] = {}

    @tg.compile
    def f(x: Any, y: Any) -> Any:
        kept["x"], kept["y"] = x * 2, y * 2
        return x + y

    for mode in (True, False):
        with tg.set_grad_enabled(mode):
            for _ in range(3):
                f(tg.ones(2), np.ones(2))
                assert (type(kept["x"]), type(kept["y"])) == (tg.Tensor, np.ndarray)
                f(np.ones(2), tg.ones(2))
                assert (type(kept["x"]), type(kept["y"])) == (np.ndarray, tg.Tensor)


def test_calls_under_no_grad_run_programs_with_loops() -> None:
    @tg.compile
    def f(x: Any, n: int) -> Any:
        for _ in range(n):
            x = np.tanh(x) * 1.5
        return x

    with tg.no_grad():
        for _ in range(3):
            assert type(f(tg.ones(2), 1000)) is tg.Tensor
    assert f.cache_info().hits == 2 and f.cache_info().versions == 1
    assert len(f.source(np.ones(2), 1000)) < 2000


class Scaled:
    def __init__(self) -> None:
        self.w = tg.tensor([1.0, 2.0], requires_grad=True)
        self.h, self.n = tg.ones(2), tg.tensor(2.0)


def scaled_before(s: Scaled, x: Any) -> Any:
    with tg.no_grad():
        s.h.mul_(0.9)
    return (tg.sin(x * s.w) * s.w * s.h).sum()


def scaled_behind(s: Scaled, x: Any) -> Any:
    y = (tg.sin(x * s.w) * s.w * s.h.clone()).sum()
    with tg.no_grad():
        s.h.mul_(0.9)
        s.n.add_(1.0)
    return y * s.n


def averaged(s: Scaled, x: Any) -> Any:
    with tg.no_grad():
        s.h.copy_(s.h * 0.9 + x * 0.1)
    return (tg.sin(x * s.w) * s.w * s.h).sum()


@pytest.mark.parametrize("f", [scaled_before, scaled_behind, averaged])
def test_gradients_of_gradients_through_calls_that_write_outside(f: Any) -> None:
    plain, own = Scaled(), Scaled()
    compiled = tg.compile(lambda x: f(own, x))
    for k in range(4):
        found = []
        for s, call in ((plain, lambda x: f(plain, x)), (own, compiled)):
            y = tg.tanh(call(tg.ones(2) * (k + 1)) * 0.1)
            (first,) = tg.autograd.grad(y, s.w, create_graph=True)
            (second,) = tg.autograd.grad((first * first).sum(), s.w)
            found.append([x.detach().numpy() for x in (first, second, s.h, s.n)])
        for one, other in zip(*found, strict=True):
            assert np.allclose(one, other, rtol=1e-12)


def test_what_a_call_writes_behind_its_use_is_refused_in_every_backward() -> None:
    s = Scaled()

    @tg.compile
    def f(x: Any) -> Any:
        y = (s.w * s.h * x).sum()
        with tg.no_grad():
            s.h.mul_(0.5)
        return y

    for create_graph in (False, True):
        with pytest.raises(GradientError, match="inplace"):
            tg.autograd.grad(f(tg.ones(2)), s.w, create_graph=create_graph)


EFFECTS: dict[str, Any] = {
    "none": lambda s: None,
    "an element of a Tensor": lambda s: s.h.__setitem__(1, 2.0),
    "a draw": lambda s: s.generator.normal(),
    "an int that counts": lambda s: setattr(s, "n", s.n + 1),
}


@pytest.mark.parametrize("effect", EFFECTS.values(), ids=list(EFFECTS))
@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_numbers_of_derivatives_are_scalars_of_numpy(effect: Any) -> None:
    """Whether the function that takes the derivative has a program, or runs eagerly."""
    s = state(False)
    s.generator = np.random.default_rng(0)

    def loss(x: Any) -> Any:
        effect(s)
        return (x * x).sum()

    @tg.compile
    def step(x: Any) -> Any:
        return tg.value_and_grad(loss)(x), tg.jvp(loss, (x,), (x,))

    for _ in range(3):
        (value, gradient), pair = step(np.ones(2))
        assert [type(x) for x in (value, *pair)] == [np.float64] * 3
        assert type(gradient) is np.ndarray
        assert (value, *pair) == (2.0, 2.0, 4.0)
