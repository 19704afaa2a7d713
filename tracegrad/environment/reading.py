"""A snapshot and the arguments of a call enter; where code may read an array by itself leaves.

``x * self.w`` is recorded when x is a Tensor, and the program reads ``self.w`` anew on every call.
``if self.w.sum() > 0`` is NumPy's alone: nothing is recorded, and the outcome is in the program.
This analysis runs the code within reach on kinds (`kinds.py`) instead of values, once, without
regard to order: a variable, an attribute name, the elements of all containers have one set of kinds
each, which grow until nothing changes. It raises `Doubt` at the first use that may read an array;
so does everything that it does not know, and then the arrays are guarded by their contents.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from tracegrad.environment import kinds as k
from tracegrad.environment.kinds import ANY, NONE, A, C, Doubt, K, Kinds, L, M, O, T, V, union
from tracegrad.environment.machine import run
from tracegrad.tensor import Tensor

LETTERS = frozenset("TKCAMLOV")
RAW = frozenset({"numpy", "data", "grad", "tolist", "_array", "__array__", "__array_interface__"})
BARE = frozenset({"array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray"})
"""With these names, code takes the array out of a Tensor."""
OF_CONTAINERS = frozenset({
    "append", "appendleft", "extend", "extendleft", "insert", "pop", "popleft", "popitem", "get",
    "setdefault", "update", "add", "discard", "clear", "reverse",
})  # fmt: skip
FUNCTIONS = frozenset({"call", "property", "method", "transform"})
TRANSFORMS = frozenset({"grad", "value_and_grad", "compile"})
ROUNDS = 40
READING = A | V


class Analysis:
    """What is known of names, elements and results so far; it only grows."""

    def __init__(self, environment: Any) -> None:
        self.environment = environment
        self.variables: dict[tuple[CodeType, str], Kinds] = {}
        self.cells: dict[str, Kinds] = {}
        self.attributes: dict[str, Kinds] = {}
        self.loose: Kinds = NONE  # what containers hold that are no atoms of their own
        self.written: Kinds = NONE  # what code puts into containers that are there
        self.results: dict[CodeType, Kinds] = {}
        self.yielded: dict[CodeType, Kinds] = {}
        self.scopes: dict[CodeType, list[dict[str, Any]]] = environment.scopes
        self.active: set[CodeType] = set()
        self.identities = False  # two arrays or Tensors may be compared by identity
        self.lengths = False  # the shape of a Tensor from outside may be read
        self.grown = True
        for guard in environment.guards.values():
            found = k.kinds_of(guard.value)
            if guard.read == "holder.cell_contents":
                self.grow(self.cells, guard.text, found)
            elif type(guard.name) is str and not (
                type(guard.holder) is dict and id(guard.holder) in environment._objects
            ):
                self.grow(self.attributes, guard.name, self.looked_up(guard, found))

    def looked_up(self, guard: Any, found: Kinds) -> Kinds:
        """What an attribute gives: a function in a class is bound to the object."""
        if id(guard.holder) not in self.environment._classes:
            return found
        match guard.value:
            case FunctionType():
                return k.called(guard.value, True)
            case staticmethod():
                return k.called(guard.value.__func__)
            case classmethod():
                return k.called(guard.value.__func__, True)
            case property():
                return frozenset({("property", k.Same(guard.value.fget), True)})
        return V if hasattr(type(guard.value), "__get__") else found

    def grow(self, table: dict[Any, Kinds], key: Any, found: Kinds) -> None:
        before = table.get(key, NONE)
        if not found <= before:
            table[key] = before | found
            self.grown = True

    def put(self, found: Kinds) -> None:
        """These are put into a container, whichever it is."""
        if not found <= self.written:
            self.written |= found
            self.grown = True

    def container(self, letter: str, found: Kinds) -> Kinds:
        """A new container of these; deep ones are one kind."""
        if k.depth(found) < 3:
            return frozenset({("of", letter, found)})
        if not found <= self.loose:
            self.loose |= found
            self.grown = True
        return frozenset(letter)

    def row(self, parts: Sequence[Kinds]) -> Kinds:
        """A new tuple, of which each place is known."""
        if len(parts) > 8 or k.depth(union(parts)) >= 3:
            return self.container("L", union(parts))
        return frozenset({("row", "L", tuple(parts))})

    def unpacked(self, a: Kinds, count: int, where: str) -> list[Kinds]:
        """The parts of what is unpacked into so many."""
        parts = [NONE] * count
        for atom in a:
            match atom:
                case ("row", _, known) if len(known) == count:
                    found = known
                case ("box", _, k.Same(value=tuple() as box)) if len(box) == count:
                    found = [k.kinds_of(item) for item in box]
                case ("row", _, known):
                    found = [NONE] * count
                case _:
                    found = [self.iterate(frozenset({atom}), where)] * count
            parts = [x | y for x, y in zip(parts, found, strict=True)]
        return parts

    def contents(self, a: Kinds) -> Kinds:
        """What is in these containers, keys left out."""
        found = NONE
        for atom in a:
            match atom:
                case "L" | "M":
                    found |= self.loose | self.written
                case ("of", _, inner):
                    found |= inner | self.written
                case ("row", _, parts):
                    found |= union(parts)
                case ("box", _, k.Same(value=dict() as box)):
                    found |= union(map(k.kinds_of, box.values())) | self.written
                case ("box", _, k.Same(value=box)):
                    found |= union(map(k.kinds_of, box)) | self.written
        return found

    def run(self, function: Any, parameters: Sequence[str], values: Sequence[Any]) -> None:
        """To the fixpoint, from a call with these values."""
        named = {name: self.argument(value) for name, value in zip(parameters, values, strict=True)}
        for _ in range(ROUNDS):
            self.grown = False
            self.active.clear()
            self.call(k.called(function), [], named, "")
            if not self.grown:
                return
        raise Doubt("the code is too large to follow")

    def argument(self, value: Any) -> Kinds:
        """The kind of an argument: arrays and floats are traced."""
        if isinstance(value, np.ndarray | np.generic | float | complex | Tensor):
            return T
        if type(value) is int:
            return T | C
        if isinstance(value, dict):
            return self.container("M", union(map(self.argument, value.values())))
        if isinstance(value, list | tuple):
            return self.container("L", union(map(self.argument, value)))
        if is_dataclass(value) and not isinstance(value, type):
            for name, item in vars(value).items():
                self.grow(self.attributes, name, self.argument(item))
            return O
        return k.kinds_of(value)

    # -- what operations give -----------------------------------------------------------------

    def operator(self, a: Kinds, b: Kinds, where: str) -> Kinds:
        """A binary operator or comparison."""
        found: set[Any] = set()
        if plain(a | b) & {"T", "K"}:
            self.refuse(self.contents(a | b), "an operand in a list", where)
        for x in plain(a):
            for y in plain(b):
                pair = {x, y}
                if pair & {"T", "K"}:
                    found.add("V" if "V" in pair else "T")
                elif not pair.isdisjoint(READING):
                    raise Doubt(f"an operator on an array {where}")
                elif pair <= {"C", "O"}:
                    found.add("C")
                elif pair & {"L", "M"}:
                    found |= self.container(max(pair), self.contents(a | b))
                else:
                    found.add("C")
        return frozenset(found)

    def comparison(self, a: Kinds, b: Kinds, where: str) -> Kinds:
        if plain(a) in (T, K) or plain(b) in (T, K):
            return self.operator(a, b, where)
        if plain(a) & plain(b) & {"L", "M"}:
            self.refuse(self.contents(a | b), "comparing containers of arrays", where)
        if "O" in plain(a) & plain(b):
            raise Doubt(f"objects are compared {where}")
        return self.operator(a, b, where) & {"T"} | C

    def refuse(self, found: Kinds, what: str, where: str) -> None:
        if not plain(found).isdisjoint(READING):
            raise Doubt(f"{what} {where}")

    def truth(self, a: Kinds, where: str) -> None:
        """A condition: Tensors record theirs."""
        self.refuse(a, "the truth of an array", where)
        if "O" in a:
            for name in ("__bool__", "__len__"):
                self.call(self.attributes.get(name, NONE), [], {}, where)

    def iterate(self, a: Kinds, where: str) -> Kinds:
        self.refuse(a, "iterating over an array", where)
        if "O" in a and ("__iter__" in self.attributes or "__getitem__" in self.attributes):
            raise Doubt(f"an object is iterated over {where}")
        self.lengths |= "K" in a
        found = self.contents(frozenset(x for x in a if "M" not in x[:2])) | (a & {"T", "C"})
        found |= T if "K" in a else NONE
        return found | C if "M" in plain(a) else found  # keys are hashable, and so no arrays

    def subscript(self, a: Kinds, index: Kinds, where: str) -> Kinds:
        found = NONE
        for x in a:
            match x:
                case "T" | "K":
                    self.refuse(index - A, "an index", where)
                    lists = frozenset(atom for atom in index if not _is_tuple(atom))
                    self.refuse(self.contents(lists), "an index", where)
                    found |= T
                case "C":
                    found |= C
                case "M" | "L" | ("of" | "box" | "row", _, _):
                    self.refuse(index, "an array as an index", where)
                    if "slice" in index:
                        found |= frozenset({x})
                    if index != k.SLICE:
                        found |= self.contents(frozenset({x}))
                case "O":
                    getters = self.attributes.get("__getitem__", NONE)
                    found |= self.call(getters, [index], {}, where)
                case "A" | "V":
                    raise Doubt(f"a subscript of an array {where}")
                case (_, k.Same(value=type()), _):
                    found |= C
        return found

    def attribute(self, a: Kinds, name: str, where: str) -> Kinds:
        found = NONE
        for x in a:
            match x:
                case "T" if name in k.PLAIN_OF_TENSOR:
                    found |= C
                case "T" if name in k.TENSOR_OF_TENSOR:
                    found |= T
                case "K" if name in RAW:
                    raise Doubt(f".{name} of a Tensor {where}")
                case "K" if name in k.PLAIN_OF_TENSOR:
                    self.lengths |= name not in k.GUARDED_OF_TENSOR
                    found |= C
                case "K" if name in k.TENSOR_OF_TENSOR:
                    found |= T
                case "T" | "K" | "M" | "C":
                    found |= frozenset({("method", x, name)})
                case ("box", "L", k.Same(value=box)) if name in getattr(box, "_fields", ()):
                    found |= k.kinds_of(getattr(box, name))
                case "L" | ("of" | "box" | "row", _, _):
                    found |= frozenset({("method", x, name)}) | self.contents(frozenset({x}))
                case "A" if name in ("ndim", "dtype"):
                    found |= C
                case "A":
                    if hasattr(np.ndarray, name):
                        raise Doubt(f".{name} of an array {where}")
                case "O":
                    found |= self.of_object(name, where)
                case "V":
                    found |= ANY | self.of_object(name, where)
                case ("call", k.Same(value=FunctionType() as of), _) if not hasattr(of, name):
                    pass  # of another object of that name: this one has no such attribute
                case (_, k.Same(value=ModuleType() as module), _):
                    value = vars(module).get(name)
                    found |= k.kinds_of(value) if name in vars(module) else V
                case (_, k.Same(value=type() as cls), _):
                    found |= self.of_class(cls, name, where)
                case _:
                    found |= V
        return found

    def of_object(self, name: str, where: str) -> Kinds:
        known = self.attributes.get(name)
        if known is None:
            return V
        properties = [atom for atom in known if atom[0] == "property"]
        found = known - frozenset(properties)
        for _, getter, _ in properties:
            found |= self.call(k.called(getter.value, True), [], {}, where)
        return found

    def of_class(self, cls: type, name: str, where: str) -> Kinds:
        if issubclass(cls, enum.Enum) and name in cls.__members__:
            return k.kinds_of(cls.__members__[name])
        for owner in cls.__mro__:
            if name in vars(owner):
                made = vars(owner)[name]
                if isinstance(made, staticmethod):
                    return k.called(made.__func__)
                if isinstance(made, classmethod):
                    return k.called(made.__func__, True)
                return k.kinds_of(made)
        raise Doubt(f"{cls.__name__}.{name} {where}")

    # -- calls --------------------------------------------------------------------------------

    def call(
        self, callee: Kinds, args: Sequence[Kinds], named: Mapping[str, Kinds], where: str
    ) -> Kinds:
        found = NONE
        for atom in callee:
            match atom:
                case "V":
                    raise Doubt(f"a call of something unknown {where}")
                case "O":
                    found |= self.call(self.attributes.get("__call__", V), args, named, where)
                case ("method", of, name):
                    found |= self.method(of, name, args, named, where)
                case ("transform", inner):
                    found |= self.transformed(inner, args, named, where)
                case ("call" | "property", value, binds):
                    found |= self.known(value.value, [O, *args] if binds else args, named, where)
        return found

    def transformed(
        self, inner: Kinds, args: Sequence[Kinds], named: Mapping[str, Kinds], where: str
    ) -> Kinds:
        """A call of ``tg.grad(inner)`` or its like: the function's result and gradients."""
        for found in (*args, *named.values()):
            self.refuse(found | self.contents(found), "an array for a derivative", where)
        value = self.call(inner, args, named, where)
        flat = T | C
        tree = flat | self.container("L", flat) | self.container("M", flat)
        return value | tree | self.container("L", value | tree) | self.container("M", tree)

    def known(
        self, function: Any, args: Sequence[Kinds], named: Mapping[str, Kinds], where: str
    ) -> Kinds:
        if isinstance(function, FunctionType | CodeType):
            code: Any = getattr(function, "__code__", function)
            if code in self.scopes:
                return self.run_code(code, function, args, named)
            ours = (getattr(function, "__module__", None) or "").startswith(("numpy", "tracegrad"))
            if getattr(function, "__wrapped__", None) is not None and not ours:
                raise Doubt(f"a call of something wrapped {where}")
        if isinstance(function, MethodType):
            bound = k.kinds_of(function.__self__)
            return self.known(function.__func__, [bound, *args], named, where)
        if isinstance(function, partial):
            first = [self.constant(value) for value in function.args]
            later = {name: self.constant(value) for name, value in function.keywords.items()}
            return self.known(function.func, [*first, *args], {**later, **named}, where)
        owner = getattr(function, "__self__", None)
        if isinstance(function, BuiltinFunctionType) and not isinstance(owner, ModuleType | None):
            bound = k.kinds_of(owner)
            if not plain(bound) <= C | T | K | L | M:
                raise Doubt(f"a call of {function.__name__} {where}")
            parts = (self.method(of, function.__name__, args, named, where) for of in bound)
            return union(parts)
        module, name = (
            getattr(function, "__module__", None) or "",
            getattr(function, "__name__", ""),
        )
        if module == "tracegrad.api" and name in TRANSFORMS and args:
            self.refuse(union(args[1:]), f"an array for {name}", where)
            return frozenset({("transform", args[0])})
        root = module.partition(".")[0]
        if isinstance(function, np.ufunc):
            root = "numpy"
        if root in ("numpy", "tracegrad"):
            return self.numeric(function, args, named, where)
        if root == "builtins" and getattr(function, "__name__", "") in BUILTINS:
            if named and function not in (dict, print, enumerate, zip):
                raise Doubt(f"{function.__name__} with options {where}")
            return BUILTINS[function.__name__](self, [*args, *named.values()], where)
        if isinstance(function, type) and root != "builtins":
            return self.made(function, args, named, where)
        if callable(function) and not isinstance(function, type):
            instance = k.kinds_of(function)
            if instance == O:
                return self.call(instance, args, named, where)
        everything = union(map(plain, (*args, *named.values())))
        if everything <= C | T | K and root in ("math", "cmath"):
            return C
        raise Doubt(f"a call of {getattr(function, '__name__', 'something')} {where}")

    def constant(self, value: Any) -> Kinds:
        return k.kinds_of(value)

    def made(
        self, cls: type, args: Sequence[Kinds], named: Mapping[str, Kinds], where: str
    ) -> Kinds:
        """An object of a class."""
        if issubclass(cls, BaseException):
            return C
        if isinstance(cls, enum.EnumMeta):
            return O
        if issubclass(cls, tuple) and k.plain_class(cls):
            return self.container("L", union((*args, *named.values())))
        if type(cls) is not type or not k.plain_class(cls) or "__new__" in vars(cls):
            raise Doubt(f"an object of {cls.__name__} {where}")
        for owner in cls.__mro__:
            maker = vars(owner).get("__init__")
            if isinstance(maker, FunctionType):
                self.known(maker, [O, *args], named, where)
                break
        return O

    def method(
        self, of: Any, name: str, args: Sequence[Kinds], named: Mapping[str, Kinds], where: str
    ) -> Kinds:
        """A method of a Tensor, a string or number, a dict, a list."""
        given = union((*args, *named.values()))
        match of:
            case "T" | "K":
                self.lengths |= of == "K"
                if name in k.PLAIN_FROM_TENSOR:
                    return C
                return self.with_tensor(name, [T, *args], named, where)
            case "C":
                self.refuse(given, f".{name}()", where)
                self.refuse(self.contents(given), f".{name}()", where)
                return C
        box = frozenset({of})
        inner = self.contents(box)
        if name == "items":
            return self.container("L", self.row((C, inner)))
        if name in ("values", "copy"):
            return self.container("L", inner) if name == "values" else box
        if name == "keys":
            return self.container("L", C)
        if name in ("index", "count", "remove", "sort") and plain(box) == L:
            self.refuse(inner | given, f".{name}() compares arrays", where)
        elif name not in OF_CONTAINERS:
            raise Doubt(f".{name}() of a container {where}")
        self.put(given | self.contents(given))
        return inner | given | C

    def numeric(
        self, function: Any, args: Sequence[Kinds], named: Mapping[str, Kinds], where: str
    ) -> Kinds:
        """A function of NumPy's or tracegrad's."""
        given = union((*args, *named.values()))
        given |= self.contents(given)
        given |= self.contents(given)  # two levels; deeper ones are no arguments of functions
        if self.contents(given) - given or any(atom[0] in FUNCTIONS for atom in given):
            raise Doubt(f"a function is passed on {where}")
        name = getattr(function, "__name__", "")
        if name in BARE and "K" in given:
            raise Doubt(f"{name} of a Tensor {where}")
        if T in args or K in args:
            self.lengths |= "K" in given
            return self.with_tensor(name, args, named, where, isinstance(function, np.ufunc))
        self.refuse(given, f"{name} of an array", where)
        self.lengths |= "K" in given
        found = (T | C) if given & {"T", "K"} else C
        return found if name in k.TO_TENSOR | k.CREATION else found | self.container("L", found)

    def with_tensor(
        self,
        name: str,
        args: Sequence[Kinds],
        named: Mapping[str, Kinds],
        where: str,
        ufunc: bool = False,
    ) -> Kinds:
        """A recorded function: arrays among its first arguments are operands."""
        operands = ufunc or name in k.OPERANDS
        for found in (*args, *named.values()):
            self.refuse(self.contents(found), f"arrays in a container for {name}", where)
            self.refuse(found - A if operands else found, f"an array for {name}", where)
        if any(not plain(found).isdisjoint(A) for found in named.values()):
            raise Doubt(f"an array for {name} {where}")
        if ufunc or name in k.TO_TENSOR:
            return T
        return T | C | self.container("L", T | C)

    # -- code ---------------------------------------------------------------------------------

    def run_code(
        self, code: CodeType, function: Any, args: Sequence[Kinds], named: Mapping[str, Kinds]
    ) -> Kinds:
        """Binds the arguments, and runs the body if it is not running already."""
        names = code.co_varnames
        count = code.co_argcount + code.co_kwonlyargcount
        for name, given in zip(names[: code.co_argcount], args, strict=False):
            self.grow(self.variables, (code, name), given)
        extra = [*args[code.co_argcount :]]
        for name, given in named.items():
            if name in names[:count]:
                self.grow(self.variables, (code, name), given)
            else:
                extra.append(given)
        flags = code.co_flags
        rest = count
        if flags & 4:  # *args
            self.grow(self.variables, (code, names[rest]), self.container("L", union(extra)))
            rest += 1
        if flags & 8:  # **kwargs
            self.grow(self.variables, (code, names[rest]), self.container("M", union(extra)))
        if isinstance(function, FunctionType):
            defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
            found = union(map(k.kinds_of, defaults))
            for name in names[:count]:
                if (code, name) not in self.variables or found:
                    self.default(code, name, function)
        else:
            for name in names[:count]:
                if (code, name) not in self.variables:
                    self.grow(self.variables, (code, name), self.loose | C)
        if code not in self.active:
            self.active.add(code)
            run(self, code)
        if flags & 0x20:
            return self.container("L", self.yielded.get(code, NONE))
        if flags & (0x80 | 0x200):
            raise Doubt(f"{code.co_name} is a coroutine")
        return self.results.get(code, NONE)

    def default(self, code: CodeType, name: str, function: FunctionType) -> None:
        positional = code.co_varnames[: code.co_argcount]
        values = function.__defaults__ or ()
        given = dict(zip(positional[len(positional) - len(values) :], values, strict=True))
        given |= function.__kwdefaults__ or {}
        if name in given:
            self.grow(self.variables, (code, name), k.kinds_of(given[name]))


