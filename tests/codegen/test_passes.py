"""A graph before and a graph after: every pass is tested by two texts.

Also by what it must leave alone, because every pass keeps every bit: -0.0 + 0.0 is 0.0, nan * 0 is
nan, inf - inf is nan.
"""

from __future__ import annotations

import inspect
import sys

import pytest
import toy
from graph_examples import after, clean, examples

from codegen import (
    PIPELINE,
    Client,
    CodegenError,
    Graph,
    Rewriter,
    optimize,
    parse,
    rewrite,
    verify,
)
from codegen.keys import graph_key
from codegen.passes.cse import cse
from codegen.passes.dce import dce
from codegen.passes.hoist_comparisons import hoist_comparisons
from codegen.passes.lifetime import lifetime
from codegen.passes.own_outputs import own_outputs
from codegen.passes.simplify import simplify
from codegen.passes.written_out import written_out


def expect(step, before, expected, client=toy.CLIENT):
    assert after(step, before, client) == clean(expected)


def body(lines, inputs="x: float64[n0], y: float64[n0]"):
    inner = "\n".join(f"  {line.strip()}" for line in clean(lines).splitlines())
    return f"graph f({inputs}) {{\n{inner}\n}}"


def leaves_alone(step, lines, inputs="x: float64[n0], y: float64[n0]"):
    text = body(lines, inputs)
    assert after(step, text) == text


# -- documentation ------------------------------------------------------------------------------


STEPS = {step.run.__name__: step.run for step in PIPELINE}


@pytest.mark.parametrize("name", STEPS)
def test_the_example_in_the_documentation_is_what_the_pass_does(name):
    before, expected = examples(inspect.getdoc(sys.modules[STEPS[name].__module__]))
    assert before != expected
    assert after(STEPS[name], before) == expected


def test_the_pipeline_says_why_each_pass_stands_where_it_does():
    names = [step.run.__name__ for step in PIPELINE]
    order = [names.index(name) for name in ("simplify", "cse", "own_outputs", "lifetime")]
    assert order == sorted(order)
    assert names[-1] == "lifetime" and "dce" in names[names.index("own_outputs") :]
    for step in PIPELINE:
        assert len(step.reason.split()) > 4, step
        assert inspect.getdoc(step.run)
        module = sys.modules[step.run.__module__]
        assert module.__name__ == f"codegen.passes.{step.run.__name__}"  # one file a pass


# -- dce ----------------------------------------------------------------------------------------


def test_dce_removes_what_nobody_reads_and_keeps_the_inputs():
    before = """
        %a = exp(%x)
        %b = add(%a, %y)
        %c = constant(3.0)
        %d = mul(%x, %c)
        %e = sin(%x)
        return %e
    """
    expect(dce, body(before), body("%e = sin(%x)\nreturn %e"))


def test_dce_keeps_what_a_check_looks_at():
    leaves_alone(
        dce,
        """
        %a = sum(%x, axis=None, keepdims=False)
        check %a float 2.5
        return %y
        """,
    )


def test_dce_keeps_effects_and_what_they_read():
    leaves_alone(dce, "%a = exp(%x)\n%b = told(%a)\nreturn %y")


def test_cse_leaves_effects_alone():
    leaves_alone(cse, "%a = told(%x)\n%b = told(%x)\n%c = add(%a, %b)\nreturn %c")


def test_dce_keeps_a_call_of_which_one_result_is_read():
    leaves_alone(dce, "%q, %r = divmod(%x, %y)\nreturn %r")


RAISES = "%a = exp(%x)\n%b = sin(%a, raises=True){}\nreturn %y"


def test_dce_keeps_what_the_program_has_to_raise():
    leaves_alone(dce, RAISES.format(""))
    nothing = body("return %y")
    expect(dce, body(RAISES.format("  # backward: model.py:3 | b = sin(a)")), nothing)
    expect(dce, body(RAISES.format("")), nothing, Client(raises=False))


def test_cse_keeps_what_the_program_has_to_raise():
    before = "%a = sin(%x{})\n%b = sin(%x{})\n%c = sub(%a, %b)\nreturn %c"
    leaves_alone(cse, before.format("", ", raises=True"))
    for first, second in ((", raises=True", ""), (", raises=True", ", raises=True")):
        merged = body(f"%a = sin(%x{first})\n%c = sub(%a, %a)\nreturn %c")
        expect(cse, body(before.format(first, second)), merged)


def test_dce_gives_back_a_graph_without_dead_nodes():
    graph = toy.graph(body("%a = exp(%x)\nreturn %a"))
    assert dce(graph) is graph


# -- simplify: numbers ---------------------------------------------------------------------------


def test_fold_computes_chains_of_numbers():
    before = """
        %a = constant(2.0)
        %b = constant(3)
        %c = div(%a, %b)
        %d = sub(%c, %a)
        %e = mul(%x, %d)
        return %e
    """
    folded = after(simplify, body(before)).splitlines()
    assert folded[3:-1] == [
        f"  %c = constant({2.0 / 3!r})",
        f"  %d = constant({2.0 / 3 - 2.0!r})",
        "  %e = mul(%x, %d)",
        "  return %e",
    ]


