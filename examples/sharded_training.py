"""Train one network on all devices of the machine, with a gradient that tracegrad wrote.

In: points on a noisy surface, made here. Out: the loss at the start and at the end, the placement
of weights and gradients, and the number of collectives in a step; the placement of the weights and
the learning curves in ``examples/output/sharded_training.png``.

There are three layouts of a step on a mesh. Each device has a part of the batch and all weights
("data"), a part of the weights and the whole batch ("tensor"), or a part of both ("full"). The step
is the same; only the placement of its arguments differs. With NumPy there is only one device.

    python examples/sharded_training.py [--backend jax] [--layout full] [--steps 300] [--quick]

On a machine with one device, JAX can simulate eight:

    XLA_FLAGS=--xla_force_host_platform_device_count=8 python examples/sharded_training.py
"""

import common
import matplotlib.pyplot as plt
import numpy as np

import tracegrad as tg

INPUTS, HIDDEN, BATCH = 16, 256, 512
RATE = 0.1
LAYOUTS = {  # of the batch, then of the weights; "d" is the axis of the mesh
    "data": (("d",), {"w1": (), "b1": (), "w2": ()}),
    "tensor": ((), {"w1": (None, "d"), "b1": ("d",), "w2": ("d",)}),
    "full": (("d",), {"w1": ("d",), "b1": ("d",), "w2": ("d",)}),
}


@tg.value_and_grad
def loss(params, x, y):
    """Mean squared error of a network with one hidden layer, and its gradient in params."""
    h = np.tanh(x @ params["w1"] + params["b1"])
    return np.mean((h @ params["w2"] - y) ** 2)


def step(params, x, y):
    """One step of gradient descent."""
    value, slopes = loss(params, x, y)
    return {name: params[name] - RATE * slopes[name] for name in params}, value


def drawn(random):
    """Initial weights, and the points."""
    x = random.normal(size=(BATCH, INPUTS)).astype(np.float32)
    y = np.sin(x[:, :1]) + x[:, 1:2] * x[:, 2:3] / 2
    params = {
        "w1": random.normal(size=(INPUTS, HIDDEN)) / INPUTS**0.5,
        "b1": np.zeros(HIDDEN),
        "w2": random.normal(size=(HIDDEN, 1)) / HIDDEN**0.5,
    }
    return {name: w.astype(np.float32) for name, w in params.items()}, x, y


def spread(params, x, y, layout):
    """The same arrays over all devices, and the step as one program for them."""
    import jax
    from jax.sharding import NamedSharding, PartitionSpec

    mesh = jax.make_mesh((jax.device_count(),), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    batch, weights = LAYOUTS[layout]

    def place(array, axes):
        return jax.device_put(array, NamedSharding(mesh, PartitionSpec(*axes)))

    params = {name: place(w, weights[name]) for name, w in params.items()}
    x, y = place(x, batch), place(y, batch)
    shardings = {name: w.sharding for name, w in params.items()}
    whole = NamedSharding(mesh, PartitionSpec())
    jitted = jax.jit(step, out_shardings=(shardings, whole), donate_argnums=0)
    text = jitted.lower(params, x, y).compile().as_text()
    counts = {name: text.count(f" {name}(") for name in ("all-reduce", "all-gather")}
    print(f"{layout} over {jax.device_count()} devices, collectives in a step: {counts}")
    for name, slope in loss(params, x, y)[1].items():
        print(f"  {name} lies as {shardings[name].spec}, its gradient as {slope.sharding.spec}")
    return params, x, y, jitted


def plot(layouts, histories):
    """The devices that have each part of the first weights, and the loss after each step."""
    figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
    for ax, (layout, devices) in zip(axes, layouts.items()):
        ax.imshow(devices, cmap="tab10", vmin=0, vmax=9, aspect="auto", interpolation="nearest")
        ax.set(title=f'"{layout}": who has which w1', xlabel="hidden unit", ylabel="input")
    for name, values in histories.items():
        axes[-1].semilogy(values, label=name)
    axes[-1].set(title="The same training", xlabel="step", ylabel="loss")
    axes[-1].grid(alpha=0.3)
    axes[-1].spines[["top", "right"]].set_visible(False)
    axes[-1].legend(frameon=False)
    common.save(figure, "sharded_training")


def holders(weights):
    """For each weight the number of the device that has it; -1 if all have it."""
    found = np.full(weights.shape, -1)
    for shard in getattr(weights, "addressable_shards", []):
        if shard.data.size < weights.size:
            found[shard.index] = shard.device.id
    return np.ma.masked_less(found, 0)


def main(arguments=None):
    parser = common.options(__doc__, "30 steps", ("jax", "numpy"), in_jax=False)
    parser.add_argument("--layout", choices=[*LAYOUTS, "all"], default="all")
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args(arguments)
    tg.config.backend = options.backend
    steps = 30 if options.quick else options.steps
    chosen = LAYOUTS if options.layout == "all" else [options.layout]
    layouts, histories = {}, {}
    for layout in chosen if options.backend == "jax" else ["one device"]:
        params, x, y = drawn(np.random.default_rng(0))
        run = step
        if options.backend == "jax":
            params, x, y, run = spread(params, x, y, layout)
        layouts[layout], values = holders(params["w1"]), []
        for _ in range(steps):
            params, value = run(params, x, y)
            values.append(float(value))
        print(f"  loss {values[0]:.4f} at first, {values[-1]:.4f} after {steps} steps")
        histories[layout] = values
        assert values[-1] < 0.8 * values[0]
    plot(layouts, histories)


if __name__ == "__main__":
    main()
