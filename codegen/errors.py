"""The one root of the errors that codegen raises: what a caller may catch."""


class CodegenError(Exception):
    """A graph, a type or a text that codegen cannot accept; the message says which and why."""
