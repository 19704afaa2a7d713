"""SciPy's functions with derivatives, as code written for HIPS autograd imports them.

>>> from tracegrad import grad
>>> from tracegrad.scipy.stats import norm
>>> print(grad(norm.logpdf)(1.0))
-1.0
"""
