"""Program points: where in the user's code the program is, and what that means to the user.

Tracing asks the machine at every operation (`capture_run`). Frames of CPython are looked at for
Tensors outside of any machine alone, where errors and warnings name the user's line (`capture`).
What the point means (`label`: the line, the statement, the user's own name for the value) is worked
out later and once: the instruction's position gives the expression in the parsed source file, and
climbing from there to its statement finds the variable that the value goes to. A value that is
returned goes where the caller puts it, so the climb goes on at the call site.
"""

from __future__ import annotations

import ast
import builtins
import functools
import linecache
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from os.path import basename
from types import CodeType, FrameType
from typing import Any

from codegen.spelling import Subscript
from tracegrad.runtime.thread_state import STATE
from tracegrad.user_code.bytecode import Syntax, enclosing, owner, position, statement, syntax
from tracegrad.user_code.source_positions import Source

__all__ = ["Label", "Path", "Point", "capture", "capture_run", "item_read", "label"]

# Frames of these packages are machinery, never the place that the user wrote.
LIBRARY = frozenset({"tracegrad", "codegen", "numpy"})

Path = tuple[tuple[int, int], ...]
"""Where a value lies in tuples: pairs (index, length) from the outermost in."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Point:
    """A place in the running program: ``(code, instruction offset)`` pairs, innermost frame first.

    The last pair is the traced function's. Two points are equal when they name the same
    instructions of the same source, also across copies of a code object.

    ```python
    >>> point = Point((((lambda x: -x).__code__, 4),))
    >>> point == Point(point.chain), len({point, Point(point.chain)})
    (True, 1)

    ```
    """

    chain: tuple[tuple[CodeType, int], ...]
    _content: tuple[tuple[str, bytes, int], ...] = field(init=False)
    _hash: int = field(init=False)

    def __post_init__(self) -> None:
        # Code objects compare without their file and (before 3.13) their columns.
        content = tuple((code.co_filename, code.co_linetable, at) for code, at in self.chain)
        object.__setattr__(self, "_content", content)
        object.__setattr__(self, "_hash", hash(content))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Point):
            return NotImplemented
        return self._content == other._content and self.chain == other.chain

    def __repr__(self) -> str:
        steps = " < ".join(f"{code.co_name}:{_line(code, at)}+{at}" for code, at in self.chain)
        return f"Point({steps})"


@dataclass(frozen=True)
class Label:
    """What a program point means to the user.

    ``name`` is the variable that receives the value computed there, None where there is none;
    ``final`` says that the variable (or, for a traced function's ``return``, the result) is this
    value itself, and not computed from it. ``line`` is the first line of the statement in ``file``
    and ``text`` the statement on one line, empty where there is no source. ``returned`` says that
    the value goes into what the traced function returns.
    """

    name: str | None
    final: bool
    file: str
    line: int
    text: str
    returned: bool = False


# ---------------------------------------------------------------------------------- capturing

# Whether a code object is the user's, by id(); an entry goes when its code object does.
_is_users: dict[int, bool] = {}
# The points that were met, by (id(code), offset, id(code), offset, ...). A point keeps its code
# objects alive, so these ids stay theirs while the entry is here.
_captured: dict[tuple[int, ...], Point] = {}
_CAPTURED_LIMIT = 1 << 16


def capture() -> Point:
    """Return where the user's code is: the innermost frame that is the user's.

    Where a machine executes the user's functions that is a frame of the machine, else one of
    CPython's. Frames of tracegrad, codegen and NumPy are left out.

    ```python
    >>> def computing():
    ...     return capture()
    >>> [code.co_name for code, offset in computing().chain]
    ['computing']

    ```
    """
    executed = _executed()
    if executed is not None:
        return capture_run(None)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if _is_of_user(frame.f_code, frame.f_globals):
            return _known([(frame.f_code, owner(frame.f_code, frame.f_lasti))])
        frame = frame.f_back
    return _known([])


def capture_run(stop: CodeType | None) -> Point:
    """Return the point of the frames that a machine executes, out to the one that runs ``stop``.

    Where that is None, the innermost frame of the user's alone.
    """
    # This runs at every traced operation.
    chain: list[tuple[CodeType, int]] = []
    frame = _executed()
    while frame is not None:
        for code, offset, names, _ in frame.places:
            if code is stop or _is_of_user(code, names):
                chain.append((code, offset))
                if code is stop or stop is None:
                    return _known(chain)
        frame = frame.back
    return _known(chain)


def _executed() -> Any:
    """The innermost frame that a machine executes, None where none does."""
    return None if STATE.machine is None else STATE.machine.frame


def _known(chain: list[tuple[CodeType, int]]) -> Point:
    """The point of a chain, made once."""
    key = tuple([number for code, offset in chain for number in (id(code), offset)])
    point = _captured.get(key)
    if point is None:
        if len(_captured) >= _CAPTURED_LIMIT:  # a program that makes code for ever
            _captured.clear()
        point = _captured[key] = Point(tuple(chain))
    return point


def _is_of_user(code: CodeType, names: dict[str, Any]) -> bool:
    """Whether a code object is the user's, by the module that it runs in."""
    users = _is_users.get(id(code))
    return _learn(code, names) if users is None else users


def _learn(code: CodeType, names: dict[str, Any]) -> bool:
    """Decide whether a code object is the user's, once."""
    module = names.get("__name__")
    library = isinstance(module, str) and module.partition(".")[0] in LIBRARY
    users = not (library or code.co_filename.startswith("<tracegrad "))  # nor generated source
    _is_users[id(code)] = users
    weakref.finalize(code, _is_users.pop, id(code), None).atexit = False
    if users:  # lets linecache ask the loader later, for sources that are not files
        linecache.lazycache(code.co_filename, names)
    return users


# ----------------------------------------------------------------------------------- labelling


@functools.lru_cache(maxsize=_CAPTURED_LIMIT)
def label(point: Point, item: int | None = None, path: Path = ()) -> Label:
    """Return what ``point`` means to the user; never raises.

    ``item`` is the number of an item that is read there: of those that ``a, b = x`` reads at one
    point, each has its own name. ``path`` is where what is read there lies in what a loop gets, as
    ``for i, (a, b) in enumerate(zip(x, y))`` reads several at one point too.

    ```python
    >>> point = Point(((compile("y = -x", "<no source>", "exec"), 0),))
    >>> label(point).file, label(point).name, label(point).text
    ('<no source>', None, '')

    ```
    """
    if not point.chain:
        return Label(None, False, "", 0, "")
    code, offset = point.chain[0]
    file, line, text = code.co_filename, _line(code, offset), ""
    try:
        site = syntax(code, offset)
        if site is None:
            return Label(None, False, file, line, text)
        line, text = statement(site, line)
        if item is not None and site.operation in _UNPACKING:
            name, final = _stored_item(site.node, item)
            returned = False
        elif path and site.operation in _ITERATION:
            target, _ = _loop_target(site.source, site.node)
            name, final = _stored(target, path, True)
            returned = False
        else:
            name, final, returned = _receiver(point, site)
    except Exception:  # a label is a comment: it must not be what breaks a program
        name, final, returned = None, False, False
    return Label(name, final, file, line, text, returned)


def at_line(more: str = "") -> str:
    """The user's line as the last one of a message, and what to write there."""
    return line_of(capture(), more)


def line_of(point: Point, more: str = "") -> str:
    """The line of a point as the last one of a message, and what to write there."""
    where = label(point)
    return f"\n  at {where.file}:{where.line}  {where.text}{more}" if where.line else more


def line_of_function(function: Any) -> str:
    """The line where a function of the user's is defined, as the last one of a message.

    The line that is running, of a function that is not written in Python.
    """
    while not hasattr(function, "__code__"):
        inner = getattr(function, "__wrapped__", None) or getattr(function, "func", None)
        if inner is None:
            return at_line()
        function = inner
    file, line = function.__code__.co_filename, function.__code__.co_firstlineno
    while (text := linecache.getline(file, line).strip()).startswith("@"):
        line += 1
    return f"\n  at {file}:{line}  {text}".rstrip()


def item_read(attributes: Mapping[str, Any]) -> int | None:
    """The number of the item that an op with these attributes reads, None where it reads others."""
    match attributes.get("index"):
        case Subscript(items=(int(item),)):
            return item
    return None


def _line(code: CodeType, offset: int) -> int:
    where = position(code, offset)
    return code.co_firstlineno if where is None else where[0]


def loop_around(point: Point) -> str | None:
    """Return the innermost loop around a point, as ``file:line  header``."""
    for code, offset in point.chain:
        site = syntax(code, offset)
        if site is None:
            continue
        inner, node = None, site.node
        if site.operation in _ITERATION and not isinstance(node, _LOOPS):
            node = site.source.parents[node]  # of what is iterated
        while not isinstance(node, _SCOPES):
            if isinstance(node, _LOOPS) and (inner is None or inner is not _iterated(node)):
                line, text = statement(Syntax(site.source, node, ""), node.lineno)
                return f"{basename(code.co_filename)}:{line}  {text}"
            inner, node = node, site.source.parents[node]
    return None


def _iterated(loop: ast.AST) -> ast.AST | None:
    """What a loop goes over, which is computed before it."""
    first = loop.generators[0] if hasattr(loop, "generators") else loop
    return getattr(first, "iter", None)


def holding_variable(x: object) -> str | None:
    """Return the variable of the innermost executed frame of the user's that holds this object."""
    return next(_variables(_executed_frames(), lambda value: value is x), None)


def variables(test: Callable[[object], bool]) -> Iterator[str | None]:
    """Give for each user frame, from the innermost out, a local variable that passes the test."""
    return _variables(_native_frames() if _executed() is None else _executed_frames(), test)


_Frame = tuple[CodeType, dict[str, Any], Callable[[], dict[str, Any]]]
"""Code, globals, and what gives the locals."""


def _variables(frames: Iterator[_Frame], test: Callable[[object], bool]) -> Iterator[str | None]:
    for code, names, local in frames:
        if _is_of_user(code, names):
            held = (name for name, value in local().items() if test(value))
            yield next((name for name in held if name.strip("_.")[:1].isalpha()), None)


def _executed_frames() -> Iterator[_Frame]:
    frame = _executed()
    while frame is not None:
        yield frame.code, frame.globals, frame.locals
        frame = frame.back


def _native_frames() -> Iterator[_Frame]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame.f_code, frame.f_globals, partial(getattr, frame, "f_locals")
        frame = frame.f_back


def constant_index() -> int | None:
    """Return i where the user's code that a machine executes is at ``x.attribute[i]``, else None.

    Asking a shape for one length is then a look at that length alone.
    """
    return _constant_index(capture_run(None))


@functools.lru_cache(maxsize=_CAPTURED_LIMIT)
def _constant_index(point: Point) -> int | None:
    site = syntax(*point.chain[0]) if point.chain else None
    if site is None or not isinstance(site.node, ast.Attribute):
        return None
    match site.source.parents.get(site.node):
        case ast.Subscript(value=value, slice=ast.Constant(value=int(index))) if value is site.node:
            return index
        case ast.Subscript(
            value=value, slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(index)))
        ) if value is site.node:
            return -index
    return None


