"""What sums, products, statistics, sets and polynomials show of themselves: an example each."""

EXAMPLES = {
    "all": """
>>> tg.all(tg.tensor([[True, False], [True, True]]), axis=1)
tensor([False,  True])
""",
    "allclose": """
>>> tg.allclose(tg.tensor([1.0, 2.0]), tg.tensor([1.0, 2.0 + 1e-9]))
True
""",
    "amax": """
>>> tg.amax(tg.tensor([[1.0, 5.0], [3.0, 2.0]]), axis=0)
tensor([3., 5.])
""",
    "amin": """
>>> tg.amin(tg.tensor([[1.0, 5.0], [3.0, 2.0]]), axis=0)
tensor([1., 2.])
""",
    "any": """
>>> tg.any(tg.tensor([[True, False], [False, False]]), axis=1)
tensor([ True, False])
""",
    "argmax": """
>>> tg.argmax(tg.tensor([1.0, 5.0, 3.0]))
tensor(1)
""",
    "argmin": """
>>> tg.argmin(tg.tensor([4.0, 1.0, 3.0]))
tensor(1)
""",
    "average": """
>>> tg.average(tg.tensor([1.0, 2.0, 4.0]), weights=[1.0, 1.0, 2.0])
tensor(2.7500)
""",
    "bincount": """
>>> tg.bincount(tg.tensor([0, 2, 2, 3]))
tensor([1, 0, 2, 1])
""",
    "convolve": """
>>> tg.convolve(tg.tensor([1.0, 2.0, 3.0]), tg.tensor([1.0, 1.0]))
tensor([1., 3., 5., 3.])
""",
    "corrcoef": """
>>> tg.corrcoef(tg.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
tensor([[ 1., -1.],
        [-1.,  1.]])
""",
    "correlate": """
>>> tg.correlate(tg.tensor([1.0, 2.0, 3.0]), tg.tensor([1.0, 1.0]))
tensor([3., 5.])
""",
    "count_nonzero": """
>>> tg.count_nonzero(tg.tensor([0, 5, 7]))
tensor(2)
""",
    "cov": """
>>> tg.cov(tg.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
tensor([[ 1., -1.],
        [-1.,  1.]])
""",
    "cross": """
>>> tg.cross(tg.tensor([1.0, 0.0, 0.0]), tg.tensor([0.0, 1.0, 0.0]))
tensor([0., 0., 1.])
""",
    "cummax": """
>>> tg.cummax(tg.tensor([1.0, 3.0, 2.0]))
tensor([1., 3., 3.])
""",
    "cummin": """
>>> tg.cummin(tg.tensor([3.0, 1.0, 2.0]))
tensor([3., 1., 1.])
""",
    "cumprod": """
>>> tg.cumprod(tg.tensor([1.0, 2.0, 3.0]))
tensor([1., 2., 6.])
""",
    "cumsum": """
>>> tg.cumsum(tg.tensor([1.0, 2.0, 3.0]))
tensor([1., 3., 6.])
""",
    "cumulative_prod": """
>>> tg.cumulative_prod(tg.tensor([1.0, 2.0, 3.0]), include_initial=True)
tensor([1., 1., 2., 6.])
""",
    "cumulative_sum": """
>>> tg.cumulative_sum(tg.tensor([1.0, 2.0, 3.0]), include_initial=True)
tensor([0., 1., 3., 6.])
""",
    "digitize": """
>>> tg.digitize(tg.tensor([0.5, 1.5, 9.0]), [0.0, 1.0, 2.0])
tensor([1, 2, 3])
""",
    "dot": """
>>> tg.dot(tg.tensor([1.0, 2.0]), tg.tensor([3.0, 4.0]))
tensor(11.)
""",
    "ediff1d": """
>>> tg.ediff1d(tg.tensor([1.0, 4.0, 9.0]))
tensor([3., 5.])
""",
    "einsum": """
>>> tg.einsum("ij,j->i", tg.tensor([[1.0, 2.0], [3.0, 4.0]]), tg.tensor([1.0, -1.0]))
tensor([-1., -1.])
""",
    "gradient": """
>>> tg.gradient(tg.tensor([0.0, 1.0, 4.0, 9.0]))
tensor([1., 2., 4., 5.])
""",
    "histogram": """
>>> tg.histogram(tg.tensor([0.5, 1.5, 1.6]), bins=[0.0, 1.0, 2.0])
(tensor([1, 2]), tensor([0., 1., 2.]))
""",
    "histogram2d": """
>>> x, y = tg.tensor([0.5, 1.5]), tg.tensor([0.5, 0.5])
>>> tg.histogram2d(x, y, bins=[[0.0, 1.0, 2.0], [0.0, 1.0]])[0]
tensor([[1.],
        [1.]])
""",
    "histogram_bin_edges": """
>>> tg.histogram_bin_edges(tg.tensor([0.0, 4.0]), bins=4)
tensor([0., 1., 2., 3., 4.])
""",
    "histogramdd": """
>>> tg.histogramdd(tg.tensor([[0.5, 0.5], [1.5, 0.5]]), bins=[[0.0, 1.0, 2.0], [0.0, 1.0]])[0]
tensor([[1.],
        [1.]])
""",
    "inner": """
>>> tg.inner(tg.tensor([1.0, 2.0]), tg.tensor([3.0, 4.0]))
tensor(11.)
""",
    "interp": """
>>> tg.interp(tg.tensor([0.5, 1.5]), [0.0, 1.0, 2.0], [0.0, 10.0, 40.0])
tensor([ 5., 25.])
""",
    "intersect1d": """
>>> tg.intersect1d(tg.tensor([1, 2, 3]), tg.tensor([3, 1, 5]))
tensor([1, 3])
""",
    "isin": """
>>> tg.isin(tg.tensor([1, 2, 3]), [3, 1])
tensor([ True, False,  True])
""",
    "kron": """
>>> tg.kron(tg.tensor([1.0, 2.0]), tg.tensor([1.0, 10.0]))
tensor([ 1., 10.,  2., 20.])
""",
    "logsumexp": """
>>> tg.logsumexp(tg.tensor([1000.0, 1000.0]))
tensor(1000.6931)
""",
    "matvec": """
>>> tg.matvec(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), tg.tensor([1.0, -1.0]))
tensor([-1., -1.])
""",
    "max": """
>>> tg.max(tg.tensor([[1.0, 5.0], [3.0, 2.0]]), axis=1)
tensor([5., 3.])
""",
    "mean": """
>>> tg.mean(tg.tensor([[1.0, 5.0], [3.0, 2.0]]), axis=1)
tensor([3.0000, 2.5000])
""",
    "min": """
>>> tg.min(tg.tensor([[1.0, 5.0], [3.0, 2.0]]), axis=1)
tensor([1., 2.])
""",
    "nanargmax": """
>>> tg.nanargmax(tg.tensor([tg.nan, 1.0, 5.0]))
tensor(2)
""",
    "nanargmin": """
>>> tg.nanargmin(tg.tensor([tg.nan, 1.0, 5.0]))
tensor(1)
""",
    "nancumprod": """
>>> tg.nancumprod(tg.tensor([2.0, tg.nan, 3.0]))
tensor([2., 2., 6.])
""",
    "nancumsum": """
>>> tg.nancumsum(tg.tensor([2.0, tg.nan, 3.0]))
tensor([2., 2., 5.])
""",
    "nanmax": """
>>> tg.nanmax(tg.tensor([tg.nan, 1.0, 5.0]))
tensor(5.)
""",
    "nanmean": """
>>> tg.nanmean(tg.tensor([tg.nan, 1.0, 5.0]))
tensor(3.)
""",
    "nanmedian": """
>>> tg.nanmedian(tg.tensor([tg.nan, 1.0, 5.0]))
tensor(3.)
""",
    "nanmin": """
>>> tg.nanmin(tg.tensor([tg.nan, 1.0, 5.0]))
tensor(1.)
""",
    "nanpercentile": """
>>> tg.nanpercentile(tg.tensor([tg.nan, 1.0, 5.0]), 50)
tensor(3.)
""",
    "nanprod": """
>>> tg.nanprod(tg.tensor([tg.nan, 2.0, 5.0]))
tensor(10.)
""",
    "nanquantile": """
>>> tg.nanquantile(tg.tensor([tg.nan, 1.0, 5.0]), 0.25)
tensor(2.)
""",
    "nanstd": """
>>> tg.nanstd(tg.tensor([tg.nan, 1.0, 5.0]))
tensor(2.)
""",
    "nansum": """
>>> tg.nansum(tg.tensor([tg.nan, 1.0, 5.0]))
tensor(6.)
""",
    "nanvar": """
>>> tg.nanvar(tg.tensor([tg.nan, 1.0, 5.0]))
tensor(4.)
""",
    "norm": """
>>> tg.norm(tg.tensor([3.0, 4.0]))
tensor(5.)
""",
    "outer": """
>>> tg.outer(tg.tensor([1.0, 2.0]), tg.tensor([1.0, 10.0]))
tensor([[ 1., 10.],
        [ 2., 20.]])
""",
    "percentile": """
>>> tg.percentile(tg.tensor([1.0, 2.0, 3.0]), 75)
tensor(2.5000)
""",
    "poly": """
>>> tg.poly(tg.tensor([1.0, 2.0]))
tensor([ 1., -3.,  2.])
""",
    "polyadd": """
>>> tg.polyadd(tg.tensor([1.0, 2.0]), tg.tensor([1.0, 0.0, 0.0]))
tensor([1., 1., 2.])
""",
    "polyder": """
>>> tg.polyder(tg.tensor([1.0, 2.0, 3.0]))
tensor([2., 2.])
""",
    "polydiv": """
>>> tg.polydiv(tg.tensor([1.0, 3.0, 2.0]), tg.tensor([1.0, 1.0]))
(tensor([1., 2.]), tensor([0.]))
""",
    "polyint": """
>>> tg.polyint(tg.tensor([2.0, 2.0]))
tensor([1., 2., 0.])
""",
    "polymul": """
>>> tg.polymul(tg.tensor([1.0, 1.0]), tg.tensor([1.0, 2.0]))
tensor([1., 3., 2.])
""",
    "polysub": """
>>> tg.polysub(tg.tensor([1.0, 0.0, 0.0]), tg.tensor([1.0, 2.0]))
tensor([ 1., -1., -2.])
""",
    "polyval": """
>>> tg.polyval(tg.tensor([1.0, 2.0, 3.0]), 2.0)
tensor(11.)
""",
    "prod": """
>>> tg.prod(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0)
tensor([3., 8.])
""",
    "ptp": """
>>> tg.ptp(tg.tensor([1.0, 5.0, 3.0]))
tensor(4.)
""",
    "setdiff1d": """
>>> tg.setdiff1d(tg.tensor([1, 2, 3]), tg.tensor([2]))
tensor([1, 3])
""",
    "setxor1d": """
>>> tg.setxor1d(tg.tensor([1, 2]), tg.tensor([2, 3]))
tensor([1, 3])
""",
    "std": """
>>> tg.std(tg.tensor([1.0, 2.0, 3.0]), correction=1)
tensor(1.)
""",
    "sum": """
>>> tg.sum(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0)
tensor([4., 6.])
""",
    "tensordot": """
>>> tg.tensordot(tg.ones((2, 3)), tg.ones((3, 4)), axes=1).shape
(2, 4)
""",
    "trace": """
>>> tg.trace(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor(5.)
""",
    "union1d": """
>>> tg.union1d(tg.tensor([1, 2]), tg.tensor([2, 3]))
tensor([1, 2, 3])
""",
    "unique_all": """
>>> tg.unique_all(tg.tensor([3, 1, 3])).indices
tensor([1, 0])
""",
    "unique_counts": """
>>> tg.unique_counts(tg.tensor([3, 1, 3])).counts
tensor([1, 2])
""",
    "unique_inverse": """
>>> tg.unique_inverse(tg.tensor([3, 1, 3])).inverse_indices
tensor([1, 0, 1])
""",
    "unique_values": """
>>> tg.unique_values(tg.tensor([3, 1, 3]))
tensor([1, 3])
""",
    "var": """
>>> tg.var(tg.tensor([1.0, 2.0, 3.0]), correction=1)
tensor(1.)
""",
    "vdot": """
>>> tg.vdot(tg.tensor([1.0j, 2.0]), tg.tensor([1.0j, 1.0]))
tensor(3.+0.j)
""",
    "vecdot": """
>>> tg.vecdot(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), tg.tensor([1.0, 10.0]))
tensor([21., 43.])
""",
    "vecmat": """
>>> tg.vecmat(tg.tensor([1.0, -1.0]), tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([-2., -2.])
""",
    "vector_norm": """
>>> tg.vector_norm(tg.tensor([[3.0, 4.0], [6.0, 8.0]]), axis=1)
tensor([ 5., 10.])
""",
}
