"""The Python array API standard, 2024.12, main namespace: names, signatures, dtypes, values.

The tables of the standard are in `standard`. Arrays come from hypothesis' own strategies for the
standard, which use the namespace to make them and so are a client of it; values are compared with
NumPy's, special ones included.
"""

from __future__ import annotations

import inspect
import operator
import warnings
from itertools import product

import numpy as np
import pytest
from checks import assert_same_bits
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace
from standard import (
    BINARY,
    COMPLEX,
    COMPONENT,
    EVERY,
    FLOATS,
    INTEGERS,
    NUMERIC,
    OF_BOOL,
    OF_COMPONENT,
    OPERATORS,
    REAL,
    SIGNATURES,
    SIGNED,
    UNARY,
    UNSIGNED,
    VERSION,
    check_signature,
    function_of,
    numbers,
    promoted,
)

import tracegrad as tg

few = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


# -- names and signatures -----------------------------------------------------------------------


@pytest.mark.parametrize("line", SIGNATURES.strip().splitlines())
def test_signature(line):
    check_signature(tg, line)


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_elementwise_functions_take_arrays_by_position(name):
    inspect.signature(getattr(tg, name)).bind(*[object()] * (1 if name in UNARY else 2))


def test_constants_dtypes_and_version():
    assert (tg.e, tg.pi, tg.inf) == (np.e, np.pi, np.inf)
    assert np.isnan(tg.nan) and tg.newaxis is None
    assert all(np.dtype(getattr(tg, name)) == np.dtype(name) for name in EVERY)
    assert tg.__array_api_version__ == VERSION


# -- dtypes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", UNARY)
def test_dtypes_of_functions_of_one_array(name):
    for dtype in UNARY[name]:
        result = getattr(tg, name)(tg.asarray(numbers(dtype)))
        expected = "bool" if name in OF_BOOL else dtype
        if name in OF_COMPONENT:
            expected = COMPONENT.get(dtype, dtype)
        assert isinstance(result, tg.Tensor)
        assert (result.dtype, result.shape) == (np.dtype(expected), (3,)), dtype


@pytest.mark.parametrize("name", BINARY)
def test_dtypes_of_functions_of_two_arrays(name):
    for a, b in product(BINARY[name], repeat=2):
        expected = promoted(a, b)
        if expected is None:
            continue
        expected = "bool" if name in OF_BOOL else expected
        x, y = tg.asarray(numbers(a)), tg.asarray(numbers(b, 1))
        results = [getattr(tg, name)(x, y)]
        if name in OPERATORS:
            results.append(OPERATORS[name](x, y))
        for result in results:
            assert (result.dtype, result.shape) == (np.dtype(expected), (3,)), (a, b)


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_with_python_numbers_keep_the_dtype(name):
    for dtype in BINARY[name]:
        number = True if dtype == "bool" else 2 if dtype in INTEGERS else 2.0
        x = tg.asarray(numbers(dtype))
        expected = np.dtype("bool" if name in OF_BOOL else dtype)
        assert OPERATORS[name](x, number).dtype == expected, dtype
        assert OPERATORS[name](number, x).dtype == expected, dtype


@pytest.mark.parametrize("name", [n for n in OPERATORS if n not in OF_BOOL])
def test_operators_in_place(name):
    in_place = getattr(operator, "i" + OPERATORS[name].__name__.rstrip("_"))
    for dtype in BINARY[name]:
        x = tg.asarray(numbers(dtype), copy=True)
        expected = OPERATORS[name](x, x)
        if expected.dtype == x.dtype:
            same = in_place(x, tg.asarray(numbers(dtype)))
            assert same is x
            assert_same_bits(x, expected, f"{name} {dtype}")


