"""Arguments that lie on many devices: one device's numbers, gradients where their parameters lie.

Eight virtual devices are those of a process of its own.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

from checks import devices

ROOT = Path(__file__).parents[2]
LAYOUTS = """
import json
import jax, numpy as np, tracegrad as tg
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

def loss(p, x, y):
    h = np.tanh(x @ p["w1"] + p["b1"])
    return np.mean((h @ p["w2"] - y) ** 2)

def looped(p, x, y):
    h = x
    for t in range(10):
        h = np.tanh(h @ p["w1"] + p["b1"])
    return np.mean((h @ p["w2"] - y) ** 2)

def dropped(key, x):
    return jax.numpy.sum(jax.numpy.where(jax.random.bernoulli(key, 0.5, x.shape), x, 0) ** 2)

draw = np.random.default_rng(0).standard_normal
p = {"w1": draw((32, 32)) * 0.1, "b1": draw(32), "w2": draw((32, 4)) * 0.1}
p, x, y = jax.tree.map(np.float32, (p, draw((64, 32)), draw((64, 4))))
layouts = {
    "data": ({"w1": P(), "b1": P(), "w2": P()}, P("d")),
    "tensor": ({"w1": P(None, "d"), "b1": P("d"), "w2": P("d", None)}, P()),
    "full": ({"w1": P("d"), "b1": P("d"), "w2": P("d")}, P("d")),
}
found = {}
for kind in (AxisType.Auto, AxisType.Explicit):
    mesh = jax.make_mesh((8,), ("d",), axis_types=(kind,))
    for name, (specs, batch) in layouts.items():
        for f in (loss, looped) if (kind, name) == (AxisType.Auto, "data") else (loss,):
            g = tg.value_and_grad(f, backend="jax")
            place = lambda a, s: jax.device_put(a, NamedSharding(mesh, s))
            given = jax.tree.map(place, p, specs), place(x, batch), place(y, batch)
            expected = tg.value_and_grad(f)(p, x, y)
            with jax.set_mesh(mesh):
                for _ in range(2):
                    value, slopes = g(*given)
                    np.testing.assert_allclose(value, expected[0], rtol=1e-4)
                    for key, w in given[0].items():
                        np.testing.assert_allclose(slopes[key], expected[1][key], 1e-3, 1e-5)
                        if f is loss:
                            assert slopes[key].sharding.is_equivalent_to(w.sharding, w.ndim)
                if f is loss:
                    text = jax.jit(g).lower(*given).compile().as_text()
                    found[f"{kind.name} {name}"] = text.count(" all-reduce(")
    def local(grad):  # parameters that do not vary have gradients that do not
        step = lambda p, x, y: jax.lax.pmean(grad(p, x, y), "d")
        return jax.shard_map(step, mesh=mesh, in_specs=(P(), P("d"), P("d")), out_specs=P())

    given = [jax.device_put(a, NamedSharding(mesh, s)) for a, s in ((x, P("d")), (y, P("d")))]
    whole = jax.tree.map(lambda w: jax.device_put(w, NamedSharding(mesh, P())), p)
    with jax.set_mesh(mesh):
        plain = jax.grad(lambda p, x, y: ((jax.numpy.tanh(x @ p["w1"]) @ p["w2"] - y) ** 2).mean())
        ours = tg.value_and_grad(lambda p, x, y: ((np.tanh(x @ p["w1"]) @ p["w2"] - y) ** 2).mean())
        slopes = jax.jit(local(lambda *given: ours(*given)[1]))(whole, *given)
        expected = jax.jit(local(plain))(whole, *given)
    for name in p:
        np.testing.assert_allclose(slopes[name], expected[name], 1e-4, 1e-6)
    key, spread = jax.random.key(0), jax.device_put(x, NamedSharding(mesh, P("d")))
    np.testing.assert_allclose(
        tg.grad(dropped, 1, backend="jax")(key, spread), jax.grad(dropped, 1)(key, x), rtol=1e-6
    )
