"""Writes NumPy source in which loops over numbers are kernels for numba.

A kernel is Python that numba compiles (``@njit``), and that Python runs as it is with the same
bits: arithmetic of numbers, reads and writes of single elements, lists of numbers, ``for``,
``while`` and ``if``. Functions (`FUNCTIONS`) have names of their own, behind which the client puts
those that give NumPy's bits in both. Everything else of the program is NumPy source as ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from codegen.emit.array_calls import EMPTY, helper_of, made
from codegen.emit.control_flow import FunctionEmitter
from codegen.emit.elements import BINARY, FLOATS, NUMBERS, UNARY
from codegen.emit.loop_analysis import range_text
from codegen.emit.numpy import NUMPY
from codegen.emit.target import Casts, Kernel, Target
from codegen.emit.writer import Writer
from codegen.ir import (
    Again,
    Block,
    Branch,
    Call,
    Check,
    Constant,
    Graph,
    Join,
    Loop,
    Node,
    Number,
    Op,
    Origin,
    Trait,
    Value,
    ends,
    walk,
)
from codegen.spelling import CHOICE, Slot, Spelling, Subscript, spell
from codegen.types import LIST, ArrayType, kind, promote, weak

NUMBA = replace(NUMPY, name="numba", spelled_as="numpy", kernels=True)


def casts(call: Call, printed: Sequence[ArrayType]) -> Casts:
    """Python's numbers beside float32, which numba would compute with as float64."""
    if Trait.ELEMENTWISE not in call.op.traits or not _is_narrow(call):
        return {}
    return {i: ("float32",) for i, type in enumerate(printed) if type.weak}


def _is_narrow(call: Call) -> bool:
    """Whether a call computes in float32."""
    types = [value.type for value in call.operands]
    return bool(types) and LIST not in types and promote(types)[0] == "float32"


KERNELS = Target(
    name="numba", module="np", imports=(), inplace=True, spelled_as="numpy", casts=casts
)

FUNCTIONS: Mapping[str, Spelling] = {
    **{f"np.{name}(x)": spell(f"{name}(x)") for name in UNARY},
    **{f"np.{name}(a, b)": spell(f"{name}(a, b)") for name in BINARY},
}
"""Functions by their NumPy spelling, as kernels call them."""

FOR_ALL = frozenset(
    {
        *[spell(f"{name}_all(x)") for name in UNARY],
        *[spell(f"{name}_all(a, b)") for name in BINARY],
    }
)
"""The same for all turns of a loop."""

QUOTIENT = spell("quotient(a, b)")
"""``a / b`` of Python's floats, which raises where b is zero."""

POWERS: Mapping[str, Spelling] = {
    "a ** b": spell("raised(a, b)"),
    "x ** exponent": spell("raised(x, exponent)"),
    "base ** x": spell("raised(base, x)"),
    "(np.float64(a) ** b).item()": spell("float(raised(a, b))"),
    "(np.float64(x) ** exponent).item()": spell("float(raised(x, exponent))"),
    "(np.float64(base) ** x).item()": spell("float(raised(base, x))"),
}
"""Powers of numbers, which NumPy and Python compute by the C library."""

NARROW_POWERS: Mapping[str, Spelling] = {
    "a ** b": spell("raised(a, b)"),
    "x ** exponent": spell("raised(x, np.float32(exponent))"),
    "base ** x": spell("raised(np.float32(base), x)"),
}
"""The same in float32, beside which a number is one of its dtype."""

APPEND = "saved + [value]"
EMPTY_ITEM = Op(
    "empty_item",
    ("saved",),
    lambda sizes, saved, *, helper: LIST,
    {"numpy": spell("empty_item(saved)")},
    attributes={"helper": "empty_item"},
)
"""An empty list of the type of a list's items, which numba cannot tell of ``[]``."""

NARROW_ITEM = Op(
    "narrow_item",
    (),
    lambda sizes: ArrayType("float32"),
    {"numpy": spell("np.float32(0.0)")},
)

ARITHMETIC = frozenset({"a + b", "a - b", "a * b", "-x", "x * x", "abs(x)", "np.abs(x)"})
ROOT = "np.sqrt(x)"
COMPUTED = frozenset({*ARITHMETIC, *POWERS, *FUNCTIONS, ROOT, "a / b", "a @ b"})
"""Calls that give scalars of NumPy's where they give numbers."""

LISTED = frozenset({"[*values]", APPEND, "saved[k]", "x.astype(dtype)"})
"""Calls that give what they are given."""

