"""Finds the version that stands for a call, also for calls with lists of arrays of any length.

A list is first a list of so many arrays. Where loops read it by number, and a call comes with
another number of arrays, the function is traced with the list as one array (`stacked_lists.py`).
If the function looks at how many there are, each number has a version of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tracegrad.arguments.signature import Arguments
from tracegrad.arguments.stacked_lists import Place, as_in, stacked
from tracegrad.compiled.tape_node import NeedsAnother, NotRecorded
from tracegrad.compiled.version import Answer, Left, Version
from tracegrad.compiled.written_outside import are_apart
from tracegrad.config.compile_mode import Mode
from tracegrad.errors import warn_caller
from tracegrad.tracing.compile_budget import Budget
from tracegrad.tracing.outputs import Transform
from tracegrad.world.lengths import FEWEST

OF_ANY_LENGTH = frozenset({"compile", "grad", "value_and_grad"})
"""The transforms whose programs read lists of any length."""

MOST_BYTES = 1 << 18
"""Of an array in such a list: to copy a large one takes as long as to compute with it."""


class VersionLookup:
    """The versions of a function, and what it knows of the lists of arrays among its arguments."""

    __name__: str
    _transform: Transform
    _budget: Budget
    _versions: dict[Any, list[Version]]  # by the key of arguments, and mode
    _lists: set[Place]  # lists that loops have read by number
    _counted: bool  # it looks at how many arrays a list holds

    @property
    def _hits(self) -> int:
        return sum(version.hits for version in self._every)

    @property
    def _every(self) -> list[Version]:
        return [version for versions in tuple(self._versions.values()) for version in versions]

    def _lookup(
        self,
        arguments: Arguments,
        mode: Mode,
        left: list[Left],
        call: Callable[[Version], Any] | None = None,
        plain_lists: bool = True,
    ) -> Answer | None:
        """The version that stands for a call, and its result; `left` gets those that were left."""
        for form in self._in_each_form(arguments, plain_lists):
            traced = [leaf.value for leaf in form.leaves if leaf.traced]
            for version in reversed(self._versions.get((form.key, mode), [])):
                if not version.holds([*traced, *version.captured_arrays()]):
                    continue
                if not are_apart(version.written_containers, form.containers):
                    continue
                try:
                    result = version.call(form) if call is None else call(version)
                    return Answer(version, result)
                except NeedsAnother:
                    continue
                except NotRecorded:
                    raise
                except Exception as error:
                    if type(error) is LookupError:
                        left.append(Left(version, str(error)))
                        continue
                    if not version.goes_on(error):
                        raise
                    if call is not None:
                        raise NotRecorded from error
                    return Answer(version, self._without_program(arguments))
        return None

    def _without_program(self, arguments: Arguments) -> Any:
        raise NotImplementedError

    def _tell_of_budget(self) -> None:
        """Says once that most calls are not compiled, since that has cost too much."""
        if self._budget.denies(self._hits):
            warn_caller(
                f"{self.__name__}: compiling has taken {self._budget.spent:.1f} s, and most calls "
                "take paths that no version knows. They run eagerly until they have taken as long; "
                "`.explain()` names the loops that are unrolled"
            )

    def _in_each_form(self, arguments: Arguments, plain: bool) -> Iterator[Arguments]:
        """The arguments as versions may take them; with `plain` as they are alone."""
        yield arguments
        if not plain and self._lists and not self._counted:
            other = stacked(arguments, self._lists)
            if other is not arguments:
                yield other

    def _as_traced(
        self, arguments: Arguments, mode: Mode, left: Sequence[Any], plain: bool
    ) -> Arguments:
        """The arguments as the function is traced with them, after versions that were `left`."""
        if left:
            return as_in(arguments, left[0].version.arguments)
        if plain or self._counted or mode.target != "numpy" or not arguments.has_text:
            return arguments
        found = stacked(arguments, self._lists, FEWEST)
        lists = [leaf.value for leaf in found.leaves if leaf.rows is not None]
        return arguments if any([rows[0].nbytes > MOST_BYTES for rows in lists]) else found

    def _learn_lists(self, version: Version) -> None:
        """A version was made."""
        if self._transform.kind in OF_ANY_LENGTH and version.target == "numpy":
            self._lists.update(version.listed)
