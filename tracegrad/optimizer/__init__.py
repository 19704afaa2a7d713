"""Rewrites of graphs that traits cannot say, and preparations for targets."""
