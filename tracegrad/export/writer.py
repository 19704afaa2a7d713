"""Writes a compiled function as one Python file that needs no tracegrad.

The file has the function under its own name and signature, which checks its arguments, and the
generated program, which that function calls. Arrays from outside are in it: small ones as source,
large ones in an ``.npz`` beside it.
"""

from __future__ import annotations

import inspect
import json
import os
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from keyword import iskeyword
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from codegen.emit.formatting import formatted
from codegen.emit.module import in_groups
from codegen.emit.target import place
from codegen.emit.writer import Names
from codegen.ir import Branch, Check, Loop
from codegen.names import hides
from tracegrad.arguments.argument_changes import ArgumentStore
from tracegrad.arguments.signature import Arguments, name_of
from tracegrad.compiled.captured import memory
from tracegrad.compiled.joint_graph import Returned
from tracegrad.compiled.traced_run import code_of
from tracegrad.compiled.version import Version
from tracegrad.errors import ExportError
from tracegrad.execution.pipeline import emit
from tracegrad.export.argument_checks import Demands
from tracegrad.export.constants import Literals, array_text, axes_by_memory
from tracegrad.export.derivative_rules import FITTED, refused, rule_text
from tracegrad.export.function_sources import FunctionTexts
from tracegrad.export.key_orders import key_orders
from tracegrad.ops.random_draws import Draw
from tracegrad.tracing.outputs import Transform
from tracegrad.values.pytree import flatten
from tracegrad.world import Store

INDENT = "    "
OWNED = '''
def _owned(tree, axeless=(((), ()),)):
    """The structure with JAX arrays as NumPy arrays and scalars in memory of their own.

    `axeless` are leaves without axes that are arrays, or Python's numbers, for each end.
    """
    leaves, structure = jax.tree.flatten(tree)
    leaves = [np.array(leaf) for leaf in leaves]
    arrays, numbers = axeless[int(leaves[0]) if len(axeless) > 1 else 0]
    scalars = [x if x.ndim or i in arrays else x[()] for i, x in enumerate(leaves)]
    return structure.unflatten([x.item() if i in numbers else x for i, x in enumerate(scalars)])
'''
LOOKS = '''
def _expect_looks(outputs, looks, texts):
    """The outputs; raises where Python saw something at a look that was never traced."""
    for look, text in zip(looks, texts):
        if not look:
            raise LookupError(text)
    return outputs
'''
SOUND = '''
def _expect_looks(outputs, looks, texts):
    """The outputs; raises where NumPy would have raised. While JAX traces, floats are nan there."""
    if any(isinstance(look, jax.core.Tracer) for look in looks):
        sound = jnp.stack([jnp.asarray(look) for look in looks]).all()
        return jax.tree.map(
            lambda x: x * jnp.where(sound, 1.0, jnp.nan).astype(x.real.dtype)
            if jnp.issubdtype(x.dtype, jnp.inexact) else x,
            outputs,
        )
    for look, text in zip(looks, texts):
        if not look:
            raise LookupError(text)
    return outputs
'''
TYPES = '''
def _numpy_types(*arrays):
    """NumPy's 64-bit types; while JAX traces, those that it has."""
    traced = any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(arrays))
    return _wide_types(jax.dtypes.canonicalize_dtype(np.float64) == np.float64 or not traced)
'''
WIDE = """
try:
    _wide_types = jax.enable_x64
except AttributeError:  # before JAX 0.8
    from jax.experimental import enable_x64 as _wide_types
"""


@dataclass(frozen=True)
class Exported:
    """The source of a file, and the arrays that stand beside it."""

    text: str
    arrays: dict[str, np.ndarray]


@dataclass(frozen=True)
class Callee:
    """What is exported: a function, what was made of it, and how users call it.

    `bound` tells that the first argument is an object that the callable holds.
    """

    function: Any
    transform: Transform
    static: frozenset[str]
    signature: inspect.Signature
    bound: bool = False


