"""NumPy's functions on Tensors: by their own names, through NumPy itself, compiled, differentiated.

The calls are those of `numpy_cases`; what NumPy gives for arrays is what is to be found. A function
that tracegrad shares with NumPy and that no call is about fails here.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits, direction_like, dot, leaves, slope
from numpy_cases import (
    EXPRESSIONS,
    MADE_BY_NUMPY,
    OPERANDS,
    STATEMENTS,
    calls,
    flat,
    function_of,
    used,
)

import tracegrad as tg
from tracegrad.tensors import array_functions
from tracegrad.tensors.public_functions import RECORDS

LISTED = """
einsum tensordot inner dot vdot outer kron trace diag diagonal diagflat tril triu cross concatenate
stack hstack vstack dstack column_stack split array_split hsplit vsplit dsplit ravel swapaxes
atleast_1d atleast_2d atleast_3d fliplr flipud rot90 roll tile repeat pad clip where select
nan_to_num nansum nanmean nanquantile median quantile percentile var std cov corrcoef diff gradient
interp trapezoid cumsum cumprod sort argsort take_along_axis fmax fmin fmod float_power logaddexp
logaddexp2 exp2 sinc angle deg2rad rad2deg vander
"""
"""What the public contract names."""


every_call = pytest.mark.parametrize("call", calls())


@pytest.fixture(autouse=True)
def quiet():
    """NumPy warns of means of nothing and of division by 0, which some calls are about."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def tensors(names: list[str]) -> dict[str, tg.Tensor]:
    return {name: tg.tensor(OPERANDS[name]) for name in names}


def arrays(names: list[str]) -> dict[str, np.ndarray]:
    return {name: OPERANDS[name].copy() for name in names}


def agree(found: Any, expected: Any, what: str) -> None:
    found, expected = flat(found), flat(expected)
    assert len(found) == len(expected), what
    for a, b in zip(found, expected, strict=True):
        b = np.asarray(b)
        a = np.asarray(a.detach() if isinstance(a, tg.Tensor) else a)
        assert (a.dtype, a.shape) == (b.dtype, b.shape), what
        assert_close(a, b, 2e-6 if b.dtype == np.float32 else 1e-12, 1e-13, what)


@every_call
def test_values(call):
    """On Tensors, by tracegrad's own name and through NumPy, as NumPy on arrays."""
    names, function = used(call), function_of(call)
    expected = function(np, **arrays(names))
    agree(function(tg, **tensors(names)), expected, f"tg: {call}")
    if names and call not in MADE_BY_NUMPY:
        found = function(np, **tensors(names))
        agree(found, expected, f"through NumPy: {call}")
        assert not any(isinstance(x, np.ndarray) for x in flat(found)), call


@pytest.mark.sampled(2)
@every_call
def test_compiled(call):
    """The bits of eager Tensors, with the lengths of the arrays free where nobody looks at them."""
    names, function = used(call), function_of(call)

    def f(operands):
        return flat(function(tg, **operands))

    eager = [np.asarray(x) for x in f(tensors(names))]
    compiled = tg.compile(f)
    for _ in range(2):
        found = compiled(arrays(names))
        assert_same_bits([np.asarray(x) for x in found], eager, call)
    assert compiled.cache_info().versions == 1, "it was compiled, and the program served again"


FAMILIES = [
    "building",
    "calculus",
    "convolving",
    "counting",
    "numbers",
    "polynomials",
    "quantiles",
    "sets",
    "sorting",
    "statistics",
]


def one_call_a_function() -> dict[str, str]:
    """For each function that these families compose of ops: its first call about arrays."""
    found: dict[str, str] = {}
    for call in calls():
        name = re.match(r"np\.(\w+)", call).group(1)
        family = getattr(getattr(tg, name), "__module__", "").rpartition(".")[2]
        if family in FAMILIES and used(call):
            found.setdefault(name, call)
    return found


WITH_LISTS = (
    "np.append(v, [1.0, 2.0])",
    "np.digitize(k, [1, 3])",
    "np.histogram(k, [0, 2, 5])",
    "np.insert(v, [0, 5], [1.0, 2.0])",
    "np.isin(k, [1, 2])",
    "np.quantile(x, [0.1, 0.5], axis=1)",
    "np.take(x, [7, -9], axis=1, mode='wrap')",
)


