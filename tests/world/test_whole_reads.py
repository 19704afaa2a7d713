"""Functions that read arrays in ways that no look stands for enter: no stale result leaves.

The text of an array, its bytes, how it lies in memory, a copy of it in a new Tensor, an exception
that its shape raised: what Python does with them may decide anything.
"""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

A, B = np.array([1.0, 2.0]), np.array([3.0, 4.0])
PROGRAMS: dict[str, Callable[[Any], Any]] = {}


def program(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS[f.__name__] = f
    return f


@program
def text_decides(x):
    s = f"{x}"
    return x * 2.0 if "1." in s else x * 3.0


@program
def text_of_a_result(x):
    return x * 2.0 if "4." in str(x * 2.0) else x * 3.0


@program
def text_as_a_key(x):
    return x * {"tensor(3.)": 2.0, "np.float64(3.0)": 2.0}.get(repr((x * 1.0).sum()), 3.0)


@program
def text_in_a_list(x):
    return x * 2.0 if "3." in str([x.sum()]) else x * 3.0


@program
def old_formats(x):
    return x * 2.0 if "3." in f"{x!r}" + "%s" % x.sum() else x * 3.0  # noqa: UP031


@program
def text_by_numpy(x):
    return x * float(f"{x.sum():.1f}")


@program
def bytes_decide(x):
    kept = pickle.loads(pickle.dumps(x))
    return kept * 2.0


@program
def copied_deeply(x):
    return copy.deepcopy(x) * 2.0


@program
def copied_into_a_tensor(x):
    return tg.tensor(x) * 2.0 + tg.tensor(x.sum(), dtype="float32")


@program
def copied_by_the_class(x):
    return tg.Tensor(x) * 2.0 + tg.Tensor(x, dtype="float32")


@program
def compared_as_a_whole(x):
    return x * (2.0 if np.array_equal(x, [1.0, 2.0]) else 3.0)


@program
def compared_by_broadcasting(x):
    return x * (2.0 if np.array_equiv(x, np.array([[1.0, 2.0]])) else 3.0)


@program
def layout_decides(x):
    return x * 2.0 if x.is_contiguous() else x * 3.0


def on_tensors(f: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    return f(tg.tensor(x)).numpy()


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_call_says_what_another_one_did(name):
    f = PROGRAMS[name]
    compiled = tg.compile(f)
    strided = np.repeat(A, 2)[::2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        for x in (A, B, A, B, strided, np.array([7.0, -1.0]), A):
            expected = f(tg.as_tensor(x)).numpy()
            assert compiled(x).tobytes() == expected.tobytes(), (name, x)
    assert not np.array_equal(on_tensors(f, A), on_tensors(f, B))


def test_the_warning_names_the_line_that_read_the_text_and_the_call():
    compiled = tg.compile(text_decides)
    compiled(A)
    with pytest.warns(tg.errors.RecompileWarning, match=r"the text of an array \(") as seen:
        compiled(B)
    line = text_decides.__code__.co_firstlineno + 2
    assert f"test_whole_reads.py:{line}" in str(seen[0].message)
    assert seen[0].filename == __file__


def test_a_number_is_looked_at_and_stays_compiled():
    @tg.compile
    def f(x):
        return x * (2.0 if str(x.sum()) == "3.0" else 3.0)

    assert [f(x)[0] for x in (A, B, A, B)] == [2.0, 9.0, 2.0, 9.0]
    assert f.cache_info() == (2, 2, 2, 1)


def test_an_exception_of_shapes_that_was_caught_is_no_program():
    @tg.compile
    def f(x):
        try:
            return x + np.ones(3)
        except ValueError:
            return x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        found = [f(np.ones(n)).tolist() for n in (2, 3, 2, 3)]
    assert found == [[1.0] * 2, [2.0] * 3] * 2


@pytest.mark.parametrize("compare", [np.array_equal, np.array_equiv])
def test_arrays_of_other_lengths_are_told_apart(compare):
    f = tg.compile(lambda x: x * (2.0 if compare(x, [1.0, 2.0]) else 3.0))
    for x in (np.ones(3), A, B, np.ones(3), A):
        assert np.array_equal(f(x), x * (2.0 if compare(x, [1.0, 2.0]) else 3.0))


def test_gradients_flow_through_a_deep_copy_of_an_array():
    f = tg.grad(lambda x: (copy.deepcopy(x) * x).sum())
    for x in (A, B):
        assert np.array_equal(f(x), 2 * x)


@pytest.mark.parametrize("copied", [tg.tensor, tg.Tensor])
def test_a_copy_that_would_lose_a_gradient_is_refused(copied):
    with pytest.raises(
        tg.errors.TracegradError, match=r"would lose its gradient: use x\.clone\(\)"
    ):
        tg.grad(lambda x: (copied(x) * 2.0).sum())(A)
    f = tg.value_and_grad(lambda x: (copied(x.detach()) * x).sum())
    for x in (A, B):
        value, gradient = f(x)
        assert value == (x * x).sum() and np.array_equal(gradient, x)


# -- exceptions that the function catches ---------------------------------------------------------

CAUGHT: dict[str, tuple[Callable[[Any], Any], int, int]] = {  # what raises for one of two lengths
    "reshape": (lambda x: np.reshape(x, (2, 2)).sum() * x, 3, 4),
    "index": (lambda x: x[3] * x, 3, 4),
    "index_in_an_array": (lambda x: x[np.array([3])].sum() * x, 3, 4),
    "concatenate": (lambda x: np.concatenate([x[None], np.ones((1, 4))]).sum() * x, 3, 4),
    "matmul": (lambda x: (x @ np.ones(4)) * x, 3, 4),
    "broadcast_arrays": (lambda x: np.broadcast_arrays(x, np.ones((2, 4)))[0].sum() * x, 3, 4),
    "split": (lambda x: np.split(x, 2)[0].sum() * x, 3, 4),
    "unpack": (lambda x: (lambda a, b, c, d: a)(*x) * x, 3, 4),
    "empty": (lambda x: np.max(x) * x, 0, 4),
    "solve": (lambda x: np.linalg.solve(np.eye(4), x).sum() * x, 3, 4),
    "item": (lambda x: x[2:].item() * x, 4, 3),
    "bool": (lambda x: x * 2.0 if x[2:] > 0.0 else x, 4, 3),
}


@pytest.mark.parametrize("name", CAUGHT)
@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_the_way_on_from_an_exception_is_taken_again_only_where_it_is_raised(name):
    g, fails, works = CAUGHT[name]

    def f(x):
        try:
            return g(x)
        except (ValueError, IndexError, TypeError):
            return x * 7.0

    for order in ((fails, works) * 2, (works, fails) * 2):
        compiled = tg.compile(f)
        for n in order:
            x = np.arange(1.0, n + 1.0)
            assert np.array_equal(compiled(x), on_tensors(f, x)), (name, order)


def test_what_a_program_raises_has_the_users_line_and_a_hook_is_called_once():
    @tg.compile
    def f(x):
        return x[3] * x

    assert f(np.arange(5.0)).tolist() == [0.0, 3.0, 6.0, 9.0, 12.0]
    with pytest.raises(IndexError, match="index 3 is out of bounds") as caught:
        f(np.arange(3.0))
    assert "return x[3] * x" in map(str.strip, map(str, caught.traceback[-1].statement.lines))
    assert f.cache_info().traces == 1
    calls = []

    def hook(gradient):
        calls.append(1)
        raise ValueError("of the user's")

    @tg.grad
    def hooked(x):
        y = x * 2.0
        y.register_hook(hook)
        return y.sum()

    for count in (1, 2):
        with pytest.raises(ValueError, match="of the user's"):
            hooked(A)
        assert len(calls) == count


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_a_program_that_raises_draws_nothing():
    def drawing(generator):
        def f(x):
            try:
                noise = generator.normal(size=2)
                return x[3] * noise
            except IndexError:
                return x * generator.normal()

        return f

    compiled, eager = (drawing(tg.random.Generator(0)) for _ in range(2))
    compiled = tg.compile(compiled)
    for n in (5, 2, 5, 2, 6):
        x = np.arange(1.0, n + 1.0)
        assert np.array_equal(compiled(x), on_tensors(eager, x))
