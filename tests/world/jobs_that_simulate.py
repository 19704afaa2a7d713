"""Jobs that simulate, fit and filter: physics, finance, signals, as users write them."""

from __future__ import annotations

import functools
import math
import operator
from collections import Counter, deque
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from jobs import job


@job(lambda rng: (rng.uniform(0.5, 2.0, size=3),))
def pendulum_by_runge_kutta():
    class Pendulum:
        def __init__(self):
            self.g, self.steps, self.dt = 9.81, 12, 0.05
            self.energy_log = []

        def rhs(self, state, length, damping):
            angle, speed = state
            return np.array([speed, -self.g / length * math.sin(angle) - damping * speed])

        def run(self, params):
            length, damping, start = params
            path = np.zeros((self.steps + 1, 2))
            path[0] = [start, 0.0]
            for i in range(self.steps):
                y = path[i]
                k1 = self.rhs(y, length, damping)
                k2 = self.rhs(y + self.dt / 2 * k1, length, damping)
                k3 = self.rhs(y + self.dt / 2 * k2, length, damping)
                k4 = self.rhs(y + self.dt * k3, length, damping)
                path[i + 1] = y + self.dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            self.energy_log.append(0.5 * path[-1, 1] ** 2)
            return path

    pendulum = Pendulum()

    def between(turn):
        pendulum.dt *= 0.9
        pendulum.steps = 12 if turn < 4 else 9

    return lambda p: np.sum(pendulum.run(p)[:, 0] ** 2), pendulum, between


@job(lambda rng: (rng.uniform(0.2, 1.0, size=4),))
def predators_and_prey():
    setup = {"dt": 0.02, "steps": 30, "start": [1.0, 0.5], "harvest": None}

    def simulate(params):
        alpha, beta, delta, gamma = params
        prey, predators = setup["start"]
        history = [(prey, predators)]
        for t in range(setup["steps"]):
            dprey = alpha * prey - beta * prey * predators
            dpred = delta * prey * predators - gamma * predators
            if setup["harvest"] is not None and t % setup["harvest"] == 0:
                dprey = dprey - 0.1 * prey
            prey, predators = prey + setup["dt"] * dprey, predators + setup["dt"] * dpred
            history.append((prey, predators))
        return np.array(history)

    def loss(params):
        observed = np.linspace(1.0, 1.3, setup["steps"] + 1)
        return np.mean((simulate(params)[:, 0] - observed) ** 2)

    def between(turn):
        setup["start"][1] = 0.5 + 0.1 * turn
        if turn == 3:
            setup["harvest"] = 5
        if turn == 4:
            setup.update(steps=20, dt=0.05)

    return loss, setup, between


@job(lambda rng: (rng.uniform(0.1, 0.6, size=2),))
def epidemic_with_interventions():
    @dataclass
    class Intervention:
        day: int
        factor: float

    @dataclass
    class Model:
        population: float = 1000.0
        interventions: list[Intervention] = field(default_factory=list)
        peak: float = 0.0

        def contact(self, day, beta):
            for step in self.interventions:
                if day >= step.day:
                    beta = beta * step.factor
            return beta

        def run(self, beta, gamma, days):
            s, i = self.population - 1.0, 1.0
            infected = np.empty(days)
            for day in range(days):
                new = self.contact(day, beta) * s * i / self.population
                recovered = gamma * i
                s, i = s - new, i + new - recovered
                infected[day] = i
            self.peak = infected.max()
            return infected

    model = Model(interventions=[Intervention(10, 0.5)])

    def f(rates):
        return np.log(model.run(rates[0], rates[1] * 0.5, 20)).sum()

    def between(turn):
        model.interventions[0].factor = 0.5 / turn
        if turn == 3:
            model.interventions.append(Intervention(15, 0.25))

    return f, model, between


