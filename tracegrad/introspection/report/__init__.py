"""What a notebook or a browser shows of a compiled version."""