COMPARISONS = frozenset({f"a {symbol} b" for symbol in ("<", "<=", ">", ">=", "==", "!=")})
CREATION = frozenset(
    {
        "np.zeros(shape, dtype=dtype)",
        "out = np.zeros(shape, dtype=dtype)\nout[index] = ct",
    }
)
WRITES = frozenset(
    {f"out = np.array(x)\nout[index] {symbol} value" for symbol in ("=", "+=", "-=")}
    | {"out = rows.copy()\nout[k] = value"}
)
SMALL = 1 << 31
RUNTIME = "tracegrad.backends.numba_functions"
"""Where the client has the functions."""


def speaks(graph: Graph, node: Node) -> bool:
    """Whether a kernel may contain a node: what it does there has the bits of NumPy and Python."""
    match node:
        case Constant(value):
            return (not isinstance(value, complex) and abs(value) < 2**62) or value != value
        case Check(operand):
            return _speaks_look(node.look, operand, (node.outcome,))
        case Branch(operand):
            return _speaks_look(node.look, operand, node.outcomes)
        case Loop() | Join():
            return all(p.type == LIST or _has_known_dtype(p.type) for p in node.parameters)
        case Again():
            return True
    return _speaks_call(graph, node)


def _speaks_look(look: str, operand: Value, outcomes: Sequence[Number]) -> bool:
    """Whether a kernel may look at a number: whether it is true, and which int it is."""
    if look == "bool":
        return _is_number(operand)
    exact = all(type(outcome) is int and abs(outcome) < SMALL for outcome in outcomes)
    return look in ("int", "item") and _is_index(operand) and operand.type.weak and exact


def _speaks_call(graph: Graph, call: Call) -> bool:
    if len(call.results) != 1 or Trait.EFFECT in call.op.traits:
        return False
    if Trait.EXTENT in call.op.traits:
        return True
    if Trait.UNSET in call.op.traits:
        return all(map(_is_number, call.results))
    text = call.op.spelled("numpy", dict(call.attributes)).text
    if text == "[*values]":
        return all(map(_is_number, call.operands))
    if text == APPEND:
        return call.reuse == 0 and (call.operands[1].type == LIST or _is_number(call.operands[1]))
    if text == "saved[k]":
        result = call.results[0].type
        return result == LIST or _is_number(call.results[0])
    if text in CREATION:
        array = call.results[0].type
        return array.dtype in FLOATS and bool(array.shape) and picks_elements(call)
    if text in WRITES:
        return _writes_element(call)
    if text == "x[index]":
        return _is_number(call.results[0]) and picks_elements(call)
    if not all(map(_is_number, (*call.operands, *call.results))):
        return False
    if _is_narrow(call) and any(v.type.weak and not graph.constant(v) for v in call.operands):
        return False
    return _speaks_of_numbers(graph, call, text)


def _speaks_of_numbers(graph: Graph, call: Call, text: str) -> bool:
    """Whether a call of numbers has the same bits in a kernel."""
    kinds = [kind(v.type.dtype) for v in call.operands]
    result = call.results[0].type
    if text in ("a + b", "a - b") and kind(result.dtype) == "int":
        return result.weak and any(_is_bounded(graph, v) for v in call.operands)
    if text == "min(a, b)":
        return kinds == ["int", "int"] and all(v.type.weak for v in call.operands)
    if text == CHOICE:
        numbers = all(_is_float_or_small(graph, v) for v in call.operands[1:])
        return kinds[0] == "bool" and numbers and result.dtype in FLOATS
    if text in COMPARISONS:
        mixed = set(kinds) == {"float", "int"} and all(v.type.weak for v in call.operands)
        return not mixed and "bool" not in kinds
    if "bool" in kinds:
        return False
    if text in ARITHMETIC:
        return result.dtype in FLOATS
    if text == "a / b":
        return "float" in kinds
    if text in POWERS:
        ints = [v for v, of in zip(call.operands, kinds, strict=True) if of == "int"]
        small = all(abs(n) < SMALL for n in _numbers_in(call)) and all(v.type.weak for v in ints)
        scalars = all(_is_scalar(graph, v) for v in call.operands)
        return result.dtype in FLOATS and small and scalars
    if text == "x.astype(dtype)":
        return kinds == ["float"] and result.dtype in FLOATS and not call.operands[0].type.weak
    if text == "float(x)":
        return call.operands[0].type.dtype == "float64"
    return (text in FUNCTIONS or text == ROOT) and kinds == ["float"] * len(kinds)


def _is_bounded(graph: Graph, value: Value) -> bool:
    """Whether an int is a small number, a length or a loop's: sums of few such do not wrap."""
    made = graph.producer.get(value)
    if isinstance(made, Constant):
        return abs(made.value) < SMALL
    if isinstance(made, Loop):
        return made.counter is not None and made.counter.index is value
    return isinstance(made, Call) and Trait.EXTENT in made.op.traits


