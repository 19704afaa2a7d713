"""The signature of a call: what a compiled version is keyed on.

Array leaves (arrays, NumPy scalars, Python floats and complex numbers) are traced: only their kind,
dtype and rank are part of the key. Everything else (ints, strings, flags, hashable objects,
subclasses of Python's numbers) is static: its value is part of the key. Of a constant that the
function never reads only the type is.

Arrays are plain ndarrays in any layout (Fortran order, strides, unaligned, read-only), of numbers
in native byte order. Subclasses of ndarray are refused, whatever they add (a mask, units, a file):
a program computes with what every subclass would, and would lose it without a word.
"""

from __future__ import annotations

import inspect
import keyword
from array import array
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from dataclasses import dataclass, is_dataclass, replace
from functools import cached_property, partial
from types import FunctionType, MethodType, SimpleNamespace
from typing import Any

import numpy as np

from tracegrad.errors import ArgumentError
from tracegrad.tensors.coercion import refuse_subclass
from tracegrad.tensors.devices import DeviceArray
from tracegrad.tensors.tensor import Tensor
from tracegrad.values.dataclass_attributes import besides_fields, with_more_than_fields
from tracegrad.values.dispatch import is_numeric
from tracegrad.values.pytree import (
    Item,
    Path,
    TreeSpec,
    children,
    flatten,
    has_text,
    leaf_paths,
    path_name,
    path_text,
)
from tracegrad.values.static_keys import Same, as_key, is_plain, parts_of


@dataclass(frozen=True, slots=True)
class Leaf:
    """One leaf of the arguments: where it stands, what it is, its part of the key."""

    parameter: int
    path: Path
    value: Any
    kind: tuple[Hashable, ...]
    rows: Any = None  # the list or tuple whose arrays are the rows of the value

    @property
    def traced(self) -> bool:
        return self.kind[0] not in ("static", "unread", "object")


