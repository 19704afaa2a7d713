"""What the functions that arrange, pick and write elements show of themselves: an example each."""

EXAMPLES = {
    "append": """
>>> tg.append(tg.tensor([1.0, 2.0]), [3.0])
tensor([1., 2., 3.])
""",
    "apply_along_axis": """
>>> tg.apply_along_axis(lambda row: tg.sum(row ** 2), 1, tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([ 5., 25.])
""",
    "apply_over_axes": """
>>> tg.apply_over_axes(tg.sum, tg.ones((2, 3)), (0, 1))
tensor([[6.]])
""",
    "argpartition": """
>>> tg.argpartition(tg.tensor([3.0, 1.0, 2.0]), 0)[0]
tensor(1)
""",
    "argwhere": """
>>> tg.argwhere(tg.tensor([[0, 5], [7, 0]]))
tensor([[0, 1],
        [1, 0]])
""",
    "array_equal": """
>>> tg.array_equal(tg.tensor([1, 2]), tg.tensor([1, 2]))
True
""",
    "array_equiv": """
>>> tg.array_equiv(tg.tensor([1, 2]), tg.tensor([[1, 2], [1, 2]]))
True
""",
    "array_split": """
>>> tg.array_split(tg.arange(5), 2)
(tensor([0, 1, 2]), tensor([3, 4]))
""",
    "atleast_1d": """
>>> tg.atleast_1d(tg.tensor(3.0))
tensor([3.])
""",
    "atleast_2d": """
>>> tg.atleast_2d(tg.tensor([1.0, 2.0]))
tensor([[1., 2.]])
""",
    "atleast_3d": """
>>> tg.atleast_3d(tg.tensor([1.0, 2.0])).shape
(1, 2, 1)
""",
    "block": """
>>> tg.block([[tg.eye(2), tg.zeros((2, 1))], [tg.ones((1, 3))]])
tensor([[1., 0., 0.],
        [0., 1., 0.],
        [1., 1., 1.]])
""",
    "broadcast_arrays": """
>>> a, b = tg.broadcast_arrays(tg.tensor([1.0, 2.0]), tg.tensor([[3.0], [4.0]]))
>>> a
tensor([[1., 2.],
        [1., 2.]])
""",
    "broadcast_to": """
>>> tg.broadcast_to(tg.tensor([1.0, 2.0]), (2, 2))
tensor([[1., 2.],
        [1., 2.]])
""",
    "choose": """
>>> tg.choose(tg.tensor([0, 1, 0]), [tg.tensor([1, 2, 3]), tg.tensor([10, 20, 30])])
tensor([ 1, 20,  3])
""",
    "column_stack": """
>>> tg.column_stack([tg.tensor([1.0, 2.0]), tg.tensor([3.0, 4.0])])
tensor([[1., 3.],
        [2., 4.]])
""",
    "compress": """
>>> tg.compress([True, False, True], tg.tensor([1.0, 2.0, 3.0]))
tensor([1., 3.])
""",
    "concatenate": """
>>> tg.concatenate([tg.tensor([1.0, 2.0]), tg.tensor([3.0])])
tensor([1., 2., 3.])
""",
    "copyto": """
>>> x = tg.zeros(3)
>>> tg.copyto(x, [1.0, 2.0, 3.0])
>>> x
tensor([1., 2., 3.])
""",
    "delete": """
>>> tg.delete(tg.tensor([1.0, 2.0, 3.0]), 1)
tensor([1., 3.])
""",
    "diagonal": """
>>> tg.diagonal(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([1., 4.])
""",
    "dsplit": """
>>> [part.shape for part in tg.dsplit(tg.ones((1, 2, 4)), 2)]
[(1, 2, 2), (1, 2, 2)]
""",
    "dstack": """
>>> tg.dstack([tg.tensor([1.0, 2.0]), tg.tensor([3.0, 4.0])])
tensor([[[1., 3.],
         [2., 4.]]])
""",
    "expand_dims": """
>>> tg.expand_dims(tg.tensor([1.0, 2.0]), 0)
tensor([[1., 2.]])
""",
    "extract": """
>>> tg.extract([True, False, True], tg.tensor([1.0, 2.0, 3.0]))
tensor([1., 3.])
""",
    "fill_diagonal": """
>>> x = tg.zeros((2, 2))
>>> tg.fill_diagonal(x, 3.0)
>>> x
tensor([[3., 0.],
        [0., 3.]])
""",
    "flatnonzero": """
>>> tg.flatnonzero(tg.tensor([[0, 5], [7, 0]]))
tensor([1, 2])
""",
    "flatten": """
>>> tg.flatten(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([1., 2., 3., 4.])
""",
    "flip": """
>>> tg.flip(tg.tensor([1.0, 2.0, 3.0]))
tensor([3., 2., 1.])
""",
    "fliplr": """
>>> tg.fliplr(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([[2., 1.],
        [4., 3.]])
""",
    "flipud": """
>>> tg.flipud(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([[3., 4.],
        [1., 2.]])
""",
    "hsplit": """
>>> tg.hsplit(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), 2)
(tensor([[1.],
        [3.]]), tensor([[2.],
        [4.]]))
""",
    "hstack": """
>>> tg.hstack([tg.tensor([1.0, 2.0]), tg.tensor([3.0])])
tensor([1., 2., 3.])
""",
    "index_add": """
>>> tg.index_add(tg.zeros(3), [0, 0, 2], 1.0)
tensor([2., 0., 1.])
""",
    "index_set": """
>>> tg.index_set(tg.zeros(3), [0, 2], 1.0)
tensor([1., 0., 1.])
""",
    "insert": """
>>> tg.insert(tg.tensor([1.0, 3.0]), 1, 2.0)
tensor([1., 2., 3.])
""",
    "lexsort": """
>>> tg.lexsort((tg.tensor([2, 1, 2]), tg.tensor([1, 1, 0])))
tensor([2, 1, 0])
""",
    "matrix_transpose": """
>>> tg.matrix_transpose(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([[1., 3.],
        [2., 4.]])
""",
    "moveaxis": """
>>> tg.moveaxis(tg.ones((2, 3, 4)), 0, -1).shape
(3, 4, 2)
""",
    "nonzero": """
>>> tg.nonzero(tg.tensor([0, 5, 7]))
(tensor([1, 2]),)
""",
    "pad": """
>>> tg.pad(tg.tensor([1.0, 2.0]), 1)
tensor([0., 1., 2., 0.])
""",
    "partition": """
>>> tg.partition(tg.tensor([3.0, 1.0, 2.0]), 0)[0]
tensor(1.)
""",
    "permute_dims": """
>>> tg.permute_dims(tg.ones((2, 3, 4)), (2, 0, 1)).shape
(4, 2, 3)
""",
    "piecewise": """
>>> x = tg.tensor([-2.0, 3.0])
>>> tg.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v * v])
tensor([2., 9.])
""",
    "place": """
>>> x = tg.zeros(3)
>>> tg.place(x, [True, False, True], [1.0, 2.0])
>>> x
tensor([1., 0., 2.])
""",
    "put": """
>>> x = tg.zeros(3)
>>> tg.put(x, [0, 2], [1.0, 2.0])
>>> x
tensor([1., 0., 2.])
""",
    "put_along_axis": """
>>> x = tg.zeros((2, 2))
>>> tg.put_along_axis(x, tg.tensor([[1], [0]]), 5.0, 1)
>>> x
tensor([[0., 5.],
        [5., 0.]])
""",
    "putmask": """
>>> x = tg.tensor([1.0, 2.0, 3.0])
>>> tg.putmask(x, x > 1.5, 0.0)
>>> x
tensor([1., 0., 0.])
""",
    "ravel": """
>>> tg.ravel(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([1., 2., 3., 4.])
""",
    "ravel_multi_index": """
>>> tg.ravel_multi_index((tg.tensor([0, 1]), tg.tensor([2, 0])), (2, 3))
tensor([2, 3])
""",
    "repeat": """
>>> tg.repeat(tg.tensor([1.0, 2.0]), 2)
tensor([1., 1., 2., 2.])
""",
    "reshape": """
>>> tg.reshape(tg.arange(6), (2, -1))
tensor([[0, 1, 2],
        [3, 4, 5]])
""",
    "resize": """
>>> tg.resize(tg.tensor([1.0, 2.0, 3.0]), (2, 2))
tensor([[1., 2.],
        [3., 1.]])
""",
    "roll": """
>>> tg.roll(tg.tensor([1.0, 2.0, 3.0]), 1)
tensor([3., 1., 2.])
""",
    "rollaxis": """
>>> tg.rollaxis(tg.ones((2, 3, 4)), 2).shape
(4, 2, 3)
""",
    "rot90": """
>>> tg.rot90(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([[2., 4.],
        [1., 3.]])
""",
    "searchsorted": """
>>> tg.searchsorted(tg.tensor([1.0, 3.0, 5.0]), tg.tensor([0.0, 3.0, 9.0]))
tensor([0, 1, 3])
""",
    "sort_complex": """
>>> tg.sort_complex(tg.tensor([2.0, 1.0]))
tensor([1.+0.j, 2.+0.j])
""",
    "split": """
>>> tg.split(tg.tensor([1.0, 2.0, 3.0, 4.0]), 2)
(tensor([1., 2.]), tensor([3., 4.]))
""",
    "squeeze": """
>>> tg.squeeze(tg.ones((1, 3, 1))).shape
(3,)
""",
    "stack": """
>>> tg.stack([tg.tensor([1.0, 2.0]), tg.tensor([3.0, 4.0])])
tensor([[1., 2.],
        [3., 4.]])
""",
    "swapaxes": """
>>> tg.swapaxes(tg.ones((2, 3, 4)), 0, 2).shape
(4, 3, 2)
""",
    "take": """
>>> tg.take(tg.tensor([10.0, 20.0, 30.0]), [2, 0])
tensor([30., 10.])
""",
    "take_along_axis": """
>>> tg.take_along_axis(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), tg.tensor([[1], [0]]), 1)
tensor([[2.],
        [3.]])
""",
    "tile": """
>>> tg.tile(tg.tensor([1.0, 2.0]), 2)
tensor([1., 2., 1., 2.])
""",
    "transpose": """
>>> tg.transpose(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([[1., 3.],
        [2., 4.]])
""",
    "tril": """
>>> tg.tril(tg.ones((2, 2)))
tensor([[1., 0.],
        [1., 1.]])
""",
    "trim_zeros": """
>>> tg.trim_zeros(tg.tensor([0.0, 1.0, 2.0, 0.0]))
tensor([1., 2.])
""",
    "triu": """
>>> tg.triu(tg.ones((2, 2)))
tensor([[1., 1.],
        [0., 1.]])
""",
    "unravel_index": """
>>> tg.unravel_index(tg.tensor([2, 3]), (2, 3))
(tensor([0, 1]), tensor([2, 0]))
""",
    "unstack": """
>>> tg.unstack(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
(tensor([1., 2.]), tensor([3., 4.]))
""",
    "vsplit": """
>>> tg.vsplit(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), 2)
(tensor([[1., 2.]]), tensor([[3., 4.]]))
""",
    "vstack": """
>>> tg.vstack([tg.tensor([1.0, 2.0]), tg.tensor([3.0, 4.0])])
tensor([[1., 2.],
        [3., 4.]])
""",
}
