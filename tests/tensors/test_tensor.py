"""A Tensor from outside: memory, history, nodes, in-place writes, printing, lifetime."""

from __future__ import annotations

import copy
import gc
import operator
import pickle
import re
import sys
import threading
import tracemalloc
import weakref

import numpy as np
import pytest
from checks import assert_same_bits
from hypothesis import given
from hypothesis import strategies as st

import tracegrad as tg
from tracegrad.errors import ConversionError, DTypeError, GradientError, ShapeError
from tracegrad.tape.tape import FREED


def leaf(*values):
    return tg.tensor(values, dtype="float64", requires_grad=True)


def numbers(x):
    return x.detach().tolist()


# -- leaves and memory --------------------------------------------------------------------------


def test_what_is_a_leaf():
    x, plain = leaf(1.0, 2.0), tg.tensor([1.0, 2.0])
    y = x * plain
    assert (x.is_leaf, plain.is_leaf, y.is_leaf) == (True, True, False)
    assert (x.requires_grad, plain.requires_grad, y.requires_grad) == (True, False, True)
    assert (x.grad_fn, plain.grad_fn) == (None, None)


def test_requires_grad_is_assigned():
    x = tg.tensor([1.0])
    x.requires_grad = True
    assert x.requires_grad_(False) is x
    assert not x.requires_grad
    with pytest.raises(GradientError, match="only leaves"):
        (leaf(1.0) * 2).requires_grad = False
    with pytest.raises(DTypeError, match="int64"):
        tg.tensor([1]).requires_grad = True


def test_detach_and_data_share_memory():
    x = leaf(1.0, 2.0)
    y = x * 2
    for shared in (y.detach(), y.data):
        assert not shared.requires_grad
        assert shared.grad_fn is None
        shared[0] = 7.0
        assert numbers(y)[0] == 7.0
        shared[0] = 2.0


def test_a_scalar_shares_memory_with_its_detached_form():
    s = leaf(1.0, 2.0).sum()
    s.detach().add_(1.0)
    assert s.item() == 4.0


def test_data_is_assigned():
    x = leaf(1.0, 2.0)
    x.data = tg.tensor([3.0, 4.0, 5.0])
    assert (x.shape, x.requires_grad, x.is_leaf) == ((3,), True, True)
    (x * x).sum().backward()
    assert numbers(x.grad) == [6.0, 8.0, 10.0]
    with pytest.raises(DTypeError, match="int64"):
        x.data = tg.tensor([1, 2])


def test_new_data_after_the_old_was_saved_is_noticed():
    x = leaf(1.0, 2.0)
    loss = (x * x).sum()
    x.data = tg.tensor([3.0, 4.0])
    with pytest.raises(GradientError, match=r"x\.data"):
        loss.backward()


def test_clone_has_memory_of_its_own_and_a_history():
    x = leaf(1.0, 2.0)
    y = x.clone()
    y.data[0] = 5.0
    assert numbers(x) == [1.0, 2.0]
    y.sum().backward()
    assert numbers(x.grad) == [1.0, 1.0]


def test_tensor_copies_and_as_tensor_shares():
    array = np.array([1.0, 2.0])
    copied, shared, from_numpy = tg.tensor(array), tg.as_tensor(array), tg.from_numpy(array)
    array[0] = 9.0
    assert (numbers(copied)[0], numbers(shared)[0], numbers(from_numpy)[0]) == (1.0, 9.0, 9.0)
    shared[1] = 8.0
    assert array[1] == 8.0
    assert np.shares_memory(shared.numpy(), array)
    assert type(shared.numpy()) is np.ndarray
    assert tg.as_tensor(array, dtype="float32").dtype == np.float32
    existing = tg.tensor([1.0])
    assert tg.as_tensor(existing) is existing


def test_values_leave():
    x = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert x[0, 1].item() == 2.0
    assert 4.0 in x
    assert 5.0 not in x
    assert np.shares_memory(x.numpy(), np.asarray(x))
    with pytest.raises(ConversionError, match="detach"):
        leaf(1.0).numpy()


def test_small_questions():
    x = tg.tensor([[1.0, 2.0, 3.0]])
    assert (x.dim(), x.ndim, x.numel(), x.element_size()) == (2, 2, 3, 8)
    assert (x.is_floating_point(), x.is_complex(), x.is_contiguous()) == (True, False, True)
    assert x.T.shape == x.mT.shape == (3, 1)
    assert x.__array_namespace__() is tg
    wide = tg.tensor(np.arange(6.0).reshape(2, 3)).T
    assert not wide.is_contiguous()
    assert wide.contiguous().is_contiguous()
    assert np.from_dlpack(x).tolist() == [[1.0, 2.0, 3.0]]


# -- dtypes -------------------------------------------------------------------------------------


def test_dtypes_of_data():
    assert tg.tensor([1, 2]).dtype == np.int64
    assert tg.tensor([1.0]).dtype == np.float64
    assert tg.Tensor([1, 2]).dtype == np.float64
    assert tg.tensor([1, 2], requires_grad=True).dtype == np.float64
    assert tg.tensor(np.float32([1.0])).dtype == np.float32
    with pytest.raises(DTypeError, match="numbers"):
        tg.tensor(["a"])


def test_conversions():
    x = tg.tensor([1.5, -2.5])
    made = {
        x.float(): "float32",
        x.double(): "float64",
        x.long(): "int64",
        x.int(): "int32",
        x.short(): "int16",
        x.bool(): "bool",
        x.to(tg.float32): "float32",
        x.to("int64"): "int64",
        x.to(dtype=tg.long): "int64",
        x.type(tg.float32): "float32",
        x.type_as(tg.tensor([1])): "int64",
    }
    assert all(y.dtype == name for y, name in made.items())
    assert numbers(x.long()) == [1, -2]
    assert x.to("float64") is x
    assert x.to("float64", copy=True) is not x
    assert x.type() == "tracegrad.DoubleTensor"


def test_conversions_are_differentiable():
    x = leaf(1.0, 2.0)
    (x.float() * 3).sum().backward()
    assert x.grad.dtype == np.float64
    assert numbers(x.grad) == [3.0, 3.0]


