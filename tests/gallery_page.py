"""The examples enter; what ``docs/gallery.md`` shows of them leaves.

    python tests/gallery_page.py [--pictures] [--times]

writes the functions and the generated sources anew, ``--pictures`` runs every example for its
picture, and ``--times`` measures each beside JAX and PyTorch; `test_gallery.py` fails while the
page is not up to date. What stands between the marks of an example is generated, all else is
written by hand.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path
from types import ModuleType
from unittest import mock

import tracegrad as tg

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "gallery.md"
EXAMPLES = ROOT / "examples"
PICTURES = ROOT / "docs" / "images" / "gallery"
WIDTH = 900  # of a picture, in pixels

SHOWN: dict[str, tuple[str, ...]] = {
    "digits_mlp": ("forward", "loss"),
    "convnet": ("forward", "loss"),
    "attention": ("attention", "split"),
    "gaussian_process": ("covariance", "loss"),
    "garch": ("parameters", "loss"),
    "kalman_filter": ("filtered", "loss"),
    "pharmacokinetics": ("compartments", "advance", "concentrations", "loss"),
    "hidden_markov": ("probabilities", "loss"),
    "bundle_adjustment": ("rotated", "seen", "residuals", "jacobian"),
    "autoencoder": ("encode", "decode", "loss"),
}
"""The statements of an example that its section shows."""

OTHERS = ("pytorch_style", "sharded_training")
"""Examples whose sections show no source."""


def examples() -> list[str]:
    """The scripts in ``examples``."""
    found = sorted(EXAMPLES.glob("*.py"))
    return [path.stem for path in found if "__main__" in path.read_text(encoding="utf-8")]


def module(name: str) -> ModuleType:
    """An example, imported."""
    with mock.patch.object(sys, "path", [str(EXAMPLES), *sys.path]):
        return import_module(name)


def section(name: str) -> str:
    """What is generated in the section of an example."""
    if name not in SHOWN:
        return f"![{title(name)}](images/gallery/{name}.png)\n"
    return f"""![{title(name)}](images/gallery/{name}.png)

```python
{functions(name)}
```

<details markdown="1">
<summary>The generated source</summary>

```python
{source(name)}```

</details>
"""


def title(name: str) -> str:
    """The first sentence of an example."""
    said = ast.get_docstring(tree(name)) or ""
    return said.partition("\n")[0].rstrip(".")


def tree(name: str) -> ast.Module:
    """The statements of an example."""
    return ast.parse((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))


def functions(name: str) -> str:
    """The text of the statements that are shown."""
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()
    found = {}
    for node in tree(name).body:
        match node:
            case ast.FunctionDef(name=called, decorator_list=decorators):
                first = decorators[0].lineno if decorators else node.lineno
            case ast.Assign(targets=[ast.Name(id=called)]):
                first = node.lineno
            case _:
                continue
        found[called] = "\n".join(text[first - 1 : node.end_lineno])
    return "\n\n\n".join(found[called] for called in SHOWN[name])


def source(name: str) -> str:
    """The source that is generated for the function of an example."""
    with mock.patch.object(tg.config, "backend", "numpy"):
        function, arguments = module(name).shown()
        return str(function.source(*arguments)).rstrip("\n") + "\n"


def marked(name: str) -> re.Pattern[str]:
    """What finds the generated part of a section."""
    return re.compile(rf"(<!-- {name} -->\n)(.*?)(<!-- end of {name} -->)", re.DOTALL)


def with_part(page: str, name: str, text: str) -> str:
    """The page with another text between the marks of a name."""
    return marked(name).sub(lambda found: f"{found[1]}{text}{found[3]}", page)


def run(script: Path, *arguments: str) -> str:
    """What a script prints."""
    flags = "--xla_force_host_platform_device_count=8" if script.stem == "sharded_training" else ""
    environment = {**os.environ, "XLA_FLAGS": flags}
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment, cwd=ROOT
    )
    return done.stdout


def draw(name: str) -> None:
    """Runs an example, and puts its picture, smaller, into the documentation."""
    from PIL import Image

    run(EXAMPLES / f"{name}.py")
    picture = Image.open(EXAMPLES / "output" / f"{name}.png").convert("RGB")
    picture = picture.resize((WIDTH, round(picture.height * WIDTH / picture.width)))
    PICTURES.mkdir(parents=True, exist_ok=True)
    picture.quantize(64).save(PICTURES / f"{name}.png", optimize=True)


def times() -> str:
    """A table of all examples beside JAX and PyTorch."""
    lines = [
        "| example | backend | a call (ms) | in JAX (ms) | ratio | in PyTorch (ms) | ratio |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name in SHOWN:
        for backend in ("numpy", "numba"):
            said = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
            if backend == "numba" and '"numba"' not in said:
                continue
            chosen = ("--backend", backend)
            in_jax = numbers(run(EXAMPLES / f"{name}.py", "--beside-jax", *chosen))
            in_torch = numbers(run(ROOT / "tests" / "gallery_in_torch.py", name, *chosen))
            cells = [name, backend, *in_jax, *in_torch[1:]]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def numbers(printed: str) -> list[str]:
    """Our time, theirs and their ratio, of what is printed by a comparison."""
    return re.findall(r"[\d.]+(?=\D|$)", printed.strip())[:3]


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", action="store_true", help="run every example for its picture")
    parser.add_argument("--times", action="store_true", help="measure each beside JAX and PyTorch")
    parser.add_argument("names", nargs="*", help="of examples; all if there is none")
    options = parser.parse_args()
    for name in options.names or examples():
        if options.pictures:
            draw(name)
        text = section(name)
        PAGE.write_text(with_part(PAGE.read_text(encoding="utf-8"), name, text), encoding="utf-8")
    if options.times:
        page = with_part(PAGE.read_text(encoding="utf-8"), "times", times())
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
