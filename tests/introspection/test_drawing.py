"""Graphs enter, pictures of them leave: what a picture must have is read from the graph itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import warnings
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from drawn import arguments, both_paths, check_program, load_model, version_of
from hypothesis import given
from hypothesis import strategies as st
from programs import PROGRAMS

import tracegrad as tg
from codegen.array_bytes import bytes_text
from codegen.ir import walk
from tracegrad.errors import ArgumentError
from tracegrad.introspection.drawing import draw_dot, draw_svg, picture, plan, write_svg
from tracegrad.introspection.drawing.layout import second_line
from tracegrad.introspection.drawing.ordering import GAP, crossings, ordered, placed

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A module of the user's, in a file of its own."""
    return load_model(tmp_path_factory.mktemp("model"))


def overlap(a, b):
    apart = a.x + a.width <= b.x or b.x + b.width <= a.x
    return not (apart or a.y + a.height <= b.y or b.y + b.height <= a.y)


def check_picture(graph, target="numpy"):
    """All that must hold of every picture; the picture and its plan."""
    drawn = picture(graph, target)
    where = plan(drawn)
    nodes = list(walk(graph.nodes))
    assert {i for box in drawn.boxes for i in box.nodes} == set(range(len(nodes)))
    assert set(where.boxes) == set(drawn.boxes)
    assert len(drawn.boxes) == len({box.id for box in drawn.boxes})
    places = list(where.boxes.values())
    for i, place in enumerate(places):
        assert place.x >= 0 and place.y >= 0
        assert place.x + place.width <= where.width and place.y + place.height <= where.height
        assert not any(overlap(place, other) for other in places[:i])
    check_edges(graph, nodes, drawn, where)
    root = ElementTree.fromstring(write_svg(drawn))
    shown = [g for g in root.iter(f"{SVG}g") if "box" in g.get("class", "").split()]
    assert [g.get("data-id") for g in shown] == [box.id for box in where.boxes]
    told = {n for g in shown for n in f"{g.get('data-n')} {g.get('data-c', '')}".split()}
    assert told == set(map(str, range(len(nodes))))
    return drawn, where


def check_edges(graph, nodes, drawn, where):
    """There is an edge for each operand that has a box, and it goes from its box to the reader."""
    makers = {}
    inputs = [box for box in drawn.boxes if box.kind == "input"]
    makers.update(zip(graph.inputs, inputs))
    own = {box.nodes[-1]: box for box in drawn.boxes if box.nodes}
    for i, node in enumerate(nodes):
        makers.update((result, own[i]) for result in node.results if i in own)
    wanted = set()
    for i, node in enumerate(nodes):
        wanted |= {(makers[v].id, own[i].id) for v in node.operands if v in makers}
    assert {(edge.start.id, edge.end.id) for edge in drawn.edges} == wanted
    for edge in drawn.edges:
        first, last = where.routes[edge][0], where.routes[edge][-1]
        assert touches(where.boxes[edge.start], first) and touches(where.boxes[edge.end], last)


def touches(place, point):
    inside = place.x - 0.01 <= point[0] <= place.x + place.width + 0.01
    return inside and place.y - 0.01 <= point[1] <= place.y + place.height + 0.01