@pytest.mark.parametrize(
    "lines",
    [
        "%a = constant(2.0, slot=0)\n%b = constant(3.0)\n%c = mul(%a, %b)\nreturn %c",
        # np.float32(0.1) is not 0.1
        "%a = constant(0.1, 'float32')\n%b = constant(0.2, 'float32')\n%c = add(%a, %b)\nreturn %c",
        "%a = constant(0.1, 'float32')\n%b = constant(0.2, 'float64')\n%c = add(%a, %b)\nreturn %c",
        # NumPy divides integers as float64, Python exactly
        "%a = constant(9007199254740993, 'int64')\n%b = constant(3.0)\n%c = div(%a, %b)\nreturn %c",
        # Python raises where NumPy gives inf
        "%a = constant(1.0)\n%b = constant(0.0)\n%c = div(%a, %b)\nreturn %c",
        # bool arithmetic is not Python's
        "%a = constant(True, 'bool')\n%b = constant(True, 'bool')\n%c = add(%a, %b)\nreturn %c",
        # functions: Python's and NumPy's may differ in the last bit
        "%a = constant(2.0)\n%b = exp(%a)\nreturn %b",
        # `rsub` is spelled y - x
        "%a = constant(2.0)\n%b = constant(3.0)\n%c = rsub(%a, %b)\nreturn %c",
        # an array, whatever its elements
        "%a = constant(2.0)\n%b = full(%a, shape=(2,), dtype='float64')\n"
        "%c = add(%b, %b)\nreturn %c",
        # only known at the call; and a literal 0 would raise where it divides
        "%n = extent(size=n0, dtype='float64')\nreturn %n",
        "%n = extent(size=0, dtype='float64')\nreturn %n",
    ],
)
def test_fold_leaves_alone_what_python_computes_otherwise(lines):
    leaves_alone(simplify, lines)


def test_fold_leaves_no_look_at_a_number_that_is_what_the_trace_saw():
    before = """
        %a = constant(3, 'int64')
        %b = constant(3)
        %c = greater(%a, %b)
        check %c bool False
        check %c bool True
        %d = mul(%x, %x)
        return %d
    """
    folded = after(simplify, body(before)).splitlines()
    assert folded[-4:-1] == ["  check %c bool True", "  %d = mul(%x, %x)", "  return %d"]
    assert sum("check" in line for line in folded) == 1


def test_fold_makes_a_fixed_number_of_elements_a_literal():
    before = "%n = extent(size=12, dtype='float32')\n%m = extent(size=12, dtype='int64')\nreturn %n"
    expected = "%n = constant(12.0, 'float32')\n%m = constant(12, 'int64')\nreturn %n"
    expect(simplify, body(before), body(expected))


# -- simplify: neutral elements -----------------------------------------------------------------


def through(step, lines, inputs="x: float64[n0], y: float64[n0]"):
    """The text after the pass and the removal of what it left without a reader."""
    return str(verify(dce(step(toy.graph(body(lines, inputs)), toy.CLIENT))))


NOTHING = "%r = exp(%x)\nreturn %r"


@pytest.mark.parametrize(
    ("number", "call"),
    [
        ("1.0", "mul(%x, %c)"),
        ("1.0", "mul(%c, %x)"),
        ("1", "mul(%x, %c)"),
        ("True, 'bool'", "mul(%x, %c)"),
        ("1.0, 'float64'", "div(%x, %c)"),
        ("0.0", "sub(%x, %c)"),
        ("0", "sub(%x, %c)"),
        ("-0.0", "add(%x, %c)"),
        ("-0.0", "add(%c, %x)"),
    ],
)
def test_neutral_elements_are_dropped(number, call):
    lines = f"%c = constant({number})\n%a = {call}\n%r = exp(%a)\nreturn %r"
    assert through(simplify, lines) == body(NOTHING)


@pytest.mark.parametrize(
    ("number", "call"),
    [
        ("0.0", "add(%x, %c)"),  # -0.0 + 0.0 is 0.0
        ("0", "add(%x, %c)"),
        ("0.0", "add(%c, %x)"),
        ("-0.0", "sub(%x, %c)"),  # -0.0 - -0.0 is 0.0
        ("0.0", "sub(%c, %x)"),  # 0.0 - x is not -x
        ("1.0", "div(%c, %x)"),
        ("0.0", "mul(%x, %c)"),  # nan * 0 is nan, -1 * 0 is -0.0
        ("-1.0", "mul(%x, %c)"),
        ("1.0, slot=0", "mul(%x, %c)"),  # a parameter: 1 today
        ("nan", "mul(%x, %c)"),
        ("complex(1.0, 0.0)", "mul(%x, %c)"),  # another dtype
    ],
)
def test_what_is_not_neutral_stays(number, call):
    leaves_alone(simplify, f"%c = constant({number})\n%a = {call}\n%r = exp(%a)\nreturn %r")


