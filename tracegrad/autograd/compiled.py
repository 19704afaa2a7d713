"""The steps of a tape enter, gradients as arrays leave: interpreted at first, compiled when the
same shape of tape comes again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from codegen.ir import Frame, Graph, Origin, Value, attribute_key
from codegen.sizes import Sizes
from tracegrad.differentiate import Step, differentiate, pullback
from tracegrad.partition import backward_graph
from tracegrad.pipeline import Program, compile_graph
from tracegrad.trace import Trace


@dataclass(frozen=True)
class _Backward:
    """A compiled backward and which positions of the tape feed it."""

    program: Program
    residuals: tuple[int, ...]
    reached: tuple[int, ...]  # which of the wanted keys get a gradient


_SEEN: dict[Hashable, _Backward | None] = {}
_LIMIT = 1024


def run(
    steps: Sequence[Step],
    value_of: Callable[[Any], Any],
    seeds: Mapping[Any, Any],
    wanted: Sequence[Any],
) -> dict[Any, Any]:
    """Gradients of the wanted keys, as arrays."""
    number, shape = _shape_of_tape(steps, value_of, seeds, wanted)
    if shape not in _SEEN:
        while len(_SEEN) >= _LIMIT:
            _SEEN.pop(next(iter(_SEEN)), None)
        _SEEN[shape] = None
        return {
            key: np.array(value) if isinstance(value, np.ndarray) else value
            for key, value in pullback(steps, value_of, seeds, wanted).items()
        }
    compiled = _SEEN[shape]
    if compiled is None:
        compiled = _SEEN[shape] = compile_backward(steps, value_of, seeds, wanted, number)
    keys = list(number)
    arguments = [value_of(keys[i]) for i in compiled.residuals]
    results = compiled.program.run(*arguments, *seeds.values())
    return {wanted[i]: result for i, result in zip(compiled.reached, results, strict=True)}


def _shape_of_tape(
    steps: Sequence[Step],
    value_of: Callable[[Any], Any],
    seeds: Mapping[Any, Any],
    wanted: Sequence[Any],
) -> tuple[dict[Any, int], Hashable]:
    """Keys in order of first use, and a record of everything that the backward depends on."""
    number: dict[Any, int] = {}
    inputs: list[Hashable] = []

    def of(key: Any) -> int:
        if key not in number:
            number[key] = len(number)
            value = value_of(key)
            inputs.append(_kind(value))
        return number[key]

    for key in wanted:
        of(key)
    sizes = Sizes()
    parts: list[Hashable] = []
    for step in steps:
        operands = tuple(of(key) for key in step.operands)
        attributes = tuple((k, attribute_key(sizes, v)) for k, v in step.attributes.items())
        parts.append((step.op.name, attributes, operands))
        for key in step.results:
            number.setdefault(key, len(number))
    ends = (tuple(number[key] for key in seeds), tuple(number[key] for key in wanted))
    return number, (tuple(inputs), tuple(parts), ends)


def _kind(value: Any) -> Hashable:
    if isinstance(value, np.ndarray | np.generic):
        return (type(value).__name__, value.dtype.name, value.shape)
    return type(value).__name__


def compile_backward(
    steps: Sequence[Step],
    value_of: Callable[[Any], Any],
    seeds: Mapping[Any, Any],
    wanted: Sequence[Any],
    number: Mapping[Any, int],
) -> _Backward:
    """The tape as a graph, differentiated, cut down to its backward part and compiled."""
    trace = Trace(None)
    values: dict[Any, Value] = {}

    def value(key: Any) -> Value:
        found = values.get(key)
        if found is None:
            found = values[key] = trace.input(value_of(key), f"x{len(trace.inputs)}")
        return found

    for key in wanted:
        value(key)
    for step in steps:
        operands = tuple(value(key) for key in step.operands)
        results = trace.builder.call(step.op, operands, **step.attributes)
        values.update(zip(step.results, results, strict=True))
    targets = [values[key] for key in wanted]
    forward = Graph(
        "backward",
        tuple(trace.inputs),
        tuple(trace.builder.nodes),
        tuple(values[key] for key in seeds),
        Frame((), ("",) * len(trace.inputs)),
        trace.sizes,
    )
    cotangents = {
        values[key]: Value(values[key].type.with_dtype(values[key].type.dtype), Origin(f"ct{i}", True))
        for i, key in enumerate(seeds)
    }
    joint = differentiate(forward, targets, cotangents, keep=())
    reached = tuple(range(len(wanted)))
    cut, residuals = backward_graph(
        joint, forward, joint.outputs[-len(targets) :], tuple(cotangents.values())
    )
    position = {values[key]: index for key, index in number.items() if key in values}
    program = compile_graph(cut, "numpy")
    return _Backward(program, tuple(position[v] for v in residuals), reached)


def source_of(
    steps: Sequence[Step],
    value_of: Callable[[Any], Any],
    seeds: Mapping[Any, Any],
    wanted: Sequence[Any],
) -> str:
    """The text of the backward of a tape."""
    number, _ = _shape_of_tape(steps, value_of, seeds, wanted)
    return compile_backward(steps, value_of, seeds, wanted, number).program.source.text
