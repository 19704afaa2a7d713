import numpy as np


def f(x, y):
    # f.py:2  s = x.sum()
    s = x.sum()
    # f.py:3  if s < 1e9:
    if not 1000000000.0 > s:
        raise LookupError("f.py:3  if s < 1e9:  was only ever True")
    # f.py:4  a = np.exp(x)
    a = np.exp(x)
    # f.py:5  if s > 1e9:
    if s > 1000000000.0:
        # f.py:6  a = -a
        a = -a
        return a, s

    # f.py:8  b = a * y
    b = a * y
    # f.py:9  if b.sum():
    if b.sum():
        # f.py:10  b = np.sin(b)
        np.sin(b, out=b)
    else:
        # f.py:12  b = b * s
        b *= s
    return b, s
