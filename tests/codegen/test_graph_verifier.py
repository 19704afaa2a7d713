"""Graphs with one invariant broken enter; the verifier says which."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest
import toy

import tracegrad as tg
from codegen import (
    ArrayType,
    Call,
    Check,
    Constant,
    Frame,
    Origin,
    Sizes,
    Value,
    VerifyError,
    passes,
    verify,
)
from codegen.sizes import add, symbol

TEXT = """
    graph f(x: float64[n0], y: float64[n0]) {
      %c = constant(2.5, slot=0)
      %a = exp(%x)
      %b = mul(%a, %c, reuse=0)
      %s = sum(%b, axis=None, keepdims=False)
      check %s bool True
      %q, %r = divmod(%b, %y)
      return %q, %s
    }
"""


def sound():
    return toy.graph(dedent(TEXT).strip())


def with_node(graph, index, **changes):
    """The graph with one node changed; its results stay the same values unless given."""
    nodes = list(graph.nodes)
    nodes[index] = replace(nodes[index], **changes)
    return graph.replace(nodes=tuple(nodes))


def without(graph, index):
    return graph.replace(nodes=graph.nodes[:index] + graph.nodes[index + 1 :])


def stranger(dtype="float64", *shape):
    return Value(ArrayType(dtype, shape), Origin("z", True))


def broken(graph, message):
    with pytest.raises(VerifyError, match=message):
        verify(graph)


def test_a_sound_graph_comes_back():
    graph = sound()
    assert verify(graph) is graph


def test_operands_are_made_before():
    graph = sound()
    broken(without(graph, 1), r"mul: operand <a: float64\[n0\]> is not made before it")
    first, second = graph.nodes[1:3]
    swapped = (graph.nodes[0], second, first, *graph.nodes[3:])
    broken(graph.replace(nodes=swapped), r"mul: operand <a: float64\[n0\]> is not made before it")
    broken(with_node(graph, 4, operand=stranger()), "check: operand <z: .*> is not made before it")


def test_values_are_made_once():
    graph = sound()
    broken(graph.replace(nodes=(*graph.nodes, graph.nodes[1])), r"<a: float64\[n0\]> is made twice")
    broken(graph.replace(inputs=(graph.inputs[0],) * 2), r"<x: float64\[n0\]> is made twice")
    results = (graph.inputs[1], graph.nodes[5].results[1])
    broken(with_node(graph, 5, results=results), r"<y: float64\[n0\]> is made twice")


def test_outputs_are_made():
    graph = sound()
    broken(graph.replace(outputs=(stranger(),)), r"output <z: float64\[\]> is not made by the")


def test_calls_have_the_declared_attributes():
    graph = sound()
    declared = r"declared \('axis', 'keepdims'\)"
    broken(with_node(graph, 3, attributes=()), rf"sum: attributes \(\), {declared}")
    swapped = with_node(graph, 3, attributes=(("keepdims", False), ("axis", None)))
    broken(swapped, rf"sum: attributes \('keepdims', 'axis'\), {declared}")
    unset = with_node(graph, 3, attributes=(("axis", ...), ("keepdims", False)))
    broken(unset, "sum: the attribute 'axis' has no value")


def test_calls_have_the_declared_number_of_operands():
    graph = sound()
    x, y = graph.inputs
    broken(with_node(graph, 1, operands=(x, y)), r"exp: 2 operands, declared \('x',\)")
    broken(with_node(graph, 5, operands=(x,)), r"divmod: 1 operands, declared \('x', 'y'\)")
    several = toy.graph(
        "graph f(x: float64[n0]) {\n  %a = concat(%x, %x, %x, axis=0)\n"
        "  %b = getitem(%a, index=Subscript((0,)))\n  return %b\n}"
    )
    verify(several)
    broken(with_node(several, 1, operands=()), r"getitem: 0 operands, declared \('x', '\*arrays'\)")


def test_results_have_the_types_that_the_rule_gives():
    graph = sound()
    (a,) = graph.nodes[1].results

    def made(**changes):
        value = Value(replace(a.type, **changes), a.origin)
        return with_node(graph, 1, results=(value,)).replace(outputs=())

    says = r"the type rule says float64\[n0\]"
    broken(made(dtype="float32"), rf"exp: result is float32\[n0\], {says}")
    broken(made(shape=()), rf"exp: result is float64\[\], {says}")
    broken(made(shape=(symbol("n1"),)), rf"exp: result is float64\[n1\], {says}")
    broken(made(shape=(7,)), rf"exp: result is float64\[7\], {says}")
    broken(made(weak=True), "exp: result is float, the type rule says")
    broken(with_node(graph, 5, results=(stranger(),)), "divmod: 1 results, the type rule gives 2")


def with_wrong_type(graph):
    """The graph with a call that is new, and makes what its rule does not say."""
    (old,) = graph.nodes[1].results
    made = Value(ArrayType("float32", old.type.shape), old.origin)
    return graph.replace(nodes=(replace(graph.nodes[1], results=(made,)),), outputs=(made,))


def test_types_of_calls_that_were_verified_are_not_asked_for_again():
    graph = sound()
    wrong = with_wrong_type(graph)
    with pytest.raises(VerifyError, match="result is float32"):
        verify(wrong, graph)
    with pytest.raises(VerifyError, match="result is float32"):
        verify(wrong, wrong.replace(sizes=wrong.sizes.copy()))  # of which less may be known
    verify(wrong, wrong)


@pytest.mark.parametrize("place", [0, 1])
def test_what_any_pass_makes_is_verified(place, monkeypatch):
    faulty = passes.Pass(lambda graph, client: with_wrong_type(graph), "breaks the graph")
    steps = [passes.Pass(lambda graph, client: graph, "changes nothing")]
    steps.insert(place, faulty)
    monkeypatch.setattr(passes, "pipeline", lambda graph, client: tuple(steps))
    passes.optimize(sound(), toy.CLIENT)
    with pytest.raises(VerifyError, match="result is float32"):
        passes.optimize(sound(), toy.CLIENT, check=True)


def test_operands_are_what_the_rule_takes():
    graph = toy.graph(
        "graph f(x: float64[n0, n1], y: float64[n1, n2]) {\n  %a = matmul(%x, %y)\n  return %a\n}"
    )
    refused = with_node(graph, 0, operands=graph.inputs[::-1])
    broken(refused, "matmul: the type rule refuses the operands: matmul: cannot contract")


def test_verifying_assumes_nothing():
    """Lengths that happen to be equal in the trace are not equal until something assumed it."""
    sizes = Sizes()
    x, y = (Value(ArrayType("float64", (sizes.new(4),)), Origin(name, True)) for name in "xy")
    call = Call(toy.OPS["add"], (x, y), (), (stranger("float64", x.type.shape[0]),))
    graph = toy.graph("graph f() {\n  return\n}").replace(
        inputs=(x, y), nodes=(call,), sizes=sizes, frame=Frame(("x", "y"), ("x", "y"))
    )
    broken(graph, "add: the type rule refuses the operands: shapes .* do not broadcast")
    assert sizes.guards == []
    assert sizes.same(x.type.shape[0], y.type.shape[0])
    verify(graph)
    assert len(sizes.guards) == 1


def test_lengths_are_compared_as_they_are_known():
    sizes = Sizes()
    x = Value(ArrayType("float64", (sizes.new(2),)), Origin("x", True))
    n0 = x.type.shape[0]
    result = Value(ArrayType("float64", (add(n0, 1),)), Origin("y", True))
    graph = toy.graph("graph f() {\n  return\n}").replace(
        inputs=(x,),
        nodes=(Call(toy.OPS["exp"], (x,), (), (result,)),),
        sizes=sizes,
        frame=Frame(("x",), ("x",)),
    )
    broken(graph, r"exp: result is float64\[1 \+ n0\]")
    sizes.fix(n0)
    broken(graph, r"exp: result is float64\[1 \+ n0\]")


def test_constants_are_scalars_and_a_slot_is_one_number():
    graph = sound()
    (c,) = graph.nodes[0].results
    shaped = Constant(2.5, Value(c.type.with_shape((1,)), c.origin), 0)
    broken(graph.replace(nodes=(shaped,), outputs=()), "constant 2.5 has a shape")
    again = Constant(2.5, Value(c.type, c.origin), 0)
    verify(graph.replace(nodes=(*graph.nodes, again)))
    other = Constant(3.5, Value(c.type, c.origin), 0)
    broken(graph.replace(nodes=(*graph.nodes, other)), "slot 0 is both 2.5 and 3.5")


def test_checks_look_at_single_elements():
    graph = sound()
    broken(with_node(graph, 4, operand=graph.inputs[0]), "check on a value that is not a single")
    single = toy.graph("graph f(x: float64[1, 1]) {\n  check %x float 2.0\n  return %x\n}")
    assert isinstance(verify(single).nodes[0], Check)


def test_the_frame_reads_every_input():
    graph = sound()
    broken(graph.replace(frame=Frame(("x",), ("x",))), "2 inputs but the frame reads 1")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("%a = exp(%x, reuse=0)", "exp: reuses memory that the graph does not own: <x"),
        ("%c = constant(2.5)\n%a = mul(%c, %y, reuse=0)", "mul: reuses memory that the graph"),
        ("%b = sum(%x, axis=0, keepdims=False)\n%a = add(%b, %x, reuse=0)", "add: cannot reuse <b"),
        ("%b = exp(%x)\n%a = greater(%b, %x, reuse=0)", r"greater: cannot reuse <b.*> for bool"),
        ("%b = exp(%x)\n%a = transpose(%b, reuse=0)", "transpose: cannot reuse <b"),
        ("%d = exp(%x)\n%b = transpose(%d)\n%a = exp(%b, reuse=0)", "exp: .*, which is a view"),
        ("%b = exp(%x)\n%d = exp(%b, reuse=0)\n%a = add(%b, %d)", "exp: .* which is read later"),
        ("%b = exp(%x)\n%d = transpose(%b)\n%e = exp(%b, reuse=0)\n%a = add(%d, %e)", "read later"),
    ],
)
def test_reused_memory_is_free(lines, message):
    body = "".join(f"  {line}\n" for line in lines.splitlines())
    graph = toy.graph(f"graph f(x: float64[2, 2], y: float64[]) {{\n{body}  return %a\n}}")
    broken(graph, message)


def test_an_output_is_not_overwritten():
    lines = "  %a = exp(%x)\n  %b = sin(%a, reuse=0)\n  return %a\n"
    graph = toy.graph(f"graph f(x: float64[n0]) {{\n{lines}}}")
    broken(graph, "sin: reuses <a.*, which is read later")


@pytest.mark.parametrize("stage", ["traced", "differentiated", "optimized"])
def test_graphs_of_functions_are_sound(stage):
    def f(x, w):
        h = np.tanh(x @ w)
        y = h[1:] * h[:-1] - h.mean(axis=0)
        if float(np.sum(y)) > 1e9:
            return np.sum(y)
        return np.sum(np.where(y > 0, y, np.exp(y))) / 3.5

    graph = tg.value_and_grad(f).graph(np.linspace(0, 1, 12).reshape(4, 3), np.eye(3), stage=stage)
    verify(graph)