@pytest.mark.parametrize("call", WITH_LISTS)
def test_lists_beside_arrays_on_a_device(call):
    """Numbers in a list are on no device, so they go where the array is."""
    pytest.importorskip("jax")
    assert call in calls()
    names = used(call)
    on_device = {name: tg.tensor(OPERANDS[name], device="jax") for name in names}
    found = flat(function_of(call)(tg, **on_device))
    assert {x.device.type for x in found} == {"jax"}
    agree([x.cpu() for x in found], function_of(call)(np, **arrays(names)), call)


def test_places_in_arrays_are_looked_at():
    """What decides a shape is read on every call: never the places of an earlier one."""
    delete = tg.compile(lambda x, at: np.delete(x, at))
    insert = tg.compile(lambda x, at: np.insert(x, at, 7.0))
    keep = tg.compile(lambda x, n: np.bincount(x, minlength=n))
    x = OPERANDS["v"]
    for at in ([0, 1], [3, 2], [0, 1], [4, 4]):
        assert_same_bits(delete(x, np.array(at)), np.delete(x, at))
        assert_same_bits(insert(x, np.array(at)), np.insert(x, at, 7.0))
    split = tg.compile(lambda x, at: tuple(np.split(x, at)))
    for at in ([1], [3], [1, 4]):
        assert_same_bits(split(x, np.array(at)), tuple(np.split(x, at)))
    for counted in ([0, 2, 2], [1, 5], [0, 2, 2], [3, 3, 3]):
        assert_same_bits(keep(np.array(counted), 2), np.bincount(counted, minlength=2))


@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int64"])
def test_numbers_of_any_type_are_counted(dtype, backend):
    if backend == "jax":
        pytest.importorskip("jax")
    weights = np.array([1.0, 2.0, 4.0])
    for f in (np.bincount, lambda x: np.bincount(x, minlength=5)):
        compiled = tg.compile(lambda x, f=f: f(x), backend=backend)
        for numbers in ([1, 0, 1], [0, 0, 0], [], [1, 1]):
            x = np.array(numbers, dtype)
            assert_same_bits(compiled(x), f(x))
    x = np.array([1, 0, 1], dtype)
    weigh = tg.compile(lambda x, w: np.bincount(x, weights=w), backend=backend)
    assert_same_bits(weigh(x, weights), np.bincount(x, weights=weights))


def test_short_lists_are_part_of_the_program():
    f = tg.compile(lambda x: np.quantile(x, [0.25, 0.5]))
    assert "np.quantile(x, np.array([0.25, 0.5]))" in f.source(OPERANDS["x"])


NOT_SMOOTH = re.compile(r"np\.(spacing|round|around|\w+\(.*float32)")
"""Calls that differences say nothing of: bins, steps, and what float32 rounds."""


def differentiated(call: str, curved: bool = False) -> tuple[Any, list[np.ndarray]] | None:
    """A number made of a call's floating results, as a function of its floating operands.

    None where there is nothing that differences could judge. `curved`: of the results' squares.
    """
    names = [name for name in used(call) if OPERANDS[name].dtype.kind in "fc" and name != "f"]
    names = [name for name in names if not np.isnan(OPERANDS[name]).any() and OPERANDS[name].size]
    if not names or NOT_SMOOTH.search(call):
        return None
    rest = arrays([name for name in used(call) if name not in names])
    function = function_of(call)
    results = flat(function(np, **rest, **arrays(names)))
    floating = [i for i, r in enumerate(results) if np.asarray(r).dtype.kind in "fc"]
    finite = [i for i in floating if np.all(np.isfinite(results[i]))]
    if not finite:
        return None
    weights = direction_like([np.asarray(results[i]) for i in finite], 3)

    def loss(xs):
        found = flat(function(np, **rest, **dict(zip(names, xs, strict=True))))
        several = [found[i] * found[i] if curved else found[i] for i in finite]
        return sum(np.sum(np.real(w * r)) for w, r in zip(weights, several, strict=True))

    return loss, [OPERANDS[name] for name in names]


def moved(xs: list[Any], h: float, direction: list[Any]) -> list[Any]:
    return [x + h * d for x, d in zip(xs, direction, strict=True)]


