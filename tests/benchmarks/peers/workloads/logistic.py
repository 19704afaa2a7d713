"""Logistic regression: weights, a matrix of examples and labels -1 and 1 in, the mean loss out."""

import numpy as np

from tests.benchmarks.peers.workload import Workload


def inputs(random, n, features):
    x = random.normal(size=(n, features))
    y = np.where(random.random(n) < 0.5, -1.0, 1.0)
    return 0.1 * random.normal(size=features), x, y


def loss(library):
    np = library.np

    def logistic(w, x, y):
        return np.mean(np.log1p(np.exp(-y * (x @ w))))

    return logistic


def by_hand(w, x, y):
    n = len(y)
    e = np.exp(-y * (x @ w))
    value = np.log1p(e).sum() / n
    return value, ((-y * e / (1.0 + e) / n) @ x,)


def tuned(w, x, y):
    n = len(y)
    e, s, terms = np.empty((3, n), y.dtype)
    w_bar = np.empty_like(w)

    def call():
        np.matmul(x, w, out=e)
        np.multiply(e, y, out=e)
        np.negative(e, out=e)
        np.exp(e, out=e)
        np.log1p(e, out=terms)
        value = np.add.reduce(terms) / n
        np.add(e, 1.0, out=s)
        np.divide(e, s, out=e)
        np.multiply(e, y, out=e)
        np.matmul(e, x, out=w_bar)
        np.multiply(w_bar, -1.0 / n, out=w_bar)
        return value, (w_bar,)

    return call


LOGISTIC = Workload(
    name="logistic",
    about="1e5 examples of 50 features",
    sizes={"": dict(n=100_000, features=50)},
    inputs=inputs,
    wanted=(0,),
    loss=loss,
    by_hand=by_hand,
    tuned=tuned,
    elements=lambda n, features: n,
)
