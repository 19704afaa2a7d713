"""A function that keeps what it computes enters; its calls leave what calls of plain Python leave.

Compiled, traced and eager calls with arrays leave arrays, calls with Tensors leave Tensors.
"""

from __future__ import annotations

import contextlib
import copy
import heapq
import io
import math
import sys
import types
import warnings
import weakref
from collections import Counter, defaultdict, deque
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg
from tracegrad.values.pytree import flatten

X = np.array([1.0, 2.0, 3.0])


class Slotted:
    __slots__ = ("last",)


class Keeping:
    """Each method keeps something and counts, so that it stays eager."""

    shared: Any = None

    def __init__(self):
        self.calls = 0
        self.last: Any = None
        self.state: dict[str, Any] = {}
        self.recent: Any = deque(maxlen=2)
        self.log: list[Any] = []
        self.inner = types.SimpleNamespace(value=None)
        self.slotted = Slotted()
        self.slotted.last = None
        self.tensor = tg.zeros(3)

    def attribute(self, x):
        self.last = x * 2.0
        return x

    def element(self, x):
        self.last = x[0] * 2.0
        return x

    def the_argument_itself(self, x):
        self.last = x
        return x * 2.0

    def appended(self, x):
        self.log.append(x * 2.0)
        self.recent.append(x + 1.0)
        self.log.extend([x[0], (x, 1)])
        return x

    def in_dicts(self, x):
        self.state["a"] = x * 2.0
        self.state.update(b=x * 3.0)
        self.state.setdefault("c", x * 4.0)
        return x

    def nested(self, x):
        self.last = {"pair": (x * 2.0, [x.sum(), 1.0]), "n": 3}
        return x

    def of_its_class(self, x):
        Keeping.shared = x * 2.0
        return x

    def behind_an_attribute(self, x):
        self.inner.value = x * 2.0
        self.slotted.last = x * 3.0
        return x

    def by_setattr(self, x):
        setattr(self, "last", x * 2.0)  # noqa: B010
        return x

    def in_an_object_made_here(self, x):
        self.last = types.SimpleNamespace(value=x * 2.0)
        return x

    def in_a_cell(self, x):
        kept = None

        def keep():
            nonlocal kept
            kept = x * 2.0

        keep()
        self.last = (lambda: kept)()
        return x

    def a_tensor(self, x):
        self.tensor = self.tensor * 0.5 + x
        return x


METHODS = [name for name in vars(Keeping) if not name.startswith("__") and name != "shared"]


def state_of(keeping: Keeping) -> Any:
    held = {**vars(keeping), "shared": Keeping.shared, "slotted": keeping.slotted.last}
    held["recent"] = list(held["recent"])
    held["inner"] = held["inner"].value
    if isinstance(held["last"], types.SimpleNamespace):
        held["last"] = held["last"].value
    held["last"] = copy.copy(held["last"])
    return copy.deepcopy(held)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("transform", [lambda f: f, tg.compile, tg.value_and_grad])
def test_calls_with_arrays_leave_arrays(name, eager, transform):
    states = []
    for make in (lambda f: f, transform):
        Keeping.shared = None
        keeping = Keeping()
        method, found = getattr(keeping, name), []

        def f(x, method=method, keeping=keeping):
            if eager:
                keeping.calls += 1
            return np.sum(method(x) * x)

        made = make(f)
        with warnings.catch_warnings(action="ignore", category=tg.errors.RecompileWarning):
            for i in range(4):
                made(X + i)
                found.append(state_of(keeping))
        states.append(found)
    plain, ours = states
    assert_same_bits(ours, plain)
    for now, then in zip(ours, plain, strict=True):
        assert list(map(type, flatten(now)[0])) == list(map(type, flatten(then)[0]))


def test_the_argument_itself_is_what_is_kept():
    held = types.SimpleNamespace(last=None, calls=0)

    def f(x):
        held.calls += 1
        held.last = x
        return x * 2.0

    made = tg.compile(f)
    for _ in range(4):
        x = X.copy()
        made(x)
        assert held.last is x
    assert made.cache_info().hits >= 2