@job(lambda rng: (rng.uniform(0.5, 2.0, size=3), rng.normal(size=5)))
def gaussian_process_with_kernels():
    class Kernel:
        def __add__(self, other):
            return Combined(operator.add, self, other)

        def __mul__(self, other):
            return Combined(operator.mul, self, other)

    class RBF(Kernel):
        def __call__(self, d, theta):
            return np.exp(-0.5 * d**2 / theta["length"] ** 2)

    class White(Kernel):
        def __call__(self, d, theta):
            return theta["noise"] * (d == 0)

    class Constant(Kernel):
        def __call__(self, d, theta):
            return theta["scale"]

    class Combined(Kernel):
        def __init__(self, op, *parts):
            self.op, self.parts = op, parts

        def __call__(self, d, theta):
            return functools.reduce(self.op, [part(d, theta) for part in self.parts])

    class GP:
        names = ("length", "scale", "noise")

        def __init__(self, kernel, x):
            self.kernel, self.x, self._distances, self.jitter = kernel, x, None, 1e-6

        @property
        def distances(self):
            if self._distances is None:
                self._distances = np.abs(self.x[:, None] - self.x[None, :])
            return self._distances

        def nll(self, theta, y):
            theta = dict(zip(self.names, theta, strict=True))
            k = self.kernel(self.distances, theta) + self.jitter * np.eye(len(y))
            chol = np.linalg.cholesky(k)
            alpha = np.linalg.solve(chol, y)
            return 0.5 * alpha @ alpha + np.sum(np.log(np.diag(chol)))

    gp = GP(Constant() * RBF() + White(), np.linspace(0.0, 2.0, 5))

    def between(turn):
        gp.jitter *= 2.0
        if turn == 2:
            gp.x, gp._distances = gp.x * 1.5, None
        if turn == 4:
            gp.kernel = RBF() + White()

    return gp.nll, gp, between


@dataclass
class Tracker:
    q: float = 0.01
    r: float = 0.5
    dt: float = 1.0
    innovations: list = field(default_factory=list)
    loglik: float = 0.0

    def matrices(self):
        f = np.array([[1.0, self.dt], [0.0, 1.0]])
        g = np.array([0.5 * self.dt**2, self.dt])
        return f, np.outer(g, g) * self.q, np.array([[1.0, 0.0]])

    def filter(self, zs):
        f, q, h = self.matrices()
        x, p = np.zeros(2), np.eye(2)
        self.innovations.clear()
        loglik = 0.0
        for z in zs:
            x, p = f @ x, f @ p @ f.T + q
            y = z - (h @ x)[0]
            s = (h @ p @ h.T)[0, 0] + self.r
            k = (p @ h.T)[:, 0] / s
            x, p = x + k * y, p - np.outer(k, h @ p)
            self.innovations.append(y)
            loglik -= 0.5 * (np.log(2 * math.pi * s) + y**2 / s)
        self.loglik = loglik
        return loglik


@job(lambda rng: (rng.normal(size=6),))
def kalman_filter_of_a_dataclass():
    tracker = Tracker()

    def between(turn):
        tracker.q *= 2.0
        if turn == 3:
            tracker.dt = 0.5

    return tracker.filter, tracker, between


@job(lambda rng: (rng.normal(size=16),))
def filter_with_taps_made_late():
    class LowPass:
        def __init__(self, cutoff, order):
            self.cutoff, self.order, self._taps = cutoff, order, None

        @property
        def taps(self):
            if self._taps is None:
                n = np.arange(self.order) - (self.order - 1) / 2
                taps = np.sinc(2 * self.cutoff * n) * np.hamming(self.order)
                self._taps = taps / taps.sum()
            return self._taps

        def invalidate(self, **changes):
            for name, value in changes.items():
                setattr(self, name, value)
            self._taps = None

        def __call__(self, signal):
            return np.convolve(signal, self.taps, mode="same")

    low = LowPass(0.1, 5)

    def between(turn):
        if turn == 2:
            low.invalidate(cutoff=0.2)
        if turn == 4:
            low.invalidate(order=7, cutoff=0.25)
        if turn == 5:
            low.taps[0] = 0.5

    return lambda x: np.sum((x - low(x)) ** 2), low, between