@pytest.mark.sampled(2, 1)
@every_call
def test_gradients(call):
    """The derivative along a direction in every floating operand, against differences."""
    found = differentiated(call)
    if found is None:
        return
    loss, xs = found
    direction = direction_like(xs, 4)
    gradient = tg.grad(loss)(xs)
    assert [g.dtype for g in leaves(gradient)] == [x.dtype for x in xs]
    change = float(np.real(dot(gradient, direction)))
    along = slope(lambda h: float(loss(moved(xs, h, direction))))
    assert change == pytest.approx(along, rel=1e-6, abs=1e-7), call


@pytest.mark.parametrize("call", one_call_a_function().values())
def test_second_derivatives(call):
    """Of functions that are made of several ops: the gradient's own derivative."""
    found = differentiated(call, curved=True)
    if found is None:
        return
    loss, xs = found
    if any(x.dtype.kind == "c" for x in xs):
        return  # `test_ops` has second derivatives in complex numbers
    gradient = tg.grad(loss)
    one, other = direction_like(xs, 5), direction_like(xs, 6)
    second = tg.grad(lambda xs: dot(gradient(xs), one))(xs)
    along = slope(lambda h: float(dot(gradient(moved(xs, h, other)), one)))
    assert float(dot(second, other)) == pytest.approx(along, rel=1e-5, abs=1e-6), call


@pytest.mark.sampled(2)
@pytest.mark.parametrize("call", one_call_a_function().values())
def test_on_jax(call):
    """Functions that are made of several ops: results, and gradients, of both targets agree."""
    pytest.importorskip("jax")
    names, function = used(call), function_of(call)

    def f(operands):
        return flat(function(tg, **operands))

    expected = [np.asarray(x) for x in f(tensors(names))]
    found = tg.compile(f, backend="jax")(arrays(names))
    agree([np.asarray(x) for x in found], expected, call)
    smooth = differentiated(call)
    if smooth is not None:
        loss, xs = smooth
        gradient = leaves(tg.grad(loss, backend="jax")(xs))
        assert_close(gradient, leaves(tg.grad(loss)(xs)), 1e-11, 1e-12, call)


@pytest.mark.parametrize("statement", STATEMENTS.strip().splitlines())
def test_functions_that_write(statement):
    """The Tensor has afterwards what the array has, eager and compiled, and is differentiated."""
    names = used(statement)
    first = re.match(r"np\.\w+\((\w+)", statement).group(1)
    function = function_of(statement)
    expected = arrays(names)
    function(np, **expected)
    found = tensors(names)
    function(tg, **found)
    agree(found[first], expected[first], statement)
    through = tensors(names)
    function(np, **through)
    agree(through[first], expected[first], f"through NumPy: {statement}")

    def f(operands):
        mine = {**operands, first: operands[first] * 1.0}
        function(tg, **mine)
        return mine[first]

    agree(tg.compile(f)(arrays(names)), expected[first], f"compiled: {statement}")
    before = OPERANDS[first]
    gradient = tg.grad(lambda x: tg.sum(f({**arrays(names), first: x})))(before)
    kept = expected[first] == before
    assert np.array_equal(gradient != 0, kept), statement


def test_functions_that_show_or_keep_numbers(tmp_path):
    """They get the array; where its gradient would be lost, they are refused."""
    x = tg.tensor(OPERANDS["x"])
    np.save(tmp_path / "x.npy", x)
    assert_same_bits(np.load(tmp_path / "x.npy"), OPERANDS["x"])
    assert np.array2string(x, precision=2) == np.array2string(OPERANDS["x"], precision=2)
    assert np.shares_memory(x, x.numpy())
    with pytest.raises(tg.errors.ConversionError, match="detach"):
        np.save(tmp_path / "x.npy", x.requires_grad_())


VECTORIZED = {
    "branches": (lambda a, b: a * b if a > 0 else -b, {}, ("x", "v")),
    "ufunc": (np.sin, {}, ("v",)),
    "signature": (lambda a, b: np.sum(a * b), {"signature": "(n),(n)->()"}, ("x", "y")),
    "broadcast": (lambda a, b: a * np.sum(b), {"signature": "(),(n)->()"}, ("u", "s")),
    "several": (lambda a: (a, a * a), {"otypes": [float, np.float32]}, ("u",)),
    "vectors": (lambda a: np.cumsum(a), {"signature": "(n)->(n)"}, ("s",)),
}


