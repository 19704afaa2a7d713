"""The JAX target: pure functions under one ``jax.jit``, whose looks are returned.

Dtypes are NumPy's, exactly. Where JAX would promote otherwise (an integer never widens a float
there, and a Python number stays weak through arithmetic), the source casts an operand: `casts`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence

from codegen.emit.target import Casts, Target
from codegen.ir import (
    Again,
    Call,
    Constant,
    Graph,
    Join,
    Loop,
    Node,
    Trait,
    Value,
    dims_of,
)
from codegen.sizes import mul
from codegen.types import LIST, ArrayType, bits, is_inexact, kind, promote, real_of, weak_of


def casts(call: Call, printed: Sequence[ArrayType]) -> Casts:
    """The operands that must be cast for the result to be NumPy's.

    Those that decide its dtype (`_promotions`), and bools that become floats in it: XLA takes
    ``mask * x`` for ``where(mask, x, 0)``, which is 0 where NumPy gives ``0 * nan``. It does not
    where the mask was an integer before::

        bool[n] * float64[n]        m.astype(jnp.int8) * x
        bool[n] as float64          m.astype(jnp.int8).astype(jnp.float64)
    """
    found: dict[int, Sequence[str]] = {
        i: (dtype,) for i, dtype in _promotions(call, printed).items()
    }
    if not is_inexact(call.results[0].type.dtype):
        return found
    if Trait.NUMERIC in call.op.traits:
        numbers = range(len(printed))
    elif Trait.UPDATE in call.op.traits and LIST not in printed:
        numbers = range(1, 2)
    else:
        return found
    masks = [i for i in numbers if kind(printed[i].dtype) == "bool" and not printed[i].weak]
    return {**found, **{i: ("int8", *found.get(i, ())) for i in masks}}


def _promotions(call: Call, printed: Sequence[ArrayType]) -> Mapping[int, str]:
    """The operands that must be cast for the result to have its dtype, and to which dtype.

    `printed` are the operands' types as JAX will see them: a number that is printed as a literal is
    weak whatever its type. One cast decides the promotion, so at most one is asked for::

        float32[n] * int32[n]    x * k.astype(jnp.float64)
        int8[n] * 0.5            k * jnp.float64(0.5)
        exp(int8[n])             jnp.exp(k.astype(jnp.float16))
        int64[n] ** 2.0          k.astype(jnp.float64) ** 2.0

    A Python number that JAX has with a dtype (`strong_numbers`) is cast to that of what it meets::

        float32[n] * float(s)    x * jnp.float32(s.astype(float))
        uint8[n] + int(s)        k + jnp.uint8(s.astype(int))
    """
    result = call.results[0].type
    if not printed or call.says_dtype:
        return {}
    if Trait.UPDATE in call.op.traits and LIST not in printed:
        written = printed[1]
        return {} if written.weak or written.dtype == result.dtype else {1: result.dtype}
    wanted = _computed_in(call)
    if wanted is None:
        return {}
    found, is_weak = _promoted(_computed_with(call, printed))
    if is_inexact(wanted) and not is_inexact(found):
        found = "float64" if bits(found) == 64 else "float32"
    if found == wanted and (not is_weak or result.weak or result.dtype == "bool"):
        return {}
    pairs = zip(call.operands, printed, strict=True)
    typed = [value.type.weak and not type.weak and type.dtype != "bool" for value, type in pairs]
    strong = [i for i, has_a_dtype in enumerate(typed) if has_a_dtype]
    if strong and kind(wanted) != "bool":
        given = [(i, printed[i].dtype) for i in strong]
        real = real_of(wanted)
        return {i: wanted if kind(dtype) == "complex" else real for i, dtype in given}
    numbers = [i for i, type in enumerate(printed) if type.weak and kind(type.dtype) == kind(found)]
    integers = [i for i, type in enumerate(printed) if kind(type.dtype) == "int"]
    chosen = [*(numbers if is_weak else ()), *integers, 0][0]
    if kind(wanted) == "complex" and kind(printed[chosen].dtype) != "complex":
        wanted = real_of(wanted)
    return {chosen: wanted}


def _computed_in(call: Call) -> str | None:
    """The dtype that NumPy brings the operands to; None for an op that promotes nothing."""
    result, shape = call.results[0].type.dtype, call.results[0].type.shape
    common, _ = promote([value.type for value in call.operands])
    if result == common:
        return common
    if is_inexact(result) and not is_inexact(common):  # functions of integers, quotients, means
        return real_of(result)
    if Trait.ELEMENTWISE not in call.op.traits:
        # Sums widen by themselves, running sums do not; an operand of indexing only says where.
        if result == promote([ArrayType(value.type.dtype) for value in call.operands])[0]:
            return result  # numbers that become arrays, in a stack of them
        running = kind(result) == kind(common) == "int" and shape == call.operands[0].type.shape
        return result if running and len(call.operands) == 1 else None
    if result == "bool":
        return common  # comparisons
    reached = promote([ArrayType(result), ArrayType(common)])[0] == result
    return result if reached else None  # a count of bits is no integer of its operand's


def _computed_with(call: Call, printed: Sequence[ArrayType]) -> Sequence[ArrayType]:
    """The types of operands, and of the floats that an op has itself: ``x ** exponent``."""
    if not is_inexact(call.results[0].type.dtype):
        return printed
    return [*printed, *(weak_of(x) for _, x in call.attributes if isinstance(x, float))]


def _promoted(types: Sequence[ArrayType]) -> tuple[str, bool]:
    """``(dtype, weak)`` that JAX gives operands of these types."""
    strong = [type.dtype for type in types if not type.weak]
    numbers = [type for type in types if type.weak]
    if not strong:
        return promote(numbers)[0], True
    inexact = [dtype for dtype in strong if is_inexact(dtype)]
    dtype, _ = promote([ArrayType(dtype) for dtype in inexact or strong])
    if is_inexact(dtype) and not inexact:
        return dtype, True  # uint64 with a signed integer
    merged, _ = promote([ArrayType(dtype), *numbers])
    return merged, merged != dtype and not is_inexact(dtype)


def strong_numbers(graph: Graph) -> frozenset[Value]:
    """Python numbers that JAX has with a dtype, which it takes from no array again.

    They are computed of arrays, or are conversions. Not those that are weak in JAX too: what
    becomes a float only beside a number of Python's::

        int(s) * int(t)          s.astype(int) * t.astype(int)
        int(s) * 0.5             s.astype(int) * 0.5, which is weak
    """
    found: set[Value] = set()
    parameters: dict[object, tuple[Value, ...]] = {}
    nodes, before = graph.all_nodes, -1
    while len(found) > before:  # until no loop carries another one on
        before = len(found)
        for node in nodes:
            if isinstance(node, Call) and Trait.EXTENT not in node.op.traits:
                numbers = [v for v in node.results if v.type.weak and v.type.dtype != "bool"]
                if numbers and (Trait.CONVERTS in node.op.traits or _has_dtype(node, found)):
                    found.update(numbers)
            elif isinstance(node, Loop | Join):
                parameters[node.label] = node.parameters
            if isinstance(node, Loop | Again) and node.label in parameters:
                pairs = zip(parameters[node.label], node.arguments, strict=True)
                found.update(p for p, a in pairs if p.type.weak and a in found)
    return frozenset(found)


def _has_dtype(call: Call, strong: Container[Value]) -> bool:
    """Whether what a call gives has a dtype in JAX, where these numbers have one."""
    types = [ArrayType(v.type.dtype) if v in strong else v.type for v in call.operands]
    if Trait.ELEMENTWISE in call.op.traits and LIST not in types:
        return bool(types) and not _promoted(_computed_with(call, types))[1]
    return not all(type.weak for type in types)


def is_narrow(graph: Graph, text: str) -> bool:
    """Whether nothing in a program has 64 bits: it is the same where JAX has no such types.

    Numbers of Python that come from lengths and literals alone are Python's in JAX too.
    """
    if _WIDE.search(text) or any(value.type.weak for value in graph.inputs):
        return False
    plain: set[Value] = set()
    for node in graph.all_nodes:
        if isinstance(node, Loop | Join) or _is_long(node, graph):
            return False  # loops may count beyond 32 bits
        if isinstance(node, Call) and Trait.CONVERTS in node.op.traits:
            return False
        for value in node.results:
            of_plain = isinstance(node, Constant) or (
                isinstance(node, Call)
                and (Trait.EXTENT in node.op.traits or plain.issuperset(node.operands))
            )
            if value.type.weak and not of_plain:
                return False
            if value.type.weak:
                plain.add(value)
            elif not isinstance(node, Constant) and _WIDE.search(value.type.dtype):
                return False
    return not any(_WIDE.search(value.type.dtype) for value in graph.inputs)


def _is_long(node: Node, graph: Graph) -> bool:
    """Whether a whole number may be beyond 32 bits, which lengths of arrays are not."""
    if isinstance(node, Constant):
        return type(node.value) is int and not -_LONG <= node.value < _LONG
    if not isinstance(node, Call) or Trait.EXTENT not in node.op.traits:
        return False
    size = graph.sizes.resolve(node.attribute("size"))
    if isinstance(size, int):
        return size >= _LONG
    if all(len(atoms) < 2 and abs(factor) < 2 for atoms, factor in size.terms if atoms):
        return False
    shown = (*graph.inputs, *(v for other in graph.all_nodes for v in other.results))
    return all(mul(dims_of(graph.sizes, value.type)) != size for value in shown)


_LONG = 2**31
_WIDE = re.compile(r"(int|float)64|complex128")


JAX = Target(
    name="jax",
    module="jnp",
    imports=("import jax", "import jax.numpy as jnp"),
    decorator="@jax.jit",
    checks_returned=True,
    casts=casts,
    strong_numbers=strong_numbers,
    narrow=is_narrow,
)
