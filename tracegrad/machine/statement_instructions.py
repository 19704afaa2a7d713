"""Instructions of calls, functions, generators, exceptions, `with`, imports and `match`."""

from __future__ import annotations

from types import CellType, CodeType, FunctionType
from typing import Any

from tracegrad.machine import calls, iteration, natives, operators
from tracegrad.machine.attribute_lookup import (
    PLAIN,
    as_value,
    bound,
    call_special,
    load_attribute,
    special,
)
from tracegrad.machine.decoding import VERSION
from tracegrad.machine.instruction_table import RERAISE, RETURN, YIELD, Op, maker
from tracegrad.machine.world_protocol import ABSENT, is_a, subclasses

# -- calls -------------------------------------------------------------------------------------


@maker("KW_NAMES")
def _(t, arg, n):
    t.call_names = t.consts[arg]
    return lambda f, s: n


@maker("CALL")
def _(t, arg, n):
    names, t.call_names = t.call_names, ()
    if names:
        return call_op(arg, names, n)
    call = calls.call

    def op(f, s):
        if arg:
            args = s[-arg:]
            del s[-arg:]
        else:
            args = []
        callee = s.pop()
        first = s.pop()
        if first is not ABSENT:
            if callee is not ABSENT:
                args.insert(0, callee)
            callee = first
        m = f.machine
        if type(callee) is FunctionType:
            s.append(m.call_function(callee, args, NO_KEYWORDS))
        else:
            s.append(call(m, callee, args, NO_KEYWORDS))
        return n

    return op


NO_KEYWORDS: dict[str, Any] = {}


def call_op(arg: int, names: tuple[str, ...], n: int) -> Op:
    """A call with keywords."""
    given = len(names)

    def op(f, s):
        args = s[-arg:]
        del s[-arg:]
        callee = s.pop()
        first = s.pop()
        if first is not ABSENT:
            if callee is not ABSENT:
                args.insert(0, callee)
            callee = first
        kwargs = dict(zip(names, args[-given:]))
        del args[-given:]
        s.append(calls.call(f.machine, callee, args, kwargs))
        return n

    return op


@maker("CALL_KW")
def _(t, arg, n):
    def op(f, s):
        names = s.pop()
        return call_op(arg, names, n)(f, s)

    return op


@maker("CALL_FUNCTION_EX")
def _(t, arg, n):
    flagged = arg & 1
    always = VERSION >= (3, 14)
    after = VERSION >= (3, 13)

    def op(f, s):
        m = f.machine
        kwargs = {}
        if always or flagged:
            x = s.pop()
            if x is not ABSENT:
                if type(x) is not dict:
                    m.native(natives.dict_merge, kwargs, iteration.mapping(m, x), s[-2])
                else:
                    kwargs = x
        args = s.pop()
        if after:
            s.pop()
            callee = s.pop()
        else:
            callee = s.pop()
            s.pop()
        if type(args) is not tuple or args:  # what a tuple holds may come from outside
            collected: list = []
            failed = False
            try:
                m.native(natives.list_extend, collected, iteration.iterable(m, args))
            except TypeError:
                if hasattr(type(args), "__iter__") or hasattr(type(args), "__getitem__"):
                    raise
                failed = True
            if failed:
                raise TypeError(
                    f"{natives.function_text(callee)} argument after * must be an iterable, "
                    f"not {type(args).__name__}"
                )
            args = collected
        s.append(calls.call(m, callee, args, kwargs))
        return n

    return op


@maker("RETURN_VALUE")
def _(t, arg, n):
    def op(f, s):
        f.index = -1
        return RETURN

    return op


@maker("RETURN_CONST")
def _(t, arg, n):
    value = t.consts[arg]

    def op(f, s):
        s.append(value)
        f.index = -1
        return RETURN

    return op


# -- functions and classes ---------------------------------------------------------------------


@maker("MAKE_FUNCTION")
def _(t, arg, n):
    def op(f, s):
        code = s.pop()
        closure = s.pop() if arg & 8 else None
        annotations = s.pop() if arg & 4 else None
        kwdefaults = s.pop() if arg & 2 else None
        defaults = s.pop() if arg & 1 else None
        function = make_function(f, code, closure)
        if defaults is not None:
            function.__defaults__ = defaults
        if kwdefaults is not None:
            function.__kwdefaults__ = kwdefaults
        if annotations is not None:
            if type(annotations) is tuple:
                annotations = dict(zip(annotations[::2], annotations[1::2]))
            function.__annotations__ = annotations
        s.append(function)
        return n

    return op


def make_function(f, code: CodeType, closure: tuple | None) -> FunctionType:
    if closure is None and code.co_freevars:  # set by a later instruction
        closure = tuple(CellType() for _ in code.co_freevars)
    function = FunctionType(code, f.globals, code.co_name, None, closure)
    function.__qualname__ = code.co_qualname
    return function


