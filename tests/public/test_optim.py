"""Optimizers against textbook loops in plain NumPy, their three forms against each other."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad import optim

# -- references: one parameter, a list of gradients, the loop of the algorithm box ----------------


def sgd_by_hand(
    p: Any,
    grads: Sequence[Any],
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    maximize: bool = False,
) -> Any:
    velocity = None
    for g in grads:
        g = (-g if maximize else g) + weight_decay * p
        if momentum:
            velocity = g if velocity is None else momentum * velocity + (1 - dampening) * g
            g = g + momentum * velocity if nesterov else velocity
        p = p - lr * g
    return p


def adam_by_hand(
    p: Any,
    grads: Sequence[Any],
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    amsgrad: bool = False,
    maximize: bool = False,
    decoupled: bool = False,
) -> Any:
    (beta1, beta2), m, v, v_max = betas, 0.0 * p, 0.0 * p, 0.0 * p
    for t, g in enumerate(grads, start=1):
        g = -g if maximize else g
        if decoupled:
            p = p - lr * weight_decay * p
        else:
            g = g + weight_decay * p
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        v_max = np.maximum(v_max, v)
        m_hat = m / (1 - beta1**t)
        v_hat = (v_max if amsgrad else v) / (1 - beta2**t)
        p = p - lr * m_hat / (np.sqrt(v_hat) + eps)
    return p


def adamw_by_hand(p: Any, grads: Sequence[Any], weight_decay: float = 1e-2, **more: Any) -> Any:
    return adam_by_hand(p, grads, weight_decay=weight_decay, decoupled=True, **more)


def rmsprop_by_hand(
    p: Any,
    grads: Sequence[Any],
    lr: float = 1e-2,
    alpha: float = 0.99,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    momentum: float = 0.0,
    centered: bool = False,
    maximize: bool = False,
) -> Any:
    v, mean, buffer = 0.0 * p, 0.0 * p, 0.0 * p
    for g in grads:
        g = (-g if maximize else g) + weight_decay * p
        v = alpha * v + (1 - alpha) * g**2
        mean = alpha * mean + (1 - alpha) * g
        variance = v - mean**2 if centered else v
        buffer = momentum * buffer + g / (np.sqrt(variance) + eps)
        p = p - lr * buffer
    return p


FORMS: dict[str, tuple[Any, Callable[..., Any], Callable[..., Any]]] = {
    "SGD": (optim.SGD, optim.sgd, sgd_by_hand),
    "Adam": (optim.Adam, optim.adam, adam_by_hand),
    "AdamW": (optim.AdamW, optim.adamw, adamw_by_hand),
    "RMSprop": (optim.RMSprop, optim.rmsprop, rmsprop_by_hand),
}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "maximize": True, "weight_decay": 0.1}),
    ("Adam", {}),
    ("Adam", {"lr": 0.1, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1, "amsgrad": True}),
    ("Adam", {"lr": 0.1, "maximize": True}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.3, "amsgrad": True}),
    ("RMSprop", {}),
    ("RMSprop", {"lr": 0.05, "alpha": 0.9, "momentum": 0.8, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.05, "eps": 0.1, "centered": True, "maximize": True}),
]
cases = pytest.mark.parametrize(("name", "settings"), CASES, ids=lambda v: str(v))

Run = tuple[dict[str, Any], list[dict[str, Any]]]


@pytest.fixture
def run() -> Run:
    """Parameters, and ten gradients of them."""
    rng = np.random.default_rng(0)
    shapes = {"w": (3, 2), "b": (4,), "empty": (0,), "scale": ()}
    params = {name: np.asarray(rng.normal(size=shape)) for name, shape in shapes.items()}
    grads = [
        {n: np.asarray(rng.normal(size=p.shape)) for n, p in params.items()} for _ in range(10)
    ]
    return params, grads


def tensors(params: dict[str, Any]) -> dict[str, Any]:
    return {name: tg.tensor(p, requires_grad=True) for name, p in params.items()}


def give(params: dict[str, Any], grads: dict[str, Any]) -> None:
    for name, p in params.items():
        p.grad = tg.tensor(grads[name])


def arrays(params: dict[str, Any]) -> dict[str, Any]:
    return {name: p.detach().numpy() for name, p in params.items()}


def updated(opt: Any, params: dict[str, Any], grads: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The arrays of the parameters after a step for each of the gradients."""
    for g in grads:
        give(params, g)
        opt.step()
    return arrays(params)


