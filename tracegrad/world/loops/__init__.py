"""Loops of the user's code stay loops: one turn is recorded and stands for all."""
