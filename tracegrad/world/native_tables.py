"""What is known of functions written in C: which compute, which change what they are given.

A function that stands in no table is not known, and a run that calls it is no program. Tables are
keyed by identity: the hash of a user's object may run the user's code.
"""

from __future__ import annotations

import builtins
import collections
import datetime
import enum
import fractions
import functools
import itertools
import operator
import random
import re
import threading
import types
from collections import deque
from typing import Any

import numpy as np

from tracegrad.machine import natives

LIBRARY = frozenset({
    *("tracegrad", "codegen", "numpy", "scipy", "jax", "jaxlib", "black", "torch", "pandas"),
})  # fmt: skip
"""Packages whose Python is not interpreted: it computes on what it is given."""
HOLDING = (
    *("tracegrad.optim", "tracegrad.random.key_generator", "tracegrad.transforms.ode_solvers"),
    *("tracegrad.transforms.implicit_functions", "tracegrad.transforms.quadrature"),
    *("tracegrad.transforms.solver_functions", "tracegrad.user_code.captures"),
    *("tracegrad.traced_scipy.sparse", "tracegrad.traced_scipy.interpolate"),
    "tracegrad.traced_scipy.frozen_distributions",
    *("tracegrad.values.prng_keys", "tracegrad.tensors.jax_updates"),
)
"""Modules of tracegrad whose objects hold what users put there: these are interpreted."""

IMPURE = frozenset({
    "print", "input", "open", "exec", "eval", "breakpoint", "__import__", "compile", "globals",
    "locals", "id", "_abc_register", "_reset_registry", "_reset_caches",
})  # fmt: skip
"""Builtins that do, or read, what a program would not do again."""

PURE_MODULES = frozenset({
    "math", "cmath", "_operator", "operator", "itertools", "_functools", "_bisect", "_collections",
    "_struct", "_statistics", "_string", "_codecs", "_sre", "zlib", "binascii", "_json", "builtins",
    "_abc", "_typing", "_weakref", "unicodedata", "_datetime", "_opcode",
})  # fmt: skip
"""Modules in C whose functions compute, but for those in `IMPURE` and `MUTATORS`."""

READS_TYPES = frozenset({"_json", "_struct", "_datetime", "datetime", "_decimal", "decimal"})
"""Modules in C whose functions take numbers of Python's own, and nothing that acts as one."""

FILES = frozenset({
    "load", "loadtxt", "genfromtxt", "fromfile", "memmap", "save", "savez", "savetxt", "tofile",
    "savez_compressed", "seterr", "seterrcall", "setbufsize", "set_printoptions", "geterr",
    "geterrcall", "getbufsize", "get_printoptions",
})  # fmt: skip
"""NumPy's functions that read or write files, or settings of the process."""

MAKERS = frozenset({
    "__new__", "fromkeys", "fromhex", "from_bytes", "maketrans", "fromisoformat", "fromordinal",
    "fromisocalendar", "combine", "from_iterable", "mro", "__prepare__", "__class_getitem__",
})  # fmt: skip
"""Methods of classes in C that make an object of their arguments alone."""

SEEDED = frozenset({
    "default_rng", "Generator", "RandomState", "SeedSequence", "PCG64", "PCG64DXSM", "Philox",
    "SFC64", "MT19937",
})  # fmt: skip
"""What NumPy makes generators with: of a seed, the same ones again."""

GENERATORS = (
    *(np.random.Generator, np.random.BitGenerator, np.random.RandomState, np.random.SeedSequence),
    random.Random,
)
GLOBAL_GENERATORS = (np.random.normal.__self__, random.random.__self__)  # type: ignore[attr-defined]

HOLDING_NOTHING = {
    type(threading.Lock()): ("__enter__", "__exit__", "acquire", "release"),
    type(threading.RLock()): ("__enter__", "__exit__", "acquire", "release"),
}
"""Methods that leave an object as it was by the end of the run, and tell nothing of it."""

_SPECIAL = (
    "eq ne lt le gt ge hash bool len length_hint iter next reversed contains getitem missing "
    "index int float complex round trunc floor ceil abs neg str repr format bytes fspath array "
    "array_function array_ufunc array_interface array_struct array_priority call get "
    "getattribute getattr"
)
SPECIAL = frozenset({"keys", *(f"__{name}__" for name in _SPECIAL.split())})
"""Methods that C code may call of an object in Python that it is given."""
SPECIAL_TO_OPERATORS = SPECIAL - {"__call__"}
"""The same of operators, which call no object that they are given."""
SPECIAL_TO_OWN = SPECIAL - {"__call__", "__repr__", "__str__", "__format__"}
"""The same of tracegrad's own functions: the machine executes what they call of the user's."""

ASKS_WHO = frozenset(
    map(id, (operator.is_, operator.is_not, natives.is_item, type, id, isinstance))
)
"""Operations that ask nothing of a Tensor but who it is, by id."""
BY_KEY = frozenset(
    {
        *ASKS_WHO,
        *map(id, (operator.getitem, operator.setitem, operator.contains, len, bool)),
        *map(id, (operator.truth, operator.not_, hasattr, getattr, dict.get)),
        *map(id, (dict.__getitem__, dict.__contains__, dict.__len__)),
    }
)
"""Operations whose result no order of a dictionary's keys decides, by id."""