def assert_close(found: dict[str, Any], expected: dict[str, Any], rtol: float = 1e-12) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=rtol, atol=1e-14, err_msg=name)


# -- the rules, in three forms --------------------------------------------------------------------


@cases
def test_object_equals_reference(name: str, settings: dict[str, Any], run: Run) -> None:
    params, grads = run
    make, _, by_hand = FORMS[name]
    found = tensors(params)
    expected = {n: by_hand(p, [g[n] for g in grads], **settings) for n, p in params.items()}
    assert_close(updated(make(found.values(), **settings), found, grads), expected)


@cases
def test_pure_equals_object(name: str, settings: dict[str, Any], run: Run) -> None:
    params, grads = run
    make, pure, _ = FORMS[name]
    found = tensors(params)
    expected = updated(make(found.values(), **settings), found, grads)
    init, update = pure(**settings)
    state = init(params)
    for g in grads:
        params, state = update(params, g, state)
    assert_close(params, expected)
    assert int(state["step"]) == len(grads)


@cases
def test_compiled_equals_pure(name: str, settings: dict[str, Any], run: Run) -> None:
    params, grads = run
    params = {n: p[()] for n, p in params.items()}  # NumPy's scalar, which is what comes back
    init, update = FORMS[name][1](**settings)
    expected, expected_state = params, init(params)
    compiled = tg.compile(lambda params, g, state: update(params, g, state))
    state = init(params)
    for g in grads:
        expected, expected_state = update(expected, g, expected_state)
        params, state = compiled(params, g, state)
    for n, p in expected.items():
        assert np.array_equal(params[n], p), n
    assert compiled.cache_info().versions == 1


@cases
def test_float32_stays_float32(name: str, settings: dict[str, Any], run: Run) -> None:
    params, grads = run
    single = {n: p.astype(np.float32) for n, p in params.items()}
    single_grads = [{n: a.astype(np.float32) for n, a in g.items()} for g in grads]
    make, pure, by_hand = FORMS[name]
    found = tensors(single)
    opt = make(found.values(), **settings)
    result = updated(opt, found, single_grads)
    expected = {n: by_hand(p, [g[n] for g in grads], **settings) for n, p in params.items()}
    assert_close(result, expected, rtol=2e-4)
    init, update = pure(**settings)
    pure_result, state = update(single, single_grads[0], init(single))
    kept = [v for s in opt.state.values() for k, v in s.items() if k != "step"]
    kept += [v for k, tree in state.items() if k != "step" for v in tree.values()]
    for array in [*result.values(), *pure_result.values(), *kept]:
        assert array.dtype == np.float32


