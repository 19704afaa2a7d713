"""Trees are taken apart and put together again; the text about them is run against them."""

import copy
import enum
import pickle
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from typing import Any

import pytest

from tracegrad.values import pytree
from tracegrad.values.pytree import (
    Attr,
    Child,
    Item,
    check_text,
    flatten,
    leaf_paths,
    map_tree,
    path_name,
    path_text,
    register_node,
    unflatten,
)

Point = namedtuple("Point", "x y")


@dataclass
class Layer:
    w: Any
    b: Any = None
    size: Any = field(init=False, default=0)

    def __post_init__(self):
        self.size = 100


@dataclass(frozen=True, slots=True)
class Frozen:
    a: Any


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Stack:
    """A registered type with children that are not attributes."""

    def __init__(self, parts, kind):
        self.parts, self.kind = tuple(parts), kind

    def __eq__(self, other):
        return type(other) is Stack and (self.parts, self.kind) == (other.parts, other.kind)

    __hash__ = None


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(pytree, "_NODES", dict(pytree._NODES))
    register_node(Stack, lambda s: (s.parts, s.kind), lambda kind, parts: Stack(parts, kind))
    yield
    pytree._node.cache_clear()


# Each tree: leaves, what the spec prints, how each leaf is read from `t`.
TREES = [
    (1, [1], "*", ["t"]),
    ("text", ["text"], "*", ["t"]),
    (None, [], "None", []),
    ((), [], "()", []),
    ((1,), [1], "(*,)", ["t[0]"]),
    ([1, [2, None], ()], [1, 2], "[*, [*, None], ()]", ["t[0]", "t[1][0]"]),
    ({"w": 1, "b": (2,)}, [2, 1], "{'b': (*,), 'w': *}", ["t['b'][0]", "t['w']"]),
    ({2: "b", -1: "a"}, ["a", "b"], "{-1: *, 2: *}", ["t[-1]", "t[2]"]),
    ({("q", 0.5): 1, "p": 2}, [1, 2], "{('q', 0.5): *, 'p': *}", ["t[('q', 0.5)]", "t['p']"]),
    (OrderedDict(b=1, a=2), [1, 2], "OrderedDict('b': *, 'a': *)", ["t['b']", "t['a']"]),
    (Point(1, [2]), [1, 2], "Point(x=*, y=[*])", ["t.x", "t.y[0]"]),
    (Layer(1), [1, 100], "Layer(w=*, b=None, size=*)", ["t.w", "t.size"]),
    (Frozen({"k": 1}), [1], "Frozen(a={'k': *})", ["t.a['k']"]),
    (
        {Colour.RED: 1, Colour.BLUE: Stack([2], "s")},
        [1, 2],
        "{<Colour.RED: 1>: *, <Colour.BLUE: 2>: Stack(*)}",
        ["t[key]", "flatten_Stack(t[key_1])[0][0]"],
    ),
    (Stack([1, (2,)], "s"), [1, 2], "Stack(*, (*,))", None),
    (defaultdict(list), [defaultdict(list)], "*", ["t"]),
    (Layer, [Layer], "*", ["t"]),
]  # fmt: skip
each_tree = pytest.mark.parametrize(
    "tree, leaves, shown, texts", TREES, ids=[str(t[2]) for t in TREES]
)


@each_tree
def test_round_trip(tree, leaves, shown, texts):
    found, spec = flatten(tree)
    assert found == leaves
    assert repr(spec) == f"TreeSpec({shown})"
    again = unflatten(spec, found)
    assert type(again) is type(tree) and again == tree
    assert flatten(again)[1] == spec and hash(flatten(again)[1]) == hash(spec)
    assert pickle.loads(pickle.dumps(spec)) == spec


@each_tree
def test_texts_read_the_leaves(tree, leaves, shown, texts):
    _, spec = flatten(tree)
    names: dict[str, Any] = {}
    found = [path_text("t", path, names) for path in leaf_paths(spec)]
    assert texts is None or found == texts
    assert [eval(text, {"t": tree, **names}) for text in found] == leaves
    for path in leaf_paths(spec):
        assert path_name("t", path).isidentifier()


def holds(spec, tree):
    conditions, names = check_text(spec, "t")
    return all(eval(condition, {"t": tree, **names}) for condition in conditions)


@each_tree
def test_checks_are_equality_of_structure(tree, leaves, shown, texts):
    _, spec = flatten(tree)
    for other, *_ in TREES:
        assert holds(spec, other) == (flatten(other)[1] == spec)


