"""Float arithmetic enters fast math, the same mathematics in fewer operations leaves.

Values are compared with a reference in long double, within what rounding and inputs that are off by
one rounding explain (`Bounded`); texts with what the pass writes.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from checks import leaves
from programs import PROGRAMS
from test_programs import compiled, directions, gradient_of, times

import tracegrad as tg
from codegen.ir import Call, Graph, Trait, walk
from tests.benchmarks.peers.contestants import transformed
from tests.benchmarks.peers.workload import Case
from tests.benchmarks.peers.workloads import WORKLOADS
from tracegrad.execution import pipeline
from tracegrad.fast_math import PASSES, regroup


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Of the passes of fast math only this one, and no programs that others have made."""
    passes = tuple(step for step in PASSES if step.run is regroup)
    client = replace(pipeline.CLIENTS["numpy"], fast_math=passes)
    monkeypatch.setitem(pipeline.CLIENTS, "numpy", client)
    monkeypatch.setattr(pipeline, "_OPTIMIZED", {})
    monkeypatch.setattr(pipeline, "_PROGRAMS", {})


@pytest.fixture
def fast_math(monkeypatch):
    monkeypatch.setattr(tg.config, "fast_math", True)


def graph_of(function, *args) -> Graph:
    return function._version_for(args, {}).program.graph


def operations(graph: Graph) -> list[str]:
    """The names of elementwise operations on arrays."""
    return [
        node.op.name
        for node in walk(graph.nodes)
        if isinstance(node, Call)
        and Trait.ELEMENTWISE in node.op.traits
        and Trait.VIEW not in node.op.traits
        and node.results[0].type.shape
    ]


def statements(f, *args) -> str:
    """The statements of the program, without comments, in one line."""
    text = tg.compile(f).source(*args)
    body = text[text.index("def ") :].splitlines()[1:]
    kept = [line.strip() for line in body if line.strip() and not line.strip().startswith("#")]
    return re.sub(r"([(\[]) | ([)\]])", r"\1\2", " ; ".join(kept))


x, y, z, w = np.random.default_rng(0).uniform(0.5, 1.5, (4, 6))
row, column, matrix = x[:4], y[:3, None], np.random.default_rng(1).normal(size=(3, 4))


def doubled(d, v):
    d = 0.5 / v * d
    return d + d


def horner(x, y):
    return x * 3.0 * y + x


def cubic(z):
    return 0.75 * (z + 0.5 * (z * z * z))


def like_terms(x, y):
    return x * y + 2.0 * (y * x) - 4.0 * (x * y)


def cancelled(x, y, z):
    return x / (x / y) / z


def halves(x, y):
    return 0.5 * (x * 2.0 * y)


def gathered(x, y):
    return -(0.5 * x / y) * 3.0


def small_first(row, m):
    return row * m * 3.0


def sign_of_a_row(row, m):
    return -(row * m)


def three_shapes(row, column, m):
    return row * m * column * row / column


def over_a_number(x, y):
    return x / 3.0 + y / 4.0


def powers(x):
    return x**3 + x**2


def quotient_of_products(x, y, z):
    return x / (y * z) * 2.0


def kept_as_written(x, y, z):
    return (x - y) * z, x / y / z, (x + y) + z, x - x + y


TEXTS = [
    (doubled, (x, y), "value = d / v"),
    (horner, (x, y), "value = x * 3.0 * y + x"),
    (cubic, (x,), "value = z * (0.75 + 0.375 * z * z)"),
    (like_terms, (x, y), "value = -(x * y)"),
    (cancelled, (x, y, z), "value = y / z"),
    (halves, (x, y), "value = x * y"),
    (gathered, (x, y), "value = -1.5 * x / y"),
    (small_first, (row, matrix), "value = 3.0 * row * m"),
    (sign_of_a_row, (row, matrix), "value = -(row * m)"),
    (three_shapes, (row, column, matrix), "value = row * row * m"),
    (over_a_number, (x, y), "value = 0.3333333333333333 * (x + 0.75 * y)"),
    (powers, (x,), "value = x * x * (1.0 + x)"),
    (quotient_of_products, (x, y, z), "value = x / (y * z) * 2.0"),
]