def test_result_type_is_that_of_operations():
    for a, b in product(EVERY, repeat=2):
        expected = promoted(a, b)
        if expected is not None:
            assert tg.result_type(np.dtype(a), np.dtype(b)) == np.dtype(expected)
            assert tg.result_type(tg.asarray(numbers(a)), np.dtype(b)) == np.dtype(expected)
    assert tg.result_type(np.dtype("float32"), 1.5, 2) == np.float32


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
def test_sums_of_small_integers_are_wide(name):
    for dtype in NUMERIC:
        expected = {"i": "int64", "u": "uint64"}.get(np.dtype(dtype).kind, dtype)
        assert getattr(tg, name)(tg.asarray(numbers(dtype))).dtype == np.dtype(expected)
        for other in NUMERIC:
            if promoted(dtype, other) == other:
                found = getattr(tg, name)(tg.asarray(numbers(dtype)), dtype=np.dtype(other))
                assert found.dtype == np.dtype(other)


def test_default_dtypes():
    assert tg.asarray([True]).dtype == tg.zeros((1,), dtype=tg.bool).dtype == np.bool_
    assert tg.asarray([1]).dtype == tg.arange(3).dtype == tg.full((2,), 1).dtype == np.int64
    assert tg.asarray([1.0]).dtype == tg.zeros((2,)).dtype == tg.full((), 1.5).dtype == np.float64
    assert tg.asarray([1j]).dtype == tg.full((2,), 1j).dtype == np.complex128
    assert tg.linspace(0, 1, 3).dtype == tg.eye(2).dtype == np.float64
    assert tg.argsort(tg.ones(2)).dtype == tg.nonzero(tg.ones(2))[0].dtype == np.int64


@pytest.mark.parametrize("dtype", FLOATS)
def test_finfo(dtype):
    found, expected = tg.finfo(np.dtype(dtype)), np.finfo(dtype)
    assert (found.bits, found.dtype) == (expected.bits, expected.dtype)
    for name in ("eps", "max", "min", "smallest_normal"):
        assert type(getattr(found, name)) is float
        assert getattr(found, name) == float(getattr(expected, name))
    assert tg.finfo(tg.ones(1, dtype=dtype)) == found
    with pytest.raises(TypeError, match="iinfo"):
        tg.finfo(tg.int8)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_iinfo(dtype):
    found, expected = tg.iinfo(np.dtype(dtype)), np.iinfo(dtype)
    assert (found.bits, found.max, found.min) == (expected.bits, expected.max, expected.min)
    assert type(found.max) is int and found.dtype == np.dtype(dtype)


KINDS = {
    "bool": ("bool",),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": INTEGERS,
    "real floating": REAL,
    "complex floating": COMPLEX,
    "numeric": NUMERIC,
}


def test_isdtype():
    for dtype, (kind, members) in product(EVERY, KINDS.items()):
        assert tg.isdtype(np.dtype(dtype), kind) == (dtype in members)
        assert tg.isdtype(np.dtype(dtype), (kind, "bool")) == (dtype in (*members, "bool"))
        assert tg.isdtype(np.dtype(dtype), np.dtype(dtype))
    assert not tg.isdtype(tg.float32, tg.float64)


def test_can_cast():
    assert tg.can_cast(tg.float32, tg.float64) and not tg.can_cast(tg.float64, tg.float32)
    assert tg.can_cast(tg.ones(2, dtype=tg.int8), tg.int16)
    for a, b in product(NUMERIC, repeat=2):
        if promoted(a, b) is not None:
            assert tg.can_cast(np.dtype(a), np.dtype(b)) == (promoted(a, b) == b)


def test_several_arrays_are_lists_by_the_standard_and_tuples_for_numpy():
    a, b = tg.ones(2), tg.ones((3, 2))
    assert type(tg.broadcast_arrays(a, b)) is type(tg.meshgrid(a, a, indexing="ij")) is list
    assert type(np.broadcast_arrays(a, b)) is type(np.meshgrid(a, a)) is tuple


@pytest.mark.parametrize("axis", [-1, -2, 0])
def test_vecdot(axis):
    x, y = np.array([[[-7, 5], [120, 60]], [[3, -2], [100, 100]]], np.int8)
    batches = (x, y), (x, y[0]), (y[1], x), (x * 1.5, y), (x * 1j, y * (1 + 2j)), (x > 0, y > 0)
    for a, b in batches:
        if axis == -2 and 1 in (np.ndim(a), np.ndim(b)):
            continue
        expected = np.vecdot(a, b, axis=axis)
        for found in (
            tg.vecdot(tg.asarray(a), tg.asarray(b), axis=axis),
            tg.linalg.vecdot(tg.asarray(a), tg.asarray(b), axis=axis),
            tg.compile(lambda a, b: np.vecdot(a, b, axis=axis))(a, b),
        ):
            assert_same_bits(found, expected)


