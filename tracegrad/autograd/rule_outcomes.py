"""What the user's rules gave in one call of a compiled function, for the further runs of that call.

A call may run a function more than once: a trace and then its program, or a program that meets an
outcome which it does not know, and then a trace. Nobody sees what a rule does (it draws, counts,
costs time), so no run can take it back. A call keeps what each application of a rule gave, and the
next run takes this in the same order, instead of calling the rule again. So each application calls
the rule once. What a rule raised is raised again, where the function may catch it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from tracegrad.autograd.context import FunctionCtx
from tracegrad.errors import RAISED_BY_NUMPY, TracegradError
from tracegrad.runtime.provided import Provided
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.foreign_arrays import digest
from tracegrad.tensors.tensor import Tensor, wrap

MOST_BYTES = 1 << 28
"""A call that would keep more than this lets go of all: further runs call the rules again."""

FEW = 64
"""Elements by which an array is told from another one, of the same shape."""

noted_stores = Provided("what notes where a rule stores outside")


class Interrupted(Exception):
    """A program has called rules, and does not answer: the call goes on with what these gave."""

    def __init__(self, outcomes: Outcomes) -> None:
        super().__init__()
        self.outcomes = outcomes

    def going_on(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Calls the function in another way, which takes what the rules gave."""
        before, STATE.outcomes = STATE.outcomes, self.outcomes
        try:
            return call(*args, **kwargs)
        finally:
            STATE.outcomes = before


class _Backward:
    """What the backward of one application returned, or raised."""

    def __init__(self, grads: Sequence[Any]) -> None:
        self.key = _key(grads)
        self.several = False
        self.returned: list[Any] = []
        self.error: Exception | None = None
        self.raised_at: Any = None  # its traceback, which is longer for who has caught it

    def keep(self, returned: Any) -> None:
        """The backward has returned."""
        self.several = isinstance(returned, tuple | list)
        self.returned = [_copied(x) for x in (returned if self.several else [returned])]

    def again(self) -> Any:
        """The same once more."""
        if self.error is not None:
            raise self.error.with_traceback(self.raised_at)
        found = [_copied(x) for x in self.returned]
        return tuple(found) if self.several else found[0]


class _Application:
    """What one application of a rule gave."""

    def __init__(self, cls: type[Any], ctx: FunctionCtx, args: Sequence[Any], key: Any) -> None:
        self.cls, self.ctx, self.args, self.key = cls, ctx, tuple(args), key
        self.single = False
        arrays = [getattr(x, "_array", x) for x in args if isinstance(x, Tensor | np.ndarray)]
        writable = any([isinstance(x, np.ndarray) and x.flags.writeable for x in arrays])
        self.given = _key(args, digest) if writable else None
        self.writes = False  # to its arguments: it is to do so in each run
        self.outputs: list[Any] = []
        self.copies: list[Any] = []  # of the outputs' arrays: who gets them may write to them
        self.error: Exception | None = None
        self.raised_at: Any = None
        self.stored: list[Any] = []  # what it stored outside
        self.is_repeated = False
        self.backwards: list[_Backward] = []
        self.taken = 0  # so many of these, by the run that goes on

    def keep(self, single: bool, outputs: Sequence[Any]) -> int:
        """The forward has returned; how many bytes are kept."""
        self.single, self.outputs = single, list(outputs)
        if self.given is not None:
            self.writes = _key(self.args, digest) != self.given
        self.copies = [_copied(getattr(x, "_array", x)) for x in outputs]
        return sum([getattr(x, "nbytes", 0) for x in self.copies])

    def stands_for(self, cls: type[Any], ctx: FunctionCtx | None, args: Sequence[Any]) -> bool:
        """Whether this application is that of another run; a `ctx` of None is not looked at."""
        if self.cls is not cls or self.writes or len(args) != len(self.args):
            return False
        if ctx is not None and ctx.needs_input_grad != self.ctx.needs_input_grad:
            return False
        if _key(args) != self.key:
            return False
        return all([_is_number(x) or _same(x, own) for x, own in zip(args, self.args, strict=True)])

    def again(self, args: Sequence[Any]) -> tuple[FunctionCtx, bool, list[Any]]:
        """The same once more, for these arguments."""
        self.is_repeated, self.taken = True, 0
        for x, own in zip(args, self.args, strict=True):
            if isinstance(own, Tensor):  # the context may hold it, over memory that is gone
                own._array = getattr(x, "_array", x)
            elif hasattr(x, "gave"):
                x.gave(own)
        if self.error is not None:
            raise self.error.with_traceback(self.raised_at)
        for x, array in zip(self.outputs, self.copies, strict=True):
            if isinstance(x, Tensor):
                x._array = _copied(array)
        return self.ctx, self.single, list(self.outputs)


