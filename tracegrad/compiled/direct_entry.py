"""The function that a call runs at once: guards and program of one version, under its parameters.

What calls a compiled function runs what stands in its slot ``__call__`` (`CallSlot`). At first that
is the general way, which looks for an entry (`guarded_entry.py`). The entry of a version that has
answered a few calls is written once more, as a function with the user's own parameters and all
guards in its text: no tuple of arguments is made, keywords are bound by Python, and nothing is
called but the program. Where its guards do not hold, it hands the arguments on to the next such
function, and the last one to the general way.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature
from textwrap import dedent
from types import CellType, FunctionType
from typing import Any

from codegen.load import load
from tracegrad.autograd.rule_outcomes import Interrupted
from tracegrad.compiled.guarded_entry import LEARNED, entry_body, entry_names, objects_text
from tracegrad.compiled.version import Version
from tracegrad.errors import RAISED_BY_NUMPY
from tracegrad.runtime.thread_state import DIRECT
from tracegrad.world.guard_function import StateCheck

HOT = 2
"""Calls that a version answers before it has a function of its own, which takes time to write."""


class CallSlot:
    """A base class whose objects each have a function that their calls run."""

    __slots__ = ("__call__",)


class _NotGiven:
    def __repr__(self) -> str:
        return "not given"


NOT_GIVEN = _NotGiven()
"""The default of each parameter: which were given is seen by it."""


@dataclass(repr=False)
class DirectEntry:
    """A function that answers calls by one version, and hands on those that it does not."""

    function: Callable[..., Any]
    version: Version
    cells: dict[str, CellType]

    def hand_on(
        self,
        otherwise: Callable[..., Any],
        general: Callable[..., Any],
        raised: Callable[..., Any],
    ) -> None:
        """Calls whose guards do not hold go to `otherwise`; NumPy's exceptions are `raised`.

        Those with more arguments than parameters, or names that are none, go the `general` way.
        """
        self.cells["otherwise"].cell_contents = otherwise
        self.cells["general"].cell_contents = general
        self.cells["raised"].cell_contents = raised


def handing_on(signature: Signature, call: Callable[..., Any]) -> Callable[..., Any]:
    """Calls with what was given of the parameters; the others are `NOT_GIVEN`."""
    keyword_only = Parameter.KEYWORD_ONLY
    positional = [p.name for p in signature.parameters.values() if p.kind is not keyword_only]

    def general(*given: Any, **names: Any) -> Any:
        names = {name: value for name, value in names.items() if value is not NOT_GIVEN}
        if NOT_GIVEN not in map(_marked, given):
            return call(*given, **names)
        count = next(i for i, value in enumerate(given) if value is NOT_GIVEN)
        pairs = zip(positional[count:], given[count:], strict=True)
        later = {name: value for name, value in pairs if value is not NOT_GIVEN}
        return call(*given[:count], **later, **names)

    return general


def _marked(value: Any) -> Any:
    """`NOT_GIVEN`, or nothing: values are not compared, as arrays are by element."""
    return value if value is NOT_GIVEN else None


def direct_entry(
    version: Version,
    settings: Any,
    signature: Signature,
    name: str,
    given: int,
    defaults: Sequence[Any],
) -> DirectEntry | None:
    """The function for calls that give the first `given` parameters; None where there is none.

    It answers under these `settings` alone. `defaults` are the values of the others. There is no
    function for ``*args`` and ``**kwargs``. Parameters whose names the text has another use for are
    given by position alone; where one cannot be, there is none either.
    """
    of = list(signature.parameters.values())
    if any(p.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD) for p in of):
        return None
    if len(of) != len(version.arguments.parameters):
        return None
    own = [p.replace(name=f"a{i}") for i, p in enumerate(of)]
    names, text = _text(version, own, given, defaults, None)
    state, check = version.check, None
    if state.read.isdisjoint(_words(names, text)) and not _differ(state.held, names):
        check = state
    names, text = _text(version, own, given, defaults, check)
    words = _words(names, text)
    if words.isdisjoint([p.name for p in of]):
        own = of
    elif any(p.kind is Parameter.KEYWORD_ONLY for p in of):
        return None
    else:
        own = [p.replace(kind=Parameter.POSITIONAL_ONLY) for p in own]
    names, text = _text(version, own, given, defaults, check)
    names.update({word: getattr(builtins, word) for word in words & _BUILTINS - names.keys()})
    names["settings"] = settings
    made = load(f"def make({', '.join(names)}):\n{text}    return call\n", "make")(**names)
    code = made.__code__
    scope = made.__globals__ if check is None or check.module is None else check.module
    function = FunctionType(code, scope, name, made.__defaults__, made.__closure__)
    function.__kwdefaults__ = made.__kwdefaults__
    function.__qualname__ = name
    cells = dict(zip(code.co_freevars, made.__closure__, strict=True))
    if check is not None:
        check.cells.append(cells)
    return DirectEntry(function, version, cells)


_BUILTINS = frozenset(dir(builtins))


def _words(names: Iterable[str], text: str) -> set[str]:
    """What a text has a use for: what it refers to, and its variables."""
    found = {node.id for node in ast.walk(ast.parse(dedent(text))) if isinstance(node, ast.Name)}
    return found.union(names)


def _differ(held: Mapping[str, Any], names: Mapping[str, Any]) -> bool:
    """Whether one name stands for two things."""
    return any(held[name] is not names[name] for name in held.keys() & names.keys())


def _text(
    version: Version,
    parameters: Sequence[Parameter],
    given: int,
    defaults: Sequence[Any],
    check: StateCheck | None,
) -> tuple[dict[str, Any], str]:
    """What the text refers to, and the text of the function ``call``, in that of another."""
    names = entry_names(version)
    del names["MISS"]
    variables = [p.name for p in parameters]
    left_out = variables[given:]
    for i, value in enumerate(defaults, given):
        names[f"default{i}"] = value
        variables[i] = f"default{i}"
    inlined = None
    if check is not None:
        names.update(check.held)
        objects = objects_text(version)
        otherwise = ["            pass", f"        elif not unchanged({objects}):"]
        otherwise += ["            return MISS"]
        inlined = ["    try:", *check.asked, *otherwise, "    except Exception:"]
        inlined = [*inlined, "        return MISS"] if check.asked else []
    counted = ["version.hits += 1"]
    body = entry_body(version, variables, given, names, inlined=inlined, counted=counted)
    own = {"version": version, "DIRECT": DIRECT, "NOT_GIVEN": NOT_GIVEN}
    names.update(own, settings=None, RAISED=RAISED_BY_NUMPY, INTERRUPTED=Interrupted)
    names.update(otherwise=None, general=None, raised=None)
    head, passed = _head(parameters), _passed(parameters)
    conditions = ["DIRECT.now is not settings"]
    conditions += [f"{name} is not NOT_GIVEN" for name in left_out]
    more = ("*rest", "**names")[: 2 if _binds_by_position(parameters) else 1]
    lines = [
        f"    def call({', '.join([*head, *more[1:]])}):",
        *([f"        nonlocal {LEARNED}"] if LEARNED in names else []),
        f"        if {' or '.join([text.strip('*') for text in more])}:",
        f"            return general({passed(*more)})",
        f"        if {' or '.join(conditions)}:",
        f"            return otherwise({passed()})",
        "        try:",
        "            while True:",
        *[" " * 12 + line.replace("return MISS", "break") for line in body],
        *_behind(version, passed()),
    ]
    return names, "\n".join(lines) + "\n"


def _behind(version: Version, given: str) -> list[str]:
    """What follows where the program does not answer; the user's own code may raise anything."""
    otherwise = f"return otherwise({given})"
    if version.opaque:
        told = f"interrupted.going_on({', '.join(filter(None, ['raised', given]))})"
        lines = ["except INTERRUPTED as told:", "    interrupted = told"]
        lines += ["else:", f"    {otherwise}", f"return {told}"]
    else:
        lines = ["except RAISED:", f"    return raised({given})", otherwise]
    return [" " * 8 + line for line in lines]


def _binds_by_position(parameters: Sequence[Parameter]) -> bool:
    """Whether names are bound behind the function: Python says what is wrong with others.

    It makes a dictionary for each call of a function that takes any name.
    """
    return any(p.kind is Parameter.POSITIONAL_ONLY for p in parameters)


def _head(parameters: Sequence[Parameter]) -> list[str]:
    texts: list[str] = []
    before: Any = None
    for p in [*parameters, None]:
        kind = p.kind if p is not None else None
        if before is Parameter.POSITIONAL_ONLY and kind is not before:
            texts.append("/")
        by_position = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        if "*rest" not in texts and kind not in by_position:
            texts.append("*rest")
        if p is not None:
            texts.append(f"{p.name}=NOT_GIVEN")
        before = kind
    return texts


def _passed(parameters: Sequence[Parameter]) -> Callable[..., str]:
    """The text that hands on all parameters, and what is `more` of the two kinds."""
    alone = Parameter.KEYWORD_ONLY
    by_position = [p.name for p in parameters if p.kind is not alone]
    by_name = [f"{p.name}={p.name}" for p in parameters if p.kind is alone]

    def passed(*more: str) -> str:
        return ", ".join([*by_position, *more[:1], *by_name, *more[1:]])

    return passed
