"""Random programs of nested loops, and programs in which loops are easily taken for what they are
not: compiled calls give what plain Python gives, and gradients those of the tape, bit for bit."""

from __future__ import annotations

import loop_programs as programs
import pytest

PLAIN = """
def f(x, w, c):
    s = c
    for t in range(10):
        s = s * 0.5 + x[t]
    return s
"""
SEEDS = range(20)  # more by the command


@pytest.mark.sampled(10, 2)  # many of them take half a minute
@pytest.mark.parametrize("seed", [*SEEDS])
def test_random_programs_of_loops(seed):
    """What differs with all loops unrolled as well is not of loops, and not asked here."""
    text, inputs = programs.program_text(programs.program(seed)), programs.inputs_of(seed)
    found = programs.faults(text, inputs)
    if found is not None:
        with programs.unrolled():
            assert programs.faults(text, inputs) is not None, f"{found}\n{text}"


def test_some_of_them_stay_loops(few):
    seeds = few(SEEDS[1:], 5)
    texts = [(programs.program_text(programs.program(s)), programs.inputs_of(s)) for s in seeds]
    assert sum(programs.loops_in(text, inputs) for text, inputs in texts) > len(seeds) // 2


def test_none_of_them_stays_one_where_loops_are_unrolled():
    text, inputs = programs.program_text(programs.program(0)), programs.inputs_of(0)
    with programs.unrolled():
        assert programs.faults(PLAIN, inputs) is None
        assert programs.loops_in(PLAIN, inputs) == 0 == programs.loops_in(text, inputs)
    assert programs.loops_in(PLAIN, inputs) == 1


def test_shortening_keeps_what_is_faulty():
    body = programs.program(3)

    def calls_tanh(less):
        return "tanh" in programs.text_of(less)

    assert calls_tanh(body)
    short = programs.shortened(body, calls_tanh)
    assert calls_tanh(short) and len(programs.text_of(short)) < len(programs.text_of(body))


