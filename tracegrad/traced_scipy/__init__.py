"""SciPy's functions on Tensors, by the names that SciPy gives them."""
