"""A code object enters; its instructions are run on kinds in place of values, along every path.

The stack of each instruction is the union of those that lead to it; variables have one set of kinds
for the whole body. What an operation gives is for the analysis to say. An instruction that is not
in the tables is a doubt, never a guess.
"""

from __future__ import annotations

import builtins
import dis
import sys
from collections.abc import Callable
from itertools import pairwise
from types import CodeType
from typing import Any

from tracegrad.bytecode import memo_by_code
from tracegrad.environment import kinds as k
from tracegrad.environment.kinds import ANY, NONE, C, Doubt, Kinds, union

NULL: Kinds = frozenset({"null"})  # what CPython pushes beside a callable

_IGNORED = frozenset({
    "NOP", "RESUME", "PRECALL", "COPY_FREE_VARS", "MAKE_CELL", "CACHE", "EXTENDED_ARG",
    "DELETE_FAST", "DELETE_DEREF", "SETUP_ANNOTATIONS", "JUMP_FORWARD", "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT", "NOT_TAKEN", "RETURN_GENERATOR_END",
})  # fmt: skip
_ENDS = frozenset({"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"})
_JUMPS = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"})
_COLLECTIONS = {"BUILD_LIST": "L", "BUILD_TUPLE": "L", "BUILD_SET": "M"}


def run(analysis: Any, code: CodeType) -> None:
    """One pass over a body; it starts a new one where a stack grew."""
    machine = _Machine(analysis, code)
    machine.flow(0, [])
    while machine.todo:
        machine.step(machine.todo.pop())


@memo_by_code
def _parts(code: CodeType) -> tuple[dict[int, Any], dict[int, int], list[Any]]:
    """The instructions by their offsets, the offset after each, and the exception handlers."""
    instructions = {i.offset: i for i in dis.get_instructions(code)}
    handlers = list(getattr(dis, "_parse_exception_table")(code))  # noqa: B009
    return instructions, dict(pairwise(instructions)), handlers


