"""A line of Python with holes enters; text with the right parentheses leaves.

An op is spelled in a target by the Python that one would write for it, over the names of its
operands and attributes::

    Spelling("x @ y")
    Spelling("x.sum(axis=axis, keepdims=keepdims)")
    Spelling("out = np.zeros(shape)\\nnp.add.at(out, index, ct)")     # statements; `out` is the target

The same text makes the eager kernel (`codegen.load.kernel`) and the emitted code, so the two cannot
drift apart. Keyword arguments whose attribute has its default value are left out when printed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from codegen.errors import CodegenError

# Python's precedences, loosest first.
LOWEST, TERNARY, OR, AND, NOT, COMPARE, BIT_OR, BIT_XOR, BIT_AND, SHIFT = range(10)
SUM, PRODUCT, UNARY, POWER, ATOM = range(10, 15)

_BINARY: dict[type[ast.operator], tuple[str, int]] = {
    ast.Add: ("+", SUM),
    ast.Sub: ("-", SUM),
    ast.Mult: ("*", PRODUCT),
    ast.Div: ("/", PRODUCT),
    ast.FloorDiv: ("//", PRODUCT),
    ast.Mod: ("%", PRODUCT),
    ast.MatMult: ("@", PRODUCT),
    ast.Pow: ("**", POWER),
    ast.BitAnd: ("&", BIT_AND),
    ast.BitOr: ("|", BIT_OR),
    ast.BitXor: ("^", BIT_XOR),
    ast.LShift: ("<<", SHIFT),
    ast.RShift: (">>", SHIFT),
}
_UNARY: dict[type[ast.unaryop], tuple[str, int]] = {
    ast.USub: ("-", UNARY),
    ast.UAdd: ("+", UNARY),
    ast.Invert: ("~", UNARY),
    ast.Not: ("not ", NOT),
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.Is: "is",
    ast.IsNot: "is not",
}

_SIMPLE = re.compile(r"-?[\w.]+")  # operands around which black closes up ``**``


class Fragment(NamedTuple):
    """A piece of Python: its text and how tightly it binds."""

    text: str
    precedence: int = ATOM

    def at(self, needed: int) -> str:
        """The text as an operand of something that binds as `needed`."""
        return self.text if self.precedence >= needed else f"({self.text})"


class Absent:
    """Marks an attribute that has its default value: its keyword argument is not printed."""


ABSENT = Absent()
Holes = Mapping[str, "Fragment | Absent"]


@dataclass(frozen=True)
class Spelling:
    """How an op is written: one expression, or statements that assign ``out``.

    `inplace` is the form that overwrites the first operand (``x += y``), where one exists beside
    those that follow from the expression itself.
    """

    text: str
    inplace: str | None = None

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def expression(self) -> ast.expr | None:
        """The expression, or None when the op is spelled by statements."""
        body = self.tree.body
        return body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None

    @cached_property
    def uses(self) -> Mapping[str, int]:
        """How often each name is read: what is read twice must be a variable."""
        counts: dict[str, int] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name):
                counts[node.id] = counts.get(node.id, 0) + 1
        return counts

    @cached_property
    def infix(self) -> str | None:
        """The operator when the op is spelled ``x + y``."""
        tree = self.expression
        if (
            isinstance(tree, ast.BinOp)
            and isinstance(tree.left, ast.Name)
            and isinstance(tree.right, ast.Name)
        ):
            return _BINARY[type(tree.op)][0]
        return None

    @cached_property
    def call(self) -> str | None:
        """The function's dotted name when the op is spelled ``np.f(x, y)``."""
        tree = self.expression
        if isinstance(tree, ast.Call) and not tree.keywords:
            if all(isinstance(arg, ast.Name) for arg in tree.args):
                name = ast.unparse(tree.func)
                return name if name.startswith("np.") else None
        return None

    def render(self, holes: Holes) -> Fragment:
        """The expression with its holes filled."""
        if self.expression is None:
            raise CodegenError(f"spelled by statements, not an expression: {self.text!r}")
        return _render(self.expression, holes)

    def render_statements(self, holes: Holes) -> list[str]:
        """The statements with their holes filled (``out`` is one of them)."""
        return _statements(self.tree, holes)

    def render_inplace(self, holes: Holes) -> list[str]:
        """The statements of the in-place form."""
        if self.inplace is None:
            raise CodegenError(f"no in-place form: {self.text!r}")
        return _statements(_parse(self.inplace), holes)


SpellingOf = Spelling | Callable[[Mapping[str, object]], Spelling]
"""A spelling, or a choice among spellings by the attributes' values."""


@lru_cache(maxsize=None)
def _parse(text: str) -> ast.Module:
    return ast.parse(text)


@lru_cache(maxsize=None)
def spell(text: str, inplace: str | None = None) -> Spelling:
    """The spelling with this text; equal texts give one object."""
    return Spelling(text, inplace)


def _statements(tree: ast.Module, holes: Holes) -> list[str]:
    lines = []
    for node in tree.body:
        match node:
            case ast.Expr(value):
                lines.append(_render(value, holes).text)
            case ast.Assign([target], value):
                lines.append(f"{_render(target, holes).text} = {_render(value, holes).text}")
            case ast.AugAssign(target, op, value):
                symbol = _BINARY[type(op)][0]
                left = _render(target, holes).text
                lines.append(f"{left} {symbol}= {_render(value, holes).text}")
            case _:
                raise CodegenError(f"not a statement of a spelling: {ast.unparse(node)}")
    return lines


