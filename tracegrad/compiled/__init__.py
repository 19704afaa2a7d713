"""A compiled version of a function: its guards, its program, and the node that it is on the
tape."""