print(json.dumps(found))
"""


PLACED = """
import json, warnings
import jax, numpy as np, tracegrad as tg
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

def loss(p, x):
    return np.mean(np.tanh(x @ p["w"] + p["b"]) ** 2)

def shifted(p, x):
    if x[0, 0] > 0:
        return {"y": x @ p["w"], "b": p["b"], "name": "up"}
    return {"y": x @ p["w"] + p["b"], "b": p["b"], "name": "up"}

draw = np.random.default_rng(0).standard_normal
p = {"w": draw((32, 32)).astype(np.float32), "b": draw(32).astype(np.float32)}
x = abs(draw((64, 32))).astype(np.float32)
found = {}
for kind in (AxisType.Auto, AxisType.Explicit):
    mesh = jax.make_mesh((8,), ("d",), axis_types=(kind,))
    at = lambda *axes: NamedSharding(mesh, P(*axes))
    put = lambda: ({k: jax.device_put(w, at()) for k, w in p.items()}, jax.device_put(x, at("d")))
    wanted = (at(), {"w": at("d"), "b": None})
    g = tg.value_and_grad(loss, backend="jax", donate_argnums=0, out_shardings=wanted)
    expected = tg.value_and_grad(loss)(p, x)
    for turn in range(3):
        given = put()
        value, slopes = g(*given)
        np.testing.assert_allclose(value, expected[0], rtol=1e-5)
        np.testing.assert_allclose(slopes["w"], expected[1]["w"], 1e-3, 1e-6)
        assert slopes["w"].sharding.is_equivalent_to(at("d"), 2)
        assert slopes["b"].sharding.is_equivalent_to(at(), 1)
        assert not given[1].is_deleted()
    found[kind.name] = [w.is_deleted() for w in given[0].values()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # JAX tells of what was given away for nothing
        given = put()
        assert 'donate_argnames=("b", "w")' in g.source(*given)
        assert not any(w.is_deleted() for w in given[0].values())
        np.testing.assert_allclose(g(p, x)[0], expected[0], rtol=1e-5)
    assert jax.jit(g)(*put())[1]["w"].sharding.is_equivalent_to(at("d"), 2)
    places = {"y": at(None, "d"), "b": at("d"), "name": None}
    f = tg.compile(shifted, backend="jax", out_shardings=places)
    for sign in (1, 1, -1, -1, 1):
        given = put()
        given = given[0], jax.device_put(given[1] * sign, at("d"))
        result = f(*given)
        np.testing.assert_allclose(result["y"], shifted(p, sign * x)["y"], 1e-3, 1e-4)
        tg.config.compile = False
        other = f(*given)
        tg.config.compile = True
        for one in (result, other):
            assert one["name"] == "up"
            assert one["y"].sharding.is_equivalent_to(places["y"], 2)
            assert one["b"].sharding.is_equivalent_to(places["b"], 1)
def step(x):
    while (x * x).sum() > 1:
        x = np.sin(x)
    return (x * x).sum()
whole = tg.grad(step, backend="jax", donate_argnums=0, out_shardings=at("d"))
for _ in range(2):
    x = jax.numpy.full(8, 9.0)
    assert whole(x).sharding.spec == P("d")
    assert not x.is_deleted()
print(json.dumps(found))
"""


PROCESSES = """
import sys
import jax, numpy as np, tracegrad as tg
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"localhost:{sys.argv[1]}", 2, int(sys.argv[2]))
assert jax.process_count() == 2 and jax.device_count() == 4

def loss(p, x, y):
    h = np.tanh(x @ p["w1"] + p["b1"])
    return np.mean((h @ p["w2"] - y) ** 2)

draw = np.random.default_rng(0).standard_normal
p = {"w1": draw((8, 16)), "b1": draw(16), "w2": draw((16, 1))}
p, x, y = jax.tree.map(np.float32, (p, draw((64, 8)), draw((64, 1))))
mesh = jax.make_mesh((4,), ("d",), axis_types=(AxisType.Auto,))

