"""A function and the arguments of one call enter; a compiled version of it leaves.

A version is one trace with what follows from it: the graphs of every stage, the program, and the
guards under which the program stands for the function.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os.path import basename
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from codegen.ir import Call, Check, Frame, Graph, Origin, Trait, Value
from codegen.sizes import Dim, Size, Sizes, slice_length, substitute
from codegen.types import is_inexact, kind
from tracegrad.autograd.python_op import hooked
from tracegrad.autograd.tape import LEAF
from tracegrad.differentiate import differentiate
from tracegrad.environment import IMMUTABLE, Environment, Guard, random_state
from tracegrad.errors import ArgumentError, NonScalarError, TraceError
from tracegrad.ops.indexing import INDEXED, constant_items
from tracegrad.pipeline import Program, compile_graph
from tracegrad.signature import Arguments, Leaf
from tracegrad.state import STATE
from tracegrad.tensor import Tensor, wrap
from tracegrad.trace import Trace
from tracegrad.tree import TreeSpec, flatten, unflatten


@dataclass(frozen=True)
class Transform:
    """What is made of the function: "compile", "grad" or "value_and_grad"."""

    kind: str
    argnums: int | tuple[int, ...] = 0
    has_aux: bool = False

    @property
    def positions(self) -> tuple[int, ...]:
        return (self.argnums,) if isinstance(self.argnums, int) else self.argnums


@dataclass(frozen=True)
class Result:
    """The structure of what a call returns: outputs of the graph, and things that are no arrays."""

    spec: TreeSpec
    leaves: tuple[int | Static, ...]  # index of an output, or the thing itself

    def build(self, outputs: Sequence[Any]) -> Any:
        """The returned object."""
        values = [outputs[i] if isinstance(i, int) else i.value for i in self.leaves]
        return unflatten(self.spec, values)


@dataclass(frozen=True)
class Static:
    """A returned leaf that is not an array: the same on every call of the version."""

    value: Any


@dataclass
class Version:
    """One compiled version; see the module's first lines."""

    arguments: Arguments
    traced: Graph
    differentiated: Graph
    program: Program
    captured: tuple[Captured, ...]
    environment: Environment
    unchanged: Callable[[], bool]
    effect: str  # what the function did beside computing; "" for nothing
    result: Result
    flat: bool  # the program returns a flat tuple, which `result` builds into what is returned
    target: str
    symbols: Mapping[str, tuple[int, int]]  # a free length: traced input and axis
    guards: tuple[tuple[Any, Any], ...]
    seconds: float

    @property
    def checked(self) -> bool:
        """True when Python looked at a value: the program may refuse a call."""
        return any(
            isinstance(node, Check) or (isinstance(node, Call) and Trait.EFFECT in node.op.traits)
            for node in self.program.graph.nodes
        )

    @property
    def run(self) -> Callable[..., Any]:
        """The program's function; it raises a plain LookupError where a look ends differently."""
        run = self.program.run
        return run.checked if self.target == "jax" and self.checked else run

    def holds(self, leaves: Sequence[Any]) -> bool:
        """Whether the state, and the lengths of these arrays, are what the trace assumed.

        `leaves` are the traced arguments and then the captured arrays.
        """
        if not self.unchanged():
            return False
        start = len(leaves) - len(self.captured)
        if not all(map(Captured.fits, self.captured, leaves[start:])):
            return False
        known = {name: leaves[i].shape[axis] for name, (i, axis) in self.symbols.items()}
        return all(substitute(a, known) == substitute(b, known) for a, b in self.guards)

    def captured_arrays(self) -> list[Any]:
        """What the captured arrays and Tensors hold now."""
        return [captured.array() for captured in self.captured]

    def call(self, arguments: Arguments) -> Any:
        """Runs the program on arguments of this version's key."""
        captures = self.program.graph.frame.captures
        keywords = dict(zip(captures, self.captured_arrays(), strict=True))
        if self.target == "jax":
            traced = [leaf.value for leaf in arguments.leaves if leaf.traced]
            outputs = self.run(*traced, **keywords)
        else:
            outputs = self.run(*arguments.values, **keywords)
        return self.result.build(outputs) if self.flat else outputs


