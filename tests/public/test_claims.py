"""README.md and the first page of the site enter; each sentence names what holds it.

A sentence is found by words of it. What holds it is a test of the suite (``file::test``), or a
command; what no other file shows has a test of its own here.
"""

from __future__ import annotations

import ast
import bdb
import importlib.util
import linecache
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

ROOT = Path(__file__).parents[2]
PAGES = {
    "README.md": ROOT / "README.md",
    "docs/index.md": ROOT / "docs" / "index.md",
}

RUNS = "public/test_docs.py::test_a_page_runs_and_prints_what_it_shows"
SENTENCES = "public/test_claims.py::test_a_sentence_names_what_holds_it"
LINKS = "public/test_docs.py::test_links_lead_somewhere"
LIMITS = ["public/test_limits.py::test_is_refused", "public/test_limits.py::test_runs_eagerly"]
SAME_BITS = ["test_programs.py::test_compiled_equals_eager"]
CONTROL_FLOW = [
    "tracing/test_control_flow.py::test_nothing_returns_to_python_after_a_warm_up",
    "tracing/test_control_flow.py::test_one_return_at_most_for_each_path_seen",
]
STALE = ["world/test_staleness.py::test_random_edits", "world/test_mutations.py"]
EXPORT = ["public/test_comparison.py::test_an_export_needs_numpy_alone"]
LOOPS = ["public/test_comparison.py::test_loops_do_not_grow"]

