"""Tensors that look at the memory of others: who does, against NumPy, and what writes change."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy_cases import OPERANDS, calls, flat, used

import tracegrad as tg
from tracegrad.errors import ArgumentError, GradientError, RecompileWarning
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.views import place_of

METHODS = """
x.T; x.transpose(); x.ravel(); x.reshape(-1); x.reshape(5, 4); x.flatten(); x.squeeze(); x.copy()
x.astype(float); x.real; x.imag; c.real; c.imag; x.conj(); c.conj(); x.clip(0, 1); x.diagonal()
x.swapaxes(0, 1); x[0]; x[1:]; x[...]; x[:, 0]; x[[0, 1]]; x[b]; x[None]; x[::-1]; x[:, 1:3][0]
x.T.reshape(-1); x.T.ravel(); v.ravel(); v.reshape(5); x.take([0]); x.repeat(1); x.mT; x.sum(())
x[j[0]]; x[:, j[0]]; x[np.int64(1)]; +x; x * 1; x**1; abs(x); x.round()
np.real(x); np.imag(x); np.real(c); np.conj(x); np.positive(x); np.tile(x, 1); np.pad(x, 0)
np.rot90(x, 0); np.linalg.matrix_power(s, 1); np.concatenate([x]); np.broadcast_arrays(x, v)
np.split(x, 1); np.atleast_1d(x); np.atleast_3d(x); np.squeeze(x); np.moveaxis(x, 0, 0)
np.einsum('ij->ij', x); np.einsum('ii->i', s); np.diag(s); np.tril(x); np.triu(x, -9)
np.flip(x, ()); np.nan_to_num(x); np.clip(x, None, 1); np.sum(x, ()); np.sort(x); np.take(x, 2, 1)
np.resize(x, (4, 5)); np.unstack(x); np.permute_dims(x, (0, 1)); np.swapaxes(x, 0, 0); np.copy(x)
np.vstack([x]); np.block([x]); np.atleast_2d(x); np.reshape(x, (4, 5)); np.hsplit(x, 1)
""".replace("\n", ";")


def shared(call: str) -> list[str]:
    """What a call of NumPy's shares memory with and a Tensor's does not, or the other way round."""
    names = used(call)
    arrays = {name: OPERANDS[name].copy() for name in names}
    tensors = {name: tg.tensor(array) for name, array in arrays.items()}
    before, STATE.standing = STATE.standing, True
    try:
        expected, found = (flat(eval(call, {"np": np, **ops})) for ops in (arrays, tensors))
    finally:
        STATE.standing = before
    wrong = []
    for name, array in arrays.items():
        for one, other in zip(expected, found, strict=True):
            if not isinstance(other, tg.Tensor):
                continue
            shares = isinstance(one, np.ndarray) and np.shares_memory(one, array)
            linked = place_of(other).base is tensors[name] or other is tensors[name]
            if shares != linked:
                wrong.append(f"{call}: NumPy's {'shares' if shares else 'does not share'} {name}")
    return wrong


@pytest.mark.parametrize("call", [call.strip() for call in METHODS.split(";") if call.strip()])
def test_who_looks_at_whose_memory(call: str) -> None:
    assert shared(call) == []


def test_functions_share_memory_as_numpys_do() -> None:
    wrong = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for call in calls():
            wrong += shared(call)
    assert wrong == []


# -- functions of arrays: what NumPy does --------------------------------------------------------


def slopes(f: Any, args: tuple[Any, ...], h: float = 1e-6) -> np.ndarray:
    """The gradient of a function in its first argument by central differences."""
    x = args[0]
    steps = [h * np.eye(x.size)[i].reshape(x.shape) for i in range(x.size)]
    rest = [a.copy() for a in args[1:]]

    def at(z: np.ndarray) -> float:
        return f(z, *[a.copy() for a in rest])

    return np.array([(at(x + s) - at(x - s)) / (2 * h) for s in steps]).reshape(x.shape)


def agrees_with_numpy(f: Any, *args: np.ndarray, jax: bool = True) -> None:
    """Value, gradient and the arguments after the call, in every mode, first and later calls."""
    given = tg.value_and_grad(f)
    modes = [(given, True), (given, True), (given, False)]
    if jax:
        modes.append((tg.value_and_grad(f, backend="jax"), True))
    for shift, (function, compiles) in enumerate([*modes, *modes[:1]]):
        now = [a + 0.25 * shift if a.dtype.kind == "f" else a.copy() for a in args]
        plain, passed = [a.copy() for a in now], [a.copy() for a in now]
        expected, gradient = f(*plain), slopes(f, tuple(now))
        before, tg.config.compile = tg.config.compile, compiles
        try:
            value, found = function(*passed)
        finally:
            tg.config.compile = before
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        np.testing.assert_allclose(found, gradient, rtol=1e-5, atol=1e-5)
        for one, other in zip(passed, plain, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def numbers_are_immutable(x):
    y = x * 2.0
    s = y[0]
    t = s
    s += 1.0
    total = x.sum()
    first = total
    total *= 3.0
    return np.sum(y**2) * s + total * first + t


def elements_in_place(x):
    y = x * 1.0
    y[0] += x[1]
    y[1] *= y[0]
    y[-1] -= 2.0
    w = y[0]
    y[0] = 0.0
    return np.sum(y**2) + w


def views_of_many_kinds(x):
    y = x * 1.0
    t = y[1:][::2]
    t += 1.0
    a, b = np.split(y, [2])
    a *= 2.0
    b[0] = a[1]
    d = np.diagonal(np.outer(y, y))
    z = y.reshape(2, 2)
    np.fill_diagonal(z, x[0])
    r = y.ravel()
    r[-1] += x[1]
    z.T[0, 1] = 7.0 * x[2]
    for row in z:
        row -= 1.0
    w = z[0]
    z[0] = 0.0
    return np.sum(y * y) + w[0] * x[0] + d[0]


def copies_are_no_views(x):
    y = x * 1.0
    for copied in (y.flatten(), y.copy(), y[[0, 1]], y[y > -9.0], y.astype(float), y + 0.0, +y):
        copied += 1.0
    for copied in (np.tile(y, 1), np.pad(y, 0), np.concatenate([y]), np.roll(y, 0), np.sort(y)):
        copied *= 2.0
    w = y.reshape(2, 2).T.reshape(-1)
    w[0] = 9.0
    return np.sum(y * x) + np.sum(w * w)


def overlapping(x):
    y = x * 1.0
    z = y[::-1]
    z[0] *= 3.0
    z[1:3] = z[:2]
    a, b = y[:2], y[1:3]
    a += b
    b *= a
    return np.sum(y**3)


def written_by_a_helper(x):
    def double(v):
        v *= 2.0
        v[0] = x[1]

    y = x * 1.0
    double(y[1:])
    double(y)
    return np.sum(y * y)


def parts_of_complex_numbers(x):
    z = x + 1j * x**2
    z.real[...] *= 2.0
    z.imag[0] = 3.0
    return np.sum(np.abs(z) ** 2)


def in_place_as_ndarrays(x):
    y = x * 1.0
    y.sort()
    y[1:].sort()
    np.negative(y, out=y)
    np.add(y, x, out=y[:])
    np.multiply(y[1:], 2.0, out=y[1:])
    np.copyto(y[:2], x[2:])
    np.put(y, [3], x[0])
    y.put([0], [5.0])
    np.subtract.at(y, np.array([1, 1]), x[:2])
    w = np.empty_like(y)
    w.fill(x[2] * 3.0)
    y.resize(6)
    return np.sum(y[:4] * x) + np.sum(y**2) + np.sum(w)


def matrices(x):
    y = np.stack([x, x * 2.0])
    a, b = y
    a += 1.0
    b *= a
    np.moveaxis(y, 0, 1)[0, 1] = 3.0
    np.swapaxes(y, 0, 1)[2] *= 2.0
    e = np.expand_dims(y, 1)
    e[1, 0, 3] = x[0]
    np.squeeze(e)[0, 0] = x[3]
    k = np.array([1, 0])
    row = y[k[0]]
    row -= x
    y[[0, 1]] = y[[1, 0]]
    return np.sum(y**2)


def chosen_in_order(x):
    """NumPy lays these out in C order, or as it found them, so `ravel` makes views or copies."""
    k, total = np.array([1, 0]), 0.0
    for m in (np.outer(x, x), np.sin(np.outer(x, x)).T):
        for made in (
            np.take(m, k, axis=1),
            np.take(m, k, axis=-1).T,
            np.insert(m, 1, 5.0, axis=1),
            np.insert(m, [1, 3], x[0], axis=1),
            np.insert(m, 2, x, axis=0),
            np.delete(m, 1, axis=1),
            np.delete(m, -1, axis=0),
            np.delete(m, slice(1, 3), axis=1),
            np.delete(m, [0, 2], axis=1),
            *np.gradient(m),
        ):
            line = made.ravel()
            line *= 2.0
            total = total + (made * made).sum()
    return total


@pytest.mark.parametrize(
    "f",
    [
        chosen_in_order,
        numbers_are_immutable,
        elements_in_place,
        views_of_many_kinds,
        copies_are_no_views,
        overlapping,
        written_by_a_helper,
        parts_of_complex_numbers,
        in_place_as_ndarrays,
        matrices,
    ],
    ids=lambda f: f.__name__,
)
def test_functions_write_as_numpys_do(f: Any) -> None:
    agrees_with_numpy(f, np.array([1.5, 2.0, 3.25, 0.5]))


# -- arguments that are written ------------------------------------------------------------------


def fills_its_buffer(x, buffer):
    before = np.sum(buffer)
    buffer[:] = np.tanh(x)
    buffer[1:] += x[0]
    return np.sum(buffer * x) + before * x[0]


def writes_through_a_view(x, m):
    m.T[0] = x[:2]
    for row in m:
        row *= 2.0
    return np.sum(m) * x[0]


def writes_on_one_way(x, buffer):
    if x[0] > 1.6:
        buffer += x
        return np.sum(buffer * x)
    return np.sum(x)


def test_arguments_are_written_by_every_call() -> None:
    x = np.array([1.5, 2.0, 3.0])
    agrees_with_numpy(fills_its_buffer, x, np.array([1.0, 0.0, 2.0]))
    agrees_with_numpy(writes_through_a_view, x, np.arange(6.0).reshape(2, 3))
    agrees_with_numpy(writes_on_one_way, x, np.zeros(3))


def test_a_view_as_an_argument_is_written_in_its_base() -> None:
    f = tg.compile(lambda b: (b.__iadd__(1.0), np.sum(b))[1])
    for _ in range(3):
        base = np.zeros((3, 4))
        assert f(base[:, 1]) == 3.0
        assert base.sum() == 3.0 and base[:, 1].tolist() == [1.0] * 3


def test_exported_functions_write_their_arguments(tmp_path: Any) -> None:
    x, buffer = np.array([1.5, 2.0, 3.0]), np.zeros(3)
    tg.value_and_grad(fills_its_buffer).export(str(tmp_path / "made.py"), x, buffer)
    assert buffer.tolist() == [0.0] * 3
    scope: dict[str, Any] = {}
    exec((tmp_path / "made.py").read_text(), scope)
    expected = np.zeros(3)
    value, _ = scope["fills_its_buffer"](x, buffer)
    assert value == fills_its_buffer(x, expected) and buffer.tolist() == expected.tolist()


def test_arguments_that_cannot_be_written_are_refused_by_name() -> None:
    def f(x, y):
        x[0] = 1.0
        return np.sum(x * y)

    base = np.arange(4.0)
    with pytest.raises(GradientError, match=r"x = x\.copy\(\)"):
        tg.grad(f)(np.ones(3), np.ones(3))
    for compiles in (True, False):
        tg.config.compile = compiles
        try:
            with pytest.raises(GradientError, match=r"x = x\.copy\(\)"):
                tg.grad(f)(np.ones(3), np.ones(3))
        finally:
            tg.config.compile = True
    with pytest.raises(ArgumentError, match=r"shares memory.*x = x\.copy\(\)"):
        tg.compile(f)(base[:3], base[1:])
    g = tg.compile(f)
    assert g(np.ones(3), np.ones(3)) == 3.0
    with pytest.raises(ArgumentError, match=r"shares memory.*x = x\.copy\(\)"):
        g(base[:3], base[1:])
    frozen = np.ones(3)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        g(frozen, np.ones(3))


def test_arrays_that_the_function_makes_take_recorded_values() -> None:
    def element(x):
        y = np.zeros(3)
        y[0] = x[0]
        return np.sum(y)

    def whole(x):
        y = np.zeros(3)
        y[:] = x
        return np.sum(y)

    def added(x):
        y = np.zeros(3)
        y += x
        return np.sum(y)

    def out(x):
        y = np.zeros(3)
        np.exp(x, out=y)
        return np.sum(y)

    def at(x):
        y = np.zeros(3)
        np.add.at(y, [0, 1], x[:2])
        return np.sum(y)

    for f, slope in [
        (element, [1.0, 0.0, 0.0]),
        (whole, [1.0, 1.0, 1.0]),
        (added, [1.0, 1.0, 1.0]),
        (out, [np.e, np.e, np.e]),
        (at, [1.0, 1.0, 0.0]),
    ]:
        for compiles in (True, False):
            tg.config.compile = compiles
            try:
                assert tg.grad(f)(np.ones(3)).tolist() == slope
            finally:
                tg.config.compile = True

    def view(x):
        y = np.zeros((2, 5))
        v, falling, turned = y[0, 1:4], y[1, ::-2], y.T
        v[0] = x[0] * 2.0
        v += x[1]
        falling[:] = x
        turned[0] *= 3.0
        return np.sum(y) + np.sum(turned[3]) + np.sum(v * falling)

    def view_that_nothing_holds(x):
        y = np.zeros((3, 2))
        for i in range(3):
            y[i][1] = x[i]
        return np.sum(y)

    def views_turned(x):
        y = np.zeros((2, 3, 4))
        v, one = y.transpose(2, 0, 1)[1:3, :, ::-1], y[:, None, 1]
        v[0, 1] = x
        one[0, 0, 2] = x[2] * 5.0
        return np.sum(y * y) + np.sum(v) + np.sum(one)

    x = np.array([0.5, 2.0, -1.0])
    for f in (view, view_that_nothing_holds, views_turned):
        for compiles in (True, False):
            tg.config.compile = compiles
            try:
                value, slope = tg.value_and_grad(f)(x)
            finally:
                tg.config.compile = True
            assert value == f(x)
            steps = [(f(x + d) - f(x - d)) / 2e-6 for d in 1e-6 * np.eye(3)]
            assert_allclose(slope, steps, rtol=1e-6)

    def held(x):
        y = np.zeros(3)
        bound = partial(np.multiply, y)
        y[0] = x[0]
        return np.sum(bound(2.0))

    with pytest.warns(RecompileWarning, match="others may hold"):
        assert tg.grad(held)(np.ones(3)).tolist() == [2.0, 0.0, 0.0]


def test_containers_that_are_changed_are_the_callers() -> None:
    def f(x, log, state):
        log.append(np.sum(x))
        state["y"] = x * 2.0
        state["inner"][0] = x[0]
        del state["old"]
        return np.sum(x * state["w"])

    def g(x, seen=[]):  # noqa: B006
        seen.append(np.sum(x))
        return np.sum(x) * len(seen)

    made, again = tg.grad(f), tg.grad(g)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(1, 5):
            x, w = np.arange(3.0) * i, np.ones(3) * i
            log: list[Any] = ["first"]
            inner = [0.0]
            state = {"w": w, "old": 1.0, "inner": inner}
            assert made(x, log, state).tolist() == w.tolist()
            assert log == ["first", x.sum()] and state["w"] is w and state["inner"] is inner
            assert list(state) == ["w", "inner", "y"] and inner == [x[0]]
            assert type(state["y"]) is np.ndarray and state["y"].tolist() == (2 * x).tolist()
            assert again(x).tolist() == [float(i)] * 3
            assert len(g.__defaults__[0]) == i


def test_what_numpy_refuses_is_refused() -> None:
    def item_of_a_number(x):
        s = np.sum(x)
        s[...] = 1.0
        return s

    def diagonal_of_a_vector(x):
        y = x * 1.0
        np.fill_diagonal(y, 1.0)
        return np.sum(y)

    def diagonal_of_unequal_axes(x):
        y = np.zeros((3, 1, 3)) + x
        np.fill_diagonal(y.T, 1.0)
        return np.sum(y)

    def unequal_axes(x):
        return np.sum(np.einsum("ii->i", x[None]))

    x = np.ones(3)
    for f, kind in [
        (item_of_a_number, TypeError),
        (diagonal_of_a_vector, ValueError),
        (diagonal_of_unequal_axes, ValueError),
        (unequal_axes, ValueError),
    ]:
        for call in (f, tg.compile(f), tg.grad(f)):
            with pytest.raises(kind):
                call(x)


@pytest.mark.parametrize("write", [
    lambda v: v.mul_(2), lambda v: v.__setitem__(0, 7.0), lambda v: v[0:1].add_(1.0),
])  # fmt: skip
def test_a_view_of_no_grad_is_not_written_where_gradients_are_on(write):
    """The history of the whole would not know of it, as PyTorch says too."""
    x = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    with tg.no_grad():
        view = y[0:2]
    with pytest.raises(GradientError, match="a view that was taken under"):
        write(view)
    with tg.no_grad():
        write(view)
    y.detach()[0:2].mul_(3.0)
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("write", [lambda x, i: x.put(i, 2.0), lambda x, i: np.put(x, i, 2.0)])
def test_what_cannot_be_written_is_said_before_a_place_that_is_not_there(write):
    for x in (np.ones((2, 1, 2)), tg.as_tensor(np.ones((2, 1, 2))), tg.tensor(np.ones((2, 1, 2)))):
        with pytest.raises(ValueError, match="read-only"):
            write(np.diagonal(x), [-2, -3])
        with pytest.raises(IndexError, match="out of bounds"):
            write(x, [-2, -9])


def test_view_of_a_part_never_makes_a_copy():
    a = tg.tensor(np.arange(6.0).reshape(2, 3))
    a.view(3, 2)[0] = 9.0
    assert a[0].tolist() == [9.0, 9.0, 2.0]
    for x in a.T, a[:, :2]:
        with pytest.raises(tg.errors.ShapeError, match=r"write x\.reshape"):
            x.view(-1)
    with pytest.raises(tg.errors.ShapeError, match=r"write x\.reshape"):
        tg.compile(lambda x: x.T.view(-1) * 2.0)(a)
    assert a.T.contiguous().view(-1).shape == a[:, [2, 0, 1]].view(-1).shape == (6,)


def through_the_younger_view(a):
    v = a[:]
    w = a[:]
    w *= 0.5
    return (a * a).sum() + (v * 3.3).sum() + (w**3).sum()


def through_a_view_of_all(a):
    v = np.atleast_2d(a)
    v[[0, 2]] = v[[1, 0]]
    w = np.flip(v, 0)
    return (a * a).sum() + (v * 3.3).sum() + (w**3).sum()


def through_a_transpose(a):
    v = np.swapaxes(a, 0, 1)
    v -= v.mean()
    return 0.4 * (np.sin(v) * WEIGHTS).sum() + 0.5 * (np.sin(a) * WEIGHTS).sum()


def through_a_part_that_is_transposed(a):
    v = a[::2, 1:5].T
    v -= v.mean()
    v *= v.sum()
    v -= v.mean(axis=0)
    return (np.sin(v) * WEIGHTS[:4, :3]).sum() + (a * a * WEIGHTS).sum()


def through_a_part_of_a_part(a):
    v = a[::2, 1:5]
    v *= 1.1
    w = v[:, :3]
    w += v.sum()
    return v.sum() * w.sum() * a.sum()


def through_a_row_in_turns(a):
    first, all = a[0], a[:]
    for _ in range(9):
        first *= 0.9
        all[1] += np.sin(first)
    return (a * a).sum() + (first**3).sum() + (all * WEIGHTS).sum()


WEIGHTS = np.arange(1.0, 37.0).reshape(6, 6) / 7.0


@pytest.mark.parametrize("f", [
    through_the_younger_view, through_a_view_of_all, through_a_transpose,
    through_a_part_that_is_transposed, through_a_part_of_a_part, through_a_row_in_turns,
])  # fmt: skip
def test_cotangents_of_what_was_written_are_added_up_as_on_the_tape(f, monkeypatch):
    """What is read of a view, its siblings and its base after a write: every bit is the tape's."""
    slope = tg.value_and_grad(lambda x: f(x * 1.0))
    for seed in range(20):
        x = np.random.default_rng(seed).uniform(0.2, 0.9, (6, 6))
        monkeypatch.setattr(tg.config, "compile", True)
        value, gradient = slope(x)
        monkeypatch.setattr(tg.config, "compile", False)
        expected = slope(x)
        assert value == expected[0] and gradient.tobytes() == expected[1].tobytes()


