"""Functions whose backward keeps their arguments alone and computes the rest again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tracegrad.arguments.argument_changes import Borrowed
from tracegrad.autograd.context import FunctionCtx
from tracegrad.autograd.engine import conjugate, left_behind
from tracegrad.autograd.function import Function
from tracegrad.config.compile_mode import check_bytes
from tracegrad.eager.derivatives import unrolled
from tracegrad.errors import ArgumentError, GradientError
from tracegrad.ops.checkpoint_markers import budget, region_end, region_start
from tracegrad.ops.elementwise.ufuncs import alias
from tracegrad.ops.shape.creation import zeros_of
from tracegrad.runtime.thread_state import STATE, call
from tracegrad.tape.foreign_arrays import plain
from tracegrad.tape.tape import Node, Output, next_stamp, parent_of
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.transforms.vjp import Pullback, vjp_on_tape
from tracegrad.values.dispatch import FLOATING
from tracegrad.values.pytree import TreeSpec, flatten, unflatten
from tracegrad.world.untraced_world import interpreted

__all__ = ["checkpoint"]


def checkpoint(f: Callable[..., Any] | None = None, *, max_bytes: int | None = None) -> Any:
    """The same function, whose intermediate values are computed again in the backward.

    Time is exchanged for memory: a backward keeps what the function reads, not what it computes on
    the way. Values and gradients have the same bits. In compiled functions the second computation
    stands in the generated source; loops inside are unrolled. What has an effect (a draw of random
    numbers, a call of the user's own Python) runs once, and its result is kept. In eager calls the
    function itself runs again, with what it prints and stores; where it computes something else
    then, since what it reads has changed, that is an error.

    With `max_bytes` loops in NumPy source stay loops, and none keeps more than so many bytes of its
    turns for the backward; what the statements of a turn make comes on top. A loop that keeps less
    than that is left as it is. Any other loop is cut into segments. It keeps what each segment
    begins with, and the backward runs the turns of a segment once more before it goes back through
    them. Later segments are shorter, because more beginnings are kept by then. If that is still too
    much, the first segments are cut into parts, whose turns run three times. If even that is more
    than the budget, the loop keeps as little as it can. A ``while`` has an unknown number of turns,
    so each of its segments is a turn longer than the one before. The header of the source says what
    is kept and how many turns are run. The lengths of the call that is compiled decide. A loop over
    a range whose end is a traced value, and a loop with inner loops that is left early, keep all
    their turns.
    ``tg.config.max_bytes`` is the same for all loops.

    Raises
    ------
    tg.errors.ArgumentError
        `f` is no function, `max_bytes` no number of bytes.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> layer = tg.checkpoint(lambda w, x: np.tanh(x @ w))
    >>> tg.grad(lambda w: np.sum(layer(w, np.ones((1, 2)))))(np.zeros((2, 1)))
    array([[1.],
           [1.]])

    >>> def decay(x):
    ...     for t in range(1000):
    ...         x = x - 0.01 * np.sin(x)
    ...     return np.sum(x)
    >>> within = tg.grad(tg.checkpoint(decay, max_bytes=10_000))
    >>> bool(np.all(within(np.ones(20)) == tg.grad(decay)(np.ones(20))))
    True

    Reference: Griewank and Walther 2000, Algorithm 799: revolve; Chen, Xu, Zhang, Guestrin 2016,
    Training deep nets with sublinear memory cost.
    """
    check_bytes(max_bytes)
    if f is None:
        return functools.partial(checkpoint, max_bytes=max_bytes)
    if not callable(f):
        raise ArgumentError(f"expected a function, not {type(f).__name__}")

    @functools.wraps(f, updated=())
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = flatten((args, kwargs))
        trace = STATE.trace
        if trace is not None and max_bytes is not None and not trace.static_lengths:
            with budget(trace, max_bytes):
                return call(f, args, kwargs)
        if STATE.trace is not None:
            with _region(STATE.trace), unrolled(MADE_AGAIN):
                return call(f, args, kwargs)
        if not (STATE.grad_enabled and any(getattr(x, "requires_grad", False) for x in leaves)):
            return call(f, args, kwargs)
        run = _Run(f, (args, kwargs), spec)
        results = run.recorded(leaves)
        return unflatten(run.value, results)

    return checkpointed


MADE_AGAIN = (
    "because tg.checkpoint makes it again. Give tg.checkpoint a max_bytes: with it loops stay loops"
)


@contextmanager
def _region(trace: Any) -> Iterator[None]:
    """What is recorded inside is computed again by the backward."""
    trace.builder.call(region_start, (), trace.origin())
    try:
        yield
    finally:
        trace.builder.call(region_end, (), trace.origin())


class _Run:
    """A function, the structures of its arguments and its value, and the numbers that it drew."""

    value: TreeSpec
    sizes: list[_Size]  # of the value's leaves
    chosen: list[int]  # those of them that the run has computed of the arguments

    def __init__(self, function: Callable[..., Any], given: Any, spec: TreeSpec) -> None:
        self.function = function
        self.given = given
        self.spec = spec
        self.standing = STATE.standing
        self.drawn: list[Any] = []

    def recorded(self, leaves: Sequence[Any]) -> Sequence[Any]:
        """The leaves of the value, which remember the arguments alone if they depend on no more.

        Where the function reads other values that have a history, and for what it stores outside,
        the tape of this run stays.
        """
        own = [alias(x) if getattr(x, "requires_grad", False) else x for x in leaves]
        given = {x._node: leaf for x, leaf in zip(own, leaves, strict=True) if x is not leaf}
        since = next_stamp()
        results = self(own, self.keep)
        if _reads_more(results, own, since):
            _begin_at(given, results, since)
            return [given.get(getattr(x, "_node", None), x) for x in results]
        self.sizes = [_size_of(x) for x in results]
        recorded = {id(x): i for i, x in enumerate(results) if getattr(x, "requires_grad", False)}
        self.chosen = [i for i in recorded.values() if results[i]._node not in given]
        outputs: dict[int, Any] = {}
        if self.chosen:
            made = [wrap(results[i]._array) for i in self.chosen]
            remembering = _Recomputed._applied(self, made, *leaves)
            outputs = {id(results[i]): x for i, x in zip(self.chosen, remembering, strict=True)}
        results = [given.get(getattr(x, "_node", None), x) for x in results]
        return [outputs.get(id(x), x) for x in results]

    def __call__(self, leaves: Any, draws: Callable[[Callable[[], Any]], Any]) -> list[Any]:
        """The leaves of the value."""
        args, kwargs = made = unflatten(self.spec, leaves)
        before = STATE.update(standing=self.standing, draws=draws)
        try:
            with interpreted():
                borrowed = Borrowed(tuple)
                borrowed.watch(self.given, made)
                for leaf, own in zip(flatten(self.given)[0], leaves, strict=True):
                    if own is not leaf:  # what is stored of it is the caller's own
                        borrowed.stands_for(leaf, own)
                results, self.value = flatten(call(self.function, args, kwargs))
        finally:
            STATE.update(**before)
        return results

    def again(self, leaves: Any) -> list[Any]:
        """The leaves of the value, computed once more, with the same draws."""
        drawn = iter(self.drawn)
        results = self(leaves, lambda draw: next(drawn))
        sizes = [_size_of(x) for x in results]
        if len(sizes) != len(self.sizes) or not all(map(_same, sizes, self.sizes)):
            name = getattr(self.function, "__name__", "the function")
            raise GradientError(
                f"tg.checkpoint: {name} computes something else in the backward than it did in the "
                "forward, for it reads what has changed since (a counter, an attribute, a list): "
                "pass that as an argument, or call the function without tg.checkpoint"
            )
        return results

    def keep(self, draw: Callable[[], Any]) -> Any:
        """Draws, and remembers the numbers."""
        self.drawn.append(draw())
        return self.drawn[-1]


_Size = tuple[Any, ...]
"""By what an array is known again: its shape, its sum, and the sum of its absolute values."""


def _size_of(x: Any) -> _Size:
    array = np.asarray(plain(getattr(x, "_array", x)))
    if array.dtype.kind not in "biufc":
        return (array.shape,)
    with np.errstate(all="ignore"):
        return array.shape, array.sum(), np.abs(array).sum()


def _same(a: _Size, b: _Size) -> bool:
    """Whether two arrays are the same but for roundings."""
    if a[0] != b[0] or len(a) == 1:
        return bool(a == b)
    return bool(np.isclose(a[1], b[1], rtol=0.0, atol=_ROUNDING * abs(b[2]), equal_nan=True))


_ROUNDING = 1e-5


def _reads_more(results: Sequence[Any], inputs: Sequence[Any], since: int) -> bool:
    """Whether results depend on what has a history from before `since` and is no input."""
    given = {x._node for x in inputs if isinstance(x, Tensor)}
    todo = [x._node for x in results if isinstance(x, Tensor) and x._node is not None]
    seen: set[Any] = set()
    while todo:
        parent = todo.pop()
        node = parent.node if type(parent) is Output else parent
        if node is None or node in given or node in seen:
            continue
        if type(node) is not Node or node.stamp < since:
            return True
        seen.add(node)
        todo += node.parents
    return False


def _begin_at(given: Mapping[Any, Any], results: Sequence[Any], since: int) -> None:
    """Has the tape of a run begin at the arguments, of which it has made other Tensors."""
    of = {node: parent_of(x) for node, x in given.items() if node.more is None}
    for node in left_behind([x for x in results if isinstance(x, Tensor)]):
        if node.stamp > since:
            node.parents = tuple([of.get(parent, parent) for parent in node.parents])


class _Recomputed(Function):
    """What a function has made of its arguments; makes it once more, with a tape, to go back."""

    @staticmethod
    def forward(ctx: FunctionCtx, run: _Run, made: Sequence[Any], *leaves: Any) -> Any:
        ctx.save_for_backward(*[x for x in leaves if isinstance(x, Tensor)])
        ctx.run = run  # type: ignore[attr-defined]
        ctx.others = [None if isinstance(x, Tensor) else x for x in leaves]  # type: ignore[attr-defined]
        return tuple(made)

    @staticmethod
    def _again(ctx: Any, operands: Sequence[Any], moving: Sequence[bool]) -> Any:
        """The leaves that stand for some of the Tensor arguments, and what the function returns."""
        pull = _pullback(ctx, list(map(wrap, operands)), [i for i, m in enumerate(moving) if m])
        return pull.inputs, pull.outputs

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Where no walker goes through what runs again: a graph, a batch, a hook of the node."""
        tensors = list(ctx.saved_tensors)
        asked = [i for i, x in enumerate(tensors) if x.dtype.kind in FLOATING]
        pull = _pullback(ctx, tensors, asked)
        pairs = zip(grads, pull.outputs, strict=True)
        cts = [zeros_of(x) if g is None else conjugate(g) for g, x in pairs]
        found = dict(zip(asked, map(conjugate, pull(cts)), strict=True))
        of_tensors = iter([found.get(i) for i in range(len(tensors))])
        return (None, None, *[next(of_tensors) if x is None else None for x in ctx.others])


def _pullback(ctx: Any, tensors: list[Any], asked: Sequence[int]) -> Pullback:
    """The pullback of a function that runs again, in those of its Tensor arguments."""

    def again(*wanted: Any) -> Any:
        for i, x in zip(asked, wanted, strict=True):
            tensors[i] = x
        rest = iter(tensors)
        results = ctx.run.again([next(rest) if x is None else x for x in ctx.others])
        return [results[i] for i in ctx.run.chosen]

    _, pull = vjp_on_tape(again, *[tensors[i] for i in asked])
    return pull
