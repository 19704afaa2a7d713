"""Frames: arguments bound, the loop that runs instructions, exceptions on their way, generators."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import length_hint
from types import CellType, CodeType, FunctionType, GeneratorType, MethodType
from typing import Any

from tracegrad.machine import attribute_lookup, calls, iteration, recursion_depth, tracebacks
from tracegrad.machine import frame_builtins as frame_builtins  # which enters its rows
from tracegrad.machine.builtin_functions import REPLACED
from tracegrad.machine.calling_builtins import REPLACED_KINDS
from tracegrad.machine.consumed_generators import ALL, ANY, LISTING, Consumer, consumed_by
from tracegrad.machine.decoding import VERSION
from tracegrad.machine.inlined_generators import (
    Standing,
    inline,
    is_of_generator,
    is_own,
    latest,
    placed,
    raised_by_generator,
)
from tracegrad.machine.own_generators import EACH
from tracegrad.machine.translation import (
    VARARGS,
    VARKEYWORDS,
    Program,
    Refused,
    own_code,
    program_of,
    program_or_none,
)
from tracegrad.machine.unread_generators import (
    HANDED,
    HERE,
    frame_of,
    hands_on,
    is_alone,
    is_handed,
)
from tracegrad.machine.world_protocol import ABSENT, World, is_a

RERAISE = -3  # what an instruction returns where `frame.error` goes on its way, as it was


class Handled:
    """What `sys.exception()` says: of a thread, or of a generator on top of it."""

    __slots__ = ("previous", "value")

    def __init__(self, value: BaseException | None = None, previous: Handled | None = None) -> None:
        self.value = value
        self.previous = previous

    def topmost(self) -> BaseException | None:
        """The exception that is being handled."""
        node: Handled | None = self
        while node is not None:
            if node.value is not None:
                return node.value
            node = node.previous
        return None


class Frame:
    """The state of a function that runs: plain data, which may be copied, kept and run on."""

    __slots__ = (
        *("back", "builtins", "closure", "code", "error", "fast", "function", "globals", "index"),
        *("inside", "instead", "local", "machine", "made", "names", "number"),
        *("owner", "program", "stack"),
    )

    def __init__(
        self,
        machine: Machine,
        code: CodeType,
        program: Program,
        function: FunctionType | None,
        names: dict,
        builtins: dict,
        closure: tuple | None,
        fast: list,
    ) -> None:
        self.machine = machine
        self.code = code
        self.program = program
        self.function = function
        self.globals = names
        self.builtins = builtins
        self.closure = closure
        self.names: Any = None  # the names of a class's body
        self.fast = fast
        self.stack: list = []
        self.index = 0
        self.back: Frame | None = None
        self.error: BaseException | None = None
        self.local: dict | None = None  # what locals() returned
        self.instead: Any = ABSENT  # what the caller gets in place of the value returned
        machine.begun_frames += 1
        self.number = machine.begun_frames
        self.made = 0, 0  # of a generator: the number of the frame that made it, and where
        self.owner = 0, 0  # the number of the frame that it was given to, and how that has it
        self.inside = 0  # how many native functions around it go on when it returns

    @property
    def offset(self) -> int:
        """The place of the instruction in the bytes of the code, as `f_lasti`."""
        return self.program.instructions[self.index].offset

    @property
    def places(self) -> Iterator[Standing]:
        """Where it stands, in a generator that runs in it and in its own function."""
        if self.program.holds_generators:
            return placed(self)
        return iter((Standing(self.code, self.offset, self.globals, range(self.program.size)),))

    @property
    def place(self) -> Standing:
        """Where it stands in the innermost function that is not the machine's own, if any."""
        places = [*self.places]
        return next((place for place in places if not is_own(place.code)), places[0])

    @property
    def line(self) -> int:
        """The line of the instruction."""
        code, offset, *_ = self.place
        return tracebacks.line_at(code, offset)

    @property
    def gives_result(self) -> bool:
        """Whether what it returns is the result of the instruction that its caller stands at."""
        back = self.back
        if back is None or back.program.instructions[back.index].name not in CALLERS:
            return False
        return self.inside == back.inside

    def locals(self) -> dict[str, Any]:
        """The local variables that are set, by name."""
        found = {}
        for name, value in zip(self.program.slots, self.fast, strict=True):
            if type(value) is CellType:
                try:
                    value = value.cell_contents
                except ValueError:
                    continue
            if value is not ABSENT:
                found[name] = value
        return found

    def copy(self) -> Frame:
        """The same state in a frame of its own (values and cells are shared)."""
        other = Frame.__new__(Frame)
        for name in Frame.__slots__:
            setattr(other, name, getattr(self, name))
        other.fast, other.stack = self.fast.copy(), self.stack.copy()
        return other


