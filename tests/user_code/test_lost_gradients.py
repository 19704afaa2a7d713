"""Functions that make Python numbers of what is differentiated enter: where such a number comes
back in the result an error leaves, where it decides or is shown nothing does.
"""

from __future__ import annotations

import array
import cmath
import decimal
import fractions
import functools
import heapq
import itertools
import logging
import math
import re
import statistics
import struct
from math import fsum
from math import sin as sine
from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits
from scipy import integrate, optimize

import tracegrad as tg
from tracegrad.errors import ConversionError, GradientError, LostGradientError
from tracegrad.user_code import program_points

X, Y = np.array([0.7, 2.3]), np.array([3.1, 4.9])


class Kept:
    """What a program may keep numbers in, outside of its function."""

    scale = 0.0
    history: list[Any] = []  # noqa: RUF012


LOSING: list[Any] = []
COMPUTED: list[Any] = []
SILENT: list[Any] = []


def losing(f: Any) -> Any:
    LOSING.append(f)
    return f


def computed(f: Any) -> Any:
    COMPUTED.append(f)
    return f


def silent(f: Any) -> Any:
    SILENT.append(f)
    return f


# -- what is lost -------------------------------------------------------------------------------
# In each of these the line with the mark reads the number.


@losing
def returned(x, y):
    return float(np.sum(x * y))  # here


@losing
def returned_by_a_variable(x, y):
    loss = np.sum(x * y)
    value = float(loss)  # here
    return value


@losing
def returned_after_arithmetic(x, y):
    value = float(np.sum(x))  # here
    value += 1.0
    return 2.0 * value


@losing
def returned_whole(x, y):
    return int(np.sum(x * y))  # here


@losing
def sum_of_list(x, y):
    return sum(x.tolist())  # here


@losing
def loop_over_list(x, y):
    total = 0.0
    for _, v in enumerate(x.tolist()):  # here
        total += v
    return total * np.sum(y)


@losing
def largest_of_list(x, y):
    return max(x.tolist())  # here


@losing
def sum_of_floats(x, y):
    return sum(map(float, x))  # here


@losing
def from_iterator(x, y):
    return np.sum(np.fromiter((v for v in x), float) * y)  # here


@losing
def array_of_floats(x, y):
    rows = [float(v) for v in x]  # here
    return np.sum(np.array(rows) * y)


@losing
def array_alone(x, y):
    return np.sum(np.array([float(v) for v in x]))  # here


@losing
def tensor_of_floats(x, y):
    return np.sum(tg.tensor([float(v) for v in x]) * y)  # here


@losing
def of_numpy(x, y):
    return np.sum(np.float64(x[0]) * y)  # here


@computed
def by_math(x, y):
    return np.sum(math.sin(x[0]) * y)  # here


@computed
def by_name(x, y):
    return np.sum(y * sine(x[0]))  # here


@computed
def by_cmath(x, y):
    return np.sum(y * cmath.exp(x[0]).real)  # here


@losing
def by_float(x, y):
    scale = float(x[0])  # here
    return np.sum(scale * y)


@losing
def on_the_right(x, y):
    return np.sum(y / float(x[1]))  # here


@losing
def in_a_call(x, y):
    return np.sum(np.multiply(y, float(x[0])))  # here


@losing
def as_exponent(x, y):
    return np.sum(y ** float(x[0]))  # here


@losing
def in_place(x, y):
    z = y * 1.0
    z *= float(x[0])  # here
    return np.sum(z)


@losing
def stored(x, y):
    z = tg.zeros(2) + y
    z[0] = float(x[0])  # here
    return np.sum(z * y)


@losing
def stored_in_an_array(x, y):
    z = np.zeros(2)
    z[0] = float(x[0])  # here
    return np.sum(z * y)


@losing
def stored_through_a_view(x, y):
    z = np.zeros(2)
    part = z[1:]
    part.fill(float(x[0]))  # here
    return np.sum(z[:] * y)


@losing
def stored_through_a_buffer(x, y):
    z = np.zeros(2)
    memoryview(z)[0] = float(x[0])  # here
    return np.sum(z * y)


