"""`tg.vjp`: forward and pull are programs, kept between calls; what they need is never stale."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits, wide_jax

import tracegrad as tg
from tracegrad.transforms.vjp import vjp_on_tape

X = np.array([0.3, -0.7, 1.1])
W = np.array([1.0, 2.0, -0.5])


def branching(x: Any, p: Any, scale: float = 2.0) -> Any:
    y = np.exp(x) * p["s"] if x[0] > 0 else np.sin(x)
    return {"y": y * scale, "n": np.sum(y)}


def of_jax(x: Any, p: Any) -> Any:
    import jax.numpy as jnp

    y = jnp.exp(x) * p["s"] if x[0] > 0 else jnp.sin(x)
    return {"y": y * 2.0, "n": jnp.sum(y)}


def test_every_path_has_a_way_back_of_its_own():
    jax = pytest.importorskip("jax")
    with wide_jax():
        for x in (X, -X, X + 1.0, -2.0 * X):
            out, pull = tg.vjp(branching, x, {"s": W})
            ct = {"y": np.array([1.0, 0.5, -1.0]), "n": 2.0}
            value, theirs = jax.vjp(of_jax, x, {"s": W})
            assert_close((out["y"], out["n"]), (value["y"], value["n"]), 1e-12)
            (x_bar, p_bar), (a, b) = pull(ct), theirs(ct)
            assert_close((x_bar, p_bar["s"]), (np.asarray(a), np.asarray(b["s"])), 1e-12)
    assert "branching_vjp_forward" in pull.source("forward")
    assert "x_bar" in pull.source("backward")


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_on_both_targets(backend):
    def f(x, w):
        h = np.tanh(x * w)
        return h, np.sum(h * x)

    (h, total), pull = tg.vjp(f, X, 0.5, backend=backend)
    assert type(h) is np.ndarray
    assert isinstance(total, np.floating)
    (a, b), theirs = vjp_on_tape(f, X, 0.5)
    assert_close((h, total), (a, b), 1e-14)
    for ct in ((np.ones(3), 0.0), (X, 2.0)):
        assert_close(pull(ct), theirs(ct), 1e-14)
    jax = pytest.importorskip("jax")
    with wide_jax():
        out, pull = tg.vjp(f, jax.numpy.asarray(X), 0.5, backend=backend)
        assert all(isinstance(x, jax.Array) for x in (*out, *pull((X, 2.0))[:1]))


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_places_that_a_derivative_reads_are_those_of_its_forward(backend):
    def f(x):
        return np.sum(np.max(x * x, axis=1) * x[:, 0])

    x = np.arange(6.0).reshape(2, 3) - 2.5
    _, pull = tg.vjp(tg.grad(f), x, backend=backend)
    expected = vjp_on_tape(lambda x: tg.grad(f)(x), x)[1](np.cos(x))
    for _ in range(2):
        assert_close(pull(np.cos(x)), expected, 1e-12)


def test_a_float_of_pythons_stays_weak():
    _, pull = tg.vjp(lambda x, c: x * c, X.astype(np.float32), 0.5)
    x_bar, c_bar = pull(np.ones(3, np.float32))
    assert x_bar.dtype == np.float32
    assert c_bar == pytest.approx(X.sum(), rel=1e-6)


def test_what_changes_between_the_two_is_not_read():
    """The argument, the result, the cotangent, what it closes over, and the pull's own result."""
    w = W.copy()

    def f(x):
        return np.exp(x) * w

    for _ in range(2):
        x = X.copy()
        out, pull = tg.vjp(f, x)
        expected = np.exp(X) * w
        x[:], out[:] = 100.0, 100.0
        ct = np.ones(3)
        first = pull(ct)[0]
        assert_close(first, expected, 1e-15)
        first[:], ct[:] = 7.0, 2.0
        assert_close(pull(ct)[0], 2.0 * expected, 1e-15)
        w = 3.0 * w  # read anew by the next call
    held = W.copy()
    _, pull = tg.vjp(lambda x: x * held, X)
    held[:] = 100.0
    assert_close(pull(np.ones(3))[0], W, 0.0)


def test_other_closures_at_every_call():
    for k in range(5):
        _, pull = tg.vjp(lambda x, k=k: x * np.float64(k), X)
        assert_close(pull(np.ones(3))[0], np.full(3, float(k)), 0.0)
    for k in range(5):
        scale = np.full(3, float(k))
        _, pull = tg.vjp(lambda x: x * scale, X)  # noqa: B023
        assert_close(pull(np.ones(3))[0], scale, 0.0)


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_effects_happen_once_a_call():
    seen: list[int] = []

    def f(x):
        seen.append(len(seen))
        return x * 2.0

    for k in range(3):
        _, pull = tg.vjp(f, X)
        assert seen == list(range(k + 1))
        assert_close(pull(np.ones(3))[0], np.full(3, 2.0), 0.0)


