"""Decides whether calls that no known path takes are worth another trace.

What all compiling of a function may cost says `compile_budget.py`. A path pays besides only where
it is met again, so misses of a tree back off: of those in a row, without a call between that a
program answered, the first, second, fourth, eighth... are traced and compiled, the others run
eagerly; where arms meet all are, since each teaches an arm for all paths through it. Past a bound
no path is added any more, and a program that answers too few of the calls is given up. (By the
budget alone, a loop over 64 random signs compiled for 15 s in 1,600 calls before that.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tracegrad.tracing.path_tree import Tree

MOST_PATHS = 32
MOST_NODES = 4000
MOST_MISSES = 32  # in a row
WORTH = 4  # calls that a program must answer for each that it does not


@dataclass
class Growth:
    """What one tree has met so far; `hits` are always those of the function up to now."""

    misses: int = 0  # in a row
    total: int = 0
    hits: int = 0  # at the last miss
    stopped: str = ""  # why no path is added any more
    warned: bool = False

    def worth(self, hits: int, tree: Tree, payable: bool) -> bool:
        """True for a miss that is to be compiled; `payable` says whether it may.

        Misses that may not are not counted in a row: all may be of one path, which will be added.
        """
        if not payable:
            return False
        self.total += 1
        self.misses = 1 if hits > self.hits else self.misses + 1
        self.hits = hits
        paths, nodes = sum(1 for _ in tree.ends), tree.size
        if paths >= MOST_PATHS:
            self.stopped = f"{paths} paths were compiled"
        elif nodes >= MOST_NODES:
            self.stopped = f"{paths} paths of {nodes} operations were compiled"
        elif self.misses > MOST_MISSES:
            self.stopped = f"{self.misses - 1} calls in a row took paths of their own"
        return not self.stopped and (tree.joined or self.misses & (self.misses - 1) == 0)

    def stop(self, why: str) -> None:
        """No path is added any more, which the caller tells."""
        self.stopped, self.warned = why, True

    @property
    def useless(self) -> bool:
        """True when the program answers too few calls to be tried before each."""
        return bool(self.stopped) and self.hits < WORTH * self.total

    def copy(self) -> Growth:
        """The state now, for `restore`."""
        return replace(self)

    def restore(self, before: Growth) -> None:
        """Forgets what was met since."""
        self.__dict__.update(before.__dict__)
