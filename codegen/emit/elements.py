"""Reads elementwise calls as steps for one element, which machine code has with NumPy's bits.

A step is an operation of the processor (arithmetic, ``np.sqrt``, comparisons, choice), or a
function that is called for a block of elements (``exp``), since only NumPy's own loops have its
bits. What a call computes is read from its spelling: ``np.maximum(x, 0.0) + np.log1p(t)`` are three
steps. Dtypes are said: what NumPy converts is a step of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from codegen.errors import CodegenError
from codegen.ir import Call, Constant, Graph, Node, Number, Trait, Value
from codegen.spelling import Spelling, spell
from codegen.types import ArrayType, promote, weak, weak_of

FLOATS = ("float64", "float32")
NUMBERS = (*FLOATS, "int64", "bool")
UNARY = (
    *("arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "cos", "cosh"),
    *("exp", "exp2", "expm1", "floor", "log", "log10", "log1p", "log2", "rint", "sin", "sinh"),
    *("sign", "tan", "tanh", "trunc"),
)
BINARY = (
    *("arctan2", "copysign", "fmax", "fmin", "hypot", "logaddexp", "logaddexp2", "maximum"),
    "minimum",
)
SPECIAL = ("erf", "erfc", "expit", "gammaln", "log_ndtr", "ndtr")
FUNCTIONS = {
    **{f"np.{name}": name for name in UNARY + BINARY},
    **{f"special.{name}": name for name in SPECIAL},
}
"""Functions by what spellings call them."""

CHOICES = {
    "zero_outside(mask, x)": "np.where(mask, x, 0.0)",
    "zero_inside(mask, x)": "np.where(mask, 0.0, x)",
    "zero_and_halve(x, zero, half)": "np.where(zero, 0.0, np.where(half, 0.5 * x, x))",
}
"""What functions that choose compute of one element."""

OPERATORS = {
    ast.Add: "a + b",
    ast.Sub: "a - b",
    ast.Mult: "a * b",
    ast.Div: "a / b",
}
LOOPS = {ast.FloorDiv: "floor_divide", ast.Mod: "remainder"}
COMPARISONS = {
    ast.Lt: "a < b",
    ast.LtE: "a <= b",
    ast.Gt: "a > b",
    ast.GtE: "a >= b",
    ast.Eq: "a == b",
    ast.NotEq: "a != b",
}
LOGIC = {
    "np.logical_and": "a & b",
    "np.logical_or": "a | b",
    "np.logical_xor": "a != b",
    ast.BitAnd: "a & b",
    ast.BitOr: "a | b",
    ast.BitXor: "a != b",
}
TESTS = {"np.isnan": "x != x", "np.isfinite": "np.isfinite(x)", "np.isinf": "np.isinf(x)"}
COPIES = ("np.array", "np.asarray", "np.positive")
WHOLE = {"float64": 2**53, "float32": 2**24}
"""Integers up to here are numbers of a dtype."""

LARGEST = {"float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308}


class UnspokenError(CodegenError):
    """Something that a kernel does not compute with NumPy's bits."""


@dataclass(frozen=True, eq=False)
class Given:
    """An element of an array that the kernel is given, or a number."""

    value: Value

    @property
    def type(self) -> ArrayType:
        return ArrayType(self.value.type.dtype, (), self.value.type.weak)

    @property
    def varies(self) -> bool:
        """Whether elements differ."""
        return bool(self.value.type.shape)


@dataclass(frozen=True)
class Literal:
    """A number in the source; weak until it is known what it stands beside."""

    number: Number
    type: ArrayType
    varies = False


@dataclass(frozen=True, eq=False)
class Index:
    """The place of an element along an axis, in kernels of small arrays."""

    axis: int
    type = weak("int")
    varies = True


@dataclass(frozen=True, eq=False)
class Step:
    """What is computed of one element: by an expression, or by a `function` of blocks."""

    spelling: Spelling
    operands: Mapping[str, Operand]
    type: ArrayType
    function: str = ""
    varies: bool = field(init=False)
    """Whether elements differ."""

    def __post_init__(self) -> None:
        varies = any(x.varies for x in self.operands.values())
        object.__setattr__(self, "varies", varies)


Operand: TypeAlias = Given | Literal | Index | Step


def speaks_of_elements(graph: Graph, node: Node) -> bool:
    """Whether a kernel may compute an elementwise call, or a sum that closes a region."""
    if not isinstance(node, Call):
        return False
    if Trait.TOTAL in node.op.traits:
        dtypes = (node.operands[0].type.dtype, node.results[0].type.dtype)
        return dtypes in [(dtype, dtype) for dtype in FLOATS]
    if Trait.ELEMENTWISE not in node.op.traits:
        return False
    try:
        read(node, [given(graph, value) for value in node.operands])
    except UnspokenError:
        return False
    return True