# -- the picture ----------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_picture_has_every_node_and_edge_and_no_two_boxes_overlap(program):
    compiled = tg.value_and_grad(
        program.new(),
        argnums=program.argnums,
        has_aux=program.has_aux,
        static_argnames=program.static_argnames,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        version = version_of(compiled, *program.args)
    check_picture(version.program.graph)
    check_program(version)


def test_each_outcome_of_a_branch_has_a_frame_around_its_boxes(model):
    check_picture(both_paths(model.kinked).graph(*arguments()))  # in which arms meet
    graph = both_paths(model.parted).graph(*arguments())
    drawn, where = check_picture(graph)
    titles = [frame.title for frame in where.outcomes]
    assert titles == ["if h.sum() > 0:  True", "if h.sum() > 0:  False"]
    for region, frame in zip(drawn.body.inner, where.outcomes, strict=True):
        assert region.boxes
        for box in region.boxes:
            place = where.boxes[box]
            assert frame.place.x < place.x and place.x + place.width < frame.place.x + (
                frame.place.width
            )
            assert frame.place.y < place.y and place.y + place.height < frame.place.y + (
                frame.place.height
            )
    assert not overlap(where.outcomes[0].place, where.outcomes[1].place)


def test_branches_within_branches():
    def f(x):
        if x[0] > 0:
            x = x * 2.0
            if x[1] > 0:
                return (x * x).sum()
        return x.sum()

    compiled = tg.grad(f)
    for signs in ([1.0, 1.0], [1.0, -1.0], [-1.0, 1.0]):
        compiled(np.array(signs))
    _, where = check_picture(compiled.graph(np.ones(2)))
    assert len(where.outcomes) == 4


def test_a_look_that_is_no_branch():
    _, where = check_picture(
        tg.grad(lambda x: x.sum() * [1.0, 2.0][int(tg.stop_gradient(x[0]))]).graph(np.ones(2))
    )
    assert [box.type for box in where.boxes if box.kind == "look"] == ["int was 1"]


def test_the_forward_goes_down_and_the_backward_up_beside_its_line(model):
    w, b, x, y = arguments()
    layers = [(np.eye(3), np.ones(3)), (np.eye(3), np.ones(3)), (w, b)]
    drawn, where = check_picture(tg.grad(model.deep).graph(layers, x, y))
    tanh = [where.boxes[box] for box in drawn.boxes if "tanh" in box.text]
    gradients = {box.name: where.boxes[box] for box in drawn.boxes if box.returned}
    slopes = [gradients[f"layers_{i}_1_bar"] for i in range(3)]
    assert [place.y for place in tanh] == sorted(place.y for place in tanh)
    assert [place.y for place in slopes] == sorted(place.y for place in slopes)
    for left, right in zip(tanh, slopes, strict=True):
        bands = [f for f in where.bands if f.place.y <= left.y < f.place.y + f.place.height]
        assert bands[0].place.y <= right.y < bands[0].place.y + bands[0].place.height
        assert left.x + left.width < right.x


def test_a_box_says_what_the_emitter_writes_with_types_lengths_and_bytes(model):
    compiled = tg.value_and_grad(model.loss, argnums=(0, 1))
    drawn = picture(compiled.graph(*arguments()))
    boxes = {box.name: box for box in drawn.boxes if box.name}
    h, err_bar, w_bar = boxes["h"], boxes["err_bar"], boxes["w_bar"]
    assert (h.text, h.type, h.seen, h.bytes) == ("np.tanh(·)", "float64 (n3, n1)", "5×2", 80)
    assert h.saved and "kept for the backward" in h.title and "80 B" in h.title
    assert (err_bar.section, err_bar.text) == ("backward", "· * err")
    assert (w_bar.text, w_bar.returned) == ("x.T @ ·", "w_bar")
    assert [box.kind for box in drawn.boxes if box.text == "x.T"] == ["view"]
    assert drawn.kept == boxes["h"].bytes + boxes["err"].bytes  # of what is not given anyway
    assert str(h.line) == "model.py:11  h = np.tanh(x @ w + b)"


def test_the_lengths_shown_are_those_of_the_arguments(model, tmp_path):
    w, b, x, y = arguments()
    compiled = tg.value_and_grad(model.loss)
    compiled(w, b, x, y)
    file = compiled.draw(tmp_path / "a.svg", w, b, np.ones((70, 3)), np.ones((70, 2)))
    text = file.read_text(encoding="utf-8")
    assert "70×2" in text and "5×2" not in text


def test_all_that_the_backward_reads_is_marked_as_kept():
    graph = tg.grad(lambda x: (np.sin(x) * np.exp(x)).sum()).graph(np.ones(3))
    drawn = picture(graph)
    saved = {box.id for box in drawn.boxes if box.saved}
    assert saved == {edge.start.id for edge in drawn.edges if edge.saved} != set()


def test_long_types_are_cut_but_the_lengths_seen_and_the_title_are_whole():
    def f(a, b, c):
        return (np.concatenate([a[1:-1], b[2:-2], a[3:-3]])[:, None] * c).sum()

    drawn = picture(tg.compile(f).graph(np.ones(9), np.ones(8), np.ones(2)))
    (box,) = [box for box in drawn.boxes if box.text == "· * c"]
    assert len(box.type) > 44 and box.seen == "14×2" and box.type in box.title
    assert re.fullmatch(r"float64 \(max.*…  14×2", second_line(box))
    assert len(second_line(box)) <= 44


@pytest.mark.parametrize(
    "count, text", [(0, "0 B"), (999, "999 B"), (1000, "1 KB"), (1234567, "1.23 MB")]
)
def test_numbers_of_bytes(count, text):
    assert bytes_text(count) == text


def test_a_graph_of_no_nodes_and_one_that_returns_a_number():
    drawn, _ = check_picture(tg.compile(lambda x: x).graph(np.ones(3), stage="traced"))
    assert [box.kind for box in drawn.boxes] == ["input"]
    drawn, _ = check_picture(tg.grad(lambda x: x * 2.0).graph(1.5))
    assert "number" in {box.kind for box in drawn.boxes}


def test_derivatives_of_derivatives():
    second = tg.grad(lambda x: (tg.grad(lambda z: (z**3).sum())(x) ** 2).sum())
    check_picture(second.graph(np.ones(3)))


def test_a_graph_for_jax():
    pytest.importorskip("jax")
    compiled = tg.grad(lambda x: np.tanh(x).sum(), backend="jax")
    drawn, _ = check_picture(compiled.graph(np.ones(3)), "jax")
    assert "jnp.tanh(x)" in {box.text for box in drawn.boxes}


def test_every_stage_can_be_drawn(model):
    compiled = tg.value_and_grad(model.loss)
    for stage in ("traced", "differentiated", "optimized"):
        graph = compiled.graph(*arguments(), stage=stage)
        check_picture(graph)
        assert graph._repr_svg_() == draw_svg(graph)


def test_a_picture_of_150_nodes_has_them_all():
    def f(x, w):
        for _ in list(range(30)):
            x = np.tanh(x @ w) + x * 0.5
        return x.sum()

    graph = tg.grad(f).graph(np.ones(3), np.ones((3, 3)))
    assert sum(1 for _ in walk(graph.nodes)) >= 150
    assert draw_svg(graph).count("tanh") >= 30


def test_an_input_read_in_every_row_has_one_trunk():
    def f(x, w):
        for _ in list(range(100)):
            x = x * w
        return x.sum()

    graph = tg.compile(f).graph(np.ones(3), np.ones(3))
    drawn, where = check_picture(graph)
    paths = re.findall(r'<path class="edge[^"]*" data-from="i1"[^>]* d="([^"]*)"', draw_svg(graph))
    points = sum(len(where.routes[e]) for e in drawn.edges if e.start.id == "i1")
    assert len(paths) == 100 and points > 10_000
    assert sum(len(re.findall("[MLC]", path)) for path in paths) < 2_500


def test_text_of_the_user_is_escaped(tmp_path):
    def f(x, how):
        mark = "</title><script>&'\x07" if how else ""
        return (x * x).sum(), mark

    compiled = tg.compile(f, static_argnames="how")
    args = (np.ones(3), '<b a="1">&</b>\x00')
    ElementTree.parse(compiled.draw(tmp_path / "a.svg", *args))
    html = compiled.draw(tmp_path / "a.html", *args).read_text(encoding="utf-8")
    assert html.count("<script>") == 1 and "&lt;script&gt;" in html
    assert "<b a=" not in html and "<b a=" not in compiled._repr_html_()


PROCESS = """
import numpy as np, tracegrad as tg
from tracegrad.introspection.drawing import draw_dot, draw_svg

def f(w, x):
    h = np.tanh(x @ w)
    if h.sum() > 0:
        h = h * 2.0
    return np.mean(h * h)

g = tg.grad(f)
g(np.ones((3, 2)), np.ones((4, 3)))
g(-np.ones((3, 2)), np.ones((4, 3)))
graph = g.graph(np.ones((3, 2)), np.ones((4, 3)))
print(draw_svg(graph), draw_dot(graph))
"""


def test_the_picture_is_the_same_in_every_process():
    texts = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", PROCESS]
        done = subprocess.run(command, capture_output=True, cwd=ROOT, env=environment, check=True)
        texts.add(done.stdout)
    assert len(texts) == 1 and len(texts.pop()) > 1000


# -- order and places -----------------------------------------------------------------------------


@st.composite
def layered(draw):
    """Rows of cells, and links between neighbouring rows."""
    rows, count = [], 0
    for size in draw(st.lists(st.integers(1, 5), min_size=1, max_size=5)):
        rows.append(list(range(count, count + size)))
        count += size
    up, down = {}, {}
    for above, below in pairwise(rows):
        pairs = st.tuples(st.sampled_from(above), st.sampled_from(below))
        for a, b in sorted(draw(st.sets(pairs, max_size=8))):
            down.setdefault(a, []).append(b)
            up.setdefault(b, []).append(a)
    return rows, up, down


def counted(rows, down):
    """Crossings, counted by looking at all pairs of links."""
    total = 0
    for above, below in pairwise(rows):
        links = [(above.index(a), below.index(b)) for a in above for b in down.get(a, ())]
        total += sum(1 for a, b in links for c, d in links if a < c and b > d)
    return total


@given(layered())
def test_ordering_keeps_the_cells_and_makes_no_more_crossings(case):
    rows, up, down = case
    after = ordered(rows, up, down)
    assert [sorted(row) for row in after] == rows
    assert crossings(after, down) == counted(after, down) <= counted(rows, down)


@given(layered(), st.integers(1, 60), st.sampled_from([0.1, 1.0, 4.0]))
def test_placing_keeps_the_order_and_the_distance(case, size, weight):
    rows, up, down = case
    width = {cell: float(size + 7 * (cell % 3)) for row in rows for cell in row}
    weights = {cell: weight if cell % 2 else 1.0 for cell in width}
    x = placed(rows, up, down, width, weights)
    for row in rows:
        for a, b in pairwise(row):
            assert x[b] - x[a] >= (width[a] + width[b]) / 2 + GAP - 1e-6


def test_two_links_that_cross_are_uncrossed():
    rows, down = [[0, 1], [2, 3]], {0: [3], 1: [2]}
    up = {3: [0], 2: [1]}
    assert crossings(rows, down) == 1
    assert crossings(ordered(rows, up, down), down) == 0


# -- files ----------------------------------------------------------------------------------------


def test_the_suffix_says_what_is_written(model, tmp_path):
    compiled = tg.value_and_grad(model.loss)
    starts = {"svg": "<svg ", "dot": "digraph ", "html": "<!DOCTYPE html>"}
    for suffix, start in starts.items():
        file = compiled.draw(tmp_path / f"loss.{suffix}", *arguments())
        assert file == tmp_path / f"loss.{suffix}"
        assert file.read_text(encoding="utf-8").startswith(start)
    assert compiled.cache_info().hits == 0  # to look is not to call


@pytest.mark.parametrize("name, said", [("a.png", "the suffix '.png'"), ("a", "no suffix")])
def test_another_suffix_is_refused_by_name(name, said, tmp_path):
    compiled = tg.grad(lambda x: x.sum())
    with pytest.raises(ArgumentError, match=f"{re.escape(said)}; it must be .svg, .dot or .html"):
        compiled.draw(tmp_path / name, np.ones(3))
    assert compiled.cache_info().traces == 0 and not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(ArgumentError, match=r"there is no folder .*none.*; make it first"):
        tg.grad(lambda x: x.sum()).draw(tmp_path / "none" / "a.svg", np.ones(3))


def test_a_method_draws_itself(tmp_path):
    class Model:
        scale = 2.0

        @tg.grad(argnums=1)
        def loss(self, x):
            return (self.scale * x * x).sum()

    file = Model().loss.draw(str(tmp_path / "a.svg"), np.ones(3))
    assert "loss_grad" in file.read_text(encoding="utf-8")
    assert "<svg" in Model().loss._repr_html_()


def test_tensors_and_keywords_are_taken(tmp_path):
    compiled = tg.grad(lambda x, *, path: (x * path).sum())
    file = compiled.draw(tmp_path / "a.svg", tg.tensor([1.0, 2.0]), path=3.0)
    assert "x_bar" in file.read_text(encoding="utf-8")


def test_dot_declares_every_box_once_and_every_edge_between_them(model):
    compiled = both_paths(model.parted)
    graph = compiled.graph(*arguments())
    text, drawn = draw_dot(graph), picture(graph)
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
    assert outside.count("{") == outside.count("}") == 3
    declared = re.findall(r"^ *(\w+) \[label=", outside, flags=re.M)
    assert sorted(declared) == sorted(box.id for box in drawn.boxes)
    edges = re.findall(r"^ *(\w+) -> (\w+) \[", outside, flags=re.M)
    assert sorted(edges) == sorted((e.start.id, e.end.id) for e in drawn.edges)


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_takes_the_dot_file(model, tmp_path):
    file = both_paths(model.kinked).draw(tmp_path / "a.dot", *arguments())
    subprocess.run(["dot", "-Tsvg", file, "-o", tmp_path / "a.svg"], check=True)
    ElementTree.parse(tmp_path / "a.svg")


def test_boxes_of_a_region_are_marked_as_fused():
    def twice(x, w):
        h = np.tanh(x * x + 1.0) * np.exp(-x * x) + x
        z = h @ w
        return np.sum(np.tanh(z) * np.exp(-z * z) + np.sqrt(z * z + 1.0))

    f = tg.value_and_grad(twice, (0, 1))
    graph = f.graph(np.ones((5, 4)), np.ones((4, 3)))
    drawn = picture(graph, fused=True)
    marked = {box.text: box.fused for box in drawn.boxes if box.fused}
    assert len(set(marked.values())) == 3  # before the product, after it, behind it
    assert marked["np.tanh(z)"] != marked["x * x"]
    assert "h @ w" not in marked and "fused, region 1" in drawn.boxes[2].title
    assert not any(box.fused for box in picture(graph).boxes)
    assert 'class="fused fused-2"' in draw_svg(graph, fused=True)
    assert "peripheries=2" in draw_dot(graph, fused=True)