@pytest.mark.parametrize(
    "one, other",
    [
        ((1, 2), (1, (2,))),
        ((1, 2), (1,)),
        ([1], (1,)),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": [1]}),
        ({"a": 1}, OrderedDict(a=1)),
        ({"a": 1}, {"a": None}),
        (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)),
        ({"a": 1, 2: 2}, {2: 2, "a": 1}),  # cannot be sorted: the order counts
        (Point(1, 2), (1, 2)),
        (Stack([1], "s"), Stack([1], "t")),
        (Stack([1], "s"), Stack([1, 2], "s")),
        (Layer(1), Layer(1, 2)),
    ],
)
def test_other_structures_differ(one, other):
    assert flatten(one)[1] != flatten(other)[1]
    assert not holds(flatten(one)[1], other) and not holds(flatten(other)[1], one)


def test_order_of_keys_does_not_matter_but_is_kept():
    one, other = {"a": 1, "b": 2}, {"b": 2, "a": 1}
    assert flatten(one) == flatten(other)
    assert holds(flatten(one)[1], other)
    assert list(unflatten(flatten(other)[1], [1, 2])) == ["b", "a"]
    assert flatten(one)[1].orders != flatten(other)[1].orders
    conditions, names = check_text(flatten(other)[1], "tree", ordered=True)
    assert [all(eval(c, {**names, "tree": t}) for c in conditions) for t in (one, other)] == [
        False,
        True,
    ]


def test_check_text_of_params():
    tree = {"w": 1, "layers": [Layer(2, 3), None]}
    conditions, names = check_text(flatten(tree)[1], "params", leaves=False)
    assert conditions == [
        "type(params) is dict",
        "len(params) == 2",
        "'layers' in params",
        "'w' in params",
        "type(params['layers']) is list",
        "len(params['layers']) == 2",
        "type(params['layers'][0]) is type_Layer",
        "len(params['layers'][0].__dict__) == 3",
        "params['layers'][1] is None",
    ]
    assert names == {"type_Layer": Layer}


def test_names_are_shared_and_kept_apart():
    def local():
        @dataclass
        class Layer:
            w: Any

        return Layer

    names: dict[str, Any] = {}
    for index, tree in enumerate((Layer(1), local()(1), Layer(2))):
        check_text(flatten(tree)[1], f"t{index}", names, leaves=False)
    assert list(names) == ["type_Layer", "type_Layer_1"]


@pytest.mark.parametrize(
    "path, name, text",
    [
        ((), "params", "params"),
        ((Item("w"),), "params_w", "params['w']"),
        ((Item(0), Attr("b")), "params_0_b", "params[0].b"),
        ((Item("it's"),), "params_it_s", 'params["it\'s"]'),
        ((Item("größe"),), "params_größe", "params['größe']"),
        ((Item(-1), Item((1, "a"))), "params__1__1___a__", "params[-1][(1, 'a')]"),
        ((Item(None), Item(b"k"), Item(0.5)), "params_None_b_k__0_5", "params[None][b'k'][0.5]"),
        ((Child(Stack, 1),), "params_1", "flatten_Stack(params)[0][1]"),
    ],
)
def test_names_and_texts_of_paths(path, name, text):
    assert path_name("params", path) == name
    assert path_text("params", path) == text


def test_map_tree():
    tree = {"w": (1, None), "p": Point(2, 3)}
    before = copy.deepcopy(tree)
    assert map_tree(lambda leaf: leaf * 10, tree) == {"w": (10, None), "p": Point(20, 30)}
    assert map_tree(lambda a, b: a - b, tree, tree) == {"w": (0, None), "p": Point(0, 0)}
    assert tree == before
    with pytest.raises(ValueError, match="the trees differ"):
        map_tree(max, [1, 2], (1, 2))


def test_lists_are_new():
    tree = [1, [2]]
    again = unflatten(flatten(tree)[1], [1, 2])
    assert again == tree and again is not tree and again[1] is not tree[1]


def test_unflatten_counts_the_leaves():
    _, spec = flatten([1, 2])
    for leaves in ([1], [1, 2, 3]):
        with pytest.raises(ValueError, match=f"has 2 leaves, but {len(leaves)} were given"):
            unflatten(spec, leaves)


def test_register_node_again_takes_effect():
    assert flatten(Stack([1, 2], "s"))[0] == [1, 2]
    register_node(Stack, lambda s: (s.parts[:1], None), lambda aux, parts: Stack(parts, "one"))
    assert flatten(Stack([1, 2], "s"))[0] == [1]
    assert map_tree(lambda leaf: leaf + 1, Stack([1, 2], "s")) == Stack([2], "one")
