"""Ops that make, reshape, join, index and pad arrays."""
