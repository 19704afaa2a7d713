"""Settings that users choose, such as ``tg.config.backend = "jax"``."""

# Made by tests/type_stubs.py from the library as it runs.

backend: str

check: bool

check_finite: bool

compile: bool

fast_math: bool

max_bytes: int | None

versions: int