def test_of_vjp():
    """Pulls that are differentiated, and vjp in functions that are."""

    def f(x):
        return np.sin(x) * x

    def slope(x):
        return np.cos(x) * x + np.sin(x)

    _, pull = tg.vjp(f, X)
    _, transposed = tg.vjp(lambda ct: pull(ct)[0], np.ones(3))
    assert_close(transposed(W)[0], slope(X) * W, 1e-14)
    hessian = tg.jacobian(lambda x: tg.vjp(f, x)[1](np.ones(3))[0])(X)
    assert_close(np.diag(hessian), 2 * np.cos(X) - X * np.sin(X), 1e-13)
    t = tg.tensor(X, requires_grad=True)
    _, pull = tg.vjp(f, t)
    pull(np.ones(3))[0].sum().backward()
    assert_close(t.grad.numpy(), 2 * np.cos(X) - X * np.sin(X), 1e-13)


def test_identity_and_results_that_are_no_arrays():
    out, pull, aux = tg.vjp(lambda x: ((x, x, 1), "name"), X, has_aux=True)
    assert aux == "name"
    assert out[2] == 1
    assert_close(pull((X, W, 0))[0], X + W, 0.0)


def test_refusals():
    with pytest.raises(tg.errors.ArgumentError, match="float"):
        tg.vjp(lambda x: x * 2, np.arange(3))
    with pytest.raises(tg.errors.ArgumentError, match="backend"):
        tg.vjp(np.sin, X, backend="torch")
    _, pull = tg.vjp(np.sin, X)
    with pytest.raises(tg.errors.TracegradError):
        pull(np.ones(4))
    with pytest.raises(tg.errors.ArgumentError, match="part"):
        pull.source("middle")


# -- loops ----------------------------------------------------------------------------------------


def state(p, x):
    h = x * 1.0
    for _ in range(10):
        h = np.tanh(h * p["s"] + x)
    return h


def horner(p, x):
    h = 0.0
    for t in range(len(x)):
        h = h * p["s"] + x[t]
    return h * p["s"]


def filled(p, x):
    out = np.zeros_like(x)
    out[0] = x[0]
    for t in range(1, 12):
        out[t] = out[t - 1] * p["s"] + x[t] * x[t]
    return out


def stacked_states(p, x):
    states, h = [], p["s"]
    for _ in range(12):
        h = np.sin(h + x) * p["s"]
        states.append(h)
    return np.stack(states)


def counted(p, x):
    h, n = x, 0
    while n < 12:
        h = h * h * p["s"] + x
        n += 1
    return h


def power(p, x):
    h = p["s"]
    for _ in range(10):
        h = h * p["s"]
    return h * x


LOOPS = [state, horner, filled, stacked_states, counted, power]


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("overwritten", ["nothing", "x", "s", "out"])
def test_of_a_loop(f, overwritten: str) -> None:
    """Whatever the caller does with what it gave and got before it pulls."""
    for call in range(3):
        x, s = np.random.default_rng(call).normal(size=12) * 0.3, np.array(0.5 + call / 8)
        wanted = tg.grad(lambda p, x: np.sum(f(p, x)), argnums=(0, 1))({"s": s}, x)
        out, pull = tg.vjp(f, {"s": s}, x)
        np.testing.assert_array_equal(out, f({"s": s}, x))
        ct = np.ones_like(out)
        written = {"x": x, "s": s, "out": out if np.ndim(out) else None, "nothing": None}
        if written[overwritten] is not None:
            written[overwritten][...] = 100.0
        for _ in range(2):
            p, gradient = pull(ct)
            assert p["s"] == pytest.approx(wanted[0]["s"], rel=1e-12)
            assert gradient == pytest.approx(wanted[1], rel=1e-12)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_a_compiled_loop_that_was_called_with_arrays_has_a_gradient_for_tensors(f) -> None:
    x, compiled = np.linspace(-0.3, 0.3, 12), tg.compile(f)
    compiled({"s": np.array(0.5)}, x)
    wanted = tg.grad(lambda p, x: np.sum(f(p, x)), argnums=(0, 1))({"s": np.array(0.5)}, x)
    p, given = {"s": tg.tensor(0.5, requires_grad=True)}, tg.tensor(x, requires_grad=True)
    compiled(p, given).sum().backward()
    assert p["s"].grad.item() == pytest.approx(wanted[0]["s"], rel=1e-12)
    assert given.grad.numpy() == pytest.approx(wanted[1], rel=1e-12)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "on a tape"])
