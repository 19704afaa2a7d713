"""Lengths enter the algebra of sizes; what leaves is held against arithmetic on integers."""

from __future__ import annotations

import operator
from dataclasses import dataclass

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from codegen import Size, SizeError, Sizes
from codegen import sizes as sz
from codegen.sizes import (
    MANY,
    Settled,
    add,
    guessed,
    mul,
    quotient,
    slice_length,
    solved,
    substitute,
    symbol,
    symbols,
)

A, B, C = symbol("n0"), symbol("n1"), symbol("n2")
NAMES = ("n0", "n1", "n2")


def value(dim, lengths):
    """The length where the symbols have these values."""
    result = substitute(dim, lengths)
    assert isinstance(result, int)
    return result


# -- polynomials --------------------------------------------------------------------------------

POLYNOMIALS = st.recursive(
    st.integers(0, 4) | st.sampled_from([A, B, C]),
    lambda dims: (
        st.lists(dims, max_size=3).map(lambda parts: add(*parts))
        | st.lists(dims, max_size=3).map(mul)
    ),
    max_leaves=6,
)
LENGTHS = st.fixed_dictionaries({name: st.integers(0, 5) for name in NAMES})


def product(numbers):
    result = 1
    for number in numbers:
        result *= number
    return result


@given(st.lists(POLYNOMIALS, max_size=3), LENGTHS)
def test_sums_and_products_are_those_of_integers(dims, lengths):
    numbers = [value(dim, lengths) for dim in dims]
    assert value(add(*dims), lengths) == sum(numbers)
    assert value(mul(dims), lengths) == product(numbers)


@given(POLYNOMIALS, POLYNOMIALS, POLYNOMIALS)
def test_equal_polynomials_are_equal_objects(a, b, c):
    assert add(a, b) == add(b, a)
    assert mul([a, b]) == mul([b, a])
    assert add(add(a, b), c) == add(a, add(b, c))
    assert mul([mul([a, b]), c]) == mul([a, mul([b, c])])
    assert mul([a, add(b, c)]) == add(mul([a, b]), mul([a, c]))
    assert add(a, 0) == a == mul([a, 1])
    assert mul([a, 0]) == 0 == add(a, mul([-1, a]))
    assert hash(add(a, b)) == hash(add(b, a))


def test_what_is_a_number_is_an_int():
    assert add() == 0 and mul([]) == 1
    assert add(A, 2, mul([-1, A])) == 2
    assert isinstance(add(2, 3), int) and isinstance(mul([2, 3]), int)
    assert isinstance(A, Size)


def test_lengths_print_as_polynomials():
    assert str(add(mul([2, A, B]), A, 3)) == "3 + n0 + 2*n0*n1"
    assert str(quotient(add(A, 1), 2)) == "quotient(1 + n0, 2)"
    assert str(slice_length(A, slice(1, None))) == "length(n0, 1, None, None)"
    assert A.symbol() == "n0"
    assert add(A, 1).symbol() is None and mul([2, A]).symbol() is None


@given(POLYNOMIALS, POLYNOMIALS, LENGTHS)
def test_a_factor_is_divided_out(a, b, lengths):
    by = value(b, lengths)
    whole = mul([a, b])
    assume(by != 0)
    assert value(quotient(whole, b), lengths) == value(a, lengths)


def test_quotients_are_exact_where_algebra_shows_it():
    assert quotient(mul([6, A, B]), mul([2, B])) == mul([3, A])
    assert quotient(add(mul([4, A]), 2), 2) == add(mul([2, A]), 1)
    assert quotient(A, A) == 1 and quotient(A, 1) == A and quotient(12, 4) == 3
    assert quotient(mul([A, A]), A) == A
    assert symbols(quotient(A, B)) == {"n0", "n1"}
    assert substitute(quotient(A, B), {"n0": mul([3, C]), "n1": C}) == 3


def test_nothing_can_be_divided_by_0_but_no_elements_and_gives_none():
    assert quotient(0, 0) == quotient(A, 0) == 0
    assert substitute(quotient(A, B), {"n0": 0, "n1": 0}) == 0


# -- slices -------------------------------------------------------------------------------------

BOUNDS = st.none() | st.integers(-7, 7)
SLICES = st.builds(slice, BOUNDS, BOUNDS, st.none() | st.sampled_from([-3, -2, -1, 1, 2, 3]))


