"""What raises for some numbers and is caught: the arms are paths, and no arm stands for another."""

from __future__ import annotations

import cmath
import contextlib
import math
import warnings
from itertools import permutations

import numpy as np
import pytest
from checks import assert_close

import tracegrad as tg

NUMBERS = (-1.0, 4.0, 0.0, 1.0, 0.5, math.inf, math.nan)
OF_ONE = (
    *(math.log, math.log2, math.log10, math.log1p, math.sqrt, math.acos, math.asin, math.acosh),
    *(math.atanh, math.sin, math.cos, math.tan, math.exp, math.expm1, math.cosh, math.sinh),
    *(math.atan, math.tanh),
)
CAUGHT = (ValueError, OverflowError, ZeroDivisionError)


def one(function, scale=1.0):
    def f(x):
        try:
            return function(x[0] * scale) * x
        except CAUGHT as error:
            return x * len(type(error).__name__)

    f.__name__ = function.__name__ + ("" if scale == 1.0 else "_of_more")
    return f


def power(x):
    try:
        return math.pow(x[0], x[1]) + x
    except OverflowError:
        return x * 2
    except ValueError:
        return x * 3


def remainder(x):
    try:
        return math.fmod(x[1], x[0]) * x
    except ValueError:
        return -x


def log_to_base(x):
    try:
        return math.log(2.0, x[0]) * x
    except ZeroDivisionError:
        return x * 2
    except ValueError:
        return x * 3


def length(x):
    try:
        return math.hypot(x[0] * 1e300, 1e300 * 1e8) * 1e-300 * x
    except OverflowError:
        return x * 2


def complex_exponential(x):
    try:
        return cmath.exp(x[0] * 1e3).real * x
    except OverflowError:
        return x * 2
    except ValueError:
        return x * 3


def complex_log10(x):
    try:
        return cmath.log10(x[0]).real * x
    except ValueError:
        return x * 3


def whole(x):
    try:
        return int(x[0] * np.inf) * x
    except OverflowError:
        return x * 2
    except ValueError:
        return x * 3


def rounded(x):
    try:
        return round(x[0].item() * 2.0) * x
    except OverflowError:
        return x * 2
    except ValueError:
        return x * 3


def safe(v):
    try:
        return math.log(v)
    except ValueError:
        return -9.0


def in_a_helper(x):
    return safe(x[0]) * x


def behind_a_handler_further_out(x):
    try:
        return sum(map(lambda v: math.sqrt(v), x)) * x
    except ValueError:
        return x * 3


def suppressed(x):
    found = x * 5
    with contextlib.suppress(ValueError):
        found = math.log(x[0]) * x
    return found


def message(x):
    try:
        return math.sqrt(x[0]) * x
    except ValueError as error:
        return x * len(str(error))


def finally_counts(x):
    count = 0
    try:
        try:
            found = math.log(x[0]) * x
        finally:
            count += 1
    except ValueError:
        found = x * 7
    return found * count


def in_turns(x):
    total = 0.0
    for i in range(9):
        try:
            total = total + math.log(x[0] + i)
        except ValueError:
            total = total - 1.0
    return total * x


def over_elements(x):
    found = []
    for v in (x[0], x[1], -x[0], x[0] * x[1], x[1] - 5.0, x[0] + 0.0):
        try:
            found.append(math.sqrt(v))
        except ValueError:
            found.append(-99.0)
    return np.array(found)


def left_by_an_exception(x):
    turns, v = 0, x[0] + 3.0
    try:
        while turns < 20:
            v = math.log(v)
            turns += 1
    except ValueError:
        return v * x
    return turns * x


def whole_in_turns(x):
    total = 0.0
    for i in range(8):
        try:
            total = total + int(1.0 / (x[0] - i))
        except (OverflowError, ValueError):
            total = total - 1.0
    return total * x


PROGRAMS = (
    *map(one, OF_ONE),
    *(one(f, 1e3) for f in (math.exp, math.cosh, math.sinh, math.expm1)),
    *(power, remainder, log_to_base, length, complex_exponential, complex_log10, whole, rounded),
    *(in_a_helper, behind_a_handler_further_out, suppressed, message, finally_counts),
    *(in_turns, over_elements, left_by_an_exception, whole_in_turns),
)
programs = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)


def quietly(function, *args):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*args)


@programs
@pytest.mark.parametrize("backward", [False, True], ids=["forth", "back"])
def test_each_call_takes_its_own_arm(program, backward):
    """Whichever of the numbers comes first."""
    for first in (0, 1, 4):
        made = tg.compile(program)
        numbers = NUMBERS[first:] + NUMBERS[:first]
        for number in numbers[::-1] if backward else numbers:
            x = np.array([number, 2.0])
            assert_close(quietly(made, x), quietly(program, x), 1e-13, what=number)


@pytest.mark.parametrize("numbers", list(permutations((-1.0, 4.0, 2.0))))
def test_gradients_are_those_of_the_arm(numbers):
    made = tg.grad(lambda x: np.sum(one(math.log)(x)))
    for number in numbers:
        log = math.log(number) if number > 0 else None
        expected = [10.0, 10.0] if log is None else [log + 1 + 2.0 / number, log]
        assert_close(made(np.array([number, 2.0])), np.array(expected), 1e-13)


@pytest.mark.parametrize("program", [one(math.log), over_elements, suppressed, message],
                         ids=lambda program: program.__name__)  # fmt: skip
def test_files_have_both_arms(program, tmp_path):
    made = tg.compile(program)
    for number in (4.0, -1.0, 0.5):
        quietly(made, np.array([number, 2.0]))
    made.export(tmp_path / "exported.py", np.array([-1.0, 2.0]))
    space = {"__file__": str(tmp_path / "exported.py")}
    exec((tmp_path / "exported.py").read_text(), space)
    for number in (-1.0, 4.0, 0.5):
        x = np.array([number, 2.0])
        assert_close(space[program.__name__](x), program(x), 1e-13)


def test_a_number_given_as_an_argument():
    def f(a):
        try:
            return math.log(a)
        except ValueError:
            return -99.0

    made = tg.compile(f)
    for a in (-1.0, 4.0, 0.0, 3.0):
        assert made(a) == f(a)


def test_nothing_is_asked_where_nothing_is_caught():
    made = tg.compile(lambda x: math.log(x[0]) * x)
    made(np.array([2.0, 3.0]))
    assert "if" not in made.source().split("def ")[1]
    with pytest.raises(ValueError):
        made(np.array([-2.0, 3.0]))
