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
    bool class descr super decorators unpack_ex slice iter iterlen listcomps genexps
    setcomps dictcomps compare richcmp augassign binop opcodes patma keywordonlyarg
    positional_only_arg named_expressions global operator statistics fractions textwrap json
    builtin dictviews deque ordered_dict userdict userlist collections bisect call complex contains
    dynamicclassattribute enumerate extcall funcattrs hash index isinstance long math pow
    numeric_tower print range reprlib string_literals typechecks types typing unary
    weakref yield_from exception_variations exception_hierarchy cmd colorsys csv difflib fnmatch
    graphlib html keyword linecache numbers optparse queue sched shlex template
    tokenize traceback
""".split()  # noqa: SIM905 -- modules of Lib/test, without their "test_"
# Tests that cannot be run under an interpreter that is written in Python itself.
HARMFUL = {
    "test_lru_reentrancy_with_len": "replaces `builtins.len` for every module, the machine's too",
}
# Why a test may come out differently, and which do.
CATEGORIES = {
    "depth": "wants a RecursionError of C code: its limit is raised while the machine runs",
    "generator": "looks into a native generator: gi_yieldfrom, gi_frame, a failing throw",
    "iterator": "pickles, copies or sets the state of an iterator or function handed to C code",
    "frame": "asks a frame for its caller, for its later line, or for locals changed since",
    "lifetime": "asks whether a class dies at once: the world that saw it keeps it",
    "lookup": "counts lookups of special methods by C code, or makes one a failing property",
    "warning": "counts warnings: which C code gives by itself, or which were given already",
    "native": "an abstract class's hook looks at frames natively, tuples of arguments are not kept",
}
EXPLAINED = {
    "depth": """
        test_dict.DictTest.test_repr_deep test_list.ListTest.test_repr_deep
        test_userdict.UserDictTest.test_repr_deep test_userlist.UserListTest.test_repr_deep
        test_dictviews.DictSetTest.test_deeply_nested_repr
        test_isinstance.TestIsInstanceIsSubclass.test_isinstance_recursion_limit
        test_isinstance.TestIsInstanceIsSubclass.test_subclass_recursion_limit
        test_ast.AST_Tests.test_ast_recursion_limit
    """,
    "generator": """
        test_generators.YieldFromTests.test_generator_gi_yieldfrom
        test_yield_from.TestPEP380Operation.test_broken_getattr_handling
        test_yield_from.TestPEP380Operation.test_delegator_is_visible_to_debugger
    """,
    "iterator": """
        test_iter.TestCase.test_iter_callable test_iter.TestCase.test_iter_neg_setstate
        test_iter.TestCase.test_iter_overflow test_iter.TestCase.test_mutating_seq_class_iter_pickle
        test_iter.TestCase.test_reduce_mutating_builtins_iter
        test_iter.TestCase.test_seq_class_for test_iter.TestCase.test_seq_class_iter
        test_builtin.BuiltinTest.test_filter_pickle test_builtin.BuiltinTest.test_map_pickle
    """,
    "frame": """
        test_exceptions.ExceptionTests.testExceptionCleanupState
        test_exceptions.PEP626Tests.test_lineno_after_other_except
        test_exceptions.PEP626Tests.test_lineno_in_try
        test_raise.TestTracebackType.test_attrs
        test_generators.GeneratorStackTraceTest.test_send_with_yield_from
        test_generators.GeneratorStackTraceTest.test_throw_with_yield_from
        test_traceback.MiscTracebackCases.test_extract_stack
        test_traceback.LimitTests.test_extract_stack
        test_traceback.TestStack.test_custom_format_frame
        test_traceback.TestStack.test_format_locals test_traceback.TestStack.test_walk_stack
        test_traceback.TracebackFormatTests.test_format_stack
        test_traceback.TracebackFormatTests.test_print_stack
        test_linecache.LineCacheTests.test_checkcache
    """,
    "lifetime": """
        test_functools.TestLRUC.test_lru_cache_weakrefable
        test_functools.TestLRUPy.test_lru_cache_weakrefable
    """,
    "lookup": """
        test_class.ClassTests.testForExceptionsRaisedInInstanceGetattr2
        test_descr.ClassPropertiesAndMethods.test_special_method_lookup
        test_descr.ClassPropertiesAndMethods.test_restored_object_new
        test_iterlen.TestLengthHintExceptions.test_issue1242657
    """,
    "warning": """
        test_index.BaseTestCase.test_index_returns_int_subclass
        test_functools.TestPartialC.test_partial_as_method
        test_functools.TestPartialCSubclass.test_partial_as_method
        test_typing.InternalsTests.test_deprecation_for_no_type_params_passed_to__evaluate
        test_typing.IOTests.test_io_submodule test_typing.RETests.test_re_submodule
    """,
    "native": """
        test_typing.ProtocolTests.test_protocols_issubclass_non_callable
        test_typing.ProtocolTests.test_protocols_support_register
        test_call.TestPEP590.test_vectorcall_override test_call.TestPEP590.test_setvectorcall
        test_call.TestPEP590.test_setvectorcall_load_attr_specialization_deopt
        test_call.TestPEP590.test_setvectorcall_load_attr_specialization_skip
    """,
}
LONG = 0.05  # tests that natively take more seconds are left out: they would take a hundred times
SECONDS = 10  # of its own time: an interpreted test that takes longer counts as an error


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

    signal.signal(signal.SIGPROF, stop)
    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS, 0.5)
    signal.setitimer(signal.ITIMER_REAL, 20 * SECONDS, 0.5)  # where it waits
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            test.run(result)
    except TooLong:
        return "too long"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
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


def unexplained(differences) -> list:
    """The differences that no category names."""
    known = {name for names in EXPLAINED.values() for name in names.split()}
    return [row for row in differences if row[0] not in known]


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
            reason = next((why for why, names in EXPLAINED.items() if test in names.split()), "")
            print(f"    {test}: {first}, interpreted {second} ({reason or 'NEW'}): {last[:150]}")
            if verbose:
                print(text)
    print(f"{all_equal}/{all_total} equal ({100 * all_equal / max(all_total, 1):.2f} %)")


if __name__ == "__main__":
    main(sys.argv[1:])
