"""A sample of CPython's own tests gives the same under the machine (all: `library.py`)."""

import importlib.util
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


@pytest.mark.parametrize("name", SAMPLE)
def test_own_tests_of_python(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            equal, total, differences = library.compare(name)
        except ImportError:
            pytest.skip(f"test_{name} is not here")
    assert not library.unexplained(differences)
    assert total - equal == len(differences)


def test_each_explanation_names_a_category():
    assert {row.category for row in library.EXPLAINED} <= set(library.CATEGORIES)
