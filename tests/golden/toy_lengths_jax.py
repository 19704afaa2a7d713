import jax
import jax.numpy as jnp


@jax.jit
def f(x, y, z):
    s = x.sum()
    c = jnp.broadcast_to(y, (2, x.shape[0]))
    n = x.size
    m = 2 * x.shape[1] + 1
    k = len(range(*slice(1, None, 2).indices(x.shape[0])))
    q = x.size // 2
    nm = jnp.float64(n) * m
    kq = jnp.float64(k) * q
    all_ = nm * kq
    d = z / all_
    e = d * 6.0
    a = jnp.full(x.shape, s, dtype=jnp.float64)
    b = jnp.full((x.shape[1], x.shape[0]), s, dtype=jnp.float64)
    c = jnp.array(c)
    return a, b, c, e
