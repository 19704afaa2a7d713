import jax
import jax.numpy as jnp


@jax.jit
def a_function_with_a_long_name(
    parameter_0,
    parameter_1,
    parameter_2,
    parameter_3,
    parameter_4,
    parameter_5,
    parameter_6,
    parameter_7,
):
    # model.py:1  sum_of_products = (parameter_0 * parameter_1 + parameter_2 * parame...
    sum_of_products = (
        parameter_0 * parameter_1 + parameter_2 * parameter_3
    ) * parameter_4
    p_1 = jnp.concatenate([parameter_4, parameter_5, parameter_6, parameter_7])
    whole = jnp.concatenate([sum_of_products, p_1, parameter_7, parameter_1])
    return (whole,)