def test_vecdot_broadcasts_batches_alone():
    with pytest.raises(tg.errors.ShapeError, match=r"vecdot: .*\(2, 1\) and \(2, 3\) differ"):
        tg.vecdot(tg.ones((2, 1)), tg.ones((2, 3)))
    assert tg.vecdot(tg.ones((2, 3)), tg.ones((4, 1, 3))).shape == (4, 2)


# -- inspection, devices, exchange --------------------------------------------------------------


def test_inspection():
    info = tg.ones(1).__array_namespace__(api_version=VERSION).__array_namespace_info__()
    capabilities = info.capabilities()
    assert capabilities["boolean indexing"] and capabilities["data-dependent shapes"]
    assert capabilities["max dimensions"] == 64
    assert info.default_device() in info.devices()
    assert set(info.dtypes()) == set(EVERY)
    for kind, members in KINDS.items():
        assert info.dtypes(kind=kind) == {name: np.dtype(name) for name in members}
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", *REAL}
    defaults = info.default_dtypes(device=info.default_device())
    assert tg.zeros(1).dtype == defaults["real floating"]
    assert tg.asarray(1j).dtype == defaults["complex floating"]
    assert tg.asarray(1).dtype == defaults["integral"]
    assert tg.argmax(tg.ones(2)).dtype == defaults["indexing"]


def test_namespace_of_an_array():
    x = tg.ones(2)
    assert x.__array_namespace__() is tg
    assert all(x.__array_namespace__(api_version=v) is tg for v in ("2021.12", "2023.12"))
    with pytest.raises(tg.errors.ArgumentError, match="versions are"):
        x.__array_namespace__(api_version="1999.01")


def test_devices():
    x = tg.ones(2, device="cpu")
    assert x.device == x.to_device(x.device).device == "cpu"
    assert tg.zeros_like(x, device=x.device).device == tg.asarray(x, device="cpu").device == "cpu"
    assert tg.astype(x, tg.float32, device="cpu").dtype == np.float32


@pytest.mark.parametrize("dtype", EVERY)
def test_exchange_of_memory(dtype):
    array = numbers(dtype)
    x = tg.from_dlpack(array)
    assert isinstance(x, tg.Tensor)
    assert_same_bits(x, array)
    array[0] = 0
    assert_same_bits(x, array, "memory is shared")
    assert_same_bits(np.from_dlpack(tg.asarray(array)), array)
    copied = tg.from_dlpack(array, copy=True)
    array[1] = 0
    assert copied.numpy()[1] == numbers(dtype)[1]
    assert x.__dlpack_device__()[0] == 1
    assert "versioned" in repr(x.__dlpack__(max_version=(1, 0)))
    assert x.__dlpack__(stream=None, dl_device=(1, 0), copy=True) is not None
    assert_same_bits(tg.from_dlpack(x, device="cpu"), array)


def test_lists_of_arrays_are_stacked_with_their_gradient():
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    made = tg.asarray([[x[0] * x[1], 3], [x[1], x[0]]], dtype=tg.float32)
    assert_same_bits(made.detach(), np.array([[2.0, 3.0], [2.0, 1.0]], np.float32))
    assert_same_bits(tg.max([x[0], x[1]]).detach(), np.float64(2.0))
    gradient = tg.grad(lambda v: tg.sum(tg.asarray([v[0] * v[1], 2.0 * v[0], 1.0])))
    assert_same_bits(gradient(np.array([3.0, 5.0])), np.array([7.0, 3.0]))
    parts = tg.grad(lambda v, parts: tg.sum(tg.quantile(v, parts)), argnums=1)
    assert_same_bits(parts(np.array([3.0, 5.0, 9.0]), [0.25, 0.75]), [4.0, 8.0])


# -- the array object ---------------------------------------------------------------------------