def test_calls_with_tensors_leave_tensors():
    held = types.SimpleNamespace(last=None)

    def f(x):
        held.last = x * 2.0
        return np.sum(x * x)

    made = tg.compile(f)
    for i in range(4):
        x = tg.tensor(X + i, requires_grad=True)
        made(x).backward()
        assert type(held.last) is tg.Tensor and held.last._traced is None
        assert_same_bits(held.last, (X + i) * 2.0)
        assert_same_bits(x.grad, 2.0 * (X + i))


def test_a_tensor_from_outside_is_written_to_in_place():
    running = tg.zeros(3)

    def f(x):
        running.mul_(0.5)
        running.add_(x)
        return x * running

    made, now = tg.compile(f), np.zeros(3)
    same = running
    for i in range(4):
        now = now * 0.5 + (X + i)
        assert_same_bits(made(X + i), (X + i) * now)
        assert_same_bits(running, now)
    assert running is same and made.cache_info() == (3, 1, 1, 1)


def test_c_code_changes_the_object_itself():
    heap = [3.0, 5.0]

    def f(x):
        heapq.heappush(heap, 4.0)
        return x * heapq.heappop(heap)

    made = tg.compile(f)
    with pytest.warns(tg.errors.RecompileWarning, match="heap"):
        found = [made(X)[0] for _ in range(4)]
    assert found == [3.0, 4.0, 4.0, 4.0] and heap == [4.0, 5.0]


def test_an_error_leaves_what_was_done_before_it():
    log: list[Any] = []

    def f(x):
        log.append(x * 2.0)
        raise ValueError("no")

    made = tg.compile(f)
    for _ in range(3):
        with pytest.raises(ValueError, match="no"):
            made(X)
    assert [type(x) for x in log] == [np.ndarray] * 3
    assert_same_bits(log, [X * 2.0] * 3)


# -- effects that every call of a program makes again ---------------------------------------------


class Replaying:
    """Each method changes state in its own way, and calls do it again."""

    def __init__(self):
        self.history: Any = []
        self.stack = [1.0, "base"]
        self.table: dict[Any, Any] = {"a": 1.0, "b": [1], "gone": None}
        self.names = {"x", "y"}
        self.recent: Any = deque([0.5], maxlen=3)
        self.groups: Any = defaultdict(list)
        self.counts: Any = Counter(a=1)
        self.text, self.kept, self.other = "none", None, 3
        self.old = 1

    def appends_what_it_returns(self, x):
        loss = np.sum(x * x)
        self.history.append(loss)
        return loss

    def keeps_an_array_twice(self, x):
        y = x * 2.0
        self.kept = y
        self.history.append([y, {"y": y}])
        return y

    def keeps_the_argument(self, x):
        self.kept = x
        self.history.append((x, 1))
        return x * 2.0

    def extends(self, x):
        self.history.extend([x.sum(), 1.0])
        self.history += [x * 2.0]
        self.stack.insert(1, "second")
        self.stack[1:1] = ["a", "b"]
        return x

    def pushes_and_pops(self, x):
        self.stack.append(x * 2.0)
        y = self.stack[-1] + self.stack[0]
        self.stack.pop()
        return y

    def pops_what_was_there(self, x):
        self.history = [2.0, 3.0]
        self.stack.append(4.0)
        a, b = self.stack.pop(), self.stack.pop(0)
        self.stack.insert(0, b)
        return x * a * b

    def clears(self, x):
        self.history.clear()
        self.history.append(x[0])
        self.table.clear()
        self.table["n"] = len(self.history)
        return x * len(self.table)

    def deletes_and_reorders(self, x):
        value = self.table.pop("a")
        self.table["a"] = value
        self.table.update(c=x * 2.0, d="text")
        self.table.setdefault("e", x.sum())
        if "gone" in self.table:
            del self.table["gone"]
        return x * value

    def item_of_a_list(self, x):
        self.stack[0] = x.sum()
        self.stack[-1] = "top"
        return x * self.stack[0]

    def sets_of_names(self, x):
        self.names.add("z")
        self.names.discard("x")
        return x * (2.0 if "z" in self.names else 1.0)

    def other_containers(self, x):
        self.recent.append(x[1])
        self.groups["a"].append(x[0])
        self.counts["a"] += 1
        self.counts["b"] += 2
        return x

    def attributes(self, x):
        self.text = f"of {len(x)}"
        self.kept = None
        self.other = (x * 2.0, "pair")
        self.new = [x[0], None]
        if hasattr(self, "old"):
            del self.old
        return x

    def object_made_here(self, x):
        self.kept = types.SimpleNamespace(value=x * 2.0, n=1)
        return x

    def by_its_dictionary(self, x):
        self.__dict__["text"] = "by dict"
        vars(self).update(other=x.sum())
        return x * (2.0 if self.text == "by dict" else 1.0)

    def prints(self, x):
        print("loss", x.sum(), [x, 1], sep=", ")
        self.history.append(x.sum())
        print(len(x), end="!\n")
        return x

    def takes_paths(self, x):
        if x[0] > 2.0:
            self.history.append("large")
            return x * 2.0
        self.history.append(x)
        return x

    def best_so_far(self, x):
        loss = np.sum((x - 2.5) ** 2)
        if self.kept is None or loss < self.kept:
            self.kept, self.other = loss, x.copy()
        return loss


