import jax
import jax.numpy as jnp


@jax.jit
def f(x, v, i):
    # f.py:2  y = np.exp(x)
    y = jnp.exp(x)
    # f.py:3  y[0] = v
    y = y.at[0].set(v)
    # f.py:4  e = y[::-1]
    e = y[::-1]
    # f.py:5  z[:] = e
    z = x.at[:].set(e)
    # f.py:6  t = z[i]
    t = z[i]
    # f.py:7  u = np.concatenate([t, y])
    u = jnp.concatenate([t, y])
    return (u,)
