"""Functions of SciPy on traced values: values are SciPy's, gradients those of differences."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from checks import assert_close

import tracegrad as tg

pytest.importorskip("scipy")
from scipy import integrate, linalg, signal, special, stats

RANDOM = np.random.default_rng(7)


def differences(f, x, step=1e-6):
    """The gradient of a function of one array by central differences."""
    x = np.asarray(x, float)
    found = np.zeros_like(x)
    for place in np.ndindex(*x.shape):
        ahead, behind = x.copy(), x.copy()
        ahead[place] += step
        behind[place] -= step
        found[place] = (float(f(ahead)) - float(f(behind))) / (2 * step)
    return found


def check(f, *args, argnums=None, rtol=2e-6, atol=1e-7):
    """Compiled and eager values are those of plain NumPy, gradients those of differences."""
    expected = f(*args)
    assert_close(tg.compile(f)(*args), expected, rtol=1e-12)
    weights = np.cos(np.arange(np.size(expected))).reshape(np.shape(expected))

    def weighed(*args):
        return np.sum(weights * f(*args))

    for k in range(len(args)) if argnums is None else argnums:
        gradient = tg.grad(weighed, argnums=k)
        measured = differences(lambda x, k=k: weighed(*args[:k], x, *args[k + 1 :]), args[k])
        for _ in range(2):
            assert_close(gradient(*args), measured, rtol=rtol, atol=atol)


# -- distributions ---------------------------------------------------------------------------------

X = np.array([-1.3, 0.2, 0.7, 2.4])
POSITIVE = np.array([0.3, 0.9, 2.0, 4.1])
INSIDE = np.array([0.1, 0.35, 0.5, 0.9])
COUNTS = np.array([0, 1, 3, 6])
SCALE = np.array(1.7)

CONTINUOUS = {
    "norm": (X, ()),
    "t": (X, (np.array(3.5),)),
    "cauchy": (X, ()),
    "laplace": (X, ()),
    "logistic": (X, ()),
    "expon": (POSITIVE, ()),
    "gamma": (POSITIVE, (np.array(2.3),)),
    "beta": (INSIDE, (np.array(1.4), np.array(2.2))),
    "chi2": (POSITIVE, (np.array(3.0),)),
    "uniform": (INSIDE, ()),
    "lognorm": (POSITIVE, (np.array(0.8),)),
}
METHODS = ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf")
CONSTANT = {"t", "gamma", "beta", "chi2"}  # no derivative of their cdf in shapes is known


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_distributions(name, method):
    x, shapes = CONTINUOUS[name]
    function = getattr(getattr(stats, name), method)
    argnums = None
    if name in CONSTANT and "pdf" not in method:
        argnums = [0, len(shapes) + 1]
    if name == "uniform":
        argnums = [0]
        check(lambda x: function(x), x)
        return
    location = np.array(0.05 if name in ("expon", "gamma", "chi2", "lognorm") else 0.1)
    if name == "beta":
        location = np.array(0.0)
    check(lambda x, *rest: function(x, *rest), x, *shapes, location, SCALE, argnums=argnums)


@pytest.mark.parametrize("method", ["logpmf", "pmf", "cdf", "logcdf", "sf", "logsf"])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [("poisson", (2.2,)), ("binom", (7, 0.3)), ("bernoulli", (0.3,))],
)
def test_discrete_distributions(name, parameters, method):
    counts = np.array([0, 1]) if name == "bernoulli" else COUNTS
    function = getattr(getattr(stats, name), method)
    *fixed, last = parameters
    if method in ("logcdf", "logsf"):
        counts = counts[:1] if method == "logsf" else counts
    check(lambda p: function(counts, *fixed, p), np.array(last))


@pytest.mark.parametrize("name", ["norm", "laplace", "logistic", "cauchy"])
def test_tails_do_not_underflow(name):
    far = np.array([-30.0, -200.0])
    distribution = getattr(stats, name)
    for method, x in (("logcdf", far), ("logsf", -far)):
        function = getattr(distribution, method)
        found = tg.compile(lambda x, f=function: f(x))(x)
        assert_close(found, function(x), rtol=1e-12)


def test_outside_of_the_support():
    for name, x in (("expon", -1.0), ("gamma", -1.0), ("beta", 1.5), ("uniform", 2.0)):
        shapes = [float(s) for s in CONTINUOUS[name][1]]
        for method in METHODS:
            function = getattr(getattr(stats, name), method)
            value, slope = tg.value_and_grad(lambda x, f=function, s=shapes: f(x, *s))(x)
            with np.errstate(all="ignore"):
                assert value == function(x, *shapes), (name, method)
            assert slope == 0.0, (name, method)


def test_a_shape_without_a_derivative_is_refused_by_name():
    with pytest.raises(tg.errors.NotDifferentiableError, match="gammainc"):
        tg.grad(lambda a: stats.gamma.cdf(1.0, a))(2.0)
    with pytest.raises(tg.errors.NotDifferentiableError, match="stdtr"):
        tg.grad(lambda df: stats.t.cdf(1.0, df))(2.0)


def test_what_has_no_counterpart_is_refused_by_name():
    with pytest.raises(tg.errors.ConversionError, match=r"scipy\.stats\.gumbel_r\.logpdf"):
        tg.grad(lambda x: stats.gumbel_r.logpdf(x))(1.0)
    with pytest.raises(tg.errors.ConversionError, match=r"multivariate_normal\.cdf"):
        tg.grad(lambda x: stats.multivariate_normal.cdf(x, np.zeros(2)))(np.ones(2))


def test_distributions_of_vectors():
    alpha, p = np.array([0.8, 1.5, 2.2]), np.array([0.2, 0.3, 0.5])
    counts = np.array([[1, 2, 1], [0, 4, 0]])
    for method in ("logpmf", "pmf"):
        function = getattr(stats.multinomial, method)
        expected = function(counts, 4, p)
        assert_close(tg.compile(lambda p, f=function: f(counts, 4, p))(p), expected, rtol=1e-12)
    slope = tg.grad(lambda p: np.sum(stats.multinomial.logpmf(counts, 4, p)))(p)
    each = counts.sum(0) / p  # the last probability is what the others leave
    assert_close(slope, np.append(each[:-1] - each[-1], 0.0), rtol=1e-12, atol=1e-12)
    for method in ("logpdf", "pdf"):
        function = getattr(stats.dirichlet, method)
        check(lambda alpha, f=function: f(p, alpha), alpha)
    slope = tg.grad(lambda p: stats.dirichlet.logpdf(p, alpha))(p)
    assert_close(slope, (alpha - 1) / p, rtol=1e-12)


@pytest.mark.parametrize("method", ["logpdf", "pdf"])
def test_the_normal_distribution_of_vectors(method):
    function = getattr(stats.multivariate_normal, method)
    factor = RANDOM.normal(size=(3, 3))
    points, mean = RANDOM.normal(size=(2, 5, 3)), RANDOM.normal(size=3)

    def of_factor(points, mean, factor):
        return function(points, mean, factor @ factor.T + np.eye(3))

    check(of_factor, points, mean, factor, rtol=2e-5)
    check(of_factor, points[0, 0], mean, factor, rtol=2e-5)
    check(lambda x, v: function(x, None, v**2 + 1.0), points[0, 0], np.array(0.5))
    check(lambda x, v: function(x, mean, v**2 + 1.0), points[0], np.ones(3))
    check(lambda x: function(x, 0.3, 2.0), np.array([0.1, 0.5]))


def test_a_singular_covariance():
    factor = np.array([[1.0, 0.0], [0.5, 0.0]])
    cov = factor @ factor.T
    point = np.array([2.0, 1.0])
    function = stats.multivariate_normal.logpdf
    found = tg.compile(lambda x: function(x, np.zeros(2), cov, True))(point)
    assert_close(found, function(point, np.zeros(2), cov, True), rtol=1e-12)
    check(lambda s: function(point, np.zeros(2), s * cov, allow_singular=True), np.array(1.3))


def test_entropy():
    check(lambda s: stats.multivariate_normal.entropy(None, s * np.eye(2)), np.array(1.3))


def test_the_names_here_take_tensors_and_arrays():
    import tracegrad.scipy.stats as ours
    from tracegrad.scipy.stats import norm, poisson

    assert isinstance(norm.logpdf(0.3), float)
    assert norm.cdf(np.array([0.3])).tolist() == stats.norm.cdf([0.3]).tolist()
    x = tg.tensor([0.3, 0.5], requires_grad=True)
    norm.logpdf(x, 0.0, 2.0).sum().backward()
    assert_close(x.grad.numpy(), -np.array([0.3, 0.5]) / 4.0, rtol=1e-12)
    assert ours.norm.rvs(size=3, random_state=0).shape == (3,)
    assert poisson(2.0).mean() == 2.0
    assert ours.gumbel_r is stats.gumbel_r


# -- special functions -----------------------------------------------------------------------------

SPECIAL = {
    "gamma": (np.array([-1.5, 0.5, 2.3]),),
    "rgamma": (np.array([-1.5, 0.5, 2.3]),),
    "beta": (np.array([0.5, 2.3]), np.array([1.5, 0.7])),
    "erfcinv": (np.array([0.2, 1.3]),),
    "j0": (POSITIVE,),
    "j1": (POSITIVE,),
    "y0": (POSITIVE,),
    "y1": (POSITIVE,),
}
OF_ORDER = ("jv", "yv", "iv", "ive", "kv", "jn", "yn")


@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions(name):
    function = getattr(special, name)
    check(lambda *args: function(*args), *SPECIAL[name])


@pytest.mark.parametrize("compiled", [True, False])
def test_the_reciprocal_of_gamma_has_derivatives_at_its_zeros(compiled, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiled)
    n = np.arange(6.0)
    slopes = tg.vmap(tg.grad(lambda x: special.rgamma(x)))
    assert_close(slopes(-n), (-1.0) ** n * special.gamma(n + 1.0), rtol=1e-14)
    euler = 0.5772156649015329  # 1 / gamma(x) = x + euler x**2 - 0.6558780715202538 x**3 + ...
    assert_close(tg.grad(tg.grad(lambda x: special.rgamma(x)))(0.0), 2.0 * euler, rtol=1e-13)
    third = tg.grad(tg.grad(tg.grad(lambda x: special.rgamma(x))))(0.0)
    assert_close(third, -6.0 * 0.6558780715202538, rtol=1e-12)
    for x in (-2.0 + 1e-9, -2.0 - 1e-5, -0.3, 0.49999, 0.5, 3.3, 170.0, -20.5):
        assert_close(slopes(np.array([x]))[0], -special.psi(x) * special.rgamma(x), rtol=1e-7)


@pytest.mark.parametrize("at", [(-1.5, 0.5), (-0.25, -0.75), (-1.5, -0.5)])
def test_beta_has_derivatives_at_its_zeros(at):
    step = 1e-6
    for i, slope in enumerate(tg.grad(lambda a, b: special.beta(a, b), (0, 1))(*at)):
        up, down = (np.array(at) + k * step * np.eye(2)[i] for k in (1, -1))
        assert_close(slope, (special.beta(*up) - special.beta(*down)) / (2.0 * step), rtol=1e-8)


@pytest.mark.parametrize("step", [0.3, 1e-2, 1e-5, -1e-9, 1e-13])
@pytest.mark.parametrize("pole", [0.0, -1.0, -7.0])
def test_derivatives_beside_the_poles_of_gamma(pole, step):
    x = pole + step
    trigamma = sum(1.0 / (x + k) ** 2 for k in range(12)) + special.polygamma(1, x + 12.0)
    assert_close(tg.grad(lambda x: special.gammaln(x))(x), special.psi(x), rtol=1e-13)
    slope = special.gamma(x) * special.psi(x)
    assert_close(tg.grad(lambda x: special.gamma(x))(x), slope, rtol=1e-13)
    assert_close(tg.grad(lambda x: special.psi(x))(x), trigamma, rtol=1e-12)


@pytest.mark.parametrize("name", OF_ORDER)
@pytest.mark.parametrize("order", [0, 1, 2])
def test_bessel_functions(name, order):
    function = getattr(special, name)
    check(lambda x: function(order, x), POSITIVE)
    second = tg.grad(lambda x: tg.grad(lambda x: function(order, x))(x))
    slope = tg.grad(lambda x: function(order, x))
    assert_close(second(1.3), (slope(1.3 + 1e-5) - slope(1.3 - 1e-5)) / 2e-5, rtol=1e-6)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_incomplete_gamma_functions(name):
    function = getattr(special, name)
    check(lambda x: function(2.5, x), POSITIVE)
    with pytest.raises(tg.errors.NotDifferentiableError, match=name):
        tg.grad(lambda a: function(a, 1.0))(2.0)


def test_an_op_that_jax_has_not_is_refused_by_name():
    pytest.importorskip("jax")
    with pytest.raises(tg.errors.TracegradError, match="j1"):
        tg.grad(lambda x: special.j0(x), backend="jax")(1.0)
    slope = tg.grad(lambda x: special.gammainc(2.0, x), backend="jax")(1.0)
    assert_close(slope, np.exp(-1.0), rtol=1e-12)


# -- linear algebra --------------------------------------------------------------------------------

A = RANDOM.normal(size=(3, 3)) * 0.5
REGULAR = A @ A.T + np.eye(3)


def test_functions_of_matrices():
    check(lambda a: linalg.expm(a), A, rtol=1e-5)
    check(lambda a: linalg.logm(a @ a.T + np.eye(3)), A, rtol=1e-5)
    check(lambda a: linalg.sqrtm(a @ a.T + np.eye(3)), A, rtol=1e-5)
    jax_slope = tg.grad(lambda a: np.sum(linalg.expm(a)), backend="jax")
    assert_close(jax_slope(A), tg.grad(lambda a: np.sum(linalg.expm(a)))(A), rtol=1e-10)


def test_second_derivatives_of_functions_of_matrices():
    for function in (linalg.expm, lambda a: linalg.sqrtm(a @ a.T + np.eye(3))):
        first = tg.grad(lambda a, f=function: np.sum(f(a) ** 2))

        def of_first(a, first=first):
            return np.sum(np.sin(np.arange(9.0)).reshape(3, 3) * first(a))

        assert_close(tg.grad(of_first)(A), differences(of_first, A), rtol=1e-5, atol=1e-6)


def test_a_complex_root_of_a_real_matrix_is_refused():
    with pytest.raises(ValueError, match="complex"):
        tg.grad(lambda a: np.sum(linalg.sqrtm(a)))(-np.eye(2))


def test_equations():
    q = RANDOM.normal(size=(3, 3))
    check(lambda a, b, q: linalg.solve_sylvester(a, b, q), REGULAR, REGULAR + A, q, rtol=1e-5)
    check(lambda a, b: linalg.cho_solve(linalg.cho_factor(a @ a.T + np.eye(3)), b), A, q, rtol=1e-5)
    bands = np.array([[0.0, 0.2, 0.3], [2.0, 2.1, 2.2], [0.4, 0.5, 0.0]])
    check(lambda ab, b: linalg.solve_banded((1, 1), ab, b), bands, np.ones(3), rtol=1e-5)
    check(lambda a, b: linalg.block_diag(a, b, a), A, np.ones((1, 2)))


# -- convolution -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
@pytest.mark.parametrize(("a", "b"), [((6,), (3,)), ((3,), (6,)), ((5, 4), (2, 3)), ((1,), (1,))])
def test_convolution(a, b, mode):
    x, y = RANDOM.normal(size=a), RANDOM.normal(size=b)
    check(lambda x, y: signal.convolve(x, y, mode), x, y)
    check(lambda x, y: signal.fftconvolve(x, y, mode=mode), x, y, rtol=1e-5)


def test_convolution_along_some_axes():
    from tracegrad.scipy.signal import convolve

    images, kernels = RANDOM.normal(size=(2, 3, 6, 5)), RANDOM.normal(size=(3, 4, 2, 3))
    chosen = {"axes": ([2, 3], [2, 3]), "dot_axes": ([1], [0])}
    for mode in ("full", "valid", "same"):
        found = convolve(images, kernels, mode=mode, **chosen)
        assert type(found) is np.ndarray
        for i, j in np.ndindex(2, 4):
            parts = [signal.convolve(images[i, c], kernels[c, j], mode) for c in range(3)]
            assert_close(found[i, j], sum(parts), rtol=1e-10)
        check(lambda x, k, mode=mode: convolve(x, k, mode=mode, **chosen), images, kernels)
    with pytest.raises(tg.errors.ShapeError, match="valid"):
        tg.compile(lambda x, y: convolve(x, y, mode="valid"))(np.ones((3, 2)), np.ones((2, 3)))
    with pytest.raises(tg.errors.ArgumentError, match="mode"):
        tg.compile(lambda x: convolve(x, x, mode="wrap"))(np.ones(3))


# -- differential equations ------------------------------------------------------------------------

TIMES = np.linspace(0.0, 1.0, 4)
TIGHT = {"rtol": 1e-10, "atol": 1e-10}


def damped(y, t, rate, drive):
    return -rate * y + np.sin(drive * t)


def test_odeint_in_all_its_arguments():
    rate, drive = np.array([0.5, 0.7]), np.array([1.0, 2.0])

    def states(y0, t, rate, drive):
        return integrate.odeint(damped, y0, t, (rate, drive), **TIGHT)

    check(states, np.array([1.0, 2.0]), TIMES, rate, drive, rtol=1e-4, atol=1e-5)


def test_odeint_against_the_solution():
    def last(rate):
        return integrate.odeint(lambda y, t, r: -r * y, 2.0, TIMES, (rate,), **TIGHT)[-1, 0]

    value, slope = tg.value_and_grad(last)(0.7)
    assert_close(value, 2.0 * np.exp(-0.7), rtol=1e-8)
    assert_close(slope, -2.0 * np.exp(-0.7), rtol=1e-7)
    assert_close(tg.grad(tg.grad(last))(0.7), 2.0 * np.exp(-0.7), rtol=1e-6)


def test_solve_ivp():
    def states(y0, rate):
        def slope(t, y, rate):
            return -rate * y

        return integrate.solve_ivp(
            slope, (0.0, 1.0), y0, t_eval=TIMES, args=(rate,), rtol=1e-9, atol=1e-9
        ).y

    check(states, np.array([1.0, 2.0]), np.array(0.4), rtol=1e-5)
    with pytest.raises(tg.errors.ArgumentError, match="dense_output"):
        tg.grad(
            lambda y: integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), y, dense_output=True).y.sum()
        )(np.ones(2))


def falling(t, y, rate):
    return -rate * y + 0.0 * t


def test_solve_ivp_at_the_steps_of_the_solver():
    def last(y0, rate, stop):
        found = integrate.solve_ivp(falling, (0.0, stop), y0, args=(rate,), rtol=1e-9, atol=1e-12)
        return found.y[:, -1].sum() + found.t[-1]

    y0 = np.array([1.0, 2.0])
    gradients = tg.value_and_grad(last, argnums=(0, 1, 2))
    for rate, stop in ((0.4, 1.0), (0.4, 1.5), (3.0, 2.0), (0.4, 1.0)):
        value, (of_y0, of_rate, of_stop) = gradients(y0, rate, stop)
        assert_close(value, 3.0 * np.exp(-rate * stop) + stop, rtol=1e-7)
        assert_close(value, last(y0, rate, stop), rtol=1e-12)
        assert_close(of_y0, np.exp(-rate * stop) * np.ones(2), rtol=1e-6)
        assert_close(of_rate, -stop * 3.0 * np.exp(-rate * stop), rtol=1e-6)
        assert_close(of_stop, 1.0 - rate * 3.0 * np.exp(-rate * stop), rtol=1e-6)


def test_states_of_solve_ivp_at_its_own_steps_are_those_of_scipy():
    def states(y0):
        return integrate.solve_ivp(falling, (0.0, 1.0), y0, args=(0.4,)).y

    y0 = np.array([1.0, 2.0])
    np.testing.assert_array_equal(tg.compile(states)(y0), states(y0))
    jacobian = tg.jacobian(lambda y0: states(y0)[0], mode="reverse")(y0)
    assert_close(jacobian[:, 0], states(y0)[0], rtol=2e-3)  # they are y0[0] times a factor
    assert_close(jacobian[:, 1], np.zeros(len(jacobian)), rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("method", ["RK45", "LSODA"])
@pytest.mark.parametrize(
    ("span", "times"),
    [
        ((0.0, 3.0), np.array([1.0, 2.0, 3.0])),
        ((0.0, 3.0), [0.5]),
        ((0.0, 3.0), np.array([0.0, 1.0])),
        ((3, 0), [2, 1]),
    ],
)
def test_times_of_solve_ivp_need_not_be_the_ends_of_the_span(span, times, method):
    options = {"rtol": 1e-10, "atol": 1e-10, "method": method}

    def squares(y0, rate):
        found = integrate.solve_ivp(
            lambda t, y: -rate * y + 0.1 * t, span, y0, t_eval=times, **options
        )
        return np.sum(found.y**2) + np.sum(found.t)

    y0, rate, step = np.array([1.0, 2.0]), 0.7, 1e-5
    assert tg.compile(squares)(y0, rate) == squares(y0, rate)
    value, (of_y0, of_rate) = tg.value_and_grad(squares, (0, 1))(y0, rate)
    assert value == squares(y0, rate)
    moved = [squares(y0 + e, rate) - squares(y0 - e, rate) for e in step * np.eye(2)]
    assert_close(of_y0, np.array(moved) / (2 * step), rtol=1e-5)
    moved = squares(y0, rate + step) - squares(y0, rate - step)
    assert_close(of_rate, moved / (2 * step), rtol=1e-5)


def test_times_and_start_of_solve_ivp_have_gradients_of_their_own():
    def total(times, start):
        found = integrate.solve_ivp(
            lambda t, y: -y * t, (start, 3.0), np.ones(2), t_eval=times, rtol=1e-10, atol=1e-10
        )
        return np.sum(found.y)

    times, start = np.array([1.0, 2.0]), 0.25
    of_times, of_start = tg.grad(total, (0, 1))(times, start)
    states = 2 * np.exp((start**2 - times**2) / 2)  # of both together
    assert_close(of_times, -times * states, rtol=1e-6)
    assert_close(of_start, start * states.sum(), rtol=1e-6)


def test_a_right_side_may_close_over_traced_values():
    def last(params):
        return integrate.odeint(lambda y, t: -params["rate"] * y, 2.0, TIMES, **TIGHT)[-1, 0]

    value, slope = tg.value_and_grad(last)({"rate": 0.7})
    assert_close(value, 2.0 * np.exp(-0.7), rtol=1e-8)
    assert_close(slope["rate"], -2.0 * np.exp(-0.7), rtol=1e-7)
    of_number = tg.grad(tg.grad(lambda rate: last({"rate": rate})))(0.7)
    assert_close(of_number, 2.0 * np.exp(-0.7), rtol=1e-6)


def test_a_right_side_that_hides_a_traced_value_is_refused():
    def last(rate):
        hidden = SimpleNamespace(rate=rate)
        return integrate.odeint(lambda y, t: -hidden.rate * y, rate * 0.0 + 2.0, TIMES)[-1, 0]

    with pytest.raises(tg.errors.TracegradError, match="with args="):
        tg.grad(last)(0.7)


def test_gamma_functions_of_several_dimensions_and_their_sign():
    check(lambda a: special.multigammaln(a, 3), np.array([2.5, 4.0]))
    x = np.array([-1.5, -0.5, 2.0])
    found = tg.compile(lambda x: special.gammasgn(x) * x)(x)
    assert found.tolist() == (special.gammasgn(x) * x).tolist()


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
def test_convolution_of_images_and_by_overlapping_parts(mode):
    x, y = RANDOM.normal(size=(5, 4)), RANDOM.normal(size=(2, 3))
    check(lambda x, y: signal.convolve2d(x, y, mode), x, y)
    check(lambda x, y: signal.oaconvolve(x, y, mode), x, y, rtol=1e-5)


def test_what_is_masked_is_masked_once():
    """The derivative of a function of positive arguments: both choices have the same mask."""
    gradient = tg.grad(lambda x, s: np.sum(stats.gamma.cdf(x, 2.3, scale=s)))
    source = gradient.source(np.array([0.2, -0.3]), np.array(1.2))
    assert source.partition("\n\n\ndef zero_inside(")[0].count("zero_inside(") == 1
