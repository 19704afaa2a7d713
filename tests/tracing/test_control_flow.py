"""Python's own control flow on values of arrays enters; compiled calls take the path that it takes.

Every program of `flow_programs.py` and `flow_methods.py` is compared with eager execution bit for
bit and watched for returns to the user's Python; its source has one `return` at most for each path
that was seen. Paths are told apart by what the plain function reads of its Tensors.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import flow_methods
import flow_programs
import numpy as np
import pytest
from checks import (
    assert_close,
    assert_same_bits,
    direction_like,
    dot,
    forget_eager_backwards,
    leaves,
    map_tree,
    moved,
    plain,
    positions_of,
    run_eagerly,
    slope,
    split,
)
from flow_programs import FLOWS, Flow

import tracegrad as tg
from tracegrad import config
from tracegrad.errors import NonScalarError, RecompileWarning

WARM_UP = 3  # calls of each input until a path is compiled for good
PROGRAM_FILES = frozenset({flow_methods.__file__, flow_programs.__file__})

every_flow = pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.name)


@pytest.fixture(autouse=True)
def no_surprises():
    """A program that turned eager would pass most tests: here nothing may."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error", RecompileWarning)
        yield


@pytest.fixture
def unverified(monkeypatch):
    """Graphs are not verified between passes again, which takes longer than all else."""
    monkeypatch.setattr(config, "check", False)


def compiled(flow: Flow) -> Any:
    return tg.value_and_grad(flow.function, flow.argnums, has_aux=flow.has_aux)


def eager(flow: Flow, args: Sequence[Any]) -> Any:
    return run_eagerly(flow.function, args, flow.argnums, flow.has_aux)


@functools.cache
def warmed(flow: Flow) -> Any:
    """A compiled callable that has seen every input often enough; tests share it."""
    f = compiled(flow)
    for _ in range(WARM_UP):
        for args in flow.inputs:
            f(*args)
    return f


# -- watching, independently of tracegrad -------------------------------------------------------

READS = ("__bool__", "__int__", "__float__", "__index__", "item", "tolist")


