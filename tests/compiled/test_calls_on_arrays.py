"""Calls on arrays, or without arguments, of functions that read Tensors which require grad.

They answer as their eager calls do: with Tensors where these have a history, with arrays where
nothing has one: under `no_grad`, where the parameters are frozen, inside transforms of arrays.
"""

from __future__ import annotations

import time
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from checks import wide_jax

import tracegrad as tg
from tracegrad.values.pytree import flatten

pytestmark = pytest.mark.usefixtures("fresh_loops")

A, B = np.array([1.0, 3.0]), np.array([-1.0, 2.0])
LONG = np.random.default_rng(0).normal(size=(10, 2))


def number(m, x):
    return (x * m.w).sum() + m.b


def without_arguments(m):
    return (m.w**2).sum() + m.b


def by_name(m, name, *, scale=1.0):
    return (m.w**2).sum() * scale if name == "a" else m.w.sum()


def branched(m, x):
    if x.sum() > 2.5:
        return (x * m.w).sum()
    return x.sum() * 2.0


def of_all_kinds(m, x):
    loss = (x * m.w).sum()
    values = {"loss": loss, "item": loss.item(), "shape": x.shape}
    return values, x * 2.0, m.w.detach() * x, x.sum(), tg.zeros(2), None, "name"


def recurrent(m, x):
    h, rows = x[0] * 1.0, []
    for row in x:
        h = np.tanh(h * m.w + row)
        rows.append(h)
    return np.stack(rows), h.sum() * m.b


def growing(m, x):
    kept = []
    for row in x:
        v = (row * m.w).sum()
        if v > 0.0:
            kept.append(v)
    return sum(kept) * m.b


def counted(m, x):
    m.count += 1
    return (x * m.w).sum() * m.count


def stored(m, x):
    before = 0.0 if m.h is None else m.h.detach()
    m.h = np.tanh(x * m.w + before)
    m.log.append(m.h.sum().item())
    return m.h.sum()


def within_no_grad(m, x):
    with tg.no_grad():
        return (x * m.w).sum(), x * 2.0


def of_constants(m, x):
    return (x * m.w.detach()).sum()


def derived_within(m, x):
    return tg.grad(lambda z: ((z * m.w) ** 2).sum())(x)


def derived_and_read(m, x):
    value, slope = tg.value_and_grad(lambda z: ((z * m.w) ** 2).sum())(x)
    return value, slope, (slope * m.w).sum()


def mapped_within(m, x):
    return tg.vmap(lambda z: z * m.w)(np.stack([x, x])), tg.jacobian(lambda z: z * m.w)(x)


def of_its_own_derivative(m, x):
    (g,) = tg.autograd.grad(((x * m.w) ** 2).sum(), [m.w], create_graph=True)
    return (g**2).sum()


def the_leaf_itself(m, x):
    return m.w, x


def run_eagerly(m, x):
    time.perf_counter()
    y = x * 2.0
    return (y * m.w).sum(), y


PROGRAMS: dict[Any, list[tuple[Any, ...]]] = {
    number: [(A,), (2.0,), (3,), (np.float32(2.0),), (np.arange(2),)],
    without_arguments: [(), ()],
    by_name: [("a",), ("b",), ("a",)],
    branched: [(A,), (B,), (A,), (A * 2.0,)],
    recurrent: [(LONG,), (LONG[:9],), (LONG[:3],)],
    growing: [(LONG,), (LONG[:9],), (LONG[:3],)],
    of_all_kinds: [(A,), (B,)],
    counted: [(A,), (B,)],
    stored: [(A,), (B,)],
    within_no_grad: [(A,), (B,)],
    of_constants: [(A,), (B,)],
    derived_within: [(A,), (B,), (A,)],
    derived_and_read: [(A,), (B,), (A,)],
    mapped_within: [(A,), (B,), (A,)],
    of_its_own_derivative: [(A,), (B,), (A,)],
    the_leaf_itself: [(A,), (B,), (A,)],
    run_eagerly: [(A,), (B,), (A,)],
}
MODES = ["recorded", "without", "recorded", "frozen", "recorded", "thawed", "recorded", "without"]


