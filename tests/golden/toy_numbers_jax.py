import jax
import jax.numpy as jnp


@jax.jit
def f(x, h, s, k):
    a = x * -2.5
    b = jnp.where(x, jnp.inf, -jnp.inf)
    d = a**0.5
    e = d + jnp.nan
    g = h * 0.1
    i = h * jnp.float64(0.1)
    j = s * jnp.float64(0.1)
    l = k * 7
    m = x - l
    n = jnp.clip(m, -jnp.inf, 1e300)
    o = x * 2j
    o = o * complex(1.5, -2.0)
    p = x + 1e-300
    return b, e, g, i, j, n, o, p
