"""What five notebooks about PyTorch's autograd show, with ``tg`` for ``torch``.

Each test is one behaviour of one document. Where a document prints a value, the test has that very
text; where its data are random, the test has the relation that it shows. A comment says where
tracegrad differs on purpose (docs/from_pytorch.md has the table) or where the documents, written
for versions 0.3 to 1.9, differ among themselves: there the youngest one counts.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.autograd import Function, gradcheck

# The documents read `grad` of results to show that it is None; since 1.5 PyTorch warns of it.
pytestmark = pytest.mark.filterwarnings("ignore:grad of a Tensor that is not a leaf")


@pytest.fixture(autouse=True)
def _same_random_numbers() -> None:
    tg.manual_seed(0)


@pytest.fixture
def variable() -> Callable[..., Any]:
    """`tg.autograd.Variable`, which says that it is old and works all the same."""

    def make(*args: Any, **options: Any) -> Any:
        with pytest.warns(DeprecationWarning, match="requires_grad"):
            return tg.autograd.Variable(*args, **options)

    return make


def values(x: Any) -> Any:
    """The numbers of a Tensor as nested lists."""
    return x.detach().tolist()


def assert_equal(x: Any, y: Any) -> None:
    np.testing.assert_allclose(values(x), values(y), rtol=1e-12, atol=0)


def assert_node(node: Any, name: str) -> None:
    """The node is of this operation and prints as in the documents."""
    assert type(node).__name__ == name
    assert node.name() == name
    assert re.fullmatch(rf"<{name} object at 0x[0-9a-f]+>", str(node))


# -- document 0: Variable and the graph (PyTorch 0.4) ---------------------------------------------


def test_doc0_ones_type() -> None:
    ones = tg.ones(3, 4)
    # The document prints 'torch.FloatTensor', float32; tracegrad's default is NumPy's float64.
    assert ones.type() == "tracegrad.DoubleTensor"
    assert ones.dtype == np.float64
    assert ones.shape == (3, 4)


def test_doc0_add_method_prints_sum() -> None:
    a = tg.ones(3, 4, requires_grad=True)
    b = tg.zeros(3, 4)
    c = a.add(b)
    assert repr(c) == (
        "tensor([[1., 1., 1., 1.],\n"
        "        [1., 1., 1., 1.],\n"
        "        [1., 1., 1., 1.]], grad_fn=<AddBackward0>)"
    )


def test_doc0_leaf_flags() -> None:
    a = tg.ones(3, 4, requires_grad=True)
    b = tg.zeros(3, 4)
    c = a.add(b)
    c.sum().backward()
    assert (a.is_leaf, b.is_leaf, c.is_leaf) == (True, True, False)


def test_doc0_requires_grad_spreads() -> None:
    a = tg.ones(3, 4, requires_grad=True)
    b = tg.zeros(3, 4)
    c = a.add(b)
    assert (a.requires_grad, b.requires_grad, c.requires_grad) == (True, False, True)


def test_doc0_gradient_of_result_is_freed() -> None:
    a = tg.ones(3, 4, requires_grad=True)
    c = a.add(tg.zeros(3, 4))
    c.sum().backward()
    with pytest.warns(UserWarning, match="retain_grad"):
        assert c.grad is None


def f(x: Any) -> Any:
    return x**2 * tg.exp(x)


def gradient_of_f(x: Any) -> Any:
    return 2 * x * tg.exp(x) + x**2 * tg.exp(x)


def test_doc0_gradient_equals_formula() -> None:
    x = tg.randn(3, 4, requires_grad=True)
    y = f(x)
    y.backward(tg.ones(y.size()))
    assert_equal(x.grad, gradient_of_f(x))


def test_doc0_value_prints_with_exponents() -> None:
    shown = tg.tensor(
        [
            [1.4094e-01, 1.8928e-01, 8.5175e-02, 4.4587e-01],
            [5.4112e-01, 5.4095e-02, 2.0862e01, 2.4336e-01],
            [6.6231e-04, 7.6863e00, 1.4614e-01, 6.1493e-03],
        ]
    )
    # As printed since 0.4.1, without the blank that 0.4.0 keeps for a sign.
    assert repr(shown) == (
        "tensor([[1.4094e-01, 1.8928e-01, 8.5175e-02, 4.4587e-01],\n"
        "        [5.4112e-01, 5.4095e-02, 2.0862e+01, 2.4336e-01],\n"
        "        [6.6231e-04, 7.6863e+00, 1.4614e-01, 6.1493e-03]])"
    )


def test_doc0_gradient_prints_with_exponents() -> None:
    shown = tg.tensor(
        [
            [-0.4508, -0.4611, 0.7488, -0.2713],
            [0.0107, 0.5706, 43.6660, -0.4519],
            [0.0528, 18.7757, -0.4529, 0.1690],
        ]
    )
    # 0.4.0 prints these without exponents; since 0.4.1 they are used from a factor of 1000 on.
    assert repr(shown) == (
        "tensor([[-4.5080e-01, -4.6110e-01,  7.4880e-01, -2.7130e-01],\n"
        "        [ 1.0700e-02,  5.7060e-01,  4.3666e+01, -4.5190e-01],\n"
        "        [ 5.2800e-02,  1.8776e+01, -4.5290e-01,  1.6900e-01]])"
    )


def small_graph() -> tuple[Any, ...]:
    x = tg.ones(1, requires_grad=True)
    b = tg.rand(1)
    y = 2 * x
    return x, b, y, y + b


def test_doc0_flags_along_graph() -> None:
    x, b, y, z = small_graph()
    w = tg.rand(1)
    flags = (x.requires_grad, w.requires_grad, y.requires_grad, b.requires_grad, z.requires_grad)
    assert flags == (True, False, True, False, True)


def test_doc0_grad_fn_is_named_after_operation() -> None:
    z = small_graph()[-1]
    assert_node(z.grad_fn, "AddBackward0")  # the document's 0.4.0 counts the overload: AddBackward1


def test_doc0_next_functions() -> None:
    z = small_graph()[-1]
    (first, i), (second, j) = z.grad_fn.next_functions
    assert_node(first, "MulBackward0")
    assert (i, second, j) == (0, None, 0)


def test_doc0_next_function_is_grad_fn_of_operand() -> None:
    _, _, y, z = small_graph()
    assert z.grad_fn.next_functions[0][0] == y.grad_fn


def test_doc0_next_functions_end_in_leaf() -> None:
    y = small_graph()[2]
    # As in the document; PyTorch since 1.0 adds (None, 0) for the number.
    ((node, index),) = y.grad_fn.next_functions
    assert_node(node, "AccumulateGrad")
    assert index == 0


def test_doc0_gradients_add_up() -> None:
    x, _, _, z = small_graph()
    for _ in range(3):
        # The document runs its cell three times; PyTorch frees nothing here because adding saves
        # nothing, tracegrad frees every graph that is not retained.
        z.backward(retain_graph=True)
    assert repr(x.grad) == "tensor([6.])"


def absolute(x: Any) -> Any:
    if x[0] > 0:
        return x
    else:
        return -x


def test_doc0_if_on_value() -> None:
    x = tg.ones(1, requires_grad=True)
    y = absolute(x)
    y.backward()
    assert repr(x.grad) == "tensor([1.])"


def test_doc0_product_is_no_leaf() -> None:
    x = -1 * tg.ones(1, requires_grad=True)
    absolute(x).backward()
    assert x.grad is None


def absolute_of_data(x: Any) -> Any:
    if x.data[0] > 0:
        return x
    else:
        return -x


def test_doc0_variable_positive(variable: Callable[..., Any]) -> None:
    x = variable(tg.ones(1), requires_grad=True)
    absolute_of_data(x).backward()
    assert repr(x.grad) == "tensor([1.])"


def test_doc0_variable_negative(variable: Callable[..., Any]) -> None:
    x = variable(-1 * tg.ones(1), requires_grad=True)
    absolute_of_data(x).backward()
    assert repr(x.grad) == "tensor([-1.])"


def product_of_positive(x: Any) -> Any:
    result = 1
    for ii in x:
        if ii > 0:
            result = ii * result
    return result


def test_doc0_for_and_if() -> None:
    x = tg.arange(-2, 4, requires_grad=True)
    y = product_of_positive(x)
    y.backward()
    assert repr(x.grad) == "tensor([0., 0., 0., 6., 3., 2.])"


def test_doc0_arange_that_requires_grad_is_floating() -> None:
    x = tg.arange(-2, 4, requires_grad=True)
    assert repr(x) == "tensor([-2., -1.,  0.,  1.,  2.,  3.], requires_grad=True)"
    assert repr(product_of_positive(x)) == "tensor(6., grad_fn=<MulBackward0>)"


def product() -> tuple[Any, ...]:
    x = tg.ones(3, requires_grad=True)
    w = tg.rand(3, requires_grad=True)
    y = x * w
    return x, w, y, y.sum()


def test_doc0_all_require_grad() -> None:
    x, w, _, z = product()
    assert (x.requires_grad, w.requires_grad, z.requires_grad) == (True, True, True)


def test_doc0_gradients_of_product() -> None:
    x, w, y, z = product()
    z.backward()
    assert values(x.grad) == values(w)
    assert repr(w.grad) == "tensor([1., 1., 1.])"
    assert y.grad is None


def test_doc0_grad_of_intermediate() -> None:
    _, _, y, z = product()
    assert repr(tg.autograd.grad(z, y)) == "(tensor([1., 1., 1.]),)"


def test_doc0_grad_of_intermediate_stops_there() -> None:
    x, w, y, z = product()
    tg.autograd.grad(z, y)
    assert (x.grad, w.grad) == (None, None)


def test_doc0_hook_prints_gradient(capsys: pytest.CaptureFixture[str]) -> None:
    def tensor_hook(grad: Any) -> None:
        print("y_grad \r\n", grad)

    _, _, y, z = product()
    y.register_hook(tensor_hook)
    z.backward()
    assert capsys.readouterr().out == "y_grad \r\n tensor([1., 1., 1.])\n"


def test_doc0_hook_removed() -> None:
    seen: list[Any] = []
    _, _, y, z = product()
    handle = y.register_hook(seen.append)
    z.backward(retain_graph=True)
    handle.remove()
    z.backward()
    assert len(seen) == 1


def test_doc0_backward_from_scalar() -> None:
    x = tg.arange(0, 3, requires_grad=True)
    y = x**2 + x * 2
    y.sum().backward()
    assert repr(x.grad) == "tensor([2., 4., 6.])"


def test_doc0_backward_from_vector() -> None:
    x = tg.arange(0, 3, requires_grad=True)
    y = x**2 + x * 2
    y.backward(tg.Tensor([1, 1, 1]))
    assert repr(x.grad) == "tensor([2., 4., 6.])"


def test_doc0_gradient_has_shape_of_variable() -> None:
    x = tg.randn(3, 4, requires_grad=True)
    f(x).sum().backward()
    assert x.grad.shape == x.shape


def test_doc0_function_of_the_book() -> None:
    """The document's last cell, completed: old spellings of `forward` and of `saved_tensors`."""

    class Mul(Function):
        @staticmethod
        def forward(ctx: Any, w: Any, x: Any, b: Any, x_requires_grad: bool = True) -> Any:
            ctx.x_requires_grad = x_requires_grad
            ctx.save_for_backward(w, x)
            return w * x + b

        @staticmethod
        def backward(ctx: Any, grad_output: Any) -> Any:
            with pytest.warns(DeprecationWarning, match="saved_tensors"):
                w, x = ctx.saved_variables
            grad_x = grad_output * w if ctx.x_requires_grad else None
            return grad_output * x, grad_x, grad_output, None

    w = tg.tensor([3.0], requires_grad=True)
    x = tg.tensor([2.0], requires_grad=True)
    b = tg.tensor([1.0], requires_grad=True)
    z = Mul.apply(w, x, b)
    z.backward()
    assert values(z) == [7.0]
    assert (values(w.grad), values(x.grad), values(b.grad)) == ([2.0], [3.0], [1.0])
    x.grad = None
    Mul.apply(w, x, b, False).backward()
    assert x.grad is None


