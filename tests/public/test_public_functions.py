"""Every public callable enters: a plain function that says what it does, with an example that runs.

A function made from an op record is one as well (`tracegrad.tensors.public_functions`); the record
is behind it.
"""

from __future__ import annotations

import copy
import doctest
import functools
import inspect
import pickle
import re
import typing
from types import FunctionType

import numpy as np
import pytest
from ops_page import summary

import tracegrad as tg
from tracegrad.examples.docstrings import EXAMPLES
from tracegrad.ops.record import TABLE, OpRecord
from tracegrad.tensors.public_functions import RECORDS, function_of
from tracegrad.values.dispatch import apply

MODULES = {
    "": tg,
    "linalg": tg.linalg,
    "fft": tg.fft,
    "special": tg.special,
    "nn": tg.nn,
    "nn.init": tg.nn.init,
    "optim": tg.optim,
    "random": tg.random,
    "autograd": tg.autograd,
}


def public():
    """The public callables by their names under ``tg``; classes are not called for a value."""
    for prefix, module in MODULES.items():
        for name in getattr(module, "__all__", dir(module)):
            found = getattr(module, name)
            if callable(found) and not name.startswith("_") and not isinstance(found, type):
                yield ".".join(filter(None, (prefix, name))), found


PUBLIC = dict(public())
FOR_CLASSES = {
    "autograd.Variable": "PyTorch's old spelling: isinstance and calls work on it",
    "isinstance": "Python's own, which HIPS autograd has a replacement for",
}


def test_the_walk_sees_them():
    assert len(PUBLIC) > 450
    assert {"exp", "abs", "sum", "linalg.matmul", "fft.rfft", "special.erf", "nn.relu"} <= {*PUBLIC}


@pytest.mark.parametrize("name", [name for name in PUBLIC if name not in FOR_CLASSES])
def test_it_is_a_function_that_tells_what_it_does(name):
    function = PUBLIC[name]
    assert type(function) is FunctionType
    assert re.match(r"\S.*[.:]", summary(function), re.DOTALL)
    parameters = inspect.signature(function).parameters
    kinds = {p.kind for p in parameters.values()}
    of_anything = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    assert kinds != of_anything, "a signature of (*args, **kwargs) tells nothing"
    asked = doctest.DocTestParser().get_doctest(function.__doc__, {}, name, name, 0)
    assert any(function.__name__ in example.source for example in asked.examples)
    with tg.set_grad_enabled(True):
        result = doctest.DocTestRunner(verbose=False).run(asked)
    assert result.failed == 0


CLASSES = {
    f"{prefix}.{name}".lstrip("."): getattr(module, name)
    for prefix, module in MODULES.items()
    for name in getattr(module, "__all__", ())
    if isinstance(getattr(module, name), type)
    and getattr(module, name).__module__.startswith("tracegrad")
    and not issubclass(getattr(module, name), Exception)  # docs/errors.md shows how they come
}


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_tells_what_it_is_and_shows_it(name):
    said = inspect.getdoc(CLASSES[name])
    asked = doctest.DocTestParser().get_doctest(said, {}, name, name, 0)
    assert asked.examples
    assert doctest.DocTestRunner(verbose=False).run(asked).failed == 0


def test_methods_tell_their_arguments():
    """A signature of (*args, **kwargs) tells nothing."""
    methods = {n: m for n, m in vars(tg.Tensor).items() if type(m) is FunctionType and n[0] != "_"}
    assert len(methods) > 300
    silent = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    for name, method in methods.items():
        _, *parameters = inspect.signature(method).parameters.values()
        assert {p.kind for p in parameters} != silent, name
    assert str(inspect.signature(tg.ones(1).uniform_)).startswith("(low: 'float' = 0.0, high:")
    assert str(inspect.signature(tg.ones(1).exp_)) == "()"


def test_each_example_is_of_one_function():
    functions = [functools.reduce(getattr, name.split("."), tg) for name in EXAMPLES]
    assert len({id(function) for function in functions}) == len(EXAMPLES)


# -- of op records ------------------------------------------------------------------------------


