"""Every program of the corpus, in every mode: all of them must tell the same numbers.

Eager, interpreted and compiled results are compared bit for bit; differences and JAX, which round
differently, to tolerances.
"""

from __future__ import annotations

import subprocess
import sys
from functools import cache, wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checks import (
    assert_close,
    assert_same_bits,
    direction_like,
    dot,
    flatten,
    forget_eager_backwards,
    jax_value_and_gradients,
    leaves,
    map_tree,
    moved,
    plain,
    run_eagerly,
    run_interpreted,
    slope,
    split,
)
from programs import PROGRAMS, Program

import tracegrad as tg
from tracegrad import config
from tracegrad.tape import tape
from tracegrad.tensors import fast_operators as recorders

every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
TOLERANCE = {"float64": 1e-10, "float32": 2e-5}


@pytest.fixture(autouse=True)
def verified_graphs(monkeypatch):
    """Every graph is verified between passes."""
    monkeypatch.setattr(config, "check", True)


@pytest.fixture(autouse=True)
def quiet_arithmetic():
    """Branches that are not taken divide by zero; that is what some programs are for."""
    with np.errstate(all="ignore"):
        yield


class Watched:
    """A callable of which every call must leave its arguments as they were."""

    def __init__(self, call: Any) -> None:
        self.call = call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        before = map_tree(lambda leaf: np.array(leaf) if _is_array(leaf) else leaf, (args, kwargs))
        result = self.call(*args, **kwargs)
        assert_same_bits((args, kwargs), before, "arguments after the call")
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.call, name)


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray | np.generic)


def compiled(program: Program, backend: str = "numpy") -> Any:
    """A new ``value_and_grad`` of a new function: it has no version yet."""
    return Watched(
        tg.value_and_grad(
            program.new(),
            program.argnums,
            has_aux=program.has_aux,
            backend=backend,
            static_argnames=program.static_argnames,
        )
    )


@cache
def first_call(program: Program) -> tuple[Any, tuple[Any, ...], Any]:
    """A ``value_and_grad`` that was called once, the arguments of this call and its results."""
    f, args = compiled(program), program.args
    return f, args, split(f(*args))


def made(program: Program) -> tuple[Any, Any]:
    """A ``value_and_grad`` for what one version can be asked; its first results."""
    f, _, results = first_call(program)
    return f, results


def eager(program: Program, args: tuple[Any, ...], **more: Any) -> Any:
    return Watched(run_eagerly)(program.function, args, program.argnums, program.has_aux, **more)


def tolerance(program: Program) -> float:
    kinds = {str(np.asarray(leaf).dtype) for leaf in leaves(program.args)}
    return TOLERANCE["float32" if "float32" in kinds else "float64"]


# -- one answer, bit for bit --------------------------------------------------------------------


@every_program
def test_the_value_is_that_of_plain_numpy(program):
    expected = leaves(program.function(*program.args))
    value, _ = made(program)[1]
    assert_close(value, expected, tolerance(program))


@every_program
def test_eager_gradients_are_the_same_every_time(program):
    """Interpreted at first sight, compiled at the second, recorded with ``create_graph``."""
    forget_eager_backwards()
    first = eager(program, program.args)
    assert_same_bits(eager(program, program.args), first, "second backward")
    assert_same_bits(eager(program, program.args), first, "third backward")
    assert_same_bits(eager(program, program.args, create_graph=True), first, "create_graph")


@every_program
def test_backwards_compiled_for_small_arrays_take_large_ones(program, monkeypatch):
    """What a rule does not read is kept of small arrays, and forgotten of large ones."""
    forget_eager_backwards()
    expected = eager(program, program.args)
    for _ in range(2):
        eager(program, program.args)
    monkeypatch.setattr(tape, "SMALL", -1)
    monkeypatch.setattr(recorders, "SMALL", -1)
    for _ in range(2):
        assert_same_bits(eager(program, program.args), expected)


