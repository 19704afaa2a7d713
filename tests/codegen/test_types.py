"""Types enter the promotion and broadcasting rules; what leaves is held against NumPy itself."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen import ArrayType, ShapeError, Sizes
from codegen.types import (
    DTYPES,
    bits,
    broadcast,
    inexact_of,
    is_inexact,
    kind,
    promote,
    shape_text,
    weak,
)

NUMBERS = {"bool": True, "int": 1, "float": 1.0, "complex": 1j}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_promotion_is_numpys_for_all_combinations_of_dtypes(count):
    wrong = {}
    for dtypes in itertools.product(DTYPES, repeat=count):
        dtype, is_weak = promote([ArrayType(dtype) for dtype in dtypes])
        if (dtype, is_weak) != (np.result_type(*dtypes).name, False):
            wrong[dtypes] = dtype
    assert not wrong


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", NUMBERS)
def test_a_python_number_takes_the_dtype_of_what_it_meets(dtype, number):
    for types in ([ArrayType(dtype), weak(number)], [weak(number), ArrayType(dtype)]):
        result, is_weak = promote(types)
        assert result == np.result_type(np.dtype(dtype), NUMBERS[number]).name
        assert result == (np.ones(1, dtype) + NUMBERS[number]).dtype.name
        assert not is_weak


def test_python_numbers_among_themselves_stay_python_numbers():
    for a, b in itertools.product(NUMBERS, repeat=2):
        dtype, is_weak = promote([weak(a), weak(b)])
        both = NUMBERS[a] + NUMBERS[b]
        if (a, b) != ("bool", "bool"):
            assert kind(dtype) == type(both).__name__
        assert is_weak == ("bool" not in (a, b))  # a bool has a dtype of its own


def test_kinds_and_widths():
    for dtype in DTYPES:
        of = np.dtype(dtype)
        letter = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}[of.kind]
        assert kind(dtype) == letter
        assert bits(dtype) == of.itemsize * 8 // (2 if of.kind == "c" else 1)
        assert is_inexact(dtype) == (of.kind in "fc")


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_like_exp_compute_in_the_float_that_numpy_takes(dtype):
    assert inexact_of(dtype) == np.exp(np.ones(1, dtype)).dtype.name


def test_types_print_as_dtype_and_shape():
    assert str(ArrayType("float32")) == "float32[]"
    assert str(ArrayType("int8", (2, 0))) == "int8[2, 0]"
    assert str(weak("float")) == "float"
    assert str(weak("bool")) == "bool[]"
    assert ArrayType("float32", (2,)).with_dtype("int8") == ArrayType("int8", (2,))
    assert weak("int").with_dtype("int64") == ArrayType("int64")


# -- broadcasting -------------------------------------------------------------------------------

SHAPES = st.lists(st.integers(0, 3), max_size=4).map(tuple)


def numpys(shapes):
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def ours(sizes, shapes):
    try:
        return broadcast(sizes, shapes)
    except ShapeError:
        return None


@given(st.lists(SHAPES, max_size=3))
def test_broadcasting_numbers_is_numpys(shapes):
    sizes = Sizes()
    assert ours(sizes, shapes) == numpys(shapes)
    assert not sizes.guards


@given(st.lists(SHAPES, min_size=1, max_size=3), st.data())
def test_broadcasting_free_lengths_is_numpys_under_its_guards(shapes, data):
    sizes = Sizes()
    free = [tuple(sizes.new(n) for n in shape) for shape in shapes]
    result = ours(sizes, free)
    expected = numpys(shapes)
    assert (result is None) == (expected is None)
    if result is None:
        return
    assert tuple(map(sizes.value, result)) == expected
    # Wherever all guards hold, the answer is right for other lengths as well.
    other = {name: data.draw(st.integers(0, 3)) for name in sizes.seen}
    there = Sizes(other)
    if all(there.value(a) == there.value(b) for a, b in sizes.guards):
        lengths = [tuple(map(there.value, shape)) for shape in free]
        assert tuple(map(there.value, result)) == numpys(lengths)


def test_a_length_that_broadcast_as_1_is_fixed_and_a_literal_1_is_no_guard():
    sizes = Sizes()
    one, many = sizes.new(1), sizes.new(4)
    assert broadcast(sizes, [(one,), (many,)]) == (many,)
    assert sizes.guards == [(one, 1)]
    assert broadcast(sizes, [(1,), (many,)]) == (many,)
    assert len(sizes.guards) == 1


def test_lengths_that_are_equal_are_assumed_equal_also_when_both_are_1():
    sizes = Sizes()
    a, b = sizes.new(1), sizes.new(1)
    assert broadcast(sizes, [(a,), (b,)]) == (a,)
    assert sizes.guards == [(a, b)]


def test_the_error_shows_the_lengths_of_this_trace():
    sizes = Sizes()
    with pytest.raises(ShapeError, match=r"shapes \(3, 2\) and \(4,\) do not broadcast"):
        broadcast(sizes, [(sizes.new(3), sizes.new(2)), (sizes.new(4),)])
    assert shape_text(sizes, ()) == "()"
    assert shape_text(sizes, (sizes.new(7),)) == "(7,)"
    assert shape_text(Sizes(), (sizes.new(7),)) == "(n4,)"