HELD: dict[str, dict[str, list[str]]] = {
    "README.md": {
        "takes a plain Python function": [RUNS],
        "runs the function once": ["test_tiny.py", "public/test_claims.py::test_it_runs_once"],
        "what runs on every later call": ["public/test_claims.py::test_the_source_is_what_runs"],
        "step through it in a debugger": [
            "public/test_claims.py::test_the_source_is_what_runs",
            "codegen/test_emit.py::test_tracebacks_and_inspect_show_the_generated_lines",
        ],
        "need only Python 3.11 to 3.14": [
            "public/test_release.py::test_the_page_of_installing_says_what_pythons_there_are"
        ],
        "make a virtual environment": ["./dev test"],
        "Train a classifier": ["./dev demo"],
        "Run the tests": ["./dev test"],
        "project of your own": [
            "public/test_release.py::test_the_first_quarter_of_an_hour_elsewhere"
        ],
        "Functions take arrays, numbers": [
            "arguments/test_arguments.py::test_nested_and_empty_containers",
            "arguments/test_argument_types.py::test_settings_in_a_dataclass",
        ],
        "own functions are recorded": ["tensors/test_numpy_functions.py"],
        "early returns and writes": [
            *CONTROL_FLOW,
            "transforms/test_transforms.py::test_recursion_on_values",
            "world/test_caught_exceptions.py",
            "world/test_filled.py",
        ],
        "This has limits": LIMITS,
        "an `if` in the source": CONTROL_FLOW,
        "recorded when it is first taken": CONTROL_FLOW,
        "stays a loop, forward and backward": [
            *LOOPS,
            "public/test_claims.py::test_a_loop_stays_a_loop_forward_and_backward",
            "world/test_random_loop_programs.py",
        ],
        "unrolled instead": ["tracing/test_compile_budget.py::test_an_unrolled_loop_is_named"],
        "Effects that no program can repeat": ["public/test_limits.py::test_runs_eagerly"],
        "more than 32 programs": [
            "public/test_limits.py::test_runs_eagerly",
            "transforms/test_transforms.py::test_too_many_versions_stay_right",
        ],
        "A few things are refused": ["public/test_limits.py::test_is_refused"],
        "lists them, with what to write": [
            "public/test_limits.py::test_every_row_has_a_program",
        ],
        "A function that runs eagerly gives": LIMITS,
        "What is refused raises": ["public/test_limits.py::test_is_refused"],
        "`tg.hvp`, `tg.vmap` and others": [
            "public/test_public_functions.py::test_it_is_a_function_that_tells_what_it_does"
        ],
        "nest to any order": [
            "transforms/test_transforms.py::test_nested_in_any_order",
            "transforms/test_transform_pairs.py::test_nested_transforms_are_those_of_jax",
        ],
        "can be sparse": ["public/test_comparison.py::test_sparse_jacobians"],
        "gives the bits of an eager call": SAME_BITS,
        "never stale": STALE,
        "serves all lengths": ["compiled/test_free_lengths.py::test_one_trace_serves_sizes"],
        "NumPy source is the default": [RUNS],
        "to machine code, with the same bits": [
            "backends/test_numba.py::"
            "test_machine_code_and_its_text_and_numpy_source_have_the_same_bits",
        ],
        "as soon as Python has spent a second": [
            "backends/test_numba.py::test_auto_compiles_what_python_has_spent_a_second_in",
        ],
        "writes a JAX program": [
            "backends/test_jax_backend.py::test_the_source_is_a_jitted_function",
            "transforms/test_jax_tracers.py::test_transforms_nest_in_any_order",
        ],
        "bounds what loops keep": [
            "differentiation/test_loop_segments.py::"
            "test_the_peak_is_within_the_budget_and_the_header_says_so"
        ],
        "The bits stay the same": ["transforms/test_checkpoint.py::test_the_same_bits_compiled"],
        "has `backward()`, hooks": ["public/test_seeds.py", "autograd/test_autograd.py"],
        "have PyTorch's names": ["public/test_nn.py", "public/test_optim.py"],
        "array API standard": [
            "tensors/test_array_api.py::test_every_function_of_the_standard_is_here",
            "public/test_ops_page.py::test_every_function_is_described",
        ],
        "how each is tested": ["public/test_ops_page.py::test_the_page_is_up_to_date"],
        "`f.source()` is the program": [
            "introspection/test_readable_source.py::test_the_source_computes_what_the_function_does",
            "introspection/test_readable_source.py::test_the_report_of_versions_is_the_one_shown",
            "introspection/test_report.py",
            "introspection/test_drawing.py",
        ],
        "names the first `nan`": ["execution/test_nonfinite.py"],
        "a file that needs NumPy alone": EXPORT,
        "has the tables and the commands": ["python -m tests.benchmarks.peers", LINKS],
        "gives up the equal bits": [
            "test_programs.py::test_fast_math_stays_within_rounding",
            "python -m tests.benchmarks.peers",
        ],
        "Each row names the tests": ["public/test_comparison.py::test_every_row_names_a_test"],
        "A dash means": ["public/test_comparison.py::test_every_row_names_a_test"],
        "`torch.compile` was not used": ["public/test_comparison.py::test_every_row_names_a_test"],
        "How fast each is": ["python -m tests.benchmarks.peers"],
        "`python -m tests.benchmarks.peers`": ["python -m tests.benchmarks.peers"],
        "had the same aim": ["pip install tangent==0.1.9"],
        "could not be imported": ["pip install tangent==0.1.9"],
        "builds it as a site": ["./dev docs"],
        "has an entry in `tests/public/test_claims.py`": [SENTENCES],
    },
    "docs/index.md": {
        "takes a Python function": [RUNS],
        "has an entry in `tests/public/test_claims.py`": [SENTENCES],
        "The tests that hold the most": [
            "public/test_docs.py::test_tests_that_pages_name_are_there"
        ],
        "it carries your names": [
            "introspection/test_readable_source.py::test_nine_in_ten_statements_have_a_name_of_the_users",
            "public/test_claims.py::test_the_source_is_what_runs",
        ],
        "work on values": CONTROL_FLOW,
        "A branch stays a branch": [*CONTROL_FLOW, *LOOPS],
        "what runs without being compiled": ["public/test_limits.py::test_every_row_has_a_program"],
        "names the exceptions": ["public/test_limits.py::test_every_row_has_a_program"],
        "names the line of yours": [
            "introspection/test_readable_source.py::"
            "test_every_statement_has_the_line_on_which_its_operation_stands"
        ],
        "explains one line by line": [RUNS],
        "gives the bits of an eager call": SAME_BITS,
        "never stale": STALE,
        "writes a file that needs NumPy alone": EXPORT,
        "writes JAX source": ["test_programs.py::test_the_jax_backend"],
        "elementwise operations, to machine code": ["backends/test_numba.py"],
        "**You can read the gradient.**": [RUNS],
        "**You can take the source away.**": EXPORT,
        "**The same function runs on JAX.**": ["test_programs.py::test_the_jax_backend"],
    },
}


@dataclass(frozen=True)
class Sentence:
    page: str
    text: str


