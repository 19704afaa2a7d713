"""Generators that a ``for`` goes through run in the frame of the ``for``: as one loop of both.

::

    def rows(x):                        total = 0.0
        for v in x:                     for v in x:
            yield v * v                     y = v * v
                                            total = total + y
    total = 0.0
    for y in rows(x):
        total = total + y

Both are the same instructions, where nobody but the ``for`` has the generator: in the code that is
written here, the generator's stand before the loop, and the body of the loop stands in the place of
each ``yield``. The loop as it was written stays behind them, for whatever else it goes through.
Code of a form that is not known is left as it is.
"""

from __future__ import annotations

import dis
import os
import sys
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from tracegrad.machine.decoding import (
    VERSION,
    WRITTEN,
    Added,
    Handler,
    Instruction,
    Written,
    decode,
    is_jump,
    slot_names,
)
from tracegrad.machine.instruction_table import Refused, maker
from tracegrad.machine.world_protocol import ABSENT

MOST_INSTRUCTIONS = 4_000  # that code may have
MOST_COPIES = 4  # of the body of a loop
APART = "'"  # what is behind it in the name of a slot tells of which generator the variable is

_SUSPENDED = 0x20 | 0x80 | 0x200
_ENDS = frozenset({"RETURN_VALUE", "RETURN_CONST"})
_STOPS = frozenset({*_ENDS, "RERAISE", "RAISE_VARARGS"})
_OF_CELLS = frozenset({"LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF", "LOAD_CLOSURE", "MAKE_CELL"})
_UNKNOWN = frozenset(
    {
        *("SEND", "GET_YIELD_FROM_ITER", "GET_AWAITABLE", "GET_AITER", "GET_ANEXT", "IMPORT_NAME"),
        *("IMPORT_STAR", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF", "LOAD_NAME", "STORE_NAME"),
        *("STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_BUILD_CLASS", "LOAD_LOCALS"),
        "LOAD_SUPER_ATTR",
    }
)
_OF_FRAMES = frozenset(
    {"locals", "globals", "vars", "dir", "eval", "exec", "super", "_getframe", "warn"}
)
"""What asks for the frame that calls it."""


@dataclass(frozen=True, eq=False)
class Origin:
    """Where instructions of a generator come from: its code, its variables, its reader."""

    code: CodeType
    slots: tuple[int, ...]  # where its variables are
    module: int | None  # the slot of its module, where that is not its reader's
    reader: Instruction  # the beginning of the loop

    def moved(self, new: Any) -> Origin:
        """The same where slots have others in their place."""
        module = None if self.module is None else new.slot(self.module)
        return Origin(self.code, tuple(map(new.slot, self.slots)), module, new.plain(self.reader))


class Inlined(Instruction):
    """An instruction of a generator, in the code of who goes through it."""

    of: Origin


class Begins(Added):
    """What puts the variables of a generator, of which nobody knows but the loop, into slots."""

    of: Origin


class Standing(NamedTuple):
    """Where a frame stands in one of the functions that it runs."""

    code: CodeType
    offset: int
    names: dict[str, Any]  # of the module
    slots: Sequence[int]  # where its variables are


def placed(f: Any) -> Iterator[Standing]:
    """Where a frame stands: in a generator that runs in it, then in who goes through that."""
    x = f.program.instructions[f.index]
    x = x.of.reader if type(x) is Begins else x
    while type(x) is Inlined:
        of = x.of
        if of.module is not None:
            names = f.fast[of.module].__dict__
        else:
            names = globals() if is_own(of.code) else f.globals
        yield Standing(of.code, x.offset, names, of.slots)
        x = of.reader
    root = root_of(f.code)
    places = {name: i for i, name in enumerate(slot_names(f.code))}
    yield Standing(root, x.offset, f.globals, [places[name] for name in slot_names(root)])


def place_of(code: CodeType, index: int) -> tuple[CodeType, int]:
    """The code of the user's and the offset that an instruction of a frame's code is of."""
    x = decode(code)[0][index]
    while type(x) is Inlined:
        if not is_own(x.of.code):
            return x.of.code, x.offset
        x = x.of.reader
    return root_of(code), x.offset


@maker("BEGIN_GENERATOR")
def _(t, arg, n):
    of = t.instructions[n - 1].of

    def fits(g, f):
        """Whether it is of the module for which this was written, which is still there."""
        try:
            module = _module_of(g, f)
        except Refused:
            return False
        return (module is None) is (of.module is None) and g.builtins is f.builtins

    def op(f, s):
        g = f.machine.unread(f, s[-1], of.code, fits)
        if g is None:
            return arg
        module = _module_of(g, f)
        s.pop()
        free = len(of.code.co_freevars)
        values = [*g.fast[: len(g.fast) - free], *(g.closure or ())] if free else g.fast
        for slot, value in zip(of.slots, values, strict=True):
            f.fast[slot] = value
        if module is not None:
            f.fast[of.module] = module
        return n

    return op


def is_own(code: CodeType) -> bool:
    """Whether code is the machine's own."""
    return code.co_filename.startswith(_PLACE)


_PLACE = os.path.dirname(__file__) + os.sep


def _module_of(g: Any, f: Any) -> ModuleType | None:
    """The module of a generator, where it is not its reader's; None of the machine's own."""
    if g.globals is f.globals or is_own(g.code):
        return None
    module = sys.modules.get(g.globals.get("__name__"))
    if module is None or module.__dict__ is not g.globals:
        raise Refused("a generator whose names are those of no module")
    return module


@maker("LOAD_GLOBAL_OF_GENERATOR")
def _(t, arg, n):
    instruction = t.instructions[n - 1]
    name, null, after = t.names[arg >> 1], arg & 1, VERSION >= (3, 13)

    def op(f, s):
        if null and not after:
            s.append(ABSENT)
        module = instruction.of.module  # what the machine's own generators name is built in
        names = {} if module is None else f.fast[module].__dict__
        s.append(f.machine.load_global(names, f.builtins, name))
        if null and after:
            s.append(ABSENT)
        return n

    return op


@maker("END_GENERATOR")
def _(t, arg, n):
    """What the generator had is nobody's now: a generator that it went through is closed."""
    slots = t.instructions[n - 1].of.slots

    def op(f, s):
        for slot in slots:
            f.fast[slot] = ABSENT
        return n

    return op


@maker("PUSH_NONE")
def _(t, arg, n):
    def op(f, s):
        s.append(None)
        return n

    return op


# -- what is known of code ------------------------------------------------------------------------


class _Unknown(Exception):
    """Code has a form that is not known."""


_ADDED = {
    **dict.fromkeys(("RETURN_GENERATOR", "PUSH_NONE", "IS_FIRST"), 1),
    **dict.fromkeys(("CALL_BELOW", "CALL_OWN", "ADD_UP"), -1),
    **dict.fromkeys(("ADDED_UP", "END_GENERATOR"), 0),
}
"""How much higher the stack is behind instructions of the machine's own."""


def _effect(x: Instruction, jump: bool) -> int:
    """How much higher the stack is behind an instruction."""
    name, arg, _ = x
    if name == "BEGIN_GENERATOR":
        return 0 if jump else -1
    if name == "FOR_ITER":
        return (0 if _KEEPS else -1) if jump else 1
    if name in _ADDED:
        return _ADDED[name]
    name = "LOAD_GLOBAL" if name == "LOAD_GLOBAL_OF_GENERATOR" else name
    if name not in dis.opmap:
        raise _Unknown
    code = dis.opmap[name]
    try:
        return dis.stack_effect(code, arg if code >= dis.HAVE_ARGUMENT else None, jump=jump)
    except ValueError:
        raise _Unknown from None


_KEEPS = VERSION >= (3, 14)  # a loop that ends leaves its iterator to the next instruction
_POPS = frozenset({"POP_TOP", "POP_ITER"})


def _after_loop(x: Instruction) -> int:
    """Where a loop goes on when its iterator has come to its end."""
    return x.arg + (2 if VERSION == (3, 13) else 1 if VERSION >= (3, 12) else 0)


def _ends_of_loops(instructions: Iterable[Instruction]) -> set[int]:
    """What stands where loops end, which `_after_loop` is told from; since 3.12 it never runs."""
    loops = [x for x in instructions if x.name == "FOR_ITER"]
    return {i for x in loops for i in range(x.arg, _after_loop(x))}


def _depths(
    instructions: Sequence[Instruction], handlers: Sequence[Handler | None]
) -> list[int | None]:
    """How high the stack is before each instruction; None where nothing leads to."""
    found: list[int | None] = [None] * len(instructions)
    waiting = [(0, 0)]
    while waiting:
        i, depth = waiting.pop()
        if found[i] is not None:
            if found[i] != depth:
                raise _Unknown
            continue
        found[i] = depth
        x, handler = instructions[i], handlers[i]
        if handler is not None:
            waiting.append((handler.target, handler.depth + handler.lasti + 1))
        if x.name in _STOPS:
            continue
        if is_jump(x.name):
            target = _after_loop(x) if x.name == "FOR_ITER" else x.arg
            waiting.append((target, depth + _effect(x, True)))
        if not x.name.startswith("JUMP_") or "_IF_" in x.name:
            waiting.append((i + 1, depth + _effect(x, False)))
    return found


_SENDS = (
    *("GET_YIELD_FROM_ITER", "LOAD_CONST", "SEND", "YIELD_VALUE", "RESUME"),
    "JUMP_BACKWARD_NO_INTERRUPT",
)
"""What ``yield from x`` is; behind it stands what becomes of its value."""


def _without_sends(instructions: Sequence[Instruction]) -> list[Instruction]:
    """A generator's instructions with a loop where it has ``yield from x`` and drops its value."""
    found = [*instructions]
    for i in range(len(found) - len(_SENDS)):
        part = instructions[i : i + len(_SENDS)]
        if tuple(x.name for x in part) != _SENDS or _KEEPS:
            continue
        ends = ["POP_TOP"] if VERSION < (3, 12) else ["END_SEND", "POP_TOP"]
        end = part[2].arg
        if [x.name for x in instructions[end : end + len(ends)]] != ends:
            continue
        at, after = part[0].offset, end + len(ends)
        behind = after - _after_loop(Instruction("FOR_ITER", 0, 0))
        found[i : i + len(_SENDS)] = [
            *(Instruction("GET_ITER", 0, at), Instruction("FOR_ITER", behind, at), *part[3:5]),
            *(Instruction("POP_TOP", 0, at), Instruction("JUMP_BACKWARD", i + 1, at)),
        ]
    return found


@dataclass(frozen=True, eq=False)
class _Loop:
    """A loop: where its iterator lies on the stack, its body, and how it is left."""

    head: int
    below: int
    body: tuple[int, ...]
    leaves: frozenset[int]  # instructions that take the iterator from the stack
    depths: Sequence[int | None]


def _loop_at(
    instructions: Sequence[Instruction], handlers: Sequence[Handler | None], reader: Any
) -> _Loop:
    """The loop that a frame begins, whose stack may have held something from the first on."""
    head, found = reader.index, _depths(instructions, handlers)
    more = len(reader.stack) - (found[head] or 0)
    depths = [None if depth is None else depth + more for depth in found]
    depth = depths[head]
    if instructions[head].name != "FOR_ITER" or depth is None:
        raise _Unknown
    if _KEEPS and instructions[_after_loop(instructions[head])].name != "POP_ITER":
        raise _Unknown
    below, body, leaves, waiting = depth - 1, set[int](), set[int](), [head + 1]
    while waiting:
        i = waiting.pop()
        if i == head or i in body:
            continue
        body.add(i)
        x, height = instructions[i], (depths[i] or 0) - below  # with the iterator
        if height < 1:
            raise _Unknown
        if x.name in _POPS and height == 1:
            leaves.add(i)
            continue
        if x.name == "SWAP" and x.arg == height:
            if height != 2 or instructions[i + 1].name not in _POPS:
                raise _Unknown
            leaves.add(i)
            continue
        reaches = x.name in ("COPY", "SWAP") and x.arg >= height
        if reaches or x.name in ("YIELD_VALUE", "SEND"):
            raise _Unknown
        handler = handlers[i]
        if handler is not None and handler.depth > below:
            waiting.append(handler.target)
        if x.name in _STOPS:
            continue
        if is_jump(x.name):
            waiting.append(_after_loop(x) if x.name == "FOR_ITER" else x.arg)
        if not x.name.startswith("JUMP_") or "_IF_" in x.name:
            waiting.append(i + 1)
    body |= _ends_of_loops([instructions[i] for i in body])
    return _Loop(head, below, tuple(sorted(body)), frozenset(leaves), depths)


# -- the code -------------------------------------------------------------------------------------

_LATEST: WeakKeyDictionary[CodeType, CodeType] = WeakKeyDictionary()


def latest(code: CodeType) -> CodeType:
    """The code with the generators in it that its loops have gone through."""
    return _LATEST.get(code, code)


def inline(g: Any, reader: Any) -> bool:
    """Has the loop that a frame begins run a generator in its own frame, from the next call on.

    ``g`` is the generator's frame. False where the loop does not.
    """
    code = reader.code
    try:
        made = _Writer(code, g, reader).written()
    except _Unknown:
        return False
    _LATEST[root_of(code)] = made
    return True


Label = tuple[Any, ...]
_ADDS_TO = {"LIST_APPEND": 1, "SET_ADD": 1, "MAP_ADD": 2}
"""What adds to a container below on the stack: how much it takes from the stack first."""


class _Writer:
    """Writes the code of a function and of a generator that one of its loops goes through."""

    def __init__(self, code: CodeType, g: Any, reader: Any) -> None:
        self.code = code
        self.origins: dict[Origin, Origin] = {}
        self.instructions, self.handlers = decode(code)
        inner, handled = decode(g.code)
        self.inner = _without_sends(inner)
        self.g = g.code
        self.apart = g.globals is not reader.globals
        try:
            module = _module_of(g, reader)
        except Refused:
            raise _Unknown from None
        ends = {inner[h.target][:2] for h in handled if h is not None}
        if not ends <= {("CALL_INTRINSIC_1", 3), ("CLEANUP_THROW", 0)}:
            raise _Unknown
        of_frames = {*code.co_names, *g.code.co_names} & _OF_FRAMES
        names = {x.name for x in self.inner}
        if of_frames or names & _UNKNOWN or code.co_flags & _SUSPENDED:
            raise _Unknown
        if g.builtins is not reader.builtins or (self.apart and "MAKE_FUNCTION" in names):
            raise _Unknown
        self.loop = _loop_at(self.instructions, self.handlers, reader)
        self.depths = _depths(self.inner, [None] * len(self.inner))
        self._name_slots(module is not None)
        self.found: list[tuple[Instruction, Label | None, Handler | None, Any]] = []
        self.labels: dict[Label, int] = {}

    def _name_slots(self, has_module: bool) -> None:
        code, g = self.code, self.g
        number = 1 + max((int(n.partition(APART)[2] or 0) for n in slot_names(code)), default=0)
        new = {name: f"{name}{APART}{number}" for name in slot_names(g)}
        module = [f"module{APART}{number}"] if has_module else []
        inner_cells = [*g.co_cellvars, *g.co_freevars]
        names = [*code.co_varnames, *(new[n] for n in g.co_varnames)]
        self.made = code.replace(
            co_varnames=tuple(names),
            co_nlocals=len(names),
            co_cellvars=(*code.co_cellvars, *(new[n] for n in inner_cells), *module),
            co_consts=(*code.co_consts, object()),  # so it is equal to no other
        )
        index = {name: i for i, name in enumerate(slot_names(self.made))}
        self.moves = [index[name] for name in slot_names(code)]
        slots = tuple(index[new[name]] for name in slot_names(g))
        reader = self.plain(self.instructions[self.loop.head])
        self.of = Origin(g, slots, index[module[0]] if module else None, reader)

    def slot(self, i: int) -> int:
        return self.moves[i]

    def plain(self, x: Instruction) -> Instruction:
        """An instruction of the code as it was, with its slots as they are now; no jump yet."""
        return self._with_slots(x, self.moves)

    def _with_slots(self, x: Instruction, moves: Sequence[int]) -> Instruction:
        name, arg, offset = x
        if ("FAST" in name or name in _OF_CELLS) and len(x.parts) == 1:
            arg = moves[arg]
        if type(x) is Inlined or type(x) is Begins:
            made = type(x)(name, arg, offset)
            if x.of not in self.origins:
                self.origins[x.of] = x.of.moved(self)
            made.of = self.origins[x.of]
            return made
        return type(x)(name, arg, offset)

    def _copied(self, x: Instruction) -> list[Instruction]:
        """An instruction of the code as it was; one that is two may no longer be one."""
        if len(x.parts) == 1:
            return [self.plain(x)]
        return [self.plain(_like(x, name, arg)) for name, arg in x.parts]

    def _inlined(self, name: str, arg: int, offset: int) -> Instruction:
        if "FAST" in name or name in _OF_CELLS:
            arg = self.of.slots[arg]
        made = Inlined(name, arg, offset)
        made.of = self.of
        return made

    def _here(self, label: Label) -> None:
        self.labels[label] = len(self.found)

    def written(self) -> CodeType:
        copies = sum(x.name == "YIELD_VALUE" for x in self.inner)
        size = len(self.instructions) + len(self.inner) + copies * len(self.loop.body)
        if not 0 < copies <= MOST_COPIES or size > MOST_INSTRUCTIONS:
            raise _Unknown
        for i in range(len(self.instructions)):
            if i == self.loop.head:
                self._here(("before",))
                self._generator()
            self._here(("code", i))
            self._as_it_was(i, lambda target: ("code", target), 0, ())
        instructions = [self._to(x, to) for x, to, _, _ in self.found]
        handlers = [self._handler(*row[2:]) for row in self.found]
        root = weakref.ref(root_of(self.code))
        WRITTEN[self.made] = Written(instructions, handlers, root)
        return self.made

    def _to(self, x: Instruction, to: Label | None) -> Instruction:
        return x if to is None else _like(x, x.name, self.labels[to])

    def _handler(self, handler: Handler | None, copied: Any) -> Handler | None:
        if handler is None:
            return None
        copy, more = copied or (("code",), 0)
        if handler.depth <= self.loop.below:  # it is around the loop
            copy, more = ("code",), 0
        target = self.labels[*copy, handler.target]
        return Handler(target, handler.depth + more, handler.lasti)

    def _as_it_was(self, i: int, label: Any, more: int, copy: Label) -> None:
        """An instruction of the code, in its place or in a copy of the loop's body."""
        x = self.instructions[i]
        row = (copy, more) if copy else None
        for part in self._copied(x):
            taken = _ADDS_TO.get(x.name)  # to what lies so far below the top
            height = (self.loop.depths[i] or 0) - self.loop.below
            if copy and taken is not None and x.arg > height - taken:
                part = _like(part, x.name, x.arg + more)
            to = label(x.arg) if is_jump(x.name) else None
            if x.name == "BEGIN_GENERATOR" and x.arg == self.loop.head:
                to = ("before",)  # it may be the other generator
            if copy and to is not None and x.arg == self.loop.head:
                part = _like(part, x.name.replace("BACKWARD", "FORWARD"), 0)
            self.found.append((part, to, self.handlers[i], row))

    def _generator(self) -> None:
        """The generator's instructions, with the body of the loop where it yields."""
        begins = Begins("BEGIN_GENERATOR", 0, self.instructions[self.loop.head].offset)
        begins.of = self.of
        self._add(begins, ("code", self.loop.head))
        end = "code", _after_loop(self.instructions[self.loop.head]) + _KEEPS
        made_by = [x.name for x in self.inner].index("RETURN_GENERATOR")
        ends = _ends_of_loops(self.inner)
        for i, x in enumerate(self.inner):
            self._here(("generator", i))
            depth = self.depths[i]
            if i in ends and depth is None:
                self._of_generator(x)
                continue
            if depth is None or i in (made_by, made_by + 1) or x.name == "COPY_FREE_VARS":
                continue
            if x.name == "YIELD_VALUE":
                self._body(i, depth - 1)
                self._here(("sent", i))
                self._add(Added("PUSH_NONE", 0, x.offset))
            elif x.name in _ENDS:
                for _ in range(depth):
                    self._add(Added("POP_TOP", 0, x.offset))
                self._ends(x.offset)
                self._add(Added("JUMP_FORWARD", 0, x.offset), end)
            else:
                self._of_generator(x)

    def _ends(self, offset: int) -> None:
        """The generator is left."""
        ends = Begins("END_GENERATOR", 0, offset)
        ends.of = self.of
        self._add(ends)

    def _of_generator(self, x: Instruction) -> None:
        for name, arg in x.parts:
            if name == "LOAD_GLOBAL" and self.apart:
                name = "LOAD_GLOBAL_OF_GENERATOR"
            to = ("generator", arg) if is_jump(name) else None
            if type(x) is Inlined or type(x) is Begins:
                raise _Unknown  # the generator's own code is as it was compiled
            self._add(self._inlined(name, arg, x.offset), to)

    def _body(self, at: int, height: int) -> None:
        """A copy of the loop's body, with so much of the generator's on the stack below it."""
        loop, copy = self.loop, ("body", at)

        def label(target: int) -> Label:
            return ("sent", at) if target == loop.head else (*copy, target)

        for place, i in enumerate(loop.body):
            self._here((*copy, i))
            x = self.instructions[i]
            if i in loop.leaves:
                for _ in range(height):
                    if x.name == "SWAP":
                        self._add(Added("SWAP", 2, x.offset))
                    self._add(Added("POP_TOP", 0, x.offset))
                self._ends(x.offset)
                behind = i + 2 if x.name == "SWAP" else i + 1
                self._add(Added("JUMP_FORWARD", 0, x.offset), ("code", behind))
                continue
            self._as_it_was(i, label, height - 1, copy)
            following = loop.body[place + 1] if place + 1 < len(loop.body) else None
            goes_on = x.name not in _STOPS and (not x.name.startswith("JUMP_") or "_IF_" in x.name)
            if goes_on and following != i + 1:
                self._add(Added("JUMP_FORWARD", 0, x.offset), label(i + 1))

    def _add(self, x: Instruction, to: Label | None = None) -> None:
        self.found.append((x, to, self.handlers[self.loop.head], None))


def _like(x: Instruction, name: str, arg: int) -> Instruction:
    made = type(x)(name, arg, x.offset)
    if type(x) is Inlined or type(x) is Begins:
        made.of = x.of  # type: ignore[attr-defined]
    return made


def root_of(code: CodeType) -> CodeType:
    """The code that another one with generators in it was written for."""
    known = WRITTEN.get(code)
    root = None if known is None or known.root is None else known.root()
    return code if root is None else root


# -- what generators raise ------------------------------------------------------------------------

LEFT_TO_C: WeakSet[CodeType] = WeakSet()
"""Functions in which something that `map` calls has raised StopIteration, which ends it."""


def is_of_generator(f: Any) -> bool:
    """Whether what a frame does at its place is a generator's, to its reader."""
    kind = type(f.program.instructions[f.index])
    if f.program.holds_generators:
        return kind is Inlined
    return f.code in WRITTEN and kind is not Added


def raised_by_generator(f: Any, error: BaseException) -> RuntimeError:
    """What a generator that runs in its reader's frame raises in place of a StopIteration.

    What `map` calls may end it so. Then such iterators are left to C code, in another run.
    """
    place, what = next(f.places), "generator raised StopIteration"
    if is_own(place.code):
        frame = f
        while frame is not None:
            LEFT_TO_C.add(root_of(frame.code))
            frame = frame.back
        if f.machine.inlines is not None:
            f.machine.inlines()
        what = "a StopIteration of what map() or filter() calls, as their end, is not interpreted"
    raised = RuntimeError(what)
    raised.__cause__ = raised.__context__ = error
    return raised