@dataclass(frozen=True)
class Captured:
    """An array or Tensor from outside the function, and where it is read from at every call."""

    name: str
    holder: Any
    source: Guard | None  # the one place that holds it; without one it stays this object
    dtype: str
    ndim: int

    def array(self) -> Any:
        """What is there now."""
        holder = self.holder if self.source is None else self.source.now()
        return getattr(holder, "_array", holder)

    def fits(self, array: Any) -> bool:
        """Whether the program takes this array."""
        return (
            isinstance(array, np.ndarray)
            and array.dtype.name == self.dtype
            and array.ndim == self.ndim
        )

    def text(self, names: dict[str, Any]) -> str:
        """Python that reads the array, over names that are added to `names`."""
        if self.source is None:
            read = f"held_{self.name}"
            names[read] = self.holder
        else:
            read = self.source.expression(f"_of_{self.name}", names)
        return f"{read}._array" if isinstance(self.holder, Tensor) else read


def run_traced(
    function: Callable[..., Any],
    call: Callable[[Sequence[Any]], Any],
    arguments: Arguments,
    wanted: frozenset[int],
    target: str = "numpy",
) -> tuple[Trace, Any]:
    """Runs the function on Tensors that record into a new trace; the trace and what it returned."""
    trace = Trace(code_of(function), static_lengths=target == "jax")
    tensors = []
    for leaf in arguments.leaves:
        if not leaf.traced:
            tensors.append(leaf.value)
            continue
        value = trace.input(leaf.value, arguments.name_of(leaf))
        tensor = wrap(leaf.value, (trace, value))
        tensor._node = LEAF if leaf.parameter in wanted else None
        tensors.append(tensor)
    rebuilt, start = [], 0
    for spec, n in zip(arguments.specs, _counts(arguments), strict=True):
        rebuilt.append(unflatten(spec, tensors[start : start + n]))
        start += n
    before = STATE.update(trace=trace, grad_enabled=True)
    try:
        returned = call(rebuilt)
    finally:
        STATE.update(**before)
    trace.finished = True
    return trace, returned


def _counts(arguments: Arguments) -> list[int]:
    counts = [0] * len(arguments.values)
    for leaf in arguments.leaves:
        counts[leaf.parameter] += 1
    return counts


def code_of(function: Any) -> CodeType | None:
    """The code object whose frame ends the program points of a trace."""
    inner = getattr(function, "__wrapped__", function)
    inner = getattr(inner, "__func__", inner)
    return getattr(inner, "__code__", None)


def check_wanted(arguments: Arguments, transform: Transform) -> list[Leaf]:
    """The leaves to differentiate; raises for what has no gradient, naming it."""
    count = len(arguments.parameters)
    leaves = []
    for position in transform.positions:
        if not -count <= position < count:
            raise ArgumentError(f"argnums={position}: the function has {count} arguments")
        parameter = position % count
        found = [leaf for leaf in arguments.leaves if leaf.parameter == parameter]
        if not found:
            raise ArgumentError(f"argument {arguments.parameters[parameter]} holds no array")
        for leaf in found:
            text = arguments.text_of(leaf)
            if not leaf.traced:
                raise ArgumentError(
                    f"argument {text} is to be differentiated but is {leaf.value!r} of type "
                    f"{type(leaf.value).__name__}: pass a float or an array of floats"
                    + (f", {text}={float(leaf.value)}" if isinstance(leaf.value, int) else "")
                )
            dtype = str(leaf.kind[1])
            if dtype not in ("float", "complex") and not is_inexact(dtype):
                raise ArgumentError(
                    f"argument {text} is to be differentiated but has dtype {dtype}: gradients "
                    f"need floating point, pass {text}.astype(float)"
                )
        leaves += found
    return leaves


