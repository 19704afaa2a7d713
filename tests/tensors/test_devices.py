"""Tensors on devices: JAX's first device stands for a GPU, what runs there is the same."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest
from checks import wide_jax

import tracegrad as tg
from tracegrad.errors import ConversionError, GradientError

jax = pytest.importorskip("jax", reason="devices are JAX's")


def numbers(x):
    return x.detach().cpu().tolist()


def leaf(*values):
    return tg.tensor(values, dtype="float64", requires_grad=True)


def test_devices_have_names():
    x = tg.tensor([1.0])
    assert (x.device, str(x.device), x.device.type, x.device.index) == ("cpu", "cpu", "cpu", None)
    assert repr(x.device) == "device(type='cpu')"
    assert not x.is_cuda
    assert x.to("jax").device == tg.device("jax")
    assert repr(tg.devices.Device("cuda:1")) == "device(type='cuda', index=1)"
    assert x.cpu() is x
    with pytest.raises(tg.devices.DeviceError, match=r"tpu.*cpu"):
        tg.device("tpu")


@pytest.mark.skipif(any(d.platform == "gpu" for d in jax.devices()), reason="there is a GPU")
@pytest.mark.parametrize("ask", [lambda x: x.cuda(), lambda x: x.to("gpu"), lambda x: x.to(0)])
def test_an_absent_gpu_is_refused_with_what_was_found(ask):
    with pytest.raises(tg.devices.DeviceError, match=r"no device '(cuda|gpu).*\"cpu\" \(NumPy\)"):
        ask(tg.tensor([1.0]))


DEVICE_PROGRAMS = {
    "arithmetic": lambda x, w: ((x * w + 2.0 - x / w) ** 2).sum(),
    "reflected": lambda x, w: (1.0 - x + 2.0 / w).mean(),
    "functions": lambda x, w: (tg.tanh(x) * tg.exp(w) + tg.sigmoid(x) - tg.sqrt(w * w + 1.0)).sum(),
    "reductions": lambda x, w: (
        (x.sum(axis=0) * w.mean(axis=0)).max() + x.std() + w.prod(axis=1).sum()
    ),
    "products": lambda x, w: (x @ w.T).sum() + x[0] @ w[0],
    "shapes": lambda x, w: (x.T.reshape(-1) * tg.concat([w[1:], w[:1]]).ravel()).sum(),
    "indexing": lambda x, w: (x[1:, ::2] * w[0, 1]).sum() + x[x > 0].sum() + w[[0, 0]].sum(),
    "choice": lambda x, w: tg.where(x > w, x, w * 2.0).sum() + tg.clip(x, -0.5, 0.5).sum(),
    "stacks": lambda x, w: (tg.stack([x, w]) ** 3).mean(),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", DEVICE_PROGRAMS)
def test_ops_on_a_device_equal_those_on_the_processor(name):
    program = DEVICE_PROGRAMS[name]
    rng = np.random.default_rng(1)
    start, weights = rng.normal(size=(3, 4)), rng.normal(size=(3, 4)) + 3.0

    def run(device):
        x = tg.tensor(start, requires_grad=True, device=device)
        w = tg.tensor(weights, requires_grad=True, device=device)
        for _ in range(3):  # interpreted, and where backwards are compiled
            x.grad = w.grad = None
            loss = program(x, w)
            loss.backward()
        assert loss.device == x.grad.device == w.grad.device == device
        assert loss.dtype == x.grad.dtype == np.float64
        return numbers(loss), numbers(x.grad), numbers(w.grad)

    for there, here in zip(run("jax"), run("cpu"), strict=True):
        np.testing.assert_allclose(there, here, rtol=1e-12, atol=1e-14)


def test_dtypes_on_a_device_are_numpys():
    whole = tg.tensor([1, 2], dtype="int32", device="jax")
    half = tg.tensor([1.5, 2.5], dtype="float32", device="jax")
    assert (whole * half).dtype == np.float64
    assert (half * 2.0).dtype == np.float32
    assert tg.sqrt(whole).dtype == np.float64
    assert whole.sum().dtype == np.int64
    assert (whole > 1).dtype == np.bool_
    assert half.long().tolist() == [1, 2]


def test_moves_are_recorded():
    x = leaf(1.0, 2.0)
    there = x.to("jax")
    assert "Copy" in there.grad_fn.name()
    back = (there * 3).cpu()
    assert (there.device, back.device) == ("jax", "cpu")
    (back * back).sum().backward()
    assert x.grad.device == "cpu"
    assert numbers(x.grad) == [18.0, 36.0]


def test_devices_do_not_mix():
    here, there = tg.tensor([1.0, 2.0]), tg.tensor([1.0, 2.0], device="jax")
    for mixed in (
        lambda: here * there,
        lambda: there + here,
        lambda: tg.stack([here, there]),
        lambda: there.copy_(here) + here,
        lambda: here.copy_(there) + there,
        lambda: here.add_(there),
    ):
        with pytest.raises(tg.devices.DeviceError, match=r"devices|on \""):
            mixed()
    assert numbers(there * tg.tensor(2.0)) == [2.0, 4.0]
    with pytest.raises(ConversionError, match="cpu"):
        np.asarray(there)


def test_values_of_a_device():
    x = tg.tensor([[1.0, 2.0]], device="jax")
    assert (x.tolist(), x.sum().item(), float(x[0, 1]), len(x)) == ([[1.0, 2.0]], 3.0, 2.0, 1)
    assert [numbers(row) for row in x] == [[1.0, 2.0]]
    assert bool(x[0, 0] < x[0, 1])
    assert np.from_dlpack(x).tolist() == [[1.0, 2.0]]


def test_writes_on_a_device():
    x = tg.tensor([1.0, 2.0], requires_grad=True, device="jax")
    shared = x.detach()
    with tg.no_grad():
        x.mul_(2)
        x[0] = 7.0
    assert numbers(shared) == numbers(x) == [7.0, 4.0]
    y = x * 2
    y += 1
    y[0] = x[1]
    y.sum().backward()
    assert numbers(x.grad) == [0.0, 3.0]
    e = tg.exp(x)
    e.detach().zero_()
    with pytest.raises(GradientError, match=r"e\.detach\(\) was changed"):
        e.sum().backward()


MATRIX = np.arange(6.0).reshape(2, 3)


def of_outside(x, y=None):
    h = np.tanh(MATRIX @ x) + np.ones(2)
    return np.sum(h * MATRIX[:, 0]) if y is None else h * y


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    "derivative",
    [
        lambda f, x: tg.vjp(f, x)[1](1.0)[0],
        lambda f, x: tg.vjp(lambda x: f(x), x)[1](1.0)[0],
        lambda f, x: tg.vjp(lambda x: tg.hvp(f, (x,), (np.ones(3),)), x)[1](np.ones(3))[0],
        lambda f, x: tg.vjp(lambda x, y: f(x, y), x, np.ones(2))[1](np.ones(2))[0],
        lambda f, x: tg.linearize(lambda x: f(x), x)[1](np.ones(3)),
        lambda f, x: tg.grad(f)(x),
        lambda f, x: tg.hessian(f)(x),
    ],
)
def test_functions_of_jax_arrays_meet_those_of_numpy(derivative, compiled, monkeypatch):
    """What a function of arrays closes over, or makes with NumPy, goes where its arguments are."""
    jax = pytest.importorskip("jax")
    monkeypatch.setattr(tg.config, "compile", compiled)
    x = np.array([0.1, -0.2, 0.3])
    expected = derivative(of_outside, x)
    with wide_jax():
        found = derivative(of_outside, jax.numpy.asarray(x))
    assert isinstance(found, jax.Array)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)


# -- around them --------------------------------------------------------------------------------


def test_devices_are_left_alone_in_compiled_functions():
    with pytest.raises(tg.devices.DeviceError, match="backend"):
        tg.compile(lambda x: x.to("jax"))(np.ones(2))


def test_compiled_functions_refuse_tensors_of_a_device():
    there = tg.tensor([1.0, 2.0], device="jax")
    with pytest.raises(tg.devices.DeviceError, match=r'on "jax".*\.cpu\(\)'):
        tg.compile(lambda x: x * there)(np.ones(2))


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_compiled_functions_take_tensors_of_a_device(backend):
    """Tensors there in, Tensors there out, whatever the program runs on; nothing is remembered."""

    def f(p, scale):
        return tg.tanh(p["w"] * scale).sum()

    x, y = tg.tensor([1.0, 2.0], device="jax"), tg.tensor([0.5, 3.0], device="jax")
    expected = f({"w": tg.tensor([1.0, 2.0])}, tg.tensor([0.5, 3.0]))
    made = tg.compile(f, backend=backend)
    both = tg.value_and_grad(f, backend=backend)
    for _ in range(3):
        value = made({"w": x}, y)
        again, gradient = both({"w": x}, y)
        assert {value.device, again.device, gradient["w"].device} == {"jax"}
        np.testing.assert_allclose(numbers(value), numbers(expected), rtol=1e-14)
        np.testing.assert_allclose(numbers(again), numbers(expected), rtol=1e-14)
        assert gradient["w"].dtype == np.float64
    assert made({"w": x}, 2.0).device == "jax"
    assert made({"w": x}, tg.tensor(2.0)).device == "jax"
    x.mul_(0.0)
    assert numbers(made({"w": x}, y)) == 0.0
    assert made.cache_info().versions == 3  # `scale` was an array, a number, and one without axes
    assert "tanh" in made.source({"w": x}, y)


def test_gradients_pass_through_compiled_functions_on_a_device():
    x = leaf(1.0, 2.0).to("jax")
    assert tg.compile(lambda x: (x * x).sum())(x).requires_grad
    out, pull = tg.vjp(lambda v: v * v, tg.tensor([1.0, 2.0], device="jax"))
    (ct,) = pull(tg.ones(2, device="jax"))
    assert (out.device, ct.device, numbers(ct)) == ("jax", "jax", [2.0, 4.0])


@pytest.mark.parametrize("transform", [tg.compile, tg.grad, tg.value_and_grad])
def test_arguments_on_several_devices_are_refused_by_name(transform):
    here, there = tg.tensor([1.0, 2.0]), tg.tensor([1.0, 2.0], device="jax")
    made = transform(lambda a, b: (a * b[0]).sum())
    for other in (here, np.ones(2)):
        with pytest.raises(tg.devices.DeviceError, match=r'a on "jax" and b\[0\] on "cpu"'):
            made(there, [other])
    with pytest.raises(tg.devices.DeviceError, match=r'a on "cpu" and b\[0\] on "jax"'):
        made(here, [there])


def test_detach_ends_gradients_of_compiled_functions():
    def f(x):
        return (x.detach() * x + x.data * x).sum()

    assert tg.grad(f, backend="jax")(np.array([1.0, 2.0])).tolist() == [2.0, 4.0]


def test_prints_the_device():
    assert repr(tg.tensor([1.0], device="jax")) == "tensor([1.], device='jax')"
    there = leaf(1.0).to("jax").float()
    shown = "tensor([1.], device='jax', dtype=float32, grad_fn=<ToCopyBackward0>)"
    assert repr(there) == shown


def test_leaves_are_copied_deeply_and_pickled():
    x = tg.tensor([1.0, 2.0], requires_grad=True, device="jax")
    (x * x).sum().backward()
    for again in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert again is not x
        assert (again.requires_grad, again.is_leaf, again.device) == (True, True, "jax")
        assert numbers(again) == [1.0, 2.0]
        with tg.no_grad():
            again.zero_()
        assert numbers(x) == [1.0, 2.0]
    together = copy.deepcopy([x, x])
    assert together[0] is together[1]
    assert numbers(together[0].grad) == numbers(x.grad)
    assert copy.copy(x).requires_grad


def test_second_derivatives():
    x = tg.tensor([0.5, 1.0], requires_grad=True, device="jax")
    for _ in range(3):
        (first,) = tg.autograd.grad((tg.sin(x) * x).sum(), x, create_graph=True)
        (second,) = tg.autograd.grad(first.sum(), x)
    values = np.array([0.5, 1.0])
    expected = 2 * np.cos(values) - values * np.sin(values)
    np.testing.assert_allclose(numbers(second), expected, rtol=1e-14)
    assert second.device == "jax"


def test_hooks_see_gradients_of_the_device():
    seen = []
    x = tg.tensor([1.0, 2.0], requires_grad=True, device="jax")
    y = x * 2
    y.register_hook(lambda gradient: seen.append(gradient.device) or gradient * 3)
    y.sum().backward()
    assert seen == ["jax"]
    assert numbers(x.grad) == [6.0, 6.0]


@pytest.mark.parametrize("make", [tg.optim.SGD, tg.optim.Adam, tg.optim.RMSprop])
def test_optimizers_work_where_their_parameters_are(make):
    def run(device):
        w = tg.tensor([1.0, 2.0], requires_grad=True, device=device)
        optimizer = make([w], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (w * w).sum().backward()
            optimizer.step()
        assert w.device == device
        return numbers(w)

    np.testing.assert_allclose(run("jax"), run("cpu"), rtol=1e-12)


def test_arrays_are_made_there():
    assert tg.ones(2, device="jax").device == "jax"
    assert tg.zeros_like(tg.ones(2, device="jax")).device == "jax"
    made = tg.arange(3, device="jax", requires_grad=True)
    assert (made.device, made.requires_grad) == ("jax", True)
    assert tg.rand(2, device="jax").device == "jax"


# -- backwards on devices -----------------------------------------------------------------------


def network(w1, b, w2, x, y):
    h = tg.tanh(x @ w1 + b)
    for _ in range(3):
        h = tg.where(h > 0, tg.tanh(h @ w2), h * 0.5)
    return ((h[:, :1] - y) ** 2).mean() + h[[0, 2]].sum() * 0.1 + tg.linalg.norm(w2)


def test_a_backward_on_a_device_is_one_program_from_its_second_call_on(monkeypatch):
    draw = np.random.default_rng(0).standard_normal
    arrays = [draw(s).astype(np.float32) for s in ((4, 8), (8,), (8, 8), (6, 4), (6, 1))]

    def gradients(device, scale=1.0):
        held = [tg.tensor(a * np.float32(scale), requires_grad=True, device=device) for a in arrays]
        network(*held).backward()
        assert all(t.grad.device == t.device for t in held)
        return [t.grad.cpu().numpy() for t in held]

    for scale in (1.0, 1.0, 0.5):
        for found, expected in zip(gradients("jax", scale), gradients("cpu", scale), strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, 2e-4, 1e-6)

    def fail(*args, **kwargs):
        raise AssertionError("ran op by op")

    monkeypatch.setattr("tracegrad.autograd.compiled_backward.pullback", fail)
    gradients("jax")


def test_the_source_of_a_backward_on_a_device_is_for_jax():
    x = tg.tensor([1.0, 2.0], requires_grad=True, device="jax")
    assert "@jax.jit" in tg.backward_source((x * x).sum())


def test_a_backward_on_a_device_may_be_repeated_and_added():
    for _ in range(3):
        x = tg.tensor([1.0, 2.0, 3.0], requires_grad=True, device="jax")
        y = (x * x).prod()
        y.backward(retain_graph=True)
        y.backward(tg.tensor(2.0, device="jax"))
        np.testing.assert_allclose(x.grad.cpu().numpy(), [216.0, 108.0, 72.0])


def test_moves_bring_gradients_back_from_compiled_backwards():
    for _ in range(3):
        x, w = leaf(1.0, 2.0), tg.tensor([3.0, 4.0], requires_grad=True, device="jax")
        (x.to("jax") * w * 2).sum().backward()
        assert (x.grad.device, w.grad.device) == ("cpu", "jax")
        assert (numbers(x.grad), numbers(w.grad)) == ([6.0, 8.0], [2.0, 4.0])


@pytest.mark.parametrize(
    "meet",
    [
        lambda d, x: d * x,
        lambda d, x: x - d,
        lambda d, x: d**x,
        lambda d, x: tg.where(d > 0, x, d),
        lambda d, x: (d * d).mul_(x),
    ],
)
def test_a_number_that_meets_a_device_has_its_gradient_where_it_is(meet):
    x, beside = tg.tensor(3.0, requires_grad=True), tg.tensor(3.0, requires_grad=True)
    d = tg.tensor([2.0, 3.0])
    there = meet(d.to("jax"), x).sum()
    assert there.device == "jax"
    (there.cpu() + x * x).backward()
    (meet(d, beside).sum() + beside * beside).backward()
    assert x.grad.device == "cpu"
    np.testing.assert_allclose(x.grad.numpy(), beside.grad.numpy(), 1e-6)


def test_a_number_that_meets_a_device_has_derivatives_of_all_modes():
    d = tg.tensor([1.0, 2.0]).to("jax")

    def f(x):
        return (x * d).sum() * x

    x, one = tg.tensor(3.0), tg.tensor(1.0)
    assert float(tg.jvp(f, (x,), (one,))[1].cpu()) == 18.0
    assert float(tg.grad(f)(x)) == 18.0
    assert float(tg.hessian(f)(x)) == float(tg.hvp(f, (x,), (one,))) == 6.0


@pytest.mark.parametrize(
    "raises",
    [
        lambda x: x[tg.tensor([0, 5]).to(x.device)],
        lambda x: tg.take_along_axis(x, tg.tensor([3]).to(x.device), axis=0),
        lambda x: tg.linalg.inv(x * tg.zeros(3, 3, device=x.device)),
        lambda x: tg.linalg.cholesky(-tg.eye(3, device=x.device)),
    ],
)
def test_what_raises_on_the_processor_raises_on_a_device(raises):
    """JAX would clamp the index, and give nan."""
    with pytest.raises((IndexError, np.linalg.LinAlgError)) as expected:
        raises(tg.tensor([1.0, 2.0, 3.0]))
    with pytest.raises(expected.type, match=re.escape(str(expected.value).splitlines()[0])):
        raises(tg.tensor([1.0, 2.0, 3.0], device="jax"))


def doubled_head(x):
    y = x.copy()
    head, first = y[:2], y[0]
    y[1] = 7.0
    head *= 2.0
    first += 1.0
    return y


def shown(x):
    kept = [isinstance(x, np.ndarray), str(x), np.asarray(x).tolist()]
    return x * 2, kept


@pytest.mark.parametrize("function", [doubled_head, shown])
def test_functions_of_arrays_do_on_a_device_what_they_do_with_numpy(function, monkeypatch):
    """Views, numbers, classes and text are NumPy's."""
    jnp = pytest.importorskip("jax.numpy")
    x = np.array([1.0, 2.0, 4.0])
    expected = function(x)
    monkeypatch.setattr(tg.config, "compile", False)
    found = tg.compile(function, backend="jax")(jnp.asarray(x))
    if function is shown:
        assert found[1] == expected[1]
        expected, found = expected[0], found[0]
    np.testing.assert_array_equal(found, expected)