@dataclass(frozen=True)
class Arguments:
    """The arguments of one call, bound to the parameters and flattened."""

    parameters: tuple[str, ...]  # identifiers that programs can use, no two the same
    keywords: tuple[str | None, ...]  # the name of each that is passed by name
    values: tuple[Any, ...]
    specs: tuple[TreeSpec, ...]
    leaves: tuple[Leaf, ...]
    require_grad: tuple[bool, ...] | None = None  # which traced ones do, of a call that is recorded
    tensors: tuple[bool | None, ...] | None = None
    """Of a call on Tensors, of which some may stand outside: which of the traced ones are Tensors,
    and of these which require grad."""
    given: tuple[Any, ...] = ()  # of a call on Tensors: the values, as the caller gave them
    axes: tuple[int | None, ...] = ()  # of a `vmap`: where each leaf has its examples

    @property
    def key(self) -> Hashable:
        orders = tuple(spec.orders for spec in self.specs)
        kinds = tuple(leaf.kind for leaf in self.leaves)
        rows = tuple(type(leaf.rows) for leaf in self.leaves) if self.stacked else ()
        histories = self.require_grad, self.tensors
        return (self.parameters, self.specs, orders, kinds, histories, self.axes, rows)

    @property
    def places_of_tensors(self) -> tuple[int, ...]:
        """Which of the leaves are Tensors."""
        traced = [i for i, leaf in enumerate(self.leaves) if leaf.traced]
        pairs = zip(traced, self.tensors or (), strict=True)
        return tuple([i for i, requires in pairs if requires is not None])

    @property
    def stacked(self) -> tuple[tuple[int, Path], ...]:
        """Where lists stand that are one array each (`stacked_lists.py`)."""
        return tuple([(x.parameter, x.path) for x in self.leaves if x.rows is not None])

    @property
    def objects(self) -> tuple[Any, ...]:
        """The objects of which the key holds the class alone."""
        return tuple([leaf.value for leaf in self.leaves if leaf.kind[0] == "object"])

    @property
    def containers(self) -> list[Any]:
        """The containers that are taken apart, inner ones as well."""
        pairs = zip(self.values, self.specs, strict=True)
        return [x for value, spec in pairs for x in _taken_apart(value, spec)]

    @property
    def beside_fields(self) -> str:
        """Which argument has attributes that are no fields, and is no object known by its class."""
        for name, value, spec in zip(self.parameters, self.values, self.specs, strict=True):
            if (found := with_more_than_fields(value, spec)) is not None:
                names = ", ".join(besides_fields(found))
                where = name if found is value else f"what {name} holds"
                kind = type(found).__name__
                return f"{where} is a {kind} with attributes that are no fields ({names})"
        return ""

    @property
    def has_unread(self) -> bool:
        """Whether the key does not hold the value of every constant."""
        return any([leaf.kind[0] == "unread" for leaf in self.leaves])

    @cached_property
    def has_text(self) -> bool:
        """Whether every leaf can be read by plain text: ``params["w"]``, not ``params[<enum>]``."""
        return all(has_text(leaf.path) for leaf in self.leaves if leaf.traced)

    def without_arrays(self) -> Arguments:
        """What a version remembers of its first call: the arrays are the caller's."""
        leaves = tuple(
            leaf if leaf.kind[0] == "static" else replace(leaf, value=None, rows=_empty(leaf.rows))
            for leaf in self.leaves
        )
        return replace(self, values=(), leaves=leaves)

    def looked_at(self, given: int) -> frozenset[int]:
        """The parameters that may hold something else by the next call that gives so many.

        Those that are given, and those whose defaults are arrays or containers that can change.
        """
        arrays = {leaf.parameter for leaf in self.leaves if leaf.kind[0] == "array"}
        changing = {i for i, spec in enumerate(self.specs) if _can_change(spec)}
        return frozenset(range(given)) | arrays | changing

    def numbers_of(self, leaves: Iterable[Leaf]) -> list[int]:
        """Where leaves of these arguments stand among those that are traced."""
        places = {id(leaf): i for i, leaf in enumerate(x for x in self.leaves if x.traced)}
        return [places[id(leaf)] for leaf in leaves]

    def named(self) -> Iterator[tuple[str, Any]]:
        """The arguments, each with the name of its parameter; as they were given, too."""
        yield from zip(self.parameters, self.values, strict=True)
        yield from zip(self.parameters, self.given, strict=False)

    def text_of(self, leaf: Leaf) -> str:
        """The leaf as the user would write it: ``params["w"]``."""
        return path_text(self.parameters[leaf.parameter], leaf.path)

    def name_of(self, leaf: Leaf) -> str:
        """An identifier for the leaf: ``w`` of ``params["w"]``, ``params_w`` if that is taken."""
        return self._names[id(leaf)]

    @cached_property
    def _names(self) -> dict[int, str]:
        whole = [path_name(self.parameters[leaf.parameter], leaf.path) for leaf in self.leaves]
        short = [_last(leaf.path) or name for leaf, name in zip(self.leaves, whole, strict=True)]
        taken = [*short, *self.parameters]
        return {
            id(leaf): s if not leaf.path or taken.count(s) == 1 else w
            for leaf, s, w in zip(self.leaves, short, whole, strict=True)
        }


def _taken_apart(value: Any, spec: TreeSpec) -> Iterator[Any]:
    """A container and those in it, down to what are leaves of its structure."""
    if not spec.children:
        return
    yield value
    for inner, child in zip(children(value), spec.children, strict=True):
        yield from _taken_apart(inner, child)


def _can_change(spec: TreeSpec) -> bool:
    """Whether something else can stand in a tree of this structure later."""
    own = spec.type is not None and not issubclass(spec.type, tuple | type(None))
    return own or any(map(_can_change, spec.children))


def _empty(rows: Any) -> Any:
    """A list or tuple without what it holds."""
    return None if rows is None else type(rows)()


