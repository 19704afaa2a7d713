"""Kinds of values that ops and functions take: how ops are dispatched on them, and pytrees."""
