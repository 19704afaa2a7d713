"""Functions enter; their sparse Jacobians and Hessians are the dense ones, in few products."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.transforms.column_colouring import mirrored, star_colours

sparse = pytest.importorskip("scipy.sparse")


def agree(f, *args, kind="jacobian", derivative=None, **given):
    """The sparse derivative, which is the dense one; returns the callable."""
    own = derivative or getattr(tg, kind)(f, sparse=True, **given)
    matrix = own(*args)
    dense = np.asarray(getattr(tg, kind)(f, **given)(*args))
    assert isinstance(matrix, sparse.csr_array)
    assert matrix.has_sorted_indices
    np.testing.assert_allclose(matrix.toarray(), dense.reshape(matrix.shape), rtol=1e-9, atol=1e-9)
    return own


def colours(derivative):
    return int(re.search(r"(\d+) colours", derivative.explain().splitlines()[0])[1])


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def heat(u):
    """Five points, on a square."""
    inner = u[1:-1, 1:-1]
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return around - 4.0 * inner + np.exp(inner)


def tridiagonal(x):
    y = 3.0 * x + x**3
    y[1:] -= x[:-1]
    y[:-1] -= 2.0 * x[1:]
    return y


POINT = np.linspace(-1.0, 1.0, 12)


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: np.diff(x) ** 2, POINT),
        (tridiagonal, POINT),
        (heat, np.sin(np.arange(36.0)).reshape(6, 6)),
        (lambda x: np.sin(x[0]) * x, POINT),
        (lambda x: np.sum(x**2), POINT),
        (lambda x: x, POINT),
        (lambda x: np.outer(x[:3], x[3:6]), POINT),
        (lambda x: np.zeros(3) + 0.0 * x[:3], POINT),
    ],
)
def test_jacobians(f, x, mode):
    agree(f, x, mode=mode)


def test_few_colours():
    assert colours(agree(tridiagonal, POINT)) == 3
    assert colours(agree(heat, np.ones((9, 9)))) <= 7
    arrow = agree(lambda x: x[0] * x, POINT)
    assert colours(arrow) == 2


def test_auto_takes_fewer_colours():
    wide = agree(lambda x: x.reshape(3, 4).sum(axis=1) ** 2, POINT)
    assert "reverse" in wide.explain().splitlines()[0]
    assert colours(wide) == 1


def test_rosenbrock_hessian():
    from scipy.optimize import rosen_hess

    hessian = tg.hessian(rosenbrock, sparse=True)
    x = np.linspace(-1.0, 1.0, 1000)
    found = hessian(x)
    assert found.nnz == 2998
    assert colours(hessian) == 3
    np.testing.assert_allclose(found.toarray(), rosen_hess(x), rtol=1e-9)
    first = hessian.explain().splitlines()[0]
    assert first == "sparse: 1000 x 1000, 2998 nonzeros, 3 colours, forward mode"


@pytest.mark.parametrize(
    "f",
    [
        rosenbrock,
        lambda x: np.sum(np.sin(x) * x[::-1]),
        lambda x: np.sum(x) ** 2,
        lambda x: np.sum(x),
        lambda x: np.sum(heat(x.reshape(3, 4)) ** 2),
    ],
)
def test_hessians(f):
    agree(f, POINT, kind="hessian")


def test_star_colouring():
    """An arrow: columns would need a colour each."""
    arrow = agree(lambda x: x[0] * np.sum(x**2), POINT, kind="hessian")
    assert colours(arrow) == 2
    i, j = np.random.default_rng(1).integers(0, 30, (2, 60))
    x = np.linspace(-1.0, 1.0, 30)
    agree(lambda x: np.sum(np.sin(x[i] * x[j])) + x[0] * np.sum(x**3), x, kind="hessian")


@pytest.mark.parametrize("seed", range(20))
def test_star_colours_give_every_entry(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    matrix = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < rng.choice([0.03, 0.1, 0.4])))
    matrix += matrix.T
    pattern = sparse.csr_array(matrix != 0.0)
    found = star_colours(pattern)
    products = matrix @ (found[:, None] == np.arange(found.max() + 1))
    rows, columns = matrix.nonzero()
    swapped = mirrored(pattern, found)
    place, unit = np.where(swapped, columns, rows), np.where(swapped, rows, columns)
    np.testing.assert_allclose(products[place, found[unit]], matrix[rows, columns], atol=1e-12)


def way(x):
    if x[0] > 0.0:
        return np.diff(x)
    if x[1] > 0.0:
        return x[1:] * x[0]
    return x[:-1] ** 2


CAMERAS = np.array([0, 0, 1, 2, 2, 3])
POINTS = np.array([0, 1, 1, 2, 3, 0])


def residuals(cameras, points, camera, point):
    seen = points[point] - cameras[camera][:, :3]
    return (seen[:, :2] / (3.0 + seen[:, 2:]) * cameras[camera][:, 3:]).ravel()


@pytest.mark.parametrize("argnums", [0, 1])
def test_bundle_adjustment(argnums):
    rng = np.random.default_rng(0)
    cameras, points = rng.normal(size=(4, 4)) * 0.1, rng.normal(size=(4, 3)) * 0.1
    own = agree(residuals, cameras, points, CAMERAS, POINTS, argnums=argnums)
    assert colours(own) <= 4
    # other whole numbers are another pattern
    for _ in range(3):
        camera, point = rng.integers(0, 4, 6), rng.integers(0, 4, 6)
        agree(residuals, cameras, points, camera, point, argnums=argnums, derivative=own)


def sights(v, camera, point):
    """As `residuals`, of one vector for cameras, points and weights, of which rows read few."""
    cameras, points, weights = v[:16].reshape(4, 4), v[16:28].reshape(4, 3), v[28:]
    lens = 1.0 + np.sum(cameras[camera], axis=1) * np.sum(points[point], axis=1)
    seen = residuals(cameras, points, camera, point).reshape(-1, 2)
    seen = (weights * lens)[:, None] * seen
    return np.concatenate([seen.ravel(), 1.0 - weights**2])


def test_derivatives_in_what_is_gathered():
    """A camera is seen by many sights, but each gathers it for itself."""
    rng = np.random.default_rng(1)
    v, camera, point = rng.normal(size=48) * 0.1, *rng.integers(0, 4, (2, 20))
    own = agree(sights, v, camera, point)
    assert own.explain().startswith("sparse: 60 x 48") and colours(own) == 3
    assert "reverse mode up to where elements are read" in own.explain()
    assert colours(agree(sights, v, camera, point, mode="forward")) >= 8
    for _ in range(2):
        camera, point = rng.integers(0, 4, (2, 20))
        agree(sights, rng.normal(size=48) * 0.1, camera, point, derivative=own)


@pytest.fixture
def always_by_elements(monkeypatch):
    monkeypatch.setattr("tracegrad.transforms.sparse_derivatives.MANY_COLOURS", 0)
    monkeypatch.setattr("tracegrad.transforms.sparse_derivatives.DEARER", 0)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: np.diff(x) ** 2, POINT),
        (tridiagonal, POINT),
        (heat, np.sin(np.arange(36.0)).reshape(6, 6)),
        (lambda x: np.sin(x[0]) * x + x[::-1] * x, POINT),
        (lambda x: x[::-1], POINT),
        (lambda x: x, POINT),
        (lambda x: x[np.array([0, 0, 3])] * x[np.array([1, 0, 3])], POINT),
        (lambda x: np.outer(x[:3], x[3:6]) + np.tile(x[:3], (3, 1)), POINT),
        (lambda x: np.repeat(x, 2).reshape(4, 6).T * 2.0, POINT),
        (lambda x: x[np.argsort(x)[:3]] ** 2, POINT),
        (lambda x: np.ones(3), POINT),
        (lambda x: x**2, 2.0),
        (lambda x: x**2, np.zeros(0)),
        (way, POINT),
        (lambda x: np.cumsum(x) * x[2], POINT),
    ],
)
def test_by_elements_of_every_kind(f, x, always_by_elements):
    own = agree(f, x)
    for turn in (-1.0, 0.5, 1.0):
        agree(f, turn * x, derivative=own)


def test_by_elements_in_single_precision_with_aux(always_by_elements):
    own = tg.jacobian(lambda x: (x[1:] * x[0], x.sum()), has_aux=True, sparse=True)
    matrix, aux = own(POINT.astype("float32"))
    assert matrix.dtype == np.float32 and "up to where" in own.explain()
    expected = tg.jacobian(lambda x: x[1:] * x[0])(POINT)
    np.testing.assert_allclose(matrix.toarray(), expected, rtol=1e-6)
    np.testing.assert_allclose(aux, POINT.sum(), atol=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_by_elements(seed, always_by_elements):
    rng = np.random.default_rng(seed)
    f = random_program(rng)
    own = agree(f, rng.normal(size=8))
    agree(f, rng.normal(size=8), derivative=own)


def test_whole_numbers_from_outside_are_looked_at():
    places = np.array([0, 1, 2])

    def f(x):
        return x[places] ** 2

    own = agree(f, POINT)
    places[:] = [5, 4, 4]
    agree(f, POINT, derivative=own)


def test_indices_made_of_floats_are_dense():
    def f(x):
        return x[np.argsort(x)[:3]] ** 2

    own = agree(f, POINT)
    agree(f, -POINT, derivative=own)
    agree(f, np.cos(POINT * 7), derivative=own)


def test_masks_of_floats():
    def f(x):
        picked = x[x > 0.0]
        return np.concatenate([picked, x])[:5] * 2.0

    own = tg.jacobian(f, sparse=True)
    for x in (POINT, -POINT - 0.4, np.roll(POINT, 3)):
        steps = np.eye(12) * 1e-6
        expected = np.stack([(f(x + h) - f(x - h)) / 2e-6 for h in steps], axis=1)
        np.testing.assert_allclose(own(x).toarray(), expected, atol=1e-8)


def test_branches():
    own = tg.jacobian(way, sparse=True)
    for turn in range(3):
        for signs in ([1, 1], [-1, 1], [-1, -1]):
            x = np.abs(POINT) + 0.1
            x[:2] *= signs
            agree(way, x + 0.0 * turn, derivative=own)


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_branches_of_several_lengths(mode):
    def f(x):
        return 2.0 * x[1:] if x[0] > 0.0 else x[2:] * x[:-2]

    own = tg.jacobian(f, sparse=True, mode=mode)
    for x in (POINT, -POINT, POINT, POINT - 0.1, -POINT):
        np.testing.assert_allclose(own(x).toarray(), tg.jacobian(f, mode="forward")(x))
    assert "not known" not in own.explain().splitlines()[0]


def test_what_has_no_rule_is_dense():
    matrix = np.eye(4) * 5.0 + np.ones((4, 4))
    agree(lambda x: np.linalg.solve(matrix, x[:4]), POINT)
    agree(lambda x: np.abs(np.fft.fft(x)), POINT)
    agree(lambda x: np.convolve(x, np.ones(3)), POINT)


def test_small_ones():
    agree(lambda x: x**2, 2.0)
    agree(lambda x: x**2, np.array(2.0))
    agree(lambda x: x * np.ones(3), 2.0)
    agree(lambda x: np.ones(3), POINT)
    agree(lambda x: x**2, np.zeros(0))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.where(x > 0.0, x, x[::-1]),
        lambda x: np.maximum(x, x[::-1]),
        lambda x: np.maximum(x, 0.0) * x[0],
        lambda x: x * np.roll(x, 1),
        lambda x: np.clip(x, -0.5, 0.5),
        lambda x: np.sort(x),
        lambda x: np.cumsum(x),
        lambda x: np.max(x.reshape(3, 4), axis=1),
        lambda x: np.prod(x.reshape(3, 4), axis=0),
        lambda x: np.linalg.norm(x.reshape(3, 4), axis=1) + 1.0,
    ],
)
def test_the_pattern_is_that_of_all_values(f):
    """A plan of one point serves all: zeros there are no zeros of the pattern."""
    own = agree(f, np.arange(1.0, 13.0))
    stored = own(np.arange(1.0, 13.0)).nnz
    for x in (POINT, -POINT, np.ones(12), np.cos(9.0 * POINT)):
        agree(f, x, derivative=own)
        assert own(x).nnz == stored


def test_zeros_of_data_stay():
    def f(x, a):
        return a * x

    own = agree(f, POINT, np.zeros(12))
    agree(f, POINT, np.ones(12), derivative=own)
    assert own(POINT, np.zeros(12)).nnz == 12


def test_other_shapes_are_other_plans():
    own = tg.jacobian(lambda x: np.diff(x) ** 2, sparse=True)
    for n in (5, 9, 5, 2, 3, 1, 30, 9):
        assert own(np.arange(float(n))).shape == (n - 1, n)
        agree(lambda x: np.diff(x) ** 2, np.arange(float(n)), derivative=own)


def test_what_is_read_outside():
    scale = 2.0

    def f(x):
        return x[1:] * scale if scale < 5.0 else x[:-1] * x[-1]

    own = agree(f, POINT)
    scale = 3.0
    agree(f, POINT, derivative=own)
    scale = 7.0
    agree(f, POINT, derivative=own)


class Model:
    def __init__(self):
        self.w, self.k, self.scales = np.ones(12), 1, [1.0, 2.0]

    def __call__(self, x):
        return x[self.k :] * self.w[self.k :] * self.scales[0]


def test_what_an_object_holds():
    model = Model()
    own = agree(model.__call__, POINT)
    model.w = 3.0 * model.w
    agree(model.__call__, POINT, derivative=own)
    model.w[3] = 7.0
    agree(model.__call__, POINT, derivative=own)
    model.k = 4
    agree(model.__call__, POINT, derivative=own)
    model.scales[0] = 5.0
    agree(model.__call__, POINT, derivative=own)


def test_pytrees_beside_the_argument():
    def f(x, p):
        return np.diff(x) * p["w"][0].sum() + p["w"][1]

    own = agree(f, POINT, {"w": [np.ones((2, 2)), 3.0]})
    agree(f, POINT, {"w": [np.ones((4, 1)), 1.0]}, derivative=own)


def test_methods():
    class Chain:
        def __init__(self, stiffness):
            self.stiffness = stiffness

        @tg.hessian(argnums=1, sparse=True)
        def energy(self, x):
            return np.sum(self.stiffness * np.diff(x) ** 2)

    for stiffness in (1.0, 2.0):
        chain = Chain(stiffness)
        expected = tg.hessian(lambda x, k=stiffness: np.sum(k * np.diff(x) ** 2))(POINT)
        np.testing.assert_allclose(chain.energy(POINT).toarray(), expected)
        assert "3 colours" in chain.energy.explain()


def test_threads():
    from concurrent.futures import ThreadPoolExecutor

    own = tg.jacobian(way, sparse=True)
    points = [np.roll(POINT, k)[: 6 + k % 3] for k in range(24)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(own, points))
    for x, matrix in zip(points, found, strict=True):
        np.testing.assert_allclose(matrix.toarray(), tg.jacobian(way)(x), atol=1e-12)


def test_settings_are_arguments():
    def f(x, k):
        return x[k:] * x[0]

    own = tg.jacobian(f, sparse=True)
    for k in (1, 2, 1, 5):
        agree(f, POINT, k, derivative=own)


def smoothed(x):
    y = x
    for _ in range(3):
        y = y[1:] * y[:-1]
    return y


def heat_steps(u):
    for _ in range(12):
        u = u + 0.1 * (np.roll(u, 1) - 2.0 * u + np.roll(u, -1))
    return u


def filled_by_neighbours(x):
    y = np.zeros(len(x))
    for i in range(1, len(x) - 1):
        y[i] = x[i] * (x[i + 1] - x[i - 1])
    return y


def recurrence(x):
    y = np.zeros(len(x))
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = 0.5 * np.sin(y[i - 1]) + x[i]
    return y


def listed(x):
    return np.stack([x[i] * x[i + 1] for i in range(len(x) - 1)])


def rows_of(x):
    out = []
    for row in x.reshape(-1, 2):
        out.append(row**2 * row[::-1])
    return np.concatenate(out)


def summed(x):
    total = 0.0
    for i in range(len(x) - 1):
        total = total + (x[i + 1] - x[i] ** 2) ** 2
    return total


def two_loops(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(2):
            y[i] = y[i] + x[i] ** (j + 2)
    return y[1:] * y[:-1]


def counted(x):
    y, i = np.zeros(len(x)), 1
    while i < len(x):
        y[i] = x[i - 1] ** 2
        i += 1
    return y


def halved(x):
    y = x
    while np.sum(y**2) > 0.01:
        y = 0.5 * y + 0.001 * np.sin(x) * x[0]
    return y


def clipped_turns(x):
    y = np.zeros(len(x))
    for i in range(1, len(x)):
        if x[i] > 0.0:
            y[i] = x[i] * x[i - 1]
        else:
            y[i] = x[0] ** 2
    return y


def left_early(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > 2.5:
            break
        y[i] = x[i] ** 2
    return y


LONG = np.linspace(-1.0, 1.0, 20)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize(
    ("f", "colours_of"),
    [
        (smoothed, 4),
        (filled_by_neighbours, 3),
        (recurrence, 20),
        (listed, 2),
        (rows_of, 2),
        (two_loops, 2),
        (counted, 1),
        (halved, 2),
        (clipped_turns, 3),
        (left_early, 1),
    ],
)
def test_loops(f, colours_of, mode):
    own = agree(f, LONG, mode=mode)
    first = own.explain().splitlines()[0]
    if "not known" not in first:  # turns leave lists of any length for the way back
        assert mode == "reverse" or colours(own) == colours_of
        for x in (-LONG, 3.0 * LONG, np.cos(7.0 * LONG)):
            agree(f, x, mode=mode, derivative=own)
    else:
        assert (f, mode) in ((halved, "reverse"), (clipped_turns, "reverse"))


def carried_into_a_list(x):
    kept, c = [], 0.0
    for v in x:
        c = np.sin(c + v)
        kept.append(c * v)
    return np.stack(kept)


def powers(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > 0:
            y[i] = x[i] ** 2
        else:
            y[i] = x[i] ** 3
    return y


@pytest.mark.parametrize("f", [carried_into_a_list, powers])
def test_loops_of_which_no_mode_is_told(f):
    random = np.random.default_rng(0)
    agree(f, random.normal(size=10))


@pytest.mark.parametrize("f", [summed, lambda x: np.sum(recurrence(x) ** 2 + heat_steps(x) ** 3)])
def test_hessians_of_loops(f):
    own = agree(f, LONG, kind="hessian")
    assert "not known" not in own.explain().splitlines()[0]


def test_loops_stay_loops():
    own = agree(filled_by_neighbours, np.linspace(0.0, 1.0, 300))
    assert len(own.source().splitlines()) < 60
    assert "\n    for i in range(" in own.source()
    assert colours(own) == 3
    hessian = tg.hessian(summed, sparse=True)
    assert hessian(np.linspace(0.0, 1.0, 200)).nnz == 598
    assert len(hessian.source().splitlines()) < 80


def test_a_loop_of_many_steps_is_dense(monkeypatch):
    monkeypatch.setattr("tracegrad.transforms.sparsity.MOST_STEPS", 50)
    assert "not known" not in agree(filled_by_neighbours, LONG).explain().splitlines()[0]
    monkeypatch.setattr("tracegrad.transforms.sparsity.STEPS_PER_COLUMN", 1)
    assert "not known" in agree(filled_by_neighbours, LONG).explain().splitlines()[0]


MATRICES = np.random.default_rng(5).normal(size=(4, 3, 3)) + 4.0 * np.eye(3)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.cross(x, x[::-1]),
        lambda x: np.max(x, axis=1),
        lambda x: np.min(x, axis=1, keepdims=True) * x,
        lambda x: np.prod(x, axis=-1),
        lambda x: np.cumprod(x, axis=1),
        lambda x: np.sort(x, axis=1),
        lambda x: np.std(x, axis=1),
        lambda x: np.var(x, axis=1, keepdims=True) + x,
        lambda x: np.median(x, axis=1),
        lambda x: np.linalg.norm(x, axis=1),
        lambda x: tg.special.softmax(x, axis=1),
        lambda x: tg.special.log_softmax(x, axis=1),
        lambda x: tg.special.logsumexp(x, axis=1),
        lambda x: np.abs(np.fft.rfft(x, axis=1)) ** 2,
        lambda x: np.linalg.solve(MATRICES, x[..., None])[..., 0],
        lambda x: np.linalg.solve(MATRICES + x[:, :, None], np.ones(3)),
        lambda x: np.linalg.inv(MATRICES + x[:, :, None]),
        lambda x: np.linalg.det(MATRICES + x[:, :, None]),
        lambda x: np.linalg.eigvalsh(x[:, :, None] * x[:, None] + MATRICES + MATRICES.mT),
        lambda x: np.linalg.cholesky(MATRICES @ MATRICES.mT + x[:, :1, None] * np.eye(3)),
        lambda x: np.tensordot(x, np.ones((3, 2)), axes=1),
        lambda x: np.tensordot(x, np.ones((3, 2)), axes=([1], [0])),
    ],
)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_rows_that_are_computed_by_themselves(f, mode):
    """What goes along an axis, or through a batch of matrices, is not dense for others."""
    x = np.random.default_rng(2).normal(size=(4, 3))
    own = agree(f, x, mode=mode)
    assert colours(own) <= {"forward": 6, "reverse": 9}[mode]
    for seed in range(3):
        agree(f, np.random.default_rng(seed).normal(size=(4, 3)), mode=mode, derivative=own)


def test_products():
    a = np.arange(12.0).reshape(3, 4)
    agree(lambda x: (a @ x.reshape(4, 3)).ravel(), POINT)
    agree(lambda x: x.reshape(4, 3) @ a, POINT)
    agree(lambda x: np.einsum("ij,jk->ki", a, x.reshape(4, 3)), POINT)
    agree(lambda x: np.einsum("bij,bjk->bik", x.reshape(2, 2, 3), np.ones((2, 3, 2))), POINT)
    agree(lambda x: x[:3] @ a, POINT)
    agree(lambda x: x.reshape(3, 2, 2) @ np.ones((2, 5)), POINT)
    rows = agree(lambda x: x.reshape(4, 3) @ np.ones((3, 3)), POINT)
    assert colours(rows) == 3


def test_has_aux():
    own = tg.jacobian(lambda x: (np.diff(x), x.sum()), has_aux=True, sparse=True)
    matrix, aux = own(POINT)
    assert matrix.nnz == 22
    np.testing.assert_allclose(aux, POINT.sum(), atol=1e-12)


def test_float32():
    found = tg.jacobian(lambda x: x**2, sparse=True)(POINT.astype("float32"))
    assert found.dtype == np.float32


def test_keywords_and_negative_argnums():
    def f(a, x):
        return a * np.diff(x)

    own = tg.jacobian(f, argnums=-1, sparse=True)
    np.testing.assert_array_equal(
        own(x=POINT, a=2.0).toarray(), tg.jacobian(f, argnums=1)(2.0, POINT)
    )


def test_the_pattern_is_shown(tmp_path):
    jacobian = tg.jacobian(tridiagonal, sparse=True)
    x = np.linspace(0.0, 1.0, 5)
    svg = jacobian.draw(tmp_path / "a.svg", x).read_text()
    root = ElementTree.fromstring(svg)
    paths = root.findall(".//{http://www.w3.org/2000/svg}path")
    assert len({path.get("fill") for path in paths}) == 3
    assert sum(path.get("d").count("M") for path in paths) == 13
    dot = jacobian.draw(tmp_path / "a.dot").read_text()
    assert dot.count(" -- ") == 13 and "c0 -- r1" in dot and "c0 -- r2" not in dot
    page = jacobian.draw(tmp_path / "a.html", x).read_text()
    assert "pattern of jacobian of tridiagonal" in page and "y[1:] -= x[:-1]" in page
    rows = [row.split() for row in jacobian.explain().splitlines()[1:6]]
    np.testing.assert_array_equal(np.array(rows) != ".", jacobian(x).toarray() != 0)
    large = jacobian.draw(tmp_path / "b.svg", np.ones(3000)).read_text()
    assert len(large) < 50_000 and "." not in jacobian.explain().splitlines()[1]
    with pytest.raises(tg.errors.ArgumentError, match="suffix"):
        jacobian.draw(tmp_path / "a.png")
    empty = tg.jacobian(lambda x: np.ones(2) + 0.0 * np.floor(x[:2]), sparse=True)
    assert "<path" not in empty.draw(tmp_path / "c.svg", x).read_text()


def test_graphs_and_sources_are_those_of_the_products():
    hessian = tg.hessian(rosenbrock, sparse=True)
    with pytest.raises(tg.errors.ArgumentError, match="not called"):
        hessian.graph()
    graph = hessian.graph(POINT)
    assert str(graph) == str(hessian.graph()) and "rosenbrock_hessian_products" in str(graph)
    assert len(hessian.graph(POINT, stage="differentiated").nodes) > len(graph.nodes)
    assert len(hessian.graph(POINT, stage="traced").nodes) < len(graph.nodes)
    assert hessian.source(POINT) == hessian.source()


def test_jax():
    pytest.importorskip("jax")
    own = tg.jacobian(tridiagonal, sparse=True, backend="jax")
    for _ in range(2):
        agree(tridiagonal, POINT, derivative=own)
    assert colours(own) == 3


def test_results_are_the_callers_own():
    own = tg.jacobian(tridiagonal, sparse=True)
    first = own(POINT)
    kept = first.toarray()
    first.data[:] = 0.0
    first.indices[:] = 0
    np.testing.assert_array_equal(own(POINT).toarray(), kept)


def test_refused_by_name():
    with pytest.raises(tg.errors.ArgumentError, match="int64"):
        tg.jacobian(lambda x: x, sparse=True)(np.arange(3))
    with pytest.raises(tg.errors.ArgumentError, match="static_argnames"):
        tg.hessian(rosenbrock, sparse=True, static_argnames="x")
    with pytest.raises(tg.errors.ArgumentError, match="no part of a program"):
        tg.jacobian(lambda x: x, sparse=True)(tg.tensor([1.0, 2.0]))
    with pytest.raises(tg.errors.NonScalarError):
        tg.hessian(lambda x: x, sparse=True)(POINT)
    with pytest.raises(tg.errors.ArgumentError, match="not called yet"):
        tg.jacobian(lambda x: x, sparse=True).explain()


def test_without_scipy(monkeypatch):
    monkeypatch.setattr(
        "tracegrad.transforms.sparse_derivatives.importlib.util.find_spec", lambda name: None
    )
    with pytest.raises(tg.errors.ArgumentError, match="needs SciPy"):
        tg.jacobian(lambda x: x, sparse=True)


def random_program(rng):
    """Slices, gathers, joins, sums and elementwise operations, in a random order."""
    steps = []
    for _ in range(rng.integers(2, 7)):
        kind, a, b = rng.integers(0, 9), int(rng.integers(1, 4)), int(rng.integers(0, 100))
        steps.append((kind, a, b))

    def f(x):
        y = x
        for kind, a, b in steps:
            n = y.shape[0]
            if kind == 0 and n > a + 1:
                y = y[a:] * y[:-a]
            elif kind == 1:
                y = y[np.random.default_rng(b).integers(0, n, n + a)]
            elif kind == 2:
                y = np.concatenate([y[::2], np.sin(y[::-1])])
            elif kind == 3:
                y = np.where(y > 0.1, y, y[::-1] * 0.5)
            elif kind == 4:
                z = np.zeros_like(y)
                z[a - 1 : n - 1] = y[a - 1 : n - 1] ** 2
                y = z + np.roll(y, a)
            elif kind == 5:
                y = np.stack([y, y * y[0]]).T.ravel()[: n + a]
            elif kind == 6:
                y = np.pad(y, (a, 1)).reshape(-1, 1).sum(axis=1)
            elif kind == 7:
                y = np.maximum(y, np.cos(y)[b % n])
            else:
                y = np.tanh(y) + np.repeat(y[:1], n)
        return y

    return f


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    rng = np.random.default_rng(seed)
    f = random_program(rng)
    own = agree(f, rng.normal(size=8))
    agree(f, rng.normal(size=8), derivative=own)
    agree(f, rng.normal(size=8), mode="reverse")
