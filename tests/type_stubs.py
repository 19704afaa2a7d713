"""The library as it runs enters; what type checkers read of it, its ``.pyi`` files, leaves.

    python tests/type_stubs.py

writes them anew; `tests/public/test_type_stubs.py` fails while they are not up to date. Functions
and methods that are made from the op table are no text that a type checker could read. A stub also
spares it the reading of the whole library: stubs name only other stubs, `codegen.ir` and NumPy.

A class stands in the stub of the module that defines it. Which functions give a Tensor for Tensors
is observed: every call in `numpy_cases` is run on Tensors.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import subprocess
import sys
import tempfile
import textwrap
import types
import typing
import warnings
from collections import abc
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType, GetSetDescriptorType, ModuleType
from typing import Any

import numpy as np
from numpy_cases import OPERANDS, calls, function_of, used
from ops_page import summary

import tracegrad as tg
from tracegrad.tape import grad_mode
from tracegrad.tensors import methods
from tracegrad.tensors.public_functions import RECORDS
from tracegrad.transforms import compiled_callable, sparse_derivatives

ROOT = Path(__file__).parent.parent

MODULES = (
    *("tracegrad", "tracegrad.autograd", "tracegrad.autograd.profiler", "tracegrad.config"),
    *("tracegrad.errors", "tracegrad.fft", "tracegrad.linalg", "tracegrad.nn", "tracegrad.nn.init"),
    *("tracegrad.optim", "tracegrad.random", "tracegrad.special", "tracegrad.test_util"),
    *("tracegrad.core", "tracegrad.extend", "tracegrad.tracer", "tracegrad.misc"),
    *("tracegrad.differential_operators", "tracegrad.misc.fixed_points"),
    *("tracegrad.misc.flatten", "tracegrad.misc.optimizers"),
)
"""What users import; the modules of classes that these name get stubs besides."""

ALSO = {
    "tracegrad": ["__version__", "__array_api_version__"],
    "tracegrad.random": ["Generator", "KeyGenerator"],
}
"""Public names that are not in the ``__all__`` of their module."""

HEADER = '"""{}"""\n\n# Made by tests/type_stubs.py from the library as it runs.\n\n'

# -- what functions give --------------------------------------------------------------------------

OPERAND_NAMES = {
    *("x", "y", "z", "a", "b", "v", "p", "x1", "x2", "a1", "a2", "m", "f", "u"),
    *("input", "weight", "target", "query", "key", "value", "tensor", "grads"),
}
"""Parameters that are arrays: a Tensor for one of them gives a Tensor."""

OF_TENSORS = (
    "tracegrad.special",
    "tracegrad.nn.",
    "tracegrad.linalg",
    "tracegrad.ops.signal.fourier",
)
"""Modules whose functions give one array each, where their annotation names no tuple."""

SEVERAL = {"eig", "eigh", "qr", "svd", "slogdet"}
"""Of those the ones that give several arrays."""

CREATION = "tracegrad.ops.shape.creation"
"""The module of functions that make a Tensor of no array."""

ALWAYS_TENSORS = ("normal", "rand", "rand_like", "randint", "randn", "randn_like", "randperm")

ANYTHING = {
    *("item", "tolist", "type", "__dlpack__", "__dlpack_device__", "__divmod__", "__rdivmod__"),
    *("__array_function__", "__array_ufunc__", "__array_namespace__", "flat"),
}
"""Members of Tensors that give something else than a Tensor, or may."""

MEMBER_TYPES = {
    "dim": "int",
    "numel": "int",
    "tobytes": "bytes",
    "itemsize": "int",
    "nbytes": "int",
}


@cache
def observed() -> dict[str, bool]:
    """By the name of a function: whether all its calls on Tensors gave one Tensor."""
    found: dict[str, bool] = {}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in calls():
            about = re.match(r"np\.(?:linalg\.|fft\.)?(\w+)\(", call)
            if about is None or (not used(call) and getattr(tg, about[1]).__module__ != CREATION):
                continue
            operands = {name: tg.tensor(OPERANDS[name]) for name in used(call)}
            result = function_of(call)(tg, **operands)
            one = type(result) is tg.Tensor
            found[about[1]] = found.get(about[1], True) and one
    return found


def gives_tensor(function: Any) -> bool:
    """Whether a function gives a Tensor for Tensors, and nothing else."""
    if function in RECORDS:
        return True
    if inspect.signature(function).return_annotation != "Any":
        return False
    name, module = function.__name__, function.__module__
    if name in observed():
        return observed()[name]
    return module.startswith(OF_TENSORS) and name not in SEVERAL


# -- text -----------------------------------------------------------------------------------------

SHORT = {"np.ndarray": "NDArray[Any]", "np.dtype": "np.dtype[Any]"}
OPEN = {"dict": "[Any, Any]", "list": "[Any]", "tuple": "[Any, ...]"}
"""Generic classes that annotations leave open."""


class Stub:
    """The stub of a module, while it is written."""

    def __init__(self, module: str) -> None:
        self.module = import_module(module)
        self.whole = module in MODULES
        self.imports: set[str] = {"from typing import Any"}  # what is not needed goes in the end
        self.parts: list[str] = []
        self.classes: list[type] = []
        self.hidden: set[str] = set()  # builtins whose names mean something else here

    # -- annotations --

    def annotation(self, text: Any, scope: dict[str, Any]) -> str:
        """An annotation as it stands in the source, with its names imported."""
        if text is inspect.Parameter.empty:
            text = "Any"
        if not isinstance(text, str):
            text = inspect.formatannotation(text)
        tree = _Names(self, scope).visit(ast.parse(text, mode="eval"))
        return ast.unparse(tree)

    def refer(self, name: str, scope: dict[str, Any]) -> str:
        """What a name of an annotation is called here."""
        value = scope.get(name, getattr(builtins, name, getattr(typing, name, None)))
        if value is getattr(typing, name, self):
            self.imports.add(f"from typing import {name}")
            return name
        if name in vars(builtins) and value is getattr(builtins, name):
            if name not in self.hidden:
                return name
            self.imports.add("import builtins")
            return f"builtins.{name}"
        if isinstance(value, ModuleType):
            renamed = "" if value.__name__ == name else f" as {name}"
            self.imports.add(f"import {value.__name__}{renamed}")
            return name
        if isinstance(value, type):
            return self.named(value)
        return self.alias(name, scope["__name__"])

    def alias(self, name: str, module: str) -> str:
        """What a name stands for in a module, for type checkers alone or as a name of a type."""
        for node in ast.walk(ast.parse(inspect.getsource(sys.modules[module]))):
            if isinstance(node, ast.ImportFrom) and name in [found.name for found in node.names]:
                value = getattr(import_module(str(node.module)), name)
                return (
                    self.named(value)
                    if isinstance(value, type)
                    else self.alias(name, str(node.module))
                )
            targets = getattr(node, "targets", [getattr(node, "target", None)])
            if isinstance(node, ast.Assign | ast.AnnAssign) and name in map(ast.unparse, targets):
                assert node.value is not None
                return self.annotation(ast.unparse(node.value), vars(sys.modules[module]))
        raise LookupError(f"{name}, a type in {module}")

    def named(self, cls: type) -> str:
        """A class, which is imported or stands here."""
        module, name = cls.__module__.removesuffix("._local"), cls.__name__  # of pathlib, in 3.13
        if getattr(builtins, name, None) is cls:
            return self.refer(name, {})
        if module == "builtins":  # where they cannot be had
            module, name = "types", next(key for key, value in vars(types).items() if value is cls)
        if module == self.module.__name__:
            if cls not in self.classes:
                self.classes.append(cls)
            return name
        module = "collections.abc" if getattr(abc, name, None) is cls else module
        if getattr(self.module, name, cls) is not cls:  # another class is called that here
            self.imports.add(f"from {module} import {name} as _{name}")
            return f"_{name}"
        self.imports.add(f"from {module} import {name}")
        if module.startswith("tracegrad."):
            WANTED.setdefault(module, {})[name] = cls
        return name

    # -- functions --

    def parameters(
        self, function: Any, renamed: dict[str, str] | None = None, skip: int = 0
    ) -> str:
        """The parameters of a function as text, some with other types, without the first `skip`."""
        scope = getattr(inspect.unwrap(function), "__globals__", {})
        signature = inspect.signature(function)
        array = "ArrayLike" if function in RECORDS else "Any"
        if function in RECORDS:
            self.imports.add("from numpy.typing import ArrayLike")
        texts: list[str] = []
        skipped, given = (
            [*signature.parameters.values()][:skip],
            [*signature.parameters.values()][skip:],
        )
        seen = skipped[-1].kind if skipped else None
        for p in given:
            if seen is p.POSITIONAL_ONLY and p.kind is not p.POSITIONAL_ONLY:
                texts.append("/")
            if p.kind is p.KEYWORD_ONLY and seen not in (p.KEYWORD_ONLY, p.VAR_POSITIONAL):
                texts.append("*")
            seen = p.kind
            stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
            kind = (renamed or {}).get(p.name)
            if kind is None:
                kind = array if p.annotation is p.empty else self.annotation(p.annotation, scope)
            default = "" if p.default is p.empty else f" = {_default(p.default)}"
            texts.append(f"{stars}{p.name}: {kind}{default}")
        if seen is inspect.Parameter.POSITIONAL_ONLY:
            texts.append("/")
        return ", ".join(texts)

    def returned(self, function: Any) -> str:
        scope = getattr(inspect.unwrap(function), "__globals__", {})
        return self.annotation(inspect.signature(function).return_annotation, scope)

    def function(self, name: str, function: Any) -> Iterator[str]:
        """A public function: where it gives a Tensor for Tensors, one overload says so."""
        said = _said(function)
        if name in WRITTEN:
            yield from self.written(WRITTEN[name], said)
            return
        if name in TRANSFORMS and function is getattr(tg, name):
            yield from self.transform(name, function, said)
            return
        tensor_ = self.named(tg.Tensor) if gives_tensor(function) or name in ALWAYS_TENSORS else ""
        given = inspect.signature(function).parameters.values()
        required = [p for p in given if p.default is p.empty and p.annotation in ("Any", p.empty)]
        operands = [p.name for p in required if p.name in OPERAND_NAMES]
        lists = [p.name for p in required if p.name == "arrays" and p.kind is not p.VAR_POSITIONAL]
        if not tensor_:
            yield _def(name, self.parameters(function), self.returned(function), said)
        elif not operands and not lists:
            free = name in ALWAYS_TENSORS or function.__module__ == CREATION
            yield _def(name, self.parameters(function), tensor_ if free else "Any", said)
        else:
            self.imports.add("from typing import overload")
            for operand in operands:
                mine = self.parameters(function, {operand: tensor_})
                yield "@overload\n" + _def(name, mine, tensor_)
            for operand in lists:
                self.imports.add("from collections.abc import Iterable")
                mine = self.parameters(function, {operand: f"Iterable[{tensor_}]"})
                yield "@overload\n" + _def(name, mine, tensor_)
            yield "@overload\n" + _def(name, self.parameters(function), "Any", said)

    def written(self, text: str, said: str) -> Iterator[str]:
        """Signatures that are written here by hand."""
        *before, last = textwrap.dedent(text).strip().split("\n\n")
        yield from before
        written = last.removesuffix("...")
        yield f'{written}\n    """{said}"""' if said and written != last else last
        self.known(text)

    def known(self, text: str) -> None:
        """Imports what hand-written text names."""
        if "builtins." in text:
            self.imports.add("import builtins")
        if re.search(r"\b_[PRQ]\b", text):
            self.imports |= {"from typing import ParamSpec", "from typing import TypeVar"}
        for name in set(re.findall(r"\b[A-Z_]\w+\b|\boverload\b|\btype_check_only\b", text)):
            if name in KNOWN:
                self.named(KNOWN[name])
            elif name in vars(abc):
                self.imports.add(f"from collections.abc import {name}")
            elif name in vars(typing) or name == "type_check_only":  # which does not run
                self.imports.add(f"from typing import {name}")

    def transform(self, name: str, function: Any, said: str) -> Iterator[str]:
        """A decorator that is used bare and with arguments."""
        options = self.parameters(function, skip=1)
        plain = TRANSFORMS[name]
        forms = [(options, plain)]
        if name in ("jacobian", "hessian"):
            dense = f"sparse: {self.refer('bool', {})} = False"
            asked = options.replace(dense, "sparse: Literal[True]")
            options = options.replace(dense, "sparse: Literal[False] = False")
            forms = [(asked, "Sparse[_P]"), (options, plain)]
        self.known("overload Callable Literal Any Protocol Tensor Compiled Sparse type_check_only")
        for written, result in forms:
            told = said if result == plain else ""
            yield f"@overload\ndef {name}(f: _ArrayFunction, {written}) -> {of_any(result)}: ..."
            yield f"@overload\ndef {name}(f: Callable[_P, _R], {written}) -> {result}: ..."
            yield "@overload\n" + _def(name, f"f: None = None, {written}", DECORATORS[result], told)

    # -- classes --

    def class_(self, cls: type) -> str:
        """A class with its public members; those of private bases are its own."""
        outer, self.hidden = self.hidden, self.hidden | ({*dir(cls)} & {*vars(builtins)})
        try:
            return self._class(cls)
        finally:
            self.hidden = outer

    def _class(self, cls: type) -> str:
        said = _said(cls)
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            self.imports.add("from typing import NamedTuple")
            scope = vars(sys.modules[cls.__module__])
            hints = {field: _text(cls.__annotations__[field]) for field in cls._fields}
            lines = [f"{field}: {self.annotation(text, scope)}" for field, text in hints.items()]
            return _block(f"class {cls.__name__}(NamedTuple):", said, lines)
        shown = [c for c in cls.__bases__ if c is not object and not _is_hidden(c)]
        names = [self.named(base) + OPEN.get(base.__name__, "") for base in shown]
        if cls in GENERIC:
            names.append(GENERIC[cls])
            self.known(GENERIC[cls])
        members: dict[str, Any] = {}
        fields: dict[str, str] = {}
        for c in [*reversed([*filter(_is_hidden, cls.__mro__[1:])]), cls]:
            scope = vars(sys.modules[c.__module__])
            for field, text in inspect.get_annotations(c).items():
                if not field.startswith("_"):
                    fields[field] = self.annotation(_text(text), scope)
            for field, text in _set_in_init(c).items():
                fields.setdefault(field, self.annotation(text, scope))
            members |= vars(c)
        made = {name for name, m in members.items() if isinstance(m, property | FunctionType)}
        fields = {name: kind for name, kind in fields.items() if name not in made}
        lines = [f"{name}: {kind}" for name, kind in fields.items()]
        for name in sorted({*members} - {*fields}):
            lines += self.member(cls, name, members[name])
        head = f"class {cls.__name__}({', '.join(names)}):" if names else f"class {cls.__name__}:"
        return _block(head, said, lines)

    def member(self, cls: type, name: str, member: Any) -> Iterator[str]:
        written = MEMBERS.get((cls.__name__, name))
        if name == "__init__" and cls not in _made_by_users():
            return
        if written is not None:
            yield from self.written(written, _said(member))
        elif name.startswith("_") and (not name.startswith("__") or name in OF_EVERY_CLASS):
            return
        elif isinstance(member, property):
            yield from self.property_(cls, name, member)
        elif isinstance(member, staticmethod | classmethod):
            kind = type(member).__name__
            first = "cls, " if kind == "classmethod" else ""
            function = member.__func__
            skip = 1 if kind == "classmethod" else 0
            yield f"@{kind}\n" + _def(
                name,
                first + self.parameters(function, skip=skip),
                self.returned(function),
                _said(function),
            )
        elif isinstance(member, FunctionType):
            yield self.method(cls, name, member)
        elif any(name in {*vars(c), *inspect.get_annotations(c)} for c in cls.__mro__[1:]):
            return
        elif not isinstance(member, GetSetDescriptorType) and not name.startswith("__"):
            yield f"{name}: Any"

    def property_(self, cls: type, name: str, member: property) -> Iterator[str]:
        kind = self.returned(member.fget) if isinstance(member.fget, FunctionType) else "Any"
        if cls is tg.Tensor:
            kind = self.of_tensor(name, kind)
        yield "@property\n" + _def(name, "self", kind, _said(member.fget))
        if member.fset is not None:
            given = kind if kind == self.refer("bool", {}) else "Any"
            yield f"@{name}.setter\ndef {name}(self, value: {given}) -> None: ..."

    def method(self, cls: type, name: str, member: FunctionType) -> str:
        shown: Any = member
        if cls is tg.Tensor and name in methods.METHODS:
            shown = getattr(tg, methods.METHODS[name])
        rest = self.parameters(shown, skip=1)
        kind = "None" if name == "__init__" else self.returned(shown)
        if cls is tg.Tensor:
            claims = gives_tensor(shown) or shown is member
            kind = self.of_tensor(name, kind) if claims else kind
        elif cls.__name__ == "Generator" and kind == "Any":
            kind = self.named(tg.Tensor)
        text = _def(name, f"self, {rest}" if rest else "self", kind, _said(member))
        ignored = {"__eq__": "override", "__ne__": "override"}.get(name)
        if ignored is None or cls is not tg.Tensor:
            return text
        return f"def {name}(self, {rest}) -> {kind}: ...  # type: ignore[override]"

    def of_tensor(self, name: str, kind: str) -> str:
        if name in MEMBER_TYPES:
            return self.refer(MEMBER_TYPES[name], {})
        return "Tensor" if kind == "Any" and name not in ANYTHING else kind

    # -- the whole --

    def add(self, name: str, value: Any) -> None:
        """A public name of the module."""
        module = getattr(value, "__module__", None)
        noted = inspect.get_annotations(self.module)
        if name in noted:
            self.parts.append(f"{name}: {self.annotation(noted[name], vars(self.module))}")
        elif isinstance(value, ModuleType):
            parent, _, own = value.__name__.rpartition(".")
            self.imports.add(f"from {parent} import {own} as {name}")
        elif isinstance(value, type) and module == self.module.__name__:
            self.named(value)
        elif isinstance(value, type):
            own = self.named(value)
            self.imports.discard(f"from {module} import {own}")
            self.imports.add(f"from {module} import {own} as {name}")
        elif isinstance(value, FunctionType):
            self.parts += self.function(name, value)
        else:
            self.parts.append(f"{name}: {self.constant(value)}")

    def constant(self, value: Any) -> str:
        if isinstance(value, np.dtype):
            self.imports.add("import numpy as np")
            return f"np.dtype[np.{value.type.__name__}]"
        if isinstance(value, bool | int | float | str):
            return self.refer(type(value).__name__, {})
        return "None" if value is None else "Any"

    def text(self) -> str:
        done: list[str] = []
        while len(done) < len(self.classes):  # writing one may find others
            done.append(self.class_(self.classes[len(done)]))
        ordered = sorted(zip(map(_depth, self.classes), range(len(done))))
        body = "\n\n".join([done[i] for _, i in ordered] + self.parts)
        first = summary(self.module) or self.module.__name__
        variables = ""
        if "ParamSpec" in "".join(self.imports):
            variables += "".join(text for name, text in VARIABLES.items() if name in body) + "\n"
        if "Decorator:" in body:
            variables += DECORATOR_CLASSES
        every = sorted(getattr(self.module, "__all__", [])) if self.whole else []
        listed = f"__all__ = {every!r}\n\n" if every else ""
        imports = "\n".join(sorted(self.imports)) + "\n\n"
        return HEADER.format(first) + imports + listed + variables + body + "\n"


class _Names(ast.NodeTransformer):
    """Renames and imports the names of an annotation."""

    def __init__(self, stub: Stub, scope: dict[str, Any]) -> None:
        self.stub, self.scope = stub, scope

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        text = ast.unparse(node)
        if text in SHORT:
            return self.short(text)
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in OPEN:
            head = self.stub.refer(node.value.id, self.scope)
            node.slice = self.visit(node.slice)
            return ast.parse(f"{head}[{ast.unparse(node.slice)}]", mode="eval").body
        if ast.unparse(node.value) in SHORT or ast.unparse(node.value) == "Literal":
            self.stub.refer(ast.unparse(node.value).partition(".")[0], self.scope)
            return node
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str):
            return self.visit(ast.parse(node.value, mode="eval").body)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in OPEN:
            return ast.parse(self.stub.refer(node.id, self.scope) + OPEN[node.id], mode="eval").body
        return ast.parse(self.stub.refer(node.id, self.scope), mode="eval").body

    def short(self, text: str) -> ast.AST:
        self.stub.imports |= {"import numpy as np", "from typing import Any"}
        self.stub.imports.add("from numpy.typing import NDArray")
        return ast.parse(SHORT[text], mode="eval").body


def _text(annotation: Any) -> str:
    return annotation.__forward_arg__ if hasattr(annotation, "__forward_arg__") else annotation


def _is_hidden(base: type) -> bool:
    """Whether the members of a base are shown as those of the class itself."""
    return base in FLAT or base.__name__.startswith("_")


def _depth(cls: type) -> int:
    return len(cls.__mro__)


def _set_in_init(cls: type) -> dict[str, str]:
    """The public attributes that the constructor sets, and their types as far as it says them."""
    init = vars(cls).get("__init__")
    if not isinstance(init, FunctionType) or init.__code__.co_filename.startswith("<"):
        return {}
    properties = {
        name for c in cls.__mro__ for name, v in vars(c).items() if isinstance(v, property)
    }
    found: dict[str, str] = {}
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(init)))):
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        for target in targets if isinstance(node, ast.Assign | ast.AnnAssign) else []:
            own, _, name = ast.unparse(target).partition(".")
            if own == "self" and name.isidentifier() and name[0] != "_" and name not in properties:
                said = getattr(node, "annotation", None)
                found[name] = ast.unparse(said) if said else found.get(name, "Any")
    return found


def _default(value: Any) -> str:
    plain = value is None or isinstance(value, bool | int | str) or value == ()
    return repr(value) if plain or (isinstance(value, float) and value == value) else "..."


def _said(function: Any) -> str:
    """The docstring, which editors show where a name is pointed at."""
    own = function.__doc__ and function.__doc__ != type(function).__doc__  # of staticmethod itself
    said = inspect.getdoc(function) if own else None
    lines = (said or "").replace("\\", "\\\\").splitlines()
    return re.sub(r'"$', r"\"", "\n".join(lines)) + "\n" * (len(lines) > 1)


def _def(name: str, parameters: str, kind: str, said: str = "") -> str:
    body = "\n" + textwrap.indent(f'"""{said}"""', "    ") if said else " ..."
    return f"def {name}({parameters}) -> {kind}:{body}"


def _block(head: str, said: str, lines: Iterable[str]) -> str:
    body = "\n".join([f'"""{said}"""'] * bool(said) + [*lines]) or "..."
    return f"{head}\n{textwrap.indent(body, '    ')}"


def _public(module: ModuleType) -> list[str]:
    """The names that users import from a module."""
    noted = {name for name in inspect.get_annotations(module) if not name.startswith("_")}
    own = {name for name, value in vars(module).items() if _stands_in(value, module)}
    names = getattr(module, "__all__", [*noted, *own])
    return [*names, *ALSO.get(module.__name__, [])]


@cache
def _made_by_users() -> set[Any]:
    """The classes that users have by name, and their bases; of others they meet objects."""
    modules = map(import_module, MODULES)
    values = [vars(module)[name] for module in modules for name in _public(module)]
    return {base for value in values if isinstance(value, type) for base in value.__mro__}


def _stands_in(value: Any, module: ModuleType) -> bool:
    made = isinstance(value, type | FunctionType) and value.__module__ == module.__name__
    return made and not value.__name__.startswith("_")


# -- what is written by hand ----------------------------------------------------------------------

KNOWN: dict[str, type] = {
    "Tensor": tg.Tensor,
    "Compiled": compiled_callable.Compiled,
    "Bound": compiled_callable.Bound,
    "Sparse": sparse_derivatives.Sparse,
    "_Mode": grad_mode._Mode,
}
GENERIC = {
    compiled_callable.Compiled: "Generic[_P, _R]",
    compiled_callable.Bound: "Generic[_P, _R]",
    sparse_derivatives.Sparse: "Generic[_P]",
}
FLAT = {c for c in compiled_callable.Compiled.__mro__[1:-1]}
"""Bases whose members are shown as those of the class itself."""

TRANSFORMS = {
    "compile": "Compiled[_P, _R]",
    "grad": "Compiled[_P, Any]",
    "hessian": "Compiled[_P, Any]",
    "jacfwd": "Compiled[_P, Any]",
    "jacobian": "Compiled[_P, Any]",
    "jacrev": "Compiled[_P, Any]",
    "value_and_grad": "Compiled[_P, builtins.tuple[_R, Any]]",
    "vmap": "Compiled[..., Any]",
}
"""What a transform makes of a function. The arguments of `vmap`'s are batches of what the function
takes, and so have types of their own."""

DECORATORS = {
    "Compiled[_P, _R]": "_CompileDecorator",
    "Compiled[_P, Any]": "_DerivativeDecorator",
    "Compiled[_P, builtins.tuple[_R, Any]]": "_ValueAndGradDecorator",
    "Compiled[..., Any]": "_VmapDecorator",
    "Sparse[_P]": "_SparseDecorator",
}
"""What a transform is that has its arguments and waits for the function, by what it makes of it."""


def of_any(result: str) -> str:
    """What a transform makes of a function whose parameters and result are not kept."""
    return result.replace("[_P", "[...").replace("_R", "Any")


ARRAY_FUNCTIONS = """
@type_check_only
class _OfOne(Protocol):
    @overload
    def __call__(self, x: Tensor, /) -> Tensor: ...
    @overload
    def __call__(self, x: builtins.float, /) -> Any: ...