def file_at(path: Any) -> Path:
    """The path of a file that is to be written."""
    if not isinstance(path, str | os.PathLike):
        raise ExportError(
            f"export takes the path of the file first, then the arguments, and got an object "
            f"of type {type(path).__name__} as path: .export('gradient.py', ...)"
        )
    place = Path(path)
    if place.suffix != ".py":
        raise ExportError(f"{str(path)!r} must end in .py: a Python file is written")
    if not place.parent.is_dir():
        raise ExportError(f"{str(path)!r}: there is no folder {str(place.parent)!r}; make it first")
    return place


def write(
    place: Path,
    callee: Callee,
    version: Version,
    file_of: Callable[..., File] | None = None,
) -> Path:
    """Writes the file, and the arrays beside it where they are large; returns its path."""
    exported = export(callee, version, place, file_of)
    if exported.arrays:
        np.savez(place.with_suffix(".npz"), **exported.arrays)  # type: ignore[arg-type]
    place.write_text(exported.text, encoding="utf-8")
    return place


def export(
    callee: Callee,
    version: Version,
    place: Path,
    file_of: Callable[..., File] | None = None,
) -> Exported:
    """The file of a version, which is to stand at `place`."""
    _refuse(callee, version)
    made = partial(file_of or File, callee, version.for_any_order(), place)
    file = made()
    text = file.text()
    if hides(file.public, text):
        file = made(after="_")
        text = file.text()
    return Exported(formatted(text), file.large)


def _refuse(callee: Callee, version: Version) -> None:
    """Raises for what a file of functions cannot do."""
    name = name_of(callee.function)
    traced = [leaf.parameter for leaf in version.arguments.leaves if leaf.traced]
    if callee.bound and 0 in traced:
        raise ExportError(
            f"{name} is bound to an object whose arrays are arguments: export it from the class, "
            f"with the object as its first argument, Class.{name}.export(path, object, ...)"
        )
    for store in _stores_of(version):
        held = getattr(store.guard.value, "_array", store.guard.value)
        if store.text == version.effect or not isinstance(held, np.ndarray | int | float):
            shown = "an array of NumPy's" if isinstance(held, np.ndarray) else repr(held)
            raise ExportError(
                f"{name} stores {store.text}, which held {shown} before: call the function once, "
                "then export it, so that the file goes on from what it stored"
            )
    if version.effect:
        raise ExportError(
            f"{name} does more than compute: it reads or changes {version.effect}, which an "
            "exported function would not do: pass what it reads and return what is to be kept"
        )
    effects = [effect.tells for returned in version.results for effect in returned.effects]
    if effects:
        raise ExportError(
            f"{name} does more than compute: {effects[0]}, which an exported function would not "
            "do: return what is to be kept, and keep it in the caller"
        )
    for key, call in version.program.source.names.items():
        drawn = isinstance(call, Draw)
        more = "draw them outside and pass them" if drawn else refused(call)
        if version.target == "jax" or (more and not drawn):
            what = "draws random numbers" if drawn else f"calls {key}"
            raise ExportError(
                f"{name} {what}, a Python callable that cannot be written into a file: {more}"
            )


def _stores_of(version: Version) -> list[Store]:
    """The places outside the arguments that the function writes to."""
    every = (store for returned in version.results for store in returned.stores)
    return [store for store in every if isinstance(store, Store)]