def _last(path: Path) -> str | None:
    """The last step of a path when it is a name of its own."""
    step = path[-1] if path else None
    name = getattr(step, "name", None) or getattr(step, "key", None)
    if not isinstance(name, str) or not name.isidentifier():
        return None
    return None if name in TAKEN or keyword.iskeyword(name) else name


def signature_of(function: Any) -> inspect.Signature:
    """The parameters of a call whose defaults are passed on.

    They are those of the code that is called, as Python binds them: what ``functools.wraps`` says
    of a function is what its documentation shows. NumPy's functions are not given what they take
    for "not given".
    """
    called = _called(function)
    if isinstance(called, np.ufunc):
        only = inspect.Parameter.POSITIONAL_ONLY
        return inspect.Signature([inspect.Parameter(f"x{i}", only) for i in range(called.nin)])
    try:
        signature = inspect.signature(called, follow_wrapped=False)
    except ValueError:  # a builtin whose parameters nobody knows: min, math.hypot
        several = inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)
        return inspect.Signature([several])
    given = [p for p in signature.parameters.values() if p.default is not np._NoValue]
    return signature.replace(parameters=given)


def _called(function: Any) -> Any:
    """What binds the arguments of a call, with no attribute that says otherwise of a function."""
    if isinstance(function, partial):
        return partial(_called(function.func), *function.args, **function.keywords)
    if hasattr(function, "__func__") and hasattr(function, "__self__"):  # a method, compiled too
        return MethodType(_called(function.__func__), function.__self__)
    inner = getattr(function, "__wrapped__", None)
    if inner is not None and _passes_on(function):
        return _called(inner)
    if type(function) is not FunctionType or "__signature__" not in function.__dict__:
        return function
    code, names = function.__code__, function.__globals__
    made = FunctionType(code, names, argdefs=function.__defaults__, closure=function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _passes_on(wrapper: Any) -> bool:
    """Whether what it wraps gets all that a wrapper is given: one in C, or of this library."""
    called = wrapper
    if type(wrapper) is not FunctionType:
        if hasattr(wrapper, "__signature__"):
            return False
        called = inspect.getattr_static(type(wrapper), "__call__", None)
    if type(called) is not FunctionType:
        return True
    return str(called.__globals__.get("__name__")).partition(".")[0] == "tracegrad"


def shown_signature(function: Any) -> inspect.Signature | None:
    """The parameters of what a function wraps, which names what its ``*args`` takes."""
    kinds = [p.kind for p in signature_of(function).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL not in kinds or not hasattr(function, "__wrapped__"):
        return None
    try:
        return inspect.signature(function)
    except ValueError:
        return None


def are_one(a: inspect.Signature, b: inspect.Signature) -> bool:
    """Whether parameters are the same, with the very same defaults: arrays have no one ``==``."""
    if len(a.parameters) != len(b.parameters):
        return False
    pairs = zip(a.parameters.values(), b.parameters.values(), strict=True)
    return all((p.name, p.kind) == (q.name, q.kind) and p.default is q.default for p, q in pairs)


def names_of(function: Any) -> list[str]:
    """What the parameters of a function are called."""
    return list((shown_signature(function) or signature_of(function)).parameters)


def with_tangents(signature: inspect.Signature, count: int) -> inspect.Signature:
    """The first parameters, then those of their tangents: ``(x, w)`` is ``(x, w, x_dot, w_dot)``.

    What ``*args`` takes have names of their own.
    """
    names = _first_names(signature, count)
    dots = [f"{name}_dot" for name in names]
    while not set(dots).isdisjoint(names):
        dots = [f"{name}_" for name in dots]
    return _by_position(*names, *dots)


def with_vectors(signature: inspect.Signature, count: int) -> inspect.Signature:
    """The first parameters, then one for vectors: ``(x, w)`` is ``(x, w, vectors)``."""
    names, last = _first_names(signature, count), "vectors"
    while last in names:
        last += "_"
    return _by_position(*names, last)


def _first_names(signature: inspect.Signature, count: int) -> list[str]:
    """What to call so many arguments."""
    names: list[str] = []
    for name, parameter in signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{name}_{i}" for i in range(count - len(names))]
        elif parameter.kind not in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD):
            names.append(name)
    if len(names) < count:
        raise ArgumentError(f"{count} arguments for a function of {len(names)}: {signature}")
    return names[:count]


def _by_position(*names: str) -> inspect.Signature:
    only = inspect.Parameter.POSITIONAL_ONLY
    return inspect.Signature([inspect.Parameter(name, only) for name in names])


def name_of(function: Any) -> str:
    """What to call a function; partials and objects with ``__call__`` have no name of their own."""
    if isinstance(function, partial):
        return name_of(function.func)
    name = getattr(function, "__name__", type(function).__name__)
    return name if isinstance(name, str) else type(function).__name__


def check_static(names: frozenset[str], signature: inspect.Signature, function: str) -> None:
    """Raises where a name among ``static_argnames`` is no parameter's."""
    parameters = signature.parameters.values()
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        return
    for name in sorted(names - signature.parameters.keys()):
        raise ArgumentError(
            f"static_argnames names {name!r}, but {function} has the parameters "
            f"({', '.join(signature.parameters)})"
        )


def defaults_of(function: Any) -> tuple[Any, ...]:
    """What `signature_of` reads of a function: when one of these is another object, so is it."""
    if isinstance(function, partial):
        return (function.args, function.keywords, *defaults_of(function.func))
    function = _called(function)
    function = getattr(function, "__func__", function)
    wrapped = getattr(function, "__wrapped__", None)
    if wrapped is not None and type(function) is not FunctionType:
        return (function, *defaults_of(wrapped))
    if not hasattr(function, "__code__") and not isinstance(function, type | np.ufunc):
        function = inspect.getattr_static(type(function), "__call__", function)
    function = getattr(function, "__func__", function)
    names = ("__code__", "__defaults__", "__kwdefaults__")
    keywords = getattr(function, "__kwdefaults__", None) or {}
    return (*(getattr(function, name, None) for name in names), *keywords.values())


def _holds_tensor(x: Any) -> bool:
    """Whether a default is a Tensor, or a plain container with one."""
    if type(x) in (list, tuple, dict):
        return any(map(_holds_tensor, x.values() if type(x) is dict else x))
    return isinstance(x, Tensor)


def bind(
    signature: inspect.Signature,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    static: frozenset[str] = frozenset(),
    unread: frozenset[str] = frozenset(),
    defaults: bool = True,
    shown: inspect.Signature | None = None,
    name_of_function: str = "function",
    by_class: Callable[[type], bool] = lambda cls: False,
    wanted: Collection[int] | None = None,
    numbers: Collection[tuple[str, Path]] = (),
    changed: Collection[str] = (),
) -> Arguments:
    """Binds and flattens the arguments of a call; raises Python's own TypeError.

    What ``*args`` and ``**kwargs`` take become parameters of their own. `unread` are parameters
    that the function never reads. Without `defaults` there are only those that the call gives; nor
    are there ever defaults that are Tensors, whose history is not the call's.
    `shown` are parameters that name what ``*args`` takes, where the call fits them. Of objects that
    are known by identity, and of a class that `by_class` knows, the key holds the class. So it is
    of dataclass instances with more than their fields, but for parameters that are `wanted`: by
    their fields the function is differentiated. None: there are no such objects. Containers that
    the function has `changed` are objects as well. Whole `numbers` at these places are inputs.
    """
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        _refuse_as_python(signature, name_of_function, args, kwargs)
        raise
    if defaults:
        passed = {*bound.arguments}
        bound.apply_defaults()
        for name in bound.arguments.keys() - passed:
            if _holds_tensor(bound.arguments[name]):
                del bound.arguments[name]  # it is one from outside, which the function reads
    given: list[tuple[str, Any, str | None]] = []
    behind = False  # one that is left out, so that it is passed by its name
    for name, parameter in signature.parameters.items():
        if name not in bound.arguments:
            behind = True
            continue
        value = bound.arguments[name]
        match parameter.kind:
            case inspect.Parameter.VAR_POSITIONAL:
                names = _shown_names(shown, args, kwargs)[len(given) :]
                names = names or [f"{name}_{i}" for i in range(len(value))]
                given += [(each, item, None) for each, item in zip(names, value, strict=True)]
            case inspect.Parameter.VAR_KEYWORD:
                given += [(key, item, key) for key, item in value.items()]
            case inspect.Parameter.KEYWORD_ONLY:
                given.append((name, value, name))
            case _:
                given.append((name, value, name if behind else None))
    parameters = identifiers([name for name, _, _ in given])
    values = tuple(value for _, value, _ in given)
    keywords = tuple(keyword for _, _, keyword in given)
    specs, leaves = [], []
    apart = range(len(given)) if wanted is None else [at % (len(given) or 1) for at in wanted]
    kind: Any
    for i, (name, value, _) in enumerate(given):
        if name in static:
            leaves.append(Leaf(i, (), value, _static(value, name, UNHASHABLE)))
            specs.append(TreeSpec())
            continue
        whole = None if i in apart else partial(_is_whole, by_class)
        if whole is not None and parameters[i] in changed and by_class(type(value)):
            kind = ("object", type(value))
            leaves.append(Leaf(i, (), value, kind))
            specs.append(TreeSpec())
            continue
        flat, spec = flatten(value, whole)
        specs.append(spec)
        for path, leaf in zip(leaf_paths(spec), flat, strict=True):
            text = path_text(name, path)
            if whole is not None and is_dataclass(leaf) and whole(leaf):
                kind = ("object", type(leaf))
            elif name in unread and is_plain(leaf):
                kind = ("unread", type(leaf))
            elif numbers and is_whole(leaf) and (parameters[i], path) in numbers:
                kind = WHOLE
            else:
                kind = kind_of(leaf, text, by_class)
            leaves.append(Leaf(i, path, leaf, kind))
    return Arguments(parameters, keywords, values, tuple(specs), tuple(leaves))


def _is_whole(by_class: Callable[[type], bool], x: Any) -> bool:
    """Whether a dataclass instance is more than its fields, and known by its class."""
    return bool(besides_fields(x)) and by_class(type(x))


def _refuse_as_python(
    signature: inspect.Signature, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Raises what a function of this name and these parameters would: it names the function."""
    empty = inspect.Parameter.empty
    parameters = [
        p.replace(annotation=empty, default=empty if p.default is empty else None)
        for p in signature.parameters.values()
    ]
    scope: dict[str, Any] = {}
    exec(f"def stand_in{inspect.Signature(parameters)}: pass", scope)
    scope["stand_in"].__qualname__ = name
    scope["stand_in"](*args, **kwargs)


def _shown_names(
    shown: inspect.Signature | None, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[str]:
    """The names of the arguments by position; none where a call does not fit the parameters."""
    if shown is None:
        return []
    try:
        names = list(shown.bind(*args, **kwargs).arguments)[: len(args)]
    except TypeError:
        return []
    return names if len(names) == len(args) else []


TAKEN = frozenset(
    {"np", "jax", "jnp", "lax", "abs", "bool", "complex", "float", "int", "isinstance", "len"}
    | {"list", "max", "min", "range", "round", "slice", "tuple", "type"}
    | {"AssertionError", "LookupError", "NotImplementedError", "ValueError"}
)
"""Names that mean something in the source of programs."""


def identifiers(names: Sequence[str]) -> tuple[str, ...]:
    """The names as parameters of one program: ``class`` and a second ``a`` get an underscore.

    ``**kwargs`` may hold any string, and the name of a parameter that is passed by position alone.
    """
    found: list[str] = []
    for name in names:
        if not name.isidentifier():
            name = path_name("argument", (Item(name),))
        while name in found or name in TAKEN or keyword.iskeyword(name):
            name += "_"
        found.append(name)
    return tuple(found)


WHOLE = ("number", "int")
"""The kind of a whole number that is an input."""


def is_whole(value: Any) -> bool:
    """Whether a number may be an input of a program where others of its kind come."""
    return type(value) is int and -(2**63) <= value < 2**63


def kind_of(
    value: Any, text: str, by_class: Callable[[type], bool] = lambda cls: False
) -> tuple[Hashable, ...]:
    """What a leaf contributes to the key; raises naming the argument for what cannot be one."""
    match value:
        case np.ndarray():
            if type(value) is not np.ndarray:
                refuse_subclass(value, f"argument {text}")
            _numeric(value.dtype, text)
            return ("array", value.dtype.name, value.ndim)
        case np.generic():
            _numeric(value.dtype, text)
            return ("scalar", value.dtype.name)
        case float() | complex() if type(value) in (float, complex):
            return ("number", type(value).__name__)
        case DeviceArray():
            raise ArgumentError(
                f"argument {text} is an array on a device: pass the Tensor that holds it, or bring "
                "it with .cpu()"
            )
        case Tensor():
            return ("tensor", value.dtype.name)
    if is_jax(value):
        return ("jax",)
    if _has_no_value(value) and by_class(type(value)):
        kind: Any = type(value)
        return ("object", kind)
    return _static(value, text)


def is_jax(value: Any) -> bool:
    """True for arrays of JAX, which need not be installed."""
    module = type(value).__module__
    return module.startswith(("jaxlib", "jax")) and hasattr(value, "dtype")


def _numeric(dtype: np.dtype, text: str) -> None:
    if not is_numeric(dtype) or not dtype.isnative or dtype.name in ("longdouble", "float128"):
        raise ArgumentError(
            f"argument {text} has dtype {dtype}: arrays must be of numbers or bool in native byte "
            "order, up to 64 bits a component"
        )


def _has_no_value(value: Any) -> bool:
    """Whether an object cannot be a static argument, or would be one by its identity alone.

    Not data frames, whose arrays are not what they show.
    """
    try:
        hash(parts_of(value) if type(value) is slice else value)
    except TypeError:
        return not hasattr(type(value), "to_numpy")
    return type(as_key(value)) is Same


UNHASHABLE = "but a static argument must be hashable"
NO_ARRAY = "neither an array, a number, a plain tuple, list or dict of them, nor hashable"


def _static(value: Any, text: str, wrong: str = f"which is {NO_ARRAY}") -> tuple[Hashable, ...]:
    try:
        hash(parts_of(value) if type(value) is slice else value)
    except TypeError:
        remedy = _remedy(value, text, wrong is UNHASHABLE)
        raise ArgumentError(
            f"argument {text} is a {type(value).__name__}, {wrong}: {remedy}"
        ) from None
    kind: Any = type(value)
    return ("static", kind, as_key(value))


INSTEAD: tuple[tuple[Any, str, str], ...] = (
    (np.ndarray, "", "leave it out of the static arguments"),
    (Mapping, "pass dict({})", "pass tuple({}.items())"),
    (bytearray, "pass bytes({})", "pass bytes({})"),
    (Set, "pass frozenset({})", "pass frozenset({})"),
    (tuple, "", "its items must be hashable too"),
    ((Sequence, array), "pass list({})", "pass tuple({})"),
    (SimpleNamespace, "", "pass tuple(vars({}).items())"),
    (object, "pass its arrays, or give it __hash__ and __eq__", "give it __hash__ and __eq__"),
)
"""By kinds of objects that cannot be hashed: what to pass as an argument, and as a static one."""


def _remedy(value: Any, text: str, static: bool) -> str:
    """What to pass instead of an object that is no container of arrays, and cannot be hashed."""
    if hasattr(type(value), "to_numpy"):  # data frames
        return f"pass {text}.to_numpy()"
    found = next(row for row in INSTEAD if isinstance(value, row[0]))
    return found[1 + static].format(text)
