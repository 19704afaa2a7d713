"""The arguments of a call: how they are bound, flattened, keyed, and whether the call changes
them."""
