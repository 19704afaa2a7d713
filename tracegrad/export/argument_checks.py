"""Writes the statements of an exported file that check the arguments of a call.

They stand at the top of an exported function, and say in words what an entry (`guarded_entry.py`)
tests in one condition. The functions that they call are written into the same file.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import is_dataclass
from typing import Any

from codegen.sizes import IN_LENGTHS, Dim, as_python, limits, ordered
from tracegrad.arguments.signature import Arguments, Leaf
from tracegrad.arguments.stacked_lists import length_text
from tracegrad.compiled.version import Version
from tracegrad.errors import ExportError
from tracegrad.export.constants import Literals
from tracegrad.runtime.thread_state import STATE
from tracegrad.values.pytree import Attr, Child, Fixed, Item, Path, TreeSpec

ARRAY = '''
def _expect_array(array, text, dtype, ndim):
    """Raises unless `array` is of the kind that the program was written for."""
    wanted = f"an array of {dtype} with {ndim} {'axis' if ndim == 1 else 'axes'}"
    if not ARRAYS:
        raise TypeError(
            f"{text} must be {wanted}, not {type(array).__name__}: "
            f"pass np.asarray({text}, dtype=np.{dtype})"
        )
    if array.dtype != dtype:
        raise TypeError(
            f"{text} must be {wanted}, not of {array.dtype}: pass {text}.astype(np.{dtype})"
        )
    if array.ndim != ndim:
        raise ValueError(f"{text} must be {wanted}, not of shape {array.shape}")
'''

NUMBER = '''
def _expect_number(value, text, kind):
    """Raises unless `value` is of the type that the program was written for."""
    found = type(value).__name__
    if found != kind:
        name = kind if kind in ("bool", "int", "float", "complex") else f"np.{kind}"
        raise TypeError(
            f"{text} must be a {name}, not {value!r} of type {found}: "
            f"pass {name}({text})"
        )
'''

NUMBER_OR_TRACED = '''
def _expect_number(value, text, kind):
    """Raises unless `value` is of the type that the program was written for, or traced as one."""
    found, wanted = type(value).__name__, kind
    plain = kind in ("bool", "int", "float", "complex")
    name = kind if plain else f"np.{kind}"
    advice = f"pass {name}({text})"
    if isinstance(value, jax.core.Tracer) and not value.shape:
        of_python = {"i": "int", "f": "float", "c": "complex"} if value.aval.weak_type else {}
        found = of_python.get(value.dtype.kind, str(value.dtype))
        wanted = kind if plain else str(jax.dtypes.canonicalize_dtype(kind))
        advice = "export it again with such an array there"
    if found != wanted:
        raise TypeError(f"{text} must be a {name}, not {value!r} of type {found}: {advice}")
'''

VALUE = '''
def _expect_value(value, text, expected):
    """Raises unless `value` is the one that the program was written for."""
    if value is not expected and _kind(value) != _kind(expected):
        raise ValueError(
            f"{text} must be {expected!r}, not {value!r}: this file was written for that value, "
            "export it again for another"
        )


def _kind(value):
    """A value with its type, and those of what it holds; of floats as text, which has the sign."""
    if isinstance(value, (tuple, frozenset)):
        parts = map(_kind, value)
        return type(value), frozenset(parts) if isinstance(value, frozenset) else tuple(parts)
    if isinstance(value, slice):
        return slice, _kind((value.start, value.stop, value.step))
    return type(value), repr(value) if isinstance(value, (float, complex, np.inexact)) else value
'''

CLASS = '''
def _expect_class(value, text, name, attributes=None):
    """Raises unless an object is of the class of this name, with as many attributes."""
    found = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("__main__.")
    if found != name:
        raise TypeError(f"{text} must be a {name}, not of type {found}")
    if attributes is not None and len(vars(value)) != attributes:
        raise TypeError(f"{text} must have {attributes} attributes, not {list(vars(value))}")
'''

KEYS = '''
def _expect_keys(tree, text, kind, keys, ordered=False):
    """Raises unless `tree` is a dict with these keys, in this order where that is read."""
    if type(tree).__name__ != kind:
        raise TypeError(f"{text} must be a {kind}, not of type {type(tree).__name__}")
    if {(type(key), key) for key in tree} != {(type(key), key) for key in keys}:
        raise ValueError(f"{text} must have the keys {keys}, not {list(tree)}")
    if (ordered or kind == "OrderedDict") and list(tree) != keys:
        raise ValueError(
            f"{text} must have its keys in the order {keys}, which is read, not {list(tree)}: "
            f"pass {{key: {text}[key] for key in {keys}}}"
        )
'''

ITEMS = '''
def _expect_items(tree, text, kind, count):
    """Raises unless `tree` is a list or tuple of this length."""
    if type(tree).__name__ != kind or len(tree) != count:
        found = f"of type {type(tree).__name__}"
        found += f" with {len(tree)} items" if hasattr(tree, "__len__") else ""
        raise TypeError(f"{text} must be a {kind} of {count}, not {found}")
'''

LIST = '''
def _expect_list(items, text, kind, dtype, ndim):
    """Raises unless `items` are arrays of one shape and this dtype, in C order."""
    if type(items).__name__ != kind or not items:
        raise TypeError(f"{text} must be a {kind} of arrays, not {type(items).__name__}")
    for array in items:
        alike = type(array) is np.ndarray and array.shape == np.shape(items[0])
        if not alike or array.dtype != dtype or array.ndim != ndim or not array.flags.c_contiguous:
            raise TypeError(
                f"{text} must hold arrays of {dtype} of one shape with {ndim} "
                f"{'axis' if ndim == 1 else 'axes'}, in C order: "
                f"pass [np.ascontiguousarray(x, dtype=np.{dtype}) for x in {text}]"
            )
'''

LENGTH = '''
def _expect_length(found, text, wanted):
    """Raises unless a length is the one that the program was written for."""
    if found != wanted:
        raise ValueError(
            f"{text} is {found}: this file is for arrays where it is {wanted}, "
            "export again for others"
        )
'''

EQUAL = '''
def _expect_equal_lengths(a, a_text, b, b_text):
    """Raises unless two lengths are equal."""
    if a != b:
        raise ValueError(
            f"{a_text} is {a} and {b_text} is {b}: this file is for arrays where they are "
            "equal, export again for others"
        )
'''

LEAST = '''
def _expect_at_least(found, text, least):
    """Raises where a length is below those that the program was written for."""
    if found < least:
        raise ValueError(
            f"{text} is {found}: this file is for arrays where it is {least} or more, "
            "export again for others"
        )
'''

MOST = '''
def _expect_at_most(found, text, most):
    """Raises where a length is above those that the program was written for."""
    if found > most:
        raise ValueError(
            f"{text} is {found}: this file is for arrays where it is {most} or less, "
            "export again for others"
        )
'''

APART = '''
def _expect_apart(array, text, others):
    """Raises where an array that is written to shares memory with another one that is read."""
    for other in others:
        parts = other if isinstance(other, (list, tuple)) else (other,)
        for part in parts:
            arrays = isinstance(array, np.ndarray) and isinstance(part, np.ndarray)
            if arrays and np.may_share_memory(array, part):
                raise TypeError(
                    f"the function writes to {text}, which shares memory with another array that "
                    "it reads: pass a copy of one of them"
                )
'''

COUNT = '''
def _expect_count(args, text, count):
    """Raises unless as many arguments were given as at the export."""
    if len(args) != count:
        raise TypeError(f"{text} must take {count}, as at the export, not {len(args)}")
'''

NAMES = '''
def _expect_names(kwargs, text, names, ordered=False):
    """Raises unless the keywords are those of the export, in this order where that is read."""
    if set(kwargs) != set(names) or (ordered and list(kwargs) != names):
        raise TypeError(f"{text} must take {names}, as at the export, not {list(kwargs)}")
'''

FUNCTIONS = {
    "_expect_count": COUNT,
    "_expect_names": NAMES,
    "_expect_array": ARRAY,
    "_expect_number": NUMBER,
    "_expect_value": VALUE,
    "_expect_keys": KEYS,
    "_expect_items": ITEMS,
    "_expect_class": CLASS,
    "_expect_list": LIST,
    "_expect_length": LENGTH,
    "_expect_equal_lengths": EQUAL,
    "_expect_at_least": LEAST,
    "_expect_at_most": MOST,
    "_expect_apart": APART,
}
IS_ARRAY = {
    "numpy": "type(array) is np.ndarray",
    "jax": "isinstance(array, (np.ndarray, jax.Array))",
}


class Demands:
    """The statements, and in `functions` the source of what they call."""

    def __init__(
        self,
        version: Version,
        roots: Sequence[str | None],
        captures: Sequence[str],
        literals: Literals,
    ) -> None:
        self.version = version
        self.roots = roots  # how each parameter is read; None for what is no argument of the file
        self.captures = captures
        self.literals = literals
        self.functions: dict[str, str] = {}
        self.leaves = [
            self.text(roots[leaf.parameter] or "", leaf.path) for leaf in version.arguments.leaves
        ]

    def statements(self, parameters: Sequence[inspect.Parameter]) -> list[str]:
        """All of them: how many arguments, structure, leaves, lengths."""
        lines = list(self._counts(parameters))
        arguments = self.version.arguments
        for root, spec in zip(self.roots, arguments.specs, strict=True):
            if root is not None:
                lines += self._structure(spec, root)
        lines += self._leaves(arguments)
        return [*lines, *self._lengths({p.name for p in parameters})]

    def apart(self, stored: Iterable[str]) -> list[str]:
        """Statements that demand that what is written to shares no memory with what is read.

        `stored` are the variables of the file for arrays outside that are written into.
        """
        pairs = zip(self.version.arguments.leaves, self.leaves, strict=True)
        traced = [(leaf, text) for leaf, text in pairs if leaf.traced]
        arrays = [text for leaf, text in traced if leaf.kind[0] == "array"]
        written = [traced[i][1] for i in self.version.written]
        found = [(text, [*(x for x in arrays if x != text), *self.captures]) for text in written]
        found += [(name, arrays) for name in stored]
        return [
            self._call("_expect_apart", text, repr(text), f"({', '.join(others)},)")
            for text, others in found
            if others
        ]

    def _counts(self, parameters: Sequence[inspect.Parameter]) -> Iterator[str]:
        """What ``*args`` and ``**kwargs`` take is as many, and named, as it was."""
        for p in parameters:
            if p.kind is inspect.Parameter.VAR_POSITIONAL:
                count = sum(str(root).startswith(f"{p.name}[") for root in self.roots)
                yield self._call("_expect_count", p.name, repr(f"*{p.name}"), str(count))
            if p.kind is inspect.Parameter.VAR_KEYWORD:
                roots = [r for r in self.roots if r is not None and r.startswith(f"{p.name}[")]
                keys = ", ".join(root[len(p.name) + 1 : -1] for root in roots)
                shown = [p.name, repr(f"**{p.name}"), f"[{keys}]"]
                ordered = ["True"] if self.version.reads_key_order and len(roots) > 1 else []
                yield self._call("_expect_names", *shown, *ordered)

    def text(self, root: str, path: Path) -> str:
        """How a part of an argument is read."""
        for step in path:
            match step:
                case Attr(name):
                    root += f".{name}"
                case Item():
                    root += f"[{self.literals.key(step)}]"
                case Child(kind):
                    raise ExportError(
                        f"{root} is a {kind.__name__}, which only its own functions can take "
                        "apart: pass its arrays in a tuple or dict"
                    )
        return root

    def _call(self, name: str, *texts: str) -> str:
        of_jax = self.version.target == "jax" and name == "_expect_number"
        text = NUMBER_OR_TRACED if of_jax else FUNCTIONS[name]
        text = text.replace("not ARRAYS", _negated(IS_ARRAY[self.version.target]))
        self.functions[name] = text
        return f"{name}({', '.join(texts)})"

    def _structure(self, spec: TreeSpec, text: str) -> list[str]:
        if spec.type is None:
            return []
        lines = []
        if spec.type is type(None):
            lines.append(self._call("_expect_value", text, repr(text), "None"))
        elif spec.type in (tuple, list):
            kind, count = f'"{spec.type.__name__}"', str(len(spec.steps))
            lines.append(self._call("_expect_items", text, repr(text), kind, count))
        elif spec.type in (dict, OrderedDict):
            by_key = {step.key: self.literals.key(step) for step in spec.steps}  # type: ignore[union-attr]
            ordered = spec.order is not None and self.version.reads_key_order and len(by_key) > 1
            keys = [by_key[key] for key in spec.order or () if ordered] or [*by_key.values()]
            shown = [text, repr(text), f'"{spec.type.__name__}"', f"[{', '.join(keys)}]"]
            lines.append(self._call("_expect_keys", *shown, *(["True"] if ordered else [])))
        else:
            lines += self._class(spec, text)
        for step, child in zip(spec.steps, spec.children, strict=True):
            lines += self._structure(child, self.text(text, (step,)))
        return lines

    def _class(self, spec: TreeSpec, text: str) -> list[str]:
        """The class of a named tuple or dataclass, and the values of fields that are no arrays."""
        kind: Any = spec.type
        name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("__main__.")
        shown = [text, repr(text), f'"{name}"']
        if is_dataclass(kind) and getattr(kind, "__dictoffset__", False):
            shown.append(str(len(spec.steps) + len(spec.fixed)))
        lines = [self._call("_expect_class", *shown)]
        for name, value in spec.aux.values.items() if isinstance(spec.aux, Fixed) else ():
            field = f"{text}.{name}"
            value_text = self.literals.text(value, f"the field {field}")
            lines.append(self._call("_expect_value", field, repr(field), value_text))
        return lines

    def _leaves(self, arguments: Arguments) -> list[str]:
        lines = []
        known = [id(leaf) for leaf in arguments.leaves if leaf.kind[0] == "object"]
        objects = dict(zip(known, STATE.objects, strict=True))  # constant in the file
        for leaf, text in zip(arguments.leaves, self.leaves, strict=True):
            if self.roots[leaf.parameter] is None:
                continue
            match leaf.kind:
                case ("array", str(dtype), int(ndim)) if leaf.rows is not None:
                    kind = repr(type(leaf.rows).__name__)
                    wanted = (kind, repr(dtype), str(ndim - 1))
                    lines.append(self._call("_expect_list", text, repr(text), *wanted))
                case ("array", str(dtype), ndim):
                    shown = (text, repr(text), repr(dtype), str(ndim))
                    lines.append(self._call("_expect_array", *shown))
                case ("scalar" | "number", str(name)):
                    lines.append(self._call("_expect_number", text, repr(text), f'"{name}"'))
                case ("static", _, _) | ("object", _):
                    held = objects.get(id(leaf), leaf.value)
                    value = self.literals.text(held, f"the argument {text}")
                    lines.append(self._call("_expect_value", text, repr(text), value))
        return lines

    def _lengths(self, parameters: Set[str]) -> list[str]:
        """Statements that compare lengths."""
        version = self.version
        pairs = zip(version.arguments.leaves, self.leaves, strict=True)
        reads: list[tuple[Leaf | None, str]] = [pair for pair in pairs if pair[0].traced]
        reads += [(None, name) for name in self.captures]
        texts = {
            symbol: length_text(*reads[index], axis)
            for symbol, (index, axis) in version.symbols.items()
        }
        hidden = sorted(parameters & IN_LENGTHS)

        def told(length: Dim) -> tuple[str, str]:
            """A length as it is computed, with builtins that no parameter hides, and shown."""
            shown = as_python(length, texts)
            called = [name for name in hidden if f"{name}(" in shown]
            names = {name: self.literals.imported("builtins", name) for name in called}
            return as_python(length, {**texts, **names}), repr(shown)

        return [self._length(a, b, told) for a, b in version.guards]

    def _length(self, a: Dim, b: Dim, told: Callable[[Dim], tuple[str, str]]) -> str:
        """The statement that demands that two lengths are equal."""
        if (order := ordered(a, b)) is not None:
            return self._call("_expect_at_least", *told(order[0]), told(order[1])[0])
        match limits(a, b):
            case (of, least, None):
                return self._call("_expect_at_least", *told(of), str(least))
            case (of, least, most) if least == most:
                a, b = of, least
            case (of, least, most) if least <= 0:
                return self._call("_expect_at_most", *told(of), str(most))
        if isinstance(b, int):
            return self._call("_expect_length", *told(a), str(b))
        if isinstance(a, int):
            return self._call("_expect_length", *told(b), str(a))
        return self._call("_expect_equal_lengths", *told(a), *told(b))


def _negated(test: str) -> str:
    return test.replace(" is ", " is not ") if " is " in test else f"not {test}"
