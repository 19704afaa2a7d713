"""Transforms that run on Tensors, without a program of their own."""
