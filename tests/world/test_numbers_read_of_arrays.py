"""``int(x)``, ``float(x)``, ``x.item()`` are operations: no call is compiled for their number."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from checks import assert_same_bits, function_of, wide_jax

import tracegrad as tg
from tracegrad.errors import LostGradientError

pytestmark = pytest.mark.usefixtures("fresh_loops")

HEAD = "import math\n\nimport numpy as np\n\nlevels = [10.0, 20.0, 30.0, 40.0]\n\n\n"

WITH_AN_INT = """
x[k] | x[-k] | x[[k, 0]] | np.roll(x, k) | np.full(2, k) | np.array([k, 1]) | np.array([k, 1.5])
np.eye(3)[k % 3] | np.zeros((2, 3))[:, k % 3] | k == 2 | k != 2 | k < 1 | not k | k // 2 | k % 2
k**2 | -k | +k | k / 2 | divmod(k, 2) | 2**k | k << 1 | k >> 1 | k & 1 | k | 4 | k ^ 1 | ~k
abs(k) | round(k) | isinstance(k, int) | type(k) | math.sqrt(k) | max(k, 1) | min(k, 1, 2)
sum([k, k]) | pow(k, 2) | float(k) | complex(k) | bool(k) | int(k) | k * 1.5 | k + x[0] | x * k
np.int64(k) | np.float32(k) | 7 // (k + 1) | 7 % (k + 1) | 1 if k else 2 | k.real | k is None
k and 1 | k or 5 | all([k, 1]) | (k, k + 1) | [k, k].count(1) | sorted([3, k, 1]) | k * True
np.where(x > k, x, 0) | np.clip(x, 0, k) | np.maximum(k, 1) | x.take(k) | np.ldexp(1.0, k)
k * 10**20 | (k + 3) ** 30 | -k // 2 | -k % 3 | 3 * k + 1 | (k + 1) * (k + 2) // 2 | k**0.5
levels[k % 4] | levels[k:] | x[:k] | x[k:] | np.zeros(k + 1) | list(range(k)) | [0] * k
{k: 1} | {"a": k} | f"{k}" | str(k) | k in (1, 2) | k in {1, 2} | hash(k) | k.bit_length()
np.tile(x, k) | np.repeat(x, k) | np.linspace(0, 1, k + 2) | np.pad(x, k) | np.arange(k)
"""
WITH_A_FLOAT = """
v | v + 1 | 1 - v | v * 2 | v / 2 | 1 / v | v // 1 | v % 0.3 | v**2 | v**0.5 | 2.0**v | v > 0.5
bool(v) | not v | round(v, 2) | round(v) | int(v * 10) | math.floor(v * 3) | math.ceil(v)
math.trunc(v * 3) | max(v, 0.5) | max([v, 0.2]) | abs(v) | -v | math.log(v)
math.isnan(v) | math.isfinite(v) | math.isinf(v) | math.copysign(1.0, v) | math.hypot(v, v)
np.float32(v) | v * np.float32(2) | x.astype(np.float32) * v | isinstance(v, float) | type(v)
[v, v] | (v, {"a": v}) | np.array([v, 1.0]) | np.array(v) | np.full(3, v) | sum([v, v]) | x**v
complex(v) | divmod(v, 0.3) | np.sqrt(v) | np.where(x > v, x, v) | np.clip(x, 0, v) | x.sum() * v
np.arange(3) * v | float(v) | 0.2 < v < 0.8 | np.interp(v, [0, 1], [1, 3]) | np.outer(v, x)
v if v > 0.5 else -v | sorted([0.5, v]) | np.mean([v, 1.0]) | v * 1j | np.dot(v, x) | int(v) + v
str(v) | f"{v:.3f}" | v.hex() | v.is_integer() | hash(v) | {"a": v} | v in (0.5, 1.0) | repr(v)
"""
READ = {
    "int": "k = int(x.argmax())",
    "int_of_a_float": "k = int(x[0] * 30)",
    "int_of_a_bool": "k = int(x[0] > x[1]) + int(np.sum(x > 0.5))",
    "item_of_an_int": "k = x.argmax().item()",
    "floor": "k = math.floor(x[1] * 30)",
    "round": "k = round(x[1] * 30)",
    "float": "v = float(x[1])",
    "item": "v = x[1].item()",
    "float_of_a_sum": "v = float(np.sum(x))",
    "float_of_an_int": "v = float(x.argmax() + 1)",
    "float_of_float32": "v = float(x.astype(np.float32)[1])",
}
LOOK = frozenset({
    *("levels[k:]", "x[:k]", "x[k:]", "np.zeros(k + 1)", "np.arange(k)", "[0] * k"),
    *("list(range(k))", "{k: 1}", 'f"{k}"', "str(k)", "k in {1, 2}", "hash(k)", "k.bit_length()"),
    *("np.tile(x, k)", "np.repeat(x, k)", "np.linspace(0, 1, k + 2)", "np.pad(x, k)"),
    *("complex(v)", "str(v)", 'f"{v:.3f}"', "v.hex()", "v.is_integer()"),
    *("hash(v)", "repr(v)", "complex(k)", "2**k", "x[[k, 0]]", "np.roll(x, k)"),
})  # fmt: skip
"""What decides by the number, or shows it: a version for each."""


def expressions(text: str) -> list[str]:
    return [part.strip() for line in text.strip().splitlines() for part in line.split(" | ")]


CASES = [
    (name, expression)
    for name, line in READ.items()
    for expression in expressions(WITH_AN_INT if line.startswith("k") else WITH_A_FLOAT)
]


def shown(x):
    """A result with the types in it: 1, 1.0, True and np.float64(1.0) are not one."""
    return repr(x)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "expression"), CASES)
def test_what_is_made_of_a_number_is_what_python_makes(name, expression):
    source = f"{HEAD}def f(x):\n    {READ[name]}\n    return {expression}\n"
    f, compiled = function_of(source, "f"), tg.compile(function_of(source, "f"))
    rng = np.random.default_rng(3)
    for _ in range(8):
        x = rng.random(40)
        assert shown(compiled(x)) == shown(f(x))
    assert compiled.cache_info().hits >= 4 or expression in LOOK


PROGRAMS = {
    "counts": """
