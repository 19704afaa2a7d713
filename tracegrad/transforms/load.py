"""Loads an exported file: its function, which can be verified after an edit."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tracegrad.errors import ArgumentError, ExportError
from tracegrad.export.writer import export
from tracegrad.introspection.first_difference import File, departure
from tracegrad.introspection.verify import (
    Check,
    Departure,
    Verification,
    against_function,
    difference,
)
from tracegrad.ops.random_draws import given_back, sources_of
from tracegrad.runtime.thread_state import given_objects
from tracegrad.tracing.outputs import Transform
from tracegrad.transforms.compiled_callable import Bound, Compiled
from tracegrad.values.pytree import map_tree

__all__ = ["load"]


def load(path: str | os.PathLike[str], f: Any = None) -> Exported:
    """The function of a file that `.export` wrote, which may have been edited since.

    Parameters
    ----------
    path : path-like
        The exported ``.py`` file.
    f : callable, optional
        The function, or compiled callable, that it was exported from. Left out, it is imported
        from the file that the export names when `verify` needs it.

    Returns
    -------
    callable
        It takes what the exported function takes; ``.verify(*args)`` checks it against the
        function, finite differences and, statement by statement, the unedited program.

    Raises
    ------
    tg.errors.ExportError
        The file was not written by ``.export``.
    """
    place = Path(path)
    module = _imported(place, f"exported_{place.stem}")
    facts = getattr(module, "__tracegrad__", None)
    if not isinstance(facts, dict) or not hasattr(module, facts.get("exported", "")):
        raise ExportError(f"{place} was not written by .export: it has no __tracegrad__ facts")
    return Exported(place, module, facts, f)


class Exported:
    """An exported function, perhaps edited; made by `load`."""

    def __init__(self, path: Path, module: ModuleType, facts: dict[str, Any], f: Any) -> None:
        self._checked = getattr(module, facts["exported"])  # what calls the program
        self._function = getattr(module, facts.get("sparse", facts["exported"]))
        functools.update_wrapper(self, self._function, updated=())
        self._path, self._module, self._facts, self._from = path, module, facts, f

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<{self.__name__} exported to {self._path}>"

    def verify(self, *args: Any, tolerance: float | None = None, **kwargs: Any) -> Verification:
        """Whether the file still computes what the function does; prints as a report.

        tolerance
            How far apart numbers may be, of the largest; default 1e-9 (1e-4 for float32).
        """
        if "seeds" in self._facts:  # of a sparse derivative the products are checked
            args = (*args, getattr(self._module, self._facts["seeds"])())
        compiled, instance = _compiled(self._from or self._imported_function(), self._facts)
        whole = (*instance, *args)
        version = compiled._version_for(whole, kwargs)
        arguments = compiled._bind(whole, kwargs, whole=True)
        sources = sources_of(version.program.graph)
        for name, source in zip(self._facts.get("generators", ()), sources, strict=False):
            getattr(self._module, name).bit_generator.state = source.state
        with given_objects(arguments.objects):
            known = compiled, version, arguments
            return self._verified(*known, args, kwargs, tolerance, bool(instance))

    def _verified(
        self,
        compiled: Compiled,
        version: Any,
        arguments: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        tolerance: float | None,
        bound: bool,
    ) -> Verification:
        """The same, where the thread knows the objects among the arguments."""
        sources = sources_of(version.program.graph)
        checks = list(self._arrays(version.captured_arrays()))
        steps = self._steps(compiled, version, args, kwargs, tolerance, bound)
        stored = {name: getattr(self._module, name) for name in self._facts.get("stores", ())}
        try:
            given = map_tree(_copied, args), map_tree(_copied, kwargs)
            found = map_tree(_numpy, self._checked(*given[0], **given[1]))
        except Exception as error:  # of an edited program: it is part of the report
            said = f"{type(error).__name__}: {error}"
            return Verification(self.__name__, (Check("the call", False, said),), steps)
        finally:
            vars(self._module).update(stored)  # to look is not to call
        limit = 1e-9 if tolerance is None else tolerance
        with given_back(sources):
            checks += against_function(compiled, version, arguments, found, limit)
        wrong = not all(check.ok for check in checks)
        return Verification(self.__name__, tuple(checks), steps if wrong else None)

    def _arrays(self, now: list[Any]) -> list[Check]:
        """Whether the arrays in the file are those that the function reads."""
        checks = []
        for name, array in zip(self._facts.get("arrays", ()), now, strict=False):
            said = difference(getattr(self._module, name, 0.0), array, 0.0)
            if said:
                what = f"the array {name} of the file against what the function reads"
                checks.append(Check(what, False, said))
        return checks

    def _steps(
        self,
        compiled: Compiled,
        version: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        allowed: float | None,
        bound: bool,
    ) -> Departure | None:
        """The first statement that departs from the unedited program, if one does."""
        again = export(compiled._callee(bound), version, self._path)
        facts, path = self._facts, str(self._path)
        text = self._path.read_text(encoding="utf-8")
        arrays = tuple(facts.get("arrays", ()))
        edited = File(
            text,
            path,
            exported=facts["exported"],
            program=facts["program"],
            namespace={},
            arrays=arrays,
            around=self._around,
            convert=self._convert,
        )
        unedited = replace(edited, text=again.text, namespace=dict(again.arrays))
        return departure(edited, unedited, args, kwargs, allowed)

    def _around(self) -> AbstractContextManager[Any]:
        if self._facts["backend"] == "jax":
            from tracegrad.values.jax_library import wide_types

            return wide_types(True)
        return nullcontext()

    def _convert(self, leaf: Any) -> Any:
        """An array of its own: an edited program may write into its arguments."""
        if self._facts["backend"] == "jax" and isinstance(leaf, np.ndarray):
            from tracegrad.backends.jax import from_numpy

            return from_numpy(leaf)
        return _copied(leaf)

    def _imported_function(self) -> Any:
        """The function that the file was exported from, out of the file that it names."""
        facts = self._facts
        what = f"{self._path} was exported from {facts['function']}"
        pass_it = f"pass it: tg.load({str(self._path)!r}, f)"
        if facts.get("bound"):
            raise ArgumentError(f"{what}, a method of an object: {pass_it}, f being that method")
        if "file" not in facts or "<" in facts["function"]:
            raise ArgumentError(f"{what}, which cannot be imported: {pass_it}")
        file = (self._path.resolve().parent / facts["file"]).resolve()
        if not file.exists():
            raise ArgumentError(f"{what} in {file}, which is not there: {pass_it}")
        found: Any = module_of(file)
        for part in facts["function"].split("."):
            found = getattr(found, part, None)
        if found is None:
            raise ArgumentError(f"{what}, and {file} has no such name now: {pass_it}")
        return found


def module_of(file: Path) -> ModuleType:
    """The module of a Python file: the one that is loaded, else it is loaded now."""
    for module in list(sys.modules.values()) if file.exists() else ():
        known = getattr(module, "__file__", None)
        if not isinstance(known, str):  # a module may have any attribute
            continue
        if os.path.exists(known) and os.path.samefile(known, file):
            return module
    return _imported(file, file.stem)


def _imported(file: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None or not file.exists():
        raise ArgumentError(
            f"{file} is no Python file that can be read: tg.load reads files that .export wrote"
        )
    module = importlib.util.module_from_spec(spec)
    before = sys.path[:]
    sys.path.insert(0, str(file.resolve().parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
    return module


def _compiled(f: Any, facts: dict[str, Any]) -> tuple[Compiled, tuple[Any, ...]]:
    """The callable that the file was exported from, and the object that it is bound to."""
    if isinstance(f, Bound):
        return f.__func__, (f.__self__,)
    if isinstance(f, Compiled):
        return f, ()
    argnums = facts.get("argnums", 0)
    transform = Transform(
        facts["transform"],
        argnums if isinstance(argnums, int) else tuple(argnums),
        facts.get("has_aux", False),
        facts.get("count", 0),
        facts.get("mode", "auto"),
        facts.get("in_axes", 0),
        facts.get("out_axes", 0),
    )
    return Compiled(f, transform, facts["backend"], facts.get("static_argnames", ())), ()


def _copied(leaf: Any) -> Any:
    """An array of its own: an edited program may write into its arguments."""
    return leaf.copy(order="K") if isinstance(leaf, np.ndarray) else leaf


def _numpy(leaf: Any) -> Any:
    return np.asarray(leaf)[()] if type(leaf).__module__.startswith("jax") else leaf
