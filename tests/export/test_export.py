"""Compiled callables enter, exported files leave: the same bits, nothing but NumPy, plain errors.

Edited files are taken back by `tg.load`, whose `verify` must name the statement that departs.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import itertools
import re
import runpy
import subprocess
import sys
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import black
import numpy as np
import pytest
from checks import assert_same_bits, leaves
from programs import PROGRAMS

import tracegrad as tg
from tracegrad.errors import ArgumentError, ExportError

NUMBERS = itertools.count()


def imported(path):
    """The module of a file, under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"exported_{next(NUMBERS)}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def exported(f, path, *args, **kwargs):
    """The function of an export."""
    assert f.export(path, *args, **kwargs) == path
    return getattr(imported(path), f.__name__)


def imports(text):
    """The modules that a file imports."""
    nodes = list(ast.walk(ast.parse(text)))
    found = {alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names}
    return found | {n.module for n in nodes if isinstance(n, ast.ImportFrom)}


@pytest.fixture(autouse=True)
def quiet_arithmetic():
    with np.errstate(all="ignore"):
        yield


# -- the corpus ---------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_an_exported_program_gives_the_same_bits(program, tmp_path):
    f = tg.value_and_grad(
        program.new(),
        program.argnums,
        has_aux=program.has_aux,
        static_argnames=program.static_argnames,
    )
    expected = f(*program.args)
    path = tmp_path / f"{program.name}.py"
    g = exported(f, path, *program.args)
    assert_same_bits(g(*program.args), expected)
    text = path.read_text()
    assert black.format_str(text, mode=black.Mode()) == text
    found = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module]
        )
    }
    runtime = {"contextvars", "math", "os", "threading"}  # of tiles
    assert found <= {"numpy", "pathlib", "collections", "programs", *runtime}
    assert list(inspect.signature(g).parameters) == list(inspect.signature(f).parameters)


# -- alone --------------------------------------------------------------------------------------

ALONE = """
import sys
sys.path[:0] = {paths!r}
import importlib.util, os, numpy as np
assert importlib.util.find_spec("tracegrad") is importlib.util.find_spec("black") is None
os.chdir("/")
data = dict(np.load({data!r}))
params, mean, square = ({{k[len(s):]: v for k, v in data.items() if k.startswith(s)}}
                        for s in ("param_", "mean_", "square_"))
from digits_step import step
from digits_loss import loss
losses = []
for start in (0, 32, 64):
    x, y = data["x"][start : start + 32], data["y"][start : start + 32]
    value, grads = loss(params, x, y)
    again, params, mean, square = step(params, mean, square, x, y, 0.01)
    losses += [value, again]
np.savez({out!r}, losses=losses, **params, **{{"grad_" + k: v for k, v in grads.items()}})
"""


def numpy_alone(folder):
    """A folder that holds the installed NumPy and nothing else."""
    site = folder / "site"
    site.mkdir()
    packages = Path(np.__file__).parent.parent
    for name in ("numpy", "numpy.libs"):
        if (packages / name).exists():
            (site / name).symlink_to(packages / name)
    return site


def digits_example(monkeypatch):
    for name in ("matplotlib", "sklearn", "tqdm"):
        pytest.importorskip(name)
    examples = Path(__file__).parents[2] / "examples"
    monkeypatch.syspath_prepend(examples)  # what examples have in common stands beside them
    return imported(examples / "digits_mlp.py")


def test_a_digits_training_step_runs_where_numpy_is_alone(tmp_path, monkeypatch):
    example = digits_example(monkeypatch)
    loss = example.loss

    @tg.compile
    def step(params, mean, square, x, y, rate):
        value, grads = loss(params, x, y)
        mean = {k: 0.9 * m + 0.1 * grads[k] for k, m in mean.items()}
        square = {k: 0.999 * v + 0.001 * grads[k] ** 2 for k, v in square.items()}
        params = {k: p - rate * mean[k] / (np.sqrt(square[k]) + 1e-8) for k, p in params.items()}
        return value, params, mean, square

    x, _, y, _ = example.digits()
    params = example.initial_params(np.random.default_rng(0))
    mean, square = ({k: np.zeros_like(p) for k, p in params.items()} for _ in range(2))
    loss.export(tmp_path / "digits_loss.py", params, x[:32], y[:32])
    step.export(tmp_path / "digits_step.py", params, mean, square, x[:32], y[:32], 0.01)
    states = {"param_": params, "mean_": mean, "square_": square}
    named = {s + k: v for s, tree in states.items() for k, v in tree.items()}
    np.savez(tmp_path / "data.npz", x=x[:96], y=y[:96], **named)

    paths = [str(numpy_alone(tmp_path)), str(tmp_path)]
    data, out = str(tmp_path / "data.npz"), str(tmp_path / "out.npz")
    script = ALONE.format(paths=paths, data=data, out=out)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = dict(np.load(out))

    losses = []
    for start in (0, 32, 64):
        batch = x[start : start + 32], y[start : start + 32]
        value, grads = loss(params, *batch)
        again, params, mean, square = step(params, mean, square, *batch, 0.01)
        losses += [value, again]
    expected = {"losses": np.array(losses), **params, **{f"grad_{k}": g for k, g in grads.items()}}
    assert_same_bits(found, expected)


