"""The table of ops, in families: type rules, spellings, derivative and batching rules."""