@pytest.mark.parametrize("name", VECTORIZED)
def test_functions_of_elements(name):
    """As ``np.vectorize``: values, compiled, and the gradient along a direction."""
    function, how, names = VECTORIZED[name]
    xs = [OPERANDS[n] for n in names]
    expected = flat(np.vectorize(function, **how)(*xs))
    vectorized = tg.vectorize(function, **how)
    agree(vectorized(*map(tg.tensor, xs)), expected, name)
    agree(tg.compile(lambda xs: vectorized(*xs))(xs), expected, name)
    weights = direction_like([np.asarray(r) for r in expected], 3)

    def loss(xs):
        found = flat(vectorized(*xs))
        return sum(np.sum(w * r) for w, r in zip(weights, found, strict=True))

    direction = direction_like(xs, 4)
    change = float(dot(tg.grad(loss)(xs), direction))
    along = slope(lambda h: float(loss(moved(list(map(tg.tensor, xs)), h, direction))))
    assert change == pytest.approx(along, rel=2e-3 if name == "several" else 1e-7), name


@pytest.mark.parametrize("constant", [0.5, np.array(0.5), np.array([0.5, 1.0, -1.0]), [2.0], 3])
def test_vectorize_of_a_traced_array_and_a_constant(constant):
    """A constant is repeated to lengths that only the program's graph has."""

    def f(x):
        return np.vectorize(lambda a, b: a * b if a > b else a + b)(x, constant)

    compiled = tg.compile(f)
    for x in (np.array([1.0, 0.2, 3.0]), np.array([6.0, 0.4, 2.0])):
        np.testing.assert_array_equal(compiled(x), f(x))
        expected = np.where(x > constant, constant, 1.0) * np.ones(3)
        np.testing.assert_array_equal(tg.grad(lambda x: np.sum(f(x)))(x), expected)


def test_functions_of_elements_take_arguments_as_they_are():
    x = tg.tensor(OPERANDS["u"])
    f = tg.vectorize(lambda a, k, shift: a**k + shift, excluded=[1], doc="A power.")
    agree(f(x, 2, shift=x), OPERANDS["u"] ** 2 + OPERANDS["u"], "excluded")
    assert f.__doc__ == "A power."
    with pytest.raises(tg.errors.ShapeError, match="no elements"):
        f(x[:0], 2, shift=1.0)
    with pytest.raises(tg.errors.ArgumentValueError, match="signature"):
        tg.vectorize(np.sum, signature="n->")
    found = tg.grad(lambda x: np.sum(np.vectorize(lambda a: a * a)(x)))(OPERANDS["u"])
    assert_same_bits(found, 2.0 * OPERANDS["u"])


def test_flat():
    """``x.flat`` reads and writes elements by their numbers, row after row."""
    array, x = OPERANDS["x"].copy(), tg.tensor(OPERANDS["x"])
    assert len(x.flat) == array.size
    for key in (3, -1, slice(2, 9, 3), [0, 7, 7], np.arange(20) % 3 == 0):
        agree(x.flat[key], array.flat[key], f"flat[{key}]")
    agree(x.flat.copy(), array.flatten(), "copy")
    agree(np.asarray(x.flat), array.ravel(), "asarray")
    agree(list(x.T.flat), list(array.T.flat), "iteration")
    for y in (array.copy(), x.clone()):
        part, *rest = y.flat[2:5], *y.flat[::7]
        y.flat[2:5] = part + 1.0
        part[0] = 50.0
        assert y.flat[2] != 50.0 and rest[0] == y.flat[0], "a slice is a copy"
        columns = iter(y.T.flat)
        first = next(columns)
        y[...] = 3.0
        assert first != 3.0 and next(columns) == 3.0, "an iterator reads what stands there"
    for y in (array, x):
        y.flat[2:5] = -1.0
        y.flat[[0, 19]] = y.flat[[19, 0]]
    agree(x, array, "written")
    for y in (array, x):
        y.flat = 2.0
    agree(x, array, "all written")

    def loss(x):
        y = x * 2.0
        y.flat[1:3] = y.flat[0] * x.flat[5]
        return sum(v * v for v in y.flat)

    (direction,) = direction_like([OPERANDS["s"]], 3)
    change = float(np.sum(tg.grad(loss)(OPERANDS["s"]) * direction))
    along = slope(lambda h: float(loss(OPERANDS["s"] + h * direction)))
    assert change == pytest.approx(along, rel=1e-7)