ATTRIBUTES = ["dtype", "device", "mT", "ndim", "shape", "size", "T"]
METHODS = """
abs add and array_namespace bool complex dlpack dlpack_device eq float floordiv ge getitem gt index
int invert le lshift lt matmul mod mul ne neg or pos pow rshift setitem sub truediv xor
radd rand rfloordiv rlshift rmatmul rmod rmul ror rpow rrshift rsub rtruediv rxor
iadd iand ifloordiv ilshift imatmul imod imul ior ipow irshift isub itruediv ixor
"""


def test_the_array_object():
    x = tg.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert all(hasattr(x, name) for name in (*ATTRIBUTES, "to_device"))
    assert all(callable(getattr(x, f"__{name}__")) for name in METHODS.split())
    assert (x.ndim, x.shape, x.size) == (2, (2, 2), 4)
    assert_same_bits([x.T, x.mT], [x.numpy().T, x.numpy().T])
    y = tg.asarray(x, copy=True)
    y @= x
    assert_same_bits(y, x.numpy() @ x.numpy())


def test_numbers_of_arrays():
    assert (bool(tg.asarray(True)), int(tg.asarray(3)), float(tg.asarray(1.5))) == (True, 3, 1.5)
    assert (complex(tg.asarray(1j)), operator.index(tg.asarray(2))) == (1j, 2)
    with pytest.raises(TypeError):
        operator.index(tg.asarray(2.0))


# -- arrays that hypothesis makes of the namespace ----------------------------------------------

xps = make_strategies_namespace(tg, api_version=VERSION)
SHAPES = xps.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


def arrays(dtypes, shape=SHAPES):
    return st.sampled_from(dtypes).flatmap(lambda name: xps.arrays(dtype=name, shape=shape))


@pytest.mark.parametrize("name", UNARY)
@few
@given(data=st.data())
def test_values_of_functions_of_one_array(name, data):
    """Special values too: NaN, infinities, zeros of both signs, subnormal numbers."""
    x = data.draw(arrays(UNARY[name]))
    assert isinstance(x, tg.Tensor)
    expected = np.asarray(getattr(np, name)(x.numpy()))
    assert_same_bits(np.asarray(getattr(tg, name)(x)), expected, name)


@pytest.mark.parametrize("name", BINARY)
@few
@given(data=st.data())
def test_values_of_functions_of_two_arrays(name, data):
    dtype = data.draw(st.sampled_from(BINARY[name]))
    shapes = data.draw(xps.mutually_broadcastable_shapes(2, max_dims=3, max_side=3)).input_shapes
    bounds = {"min_value": 0, "max_value": 7} if "shift" in name or name == "pow" else {}
    elements = xps.from_dtype(dtype, **bounds) if dtype in INTEGERS else xps.from_dtype(dtype)
    x, y = (data.draw(xps.arrays(dtype=dtype, shape=s, elements=elements)) for s in shapes)
    expected = np.asarray(getattr(np, name)(x.numpy(), y.numpy()))
    assert_same_bits(np.asarray(getattr(tg, name)(x, y)), expected, name)
    if name in OPERATORS and name != "pow":  # the operator with a number has a cheaper spelling
        assert_same_bits(np.asarray(OPERATORS[name](x, y)), expected, name)


REDUCTIONS = {
    **dict.fromkeys(("all", "any", "count_nonzero"), EVERY),
    **dict.fromkeys(("argmax", "argmin", "max", "min"), INTEGERS + REAL),
    **dict.fromkeys(("mean", "std", "var"), REAL),
    **dict.fromkeys(("prod", "sum"), NUMERIC),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@few
@given(data=st.data())
def test_reductions(name, data):
    x = data.draw(arrays(REDUCTIONS[name], xps.array_shapes(max_dims=3, max_side=4)))
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1))
    keepdims = data.draw(st.booleans())
    expected = getattr(np, name)(x.numpy(), axis=axis, keepdims=keepdims)
    found = getattr(tg, name)(x, axis=axis, keepdims=keepdims)
    assert_same_bits(np.asarray(found), np.asarray(expected), name)


