"""Ops that draw from a random generator.

A draw is a node with an effect: compiled functions call the generator wherever the function did, in
the same order, so every call advances it as an eager call would. A run that does not count (a
trace, a program that a look leaves half way) gives the generator back as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from codegen.facts import once_for_each_graph
from codegen.ir import Call, Graph, Trait
from codegen.sizes import Dim, Sizes
from codegen.spelling import Foreign, spell
from codegen.types import ArrayType
from tracegrad.errors import RAISED_BY_NUMPY
from tracegrad.ops.record import OpRecord
from tracegrad.ops.shape.creation import new, tensor_of
from tracegrad.ops.special_cotangents import Undefined
from tracegrad.runtime.concurrency import held
from tracegrad.runtime.thread_state import STATE
from tracegrad.values.dispatch import HANDLERS, apply_in


@dataclass(frozen=True)
class Draw:
    """One method of one generator, as programs call it: a shape, and arrays of parameters."""

    generator: Any  # NumPy's, or what has its methods
    method: str
    keywords: tuple[tuple[str, Any], ...] = ()

    def __call__(self, size: tuple[int, ...], *parameters: Any) -> Any:
        def drawn() -> Any:
            draw, source, trace = getattr(self.generator, self.method), self.source, STATE.trace
            given = map(np.asarray, parameters)
            with held([source]):
                if trace is not None:
                    trace.generators.before_draw(source)
                array = np.asarray(draw(*given, size=size, **dict(self.keywords)))
                if trace is not None:
                    trace.generators.after_draw(source)
            return array if array.ndim else array[()]

        return drawn() if STATE.draws is None else STATE.draws(drawn)

    @property
    def source(self) -> Any:
        """The generator of bits that moves."""
        return self.generator.bit_generator


def _type(
    sizes: Sizes, *parameters: ArrayType, draw: Any, size: tuple[Dim, ...], dtype: str
) -> ArrayType:
    return ArrayType(dtype, size)


CONTINUOUS = ("standard_gamma", "beta")
"""Draws whose numbers move with their parameters, by no rule that is known here."""


def _vjp(ct: Any, y: Any, *parameters: Any, draw: Any, size: Any, dtype: str) -> tuple[Any, ...]:
    method = draw.call.method
    if method not in CONTINUOUS:
        return (None,) * len(parameters)
    refused = Undefined(
        f"{method}: numbers drawn have no derivative in its parameters: pass tg.stop_gradient(...) "
        "if they are to be constants"
    )
    return (refused,) * len(parameters)


IO_CALLBACK = (
    "io_callback(partial(draw, size), jax.ShapeDtypeStruct(size, dtype), *parameters, ordered=True)"
)

drawn = OpRecord(
    name="draw",
    operands=("*parameters",),
    infer=_type,
    spelling={"numpy": spell("draw(size, *parameters)"), "jax": spell(IO_CALLBACK)},
    attributes={"draw": ..., "size": ..., "dtype": ...},
    traits=frozenset({Trait.EFFECT}),
    needs={
        "jax": {
            "partial": "from functools import partial",
            "io_callback": "from jax.experimental import io_callback",
        }
    },
    vjp=_vjp,
    doc="Random numbers of this shape; not in the table, for each has a generator of its own.",
)


def draw(
    generator: Any,
    method: str,
    size: tuple[Dim, ...],
    result: str,
    /,
    *parameters: Any,
    like: Any = None,
    **keywords: Any,
) -> Any:
    """What a method of the generator gives, of dtype `result`: a Tensor, or where `like` lives."""
    by = Draw(generator, method, tuple(keywords.items()))
    trace = STATE.trace
    if trace is not None and trace.generators.are_made(by.source):
        if not any(type(x) in HANDLERS for x in parameters):
            return _constant(by, size, parameters)
        trace.read("the parameters of a draw from a random generator that it makes itself")
    call = Foreign(f"draw_{method}", by)
    attributes = {"draw": call, "size": size, "dtype": result}
    if like is not None:
        return apply_in(like, drawn, attributes, *parameters)
    return new(drawn, *parameters, **attributes)


def _constant(by: Draw, size: tuple[Dim, ...], parameters: Sequence[Any]) -> Any:
    """What a generator gives that each call makes anew of one seed: the same in each call."""
    trace = STATE.trace
    trace.generators.draws_constant()
    numbers = [trace.sizes.fix(trace.sizes.resolve(length)) for length in size]
    return tensor_of.call(by(tuple(numbers), *parameters))


# -- runs that do not count ---------------------------------------------------------------------


@once_for_each_graph
def sources_of(graph: Graph) -> tuple[np.random.BitGenerator, ...]:
    """The generators of bits that a program draws from."""
    calls = [node for node in graph.all_nodes if isinstance(node, Call) and node.op is drawn]
    sources = [call.attribute("draw").call.generator.bit_generator for call in calls]
    return tuple({id(source): source for source in sources}.values())


@contextmanager
def given_back(
    sources: Sequence[np.random.BitGenerator],
    on: type[BaseException] | tuple[type[BaseException], ...] | None = None,
) -> Iterator[None]:
    """Leaves generators as they were: always, or when an exception of class `on` leaves."""
    before = [source.state for source in sources]
    counts = on is not None
    try:
        yield
    except BaseException as error:
        counts = counts and not isinstance(error, on or ())
        raise
    finally:
        if not counts:
            for source, state in zip(sources, before, strict=True):
                source.state = state


def giving_back(
    run: Callable[..., Any], sources: Sequence[Any], others: bool = False
) -> Callable[..., Any]:
    """A program that leaves generators as they were when a look, or NumPy, ends its run.

    With `others` whatever ends it: it calls functions of the user's.
    """
    if not sources:
        return run
    raised = (Exception,) if others else (LookupError, *RAISED_BY_NUMPY)

    @wraps(run)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        with given_back(sources, on=raised):  # the function runs again
            return run(*args, **kwargs)

    return guarded
