"""Functions that run apart from the one that calls them: the halves of a rule, hooks.

Such a function is called on arrays or Tensors of its own, and nobody follows what else it reads.
A value of the function around it would be a constant there: its gradient would be lost, and a
program would read the one of its trace on every call. `refuse_around` finds it where it is read,
however the function comes by it.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tracegrad.errors import GradientError, TraceError
from tracegrad.runtime.array_manners import is_own_leaf
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.tape import LEAF, Node, Output, next_stamp, parent_of
from tracegrad.user_code.program_points import at_line


@dataclass(frozen=True)
class Apart:
    """A run of a function apart: its name, and what it may read besides what it makes.

    `since` is when it began, on the clock of the tape; None where only a program is at stake, for
    which traced values are refused and histories are not.
    """

    name: str
    inputs: frozenset[int]  # the ids of its Tensors
    since: int | None
    around: Apart | None = None  # the run within which this one began
    leaves: dict[int, Any] = field(default_factory=dict)  # that were made since, by id

    def makes(self, leaf: Any) -> None:
        """Notes a leaf that was made within, and so within all around."""
        run: Apart | None = self
        while run is not None:
            forget = partial(_forget, run.leaves, id(leaf))
            run.leaves[id(leaf)] = weakref.ref(leaf, forget)
            run = run.around


def _forget(leaves: dict[int, Any], key: int, _: Any) -> None:
    leaves.pop(key, None)


def start_history(tensor: Any) -> None:
    """Makes a Tensor a leaf, by which a derivative is taken."""
    if STATE.apart is not None and tensor._node is None:
        STATE.apart.makes(tensor)
    tensor._node = LEAF


def made_apart(leaf: Any) -> bool:
    """Whether a leaf was made by the function that runs apart, or by what it called."""
    return STATE.apart is not None and id(leaf) in STATE.apart.leaves


@contextmanager
def apart(name: str, inputs: Iterable[Any] = (), recorded: bool = False) -> Iterator[None]:
    """Refuses values of the function around; `recorded` says that a tape is kept of that one."""
    since = next_stamp() if recorded else None
    run = Apart(name, frozenset(map(id, inputs)), since, STATE.apart)
    before = STATE.update(apart=run)
    try:
        yield
    finally:
        STATE.update(**before)


def refuse_around(*operands: Any) -> None:
    """Raises where a Tensor that is read belongs to the function around the one that runs apart."""
    if STATE.apart is not None:
        for x in operands:
            if hasattr(x, "_traced"):
                _refuse(x, STATE.apart)


def _refuse(x: Any, run: Apart) -> None:
    if x._traced is not None and x._traced[0] is not STATE.trace:
        raise TraceError(
            f"{run.name} reads a value of the function that is being compiled, which has another "
            "value on every call: hand it over as an argument (to a solver of SciPy's with args=), "
            f"or let a hook read it as a variable of its own (no list, object or global){at_line()}"
        )
    if run.since is None or STATE.grad_enabled or x._node is None or id(x) in run.inputs:
        return
    made = parent_of(x)
    node = made.node if type(made) is Output else made
    if node.stamp > run.since if type(node) is Node else made_apart(node) or is_own_leaf(node):
        return
    raise lost_by(run.name)


def lost_by(name: str) -> GradientError:
    """The error for a function apart that reads a value of the function around."""
    return GradientError(
        f"{name} reads a value that is being differentiated and is none of its arguments, so its "
        "gradient would be lost: hand it over as an argument, or pass tg.stop_gradient(...) of it "
        f"if it is to be a constant{at_line()}"
    )
