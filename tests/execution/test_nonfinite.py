"""Programs with one bad statement enter the tests here: whether the error names that statement.

Faults are injected in two ways: at every statement of programs nan or inf is put into the result
of one operation of the graph, which is then optimized, emitted and run; and inputs are chosen for
which one line of a function leaves the domain of its operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from codegen.ir import Block, Branch, Call, Graph, Node, Trait, Value
from codegen.spelling import spell
from tests.programs import PROGRAMS, Draw, Program
from tracegrad.errors import FiniteError
from tracegrad.execution.pipeline import compile_graph
from tracegrad.ops.record import OpRecord

LAST = "np.where(np.arange(np.size(x)).reshape(np.shape(x)) == np.size(x) - 1, np.{}, x)"


def fault(number: str) -> OpRecord:
    return OpRecord(
        name=f"{number}_fault",
        operands=("x",),
        infer=lambda sizes, x: x,
        spelling={"numpy": spell(LAST.format(number))},
        traits=frozenset({Trait.EFFECT}),
        doc="The operand with this number as its last element.",
    )


FAULTS = {number: fault(number) for number in ("nan", "inf")}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield
    tg.config.check_finite = False


@pytest.fixture
def checks() -> None:
    tg.config.check_finite = True


# -- a nan at each statement ----------------------------------------------------------------------


def helped(x: Any) -> Any:
    centred = x - np.mean(x)
    return centred / (1.0 + np.abs(centred))


def with_helpers(x: Any, scale: float) -> Any:
    h = helped(x) * scale
    g = helped(np.tanh(h) + x)
    total = np.sum(g * h)
    return total**2


def with_branches(x: Any, threshold: float) -> Any:
    size = np.sum(x * x)
    if size > threshold:
        y = np.sin(x) * 2.0
    else:
        y = np.cos(x) + size
    if np.sum(y) > 0.0:
        y = y * size
    return np.sum(y * x)


def with_loop(x: Any, steps: Any) -> Any:
    state = x
    for step in steps:
        move = np.tanh(state) * step
        state = state - move
    return np.mean(state**2)


def with_state(parameters: Any, x: Any) -> Any:
    hidden = np.maximum(x @ parameters["w"] + parameters["b"], 0.0)
    spread = np.sqrt(np.mean(hidden**2) + 1e-3)
    normal = hidden / spread
    return np.sum(normal * parameters["v"])


OWN: list[tuple[Callable[..., Any], Callable[[Draw], tuple[Any, ...]]]] = [
    (with_helpers, lambda draw: (draw(5), 0.7)),
    (with_branches, lambda draw: (draw(4), 1.0)),
    (with_loop, lambda draw: (draw(3), [0.1, 0.2, 0.3])),
    (with_state, lambda draw: ({"w": draw(3, 4), "b": draw(4), "v": draw(4)}, draw(2, 3))),
]
TAKEN = (
    "linear_regression",
    "logistic_regression",
    "softmax_regression",
    "mlp",
    "relu_network",
    "rnn",
    "attention",
    "layer_norm",
    "batch_norm",
    "convolution_by_slices",
)


def poisoned(block: Block, bad: Call, number: str) -> Block:
    """The block with nan or inf in what one of its calls gives, as if that call had made it."""
    nodes: list[Node] = []
    for node in block.nodes:
        if node is bad:
            first, *others = bad.results
            made = Value(first.type, first.origin)
            nodes += [
                replace(bad, results=(made, *others), reuse=None),
                Call(FAULTS[number], (made,), (), (first,)),
            ]
        elif isinstance(node, Branch):
            nodes.append(replace(node, blocks=tuple(poisoned(b, bad, number) for b in node.blocks)))
        else:
            nodes.append(replace(node, reuse=None) if isinstance(node, Call) else node)
    return replace(block, nodes=tuple(nodes))


def on_the_path(graph: Graph, inputs: list[Any]) -> list[Call]:
    """The calls that run with these inputs and give floating-point numbers."""
    from tracegrad.execution.graph_interpreter import called, run_through

    calls: list[Call] = []

    def step(call: Call, run: Any, arrays: Any, known: Any) -> Any:
        if call.results[0].type.dtype.startswith("float"):
            calls.append(call)
        return called(call, run, arrays, known)

    run_through(graph, inputs, step)
    return calls


def injected(compiled: Any, args: tuple[Any, ...], number: str) -> list[tuple[bool, str]]:
    """For each statement: whether it is blamed where it is at fault, and what was said."""
    version = compiled._version_for(args, {})
    arguments = compiled._bind(args, {})
    inputs = [leaf.value for leaf in arguments.leaves if leaf.traced]
    found = []
    graph = version.program.graph
    for call in on_the_path(graph, [*inputs, *version.captured_arrays()]):
        program = compile_graph(graph.with_block(poisoned(graph.block, call, number)), "numpy")
        origin = call.results[0].origin
        try:
            replace(version, program=program).call(arguments)
        except LookupError:  # nan took another way at a look: not this program's any more
            continue
        except FiniteError as error:
            place = (origin.file, origin.line, origin.section or "forward")
            right = (error.file, error.line, error.section) == place
            if origin.name is not None:
                right = right and error.variable == origin.name
            found.append((right, f"{call.op.name} of {origin.name}, {place}: {error}"))
        # else the fault went nowhere: maximum, where and comparisons take it away
    return found


def cases() -> Iterator[tuple[Any, tuple[Any, ...]]]:
    programs: dict[str, Program] = {p.name: p for p in PROGRAMS}
    for name in TAKEN:
        made = programs[name]
        yield tg.value_and_grad(argnums=made.argnums)(made.new()), made.args
    for function, draw in OWN:
        yield tg.value_and_grad(function), draw(Draw(0))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", FAULTS)
def test_a_fault_at_each_statement_is_blamed_on_it(checks: None, number: str, few: Any) -> None:
    tried = few([*cases()], 4)
    found = [result for compiled, args in tried for result in injected(compiled, args, number)]
    wrong = [said for right, said in found if not right]
    assert len(found) > 20 * len(tried)
    assert len(wrong) <= 0.02 * len(found), "\n".join(wrong)


# -- inputs that leave a domain -------------------------------------------------------------------


def blame(function: Callable[..., Any], *args: Any) -> FiniteError:
    with pytest.raises(FiniteError) as caught:
        function(*args)
    return caught.value


def root(a: Any, m: float) -> Any:
    d = a - m
    return np.sqrt(d)


def model(x: Any, m: float, w: Any) -> Any:
    h = root(x, m) * w
    z = np.exp(h)
    ratio = z / w
    angle = np.arccos(ratio / 1e9)
    level = np.log(m)
    return np.sum(angle) + level


X = np.linspace(1.0, 2.0, 4)


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((X, 1.5, X), "sqrt gave nan at [0] in h (test_nonfinite.py:$root+2  return np.sqrt(d)), "
         "forward; d ranges from -0.5 to 0.5 and is -0.5 there"),
        ((X, 1.0, X), "divide gave inf at [0] in minus_d_bar (test_nonfinite.py:$root+2  "
         "return np.sqrt(d)), "
         "backward"),
        ((X, 0.5, 1e4 * X), "exp gave inf at [0] in z (test_nonfinite.py:$model+2  z = np.exp(h)), "
         "forward; h ranges from 7071.07 to 24494.9 and is 7071.07 there"),
        ((X, 0.5, 0.0 * X), "divide gave inf at [0] in ratio (test_nonfinite.py:$model+3  "
         "ratio = z / w), forward; z is 1 everywhere; w is 0 everywhere"),
        ((X, 0.5, X / 1e12), "arccos gave nan at [0] in angle (test_nonfinite.py:$model+4  "
         "angle = np.arccos(ratio / 1e9)), forward; ratio / 1000000000.0 "),
        ((X, -0.5, X), "log gave nan in level (test_nonfinite.py:$model+5  level = np.log(m)), "
         "forward; m is -0.5"),
        ((X, np.inf, X), "argument m is not finite: inf"),
        ((X, 0.5, np.where(X > 1.5, np.nan, X)), "argument w is not finite: nan at [2]"),
    ],
)  # fmt: skip
def test_the_message(checks: None, args: tuple[Any, ...], said: str, again: bool) -> None:
    compiled = tg.value_and_grad(model)
    if again:  # the entry, not the first call
        compiled(X, 0.5, X)
    for function in (root, model):
        first = function.__code__.co_firstlineno
        for line in range(1, 7):
            said = said.replace(f"${function.__name__}+{line} ", f"{first + line} ")
    assert str(blame(compiled, *args)).startswith(said)


def test_the_error_tells_by_attributes_too(checks: None) -> None:
    error = blame(tg.compile(root), X, 1.5)
    assert (error.variable, error.operation, error.section) == (None, "sqrt", "forward")
    assert (error.line, error.index) == (root.__code__.co_firstlineno + 2, (0,))
    assert error.text == "return np.sqrt(d)"
    assert isinstance(error, ArithmeticError) and isinstance(error, tg.errors.TracegradError)


def attention(q: Any, mask: Any) -> Any:
    scores = np.where(mask, q @ q.T, -np.inf)
    shifted = scores - np.max(scores, axis=1, keepdims=True)
    weights = np.exp(shifted)
    return np.sum(weights / np.sum(weights, axis=1, keepdims=True) @ q)


def test_a_mask_of_infinities_is_not_blamed(checks: None) -> None:
    q, mask = Draw(0)(4, 3), np.tril(np.ones((4, 4), bool))
    compiled = tg.grad(attention)
    assert np.isfinite(compiled(q, mask)).all()
    mask[2] = False  # nothing is left of that row: inf - inf
    error = blame(compiled, q, mask)
    assert (error.variable, error.operation, error.index) == ("shifted", "subtract", (2, 0))
    assert "the infinity came from -inf at [0, 1] in scores" in str(error)


def test_every_structure_of_results_is_looked_at(checks: None) -> None:
    @tg.compile
    def several(x: Any) -> Any:
        low = np.log(x)
        return {"a": [x, (low, 1)], "b": None}

    assert several(X)["b"] is None
    assert blame(several, 0.0 * X).variable == "low"
    assert tg.compile(lambda x: x > 0)(X).all()


def test_a_branch_is_replayed_along_its_own_path(checks: None) -> None:
    @tg.value_and_grad
    def either(x: Any) -> Any:
        if np.sum(x) > 0:
            up = np.log(x)
            return np.sum(up)
        down = np.sqrt(x)
        return np.sum(down)

    for _ in range(2):
        assert blame(either, np.array([-1.0, 3.0])).variable == "up"
        assert blame(either, np.array([-1.0, -3.0])).variable == "down"
    assert either(X)[0] == np.sum(np.log(X))


def test_jax_programs_are_replayed_on_numpy(checks: None) -> None:
    pytest.importorskip("jax")
    compiled = tg.value_and_grad(model, backend="jax")
    for _ in range(2):
        assert np.isfinite(compiled(X, 0.5, X)[0])
        error = blame(compiled, X, 1.5, X)
        assert (error.variable, error.operation) == ("h", "sqrt")


# -- what the check leaves alone ------------------------------------------------------------------


def test_generators_and_stores_are_as_before_the_call(checks: None) -> None:
    class Model:
        total = np.zeros(3)
        generator = tg.random.Generator(3)

    held = Model()

    @tg.compile
    def step(x: Any) -> Any:
        noise = held.generator.normal(size=3)
        held.total = held.total + x
        return np.log(x) + noise

    step(np.ones(3))
    step(np.ones(3))
    state, total = held.generator.state, held.total
    for _ in range(2):
        assert blame(step, np.array([1.0, -1.0, 1.0])).operation == "log"
        assert held.generator.state == state
        assert np.array_equal(held.total, total)
    step(np.ones(3))
    assert np.array_equal(held.total, total + 1)


def test_captured_arrays_are_named(checks: None) -> None:
    weights = np.ones(4)
    compiled = tg.grad(lambda x: np.sum(x * weights))
    compiled(X)
    weights[1] = np.inf
    assert str(blame(compiled, X)) == "weights, read from outside, is not finite: inf at [1]"


def test_it_is_switched_on_and_off_for_compiled_programs() -> None:
    compiled = tg.grad(model)
    assert np.isnan(compiled(X, 1.5, X)).any()
    for _ in range(2):
        with tg.autograd.detect_anomaly():
            assert blame(compiled, X, 1.5, X).variable == "h"
        assert np.isnan(compiled(X, 1.5, X)).any()
        tg.config.check_finite = True
        with tg.no_grad():
            assert blame(compiled, X, 1.5, X).variable == "h"
        assert blame(compiled, X, 1.5, X).variable == "h"
        tg.config.check_finite = False
    assert compiled.cache_info().traces == 1


def test_the_result_is_the_same_with_checks() -> None:
    compiled = tg.value_and_grad(model)
    plain = compiled(X, 0.5, X)
    tg.config.check_finite = True
    value, gradient = compiled(X, 0.5, X)
    assert value == plain[0] and gradient.tobytes() == plain[1].tobytes()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_large_numbers_are_no_infinities(checks: None, dtype: str) -> None:
    same = tg.compile(lambda x: x * 1.0)
    large = np.full((3, 8), np.finfo(dtype).max, dtype)
    with np.errstate(all="raise"):
        for x in (large, large.T, large[:, ::2], large[:0]):
            assert same(x).tobytes() == x.tobytes()
    large[1, 2] = np.nan
    assert blame(same, large).index == (1, 2)


def test_calls_that_run_eagerly_are_looked_at(checks: None) -> None:
    calls: list[int] = []

    @tg.compile
    def counts(x: Any) -> Any:
        calls.append(str(np.random.rand()))  # what a program could not do
        return np.log(x)

    with pytest.warns(tg.errors.RecompileWarning):
        for _ in range(3):
            assert np.isfinite(counts(X)).all()
            error = blame(counts, -X)
            assert (error.operation, error.section, error.index) == ("log", "forward", (0,))
            assert error.line == counts.__wrapped__.__code__.co_firstlineno + 3


FINE = np.array([1.0, 2.0, 3.0])


def eager(kind: Any, f: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled function that has been given up."""
    calls: list[int] = []

    def counted(*args: Any) -> Any:
        calls.append(len(calls))
        return f(*args)

    made = kind(counted)
    with pytest.warns(tg.errors.RecompileWarning):
        for _ in range(3):
            made(FINE, 0.5, FINE)
    return made