def spread(array, *axes):
    sharding = NamedSharding(mesh, P(*axes))
    return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index])

value_and_grad = tg.value_and_grad(loss)
there = tg.value_and_grad(loss, backend="jax", donate_argnums=0)
params = {name: spread(w, *(("d",) if name == "w1" else ())) for name, w in p.items()}
batch = spread(x, "d"), spread(y, "d")
assert not batch[0].is_fully_addressable
descend = jax.jit(lambda p, slopes: jax.tree.map(lambda w, s: w - 0.1 * s, p, slopes))
for step in range(4):
    expected, slopes = value_and_grad(p, x, y)
    p = {name: p[name] - np.float32(0.1) * slopes[name] for name in p}
    kept = jax.tree.map(lambda w: w.copy(), params)
    value, slopes = there(params, *batch)
    params = descend(kept, slopes)
    np.testing.assert_allclose(np.asarray(value), expected, rtol=1e-4)
    assert slopes["w1"].sharding.spec == P("d")
for name, w in params.items():
    for part in w.addressable_shards:
        np.testing.assert_allclose(part.data, p[name][part.index], rtol=1e-3, atol=1e-5)
assert there.cache_info().traces == 1
print("done")
"""


OP_BY_OP = """
import warnings
import jax, numpy as np, tracegrad as tg
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
from tracegrad.backends import jax as jax_backend

def loss(w, x):
    return np.mean(np.tanh(x @ w) ** 2)

def filled(x):
    y = np.zeros(8, np.float32)
    y[:3] = x[0, 1:]
    head = y[:2]
    head *= 2.0
    for t in range(12):
        y = np.tanh(y + x[t, 0] * np.arange(8, dtype=np.float32))
    return np.sum(y)

def named(x, name):
    return np.sum(x**2) * len(name)

def fading(x, shrink):
    while np.max(x) > 0.01:
        x = x * shrink
    return np.sum(x**2)

state = {}
def kept(x):
    state["mean"] = 0.5 * x.mean(axis=0)
    print("done", file=None)
    return x * 2

def fail(*args, **kwargs):
    raise AssertionError("an array was brought to the host")

def on_devices(f, *args):
    array, old = jax_backend.array_class(), {}
    for holder, name in (jax_backend, "to_numpy"), (array, "__array__"), (array, "_value"):
        old[holder, name] = getattr(holder, name)
        setattr(holder, name, fail if name != "_value" else property(fail))
    try:
        with jax.transfer_guard_device_to_host("disallow"):
            return f(*args)
    finally:
        for (holder, name), value in old.items():
            setattr(holder, name, value)

draw = np.random.default_rng(0).standard_normal
w, x = draw((4, 8)).astype(np.float32), draw((16, 4)).astype(np.float32)
for kind in (AxisType.Auto, AxisType.Explicit):
    mesh = jax.make_mesh((8,), ("d",), axis_types=(kind,))
    put = lambda a, *axes: jax.device_put(a, NamedSharding(mesh, P(*axes)))
    there = put(w, None, "d"), put(x, "d")
    with jax.set_mesh(mesh):
        # Python reads how many turns there were, and calls the program again if it needs more room.
        for shrink in (np.float32(0.5), np.float32(0.9)):
            found = tg.grad(fading, backend="jax")(there[1], shrink)
            expected = tg.grad(fading)(x, shrink)
            np.testing.assert_allclose(found, expected, 1e-5)
            assert found.sharding.is_equivalent_to(there[1].sharding, 2)
        tg.config.compile = False
        for f, numbers, given in (
            (tg.value_and_grad(loss, argnums=(0, 1), backend="jax"), (w, x), there),
            (tg.value_and_grad(filled, backend="jax"), (x,), there[1:]),
            (tg.compile(filled, backend="jax"), (x,), there[1:]),
        ):
            expected = jax.tree.leaves(f(*numbers))
            found = jax.tree.leaves(on_devices(f, *given))
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, 1e-4, 1e-6)
                assert one.sharding.mesh == mesh
            for slope, argument in zip(found[1:], given):
                assert slope.sharding.is_equivalent_to(argument.sharding, 2)
        on_devices(tg.compile(kept, backend="jax"), there[1])
        np.testing.assert_allclose(state["mean"], x.mean(axis=0) / 2, 1e-5)
        assert isinstance(state["mean"], jax.Array)
        tg.config.compile = True
        tg.config.versions = 2
        slope = tg.grad(named, backend="jax")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tg.errors.RecompileWarning)
            for name in ("a", "ab", "abc", "abcd"):
                found = on_devices(slope, there[1], name)
                np.testing.assert_allclose(found, 2 * x * len(name), 1e-5)
                assert found.sharding.is_equivalent_to(there[1].sharding, 2)
        assert slope.cache_info().versions == 2
        tg.config.versions = 32