def leaf(x: Any) -> Any:
    if isinstance(x, tg.Tensor):
        return "tensor", x.requires_grad, x.dtype.name, x.detach().numpy().round(12).tolist()
    if isinstance(x, np.ndarray | np.generic):
        return type(x).__name__, x.dtype.name, x.round(12).tolist()
    return type(x).__name__, x


def called(m: Any, call: Any, args: tuple[Any, ...]) -> Any:
    """What a call gives, and the gradients of all that, once its arrays were overwritten."""
    given = [x.copy() if isinstance(x, np.ndarray) else x for x in args]
    result = flatten(call(*given))[0]
    found = [*map(leaf, result), leaf(m.h), list(m.log), m.count]
    for x in [*given, *result]:
        if isinstance(x, np.ndarray) and not np.shares_memory(x, m.w.detach().numpy()):
            x[...] = 9
    m.w.grad = m.b.grad = None
    moving = [x for x in result if isinstance(x, tg.Tensor) and x.requires_grad]
    if moving:
        sum((x * x).sum() for x in moving).backward()
    return found, [p.grad if p.grad is None else leaf(p.grad) for p in (m.w, m.b)]


def seen(f: Any, calls: list[tuple[Any, ...]]) -> list[Any]:
    """What calls give in all modes, one after the other."""
    found, m = [], SimpleNamespace(count=0, h=None, log=[])
    m.w, m.b = tg.tensor([1.0, 2.0], requires_grad=True), tg.tensor(0.5, requires_grad=True)
    made = tg.compile(lambda *args, **names: f(m, *args, **names))
    for mode in MODES:
        if mode in ("frozen", "thawed"):
            m.w.requires_grad_(mode == "thawed")
            m.b.requires_grad_(mode == "thawed")
        for args in calls:
            if mode == "without" and f not in (of_its_own_derivative, the_leaf_itself):
                with tg.no_grad():
                    found.append(called(m, made, args))
            elif f is not of_its_own_derivative or m.w.requires_grad:
                found.append(called(m, made, args))
    return found


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:.* does more than compute:tracegrad.errors.RecompileWarning")
@pytest.mark.filterwarnings("ignore:.* which requires grad:UserWarning")
def test_a_call_answers_as_its_eager_call_does(f, monkeypatch):
    found = seen(f, PROGRAMS[f])
    monkeypatch.setattr(tg.config, "compile", False)
    assert found == seen(f, PROGRAMS[f])


