"""The base class of the errors that codegen raises."""


class CodegenError(Exception):
    """A graph, a type or a source that codegen cannot accept; the message says which and why."""


class VerifyError(CodegenError):
    """An invariant of graphs does not hold."""
