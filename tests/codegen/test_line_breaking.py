"""Random statements of the emitters' grammar are split as black splits them."""

import random
import re

import black
import pytest

from codegen.emit.line_breaking import split
from codegen.emit.typed_literals import Constants
from codegen.spelling import Fragment

NAMES = ("x", "w1", "h_bar", "weights", "np.pi", "layers_0_weight_bar", "a_rather_long_name_of_x")
NUMBERS = ("2", "0.5", "1e-05", "3j", "np.inf", "None", "...")
BINARY = ("+", "-", "*", "/", "//", "%", "@", "**", "&", "|", "^", "<<", "==", "<", ">=", "is")


def flat(statement):
    """The statement on one line, as black writes it."""
    return written_by_black(statement, 100_000)[0]


def written_by_black(statement, width):
    before = "if x:\n    pass\n" if statement.startswith("elif ") else ""
    after = "\n    pass" if statement.endswith(":") else ""
    text = black.format_str(before + statement + after, mode=black.Mode(line_length=width))
    return tuple(text.splitlines()[before.count("\n") : -1 if after else None])


class Writer:
    """Writes random Python as emitters do: with the parentheses that it needs."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def several(self, depth, least=1, most=4):
        count = self.random.randint(least, most)
        return ", ".join(self.expression(depth - 1) for _ in range(count))

    def operand(self, depth):
        text = self.expression(depth - 1)
        return text if text.replace("_", "").replace(".", "").isalnum() else f"({text})"

    def expression(self, depth):
        kind = self.random.choice(KINDS) if depth > 0 else "name"
        match kind:
            case "name":
                return self.random.choice(NAMES)
            case "number":
                return self.random.choice(NUMBERS)
            case "chain":
                symbol = self.random.choice(("+", "-", "*", "and", "or", "@"))
                count = self.random.randint(2, 4)
                return f" {symbol} ".join(self.operand(depth) for _ in range(count))
            case "binary":
                symbol = self.random.choice(BINARY)
                return f"{self.operand(depth)} {symbol} {self.operand(depth)}"
            case "unary":
                return f"{self.random.choice(('-', '~', 'not '))}({self.operand(depth)})"
            case "call":
                function = self.random.choice(("np.tanh", "f", "np.linalg.solve", "take_windows"))
                more = self.random.choice(("", "", ", axis=0", ", keepdims=True", ', mode="same"'))
                return f"{function}({self.several(depth)}{more})"
            case "method":
                base = self.random.choice(("", ".T", "[0]"))
                return f"({self.expression(depth - 1)}){base}.sum({self.several(depth, 0)})"
            case "subscript":
                item = self.random.choice(("0", ":, None", "..., 1:", self.several(depth)))
                return f"({self.expression(depth - 1)})[{item}]"
            case "star":
                return f"len(range(*slice(None, None, 2).indices({self.several(depth, 1, 1)})))"
            case "tuple":
                items = [self.expression(depth - 1) for _ in range(self.random.randint(1, 4))]
                return f"({', '.join(items)}{',' * (len(items) == 1)})"
            case "list":
                return f"[{self.several(depth, 0)}]"
            case "dict":
                return (
                    f'{{"one": {self.expression(depth - 1)}, "another": {self.several(0, 1, 1)}}}'
                )
        raise AssertionError(kind)

    def statement(self):
        depth = self.random.randint(1, 4)
        value = self.expression(depth)
        match self.random.choice(STATEMENTS):
            case "assignment":
                return f"{self.random.choice(NAMES[:4])} = {value}"
            case "several":
                return f"first_result, second_result = {value}"
            case "item":
                return f"x_bar[{self.several(1)}] {self.random.choice(('=', '+=', '*='))} {value}"
            case "return":
                return f"return {value}"
            case "results":
                return f"return {value}, {self.several(depth, 1, 3)}"
            case "if":
                return f"{self.random.choice(('if', 'elif'))} {value}:"
            case "for":
                return f"for i in range({self.several(depth)}):"
            case "def":
                names = [f"{self.random.choice(NAMES[:4])}_{i}" for i in range(depth * 3)]
                return f"def f({', '.join([*names, *self.random.choice(((), ('*', 'c')))])}):"
            case "call":
                return f"np.add.at({self.several(depth)}, {value}, out=x)"
        raise AssertionError


KINDS = ("name", "number", *("chain", "binary") * 2, "unary", *("call",) * 3)
KINDS += ("method", "subscript", "star", "tuple", "list", "dict")
STATEMENTS = ("assignment", "assignment", "several", "item", "return", "results")
STATEMENTS += ("if", "for", "def", "call")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(40))
def test_random_statements_are_split_as_black_splits_them(seed):
    write = Writer(seed)
    for _ in range(15):
        statement = flat(write.statement())
        for width in write.random.sample(range(20, 88), 2):
            target = re.match(r".*? [-+*/]?= ", statement)
            if target and len(target[0]) + 1 > width:
                assert split(statement, width) is None
            elif len(statement) > width:
                assert split(statement, width) == written_by_black(statement, width)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(20))
def test_names_of_constants_are_split_as_the_literals_are(seed):
    """With exponents, whose operands close up where they are literals, they are not asked for."""
    write = Writer(seed)
    for _ in range(20):
        statement = flat(write.statement()).replace("**", "//")
        constants = Constants()
        named = statement
        for text in set(re.findall(r"(?<![\w.])\d[\d.]*(?:e-05)?(?![\w.])", statement)):
            name = constants.name(float(text), "float64", Fragment(text)).text
            named = re.sub(rf"(?<![\w.]){re.escape(text)}(?![\w.])", name, named)
        for width in write.random.sample(range(20, 88), 2):
            lines = split(statement, width)
            found = split(named, width)
            assert (lines is None) == (found is None)
            if found is not None:
                assert tuple(map(constants.read, found)) == lines


@pytest.mark.parametrize(
    "statement",
    [
        "x = aaaaaaaaaaaaaaaa if bbbbbbbbbbbbbbbbbbb else cccccccccccccccccc",
        "x = [aaaaaaaaaaaaaaaaaaaaaaa for bbbbbbbbbbbbbbbbbb in ccccccccccc]",
        "x[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbb] = cccccccccccccc",
        "x = lambda aaaaaaaaaaaaaaaaaaaaaaa: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
        "x = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' 'bbbbbbbbbbbbbbbbbbbbbbbbb'",
        "x = f(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbb,)",
        "raise ValueError(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbb)",
        'x = "\N{CJK UNIFIED IDEOGRAPH-4E00}aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" + bbbbbbbbbbbbbbb',
    ],
)
def test_other_statements_are_left_to_black(statement):
    assert split(statement, 40) is None
