"""A graph that may round otherwise enters, one with less work leaves: the passes of fast math.

They run on programs for NumPy while ``tg.config.fast_math`` is on, between the algebra that keeps
every bit and the passes that give memory away; that algebra runs once more after them. Results stay
within rounding of the exact ones; the sign of zero, and which of several roundings, may change.
"""

from codegen.passes.client import Pass
from tracegrad.fast_math.batch import batch
from tracegrad.fast_math.chains import chains
from tracegrad.fast_math.columns import scaled_columns
from tracegrad.fast_math.contract import contract
from tracegrad.fast_math.exponentials import exponentials_once
from tracegrad.fast_math.regroup import regroup

PASSES: tuple[Pass, ...] = (
    Pass(batch, "first: what turns of loops repeat is found in the graph as it was written"),
    Pass(exponentials_once, "it knows the derivatives of logsumexp as they are written"),
    Pass(regroup, "factors that meet leave fewer products"),
    Pass(contract, "sums of products are products; it takes apart what factors were joined"),
    Pass(scaled_columns, "of the sums that are left"),
    Pass(chains, "behind contract, which makes products: they are multiplied from the vector"),
)