def test_dtype_names():
    assert tg.float is tg.float32
    assert tg.double is tg.float64
    assert (tg.int, tg.long, tg.short) == (np.int32, np.int64, np.int16)


@pytest.fixture
def single_precision():
    tg.set_default_dtype(tg.float32)
    yield
    tg.set_default_dtype(tg.float64)


@pytest.mark.usefixtures("single_precision")
@pytest.mark.parametrize("dtype", [np.float32, "float32", np.dtype("float32"), tg.float32])
def test_asarray_takes_every_name_of_a_dtype(dtype):
    x = tg.tensor([1.0, 2.0])
    assert tg.asarray(x, dtype=dtype).dtype == tg.float32
    assert tg.asarray([x[0], 3.0], dtype=dtype).dtype == tg.float32


@pytest.mark.usefixtures("single_precision")
def test_default_dtype():
    assert tg.get_default_dtype() == np.float32
    assert tg.tensor([1.0]).dtype == np.float32
    assert tg.Tensor([1]).dtype == np.float32
    assert tg.tensor([1 + 2j]).dtype == np.complex64
    assert tg.tensor(np.ones(2)).dtype == np.float64
    assert repr(tg.tensor([1.0])) == "tensor([1.])"
    assert repr(tg.tensor(np.ones(1))) == "tensor([1.], dtype=float64)"


def test_default_dtype_is_a_float():
    with pytest.raises(DTypeError, match="float32 or float64"):
        tg.set_default_dtype("int64")


# -- gradients ----------------------------------------------------------------------------------


def test_grad_of_a_result_is_none_and_says_why():
    x = leaf(2.0)
    y = x * 3
    y.backward()
    with pytest.warns(UserWarning, match="retain_grad"):
        assert y.grad is None
    assert numbers(x.grad) == [3.0]


@pytest.mark.filterwarnings("error")
def test_a_retained_gradient_is_kept():
    x = leaf(2.0)
    y = x * 3
    assert not y.retains_grad
    y.retain_grad()
    assert y.retains_grad
    assert y.grad is None
    (y * y).backward()
    assert numbers(y.grad) == [12.0]
    assert y.retains_grad
    assert (x.retains_grad, tg.tensor([1.0]).grad) == (False, None)


def test_grad_is_assigned():
    x = leaf(1.0, 2.0)
    x.grad = tg.tensor([5.0, 5.0])
    (x * 2).sum().backward()
    assert numbers(x.grad) == [7.0, 7.0]
    del x.grad
    assert x.grad is None
    with pytest.raises(ShapeError, match=r"\(3,\)"):
        x.grad = tg.tensor([1.0, 2.0, 3.0])
    with pytest.raises(DTypeError, match="Tensor"):
        x.grad = [1.0, 2.0]


def test_backward_keeps_the_graph_for_create_graph():
    x = leaf(2.0)
    y = x**3
    y.backward(create_graph=True)
    y.backward()
    assert numbers(x.grad) == [24.0]


def test_zeroing_a_gradient_in_place():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    gradient = x.grad
    x.grad.data.zero_()
    assert numbers(gradient) == [0.0, 0.0]
    s = tg.tensor(3.0, requires_grad=True)
    (s * s).backward()
    s.grad.zero_()
    assert s.grad.item() == 0.0


# -- nodes --------------------------------------------------------------------------------------

NAMED = {
    "AbsBackward0": abs,
    "AddBackward0": lambda x: x + 1,
    "ClampBackward0": lambda x: tg.clip(x, 0.0, 1.0),
    "CloneBackward0": lambda x: x.clone(),
    "DivBackward0": lambda x: x / 2,
    "DotBackward0": lambda x: x @ x,
    "ExpBackward0": lambda x: tg.exp(x),
    "LogBackward0": lambda x: tg.log(x),
    "MeanBackward0": lambda x: x.mean(),
    "MmBackward0": lambda x: x.reshape(1, -1) @ x.reshape(-1, 1),
    "MulBackward0": lambda x: x * 2,
    "NegBackward0": lambda x: -x,
    "PowBackward0": lambda x: x**3,
    "PowBackward1": lambda x: x**x,
    "ReluBackward0": lambda x: tg.relu(x),
    "SelectBackward0": lambda x: x[0],
    "SigmoidBackward0": lambda x: tg.sigmoid(x),
    "SliceBackward0": lambda x: x[1:],
    "SubBackward0": lambda x: 1 - x,
    "SumBackward0": lambda x: x.sum(),
    "SumBackward1": lambda x: x.sum(axis=0),
    "TanhBackward0": lambda x: tg.tanh(x),
    "ToCopyBackward0": lambda x: x.float(),
    "ViewBackward0": lambda x: x.reshape(1, -1),
    "WhereBackward0": lambda x: tg.where(x > 1, x, 0.0),
}


@pytest.mark.parametrize("name", NAMED)
def test_nodes_are_named_after_operations(name):
    node = NAMED[name](leaf(1.0, 2.0)).grad_fn
    assert type(node).__name__ == name == node.name()
    assert re.fullmatch(rf"<{name} object at 0x[0-9a-f]+>", repr(node))


def test_next_functions_are_the_nodes_of_the_operands():
    x, b = leaf(1.0), tg.tensor([2.0])
    y = 2 * x
    z = y + b
    assert z.grad_fn is z.grad_fn
    assert z.grad_fn.next_functions[0][0] is y.grad_fn
    assert z.grad_fn.next_functions[1] == (None, 0)
    ((end, index),) = y.grad_fn.next_functions
    assert type(end).__name__ == "AccumulateGrad"
    assert (end.variable is x, index, end.next_functions) == (True, 0, ())
    assert (x * 3).grad_fn.next_functions[0][0] is end


def test_an_output_of_several_knows_its_index():
    parts = tg.split(leaf(1.0, 2.0, 3.0), 3)
    node, index = (parts[2] * 2).grad_fn.next_functions[0]
    assert (node is parts[0].grad_fn, index) == (True, 2)