# -- signatures and arguments -------------------------------------------------------------------

SCALE = np.array([0.5, -0.0, np.inf])


def decaying(x, w):
    for _ in range(200):
        x = x - 0.1 * np.sin(w * x)
    return x.sum()


def settling(x, w):
    while np.max(np.abs(x)) > 0.5:
        x = x * w
    return x.sum()


def fitting(x, w):
    for v in x:
        if v > 0.0:
            w = w + 0.1 * np.tanh(v)
    return (w * w).sum()


LOOPS = [decaying, settling, fitting, tg.checkpoint(decaying, max_bytes=300)]


@pytest.mark.parametrize("function", LOOPS, ids=["for", "while", "rows", "budget"])
def test_loops_are_loops_in_the_file_and_need_numpy_alone(function, tmp_path):
    x, w = np.linspace(-1.0, 2.0, 9), np.full(9, 0.9)
    gradient = tg.value_and_grad(function, argnums=(0, 1))
    again = exported(gradient, tmp_path / "loop.py", x, w)
    text = (tmp_path / "loop.py").read_text()
    assert imports(text) == {"numpy"}
    assert len(re.findall(r"^ +(?:for|while) ", text, re.MULTILINE)) >= 2
    assert len(text.splitlines()) < 150
    for scale in (1.0, 0.7):  # others than those that it was exported with
        assert_same_bits(again(scale * x, w), gradient(scale * x, w))


@pytest.mark.parametrize("backend", ["numba", "auto"])
def test_what_has_kernels_is_numpy_source_in_the_file(backend, tmp_path):
    """The same bits, of loops and of large arrays, where neither Numba nor tracegrad is there."""

    def waves(x, w):
        return np.sum(np.exp(-x * w) * np.tanh(x) + np.sin(w * x) * x)

    def averages(x, w):
        mean = w[0]
        for v in x:
            mean = 0.9 * mean + v * v
        return mean

    for f, lengths in ((averages, (9, 40)), (waves, (9, 1 << 17))):
        plain = tg.value_and_grad(f)
        x, w = np.linspace(0.5, 1.5, lengths[0]), np.array([0.3])
        path = tg.value_and_grad(f, backend=backend).export(tmp_path / f"{f.__name__}.py", x, w)
        assert imports(path.read_text()) <= {"numpy", "os", "contextvars", "threading"}
        for length in lengths:
            x = np.linspace(0.5, 1.5, length)
            assert_same_bits(getattr(imported(path), f.__name__)(x, w), plain(x, w))


def test_the_signature_is_the_users(tmp_path):
    @tg.compile
    def f(a, /, b, *rest, power=2, flag=True, **more):
        return a * b + sum(rest) ** power + more["c"] if flag else a

    x = np.arange(3.0)
    call = (x, 2.0, x, np.float32(3.0)), {"c": x + 1}
    g = exported(f, tmp_path / "f.py", *call[0], **call[1])
    assert str(inspect.signature(g)) == str(inspect.signature(f))
    assert_same_bits(g(*call[0], **call[1]), f(*call[0], **call[1]))
    for args, kwargs, error, said in (
        ((x, 2.0, x), {"c": x}, TypeError, "*rest must take 2"),
        (
            call[0],
            {"c": x, "d": x},
            TypeError,
            "**more must take ['c'], as",
        ),
        (call[0], {"c": x, "power": 3}, ValueError, "power must be 2, not 3"),
        (call[0], {"c": x, "power": 2.0}, ValueError, "power must be 2, not 2.0"),
        ((x, 2, *call[0][2:]), {"c": x}, TypeError, "b must be a float, not 2 of type int"),
        ((x, 2.0, x, 3.0), {"c": x}, TypeError, "pass np.float32(rest[1])"),
        (([1.0], *call[0][1:]), {"c": x}, TypeError, "pass np.asarray(a, dtype=np.float64)"),
        ((x.astype("f4"), *call[0][1:]), {"c": x}, TypeError, "pass a.astype(np.float64)"),
        ((x[None], *call[0][1:]), {"c": x}, ValueError, "not of shape (1, 3)"),
    ):
        with pytest.raises(error) as caught:
            g(*args, **kwargs)
        assert said in str(caught.value)


def test_defaults_and_names_of_every_kind(tmp_path):
    table = {"a": np.array([1.0, 2.0]), "b": [np.arange(200.0)]}

    @tg.grad
    def f(x, table=table, list=3, none=None, **more):
        return np.sum(x * table["a"]) * list + table["b"][0].sum() * more["class"]

    x = np.ones(2)
    g = exported(f, tmp_path / "f.py", x, **{"class": 2.0, "a b": 1})
    assert_same_bits(g(x, **{"class": 2.0, "a b": 1}), f(x, **{"class": 2.0, "a b": 1}))
    assert_same_bits(g(x, **{"a b": 1, "class": 3.0}), f(x, **{"class": 3.0, "a b": 1}))
    with pytest.raises(ValueError, match="list must be 3, not 4"):
        g(x, list=4, **{"class": 2.0, "a b": 1})


