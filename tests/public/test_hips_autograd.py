"""Code as it is written for HIPS autograd, with the other name: its modules, operators, helpers."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings

import numpy
import pytest
from checks import assert_close

import tracegrad
import tracegrad.numpy as np
import tracegrad.numpy.random as npr
from tracegrad import (
    deriv,
    differential_operators,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_jvp_reversemode,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)
from tracegrad.builtins import isinstance as same_isinstance
from tracegrad.builtins import tuple as same_tuple
from tracegrad.core import make_jvp as jvp_of_one
from tracegrad.core import make_vjp as vjp_of_one
from tracegrad.extend import VSpace, defvjp, primitive, vspace
from tracegrad.misc import const_graph, flatten
from tracegrad.misc.fixed_points import fixed_point
from tracegrad.misc.flatten import flatten_func
from tracegrad.misc.optimizers import adam, rmsprop, sgd
from tracegrad.test_util import check_equivalent, check_grads, combo_check
from tracegrad.tracer import getval, isbox
from tracegrad.wrap_util import unary_to_nary, wraps

X = numpy.array([0.3, -1.2, 0.8])
A = numpy.array([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]])


@pytest.fixture(params=[True, False], ids=["compiled", "eager"])
def either_way(request):
    tracegrad.config.compile = request.param
    yield
    tracegrad.config.compile = True


def wave(x):
    return np.tanh(np.dot(A, x))


def jacobian_of_wave(x):
    return (1.0 - numpy.tanh(A @ x) ** 2)[:, None] * A


def bowl(x):
    return np.sum(np.sin(x) * x**2)


def hessian_of_bowl(x):
    return numpy.diag((2.0 - x**2) * numpy.sin(x) + 4.0 * x * numpy.cos(x))


# -- NumPy's names ---------------------------------------------------------------------------------


def test_names_are_numpys():
    for name in numpy.__all__:
        if name not in ("fft", "linalg", "random", "r_", "c_"):
            assert getattr(np, name) is getattr(numpy, name), name
    assert np.linalg.inv is numpy.linalg.inv
    assert np.fft.fft is numpy.fft.fft
    assert npr.RandomState is numpy.random.RandomState


def test_importing_is_light():
    program = """
import sys, tracegrad
before = set(sys.modules)
assert not {m for m in before if m.startswith(("tracegrad.numpy", "tracegrad.scipy", "scipy"))}
import tracegrad.numpy as np
from tracegrad import grad
import tracegrad.extend, tracegrad.misc.optimizers, tracegrad.test_util
assert "scipy" not in sys.modules
print(grad(lambda x: np.sum(x**2))(np.ones(1)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[2.]\n", done.stderr


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.array([x[0], x[1] * x[2], 3.0]),
        lambda x: np.r_[x, 1.0, x[0], 2:4],
        lambda x: np.r_["0,2", x, x**2],
        lambda x: np.c_[x, np.ones(3), x**2],
        lambda x: np.r_[[x[0], 2.0], x],
        lambda x: np.full((2, 2), x[0]) * np.full_like(A, x[1])[:, :2],
        lambda x: np.transpose(np.outer(x, x**2), axes=(1, 0)),
        lambda x: np.make_diagonal(np.outer(x, x), axis1=-1, axis2=-2),
        lambda x: np.concatenate([x, [1.0], x]),
        lambda x: x[np.int64(np.abs(x[:2] * 2))],
        lambda x: np.where(x > 0, x, x**2),
    ],
)
def test_arrays_are_made_of_traced_values(f, either_way):
    weights = numpy.cos(numpy.arange(numpy.size(f(X)))).reshape(numpy.shape(f(X)))

    def weighed(x):
        return np.sum(weights * f(x))

    step = 1e-6 * numpy.eye(3)
    measured = [(weighed(X + e) - weighed(X - e)) / 2e-6 for e in step]
    assert_close(grad(weighed)(X), numpy.array(measured), rtol=1e-6, atol=1e-8)


def test_arrays_are_filled(either_way):
    def filled(x):
        y = np.zeros(3)
        for i in range(3):
            y[i] = x[i] ** (i + 1)
        return np.sum(y)

    assert_close(grad(filled)(X), numpy.array([1.0, 2 * X[1], 3 * X[2] ** 2]), rtol=1e-12)


