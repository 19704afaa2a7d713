"""Programs in PyTorch's spelling enter; `tg.autograd` must behave as PyTorch users expect.

`grad` and `backward`, `Function` (eager and in generated source), hooks in generated source,
`gradcheck`, anomaly detection, `Variable`, the profiler, and the modes of recording.
"""

from __future__ import annotations

import gc
import json
import re
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad import autograd
from tracegrad.autograd import (
    Function,
    GradcheckError,
    Variable,
    detect_anomaly,
    enable_grad,
    gradcheck,
    gradgradcheck,
    inference_mode,
    is_grad_enabled,
    no_grad,
    once_differentiable,
    set_detect_anomaly,
    set_grad_enabled,
)
from tracegrad.autograd.profiler import profile, record_function


def leaf(*values: float) -> tg.Tensor:
    return tg.tensor(values, requires_grad=True)


def array(tensor: Any) -> np.ndarray:
    assert isinstance(tensor, tg.Tensor)
    return tensor.detach().numpy()


def assert_is(tensor: Any, *values: float) -> None:
    np.testing.assert_array_equal(array(tensor), values)


# -- grad ---------------------------------------------------------------------------------------


def test_grad_of_an_intermediate_goes_no_further() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3
    z = (y * y).sum()
    (found,) = autograd.grad(z, y)
    assert_is(found, 6.0, 12.0)
    assert x.grad is None and y.grad is None
    y.sum().backward()  # what lies below y was not used, so it was not freed
    assert_is(x.grad, 3.0, 3.0)


def test_grad_of_several_outputs_and_inputs() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    a, b = x * w, x + w
    found = autograd.grad([a, b], (x, w), [tg.tensor([1.0, 1.0]), tg.tensor([10.0, 100.0])])
    assert_is(found[0], 13.0, 104.0)
    assert_is(found[1], 11.0, 102.0)


def test_grad_of_outputs_that_are_inputs() -> None:
    x = leaf(1.0, 2.0)
    for _ in range(3):
        (found,) = autograd.grad(x, x, np.array([5.0, 6.0]))
        assert_is(found, 5.0, 6.0)
        y = x * 2
        both = autograd.grad([y.sum(), y], [x, y], [None, np.array([1.0, 2.0])])
        assert_is(both[0], 4.0, 6.0)
        assert_is(both[1], 2.0, 3.0)


def test_grad_takes_one_input_more_than_once() -> None:
    x = leaf(1.0, 2.0)
    for _ in range(3):
        found = autograd.grad((x * x).sum(), [x, x])
        assert_is(found[0], 2.0, 4.0)
        assert_is(found[1], 2.0, 4.0)
        (x * x).sum().backward()
        assert_is(x.grad, 2.0, 4.0)
        x.grad = None


def test_grad_of_some_leaves_leaves_the_backward_of_all_alone() -> None:
    """A compiled backward made for `grad` must not serve a tape's whole backward."""
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    for _ in range(4):
        autograd.grad((x * w).sum(), x)
    (x * w).sum().backward()
    assert_is(x.grad, 3.0, 4.0)
    assert_is(w.grad, 1.0, 2.0)


def test_unused_inputs() -> None:
    x, w = leaf(1.0), leaf(2.0)
    with pytest.raises(RuntimeError, match=r"not have been used in the graph.*inputs\[1\]"):
        autograd.grad(x * 2, [x, w])
    found = autograd.grad(x * 2, [x, w], allow_unused=True)
    assert found[1] is None
    found = autograd.grad(x * 2, [x, w], materialize_grads=True)
    assert_is(found[1], 0.0)


def test_grad_refuses_what_has_no_gradient() -> None:
    x, c = leaf(1.0), tg.tensor([1.0])
    with pytest.raises(RuntimeError, match=r"does not require grad: inputs\[0\]"):
        autograd.grad(x * 2, c)
    with pytest.raises(RuntimeError, match="element 1 of tensors does not require grad"):
        autograd.grad([x * 2, c], x)
    with pytest.raises(TypeError, match=r"inputs\[1\] is of type int"):
        autograd.grad(x * 2, [x, 3])
    with pytest.raises(RuntimeError, match="non-empty"):
        autograd.grad(x * 2, [])
    with pytest.raises(ValueError, match="gradient"):
        autograd.grad(leaf(1.0, 2.0) * 2, x)
    with pytest.raises(RuntimeError, match="got 1 tensors and 2 gradients"):
        autograd.grad(x * 2, x, [None, None])


def test_graph_is_kept_when_asked() -> None:
    x = leaf(1.0, 2.0)
    z = (x * x).sum()
    autograd.grad(z, x, retain_graph=True)
    autograd.grad(z, x, create_graph=True)
    autograd.grad(z, x)
    with pytest.raises(RuntimeError, match="retain_graph"):
        autograd.grad(z, x)


def test_gradients_of_gradients() -> None:
    x = leaf(2.0)
    (first,) = autograd.grad((x**4).sum(), x, create_graph=True)
    (second,) = autograd.grad(first.sum(), x, create_graph=True)
    (third,) = autograd.grad(second.sum(), x)
    assert_is(first, 32.0)
    assert_is(second, 48.0)
    assert_is(third, 48.0)


def test_create_graph_records_under_no_grad() -> None:
    x = leaf(2.0)
    z = (x**3).sum()
    with no_grad():
        (first,) = autograd.grad(z, x, create_graph=True)
    assert_is(autograd.grad(first.sum(), x)[0], 12.0)


def test_backward_of_several_tensors() -> None:
    x = leaf(1.0, 2.0)
    for _ in range(3):
        x.grad = None
        autograd.backward([(x * 2).sum(), x * x], [None, tg.tensor([1.0, 10.0])])
        assert_is(x.grad, 4.0, 42.0)
    autograd.backward((x * 2).sum())
    assert_is(x.grad, 6.0, 44.0)


def test_backward_into_chosen_inputs() -> None:
    x, w = leaf(1.0), leaf(2.0)
    y = x * w
    autograd.backward(y * y, inputs=[w, y])
    assert x.grad is None
    assert_is(w.grad, 4.0)
    assert_is(y.grad, 4.0)
    with pytest.raises(RuntimeError, match="cannot be empty"):
        autograd.backward(x * 2, inputs=[])


