"""Random programs whose turns compute with vectors and small matrices."""

from __future__ import annotations

import random

import numpy as np

VECTORS = (
    *("{v} + {w}", "{v} * {w}", "0.5 * {v} - {w}", "{v} / (1.0 + {w} * {w})", "{s} * {v}", "-{v}"),
    *("np.sin({v})", "np.tanh({v} - {w})", "np.exp(-{v} * {v})", "np.sqrt(np.abs({v}) + 0.5)"),
    *("{A} @ {v}", "{v} @ {A}", "{A}.T @ {w}", "x[t]", "{A}[0]", "{A}[:, 1]", "x[t] * {s}"),
    *("np.maximum({v}, 0.25)", "np.where({v} > {w}, {v}, {s})", "np.zeros(n)", "{v} - {v}.sum()"),
    *("np.log1p({v} * {v})", "np.cos(x[t, 0] * {v})", "{v}**2", "{v} + 1.5", "({A} @ {B}) @ {v}"),
    *("np.exp({A}[:, 0] - 1.0)", "{A}.sum(axis=0)", "{A}.sum(axis=1)", "{v} - {v}.max()"),
    *("{v} / (np.linalg.norm({w}) + 1.0)", "np.full(n, {s})", "np.array([{s}] * 2)[0] * {v}"),
)
NUMBERS = (
    *("{v}.sum()", "np.sum({v} * {w})", "{v} @ {w}", "{v}[0]", "{A}[0, 1]", "0.5 * {s} + x[t, 1]"),
    *("{v}.max()", "{A}.min()", "({v} > {w}).sum() * {s}", "np.linalg.norm({v})"),
    *("np.log({s} * {s} + 1.0)", "({A} * {B}).sum()", "np.tanh({s})", "{v} @ {A} @ {w}", "{v}[-1]"),
    *("{s} / ({v}.sum() ** 2 + 1.0)", "np.sum(np.exp(-{A} * {A}))", "float(t) * 0.01 + {s}"),
)
MATRICES = (
    *("np.outer({v}, {w})", "{A} @ {B}", "{A}.T @ {B}", "{A} @ {A}.T", "{A} + {B}.T", "{A} * {s}"),
    *("{v}[:, None] * {w}", "{v}[:, None] + {A}", "{A} - {w}", "np.eye(n) * {s}", "np.tanh({A})"),
    *("{A} - {A}.sum(axis=0, keepdims=True)", "{A} / (1.0 + {A}.sum(axis=1, keepdims=True) ** 2)"),
    *("{A} / (1.0 + {s} * {s})", "{A} @ {B} @ {A}.T", "{A} * {B} - {v}", "np.zeros((n, n)) + {s}"),
)
WRITES = (
    "rows[t] = {v}",
    "rows[t, 1] += {s}",
    "rows[t] += {v}",
    "u = np.array({v}); u[0] = {s}; v = u",
)


def program(seed: int) -> str:
    """The text of a function ``f(x, w, m)`` of rows, a vector and a square matrix."""
    rng = random.Random(seed)
    lines = ["def f(x, w, m):", "    n = len(w)"]
    lines += [
        "    v, u, s = w, x[0], w[1]",
        "    A, B = m, m * 0.5",
        "    rows = np.zeros((len(x), n))",
    ]
    lines += ["    kept = []", f"    for t in range({rng.choice(['len(x)', '1, len(x)', '30'])}):"]
    statements = [line for _ in range(rng.randint(2, 6)) for line in _statement(rng)]
    if rng.random() < 0.4:
        at = rng.randint(0, len(statements))
        arms = [_statement(rng) for _ in range(2)]
        arms = [[f"    {line}" for line in arm] for arm in arms]
        test = rng.choice(["s > 0.1", "v[0] < s", "t == 2"])
        statements[at:at] = [
            f"if {test}:",
            *arms[0],
            *(["else:", *arms[1]] if rng.random() < 0.6 else []),
        ]
    if rng.random() < 0.3:
        inner = [line for _ in range(rng.randint(1, 3)) for line in _statement(rng, "k")]
        statements += ["for k in range(3):", *(f"    {line}" for line in inner)]
    if rng.random() < 0.3:
        statements.append("kept.append(v)")
    lines += [f"        {line}" for line in statements]
    if "kept.append(v)" in statements:
        lines += ["    for h in kept:", "        s = s * 0.5 + (h * v).sum()"]
    lines.append("    return s + (v * u).sum() + (A * B).sum() + (rows * x).sum()")
    return "\n".join(lines)


def _statement(rng: random.Random, turn: str = "t") -> list[str]:
    """An assignment, whose values stay small."""
    names = {
        **dict(zip("vw", rng.choices(["v", "u", "w"], k=2), strict=True)),
        **dict(zip("AB", rng.choices(["A", "B", "m"], k=2), strict=True)),
        "s": "s",
    }
    choice = rng.random()
    if choice < 0.45:
        target, text, bound = rng.choice("vu"), rng.choice(VECTORS), "np.tanh({})"
    elif choice < 0.65:
        target, text, bound = "s", rng.choice(NUMBERS), "np.tanh({})"
    elif choice < 0.9:
        target, text, bound = rng.choice("AB"), rng.choice(MATRICES), "0.3 * ({})"
    else:
        return rng.choice(WRITES).format(**names).split("; ")
    text = text.format(**names)
    if rng.random() < 0.5:
        text = bound.format(text)
    elif target == "A" or target == "B":
        text = f"({text}) * 0.25"
    return [f"{target} = {text}"]


def function(seed: int):
    """The function."""
    scope: dict = {"np": np}
    exec(compile(program(seed), f"<array loop {seed}>", "exec"), scope)
    return scope["f"]


def inputs(seed: int, dtype: str = "float64"):
    """Rows, a vector and a matrix."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    arrays = rng.normal(size=(40, n)), rng.normal(size=n), rng.normal(size=(n, n)) * 0.4
    return tuple(a.astype(dtype) for a in arrays)
