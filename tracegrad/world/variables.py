"""Globals and cells that a function reads, writes or finds missing, as guards and stores."""

from __future__ import annotations

from types import CellType, FunctionType, ModuleType
from typing import Any

from tracegrad.world.code_origin import is_trusted
from tracegrad.world.events import Told
from tracegrad.world.guards import CELL, GLOBAL, MISSING, PRESENT, SAME

EMPTY = CellType()


class Variables(Told):
    """The variables of code that are no locals."""

    def load_global(self, names: dict[str, Any], builtins: dict[str, Any], name: str) -> Any:
        value = names.get(name, MISSING)
        if is_trusted(names):
            if value is MISSING:
                return super().load_global(names, builtins, name)
            if isinstance(value, FunctionType | type | ModuleType):
                return value
        if value is not MISSING:
            return self.read(GLOBAL, names, name, value, name)
        self.lacks(GLOBAL, names, name, name)
        value = builtins.get(name, MISSING)
        if value is MISSING:
            return super().load_global(names, builtins, name)
        return self.read(GLOBAL, builtins, name, value, name)

    def lacks(self, read: str, holder: Any, name: str, text: str) -> None:
        """Nothing stands under a name: in a dictionary (`GLOBAL`), or on an object itself."""
        if id(holder) in self._own or self._place(holder, name) in self._stored:
            return
        known = self._absent.setdefault(id(holder), (read, holder, [], text, self.line()))
        if name not in known[2]:
            known[2].append(name)

    def store_global(self, names: dict[str, Any], name: str, value: Any) -> None:
        self.store(GLOBAL, names, name, name)
        super().store_global(names, name, value)

    def delete_global(self, names: dict[str, Any], name: str) -> None:
        if not self.was_stored(names, name):
            self.guard(PRESENT, names, name, name in names, f"whether {name} is bound")
        self.store(GLOBAL, names, name, name)
        super().delete_global(names, name)

    def load_cell(self, cell: CellType, name: str) -> Any:
        if not self.is_outside(cell):
            return cell.cell_contents
        if cell == EMPTY:  # as cells compare, no other one does
            self.guard(SAME, cell, EMPTY, True, f"whether {name} is unbound")
        value = cell.cell_contents
        return self.read(CELL, cell, None, value, name)

    def store_cell(self, cell: CellType, name: str, value: Any) -> None:
        if self.is_outside(cell):
            self.store(CELL, cell, None, name)
        super().store_cell(cell, name, value)

    def delete_cell(self, cell: CellType, name: str) -> None:
        if self.is_outside(cell):
            if not self.was_stored(cell, None):
                self.guard(SAME, cell, EMPTY, cell == EMPTY, f"whether {name} is unbound")
            self.store(CELL, cell, None, name)
        super().delete_cell(cell, name)