class Elsewhere(BaseException):
    """The machine goes on in a frame further out: ``go()`` gives the place there.

    The frames inside of it are left, and no handler of theirs is told.
    """

    def __init__(self, frame: Frame, go: Callable[[], int]) -> None:
        super().__init__()
        self.frame = frame
        self.go = go


class Machine:
    """Executes functions by their bytecode, on real values, and asks a world."""

    def __init__(self, world: World | None = None) -> None:
        self.world = world = World() if world is None else world
        self.native = world.native
        self.decide = world.decide
        self.opaque = world.opaque
        self.turn = world.turn
        self.watches_c = world.watches_c
        self.type_of = world.type_of
        self.class_attribute = world.class_attribute
        self.own_attribute = world.own_attribute
        self.set_own_attribute = world.set_own_attribute
        self.delete_own_attribute = world.delete_own_attribute
        self.load_global = world.load_global
        self.load_cell = world.load_cell
        self.part = world.part
        self.from_c = world.from_c
        self.to_c = world.to_c
        self.interprets = world.interprets
        self.parts_of = world.parts_of
        self.frame: Frame | None = None
        self.handled = Handled()
        self.unwound: BaseException | None = None
        self.begun_frames = 0
        self.inlines: Callable[[], None] | None = None  # what a loop tells of another generator
        self.runs_again: Callable[[], bool] = bool  # whether the run can be made again
        self.depth = 0
        self.inside = 0  # how many native functions go on when what they have called returns
        self.limit = sys.getrecursionlimit()
        self.runs = 0
        self.given_up = False  # what its generators have still to do is done by another run
        self.thread = 0
        self.ops: dict[CodeType, list[Callable]] = {}  # in place of a program's own
        self.replaced: dict[int, Callable] = REPLACED
        self.replaced_kinds: dict[int, Callable] = REPLACED_KINDS

    @property
    def catches(self) -> bool:
        """Whether a frame that runs has a handler, or a ``with``, around where it is."""
        frame = self.frame
        while frame is not None:
            if frame.program.handlers[frame.index] is not None:
                return True
            frame = frame.back
        return False

    # -- from outside -----------------------------------------------------------------------

    def run(
        self, function: FunctionType, args: Sequence = (), kwargs: Mapping | None = None
    ) -> Any:
        """Executes a function's body; raises Refused where it cannot."""
        program_of(self.parts_of(function)[0])
        return self._outermost(self.call_function, function, args, dict(kwargs or {}))

    def call(self, callee: Any, args: Sequence = (), kwargs: Mapping | None = None) -> Any:
        """`callee(*args, **kwargs)`, of any callee, as the CALL instruction does it."""
        if self.runs:
            return calls.call(self, callee, args, dict(kwargs or {}))
        return self._outermost(calls.call, self, callee, args, dict(kwargs or {}))

    def resume(self, frame: Frame, value: Any = ABSENT) -> Any:
        """Goes on in a frame that was rebuilt, then in those that called it; the last one's value.

        The innermost frame goes on at its `index`, after `value` (if any) was pushed. Its callers
        stand at the instruction that called: the value returned is that instruction's result.
        """
        return self._outermost(self._resume, frame, value)

    def _resume(self, frame: Frame, value: Any) -> Any:
        if value is not ABSENT:
            frame.stack.append(value)
        chain = []
        link: Frame | None = frame
        while link is not None:
            chain.append(link)
            link = link.back
        for caller in chain[1:]:
            called_by(caller)
        return self.finish(chain, None)

    def finish(self, chain: Sequence[Frame], back: Frame | None) -> Any:
        """Runs a frame, then those that called it up to one that runs; the last one's value."""
        value: Any = ABSENT
        error: BaseException | None = None
        for place, frame in enumerate(chain):
            self.frame = chain[place + 1] if place + 1 < len(chain) else back
            if place and error is None:
                frame.stack.append(value)
                frame.index += 1
            try:
                value = run_frame(self, frame, error)
                error = None
                if frame.instead is not ABSENT:
                    value = calls.made(value, frame.instead)
            except Elsewhere:
                raise
            except BaseException as raised:
                error = raised
        self.frame = back
        if error is not None:
            raise error
        return value

    def _outermost(self, what: Callable, *args: Any) -> Any:
        """Runs something from native code: the user's depth is counted, the traceback is told."""
        if self.runs:
            return what(*args)
        self.limit, self.depth = recursion_depth.enter(self)
        self.thread = threading.get_ident()
        self.frame = None
        self.handled = Handled(sys.exc_info()[1])
        self.runs = 1
        try:
            return what(*args)
        except BaseException as error:
            error.__traceback__ = tracebacks.clean(error.__traceback__)
            raise
        finally:
            recursion_depth.leave()
            self.runs = 0
            self.frame = self.unwound = None
            self.handled = Handled()

    # -- what instructions ask --------------------------------------------------------------

    def interpretable(self, function: FunctionType) -> bool:
        """Whether calls of a function are interpreted."""
        return self.interprets(function) and program_or_none(function.__code__) is not None

    def call_function(
        self, function: FunctionType, args: Any, kwargs: Mapping, instead: Any = ABSENT
    ) -> Any:
        """Calls a function of Python: interpreted, or natively where that is refused."""
        replaced = self.replaced.get(id(function))
        if replaced is not None:
            return self.midway(replaced, self, args, kwargs)
        if not self.interprets(function):
            value = self.native(function, *args, **kwargs)
            return value if instead is ABSENT else calls.made(value, instead)
        code, defaults, kwdefaults, closure, names = self.parts_of(function)
        if self.inlines is not None:
            code = latest(code)
        program = program_or_none(code)
        if program is None:
            value = self.native(function, *args, **kwargs)
            return value if instead is ABSENT else calls.made(value, instead)
        size = program.size
        if program.plain and not kwargs and len(args) == program.argcount:
            fast = [*args]
            if size > len(fast):
                fast += [ABSENT] * (size - len(fast))
        else:
            bound = bind(code, program, defaults, kwdefaults, args, kwargs)
            if bound is None:
                return self.native(function, *args, **kwargs)  # raises CPython's own TypeError
            fast = bound
        frame = Frame(self, code, program, function, names, function.__builtins__, closure, fast)
        if program.generator:
            at = self.frame
            if at is not None and at.inside == self.inside:
                frame.made = at.number, at.index
            return named(drive(self, frame), function)
        if instead is ABSENT:
            return run_frame(self, frame)
        frame.instead = instead
        return calls.made(run_frame(self, frame), instead)

    def midway(self, function: Callable, *args: Any) -> Any:
        """Calls a function in native code that goes on when what it calls of the user's returns."""
        self.inside += 1
        try:
            return function(*args)
        finally:
            self.inside -= 1

    def at_last(self, function: Callable, *args: Any) -> Any:
        """Calls a function whose value is what the native code around returns at once."""
        self.inside -= 1
        try:
            return function(*args)
        finally:
            self.inside += 1

    def run_own(self, function: FunctionType, *args: Any) -> Any:
        """Executes a function of the machine's own, for the instruction that the frame is at.

        What it returns is that instruction's result. Each such place has code of its own, since
        loops are known by their code.
        """
        code, at = function.__code__, self.frame
        if at is not None:
            code = own_code(code, at.code, at.index)
        if self.inlines is not None:
            code = latest(code)
        program = program_of(code)
        fast = [*args, *[ABSENT] * (program.size - len(args))]
        names, builtins = function.__globals__, function.__builtins__
        frame = Frame(self, code, program, function, names, builtins, None, fast)
        return self.at_last(run_frame, self, frame)

    def consumed(self, x: Any) -> list[Any]:
        """All that an iterable gives, to one who goes through the whole of it at once."""
        frame = self.consuming(x, LISTING, [])
        return list(iteration.items(self, x)) if frame is None else run_frame(self, frame)

    def answer(self, frame: Frame) -> Any:
        """What a frame returns, which is what the native code around returns at once."""
        return self.at_last(run_frame, self, frame)

    def consuming(self, x: Any, consumer: Consumer, *below: Any, begin: Any = None) -> Frame | None:
        """The frame of a generator expression and of who goes through it; None of other things.

        What the consumer has on the stack, and what its variable is at first, are given.
        """
        frame = _expression_not_begun(self, x)
        code = None if frame is None else consumed_by(frame.code, consumer)
        if code is not None and self.inlines is not None:
            code = latest(code)
        program = None if code is None else program_or_none(code)
        if frame is None or code is None or program is None:
            return None
        iterator, *fast = frame.fast
        if type(x) is GeneratorType and iterator is not x:
            x.close()
        names, builtins, closure = frame.globals, frame.builtins, frame.closure
        fast = [begin, *fast]
        fast += [ABSENT] * (program.size - len(fast))
        own = Frame(self, code, program, frame.function, names, builtins, closure, fast)
        given = frame_of(self, iterator, drive)
        if given is not None and consumer not in (ANY, ALL):  # it goes through all of it
            given.owner = own.number, HERE
        elif self.frame is not None:
            hands_on(self.frame, given, frame.made[1], own.number, HERE)
        own.stack += [*below, iterator]
        return own

    def is_short(self, x: Any, most: int) -> bool:
        """Whether a generator goes through so few things that are known, at most."""
        frame = frame_of(self, x, drive)
        if frame is None or not (
            frame.code.co_name == "<genexpr>" or frame.code.co_filename in tracebacks.HIDDEN
        ):
            return False
        return any(type(x) in iteration.COUNTED and length_hint(x) <= most for x in frame.fast)

    def is_handed_on(self, x: Any) -> bool:
        """Whether a generator is what the frame calls something with, and no more.

        Nobody has it then who could go on with it later.
        """
        frame = frame_of(self, x, drive)
        return frame is not None and self.frame is not None and is_handed(self.frame, frame)

    def generator_of_own(self, function: FunctionType, args: Sequence[Any]) -> Any:
        """The generator of a function of the machine's own, which an instruction is to give."""
        code = function.__code__
        program = program_of(code)
        fast = [*args, *[ABSENT] * (program.size - len(args))]
        names, builtins = function.__globals__, function.__builtins__
        frame, at = Frame(self, code, program, function, names, builtins, None, fast), self.frame
        if at is not None:
            frame.made = at.number, at.index
        return drive(self, frame)

    def begins_loop(self, f: Frame, x: Any) -> None:
        """A loop asks a generator for its first item: it may run in the loop's frame."""
        frame = frame_of(self, x, drive)
        if frame is not None and is_alone(f, x, frame) and inline(frame, f):
            assert self.inlines is not None
            self.inlines()

    def unread(
        self, f: Frame, x: Any, code: CodeType, fits: Callable[[Frame, Frame], bool]
    ) -> Frame | None:
        """The frame of a generator with this code that a loop begins with; it is the loop's now."""
        frame = frame_of(self, x, drive)
        if frame is None or frame.code is not code or not is_alone(f, x, frame):
            return None
        if not fits(frame, f):
            return None
        x.close()
        for held in frame.fast:
            hands_on(f, frame_of(self, held, drive), frame.made[1], f.number, HANDED)
        return frame

    def run_body(self, function: FunctionType, namespace: Any) -> Any:
        """Executes the body of a class."""
        program = program_or_none(function.__code__)
        if program is None:
            return ABSENT
        frame = Frame(
            self,
            function.__code__,
            program,
            function,
            function.__globals__,
            function.__builtins__,
            function.__closure__,
            [ABSENT] * program.size,
        )
        frame.names = namespace
        return run_frame(self, frame)

    def load_attribute(self, x: Any, name: str) -> Any:
        return attribute_lookup.load_attribute(self, x, name)

    def items(self, x: Any) -> Iterator[Any]:
        return iteration.items(self, x)

    def sequence(self, x: Any) -> Any:
        return iteration.sequence(self, x)

    def callback(self, callee: Any, looks: bool = False) -> Any:
        """A callable for C code that interprets; the same object where nothing is interpreted.

        C code that `looks` does so at each result, whoever goes through what it gives.
        """
        if not callable(callee) or not (self.watches_c or self._runs_python(callee)):
            return callee

        def interpreted(*args: Any, **kwargs: Any) -> Any:
            if self.runs and self.thread == threading.get_ident():
                value = self.midway(calls.call, self, callee, *self.from_c(args, kwargs))
                self.to_c(value, looks)
                return value
            return callee(*args, **kwargs)

        return interpreted

    def _runs_python(self, callee: Any) -> bool:
        """Whether a call of an object interprets something."""
        function = callee
        kind = type(callee)
        if kind is MethodType:
            function = callee.__func__
        elif kind is not FunctionType:
            if is_a(callee, type):
                return attribute_lookup.in_python(self, callee, "__init__") is not None
            return attribute_lookup.special(self, callee, "__call__") is not None
        return type(function) is not FunctionType or self.interpretable(function)