# ------------------------------------------------------------------ which variable gets the value

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Module)
_LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
_ITERATION = frozenset({"GET_ITER", "FOR_ITER", "GET_AITER", "GET_ANEXT"})
_UNPACKING = frozenset({"UNPACK_SEQUENCE", "UNPACK_EX"})
_LOOKS = frozenset({"TO_BOOL", "UNARY_NOT"})  # and the jumps: their outcome is no value
_BUILTINS = frozenset(vars(builtins))


@dataclass(frozen=True)
class _Value:
    """What a climb knows about the value that it carries.

    ``final`` says that the value is still the one asked for, ``path`` where it lies in the tuples
    that were written out around it. ``returned_by`` is the function that has just handed it to its
    caller.
    """

    final: bool = True
    path: Path = ()
    returned_by: ast.AST | None = None


def _receiver(point: Point, site: Syntax | None) -> tuple[str | None, bool, bool]:
    """Follow the value of a point to the variable that receives it, through the callers.

    What goes to no variable, but into a call of a function of the same file, has the name of its
    parameter. The last of the three says that the traced function returns it, or what it goes into.
    """
    at, value = 0, _Value()
    parameter = _parameter(site)
    while site is not None:
        if not _is_call_of(site, value.returned_by):  # map(step, xs) is not what step returned
            value = _Value(final=False)
        found = _climb(site, value)
        if not isinstance(found, _Value):
            return found[0] or parameter, found[1] and found[0] is not None, False
        value = found
        frame = _frame_of(point, at, value.returned_by)
        if frame is None:
            break
        at = frame + 1
        if at == len(point.chain):
            return parameter, value.final and not value.path and parameter is None, True
        site = syntax(*point.chain[at])
    return parameter, False, False


