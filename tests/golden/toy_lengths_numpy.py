import numpy as np


def f(x, y, z):
    s = x.sum()
    c = np.broadcast_to(y, (2, x.shape[0]))
    n = x.size
    m = 2 * x.shape[1] + 1
    k = len(range(*slice(1, None, 2).indices(x.shape[0])))
    q = x.size // 2
    nm = np.float64(n) * m
    kq = np.float64(k) * q
    all_ = nm * kq
    d = z / all_
    e = d * 6.0
    a = np.full(x.shape, s, dtype=np.float64)
    b = np.full((x.shape[1], x.shape[0]), s, dtype=np.float64)
    c = np.array(c)
    return a, b, c, e
