"""What the functions of single elements show of themselves: an example each."""

EXAMPLES = {
    "absolute": """
>>> tg.absolute(tg.tensor([-1.5, 0.0, 2.0]))
tensor([1.5000, 0.0000, 2.0000])
""",
    "arccos": """
>>> tg.arccos(tg.tensor([-1.0, 0.0, 1.0]))
tensor([3.1416, 1.5708, 0.0000])
""",
    "arccosh": """
>>> tg.arccosh(tg.tensor([1.0, 2.0]))
tensor([0.0000, 1.3170])
""",
    "add": """
>>> tg.add(tg.tensor([1.0, 2.0]), tg.tensor([[10.0], [20.0]]))
tensor([[11., 12.],
        [21., 22.]])
""",
    "arcsin": """
>>> tg.arcsin(tg.tensor([-1.0, 0.0, 1.0]))
tensor([-1.5708,  0.0000,  1.5708])
""",
    "arcsinh": """
>>> tg.arcsinh(tg.tensor([-1.0, 0.0, 1.0]))
tensor([-0.8814,  0.0000,  0.8814])
""",
    "arctan": """
>>> tg.arctan(tg.tensor([-1.0, 0.0, 1.0]))
tensor([-0.7854,  0.0000,  0.7854])
""",
    "arctan2": """
>>> tg.arctan2(tg.tensor([0.0, 1.0, -1.0]), tg.tensor([-1.0, 1.0, 0.0]))
tensor([ 3.1416,  0.7854, -1.5708])
""",
    "arctanh": """
>>> tg.arctanh(tg.tensor([-0.5, 0.0, 0.5]))
tensor([-0.5493,  0.0000,  0.5493])
""",
    "bitwise_and": """
>>> tg.bitwise_and(tg.tensor([12, 6]), 10)
tensor([8, 2])
""",
    "bitwise_count": """
>>> tg.bitwise_count(tg.tensor([0, 7, 8]))
tensor([0, 3, 1], dtype=uint8)
""",
    "bitwise_invert": """
>>> tg.bitwise_invert(tg.tensor([0, 1, -3]))
tensor([-1, -2,  2])
""",
    "bitwise_left_shift": """
>>> tg.bitwise_left_shift(tg.tensor([1, 3]), 2)
tensor([ 4, 12])
""",
    "bitwise_or": """
>>> tg.bitwise_or(tg.tensor([12, 6]), 10)
tensor([14, 14])
""",
    "bitwise_right_shift": """
>>> tg.bitwise_right_shift(tg.tensor([8, 13]), 2)
tensor([2, 3])
""",
    "bitwise_xor": """
>>> tg.bitwise_xor(tg.tensor([12, 6]), 10)
tensor([ 6, 12])
""",
    "cbrt": """
>>> tg.cbrt(tg.tensor([-8.0, 0.0, 10.0]))
tensor([-2.0000,  0.0000,  2.1544])
""",
    "ceil": """
>>> tg.ceil(tg.tensor([-1.5, 0.2, 3.0]))
tensor([-1.,  1.,  3.])
""",
    "conj": """
>>> tg.conj(tg.tensor([1.0 + 2.0j, 3.0j]))
tensor([1.-2.j, 0.-3.j])
""",
    "copysign": """
>>> tg.copysign(tg.tensor([1.0, -2.0]), tg.tensor([-0.0, 5.0]))
tensor([-1.,  2.])
""",
    "cos": """
>>> tg.cos(tg.tensor([0.0, tg.pi / 3, tg.pi]))
tensor([ 1.0000,  0.5000, -1.0000])
""",
    "cosh": """
>>> tg.cosh(tg.tensor([-1.0, 0.0, 1.0]))
tensor([1.5431, 1.0000, 1.5431])
""",
    "deg2rad": """
>>> tg.deg2rad(tg.tensor([0.0, 90.0, 180.0]))
tensor([0.0000, 1.5708, 3.1416])
""",
    "rad2deg": """
>>> tg.rad2deg(tg.tensor([0.0, tg.pi / 2, tg.pi]))
tensor([  0.,  90., 180.])
""",
    "divide": """
>>> tg.divide(tg.tensor([1.0, 3.0]), 2)
tensor([0.5000, 1.5000])
""",
    "equal": """
>>> tg.equal(tg.tensor([1, 2, 3]), tg.tensor([1, 0, 3]))
tensor([ True, False,  True])
""",
    "exp": """
>>> tg.exp(tg.tensor([0.0, 1.0]))
tensor([1.0000, 2.7183])
""",
    "exp2": """
>>> tg.exp2(tg.tensor([0.0, 3.0, -1.0]))
tensor([1.0000, 8.0000, 0.5000])
""",
    "expm1": """
>>> tg.expm1(tg.tensor([0.0, 1.0]))
tensor([0.0000, 1.7183])
""",
    "fabs": """
>>> tg.fabs(tg.tensor([-1.5, 2.0]))
tensor([1.5000, 2.0000])
""",
    "trunc": """
>>> tg.trunc(tg.tensor([-1.5, 0.2, 2.7]))
tensor([-1.,  0.,  2.])
""",
    "float_power": """
>>> tg.float_power(tg.tensor([2, 3]), -1)
tensor([0.5000, 0.3333])
""",
    "floor": """
>>> tg.floor(tg.tensor([-1.5, 0.2, 3.0]))
tensor([-2.,  0.,  3.])
""",
    "floor_divide": """
>>> tg.floor_divide(tg.tensor([7.0, -7.0]), 2.0)
tensor([ 3., -4.])
""",
    "fmax": """
>>> tg.fmax(tg.tensor([1.0, tg.nan]), tg.tensor([2.0, 0.0]))
tensor([2., 0.])
""",
    "fmin": """
>>> tg.fmin(tg.tensor([1.0, tg.nan]), tg.tensor([2.0, 0.0]))
tensor([1., 0.])
""",
    "fmod": """
>>> tg.fmod(tg.tensor([7.0, -7.0]), 3.0)
tensor([ 1., -1.])
""",
    "gcd": """
>>> tg.gcd(tg.tensor([12, 7]), 18)
tensor([6, 1])
""",
    "greater": """
>>> tg.greater(tg.tensor([1, 2, 3]), 2)
tensor([False, False,  True])
""",
    "greater_equal": """
>>> tg.greater_equal(tg.tensor([1, 2, 3]), 2)
tensor([False,  True,  True])
""",
    "heaviside": """
>>> tg.heaviside(tg.tensor([-1.0, 0.0, 2.0]), 0.5)
tensor([0.0000, 0.5000, 1.0000])
""",
    "hypot": """
>>> tg.hypot(tg.tensor([3.0, 5.0]), tg.tensor([4.0, 12.0]))
tensor([ 5., 13.])
""",
    "imag": """
>>> tg.imag(tg.tensor([1.0 + 2.0j, 3.0j]))
tensor([2., 3.])
""",
    "isfinite": """
>>> tg.isfinite(tg.tensor([1.0, tg.inf, tg.nan]))
tensor([ True, False, False])
""",
    "isinf": """
>>> tg.isinf(tg.tensor([1.0, -tg.inf, tg.nan]))
tensor([False,  True, False])
""",
    "isnan": """
>>> tg.isnan(tg.tensor([1.0, tg.inf, tg.nan]))
tensor([False, False,  True])
""",
    "lcm": """
>>> tg.lcm(tg.tensor([4, 7]), 6)
tensor([12, 42])
""",
    "less": """
>>> tg.less(tg.tensor([1, 2, 3]), 2)
tensor([ True, False, False])
""",
    "less_equal": """
>>> tg.less_equal(tg.tensor([1, 2, 3]), 2)
tensor([ True,  True, False])
""",
    "log": """
>>> tg.log(tg.tensor([1.0, tg.e]))
tensor([0., 1.])
""",
    "log10": """
>>> tg.log10(tg.tensor([1.0, 100.0]))
tensor([0., 2.])
""",
    "log1p": """
>>> tg.log1p(tg.tensor([0.0, 1.0]))
tensor([0.0000, 0.6931])
""",
    "log2": """
>>> tg.log2(tg.tensor([1.0, 8.0]))
tensor([0., 3.])
""",
    "logaddexp": """
>>> tg.logaddexp(tg.tensor([0.0, 1000.0]), tg.tensor([0.0, 1000.0]))
tensor([6.9315e-01, 1.0007e+03])
""",
    "logaddexp2": """
>>> tg.logaddexp2(tg.tensor([0.0, 1000.0]), tg.tensor([0.0, 1000.0]))
tensor([1.0000e+00, 1.0010e+03])
""",
    "logical_and": """
>>> tg.logical_and(tg.tensor([True, True, False]), tg.tensor([True, False, False]))
tensor([ True, False, False])
""",
    "logical_not": """
>>> tg.logical_not(tg.tensor([True, False]))
tensor([False,  True])
""",
    "logical_or": """
>>> tg.logical_or(tg.tensor([True, True, False]), tg.tensor([True, False, False]))
tensor([ True,  True, False])
""",
    "logical_xor": """
>>> tg.logical_xor(tg.tensor([True, True, False]), tg.tensor([True, False, False]))
tensor([False,  True, False])
""",
    "matmul": """
>>> tg.matmul(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), tg.tensor([1.0, -1.0]))
tensor([-1., -1.])
""",
    "maximum": """
>>> tg.maximum(tg.tensor([1.0, 5.0]), 2.0)
tensor([2., 5.])
""",
    "minimum": """
>>> tg.minimum(tg.tensor([1.0, 5.0]), 2.0)
tensor([1., 2.])
""",
    "remainder": """
>>> tg.remainder(tg.tensor([7.0, -7.0]), 3.0)
tensor([1., 2.])
""",
    "multiply": """
>>> tg.multiply(tg.tensor([1.0, 2.0]), tg.tensor([[10.0], [20.0]]))
tensor([[10., 20.],
        [20., 40.]])
""",
    "negative": """
>>> tg.negative(tg.tensor([1.0, -2.0]))
tensor([-1.,  2.])
""",
    "nextafter": """
>>> tg.nextafter(tg.tensor([1.0]), 2.0) - 1.0 == tg.finfo(tg.float64).eps
tensor([True])
""",
    "not_equal": """
>>> tg.not_equal(tg.tensor([1, 2, 3]), tg.tensor([1, 0, 3]))
tensor([False,  True, False])
""",
    "positive": """
>>> tg.positive(tg.tensor([1.0, -2.0]))
tensor([ 1., -2.])
""",
    "real": """
>>> tg.real(tg.tensor([1.0 + 2.0j, 3.0j]))
tensor([1., 0.])
""",
    "reciprocal": """
>>> tg.reciprocal(tg.tensor([2.0, -4.0]))
tensor([ 0.5000, -0.2500])
""",
    "rint": """
>>> tg.rint(tg.tensor([0.5, 1.5, -1.2]))
tensor([ 0.,  2., -1.])
""",
    "signbit": """
>>> tg.signbit(tg.tensor([-1.0, -0.0, 0.0]))
tensor([ True,  True, False])
""",
    "sin": """
>>> tg.sin(tg.tensor([0.0, tg.pi / 6, tg.pi / 2]))
tensor([0.0000, 0.5000, 1.0000])
""",
    "sinh": """
>>> tg.sinh(tg.tensor([-1.0, 0.0, 1.0]))
tensor([-1.1752,  0.0000,  1.1752])
""",
    "spacing": """
>>> tg.spacing(tg.tensor([1.0])) == tg.finfo(tg.float64).eps
tensor([True])
""",
    "sqrt": """
>>> tg.sqrt(tg.tensor([0.0, 4.0, 9.0]))
tensor([0., 2., 3.])
""",
    "square": """
>>> tg.square(tg.tensor([-3.0, 2.0]))
tensor([9., 4.])
""",
    "stop_gradient": """
>>> tg.grad(lambda x: x * tg.stop_gradient(x))(3.0)
np.float64(3.0)
""",
    "subtract": """
>>> tg.subtract(tg.tensor([1.0, 2.0]), tg.tensor([[10.0], [20.0]]))
tensor([[ -9.,  -8.],
        [-19., -18.]])
""",
    "tan": """
>>> tg.tan(tg.tensor([0.0, tg.pi / 4]))
tensor([0.0000, 1.0000])
""",
    "tanh": """
>>> tg.tanh(tg.tensor([-1.0, 0.0, 1.0]))
tensor([-0.7616,  0.0000,  0.7616])
""",
    "angle": """
>>> tg.angle(tg.tensor([1.0j, -1.0 + 0.0j]))
tensor([1.5708, 3.1416])
""",
    "astype": """
>>> tg.astype(tg.tensor([1, 2]), tg.float32)
tensor([1., 2.], dtype=float32)
""",
    "clip": """
>>> tg.clip(tg.tensor([-1.0, 0.5, 3.0]), 0.0, 1.0)
tensor([0.0000, 0.5000, 1.0000])
""",
    "isclose": """
>>> tg.isclose(tg.tensor([1.0, 2.0]), tg.tensor([1.0 + 1e-9, 2.1]))
tensor([ True, False])
""",
    "iscomplex": """
>>> tg.iscomplex(tg.tensor([1.0 + 0.0j, 2.0j]))
tensor([False,  True])
""",
    "isneginf": """
>>> tg.isneginf(tg.tensor([1.0, -tg.inf, tg.inf]))
tensor([False,  True, False])
""",
    "isposinf": """
>>> tg.isposinf(tg.tensor([1.0, -tg.inf, tg.inf]))
tensor([False, False,  True])
""",
    "isreal": """
>>> tg.isreal(tg.tensor([1.0 + 0.0j, 2.0j]))
tensor([ True, False])
""",
    "ldexp": """
>>> tg.ldexp(tg.tensor([1.0, 3.0]), 2)
tensor([ 4., 12.])
""",
    "log_softmax": """
>>> tg.log_softmax(tg.tensor([0.0, 0.0]))
tensor([-0.6931, -0.6931])
""",
    "modf": """
>>> tg.modf(tg.tensor([1.25, -2.5]))
(tensor([ 0.2500, -0.5000]), tensor([ 1., -2.]))
""",
    "nan_to_num": """
>>> tg.nan_to_num(tg.tensor([1.0, tg.nan]))
tensor([1., 0.])
""",
    "power": """
>>> tg.power(tg.tensor([2.0, 3.0]), 2)
tensor([4., 9.])
""",
    "real_if_close": """
>>> tg.real_if_close(tg.tensor([1.0 + 0.0j, 2.0 + 0.0j]))
tensor([1., 2.])
""",
    "relu": """
>>> tg.relu(tg.tensor([-1.0, 0.0, 2.0]))
tensor([0., 0., 2.])
""",
    "round": """
>>> tg.round(tg.tensor([0.5, 1.5, 2.6]))
tensor([0., 2., 3.])
""",
    "sigmoid": """
>>> tg.sigmoid(tg.tensor([-1.0, 0.0, 1.0]))
tensor([0.2689, 0.5000, 0.7311])
""",
    "sign": """
>>> tg.sign(tg.tensor([-3.0, 0.0, 2.0]))
tensor([-1.,  0.,  1.])
""",
    "sinc": """
>>> tg.sinc(tg.tensor([0.0, 0.5, 1.0]))
tensor([1.0000e+00, 6.3662e-01, 3.8982e-17])
""",
    "softmax": """
>>> tg.softmax(tg.tensor([0.0, 0.0, tg.log(2.0)]))
tensor([0.2500, 0.2500, 0.5000])
""",
    "softplus": """
>>> tg.softplus(tg.tensor([-1.0, 0.0, 1.0]))
tensor([0.3133, 0.6931, 1.3133])
""",
    "unwrap": """
>>> tg.unwrap(tg.tensor([0.0, 3.0, 6.0, 9.0 - 2 * tg.pi]))
tensor([0., 3., 6., 9.])
""",
    "where": """
>>> x = tg.tensor([-1.0, 4.0])
>>> tg.where(x > 0, x, 0.0)
tensor([0., 4.])
""",
}