# -- document 1: tensors with requires_grad (PyTorch 1.0) -----------------------------------------


def test_doc1_three_ways_to_ask_for_gradients() -> None:
    a = tg.randn(3, 4, requires_grad=True)
    b = tg.randn(3, 4).requires_grad_()
    c = tg.randn(3, 4)
    c.requires_grad = True
    assert (a.requires_grad, b.requires_grad, c.requires_grad) == (True, True, True)


def shown_a() -> Any:
    return tg.tensor(
        [
            [-0.6820, -1.1406, -0.2632, 1.3969],
            [-1.2451, 0.8250, 0.9740, -0.4491],
            [0.2748, -0.8826, -1.5438, 1.3043],
        ],
        requires_grad=True,
    )


def test_doc1_leaf_prints_requires_grad() -> None:
    assert repr(shown_a()) == (
        "tensor([[-0.6820, -1.1406, -0.2632,  1.3969],\n"
        "        [-1.2451,  0.8250,  0.9740, -0.4491],\n"
        "        [ 0.2748, -0.8826, -1.5438,  1.3043]], requires_grad=True)"
    )


def test_doc1_zeros_print() -> None:
    assert repr(tg.zeros(3, 4, requires_grad=True)) == (
        "tensor([[0., 0., 0., 0.],\n"
        "        [0., 0., 0., 0.],\n"
        "        [0., 0., 0., 0.]], requires_grad=True)"
    )


def test_doc1_sum_prints_grad_fn() -> None:
    c = shown_a() + tg.zeros(3, 4, requires_grad=True)
    assert repr(c) == (
        "tensor([[-0.6820, -1.1406, -0.2632,  1.3969],\n"
        "        [-1.2451,  0.8250,  0.9740, -0.4491],\n"
        "        [ 0.2748, -0.8826, -1.5438,  1.3043]], grad_fn=<AddBackward0>)"
    )


