"""Lists of arrays as arguments: one program for lists of all lengths, where nobody counts them."""

import copy
import dataclasses
import random
import warnings

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import TracegradError

RNG = np.random.default_rng(0)


def arrays(count, shape=(3,), dtype=np.float64):
    return [RNG.normal(size=shape).astype(dtype) for _ in range(count)]


def total(rows):
    t = 0.0
    for row in rows:
        t = t + np.sum(row * row)
    return t


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def leaves(x):
    """The arrays in a structure, and numbers."""
    if dataclasses.is_dataclass(x):
        x = [getattr(x, field.name) for field in dataclasses.fields(x)]
    if isinstance(x, dict):
        x = [x[key] for key in sorted(x)]
    return [y for item in x for y in leaves(item)] if isinstance(x, list | tuple) else [x]


def as_tensors(x):
    if dataclasses.is_dataclass(x):
        return dataclasses.replace(x, **{k: as_tensors(v) for k, v in vars(x).items()})
    if isinstance(x, dict):
        return {key: as_tensors(item) for key, item in x.items()}
    if isinstance(x, list | tuple):
        return type(x)(map(as_tensors, x))
    return tg.tensor(x, requires_grad=True)


def eagerly(function, arguments):
    """Value and gradients, by a tape."""
    given = as_tensors(arguments)
    value = function(*given)
    value.backward()
    slopes = [np.zeros(x.shape) if x.grad is None else x.grad.numpy() for x in leaves(given)]
    return value.detach().numpy(), slopes


def test_lists_of_all_lengths_share_a_program():
    f = tg.value_and_grad(total)
    for count in (10, 12, 40, 100, 8):
        rows = arrays(count)
        value, slopes = f(rows)
        expected, expected_slopes = eagerly(total, (rows,))
        assert type(slopes) is list and len(slopes) == count
        assert same(value, expected) and all(map(same, slopes, expected_slopes))
    assert f.cache_info().versions == 2  # of ten arrays, and of any number
    lengths = {len(f.source(arrays(count)).splitlines()) for count in (20, 200)}
    assert len(lengths) == 1 and max(lengths) < 40


def test_tuples_stay_tuples_and_signs_of_zeros_stay():
    f = tg.grad(total)
    for count in (9, 11, 13):
        rows = tuple(-np.zeros((2, 2)) for _ in range(count))
        found = f(rows)
        assert type(found) is tuple
        assert all(same(slope, -np.zeros((2, 2))) for slope in found)
    assert f.cache_info().versions == 2


def test_other_dtypes_ranks_and_layouts_are_told_apart():
    f = tg.value_and_grad(total)
    kinds = [
        lambda n: arrays(n),
        lambda n: arrays(n, (2, 2)),
        lambda n: arrays(n, dtype=np.float32),
        lambda n: [np.asfortranarray(x) for x in arrays(n, (3, 2))],
        lambda n: [x[::2] for x in arrays(n, (8,))],
        lambda n: [*arrays(n), *arrays(1, (4,))],
        lambda n: [*arrays(n), *arrays(1, dtype=np.float32)],
    ]
    for count in (9, 12, 15):
        for kind in kinds:
            rows = kind(count)
            value, slopes = f(rows)
            expected, expected_slopes = eagerly(total, (rows,))
            assert same(value, expected) and all(map(same, slopes, expected_slopes))


def counted(rows):
    t = total(rows)
    return t * 2.0 if len(rows) > 12 else t


def unpacked(rows):
    first, *others = rows
    return total(rows) + np.sum(first) * len(others)


def sliced(rows):
    return total(rows[1:])


def raising(rows):
    t = total(rows)
    if len(rows) == 12:
        raise ValueError("twelve")
    return t


def beyond(rows):
    return total(rows) + np.sum(rows[11])


def writing(rows):
    t = total(rows)
    rows[0] = rows[1]
    return t + np.sum(rows[0])


def printing(rows):
    print(len(rows))
    return total(rows)


@pytest.mark.parametrize(
    "function", [counted, unpacked, sliced, raising, beyond, writing, printing]
)
def test_what_looks_at_the_list_is_right(function, capsys):
    f = tg.value_and_grad(function)
    for count in (10, 12, 13, 9, 14):
        rows = arrays(count)
        plain, given = copy.copy(rows), copy.copy(rows)
        capsys.readouterr()
        try:
            expected = function(plain)
        except Exception as error:
            with pytest.raises(type(error)):
                f(given)
            continue
        said = capsys.readouterr().out
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value, _ = f(given)
        assert same(value, expected) and capsys.readouterr().out == said
        assert all(a is b for a, b in zip(given, plain, strict=True))


def test_effects_happen_once():
    log = []

    def f(rows):
        t = total(rows)
        log.append(len(rows))
        return t

    g = tg.grad(f)
    for count in (10, 12, 14, 12, 3):
        g(arrays(count))
    assert log == [10, 12, 14, 12, 3]


