import numpy as np


def f(x, h, s, k):
    # Large arrays: in place, and tile by tile on all cores.
    if x.size >= 8192:
        return f_in_tiles(x, h, s, k)
    a = x * -2.5
    b = np.where(x, np.inf, -np.inf)
    d = a**0.5
    e = d + np.nan
    g = h * 0.1
    i = h * np.float64(0.1)
    j = s * np.float64(0.1)
    l = k * 7
    m = x - l
    n = np.clip(m, -np.inf, 1e300)
    del a, d, m
    o = x * 2j
    o *= complex(1.5, -2.0)
    p = x + 1e-300
    return b, e, g, i, j, n, o, p
