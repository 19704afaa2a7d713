"""Ops that reduce axes: sums, products, extremes, softmax."""
