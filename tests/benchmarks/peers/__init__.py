"""Compiled tracegrad beside hand-written NumPy, HIPS autograd, PyTorch and JAX.

python -m pip install '.[peers]'
python -m tests.benchmarks.peers                    # all workloads, about five minutes
python -m tests.benchmarks.peers chain MLP --judge  # some, with the limits that they must keep
"""