def f(x):
    n = 0
    for v in x:
        n += int(v > 0.5)
    return x * n, n
""",
    "follows": """
def f(x):
    order = np.argsort(x)
    k = 0
    for _ in range(len(x)):
        k = int(order[k])
    return k, x[k]
""",
    "adds_up": """
def f(x):
    total = 0.0
    for v in x:
        total += float(v) * 0.5
    return total, total / len(x), type(total)
""",
    "keeps": """
kept = {"best": 2.0, "where": 0, "sums": []}


def f(x):
    loss = float(np.sum(x)) / len(x)
    kept["best"] = min(kept["best"], loss)
    kept["sums"].append(loss)
    kept["where"] = int(np.argmin(x))
    return x * loss
""",
    "back": """
def f(x):
    scores = np.zeros(3)
    steps = []
    for v in x:
        table = scores[:, None] + np.array([[0.1, v, 0.3], [v, 0.2, 0.5], [0.4, 0.1, v]])
        steps.append(np.argmax(table, axis=0))
        scores = np.max(table, axis=0)
    state = int(np.argmax(scores))
    for step in reversed(steps):
        state = int(step[state])
    return state, scores
""",
    "accepts": """
def f(x):
    at, n = float(x[0]), 0
    for v in x:
        if float(v) < 0.7:
            at, n = float(v) - at, n + 1
    return at, n
""",
    "one_of": """
def f(x):
    i, j = int(np.argmax(x)), np.argmin(x).item()
    if i < j:
        i, j = j, i
    y = x.copy()
    y[i] += float(y[j])
    y[[0, -1]] = i, j
    return y, i - j
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_numbers_are_compiled_once(name):
    source = HEAD + PROGRAMS[name]
    f, compiled = function_of(source, "f"), tg.compile(function_of(source, "f"))
    rng = np.random.default_rng(5)
    for size in (20, 20, 21, 20, 23, 20, 22, 1, 20):
        x = rng.random(size)
        assert shown(compiled(x)) == shown(f(x))
    assert compiled.cache_info().versions <= 3
    assert compiled.cache_info().hits >= 4


