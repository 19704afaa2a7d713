"""Plants faults in a copy of the library, one at a time, and prints which test catches each.

    python tests/planted_faults.py [PART OF A FILE'S NAME ...]

Run it in the root of the repository. A fault is one line that says something else; the tests that
should notice run until the first failure. It exits with 1 where a fault is not caught, or where its
line is no longer there.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
OPS = "tests/test_ops.py"
CORPUS = "tests/test_programs.py"
PASSES = "tests/codegen/test_passes.py"
VERIFIER = "tests/codegen/test_graph_verifier.py"
OPTIM = "tests/public/test_optim.py"


class Fault(NamedTuple):
    file: str
    line: str  # stands there once
    instead: str
    tests: str  # arguments of pytest


UFUNCS = "tracegrad/ops/elementwise/ufuncs.py"
RULES = "tracegrad/optim/update_rules.py"
BATCHES = "tracegrad/ops/batching_rules.py"
SIMPLIFY = "codegen/passes/simplify.py"
LIFETIME = "codegen/passes/lifetime.py"
CHANGES = "tracegrad/arguments/argument_changes.py"
FAULTS = [
    # -- derivatives
    Fault(UFUNCS, "(ct * b, ct * a)", "(ct * b, ct * b)", f"{OPS} -k multiply"),
    Fault(UFUNCS, "ct_a, Negated(ct_a * y)", "ct_a, ct_a * y", f"{OPS} -k divide"),
    Fault(UFUNCS, "0.5 * ct / y", "0.5 * ct / x", f"{OPS} -k sqrt"),
    Fault(UFUNCS, "Negated(ct * sin(x))", "ct * sin(x)", f"{OPS} -k cos"),
    Fault(UFUNCS, "ct * (1.0 - y * y))", "ct * (1.0 - y))", f"{OPS} -k tanh"),
    Fault(UFUNCS, "conj(ct) if is_complex(x) else ct", "ct", f"{OPS} -k conj"),
    Fault(UFUNCS, "return scaled * b, Negated(scaled * a)", "return scaled * a, Negated(scaled * b)", f"{OPS} -k arctan2"),
    Fault(UFUNCS, "ct / ((1.0 - x) * (1.0 + x)), domain", "ct / (1.0 - x), domain", f"{OPS} -k arctanh"),
    Fault("tracegrad/ops/reductions/sums_and_extremes.py", "ct / count((length(x, axis),), ct)", "ct", f"{OPS} -k mean"),
    Fault("tracegrad/ops/linear_algebra/solving.py", "(-matmul(matmul(back, ct), back),)", "(matmul(matmul(back, ct), back),)", f"{OPS} -k inv"),
    Fault("tracegrad/ops/linear_algebra/solving.py", "return -_against(ct_b, y), ct_b", "return _against(ct_b, y), ct_b", f"{OPS} -k solve"),
    Fault("tracegrad/nn/losses.py", "ct * (sigmoid(x) - target), -ct * x", "ct * (sigmoid(x) - target), ct * x", f"{OPS} -k logistic_loss"),
    # -- types and spellings
    Fault("tracegrad/ops/type_rules.py", 'return "uint64"', 'return "int64"', f"{OPS} -k any_integers"),
    Fault("tracegrad/ops/type_rules.py", "return dtype if is_inexact(dtype) else \"float64\"", "return \"float64\"", f"{OPS} -k 'mean and dtypes'"),
    Fault(UFUNCS, 'numpy="np.sign(x)",', 'numpy="np.sign(-x)",', f"{OPS} -k 'direction'"),
    # -- batches
    Fault(BATCHES, "axis=len(kept) + 1, keepdims=False)", "axis=len(kept), keepdims=False)", "tests/ops/test_batching_rules.py -k 'max or min'"),
    Fault(BATCHES, "return permuted(x, (*range(ndim - 2), ndim - 1, ndim - 2))", "return x", "tests/ops/test_batching_rules.py"),
    Fault(BATCHES, "return batch.run(*[batch.aligned(i, ndim) for i in count])", "return batch.run(*batch.operands)", "tests/ops/test_batching_rules.py -k 'add or multiply'"),
    # -- passes
    Fault(SIMPLIFY, "return number != 0 or integers or copysign(1.0, number) == copysign(1.0, wanted)", "return True", PASSES),
    Fault(SIMPLIFY, 'if len(call.operands) != 2 or kind(result.type.dtype) == "complex":', "if len(call.operands) != 2:", "tests/codegen/test_passes.py tests/codegen/test_random_graphs.py"),
    Fault(SIMPLIFY, "if inner.operands[1:] != call.operands[1:]:", "if False:", PASSES),
    Fault(SIMPLIFY, "if attributes_key(r.sizes, inner) != attributes_key(r.sizes, call):", "if False:", PASSES),
    Fault(SIMPLIFY, "return all(Trait.ELEMENTWISE in call.op.traits for call in calls)", "return True", "tests/codegen/test_passes.py tests/tensors/test_memory_layouts.py"),
    Fault("codegen/passes/fold.py", 'return not type.shape and (type.weak or type.dtype == "float64")', "return not type.shape", PASSES),
    Fault("codegen/passes/cse.py", "shown = repr(value) if slot is None else slot", "shown = value if slot is None else slot", PASSES),
    Fault("codegen/passes/cse.py", "if Trait.EFFECT in call.op.traits or call.results[0] in written:", "if Trait.EFFECT in call.op.traits:", PASSES),
    Fault("codegen/passes/cse.py", "operands = sorted(operands)", "pass", PASSES),
    Fault("codegen/passes/dce.py", "self._needs(node)", "pass", PASSES),
    Fault(LIFETIME, "and operand in mine", "", PASSES),
    Fault(LIFETIME, "and operand.type.dtype == result.type.dtype", "", PASSES),
    Fault(LIFETIME, "and (elementwise or call.operands.count(operand) == 1)", "", "tests/codegen/test_passes.py tests/codegen/test_loop_passes.py"),
    Fault(LIFETIME, "kept = (*kept, *before)", "del before", "tests/codegen/test_loop_passes.py tests/codegen/test_random_loops.py"),
    Fault(LIFETIME, "return mine in ordered or all(value.type.ndim <= 1 for value in others)", "return True", "tests/codegen/test_passes.py tests/tensors/test_memory_layouts.py"),
    # -- the verifier
    Fault("codegen/verify.py", "if node not in whole.verified:", "if False:", VERIFIER),
    Fault("codegen/verify.py", "if verified and verified.sizes is graph.sizes else ()", "if verified else ()", VERIFIER),
    Fault("codegen/passes/__init__.py", "verified = verify(graph, verified)", "verified = graph", VERIFIER),
    Fault("codegen/verify.py", "if len(set(labels)) < len(labels):", "if False:", "tests/codegen/test_loop_passes.py"),
    Fault("codegen/verify.py", "if numbers.setdefault(node.slot, shown) != shown:", "if False:", VERIFIER),
    # -- the optimizers
    Fault(RULES, "g = g + momentum * velocity if nesterov else velocity", "g = velocity", OPTIM),
    Fault(RULES, "root = (1.0 - beta2**t) ** 0.5", "root = 1.0 - beta2**t", OPTIM),
    Fault(RULES, "undamped = where(t == 1, 1.0, 1.0 - dampening) if dampening else 1.0", "undamped = 1.0 - dampening", OPTIM),
    Fault(RULES, "square = square - mean * mean", "pass", OPTIM),
    # -- what a program depends on
    Fault("tracegrad/world/guards.py", "{'==' if self.read in BY_VALUE else 'is'} {value}", "is not None", "tests/world/test_environment.py"),
    Fault("tracegrad/world/guards.py", 'return f"{keys} == {value} and [*map(type, {holder})] == {kinds}"', 'return f"{keys} == {value}"', "tests/world/test_guards.py tests/world/test_environment.py tests/world/test_by_path.py"),
    Fault("tracegrad/world/names_in_check.py", "rest = guard.name - self.covered", "rest = frozenset()", "tests/world/test_names_in_check.py"),
    Fault("tracegrad/world/names_in_check.py", "and guard.name not in taken]", "]", "tests/world/test_names_in_check.py"),
    Fault("tracegrad/world/names_in_check.py", "if known.keys() != set(range(length.value)):", "if len(known) > length.value:", "tests/world/test_names_in_check.py"),
    Fault("tracegrad/machine/world_protocol.py", "type(value) is not MethodType or value is get_plainly(x, name)", "type(value) is not MethodType", "tests/world/test_guards.py"),
    Fault("tracegrad/compiled/guarded_entry.py", '*[f"{name}.ndim" for name in vectors], "1"', '"1", "1"', "tests/world/test_names_in_check.py"),
    Fault(CHANGES, "np.copyto(array, np.asarray(value))\n        stamp(array)", "stamp(array)", "tests/tape/test_views.py"),
    Fault(CHANGES, "np.copyto(array, np.asarray(value))\n        stamp(array)", "np.copyto(array, np.asarray(value))", "tests/compiled/test_written_tensors.py"),
    Fault("tracegrad/tape/write_checks.py", "entry.stamp > saved:", "entry.stamp > saved + 1:", "tests/tape/test_saved_values.py"),
    # -- reverse mode and exports
    Fault("tracegrad/differentiation/reverse_mode.py", "found[key] = new if old is None else _added(old, new)\n            made.pop", "found[key] = new\n            made.pop", f"{CORPUS} -k differences"),
    Fault("tracegrad/export/argument_checks.py", "if array.dtype != dtype:", "if False:", "tests/export/test_export.py"),
    Fault("tracegrad/export/argument_checks.py", "if set(kwargs) != set(names):", "if False:", "tests/export/test_export.py"),
]  # fmt: skip


def copied(root: Path) -> None:
    """A copy of what the tests read."""
    ignore = shutil.ignore_patterns("__pycache__", "site", ".*")
    shutil.copytree(ROOT, root, ignore=ignore, dirs_exist_ok=True)


def caught(fault: Fault, root: Path) -> str | None:
    """The first test that fails with the fault; None where all pass."""
    place = root / fault.file
    text = place.read_text(encoding="utf-8")
    if text.count(fault.line) != 1:
        raise LookupError(f"{fault.file} has it {text.count(fault.line)} times: {fault.line}")
    place.write_text(text.replace(fault.line, fault.instead), encoding="utf-8")
    try:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [*command, *shlex.split(fault.tests)],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        place.write_text(text, encoding="utf-8")
    if done.returncode == 0:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"pytest {fault.tests}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return found[1]


def main(parts: list[str]) -> int:
    chosen = [f for f in FAULTS if not parts or any(part in f.file for part in parts)]
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        copied(root)
        for fault in chosen:
            try:
                by = caught(fault, root)
            except LookupError as error:
                by, told = None, str(error)
            else:
                told = by or "NOT CAUGHT"
            missed += by is None
            print(
                f"{fault.file}: {fault.line.strip()} -> {fault.instead.strip()}\n    {told}",
                flush=True,
            )
    print(f"{len(chosen) - missed} of {len(chosen)} faults are caught")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
