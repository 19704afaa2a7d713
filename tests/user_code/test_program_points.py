"""Programs run on a recording object enter; the label of every operation is held against a wish.

The wishes stand behind the statements, in the order of the operations: ``h`` is the value of
variable h, ``h~`` an inner value of its statement, ``return`` the whole result of the traced
function, ``-`` a value without a name. A wish also says that the operation has this line.
"""

import dis
import functools
import gc
import inspect
import linecache
import os
import subprocess
import sys
import weakref
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.runtime.thread_state import call
from tracegrad.user_code import bytecode, source_positions
from tracegrad.user_code.program_points import Label, Point, capture, capture_run, label
from tracegrad.world.untraced_world import interpreted

# A library in the sense of `capture_run`: the name of its module starts with tracegrad.
LIBRARY = """
class Fake:
    stop = None
    points = []

    def record(self, *others):
        Fake.points.append(capture_run(Fake.stop) if Fake.stop else capture())
        return Fake()

    __add__ = __radd__ = __sub__ = __mul__ = __rmul__ = __matmul__ = __neg__ = __gt__ = record
    sum = dot = __setitem__ = record

    def __getitem__(self, index):  # of the form that CPython specialises
        return self.record()

    def __iter__(self):
        for index in range(2):
            yield self[index]

    def __bool__(self):
        self.record()
        return True

    @property
    def T(self):
        return self.record()


def tanh(x):
    return x.record()


def apply(f, x):  # as tracegrad's own functions call the user's
    return call(f, (x,), {})


"""
library = {"__name__": "tracegrad._fake", "call": call}
library |= {"capture": capture, "capture_run": capture_run}
exec(compile(LIBRARY, "<library>", "exec"), library)
Fake, tanh, apply = (library[name] for name in ("Fake", "tanh", "apply"))


def run(f, stop=None):
    """The points of a function that the machine executes."""
    Fake.stop, Fake.points = stop or f.__code__, []
    with interpreted():
        call(f, [Fake() for _ in range(f.__code__.co_argcount)], {})
    return Fake.points


def run_natively(f):
    """The innermost points of a function that CPython executes."""
    Fake.stop, Fake.points = None, []
    f(*(Fake() for _ in range(f.__code__.co_argcount)))
    return Fake.points


PROGRAMS = []


def program(f):
    PROGRAMS.append(pytest.param(f, id=f.__name__))
    return f


def show(found: Label) -> str:
    if found.name is None:
        return "return" if found.final else "-"
    return found.name if found.final else found.name + "~"


def wish(line: str) -> list[str]:
    return line.partition("#:")[2].partition("#")[0].split()


# ------------------------------------------------------------------------------------- programs


@program
def plain(x, w):
    h = tanh(x @ w)  #: h~ h
    err = h - 1  #: err
    return -err * 2  #: - return


@program
def tuples(x, w):
    a, b = x @ w, x + w  #: a b
    (a, _), [b, *c] = (tanh(x + w), x * 2), [x * 2, x - w]  #: a~ a - b c~
    a, b = apply(lambda v: v, (x + 1, x - 1))  #: - -
    a = [x + 1, x - 1]  #: a~ a~
    return a, b, c * 2 if c is None else x * 2  #: -


@program
def swap(a, b):
    a, b = b, a
    b, a = a + 1, b + 1  #: b a
    a, b = b, tanh(a + b)  #: b~ b
    return a


@program
def augmented(x):
    h = x
    h += x  #: h
    h -= x @ x  #: h~ h
    o = SimpleNamespace(W=x, d={"k": x})
    o.W += x  #: W
    o.d["k"] += x * 2  #: d~ d
    h[0] += x * 2  #: h~ h~ h h


@program
def nested(x):
    h = tanh(tanh(x @ x) * 2) + 1  #: h~ h~ h~ h~ h
    return h


@program
def walrus(x, w):
    y = (h := tanh(x @ x)) + 1  #: h~ h y
    if (h := x + y) is not None:  #: h
        y = [w := h * 2]  #: w
    return (y := y[0] * w)  #: y


@program
def chained(x):
    a = b = x + 1  #: a
    a = b, c = x + 1, x * 2  #: a~ a~
    return a, b, c


