"""Writes Python objects and arrays as source that makes them again, in a file of its own."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections import OrderedDict
from collections.abc import Iterator
from enum import Enum
from typing import Any

import numpy as np

from codegen.emit.writer import Names
from tracegrad.errors import ExportError
from tracegrad.tracing.outputs import Result
from tracegrad.values.pytree import Attr, Child, Item, TreeSpec

MOST_ELEMENTS = 64  # of an array in the source; larger ones stand in a file beside
OURS = ("tracegrad", "codegen")

FILLED = '''
def _filled(kind, **fields):
    """An object of a class with these fields; no code of the class runs."""
    made = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made
'''


class Literals:
    """Writes objects as source, and gathers the imports and functions that the source needs."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.imports: dict[tuple[str, str], str] = {}  # module and name: the name in the file
        self.functions: dict[str, str] = {}

    @property
    def lines(self) -> list[str]:
        """The import statements."""
        return [
            f"from {module} import {name}" + (f" as {known}" if known != name else "")
            for (module, name), known in sorted(self.imports.items())
        ]

    def text(self, value: Any, what: str) -> str:
        """A value that is no array; raises naming `what` it is when no source makes it."""
        found = self._plain(value)
        if found is None:
            raise ExportError(
                f"{what} is {_shown(value)}, which cannot be written into a file: give it a place "
                "in a module that can be imported, or pass its numbers and arrays instead"
            )
        return found

    def _plain(self, value: Any) -> str | None:
        match value:
            case Enum():
                owner = self._imported(type(value))
                return owner and f"{owner}.{value.name}"
            case float() if type(value) is float:
                return repr(value) if math.isfinite(value) else f'float("{value}")'
            case np.dtype():
                return f'np.dtype("{value.name}")'
            case np.generic() if value.dtype.kind in "biufc":
                inner = self._plain(value.item())
                return inner and f"np.{value.dtype.name}({inner})"
            case complex() if type(value) is complex:
                parts = (self._plain(value.real), self._plain(value.imag))
                return f"complex({', '.join(map(str, parts))})"
            case tuple() if type(value) is tuple:
                return self._sequence(value, "({})", ",")
            case frozenset() if type(value) is frozenset:
                return self._sequence(sorted(value, key=repr), "frozenset([{}])")
            case slice():
                return self._sequence((value.start, value.stop, value.step), "slice({})")
        if type(value) in (type(None), bool, int, str, bytes, range):
            return repr(value)
        if value is ...:
            return "..."
        name = getattr(value, "__name__", "")
        if name and getattr(np, name, None) is value:
            return f"np.{name}"
        return self._imported(value)

    def _sequence(self, items: Any, around: str, one: str = "") -> str | None:
        texts = [self._plain(item) for item in items]
        if any(text is None for text in texts):
            return None
        inner = ", ".join(str(text) for text in texts)
        return around.format(inner + (one if len(texts) == 1 else ""))

    def _imported(self, value: Any) -> str | None:
        """The name of a class or function that a module offers to everybody."""
        module, path = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
        if not module or not path or module == "__main__" or module.partition(".")[0] in OURS:
            return None
        found: Any = sys.modules.get(module)
        for part in path.split("."):
            found = getattr(found, part, None)
        if found is not value:
            return None
        top, _, rest = path.partition(".")
        if module == "builtins":
            return str(path)
        return self.imported(module, top) + (f".{rest}" if rest else "")

    def imported(self, module: str, name: str) -> str:
        """What a name of a module is called in the file, which imports it."""
        if (module, name) not in self.imports:
            self.imports[module, name] = self.names.wish(name)
            self.names.reserved.add(self.imports[module, name])
        return self.imports[module, name]

    # -- structures -----------------------------------------------------------------------------

    def result(self, result: Result, outputs: str) -> str:
        """What a call returns, as source over the variable that holds the program's outputs."""
        return self.structure(
            result.spec,
            (
                f"{outputs}[{leaf}]" if isinstance(leaf, int) else self.text(leaf.value, "a result")
                for leaf in result.leaves
            ),
        )

    def structure(self, spec: TreeSpec, leaves: Iterator[str]) -> str:
        """A structure as source around that of its leaves."""
        if spec.type is None:
            return next(leaves)
        children = [self.structure(child, leaves) for child in spec.children]
        if spec.type is type(None):
            return "None"
        if spec.type is tuple:
            return f"({', '.join(children)}{',' if len(children) == 1 else ''})"
        if spec.type is list:
            return f"[{', '.join(children)}]"
        if spec.type in (dict, OrderedDict):
            by_key = {
                step.key: f"{self.key(step)}: {child}"
                for step, child in zip(spec.steps, children, strict=True)
                if isinstance(step, Item)
            }
            pairs = ", ".join(by_key[key] for key in spec.order or by_key)
            if spec.type is dict:
                return f"{{{pairs}}}"
            return f"{self._imported(OrderedDict)}({{{pairs}}})"
        return self._fields(spec, children)

    def _fields(self, spec: TreeSpec, children: list[str]) -> str:
        """A named tuple or dataclass, made by its class."""
        kind: Any = spec.type
        where = f"the result holds a {kind.__module__}.{kind.__qualname__}"
        if any(isinstance(step, Child) for step in spec.steps) or not spec.steps:
            raise ExportError(f"{where}, which only its own functions can make: return a tuple")
        name = self._imported(kind)
        if name is None:
            raise ExportError(
                f"{where}, which cannot be imported from a module: move the class to the top of a "
                "module, or return a tuple or dict"
            )
        fields = [step.name for step in spec.steps if isinstance(step, Attr)]
        inner = ", ".join(f"{f}={c}" for f, c in zip(fields, children, strict=True))
        if dataclasses.is_dataclass(kind) and not _plain_dataclass(kind):
            self.functions["_filled"] = FILLED
            return f"_filled({name}, {inner})"
        return f"{name}({inner})"

    def key(self, step: Any) -> str:
        """The key of a dict."""
        assert isinstance(step, Item)
        text = self.text(step.key, "the key of a dict")
        plain = isinstance(step.key, str) and '"' not in text and "\\" not in text
        return f'"{text[1:-1]}"' if plain else text