def test_doc1_gradients_print(capsys: pytest.CaptureFixture[str]) -> None:
    a, b = shown_a(), tg.zeros(3, 4, requires_grad=True)
    c = a + b
    d = c.sum()
    d.backward()
    print("a_grad", a.grad)
    print("b_grad", b.grad)
    print("c_grad", c.grad)
    ones = "tensor([[1., 1., 1., 1.],\n        [1., 1., 1., 1.],\n        [1., 1., 1., 1.]])"
    assert capsys.readouterr().out == f"a_grad {ones}\nb_grad {ones}\nc_grad None\n"
    assert d.requires_grad


def test_doc1_flags() -> None:
    a, b = shown_a(), tg.zeros(3, 4, requires_grad=True)
    c = a + b
    assert (a.requires_grad, b.requires_grad, c.requires_grad) == (True, True, True)
    assert (a.is_leaf, b.is_leaf, c.is_leaf) == (True, True, False)


def test_doc1_shape() -> None:
    y = f(tg.randn(3, 4, requires_grad=True))
    assert y.shape == (3, 4)  # a tuple; torch.Size is one too


def test_doc1_gradient_by_hand() -> None:
    x = tg.randn(3, 4, requires_grad=True)
    y = x**2 * tg.exp(x)
    y.backward(tg.ones(y.size()))
    by_hand = 2 * x * tg.exp(x) + tg.pow(x, 2) * tg.exp(x)
    assert_equal(x.grad, by_hand)
    assert repr(by_hand).endswith(", grad_fn=<AddBackward0>)")


def test_doc1_wide_numbers_print_aligned() -> None:
    shown = tg.tensor(
        [
            [-0.4541, -0.2696, -0.4004, 15.5897],
            [13.3898, -0.0868, -0.4555, 5.1220],
            [-0.4346, 11.3173, 19.6205, -0.4297],
        ]
    )
    assert repr(shown) == (
        "tensor([[-0.4541, -0.2696, -0.4004, 15.5897],\n"
        "        [13.3898, -0.0868, -0.4555,  5.1220],\n"
        "        [-0.4346, 11.3173, 19.6205, -0.4297]])"
    )


def line() -> tuple[Any, ...]:
    x = tg.ones(1)
    b = tg.rand(1, requires_grad=True)
    w = tg.rand(1, requires_grad=True)
    y = w * x
    return x, b, w, y, y + b


def test_doc1_flags_of_inputs() -> None:
    x, b, w, y, _ = line()
    assert (x.requires_grad, b.requires_grad, w.requires_grad) == (False, True, True)
    assert y.requires_grad


def test_doc1_leaves_of_graph() -> None:
    x, b, w, y, z = line()
    assert (x.is_leaf, b.is_leaf, w.is_leaf) == (True, True, True)
    assert (y.is_leaf, z.is_leaf) == (False, False)


def test_doc1_grad_fn_prints() -> None:
    *_, y, z = line()
    assert_node(z.grad_fn, "AddBackward0")
    assert_node(y.grad_fn, "MulBackward0")


def test_doc1_next_functions_of_sum() -> None:
    (first, i), (second, j) = line()[-1].grad_fn.next_functions
    assert_node(first, "MulBackward0")
    assert_node(second, "AccumulateGrad")
    assert (i, j) == (0, 0)


def test_doc1_next_functions_of_product() -> None:
    (first, i), (second, j) = line()[-2].grad_fn.next_functions
    assert_node(first, "AccumulateGrad")
    assert (i, second, j) == (0, None, 0)


def test_doc1_leaves_have_no_grad_fn() -> None:
    x, _, w, _, _ = line()
    assert (w.grad_fn, x.grad_fn) == (None, None)


def test_doc1_retain_graph_accumulates() -> None:
    _, _, w, _, z = line()
    for _ in range(5):
        z.backward(retain_graph=True)
    assert repr(w.grad) == "tensor([5.])"


def test_doc1_second_backward_raises() -> None:
    z = line()[-1]
    z.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        z.backward()


def test_doc1_if_positive_keeps_leaf(capsys: pytest.CaptureFixture[str]) -> None:
    x = tg.ones(1, requires_grad=True)
    y = absolute_of_data(x)
    y.backward()
    print("x.grad", x.grad)
    print("y.grad_fn", y.grad_fn)
    assert capsys.readouterr().out == "x.grad tensor([1.])\ny.grad_fn None\n"


def test_doc1_if_negative_is_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    x = -1 * tg.ones(1, requires_grad=True)
    print("x = ", x)
    y = absolute_of_data(x)
    y.backward()
    print("x.grad", x.grad)
    expected = "x =  tensor([-1.], grad_fn=<MulBackward0>)\nx.grad None\n"
    assert capsys.readouterr().out == expected
    assert_node(y.grad_fn, "NegBackward0")  # 1.0 leaves out the 0


def test_doc1_item_in_loop() -> None:
    def product_of_positive(x: Any) -> Any:
        result = 1
        for ii in x:
            if ii.item() > 0:
                result = result * ii
        return result

    x = tg.arange(-2, 4, dtype=tg.float32, requires_grad=True)
    product_of_positive(x).backward()
    # float32 is named because it is not the default here, as PyTorch names float64.
    assert repr(x.grad) == "tensor([0., 0., 0., 6., 3., 2.], dtype=float32)"


def test_doc1_no_grad() -> None:
    with tg.no_grad():
        x = tg.ones(1)
        w = tg.rand(1, requires_grad=True)
        y = x * w
    assert (x.requires_grad, y.requires_grad, w.requires_grad) == (False, False, True)


@pytest.fixture
def _grad_mode() -> Iterator[None]:
    yield
    tg.set_grad_enabled(True)


@pytest.mark.usefixtures("_grad_mode")
def test_doc1_set_grad_enabled_as_call() -> None:
    tg.set_grad_enabled(False)
    x = tg.ones(1)
    w = tg.rand(1, requires_grad=True)
    y = x * w
    assert (y.requires_grad, w.requires_grad, x.requires_grad) == (False, True, False)


@pytest.mark.usefixtures("_grad_mode")
def test_doc1_set_grad_enabled_back() -> None:
    tg.set_grad_enabled(False)
    returned = tg.set_grad_enabled(True)
    assert type(returned).__name__ == "set_grad_enabled"
    assert (tg.rand(1, requires_grad=True) * 2).requires_grad


def test_doc1_help_on_backward() -> None:
    assert "gradient" in (tg.Tensor.backward.__doc__ or "")  # the document asks with y.backward??


def shown_data() -> Any:
    return tg.tensor(
        [
            [0.1625, 0.9512, 0.8686, 0.8218],
            [0.9146, 0.3558, 0.8892, 0.7035],
            [0.2928, 0.1099, 0.5888, 0.8292],
        ],
        requires_grad=True,
    )