@maker("SET_FUNCTION_ATTRIBUTE")
def _(t, arg, n):
    def op(f, s):
        function = s.pop()
        value = s.pop()
        if arg == 8:
            old = function
            function = FunctionType(
                old.__code__, old.__globals__, old.__name__, old.__defaults__, value
            )
            function.__qualname__ = old.__qualname__
            function.__kwdefaults__ = old.__kwdefaults__
            if VERSION >= (3, 14) and old.__annotate__ is not None:
                function.__annotate__ = old.__annotate__
            elif old.__annotations__:
                function.__annotations__ = old.__annotations__
        elif arg == 1:
            function.__defaults__ = value
        elif arg == 2:
            function.__kwdefaults__ = value
        elif arg == 4:
            if type(value) is tuple:
                value = dict(zip(value[::2], value[1::2]))
            function.__annotations__ = value
        elif arg == 16:
            function.__annotate__ = value
        s.append(function)
        return n

    return op


@maker("LOAD_BUILD_CLASS")
def _(t, arg, n):
    def op(f, s):
        s.append(f.machine.load_global({}, f.builtins, "__build_class__"))
        return n

    return op


@maker("SETUP_ANNOTATIONS")
def _(t, arg, n):
    def op(f, s):
        m = f.machine
        if not operators.contains(m, f.names, "__annotations__"):
            operators.set_item(m, f.names, "__annotations__", {})
        return n

    return op


# -- generators --------------------------------------------------------------------------------


@maker("RETURN_GENERATOR")
def _(t, arg, n):
    def op(f, s):
        s.append(None)  # what the first next() sends
        return n

    return op


@maker("YIELD_VALUE")
def _(t, arg, n):
    def op(f, s):
        f.index = n
        return YIELD

    return op


@maker("SEND")
def _(t, arg, n):
    # From 3.12 on END_SEND follows the loop and pops the iterator.
    pops = VERSION < (3, 12)

    def op(f, s):
        value = s.pop()
        iterator = s[-1]
        m = f.machine
        try:
            if value is None and type(iterator) is not iteration.GENERATOR:
                method = special(m, iterator, "__next__")
                if method is None:
                    s.append(m.native(next, iterator))
                else:
                    s.append(call_special(m, method, iterator))
            else:
                s.append(m.call(load_attribute(m, iterator, "send"), (value,), {}))
            return n
        except StopIteration as error:
            value = error.value
        if pops:
            s[-1] = value
        else:
            s.append(value)
        return arg

    return op


@maker("END_SEND")
def _(t, arg, n):
    def op(f, s):
        value = s.pop()
        s[-1] = value
        return n

    return op


@maker("CLEANUP_THROW")
def _(t, arg, n):
    def op(f, s):
        error = s[-1]
        if is_a(error, StopIteration):
            del s[-3:]
            s.append(None)
            s.append(error.value)
            return n
        f.error = error
        return RERAISE

    return op


# -- exceptions --------------------------------------------------------------------------------


@maker("PUSH_EXC_INFO")
def _(t, arg, n):
    def op(f, s):
        error = s.pop()
        handled = f.machine.handled
        s.append(handled.value)
        s.append(error)
        handled.value = error
        return n

    return op


@maker("POP_EXCEPT")
def _(t, arg, n):
    def op(f, s):
        f.machine.handled.value = s.pop()
        return n

    return op


@maker("CHECK_EXC_MATCH")
def _(t, arg, n):
    def op(f, s):
        m, kinds = f.machine, s.pop()
        every = kinds if type(kinds) is tuple else (kinds,)
        for kind in every:
            if not (is_a(kind, type) and subclasses(BaseException, kind)):
                raise TypeError(
                    "catching classes that do not inherit from BaseException is not allowed"
                )
        found = m.native(matches, s[-1], kinds)
        if found:
            m.world.catches(s[-1], every)
        s.append(found)
        return n

    return op


def matches(error: BaseException, kinds: Any) -> bool:
    """Whether `except kinds` catches an exception; no `__subclasscheck__` is asked."""
    order = type(error).__mro__
    return any(kind in order for kind in (kinds if type(kinds) is tuple else (kinds,)))


@maker("RERAISE")
def _(t, arg, n):
    def op(f, s):
        f.error = s.pop()
        return RERAISE

    return op


@maker("RAISE_VARARGS")
def _(t, arg, n):
    def op(f, s):
        m = f.machine
        if arg == 0:
            error = m.handled.topmost()
            if error is None:
                raise RuntimeError("No active exception to reraise")
            f.error = error
            return RERAISE
        cause = s.pop() if arg == 2 else ABSENT
        error = as_exception(m, s.pop(), "exceptions must derive from BaseException")
        if cause is not ABSENT:
            if cause is not None:
                text = "exception causes must derive from BaseException"
                cause = as_exception(m, cause, text)
            error.__cause__ = cause
        m.unwound = None
        raise error

    return op


def as_exception(m, x: Any, text: str) -> BaseException:
    """The exception that `raise x` raises."""
    if is_a(x, type) and subclasses(BaseException, x):
        error = m.call(x, (), {})
        if not is_a(error, BaseException):
            raise TypeError(
                f"calling {x!r} should have returned an instance of BaseException, "
                f"not {type(error)!r}"
            )
        return error
    if is_a(x, BaseException):
        return x
    raise TypeError(text)