def test_what_comes_with_the_value_is_the_callers_own(monkeypatch, compiled: bool) -> None:
    """An argument, a view of one, what the way back reads: the caller may write to it."""
    monkeypatch.setattr(tg.config, "compile", compiled)

    def f(x):
        y, first = np.sin(x), x[:2]
        return np.sum(np.sin(y)) + (first * first).sum(), (x, {"y": y, "first": first[::-1]})

    x = np.array([0.3, 0.5, 0.7])
    wanted = tg.grad(lambda x: f(x)[0])(x)
    _, pull, (given, others) = tg.vjp(f, x.copy(), has_aux=True)
    for array in (given, *others.values()):
        array[...] = 9.0
    np.testing.assert_allclose(pull(np.float64(1.0))[0], wanted, rtol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
def test_arguments_are_kept_of_runs_for_which_no_program_stands(order, tmp_path):
    """The caller writes to the arguments before the pull; the tape of such a run has its own."""
    with open(tmp_path / "log", "w") as log:

        def f(x, z):
            log.write("called")
            return np.sum(np.sin(z)) + np.sum(x * x)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(3):
                x, z = np.full(3, 0.5), np.ones((3, 2), order=order)
                _, pull = tg.vjp(f, x, z)
                x[...] = z[...] = 3.0
                of_x, of_z = pull(1.0)
                assert np.array_equal(of_x, np.ones(3))
                assert np.allclose(of_z, np.cos(1.0), rtol=1e-15)


def write_to_a_view(x):
    y = np.sin(x)
    left, right = y[:2], y[1:]
    left += x[0]
    right *= left.copy()
    return np.sum(left * right) + np.sum(y**2)


def write_under_a_second_name(x):
    y = np.sin(x)
    z = y
    z *= x
    return np.sum(y**2)


def write_to_a_number(x):
    y = np.sin(x)
    z = y[0]
    z += x[1]
    return np.sum(y**2) * z


def fill_an_array(x):
    y = np.zeros(3)
    y += x
    for i in range(1, 3):
        y[i] = np.sin(y[i - 1]) + x[i]
    return np.sum(y**2)


def fill_a_tensor(x):
    y = tg.zeros(3)
    y[0] = x[0]
    y[1:] *= x[1:]
    y[1:] -= x[:-1]
    return np.sum(y**2)


def write_to_the_argument(x):
    x += 1.0
    return np.sum(x**2)


@pytest.mark.parametrize("checkpointed", [False, True])
@pytest.mark.parametrize("compiles", [True, False])
@pytest.mark.parametrize(
    "f",
    [
        write_to_a_view,
        write_under_a_second_name,
        write_to_a_number,
        fill_an_array,
        fill_a_tensor,
        write_to_the_argument,
    ],
)
def test_writes_on_devices_are_those_of_numpy(f, compiles, checkpointed, monkeypatch):
    """A tape on the devices of JAX writes to arrays, not to copies of them."""
    jnp = pytest.importorskip("jax.numpy")
    monkeypatch.setattr(tg.config, "compile", compiles)
    own = tg.checkpoint(f) if checkpointed else f
    with wide_jax():
        for x, backend in ((X, "jax"), (jnp.asarray(X), None)):
            if f is write_to_the_argument:
                with pytest.raises(tg.errors.GradientError, match="in-place"):
                    tg.vjp(own, x, backend=backend)
                continue
            value, pull = tg.vjp(own, x, backend=backend)
            expected, theirs = vjp_on_tape(f, X)
            assert_close(value, f(X.copy()), 1e-14)
            assert_close((value, *pull(1.0)), (expected, *theirs(1.0)), 1e-14)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("looped", [False, True])
def test_settings_among_the_arguments_have_no_cotangent(compiled, looped):
    def f(p, q):
        s = np.sum(p["w"] ** 2) * p["times"] + np.sum(q)
        for x in p["w"] if looped else ():
            s = s + x * p["by"][0]
        return s if p["name"] == "sum" else -s

    p = {"times": 3, "w": np.arange(20.0), "name": "sum", "by": [0.5]}
    given = p, np.ones(2)
    tg.config.compile = compiled
    try:
        found = tg.vjp(f, *given)[1](1.0)
        expected = tg.grad(f, argnums=(0, 1))(*given)
        within = tg.compile(lambda *given: tg.vjp(f, *given)[1](1.0))(*given)
    finally:
        tg.config.compile = True
    for got in (found, within):
        assert got[0]["times"] is None and got[0]["name"] is None
        assert_same_bits(got[0]["w"], expected[0]["w"])
        assert_same_bits(got[1], expected[1])
        assert_same_bits(got[0]["by"], expected[0]["by"])


@pytest.mark.parametrize("has_aux", [False, True])
def test_what_is_returned_and_left_outside_is_a_number_there_from_the_first_call_on(has_aux):
    log, calls = [], {"n": 0}

    def f(x):
        calls["n"] += 1
        s = np.sum(x**2)
        log.append(s)
        log.append([s, x * 3])
        return (s, log[-1]) if has_aux else s

    for x in (X, W, X + 1):
        value, pull, *aux = tg.vjp(f, x, has_aux=has_aux)
        *_, left, (first, second) = log
        assert type(left) is type(first) is np.float64 and left == first == value
        assert type(second) is np.ndarray and (second == x * 3).all()
        assert_same_bits(pull(1.0)[0], 2 * x)
        assert not has_aux or aux[0][0] == value
    assert len(log) == 6 and calls == {"n": 3}