class File:
    """The parts of the file; `text` puts them together."""

    suffix = ""
    """Behind the name of the function that calls the program."""

    def __init__(self, callee: Callee, version: Version, place: Path, after: str = "") -> None:
        self.callee = callee
        self.version = version
        self.place = place
        self.large: dict[str, np.ndarray] = {}
        self.generators: list[str] = []  # in the order in which the program names them
        self.read: list[str] = []  # the statements that read those
        self.functions: dict[str, str] = {}
        names = (name_of(callee.function), place.stem, "function")  # a lambda's is the file's
        self.name = next(name for name in names if name.isidentifier() and not iskeyword(name))
        self.name += after
        self.public, self.name = self.name, self.name + self.suffix
        graph = version.program.graph
        self.names = Names(
            {self.public, self.name, "np", "jax", "jnp", "Path", *graph.frame.parameters}
        )
        self.names.reserved |= set(callee.signature.parameters)
        self.literals = Literals(self.names)
        self.texts = FunctionTexts(self.names, self.literals, self._held)
        self.parameters = list(callee.signature.parameters.values())[callee.bound :]
        self.roots = [*([None] * callee.bound), *_roots(self.parameters, version.arguments, callee)]
        self.program = f"_{graph.name}"
        self.captures = [self.names.wish(name) for name in graph.frame.captures]
        self.names.reserved |= set(self.captures)
        self.stored = self._stored()  # the variable of the file for each place, with its array
        self.remedy = f": export {self.name} again, with these arguments"
        frame = replace(graph.frame, remedy=self.remedy)
        if callee.bound and not version.takes_leaves:
            frame = replace(frame, parameters=frame.parameters[1:])
        shown = graph.replace(name=self.program, frame=frame, about="")
        self.source = emit(shown, version.target, whole=True)
        self.names.reserved |= set(self.source.names)

    def _stored(self) -> dict[Any, tuple[str, Any]]:
        """Where the file keeps what the function stores: in the array that it reads, or in one."""
        world = self.version.world
        read = {
            world.place_of(captured.source): (name, None)
            for name, captured in zip(self.captures, self.version.captured, strict=True)
            if captured.source is not None
        }
        arrays = {
            id(memory(captured.given())): (name, None)
            for name, captured in zip(self.captures, self.version.captured, strict=True)
        }
        found: dict[Any, tuple[str, Any]] = {}
        stores, replaced = _stores_of(self.version), set[str]()
        # What is written into an array that its place does not have any more is read by nobody.
        for store in sorted(stores, key=lambda store: store.kind == "contents"):
            if store.place not in found:
                known = read.get(store.place)
                if store.kind == "contents":
                    known = arrays.get(id(memory(store.guard.now())))
                    known = None if known is not None and known[0] in replaced else known
                else:
                    replaced |= {known[0]} if known else set()
                found[store.place] = known or (self.names.wish(store.name), store.guard.now())
        return found

    def text(self) -> str:
        wrapper = self._wrapper()
        rules = self._rules()
        behind = self.behind()
        constants = [*self._constants(), *self.texts.constants, *self._generators()]
        head, program = self._program()
        imports = dict.fromkeys([*head, *self.literals.lines, *self.texts.imports])
        if self.large:
            imports["from pathlib import Path"] = None
        wide = []
        if self.version.target == "jax":
            imports["import numpy as np"], wide = None, [WIDE]
        functions = {**self.functions, **self.literals.functions, **self.texts.functions, **rules}
        parts = [
            f'"""{self._about()}"""\n',
            *in_groups(list(imports)),
            *wide,
            f"__tracegrad__ = {self._facts()!r}\n",
            *constants,
            wrapper,
            program,
            *behind,
            *functions.values(),
        ]
        return "\n".join(parts) + "\n"

    def behind(self) -> list[str]:
        """What stands behind the program."""
        return []

    # -- head -----------------------------------------------------------------------------------

    @property
    def where(self) -> str:
        code = code_of(self.callee.function)
        if code is None:
            return "a function without Python code"
        return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"

    @property
    def what(self) -> str:
        parameters = self.version.arguments.parameters
        words = self.callee.transform.described(self.public, parameters)
        return words if words == self.public else words[0].upper() + words[1:]

    @property
    def needs(self) -> str:
        """The libraries that the file needs."""
        library = "NumPy" if self.version.target == "numpy" else "JAX"
        scipy = any("scipy" in line for line in self.source.text.splitlines())
        return f"{library} and SciPy" if scipy else library

    def _about(self) -> str:
        lines = [
            f"{self.what}, from {self.where}.",
            "",
            f"Written by tracegrad; it needs {self.needs} alone. After an edit,",
            f"tracegrad.load({self.place.name!r}).verify(...) tells which statement departs.",
            "",
        ]
        return _quoted("\n".join(lines))

    def _facts(self) -> dict[str, Any]:
        """What `tracegrad.load` needs to find the function again."""
        function, transform = self.callee.function, self.callee.transform
        code = code_of(function)
        facts: dict[str, Any] = {"exported": self.name, "program": self.program}
        if code is not None and os.path.exists(code.co_filename):
            here = self.place.resolve().parent
            file = os.path.relpath(os.path.realpath(code.co_filename), here)
            facts |= {"file": Path(file).as_posix(), "line": code.co_firstlineno}
        facts["function"] = getattr(function, "__qualname__", self.name)
        facts |= {"transform": transform.kind, "backend": self.version.target}
        if transform.differentiates:
            facts |= {"argnums": transform.argnums, "has_aux": transform.has_aux}
        if transform.kind == "vmap":
            facts |= {"in_axes": transform.in_axes, "out_axes": transform.out_axes}
        if transform.takes_tangents or transform.takes_vectors:
            facts["count"] = transform.count
        if transform.mode != "auto":
            facts["mode"] = transform.mode
        if self.callee.bound:
            facts["bound"] = True
        if self.captures:
            facts["arrays"] = self.captures
        if self.stored:
            facts["stores"] = [name for name, _ in self.stored.values()]
        if self.generators:
            facts["generators"] = self.generators
        if self.callee.static:
            facts["static_argnames"] = sorted(self.callee.static)
        return facts

    # -- what the program reads from outside ----------------------------------------------------

    def _constants(self) -> Iterator[str]:
        arrays = self.version.captured_arrays()
        for name, array in zip(self.captures, arrays, strict=True):
            if type(array) is int:
                yield f"{name} = {array}"
                continue
            if type(array) is float:
                yield f"{name} = {array!r}" if isfinite(array) else f'{name} = float("{array}")'
                continue
            text = array_text(np.asarray(array))
            if text is not None:
                yield f"{name} = {text}"
                continue
            self.read.append(self._beside(name, np.asarray(array)))
        for name, value in self.stored.values():  # those that are written and never read
            if type(value) is int:
                yield f"{name} = {value}"
            elif type(value) is float:
                yield f"{name} = {value!r}" if isfinite(value) else f'{name} = float("{value}")'
            elif value is not None:
                array = np.asarray(getattr(value, "_array", value))
                text = array_text(array)
                if text is not None:
                    yield f"{name} = {text}"
                else:
                    self.read.append(self._beside(name, array))
        if self.read:
            beside = f"Path(__file__).with_name({self.place.with_suffix('.npz').name!r})"
            yield f"with np.load({beside}) as _arrays:"
            yield "\n".join(INDENT + line for line in self.read)

    def _beside(self, name: str, array: np.ndarray) -> str:
        """Keeps an array for the ``.npz``; the statement that reads it, in its memory layout."""
        order = axes_by_memory(array)
        turned = order != tuple(range(array.ndim)) and not array.flags.f_contiguous
        self.large[name] = array.transpose(order) if turned else array
        text = f'_arrays["{name}"]'
        if turned:
            text += f".transpose({tuple(int(i) for i in np.argsort(order))})"
        return f"{name} = {text}"

    def _held(self, name: str, array: np.ndarray) -> str | None:
        """The statement that makes an array; None where it stands beside the file."""
        text = array_text(array)
        if text is not None:
            return f"{name} = {text}"
        self.read.append(self._beside(name, array))
        return None

    def _rules(self) -> dict[str, str]:
        """The functions that stand for halves of rules of the user's."""
        calls = {k: c for k, c in self.source.names.items() if not isinstance(c, Draw)}
        found = {name: rule_text(name, call, self.texts) for name, call in calls.items()}
        return {"_fitted": FITTED, **found} if found else {}

    def _generators(self) -> Iterator[str]:
        """Generators of random numbers, which go on from where those of the function stand."""
        made: dict[int, str] = {}
        for name, draw in self.source.names.items():
            if not isinstance(draw, Draw):
                continue
            generator = draw.generator
            if id(generator) not in made:
                made[id(generator)] = known = self.names.wish("generator")
                self.generators.append(known)
                kind, state = self._state(generator)
                yield f"{known} = np.random.Generator(np.random.{kind}())"
                yield f"{known}.bit_generator.state = {state}"
            known = made[id(generator)]
            keywords = "".join(f", {k}={self.literals.text(v, k)}" for k, v in draw.keywords)
            yield f"\ndef {name}(size, *parameters):"
            yield f"{INDENT}drawn = np.asarray({known}.{draw.method}("
            yield f"{INDENT * 2}*map(np.asarray, parameters), size=size{keywords}))"
            yield f"{INDENT}return drawn if drawn.ndim else drawn[()]\n"

    def _state(self, generator: Any) -> tuple[str, str]:
        source = getattr(generator, "bit_generator", None)
        state = getattr(source, "state", None)
        kind = type(source).__name__
        if not isinstance(generator, np.random.Generator) or not _spelled(state):
            raise ExportError(
                f"{self.name} draws from a {kind}, whose state has no text: draw outside and pass "
                "the numbers"
            )
        return kind, repr(state)

    # -- the functions --------------------------------------------------------------------------

    def _program(self) -> tuple[list[str], str]:
        """The imports of the emitted source, and what follows them."""
        lines = self.source.text.splitlines()
        of_imports = ("import ", "from ")
        start = next(i for i, line in enumerate(lines) if line and not line.startswith(of_imports))
        return [line for line in lines[:start] if line], "\n".join(lines[start:])

    def _wrapper(self) -> str:
        demands = Demands(self.version, self.roots, self.captures, self.literals)
        checks = demands.statements(self.parameters)
        kinds = ((key[0], name) for key, (name, _) in self.stored.items())
        checks += demands.apart(dict.fromkeys(name for kind, name in kinds if kind == "contents"))
        self.functions = demands.functions
        signature = self._signature()
        parts = [f"\n\ndef {self.name}({signature}):", self._docstring()]
        kept = ", ".join(dict.fromkeys(name for name, _ in self.stored.values()))
        body = [*([f"global {kept}"] if kept else []), *checks, *self._call(demands)]
        return "\n".join([*parts, *(INDENT + line for line in body), "\n"])

    def _signature(self) -> str:
        """Parameters as the user wrote them, without annotations."""
        parts: list[str] = []
        kinds = inspect.Parameter
        before: Any = None
        for p in self.parameters:
            if before is kinds.POSITIONAL_ONLY and p.kind is not before:
                parts.append("/")
            starred = any(part.startswith("*") for part in parts)
            if p.kind is kinds.KEYWORD_ONLY and not starred:
                parts.append("*")
            stars = "*" * ((p.kind is kinds.VAR_POSITIONAL) + 2 * (p.kind is kinds.VAR_KEYWORD))
            default = "" if p.default is kinds.empty else f"={self._default(p.name, p.default)}"
            parts.append(f"{stars}{p.name}{default}")
            before = p.kind
        if before is kinds.POSITIONAL_ONLY:
            parts.append("/")
        return ", ".join(parts)

    def _default(self, name: str, value: Any) -> str:
        """A default; ``...``, which no check takes, where it has no source."""
        leaves, spec = flatten(value)
        try:
            return self.literals.structure(spec, iter([self._leaf(name, x) for x in leaves]))
        except ExportError:
            return "..."

    def _leaf(self, name: str, leaf: Any) -> str:
        leaf = getattr(leaf, "_array", leaf)
        if not isinstance(leaf, np.ndarray):
            return self.literals.text(leaf, "a default")
        text = array_text(leaf)
        if text is None:
            text = self.names.wish(f"default_{name}")
            self.read.append(self._beside(text, leaf))
        return text

    def _docstring(self) -> str:
        """What the function is, and what it is valid for."""
        skipped = ("Generated by", "Reads from", "Constants that", "Returns besides")
        lines = [f"{self.what} ({self.where})."]
        lines += ["", "Valid for"]
        section = ""
        for line in self.version.traced.about.splitlines():
            section = section if line.startswith(" ") else line
            inner = line.startswith(" ") and not section.startswith(skipped)
            if inner and not (self.callee.bound and line.split()[0].rstrip(":") == self._self()):
                lines.append(self._as_read(line))
        if self.stored:
            lines.append("Keeps from call to call, in this file")
            places = {s.place: s.text for s in _stores_of(self.version)}
            lines += [
                f"{INDENT}{name}, which was {places[place]}"
                for place, (name, _) in self.stored.items()
            ]
        looks = _looks(self.version)
        if looks:
            lines += ["Raises LookupError, naming the line, where Python sees anything but"]
            lines += [f"{INDENT}{look}" for look in dict.fromkeys(looks)]
        text = "\n".join(
            part
            for line in lines
            for part in textwrap.wrap(line, 80, subsequent_indent=INDENT * 2) or [""]
        )
        return f'{INDENT}"""' + textwrap.indent(_quoted(text), INDENT).lstrip() + f'\n{INDENT}"""'

    def _as_read(self, line: str) -> str:
        """A line of the header with what ``*args`` and ``**kwargs`` take as the file reads it."""
        for name, root in zip(self.version.arguments.parameters, self.roots, strict=True):
            if root and root != name and line.startswith(f"{INDENT}{name}"):
                return INDENT + root + line[len(INDENT + name) :]
        return line

    def _self(self) -> str:
        return self.version.arguments.parameters[0]

    def _call(self, demands: Demands) -> list[str]:
        """The statements that call the program and return what it gives."""
        leaves = self.version.arguments.leaves
        given = [str(root) for root in self.roots if root is not None]
        if self.version.takes_leaves:
            given = [t for leaf, t in zip(leaves, demands.leaves, strict=True) if leaf.traced]
        self.leaves = [t for leaf, t in zip(leaves, demands.leaves, strict=True) if leaf.traced]
        frame = self.version.program.graph.frame
        pairs = zip(frame.captures, self.captures, strict=True)
        passed = ", ".join([*given, *(f"{key}={name}" for key, name in pairs)])
        call = f"{self.program}({passed})"
        outputs, result = self.names.wish("outputs"), self.names.wish("result")
        orders = key_orders(self.callee.transform, demands, result)
        self.ends = [f"{result} = {{}}", *orders, f"return {result}"] if orders else ["return {}"]
        if self.version.target == "jax":
            return [*self._layouts(), *self._call_jax(call, outputs, given)]
        if not self.version.built:
            return [*self._layouts(), *self._returned(call)]
        several = len(self.version.results) > 1
        end = self.names.wish("path")
        left = f"{end}, {outputs}" if several else outputs
        return [*self._layouts(), f"{left} = {call}", *self._built(outputs, end)]

    def _returned(self, expression: str) -> list[str]:
        """The statements that return what an expression gives."""
        first, *rest = self.ends
        return [first.format(expression), *rest]

    def _layouts(self) -> list[str]:
        """The statements that refuse arrays in another order, where that decides what a view is."""
        if not self.version.ordered:
            return []
        message = "matrices must be in C order: their reshaped parts are written to"
        traced = [leaf for leaf in self.version.arguments.leaves if leaf.traced]
        return [
            line
            for leaf, text in zip(traced, self.leaves, strict=True)
            if leaf.kind[0] == "array" and int(leaf.kind[2]) >= self.version.ordered  # type: ignore[call-overload]
            for line in (
                f"if isinstance({text}, np.ndarray) and not {text}.flags.c_contiguous:",
                f'{INDENT}raise ValueError("{message}")',
            )
        ]

    def _built(self, outputs: str, end: str) -> list[str]:
        """The structure around the outputs, for each path."""
        ends = [
            [*self._writes(r, outputs), *self._returned(self.literals.result(r.result, outputs))]
            for r in self.version.results
        ]
        lines = []
        for i, statements in enumerate(ends[:-1]):
            lines += [f"if {end} == {i}:", *(INDENT + line for line in statements)]
        return [*lines, *ends[-1]]

    def _writes(self, returned: Returned, outputs: str) -> list[str]:
        """The statements that keep what the function stores, or write it to an argument."""
        lines = []
        for store, i in zip(returned.stores, returned.stored, strict=True):
            if isinstance(store, ArgumentStore):
                text = self.leaves[store.leaf]
                if self.version.target == "jax":  # whose arrays are immutable
                    lines.append(f"if isinstance({text}, np.ndarray):")
                indent = INDENT if self.version.target == "jax" else ""
                lines.append(f"{indent}np.copyto({text}, {outputs}[{i}])")
            else:
                lines.append(f"{self.stored[store.place][0]} = {outputs}[{i}]")
        return lines

    def _call_jax(self, call: str, outputs: str, given: Sequence[str]) -> list[str]:
        """As above, with 64-bit types, the outcomes of looks, and NumPy out for NumPy in."""
        lines = [f"with _numpy_types({', '.join(given)}):"]
        self.functions["_numpy_types"] = TYPES
        if self.version.checked:
            looks = self.names.wish("looks")
            lines.append(f"{INDENT}{outputs}, {looks} = {call}")
            texts = _looks(self.version)
            if _branched(self.version):  # one outcome stands for the looks of all paths
                texts = [" or ".join(texts)]
            messages = [f"{text}  was all that was traced{self.remedy}" for text in texts]
            self.functions["_expect_looks"] = LOOKS if _looks_itself(self.version) else SOUND
            lines.append(f"{outputs} = _expect_looks({outputs}, {looks}, {messages!r})")
        else:
            lines.append(f"{INDENT}{outputs} = {call}")
        from tracegrad.backends.jax import axeless_leaves

        self.functions["_owned"] = OWNED
        tests = " or ".join(f"isinstance({text}, jax.Array)" for text in given)
        axeless = tuple(axeless_leaves(self.version.program.graph.frame))
        owned = f"{outputs} = _owned({outputs}{f', {axeless}' if axeless else ''})"
        lines += [f"if not ({tests}):", INDENT + owned] if given else [owned]
        if not self.version.built:
            return [*lines, *self._returned(outputs)]
        return [*lines, *self._built(outputs, "")]