def rooted(x: Any, m: Any, w: Any) -> Any:
    h = x - m
    root = np.sqrt(h)
    kept = tg.zeros(3)
    kept[0] = root[0]
    return (root * w).sum() + kept.sum()


def length(x: Any, m: Any, w: Any) -> Any:
    d = x * w
    size = np.sum(d**2)
    return np.sqrt(size)


def filled(x: Any, m: Any, w: Any) -> Any:
    out = tg.zeros(3)
    out[0] = x[0]
    out[1] = np.log(x[1] - m)
    return (out * w).sum()


@pytest.mark.parametrize("kind", [tg.compile, tg.grad, tg.value_and_grad])
@pytest.mark.parametrize("f", [rooted, filled])
def test_a_function_that_stays_eager_names_its_statement(
    checks: None, kind: Any, f: Callable[..., Any]
) -> None:
    made = eager(kind, f)
    if kind is tg.grad and f is filled:
        return  # the value is not returned, and its gradient is finite
    error = blame(made, FINE, 2.5, FINE)
    assert error.section == "forward"
    variable, operation, line = {rooted: ("root", "sqrt", 2), filled: ("out", "log", 3)}[f]
    assert (error.variable, error.operation) == (variable, operation)
    assert (error.file, error.line) == ("test_nonfinite.py", f.__code__.co_firstlineno + line)


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_tensors_with_history_in_a_function_that_stays_eager(checks: None) -> None:
    calls: list[int] = []

    @tg.compile
    def counted(x: Any) -> Any:
        calls.append(len(calls))
        root = np.sqrt(x)
        return root.sum()

    for _ in range(4):
        error = blame(counted, tg.tensor(-FINE, requires_grad=True))
        assert (error.variable, error.operation) == ("root", "sqrt")
    assert len(calls) == 4