@pytest.mark.parametrize(
    "lines",
    [
        "%a = sub(%x, %x)\nreturn %a",  # inf - inf is nan
        "%a = div(%x, %x)\nreturn %a",
        "%a = mul(%x, %y)\n%b = div(%a, %y)\nreturn %b",
        "%a = add(%x, %y)\n%b = sub(%a, %y)\nreturn %b",
        "%a = exp(%x)\n%b = exp(%a)\nreturn %b",
    ],
)
def test_algebra_that_does_not_hold_for_floats_is_not_used(lines):
    leaves_alone(simplify, lines)


@pytest.mark.parametrize(
    ("inputs", "number", "call"),
    [
        # the result would lose its dtype
        ("x: int32[n0]", "1.0", "mul(%x, %c)"),
        ("x: bool[n0]", "1", "mul(%x, %c)"),
        ("x: float32[n0]", "1.0, 'float64'", "mul(%x, %c)"),
        ("x: float", "1.0, 'float64'", "mul(%x, %c)"),
        # (inf + 1j) * 1 is inf + nan j
        ("x: complex128[n0]", "1", "mul(%x, %c)"),
        ("x: complex128[n0]", "-0.0", "add(%x, %c)"),
    ],
)
def test_a_neutral_element_that_changes_the_type_or_complex_numbers_stays(inputs, number, call):
    leaves_alone(simplify, f"%c = constant({number})\n%a = {call}\nreturn %a", inputs)


def test_integers_have_no_negative_zero():
    lines = "%c = constant(0)\n%a = add(%x, %c)\n%r = exp(%a)\nreturn %r"
    assert through(simplify, lines, "x: int32[n0]") == body(NOTHING, "x: int32[n0]")


# -- simplify: involutions and idempotent ops ---------------------------------------------------


def test_an_involution_done_twice_is_nothing():
    lines = "%a = neg(%x)\n%b = neg(%a)\n%c = neg(%b)\n%d = neg(%c)\n%r = exp(%d)\nreturn %r"
    assert through(simplify, lines) == body(NOTHING)


def test_an_idempotent_op_done_twice_is_done_once():
    before = """
        %a = abs(%x)
        %b = abs(%a)
        %c = clip(%b, low=0.0, high=1.0)
        %d = clip(%c, low=0.0, high=1.0)
        return %d
    """
    expected = "%a = abs(%x)\n%d = clip(%a, low=0.0, high=1.0)\nreturn %d"
    assert through(simplify, before) == body(expected).replace("%d", "%c")


def test_other_attributes_are_another_op():
    leaves_alone(
        simplify,
        """
        %a = clip(%x, low=0.0, high=1.0)
        %b = clip(%a, low=-0.0, high=1.0)
        %c = clip(%b, low=-0.0, high=1)
        return %c
        """,
    )


def test_an_idempotent_op_with_another_operand_stays():
    leaves_alone(simplify, "%a = at_least(%x, %y)\n%b = at_least(%a, %x)\nreturn %b")


# -- written_out --------------------------------------------------------------------------------

MATRICES = "x: float64[n0, n1], y: float64[n1, n2]"


def splats(lines):
    """How many splats there are behind the pass."""
    return after(written_out, body(lines, MATRICES)).count("splat(")


def test_what_only_elementwise_ops_read_is_a_splat():
    begin = "%c = constant(2.0)\n%a = spread(%c, shape=(n1, n2))\n"
    assert splats(begin + "%b = mul(%a, %y)\nreturn %b") == 1
    assert splats(begin + "%b = matmul(%x, %a)\nreturn %b") == 0
    total = "%b = sum(%a, axis=None, keepdims=False)\nreturn %b"
    assert splats(begin + total) == 1
    row = "%a = spread(%v, shape=(n1, n2))\n" + total
    assert "splat(" not in after(written_out, body(row, MATRICES + ", v: float64[n2]"))
    of_the_user = begin.replace("spread", "splat") + "%b = matmul(%x, %a)\nreturn %b"
    assert splats(of_the_user) == 1  # a view, as in NumPy


def test_views_and_loops_lead_to_what_is_read_in_order():
    view = """
        %c = constant(2.0)
        %a = spread(%c, shape=(n2, n1))
        %t = transpose(%a)
        %b = matmul(%x, %t)
        return %b
    """
    assert splats(view) == 0
    assert splats(view.replace("matmul(%x, %t)", "mul(%y, %t)")) == 1


def test_a_splat_that_a_loop_begins_with_is_an_array_where_one_is_read_in_order():
    turns = """
        graph f(x: float64[n0, n1], y: float64[n1, n2]) {
          %c = constant(2.0)
          %z = constant(0)
          %k = constant(5)
          %a = spread(%c, shape=(n1, n2))
          loop %p = %a for %t in range(%z, %k, 1) as L1
            turn
              %q = sin(%p)
              again L1 %q
            after
              %b = matmul(%x, %p)
              return %b
        }
    """
    assert "splat(" not in after(written_out, turns)
    summed = turns.replace("matmul(%x, %p)", "mul(%y, %p)")
    assert "splat(" not in after(written_out, summed)  # what turns change is an array anyway
    assert "splat(" in after(written_out, summed.replace("again L1 %q", "again L1 %p"))