def test_a_list_at_two_places_is_one_list():
    def f(a, b):
        t = 0.0
        for x, y in zip(a, b):
            t = t + np.sum(x * x) + np.sum(y)
        return t

    g = tg.value_and_grad(f, (0, 1))
    for count in (9, 11, 13):
        for one in (arrays(count), arrays(count)):
            for two in (one, arrays(count)):
                value, slopes = g(one, two)
                assert same(value, f(one, two))
                assert all(same(s, 2.0 * x) for s, x in zip(slopes[0], one, strict=True))
                assert all(same(s, np.ones(3)) for s in slopes[1])


def test_an_array_of_the_list_that_is_written_to():
    def f(rows, y, k):
        t = 0.0
        y += 1.0
        for row in rows:
            t = t + np.sum(row) * k
        return t

    g = tg.grad(f, 2)
    for count in (9, 11, 13):
        rows, plain = arrays(count), arrays(1)[0]
        assert np.isclose(g(rows, plain, 2.0), sum(map(np.sum, rows)))
    rows = arrays(14)
    with pytest.raises(TracegradError, match="shares memory"):
        g(rows, rows[3], 2.0)


def test_an_exported_gradient_takes_lists_of_any_length(tmp_path):
    f = tg.value_and_grad(total)
    f(arrays(9)), f(arrays(11))
    path = tmp_path / "written.py"
    f.export(path, arrays(12))
    names: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    rows = arrays(17)
    value, slopes = names["total"](rows)
    assert same(value, total(rows)) and len(slopes) == 17
    for wrong in (rows[:3], tuple(rows), [], [*rows, np.ones(2)], [np.ones((2, 2)).T[:, :1]] * 9):
        with pytest.raises((TypeError, ValueError)):
            names["total"](wrong)


def test_what_looks_inside_knows_such_lists():
    f = tg.value_and_grad(total)
    f(arrays(9)), f(arrays(11))
    assert "a list of any length of float64 with 1 axis" in f.explain()
    assert "rows had 9 arrays, has 11" in f.explain()
    assert "len(rows) >= 8" in f.explain()
    assert f.verify(arrays(15)).ok
    assert "rows: a list of n0 arrays, float64 (n1,)" in f.source(arrays(15))


@dataclasses.dataclass
class Held:
    rows: list
    k: float


STATEMENTS = (
    "for r in {}:\n        t = t + np.sum(r * w)",
    "for r in {}:\n        t = t + np.sum(np.tanh(r) * r)",
    "for r in {}:\n        h = np.tanh(h + r)",
    "for i, r in enumerate({}):\n        t = t + np.sum(r * w) * (i + 1)",
    "for r in reversed({}):\n        h = 0.5 * h + r",
    "for a, b in zip({0}, {0}):\n        t = t + np.sum(a * b)",
    "for i in range(len({0})):\n        t = t + np.sum({0}[i] * h)",
    "for i in range(1, len({0})):\n        t = t + np.sum({0}[i] * {0}[i - 1])",
    "t = t + np.sum({}[0] * w)",
    "t = t + np.sum({}[-1] * w)",
    "for r in {}:\n        if np.sum(r) > 0:\n            t = t + np.sum(r * r)",
    "t = t / len({})",
    "hs = []\n    for r in {}:\n        hs.append(np.sin(r) + h)\n    for q in hs:\n"
    "        t = t + np.sum(q * w)",
    "for r in {}:\n        t = t + np.sum(r * w)\n        if t > 50.0:\n            break",
    "t = t + np.sum(np.stack({}) * 0.5)",
    "if len({}) > 12:\n        t = t * 2.0",
    "t = t + sum(np.sum(r) for r in {})",
    "t = t + np.sum(tg.stack([np.sum(r * w) for r in {}]))",
    "for r in {}[1:]:\n        t = t + np.sum(r * w)",
    "for r, u in zip({}, us):\n        t = t + np.sum(r * u)",
)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_over_lists(seed):
    drawn, numbers = random.Random(seed), np.random.default_rng(seed)
    name = drawn.choice(["rows", "p['rows']", "q.rows"])
    parts = "\n    ".join(drawn.choice(STATEMENTS).format(name) for _ in range(drawn.randint(1, 3)))
    text = f"def f({name[0] if name[1:] != 'ows' else 'rows'}, w, us):\n    t = 0.0\n"
    text += f"    h = w * 0.5\n    {parts}\n    return t + np.sum(h * h)\n"
    names = {"np": np, "tg": tg}
    exec(compile(text, f"<{seed}>", "exec"), names)
    f = names["f"]
    g = tg.value_and_grad(f, (0, 1, 2))
    kind, shape = drawn.choice([list, tuple]), drawn.choice([(3,), (2, 3), (1,)])

    def filled(count):
        found = [numbers.normal(size=shape) for _ in range(count)]
        for x in found:
            if drawn.random() < 0.15:
                x[...] = drawn.choice([0.0, -0.0])
        return kind(found)

    for count in (drawn.randint(8, 12), drawn.randint(8, 20), drawn.randint(1, 30)):
        rows, us, w = filled(count), filled(count), numbers.normal(size=shape)
        given = {"rows": rows, "p['rows']": {"rows": rows, "k": 1.5}, "q.rows": Held(rows, 2.0)}
        arguments = given[name], w, us
        expected, slopes = eagerly(f, arguments)
        value, found = g(*arguments)
        assert same(value, expected), text
        assert all(map(same, leaves(found), slopes)), text
