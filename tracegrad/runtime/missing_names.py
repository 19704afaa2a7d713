"""A name that a module does not have enters; an AttributeError that says what there is leaves.

Users type the names of the library that they come from. Nothing is found that is not there, so
`hasattr` and completion tell the truth.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NoReturn

_TREES = (
    "write a comprehension, {k: f(v) for k, v in params.items()}, or jax.tree.map; "
    "tg.optim has updates of whole pytrees"
)
_DEVICES = (
    "JAX lays out arrays, and backend='jax' computes where they lie: the guide on training on "
    "many devices"
)
_LAYERS = (
    "layers and losses are functions (nn.linear, nn.cross_entropy), and a model is a class of your "
    "own that holds Tensors and lists them in parameters(), as the guide on training loops shows"
)
_OPTIMIZERS = "optimizers are SGD, Adam, AdamW and RMSprop, as functions sgd, adam, adamw, rmsprop"
_SCHEDULES = "schedules are CosineLR, LinearWarmup and StepLR of tracegrad.optim itself"
_LIMITS = "the page of limits lists them"
_KEYS = "tg.random.Generator(seed) moves on at each draw; KeyGenerator draws by JAX's keys"

INSTEAD: dict[str, dict[str, str]] = {
    "tracegrad": {
        "Array": "arrays are NumPy's, np.ndarray",
        "DataLoader": "batches are slices of arrays",
        "FloatTensor": "write tg.tensor",
        "Generator": "write tg.random.Generator",
        "Module": f"see tg.nn: {_LAYERS}",
        "array": "write np.array, or tg.tensor for a Tensor",
        "bernoulli": "write tg.random.Generator(seed).bernoulli",
        "cat": "write tg.concat or np.concatenate",
        "chunk": "write tg.split or np.split",
        "cuda": "x.to('cuda') moves a Tensor",
        "debug": "print works in compiled functions",
        "device_put": _DEVICES,
        "disable_jit": "tg.config.compile = False runs every function eagerly",
        "enable_x64": "numbers are float64 here, as NumPy's",
        "eval_shape": "f.graph(x) is what was recorded, with its shapes",
        "func": "its functions are those of tracegrad itself: tg.grad, tg.vmap, tg.jvp",
        "inverse": "write tg.linalg.inv",
        "is_tensor": "write isinstance(x, tg.Tensor)",
        "jit": "write tg.compile; gradients are compiled without it",
        "lax": "write for, while and if, which stay what they are in the program; tg.stop_gradient",
        "lgamma": "write tg.special.gammaln",
        "make_jaxpr": "f.graph(x) is what was recorded, f.source(x) what runs",
        "multinomial": "write tg.random.Generator(seed).choice",
        "numpy": "write import numpy as np; import tracegrad.numpy for code of HIPS autograd",
        "pmap": _DEVICES,
        "remat": "write tg.checkpoint",
        "save": "np.savez keeps arrays: the guide on saving",
        "scipy": "SciPy's own functions take traced arrays; import tracegrad.scipy for code of "
        "HIPS autograd",
        "shard_map": _DEVICES,
        "sharding": _DEVICES,
        "tree": _TREES,
        "tree_map": _TREES,
        "tree_util": _TREES,
        "utils": "batches are slices of arrays; tg.checkpoint",
    },
    "tracegrad.autograd": {
        name: f"write tg.{name}" for name in ("hessian", "hvp", "jacobian", "jvp", "vjp")
    },
    "tracegrad.nn": {
        "functional": "its functions are those of tracegrad.nn itself",
        "l1_loss": "write np.mean(np.abs(x - y))",
        "tanh": "write np.tanh or tg.tanh",
    },
    "tracegrad.optim": {
        "LBFGS": "scipy.optimize.minimize(tg.value_and_grad(f), x, jac=True, method='L-BFGS-B') "
        "finds a minimum: the guide on SciPy optimizers",
        "apply_updates": "update(params, grads, state) of optim.adam gives the new parameters",
        "clip_by_global_norm": "write optim.clip_norm(grads, max_norm)",
        "lr_scheduler": _SCHEDULES,
    },
    "tracegrad.random": {name: _KEYS for name in ("PRNGKey", "fold_in", "key", "split")},
}
"""What stands for names of PyTorch, JAX and NumPy that a module does not have."""

FAMILIES: dict[str, list[tuple[Callable[[str], bool], str]]] = {
    f"tracegrad.{name}": [
        (lambda name: True, f"functions of scipy.{name} take traced arrays where {_LIMITS}")
    ]
    for name in ("linalg", "special")
} | {
    "tracegrad.nn": [(lambda name: name[:1].isupper(), _LAYERS)],
    "tracegrad.optim": [
        (lambda name: name.endswith("LR"), _SCHEDULES),
        (lambda name: True, _OPTIMIZERS),
    ],
}
"""What stands for any other name of a form."""


def missing_names_of(
    module: str, also: Callable[[str], str] = lambda name: ""
) -> Callable[[str], NoReturn]:
    """The `__getattr__` of a module; `also` tells of names that stand in no table."""
    table, families = INSTEAD.get(module, {}), FAMILIES.get(module, [])

    def instead_of(name: str) -> str:
        if name.startswith("_"):
            return ""
        family = next((said for fits, said in families if fits(name)), "")
        return table.get(name) or family or also(name)

    def __getattr__(name: str) -> NoReturn:
        said = ": ".join(
            filter(None, (f"module {module!r} has no attribute {name!r}", instead_of(name)))
        )
        raise AttributeError(said, name=name, obj=sys.modules[module])

    return __getattr__
