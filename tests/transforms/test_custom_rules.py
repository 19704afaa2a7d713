"""Plain functions with derivatives of the user's: `custom_vjp`, `custom_jvp`, `primitive`.

Rules that say what the function computes are compared with the same function without a rule; rules
that say something else show that it is they that are asked.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_close

import tracegrad as tg
from tracegrad.extend import (
    def_linear,
    defjvp,
    defjvp_argnum,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    notrace_primitive,
    primitive,
)
from tracegrad.values import given_rules

X, Y = np.array([0.3, 1.2]), np.array([2.0, -0.7])


@pytest.fixture(params=[True, False], ids=["compiled", "eager"])
def either_way(request):
    tg.config.compile = request.param
    yield
    tg.config.compile = True


@pytest.fixture
def forgotten(monkeypatch):
    """Rules of functions of other libraries hold in this test alone."""
    monkeypatch.setattr(given_rules, "_GIVEN", {})


def product(x, y):
    return np.sin(x) * y


@tg.custom_vjp
def ruled(x, y):
    """The sine of x times y."""
    assert type(x) is not tg.Tensor and type(y) is not tg.Tensor
    return np.sin(x) * y


def ruled_forward(x, y):
    return ruled(x, y), (np.cos(x), np.sin(x), y)


def ruled_backward(kept, ct):
    cosine, sine, y = kept
    return ct * cosine * y, ct * sine


ruled.defvjp(ruled_forward, ruled_backward)


def loss(f):
    return lambda x, y: np.sum(f(x, y) ** 2)


# -- custom_vjp ------------------------------------------------------------------------------------


def test_first_and_second_derivatives(either_way):
    def second(f):
        def slope(x, y):
            return np.sum(tg.grad(loss(f))(x, y) * np.array([1.0, 2.0]))

        return tg.grad(slope, argnums=(0, 1))

    first = tg.grad(loss(ruled), argnums=(0, 1))
    for _ in range(2):
        assert_close(first(X, Y), tg.grad(loss(product), argnums=(0, 1))(X, Y), rtol=1e-12)
        assert_close(second(ruled)(X, Y), second(product)(X, Y), rtol=1e-12)


def test_rules_get_arguments_that_are_left_to_their_defaults(either_way):
    @tg.custom_vjp
    def scaled(x, by=2.0, *, name="unused"):
        return x * by

    scaled.defvjp(lambda x, by: (x * by, by), lambda by, ct: (ct * by, None))
    assert_close(tg.grad(lambda x: np.sum(scaled(x)))(X), np.full(2, 2.0), rtol=1e-15)
    assert_close(tg.grad(lambda x: np.sum(scaled(x, by=3.0)))(X), np.full(2, 3.0), rtol=1e-15)
    assert_close(tg.grad(lambda x: np.sum(scaled(by=4.0, x=x)))(X), np.full(2, 4.0), rtol=1e-15)


@pytest.mark.parametrize(
    ("backward", "said"),
    [
        (lambda kept, ct: ct, "gave 1 cotangent for 2 arguments: it gives one each"),
        (lambda kept, ct: (ct, ct, ct), "gave 3 cotangents for 2 arguments"),
        (
            lambda kept, ct: ({"a": ct}, np.ones((2, 3))),
            r"of shape \(2, 3\) for argument 1, which has shape \(2,\)",
        ),
        (
            lambda kept, ct: ({"a": np.ones(3)}, ct),
            r"of shape \(3,\) for argument 0\['a'\], which has shape \(2,\)",
        ),
    ],
)
def test_what_a_rule_gives_is_held_against_its_arguments(either_way, backward, said):
    @tg.custom_vjp
    def added(p, x):
        return p["a"] + x

    added.defvjp(lambda p, x: (added(p, x), None), backward)
    with pytest.raises(tg.errors.GradientError, match=said):
        tg.grad(lambda p, x: np.sum(added(p, x)), argnums=(0, 1))({"a": X}, Y)


@pytest.mark.parametrize("decorator", [tg.custom_vjp, tg.custom_jvp])
def test_arguments_without_a_derivative_need_no_mark(decorator):
    with pytest.raises(tg.errors.ArgumentError, match="no nondiff_argnums: the rule gets every"):
        decorator(product, nondiff_argnums=(0,))


def test_third_derivatives():
    def third(f):
        return tg.grad(tg.grad(tg.grad(lambda x: f(x, 2.0))))

    assert_close(third(ruled)(0.3), -2.0 * np.cos(0.3), rtol=1e-12)


def test_on_tensors():
    x, y = (tg.tensor(v, requires_grad=True) for v in (X, Y))
    loss(ruled)(x, y).backward()
    assert_close([x.grad.numpy(), y.grad.numpy()], tg.grad(loss(product), (0, 1))(X, Y), rtol=1e-12)


def test_called_by_name_in_the_source():
    source = tg.grad(loss(ruled)).source(X, Y)
    assert "ruled_forward(x, y)" in source and "ruled_backward(" in source


def test_on_arrays_it_is_the_function():
    assert type(ruled(X, Y)) is np.ndarray
    assert ruled.__name__ == "ruled" and ruled.__doc__ == "The sine of x times y."


def test_the_rule_is_what_counts(either_way):
    @tg.custom_vjp
    def clipped(x):
        return np.clip(x, -1.0, 1.0)

    clipped.defvjp(lambda x: (clipped(x), None), lambda kept, ct: (ct,))
    assert_close(
        tg.grad(lambda x: np.sum(clipped(x)))(np.array([0.5, 3.0])), np.ones(2), rtol=1e-12
    )


def test_arguments_and_values_of_any_structure(either_way):
    @tg.custom_vjp
    def f(p, scale, name):
        assert name == "sum"
        return {"y": p["a"] * scale, "z": (p["b"] ** 2, 7)}

    def forward(p, scale, name):
        return f(p, scale, name), (p, scale)

    def backward(kept, ct):
        p, scale = kept
        return (
            {"a": ct["y"] * scale, "b": 2.0 * p["b"] * ct["z"][0]},
            np.sum(ct["y"] * p["a"]),
            None,
        )

    f.defvjp(forward, backward)

    def total(p, scale):
        found = f(p, scale, name="sum")
        return np.sum(found["y"]) + np.sum(found["z"][0]) * found["z"][1]

    gradient = tg.grad(total, argnums=(0, 1))({"a": X, "b": Y}, 3.0)
    assert_close(gradient, ({"a": np.full(2, 3.0), "b": 14.0 * Y}, X.sum()), rtol=1e-12)


def test_complex_cotangents_are_those_of_functions(either_way):
    @tg.custom_vjp
    def square(z):
        return z**2

    square.defvjp(lambda z: (square(z), z), lambda z, ct: (2.0 * z * ct,))
    z = np.array([1 + 2j, 0.5 - 1j])
    gradients = [
        tg.grad(lambda z, f=f: np.sum(np.real(f(z) * (1 + 3j))))(z) for f in (square, np.square)
    ]
    assert_close(gradients[0], gradients[1], rtol=1e-12)


def test_methods():
    class Layer:
        def __init__(self, scale):
            self.scale = scale

        @tg.custom_vjp
        def run(self, x):
            return self.scale * x

    Layer.run.defvjp(
        lambda self, x: (Layer.run(self, x), self.scale), lambda scale, ct: (None, scale * ct)
    )
    layer = Layer(3.0)
    assert tg.grad(lambda x: layer.run(x))(2.0) == 3.0


def test_as_jax_has_it():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    theirs = jax.custom_vjp(lambda x, y: jnp.sin(x) * y)

    def forward(x, y):
        return theirs(x, y), (jnp.cos(x), jnp.sin(x), y)

    theirs.defvjp(forward, lambda r, g: (3.0 * r[0] * g * r[2], r[1] * g))
    mine = tg.custom_vjp(product)
    mine.defvjp(
        lambda x, y: (mine(x, y), (np.cos(x), np.sin(x), y)),
        lambda r, g: (3.0 * r[0] * g * r[2], r[1] * g),
    )
    with jax.enable_x64(True):
        expected = jax.grad(lambda x, y: jnp.sum(theirs(x, y) ** 2), argnums=(0, 1))(X, Y)
    assert_close(
        tg.grad(loss(mine), argnums=(0, 1))(X, Y), [np.asarray(g) for g in expected], rtol=1e-6
    )


def test_what_is_refused():
    bare = tg.custom_vjp(product)
    with pytest.raises(tg.errors.NotDifferentiableError, match="defvjp"):
        tg.grad(lambda x: np.sum(bare(x, Y)))(X)
    wrong = tg.custom_vjp(product)
    wrong.defvjp(lambda x, y: (wrong(x, y), None), lambda kept, ct: (ct,))
    with pytest.raises(tg.errors.GradientError, match="1 cotangent for 2 arguments"):
        tg.grad(lambda x: np.sum(wrong(x, Y)))(X)

    def hides(x):
        inner = tg.custom_vjp(lambda y: y * x)
        inner.defvjp(lambda y: (inner(y), None), lambda kept, ct: (ct,))
        return np.sum(inner(x))

    with pytest.raises(tg.errors.TraceError, match="hand it over"):
        tg.grad(hides)(X)
    with pytest.raises(tg.errors.TraceError, match="numpy"):
        tg.grad(loss(ruled), backend="jax")(X, Y)
    with pytest.raises(tg.errors.ArgumentError, match="function"):
        tg.custom_vjp(3.0)
    for returned in (X, (X, None, None)):
        alone = tg.custom_vjp(lambda x: x * 2.0)
        alone.defvjp(lambda x, returned=returned: returned, lambda kept, ct: (ct,))
        with pytest.raises(tg.errors.GradientError, match="does not return a pair"):
            tg.grad(lambda x, f=alone: np.sum(f(x)))(X)


# -- custom_jvp ------------------------------------------------------------------------------------


@tg.custom_jvp
def log1pexp(x):
    return np.log1p(np.exp(x))


@log1pexp.defjvp
def log1pexp_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return log1pexp(x), t / (1.0 + np.exp(-x))


def test_a_forward_rule_is_transposed(either_way):
    def plain(x):
        return np.log1p(np.exp(x))

    for x in (0.5, -2.0):
        assert_close(tg.grad(log1pexp)(x), tg.grad(plain)(x), rtol=1e-12)
        assert_close(tg.grad(tg.grad(log1pexp))(x), tg.grad(tg.grad(plain))(x), rtol=1e-10)


def test_a_forward_rule_of_several_arguments(either_way):
    @tg.custom_jvp
    def f(x, y):
        return np.sin(x) * y

    @f.defjvp
    def rule(primals, tangents):
        (x, y), (s, t) = primals, tangents
        return f(x, y), np.cos(x) * y * s + np.sin(x) * t

    found = tg.grad(loss(f), argnums=(0, 1))(X, Y)
    assert_close(found, tg.grad(loss(product), argnums=(0, 1))(X, Y), rtol=1e-12)


# -- primitives ------------------------------------------------------------------------------------


@primitive
def scaled(x, y, power=2):
    assert type(x) is not tg.Tensor
    return x * y**power


def checked(f):
    found = tg.grad(lambda x, y: np.sum(f(x, y) ** 2), argnums=(0, 1))(X, Y)
    expected = tg.grad(lambda x, y: np.sum((x * y**2) ** 2), argnums=(0, 1))(X, Y)
    assert_close(found, expected, rtol=1e-12)
    second = tg.grad(lambda x: np.sum(tg.grad(lambda x: np.sum(f(x, Y) ** 3))(x)))(X)
    assert_close(second, 6.0 * X * Y**6, rtol=1e-12)


def fresh():
    return primitive(lambda x, y: x * y**2)


def test_rules_of_each_argument(either_way):
    f = fresh()
    defvjp(f, lambda ans, x, y: lambda g: g * y**2, lambda ans, x, y: lambda g: g * 2.0 * x * y)
    checked(f)


def test_rules_by_number(either_way):
    f = fresh()
    defvjp(f, lambda ans, x, y: lambda g: g * 2.0 * ans / y, argnums=(1,))
    defvjp(
        f,
        lambda ans, x, y: lambda g: g * 2.0 * ans / y,
        lambda ans, x, y: lambda g: g * y**2,
        argnums=(1, 0),
    )
    checked(f)


def test_one_rule_for_all(either_way):
    def maker(argnum, ans, args, kwargs):
        x, y = args
        return lambda g: g * (y**2 if argnum == 0 else 2.0 * x * y)

    f = fresh()
    defvjp_argnum(f, maker)
    checked(f)
    f = fresh()

    def together(argnums, ans, args, kwargs):
        return lambda g: [maker(argnum, ans, args, kwargs)(g) for argnum in argnums]

    defvjp_argnums(f, together)
    checked(f)


def test_forward_rules(either_way):
    f = fresh()
    defjvp(f, "same", lambda g, ans, x, y: g * 2.0 * x * y)
    checked(f)
    f = fresh()
    defjvp_argnum(
        f, lambda argnum, g, ans, args, kwargs: g * (args[1] ** 2, 2.0 * args[0] * args[1])[argnum]
    )
    checked(f)


def running_sum():
    f = primitive(lambda x, axis=0: np.cumsum(x, axis))
    defjvp(f, lambda g, ans, x, axis=0: f(g, axis=axis))
    return f


def running_sum_for_jax():
    f = tg.custom_jvp(lambda x: np.cumsum(x))
    f.defjvp(lambda primals, tangents: (f(*primals), f(*tangents)))
    return f


@pytest.mark.parametrize("make", [running_sum, running_sum_for_jax])
def test_a_rule_that_applies_its_function_to_the_tangent(either_way, make):
    """So the rule of a linear function is: itself."""
    f, ones, x = make(), np.ones(3), np.array([0.5, 2.0, -1.0])
    assert_close(tg.jvp(f, (x,), (ones,))[1], np.cumsum(ones), 0.0)
    assert_close(tg.make_jvp(f)(x)(ones)[1], np.cumsum(ones), 0.0)
    assert_close(tg.grad(lambda x: np.sum(f(x)))(x), np.array([3.0, 2.0, 1.0]), 0.0)
    for jacobian in (tg.jacfwd, tg.jacrev):
        assert_close(jacobian(f)(x), np.tri(3), 0.0)
    second = tg.hessian(lambda x: np.sum(f(x) ** 3))(x)
    assert_close(second, tg.hessian(lambda x: np.sum(np.cumsum(x) ** 3))(x), rtol=1e-12)


def test_a_rule_that_solves_again(either_way):
    """Linear in one argument, and not in the other."""
    solve = primitive(lambda a, b: np.linalg.solve(a, b))
    defjvp(solve, lambda g, ans, a, b: solve(a, -(g @ ans)), lambda g, ans, a, b: solve(a, g))
    a = np.array([[3.0, 1.0], [0.5, 2.0]])
    found = tg.hessian(loss(solve), argnums=(0, 1))(a, X)
    expected = tg.hessian(loss(np.linalg.solve), argnums=(0, 1))(a, X)
    for row, expected_row in zip(found, expected, strict=True):
        assert_close(row, expected_row, rtol=1e-10)


def test_rules_that_apply_each_other(either_way):
    one, two = primitive(lambda x: 2.0 * x[::-1]), primitive(lambda x: x[::-1] * 2.0)
    defjvp(one, lambda g, ans, x: two(g))
    defjvp(two, lambda g, ans, x: one(g))
    assert_close(tg.grad(lambda x: np.sum(one(x) * Y))(X), 2.0 * Y[::-1], 0.0)


def test_linear_functions(either_way):
    rolled = primitive(lambda x: np.roll(x, 1))
    def_linear(rolled)
    weights = np.array([1.0, 2.0])
    assert_close(
        tg.grad(lambda x: np.sum(weights * rolled(x)))(X), np.roll(weights, -1), rtol=1e-12
    )


def test_keywords_go_along(either_way):
    defvjp(scaled, lambda ans, x, y, power=2: lambda g: g * y**power, None)
    gradient = tg.grad(lambda x, y: np.sum(scaled(x, y, power=3)), argnums=(0, 1))
    assert_close(gradient(X, Y), (Y**3, np.zeros(2)), rtol=1e-12)


def test_refusals_of_primitives():
    f = fresh()
    assert_close(tg.compile(lambda x: f(x, Y))(X), X * Y**2, rtol=1e-12)
    with pytest.raises(NotImplementedError, match="defvjp"):
        tg.grad(lambda x: np.sum(f(x, Y)))(X)
    defvjp(f, None)
    with pytest.raises(NotImplementedError, match="argument 1"):
        tg.grad(lambda y: np.sum(f(X, y)))(Y)
    for no_primitive in (3, tg.custom_vjp(product)):
        with pytest.raises(tg.errors.ArgumentError, match="is no primitive: decorate a function"):
            defvjp(no_primitive, None)
    with pytest.raises(tg.errors.ArgumentError, match="no VJP"):
        defvjp(f, "same")


def test_rules_of_what_tracegrad_differentiates_are_not_used(either_way):
    """As packages give them to functions for which HIPS autograd has none."""
    special = pytest.importorskip("tracegrad.scipy.special")
    for f in (np.sin, np.where, np.linalg.inv, tg.exp, special.expit):
        for give in (defvjp, defjvp):
            with pytest.warns(UserWarning, match=f"{f.__name__}: tracegrad differentiates it"):
                give(f, None)
    assert_close(
        tg.grad(lambda x: np.sum(np.sin(x) + np.where(x > 0, x, 0.0)))(X), 1 + np.cos(X), 0
    )
    assert_close(tg.grad(special.expit)(0.0), 0.25, 0.0)


def test_rules_of_plain_functions_have_no_effect(either_way):
    def square(x):
        return x * x

    for give in (defvjp, defjvp, def_linear):
        with pytest.warns(UserWarning, match="square is no primitive: this rule has no effect"):
            give(square, *[None] * (give is not def_linear))
    assert_close(tg.grad(square)(3.0), 6.0, 0.0)


def test_rules_of_functions_of_scipy(either_way, forgotten):
    """Where tracegrad has none, calls on traced values go by them, under every name."""
    scipy = pytest.importorskip("scipy")
    linalg = pytest.importorskip("tracegrad.scipy.linalg")
    banded, b = np.array([[4.0, 5.0, 6.0], [0.5, 0.3, 0.0]]), np.array([1.0, 2.0, 3.0])
    full = np.diag(banded[0]) + np.diag(banded[1, :2], 1) + np.diag(banded[1, :2], -1)

    def pulled(ans, ab, b, lower=True):
        return lambda g: linalg.solveh_banded(ab, g, lower=lower)

    defvjp(linalg.solveh_banded, None, pulled)
    for solve in (linalg.solveh_banded, scipy.linalg.solveh_banded):

        def f(b, solve=solve):
            return np.sum(solve(banded, b, lower=True) ** 2)

        def g(b):
            return np.sum(np.linalg.solve(full, b) ** 2)

        assert_close(tg.grad(f)(b), tg.grad(g)(b), rtol=1e-12)
        assert_close(tg.hessian(f)(b), tg.hessian(g)(b), rtol=1e-12)
        assert_close(tg.jvp(f, (b,), (b,)), tg.jvp(g, (b,), (b,)), rtol=1e-12)


def test_rules_of_ufuncs_and_functions_without_a_counterpart(either_way, forgotten):
    special = pytest.importorskip("scipy.special")
    defvjp(
        special.hyp1f1,
        None,
        None,
        lambda ans, a, b, x: lambda g: g * a / b * special.hyp1f1(a + 1, b + 1, x),
    )
    defjvp(np.lib.scimath.logn, None, lambda g, ans, n, x: g / (x * np.log(n)))
    second = tg.grad(tg.grad(lambda x: special.hyp1f1(1.0, 2.0, x)))(0.5)
    assert_close(second, special.hyp1f1(3.0, 4.0, 0.5) / 3.0, rtol=1e-12)
    x = tg.tensor(Y + 1.0, requires_grad=True)
    special.hyp1f1(1.0, 2.0, x).sum().backward()
    assert_close(x.grad.numpy(), special.hyp1f1(2.0, 3.0, Y + 1.0) / 2.0, rtol=1e-12)
    found = tg.grad(lambda x: np.lib.scimath.logn(2.0, x))(3.0)
    assert_close(found, 1.0 / (3.0 * np.log(2.0)), rtol=1e-12)


def test_constants(either_way):
    seen = []

    @notrace_primitive
    def look(x):
        seen.append(type(x))
        return x * x

    assert_close(tg.grad(lambda x: np.sum(x * look(x)))(X), X**2, rtol=1e-12)


def test_a_rule_may_call_jax(either_way):
    """What it gives are arrays of JAX, of the types that JAX has by itself."""
    jnp = pytest.importorskip("jax.numpy")

    @tg.custom_vjp
    def square(x):
        return jnp.square(x)

    square.defvjp(lambda x: (jnp.square(x), jnp.asarray(x)), lambda x, ct: (2.0 * x * ct,))
    value, slope = tg.value_and_grad(lambda x: np.sum(square(x)))(X)
    assert_close(value, np.sum(X**2), rtol=1e-6)
    assert_close(slope, 2.0 * X, rtol=1e-6)
    assert type(slope) is np.ndarray
    with pytest.raises(tg.errors.TraceError, match=r"a rule of tg.custom_vjp .* tg.stop_gradient"):
        tg.compile(lambda x: np.sum(square(x)), backend="jax").source(X)


def test_another_rule_is_followed_by_compiled_calls():
    @tg.custom_vjp
    def doubled(x):
        return 2.0 * x

    @tg.custom_jvp
    def square(x):
        return x * x

    @primitive
    def cube(x):
        return x**3

    gradients = [tg.grad(lambda x, f=f: np.sum(f(x))) for f in (doubled, square, cube)]
    x = np.array([0.5, 3.0])
    for slope in (10.0, 1.0, 7.0):
        doubled.defvjp(lambda x: (2.0 * x, None), lambda kept, ct, s=slope: (s * ct,))
        square.defjvp(lambda primals, ts, s=slope: (primals[0] ** 2, s * ts[0]))
        defvjp(cube, lambda ans, x, s=slope: lambda g: s * g)
        for gradient in gradients:
            for _ in range(2):
                assert_close(gradient(x), np.full(2, slope), 0.0)


# -- rules that are no derivatives -----------------------------------------------------------------


def double(x):
    return 2.0 * x


ONE_TANGENT = {
    "a constant": lambda p, t: (double(p[0]), np.ones(2)),
    "a square": lambda p, t: (double(p[0]), t[0] * t[0]),
    "an absolute value": lambda p, t: (double(p[0]), np.abs(t[0])),
    "a half": lambda p, t: (double(p[0]), np.where(t[0] > 0.0, t[0], 0.0)),
    "a limit": lambda p, t: (double(p[0]), np.clip(t[0], -5.0, 5.0)),
    "an odd function": lambda p, t: (double(p[0]), np.tanh(t[0])),
    "one more": lambda p, t: (double(p[0]), t[0] * 3.0 + 1.0),
}


@pytest.mark.parametrize("name", ONE_TANGENT)
def test_tangents_that_are_not_linear_are_those_of_forward_mode_alone(either_way, name):
    rule = ONE_TANGENT[name]
    ruled_by = tg.custom_jvp(double)
    ruled_by.defjvp(rule)
    x, v = np.array([10.0, 20.0]), np.array([10.0, -20.0])
    wanted = rule((x,), (v,))[1]
    assert_close(tg.jvp(ruled_by, (x,), (v,)), (2.0 * x, wanted), 0.0)
    assert_close(tg.linearize(ruled_by, x)[1](v), wanted, 0.0)
    columns = [rule((x,), (unit,))[1] for unit in np.eye(2)]
    assert_close(tg.jacfwd(ruled_by)(x), np.stack(columns, axis=1), 0.0)
    for reverse in (tg.grad(lambda x: np.sum(ruled_by(x))), tg.jacrev(ruled_by)):
        with pytest.raises(tg.errors.GradientError, match="not linear in the tangents") as told:
            reverse(x)
        assert "test_custom_rules.py" in str(told.value)
        assert "\n  at " in str(told.value)


def test_a_primitive_that_is_not_linear_as_it_says(either_way):
    sine = primitive(lambda x: np.sin(x))
    for give in (lambda: def_linear(sine), lambda: defjvp(sine, "same")):
        give()
        assert_close(tg.jvp(sine, (X,), (Y,))[1], np.sin(Y), 0.0)
        with pytest.raises(tg.errors.GradientError, match="not linear") as told:
            tg.grad(lambda x: np.sum(sine(x)))(X)
        assert "sine = primitive(" in str(told.value)


def test_a_tangent_of_zeros_is_one(either_way):
    flat = tg.custom_jvp(np.floor)
    flat.defjvp(lambda p, t: (np.floor(p[0]), np.zeros_like(p[0])))
    assert_close(tg.jvp(flat, (X,), (Y,))[1], np.zeros(2), 0.0)
    assert_close(tg.grad(lambda x: np.sum(flat(x)))(X), np.zeros(2), 0.0)


@pytest.mark.parametrize("scale", [1e-300, 1e-155, 1e150, 1e300])
def test_linear_rules_of_any_size_are_linear(either_way, scale):
    small = tg.custom_jvp(lambda x: scale * np.cumsum(x))
    small.defjvp(lambda p, t: (scale * np.cumsum(p[0]), scale * (np.cumsum(t[0]))))
    with np.errstate(over="ignore"):
        assert_close(tg.grad(lambda x: np.sum(small(x)))(X), scale * np.array([2.0, 1.0]), 1e-15)


def test_linear_rules_with_an_infinite_slope(either_way):
    root = tg.custom_jvp(np.sqrt)
    root.defjvp(lambda p, t: (np.sqrt(p[0]), t[0] / (2.0 * np.sqrt(p[0]))))
    with np.errstate(divide="ignore"):
        found = tg.grad(lambda x: np.sum(root(x)))(np.array([0.0, 4.0]))
    assert_close(found, np.array([np.inf, 0.25]), 0.0)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (lambda p, t: (2.0 * p[0], np.ones(5)), r"a tangent of shape \(5,\): the value has shape"),
        (lambda p, t: (2.0 * p[0], 1.0), r"a tangent of shape \(\): the value has shape \(2,\)"),
        (lambda p, t: (2.0 * p[0], t[0] * 2j), "a tangent that is complex: the value has"),
        (lambda p, t: (2.0 * p[0], "no"), "a tangent that is 'no' of type str"),
        (lambda p, t: (2.0 * p[0], None), "a tangent that is None: the value of f is an array"),
        (lambda p, t: (2.0 * p[0], [t[0], t[0]]), "that is a list of 2 arrays: the value of f is"),
        (
            lambda p, t: np.ones(2),
            r"rule of f does not return a pair: it returns the value .*y_dot",
        ),
        (lambda p, t: (2.0 * p[0], t[0], None), "rule of f does not return a pair"),
    ],
)
def test_tangents_are_held_against_the_value(either_way, rule, said):
    @tg.custom_jvp
    def f(x):
        return 2.0 * x

    f.defjvp(rule)
    for derivative in (
        lambda: tg.jvp(f, (X,), (X,)),
        lambda: tg.grad(lambda x: np.sum(f(x)))(X),
        lambda: tg.hessian(lambda x: np.sum(f(x)))(X),
    ):
        with pytest.raises(tg.errors.GradientError, match=said) as told:
            derivative()
        assert f"test_custom_rules.py:{rule.__code__.co_firstlineno}" in str(told.value)


NO_PULL = {
    "a constant": lambda ct: np.ones(2),
    "one more": lambda ct: ct + 1.0,
    "a square": lambda ct: ct * ct,
    "a limit": lambda ct: np.clip(ct, -1.0, 1.0),
}


def by_custom_vjp(pull):
    f = tg.custom_vjp(double)
    f.defvjp(lambda x: (double(x), None), lambda kept, ct: (pull(ct),))
    return f


def by_defvjp(pull):
    f = primitive(double)
    defvjp(f, lambda ans, x: lambda g: pull(g))
    return f


def by_function(pull):
    class Double(tg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2.0 * x

        @staticmethod
        def backward(ctx, ct):
            return pull(ct)

    return Double.apply


@pytest.mark.parametrize("name", NO_PULL)
@pytest.mark.parametrize("make", [by_custom_vjp, by_defvjp, by_function])
def test_cotangents_that_are_not_linear_are_those_of_reverse_mode_alone(either_way, name, make):
    pull = NO_PULL[name]
    f = make(pull)
    assert_close(tg.grad(lambda x: np.sum(f(x)))(X), pull(np.ones(2)), 0.0)
    for forward in (lambda: tg.jvp(f, (X,), (X,)), lambda: tg.jacfwd(f)(X)):
        with pytest.raises(tg.errors.GradientError, match="not linear in the cotangent") as told:
            forward()
        assert "\n  at " in str(told.value) and "test_custom_rules.py" in str(told.value)


@pytest.mark.parametrize("make", [by_custom_vjp, by_defvjp])
@pytest.mark.parametrize(
    ("pull", "said"),
    [
        (lambda ct: ct * 2j, "that is complex for argument 0, which has dtype float64: its real"),
        (lambda ct: "no", "a cotangent that is 'no' of type str for argument 0"),
        (lambda ct: [ct, ct, ct, ct], "a list of 4 arrays for argument 0, which is an array"),
        (lambda ct: np.array(["a", "b"]), "of dtype <U1 for argument 0"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_cotangents_are_held_against_the_argument(either_way, make, pull, said):
    f = make(pull)
    with pytest.raises(tg.errors.GradientError, match=said) as told:
        tg.grad(lambda x: np.sum(f(x)))(X)
    assert "\n  at " in str(told.value) and "test_custom_rules.py" in str(told.value)


@pytest.mark.filterwarnings("error")
def test_a_function_of_torch_gives_the_real_part(either_way):
    f = by_function(lambda ct: ct * (3.0 + 2.0j))
    assert_close(tg.grad(lambda x: np.sum(f(x)))(X), np.full(2, 3.0), 0.0)
    assert_close(tg.jvp(f, (X,), (Y,))[1], 3.0 * Y, 0.0)


def test_a_forward_rule_with_another_value_than_the_function_is_blamed(either_way):
    f = tg.custom_vjp(double)
    f.defvjp(lambda x: (np.ones(5), None), lambda kept, ct: (ct,))
    said = (
        r"cotangent of shape \(5,\) for argument 0, which has shape \(2,\)\. Its forward rule "
        r"returns a value of shape \(5,\), and the function itself one of shape \(2,\)"
    )
    with pytest.raises(tg.errors.GradientError, match=said):
        tg.grad(lambda x: np.sum(f(x)))(X)


def test_messages_name_the_line_of_the_rule():
    def told(error, f, x=X):
        with pytest.raises(error) as raised:
            tg.grad(lambda x: np.sum(f(x)))(x)
        return str(raised.value).partition("\n  at ")[2]

    f = tg.custom_vjp(product)
    assert told(TypeError, lambda x: f(x, Y)).endswith("def product(x, y):")
    f.defvjp(lambda x, y: x, None)  # a forward
    assert told(RuntimeError, lambda x: f(x, Y)).endswith("# a forward")
    f.defvjp(ruled_forward, lambda kept, ct: (ct,))  # a backward
    assert told(RuntimeError, lambda x: f(x, Y)).endswith("# a backward")
    f = primitive(product)
    assert told(TypeError, lambda x: f(x, Y)).endswith("def product(x, y):")
    defvjp(
        f,
        lambda ans, x, y: lambda g: g,
        lambda ans, x, y: lambda g: np.ones(5),  # of the second
    )
    assert told(RuntimeError, lambda y: f(X, y)).endswith("# of the second")