def through_a_diagonal(a):
    np.einsum("ii->i", a)[...] += 1.0
    d = np.einsum("...ii->i...", a[None])[:, 0]
    d *= np.sin(d)
    d -= d.mean()
    return (a * a * WEIGHTS).sum() + (d * d).sum()


def through_the_diagonals_of_matrices(a):
    a = a.reshape(3, 2, 2, 3)[:, :, :, :2] * 1.0
    np.einsum("ijjk->ikj", a)[...] *= 2.0
    d = np.einsum(a, [0, 1, 2, 1], [2, 0, 1])
    d[1] = d[0] * 3.0
    np.exp(d, out=d)
    return (a**3).sum() + (d * d).sum()


@pytest.mark.parametrize("f", [through_a_diagonal, through_the_diagonals_of_matrices])
@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_views_that_einsum_gives_are_written_to(f, backend, monkeypatch):
    if backend == "jax":
        pytest.importorskip("jax")
    x = np.random.default_rng(0).uniform(0.2, 0.9, (6, 6))
    value, gradient = tg.value_and_grad(lambda x: f(x * 1.0), backend=backend)(x)
    monkeypatch.setattr(tg.config, "compile", False)
    expected = tg.value_and_grad(lambda x: f(x * 1.0))(x)
    t = tg.tensor(x, requires_grad=True)
    f(t * 1.0).backward()
    along = np.random.default_rng(1).normal(size=x.shape)
    slope = (f(x + 1e-6 * along) - f(x - 1e-6 * along)) / 2e-6
    assert_allclose([value, expected[0]], f(x * 1.0), rtol=1e-12)
    for found in (gradient, expected[1], t.grad.numpy()):
        assert_allclose(found, expected[1], rtol=1e-12)
        assert_allclose(np.sum(found * along), slope, rtol=1e-6)


def test_a_diagonal_by_its_method_is_locked():
    def f(x):
        a = x * 1.0
        np.diagonal(a)[...] += 1.0
        return a.sum()

    for call in (tg.compile(f), tg.grad(f)):
        with pytest.raises(ValueError, match="read-only"):
            call(np.ones((3, 3)))