def test_keys_that_only_an_import_can_name(tmp_path):
    @tg.value_and_grad
    def f(p):
        return np.sum(p[Mode.UP] * p["k"])

    p = {Mode.UP: np.ones(2), "k": np.arange(2.0)}
    g = exported(f, tmp_path / "f.py", p)
    assert_same_bits(g(p)[1][Mode.UP], f(p)[1][Mode.UP])
    assert list(g(p)[1]) == list(f(p)[1])


def test_every_length_that_the_guards_allow(tmp_path):
    @tg.value_and_grad
    def f(w, x):
        return np.sum((x @ w["a"]) ** 2) / 2.0

    def arguments(n, k):
        draw = np.random.default_rng(n).normal
        return {"a": draw(size=(k, 2))}, draw(size=(n, k))

    g = exported(f, tmp_path / "f.py", *arguments(4, 3))
    for n, k in ((4, 3), (1, 3), (0, 3), (9, 1), (2, 0)):
        assert_same_bits(g(*arguments(n, k)), f(*arguments(n, k)))
    w, x = arguments(4, 3)
    with pytest.raises(ValueError, match=r'x.shape\[1\] is 2 and w\["a"\].shape\[0\] is 3'):
        g(w, x[:, :2])
    with pytest.raises(ValueError, match=r"w must have the keys \['a'\], not \['a', 'b'\]"):
        g({**w, "b": x}, x)
    with pytest.raises(TypeError, match="w must be a dict, not of type list"):
        g([w["a"]], x)


def test_a_length_that_python_read_is_checked(tmp_path):
    @tg.compile
    def f(x):
        total = 0.0
        for row in x:
            total = total + row.sum()
        return total

    g = exported(f, tmp_path / "f.py", np.ones((2, 3)))
    assert g(np.ones((2, 5))) == 10.0
    with pytest.raises(ValueError, match=r"x.shape\[0\] is 3: .* it is 2, export again"):
        g(np.ones((3, 3)))


# -- looks --------------------------------------------------------------------------------------


def test_looks_that_were_traced_branch_and_others_raise(tmp_path):
    @tg.grad
    def f(x):
        if x[0] > 0:
            return np.sum(x**2)
        if x[1] > 0:
            return np.sum(x)
        return np.sum(-x)

    x = np.array([1.0, 2.0])
    f(x)
    f(-x + [0, 4])
    g = exported(f, tmp_path / "f.py", x)
    assert_same_bits(g(x), f(x))
    assert_same_bits(g(-x + [0, 4]), f(-x + [0, 4]))
    line = f._function.__code__.co_firstlineno + 4
    with pytest.raises(LookupError, match=rf"test_export.py:{line}  if x\[1\] > 0"):
        g(-x)
    assert f"test_export.py:{line}  if x[1] > 0:  (bool: True)" in g.__doc__


def test_what_a_look_that_was_not_traced_asks_for_is_enough(tmp_path):
    @tg.grad
    def f(x):
        return np.sum(x**2) if x[0] > 0 else np.sum(-x)

    x = np.array([1.0, 2.0])
    with pytest.raises(LookupError, match=r": export f again, with these arguments$"):
        exported(f, tmp_path / "f.py", x)(-x)
    g = exported(f, tmp_path / "g.py", -x)
    for given in (x, -x):
        assert_same_bits(g(given), f(given))


def spent(amounts, limit):
    total = 0.0
    for amount in amounts:
        total = total + amount * amount
        if total > limit:
            break
    return total


@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad])
@pytest.mark.parametrize(
    ("limit", "other", "said"),
    [
        (3.0, 100.0, "for amount in amounts:  this loop was never left at its end"),
        (100.0, 3.0, "if total > limit:  was only ever False"),
    ],
)
def test_a_loop_that_is_left_elsewhere_raises(transform, limit, other, said, tmp_path):
    """The file has the ways of one version, whatever other calls there were before it."""
    f = transform(spent)
    amounts = np.linspace(0.1, 2.0, 20)
    for seen in (other, limit):
        f(amounts, seen)
    g = exported(f, tmp_path / "f.py", amounts, limit)
    assert_same_bits(g(amounts, limit), f(amounts, limit))
    assert_same_bits(g(amounts * 0.9, limit), f(amounts * 0.9, limit))
    with pytest.raises(LookupError, match=rf"test_export.py:\d+  {said}"):
        g(amounts, other)
    assert said.partition(":")[0] in g.__doc__
    with pytest.raises(ValueError, match=r"amounts.shape\[0\] is 5: .* it is 8 or more, export"):
        g(amounts[:5], limit)


def of_slices(x, min, max, len, range):
    s = np.sum(min[:3] * len[-3:]) + np.sum(range[::2] * x[:2]) + np.sum(min[-2:4] * x[:2])
    for v in x[1:9:2]:
        s = s + np.sin(v * max)
    return s