@every_program
def test_a_watched_backward_gives_the_same(program):
    """Under a profiler and with anomaly detection, which sees no nan that is not returned."""
    forget_eager_backwards()
    expected = eager(program, program.args)
    with tg.autograd.profiler.profile():
        assert_same_bits(eager(program, program.args), expected, "profile")
    if not any(np.any(leaf != leaf) for leaf in leaves(expected)):
        with tg.autograd.detect_anomaly():
            assert_same_bits(eager(program, program.args), expected, "detect_anomaly")


@every_program
def test_compiled_equals_eager(program):
    expected = eager(program, program.args)
    f, first = made(program)
    assert_same_bits(first, expected, "first call")
    assert_same_bits(split(f(*program.args)), expected, "second call")


class Calls:
    number = 0


@pytest.mark.filterwarnings("ignore:.*more than compute")
@every_program
def test_the_tape_of_a_traced_run_gives_the_same(program):
    """The first call of a function that counts is traced and gets no program."""
    function = program.new()

    @wraps(function)
    def counting(*args):
        Calls.number += 1
        return function(*args)

    f = Watched(
        tg.value_and_grad(
            counting,
            program.argnums,
            has_aux=program.has_aux,
            static_argnames=program.static_argnames,
        )
    )
    expected = eager(program, program.args)
    assert_same_bits(split(f(*program.args)), expected, "first call")
    assert f.cache_info().versions == 0
    assert_same_bits(split(f(*program.args)), expected, "second call")


@every_program
def test_other_values_and_sizes(program):
    """One callable for all arguments, a new one for each, and eager agree."""
    f = compiled(program)
    for i, args in enumerate((program.args, *program.other_args, program.args)):
        shapes = ", ".join(str(np.shape(leaf)) for leaf in leaves(args))
        expected = eager(program, args)
        if 0 < i <= len(program.other_args):
            assert_same_bits(split(compiled(program)(*args)), expected, f"new, {shapes}")
        assert_same_bits(split(f(*args)), expected, f"again, {shapes}")


@pytest.mark.sampled(5)
@every_program
def test_fast_math_stays_within_rounding(program, monkeypatch):
    """At all sizes, for one callable; its source is written as carefully."""
    every = (program.args, *program.other_args, program.args)
    exactly = made(program)[0]
    expected = [split(exactly(*args)) for args in every]
    monkeypatch.setattr(config, "fast_math", True)
    f = compiled(program)
    for args, exact in zip(every, expected, strict=True):
        found = split(f(*args))
        assert_close(found, exact, tolerance(program), what=str(list(map(np.shape, leaves(args)))))
        for a, b in zip(leaves(found), leaves(exact), strict=True):
            assert type(a) is type(b) and getattr(a, "dtype", None) == getattr(b, "dtype", None)
    assert emitted_for(f, program).split() == f.source(*program.args).split()


@every_program
@pytest.mark.parametrize("stage", ["differentiated", "optimized"])
def test_graphs_mean_what_the_code_means(program, stage):
    """A graph interpreted node by node gives the bits of the compiled program."""
    f, (value, gradient) = made(program)
    value = [v for v in value if isinstance(v, np.ndarray | np.generic)]
    found = run_interpreted(f, program.args, stage, len(value))
    assert_same_bits(found, (value, gradient), stage)


@every_program
def test_what_is_returned_is_the_callers(program):
    """It shares memory with no argument, and with nothing that the next call returns."""
    f, args, first = first_call(program)
    held = [leaf for leaf in flatten(args)[0] if isinstance(leaf, np.ndarray)]
    for results in (first, split(f(*args)), split(f(*args))):
        returned = [x for part in results for x in part if isinstance(x, np.ndarray)]
        for i, array in enumerate(returned):
            assert not any(np.shares_memory(array, other) for other in (*held, *returned[:i]))
        held += returned


