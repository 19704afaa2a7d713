"""Spellings and fragments enter; text with the right parentheses leaves, as black would have it."""

from __future__ import annotations

import ast
from dataclasses import dataclass

import black
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen import CodegenError, Slot, Spelling, Subscript, spell
from codegen.load import kernel
from codegen.spelling import (
    ABSENT,
    ATOM,
    COMPARE,
    LOWEST,
    POWER,
    PRODUCT,
    SUM,
    TERNARY,
    UNARY,
    Fragment,
    index_text,
    reached,
)


@dataclass(frozen=True)
class Tree:
    """An expression as nested spellings: what stands in the holes of `text` are other trees."""

    text: str
    holes: tuple[Tree, ...] = ()

    def rendered(self) -> Fragment:
        if not self.holes:
            return Fragment(self.text, UNARY if self.text[0] == "-" else ATOM)
        fragments = dict(zip("xyz", (hole.rendered() for hole in self.holes)))
        return spell(self.text).render(fragments)

    def meant(self) -> ast.expr:
        """The syntax tree that the rendered text must have."""
        inner = dict(zip("xyz", (hole.meant() for hole in self.holes)))

        class Fill(ast.NodeTransformer):
            def visit_Name(self, node):
                return inner.get(node.id, node)

        return Fill().visit(ast.parse(self.text, mode="eval").body)

    def value(self):
        """The value, computed from the inside out without any text of the whole."""
        inner = dict(zip("xyz", (hole.value() for hole in self.holes)))
        return eval(self.text, {"abs": abs}, inner)


BINARY = ("+", "-", "*", "/", "//", "%", "@", "**", "&", "|", "^", "<<", ">>")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=", "in", "not in", "is", "is not")
OPERATIONS = [
    *(f"x {symbol} y" for symbol in (*BINARY, *COMPARISONS, "and", "or")),
    *("-x", "+x", "~x", "not x", "x if y else z"),
    *("-x * y", "x ** -y", "(x + y) * z", "x * (y - z)"),
    *("f(x)", "np.where(x, y, z)", "x.sum(axis=y, keepdims=True)", "x.T", "x.at[y].add(z)"),
    *("x[y]", "x[y, z]", "x[..., y]", "(x, y)", "(x,)", "[x, y]", "x[y,]"),
]
LEAVES = st.sampled_from(["a", "b.c", "n0", "2", "0.5", "1e-05", "1j", "-3", "-2.5", "True"])


def trees(operations, leaves, most=8):
    def grow(children):
        return st.sampled_from(operations).flatmap(
            lambda text: st.tuples(*[children] * sum(name in text for name in "xyz")).map(
                lambda holes: Tree(text, holes)
            )
        )

    return st.recursive(leaves.map(Tree), grow, max_leaves=most)


def one_line(text):
    return black.format_str(text, mode=black.Mode(line_length=10_000))


@settings(max_examples=3 * settings.default.max_examples)
@given(trees(OPERATIONS, LEAVES))
def test_the_text_of_nested_spellings_means_their_nesting(tree):
    text = tree.rendered().text
    assert ast.dump(ast.parse(text, mode="eval").body) == ast.dump(tree.meant())


@settings(max_examples=3 * settings.default.max_examples)
@given(trees(OPERATIONS, LEAVES))
def test_the_text_of_nested_spellings_is_as_black_has_it(tree):
    line = f"value = {tree.rendered().text}\n"
    assert one_line(line) == line


INTEGERS = [
    *(f"x {symbol} y" for symbol in "+-*&|^"),
    *("x < y", "x == y", "x and y", "x or y", "-x", "~x", "not x", "x if y else z"),
    *("x - (y - z)", "-x ** 2", "(-x) ** 2", "2 ** abs(x % 3)", "x // 3 * 3", "x * (y // 3)"),
]


@settings(max_examples=3 * settings.default.max_examples)
@given(trees(INTEGERS, st.sampled_from(["0", "1", "2", "7", "-1", "-5"]), most=12))
def test_evaluating_the_text_gives_the_value_of_the_tree(tree):
    assert eval(tree.rendered().text, {"abs": abs}) == tree.value()


@pytest.mark.parametrize(
    ("text", "holes", "expected"),
    [
        ("x * y", ("a + b", SUM, "c", ATOM), "(a + b) * c"),
        ("x + y", ("a + b", SUM, "c + d", SUM), "a + b + (c + d)"),
        ("x - y", ("a", ATOM, "b * c", PRODUCT), "a - b * c"),
        ("x / y", ("a * b", PRODUCT, "c * d", PRODUCT), "a * b / (c * d)"),
        ("x @ y", ("a", ATOM, "b @ c", PRODUCT), "a @ (b @ c)"),
        ("x ** y", ("a**b", POWER, "c**d", POWER), "(a**b) ** c**d"),
        ("x ** y", ("-a", UNARY, "-b", UNARY), "(-a) ** -b"),
        ("-x", ("a**b", POWER, "", ATOM), "-(a**b)"),
        ("x < y", ("a < b", COMPARE, "c", ATOM), "(a < b) < c"),
        ("x.sum()", ("a + b", SUM, "", ATOM), "(a + b).sum()"),
        ("x.sum()", ("2.0", ATOM, "", ATOM), "(2.0).sum()"),
        ("x[y]", ("a if b else c", TERNARY, "i + 1", SUM), "(a if b else c)[i + 1]"),
        ("f(x, y)", ("a if b else c", TERNARY, "lambda: 1", LOWEST), "f(a if b else c, lambda: 1)"),
    ],
)
def test_parentheses(text, holes, expected):
    filled = {"x": Fragment(*holes[:2]), "y": Fragment(*holes[2:])}
    assert spell(text).render(filled).text == expected