def test_lengths_are_checked_where_parameters_have_the_names_of_builtins(tmp_path):
    args = (np.linspace(0.0, 1.0, 20), np.ones(4), 2.0, np.ones(5), np.ones(4))
    f = tg.value_and_grad(of_slices)
    g = exported(f, tmp_path / "f.py", *args)
    assert_same_bits(g(*args), f(*args))
    with pytest.raises(ValueError, match=r"^x.shape\[0\] is 6: .* it is 8 or more, export"):
        g(args[0][:6], *args[1:])
    shown = r"^min\(min.shape\[0\], 3\) is 2 and min\(len.shape\[0\], 3\) is 3"
    with pytest.raises(ValueError, match=shown):
        g(args[0], np.ones(2), *args[2:])


# -- what the function reads from outside -------------------------------------------------------


def test_arrays_from_outside_are_in_the_file(tmp_path):
    big = np.asfortranarray(np.random.default_rng(0).normal(size=(20, 30)))
    turned = np.random.default_rng(1).normal(size=(3, 5, 40)).transpose(1, 2, 0)
    odd = np.array([np.nan, -np.inf, 1e-320], dtype=np.float32)
    small = np.array([[1.5, 2.0], [3.0, 4.0]]).T
    mask, empty = np.array([True, False]), np.zeros((0, 2))

    @tg.compile
    def f(x):
        arrays = (big, turned, odd, small, SCALE, mask, empty)
        return [np.sum(array * x, axis=0) for array in arrays]

    path = tmp_path / "f.py"
    g = exported(f, path, 2.0)
    expected = f(2.0)
    assert_same_bits(g(2.0), expected)
    text = path.read_text()
    assert "small = np.array([[1.5, 3.0], [2.0, 4.0]], order=" in text
    assert "SCALE = np.array([0.5, -0.0, np.inf])" in text
    assert set(np.load(tmp_path / "f.npz")) == {"big", "turned"}
    before = path.read_bytes(), (tmp_path / "f.npz").read_bytes()
    f.export(path, 2.0)
    assert before == (path.read_bytes(), (tmp_path / "f.npz").read_bytes())
    small[:] = 0.0
    assert_same_bits(g(2.0), expected)


def test_random_draws_go_on_from_where_the_generator_stood(tmp_path):
    generator = tg.random.Generator(7)

    @tg.value_and_grad
    def f(x):
        return np.sum((x + generator.normal(size=x.shape)) ** 2 * generator.uniform(size=2)[0])

    x = np.ones((3, 2))
    f(x)
    g = exported(f, tmp_path / "f.py", x)
    for _ in range(3):
        assert_same_bits(g(x), f(x))


class Model:
    def __init__(self):
        self.w = np.array([1.0, 2.0])
        self.calls = 0
        self.mean = np.zeros(2)

    @tg.value_and_grad
    def loss(self, x):
        return x @ self.w


def test_a_method_is_exported_without_its_object(tmp_path):
    class Layer:
        def __init__(self):
            self.w = np.array([1.0, 2.0])
            self.rate = 0.5

        @tg.compile
        def apply(self, x, shift=1.0):
            return np.tanh(x @ self.w * self.rate) + shift

    layer = Layer()
    x = np.ones((3, 2))
    g = exported(layer.apply, tmp_path / "f.py", x)
    assert list(inspect.signature(g).parameters) == ["x", "shift"]
    assert_same_bits(g(x), layer.apply(x))
    loaded = tg.load(tmp_path / "f.py", layer.apply)
    assert loaded.verify(x)
    layer.w = layer.w + 1.0
    assert "array w of the file against what the function reads" in str(loaded.verify(x))
    with pytest.raises(ArgumentError, match="a method of an object: pass it"):
        tg.load(tmp_path / "f.py").verify(x)


# -- structures ---------------------------------------------------------------------------------

Pair = namedtuple("Pair", "first second")


@dataclass(frozen=True)
class Both:
    a: object
    b: object


@dataclass
class Checked:
    a: object

    def __post_init__(self):
        raise AssertionError("must not run")


@dataclass
class Held:
    a: object
    b: object

    @tg.grad(argnums=1)
    def total(self, x):
        return np.sum(self.a * x)


class Mode(Enum):
    UP = 1
    DOWN = 2


def test_structures_come_back_as_they_were(tmp_path):
    @tg.value_and_grad(has_aux=True)
    def f(p, mode=Mode.UP, act=np.tanh):
        y = act(p.first) if mode is Mode.UP else p.second["k"]
        checked = object.__new__(Checked)
        checked.a = y * 2.0
        ordered = OrderedDict([("z", y), ("a", None)])
        return y.sum(), (Both(y, "text"), [checked], ordered, {1: (y,)}, Mode.DOWN, np.sin)

    p = Pair(np.arange(3.0), {"k": np.ones(2)})
    g = exported(f, tmp_path / "f.py", p)
    (value, aux), gradient = g(p)
    (expected, expected_aux), expected_gradient = f(p)
    assert_same_bits(value, expected)
    assert_same_bits(leaves(gradient), leaves(expected_gradient))
    assert type(gradient) is Pair and type(aux[0]) is Both and type(aux[1][0]) is Checked
    assert list(aux[2]) == ["z", "a"] and type(aux[2]) is OrderedDict
    assert aux[4] is Mode.DOWN and aux[5] is np.sin
    assert_same_bits(leaves(aux[:4]), leaves(expected_aux[:4]))
    with pytest.raises(ValueError, match=r"mode must be <Mode\.UP: 1>"):
        g(p, Mode.DOWN)


