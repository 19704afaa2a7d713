"""The place where a number was read enters; where the number goes on from there leaves.

It is followed through the syntax of the functions that were running: through expressions and
variables, to what they return, and so on at the place where each was called. A comparison, an
index, a count, a text and a statement whose value nobody takes end the way: the number decides, or
is shown. What a call of an unknown function gives is taken to be made of its arguments. The order
of statements is not minded, so a variable that has such a number anywhere has it everywhere.
"""

from __future__ import annotations

import ast
import functools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import CodeType

from tracegrad.bytecode import Syntax, syntax
from tracegrad.points import Point

NONE, TEXT, WHOLE, NUMBER = range(4)
"""What an expression has of a number that was read: nothing, its text, its whole part, itself."""

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
DECIDES = frozenset(
    {"all", "any", "allclose", "argmax", "argmin", "argsort", "bisect", "bisect_left"}
    | {"bisect_right", "bool", "callable", "count", "detach", "digitize", "hash", "id", "index"}
    | {"is_integer", "isclose", "isfinite", "isinf", "isinstance", "isnan", "item", "len", "print"}
    | {"range", "searchsorted", "signbit", "startswith", "stop_gradient", "type"}
)
"""Functions and methods whose results have no slope, or which say that a constant is meant."""
WHOLES = frozenset({"int", "floor", "ceil", "trunc", "rint", "floor_divide"})
TEXTS = frozenset({"str", "repr", "format", "ascii", "array2string", "array_repr", "array_str"})
READS_TEXT = frozenset(
    {"Decimal", "Fraction", "array", "asarray", "complex", "eval", "float", "float32", "float64"}
    | {"fromhex", "fromstring", "literal_eval", "loads", "unpack"}
)
PUTS = frozenset({"add", "append", "appendleft", "extend", "extendleft", "insert", "put"})
PUTS |= {"setdefault", "update"}
"""Methods that put their arguments into what they are called on."""
PUTS_INTO_FIRST = frozenset({"heappush", "heapreplace", "heappushpop", "insort", "setattr"})
DEEP = 3
"""So many calls deep are functions of the same file followed into."""
ASKS = frozenset({"shape", "ndim", "size", "dtype", "__class__", "__name__"})

_STANDARD = os.path.join(os.path.dirname(os.__file__), "")
_INSTALLED = tuple(f"{os.sep}{name}-packages{os.sep}" for name in ("site", "dist"))


@dataclass(frozen=True, eq=False)
class Flow:
    """Where a number goes from a place.

    ``returned`` says how much of it comes back from the outermost function, ``kept`` that it also
    goes where syntax does not follow (an attribute, a list of the caller's), ``known`` that there
    was a source to tell. ``scopes`` are the functions on its way, by their syntax.
    """

    returned: int
    kept: bool
    known: bool
    scopes: dict[ast.AST, _Scope]

    @property
    def ends(self) -> bool:
        """Whether nothing of the number can come back."""
        return self.known and not self.kept and not self.returned


@functools.lru_cache(maxsize=1 << 12)
def flow(point: Point, level: int, main: bool = False) -> Flow:
    """Follow a number that stands at a place in the innermost frame of a point.

    `main` says that only the first of the two values that the outermost function returns counts.
    """
    scopes: dict[ast.AST, _Scope] = {}
    frames = own_frames(point)
    opaque = not frames or frames[0] != point.chain[0]
    for i, (code, offset) in enumerate(frames):
        site = syntax(code, offset)
        if site is None or not site.operation:
            return Flow(level, True, False, {})
        root = _root(site)
        scope = scopes.get(root)
        if scope is None:
            scope = scopes[root] = _Scope(root, site)
        if i == 0 and isinstance(site.node, ast.Call):
            level = _given(_name(site.node.func), level, opaque)
        last = i == len(frames) - 1
        scope.receive(site.node, level, main and last)
        comprehension = _comprehension(code, site)
        level = scope.level(comprehension) if comprehension is not None else scope.returned
    return Flow(level, any(scope.kept for scope in scopes.values()), bool(frames), scopes)


def own_frames(point: Point) -> tuple[tuple[CodeType, int], ...]:
    """The frames of a point that are of the user's own files, or of the outermost one's folder."""
    own = os.path.join(os.path.dirname(point.chain[-1][0].co_filename), "")
    return tuple(
        (code, offset)
        for code, offset in point.chain
        if code.co_filename.startswith(own) or not _of_others(code.co_filename)
    )