def test_a_spelling_keeps_no_parentheses_of_its_own_and_needs_none():
    assert spell("(((x)) + ((y)))").render({"x": Fragment("a"), "y": Fragment("b")}).text == "a + b"


# -- attributes ---------------------------------------------------------------------------------


def test_keywords_with_their_default_are_not_printed():
    spelling = spell("x.sum(axis=axis, keepdims=keepdims)")
    both = {"x": Fragment("a"), "axis": Fragment("0"), "keepdims": Fragment("True")}
    assert spelling.render(both).text == "a.sum(axis=0, keepdims=True)"
    assert spelling.render({**both, "keepdims": ABSENT}).text == "a.sum(axis=0)"
    assert spelling.render({**both, "axis": ABSENT, "keepdims": ABSENT}).text == "a.sum()"
    assert spelling.droppable == {"axis", "keepdims"}


def test_only_what_is_a_whole_keyword_may_be_dropped():
    assert spell("np.roll(x, shift, axis)").droppable == frozenset()
    assert spell("np.f(x, axis=axis + 1, k=k)").droppable == {"k"}
    assert spell("np.f(x[k], k=k)").droppable == frozenset()
    assert spell("out = np.zeros(shape, dtype=dtype)\nout[index] = x").droppable == {"dtype"}


def test_strings_have_double_quotes_unless_they_hold_some():
    def text(spelling):
        return spell(spelling).render({}).text

    assert text("np.f('wrap')") == 'np.f("wrap")'
    assert text("""np.f('a"b')""") == """np.f('a"b')"""
    assert text("""np.f("it's")""") == """np.f("it's")"""
    assert text("np.f(None, True, 1.50, 0x10, ...)") == "np.f(None, True, 1.5, 16, ...)"


# -- slices and powers as black has them --------------------------------------------------------

PARTS = st.sampled_from(["", "1", "-2", "n", "a.b", "a + 1", "f(a)", "-n", "~n", "-a.b", "a**2"])


@given(PARTS, PARTS, PARTS)
def test_slices_are_spaced_as_black_does(lower, upper, step):
    source = f"x[{lower}:{upper}{':' + step if step else ''}]"
    text = spell(source).render({}).text
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(source))
    assert one_line(f"z = {text}\n") == f"z = {text}\n"
    assert one_line(f"z = {source}\n") == f"z = {text}\n"


@pytest.mark.parametrize(
    ("base", "exponent", "expected"),
    [
        ("x", "2", "x**2"),
        ("x", "-2", "x**-2"),
        ("x", "1e-05", "x**1e-05"),
        ("x.y", "n", "x.y**n"),
        ("5.0", "x", "5.0**x"),
        ("f(x)", "2", "f(x) ** 2"),
        ("x[0]", "2", "x[0] ** 2"),
        ("x", "f(y)", "x ** f(y)"),
    ],
)
def test_powers_of_simple_operands_are_closed_up(base, exponent, expected):
    holes = {"x": Fragment(base), "y": Fragment(exponent, UNARY)}
    assert spell("x ** y").render(holes).text == expected
    assert one_line(f"z = {base} ** {exponent}\n") == f"z = {expected}\n"


# -- subscripts ---------------------------------------------------------------------------------

INDICES = st.one_of(
    st.integers(-3, 3),
    st.none(),
    st.just(...),
    st.builds(
        slice,
        st.none() | st.integers(-3, 3),
        st.none() | st.integers(-3, 3),
        st.none() | st.sampled_from([-2, -1, 1, 2]),
    ),
    st.builds(Slot, st.integers(0, 1)),
)


class Index:
    """Gives back what stands between the brackets."""

    def __getitem__(self, item):
        return item


def normal(item):
    items = item if isinstance(item, tuple) else (item,)
    return tuple(slice(i.start, i.stop, i.step or 1) if isinstance(i, slice) else i for i in items)


@given(st.lists(INDICES, max_size=4).map(tuple))
def test_subscripts_mean_their_items(items):
    subscript = Subscript(items)
    arrays = (Fragment("i"), Fragment("j + 1", SUM))
    scope = {"x": Index(), "i": "first", "j": 1}
    meant = normal(subscript.resolve(("first", 2)))
    assert normal(eval(f"x[{subscript.render(arrays).text}]", scope)) == meant
    if items:
        assert normal(eval(subscript.render_tuple(arrays).text, scope)) == meant
    line = f"z = x[{subscript.render(arrays).text}]\n"
    assert one_line(line) == line