@contextmanager
def reads_recorded() -> Iterator[list[str]]:
    """What Python reads of Tensors, in order: every public way from a Tensor to a Python value."""
    seen: list[str] = []
    depth = 0

    def recording(name: str, read: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(read)
        def recorded(self: tg.Tensor) -> Any:
            nonlocal depth
            depth += 1
            try:
                outcome = read(self)
            finally:
                depth -= 1
            if not depth:
                seen.append(f"{name} {outcome!r}")
            return outcome

        return recorded

    with pytest.MonkeyPatch.context() as patch:
        for name in READS:
            patch.setattr(tg.Tensor, name, recording(name, getattr(tg.Tensor, name)))
        yield seen


def outcomes_read(function: Callable[..., Any], args: Sequence[Any]) -> tuple[str, ...]:
    """The outcomes of all looks of one run of the plain function on Tensors."""
    tensors = map_tree(
        lambda leaf: tg.tensor(leaf) if isinstance(leaf, np.ndarray | float) else leaf, tuple(args)
    )
    with reads_recorded() as seen:
        function(*tensors)
    return tuple(seen)


def path_of(flow: Flow, args: Sequence[Any]) -> tuple[str, ...]:
    return outcomes_read(flow.function, args)


def paths_of(flow: Flow) -> list[tuple[str, ...]]:
    """The distinct paths that the inputs take, in the order in which they are met."""
    return list(dict.fromkeys(path_of(flow, args) for args in flow.inputs))


@contextmanager
def users_frames_counted(files: frozenset[str] = PROGRAM_FILES) -> Iterator[list[str]]:
    """Every start (and resumption) of a Python function that is written in one of the files."""
    frames: list[str] = []

    def profile(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename in files:
            frames.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield frames
    finally:
        sys.setprofile(before)


def program_of(source: str) -> ast.stmt:
    """The program itself: neither the functions that it calls nor its form for large arrays."""
    program = next(n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef))
    program.body = [s for s in program.body if "_in_tiles(" not in ast.unparse(s)]
    return program


def returns(node: ast.AST) -> int:
    return sum(isinstance(inner, ast.Return) for inner in ast.walk(node))


def has_loops(function: Any) -> bool:
    """Whether a function has a loop, which is one text for many paths once it is closed."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return any(isinstance(node, ast.For | ast.While) for node in ast.walk(tree))


def returns_in(source: str) -> int:
    return returns(program_of(source))


def ifs_in(source: str) -> list[ast.If]:
    return [node for node in ast.walk(program_of(source)) if isinstance(node, ast.If)]


# -- the corpus itself --------------------------------------------------------------------------


def test_the_corpus_is_large():
    assert len({flow.function for flow in FLOWS}) == len({flow.name for flow in FLOWS}) >= 34


@every_flow
def test_inputs_take_several_paths(flow):
    assert len(paths_of(flow)) >= 2
    signatures = {
        tuple((type(leaf), np.shape(leaf), np.asarray(leaf).dtype) for leaf in leaves(args))
        for args in flow.inputs
    }
    assert len(signatures) == 1  # so that nothing but looks tells the calls apart


@every_flow
def test_the_watch_sees_the_plain_function(flow):
    """Counting would count: a plain call is seen."""
    for args in flow.inputs:
        tensors = map_tree(lambda x: tg.tensor(x) if isinstance(x, np.ndarray) else x, args)
        with users_frames_counted() as frames:
            flow.function(*tensors)
        assert flow.name in frames


# -- (a) one answer -----------------------------------------------------------------------------


@every_flow
def test_value_and_gradient_equal_eager(flow):
    """On every path: met for the first time, again, in another order, and with new values."""
    f = compiled(flow)
    expected = [eager(flow, args) for args in flow.inputs]
    given = flow.inputs
    order = [*range(len(expected)), *reversed(range(len(expected)))]
    for call in range(WARM_UP):
        for i in order:
            assert_same_bits(split(f(*given[i])), expected[i], f"round {call}, input {i}")
    assert_same_bits(given, flow.inputs, "arguments")
    for seed, distance in ((1, 1e-9), (2, 0.02)):
        for args in flow.near(seed, distance):
            assert_same_bits(split(f(*args)), eager(flow, args), f"new values {args}")


@pytest.mark.sampled(2)
@every_flow
def test_another_path_first(flow, unverified):
    f = compiled(flow)
    for i in (-1, 0, -1):
        assert_same_bits(split(f(*flow.inputs[i])), eager(flow, flow.inputs[i]))


@pytest.mark.sampled(2, 1)
@every_flow
def test_the_function_itself_and_its_gradient_alone(flow, unverified):
    function = tg.compile(flow.function)
    gradient = tg.grad(flow.function, flow.argnums, has_aux=flow.has_aux)
    for call in range(2):
        for args in flow.inputs:
            values, slopes = eager(flow, args)
            assert_same_bits(leaves(function(*args)), values, f"compile, call {call}")
            given = gradient(*args)
            if flow.has_aux:
                given, aux = given
                assert_same_bits(leaves(aux), values[1:], f"aux, call {call}")
            assert_same_bits(leaves(given), slopes, f"grad, call {call}")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("flow", [f for f in FLOWS if f.arrays], ids=lambda flow: flow.name)
def test_values_are_those_of_numpy(flow):
    """The same Python on plain arrays, without tracegrad."""
    f = warmed(flow)
    for args in flow.inputs:
        expected = leaves(flow.function(*args))
        assert_close(split(f(*args))[0], expected, 1e-12)


@pytest.mark.parametrize("flow", [f for f in FLOWS if f.smooth], ids=lambda flow: flow.name)
def test_gradients_against_differences(flow):
    f = warmed(flow)
    wanted = positions_of(flow.argnums)

    def value(args: Sequence[Any]) -> float:
        if not flow.arrays:
            args = map_tree(tg.tensor, tuple(args))
        returned = flow.function(*args)
        return float(plain(returned[0] if flow.has_aux else returned))

    for args in flow.inputs:
        gradient = f(*args)[1]
        gradient = (gradient,) if isinstance(flow.argnums, int) else gradient
        v = tuple(direction_like(args[i], 1) for i in wanted)
        if is_on_an_edge(flow, args, wanted, v):
            continue
        expected = slope(lambda h, args=args, v=v: value(moved(args, wanted, v, h)), 1e-5)
        scale = sum(float(np.sum(np.abs(np.asarray(g)))) for g in leaves(gradient))
        assert float(dot(gradient, v)) == pytest.approx(expected, rel=1e-6, abs=1e-7 * (1 + scale))


def is_on_an_edge(flow: Flow, args: Sequence[Any], wanted: Sequence[int], v: Any) -> bool:
    """Whether a step of the differences leaves the path."""
    steps = [tuple(moved(args, wanted, v, h)) for h in (-2e-5, -1e-5, 1e-5, 2e-5)]
    return any(path_of(flow, step) != path_of(flow, args) for step in steps)


def test_few_inputs_are_on_an_edge():
    """Differences were compared on nearly every path."""
    smooth = [flow for flow in FLOWS if flow.smooth]
    edges = [
        (flow.name, args)
        for flow in smooth
        for args in flow.inputs
        for wanted in [positions_of(flow.argnums)]
        if is_on_an_edge(flow, args, wanted, tuple(direction_like(args[i], 1) for i in wanted))
    ]
    assert len(edges) <= 0.1 * sum(len(flow.inputs) for flow in smooth), edges


# -- (b) no return to the user's Python ---------------------------------------------------------


@pytest.mark.sampled(2)
@every_flow
def test_nothing_returns_to_python_after_a_warm_up(flow):
    f = warmed(flow)
    before = f.cache_info()
    for args in flow.inputs:
        with users_frames_counted() as frames:
            f(*args)
        assert not frames
    after = f.cache_info()
    assert after._replace(hits=0) == before._replace(hits=0)
    assert after.hits == before.hits + len(flow.inputs)


# -- (c) branches in the source are the branches seen -------------------------------------------


@pytest.mark.sampled(2, 1)
@every_flow
def test_one_return_at_most_for_each_path_seen(flow, unverified):
    warmed(flow)  # it is known which loops do not close, whatever ran before
    f, inputs = compiled(flow), flow.inputs
    seen: set[tuple[str, ...]] = set()
    for args in inputs:
        seen.add(path_of(flow, args))
        for _ in range(WARM_UP):
            f(*args)
        assert f.cache_info().traces <= len(seen)  # each path at most once
    source = f.source(*inputs[0])
    assert returns_in(source) <= len(seen)  # one text for many paths, where they meet
    if has_loops(flow.function):
        return
    assert f.source(*inputs[-1]) == source  # all paths are in one program
    assert f.cache_info().versions == 1
    assert ifs_in(source) or f.cache_info().traces == 1


@every_flow
def test_one_path_has_one_end(flow):
    f, args = compiled(flow), flow.inputs[-1]
    f(*args)
    f(*args)
    source = f.source(*args)
    assert returns_in(source) == 1 or has_loops(flow.function)


@pytest.mark.sampled(2)
@every_flow
def test_asking_for_the_source_grafts_the_path(flow, unverified):
    """`.source` of arguments that nobody has called with shows the path that they would take."""
    f, inputs = compiled(flow), flow.inputs
    f.source(*inputs[0])
    source = f.source(*inputs[-1])
    paths = len({path_of(flow, inputs[i]) for i in (0, -1)})
    assert returns_in(source) <= paths
    assert ifs_in(source) or paths == 1


@every_flow
def test_both_sides_are_in_the_forward_part(flow):
    source = warmed(flow).source(*flow.inputs[0], part="forward")
    assert returns_in(source) <= len(paths_of(flow))


def absolute(x):
    if x[0] > 0:
        return x
    else:
        return -x


def product_of_positive(x):
    result = 1
    for ii in x:
        if ii > 0:
            result = ii * result
    return result


def product_of_listed(x):
    """The same over a list, which no loop stays one for, with arms that differ in a text."""
    result, signs = 1, ""
    for ii in [*x]:
        if ii > 0:
            result, signs = ii * result, signs + "+"
    return result * (1.0 + len(signs))


def doubled_until_large(x):
    y = x * 2
    while y.data.norm() < 1000:
        y = y * 2
    return y


def total_of(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def total(x):
        return np.sum(function(x))

    return total


@pytest.mark.parametrize(
    "function, arrays, test",
    [
        (absolute, ([1.0], [-1.0]), "x[0] > 0"),
        (product_of_positive, ([-1.0, 2.0], [1.0, 2.0], [3.0, -2.0]), "ii > 0"),
        (doubled_until_large, ([300.0, 2.0], [200.0, 1.0], [1000.0, 0.0]), "< 1000"),
    ],
)
def test_the_first_examples_show_real_ifs(function, arrays, test):
    """The control flow of the documents that the project began with, as it is written there."""
    inputs = [np.array(numbers) for numbers in arrays]
    total = total_of(function)
    f, gradient = tg.compile(function), tg.value_and_grad(total)
    for x in (*inputs, *inputs):
        assert_same_bits(f(x), function(tg.tensor(x)))
        assert_same_bits(split(gradient(x)), run_eagerly(total, (x,)))
    for source in (f.source(inputs[0]), gradient.source(inputs[0])):
        assert returns_in(source) <= len(inputs)
        assert ifs_in(source) and test in source, source


# -- too many paths -----------------------------------------------------------------------------


def scaled_by_what_was_read(x):
    return np.sum(x * x) * float(f"{x[0].item()}")


def random_signs(random: np.random.Generator, n: int) -> np.ndarray:
    return random.choice([-1.0, 1.0], n) * random.uniform(0.9, 1.1, n)


def call_until_eager(
    function: Callable[..., Any], n: int, transform: Callable[..., Any], calls: int = 80
) -> tuple[Any, list[str]]:
    """Calls with new values each time, all compared with eager; the callable and its warnings."""
    f, random = transform(function), np.random.default_rng(n)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for call in range(calls):
            x = random_signs(random, n)
            x[0] = abs(x[0])  # one is positive, so that the product is a Tensor
            values, gradients = run_eagerly(function, (x,))
            expected = values if transform is tg.compile else (values, gradients)
            forget_eager_backwards()  # or each tape, met twice now, would be compiled
            found = f(x)
            found = leaves(found) if transform is tg.compile else split(found)
            assert_same_bits(found, expected, f"call {call}")
    return f, [str(w.message) for w in caught if issubclass(w.category, RecompileWarning)]


@pytest.mark.parametrize(
    "function, n, transform",
    [
        (product_of_listed, 64, tg.value_and_grad),
        (scaled_by_what_was_read, 3, tg.value_and_grad),
        (scaled_by_what_was_read, 3, tg.compile),
    ],
)
def test_too_many_paths_turn_eager_once(function, n, transform, unverified):
    f, messages = call_until_eager(function, n, transform)
    assert len(messages) == 1
    assert function.__name__ in messages[0]
    before = f.cache_info()
    assert before.traces <= 40  # bounded: most calls did not trace
    random = np.random.default_rng(0)
    for _ in range(5):
        f(np.abs(random_signs(random, n)))  # and does not warn again: warnings are errors here
    assert f.cache_info().traces == before.traces


@pytest.mark.parametrize(
    "function, n, line",
    [(product_of_listed, 12, "if ii > 0"), (scaled_by_what_was_read, 3, "x[0].item()")],
)
def test_the_warning_names_the_line_that_keeps_deciding(function, n, line):
    _, messages = call_until_eager(function, n, tg.value_and_grad)
    assert line in messages[0]


def three_looks(x):
    y = x * 2.0
    y = y + 1.0 if x[0] > 0 else y * y
    y = np.tanh(y) if x[1] > 0 else y - x
    return np.sum(y) if x[2] > 0 else np.sum(y * y)


def test_few_paths_stay_compiled():
    f, random = tg.value_and_grad(three_looks), np.random.default_rng(0)
    for call in range(200):
        if call == 100:
            before = f.cache_info()
        x = random_signs(random, 3)
        assert_same_bits(split(f(x)), run_eagerly(three_looks, (x,)))
    assert f.cache_info() == before._replace(hits=before.hits + 100)
    assert returns_in(f.source(x)) == 1  # where all of them meet
    assert before.traces <= 4


# -- exceptions ---------------------------------------------------------------------------------


class Stop(BaseException):
    """No `Exception`: like KeyboardInterrupt."""


def checked(x):
    y = np.sqrt(np.abs(x))
    if x[0] < 0:
        raise ValueError(f"negative: {float(x[0])}")
    if x[1] < 0:
        raise LookupError(f"not found: {float(x[1])}")
    if x[2] < 0:
        raise Stop("stopped")
    return np.sum(y) if x[0] < 1 else np.sum(y * x)


GOOD = ([0.5, 1.0, 2.0], [2.0, 1.0, 2.0])
BAD = {
    "value": ([-1.0, 1.0, 1.0], ValueError, "negative: -1.0"),
    "lookup": ([1.0, -1.0, 1.0], LookupError, "not found: -1.0"),
    "base": ([2.0, 1.0, -1.0], Stop, "stopped"),
}


@pytest.mark.parametrize("transform", [tg.value_and_grad, tg.compile])
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("first", ["bad", "good"])
def test_an_exception_in_a_trace_leaves_the_function_usable(transform, bad, first):
    f = transform(checked)
    numbers, error, message = BAD[bad]

    def good() -> None:
        for x in map(np.array, GOOD):
            expected = run_eagerly(checked, (x,))
            for _ in range(WARM_UP):
                found = f(x)
                if transform is tg.compile:
                    assert_same_bits(leaves(found), expected[0])
                else:
                    assert_same_bits(split(found), expected)

    if first == "good":
        good()
    for _ in range(2):
        for _ in range(3):
            with pytest.raises(error, match=message) as raised:
                f(np.array(numbers))
            assert type(raised.value) is error
        assert np.asarray(tg.tensor([1.0]) * 2.0).tolist() == [2.0]  # no trace is left open
        good()
    with users_frames_counted(frozenset({__file__})) as frames:
        for x in map(np.array, GOOD):
            f(x)
    assert "checked" not in frames


def test_a_path_without_a_gradient_is_refused_on_every_call():
    """Where no number is positive the product is Python's 1: no gradient, and no zeros either."""
    f = tg.value_and_grad(product_of_positive)
    for numbers in ([1.0, 2.0], [-1.0, -2.0], [1.0, -2.0], [-1.0, -1.0], [3.0, 2.0]) * 3:
        x = np.array(numbers)
        if x.max() > 0:
            assert_same_bits(split(f(x)), run_eagerly(product_of_positive, (x,)))
        else:
            with pytest.raises(NonScalarError, match="returns int; its gradient needs one"):
                f(x)


def test_what_has_no_gradient_is_refused_in_every_tier():
    """Alone, inside another trace, and where the function runs eagerly."""

    def loss(x):
        return np.sum(x) if x[0] > 0 else {0: 1, -1: x * x, -2: np.sum(x) > 0}[int(x[0])]

    def outer(x):
        return np.sum(tg.grad(loss)(x))

    for f in (tg.value_and_grad(loss), tg.grad(outer)):
        for first in (1.0, 0.0, -1.0, -2.0, 2.0) * 2:
            x = np.array([first, 1.0])
            if first > 0:
                f(x)
            else:
                with pytest.raises(NonScalarError, match="gradient needs"):
                    f(x)


def test_the_exception_is_that_of_this_call():
    f = tg.grad(checked)
    for value in (-1.0, -2.0, -1.0, -3.0):
        with pytest.raises(ValueError, match=f"negative: {value}"):
            f(np.array([value, 1.0, 1.0]))
    assert_same_bits(f(np.array(GOOD[0])), run_eagerly(checked, (np.array(GOOD[0]),))[1])


def test_an_assertion_fails_on_every_call():
    f = tg.value_and_grad(flow_programs.asserted)
    for x in ([4.0, 1.0], [-4.0, 1.0], [-4.0, 1.0], [2.0, 8.0], [-2.0, 1.0]):
        if x[0] > 0:
            assert_same_bits(
                split(f(np.array(x))), run_eagerly(flow_programs.asserted, (np.array(x),))
            )
            continue
        with pytest.raises(AssertionError, match="the radius must be positive"):
            f(np.array(x))


# -- recursion and re-entrancy ------------------------------------------------------------------


def halved(x):
    if x[0] > 1:
        return 2.0 * halved(x / 2.0)
    return x * x


@tg.compile
def halved_compiled(x):
    if x[0] > 1:
        return 2.0 * halved_compiled(x / 2.0)
    return x * x


SIZES = (0.5, 3.0, 20.0, 0.7, 3.5, 17.0)


def test_a_compiled_function_calls_itself():
    for _ in range(2):
        for size in SIZES:
            x = np.array([size, -1.0])
            assert_same_bits(halved_compiled(x), halved(x))
    traces = halved_compiled.cache_info().traces
    f = tg.value_and_grad(lambda x: np.sum(halved_compiled(x)))
    for _ in range(2):
        for size in SIZES:
            x = np.array([size, -1.0])
            assert_same_bits(split(f(x)), run_eagerly(lambda x: np.sum(halved(x)), (x,)))
    assert halved_compiled.cache_info().traces == traces


def by_its_own_gradient(x):
    """The sum of c x**3 with c = 1 up to 1, and c' = c / 8 + 3 c / 4 each time that x doubles."""
    if x[0] > 1:
        value, slope = own_gradient(x / 2.0)
        return value + np.sum(slope * x)
    return np.sum(x**3)


own_gradient = tg.value_and_grad(by_its_own_gradient)


def test_a_function_of_its_own_gradient():
    """v(x) = v(x / 2) + x v'(x / 2): each doubling of x turns c into c / 8 + 3 c / 4."""
    for _ in range(2):
        for size, doublings in ((0.5, 0), (1.5, 1), (3.0, 2), (0.25, 0), (2.5, 2)):
            x = np.array([size, 0.3])
            value, slope = own_gradient(x)
            c = 0.875**doublings
            assert_close(value, c * np.sum(x**3), 1e-13)
            assert_close(slope, 3.0 * c * x**2, 1e-13)


def inner(x):
    return x * 2.0 if x[0] > 0 else -x


inner_compiled = tg.compile(inner)


def outer(x, inner=inner):
    y = inner(x)
    if y[1] > 0:
        y = inner(y - 3.0)
    table = inner(np.array([1.0, -1.0]))  # no value of the trace
    return np.sum(y * y * table)


def outer_compiled(x):
    return outer(x, inner_compiled)


CORNERS = [np.array([p, q]) for p in (4.0, 1.0, -2.0) for q in (2.0, -2.0)]


def test_a_compiled_function_calls_another():
    f = tg.value_and_grad(outer_compiled)
    for call in range(2 * WARM_UP):
        for x in CORNERS:
            assert_same_bits(split(f(x)), run_eagerly(outer, (x,)))
            if call % 2:
                assert_same_bits(inner_compiled(x), inner(x))
    with users_frames_counted(frozenset({__file__})) as frames:
        for x in CORNERS:
            f(x)
    assert not {"inner", "outer", "outer_compiled"} & set(frames)


def curvature(x):
    """A branch, in the function and in the derivative that it asks for."""
    slope = tg.grad(lambda v: np.sum(v**3) if v[0] > 0 else np.sum(np.exp(v)))(x)
    return np.sum(slope * slope) if slope[1] > 1 else np.sum(slope)


def test_a_derivative_inside_a_compiled_function():
    f = tg.value_and_grad(curvature)
    for _ in range(WARM_UP):
        for x in CORNERS:
            assert_same_bits(split(f(x)), run_eagerly(curvature, (x,)))
    for x in CORNERS:
        first = 3.0 * x**2 if x[0] > 0 else np.exp(x)
        second = 6.0 * x if x[0] > 0 else np.exp(x)
        value, gradient = f(x)
        assert_close(value, np.sum(first**2) if first[1] > 1 else np.sum(first), 1e-13)
        assert_close(gradient, 2.0 * first * second if first[1] > 1 else second, 1e-13)


# -- threads ------------------------------------------------------------------------------------

THREADS = 8


def in_threads(work: Callable[[int], None]) -> None:
    """Runs `work` on all threads at once, switching often; the first error is raised here."""
    barrier, errors = threading.Barrier(THREADS), []

    def run(number: int) -> None:
        try:
            barrier.wait()
            work(number)
        except BaseException as error:
            errors.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=run, args=(i,)) for i in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    if errors:
        raise errors[0]