def test_saved_values():
    x = leaf(1.0, 2.0)
    cube, product, e = x**3, x * x.detach(), tg.exp(x)
    assert cube.grad_fn._saved_exponent == 3
    assert cube.grad_fn._saved_self is x
    assert numbers(product.grad_fn._saved_other) == [1.0, 2.0]
    assert numbers(e.grad_fn._saved_result) == numbers(e)
    assert {"_saved_self", "_saved_exponent"} <= set(dir(cube.grad_fn))
    assert "_saved_self" not in dir(e.grad_fn)
    with pytest.raises(AttributeError, match="_saved_result"):
        e.grad_fn._saved_self  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute"):
        e.grad_fn.anything  # noqa: B018
    e.sum().backward()
    with pytest.raises(GradientError, match="retain_graph"):
        e.grad_fn._saved_result  # noqa: B018


def test_saved_values_have_a_history():
    x = leaf(2.0)
    y = x * x
    saved = (y * y).grad_fn._saved_self
    saved.backward()
    assert numbers(x.grad) == [4.0]


def test_metadata_lives_with_the_node():
    y = leaf(1.0) * 2
    y.grad_fn.metadata["note"] = 1
    gc.collect()
    assert y.grad_fn.metadata == {"note": 1}


def test_node_hooks():
    seen = []
    x = leaf(3.0)
    y = x * 2
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
    end = y.grad_fn.next_functions[0][0]
    handle = end.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
    y.backward()
    ((given, *_), (received,)), (none, (gradient,)) = seen
    assert (numbers(given), numbers(received), none) == ([2.0], [1.0], ())
    assert numbers(gradient) == [2.0]
    handle.remove()


def test_a_node_is_called_with_a_gradient():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    ct = tg.tensor([1.0, 10.0])
    assert numbers(tg.exp(x).grad_fn(ct)) == (np.exp([1.0, 2.0]) * [1.0, 10.0]).tolist()
    of_x, of_w = (x * w).grad_fn(ct)
    assert (numbers(of_x), numbers(of_w)) == ([3.0, 40.0], [1.0, 20.0])


# -- writes without history ---------------------------------------------------------------------

IN_PLACE = {
    "add_": ((2.0,), lambda x: x + 2.0),
    "sub_": ((2.0,), lambda x: x - 2.0),
    "mul_": ((2.0,), lambda x: x * 2.0),
    "div_": ((2.0,), lambda x: x / 2.0),
    "pow_": ((2,), lambda x: x * x),
    "neg_": ((), lambda x: -x),
    "abs_": ((), np.abs),
    "exp_": ((), np.exp),
    "log_": ((), np.log),
    "sqrt_": ((), np.sqrt),
    "sin_": ((), np.sin),
    "tanh_": ((), np.tanh),
    "floor_": ((), np.floor),
    "reciprocal_": ((), np.reciprocal),
    "remainder_": ((1.5,), lambda x: x % 1.5),
    "maximum_": ((1.0,), lambda x: np.maximum(x, 1.0)),
    "sigmoid_": ((), lambda x: 1.0 / (1.0 + np.exp(-x))),
    "relu_": ((), lambda x: np.maximum(x, 0)),
    "clamp_": ((1.0, 2.0), lambda x: np.clip(x, 1.0, 2.0)),
    "clip_": ((1.0, 2.0), lambda x: np.clip(x, 1.0, 2.0)),
    "clamp_min_": ((1.0,), lambda x: np.maximum(x, 1.0)),
    "clamp_max_": ((1.0,), lambda x: np.minimum(x, 1.0)),
    "fill_": ((5.0,), lambda x: np.full_like(x, 5.0)),
    "zero_": ((), np.zeros_like),
    "copy_": (([4.0, 5.0, 6.0],), lambda x: np.array([4.0, 5.0, 6.0])),
    "gt_": ((1.0,), lambda x: (x > 1.0).astype(float)),
    "rsqrt_": ((), lambda x: 1.0 / np.sqrt(x)),
    "lerp_": ((3.0, 0.5), lambda x: x + 0.5 * (3.0 - x)),
    "masked_fill_": (([True, False, True], 0.0), lambda x: np.array([0.0, x[1], 0.0])),
    "addcmul_": ((2.0, 3.0), lambda x: x + 6.0),
    "addcdiv_": ((3.0, 2.0), lambda x: x + 1.5),
}


def _arguments(name):
    return [tg.tensor(a) if isinstance(a, list) else a for a in IN_PLACE[name][0]]


@pytest.mark.parametrize("name", IN_PLACE)
def test_methods_write_the_memory(name):
    start = np.array([0.5, 1.25, 2.5])
    x = tg.tensor(start)
    memory, view = x.numpy(), x[1:]
    assert getattr(x, name)(*_arguments(name)) is x
    expected = IN_PLACE[name][1](start)
    np.testing.assert_allclose(memory, expected, rtol=1e-15)
    assert np.shares_memory(x.numpy(), memory)
    assert numbers(view) == memory[1:].tolist()
    assert x._version == 1


@pytest.mark.parametrize("name", [name for name in IN_PLACE if name not in ("floor_", "gt_")])
def test_recorded_methods_equal_the_memory_and_the_functional_form(name):
    start = np.array([0.5, 1.25, 2.5])
    plain = tg.tensor(start)
    getattr(plain, name)(*_arguments(name))
    x = tg.tensor(start, requires_grad=True)
    y = x * 1.0
    assert getattr(y, name)(*_arguments(name)) is y
    assert_same_bits(y.detach().numpy(), plain.numpy())
    (y * y).sum().backward()
    step = 1e-6
    differences = [
        (np.sum(IN_PLACE[name][1](start + d) ** 2) - np.sum(IN_PLACE[name][1](start - d) ** 2))
        / (2 * step)
        for d in step * np.eye(3)
    ]
    np.testing.assert_allclose(x.grad.numpy(), differences, rtol=1e-5, atol=1e-7)


