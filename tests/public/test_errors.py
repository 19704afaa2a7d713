"""What cannot be done enters; an error leaves that names the argument, the shapes and the line."""

from __future__ import annotations

import operator
import os
import random
import re
from pathlib import Path

import numpy as np
import pytest

import tracegrad as tg
from tracegrad import errors

X = np.array([1.0, 2.0, 3.0])
A = np.ones((4, 3))


def line_of(marker: str) -> str:
    """``test_errors.py:<line>`` of the line of this file that ends with a marker."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    (number,) = [i for i, line in enumerate(lines, 1) if line.endswith(f"# {marker}")]
    return f"test_errors.py:{number}"


def message(error: pytest.ExceptionInfo) -> str:
    return str(error.value)


every_transform = pytest.mark.parametrize("transform", [tg.grad, tg.value_and_grad])


# -- what is to be differentiated ---------------------------------------------------------------


@every_transform
@pytest.mark.parametrize(
    "x", [3, True, np.arange(3), np.int32(2), np.array([True, False]), "text", None, object()]
)
def test_only_floating_point_arguments_have_gradients(transform, x):
    made = transform(lambda a, weight: np.sum(a * weight), argnums=1)
    for _ in range(2):
        with pytest.raises(errors.ArgumentError, match="weight"):
            made(X, x)
    assert made.cache_info().versions == 0


def test_an_integer_deep_in_a_pytree_is_named():
    made = tg.grad(lambda params: params["layers"][0]["w"] * 1.0)
    with pytest.raises(errors.ArgumentError) as error:
        made({"layers": [{"w": 3}]})
    assert re.search(r"params\[.layers.\]\[0\]\[.w.\]", message(error))
    assert "3.0" in message(error), "it says what to write instead"


class Model:
    w = X


def test_a_model_is_to_be_a_container_of_its_arrays():
    said = r"of type Model: .* or a dictionary or dataclass"
    with pytest.raises(errors.ArgumentError, match=said):
        tg.grad(lambda model: np.sum(model.w))(Model())


def test_integer_arrays_say_how_to_convert():
    with pytest.raises(errors.ArgumentError, match=r"int64.*\.astype\(float\)"):
        tg.grad(np.sum)(np.arange(3))


def test_vjp_refuses_integers():
    with pytest.raises(errors.ArgumentError, match="int64"):
        tg.vjp(lambda x: x * 2, np.arange(3))


@pytest.mark.parametrize("argnums", [2, -3, (0, 5)])
def test_argnums_out_of_range(argnums):
    with pytest.raises(errors.ArgumentError, match="argnums"):
        tg.grad(lambda x, y: x * y, argnums=argnums)(1.0, 2.0)


def test_the_same_words_in_a_trace_and_eagerly():
    inner = tg.grad(lambda weight: np.sum(weight * 1.0))
    with pytest.raises(errors.ArgumentError, match="weight"):
        tg.grad(lambda x: np.sum(x) * inner(3))(X)
    with pytest.raises(errors.ArgumentError, match="weight"):
        inner(tg.tensor([1, 2]))


# -- what comes out -----------------------------------------------------------------------------


@every_transform
def test_outputs_that_are_no_single_number(transform):
    def vector(x):
        return x * 2.0

    with pytest.raises(errors.NonScalarError) as error:
        transform(vector)(X)
    assert "vector" in message(error) and "(3,)" in message(error)
    for wrong in (lambda x: (x[0], x[1]), lambda x: {"a": x[0]}, lambda x: None, lambda x: "text"):
        with pytest.raises(errors.NonScalarError):
            transform(wrong)(X)
    with pytest.raises(errors.NonScalarError):
        transform(lambda x: x[:2])(X)


def test_outputs_that_are_integers():
    with pytest.raises(errors.NonScalarError, match="int64"):
        tg.grad(lambda x: np.argmax(x))(X)
    with pytest.raises(errors.NonScalarError):
        tg.grad(lambda x: np.any(x > 0))(X)


def test_aux_must_be_a_pair():
    for wrong in (lambda x: x, lambda x: (x, 1, 2), lambda x: [x, 1]):
        with pytest.raises(errors.ArgumentError, match="aux"):
            tg.grad(wrong, has_aux=True)(1.0)


def test_backward_of_many_numbers_needs_a_cotangent():
    t = tg.tensor(X, requires_grad=True)
    with pytest.raises(errors.NonScalarError, match=r"\(3,\)"):
        (t * 2.0).backward()
    with pytest.raises(errors.ShapeError, match=r"\(4,\).*\(3,\)"):
        (t * 2.0).backward(np.ones(4))


# -- arguments of any kind ----------------------------------------------------------------------


def test_arguments_of_unknown_type_are_named():
    made = tg.grad(lambda x, settings: np.sum(x))
    with pytest.raises(errors.ArgumentError, match=r"settings.*bytearray"):
        made(X, bytearray(b"a"))
    with pytest.raises(errors.ArgumentError, match="settings"):
        made(X, {"a": bytearray(b"a")})


@pytest.mark.parametrize(
    "x",
    [
        np.ma.masked_array(X, X > 1.0),
        np.asmatrix(A),
        np.array([1.0, None], dtype=object),
        np.array(["a", "b"]),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.zeros(2, dtype=[("a", float), ("b", float)]),
        X.astype(">f8"),
    ],
    ids=lambda x: f"{type(x).__name__}-{x.dtype}",
)
@pytest.mark.parametrize("transform", [tg.grad, tg.compile])
def test_arrays_with_rules_of_their_own(transform, x):
    with pytest.raises(errors.ArgumentError, match="data"):
        transform(lambda data: np.sum(data))(x)


@pytest.mark.parametrize("make", [tg.asarray, tg.tensor, tg.Tensor], ids=lambda f: f.__name__)
def test_a_tensor_has_no_mask(make):
    with pytest.raises(errors.ArgumentError, match=r"MaskedArray.*mask.*filled"):
        make(np.ma.masked_array(X, X > 1.0))


def test_long_doubles():
    if np.dtype(np.longdouble).itemsize == 8:
        return
    with pytest.raises(errors.ArgumentError, match="data"):
        tg.grad(lambda data: np.sum(data))(X.astype(np.longdouble))


def test_transforms_of_what_is_no_function():
    for wrong in (3, "f", X):
        with pytest.raises(errors.ArgumentError):
            tg.grad(wrong)
    with pytest.raises(errors.ArgumentError, match="backend"):
        tg.grad(np.sum, backend="fortran")


def test_static_arguments_must_be_hashable():
    with pytest.raises(errors.ArgumentError, match="kind"):
        tg.grad(lambda x, kind: x, static_argnames="kind")(1.0, [1])


# -- shapes -------------------------------------------------------------------------------------


def product(w, x):
    return np.sum(x @ w)  # product


def total(w, x):
    return np.sum(w + x)  # total


def joined(w, x):
    return np.sum(np.concatenate([w, x]))  # joined


def folded(w, x):
    return np.sum(np.reshape(w, (7,)) * 1.0)  # folded


MISMATCHES = {
    "product": (product, A, A, ["(4, 3)"]),
    "total": (total, np.ones(3), np.ones(4), ["(3,)", "(4,)"]),
    "joined": (joined, np.ones((2, 3)), np.ones((2, 4)), ["(2, 3)", "(2, 4)"]),
    "folded": (folded, np.ones(6), np.ones(1), ["(6,)", "(7,)"]),
}


@pytest.mark.parametrize("name", MISMATCHES)
def test_mismatched_shapes_name_both_shapes_and_the_line(name):
    f, w, x, shapes = MISMATCHES[name]
    runs = {
        "traced": lambda: tg.grad(f)(w, x),
        "eager": lambda: f(tg.tensor(w, requires_grad=True), tg.tensor(x)),
        "compiled": lambda: tg.compile(f)(w, x),
    }
    for how, run in runs.items():
        with pytest.raises(errors.ShapeError) as error:
            run()
        assert isinstance(error.value, ValueError)
        for shape in shapes:
            assert shape in message(error), f"{how}: {message(error)}"
        assert line_of(name) in message(error), how
        assert f.__name__ != "product" or "x @ w" in message(error)


def test_a_compiled_program_met_with_wrong_shapes_says_the_same():
    made = tg.grad(total)
    made(np.ones(3), np.ones(3))
    with pytest.raises(errors.ShapeError) as error:
        made(np.ones(3), np.ones(4))
    assert "(3,)" in message(error) and "(4,)" in message(error)
    assert line_of("total") in message(error)


def test_other_errors_of_numpy_keep_their_class():
    t = tg.tensor(X, requires_grad=True)
    with pytest.raises(IndexError):
        t[5]
    with pytest.raises(IndexError):
        tg.grad(lambda x: x[5])(X)
    with pytest.raises((ValueError, IndexError)):
        np.sum(t, axis=3)
    with pytest.raises(AttributeError):
        t.no_such_method()
    with pytest.raises(TypeError):
        t + "text"


def test_the_users_own_exceptions_pass_unchanged():
    class Mine(Exception):
        pass

    def f(x):
        raise Mine("as it was")

    for transform in (tg.grad, tg.compile):
        with pytest.raises(Mine, match=r"^as it was$"):
            transform(f)(1.0)


# -- values that would be lost ------------------------------------------------------------------


def into_array(x):
    return np.sum(np.asarray(x))


def into_slots(x):
    y = np.zeros(3)
    y[0] = x[0]
    return np.sum(y)


def into_list(x):
    return np.sum(np.array([x[0], x[1]]))


def into_a_shared_tuple(x):
    y = np.zeros(3)
    pair = (y, 1)
    y[0] = x[0]
    return np.sum(pair[0])


@pytest.mark.parametrize(
    "f, slope", [(into_array, [1, 1, 1]), (into_list, [1, 1, 0]), (into_slots, [1, 0, 0])]
)
def test_a_traced_value_becomes_part_of_an_array(f, slope):
    assert tg.grad(f)(X).tolist() == slope
    assert tg.compile(f)(X) == f(X)
    with pytest.raises((TypeError, ValueError)):  # nobody executes it but Python
        f(tg.tensor(X, requires_grad=True))


def test_a_traced_value_becomes_part_of_an_array_that_a_tuple_holds():
    assert tg.grad(into_a_shared_tuple)(X).tolist() == [1, 0, 0]


def test_plain_out_arguments_are_written_by_every_call():
    out = np.zeros(3)
    made = tg.grad(lambda x: np.sum(np.sin(x, out=out)))
    for x in (X, X + 1.0, X + 2.0):
        np.testing.assert_array_equal(made(x), np.cos(x))
        np.testing.assert_array_equal(out, np.sin(x))


def test_functions_without_a_counterpart_are_named():
    with pytest.raises(errors.TracegradError, match="packbits"):
        tg.grad(lambda x: np.sum(np.packbits(x)))(X)


# -- leaves and graphs --------------------------------------------------------------------------


def test_writing_into_a_leaf():
    t = tg.tensor(X, requires_grad=True)
    with pytest.raises(errors.GradientError, match="leaf"):
        t[0] = 5.0
    assert np.array_equal(t.detach().numpy(), X)
    with tg.no_grad() if hasattr(tg, "no_grad") else _no_grad():
        t[0] = 5.0
    assert t.detach().numpy()[0] == 5.0


def _no_grad():
    from tracegrad.tape.grad_mode import no_grad

    return no_grad()


def test_a_second_backward():
    t = tg.tensor(X, requires_grad=True)
    for _ in range(3):  # interpreted, then compiled
        y = (t * t).sum()
        y.backward()
        with pytest.raises(errors.GradientError, match="retain_graph"):
            y.backward()
    y = (t * t).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(errors.GradientError, match="retain_graph"):
        y.backward()


def test_part_of_a_freed_graph():
    t = tg.tensor(X, requires_grad=True)
    for _ in range(3):
        shared = t * t
        a, b = shared.sum(), (shared * 2.0).sum()
        a.backward()
        with pytest.raises(errors.GradientError, match="retain_graph"):
            b.backward()


def test_backward_without_history():
    with pytest.raises(errors.GradientError, match=r"requires.grad"):
        tg.tensor(2.0).backward()


# -- what cannot be guarded ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.normal(),
        lambda: np.random.rand(3),
        lambda: random.random(),
        lambda: random.randint(1, 6),
    ],
)
def test_the_global_random_state_keeps_a_function_eager(draw):
    def noisy(x):
        return np.sum(x * draw())

    for transform in (tg.grad, tg.compile):
        made = transform(noisy)
        with pytest.warns(errors.RecompileWarning, match=r"noisy.*random"):
            made(X), made(X)
        assert made.cache_info().versions == 0


def test_state_is_what_it_was_after_an_error():
    before = os.getcwd(), np.geterr()
    t = tg.tensor(X, requires_grad=True)
    for f in (lambda x: float(np.sum(x)), lambda x: x[7]):
        with pytest.raises(Exception):  # noqa: B017
            tg.grad(f)(X)
    (t * t).sum().backward()
    assert np.array_equal(t.grad.numpy(), 2.0 * X)
    assert before == (os.getcwd(), np.geterr())


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.ShapeError, ValueError),
        (errors.DTypeError, TypeError),
        (errors.ArgumentError, TypeError),
        (errors.NonScalarError, ValueError),
        (errors.NonScalarError, RuntimeError),
        (errors.NotDifferentiableError, TypeError),
        (errors.GradientError, RuntimeError),
        (errors.TraceError, RuntimeError),
        (errors.ConversionError, TypeError),
    ],
)
def test_every_error_is_also_the_builtin_one(error, builtin):
    assert issubclass(error, builtin)
    assert issubclass(error, errors.TracegradError)


# -- words that users of PyTorch search for -----------------------------------------------------


def leaf():
    return tg.tensor([1.0, 2.0], requires_grad=True)


def second_backward():
    y = (leaf() * leaf()).sum()
    y.backward()
    y.backward()


def second_grad():
    x = leaf()
    y = x * x
    tg.autograd.grad(y.sum(), x)
    tg.autograd.grad(y.sum(), x)


def second_backward_of_a_compiled_call():
    y = tg.compile(lambda x: (x * x).sum())(leaf())
    y.backward()
    y.backward()


def saved_after_backward():
    y = tg.exp(leaf())
    y.sum().backward()
    return y.grad_fn._saved_result


def write_to_saved(write):
    def run():
        x = leaf()
        y = tg.exp(x)
        z = y.detach()
        write(z)
        y.sum().backward()

    return run


def multiply_whole(z):
    z *= 2.0


def assign_item(z):
    z[0] = 2.0


def write_to_leaf():
    x = leaf()
    x += 1.0


MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace"
NO_HISTORY = "does not require grad and does not have a grad_fn"
SCALAR = "grad can be implicitly created only for scalar outputs"
SECOND = "backward through the graph a second time"
LEAF = "a leaf Tensor that requires grad is being used in an in-place operation"


@pytest.mark.parametrize(
    ("run", "phrase"),
    [
        (second_backward, SECOND),
        (second_grad, SECOND),
        (second_backward_of_a_compiled_call, SECOND),
        (saved_after_backward, "through the graph a second time"),
        (lambda: leaf().backward(), SCALAR),
        (lambda: (leaf() * 2.0).backward(), SCALAR),
        (lambda: tg.autograd.backward([leaf() * 2.0]), SCALAR),
        (lambda: tg.autograd.grad(leaf() * 2.0, leaf()), SCALAR),
        (lambda: tg.tensor([1.0]).sum().backward(), NO_HISTORY),
        (lambda: tg.autograd.grad(tg.tensor(1.0), leaf()), NO_HISTORY),
        (lambda: tg.autograd.backward([tg.tensor(1.0)]), NO_HISTORY),
        (write_to_leaf, LEAF),
        (lambda: leaf().mul_(2.0), LEAF),
        (lambda: assign_item(leaf()), LEAF),
        (write_to_saved(multiply_whole), MODIFIED),
        (write_to_saved(assign_item), MODIFIED),
        (write_to_saved(lambda z: z.zero_()), MODIFIED),
    ],
)
def test_pytorchs_phrases_are_in_our_sentences(run, phrase):
    with pytest.raises(RuntimeError, match=re.escape(phrase)) as error:
        run()
    assert isinstance(error.value, errors.TracegradError)
    assert len(message(error)) > len(phrase) + 20, "it says what to write as well"


def test_what_has_no_axis_has_no_length():
    """A TypeError, as NumPy's and PyTorch's: code asks `iter` and `len` to tell numbers."""

    def length(x):
        return len(x)

    def walk(x):
        return [v for v in x]

    for of in (length, walk):
        for run in (of, tg.grad(of), tg.compile(of)):
            with pytest.raises(TypeError, match="0-d Tensor"):
                run(tg.tensor(1.0, requires_grad=True))
        for value in (np.array(1.0), np.float64(1.0)):
            words = r"of type '(numpy.)?\w+' has no len|'(numpy.)?\w+' object is not iterable"
            with pytest.raises(TypeError, match=words) as raised:
                tg.compile(of)(value)
            assert "test_errors.py" in str(raised.value)
            assert "Tensor" not in str(raised.value)

    def of_either(x):
        try:
            return sum(x)
        except TypeError:
            return x * 3.0

    assert tg.grad(of_either)(1.0) == 3.0
    assert tg.compile(of_either)(np.array([1.0, 2.0])) == 3.0


# -- the last line is the user's ----------------------------------------------------------------


def last_line(run):
    with pytest.raises(errors.TracegradError) as error:
        run()
    return message(error).splitlines()[-1]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: [1, 2, 3][x[0]],
        lambda x: list(range(x[0])),
        lambda x: "ab" * x[0],
        lambda x: x.elements,
        lambda x: x(0),
        lambda x: next(x),
        lambda x: setattr(x, "name", "x"),
        lambda x: setattr(x, "T", x),
        lambda x: operator.mod("%d", x),
        lambda x: ",".join(x),
        lambda x: x.__delitem__(0),
        lambda x: int(x),
        lambda x: x + object(),
    ],
)
def test_who_has_arrays_is_not_told_of_tensors(f, compiled):
    tg.config.compile = compiled
    x = np.array([1.0, 2.0, 3.0])
    try:
        for run in (f, lambda x: tg.value_and_grad(lambda x: (x.sum(), f(x)), has_aux=True)(x)):
            with pytest.raises((TypeError, AttributeError, ValueError)) as raised:
                run(x)
            assert "Tensor" not in str(raised.value)
    finally:
        tg.config.compile = True


def test_an_error_ends_with_the_users_line():
    w = tg.tensor(A)

    def eager():
        return w @ tg.tensor(A)  # eager product

    def eager_function():
        return tg.add(w, tg.tensor(np.ones(4)))  # eager sum

    def compiled():
        def f(x):
            return np.sum(x @ x)  # traced product

        return tg.grad(f)(A)

    def index():
        return w[:, 7]  # eager index

    def written():
        y = tg.exp(leaf())
        z = y.detach()
        z += 1.0  # the write
        y.sum().backward()

    def nan():
        with tg.autograd.detect_anomaly():
            x = tg.tensor(0.0, requires_grad=True)
            y = tg.sqrt(x) * 0.0  # nan
            y.backward()

    def saved_and_written():
        with tg.autograd.detect_anomaly():
            written()

    assert f"{line_of('eager product')}  return w @ tg.tensor(A)" in last_line(eager)
    assert f"{line_of('eager sum')}  return tg.add(w" in last_line(eager_function)
    assert line_of("traced product") in last_line(compiled)
    for run in (written, saved_and_written):
        assert re.match("  changed at .*" + line_of("the write") + r"  z \+= 1.0$", last_line(run))
    assert f"{line_of('nan')}  y = tg.sqrt(x) * 0.0" in last_line(nan)
    with pytest.raises(IndexError) as error:
        index()
    assert line_of("eager index") in message(error).splitlines()[-1]


def test_a_write_without_a_line_is_told_by_the_line_that_saved():
    """The owner of the memory wrote: the user's line is the one that read it."""
    a = np.array([1.0, 2.0])
    with tg.autograd.detect_anomaly():
        t = tg.as_tensor(a)
        y = (leaf() * t).sum()  # reads a
    a[:] = 5.0
    last = last_line(y.backward)
    assert re.match(f"  read at .*{line_of('reads a')}  " + r"y = \(leaf\(\) \* t\)", last)