def _is_float_or_small(graph: Graph, value: Value) -> bool:
    """Whether a number is a float, or a small int in the source."""
    return kind(value.type.dtype) == "float" or (
        isinstance(graph.constant(value), Constant) and _is_bounded(graph, value)
    )


def _numbers_in(call: Call) -> list[int | float]:
    """The numbers that the source of a call has besides its operands."""
    return [x for _, x in call.attributes if isinstance(x, int | float)]


def _is_scalar(graph: Graph, value: Value) -> bool:
    """Whether a float is one of Python's, or a scalar of NumPy's: as what turns compute is.

    An array without axes may come from outside, and from what shows an element (``x[..., 0]``). Its
    powers NumPy computes otherwise than those of scalars.
    """
    waiting, seen = [value], set[Value]()
    while waiting:
        at = waiting.pop()
        if at in seen or (at.type != LIST and kind(at.type.dtype) != "float") or at.type.weak:
            continue
        seen.add(at)
        made = graph.producer.get(at)
        if at in graph.given:
            waiting += graph.given[at]
        elif not isinstance(made, Call):
            return False
        elif made.op.traits.isdisjoint({Trait.UNSET, Trait.TOTAL}):
            text = made.op.spelled("numpy", dict(made.attributes)).text
            if text in LISTED:
                waiting += made.operands
            elif not (text in COMPUTED or (text == "x[index]" and picks_elements(made))):
                return False
    return True


def _is_number(value: Value) -> bool:
    return not value.type.shape and _has_known_dtype(value.type)


def _has_known_dtype(type: ArrayType) -> bool:
    """Whether kernels have this dtype."""
    return type.dtype in NUMBERS


def picks_elements(call: Call) -> bool:
    """Whether a call reads or writes one element, at numbers, of an array of a known dtype."""
    index = dict(call.attributes).get("index")
    if index is None:
        return True
    if not isinstance(index, Subscript) or dict(call.attributes).get("repeats"):
        return False
    slots = [item for item in index.items if isinstance(item, Slot)]
    array = call.results[0].type if call.results[0].type.shape else call.operands[0].type
    return (
        all(isinstance(item, Slot) or type(item) is int for item in index.items)
        and all(_is_index(v) for v in call.operands[len(call.operands) - len(slots) :])
        and len(index.items) == array.ndim
        and array.dtype in NUMBERS
    )


def _writes_element(call: Call) -> bool:
    """Whether an update writes a float to one place."""
    array, value, *places = call.operands
    if value.type.shape or array.type.dtype not in FLOATS:
        return False
    if value.type.dtype != array.type.dtype:  # a Python float is another number in float32
        return False
    if "index" in dict(call.attributes):
        return picks_elements(call)
    return array.type.ndim == 1 == len(places) and _is_index(places[0])


def _is_index(value: Value) -> bool:
    return kind(value.type.dtype) == "int" and not value.type.shape


def spelling_of(call: Call) -> Spelling:
    """How a kernel writes a call."""
    spelling = call.op.spelled("numpy", dict(call.attributes))
    if spelling.text == "x[index]" and not call.operands[0].type.shape:
        return spell("x")  # ``x[()]`` of a number
    if spelling.text == "x.astype(dtype)" and not call.operands[0].type.shape:
        return spell(f"np.{call.results[0].type.dtype}(x)")
    if spelling.text == "a / b" and call.results[0].type.weak:
        return QUOTIENT
    if spelling.text == CHOICE and not call.results[0].type.shape:  # scalars of NumPy's
        a, b = (
            f"np.{call.results[0].type.dtype}({name})" if v.type.weak else name
            for name, v in zip("ab", call.operands[1:], strict=True)
        )
        return spell(f"{a} if condition else {b}")
    if spelling.text in WRITES:  # numba has no copy by np.array
        copied = spelling.text.replace("np.array(x)", "x.copy()")
        return spell(copied, spelling.inplace)
    powers = NARROW_POWERS if _is_narrow(call) else POWERS
    return powers.get(spelling.text) or FUNCTIONS.get(spelling.text, spelling)


def with_typed_lists(kernel: Graph) -> Graph:
    """The kernel whose lists have items of one type, also of turns that have none to append.

    These append a 0 where others append a list; and numba would have float64 beside float32.
    """
    appends = [n for n in walk(kernel.nodes) if isinstance(n, Call) and _appends(n)]
    types = {c.operands[0]: c.operands[1].type for c in appends if not _is_none(kernel, c)}

    def rewritten(block: Block) -> Block:
        nodes: list[Node] = []
        for node in block.nodes:
            if isinstance(node, Call) and _appends(node) and _is_none(kernel, node):
                saved, item = node.operands[0], types.get(node.operands[0])
                if item == LIST:
                    nodes.append(made(EMPTY_ITEM, (saved,), LIST))
                elif item is not None and item.dtype == "float32":
                    nodes.append(made(NARROW_ITEM, (), ArrayType("float32")))
                if item is not None and (item == LIST or item.dtype == "float32"):
                    node = replace(node, operands=(saved, *nodes[-1].results))
            elif isinstance(node, Branch | Loop | Join):
                node = replace(node, blocks=tuple(map(rewritten, node.blocks)))
            nodes.append(node)
        return block.with_nodes(tuple(nodes))

    return kernel.with_block(rewritten(kernel.block))


