"""The Python array API standard, 2024.12, main namespace: names, signatures, dtypes, values.

The table of signatures is the standard's. Arrays come from hypothesis' own strategies for the
standard, which use the namespace to make them and so are a client of it; values are compared with
NumPy's, special ones included.
"""

from __future__ import annotations

import ast
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

import tracegrad as tg

VERSION = "2024.12"
few = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))

SIGNATURES = """
arange(start, /, stop=None, step=1, *, dtype=None, device=None)
asarray(obj, /, *, dtype=None, device=None, copy=None)
empty(shape, *, dtype=None, device=None)
empty_like(x, /, *, dtype=None, device=None)
eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
from_dlpack(x, /, *, device=None, copy=None)
full(shape, fill_value, *, dtype=None, device=None)
full_like(x, /, fill_value, *, dtype=None, device=None)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
meshgrid(*arrays, indexing="xy")
ones(shape, *, dtype=None, device=None)
ones_like(x, /, *, dtype=None, device=None)
tril(x, /, *, k=0)
triu(x, /, *, k=0)
zeros(shape, *, dtype=None, device=None)
zeros_like(x, /, *, dtype=None, device=None)
astype(x, dtype, /, *, copy=True, device=None)
can_cast(from_, to, /)
finfo(type, /)
iinfo(type, /)
isdtype(dtype, kind)
result_type(*arrays_and_dtypes)
clip(x, /, min=None, max=None)
take(x, indices, /, *, axis=None)
take_along_axis(x, indices, /, *, axis=-1)
matmul(x1, x2, /)
matrix_transpose(x, /)
tensordot(x1, x2, /, *, axes=2)
vecdot(x1, x2, /, *, axis=-1)
broadcast_arrays(*arrays)
broadcast_to(x, /, shape)
concat(arrays, /, *, axis=0)
expand_dims(x, /, *, axis=0)
flip(x, /, *, axis=None)
moveaxis(x, source, destination, /)
permute_dims(x, /, axes)
repeat(x, repeats, /, *, axis=None)
reshape(x, /, shape, *, copy=None)
roll(x, /, shift, *, axis=None)
squeeze(x, /, axis)
stack(arrays, /, *, axis=0)
tile(x, repetitions, /)
unstack(x, /, *, axis=0)
argmax(x, /, *, axis=None, keepdims=False)
argmin(x, /, *, axis=None, keepdims=False)
count_nonzero(x, /, *, axis=None, keepdims=False)
nonzero(x, /)
searchsorted(x1, x2, /, *, side="left", sorter=None)
where(condition, x1, x2, /)
unique_all(x, /)
unique_counts(x, /)
unique_inverse(x, /)
unique_values(x, /)
argsort(x, /, *, axis=-1, descending=False, stable=True)
sort(x, /, *, axis=-1, descending=False, stable=True)
cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
max(x, /, *, axis=None, keepdims=False)
mean(x, /, *, axis=None, keepdims=False)
min(x, /, *, axis=None, keepdims=False)
prod(x, /, *, axis=None, dtype=None, keepdims=False)
std(x, /, *, axis=None, correction=0.0, keepdims=False)
sum(x, /, *, axis=None, dtype=None, keepdims=False)
var(x, /, *, axis=None, correction=0.0, keepdims=False)
all(x, /, *, axis=None, keepdims=False)
any(x, /, *, axis=None, keepdims=False)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
__array_namespace_info__()
"""

REAL = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS, FLOATS = SIGNED + UNSIGNED, REAL + COMPLEX
NUMERIC, EVERY = INTEGERS + FLOATS, ("bool", *INTEGERS, *FLOATS)
COMPONENT = {"complex64": "float32", "complex128": "float64"}

