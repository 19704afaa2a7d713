"""What the machine promises beside equal results: frames as data, tracebacks, depth, refusals."""

from __future__ import annotations

import pdb
import sys
import threading
import traceback
from io import StringIO

import pytest

from tracegrad.machine import (
    ABSENT,
    Frame,
    Machine,
    Refused,
    World,
    recursion_depth,
    refusal,
    watched,
)
from tracegrad.machine.decoding import decode
from tracegrad.machine.liveness import live
from tracegrad.machine.tracebacks import clean
from tracegrad.machine.translation import translate


def outer(a):
    b = [a, 2]
    try:
        c = inner(a + 1, k=b)
    except ValueError as error:
        return "caught", str(error), b
    return c, b


def inner(x, k):
    total = 0
    for i in range(3):
        total += i * x
        k.append(mark(total))
    return total


def mark(value):
    return value


class Stopped(Exception):
    pass


class Snapshots(World):
    """Copies the chain of frames when `mark` is called for the second time."""

    def __init__(self):
        self.calls = 0
        self.chain = None
        self.machine = None

    def interprets(self, function):
        if function is mark:
            self.calls += 1
            if self.calls == 2:
                self.chain = copied(self.machine.frame)
        return function is not mark


def copied(frame):
    """A frame and its callers, copied; the innermost stands at its call, which is to be redone."""
    copy = frame.copy()
    copy.back = None if frame.back is None else copied(frame.back)
    return copy


def test_a_chain_of_frames_is_rebuilt_and_run_on():
    world = Snapshots()
    world.machine = machine = Machine(world)
    assert machine.run(outer, (1,)) == (6, [1, 2, 0, 2, 6])
    frame = world.chain
    assert [f.code.co_name for f in (frame, frame.back)] == ["inner", "outer"]
    assert frame.line == inner.__code__.co_firstlineno + 4
    items = [1, 2, 0]  # as the list was when `mark` was called
    frame.fast[1] = frame.back.fast[1] = items
    frame.stack[0] = iter(range(2, 3))
    frame.stack[-1] = items
    frame.index += 1  # past the call of `mark`, whose value is given
    assert Machine().resume(frame, 100) == (6, [1, 2, 0, 100, 6])


def test_an_exception_of_a_rebuilt_frame_is_handled_by_its_caller():
    world = Snapshots()
    world.machine = machine = Machine(world)
    machine.run(outer, (1,))
    frame = world.chain
    frame.fast[0] = "text"
    frame.fast[2] = Raises()  # what `total` is
    frame.stack[0] = iter([1])
    frame.index += 1
    assert Machine().resume(frame, 5)[:2] == ("caught", "added")


class Raises:
    def __iadd__(self, other):
        raise ValueError("added")


def test_a_frame_that_stands_inside_of_an_operator_is_not_resumed():
    class Number:
        def __add__(self, other):
            return keep()

    def keep():
        return 3

    def function():
        return Number() + 1

    chain = []

    class Kept(World):
        def interprets(self, f):
            if f is keep:
                chain.append(copied(holder[0].frame))
                return False
            return True

    holder = [Machine(Kept())]
    holder[0].run(function)
    chain[0].index += 1
    with pytest.raises(Refused, match="middle of BINARY_OP"):
        Machine().resume(chain[0], None)


def test_frames_are_plain_data():
    seen = []

    class Watch(World):
        def native(self, operation, /, *operands, **keywords):
            frame = holder[0].frame
            seen.append((frame.code.co_name, frame.line, frame.offset, list(frame.stack)))
            return operation(*operands, **keywords)

    def function(x):
        y = x + 1
        return y * 2

    holder = [Machine(Watch())]
    assert holder[0].run(function, (3,)) == 8
    first = function.__code__.co_firstlineno
    assert [(name, line - first) for name, line, *_ in seen] == [("function", 1), ("function", 2)]
    assert isinstance(holder[0].frame, Frame | None)


# -- tracebacks -------------------------------------------------------------------------------


def failing(x):
    def nested(y):
        return [1 / (z - y) for z in range(3)]

    class Holder:
        value = nested(x)

    return Holder.value


def told(caller):
    try:
        caller()
    except ZeroDivisionError as error:
        tb = clean(error.__traceback__).tb_next.tb_next
        return traceback.format_exception(type(error), error, tb), tb
    raise AssertionError


def test_a_traceback_is_that_of_a_native_run():
    native, _ = told(lambda: failing(1))
    interpreted, _ = told(lambda: Machine().run(failing, (1,)))
    assert "".join(native) == "".join(interpreted)
    assert "nested" in "".join(native) and "Holder" in "".join(native)


def test_a_debugger_sees_the_locals_afterwards():
    _, tb = told(lambda: Machine().run(failing, (1,)))
    out = StringIO()
    debugger = pdb.Pdb(stdin=StringIO("up\n" * 2 + "p x\ndown\nwhere\nq\n"), stdout=out)
    debugger.reset()
    debugger.interaction(None, tb)
    assert "failing(1)" not in out.getvalue() and "class Holder" in out.getvalue()
    names = [entry.tb_frame.f_locals for entry in entries(tb)]
    assert names[0]["x"] == 1 and names[2]["y"] == 1


def entries(tb):
    while tb is not None:
        yield tb
        tb = tb.tb_next


def test_frames_of_a_traceback_stand_at_their_lines():
    _, tb = told(lambda: Machine().run(failing, (1,)))
    for entry in entries(tb):
        assert entry.tb_frame.f_lineno == entry.tb_lineno
        assert entry.tb_frame.f_lasti == entry.tb_lasti
        assert entry.tb_frame.f_back is None


