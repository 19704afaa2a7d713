import numpy as np


def f(a, b, c):
    x = a + b
    len_ = x * c
    for_ = np.exp(len_)
    jnp_2 = np.sin(for_)
    x_2 = for_ - jnp_2
    match_ = x * x_2
    x_2 = match_ + len_
    return x_2, jnp_2
