"""Rosenbrock's function of a vector: its gradient, and its Hessian times a direction."""

import numpy as np

from tests.benchmarks.peers.workload import Workload


def inputs(random, n):
    return (random.normal(size=n),)


def inputs_and_direction(random, n):
    return random.normal(size=n), random.normal(size=n)


def loss(library):
    np = library.np

    def rosenbrock(x):
        step = x[1:] - x[:-1] ** 2
        rest = 1.0 - x[:-1]
        return np.sum(100.0 * step**2 + rest**2)

    return rosenbrock


def by_hand(x):
    head = x[:-1]
    step = x[1:] - head * head
    rest = 1.0 - head
    value = 100.0 * step.dot(step) + rest.dot(rest)
    step *= 200.0
    x_bar = np.empty_like(x)
    x_bar[0] = 0.0
    x_bar[1:] = step
    step *= head
    step += rest
    x_bar[:-1] -= 2.0 * step
    return value, (x_bar,)


def tuned(x):
    head, tail = x[:-1], x[1:]
    step, rest = np.empty_like(head), np.empty_like(head)
    x_bar = np.zeros_like(x)
    front, back = x_bar[:-1], x_bar[1:]
    # arrays without axes: a ufunc takes them sooner than Python's numbers
    one, two, twohundred = (np.array(c, x.dtype) for c in (1.0, 2.0, 200.0))

    def call():
        np.multiply(head, head, out=step)
        np.subtract(tail, step, out=step)
        np.subtract(one, head, out=rest)
        value = 100.0 * step.dot(step) + rest.dot(rest)
        np.multiply(step, twohundred, out=back)
        x_bar[0] = 0.0
        np.multiply(back, head, out=step)
        np.add(step, rest, out=step)
        np.multiply(step, two, out=step)
        np.subtract(front, step, out=front)
        return value, (x_bar,)

    return call


def hvp_by_hand(x, direction):
    head, u = x[:-1], direction[:-1]
    step = x[1:] - head * head
    turned = 200.0 * (direction[1:] - 2.0 * head * u)
    product = np.empty_like(x)
    product[0] = 0.0
    product[1:] = turned
    product[:-1] += 2.0 * u - 2.0 * (turned * head) - 400.0 * (step * u)
    return None, (product,)


def tuned_hvp(x, direction):
    head, tail, u, v = x[:-1], x[1:], direction[:-1], direction[1:]
    step, turned = np.empty_like(head), np.empty_like(head)
    product = np.empty_like(x)
    front, back = product[:-1], product[1:]
    # arrays without axes: a ufunc takes them sooner than Python's numbers
    one, two, twohundred = (np.array(c, x.dtype) for c in (1.0, 2.0, 200.0))

    def call():
        np.multiply(head, head, out=step)
        np.subtract(tail, step, out=step)
        np.multiply(head, u, out=turned)
        np.multiply(turned, two, out=turned)
        np.subtract(v, turned, out=turned)
        np.multiply(turned, twohundred, out=back)
        np.multiply(back, head, out=turned)
        product[0] = 0.0
        np.multiply(step, twohundred, out=step)
        np.subtract(one, step, out=step)
        np.multiply(step, u, out=step)
        np.subtract(step, turned, out=step)
        np.multiply(step, two, out=step)
        np.add(front, step, out=front)
        return None, (product,)

    return call


ROSENBROCK = Workload(
    name="Rosenbrock gradient",
    about="1000 unknowns",
    sizes={"": dict(n=1000)},
    inputs=inputs,
    wanted=(0,),
    loss=loss,
    by_hand=by_hand,
    tuned=tuned,
    elements=lambda n: n,
    dtypes=("float64",),
)

ROSENBROCK_HVP = Workload(
    name="Rosenbrock hvp",
    about="1000 unknowns, the Hessian times a vector",
    sizes={"": dict(n=1000)},
    inputs=inputs_and_direction,
    wanted=(0,),
    loss=loss,
    by_hand=hvp_by_hand,
    tuned=tuned_hvp,
    elements=lambda n: n,
    dtypes=("float64",),
    second_order=True,
)
