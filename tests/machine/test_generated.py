"""Random functions give the same under the machine: results, logs, errors, tracebacks."""

import generated
import pytest

pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning")


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_random_functions(first):
    found = [generated.difference(seed) for seed in range(first, first + 20)]
    assert not any(found), next(filter(None, found))


def test_the_comparison_can_fail(monkeypatch):
    def wrong(function, args):
        return generated.natively(function, (2, *args[1:]))

    monkeypatch.setattr(generated, "interpreted", wrong)
    assert any(generated.difference(seed) for seed in range(20))


def test_the_programs_do_most_of_what_python_has():
    text = "".join(generated.Writer(seed).text() for seed in range(200))
    for word in (
        "yield from",
        "except",
        "finally",
        "nonlocal",
        "with",
        "match",
        "class C",
        "lambda",
    ):
        assert text.count(word) > 100