# -- simplify: splats ---------------------------------------------------------------------------


def test_a_splat_to_the_shape_it_has_is_nothing():
    lines = "%a = splat(%x, shape=(n0,))\n%r = exp(%a)\nreturn %r"
    assert through(simplify, lines) == body(NOTHING)


def test_a_splat_that_meets_a_full_operand_is_left_to_broadcasting():
    before = """
        %a = sum(%x, axis=None, keepdims=False)
        %b = splat(%a, shape=(n0,))
        %c = mul(%b, %y)
        %d = sub(%c, %b)
        return %d
    """
    expected = """
        %a = sum(%x, axis=None, keepdims=False)
        %c = mul(%a, %y)
        %d = sub(%c, %a)
        return %d
    """
    assert through(simplify, before) == body(expected)


def test_an_op_on_splats_is_done_before_repeating():
    before = """
        %a = sum(%x, axis=None, keepdims=False)
        %b = splat(%a, shape=(n0,))
        %c = exp(%b)
        %d = mul(%c, %b)
        return %d
    """
    expected = """
        %a = sum(%x, axis=None, keepdims=False)
        %c~ = exp(%a)
        %d~ = mul(%c~, %a)
        %d = splat(%d~, shape=(n0,))
        return %d
    """
    assert through(simplify, before) == body(expected)


def test_a_row_and_a_column_that_were_repeated_meet_by_broadcasting():
    inputs = "x: float64[n0, 1], y: float64[n1]"
    before = """
        %a = splat(%x, shape=(n0, n1))
        %b = splat(%y, shape=(n0, n1))
        %c = add(%a, %b)
        return %c
    """
    assert through(simplify, before, inputs) == body("%c = add(%x, %y)\nreturn %c", inputs)


def test_a_number_that_got_its_dtype_by_being_repeated_keeps_it():
    leaves_alone(
        simplify,
        """
        %c = constant(0.1)
        %a = splat(%c, shape=(n0,))
        %b = add(%a, %x)
        return %b
        """,
        "x: float32[n0]",
    )


# -- names --------------------------------------------------------------------------------------


def test_what_replaces_a_named_value_takes_its_name():
    before = """
        %a~ = exp(%x)
        %c = constant(1)
        %a = mul(%a~, %c)
        %b = add(%a, %a~)
        return %b
    """
    expected = "%a = exp(%x)\n%b = add(%a, %a)\nreturn %b"
    assert through(simplify, before) == body(expected)


def test_a_name_is_not_carried_to_another_line_or_section():
    before = """
        %exp = exp(%x)  # f.py:3 | return np.exp(x)
        %c = constant(1)
        %x_bar = mul(%exp, %c)  # backward: f.py:3 | return np.exp(x)
        return %exp, %x_bar
    """
    before = before.replace("%exp", "%y~")
    expected = "%y~ = exp(%x)  # f.py:3 | return np.exp(x)\nreturn %y~, %y~"
    assert through(simplify, before) == body(expected)


def test_what_a_rule_emits_are_inner_values_of_the_line_and_the_last_has_the_name():
    def cube(r: Rewriter, call):
        if call.op.name != "pow" or call.attribute("exponent") != 3:
            return None
        (x,) = call.operands
        return r.emit(toy.OPS["mul"], r.emit(toy.OPS["square"], x), x)

    before = "%z = pow(%x, exponent=3)  # f.py:3 | z = x**3\nreturn %z"
    expected = """
        %z~ = square(%x)  # f.py:3 | z = x**3
        %z = mul(%z~, %x)  # f.py:3 | z = x**3
        return %z
    """
    expect(simplify, body(before), body(expected), Client((cube,)))


# -- rules --------------------------------------------------------------------------------------


