"""The Tensor: its operators, methods, conversions, printing, and NumPy's functions on it."""