def bind(
    code: CodeType,
    program: Program,
    defaults: tuple | None,
    kwdefaults: dict | None,
    args: Sequence,
    kwargs: Mapping,
) -> list | None:
    """The local variables that a call begins with; None where its arguments do not fit."""
    count, named, flags = program.argcount, program.named, program.flags
    slots = program.slots
    given = len(args)
    fast: list[Any] = [ABSENT] * program.size
    place = named
    if given > count:
        if not flags & VARARGS:
            return None
        fast[:count] = args[:count]
        fast[place] = tuple(args[count:])
        place += 1
    else:
        fast[:given] = args
        if flags & VARARGS:
            fast[place] = ()
            place += 1
    if flags & VARKEYWORDS:
        rest: dict | None = {}
        fast[place] = rest
    else:
        rest = None
    for name, value in kwargs.items():
        for index in range(program.positional_only, named):
            if slots[index] == name:
                if fast[index] is not ABSENT:
                    return None
                fast[index] = value
                break
        else:
            if rest is None or not is_a(name, str):
                return None
            rest[name] = value
    if given < count:
        first = count - len(defaults or ())
        for index in range(given, count):
            if fast[index] is ABSENT:
                if index < first:
                    return None
                fast[index] = defaults[index - first]  # type: ignore[index]
    for index in range(count, named):
        if fast[index] is ABSENT:
            if not kwdefaults or slots[index] not in kwdefaults:
                return None
            fast[index] = kwdefaults[slots[index]]
    return fast


