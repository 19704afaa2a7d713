import numpy as np


def f(x):
    # f.py:2  s = x.sum()
    s = x.sum()
    # f.py:3  if s < 1e9:
    if not 1000000000.0 > s:
        raise LookupError("f.py:3  if s < 1e9:  was only ever True")
    # f.py:4  if not s > 1e9:
    if s > 1000000000.0:
        raise LookupError("f.py:4  if not s > 1e9:  was only ever False")
    # f.py:5  int(s)
    if not int(s) == 3:
        raise LookupError("f.py:5  int(s)  was only ever 3")
    # f.py:6  float(s)
    if not s == 3.5:
        raise LookupError("f.py:6  float(s)  was only ever 3.5")
    # f.py:7  return x * s, s
    y = x * s
    return y, s
