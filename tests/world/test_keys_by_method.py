"""Methods of dictionaries and sets, called by name, hash their keys as the statements do."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

import tracegrad as tg

LABELS = [np.array([0, 2, 1, 2]), np.array([1, 1, 0, 5]), np.array([0.5, 2.0, 0.5, 1.0])]


def counts(labels):
    found = {}
    for k in labels:
        found.__setitem__(k, found.get(k, 0) + 1)
    return found


def taken_out(labels):
    found = dict.fromkeys(labels, 1)
    found.__delitem__(labels[0])
    there = found.__contains__(labels[1])
    return found, there, found.__getitem__(labels[1]) if there else None


def by_class(labels):
    found = {}
    for k in labels:
        dict.__setitem__(found, k, 1)
    return found, dict.__getitem__(found, labels[0]), dict.__contains__(found, labels[1])


class Doubling(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value * 2)


def subclass(labels):
    found = Doubling()
    for k in labels:
        found[k] = k
    return dict(found)


def in_order(labels):
    found = OrderedDict()
    for k in labels:
        found.__setitem__(k, k)
    return found


def in_tuple(labels):
    found = {}
    found.__setitem__((labels[0], 1), 2)
    return found


def members(labels):
    found = set()
    set.add(found, labels[0])
    return len(found), found.__contains__(labels[0]), found.__contains__(labels[1])


PROGRAMS = [counts, taken_out, by_class, subclass, in_order, in_tuple, members]


@pytest.mark.parametrize("compiles", [True, False], ids=["compiled", "eager"])
@pytest.mark.parametrize("f", PROGRAMS)
def test_as_in_python(f, compiles, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiles)
    compiled = tg.compile(f)
    for labels in LABELS * 2:
        assert repr(compiled(labels)) == repr(f(labels))