@pytest.mark.parametrize("backend", ["jax", "numba"])
@pytest.mark.parametrize("name", ["counts", "follows", "adds_up", "one_of"])
def test_other_targets(name, backend):
    pytest.importorskip(backend)
    source = HEAD + PROGRAMS[name].replace(", type(total)", "")
    f, compiled = function_of(source, "f"), tg.compile(function_of(source, "f"), backend=backend)
    rng = np.random.default_rng(5)
    for size in (20, 20, 21):
        x = rng.random(size)
        for ours, own in zip(compiled(x), f(x), strict=True):
            assert type(ours) is type(own) or isinstance(own, np.generic | np.ndarray)
            np.testing.assert_allclose(ours, own, rtol=1e-12)


def test_what_int_raises():
    def f(x):
        return x * int(x[0] * 3.0)

    compiled = tg.compile(f)
    assert_same_bits(compiled(np.array([0.5, 2.0])), f(np.array([0.5, 2.0])))
    for bad, error in ((np.nan, ValueError), (np.inf, OverflowError)):
        with pytest.raises(error, match="cannot convert float"):
            compiled(np.array([bad, 2.0]))
    assert_same_bits(compiled(np.array([1.5, 2.0])), f(np.array([1.5, 2.0])))


def caught(x):
    try:
        k = int(x[0] * 3.0)
    except ValueError:
        k = -1
    except OverflowError:
        k = -2
    return x.sum() * k


@pytest.mark.parametrize("given", [np.array, lambda x: tg.tensor(x, requires_grad=True)])
def test_what_int_raises_may_be_caught(given):
    """Each error is a path; the number is none."""
    compiled = tg.compile(caught)
    for first in (0.5, np.nan, 0.7, -np.inf, np.nan, 2.0, np.inf, 9.0):
        x = np.array([first, 2.0])
        found = compiled(given(x))
        found = found.detach() if isinstance(found, tg.Tensor) else found
        np.testing.assert_array_equal(found, caught(x))
    assert compiled.cache_info().traces == 3


def test_arrays_with_axes_are_read_as_numpy_reads_them(monkeypatch):
    def f(x):
        try:
            return float(x) * 2.0
        except TypeError:
            return -1.0

    compiled = tg.compile(f)
    with np.testing.suppress_warnings() as ignored:
        ignored.filter(DeprecationWarning)
        for shape in ((), (1,), (1, 1), (2,)):
            x = np.full(shape, 3.0)
            assert compiled(x) == f(x)
        monkeypatch.setattr(tg.config, "compile", False)
        assert tg.compile(f)(np.full(1, 3.0)) == f(np.full(1, 3.0))


LEFT = {
    "slice": "def f(x):\n    return slice(int(x[0]), None), {'w': slice(0, x.argmax() + 2)}\n",
    "kept_slice": "kept = {}\ndef f(x):\n    kept['at'] = slice(int(x[0]), 9)\n    return kept\n",
    "range": "def f(x):\n    return range(int(x[0])), [int(x[1])]\n",
}


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("name", LEFT)
def test_numbers_in_what_c_holds(name):
    f, compiled = function_of(LEFT[name], "f"), tg.compile(function_of(LEFT[name], "f"))
    for first in (1.5, 3.7, 1.2, 5.0):
        x = np.array([first, 2.0, 3.0])
        assert shown(compiled(x)) == shown(f(x))


class TooLarge(Exception):
    def __init__(self, number, limit):
        super().__init__("too large", number)
        self.limit = limit


def raising(x):
    if x[0] > 1.0:
        raise TooLarge(int(x[0]), float(x[1]))
    if x[0] < -1.0:
        raise ValueError("too small", int(x[0]), x * 2.0)
    return x


def test_numbers_in_exceptions_that_leave_the_function():
    def result(function, x):
        try:
            return function(x)
        except (TooLarge, ValueError) as error:
            return type(error), error.args, vars(error)

    compiled = tg.compile(raising)
    for first in (2.5, 0.5, -3.5, 4.5, -2.5):
        x = np.array([first, 2.0])
        assert shown(result(compiled, x)) == shown(result(raising, x))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "float32"])
