"""Collects lines and names of a source, formatted as black leaves it alone. Knows no graph."""

from __future__ import annotations

import builtins
import keyword
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Generic, TypeVar

from codegen.emit.formatting import formatted
from codegen.emit.line_breaking import split

WIDTH = 88
Mark = TypeVar("Mark")
_TAKEN = frozenset(keyword.kwlist) | frozenset(keyword.softkwlist) | frozenset(dir(builtins))


@dataclass(eq=False)
class Scope:
    """A function inside of another: the names it gives to values, and those it `reads` from around.

    These are not given in it: a name that is assigned in a function is its own from the first line.
    """

    around: Scope | None
    given: set[str] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)


class Names:
    """Unique Python names, as close to the wish as possible.

    A name that is at `rest` may be given again. What is asked again and again is answered without
    a look at all the names that are taken.
    """

    def __init__(self, reserved: Iterable[str]) -> None:
        self.reserved = set(reserved)
        self.used: set[str] = set()
        self.scope: Scope | None = None  # none in a function that stands by itself
        self._resting: dict[str, list[int]] = {}  # numbers of resting names in order, by stem
        self._tried: dict[tuple[str, bool], int] = {}  # all up to this number were taken

    def fork(self) -> Names:
        """The names as they are now; what is given and put to rest from here on is its own."""
        inner = Names(())
        inner.reserved, inner.used, inner.scope = self.reserved, set(self.used), self.scope
        inner._resting = {stem: list(numbers) for stem, numbers in self._resting.items()}
        inner._tried = dict(self._tried)
        return inner

    def nest(self, given: Iterable[str] = ()) -> None:
        """From here on names are those of a function inside, which is `given` some."""
        self.scope = Scope(self.scope, set(given))

    def give(self, name: str) -> None:
        """The function gives the name to a value."""
        if self.scope is not None:
            self.scope.given.add(name)

    def read(self, names: Iterable[str]) -> None:
        """The function reads these names: its own, or those of functions around it."""
        if self.scope is None:
            return
        for name in names:
            scope: Scope | None = self.scope
            while scope is not None and name not in scope.given:
                scope.reads.add(name)
                scope = scope.around

    def is_from_around(self, name: str) -> bool:
        """Whether the function reads the name from around, and may not give it to a value."""
        return self.scope is not None and name in self.scope.reads

    def own_first(self, names: Collection[str]) -> Collection[str]:
        """The names, those that the function gives before those from around it."""
        if self.scope is None:
            return names
        given = self.scope.given
        return sorted(names, key=lambda name: name not in given)

    def wish(
        self, stem: str, held: Callable[[str], bool] = lambda name: False, numbered: bool = False
    ) -> str:
        """`stem` itself when nobody has it, else or by wish numbered.

        Of the names at rest, those that are `held` are not given.
        """
        stem = _clean(stem)
        resting = (
            number
            for number in self._resting.get(stem, ())
            if number != (0 if numbered else 1)
            and (name := _numbered(stem, number)) not in self.reserved
            and not self.is_from_around(name)
            and not held(name)
        )
        number = next(resting, None)
        fresh = self._tried.get((stem, numbered), 0 if numbered else -1) + 1
        while number is None or fresh < number:
            if fresh != 1 or numbered:
                name = _numbered(stem, fresh)
                if name not in self.used and name not in self.reserved:
                    number = fresh
                    break
            self._tried[stem, numbered] = fresh
            fresh += 1
        name = _numbered(stem, number)
        self.used.add(name)
        self.give(name)
        self.wake(name)
        return name

    def rest(self, name: str) -> None:
        """From here on the name may be given again."""
        for stem, number in _stems(name):
            numbers = self._resting.setdefault(stem, [])
            at = bisect_left(numbers, number)
            if at == len(numbers) or numbers[at] != number:
                numbers.insert(at, number)

    def wake(self, name: str) -> None:
        """The name is needed again."""
        for stem, number in _stems(name):
            numbers = self._resting.get(stem, [])
            at = bisect_left(numbers, number)
            if at < len(numbers) and numbers[at] == number:
                del numbers[at]