@cases
def test_complex_is_two_real_parameters(name: str, settings: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(size=3) + 1j * rng.normal(size=3)
    grads = [rng.normal(size=3) + 1j * rng.normal(size=3) for _ in range(4)]
    make, _, by_hand = FORMS[name]
    params = {"z": tg.tensor(z, requires_grad=True)}
    result = updated(make(params.values(), **settings), params, [{"z": g} for g in grads])
    re = by_hand(z.real, [g.real for g in grads], **settings)
    im = by_hand(z.imag, [g.imag for g in grads], **settings)
    assert_close(result, {"z": re + 1j * im})


def after(opt_of: Callable[[Any], Any], p: float, g: float, steps: int) -> float:
    """The number p after so many steps with the constant gradient g."""
    x = tg.tensor(p, requires_grad=True)
    opt = opt_of([x])
    for _ in range(steps):
        x.grad = tg.tensor(g)
        opt.step()
    return float(x.item())


def test_closed_forms() -> None:
    p, g, n = 2.0, 0.5, 6
    assert after(lambda ps: optim.SGD(ps, lr=0.1), p, g, n) == pytest.approx(p - n * 0.1 * g)
    # Momentum 1/2 of a constant gradient: v_k = g (2 - 2^(1-k)), whose sum is g (2n - 2 + 2^(1-n)).
    moved = 0.1 * g * (2 * n - 2 + 2 ** (1 - n))
    found = after(lambda ps: optim.SGD(ps, lr=0.1, momentum=0.5), p, g, n)
    assert found == pytest.approx(p - moved)
    # Both averages of a constant gradient are corrected to the gradient: every step is lr.
    assert after(lambda ps: optim.Adam(ps, lr=0.1, eps=0.0), p, g, n) == pytest.approx(p - n * 0.1)
    # Without a gradient AdamW only decays.
    found = after(lambda ps: optim.AdamW(ps, lr=0.1, weight_decay=0.5), p, 0.0, n)
    assert found == pytest.approx(p * 0.95**n)
    # The first average of squares is (1 - alpha) g^2.
    found = after(lambda ps: optim.RMSprop(ps, lr=0.1, alpha=0.75, eps=0.0), p, g, 1)
    assert found == pytest.approx(p - 0.1 / 0.5)


def test_minimum_of_the_rosenbrock_function() -> None:
    x = tg.tensor([-1.0, 1.5], requires_grad=True)
    opt = optim.Adam([x], lr=0.05)
    for _ in range(1500):
        opt.zero_grad()
        value = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        value.backward()
        opt.step()
    assert value.item() < 1e-4
    np.testing.assert_allclose(x.detach().numpy(), [1.0, 1.0], atol=0.02)


# -- the object form ------------------------------------------------------------------------------


def test_step_writes_in_place_and_records_nothing() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    same_memory = x.detach()
    opt = optim.SGD([x], lr=0.5)
    (x * x).sum().backward()
    opt.step()
    assert same_memory.tolist() == [0.0, 0.0]
    assert x.is_leaf
    assert x.requires_grad
    assert x.grad_fn is None


def test_graph_recorded_before_a_step_is_not_silently_wrong() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    x.grad = tg.tensor([1.0, 1.0])
    optim.SGD([x], lr=0.5).step()
    with pytest.raises(RuntimeError, match="changed"):
        y.backward()


def test_step_under_create_graph_records_nothing() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([x], lr=0.5, momentum=0.5)
    (x**3).sum().backward(create_graph=True)
    opt.step()
    assert not opt.state[x]["momentum_buffer"].requires_grad
    assert x.is_leaf


def test_parameters_without_gradient_are_left_alone() -> None:
    x, y = tg.tensor([1.0], requires_grad=True), tg.tensor([1.0], requires_grad=True)
    opt = optim.Adam([x, y], lr=0.1)
    for _ in range(3):
        x.grad = tg.tensor([1.0])
        opt.step()
    assert y.tolist() == [1.0]
    assert y not in opt.state
    y.grad = tg.tensor([1.0])
    opt.step()
    assert y.item() == pytest.approx(0.9)  # its own first step
    assert [opt.state[p]["step"] for p in (x, y)] == [4, 1]


def test_closure_computes_the_gradient() -> None:
    x = tg.tensor([3.0], requires_grad=True)
    opt = optim.SGD([x], lr=0.5)

    def closure() -> Any:
        opt.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        return loss

    with tg.no_grad():
        assert opt.step(closure).item() == 9.0
    assert x.tolist() == [0.0]
    assert opt.step() is None


def test_zero_grad() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([x])
    opt.zero_grad()
    assert x.grad is None
    x.grad = tg.tensor([1.0, 1.0])
    opt.zero_grad(set_to_none=False)
    assert x.grad.tolist() == [0.0, 0.0]
    opt.zero_grad()
    assert x.grad is None


def test_groups_have_settings_of_their_own() -> None:
    x, y, z = (tg.tensor([1.0], requires_grad=True) for _ in range(3))
    opt = optim.SGD([{"params": [x]}, {"params": y, "lr": 0.5}], lr=0.1)
    opt.add_param_group({"params": [z], "lr": 0.25, "maximize": True})
    for p in (x, y, z):
        p.grad = tg.tensor([1.0])
    opt.step()
    assert [p.item() for p in (x, y, z)] == pytest.approx([0.9, 0.5, 1.25])
    opt.param_groups[0]["lr"] = 0.4
    opt.step()
    assert x.item() == pytest.approx(0.5)
    assert [group["lr"] for group in opt.param_groups] == [0.4, 0.5, 0.25]


def test_repr_shows_the_groups() -> None:
    opt = optim.SGD([tg.tensor([1.0], requires_grad=True)], lr=0.1)
    assert repr(opt) == (
        "SGD(\n    group 0: 1 Tensor, lr=0.1, momentum=0.0, dampening=0.0, weight_decay=0.0, "
        "nesterov=False, maximize=False\n)"
    )


@cases
def test_training_goes_on_from_a_saved_state(name: str, settings: dict[str, Any], run: Run) -> None:
    params, grads = run
    make = FORMS[name][0]
    whole = tensors(params)
    expected = updated(make(whole.values(), **settings), whole, grads)

    first = tensors(params)
    opt = make(first.values(), **settings)
    half = updated(opt, first, grads[:5])
    saved = pickle.loads(pickle.dumps(opt.state_dict()))
    second = tensors(half)
    resumed = make(second.values(), lr=99.0)
    resumed.load_state_dict(saved)
    for n, p in updated(resumed, second, grads[5:]).items():
        assert np.array_equal(p, expected[n]), n


def test_saved_state_does_not_change_with_the_optimizer(run: Run) -> None:
    params, grads = run
    found = tensors(params)
    opt = optim.SGD(found.values(), lr=0.1, momentum=0.9)
    updated(opt, found, grads[:1])
    saved = opt.state_dict()
    updated(opt, found, grads[1:])
    assert_close({"b": saved["state"][1]["momentum_buffer"].numpy()}, {"b": grads[0]["b"]})
    assert saved["state"][1]["step"] == 1


def test_state_dict_as_pytorch_lays_it_out() -> None:
    x = tg.tensor([1.0], requires_grad=True)
    opt = optim.Adam([x], lr=0.1)
    # What torch.optim.Adam saves after one step with the gradient 2, its arrays as NumPy's.
    opt.load_state_dict(
        {
            "state": {
                0: {
                    "step": np.float32(1.0),
                    "exp_avg": np.array([0.2], np.float32),
                    "exp_avg_sq": np.array([0.004], np.float32),
                }
            },
            "param_groups": [{"lr": 0.5, "foreach": None, "params": [0]}],
        }
    )
    x.grad = tg.tensor([2.0])
    opt.step()
    assert x.item() == pytest.approx(0.5, abs=1e-6)
    assert opt.state[x]["exp_avg"].dtype == np.float64


def test_state_of_other_groups_is_refused() -> None:
    x, y = tg.tensor([1.0], requires_grad=True), tg.tensor([1.0], requires_grad=True)
    with pytest.raises(ValueError, match=r"groups of \[1\] Tensors, these are \[2\]"):
        optim.SGD([x, y]).load_state_dict(optim.SGD([x]).state_dict())


X = tg.tensor([1.0], requires_grad=True)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: optim.SGD([X], lr=-1.0), ValueError, "lr=-1.0"),
        (lambda: optim.SGD([X], momentum=-0.5), ValueError, "momentum=-0.5"),
        (lambda: optim.SGD([X], nesterov=True), ValueError, "needs a momentum"),
        (
            lambda: optim.SGD([X], momentum=0.9, dampening=0.1, nesterov=True),
            ValueError,
            "no dampening",
        ),
        (lambda: optim.Adam([X], betas=(0.9, 1.0)), ValueError, r"betas=\(0.9, 1.0\)"),
        (lambda: optim.RMSprop([X], eps=float("nan")), ValueError, "eps=nan"),
        (lambda: optim.sgd(lr=-1.0), ValueError, "lr=-1.0"),
        (lambda: optim.adam(lr="fast"), ValueError, "lr='fast' must be a number"),
        (lambda: optim.SGD([X, X]), ValueError, "twice"),
        (lambda: optim.SGD([]), TypeError, "an empty one"),
        (lambda: optim.SGD(X), TypeError, "list of Tensors"),
        (lambda: optim.SGD({"x": X}), TypeError, "not dict"),
        (lambda: optim.SGD([np.ones(2)]), TypeError, "not ndarray"),
        (lambda: optim.SGD([X * 2]), TypeError, "only a leaf"),
    ],
)
def test_mistakes_are_named(make: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        make()
    assert isinstance(caught.value, tg.errors.TracegradError)


# -- the pure form --------------------------------------------------------------------------------


def test_pure_takes_pytrees_and_changes_nothing() -> None:
    params = [{"w": np.ones((2, 2))}, (np.zeros(2), 3.0)]
    grads = [{"w": np.ones((2, 2))}, (np.ones(2), 1.0)]
    init, update = optim.sgd(lr=0.5, momentum=0.5)
    state = init(params)
    new, new_state = update(params, grads, state)
    assert params[0]["w"].tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert state["momentum_buffer"][0]["w"].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert int(state["step"]) == 0
    assert new[0]["w"].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert new[1][0].tolist() == [-0.5, -0.5]
    assert float(new[1][1]) == 2.5
    assert int(new_state["step"]) == 1


def test_pure_state_of_jax_arrays_lies_as_they_do() -> None:
    jax = pytest.importorskip("jax")
    params = {"w": jax.device_put(np.ones((2, 3), np.float32)), "b": np.zeros(2)}
    state = tg.optim.adam(lr=0.1)[0](params)
    kept = state["exp_avg"]
    assert isinstance(kept["w"], jax.Array) and kept["w"].sharding == params["w"].sharding
    assert kept["w"].dtype == np.float32 and not kept["w"].any()
    assert type(kept["b"]) is np.ndarray


def test_pure_refuses_another_structure() -> None:
    init, update = optim.adam()
    with pytest.raises(TypeError, match="'b'"):
        update({"w": np.ones(2)}, {"b": np.ones(2)}, init({"w": np.ones(2)}))


def test_whole_training_step_is_one_program() -> None:
    rng = np.random.default_rng(0)
    x, true_w = rng.normal(size=(32, 3)), np.array([1.0, -2.0, 0.5])
    y = x @ true_w
    init, update = optim.adamw(lr=0.05, weight_decay=0.0)
    loss = tg.value_and_grad(lambda w, x, y: np.mean((x @ w - y) ** 2))

    @tg.compile
    def step(w: Any, state: Any, x: Any, y: Any) -> Any:
        value, gradient = loss(w, x, y)
        w, state = update(w, gradient, state)
        return w, state, value

    w = np.zeros(3)
    state = init(w)
    for _ in range(500):
        w, state, value = step(w, state, x, y)
    np.testing.assert_allclose(w, true_w, atol=1e-3)
    assert value < 1e-6
    assert step.cache_info().traces == 1
    assert "import tracegrad" not in step.source(w, state, x, y)


def test_update_is_differentiable() -> None:
    """The loss after a step, as a function of where the step began."""
    init, update = optim.sgd(lr=0.1, momentum=0.9, nesterov=True)
    target = np.array([1.0, 2.0])

    def loss(w: Any) -> Any:
        return ((w - target) ** 4).sum()

    def loss_after_step(w: Any) -> Any:
        new, _ = update(w, tg.grad(loss)(w), init(np.zeros(2)))
        return loss(new)

    w, h = np.array([0.5, 1.0]), 1e-6
    found = tg.grad(loss_after_step)(w)
    for i in range(2):
        shift = h * np.eye(2)[i]
        difference = (loss_after_step(w + shift) - loss_after_step(w - shift)) / (2 * h)
        assert found[i] == pytest.approx(difference, rel=1e-6)


# -- clipping -------------------------------------------------------------------------------------


def with_gradients(*grads: Any) -> list[Any]:
    params = []
    for g in grads:
        p = tg.zeros(np.shape(g), requires_grad=True)
        p.grad = tg.tensor(g)
        params.append(p)
    return params


@pytest.mark.parametrize(
    ("order", "norm"), [(2.0, 13.0), (1.0, 19.0), (float("inf"), 12.0), (3.0, 1819.0 ** (1 / 3))]
)
def test_clip_grad_norm(order: float, norm: float) -> None:
    params = with_gradients([3.0, -4.0], [[12.0]])
    held = params[0].grad
    found = optim.clip_grad_norm_(params, max_norm=2.0, norm_type=order)
    assert found.item() == pytest.approx(norm)
    scale = 2.0 / (found.item() + 1e-6)
    np.testing.assert_allclose(held.numpy(), [3.0 * scale, -4.0 * scale])  # in place
    np.testing.assert_allclose(params[1].grad.numpy(), [[12.0 * scale]])


def test_clip_grad_norm_leaves_small_gradients() -> None:
    params = with_gradients([0.3, 0.4])
    assert optim.clip_grad_norm_(params[0], max_norm=1.0).item() == pytest.approx(0.5)
    assert params[0].grad.tolist() == [0.3, 0.4]


def test_clip_grad_norm_without_gradients() -> None:
    assert optim.clip_grad_norm_([tg.ones(2, requires_grad=True)], 1.0).item() == 0.0


def test_clip_grad_norm_of_nan() -> None:
    params = with_gradients([float("nan"), 1.0])
    with pytest.raises(ValueError, match="norm nan"):
        optim.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)
    assert params[0].grad[1].item() == 1.0


