"""Small jobs as users write them, in every mode: none does anything but what plain Python does.

Each job is called six times, its state is changed between the calls; values, what is printed, and
all state afterwards are those of the plain function, gradients those of differences. A job that is
not compiled says why, in one warning.
"""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jobs_that_keep  # noqa: F401
import jobs_that_learn  # noqa: F401
import jobs_that_simulate  # noqa: F401
import numpy as np
import pytest
from checks import direction_like, dot, moved, positions_of, slope
from jobs import JOBS, TURNS, Job, picture

import tracegrad as tg
from tracegrad.errors import RecompileWarning

MORE = 40
"""Calls after which a function that is traced each time says that it runs eagerly."""
every_job = pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)


@dataclass
class Run:
    values: list = field(default_factory=list)
    states: list = field(default_factory=list)
    printed: list = field(default_factory=list)
    warned: list = field(default_factory=list)
    callable: Any = None


def run(job: Job, transform: Callable[[Any], Any], turns: int = TURNS, last: Any = None) -> Run:
    """The calls of a job; `last` are other arguments of the last of them."""
    found = Run()
    f, state, between = job.make()
    g = found.callable = transform(f)
    for turn in range(turns):
        if turn:
            between(turn)
        args = job.arguments(turn) if last is None or turn < turns - 1 else last
        with warnings.catch_warnings(record=True) as caught, contextlib.ExitStack() as stack:
            warnings.simplefilter("always")
            text = stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
            found.values.append(g(*args))
        found.warned += [str(w.message) for w in caught if w.category is RecompileWarning]
        found.printed.append(text.getvalue())
        found.states.append(picture(state))
    return found


def plain(f: Any) -> Any:
    return f


def differentiated(job: Job, **options: Any) -> tuple[Run, list[Any]]:
    """The calls under `value_and_grad`, and their gradients."""
    got = run(job, lambda f: tg.value_and_grad(f, job.argnums, **options))
    gradients = [gradient for _, gradient in got.values]
    got.values = [value for value, _ in got.values]
    return got, gradients


def assert_same(got: Run, expected: Run) -> None:
    for turn, (value, right) in enumerate(zip(got.values, expected.values, strict=True)):
        same = picture(np.asarray(value)) == picture(np.asarray(right))
        assert same, f"call {turn}: {value!r}, plain: {right!r}"
        assert got.printed[turn] == expected.printed[turn], f"call {turn}: printed"
        assert got.states[turn] == expected.states[turn], f"call {turn}: state"


def assert_compiled(job: Job, got: Run) -> None:
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        for _ in range(MORE):  # nothing but the job changes anything
            got.callable(*job.arguments(TURNS - 1))
    warned = got.warned + [str(w.message) for w in caught if w.category is RecompileWarning]
    if job.eager:
        assert len(warned) == 1, warned
        assert job.eager in warned[0], warned
        return
    assert not warned, warned
    assert got.callable.cache_info().hits > 0, f"never ran compiled: {got.callable.explain()}"


def assert_gradients(job: Job, gradients: list[Any]) -> None:
    """Each along one direction, beside the plain function's differences in the last call."""
    wanted = positions_of(job.argnums)
    for turn, gradient in enumerate(gradients):
        args = job.arguments(turn)
        direction = [direction_like(args[i], turn) for i in wanted]

        def along(h, turn=turn, args=args, direction=direction):
            return run(job, plain, turn + 1, tuple(moved(args, wanted, direction, h))).values[-1]

        found = dot(direction, list(gradient) if isinstance(job.argnums, tuple) else [gradient])
        right = slope(along, 1e-5)
        np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-6, err_msg=f"call {turn}")


@every_job
def test_compiled(job):
    got = run(job, tg.compile)
    assert_same(got, run(job, plain))
    assert_compiled(job, got)


@every_job
def test_value_and_grad(job):
    got, gradients = differentiated(job)
    assert_same(got, run(job, plain))
    assert_gradients(job, gradients)
    assert_compiled(job, got)


def reading_the_clock(f: Any) -> Any:
    """The function, which is not compiled for that."""

    def g(*args: Any) -> Any:
        time.perf_counter()
        return f(*args)

    return g


@pytest.mark.sampled(3)
@every_job
def test_eager(job):
    eager = Job(job.name, partial(made_eager, job), job.draw, "perf_counter", job.argnums)
    got, gradients = differentiated(eager)
    right = differentiated(job)[1]
    assert_same(got, run(job, plain))
    assert_compiled(eager, got)
    for turn, (gradient, other) in enumerate(zip(gradients, right, strict=True)):
        assert picture(gradient) == picture(other), f"call {turn}"


def made_eager(job: Job) -> tuple[Any, Any, Any]:
    f, state, between = job.make()
    return reading_the_clock(f), state, between


@pytest.mark.sampled(7)
@every_job
def test_jax(job):
    pytest.importorskip("jax")
    got, gradients = differentiated(job, backend="jax")
    expected, right = differentiated(job)
    for turn, (value, other) in enumerate(zip(got.values, expected.values, strict=True)):
        np.testing.assert_allclose(value, other, rtol=1e-9, err_msg=f"call {turn}")
    for turn, (gradient, other) in enumerate(zip(gradients, right, strict=True)):
        wanted = positions_of(job.argnums)
        direction = [direction_like(job.arguments(turn)[i], turn) for i in wanted]
        pairs = [list(x) if isinstance(job.argnums, tuple) else [x] for x in (gradient, other)]
        found, expected_slope = (dot(direction, x) for x in pairs)
        np.testing.assert_allclose(found, expected_slope, 1e-8, 1e-12, err_msg=f"call {turn}")


def test_there_are_more_than_forty():
    assert len(JOBS) > 40