@maker("LOAD_ASSERTION_ERROR")
def _(t, arg, n):
    def op(f, s):
        s.append(AssertionError)
        return n

    return op


# -- with --------------------------------------------------------------------------------------


def context_method(m, x: Any, name: str, also: str = "") -> tuple[Any, Any]:
    """`__enter__` or `__exit__` of a context manager, in two parts."""
    cls = m.type_of(x)
    found = m.class_attribute(cls, name)
    if found is ABSENT:
        raise TypeError(
            f"'{cls.__name__}' object does not support the context manager protocol{also}"
        )
    return bound(m, found, x, cls)


@maker("BEFORE_WITH")
def _(t, arg, n):
    def op(f, s):
        m = f.machine
        x = s.pop()
        enter, owner = context_method(m, x, "__enter__")
        leave = as_value(*context_method(m, x, "__exit__", " (missed __exit__ method)"))
        s.append(leave)
        s.append(calls.call(m, enter, () if owner is ABSENT else (owner,), {}))
        return n

    return op


@maker("WITH_EXCEPT_START")
def _(t, arg, n):
    late = VERSION >= (3, 14)

    def op(f, s):
        error = s[-1]
        args = (type(error), error, error.__traceback__)
        if late:
            leave, owner = s[-5], s[-4]
            if owner is not ABSENT:
                args = (owner, *args)
        else:
            leave = s[-4]
        s.append(calls.call(f.machine, leave, args, {}))
        return n

    return op


@maker("LOAD_SPECIAL")
def _(t, arg, n):
    name = ("__enter__", "__exit__", "__aenter__", "__aexit__")[arg]
    also = " (missed __exit__ method)" if arg == 1 else ""

    def op(f, s):
        function, owner = context_method(f.machine, s.pop(), name, also)
        s.append(function)
        s.append(owner)
        return n

    return op


# -- imports -----------------------------------------------------------------------------------


@maker("IMPORT_NAME")
def _(t, arg, n):
    name = t.names[arg]

    def op(f, s):
        fromlist = s.pop()
        level = s.pop()
        m = f.machine
        importer = f.builtins.get("__import__")
        if importer is None:
            raise ImportError("__import__ not found")
        if type(importer) is FunctionType:
            s.append(m.call(importer, (name, f.globals, f.names, fromlist, level), {}))
        else:
            s.append(
                m.native(natives.import_name, importer, name, f.globals, f.names, fromlist, level)
            )
        return n

    return op


@maker("IMPORT_FROM")
def _(t, arg, n):
    name = t.names[arg]

    def op(f, s):
        s.append(f.machine.native(natives.import_from, s[-1], name))
        return n

    return op


@maker("IMPORT_STAR")
def _(t, arg, n):
    def op(f, s):
        f.machine.native(natives.import_star, s.pop(), f.names)
        return n

    return op


# -- match -------------------------------------------------------------------------------------


@maker("GET_LEN")
def _(t, arg, n):
    def op(f, s):
        s.append(operators.length(f.machine, s[-1]))
        return n

    return op


@maker("MATCH_MAPPING")
def _(t, arg, n):
    def op(f, s):
        s.append(f.machine.native(natives.is_mapping, s[-1]))
        return n

    return op


@maker("MATCH_SEQUENCE")
def _(t, arg, n):
    def op(f, s):
        s.append(f.machine.native(natives.is_sequence, s[-1]))
        return n

    return op


@maker("MATCH_KEYS")
def _(t, arg, n):
    def op(f, s):
        s.append(f.machine.native(natives.match_keys, s[-2], s[-1]))
        return n

    return op


@maker("MATCH_CLASS")
def _(t, arg, n):
    def op(f, s):
        names = s.pop()
        cls = s.pop()
        s.append(match_class(f.machine, s.pop(), cls, arg, names))
        return n

    return op


def match_class(m, x: Any, cls: type, count: int, names: tuple) -> tuple | None:
    """The values of `case cls(a, b, c=c)`, or None."""
    if not is_a(cls, type):
        raise TypeError("called match pattern must be a class")
    if not m.call(isinstance, (x, cls), {}):
        return None
    if id(type(x)) in PLAIN:
        return m.native(natives.match_class, x, cls, count, names)
    seen: set = set()
    values: list = []
    wanted: tuple = ()
    if count:
        own, itself = None, False
        try:
            own = load_attribute(m, cls, "__match_args__")
        except AttributeError:
            itself = bool(cls.__flags__ & 1 << 22)
            own = None if itself else ()
        wanted = natives.match_arguments(cls, own, itself, count)
        if itself:
            values.append(x)
    for name in (*wanted, *names):
        natives.match_once(cls, name, seen)
        try:
            values.append(load_attribute(m, x, name))
        except AttributeError:
            return None
    return tuple(values)
