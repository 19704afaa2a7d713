"""Regular expressions of texts: a program has what they find, and asks texts from outside again."""

from __future__ import annotations

import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import tracegrad as tg

PATTERN = re.compile(r"w(\d)")
O = SimpleNamespace()


def named_layers(x):
    s = 0.0
    for name in ("layer1", "bias", "layer2"):
        if m := re.match(r"layer(\d)", name):
            s = s + x[int(m.group(1))]
    return s


def replaced_by_a_function(x):
    O.calls += 1
    return x.sum() * len(re.sub(r"\d", lambda m: m.group() * (O.calls % 2 + 2), O.text))


def a_function_keeps_values(x):
    found = []

    def keep(m):
        found.append(x[int(m.group())])
        return ""

    re.sub(r"\d", keep, "a1b2")
    return sum(found)


def wrong(x):
    try:
        re.compile("(")
    except re.error as error:
        return x.sum() * error.pos
    return x.sum()


PROGRAMS = [
    named_layers,
    replaced_by_a_function,
    a_function_keeps_values,
    wrong,
    lambda x: x.sum() * len(re.search("b+", "abbb").group()),
    lambda x: x.sum() * len(re.findall("B", "abbb", re.I | re.M)),
    lambda x: x.sum() * len(re.split(",", "a,b")),
    lambda x: x.sum() * len(re.sub("(a)", r"\1\1", "aca")),
    lambda x: x.sum() * len(re.compile("a").findall("aba")),
    lambda x: x.sum() * int(re.fullmatch(r"(?P<k>\w)=(?P<v>\d+)", "a=12").groupdict()["v"]),
    lambda x: sum(x[int(m.group())] for m in re.finditer(r"\d", "0 1")),
    lambda x: x.sum() * int(PATTERN.match("w3")[1]),
    lambda x: x.sum() * len(re.findall(PATTERN, "w1")),
    lambda x: x.sum() * len(re.findall(r"\d", O.text)),
    lambda x: x.sum() * len(O.pattern.findall(O.text)),
    lambda x: x.sum() * len(O.pattern.sub(lambda m: m[0] + O.text, O.text)),
]


@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad])
@pytest.mark.parametrize("function", PROGRAMS)
def test_what_patterns_find(function, transform):
    O.calls, O.text, O.pattern = 0, "a1b22", PATTERN
    compiled = transform(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(6):
            if k == 3:
                O.text, O.pattern = "w33 w4", re.compile(r"(\d)+")
            x = np.arange(3.0) + k
            given = compiled(x)
            O.calls -= function is replaced_by_a_function
            assert (given if transform is tg.compile else given[0]) == function(x)
    assert 1 <= compiled.cache_info().versions <= 4