REPLAYED = [name for name in vars(Replaying) if not name.startswith("__")]


def shown(value: Any, seen: dict[int, int]) -> Any:
    """State with its aliases: the number of an object that was met before."""
    if value is None or type(value) in (str, int, bool, float):
        return (type(value).__name__, value)
    if isinstance(value, np.generic):
        return (str(value.dtype), value.tobytes())
    if id(value) in seen:
        return ("again", seen[id(value)])
    seen[id(value)] = len(seen)
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.shape, value.tobytes())
    if isinstance(value, dict):
        return (type(value).__name__, [(k, shown(v, seen)) for k, v in value.items()])
    if isinstance(value, set):
        return sorted(value)
    if isinstance(value, list | tuple | deque):
        return (type(value).__name__, [shown(v, seen) for v in value])
    held = sorted(vars(value).items())
    return (type(value).__name__, [(k, shown(v, seen)) for k, v in held])


@pytest.mark.parametrize("name", REPLAYED)
@pytest.mark.parametrize("transform", [lambda f: f, tg.compile, tg.value_and_grad])
def test_calls_leave_what_plain_calls_leave(name, transform, capsys):
    found = []
    for make in (lambda f: f, transform):
        state, pictures = Replaying(), []
        method = getattr(state, name)
        summed = transform is tg.value_and_grad

        def f(x, method=method, summed=summed):
            return np.sum(method(x)) if summed else method(x)

        made = make(f)
        with warnings.catch_warnings(action="error"):
            for i in (0, 1, 2, 2, 0, 1):
                x = X + i
                result = made(x)
                result = result[0] if make is tg.value_and_grad else result
                seen: dict[int, int] = {}
                of_call = [x, result] if result is not x else [x, x.copy()]
                if name in ("extends", "sets_of_names", "attributes"):  # the result is the caller's
                    of_call = [x, x.copy()]
                pictures.append([shown(of_call, seen), shown(state, seen), capsys.readouterr().out])
        found.append(pictures)
        if make is transform and transform in (tg.compile, tg.value_and_grad):
            assert made.cache_info().hits >= 2, made.cache_info()
    for turn, (ours, plain) in enumerate(zip(found[1], found[0], strict=True)):
        assert ours == plain, f"call {turn}"


def test_gradients_beside_effects():
    history: list[Any] = []

    def f(x):
        loss = np.sum(np.sin(x) * x)
        history.append(loss)
        return loss

    for made in (tg.grad(f), tg.value_and_grad(f)):
        history.clear()
        for i in range(4):
            found = made(X + i)
            gradient = found if made.__name__ == "f" and type(found) is not tuple else found[1]
            assert_same_bits(history[-1], f(X + i))
            np.testing.assert_allclose(gradient, np.sin(X + i) + (X + i) * np.cos(X + i))
        assert made.cache_info().hits == 3


def test_a_print_goes_where_sys_stdout_is(capsys):
    def f(x):
        print("called with", x)
        return x * 2.0

    made = tg.compile(f)
    made(X)
    with contextlib.redirect_stdout(io.StringIO()) as text:
        made(X + 1.0)
    made(X)
    assert text.getvalue() == "called with [2. 3. 4.]\n"
    assert capsys.readouterr().out == "called with [1. 2. 3.]\n" * 2
    assert made.cache_info().hits == 2


def test_a_print_is_of_the_values_at_that_time(capsys):
    def f(x):
        y = x * 2.0
        print(y)
        y += 1.0
        print(y)
        return y

    made = tg.compile(f)
    for _ in range(3):
        made(X)
    assert capsys.readouterr().out == "[2. 4. 6.]\n[3. 5. 7.]\n" * 3
    assert made.cache_info().hits == 2


