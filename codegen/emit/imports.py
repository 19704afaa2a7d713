"""Finds the imports and helper functions that the spellings of a graph need."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from codegen.emit.target import Target
from codegen.ir import Call, Graph
from codegen.spelling import reached


class Needs:
    """What the calls of some graphs need in the target's source (`Op.needs`).

    `called` has the name in the source of everything that a spelling names, and of those `helpers`
    that the source itself names.
    """

    def __init__(
        self,
        graphs: Sequence[Graph],
        target: Target,
        helpers: Mapping[str, str] = MappingProxyType({}),
        named: Sequence[str] = (),
    ) -> None:
        self.target = target
        taken = {graph.name for graph in graphs}
        for graph in graphs:
            taken |= {*graph.frame.parameters, *graph.frame.captures}
        self.texts = dict(helpers)
        self.called: dict[str, str] = {}
        for name in reached(helpers, named):
            self.called[name] = f"{name}_" if name in taken else name
        for graph in graphs:
            for name in self._named_in(graph):
                self.called[name] = f"{name}_" if name in taken else name

    @property
    def imports(self) -> list[str]:
        """The imports."""
        return sorted(self._renamed(name) for name in self.called if not self._is_function(name))

    @property
    def functions(self) -> list[str]:
        """The functions that any of the graphs calls."""
        return [self._renamed(name) for name in self.called if self._is_function(name)]

    def _named_in(self, graph: Graph) -> list[str]:
        found: dict[str, None] = {}
        for call in (node for node in graph.all_nodes if isinstance(node, Call)):
            texts = call.op.needs.get(self.target.dialect, {})
            if texts:
                self.texts.update(texts)
                spelling = call.op.spelled(self.target.dialect, dict(call.attributes))
                found.update(dict.fromkeys(reached(texts, spelling.uses)))
        return list(found)

    def _is_function(self, name: str) -> bool:
        return self.texts[name].startswith("def ")

    def _renamed(self, name: str) -> str:
        """What is needed, under other names where those are taken."""
        text = self.texts[name]
        if not self._is_function(name):
            return text if self.called[name] == name else f"{text} as {self.called[name]}"
        for other, known in self.called.items():
            if other != known:
                text = re.sub(rf"\b{other}\(", f"{known}(", text)
        return text