_CHANGED_BY: dict[type, str] = {
    list: "append clear extend insert pop remove reverse sort __iadd__ __imul__ __setitem__ "
    "__delitem__ __init__",
    dict: "clear pop popitem setdefault update __setitem__ __delitem__ __ior__ __init__",
    set: "add clear difference_update discard intersection_update pop remove update "
    "symmetric_difference_update __iand__ __ior__ __isub__ __ixor__ __init__",
    deque: "append appendleft clear extend extendleft insert pop popleft remove reverse rotate "
    "__iadd__ __imul__ __setitem__ __delitem__ __init__",
    bytearray: "append clear extend insert pop remove reverse __iadd__ __setitem__ __delitem__",
    collections.OrderedDict: "clear pop popitem setdefault update move_to_end __setitem__ "
    "__delitem__ __init__",
    np.ndarray: "fill itemset partition put resize setfield setflags sort __setitem__ "
    "__iadd__ __isub__ __imul__ __itruediv__ __ifloordiv__ __ipow__ __imod__ __iand__ __ior__ "
    "__ixor__ __ilshift__ __irshift__ __imatmul__",
}
MUTATORS: dict[int, Any] = {
    id(method): method
    for cls, names in _CHANGED_BY.items()
    for name in names.split()
    if (method := vars(cls).get(name)) is not None
}
"""Methods that change what they are called on, by id."""
CHANGES_FIRST: dict[int, Any] = {
    id(function): function
    for function in (
        operator.setitem,
        operator.delitem,
        collections._count_elements,  # type: ignore[attr-defined]
        np.copyto,
        np.put,
        np.place,
        np.putmask,
        np.fill_diagonal,
        np.put_along_axis,
    )
}
try:
    import _bisect
    import _heapq

    for _module, _names in (
        (_heapq, "heappush heappop heapify heapreplace heappushpop"),
        (_heapq, "_heappop_max _heapify_max _heapreplace_max"),
        (_heapq, "heappush_max heappop_max heapify_max heapreplace_max heappushpop_max"),
        (_bisect, "insort insort_left insort_right"),
    ):
        for _name in _names.split():
            if hasattr(_module, _name):
                CHANGES_FIRST[id(getattr(_module, _name))] = getattr(_module, _name)
except ImportError:  # pragma: no cover - another Python than CPython
    pass

ATOMS = frozenset({
    *(int, float, complex, str, bytes, bool, type(None), range, type(...), type(NotImplemented)),
    *(types.FunctionType, types.BuiltinFunctionType, types.CodeType, types.ModuleType, type),
    *(np.ufunc, np.float64, np.float32, np.int64, np.int32, np.bool_, np.complex128, slice),
    *(datetime.date, datetime.datetime, datetime.timedelta, datetime.time, fractions.Fraction),
    types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType, types.ClassMethodDescriptorType, types.GenericAlias,
    *(enum.EnumMeta, re.Pattern, re.Match),
})  # fmt: skip
"""Types whose objects no program can change; their guard is that of the place where they stand."""

CONTAINERS = frozenset({list, dict, set, deque, collections.OrderedDict, collections.defaultdict,
                        collections.Counter, bytearray, collections.ChainMap})  # fmt: skip
REPLAYED = frozenset({list, dict, set, deque, collections.defaultdict, collections.Counter})
"""Types of containers of which programs replay the changes."""
ITERATORS = frozenset(
    {
        *map(
            type, (iter(()), iter([]), iter({}), iter({}.values()), iter({}.items()), iter(set()))
        ),
        *map(type, (iter(range(0)), iter(""), iter(b""), reversed([]), reversed({}))),
        *(map, filter, zip, enumerate, types.GeneratorType),
        *(v for v in vars(itertools).values() if isinstance(v, type)),
    }
)
"""Types whose objects are used up by reading."""

_PURE_TYPES = frozenset(
    {
        *(v for v in vars(builtins).values() if isinstance(v, type)),
        *(v for v in vars(itertools).values() if isinstance(v, type)),
        *(v for v in vars(types).values() if isinstance(v, type)),
        *(deque, collections.OrderedDict, collections.defaultdict, functools.partial),
        *(operator.itemgetter, operator.attrgetter, operator.methodcaller),
        *(datetime.date, datetime.datetime, datetime.timedelta, datetime.time),
        *(np.dtype, np.ndarray),
    }
)
PURE_TYPES = frozenset(map(id, _PURE_TYPES))
"""Types of which new objects are made without a look at anything but the arguments, by id."""


CACHED = type(functools.lru_cache(lambda: None))
DISPATCH: types.CodeType = functools.singledispatch(len).dispatch.__code__
"""What finds the function of a class for a generic function, in a cache of weak references."""


PATTERNS: types.CodeType = re._compile.__code__  # type: ignore[attr-defined]
"""What makes a pattern of a text, and keeps it in a cache: of one text they are all alike."""


def is_unknown(callee: Any) -> bool:
    """Whether it is a function or method in C that stands in no table: it may keep what it gets."""
    kind = type(callee)
    if kind is CACHED:
        return True
    if kind is types.MethodDescriptorType:
        if callee.__objclass__ is types.GeneratorType:
            return True
        module = callee.__objclass__.__module__
    elif kind is types.BuiltinFunctionType:
        module = callee.__module__
    else:
        return False
    root = (module or "builtins").partition(".")[0]
    return not any(root in known for known in (PURE_MODULES, LIBRARY, ("collections", "_heapq")))


OPERATORS = frozenset(
    id(getattr(operator, name))
    for name in (
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift"),
        *("and_", "or_", "xor", "neg", "pos", "invert", "lt", "le", "eq", "ne", "gt", "ge"),
        *("not_", "abs", "index", "concat"),
    )
)
COMPARISONS = frozenset(
    id(getattr(operator, name)) for name in ("lt", "le", "eq", "ne", "gt", "ge")
)
IN_PLACE = {
    id(getattr(operator, name)): getattr(operator, name)
    for name in (
        *("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul", "ilshift"),
        *("irshift", "iand", "ior", "ixor", "iconcat"),
    )
}
CHANGING = frozenset({*MUTATORS, *CHANGES_FIRST, *IN_PLACE})
"""Operations and methods that change their first operand, by id."""