def test_doc1_data_prints_without_history() -> None:
    a = shown_data()
    assert repr(a.data) == (
        "tensor([[0.1625, 0.9512, 0.8686, 0.8218],\n"
        "        [0.9146, 0.3558, 0.8892, 0.7035],\n"
        "        [0.2928, 0.1099, 0.5888, 0.8292]])"
    )


def test_doc1_data_does_not_require_grad() -> None:
    assert shown_data().data.requires_grad is False


def test_doc1_data_changed_in_place() -> None:
    a = shown_data()
    before = a.detach().clone()
    d = a.data.sigmoid_()
    assert d.requires_grad is False
    assert_equal(d, 1 / (1 + tg.exp(-before)))
    assert values(a) == values(d)  # one memory


def test_doc1_detach() -> None:
    tensor = shown_data().detach()
    assert tensor.requires_grad is False
    assert tensor.grad_fn is None


def test_doc1_detach_shares_memory() -> None:
    a = shown_data()
    tensor = a.detach()
    tensor[0] = 1
    assert values(a[0]) == [1.0, 1.0, 1.0, 1.0]
    assert values(a[1]) == [0.9146, 0.3558, 0.8892, 0.7035]


def test_doc1_statistics_of_detached() -> None:
    # The cells ran in the order: sigmoid_, detach, tensor[0] = 1, statistics.
    a = shown_data()
    a.data.sigmoid_()
    tensor = a.detach()
    tensor[0] = 1
    assert repr(tensor.mean()) == "tensor(0.7599)"
    assert repr(tensor.max()) == "tensor(1.)"
    # PyTorch's std() divides by n - 1; here NumPy's and the array API's default holds.
    assert repr(tensor.std(unbiased=True)) == "tensor(0.1858)"
    assert repr(tensor.std(correction=1)) == "tensor(0.1858)"
    assert repr(tensor.std()) == "tensor(0.1779)"


def test_doc1_result_gradient_is_not_kept() -> None:
    x, w, y, z = product()
    z.backward()
    assert y.grad is None
    assert values(x.grad) == values(w)
    assert values(w.grad) == [1.0, 1.0, 1.0]


def test_doc1_grad_of_intermediate() -> None:
    _, _, y, z = product()
    (found,) = tg.autograd.grad(z, y)
    assert repr(found) == "tensor([1., 1., 1.])"


def test_doc1_hook(capsys: pytest.CaptureFixture[str]) -> None:
    def variable_hook(grad: Any) -> None:
        print("gradient of y:", grad)

    _, _, y, z = product()
    handle = y.register_hook(variable_hook)
    z.backward()
    handle.remove()
    assert capsys.readouterr().out == "gradient of y: tensor([1., 1., 1.])\n"


def test_doc1_scalar_prints_sum_backward() -> None:
    x = tg.arange(0, 3, dtype=tg.float64, requires_grad=True)
    y = x**2 + x * 2
    assert repr(y.sum()) == "tensor(11., grad_fn=<SumBackward0>)"


def test_doc1_backward_of_float32() -> None:
    x = tg.arange(0, 3, dtype=tg.float32, requires_grad=True)
    y = x**2 + x * 2
    y.backward(tg.Tensor([1, 1, 1]))
    assert values(x.grad) == [2.0, 4.0, 6.0]
    assert x.grad.dtype == np.float32


# -- document 2: Variable, hooks, Function, checks and profiler (PyTorch 0.4.1) -------------------


def test_doc2_cuda_or_what_was_found(variable: Callable[..., Any]) -> None:
    a = variable(tg.Tensor([1]), requires_grad=True)
    try:
        gpu = tg.device("cuda")
    except tg.errors.TracegradError:  # the document has a GPU; without one the error says so
        with pytest.raises(RuntimeError, match=r"no device 'cuda:0' here: found \"cpu\""):
            a.cuda()
    else:
        assert repr(a.cuda()) == f"tensor([1.], device='{gpu}', grad_fn=<ToCopyBackward0>)"


def test_doc2_device_prints(variable: Callable[..., Any]) -> None:
    pytest.importorskip("jax")
    # JAX's first device stands for the document's GPU: what a Tensor elsewhere looks like.
    a = variable(tg.Tensor([1]), requires_grad=True).to("jax")
    # Operations are named as PyTorch names them today; the document has CopyBackwards.
    assert repr(a) == "tensor([1.], device='jax', grad_fn=<ToCopyBackward0>)"


def test_doc2_data_stays_on_device(variable: Callable[..., Any]) -> None:
    pytest.importorskip("jax")
    a = variable(tg.Tensor([1]), requires_grad=True).to("jax")
    assert repr(a.data) == "tensor([1.], device='jax')"


def test_doc2_cpu_is_recorded(variable: Callable[..., Any]) -> None:
    pytest.importorskip("jax")
    x = variable(tg.Tensor([1]), requires_grad=True)
    a = x.to("jax")
    assert repr(a.cpu()) == "tensor([1.], grad_fn=<ToCopyBackward0>)"
    a.cpu().backward()
    assert values(x.grad) == [1.0]


def test_doc2_cpu_data(variable: Callable[..., Any]) -> None:
    pytest.importorskip("jax")
    a = variable(tg.Tensor([1]), requires_grad=True).to("jax")
    assert repr(a.cpu().data) == "tensor([1.])"


def three_variables(variable: Callable[..., Any]) -> tuple[Any, ...]:
    a = variable(tg.Tensor([1]), requires_grad=True)
    b = variable(tg.Tensor([2]), requires_grad=True)
    c = variable(tg.Tensor([3]), requires_grad=True)
    d = a + 2 * b
    return a, b, c, d, d + c