@job(lambda rng: (rng.normal(size=10),))
def biquad_that_keeps_its_state():
    class Biquad:
        def __init__(self):
            self.b, self.a = [0.2, 0.4, 0.2], [1.0, -0.3, 0.1]
            self.z = [0.0, 0.0]

        def process(self, xs):
            out = np.zeros_like(xs)
            z1, z2 = self.z
            for n, x in enumerate(xs):
                y = self.b[0] * x + z1
                z1 = self.b[1] * x - self.a[1] * y + z2
                z2 = self.b[2] * x - self.a[2] * y
                out[n] = y
            self.z = [z1, z2]
            return out

    biquad = Biquad()

    def between(turn):
        if turn == 2:
            biquad.z = [0.0, 0.0]
        biquad.a[1] = -0.3 + 0.1 * turn

    return lambda x: np.sqrt(np.mean(biquad.process(x) ** 2)), biquad, between


@job(lambda rng: (rng.uniform(0.1, 1.0, size=4),))
def option_price_with_a_seed():
    class MonteCarlo:
        def __init__(self, paths, seed):
            self.paths, self.seed, self.antithetic = paths, seed, False

        def draws(self):
            z = np.random.default_rng(self.seed).standard_normal(self.paths)
            return np.concatenate([z, -z]) if self.antithetic else z

        def price(self, spot, strike, vol, rate, kind="call"):
            z = self.draws()
            end = spot * np.exp(rate - 0.5 * vol**2 + vol * z)
            sign = {"call": 1.0, "put": -1.0}[kind]
            payoff = np.maximum(sign * (end - strike), 0.0)
            return math.exp(-rate) * payoff.mean()

    engine = MonteCarlo(32, 0)

    def between(turn):
        engine.seed = turn // 2
        engine.antithetic = turn == 4

    def f(p):
        call = engine.price(*p)
        return call - 0.5 * engine.price(*p, kind="put")

    return f, engine, between


@job(lambda rng: (rng.normal(size=7),))
def posterior_of_priors_in_a_dict():
    class Normal:
        def __init__(self, mu, sigma):
            self.mu, self.sigma = mu, sigma

        def logpdf(self, x):
            z = (x - self.mu) / self.sigma
            return -0.5 * z * z - math.log(self.sigma) - 0.5 * math.log(2 * math.pi)

    class HalfCauchy:
        def __init__(self, scale):
            self.scale = scale

        def logpdf(self, x):
            return np.log(2.0 / (math.pi * self.scale)) - np.log1p((x / self.scale) ** 2)

    priors: dict[str, Any] = {"a": Normal(0.0, 1.0), "b": Normal(0.0, 2.0), "s": HalfCauchy(1.0)}
    data = SimpleNamespace(x=np.arange(5.0), y=np.array([0.1, 0.9, 2.2, 2.8, 4.1]))
    trace: dict[str, list] = {name: [] for name in priors}

    def logp(theta):
        values = dict(zip(priors, (theta[0], theta[1], np.exp(theta[2])), strict=True))
        for name, v in values.items():
            trace[name].append(v)
        prior = sum(priors[name].logpdf(v) for name, v in values.items())
        residual = (data.y - values["a"] - values["b"] * data.x) / values["s"]
        return prior - 0.5 * np.sum(residual**2) - len(data.x) * np.log(values["s"])

    def between(turn):
        if turn == 2:
            priors["a"] = HalfCauchy(2.0)
        if turn == 3:
            data.x, data.y = np.append(data.x, 5.0), np.append(data.y, 5.2)
        priors["b"].sigma += 0.5

    return logp, [priors, data, trace], between


@job(lambda rng: (rng.uniform(0.1, 1.5, size=3),))
def controller_with_reset():
    class PID:
        def __init__(self, kp, ki, kd):
            self.kp, self.ki, self.kd = kp, ki, kd
            self.reset()

        def reset(self):
            self.integral, self.previous = 0.0, None

        def __call__(self, error, dt):
            self.integral = self.integral + error * dt
            slope = 0.0 if self.previous is None else (error - self.previous) / dt
            self.previous = error
            return self.kp * error + self.ki * self.integral + self.kd * slope

    plant = SimpleNamespace(gain=1.5, tau=2.0, setpoints=[1.0, 0.5])

    def cost(gains):
        controller = PID(*gains)
        level, total = 0.0, 0.0
        for setpoint in plant.setpoints:
            controller.reset()
            for _ in range(6):
                u = controller(setpoint - level, 0.1)
                level = level + 0.1 * (plant.gain * u - level) / plant.tau
                total = total + (setpoint - level) ** 2 + 0.01 * u**2
        return total

    def between(turn):
        plant.tau = 2.0 + 0.5 * turn
        if turn == 3:
            plant.setpoints.append(-1.0)

    return cost, plant, between


