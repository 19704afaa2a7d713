"""The arms that a first call did not take: runs that nobody sees take them (`world.explorer`).

A function of twelve independent ifs needs one version so, from its first call on. It had one after
five calls, each of which was traced and compiled.
"""

from __future__ import annotations

from math import prod
from typing import Any

from codegen.sizes import Sizes, limits
from tracegrad.arguments.signature import Arguments
from tracegrad.compiled.followed_paths import tree_of
from tracegrad.compiled.sampled_ways import Ways, take_over
from tracegrad.compiled.traced_run import Run
from tracegrad.compiled.version import Version, end_of
from tracegrad.config.compile_mode import Mode
from tracegrad.runtime.silence import silenced
from tracegrad.runtime.thread_state import STATE
from tracegrad.tracing.path_tree import Tree
from tracegrad.tracing.restarts import Purpose
from tracegrad.world.explorer import lacks_arms

MOST_RUNS = 8
"""So many runs take arms that the call did not take."""

MOST_NUMBERS = 1_000_000
"""A run that computes more takes time, and so may arms that no call has asked for."""


def version_with_arms(
    calling: Any, arguments: Arguments, mode: Mode, run: Run, reason: str
) -> tuple[Version, Run]:
    """The version of the path of a run, and of others that runs on its values find; the last run.

    Where there is no version of all of them, it is that of the path alone: the others may come.
    """
    first, *more = _explored(calling, arguments, mode, run)
    of = arguments, mode
    try:
        last = [first, *more][-1]
        return calling._version(*of, last.runs[-1], None, reason, last), last.runs[-1]
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) or not more:
            raise
        return calling._version(*of, run, None, reason, first), run


def _explored(calling: Any, arguments: Arguments, mode: Mode, run: Run) -> list[Ways]:
    """The tree of the path of a run, and with each further run that with one path more."""
    tree, _ = tree_of(run, end_of(calling._transform, arguments, run), mode.target)
    none = Ways(explores=True, goes_both_ways=False)
    found = [none.with_tree(run, tree)]
    for _ in range(MOST_RUNS):
        last = found[-1].runs[-1]
        if not (_may_grow(last, tree) and lacks_arms(tree.root) and _is_short(last, mode)):
            break
        again = _run(calling, arguments, mode, found[-1])
        if again is None or not _may_grow(again, None):
            break
        end = end_of(calling._transform, arguments, again)
        tree, continues = tree_of(again, end, mode.target)
        narrower = _is_narrower(tree.sizes, last.trace.sizes)
        if tree.closed or narrower or not (continues or again.supersedes):
            break
        if continues:
            take_over(again, last)
        found.append((found[-1] if continues else none).with_tree(again, tree))
    return found


def _run(calling: Any, arguments: Arguments, mode: Mode, ways: Ways) -> Run | None:
    """One more run, which takes unknown arms; None where it stops: a call that takes them tells."""
    try:
        with silenced():  # of arms that no call takes nobody is to hear
            run: Run = calling._run(arguments, mode, None, ways=ways, purpose=Purpose.LOOK)
        return run
    except KeyboardInterrupt:
        raise
    except BaseException:  # an arm may leave the process (`sys.exit`)
        return None


def _is_narrower(sizes: Sizes, before: Sizes) -> bool:
    """Whether a length, or how several fit, is assumed that was not: more than a range of one."""
    ranges = [limits(*guard) for guard in sizes.guards if guard not in before.guards]
    return any(found is None or found[1] == found[2] for found in ranges)


def _is_short(run: Run, mode: Mode) -> bool:
    """Whether arms will take no time to speak of, and nobody counts what they do."""
    if mode.target == "jax" or STATE.observer is not None:
        return False
    value, nodes = run.trace.sizes.value, run.trace.builder.nodes
    types = [result.type for node in nodes for result in node.results]
    return sum(prod(map(value, type_.shape)) for type_ in types) < MOST_NUMBERS


def _may_grow(run: Run, tree: Tree | None) -> bool:
    """Whether a run has only computed, without a history, and its tree can have other paths."""
    does = run.stores or run.effects or run.written or run.trace.generators.before
    return (
        run.serves
        and not (does or run.recorded)
        and not (tree is not None and (tree.closed or tree.loops))
    )