THROUGH_NUMPY = {
    "accumulate of logaddexp": (lambda x: np.logaddexp.accumulate(x, axis=1), "x"),
    "accumulate of subtract": (lambda v: np.subtract.accumulate(v), "v"),
    "accumulate of hypot": (lambda x: np.hypot.accumulate(x), "x"),
    "ndenumerate": (lambda x: np.array([v * (i + 2 * j) for (i, j), v in np.ndenumerate(x)]), "x"),
    "reduceat": (lambda v: np.add.reduceat(v, [0, 2, 4]), "v"),
    "reduceat backwards": (lambda v: np.add.reduceat(v, [0, 4, 2, 3]), "v"),
    "reduceat of columns": (lambda x: np.multiply.reduceat(x, [1, 3], axis=1), "x"),
    "reduceat, largest": (lambda x: np.maximum.reduceat(x, np.array([0, 2])), "x"),
    "windows": (lambda v: np.lib.stride_tricks.sliding_window_view(v, 3), "v"),
    "windows, two": (lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3)), "x"),
    "windows, an axis": (lambda t: np.lib.stride_tricks.sliding_window_view(t, 2, axis=1), "t"),
    "windows, axes": (
        lambda t: np.lib.stride_tricks.sliding_window_view(t, (2, 3), axis=(2, 1)),
        "t",
    ),
    "compress": (lambda x: x.compress([True, False, True], axis=1), "x"),
    "view": (lambda x: x.view(), "x"),
}


@pytest.mark.parametrize("name", THROUGH_NUMPY)
def test_through_numpy_alone(name):
    """What tracegrad has under another name or as a method: values, compiled, gradients."""
    function, operand = THROUGH_NUMPY[name]
    x = OPERANDS[operand]
    expected = function(x)
    agree(function(tg.tensor(x)), expected, name)
    agree(tg.compile(lambda x: function(x))(x), expected, name)
    (weights,), (direction,) = direction_like([expected], 3), direction_like([x], 4)
    gradient = tg.grad(lambda x: np.sum(weights * function(x) ** 2))(x)
    along = slope(lambda h: float(np.sum(weights * function(x + h * direction) ** 2)))
    assert float(np.sum(gradient * direction)) == pytest.approx(along, rel=1e-7), name


def test_places_of_reduceat_are_checked():
    for places in ([0, 5], [-1]):
        with pytest.raises(IndexError, match="no places on 5 elements"):
            np.add.reduceat(tg.tensor(OPERANDS["v"]), places)


def test_items():
    array, x = OPERANDS["x"], tg.tensor(OPERANDS["x"])
    for index in ((3,), (-1,), (1, 2), ((1, 2),)):
        assert x.item(*index) == array.item(*index)
        assert type(x.item(*index)) is float
    assert tg.tensor(2.5).item() == 2.5
    with pytest.raises(tg.errors.ShapeError):
        x.item()


def test_attributes_of_memory():
    array = OPERANDS["t"]
    for x, y in ((tg.tensor(array), array), (tg.tensor(array, requires_grad=True), array)):
        assert (x.strides, x.nbytes, x.itemsize) == (y.strides, y.nbytes, y.itemsize)
        assert (x.T.strides, x[..., ::2].nbytes) == (y.T.strides, y[..., ::2].nbytes)
    assert tg.tensor(array).tobytes() == array.tobytes()
    assert tg.tensor(array).tobytes("F") == array.tobytes("F")


def test_the_bessel_function_has_the_derivative_of_scipys():
    pytest.importorskip("scipy")
    x = tg.tensor(OPERANDS["x"], requires_grad=True)
    np.sum(np.i0(x)).backward()
    from scipy import special

    assert_close(np.i0(x.detach()), np.i0(OPERANDS["x"]), 0.0)
    assert_close(x.grad, special.i1(OPERANDS["x"]), 1e-14)