def refusal(f, path, *args):
    with pytest.raises(ExportError) as caught:
        f.export(path, *args)
    assert not path.exists()
    return str(caught.value)


def with_a_second_try(a, b):
    try:
        root = np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        root = np.linalg.cholesky(a + 3 * np.eye(len(b)))
    return np.sum(np.linalg.solve(root, b) ** 2)


def solved_or_twice(a, b):
    try:
        y = np.linalg.solve(a, b)
    except Exception:
        y = b * 2
    return np.sum(y)


@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad])
@pytest.mark.parametrize(
    ("f", "raising"), [(with_a_second_try, -np.eye(3)), (solved_or_twice, np.zeros((3, 3)))]
)
def test_ways_on_from_what_numpy_raises_are_refused_by_name(f, raising, transform, tmp_path):
    b = np.array([1.0, 2.0, 3.0])
    for calls in ((), (np.eye(3), raising), (raising, np.eye(3))):
        made = transform(f)
        for a in calls:
            made(a, b)
        refusal(made, tmp_path / "f.py", raising, b)
    assert "catches an exception that NumPy raises for these arguments" in refusal(
        made, tmp_path / "f.py", raising, b
    )
    exported = imported(made.export(tmp_path / "f.py", np.eye(3), b))
    assert_same_bits(getattr(exported, f.__name__)(np.eye(3), b), made(np.eye(3), b))
    with pytest.raises(np.linalg.LinAlgError):
        getattr(exported, f.__name__)(raising, b)


def test_what_the_function_raises_itself_is_no_way_on(tmp_path):
    made = tg.compile(lambda a, b: np.linalg.solve(a, b))
    made(np.eye(3), np.ones(3))
    exported = imported(made.export(tmp_path / "f.py", np.zeros((3, 3)), np.ones(3)))
    with pytest.raises(np.linalg.LinAlgError):
        exported.f(np.zeros((3, 3)), np.ones(3))


def test_what_no_file_can_hold_is_refused_by_name(tmp_path):
    path = tmp_path / "f.py"
    x = np.ones(2)
    Local = namedtuple("Local", "y")
    assert "Local, which cannot be imported" in refusal(tg.compile(lambda x: Local(x * 2)), path, x)
    key = object()
    said = refusal(tg.compile(lambda x, o: x * 2), path, x, key)
    assert "the argument o is" in said and "cannot be written into a file" in said
    model = Model()

    def stores(x):
        model.last = x * 2.0
        return x

    model.last = None
    said = refusal(tg.compile(stores), path, x)
    assert "stores model.last, which held None before: call the function once" in said

    def keeps_a_function(x):
        model.last = lambda: x
        return x * 2

    assert "it reads or changes model.last" in refusal(tg.compile(keeps_a_function), path, x)

    class Double(tg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, ct):
            return ct * 2

    said = refusal(tg.grad(lambda x: Double.apply(x).sum()), path, x)
    assert "a Python callable that cannot be written into a file" in said
    both = Held(x, x)
    assert "export it from the class" in refusal(both.total, path, x)
    assert "must end in .py" in refusal(tg.compile(lambda x: x), tmp_path / "f", x)
    with pytest.raises(ExportError, match="path of the file first"):
        tg.compile(lambda x: x).export(x)


# -- what a function stores -----------------------------------------------------------------------