def _is_none(kernel: Graph, append: Call) -> bool:
    """Whether a turn appends the 0 that nothing reads."""
    item = append.operands[1]
    return kernel.constant(item) is not None and item.type == weak("int")


def _appends(call: Call) -> bool:
    return call.op.spelled("numpy", dict(call.attributes)).text == APPEND


class KernelLanguage:
    """What passes over kernels ask of the calls in them."""

    def function(self, call: Call) -> str:
        """The name of the function that a call is of, "" where it is an operation."""
        spelling = FUNCTIONS.get(call.op.spelled("numpy", dict(call.attributes)).text)
        return re.split(r"\(", spelling.text)[0] if spelling else ""

    def raises(self, call: Call) -> str:
        """The exception that Python or machine code may raise in a call."""
        if spelling_of(call) == QUOTIENT:
            return "ZeroDivisionError"
        text = call.op.spelled("numpy", dict(call.attributes)).text
        return "IndexError" if text in ("x[index]", *WRITES) else ""


def functions_of(kernels: Iterable[Graph]) -> list[str]:
    """The functions that kernels call by name, in order."""
    calls = [n for k in kernels for n in walk(k.nodes) if isinstance(n, Call)]
    spelled = {spelling_of(call) for call in calls}
    known = {*FUNCTIONS.values(), *FOR_ALL, QUOTIENT}
    helpers = {name for call in calls if (name := helper_of(call))}
    if not spelled.isdisjoint({*POWERS.values(), *NARROW_POWERS.values()}):
        helpers.add("raised")
    return sorted({*helpers, *(re.split(r"\(", s.text)[0] for s in spelled & known)})


class KernelEmitter(FunctionEmitter):
    """Writes a kernel."""

    def _spelling(self, call: Call) -> Spelling:
        return self.spellings.setdefault(call, spelling_of(call))

    def _bind(self, call: Call, lines: list[str], reads: frozenset[str]) -> None:
        """As everywhere; the variable of an array is no number's later, which numba would mind."""
        super()._bind(call, lines, reads)
        if call.op is EMPTY:
            self.names.reserved.add(self.variable[call.results[0]])

    def _range(self, loop: Loop) -> tuple[str, frozenset[str]]:
        """As everywhere, but counting down by a step: numba has no ``reversed``."""
        if loop.counter is None:
            return "", frozenset()
        start, stop = self._take(loop.counter.start), self._take(loop.counter.stop)
        text = range_text(start.fragment, stop.fragment, loop.counter.step, backwards=False)
        return text, start.reads | stop.reads


def write_kernel(kernel: Graph, writer: Writer[Origin], functions: Mapping[str, str]) -> Kernel:
    """Writes the function of a kernel; `functions` has the names of those that it may call."""
    alone: Writer[Origin] = Writer()
    alone.line('@njit(error_model="numpy", nogil=True, boundscheck=True)')
    emitter = KernelEmitter(kernel, KERNELS, alone, dict(functions), {})
    emitter.function(None)
    text, marks = alone.written()
    for line, mark in zip(text.splitlines(), marks, strict=True):
        writer.ready.add(len(writer.lines))
        writer.line(line, mark)
    called = tuple(functions_of([kernel]))
    returned = next(ends(kernel.block)).outputs
    takes, returns = (tuple(v.type for v in of) for of in (kernel.inputs, returned))
    lines = [*imports(called), "", "", text]
    return Kernel(kernel.name, "\n".join(lines), called, takes, returns)


IMPORTS = re.compile(rf"^from (numba|{re.escape(RUNTIME)}) import (\([^)]*\)|.*$)\n?", re.MULTILINE)
"""What `imports` adds to those of NumPy source."""


def imports(functions: Sequence[str]) -> list[str]:
    """The imports that kernels need."""
    named = f"from {RUNTIME} import {', '.join(functions)}"
    return ["import numpy as np", "from numba import njit", *([named] if functions else [])]


def numbers_of(value: Value, name: str) -> str:
    """A number for machine code, which takes no arrays without axes."""
    if value.type.shape or value.type.weak:
        return name
    known: Mapping[str, str] = {"float64": "float", "bool": "bool", "int64": "int"}
    return f"{known.get(value.type.dtype, f'np.{value.type.dtype}')}({name})"