def _parameter(site: Syntax | None) -> str | None:
    """Name the parameter that an expression is handed to, of a function of the same file."""
    if site is None or site.operation in _ITERATION:
        return None
    node = site.node
    while isinstance(node, ast.expr):
        parent = site.source.parents[node]
        match parent:
            case ast.Call(func=ast.Name(id=name), args=args) if node in args and not _has_star(
                args
            ):
                functions = site.source.file.definitions.get(name, [])
                if len(functions) != 1:
                    return None
                parameters = [*functions[0].args.posonlyargs, *functions[0].args.args]
                index = args.index(node)
                return parameters[index].arg if index < len(parameters) else None
        node = parent
    return None


def _climb(site: Syntax, value: _Value) -> tuple[str | None, bool] | _Value:
    """Climb from an expression to what takes its value: a variable, a return, or nothing."""
    source, node = site.source, site.node
    final, path = value.final, value.path
    if "JUMP" in site.operation or site.operation in _LOOKS:
        return None, False
    if site.operation in _ITERATION:
        target, into = _loop_target(source, node)
        return _stored(target, into + path, final)
    if isinstance(getattr(node, "ctx", None), ast.Store):  # y[0] = v, or the y[0] of y[0] += v
        name = _variable(node)
        return name, name is not None and site.operation.startswith("STORE_")
    if isinstance(node, ast.AugAssign) and site.operation == "BINARY_OP":
        return _variable(node.target), final
    while isinstance(node, ast.expr | ast.keyword | ast.comprehension | ast.withitem):
        parent = source.parents[node]
        match parent:
            case ast.NamedExpr():
                return _stored(parent.target, path, final)
            case ast.Assign() if node is parent.value:
                return _stored(parent.targets[0], path, final)
            case ast.AnnAssign() if node is parent.value:
                return _stored(parent.target, path, final)
            case ast.Assign():  # an index in a target
                return _variable(node), False
            case ast.AugAssign():
                return _variable(parent.target), False
            case ast.Lambda() if node is parent.body:
                return _Value(final, path, parent)
            case ast.Return() | ast.Yield():
                return _Value(final, path, enclosing(source, parent, _SCOPES))
            case ast.Tuple(elts=parts) | ast.List(elts=parts) if not _has_star(parts):
                index = next(i for i, part in enumerate(parts) if part is node)
                path = ((index, len(parts)), *path)
            case ast.BoolOp() | ast.Await():
                pass
            case ast.IfExp() if node is not parent.test:
                pass
            case _:
                final, path = False, ()
        node = parent
    return None, False


