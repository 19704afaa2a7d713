"""Measure forward and backward of small eager graphs beside PyTorch's eager mode and HIPS autograd.

In: a chain of elementwise ops on 3-vectors, 20 and 200 ops, the same text for all three.
Out: a Markdown table of microseconds an op and ratios, and the memory that a recorded graph holds.

    python -m pip install torch autograd        # for this measurement only
    python -m tests.benchmarks.eager_tape [--rounds 31]

All run in one process and take turns, one thread each; a ratio is taken within each round, so a
change of the machine's speed between rounds does not enter it.
"""

import argparse
import subprocess
import sys
import time
from statistics import median

import autograd
import autograd.numpy as anp
import numpy as np
import torch

import tracegrad as tg

X, Y = [0.1, 0.2, 0.3], [0.5, 0.6, 0.7]
REPEATS = 400  # ops in one side of one round


def program(x, y, ops, tanh, total):
    a = x
    for _ in range(ops // 4):
        a = a * y
        a = a + x
        a = tanh(a)
        a = a - y
    return total(a)


def sides(ops):
    """One call of forward and backward for each library, and the gradients that it leaves."""
    x, y = tg.tensor(X, requires_grad=True), tg.tensor(Y, requires_grad=True)
    tx = torch.tensor(X, dtype=torch.float64, requires_grad=True)
    ty = torch.tensor(Y, dtype=torch.float64, requires_grad=True)
    hx, hy = np.array(X), np.array(Y)
    pull = autograd.grad(lambda a, b: program(a, b, ops, anp.tanh, anp.sum), (0, 1))

    def ours():
        x.grad = y.grad = None
        program(x, y, ops, tg.Tensor.tanh, tg.Tensor.sum).backward()
        return x.grad.numpy(), y.grad.numpy()

    def theirs():
        tx.grad = ty.grad = None
        program(tx, ty, ops, torch.tanh, torch.sum).backward()
        return tx.grad.numpy(), ty.grad.numpy()

    return {"tracegrad": ours, "torch": theirs, "HIPS autograd": lambda: pull(hx, hy)}


def measure(ops, rounds):
    run = sides(ops)
    reference = run["torch"]()
    for call in run.values():
        for _ in range(3):  # the third call of ours is the compiled one
            for a, b in zip(call(), reference, strict=True):
                assert np.allclose(a, b, rtol=1e-12), "the gradients differ"
    times = {name: [] for name in run}
    for _ in range(rounds):
        for name, call in run.items():
            began = time.perf_counter()
            for _ in range(max(1, REPEATS // ops)):
                call()
            spent = time.perf_counter() - began
            times[name].append(spent / max(1, REPEATS // ops) / ops * 1e6)
    return times


HOLD = """
{setup}
x = make()
keep = []
def rss():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
for _ in range(10): keep.append(chain(x))
before = rss()
for _ in range({graphs}): keep.append(chain(x))
print((rss() - before) * 1024 / {graphs} / {ops})
"""
SETUPS = {
    "tracegrad": (
        "import tracegrad as tg\nmake = lambda: tg.tensor([0.1, 0.2, 0.3], requires_grad=True)\n"
    ),
    "torch": (
        "import torch\n"
        "make = lambda: torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64, requires_grad=True)\n"
    ),
}
CHAIN = """
def chain(x):
    a = x
    for _ in range({ops} // 2):
        a = (a * x) + x
    return a
"""


def memory(name, ops=200, graphs=400):
    """Bytes an op that a graph holds (Linux): the growth of a fresh process that keeps many."""
    code = HOLD.format(setup=SETUPS[name] + CHAIN.format(ops=ops), graphs=graphs, ops=ops)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=31)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    print("| forward and backward | tracegrad | torch | HIPS autograd | of torch | of HIPS |")
    print("| --- | --- | --- | --- | --- | --- |")
    for ops in (20, 200):
        times = measure(ops, rounds)
        ours, theirs, hips = (times[n] for n in ("tracegrad", "torch", "HIPS autograd"))
        of_torch = median(a / b for a, b in zip(ours, theirs, strict=True))
        of_hips = median(a / b for a, b in zip(ours, hips, strict=True))
        shown = [f"{median(t):.2f}" for t in (ours, theirs, hips)]
        print(f"| {ops} ops, us an op | {' | '.join(shown)} | {of_torch:.2f} | {of_hips:.2f} |")
    held = {name: memory(name) for name in SETUPS}
    print(f"\nbytes an op held by a graph: {', '.join(f'{n} {b:.0f}' for n, b in held.items())}")


if __name__ == "__main__":
    main()
