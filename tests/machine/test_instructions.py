"""Each instruction of the running version is executed or refused; decoding is that of dis."""

import dis
import json
import opcode
import types

import pytest

from tracegrad.machine import Refused, refusal
from tracegrad.machine.decoding import as_compiled, exception_table
from tracegrad.machine.instruction_table import MAKERS
from tracegrad.machine.translation import translate

# What only asynchronous code, `except*`, or the interpreter itself uses.
REFUSED = {
    *("GET_AITER", "GET_ANEXT", "END_ASYNC_FOR", "BEFORE_ASYNC_WITH", "ASYNC_GEN_WRAP"),
    *("GET_AWAITABLE", "CHECK_EG_MATCH", "PREP_RERAISE_STAR"),
    *("INTERPRETER_EXIT", "RESERVED", "ENTER_EXECUTOR", "EXIT_INIT_CHECK", "PRINT_EXPR"),
}


def test_each_instruction_is_executed_or_refused():
    specialized = set(getattr(opcode, "_specialized_opmap", ())) | set(
        getattr(opcode, "_specialized_instructions", ())
    )
    named = {name for name, number in opcode.opmap.items() if number < 256}
    named = {name for name in named if not name.startswith("INSTRUMENTED")} - specialized
    assert named - set(MAKERS) <= REFUSED
    assert not REFUSED & set(MAKERS)


def codes_of(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes_of(const)


@pytest.mark.parametrize("module", [json.decoder, dis, types])
def test_decoding_is_that_of_dis(module):
    with open(module.__file__, encoding="utf-8") as file:
        whole = compile(file.read(), module.__file__, "exec")
    for code in codes_of(whole):
        instructions, handlers = as_compiled(code)
        theirs = [row for row in dis.get_instructions(code) if row.opname != "EXTENDED_ARG"]
        theirs = [row for row in theirs if row.opname != "CACHE"]
        assert [(row.opname, row.offset) for row in theirs] == [
            (row.name, row.offset) for row in instructions
        ]
        for mine, their in zip(instructions, theirs):
            if their.opcode in dis.hasjrel or their.opcode in dis.hasjabs:
                target = instructions[mine.arg].offset if mine.arg < len(instructions) else None
                assert target is not None and target >= their.argval
                assert all(row.offset < their.argval for row in instructions[: mine.arg])
            elif their.arg is not None:
                assert mine.arg == their.arg
        for entry, row in zip(dis._parse_exception_table(code), exception_table(code)):
            assert (entry.start, entry.end, entry.target, entry.depth, entry.lasti) == row
        assert len(handlers) == len(instructions)


def test_an_unknown_instruction_is_refused(monkeypatch):
    def function():
        return [1]

    monkeypatch.delitem(MAKERS, "RETURN_VALUE")
    assert refusal(function.__code__).endswith("holds the instruction RETURN_VALUE")
    with pytest.raises(Refused):
        translate(function.__code__)
