"""Fills lines of Python with operands, with the right parentheses.

An op is spelled in a target by the Python that one would write for it, over the names of its
operands and attributes::

    Spelling("x @ y")
    Spelling("x.sum(axis=axis, keepdims=keepdims)")
    Spelling("out = np.zeros(shape)\\nnp.add.at(out, index, ct)")  # statements that make `out`

One source makes the eager kernel (`codegen.load.kernel`) and the emitted code, so the two cannot
drift apart. Keyword arguments whose attribute has its default value are left out when printed.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeGuard

from codegen.errors import CodegenError

# Python's precedences, loosest first.
LOWEST, TERNARY, OR, AND, NOT, COMPARE, BIT_OR, BIT_XOR, BIT_AND, SHIFT = range(10)
SUM, PRODUCT, UNARY, POWER, ATOM = range(10, 15)

CHOICE = "np.where(condition, a, b)"
"""The op that chooses between two values; of its condition it asks the truth alone."""

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
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}

_BOOLEAN: dict[type[ast.boolop], tuple[str, int]] = {ast.And: ("and", AND), ast.Or: ("or", OR)}

_NUMBER = r"\d[\d_.]*(?:e[+-]?\d+)?j?"
_SIMPLE = re.compile(rf"-?(?:{_NUMBER}|[\w.]+)")  # operands around which black closes up ``**``
_PLAIN = re.compile(rf"[-+~]*(?:{_NUMBER}|\w+)")  # parts of a slice around which it closes up ``:``


class Fragment(NamedTuple):
    """A piece of Python: its source and how tightly it binds."""

    text: str
    precedence: int = ATOM

    def at(self, needed: int) -> str:
        """The source as an operand of something that binds as `needed`."""
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
    def variables(self) -> tuple[str, ...]:
        """What the statements call values on the way to ``out``."""
        trees = [self.tree, *([_parse(self.inplace)] if self.inplace else [])]
        assigned = (node for tree in trees for node in tree.body if isinstance(node, ast.Assign))
        names = (target.id for node in assigned for target in node.targets if _is_name(target))
        return tuple(dict.fromkeys(name for name in names if name != "out"))

    @cached_property
    def infix(self) -> str | None:
        """The operator when the op is spelled ``x + y``, of two different operands."""
        tree = self.expression
        if (
            isinstance(tree, ast.BinOp)
            and isinstance(tree.left, ast.Name)
            and isinstance(tree.right, ast.Name)
            and tree.left.id != tree.right.id
        ):
            return _BINARY[type(tree.op)][0]
        return None

    @cached_property
    def droppable(self) -> frozenset[str]:
        """Names read only as the whole value of a keyword argument, which a default may drop."""
        calls = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]
        values = [keyword.value for call in calls for keyword in call.keywords]
        counts = Counter(value.id for value in values if isinstance(value, ast.Name))
        return frozenset(name for name, count in counts.items() if count == self.uses[name])

    @cached_property
    def attributed(self) -> frozenset[str]:
        """Names whose attributes are read (``x.sum()``): a Python number has none of them."""
        nodes = [node for node in ast.walk(self.tree) if isinstance(node, ast.Attribute)]
        return frozenset(node.value.id for node in nodes if isinstance(node.value, ast.Name))

    def operator(self, operands: Sequence[str]) -> str | None:
        """`infix` where it stands between these operands, in this order."""
        tree = self.expression
        if self.infix is None or not isinstance(tree, ast.BinOp):
            return None
        between = [name.id for name in (tree.left, tree.right) if isinstance(name, ast.Name)]
        return self.infix if between == list(operands) else None

    @cached_property
    def is_operator(self) -> bool:
        """Whether it is one of Python's operators that compute, on what the op is given.

        ``abs(x)`` is one as well: it gives a number of Python's for such a one.
        """
        match self.expression:
            case ast.BinOp(ast.Name(), _, ast.Name()) | ast.UnaryOp(_, ast.Name()):
                return True
            case ast.Call(ast.Name("abs"), [ast.Name()]):
                return True
        return False

    def comparison(self, operands: Sequence[str]) -> str | None:
        """``<`` and its like, where the op is spelled ``x < y`` of these operands."""
        tree = self.expression
        if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
            return None
        between = [x.id for x in (tree.left, *tree.comparators) if isinstance(x, ast.Name)]
        return _COMPARE[type(tree.ops[0])] if between == list(operands) else None

    @cached_property
    def call(self) -> str | None:
        """The function's dotted name when the op is spelled ``np.f(x, y)``."""
        tree = self.expression
        if not isinstance(tree, ast.Call) or tree.keywords:
            return None
        name = ast.unparse(tree.func)
        plain = all(isinstance(arg, ast.Name) for arg in tree.args)
        return name if plain and name.startswith("np.") else None

    def overwrites(self, operands: Sequence[str]) -> bool:
        """Whether there is a form that writes over an operand."""
        return bool(self.operator(operands) or self.call or self.inplace)

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


def _is_name(node: ast.expr) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name)


SpellingOf = Spelling | Callable[[Mapping[str, object]], Spelling]
"""A spelling, or a choice among spellings by the attributes' values."""