def test_a_loss_without_arguments_is_trained():
    w = tg.tensor([5.0, -1.0], requires_grad=True)
    loss = tg.compile(lambda: ((w - 3.0) ** 2).sum())
    optimizer = tg.optim.SGD([w], lr=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(60):
            optimizer.zero_grad()
            loss().backward()
            optimizer.step()
    np.testing.assert_allclose(w.detach().numpy(), 3.0, rtol=1e-5)
    assert loss.cache_info()[:2] == (59, 1)


def test_a_gradient_is_added_to_that_of_other_terms():
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    net = tg.compile(lambda x: (x * w).sum())
    for _ in range(5):
        w.grad = None
        (net(np.ones(2)) + 0.1 * (w**2).sum()).backward()
        np.testing.assert_allclose(w.grad.numpy(), [1.2, 1.4])


@pytest.mark.parametrize("f", [within_no_grad, of_constants, derived_within])
@pytest.mark.filterwarnings("ignore:.* which requires grad:UserWarning")
def test_what_has_no_history_has_the_versions_of_calls_on_arrays(f):
    """Such a call is no node of the tape: its entry answers it."""
    m = SimpleNamespace(w=tg.tensor([1.0, 2.0], requires_grad=True))
    made = tg.compile(lambda x: f(m, x))
    for k in range(6):
        made(A)
        assert made.cache_info() == (k, 1, 1, 1)
    assert made._directs and not made._quick


def test_a_function_without_tensors_is_made_once_and_answered_by_its_entry():
    made = tg.compile(lambda x: (x * B).sum())
    assert all(type(made(A)) is np.float64 for _ in range(6))
    assert made.cache_info() == (5, 1, 1, 1) and made._directs


def test_a_version_of_frozen_parameters_does_not_answer_where_they_are_learned():
    """Its entry asks, also once it stands in the slot; so does one that `no_grad` has made."""
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    for freeze in (True, False):
        made = tg.compile(lambda x: (x * w).sum())
        w.requires_grad_(not freeze)
        with tg.set_grad_enabled(freeze):
            assert all(type(made(A)) is np.float64 for _ in range(6))
        assert made._directs
        w.requires_grad_(True)
        for _ in range(3):
            assert made(A).requires_grad
        with tg.no_grad():
            assert type(made(A)) is np.float64
        w.requires_grad_(False)
        assert type(made(A)) is np.float64
        assert made.cache_info().versions == 2


def test_a_tensor_that_takes_the_place_of_a_frozen_one_has_its_gradient():
    m = SimpleNamespace(w=tg.tensor([1.0, 2.0]))
    made = tg.compile(lambda x: (x * m.w).sum())
    for _ in range(5):
        assert type(made(A)) is np.float64
    m.w = tg.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(3):
        m.w.grad = None
        made(A).backward()
        np.testing.assert_array_equal(m.w.grad.numpy(), A)


def test_a_leaf_that_the_function_makes_is_none_from_outside():
    def f(x):
        p = tg.tensor([1.0, 2.0], requires_grad=True)
        return (p * x).sum()

    made = tg.compile(f)
    assert all(type(made(A)) is np.float64 for _ in range(4))


@pytest.mark.parametrize("all_at_once", [True, False])
def test_batches_of_arrays_are_arrays(all_at_once):
    w = tg.tensor([1.0, 2.0], requires_grad=True)

    def f(x):
        if not all_at_once and x[0] < -5.0:
            return x.sum()
        return (x * w).sum()

    made = tg.vmap(f)
    for _ in range(4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = made(np.stack([A, B]))
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, [7.0, 3.0])


@pytest.mark.parametrize("backend", ["numpy", "numba", "jax"])
def test_other_targets(backend):
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    made = tg.compile(lambda x: (np.tanh(x) * w).sum(), backend=backend)
    for _ in range(4):
        w.grad = None
        made(A).backward()
        np.testing.assert_allclose(w.grad.numpy(), np.tanh(A), rtol=1e-12)


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_arrays_of_jax(backend):
    jnp = pytest.importorskip("jax.numpy")
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    with wide_jax():
        x = jnp.asarray(A)
        made = tg.compile(lambda x: (x * w).sum(), backend=backend)
        for _ in range(4):
            w.grad = None
            made(x).backward()
            np.testing.assert_array_equal(w.grad.numpy(), A)
        with tg.no_grad():
            assert not isinstance(made(x), tg.Tensor)
        w.requires_grad_(False)
        for _ in range(3):
            assert not isinstance(made(x), tg.Tensor)
        w.requires_grad_(True)
        assert made(x).requires_grad


def test_a_result_that_is_not_finite_is_blamed_on_its_statement(monkeypatch):
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    made = tg.compile(lambda x: np.log((x * w).sum()))
    made(A)
    monkeypatch.setattr(tg.config, "check_finite", True)
    assert made(A).requires_grad
    with np.errstate(all="ignore"), pytest.raises(tg.errors.FiniteError, match="log gave nan"):
        made(-A)


def test_what_is_looked_at_is_the_program_of_arrays_which_answers_no_call():
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    made = tg.compile(lambda x: (x * w).sum())
    for _ in range(3):
        assert "w)" in made.source(A)
        assert made(A).requires_grad
    assert made.cache_info().versions == 2


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x, held: (x * held[0]).sum(), r"held\[0\]"),
        (lambda x, held: (x * held[-1]).sum(), r"held\[-1\]"),
    ],
)
@pytest.mark.parametrize("kind", [list, tuple])
def test_the_warning_of_a_transform_of_arrays_names_the_tensor(f, name, kind):
    held = kind([tg.tensor([1.0, 2.0], requires_grad=True)])
    with pytest.warns(UserWarning, match=f"reads {name}, which requires grad"):
        tg.grad(lambda x: f(x, held))(A)
