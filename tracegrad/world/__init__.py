"""What a run of a function reads and changes of the Python around it: guards, stores, effects.

An object is *outside* when it was there before the run; `World` (`world.py`) knows it by identity,
with how the user calls it.

- Guards: `facts.py` is one fact about a place, `check.py` makes one function of all of them.
  `whose.py` tells whose an object is, and which others may take its place.
- The gate: `gate.py` has the rules of operators and builtins, `calls.py` those of calls,
  `changing.py` those of methods that change, `contents.py` what C code may read of a container,
  `copies.py` what it gives back of it, `caches.py` helpers under ``lru_cache``, `tables.py` which
  functions of C compute and which do not.
- Inputs: `numbers.py` has floats and counters, `sequences.py` what lists and tuples hold,
  `lengths.py` lengths that loops ask for.
- Changes: `outcome.py` tells what a run has left behind; `stores.py` has arrays that took the place
  of arrays, `effects.py` the log of all else, `changed.py` what containers held before.
- Calls that would lose a gradient: `interception.py`, `scipy_functions.py`; arrays that are filled:
  `swapping.py`; who is who for the caller: `stand_ins.py`, `kept.py`.
- Loops: `loops.py`, `closing.py`, `turns.py`, `walking.py` and what they name.
- `answers.py` is the world of functions that stay eager: it answers, and guards nothing.
"""

from tracegrad.world import calls, changing, gate  # they enter the rules
from tracegrad.world.effects import Effect
from tracegrad.world.facts import IMMUTABLE, MISSING, Guard, same
from tracegrad.world.stores import Store
from tracegrad.world.world import World

__all__ = [
    "IMMUTABLE",
    "MISSING",
    "Effect",
    "Guard",
    "Store",
    "World",
    "calls",
    "changing",
    "gate",
    "same",
]
