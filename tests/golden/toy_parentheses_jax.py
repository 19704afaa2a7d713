import jax
import jax.numpy as jnp


@jax.jit
def f(x, y, z):
    a = ((-((y - (x - -((x + y) * z))) ** -3)) ** 3).sum(axis=0, keepdims=True)
    b_1 = z / a
    b = jnp.where(x / (b_1 * b_1) / y > -(y**2.5), x, y)
    return (b,)