def _stored_item(target: ast.AST, item: int) -> tuple[str | None, bool]:
    """Say who gets an item of what ``a, b = x`` unpacks, as far as a star does not take it."""
    assert isinstance(target, ast.Tuple | ast.List)
    if _has_star(target.elts[: item + 1]):
        return None, False
    return _stored(target.elts[item], (), True)


def _stored(target: ast.expr | None, path: Path, final: bool) -> tuple[str | None, bool]:
    """Say who gets the value at ``path`` of what is assigned to ``target``."""
    for index, length in path:
        if not isinstance(target, ast.Tuple | ast.List):  # h = [x, y]: an inner value of h
            final = False
            break
        target = _part(target.elts, index, length)
    name = _variable(target)
    return name, final and name is not None and isinstance(target, ast.Name | ast.Attribute)


def _variable(target: ast.AST | None) -> str | None:
    """Return the name in a target: ``W`` of ``self.W``, ``y`` of ``y[0]``."""
    match target:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return None if name == "_" else name
        case ast.Subscript(value=base) | ast.Starred(value=base):
            return _variable(base)
    return None


def _has_star(parts: list[ast.expr]) -> bool:
    return any(isinstance(part, ast.Starred) for part in parts)


def _part(targets: list[ast.expr], index: int, length: int) -> ast.expr | None:
    """Return which of ``targets`` takes the value at ``index`` of ``length``."""
    stars = [place for place, part in enumerate(targets) if isinstance(part, ast.Starred)]
    if not stars:
        return targets[index] if len(targets) == length else None
    after = len(targets) - stars[0] - 1
    if index >= length - after:
        return targets[index - length]
    return targets[min(index, stars[0])]


def _loop_target(source: Source, node: ast.AST) -> tuple[ast.expr | None, Path]:
    """Return what a loop stores an item in, and where in the item the iterated value lies.

    ``node`` is what the iteration is positioned at.
    """
    # From 3.13 that is the iterated expression, before it was the whole loop.
    loop = node if isinstance(node, ast.For | ast.AsyncFor) else source.parents.get(node)
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        loop = node.generators[0] if len(node.generators) == 1 else None
    match loop:
        case ast.For() | ast.AsyncFor() | ast.comprehension():
            match loop.iter:
                case ast.Call(func=ast.Name(id="enumerate")):
                    return loop.target, ((1, 2),)
            return loop.target, ()
    return None, ()


def _is_call_of(site: Syntax, function: ast.AST | None) -> bool:
    """Say whether the value at a call site is what ``function`` returned there, as it is."""
    call = site.node
    if function is None or not isinstance(call, ast.Call) or site.operation in _ITERATION:
        return True
    name = getattr(function, "name", None)
    if isinstance(call.func, ast.Name) and call.func.id in _BUILTINS and call.func.id != name:
        return False
    for argument in (*call.args, *call.keywords):  # handed over: the callee is someone else
        for node in ast.walk(argument):
            if node is function:
                return False
            if name is not None and _variable(node) == name:
                parent = site.source.parents[node]
                if not (isinstance(parent, ast.Call) and parent.func is node):
                    return False
    return True


def _frame_of(point: Point, at: int, function: ast.AST | None) -> int | None:
    """Return which frame of the point, from ``at`` outwards, runs the body of ``function``."""
    for index in range(at, len(point.chain)):
        code, offset = point.chain[index]
        if code.co_name not in _COMPREHENSIONS:
            site = syntax(code, offset)
            if site is not None and enclosing(site.source, site.node, _SCOPES) is function:
                return index
    return None
