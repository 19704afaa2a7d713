import numpy as np


def f(x, y):
    # Large arrays: in place, and tile by tile on all cores.
    if x.size >= 8192:
        return f_in_tiles(x, y)
    # f.py:2  a = x + y
    a = x + y
    # f.py:3  a = a * x
    a *= x
    # f.py:4  a = y - a
    np.subtract(y, a, out=a)
    # f.py:5  a = np.sin(a)
    np.sin(a, out=a)
    # f.py:6  b = np.exp(a)
    b = np.exp(a)
    # f.py:7  c = b * b / x
    c = b * b / x
    # f.py:8  d = -c
    d = -c
    return (d,)
