"""A sample of CPython's own tests gives the same under the machine (all: `library.py`)."""

import importlib.util
import sys
import warnings

import library
import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("test.test_grammar") is None,
    reason="this interpreter was installed without its own tests",
)
SAMPLE = """
    abc bool call class compare decorators dictcomps dictviews enumerate generators grammar
    keywordonlyarg named_expressions opcodes patma positional_only_arg property raise richcmp super
    with yield_from
""".split()  # noqa: SIM905

# What they see of frames depends on who calls them, or their rows are those of later versions.
VARYING = ("call", "generators", "yield_from")


@pytest.mark.sampled(2, 1)
@pytest.mark.parametrize("name", SAMPLE)
def test_own_tests_of_python(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            equal, total, differences = library.compare(name)
        except ImportError:
            pytest.skip(f"test_{name} is not here")
    assert not library.unexplained(differences)
    assert total - equal == len(differences) and total > 0
    if sys.version_info < (3, 12) and name not in VARYING:  # the rows are those of 3.11
        found = {test for test, *_ in differences}
        rows = {row for rows in library.EXPLAINED.values() for row in rows.split()}
        assert found == {row for row in rows if row.startswith(f"test_{name}.")}


def test_each_explanation_is_of_a_category():
    assert set(library.EXPLAINED) == set(library.CATEGORIES)
