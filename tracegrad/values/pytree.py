"""Pytrees: flattens nested containers to leaves and a hashable description, and back.

A container is a tuple, list, dict, OrderedDict, named tuple, dataclass instance, None (which has no
leaves), a type given to `register_node` or one that JAX knows as a container; everything else,
strings included, is a leaf. Fields of a dataclass that JAX takes for static are part of the
structure.

The description (`TreeSpec`) also gives Python source for the entry function of a compiled program:
the expression that reads a leaf (`path_text`), a name that suits it (`path_name`), and
the conditions that an object of this structure meets (`check_text`).
"""

from __future__ import annotations

import dataclasses
import functools
import math
import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracegrad.values.prng_keys import Key, is_key, joined_key, of_jax, split_key_array
from tracegrad.values.static_keys import as_key

__all__ = [
    "Attr",
    "Child",
    "Item",
    "Path",
    "TreeSpec",
    "check_text",
    "children",
    "fixed_values",
    "flatten",
    "has_text",
    "is_leaf",
    "is_of_key",
    "joiner",
    "leaf_paths",
    "map_tree",
    "one_level",
    "path_name",
    "path_text",
    "register_node",
    "stands_twice",
    "unflatten",
    "unflatten_as",
    "with_keys_of_jax",
]


@dataclass(frozen=True, slots=True)
class Item:
    """The step ``[key]``: an index of a sequence or a key of a dict.

    ``kind`` tells keys apart that are equal, as 1 and True are.
    """

    key: Hashable
    kind: Hashable = None


@dataclass(frozen=True, slots=True)
class Attr:
    """The step ``.name``: a field of a named tuple or dataclass."""

    name: str


@dataclass(frozen=True, slots=True)
class Child:
    """The step to a child of a registered type, which only its own ``flatten`` can read."""

    type: type
    index: int


Step = Item | Attr | Child
Path = tuple[Step, ...]


@dataclass(frozen=True, slots=True, repr=False)
class TreeSpec:
    """The structure of a tree without its leaves; equal for equal structures, hashable.

    ``type`` is the container's (None for a leaf), ``steps`` how each child is read from it, ``aux``
    what a registered type needs besides its children. ``order`` are the keys of a dict in its own
    order, in which `unflatten` makes it again; structures are equal without regard to it.

    ```python
    >>> leaves, spec = flatten({"w": 1.0, "b": [2.0, None]})
    >>> leaves, spec
    ([2.0, 1.0], TreeSpec({'b': [*, None], 'w': *}))
    >>> spec == flatten({"b": [0.0, None], "w": 0.0})[1]
    True

    ```
    """

    type: type | None = None
    steps: tuple[Step, ...] = ()
    children: tuple[TreeSpec, ...] = ()
    aux: Hashable = None
    order: tuple[Hashable, ...] | None = field(default=None, compare=False)

    @property
    def fixed(self) -> tuple[str, ...]:
        """The static fields of a dataclass."""
        return tuple(self.aux.values) if isinstance(self.aux, Fixed) else ()

    @property
    def orders(self) -> tuple[Hashable, ...]:
        """The orders of all dicts within, outermost first: what equality leaves out."""
        own = () if self.order is None else (self.order,)
        return (*own, *(order for child in self.children for order in child.orders))

    def __repr__(self) -> str:
        return f"TreeSpec({show(self)})"


LEAF = TreeSpec()


def flatten(tree: Any, whole: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of ``tree`` from left to right (dicts in the order of their sorted keys).

    Containers of which ``whole`` tells that are leaves.

    ```python
    >>> flatten((1, {"b": 2, "a": [3]}))
    ([1, 3, 2], TreeSpec((*, {'a': [*], 'b': *})))

    ```
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, whole)


def _flatten(tree: Any, leaves: list[Any], whole: Callable[[Any], bool] | None) -> TreeSpec:
    kind: Any = type(tree)
    node = _node(kind)
    if node is _ASKED:
        node = _told(tree)
    if node is None or (whole is not None and whole(tree)):
        leaves.append(tree)
        return LEAF
    steps, children, aux = node.split(tree)
    order = tuple(tree) if kind is dict else None
    kind = Key if node is _NODES[Key] else kind
    return TreeSpec(kind, steps, tuple([_flatten(c, leaves, whole) for c in children]), aux, order)


