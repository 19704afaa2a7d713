import jax
import jax.numpy as jnp


@jax.jit
def f(pair, *, scale):
    x = pair[0]
    y = pair[1]
    q, r = jnp.divmod(x, y)
    divmod_, divmod__2 = jnp.divmod(q, r)
    mul = divmod__2 * scale
    p = -mul
    return {"p": p, "q": q}