def test_operators_write_the_memory():
    x = tg.tensor([8.0, 9.0])
    memory = x.numpy()
    same = x
    x += 1
    x -= tg.tensor([1.0, 2.0])
    x *= np.array([2.0, 2.0])
    x /= 4
    x **= 2
    x //= 1
    x %= 7
    assert x is same
    assert memory.tolist() == [2.0, 2.0]
    counts = tg.tensor([6, 5])
    counts &= 4
    counts |= 1
    counts ^= 3
    counts <<= 2
    counts >>= 1
    assert counts.tolist() == [12, 12]
    square = tg.tensor([[1.0, 1.0], [0.0, 1.0]])
    square @= square
    assert square.tolist() == [[1.0, 2.0], [0.0, 1.0]]


def test_items_are_written_into_the_memory():
    x = tg.tensor(np.zeros((3, 3)))
    memory, row = x.numpy(), x[1]
    x[1] = 2.0
    x[:, 0] = tg.tensor([5.0, 6.0, 7.0])
    x[tg.tensor([True, False, False])] = -1.0
    x[tg.tensor([2]), 1] = 9.0
    row += 10.0
    assert memory.tolist() == [[-1, -1, -1], [16, 12, 12], [7, 9, 0]]
    with pytest.raises(IndexError):
        x[5] = 1.0
    with pytest.raises((ShapeError, IndexError)):
        x[0] = tg.tensor([1.0, 2.0])


def test_one_element_is_a_view():
    x = tg.tensor([1.0, 2.0, 3.0])
    y = x[0]
    y += 10
    x[1].zero_()
    assert numbers(x) == [11.0, 0.0, 3.0]
    w = leaf(1.0, 2.0)
    with tg.no_grad():
        w[1].fill_(5.0)
        w[np.int64(0)].add_(1.0)
        w[tg.tensor(0)].mul_(2.0)
    assert numbers(w) == [4.0, 5.0]
    m = tg.zeros((2, 2))
    for row in m:
        for element in row:
            element.add_(1.0)
    assert numbers(m) == [[1.0, 1.0], [1.0, 1.0]]


def test_what_does_not_fit_is_refused():
    x = tg.tensor([1.0, 2.0])
    with pytest.raises(ShapeError, match="shape"):
        x += tg.tensor([[1.0, 2.0], [3.0, 4.0]])
    counts = tg.tensor([1, 2])
    with pytest.raises(DTypeError):
        counts += 0.5
    with pytest.raises(DTypeError, match="complex"):
        x[0] = 1j
    with pytest.raises(TypeError):
        x += "text"
    y = leaf(1.0, 2.0) * 1
    with pytest.raises(ShapeError, match=r"\(2, 2\)"):
        y += tg.tensor([[1.0, 2.0], [3.0, 4.0]])
    narrow = leaf(1.0).float()
    narrow += tg.tensor([1.0])
    assert narrow.dtype == np.float32


def test_random_numbers_in_place():
    tg.manual_seed(3)
    x = tg.tensor(np.zeros(2000))
    assert abs(x.normal_(5.0, 0.1).mean().item() - 5.0) < 0.02
    assert 2.0 <= x.uniform_(2.0, 3.0).min().item() <= x.max().item() <= 3.0
    assert set(x.bernoulli_(0.5).tolist()) == {0.0, 1.0}
    assert x.exponential_(2.0).min().item() >= 0.0
    tg.manual_seed(3)
    first = tg.tensor(np.zeros(3)).normal_()
    tg.manual_seed(3)
    assert numbers(tg.tensor(np.zeros(3)).normal_()) == numbers(first)


def test_a_leaf_that_requires_grad_is_not_changed_in_place():
    def changed_by(change):
        x = leaf(1.0, 2.0)
        with pytest.raises(GradientError, match=r"leaf Tensor that requires grad.*no_grad"):
            change(x)
        assert numbers(x) == [1.0, 2.0]

    def add(x):
        x += 1

    def set_item(x):
        x[0] = 1.0

    for change in (add, set_item, lambda x: x.mul_(2), lambda x: x.zero_(), lambda x: x.normal_()):
        changed_by(change)


def test_without_recording_a_leaf_is_changed():
    x = leaf(1.0, 2.0)
    with tg.no_grad():
        x -= 0.5
        x[0] = 9.0
    assert x.requires_grad
    assert numbers(x) == [9.0, 1.5]
    (x * x).sum().backward()
    assert numbers(x.grad) == [18.0, 3.0]


def test_a_read_only_view_is_not_changed():
    x = tg.broadcast_to(tg.tensor([1.0, 2.0]), (3, 2))
    with pytest.raises(GradientError, match=r"read-only.*copy\(\)"):
        x += 1


def test_versions_count_writes():
    x = tg.tensor([1.0, 2.0])
    x += 1
    x[0] = 3.0
    view = x[1:]
    view.add_(1)
    assert (x._version, view._version, x.detach()._version) == (3, 3, 3)
    y = leaf(1.0) * 2
    y += 1
    y *= 2
    assert y._version == 2


# -- writes that are recorded -------------------------------------------------------------------


def test_what_was_saved_stays_as_it_was():
    x = leaf(0.5, 1.0)
    y = tg.exp(x)  # its gradient needs the result
    z = y * y  # its gradient needs y
    y += 1
    y[0] = z[1]
    (y * z).sum().backward()

    def functional(x):
        y = tg.exp(x)
        z = y * y
        return (tg.stack([z[1], y[1] + 1]) * z).sum()

    x2 = leaf(0.5, 1.0)
    functional(x2).backward()
    np.testing.assert_allclose(numbers(x.grad), numbers(x2.grad), rtol=1e-15)


def test_detached_forms_follow_a_recorded_write():
    x = leaf(1.0, 2.0)
    y = x * 1.0
    before, data = y.detach(), y.data
    y *= 3
    y[0] = 7.0
    assert numbers(before) == numbers(data) == numbers(y) == [7.0, 6.0]
    data.add_(1)
    assert numbers(y) == [8.0, 7.0]