def make_version(
    function: Callable[..., Any],
    call: Callable[[Sequence[Any]], Any],
    transform: Transform,
    arguments: Arguments,
    target: str,
) -> Version:
    """Traces, differentiates, optimizes, emits and loads."""
    began = time.perf_counter()
    differentiated = transform.kind != "compile"
    wanted = check_wanted(arguments, transform) if differentiated else []
    objects = [
        (arguments.text_of(leaf), leaf.value)
        for leaf in arguments.leaves
        if not leaf.traced and not isinstance(leaf.value, IMMUTABLE)
    ]
    environment = Environment(function, objects)
    random_before = random_state()
    trace, returned = run_traced(
        function, call, arguments, frozenset(leaf.parameter for leaf in wanted), target
    )
    if random_state() != random_before:
        raise TraceError(
            f"{getattr(function, '__name__', 'the function')} drew from the global random state, "
            "which would be frozen in the program: draw before the call and pass the arrays"
        )
    foreign = _foreign_code(trace, code_of(function))
    if foreign:
        environment.keep(Environment(function, objects, foreign))
    change = environment.changed()
    effects = [change.text if change else environment.written(), *environment.effects]
    traced_leaves = [leaf for leaf in arguments.leaves if leaf.traced]
    inputs = tuple(trace.inputs)
    value_of = dict(zip(map(id, traced_leaves), inputs, strict=True))
    outputs, structure = _outputs(trace, returned, transform, function)
    forward = _forward_graph(trace, function, transform, arguments, target, outputs, environment)
    joint = forward
    if differentiated:
        joint = differentiate(forward, [value_of[id(leaf)] for leaf in wanted])
        if transform.kind == "grad":
            joint = joint.replace(outputs=joint.outputs[1:])
    result, names = _result(transform, arguments, wanted, structure, len(outputs))
    template = _template(result, target)
    frame = joint.frame
    frame = Frame(frame.parameters, frame.reads, frame.captures, template, tuple(names))
    joint = joint.replace(frame=frame)
    program = compile_graph(joint, target)
    sizes = program.graph.sizes
    symbols = _symbols(program.graph)
    holders = [holder for holder, _ in trace.captured.values()]
    captured = tuple(
        Captured(name, holder, environment.sources(holder), value.type.dtype, value.type.ndim)
        for name, (holder, value) in zip(frame.captures, trace.captured.values(), strict=True)
    )
    read_again = [c.source for c in captured if c.source is not None]
    return Version(
        arguments=arguments.without_arrays(),
        traced=forward,
        differentiated=joint,
        program=program,
        captured=captured,
        environment=environment,
        unchanged=environment.check(
            read_again,
            environment.fingerprints(
                holders,
                bool(environment.reads_arrays(arguments.parameters, arguments.values)),
            ),
        ),
        effect=next(filter(None, effects), ""),
        result=result,
        flat=template is None,
        target=target,
        symbols=symbols,
        guards=(*_guards(sizes, trace.sizes), *(_bounds(forward) if target == "jax" else ())),
        seconds=time.perf_counter() - began,
    )


def _foreign_code(trace: Trace, code: CodeType | None) -> set[CodeType]:
    """The code of hooks written inside the function: the program calls them, as they are then."""
    marks = [n for n in trace.builder.nodes if isinstance(n, Call) and n.op is hooked]
    hooks = [mark.attribute("function").call.hook for mark in marks]
    codes = {hook.__code__ for hook in hooks if isinstance(hook, FunctionType)}
    return codes & _nested_codes(code)


def _nested_codes(code: CodeType | None) -> set[CodeType]:
    """Every code object inside a code object."""
    inner = [c for c in code.co_consts if isinstance(c, CodeType)] if code is not None else []
    return {c for nested in inner for c in (nested, *_nested_codes(nested))}


def _guards(*all_sizes: Sizes) -> tuple[tuple[Any, Any], ...]:
    found = dict.fromkeys(pair for sizes in all_sizes for pair in sizes.guards)
    return tuple(found)


def _bounds(graph: Graph) -> tuple[tuple[Dim, Dim], ...]:
    """Guards that constant indices are within their axes: NumPy raises, JAX would clamp them.

    ``x[5]`` needs ``len(x[5:6]) == 1``, and ``x[-5]`` that ``len(x[4:5]) == 1``.
    """
    found: dict[tuple[Dim, Dim], None] = {}
    for node in graph.nodes:
        if isinstance(node, Call) and node.op in INDEXED:
            x, *others = (value.type for value in node.operands)
            arrays = others[len(node.op.operands) - 2 :]
            for axis, item in constant_items(x, arrays, node.attribute("index")):
                length = graph.sizes.resolve(x.shape[axis])
                least = item if item >= 0 else -item - 1
                if isinstance(length, Size):
                    found[slice_length(length, slice(least, least + 1)), 1] = None
    return tuple(found)


def _symbols(graph: Graph) -> dict[str, tuple[int, int]]:
    """Where each free length is read: index of the input and axis."""
    found: dict[str, tuple[int, int]] = {}
    for index, value in enumerate(graph.inputs):
        for axis, dim in enumerate(value.type.shape):
            name = None if isinstance(dim, int) else dim.symbol()
            if name is not None:
                found.setdefault(name, (index, axis))
    return found


