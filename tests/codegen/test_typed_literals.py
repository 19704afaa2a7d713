"""Literals beside arrays are arrays when a program runs: same bits, same columns, text to read."""

import ast
import linecache

import numpy as np
import pytest
from scipy import special

import tracegrad as tg
from codegen import emit, optimize
from codegen.emit.typed_literals import FIRST, LAST
from tests import toy
from tracegrad.execution.pipeline import names_in


def source_of(function, *args):
    """The source of the version for these arguments."""
    function(*args)
    return function._version_for(args, {}).program.source


def loss(x, y):
    return np.sum(np.where(x > 0.5, 1.0 - x * y * 0.3, -2.0) / (np.abs(y) + 1))


def literals(text):
    return [n.value for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_literals_beside_arrays_are_arrays_of_their_dtype(dtype):
    x, y = np.random.default_rng(0).normal(size=(2, 6)).astype(dtype)
    source = source_of(tg.value_and_grad(loss), x, y)
    numbers = {number for number, _ in source.constants.values()}
    assert {0.5, 0.3, 1.0, -2.0} <= numbers
    assert {d for _, d in source.constants.values()} == {dtype}
    assert all(names_in(source)[name].dtype == dtype for name in source.constants)


def test_the_text_to_read_has_the_literals_in_the_same_columns():
    x = np.ones(3)
    source = source_of(tg.value_and_grad(loss), x, x)
    assert not any(FIRST <= ord(c) <= LAST for c in source.text)
    assert {0.5, 0.3, 1.0, 2.0} <= set(literals(source.text))
    shown, run = source.text.splitlines(), source.loaded.splitlines()
    assert [len(line) for line in shown] == [len(line) for line in run]
    assert any(a != b for a, b in zip(shown, run, strict=True))
    for name, (number, _) in source.constants.items():
        line = next(i for i, text in enumerate(run) if name in text)
        at = run[line].index(name)
        assert ast.literal_eval(shown[line][at : at + len(name)]) == number


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(0,), (1,), (5,), (2, 3), (9000,)])
def test_bits_are_those_of_the_text(dtype, shape):
    random = np.random.default_rng(1)
    x, y = (random.normal(size=shape).astype(dtype) for _ in range(2))
    f = tg.value_and_grad(loss, argnums=(0, 1))
    value, gradients = f(x, y)
    scope = {}
    exec(f.source(x, y), scope)
    if x.size < 8192:
        read, read_gradients = scope["loss_value_and_grad"](x, y)
        assert value.dtype == read.dtype and value.tobytes() == read.tobytes()
        for a, b in zip(gradients, read_gradients, strict=True):
            assert a.dtype == b.dtype == dtype and a.tobytes() == b.tobytes()
    t, u = tg.tensor(x, requires_grad=True), tg.tensor(y, requires_grad=True)
    loss(t, u).backward()
    assert t.grad.numpy().tobytes() == gradients[0].tobytes()


def test_numbers_beside_numbers_stay_numbers():
    """An array without axes beside a NumPy scalar would only be slower."""
    x = np.ones(4)
    source = source_of(tg.compile(lambda x: np.sum(x) * 0.7 + 0.1), x)
    assert not source.constants and not source.loaded


def test_weak_numbers_stay_weak():
    """float32 beside 0.1 is float32; integers beside it are not looked at as floats before."""
    assert tg.compile(lambda x: x * 0.1)(np.ones(2, "float32")).dtype == "float32"
    assert tg.compile(lambda i: i * 0.1)(np.arange(3)).dtype == "float64"
    assert tg.compile(lambda i: i + 2)(np.arange(3, dtype="int8")).dtype == "int8"


def test_what_a_dtype_cannot_hold_stays_a_number():
    """NumPy warns of it on each call; an array would hide that."""
    source = source_of(tg.compile(lambda x: x * 1e39), np.zeros(2, "float64"))
    assert source.constants
    with pytest.warns(RuntimeWarning, match="overflow"):
        source = source_of(tg.compile(lambda x: x * 1e39), np.ones(2, "float32"))
    assert not source.constants


def test_infinities_are_constants():
    source = source_of(tg.compile(lambda x: np.maximum(x, -np.inf) + np.nan), np.ones(3))
    assert {repr(number) for number, _ in source.constants.values()} == {"-inf", "nan"}
    assert "-np.inf" in source.text and "np.nan" in source.text


def test_powers_are_left_to_pythons_operator():
    source = source_of(tg.compile(lambda x: x**2.5), np.ones(3))
    assert not source.constants


def test_tracebacks_and_debuggers_show_the_literals():
    def careless(x):
        return 0.25 * x

    f = tg.compile(careless)
    f(np.ones(3))
    run = f._version_for((np.ones(3),), {}).program.run
    file = run.__code__.co_filename
    assert "0.25 * x" in "".join(linecache.getlines(file))


def test_jax_source_has_literals_alone():
    graph = toy.graph(
        """
        graph f(x: float64[n0]) {
          %c = constant(0.5)
          %y = mul(%x, %c)
          return %y
        }
        """
    )
    graph = optimize(graph, toy.CLIENT)
    assert emit(graph, "numpy").constants
    assert not emit(graph, "jax").constants


def test_more_numbers_than_letters():
    """The rest stay literals."""

    def long_sum(x):
        total = 0.0 * x
        for i in list(range(LAST - FIRST + 20)):
            total = total + (i + 0.25) * x
        return total

    x = np.array([1.0, -2.0])
    source = source_of(tg.compile(long_sum), x)
    assert len(source.constants) == LAST - FIRST + 1
    assert np.array_equal(tg.compile(long_sum)(x), long_sum(x))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.ldexp(x, 3),  # which takes no float there
        lambda x: special.xlogy(1.5, x),  # to which a literal is a float64
        lambda x: special.gammainc(2, x) + np.float32(1.0),
    ],
)
def test_literals_stay_where_an_array_would_give_another_dtype(f):
    x = np.array([0.5, 2.0], np.float32)
    made = tg.compile(f)
    for _ in range(2):
        assert made(x).dtype == f(x).dtype
        assert made(x).tolist() == f(x).tolist()