class Outcomes:
    """What the rules gave in one call, in order."""

    def __init__(self) -> None:
        self.applications: list[_Application] = []
        self.place = 0  # of the next one, in the run that goes on
        self.keeps = True  # a further run may follow
        self.raised: Exception | None = None  # by a rule
        self._bytes = 0
        self._last: _Application | None = None
        self._of_contexts: dict[int, _Application] = {}
        self._others = False  # functions of the user's have run of which nothing is kept

    @property
    def is_over(self) -> bool:
        """Whether nothing is kept any more, and nothing is there to be taken."""
        return not self.keeps and self.place >= len(self.applications)

    def is_last_run(self) -> None:
        """The run that begins answers the call."""
        self.keeps = False

    def begin_at(self, place: int) -> None:
        """Another run begins, where applications before `place` are done."""
        self.place = min(place, len(self.applications))
        for application in self.applications[self.place :]:
            application.taken = 0

    def goes_on(self, error: BaseException) -> bool:
        """Whether another run may follow a program that has raised this."""
        by_numpy = isinstance(error, RAISED_BY_NUMPY) and not isinstance(error, TracegradError)
        return not self._others and (error is self.raised or by_numpy)

    def runs_others(self) -> None:
        """A function of the user's is called of which nothing is kept."""
        self._others = True

    def known(
        self, cls: type[Any], ctx: FunctionCtx | None, args: Sequence[Any]
    ) -> _Application | None:
        """The next application, where it is this one, which is then taken."""
        if self.place >= len(self.applications):
            return None
        application = self.applications[self.place]
        if not application.stands_for(cls, ctx, args):
            return None
        self.place += 1
        self._last, self.raised = application, application.error
        return application

    def forward(
        self,
        cls: type[Any],
        ctx: FunctionCtx,
        args: Sequence[Any],
        reads_context: bool,
        run: Callable[[], tuple[bool, list[Any]]],
    ) -> tuple[FunctionCtx, bool, list[Any]]:
        """What the forward of a rule gave for these arguments, and its context."""
        known = self.known(cls, ctx if reads_context else None, args)
        if known is not None:
            return known.again(args)
        del self.applications[self.place :]
        self._last, key = None, _key(args) if self.keeps else None
        if key is None:
            return (ctx, *self._aside(run))
        application = self._last = _Application(cls, ctx, args, key)
        self.applications.append(application)
        self.place += 1
        try:
            single, outputs = self._noting(application, run)
        except Exception as error:
            application.error = self.raised = error
            application.raised_at = error.__traceback__
            raise
        except BaseException:
            self.applications.pop()
            self.place -= 1
            raise
        self._bytes += application.keep(single, outputs)
        self._of_contexts[id(ctx)] = application
        if self._bytes > MOST_BYTES:
            self.keeps, self.place = False, 0
            self.applications, self._of_contexts = [], {}
        return ctx, single, outputs

    def backward(self, ctx: FunctionCtx, grads: Sequence[Any], run: Callable[[], Any]) -> Any:
        """What the backward of a rule gave for these gradients."""
        application = self._of_contexts.get(id(ctx))
        if application is None or application.ctx is not ctx:
            return self._aside(run)
        if application.taken < len(application.backwards):
            known = application.backwards[application.taken]
            if known.key is not None and known.key == _key(grads):
                application.taken += 1
                self.raised = known.error
                return known.again()
            del application.backwards[application.taken :]
        if not self.keeps:
            return self._aside(run)
        made = _Backward(grads)
        application.backwards.append(made)
        application.taken += 1
        try:
            returned = self._aside(run)
        except Exception as error:
            made.error = self.raised = error
            made.raised_at = error.__traceback__
            raise
        made.keep(returned)
        return returned

    def stored(self, found: Any) -> list[Any]:
        """What the last application has stored outside; `found` is what was noted around it."""
        last = self._last
        if last is None:
            return [found]
        if not last.is_repeated:
            last.stored.append(found)
            return [found]
        return last.stored

    def _noting(self, application: _Application, run: Callable[[], Any]) -> Any:
        """Calls a rule; in a program, where nobody else does, notes what it stores."""
        rule = getattr(application.cls, "ruled", application.cls)
        if STATE.machine is not None or not rule._stores:
            return self._aside(run)
        with noted_stores.call(rule._users) as found:
            made = self._aside(run)
        application.stored.append(found)
        return made

    @staticmethod
    def _aside(run: Callable[[], Any]) -> Any:
        """Calls a function of the user's: what it calls has outcomes of its own."""
        before, STATE.outcomes = STATE.outcomes, None
        try:
            return run()
        finally:
            STATE.outcomes = before