@program
def stores(x):
    o = SimpleNamespace(layers=[SimpleNamespace()], d={})
    o.W = x + 1  #: W
    o.layers[0].W = tanh(-x)  #: W~ W
    o.d["k"] = x + 1  #: d~
    y = x
    y[0] = 1  #: y
    y[x + 1] = x * 2  #: y~ y~ y


@program
def annotated(x):
    h: object = x + 1  #: h
    a: object = tanh(x - 1), 2  #: a~ a~
    return h, a


@program
def comprehensions(x):
    hs = [r * 2 for r in (x, x)]  #: hs~
    hs = {i: tanh(r) for i, r in enumerate(x)}  #: r hs~
    hs = [r for r in x]  #: r
    hs = [a * b for a in (x, x) for b in [a + 1]]  #: hs~ hs~
    [x * 2 for _ in range(2)]  #: -
    t = sum((r * 2 for r in (x, x)), x)  #: t~ t~
    return [tanh(r) for r in (x, t, hs[0])]  #: -


@program
def loops(x):
    y = SimpleNamespace()
    for row in x:  #: row
        z = row + 1  #: z
    for _ in range(2):
        z = x * 2  #: z
    for i, r in enumerate(x):  #: r
        z = r * i  #: z
    for a, b in zip(x, x):  #: -
        z = a * b  #: z
    for row in x * 2:  #: - row
        z = row * 2  #: z
    for y.row in x:  #: row
        pass
    return z


@program
def conditions(x):
    h = x + 1 if tanh(x) else x - 1  #: h~ - h
    h = x is None or tanh(x)  #: h
    if tanh(x):  #: - -
        h = -x  #: h
    if x is None:
        pass
    elif tanh(x):  #: - -
        h += x if x is None else x * 2  #: h~ h
    while tanh(h):  #: - -
        assert tanh(h)  #: - -
        break
    with_default = lambda v=x + 1: v  #: -
    y = not tanh(x)  #: y~ -
    return with_default() and (y or x * 2)  #: - return


@program
def calls(x, w):
    def layer(x, w):
        z = x @ w  #: z z
        e = z * 2  #: e e
        return tanh(e + 1)  #: h~ h g~ g

    def back(x):
        return -x * 2  #: - - - -

    h = layer(x, w)
    g = layer(h, w)
    if g is None:
        return g
    return back(h) if w is None else (back(g), back(h))[0]


@program
def results(x):
    def twice(x):
        return x * 2  #: y~ y y~ p d

    def pair(x):
        z = x + 1  #: z z z
        return z * 2, x * 2  #: a b c~ c~ - -

    def halves(x):
        return pair(x)

    y = twice(twice(x))
    y = tanh(twice(x))  #: y
    p = q = twice(x)
    a, b = halves(x)
    c = pair(x)
    tuple(pair(x))
    d: object = twice(x) if y else pair(x)  #: -
    return a, b, c, d, p, q


@program
def keywords(x, w):
    y = apply(x=x @ w, f=lambda v: v)  #: y~
    y = dict(h=x + 1, **{"k": x + 2})  #: y~ y~
    return tanh(x=y["h"])  #: return


@program
def lambdas(x):
    square = lambda v: v * v  #: h h~ k~ return
    h = square(x)
    h = (lambda v: v + 1)(x) * square(x)  #: h~ h
    f = apply(lambda v: tanh(v + 1), x)  #: f~ f~
    k = list(map(square, (x, x)))
    if f is k:
        return h
    return square(x)


def traced(f):
    @functools.wraps(f)
    def wrapper(*args):
        return f(*args)

    return wrapper


@program
def decorators(x, w):
    @apply(lambda v: traced, x + 1)  #: -
    def layer(x, w):
        z = x @ w  #: z z z
        return tanh(z)  #: h y~ return

    h = layer(x, w)
    y = [traced(traced(layer))(x, w)]
    del h, y
    return functools.partial(layer, x)(w)


class Layer:
    def __init__(self, w):
        self.w = w * 2  #: w

    def __call__(self, x):
        return self.forward(x)

    def forward(self, x):
        h = x @ self.w  #: h h
        return h + 1  #: y return

    @property
    def norm(self):
        return tanh(self.w)  #: n y~

    def __add__(self, other):
        return self.w + other  #: y~ s


@program
def methods(x, w):
    layer = Layer(w)
    y = layer(x)
    n = layer.norm
    y = x.T.dot(layer.norm)  #: y~ y
    y = (layer + n) * x  #: y
    s = layer + y
    return s and layer(x)  #: -