@pytest.mark.sampled(2)
@every_program
def test_the_function_itself_compiles(program):
    f = Watched(tg.compile(program.new(), static_argnames=program.static_argnames))
    expected, _ = eager(program, program.args)
    for _ in range(2):
        assert_same_bits(leaves(f(*program.args)), expected)


@pytest.mark.sampled(2, 1)
@every_program
def test_grad_alone(program):
    f = tg.grad(
        program.new(),
        program.argnums,
        has_aux=program.has_aux,
        static_argnames=program.static_argnames,
    )
    values, expected = eager(program, program.args)
    given = f(*program.args)
    if program.has_aux:
        given, aux = given
        assert_same_bits(leaves(aux), values[1:])
    assert_same_bits(leaves(given), expected)


# -- the right answer ---------------------------------------------------------------------------

smooth = pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if p.order >= 1], ids=lambda p: p.name
)
twice = pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if p.order >= 2], ids=lambda p: p.name
)
three_times = pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if p.order >= 3], ids=lambda p: p.name
)


def main_of(program: Program) -> Any:
    """The program without its auxiliary output."""
    f = program.new()
    if not program.has_aux:
        return f

    @wraps(f)
    def main(*args):
        return f(*args)[0]

    return main


def directions(program: Program, args: tuple[Any, ...], seed: int) -> tuple[Any, ...]:
    return tuple(direction_like(args[i], seed) for i in program.positions)


@smooth
def test_gradients_against_differences(program):
    args = program.args
    f = main_of(program)
    _, gradient = made(program)[1]
    for seed in (1, 2):
        v = directions(program, args, seed)
        expected = slope(lambda h, v=v: float(plain(f(*moved(args, program.positions, v, h)))))
        found = float(dot(gradient, v))
        assert np.isfinite(found)
        scale = float(dot(map_tree(np.abs, gradient), map_tree(np.abs, v)))
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-7 * max(1.0, scale))


def gradient_of(program: Program) -> Any:
    """A function from arguments to a tuple of gradients, to be differentiated again."""
    return tg.grad(main_of(program), program.positions, static_argnames=program.static_argnames)


def times(derivative: Any, v: tuple[Any, ...], program: Program) -> Any:
    """The gradient of ``<derivative, v>``: one order more, contracted with `v`."""

    @wraps(program.function)
    def contracted(*args):
        return dot(derivative(*args), v)

    return tg.grad(contracted, program.positions, static_argnames=program.static_argnames)


def difference_of(derivative: Any, args: tuple[Any, ...], v: Any, program: Program) -> list[Any]:
    """The derivative of ``derivative(*args)`` along `v`, leaf by leaf."""

    def along(h: float) -> np.ndarray:
        found = leaves(derivative(*moved(args, program.positions, v, h)))
        return np.concatenate([np.ravel(x) for x in found])

    return slope(along)


