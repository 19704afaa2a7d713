"""Graphs enter; what their spellings name beside values leaves: imports and functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from codegen.emit.target import Target
from codegen.ir import Call, Graph, walk


class Needs:
    """What the calls of some graphs need in the target's text (`Op.needs`).

    `called` has the name in the text of whatever a spelling names.
    """

    def __init__(self, graphs: Sequence[Graph], target: Target) -> None:
        self.target = target
        taken = {graph.name for graph in graphs}
        for graph in graphs:
            taken |= {*graph.frame.parameters, *graph.frame.captures}
        self.texts: dict[str, str] = {}
        self.called: dict[str, str] = {}
        self.of: dict[str, list[str]] = {}  # the names that each graph needs
        for graph in graphs:
            self.of[graph.name] = self._named_in(graph)
            for name in self.of[graph.name]:
                self.called[name] = f"{name}_" if name in taken else name

    @property
    def imports(self) -> list[str]:
        """The imports."""
        return sorted(self._renamed(name) for name in self.called if not self._is_function(name))

    def functions_of(self, graph: Graph) -> list[str]:
        """The functions that one of the graphs calls."""
        return [self._renamed(name) for name in self.of[graph.name] if self._is_function(name)]

    @property
    def functions(self) -> list[str]:
        """The functions that any of the graphs calls."""
        return [self._renamed(name) for name in self.called if self._is_function(name)]

    def _named_in(self, graph: Graph) -> list[str]:
        found: dict[str, None] = {}
        for call in (node for node in walk(graph.nodes) if isinstance(node, Call)):
            texts = call.op.needs.get(self.target.name, {})
            if texts:
                self.texts.update(texts)
                spelling = call.op.spelled(self.target.name, dict(call.attributes))
                named = (name for name in texts if name in spelling.uses)
                found.update((known, None) for name in named for known in _closure(name, texts))
        return list(found)

    def _is_function(self, name: str) -> bool:
        return self.texts[name].startswith("def ")

    def _renamed(self, name: str) -> str:
        """What is needed, under another name where its own is taken."""
        text, known = self.texts[name], self.called[name]
        if name == known:
            return text
        if self._is_function(name):
            return text.replace(f"def {name}(", f"def {known}(", 1)
        return f"{text} as {known}"


def _closure(name: str, texts: Mapping[str, str]) -> Iterator[str]:
    """A name, and what the function that it stands for names in turn."""
    found = {name: None}
    waiting = [name]
    while waiting:
        text = texts[waiting.pop()]
        if text.startswith("def "):
            used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
            inner = [other for other in texts if other in used and other not in found]
            found.update(dict.fromkeys(inner))
            waiting += inner
    return iter(found)
