"""Transformations of graphs: reverse mode, forward mode, Jacobians, batching."""