def run_frame(m: Machine, f: Frame, error: BaseException | None = None) -> Any:
    """Runs a frame from its index up to its return or yield; `error` is raised there first."""
    back = m.frame
    f.back = back
    f.inside = m.inside
    m.depth += 1
    if m.depth > m.limit:
        m.depth -= 1
        raise RecursionError("maximum recursion depth exceeded")
    m.frame = f
    ops, s, index = m.ops.get(f.code) or f.program.ops, f.stack, f.index
    try:
        if error is not None:
            m.unwound = error
            index = unwind(m, f, error)
            if index < 0:
                raise error
            error = None
        go: Callable[[], int] | None = None
        while True:
            try:
                if go is not None:
                    index = go()
                    go = None
                while index >= 0:
                    f.index = index
                    index = ops[index](f, s)
            except Elsewhere as there:
                if there.frame is not f:
                    raise
                m.frame, go = f, there.go
                continue
            except BaseException as raised:
                error, again, go = raised, False, None
            else:
                if index != RERAISE:
                    return s.pop()
                error, again = f.error, True
            if is_a(error, StopIteration) and is_of_generator(f):
                error, again = raised_by_generator(f, error), False  # type: ignore[arg-type]
            index = unwind(m, f, error, again)
            if index < 0:
                raise error  # type: ignore[misc]
            error = None
    finally:
        error = f.error = f.back = None
        m.frame = back
        m.depth -= 1