UNARY = {
    **dict.fromkeys(("abs", "negative", "positive", "sign", "square"), NUMERIC),
    **dict.fromkeys(("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh"), FLOATS),
    **dict.fromkeys(("exp", "expm1", "log", "log1p", "log2", "log10", "reciprocal"), FLOATS),
    **dict.fromkeys(("sin", "sinh", "sqrt", "tan", "tanh"), FLOATS),
    **dict.fromkeys(("ceil", "floor", "trunc"), INTEGERS + REAL),
    **dict.fromkeys(("conj", "imag", "real"), COMPLEX),
    **dict.fromkeys(("isfinite", "isinf", "isnan", "round"), NUMERIC),
    "bitwise_invert": ("bool", *INTEGERS),
    "logical_not": ("bool",),
    "signbit": REAL,
}
"""Functions of one array and the dtypes that the standard gives them."""

BINARY = {
    **dict.fromkeys(("add", "multiply", "subtract", "pow"), NUMERIC),
    **dict.fromkeys(("atan2", "copysign", "hypot", "logaddexp", "nextafter"), REAL),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), ("bool", *INTEGERS)),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), INTEGERS),
    **dict.fromkeys(("equal", "not_equal"), EVERY),
    **dict.fromkeys(("greater", "greater_equal", "less", "less_equal"), INTEGERS + REAL),
    **dict.fromkeys(("floor_divide", "maximum", "minimum", "remainder"), INTEGERS + REAL),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), ("bool",)),
    "divide": FLOATS,
}

OF_BOOL = {"equal", "not_equal", "greater", "greater_equal", "less", "less_equal", "isfinite"}
OF_BOOL |= {"isinf", "isnan", "signbit", "logical_and", "logical_or", "logical_xor", "logical_not"}
OF_COMPONENT = {"abs", "real", "imag"}

OPERATORS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "pow": operator.pow,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "bitwise_left_shift": operator.lshift,
    "bitwise_right_shift": operator.rshift,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}


def promoted(a: str, b: str) -> str | None:
    """The standard's table of type promotion; None where it leaves the result open."""
    if a == b:
        return a
    bits = {dtype: int("".join(c for c in dtype if c.isdigit()) or 8) for dtype in (a, b)}
    for group in (SIGNED, UNSIGNED, REAL, COMPLEX):
        if a in group and b in group:
            return max(a, b, key=group.index)
    if {a, b} <= set(INTEGERS):
        signed, unsigned = (a, b) if a in SIGNED else (b, a)
        if bits[unsigned] == 64:
            return None
        return signed if bits[signed] > bits[unsigned] else f"int{2 * bits[unsigned]}"
    if {a, b} <= set(FLOATS):
        real, other = (a, b) if a in REAL else (b, a)
        return "complex128" if "float64" in (real, COMPONENT[other]) else "complex64"
    return None


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def numbers(dtype: str, n: int = 3) -> np.ndarray:
    return np.arange(1, n + 1).astype(dtype)


# -- names and signatures -----------------------------------------------------------------------


def function_of(line: str) -> ast.FunctionDef:
    return ast.parse(f"def {line}: ...").body[0]


@pytest.mark.parametrize("line", SIGNATURES.strip().splitlines())
def test_signature(line):
    """Arguments by position and by name are taken as the standard says, with its defaults."""
    stub = function_of(line)
    ours = inspect.signature(getattr(tg, stub.name))
    arguments = stub.args
    by_place = [object() for _ in arguments.posonlyargs]
    either = {a.arg: object() for a in arguments.args}
    by_name = {a.arg: object() for a in arguments.kwonlyargs}
    rest = [object(), object()] if arguments.vararg else []
    ours.bind(*by_place, *rest, **either, **by_name)
    ours.bind(*by_place, *either.values(), *rest)
    for place, argument in enumerate(arguments.args, len(arguments.posonlyargs)):
        assert list(ours.parameters)[place] == argument.arg, "taken by name or by this place"
    required = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    ours.bind(*[*by_place, *either.values()][:required], *rest)
    names = [a.arg for a in arguments.posonlyargs + arguments.args]
    defaults = dict(zip(names[::-1], arguments.defaults[::-1], strict=False))
    defaults |= dict(zip(by_name, arguments.kw_defaults, strict=True))
    for name, default in defaults.items():
        if name in ours.parameters and default is not None:
            mine = ours.parameters[name].default
            value = ast.literal_eval(default)
            assert mine == value or (mine is None and value in (0, 1, None)), (stub.name, name)


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
