"""A line ``::: tracegrad.grad`` of a page enters; what ``help`` says of it leaves as Markdown.

``::: tracegrad.nn.*`` is every public function and class of a module, in the order of the alphabet,
``::: tracegrad.* of ops.shape ops.signal`` those that stand in these packages. Names of one
function are one entry.
Most functions are made from tables, so objects are asked, and no file is parsed; only what a
module says below its variables (``tracegrad.config``) stands in the file alone.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

ASKED = re.compile(r"^::: (tracegrad\.[\w.]+)$", re.MULTILINE)
ALL_OF = re.compile(r"^::: (tracegrad(?:\.\w+)*)\.\*(?: of ([\w. ]+))?$", re.MULTILINE)
MADE_FROM_RECORDS = "ops.elementwise"
EXAMPLE = re.compile(r"^>>> .*(?:\n.*\S.*)*", re.MULTILINE)
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
ITEM = re.compile(r"^(\S.*)\n((?:(?: {4}.*)?\n)*(?: {4}.*))", re.MULTILINE)
NAMES = re.compile(r"^(\w+(?:, \w+)*)\n((?: {4}.*\n)* {4}.*)", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The text of a page with what it asks for."""
    each = ALL_OF.sub(lambda found: "\n\n".join(entries(found[1], found[2])), markdown)
    return ASKED.sub(lambda found: "\n".join(described(found[1])), each)


def entries(module: str, packages: str | None) -> list[str]:
    """A line for each public function and class of a module, or of these packages in it."""
    members = vars(importlib.import_module(module))
    public = {
        name: members[name] for name in sorted(members["__all__"]) if has_an_entry(members[name])
    }
    first = {id(value): name for name, value in reversed(public.items())}
    return [
        f"::: {module}.{name}"
        for name, value in public.items()
        if first[id(value)] == name and (packages is None or home(value) in packages.split())
    ]


def has_an_entry(value: Any) -> bool:
    """Whether it is a function or a class of tracegrad."""
    return callable(value) and getattr(value, "__module__", "").startswith("tracegrad")


def home(value: Any) -> str:
    """The package that an object stands in; functions of op records are made in none."""
    path = value.__module__.removeprefix("tracegrad").removeprefix(".")
    return ".".join(path.split(".")[:2]) if path else MADE_FROM_RECORDS


def names_of(path: str) -> list[str]:
    """How an object may be called: its name, and its others in that module and in tracegrad."""
    module = path.rpartition(".")[0]
    value, found = named(path), {path.replace("tracegrad", "tg", 1): None}
    for place in (module, "tracegrad"):
        members = vars(importlib.import_module(place))
        same = [n for n in members.get("__all__", ()) if members[n] is value]
        found |= {f"{place.replace('tracegrad', 'tg', 1)}.{other}": None for other in same}
    return list(found)


def described(path: str) -> Iterator[str]:
    """The heading, the signature and the docstring of an object, then what it has."""
    value = named(path)
    called, *_ = every = names_of(path)
    yield f"## {', '.join(every)}\n"
    if callable(value):
        yield f"```python\n{call(called, value)}\n```\n"
    yield paragraphs(inspect.getdoc(value) or "")
    if isinstance(value, ModuleType):
        yield from members(value, called)
    elif inspect.isclass(value):
        yield from methods(value)


def named(path: str) -> Any:
    """The object of a dotted name."""
    module, _, name = path.rpartition(".")
    found = getattr(importlib.import_module(module), name, None)
    return importlib.import_module(path) if found is None else found


def call(name: str, value: Any, bound: bool = False) -> str:
    """How it is called, without types; a parameter a line where one line is too long.

    Bound, it is called as a method: without its first argument.
    """
    try:
        signature = inspect.signature(value)
    except ValueError:
        return f"{name}(...)"
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    kept = bare[1:] if bound else [p for p in bare if p.name != "self"]
    text = str(signature.replace(parameters=kept, return_annotation=signature.empty))
    text = re.sub(r"<[^>]+>", "...", text)
    if len(name + text) <= 88:
        return name + text
    return name + "(\n    " + text[1:-1].replace(", ", ",\n    ") + ",\n)"


def paragraphs(text: str) -> str:
    """A docstring in NumPy's style as Markdown."""
    first, *parts = SECTION.split(text)
    done = [fenced(NAMES.sub(item, first))]
    for title, body in zip(parts[::2], parts[1::2]):
        if title != "Examples":
            done.append(f"**{title}**\n")
        done.append(fenced(ITEM.sub(item, body) if title != "Notes" else body))
    return "\n".join(done)


def item(found: re.Match[str]) -> str:
    """A parameter and what is said of it, as an entry of a list."""
    if found[1].startswith(">>>"):
        return found[0]
    words = " ".join(found[2].split())
    return f"- `{found[1]}`: {words}"


def fenced(text: str) -> str:
    """Examples between fences."""
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text.rstrip() + "\n")


def methods(class_: type) -> Iterator[str]:
    """What an object of a class can do: a row for each method of its own."""
    rows = []
    for name, value in sorted(vars(class_).items()):
        said = (inspect.getdoc(value) or "").partition("\n\n")[0].replace("\n", " ")
        if name.startswith("_") or not said:
            continue
        shown = (
            " ".join(call(name, value, bound=True).split()) if inspect.isfunction(value) else name
        )
        rows.append((f"`{shown}`", said))
    if rows:
        yield from table(("", "does"), rows)


def members(module: ModuleType, called: str) -> Iterator[str]:
    """The variables, or else the functions and classes, that are a module's own."""
    settings = list(variables(module))
    if settings:
        yield from table(("setting", "says"), settings)
        return
    for name, value in vars(module).items():
        own = getattr(value, "__module__", None) == module.__name__
        if own and callable(value) and not name.startswith("_") and inspect.getdoc(value):
            yield f"### {called}.{name}\n"
            if not (inspect.isclass(value) and issubclass(value, BaseException)):
                yield f"```python\n{call(f'{called}.{name}', value)}\n```\n"
            yield paragraphs(inspect.getdoc(value) or "")


def variables(module: ModuleType) -> Iterator[tuple[str, str]]:
    """The variables that a file explains in a string below, with their values."""
    body = ast.parse(inspect.getsource(module)).body
    for statement, said in itertools.pairwise(body):
        match statement, said:
            case (
                ast.AnnAssign(target=ast.Name(id=name), value=value),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                shown = ast.unparse(value) if value else ""
                yield f"`{name} = {shown}`", " ".join(inspect.cleandoc(text).split())


def table(head: tuple[str, str], rows: list[tuple[str, str]]) -> Iterator[str]:
    """Two columns in Markdown."""
    yield f"| {head[0]} | {head[1]} |\n| --- | --- |"
    for left, right in rows:
        yield f"| {left.replace('|', chr(92) + '|')} | {right.replace('|', chr(92) + '|')} |"
    yield ""