@given(SLICES, st.integers(0, 6))
def test_slice_lengths_are_pythons(item, n):
    assert slice_length(n, item) == len(range(n)[item])
    assert value(slice_length(A, item), {"n0": n}) == len(range(n)[item])


@given(SLICES, st.integers(-3, 6))
def test_slices_of_less_than_nothing_have_no_elements(item, n):
    """A guess of a length may give less than 0 elements for one that is shorter by a number."""
    assert slice_length(n, item) == len(range(n)[item])


def test_lengths_that_nobody_knows_are_guessed():
    assert guessed(3, 100) == 3 and guessed(0, 100) == 0
    assert guessed(mul([A, B]), 100) == 10_000
    shorter = add(A, -7)
    assert guessed(shorter, 4) == guessed(mul([7, shorter]), 4) == 1
    assert guessed(add(slice_length(shorter, slice(1, None)), 2), 4) == 2


@given(SLICES, SLICES, st.integers(-2, 2), st.integers(0, 9), st.integers(0, 4))
def test_lengths_of_slices_and_their_equations_read_as_python(first, second, more, n, m):
    shorter = slice_length(add(A, more), first)
    for length in (shorter, slice_length(shorter, second), add(slice_length(A, first), more)):
        found = substitute(length, {"n0": n})
        assume(n + more >= 0)
        assert eval(sz.as_python(length), {}, {"n0": n}) == found
        assert eval(sz.equality_as_python(length, m), {}, {"n0": n}) == (found == m)


@given(SLICES, SLICES, st.integers(0, 6))
def test_slices_of_slices(first, second, n):
    whole = slice_length(slice_length(A, first), second)
    assert value(whole, {"n0": n}) == len(range(n)[first][second])


def test_slices_that_take_all_keep_the_length():
    for item in (
        slice(None),
        slice(0, None),
        slice(None, None, 1),
        slice(0, None, 1),
        slice(None, None, -1),
        slice(-1, None, -1),
    ):
        assert slice_length(A, item) is A


def test_equal_slices_have_equal_lengths():
    assert slice_length(A, slice(None, 3)) == slice_length(A, slice(0, 3, 1))
    assert slice_length(A, slice(0, None, -1)) != slice_length(A, slice(None, None, -1))
    with pytest.raises(SizeError, match="step cannot be zero"):
        slice_length(A, slice(None, None, 0))


# -- substitution -------------------------------------------------------------------------------


@given(POLYNOMIALS, POLYNOMIALS, SLICES, LENGTHS)
def test_substituting_in_steps_is_substituting_at_once(a, b, item, lengths):
    dim = add(slice_length(a, item), mul([a, b]), quotient(mul([2, a]), 2))
    at_once = value(dim, lengths)
    first = {"n0": lengths["n0"], "n1": add(C, 1)}
    then = {"n2": lengths["n2"]}
    stepwise = substitute(substitute(dim, first), then)
    assert stepwise == value(dim, {**lengths, "n1": lengths["n2"] + 1})
    assert substitute(dim, {}) is dim
    assert substitute(dim, {"n9": 4}) is dim
    assert at_once == value(substitute(dim, {"n0": symbol("n5")}), {**lengths, "n5": lengths["n0"]})


@given(POLYNOMIALS, SLICES)
def test_symbols_are_those_that_matter(a, item):
    dim = slice_length(a, item)
    assert symbols(dim) <= symbols(a)
    assert not symbols(substitute(dim, dict.fromkeys(NAMES, 2)))


# -- what a trace believes ----------------------------------------------------------------------


def test_new_symbols_are_numbered_and_have_values():
    sizes = Sizes()
    a, b = sizes.new(3), sizes.new(0)
    assert (str(a), str(b)) == ("n0", "n1")
    assert (sizes.value(a), sizes.value(add(a, b, 1))) == (3, 4)
    assert str(Sizes({"n7": 1}).new(2)) == "n8"
    with pytest.raises(SizeError, match="the length n3 has no value here"):
        sizes.value(symbol("n3"))


def test_same_assumes_what_values_say_and_the_oldest_symbol_stands_for_all():
    sizes = Sizes()
    a, b, c = sizes.new(4), sizes.new(4), sizes.new(4)
    assert sizes.same(c, b)
    assert sizes.guards == [(c, b)]
    assert sizes.same(b, a)
    assert sizes.resolve(c) == sizes.resolve(b) == a
    assert sizes.same(c, a) and len(sizes.guards) == 2  # follows from the others