def test_complex_gradients_are_the_direction_of_ascent() -> None:
    """PyTorch's convention, of `backward`, `grad` and hooks, interpreted and compiled."""
    z = tg.tensor([1.0 + 2.0j, 0.5 - 1.0j], requires_grad=True)
    seen = []
    for _ in range(4):
        z.grad = None
        tg.real((z * tg.conj(z)).sum()).backward()
        np.testing.assert_allclose(array(z.grad), 2 * array(z))
    assert gradcheck(lambda z: (z * z * (1 + 2j), z * tg.conj(z)), z)
    z.register_hook(lambda g: seen.append(g))
    (found,) = autograd.grad(tg.real((z * tg.conj(z)).sum()), z)
    np.testing.assert_allclose(array(found), array(seen[0]))


# -- Function, eager ------------------------------------------------------------------------------


class custom_add(Function):  # the name that the document gives it
    @staticmethod
    def forward(ctx: Any, input: tg.Tensor, input2: tg.Tensor) -> tg.Tensor:
        ctx.save_for_backward(input, input2)
        return input + input2

    @staticmethod
    def backward(ctx: Any, grad_output: tg.Tensor) -> tuple[tg.Tensor, tg.Tensor]:
        assert len(ctx.saved_tensors) == 2
        return grad_output * 1, grad_output * 1


class Cube(Function):
    """Saves an argument, an output and an attribute."""

    @staticmethod
    def forward(ctx: Any, x: tg.Tensor) -> tg.Tensor:
        y = x * x * x
        ctx.save_for_backward(x, None)
        ctx.pair = [y, x]
        return y

    @staticmethod
    def backward(ctx: Any, grad: tg.Tensor) -> tg.Tensor:
        x, nothing = ctx.saved_tensors
        assert nothing is None
        return grad * 3 * ctx.pair[0] / x


class Exp(Function):
    """Saves its output, in the newer spelling."""

    @staticmethod
    def forward(x: tg.Tensor) -> tg.Tensor:
        return tg.exp(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tg.Tensor) -> None:
        assert len(inputs) == 1
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, grad: tg.Tensor) -> tg.Tensor:
        (y,) = ctx.saved_tensors
        return grad * y


class SinCos(Function):
    @staticmethod
    def forward(ctx: Any, x: tg.Tensor) -> tuple[tg.Tensor, tg.Tensor]:
        ctx.save_for_backward(x)
        return tg.sin(x), tg.cos(x)

    @staticmethod
    def backward(ctx: Any, gs: tg.Tensor, gc: tg.Tensor) -> tg.Tensor:
        (x,) = ctx.saved_tensors
        return gs * tg.cos(x) - gc * tg.sin(x)


class Scale(Function):
    @staticmethod
    def forward(ctx: Any, x: tg.Tensor, factor: float) -> tg.Tensor:
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx: Any, grad: tg.Tensor) -> tuple[tg.Tensor, None]:
        return grad * ctx.factor, None


def test_a_function_of_the_user() -> None:
    a, b = leaf(1.0), leaf(2.0)
    c = custom_add.apply(a, b)
    assert repr(c) == "tensor([3.], grad_fn=<custom_addBackward>)"
    assert c.grad_fn.name() == "custom_addBackward"
    c.backward()
    assert_is(a.grad, 1.0)
    assert_is(b.grad, 1.0)
    assert gradcheck(custom_add.apply, (a, b), eps=1e-6, atol=1e-4)


def test_arguments_that_are_not_tensors() -> None:
    x = leaf(1.0, 2.0)
    Scale.apply(x, 5).backward(tg.tensor([1.0, 1.0]))
    assert_is(x.grad, 5.0, 5.0)
    assert gradcheck(Scale.apply, (x, 3.0))


@pytest.mark.parametrize("function", [Cube, Exp, SinCos])
def test_second_and_third_order(function: type[Function]) -> None:
    x = leaf(0.5, 2.0)
    assert gradcheck(function.apply, x)
    assert gradgradcheck(function.apply, x)

    def second(x: tg.Tensor) -> Any:
        out = function.apply(x)
        total = out.sum() if isinstance(out, tg.Tensor) else (out[0] * out[1]).sum()
        (first,) = autograd.grad(total, x, create_graph=True)
        return autograd.grad((first * first).sum(), x, create_graph=True)

    assert gradcheck(second, x)


def test_needs_input_grad() -> None:
    seen = []

    class Product(Function):
        @staticmethod
        def forward(ctx: Any, a: Any, n: int, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            return a * b * n

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            seen.append(ctx.needs_input_grad)
            a, b = ctx.saved_tensors
            return grad * b * 2, None, grad * a * 2

    a, b = leaf(3.0), tg.tensor([4.0])
    Product.apply(a, 2, b).backward()
    assert seen == [(True, False, False)]
    assert_is(a.grad, 8.0)
    assert b.grad is None


def test_outputs_without_a_gradient() -> None:
    class Sorted(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            order = tg.tensor(np.argsort(array(x)))
            floats = order * 1.0
            ctx.mark_non_differentiable(floats)
            ctx.order = array(order)
            return tg.tensor(array(x)[ctx.order]), order, floats

        @staticmethod
        def backward(ctx: Any, grad: Any, of_order: Any, of_floats: Any) -> Any:
            assert_is(of_floats, 0.0, 0.0, 0.0)
            back = np.empty(3)
            back[ctx.order] = array(grad)
            return back

    x = leaf(3.0, 1.0, 2.0)
    values, order, floats = Sorted.apply(x)
    assert values.requires_grad and not order.requires_grad and not floats.requires_grad
    (values * tg.tensor([1.0, 10.0, 100.0]) * floats).sum().backward()
    assert_is(x.grad, 0.0, 1.0, 20.0)


def test_missing_gradients_are_zeros_or_none() -> None:
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, materialize: bool) -> Any:
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            seen.append(b)
            return a * 2, None

    Two.apply(leaf(1.0), True)[0].backward()
    assert_is(seen.pop(), 0.0)
    Two.apply(leaf(1.0), False)[0].backward()
    assert seen == [None]


class Doubled(Function):
    """Doubles its argument in place."""

    @staticmethod
    def forward(ctx: Any, x: tg.Tensor) -> tg.Tensor:
        values = x.detach().numpy()
        np.multiply(values, 2, out=values)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: tg.Tensor) -> tg.Tensor:
        return grad * 2