def test_a_backward_that_stays_eager_names_its_statement(checks: None) -> None:
    made = eager(tg.grad, length)
    error = blame(made, np.zeros(3), 0.5, FINE)
    assert (error.variable, error.operation, error.section) == ("size_bar", "divide", "backward")
    assert error.line == length.__code__.co_firstlineno + 3
    assert np.isfinite(made(FINE, 0.5, FINE)).all()


def test_calls_on_tensors_with_history_are_looked_at(checks: None) -> None:
    compiled = tg.compile(model)
    for _ in range(2):
        x = tg.tensor(X, requires_grad=True)
        compiled(x, 0.5, X).backward()
        assert x.grad is not None
        assert np.allclose(x.grad.numpy(), tg.grad(model)(X, 0.5, X))
        assert blame(compiled, x, 1.5, X).variable == "h"
    tg.config.check_finite = False
    assert np.isnan(compiled(x, 1.5, X).item())


def long_walk(x: Any, steps: Any) -> Any:
    s = x
    for t in range(len(steps)):
        d = s + steps[t]
        s = 0.5 * np.sqrt(d) + 0.5
    return np.sum(s)


def test_a_turn_of_a_loop_is_named(checks: None) -> None:
    steps = np.ones(10_000)
    gradient = tg.grad(long_walk)
    gradient(np.ones(3), steps)
    steps[7_340] = -5.0
    with np.errstate(invalid="ignore"):
        text = str(blame(gradient, np.ones(3), steps))
    assert "sqrt gave nan at [0] in s" in text
    assert "d is -3.7" in text
    assert "in the turn of the loop where t is 7340" in text


