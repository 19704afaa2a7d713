"""`sorted` of numbers from outside has a path for each order, and no version for each number."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

X = np.array([0.5, 1.5])


def weighted(x, numbers):
    return sum((i + 1.0) * number * x for i, number in enumerate(numbers))


def by_key(x, items, numbers):
    return {d["name"]: d["w"] * x for d in sorted(items, key=lambda d: d["w"])}


def by_item(x, items, numbers):
    ordered = sorted(items, key=operator.itemgetter("w"), reverse=True)
    return weighted(x, [d["w"] for d in ordered])


def by_less(x, items, numbers):
    return weighted(x, [d["w"] for d in sorted(items, key=lambda d: -d["w"])])


def by_square(x, items, numbers):
    return weighted(x, sorted(numbers, key=lambda v: v * v - v))


def themselves(x, items, numbers):
    return weighted(x, sorted(numbers))


def in_a_list(x, items, numbers):
    kept = [d["w"] for d in items]
    kept.sort()
    return weighted(x, kept)


def objects_in_a_list(x, items, numbers):
    kept = [*items]
    kept.sort(key=lambda d: d["w"])
    return weighted(x, [d["w"] for d in kept])


def places(x, items, numbers):
    return x * sorted(range(len(numbers)), key=lambda i: numbers[i])[0]


def beside_an_element(x, items, numbers):
    return sorted([x[0], *numbers], key=lambda v: -v)[1] * x


def by_two(x, items, numbers):
    return {d["name"]: d["w"] * x for d in sorted(items, key=lambda d: (-d["w"], d["name"]))}


def by_name_first(x, items, numbers):
    ordered = sorted(items, key=lambda d: (len(d["name"]), d["w"] + d["w"]))
    return weighted(x, [d["w"] for d in ordered])


def least_of_pairs(x, items, numbers):
    return x * min((number, i) for i, number in enumerate(numbers))[0]


def pairs(x, items, numbers):
    return x * (2.0 if (items[0]["w"], 1) < (items[1]["w"], 0) else 3.0) * items[0]["w"]


ORDERED = (
    *(by_two, by_name_first, least_of_pairs, pairs),
    *(by_key, by_item, by_less, by_square, themselves, in_a_list, objects_in_a_list, places),
    beside_an_element,
)


def state():
    return [{"name": name, "w": float(i)} for i, name in enumerate("abc")], [1.0, 2.0, 3.0]


@pytest.mark.parametrize("f", ORDERED, ids=lambda f: f.__name__)
def test_an_order_has_a_path(f):
    items, numbers = state()
    compiled = tg.compile(lambda x: f(x, items, numbers))
    drawn = np.random.default_rng(0)
    for i in range(30):
        items[i % 3]["w"] = float(drawn.normal())
        numbers[i % 3] = float(drawn.normal())
        assert_same_bits(compiled(X), f(X, items, numbers))
    found = compiled.cache_info()
    assert found.versions == 1 and found.traces < 16


def test_names_are_compared_as_they_are():
    items, _ = state()
    compiled = tg.compile(lambda x: x * len(sorted(items, key=lambda d: d["name"])[0]["name"]))
    for name in ("b", "bbb", "", "bbb"):
        items[2]["name"] = name
        expected = X * len(min(d["name"] for d in items))
        assert_same_bits(compiled(X), expected)


def test_what_decides_in_c_is_named():
    items, _ = state()
    compiled = tg.compile(lambda x: x * sorted(items, key=lambda d: abs(d["w"]))[0]["w"])
    for number in (-5.0, 0.25):
        items[1]["w"] = number
        assert_same_bits(compiled(X), X * min((d["w"] for d in items), key=abs))
    assert "items[1]['w'] was -5.0, is 0.25" in compiled.explain()
