"""A version enters; statements that check a call's arguments leave; errors say what to pass.

They stand at the top of an exported function, and say in words what an entry (`guards.py`) tests in
one condition. The functions that they call are written into the same file.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from tracegrad.errors import ExportError
from tracegrad.guards import dim_text
from tracegrad.literals import Literals
from tracegrad.signature import Arguments
from tracegrad.tree import Child, TreeSpec, path_text
from tracegrad.version import Version

ARRAY = '''
def _expect_array(array, text, dtype, ndim):
    """Raises unless `array` is of the kind that the program was written for."""
    wanted = f"an array of {dtype} with {ndim} axes"
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
    if type(value) is not kind:
        name = kind.__name__
        raise TypeError(
            f"{text} must be a {name}, not {value!r} of type {type(value).__name__}: "
            f"pass {name}({text})"
        )
'''

VALUE = '''
def _expect_value(value, text, expected):
    """Raises unless `value` is the one that the program was written for."""
    if type(value) is not type(expected) or value != expected:
        raise ValueError(
            f"{text} must be {expected!r}, not {value!r}: this file was written for that value, "
            "export it again for another"
        )
'''

KEYS = '''
def _expect_keys(tree, text, kind, keys):
    """Raises unless `tree` is a dict with these keys."""
    if type(tree) is not kind:
        raise TypeError(
            f"{text} must be a {kind.__name__}, not a {type(tree).__name__}"
        )
    if set(tree) != set(keys) or (kind is not dict and list(tree) != keys):
        raise ValueError(f"{text} must have the keys {keys}, not {list(tree)}")
'''

ITEMS = '''
def _expect_items(tree, text, kind, count):
    """Raises unless `tree` is a list or tuple of this length."""
    if type(tree) is not kind or len(tree) != count:
        found = f"a {type(tree).__name__}"
        found += f" of {len(tree)}" if hasattr(tree, "__len__") else ""
        raise TypeError(f"{text} must be a {kind.__name__} of {count}, not {found}")
'''

LENGTH = '''
def _expect_length(found, text, wanted, wanted_text):
    """Raises unless two lengths are equal."""
    if found != wanted:
        reason = "" if wanted_text == str(wanted) else f" = {wanted_text}"
        raise ValueError(
            f"{text} must be {wanted}{reason}, not {found}: pass such arrays, or export again "
            "with arrays of these lengths"
        )
'''

FUNCTIONS = {
    "_expect_array": ARRAY,
    "_expect_number": NUMBER,
    "_expect_value": VALUE,
    "_expect_keys": KEYS,
    "_expect_items": ITEMS,
    "_expect_length": LENGTH,
}
IS_ARRAY = {
    "numpy": "type(array) is np.ndarray",
    "jax": "isinstance(array, (np.ndarray, jax.Array))",
}


class Demands:
    """The statements, and in `functions` the text of what they call."""

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
        arguments = version.arguments
        self.leaves = [
            path_text(roots[leaf.parameter] or "", leaf.path).replace("'", '"')
            for leaf in arguments.leaves
        ]

    def statements(self) -> list[str]:
        """All of them: structure, leaves, lengths."""
        lines: list[str] = []
        arguments = self.version.arguments
        for root, spec in zip(self.roots, arguments.specs, strict=True):
            if root is not None:
                lines += self._structure(spec, root)
        lines += self._leaves(arguments)
        return [*lines, *self._lengths()]

    def _call(self, name: str, *texts: str) -> str:
        text = FUNCTIONS[name].replace("not ARRAYS", _negated(IS_ARRAY[self.version.target]))
        self.functions[name] = text
        return f"{name}({', '.join(texts)})"

    def _structure(self, spec: TreeSpec, text: str) -> list[str]:
        if spec.type is None:
            return []
        if any(isinstance(step, Child) for step in spec.steps):
            raise ExportError(
                f"{text} is a {spec.type.__name__}, which only its own functions can take apart: "
                "pass its arrays in a tuple or dict"
            )
        lines = []
        if spec.type is type(None):
            lines.append(self._call("_expect_value", text, repr(text), "None"))
        elif spec.type in (tuple, list):
            kind, count = spec.type.__name__, str(len(spec.steps))
            lines.append(self._call("_expect_items", text, repr(text), kind, count))
        elif spec.type in (dict, OrderedDict):
            keys = [self.literals.key(step) for step in spec.steps]
            kind = self.literals.text(spec.type, text)
            lines.append(self._call("_expect_keys", text, repr(text), kind, f"[{', '.join(keys)}]"))
        for step, child in zip(spec.steps, spec.children, strict=True):
            lines += self._structure(child, path_text(text, (step,)).replace("'", '"'))
        return lines

    def _leaves(self, arguments: Arguments) -> list[str]:
        lines = []
        for leaf, text in zip(arguments.leaves, self.leaves, strict=True):
            if self.roots[leaf.parameter] is None:
                continue
            match leaf.kind:
                case ("array", str(dtype), ndim):
                    shown = (text, repr(text), repr(dtype), str(ndim))
                    lines.append(self._call("_expect_array", *shown))
                case ("scalar", str(dtype)):
                    kind = f"np.{dtype}"
                    lines.append(self._call("_expect_number", text, repr(text), kind))
                case ("number", str(name)):
                    lines.append(self._call("_expect_number", text, repr(text), name))
                case ("static", _, _):
                    value = self.literals.text(leaf.value, f"the argument {text}")
                    lines.append(self._call("_expect_value", text, repr(text), value))
        return lines

    def _lengths(self) -> list[str]:
        version = self.version
        traced = [
            text
            for leaf, text in zip(version.arguments.leaves, self.leaves, strict=True)
            if leaf.traced
        ]
        names = [*traced, *self.captures]
        texts = {
            symbol: f"{names[index]}.shape[{axis}]"
            for symbol, (index, axis) in version.symbols.items()
        }
        lines = []
        for a, b in version.guards:
            left, right = dim_text(a, texts), dim_text(b, texts)
            if left.isdigit():
                left, right = right, left
            lines.append(self._call("_expect_length", left, repr(left), right, repr(right)))
        return lines


def _negated(test: str) -> str:
    return test.replace(" is ", " is not ") if " is " in test else f"not {test}"