def given(graph: Graph, value: Value) -> Operand:
    """What a call is given from outside."""
    constant = graph.constant(value)
    if isinstance(constant, Constant):
        return Literal(constant.value, value.type)
    return Given(value)


def read(call: Call, operands: Sequence[Operand]) -> Operand:
    """What an elementwise call computes of an element; `UnspokenError` where that is not known."""
    if any(x.type.dtype not in NUMBERS for x in operands):
        raise UnspokenError(call.op.name)
    spelling = call.op.spelled("numpy", dict(call.attributes))
    spelling = spell(CHOICES.get(spelling.text, spelling.text))
    if spelling.expression is None:
        raise UnspokenError(spelling.text)
    names = dict(zip(call.op.operands, operands, strict=False))
    attributes = {name: value for name, value in call.attributes if name not in names}
    found = _Reader(names, attributes).expression(spelling.expression)
    if not isinstance(found, Step) or found in operands:
        found = Step(spell("x"), {"x": found}, found.type)
    wanted = call.results[0].type
    if not found.varies or found.type.dtype != wanted.dtype or found.type.weak:
        raise UnspokenError(spelling.text)
    return found


@dataclass
class _Reader:
    """Reads the expression of a spelling."""

    names: Mapping[str, Operand]
    attributes: Mapping[str, object]

    def expression(self, node: ast.expr) -> Operand:
        match node:
            case ast.Name(name) if name in self.names:
                return self.names[name]
            case ast.Name(name) if (number := _plain(self.attributes.get(name))) is not None:
                return _literal(number)
            case ast.Constant(int() | float() as number) if not isinstance(number, bool):
                return _literal(number)
            case ast.UnaryOp(ast.USub(), operand):
                return _negative(self.expression(operand))
            case ast.UnaryOp(ast.UAdd(), operand):
                return self.expression(operand)
            case ast.UnaryOp(ast.Invert(), operand):
                return _opposite(self.expression(operand))
            case ast.BinOp(left, operator, right):
                return _binary(operator, self.expression(left), self.expression(right))
            case ast.Compare(left, [operator], [right]) if type(operator) in COMPARISONS:
                text = COMPARISONS[type(operator)]
                return _compared(text, self.expression(left), self.expression(right))
            case ast.Call(ast.Attribute(ast.Name(name), method), arguments) if name in self.names:
                return self._method(method, self.names[name], arguments)
            case ast.Call(function, arguments, []):
                return _called(ast.unparse(function), [self.expression(a) for a in arguments])
        raise UnspokenError(ast.unparse(node))

    def _method(self, method: str, x: Operand, arguments: Sequence[ast.expr]) -> Operand:
        if method == "copy" and not arguments:
            return x
        if method == "astype" and len(arguments) == 1:
            dtype = self.attributes.get("dtype")
            if dtype in FLOATS and x.varies:
                return _as(x, str(dtype))
        raise UnspokenError(method)


def _plain(x: object) -> int | float | None:
    """A number of Python's, and no bool."""
    return x if isinstance(x, int | float) and type(x) in (int, float) else None


def _literal(number: Number) -> Literal:
    return Literal(number, weak_of(number))


def _step(text: str, dtype: str, **operands: Operand) -> Step:
    return Step(spell(text), operands, ArrayType(dtype))


def _as(x: Operand, dtype: str) -> Operand:
    """An operand in the dtype in which NumPy computes."""
    if isinstance(x, Literal):
        return Literal(x.number, ArrayType(dtype)) if _fits(x, dtype) else _refused(x)
    if x.type.weak and x.type.dtype != "float64":
        return _refused(x)  # Python's ints have no bounds
    if x.type.dtype == dtype:
        return x
    return _step(f"np.{dtype}(x)", dtype, x=x)


def _refused(x: Operand) -> Operand:
    raise UnspokenError(str(x.type))


def _fits(x: Literal, dtype: str) -> bool:
    """Whether a literal is what NumPy makes of it in a dtype."""
    number = x.number
    if isinstance(number, bool) or not isinstance(number, int | float):
        return False
    if isinstance(number, int):
        return abs(number) <= WHOLE[dtype]
    return not abs(number) > LARGEST[dtype] or abs(number) == float("inf")


def _in_floats(*operands: Operand) -> list[Operand]:
    """Operands in their common dtype, which must be one of floats; elements are among them."""
    if not any(x.varies for x in operands):
        raise UnspokenError("numbers")
    dtype, _ = promote([x.type for x in operands])
    if dtype not in FLOATS:
        raise UnspokenError(dtype)
    return [_as(x, dtype) for x in operands]


def _negative(x: Operand) -> Operand:
    if isinstance(x, Literal):
        return Literal(-x.number, x.type)
    (x,) = _in_floats(x)
    return _step("-x", x.type.dtype, x=x)


