"""What ``tg.special`` shows of itself: an example for each function."""

EXAMPLES = {
    "special.betainc": """
>>> tg.special.betainc(2.0, 3.0, tg.tensor([0.0, 0.5, 1.0]))
tensor([0.0000, 0.6875, 1.0000])
""",
    "special.betaln": """
>>> tg.special.betaln(tg.tensor([1.0, 2.0]), tg.tensor([3.0, 3.0]))
tensor([-1.0986, -2.4849])
""",
    "special.digamma": """
>>> tg.special.digamma(tg.tensor([1.0, 2.0]))
tensor([-0.5772,  0.4228])
""",
    "special.erf": """
>>> tg.special.erf(tg.tensor([-1.0, 0.0, 1.0]))
tensor([-0.8427,  0.0000,  0.8427])
""",
    "special.erfc": """
>>> tg.special.erfc(tg.tensor([-1.0, 0.0, 1.0]))
tensor([1.8427, 1.0000, 0.1573])
""",
    "special.erfinv": """
>>> tg.special.erfinv(tg.tensor([-0.5, 0.0, 0.5]))
tensor([-0.4769,  0.0000,  0.4769])
""",
    "special.expit": """
>>> tg.special.expit(tg.tensor([-1.0, 0.0, 1.0]))
tensor([0.2689, 0.5000, 0.7311])
""",
    "special.gammaln": """
>>> tg.special.gammaln(tg.tensor([1.0, 5.0]))
tensor([0.0000, 3.1781])
""",
    "special.i0": """
>>> tg.special.i0(tg.tensor([0.0, 1.0]))
tensor([1.0000, 1.2661])
""",
    "special.i1": """
>>> tg.special.i1(tg.tensor([0.0, 1.0]))
tensor([0.0000, 0.5652])
""",
    "special.log_ndtr": """
>>> tg.special.log_ndtr(tg.tensor([-40.0, 0.0]))
tensor([-8.0461e+02, -6.9315e-01])
""",
    "special.log_softmax": """
>>> tg.special.log_softmax(tg.tensor([0.0, 0.0]))
tensor([-0.6931, -0.6931])
""",
    "special.logit": """
>>> tg.special.logit(tg.tensor([0.5, 0.75]))
tensor([0.0000, 1.0986])
""",
    "special.logsumexp": """
>>> tg.special.logsumexp(tg.tensor([1000.0, 1000.0]))
tensor(1000.6931)
""",
    "special.ndtr": """
>>> tg.special.ndtr(tg.tensor([-1.0, 0.0, 1.0]))
tensor([0.1587, 0.5000, 0.8413])
""",
    "special.polygamma": """
>>> tg.special.polygamma(1, tg.tensor([1.0, 2.0]))
tensor([1.6449, 0.6449])
""",
    "special.softmax": """
>>> tg.special.softmax(tg.tensor([0.0, 0.0]))
tensor([0.5000, 0.5000])
""",
    "special.xlogy": """
>>> tg.special.xlogy(tg.tensor([0.0, 2.0]), tg.tensor([0.0, 1.0]))
tensor([0., 0.])
""",
}