def _plain_dataclass(kind: Any) -> bool:
    """Whether its ``__init__`` does nothing but fill the fields."""
    made = kind.__dataclass_params__.init and not hasattr(kind, "__post_init__")
    return made and all(field.init for field in dataclasses.fields(kind))


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 and "\n" not in text else f"a {type(value).__name__}"


# -- arrays ---------------------------------------------------------------------------------------


def array_text(array: np.ndarray) -> str | None:
    """An array as source that gives the same bits and layout; None where that is long."""
    if array.size > MOST_ELEMENTS:
        return None
    dtype = f"np.{array.dtype.name}" if array.dtype.name != "bool" else "bool"
    order = ', order="F"' if array.flags.f_contiguous and not array.flags.c_contiguous else ""
    if array.size == 0:
        return f"np.empty({array.shape}, dtype={dtype})"
    numbers = repr(array.tolist())
    plain = np.array(array.tolist()).dtype == array.dtype
    text = f"np.array({numbers}{'' if plain else f', dtype={dtype}'}{order})"
    scope = {"np": np, "nan": np.nan, "inf": np.inf}
    if not same_memory(eval(text, scope), array):  # a nan of another kind, a layout of its own
        return None
    return _with_module(text)


def _with_module(text: str) -> str:
    """``nan`` and ``inf`` as NumPy's."""
    head, brackets, rest = text.partition("(")
    return head + brackets + rest.replace("nan", "np.nan").replace("inf", "np.inf")


def same_memory(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal bits in an equal layout: sums add in the order of memory."""
    flags = [(x.flags.c_contiguous, x.flags.f_contiguous) for x in (a, b)]
    same = a.dtype == b.dtype and a.shape == b.shape and flags[0] == flags[1]
    return bool(same and a.tobytes() == b.tobytes())


def axes_by_memory(array: np.ndarray) -> tuple[int, ...]:
    """The axes from the outermost in memory to the innermost."""
    return tuple(sorted(range(array.ndim), key=lambda axis: (-abs(array.strides[axis]), axis)))
