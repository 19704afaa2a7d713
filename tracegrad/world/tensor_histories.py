"""What functions ask of the histories of the caller's Tensors, and change in them.

The Tensors of a traced run stand for the caller's, or are the caller's own: their gradients, hooks
and places in other tapes are no part of a program. The run is taken back, and the function runs
eagerly, on the caller's Tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

from tracegrad.tape.tape import LEAF
from tracegrad.tensors.coercion import bare_memory
from tracegrad.tensors.tensor import Tensor

if TYPE_CHECKING:
    from tracegrad.world.world import World

_OF_ARGUMENTS = frozenset({"grad", "is_leaf", "grad_fn", "requires_grad_", "detach_"})
"""What a Tensor that stands for another one does not have as that one has it."""
_OF_OUTSIDE = frozenset(
    {"requires_grad_", "detach_", "register_hook", "register_post_accumulate_grad_hook"}
)
"""Methods that change a Tensor from outside, and no memory of it."""
_SET = frozenset({"grad", "data", "requires_grad"})


def give_memory(x: Tensor) -> None:
    """Has a number with a history be an input: it is an array without axes."""
    if x._node is not None:
        bare_memory(x)


def refuse_history_read(world: World, x: Tensor, name: object) -> None:
    """Ends the run where it reads an attribute of the caller's Tensor that no program reads."""
    original = world.original(x) if name in _OF_ARGUMENTS else x
    if original is not x and type(original) is Tensor:
        world.ends_run(f"asks for .{name} of a Tensor")
    if name == "retain_grad":
        world.retained.append(ref(x))
    if name in _OF_OUTSIDE and not world.is_own_leaf(x) and world.is_outside(x):
        world.ends_run(f"calls .{name} of a Tensor from outside")


def refuse_written_leaf(world: Any, x: Tensor) -> None:
    """Ends the run where a history begins at a leaf of the caller's that it has written to.

    The gradient goes to that leaf. In the graph it would go to what the leaf has been before. A
    parameter of a loop, or of arms that meet, has the leaf for its history.
    """
    leaf = x if x._node is LEAF else x._node
    written = type(leaf) is Tensor and leaf._is_traced and world.is_outside(leaf)
    if world.tapes and written:
        world.ends_run("writes to a leaf that requires grad, and goes on with it")


def refuse_history_write(world: World, x: Tensor, name: object) -> None:
    """Ends the run where it sets what the caller's Tensor keeps for its gradients."""
    if name not in _SET or world.is_own_leaf(x):
        return
    original = world.original(x)
    if type(original) is Tensor and (original is not x or world.is_outside(x)):
        world.ends_run(f"sets .{name} of a Tensor that it did not make")