SHARED = ("sorting_network", "decision_tree", "newton", "any_and_all", "other_structures")


@pytest.mark.parametrize("flow", [f for f in FLOWS if f.name in SHARED], ids=lambda f: f.name)
def test_threads_share_a_compiled_function(flow):
    """From the first call on, all threads get what eager gives."""
    inputs = [*flow.inputs, *flow.near(1, 0.3), *flow.near(2, 0.3)]
    expected = [eager(flow, args) for args in inputs]
    for attempt in range(2):
        f = compiled(flow)

        def work(number: int, f: Any = f, attempt: int = attempt) -> None:
            random = np.random.default_rng([attempt, number])
            for i in random.integers(len(inputs), size=40):
                assert_same_bits(split(f(*inputs[i])), expected[i])

        in_threads(work)
        paths = len({path_of(flow, args) for args in inputs})
        assert f.cache_info().traces <= WARM_UP * paths  # not once a thread


def test_threads_share_functions_that_call_each_other():
    expected = [run_eagerly(outer, (x,)) for x in CORNERS]
    f = tg.value_and_grad(outer_compiled)

    def work(number: int) -> None:
        random = np.random.default_rng(number)
        for i in random.integers(len(CORNERS), size=40):
            if number % 2:
                assert_same_bits(split(f(CORNERS[i])), expected[i])
            else:
                assert_same_bits(inner_compiled(CORNERS[i]), inner(CORNERS[i]))

    in_threads(work)


def test_an_exception_on_one_thread_stays_there():
    f = tg.value_and_grad(checked)
    expected = [run_eagerly(checked, (np.array(x),)) for x in GOOD]

    def work(number: int) -> None:
        for call in range(20):
            if number % 2:
                with pytest.raises(ValueError, match="negative"):
                    f(np.array([-1.0, 1.0, 1.0]))
            else:
                i = call % 2
                assert_same_bits(split(f(np.array(GOOD[i]))), expected[i])

    in_threads(work)


def test_each_arm_keeps_what_tells_a_length() -> None:
    """Both arms make an array of which the program needs the length alone."""

    def f(x):
        if x.sum() > 0.2:
            x = x * 2.0
        chosen = x[[True, True, False]]
        return np.sum(np.broadcast_arrays(chosen, 1.0)[1] * 1.0)

    compiled = tg.compile(f)
    for sign in (1.0, -1.0, 1.0, -1.0):
        assert compiled(sign * np.array([1.0, 2.0, 3.0])) == 2.0