def test_clip_grad_value() -> None:
    params = with_gradients([3.0, -4.0, 0.5])
    optim.clip_grad_value_(params, 1.0)
    assert params[0].grad.tolist() == [1.0, -1.0, 0.5]


def test_clip_pytrees_in_a_compiled_function() -> None:
    grads = {"w": np.array([3.0, 0.0]), "b": np.array([4.0], np.float32)}
    clipped, norm = tg.compile(lambda g: optim.clip_norm(g, 1.0))(grads)
    expected, expected_norm = optim.clip_norm(grads, 1.0)
    assert norm == expected_norm == 5.0
    for name, g in grads.items():
        assert np.array_equal(clipped[name], expected[name])
        assert clipped[name].dtype == g.dtype
    values = tg.compile(lambda g: optim.clip_value(g, 3.5))(grads)
    assert [values["w"].tolist(), values["b"].tolist()] == [[3.0, 0.0], [3.5]]


# -- schedules ------------------------------------------------------------------------------------


def rates(schedule_of: Callable[[Any], Any], steps: int) -> list[float]:
    opt = optim.SGD([tg.tensor([1.0], requires_grad=True)], lr=2.0)
    schedule = schedule_of(opt)
    found = [schedule.get_last_lr()[0]]
    for _ in range(steps):
        schedule.step()
        found.append(opt.param_groups[0]["lr"])
    return found


