"""Functions with ifs enter; the arms meet behind them, in one program with the bits of eager."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from checks import assert_same_bits, run_eagerly, split
from if_programs import inputs, program

import tracegrad as tg
from tests.benchmarks.varied import twelve_ifs


def versions_of(f):
    return [version for versions in f._versions.values() for version in versions]


def same_as_eager(function, calls, **options):
    """The compiled gradient, after calls that give what eager gives; the value alone as well."""
    f, plain = tg.value_and_grad(function, **options), tg.compile(function)
    argnums = options.get("argnums", 0)
    for args in calls:
        assert_same_bits(split(f(*args)), run_eagerly(function, args, argnums=argnums))
        assert_same_bits(([plain(*args)], []), ([function(*args)], []))
    return f


def of_twelve(x):
    return twelve_ifs(np, x)


def test_twelve_ifs_are_known_after_a_few_traces():
    random = np.random.default_rng(0)
    # Sixty-fourths, whose cubes are exact: NumPy's power of a number and of an array without axes,
    # which eager Tensors have, round otherwise on some processors.
    calls = [(np.round(64.0 * random.normal(size=12)) / 64.0,) for _ in range(40)]
    f = same_as_eager(of_twelve, calls)
    (version,) = versions_of(f)
    assert version.tree.joined and f.cache_info().traces <= 8
    lines = [line.strip() for line in f.source(np.ones(12)).splitlines()]
    code = [line for line in lines if line and not line.startswith("#")]
    assert len(code) <= 4 * 32 and sum(line.startswith("return") for line in code) == 1


def used_in_one_arm(x):
    d = np.sqrt(x[0])  # whose derivative at 0 is no number
    if x[1] > 0:
        y = d * x[1]
    else:
        y = x[2] * 2.0
    return y + x[2]


def reads_from_the_end_in_one_arm(x):
    r, s = x[1], x[0]
    v = x[-1] ** 2
    if x[0] > 0:
        s = s * v
    return s + 0.5 * r


def reads_a_slice_in_one_arm(x):
    r, s = x[1], x[0]
    v = np.sum(x[1:] * 2.0)
    if x[0] > 0:
        s = s * v
    return s + 0.5 * r


def is_another_or_the_same(x):
    y = x * 1.0
    z = y
    if x[0] > 0:
        z = np.sin(y)
    return np.sum(y * z) + np.sum(z) * y[1]


def derives_inside(x):
    def inner(v):
        s = np.sum(v)
        s = s * s if v[0] > 0 else np.sin(s)
        return s + v[1] ** 3

    y = np.sum(tg.grad(inner)(x) * x)
    if x[2] > 0:
        y = y * 2.0
    return y


def writes_behind(x):
    y = x * 1.0
    if x[0] > 0:
        y = y * 2.0
    y[1] = 3.0
    if x[1] > 0:
        y = y + 1.5
    return np.sum(y)


def loops_behind(x):
    s = np.sum(x)
    if x[0] > 0:
        s = s * 2.0
    for t in range(12):
        s = s + np.sin(x[t % 3]) * s * 0.1
    return s


def reads_an_element_again(x):
    s = x[1] * 1.0
    if x[0] > 0:
        s = s * x[2]
    if x[1] > 0:
        s = s + x[2] * x[0]
    return s * x[2]


@pytest.mark.parametrize(
    "function",
    [
        *(used_in_one_arm, is_another_or_the_same, derives_inside, writes_behind),
        *(loops_behind, reads_an_element_again),
        *(reads_from_the_end_in_one_arm, reads_a_slice_in_one_arm),
    ],
)
def test_arms_meet_only_where_they_may(function):
    signs = [np.array([a, b, c]) for a in (1.0, -1.0) for b in (2.0, -2.0) for c in (0.5, -0.5)]
    zeros = [np.array([0.0, 1.0, 2.0]), np.array([-0.0, -0.0, 1.0]), np.array([1.0, -0.0, 0.0])]
    with np.errstate(all="ignore"):
        same_as_eager(function, [(x,) for x in (*signs, *zeros, *signs)])


def relu(v):
    if v > 0:
        return v
    return 0.0 * v


def pair_of(v, w):
    if v > w:
        return v * 2.0, w
    if v < -1.0:
        raise ValueError("too small")
    return w, v * v


def calls_helpers(x):
    a = relu(x[0]) + relu(x[1] - 1.0)
    b, c = pair_of(relu(x[2]), a)
    first = pair_of(c, b)
    return (lambda v: v if v > 1.0 else -v)(a * b) + c * first[0]


def asks_two_things(x):
    a, b = x[0] * 1.0, x[1] * 1.0
    if x[0] > 0 and x[2] > 0:
        a = a * b
    else:
        b = a - b
    if x[1] > 0 or a > b:
        b = np.sin(b)
    if not (x[1] > 0 and x[2] < 1.0 and a > 0):
        a = a + b
    return a * b


def calls_through_builtins(x):
    items = [relu(v) * 2.0 for v in (x[0], x[1])]
    total = sum(map(relu, [x[0], x[1], x[2]]))
    return total + max(items[0] * 1.0, items[1]) + items[0]


def counts_in_a_cell(x):
    total = x[0] * 1.0

    def add(v):
        nonlocal total
        if v > 0:
            total = total + v
            return v
        return -v

    return add(x[1]) * add(x[2]) + total


def catches_what_an_arm_raises(x):
    try:
        a = pair_of(x[0], x[1])[0]
    except ValueError:
        a = x[2] * 3.0
    if x[2] > 0:
        a = a * x[1]
    return a


def one_of_two_tuples(x):
    p = (x[0] * 2.0, x[1])
    q = p
    if x[2] > 0:
        q = (x[1], x[0] * 3.0)
    return q[0] * p[1] + (q[1] if q is p else 2.0 * q[1])


@pytest.mark.parametrize(
    ("function", "meets"),
    [
        *((calls_helpers, True), (asks_two_things, True), (calls_through_builtins, True)),
        *((counts_in_a_cell, False), (catches_what_an_arm_raises, True)),
        (one_of_two_tuples, False),
    ],
)
def test_arms_that_return_meet_where_the_function_was_called(function, meets):
    random = np.random.default_rng(0)
    calls = [(2.0 * random.normal(size=3),) for _ in range(24)]
    calls = [(x,) for (x,) in calls if x[0] > -1.0 or function is not calls_helpers]
    f = same_as_eager(function, [*calls, *calls[:6]])
    assert any(version.tree.joined for version in versions_of(f)) is meets


@pytest.mark.parametrize("seed", range(6))
def test_random_ifs_equal_eager(seed):
    function, _ = program(seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        same_as_eager(function, inputs(seed, 8), argnums=(0, 1))


V, W = np.linspace(-1.0, 2.0, 6), np.sin(np.arange(36.0)).reshape(6, 6)

DERIVATIVES = {
    "jvp": lambda f: lambda x, w: tg.jvp(f, (x, w), (V, W)),
    "hvp": lambda f: lambda x, w: tg.hvp(f, (x, w), (V, W)),
    "vjp": lambda f: (
        lambda x, w: [part(1.5) if callable(part) else part for part in tg.vjp(f, x, w)]
    ),
    "hessian": lambda f: tg.hessian(f),
    "forward": lambda f: tg.jacobian(lambda x, w: x * f(x, w), mode="forward"),
    "reverse": lambda f: tg.jacobian(lambda x, w: x[:2] * f(x, w), mode="reverse"),
    "twice": lambda f: tg.grad(lambda x, w: np.sum(tg.grad(f)(x, w) * V)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", DERIVATIVES)
@pytest.mark.parametrize("seed", [0, 7, 12])
def test_derivatives_of_random_ifs_equal_eager(seed, kind):
    function, _ = program(seed)
    compiled, calls = DERIVATIVES[kind](function), inputs(seed, 8)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for args in [*calls, *calls[:3]]:
            given = compiled(*args)
            tg.config.compile = False
            try:
                wanted = DERIVATIVES[kind](function)(*args)
            finally:
                tg.config.compile = True
            assert_same_bits(given, wanted)


def gradients_on_tensors(f, x, w, k):
    """Of one of several results: the gradients, and the gradient of what the first adds up to."""
    a, b = tg.tensor(x, requires_grad=True), tg.tensor(w, requires_grad=True)
    result = f(a, b)[k]
    first = tg.autograd.grad(result, (a, b), create_graph=True, allow_unused=True)
    if first[0] is None or not first[0].requires_grad:
        return [first, None]
    return [first, tg.autograd.grad(np.sum(first[0] * V), (a, b), allow_unused=True)]


@pytest.mark.parametrize("seed", [2, 4])
def test_calls_on_tensors_are_one_node_whose_arms_meet(seed):
    function, _ = program(seed)

    def several(x, w):
        return function(x, w), np.sum(x * w[0]), function(2.0 * x, w)

    compiled, calls = tg.compile(several), inputs(seed, 8)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for k, args in enumerate([*calls, *calls[:3]]):
            given = gradients_on_tensors(compiled, *args, k % 3)
            assert_same_bits(given, gradients_on_tensors(several, *args, k % 3))
    assert any(version.tree.joined and version.recorded for version in versions_of(compiled))


def hands_on_within_an_arm(x, w):
    a, b = x[0], np.sum(x)
    u = x * 2.0
    if x[1] > 0.5 and x[5] > 0:
        pass
    else:
        p = max(w[0, 0] * 1.0, x[1], a)  # which may be `a`
    b = b if x[4] < 0.5 else p
    return a * b + np.sum(u)  # which reads `a` as well


def test_an_arm_that_hands_on_what_arms_in_it_hand_on_has_all_its_gradients():
    calls = [(x, 0.0 * w) for x, w in inputs(37, 40) if x[1] <= 0.5 or x[5] <= 0 or x[4] < 0.5]
    same_as_eager(hands_on_within_an_arm, calls)


def test_arms_that_cannot_go_back_leave_the_other_joins_as_they_are():
    """One join hands on what is read twice, and what elements were met is not known behind it."""
    function, _ = program(0)
    compiled = tg.value_and_grad(function)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for args in inputs(0, 8):
            compiled(*args)
    assert any(version.tree.joined for version in versions_of(compiled))


def of_three(x):
    a = np.sum(x)
    c = a * 2.0
    if x[0] > 0:
        c = c / x[1]
    if x[1] > 0:
        b = np.sin(c)
    else:
        b = c * x[2]
        if x[0] > 0.5:
            c = b + 1.0
    return c * b


SIGNS = [np.array([a, b, c]) for a in (1.0, -1.0) for b in (2.0, -2.0) for c in (0.5, -0.5)]


@pytest.mark.sampled(4)  # each transform, each backend
@pytest.mark.parametrize("backend", ["jax", "numba", "fast math"])
@pytest.mark.parametrize("transform", [tg.compile, tg.grad, tg.hessian])
def test_arms_meet_for_every_target(transform, backend, monkeypatch):
    if backend == "fast math":
        monkeypatch.setattr(tg.config, "fast_math", True)
    else:
        pytest.importorskip(backend)
        monkeypatch.setattr(tg.config, "backend", backend)
    f = transform(of_three)
    for x in (*SIGNS, *SIGNS):
        given = f(x)
        tg.config.compile = False
        try:
            wanted = transform(of_three)(x)
        finally:
            tg.config.compile = True
        np.testing.assert_allclose(given, wanted, rtol=1e-12, atol=1e-12)
    if transform is not tg.hessian:  # of `x_bar` some arms give a tangent
        (version,) = versions_of(f)
        assert version.tree.joined and len(list(version.tree.ends)) == 1


def test_the_pattern_of_a_sparse_derivative_is_that_of_all_arms():
    def f(x):
        y = x * 2.0
        if x[0] > 0:
            y = np.sin(y) * x
        if x[1] > 0:
            y = y[::-1] * 1.0
        return y

    for options in ({"mode": "forward"}, {"mode": "reverse"}):
        own = tg.jacobian(f, sparse=True, **options)
        for x in (*SIGNS, *SIGNS):
            np.testing.assert_allclose(own(x).toarray(), tg.jacobian(f, **options)(x), rtol=1e-12)
    of_many = np.linspace(1.0, 2.0, 10)
    assert own(of_many).nnz == 20  # both diagonals


def test_what_is_returned_beside_the_value_keeps_its_structure():
    def decides_nothing(x):
        if x.sum() > 0.2:
            y = x * 3.0  # noqa: F841
        return np.sum(np.sin(x)), (x * 2.0, 3)

    def decides(x):
        y = x
        if x.sum() > 0.2:
            y = x * 3.0
        return np.sum(np.sin(x) * y), {"y": y, "none": ()}

    for function in (decides_nothing, decides):
        made = tg.value_and_grad(function, argnums=(0,), has_aux=True)
        for sign in (1.0, -1.0, 1.0, -1.0):
            x = np.full(2, sign)
            (value, aux), (x_bar,) = made(x)
            wanted, wanted_aux = function(x)
            assert value == wanted and x_bar.shape == x.shape
            assert str(aux) == str(wanted_aux)


class Kept:
    last = None


def keeps_what_it_was_given(x, w):
    y = w
    if x[0] > 0:
        y = w * 2.0
    Kept.last = [y, "kept"]
    return np.sum(y * x)


def asks_which_it_has(x, w):
    first = w * 1.5
    y = first
    if x[0] > 0:
        y = w * 2.0
    return np.sum(y * (x if y is first else 2.0 * x)) if y is not None else 0.0


@pytest.mark.parametrize("first", [1.0, -1.0])
@pytest.mark.parametrize("transform", [tg.compile, tg.grad])
def test_an_array_that_one_arm_was_given_is_itself(transform, first):
    f = transform(keeps_what_it_was_given)
    for sign in (first, -first, first, -first):
        x, w = np.full(3, sign), np.arange(3.0)
        f(x, w)
        kept, _ = Kept.last
        assert (kept is w) == (sign < 0) and kept.tolist() == (w if sign < 0 else 2.0 * w).tolist()


def test_which_array_arms_have_handed_on_is_asked_in_arms_apart():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same_as_eager(
            asks_which_it_has, [(np.full(3, s), np.arange(3.0)) for s in (1.0, -1.0, 1.0, -1.0)]
        )


def test_what_is_returned_of_arms_is_as_it_was():
    def several(x):
        y = x
        if x[0] > 0:
            a, b = x[0], x[1]
            y = x * 2.0
        else:
            a, b = x[1], x[0]
        listed = [y]
        if x[1] > 0:
            listed.append(a)
        return {"a": a, "b": (b, None, "text"), "n": len(listed), "listed": listed}

    def nothing(x):
        y = x
        if x[0] > 0:
            y = x * 2.0
        if y[1] > 5.0:
            return None

    for function in (several, nothing):
        f = tg.compile(function)
        for a in (1.0, -1.0, 1.0, -1.0):
            for b in (2.0, -2.0, 6.0):
                x = np.array([a, b])
                assert repr(f(x)) == repr(function(x))
        assert any(version.tree.joined for version in versions_of(f))


def test_what_is_not_finite_is_found_through_arms():
    def f(x):
        a = np.log(x[0])
        if x[1] > 0:
            a = a * 2.0
        return a + 1.0

    made = tg.compile(f)
    for sign in (1.0, -1.0):
        made(np.array([1.0, sign]))
    tg.config.check_finite = True
    try:
        with np.errstate(all="ignore"), pytest.raises(tg.errors.FiniteError, match="log gave nan"):
            made(np.array([-1.0, -1.0]))
    finally:
        tg.config.check_finite = False
