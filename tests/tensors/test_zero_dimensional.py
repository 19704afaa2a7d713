"""Arrays without axes are memory, NumPy scalars are numbers: which of the two a value is, always.

Programs that write to such arrays (`zero_dimensional_programs`) give what plain Python gives, types
included, and leave behind what it leaves. What NumPy's functions, methods and operators give is of
the type that NumPy's own results have, for Python floats, NumPy scalars and 0-d arrays.
"""

from __future__ import annotations

import copy
import operator
import warnings
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest
import zero_dimensional_programs as programs
from checks import wide_jax

import tracegrad as tg
from tracegrad import config
from tracegrad.values.pytree import flatten

X = (1.0, 2.0, 3.0)


def described(values):
    """Types, dtypes and numbers."""
    return [
        (type(v).__name__ if np.ndim(v) == 0 else "", np.asarray(v).dtype.name,
         np.round(np.asarray(v), 9).tolist())
        for v in flatten(values)[0]
    ]  # fmt: skip


def arguments(program, call=0):
    """Fresh arguments of a program: other numbers in each call."""
    x = np.array(X) + 0.25 * call
    if program in programs.OF_ARRAY:
        return (np.array(2.0 + call),)
    return (np.array(2.0), x) if program in programs.OF_BOTH else (x,)


def made(program):
    """The function anew, and what it finds outside."""
    outside = SimpleNamespace(s=np.array(0.5))
    function = program(outside) if program in programs.OF_OUTSIDE else program
    return function, outside


EVERY = [*programs.OF_VECTOR, *programs.OF_ARRAY, *programs.OF_BOTH, *programs.OF_OUTSIDE]
every = pytest.mark.parametrize("program", EVERY, ids=lambda program: program.__name__)


def check_own_memory(returned, given):
    """What is returned shares memory with nothing else that the caller has."""
    results = flatten(returned)[0]
    for a, b in [*combinations(results, 2), *product(results, given)]:
        assert not np.shares_memory(a, b)


def check_calls(program, transform, calls=3):
    (plain, before), (function, after) = made(program), made(program)
    ours = transform(function)
    for call in range(calls):
        expected, given = arguments(program, call), arguments(program, call)
        wanted = plain(*expected)
        found = ours(*given)
        assert described(found) == described(wanted), call
        check_own_memory(found, given)
        assert described(given) == described(expected), call
        assert described(vars(after)) == described(vars(before)), call


@every
def test_calls_give_and_leave_what_plain_python_does(program):
    check_calls(program, tg.compile)