def _render(node: ast.expr, holes: Holes) -> Fragment:
    match node:
        case ast.Name(name):
            hole = holes.get(name)
            return hole if isinstance(hole, Fragment) else Fragment("None" if hole else name)
        case ast.Constant(value):
            return Fragment(repr(value))
        case ast.BinOp(left, op, right):
            symbol, level = _BINARY[type(op)]
            power = level == POWER
            a = _render(left, holes).at(level + power)
            b = _render(right, holes).at(UNARY if power else level + 1)
            tight = power and _SIMPLE.fullmatch(a) and _SIMPLE.fullmatch(b)
            return Fragment(f"{a}{symbol}{b}" if tight else f"{a} {symbol} {b}", level)
        case ast.UnaryOp(unary, operand):
            symbol, level = _UNARY[type(unary)]
            return Fragment(symbol + _render(operand, holes).at(level), level)
        case ast.Compare(left, [compare], [right]):
            a, b = _render(left, holes).at(COMPARE + 1), _render(right, holes).at(COMPARE + 1)
            return Fragment(f"{a} {_COMPARE[type(compare)]} {b}", COMPARE)
        case ast.Call(function, args, keywords):
            shown = [_render(arg, holes).text for arg in args]
            for keyword in keywords:
                value = keyword.value
                if not (isinstance(value, ast.Name) and holes.get(value.id) is ABSENT):
                    shown.append(f"{keyword.arg}={_render(value, holes).text}")
            return Fragment(f"{_base(function, holes)}({', '.join(shown)})")
        case ast.Attribute(value, attribute):
            return Fragment(f"{_base(value, holes)}.{attribute}")
        case ast.Subscript(value, index):
            inner = _render(index, holes).text
            if isinstance(index, ast.Tuple) and index.elts:
                inner = inner[1:-1]
            return Fragment(f"{_base(value, holes)}[{inner}]")
        case ast.Tuple(elements):
            texts = [_render(element, holes).text for element in elements]
            return Fragment(f"({', '.join(texts)}{',' if len(texts) == 1 else ''})")
        case ast.List(elements):
            return Fragment(f"[{', '.join(_render(e, holes).text for e in elements)}]")
        case ast.IfExp(test, body, orelse):
            parts = [_render(part, holes).at(OR) for part in (body, test, orelse)]
            return Fragment(f"{parts[0]} if {parts[1]} else {parts[2]}", TERNARY)
        case ast.Slice(lower, upper, step):
            text = ":".join(_render(p, holes).text if p else "" for p in (lower, upper))
            return Fragment(f"{text}:{_render(step, holes).text}" if step else text)
    raise CodegenError(f"not an expression of a spelling: {ast.unparse(node)}")


def _base(node: ast.expr, holes: Holes) -> str:
    """What stands before a dot, a call or a subscript (a number there needs parentheses)."""
    fragment = _render(node, holes)
    text = fragment.at(ATOM)
    return f"({text})" if text[:1].isdigit() else text


@dataclass(frozen=True, slots=True)
class Subscript:
    """What stands between the brackets of ``x[...]``.

    Items are ints, slices, ``None``, ``...`` and `Slot`: the place of the k-th array operand.
    """

    items: tuple[object, ...]

    def resolve(self, arrays: tuple[object, ...]) -> tuple[object, ...]:
        """The index that NumPy takes."""
        return tuple(arrays[i.position] if isinstance(i, Slot) else i for i in self.items)

    def render(self, arrays: tuple[Fragment, ...]) -> Fragment:
        """The text between the brackets."""
        texts = [
            arrays[i.position].text if isinstance(i, Slot) else index_text(i) for i in self.items
        ]
        return Fragment(", ".join(texts) if texts else "()")

    def render_tuple(self, arrays: tuple[Fragment, ...]) -> Fragment:
        """The index as an expression."""
        texts = []
        for item in self.items:
            match item:
                case Slot(position):
                    texts.append(arrays[position].text)
                case slice(start=start, stop=stop, step=step):
                    given = (stop,) if start is None and step is None else (start, stop, step)
                    texts.append(f"slice({', '.join(map(repr, given))})")
                case _:
                    texts.append(index_text(item))
        if len(texts) == 1:
            return Fragment(texts[0])
        return Fragment(f"({', '.join(texts)})")

    def __str__(self) -> str:
        items = [f"Slot({i.position})" if isinstance(i, Slot) else repr(i) for i in self.items]
        return f"Subscript(({', '.join(items)}{',' if len(items) == 1 else ''}))"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of an array operand in a `Subscript`."""

    position: int


def index_text(item: object) -> str:
    """One item of a subscript as Python."""
    match item:
        case slice():
            text = ":".join("" if p is None else str(p) for p in (item.start, item.stop))
            return text if item.step in (None, 1) else f"{text}:{item.step}"
        case None:
            return "None"
        case _ if item is Ellipsis:
            return "..."
    return repr(item)
