"""What tracegrad refuses is raised, also where the function has caught it."""

from __future__ import annotations

import contextlib
from collections import deque
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

import tracegrad as tg
from tracegrad.errors import (
    BackwardError,
    ConversionError,
    DTypeError,
    GradientError,
    LostGradientError,
    MemoryAccessError,
    NotDifferentiableError,
    TracegradError,
)

X = np.array([3.0, 4.0])


def by_name(x):
    try:
        x -= 1.0
        return np.sum(x**2)
    except RuntimeError:
        return 100.0 * np.sum(x)


def without_name(x):
    try:
        x -= 1.0
        return np.sum(x**2)
    except:  # noqa: E722
        return 100.0 * np.sum(x)


def by_suppress(x):
    with contextlib.suppress(Exception):
        x -= 1.0
        return np.sum(x**2)
    return 100.0 * np.sum(x)


def by_return_at_last(x):
    try:
        x -= 1.0
    finally:
        return 100.0 * np.sum(x)  # noqa: B012


def in_a_generator(x):
    def parts():
        try:
            x.__isub__(1.0)
            yield np.sum(x)
        except Exception:
            yield 100.0 * np.sum(x)

    return sum(parts())


def replaced(x):
    try:
        x -= 1.0
    except Exception as error:
        raise ValueError("no step") from error
    return np.sum(x)


def around_a_derivative(x):
    try:
        return np.sum(tg.grad(replaced)(x))
    except ValueError:
        return 100.0 * np.sum(x)


def without_counterpart(x):
    try:
        return np.sum(np.frexp(x)[0])
    except Exception:
        return 100.0 * np.sum(x)


def of_scipy(x):
    try:
        return np.sum(minimize(lambda v: np.sum((v - x) ** 2), np.zeros(2)).x)
    except Exception:
        return 100.0 * np.sum(x)


def without_derivative(x):
    try:
        return np.sum(np.linalg.svd(np.outer(x, np.arange(3.0)))[0])
    except Exception:
        return 100.0 * np.sum(x)


def memory(x):
    try:
        return np.sum(x) * (x.ctypes.data != 0)
    except AttributeError:
        return 100.0 * np.sum(x)


def memory_or_none(x):
    base = getattr(x, "ctypes", None)
    return np.sum(x) if base is not None else 100.0 * np.sum(x)


def of_objects(x):
    try:
        return np.sum((x * Fraction(1, 2)).astype(float))
    except TypeError:
        return 100.0 * np.sum(x)


WRITES = (by_name, without_name, by_suppress, by_return_at_last, in_a_generator, replaced)
REFUSED = (
    *[(f, GradientError) for f in (*WRITES, around_a_derivative)],
    (without_counterpart, TracegradError),
    (of_scipy, ConversionError),
    (without_derivative, NotDifferentiableError),
    (memory, MemoryAccessError),
    (memory_or_none, MemoryAccessError),
    (of_objects, DTypeError),
)


@pytest.mark.parametrize("compiles", [True, False])
@pytest.mark.parametrize(("f", "error"), REFUSED, ids=lambda x: x.__name__)
def test_a_refusal_is_raised_after_it_was_caught(f, error, compiles, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiles)
    given, gradient = X.copy(), tg.value_and_grad(f)
    for _ in range(2):
        with pytest.raises(error) as told:
            gradient(given)
        assert type(told.value) is error
    np.testing.assert_array_equal(given, X)
    with pytest.raises(error):
        tg.jacobian(f)(given)
    assert gradient.cache_info().versions == 0


@pytest.mark.parametrize(
    ("f", "error"),
    [(f, error) for f, error in REFUSED if f not in (memory, memory_or_none, of_objects)],
    ids=lambda x: x.__name__,
)
def test_of_functions_of_tensors(f, error):
    with pytest.raises(error):
        tg.compile(f)(tg.tensor(X, requires_grad=True))


@pytest.mark.parametrize("f", [without_counterpart, of_objects], ids=lambda f: f.__name__)
def test_of_functions_that_are_compiled_without_a_derivative(f):
    for run in (tg.compile(f), tg.vmap(f)):
        with pytest.raises(TracegradError):
            run(np.stack([X, X]))


@pytest.mark.parametrize("f", [by_name, of_scipy, without_counterpart], ids=lambda f: f.__name__)
def test_of_pullbacks_and_tangents(f):
    for run in (lambda: tg.vjp(f, X.copy()), lambda: tg.jvp(f, (X.copy(),), (X,))):
        with pytest.raises(TracegradError):
            run()


