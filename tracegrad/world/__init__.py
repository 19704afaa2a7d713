"""What a run of a function reads and changes of the Python around it: guards, stores, effects.

An object is *outside* when it was there before the run; `World` (`world.py`) knows it by identity,
with how the user calls it.

- Guards: `guards.py` is one fact about a place, `guard_function.py` makes one function of all of
  them, `names_in_check.py` tells what it reads by names. `code_origin.py` tells whose an object is,
  and which others may take its place, `functions.py` what is read of functions.
- The gate: `native_gate.py` has the rules of operators and builtins, `native_calls.py` those of
  calls, `container_changes.py` those of methods that change, `native_reads.py` what C code may read
  of a container, `container_copies.py` what it gives back of it, `lru_caches.py` helpers under
  ``lru_cache``, `native_tables.py` which functions of C compute and which do not,
  `joined_containers.py` which operators join containers.
- Inputs: `number_inputs.py` has floats and counters, `sequence_items.py` what lists and tuples
  hold, `lengths.py` lengths that loops ask for, `arrays_of_lengths.py` arrays of such lengths.
- Changes: `run_outcome.py` tells what a run has left behind; `stores.py` has arrays that took the
  place of arrays, `effects.py` the log of all else, `changed_containers.py` what containers held
  before, `equal_keys.py` and `dict_keys.py` which keys are one place, `outside_memory.py` arrays
  that C code reads as they are.
- Calls that would lose a gradient: `interception.py`, `scipy_table.py`, `jax_table.py`; arrays that
  are filled: `array_to_tensor.py`, of memory that is new: `fresh_arrays.py`; numbers for functions
  that take no Tensor: `numbers_for_functions.py`; who is who for the caller: `stand_ins.py`,
  `tensor_places.py`.
- Loops: `recording.py`, `closing.py`, `turn_equality.py`, `loop_runner.py` and what they name.
- `untraced_world.py` is the world of functions that stay eager: it answers, and guards nothing.
"""

from tracegrad.world import container_changes, native_calls, native_gate  # they enter the rules
from tracegrad.world.effects import Effect
from tracegrad.world.guards import IMMUTABLE, MISSING, Guard, same
from tracegrad.world.stores import Store
from tracegrad.world.world import World

__all__ = [
    "IMMUTABLE",
    "MISSING",
    "Effect",
    "Guard",
    "Store",
    "World",
    "container_changes",
    "native_calls",
    "native_gate",
    "same",
]