def test_rules_apply_to_what_rules_emit():
    def halve(r: Rewriter, call):
        exponent = dict(call.attributes).get("exponent", 0)
        if exponent < 4:
            return None
        square = r.emit(toy.OPS["square"], *call.operands)
        return r.emit(toy.OPS["pow"], square, exponent=exponent // 2)

    graph = toy.graph(body("%a = pow(%x, exponent=8)\nreturn %a"))
    expected = """
        %a~ = square(%x)
        %a~.1 = square(%a~)
        %a = pow(%a~.1, exponent=2)
        return %a
    """
    assert str(rewrite(graph, (halve,))) == body(expected)


def test_a_rule_that_changes_the_type_is_refused_by_name():
    def wrong(r: Rewriter, call):
        return r.emit(toy.OPS["sum"], *call.operands) if call.op.name == "exp" else None

    with pytest.raises(CodegenError, match=r"the rule wrong replaces exp of type float64\[n0\] by"):
        rewrite(toy.graph(body(NOTHING)), (wrong,))


def test_a_parameter_is_not_a_number_to_rules():
    seen = []

    def look(r: Rewriter, call):
        seen.append([r.number(value) for value in call.operands])

    lines = "%a = constant(2.0, slot=0)\n%b = constant(3.0)\n%c = mul(%a, %b)\nreturn %c"
    graph = toy.graph(body(lines))
    assert graph_key(rewrite(graph, (look,))) == graph_key(graph)
    assert seen == [[None, 3.0]]


# -- cse ----------------------------------------------------------------------------------------


def test_cse_merges_equal_calls_in_any_order_of_commuting_operands():
    before = """
        %a = mul(%x, %y)
        %b = mul(%y, %x)
        %c = sub(%a, %b)
        %d = sub(%b, %a)
        return %c, %d
    """
    expect(cse, body(before), body("%a = mul(%x, %y)\n%c = sub(%a, %a)\nreturn %c, %c"))


@pytest.mark.parametrize(
    "lines",
    [
        "%a = sub(%x, %y)\n%b = sub(%y, %x)\nreturn %a, %b",
        "%a = sum(%x, axis=None, keepdims=False)\n"
        "%b = sum(%x, axis=0, keepdims=False)\nreturn %a, %b",
        "%a = clip(%x, low=0.0, high=1.0)\n%b = clip(%x, low=-0.0, high=1.0)\nreturn %a, %b",
        "%a = clip(%x, low=0, high=1)\n%b = clip(%x, low=0, high=1.0)\nreturn %a, %b",
        "%a = pow(%x, exponent=1)\n%b = pow(%x, exponent=True)\nreturn %a, %b",
        # numbers that are equal for Python and not the same
        "%a = constant(1)\n%b = constant(1.0)\n%c = constant(1.0, 'float32')\n"
        "%d = constant(True, 'bool')\n%e = constant(1.0, slot=0)\n%g = constant(1.0, slot=1)\n"
        "return %a, %b, %c, %d, %e, %g",
        "%a = constant(0.0)\n%b = constant(-0.0)\nreturn %a, %b",
    ],
)
def test_cse_leaves_alone_what_differs(lines):
    leaves_alone(cse, lines)


def test_cse_merges_numbers_of_one_type_and_what_is_computed_from_them():
    before = """
        %a = constant(nan)
        %b = constant(nan)
        %c = mul(%x, %a)
        %d = mul(%x, %b)
        %e = constant(2.5, slot=0)
        %g = constant(2.5, slot=0)
        %h = add(%e, %c)
        %i = add(%d, %g)
        return %h, %i
    """
    expected = """
        %a = constant(nan)
        %c = mul(%x, %a)
        %e = constant(2.5, slot=0)
        %h = add(%e, %c)
        return %h, %h
    """
    expect(cse, body(before), body(expected))


def test_cse_merges_calls_with_several_results():
    before = "%a, %b = divmod(%x, %y)\n%c, %d = divmod(%x, %y)\n%e = add(%b, %c)\nreturn %e, %d"
    expected = "%a, %b = divmod(%x, %y)\n%e = add(%b, %a)\nreturn %e, %b"
    expect(cse, body(before), body(expected))


def test_cse_leaves_each_writer_a_new_array():
    before = """
        %a = zeros(shape=(n0,))
        %b = setitem(%a, %x, index=Subscript((slice(1, 3, None),)))
        %c = zeros(shape=(n0,))
        %d = setitem(%c, %y, index=Subscript((slice(1, 3, None),)))
        %e = zeros(shape=(n0,))
        %g = zeros(shape=(n0,))
        %h = add(%e, %g)
        return %b, %d, %h
    """
    expected = before.replace("        %g = zeros(shape=(n0,))\n", "").replace("%g", "%e")
    expect(cse, body(before), body(expected))


def test_cse_looks_through_lengths_that_are_assumed_equal():
    graph = toy.graph(
        body("%a = splat(%s, shape=(n0,))\n%b = splat(%s, shape=(n1,))\nreturn %a, %b").replace(
            "y: float64[n0]", "y: float64[n1], s: float64[]"
        )
    )
    assert graph_key(cse(graph)) == graph_key(graph)
    sizes = graph.sizes
    sizes._learn("n1", sizes.resolve(graph.inputs[0].type.shape[0]))
    merged = cse(graph)
    assert len(merged.nodes) == 1 and merged.outputs[0] is merged.outputs[1]


def test_cse_gives_the_kept_call_the_name_that_only_the_other_has():
    """The first is an inner value, the second is named: readers of both find the renamed one."""
    before = "%a~ = exp(%x)\n%b = exp(%x)\n%c = mul(%a~, %b)\nreturn %c"
    expect(cse, body(before), body("%b = exp(%x)\n%c = mul(%b, %b)\nreturn %c"))


def test_cse_keeps_checks_and_their_order():
    before = """
        %a = sum(%x, axis=None, keepdims=False)
        check %a bool True
        %b = sum(%x, axis=None, keepdims=False)
        check %b float 2.0
        return %b
    """
    expected = """
        %a = sum(%x, axis=None, keepdims=False)
        check %a bool True
        check %a float 2.0
        return %a
    """
    expect(cse, body(before), body(expected))


# -- own ----------------------------------------------------------------------------------------


def test_own_copies_what_belongs_to_the_caller():
    before = "%a = getitem(%x, index=Subscript((slice(1, None, None),)))\nreturn %x, %a, %y, %y"
    expected = """
        %a = getitem(%x, index=Subscript((slice(1, None, None),)))
        %x.1 = copy(%x)
        %a.1 = copy(%a)
        %y.1 = copy(%y)
        %y.2 = copy(%y)
        return %x.1, %a.1, %y.1, %y.2
    """
    expect(own_outputs, body(before), body(expected))


def test_own_copies_what_two_outputs_share():
    inputs = "x: float64[n0, n1]"
    before = "%a = exp(%x)\n%b = transpose(%a)\nreturn %a, %b, %a"
    expected = """
        %a = exp(%x)
        %b = transpose(%a)
        %b.1 = copy(%b)
        %a.1 = copy(%a)
        return %a, %b.1, %a.1
    """
    expect(own_outputs, body(before, inputs), body(expected, inputs))


def test_own_lets_a_view_of_the_programs_own_memory_be():
    lines = "%a = exp(%x)\n%b = transpose(%a)\nreturn %b"
    leaves_alone(own_outputs, lines, "x: float64[n0, n1]")


def test_own_copies_a_row_whose_number_is_known_at_the_call():
    before = "%a = take(%x, %k)\nreturn %a"
    inputs = "x: float64[n0, n1], k: int64[]"
    after = "%a = take(%x, %k)\n%a.1 = copy(%a)\nreturn %a.1"
    expect(own_outputs, body(before, inputs), body(after, inputs))
    leaves_alone(own_outputs, before, "x: float64[n0, n1], k: int64[n2]")


def test_own_makes_a_whole_array_of_what_is_repeated():
    before = """
        %c = constant(1.0)
        %a = splat(%c, shape=(n0,))
        %b = sum(%x, axis=None, keepdims=True)
        %d = splat(%b, shape=(n0,))
        return %a, %d
    """
    expected = """
        %c = constant(1.0)
        %a = splat(%c, shape=(n0,))
        %b = sum(%x, axis=None, keepdims=True)
        %d = splat(%b, shape=(n0,))
        %a.1 = full(%c, shape=(n0,), dtype='float64')
        %d.1 = copy(%d)
        return %a.1, %d.1
    """
    expect(own_outputs, body(before), body(expected))


def test_own_copies_views_of_what_is_repeated_and_of_numbers():
    before = """
        %b = sum(%x, axis=None, keepdims=False)
        %c = splat(%b, shape=(n0, 2))
        %d = transpose(%c)
        return %d
    """
    expected = before.replace("return %d", "%d.1 = copy(%d)\nreturn %d.1")
    expect(own_outputs, body(before), body(expected))


def test_own_leaves_scalars_that_it_made_alone():
    leaves_alone(
        own_outputs, "%a = sum(%x, axis=None, keepdims=False)\n%b = constant(1.0)\nreturn %a, %b"
    )


def test_own_does_nothing_without_the_clients_ops():
    text = body("return %x, %x")
    assert after(own_outputs, text, Client()) == text


# -- narrow -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lines",
    [
        # the backward reads the array itself, or a view of it
        "%a = exp(%x)\n%y = sin(%a)\n%m = greater(%a, %c)  # backward:\n"
        "%b = where(%m, %a, %y)  # backward:\nreturn %y, %b",
        "%a = exp(%x)\n%y = sin(%a)\n%m = greater(%a, %c)  # backward:\n"
        "%v = transpose(%a)  # backward:\n%b = where(%m, %v, %y)  # backward:\nreturn %y, %b",
        # it is returned, or an argument
        "%a = exp(%x)\n%y = sin(%a)\n%m = greater(%a, %c)  # backward:\n"
        "%b = where(%m, %x, %y)  # backward:\nreturn %a, %b",
        "%y = sin(%x)\n%m = greater(%x, %c)  # backward:\n"
        "%b = where(%m, %y, %y)  # backward:\nreturn %y, %b",
        # it is compared with another array
        "%a = exp(%x)\n%y = sin(%a)\n%m = greater(%a, %x)  # backward:\n"
        "%b = where(%m, %x, %y)  # backward:\nreturn %y, %b",
        # nobody reads it before
        "%a = exp(%x)\n%y = sin(%x)\n%m = greater(%a, %c)  # backward:\n"
        "%b = where(%m, %x, %y)  # backward:\nreturn %y, %b",
        # the forward reads it once more behind the comparison
        "%a = exp(%x)\n%y = sin(%a)\n%m = greater(%a, %c)  # backward:\n"
        "%b = where(%m, %x, %y)  # backward:\n%z = sin(%a)\nreturn %y, %b, %z",
    ],
)
def test_narrow_leaves_what_is_kept_anyway(lines):
    leaves_alone(hoist_comparisons, f"%c = constant(2.0)\n{lines}", "x: float64[n0]")


