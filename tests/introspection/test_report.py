"""Compiled functions enter, the pages that `.draw()` writes leave: held against the program.

What the report's script does is asked of headless Chromium, where there is one. ``--update-golden``
takes the screenshots of the docs anew.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from drawn import MODEL, arguments, both_paths, load_model, plain, version_of

import tracegrad as tg
from codegen.ir import Constant, walk
from tracegrad.introspection.report.highlighting import graph_line, python_lines
from tracegrad.introspection.report.listings import graph_listing, nodes_written, user_listings

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A module of the user's, in a file of its own."""
    return load_model(tmp_path_factory.mktemp("model"))


# -- texts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        MODEL,
        "    def f(x):\n        s = '''a\n  <b>&\n'''\n        return f'{x!r} <' + s  # é",
        "f = g(lambda x: x[0] if x else 1e-3,\n",
        "def unfinished(:\n    '",
        "",
    ],
)
def test_colours_change_no_text(text):
    assert [plain(line) for line in python_lines(text)] == text.splitlines()


def test_words_of_python_are_marked():
    (line,) = python_lines("def f(x): return len(x) + 1.5  # why")
    found = dict(re.findall(r'<span class="(\w+)">([^<]*)</span>', line))
    assert found == {
        "keyword": "return",
        "function": "f",
        "builtin": "len",
        "number": "1.5",
        "comment": "# why",
    }


def test_colours_of_a_graph_change_no_text(model):
    text = str(both_paths(model.kinked).graph(*arguments()))
    assert [plain(graph_line(line)) for line in text.splitlines()] == text.splitlines()


def test_a_statement_computes_the_nodes_that_are_written_in_it(model):
    version = version_of(tg.value_and_grad(model.loss, argnums=(0, 1)), *arguments())
    graph, source = version.program.graph, version.program.source
    nodes = list(walk(graph.nodes))
    lines = zip(source.text.splitlines(), nodes_written(graph, source), strict=True)
    ops = {text.strip(): [nodes[i].op.name for i in here if not isinstance(nodes[i], Constant)]
           for text, here in lines if here}  # fmt: skip
    assert ops["h = x @ w"] == ["matmul"]
    assert ops["h += b"] == ["add"]
    assert ops["value = (err * err).sum() / n"] == ["number_power", "sum", "divide"]
    assert ops["w_bar = x.T @ h_bar"] == ["transpose", "matmul"]


def test_equal_statements_of_two_paths_are_told_apart(model):
    version = version_of(both_paths(model.parted), *arguments())
    graph, source = version.program.graph, version.program.source
    written = nodes_written(graph, source)
    lines = [here for text, here in zip(source.text.splitlines(), written)
             if "w_bar = " in text]  # fmt: skip
    assert len(lines) == 2 and not set(lines[0]) & set(lines[1])


def test_lines_of_a_printed_graph_are_matched_with_its_nodes(model):
    graph = both_paths(model.kinked).graph(*arguments())
    nodes = list(walk(graph.nodes))
    seen = []
    for line in graph_listing("", graph).lines:
        text = plain(line.html)
        for i in line.nodes:
            seen.append(i)
            node = nodes[i]
            word = {"Call": getattr(getattr(node, "op", None), "name", "")}.get(
                type(node).__name__, type(node).__name__.lower()
            )
            assert word in text
    assert seen == list(range(len(nodes)))


def test_the_user_s_lines_are_those_of_the_file_and_a_statement_may_have_several(model):
    version = version_of(both_paths(model.kinked), *arguments())
    (listing,) = user_listings(model.kinked, version.program.graph)
    texts = MODEL.splitlines()
    assert all(plain(line.html) == texts[line.number - 1] for line in listing.lines)
    rows = {line.number: line.place for line in listing.lines if line.nodes}
    start = texts.index("    err = (") + 1
    assert [rows[start + i] for i in range(4)] == [("model.py", start)] * 4


def test_functions_that_are_called_are_shown_and_those_inside_others_are_not_shown_twice(model):
    w, b, x, y = arguments()
    version = version_of(tg.grad(model.deep), [(w, b)], x, y)
    titles = [listing.title for listing in user_listings(model.deep, version.program.graph)]
    assert [MODEL.splitlines()[int(t.split(":")[1]) - 1].split("(")[0] for t in titles] == [
        "def deep",
        "def layer",
    ]

    def outer(x):
        def inner(z):
            return np.tanh(z)

        return inner(x).sum()

    version = version_of(tg.grad(outer), np.ones(3))
    assert len(user_listings(outer, version.program.graph)) == 1


def test_a_function_without_a_source_file_has_a_report_all_the_same(tmp_path):
    names = {"np": np}
    exec("def f(x):\n    return np.tanh(x).sum()", names)
    html = tg.grad(names["f"]).draw(tmp_path / "a.html", np.ones(3)).read_text(encoding="utf-8")
    assert "lines without a source file" in html


# -- the report -----------------------------------------------------------------------------------


