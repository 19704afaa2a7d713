"""The page of functions and ops is what the table, the namespace and the tests say."""

from __future__ import annotations

import ops_page

from tracegrad.ops.record import TABLE
from tracegrad.tensors import array_functions


def test_the_page_is_up_to_date(request):
    found = ops_page.page()
    if request.config.getoption("--update-golden"):
        ops_page.PAGE.write_text(found, encoding="utf-8")
    assert ops_page.PAGE.read_text(encoding="utf-8") == found, "run: python tests/ops_page.py"


def test_every_function_is_described():
    """A function without a docstring, or an op behind one, would leave an empty cell."""
    names = dict(ops_page.functions())
    main = {name for name in names if "." not in name}
    assert {"sum", "median", "exp"} <= main <= set(array_functions.__all__)
    assert [name for name, f in names.items() if not ops_page.summary(f)] == []
    assert len(list(ops_page.op_rows())) == sum(not op.opaque for op in TABLE.values())
