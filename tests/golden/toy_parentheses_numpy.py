import numpy as np


def f(x, y, z):
    # Large arrays: in place, and tile by tile on all cores.
    if x.size >= 8192:
        return f_in_tiles(x, y, z)
    a = ((-((y - (x - -((x + y) * z))) ** -3)) ** 3).sum(axis=0, keepdims=True)
    b_1 = z / a
    b_1 *= b_1
    np.divide(x, b_1, out=b_1)
    b_1 /= y
    b = np.where(b_1 > -(y**2.5), x, y)
    return (b,)