def test_a_buffer_is_filled():
    x, a = leaf(1.0, 2.0, 3.0), leaf(0.5)
    y = tg.tensor(np.zeros(3))
    y[0] = x[0]
    for i in range(1, 3):
        y[i] = tg.sin(y[i - 1]) * a[0] + x[i]
    y[y > 3] = 0.0
    y.sum().backward()

    def reference(x, a):
        y = np.zeros(3, complex)
        y[0] = x[0]
        for i in range(1, 3):
            y[i] = np.sin(y[i - 1]) * a[0] + x[i]
        return np.where(y.real > 3, 0.0, y).sum()

    def derivatives(values, function):
        """By complex steps, which are exact to rounding: the imaginary part is the derivative."""
        steps = values + 1e-30j * np.eye(len(values))
        return [function(step).imag / 1e-30 for step in steps]

    expected_x = derivatives(np.array([1.0, 2.0, 3.0]), lambda x: reference(x, [0.5]))
    expected_a = derivatives(np.array([0.5]), lambda a: reference([1.0, 2.0, 3.0], a))
    np.testing.assert_allclose(numbers(x.grad), expected_x, rtol=1e-14)
    np.testing.assert_allclose(numbers(a.grad), expected_a, rtol=1e-14)


def test_filling_a_buffer_needs_memory_for_one_buffer():
    """Rows that the graph keeps do not keep buffers, and writes do not copy them."""
    steps, width = 200, 64
    w = tg.tensor(np.eye(width) * 0.5, requires_grad=True)
    h = tg.tensor(np.zeros((steps, width)))
    h[0] = 1.0
    h[1] = tg.tanh(h[0] @ w)
    buffer = id(h._array)
    tracemalloc.start()
    for t in range(2, steps):
        h[t] = tg.tanh(h[t - 1] @ w)
        assert id(h._array) == buffer
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * h.nbytes  # every write a copy would be 200 times
    h.sum().backward()
    rows, states = tg.tensor(np.ones(width)), []
    w2 = tg.tensor(np.eye(width) * 0.5, requires_grad=True)
    for _ in range(1, steps):
        rows = tg.tanh(rows @ w2)
        states.append(rows)
    tg.stack(states).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), w2.grad.numpy(), rtol=1e-12)


def test_retain_grad_is_of_the_value_after_the_write():
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    y *= 5
    (y * y).backward()
    assert numbers(y.grad) == [60.0]
    assert numbers(x.grad) == [900.0]


def test_an_item_of_a_result_is_added_to():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    y = (x * 2).reshape(2, 2)
    y[0] += x[1]
    y[1, 0] *= 5
    y[:, 1] -= 1
    y.sum().backward()
    assert numbers(x.grad) == [2.0, 4.0, 10.0, 2.0]
    out = tg.tensor(np.zeros((2, 2)))
    out[1] += x[:2]
    out.sum().backward()
    assert numbers(x.grad) == [3.0, 5.0, 10.0, 2.0]


def test_a_write_to_a_view_is_a_write_to_the_whole():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    y = (x * 2).reshape(2, 2)
    row = y[0]
    row += 1
    row *= x[:2]
    assert numbers(y) == [[3.0, 10.0], [6.0, 8.0]]
    (y * y).sum().backward()  # (x (2x + 1))^2 of the first two, (2x)^2 of the others
    assert numbers(x.grad) == [2 * 3.0 * 5.0, 2 * 10.0 * 9.0, 24.0, 32.0]
    out = tg.tensor(np.zeros((2, 2)))
    row, other = out[0], out[1]
    row += x[:2]
    assert numbers(out) == [[1.0, 2.0], [0.0, 0.0]] and out.requires_grad
    out[1] = x[2:]
    assert numbers(other) == [3.0, 4.0]
    other *= 2
    x.grad = None
    out.sum().backward()
    assert numbers(x.grad) == [1.0, 1.0, 2.0, 2.0]


def test_a_view_of_a_leaf_is_not_changed():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    for view in (x[:2], x[0], x.reshape(2, 2), x.reshape(2, 2)[1]):
        with pytest.raises(GradientError, match="a view of a leaf Tensor"):
            view *= 2
    with tg.no_grad():
        x[:2].zero_()
    assert numbers(x) == [0.0, 0.0, 3.0, 4.0]


def test_an_element_is_a_view_of_the_whole():
    x = leaf(1.0, 2.0)
    y = x * 2
    for element in (y[0], y[-1], y[np.int64(1)], y.reshape(2, 1)[1, 0], next(iter(y))):
        element += 1.0
    assert numbers(y) == [4.0, 7.0]
    y[0].zero_()
    (y * y).sum().backward()
    assert numbers(x.grad) == [0.0, 28.0]


def test_views_of_views_and_views_that_overlap():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    y = x * 1
    left, right = y[:3], y[1:]
    inner = left[1:]
    inner.mul_(right[:2])
    assert numbers(y) == [1.0, 4.0, 9.0, 4.0]
    assert (numbers(left), numbers(right), numbers(inner)) == (
        [1.0, 4.0, 9.0],
        [4.0, 9.0, 4.0],
        [4.0, 9.0],
    )
    y.mul_(2.0)
    assert numbers(inner) == [8.0, 18.0]
    (inner * right[:2]).sum().backward()
    assert numbers(x.grad) == [0.0, 128.0, 432.0, 0.0]  # 16 x^3


def test_an_element_of_what_is_gone_is_changed():
    x = leaf(1.0, 2.0)
    total = (x * 2)[0]
    total += (x * 3)[1]
    total.backward()
    assert numbers(x.grad) == [2.0, 3.0]


def test_a_part_of_a_filled_buffer_is_written_where_nothing_is_recorded():
    x, y = leaf(1.0, 2.0), tg.zeros((8, 2))
    y[0] = x
    with tg.no_grad():
        y[1].add_(3.0)
        y[2, 1].add_(4.0)
    assert numbers(y)[:3] == [[1.0, 2.0], [3.0, 3.0], [0.0, 4.0]]
    y.sum().backward()
    assert numbers(x.grad) == [1.0, 1.0]