def counted(x: Any) -> Any:
    s = 0.0
    for k in range(2, len(x)):
        s = s + np.sqrt(x[k]) * x[k - 1]
    return s


def counted_down(x: Any) -> Any:
    s = 0.0
    for k in range(len(x) - 1, -1, -1):
        s = s + np.sqrt(x[k]) * x[k]
    return s


def in_steps(x: Any) -> Any:
    s = x[0]
    for k in range(0, 30, 3):
        s = np.sqrt(x[k]) * s
    return s


def along_rows(x: Any) -> Any:
    s = 0.0
    for v in x:
        s = s + np.sqrt(v) * v
    return s


def while_counted(x: Any) -> Any:
    s, k = 0.0, 0
    while k < len(x):
        s = s + np.sqrt(x[k]) * x[k]
        k += 1
    return s


def inner(x: Any) -> Any:
    s = 0.0
    for i in range(9):
        for k in range(len(x)):
            s = s + np.sqrt(x[k]) * x[i]
    return s


TURNS = {  # of the statement that meets x[12]: forward, and back
    counted: ("the turn of the loop where k is 12",) * 2,
    counted_down: ("the turn of the loop where k is 12",) * 2,
    in_steps: ("the turn of the loop where k is 12",) * 2,
    along_rows: ("the turn of the loop where i is 12",) * 2,
    while_counted: ("turn 13 of the loop", "a turn of the loop"),
    inner: (
        "the turn of the loop where k is 12, in the turn of the loop where i is 0",
        "the turn of the loop where k is 12, in the backward of the turn of the loop where i is 8",
    ),
}


