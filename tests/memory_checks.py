"""A program of `memory_programs` enters, what is wrong with it in tracegrad leaves.

Every way to run it is compared with the plain function on plain copies: values, what the arguments
hold after the call (to the last byte of the memory that they lie in), exceptions; gradients with
central differences. Between calls the caller writes to arguments and results, which must have
nothing in common.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import re
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from checks import wide_jax
from memory_programs import Program, draw, shortened

import tracegrad as tg
from tracegrad.errors import TracegradError
from tracegrad.values.pytree import flatten

STEPS = (1e-5, 3e-6)


class Wrong(AssertionError):
    """A result that is not that of the plain function."""


class Refused(Exception):
    """An error of tracegrad's that says what it cannot do."""


class Verdict(NamedTuple):
    """What became of one way to run one program."""

    way: str
    outcome: str  # right, wrong, refused
    reason: str = ""


# -- the plain function -------------------------------------------------------------------------


class Plain(NamedTuple):
    """What the plain function did: its results or its exception, and its arguments afterwards."""

    returned: Any
    raised: Exception | None
    after: list[np.ndarray]  # the whole memory that each argument lies in


def memory(array: np.ndarray) -> np.ndarray:
    """The whole array that a view lies in."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def run_plainly(program: Program, call: int, moved: Sequence[Any] = ()) -> Plain:
    arrays = program.arrays(call)
    for array, distance in zip(arrays, moved, strict=False):
        if distance is not None:
            array += distance
    raised = returned = None
    with quiet():
        try:
            returned = program.function()(*arrays)
        except Exception as error:
            raised = error
    return Plain(copied(returned), raised, [memory(a).copy() for a in arrays])


def copied(returned: Any) -> list[Any]:
    return [np.copy(x) if isinstance(x, np.ndarray) else x for x in flatten(returned)[0]]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def unwritten(program: Program, calls: Sequence[int]) -> list[int]:
    """The float arguments that no call writes to, nor to what shares memory with them."""
    found = []
    for i, argument in enumerate(program.arguments):
        if argument.dtype != "float":
            continue
        for call in calls:
            arrays = program.arrays(call)
            if run_plainly(program, call).raised is not None:
                continue
            for array in arrays:
                if np.may_share_memory(array, arrays[i]):
                    array.flags.writeable = False
            with quiet():
                try:
                    program.function()(*arrays)
                except ValueError:
                    break
        else:
            found.append(i)
    return found


def slope(program: Program, call: int, directions: Sequence[Any]) -> float | None:
    """The derivative of the loss by central differences; None where there is a kink."""
    found, sizes = [], []
    for h in STEPS:
        ends = [
            run_plainly(program, call, [None if d is None else s * h * d for d in directions])
            for s in (1.0, -1.0)
        ]
        if any(end.raised or np.ndim(end.returned[0]) for end in ends):
            return None
        high, low = (float(end.returned[0]) for end in ends)
        found.append((high - low) / (2.0 * h))
        sizes.append(abs(high) * 1e-10 / h)
    if not np.all(np.isfinite(found)) or max(sizes) > 1e-1:
        return None
    scale = 1.0 + max(map(abs, found)) + max(sizes)
    return found[0] if abs(found[0] - found[1]) < 1e-6 * scale else None


# -- comparing ----------------------------------------------------------------------------------


def compare(got: Any, expected: Sequence[Any], rtol: float, what: str) -> None:
    leaves = flatten(got)[0]
    if len(leaves) != len(expected):
        raise Wrong(f"{what}: {len(leaves)} results, expected {len(expected)}")
    for i, (a, b) in enumerate(zip(leaves, expected, strict=True)):
        where = f"{what}: result {i}"
        if isinstance(b, np.ndarray | np.generic):
            if isinstance(a, np.ndarray) != isinstance(b, np.ndarray):
                raise Wrong(f"{where} is a {type(a).__name__}, expected {type(b).__name__}")
            if a.dtype != b.dtype:
                raise Wrong(f"{where} has dtype {a.dtype}, expected {b.dtype}")
        elif type(a) is not type(b):
            raise Wrong(f"{where} is a {type(a).__name__}, expected {type(b).__name__}")
        if np.shape(a) != np.shape(b):
            raise Wrong(f"{where} has shape {np.shape(a)}, expected {np.shape(b)}")
        if not is_close(a, b, rtol):
            raise Wrong(f"{where} is\n{a!r}\nexpected\n{b!r}")


def is_close(a: Any, b: Any, rtol: float) -> bool:
    scale = float(np.max(np.abs(b), initial=1.0))
    return np.allclose(a, b, rtol=rtol, atol=rtol * scale, equal_nan=True)


def check_memory(got: Any, arrays: Sequence[np.ndarray], what: str) -> None:
    """Results have memory of their own."""
    results = [x for x in flatten(got)[0] if isinstance(x, np.ndarray)]
    for i, result in enumerate(results):
        for j, array in enumerate(arrays):
            if np.may_share_memory(result, array):
                raise Wrong(f"{what}: result {i} shares memory with argument {j}")
        for j, other in enumerate(results[:i]):
            if np.shares_memory(result, other):  # rows may lie between each other
                raise Wrong(f"{what}: results {j} and {i} share memory")


def check_after(arrays: Sequence[np.ndarray], after: Sequence[Any], rtol: float, what: str) -> None:
    for i, (array, expected) in enumerate(zip(arrays, after, strict=True)):
        if not is_close(memory(array), expected, rtol):
            raise Wrong(f"{what}: argument {i} is then\n{memory(array)!r}\nexpected\n{expected!r}")


def check_exception(error: Exception, expected: Exception, what: str) -> None:
    kinds = (IndexError, ValueError, TypeError, ZeroDivisionError, AttributeError, Exception)
    kind = next(k for k in kinds if isinstance(expected, k))
    if not isinstance(error, kind):
        raise Wrong(f"{what}: raised {error!r}, expected {expected!r}")


# -- the ways to run one ------------------------------------------------------------------------


def called(
    function: Callable[..., Any], plain: Plain, arrays: list[Any], what: str, first: bool = True
) -> Any:
    """What a call gives; None where it raises, as the plain function does."""
    try:
        with quiet():
            got = function(*arrays)
    except TracegradError as error:
        if plain.raised is None:
            raise Refused(str(error)) from error
        return None  # refused for another reason, perhaps: there is no result to compare
    except Exception as error:
        if plain.raised is None and "destination is read-only" in str(error):
            raise Refused("what broadcast_arrays gives is read-only") from error
        if plain.raised is None:
            raise Wrong(f"{what}: raised\n{traceback.format_exc(limit=-4)}") from error
        check_exception(error, plain.raised, what)
        return None
    left_out = isinstance(plain.raised, IndexError) or "zero-size array" in str(plain.raised)
    if left_out and not first:
        return None  # a program leaves out what nobody reads, and its exception with it
    if plain.raised is not None:
        raise Wrong(f"{what}: did not raise {plain.raised!r}")
    return got


def run_calls(
    program: Program, function: Callable[..., Any], calls: Sequence[int], rtol: float
) -> None:
    """Calls with other values, layouts and lengths; the caller writes to all in between."""
    kept: list[tuple[Any, Any, str]] = []
    first: list[np.ndarray] = []
    for turn, call in enumerate(calls):
        what = f"call {turn}"
        plain, arrays = run_plainly(program, call), program.arrays(call)
        if turn and call == 0:  # the very arrays of the first call, filled anew
            for old, new in zip(first, arrays, strict=True):
                memory(old)[...] = memory(new)
            arrays = first
        first = first or arrays
        got = called(function, plain, arrays, what, turn == 0)
        if got is None:
            continue
        compare(got, plain.returned, rtol, what)
        check_after(arrays, plain.after, rtol, what)
        check_memory(got, arrays, what)
        for old, snapshot, when in kept:
            compare(old, snapshot, 0.0, f"result of {when} after {what}")
        for array in arrays:
            memory(array)[...] = 100 if array.dtype.kind == "f" else 0
        compare(got, plain.returned, rtol, f"{what}, arguments overwritten")
        if turn % 2:
            for result in flatten(got)[0]:
                if isinstance(result, np.ndarray) and result.flags.writeable:
                    result[...] = 77
        else:
            kept.append((got, copied(got), what))


def run_gradients(
    program: Program,
    differentiate: Callable[..., Any],
    wanted: Sequence[int],
    calls: Sequence[int],
    rtol: float,
    constant: type = float,
) -> None:
    """The same for a value and its gradients in the arguments that are not written to.

    A value that is a number of Python's own, and so a constant, is given as a `constant`.
    """
    for turn, call in enumerate(calls):
        what = f"call {turn} with gradients"
        plain, arrays = run_plainly(program, call), program.arrays(call)
        got = called(differentiate, plain, arrays, what, turn == 0)
        if got is None:
            continue
        value, gradients = got
        loss, *others = plain.returned
        loss = constant(loss) if type(loss) is float else loss
        compare(value, [loss, *others], rtol, what)
        check_after(arrays, plain.after, rtol, what)
        check_memory((value, gradients), arrays, what)
        check_slope(program, call, wanted, gradients, what)
        for array in flatten((value, gradients, arrays))[0]:
            if isinstance(array, np.ndarray) and array.flags.writeable:
                array[...] = 7


def check_slope(
    program: Program, call: int, wanted: Sequence[int], gradients: Sequence[Any], what: str
) -> None:
    """The gradients say what differences say, in a direction drawn at random."""
    random = np.random.default_rng((program.seed, call, 1))
    arrays = program.arrays(call)
    if any(np.may_share_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i]):
        wanted_directions = [random.normal(size=a.shape) if i == 0 else None
                             for i, a in enumerate(arrays)]  # fmt: skip
        shared = [i for i in wanted if np.may_share_memory(arrays[i], arrays[0])]
        if 0 not in wanted:
            return
        moved = arrays[0].copy()
        whole = wanted_directions[0]
        parts = []
        for i in shared:
            before = arrays[i].copy()
            arrays[0][...] = whole
            parts.append((i, arrays[i].copy()))
            arrays[0][...] = moved
            assert np.array_equal(arrays[i], before)
        of_gradients = sum(
            float(np.sum(d * g))
            for i, d in parts
            for j, g in zip(wanted, gradients, strict=True)
            if i == j
        )
        expected = slope(program, call, wanted_directions)
    else:
        directions = [
            random.normal(size=a.shape) if i in wanted else None for i, a in enumerate(arrays)
        ]
        expected = slope(program, call, directions)
        of_gradients = sum(
            float(np.sum(directions[i] * g)) for i, g in zip(wanted, gradients, strict=True)
        )
    for i, g in zip(wanted, gradients, strict=True):
        if np.shape(g) != np.shape(arrays[i]):
            raise Wrong(f"{what}: gradient {i} has shape {np.shape(g)}")
    if expected is not None and abs(of_gradients - expected) > 1e-5 * (1.0 + abs(expected)):
        raise Wrong(f"{what}: slope {of_gradients}, expected {expected}: {gradients}")


CALLS = (0, 1, 2, 0)


def eager(program: Program) -> None:
    """Without a program: the function runs on Tensors."""
    before = tg.config.versions, tg.config.compile
    wanted = unwritten(program, (0,))
    try:
        tg.config.versions = 0
        run_calls(program, tg.compile(program.function()), (0, 1), 1e-12)
        tg.config.compile = False
        if wanted:
            f = tg.value_and_grad(program.function(), tuple(wanted), has_aux=True)
            run_gradients(program, f, wanted, (0,), 1e-12)
    finally:
        tg.config.versions, tg.config.compile = before


def compiled(program: Program) -> None:
    run_calls(program, tg.compile(program.function()), CALLS, 1e-12)


def gradients(program: Program) -> None:
    wanted = unwritten(program, (0, 1, 2))
    if wanted:
        f = tg.value_and_grad(program.function(), tuple(wanted), has_aux=True)
        run_gradients(program, f, wanted, CALLS, 1e-12)


def pulled(program: Program) -> None:
    """`tg.vjp`, whose arguments and results are overwritten before the backward."""
    wanted, plain = unwritten(program, (0,)), run_plainly(program, 0)
    if not wanted or plain.raised is not None:
        return
    f = program.function()
    for _ in range(2):
        arrays = program.arrays(0)

        def of_wanted(*given: Any, arrays: Any = arrays) -> Any:
            args = list(arrays)
            for i, x in zip(wanted, given, strict=True):
                args[i] = x
            return f(*args)[0]

        value, pull = called(
            lambda *xs, g=of_wanted: tg.vjp(g, *xs), plain, [arrays[i] for i in wanted], "vjp"
        )
        compare(value, plain.returned[:1], 1e-12, "vjp")
        for array in arrays:
            memory(array)[...] = 3 if array.dtype.kind == "f" else 0
        found = called(pull, plain, [np.float64(1.0)], "pull")
        check_slope(program, 0, wanted, found, "pull after all was overwritten")


def exported(program: Program) -> None:
    plain = run_plainly(program, 0)
    if plain.raised is not None:
        return
    function = tg.compile(program.function())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "exported.py"

        def export(*arrays: Any) -> Any:
            function.export(path, *arrays)
            return path.read_text()

        text = called(export, plain, program.arrays(0), "export")
        space: dict[str, Any] = {"__file__": str(path)}
        exec(compile(text, "<exported>", "exec"), space)
    for turn in range(2):
        arrays = program.arrays(0)
        got = called(space["f"], plain, arrays, f"exported, call {turn}")
        compare(got, plain.returned, 1e-12, f"exported, call {turn}")
        check_after(arrays, plain.after, 1e-12, f"exported, call {turn}")
        check_memory(got, arrays, f"exported, call {turn}")


def jax(program: Program) -> None:
    with wide_jax():
        run_calls(program, tg.compile(program.function(), backend="jax"), (0, 1), 1e-9)
        wanted = unwritten(program, (0, 1))
        if wanted:
            f = tg.value_and_grad(program.function(), tuple(wanted), has_aux=True, backend="jax")
            run_gradients(program, f, wanted, (0, 1), 1e-9, np.float64)  # docs/limits.md


WAYS: dict[str, tuple[Callable[[Program], None], int]] = {
    "eager": (eager, 1),
    "compiled": (compiled, 1),
    "gradients": (gradients, 1),
    "pulled": (pulled, 3),
    "exported": (exported, 5),
    "jax": (jax, 50),
}
"""How programs are run, and of how many seeds one is run so."""


def check(program: Program, ways: Sequence[str] = ()) -> list[Verdict]:
    """What becomes of a program in each way."""
    chosen = ways or [way for way, (_, n) in WAYS.items() if program.seed % n == 0]
    return [verdict_of(program, way) for way in chosen]


def verdict_of(program: Program, way: str) -> Verdict:
    run = WAYS[way][0]
    try:
        with limited(120):
            run(program)
    except Refused as refusal:
        return Verdict(way, "refused", reason_of(str(refusal)))
    except Wrong as wrong:
        return Verdict(way, "wrong", str(wrong))
    except Exception:
        return Verdict(way, "wrong", traceback.format_exc(limit=-6))
    return Verdict(way, "right")


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raises where something takes longer than that."""

    def late(*_: Any) -> None:
        raise Wrong(f"took longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def reason_of(text: str) -> str:
    """An error's first sentence without names and numbers, so that equal refusals are one."""
    text = re.sub(r"`[^`]*`|'[^']*'|\([^()]*\)|\b\d+\b", "·", text.strip().split("\n")[0])
    text = re.sub(r"\b[abcvwrxyzktsq]\d*(?=\W|$)", "·", text)
    return text[:150]


def minimal(program: Program, way: str) -> Program:
    """The program without what its failure does not need."""
    shorter = True
    while shorter:
        shorter = False
        for candidate in shortened(program):
            if is_wrong(candidate, way):
                program, shorter = candidate, True
                break
    return program


def is_wrong(program: Program, way: str) -> bool:
    try:
        with limited(10):  # a loop whose counter is left out has no end
            plain = run_plainly(program, 0)
    except SyntaxError:
        return False
    if isinstance(plain.raised, NameError | UnboundLocalError | SyntaxError | Wrong):
        return False
    return verdict_of(program, way).outcome == "wrong"


def shown(program: Program, way: str, reason: str = "") -> str:
    """A wrong program at its shortest, and what is wrong with it."""
    shortest = minimal(program, way)
    verdict = verdict_of(shortest, way)
    if verdict.outcome != "wrong":  # what ran before in this process is part of the failure
        verdict = Verdict(way, "wrong", f"not when run alone\n{reason}")
    given = ", ".join(
        f"{a.name}: {a.dtype}{list(a.shape(dict(shortest.sizes)))} {a.layout}"
        + (" shared" if a.shares else "")
        for a in shortest.arguments
    )
    return f"seed {program.seed}, {way}: {given}\n{shortest.source}--> {verdict.reason}\n"


# -- the command --------------------------------------------------------------------------------


class Found(NamedTuple):
    """What became of many programs."""

    outcomes: Counter[str]
    reasons: Counter[str]  # of refusals, one for each way
    examples: dict[str, int]  # a seed for each reason
    wrong: list[str]

    def add(self, part: Found) -> None:
        self.outcomes.update(part.outcomes)
        self.reasons.update(part.reasons)
        self.examples.update(part.examples)
        self.wrong.extend(part.wrong)


def run_seeds(seeds: Sequence[int]) -> Found:
    """Counts of outcomes, of refusals by reason, and the wrong programs."""
    found_here = Found(Counter(), Counter(), {}, [])
    outcomes, reasons, examples, wrong = found_here
    tg.config.check = False
    for seed in seeds:
        run_tensors(seed, found_here)
        program = draw(seed)
        verdicts = check(program)
        found = {verdict.outcome for verdict in verdicts}
        outcomes["wrong" if "wrong" in found else "refused" if "refused" in found else "right"] += 1
        for verdict in verdicts:
            if verdict.outcome == "refused":
                reasons[verdict.reason] += 1
                if verdict.reason not in examples:
                    examples[verdict.reason] = seed
        bad = [verdict for verdict in verdicts if verdict.outcome == "wrong"]
        if bad:
            wrong.append(shown(program, bad[0].way, bad[0].reason))
    return found_here


def run_tensors(seed: int, found: Found) -> None:
    """The program of Tensors of every fourth seed, where there is PyTorch to compare with."""
    if seed % 4 or importlib.util.find_spec("torch") is None:
        return
    from memory_tensors import check_tensors, minimal_tensors, tensor_program

    program = tensor_program(seed)
    outcome, reason = check_tensors(program)
    found.outcomes[f"{outcome} (Tensors)"] += 1
    if outcome == "wrong":
        shortest = minimal_tensors(program)
        text = f"{shortest.shapes}\n{shortest.source}--> {check_tensors(shortest)[1]}"
        found.wrong.append(f"seed {seed}, Tensors: {text}\n")
    elif outcome == "refused":
        found.reasons[f"Tensors: {reason_of(reason)}"] += 1
        found.examples[f"Tensors: {reason_of(reason)}"] = seed


def run_chunks(chunks: Iterable[Sequence[int]], jobs: int) -> Iterator[Found]:
    """What became of each chunk of seeds, whose programs may end the process that runs them."""
    waiting = list(chunks)
    while waiting:
        turn, waiting = waiting[: RUN_IN_ONE * jobs], waiting[RUN_IN_ONE * jobs :]
        with pool_of(jobs) as pool:
            runs = {pool.submit(run_seeds, chunk): chunk for chunk in turn}
            suspects = []
            try:
                for run in as_completed(runs):
                    found = run.result()
                    turn.remove(runs[run])
                    yield found
            except BrokenProcessPool:
                suspects = turn[: jobs + 1]
                waiting = turn[jobs + 1 :] + waiting
        yield from map(run_apart, suspects)


RUN_IN_ONE = 40  # chunks that one process runs, whose memory grows meanwhile


def run_apart(seeds: Sequence[int]) -> Found:
    """The same of seeds among which one may end its process: it is named."""
    with pool_of(1) as pool, contextlib.suppress(BrokenProcessPool):
        return pool.submit(run_seeds, seeds).result()
    found = Found(Counter(), Counter(), {}, [])
    if len(seeds) > 1:
        half = len(seeds) // 2
        found.add(run_apart(seeds[:half]))
        found.add(run_apart(seeds[half:]))
    if not any(ENDED in text for text in found.wrong):
        found.outcomes["wrong"] += 1
        found.wrong.append(f"seeds {seeds[0]} to {seeds[-1]}: {ENDED}\n{draw(seeds[0]).source}")
    return found


ENDED = "the process ended"


def pool_of(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    chunks = [
        range(start, min(start + 50, options.seed + options.count))
        for start in range(options.seed, options.seed + options.count, 50)
    ]
    whole = Found(Counter(), Counter(), {}, [])
    started = time.time()
    for done, part in enumerate(run_chunks(chunks, options.jobs), 1):
        whole.add(part)
        for text in part.wrong:
            print(f"\r{text}", flush=True)
        bar = "#" * (30 * done // len(chunks))
        sys.stderr.write(
            f"\r[{bar:30}] {sum(whole.outcomes.values())} programs, {len(whole.wrong)} wrong, "
            f"{time.time() - started:.0f} s"
        )
    print(f"\n{dict(whole.outcomes)}\nrefusals, by ways run:")
    for reason, count in whole.reasons.most_common():
        print(f"{count:6}  {reason} (seed {whole.examples[reason]})")
    return 1 if whole.wrong else 0
