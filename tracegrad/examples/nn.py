"""What ``tg.nn``, ``tg.optim`` and ``tg.autograd`` show of themselves: an example a function."""

EXAMPLES = {
    "nn.avg_pool2d": """
>>> tg.nn.avg_pool2d(tg.arange(16.0).reshape(1, 1, 4, 4), 2)
tensor([[[[ 2.5000,  4.5000],
          [10.5000, 12.5000]]]])
""",
    "nn.batch_norm": """
>>> tg.nn.batch_norm(tg.tensor([[1.0], [3.0]]), training=True)
tensor([[-1.0000],
        [ 1.0000]])
""",
    "nn.binary_cross_entropy_with_logits": """
>>> tg.nn.binary_cross_entropy_with_logits(tg.tensor([0.0, 0.0]), tg.tensor([1.0, 0.0]))
tensor(0.6931)
""",
    "nn.conv1d": """
>>> tg.nn.conv1d(tg.tensor([[[1.0, 2.0, 3.0]]]), tg.tensor([[[1.0, 1.0]]]))
tensor([[[3., 5.]]])
""",
    "nn.conv3d": """
>>> tg.nn.conv3d(tg.ones((1, 2, 3, 3, 3)), tg.ones((4, 2, 2, 2, 2))).shape
(1, 4, 2, 2, 2)
""",
    "nn.conv_transpose2d": """
>>> tg.nn.conv_transpose2d(tg.ones((1, 1, 2, 2)), tg.ones((1, 1, 2, 2)))
tensor([[[[1., 2., 1.],
          [2., 4., 2.],
          [1., 2., 1.]]]])
""",
    "nn.dropout": """
>>> tg.nn.dropout(tg.ones(3), 0.5, training=False)
tensor([1., 1., 1.])
""",
    "nn.elu": """
>>> tg.nn.elu(tg.tensor([-1.0, 0.0, 1.0]))
tensor([-0.6321,  0.0000,  1.0000])
""",
    "nn.embedding": """
>>> tg.nn.embedding(tg.tensor([2, 0]), tg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
tensor([[5., 6.],
        [1., 2.]])
""",
    "nn.gelu": """
>>> tg.nn.gelu(tg.tensor([-1.0, 0.0, 1.0]))
tensor([-0.1587,  0.0000,  0.8413])
""",
    "nn.group_norm": """
>>> tg.nn.group_norm(tg.tensor([[1.0, 3.0, 5.0, 9.0]]), 2)
tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
""",
    "nn.huber_loss": """
>>> tg.nn.huber_loss(tg.tensor([0.0, 3.0]), tg.tensor([0.5, 0.0]))
tensor(1.3125)
""",
    "nn.layer_norm": """
>>> tg.nn.layer_norm(tg.tensor([[1.0, 3.0], [0.0, 10.0]]), 2)
tensor([[-1.0000,  1.0000],
        [-1.0000,  1.0000]])
""",
    "nn.leaky_relu": """
>>> tg.nn.leaky_relu(tg.tensor([-1.0, 0.0, 1.0]))
tensor([-0.0100,  0.0000,  1.0000])
""",
    "nn.linear": """
>>> tg.nn.linear(tg.tensor([1.0, 2.0]), tg.tensor([[1.0, 0.0], [1.0, 1.0]]), tg.tensor([0.5, 0.5]))
tensor([1.5000, 3.5000])
""",
    "nn.log_softmax": """
>>> tg.nn.log_softmax(tg.tensor([0.0, 0.0]))
tensor([-0.6931, -0.6931])
""",
    "nn.mse_loss": """
>>> tg.nn.mse_loss(tg.tensor([0.0, 3.0]), tg.tensor([1.0, 0.0]))
tensor(5.)
""",
    "nn.nll_loss": """
>>> tg.nn.nll_loss(tg.nn.log_softmax(tg.tensor([[0.0, 0.0]])), tg.tensor([1]))
tensor(0.6931)
""",
    "nn.one_hot": """
>>> tg.nn.one_hot(tg.tensor([0, 2]))
tensor([[1, 0, 0],
        [0, 0, 1]])
""",
    "nn.relu": """
>>> tg.nn.relu(tg.tensor([-1.0, 0.0, 2.0]))
tensor([0., 0., 2.])
""",
    "nn.rms_norm": """
>>> tg.nn.rms_norm(tg.tensor([3.0, 4.0]), 2)
tensor([0.8485, 1.1314])
""",
    "nn.scaled_dot_product_attention": """
>>> q = tg.ones((1, 2, 4))
>>> tg.nn.scaled_dot_product_attention(q, q, q)
tensor([[[1., 1., 1., 1.],
         [1., 1., 1., 1.]]])
""",
    "nn.sigmoid": """
>>> tg.nn.sigmoid(tg.tensor([-1.0, 0.0, 1.0]))
tensor([0.2689, 0.5000, 0.7311])
""",
    "nn.silu": """
>>> tg.nn.silu(tg.tensor([-1.0, 0.0, 1.0]))
tensor([-0.2689,  0.0000,  0.7311])
""",
    "nn.softmax": """
>>> tg.nn.softmax(tg.tensor([0.0, 0.0]))
tensor([0.5000, 0.5000])
""",
    "nn.init.calculate_gain": """
>>> round(tg.nn.init.calculate_gain("relu"), 4)
1.4142
""",
    "nn.init.kaiming_normal": """
>>> tg.nn.init.kaiming_normal((4, 3)).shape
(4, 3)
""",
    "nn.init.kaiming_uniform": """
>>> tg.nn.init.kaiming_uniform((4, 3)).shape
(4, 3)
""",
    "nn.init.normal": """
>>> tg.nn.init.normal((4, 3), std=0.02).shape
(4, 3)
""",
    "nn.init.ones": """
>>> tg.nn.init.ones((2,))
array([1., 1.])
""",
    "nn.init.orthogonal": """
>>> import numpy as np
>>> w = tg.nn.init.orthogonal((4, 3))
>>> bool(np.allclose(w.T @ w, np.eye(3)))
True
""",
    "nn.init.trunc_normal": """
>>> w = tg.nn.init.trunc_normal((4, 3))
>>> bool((abs(w) <= 2.0).all())
True
""",
    "nn.init.uniform": """
>>> w = tg.nn.init.uniform((4, 3))
>>> bool((w < 1.0).all())
True
""",
    "nn.init.xavier_normal": """
>>> tg.nn.init.xavier_normal((4, 3)).shape
(4, 3)
""",
    "nn.init.xavier_uniform": """
>>> tg.nn.init.xavier_uniform((4, 3)).shape
(4, 3)
""",
    "nn.init.zeros": """
>>> tg.nn.init.zeros((2,))
array([0., 0.])
""",
    "optim.adam": """
>>> init, update = tg.optim.adam(lr=0.1)
>>> params = {"w": tg.tensor([1.0, 2.0])}
>>> grads = {"w": tg.tensor([0.5, -0.5])}
>>> params, state = update(params, grads, init(params))
>>> params["w"]
tensor([0.9000, 2.1000])
""",
    "optim.adamw": """
>>> init, update = tg.optim.adamw(lr=0.1)
>>> params = {"w": tg.tensor([1.0, 2.0])}
>>> grads = {"w": tg.tensor([0.5, -0.5])}
>>> params, state = update(params, grads, init(params))
>>> params["w"]
tensor([0.8990, 2.0980])
""",
    "optim.rmsprop": """
>>> init, update = tg.optim.rmsprop(lr=0.1)
>>> params = {"w": tg.tensor([1.0, 2.0])}
>>> grads = {"w": tg.tensor([0.5, -0.5])}
>>> params, state = update(params, grads, init(params))
>>> params["w"]
tensor([2.0000e-07, 3.0000e+00])
""",
    "optim.clip_grad_norm_": """
>>> w = tg.tensor([3.0, 4.0], requires_grad=True)
>>> (w * w).sum().backward()
>>> tg.optim.clip_grad_norm_([w], 1.0)
tensor(10.)
>>> w.grad
tensor([0.6000, 0.8000])
""",
    "optim.clip_grad_value_": """
>>> w = tg.tensor([3.0, -4.0], requires_grad=True)
>>> (w * w).sum().backward()
>>> tg.optim.clip_grad_value_([w], 1.0)
>>> w.grad
tensor([ 1., -1.])
""",
    "optim.clip_value": """
>>> tg.optim.clip_value({"w": tg.tensor([3.0, -0.5])}, 1.0)
{'w': tensor([ 1.0000, -0.5000])}
""",
    "optim.cosine_decay": """
>>> float(tg.optim.cosine_decay(10)(5))
0.5
""",
    "optim.linear_warmup": """
>>> float(tg.optim.linear_warmup(10)(10))
1.0
""",
    "optim.step_decay": """
>>> float(tg.optim.step_decay(10)(10))
0.1
""",
    "autograd.is_anomaly_enabled": """
>>> tg.autograd.is_anomaly_enabled()
False
""",
    "autograd.once_differentiable": """
>>> class Square(tg.autograd.Function):
...     @staticmethod
...     def forward(ctx, x):
...         ctx.save_for_backward(x)
...         return x * x
...     @staticmethod
...     @tg.autograd.once_differentiable
...     def backward(ctx, grad):
...         return 2.0 * ctx.saved_tensors[0] * grad
>>> x = tg.tensor(3.0, requires_grad=True)
>>> Square.apply(x).backward()
>>> x.grad
tensor(6.)
""",
}