PROGRAMS = {
    "a maximum that is an int at first": """
    m = 0
    for t in range(10):
        m = max(m, x[t])
    return m * 1.0
""",
    "slices whose lengths change": """
    s = 0.0
    for t in range(13):
        s = s + x[t : t + 3].sum() * 0.5
    return s
""",
    "a power that is an int or a float": """
    s = 0.0
    for t in range(-2, 10):
        s = s + x[1] * 2**t
    return s
""",
    "a variable outside that the turns write": """
    s = 0.0
    for t in range(10):
        s = s + x[t] * G.v
        G.v = G.v * 0.5
    return s
""",
    "a variable of a closure that the turns write": """
    s = 0.0

    def add(v):
        nonlocal s
        s = s + v

    for t in range(12):
        add(x[t])
    return s
""",
    "a list under two names": """
    a = []
    b = a
    for t in range(10):
        a.append(x[t])
    return sum(b)
""",
    "an array that a list holds too": """
    y = x * 0.5
    kept = [y]
    for t in range(9):
        y[t] = y[t] * 2 + 1
    return kept[0].sum()
""",
    "an array that the caller of a loop holds": """
    def fill(y):
        for t in range(9):
            y[t] = y[t] * 2 + x[t]

    y = np.zeros(12)
    fill(y)
    return (y * y).sum()
""",
    "an argument that the turns write": """
    s = 0.0
    for t in range(9):
        G.v = 1.0
        y = x * 1.0
        y[t] = x[t] * 0.5
        s = s + y[t]
    return s
""",
    "an array under two names": """
    a = w * 1.0
    b = a
    for t in range(10):
        b[0] = x[t]
        a = a * 0.9
        b = a
    return (a * b).sum()
""",
    "an exception that a turn raises, caught around the loop": """
    s, n = 0.0, 0
    try:
        for t in range(20):
            n = n + 1
            s = s * 0.5 + x[t]
    except IndexError:
        s = s * n
    return s
""",
    "an exception that is caught in the turn": """
    s = 0.0
    for t in range(20):
        try:
            s = s + x[t]
        except IndexError:
            s = s * 2
    return s
""",
    "a logarithm that no result depends on": """
    s, y = 0.0, np.log(x[0])
    for t in range(10):
        y = np.log(x[t])
        s = s + x[t]
        if t > 20:
            s = s + y
    return s
""",
    "a list that a comprehension fills": """
    return sum([x[t] * t for t in range(12)])
""",
    "a generator whose turns others go on with": """
    def running():
        u = 0.0
        for t in range(12):
            u = u + x[t]
            yield u

    s = 0.0
    for v in running():
        s = s * 0.5 + v
    return s
""",
    "an iterator that the turn goes on with": """
    s, numbers = 0.0, iter(range(14))
    for t in numbers:
        s = s * 0.5 + x[t]
        s = s + next(numbers, 0) * x[t]
    return s
""",
    "an iterator that is left and gone on with": """
    s, numbers = 0.0, iter(range(14))
    for t in numbers:
        s = s * 0.5 + x[t]
        if t > 4:
            break
    s = s + next(numbers)
    for t in numbers:
        s = s * 0.5 + x[t]
    return s
""",
    "a number that is compared by identity": """
    s, k = 0.0, 5
    for t in range(10):
        if t is k:
            s = s + x[t]
    return s
""",
    "a parameter that a list holds for the backward": """
    a = w * 1.0
    for t in range(10):
        a = np.sin(a) * x[t]
    return a.sum()
""",
    "a while loop in another, entered again": """
    s, i = 0.0, 0
    while i < 10:
        j = 0
        while j < 9:
            s = s * 0.5 + x[j] * i
            j += 1
        i += 1
    return s
""",
    "a number that a tuple hands on": """
    s, p = c, (0.0, x[2])
    for t in range(12):
        s, r = p
    return s + r
""",
    "a loop that is left in a turn, with gradients that only earlier turns have": """
    p, q, r = x[0], x[1], x[2]
    for t in range(12):
        p, q = p + 0.3 * np.cos(q), q + 0.2 * np.sin(p) * r
        r = np.tanh(r * p) + 0.5
        if p > 1.5:
            return p * p
    return q
""",
    "an inner loop that goes on where it stood in a turn before it": """
    s = c
    for t in range(10):
        last = None
        for v in x * 1.5:
            if v * x[t] > 0.3:
                last = v * c
        if last is not None:
            s = s + last
    return s
""",
    "two variables that begin as one array": """
    a = b = w
    for t in range(12):
        a = np.sin(a) * w + b * 0.3
        b = np.cos(b) * a + w * b
    return (a * b).sum()
""",
    "what a loop begins with is read in its turns": """
    a = w
    for t in range(12):
        a = np.sin(a) * w + a * (0.3 - w) - a
    return a.sum()
""",
    "what a loop begins with is read behind it": """
    a = w
    for t in range(12):
        a = np.sin(a) * 0.7 + a * x[t] - a * a
    return (a * w + w).sum()
""",
    "what an inner loop begins with is read by the outer one": """
    a, s = w, 0.0
    for t in range(9):
        b = a
        for u in range(9):
            b = np.sin(b) * 0.7 + a * b * x[u]
        a = np.tanh(a * b)
        s = s + (a * w).sum()
    return s
""",
}
"""The side conditions under which one turn may stand for all, each in programs that break it."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_turn_stands_for_no_other(name):
    text = f"{programs.PRELUDE}\n\ndef f(x, w, c):{PROGRAMS[name]}"
    assert programs.faults(text, programs.inputs_of(1)) is None


def test_plain_sums_stay_loops():
    text = f"{programs.PRELUDE}\n\ndef f(x, w, c):\n"
    text += "    s = 0.0\n    for t in range(10):\n        s = s + x[t] ** 2\n    return s\n"
    assert programs.loops_in(text, programs.inputs_of(1)) == 1