def _opposite(x: Operand) -> Operand:
    if x.type.dtype != "bool" or not x.varies:
        raise UnspokenError("~x")
    return _step("not x", "bool", x=x)


def _binary(operator: ast.operator, a: Operand, b: Operand) -> Operand:
    kind = type(operator)
    if kind in LOGIC:
        return _logic(LOGIC[kind], a, b)
    if kind is ast.Pow:
        return _power(a, b)
    a, b = _in_floats(a, b)
    if kind in OPERATORS:
        return _step(OPERATORS[kind], a.type.dtype, a=a, b=b)
    if kind in LOOPS:
        return _function(LOOPS[kind], a, b)
    raise UnspokenError(ast.dump(operator))


def _logic(text: str, a: Operand, b: Operand) -> Operand:
    if {a.type.dtype, b.type.dtype} != {"bool"} or not (a.varies and b.varies):
        raise UnspokenError(text)
    return _step(text, "bool", a=a, b=b)


def _compared(text: str, a: Operand, b: Operand) -> Operand:
    dtype, _ = promote([a.type, b.type])
    if dtype == "int64" and all(_is_small_int(x) for x in (a, b)) and (a.varies or b.varies):
        return _step(text, "bool", a=a, b=b)
    a, b = _in_floats(a, b)
    return _step(text, "bool", a=a, b=b)


def _is_small_int(x: Operand) -> bool:
    if isinstance(x, Literal):
        return type(x.number) is int and abs(x.number) < 2**31
    return x.type.dtype == "int64" and not x.type.weak


def _power(a: Operand, b: Operand) -> Operand:
    """``a ** b``: NumPy computes some powers by other means where the exponent is a number."""
    if isinstance(b, Literal):
        if b.number == 2:
            (a,) = _in_floats(a)
            return _step("a * a", a.type.dtype, a=a)
        if b.number == 0.5:
            return _called("np.sqrt", [a])
        if b.number == -1:
            return _called("np.reciprocal", [a])
        if b.number in (0, 1):
            raise UnspokenError("a ** b")
    elif not b.varies:
        raise UnspokenError("a ** b")
    return _function("power", *_in_floats(a, b))


def _called(name: str, operands: Sequence[Operand]) -> Operand:
    """A call of a function by the name that it has in spellings."""
    if name in LOGIC and len(operands) == 2:
        return _logic(LOGIC[name], *operands)
    if name == "np.where" and len(operands) == 3:
        condition, a, b = operands
        dtype, _ = promote([a.type, b.type])
        if condition.type.dtype != "bool" or dtype not in FLOATS:
            raise UnspokenError(name)
        a, b = _as(a, dtype), _as(b, dtype)
        return _step("a if condition else b", dtype, condition=condition, a=a, b=b)
    if name in COPIES and len(operands) == 1:
        return operands[0]
    if name == "np.logical_not" and len(operands) == 1:
        return _opposite(operands[0])
    floats = _in_floats(*operands)
    dtype = floats[0].type.dtype
    if any(x.type.dtype == "bool" for x in operands):
        raise UnspokenError(name)  # NumPy computes in float16
    if name in FUNCTIONS and len(floats) == (2 if FUNCTIONS[name] in BINARY else 1):
        return _function(FUNCTIONS[name], *floats)
    if len(floats) != 1:
        raise UnspokenError(name)
    x = floats[0]
    if name in ("np.abs", "abs", "np.fabs"):
        return _step("np.abs(x)", dtype, x=x)
    if name == "np.sqrt":
        return _step("np.sqrt(x)", dtype, x=x)
    if name == "np.square":
        return _step("x * x", dtype, x=x)
    if name == "np.reciprocal":
        return _step("a / x", dtype, a=_as(_literal(1.0), dtype), x=x)
    if name in TESTS:
        return _step(TESTS[name], "bool", x=x)
    raise UnspokenError(name)


def _function(name: str, *operands: Operand) -> Step:
    """A function of a block: what it is given lies in arrays, or is a number of their dtype."""
    if any(isinstance(x, Step) and not x.varies for x in operands):
        raise UnspokenError(name)  # a number that must be converted first
    dtype = operands[0].type.dtype
    given = [
        Literal(float(x.number.real), x.type) if isinstance(x, Literal) else x for x in operands
    ]
    names = ("x",) if len(operands) == 1 else ("a", "b")
    return Step(spell(name), dict(zip(names, given, strict=True)), ArrayType(dtype), name)


def behind(step: Step, known: set[Step]) -> Iterator[Step]:
    """The steps that one is computed of, each after its operands, without those that are known."""
    found: dict[Step, None] = {}

    def visit(at: Step) -> None:
        if at in known or at in found:
            return
        for x in at.operands.values():
            if isinstance(x, Step):
                visit(x)
        found[at] = None

    visit(step)
    return (each for each in found if each.varies)