PLACES = np.array([0, 1])
RAISING = {
    "repeats": (lambda x: np.repeat(x, PLACES), np.ones(2), np.ones(6)),
    "kth": (lambda x: np.partition(x, 4), np.ones(6), np.ones(2)),
    "float": (lambda x: float(x), np.ones(()), np.ones(2)),
    "choice": (
        lambda x: np.choose((x * 1).astype(int), [PLACES, PLACES]),
        np.ones(2),
        9 * np.ones(2),
    ),
    "range": (lambda x: x[range(4)].sum(), np.ones(4), np.ones(3)),
    "axis": (lambda x: x.sum(axis=1), np.ones((2, 2)), np.ones(2)),
}


@pytest.mark.parametrize("f, right, wrong", RAISING.values(), ids=RAISING)
def test_calls_raise_what_numpy_raises(f, right, wrong) -> None:
    """In the first call and behind calls that were right."""
    compiled, other = tg.compile(f), tg.compile(f)
    with pytest.raises(Exception) as plain:
        f(wrong)
    for run, x in ((compiled, right), (compiled, wrong), (other, wrong), (compiled, right)):
        if x is right:
            np.testing.assert_array_equal(run(x), f(x))
            continue
        with pytest.raises(type(plain.value)):
            run(x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: [1.0, 2.0] * (x[0] > 0),
        lambda x: (x[0], x[1]) * (x[0] > 0),
        lambda x: [1.0, 2.0] * x[0],
        lambda x: x[0] * [1.0, 2.0],
    ],
    ids=["list by bool", "tuple by bool", "list by float", "float by list"],
)
def test_a_list_is_repeated_by_ints_alone(function):
    x = np.ones(2)
    with pytest.raises(TypeError) as plain:
        function(x)
    for _ in range(2):
        with pytest.raises(TypeError) as compiled:
            tg.compile(function)(x)
        assert str(compiled.value).startswith(str(plain.value))