def test_lengths_that_differ_are_not_the_same_and_nothing_is_assumed():
    sizes = Sizes()
    a, b = sizes.new(4), sizes.new(5)
    assert not sizes.same(a, b) and not sizes.same(a, 5) and not sizes.same(4, 5)
    assert not sizes.same(a, symbol("n9"))
    assert sizes.guards == []
    assert sizes.same(a, a) and sizes.same(add(a, b), add(b, a)) and sizes.guards == []


def test_a_length_that_was_looked_at_is_a_constant():
    sizes = Sizes()
    a, b = sizes.new(4), sizes.new(4)
    assert sizes.same(a, b)
    assert sizes.fix(b) == 4
    assert sizes.resolve(a) == sizes.resolve(b) == 4
    assert sizes.resolve(mul([a, b, 2])) == 32
    assert sizes.fix(7) == 7
    assert not sizes.is_one(a)
    assert sizes.is_one(1) and sizes.is_one(sizes.new(1)) and not sizes.is_one(sizes.new(0))


def test_a_sum_of_lengths_can_be_equal_to_a_length():
    sizes = Sizes()
    a, b, c = sizes.new(2), sizes.new(3), sizes.new(5)
    assert sizes.same(add(a, b), c)
    assert sizes.resolve(c) == add(a, b)
    assert sizes.fix(c) == 5
    assert sizes.same(add(a, b), 5)


def test_an_equality_that_no_symbol_can_hold_is_kept_as_it_is():
    sizes = Sizes()
    a, b = sizes.new(2), sizes.new(2)
    assert sizes.same(mul([a, b]), add(a, b))
    assert sizes.same(add(a, b), mul([a, b]))
    assert len(sizes.guards) == 1
    assert sizes.resolve(a) == a and sizes.resolve(b) == b
    assert sizes.same(a, b)  # what is kept is kept in terms of what is known since
    assert sizes.same(mul([a, a]), mul([2, a])) and Settled(sizes).same(mul([2, a]), mul([a, a]))
    assert len(sizes.guards) == 2 and len(sizes.unsolved) == 1
    assert sizes.fix(a) == 2 and not sizes.unsolved


def test_equalities_of_composed_lengths_are_kept_in_terms_of_each_other():
    sizes = Sizes()
    a, b = sizes.new(0), sizes.new(0)
    every_other = slice_length(mul([2, a]), slice(None, None, 2))
    assert sizes.same(every_other, mul([2, a]))
    assert sizes.same(mul([2, a]), slice_length(b, slice(1, None)))
    assert sizes.same(every_other, slice_length(b, slice(1, None)))
    assert len(sizes.guards) == 2
    assert sizes.equal(add(every_other, 1), add(mul([2, a]), 1))
    assert sizes.equal(mul([3, every_other]), mul([3, slice_length(b, slice(1, None))]))


def test_a_length_that_depends_on_data_is_looked_at_before_anything_is_assumed_of_it():
    looked = []
    sizes = Sizes()
    count, a = sizes.new(3, looked.append), sizes.new(3)
    assert sizes.same(count, count) and sizes.same(mul([2, count]), add(count, count))
    assert not looked
    assert sizes.same(count, a)
    assert looked == [3]
    assert sizes.guards == [(3, a)]  # the look says the rest
    assert sizes.resolve(count) == sizes.resolve(a) == 3


@dataclass
class Believed:
    """Equalities between symbols, kept the simple way: sets of equal ones."""

    classes: list[set[str]]

    def unite(self, a, b):
        left = next(c for c in self.classes if a in c)
        right = next(c for c in self.classes if b in c)
        if left is not right:
            self.classes.remove(right)
            left |= right


@given(st.lists(st.integers(0, 2), min_size=2, max_size=6), st.data())
def test_beliefs_are_the_equivalence_that_was_asked_for(values, data):
    sizes = Sizes()
    dims = [sizes.new(n) for n in values]
    plain = Believed([{str(dim)} for dim in dims])
    index = st.integers(0, len(dims) - 1)
    for i, j in data.draw(st.lists(st.tuples(index, index), max_size=8)):
        assert sizes.same(dims[i], dims[j]) == (values[i] == values[j])
        if values[i] == values[j]:
            plain.unite(str(dims[i]), str(dims[j]))
    for i, dim in enumerate(dims):
        oldest = min(next(c for c in plain.classes if f"n{i}" in c), key=lambda name: int(name[1:]))
        assert sizes.resolve(dim) == symbol(oldest)
    assert len(sizes.guards) == len(dims) - len(plain.classes)


