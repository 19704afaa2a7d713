"""Which arguments are containers that the function changes: calls give these as objects.

A dict, list or dataclass among the arguments is flattened, and the function gets a copy of it. What
it changes there (``state["t"] += 1``, ``params[k] = params[k] - step``) no program could carry to
the caller's own. So a parameter by which this happened is an object in later calls, as one of a
class is: the key holds its class, what the function reads of it is guarded or an input, and what
it changes is done again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracegrad.arguments.signature import Arguments
from tracegrad.config.compile_mode import Mode
from tracegrad.tracing.outputs import Transform
from tracegrad.values.pytree import children, is_leaf
from tracegrad.world.code_origin import is_renewable


class ChangedArguments:
    """The parameters of one function whose containers it changes."""

    def __init__(self) -> None:
        self.parameters: set[str] = set()

    def learn(
        self, containers: Sequence[Any], arguments: Arguments, mode: Mode, transform: Transform
    ) -> bool:
        """A run has changed containers of the caller's; whether that is new.

        By an argument that is differentiated by its leaves nothing is learned. On JAX a container
        stays a tree of arrays, which are laid out together.
        """
        if mode.target == "jax" or transform.by_fields is None or arguments.tensors is not None:
            return False
        count = len(arguments.values)
        apart = {position % count for position in transform.by_fields if count}
        changed = {*map(id, containers)}
        before = len(self.parameters)
        for i, (name, value) in enumerate(zip(arguments.parameters, arguments.values, strict=True)):
            if i not in apart and is_renewable(type(value)) and _holds(value, changed):
                self.parameters.add(name)
        return len(self.parameters) > before


def _holds(value: Any, containers: set[int]) -> bool:
    """Whether a tree is one of the containers, or one of them is in it."""
    if is_leaf(value):
        return False
    return id(value) in containers or any([_holds(child, containers) for child in children(value)])
