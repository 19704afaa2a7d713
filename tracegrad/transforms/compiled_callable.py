"""The callables that the public transforms return: they run, show source, export and explain.

How calls run is `call.py`'s; here is what users ask of a callable beside its results.
"""

from __future__ import annotations

import copy
import functools
import os
import sys
from collections.abc import Sequence
from inspect import Parameter, Signature, signature
from operator import is_
from pathlib import Path
from types import MethodType
from typing import Any

from codegen.emit.formatting import formatted
from codegen.ir import Graph
from tracegrad.arguments.signature import Arguments, defaults_of, name_of
from tracegrad.compiled.direct_entry import CallSlot
from tracegrad.compiled.forward_backward import backward_part, forward_part
from tracegrad.compiled.guarded_entry import MISS
from tracegrad.compiled.version import Version
from tracegrad.config.compile_mode import CHOSEN
from tracegrad.errors import RAISED_BY_NUMPY, ArgumentError, ExportError
from tracegrad.execution.pipeline import compile_graph
from tracegrad.export.writer import Callee, file_at, write
from tracegrad.introspection.explain import CacheInfo, called, report
from tracegrad.introspection.line_map import Statement, Statements, where
from tracegrad.introspection.report.show import checked_path, draw, shown_in_notebook
from tracegrad.introspection.verify import Verification, verify
from tracegrad.ops.random_draws import given_back, sources_of
from tracegrad.runtime.thread_state import given_objects
from tracegrad.tracing.restarts import Purpose, Unprogrammed
from tracegrad.transforms.call import Calling, array_leaf
from tracegrad.values.dataclass_attributes import converted

_GOES_ON = (
    "{name} catches an exception that NumPy raises for these arguments ({error}) and goes on, "
    "which an exported function would not do: decide by a value (an `if`) which way it goes, or "
    "export it for arguments for which nothing raises"
)


_OF_ANY_USE = frozenset({"__hash__", "__getattr__", "__getattribute__"})
"""Methods that each use of an object may call: they run as they are written."""