@losing
def stored_out(x, y):
    z, number = np.zeros(2), float(x[0])  # here
    np.add(z, number, out=z)
    np.put(z, [1], 2.0)
    return z @ y


@losing
def stored_in_numbers_of_python(x, y):
    z = array.array("d", [0.0, 0.0])
    z[0] = float(x[0])  # here
    return z[0] * y[0]


@losing
def rounded(x, y):
    return round(float(x[0]), 2) * np.sum(y)  # here


@losing
def complex_number(x, y):
    z = complex(x[0])  # here
    return np.sum(z.real * y)


@losing
def by_text(x, y):
    return float("%.17g" % x[0]) * np.sum(y)  # here  # noqa: UP031


@losing
def by_formatted_text(x, y):
    text = f"{x[0]:.6f}"  # here
    return float(text) * np.sum(y)


@losing
def by_text_of_a_float(x, y):
    text = str(float(x[0]))  # here
    return float(text) * np.sum(y)


@losing
def integral(x, y):
    return integrate.dblquad(lambda s, t: t * x[0], 0, 1, 0, 1)[0]  # here


@losing
def integral_as_factor(x, y):
    value, _ = integrate.dblquad(lambda s, t: t * x[0], 0, 1, 0, 1)  # here
    return value * np.sum(y)


@computed
def line_integral(x, y):
    return integrate.quad(lambda t: t * x[0], 0, 1)[0]


@computed
def root(x, y):
    return optimize.brentq(lambda t: t - x[0], -10, 10)


@losing
def smallest(x, y):
    found = optimize.minimize_scalar(lambda t: float((t - x[0]) ** 2))  # here
    return found.x


@computed
def mean_of_floats(x, y):
    return statistics.fmean(x)  # here


@losing
def reduced(x, y):
    return functools.reduce(lambda total, v: total + float(v), x, 0.0)  # here


@losing
def accumulated(x, y):
    return list(itertools.accumulate(map(float, x)))[-1] * np.sum(y)  # here


@losing
def as_fraction(x, y):
    return np.sum(y) * float(fractions.Fraction(float(x[0])))  # here


@losing
def as_ratio(x, y):
    above, below = float(x[0]).as_integer_ratio()  # here
    return np.sum(y) * (above / below)


@losing
def mean_of_ratios(x, y):
    return np.sum(y) * statistics.mean([float(v) for v in x])  # here


@losing
def as_decimal(x, y):
    return float(decimal.Decimal(float(x[0])) * 2)  # here


@losing
def packed(x, y):
    return struct.unpack("d", struct.pack("d", x[0]))[0]  # here


@losing
def in_a_python_array(x, y):
    return sum(array.array("d", x))  # here


@losing
def on_a_heap(x, y):
    heap: list[float] = []
    for v in x:
        heapq.heappush(heap, float(v))  # here
    return heapq.heappop(heap) * np.sum(y)


@losing
def appended(x, y):
    parts = []
    for v in x:
        parts.append(float(v))  # here
    return sum(parts)


@losing
def in_a_dictionary(x, y):
    found = {}
    found["scale"] = float(x[0])  # here
    return found["scale"] * np.sum(y)


@losing
def in_an_attribute(x, y):
    Kept.scale = float(x[0])  # here
    return Kept.scale * np.sum(y)


def scaled(v, factor):
    return np.sum(v * factor)


def norm_of(v):
    return float(np.sqrt(np.sum(v * v)))  # here too


@losing
def given_to_a_helper(x, y):
    return scaled(y, float(x[0]))  # here


def made_by_a_helper(x, y):
    size = norm_of(x)
    return np.sum(y) / size


@losing
def in_a_closure(x, y):
    factor = float(x[0])  # here

    def by_factor(v):
        return v * factor

    return np.sum(by_factor(y))


@losing
def computed_in_a_closure(x, y):
    factor = 2.0 * float(x[0])  # here

    def by_factor(v):
        return v * factor

    return np.sum(by_factor(y))


@losing
def in_an_inner_derivative(x, y):
    factor = 2.0 * float(x[0])  # here
    return np.sum(tg.grad(lambda v: np.sum(v * v * factor))(y))


def fraction(number, whole):
    part = number / whole
    return part


@losing
def computed_by_a_helper(x, y):
    part = fraction(float(x[0]), whole=3.0)  # here
    return part * np.sum(y)