def _is_tuple(atom: Any) -> bool:
    """A tuple as an index: its arrays are operands, as those of a list are not."""
    return atom[0] == "row" or (atom[0] == "box" and isinstance(atom[2].value, tuple))


def plain(found: Kinds) -> Kinds:
    """The letters alone; callables count as plain values where they are no more than values."""
    return frozenset(
        atom if atom in LETTERS else atom[1] if atom[0] in ("of", "box", "row") else "C"
        for atom in found
    )


# -- builtins -----------------------------------------------------------------------------------


def _identity(analysis: Analysis, args: Sequence[Kinds], where: str) -> Kinds:
    analysis.identities = True
    return C


def _known(analysis: Analysis, args: Sequence[Kinds], where: str) -> Kinds:
    return C


def _scalar(analysis: Analysis, args: Sequence[Kinds], where: str) -> Kinds:
    """float, int, abs, ...: a look at a Tensor, or plain."""
    found = union(map(plain, args))
    if not found <= T | K | C:
        raise Doubt(f"a number is made of something {where}")
    return found - K | (T if "K" in found else NONE)


def _plain_number(analysis: Analysis, args: Sequence[Kinds], where: str) -> Kinds:
    _scalar(analysis, args, where)
    return C


def _text(analysis: Analysis, args: Sequence[Kinds], where: str) -> Kinds:
    if not union(map(plain, args)) <= T | C:
        raise Doubt(f"text is made of something {where}")
    return C