def test_prints_before_an_exception_are_made(capsys):
    def f(x):
        print("before")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        tg.compile(f)(X)
    assert capsys.readouterr().out == "before\n"


def test_to_look_is_to_do_nothing(capsys):
    history: list[Any] = []

    def f(x):
        history.append(x.sum())
        print("called")
        return x * 2.0

    made = tg.compile(f)
    text = made.source(X)
    assert "history.append(" in text and "print('called')" in text
    assert "history.append(" in str(made.explain())
    assert not history and capsys.readouterr().out == ""
    made(X)
    assert len(history) == 1 and capsys.readouterr().out == "called\n"


def test_what_was_read_before_is_guarded():
    log: list[Any] = [1.0]
    table = {"a": 1}

    def f(x):
        first = log[0]
        log.append(x.sum())
        table["b"] = 2
        return x * first * (3.0 if len(table) > 2 else 1.0)

    made = tg.compile(f)
    made(X)
    assert_same_bits(made(X), X)
    log[0] = 5.0
    assert_same_bits(made(X), X * 5.0)
    table["c"] = 3
    assert_same_bits(made(X), X * 15.0)
    del table["b"]
    del table["c"]
    assert_same_bits(made(X), X * 5.0)


def test_the_length_after_an_append_is_that_of_before():
    log: list[Any] = []

    def f(x):
        log.append(1)
        return x * len(log)

    made = tg.compile(f)
    with warnings.catch_warnings(action="ignore", category=tg.errors.RecompileWarning):
        for i in range(1, 8):
            assert_same_bits(made(X), X * i)
        log[:] = [1, 1]
        assert_same_bits(made(X), X * 3)


@pytest.mark.parametrize("before", [[], [1.0], [1.0, np.ones(())]], ids=len)
@pytest.mark.parametrize(
    "read",
    [
        np.array,
        lambda log: np.asarray([log, log], dtype=np.float32),
        np.ascontiguousarray,
        math.fsum,
        math.prod,
        lambda log: np.full(2, log[0]),
        lambda log: np.stack(log),
        lambda log: sum(log),
    ],
)
def test_arrays_of_a_list_that_grows_have_all_its_items(read, before):
    def logging():
        log = list(before)

        def f(x):
            log.append(x.sum())
            return x * np.sum(read(log))

        return f

    plain, made = logging(), tg.compile(logging())
    with warnings.catch_warnings(action="ignore", category=tg.errors.RecompileWarning):
        for i in range(5):
            assert_same_bits(made(X + i), plain(X + i))


@pytest.mark.parametrize("what", ["function", "view", "returned", "file"])
def test_what_no_call_has_again_stays_eager(what):
    held = types.SimpleNamespace(kept=None)

    def f(x):
        y = {"y": x * 2.0}
        if what == "function":
            held.kept = lambda: y
        elif what == "view":
            held.kept = [x[1:]]
        elif what == "returned":
            held.kept = y
        else:
            print("text", file=sys.stderr)
        return y

    made = tg.compile(f)
    with pytest.warns(tg.errors.RecompileWarning, match=r"print|held\.kept"):
        for _ in range(3):
            made(X)
    assert made.cache_info().versions == 0


def test_an_effect_cannot_be_exported(tmp_path):
    history: list[Any] = []

    def f(x):
        history.append(x.sum())
        return x * 2.0

    made = tg.compile(f)
    made(X)
    with pytest.raises(tg.errors.ExportError, match=r"history\.append"):
        made.export(tmp_path / "f.py", X)


def test_tensors_are_kept_with_their_history():
    history: list[Any] = []

    def f(x):
        loss = np.sum(x * x)
        history.append(loss)
        return loss

    made = tg.compile(f)
    for i in range(3):
        x = tg.tensor(X + i, requires_grad=True)
        loss = made(x)
        assert history[-1] is loss
        loss.backward()
        assert_same_bits(x.grad, 2.0 * (X + i))


