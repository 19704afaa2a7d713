import numpy as np


def grad(x, w):
    # model.py:3  h = x * w
    h = x * w
    # model.py:4  return np.exp(h)
    y = np.exp(h)

    # backward
    # model.py:4  return np.exp(h)
    h_bar = -y * y
    # model.py:3  h = x * w
    x_bar = h_bar * w
    w_bar = h_bar * x
    return y, (x_bar, w_bar)
