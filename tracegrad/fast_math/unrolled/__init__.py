"""The steps of `batch_turns`: what unrolled turns repeat becomes work on whole arrays."""
