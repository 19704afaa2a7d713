"""Reverse mode through loops: what a turn keeps for its backward, and how the backward reads
it."""