# NumPy's generators cannot be asked by devices that wait for each other.
twins = [tg.random.Generator(0) for _ in range(2)]
def noisy(generator):
    return lambda x: np.sum(x * generator.normal(size=x.shape))
mesh = jax.make_mesh((8,), ("d",), axis_types=(AxisType.Auto,))
there = jax.device_put(x, NamedSharding(mesh, P("d")))
one, other = (tg.grad(noisy(twin), backend=b) for twin, b in zip(twins, ("jax", "numpy")))
for given in (jax.numpy.asarray(x), there, there):
    found = one(given)
    np.testing.assert_allclose(found, other(x), 1e-5)
    assert found.sharding.is_equivalent_to(given.sharding, 2)

# Tensors, and a vjp, take arrays that are spread.
t = tg.as_tensor(there).requires_grad_()
for _ in range(3):
    t.grad = None
    (t * t).sum().backward()
    np.testing.assert_allclose(t.grad.cpu().numpy(), 2 * x, 1e-6)
    assert t.grad.device == t.device == "jax:0,1,2,3,4,5,6,7"
out, pull = tg.vjp(lambda x: x**2, there)
assert out.sharding.spec == pull(out)[0].sharding.spec == P("d")
free = jax.numpy.ones((16, 4), np.float32)  # is where it is needed
found = tg.vjp(lambda x, f: x * f, there, free)[0]
assert found.sharding.is_equivalent_to(there.sharding, 2)
print("done")
"""


VARYING = """
import sys
import jax, numpy as np, tracegrad as tg
from jax.sharding import AxisType, PartitionSpec as P

def decides(w, x):
    if x[0] > 0:
        n = 2.0
    else:
        n = 1.0
    return n * w.sum()

def two_results(w, x):
    if x[0] > 0:
        return (w * x).sum()
    return w[0] * 2

def counts(w, x):
    n = 0
    for k in range(10):
        if x[k] > 0:
            n += 1
    return n * w.sum()

def returns_early(w, x):
    for k in range(10):
        if w[k] > x[k]:
            return w[k] * 2
    return w[0]

def recurrence(w, x):
    s = 0.0
    for k in range(10):
        s = s * 0.5 + w[k] * x[k]
    return s

def layers(w, x):
    h = x * 0.1
    for k in range(10):
        h = np.tanh(h * w[k])
    return h.sum()

def filled(w, x):
    y = np.zeros(10)
    y[0] = x[0]
    for k in range(1, 10):
        y[k] = y[k - 1] * w[k] + x[k]
    return y.sum()

def breaks(w, x):
    s = w[0]
    for k in range(10):
        s = s + x[k] * w[k] * 0.3
        if s > 1:
            break
    return s

def nested(w, x):
    s = 0.0
    for k in range(10):
        for j in range(k):
            if x[j] > x[k]:
                s = s + w[j] * x[k]
    return s

def turns(w, x):
    s, k = w.sum() + abs(x[0]), 0
    while s > 1.0 and k < 30:
        s, k = s * 0.7, k + 1
    return s