@pytest.mark.parametrize(("f", "args", "expected"), TEXTS, ids=[case[0].__name__ for case in TEXTS])
def test_texts(fast_math, f, args, expected) -> None:
    assert statements(f, *args) == f"{expected} ; return value"
    np.testing.assert_allclose(tg.compile(f)(*args), f(*args), rtol=1e-14)


def test_what_gets_no_cheaper_stays(monkeypatch) -> None:
    exact = statements(kept_as_written, x, y, z)
    monkeypatch.setattr(tg.config, "fast_math", True)
    assert statements(kept_as_written, x, y, z) == exact


# -- the workloads --------------------------------------------------------------------------------

AT_MOST = {
    "chain": 29,  # of 31 as written
    "Black-Scholes": 68,  # of 86
    "Rosenbrock gradient": 11,  # of 12, with float32 13
    "Rosenbrock hvp": 11,  # of 14
    "N-body": 16,  # of 17
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "workload", [w for w in WORKLOADS if w.name in AT_MOST], ids=lambda w: w.name
)
def test_workloads_take_fewer_operations(monkeypatch, workload, dtype) -> None:
    case = Case(workload, next(iter(workload.sizes)), dtype)
    rtol = 1e-11 if dtype == "float64" else 1e-4
    counts, results = [], []
    for fast in (False, True):
        monkeypatch.setattr(tg.config, "fast_math", fast)
        function = transformed(case)
        results.append(leaves(function(*case.inputs())))
        counts.append(len(operations(graph_of(function, *case.inputs()))))
    assert counts[1] <= AT_MOST[workload.name] < counts[0]
    for exact, fast in zip(*results, strict=True):
        np.testing.assert_allclose(fast, exact, rtol=rtol, atol=0.01 * rtol * np.abs(exact).max())


# -- random programs ------------------------------------------------------------------------------


class Bounded:
    """A long double, and the error that rounding explains, in roundings of the dtype."""

    __array_ufunc__ = None

    def __init__(self, value, error=None) -> None:
        self.value = np.asarray(value, np.longdouble)
        self.error = abs(self.value) if error is None else error

    def __add__(self, other):
        other = bounded(other)
        value = self.value + other.value
        return Bounded(value, self.error + other.error + abs(value))

    def __neg__(self):
        return Bounded(-self.value, self.error)

    def __sub__(self, other):
        return self + -bounded(other)

    def __rsub__(self, other):
        return bounded(other) - self

    def __mul__(self, other):
        other = bounded(other)
        value = self.value * other.value
        error = self.error * abs(other.value) + other.error * abs(self.value)
        return Bounded(value, error + abs(value))

    def __truediv__(self, other):
        other = bounded(other)
        value = self.value / other.value
        error = (self.error + abs(value) * other.error) / abs(other.value)
        return Bounded(value, error + abs(value))

    def __rtruediv__(self, other):
        return bounded(other) / self

    def __pow__(self, exponent):
        return self if exponent == 1 else self * self ** (exponent - 1)

    def sqrt(self):
        value = np.sqrt(self.value)
        return Bounded(value, self.error / (2 * value) + value)

    def __getitem__(self, index):
        return Bounded(self.value[index], self.error[index])

    __radd__, __rmul__ = __add__, __mul__


def bounded(number):
    return number if isinstance(number, Bounded) else Bounded(number)


def root_of(x):
    return x.sqrt() if isinstance(x, Bounded) else np.sqrt(x)


STEPS = {
    "a + b": lambda a, b, c: a + b,
    "a - b": lambda a, b, c: a - b,
    "a * b": lambda a, b, c: a * b,
    "a / (b * b + 1)": lambda a, b, c: a / (b * b + 1.0),
    "a / c / (b * b + 2)": lambda a, b, c: a / c / (2.0 + b**2),
    "a + a": lambda a, b, c: a + a,
    "-a": lambda a, b, c: -a,
    "a**2": lambda a, b, c: a**2,
    "a**3": lambda a, b, c: a**3,
    "c * a": lambda a, b, c: c * a,
    "c - a": lambda a, b, c: c - a,
    "a / c": lambda a, b, c: a / c,
    "a * b + a * a": lambda a, b, c: a * b + a * a,
    "a / root / root": lambda a, b, c: a / root_of(b * b + 1.0) / root_of(b * b + 1.0),
    "a + a * b": lambda a, b, c: a + a * b,
    "a + c * a * b": lambda a, b, c: a + c * a * b,
    "(a * b * c)[None]": lambda a, b, c: (a * b * c)[None],
    "(b - a * a)[None] * c": lambda a, b, c: (b - a * a)[None] * c,
    "c / b": lambda a, b, c: c / (b * b + 0.5) * a,
}
SHAPES = [(), (5,), (4, 1), (1, 5), (4, 5), (4, 5), (4, 5), (0, 5)]
NUMBERS = [0.5, 2.0, -1.0, 3.0, 0.3, -0.7, 4.0]