def unwind(m: Machine, f: Frame, error: Any, again: bool = False) -> int:
    """Where an exception goes in a frame: the index of its handler, or RERAISE where none is."""
    if not again:
        if error is not m.unwound:
            set_context(error, m.handled.topmost())
        tracebacks.add(f, error)
    handler = f.program.handlers[f.index]
    f.error = None
    if handler is None:
        m.unwound = error
        target = RERAISE
    else:
        m.world.handles(error)
        m.unwound = None
        target = handler.target
        s = f.stack
        del s[handler.depth :]
        if handler.lasti:
            s.append(f.index)
        s.append(error)
    return target


def set_context(error: BaseException, handled: BaseException | None) -> None:
    """Sets `__context__` as raising does it: the exception being handled, and no circle."""
    if handled is None or handled is error:
        return
    link = handled
    slow, step = handled, False
    while (context := link.__context__) is not None:
        if context is error:
            link.__context__ = None
            break
        link = context
        if link is slow:
            break
        if step:
            slow = slow.__context__  # type: ignore[assignment]
        step = not step
    error.__context__ = handled


def step(m: Machine, f: Frame, own: Handled, error: BaseException | None) -> Any:
    """Runs a generator's frame up to its next yield; it handles exceptions of its own."""
    outer = m.handled
    own.previous, m.handled = outer, own
    if error is not None:
        f.index -= 1  # it is raised by the `yield`
        set_context(error, own.value)
    try:
        return run_frame(m, f, error)
    except BaseException as raised:
        raised.__traceback__ = tracebacks.clean(raised.__traceback__)
        raise
    finally:
        m.handled, own.previous = outer, None
        error = None