@every
def test_eager_calls_do(program, monkeypatch):
    monkeypatch.setattr(config, "versions", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_calls(program, tg.compile, calls=1)


@pytest.mark.parametrize("program", EVERY[::4], ids=lambda program: program.__name__)
def test_calls_by_jax_do(program):
    pytest.importorskip("jax")
    with wide_jax():
        check_calls(program, lambda f: tg.compile(f, backend="jax"), calls=2)


@pytest.mark.parametrize(
    "program", [p for p in EVERY if p not in programs.OF_OUTSIDE][::3], ids=lambda p: p.__name__
)
def test_exported_files_do(program, tmp_path):
    path = tmp_path / "exported.py"
    tg.compile(program).export(path, *arguments(program))
    space = {"__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), space)
    check_calls(program, lambda _: space[program.__name__], calls=2)


# -- gradients ----------------------------------------------------------------------------------


def total(returned):
    return sum(np.sum(v) for v in flatten(returned)[0] if v.dtype.kind == "f")


def slope(program, call, state):
    """The derivative in the vector, by central differences, with what was outside before."""
    found = np.zeros(3)
    for i in range(3):
        ends = []
        for step in (1e-6, -1e-6):
            given = arguments(program, call)
            given[-1][i] += step
            function, outside = made(program)
            vars(outside).update(copy.deepcopy(state))
            ends.append(total(function(*given)))
        found[i] = (ends[0] - ends[1]) / 2e-6
    return found


OF_X = [p for p in EVERY if p not in programs.OF_ARRAY]


def check_gradients(program, differentiate, calls):
    function, outside = made(program)
    ours = differentiate(lambda *given: total(function(*given)))
    for call in range(calls):
        wanted = slope(program, call, dict(vars(outside)))
        np.testing.assert_allclose(ours(*arguments(program, call)), wanted, atol=1e-6)


@pytest.mark.parametrize("program", OF_X, ids=lambda program: program.__name__)
def test_gradients_are_slopes(program):
    check_gradients(program, lambda f: tg.grad(f, -1), 2)


@pytest.mark.parametrize(
    "program", [p for p in OF_X if p not in programs.OF_OUTSIDE], ids=lambda p: p.__name__
)
def test_eager_gradients_are(program, monkeypatch):
    monkeypatch.setattr(config, "compile", False)
    check_gradients(program, lambda f: tg.grad(f, -1), 1)


# -- types --------------------------------------------------------------------------------------

EXPRESSIONS = """
np.copy(a); np.array(a); np.asarray(a); np.zeros_like(a); np.ones_like(a); np.full_like(a, 2.0);
np.where(a > 0, a, 0.0); np.where(True, a, 1.0); np.tensordot(a, a, 0); np.tensordot(x, x, 1);
np.einsum('i,i->', x, x); np.einsum('i->', x); np.einsum('->', a); np.einsum(',->', a, a);
np.einsum('i,i,i->', x, x, x); np.reshape(a, ()); np.squeeze(a); np.squeeze(x[:1]);
np.transpose(a); np.broadcast_to(a, ()); np.real(a); np.imag(a); np.real_if_close(a);
np.nan_to_num(a); np.clip(a, 0, 1); np.take(x, 0); np.take(x, np.array(0)); np.round(a);
np.select([a > 0], [a]); np.around(a, 1); np.fix(a); np.sinc(a); np.i0(a); np.angle(a);
np.conj(a); np.isclose(a, a); np.interp(a, x, x); np.median(x); np.quantile(x, 0.5);
np.ptp(x); np.average(x); np.mean(x); np.mean(a); np.sum(a); np.max(a); np.std(a); np.var(x);
np.prod(a); np.all(a > 0); np.any(x > 0); np.argmax(x); np.argmax(a); np.count_nonzero(x);
np.trace(np.eye(2) * a); np.dot(x, x); np.dot(a, a); np.vdot(x, x); np.inner(x, x);
np.inner(a, a); np.matmul(x, x); np.cov(x); np.corrcoef(x); np.linalg.norm(x);
np.linalg.det(np.eye(2) * a); np.linalg.slogdet(np.eye(2) * a)[1]; np.searchsorted(x, a);
np.digitize(a, x); np.polyval(x, a); np.trapezoid(x); np.nansum(x); np.nanmean(x);
np.logaddexp(a, a); np.heaviside(a, 1.0); np.floor(a); np.isnan(a); np.signbit(a);
np.power(a, 2); np.add(a, a); np.subtract(a, 1); np.multiply(a, 2.0); np.divide(a, 3);
np.negative(a); np.hypot(a, a); np.greater(a, 0); np.maximum(a, 0); np.sqrt(a); np.exp(a);
np.positive(a); np.absolute(a); np.square(a); np.modf(a)[0]; np.divmod(a, 1.0)[0];
np.logical_not(a); np.float_power(a, 2); np.flip(a, ()); np.roll(a, 1);
np.moveaxis(a, (), ()); np.isin(a, x); np.full((), a); np.add.reduce(x);
np.multiply.outer(a, a); np.arctan2(a, 1); np.minimum(a, z); np.float64(a); np.float32(a);
np.int64(a); np.max([a, 2.0]); np.array(a).reshape(()); np.asarray(a)[()]; np.asarray(a)[...];
a + 1; 1 + a; a * 2; 2.0 ** a; a ** 2; a ** 2.0; -a; abs(a); +a; a > 0; a == a; a // 2; a % 2;
divmod(a, 2)[0]; a + x[0]; a + z; z + a; z * 2; z ** 2; (a > 0) ** 2; (z > 0) ** 2;
(x[0] > 0) ** 2; np.bool_(True) ** 2; (x > 0) ** 2; a.real; a.imag; a.conjugate(); x[0];
x[0, ...]; z[()]; z[...]; x[np.array(0)]; x[1:2].reshape(()); x[:1].squeeze(); x.sum();
x.max(); x @ x; x.dot(x); x.std(); x.argmax(); x.take(0); x.any(); z.copy(); z.astype(float);
z.T; z.reshape(()); z.squeeze(); z.transpose(); z.real; z.imag; z.conj(); z.clip(0, 1);
z.round(1); z.sum(); z.mean(); z.all(); z.dot(z); z.argmax(); z.view(); g.copy(); g.astype(int);
g.reshape(()); g.squeeze(); g.T; g.real; g.imag; g.conj(); g.clip(0, 1); g.round(1); g.sum();
g[()]; g[...]; g.view(); copy.copy(g); copy.deepcopy(g); copy.copy(z); copy.deepcopy(z)
"""
TEXTS = [text.strip() for text in EXPRESSIONS.replace("\n", " ").split(";")]
KINDS = {"float": lambda: 1.5, "float64": lambda: np.float64(1.5), "array": lambda: np.array(1.5)}


@pytest.mark.sampled(5)  # each text, once or twice
@pytest.mark.parametrize("way", ["compiled", "eager"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", TEXTS)
def test_results_are_of_numpys_types(text, kind, way, monkeypatch):
    if way == "eager":
        monkeypatch.setattr(config, "versions", 0)
    space = {"np": np, "copy": copy}
    exec(f"def f(a, x, z, g):\n    return {text}\n", space)
    given = lambda: (KINDS[kind](), np.array(X), np.array(1.5), np.float64(1.5))
    expected, ours = space["f"](*given()), tg.compile(space["f"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            found = ours(*given())
            assert type(found) is type(expected)
            assert np.asarray(found).dtype == np.asarray(expected).dtype
            np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("text", TEXTS[::9])
def test_results_by_jax_are(text):
    pytest.importorskip("jax")
    space = {"np": np, "copy": copy}
    exec(f"def f(a, x, z, g):\n    return {text}\n", space)
    given = lambda: (np.array(1.5), np.array(X), np.array(1.5), np.float64(1.5))
    with wide_jax():
        found = tg.compile(space["f"], backend="jax")(*given())
    assert type(found) is type(space["f"](*given()))


def test_a_result_can_be_a_key():
    found = tg.compile(lambda a: np.power(a, 2))(1.5)
    assert {found: 1}[2.25] == 1 and isinstance(found, float)


@pytest.mark.parametrize("shape", [(1,), (1, 1)])
@pytest.mark.parametrize("name", ["t", "(t, 0)", "(0, t)", "(slice(None), t)", "(..., t)"])
def test_one_element_keeps_its_axes_as_an_index(name, shape):
    """NumPy takes what has ``__index__`` for an int: one element that has axes has none."""
    plain = np.arange(6.0).reshape(2, 3)
    places = np.ones(shape, int)
    expected = plain[eval(name, {"t": places})]
    found = plain[eval(name, {"t": tg.tensor(places)})]
    assert np.array_equal(found, expected) and found.shape == expected.shape
    written, by_array = plain.copy(), plain.copy()
    written[eval(name, {"t": tg.tensor(places)})] = 9.0
    by_array[eval(name, {"t": places})] = 9.0
    assert np.array_equal(written, by_array)


@pytest.mark.parametrize("use", [range, lambda t: [1, 2][t], lambda t: "ab"[:t], operator.index])
def test_one_element_that_has_axes_is_no_int(use):
    for places in (np.array([1]), tg.tensor([1])):
        with pytest.raises(TypeError, match="only integer scalar arrays can be converted"):
            use(places)
    use(tg.tensor(1))


@pytest.mark.parametrize("compiles", [True, False], ids=["compiled", "eager"])
def test_a_batch_of_one_row_is_drawn(compiles, monkeypatch):
    def f(x, n):
        return x[tg.random.Generator(0).permutation(2)[:n]].sum(axis=0)

    monkeypatch.setattr(tg.config, "compile", compiles)
    x = np.arange(6.0).reshape(2, 3)
    compiled = tg.compile(f)
    for n in (1, 2, 1):
        assert compiled(x, n).shape == f(x, n).shape == (3,)
