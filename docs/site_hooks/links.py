"""Pages of ``docs/`` enter as they are read in the repository; as the site shows them they leave.

The site has the pages alone: a link to another file of the repository becomes its name.
"""

from __future__ import annotations

import re
from typing import Any

OUTSIDE = re.compile(r"\[([^]\n]+)\]\((?:\.\./)+(?:tests|examples|CONTRIBUTING)[^)\n]*\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The text of a page without links to files that the site does not have."""
    return OUTSIDE.sub(r"\1", markdown)