def random(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


class Running:
    """An average that goes on from call to call, and what was seen last."""

    def __init__(self, size=2):
        self.mean, self.last = np.zeros(size), np.zeros((1, size))

    @tg.value_and_grad(argnums=1)
    def loss(self, w, x):
        self.mean = 0.9 * self.mean + 0.1 * x.mean(axis=0)
        self.last = x - self.mean
        return (self.last * w).sum()

    @tg.compile
    def branch(self, x):
        if x.sum() > 0.0:
            self.mean = self.mean + x
            return {"shown": self.mean, "up": True}
        return {"shown": x, "up": False}


@pytest.mark.parametrize("size", [2, 100])  # in the text of the file, and beside it
def test_an_exported_function_keeps_what_it_stores(size, tmp_path):
    running, path = Running(size), tmp_path / "f.py"
    w, x = random(size), random(3, size)
    for _ in range(2):
        running.loss(w, x)
    running.loss.export(path, w, x)
    text = path.read_text()
    assert "Keeps from call to call, in this file\n" in text
    assert "        mean, which was self.mean\n" in text
    assert path.with_suffix(".npz").exists() == (size > 64)
    module = imported(path)
    for x in (random(3, size), random(7, size), random(1, size)):  # as the function goes on
        value, gradient = running.loss(w, x)
        found, slope = module.loss(w, x)
        assert found == value and slope.tobytes() == gradient.tobytes()
        assert module.mean.tobytes() == np.asarray(running.mean).tobytes()
        assert module.last.tobytes() == np.asarray(running.last).tobytes()


def test_what_is_stored_on_one_path_alone(tmp_path):
    running, path = Running(), tmp_path / "f.py"
    up, down = np.array([1.0, 2.0]), np.array([-1.0, -2.0])
    for x in (up, down, up, down):
        running.branch(x)
    running.branch.export(path, up)
    module = imported(path)
    for x in (down, up, up, down):
        expected = running.branch(x)
        found = module.branch(x)
        assert found["up"] == expected["up"]
        assert found["shown"].tobytes() == expected["shown"].tobytes()
        assert module.mean.tobytes() == np.asarray(running.mean).tobytes()


def test_at_a_minimum_differences_are_rounding_errors_alone():
    f = tg.value_and_grad(lambda w, x: np.mean(np.tanh(x @ w) ** 2))
    assert f.verify(np.linspace(-1.0, 1.0, 3), np.ones((4, 3)))

    @tg.custom_vjp
    def wrong(x):
        return x * x

    wrong.defvjp(lambda x: (x * x, x), lambda x, ct: (ct * (2.0 * x + 1e-4),))
    assert not tg.value_and_grad(lambda x: np.sum(wrong(x))).verify(np.zeros(2))


def test_an_edited_file_with_state_is_verified_and_left_as_it_was(tmp_path):
    running, path = Running(), tmp_path / "f.py"
    w, x = random(2), random(3, 2)
    running.loss.export(path, w, x)
    before = np.array(running.mean)
    loaded = tg.load(path, running.loss)
    for _ in range(2):
        assert loaded.verify(w, x)
    assert np.array_equal(running.mean, before)
    text = path.read_text()
    path.write_text(re.sub(r"(w_bar = \w+)\.sum", r"\1.max", text))
    assert path.read_text() != text
    assert not tg.load(path, running.loss).verify(w, x)


# -- JAX ----------------------------------------------------------------------------------------


def test_a_jax_export_needs_jax_alone(tmp_path):
    jax = pytest.importorskip("jax")

    @tg.value_and_grad(backend="jax", has_aux=True)
    def f(w, x, n=2):
        h = np.tanh(x @ w["w"]) * SCALE[0]
        if h.sum() > 0:
            h = h * n
        return h.mean(), Pair(h, "text")

    w, x = {"w": np.ones((3, 2))}, np.ones((4, 3), np.float32)
    path = tmp_path / "f.py"
    g = exported(f, path, w, x)
    assert_same_bits(leaves(g(w, x)), leaves(f(w, x)))
    assert type(g(w, x)[0][1]) is Pair and type(g(w, x)[1]["w"]) is np.ndarray
    assert_same_bits(leaves(g(w, x[:1])), leaves(f(w, x[:1])))
    assert isinstance(g(w, jax.numpy.asarray(x))[1]["w"], jax.Array)
    with pytest.raises(LookupError, match=r"if h.sum\(\) > 0:  \(bool: True\)"):
        g({"w": -w["w"]}, x)
    with pytest.raises(TypeError, match=r"pass x.astype\(np.float32\)"):
        g(w, x.astype(float))
    assert imports(path.read_text()) == {"jax", "jax.numpy", "numpy", "jax.experimental", __name__}
    assert tg.load(path, f).verify(w, x)


# -- verify -------------------------------------------------------------------------------------


def loss(p, x, rate=0.5):
    h = np.tanh(x * p["w"] + SCALE[0])
    if h.sum() > 0:
        h = h * 3.0
    h = h * rate
    return (h**2).sum()


ARGS = ({"w": np.array([0.3, -0.2, 0.9])}, np.linspace(0.1, 1.0, 12).reshape(4, 3))


@pytest.fixture
def file(tmp_path):
    return tg.value_and_grad(loss).export(tmp_path / "loss.py", *ARGS)


def test_an_unedited_export_verifies(file):
    g = tg.load(file)
    assert_same_bits(g(*ARGS), tg.value_and_grad(loss)(*ARGS))
    found = g.verify(*ARGS)
    assert found and found.departure is None
    assert "the same bits" in str(found) and "slopes" in str(found)


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("h_bar = 2.0 * h_2", "h_bar = 2.1 * h_2", "h_bar = 2.1 * h_2", "differs by up to"),
        ("    h_bar *= rate\n", "", "h_bar *= 3.0", "`h_bar *= rate` is missing before it"),
        ("(1.0 - h * h)", "(1.0 + h * h)", "w_bar = ", "differs by up to"),
        ("return value,", "return 2 * value,", "return 2 * value", "differs by up to"),
        ("h_bar *= 3.0", "h_bar *= three", "h_bar *= three", "raises NameError"),
        (".sum(axis=0)", ".sum(axis=1)", "w_bar = ", "has shape (4,), not (3,)"),
        ("h_2 *= rate", "h_2 = (h_2 * rate).astype('f4')", "h_2 = (h_2", "has dtype float32"),
    ],
)
def test_an_edit_that_departs_is_named_by_its_line(file, old, new, line, said):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    found = tg.load(file, loss).verify(*ARGS)
    assert not found and not found.ok
    assert found.departure.statement.startswith(line)
    shown = file.read_text().splitlines()[found.departure.line - 1]
    assert shown.strip().startswith(line)
    assert said in str(found)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("program", PROGRAMS[3::8], ids=lambda p: p.name)
