"""Optimizes, emits and loads graphs, runs them, and finds the statement that made nan or inf."""