def unflatten(spec: TreeSpec, leaves: Iterable[Any]) -> Any:
    """Return the tree of structure ``spec`` with these leaves.

    Dataclasses are filled field by field: neither ``__init__`` nor ``__post_init__`` runs. Raises
    ValueError when the number of leaves is wrong.

    ```python
    >>> leaves, spec = flatten({"w": 1, "b": [2]})
    >>> unflatten(spec, [leaf * 10 for leaf in leaves])
    {'w': 10, 'b': [20]}

    ```
    """
    leaves = list(leaves)
    if len(leaves) != (wanted := len(leaf_paths(spec))):
        raise ValueError(f"unflatten: {spec} has {wanted} leaves, but {len(leaves)} were given")
    return _unflatten(spec, iter(leaves))


def joiner(spec: TreeSpec, places: Sequence[int]) -> Callable[[Iterable[Any], Iterable[Any]], Any]:
    """Return the function that makes trees of the leaves at these places and of the others.

    ```python
    >>> joiner(flatten((1, 2, 3))[1], (0, 2))(["a", "c"], ["b"])
    ('a', 'b', 'c')

    ```
    """
    count = len(leaf_paths(spec))

    def join(at_places: Iterable[Any], others: Iterable[Any]) -> Any:
        leaves, rest = dict(zip(places, at_places, strict=True)), iter(others)
        return unflatten(spec, [leaves[i] if i in leaves else next(rest) for i in range(count)])

    return join


def unflatten_as(tree: Any, spec: TreeSpec, leaves: Iterable[Any], known: dict[int, Any]) -> Any:
    """Return `unflatten(spec, leaves)`, where what is one container in ``tree`` is one again.

    ``known`` holds what stands for the containers met so far, by their id; it is added to.

    ```python
    >>> one = [1]
    >>> a, b = unflatten_as((one, one), flatten((one, one))[1], [2, 2], {})
    >>> a is b
    True

    ```
    """
    return _unflatten_as(tree, spec, iter(leaves), known)


def _unflatten_as(tree: Any, spec: TreeSpec, leaves: Iterator[Any], known: dict[int, Any]) -> Any:
    node = None if spec.type is None else _node(spec.type)
    if node is None:
        return next(leaves)
    pairs = zip(children(tree), spec.children, strict=True)
    made = node.join(spec, [_unflatten_as(*pair, leaves, known) for pair in pairs])
    return known.setdefault(id(tree), made)


def stands_twice(trees: Iterable[Any]) -> bool:
    """Whether one container that holds something stands at two places.

    ```python
    >>> one = [1]
    >>> stands_twice((one, {"a": one})), stands_twice((one, [1]))
    (True, False)

    ```
    """
    seen: set[int] = set()
    waiting = [*trees]
    while waiting:
        tree = waiting.pop()
        inner = [] if is_leaf(tree) else children(tree)
        if inner and id(tree) in seen:
            return True
        seen.add(id(tree))
        waiting += inner
    return False


def _unflatten(spec: TreeSpec, leaves: Iterator[Any]) -> Any:
    node = None if spec.type is None else _node(spec.type)
    if node is None:
        return next(leaves)
    return node.join(spec, [_unflatten(child, leaves) for child in spec.children])


