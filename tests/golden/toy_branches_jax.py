import jax
import jax.numpy as jnp


@jax.jit
def f(x, y):
    # f.py:2  s = x.sum()
    s = x.sum()
    # f.py:3  if s < 1e9:
    look = 1000000000.0 > s
    # f.py:4  a = np.exp(x)
    a = jnp.exp(x)

    # f.py:5  if s > 1e9:
    def taken():
        # f.py:6  a = -a
        a_2 = -a
        return (a_2, s), (look,)

    def otherwise():
        # f.py:8  b = a * y
        b = a * y

        # f.py:9  if b.sum():
        def taken_2():
            # f.py:10  b = np.sin(b)
            b_2 = jnp.sin(b)
            return (b_2, s), (look,)

        def otherwise_2():
            # f.py:12  b = b * s
            b_2 = b * s
            return (b_2, s), (look,)

        return jax.lax.cond(b.sum() != 0, taken_2, otherwise_2)

    return jax.lax.cond(s > 1000000000.0, taken, otherwise)
