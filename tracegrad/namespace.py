"""The op families enter; the flat namespace of functions on arrays leaves (``tg.sum``, ``tg.exp``).

Every family lists in its ``__all__`` what users see, under the array API standard's and NumPy's
names; aliases stand here.
"""

# ruff: noqa: F403, F405

from __future__ import annotations

from tracegrad.methods import power
from tracegrad.ops.creation import *
from tracegrad.ops.elementwise import *
from tracegrad.ops.indexing import *
from tracegrad.ops.linear import *
from tracegrad.ops.reductions import *
from tracegrad.ops.shape import *

abs = absolute
acos = arccos
acosh = arccosh
asin = arcsin
asinh = arcsinh
atan = arctan
atan2 = arctan2
atanh = arctanh
pow = power
true_divide = divide

__all__ = [name for name in dir() if not name.startswith("_") and name != "annotations"]
