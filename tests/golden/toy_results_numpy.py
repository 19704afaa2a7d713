import numpy as np


def f(pair, *, scale):
    x = pair[0]
    y = pair[1]
    q, r = np.divmod(x, y)
    divmod_, divmod__2 = np.divmod(q, r)
    mul = divmod__2 * scale
    p = -mul
    return {"p": p, "q": q}
