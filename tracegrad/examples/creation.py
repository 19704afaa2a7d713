"""What the functions that make arrays, or tell of dtypes, show of themselves: an example each."""

EXAMPLES = {
    "arange": """
>>> tg.arange(2, 8, 2)
tensor([2, 4, 6])
""",
    "broadcast_shapes": """
>>> tg.broadcast_shapes((3, 1), (4,))
(3, 4)
""",
    "can_cast": """
>>> tg.can_cast(tg.int32, tg.int64), tg.can_cast(tg.float64, tg.int64)
(True, False)
""",
    "copy": """
>>> x = tg.tensor([1.0, 2.0])
>>> y = tg.copy(x)
>>> y[0] = 5.0
>>> x
tensor([1., 2.])
""",
    "device": """
>>> tg.device("cpu")
device(type='cpu')
""",
    "diag": """
>>> tg.diag(tg.tensor([1.0, 2.0]))
tensor([[1., 0.],
        [0., 2.]])
""",
    "diag_indices": """
>>> tg.diag_indices(3)
(tensor([0, 1, 2]), tensor([0, 1, 2]))
""",
    "diag_indices_from": """
>>> tg.diag_indices_from(tg.eye(2))
(tensor([0, 1]), tensor([0, 1]))
""",
    "diagflat": """
>>> tg.diagflat(tg.tensor([[1.0], [2.0]]))
tensor([[1., 0.],
        [0., 2.]])
""",
    "empty": """
>>> tg.empty((2, 3)).shape
(2, 3)
""",
    "empty_like": """
>>> tg.empty_like(tg.eye(2)).shape
(2, 2)
""",
    "enable_grad": """
>>> x = tg.tensor(2.0, requires_grad=True)
>>> with tg.no_grad(), tg.enable_grad():
...     y = x * x
>>> y.requires_grad
True
""",
    "eye": """
>>> tg.eye(2, 3)
tensor([[1., 0., 0.],
        [0., 1., 0.]])
""",
    "from_numpy": """
>>> import numpy as np
>>> a = np.zeros(2)
>>> t = tg.from_numpy(a)
>>> a[0] = 1.0
>>> t
tensor([1., 0.])
""",
    "fromfunction": """
>>> tg.fromfunction(lambda i, j: i + 10 * j, (2, 3))
tensor([[ 0., 10., 20.],
        [ 1., 11., 21.]])
""",
    "full": """
>>> tg.full((2, 2), 0.5)
tensor([[0.5000, 0.5000],
        [0.5000, 0.5000]])
""",
    "full_like": """
>>> tg.full_like(tg.tensor([1, 2, 3]), 7)
tensor([7, 7, 7])
""",
    "geomspace": """
>>> tg.geomspace(1, 1000, 4)
tensor([   1.,   10.,  100., 1000.])
""",
    "identity": """
>>> tg.identity(2)
tensor([[1., 0.],
        [0., 1.]])
""",
    "iinfo": """
>>> tg.iinfo(tg.int8).max
127
""",
    "indices": """
>>> tg.indices((2, 2))[1]
tensor([[0, 1],
        [0, 1]])
""",
    "inference_mode": """
>>> x = tg.tensor(2.0, requires_grad=True)
>>> with tg.inference_mode():
...     y = x * x
>>> y.requires_grad
False
""",
    "is_grad_enabled": """
>>> with tg.no_grad():
...     tg.is_grad_enabled()
False
""",
    "isdtype": """
>>> tg.isdtype(tg.float32, "real floating"), tg.isdtype(tg.int8, ("bool", "integral"))
(True, True)
""",
    "ix_": """
>>> rows, columns = tg.ix_([0, 2], [1])
>>> tg.arange(9).reshape(3, 3)[rows, columns]
tensor([[1],
        [7]])
""",
    "linspace": """
>>> tg.linspace(0.0, 1.0, 5)
tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
""",
    "load": """
>>> import os, tempfile
>>> import numpy as np
>>> path = os.path.join(tempfile.mkdtemp(), "slope.py")
>>> _ = tg.grad(lambda x: x * x).export(path, 3.0)
>>> float(tg.load(path)(3.0))
6.0
""",
    "logspace": """
>>> tg.logspace(0, 3, 4)
tensor([   1.,   10.,  100., 1000.])
""",
    "meshgrid": """
>>> x, y = tg.meshgrid(tg.tensor([1.0, 2.0]), tg.tensor([0.0, 5.0]))
>>> x
tensor([[1., 2.],
        [1., 2.]])
>>> y
tensor([[0., 0.],
        [5., 5.]])
""",
    "normal": """
>>> _ = tg.manual_seed(0)
>>> tg.normal(0.0, 1.0, (2, 3)).shape
(2, 3)
""",
    "ones": """
>>> tg.ones(2, 3)
tensor([[1., 1., 1.],
        [1., 1., 1.]])
""",
    "ones_like": """
>>> tg.ones_like(tg.tensor([1, 2]))
tensor([1, 1])
""",
    "promote_types": """
>>> tg.promote_types(tg.int32, tg.float32)
dtype('float64')
""",
    "rand": """
>>> _ = tg.manual_seed(0)
>>> x = tg.rand(3)
>>> x.shape, bool(tg.all(x < 1.0))
((3,), True)
""",
    "rand_like": """
>>> _ = tg.manual_seed(0)
>>> tg.rand_like(tg.eye(2)).shape
(2, 2)
""",
    "randn_like": """
>>> _ = tg.manual_seed(0)
>>> tg.randn_like(tg.eye(2)).shape
(2, 2)
""",
    "randperm": """
>>> _ = tg.manual_seed(0)
>>> tg.sort(tg.randperm(4))
tensor([0, 1, 2, 3])
""",
    "set_default_dtype": """
>>> tg.set_default_dtype(tg.float32)
>>> tg.tensor([1.0]).dtype
dtype('float32')
>>> tg.set_default_dtype(tg.float64)
""",
    "tri": """
>>> tg.tri(3)
tensor([[1., 0., 0.],
        [1., 1., 0.],
        [1., 1., 1.]])
""",
    "tril_indices": """
>>> tg.tril_indices(2)
(tensor([0, 1, 1]), tensor([0, 0, 1]))
""",
    "tril_indices_from": """
>>> tg.tril_indices_from(tg.eye(2))
(tensor([0, 1, 1]), tensor([0, 0, 1]))
""",
    "triu_indices": """
>>> tg.triu_indices(2)
(tensor([0, 0, 1]), tensor([0, 1, 1]))
""",
    "triu_indices_from": """
>>> tg.triu_indices_from(tg.eye(2))
(tensor([0, 0, 1]), tensor([0, 1, 1]))
""",
    "vander": """
>>> tg.vander(tg.tensor([1.0, 2.0, 3.0]))
tensor([[1., 1., 1.],
        [4., 2., 1.],
        [9., 3., 1.]])
""",
    "zeros": """
>>> tg.zeros((2, 2))
tensor([[0., 0.],
        [0., 0.]])
""",
    "zeros_like": """
>>> tg.zeros_like(tg.tensor([1, 2]))
tensor([0, 0])
""",
}