OF_NUMBERS = {
    "abs": abs,
    "square": lambda r: r**2,
    "power": lambda r: r**3,
    "inverse": lambda r: r**-1,
    "root": lambda r: r**0.5,
    "exponential": lambda r: 2**r,
    "own power": lambda r: r**r,
    "arithmetic": lambda r: (-r + 1) * 2 / 3 - r // 2 + r % 2,
    "np.abs": np.abs,
    "np.add": lambda r: np.add(r, 1),
    "np.power": lambda r: np.power(r, 2),
    "np.sin": np.sin,
    "np.where": lambda r: np.where(r > 0, r, 1.0),
    "np.maximum": lambda r: np.maximum(r, 0.5),
    "np.sum": np.sum,
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_python_numbers_stay_numbers_through_operators_alone(name, backend):
    """Beside an array, what operators make of a number takes its dtype; functions make arrays."""
    if backend == "jax":
        pytest.importorskip("jax")
    function = OF_NUMBERS[name]
    for number in (0.75, 3):
        f = tg.compile(lambda x, r: function(r) * x, backend=backend)
        for dtype in ("float32", "float64", "int8"):
            x = np.arange(1, 4).astype(dtype)
            expected = function(number) * x
            found = np.asarray(f(x, number))
            assert found.dtype == expected.dtype, (number, dtype)
            assert_close(found, expected, 1e-6 if dtype == "float32" else 1e-14)


WITH_LISTS_BESIDE = {
    "sum": lambda x: x + [1, 2, 3],
    "list first": lambda x: [1.0, 2.0, 3.0] - x,
    "tuple": lambda x: x * (1.5, 2.0, 3.0),
    "tuple first": lambda x: (1, 2, 3) * x,
    "column": lambda x: x / [[1.0], [2.0], [4.0]],
    "matrix product": lambda x: x @ [1.0, 0.0, 2.0],
    "matrix product, list first": lambda x: [1.0, 0.0, 2.0] @ x,
    "power": lambda x: (x * x) ** [1, 2, 3],
    "base": lambda x: [1.0, 2.0, 3.0] ** x,
    "floor": lambda x: x // [1, 2, 3] + x % [1, 2, 3],
    "comparison": lambda x: x < [0.0, 0.1, 0.2],
    "equality": lambda x: x == [1.0, 2.0, 3.0],
    "inequality": lambda x: x != [1.0, 2.0, 3.0],
}


@pytest.mark.parametrize("name", WITH_LISTS_BESIDE)
def test_lists_beside_operators_are_arrays(name):
    """As for arrays: values, compiled, and the gradient along a direction."""
    function = WITH_LISTS_BESIDE[name]
    for dtype in ("float64", "float32"):
        x = OPERANDS["s"].astype(dtype)
        expected = function(x)
        agree(function(tg.tensor(x)), expected, name)
        agree(tg.compile(lambda x: function(x))(x), expected, name)
    if expected.dtype.kind == "f":
        x = OPERANDS["s"]
        (weights,), (direction,) = direction_like([function(x)], 3), direction_like([x], 4)
        gradient = tg.grad(lambda x: np.sum(weights * function(x)))(x)
        along = slope(lambda h: float(np.sum(weights * function(x + h * direction))))
        assert float(np.sum(gradient * direction)) == pytest.approx(along, rel=1e-6, abs=1e-8)


def test_lists_of_tensors_beside_operators_have_gradients():
    gradient = tg.grad(lambda v: tg.sum(v * [v[1], 2.0, v[0]]))
    assert gradient(np.array([1.0, 2.0, 3.0])).tolist() == [5.0, 3.0, 1.0]


def test_what_is_no_array_is_refused_beside_operators():
    x = tg.tensor(OPERANDS["u"])
    for other in ("a", None, {}, ["a"], [1, [2, 3]]):
        with pytest.raises(TypeError):
            x + other
        assert (x == other) is False
    with pytest.raises(ValueError, match="broadcast"):  # an empty list is an array of no elements
        x + []


def test_numpys_names_of_arguments():
    """Through NumPy every argument has the name that it has there."""
    x = tg.tensor(OPERANDS["x"])
    array = OPERANDS["x"]
    agree(np.sum(a=x, axis=1), np.sum(array, axis=1), "sum")
    agree(np.flip(m=x, axis=0), np.flip(array, axis=0), "flip")
    agree(np.array_split(ary=x, indices_or_sections=2), np.array_split(array, 2), "array_split")
    agree(np.median(a=x, axis=0, keepdims=True), np.median(array, 0, keepdims=True), "median")
    agree(np.array_equal(a1=x, a2=x), True, "array_equal")


def test_no_function_is_left_out():
    """Every function that both have is in a call, or is an op, which `test_ops` runs."""
    called = set(re.findall(r"np\.(\w+)", EXPRESSIONS + STATEMENTS))
    shared = {name for name in array_functions.__all__ if callable(getattr(np, name, None))}
    ops = {n for n in shared if getattr(array_functions, n) in RECORDS}
    functions = {n for n in shared - ops if not isinstance(getattr(array_functions, n), type)}
    assert functions - called == {"vectorize"}, "a class in NumPy: tested by itself"
    assert set(LISTED.split()) <= called | ops


@pytest.mark.parametrize("backend", ["numpy", "numba", "jax"])
@pytest.mark.parametrize(
    ("f", "good", "bad"),
    [
        (lambda x: x[np.unravel_index(np.argmax(x) + 2 * np.argmin(x), x.shape)], (3, 0), (1, 5)),
        (lambda x: x.ravel()[np.ravel_multi_index((np.argmax(x), 0), (2, 1))], (1, 0), (5, 0)),
        (lambda x: x.ravel()[np.ravel_multi_index((np.argmax(x) - 1, 0), (5, 1))], (5, 4), (0, 5)),
    ],
)
def test_places_that_are_not_there_raise(f, good, bad, backend):
    """In the first call of a program and in later ones, as NumPy raises."""
    if backend == "jax":
        pytest.importorskip("jax")

    def called(run, order):
        x = np.zeros((2, 3))
        x.ravel()[list(order)] = 3.0, -3.0
        return run(x)

    for orders in ((good, good), (good, bad), (bad, good)):
        g = tg.grad(lambda x: f(x) ** 2, backend=backend)
        for order in orders:
            if order is good:
                called(f, order)
                assert called(g, order).sum() != 0.0
            else:
                for run in (f, g):
                    with pytest.raises(ValueError, match=r"out of bounds|invalid entry"):
                        called(run, order)


@pytest.mark.parametrize("function", [np.place, np.putmask])
@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_masks_of_another_size_are_refused(function, backend, monkeypatch):
    """A mask has as many elements as what is written to, in any shape."""
    if backend == "jax":
        pytest.importorskip("jax")

    def f(x, mask):
        y = x * 1.0
        function(y, mask, [3.0, 4.0, 5.0])
        return np.sum(y * y)

    x = OPERANDS["x"]
    slope = tg.value_and_grad(f, backend=backend)
    masks = [x > 0.5, (x > 0.5).ravel(), (x > 0.5).T, x[0] > 0.5, np.ones(7, bool), x > 0.5]
    for mask in (*masks, [True], [1, 0, 1, 0, 0, 1]):
        fits = np.size(mask) == x.size
        for compile in (True, False):
            monkeypatch.setattr(tg.config, "compile", compile)
            if fits:
                np.testing.assert_allclose(slope(x, mask)[0], f(x, mask))
                continue
            for run in (lambda mask=mask: slope(x, mask), lambda mask=mask: f(tg.tensor(x), mask)):
                with pytest.raises(ValueError, match="mask and data must be the same size"):
                    run()


def test_how_many_are_not_zero_may_be_asked():
    """Of numbers too, where a shape depends on it."""

    def f(x, m):
        return np.sum(np.concatenate([x[np.nonzero(m)], np.zeros(len(np.argwhere(m)))])) * m.size

    places = [np.array([1, 0, 2]), np.array([0.5, 0.0, 0.0]), np.array([True, True, False])]
    for backend in ("numpy", "jax"):
        g = tg.compile(f, backend=backend)
        for m in (*places, *places):
            assert g(np.arange(3.0), m) == f(np.arange(3.0), m)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.concatenate([x**2, [np.sum(x)]]),
        lambda x: np.concatenate([(np.sum(x), 2.0), x]),
        lambda x: np.concatenate([x, [x[0]]], axis=None),
        lambda x: np.concatenate([[x[0]], [x[1], 2.0]]),
        lambda x: np.concatenate([[v * v for v in x], [np.sum(x)]]),
        lambda x: np.concatenate([x.reshape(1, 3), [x * x, [x[0], 1.0, np.sum(x)]]]),
        lambda x: np.stack([x, [x[0], x[1], np.sum(x)]]),
        lambda x: np.hstack([x, [np.sum(x)]]),
        lambda x: np.hstack(([np.sum(x), 1.0], x)),
        lambda x: np.vstack([[x[0], x[1], np.sum(x)], x]),
        lambda x: np.column_stack([x, [x[0], 1.0, np.sum(x)]]),
        lambda x: np.dstack([x, [x[0], 1.0, np.sum(x)]]),
        lambda x: np.append([x[0]], [np.sum(x), 3.0]),
        lambda x: np.r_[x, [np.sum(x)], 1.0],
        lambda x: np.c_[x, [x[0], x[1], np.sum(x)]],
        lambda x: np.block([[x, np.sum(x)]]),
    ],
)
def test_lists_of_numbers_are_joined_to_arrays(f, dtype):
    """What is joined may be a list of traced numbers: gradients flow to them."""
    x = np.array([0.5, 2.0, -1.5], dtype)
    compiled = tg.compile(f)
    for given in (x, 2 * x):
        assert_same_bits(compiled(given), f(given))
    gradient = tg.grad(lambda x: np.sum(np.sin(f(x))))
    steps = np.eye(3) * 1e-6
    wide = x.astype("float64")
    slopes = [(np.sin(f(wide + d)).sum() - np.sin(f(wide - d)).sum()) / 2e-6 for d in steps]
    np.testing.assert_allclose(gradient(x), slopes, rtol=1e-4, atol=1e-5)
    assert gradient.cache_info().versions == 1


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.zeros_like(x, "f4", "C"),
        lambda x: np.ones_like(x, None, "K", True, (4, 2)),
        lambda x: np.full_like(x, 2.0, None, "C"),
        lambda x: np.reshape(x, (3, 2), "F"),
        lambda x: np.take(x, [0, 5], 1, None, "clip"),
        lambda x: np.concatenate([x, x], 1, None),
        lambda x: np.clip(x, 0.0, 1.0, None),
        lambda x: np.sort(x, 0, None, None),
        lambda x: np.sum(x, 0, None, None, True),
    ],
)
def test_arguments_stand_where_numpy_has_them(f):
    x = np.array([[0.5, -2.0, 3.0], [1.5, 0.25, -1.0]])
    assert_same_bits(tg.compile(f)(x), f(x))
    assert_same_bits(f(tg.tensor(x)).numpy(), f(x))