@program
def generators(x):
    def items(x):
        for _ in range(2):
            yield x * 2  #: r v~ i r

    for r in items(x):
        v = r
    v = list(items(x))
    v = [i for i in items(x)]
    for i, r in enumerate(items(x)):
        v = i, r
    for r in map(lambda v: v * 2, (x, x)):  #: r
        v = r
    return v


@program
def multiline(x, w):
    h = tanh(  #: h~ h
        x @ w,  # the product
    )
    h = (  #: h~ h~ h
        x
        + w * 2
        - 1
    )  # fmt: skip
    y = (  #: y~ y~ y
        (x * 2)
        .dot(w)
        .sum()
    )  # fmt: skip
    for row in enumerate(  #: row~
        x,
    ):
        y = row
    if (  #: - -
        # here: a colon
        tanh(x)
    ):
        return y[1].dot(  #: return
            h
        )  # fmt: skip
    return y


@program
def letters(x, w):
    äöü, i = "äöü", tanh(x @ w); b = [äöü, x + 1]; i = i * 2  #: i~ i b~ i  # noqa: E702 # fmt: skip
    return ("äöü", tanh(x), b, i)  #: -


# ---------------------------------------------------------------------------------------- tests


@pytest.mark.parametrize("f", PROGRAMS)
def test_names_and_lines(f):
    labels = [label(point) for point in dict.fromkeys(run(f))]
    found: dict[int, list[str]] = {}
    for each in labels:
        assert each.file == __file__
        found.setdefault(each.line, []).append(show(each))
    wishes = {line: wish(linecache.getline(__file__, line)) for line in found}
    assert found == wishes
    lines, first = inspect.getsourcelines(f)
    missing = {first + i for i, line in enumerate(lines) if wish(line)} - set(found)
    assert not missing


def load(source, file):
    """Return the namespace of a source text that linecache knows, as for generated code."""
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace = {"__name__": "generated", "tanh": tanh, "nullcontext": nullcontext}
    exec(compile(source, file, "exec"), namespace)
    return namespace


TEXTS = [
    ("    y  =  tanh( x )", 2, "y = tanh( x )"),
    ("    y = tanh(\n        x,  # why\n        # not\n    )", 2, "y = tanh(x,)"),
    ("    y = 1 + \\\n      x", 2, "y = 1 + x"),
    ("    y = ['a\u00e4', x + 1]; z = 1", 2, "y = ['a\u00e4', x + 1]"),
    ("    if True: y = x + 1; z = 1", 2, "y = x + 1"),
    ("    if tanh(x): pass", 2, "if tanh(x):"),
    ("    if x is None:\n        pass\n    elif (\n        tanh(x)\n    ):\n        pass", 4,
     "elif (tanh(x)):"),
    ("    for a, b in (\n        # a: comment\n        [x.T, tanh(x)],\n    ):\n        pass", 2,
     "for a, b in ([x.T, tanh(x)],):"),
    ("    with nullcontext(tanh(x)) as z: y = z", 2, "with nullcontext(tanh(x)) as z:"),
    ("    while x.sum() is None:\n\n        pass", 2, "while x.sum() is None:"),
    ("    match x + 1:\n        case 2:\n            pass", 2, "match x + 1:"),
    ("    @(lambda f: f) if x + 1 else x\n    def g(): pass", 2, "@(lambda f: f) if x + 1 else x"),
    ("    def g(\n        a=x + 1,\n    ) -> 'x': return {1: 2}", 2, "def g(a=x + 1,) -> 'x':"),
    ("    class A:\n        w: int = x + 1", 3, "w: int = x + 1"),
    ("    try:\n        y = x + 1\n    finally: pass", 3, "y = x + 1"),
    ("    assert (\n        tanh(x)\n    ), 'no: never'", 2, "assert (tanh(x)), 'no: never'"),
    ("    return (lambda v:\n            v + 1)(x)", 2, "return (lambda v: v + 1)(x)"),
]  # fmt: skip


@pytest.mark.parametrize("body, line, text", TEXTS, ids=[case[2] for case in TEXTS])
def test_lines_and_texts(body, line, text):
    file = f"<texts {text}>"
    f = load(f"def f(x):\n{body}\n", file)["f"]
    found = label(run(f)[0])
    assert (found.file, found.line, found.text) == (file, line, text)