def test_a_list_is_shuffled_itself():
    generator, items = np.random.default_rng(0), [1.0, 2.0, 3.0]

    def f(x):
        generator.shuffle(items)
        return x * items[0]

    expected, plain = np.random.default_rng(0), [1.0, 2.0, 3.0]
    made = tg.compile(f)
    with pytest.warns(tg.errors.RecompileWarning, match="generator"):
        for _ in range(4):
            expected.shuffle(plain)
            assert_same_bits(made(X), X * plain[0])
            assert items == plain


def test_an_array_from_outside_is_written_by_a_run_that_is_no_program():
    held, log = types.SimpleNamespace(w=np.ones(3)), io.StringIO()
    same = held.w

    def f(x):
        held.w -= 0.5 * x
        log.write("called")
        return x * held.w

    assert_same_bits(tg.compile(f)(X), X * (1.0 - 0.5 * X))
    assert held.w is same and log.getvalue() == "called"
    assert_same_bits(same, 1.0 - 0.5 * X)


def test_an_input_has_no_keyword_for_a_name():
    table = {True: 2.0}
    made = tg.compile(lambda x: x * table[True])
    for k in (2.0, 3.0):
        table[True] = k
        assert_same_bits(made(X), X * k)
    assert made.cache_info().hits == 1


class TestObjectsThatEnd:
    """What an object is told when it goes, and who asks whether it is gone, is Python's time."""

    def test_an_object_made_inside_is_told_on_every_call(self):
        told = []

        class Scope:
            def __del__(self):
                told.append("gone")

        def f(x):
            scope = Scope()
            del scope
            told.append("after")
            return x * 2.0

        compiled = tg.compile(f)
        for _ in range(3):
            told.clear()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compiled(np.ones(2))
            assert told == ["gone", "after"]

    def test_a_finalizer_that_a_class_gets_later_is_seen(self):
        told = []

        class Scope:
            pass

        def f(x):
            Scope()
            return x * 2.0

        compiled = tg.compile(f)
        compiled(np.ones(2))
        Scope.__del__ = lambda self: told.append("gone")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled(np.ones(2))
            compiled(np.ones(2))
        assert told == ["gone", "gone"]

    def test_the_object_that_is_replaced_is_told_on_every_call(self):
        told = []

        class Holder:
            def __del__(self):
                told.append("gone")

        state = SimpleNamespace(held=None)

        def f(x):
            state.held = None
            return x * 2.0

        compiled = tg.compile(f)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(3):
                state.held = Holder()
                compiled(np.ones(1))
        assert told == ["gone"] * 3

    def test_an_eager_function_keeps_no_object_alive(self):
        class State:
            k = 2.0

        holder = SimpleNamespace(state=State())
        seen = weakref.ref(holder.state)

        def f(x):
            state = seen()
            return x * (7.0 if state is None else state.k) + holder.state.k

        compiled = tg.compile(f)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert compiled(np.ones(1)) == [4.0]
            holder.state = State()
            assert compiled(np.ones(1)) == [9.0]


class TestArraysThatARunWithoutAProgramWrites:
    """What a derivative reads of an array is what stood there when the function read it."""

    @pytest.mark.parametrize("n", [3, 50_000])
    @pytest.mark.parametrize("way", ["whole", "view", "read again", "overwritten"])
    def test_gradients(self, way, n):
        state, log = SimpleNamespace(w=None), []
        x = np.linspace(0.5, 1.5, n)

        def f(x):
            log.append(lambda: 1)  # no program does that again
            w = state.w
            if way == "view":
                y = x[1:] * w[1:]
                w -= 0.1 * x
            elif way == "read again":
                y = x * w
                w += 0.1 * x
                y = y * w
                w += x
            elif way == "overwritten":
                w[:] = w * 2.0 + x
                y = x * w
            else:
                y = x * w
                w -= 0.1
            return (y * y).sum()

        def fresh(step):
            state.w = np.ones(n) + 0.5
            return f(x + step)

        step = np.zeros(n)
        step[2] = 1e-6
        expected = (fresh(step) - fresh(-step)) / 2e-6
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            state.w = np.ones(n) + 0.5
            found = tg.grad(f)(x)[2]
            after = state.w.copy()
            state.w, tensor = np.ones(n) + 0.5, tg.tensor(x, requires_grad=True)
            tg.compile(f)(tensor).backward()
        fresh(0.0)
        assert_same_bits(after, state.w)
        np.testing.assert_allclose([found, tensor.grad.numpy()[2]], [expected] * 2, rtol=2e-5)