def _of_others(file: str) -> bool:
    """Whether a file is Python's own, or was installed."""
    return file.startswith(_STANDARD) or any(part in file for part in _INSTALLED)


def enters(point: Point, operand: int | None, count: int, flows: Flow) -> bool:
    """Whether a number goes into an operand of the op that stands at a point.

    ``operand`` is which of `count` it is, None for an attribute.
    """
    given: dict[str, int] = {}
    frames = own_frames(point)
    for i in reversed(range(len(frames))):
        site = syntax(*frames[i])
        if site is None or not site.operation:
            return False
        root = _root(site)
        scope = flows.scopes.get(root)
        given = {**_around(root, site, flows), **given}
        if given or scope is None:
            scope = _Scope(root, site) if scope is None else scope.copy()
            scope.paths.update(given)
            scope.solve()
        if i == 0:
            direct = frames[0] == point.chain[0]
            return scope.operand(site, operand if direct else None, count) == NUMBER
        given = scope.parameters(site, frames[i - 1][0])
    return False


def _around(root: ast.AST, site: Syntax, flows: Flow) -> dict[str, int]:
    """What the variables have that a function has from the functions around it."""
    found: dict[str, int] = {}
    node: ast.AST | None = site.source.parents.get(root)
    while node is not None:
        if node in flows.scopes:
            found = {**flows.scopes[node].paths, **found}
        node = site.source.parents.get(node)
    return found


def _given(name: str, level: int, opaque: bool) -> int:
    """What a call gives that itself read the number."""
    if name in DECIDES:
        return NONE
    if name in WHOLES:
        return min(level, WHOLE)
    return level if opaque or level != TEXT or name not in READS_TEXT else NUMBER


def _comprehension(code: CodeType, site: Syntax) -> ast.expr | None:
    """The comprehension that a frame is of; it belongs to the function around it."""
    if code.co_name[:1] != "<" or code.co_name in ("<lambda>", "<module>"):
        return None
    node: ast.AST | None = site.node
    while node is not None and not isinstance(node, (*SCOPES, *COMPREHENSIONS)):
        node = site.source.parents.get(node)
    return node if isinstance(node, COMPREHENSIONS) else None


def _root(site: Syntax) -> ast.AST:
    """The function that a site is in, else the outermost node that there is."""
    node: ast.AST = site.node
    while not isinstance(node, SCOPES) and node in site.source.parents:
        node = site.source.parents[node]
    return node


def called_name(call: ast.Call) -> str:
    """The last part of the name of what is called."""
    return _name(call.func)


def _name(function: ast.expr) -> str:
    return getattr(function, "attr", getattr(function, "id", ""))