def test_without_source():
    namespace = {"__name__": "generated"}
    exec("def f(x):\n    y = 1\n    y = x + y\n    return (\n        y * 2)", namespace)
    assert [label(point) for point in run(namespace["f"])] == [
        Label(None, False, "<string>", 3, ""),
        Label(None, False, "<string>", 5, ""),
    ]


def test_file_that_changed(tmp_path):
    path = tmp_path / "changing.py"
    path.write_text("def f(x):\n    y = x + 1\n")
    namespace = {"__name__": "changing"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    path.write_text("\n# f has moved\ndef f(x):\n    z = x * 2\n")
    assert label(run(namespace["f"])[0]) == Label(None, False, str(path), 2, "")


def test_without_columns(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        "from tracegrad.user_code.program_points import capture, label\n"
        "def f(y):\n"
        "    for i in (1, 2):\n"
        "        y = (y +\n"
        "             capture())\n"
        "class Radd:\n"
        "    def __add__(self, point):\n"
        "        print(label(point))\n"
        "        return self\n"
        "f(Radd())\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "no_debug_ranges", str(path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    wanted = Label(None, False, str(path), 4, "y = (y + capture())")
    assert done.stdout.splitlines() == [str(wanted)] * 2, done.stderr


def test_label_never_raises(monkeypatch):
    def broken(code, offset):
        raise RuntimeError

    [point, *_] = run(lambda x: x + 1)
    monkeypatch.setattr("tracegrad.user_code.program_points.syntax", broken)
    label.cache_clear()
    found = label(point)
    assert (found.name, found.file, found.text) == (None, __file__, "")
    label.cache_clear()
    assert label(Point(())) == Label(None, False, "", 0, "")


def test_points_stand_still_while_cpython_specialises():
    def step(x, t):
        return x[t] + x.T * t

    def f(x):
        for t in range(50):
            step(x, t)
            for row in x:
                x[t] = -row

    points = run_natively(f)
    for place in range(10):
        assert len(set(points[place::10])) == 1
    assert len(set(points)) == 7  # the inner loop comes by its three places twice
    assert [p.chain[0] for p in run(f)] == [p.chain[0] for p in points]


def test_chain():
    def inner(x):
        return x + 1

    def outer(x):
        return apply(inner, tanh(x))

    def names(points):
        return [[code.co_name for code, _ in point.chain] for point in points]

    assert names(run(outer)) == [["outer"], ["inner", "outer"]]
    assert names(run(outer, inner.__code__)) == [["outer"], ["inner"]]
    assert names(run(outer, test_chain.__code__)) == [["outer"], ["inner", "outer"]]  # all frames
    assert names([capture()]) == [["test_chain"]]
    assert names([capture_run(None)]) == [[]]
    assert names(run_natively(outer)) == [["outer"], ["inner"]]


def test_functions_of_c_do_not_take_the_line_of_their_caller():
    """The text of a program is the same wherever it is called."""
    assert "test_points" not in tg.grad(np.linalg.det).source(np.eye(2))
    assert "test_points" not in tg.grad(np.sum).source(np.ones(3))


def test_equality_is_by_content():
    source = "def f(x):\n    return x + 1\n"
    [one] = run(load(source, "<one>")["f"])
    [again] = run(load(source, "<one>")["f"])
    [elsewhere] = run(load(source, "<other>")["f"])
    [respelled] = run(load(source.replace("x + 1", "(x + 1)"), "<one>")["f"])
    assert one is not again and one == again and hash(one) == hash(again)
    assert len({one, elsewhere, respelled}) == 3 and one != "point"
    assert label(elsewhere).file == "<other>"
    assert repr(one) == repr(again) and "f:2" in repr(one)


def test_codes_that_die_are_not_mistaken(monkeypatch):
    monkeypatch.setattr("tracegrad.user_code.program_points._CAPTURED_LIMIT", 3)
    for count in range(200):
        f = load("\n" * count + "def f(x):\n    return x + 1\n", f"<dying {count}>")["f"]
        found = label(run(f)[0])
        assert (found.file, found.line) == (f"<dying {count}>", count + 2)
        assert found.text == "return x + 1"
        del f
        gc.collect(0)


def test_owner_covers_caches_and_prefixes():
    many = "\n".join(
        f"x = x + y{i}.a" for i in range(400)
    )  # more names than an opcode's byte holds
    code = compile(many, "<many>", "exec")
    starts = {each.offset for each in dis.get_instructions(code) if each.opname != "EXTENDED_ARG"}
    assert {bytecode.owner(code, 2 * unit) for unit in range(len(code.co_code) // 2)} == starts
    for each in dis.get_instructions(code, show_caches=True):
        owner = bytecode.owner(code, each.offset)
        assert (owner > each.offset) == (each.opname == "EXTENDED_ARG")
        assert (owner < each.offset) == (each.opname == "CACHE")
        if each.opname not in ("CACHE", "EXTENDED_ARG"):
            assert bytecode.operation(code, each.offset) == each.opname
            assert bytecode.position(code, each.offset) == (
                None if each.positions.lineno is None else tuple(each.positions)
            )


def test_tables_live_as_long_as_their_code():
    table = bytecode.memo_by_code(lambda code: {code.co_name})
    code = compile("x", "<short>", "exec")
    kept, reference = table(code), weakref.ref(table(code))
    assert table(code) is kept and table(compile("x", "<short>", "exec")) is not kept
    del code, kept
    gc.collect()
    assert reference() is None


PARTS = """\
a = x + 1; b = x * 2
class Model:
    w = x - 1
    @(lambda f: f)
    def step(self, x):
        class Inner:
            v = x - 3
            def twice(self, y):
                z = y + y
                return z
        return Inner().twice(x)
    u = [tanh(i) for i in (x,)]
if b is not None:
    def helper(parameter): return parameter
    c = helper(Model().step(x) + 1)
"""


def test_statements_of_modules_and_classes():
    code = compile(PARTS, "<parts>", "exec")
    linecache.cache["<parts>"] = (len(PARTS), None, PARTS.splitlines(keepends=True), "<parts>")
    Fake.stop, Fake.points = None, []
    exec(code, {"__name__": "generated", "x": Fake(), "tanh": tanh})
    found = [(show(each), each.line, each.text) for each in map(label, Fake.points)]
    assert found == [
        ("a", 1, "a = x + 1"),
        ("b", 1, "b = x * 2"),
        ("w", 3, "w = x - 1"),
        ("u~", 12, "u = [tanh(i) for i in (x,)]"),
        ("v", 7, "v = x - 3"),
        ("z", 9, "z = y + y"),
        ("c~", 15, "c = helper(Model().step(x) + 1)"),
    ]


def test_of_a_long_file_the_parts_in_use_are_read(monkeypatch):
    text = "".join(f"def f{i}(x):\n    y{i} = x + {i}\n" for i in range(50))
    read = []
    original = source_positions._read
    monkeypatch.setattr(
        source_positions, "_read", lambda *args: read.append(args[1]) or original(*args)
    )
    functions = load(text, "<long>")
    assert [label(point).name for i in (7, 31, 7) for point in run(functions[f"f{i}"])] == [
        "y7",
        "y31",
        "y7",
    ]
    assert [part.name for part in read] == ["f7", "f31"]


TABLE = {
    "first": lambda x: np.sum(np.sin(x)) if x[0] > 0 else np.sum(np.cos(x)) * 2.0,
    "second": lambda x: np.sum(np.exp(x)) if x[1] > 0 else np.sum(np.cos(x)) * 2.0,
    "third": lambda x: np.sum(np.sqrt(x)) if x[1] > 0 else np.sum(np.cos(x)) * 2.0,
}


def test_of_a_statement_as_long_as_a_table_the_line_is_shown():
    f = tg.value_and_grad(TABLE["second"])
    f(np.ones(2))
    line = TABLE["second"].__code__.co_firstlineno
    report = f.explain()
    shown = f'test_program_points.py:{line}  "second": lambda x: np.sum(np.exp(x)) if x[1] > 0 else'
    assert shown in report and "third" not in report


def test_a_long_statement_is_shown_as_a_whole():
    """Its parts belong together in the source, whatever lines they stand on."""

    def f(x):
        return (
            np.sum(np.sin(x) ** 2)
            + np.sum(np.cos(x) ** 2)
            + np.sum(np.tanh(x) ** 2)
            + np.sum(np.arctan(x) ** 2)
            + np.sum(np.sinh(x) ** 2)
            + np.sum(np.cosh(x) ** 2)
            + np.sum(np.expm1(x) ** 2)
        )

    source = tg.compile(f).source(np.ones(3))
    assert source.count("  return (np.sum(np.sin(x) ** 2)") == 1