@pytest.mark.parametrize("key", [0, slice(2)], ids=["element", "slice"])
def test_a_view_that_is_changed_elsewhere_changes_the_whole(key):
    """``parts[0] += v`` assigns to ``parts``, and writes to ``y`` as well, as NumPy's slices do."""
    y = leaf(1.0, 2.0, 3.0) * 2
    for parts in ([y[key]], {0: y[key]}):
        parts[0] += 1.0
    y[key] = operator.iadd(y[key], 1.0)
    y[key] += 1.0
    assert numbers(y)[0] == 6.0


def test_a_view_that_nobody_else_sees_is_changed():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    y = (x * 2).reshape(2, 2).T
    y += 1
    y *= y
    y.sum().backward()
    assert numbers(x.grad) == [12.0, 20.0, 28.0, 36.0]


def test_a_write_to_the_whole_is_a_write_to_its_views():
    x = leaf(1.0, 2.0)
    y = x * 3
    view = y[:1]
    y *= 2
    assert numbers(view) == [6.0]
    view.sum().backward()
    assert numbers(x.grad) == [6.0, 0.0]


def test_a_detached_tensor_is_not_given_a_history_behind_the_first():
    x = leaf(1.0)
    y = x * 2
    shared = y.detach()
    with pytest.raises(GradientError, match="detached"):
        shared += x


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(0, 3))
def test_in_place_equals_functional(choices, seed):
    """Any sequence of writes gives what the functions give: values and gradients, bit for bit."""
    rng = np.random.default_rng(seed)
    start, other = rng.normal(size=(2, 3)), rng.normal(size=3)
    kept_in_place, kept = [], []

    def run(x, w, in_place, saved):
        y = x * 1.0
        for choice in choices:
            match choice:
                case 0:
                    y = y.add_(w) if in_place else y + w
                case 1:
                    y = y.mul_(w) if in_place else y * w
                case 2:
                    y = y.tanh_() if in_place else tg.tanh(y)
                case 3:
                    y = y.sub_(0.5) if in_place else y - 0.5
                case 4:
                    saved.append(tg.sin(y))
                case 5:
                    saved.append(y[0] * w)
                case 6 if in_place:
                    y[1] = w * y[0]
                case 6:
                    y = tg.stack([y[0], w * y[0]])
                case 7 if in_place:
                    y[:, 0] *= 2.0
                case 7:
                    y = y * tg.tensor([2.0, 1.0, 1.0])
                case 8 if in_place:
                    y.exp_().clamp_(max=3.0)
                case 8:
                    y = tg.clip(tg.exp(y), max=3.0)
                case 9:
                    saved.append(y.detach() * w)
        total = (y * y).sum()
        for z in saved:
            total = total + z.sum()
        return total

    results = []
    for in_place, saved in ((True, kept_in_place), (False, kept)):
        x = tg.tensor(start, requires_grad=True)
        w = tg.tensor(other, requires_grad=True)
        loss = run(x, w, in_place, saved)
        loss.backward()
        gradients = [None if t.grad is None else t.grad.numpy() for t in (x, w)]
        results.append([loss.item(), *gradients])
    for a, b in zip(*results, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-12)


# -- what was changed after it was saved --------------------------------------------------------


def test_a_change_of_a_saved_result_names_who_and_where():
    x = leaf(1.0, 2.0)
    y = tg.exp(x)
    shared = y.detach()
    shared += 1
    with pytest.raises(GradientError) as raised:
        y.sum().backward()
    message = str(raised.value)
    assert "shared was changed after the backward had saved it" in message
    assert "the result of ExpBackward0, of shape (2,)" in message
    assert re.search(r"test_tensor\.py:\d+  shared \+= 1", message)
    assert "detect_anomaly" in message


def test_under_detect_anomaly_the_line_that_saved_is_known():
    with tg.autograd.detect_anomaly():
        x = leaf(1.0, 2.0)
        y = tg.exp(x)
        y.data.mul_(2.0)
        with pytest.raises(GradientError) as raised:
            y.sum().backward()
    assert re.search(r"y\.data was changed", str(raised.value))
    assert re.search(r"saved at .*test_tensor\.py:\d+  y = tg\.exp\(x\)", str(raised.value))


def test_a_change_of_a_saved_operand():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    loss = (x * w).sum()
    with tg.no_grad():
        w.sub_(0.5)
    with pytest.raises(GradientError, match="operand 1 of MulBackward0"):
        loss.backward()
    constant = tg.tensor([1.0, 2.0])
    loss = (x * constant).sum()
    constant[0] = 5.0
    with pytest.raises(GradientError, match="constant was changed"):
        loss.backward()


def test_a_number_changed_between_two_uses():
    """A result without axes is saved as a number, which stays as it was; both uses cannot hold."""
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    before = y * y
    with tg.no_grad():
        y.add_(1.0)
    with pytest.raises(GradientError, match="y was changed"):
        (before + y * y).backward()
    y = x.sum()
    before = y * 2.0  # its gradient does not need y
    with tg.no_grad():
        y.add_(1.0)
    (before + y * y).backward()
    assert numbers(x.grad) == [10.0, 10.0]


def test_a_change_through_a_view_is_a_change():
    x, base = leaf(1.0, 2.0), tg.tensor(np.ones((2, 2)))
    row = base[1]
    loss = (x * base).sum()
    row += 1
    with pytest.raises(GradientError, match="row was changed"):
        loss.backward()


def test_a_change_of_what_no_rule_reads_is_none_of_its_business():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    for _ in range(3):  # interpreted, compiled, recognised
        x.grad = w.grad = None
        y = x + w
        z = y * w.detach().clone()
        y.data.zero_()
        (z.exp() + y).sum().backward()
        expected = np.exp([12.0, 24.0]) * [3.0, 4.0] + 1
        np.testing.assert_allclose(numbers(x.grad), expected, rtol=1e-14)


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_changes_are_noticed_however_the_backward_runs(rounds):
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    for _ in range(rounds):
        tg.sin(x * w).sum().backward()
    loss = tg.sin(x * w).sum()
    with tg.no_grad():
        w.mul_(2.0)
    with pytest.raises(GradientError, match="changed"):
        loss.backward()
    tg.sin(x * w).sum().backward()