def test_narrow_keeps_no_more_than_the_array():
    """Truth values of nine comparisons take more than a float64."""
    numbers = [f"%c{i} = constant({i}.0)" for i in range(9)]
    asked = [f"%m{i} = greater(%a, %c{i})  # backward:" for i in range(9)]
    reads = [f"%b{i} = where(%m{i}, %x, %y)  # backward:" for i in range(9)]
    shown = ", ".join(f"%b{i}" for i in range(9))
    text = [*numbers, "%a = exp(%x)", "%y = sin(%a)", *asked, *reads, f"return %y, {shown}"]
    leaves_alone(hoist_comparisons, "\n".join(text), "x: float64[n0]")
    fewer = [line for line in text if not line.startswith(("%m8", "%b8"))]
    fewer[-1] = fewer[-1].replace(", %b8", "")
    moved = after(hoist_comparisons, body("\n".join(fewer), "x: float64[n0]"))
    assert moved.index("greater(%a, %c7)") < moved.index("sin(%a)")


# -- lifetime -----------------------------------------------------------------------------------

TWO = "x: float64[n0, n1], y: float64[n0, n1], v: float64[n1]"
TAKEN = "x: float64[n0, n1], k: int64[]"


def test_lifetime_overwrites_operands_that_die():
    before = """
        %a = exp(%x)
        %b = sin(%a)
        %c = mul(%y, %b)
        %d = sub(%c, %c)
        return %d
    """
    expected = """
        %a = exp(%x)
        %b = sin(%a, reuse=0)
        %c = mul(%y, %b, reuse=1)
        %d = sub(%c, %c, reuse=0)
        return %d
    """
    expect(lifetime, body(before), body(expected))