def test_a_function_that_names_the_error_has_its_own_way(monkeypatch):
    def named(x):
        try:
            x -= 1.0
        except (ValueError, GradientError):
            return np.sum(x) * 3.0
        return np.sum(x)

    def within(x):
        try:
            with contextlib.ExitStack():
                return by_name(x)
        finally:
            len(X)

    for compiles in (True, False):
        monkeypatch.setattr(tg.config, "compile", compiles)
        value, gradient = tg.value_and_grad(named)(X.copy())
        assert value == 21.0
        np.testing.assert_array_equal(gradient, [3.0, 3.0])
        with pytest.raises(GradientError):
            tg.grad(within)(X.copy())


def of_shapes(x):
    try:
        return np.sum(x @ np.ones(3))
    except ValueError:
        return 3.0 * np.sum(x)


def of_an_index(x):
    try:
        return x[5]
    except IndexError:
        return 3.0 * np.sum(x)


def of_a_matrix(x):
    try:
        return np.sum(np.linalg.inv(np.outer(x, 0.0 * x)))
    except np.linalg.LinAlgError:
        return 3.0 * np.sum(x)


def of_types(x):
    try:
        return np.sum(~x)
    except TypeError:
        return 3.0 * np.sum(x)


def of_nothing(x):
    try:
        return np.sum(x) * (len(x) / len([]))
    except ZeroDivisionError:
        return 3.0 * np.sum(x)


def of_a_view(x):
    try:
        np.broadcast_to(x, (2, 2))[0] = 1.0
    except ValueError:
        return 3.0 * np.sum(x)
    return np.sum(x)


def of_its_own_graph(x):
    leaf = tg.tensor([1.0, 2.0], requires_grad=True)
    y = np.sum(leaf * leaf)
    y.backward()
    try:
        y.backward()
    except RuntimeError:
        return 3.0 * np.sum(x)
    return np.sum(x)


def of_an_attribute(x):
    try:
        return np.sum(x.at[0].set(3.0))
    except AttributeError:
        return 3.0 * np.sum(x)


RAISED = (
    of_an_attribute,
    of_shapes,
    of_an_index,
    of_a_matrix,
    of_types,
    of_nothing,
    of_a_view,
    of_its_own_graph,
)


@pytest.mark.parametrize("compiles", [True, False])
@pytest.mark.parametrize("f", RAISED, ids=lambda f: f.__name__)
def test_what_is_raised_without_transforms_too_is_caught(f, compiles, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiles)
    gradient = tg.value_and_grad(f)
    for _ in range(3):
        value, slope = gradient(X)
        assert value == f(X) == 21.0
        np.testing.assert_array_equal(slope, [3.0, 3.0])


@pytest.mark.parametrize("compiles", [True, False])
@pytest.mark.parametrize("kind", [list, tuple, deque])
@pytest.mark.parametrize("equal", [np.array_equal, np.array_equiv], ids=lambda f: f.__name__)
def test_what_numpy_catches_itself(equal, kind, compiles, monkeypatch):
    """It answered False: of lists of values that are differentiated it could make no array."""
    monkeypatch.setattr(tg.config, "compile", compiles)

    def f(x):
        same = equal(kind([x[0], x[1]]), [x[0], 4.0])
        return np.sum(x) * (3.0 if same else 5.0)

    gradient = tg.value_and_grad(f)
    for given in (X, X + 1.0, X):
        value, slope = gradient(given)
        assert value == f(given)
        np.testing.assert_array_equal(slope, [value / np.sum(given)] * 2)


@pytest.mark.parametrize("compiles", [True, False])
def test_an_array_has_the_attributes_that_are_refused(compiles, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiles)
    names = ("ctypes", "base", "__array_interface__", "strides", "at", "requires_grad", "nothing")

    def f(x):
        return sum(2.0**i * hasattr(x, name) for i, name in enumerate(names)) * np.sum(x)

    value, slope = tg.value_and_grad(f)(X)
    assert value == f(X)
    np.testing.assert_array_equal(slope, [15.0, 15.0])


def test_an_error_of_a_backward_is_one_of_gradients():
    assert issubclass(BackwardError, GradientError) and not BackwardError("").refuses
    assert LostGradientError("").refuses and not DTypeError("").refuses