class Model:
    """Methods that pass numbers on."""

    def half(self, number):
        return number / 2.0

    def loss(self, x, y):
        return self.half(float(x[0])) * np.sum(y)  # here


@losing
def by_methods(x, y):
    value = float(x[0])  # here
    return Model().half(value) * np.sum(y)


@losing
def beside_a_gradient(x, y):
    return np.sum(x * y) * float(np.sum(x))  # here


@losing
def interpolated(x, y):
    return np.interp(float(x[0]), [0.0, 1.0], [0.0, 1.0]) * np.sum(y)  # here


@losing
def by_vectorize(x, y):
    return np.sum(np.vectorize(math.sin)([float(v) for v in x]))  # here


def line_of(f: Any, mark: str = "# here") -> int:
    """The line of a function that has a mark."""
    with open(__file__, encoding="utf-8") as file:
        lines = file.read().splitlines()
    first = f.__code__.co_firstlineno
    return next(i for i, line in enumerate(lines, 1) if i >= first and mark in line)


def check(error: LostGradientError, line: int) -> None:
    last = str(error).splitlines()[-1]
    assert last.strip().startswith(f"at {__file__}:{line}"), str(error)
    assert "stop_gradient" in str(error) and "x.item()" in str(error)


@pytest.mark.parametrize("f", LOSING, ids=lambda f: f.__name__)
@pytest.mark.parametrize("transform", [tg.grad, tg.value_and_grad])
def test_a_lost_gradient_is_an_error_with_its_line(transform: Any, f: Any) -> None:
    made = transform(f, (0, 1))
    for _ in range(2):
        with pytest.raises(LostGradientError) as found:
            made(X, Y)
        check(found.value, line_of(f))
    assert made.cache_info().versions == 0


def test_what_map_calls_in_a_loop_stands_in_the_users_line(monkeypatch: Any) -> None:
    """A generator of the machine's own that runs in a user's frame is no code of the user's."""
    monkeypatch.setattr(program_points, "_is_users", {})

    def longest(x: Any) -> Any:
        total = x[0]
        for v in map(abs, x):
            total = np.maximum(total, v)
        return total

    def lost(x: Any) -> Any:
        return sum(map(float, x))  # here

    assert_same_bits(tg.grad(longest)(np.arange(20.0)), np.eye(20)[19])
    with pytest.raises(LostGradientError) as found:
        tg.grad(lost)(X)
    check(found.value, line_of(lost))


@pytest.mark.parametrize("f", LOSING, ids=lambda f: f.__name__)
def test_of_vjp_and_of_compiled_calls_on_tensors(f: Any) -> None:
    for call in (
        lambda: tg.vjp(f, X, Y),
        lambda: tg.compile(f)(tg.tensor(X, requires_grad=True), tg.tensor(Y, requires_grad=True)),
    ):
        with pytest.raises(LostGradientError) as found:
            call()
        check(found.value, line_of(f))


@pytest.mark.parametrize("f", LOSING, ids=lambda f: f.__name__)
def test_of_functions_that_run_eagerly(f: Any) -> None:
    made = tg.grad(f, (0, 1))
    made._give_up("it was told to")
    for given in ((X, Y), (tg.tensor(X), tg.tensor(Y, requires_grad=True))):
        with pytest.raises(LostGradientError) as found:
            made(*given)
        check(found.value, line_of(f))


@pytest.mark.parametrize("f", LOSING, ids=lambda f: f.__name__)
def test_of_a_transform_inside_another(f: Any) -> None:
    def outer(x):
        return np.sum(tg.grad(f, (0, 1))(x * x, Y)[0])

    with pytest.raises(LostGradientError) as found:
        tg.grad(outer)(X)
    check(found.value, line_of(f))


def test_in_a_method() -> None:
    with pytest.raises(LostGradientError) as found:
        tg.grad(Model().loss)(X, Y)
    check(found.value, line_of(Model.loss))


def test_in_a_helper() -> None:
    with pytest.raises(LostGradientError) as found:
        tg.grad(made_by_a_helper)(X, Y)
    check(found.value, line_of(norm_of, "# here too"))