def test_a_graph_older_than_a_write_of_other_memory_runs():
    x, other = leaf(1.0, 2.0), tg.tensor([1.0])
    for _ in range(4):
        x.grad = None
        loss = (x * x).sum()
        other += 1
        loss.backward()
        assert numbers(x.grad) == [2.0, 4.0]


def test_training_in_place():
    x, w = tg.tensor(np.ones((4, 2))), leaf(1.0, -1.0)
    for _ in range(5):
        loss = ((x @ w - 3.0) ** 2).mean()
        loss.backward()
        with tg.no_grad():
            w -= 0.1 * w.grad
            w.grad.zero_()
    assert loss.item() < 1.5


def test_a_numpy_array_changed_after_it_was_saved_is_noticed():
    array = np.array([1.0, 2.0])
    x = leaf(3.0, 4.0)
    shared = tg.as_tensor(array)
    array[0] = 5.0  # before it is used: seen
    loss = (x * shared).sum()
    loss.backward(retain_graph=True)
    assert numbers(x.grad) == [5.0, 2.0]
    array[1] = 7.0
    with pytest.raises(GradientError, match="owner of the NumPy array"):
        loss.backward()
    x.grad = None
    (x * shared).sum().backward()
    assert numbers(x.grad) == [5.0, 7.0]


@pytest.mark.parametrize("size", [3, 20_000])
@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.parametrize(
    "use",
    [
        lambda x, a: (x * a).sum(),
        lambda x, a: (x * a[::1]).sum(),
        lambda x, a: x @ a,
        lambda x, a: (x * a.reshape(-1)).sum(),
        lambda x, a: tg.where(x > 0, x * a, 0.0).sum(),
    ],
)
def test_wherever_a_shared_array_changed(size, place, use):
    array = np.ones(size)
    x = tg.tensor(np.ones(size), requires_grad=True)
    loss = use(x, tg.as_tensor(array))
    array[place] = 2.0
    with pytest.raises(GradientError, match="NumPy array"):
        loss.backward()


def test_a_shared_array_that_moved_around_is_noticed():
    array = np.arange(40_000.0)
    x = tg.tensor(np.ones(40_000), requires_grad=True)
    loss = (x * tg.as_tensor(array)).sum()
    array[:] = array[::-1].copy()
    with pytest.raises(GradientError, match="NumPy array"):
        loss.backward()


def test_a_shared_leaf():
    array = np.array([1.0, 2.0])
    x = tg.from_numpy(array).requires_grad_()
    (x * x).sum().backward()
    assert numbers(x.grad) == [2.0, 4.0]
    with tg.no_grad():
        x += 1
    assert array.tolist() == [2.0, 3.0]
    loss = (x * x).sum()
    array[0] = 0.0
    with pytest.raises(GradientError, match="NumPy array"):
        loss.backward()


def test_a_recorded_write_does_not_go_to_a_shared_array():
    shared = tg.as_tensor(np.zeros(2))
    with pytest.raises(GradientError, match="NumPy array"):
        shared[0] = leaf(1.0)[0]


# -- in functions that are traced ---------------------------------------------------------------


def test_detach_ends_gradients_of_compiled_functions():
    def f(x):
        return (x.detach() * x + x.data * x).sum()

    assert tg.grad(f)(np.array([1.0, 2.0])).tolist() == [2.0, 4.0]


def test_no_grad_ends_gradients_of_compiled_functions():
    def f(x):
        with tg.no_grad():
            y = x * x
        return (y * x).sum()

    assert tg.grad(f)(np.array([1.0, 2.0])).tolist() == [1.0, 4.0]


def test_writes_in_compiled_functions_leave_copies_of_arguments_alone():
    def f(x):
        x = x.copy()
        x += 1.0
        y = x
        y.mul_(2.0)
        y[0] = x[1] * 3.0
        y.clamp_(max=50.0)
        return np.sum(y * x)

    start = np.array([1.0, 2.0])
    value, gradient = tg.value_and_grad(f)(start)
    assert start.tolist() == [1.0, 2.0]
    assert value == 18.0**2 + 6.0**2
    assert gradient.tolist() == [0.0, 2 * 18 * 6 + 2 * 6 * 2]


# -- printing -----------------------------------------------------------------------------------

PRINTED = {
    "tensor([1., 2.])": lambda: tg.tensor([1.0, 2.0]),
    "tensor([1.5000, 2.0000])": lambda: tg.tensor([1.5, 2.0]),
    "tensor(27.)": lambda: tg.tensor(27.0),
    "tensor(0.1235)": lambda: tg.tensor(0.12345678),
    "tensor(3)": lambda: tg.tensor(3),
    "tensor([-2, 10,  0])": lambda: tg.tensor([-2, 10, 0]),
    "tensor([ True, False])": lambda: tg.tensor([True, False]),
    "tensor([ 0., -1.])": lambda: tg.tensor([0.0, -1.0]),
    "tensor([nan, inf, 1.])": lambda: tg.tensor([np.nan, np.inf, 1.0]),
    "tensor([   nan, 1.5000])": lambda: tg.tensor([np.nan, 1.5]),
    "tensor([1.0000e+00, 1.0000e+04])": lambda: tg.tensor([1.0, 1e4]),
    "tensor([1.0000e-05])": lambda: tg.tensor([1e-5]),
    "tensor([1.0000e+09])": lambda: tg.tensor([1e9]),
    "tensor([1.+2.j, 3.-4.j])": lambda: tg.tensor([1 + 2j, 3 - 4j]),
    "tensor([])": lambda: tg.tensor([]),
    "tensor([], dtype=int64)": lambda: tg.tensor([], dtype="int64"),
    "tensor([], size=(0, 3))": lambda: tg.tensor(np.ones((0, 3))),
    "tensor([1.], dtype=float32)": lambda: tg.tensor([1.0], dtype="float32"),
    "tensor([1.], requires_grad=True)": lambda: leaf(1.0),
    "tensor([2.], grad_fn=<MulBackward0>)": lambda: leaf(1.0) * 2,
    "tensor([1.], dtype=float32, grad_fn=<ToCopyBackward0>)": lambda: leaf(1.0).float(),
    "tensor([[1., 2.],\n        [3., 4.]])": lambda: tg.tensor([[1.0, 2.0], [3.0, 4.0]]),
    "tensor([[[1, 2]],\n\n        [[3, 4]]])": lambda: tg.tensor([[[1, 2]], [[3, 4]]]),
    "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])": lambda: tg.tensor(np.arange(2000)),
}