def test_an_int_takes_the_dtype_of_arrays_in_jax(dtype):
    pytest.importorskip("jax")

    def f(x):
        return x + int(x[1]), x * (int(x[0]) + 1), np.maximum(x, round(float(x[1])))

    compiled = tg.compile(f, backend="jax")
    for x in (np.array([3, 2], dtype), np.array([5, 7], dtype)):
        for ours, own in zip(compiled(x), f(x), strict=True):
            assert ours.dtype == own.dtype
            np.testing.assert_array_equal(ours, own)


def reported(x):
    reported.kept.append(float(np.sum(x * x)))
    return np.sum(x * x) * int(x[0] > 0.5)


def constant(x):
    scale = x[0].item()
    for v in x[:9]:
        scale = scale * 0.5 + v.item()
    return np.sum(x * x) * scale


def looked_up(x):
    table = np.array([1.0, 2.0, 4.0, 8.0])
    return np.sum(x) * table[int(x[0] * 4.0)] + x[int(np.argmax(x))]


@pytest.mark.parametrize("f", [reported, constant, looked_up])
def test_gradients_do_not_go_through_numbers(f, monkeypatch):
    reported.kept = []
    compiled = tg.value_and_grad(f)
    xs = [np.random.default_rng(seed).random(10) for seed in range(6)]
    found = [compiled(x) for x in xs]
    seen = list(reported.kept)
    assert compiled.cache_info().hits >= 4
    reported.kept.clear()
    monkeypatch.setattr(tg.config, "compile", False)
    for ours, x in zip(found, xs, strict=True):
        assert_same_bits(ours, tg.value_and_grad(f)(x))
    assert seen == reported.kept


LOST = {
    "returned": """
def f(x):
    return float(np.sum(x))
""",
    "behind_an_if": """
def f(x):
    a = x - float(x[0])
    if x[1] > 0.5:
        a = np.where(a > 0.3, a, 0.3)
    return np.sum(a * a)
""",
    "before_a_loop": """
def f(x):
    a = x - float(x[0])
    for v in x:
        a = a * v
    return np.sum(a)
""",
    "in_a_loop": """
def f(x):
    s = 0.0
    for v in x:
        s = 0.5 * (s + float(v))
    return s * np.sum(x)
""",
    "in_an_arm": """
def f(x):
    a = x * 1.0
    for v in x:
        b = a - float(a[0])
        if v > 0.5:
            a = b
    return np.sum(a * a)
""",
}


@pytest.mark.parametrize("name", LOST)
def test_a_gradient_that_would_be_lost_is_refused(name, monkeypatch):
    f = function_of(HEAD + LOST[name], "f")
    x = np.random.default_rng(1).random(12) + 0.1
    for compile in (True, False):
        monkeypatch.setattr(tg.config, "compile", compile)
        with pytest.raises(LostGradientError, match=r"float\("):
            tg.value_and_grad(f)(x)


def test_arms_that_lose_no_gradient_stand():
    def f(x):
        s = x[0]
        for v in x:
            s = float(v) if v > 2.0 else s * v
        return s

    compiled = tg.value_and_grad(f)
    x = np.random.default_rng(2).random(12)
    for _ in range(2):
        value, slope = compiled(x)
        np.testing.assert_allclose(value, x[0] * np.prod(x))
        np.testing.assert_allclose(slope[1:], value / x[1:], rtol=1e-12)
    with pytest.raises(LostGradientError):
        compiled(np.append(x, 3.0))


def test_a_tensor_that_requires_grad():
    def f(w):
        loss = (w * w).sum()
        return loss * int(w[0] > 0), loss.item()

    compiled = tg.compile(f)
    for scale in (1.0, 2.0, 3.0, 4.0):
        w = tg.tensor(np.arange(1.0, 4.0) * scale, requires_grad=True)
        loss, number = compiled(w)
        assert type(number) is float and number == loss.item()
        loss.backward()
        np.testing.assert_array_equal(w.grad.numpy(), 2 * w.detach().numpy())
    assert compiled.cache_info().versions == 1


