"""What ``tg.fft`` shows of itself: an example for each function."""

EXAMPLES = {
    "fft.fft": """
>>> tg.fft.fft(tg.tensor([1.0, 2.0, 3.0, 4.0]))
tensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
""",
    "fft.fft2": """
>>> tg.fft.fft2(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([[10.+0.j, -2.+0.j],
        [-4.+0.j,  0.+0.j]])
""",
    "fft.fftfreq": """
>>> tg.fft.fftfreq(4)
tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
""",
    "fft.fftn": """
>>> tg.fft.fftn(tg.ones((2, 2, 2))).shape
(2, 2, 2)
""",
    "fft.fftshift": """
>>> tg.fft.fftshift(tg.tensor([0.0, 1.0, -2.0, -1.0]))
tensor([-2., -1.,  0.,  1.])
""",
    "fft.hfft": """
>>> tg.fft.hfft(tg.tensor([4.0, 1.0, 0.0]))
tensor([6., 4., 2., 4.])
""",
    "fft.ifft": """
>>> tg.fft.ifft(tg.tensor([4.0, 0.0, 0.0, 0.0]))
tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
""",
    "fft.ifft2": """
>>> tg.fft.ifft2(tg.tensor([[4.0, 0.0], [0.0, 0.0]]))
tensor([[1.+0.j, 1.+0.j],
        [1.+0.j, 1.+0.j]])
""",
    "fft.ifftn": """
>>> tg.fft.ifftn(tg.ones((2, 2, 2))).shape
(2, 2, 2)
""",
    "fft.ifftshift": """
>>> tg.fft.ifftshift(tg.tensor([-2.0, -1.0, 0.0, 1.0]))
tensor([ 0.,  1., -2., -1.])
""",
    "fft.ihfft": """
>>> tg.fft.ihfft(tg.tensor([1.0, 2.0, 3.0, 4.0]))
tensor([ 2.5000-0.0000j, -0.5000-0.5000j, -0.5000-0.0000j])
""",
    "fft.irfft": """
>>> tg.fft.irfft(tg.tensor([4.0, 0.0, 0.0]))
tensor([1., 1., 1., 1.])
""",
    "fft.irfft2": """
>>> tg.fft.irfft2(tg.tensor([[4.0, 0.0], [0.0, 0.0]]))
tensor([[1., 1.],
        [1., 1.]])
""",
    "fft.irfftn": """
>>> tg.fft.irfftn(tg.ones((2, 2, 2))).shape
(2, 2, 2)
""",
    "fft.rfft": """
>>> tg.fft.rfft(tg.tensor([1.0, 2.0, 3.0, 4.0]))
tensor([10.+0.j, -2.+2.j, -2.+0.j])
""",
    "fft.rfft2": """
>>> tg.fft.rfft2(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([[10.+0.j, -2.+0.j],
        [-4.+0.j,  0.+0.j]])
""",
    "fft.rfftfreq": """
>>> tg.fft.rfftfreq(4)
tensor([0.0000, 0.2500, 0.5000])
""",
    "fft.rfftn": """
>>> tg.fft.rfftn(tg.ones((2, 2, 2))).shape
(2, 2, 2)
""",
}
