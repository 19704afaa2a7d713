"""Scripts of ``examples/`` enter; on the site they stand as they are, and as notebooks.

A notebook has the script's statements in their order: a cell for each part that a comment of its
own line opens, one that runs `main`, and one that shows the picture.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"
LINK = re.compile(r"\[(`examples/(\w+)\.py`)\]\(\.\./examples/\w+\.py\)")
PART = re.compile(r"^# (.+(?:\n# .+)*)\n(?=\n\n)", re.MULTILINE)


def scripts() -> list[Path]:
    """The examples, without what they share."""
    return [path for path in sorted(EXAMPLES.glob("*.py")) if path.stem != "common"]


def on_files(files: Any, config: Any) -> Any:
    """The files of the site, with the scripts and their notebooks."""
    from mkdocs.structure.files import File

    for path in [*scripts(), EXAMPLES / "common.py"]:
        text = path.read_text(encoding="utf-8")
        files.append(File.generated(config, f"examples/{path.name}", content=text))
    for path in scripts():
        text = json.dumps(notebook(path), indent=1, ensure_ascii=False)
        files.append(File.generated(config, f"examples/{path.stem}.ipynb", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The text of the gallery with links to scripts and notebooks of the site."""
    if page.file.src_uri != "gallery.md":
        return markdown
    return LINK.sub(r"[\1](examples/\2.py) ([notebook](examples/\2.ipynb))", markdown)


def notebook(path: Path) -> dict[str, Any]:
    """A script as a notebook."""
    text = path.read_text(encoding="utf-8")
    said = ast.get_docstring(ast.parse(text)) or ""
    first, _, more = said.partition("\n")
    body = text[text.index('"""\n', 3) + len('"""\n') :]
    body = body[: body.index('\n\nif __name__ == "__main__":')]
    shared = (EXAMPLES / "common.py").read_text(encoding="utf-8")
    cells = [
        markdown_cell(f"# {first.rstrip('.')}\n{more}"),
        markdown_cell("What the examples share is a file beside the notebook:"),
        code_cell(f"from pathlib import Path\n\nPath('common.py').write_text({shared!r});"),
    ]
    head, *parts = PART.split(body)
    cells.append(code_cell(head))
    for title, part in zip(parts[::2], parts[1::2]):
        cells += [markdown_cell("## " + title.replace("\n# ", " ")), code_cell(part)]
    cells += [
        code_cell("main([])"),
        code_cell(f"from IPython.display import Image\n\nImage('output/{path.stem}.png')"),
    ]
    language = {"name": "python", "display_name": "Python 3", "language": "python"}
    return {
        "cells": [{**cell, "id": f"cell-{i}"} for i, cell in enumerate(cells)],
        "metadata": {"kernelspec": language, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def markdown_cell(text: str) -> dict[str, Any]:
    """A cell to read."""
    return {"cell_type": "markdown", "metadata": {}, "source": lines(text)}


def code_cell(text: str) -> dict[str, Any]:
    """A cell to run."""
    empty = {"execution_count": None, "outputs": []}
    return {"cell_type": "code", "metadata": {}, "source": lines(text), **empty}


def lines(text: str) -> list[str]:
    """Lines as a notebook keeps them."""
    return text.strip("\n").splitlines(keepends=True)