def drive(m: Machine, f: Frame) -> Iterator[Any]:
    """A generator that runs an interpreted frame: C code may go through it as through any other."""
    own = Handled()
    error: BaseException | None = None
    try:
        while True:
            try:
                if m.runs:
                    value = step(m, f, own, error)
                elif m.given_up:
                    return None
                else:  # it outlives the run that made it
                    value = m._outermost(step, m, f, own, error)
            except StopIteration:
                if f.code.co_filename not in tracebacks.HIDDEN:
                    raise
                return None  # what `map` calls has ended it
            finally:
                error = None
            if f.index < 0:
                return value
            if m.runs:
                m.to_c(value)
            while True:
                thrown = None
                try:
                    sent = yield value
                except BaseException as raised:
                    thrown = raised
                if thrown is None:
                    f.stack.append(sent)
                    break
                thrown.__traceback__ = tracebacks.clean(thrown.__traceback__)
                instruction = f.program.instructions[f.index]
                delegates = instruction.name == "RESUME" and instruction.arg & 3 >= 2
                if delegates and (m.runs or not m.given_up):
                    value, error = throw_on(m, f, thrown)
                else:
                    value, error = ABSENT, thrown
                thrown = None  # what holds its own frame would live for long
                if value is ABSENT:
                    break
    finally:
        if is_a(m.unwound, GeneratorExit):
            m.unwound = None  # whose traceback has the variables
        f.stack.clear()  # a generator that it went through is closed
        f.fast[:] = [ABSENT] * len(f.fast)


def throw_on(m: Machine, f: Frame, thrown: BaseException) -> tuple[Any, BaseException | None]:
    """Throws into the iterator of a `yield from`: the value it yields, or what is raised."""
    inner = f.stack[-1]
    try:
        if is_a(thrown, GeneratorExit):
            close = find(m, inner, "close")
            if close is not ABSENT:
                m.call(close, (), {})
            return ABSENT, thrown
        throw = find(m, inner, "throw")
        if throw is ABSENT:
            return ABSENT, thrown
        return m.call(throw, (thrown,), {}), None
    except BaseException as raised:
        error = raised
    error.__traceback__ = tracebacks.clean(error.__traceback__)
    if VERSION < (3, 12) and is_a(error, StopIteration):
        f.stack.pop()
        f.stack.append(error.value)
        f.index = f.program.instructions[f.index - 2].arg
        return ABSENT, None
    return ABSENT, error


def find(m: Machine, x: Any, name: str) -> Any:
    try:
        return attribute_lookup.load_attribute(m, x, name)
    except AttributeError:
        return ABSENT


def _expression_not_begun(m: Machine, x: Any) -> Frame | None:
    """The frame of a generator expression that nothing has gone through.

    Of another generator it is that of an expression which goes through it.
    """
    frame, at = frame_of(m, x, drive), m.frame
    if frame is None or frame.code.co_name == "<genexpr>" or m.inlines is None or at is None:
        return frame if frame is not None and frame.code.co_name == "<genexpr>" else None
    (code,) = [x for x in EACH.__code__.co_consts if type(x) is CodeType]
    code = own_code(code, at.code, at.index)
    fast = [x, *[ABSENT] * (program_of(code).size - 1)]
    names, builtins = EACH.__globals__, EACH.__builtins__
    made = Frame(m, code, program_of(code), EACH, names, builtins, None, fast)
    made.made = at.number, at.index
    return made


def named(generator: Any, function: FunctionType) -> Any:
    generator.__name__ = function.__name__
    generator.__qualname__ = function.__qualname__
    return generator


# Instructions whose result is what the called function returned, and nothing more.
CALLERS = {
    *("CALL", "CALL_BELOW", "CALL_FUNCTION_EX", "CALL_KW"),
    *("LOAD_ATTR", "BINARY_SUBSCR"),
}


def called_by(frame: Frame) -> None:
    """Refuses to resume a frame that stands inside of more than a call."""
    name = frame.program.instructions[frame.index].name
    if name not in CALLERS:
        raise Refused(f"{frame.code.co_qualname} stands in the middle of {name}")