def reached(texts: Mapping[str, str], uses: Iterable[str]) -> list[str]:
    """The names of the sources that a spelling uses, each behind those that its own source uses."""
    found: list[str] = []

    def visit(name: str) -> None:
        for other in texts:
            if other not in (name, *found) and other in _named(texts[name]):
                visit(other)
        if name not in found:
            found.append(name)

    for name in texts:
        if name in uses:
            visit(name)
    return found


@cache
def _named(text: str) -> frozenset[str]:
    """The names that the source of a function reads."""
    return frozenset(node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))


@cache
def _parse(text: str) -> ast.Module:
    return ast.parse(text)


@cache
def spell(text: str, inplace: str | None = None) -> Spelling:
    """The spelling with this source; equal sources give one object."""
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
            return Fragment(_constant_text(value))
        case ast.BinOp(left, op, right):
            symbol, level = _BINARY[type(op)]
            power = level == POWER
            a = _render(left, holes).at(level + power)
            b = _render(right, holes).at(UNARY if power else level + 1)
            tight = power and _SIMPLE.fullmatch(a) and _SIMPLE.fullmatch(b)
            return Fragment(f"{a}{symbol}{b}" if tight else f"{a} {symbol} {b}", level)
        case ast.UnaryOp(unary, operand):
            symbol, level = _UNARY[type(unary)]
            inner = _render(operand, holes)
            power = level == UNARY and inner.precedence == POWER  # black writes -(x**2)
            return Fragment(symbol + inner.at(ATOM if power else level), level)
        case ast.Compare(left, [compare], [right]):
            a, b = _render(left, holes).at(COMPARE + 1), _render(right, holes).at(COMPARE + 1)
            return Fragment(f"{a} {_COMPARE[type(compare)]} {b}", COMPARE)
        case ast.BoolOp(boolean, values):
            symbol, level = _BOOLEAN[type(boolean)]
            parts = [_render(value, holes).at(level + 1) for value in values]
            return Fragment(f" {symbol} ".join(parts), level)
        case ast.Call(function, args, keywords):
            shown = [text for arg in args if (text := _render(arg, holes).text)]  # `*none` is none
            for keyword in keywords:
                value = keyword.value
                if not (isinstance(value, ast.Name) and holes.get(value.id) is ABSENT):
                    shown.append(f"{keyword.arg}={_render(value, holes).text}")
            return Fragment(f"{_base(function, holes)}({', '.join(shown)})")
        case ast.Attribute(value, attribute):
            return Fragment(f"{_base(value, holes)}.{attribute}")
        case ast.Subscript(value, index):
            between = _render(index, holes).text
            if isinstance(index, ast.Tuple) and index.elts:
                between = between[1:-1]
            return Fragment(f"{_base(value, holes)}[{between}]")
        case ast.Tuple(elements):
            texts = [_render(element, holes).text for element in elements]
            return Fragment(f"({', '.join(texts)}{',' if len(texts) == 1 else ''})")
        case ast.List(elements):
            return Fragment(f"[{', '.join(_render(e, holes).text for e in elements)}]")
        case ast.Starred(every):  # the operands of an op that takes any number
            return Fragment(_render(every, holes).text[1:-1])
        case ast.IfExp(test, body, orelse):
            parts = [_render(part, holes).at(OR) for part in (body, test, orelse)]
            return Fragment(f"{parts[0]} if {parts[1]} else {parts[2]}", TERNARY)
        case ast.Slice(lower, upper, step):
            parts = [_render(p, holes).text if p else "" for p in (lower, upper)]
            parts += [_render(step, holes).text] if step else []
            return Fragment(_slice_text(parts))
    raise CodegenError(f"not an expression of a spelling: {ast.unparse(node)}")


def _constant_text(value: object) -> str:
    """A literal as black writes it: double quotes, no plus in an exponent, and ``...``."""
    if value is Ellipsis:
        return "..."
    text = repr(value)
    if isinstance(value, float | complex):
        return text.replace("e+", "e")
    return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text


def _slice_text(parts: list[str]) -> str:
    """The parts between colons, which stand apart (as black has them) around longer parts."""
    if all(part == "" or _PLAIN.fullmatch(part) for part in parts):
        return ":".join(parts)
    text = parts[0]
    for part in parts[1:]:
        text += (" :" if text and text[-1] != ":" else ":") + (f" {part}" if part else "")
    return text


def _base(node: ast.expr, holes: Holes) -> str:
    """What stands before a dot, a call or a subscript (a number there needs parentheses)."""
    fragment = _render(node, holes)
    text = fragment.at(ATOM)
    return f"({text})" if text[:1].isdigit() else text


INDEX_PARTS = ("tuple", "firsts", "within")
"""What a spelling may name of an index besides: ``index_tuple``."""