@job(lambda rng: (rng.normal(size=3),))
def robot_arm_of_joints():
    class Joint:
        count: ClassVar[int] = 0

        def __init__(self, length, fixed=None):
            Joint.count += 1
            self.length, self.fixed, self.id = length, fixed, Joint.count

        def transform(self, angle):
            if self.fixed is not None:
                angle = self.fixed
            c, s = np.cos(angle), np.sin(angle)
            return np.array([[c, -s, self.length * c], [s, c, self.length * s], [0.0, 0.0, 1.0]])

    arm = [Joint(1.0), Joint(0.8), Joint(0.5)]
    goal = np.array([1.0, 1.2])

    def distance(angles):
        pose = functools.reduce(
            np.matmul, (joint.transform(a) for joint, a in zip(arm, angles, strict=True))
        )
        return np.hypot(*(pose[:2, 2] - goal))

    def between(turn):
        arm[1].length += 0.1
        arm[2].fixed = 0.3 if turn == 3 else None
        goal[0] -= 0.2

    return distance, [arm, goal], between


@job(lambda rng: (rng.normal(size=(3, 2)),))
def energy_of_bodies():
    class Body:
        __slots__ = ("charge", "mass", "name")

        def __init__(self, name, mass, charge=0.0):
            self.name, self.mass, self.charge = name, mass, charge

    bodies = [Body("sun", 5.0), Body("earth", 1.0, 0.5), Body("moon", 0.1, -0.5)]
    constants = {"G": 1.0, "softening": 0.1}

    def energy(positions):
        total = 0.0
        for i, a in enumerate(bodies):
            for j in range(i):
                b = bodies[j]
                r = np.sqrt(
                    np.sum((positions[i] - positions[j]) ** 2) + constants["softening"] ** 2
                )
                total = total - constants["G"] * a.mass * b.mass / r + a.charge * b.charge / r
        return total

    def between(turn):
        bodies[0].mass *= 0.9
        bodies[1].charge += 0.1
        if turn == 3:
            constants["softening"] = 0.5
            bodies.reverse()

    return energy, constants, between


@job(lambda rng: (rng.normal(size=8), rng.uniform(0.1, 0.5)), argnums=(0, 1))
def heat_equation_with_cached_matrices():
    class Heat:
        def __init__(self):
            self.cache, self.hits = {}, Counter()

        def laplacian(self, n):
            if n not in self.cache:
                self.hits["made"] += 1
                a = np.zeros((n, n))
                for i in range(n):
                    a[i, i] = -2.0
                    if i > 0:
                        a[i, i - 1] = 1.0
                    if i < n - 1:
                        a[i, i + 1] = 1.0
                self.cache[n] = a
            self.hits["asked"] += 1
            return self.cache[n]

        def run(self, u, k, steps=4):
            a = np.eye(len(u)) - k * self.laplacian(len(u))
            for _ in range(steps):
                u = np.linalg.solve(a, u)
            return u

    heat = Heat()

    def between(turn):
        if turn == 2:
            heat.cache[8][0, 0] = -1.0
        if turn == 4:
            heat.cache.clear()

    return lambda u, k: np.sum(heat.run(u, k) ** 2), heat, between