@pytest.mark.parametrize("f", LOSING, ids=lambda f: f.__name__)
def test_without_a_gradient_nothing_is_lost(f: Any) -> None:
    tg.compile(f)(X, Y)
    with tg.no_grad():
        tg.compile(f)(tg.tensor(X, requires_grad=True), tg.tensor(Y, requires_grad=True))
        f(tg.tensor(X, requires_grad=True), tg.tensor(Y))


def test_an_array_of_what_is_differentiated() -> None:
    with pytest.raises(ConversionError, match="stop_gradient"):
        tg.grad(lambda x: np.sum(x.numpy()))(X)
    assert_same_bits(tg.grad(lambda x: np.sum(np.asarray(x) * 2.0))(X), np.full(2, 2.0))


# -- what is not --------------------------------------------------------------------------------


@silent
def decided(x, y):
    if float(x[0]) > 0.0 and math.isfinite(x[1]) and not math.isnan(x[0]):
        return np.sum(x * y)
    return np.sum(y)


@silent
def decided_by_a_variable(x, y):
    size = math.sqrt(np.sum(x * x))
    bound = 2.0 * size + 1.0
    return np.sum(x * y) if bound > 3.0 else np.sum(y)


@silent
def until_it_is_small(x, y):
    before = math.inf
    while True:
        x = 0.5 * (x + y / x)
        error = np.sum((x * x - y) ** 2)
        if float(error) < 1e-12 or abs(before - error) < 1e-12:
            break
        before = float(error)
    return np.sum(x)


@silent
def while_it_is_large(x, y):
    step = np.sum(x * y)
    while float(step) > 1e-1:
        step = step / 2.0
    return step


@silent
def constant_on_one_way(x, y):
    size = float(np.sum(x))
    if size > 1.0:
        return 0.25
    return np.sum(x * y)


@silent
def infinity_on_one_way(x, y):
    size = float(np.sum(x))
    return -math.inf if size > 1.0 else np.sum(x * y)


@silent
def shown(x, y):
    text = f"{float(x[0]):.2f} {round(float(x[1]), 2)} {x[1]:.3f} {math.floor(x[1])} {x}"
    logging.getLogger("lost").info("at %s: %f", text, x[0])
    print(text, float(x[0]), end="")
    return np.sum(x * y) if len(text) < 999 else np.sum(y)


@silent
def reported(x, y):
    losses = []
    for _ in range(3):
        x = 0.9 * x
        losses.append(float(np.sum(x)))
        Kept.history.append(float(np.sum(x)))
        if len(losses) > 1 and losses[-1] > losses[-2] - 1e-9:
            break
    print(statistics.fmean(losses), end="")
    return np.sum(x * y)


@silent
def compared(x, y):
    return np.sum(np.where(y > float(x[0]), x, y))


@silent
def signed(x, y):
    return np.sum(x) * np.copysign(1.0, float(x[0])) + np.sum(y)


@silent
def asked_for(x, y):
    return np.sum(x[0].item() * y) + np.sum(float(tg.stop_gradient(x[1])) * y)


@silent
def an_equal_number(x, y):
    return np.sum(x * 0.7 * y) if float(x[0]) == 0.7 else np.sum(x)


@silent
def index_and_count(x, y):
    k = int(x[1]) - 1
    for i in range(int(x[1])):
        y = y * x[k] + i
    return np.sum(y[: math.ceil(x[0])]) / int(x[1])


@silent
def ordered(x, y):
    low, high = sorted(x, key=lambda v: float(v))
    best = max(range(2), key=lambda i: float(y[i]))
    return low * high * y[best]


@silent
def another_value_of_the_name(x, y):
    value = float(np.sum(x))
    print(value, end="")
    value = np.sum(x * y)
    return value * 2.0


@silent
def chosen_by_a_helper(x, y):
    def is_small(number, bound=1e-3):
        return number < bound

    while not is_small(float(np.sum(x * x))):
        x = x / 2.0
    return np.sum(x * y)


TABLE = ((-1.0, 0.25), (0.5, 0.75), (2.0, 1.25))


def coefficient(number):
    for start, found in reversed(TABLE):
        if start <= number:
            return found
    return 0.0


