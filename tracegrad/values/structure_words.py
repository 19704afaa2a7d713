"""Structures of trees in the words of messages."""

from __future__ import annotations

from tracegrad.values.pytree import LEAF, TreeSpec, show


def in_words(spec: TreeSpec) -> str:
    """What a tree of arrays is, where a message says "it is ...".

    >>> from tracegrad.values.pytree import flatten
    >>> for tree in (1.0, None, (1.0, 2.0), {"w": 1.0, "b": [2.0]}):
    ...     print(in_words(flatten(tree)[1]))
    an array
    None
    a tuple of 2 arrays
    {'b': [array], 'w': array}
    """
    if spec == LEAF:
        return "an array"
    count = len(spec.children)
    if spec.type in (tuple, list) and all(child == LEAF for child in spec.children):
        return f"a {spec.type.__name__} of {count} array{'s' * (count != 1)}"
    return show(spec, "array")
