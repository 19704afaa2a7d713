"""Ops on vectors and matrices: contractions, solving, decompositions, norms."""