def test_a_scaled_gradient_is_named_by_its_line(program, tmp_path):
    """The last statement of the backward that names a gradient, in many programs."""
    f = tg.value_and_grad(
        program.new(),
        program.argnums,
        has_aux=program.has_aux,
        static_argnames=program.static_argnames,
    )
    path = f.export(tmp_path / "f.py", *program.args)
    text = path.read_text()
    program_of = tg.load(path)._facts["program"]
    whole = next(n for n in ast.parse(text).body if getattr(n, "name", "") == program_of)
    assigned = [n for n in ast.walk(whole) if isinstance(n, ast.Assign)]
    shown = {n: ast.unparse(n) for n in assigned}
    moving = [n for n in assigned if "_bar" in shown[n] and "np.zeros" not in shown[n]]
    last = max(moving, key=lambda n: n.lineno)
    old = ast.get_source_segment(text, last.value)
    lines = text.splitlines(keepends=True)
    start = sum(map(len, lines[: last.lineno - 1]))
    path.write_text(text[:start] + text[start:].replace(old, f"1.25 * ({old})", 1))
    found = tg.load(path, f).verify(*program.args)
    assert not found
    assert found.departure.line == last.lineno, str(found)


def test_edits_that_keep_the_numbers_verify(file):
    text = file.read_text()
    old = "    h_bar *= rate\n    # "
    assert old in text
    text = text.replace(old, "    factor = rate\n    h_bar = np.multiply(factor, h_bar)\n    # ")
    text = text.replace("value = (h_2 * h_2).sum()", "value = np.vdot(h_2, h_2)")
    file.write_text(text)
    found = tg.load(file, loss).verify(*ARGS)
    assert found, str(found)


def test_a_wrong_derivative_does_not_verify():
    class Wrong(tg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, ct):
            return ct * 2.01

    f = tg.grad(lambda x: Wrong.apply(x).sum())
    found = f.verify(np.ones(3))
    assert not found and "by differences" in str(found)
    assert tg.grad(lambda x: (x**3).sum()).verify(np.ones(3, np.float32))
    assert tg.compile(lambda x: x * 2).verify(np.ones(3))
    assert tg.grad(lambda z: abs(z * z).sum()).verify(np.array([1 + 2j, 0.5j]))


def test_a_file_that_is_no_export_is_refused(tmp_path):
    path = tmp_path / "other.py"
    path.write_text("x = 1\n")
    with pytest.raises(ExportError, match=r"was not written by \.export"):
        tg.load(path)
    with pytest.raises(ArgumentError, match="no Python file"):
        tg.load(tmp_path / "none.py")


def test_a_function_that_cannot_be_imported_is_asked_for(tmp_path):
    path = tg.grad(lambda x: x.sum()).export(tmp_path / "f.py", np.ones(2))
    with pytest.raises(ArgumentError, match="which cannot be imported: pass it"):
        tg.load(path).verify(np.ones(2))
    assert tg.load(path, lambda x: x.sum()).verify(np.ones(2))


class Scaled:
    def __call__(self, x):
        return 3.0 * x


@pytest.mark.parametrize(
    ("function", "file", "name"),
    [
        (lambda x: x * x, "slope", "slope"),
        (lambda x: x * x, "my-slope", "function"),
        (lambda x: x * x, "class", "function"),
        (functools.partial(lambda x: x * x), "slope", "slope"),
        (Scaled(), "slope", "Scaled"),
    ],
)
def test_a_lambda_is_called_as_its_file(function, file, name, tmp_path):
    slope = tg.grad(function)
    path = slope.export(tmp_path / f"{file}.py", 2.0)
    exported = runpy.run_path(str(path))
    assert exported[name](2.0) == slope(2.0) and exported["__tracegrad__"]["exported"] == name
    assert path.read_text().startswith(f'"""Gradient in x of {name}')


# -- where --------------------------------------------------------------------------------------


