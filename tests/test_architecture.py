"""Reads the source files themselves: who imports whom, what importing costs, how files open.

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
MOST_FILES_AT_THE_ROOT = 13
PAGE = ROOT / "docs" / "architecture.md"

ORDER = (
    *("runtime", "errors", "values", "config", "machine", "ops", "special", "random", "user_code"),
    *(
        "differentiation",
        "tape",
        "tensors",
        "linalg",
        "fft",
        "arguments",
        "traced_scipy",
        "backends",
    ),
    *("tracing", "optimizer", "fast_math", "execution", "autograd", "world", "compiled", "eager"),
    *("introspection", "export", "transforms", "extend", "tracer", "core", "builtins", "wrap_util"),
    *("differential_operators", "misc", "test_util", "nn", "optim", "numpy", "scipy", "examples"),
    "__main__",
)
"""The packages and modules of tracegrad: each imports only those before it."""

DEFERRED = {
    "codegen.emit.formatting": {"black"},
    "tracegrad.backends.kernel_cache": {"llvmlite"},
    "tracegrad.backends.numba": {"numba"},
    "tracegrad.backends.numba_functions": {
        "llvmlite",
        "numba",
        "numba.core",
        "numba.extending",
        "scipy",
    },
    "tracegrad.execution.pipeline": {"tracegrad.backends.jax", "tracegrad.backends.numba"},
    "tracegrad.machine.newer_instructions": {"string.templatelib"},
    "tracegrad.ops.nn.pooling": {"itertools"},
    "tracegrad.ops.shape.sliding_windows": {"itertools"},
    "tracegrad.random.key_generator": {"jax"},
    "tracegrad.special": {"scipy"},
    "tracegrad.tensors.devices": {"tracegrad.values.jax_library"},
    "tracegrad.export.writer": {"tracegrad.backends.jax"},
    "tracegrad.tracing.compile_budget": {"tracegrad.backends.jax"},
    "tracegrad.tracing.outputs": {"tracegrad.backends.jax"},
    "tracegrad.tracing.trace": {"tracegrad.backends.jax"},
    "tracegrad.transforms.call": {"tracegrad.transforms.jax_calls"},
    "tracegrad.transforms.compiled_callable": {"tracegrad.backends.jax"},
    "tracegrad.transforms.load": {"tracegrad.backends.jax", "tracegrad.values.jax_library"},
    "tracegrad.transforms.implicit_functions": {"scipy", "scipy.optimize"},
    "tracegrad.transforms.ode_solvers": {"scipy", "scipy.optimize"},
    "tracegrad.transforms.quadrature": {"scipy"},
    "tracegrad.transforms.sparse_derivatives": {"scipy"},
    "tracegrad.transforms.sparsity": {"scipy"},
    "tracegrad.transforms.vjp": {"tracegrad.backends.jax"},
    "tracegrad.values.jax_library": {"jax.experimental"},
    "tracegrad.values.pytree": {"tracegrad.values.jax_library"},
}
"""What modules import inside functions: optional libraries, and what stands on one of them. This
list may only get shorter."""

ON_JAX = {
    "tracegrad.backends.jax",
    "tracegrad.backends.jax_shard_map",
    "tracegrad.transforms.jax_calls",
    "tracegrad.values.jax_library",
}
"""What imports JAX, and what stands on that: imported where JAX is asked for."""


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


def test_codegen_stands_on_the_standard_library():
    for module in (name for name in FILES if top(name) == "codegen"):
        at_import = {top(name) for name in imported(module)}
        later = {top(name) for name in imported(module, deep=True)} - at_import
        assert at_import <= {*sys.stdlib_module_names, "codegen"}, module
        assert later <= {"black", "codegen"}, module


def test_importing_tracegrad_needs_numpy_alone():
    for module in (name for name in FILES if top(name) == "tracegrad"):
        if module in ON_JAX or module.startswith("tracegrad.scipy."):
            continue  # JAX's own files, or SciPy's names: imported when they are asked for
        at_import = {top(name) for name in imported(module)}
        assert at_import <= {*sys.stdlib_module_names, "codegen", "tracegrad", "numpy"}, module


def test_jax_is_imported_inside_functions():
    assert {module for module in FILES if "jax" in map(top, imported(module))} <= ON_JAX
    for module in FILES.keys() - ON_JAX:
        assert not imported(module) & ON_JAX, module


def test_what_is_imported_inside_functions_is_on_the_list():
    found = {module: imported(module, deep=True) - imported(module) for module in FILES}
    assert {module: names for module, names in found.items() if names} == DEFERRED


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


def package_of(module):
    """What a module is part of, in `ORDER`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "tracegrad" else parts[0]