@job(lambda rng: (rng.normal(size=4),), eager="evaluations")
def portfolio_with_penalties():
    mean, cov = np.array([0.1, 0.2, 0.15, 0.05]), np.diag([1.0, 2.0, 0.5, 0.1])
    evaluations = Counter()
    constraints: list[dict[str, Any]] = [
        {"type": "eq", "fun": lambda w: np.sum(w) - 1.0},
        {"type": "ineq", "fun": lambda w: w},
    ]
    settings = {"risk": 1.0, "penalty": 10.0}

    def objective(w):
        evaluations["objective"] += 1
        value = settings["risk"] * w @ cov @ w - mean @ w
        for i, constraint in enumerate(constraints):
            evaluations[constraint["type"], i] += 1
            c = constraint["fun"](w)
            violation = c if constraint["type"] == "eq" else np.minimum(c, 0.0)
            value = value + settings["penalty"] * np.sum(violation**2)
        return value

    def between(turn):
        settings["penalty"] *= 2.0
        if turn == 2:
            constraints.append({"type": "ineq", "fun": lambda w: 0.4 - w})
        if turn == 4:
            constraints[0]["fun"] = lambda w: np.sum(w) - 2.0

    return objective, [evaluations, settings], between


@job(lambda rng: (rng.normal(size=2) * 0.5,))
def descent_by_line_search():
    options = {"c": 1e-4, "shrink": 0.5, "steps": 3}
    log = {"evaluations": 0, "rates": []}

    def value(p):
        log["evaluations"] += 1
        return (1.0 - p[0]) ** 2 + 5.0 * (p[1] - p[0] ** 2) ** 2

    def gradient(p):
        return np.array(
            [-2.0 * (1.0 - p[0]) - 20.0 * p[0] * (p[1] - p[0] ** 2), 10.0 * (p[1] - p[0] ** 2)]
        )

    def minimum(p):
        for _ in range(options["steps"]):
            g, rate, at = gradient(p), 1.0, value(p)
            while value(p - rate * g) > at - options["c"] * rate * (g @ g):
                rate *= options["shrink"]
            log["rates"].append(rate)
            p = p - rate * g
        return value(p)

    def between(turn):
        options["shrink"] = 0.5 if turn % 2 else 0.3
        if turn == 4:
            options["steps"] = 2

    return minimum, [options, log], between


@job(lambda rng: (rng.uniform(0.05, 0.3, size=3), rng.normal(size=12)))
def volatility_model():
    class Garch:
        def __init__(self):
            self.sigma2 = None
            self.floor, self.burn = 1e-6, 2

        def nll(self, params, r):
            omega, alpha, beta = params
            sigma2 = np.zeros(len(r))
            sigma2[0] = np.var(r)
            for t in range(1, len(r)):
                sigma2[t] = omega + alpha * r[t - 1] ** 2 + beta * sigma2[t - 1]
            self.sigma2 = np.maximum(sigma2, self.floor)
            tail = slice(self.burn, None)
            return 0.5 * np.sum(np.log(self.sigma2[tail]) + r[tail] ** 2 / self.sigma2[tail])

    model = Garch()

    def between(turn):
        model.burn = turn % 3
        if turn == 4:
            model.floor = 0.2

    return model.nll, model, between


@job(lambda rng: (rng.normal(size=3), rng.uniform(0.5, 1.5, 12)))
def a_solver_that_logs():
    """Each step appends to logs; between calls these are emptied, swapped and given to others."""

    class Solver:
        def __init__(self):
            self.residuals, self.recent = [], deque(maxlen=5)
            self.logs = {"states": [], "large": []}
            self.damping, self.steps = 0.9, 0

        def step(self, u, force):
            new = self.damping * np.tanh(u + force)
            self.steps += 1
            self.residuals.append(np.sum((new - u) ** 2))
            self.recent.append(np.max(new))
            return new

        def solve(self, u, forces):
            self.residuals.append(u[0])
            for t in range(len(forces)):
                u = self.step(u, forces[t])
                self.logs["states"].append(u * 2.0)
                if u[0] > 0.7:
                    self.logs["large"].append(u.sum())
            self.logs["states"].append(u[1])
            return np.sum(u * u)

    solver = Solver()

    def between(turn):
        if turn == 2:
            solver.residuals.clear()
        elif turn == 3:
            solver.logs["states"] = [0.5]
            solver.damping = 0.8
        elif turn == 4:
            solver.recent = deque([1.0], maxlen=3)

    return solver.solve, solver, between
