import numpy as np


def f(x, y, z):
    a = ((-((y - (x - -((x + y) * z))) ** -3)) ** 3).sum(axis=0, keepdims=True)
    b = z / a
    b *= b
    np.divide(x, b, out=b)
    b /= y
    b = np.where(b > -(y**2.5), x, y)
    return (b,)