def test_step_lr() -> None:
    found = rates(lambda opt: optim.StepLR(opt, step_size=2, gamma=0.5), 5)
    assert found == [2.0, 2.0, 1.0, 1.0, 0.5, 0.5]


def test_cosine_lr() -> None:
    found = rates(lambda opt: optim.CosineLR(opt, steps=4, minimum=0.1), 6)
    half = 1.1  # between 2 and 0.2
    quarter = 0.9 * np.cos(np.pi / 4)
    expected = [2.0, half + quarter, half, half - quarter, 0.2, 0.2, 0.2]
    assert found == pytest.approx(expected)


def test_linear_warmup() -> None:
    found = rates(lambda opt: optim.LinearWarmup(opt, steps=4, start=0.2), 6)
    assert found == pytest.approx([0.4, 0.8, 1.2, 1.6, 2.0, 2.0, 2.0])


def test_schedules_multiply() -> None:
    opt = optim.SGD([tg.tensor([1.0], requires_grad=True)], lr=1.0)
    schedules = [optim.LinearWarmup(opt, steps=2, start=0.5), optim.StepLR(opt, 2, gamma=0.1)]
    found = []
    for _ in range(5):
        found.append(opt.param_groups[0]["lr"])
        for schedule in schedules:
            schedule.step()
    assert found == pytest.approx([0.5, 0.75, 0.1, 0.1, 0.01])