# -- depth ------------------------------------------------------------------------------------


def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)


def test_recursion_is_counted_against_the_limit_of_the_user():
    limit = sys.getrecursionlimit()
    assert Machine().run(deep, (limit - 150,)) == limit - 150
    with pytest.raises(RecursionError, match="maximum recursion depth exceeded"):
        Machine().run(deep, (limit + 10,))
    assert sys.getrecursionlimit() == limit


def test_deep_recursion():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        assert Machine().run(deep, (15_000,)) == 15_000
    finally:
        sys.setrecursionlimit(limit)


def limits():
    sys.setrecursionlimit(5000)
    return sys.getrecursionlimit()


def test_the_limit_that_a_program_sets_is_the_limit():
    limit = sys.getrecursionlimit()
    try:
        assert Machine().run(limits) == 5000 == sys.getrecursionlimit()
    finally:
        sys.setrecursionlimit(limit)


# -- refusals ---------------------------------------------------------------------------------


async def asynchronous():
    return 1


def looks():
    return sys._getframe().f_back


def runs_text():
    return eval("1")


def groups():
    try:
        raise ValueError
    except* ValueError:
        pass


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (asynchronous, "asynchronous is asynchronous"),
        (looks, "looks names 'f_back', which looks at the interpreter's own frames"),
        (runs_text, "runs_text names 'eval', which runs code that is made while it runs"),
        (groups, "groups"),
    ],
)
def test_refused_by_name(function, words):
    assert words in refusal(function.__code__)
    with pytest.raises(Refused):
        translate(function.__code__)
    with pytest.raises(Refused):
        Machine().run(function)


def test_a_frame_that_is_asked_for_shows_its_caller():
    def helper():
        frame = sys._getframe(1)
        return frame.f_code.co_name, frame.f_locals["local"], frame.f_globals["__name__"]

    def function():
        local = 3
        return helper(), local

    assert Machine().run(function) == function()


def test_what_is_refused_runs_natively_where_it_is_called():
    def function():
        return runs_text() + 1

    assert refusal(function.__code__) == ""
    assert Machine().run(function) == 2


def test_a_debugger_is_seen():
    assert watched() == "" or sys.gettrace() is not None
    before = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        assert "debugger" in watched()
    finally:
        sys.settrace(before)


# -- the world --------------------------------------------------------------------------------


class Asked(World):
    def __init__(self):
        self.asked = []

    def native(self, operation, /, *operands, **keywords):
        self.asked.append((operation, operands))
        return operation(*operands, **keywords)

    def own_attribute(self, x, name):
        self.asked.append(("own", name))
        return super().own_attribute(x, name)

    def load_global(self, names, builtins, name):
        self.asked.append(("global", name))
        return super().load_global(names, builtins, name)


def asked(function, *args):
    world = Asked()
    Machine(world).run(function, args)
    return world.asked


class Thing:
    size = 2


def test_what_the_world_is_asked():
    def function(thing, items):
        items.append(thing.size)
        return len(items) > 1 and items[0]

    import operator

    assert asked(function, Thing(), [1]) == [
        ("own", "size"),
        (list.append, ([1, 2], 2)),
        ("global", "len"),
        (len, ([1, 2],)),
        (operator.gt, (2, 1)),
        (operator.getitem, ([1, 2], 0)),
    ]


def test_functions_that_are_not_interpreted_are_native_calls():
    class Some(World):
        def interprets(self, function):
            return function is not mark

        def native(self, operation, /, *operands, **keywords):
            seen.append(operation)
            return operation(*operands, **keywords)

    seen = []

    def function():
        return mark(1)

    assert Machine(Some()).run(function) == 1
    assert seen == [mark]


def test_a_callback_in_another_thread_runs_natively():
    def function():
        results = []
        thread = threading.Thread(target=lambda: results.append(deep(3)))
        thread.start()
        thread.join()
        return results

    assert Machine().run(function) == [3]


def test_a_generator_outlives_the_run_that_made_it():
    class Parent:
        def twice(self, x):
            return repr(x) * 2

    class Child(Parent):
        def each(self):
            for i in range(3):
                yield super().twice([i, sorted([2, 1], key=lambda v: v)])

    def function():
        return Child().each()

    assert list(Machine().run(function)) == list(function())


def test_a_generator_ends_while_the_limit_stays():
    """A collection of garbage ends it wherever memory is taken, and nobody waits for itself."""
    ended = []

    def endless():
        try:
            while True:
                yield len(ended)
        finally:
            ended.append(sys.getrecursionlimit())

    def function():
        return endless()

    def collected():
        with recursion_depth.steady():
            left.close()
            still.append(sys.getrecursionlimit())

    limit = sys.getrecursionlimit()
    left, still = Machine().run(function), []
    next(left)
    thread = threading.Thread(target=collected, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert still == ended == [limit] == [sys.getrecursionlimit()]


def test_absent_reads_well():
    assert repr(ABSENT) == "<absent>"


def test_variables_that_a_turn_sets_before_it_reads_them_are_not_live():
    def turns(given, b, c):
        for a in given:
            b = a + b
        for first, second in given:
            b, c = second, first * b
        return b, c

    instructions, _ = decode(turns.__code__)
    heads = [i for i, step in enumerate(instructions) if step.name == "FOR_ITER"]
    found = [live(turns.__code__)[i] for i in heads]
    names = [{turns.__code__.co_varnames[slot] for slot in slots} for slots in found]
    assert names == [{"given", "b", "c"}, {"b", "c"}]