class kept:
    """Around a call of a compiled function: what rules give is kept for further runs of it."""

    def __enter__(self) -> Outcomes:
        self.before = STATE.outcomes
        if self.before is None or self.before.is_over:
            STATE.outcomes = Outcomes()
        found: Outcomes = STATE.outcomes
        return found

    def __exit__(self, *raised: object) -> None:
        STATE.outcomes = self.before


def beginning_again(run: Callable[..., Any]) -> Callable[..., Any]:
    """A program behind which, where it does not answer, another run finds what rules gave."""

    @wraps(run)
    def tried(*args: Any, **kwargs: Any) -> Any:
        outcomes = STATE.outcomes
        if outcomes is None:
            return run(*args, **kwargs)
        place = outcomes.place
        try:
            return run(*args, **kwargs)
        except Exception:
            outcomes.begin_at(place)
            raise

    return tried


def interrupting(
    run: Callable[..., Any], goes_on: Callable[[Exception], bool]
) -> Callable[..., Any]:
    """Such a program for an entry, which raises `Interrupted` where it does not answer."""

    @wraps(run)
    def keeping(*args: Any, **kwargs: Any) -> Any:
        with kept() as outcomes:
            try:
                return run(*args, **kwargs)
            except Exception as error:
                if type(error) is LookupError or goes_on(error):
                    raise Interrupted(outcomes) from error
                raise

    return keeping


def _is_number(x: Any) -> bool:
    return isinstance(x, _KINDS)


def _key(args: Sequence[Any], tells: Callable[[np.ndarray], Any] | None = None) -> Any:
    """What the arrays and numbers among arguments are; None where one is not in NumPy's memory.

    Runs of one call come to the same applications in the same order, so a few elements of an array
    tell that two are one.
    """
    tells = tells or _some
    found = []
    for x in args:
        if not _is_number(x):
            continue
        array = getattr(x, "_array", x)
        if not isinstance(array, _NUMBERS):
            return None
        array = np.asarray(array)
        found.append((array.shape, array.dtype, tells(array)))
    return found


def _some(array: np.ndarray) -> bytes:
    """Elements of an array, from all over it."""
    if array.size > FEW:
        each = max(2, round(FEW ** (1.0 / array.ndim)))
        array = array[tuple([slice(None, None, -(-n // each)) for n in array.shape])]
    return array.tobytes()


_NUMBERS = (np.ndarray, np.generic, int, float, complex)
_KINDS = (Tensor, *_NUMBERS)


def _same(x: Any, own: Any) -> bool:
    """Whether two arguments that are no numbers are the same to a rule."""
    if x is own:
        return True
    if type(x) is not type(own):
        return False
    try:
        return bool(x == own)
    except Exception:
        return False


def _copied(x: Any) -> Any:
    """The same in memory of its own."""
    if isinstance(x, Tensor):
        return wrap(_copied(x._array))
    return x.copy(order="K") if isinstance(x, np.ndarray) else x
