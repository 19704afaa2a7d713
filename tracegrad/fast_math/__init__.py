"""A graph that may round otherwise enters, one with less work leaves: the passes of fast math.

They run on programs for NumPy while ``tg.config.fast_math`` is on, between the algebra that keeps
every bit and the passes that give memory away; that algebra runs once more after them. Results stay
within rounding of the exact ones; the sign of zero, and which of several roundings, may change.
"""

from codegen.passes.client import Pass
from tracegrad.fast_math.batch import batch
from tracegrad.fast_math.chains import chains

PASSES: tuple[Pass, ...] = (
    Pass(chains, "first: matrices that are not made leave nothing to the others"),
    Pass(batch, "what turns of loops repeat, whatever each of them does"),
)