def _length(analysis: Analysis, args: Sequence[Kinds], where: str) -> Kinds:
    analysis.refuse(union(args), "the length of an array", where)
    analysis.lengths |= "K" in union(args)
    if "O" in union(args):
        analysis.call(analysis.attributes.get("__len__", NONE), [O], {}, where)
    return C


def _container(analysis: Analysis, args: Sequence[Kinds], where: str) -> Kinds:
    return analysis.container("L", union(analysis.iterate(found, where) for found in args))


def _pairs(analysis: Analysis, args: Sequence[Kinds], where: str) -> Kinds:
    """zip, and enumerate, which counts."""
    return analysis.container("L", analysis.row([analysis.iterate(x, where) for x in args]))


def _counted(analysis: Analysis, args: Sequence[Kinds], where: str) -> Kinds:
    return analysis.container("L", analysis.row([C, analysis.iterate(args[0], where)]))


def _dict(analysis: Analysis, args: Sequence[Kinds], where: str) -> Kinds:
    analysis.refuse(union(args), "an array for a dict", where)
    found = union(args) | analysis.contents(union(args))
    return analysis.container("M", found | analysis.contents(found))


def _next(analysis: Analysis, args: Sequence[Kinds], where: str) -> Kinds:
    return analysis.iterate(args[0], where) | union(args[1:])