def random_program(seed: int):
    """A program of such steps, each on late values, and its inputs; the last are returned."""
    random = np.random.default_rng(seed)
    shapes = [SHAPES[i] for i in random.integers(len(SHAPES) - (seed % 5 > 0), size=3)]
    if (0, 5) in shapes:
        shapes = [(1, 5) if shape == (4, 1) else shape for shape in shapes]
        shapes = [(0, 5) if shape == (4, 5) else shape for shape in shapes]
    kinds = list(STEPS)
    plan = [
        (
            STEPS[kinds[random.integers(len(kinds))]],
            random.integers(max(0, k - 2), k + 3),
            random.integers(0, k + 3),
            NUMBERS[random.integers(len(NUMBERS))],
        )
        for k in range(random.integers(3, 20))
    ]

    def program(*inputs):
        values = list(inputs)
        for step, i, j, number in plan:
            values.append(step(values[i], values[j], number))
        return tuple(values[-3:])

    return program, [random.normal(size=shape) for shape in shapes]


@pytest.mark.sampled(7)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("seed", [*range(80), 3140, 3227])
def test_random_programs_are_as_exact_as_rounding_allows(fast_math, seed, dtype) -> None:
    program, inputs = random_program(seed)
    arrays = [np.asarray(a).astype(dtype) for a in inputs]
    wanted = program(*map(Bounded, arrays))
    for found, expected, plain in zip(
        tg.compile(program)(*arrays), wanted, program(*arrays), strict=True
    ):
        assert np.shape(found) == np.shape(plain) and found.dtype == dtype
        allowed = np.finfo(dtype).eps * np.broadcast_to(expected.error, np.shape(found))
        assert np.all(abs(found - expected.value) <= allowed)


@pytest.mark.parametrize("seed", range(40))
def test_no_more_calls(monkeypatch, seed) -> None:
    """A cube counts as two: its one call takes longer than two products."""
    program, inputs = random_program(seed + 100)
    counts = []
    for fast in (False, True):
        monkeypatch.setattr(tg.config, "fast_math", fast)
        graph = graph_of(tg.compile(program), *inputs)
        cubes = sum(
            isinstance(node, Call) and dict(node.attributes).get("exponent", 2) > 2
            for node in walk(graph.nodes)
        )
        counts.append(len(operations(graph)) + cubes)
    assert counts[1] <= counts[0]


# -- what must not change -------------------------------------------------------------------------


def masked(x, y):
    safe = np.where(x > 0, x, 1.0)
    return np.sum(np.where(x > 0, 0.5 * np.log(safe) * y * 2.0, 0.0) / safe + y * 3.0 * x)


def piecewise(x, y):
    small = np.where(abs(x) < 1.0, x, 0.0)
    return np.sum(small * y * 0.5 + small * small * y)


def unsafe_root(x, y):
    return np.sum(np.where(x > 0, 2.0 * np.sqrt(abs(x)) * y * 0.5, 0.0) * 3.0)


@pytest.mark.parametrize("f", [masked, piecewise, unsafe_root])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_masked_stays_zero(monkeypatch, f, dtype) -> None:
    """Zeros and infinities where a mask hides them leave exact zeros, as in exact mode."""
    x = np.array([0.0, -0.0, -3.0, 2.0, 0.5, np.inf, -np.inf, 1e-30], dtype)
    y = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 1.0, 2.0, 0.0], dtype)
    results = []
    for fast in (False, True):
        monkeypatch.setattr(tg.config, "fast_math", fast)
        with np.errstate(all="ignore"):
            results.append(leaves(tg.value_and_grad(f, argnums=(0, 1))(x, y)))
    for exact, fast in zip(*results, strict=True):
        assert not np.any(np.isnan(fast) & ~np.isnan(exact))
        assert not np.any((fast != 0) & (exact == 0))
        finite = np.isfinite(exact)
        rtol = 1e-6 if dtype == "float32" else 1e-14
        np.testing.assert_allclose(np.where(finite, fast, 0), np.where(finite, exact, 0), rtol=rtol)


