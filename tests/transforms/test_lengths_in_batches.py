"""Lengths, and exceptions that are caught, in functions under `tg.vmap`."""

from __future__ import annotations

import importlib.util
import warnings
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg
from tracegrad.errors import RecompileWarning
from tracegrad.values.pytree import flatten, unflatten

LENGTHS = (9, 4, 9, 1, 5)


def batch(n: int) -> np.ndarray:
    return np.arange(1.0, 3.0 * n + 1).reshape(3, n)


def each(f: Any, *batches: Any) -> Any:
    """What a loop in Python gives, stacked."""
    results = [flatten(f(*row)) for row in zip(*batches, strict=True)]
    leaves = [np.stack(part) for part in zip(*(leaves for leaves, _ in results), strict=True)]
    return unflatten(results[0][1], leaves)


def assert_same(found: Any, expected: Any) -> None:
    """The same structure, bits, types and memory order."""
    assert flatten(found)[1] == flatten(expected)[1]
    for a, b in zip(flatten(found)[0], flatten(expected)[0], strict=True):
        assert a.dtype == b.dtype
        assert_same_bits(a, b)
        assert a.strides == b.strides


def count(x):
    return len(x)


RETURNS = {
    "len": lambda x: (len(x), x.sum()),
    "size": lambda x: (x.size, x.sum()),
    "shape": lambda x: (x.shape, x.sum()),
    "part of the shape": lambda x: (x.shape[0], x.sum()),
    "product": lambda x: (2 * len(x), x.sum()),
    "quotient": lambda x: (len(x) // 2, x.sum()),
    "containers": lambda x: {"a": len(x), "b": [len(x), x.sum()]},
    "helper": lambda x: (count(x), x.sum()),
    "larger": lambda x: (max(len(x), 4), x.sum()),
    "negative": lambda x: (-len(x), x.sum()),
    "float": lambda x: (0.5 * len(x), x.sum()),
    "array": lambda x: (np.asarray(len(x)), np.full(2, x.size), x.sum()),
    "functions": lambda x: (np.size(x), np.shape(x), x.sum()),
    "alone": lambda x: len(x),
}


@pytest.mark.parametrize("backend", [None, "jax", "numba"])
@pytest.mark.parametrize("name", RETURNS)
def test_a_length_that_is_returned_is_that_of_the_call(name, backend):
    if backend is not None:
        pytest.importorskip(backend)
    f = RETURNS[name]
    mapped = tg.vmap(f, backend=backend)
    for n in LENGTHS:
        assert_same(mapped(batch(n)), each(f, batch(n)))


@pytest.mark.parametrize("name", RETURNS)
def test_a_length_that_is_returned_within_a_compiled_function(name):
    f = RETURNS[name]
    compiled = tg.compile(lambda xs: tg.vmap(f)(xs))
    for n in LENGTHS:
        assert_same(compiled(batch(n)), each(f, batch(n)))


def test_a_length_that_is_returned_stays_free():
    mapped = tg.vmap(lambda x: (len(x), x.sum()))
    for n in (9, 4, 5):
        mapped(batch(n))
    assert mapped.cache_info().versions == 1
    assert "x.shape[1]" in mapped.source(batch(9))


OTHERS = {
    "two arguments": lambda: tg.vmap(lambda x, y: len(x) - len(y) + 1, in_axes=(0, 1)),
    "a shared argument": lambda: tg.vmap(lambda x, y: (len(y), x.sum()), in_axes=(0, None)),
    "no axis": lambda: tg.vmap(lambda x, y: (len(x), x.sum()), (0, None), (None, 0)),
    "vmap of vmap": lambda: lambda x, y: tg.vmap(tg.vmap(lambda a: (a.size, a.sum())))(x[None]),
    "vmap in vmap": lambda: tg.vmap(
        lambda a, y: (len(a), tg.vmap(lambda v: (v + len(a), len(y)))(a)), in_axes=(0, None)
    ),
    "vmap in compile": lambda: tg.compile(
        lambda x, y: tg.vmap(lambda a, n: (n, a * n), in_axes=(0, None))(x, y.shape[0])
    ),
    "a number around it": lambda: tg.compile(
        lambda x, y: (lambda n: tg.vmap(lambda a: (a.sum(), n))(x))(len(y))
    ),
    "what is computed of it": lambda: tg.compile(
        lambda x, y: (lambda n, s: n * s)(*tg.vmap(lambda a: (len(a), a.sum()))(x))
    ),
    "aux": lambda: tg.vmap(
        tg.value_and_grad(lambda x, y: ((x * x).sum() * len(x), {"n": x.shape}), has_aux=True),
        in_axes=(0, None),
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_lengths_are_those_of_the_call_wherever_they_go(name, monkeypatch):
    f = OTHERS[name]()
    for n in LENGTHS:
        found = f(batch(n), batch(n).T.copy())
        with monkeypatch.context() as patch:
            patch.setattr(tg.config, "compile", False)
            expected = OTHERS[name]()(batch(n), batch(n).T.copy())
        assert flatten(found)[1] == flatten(expected)[1]
        for a, b in zip(flatten(found)[0], flatten(expected)[0], strict=True):
            assert_same_bits(np.asarray(a), np.asarray(b))


def test_lengths_of_tensors():
    mapped = tg.vmap(lambda x: (len(x), (x * len(x)).sum()))
    for n in LENGTHS:
        x = tg.tensor(batch(n), requires_grad=True)
        lengths, sums = mapped(x)
        assert_same_bits(lengths.numpy(), np.full(3, n))
        sums.sum().backward()
        assert_same_bits(x.grad.numpy(), np.full((3, n), float(n)))


def test_an_exported_batch_has_the_length_of_the_call(tmp_path):
    mapped = tg.vmap(lambda x: (len(x), x.sum()))
    path = mapped.export(tmp_path / "lengths.py", batch(9))
    spec = importlib.util.spec_from_file_location("lengths_of_batches", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (name,) = [name for name in dir(module) if name.endswith("vmap")]
    for n in LENGTHS:
        assert_same_bits(getattr(module, name)(batch(n))[0], np.full(3, n))


# -- what is the same for all examples -----------------------------------------------------------

TABLE = np.arange(12.0).reshape(3, 4)
ALIKE = {
    "zeros_like": lambda x: np.zeros_like(x),
    "ones_like": lambda x: np.ones_like(x[0]),
    "full_like": lambda x: np.full_like(x, 3),
    "full_like of a length": lambda x: np.full_like(x, x.shape[1]),
    "an array": lambda x: TABLE,
    "a scalar": lambda x: TABLE[1, 2],
    "zeros": lambda x: np.zeros((3, 4)),
}


@pytest.mark.parametrize("name", ALIKE)
def test_results_that_do_not_differ_are_repeated(name):
    f, x = ALIKE[name], np.ones((2, 3, 4))
    mapped, compiled = tg.vmap(f), tg.compile(lambda x: tg.vmap(f)(x))
    for _ in range(2):
        assert_same(mapped(x), each(f, x))
        assert_same(compiled(x), each(f, x))
    if "like" in name:
        same = tg.vmap(f, out_axes=None)
        assert_same(same(x), f(x[0]))


# -- exceptions that are caught ------------------------------------------------------------------


def fourth(x):
    try:
        return x[3] * 2.0
    except IndexError:
        return np.sum(x)


def behind(x):
    try:
        return x[5:][0] * 1.0
    except IndexError:
        return np.sum(x)


def several(x):
    try:
        return np.sum(x[np.array([0, 4])])
    except IndexError:
        return np.sum(x)


def in_another_shape(x):
    try:
        return np.sum(x.reshape(2, -1)[0])
    except ValueError:
        return np.sum(x)


@pytest.fixture
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecompileWarning)
        yield


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("lengths", [(3, 8, 3), (8, 3, 8)])
@pytest.mark.parametrize("f", [fourth, behind, several, in_another_shape])
def test_an_exception_of_lengths_that_the_function_catches(f, lengths):
    mapped, compiled = tg.vmap(f), tg.compile(lambda x: tg.vmap(f)(x))
    slopes = tg.vmap(tg.grad(f))
    for n in lengths:
        for _ in range(2):
            assert_same_bits(mapped(batch(n)), each(f, batch(n)))
            assert_same_bits(compiled(batch(n)), each(f, batch(n)))
            assert_same_bits(slopes(batch(n)), np.stack([tg.grad(f)(x) for x in batch(n)]))


def picked(x, i):
    try:
        return x[i] * 2.0
    except IndexError:
        return np.sum(x)


def taken(x, i):
    try:
        return np.take(x, i) * 2.0
    except IndexError:
        return np.sum(x)


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("calls", [*permutations([(0, 1), (0, 7), (7, 0), (7, 7)], 2)])
@pytest.mark.parametrize("f", [picked, taken])
def test_an_exception_of_one_example_that_the_function_catches(f, calls):
    x = np.arange(1.0, 4.0)
    mapped = tg.vmap(f, in_axes=(None, 0))
    for indices in (*calls, *calls):
        found = mapped(x, np.array(indices))
        assert_same_bits(found, np.stack([f(x, np.array(i)) for i in indices]))


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("order", [*permutations([(1, 1), (1, 0), (0, 1)], 2)])
def test_a_singular_matrix_that_the_function_catches(order):
    def f(a):
        try:
            return np.sum(np.linalg.inv(a))
        except np.linalg.LinAlgError:
            return np.sum(a) - 1.0

    mapped = tg.vmap(f)
    for factors in (*order, *order):
        matrices = np.stack([factor * np.eye(2) for factor in factors])
        assert_same_bits(mapped(matrices), each(f, matrices))


def test_the_warning_tells_which_exception_was_caught():
    mapped = tg.vmap(fourth)
    with pytest.warns(RecompileWarning) as told:
        mapped(batch(3))
    assert "it goes on after an exception in element, which it caught" in str(told[0].message)


def test_an_exception_that_nobody_catches_is_raised():
    mapped = tg.vmap(lambda x: x[3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(IndexError, match="index 3 is out of bounds"):
                mapped(batch(3))
            assert_same_bits(mapped(batch(5)), batch(5)[:, 3])
