"""Optimizes, emits, loads and interprets graphs, and finds the statement that made nan or inf."""
