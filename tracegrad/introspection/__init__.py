"""Shows what was compiled: reports, pictures, explanations, comparisons."""