def _outputs(
    trace: Trace, returned: Any, transform: Transform, function: Any
) -> tuple[tuple[Value, ...], Result]:
    """The graph's outputs and the structure of what the function returned."""
    name = getattr(function, "__name__", "the function")
    if transform.has_aux and (not isinstance(returned, tuple) or len(returned) != 2):
        raise ArgumentError(f"{name} must return (value, aux) with has_aux=True")
    leaves, spec = flatten(returned)
    outputs: list[Value] = []
    shown: list[int | Static] = []
    for leaf in leaves:
        if isinstance(leaf, Tensor | np.ndarray | np.generic):
            shown.append(len(outputs))
            outputs.append(trace.lift(leaf, Origin()))
        else:
            shown.append(Static(leaf))
    if transform.kind != "compile":
        first = leaves[0] if leaves else None
        main = returned[0] if transform.has_aux else returned
        single = isinstance(main, Tensor | np.generic | np.ndarray | float)
        if not single:
            raise NonScalarError(
                f"{name} returns {type(main).__name__}; its gradient needs one number, "
                "an array without axes (use .sum() or .mean(), or has_aux=True for more outputs)"
            )
        if isinstance(first, float):
            outputs.insert(0, trace.lift(first, Origin()))
            shown = [0, *(i + 1 if isinstance(i, int) else i for i in shown[1:])]
        shape = np.shape(getattr(first, "_array", first))  # type: ignore[arg-type]
        if shape != ():
            raise NonScalarError(
                f"{name} returns an array of shape {shape}; its gradient needs one number: reduce "
                "it with .sum() or .mean(), or use tg.jacobian or tg.vjp"
            )
        if not is_inexact(outputs[0].type.dtype):
            raise NonScalarError(
                f"{name} returns {outputs[0].type.dtype}; a gradient needs a floating-point value"
            )
    return tuple(outputs), Result(spec, tuple(shown))


def _forward_graph(
    trace: Trace,
    function: Any,
    transform: Transform,
    arguments: Arguments,
    target: str,
    outputs: tuple[Value, ...],
    environment: Environment,
) -> Graph:
    traced = [leaf for leaf in arguments.leaves if leaf.traced]
    captures = _capture_names(trace, environment, arguments.parameters)
    if target == "jax":
        names = _unique([arguments.name_of(leaf) for leaf in traced])
        parameters, reads = tuple(names), tuple(names)
    else:
        parameters = arguments.parameters
        reads = tuple(_double_quoted(arguments, leaf) for leaf in traced)
    inputs = (*trace.inputs, *(value for _, value in trace.captured.values()))
    name = _identifier(getattr(function, "__name__", "function"))
    suffix = {"compile": "", "grad": "_grad", "value_and_grad": "_value_and_grad"}
    return Graph(
        name=name + suffix[transform.kind],
        inputs=inputs,
        nodes=tuple(trace.builder.nodes),
        outputs=outputs,
        frame=Frame(parameters, (*reads, *captures), captures),
        sizes=trace.sizes,
        about=_about(function, transform, arguments, trace, captures),
    )


def _double_quoted(arguments: Arguments, leaf: Leaf) -> str:
    return arguments.text_of(leaf).replace("'", '"')


def _unique(names: Sequence[str]) -> list[str]:
    taken: list[str] = []
    for name in names:
        unique, count = name, 1
        while unique in taken:
            count += 1
            unique = f"{name}_{count}"
        taken.append(unique)
    return taken


def _identifier(name: str) -> str:
    return name if name.isidentifier() else "function"


def _capture_names(
    trace: Trace, environment: Environment, parameters: Sequence[str]
) -> tuple[str, ...]:
    """Captured arrays under the names by which the function's code knows them."""
    stems = []
    for holder, _ in trace.captured.values():
        source = environment.sources(holder)
        words = re.findall(r"\w+", source.text) if source is not None else []
        stems.append(words[-1] if words and words[-1].isidentifier() else "captured")
    return tuple(_unique([*parameters, *stems])[len(parameters) :])


def _about(
    function: Any,
    transform: Transform,
    arguments: Arguments,
    trace: Trace,
    captures: Sequence[str],
) -> str:
    """The header: what the code is, for which arguments it is valid and what else it reads."""
    code = code_of(function)
    where = f" ({basename(code.co_filename)}:{code.co_firstlineno})" if code is not None else ""
    name = getattr(function, "__name__", "function")
    names = ", ".join(arguments.parameters[p] for p in transform.positions)
    what = {
        "compile": f"{name}{where}",
        "grad": f"gradient in {names} of {name}{where}",
        "value_and_grad": f"value and gradient in {names} of {name}{where}",
    }[transform.kind]
    lines = [f"Generated by tracegrad: {what}."]
    lines.append("Valid for")
    traced = [leaf for leaf in arguments.leaves if leaf.traced]
    for leaf, value in zip(traced, trace.inputs, strict=True):
        lines.append(f"    {_double_quoted(arguments, leaf)}: {_shown_type(trace, value)}")
    for leaf in arguments.leaves:
        if not leaf.traced:
            lines.append(f"    {_double_quoted(arguments, leaf)} = {leaf.value!r}")
    if captures:
        lines.append("Reads from outside, by reference")
        for name, (_, value) in zip(captures, trace.captured.values(), strict=True):
            lines.append(f"    {name}: {_shown_type(trace, value)}")
    return "\n".join(lines)


