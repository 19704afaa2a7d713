"""The op table, the namespace and the tests enter; the page ``docs/ops.md`` leaves.

    python tests/ops_page.py

writes it anew; `test_ops_page.py` fails while it is not up to date. Of which ops a function is made
is observed: every call of it in `numpy_cases` is run on Tensors.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from doctest import DocTestParser, DocTestRunner
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy_cases import OPERANDS, STATEMENTS, calls, flat, function_of, used
from samples.sampling import GENERATORS, NOT_IN_JAX, TOGETHER, is_elementwise

import tracegrad as tg
from tracegrad.differentiation.batched_values import batching_rule, on_each
from tracegrad.ops import special_cotangents
from tracegrad.ops.batching_rules import elementwise
from tracegrad.ops.record import TABLE, OpRecord
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.tape import LEAF
from tracegrad.tensors import array_functions
from tracegrad.tensors.public_functions import RECORDS, SHOWN, results_of, told_dtypes

PAGE = Path(__file__).parent.parent / "docs" / "ops.md"

INTRODUCTION = """# Functions and ops

`python tests/ops_page.py` makes this page from the op table, the namespace and the tests. A test
fails while the page is not up to date.

A *function* is what you call. An *op* is one record of the table (`tracegrad/ops`), and functions
are made of ops. Every function works in both targets: NumPy source uses the NumPy spelling of an
op, JAX source the JAX spelling.

## Functions

*Dtypes* are those of results: `float32` means that float32 gives float32. Most dtypes come from the
rule of an op. If there is no such rule, they were observed in the example of the function's
docstring, where Python's numbers and lists count as float64. *Gradient* says whether results have a
gradient: **yes**, or **zero** if the derivative is 0 wherever it exists (counts, indices,
comparisons, rounding). The gradient is the same in both targets, because both use the same
derivative rule.

| function | what it gives | dtypes | gradient |
| --- | --- | --- | --- |
"""

TESTS_INTRODUCTION = """
## What functions are made of

The table lists the ops that a function calls, and the tests that call the function, with the number
of calls. If no call of `tests/numpy_cases.py` was observed, the table above says **as its ops**,
and the ops are those that the function's code names, operators aside.

| function | ops | tests |
| --- | --- | --- |
"""

OPS_INTRODUCTION = """
## Ops

`tests/test_ops.py` tests each op under its name: values against NumPy, or against those that the
samples state; dtypes; memory layouts; gradients and second derivatives against finite differences;
values and gradients against JAX. *Samples* says where the operands of these tests come from: the
*domain* of an elementwise op, or a file of `tests/samples`.

*Over a batch* says how `tg.vmap` runs the op, by the batching rule of its record: **as it is**, one
operation on all examples; **by a rule** that moves axes or uses another op; or **one by one**, a
loop over the examples in the source (in JAX source a `jax.vmap`).
`tests/ops/test_batching_rules.py` runs each op with a batch in each operand in turn, and in all
operands.

