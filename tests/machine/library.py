"""CPython's own tests, run natively and with every function interpreted: outcomes are compared.

    python tests/machine/library.py [module ...]

prints, for each module of the interpreter's Lib/test, how many test methods come out equal (passed,
failed, error, skipped), and names those that do not. Each difference is to be found in `EXPLAINED`.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import signal
import sys
import time
import unittest
import warnings

if __name__ == "__main__":
    from alone import alone

    alone()

from tracegrad.machine import Machine, World

MODULES = """
    with dict grammar enum dataclasses fstring set configparser ast abc property heapq pprint copy
    scope generators exceptions raise contextlib functools list tuple int float string
    bool class descr super decorators unpack_ex slice iter iterlen lambda listcomps genexps
    setcomps dictcomps compare richcmp augassign binop opcodes patma keywordonlyarg
    positional_only_arg named_expressions global operator statistics fractions textwrap json
    builtin dictviews deque ordered_dict userdict userlist collections bisect call complex contains
    dynamicclassattribute enumerate extcall funcattrs hash index isinstance long math pow
    numeric_tower print range reprlib string_literals typechecks types typing unary
    weakref yield_from exception_variations exception_hierarchy cmd colorsys csv difflib fnmatch
    graphlib html keyword linecache numbers optparse queue sched shlex template
    tokenize traceback itertools
""".split()  # noqa: SIM905 -- modules of Lib/test, without their "test_"
# Tests that cannot be run under an interpreter that is written in Python itself.
HARMFUL = {
    "test_lru_reentrancy_with_len": "replaces `builtins.len` for every module, the machine's too",
}
LONG = 0.05  # tests that natively take more seconds are left out: they would take a hundred times
SECONDS = 10  # an interpreted test that takes longer counts as an error


class TooLong(BaseException):
    pass


class Result(unittest.TestResult):
    """Keeps texts of errors, where they can be told."""

    def _exc_info_to_string(self, err, test):
        try:
            return super()._exc_info_to_string(err, test)
        except Exception:
            return f"{err[0].__name__}: ..."


def outcome(test: unittest.TestCase) -> str:
    """How one test method ends."""
    result = Result()
    out, err, filters = sys.stdout, sys.stderr, warnings.filters[:]
    where, limit = os.getcwd(), sys.getrecursionlimit()

    def stop(*_):
        raise TooLong

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS, 0.5)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            test.run(result)
    except TooLong:
        return "too long"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout, sys.stderr = out, err
        warnings.filters[:] = filters
        os.chdir(where)
        sys.setrecursionlimit(limit)
    outcome.text = "".join(text for _, text in result.errors + result.failures)
    for name in ("errors", "failures", "skipped", "unexpectedSuccesses", "expectedFailures"):
        if getattr(result, name):
            return name
    return "passed"


def interpreted(test: unittest.TestCase) -> None:
    """Makes a test run its method under a machine."""
    name = test._testMethodName
    native = getattr(test, name)
    if getattr(native, "__unittest_skip__", False):
        return

    def method(*args):
        return Machine(World()).call(native, args, {})

    method.__unittest_expecting_failure__ = getattr(native, "__unittest_expecting_failure__", False)
    setattr(test, name, method)


def tests_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        else:
            yield test


def load(name: str):
    module = importlib.import_module(f"test.test_{name}")
    loader = unittest.TestLoader()
    return list(tests_of(loader.loadTestsFromModule(module)))


def compare(name: str, only=None):
    """(equal, total, differences) of a module: (test, natively, interpreted, text) of each."""
    equal = total = 0
    differences = []
    natively, again = load(name), load(name)
    for test, twin in zip(natively, again):
        if type(test).__name__ in ("_FailedTest", "DocTestCase"):
            continue
        if only and not only(test.id()):
            continue
        if test.id().rpartition(".")[2] in HARMFUL:
            total += 1
            continue
        start = time.perf_counter()
        first = run_class(test)
        if time.perf_counter() - start > LONG:
            continue
        interpreted(twin)
        second = run_class(twin)
        total += 1
        if first == second:
            equal += 1
        else:
            text = getattr(outcome, "text", "")
            differences.append((test.id().partition(".")[2], first, second, text))
    return equal, total, differences


def run_class(test) -> str:
    """Runs one test within its class's set-up."""
    cls = type(test)
    try:
        cls.setUpClass()
    except unittest.SkipTest:
        return "skipped"
    except Exception:
        return "class"
    try:
        return outcome(test)
    finally:
        cls.tearDownClass()
        cls.doClassCleanups()


def main(names) -> None:
    warnings.simplefilter("ignore")
    verbose = "-v" in names
    names = [name for name in names if name != "-v"]
    all_equal = all_total = 0
    for name in names or MODULES:
        start = time.perf_counter()
        try:
            equal, total, differences = compare(name)
        except (ImportError, unittest.SkipTest) as error:
            print(f"{name}: not here ({error})", flush=True)
            continue
        all_equal += equal
        all_total += total
        print(f"{name}: {equal}/{total} in {time.perf_counter() - start:.1f} s", flush=True)
        for test, first, second, text in differences:
            last = text.strip().splitlines()[-1] if text.strip() else ""
            print(f"    {test}: {first}, interpreted {second}: {last[:150]}")
            if verbose:
                print(text)
    print(f"{all_equal}/{all_total} equal ({100 * all_equal / max(all_total, 1):.2f} %)")


if __name__ == "__main__":
    main(sys.argv[1:])