@few
@given(data=st.data())
def test_sorting_and_searching(data):
    x = data.draw(arrays(INTEGERS + REAL, xps.array_shapes(max_dims=2, max_side=5)))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    order = tg.argsort(x, axis=axis, stable=True)
    assert_same_bits(order, np.argsort(x.numpy(), axis=axis, stable=True))
    in_order = tg.sort(x, axis=axis).numpy()
    assert np.array_equal(in_order, np.sort(x.numpy(), axis=axis), equal_nan=x.dtype.kind == "f")
    falling = tg.sort(x, axis=axis, descending=True).numpy()
    assert np.array_equal(falling, np.flip(in_order, axis), equal_nan=x.dtype.kind == "f")
    sorted_line = tg.sort(tg.reshape(x, (-1,)))
    for side in ("left", "right"):
        found = tg.searchsorted(sorted_line, x, side=side)
        assert_same_bits(found, np.searchsorted(sorted_line.numpy(), x.numpy(), side))


@few
@given(data=st.data())
def test_sets(data):
    """Values are there once, indices and inverses find them, counts add up; NaN is never equal."""
    x = data.draw(arrays(EVERY))
    values, indices, inverse, counts = tg.unique_all(x)
    flat = x.numpy().reshape(-1)
    equal_nan = x.dtype.kind in "fc"
    assert np.array_equal(flat[indices.numpy()], values.numpy(), equal_nan=equal_nan)
    assert np.array_equal(values.numpy()[inverse.numpy()], x.numpy(), equal_nan=equal_nan)
    assert inverse.shape == x.shape and int(tg.sum(counts)) == x.size
    expected = np.unique(x.numpy(), equal_nan=False)
    assert np.array_equal(values.numpy(), expected, equal_nan=equal_nan)
    assert_same_bits(tg.unique_values(x), values)
    assert_same_bits(tuple(tg.unique_counts(x)), (values, counts))
    assert_same_bits(tuple(tg.unique_inverse(x)), (values, inverse))


@few
@given(data=st.data())
def test_indexing(data):
    x = data.draw(arrays(EVERY, xps.array_shapes(max_dims=3, max_side=4)))
    index = data.draw(xps.indices(x.shape))
    assert_same_bits(np.asarray(x[index]), np.asarray(x.numpy()[index]))
    changed, expected = tg.asarray(x, copy=True), x.numpy().copy()
    changed[index] = 1
    expected[index] = 1
    assert_same_bits(changed, expected)


@few
@given(data=st.data())
def test_manipulation(data):
    x = data.draw(arrays(EVERY, xps.array_shapes(max_dims=3, max_side=4)))
    array = x.numpy()
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    shift = data.draw(st.integers(-5, 5))
    pairs = {
        "flip": (tg.flip(x, axis=axis), np.flip(array, axis)),
        "roll": (tg.roll(x, shift, axis=axis), np.roll(array, shift, axis)),
        "expand_dims": (tg.expand_dims(x, axis=axis), np.expand_dims(array, axis)),
        "reshape": (tg.reshape(x, (-1,), copy=True), array.reshape(-1)),
        "stack": (tg.stack([x, x], axis=axis), np.stack([array, array], axis)),
        "concat": (tg.concat([x, x], axis=axis), np.concatenate([array, array], axis)),
        "repeat": (tg.repeat(x, 2, axis=axis), np.repeat(array, 2, axis)),
        "moveaxis": (tg.moveaxis(x, axis, 0), np.moveaxis(array, axis, 0)),
        "unstack": (tg.unstack(x, axis=axis), tuple(np.moveaxis(array, axis, 0))),
        "tile": (tg.tile(x, (2, 1)), np.tile(array, (2, 1))),
        "take": (tg.take(x, tg.asarray([0, -1]), axis=axis), np.take(array, [0, -1], axis)),
    }
    for name, (found, expected) in pairs.items():
        assert_same_bits(found, expected, name)


def test_every_function_of_the_standard_is_here():
    """As many as the standard has: none was forgotten in the tables above."""
    listed = {function_of(line).name for line in SIGNATURES.strip().splitlines()}
    assert not listed & ({*UNARY, *BINARY})
    assert len(listed | {*UNARY, *BINARY}) == 134
    assert all(callable(getattr(tg, name)) for name in listed | {*UNARY, *BINARY})