def added_up(s, x, w):
    run = 0.0
    for row in x:
        run += ((row * w) ** 2).sum().item()
    return run


def smallest(s, x, w):
    best, loss = np.inf, 0.0
    for row in x:
        y = (row * w).sum()
        best = min(best, y.item())
        loss = loss + y
    return loss, best


def smallest_by_a_branch(s, x, w):
    best, loss = 1e9, 0.0
    for row in x:
        y = (row * w).sum()
        v = y.item()
        if v < best:
            best = v
        loss = loss + y
    return loss, best, [best * 2.0]


def kept_in_turns(s, x, w):
    y = x[0] * w
    loss = ((y - s.mean) ** 2).sum()
    for _ in range(9):
        s.mean = 0.9 * s.mean + 0.1 * y.sum().item()
        y = 0.9 * y
    return loss


def kept_behind_them(s, x, w):
    total, loss = s.mean, 0.0
    for row in x:
        y = row * w
        total += (y.sum() / 3.0).item()
        loss = loss + (y * total).sum()
    s.mean, s.pair, s.named = total, (total, [total]), {"mean": total}
    return loss


def set_by_an_arm(s, x, w):
    y = x[0] * w
    loss = ((y - s.mean) ** 2).sum()
    if x[0, 0] > 0.0:
        top = y.sum().item()
    else:
        top = 0.0
    s.mean = top
    return loss, top


def of_another_arm(s, x, w):
    last = 0.0
    for row in x:
        last = np.sin(row[0] * w[0]) if row[0] > 0.0 else (row[1] * w[1]).item()
    s.mean = 2.0
    return (x * w * last).sum()


def until_small(s, x, w):
    loss = ((x[0] * w - s.mean) ** 2).sum()
    while loss.item() > 1e-3:
        s.mean = 0.5 * s.mean + 0.1 * loss.item()
        loss = loss * 0.5
    return loss


def of_steps(s, x, w):
    count, loss = 0.0, 0.0
    for row in x:
        y = (row * w).sum()
        count += float(np.floor(y))
        loss = loss + y
    s.mean = count
    return loss, count


def listed(s, x, w):
    values, loss = [], 0.0
    for row in x:
        y = (row * w).sum()
        values.append(y.item())
        loss = loss + y
    s.mean = max(values)
    return loss * s.mean, values


KEPT = [added_up, smallest, smallest_by_a_branch, kept_in_turns, kept_behind_them, set_by_an_arm]
KEPT += [of_another_arm, until_small, of_steps, listed]


@pytest.mark.parametrize("outside", [True, False])
@pytest.mark.parametrize("f", KEPT, ids=lambda f: f.__name__)
def test_a_number_of_a_history_is_a_number_without_one_in_every_call(f, outside):
    """Whichever variable holds it, whether it is returned or stored, it is a float of Python's."""

    def seen(compiles):
        s, found = SimpleNamespace(mean=0.5), []
        w = tg.tensor([1.0, 2.0], requires_grad=True)
        step = (lambda x: f(s, x, w)) if outside else (lambda x, w: f(s, x, w))
        call = tg.compile(step) if compiles else step
        for n in (10, 10, 3, 12, 9, 8, 1):
            x = tg.tensor(np.random.default_rng(n).normal(size=(n, 2)))
            result = call(x) if outside else call(x, w)
            loss, *others = result if isinstance(result, tuple) else (result,)
            w.grad = None
            if isinstance(loss, tg.Tensor):
                loss.backward()
                others += [loss.detach().numpy(), w.grad.numpy()]
            else:
                others += [loss]
            found.append((repr(s), repr(others)))
        return found

    assert seen(True) == seen(False)


@pytest.mark.parametrize("f", [constant, lambda x: x * x.sum().item()], ids=["loop", "straight"])
def test_jax_takes_an_item_for_a_constant_too(f):
    jax = pytest.importorskip("jax")
    compiled = tg.compile(f, backend="jax")
    x = np.random.default_rng(3).random(10)
    with wide_jax():
        found = jax.grad(lambda x: compiled(x).sum())(jax.numpy.asarray(x))
    np.testing.assert_allclose(found, tg.grad(lambda x: f(x).sum())(x), rtol=1e-12)