@type_check_only
class _OfTwo(Protocol):
    @overload
    def __call__(self, a: Tensor, b: Any, /) -> Tensor: ...
    @overload
    def __call__(self, a: builtins.float, b: builtins.float, /) -> Any: ...

_ArrayFunction = _OfOne | _OfTwo
"""
"""A transform of one that has overloads, as `tg.tanh`, would keep the parameters of the first."""

DECORATOR_CLASSES = ARRAY_FUNCTIONS + "".join(
    f"""
@type_check_only
class {name}(Protocol):
    @overload
    def __call__(self, f: _ArrayFunction, /) -> {of_any(result)}: ...
    @overload
    def __call__(self, f: Callable[_P, _R], /) -> {result}: ...
"""
    for result, name in DECORATORS.items()
)

MODE = """
    @overload
    def {}(function: None = None) -> _Mode: ...

    @overload
    def {}(function: Callable[_P, _R]) -> Callable[_P, _R]: ...
"""
VARIABLES = {
    "_P": '_P = ParamSpec("_P")\n',
    "_Q": '_Q = ParamSpec("_Q")\n',
    "_R": '_R = TypeVar("_R")\n',
}
DECORATES = "def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]: ..."
WRITTEN = {
    "enable_grad": MODE.format("enable_grad", "enable_grad"),
    "inference_mode": MODE.format("inference_mode", "inference_mode").replace(
        "function: None", "function: builtins.bool | None"
    ),
    "no_grad": MODE.format("no_grad", "no_grad"),
    "checkpoint": """
        @overload
        def checkpoint(
            f: Callable[_P, _R], *, max_bytes: builtins.int | None = None
        ) -> Callable[_P, _R]: ...

        @overload
        def checkpoint(
            f: None = None, *, max_bytes: builtins.int | None = None
        ) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...
    """,
    "where": """
        @overload
        def where(condition: Any) -> builtins.tuple[Any, ...]: ...

        @overload
        def where(condition: Tensor, x: Any, y: Any) -> Tensor: ...

        @overload
        def where(condition: Any, x: Tensor, y: Any) -> Tensor: ...

        @overload
        def where(condition: Any, x: Any, y: Tensor) -> Tensor: ...

        @overload
        def where(condition: Any, x: Any, y: Any) -> Any: ...
    """,
}
OVERRIDDEN = "@staticmethod\ndef {}(*args: Any, **kwargs: Any) -> Any: ..."
"""What subclasses write with parameters of their own."""

MEMBERS = {
    ("_Mode", "__call__"): DECORATES,
    ("set_grad_enabled", "__call__"): DECORATES,
    (
        "Bound",
        "__init__",
    ): "def __init__(self, compiled: Compiled[..., _R], instance: Any) -> None: ...",
    ("Device", "index"): """
        @property
        def index(self) -> int | None: ...  # type: ignore[override]
    """,
    ("Function", "backward"): OVERRIDDEN.format("backward"),
    ("Function", "forward"): OVERRIDDEN.format("forward"),
    ("Variable", "__new__"): """
        def __new__(  # type: ignore[misc]
            cls, data: Any, requires_grad: bool = False, volatile: bool = False
        ) -> Tensor: ...
    """,
    ("Compiled", "__call__"): "def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...",
    ("Bound", "__call__"): "def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...",
    ("Sparse", "__call__"): "def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> Any: ...",
    ("Compiled", "__get__"): """
        @overload
        def __get__(self, instance: None, owner: type | None = None) -> Compiled[_P, _R]: ...

        @overload
        def __get__(
            self: Compiled[Concatenate[Any, _Q], _R], instance: object, owner: type | None = None
        ) -> Bound[_Q, _R]: ...
    """,
}
OF_EVERY_CLASS = {
    "__module__",
    "__doc__",
    "__slots__",
    "__weakref__",
    "__dict__",
    "__annotations__",
    "__class__",
    "__repr__",
    "__str__",
    "__format__",
    "__reduce__",
    "__copy__",
    "__deepcopy__",
    "__getattr__",
    "__dataclass_fields__",
    "__dataclass_params__",
    "__match_args__",
    "__setattr__",
    "__delattr__",
    "__array_priority__",
    "__getstate__",
    "__setstate__",
    "__signature__",
    "__wrapped__",
    "__get__",
    "__post_init__",
    "__replace__",
    "__static_attributes__",
    "__firstlineno__",
    "__orig_bases__",
    "__annotate__",
    "__annotate_func__",
}
"""Members that type checkers know of every class, or need not know."""

ANY_NAME = "from typing import Any\n\ndef __getattr__(name: str) -> Any: ...\n"
OF_OTHERS = {
    "tracegrad.builtins": """
        from builtins import dict as dict, isinstance as isinstance, list as list
        from builtins import tuple as tuple, type as type
        from builtins import dict as DictBox, list as ListBox, tuple as TupleBox

        __all__ = ["DictBox", "ListBox", "TupleBox", "dict", "isinstance", "list", "tuple", "type"]
    """,
    "tracegrad.numpy": """
        from typing import Any
        from numpy import *

        def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any: ...
        def __getattr__(name: str) -> Any: ...
    """,
    "tracegrad.scipy.integrate": ANY_NAME,
    "tracegrad.scipy.linalg": ANY_NAME,
    "tracegrad.scipy.optimize": ANY_NAME,
    "tracegrad.scipy.signal": ANY_NAME,
    "tracegrad.scipy.special": ANY_NAME,
    "tracegrad.scipy.stats": ANY_NAME,
}
"""Modules whose names are those of another library; SciPy's has no types."""