def _reduced(analysis: Analysis, args: Sequence[Kinds], where: str) -> Kinds:
    """sum, max, min, any, all: of what is iterated over, or of the arguments."""
    found = union(args)
    items = plain((found & {"T", "K", "C"}) | analysis.iterate(found, where))
    if not items <= T | K | C:
        raise Doubt(f"numbers are combined {where}")
    return items | C


def _ordered(analysis: Analysis, args: Sequence[Kinds], where: str) -> Kinds:
    return analysis.container("L", _reduced(analysis, args, where))


def _mapped(analysis: Analysis, args: Sequence[Kinds], where: str) -> Kinds:
    items = [analysis.iterate(found, where) for found in args[1:]]
    return analysis.container("L", analysis.call(args[0], items, {}, where))


def _any(analysis: Analysis, args: Sequence[Kinds], where: str) -> Kinds:
    return ANY


def _slice(analysis: Analysis, args: Sequence[Kinds], where: str) -> Kinds:
    analysis.refuse(union(args), "a slice", where)
    return k.SLICE


def _self(analysis: Analysis, args: Sequence[Kinds], where: str) -> Kinds:
    return O


def why(
    environment: Any, function: Any, parameters: Sequence[str], values: Sequence[Any]
) -> tuple[str, bool, bool]:
    """Where the code within reach may read an array by itself, "" for nowhere.

    And whether it may compare arrays or Tensors by identity, or read the shapes of Tensors.
    """
    analysis = Analysis(environment)
    try:
        analysis.run(function, parameters, values)
    except Doubt as doubt:
        return str(doubt), True, True
    except (AttributeError, IndexError, TypeError, ValueError) as error:  # another Python's code
        return f"code that is not understood: {error}", True, True
    return "", analysis.identities, analysis.lengths


BUILTINS: dict[str, Any] = {
    **dict.fromkeys(("isinstance", "issubclass", "callable", "hasattr", "print"), _known),
    "id": _identity,
    **dict.fromkeys(("abs", "round", "pow"), _scalar),
    **dict.fromkeys(
        ("float", "complex", "range", "int", "bool", "divmod", "hash", "ord"),
        _plain_number,
    ),
    **dict.fromkeys(("list", "tuple", "set", "frozenset", "reversed", "iter"), _container),
    "enumerate": _counted,
    **dict.fromkeys(("sum", "max", "min", "any", "all"), _reduced),
    **dict.fromkeys(("getattr", "type", "vars"), _any),
    "dict": _dict,
    "len": _length,
    "map": _mapped,
    "next": _next,
    "slice": _slice,
    "str": _text,
    "sorted": _ordered,
    "super": _self,
    "zip": _pairs,
}