def map_tree(f: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """Return ``tree`` with each leaf replaced by ``f(leaf, ...)``, ``...`` from trees like it.

    Raises ValueError when the trees differ in structure.

    ```python
    >>> map_tree(lambda p, g: p - g, {"w": 3, "b": 5}, {"w": 1, "b": 1})
    {'w': 2, 'b': 4}

    ```
    """
    leaves, spec = flatten(tree)
    columns = [leaves]
    for other in rest:
        others, other_spec = flatten(other)
        if other_spec != spec:
            raise ValueError(f"map_tree: the trees differ: {spec} and {other_spec}")
        columns.append(others)
    return unflatten(spec, [f(*row) for row in zip(*columns)])


def one_level(tree: Any) -> TreeSpec:
    """Return the structure of a container, whatever stands in it.

    ```python
    >>> one_level({"a": [1, 2]})
    TreeSpec({'a': *})

    ```
    """
    node = _node_of(tree)
    if node is None:
        return LEAF
    steps, _, aux = node.split(tree)
    order = tuple(tree) if type(tree) is dict else None
    kind = Key if node is _NODES[Key] else type(tree)
    return TreeSpec(kind, steps, (LEAF,) * len(steps), aux, order)


def children(tree: Any) -> list[Any]:
    """Return what stands directly in a container (dicts in the order of their sorted keys).

    ```python
    >>> children({"b": [2], "a": 1}), children(1)
    ([1, [2]], [])

    ```
    """
    node = _node_of(tree)
    return [] if node is None else list(node.split(tree)[1])


def is_leaf(value: Any) -> bool:
    """Say whether ``value`` is a leaf, that is, not a container.

    ```python
    >>> is_leaf("text"), is_leaf([]), is_leaf(None)
    (True, False, False)

    ```
    """
    return _node_of(value) is None


# ------------------------------------------------------------------------------------ node types

_Split = tuple[tuple[Step, ...], Iterable[Any], Hashable]


@dataclass(frozen=True, slots=True)
class _Node:
    """How one type is taken apart (steps, children, aux) and put together again."""

    split: Callable[[Any], _Split]
    join: Callable[[TreeSpec, list[Any]], Any]
    flatten: Callable[[Any], tuple[Sequence[Any], Hashable]] | None = None  # of registered types


@functools.lru_cache(maxsize=256)
def _indices(length: int) -> tuple[Step, ...]:
    return tuple(Item(index) for index in range(length))


def _sorted(keys: Iterable[Any]) -> list[Any] | None:
    try:
        return sorted(keys)
    except TypeError:
        return None


def _split_sequence(tree: Sequence[Any]) -> _Split:
    return _indices(len(tree)), tree, None


def _split_dict(tree: dict[Any, Any]) -> _Split:
    keys = _sorted(tree) if type(tree) is dict else None  # the order of an OrderedDict is its own
    keys = list(tree) if keys is None else keys
    steps = [Item(key) if type(key) is str else Item(key, _kind(key)) for key in keys]
    return tuple(steps), [tree[key] for key in keys], None


def _kind(key: Any) -> Hashable:
    """Return what a key is besides what it is equal to; None for one that equals its like alone."""
    if type(key) is tuple:
        kinds = tuple(map(_kind, key))
        return None if all(kind is None for kind in kinds) else kinds
    return (type(key), repr(key)) if isinstance(key, int | float | complex) else None


def _kinds(keys: Iterable[Any]) -> frozenset[Any]:
    return frozenset(map(_kind, keys))


def _join_dict(spec: TreeSpec, children: list[Any]) -> Any:
    keys = [step.key for step in spec.steps if isinstance(step, Item)]
    made = (spec.type or dict)(zip(keys, children))
    return made if spec.order is None else {key: made[key] for key in spec.order}


_NODES: dict[type, _Node] = {
    type(None): _Node(lambda tree: ((), (), None), lambda spec, children: None),
    tuple: _Node(_split_sequence, lambda spec, c: tuple(c)),
    list: _Node(_split_sequence, lambda spec, c: c),
    dict: _Node(_split_dict, _join_dict),
    OrderedDict: _Node(_split_dict, _join_dict),
}


@functools.lru_cache(maxsize=4096)
def _node(type: Any) -> _Node | None:
    """Return how ``type`` is taken apart, None for the type of a leaf."""
    if type in _NODES:
        return _NODES[type]
    if issubclass(type, tuple) and hasattr(type, "_fields"):  # a named tuple
        return _fields_node(type._fields, (), lambda spec, children: type._make(children))
    if dataclasses.is_dataclass(type):
        return _ASKED
    of_library = type.__module__.partition(".")[0] in ("numpy", "jaxlib", "tracegrad", "builtins")
    return _ASKED if type.__flags__ & _HEAP_TYPE and not of_library else None


_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement


def _node_of(tree: Any) -> _Node | None:
    """Return how an object is taken apart, None for a leaf."""
    kind: Any = type(tree)
    node = _node(kind)
    return _told(tree) if node is _ASKED else node


_TOLD: dict[type, _Node | None] = {}
"""How types of users are taken apart, from when JAX could be asked."""


def _told(tree: Any) -> _Node | None:
    """Return how an object of a user's class is taken apart: as JAX does it, where that knows."""
    kind = type(tree)
    if kind in _TOLD:
        return _TOLD[kind]
    if is_key(tree):  # tracers of keys and of numbers have one class
        return _NODES[Key]
    asked = "jax" in sys.modules
    node = _of_jax(tree) if asked else None
    if node is None and dataclasses.is_dataclass(kind):
        node = _fields_node([field.name for field in dataclasses.fields(kind)], (), _join_dataclass)
    if asked:
        if len(_TOLD) >= 4096:
            _TOLD.clear()
        if not kind.__module__.startswith("jax."):  # else it may be the class of tracers
            _TOLD[kind] = node
    return node


def is_leaf_of_jax(tree: Any) -> bool:
    """Whether JAX, which is there, takes an object for a leaf: a dataclass, a class under dict."""
    return tree is not None and type(tree) not in (dict, list, tuple) and _of_jax(tree) is None


def _of_jax(tree: Any) -> _Node | None:
    from tracegrad.values.jax_library import fields_of_jax, split_by_jax

    kind: Any = type(tree)
    fields = fields_of_jax(tree)
    if fields is None:
        return None
    if dataclasses.is_dataclass(kind) and fields.issubset(f.name for f in dataclasses.fields(kind)):
        names = [field.name for field in dataclasses.fields(kind)]
        static = [name for name in names if name not in fields]
        return _fields_node([n for n in names if n in fields], static, _join_dataclass)

    def split(tree: Any) -> _Split:
        children, aux = split_by_jax(tree)
        return tuple(Child(kind, index) for index in range(len(children))), children, aux

    return _Node(split, _join_asked, split_by_jax)


def _join_asked(spec: TreeSpec, children: list[Any]) -> Any:
    if dataclasses.is_dataclass(spec.type) and isinstance(spec.aux, Fixed | None):
        return _join_dataclass(spec, children)
    return spec.aux.unflatten(children)  # type: ignore[union-attr]


_ASKED = _Node(lambda tree: ((), (), None), _join_asked)
"""What is known of a class of a user's before an object of it is seen."""


class Fixed:
    """Values of an object's static fields; equal where they are the same part of a program.

    ```python
    >>> Fixed(slice(1, 2), ("start", "stop")) == Fixed(slice(1, 3), ("start", "stop"))
    False

    ```
    """

    __slots__ = ("key", "values")

    def __init__(self, tree: Any, names: Iterable[str]) -> None:
        self.values = {name: getattr(tree, name) for name in names if hasattr(tree, name)}
        parts = self.values.items()
        self.key = tuple([(name, type(value), as_key(value)) for name, value in parts])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fixed) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _fields_node(
    names: Iterable[str], static: Iterable[str], join: Callable[[TreeSpec, list[Any]], Any]
) -> _Node:
    steps, static = tuple(Attr(name) for name in names), tuple(static)

    def split(tree: Any) -> _Split:
        aux = Fixed(tree, static) if static else None
        return steps, [getattr(tree, step.name) for step in steps], aux

    return _Node(split, join)