def test_schedule_goes_on_from_a_saved_state() -> None:
    def make() -> tuple[Any, Any]:
        opt = optim.SGD([tg.tensor([1.0], requires_grad=True)], lr=1.0)
        return opt, optim.CosineLR(opt, steps=10)

    opt, schedule = make()
    for _ in range(3):
        schedule.step()
    resumed, resumed_schedule = make()
    resumed.load_state_dict(opt.state_dict())
    resumed_schedule.load_state_dict(schedule.state_dict())
    for _ in range(3):
        assert resumed.param_groups[0]["lr"] == opt.param_groups[0]["lr"]
        schedule.step()
        resumed_schedule.step()


def test_schedule_of_groups() -> None:
    x, y = tg.tensor([1.0], requires_grad=True), tg.tensor([1.0], requires_grad=True)
    opt = optim.SGD([{"params": [x]}, {"params": [y], "lr": 1.0}], lr=0.1)
    schedule = optim.StepLR(opt, step_size=1, gamma=0.5)
    schedule.step()
    assert schedule.get_last_lr() == pytest.approx([0.05, 0.5])


def test_schedule_in_a_compiled_update_equals_the_object() -> None:
    p, grads = np.array([1.0, 2.0]), [np.array([1.0, -1.0 * k]) for k in range(1, 9)]
    x = tg.tensor(p, requires_grad=True)
    opt = optim.SGD([x], lr=0.3)
    schedules = [optim.LinearWarmup(opt, steps=3), optim.CosineLR(opt, steps=6, minimum=0.1)]
    warmup, decay = optim.linear_warmup(3), optim.cosine_decay(6, minimum=0.1)
    init, update = optim.sgd(lr=lambda t: 0.3 * warmup(t) * decay(t))
    step = tg.compile(lambda p, g, state: update(p, g, state))
    state = init(p)
    for g in grads:
        x.grad = tg.tensor(g)
        opt.step()
        for schedule in schedules:
            schedule.step()
        p, state = step(p, g, state)
        np.testing.assert_allclose(p, x.detach().numpy(), rtol=1e-13)
    assert step.cache_info().traces == 1