class Elements(HTMLParser):
    """All tags with their attributes, checked to be closed in order."""

    EMPTY = frozenset({"br", "meta", "rect", "path", "circle", "polygon"})

    def __init__(self, html):
        super().__init__()
        self.found, self.open = [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def pages(model, tmp_path_factory):
    """Reports: of straight code, of both paths of a branch, of a loop."""
    folder = tmp_path_factory.mktemp("pages")
    w, b, x, y = arguments()
    layers = [(np.eye(3), np.ones(3)), (np.eye(3), np.ones(3)), (w, b)]
    loss = tg.value_and_grad(model.loss, argnums=(0, 1))
    return {
        "loss": loss.draw(folder / "loss.html", w, b, x, y),
        "kinked": both_paths(model.kinked).draw(folder / "kinked.html", w, b, x, y),
        "deep": tg.value_and_grad(model.deep).draw(folder / "deep.html", layers, x, y),
    }


@pytest.mark.parametrize("name", ["loss", "kinked", "deep"])
def test_a_report_is_well_formed_and_loads_nothing(pages, name):
    html = pages[name].read_text(encoding="utf-8")
    for tag, attributes in Elements(html).found:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        for key, value in attributes.items():
            assert key not in ("src", "srcset", "action", "xlink:href")
            assert key != "href" or value.startswith("#")
            assert not key.startswith("on")
    assert set(re.findall(r"\w+://[^\s\"'<]*", html)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|import\(", html)


def line_text(place):
    return MODEL.splitlines()[int(place.partition(":")[2]) - 1].strip()


@pytest.mark.parametrize("name", ["loss", "kinked", "deep"])
def test_what_lights_up_exists(pages, name):
    """Lines and boxes refer to lines of the user's pane, and to nodes that have a box."""
    html = pages[name].read_text(encoding="utf-8")
    panes = dict(re.findall(r'<section id="(\w+)"(.*?)</section>', html, flags=re.S))
    assert set(panes) == {"user", "program", "picture", "stages"}
    lines = set(re.findall(r'data-g="([^"]+)"', panes["user"]))
    assert lines
    found = {
        pane: set(re.findall(r'data-g="([^"]+)"', panes[pane]))
        for pane in ("program", "picture", "stages")
    }
    assert found["program"] | found["picture"] == lines >= found["stages"]
    operations = {line for line in lines if " def " not in f" {line_text(line)}"}
    assert all(operations <= there for there in found.values())
    found = re.findall(r'data-[nc]="([^"]*)"', panes["picture"])
    nodes = {n for text in found for n in text.split()}
    for pane in ("user", "program", "stages"):
        found = {n for text in re.findall(r'data-n="([^"]*)"', panes[pane]) for n in text.split()}
        assert found <= nodes


def test_a_report_has_all_texts(pages, model):
    html = pages["loss"].read_text(encoding="utf-8")
    compiled = tg.value_and_grad(model.loss, argnums=(0, 1))
    shown = {plain(line).replace("\u200b", "")
             for line in re.findall(r"<span class=text>(.*?)</span></div>", html)}  # fmt: skip
    assert set(compiled.source(*arguments()).splitlines()) <= shown
    for stage in ("traced", "differentiated", "optimized"):
        assert set(str(compiled.graph(*arguments(), stage=stage)).splitlines()) <= shown


def test_a_notebook_shows_what_is_compiled(model):
    compiled = tg.value_and_grad(model.loss)
    assert "Nothing is compiled yet" in compiled._repr_html_()
    compiled(*arguments())
    html = compiled._repr_html_()
    assert Elements(html).found
    assert "loss: 1 version, 0 hits, 1 miss, 1 trace" in html and "<svg" in html
    assert "tanh(h, out=h)" in plain(html)


# -- in a browser ---------------------------------------------------------------------------------

in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium or Chrome is installed")


def chromium(*arguments, profile):
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={profile}",
        *arguments,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def line_of(text):
    return MODEL.splitlines().index(text) + 1


@in_a_browser
def test_pointing_at_a_line_lights_up_its_statements_and_its_cotangent(pages, tmp_path):
    line = line_of("    err = h - y")
    page = f"{pages['loss'].as_uri()}#line=model.py:{line}"
    html = chromium("--dump-dom", page, profile=tmp_path)
    hot = [plain(t) for t in re.findall(r'<div class="line hot".*?</div>', html, flags=re.S)]
    assert [t for t in hot if t.endswith("err = h - y") and "#" not in t.split("err")[0]]
    assert any("%err = subtract(%h, %y)" in text for text in hot)
    twins = [plain(t) for t in re.findall(r'<div class="line twin".*?</div>', html, flags=re.S)]
    assert any("err_bar = " in text for text in twins)
    assert not any("tanh" in text for text in hot + twins)
    assert not re.findall(r'<g class="box [^"]*\b(?:hot|twin)" [^>]*data-v="h"', html)
    boxes = re.findall(r'<g class="box [^"]*\b(hot|twin)" [^>]*data-v="(\w+)"', html)
    assert sorted(boxes) == [("hot", "err"), ("twin", "err_bar")]


@in_a_browser
def test_a_line_of_which_the_backward_alone_is_left_lights_it_up(tmp_path):
    compiled = tg.grad(lambda x: (x**2).sum())
    page = compiled.draw(tmp_path / "a.html", np.ones(3))
    line = compiled.__wrapped__.__code__.co_firstlineno
    asked = f"{page.as_uri()}#line=test_report.py:{line}"
    html = chromium("--dump-dom", asked, profile=tmp_path / "profile")
    assert re.findall(r'<g class="box [^"]*\btwin" [^>]*data-v="(\w+)"', html) == ["x_bar"]


HAND = """<script>
const log = (name) => document.body.setAttribute(`data-${name}`,
  [...document.querySelectorAll(".hot[data-id]")].map((box) => box.dataset.v ?? "").join(" "));
const lines = [...document.querySelectorAll("#program .line[data-g]")];
const at = (text) => lines.find((line) => line.textContent.endsWith(text));
const press = (key) =>
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
at("err = h - y").focus(); log("focused");
press("ArrowUp"); log("walked");
press("Escape"); log("left");
const click = new MouseEvent("click", { bubbles: true });
document.querySelector('.box[data-v="h"]').dispatchEvent(click);
log("clicked");
document.querySelector('[data-stage="traced"]').click();
const before = svg.getAttribute("width");
document.querySelector('[data-zoom="in"]').click();
document.body.setAttribute("data-larger", svg.getAttribute("width") > before);
</script>"""


@in_a_browser
def test_keys_and_clicks_work(pages, tmp_path):
    page = tmp_path / "hand.html"
    html = pages["loss"].read_text(encoding="utf-8")
    page.write_text(html.replace("</body>", f"{HAND}</body>"), encoding="utf-8")
    after = chromium("--dump-dom", page.as_uri(), profile=tmp_path / "profile")
    body = re.search(r"<body [^>]*>", after)[0]
    assert dict(re.findall(r'data-(\w+)="([^"]*)"', body)) == {
        "focused": "err",
        "walked": "h",
        "left": "",
        "clicked": "h",
        "larger": "true",
    }
    assert re.search(r'id="stage-optimized" hidden', after)
    assert re.search(r'id="stage-traced">', after)


SHOTS = {
    "report": ("loss", "    h = np.tanh(x @ w + b)", "1480,820", True),
    "report_dark": ("kinked", "        h = h * 3.0", "1600,900", False),
}


@in_a_browser
@pytest.mark.parametrize("name", SHOTS)
def test_a_screenshot_of_the_report(pages, name, tmp_path, request):
    page, text, size, light = SHOTS[name]
    shot = tmp_path / f"{name}.png"
    chromium(
        f"--screenshot={shot}",
        f"--window-size={size}",
        f"--blink-settings=preferredColorScheme={int(light)}",
        f"{pages[page].as_uri()}#line=model.py:{line_of(text)}",
        profile=tmp_path / "profile",
    )
    data = shot.read_bytes()
    width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
    assert data.startswith(b"\x89PNG") and f"{width},{height}" == size
    assert len(data) > 50_000  # a page without its panes is a few thousand
    if request.config.getoption("--update-golden"):
        images = pytest.importorskip("PIL.Image", reason="Pillow makes the screenshots small")
        IMAGES.mkdir(exist_ok=True)
        images.open(shot).convert("RGB").quantize(160).save(IMAGES / f"{name}.png", optimize=True)


def test_a_compiled_function_says_how_often_it_was_compiled(monkeypatch):
    def f(x, n=1):
        if x > 0:
            return n * x
        return -x

    slope = tg.grad(f)
    assert repr(slope) == "<tracegrad.grad of f, not compiled yet>"
    slope(1.0), slope(2.0)
    assert repr(slope) == "<tracegrad.grad of f, compiled once>"
    slope(-1.0)
    assert repr(slope) == "<tracegrad.grad of f, compiled 2 times>"
    assert "compiled 2 times" in slope._repr_html_()
    monkeypatch.setattr(tg.config, "versions", 2)
    with pytest.warns(tg.errors.RecompileWarning):
        for n in range(2, 6):
            slope(1.0, n)
    assert repr(slope) == "<tracegrad.grad of f, runs eagerly>"


def test_a_sparse_derivative_says_so_too():
    pytest.importorskip("scipy")
    jacobian = tg.jacobian(lambda x: np.diff(x) ** 2, sparse=True)
    assert repr(jacobian) == "<tracegrad.jacobian(sparse=True) of <lambda>, not compiled yet>"
    jacobian(np.ones(4)), jacobian(np.ones(5))
    assert repr(jacobian) == "<tracegrad.jacobian(sparse=True) of <lambda>, compiled once>"
    assert jacobian.cache_info().versions == 1 and jacobian.cache_info().hits > 1
    jacobian.clear_cache()
    assert jacobian.cache_info() == (0, 0, 0, 0) and jacobian(np.ones(5)).nnz == 8