def test_arguments_changed_in_place() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3
    z = Doubled.apply(y)
    assert z is y
    assert_is(y, 6.0, 12.0)
    y.sum().backward()
    assert_is(x.grad, 6.0, 6.0)
    with pytest.raises(RuntimeError, match=r"leaf.*in-place operation by Doubled"):
        Doubled.apply(leaf(1.0))

    class Lost(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x * 2

    with pytest.raises(RuntimeError, match=r"Lost.forward marked.*not returned"):
        Lost.apply(y)


def test_an_argument_returned_as_it_is() -> None:
    class Same(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 10

    x = leaf(1.0)
    y = Same.apply(x)
    assert y is not x and x.is_leaf
    y.backward()
    assert_is(x.grad, 10.0)


def broken(returned: Callable[[Any], Any]) -> Callable[..., Any]:
    class Broken(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, n: int) -> Any:
            return x * n

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return returned(grad)

    return Broken.apply


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (
            lambda g: g,
            r"BrokenBackward returned an incorrect number of gradients \(expected 2, got 1",
        ),
        (lambda g: (g, None, g), r"incorrect number of gradients \(expected 2, got 3"),
        (lambda g: (g, g), "BrokenBackward returned a gradient different from None at position 1"),
        (lambda g: (g.sum(), None), r"BrokenBackward.*index 0: got shape \(\).*\(2,\)"),
        (lambda g: (tg.tensor([1.0, 2.0, 3.0]), None), r"index 0: got shape \(3,\).*\(2,\)"),
        (lambda g: (1.0, None), "BrokenBackward returned float at index 0"),
    ],
)
def test_wrong_gradients_name_the_function(returned: Callable[[Any], Any], message: str) -> None:
    apply = broken(returned)
    with pytest.raises(RuntimeError, match=message):
        apply(leaf(1.0, 2.0), 2).sum().backward()
    with pytest.raises(RuntimeError, match=message):
        tg.grad(lambda x: apply(x, 2).sum())(np.array([1.0, 2.0]))


def test_gradients_that_fit() -> None:
    x = leaf(1.0, 2.0)
    broken(lambda g: (g, None, None, None))(x, 2).sum().backward()  # None too many
    assert_is(x.grad, 1.0, 1.0)
    wide = broken(lambda g: (np.ones((3, 2)), None))  # summed down, as for a broadcast operand
    assert_is(autograd.grad(wide(x, 2).sum(), x)[0], 3.0, 3.0)
    np.testing.assert_array_equal(
        tg.grad(lambda x: wide(x, 2).sum())(np.array([1.0, 2.0])), [3.0, 3.0]
    )
    nothing = broken(lambda g: (None, None))
    assert autograd.grad(nothing(x, 2).sum(), x, allow_unused=True) == (None,)