def test_doc2_gradients_of_sum(
    variable: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    a, b, c, _, e = three_variables(variable)
    e.backward()
    print(a.grad, b.grad, c.grad)
    assert capsys.readouterr().out == "tensor([1.]) tensor([2.]) tensor([1.])\n"


def test_doc2_intermediate_gradient_is_none(variable: Callable[..., Any]) -> None:
    a, _, _, d, e = three_variables(variable)
    e.backward()
    assert d.grad is None
    assert a.grad_fn is None


def test_doc2_grad_fn_after_backward(variable: Callable[..., Any]) -> None:
    e = three_variables(variable)[-1]
    e.backward()
    assert_node(e.grad_fn, "AddBackward0")


def test_doc2_requires_grad_false_is_left_out(variable: Callable[..., Any]) -> None:
    a = variable(tg.Tensor([1]), requires_grad=False)
    b = variable(tg.Tensor([2]), requires_grad=True)
    c = a + b
    c.backward()
    assert a.grad is None
    assert repr(b.grad) == "tensor([1.])"


def test_doc2_volatile_only_warns() -> None:
    with pytest.warns(DeprecationWarning), pytest.warns(UserWarning, match="no_grad"):
        a = tg.autograd.Variable(tg.Tensor([1]), volatile=True)
    b = tg.tensor([2.0], requires_grad=True)
    c = a + b
    c.backward()  # the document's last word on it: no error
    assert repr(b.grad) == "tensor([1.])"


def test_doc2_hook_prints(variable: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    def print_grad(grad: Any) -> None:
        print(grad)

    x = variable(tg.tensor([0.797]), requires_grad=True)  # what gives the document's 5.5940
    y = x + 2
    z = tg.mean(tg.pow(y, 2))
    handle = y.register_hook(print_grad)
    z.backward()
    assert type(handle).__name__ == "RemovableHandle"
    assert capsys.readouterr().out == "tensor([5.5940])\n"
    assert_node(y.grad_fn, "AddBackward0")


def test_doc2_randn_takes_a_list() -> None:
    assert tg.randn([1]).shape == (1,)


def test_doc2_hook_changes_gradient(variable: Callable[..., Any]) -> None:
    x = variable(tg.tensor([1.0]), requires_grad=True)
    y = x + 2
    y.register_hook(lambda grad: grad * 10)
    tg.mean(y**2).backward()
    assert values(x.grad) == [60.0]


class custom_add(Function):
    """forward and backward both use tensor."""

    @staticmethod
    def forward(ctx: Any, input: Any, input2: Any) -> Any:
        ctx.save_for_backward(input, input2)
        output = input + input2
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        input1, input2 = ctx.saved_tensors
        assert (input1.shape, input2.shape) == (grad_output.shape, grad_output.shape)
        grad_input = grad_output.clone()
        return grad_input, grad_input


def test_doc2_function_prints_its_name(variable: Callable[..., Any]) -> None:
    new_add = custom_add.apply
    a = variable(tg.Tensor([1]), requires_grad=True)
    b = variable(tg.Tensor([2]), requires_grad=True)
    assert repr(new_add(a, b)) == "tensor([3.], grad_fn=<custom_addBackward>)"


def test_doc2_function_backward(variable: Callable[..., Any]) -> None:
    a = variable(tg.Tensor([1]), requires_grad=True)
    b = variable(tg.Tensor([2]), requires_grad=True)
    custom_add.apply(a, b).backward()
    assert repr(a.grad) == "tensor([1.])"
    assert repr(b.grad) == "tensor([1.])"


def test_doc2_function_called_as_instance() -> None:
    """The older spelling, ``custom_function()(x)``: given up by PyTorch, refused here as there."""

    class Double(Function):
        def forward(self, x: Any) -> Any:
            return x * 2

    with pytest.raises(RuntimeError, match="static"):
        Double()(tg.tensor([1.0], requires_grad=True))


def test_doc2_gradcheck(variable: Callable[..., Any]) -> None:
    inputs = (
        variable(tg.Tensor([2]).double(), requires_grad=True),
        variable(tg.Tensor([3]).double(), requires_grad=True),
    )
    assert gradcheck(custom_add.apply, inputs, eps=1e-6, atol=1e-4) is True


def test_doc2_gradcheck_finds_a_wrong_backward() -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad_output: Any) -> Any:
            return grad_output * 3

    x = tg.tensor([2.0], requires_grad=True)
    assert gradcheck(Wrong.apply, (x,), raise_exception=False) is False
    with pytest.raises(RuntimeError, match="3"):
        gradcheck(Wrong.apply, (x,))


COLUMNS = [
    "Name",
    "Self CPU total %",
    "Self CPU total",
    "CPU total %",
    "CPU total",
    "CPU time avg",
    "Number of Calls",
]


def profile_of_square() -> Any:
    x = tg.randn(1, 1, requires_grad=True)
    with tg.autograd.profiler.profile() as prof:
        y = x**2
        y.backward()
    return prof


def test_doc2_profiler_columns() -> None:
    lines = str(profile_of_square()).splitlines()
    head = next(line for line in lines if line.split()[:1] == ["Name"])
    assert re.split(r"\s{2,}", head.strip())[: len(COLUMNS)] == COLUMNS
    assert set(lines[lines.index(head) - 1]) == {"-", " "}


def test_doc2_profiler_rows() -> None:
    rows = [line.split() for line in str(profile_of_square()).splitlines()]
    found = {row[0]: row for row in rows if row}
    for name in ("pow", "PowBackward0"):
        _, self_share, self_time, share, time, average, calls = found[name][:7]
        assert re.fullmatch(r"\d+\.\d\d%", self_share)
        assert re.fullmatch(r"\d+\.\d\d%", share)
        for text in (self_time, time, average):
            assert re.fullmatch(r"\d+\.\d{3}(us|ms|s)", text)
        assert calls == "1"


# -- document 3: the graph from inside (PyTorch 1.9) ----------------------------------------------


def test_doc3_ones_print() -> None:
    x = tg.ones(2, 2, requires_grad=True)
    assert str(x) == "tensor([[1., 1.],\n        [1., 1.]], requires_grad=True)"


def test_doc3_sum_prints() -> None:
    y = tg.ones(2, 2, requires_grad=True) + 2
    assert str(y) == "tensor([[3., 3.],\n        [3., 3.]], grad_fn=<AddBackward0>)"
    assert_node(y.grad_fn, "AddBackward0")


def test_doc3_product_and_mean_print(capsys: pytest.CaptureFixture[str]) -> None:
    y = tg.ones(2, 2, requires_grad=True) + 2
    z = y * y * 3
    out = z.mean()
    print("z", z)
    print("out ", out)
    assert capsys.readouterr().out == (
        "z tensor([[27., 27.],\n"
        "        [27., 27.]], grad_fn=<MulBackward0>)\n"
        "out  tensor(27., grad_fn=<MeanBackward0>)\n"
    )


def test_doc3_requires_grad_switched_on() -> None:
    a = tg.randn(2, 2)
    a = (a * 3) / (a - 1)
    assert a.requires_grad is False
    a.requires_grad_(True)
    assert a.requires_grad is True
    b = (a * a).sum()
    assert_node(b.grad_fn, "SumBackward0")


def test_doc3_gradient_prints() -> None:
    x = tg.ones(2, 2, requires_grad=True)
    y = x + 2
    out = (y * y * 3).mean()
    out.backward()
    assert str(x.grad) == "tensor([[4.5000, 4.5000],\n        [4.5000, 4.5000]])"


def test_doc3_backward_of_scalar_is_backward_of_one() -> None:
    x = tg.ones(2, 2, requires_grad=True)
    ((x + 2) ** 2).mean().backward(tg.tensor(1.0))
    assert values(x.grad) == [[1.5, 1.5], [1.5, 1.5]]


def doubled() -> tuple[Any, Any]:
    # The document's random x, from the y that it prints: y is x doubled ten times.
    x = tg.tensor([-366.0309 / 1024, -555.2794 / 1024, -827.4849 / 1024], requires_grad=True)
    y = x * 2
    while y.data.norm() < 1000:
        y = y * 2
    return x, y


def test_doc3_while_on_norm() -> None:
    _, y = doubled()
    assert repr(y) == "tensor([-366.0309, -555.2794, -827.4849], grad_fn=<MulBackward0>)"


def test_doc3_vector_jacobian_product() -> None:
    x, y = doubled()
    gradients = tg.tensor([0.1, 1.0, 0.0001], dtype=tg.float)  # float32, as torch.float
    y.backward(gradients)
    assert repr(x.grad) == "tensor([1.0240e+02, 1.0240e+03, 1.0240e-01])"


def test_doc3_no_grad(capsys: pytest.CaptureFixture[str]) -> None:
    x = tg.randn(3, requires_grad=True)
    print(x.requires_grad)
    print((x**2).requires_grad)
    with tg.no_grad():
        print((x**2).requires_grad)
    assert capsys.readouterr().out == "True\nTrue\nFalse\n"


DOCUMENTED_ATTRIBUTES = """
    T _version abs abs_ acos acosh add add_ all amax amin any argmax argmin asin asinh atan
    atan2 atanh backward ceil clamp clamp_ clamp_min_ clip clone conj copy_ cos cosh cpu cuda
    cumprod cumsum data detach device diagonal dim div div_ dot double dtype eq exp exp_ expm1
    fill_ flatten float floor fmax fmin ge grad grad_fn gt hypot imag is_cuda is_floating_point
    is_leaf isfinite isinf isnan item le log log10 log1p log2 log_ logaddexp logsumexp long lt
    masked_fill_ matmul max maximum mean min minimum moveaxis mul mul_ multiply nan_to_num ndim
    ne neg neg_ negative nonzero norm normal_ numel numpy permute pow pow_ prod ravel real
    reciprocal register_hook relu relu_ remainder repeat requires_grad requires_grad_ reshape
    retain_grad roll round shape sigmoid sigmoid_ sign sin sinh size softmax split sqrt sqrt_
    square squeeze std sub sub_ subtract sum swapaxes t take tan tanh tanh_ tile to tolist trace
    transpose tril triu trunc type_as uniform_ unsqueeze var view zero_
"""


def test_doc3_attributes_of_a_tensor() -> None:
    # Of the 547 names that the document lists: what arithmetic, statistics, shapes and gradients
    # need. The others are functions here (tg.where, tg.sort, tg.linalg), or belong to sparse,
    # quantized and named tensors.
    x = tg.rand(5, 5, requires_grad=True)
    y = tg.rand(5, 5, requires_grad=True)
    z = x**2 + y**3
    assert [name for name in DOCUMENTED_ATTRIBUTES.split() if name not in dir(z)] == []


def test_doc3_leaf_or_result(capsys: pytest.CaptureFixture[str]) -> None:
    x = tg.rand(5, 5, requires_grad=True)
    z = x**2 + tg.rand(5, 5, requires_grad=True) ** 3
    print("x.is_leaf= " + str(x.is_leaf))
    print("z.is_leaf= " + str(z.is_leaf))
    assert capsys.readouterr().out == "x.is_leaf= True\nz.is_leaf= False\n"


def powers() -> tuple[Any, ...]:
    x = tg.rand(5, 5, requires_grad=True)
    y = tg.rand(5, 5, requires_grad=True)
    z = x**2 + y**3
    return x, y, z, z.grad_fn.next_functions[0][0]


def test_doc3_node_of_power() -> None:
    _, _, z, xg = powers()
    assert_node(z.grad_fn, "AddBackward0")
    assert_node(xg, "PowBackward0")
    assert [node.name() for node, _ in z.grad_fn.next_functions] == ["PowBackward0"] * 2


def test_doc3_attributes_of_a_node() -> None:
    # Without _register_hook_dict, which serves PyTorch itself.
    shown = "__call__ _saved_exponent _saved_self metadata name next_functions register_hook"
    xg = powers()[-1]
    assert [name for name in [*shown.split(), "requires_grad"] if name not in dir(xg)] == []


def test_doc3_saved_values_of_power() -> None:
    x, _, _, xg = powers()
    assert xg._saved_exponent == 2
    assert values(xg._saved_self) == values(x)
    assert xg.requires_grad is True
    assert xg.metadata == {}


def test_doc3_node_can_be_called() -> None:
    x, _, _, xg = powers()
    assert_equal(xg(tg.ones(5, 5)), 2 * x)


def test_doc3_graph_ends_in_accumulate_grad() -> None:
    xg = powers()[-1]
    assert type(xg.next_functions[0][0]).__name__ == "AccumulateGrad"


def test_doc3_variable_is_the_leaf() -> None:
    x, _, _, xg = powers()
    x_leaf = xg.next_functions[0][0]
    assert x_leaf.variable is x
    assert repr(x_leaf.variable).endswith(", requires_grad=True)")


def test_doc3_large_variable_prints() -> None:
    x = tg.tensor(
        [
            [0.1984, 0.8660, 0.5423, 0.1056, 0.7492],
            [0.8248, 0.3125, 0.7376, 0.5506, 0.9036],
            [0.4060, 0.5647, 0.7465, 0.8046, 0.0898],
            [0.6959, 0.5429, 0.1786, 0.1837, 0.6830],
            [0.1164, 0.7483, 0.4170, 0.0340, 0.2897],
        ],
        requires_grad=True,
    )
    assert repr((x**2).grad_fn.next_functions[0][0].variable) == (
        "tensor([[0.1984, 0.8660, 0.5423, 0.1056, 0.7492],\n"
        "        [0.8248, 0.3125, 0.7376, 0.5506, 0.9036],\n"
        "        [0.4060, 0.5647, 0.7465, 0.8046, 0.0898],\n"
        "        [0.6959, 0.5429, 0.1786, 0.1837, 0.6830],\n"
        "        [0.1164, 0.7483, 0.4170, 0.0340, 0.2897]], requires_grad=True)"
    )


def test_doc3_backward_fills_leaves() -> None:
    x, y, z, _ = powers()
    z.sum().backward()
    assert_equal(x.grad, 2 * x)
    assert_equal(y.grad, 3 * y**2)


def test_doc3_function_is_imported_from_its_module() -> None:
    from tracegrad.autograd.function import Function as Imported

    assert Imported is Function


class MulConstant(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any, constant: float) -> Any:
        ctx.constant = constant
        return tensor * constant

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        return grad_output, None  # as in the document, which forgets the constant


def test_doc3_function_with_constant() -> None:
    a = tg.rand(3, 3, requires_grad=True)
    b = MulConstant.apply(a, 5)
    assert_equal(b, a * 5)
    assert str(b).endswith(", grad_fn=<MulConstantBackward>)")


def test_doc3_ones_like_has_no_history() -> None:
    a = tg.rand(3, 3, requires_grad=True)
    assert str(tg.ones_like(a)) == (
        "tensor([[1., 1., 1.],\n        [1., 1., 1.],\n        [1., 1., 1.]])"
    )


def test_doc3_function_backward_is_what_it_says() -> None:
    a = tg.rand(3, 3, requires_grad=True)
    b = MulConstant.apply(a, 5)
    b.backward(tg.ones_like(a))
    assert repr(a.grad) == "tensor([[1., 1., 1.],\n        [1., 1., 1.],\n        [1., 1., 1.]])"


# -- document 4: notes on Variables (PyTorch 0.3 and 0.4) -----------------------------------------


def test_doc4_grad_fn_or_none() -> None:
    a = tg.ones(2, 2, requires_grad=True)
    b = a + 2
    assert repr(b) == "tensor([[3., 3.],\n        [3., 3.]], grad_fn=<AddBackward0>)"
    assert_node(b.grad_fn, "AddBackward0")
    b1 = tg.ones(2, 2) + 2
    assert f"grad of b1 is {b1.grad_fn}" == "grad of b1 is None"


def test_doc4_values_without_history(capsys: pytest.CaptureFixture[str]) -> None:
    b = tg.ones(2, 2) + 2
    c = b * b * 3
    out = c.mean()
    print(c, out)
    assert capsys.readouterr().out == ("tensor([[27., 27.],\n        [27., 27.]]) tensor(27.)\n")


def test_doc4_backward_without_history_raises() -> None:
    out = (tg.ones(2, 2) + 2).mean()
    with pytest.raises(RuntimeError, match="grad"):
        out.backward()


def test_doc4_results_keep_no_gradient() -> None:
    a = tg.ones(2, 2, requires_grad=True)
    b = a + 2
    c = b * b * 3
    c.mean().backward()
    assert (b.grad, c.grad) == (None, None)
    assert values(a.grad) == [[4.5, 4.5], [4.5, 4.5]]


def test_doc4_hook_shows_gradient_of_result(
    variable: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    xx = variable(tg.ones(1, 1), requires_grad=True)
    yy = 3 * xx
    zz = yy**2
    yy.register_hook(print)
    zz.backward()
    print(xx.grad)
    assert capsys.readouterr().out == "tensor([[6.]])\ntensor([[18.]])\n"


def test_doc4_backward_twice_raises() -> None:
    xx = tg.ones(1, 1, requires_grad=True)
    zz = (3 * xx) ** 2
    zz.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        zz.backward()


def test_doc4_gradient_grows_unless_cleared() -> None:
    x = tg.ones(2, 2, requires_grad=True)
    y = x + 2
    out = (y * y * 3).mean()
    out.backward(retain_graph=True)
    out.backward()
    assert values(x.grad) == [[9.0, 9.0], [9.0, 9.0]]


def test_doc4_sum_takes_dim() -> None:
    # tg.tensor stands for FloatTensor, a name that PyTorch itself has given up.
    x = tg.tensor([[1.0, 2.0, 3.0, 4.0]], requires_grad=True)
    z = 2 * x
    loss = z.sum(dim=1)
    assert values(z) == [[2.0, 4.0, 6.0, 8.0]]
    assert values(loss) == [20.0]


def test_doc4_backward_by_parts(variable: Callable[..., Any]) -> None:
    x = variable(tg.tensor([[1.0, 2.0, 3.0, 4.0]]), requires_grad=True)
    z = 2 * x
    loss = z.sum(dim=1)

    # Each part keeps the graph for the next one: see test_doc0_gradients_add_up.
    z.backward(tg.tensor([[1, 0, 0, 0]]), retain_graph=True)
    assert values(x.grad.data) == [[2.0, 0.0, 0.0, 0.0]]
    x.grad.data.zero_()

    z.backward(tg.tensor([[0, 1, 0, 0]]), retain_graph=True)
    assert values(x.grad.data) == [[0.0, 2.0, 0.0, 0.0]]
    x.grad.data.zero_()

    z.backward(tg.tensor([[1, 1, 1, 1]]), retain_graph=True)
    assert values(x.grad.data) == [[2.0, 2.0, 2.0, 2.0]]
    x.grad.data.zero_()

    loss.backward()
    assert values(x.grad.data) == [[2.0, 2.0, 2.0, 2.0]]


def test_doc4_clearing_through_data_clears_the_gradient() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    x.grad.data.zero_()
    assert values(x.grad) == [0.0, 0.0]


def test_doc4_vector_needs_weights() -> None:
    x = tg.tensor([[1.0, 2.0, 3.0, 4.0]], requires_grad=True)
    with pytest.raises((RuntimeError, ValueError), match="gradient"):
        (2 * x).backward()


def test_doc4_size() -> None:
    a = tg.ones(3, 5)
    assert a.size() == (3, 5)
    assert a.size(1) == 5
    assert a.size()[1] == 5


def test_doc4_size_is_a_number_as_well() -> None:
    assert tg.ones(3, 5).size == 15  # the array API's meaning


# -- what docs/from_pytorch.md says besides -------------------------------------------------------


def test_page_retain_grad() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.retain_grad()
    (y * y).sum().backward()
    assert values(y.grad) == [6.0, 12.0]


def test_page_create_graph() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    (x**3).sum().backward(create_graph=True)
    first, x.grad = x.grad, None
    first.sum().backward()
    assert values(x.grad) == [6.0, 12.0]


def test_page_unused_input() -> None:
    x, other = tg.ones(2, requires_grad=True), tg.ones(1, requires_grad=True)
    found = tg.autograd.grad((x * 2).sum(), [x, other], allow_unused=True)
    assert values(found[0]) == [2.0, 2.0]
    assert found[1] is None
    with pytest.raises(RuntimeError, match="allow_unused"):
        tg.autograd.grad((x * 2).sum(), [x, other])


def test_page_modes_belong_to_a_thread() -> None:
    seen: list[bool] = []
    with tg.no_grad():
        thread = threading.Thread(target=lambda: seen.append(tg.is_grad_enabled()))
        thread.start()
        thread.join()
        assert not tg.is_grad_enabled()
    assert seen == [True]


def test_page_leaf_refuses_writing() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="no_grad"):
        x[0] = 5.0
    with pytest.raises(RuntimeError, match="no_grad"):
        x.add_(1.0)
    with tg.no_grad():
        x.add_(1.0)
    assert values(x) == [2.0, 3.0]
    assert x.is_leaf
    assert x.requires_grad


def _through_data(x: Any, array: Any) -> None:
    x.data.mul_(2)


def _through_detached(x: Any, array: Any) -> None:
    x.detach()[0] = 2.0


def _under_no_grad(x: Any, array: Any) -> None:
    with tg.no_grad():
        x.mul_(2)


def _through_numpy(x: Any, array: Any) -> None:
    array[0] = 2.0


@pytest.mark.parametrize(
    "change", [_through_data, _through_detached, _under_no_grad, _through_numpy]
)
def test_page_changed_after_saved(change: Callable[[Any, Any], None]) -> None:
    array = np.array([1.0, 3.0])
    x = tg.as_tensor(array).requires_grad_()
    y = (x * x).sum()
    change(x, array)
    with pytest.raises(RuntimeError, match="changed after"):
        y.backward()


@pytest.mark.parametrize("change", ["fill_", "mul_", "items", "operator", "a view"])
def test_page_a_recorded_write_keeps_what_is_saved(change: str) -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        z = (y * y).sum()
        if change == "items":
            y[0] = 5.0
        elif change == "operator":
            y *= 3.0
        elif change == "a view":
            y[1:].mul_(3.0)
        else:
            getattr(y, change)(3.0)
        return z

    for run in (f, tg.compile(f)):
        x = tg.tensor([1.0, 3.0], requires_grad=True)
        run(x).backward()
        assert values(x.grad) == [2.0, 6.0]


@pytest.mark.parametrize("saved", ["a buffer", "a mask", "a part"])
def test_page_a_write_to_a_buffer_that_is_saved(saved: str) -> None:
    x = tg.tensor([1.0, 3.0], requires_grad=True)
    buffer = tg.tensor([True, False]) if saved == "a mask" else tg.ones(2)
    y = (tg.where(buffer, x, 0.0) if saved == "a mask" else x * buffer).sum()
    if saved == "a part":
        buffer[1:] = 4.0
    else:
        buffer.fill_(0)
    with pytest.raises(RuntimeError, match="changed after"):
        y.backward()


def test_page_memory() -> None:
    array = np.zeros(3)
    copied, shared = tg.tensor(array), tg.as_tensor(array)
    wrapped = tg.from_numpy(array)
    array[0] = 7.0
    assert values(copied) == [0.0, 0.0, 0.0]
    assert values(shared) == values(wrapped) == [7.0, 0.0, 0.0]
    shared.numpy()[1] = 8.0
    assert array.tolist() == [7.0, 8.0, 0.0]


def test_page_kinks() -> None:
    def gradient(f: Callable[[Any], Any], x: list[float]) -> Any:
        leaf = tg.tensor(x, requires_grad=True)
        f(leaf).sum().backward()
        return values(leaf.grad)

    assert gradient(lambda x: x.relu(), [-1.0, 0.0, 1.0]) == [0.0, 0.0, 1.0]
    assert gradient(lambda x: x.norm(), [0.0, 0.0]) == [0.0, 0.0]
    assert gradient(lambda x: x.amax(), [5.0, 1.0, 5.0]) == [0.5, 0.0, 0.5]


def test_page_clamp_at_its_bounds() -> None:
    x = tg.tensor([0.0, 1.0, 2.0, 3.0], requires_grad=True)
    low, high = (tg.tensor(bound, requires_grad=True) for bound in (1.0, 2.0))
    x.clamp(1, 2).sum().backward()
    assert values(x.grad) == [0.0, 1.0, 1.0, 0.0]
    x.grad = None
    x.clamp(low, high).sum().backward()
    assert values(x.grad) == [0.0, 1.0, 1.0, 0.0]
    assert (values(low.grad), values(high.grad)) == (1.0, 1.0)


def test_page_complex_gradient() -> None:
    z = tg.tensor([1 + 2j], requires_grad=True)
    (z * z.conj()).real.sum().backward()
    assert values(z.grad) == [2 + 4j]
    z.grad = None
    (z * z).real.sum().backward()
    assert values(z.grad) == [2 - 4j]


def test_page_dtype_names() -> None:
    assert (tg.float, tg.double, tg.long) == (tg.float32, tg.float64, tg.int64)
    x = tg.ones(2)
    assert x.float().dtype == x.to(tg.float32).dtype == np.float32
    assert x.long().dtype == np.int64


@pytest.fixture
def _default_dtype() -> Iterator[None]:
    yield
    tg.set_default_dtype(tg.float64)


@pytest.mark.usefixtures("_default_dtype")
def test_page_default_dtype() -> None:
    tg.set_default_dtype(tg.float32)
    made = (tg.ones(2), tg.rand(2), tg.tensor([1.0]), tg.arange(3, requires_grad=True))
    assert {x.dtype.name for x in made} == {"float32"}
    assert repr(tg.ones(2)) == "tensor([1., 1.])"
    assert repr(tg.ones(2, dtype=tg.float64)) == "tensor([1., 1.], dtype=float64)"


def test_page_integers() -> None:
    assert tg.tensor([1, 2]).dtype == np.int64
    assert tg.tensor([1, 2], requires_grad=True).dtype == np.float64
    with pytest.raises(TypeError, match="int64"):
        tg.tensor([1, 2], requires_grad=True, dtype=tg.int64)


def test_page_max_over_an_axis() -> None:
    x = tg.tensor([[1.0, 5.0], [7.0, 2.0]])
    assert values(x.max(dim=1)) == [5.0, 7.0]
    assert values(x.argmax(dim=1)) == [1, 0]


def test_page_hooks_run_in_the_calling_thread() -> None:
    threads: list[int] = []
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    x.register_hook(lambda grad: threads.append(threading.get_ident()))
    (x * x).sum().backward()
    assert threads == [threading.get_ident()]


def test_page_compiled_backward_has_the_same_bits() -> None:
    start = np.random.default_rng(0).normal(size=(5, 3))
    gradients = []
    for _ in range(3):
        x = tg.tensor(start, requires_grad=True)
        (tg.tanh(x @ x.T) / (1 + tg.exp(x).sum())).mean().backward()
        gradients.append(x.grad.numpy())
    assert np.array_equal(gradients[0], gradients[1])
    assert np.array_equal(gradients[0], gradients[2])


def test_page_backward_source() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    text = tg.backward_source(tg.tanh(x).sum())
    assert "def backward(" in text
    assert "import tracegrad" not in text
    loss = tg.tanh(x).sum()
    loss.backward()
    with pytest.raises(tg.errors.GradientError, match=r"Ask before backward\(\)"):
        tg.backward_source(loss)


def test_page_grad_is_a_new_tensor() -> None:
    w = tg.ones(2, requires_grad=True)
    w.sum().backward()
    kept = w.grad
    w.sum().backward()
    assert (kept.tolist(), w.grad.tolist()) == ([1.0, 1.0], [2.0, 2.0])


def test_page_errors() -> None:
    x = tg.ones(2, 3, requires_grad=True)
    for mistake, kind in [
        (lambda: x @ x, ValueError),
        (lambda: x.backward(), ValueError),
        (lambda: x.numpy(), TypeError),
        (lambda: tg.ones(2).backward(), RuntimeError),
    ]:
        with pytest.raises(kind) as caught:
            mistake()
        assert isinstance(caught.value, tg.errors.TracegradError)


def test_page_numpy_functions() -> None:
    x = tg.tensor([3.0, 4.0], requires_grad=True)
    (np.exp(x).sum() + np.linalg.norm(x)).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([3.0, 4.0]) + [0.6, 0.8])


def test_page_out_is_written() -> None:
    x = tg.zeros(2)
    assert np.exp(x, out=x) is x
    assert x.tolist() == [1.0, 1.0]
    with pytest.raises(TypeError):
        tg.exp(x, out=x)


def test_page_names_left_out() -> None:
    missing = ("FloatTensor", "Module", "DataLoader")
    assert [name for name in missing if hasattr(tg, name)] == []
