import numpy as np


def f(x, v, i):
    # f.py:2  y = np.exp(x)
    y = np.exp(x)
    # f.py:3  y[0] = v
    y[0] = v
    # f.py:4  e = y[::-1]
    e = y[::-1]
    # f.py:5  z[:] = e
    z = x.copy()
    z[:] = e
    # f.py:6  t = z[i]
    t = z[i]
    # f.py:7  u = np.concatenate([t, y])
    u = np.concatenate([t, y])
    return (u,)