@given(st.lists(st.tuples(POLYNOMIALS, POLYNOMIALS), max_size=4), LENGTHS, LENGTHS)
def test_guards_say_all_that_was_assumed(pairs, seen, other):
    """For other lengths under which the guards hold, every assumed equality holds."""
    sizes = Sizes(seen)
    equal = [pair for pair in pairs if sizes.same(*pair)]
    for a, b in equal:
        assert value(a, seen) == value(b, seen)
        assert Settled(sizes).same(a, b)
    there = Sizes(other)
    if all(operator.eq(*map(there.value, pair)) for pair in sizes.guards):
        assert all(operator.eq(*map(there.value, pair)) for pair in equal)
        for dim, length in sizes.known.items():
            assert there.value(symbol(dim)) == there.value(length)


def test_settled_lengths_assume_nothing():
    sizes = Sizes()
    a, b, c = sizes.new(4), sizes.new(4), sizes.new(1)
    assert sizes.same(a, b)
    settled = Settled(sizes)
    assert settled.same(a, b)
    assert not settled.same(a, c) and not settled.same(a, 4) and not settled.is_one(c)
    with pytest.raises(SizeError):
        settled.fix(c)
    assert len(sizes.guards) == 1
    assert sizes.fix(c) == 1
    assert settled.is_one(c) and settled.fix(c) == 1
    assert str(Settled(sizes, {"n4"}).new(2)) == "n5"


def test_equations_read_as_python():
    a, b = sz.symbol("n0"), sz.symbol("n1")
    tail = sz.slice_length(a, slice(2, None))
    shown = {
        (sz.slice_length(a, slice(2, 4)), 2): "n0 >= 4",
        (sz.mul([3, sz.quotient(tail, 3)]), tail): "max(n0 - 2, 0) % 3 == 0",
        (sz.add(a, b), sz.mul([b, sz.quotient(sz.add(a, b), b)])): "(n0 + n1) % n1 == 0",
        (sz.add(a, 1), sz.quotient(b, 2)): "n0 + 1 == n1 // 2",
        (sz.slice_length(a, slice(2)), 1): "n0 == 1",
        (sz.slice_length(a, slice(1, None)), 0): "n0 <= 1",
        (sz.slice_length(a, slice(1, None, 3)), 2): "5 <= n0 <= 7",
        (sz.slice_length(sz.slice_length(a, slice(1, None, 2)), slice(4)), 4): "n0 >= 8",
        (sz.slice_length(sz.add(a, -1), slice(2)), 2): "n0 >= 3",
    }
    for (one, other), text in shown.items():
        assert sz.equality_as_python(one, other) == text
        for values in ({"n0": 6, "n1": 12}, {"n0": 3, "n1": 9}, {"n0": 8, "n1": 4}):
            equal = sz.substitute(one, values) == sz.substitute(other, values)
            assert eval(text, {}, values) == equal


def test_lengths_read_as_python():
    """What is shown for people is Python that gives the number."""
    a, b = sz.symbol("n0"), sz.symbol("n1")
    shown = {
        3: "3",
        a: "n0",
        sz.add(sz.add(sz.mul([a, -2]), b), 1): "n1 + 1 - 2*n0",
        sz.slice_length(sz.add(a, 2), slice(None, None, 2)): "(n0 + 3) // 2",
        sz.slice_length(a, slice(1, -1)): "max(n0 - 2, 0)",
        sz.quotient(sz.mul([a, b]), 3): "(n0*n1) // 3",
        sz.add(sz.mul([3, a, b]), -1): "3*n0*n1 - 1",
        sz.mul([3, sz.quotient(sz.slice_length(a, slice(1, None)), 2)]): (
            "3*(max(n0 - 1, 0) // 2)"
        ),
    }
    for dim, text in shown.items():
        assert sz.as_python(dim) == text
        for values in ({"n0": 6, "n1": 12}, {"n0": 3, "n1": 9}):
            assert eval(text, {}, values) == sz.substitute(dim, values)


