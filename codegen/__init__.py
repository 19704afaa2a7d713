"""Graphs in, Python source out.

A small compiler back end that knows no tensor and no gradient: types with free dimensions, an SSA
graph over ops that the client supplies, rewriting, passes, and emitters for NumPy and JAX. It
imports the standard library only.
"""

from codegen.emit import TARGETS, Source, emit
from codegen.errors import CodegenError, VerifyError
from codegen.ir import (
    Again,
    Block,
    Branch,
    Builder,
    Call,
    Check,
    Constant,
    Counter,
    Frame,
    Graph,
    Join,
    Loop,
    Op,
    Origin,
    Trait,
    Value,
)
from codegen.load import kernel, load
from codegen.passes import PIPELINE, Client, optimize
from codegen.rewrite import Rewriter, Rule, rewrite
from codegen.sizes import Dim, Size, SizeError, Sizes
from codegen.spelling import Slot, Spelling, Subscript, Window, spell
from codegen.text import parse, print_graph
from codegen.types import ArrayType, ShapeError
from codegen.verify import verify

__all__ = [
    "PIPELINE",
    "TARGETS",
    "Again",
    "ArrayType",
    "Block",
    "Branch",
    "Builder",
    "Call",
    "Check",
    "Client",
    "CodegenError",
    "Constant",
    "Counter",
    "Dim",
    "Frame",
    "Graph",
    "Join",
    "Loop",
    "Op",
    "Origin",
    "Rewriter",
    "Rule",
    "ShapeError",
    "Size",
    "SizeError",
    "Sizes",
    "Slot",
    "Source",
    "Spelling",
    "Subscript",
    "Trait",
    "Value",
    "VerifyError",
    "Window",
    "emit",
    "kernel",
    "load",
    "optimize",
    "parse",
    "print_graph",
    "rewrite",
    "spell",
    "verify",
]
