import jax
import jax.numpy as jnp


@jax.jit
def f(x):
    # f.py:2  s = x.sum()
    s = x.sum()
    # f.py:3  if s < 1e9:
    look = 1000000000.0 > s
    # f.py:4  if not s > 1e9:
    look_2 = ~(s > 1000000000.0)
    # f.py:5  int(s)
    look_3 = jnp.trunc(s) == 3
    # f.py:6  float(s)
    look_4 = s == 3.5
    # f.py:7  return x * s, s
    y = x * s
    return (y, s), (look, look_2, look_3, look_4)