def test_no_record_is_public():
    for module in MODULES.values():
        names = getattr(module, "__all__", dir(module))
        assert [n for n in names if isinstance(getattr(module, n), OpRecord)] == []


def test_what_help_shows_of_an_op():
    assert str(inspect.signature(tg.exp)) == "(x, /)"
    assert str(inspect.signature(tg.add)) == "(a, b, /)"
    assert inspect.cleandoc(tg.exp.__doc__) == inspect.cleandoc(
        """
        The exponentials ``e ** x``.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.

        >>> import tracegrad as tg
        >>> tg.exp(tg.tensor([0.0, 1.0]))
        tensor([1.0000, 2.7183])
        """
    )
    refused = " ".join(tg.gcd.__doc__.split())
    assert "TypeError for bool, float32, float64, complex128." in refused
    assert "Results carry no gradient." in tg.isnan.__doc__
    assert "Results carry no gradient." not in tg.exp.__doc__


@pytest.mark.parametrize("record", RECORDS.values(), ids=lambda record: record.name)
def test_the_dtypes_that_it_tells_are_those_of_numpy(record):
    """The docstring asks the type rule; here the op itself is run."""
    function = function_of(record)
    told = " ".join(function.__doc__.split()).partition("Dtypes: ")[2].partition(">>>")[0]
    for dtype in ("bool", "int64", "float32", "float64", "complex128"):
        operands = [np.ones((2, 2), dtype)] * len(record.operands)
        try:
            found = function(*operands).dtype.name
        except TypeError:
            assert re.search(rf"TypeError for [^.]*\b{dtype}\b", told)
            continue
        kept = rf"^[^.;]*\b{dtype}(,|;|\.)"
        given = rf"\b{dtype}(, \w+)* gives? {found}\b"
        assert re.search(kept if found == dtype else given, told)


def test_an_ops_function_is_found_by_its_name():
    """As plain functions are: pickled and copied by name, wrapped, one object under all names."""
    for function, record in RECORDS.items():
        assert getattr(tg, record.name) is function is function_of(record)
        assert pickle.loads(pickle.dumps(function)) is function
        assert copy.deepcopy(function) is function
        assert typing.get_type_hints(function) is not None
    assert tg.linalg.matmul is tg.matmul and tg.abs is tg.absolute
    assert functools.wraps(tg.exp)(lambda x: x).__name__ == "exp"


def test_what_it_does_not_take_is_a_type_error():
    for call in (
        lambda: tg.exp(),
        lambda: tg.exp(1.0, 2.0),
        lambda: tg.exp(x=1.0),
        lambda: tg.exp(1.0, out=None),
        lambda: tg.add(1.0),
    ):
        with pytest.raises(TypeError, match=r"^(exp|add)\(\) "):
            call()


@pytest.mark.parametrize("record", RECORDS.values(), ids=lambda record: record.name)
def test_it_does_what_the_record_does(record):
    rng = np.random.default_rng(0)
    shape = (2, 2)
    whole = record.domain == "integer"
    arrays = [rng.integers(1, 5, shape) if whole else rng.uniform(0.2, 0.9, shape)] * 2
    operands = arrays[: len(record.operands)]
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(
            function_of(record)(*operands), apply(record, operands, {}), strict=True
        )
        if record.differentiable:
            x = tg.tensor(operands[0], requires_grad=True)
            found = function_of(record)(x, *operands[1:])
            assert found.grad_fn is not None or record.name == "stop_gradient"


def test_it_is_differentiated_and_compiled_like_any_function():
    assert tg.grad(tg.exp)(0.0) == 1.0
    assert tg.compile(tg.multiply)(np.arange(3.0), 2.0).tolist() == [0.0, 2.0, 4.0]
    assert list(map(float, map(tg.sin, [0.0]))) == [0.0]
    functions = {"exp": tg.exp, "log": tg.log}
    slope = tg.grad(lambda x, name: functions[name](x), argnums=0)
    assert (slope(2.0, "exp"), slope(2.0, "log")) == (np.exp(2.0), 0.5)


def test_the_table_keeps_records():
    assert isinstance(TABLE["exp"], OpRecord)
    assert all(isinstance(record, OpRecord) for record in RECORDS.values())
