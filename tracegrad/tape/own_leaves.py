"""Leaves that a function makes while a transform runs it: it may add gradients to these alone.

The function runs on Tensors that stand for what it reads, and its run may be taken back or made
again. A gradient that is added to a Tensor from outside would go to the wrong one, or be added
twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tracegrad.errors import GradientError
from tracegrad.runtime.array_manners import is_own_leaf
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.functions_apart import start_history
from tracegrad.tape.views import base_of, views_of
from tracegrad.user_code.program_points import at_line


def start_own(tensor: Any) -> None:
    """Makes a Tensor a leaf, which is remembered where the function which runs has made it.

    A rule of the user's runs without a machine, and makes its leaves itself.
    """
    machine = STATE.machine
    if STATE.own_leaves is not None and not (machine and machine.world.is_outside(tensor)):
        STATE.own_leaves[id(tensor)] = tensor
        if STATE.watch is not None:
            STATE.watch.made([tensor])
    start_history(tensor)


def refuse_others(leaves: Iterable[Any], does: str) -> None:
    """Raises where one of the leaves was there before the run; `does` says what changes it."""
    if STATE.own_leaves is None or all(map(is_own_leaf, leaves)):
        return
    raise GradientError(
        f"{does} of Tensors from outside of the function, which no function that tg.compile or "
        "another transform runs may do. Leave tg.compile away: backward() is compiled by itself. "
        "Or compile a step that takes the parameters and returns new ones, with "
        f"tg.value_and_grad and tg.optim.adam (the guide on training loops shows one){at_line()}"
    )


def tell_of_setting(tensor: Any, name: str) -> None:
    """A function sets an attribute of a Tensor: where it is traced, its world is told."""
    world = None if STATE.trace is None else STATE.trace.world
    if world is not None:
        world.sets_in_history(tensor, name)


def ask_mode() -> None:
    """A function derives by the tape, of which there is none where nothing was recorded."""
    world = None if STATE.trace is None else STATE.trace.world
    if world is not None:
        world.asks_mode()


def refuse_kept_history(tensor: Any) -> None:
    """Ends a trace that writes, under ``no_grad``, to a Tensor whose history goes on unchanged.

    A gradient flows through the new value as through the old one, which no graph says. Histories of
    Tensors from outside matter where calls are on a tape alone.
    """
    trace = STATE.trace
    if trace is None or trace.world is None or STATE.grad_enabled:
        return
    matters = trace.world.tapes or not trace.placed(base_of(tensor))
    if matters and tensor._node is not None and not tensor.is_leaf:
        trace.world.ends_run("writes under no_grad to a result that has a history")


def refuse_shared(base: Any) -> None:
    """Ends a trace that writes to memory at which Tensors from outside look, besides its own.

    They are no part of the trace: a program writes to the memory of the one that it has read.
    """
    trace = STATE.trace
    if trace is None or trace.world is None:
        return
    before = [x for x in (base, *views_of(base)) if not x._is_traced]
    if len(before) > 1 and any(map(trace.placed, before)):
        trace.world.ends_run("writes to memory that several Tensors from outside share")