def test_random_numbers_move_on():
    state = npr.RandomState(0)
    same = numpy.random.RandomState(0)
    slope = grad(lambda x: np.sum(np.exp(x * state.randn(3))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tracegrad.errors.RecompileWarning)
        for _ in range(4):
            drawn = same.randn(3)
            assert_close(slope(0.5), numpy.sum(drawn * numpy.exp(0.5 * drawn)), rtol=1e-12)


# -- operators -------------------------------------------------------------------------------------


def test_argnum():
    def f(x, y, z=1.0):
        return np.sum(x * y**2) * z

    assert_close(grad(f, argnum=1)(X, X, z=2.0), 4.0 * X**2, rtol=1e-12)
    assert_close(grad(f, argnum=[1, 0])(X, X), (2.0 * X**2, X**2), rtol=1e-12)
    value, gradient = value_and_grad(f, argnum=(0,))(X, X)
    assert_close([value, gradient[0]], [numpy.sum(X**3), X**2], rtol=1e-12)
    assert_close(grad_named(f, "y")(X, X), 2.0 * X**2, rtol=1e-12)
    with pytest.raises(tracegrad.errors.ArgumentError, match="w"):
        grad_named(f, "w")
    with pytest.raises(tracegrad.errors.ArgumentError, match="positional"):
        elementwise_grad(f, 2)(X, X)


@pytest.mark.parametrize("shape", [(1,), (1, 1), ()])
def test_results_of_one_element(shape, either_way):
    def f(x):
        return np.reshape(np.dot(x, x), shape)

    for _ in range(2):
        value, gradient = value_and_grad(f)(X)
        assert value.shape == shape
        assert_close(gradient, 2.0 * X, rtol=1e-12)
    assert_close(grad(lambda x: np.sum(grad(f)(x) ** 2))(X), 8.0 * X, rtol=1e-12)
    only = grad(lambda x: np.sin(x))
    assert_close(only(X[:1]), numpy.cos(X[:1]), rtol=1e-12)
    with pytest.raises(TypeError, match="one number"):
        only(X)


def test_vector_products(either_way):
    v, u = numpy.array([1.0, -2.0, 0.3]), numpy.array([0.7, 1.5])
    J = jacobian_of_wave(X)
    pull, value = make_vjp(wave)(X)
    assert_close([value, pull(u)], [wave(X), u @ J], rtol=1e-12)
    assert_close(make_jvp(wave)(X)(v), (wave(X), J @ v), rtol=1e-12)
    assert_close(make_jvp_reversemode(wave)(X)(v), J @ v, rtol=1e-12)
    assert_close(vector_jacobian_product(wave)(X, u), u @ J, rtol=1e-12)
    assert_close(tensor_jacobian_product(wave)(X, numpy.array(2.0)), 2.0 * J, rtol=1e-12)
    hvp, gradient = make_hvp(bowl)(X)
    assert_close(gradient, grad(bowl)(X), rtol=1e-12)
    assert_close(hvp(v), hessian_of_bowl(X) @ v, rtol=1e-11)
    assert_close(hessian_vector_product(bowl)(X, v), hessian_of_bowl(X) @ v, rtol=1e-11)
    assert_close(make_ggnvp(wave)(X)(v), J.T @ (J @ v), rtol=1e-12)
    quartic = make_ggnvp(wave, lambda y: np.sum(y**4))(X)(v)
    assert_close(quartic, J.T @ (12.0 * wave(X) ** 2 * (J @ v)), rtol=1e-11)


def test_tensor_products_of_matrices():
    M, V = numpy.outer(X, X), numpy.outer(X[::-1], X)
    found = hessian_tensor_product(lambda m: np.sum(np.sin(m)))(M, V)
    assert_close(found, -numpy.sin(M) * V, rtol=1e-12)
    rolled = tensor_jacobian_product(lambda m: np.roll(np.sin(m), 1))(M, V)
    assert_close(rolled, numpy.roll(V, -1) * numpy.cos(M), rtol=1e-12)


def test_other_operators(either_way):
    assert_close(
        elementwise_grad(lambda a, x: a * np.sin(x), 1)(2.0, X), 2.0 * numpy.cos(X), rtol=1e-12
    )
    assert_close(deriv(lambda t: np.array([t, t**2]))(3.0), numpy.array([1.0, 6.0]), rtol=1e-12)
    assert_close(holomorphic_grad(lambda z: z**3)(1.0 + 2.0j), 3 * (1 + 2j) ** 2, rtol=1e-12)
    gradient, aux = grad_and_aux(lambda x: (np.sum(x**2), {"x": x}))(X)
    assert_close([gradient, aux["x"]], [2 * X, X], rtol=1e-12)
    found = multigrad_dict(lambda x, y=2.0: x * y**2)(3.0)
    assert list(found) == ["x", "y"]
    assert_close(list(found.values()), [4.0, 12.0], rtol=1e-12)
    with pytest.raises(TypeError, match="complex"):
        elementwise_grad(lambda x: x * 1j)(X)
    with pytest.warns(UserWarning, match="complex"):
        holomorphic_grad(lambda z: z**2)(2.0)


def test_closures_of_functions_that_are_differentiated(either_way):
    """A derivative that is taken inside keeps what it reads of the function around it."""

    def by_grad(x):
        return x * grad(lambda y: x * y)(2.0)

    def by_vjp(x):
        return x * make_vjp(lambda y: x * y)(2.0)[0](1.0)

    def by_elements(x):
        return x * elementwise_grad(lambda y: x * y)(2.0)

    for f in (by_grad, by_vjp, by_elements):
        assert_close(grad(f)(3.0), 6.0, rtol=1e-12)
        assert_close(make_vjp(f)(3.0)[0](1.0), 6.0, rtol=1e-12)
        assert_close(make_jvp(f)(3.0)(1.0), (9.0, 6.0), rtol=1e-12)
        assert_close(make_vjp(lambda x, f=f: grad(f)(x))(3.0)[0](1.0), 2.0, rtol=1e-12)


def test_a_pullback_is_differentiable_in_the_cotangent():
    pull, _ = make_vjp(lambda x: np.sin(x) * x)(X)
    _, transposed = tracegrad.vjp(pull, numpy.zeros(3))
    slope = numpy.cos(X) * X + numpy.sin(X)
    assert_close(transposed(numpy.ones(3))[0], slope, rtol=1e-12)


def test_numbers_and_arrays_share_no_backward():
    """A tape of Python numbers is not taken for one of NumPy's."""

    def f(x, w):
        return np.sum(np.exp(x * w))

    w = numpy.ones(3)
    assert_close(make_vjp(lambda x: f(x, w))(numpy.float64(1.0))[0](1.0), 3 * numpy.e, rtol=1e-12)
    for x in (1.0, numpy.float64(1.0), numpy.array(1.0), 1.0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            slope = grad(lambda x: f(x, npr.randn(3) * 0 + w))
            assert_close(slope(x), 3 * numpy.e, rtol=1e-12)
            assert_close(slope(x), 3 * numpy.e, rtol=1e-12)


def test_derivatives_of_ufuncs():
    for _ in range(2):
        assert_close(grad(grad(np.sqrt))(2.0), -0.25 * 2.0**-1.5, rtol=1e-12)
    assert_close(
        elementwise_grad(elementwise_grad(np.tanh))(X[:1])[0],
        -2 * numpy.tanh(X[0]) / numpy.cosh(X[0]) ** 2,
        rtol=1e-10,
    )


def test_operators_of_one_value():
    pull, value = vjp_of_one(wave, X)
    assert_close([value, pull(numpy.ones(2))], [wave(X), jacobian_of_wave(X).sum(0)], rtol=1e-12)
    assert_close(jvp_of_one(wave, X)(X)[1], jacobian_of_wave(X) @ X, rtol=1e-12)

    @unary_to_nary
    def twice(f, x):
        return f(f(x))

    assert twice(lambda a, x: a * x, 1)(3.0, 2.0) == 18.0
    assert twice(lambda a, x: (x[1], x[0]), (0, 1)) is not None


# -- boxes and spaces ------------------------------------------------------------------------------


def test_boxes():
    seen = []

    def f(x):
        seen.append((isbox(x), isbox(getval(2.0))))
        return x * getval(x)

    assert grad(f)(3.0) == 3.0
    assert seen[0] == (True, False)
    assert same_isinstance((), same_tuple) and not isbox(X)


@pytest.mark.parametrize("value", [2.0, X, X * 1j, (1.0, [X, {"a": A}])])
def test_spaces(value):
    space = vspace(value)
    assert isinstance(space, VSpace)
    assert space == vspace(space.zeros()) == vspace(space.randn()) == vspace(space.ones())
    basis = list(space.standard_basis())
    assert len(basis) == space.size
    total = basis[0]
    for element in basis[1:]:
        total = space.add(total, element)
    check_equivalent(total, space.ones())
    x, y = space.randn(), space.randn()
    both = space.inner_prod(space.add(x, y), x)
    assert_close(both, space.inner_prod(x, x) + space.inner_prod(y, x), rtol=1e-9)
    assert_close(
        [space.inner_prod(b, x) for b in basis], [space.inner_prod(x, b) for b in basis], rtol=1e-12
    )
    check_equivalent(space.covector(space.covector(x)), x)
    check_equivalent(space.mut_add(None, x), x)
    with pytest.raises(TypeError, match="str"):
        vspace(["text"])


# -- helpers ---------------------------------------------------------------------------------------


def test_flat_vectors(either_way):
    tree = (1.0, A, [numpy.array([1, 2]), {"b": numpy.float32(2.0), "a": X}], ())
    vector, back = flatten(tree)
    assert vector.shape == (1 + 6 + 2 + 1 + 3,)
    assert_close(vector[-4:], numpy.array([*X, 2.0]), rtol=1e-12)
    again = back(vector)
    check_equivalent(flatten(again)[0], vector)
    assert again[2][1]["b"].dtype == numpy.float32
    gradient = grad(lambda t: np.sum(flatten([t[0], t[1]])[0] ** 2))((1.0, A))
    assert_close(gradient, (2.0, 2.0 * A), rtol=1e-12)
    assert_close(
        grad(lambda v: np.sum(back(v)[1] ** 3))(vector)[1:7], 3.0 * A.ravel() ** 2, rtol=1e-12
    )
    with pytest.raises(tracegrad.errors.ShapeError, match="13"):
        back(vector[1:])
    assert flatten([])[0].shape == (0,)
    flat, _, start = flatten_func(lambda p: {"x": 2.0 * p["x"]}, {"x": X})
    assert_close(flat(start), 2.0 * X, rtol=1e-12)


@pytest.mark.parametrize(
    ("optimizer", "options"),
    [
        (sgd, {"num_iters": 400}),
        (rmsprop, {"num_iters": 400, "step_size": 0.02}),
        (adam, {"num_iters": 600, "step_size": 0.05}),
    ],
)
def test_optimizers_find_a_minimum(optimizer, options):
    seen = []
    slope = grad(lambda p: np.sum((p["x"] - 1.0) ** 2) + (p["y"] + 2.0) ** 2)
    found = optimizer(
        lambda p, i: slope(p), {"x": X, "y": 0.0}, lambda p, i, g: seen.append((i, p, g)), **options
    )
    assert_close(found["x"], numpy.ones(3), rtol=0.05)
    assert_close(found["y"], -2.0, rtol=0.05)
    assert len(seen) == options["num_iters"] and set(seen[0][2]) == {"x", "y"}


def test_adam_is_that_of_the_paper():
    steps = []
    adam(lambda x, i: x, numpy.array([2.0]), lambda x, i, g: steps.append(x[0]), 3, 0.1)
    x = 2.0
    m = v = 0.0
    for i in range(3):
        assert_close(steps[i], x, rtol=1e-12)
        m, v = 0.9 * m + 0.1 * x, 0.999 * v + 0.001 * x * x
        x -= 0.1 * (m / (1 - 0.9 ** (i + 1))) / (numpy.sqrt(v / (1 - 0.999 ** (i + 1))) + 1e-8)


def test_fixed_points():
    def newton(a):
        return lambda x: 0.5 * (x + a / x)

    def root(a):
        return fixed_point(newton, a, 1.0, lambda x, y: np.max(np.abs(x - y)), 1e-13)

    assert_close(root(2.0), numpy.sqrt(2.0), rtol=1e-12)
    assert_close(grad(root)(2.0), 0.5 / numpy.sqrt(2.0), rtol=1e-9)
    assert_close(grad(grad(root))(2.0), -0.25 * 2.0**-1.5, rtol=1e-8)


def test_graphs_that_are_kept():
    f = const_graph(lambda a, x: a * np.sin(x), 2.0)
    for x in (0.3, 0.5):
        assert_close(f(x), 2.0 * numpy.sin(x), rtol=1e-12)


# -- checking --------------------------------------------------------------------------------------


def test_check_grads_passes_and_fails():
    np.random.seed(1)  # a direction that is nearly 0 shows no difference
    check_grads(lambda x, y: np.sum(np.sin(x) * y), (0, 1))(X, X)
    check_grads(lambda z: np.sum(np.abs(z) ** 2))(X + 1j)
    combo_check(np.sum, (0,))([X, A], axis=[None, 0])

    @primitive
    def wrong(x):
        return x * 2.0

    defvjp(wrong, lambda ans, x: lambda g: g * 2.001)
    for modes in (["rev"], ["fwd"]):
        with pytest.raises(AssertionError, match="check of wrong failed"):
            check_grads(wrong, modes=modes)(1.0)

    @primitive
    def double(x):
        return x * 2.0

    @primitive
    def off(g):
        return g

    defvjp(double, lambda ans, x: lambda g: off(g) * 2.0)
    defvjp(off, lambda ans, g: lambda h: h * 1.001)
    check_grads(double, modes=["rev"], order=1)(1.0)
    with pytest.raises(AssertionError, match="check of vjp_double failed"):
        check_grads(double, modes=["rev"])(1.0)
    with pytest.raises(tracegrad.errors.ArgumentError, match="modes"):
        check_grads(double, modes=["back"])(1.0)
    with pytest.raises(AssertionError):
        check_equivalent(X, X + 1e-3)
    with pytest.raises(AssertionError, match="spaces"):
        check_equivalent(X, A)


# -- what docs/from_hips_autograd.md says besides --------------------------------------------------


def test_a_float_is_a_float():
    assert grad(lambda x: x * len(np.shape(x) + (1, 1)))(1.0) == 2.0
    with pytest.raises(AttributeError):
        grad(lambda x: x * len(x.shape))(1.0)


def test_refusals():
    with pytest.raises(TypeError, match="floating point"):
        grad(lambda x: np.sum(x**2))(numpy.arange(3))
    with pytest.raises(TypeError, match=r"longdouble|float128"):
        grad(lambda x: np.sum(x**2))(numpy.ones(2, numpy.longdouble))
    assert grad(lambda x: np.sum(x**2))(numpy.ones(2, numpy.float16)).dtype == numpy.float16

    def writes(x):
        x[0] = 1.0
        return np.sum(x)

    with pytest.raises(tracegrad.errors.GradientError, match="copy"):
        grad(writes)(numpy.ones(2))


def test_ties_of_extremes_and_bounds():
    x = numpy.array([[1.0, 3.0, 3.0], [3.0, 0.0, 2.0]])
    for largest in (np.max, np.amax):
        assert_close(grad(largest)(x), (x == 3.0) / 3.0, rtol=1e-15)
    first = grad(lambda x: np.sum(np.max(x, axis=1)))(x)
    assert first.tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    shared = grad(lambda x: np.sum(np.amax(x, axis=1)))(x)
    assert shared.tolist() == [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]
    assert grad(lambda x: np.sum(np.clip(x, 1.0, 3.0)))(x).tolist() == [[1, 1, 1], [1, 0, 1]]


def test_modules_have_the_names_that_packages_import():
    names = ("builtins", "core", "differential_operators", "extend", "misc", "test_util", "tracer")
    for name in names:
        assert importlib.import_module(f"tracegrad.{name}")
    assert differential_operators.make_jvp_reversemode is make_jvp_reversemode
    for name in ("grad", "hessian", "jacobian", "value_and_grad", "checkpoint"):
        assert getattr(differential_operators, name) is getattr(tracegrad, name)
    assert np.numpy_boxes.ArrayBox and np.numpy_vjps.unbroadcast
    assert tracegrad.core.getval is getval and wraps(wave)(lambda x: x).__name__ == "wave"


def test_modules_of_scipy_need_no_import_of_their_own():
    program = """
import sys
import tracegrad.scipy as sp
assert "scipy" not in sys.modules
print([getattr(sp, name).__name__ for name in dir(sp) if not name.startswith("_")])
sp.missing
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    names = ["integrate", "linalg", "optimize", "signal", "special", "stats"]
    assert all(f"tracegrad.scipy.{name}" in done.stdout for name in names), done.stderr
    assert "module 'tracegrad.scipy' has no attribute 'missing'" in done.stderr


def test_integers_are_differentiated_by_operators_of_its_own():
    times = numpy.array([1, 2, 3])

    def hazard(scale, t):
        return scale * t**2

    def loss(scale):
        return np.sum(elementwise_grad(hazard, argnum=1)(scale, times))

    assert_close(elementwise_grad(hazard, argnum=1)(2.0, times), 4.0 * times, rtol=1e-15)
    assert_close(grad(loss)(2.0), 12.0, rtol=1e-15)
    assert_close(make_vjp(hazard, 1)(2.0, times)[0](np.ones(3)), 4.0 * times, rtol=1e-15)
    assert_close(make_jvp(hazard, 1)(2.0, times)(np.ones(3))[1], 4.0 * times, rtol=1e-15)
    assert_close(deriv(hazard, 1)(2.0, 3), 12.0, rtol=1e-15)


def test_names_stay():
    assert grad(wave, 0).__name__ == make_vjp(wave, 0).__name__ == "wave"
    assert grad.__name__ == "grad" and elementwise_grad.__name__ == "elementwise_grad"


def test_what_was_recorded_is_shown(tmp_path):
    f = grad(lambda x: np.sin(x) * x)
    assert "sin(" in str(f.graph(1.0)) and "np.cos(" in str(f.source(1.0))
    assert f.draw(tmp_path / "graph.svg", 1.0).stat().st_size > 0
    assert not hasattr(tracegrad.tracer, "Node")
