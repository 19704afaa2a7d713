"""Writes the statements that give a gradient's dicts the order of the argument's keys.

A program is written for one order. A file takes dicts with the same keys in any order, and the
gradient of each is in its own, as that of the library is.
"""

from __future__ import annotations

from tracegrad.export.argument_checks import Demands
from tracegrad.tracing.outputs import Transform
from tracegrad.values.pytree import TreeSpec

ORDER = '''
def _order_keys(tree, like):
    """Puts the keys of a dict in the order of another's."""
    for key in like:
        tree[key] = tree.pop(key)
'''


def key_orders(transform: Transform, demands: Demands, result: str) -> list[str]:
    """The statements, over what the file returns; none where no gradient has several keys."""
    if transform.kind == "grad":
        gradients = f"{result}[0]" if transform.has_aux else result
    elif transform.kind == "value_and_grad":
        gradients = f"{result}[1]"
    else:
        return []
    lines: list[str] = []
    specs = demands.version.arguments.specs
    for i, position in enumerate(transform.positions):
        root = demands.roots[position % len(specs)]
        tree = gradients if isinstance(transform.argnums, int) else f"{gradients}[{i}]"
        if root is not None:
            lines += _of(specs[position % len(specs)], tree, root, demands)
    return lines


def _of(spec: TreeSpec, tree: str, like: str, demands: Demands) -> list[str]:
    lines = []
    if spec.type is dict and len(spec.steps) > 1:
        demands.functions["_order_keys"] = ORDER
        lines.append(f"_order_keys({tree}, {like})")
    for step, child in zip(spec.steps, spec.children, strict=True):
        lines += _of(child, demands.text(tree, (step,)), demands.text(like, (step,)), demands)
    return lines