def test_items_of_subscripts():
    assert index_text(slice(1, None)) == "1:"
    assert index_text(slice(None, -1, 1)) == ":-1"
    assert index_text(slice(None, None, -1)) == "::-1"
    assert index_text(None) == "None" and index_text(...) == "..." and index_text(-2) == "-2"
    assert Subscript(()).render(()).text == "()"
    assert str(Subscript((0, Slot(1)))) == "Subscript((0, Slot(1)))"
    assert str(Subscript((...,))) == "Subscript((Ellipsis,))"
    assert Subscript((slice(1, 2),)).render_tuple(()).text == "slice(1, 2, None)"
    assert Subscript((slice(None, 2),)).render_tuple(()).text == "slice(2)"


# -- statements ---------------------------------------------------------------------------------


def test_texts_that_are_reached_stand_behind_what_they_call():
    texts = {
        "outer": "def outer(x):\n    return inner(x) + leaf(x)\n",
        "other": "def other(x):\n    return x\n",
        "inner": "def inner(x):\n    return leaf(x) if x else inner(x - 1)\n",
        "leaf": "def leaf(x):\n    return x\n",
    }
    assert reached(texts, {"outer", "x"}) == ["leaf", "inner", "outer"]
    assert reached(texts, {"other"}) == ["other"]
    assert reached(texts, {"x"}) == []


def test_statements_are_filled_line_by_line():
    spelling = Spelling("out = np.zeros(shape)\nout[index] += x", "x[index] = y")
    holes = {
        "out": Fragment("a"),
        "shape": Fragment("(2, n + 1)"),
        "index": Fragment("0, i"),
        "x": Fragment("b + c", SUM),
        "y": Fragment("d"),
    }
    assert spelling.render_statements(holes) == ["a = np.zeros((2, n + 1))", "a[0, i] += b + c"]
    assert spelling.render_inplace({**holes, "x": Fragment("b")}) == ["b[0, i] = d"]
    assert spelling.expression is None
    with pytest.raises(CodegenError, match="spelled by statements"):
        spelling.render(holes)
    with pytest.raises(CodegenError, match="no in-place form"):
        spell("x + y").render_inplace(holes)


@pytest.mark.parametrize("text", ["lambda: x", "x < y < z", "[i for i in x]", "f'{x}'"])
def test_what_no_spelling_needs_is_refused(text):
    with pytest.raises(CodegenError, match="not an expression of a spelling"):
        spell(text).render({})
    with pytest.raises(CodegenError, match="not a statement of a spelling"):
        spell("for i in x: pass").render_statements({})


def test_what_a_spelling_tells_of_itself():
    assert spell("x + y") is spell("x + y")
    assert spell("x + y").infix == "+" and spell("np.f(x)").infix is None
    assert spell("x * x").infix is None  # one operand, read twice
    assert spell("x * x").uses == {"x": 2}
    assert spell("y - x").operator(("x", "y")) is None
    assert spell("x - y").operator(("x", "y")) == "-"
    assert spell("np.linalg.inv(x)").call == "np.linalg.inv"
    assert spell("np.sum(x, axis=axis)").call is None and spell("x.sum()").call is None


# -- kernels: the same text, run ----------------------------------------------------------------


def test_kernels_compute_what_the_spelling_says():
    scope = {"np": np}
    x, y = np.array([1.0, 4.0]), np.array([3.0, 2.0])

    def run(text, operands, *values, **attributes):
        function = kernel(spell(text), tuple(operands.split()), tuple(attributes), scope)
        return function(*values, **attributes)

    assert np.array_equal(run("x - y", "x y", x, y), x - y)
    assert np.array_equal(run("y - x", "x y", x, y), y - x)
    assert np.array_equal(run("x * x", "x", x), x * x)
    assert np.array_equal(run("np.sqrt(x)", "x", x), np.sqrt(x))
    assert np.array_equal(run("np.subtract(y, x)", "x y", x, y), y - x)
    assert run("x.sum(axis=axis)", "x", x, axis=0) == 5.0
    assert np.array_equal(run("np.concatenate(arrays)", "*arrays", x, y), [1, 4, 3, 2])
    assert run("size + 1", "", size=2) == 3
    index = Subscript((slice(None, None, -1),))
    assert np.array_equal(run("x[index]", "x *arrays", x, index=index), x[::-1])
    at = Subscript((Slot(0),))
    assert np.array_equal(run("x[index]", "x *arrays", x, np.array([1, 1]), index=at), [4, 4])
    assert run("x[index]", "x", x, index=1) == 4.0  # an index that is no subscript
    assert np.array_equal(run("out = x.copy()\nout[index] = y", "x y", x, 7.0, index=0), [7, 4])
    assert np.array_equal(x, [1.0, 4.0])