def test_packages_import_those_before_them():
    place = {package: i for i, package in enumerate(ORDER)}
    assert {package_of(module) for module in FILES} == {*ORDER, "codegen", "tracegrad"}
    for module in FILES.keys() - {"tracegrad"}:
        for other in imported(module, deep=True) & FILES.keys():
            a, b = package_of(module), package_of(other)
            if a not in PACKAGES and b not in PACKAGES:
                assert place[b] <= place[a], f"{module} imports {other}"


def test_few_files_are_at_the_root():
    at_root = [path for path in FILES.values() if path.parent == ROOT / "tracegrad"]
    assert len(at_root) <= MOST_FILES_AT_THE_ROOT


def test_no_module_imports_its_own_package():
    for module in FILES:
        if "." in module:
            assert module.rpartition(".")[0] not in imported(module), module


# -- the page about it ----------------------------------------------------------------------------

BEGIN, END = "<!-- packages, from their imports -->\n", "<!-- end of packages -->\n"


def imports_of_packages():
    """By package in order, the packages that its modules import."""
    found = {package: set() for package in ("codegen", *ORDER)}
    for module in FILES.keys() - {"tracegrad"}:
        others = {package_of(m) for m in imported(module, deep=True) & FILES.keys()}
        found[package_of(module)] |= others - {package_of(module), "tracegrad"}
    return found


def without_detours(graph):
    """The same picture with no arrow that a longer way says as well."""

    @cache
    def below(package):
        return frozenset(graph[package]).union(*map(below, graph[package]))

    return {p: {q for q in to if not any(q in below(r) for r in to)} for p, to in graph.items()}


def summary_of(package):
    module = package if package == "codegen" else f"tracegrad.{package}"
    return " ".join((ast.get_docstring(tree_of(module)) or "").partition("\n\n")[0].split())


def packages_page():
    """The table and the picture of packages, as they stand in docs/architecture.md."""
    graph = imports_of_packages()
    lines = ["| package | what it is for |", "| --- | --- |"]
    lines += [f"| `{package}` | {summary_of(package)} |" for package in graph]
    lines += ["", "```mermaid", "flowchart TB"]
    for package, others in without_detours(graph).items():
        lines += [f"    {other} --> {package}" for other in graph if other in others]
    return "\n".join([*lines, "```", ""])


def with_packages(page):
    before, rest = page.split(BEGIN)
    return before + BEGIN + packages_page() + END + rest.split(END)[1]


def test_the_page_shows_the_packages(request):
    page = PAGE.read_text(encoding="utf-8")
    if request.config.getoption("--update-golden"):
        PAGE.write_text(with_packages(page), encoding="utf-8", newline="\n")
    else:
        assert page == with_packages(page), "--update-golden draws it anew"


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
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_importing_tracegrad_imports_nothing_optional():
    shown = run("import tracegrad\nprint({name.partition('.')[0] for name in sys.modules})")
    assert not eval(shown) & {"jax", "jaxlib", "black", "scipy", "matplotlib", "pytest"}


def test_dir_shows_the_public_names_and_no_others():
    program = """
from types import ModuleType
import tracegrad as tg
import tracegrad.numpy

shown = {name for name in dir(tg) if not name.startswith("__")}
modules = {name for name in shown if isinstance(getattr(tg, name), ModuleType)}
print(shown == {*tg.__all__}, modules)
"""
    same, _, modules = run(program).partition(" ")
    public = {"autograd", "config", "errors", "fft", "linalg", "nn", "optim", "random", "special"}
    assert (same, eval(modules)) == ("True", public)


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


def test_a_file_opens_by_saying_what_it_is_for():
    for module, path in FILES.items():
        if path.name == "__init__.py" and not path.read_text(encoding="utf-8").strip():
            continue
        summary = (ast.get_docstring(tree_of(module)) or "").partition("\n\n")[0]
        assert summary.endswith((".", ":")), f"{module} opens with {summary!r}"
        assert len(summary.split()) >= 4, f"{module} opens with {summary!r}"


def test_a_file_holds_one_concept_and_no_more_lines_than_that_takes():
    lines = {m: len(f.read_text(encoding="utf-8").splitlines()) for m, f in FILES.items()}
    assert {m: n for m, n in lines.items() if n > MOST_LINES} == {}
