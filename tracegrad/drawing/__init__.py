"""A compiled version enters; a picture, a report or what a notebook shows of it leaves."""
