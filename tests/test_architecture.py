"""The source files themselves enter: who imports whom, what importing costs, how files open.

`tracegrad` imports `codegen`, never the other way round; nothing imports in a circle, not even in
functions; `codegen` stands on the standard library alone; optional packages wait until they are
asked for.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("codegen", "tracegrad")
MOST_LINES = 800


def name_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(path): path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))}


@cache
def tree_of(module):
    return ast.parse(FILES[module].read_text(encoding="utf-8"))


def is_typing_only(node):
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def imports(body, *, deep):
    """The import statements of a module: those run on import, or with `deep` all of them."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not deep:
            continue
        elif not is_typing_only(node):
            inner = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
            yield from imports(inner, deep=deep)


def imported(module, *, deep=False):
    """The full names that a module imports; of our own packages those that are modules."""
    found = set()
    for node in imports(tree_of(module).body, deep=deep):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
            continue
        assert node.level == 0, f"{module} imports by a relative name"
        for alias in node.names:
            inner = f"{node.module}.{alias.name}"
            found.add(inner if inner in FILES else node.module)
    return found


def top(name):
    return name.partition(".")[0]


# -- who imports whom ---------------------------------------------------------------------------


@pytest.mark.parametrize("module", [name for name in FILES if top(name) == "codegen"])
def test_codegen_stands_on_the_standard_library(module):
    at_import = {top(name) for name in imported(module)}
    assert at_import <= {*sys.stdlib_module_names, "codegen"}
    assert {top(name) for name in imported(module, deep=True)} - at_import <= {"black", "codegen"}


@pytest.mark.parametrize("module", [name for name in FILES if top(name) == "tracegrad"])
def test_importing_tracegrad_needs_numpy_alone(module):
    if FILES[module].name.startswith("jax") or module.startswith("tracegrad.scipy."):
        return  # a backend's own file, or SciPy's names: imported when they are asked for
    at_import = {top(name) for name in imported(module)}
    assert at_import <= {*sys.stdlib_module_names, "codegen", "tracegrad", "numpy"}


def test_backends_are_imported_inside_functions():
    backends = [name for name, path in FILES.items() if path.name.startswith("jax")]
    ours = [name for name in backends if top(name) == "tracegrad"]
    for module in FILES:
        if module not in ours:
            assert not imported(module) & set(ours), module


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_imports_in_a_circle(package):
    ours = [name for name in FILES if top(name) == package]
    graph = {name: imported(name, deep=True) & FILES.keys() for name in ours}
    # A package's __init__ runs before its modules: importing it from inside would be a circle, and
    # its own imports are its contents.
    done: set[str] = set()

    def visit(module, path):
        assert module not in path, " -> ".join((*path[path.index(module) :], module))
        if module not in done:
            for other in sorted(graph.get(module, ())):
                visit(other, (*path, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_no_module_imports_its_own_package():
    for module in FILES:
        if "." in module:
            assert module.rpartition(".")[0] not in imported(module), module


# -- what importing does ------------------------------------------------------------------------

BLOCK = """
import sys


class Refuse:
    def __init__(self, names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"{name} is not to be imported here")


allowed, blocked = eval(sys.argv[1])
known = sys.stdlib_module_names
if allowed is not None:
    class Only(Refuse):
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] not in self.names:
                raise ModuleNotFoundError(f"{name} is not to be imported here")

    sys.meta_path.insert(0, Only({*known, *allowed}))
sys.meta_path.insert(0, Refuse(blocked))
"""


def run(program, allowed=None, blocked=()):
    """Runs a program in a process in which only the standard library and `allowed` are there."""
    result = subprocess.run(
        [sys.executable, "-c", BLOCK + program, repr((allowed, blocked))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_importing_tracegrad_imports_nothing_optional():
    shown = run("import tracegrad\nprint({name.partition('.')[0] for name in sys.modules})")
    assert not eval(shown) & {"jax", "jaxlib", "black", "scipy", "matplotlib", "pytest"}


def test_tracegrad_works_with_numpy_alone():
    program = """
import numpy as np
import tracegrad as tg

def loss(w, x):
    h = np.tanh(x @ w)
    return np.mean(h * h)

w, x = np.ones((3, 2)), np.ones((4, 3))
value, gradient = tg.value_and_grad(loss)(w, x)
t = tg.tensor([1.0, 2.0], requires_grad=True)
(t * t).sum().backward()
print(gradient.shape, t.grad.tolist())
"""
    assert run(program, allowed={"numpy", "tracegrad", "codegen"}) == "(3, 2) [2.0, 4.0]\n"


def test_codegen_works_with_nothing_at_all():
    """Parse, optimize, verify, emit and load, with a client that is not tracegrad."""
    program = """
sys.path.insert(0, "tests")
import toy
from codegen import emit, load, optimize

graph = toy.graph('''
graph f(x: float64[], y: float64[]) {
  %a = constant(1.0)
  %b = mul(%x, %a)
  %c = neg(%b)
  %d = neg(%c)
  %e = sub(%y, %d)
  %g = mul(%e, %e)
  return %g
}
''')
optimized = optimize(graph, toy.CLIENT, check=True)
sources = [emit(optimized, target) for target in ("numpy", "jax")]
text = sources[0].text.replace("import numpy as np", "")
print(load(text, "f")(3.0, 5.0), sorted({"numpy", "tracegrad", "black"} & set(sys.modules)))
"""
    blocked = {"tracegrad", "numpy", "black", "jax"}
    assert run(program, allowed={"codegen", "toy"}, blocked=blocked) == "(4.0,) []\n"


# -- how files read -----------------------------------------------------------------------------


@pytest.mark.parametrize("module", FILES)
def test_a_file_opens_by_saying_what_it_is_for(module):
    text = FILES[module].read_text(encoding="utf-8")
    if FILES[module].name == "__init__.py" and not text.strip():
        return
    summary = (ast.get_docstring(tree_of(module)) or "").partition("\n\n")[0]
    assert summary.endswith((".", ":")), f"{module} opens with {summary!r}"
    assert len(summary.split()) >= 4


@pytest.mark.parametrize("module", FILES)
def test_a_file_holds_one_concept_and_no_more_lines_than_that_takes(module):
    assert len(FILES[module].read_text(encoding="utf-8").splitlines()) <= MOST_LINES
