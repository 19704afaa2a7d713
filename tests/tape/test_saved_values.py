"""What a backward reads is overwritten before it runs: the right gradient, or an error.

Each program says how it is made, what is overwritten, and what the gradient is of what it computed.
Small arrays are copied, large ones watched: both sizes are run.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import GradientError
from tracegrad.tape import exported_memory
from tracegrad.tape.tape import WRITES

SIZES = [5, 20_000]
PHRASES = ("one of the variables needed for gradient computation has been modified", "inplace op")


def values(n: int, scale: float = 1.0) -> np.ndarray:
    return np.linspace(0.5, 1.5, n) * scale


def leaf(n: int) -> Any:
    return tg.tensor(values(n), requires_grad=True)


def right_or_refused(run: Callable[[], Any], expected: Any) -> bool:
    """Whether the gradient came; it is the right one, or an error that says what and where."""
    try:
        found = run()
    except GradientError as error:
        message = str(error)
        assert all(phrase in message for phrase in PHRASES)
        assert re.search(r"test_saved_values\.py:\d+  \S", message.splitlines()[-1]), message
        return False
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)
    return True


def gradient(loss: Any, x: Any) -> Any:
    x.grad = None
    loss.backward()
    return x.grad.numpy()


# -- vjp ------------------------------------------------------------------------------------------


def _two(n: int) -> list[np.ndarray]:
    base = values(2 * n)
    return [base[:n], base[n:]]


VJP: dict[str, tuple[Any, Any, Any]] = {
    "argument": (lambda x: x * x, lambda n: [values(n)], lambda a, out: a[0].fill(100)),
    "result": (np.exp, lambda n: [values(n)], lambda a, out: out.fill(100)),
    "inner_result": (
        lambda x: (y := np.exp(x), y * y),
        lambda n: [values(n)],
        lambda a, out: out[0].fill(100),
    ),
    "argument_returned": (
        lambda x: (x, x * x),
        lambda n: [values(n)],
        lambda a, out: out[0].fill(100),
    ),
    "view_returned": (
        lambda x: (x[1:], x * x),
        lambda n: [values(n)],
        lambda a, out: out[0].fill(100),
    ),
    "view_of_inner": (
        lambda x: ((y := np.exp(x))[1:], y * y),
        lambda n: [values(n)],
        lambda a, out: out[0].fill(100),
    ),
    "in_a_dict": (
        lambda x: {"y": np.exp(x)},
        lambda n: [values(n)],
        lambda a, out: out["y"].fill(100),
    ),
    "strided": (lambda x: x * x, lambda n: [values(2 * n)[::2]], lambda a, out: a[0].fill(100)),
    "base": (lambda x: x * x, lambda n: [values(2 * n)[::2]], lambda a, out: a[0].base.fill(100)),
    "two_views": (lambda x, y: x * y, _two, lambda a, out: a[0].base.fill(100)),
    "list": (
        lambda parts: parts[0] * parts[1],
        lambda n: [[values(n), values(n, 2.0)]],
        lambda a, out: a[0][1].fill(100),
    ),
    "transposed": (
        lambda x: x @ x.T,
        lambda n: [np.asfortranarray(values(150).reshape(50, 3))],
        lambda a, out: a[0].fill(100),
    ),
}


def copies(tree: Any) -> Any:
    return [copies(x) if isinstance(x, list) else x.copy() for x in tree]


def ones_like(tree: Any) -> Any:
    match tree:
        case tuple():
            return tuple(map(ones_like, tree))
        case dict():
            return {name: ones_like(x) for name, x in tree.items()}
    return np.ones_like(tree)


def flat(tree: Any) -> np.ndarray:
    parts = [flat(x) if isinstance(x, list) else np.ravel(x) for x in tree]
    return np.concatenate(parts)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("pulls", [0, 2])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", VJP)
def test_vjp_of_what_was_overwritten(name, compiled, pulls, n):
    function, make, write = VJP[name]
    f = tg.compile(function) if compiled else function
    out, pull = tg.vjp(function, *copies(make(n)))
    expected = flat(pull(ones_like(out)))
    arguments = make(n)
    out, pull = tg.vjp(f, *arguments)
    ct = ones_like(out)
    for _ in range(pulls):
        np.testing.assert_allclose(flat(pull(ct)), expected, rtol=1e-12)
    write(arguments, out)
    came = right_or_refused(lambda: flat(pull(ct)), expected)
    assert came or n > 5, "small arrays are copied"


def _set_in_a_dict(x):
    made = {}
    made["y"] = np.exp(x)
    return made


def _set_in_a_list(x):
    made = [0.0, x]
    made[0] = np.exp(x)
    return made


def test_containers_that_a_function_fills_keep_their_gradients():
    x, one = np.array([0.5, 1.0]), np.ones(2)
    out, pull = tg.vjp(_set_in_a_dict, x)
    np.testing.assert_array_equal(out["y"], np.exp(x))
    np.testing.assert_array_equal(pull({"y": one})[0], np.exp(x))
    out, pull = tg.vjp(_set_in_a_list, x)
    np.testing.assert_array_equal(pull([one, one])[0], np.exp(x) + 1.0)


@pytest.mark.parametrize("n", SIZES)
def test_what_vjp_returns_is_plain_and_pulled_gradients_are_ones_own(n):
    x, w = values(n), values(n, 3.0)
    out, pull = tg.vjp(lambda x: (x, x[1:], x * w), x)
    assert [type(y) for y in out] == [np.ndarray] * 3
    assert not any(np.shares_memory(y, x) for y in out)
    ct = (np.zeros(n), np.zeros(n - 1), np.ones(n))
    pull(ct)[0][:] = 7
    np.testing.assert_array_equal(pull(ct)[0], w)


def test_a_small_argument_of_vjp_lies_in_memory_as_the_callers(monkeypatch):
    """Sums add in the order of memory, so a copy in another order had other bits."""
    monkeypatch.setattr(tg.config, "compile", False)
    seen = []

    def f(x):
        seen.append((x.strides, x.is_contiguous()))
        return x.sum()

    for x in (np.ones((6, 8))[:, ::2], np.ones((6, 8)).T, np.ones((6, 8))[::-1, :5]):
        out, _ = tg.vjp(f, x)
        assert seen[-1] == (x.strides, bool(x.flags.c_contiguous))
        assert out == x.sum()


# -- tapes ----------------------------------------------------------------------------------------


def _handed_out_before(n: int) -> Any:
    x = leaf(n)
    array = x.detach().numpy()
    loss = (x * x).sum()
    array[0] = 5
    return loss, x, 2 * values(n)


def _handed_out_after(n: int) -> Any:
    x = leaf(n)
    loss = (x * x).sum()
    x.detach().numpy()[0] = 5
    return loss, x, 2 * values(n)


def _result_handed_out(n: int) -> Any:
    x = leaf(n)
    y = tg.exp(x)
    y.detach().numpy()[0] = 5
    return y.sum(), x, np.exp(values(n))


def _asarray(n: int) -> Any:
    x = leaf(n)
    y = tg.exp(x)
    np.asarray(y.detach())[1:][0] = 5
    return y.sum(), x, np.exp(values(n))


def _dlpack(n: int) -> Any:
    x = leaf(n)
    loss = (x * x).sum()
    np.from_dlpack(x.detach())[0] = 5
    return loss, x, 2 * values(n)


def _memoryview(n: int) -> Any:
    x = leaf(n)
    y = tg.exp(x)
    memoryview(y.data.numpy())[0] = 5.0
    return y.sum(), x, np.exp(values(n))


def _constant_handed_out(n: int) -> Any:
    x, constant = leaf(n), tg.tensor(values(n))
    loss = (x * constant).sum()
    constant.numpy()[:] = 100
    return loss, x, values(n)


def _base_of_a_view(n: int) -> Any:
    x, base = leaf(n), tg.tensor(values(2 * n))
    row = base[:n]
    array = base.numpy()
    loss = (x * row).sum()
    expected = array[:n].copy()
    array[:] = 100
    return loss, x, expected


def _view_of_a_base(n: int) -> Any:
    x, base = leaf(n), tg.tensor(values(2 * n))
    array = base[:n].numpy()
    loss = (x * base[:n]).sum()
    expected = array.copy()
    array[:] = 100
    return loss, x, expected


def _view_with_history(n: int) -> Any:
    x = leaf(n)
    y = x * 1.0
    array = y[1:].detach().numpy()
    loss = (y * y).sum()
    array[:] = 100
    return loss, x, 2 * values(n)


def _array_times_leaf(n: int) -> Any:
    x = leaf(n)
    y = np.ones(n) * x
    loss = (y * y).sum()
    y.detach().numpy()[:] = 100
    return loss, x, 2 * values(n)


def _data_is_an_array(n: int) -> Any:
    array, x = values(n), leaf(n)
    x.data = array
    loss = (x * x).sum()
    array[:] = 100
    return loss, x, 2 * values(n)


def _optimizer(n: int) -> Any:
    x, w = leaf(n), leaf(n)
    loss = (w * x).sum()
    loss.backward(retain_graph=True)
    tg.optim.SGD([w], lr=0.5).step()
    return loss, x, values(n)


def _saved_by_a_function(n: int) -> Any:
    kept = []

    class Scaled(tg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            kept.append(tg.exp(x))
            ctx.save_for_backward(kept[0])
            return kept[0] * 2

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0] * 2

    x = leaf(n)
    loss = Scaled.apply(x).sum()
    kept[0][:] = 100
    return loss, x, 2 * np.exp(values(n))


def _array_saved_by_a_function(n: int) -> Any:
    array = values(n)

    class Times(tg.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(tg.as_tensor(factor))
            return x * factor

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0], None

    x = leaf(n)
    loss = Times.apply(x, array).sum()
    array[:] = 100
    return loss, x, values(n)


def _on_jax(n: int) -> Any:
    pytest.importorskip("jax")
    array, x = values(n), leaf(n)
    there = tg.as_tensor(array).to("jax")
    loss = (x.to("jax") * there).cpu().sum()
    array[:] = 100
    return loss, x, values(n)


TAPES = [
    _handed_out_before,
    _handed_out_after,
    _result_handed_out,
    _asarray,
    _dlpack,
    _memoryview,
    _constant_handed_out,
    _base_of_a_view,
    _view_of_a_base,
    _view_with_history,
    _array_times_leaf,
    _data_is_an_array,
    _optimizer,
    _saved_by_a_function,
    _array_saved_by_a_function,
    _on_jax,
]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("make", TAPES, ids=lambda f: f.__name__)
def test_a_tape_whose_arrays_were_overwritten(make, n):
    loss, x, expected = make(n)
    right_or_refused(lambda: gradient(loss, x), expected)
    loss, x, expected = make(n)
    right_or_refused(lambda: tg.autograd.grad(loss, [x], create_graph=True)[0].detach(), expected)


@pytest.mark.parametrize("n", SIZES)
def test_what_is_written_before_it_is_read_is_no_damage(n):
    constant, x = tg.tensor(values(n)), leaf(n)
    array = constant.numpy()
    for scale in (2.0, 3.0):
        array[:] = values(n, scale)
        np.testing.assert_allclose(gradient((x * constant).sum(), x), values(n, scale))
    w = leaf(n)
    array = w.detach().numpy()
    for _ in range(5):
        array -= 0.25 * gradient((w * w).sum(), w)
    np.testing.assert_allclose(w.detach().numpy(), values(n) * 0.5**5)
    for _ in range(3):
        gradient((w * w).sum(), w)
        w.detach().numpy()[:] = 2.0 * w.detach().numpy()
    np.testing.assert_allclose(gradient((w * w).sum(), w), 2 * values(n) * 0.5**2)


def test_the_error_names_the_variable_and_the_line_where_its_memory_left():
    x = leaf(5)
    y = tg.exp(x)
    array = y.detach().numpy()
    array[0] = 5
    with pytest.raises(GradientError) as raised:
        y.sum().backward()
    message = str(raised.value)
    assert "y was changed after the backward had saved it" in message
    assert message.splitlines()[-1].endswith("array = y.detach().numpy()")


def test_the_error_names_the_weight_that_an_optimizer_changed():
    x, w = leaf(5), leaf(5)
    opt = tg.optim.SGD([w], lr=0.5)
    loss = (w * x).sum()
    loss.backward(retain_graph=True)
    opt.step()
    with pytest.raises(GradientError, match="w was changed") as raised:
        loss.backward()
    assert str(raised.value).splitlines()[-1].endswith("opt.step()")


def test_the_error_names_the_array_that_a_large_operand_was():
    x, factor = leaf(20_000), values(20_000)
    loss = (x * factor).sum()
    factor[3] = 0.0
    with pytest.raises(GradientError, match="factor was changed") as raised:
        loss.backward()
    assert str(raised.value).splitlines()[-1].endswith("loss = (x * factor).sum()")


# -- what is handed out ---------------------------------------------------------------------------


def test_an_array_handed_out_is_the_memory_while_it_lives():
    x = tg.tensor(values(5))
    array = x.numpy()
    assert type(array) is np.ndarray
    assert x.numpy() is array
    array[0] = 7.0
    x[1] = 8.0
    assert x.tolist()[:2] == array.tolist()[:2] == [7.0, 8.0]
    view, memory = array[1:], x._array
    del array
    assert type(x._array) is type(memory)
    view[0] = 9.0
    assert x.tolist()[1] == 9.0
    del view, memory
    gc.collect()
    assert type(x._array) is np.ndarray


def test_tapes_are_asked_no_more_when_only_the_caller_has_what_was_handed_out():
    x, kept = leaf(5), []
    for _ in range(3):
        loss = (x * x).sum()
        kept.append(loss.detach().numpy())
        gradient(loss, x)
    del loss
    exported_memory.look_again()
    assert not any(
        held.digest is not None for outs in exported_memory._out.values() for held in outs
    )
    assert WRITES.last < exported_memory.ALWAYS


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int64", "bool"])
@pytest.mark.parametrize(
    "take", [lambda a: a, lambda a: a[::2], lambda a: a.T, lambda a: a[::-1, 1:], lambda a: a[:0]]
)
def test_an_array_handed_out_has_shape_and_strides(take, dtype):
    array = take(np.ones((4, 6), dtype))
    given = tg.as_tensor(array).numpy()
    assert (given.shape, given.dtype) == (array.shape, array.dtype)
    assert not array.size or given.strides == array.strides
    assert np.shares_memory(given, array) or not array.size


def test_a_read_only_view_stays_read_only():
    assert not tg.broadcast_to(tg.tensor([1.0]), (3,)).numpy().flags.writeable


# -- compiled calls on Tensors --------------------------------------------------------------------

CALLS = 3


def _with_array(n: int) -> Any:
    a = values(n)
    return lambda x, a: x * a, (a,), lambda: a.fill(100), values(n)


def _with_as_tensor(n: int) -> Any:
    a = values(n)
    return lambda x, a: x * a, (tg.as_tensor(a),), lambda: a.fill(100), values(n)


def _with_index(n: int) -> Any:
    at = np.arange(n)[::-1].copy()
    w = values(n)
    f = lambda x, at, w: x[at] * w
    return f, (at, w), lambda: at.fill(0), values(n)[::-1]


def _with_mask(n: int) -> Any:
    mask = values(n) > 1
    f = lambda x, mask: np.where(mask, x, 0.0)
    return f, (mask,), lambda: mask.fill(True), (values(n) > 1) * 1.0


def _with_list(n: int) -> Any:
    parts = [values(n), values(n, 2.0)]
    f = lambda x, parts: x * parts[0] * parts[1]
    return f, (parts,), lambda: parts[1].fill(100), 2 * values(n) ** 2


def _with_view(n: int) -> Any:
    base = values(2 * n)
    f = lambda x, a: x * a
    return f, (base[::2],), lambda: base.fill(100), values(2 * n)[::2]


def _with_closure(n: int) -> Any:
    a = values(n)
    return lambda x: x * a, (), lambda: a.fill(100), values(n)


def _with_attribute(n: int) -> Any:
    model = SimpleNamespace(a=values(n))
    return lambda x: x * model.a, (), lambda: model.a.fill(100), values(n)


def _with_weight(n: int) -> Any:
    w = leaf(n)

    def write() -> None:
        w.data[:] = 100

    return lambda x: x * w, (), write, values(n)


def _with_weight_handed_out(n: int) -> Any:
    w = leaf(n)
    array = w.detach().numpy()
    return lambda x: x * w, (), lambda: array.fill(100), values(n)


def _with_state(n: int) -> Any:
    state, a = [], values(n)

    def f(x, a):
        state.append(len(state))  # never compiled
        return x * a

    return f, (a,), lambda: a.fill(100), values(n)


CALLED = [
    _with_array,
    _with_as_tensor,
    _with_index,
    _with_mask,
    _with_list,
    _with_view,
    _with_closure,
    _with_attribute,
    _with_weight,
    _with_weight_handed_out,
    _with_state,
]


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize("make", CALLED, ids=lambda f: f.__name__)
def test_a_compiled_call_whose_arrays_are_overwritten(make, backend, n):
    if backend == "jax":
        pytest.importorskip("jax")
    function, *_ = make(n)
    compiled = tg.compile(function, backend=backend)
    for _ in range(CALLS):  # each with arrays of its own, but those that the function reads
        f, others, write, expected = make(n)
        if not others:
            compiled = tg.compile(f, backend=backend)
        x = leaf(n)
        out = compiled(x, *others)
        write()
        right_or_refused(lambda out=out, x=x: gradient(out.sum(), x), expected)


@pytest.mark.parametrize("n", SIZES)
def test_captured_arrays_that_change_between_calls_are_read_again(n):
    a = values(n)
    f = tg.compile(lambda x: x * a)
    for scale in (1.0, 2.0, 3.0, 4.0):
        a[:] = values(n, scale)
        x = leaf(n)
        np.testing.assert_allclose(gradient(f(x).sum(), x), values(n, scale))


@pytest.mark.parametrize("n", SIZES)
def test_gradients_of_gradients_of_a_compiled_call_look_at_what_is_computed_again(n):
    f = tg.compile(lambda x, a: (x + a) ** 3)
    for change in (False, True) * CALLS:
        x, a = leaf(n), values(n)
        out = f(x, a).sum()
        if change:
            a[:] = 100
        expected = 3 * (2 * values(n)) ** 2
        came = right_or_refused(
            lambda x=x, out=out: tg.autograd.grad(out, [x], create_graph=True)[0].detach(),
            expected,
        )
        assert came or change


@pytest.mark.parametrize("n", SIZES)
def test_what_no_backward_reads_may_change(n):
    f = tg.compile(lambda x, a, b: x * a + b)
    for _ in range(CALLS):
        x, b, c = leaf(n), values(n), tg.tensor(values(n))
        out = f(x, c, b)
        b[:] = 100
        np.testing.assert_allclose(gradient(out.sum(), x), values(n))
        out = f(x, values(n), c)
        c[:] = 100
        np.testing.assert_allclose(gradient(out.sum(), x), values(n))


@pytest.mark.parametrize("n", SIZES)
def test_compiled_functions_take_tensors_that_share_the_memory_of_arrays(n):
    a = values(n)
    f, g = tg.compile(lambda x: x * x), tg.grad(lambda x: (x * x).sum())
    for _ in range(CALLS):
        a += 1.0
        np.testing.assert_allclose(f(tg.as_tensor(a)).numpy(), a * a)
        np.testing.assert_allclose(g(tg.as_tensor(a)).numpy(), 2 * a)
        x = tg.as_tensor(a).requires_grad_()
        np.testing.assert_allclose(gradient(f(x).sum(), x), 2 * a)


def test_a_copy_of_watched_memory_is_an_ordinary_array():
    x = tg.as_tensor(values(5)).requires_grad_()
    for y in (x.clone(), x[[0, 1]], x.flatten().clone()):
        assert type(y._array) is np.ndarray
        y += 1.0  # which is refused where the memory is another's


@pytest.mark.parametrize("function", [np.add, np.subtract])
@pytest.mark.parametrize("value", [3.0, np.ones(1)], ids=["number", "array"])
def test_places_of_a_constant_may_change(function, value):
    x = tg.tensor([[[1.0, 2.0, 3.0]], [[-1.0, 0.5, 4.0]]], requires_grad=True)
    places = tg.as_tensor(np.array([-1, 0]))
    y = x * 1.5
    function.at(np.moveaxis(y, 0, -1), places[:1], value)
    places %= 2  # no index of this axis: nothing flows to what was added, so nothing reads them
    (y * y).sum().backward()
    sign = 1.0 if function is np.add else -1.0
    assert np.allclose(x.grad.numpy(), 2 * 1.5 * (x.detach().numpy() * 1.5 + sign * value))


def test_an_own_write_is_not_taken_for_one_of_who_has_the_memory():
    """A view that is kept to be shown is in nobody's way; a write to it is told."""
    w = tg.tensor(np.ones((3, 3)), requires_grad=True)
    shown = None
    for _ in range(3):
        w.grad = None
        (w[0] ** 2).sum().backward()
        shown = w[0].detach().numpy()
        with tg.no_grad():
            w -= 0.1 * w.grad
    loss = (w[0] ** 2).sum()
    with tg.no_grad():
        w -= 0.1
    with pytest.raises(tg.errors.GradientError, match="inplace"):
        loss.backward()
    loss = (w[0] ** 2).sum()
    shown[:] = 7.0
    with pytest.raises(tg.errors.GradientError, match="inplace"):
        loss.backward()
    loss = (w[0] ** 2).sum()
    shown[:] = 8.0
    with tg.no_grad():
        w -= 0.1
    with pytest.raises(tg.errors.GradientError, match="inplace"):
        loss.backward()