class Compiled(Calling):
    """A function whose calls run generated source; made by `grad`, `value_and_grad`, `compile`."""

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if kwargs and self._transform.kind != "vmap":  # which tells axes by how they are passed
            form = (len(args), *kwargs)
            if form not in self._orders:
                self._orders[form] = self._order(len(args), tuple(kwargs))
            behind, by_name = self._orders[form]
            if behind or by_name:
                args = (*args, *map(kwargs.__getitem__, behind))
                if not by_name:
                    given = ", ".join(["*args", *[f"kwargs[{name!r}]" for name in behind]])
                    self._placed[form] = eval(f"lambda args, kwargs: ({given})")
                    return self(*args)
                kwargs = {name: kwargs[name] for name in by_name}
                result = self._entered((CHOSEN[self._backend], by_name), (*args, *kwargs.values()))
                if result is not MISS:
                    return result
        return super()._call(args, kwargs)

    @property
    def _in_traces(self) -> Any:
        """The function that a trace calls in its stead; None where a call does more."""
        return self._function if self._transform.kind == "compile" else None

    def _hand_to(self, function: Any) -> None:
        """Makes it the callable of this function: nobody holds it (`made_again.py`).

        With None it keeps nothing of its function alive; nor does what cannot be of use any more.
        """
        if function is None:
            self.__wrapped__ = None
        else:
            functools.update_wrapper(self, function, updated=())
            self.__name__ = name_of(function)
        if self._stead is None or function is self._function:
            return
        self._function = self._stead.function = function
        vars(self).pop("_one", None)
        defaults = () if function is None else defaults_of(function)
        if len(defaults) == len(self._defaults) and all(map(is_, defaults, self._defaults)):
            return
        self._defaults = defaults
        if function is not None:
            self._read_signature()
            return
        self._signature = self.__signature__ = Signature()
        if self._given_up:
            self._versions = {}

    def _order(self, count: int, names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names that stand by position behind so many arguments, and then those that cannot.

        Both are in the order of the parameters; none where there are others, or some are left out.
        """
        kinds = [(p.kind, p.name) for p in self._signature.parameters.values()]
        plain = [name for kind, name in kinds if kind is Parameter.POSITIONAL_OR_KEYWORD]
        alone = [name for kind, name in kinds if kind is Parameter.KEYWORD_ONLY]
        if len(plain) + len(alone) < len(kinds):
            return (), ()
        by_name = tuple(name for name in alone if name in names)
        behind = tuple(plain[count : count + len(names) - len(by_name)])
        if {*behind, *by_name} != {*names}:
            return (), ()
        whole = count + len(behind) == len(plain) and list(by_name) == alone[: len(by_name)]
        return (behind, by_name) if whole or not by_name else ((), ())

    @functools.cached_property
    def _orders(self) -> dict[tuple[Any, ...], tuple[tuple[str, ...], tuple[str, ...]]]:
        return {}

    def __set_name__(self, owner: type, name: str) -> None:
        self._is_of_any_use = name in _OF_ANY_USE

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None or not self._binds:
            return self
        if self._is_of_any_use and self._transform.kind == "compile":
            return MethodType(self._function, instance)
        return Bound(self, instance)

    @functools.cached_property
    def _is_of_any_use(self) -> bool:
        """Whether Python calls the method wherever an object is used, as preparing a call does."""
        return self.__name__ in _OF_ANY_USE

    def __reduce__(self) -> str | tuple[Any, ...]:
        """By its name, as a plain function, where that is its own; else with the function's."""
        found: Any = sys.modules.get(self.__module__)
        for name in getattr(self, "__qualname__", "").split("."):
            found = getattr(found, name, None)
        if found is self:
            return self.__qualname__
        given = (self._function, self._transform, self._backend, tuple(sorted(self._static)))
        return type(self), given

    def __copy__(self) -> Compiled:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Compiled:
        """Itself, as a plain function; of a method of an object, that of the object's copy."""
        function = copy.deepcopy(self._function, memo)
        if function is self._function:
            return self
        return Compiled(function, self._transform, self._backend, tuple(self._static))

    def _latest(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Version:
        """The version for these arguments; without any, the one that was compiled last."""
        every = [version for versions in self._versions.values() for version in versions]
        if args or kwargs or not (every or self._signature.parameters):
            return self._version_for(args, kwargs)
        if not every:
            raise ArgumentError(f"{self.__name__} was not compiled yet: pass its arguments too")
        return every[-1]

    def _asked_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Version:
        """The version for these arguments; where they are left out but needed, the latest."""
        if self._needed and not args and not kwargs:
            return self._latest(args, kwargs)
        return self._version_for(args, kwargs)

    @property
    def _needed(self) -> int:
        """How many arguments a call must give."""
        kinds = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        parameters = (self._shown or self._signature).parameters.values()
        return sum(p.default is Parameter.empty and p.kind not in kinds for p in parameters)

    def source(self, *args: Any, part: str = "all", **kwargs: Any) -> str:
        """The generated source for these arguments (by default the latest), formatted by black.

        Its first line says so where calls run eagerly all the same. Raises `tg.errors.TraceError`
        where there is no program of what the function does (it reads a file).

        part
            ``"all"``, ``"forward"`` (the function's value alone) or ``"backward"`` (from saved
            values and the cotangent of the result to the gradients).
        """
        args, kwargs = converted(array_leaf, (args, kwargs))
        version = self._asked_for(args, kwargs)
        if part != "all":
            text = self._part(version, part)
        elif args or kwargs or not self._needed:
            text = version.source_for(self._bind(args, kwargs, whole=True)).text
        else:
            text = version.program.source.text
        first, end, rest = formatted(text).partition("\n")
        return f"{first}{self._eagerly(version)}{end}{rest}"

    def _eagerly(self, version: Version) -> str:
        """What is said of a program that calls do not run; "" where they do."""
        reason = f"it reads or changes {version.effect}" if version.effect else self._given_up
        return f" Calls run eagerly: {reason}." if reason else ""

    def _part(self, version: Version, part: str) -> str:
        match part:
            case "forward":
                graph = forward_part(version, self._function, self._transform)
                return compile_graph(graph, version.mode.text).source.text
            case "backward" if version.tree.loops or version.tree.joined:
                raise ArgumentError(
                    f"{self.__name__}: where a loop stays a loop, or arms of an if meet, forward "
                    'and backward are one program: ask for part="all" (--part all), or leave '
                    "it out"
                )
            case "backward" if self._transform.kind in ("grad", "value_and_grad"):
                graph = backward_part(version, self._function, self._transform)
                return compile_graph(graph, version.mode.text).source.text
            case "backward":
                raise ArgumentError(
                    f"{self.__name__} is compiled without a gradient: no part of it is a backward"
                )
        raise ArgumentError(f'part={part!r}: must be "all", "forward" or "backward"')

    def graph(self, *args: Any, stage: str = "optimized", **kwargs: Any) -> Graph:
        """The graph for these arguments: ``"traced"``, ``"differentiated"`` or ``"optimized"``."""
        version = self._asked_for(args, kwargs)
        match stage:
            case "traced":
                return version.traced
            case "differentiated":
                return version.differentiated
            case "optimized":
                return version.program.graph
        raise ArgumentError(f'stage={stage!r}: must be "traced", "differentiated" or "optimized"')

    def export(self, path: str | os.PathLike[str], /, *args: Any, **kwargs: Any) -> Path:
        """Writes one standalone ``.py`` file for these arguments; returns its path.

        Its function has this callable's name, signature and results, and needs NumPy alone (JAX
        with ``backend="jax"``). A name that the file itself reads gets an underscore: of a function
        `range`, it has `range_`. Arrays that the function reads from outside are in it; large ones
        stand in an ``.npz`` beside it. Raises `tg.errors.ExportError` for what no file can hold.
        """
        return self._exported(file_at(path), args, kwargs)

    def _exported(
        self, place: Path, args: tuple[Any, ...], kwargs: dict[str, Any], instance: Any = None
    ) -> Path:
        """The file that `export` writes; `instance` is the object that the callable is bound to."""
        version = self._to_export(args, kwargs)
        objects: tuple[Any, ...] = () if instance is None else (instance,)
        if args or kwargs:
            args, kwargs = converted(array_leaf, (args, kwargs))
            objects = self._bind(args, kwargs, whole=True).objects
        if len(objects) < version.objects:
            raise ArgumentError(f"{self.__name__} reads objects among its arguments: pass these")
        with given_objects(objects[: version.objects]):
            return write(place, self._callee(bound=instance is not None), version)

    def _to_export(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Version:
        """The version for these arguments; raises where it raises, and the function goes on."""
        version = self._asked_for(args, kwargs)
        if self._needed and not args and not kwargs:
            return version
        args, kwargs = converted(array_leaf, (args, kwargs))
        arguments = self._bind(args, kwargs, whole=True)
        if version.opaque or self._is_single(arguments):
            return version
        try:
            with given_back(sources_of(version.program.graph)):
                version.outputs(arguments)
        except RAISED_BY_NUMPY as error:
            if self._goes_on(arguments):
                raise ExportError(_GOES_ON.format(name=self.__name__, error=error)) from None
        except LookupError:  # a way that was not traced, which the file names
            pass
        return version

    def _goes_on(self, arguments: Arguments) -> bool:
        """Whether the function catches what NumPy raises for these arguments."""
        try:
            self._run(arguments, CHOSEN[self._backend], None, purpose=Purpose.LOOK)
        except RAISED_BY_NUMPY:
            return False
        except Unprogrammed:  # behind what NumPy raises
            return True
        return True

    def lower(self, *args: Any, platforms: Sequence[str] | None = None, **kwargs: Any) -> Any:
        """The program for JAX, lowered for these arguments: a `jax.stages.Lowered`.

        Arrays may be given as a `jax.ShapeDtypeStruct`. Arrays and floats are inputs, all else is a
        constant. `platforms` (``("cuda",)``) need not be there; by default it is the one that
        runs. What is compiled for float64 is called where JAX has 64-bit types. Raises
        `tg.errors.ArgumentError` where a value decides what is done, with the line.

        >>> import numpy as np, tracegrad as tg
        >>> x = np.ones(3, np.float32)
        >>> lowered = tg.grad(lambda x: (x**2).sum()).lower(x)
        >>> np.asarray(lowered.compile()(x))
        array([2., 2., 2.], dtype=float32)
        """
        from tracegrad.backends.jax import lowered

        return lowered(self, args, kwargs, platforms)

    def stablehlo(self, *args: Any, platforms: Sequence[str] | None = None, **kwargs: Any) -> str:
        """The text of what `lower` gives: the program in StableHLO, which XLA compiles.

        >>> import numpy as np, tracegrad as tg
        >>> "stablehlo.cosine" in tg.grad(lambda x: np.sin(x).sum()).stablehlo(np.ones(3))
        True
        """
        text: str = self.lower(*args, platforms=platforms, **kwargs).as_text()
        return text

    def verify(self, *args: Any, **kwargs: Any) -> Verification:
        """Whether the program agrees with the plain function, with the function run eagerly, and
        with finite differences; prints as a report.

        >>> import numpy as np, tracegrad as tg
        >>> bool(tg.grad(lambda x: (x**2).sum()).verify(np.ones(3)))
        True
        """
        return verify(self, args, kwargs)

    def where(self, place: str | int, /, *args: Any, **kwargs: Any) -> Statements | Statement:
        """What a line of yours, ``"model.py:12"``, became; or where a generated line comes from.

        With arguments, in the program for these; else in the one compiled last.
        """
        return where(self._latest(args, kwargs).program.source, place)

    def _callee(self, bound: bool = False) -> Callee:
        return Callee(self._function, self._transform, self._static, self._signature, bound)

    def draw(self, path: str | os.PathLike[str], /, *args: Any, **kwargs: Any) -> Path:
        """Draws the program for these arguments: ``.svg``, ``.dot``, or a whole report, ``.html``.

        The report has the function, the graph at each stage, the generated source and the picture
        side by side. Returns the path.
        """
        file = checked_path(path)
        args, kwargs = converted(array_leaf, (args, kwargs))
        arguments = self._bind(args, kwargs, whole=True)
        return draw(file, self._version_for(args, kwargs), self._function, arguments)

    def explain(self) -> str:
        """A report: versions, their guards, why and how long compiled, what the backward keeps.

        >>> import numpy as np, tracegrad as tg
        >>> slope = tg.grad(lambda x: (x**2).sum())
        >>> _ = slope(np.ones(3))
        >>> print(slope.explain().splitlines()[0])
        <lambda>: 1 version, 0 hits, 1 miss, 1 trace
        """
        return self._report(self._every)

    def _report(self, versions: Sequence[Version]) -> str:
        reason = self._given_up or self._by_arguments
        return report(self.__name__, self.cache_info(), self._budget, versions, reason)

    def __repr__(self) -> str:
        return called(self._transform.kind, self.__name__, self._traces, self._given_up)

    def _repr_html_(self) -> str:
        every = [version for versions in self._versions.values() for version in versions]
        return shown_in_notebook(repr(self), self._report(every), every[-1] if every else None)


class Bound(CallSlot):
    """A `Compiled` looked up on an instance, which becomes the first argument of every call."""

    def __init__(self, compiled: Compiled, instance: Any) -> None:
        self.__func__ = compiled
        self.__self__ = instance
        self.__call__ = MethodType(compiled, instance)
        self.__doc__, self.__module__ = compiled.__doc__, compiled.__module__

    def __getattr__(self, name: str) -> Any:
        """Its name and the like are those of the function, which every look-up need not copy."""
        if name == "__wrapped__":
            return self.__func__
        if name == "__signature__":
            return signature(self.__call__)
        if name in functools.WRAPPER_ASSIGNMENTS:
            return getattr(self.__func__, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name)

    @property
    def _in_traces(self) -> Any:
        """As `Compiled._in_traces`."""
        function = self.__func__._in_traces
        return function and MethodType(function, self.__self__)

    def __reduce__(self) -> tuple[Any, ...]:
        return Bound, (self.__func__, self.__self__)

    def __eq__(self, other: object) -> bool:
        """As of Python's bound methods: of one function, and of one and the same object."""
        if type(other) is not Bound:
            return NotImplemented
        return self.__self__ is other.__self__ and self.__func__ == other.__func__

    def __hash__(self) -> int:
        return hash((id(self.__self__), self.__func__))

    def source(self, *args: Any, part: str = "all", **kwargs: Any) -> str:
        """As `Compiled.source`."""
        return self.__func__.source(*self._given(args, kwargs), part=part, **kwargs)

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments with the object before them; none where they are left out but needed."""
        left_out = not args and not kwargs and self.__func__._needed > 1
        return () if left_out else (self.__self__, *args)

    def graph(self, *args: Any, stage: str = "optimized", **kwargs: Any) -> Graph:
        """As `Compiled.graph`."""
        return self.__func__.graph(*self._given(args, kwargs), stage=stage, **kwargs)

    def export(self, path: str | os.PathLike[str], /, *args: Any, **kwargs: Any) -> Path:
        """As `Compiled.export`; the object itself is no argument of the exported function."""
        given = self._given(args, kwargs)
        return self.__func__._exported(file_at(path), given, kwargs, self.__self__)

    def lower(self, *args: Any, platforms: Sequence[str] | None = None, **kwargs: Any) -> Any:
        """As `Compiled.lower`; what the object holds is constant."""
        from tracegrad.backends.jax import lowered

        return lowered(self, args, kwargs, platforms)

    def stablehlo(self, *args: Any, platforms: Sequence[str] | None = None, **kwargs: Any) -> str:
        """As `Compiled.stablehlo`."""
        text: str = self.lower(*args, platforms=platforms, **kwargs).as_text()
        return text

    def verify(self, *args: Any, **kwargs: Any) -> Verification:
        """As `Compiled.verify`."""
        return self.__func__.verify(self.__self__, *args, **kwargs)

    def where(self, place: str | int, /, *args: Any, **kwargs: Any) -> Statements | Statement:
        """As `Compiled.where`."""
        given = (self.__self__, *args) if args or kwargs else ()
        return self.__func__.where(place, *given, **kwargs)

    def draw(self, path: str | os.PathLike[str], /, *args: Any, **kwargs: Any) -> Path:
        """As `Compiled.draw`."""
        return self.__func__.draw(path, self.__self__, *args, **kwargs)

    def explain(self) -> str:
        """As `Compiled.explain`."""
        return self.__func__.explain()

    def cache_info(self) -> CacheInfo:
        """As `Compiled.cache_info`; versions of all instances are counted together."""
        return self.__func__.cache_info()

    def clear_cache(self) -> None:
        """As `Compiled.clear_cache`."""
        self.__func__.clear_cache()

    def __repr__(self) -> str:
        return f"<bound {self.__func__!r}>"

    def _repr_html_(self) -> str:
        return self.__func__._repr_html_()
