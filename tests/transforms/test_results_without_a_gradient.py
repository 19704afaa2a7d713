"""Functions that are differentiated and return no number: what they do before is done."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import NonScalarError


@pytest.mark.parametrize("returned", ["", "return x", "return 'text'", "return np.sum(x) > 0"])
@pytest.mark.parametrize("does", ["o.n += 1", "o.log.append(np.sum(x))", "o.d['k'] = x * o.n"])
def test_what_was_done_before_a_result_that_will_not_do(does, returned):
    def left(compiles: bool) -> list[Any]:
        o = SimpleNamespace(n=1, log=[], d={})
        scope = {"np": np, "o": o}
        exec(f"def f(x):\n    {does}\n    y = np.sum(x * o.n)\n    {returned}", scope)
        f, found = tg.grad(scope["f"]), []
        for _ in range(3):
            with pytest.MonkeyPatch.context() as patch, pytest.raises(NonScalarError):
                patch.setattr(tg.config, "compile", compiles)
                f(np.ones(2))
            found.append(repr([o.n, o.log, o.d]))
        return found

    assert left(True) == left(False)