@pytest.mark.parametrize("text", PRINTED)
def test_prints(text):
    assert repr(PRINTED[text]()) == text


def test_large_matrices_are_abbreviated():
    assert repr(tg.tensor(np.zeros((100, 100)))) == (
        "tensor([[0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        ...,\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.]])"
    )


def test_long_rows_are_wrapped():
    assert repr(tg.tensor(np.arange(30.0))) == (
        "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,\n"
        "        14., 15., 16., 17., 18., 19., 20., 21., 22., 23., 24., 25., 26., 27.,\n"
        "        28., 29.])"
    )


def test_format_of_one_number():
    assert f"{tg.tensor(2.0):.3f} {tg.tensor([2.0])}" == "2.000 tensor([2.])"


# -- copies -------------------------------------------------------------------------------------


def test_leaves_are_copied_deeply_and_pickled():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    for again in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert again is not x
        assert (again.requires_grad, again.is_leaf) == (True, True)
        assert numbers(again) == [1.0, 2.0]
        with tg.no_grad():
            again.zero_()
        assert numbers(x) == [1.0, 2.0]
    together = copy.deepcopy([x, x])
    assert together[0] is together[1]
    assert numbers(together[0].grad) == numbers(x.grad)
    assert copy.copy(x).requires_grad


def test_results_are_not_copied_deeply():
    with pytest.raises(GradientError, match="clone"):
        copy.deepcopy(leaf(1.0) * 2)


# -- lifetime -----------------------------------------------------------------------------------


@pytest.fixture
def _no_gc():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_no_gc")
def test_a_graph_goes_with_its_last_tensor():
    x = leaf(1.0, 2.0)
    y = tg.exp(x) * x
    y += 1
    y[0] = x[1]
    z = y.sum()
    nodes = [weakref.ref(z._node), weakref.ref(y._node)]
    del y, z
    assert [node() for node in nodes] == [None, None]


@pytest.mark.usefixtures("_no_gc")
def test_looking_at_a_graph_makes_no_cycle():
    x = leaf(1.0, 2.0)
    y = tg.exp(x) * 2
    node = y.grad_fn
    node.metadata["self"] = 1
    assert node.next_functions[0][0]._saved_result is not None
    end = node.next_functions[0][0].next_functions[0][0]
    refs = [weakref.ref(node), weakref.ref(end), weakref.ref(y._node), weakref.ref(x)]
    assert "ExpBackward0" in repr(node.next_functions)
    del node, end, y
    assert [ref() for ref in refs[:3]] == [None] * 3
    del x
    assert refs[3]() is None


@pytest.mark.usefixtures("_no_gc")
def test_everything_goes_after_a_backward():
    x = leaf(1.0, 2.0)
    for _ in range(4):
        y = tg.sin(x * x)
        alias = y.detach()
        z = y.sum()
        inner = weakref.ref(y._node.parents[0])
        z.backward()
        assert z._node.more is FREED
        refs = [weakref.ref(t) for t in (y, z, alias)]
        del y, z, alias
        assert [ref() for ref in refs] == [None] * 3
        assert inner() is None


@pytest.mark.slow
@pytest.mark.usefixtures("_no_gc")
def test_deep_graphs():
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1.0
    y.backward()
    assert numbers(x.grad) == [1.0]
    y = x
    for _ in range(100_000):
        y = y + 1.0
    first = weakref.ref(y._node)
    del y  # frees the chain from the end on, without a stack as deep as the chain
    assert first() is None


def test_memory_of_a_graph():
    """What 1,000 recorded ops on 3-vectors hold: node, result and the tuples between, no more."""
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2.0
    tracemalloc.start()
    for _ in range(1000):
        y = y * 2.0
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held / 1000 < 600


def test_modes_are_of_their_thread():
    seen = {}

    def run():
        seen["enabled"] = tg.is_grad_enabled()
        seen["recorded"] = (leaf(1.0) * 2).requires_grad

    with tg.no_grad():
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        assert not (leaf(1.0) * 2).requires_grad
    assert seen == {"enabled": True, "recorded": True}


def test_threads_write_and_differentiate_at_once():
    failures = []

    def run(seed):
        rng = np.random.default_rng(seed)
        for _ in range(60):
            start = rng.normal(size=4)
            x = tg.tensor(start, requires_grad=True)
            y = x * 2
            y += x
            y[0] = 0.0
            (y * y).sum().backward()
            expected = 18 * start * [0, 1, 1, 1]
            if not np.allclose(x.grad.numpy(), expected):
                failures.append(seed)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_the_augmented_item_is_recognised_in_bytecode():
    """``y[i] += v`` in the forms that the compiler knows: item, slice, nested, attribute."""

    class Holder:
        pass

    holder = Holder()
    x = leaf(1.0, 2.0, 3.0, 4.0)
    holder.y = (x * 1.0).reshape(2, 2)
    holder.y[0] += x[0]
    holder.y[0:1] *= 2
    holder.y[1][0:1] = x[:1] * 3
    nested = [holder.y]
    nested[0][1, 1] -= x[1]
    holder.y.sum().backward()
    assert numbers(x.grad) == [9.0, 1.0, 0.0, 1.0]


def test_the_augmented_item_is_recognised_under_a_debugger():
    """A debugger that steps through instructions replaces them while it does."""

    def step(frame, event, argument):
        frame.f_trace_opcodes = True
        return step

    def add(y):
        y[0] += 1.0
        y[0:2] += 1.0

    y = leaf(1.0, 2.0) * 2
    before = sys.gettrace()
    sys.settrace(step)
    try:
        add(y)
    finally:
        sys.settrace(before)
    assert numbers(y) == [4.0, 5.0]
