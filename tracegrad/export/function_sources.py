"""Collects the source of the user's functions, with all that they read, for a file of its own.

A function is written as its source has it, without decorators. What it reads from outside comes
along as it is now: modules and what they offer as imports, numbers and arrays as constants, other
functions of the user's as source. A function with a rule for its derivative is the function itself.
"""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import textwrap
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from codegen.emit.writer import Names
from tracegrad.errors import ExportError
from tracegrad.export.constants import OURS, Literals
from tracegrad.world.code_origin import is_interpreted

Held = Callable[[str, np.ndarray], str | None]
"""From a name and an array to the statement that makes it; None where it is made elsewhere."""


class FunctionTexts:
    """Gathers the functions of a file, and the imports and constants that they read."""

    def __init__(self, names: Names, literals: Literals, held: Held) -> None:
        self.names = names
        self.literals = literals
        self.held = held
        self.imports: list[str] = []
        self.constants: list[str] = []
        self.functions: dict[str, str] = {}
        self._known: dict[str, Any] = {"np": np}  # what a name of the file stands for

    def name_of(self, function: Any) -> str:
        """The name in the file of a function, which is written there."""
        function = _itself(function)
        for name, known in self._known.items():
            if known is function:
                return name
        stem = function.__name__
        name = self.names.wish(stem if stem.isidentifier() else "rule")
        self._write(name, function)
        return name

    def _write(self, name: str, function: FunctionType) -> None:
        self._take(name, function)
        self.functions[name] = ""  # it may call itself
        for read, value in _reads(function):
            self._needed(read, value, function)
        self.functions[name] = f"\n\n{_text(function, name)}\n"

    def _take(self, name: str, value: Any) -> None:
        self._known[name] = value
        self.names.reserved.add(name)

    def _needed(self, name: str, value: Any, by: FunctionType) -> None:
        """Has a name that a function reads stand in the file."""
        value = _itself(value)
        if name in self._known or name in self.names.reserved:
            if self._known.get(name) is not value:
                raise ExportError(
                    f"{by.__qualname__} reads {name}, and so does another part of the file, where "
                    "it is something else: give one of them another name"
                )
            return
        text = self._made(name, value, by)
        self._take(name, value)
        if text is not None:
            self.constants.append(text)

    def _made(self, name: str, value: Any, by: FunctionType) -> str | None:
        """The statement that makes what a name stands for; None for what stands elsewhere."""
        if isinstance(value, ModuleType):
            module = "numpy" if value.__name__ == "tracegrad.numpy" else value.__name__
            if module.partition(".")[0] in OURS:
                raise ExportError(
                    f"{by.__qualname__} reads {name}, which is of tracegrad, and the file stands "
                    "without it: a rule that is exported is written with NumPy's functions"
                )
            self.imports.append(f"import {module}" + (f" as {name}" if name != module else ""))
            return None
        if isinstance(value, FunctionType) and is_interpreted(value.__globals__):
            self._write(name, value)
            return None
        if isinstance(value, np.ndarray):
            return self.held(name, value)
        text = self.literals.text(value, f"{name}, which {by.__qualname__} reads,")
        return None if text == name else f"{name} = {text}"


def _itself(value: Any) -> Any:
    """A function without the rule for its derivative."""
    return value._function if hasattr(type(value), "written") else value


def _reads(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """What a function reads from outside, by the names that it has for it."""
    free = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for name, cell in free.items():
        yield name, cell.cell_contents
    for name in dict.fromkeys(_globals(function.__code__)):
        if name in function.__globals__:
            yield name, function.__globals__[name]
        elif not hasattr(builtins, name):
            raise ExportError(f"{function.__qualname__} reads {name}, which is not there")


def _globals(code: CodeType) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield step.argval
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _globals(inner)


def _text(function: FunctionType, name: str) -> str:
    """The function under a name, without decorators, annotations and defaults from outside."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError):
        source, tree = "", ast.Module([], [])
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            if not node.decorator_list and name == node.name and node is tree.body[0]:
                return source.rstrip()
            node.decorator_list, node.name = [], name
            return ast.unparse(node)
        if isinstance(node, ast.Lambda) and _is_of(node, function.__code__):
            return f"def {name}({ast.unparse(node.args)}):\n    return {ast.unparse(node.body)}"
    raise ExportError(
        f"the source of {function.__qualname__} is not to be found, which the exported file would "
        "call: write it as a function of its own in a file"
    )


def _is_of(node: ast.Lambda, code: CodeType) -> bool:
    """Whether a lambda is the one that a code object was made of."""
    compiled = compile(ast.Expression(node), "", "eval")
    return _alike(next(c for c in compiled.co_consts if isinstance(c, CodeType)), code)


def _alike(one: CodeType, other: CodeType) -> bool:
    """Whether two code objects read the same names and hold the same constants."""
    names = [{*c.co_names, *c.co_freevars} for c in (one, other)]
    if one.co_varnames != other.co_varnames or names[0] != names[1]:
        return False
    if len(one.co_consts) != len(other.co_consts):
        return False
    return all(
        _alike(a, b) if isinstance(a, CodeType) and isinstance(b, CodeType) else repr(a) == repr(b)
        for a, b in zip(one.co_consts, other.co_consts, strict=True)
    )