def test_explain_tells_arrays_of_another_length():
    def shrinking(x):
        for _ in range(9):
            x = x[:-1] * 0.5
        return x.sum()

    f = tg.value_and_grad(shrinking)
    f(np.ones(12))
    assert "x ends a turn as an array of another length" in str(f.explain())


def written(x, mask):
    y = x * 1.0
    y[mask] = 1.0
    return y


@pytest.mark.parametrize("f", [lambda x, mask: x[mask], written])
def test_a_mask_of_another_length_is_told_with_its_length(f):
    text = r"a mask of shape \(2,\) cannot select from axes of shape \(3,\)"
    with pytest.raises(IndexError, match=text):
        tg.compile(f)(X, np.ones(2, bool))


@pytest.mark.parametrize(
    "f, shapes",
    [
        (lambda x: x.reshape(2, -1), "(3,) into (2, -1)"),
        (lambda x: np.reshape(x, (-1, 2)), "(3,) into (-1, 2)"),
        (lambda x: x.reshape(-1, 2, 1, order="F"), "(3,) into (-1, 2, 1)"),
        (lambda x: x[None].reshape((-1, 2)), "(1, 3) into (-1, 2)"),
        (lambda x: x.reshape(0, -1), "(3,) into (0, -1)"),
        (lambda x: x.reshape(2, 2), "(3,) into (2, 2)"),
    ],
)
def test_a_shape_is_told_as_it_is_asked_for(f, shapes):
    for call in (tg.compile(f), lambda x: f(tg.tensor(x))):
        with pytest.raises(ValueError) as error:
            call(X)
        assert message(error).startswith(f"reshape: cannot reshape {shapes}")