| op | operands | gradient | over a batch | samples | beside JAX |
| --- | --- | --- | --- | --- | --- |
"""


WHOLE = ("bool", "int64")
"""Dtypes that have no nan and no infinity."""

EXTENSIONS = ("linalg", "fft", "special", "nn")
"""Namespaces beside the main one, as far as they are there."""


def functions() -> Iterator[tuple[str, Any]]:
    """The public functions, namespace by namespace, in the order of the alphabet."""
    there = [name for name in EXTENSIONS if find_spec(f"tracegrad.{name}")]
    for module in (array_functions, *(import_module(f"tracegrad.{name}") for name in there)):
        prefix = (
            "" if module is array_functions else module.__name__.removeprefix("tracegrad.") + "."
        )
        for name in sorted(module.__all__):
            found = getattr(module, name)
            if isinstance(found, FunctionType):
                yield prefix + name, found


@cache
def called_in_tests() -> dict[str, str]:
    """By dotted name, the test files in which it is called, by that name or a longer one."""
    found: dict[str, list[str]] = {}
    for file in sorted(Path(__file__).parent.rglob("test_*.py")):
        called = set(re.findall(r"\b([\w.]+)\(", file.read_text(encoding="utf-8")))
        parts = [name.split(".") for name in called]
        for name in {".".join(part[i:]) for part in parts for i in range(len(part))}:
            found.setdefault(name, []).append(f"`{file.stem}`")
    return {name: ", ".join(files) for name, files in found.items()}


def mentions(name: str) -> str:
    """The test files where a function of an extension is called by its full name."""
    return called_in_tests().get(name, "")


def summary(function: Any) -> str:
    """The first sentence of the docstring."""
    first = re.split(r"(?<=[^.]\.)\s|\n\n", (function.__doc__ or "").strip())[0]
    return " ".join(first.split())


# -- what functions are made of -----------------------------------------------------------------


ABOUT = re.compile(r"(?:np\.\w+\()*np\.(\w+)\(")
"""The function that a call is about: in ``np.sort(np.unique_values(k))`` the inner one."""


def observed() -> tuple[dict[str, set[str]], dict[str, str], dict[str, int]]:
    """By function: the ops that its calls ran, whether a result has a gradient, how many calls."""
    ops: dict[str, set[str]] = {}
    carried: dict[str, dict[bool, bool]] = {}  # by whether an operand is complex
    count: dict[str, int] = {}
    for call in [*calls(), *STATEMENTS.strip().splitlines()]:
        name = ABOUT.match(call).group(1)  # type: ignore[union-attr]
        seen: set[str] = set()

        def observe(op: Any, kernel: Any, arrays: Any, attributes: Any, seen: Any = seen) -> Any:
            seen.add(op.name)
            return kernel(*arrays, **attributes)

        operands = {name: tg.tensor(OPERANDS[name]) for name in used(call)}
        for x in operands.values():
            if x.dtype.kind in "fc" and call not in STATEMENTS:
                x.requires_grad_()
        before = STATE.update(observer=observe)
        try:
            result = function_of(call)(tg, **operands)
        finally:
            STATE.update(**before)
        ops.setdefault(name, set()).update(seen)
        has = call in STATEMENTS or any(map(carries, flat(result)))
        is_complex = any(x.dtype.kind == "c" for x in operands.values())
        kinds = carried.setdefault(name, {})
        kinds[is_complex] = kinds.get(is_complex, False) or has
        count[name] = count.get(name, 0) + 1
    return ops, {name: of_kinds(kinds) for name, kinds in carried.items()}, count


def of_kinds(carried: dict[bool, bool]) -> str:
    """What the page says of a function's derivative, by whether real and complex calls have one."""
    if carried == {False: False, True: True}:
        return "zero; yes for complex numbers"
    return "yes" if any(carried.values()) else "zero"


def carries(x: Any) -> bool:
    """Whether a gradient that is not 0 everywhere goes from a result to an operand."""
    if not isinstance(x, tg.Tensor) or not x.requires_grad:
        return False
    todo, seen = [x._node], set()
    while todo:
        node = getattr(todo[-1], "node", todo.pop())
        if isinstance(node, tg.Tensor) or node is LEAF:
            return True
        if node is None or id(node) in seen or kind_of_gradient(node.op) == "zero":
            continue
        seen.add(id(node))
        todo += node.parents
    return False


def kind_of_gradient(op: OpRecord) -> str:
    """What the page says of an op's derivative."""
    return "yes" if op.differentiable and op.vjp is not special_cotangents.flat else "zero"


def over_a_batch(op: OpRecord) -> str:
    """What the page says of an op's batching rule."""
    rule = batching_rule(op)
    if not op.operands:
        return "the same for all"
    if rule is on_each:
        return "one by one"
    return "as it is" if rule is elementwise else "by a rule"


# -- dtypes -------------------------------------------------------------------------------------


def dtypes(function: Any) -> str:
    """Of which dtypes results are; observed in the docstring's example where no rule tells it."""
    if function in RECORDS:
        return told_dtypes(results_of(RECORDS[function]))
    *_, (args, kwargs) = calls_in_example(function) or [((), {})]
    given = [plain(x) for x in flat([*args, *kwargs.values()]) if is_array(x)]
    kinds = "fc" if any(x.dtype.kind in "fc" for x in given) else "biu"
    results: dict[str, str | None] = {}
    for dtype in SHOWN if given else ():
        if dtype in WHOLE and not all(np.isfinite(x).all() for x in given):
            continue
        try:
            result = function(*cast_to(dtype, kinds, args), **cast_to(dtype, kinds, kwargs))
        except TypeError:
            results[dtype] = None
        except (ValueError, ArithmeticError):  # what the numbers are as whole ones does not fit
            continue
        else:
            found = [x.dtype.name for x in flat(result) if hasattr(x, "dtype")]
            results |= dict.fromkeys([dtype], found[0]) if found else {}
    return told_dtypes(results)