def _roots(
    parameters: Sequence[inspect.Parameter], arguments: Arguments, callee: Callee
) -> Iterator[str]:
    """How the exported function reads each parameter of the program."""
    keywords = list(arguments.keywords[callee.bound :])
    for p in parameters:
        match p.kind:
            case inspect.Parameter.VAR_POSITIONAL:
                count = sum(keyword is None for keyword in keywords)
                yield from (f"{p.name}[{i}]" for i in range(count))
                del keywords[:count]
            case inspect.Parameter.VAR_KEYWORD:
                yield from (f"{p.name}[{json.dumps(keyword)}]" for keyword in keywords)
            case _:
                keywords.pop(0)
                yield p.name


def _looks(version: Version) -> list[str]:
    """The looks of a program and the outcomes that it knows, in the order of its graph."""
    found: list[str] = []
    for node in version.program.graph.all_nodes:
        if isinstance(node, Check):
            seen = repr(node.outcome)
        elif isinstance(node, Branch) and not node.complete:
            seen = " or ".join(map(repr, node.outcomes))
        elif isinstance(node, Loop) and node.counter and node.after is None:
            found.append(f"{place(node.origin)}  (this loop: left before its end)")
            continue
        else:
            continue
        found.append(f"{place(node.origin)}  ({node.look}: {seen})")
    return found


def _looks_itself(version: Version) -> bool:
    """Whether the function itself looks at values, and not the program alone."""
    nodes = list(version.differentiated.all_nodes)
    asks = any(isinstance(x, Check) or (isinstance(x, Branch) and not x.complete) for x in nodes)
    return asks or any(isinstance(x, Loop) and x.counter and not x.after for x in nodes)


def _branched(version: Version) -> bool:
    return any(isinstance(node, Branch | Loop) for node in version.program.graph.all_nodes)


def _spelled(state: Any) -> bool:
    """Whether ``repr`` of a state is Python."""
    if isinstance(state, dict):
        return all(map(_spelled, state.values()))
    return type(state) in (str, int, bool, type(None))


def _quoted(text: str) -> str:
    """Text that may stand between triple quotes."""
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
