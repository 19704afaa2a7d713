"""Programs that write to arrays without axes: through second names, views, helpers, in loops.

In NumPy such an array is memory and what a sum or ``x[0]`` gives is a number, whatever either is
called. Each program is run as plain Python and in every way that tracegrad has
(`tests/tensors/test_zero_dimensional.py`).
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np


def add(s, v):
    s += v


def put(s, v):
    s[...] = v


def put_by_empty_tuple(s, v):
    s[()] = v


# -- of a vector: ``f(x)`` ------------------------------------------------------------------------


def added_to_through_a_second_name(x):
    s = np.zeros(())
    t = s
    s += x[0]
    return t + 0.0


def returned_with_a_view_of_it(x):
    s = np.array(x.sum())
    return s, s[None], s.reshape(1, 1)


def returned_behind_a_view_of_it(x):
    s = np.array(x.sum())
    return np.sin(s), (s[None].swapaxes(0, -1), s)


def returned_twice(x):
    s = np.array(x.sum())
    return s, s


def second_name_returned(x):
    s = np.zeros(())
    t = s
    s += x[0]
    return t


def both_names_returned(x):
    s = np.zeros(())
    t = s
    s += x[0]
    return s * 1.0, t, s


def array_of_a_number(x):
    s = np.array(0.0)
    t = s
    s += x[0]
    return t + 0.0


def full_of_a_number(x):
    s = np.full((), 3.0)
    t = s
    s += x[0]
    return t + 0.0


def changed_twice(x):
    s = np.ones(())
    t = s
    s += x[0]
    s *= 2
    return t + 0.0


def empty_filled(x):
    s = np.empty(())
    t = s
    s[...] = x[0]
    return t + 0.0


def asarray_of_a_sum(x):
    s = np.asarray(x.sum())
    t = s
    s += x[0]
    return t + 0.0


def array_of_a_sum(x):
    s = np.array(x.sum())
    t = s
    s += x[0]
    return t + 0.0


def asarray_of_a_sum_in_a_helper(x):
    s = np.asarray(x.sum())
    t = s
    add(s, x[1])
    return t + 0.0


def ellipsis_of_an_element(x):
    s = x[0][...]
    t = s
    s += x[1]
    return t + 0.0


def ellipsis_of_a_sum(x):
    s = x.sum()[...]
    t = s
    s += x[1]
    return t + 0.0


def sum_is_a_scalar(x):
    t = x.sum()
    u = t
    t += 1
    return u + 0.0 + 0 * t


def element_is_a_scalar(x):
    t = x[0]
    u = t
    t *= x[1]
    return u * 1.0, t


def helper_adds(x):
    s = np.zeros(())
    for v in x:
        add(s, v)
    return s * 1.0


def helper_writes_by_ellipsis(x):
    s = np.zeros(())
    for v in x:
        put(s, v * 2)
    return s * 1.0


def helper_writes_by_empty_tuple(x):
    s = np.zeros(())
    for v in x:
        put_by_empty_tuple(s, s + v * 2)
    return s * 1.0


def view_written(x):
    s = np.zeros(())
    t = s[...]
    t += x[0]
    return s * 1.0


def viewed_then_written(x):
    s = np.zeros(())
    t = s[...]
    s += x[0]
    return t * 1.0


def view_of_a_traced_array(x):
    s = np.array(x[0])
    t = s[...]
    s += x[0]
    return t * 1.0


def item_is_a_scalar(x):
    s = np.array(x[0])
    t = s[()]
    s += x[0]
    return t * 1.0


def written_by_empty_tuple(x):
    s = np.zeros(())
    t = s
    s[()] = x[0]
    return t * 1.0


def written_by_ellipsis(x):
    s = np.zeros(())
    t = s
    s[...] = x[0] * 2
    return t * 1.0


def filled(x):
    s = np.zeros(())
    t = s
    s.fill(x[0])
    return t * 1.0


def out_of_a_ufunc(x):
    s = np.zeros(())
    t = s
    np.add(x[0], x[1], out=s)
    return t * 1.0


def out_of_a_reduction(x):
    s = np.array(x[0])
    t = s
    np.sum(x, out=s)
    return t * 1.0


def what_out_returns(x):
    s = np.array(x[0])
    t = s
    u = np.multiply(s, x[1], out=s)
    u += 1
    return t * 1.0


def copied_to(x):
    s = np.zeros(())
    t = s
    np.copyto(s, x[0])
    return t * 1.0


def appended_in_a_loop(x):
    log = []
    tot = np.array(0.0)
    for v in x:
        tot += v
        log.append(tot)
    return np.stack(log) * 1.0


def scalars_appended_in_a_loop(x):
    log = []
    tot = x.sum()
    for v in x:
        tot += v
        log.append(tot)
    return np.stack(log) * 1.0


def traced_array_appended_in_a_loop(x):
    log = []
    tot = np.array(x[0])
    for v in x:
        tot += v
        log.append(tot)
    return np.stack(log) * 1.0


def products_appended_in_a_loop(x):
    log = []
    tot = np.array(x[0])
    for v in x:
        tot += v
        log.append(tot * 1.0)
    return np.stack(log) * 1.0


def accumulator_in_a_loop(x):
    s = np.array(x[0])
    t = s
    for _ in range(20):
        s *= 0.9
        s += x[1]
    return t * 1.0, s


def accumulator_from_zeros(x):
    s = np.zeros(())
    t = s
    for _ in range(20):
        s *= 0.9
        s += x[1]
    return t * 1.0, s


def scalar_accumulator_in_a_loop(x):
    s = x[0]
    t = s
    for _ in range(20):
        s *= 0.9
        s += x[1]
    return t * 1.0, s


def while_with_a_view(x):
    s = np.array(x[0])
    t = s[...]
    while s < 50:
        s *= 2
        t += x[1]
    return t * 1.0, s


def array_or_scalar_by_a_branch(x):
    s = np.array(x[0])
    u = x[1]
    t = s if x[0] > 0.5 else u
    v = t
    t += 1
    return v * 1.0, t, s, u


def array_returned(x):
    s = np.array(x[0])
    return s


def constant_array_returned(x):
    s = np.zeros(())
    return s, x * 2


def asarray_of_a_sum_returned(x):
    return np.asarray(x.sum())


def ellipsis_returned(x):
    return x.sum()[...]


def reshaped_to_no_axes(x):
    s = x[:1].reshape(())
    t = s * 2
    return t, s


def reshaped_view_written(x):
    y = x * 2
    s = y[:1].reshape(())
    s += 1
    return y * 1.0, s


def element_with_ellipsis(x):
    y = x * 2
    s = y[0, ...]
    s += 1
    return y * 1.0, s


def element_with_ellipsis_sees(x):
    y = x * 2
    s = y[0, ...]
    y[0] = 5 * x[1]
    return y * 1.0, s, s * 1.0


def squeezed_view_written(x):
    y = x[:1] * 2
    s = y.squeeze()
    s += 1
    return y * 1.0, s


def reshaped_to_one_axis(x):
    y = np.array(x[0])
    s = y.reshape(1)
    s += 1
    return y * 1.0, s


def new_axis(x):
    y = np.array(x[0])
    s = y[None]
    s[0] = 7 * x[1]
    return y * 1.0, s


def copy_of_an_array(x):
    y = np.array(x[0])
    s = y.copy()
    s += 1
    return y * 1.0, s


def copy_method_of_a_scalar(x):
    y = x[0]
    s = y.copy()
    t = s
    s += 1
    return y * 1.0, s, t


def copy_function_of_a_scalar(x):
    y = x[0]
    s = np.copy(y)
    t = s
    s += 1
    return y * 1.0, s, t


def astype_of_an_array(x):
    y = np.array(x[0])
    s = y.astype(float)
    t = s
    s += 1
    return y * 1.0, s, t


def astype_of_a_scalar(x):
    y = x[0]
    s = y.astype(float)
    t = s
    s += 1
    return y * 1.0, s, t


def zeros_like_a_scalar(x):
    y = x[0]
    s = np.zeros_like(y)
    t = s
    s += x[1]
    return t * 1.0, s, t


def where_gives_an_array(x):
    s = np.where(x[0] > 0, x[0], 0.0)
    t = s
    s += 1
    return t * 1.0, s


def where_of_two_scalars(x):
    s = np.where(x[0] > 0, x[0], x[1])
    t = s
    s *= x[2]
    return t * 1.0, s


def maximum_gives_a_scalar(x):
    s = np.maximum(np.array(x[0]), 0.5)
    t = s
    s += 1
    return t * 1.0, s


def einsum_gives_a_scalar(x):
    s = np.einsum("i,i->", x, x)
    t = s
    s += 1
    return t * 1.0, s


def dot_gives_a_scalar(x):
    s = np.dot(x, x)
    t = s
    s += 1
    return t * 1.0, s


def tensordot_gives_an_array(x):
    s = np.tensordot(x, x, 1)
    t = s
    s += 1
    return t * 1.0, s


def inner_gives_a_scalar(x):
    s = np.inner(x, x)
    t = s
    s += 1
    return t * 1.0, s


def take_gives_a_scalar(x):
    s = np.take(x, 0)
    t = s
    s += 1
    return t * 1.0, s


def index_without_axes(x):
    s = x[np.array(1)]
    t = s
    s += 1
    return t * 1.0, s


def squeezed_product(x):
    s = np.squeeze(x[:1] * 2)
    t = s
    s += 1
    return t * 1.0, s


def mean_reshaped(x):
    s = np.mean(x, keepdims=True).reshape(())
    t = s
    s += 1
    return t * 1.0, s


def in_a_dict(x):
    d = {"s": np.zeros(())}
    t = d["s"]
    for v in x:
        d["s"] += v
    return t * 1.0, d["s"]


def in_an_attribute(x):
    o = SimpleNamespace()
    o.s = np.zeros(())
    t = o.s
    for v in x:
        o.s += v
    return t * 1.0, o.s


def items_of_a_list(x):
    l = [np.zeros(()), np.ones(())]
    t = l[0]
    for v in x:
        l[0] += v
        l[1] *= v
    return t * 1.0, l[1]


def in_a_closure(x):
    s = np.zeros(())

    def g(v):
        nonlocal s
        s += v

    t = s
    for v in x:
        g(v)
    return t * 1.0


def all_operators(x):
    s = np.ones(())
    t = s
    s *= x[0]
    s -= x[1]
    s /= x[2]
    s **= 2
    return t * 1.0


def names_exchanged(x):
    a = np.array(x[0])
    b = np.array(x[1])
    c = a
    a, b = b, a
    a += 5
    return c * 1.0, a, b


def added_at_no_place(x):
    s = np.array(x[0])
    t = s
    np.add.at(s, (), x[1])
    return t * 1.0


def read_before_it_is_written(x):
    s = np.array(x[0])
    t = s
    y = s * x
    s += 1
    return t * y


def stored_in_an_array(x):
    s = np.array(x[0])
    y = np.zeros(3)
    y[1] = s
    s += 1
    return s * y


def in_a_tuple(x):
    s = np.array(x[0])
    p = (s, 1)
    s += 1
    return p[0] * 1.0


def counter_read_through_a_second_name(x):
    n = np.array(0)
    m = n
    for _ in x:
        n += 1
    return x * m


def counter_under_a_condition(x):
    n = np.zeros((), int)
    m = n
    for v in x:
        if v > 1.5:
            n += 1
    return x * m, n


def written_in_one_arm_of_turns(x):
    s = np.array(x[0])
    t = s
    for i in range(12):
        if x[i % 3] > 1.5:
            s += x[1]
        else:
            s *= 0.5
    return t * 1.0, s


def bound_anew_in_one_arm_of_turns(x):
    s = np.array(x[0])
    t = s
    for i in range(12):
        if x[i % 3] > 1.5:
            s += x[1]
        else:
            s = s * 0.5
    return t * 1.0, s


def array_or_scalar_by_arms_of_turns(x):
    s = np.array(x[0])
    u = x[1] * 1.0
    total = 0.0
    for i in range(12):
        r = s if x[i % 3] > 1.5 else u
        r += 1.0
        total = total + s * x[0]
    return total, s, u


# -- of an array without axes: ``f(a)``


def argument_written_twice(a):
    a += 1
    a += 1
    return a * 1.0


def argument_and_second_name(a):
    a += 1
    b = a
    a *= 2
    return b * 1.0


def argument_through_a_view(a):
    b = a[...]
    b += 1
    b *= 3
    return a * 1.0


def argument_in_a_helper(a):
    add(a, 1.0)
    add(a, 2.0)
    return a * 1.0


def item_of_an_argument(a):
    b = a[()]
    a += 1
    b += 1
    return a * 1.0, b


def argument_set(a):
    a[...] = 7
    a[()] = a * 2
    return a * 1.0, a


def argument_in_a_loop(a):
    for i in range(10):
        a += i
    return a * 1.0, a


def argument_reshaped(a):
    b = a.reshape(1)
    b += 1
    a += 1
    return a * b


def argument_returned(a):
    b = a
    return b


def argument_as_out(a):
    np.multiply(a, 3, out=a)
    np.copyto(a, a + 1)
    return a * 1.0


def argument_filled(a):
    a.fill(3.0)
    a.fill(4.0)
    return a * 1.0


def argument_copied(a):
    a = a.copy()
    b = a
    a += 1
    return b * a


def argument_times_one(a):
    a = a * 1.0
    b = a
    a += 1
    return b * a


def argument_with_a_sign(a):
    a = +a
    b = a
    a += 1
    return b * a, a, b


def array_of_an_argument(a):
    a = np.array(a)
    b = a
    a += 1
    return b * a, a, b


def asarray_of_an_argument(a):
    b = np.asarray(a)
    b += 1
    b += 1
    return b * a, a, b


def argument_under_a_condition(a):
    if a > 0:
        a += 1
    a += 1
    return a * 1.0


# -- of both: ``f(a, x)``


def argument_of_two(a, x):
    a += x[0]
    b = a
    a *= x[1]
    return b * x


def argument_of_two_in_a_helper(a, x):
    add(a, x[0])
    add(a, x[1])
    return a * x


def argument_summed_into(a, x):
    for v in x:
        a += v
    return a * x


def view_summed_into(a, x):
    t = a[...]
    for v in x:
        t += v
    return a * x


def argument_written_from_an_array(a, x):
    y = x * 2
    y[0] = a
    a += y[1]
    return y * a, a


def argument_twice_in_a_list(a, x):
    l = [a, a]
    l[0] += x[0]
    l[1] += x[1]
    return a * x


# -- of what is outside: ``make(o)`` gives ``f(x)``


def attribute_written_twice(o):
    def f(x):
        o.s += x[0]
        o.s *= 2
        return o.s * x

    return f


def attribute_set(o):
    def f(x):
        o.s[...] = x[0]
        o.s[()] = o.s * 2
        return o.s * x

    return f


def attribute_summed_into(o):
    def f(x):
        for v in x:
            o.s += v
        return o.s * x

    return f


def attribute_with_second_name(o):
    def f(x):
        t = o.s
        t += x[0]
        o.s += x[1]
        return t * x

    return f


def attribute_in_a_helper(o):
    def f(x):
        add(o.s, x[0])
        add(o.s, x[1])
        return o.s * x, o.s

    return f


def attribute_replaced_and_written(o):
    def f(x):
        o.s = np.array(x[0])
        o.s += x[1]
        return x * 1

    return f


def attribute_made(o):
    def f(x):
        o.t = np.zeros(())
        o.t += x[1]
        o.t += x[0]
        return x * 1

    return f


def attribute_with_second_place(o):
    def f(x):
        o.t = o.s
        o.t += x[1]
        o.s += x[0]
        return x * o.t

    return f


def attribute_written_once(o):
    def f(x):
        o.s += x[0]
        return x * o.s

    return f


OF_VECTOR = (
    written_in_one_arm_of_turns,
    bound_anew_in_one_arm_of_turns,
    array_or_scalar_by_arms_of_turns,
    added_to_through_a_second_name,
    returned_with_a_view_of_it,
    returned_behind_a_view_of_it,
    returned_twice,
    second_name_returned,
    both_names_returned,
    array_of_a_number,
    full_of_a_number,
    changed_twice,
    empty_filled,
    asarray_of_a_sum,
    array_of_a_sum,
    asarray_of_a_sum_in_a_helper,
    ellipsis_of_an_element,
    ellipsis_of_a_sum,
    sum_is_a_scalar,
    element_is_a_scalar,
    helper_adds,
    helper_writes_by_ellipsis,
    helper_writes_by_empty_tuple,
    view_written,
    viewed_then_written,
    view_of_a_traced_array,
    item_is_a_scalar,
    written_by_empty_tuple,
    written_by_ellipsis,
    filled,
    out_of_a_ufunc,
    out_of_a_reduction,
    what_out_returns,
    copied_to,
    appended_in_a_loop,
    scalars_appended_in_a_loop,
    traced_array_appended_in_a_loop,
    products_appended_in_a_loop,
    accumulator_in_a_loop,
    accumulator_from_zeros,
    scalar_accumulator_in_a_loop,
    while_with_a_view,
    array_or_scalar_by_a_branch,
    array_returned,
    constant_array_returned,
    asarray_of_a_sum_returned,
    ellipsis_returned,
    reshaped_to_no_axes,
    reshaped_view_written,
    element_with_ellipsis,
    element_with_ellipsis_sees,
    squeezed_view_written,
    reshaped_to_one_axis,
    new_axis,
    copy_of_an_array,
    copy_method_of_a_scalar,
    copy_function_of_a_scalar,
    astype_of_an_array,
    astype_of_a_scalar,
    zeros_like_a_scalar,
    where_gives_an_array,
    where_of_two_scalars,
    maximum_gives_a_scalar,
    einsum_gives_a_scalar,
    dot_gives_a_scalar,
    tensordot_gives_an_array,
    inner_gives_a_scalar,
    take_gives_a_scalar,
    index_without_axes,
    squeezed_product,
    mean_reshaped,
    in_a_dict,
    in_an_attribute,
    items_of_a_list,
    in_a_closure,
    all_operators,
    names_exchanged,
    added_at_no_place,
    read_before_it_is_written,
    stored_in_an_array,
    in_a_tuple,
    counter_read_through_a_second_name,
    counter_under_a_condition,
)
OF_ARRAY = (
    argument_written_twice,
    argument_and_second_name,
    argument_through_a_view,
    argument_in_a_helper,
    item_of_an_argument,
    argument_set,
    argument_in_a_loop,
    argument_reshaped,
    argument_returned,
    argument_as_out,
    argument_filled,
    argument_copied,
    argument_times_one,
    argument_with_a_sign,
    array_of_an_argument,
    asarray_of_an_argument,
    argument_under_a_condition,
)
OF_BOTH = (
    argument_of_two,
    argument_of_two_in_a_helper,
    argument_summed_into,
    view_summed_into,
    argument_written_from_an_array,
    argument_twice_in_a_list,
)
OF_OUTSIDE = (
    attribute_written_twice,
    attribute_set,
    attribute_summed_into,
    attribute_with_second_name,
    attribute_in_a_helper,
    attribute_replaced_and_written,
    attribute_made,
    attribute_with_second_place,
    attribute_written_once,
)
