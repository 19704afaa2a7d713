"""One trace enters, calls of every size leave it right: lengths are free until Python looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits, run_eagerly, slope, split
from hypothesis import given, settings
from hypothesis import strategies as st

import tracegrad as tg

SIZES = (5, 0, 1, 2, 3, 8)


def ramp(*shape: int) -> np.ndarray:
    """Different numbers around zero, none of them a tie."""
    return np.sin(np.arange(np.prod(shape, dtype=int)) * 1.7 + 0.3).reshape(shape)


# -- one trace for all sizes --------------------------------------------------------------------


def chain(x):
    return np.sum(np.tanh(x * 2.0 + 1.0) ** 2)


def regression(w, x, y):
    return np.sum((x @ w - y) ** 2)


def mean(x):
    return np.mean(x * x)


def centred(x):
    return np.sum((x - np.sum(x, axis=0)) ** 2)


def columns(x):
    return np.sum(np.sum(x, axis=0) * np.prod(x, axis=0))


def softmax(x):
    e = np.exp(x)
    return np.sum((e / np.sum(e, axis=1, keepdims=True)) ** 2)


def reshaped(x):
    return np.sum(np.reshape(x, (-1, 2)) ** 3)


def flat(x):
    return np.sum(x.ravel()[1:] * 2.0)


def gram(x):
    return np.sum((x.T @ x) ** 2)


def outer(x):
    return np.sum(x[:, None] * x[None, :])


def neighbours(x):
    d = x[1:] - x[:-1]
    return np.sum(d * d)


def every_second(x):
    return np.sum(x[::2] ** 2) + np.sum(x[::-1] * x)


def clamped(x):
    return np.sum(np.where(x > 0.0, x, 0.1 * x))


def transposed(x):
    return np.sum(x.T * x.T)


def stacked(x):
    return np.sum(np.stack([x, x * x]) ** 2)


PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]] = {
    "chain": (chain, lambda n: (ramp(n),)),
    "chain of two axes": (chain, lambda n: (ramp(n, 3),)),
    "chain of columns": (chain, lambda n: (ramp(3, n),)),
    "regression over samples": (regression, lambda n: (ramp(2), ramp(n, 2), ramp(n))),
    "regression over features": (regression, lambda n: (ramp(n), ramp(4, n), ramp(4))),
    "centred": (centred, lambda n: (ramp(n, 2),)),
    "columns": (columns, lambda n: (ramp(n, 3),)),
    "softmax": (softmax, lambda n: (ramp(n, 3),)),
    "reshaped": (reshaped, lambda n: (ramp(n, 4),)),
    "gram": (gram, lambda n: (ramp(n, 2),)),
    "outer": (outer, lambda n: (ramp(n),)),
    "every second": (every_second, lambda n: (ramp(n),)),
    "clamped": (clamped, lambda n: (ramp(n, 2),)),
    "transposed": (transposed, lambda n: (ramp(n, 2),)),
    "stacked": (stacked, lambda n: (ramp(n),)),
}


def gradient_by_differences(f: Callable[..., Any], args: tuple[Any, ...]) -> np.ndarray:
    x = args[0]
    found = np.zeros(x.shape)
    for index in np.ndindex(*x.shape):
        step = np.zeros(x.shape)
        step[index] = 1.0
        found[index] = slope(lambda h, step=step: float(f(x + h * step, *args[1:])))
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_trace_serves_sizes(name):
    f, draw = PROGRAMS[name]
    made = tg.value_and_grad(f)
    for n in SIZES:
        args = draw(n)
        found = split(made(*args))
        assert_same_bits(found, run_eagerly(f, args), f"n={n}")
        assert_close(found[0], [f(*args)], 1e-12, what=f"n={n}")
        assert_close(found[1], [gradient_by_differences(f, args)], 1e-7, atol=1e-8, what=f"n={n}")
    assert made.cache_info().traces == 1


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("first", [0, 1])
def test_a_first_size_of_zero_or_one_is_as_good(name, first):
    """The program may be another one (a length seen as 1 may broadcast), the numbers are right."""
    f, draw = PROGRAMS[name]
    made = tg.value_and_grad(f)
    for n in (first, *SIZES, first):
        args = draw(n)
        assert_same_bits(split(made(*args)), run_eagerly(f, args), f"n={n}")
    assert made.cache_info().traces <= 3


@pytest.mark.parametrize("f", [neighbours, flat, mean], ids=lambda f: f.__name__)
def test_lengths_that_a_program_computes(f):
    """Slices of lengths and means: sizes where NumPy itself is defined."""
    made = tg.value_and_grad(f)
    for n in (5, 2, 3, 8, 1):
        x = ramp(n)
        assert_same_bits(split(made(x)), run_eagerly(f, (x,)), f"n={n}")
        expected = [gradient_by_differences(f, (x,))]
        assert_close(split(made(x))[1], expected, 1e-7, atol=1e-8, what=f"n={n}")
    assert made.cache_info().traces <= 2


def test_empty_slices_of_empty_arrays():
    made = tg.value_and_grad(neighbours)
    for n in (3, 0, 1, 2):
        x = ramp(n)
        assert_same_bits(split(made(x)), run_eagerly(neighbours, (x,)), f"n={n}")


def test_the_second_derivative_is_free_of_sizes_as_well():
    hvp = tg.grad(lambda x, v: np.sum(tg.grad(chain)(x) * v))
    for n in SIZES:
        x, v = ramp(n), np.cos(ramp(n))
        expected = slope(lambda h, x=x, v=v: tg.grad(chain)(x + h * v))
        assert_close(hvp(x, v), expected, 1e-8, atol=1e-9, what=f"n={n}")
    assert hvp.cache_info().traces == 1


# -- looks at lengths ---------------------------------------------------------------------------


def test_a_length_that_python_looks_at_is_fixed():
    made = tg.value_and_grad(lambda x: np.sum(x) / float(len(x) | 0))
    for n in (3, 4, 3, 4, 5):
        value, gradient = made(ramp(n))
        assert_close((value, gradient), (ramp(n).sum() / n, np.full(n, 1.0 / n)), 1e-14)
    assert made.cache_info().traces == 3


def test_a_length_that_arrays_are_computed_with_is_free():
    made = tg.value_and_grad(lambda x: np.sum(x) / (len(x) + 1))
    for n in (3, 4, 3, 4, 5):
        value, gradient = made(ramp(n))
        wanted = ramp(n).sum() / (n + 1), np.full(n, 1.0 / (n + 1))
        assert_close((value, gradient), wanted, 1e-14)
    assert made.cache_info().traces == 1


READINGS = {
    "if": lambda x: np.sum(x) * (2 if len(x) else 3),
    "text": lambda x: np.sum(x) * len(f"{len(x)}"),
    "compared": lambda x: np.sum(x) * (2 if 3 < x.shape[0] <= 5 else 3),
    "shapes": lambda x: np.sum(x) * (2 if x.shape == (4,) else 3),
    "key": lambda x: np.sum(x) * {4: 5}.get(len(x), 7),
    "index": lambda x: [x[0], x[1] * 2, x[0] * 3, x[1], x[2], x[1], x[0]][len(x)],
    "slice": lambda x: np.sum(x[: len(x) - 1]),
    "list": lambda x: np.sum(x) * len([0] * len(x)),
    "sorted": lambda x: np.sum(x) * sorted([len(x), 5, 3])[0],
    "range": lambda x: np.sum(x) * sum(range(len(x))),
    "class": lambda x: np.sum(x) * (2 if type(len(x)) is int else 1),
    "filled": lambda x: np.full(len(x), 2.0) @ x,
    "returned": lambda x: (np.sum(x), [len(x), x.shape]),
}


@pytest.mark.parametrize("name", READINGS)
def test_however_python_looks_at_a_length_no_call_gets_that_of_another(name):
    made = tg.compile(READINGS[name])
    for n in (4, 5, 3, 6, 4):
        given, wanted = made(ramp(n)), READINGS[name](ramp(n))
        assert_close(given, wanted, 1e-14)
        if name == "returned":
            assert [type(x) for x in (given[1][0], *given[1][1])] == [int, int]


def test_only_the_length_that_was_looked_at_is_fixed():
    def f(x):
        return np.sum(x) * float(x.shape[0] | 0)

    made = tg.grad(f)
    for shape in [(3, 2), (3, 5), (3, 0), (3, 1), (3, 9)]:
        assert_close(made(ramp(*shape)), np.full(shape, 3.0), 1e-14)
    assert made.cache_info().traces == 1
    assert_close(made(ramp(4, 2)), np.full((4, 2), 4.0), 1e-14)
    assert made.cache_info().traces == 2


def test_negative_indices_read_one_length():
    made = tg.grad(lambda x: np.sum(x) * float(x.shape[-1] | 0))
    for rows in (2, 7, 0):
        assert_close(made(ramp(rows, 3)), np.full((rows, 3), 3.0), 1e-14)
    assert made.cache_info().traces == 1


@pytest.mark.parametrize(
    "f",
    [
        lambda x: sum(row * row for row in x),
        lambda x: np.sum(x) * x.size,
        lambda x: sum(x[i] ** 2 for i in range(x.shape[0])),
        lambda x: np.sum(x) if len(x) > 3 else np.sum(x * x),
        lambda x: np.sum(x.reshape(len(x), 1)),
        lambda x: np.sum(x * np.arange(float(len(x)))),
        lambda x: np.sum(x * np.ones(x.shape)),
        lambda x: np.sum(x + np.zeros(np.shape(x))),
    ],
)
def test_programs_that_look_are_traced_again(f):
    made = tg.value_and_grad(f)
    for n in (3, 1, 5, 3, 4, 5):
        args = (ramp(n),)
        assert_same_bits(split(made(*args)), run_eagerly(f, args), f"n={n}")
        expected = [gradient_by_differences(f, args)]
        assert_close(split(made(*args))[1], expected, 1e-7, atol=1e-8, what=f"n={n}")
    assert made.cache_info().traces <= 4


def test_unpacking_fixes_all_lengths():
    def f(x):
        n, m = x.shape
        return np.sum(x) / (n * m)

    made = tg.grad(f)
    for shape in [(2, 3), (3, 2), (2, 3), (6, 1)]:
        assert_close(made(ramp(*shape)), np.full(shape, 1.0 / 6.0), 1e-14)


def test_ndim_and_dtype_are_part_of_the_key():
    made = tg.grad(lambda x: np.sum(x * x.ndim))
    for x in (ramp(3), ramp(3, 2), ramp(1, 2, 2), ramp(3).astype(np.float32)):
        assert_close(made(x), np.full(x.shape, float(x.ndim)), 1e-14)
        assert made(x).dtype == x.dtype
    assert made.cache_info().traces == 4


# -- equalities and broadcasting ----------------------------------------------------------------


def test_equal_lengths_are_guarded():
    made = tg.value_and_grad(lambda x, y: np.sum(x * y), argnums=(0, 1))
    for shapes in [(3, 3), (1, 3), (3, 1), (1, 1), (0, 0), (0, 1), (4, 4), (1, 4), (5, 1)]:
        x, y = (ramp(n) for n in shapes)
        value, (gx, gy) = made(x, y)
        assert_close(value, np.sum(x * y), 1e-14, atol=1e-15)
        ones = np.ones(np.broadcast_shapes(x.shape, y.shape))
        assert_close(gx, np.full(1, np.sum(y * ones)) if shapes[0] == 1 else y * ones, 1e-14)
        assert_close(gy, np.full(1, np.sum(x * ones)) if shapes[1] == 1 else x * ones, 1e-14)
    assert made.cache_info().traces <= 4
    with pytest.raises(ValueError):
        made(ramp(2), ramp(3))


def test_a_length_seen_broadcasting_as_one_is_fixed():
    made = tg.grad(lambda x, y: np.sum(x * y))
    assert made(ramp(1), ramp(4)).shape == (1,)
    assert made(ramp(1), ramp(9)).shape == (1,)
    assert made.cache_info().traces == 1
    assert made(ramp(4), ramp(4)).shape == (4,)
    assert made.cache_info().traces == 2


def test_square_arrays_are_not_thought_to_stay_square():
    made = tg.value_and_grad(lambda x: np.sum(x.T @ x) + np.sum(x))
    for shape in [(3, 3), (3, 2), (1, 4), (2, 2), (0, 3), (3, 0)]:
        args = (ramp(*shape),)
        assert_same_bits(split(made(*args)), run_eagerly(made.__wrapped__, args), str(shape))
    assert made.cache_info().traces == 1


def test_a_square_that_was_needed_is_a_guard():
    made = tg.grad(lambda x: np.sum(x * x.T))
    for n in (3, 2, 5, 0):
        assert_close(made(ramp(n, n)), 2.0 * ramp(n, n).T, 1e-14)
    assert_close(made(ramp(1, 1)), 2.0 * ramp(1, 1), 1e-14)
    with pytest.raises(ValueError):
        made(ramp(2, 3))
    # one of the lengths broadcasts: another program
    x = ramp(1, 3)
    assert_close(made(x), np.full(3, 2.0 * x.sum())[None], 1e-14)


def test_arguments_of_the_same_length_by_chance():
    """Nothing relates the two, so nothing may be assumed."""
    made = tg.value_and_grad(lambda x, y: np.sum(x * x) + np.sum(y), argnums=(0, 1))
    for n, m in [(3, 3), (3, 4), (0, 2), (5, 1)]:
        _, (gx, gy) = made(ramp(n), ramp(m))
        assert_close((gx, gy), (2.0 * ramp(n), np.ones(m)), 1e-14)
    assert made.cache_info().traces == 1


def test_captured_arrays_have_free_lengths():
    data = ramp(4)
    made = tg.value_and_grad(lambda w: np.sum((w * data) ** 2))
    for n in (4, 7, 0, 1, 2):
        data = ramp(n)
        value, gradient = made(2.0)
        assert_close((value, gradient), (4.0 * (data @ data), 4.0 * (data @ data)), 1e-14)
    assert made.cache_info().traces == 1


# -- random shapes ------------------------------------------------------------------------------

LENGTHS = st.sampled_from((0, 1, 2, 3, 5))


@st.composite
def broadcastable(draw, count=3, rank=3):
    """Shapes that broadcast together, of different ranks."""
    full = draw(st.lists(LENGTHS, min_size=0, max_size=rank))
    shapes = []
    for _ in range(count):
        start = draw(st.integers(0, len(full)))
        shapes.append(tuple(1 if draw(st.booleans()) else n for n in full[start:]))
    return tuple(shapes)


def mixed(a, b, c):
    y = np.tanh(a * b + c) * a - b / (1.0 + c * c)
    return np.sum(y * np.sin(y))


def of_shapes(shapes: tuple[tuple[int, ...], ...]) -> tuple[Any, ...]:
    return tuple(np.asarray(ramp(*shape) + 0.1 * i) for i, shape in enumerate(shapes))


@settings(max_examples=25)
@given(st.lists(broadcastable(), min_size=1, max_size=4))
def test_random_shapes_with_broadcasting(runs):
    """One callable is called with one list of shapes after the other."""
    made = tg.value_and_grad(mixed, argnums=(0, 1, 2))
    for shapes in [*runs, runs[0]]:
        args = of_shapes(shapes)
        found = split(made(*args))
        assert_same_bits(found, run_eagerly(mixed, args, (0, 1, 2)), str(shapes))
        directions = [np.cos(ramp(*shape) * 3.0) for shape in shapes]
        expected = slope(
            lambda h, args=args, directions=directions: float(
                mixed(*(x + h * d for x, d in zip(args, directions, strict=True)))
            )
        )
        along = sum(np.sum(g * d) for g, d in zip(found[1], directions, strict=True))
        assert_close(along, expected, 1e-6, atol=1e-7, what=str(shapes))


def reductions(x):
    total = np.sum(x, axis=-1, keepdims=True)
    scaled = x * total + np.sum(x * x, axis=0)
    return np.sum(scaled * np.cos(scaled)) + np.sum(np.prod(x, axis=0))


@settings(max_examples=40)
@given(st.lists(st.tuples(LENGTHS, LENGTHS), min_size=1, max_size=5))
def test_random_shapes_in_reductions(shapes):
    made = tg.value_and_grad(reductions)
    for shape in shapes:
        args = (ramp(*shape),)
        found = split(made(*args))
        assert_same_bits(found, run_eagerly(reductions, args), str(shape))
        expected = gradient_by_differences(reductions, args)
        assert_close(found[1], [expected], 1e-6, atol=1e-7, what=str(shape))


def products(a, b):
    return np.sum(np.sin(a @ b))


@settings(max_examples=15)
@given(st.lists(st.tuples(LENGTHS, LENGTHS, LENGTHS, LENGTHS), min_size=1, max_size=3))
def test_random_shapes_in_products(lengths):
    """Matrices, vectors and batches that broadcast."""
    made = tg.value_and_grad(products, argnums=(0, 1))
    for n, k, m, batch in lengths:
        cases = [((n, k), (k, m)), ((k,), (k, m)), ((n, k), (k,)), ((k,), (k,))]
        cases += [((batch, n, k), (k, m)), ((1, n, k), (batch, k, m)), ((k,), (batch, k, m))]
        for shapes in cases:
            args = of_shapes(shapes)
            value, gradients = split(made(*args))
            assert_same_bits((value, gradients), run_eagerly(products, args, (0, 1)), str(shapes))
            a, b = args
            bar = np.cos(a @ b)
            left = np.einsum("...nm,...km->...nk", *_matrices(bar, a, b)[::2])
            assert_close(np.sum(left), np.sum(gradients[0]), 1e-9, atol=1e-9, what=str(shapes))


def _matrices(bar: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
    """The operands of a product with the axes that vectors lack."""
    if b.ndim == 1:
        b, bar = b[:, None], np.asarray(bar)[..., None]
    if a.ndim == 1:
        a, bar = a[None], np.asarray(bar)[..., None, :]
    return bar, a, b


# -- lengths that loops compose -----------------------------------------------------------------


def rolled(x):
    for _ in range(20):
        x = np.concatenate([x[1:], np.tanh(x[:1])])  # the text of its length doubles
    return np.sum(x * x)


def moving_windows(x):
    total = 0.0
    for k in range(40):
        total = total + np.sum(x[k : k + 3] * x[k + 1 : k + 4])
    return total


@pytest.mark.parametrize(("function", "traces"), [(rolled, 1), (moving_windows, 1)])
def test_lengths_that_grow_with_every_turn_are_looked_at(function, traces):
    """Both are loops: lengths that are one in a run are one, bounds are looked at in turns."""
    compiled = tg.value_and_grad(function)
    for n in (50, 47, 50, 45):
        x = ramp(n)
        value, gradient = compiled(x)
        assert_close(value, function(x), 1e-12)
        along = ramp(n + 1)[1:]
        assert_close(gradient @ along, slope(lambda h, x=x, v=along: function(x + h * v)), 1e-7)
    assert compiled.cache_info().traces == traces
    assert len(compiled.source(ramp(50))) < 40_000


def test_an_array_made_of_a_length_alone_is_made_for_that_length():
    """NumPy read it as a plain array, and the program went on with that one."""

    def f(x):
        return np.sum(np.squeeze(np.ascontiguousarray(np.full_like(x, 3.0))) ** 2)

    made = tg.compile(f)
    for n in (2, 2, 4, 16, 4):
        assert made(np.ones(n)) == 9.0 * n