def of_parameters(w, x):  # varies over no axis, so nothing is summed, as in JAX
    s = 0.0
    for k in range(10):
        s = s * 0.5 + w[k] ** 2
    return s if w[0] > 0 else w[0]

jax.config.update("jax_enable_x64", True)
mesh = jax.make_mesh((8,), ("d",), axis_types=(AxisType.Auto,))
xs, w = np.random.default_rng(0).normal(size=(8, 10)), np.ones(10)
of_any_turns = (returns_early, breaks, nested, turns)  # JAX has no reverse mode for these
for f in map(globals().get, sys.argv[1].split()):
    g, c = tg.grad(f), tg.compile(f)
    every = [tg.grad(f)(w, x) for x in xs]
    expected = every[0] if f is of_parameters else sum(every)
    for checked in (True, False):
        for around in (jax.jit, lambda run: run)[: 1 + (f.__name__ in sys.argv[2].split())]:
            options = dict(mesh=mesh, in_specs=(P(), P("d")), check_vma=checked)
            if checked:
                by_jax = lambda w, x: jax.grad(c)(w, x[0])
                for of in (lambda w, x: g(w, x[0]), by_jax)[: 1 if f in of_any_turns else 2]:
                    run = around(jax.shard_map(of, out_specs=P(), **options))
                    np.testing.assert_allclose(run(w, xs), expected, 1e-12)
            one = lambda w, x: c(w, x[0])[None]
            run = around(jax.shard_map(one, out_specs=P("d"), **options))
            np.testing.assert_allclose(run(w, xs), [f(w, x) for x in xs], 1e-12)
print("done")
"""


WITHOUT_BUDGET = """
from tracegrad.tracing import compile_budget
compile_budget.clock = lambda: 0.0  # no machine is too slow for a test
"""

EXAMPLE = """
import runpy, sys
sys.argv = sys.argv[1:]
sys.path[0] = sys.argv[0].rpartition("/")[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run(program: str, *arguments: str) -> str:
    environment = {**devices(8), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", WITHOUT_BUDGET + program, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_every_layout_has_the_numbers_of_one_device():
    """And data parallelism has one collective."""
    counts = json.loads(run(LAYOUTS).splitlines()[-1])
    assert counts["Auto data"] == counts["Explicit data"] == 1


def test_the_example_runs_on_eight_devices():
    shown = run(
        EXAMPLE, str(ROOT / "examples" / "sharded_training.py"), "--quick", "--layout", "full"
    )
    assert "full over 8 devices" in shown
    assert "w1 lies as P('d',), its gradient as P('d',)" in shown


def test_results_lie_where_they_are_asked_for_and_donated_arrays_are_gone():
    found = json.loads(run(PLACED).splitlines()[-1])
    some = [False, True]  # w's memory is of no use: its gradient lies otherwise
    assert found == {"Auto": some, "Explicit": some}


def test_calls_without_a_program_stay_on_their_devices():
    assert run(OP_BY_OP).splitlines()[-1] == "done"


VARY = (
    *("decides", "two_results", "counts", "returns_early", "recurrence", "layers", "filled"),
    *("breaks", "nested", "turns", "of_parameters"),
)


def test_branches_and_loops_vary_over_a_mesh_as_what_they_are_of(few):
    """Some of them without jit as well, where JAX compiles operation by operation."""
    shown = run(VARYING, " ".join(VARY), " ".join(few(VARY, 4)))
    assert shown.splitlines()[-1] == "done"


def test_two_processes_train_from_the_first_call_on():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    environment = {**devices(2), "PYTHONPATH": str(ROOT)}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WITHOUT_BUDGET + PROCESSES, port, number],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in ("0", "1")
    ]
    try:
        told = [process.communicate(timeout=200) for process in started]
    finally:
        for process in started:
            process.kill()
    for process, (out, error) in zip(started, told, strict=True):
        assert process.returncode == 0, error[-3000:]
        assert out.endswith("done\n")
