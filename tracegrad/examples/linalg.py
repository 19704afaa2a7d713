"""What ``tg.linalg`` shows of itself: an example for each function."""

EXAMPLES = {
    "linalg.cond": """
>>> tg.linalg.cond(tg.tensor([[2.0, 0.0], [0.0, 0.5]]))
tensor(4.)
""",
    "linalg.cross": """
>>> tg.linalg.cross(tg.tensor([1.0, 0.0, 0.0]), tg.tensor([0.0, 1.0, 0.0]))
tensor([0., 0., 1.])
""",
    "linalg.diagonal": """
>>> tg.linalg.diagonal(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([1., 4.])
""",
    "linalg.eig": """
>>> tg.linalg.eig(tg.tensor([[2.0, 0.0], [0.0, 3.0]])).eigenvalues.real
tensor([2., 3.])
""",
    "linalg.eigh": """
>>> tg.linalg.eigh(tg.tensor([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
tensor([1., 3.])
""",
    "linalg.eigvals": """
>>> tg.linalg.eigvals(tg.tensor([[2.0, 0.0], [0.0, 3.0]])).real
tensor([2., 3.])
""",
    "linalg.eigvalsh": """
>>> tg.linalg.eigvalsh(tg.tensor([[2.0, 1.0], [1.0, 2.0]]))
tensor([1., 3.])
""",
    "linalg.inv": """
>>> tg.linalg.inv(tg.tensor([[2.0, 0.0], [0.0, 4.0]]))
tensor([[0.5000, 0.0000],
        [0.0000, 0.2500]])
""",
    "linalg.lstsq": """
>>> tg.linalg.lstsq(tg.tensor([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]), tg.tensor([3.0, 4.0, 5.0]))[0]
tensor([3., 2.])
""",
    "linalg.matrix_norm": """
>>> tg.linalg.matrix_norm(tg.tensor([[1.0, 2.0], [2.0, 4.0]]))
tensor(5.)
""",
    "linalg.matrix_power": """
>>> tg.linalg.matrix_power(tg.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
tensor([[1., 3.],
        [0., 1.]])
""",
    "linalg.matrix_rank": """
>>> tg.linalg.matrix_rank(tg.tensor([[1.0, 2.0], [2.0, 4.0]]))
tensor(1)
""",
    "linalg.multi_dot": """
>>> tg.linalg.multi_dot([tg.ones((2, 3)), tg.ones((3, 4)), tg.ones(4)])
tensor([12., 12.])
""",
    "linalg.outer": """
>>> tg.linalg.outer(tg.tensor([1.0, 2.0]), tg.tensor([1.0, 10.0]))
tensor([[ 1., 10.],
        [ 2., 20.]])
""",
    "linalg.pinv": """
>>> tg.linalg.pinv(tg.tensor([[2.0, 0.0], [0.0, 4.0], [0.0, 0.0]]))
tensor([[0.5000, 0.0000, 0.0000],
        [0.0000, 0.2500, 0.0000]])
""",
    "linalg.qr": """
>>> q, r = tg.linalg.qr(tg.tensor([[3.0, 1.0], [4.0, 2.0]]))
>>> tg.allclose(q @ r, [[3.0, 1.0], [4.0, 2.0]])
True
""",
    "linalg.slogdet": """
>>> tg.linalg.slogdet(tg.tensor([[2.0, 0.0], [0.0, -1.0]])).sign
tensor(-1.)
""",
    "linalg.solve_triangular": """
>>> a = tg.tensor([[2.0, 0.0], [1.0, 1.0]])
>>> tg.linalg.solve_triangular(a, tg.tensor([2.0, 3.0]), lower=True)
tensor([1., 2.])
""",
    "linalg.svd": """
>>> u, s, vh = tg.linalg.svd(tg.tensor([[0.0, 2.0], [3.0, 0.0]]))
>>> s
tensor([3., 2.])
""",
    "linalg.svdvals": """
>>> tg.linalg.svdvals(tg.tensor([[0.0, 2.0], [3.0, 0.0]]))
tensor([3.0000, 2.0000])
""",
    "linalg.tensordot": """
>>> tg.linalg.tensordot(tg.ones((2, 3)), tg.ones((3, 4)), axes=1).shape
(2, 4)
""",
    "linalg.tensorinv": """
>>> tg.linalg.tensorinv(tg.eye(6).reshape(2, 3, 6), ind=2).shape
(6, 2, 3)
""",
    "linalg.tensorsolve": """
>>> tg.linalg.tensorsolve(tg.eye(6).reshape(2, 3, 6), tg.ones((2, 3)))
tensor([1., 1., 1., 1., 1., 1.])
""",
    "linalg.trace": """
>>> tg.linalg.trace(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor(5.)
""",
}