def test_lifetime_asks_for_each_call_whether_its_result_is_new():
    lines = "%a = take(%x, %k)\n%b = sin(%a)\n%c = sort(%b, falling=False)\n%d = exp(%c)"
    expected = "%a = take(%x, %k)\n%b = sin(%a, reuse=0)\n%c = sort(%b, falling=False)"
    expected += "\n%d = exp(%c, reuse=0)"
    inputs = "x: float64[n0, n1], k: int64[n2]"
    expect(lifetime, body(f"{lines}\nreturn %d", inputs), body(f"{expected}\nreturn %d", inputs))


def test_lifetime_overwrites_inputs_that_only_this_graph_reads():
    graph = parse(body("%a = sin(%x)\n%b = mul(%a, %y)\nreturn %b"), toy.OPS)
    x, y = graph.inputs
    spent = verify(lifetime(graph.replace(spent=frozenset([x])), ordered=(x, y)))
    assert [n.reuse for n in spent.nodes] == [0, 0]
    assert [n.reuse for n in lifetime(graph, ordered=(x, y)).nodes] == [None, 0]


@pytest.mark.parametrize(
    ("lines", "inputs"),
    [
        # read later, by itself or through a view
        ("%a = exp(%x)\n%b = sin(%a)\n%c = sub(%x, %a)\n%d = sub(%x, %b)\nreturn %c, %d", TWO),
        ("%a = exp(%x)\n%b = transpose(%a)\n%c = neg(%a)\nreturn %b, %c", TWO),
        # returned
        ("%a = exp(%x)\n%b = sin(%a)\nreturn %a, %b", TWO),
        # not the program's own: an input, a view of one, a splat
        ("%b = sin(%x)\nreturn %b", TWO),
        ("%a = transpose(%x)\n%b = sin(%a)\nreturn %b", TWO),
        ("%a = splat(%v, shape=(n0, n1))\n%b = sin(%a)\nreturn %b", TWO),
        # another shape or dtype
        ("%a = exp(%v)\n%b = add(%a, %x)\nreturn %b", TWO),
        ("%a = exp(%x)\n%b = greater(%a, %a)\nreturn %b", TWO),
        ("%a = exp(%x)\n%b = mul(%a, %y)\nreturn %b", "x: float32[n0], y: float64[n0]"),
        # a NumPy scalar
        ("%a = exp(%x)\n%b = sin(%a)\nreturn %b", "x: float64[]"),
        # not an op that can write into an operand
        ("%a = exp(%x)\n%b = square(%a)\nreturn %b", TWO),
        ("%a = exp(%x)\n%b = transpose(%a)\nreturn %b", TWO),
        # the other operand's layout is not known: it decides that of the result
        ("%a = exp(%x)\n%b = mul(%a, %y)\nreturn %b", TWO),
        # a view where the index is a number, an array that lies backwards
        ("%a = take(%x, %k)\n%b = sin(%a)\nreturn %b", TAKEN),
        ("%c = exp(%x)\n%a = take(%c, %k)\n%b = sin(%c)\nreturn %a, %b", TAKEN),
        ("%a = sort(%x, falling=True)\n%b = sin(%a)\nreturn %b", "x: float64[n0]"),
    ],
)
def test_lifetime_keeps_memory_that_must_stay(lines, inputs):
    leaves_alone(lifetime, lines, inputs)