@pytest.mark.parametrize("name", ["add", "divide", "power", "greater", "absolute", "sin", "isnan"])
@pytest.mark.parametrize("casting", ["same_kind", "safe", "unsafe"])
def test_a_ufunc_in_a_dtype_casts_as_numpy_does(name, casting):
    """It is what NumPy computes with, and what NumPy refuses is refused: nothing is cut off."""
    ufunc = getattr(np, name)

    def call(x, dtype):
        operands = (x,) if ufunc.nin == 1 else (x, x[::-1])
        return ufunc(*operands, dtype=dtype, casting=casting)

    for x in (
        np.array([1.5, 2.25]),
        np.array([1, 2]),
        np.array([1 + 2j, 3j]),
        np.array([True, False]),
    ):
        for dtype in ("f4", "f8", "i8", "?", "c16"):
            try:
                expected = call(x, dtype)
            except (TypeError, ValueError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                with pytest.raises(kind):
                    call(tg.tensor(x), dtype)
            else:
                assert_same_bits(call(tg.tensor(x), dtype).numpy(), expected)


def test_a_compiled_ufunc_does_not_lose_what_a_dtype_has_not():
    with pytest.raises(TypeError, match="Cannot cast ufunc 'multiply' input"):
        tg.compile(lambda z: np.multiply(z, z, dtype="f8"))(np.array([1 + 2j, 3j]))
