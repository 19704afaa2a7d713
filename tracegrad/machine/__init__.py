"""An interpreter of CPython's bytecode in Python, on real values, that asks a world.

It knows no tensor and no guard: what a program reads, writes or has C code do is a question to its
`World`. Functions, cells, classes and generators are real objects of Python, so C code can have
them. A frame is plain data: it can be copied at an instruction, and run on.

- `translation.py` translates a code object once into a list of closures, one an instruction;
  `decoding.py` has the table of Python's versions, `expression_instructions.py`,
  `statement_instructions.py` and `instruction_table.py` the closures. It refuses what is not
  executed (async, ``exec``, frames that look at themselves): such code runs natively.
- `frames.py` binds arguments, runs the closures, unwinds exceptions, drives generators;
  `consumed_generators.py` runs a generator expression together with a builtin that goes through it,
  `inlined_generators.py` a generator in the frame of the loop that goes through it, where nobody
  else has it (`unread_generators.py`); `own_generators.py` has what iterators of C code do.
- `attribute_lookup.py`, `operators.py`, `iteration.py`, `calls.py` do what C code does for
  attributes, operators, iteration and calls, as far as the user's Python may be asked on the way
  (`__add__`, properties, `__enter__`).
- `builtin_functions.py`, `calling_builtins.py`, `frame_builtins.py` replace C functions that call
  back (`sorted`, `map`, `super`); `natives.py` names what instructions do in C.
- `tracebacks.py` makes tracebacks as CPython's, `recursion_depth.py` counts the user's depth,
  `liveness.py` tells which variables are read again.
"""

from tracegrad.machine.frames import Frame, Machine
from tracegrad.machine.translation import Refused, refusal, watched
from tracegrad.machine.world_protocol import ABSENT, World

__all__ = ["ABSENT", "Frame", "Machine", "Refused", "World", "refusal", "watched"]
