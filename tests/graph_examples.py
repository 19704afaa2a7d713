"""Graphs as texts: what a pass makes of one, and those that a pass shows in its documentation."""

from __future__ import annotations

from textwrap import dedent

import toy

from codegen import verify


def clean(text):
    return dedent(text).strip()


def after(step, before, client=toy.CLIENT):
    """The text of the graph that a pass makes of the text of another."""
    return str(verify(step(verify(toy.graph(clean(before))), client)))


def examples(document):
    """The graphs in the two columns of a pass's documentation."""
    heading, *lines = document.split("Before::")[1].splitlines()
    column = len("Before::") + heading.index("After::") + 4
    left = "\n".join(line[4:column].rstrip() for line in lines if line[:1] in ("", " "))
    right = "\n".join(line[column:].rstrip() for line in lines if line[:1] in ("", " "))
    return clean(left.split("}")[0] + "}"), clean(right.split("}")[0] + "}")