@silent
def chosen_from_a_table(x, y):
    value = float(x[0])
    factor = coefficient(value)
    return factor * np.sum(x * y)


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")  # of what prints
@pytest.mark.parametrize("f", SILENT, ids=lambda f: f.__name__)
def test_what_decides_or_is_shown_is_no_error(f: Any) -> None:
    made = tg.value_and_grad(f, (0, 1))
    for _ in range(3):
        made(X, Y)
    made._give_up("it was told to")
    value, gradient = made(X, Y)
    out, pull = tg.vjp(f, X, Y)
    assert out == value
    if isinstance(value, np.generic):
        for one, other in zip(gradient, pull(np.float64(1.0)), strict=True):
            np.testing.assert_array_equal(one, other)
    tensors = tg.tensor(X, requires_grad=True), tg.tensor(Y, requires_grad=True)
    tg.compile(f)(*tensors)
    f(*tensors)


def with_report(x, y):
    loss = np.sum(x * y)
    return loss, {"loss": float(loss), "parts": x.tolist()}


def test_what_is_only_reported_is_auxiliary() -> None:
    for made in (tg.grad(with_report, has_aux=True), tg.value_and_grad(with_report, has_aux=True)):
        for _ in range(2):
            made(X, Y)


def test_a_compiled_function_may_return_numbers_beside_what_has_a_history() -> None:
    x = tg.tensor(X, requires_grad=True)
    loss, report = tg.compile(with_report)(x, Y)
    loss.backward()
    np.testing.assert_array_equal(x.grad.numpy(), Y)
    assert report["loss"] == float(loss)


def test_of_several_results_none_is_lost() -> None:
    with pytest.raises(LostGradientError):
        tg.vjp(lambda x: (np.sum(x), float(x[0])), X)


@pytest.mark.parametrize("f", COMPUTED, ids=lambda f: f.__name__)
def test_functions_of_numbers_are_those_of_arrays(f: Any) -> None:
    """``math.sin(x[0])`` has its gradient, compiled and eagerly."""
    for made in (tg.value_and_grad(f, argnums=(0, 1)), eagerly(f)):
        value, gradients = made(X, Y)
        assert_close(value, f(X, Y), 1e-12)
        for i, gradient in enumerate(gradients):
            for k in range(2):
                up, down = [X.copy(), Y.copy()], [X.copy(), Y.copy()]
                up[i][k] += 1e-6
                down[i][k] -= 1e-6
                slope = np.real(f(*up) - f(*down)) / 2e-6
                np.testing.assert_allclose(gradient[k], slope, rtol=1e-6, atol=1e-7)


def eagerly(f: Any) -> Any:
    def made(*args: Any) -> Any:
        before, tg.config.compile = tg.config.compile, False
        try:
            return tg.value_and_grad(f, argnums=(0, 1))(*args)
        finally:
            tg.config.compile = before

    return made


# -- Tensors outside of any function that is differentiated -----------------------------------


def test_of_eager_tensors_without_a_gradient_nothing_is_lost() -> None:
    x, y = tg.tensor(X, requires_grad=True), tg.tensor(Y, requires_grad=True)
    scale = float(x[0])
    assert not (scale * tg.tensor(Y)).requires_grad  # a backward of it is refused
    assert tg.rand(2).shape == (2,)
    with tg.no_grad():
        by_float(x, y)
    np.testing.assert_array_equal(tg.grad(lambda v: np.sum(v * scale))(Y), [0.7, 0.7])


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: math.fsum(x), r"math.fsum reads a number .*: write sum\(...\)"),
        (lambda x: math.fsum(2.0 * v for v in x), "math.fsum"),
        (lambda x: fsum([x[0], 1.0]), "math.fsum"),
        (lambda x: statistics.fmean(x), "math.fsum"),
        (lambda x: np.fromiter(x, float), r"np.fromiter reads a number .*: write tg.stack"),
        (lambda x: np.fromiter((2.0 * v for v in x), float, 2), "np.fromiter"),
    ],
)
def test_functions_that_gather_numbers_of_eager_tensors_are_refused_by_name(f, message) -> None:
    with pytest.raises((LostGradientError, ValueError)) as refused:  # NumPy raises one after it
        f(tg.tensor(X, requires_grad=True))
    error = refused.value if refused.type is LostGradientError else refused.value.__cause__
    assert re.search(message, str(error))
    with tg.no_grad():
        f(tg.tensor(X, requires_grad=True))
    f(tg.tensor(X, requires_grad=True).detach())


