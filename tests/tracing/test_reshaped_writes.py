"""Arrays that a function copies and writes to through a reshaped view, in each memory order."""

from __future__ import annotations

import numpy as np
import pytest

import tracegrad as tg


def flattened(x):
    y = x.copy()
    y.ravel()[3] = 9.0
    return y


def reshaped(x):
    y = x.copy()
    y.reshape(-1)[3] = 9.0
    return y


def by_flat(x):
    y = x.copy()
    y.flat[1] = 9.0
    return y


def put(x):
    y = x.copy()
    np.put(y, [1], [5.0])
    return y


def placed(x):
    y = x.copy()
    np.place(y, y > 0, [7.0, 8.0])
    return y


def in_parts(x):
    y = x.ravel().copy()
    np.split(y, 3)[1][:] = 8.0
    return y


def twice(x):
    y = x.copy()
    z = y.ravel()
    z[3] = 9.0
    y[0, 0] = 5.0
    z[1] = y[0, 0] * 2.0
    return y + z.sum()


def of_a_product(x):
    y = x * 2.0
    y.ravel()[3] = 9.0
    return y


def of_a_transposed_copy(x):
    y = x.copy().T
    y.ravel()[3] = 9.0
    return y


ROWS = np.arange(6.0).reshape(2, 3) - 2.0
OTHERS = {
    "columns": np.asfortranarray(ROWS),
    "backwards": ROWS[::-1],
    "gaps": np.repeat(ROWS, 2, axis=1)[:, ::2],
}

COPIED = [flattened, reshaped, by_flat, put, placed, in_parts, twice]


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("layout", OTHERS)
@pytest.mark.parametrize("f", COPIED)
def test_a_copy_lies_in_rows_whatever_it_is_a_copy_of(f, layout, first):
    made, arrays = tg.compile(f), [ROWS, OTHERS[layout]]
    for k in (first, 1 - first, first, 1 - first):
        assert made(arrays[k]).tolist() == f(arrays[k]).tolist()
    info = made.cache_info()
    assert (info.versions, info.hits) == (1, 3), made.explain()


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("layout", OTHERS)
@pytest.mark.parametrize("f", [of_a_product, of_a_transposed_copy])
def test_elsewhere_the_memory_order_decides_who_sees_a_write(f, layout, first):
    made, arrays = tg.compile(f), [ROWS, OTHERS[layout]]
    for k in (first, 1 - first, first, 1 - first):
        assert made(arrays[k]).tolist() == f(arrays[k]).tolist()


def test_the_warning_names_the_line_that_needs_an_order():
    made = tg.compile(of_a_product)
    with pytest.warns(tg.errors.RecompileWarning, match=r"lies in memory \(.*test_reshaped.*:\d+"):
        for _ in range(3):
            made(OTHERS["columns"])


@pytest.mark.parametrize("layout", OTHERS)
def test_gradients_through_such_copies(layout):
    x = OTHERS[layout]
    value, gradient = tg.value_and_grad(lambda x: np.sum(flattened(x) * x))(x)
    expected = np.where(flattened(x) == 9.0, 9.0, 2.0 * x)
    assert value == np.sum(flattened(x) * x)
    assert gradient.tolist() == expected.tolist()
