"""The workloads, in the order of the table."""

from tests.benchmarks.peers.workloads.attention import ATTENTION
from tests.benchmarks.peers.workloads.black_scholes import BLACK_SCHOLES
from tests.benchmarks.peers.workloads.chain import CHAIN
from tests.benchmarks.peers.workloads.convolutions import CNN
from tests.benchmarks.peers.workloads.gmm import GMM
from tests.benchmarks.peers.workloads.logistic import LOGISTIC
from tests.benchmarks.peers.workloads.lstm import LSTM
from tests.benchmarks.peers.workloads.mlp import MLP
from tests.benchmarks.peers.workloads.n_body import N_BODY
from tests.benchmarks.peers.workloads.rnn import RNN
from tests.benchmarks.peers.workloads.rosenbrock import ROSENBROCK, ROSENBROCK_HVP

WORKLOADS = [
    CHAIN,
    BLACK_SCHOLES,
    MLP,
    LOGISTIC,
    ATTENTION,
    CNN,
    ROSENBROCK,
    ROSENBROCK_HVP,
    N_BODY,
    GMM,
    RNN,
    LSTM,
]