# -- files ----------------------------------------------------------------------------------------

WANTED: dict[str, dict[str, type]] = {}
"""The classes that stubs name, by the module in which they stand."""


def stubs() -> dict[Path, str]:
    """Every stub by its file, formatted."""
    WANTED.clear()
    made: dict[str, Stub] = {}
    for name in MODULES:
        made[name] = stub = Stub(name)
        public = _public(stub.module)
        stub.hidden = {*public} & {*vars(builtins)}
        for attribute in sorted(public):
            stub.add(attribute, getattr(stub.module, attribute))
    texts: dict[str, str] = {}
    while True:
        for name, classes in list(WANTED.items()):
            stub = made.setdefault(name, Stub(name))
            for cls in classes.values():
                stub.named(cls)
        new = {name: stub.text() for name, stub in made.items()}
        if new == texts:
            break
        texts = new
    for name, text in OF_OTHERS.items():
        said = summary(import_module(name))
        texts[name] = HEADER.format(said) + textwrap.dedent(text)
    return {_file(name): text for name, text in formatted(texts).items()}


def _file(module: str) -> Path:
    return Path(import_module(module).__file__ or "").with_suffix(".pyi")


def formatted(texts: dict[str, str]) -> dict[str, str]:
    """The texts in the style of the project, without imports that they do not need."""
    ruff = [sys.executable, "-m", "ruff"]
    style = ["--quiet", "--no-cache", "--config", str(ROOT / "pyproject.toml")]
    with tempfile.TemporaryDirectory() as name:
        files = {module: Path(name, f"{module}.pyi") for module in texts}
        for module, file in files.items():
            file.write_text(texts[module], encoding="utf-8")
        for command in (["check", "--fix-only"], ["format"]):
            subprocess.run([*ruff, *command, *style, name], check=True)
        return {module: file.read_text(encoding="utf-8") for module, file in files.items()}


if __name__ == "__main__":
    for file, text in stubs().items():
        file.write_text(text, encoding="utf-8")
