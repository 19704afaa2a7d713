"""Each example enters; its section in ``docs/gallery.md`` shows what it is and what is generated.

``--update-golden`` writes the sections anew; pictures and times are made by
``python tests/gallery_page.py --pictures --times``.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys

import gallery_page as gallery
import numpy as np
import pytest

import tracegrad as tg

for _name in ("jax", "scipy", "sklearn", "matplotlib"):
    pytest.importorskip(_name)
pytest.importorskip("tqdm").tqdm.monitor_interval = 0  # its thread would outlive these tests


def test_every_example_has_a_section_and_a_picture():
    text = gallery.PAGE.read_text(encoding="utf-8")
    assert {*gallery.SHOWN, *gallery.OTHERS} == {*gallery.examples()}
    assert re.findall(r"^<!-- (\w+) -->", text, re.MULTILINE) == [
        "times",
        *gallery.SHOWN,
        *gallery.OTHERS,
    ]
    assert set(re.findall(r"\(\.\./examples/(\w+)\.py\)", text)) == {*gallery.examples()}
    pictures = {path.stem for path in gallery.PICTURES.glob("*.png")}
    assert pictures == {*gallery.examples()}


def test_every_example_stands_in_the_table_of_times():
    text = gallery.marked("times").search(gallery.PAGE.read_text(encoding="utf-8"))[2]
    assert set(re.findall(r"^\| (\w+) \| num", text, re.MULTILINE)) == {*gallery.SHOWN}


@pytest.mark.parametrize("name", gallery.examples())
def test_a_section_shows_what_is_generated(name, request):
    page = gallery.PAGE.read_text(encoding="utf-8")
    expected = gallery.with_part(page, name, gallery.section(name))
    if request.config.getoption("--update-golden"):
        gallery.PAGE.write_text(expected, encoding="utf-8")
    else:
        assert page == expected, "--update-golden writes it"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", gallery.SHOWN)
def test_jax_computes_the_same(name, capsys):
    import jax

    before = jax.config.jax_enable_x64
    try:
        gallery.module(name).main(["--beside-jax"])  # which gives the process's JAX 64 bits
    finally:
        jax.config.update("jax_enable_x64", before)
    assert "median ratio" in capsys.readouterr().out


@pytest.mark.parametrize("name", gallery.SHOWN)
def test_torch_computes_the_same(name):
    pytest.importorskip("torch")
    import gallery_in_torch

    ours, theirs, given = gallery_in_torch.pair(name)
    dense = gallery.module("common").dense
    found, expected = (
        gallery_in_torch.leaves(ours(*given)),
        theirs(*gallery_in_torch.in_torch(given)),
    )
    for a, b in zip(map(dense, found), map(dense, expected), strict=True):
        np.testing.assert_allclose(
            a, b, 0.0, (1e-4 if a.dtype == np.float32 else 1e-9) * max(1.0, np.abs(b).max())
        )


# -- what the page says besides -------------------------------------------------------------------


@tg.value_and_grad
def likelihood_with_an_if(theta, flow, first):
    """That of the Kalman filter, with a branch for years without a measurement."""
    noise, step = np.exp(2.0 * theta)
    level, variance = first
    total = 0.0
    for y in flow:
        if not np.isnan(y):
            spread = variance + noise
            total = total + np.log(2.0 * np.pi * spread) + (y - level) ** 2 / spread
            gain = variance / spread
            level = level + gain * (y - level)
            variance = (1.0 - gain) * variance
        variance = variance + step
    return 0.5 * total


def test_a_filter_with_an_if_gives_the_same_and_stays_a_loop():
    example = gallery.module("kalman_filter")
    loss, (theta, flow) = example.shown()
    flow = flow[10:30]
    value, gradient = likelihood_with_an_if(theta, flow, example.AT_FIRST)
    expected, slope = loss(theta, flow)
    assert np.allclose(value, expected) and np.allclose(gradient, slope)
    assert "loops that are unrolled" not in likelihood_with_an_if.explain()


def test_two_products_give_the_jacobian_of_the_bundle_adjustment():
    jacobian, arguments = gallery.module("bundle_adjustment").shown()
    found = jacobian(*arguments)
    assert ", 2 colours, " in jacobian.explain().splitlines()[0]
    assert found.shape[1] > 1000 and round(found.shape[0] * found.shape[1] / found.nnz, -1) == 160


# -- notebooks ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def notebooks():
    path = gallery.ROOT / "docs" / "site_hooks" / "notebooks.py"
    spec = importlib.util.spec_from_file_location("notebooks", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_a_notebook(notebooks):
    assert [path.stem for path in notebooks.scripts()] == gallery.examples()
    for path in notebooks.scripts():
        made = json.loads(json.dumps(notebooks.notebook(path)))
        assert made["nbformat"] == 4 and len({cell["id"] for cell in made["cells"]}) > 5
        code = ["".join(c["source"]) for c in made["cells"] if c["cell_type"] == "code"]
        script = path.read_text(encoding="utf-8")
        functions = re.findall(r"^(?:def|class) \w+", script, re.MULTILINE)
        assert re.findall(r"^(?:def|class) \w+", "\n".join(code), re.MULTILINE) == functions


@pytest.mark.sampled(4, 2)
@pytest.mark.parametrize("name", gallery.examples())
def test_the_cells_of_a_notebook_run(name, notebooks, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "common", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(tg.config, "backend", "numpy")
    names = {"__name__": "__main__"}
    cells = notebooks.notebook(gallery.EXAMPLES / f"{name}.py")["cells"]
    *code, last = [cell for cell in cells if cell["cell_type"] == "code"]
    for cell in code:
        text = "".join(cell["source"]).replace("main([])", 'main(["--quick"])')
        exec(compile(text, f"<{cell['id']}>", "exec"), names)
    assert f"Image('output/{name}.png')" in last["source"]  # of IPython
    assert (tmp_path / "output" / f"{name}.png").is_file()
    del sys.modules["common"]
