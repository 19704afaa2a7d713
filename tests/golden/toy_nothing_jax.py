import jax
import jax.numpy as jnp


@jax.jit
def f(x, y):
    x_2 = jnp.array(x)
    x_3 = jnp.array(x)
    z = jnp.full(x.shape, 0.0, dtype=jnp.float64)
    return x_2, x_3, z