def _join_dataclass(spec: TreeSpec, children: list[Any]) -> Any:
    tree: Any = object.__new__(spec.type or object)
    fixed = spec.aux.values if isinstance(spec.aux, Fixed) else {}
    for step, child in zip(spec.steps, children):
        if isinstance(step, Attr):
            object.__setattr__(tree, step.name, child)  # a frozen dataclass refuses setattr
    for name, value in fixed.items():
        object.__setattr__(tree, name, value)
    return tree


def register_node(
    type: type,
    flatten: Callable[[Any], tuple[Sequence[Any], Hashable]],
    unflatten: Callable[[Hashable, list[Any]], Any],
) -> None:
    """Make ``type`` (itself, not its subclasses) a container.

    ``flatten(tree)`` returns ``(children, aux)``, where aux is hashable and says what else the
    structure depends on; ``unflatten(aux, children)`` makes the tree again.

    ```python
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> register_node(Pair, lambda pair: ((pair.a, pair.b), None), lambda aux, c: Pair(*c))
    >>> map_tree(lambda leaf: -leaf, Pair(1, 2)).b
    -2

    ```
    """

    def split(tree: Any) -> _Split:
        children, aux = flatten(tree)
        return tuple(Child(type, index) for index in range(len(children))), children, aux

    _NODES[type] = _Node(split, lambda spec, children: unflatten(spec.aux, children), flatten)
    _node.cache_clear()


register_node(Key, split_key_array, lambda aux, children: joined_key(aux, *children))


def is_of_key(path: Path) -> bool:
    """Say whether a leaf is the numbers of a key of JAX's."""
    return bool(path) and isinstance(path[-1], Child) and path[-1].type is Key


def with_keys_of_jax(tree: Any) -> Any:
    """Return the tree with JAX's own keys, for a function that nobody traces."""
    leaves, spec = flatten(tree)
    pairs = zip(leaf_paths(spec), leaves)
    return unflatten(spec, [of_jax(leaf) if is_of_key(path) else leaf for path, leaf in pairs])


# -------------------------------------------------------------------------------- Python source


