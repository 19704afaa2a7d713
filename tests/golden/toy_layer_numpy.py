# The mean squared error of a layer.
# Valid for all sizes.
# Needs about 24*n1*n2 bytes beside its arguments
import numpy as np


def layer(w, b, x, y):
    # model.py:3  h = np.sin(x @ w + b)
    h = x @ w
    h += b
    np.sin(h, out=h)
    # model.py:4  err = h - y
    err = h - y
    # model.py:5  return np.mean(err**2)
    s = (err * err).sum() / y.size
    return (s,)