def test_numbers_that_decide_may_be_computed_of_eager_tensors() -> None:
    x = tg.tensor(X, requires_grad=True)
    assert math.sqrt(x[0]) < math.dist(x, Y) + float(x[1]) + int(x[1])
    assert math.isfinite(x[0])


def test_a_loop_of_eager_steps_may_compare_with_the_last_number() -> None:
    x, before = tg.tensor(X, requires_grad=True), math.inf
    for _ in range(3):
        loss = (x * x).sum()
        if abs(loss - before) < 1e-9:
            break
        before = float(loss)
        loss.backward()


def test_the_error_is_one_about_gradients_and_says_what_to_write() -> None:
    assert issubclass(LostGradientError, GradientError)
    for f, written in (
        (by_float, r"Leave float\(\.\.\.\) out"),
        (sum_of_list, r"\[v for v in x\]"),
        (integral, "sum over nodes, which gradients flow through"),
    ):
        with pytest.raises(LostGradientError, match=written):
            tg.grad(f)(X, Y)


def test_without_a_source_numbers_that_come_back_are_refused() -> None:
    for text in (
        "lambda x: float(x[0])",
        "lambda x: float(x[0]) * x[1]",
        "lambda x: sum(x.tolist())",
    ):
        with pytest.raises(LostGradientError):
            tg.grad(eval(text))(X)
    fine = eval("lambda x: x[0] * x[1] * 3.5 if float(x[0]) > 0.0 else x[0]")
    assert tg.grad(fine)(X)[0] == 3.5 * X[1]


def cached_by_text(x, cache):
    key = f"{x[0]:.2f}"
    if key not in cache:
        cache[key] = x * 2
    return np.sum(cache[key] + x)


def cached_by_rounded(x, cache):
    key = round(float(x[0]), 2)
    return np.sum(cache.setdefault(key, x * 2) + cache.get(key, 0.0))


@pytest.mark.parametrize("f", [cached_by_text, cached_by_rounded], ids=lambda f: f.__name__)
def test_a_key_decides_and_loses_nothing(f, monkeypatch):
    for compiled in (True, False):
        monkeypatch.setattr(tg.config, "compile", compiled)
        found = tg.grad(lambda x: f(x, {}))(np.array([0.5, 1.5]))
        np.testing.assert_allclose(found, [3.0, 3.0] if f is cached_by_text else [4.0, 4.0])


def test_a_number_in_a_dict_is_lost_under_any_key():
    def f(x):
        table = {round(float(x[0]), 2): float(x[1])}
        return table[round(float(x[0]), 2)] * np.sum(x)

    with pytest.raises(LostGradientError):
        tg.grad(f)(np.array([0.5, 1.5]))


def summed_by_text(x):
    groups = {}
    for v in x:
        groups.setdefault(f"{v:.0f}", []).append(v)
    return sum(len(group) * sum(group) ** 2 for _, group in groups.items())


def summed_in_order(x):
    groups = {}
    for v in x:
        groups.setdefault(f"{v:.0f}", []).append(v)
    return sum(len(group) * sum(group) ** 2 for _, group in sorted(groups.items()))


@pytest.mark.parametrize("f", [summed_by_text, summed_in_order])
def test_what_stands_in_a_tuple_with_a_text_is_not_made_of_it(f, monkeypatch):
    x = np.array([1.3, 0.9, 2.2])
    for compiled in (True, False):
        monkeypatch.setattr(tg.config, "compile", compiled)
        np.testing.assert_allclose(tg.grad(f)(x), [8.8, 8.8, 4.4])


def test_numbers_beside_others_in_tuples_are_lost():
    def f(x):
        pairs = [(f"{v:.0f}", float(v)) for v in x]
        return sum(v * k for k, (_, v) in enumerate(sorted(pairs), 1)) * x[0]

    with pytest.raises(LostGradientError):
        tg.grad(f)(np.array([1.3, 0.9, 2.2]))