def test_dtypes_and_shapes_stay(fast_math) -> None:
    """What cancels does not take the shape of the result with it; integers are left alone."""

    def f(x, row, n):
        return (x + row) - x, row * x / x, 2 * n * 3 - n, x * n * 2.0 * 0.5, 2.0 * x - x - x

    x, row, n = np.ones((3, 4), np.float32), np.ones(4, np.float32), np.arange(4)
    for found, expected in zip(tg.compile(f)(x, row, n), f(x, row, n), strict=True):
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)


def test_a_number_of_elements_is_no_divisor_of_numbers(fast_math) -> None:
    """In programs it is Python's int, whose quotient by 0 would be an error."""
    f = tg.value_and_grad(lambda x: 0.5 * (np.mean(x * x) * 2.0) / 4.0)
    f(np.ones(3))
    with np.errstate(invalid="ignore", divide="ignore"):
        value, slope = f(np.ones(0))
    assert np.isnan(value) and slope.shape == (0,)


@pytest.mark.sampled(10, 1)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_derivatives_are_those_of_exact_mode(monkeypatch, program) -> None:
    """Of second order too, for the programs that differences confirm there."""
    results = []
    for fast in (False, True):
        monkeypatch.setattr(tg.config, "fast_math", fast)
        found = leaves(compiled(program)(*program.args))
        if program.order > 1:
            v = directions(program, program.args, 3)
            found += leaves(times(gradient_of(program), v, program)(*program.args))
        results.append([np.asarray(each) for each in found])
    for exact, fast in zip(*results, strict=True):
        assert fast.dtype == exact.dtype and fast.shape == exact.shape
        if exact.dtype.kind in "fc":
            rtol = 1e-5 if exact.dtype == "float32" else 1e-10
            np.testing.assert_allclose(
                fast, exact, rtol=rtol, atol=rtol * np.abs(exact).max(initial=0.0)
            )


# -- the work of compiling ------------------------------------------------------------------------


def turns(n):
    def loop(x):
        for _ in list(range(n)):
            x = 0.3 * x * (1.0 - x) + 0.1 * x
        return np.sum(x)

    return loop


def added(n):
    def loop(x):
        total = 0.0
        for k in list(range(n)):
            total = total + 0.1 * k * x * x
        return np.sum(total)

    return loop


@pytest.mark.parametrize("loop", [turns, added])
def test_the_work_is_linear_in_the_program(monkeypatch, loop) -> None:
    """Twice the turns, twice the numbers that are looked at."""
    module, looked_at = sys.modules[regroup.__module__], []
    safe = module.safe
    monkeypatch.setattr(module, "safe", lambda number: looked_at.append(number) or safe(number))
    counts = []
    for n in (20, 40):
        graph = graph_of(tg.grad(loop(n)), x)
        looked_at.clear()
        regroup(graph)
        counts.append(len(looked_at) / n)
    assert 0 < counts[1] < 1.3 * counts[0]


def test_long_loops(fast_math) -> None:
    np.testing.assert_allclose(
        tg.grad(turns(150))(0.1 * x), tg.grad(turns(150))(tg.tensor(0.1 * x)).numpy(), rtol=1e-9
    )


@pytest.mark.parametrize("guard", [1e-6, 1e-12, 1e-16])
def test_a_small_number_that_guards_from_zero_is_no_part_of_another(guard, monkeypatch):
    def f(p):
        return np.sum(np.log(1.0 - p + guard) + 1.0 / ((1.0 - p) * 2.0 + guard))

    p = np.array([1.0, 0.3, 1.0 - 1e-9])
    expected = tg.value_and_grad(f)(p)
    monkeypatch.setattr(tg.config, "fast_math", True)
    found = tg.value_and_grad(f)(p)
    for one, other in zip(found, expected, strict=True):
        assert np.isfinite(one).all()
        np.testing.assert_allclose(one, other, 1e-10)