def leaf_paths(spec: TreeSpec) -> tuple[Path, ...]:
    """Return the steps from the root to each leaf, in the order of `flatten`.

    ```python
    >>> [path_text("params", path) for path in leaf_paths(flatten({"w": [1, 2], "b": 3})[1])]
    ["params['b']", "params['w'][0]", "params['w'][1]"]

    ```
    """
    if spec.type is None:
        return ((),)
    below = zip(spec.steps, map(leaf_paths, spec.children))
    return tuple((step, *path) for step, paths in below for path in paths)


def fixed_values(spec: TreeSpec, root_name: str) -> Iterator[tuple[str, Any]]:
    """Return the values of static fields within a structure, each with the expression for it."""
    if isinstance(spec.aux, Fixed):
        yield from ((f"{root_name}.{name}", value) for name, value in spec.aux.values.items())
    for step, child in zip(spec.steps, spec.children):
        if child.type is not None:
            yield from fixed_values(child, _read(root_name, step, {}))


def path_name(root_name: str, path: Path) -> str:
    """Return an identifier for the leaf at ``path``; different paths may share one.

    ```python
    >>> path_name("layers", (Item(0), Attr("b"))), path_name("p", (Item("my-key"),))
    ('layers_0_b', 'p_my_key')

    ```
    """
    parts = [root_name]
    for step in path:
        match step:
            case Child(type=kind) if kind is Key:
                pass
            case Attr(name=part) | Item(key=part) | Child(index=part):
                parts.append(str(part))
    return _identifier("_".join(parts))


def path_text(root_name: str, path: Path, names: dict[str, Any] | None = None) -> str:
    """Return the Python expression that reads the leaf at ``path`` from ``root_name``.

    What has no literal (a key that is an enum member, say) is written as a name, which is added to
    ``names`` with its object.

    ```python
    >>> path_text("layers", (Item(0), Attr("b"))), path_text("params", (Item("w"),))
    ('layers[0].b', "params['w']")

    ```
    """
    text = root_name
    for step in path:
        if names is None and isinstance(step, Child) and step.type is Key:
            continue  # it is a leaf to its user
        text = _read(text, step, {} if names is None else names)
    return text


def has_text(path: Path) -> bool:
    """Say whether `path_text` needs nothing but literals for ``path``.

    ```python
    >>> has_text((Item("w"), Attr("b"))), has_text((Item(dict),))
    (True, False)

    ```
    """
    return not any(
        isinstance(step, Child) or (isinstance(step, Item) and not _is_literal(step.key))
        for step in path
    )


def check_text(
    spec: TreeSpec,
    expr: str,
    names: dict[str, Any] | None = None,
    *,
    leaves: bool = True,
    ordered: bool = False,
) -> tuple[list[str], dict[str, Any]]:
    """Return conditions, all true exactly when ``expr`` has this structure, and their names.

    Conditions are Python expressions, to be joined by ``and`` in this order. The names, with their
    objects, are what they refer to besides builtins; they are added to ``names`` where that is
    given. ``expr`` is a name or binds as tightly. ``leaves=False`` leaves out that a leaf is no
    container, for callers who test the types of leaves themselves; ``ordered=True`` asks for the
    order of dicts as well.

    ```python
    >>> spec = flatten({"w": 1.0, "b": ()})[1]
    >>> check_text(spec, "p", leaves=False)  # doctest: +NORMALIZE_WHITESPACE
    (['type(p) is dict', 'len(p) == 2', "'b' in p", "'w' in p", "type(p['b']) is tuple",
      "len(p['b']) == 0"], {})

    ```
    """
    names = {} if names is None else names
    if spec.type is None:
        return ([f"{_refer('is_leaf', is_leaf, names)}({expr})"] if leaves else []), names
    if spec.type is type(None):
        return [f"{expr} is None"], names
    name = spec.type.__name__
    if spec.type not in (tuple, list, dict):
        name = _refer(f"type_{name}", spec.type, names)
    conditions = [f"type({expr}) is {name}"] if spec.type is not Key else []  # JAX has a class too
    conditions += _check_steps(spec, expr, names, ordered)
    for step, child in zip(spec.steps, spec.children):
        at = _read(expr, step, names)
        conditions += check_text(child, at, names, leaves=leaves, ordered=ordered)[0]
    return conditions, names