class _Machine:
    """The run of one code object."""

    def __init__(self, analysis: Any, code: CodeType) -> None:
        self.analysis = analysis
        self.code = code
        self.instructions, self.following, self.handlers = _parts(code)
        self.stacks: dict[int, list[Kinds]] = {}
        self.todo: list[int] = []
        self.line = code.co_firstlineno
        self.keywords: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        return f"in {self.code.co_name}, line {self.line}"

    def flow(self, offset: int | None, stack: list[Kinds]) -> None:
        """This stack reaches the instruction as well."""
        if offset is None:
            return
        before = self.stacks.get(offset)
        if before is not None and len(before) != len(stack):
            raise Doubt(f"the stack is not understood {self.where}")
        merged = stack if before is None else [a | b for a, b in zip(before, stack, strict=True)]
        if merged != before:
            self.stacks[offset] = merged
            self.todo.append(offset)

    def step(self, offset: int) -> None:
        """Runs one instruction and hands its stack to those that may follow."""
        instruction = self.instructions[offset]
        stack = list(self.stacks[offset])
        name, next_ = instruction.opname, self.following.get(offset)
        if instruction.positions is not None:
            self.line = instruction.positions.lineno or self.line
        for handler in self.handlers:
            if handler.start <= offset < handler.end:
                self.flow(handler.target, stack[: handler.depth] + [C] * (1 + handler.lasti))
        if name in _IGNORED:
            self.flow(instruction.argval if name in _JUMPS else next_, stack)
        elif name in _ENDS:
            self.end(name, instruction, stack)
        elif "JUMP" in name or name == "FOR_ITER":
            self.branch(name, instruction.argval, next_, stack)
        else:
            operation: Callable[..., None] | None = getattr(self, f"do_{name}", None)
            if operation is None:
                operation = self.by_table(name)
            operation(stack, instruction)
            self.flow(next_, stack)

    def end(self, name: str, instruction: Any, stack: list[Kinds]) -> None:
        if name.startswith("RETURN"):
            found = stack.pop() if name == "RETURN_VALUE" else k.kinds_of(instruction.argval)
            self.analysis.grow(self.analysis.results, self.code, found)

    def branch(self, name: str, target: int, next_: int | None, stack: list[Kinds]) -> None:
        if name == "FOR_ITER":
            items = self.analysis.iterate(stack[-1], self.where)
            self.flow(next_, [*stack, items])
            self.flow(self.after_loop(target), stack[:-1])
            return
        condition = stack[-1]
        if not name.endswith("NONE"):
            self.analysis.truth(condition, self.where)
        rest = stack[:-1]
        self.flow(next_, rest)
        self.flow(target, stack if name.endswith("OR_POP") else rest)

    def after_loop(self, target: int) -> int:
        """Where a loop goes on that is done: it has dropped its iterator by then."""
        if self.instructions[target].opname != "END_FOR":
            return target
        after = self.following[target]
        return self.following[after] if sys.version_info >= (3, 13) else after

    def by_table(self, name: str) -> Callable[..., None]:
        if name in _COLLECTIONS:
            return self.collect
        if name.startswith("UNARY"):
            return self.unary
        raise Doubt(f"{name} is not understood {self.where}")

    # -- names --------------------------------------------------------------------------------

    def do_LOAD_CONST(self, stack: list[Kinds], i: Any) -> None:
        if isinstance(i.argval, CodeType):
            stack.append(k.called(i.argval))
            return
        stack.append(k.kinds_of(i.argval))

    def load(self, name: str) -> Kinds:
        found = self.analysis.variables.get((self.code, name), NONE)
        return found | self.analysis.cells.get(name, NONE)

    def do_LOAD_FAST(self, stack: list[Kinds], i: Any) -> None:
        stack.append(self.load(i.argval))

    do_LOAD_FAST_CHECK = do_LOAD_FAST_AND_CLEAR = do_LOAD_FAST_BORROW = do_LOAD_FAST

    def do_STORE_FAST(self, stack: list[Kinds], i: Any) -> None:
        self.store(i.argval, stack.pop())

    def store(self, name: str, found: Kinds) -> None:
        before = self.analysis.variables.get((self.code, name), NONE)
        if not found <= before:
            self.analysis.grow(self.analysis.variables, (self.code, name), found)
            self.todo += self.stacks  # whoever loads it runs again

    def do_LOAD_FAST_LOAD_FAST(self, stack: list[Kinds], i: Any) -> None:
        stack += [self.load(name) for name in i.argval]

    def do_STORE_FAST_LOAD_FAST(self, stack: list[Kinds], i: Any) -> None:
        self.store(i.argval[0], stack.pop())
        stack.append(self.load(i.argval[1]))

    def do_STORE_FAST_STORE_FAST(self, stack: list[Kinds], i: Any) -> None:
        for name in i.argval:
            self.store(name, stack.pop())

    def do_LOAD_DEREF(self, stack: list[Kinds], i: Any) -> None:
        own = self.analysis.variables.get((self.code, i.argval), NONE)  # a parameter in a cell
        stack.append(own | self.analysis.cells.get(i.argval, NONE))
        for code in self.analysis.scopes:
            if i.argval in code.co_cellvars:
                stack[-1] |= self.analysis.variables.get((code, i.argval), NONE)

    do_LOAD_CLASSDEREF = do_LOAD_DEREF

    def do_STORE_DEREF(self, stack: list[Kinds], i: Any) -> None:
        self.analysis.grow(self.analysis.cells, i.argval, stack.pop())

    def do_LOAD_CLOSURE(self, stack: list[Kinds], i: Any) -> None:
        stack.append(C)

    def do_LOAD_GLOBAL(self, stack: list[Kinds], i: Any) -> None:
        if i.arg & 1:
            stack.append(NULL)
        found = NONE
        for scope in self.analysis.scopes[self.code]:
            if i.argval in scope:
                found |= k.kinds_of(scope[i.argval])
            elif hasattr(builtins, i.argval):
                found |= k.kinds_of(getattr(builtins, i.argval))
        stack.append(found)

    def do_LOAD_ATTR(self, stack: list[Kinds], i: Any) -> None:
        found = self.analysis.attribute(stack.pop(), i.argval, self.where)
        stack += [NULL, found] if sys.version_info >= (3, 12) and i.arg & 1 else [found]

    def do_LOAD_SUPER_ATTR(self, stack: list[Kinds], i: Any) -> None:
        del stack[-3:]
        found = self.analysis.of_object(i.argval, self.where)
        stack += [NULL, found] if i.arg & 1 else [found]

    def do_LOAD_METHOD(self, stack: list[Kinds], i: Any) -> None:
        found = self.analysis.attribute(stack.pop(), i.argval, self.where)
        stack += [NULL, found]

    def do_STORE_ATTR(self, stack: list[Kinds], i: Any) -> None:
        stack.pop()
        self.analysis.grow(self.analysis.attributes, i.argval, stack.pop())

    # -- operators ----------------------------------------------------------------------------

    def do_BINARY_OP(self, stack: list[Kinds], i: Any) -> None:
        b, a = stack.pop(), stack.pop()
        stack.append(self.analysis.operator(a, b, self.where))

    def do_COMPARE_OP(self, stack: list[Kinds], i: Any) -> None:
        b, a = stack.pop(), stack.pop()
        stack.append(self.analysis.comparison(a, b, self.where))

    def do_IS_OP(self, stack: list[Kinds], i: Any) -> None:
        objects = frozenset("TKAV")
        self.analysis.identities |= bool(stack[-1] & objects and stack[-2] & objects)
        del stack[-2:]
        stack.append(C)

    def do_CONTAINS_OP(self, stack: list[Kinds], i: Any) -> None:
        container, item = stack.pop(), stack.pop()
        lists = frozenset(x for x in container if "M" not in x[:2])
        self.analysis.refuse(self.analysis.contents(lists), "arrays are compared", self.where)
        if "O" in container:
            raise Doubt(f"a search in an object {self.where}")
        self.analysis.refuse(container | item, "a search in an array", self.where)
        stack.append(C)

    def unary(self, stack: list[Kinds], i: Any) -> None:
        found = stack.pop()
        self.analysis.truth(found, self.where)  # no sign or truth of an array either
        stack.append(C if i.opname == "UNARY_NOT" else found)

    def do_BINARY_SUBSCR(self, stack: list[Kinds], i: Any) -> None:
        index, a = stack.pop(), stack.pop()
        stack.append(self.analysis.subscript(a, index, self.where))

    def do_STORE_SUBSCR(self, stack: list[Kinds], i: Any) -> None:
        index, a, value = stack.pop(), stack.pop(), stack.pop()
        self.analysis.refuse(a | index, "an array is written to", self.where)
        if "C" in a:
            self.analysis.refuse(value, "an array is written to", self.where)
        self.analysis.put(value)

    def do_BINARY_SLICE(self, stack: list[Kinds], i: Any) -> None:
        self.analysis.refuse(stack.pop() | stack.pop(), "a slice", self.where)
        stack.append(self.analysis.subscript(stack.pop(), k.SLICE, self.where))

    def do_STORE_SLICE(self, stack: list[Kinds], i: Any) -> None:
        raise Doubt(f"a slice is written to {self.where}")

    def do_TO_BOOL(self, stack: list[Kinds], i: Any) -> None:
        self.analysis.truth(stack.pop(), self.where)
        stack.append(C)

    def do_DELETE_SUBSCR(self, stack: list[Kinds], i: Any) -> None:
        self.analysis.refuse(stack.pop(), "an index", self.where)
        stack.pop()

    # -- containers ---------------------------------------------------------------------------

    def collect(self, stack: list[Kinds], i: Any) -> None:
        parts = [stack.pop() for _ in range(i.arg)][::-1]
        if i.opname == "BUILD_TUPLE":
            stack.append(self.analysis.row(parts))
            return
        stack.append(self.analysis.container(_COLLECTIONS[i.opname], union(parts)))

    def do_BUILD_MAP(self, stack: list[Kinds], i: Any) -> None:
        parts = [stack.pop() for _ in range(2 * i.arg)]
        stack.append(self.analysis.container("M", union(parts[::2])))

    def do_BUILD_CONST_KEY_MAP(self, stack: list[Kinds], i: Any) -> None:
        stack.pop()
        parts = [stack.pop() for _ in range(i.arg)]
        stack.append(self.analysis.container("M", union(parts)))

    def do_BUILD_SLICE(self, stack: list[Kinds], i: Any) -> None:
        parts = union([stack.pop() for _ in range(i.arg)])
        self.analysis.refuse(parts, "a slice", self.where)
        stack.append(k.SLICE)

    def do_BUILD_STRING(self, stack: list[Kinds], i: Any) -> None:
        del stack[len(stack) - i.arg :]
        stack.append(C)

    def do_FORMAT_WITH_SPEC(self, stack: list[Kinds], i: Any) -> None:
        stack.pop()
        self.do_FORMAT_VALUE(stack, i)

    def do_FORMAT_VALUE(self, stack: list[Kinds], i: Any) -> None:
        if i.opname == "FORMAT_VALUE" and i.arg & 4:
            stack.pop()
        found = stack.pop()
        if "K" in found or not found <= C | {"T"}:
            raise Doubt(f"text is made of something {self.where}")
        stack.append(C)

    do_FORMAT_SIMPLE = do_CONVERT_VALUE = do_FORMAT_VALUE

    def extend(self, stack: list[Kinds], i: Any) -> None:
        found = stack.pop()
        inner = self.analysis.iterate(found, self.where) | self.analysis.contents(found)
        stack[-i.arg] |= self.analysis.container("M" if "DICT" in i.opname else "L", inner)

    do_LIST_EXTEND = do_SET_UPDATE = do_DICT_UPDATE = do_DICT_MERGE = extend

    def append(self, stack: list[Kinds], i: Any) -> None:
        self.analysis.put(stack.pop())  # into the list of a comprehension

    do_LIST_APPEND = do_SET_ADD = append

    def do_MAP_ADD(self, stack: list[Kinds], i: Any) -> None:
        self.analysis.put(stack.pop())
        stack.pop()

    def do_LIST_TO_TUPLE(self, stack: list[Kinds], i: Any) -> None:
        pass

    def do_UNPACK_SEQUENCE(self, stack: list[Kinds], i: Any) -> None:
        stack += self.analysis.unpacked(stack.pop(), i.arg, self.where)[::-1]

    def do_UNPACK_EX(self, stack: list[Kinds], i: Any) -> None:
        items = self.analysis.iterate(stack.pop(), self.where)
        stack += [items | self.analysis.container("L", items)] * ((i.arg & 0xFF) + 1 + (i.arg >> 8))

    def do_GET_ITER(self, stack: list[Kinds], i: Any) -> None:
        items = self.analysis.iterate(stack.pop(), self.where)
        stack.append(self.analysis.container("L", items))

    # -- the stack, calls, exceptions ---------------------------------------------------------

    def do_PUSH_NULL(self, stack: list[Kinds], i: Any) -> None:
        stack.append(NULL)

    def do_POP_TOP(self, stack: list[Kinds], i: Any) -> None:
        stack.pop()

    do_END_FOR = do_POP_ITER = do_POP_TOP

    def do_COPY(self, stack: list[Kinds], i: Any) -> None:
        stack.append(stack[-i.arg])

    def do_SWAP(self, stack: list[Kinds], i: Any) -> None:
        stack[-1], stack[-i.arg] = stack[-i.arg], stack[-1]

    def do_KW_NAMES(self, stack: list[Kinds], i: Any) -> None:
        names = self.code.co_consts[i.arg]
        stack.append(frozenset({("names", names)}))

    def do_CALL(self, stack: list[Kinds], i: Any) -> None:
        names: tuple[str, ...] = ()
        if any(type(atom) is tuple and atom[0] == "names" for atom in stack[-1]):
            ((_, names),) = stack.pop()
        given = [stack.pop() for _ in range(i.arg)][::-1]
        callee = (stack.pop() | stack.pop()) - NULL
        first = given[: len(given) - len(names)]
        later = dict(zip(names, given[len(first) :], strict=True))
        stack.append(self.analysis.call(callee, first, later, self.where))

    def do_CALL_FUNCTION_EX(self, stack: list[Kinds], i: Any) -> None:
        raise Doubt(f"a call with * {self.where}")

    def do_MAKE_FUNCTION(self, stack: list[Kinds], i: Any) -> None:
        function = stack.pop()
        for bit in (8, 4, 2, 1):
            if (i.arg or 0) & bit:
                self.defaults(function, bit, stack.pop())
        stack.append(function)

    def defaults(self, function: Kinds, bit: int, found: Kinds) -> None:
        """Defaults that are made with a function: any parameter may have them."""
        for _, code, _ in function if bit < 3 else ():
            names = code.value.co_varnames
            for name in names[: code.value.co_argcount + code.value.co_kwonlyargcount]:
                given = self.analysis.contents(found)
                self.analysis.grow(self.analysis.variables, (code.value, name), given)

    def do_SET_FUNCTION_ATTRIBUTE(self, stack: list[Kinds], i: Any) -> None:
        function = stack.pop()
        self.defaults(function, i.arg, stack.pop())
        stack.append(function)

    def do_CALL_KW(self, stack: list[Kinds], i: Any) -> None:
        ((_, _, names),) = stack.pop()
        stack.append(frozenset({("names", names.value)}))
        self.do_CALL(stack, i)

    def do_CALL_INTRINSIC_1(self, stack: list[Kinds], i: Any) -> None:
        match i.arg:
            case 3:  # STOPITERATION_ERROR
                stack[-1] = C
            case 5:
                self.unary(stack, i)
            case 6:  # LIST_TO_TUPLE
                pass
            case _:
                raise Doubt(f"{i.opname} {i.arg} is not understood {self.where}")

    def do_LOAD_ASSERTION_ERROR(self, stack: list[Kinds], i: Any) -> None:
        stack.append(C)

    def do_PUSH_EXC_INFO(self, stack: list[Kinds], i: Any) -> None:
        stack.append(C)

    def do_CHECK_EXC_MATCH(self, stack: list[Kinds], i: Any) -> None:
        stack[-1] = C

    def do_POP_EXCEPT(self, stack: list[Kinds], i: Any) -> None:
        stack.pop()

    # -- generators ---------------------------------------------------------------------------

    def do_RETURN_GENERATOR(self, stack: list[Kinds], i: Any) -> None:
        stack.append(C)

    def do_YIELD_VALUE(self, stack: list[Kinds], i: Any) -> None:
        self.analysis.grow(self.analysis.yielded, self.code, stack.pop())
        stack.append(ANY - {"A", "V"})