def test_the_old_spellings_say_what_to_write() -> None:
    with pytest.raises(RuntimeError, match=r"custom_add.apply"):
        custom_add()(leaf(1.0), leaf(2.0))
    with pytest.raises(TypeError, match="no keyword arguments"):
        Scale.apply(leaf(1.0), factor=2)
    with pytest.raises(NotImplementedError, match="forward"):
        Function.apply(leaf(1.0)) if hasattr(Function, "_op") else type(
            "F", (Function,), {}
        ).apply()
    with pytest.raises(TypeError, match=r"ctx.name = value"):

        class Saves(Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(3)
                return x

        Saves.apply(leaf(1.0))

    class Nothing(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> None:
            pass

    with pytest.raises(TypeError, match=r"Nothing.forward returned NoneType"):
        Nothing.apply(leaf(1.0))

    class Variables(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_variables
            return grad * 2 * x

    with pytest.warns(DeprecationWarning, match="saved_tensors"):
        Variables.apply(leaf(3.0)).backward()


def test_nothing_is_recorded_in_forward_or_without_need() -> None:
    class Looks(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            assert not is_grad_enabled() and not (x * 2).requires_grad
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            assert not is_grad_enabled()
            return grad * 2

    Looks.apply(leaf(1.0)).backward()
    assert not Looks.apply(tg.tensor([1.0])).requires_grad
    with no_grad():
        assert not Looks.apply(leaf(1.0)).requires_grad


def test_a_function_within_a_backward() -> None:
    """Recomputing in backward, as checkpointing does."""

    class Recomputed(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return tg.sin(x * x)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x = ctx.saved_tensors[0].detach().requires_grad_()
            with enable_grad():
                y = tg.sin(x * x)
            return autograd.grad(y, x, grad)

    assert gradcheck(Recomputed.apply, leaf(0.3, 0.7))
    f = lambda x: Recomputed.apply(x).sum()
    at = np.array([0.3, 0.7])
    np.testing.assert_allclose(tg.grad(f)(at), 2 * at * np.cos(at * at))


def test_once_differentiable() -> None:
    class Once(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2 * ctx.saved_tensors[0]

    x = leaf(3.0)
    (first,) = autograd.grad(Once.apply(x), x, create_graph=True)
    assert_is(first, 6.0)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        autograd.grad(first, x)


def test_a_dropped_graph_is_freed_at_once() -> None:
    class Keeps(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * 2
            ctx.save_for_backward(x, y)
            ctx.kept = Marker()
            alive.append(weakref.ref(ctx.kept))
            return y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    class Marker:
        pass

    alive: list[Any] = []
    gc.disable()
    try:
        y = Keeps.apply(leaf(1.0))
        assert alive[-1]() is not None
        del y
        assert alive[-1]() is None
        y = Keeps.apply(leaf(1.0))
        y.backward()
        assert alive[-1]() is None  # the backward lets go of what was saved
    finally:
        gc.enable()


def test_only_what_was_saved_is_kept() -> None:
    large = tg.tensor(np.ones(10_000), requires_grad=True)
    product = large * 1.0
    values = weakref.ref(product._array)
    out = Scale.apply(product, 2.0)
    del product
    assert values() is None
    out.sum().backward()
    assert array(large.grad)[0] == 2.0


def test_the_source_of_such_a_backward_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"custom_addBackward.*step by step"):
        tg.backward_source(custom_add.apply(leaf(1.0), leaf(2.0)).sum())


# -- Function in generated source -------------------------------------------------------------


def test_both_halves_are_calls_in_the_source() -> None:
    @tg.value_and_grad
    def loss(a, b):
        c = custom_add.apply(a, b)
        return (c * c).sum()

    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    value, gradient = loss(a, b)
    assert value == 52.0
    np.testing.assert_array_equal(gradient, [8.0, 12.0])
    text = loss.source(a, b)
    assert "c, ctx = custom_add_forward(a, b)" in text
    assert re.search(r"a_bar = custom_add_backward\(ctx, a, b, (c_bar|c \+ c)\)", text)
    assert "import tracegrad" not in text
    assert "custom_add_backward(ctx, " in loss.source(a, b, part="backward")


def test_what_comes_of_arrays_is_a_tensor_to_the_function(monkeypatch) -> None:
    def told(x):
        out = Exp.apply(x * 1.5)
        return (out * out).sum() if isinstance(out, tg.Tensor) else (out * out).sum() * 100.0

    x = np.array([0.5, 1.2])
    value = told(x).numpy()[()]
    for compiled in (True, False):
        monkeypatch.setattr(tg.config, "compile", compiled)
        assert tg.value_and_grad(told)(x)[0] == value
        assert float(tg.compile(told)(x)) == value


@pytest.mark.parametrize("function", [Cube, Exp, SinCos])
def test_compiled_equals_eager_to_third_order(function: type[Function]) -> None:
    def total(x):
        out = function.apply(x * 1.5)
        out = out if isinstance(out, tg.Tensor) else out[0] * out[1]
        return (out * out).sum()

    def second(x):
        return (tg.grad(total)(x) ** 2).sum()

    def third(x):
        return (tg.grad(second)(x) ** 2).sum()

    for f in (total, second, third):
        compiled = tg.value_and_grad(f)
        for at in (np.array([0.5, 1.2]), np.array([1.1, -0.3]), np.array([0.7])):
            x = tg.tensor(at, requires_grad=True)
            y = f(x)
            y.backward()
            value, gradient = compiled(at)
            np.testing.assert_array_equal(value, array(y))
            np.testing.assert_allclose(gradient, array(x.grad), rtol=1e-12)


def test_a_compiled_function_stays_right() -> None:
    """Other values, other lengths, other numbers; what forward draws is what backward sees."""
    drawn = np.random.default_rng(0)

    class Dropped(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mask = drawn.random(x.shape) < 0.5
            return x * ctx.mask

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.mask

    @tg.value_and_grad
    def f(x, factor):
        return Scale.apply(Dropped.apply(x), factor).sum()

    for n in (40, 40, 40, 1, 0, 40):
        value, gradient = f(np.full(n, 3.0), 2)
        assert value == gradient.sum() * 3.0
        assert set(gradient) <= {0.0, 2.0}
    assert set(f(np.full(40, 3.0), 5)[1]) == {0.0, 5.0}


def test_arguments_and_results_are_not_shared() -> None:
    kept = []

    class Keeps(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            kept.append(x)
            return x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            grad.detach().numpy()[:] *= 1  # its own memory
            kept.append(grad)
            return grad

    @tg.value_and_grad
    def f(x):
        y = x * 2
        z = Keeps.apply(y)
        return (z * 3 + y + 1).sum()

    at = np.array([1.0, 2.0])
    for _ in range(3):
        kept.clear()
        _, gradient = f(at)
        np.testing.assert_array_equal(gradient, [8.0, 8.0])
        np.testing.assert_array_equal(at, [1.0, 2.0])
        assert_is(kept[-2], 2.0, 4.0)
        gradient[:] = 7.0
        assert_is(kept[-1], 3.0, 3.0)


def test_in_place_in_a_compiled_function() -> None:
    @tg.value_and_grad
    def f(x):
        y = x * 3
        Doubled.apply(y)
        return (y * y).sum()

    at = np.array([1.0, 2.0])
    for _ in range(2):
        value, gradient = f(at)
        assert value == 36.0 + 144.0
        np.testing.assert_array_equal(gradient, [72.0, 144.0])
        np.testing.assert_array_equal(at, [1.0, 2.0])

    class Silent(Doubled):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            values = x.detach().numpy()
            np.multiply(values, 2, out=values)
            return values + 0.0

    silent = tg.value_and_grad(lambda x: Silent.apply(x).sum())
    with pytest.raises(RuntimeError, match="mark_dirty"):
        silent(at.copy())


def test_forward_may_decide_by_values() -> None:
    """Another outcome than the traced one is another version, never a wrong shape."""

    class Positive(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.kept = np.flatnonzero(array(x) > 0)
            ctx.n = len(array(x))
            return tg.tensor(array(x)[ctx.kept])

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            back = np.zeros(ctx.n)
            back[ctx.kept] = array(grad)
            return back

    f = tg.value_and_grad(lambda x: (Positive.apply(x) ** 2).sum())
    for at in ([1.0, -2.0, 3.0], [1.0, 2.0, 3.0], [-1.0, 5.0, 6.0], [1.0, 2.0, 4.0]):
        value, gradient = f(np.array(at))
        np.testing.assert_array_equal(gradient, 2 * np.maximum(at, 0.0))
        assert value == np.sum(np.maximum(at, 0.0) ** 2)
    assert f.cache_info().versions == 2


def test_numbers_and_outside_tensors_as_arguments() -> None:
    w = tg.tensor([2.0, 3.0])

    @tg.value_and_grad
    def f(x):
        return custom_add.apply(Scale.apply(x, 2.0), w).sum() + Exp.apply(x)

    for at in (1.0, 2.0):
        value, gradient = f(at)
        assert value == 2 * 2 * at + array(w).sum() + np.exp(at)
        assert gradient == 4.0 + np.exp(at)


def test_gradients_of_what_forward_reads_without_being_given_it_are_refused() -> None:
    def by_closure(x):
        w = x * 2

        class Hidden(Function):
            @staticmethod
            def forward(ctx: Any, y: Any) -> Any:
                return y * w

        return Hidden.apply(x).sum()

    def in_a_list(x):
        class Listed(Function):
            @staticmethod
            def forward(ctx: Any, y: Any, more: Any) -> Any:
                return y * more[0]

        return Listed.apply(x, [x]).sum()

    for f, value in ((by_closure, 10.0), (in_a_list, 5.0)):
        for _ in range(3):
            assert tg.compile(f)(np.array([1.0, 2.0])) == value  # eagerly
        with pytest.raises(tg.errors.GradientError, match="hand it over"):
            tg.grad(f)(np.array([1.0, 2.0]))


def test_jax_cannot_call_the_users_python() -> None:
    pytest.importorskip("jax")
    f = tg.grad(lambda x: Exp.apply(x).sum(), backend="jax")
    with pytest.raises(tg.errors.TraceError, match=r'Exp_forward.*backend="numpy"'):
        f(np.array([1.0]))


def test_derivatives_of_compiled_functions() -> None:
    f = tg.compile(lambda x: Exp.apply(x) * Exp.apply(x))
    at = np.array([0.5, 1.0])
    np.testing.assert_allclose(f(at), np.exp(2 * at))
    np.testing.assert_allclose(tg.grad(lambda x: f(x).sum())(at), 2 * np.exp(2 * at))
    x = tg.tensor(at, requires_grad=True)
    f(x).sum().backward()
    np.testing.assert_allclose(array(x.grad), 2 * np.exp(2 * at))
    _, pull = tg.vjp(f, at)
    np.testing.assert_allclose(pull(np.ones(2))[0], 2 * np.exp(2 * at))


# -- hooks in generated source --------------------------------------------------------------------


def test_hooks_are_calls_in_the_order_registered() -> None:
    @tg.value_and_grad
    def f(x):
        h = x * 3
        h.register_hook(lambda g: g + 1)
        h.register_hook(lambda g: g * 10)
        x.register_hook(lambda g: g * 2)
        return (h * h).sum()

    at = np.array([1.0, 2.0])
    for _ in range(2):
        _, gradient = f(at)
        np.testing.assert_array_equal(gradient, (6 * at * 3 / 3 + 1) * 10 * 3 * 2)
    text = f.source(at)
    assert text.count("h_bar = hook") == 2 and text.count("x_bar = hook") == 1
    assert text.index("g + 1") < text.index("g * 10") < text.index("g * 2")


def test_a_hook_reads_variables_as_they_are_now() -> None:
    def f(x):
        h = x * 3
        scale = x.sum()
        h.register_hook(lambda g, mask=x > 1: g * scale * mask)
        scale = scale + 1
        return (h * h).sum()

    compiled = tg.grad(f)
    for at in (np.array([1.0, 2.0]), np.array([5.0, -1.0]), np.array([2.0, 2.0, 2.0])):
        x = tg.tensor(at, requires_grad=True)
        f(x).backward()
        np.testing.assert_array_equal(compiled(at), array(x.grad))
        np.testing.assert_array_equal(compiled(at), 18 * at * (at.sum() + 1) * (at > 1))
    assert "(h + h, " in compiled.source(np.array([1.0, 2.0]))


def test_hooks_that_were_removed_are_not_called() -> None:
    @tg.grad
    def f(x):
        h = x * 3
        handle = h.register_hook(lambda g: g * 100)
        h.register_hook(lambda g: None)
        handle.remove()
        return (h * h).sum()

    np.testing.assert_array_equal(f(np.array([1.0])), [18.0])


def test_hooks_see_exact_gradients() -> None:
    """The masks of `where` are applied before a hook looks, and every use has been added up."""

    def f(x):
        h = x * 1.0
        h.register_hook(lambda g: g * np.isfinite(g.detach()))
        return np.where(h > 0, np.sqrt(h), h).sum() + h.sum()

    at = np.array([-1.0, 4.0])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(tg.grad(f)(at), [2.0, 1.25])
        x = tg.tensor(at, requires_grad=True)
        f(x).backward()
    assert_is(x.grad, 2.0, 1.25)


def test_hooks_differentiate() -> None:
    def f(x):
        h = x * x
        h.register_hook(lambda g: g * g)
        return (h * h).sum()

    def second(x):
        return tg.grad(f)(x).sum()

    for at in (np.array([1.0, 2.0]), np.array([0.5, -1.0])):
        np.testing.assert_array_equal(tg.grad(f)(at), (2 * at**2) ** 2 * 2 * at)
        x = tg.tensor(at, requires_grad=True)
        second(x).backward()
        np.testing.assert_allclose(tg.grad(second)(at), array(x.grad))


def test_hooks_that_hide_what_they_read_are_refused() -> None:
    class Holder:
        def __init__(self, scale: Any) -> None:
            self.scale = scale

        def hook(self, g: Any) -> Any:
            return g * self.scale

    def f(x):
        h = x * 3
        h.register_hook(Holder(x.sum()).hook)
        return h.sum()

    with pytest.raises(tg.errors.TraceError, match=r"hook reads self.scale"):
        tg.grad(f)(np.array([1.0]))


def test_wrong_shapes_from_hooks_name_the_hook() -> None:
    def halves(g: Any) -> Any:
        return g[:1]

    def f(x):
        h = x * 3
        h.register_hook(halves)
        return h.sum()

    message = r"the hook halves returned a gradient of shape \(1,\) for one of shape \(2,\)"
    with pytest.raises(RuntimeError, match=message):
        f(leaf(1.0, 2.0)).backward()
    with pytest.raises(RuntimeError, match=message):
        tg.grad(f)(np.array([1.0, 2.0]))


def test_hooks_of_nodes_are_refused_in_compiled_functions() -> None:
    def f(x):
        h = x * 3
        h.grad_fn.register_hook(lambda grads, outs: None)
        return h.sum()

    with pytest.raises(tg.errors.TraceError, match="register it on the Tensor"):
        tg.grad(f)(np.array([1.0]))


def test_a_hook_may_write_into_what_it_gets() -> None:
    x = leaf(1.0, 2.0)
    a, b = x * 2, x * 3
    a.register_hook(lambda g: np.negative(array(g), out=array(g)) is None or None)
    (a + b).sum().backward()
    assert_is(x.grad, 1.0, 1.0)


# -- gradcheck ----------------------------------------------------------------------------------


def test_gradcheck_of_several_inputs_and_outputs() -> None:
    x, y = leaf(0.5, 2.0), tg.tensor(3.0, requires_grad=True)
    assert gradcheck(lambda x, y, n: (x * y, (np.exp(x) * n).sum()), (x, y, 3))
    assert gradgradcheck(lambda x, y: (x * y * y, np.exp(x * y).sum()), (x, y))
    assert gradcheck(lambda x: x * 2, tg.tensor(np.zeros((0, 2)), requires_grad=True))
    assert_is(x, 0.5, 2.0)


class Wrong(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        return x * 1, x * y

    @staticmethod
    def backward(ctx: Any, a: Any, b: Any) -> Any:
        return a, b * 2.5


def test_gradcheck_names_input_output_and_both_numbers() -> None:
    inputs = leaf(1.0, 2.0), leaf(4.0, 5.0)
    assert gradcheck(Wrong.apply, inputs, raise_exception=False) is False
    with pytest.raises(GradcheckError) as caught:
        gradcheck(Wrong.apply, inputs)
    text = str(caught.value)
    assert "Jacobian mismatch for output 1 with respect to input 0" in text
    assert re.search(
        r"d output\[1\] / d input\[1\] is (5\.0\d*|4\.9+\d*) numerically and 0.0", text
    )
    assert "numerical:" in text and "analytical:" in text


def test_gradcheck_notices_lost_gradients() -> None:
    with pytest.raises(GradcheckError, match="output 0 does not require grad"):
        gradcheck(lambda x: x.detach() * 2, leaf(1.0))
    assert gradcheck(lambda x: (x * 2, (x > 0) * 1.0), leaf(1.0))


def test_gradcheck_warns_of_low_precision() -> None:
    x = tg.tensor([1.0], dtype="float32", requires_grad=True)
    with pytest.warns(UserWarning, match=r"Input #0 .* not a double precision"):
        gradcheck(lambda x: x * 2, x, eps=1e-2, atol=1e-2)
    with pytest.raises(TypeError, match="requires_grad=True"):
        gradcheck(lambda x: x * 2, tg.tensor([1.0]))


def test_gradcheck_notices_backwards_that_differ() -> None:
    draws = np.random.default_rng(0)

    class Noisy(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * (1 + 1e-6 * draws.random())

    with pytest.raises(GradcheckError, match="not deterministic"):
        gradcheck(Noisy.apply, leaf(1.0))
    assert gradcheck(Noisy.apply, leaf(1.0), nondet_tol=1e-5)


def test_gradcheck_moves_the_input_itself() -> None:
    """A function may read a parameter by another name than its argument."""
    w = leaf(2.0)
    assert gradcheck(lambda *_: w * w, w)


# -- anomalies ----------------------------------------------------------------------------------


def test_an_anomaly_names_the_line_and_the_variable() -> None:
    x = leaf(-1.0, 4.0)
    with np.errstate(invalid="ignore"), detect_anomaly():
        root = np.sqrt(x)  # the line
        total = (root * 2).sum()
        with pytest.raises(tg.errors.GradientError) as caught:
            total.backward()
    text, error = str(caught.value), caught.value
    assert (error.variable, error.file) == ("root", "test_autograd.py")
    assert error.text == "root = np.sqrt(x)"
    assert f"test_autograd.py:{error.line}  {error.text}" in text
    assert "Function 'SqrtBackward0' returned nan values in its 0th output" in text
    assert "root = np.sqrt(x)" in text and "(variable root)" in text
    assert re.search(r"test_autograd\.py:\d+", text)


def test_an_error_in_a_rule_names_the_line_of_its_forward() -> None:
    class Fails(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            raise KeyError("mistake")

    with detect_anomaly():
        y = Fails.apply(leaf(1.0))
        with pytest.raises(KeyError, match="mistake") as caught:
            y.backward()
    assert "y = Fails.apply(leaf(1.0))" in caught.value.__notes__[0]


def test_anomaly_detection_is_switched_back() -> None:
    @detect_anomaly()
    def on() -> bool:
        return autograd.is_anomaly_enabled()

    assert on() and not autograd.is_anomaly_enabled()
    with set_detect_anomaly(True):
        assert autograd.is_anomaly_enabled()
        with set_detect_anomaly(False):
            assert not autograd.is_anomaly_enabled()
    set_detect_anomaly(True)
    assert autograd.is_anomaly_enabled()
    set_detect_anomaly(False)
    assert not autograd.is_anomaly_enabled()
    with pytest.raises(ZeroDivisionError), detect_anomaly():
        raise ZeroDivisionError
    assert not autograd.is_anomaly_enabled()


def test_a_backward_without_anomalies_is_the_same() -> None:
    x = leaf(1.0, 2.0)
    with detect_anomaly():
        (x * x).sum().backward()
    assert_is(x.grad, 2.0, 4.0)


# -- Variable -----------------------------------------------------------------------------------


def test_variable_is_a_tensor_and_says_so() -> None:
    with pytest.warns(DeprecationWarning, match=r"tg.tensor") as caught:
        x = Variable(tg.tensor([1.0, 2.0]), requires_grad=True)
    assert caught[0].filename == __file__
    assert type(x) is tg.Tensor and isinstance(x, Variable) and x.requires_grad
    with pytest.warns(DeprecationWarning):
        data = np.array([1.0])
        shared = Variable(data)
    data[0] = 5.0
    assert_is(shared, 5.0)
    assert not shared.requires_grad and not isinstance(data, Variable)


def test_volatile_only_warns() -> None:
    with pytest.warns(UserWarning, match=r"no_grad\(\)"), pytest.warns(DeprecationWarning):
        a = Variable(tg.tensor([1.0]), volatile=True)
    with pytest.warns(DeprecationWarning):
        b = Variable(tg.tensor([2.0]), requires_grad=True)
    (a + b).backward()
    assert_is(b.grad, 1.0)


# -- the profiler -------------------------------------------------------------------------------

COLUMNS = [
    "Name",
    "Self CPU total %",
    "Self CPU total",
    "CPU total %",
    "CPU total",
    "CPU time avg",
    "Number of Calls",
]


def table_of(text: str) -> tuple[list[str], dict[str, list[str]]]:
    """The column titles and the rows by name."""
    split = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    start = next(i for i, cells in enumerate(split) if cells[0] == "Name")
    end = next(i for i in range(start + 2, len(split)) if split[i][0].startswith("---"))
    return split[start], {cells[0]: cells for cells in split[start + 2 : end]}


def test_profile_shows_ops_and_the_backward() -> None:
    x = tg.tensor([[2.0]], requires_grad=True)
    for _ in range(3):  # a backward that would run compiled is seen as well
        with profile() as prof:
            y = x**2
            y.backward()
    assert [e.name for e in prof.function_events] == [
        "pow",
        "GraphRoot",
        "PowBackward0",
        "AccumulateGrad",
        "add",
    ]
    titles, rows = table_of(str(prof))
    assert titles == COLUMNS
    for name in ("pow", "PowBackward0", "AccumulateGrad"):
        _, self_share, self_time, share, time, average, calls = rows[name]
        assert re.fullmatch(r"\d+\.\d\d%", self_share) and re.fullmatch(r"\d+\.\d\d%", share)
        assert all(re.fullmatch(r"\d+\.\d{3}(us|ms|s)", t) for t in (self_time, time, average))
        assert calls == "1"
    assert re.search(r"Self CPU time total: \d+\.\d{3}(us|ms|s)", str(prof))


def test_profile_of_nothing_and_twice() -> None:
    with profile(enabled=False) as prof:
        leaf(1.0) * 2
    with pytest.raises(RuntimeError, match="has not run"):
        _ = prof.function_events
    with profile() as prof:
        pass
    assert str(prof) == ""
    with pytest.raises(RuntimeError, match="make another"), prof:
        pass
    with pytest.warns(UserWarning, match="only CPU"):
        profile(use_cuda=True)


def test_averages_sorting_and_totals() -> None:
    x = leaf(1.0, 2.0)
    with profile() as prof:
        for _ in range(3):
            x * 2
        x + 1
    averages = prof.key_averages()
    assert [(e.key, e.count) for e in averages] == [("mul", 3), ("add", 1)]
    by_count = averages.table(sort_by="count", row_limit=1)
    assert list(table_of(by_count)[1]) == ["mul"]
    assert averages.table(header="a header").splitlines()[1] == "a header"
    with pytest.raises(TypeError, match="cpu_time_total"):
        averages.table(sort_by="colour")
    total = prof.total_average()
    assert total.count == 4
    assert total.cpu_time_total == pytest.approx(sum(e.cpu_time_total for e in averages))
    assert total.cpu_time_total == pytest.approx(prof.self_cpu_time_total)
    shares = [float(row[1].rstrip("%")) for row in table_of(averages.table())[1].values()]
    assert sum(shares) == pytest.approx(100.0, abs=0.1)


def test_named_blocks_have_self_time_without_their_children() -> None:
    x = leaf(1.0)

    @record_function("inner")
    def inner() -> Any:
        return x * 2

    with profile() as prof, record_function("outer"):
        inner()
        inner()
    outer, first, product = prof.function_events[:3]
    assert [outer.name, first.name, product.name] == ["outer", "inner", "mul"]
    assert outer.self_cpu_time_total <= outer.cpu_time_total - first.cpu_time_total
    assert [c.name for c in outer.cpu_children] == ["inner", "inner"]
    top = prof.function_events.table(top_level_events_only=True)
    assert list(table_of(top)[1]) == ["outer"]
    with record_function("outside of any profile"):
        inner()


def test_shapes_and_memory() -> None:
    x = tg.tensor(np.ones((2, 3)), requires_grad=True)
    with profile(record_shapes=True, profile_memory=True) as prof:
        (x @ np.ones((3, 4)) * 2).sum().backward()
    titles, _ = table_of(str(prof))
    assert titles == [*COLUMNS[:-1], "CPU Mem", "Self CPU Mem", "Number of Calls", "Input Shapes"]
    events = {e.name: e for e in prof.function_events}
    assert events["matmul"].input_shapes == ([2, 3], [3, 4])
    assert events["matmul"].self_cpu_memory_usage == 2 * 4 * 8
    grouped = prof.key_averages(group_by_input_shape=True)
    assert "[[2, 3], [3, 4]]" in grouped.table(sort_by="self_cpu_memory_usage")


def test_chrome_trace(tmp_path: Path) -> None:
    x = leaf(1.0)
    with profile(record_shapes=True) as prof, record_function("step"):
        (x * 2).backward()
    prof.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {"step", "mul", "MulBackward0"} <= {e["name"] for e in events}
    assert all(e["ph"] == "X" and e["dur"] >= 0 for e in events)
    step, product = events[0], events[1]
    assert step["ts"] <= product["ts"]
    assert product["ts"] + product["dur"] <= step["ts"] + step["dur"]


def test_profiles_nest_and_are_of_their_thread() -> None:
    x = leaf(1.0)

    def elsewhere() -> None:
        x - 1

    with profile() as outer:
        x * 2
        with profile() as inner:
            x + 1
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    x / 2
    assert [e.name for e in outer.function_events] == ["mul", "add"]
    assert [e.name for e in inner.function_events] == ["add"]


def test_a_profile_ends_when_the_body_fails() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(ValueError), profile() as prof:
        x + np.ones(3)
    assert [e.name for e in prof.function_events] == ["add"]
    x * 2
    assert len(prof.function_events) == 1


def test_functions_of_the_user_are_events() -> None:
    x = leaf(1.0)
    with profile() as prof:
        Exp.apply(x).backward()
    names = [e.name for e in prof.function_events]
    assert names[:2] == ["Exp", "exp"] and "ExpBackward" in names


# -- modes --------------------------------------------------------------------------------------


def recorded() -> bool:
    return (leaf(1.0) * 2).requires_grad


def test_modes_as_contexts() -> None:
    assert is_grad_enabled() and recorded()
    with no_grad():
        assert not is_grad_enabled() and not recorded()
        with enable_grad():
            assert recorded()
        assert not recorded()
        assert leaf(1.0).requires_grad
    with inference_mode():
        assert not recorded()
    with inference_mode(False):
        assert recorded()
    with pytest.raises(ZeroDivisionError), no_grad():
        raise ZeroDivisionError
    assert recorded()


def test_set_grad_enabled_as_call_context_and_decorator() -> None:
    set_grad_enabled(False)
    assert not recorded()
    set_grad_enabled(True)
    assert recorded()
    with set_grad_enabled(False):
        assert not recorded()
        with set_grad_enabled(True):
            assert recorded()
        assert not recorded()
    assert recorded()
    decorated = set_grad_enabled(False)(recorded)
    assert recorded() and not decorated()


@pytest.mark.parametrize("mode", [no_grad, no_grad(), inference_mode(), set_grad_enabled])
def test_modes_as_decorators(mode: Any) -> None:
    decorate = mode(False) if mode is set_grad_enabled else mode

    @decorate
    def inside(n: int) -> bool:
        """Its words."""
        return recorded() if n == 0 else inside(n - 1)

    assert inside.__doc__ == "Its words."
    assert not inside(2) and recorded()


def test_a_decorated_generator_has_the_mode_only_while_it_runs() -> None:
    events = []

    @no_grad()
    def numbers() -> Iterator[Any]:
        try:
            got = yield recorded()
            events.append(got)
            try:
                yield recorded()
            except KeyError:
                events.append("thrown")
                yield recorded()
            yield recorded()
        finally:
            events.append(("closed", is_grad_enabled()))

    source: Any = numbers()
    assert next(source) is False and recorded()
    assert source.send("sent") is False and recorded()
    assert source.throw(KeyError()) is False and recorded()
    source.close()
    assert events == ["sent", "thrown", ("closed", False)] and recorded()

    @no_grad()
    def returns() -> Iterator[int]:
        yield 1
        return 2

    source = returns()
    next(source)
    with pytest.raises(StopIteration) as stop:
        next(source)
    assert stop.value.value == 2


def test_modes_are_of_their_thread() -> None:
    found: list[bool] = []
    with no_grad():
        thread = threading.Thread(target=lambda: found.append(recorded()))
        thread.start()
        thread.join()
        assert not recorded()
    assert found == [True]


def test_modes_inside_compiled_functions() -> None:
    def f(x):
        with no_grad():
            c = x * 2 + Scale.apply(x, 3.0)
            with enable_grad():
                d = x * 5
        return (c * x + d + x.detach() * x).sum()

    at = np.array([1.0, 2.0])
    x = tg.tensor(at, requires_grad=True)
    f(x).backward()
    assert_is(x.grad, 11.0, 17.0)
    np.testing.assert_array_equal(tg.grad(f)(at), [11.0, 17.0])


def test_everything_is_where_pytorch_has_it() -> None:
    names = (
        "Function GradcheckError Variable backward detect_anomaly enable_grad grad gradcheck "
        "gradgradcheck inference_mode no_grad profiler set_detect_anomaly set_grad_enabled"
    )
    for name in names.split():
        assert getattr(tg.autograd, name) is not None
        assert name in dir(tg.autograd)
    assert callable(tg.autograd.gradcheck)
    with pytest.raises(AttributeError, match="nothing_like_this"):
        _ = tg.autograd.nothing_like_this


@pytest.mark.parametrize("lengths", [(4000, 4000, 4000, 4000), (3, 3, 3, 4000, 10_000, 3)])
def test_compiled_backwards_read_large_arrays_where_they_are_kept(lengths) -> None:
    """The node of `sum` keeps only the shape of a large operand, that of `sqrt` its result."""
    for n in lengths:
        at = np.linspace(1.0, 2.0, n)
        x = tg.tensor(at, requires_grad=True)
        np.sum(np.sqrt(x * x + 1.0)).backward()
        np.testing.assert_allclose(array(x.grad), at / np.sqrt(at * at + 1.0), rtol=1e-14)


def test_hooks_of_nodes_see_zeros_where_a_branch_was_not_taken():
    """And what they do not replace keeps the mask: 0 * inf is nothing's gradient."""

    def roots(hook):
        x = tg.tensor(np.array([1.0, 0.0, -2.0]), requires_grad=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            root = tg.sqrt(x)
            root.grad_fn.register_hook(hook)
            tg.sum(tg.where(x > 0, root * tg.exp(x), x * 2.0)).backward()
        return x.grad.tolist()

    seen = []
    e = float(np.exp(1.0))
    assert roots(lambda given, ct: seen.append((given, ct))) == [0.5 * e + e, 2.0, 2.0]
    ((given,), (ct,)) = seen[0]
    assert given.tolist() == [0.5 * e, 0.0, 0.0] and ct.tolist() == [e, 0.0, 0.0]
    assert roots(lambda given, ct: (tg.ones(3),)) == [1.0 + e, 3.0, 3.0]


def test_detach_in_place_ends_a_history_that_others_keep():
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3.0
    z = y * y
    assert y.detach_() is y
    assert y.grad_fn is None and not y.requires_grad
    z.sum().backward()
    assert x.grad.tolist() == [18.0, 36.0]


@pytest.mark.parametrize("compiles", [True, False])
def test_a_function_with_a_rule_takes_arrays(compiles, monkeypatch):
    class Square(tg.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a**2

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad * ctx.saved_tensors[0]

    def total(x):
        return Square.apply(x).sum()

    monkeypatch.setattr(tg.config, "compile", compiles)
    x = np.array([1.0, 2.0])
    assert float(total(x)) == tg.compile(total)(x) == 5.0
    np.testing.assert_array_equal(tg.grad(total)(x), 2 * x)
    np.testing.assert_array_equal(tg.hessian(total)(x), 2 * np.eye(2))