INDICES = {
    "mask": lambda x: x > 0,
    "list": lambda x: [0, 1],
    "list of bools": lambda x: [True, False, True, False],
    "array": lambda x: np.array([0, 2]),
    "computed": lambda x: np.argsort(x)[:2],
    "places": lambda x: np.nonzero(x > 0),
    "element": lambda x: np.argmax(x),
    "slice": lambda x: slice(0, 2),
}


def multiplied(y, k, x):
    y[k] *= 2.0
    y[k] += 1.0
    y[k] -= x[k]
    y[k] /= x[k] + 5.0
    return y


def read_and_written(y, k, x):
    v = y[k]
    y[k] = v * 2.0
    return y * np.sum(v)


def written_as_a_whole(y, k, x):
    v = y[k]
    y *= 2.0
    return y * np.sum(v)


@pytest.mark.parametrize("write", [multiplied, read_and_written, written_as_a_whole])
@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_what_an_array_indexes_has_memory_of_its_own_without_programs(index, write):
    """As NumPy copies for arrays, lists and masks: on devices no memory tells."""

    def f(x):
        y = x.copy()
        return np.sum(write(y, index(x), x) * x)

    x = np.array([1.0, -2.0, 3.0, 0.5])
    with wide_jax():
        try:
            tg.config.compile = False
            wanted = tg.value_and_grad(f)(x)
            for backend in ("numpy", "jax"):
                value, gradient = tg.value_and_grad(f, backend=backend)(jax.numpy.asarray(x))
                assert np.allclose(value, f(x)) and np.allclose(value, wanted[0])
                assert np.allclose(gradient, wanted[1])
        finally:
            tg.config.compile = True