@pytest.mark.sampled(3)
@twice
def test_second_derivatives_against_differences(program):
    args = program.args
    gradient = gradient_of(program)
    v = directions(program, args, 3)
    found = leaves(times(gradient, v, program)(*args))
    flat = np.concatenate([np.ravel(x) for x in found])
    expected = difference_of(gradient, args, v, program)
    assert_close(flat, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.sampled(3, 1)
@three_times
def test_third_derivatives_against_differences(program):
    args = program.args
    v, u = directions(program, args, 4), directions(program, args, 5)
    second = times(gradient_of(program), v, program)
    found = leaves(times(second, u, program)(*args))
    flat = np.concatenate([np.ravel(x) for x in found])
    expected = difference_of(second, args, u, program)
    assert_close(flat, expected, rtol=1e-6, atol=1e-7)


def test_gradients_of_untaken_branches_are_finite():
    for program in PROGRAMS:
        if program.name.startswith("where_"):
            _, gradient = made(program)[1]
            assert all(np.isfinite(g).all() for g in gradient), program.name


# -- JAX ----------------------------------------------------------------------------------------


def of_jax(program: Program) -> Any:
    """What JAX itself computes for a program at its arguments."""
    jnp = pytest.importorskip("jax.numpy")
    return jax_value_and_gradients(
        program.reference(jnp), program.args, program.argnums, program.has_aux
    )


def numbers_of(result: Any) -> Any:
    """The value and gradients without returned things that are no numbers."""
    value, gradient = result
    return [v for v in value if isinstance(v, np.ndarray | np.generic)], gradient


@pytest.mark.sampled(8, 3)
@every_program
def test_agrees_with_jax(program):
    expected = of_jax(program)
    assert_close(numbers_of(made(program)[1]), expected, tolerance(program))


@pytest.mark.sampled(8)
@every_program
def test_the_jax_backend(program):
    pytest.importorskip("jax")
    expected = numbers_of(made(program)[1])
    f = compiled(program, "jax")
    for call in ("first call", "second call"):
        found = numbers_of(split(f(*program.args)))
        assert_close(found, expected, tolerance(program), what=call)
    for a, b in zip(found[1], expected[1], strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype


# -- the source ---------------------------------------------------------------------------------


@every_program
def test_the_source_is_formatted_and_needs_only_numpy(program):
    """The emitter writes what black would, but for tables of numbers, which it writes closely."""
    f, _ = made(program)
    text, emitted = f.source(*program.args), emitted_for(f, program)
    assert emitted.split() == text.split()
    if " = (\n" not in emitted:
        assert emitted == text
    imports = [line for line in text.splitlines() if line.startswith(("import ", "from "))]
    assert imports == ["import numpy as np"]
    assert "tracegrad" not in text.partition("import numpy")[2]


def emitted_for(f: Any, program: Program) -> str:
    """The source that runs, which black has not seen."""
    args = program.args
    return f._version_for(args, {}).source_for(f._bind(args, {})).text


@every_program
def test_the_source_runs_alone(program):
    f, expected = made(program)
    version = f._version_for(program.args, {})
    scope: dict[str, Any] = {}
    exec(compile(emitted_for(f, program), "generated", "exec"), scope)
    run = scope[version.program.source.name]
    captured = dict(
        zip(version.program.graph.frame.captures, version.captured_arrays(), strict=True)
    )
    returned = run(*f._bind(program.args, {}).values, **captured)
    if version.built:
        returned = version.finish(returned)
    assert_same_bits(split(returned), expected)


PRINT_SOURCES = """
import sys
sys.path.insert(0, {tests!r})
import numpy as np
np.seterr(all="ignore")
from programs import PROGRAMS
import tracegrad as tg
for p in PROGRAMS:
    if p.name in {names!r}:
        f = tg.value_and_grad(
            p.new(), p.argnums, has_aux=p.has_aux, static_argnames=p.static_argnames
        )
        print(f.source(*p.args))
"""


def sources_in_another_process(names: list[str], hash_seed: int) -> str:
    script = PRINT_SOURCES.format(tests=str(Path(__file__).parent), names=names)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        env={"PYTHONHASHSEED": str(hash_seed), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_source_is_the_same_in_every_process(few):
    names = [p.name for p in few(PROGRAMS, 15)]
    first, second = (sources_in_another_process(names, seed) for seed in (0, 4711))
    assert first.count("def ") >= len(names)
    assert first == second


def test_the_source_of_a_loss_is_the_same_in_many_processes():
    texts = {sources_in_another_process(["linear_regression"], seed) for seed in (1, 2, 3)}
    assert len(texts) == 1


def test_every_program_has_arguments_of_its_own():
    """Fresh arguments on every access, so that no test changes those of another."""
    for program in PROGRAMS:
        for a, b in zip(flatten(program.args)[0], flatten(program.args)[0], strict=True):
            if isinstance(a, np.ndarray):
                assert a is not b and np.array_equal(a, b)