def test_lines_map_both_ways():
    f = tg.value_and_grad(loss)
    with pytest.raises(ArgumentError, match="pass its arguments"):
        f.where("test_export.py:1")
    start = loss.__code__.co_firstlineno
    found = f.where(f"tests/export/test_export.py:{start + 1}", *ARGS)
    assert [s.section for s in found] == ["forward", "backward"]
    assert "np.tanh" in found[0].text and "w_bar" in found[1].text
    lines = f.source(*ARGS).splitlines()
    for statement in found:
        assert lines[statement.line - 1].strip() == statement.text
        assert f.where(statement.line) == statement
        assert statement.place == f"test_export.py:{start + 1}"
    assert f.where("test_export.py:1") == ()
    with pytest.raises(ArgumentError, match="comes from no line of yours"):
        f.where(1)
    with pytest.raises(ArgumentError, match="no generated line 1000"):
        f.where(1000)
    every = [i for i, line in enumerate(lines, 1) if line.strip().startswith("# test_export.py:")]
    assert len(every) >= 8
    for i in every:
        assert lines[i - 1].strip() == f"# {f.where(i).place}  {f.where(i).user}"


# -- the documentation --------------------------------------------------------------------------


def test_imports_stand_in_groups(tmp_path):
    def steep(x):
        y = np.tanh(x) * np.exp(-x * x) + np.sqrt(x * x + 1)
        return np.sum(y * np.log1p(x * x))

    x = np.linspace(0.0, 1.0, 9000)
    path = tmp_path / "steep.py"
    f = tg.value_and_grad(steep)
    assert_same_bits(leaves(exported(f, path, x)(x)), leaves(f(x)))
    text = path.read_text()
    before = text[: text.index("__tracegrad__")].split("\n\n")
    assert before[-2:] == ["import numpy as np", ""]
    assert before[-3].endswith("from contextvars import copy_context\nfrom threading import Thread")


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_gradients_have_the_order_of_the_dicts_of_the_call(tmp_path, backend):
    if backend == "jax":
        pytest.importorskip("jax")

    def loss(p, scale, q):
        total = p["w"].sum() * scale * p["deep"][0]["z"] * p["deep"][0]["a"]
        return total + (q["b"] ** 2).sum() * q["a"]

    def params(keys, deep):
        values = {"w": np.array([1.0, 2.0]), "b": np.ones(3), "a": 2.0}
        return {k: [dict.fromkeys(deep, 1.5)] if k == "deep" else values[k] for k in keys}

    def order(tree):
        return [(k, [list(x) for x in v] if isinstance(v, list) else None) for k, v in tree.items()]

    first = params(["w", "deep"], "za"), 3.0, params(["b", "a"], "")
    other = params(["deep", "w"], "az"), 3.0, params(["a", "b"], "")
    for transform in (tg.grad, tg.value_and_grad):
        for argnums in (0, 2, (2, 0)):
            gradient = transform(loss, argnums=argnums, backend=backend)
            path = gradient.export(tmp_path / f"{transform.__name__}_file.py", *first)
            from_file = imported(path).loss
            for args in (first, other):
                found, expected = (f(*args) for f in (from_file, gradient))
                if transform is tg.value_and_grad:
                    found, expected = found[1], expected[1]
                pairs = [(found, expected)] if argnums != (2, 0) else zip(found, expected)
                for one, two in pairs:
                    assert order(one) == order(two)
                    for a, b in zip(leaves(one), leaves(two), strict=True):
                        np.testing.assert_allclose(a, b, 1e-12)


def test_a_folder_that_is_not_there(tmp_path):
    gradient = tg.grad(lambda x: np.sum(x * x))
    with pytest.raises(tg.errors.ExportError, match=r"there is no folder .*make it first"):
        gradient.export(tmp_path / "none" / "a.py", np.ones(2))
    (tmp_path / "file.py").write_text("")
    with pytest.raises(tg.errors.ExportError, match="there is no folder"):
        gradient.export(tmp_path / "file.py" / "a.py", np.ones(2))


@pytest.mark.filterwarnings("ignore:Explicitly requested dtype float64:UserWarning")
@pytest.mark.parametrize("c", [2.0, np.float32(2.0), np.float64(2.0)], ids=type)
def test_a_jax_export_takes_traced_numbers_of_its_types(tmp_path, c):
    jax = pytest.importorskip("jax")

    def scaled(x, c):
        return np.sum(np.sin(x) * (c * x[0]))

    f, x = tg.grad(scaled, backend="jax"), np.array([0.5, 1.0], np.float32)
    g = exported(f, tmp_path / "f.py", x, c)
    wanted = g(x, c)
    assert np.allclose(jax.jit(g)(x, c), wanted)
    assert np.allclose(jax.jit(lambda c: g(x, c))(c), wanted)
    assert np.allclose(jax.vmap(g, (0, None))(np.stack([x, x]), c), [wanted, wanted])
    with pytest.raises(TypeError, match=r"c must be .*export it again with such an array there"):
        jax.jit(g)(x, True)


@pytest.mark.parametrize("shape, axes", [((3,), "1 axis"), ((3, 2), "2 axes"), ((), "0 axes")])
def test_a_file_tells_how_many_axes_it_wants(shape, axes, tmp_path):
    module = imported(tg.compile(scaled).export(tmp_path / "scaled.py", np.ones(shape)))
    with pytest.raises(TypeError, match=f"an array of float64 with {axes}, not"):
        module.scaled(np.ones(shape, np.float32))


def scaled(x):
    return x * 2.0