@lru_cache(maxsize=4096)
def _clean(stem: str) -> str:
    """The stem as an identifier that is free in any program."""
    stem = re.sub(r"\W", "_", stem).strip("_") or "value"
    if stem[0].isdigit():
        stem = f"v{stem}"
    return f"{stem}_" if stem in _TAKEN else stem


def _numbered(stem: str, number: int) -> str:
    return f"{stem}_{number}" if number else stem


@lru_cache(maxsize=4096)
def _stems(name: str) -> tuple[tuple[str, int], ...]:
    """The stems, with numbers, for which the name may be given: ``x_2`` for x and for x_2."""
    found = re.fullmatch(r"(.+)_([1-9]\d*)", name)
    return ((name, 0), *([(found[1], int(found[2]))] if found else []))


class Writer(Generic[Mark]):
    """Indented lines; what does not fit the width is split as black splits it.

    A line may have a mark, which says what it came from. If the line is split, each part has it.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.marks: list[Mark | None] = []
        self.ready: set[int] = set()  # lines that are split as they should be
        self.depth = 0
        self.context = ""

    def inside(self, context: str, mark: Mark | None = None) -> None:
        """From here on lines stand in a ``with`` of this context; the empty one is none."""
        if context == self.context:
            return
        self.depth -= bool(self.context)
        if context:
            self.line(f"with {context}:", mark)
        self.depth += bool(context)
        self.context = context

    def line(self, text: str = "", mark: Mark | None = None) -> None:
        self.lines.append("    " * self.depth + text if text else "")
        self.marks.append(mark)

    def remove(self, at: int) -> None:
        """Takes a line back."""
        del self.lines[at], self.marks[at]

    def block(self, text: str) -> None:
        """Lines as they are."""
        for line in text.splitlines():
            self.ready.add(len(self.lines))
            self.lines.append(line)
            self.marks.append(None)

    def comment(self, text: str, mark: Mark | None = None) -> None:
        room = WIDTH - 4 * self.depth - 2
        if len(text) > room:
            text = text[: room - 3].rstrip() + "..."
        self.line(f"# {text}", mark)

    def written(self) -> tuple[str, tuple[Mark | None, ...]]:
        """The source, and the mark of each of its lines."""
        lines: list[str] = []
        marks: list[Mark | None] = []
        for i, (line, mark) in enumerate(zip(self.lines, self.marks, strict=True)):
            parts = [line] if i in self.ready else fitted(line)
            lines += parts
            marks += [mark] * len(parts)
        return "\n".join(lines) + "\n", tuple(marks)


def fitted(line: str) -> list[str]:
    """A line, split as black splits what does not fit the width."""
    indent = len(line) - len(line.lstrip())
    if len(line) <= WIDTH or line[indent:].startswith("#"):
        return [line]
    return [" " * indent + part if part else "" for part in _split(line[indent:], WIDTH - indent)]


_STRING_CALL = re.compile(r"""(raise \w+\()("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\)$""")


@lru_cache(maxsize=4096)
def _split(statement: str, width: int) -> tuple[str, ...]:
    """A statement, or the head of a block, over several lines."""
    found = _STRING_CALL.match(statement)
    if found:
        return (found[1], f"    {found[2]}", ")")
    lines = split(statement, width)
    if lines is not None:
        return lines
    before = "if x:\n    pass\n" if statement.startswith(("elif ", "else:")) else ""
    after = "\n    pass" if statement.endswith(":") else ""
    after = "\ndef f():\n    pass" if statement.startswith("@") else after
    text = formatted(before + statement + after, width)
    return tuple(text.splitlines()[before.count("\n") : -after.count("\n") or None])


def quote(text: str) -> str:
    """A string literal with double quotes, as black writes it."""
    shown = repr(text)
    if shown[0] == "'" and '"' not in shown:
        return f'"{shown[1:-1]}"'
    return shown