@pytest.mark.parametrize("function", TURNS, ids=lambda function: function.__name__)
def test_turns_have_the_users_numbers_forward_and_back(checks: None, function: Any) -> None:
    gradient = tg.grad(function)
    for bad, part, said in zip((-1.0, 0.0), ("", "the backward of "), TURNS[function], strict=True):
        x = np.ones(30)
        x[12] = bad
        with np.errstate(all="ignore"):
            text = str(blame(gradient, x))
        assert text.endswith(f"\n    in {part}{said}")
        assert "gather" not in text and "item(" not in text


def test_a_value_is_named_before_the_derivatives_that_follow(checks: None) -> None:
    def f(p: Any, x: Any) -> Any:
        total = 0.0
        for k in range(len(x)):
            total = total + np.log(x[k] * p) * p
        return total

    x = np.ones(30)
    x[20] = 0.0
    with pytest.raises(FiniteError, match=r"log gave -inf .*forward; .*\n.*where k is 20") as told:
        tg.value_and_grad(f)(2.0, x)  # the gradient is nan
    assert told.value.section == "forward"
    with pytest.raises(FiniteError, match=r"divide gave inf .*backward"):
        tg.grad(f)(2.0, x)  # its value is not asked for


def test_the_turns_of_all_loops_around_are_named(checks: None) -> None:
    def f(w: Any, xs: Any) -> Any:
        total = 0.0
        for i in range(len(xs)):
            h = w * xs[i]
            for _j in range(20):
                h = h - 0.1 * np.log(h)
            total = total + h
        return total

    xs = np.linspace(0.5, 2.0, 40)
    xs[7] = -1.0
    with np.errstate(all="ignore"):
        text = str(blame(tg.grad(f), 1.0, xs))
    here, around = (f"in the turn of the loop where {name} is" for name in ("_j", "i"))
    assert text.endswith(f"\n    {here} 0, {around} 7")


def test_an_argument_is_bad_in_any_turn(checks: None) -> None:
    xs = np.ones(30)
    xs[12] = np.nan
    text = str(blame(tg.grad(along_rows), xs))
    assert text == "argument x is not finite: nan at [12]"