def calls_in_example(function: Any) -> list[tuple[Any, Any]]:
    """The arguments with which the docstring's example calls the function, by any of its names."""
    seen: list[tuple[Any, Any]] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        seen.append((args, kwargs))
        return function(*args, **kwargs)

    example = DocTestParser().get_doctest(function.__doc__, {}, function.__name__, None, None)
    with ExitStack() as stack:
        for module in (tg, tg.linalg, tg.fft, tg.special, tg.nn):
            for name in [name for name, value in vars(module).items() if value is function]:
                stack.enter_context(patch.object(module, name, call))
        DocTestRunner(verbose=False).run(example, out=lambda text: None, clear_globs=False)
    return seen


def is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray | tg.Tensor)


def plain(x: Any) -> Any:
    """The NumPy array of a Tensor."""
    return x.detach().numpy() if isinstance(x, tg.Tensor) else x


def cast_to(dtype: str, kinds: str, tree: Any) -> Any:
    """The arguments with arrays of some kinds in another dtype."""
    if isinstance(tree, dict):
        return {key: cast_to(dtype, kinds, value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(cast_to(dtype, kinds, value) for value in tree)
    if not is_array(tree) or tree.dtype.kind not in kinds:
        return tree
    array = plain(tree)
    cast = (array if dtype == "complex128" else array.real).astype(dtype)
    return tg.tensor(cast) if isinstance(tree, tg.Tensor) else cast


# -- functions ----------------------------------------------------------------------------------


def function_rows() -> Iterator[tuple[str, str]]:
    """For each function what users read, and what it is made of."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        ops, gradient, count = observed()
    for name, function in functions():
        tests = [f"`test_numpy_functions` ({count[name]})"] if name in count else []
        if function in RECORDS:
            record = RECORDS[function]
            made, kind = record.name, kind_of_gradient(record)
            tests.insert(0, "`test_ops`")
        elif name in count:
            made = ", ".join(sorted(ops[name])) or "no op"
            kind = gradient[name]
        else:
            made, kind = ", ".join(sorted(records_in(function))) or "see its code", "as its ops"
            tests += filter(None, ["`test_ops`: its ops", "." in name and mentions(name)])
        said = summary(function).replace("|", "&#124;")
        yield (
            f"| `{name}` | {said} | {dtypes(function)} | {kind} |",
            f"| `{name}` | {made} | {', '.join(tests)} |",
        )


def records_in(function: Any, seen: set[int] | None = None) -> set[str]:
    """The ops that a function's own code names, or the code of the functions that it names."""
    seen = set() if seen is None else seen
    function = getattr(function, "__wrapped__", function)
    if id(function) in seen or not isinstance(function, FunctionType):
        return set()
    seen.add(id(function))
    found: set[str] = set()
    names = function.__code__.co_names
    named = [function.__globals__.get(name) for name in names]
    modules = [m for m in named if isinstance(m, ModuleType) and m.__name__.startswith("tracegrad")]
    named += [getattr(module, name, None) for module in modules for name in names]
    for value in named:
        if isinstance(value, OpRecord):
            found.add(value.name)
        elif getattr(value, "__module__", "").startswith("tracegrad.ops"):
            found |= records_in(value, seen)
    return found


# -- ops ----------------------------------------------------------------------------------------


def op_rows() -> Iterator[str]:
    for op in sorted(TABLE.values(), key=lambda op: op.name):
        if op.opaque:
            continue
        gradient = kind_of_gradient(op)
        if op.name in TOGETHER:
            gradient = f"yes: {TOGETHER[op.name]}"
        samples = f"domain {op.domain}" if is_elementwise(op) else "none"
        if op.name in GENERATORS:
            samples = f"`{GENERATORS[op.name].__module__.replace('.', '/')}.py`"
        reasons = sorted((dtype, why) for (of, dtype), why in NOT_IN_JAX.items() if of == op.name)
        except_for = [f"{dtype}: {why}" for dtype, why in reasons]
        operands = ", ".join(op.operands) or "none"
        yield (
            f"| `{op.name}` | {operands} | {gradient} | {over_a_batch(op)} | {samples} "
            f"| {'all but ' + '; '.join(except_for) if except_for else 'all'} |"
        )


def page() -> str:
    """The whole page."""
    read, made = map("\n".join, zip(*function_rows()))
    ops = "\n".join(op_rows())
    return f"{INTRODUCTION}{read}\n{TESTS_INTRODUCTION}{made}\n{OPS_INTRODUCTION}{ops}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
