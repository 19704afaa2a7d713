"""The table of README.md beside other libraries: each row names the test here that shows it.

Each cell that says yes or no is a run of that library; those that are not installed are left out.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import tracegrad as tg

README = Path(__file__).parents[2] / "README.md"
X = np.array([0.5, 2.0])
RATE = 1.0


@pytest.fixture
def jax():
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        yield jax


@pytest.fixture
def autograd():
    return pytest.importorskip("autograd")


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def rows():
    table = (
        README.read_text(encoding="utf-8").partition("\n| | tracegrad |")[2].partition("\n\n")[0]
    )
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()[2:]]


def test_every_row_names_a_test():
    assert len(rows()) >= 7
    for _, *cells, tests in rows():
        assert len(cells) == 4 and all(re.match(r"yes|no|—", cell) for cell in cells)
        names = re.findall(r"`(test_\w+)`", tests)
        assert names and all(name in globals() for name in names)
        assert (cells[1] == "—") != any(name.endswith("_in_torch") for name in names)


# -- the gradient is Python source ----------------------------------------------------------------


def test_source_of_tracegrad():
    source = tg.grad(lambda x: np.sum(np.tanh(x))).source(X)
    compile(source, "gradient.py", "exec")
    assert "def function_grad(x):" in source


def test_source_is_python(jax, autograd):
    """JAX's program is a jaxpr or HLO; HIPS autograd has nodes of a tape."""
    test_source_of_tracegrad()
    for text in (
        str(jax.make_jaxpr(jax.grad(lambda x: jax.numpy.sum(jax.numpy.tanh(x))))(X)),
        jax.jit(jax.grad(lambda x: jax.numpy.sum(jax.numpy.tanh(x)))).lower(X).as_text(),
    ):
        with pytest.raises(SyntaxError):
            compile(text, "gradient.py", "exec")
    assert not hasattr(autograd.grad(lambda x: x), "source")


def test_source_in_torch(torch):
    x = torch.tensor(X, requires_grad=True)
    assert not hasattr(torch.sum(torch.tanh(x)).grad_fn, "source")


# -- a loop of Python's stays a loop --------------------------------------------------------------


def cumulated(module):
    def f(x):
        h = 0.0
        for i in range(x.shape[0]):
            h = module.tanh(h + x[i])
        return h

    return f


def test_loops_do_not_grow(jax, autograd):
    """The program of a loop of ten times as many turns is as long."""
    compiled = tg.grad(cumulated(np))
    sizes = [len(compiled.source(np.ones(n)).splitlines()) for n in (20, 200)]
    assert sizes[0] == sizes[1]

    gradient = jax.grad(cumulated(jax.numpy))
    sizes = [len(str(jax.make_jaxpr(gradient)(np.ones(n)))) for n in (20, 200)]
    assert sizes[1] > 8 * sizes[0]

    calls = []
    from autograd.extend import defvjp, primitive

    tanh = primitive(np.tanh)
    defvjp(tanh, lambda ans, x: lambda g: (calls.append(1), g * (1 - ans * ans))[1])

    class Module:
        pass

    Module.tanh = staticmethod(tanh)
    sizes = []
    for n in (20, 200):
        calls.clear()
        autograd.grad(cumulated(Module))(np.ones(n))
        sizes.append(len(calls))  # nodes of the tape
    assert sizes == [20, 200]


def test_loops_in_torch(torch):
    def nodes(n):
        todo, seen = [cumulated(torch)(torch.ones(n, requires_grad=True)).grad_fn], set()
        while todo:
            node = todo.pop()
            if node is not None and node not in seen:
                seen.add(node)
                todo += [other for other, _ in node.next_functions]
        return len(seen)

    assert nodes(200) > 8 * nodes(20)


# -- Python may look at values in what is compiled ------------------------------------------------


def branching(x):
    if x[0] > 0.0:
        return (x * x).sum()
    return x.sum()


def test_branches_in_compiled_code(jax):
    compiled = tg.grad(branching)
    assert [compiled(x).tolist() for x in (X, -X)] == [[1.0, 4.0], [1.0, 1.0]]
    assert compiled.cache_info().versions == 1
    with pytest.raises(jax.errors.TracerBoolConversionError):
        jax.jit(jax.grad(branching))(X)


# -- what is read from outside is read again ------------------------------------------------------


def test_globals_are_read_by_every_call(jax, autograd, monkeypatch):
    def f(x):
        return RATE * x * x

    ours, theirs, eager = tg.grad(f), jax.jit(jax.grad(f)), autograd.grad(f)
    assert ours(1.0) == theirs(1.0) == eager(1.0) == 2.0
    monkeypatch.setattr(sys.modules[__name__], "RATE", 2.0)
    assert ours(1.0) == eager(1.0) == 4.0
    assert theirs(1.0) == 2.0


def test_globals_in_torch(torch, monkeypatch):
    def f(x):
        return RATE * x * x

    x = torch.tensor(1.0)
    assert torch.func.grad(f)(x) == 2.0
    monkeypatch.setattr(sys.modules[__name__], "RATE", 2.0)
    assert torch.func.grad(f)(x) == 4.0


# -- arrays may be filled -------------------------------------------------------------------------


def filled(module):
    def f(x):
        y = module.zeros(2)
        y[0] = x[1] * 3.0
        return (y * y).sum()

    return f


def test_arrays_may_be_filled(jax, autograd):
    assert tg.grad(filled(np))(X).tolist() == [0.0, 36.0]
    with pytest.raises(TypeError, match="immutable"):
        jax.grad(filled(jax.numpy))(jax.numpy.asarray(X))
    with pytest.raises((ValueError, TypeError)):
        autograd.grad(filled(np))(X)


def test_arrays_in_torch(torch):
    x = torch.tensor(X, requires_grad=True)
    filled(torch)(x).backward()
    assert x.grad.tolist() == [0.0, 36.0]


# -- a file that needs NumPy alone ----------------------------------------------------------------


def test_an_export_needs_numpy_alone(tmp_path):
    def loss(x):
        return np.sum(np.tanh(x))

    tg.grad(loss).export(tmp_path / "gradient.py", X)
    text = (tmp_path / "gradient.py").read_text(encoding="utf-8")
    names: dict = {}
    exec(text, names)
    assert np.array_equal(names["loss"](X), tg.grad(loss)(X))
    imported = re.findall(r"^ *(?:import|from) (\w+)", text, re.MULTILINE)
    assert set(imported) == {"numpy"}


# -- sparse derivatives ---------------------------------------------------------------------------


def test_sparse_jacobians(jax, autograd):
    sparse = pytest.importorskip("scipy.sparse")

    def f(x):
        return x[1:] * x[:-1]

    found = tg.jacobian(f, sparse=True)(np.ones(5))
    assert sparse.issparse(found) and (found.shape, found.nnz) == ((4, 5), 8)
    assert isinstance(jax.jacobian(f)(np.ones(5)), jax.Array)
    assert isinstance(autograd.jacobian(f)(np.ones(5)), np.ndarray)


def test_jacobians_in_torch(torch):
    x = torch.ones(5)
    found = torch.autograd.functional.jacobian(lambda x: x[1:] * x[:-1], x)
    assert found.layout is torch.strided
    assert torch.func.jacrev(lambda x: x[1:] * x[:-1])(x).layout is torch.strided