def test_lifetime_knows_layouts_that_are_c_order_whatever_the_inputs_are():
    inputs = "x: float64[n0, n1], w: float64[n1, n1], v: float64[n1]"
    before = """
        %a = matmul(%x, %w)
        %b = mul(%a, %x)
        %c = add(%b, %v)
        %d = mul(%x, %c)
        return %d
    """
    expected = """
        %a = matmul(%x, %w)
        %b = mul(%a, %x, reuse=0)
        %c = add(%b, %v, reuse=0)
        %d = mul(%x, %c, reuse=1)
        return %d
    """
    expect(lifetime, body(before, inputs), body(expected, inputs))


def test_lifetime_lets_updates_write_in_place():
    before = """
        %a = exp(%x)
        %b = setitem(%a, %y, index=Subscript((slice(None, None, None),)))
        %c = setitem(%b, %b, index=Subscript((slice(None, None, None),)))
        return %c
    """
    expected = before.replace("%a, %y, index", "%a, %y, index").splitlines()
    expected[2] = expected[2][:-1] + ", reuse=0)"
    expect(lifetime, body(before), body("\n".join(expected)))


def test_lifetime_forgets_what_was_marked_before():
    lines = "%a = exp(%x)\n%b = sin(%a, reuse=0)\n%c = mul(%a, %y)\nreturn %b, %c"
    text = body(lines, TWO)
    marked = toy.graph(text)
    assert str(verify(lifetime(marked))) == text.replace(", reuse=0", "")


# -- the whole pipeline -------------------------------------------------------------------------

PROGRAMS = {
    "chain": body(
        """
        %a = exp(%x)
        %c = constant(2.0)
        %b = mul(%a, %c)
        %d = exp(%x)
        %e = add(%b, %d)
        %s = sum(%e, axis=None, keepdims=False)
        %n = extent(size=n0, dtype='float64')
        %m = div(%s, %n)
        return %m, %e
        """
    ),
    "views": body(
        """
        %a = transpose(%x)
        %b = matmul(%a, %x)
        %c = splat(%v, shape=(n1, n1))
        %d = mul(%b, %c)
        %e = transpose(%d)
        return %e, %a, %v
        """,
        TWO,
    ),
    "updates": body(
        """
        %a = exp(%x)
        %c = constant(0.0)
        %b = setitem(%a, %c, index=Subscript((0,)))
        %d = getitem(%b, index=Subscript((slice(None, None, -1),)))
        check %c bool False
        %q, %r = divmod(%d, %y)
        %e = where(%q, %r, %y)
        return %e, %b
        """
    ),
    "numbers": body(
        """
        %a = constant(2.5, slot=1)
        %b = constant(7.5, slot=0)
        %c = constant(3.0)
        %d = constant(4.0)
        %e = mul(%c, %d)
        %g = mul(%a, %e)
        %h = add(%g, %b)
        return %h
        """,
        "x: float64[n0]",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_optimizing_twice_changes_nothing_more(name):
    once = optimize(toy.graph(PROGRAMS[name]), toy.CLIENT, check=True)
    assert str(optimize(once, toy.CLIENT, check=True)) == str(once)


@pytest.mark.parametrize("name", PROGRAMS)
def test_optimizing_is_deterministic_and_leaves_its_argument_as_it_is(name):
    graph = toy.graph(PROGRAMS[name])
    before = str(graph)
    texts = {str(optimize(graph, toy.CLIENT)) for _ in range(3)}
    texts.add(str(optimize(toy.graph(PROGRAMS[name]), toy.CLIENT)))
    assert len(texts) == 1
    assert str(graph) == before == PROGRAMS[name]


@pytest.mark.parametrize("name", PROGRAMS)
def test_inputs_parameters_and_types_of_outputs_stay(name):
    graph = toy.graph(PROGRAMS[name])
    optimized: Graph = optimize(graph, toy.CLIENT, check=True)
    assert optimized.inputs == graph.inputs
    for before, now in zip(graph.outputs, optimized.outputs, strict=True):
        assert now.type == before.type
    kept = {slot: number for slot, number in enumerate(optimized.numbers) if number}
    assert all(graph.numbers[slot] == number for slot, number in kept.items())


def test_parameters_keep_their_slots_when_others_are_dead():
    lines = "%a = constant(2.5, slot=0)\n%b = constant(7.5, slot=2)\n%c = mul(%x, %b)\nreturn %c"
    graph = parse(body(lines), toy.OPS)
    assert graph.numbers == (2.5, 0, 7.5)
    assert optimize(graph, toy.CLIENT, check=True).numbers == (0, 0, 7.5)