def sentences() -> list[Sentence]:
    """The sentences of both pages, without code, tables, and the lists of where to go next."""
    found = []
    for page, path in PAGES.items():
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
        text = re.sub(r"<table>.*?</table>", "", text, flags=re.DOTALL)
        for line in text.splitlines():
            if line.startswith(("#", "|")) or re.match(r"\d\. |MIT, see", line):
                continue
            parts = re.split(r"(?<=[.:])\s+(?=[A-Z`\[*])", line.removeprefix("- ").strip())
            found += [Sentence(page, part) for part in parts if re.search(r"\w{3}", part)]
    return [s for s in found if not re.fullmatch(r"(In reading order:|\*\*\w[^*]*\*\*)", s.text)]


@pytest.mark.parametrize("sentence", sentences(), ids=lambda s: f"{s.page}: {s.text[:50]}")
def test_a_sentence_names_what_holds_it(sentence: Sentence) -> None:
    assert any(words in sentence.text for words in HELD[sentence.page]), "held by nothing"


@pytest.mark.parametrize("page", PAGES)
def test_no_entry_is_of_a_sentence_that_went(page: str) -> None:
    texts = [sentence.text for sentence in sentences() if sentence.page == page]
    for words in HELD[page]:
        assert any(words in text for text in texts), words


HOLDERS = sorted({holder for page in HELD.values() for held in page.values() for holder in held})


@pytest.mark.parametrize("holder", HOLDERS)
def test_what_holds_a_sentence_is_there(holder: str) -> None:
    if holder.startswith("./dev "):
        assert re.search(rf"\b{holder.split()[1]}\b", (ROOT / "dev").read_text(encoding="utf-8"))
    elif holder.startswith("python -m "):
        assert importlib.util.find_spec(holder.split()[2]) is not None
    elif not holder.startswith("pip "):
        file, _, test = holder.partition("::")
        assert not test or test in names_in(file), f"no {test} in {file}"
        assert any(name.startswith("test_") for name in names_in(file))


@cache
def names_in(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


# -- what no other file shows ---------------------------------------------------------------------


def test_it_runs_once() -> None:
    ran: list[Any] = []

    @tg.value_and_grad
    def loss(w):
        note()
        return np.sum(np.tanh(w) ** 2)

    def note() -> None:
        ran.append(tg.config.backend)  # the program appends as well: it is what runs then

    for k in range(1, 5):
        loss(np.full(3, float(k)))
    assert len(ran) == 4 and loss.cache_info().traces == 1 and loss.cache_info().hits == 3


def over_a_range(w, x):
    for i in range(len(x)):
        w = np.tanh(w + x[i])
    return w


def over_rows(w, x):
    for row in x:
        w = np.tanh(w + row)
    return w


def while_it_is_small(w, x):
    while w < np.sum(x):
        w = w + 0.5 * np.tanh(w)
    return w


@pytest.mark.parametrize("f", [over_a_range, over_rows, while_it_is_small])
def test_a_loop_stays_a_loop_forward_and_backward(f: Any) -> None:
    loss = tg.value_and_grad(f)
    sources = {loss.source(0.5, np.ones(n)) for n in (20, 200)}
    assert len(sources) == 1 and loss.cache_info().traces == 1
    forward, _, backward = sources.pop().partition("# backward")
    for part in (forward, backward):
        assert len(re.findall(r"^ +(?:for|while) ", part, re.MULTILINE)) == 1


class Stepper(bdb.Bdb):
    """A debugger that steps through a call and notes each line, as it would show it."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[str, dict[int, str]] = {}

    def user_line(self, frame: Any) -> None:
        file, line = frame.f_code.co_filename, frame.f_lineno
        self.lines.setdefault(file, {})[line] = linecache.getline(file, line)
        self.set_step()


def test_the_source_is_what_runs() -> None:
    """A debugger that steps through a later call shows the lines of `source`, and none of loss.

    Behind each stands the line of the function that it is for.
    """

    @tg.value_and_grad
    def loss(w, x):
        return np.mean(np.tanh(x @ w) ** 2)

    w, x = np.ones(3), np.ones((5, 3))
    expected = loss(w, x)
    shown = loss.source(w, x).splitlines()
    stepper = Stepper()
    value, gradient = stepper.runcall(loss, w, x)
    assert value == expected[0] and np.array_equal(gradient, expected[1])
    assert loss.cache_info().traces == 1 and __file__ not in stepper.lines
    (stepped,) = [lines for file, lines in stepper.lines.items() if "loss_value_and_grad" in file]
    assert [line.partition("  # ")[0].strip() for line in stepped.values()] == [
        line.strip()
        for line in shown[shown.index("def loss_value_and_grad(w, x):") + 1 :]
        if line.strip() and not line.strip().startswith("#")
    ]
