"""The passes of fast math: less work for a graph whose results may round otherwise.

They run on programs for NumPy while ``tg.config.fast_math`` is on, between the algebra that keeps
every bit and the passes that give memory away; that algebra runs once more after them. Results stay
within rounding of the exact ones; the sign of zero, and which of several roundings, may change.
"""

from codegen.passes.client import Pass
from tracegrad.fast_math.added_zeros import zeros
from tracegrad.fast_math.contractions import contract
from tracegrad.fast_math.loops import turns_at_once
from tracegrad.fast_math.matrix_chains import chains
from tracegrad.fast_math.regroup import regroup
from tracegrad.fast_math.scaled_columns import scaled_columns
from tracegrad.fast_math.shared_exponentials import exponentials_once
from tracegrad.fast_math.short_rows import short_rows
from tracegrad.fast_math.symmetric_products import mirrored

PASSES: tuple[Pass, ...] = (
    Pass(zeros, "a loop's first turn looks then as the others do"),
    Pass(turns_at_once, "early: it knows what turns repeat as it was written"),
    Pass(exponentials_once, "it knows the derivatives of logsumexp as they are written"),
    Pass(regroup, "factors that meet leave fewer products"),
    Pass(contract, "sums of products are products; it takes apart what factors were joined"),
    Pass(mirrored, "of the products that sums became"),
    Pass(scaled_columns, "of the sums that are left"),
    Pass(chains, "behind contract, which makes products: they are multiplied from the vector"),
    Pass(short_rows, "last: of the broadcasts that are left"),
)
