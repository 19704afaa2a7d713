"""Breaks statements that exceed the width as black breaks them.

This is black's algorithm for the Python that emitters write: names, numbers, strings, operators,
calls, subscripts, tuples, lists and dicts in assignments, returns, tests, loops and heads of
functions, on one line and in black's style but for its length. `split` returns None for anything
else (a choice, a lambda, a comprehension): black itself then has the word. It takes a hundredth of
the time that black takes to be imported, and a tenth of what it takes to format one statement.

The way of a line: split at the last brackets (`_at_last_brackets`) into a head, a body and a tail,
or, within brackets, at the delimiters that bind least (`_at_delimiters`); each part is split
again where it is still too long. Behind ``=``, ``return``, ``if`` and ``in`` stand brackets that
are not written (`Leaf.value` is empty) until a split uses them.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from codegen.emit.typed_literals import NAME
from codegen.errors import CodegenError

_TOKEN = re.compile(
    rf"""(?P<space>\ ?)(?:
      (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<number>(?:\d[\d.]*|\.\d+)(?:e-?\d+)?j?|{NAME})
    | (?P<name>[A-Za-z_]\w*)
    | (?P<symbol>\*\*|//=?|<<=?|>>=?|[-+*/%@&|^<>=!]=|\.\.\.|[-+*/%@&|^~<>=.,:()\[\]{{}}])
    )""",
    re.VERBOSE,
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_KEYWORDS = frozenset(keyword.kwlist) - {"None", "True", "False"}
_INFIX = frozenset({"and", "or", "not", "is", "in"})
"""Keywords that may stand in an expression."""
_ASSIGNMENTS = frozenset({"="} | {f"{symbol}=" for symbol in ("+", "-", "*", "/", "//", "%", "@")})

COMMA, LOGIC, COMPARE, DOT = 18, 14, 10, 1
_PRIORITIES = {"|": 9, "^": 8, "&": 7, "<<": 6, ">>": 6, "+": 5, "-": 5}
_PRIORITIES |= dict.fromkeys(("*", "/", "//", "%", "@"), 4) | {"**": 2}
_PRIORITIES |= dict.fromkeys(("==", "!=", "<", ">", "<=", ">="), COMPARE)
_PRIORITIES |= {"and": LOGIC, "or": LOGIC, "is": COMPARE, "in": COMPARE}


class _Unknown(CodegenError):
    """What is not in the subset."""


class _CannotSplit(CodegenError):
    """A way of splitting that does not apply to a line."""


class Leaf:
    """One token. An opening bracket knows its closing one, and the other way round.

    `priority` is that of a delimiter: how loosely it binds. A line may break before it, after it
    where it is a comma. `trailer` tells the brackets of calls, subscripts and parameters from those
    of tuples, lists and dicts.
    """

    __slots__ = ("kind", "partner", "prefix", "priority", "tight", "trailer", "value")

    def __init__(self, kind: str, value: str, prefix: str = "") -> None:
        self.kind = kind  # the value of a symbol, "string", "number", "name"
        self.value = value
        self.prefix = prefix
        self.priority = 0
        self.partner: Leaf | None = None
        self.trailer = False
        self.tight = False  # written without the spaces that black reckons with

    @property
    def opens(self) -> bool:
        return self.kind in _CLOSING

    @property
    def closes(self) -> bool:
        return self.kind in (")", "]", "}")

    @property
    def width(self) -> int:
        return len(self.prefix) + len(self.value)


@dataclass
class Line:
    """Leaves at a depth of indentation. `inside` brackets a line may be split at delimiters."""

    leaves: list[Leaf]
    depth: int = 0
    inside: bool = False
    exploded: bool = False  # every delimiter ends a line, whether it fits or not
    begins: bool = True  # not the rest of a line behind its brackets

    def __str__(self) -> str:
        first, *rest = self.leaves
        texts = [first.prefix, "    " * self.depth, first.value]
        return "".join([*texts, *(leaf.prefix + leaf.value for leaf in rest)])

    @property
    def text(self) -> str:
        """As it is written: simple operands close up around ``**``."""
        texts = ["    " * self.depth, self.leaves[0].value]
        before = self.leaves[0]
        for leaf in self.leaves[1:]:
            tight = leaf.tight or (before.tight and before is not self.leaves[0])
            texts.append(leaf.value if tight else leaf.prefix + leaf.value)
            before = leaf
        return "".join(texts)

    def delimiters(self) -> dict[Leaf, int]:
        """The leaves after which the line may break and how loosely they bind, outside brackets."""
        found: dict[Leaf, int] = {}
        depth = 0
        previous: Leaf | None = None
        for leaf in self.leaves:
            if leaf.closes:
                if depth == 0:  # its bracket is on a line before
                    continue
                depth -= 1
            if depth == 0 and leaf.priority:
                if leaf.kind == ",":
                    found[leaf] = COMMA
                elif previous is not None and (leaf.priority != DOT or previous.closes):
                    found[previous] = leaf.priority
            if leaf.opens:
                depth += 1
            previous = leaf
        return found

    def hidden(self) -> list[Leaf]:
        """The closing brackets that are not written."""
        return [leaf for leaf in self.leaves if leaf.closes and not leaf.value and self.begins]


class Split:
    """A line as head, body and tail: up to an opening bracket, between, from the closing one on."""

    def __init__(self, line: Line, opening: Leaf, head: list[Leaf], body: list[Leaf]) -> None:
        assert opening.partner is not None
        self.opening, self.closing = opening, opening.partner
        self.head = Line(head, line.depth)
        self.body = Line(body, line.depth + 1, True)
        self.tail = Line(line.leaves[len(head) + len(body) :], line.depth, begins=False)
        if not body and len(str(self.tail).strip()) < 3:
            raise _CannotSplit("an empty body is not worth it")
        self.body.exploded = bool(body) and _several_items(self.body, opening)

    @property
    def parts(self) -> list[Line]:
        return [line for line in (self.head, self.body, self.tail) if line.leaves]

    def show(self) -> None:
        """The brackets are written from here on."""
        if self.opening.kind == "(":
            self.opening.value, self.closing.value = "(", ")"


def split(statement: str, width: int) -> tuple[str, ...] | None:
    """A statement, or the head of a block, over several lines; None where it takes black itself."""
    try:
        leaves = _with_hidden_brackets(_tokens(statement), width)
    except _Unknown:
        return None
    return tuple(line.text for line in _Splitter(width, statement).transformed(Line(leaves)))


# -- reading ------------------------------------------------------------------------------------


def _tokens(statement: str) -> list[Leaf]:
    """The statement's leaves, with the priorities of delimiters."""
    own = re.sub(NAME, "", statement)
    if not own.isascii() or "_" in re.sub(r"\b[A-Za-z_]\w*", "", own):
        raise _Unknown("letters of other widths, numbers with underscores")
    leaves: list[Leaf] = []
    open_brackets: list[Leaf] = []
    place, end = 0, len(statement)
    while place < end:
        found = _TOKEN.match(statement, place)
        if found is None or found.end() == place:
            raise _Unknown(statement[place:])
        place = found.end()
        kind = str(found.lastgroup)
        value = found[kind]
        leaf = Leaf(value if kind == "symbol" else kind, value, found["space"])
        _relate(leaf, leaves, open_brackets)
        leaves.append(leaf)
    if open_brackets:
        raise _Unknown("open brackets")
    return leaves


def _relate(leaf: Leaf, before: list[Leaf], open_brackets: list[Leaf]) -> None:
    """Pairs a bracket, and finds how loosely an operator binds."""
    previous = before[-1] if before else None
    operand = previous is not None and _ends_operand(previous)
    if leaf.kind == "name" and leaf.value in _KEYWORDS and before:
        first = before[0].value == "for" and leaf.value == "in" and len(before) == 2
        if leaf.value not in _INFIX:
            raise _Unknown(leaf.value)
        unary = leaf.value == "not" and not operand
        second = previous is not None and (previous.value, leaf.value) in (
            ("not", "in"),
            ("is", "not"),
        )
        if not (first or unary or second):
            leaf.priority = COMPARE if leaf.value == "not" else _PRIORITIES[leaf.value]
    elif leaf.opens:
        leaf.trailer = operand
        open_brackets.append(leaf)
    elif leaf.closes:
        if not open_brackets or _CLOSING[open_brackets[-1].kind] != leaf.kind:
            raise _Unknown("brackets that do not match")
        leaf.partner = open_brackets.pop()
        leaf.partner.partner, leaf.trailer = leaf, leaf.partner.trailer
        if previous is not None and previous.kind == "," and (leaf.kind != ")" or leaf.trailer):
            raise _Unknown("a comma that asks for a line for each item")
    elif leaf.kind == ",":
        leaf.priority = COMMA
    elif leaf.kind == ".":
        leaf.priority = DOT
    elif leaf.kind in _PRIORITIES:
        if operand:
            leaf.priority = _PRIORITIES[leaf.kind]
        elif leaf.kind not in "+-" and not (leaf.kind == "*" and _in_call(open_brackets)):
            raise _Unknown(leaf.value)
    elif leaf.kind == "string" and previous is not None and previous.kind == "string":
        raise _Unknown("strings beside each other")
    if previous is not None and previous.kind == "string" and leaf.kind == ".":
        raise _Unknown("a method of a string")
    if leaf.kind == "**" and not leaf.prefix:
        leaf.prefix, leaf.tight = " ", True
    if previous is not None and previous.kind == "**" and not leaf.prefix:
        leaf.prefix = " "


def _in_call(open_brackets: Sequence[Leaf]) -> bool:
    """Whether a star stands among arguments or parameters, behind which no comma is added."""
    return bool(open_brackets) and open_brackets[-1].kind == "(" and open_brackets[-1].trailer


def _ends_operand(leaf: Leaf) -> bool:
    if leaf.kind == "name":
        return leaf.value not in _KEYWORDS
    return leaf.closes or leaf.kind in ("number", "string", "...")


def _with_hidden_brackets(leaves: list[Leaf], width: int) -> list[Leaf]:
    """The leaves with brackets that are not written around what may get some."""
    first = leaves[0].value
    if first == "def":
        return leaves
    if first in ("if", "elif", "return"):
        colon = first != "return"
        if colon != (leaves[-1].kind == ":"):
            raise _Unknown(first)
        end = len(leaves) - colon
        return [leaves[0], *_hidden(leaves[1:end]), *leaves[end:]]
    if first == "for":
        if leaves[2].value != "in" or leaves[-1].kind != ":":
            raise _Unknown(first)
        return [leaves[0], *_hidden(leaves[1:2]), leaves[2], *_hidden(leaves[3:-1]), leaves[-1]]
    if leaves[0].kind != "name" or first in _KEYWORDS:
        raise _Unknown(first)
    signs = [i for i, leaf in enumerate(_outside(leaves)) if leaf and leaf.kind in _ASSIGNMENTS]
    if len(signs) == 1:
        target, sign, value = leaves[: signs[0]], leaves[signs[0]], leaves[signs[0] + 1 :]
        if sum(leaf.width for leaf in (*target, sign)) + 2 > width:
            raise _Unknown("a target that exceeds the width")
        if any(leaf is not None and leaf.kind == "," for leaf in _outside(target)):
            target = _hidden(target)
        return [*target, sign, *_hidden(value)]
    outside = [leaf for leaf in _outside(leaves) if leaf is not None]
    if signs or any(leaf.priority > DOT for leaf in outside) or leaves[-1].kind != ")":
        raise _Unknown("no statement of an emitter")
    return leaves


def _outside(leaves: Sequence[Leaf]) -> Iterator[Leaf | None]:
    """The leaves that stand in no brackets; None for others."""
    depth = 0
    for leaf in leaves:
        depth -= leaf.closes
        yield None if depth else leaf
        depth += leaf.opens


def _hidden(leaves: list[Leaf]) -> list[Leaf]:
    """An expression in brackets that are not written; a tuple has its own."""
    first, last = leaves[0], leaves[-1]
    if last.kind == ",":
        raise _Unknown("a tuple without brackets")
    if first.kind == "(" and first.partner is last:
        items = any(leaf is not None and leaf.kind == "," for leaf in _outside(leaves[1:-1]))
        if not items and len(leaves) > 2:
            raise _Unknown("brackets that black removes")
        return leaves
    opening, closing = Leaf("(", "", first.prefix), Leaf(")", "")
    opening.partner, closing.partner = closing, opening
    first.prefix = ""
    return [opening, *leaves, closing]


# -- splitting ----------------------------------------------------------------------------------


class _Splitter:
    def __init__(self, width: int, statement: str) -> None:
        self.width = width
        self.head = statement.startswith("def ")
        self.forced = False  # the brackets that are not written are used

    def fits(self, line: Line) -> bool:
        return len(str(line)) <= self.width

    def transformed(self, line: Line) -> list[Line]:
        """The line, or the lines that it is split into."""
        if not line.exploded and len(line.text) <= self.width:
            return [line]
        if line.leaves[0].value == "def" and not line.inside:
            ways: list[Callable[[Line], Iterable[Line]]] = [self._at_first_brackets]
        else:
            ways = [self._at_delimiters] if line.inside else []
            ways.append(self._at_last_brackets)
        for way in ways:
            try:
                return self._tried(line, way)
            except _CannotSplit:
                continue
        return [line]

    def _tried(self, line: Line, way: Callable[[Line], Iterable[Line]]) -> list[Line]:
        """The lines of one way to split; what brackets make better has brackets."""
        whole = str(line)
        hidden = line.hidden()
        again = _copied(line) if hidden else line
        result: list[Line] = []
        for part in way(line):
            if str(part) == whole:
                raise _CannotSplit("nothing was split")
            result += self.transformed(part)
        shown = any(leaf.value for leaf in hidden)
        if self.forced or not hidden or shown or self.fits(result[0]):
            return result
        self.forced = True
        try:
            second = self._tried(again, way)
        finally:
            self.forced = False
        return second if all(map(self.fits, second)) else result

    def _at_first_brackets(self, line: Line) -> Iterator[Line]:
        """The head of a function at its parameters."""
        start = next(i for i, leaf in enumerate(line.leaves) if leaf.kind == "(")
        opening = line.leaves[start]
        if opening.partner is None or opening.partner not in line.leaves:
            raise _CannotSplit("the head alone is too long")
        end = line.leaves.index(opening.partner)
        body = line.leaves[start + 1 : end]
        found = Split(line, opening, line.leaves[: start + 1], body)
        if body and not any(leaf.kind == "," for leaf in body):
            found.body.leaves.append(Leaf(",", ","))
        yield from found.parts

    def _at_delimiters(self, line: Line) -> Iterator[Line]:
        """At the delimiters that bind least; items of a sequence all get a comma."""
        delimiters = line.delimiters()
        priority = max((p for d, p in delimiters.items() if d is not line.leaves[-1]), default=0)
        count = sum(p == priority for p in delimiters.values())
        if not priority or (priority == DOT and count == 1):
            raise _CannotSplit("no delimiters")
        stars = any(leaf is not None and _is_star(leaf) for leaf in _outside(line.leaves))
        start = 0
        for i, leaf in enumerate(line.leaves, 1):
            last = i == len(line.leaves)
            if not last and delimiters.get(leaf) != priority:
                continue
            leaves = line.leaves[start:i]
            leaves[0].prefix = ""
            if last and priority == COMMA and leaf.kind != "," and not stars:
                leaves.append(Leaf(",", ","))
            yield Line(leaves, line.depth, line.inside)
            start = i

    def _at_last_brackets(self, line: Line) -> list[Line]:
        """At the last brackets that leave a first line which fits, else at the last ones."""
        places: dict[Leaf, int] = {}
        at = 4 * line.depth
        for leaf in line.leaves:
            places[leaf] = at
            at += leaf.width
        first: list[Line] | None = None
        for omitted in self._omitted_trailers(line):
            if omitted:
                closing = (x for x in reversed(line.leaves) if x.closes and x not in omitted)
                opening = next((leaf.partner for leaf in closing), None)
                if opening is not None and opening.value and places.get(opening, 0) > self.width:
                    continue
            lines = self._split_at(line, omitted)
            if first is None and not omitted:
                first = lines
            if self.fits(lines[0]):
                return lines
        return self._split_at(line, frozenset()) if first is None else first

    def _omitted_trailers(self, line: Line) -> Iterator[frozenset[Leaf]]:
        """Closing brackets at which not to split, more and more: what is behind them fits."""
        omitted: set[Leaf] = set()
        yield frozenset()
        length = 4 * line.depth
        opening: Leaf | None = None
        closing: Leaf | None = None
        inner: set[Leaf] = set()
        for i in reversed(range(len(line.leaves))):
            leaf = line.leaves[i]
            previous = line.leaves[i - 1] if i else None
            length += leaf.width
            if length > self.width:
                break
            if opening is not None:
                if leaf is opening:
                    opening = None
                elif leaf.closes:
                    inner.add(leaf)
            elif leaf.closes:
                if previous is not None and previous.opens:
                    inner.add(leaf)
                    continue
                if closing is not None:
                    omitted.add(closing)
                    omitted |= inner
                    inner.clear()
                    yield frozenset(omitted)
                if leaf.value:
                    opening, closing = leaf.partner, leaf

    def _split_at(self, line: Line, omitted: frozenset[Leaf]) -> list[Line]:
        """At the last brackets that are not omitted; without those not written if that is well."""
        found = _last_brackets(line, omitted)
        if not self.forced and not found.opening.value and self._needs_no_brackets(found.body):
            try:
                inner = omitted | {found.closing}
                without = _last_brackets(line, inner)
                if self._better(without, found):
                    return self._split_at(line, inner)
            except _CannotSplit:
                if len(found.body.leaves) < 2 and not self.fits(found.body):
                    raise
        found.show()
        return found.parts

    def _needs_no_brackets(self, body: Line) -> bool:
        """Whether an expression may be split at brackets of its own."""
        delimiters = body.delimiters()
        if not delimiters:
            return True
        priority = max(delimiters.values())
        if sum(p == priority for p in delimiters.values()) > 1:
            return False
        if priority == DOT:
            return True
        first, second, *_ = body.leaves
        *_, penultimate, last = body.leaves
        if first.opens and not second.closes and self._begins_with_brackets(body, first):
            return True
        if last.kind in (")", "}") or (last.kind == "]" and not last.trailer):
            return not penultimate.opens and self._ends_with_brackets(body, last)
        return False

    def _begins_with_brackets(self, body: Line, first: Leaf) -> bool:
        """Whether what follows the first brackets fits, or has others."""
        behind = False
        length = 4 * body.depth
        for leaf in body.leaves:
            behind = behind or leaf is first.partner
            if behind:
                length += leaf.width
                if length > self.width:
                    return False
                if leaf.opens:
                    behind = False
        return True

    def _ends_with_brackets(self, body: Line, last: Leaf) -> bool:
        """Whether what precedes the last brackets fits, or has others."""
        length = 4 * body.depth
        others = False
        for leaf in body.leaves:
            length += leaf.width
            if leaf is last.partner:
                return others or length <= self.width
            others = others or leaf.opens
        return False

    def _better(self, without: Split, found: Split) -> bool:
        """Whether to split at brackets of the expression rather than at those not written."""
        head = found.head.leaves
        if len(head) < 2 or head[-2].kind != "=":
            return True
        if not any(leaf.opens or leaf.closes for leaf in head[:-1]):
            return True
        if len(str(found.head)) > self.width - 1:
            return True
        before = without.head.leaves
        sign = next((i for i in reversed(range(len(before))) if before[i].kind == "="), None)
        if any(leaf.closes for leaf in before[0 if sign is None else sign :]):
            return True
        return sign is not None and self.fits(without.head)


def _is_star(leaf: Leaf) -> bool:
    return leaf.kind == "*" and not leaf.priority


def _several_items(body: Line, opening: Leaf) -> bool:
    """Whether a tuple, list or dict has several items, which get a line each."""
    if opening.trailer:
        return False
    before = [p for delimiter, p in body.delimiters().items() if delimiter is not body.leaves[-1]]
    return max(before, default=0) == COMMA


def _last_brackets(line: Line, omitted: frozenset[Leaf]) -> Split:
    """The line split at its last brackets, but for those that are omitted."""
    leaves = line.leaves
    for end in reversed(range(len(leaves))):
        opening = leaves[end].partner
        if not leaves[end].closes or leaves[end] in omitted or leaves[end - 1] is opening:
            continue  # nothing is between empty brackets
        start = next((i for i in range(end) if leaves[i] is opening), None)
        if start is None or opening is None:
            raise _CannotSplit("the brackets open on a line before")
        return Split(line, opening, leaves[: start + 1], leaves[start + 1 : end])
    raise _CannotSplit("no brackets")


def _copied(line: Line) -> Line:
    """The line with leaves of its own."""
    copies: dict[Leaf, Leaf] = {}
    for leaf in line.leaves:
        copy = copies[leaf] = Leaf(leaf.kind, leaf.value, leaf.prefix)
        copy.priority, copy.trailer, copy.tight = leaf.priority, leaf.trailer, leaf.tight
        if leaf.partner in copies:
            copy.partner = copies[leaf.partner]
            copies[leaf.partner].partner = copy
    return replace(line, leaves=list(copies.values()))
