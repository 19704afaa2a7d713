"""The public transforms: grad, vjp, jvp, vmap, compile, and the callables that they return."""
