"""What a client lends to the passes: rules and passes over its own ops, and ops to insert."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from codegen.ir import Graph, Op
from codegen.rewrite import Rule


class Pass(NamedTuple):
    """One entry of a pipeline."""

    run: Callable[[Graph, Client], Graph]
    reason: str


@dataclass(frozen=True)
class Client:
    """`copy` gives an array in fresh memory; `full` an array of one number (attributes ``shape``
    and ``dtype``), `splat` what shows a value repeated over a ``shape``. Without them outputs may
    share memory with inputs. `copy_number`, where it is given, copies what has no axes,
    `copy_if_set` what some paths do not have, and `array_of_number` makes an array of what has no
    axes; `copy_lying` and `copy_lying_if_set` copy where the frame says `lying`. Without `raises`
    calls raise nothing: the target knows no exceptions, or all have run.

    `fast_math` are passes for graphs that allow it, `loops` those that move work out of turns once
    the algebra is done, and `memory` those for when outputs have memory of their own.
    """

    rules: tuple[Rule, ...] = ()
    copy: Op | None = None
    full: Op | None = None
    splat: Op | None = None
    copy_number: Op | None = None
    copy_if_set: Op | None = None
    copy_lying: Op | None = None
    copy_lying_if_set: Op | None = None
    array_of_number: Op | None = None
    fast_math: tuple[Pass, ...] = ()
    loops: tuple[Pass, ...] = ()
    memory: tuple[Pass, ...] = ()
    raises: bool = True


NO_CLIENT = Client()
