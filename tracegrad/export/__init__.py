"""Writes a compiled function as a Python file that needs no tracegrad."""
