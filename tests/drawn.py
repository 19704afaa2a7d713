"""What the tests of pictures and of reports share: a small model, what must hold of programs."""

from __future__ import annotations

import importlib.util
import re
from html import unescape

import numpy as np

import tracegrad as tg
from codegen.ir import Again, Call, Constant, Join, Loop, Trait, walk
from tracegrad.introspection.report.listings import nodes_written

MODEL = '''"""A small model."""

import numpy as np


def layer(x, w, b):
    return np.tanh(x @ w + b)


def loss(w, b, x, y):
    h = np.tanh(x @ w + b)
    err = h - y
    return np.mean(err**2)


def kinked(w, b, x, y):
    h = np.tanh(x @ w + b)
    if h.sum() > 0:
        h = h * 3.0
    err = (
        h
        - y
    )
    return np.mean(err**2)


def deep(layers, x, y):
    h = x
    for w, b in layers:
        h = layer(h, w, b)
    err = h - y
    return np.mean(err**2)


def parted(w, b, x, y):
    h = np.tanh(x @ w + b)
    if h.sum() > 0:
        err = h * 3.0 - y
        return np.mean(err**2)
    err = h - y
    return np.mean(err**2)
'''


def load_model(folder):
    """A module of the user's, in a file of its own."""
    path = folder / "model.py"
    path.write_text(MODEL, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments():
    random = np.random.default_rng(0)
    return [random.normal(size=shape) for shape in [(3, 2), (2,), (5, 3), (5, 2)]]


def both_paths(function):
    """Its gradient, called so that it has gone both ways."""
    w, b, x, y = arguments()
    compiled = tg.value_and_grad(function, argnums=(0, 1))
    compiled(w, b, x, y)
    compiled(-w, -b, x, y)
    return compiled


def version_of(compiled, *args):
    return compiled._version_for(args, {})


def plain(html):
    return unescape(re.sub(r"<[^>]*>", "", html))


CONVERTED = re.compile(r" = (float|np\.float64)\(\w+\)$|\.tolist\(\)$")
"""Numbers that become Python's, and NumPy's again, where a loop computes with the former."""


def check_program(version):
    """Every call stands in the program; a statement of an op has nodes and a line of the user's.

    Where arms meet that write to an array in place there is no statement, and none for what stands
    where a path has no value.
    """
    graph, source = version.program.graph, version.program.source
    written = nodes_written(graph, source)
    nodes = list(walk(graph.nodes))
    missing = set(range(len(nodes))) - {i for line in written for i in line}
    left = [nodes[i] for i in missing if not isinstance(nodes[i], Constant | Join | Loop | Again)]
    assert all(isinstance(node, Call) and Trait.UNSET in node.op.traits for node in left)
    texts = source.text.splitlines()
    for text, origin, here in zip(texts, source.origins, written, strict=True):
        if origin is not None and not text.lstrip().startswith("#"):
            assert here or origin.point is None or CONVERTED.search(text), text
            assert origin.line and origin.text, text
        if (found := re.match(r" *# (\S+\.py):(\d+)  (.*)", text)) and origin is not None:
            assert (origin.file, origin.line) == (found[1], int(found[2]))