@dataclass(frozen=True, slots=True)
class Subscript:
    """What stands between the brackets of ``x[...]``.

    Items are ints, slices, ``None``, ``...``, `Slot`, the place of the k-th array operand, and
    `Window`, a slice between two of them.
    """

    items: tuple[object, ...]

    def resolve(self, arrays: tuple[object, ...]) -> tuple[object, ...]:
        """The index that NumPy takes; an array without axes is the number in it."""
        if not arrays:
            return self.items
        return tuple([_resolved(item, arrays) for item in self.items])

    def render(self, arrays: tuple[Fragment, ...]) -> Fragment:
        """The source between the brackets."""
        texts = []
        for item in self.items:
            match item:
                case Slot(position):
                    texts.append(arrays[position].text)
                case Window():
                    texts.append(_slice_text(item.texts(arrays)))
                case _:
                    texts.append(index_text(item))
        return Fragment(", ".join(texts) if texts else "()")

    @property
    def windows(self) -> tuple[Window, ...]:
        """The slices whose ends are operands."""
        return tuple([item for item in self.items if isinstance(item, Window)])

    @property
    def window_axes(self) -> tuple[int, ...]:
        """The axes of these; behind an Ellipsis they count from the last one."""
        items = [item for item in self.items if item is not None]
        before = items.index(Ellipsis) if Ellipsis in items else len(items)
        places = [i for i, item in enumerate(items) if isinstance(item, Window)]
        return tuple([i if i < before else i - len(items) for i in places])

    @property
    def within_windows(self) -> Subscript:
        """The index into the part of an array that lies in the windows."""
        whole = [
            slice(None, None, item.step) if isinstance(item, Window) else item
            for item in self.items
        ]
        return Subscript(tuple(whole))

    def firsts(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """The lowest place in each window."""
        return tuple([_number(window.lowest(arrays)) for window in self.windows])

    def render_firsts(self, arrays: tuple[Fragment, ...]) -> Fragment:
        """The same as an expression."""
        texts = []
        for window in self.windows:
            end = window.stop if window.is_backwards else window.start
            text = Fragment("0") if end is None else arrays[end]
            texts.append(f"{text.at(SUM)} + 1" if window.is_backwards else text.text)
        return Fragment(f"({', '.join(texts)}{',' if len(texts) == 1 else ''})")

    def render_tuple(self, arrays: tuple[Fragment, ...]) -> Fragment:
        """The index as an expression."""
        texts = []
        for item in self.items:
            match item:
                case Slot(position):
                    texts.append(arrays[position].text)
                case Window():
                    ends = [text or "None" for text in item.texts(arrays)]
                    texts.append(f"slice({', '.join(ends)})")
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


def _resolved(item: object, arrays: tuple[object, ...]) -> object:
    """An item as NumPy takes it."""
    match item:
        case Slot(position):
            return _number(arrays[position])
        case Window():
            start, stop = item.between([*map(_number, arrays)])
            return slice(start, stop, item.step)
    return item


def _number(array: Any) -> object:
    """The number in an array without axes; any other array as it is."""
    return array if getattr(array, "ndim", 1) else array[()]


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of an array operand in a `Subscript`."""

    position: int


@dataclass(frozen=True, slots=True)
class Window:
    """A slice in a `Subscript` between two operands, which are whole numbers.

    It begins within its axis in every call. It ends there, too, so that nothing is cut off, but for
    the last turns of a loop over batches: there the length that is given for it says how many are
    left. Without a start it begins with the axis, without a stop it ends with it.
    """

    start: int | None
    stop: int | None
    step: int | None = None

    @property
    def ends(self) -> tuple[int, ...]:
        """The operands that it lies between."""
        return tuple([end for end in (self.start, self.stop) if end is not None])

    def between(self, numbers: Sequence[Any]) -> tuple[Any, Any]:
        """Where it begins and ends, of what the operands are; None at an end of the axis."""
        return (
            None if self.start is None else numbers[self.start],
            None if self.stop is None else numbers[self.stop],
        )

    @property
    def is_backwards(self) -> bool:
        """Whether it goes from the highest place to the lowest."""
        return self.step is not None and self.step < 0

    def lowest(self, arrays: tuple[Any, ...]) -> Any:
        """The lowest place between the ends."""
        if self.is_backwards and self.stop is not None:
            return arrays[self.stop] + 1
        return 0 if self.start is None else arrays[self.start]

    def texts(self, arrays: tuple[Fragment, ...]) -> list[str]:
        """The ends, and the step where there is one, as expressions."""
        step = [] if self.step is None else [str(self.step)]
        return ["" if end is None else end.text for end in self.between(arrays)] + step

    def moved(self, by: int) -> Window:
        """The same behind so many more operands."""
        start, stop = (None if end is None else end + by for end in (self.start, self.stop))
        return Window(start, stop, self.step)

    def __repr__(self) -> str:
        return f"Window({self.start}, {self.stop}, {self.step})"


@dataclass(frozen=True, slots=True)
class Foreign:
    """A callable of the client's, an attribute that the source calls by a name like `name`.

    The name that it gets there, and the callable, stand in `Source.names`; the loader binds them.
    """

    name: str
    call: Callable[..., object]

    def __call__(self, *arrays: object) -> object:
        return self.call(*arrays)

    def __repr__(self) -> str:
        return f"<{self.name}>"


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