# -- lengths that are not worth writing ---------------------------------------------------------


def test_a_length_that_would_be_long_to_write_is_looked_at():
    sizes = Sizes()
    length = start = sizes.new(50)
    for _ in range(3):
        length = sizes.bounded(add(slice_length(length, slice(1, None)), length))
        assert not isinstance(length, int) and sizes.guards == []
    for _ in range(8):
        length = sizes.bounded(add(slice_length(length, slice(1, None)), length))
    assert length == 50 * 2**11 - (2**11 - 1)
    assert sizes.guards == [(start, 50)]


def test_of_many_equalities_of_composed_lengths_the_further_are_looks():
    sizes = Sizes()
    n = sizes.new(100)
    for k in range(MANY):
        one, other = (slice_length(n, slice(k + i, k + i + 3)) for i in (0, 1))
        assert sizes.same(one, other) and sizes.resolve(n) == n
    one, other = (slice_length(n, slice(50 + i, 53 + i)) for i in (0, 1))
    assert sizes.same(one, other)
    assert sizes.resolve(n) == 100
    assert sizes.guards[-1] == (n, 100) and len(sizes.guards) == MANY + 1


@pytest.mark.parametrize(
    ("composed", "number", "solution"),
    [
        (lambda n: add(n, -1), 2, 3),
        (lambda n: mul([2, n]), 6, 3),
        (lambda n: slice_length(n, slice(1, None)), 2, 3),
        (lambda n: slice_length(add(n, -1), slice(None, -2)), 1, 4),
        (lambda n: slice_length(n, slice(64, 80)), 6, 70),
        (lambda n: slice_length(n, slice(1, 80, 3)), 1, None),  # 2, 3 and 4 are
        (lambda n: slice_length(n, slice(64, 80)), 16, None),  # 80 and more are
        (lambda n: mul([2, n]), 5, None),  # no length is
        (lambda n: slice_length(n, slice(3, None)), 0, None),  # 0, 1, 2 and 3 are
        (lambda n: slice_length(n, slice(None, None, 2)), 2, None),  # 3 and 4 are
        (lambda n: mul([n, n]), 4, None),
        (lambda n: add(n, 2), 1, None),
    ],
)
def test_an_equation_of_one_symbol_is_solved(composed, number, solution):
    n = sz.symbol("n0")
    assert solved(composed(n), number) == (None if solution is None else ("n0", solution))


def test_what_is_solved_is_known():
    sizes = sz.Sizes()
    n = sizes.new(4)
    assert sizes.same(slice_length(n, slice(1, None)), 3)
    assert sizes.resolve(n) == 4
    assert not sizes.unsolved
    assert len(sizes.guards) == 1


def test_slices_that_drop_elements_are_one():
    """So the length of what each turn of a loop shortens is as short to write as its first."""
    length = A
    for _ in range(40):
        length = slice_length(slice_length(length, slice(1, None)), slice(None, -2))
    assert sz.as_python(length) == "max(n0 - 120, 0)"
    assert [value(length, {"n0": n}) for n in (0, 119, 121)] == [0, 0, 1]


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        (lambda n, m: n, lambda n, m: 3, "n0 >= 3"),
        (lambda n, m: 3, lambda n, m: add(m, 1), "n1 <= 2"),
        (lambda n, m: mul([n, m]), lambda n, m: add(n, m), "n0*n1 >= n0 + n1"),
        (lambda n, m: add(n, m), lambda n, m: n, None),
        (lambda n, m: add(n, 2), lambda n, m: add(n, 1), None),
        (lambda n, m: 5, lambda n, m: 0, None),
    ],
)
def test_a_length_is_assumed_to_be_no_less_than_another(a, b, text):
    """Where that does not hold at all lengths it is one guard, which holds at those alone."""
    sizes = Sizes()
    n, m = sizes.new(4), sizes.new(2)
    for _ in range(2):
        sizes.require_at_least(a(n, m), b(n, m))
    assert [sz.equality_as_python(*guard) for guard in sizes.guards] == ([text] if text else [])
    for one in range(6):
        for two in range(6):
            known = {"n0": one, "n1": two}
            left, right = (value(length(n, m), known) for length in (a, b))
            holds = [value(x, known) == value(y, known) for x, y in sizes.guards]
            assert all(holds) == (left >= right)
