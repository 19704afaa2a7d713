import jax
import jax.numpy as jnp


@jax.jit
def f(x, y):
    # f.py:2  a = x + y
    a = x + y
    # f.py:3  a = a * x
    a = a * x
    # f.py:4  a = y - a
    a = y - a
    # f.py:5  a = np.sin(a)
    a = jnp.sin(a)
    # f.py:6  b = np.exp(a)
    b = jnp.exp(a)
    # f.py:7  c = b * b / x
    c = b * b / x
    # f.py:8  d = -c
    d = -c
    return (d,)