def _shown_type(trace: Trace, value: Value) -> str:
    if value.type.weak:
        return f"a Python {kind(value.type.dtype)}"
    shape = ", ".join(str(trace.sizes.resolve(dim)) for dim in value.type.shape)
    return f"{value.type.dtype} ({shape}{',' if len(value.type.shape) == 1 else ''})"


# -- what is returned ---------------------------------------------------------------------------


def _result(
    transform: Transform,
    arguments: Arguments,
    wanted: Sequence[Leaf],
    returned: Result,
    n_outputs: int,
) -> tuple[Result, list[str]]:
    """The structure of the callable's return value, and names for its outputs."""
    count = sum(isinstance(i, int) for i in returned.leaves)
    value_names = ["value"] if transform.kind != "compile" else ["result"] * count
    value_names += [f"aux_{i}" for i in range(n_outputs - len(value_names))]
    if transform.kind == "compile":
        return returned, value_names
    gradient_names = [f"{arguments.name_of(leaf)}_bar" for leaf in wanted]
    skip = 0 if transform.kind == "value_and_grad" else 1
    start = n_outputs - skip
    specs = [arguments.specs[p % len(arguments.specs)] for p in transform.positions]
    if isinstance(transform.argnums, int):
        gradient_spec = specs[0]
    else:
        gradient_spec = flatten(tuple(unflatten(s, [0] * s_leaves(s)) for s in specs))[1]
    gradient = (gradient_spec, [start + i for i in range(len(wanted))])
    pieces: list[tuple[TreeSpec, list[Any]]] = []
    if transform.kind == "value_and_grad":
        pieces.append((returned.spec, list(returned.leaves)))
        pieces.append(gradient)
    elif transform.has_aux:
        pieces.append(gradient)
        aux = returned.spec.children[1]
        pieces.append((aux, [i - 1 if isinstance(i, int) else i for i in returned.leaves[1:]]))
    else:
        pieces.append(gradient)
    names = (value_names if not skip else value_names[1:]) + gradient_names
    if len(pieces) == 1:
        return Result(pieces[0][0], tuple(pieces[0][1])), names
    spec = flatten(tuple(unflatten(s, [0] * len(leaves)) for s, leaves in pieces))[1]
    return Result(spec, tuple(i for _, leaves in pieces for i in leaves)), names


def s_leaves(spec: TreeSpec) -> int:
    """The number of leaves of a structure."""
    return 1 if spec.type is None else sum(s_leaves(child) for child in spec.children)


def _template(result: Result, target: str) -> str | None:
    """The structure as Python over ``{0}``, ``{1}``...; None when it needs other types.

    Under ``jax.jit`` nothing but arrays can be returned.
    """
    if target == "jax" and any(isinstance(leaf, Static) for leaf in result.leaves):
        return None
    rest = iter(result.leaves)

    def text(spec: TreeSpec, top: bool = False) -> str:
        if spec.type is None:
            leaf = next(rest)
            if isinstance(leaf, int):
                return f"{{{leaf}}}"
            if type(leaf.value) in (bool, int, float, str, type(None)):
                return (
                    repr(leaf.value) if not isinstance(leaf.value, str) else json.dumps(leaf.value)
                )
            raise _NoTemplate
        children = [text(child) for child in spec.children]
        if spec.type is type(None):
            return "None"
        if spec.type is tuple:
            inner = ", ".join(children) + ("," if len(children) == 1 else "")
            return inner if top and children else f"({inner})"
        if spec.type is list:
            return f"[{', '.join(children)}]"
        if spec.type is dict:
            keys = [step.key for step in spec.steps]  # type: ignore[union-attr]
            if all(isinstance(key, str) for key in keys):
                pairs = zip(map(json.dumps, keys), children, strict=True)
                return "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
        raise _NoTemplate

    try:
        return text(result.spec, True)
    except _NoTemplate:
        return None


class _NoTemplate(Exception):
    """The structure has a type that Python has no literal for."""
