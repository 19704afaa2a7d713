"""What all tests share: golden files, verified graphs, and reproducible random examples."""

from __future__ import annotations

import difflib
import gc
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tracegrad import config
from tracegrad.tracing import compile_budget
from tracegrad.transforms import made_again
from tracegrad.world.loops.loop_heads import KNOWN_LOOPS
from tracegrad.world.loops.unrolling_reasons import REASONS
from tracegrad.world.loops.while_tests import TESTED_LAST

GOLDEN = Path(__file__).parent / "golden"

EXAMPLES = {"sampled": 40, "long": 400}
for name, most in EXAMPLES.items():
    hypothesis.settings.register_profile(
        name, deadline=None, derandomize=True, database=None, max_examples=most
    )

gc.set_threshold(100_000, 20, 100)  # each collection calls XLA's as well
config.check = True  # every graph is verified after every pass
compile_budget.clock = lambda: (
    0.0
)  # and compiling costs what it costs: no machine is too slow for a test


@pytest.fixture(autouse=True, scope="module")
def nothing_compiles_behind() -> Iterator[None]:
    """Threads that compile kernels catch warnings: those of the next module would be lost."""
    yield
    backend = sys.modules.get("tracegrad.backends.numba")
    for thread in [*getattr(backend, "_COMPILING", ())]:
        thread.join()


@pytest.fixture(autouse=True)
def none_made_before() -> None:
    """A transform that a test makes has nothing of those in other tests."""
    made_again.forget()


@pytest.fixture(autouse=True, scope="module")
def collected() -> Iterator[None]:
    """What a module leaves stays: later collections of garbage need not look at it."""
    yield
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write tests/golden anew from what is emitted"
    )
    parser.addoption(
        "--long", action="store_true", help="run all cases of the tests that are sampled"
    )


def pytest_configure(config: pytest.Config) -> None:
    """How many examples tests of hypothesis draw, which do not say it themselves.

    And XLA optimizes nothing, which takes a third of the time: what it is given is the same, and
    programs run once or twice. With ``--long`` it does what it does for users.
    """
    everything = config.getoption("--long")
    hypothesis.settings.load_profile("long" if everything else "sampled")
    if not everything:
        os.environ.setdefault("XLA_FLAGS", " ".join(_quickly_compiled()))


def _quickly_compiled() -> Iterator[str]:
    """Flags with which XLA optimizes nothing, as far as it knows them: others end the process."""
    yield "--xla_backend_optimization_level=0"
    package = find_spec("jaxlib")
    for path in Path(package.origin).parent.glob("libjax_common*") if package else ():
        with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as library:
            if library.find(b"xla_cpu_use_fusion_emitters") >= 0:
                yield "--xla_cpu_use_fusion_emitters=false"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test marked ``sampled(n)`` every n-th case runs, with ``--long`` all.

    ``sampled(n, first)`` begins with another case than the first, so that two tests of the same
    cases run different ones.
    """
    if config.getoption("--long"):
        return
    seen: Counter[str] = Counter()
    left_out = []
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is None:
            continue
        test = item.nodeid.partition("[")[0]
        every, first = (*mark.args, 0)[:2]
        if seen[test] % every != first:
            left_out.append(item)
        seen[test] += 1
    gone = set(map(id, left_out))
    items[:] = [item for item in items if id(item) not in gone]
    config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish() -> None:
    """What collecting made stays until the end: the garbage collector need not look at it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def few(request: pytest.FixtureRequest) -> Callable[[Sequence[Any], int], Sequence[Any]]:
    """``few(cases, n)``: at most n cases, spread over all of them; with ``--long`` all."""
    everything = request.config.getoption("--long")

    def chosen(cases: Sequence[Any], most: int) -> Sequence[Any]:
        return cases if everything else cases[:: -(-len(cases) // most) or 1]

    return chosen


@pytest.fixture
def fresh_loops() -> Iterator[None]:
    """No loop is known not to close, and none warns that it is unrolled."""
    KNOWN_LOOPS["numpy"].clear()
    REASONS["numpy"].clear()
    TESTED_LAST.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """``golden(name, text)``: the text is that of ``tests/golden/<name>``, byte for byte.

    A name without a suffix is a Python file. With ``--update-golden`` the file is written.
    """
    update = request.config.getoption("--update-golden")

    def compare(name: str, text: str) -> None:
        path = GOLDEN / (name if Path(name).suffix else f"{name}.py")
        if update:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            return
        if not path.exists():
            pytest.fail(f"no golden file {path.name}; --update-golden writes it:\n{text}")
        kept = path.read_bytes().decode("utf-8")
        if kept != text:
            lines = (kept.splitlines(keepends=True), text.splitlines(keepends=True))
            difference = "".join(difflib.unified_diff(*lines, f"golden/{path.name}", "emitted"))
            pytest.fail(f"not the golden text; --update-golden accepts it:\n{difference}")

    return compare