@pytest.mark.parametrize("first", [9, 5])
def test_an_index_is_asked_for_each_length(first):
    """What a longer array has at an index, a shorter one may not have."""
    reads = [
        *(lambda t: t[7], lambda t: t[-8], lambda t: np.take(t, 7), lambda t: t[7, ...]),
        *(lambda t: t.reshape(-1, 1)[7, 0], lambda t: t[::2][4]),
    ]
    for read in reads:
        for n in (first, 9, 5, 9, 5):
            plain, there = np.arange(1.0, n + 1), tg.tensor(np.arange(1.0, n + 1)).to("jax")
            if n == 5:
                with pytest.raises(IndexError):
                    read(there)
            else:
                assert float(read(there)) == read(plain)


def test_calls_without_a_program_raise_for_each_length():
    def f(x):
        try:
            return x[7] * 2.0
        except IndexError:
            return x.sum()

    jnp = pytest.importorskip("jax.numpy")
    made = tg.value_and_grad(f, backend="jax")
    with wide_jax():
        for n in (3, 9, 4, 12, 8, 2, 9, 5):
            for x in (np.linspace(1.0, 2.0, n), jnp.linspace(1.0, 2.0, n)):
                value, slope = made(x)
                assert abs(float(value) - f(np.linspace(1.0, 2.0, n))) < 1e-12
                assert float(np.sum(np.asarray(slope))) == (2.0 if n > 7 else n)