def _path(node: ast.AST) -> str | None:
    """``self.history`` as text; None for what is no such path."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = _path(node.value)
        return None if base is None else f"{base}.{node.attr}"
    return None


class _Scope:
    """One function: which of its expressions and variables have the number."""

    def __init__(self, root: ast.AST, site: Syntax, depth: int = 0) -> None:
        self.root = root
        self.depth = depth  # of helpers that are followed into
        self.site = site
        self.paths: dict[str, int] = {}
        self.places: dict[ast.AST, int] = {}
        self.returned = NONE
        self.kept = False
        self.main = False
        self._nodes = tuple(_owned(root))
        self._own, self._outer = _variables(root)

    def copy(self) -> _Scope:
        """Another one that knows as much."""
        other = object.__new__(_Scope)
        other.__dict__.update(self.__dict__, paths=dict(self.paths), places=dict(self.places))
        return other

    def receive(self, node: ast.AST, level: int, main: bool) -> None:
        """The number stands at a node."""
        self.main = main
        self.places[node] = max(level, self.places.get(node, NONE))
        if isinstance(getattr(node, "ctx", None), ast.Store):
            self._bind(node, level)
        if isinstance(node, ast.AugAssign):
            self._bind(node.target, level)
        self.solve()

    def solve(self) -> None:
        """Follows the number through the statements, until nothing more has it."""
        before = None
        while before != (self.paths, self.returned):
            before = dict(self.paths), self.returned
            for node, owner in self._nodes:
                self._step(node, owner)
        if isinstance(self.root, ast.Lambda):
            self.returned = self._returned(self.root.body)

    def _step(self, node: ast.AST, owner: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, value)
            case ast.AugAssign(target=target, value=value):
                self._bind(target, self.level(value))
            case ast.NamedExpr(target=target, value=value):
                self._assign(target, value)
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                self._iterate(node.target, node.iter)
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                self._assign(target, value)
            case ast.Return(value=ast.expr() as value) | ast.Yield(value=ast.expr() as value):
                self._leave(value, owner)
            case ast.YieldFrom(value=value):
                self._leave(value, owner)
            case ast.Call(func=ast.Attribute(value=base, attr=name)) if name in PUTS:
                self._put(base, self._arguments(node))
            case ast.Call(func=function, args=[first, *_]) if _name(function) in PUTS_INTO_FIRST:
                self._put(first, self._arguments(node))

    def _leave(self, value: ast.expr, owner: ast.AST) -> None:
        if owner is self.root:
            self.returned = max(self.returned, self._returned(value))
        elif isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef):
            self._take(owner.name, self.level(value))

    def _returned(self, value: ast.expr) -> int:
        if self.main and isinstance(value, ast.Tuple) and len(value.elts) == 2:
            value = value.elts[0]
        return self.level(value)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        tuples = ast.Tuple | ast.List
        if isinstance(target, tuples) and isinstance(value, tuples):
            starred = any(isinstance(e, ast.Starred) for e in (*target.elts, *value.elts))
            if not starred and len(target.elts) == len(value.elts):
                for part, given in zip(target.elts, value.elts, strict=True):
                    self._assign(part, given)
                return
        self._bind(target, self.level(value))

    def _iterate(self, target: ast.expr, over: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(over, ast.Call) and over not in self.places:
            name, several = _name(over.func), target.elts
            if name == "zip" and len(several) == len(over.args):
                for part, given in zip(several, over.args, strict=True):
                    self._bind(part, self.level(given))
                return
            if name == "enumerate" and len(several) == 2 and over.args:
                self._bind(several[1], self.level(over.args[0]))
                return
        self._bind(target, self.level(over))

    def _bind(self, target: ast.AST, level: int) -> None:
        match target:
            case ast.Name(id=name):
                self._take(name, level)
                self.kept = self.kept or (level > NONE and name in self._outer)
            case ast.Attribute():
                self._take(_path(target), level)
                self.kept = self.kept or level > NONE
            case ast.Subscript(value=value):
                self._put(value, level)
            case ast.Starred(value=value):
                self._bind(value, level)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    self._bind(part, level)

    def _put(self, into: ast.AST, level: int) -> None:
        """Something is put into what an expression is: others may hold that as well."""
        self._bind(into, level)
        if level and not (isinstance(into, ast.Name) and into.id in self._own):
            self.kept = True

    def _take(self, path: str | None, level: int) -> None:
        if path is not None and level:
            self.paths[path] = max(level, self.paths.get(path, NONE))

    # -- expressions --------------------------------------------------------------------------

    def level(self, node: ast.AST | None) -> int:
        """What an expression has of the number."""
        if node in self.places:
            return self.places[node]
        match node:
            case ast.Name(id=name):
                return self.paths.get(name, NONE)
            case ast.Attribute(value=value, attr=name):
                if name in ASKS:
                    return NONE
                path = _path(node)
                return max(self.paths.get(path or "", NONE), self.level(value))
            case ast.Compare() | ast.Constant() | ast.Slice() | ast.Yield():
                return NONE
            case ast.UnaryOp(op=op, operand=value):
                return NONE if isinstance(op, ast.Not) else self.level(value)
            case ast.BinOp(left=left, op=op, right=right):
                found = max(self.level(left), self.level(right))
                return min(found, TEXT) if _is_text(left) and isinstance(op, ast.Mod) else found
            case ast.IfExp(body=body, orelse=orelse):
                return max(self.level(body), self.level(orelse))
            case ast.Call():
                return self._called(node)
            case ast.Subscript(value=value):
                return self.level(value)
            case ast.JoinedStr() | ast.FormattedValue():
                return min(self._most(node), TEXT)
            case ast.ListComp(elt=value) | ast.SetComp(elt=value) | ast.GeneratorExp(elt=value):
                return self.level(value)
            case ast.DictComp(key=key, value=value):
                return max(self.level(key), self.level(value))
            case ast.Lambda(body=body):
                return self.level(body)
        return NONE if node is None else self._most(node)

    def _most(self, node: ast.AST) -> int:
        return max(map(self.level, ast.iter_child_nodes(node)), default=NONE)

    def _arguments(self, call: ast.Call) -> int:
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if _name(call.func) == "copysign":
            given = given[:1]
        return max(map(self.level, given), default=NONE)

    def _called(self, call: ast.Call) -> int:
        name = _name(call.func)
        if name in DECIDES:
            return NONE
        found = max(self._arguments(call), self.level(call.func))
        helper = self._helper(call) if found else None
        if helper is not None:
            return helper
        if name in TEXTS or (name in ("format", "join") and isinstance(call.func, ast.Attribute)):
            return min(found, TEXT)
        if name in WHOLES or (name == "round" and len(call.args) == 1):
            return min(found, WHOLE)
        return NUMBER if found == TEXT and name in READS_TEXT else found

    def _helper(self, call: ast.Call) -> int | None:
        """What a function of the same file returns; None for others."""
        function = call.func
        method = isinstance(function, ast.Attribute) and _path(function.value) == "self"
        found = self.site.source.file.definitions.get(_name(function), [])
        if len(found) != 1 or not (method or isinstance(function, ast.Name)) or self.depth > DEEP:
            return None
        taken = found[0].args
        names = [part.arg for part in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]
        given = None if taken.vararg or taken.kwarg else self._bound(call, names)
        if given is None:
            return None
        inner = _Scope(found[0], self.site, self.depth + 1)
        around = self.paths if self._holds(found[0]) else {}
        inner.paths.update({**around, **dict.fromkeys(names, NONE), **given})
        inner.solve()
        self.kept = self.kept or inner.kept
        return inner.returned

    def _holds(self, node: ast.AST) -> bool:
        """Whether a function stands in this one, whose variables it sees."""
        around: ast.AST | None = node
        while around is not None and around is not self.root:
            around = self.site.source.parents.get(around)
        return around is not None

    def _bound(self, call: ast.Call, names: Sequence[str]) -> dict[str, int] | None:
        """What parameters of these names get in a call; None where that is not told."""
        first = int(isinstance(call.func, ast.Attribute) and names[:1] in (["self"], ("self",)))
        starred = any(isinstance(given, ast.Starred) for given in call.args)
        keywords = {k.arg: k.value for k in call.keywords}
        if starred or not keywords.keys() <= set(names) or len(call.args) + first > len(names):
            return None
        given: dict[str, ast.expr] = dict(zip(names[first:], call.args, strict=False))
        given.update((str(name), value) for name, value in keywords.items())
        return {name: self.level(value) for name, value in given.items()}

    # -- ops ----------------------------------------------------------------------------------

    def operand(self, site: Syntax, index: int | None, count: int) -> int:
        """What an operand of the op at a site has of the number."""
        match site.node:
            case ast.BinOp(left=left, right=right) if count == 2 and index is not None:
                return self.level((left, right)[index])
            case ast.AugAssign(value=value):
                return self.level(value)
            case ast.Subscript(ctx=ast.Store()):
                parent: ast.AST = site.node
                while not isinstance(parent, ast.stmt):
                    parent = self.site.source.parents[parent]
                return self.level(getattr(parent, "value", None))
            case ast.Call(func=function, args=args, keywords=[]) if (
                index is not None
                and len(args) == count
                and not any(isinstance(given, ast.Starred) for given in args)
            ):
                return max(self.level(args[index]), self._receiver(function))
            case ast.Call(func=function) as call:
                return max(self._arguments(call), self._receiver(function))
        return self._most(site.node)

    def _receiver(self, function: ast.expr) -> int:
        return self.level(function.value) if isinstance(function, ast.Attribute) else NONE

    def parameters(self, site: Syntax, code: CodeType) -> dict[str, int]:
        """What the parameters of a function have that is called at a site."""
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        node = site.node
        if isinstance(node, ast.Call) and called_name(node) == code.co_name:
            given = self._bound(node, names)
            if given is not None:
                return given
        found = self._arguments(node) if isinstance(node, ast.Call) else self._most(node)
        return dict.fromkeys(names, found) if found else {}


def _is_text(node: ast.AST) -> bool:
    text = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    return text or isinstance(node, ast.JoinedStr)


def _owned(root: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Every node in a function, with the function that it belongs to."""
    waiting = [(child, root) for child in ast.iter_child_nodes(root)]
    for node, owner in waiting:
        yield node, owner
        inner = node if isinstance(node, SCOPES) else owner
        waiting += [(child, inner) for child in ast.iter_child_nodes(node)]


def _variables(root: ast.AST) -> tuple[frozenset[str], frozenset[str]]:
    """The variables that a function makes itself, and those of others that it writes to."""
    own, given, outer = set(), set(), set()
    for node, _ in _owned(root):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                own.add(name)
            case ast.arg(arg=name):
                given.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                outer.update(names)
    return frozenset(own - given - outer), frozenset(outer)
