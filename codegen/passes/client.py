"""What a client lends to the passes enters: rules over its own ops, and ops that passes insert."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.ir import Op
from codegen.rewrite import Rule


@dataclass(frozen=True)
class Client:
    """`copy` gives an array in fresh memory; `full` an array of one number (attributes ``shape``
    and ``dtype``). Without them outputs may share memory with inputs. `copy_number`, where it is
    given, copies what has no axes."""

    rules: tuple[Rule, ...] = ()
    copy: Op | None = None
    full: Op | None = None
    copy_number: Op | None = None


NO_CLIENT = Client()