def _check_steps(spec: TreeSpec, expr: str, names: dict[str, Any], ordered: bool) -> list[str]:
    """Return what an object of the right type must meet for its children to be the spec's."""
    length = len(spec.steps)
    if spec.type in (tuple, list):
        return [f"len({expr}) == {length}"]
    if spec.type in (dict, OrderedDict):
        return _check_keys(spec, expr, names, ordered)
    kind: Any = spec.type
    flatten = _flatten_of(kind)
    if flatten is not None:
        flat = f"{_refer(f'flatten_{kind.__name__}', flatten, names)}({expr})"
        return [f"len({flat}[0]) == {length}", f"{flat}[1] == {_key(spec.aux, names)}"]
    conditions = []
    if dataclasses.is_dataclass(kind) and getattr(kind, "__dictoffset__", False):
        # what is besides is no part of the tree
        conditions.append(f"len({expr}.__dict__) == {length + len(spec.fixed)}")
    if spec.fixed:
        made = f"{_refer('Fixed', Fixed, names)}({expr}, {spec.fixed})"
        conditions.append(f"{made} == {_key(spec.aux, names)}")
    return conditions


def _flatten_of(type: Any) -> Callable[[Any], tuple[Sequence[Any], Hashable]] | None:
    """Return what takes apart an object of a type whose children have no source."""
    node = _node(type)
    node = _TOLD.get(type) if node is _ASKED else node
    return None if node is None else node.flatten


def _check_keys(spec: TreeSpec, expr: str, names: dict[str, Any], ordered: bool) -> list[str]:
    """Return what a dict must meet to have the spec's keys."""
    length, kinds = len(spec.steps), {step.kind for step in spec.steps if isinstance(step, Item)}
    keys = [step.key for step in spec.steps if isinstance(step, Item)]
    texts = [_key(key, names) for key in keys]
    conditions = []
    if kinds - {None}:
        known = _refer("known_kinds", frozenset(kinds), names)
        conditions = [f"{_refer('kinds', _kinds, names)}({expr}) == {known}"]
    if spec.type is OrderedDict or _sorted(keys) is None:  # the order is part of the structure
        return [*conditions, f"list({expr}) == [{', '.join(texts)}]"]
    if ordered and length > 1 and spec.order is not None:
        order = ", ".join(_key(key, names) for key in spec.order)
        return [*conditions, f"(*{expr},) == ({order})"]
    return [*conditions, f"len({expr}) == {length}", *(f"{text} in {expr}" for text in texts)]


def _read(expr: str, step: Step, names: dict[str, Any]) -> str:
    match step:
        case Attr(name):
            return f"{expr}.{name}"
        case Item(key):
            return f"{expr}[{_key(key, names)}]"
        case Child(type, index):
            flat = _refer(f"flatten_{type.__name__}", _flatten_of(type), names)
            return f"{flat}({expr})[0][{index}]"


def _key(key: Hashable, names: dict[str, Any]) -> str:
    return repr(key) if _is_literal(key) else _refer("key", key, names)


def _is_literal(key: Hashable) -> bool:
    """Say whether ``repr(key)`` is Python source for an object equal to ``key``."""
    if type(key) is tuple:
        return all(_is_literal(part) for part in key)
    if type(key) is float:
        return math.isfinite(key)
    return type(key) in (str, int, bytes, bool, type(None))


def _refer(stem: str, value: Any, names: dict[str, Any]) -> str:
    """Return the name of ``value`` in ``names``, where it is added if it is new."""
    for name, known in names.items():
        if known is value:
            return name
    stem = name = _identifier(stem)
    while name in names:
        name = f"{stem}_{len(names)}"
    names[name] = value
    return name


def _identifier(text: str) -> str:
    return "".join(c if f"_{c}".isidentifier() else "_" for c in text)


def show(spec: TreeSpec, leaf: str = "*") -> str:
    """The structure as Python writes it, with a word for each leaf."""
    if spec.type is None or spec.type is type(None):
        return "None" if spec.type else leaf
    texts = []
    for step, child in zip(spec.steps, spec.children):
        label = f"{step.name}=" if isinstance(step, Attr) else ""
        if isinstance(step, Item) and issubclass(spec.type, dict):
            label = f"{step.key!r}: "
        texts.append(label + show(child, leaf))
    if spec.type is tuple and len(texts) == 1:
        texts.append("")
    brackets = {"list": ("[", "]"), "tuple": ("(", ")"), "dict": ("{", "}")}
    name = spec.type.__name__
    opening, closing = brackets.get(name, (f"{name}(", ")"))
    return opening + ", ".join(texts).rstrip(" ") + closing
