"""Activations, with arguments far outside their nonlinear range."""

from torch import nn
from torch.nn import functional as F

from tests.outside.torch_modules.case import call, f, module, unit, values

WIDE = values(
    -300.0, -104.0, -88.5, -17.0, -3.0, -0.5, -1e-6, 0.0, 1e-6, 0.5, 2.9, 6.1, 21.0, 89.0, 300.0
)

CASES = [
    *(
        module(name, make, f("N", 5, "L", scale=3))
        for name, make in {
            "relu": nn.ReLU,
            "relu6": nn.ReLU6,
            "leaky_relu": lambda: nn.LeakyReLU(0.3),
            "prelu": nn.PReLU,
            "prelu_channels": lambda: nn.PReLU(5, init=0.4),
            "elu": lambda: nn.ELU(1.3),
            "selu": nn.SELU,
            "celu": lambda: nn.CELU(0.7),
            "hardshrink": lambda: nn.Hardshrink(0.8),
            "softshrink": lambda: nn.Softshrink(0.6),
            "hardtanh": lambda: nn.Hardtanh(-1.5, 0.7),
            "threshold": lambda: nn.Threshold(0.2, -3.0),
            "softmax_1": lambda: nn.Softmax(1),
            "softmin": lambda: nn.Softmin(2),
            "log_softmax": lambda: nn.LogSoftmax(1),
        }.items()
    ),
    *(
        module(f"{name}_wide", make, WIDE)
        for name, make in {
            "sigmoid": nn.Sigmoid,
            "log_sigmoid": nn.LogSigmoid,
            "tanh": nn.Tanh,
            "tanhshrink": nn.Tanhshrink,
            "silu": nn.SiLU,
            "mish": nn.Mish,
            "gelu": nn.GELU,
            "gelu_tanh": lambda: nn.GELU("tanh"),
            "softplus": nn.Softplus,
            "softplus_beta": lambda: nn.Softplus(2.0, 10.0),
            "softsign": nn.Softsign,
            "hardsigmoid": nn.Hardsigmoid,
            "hardswish": nn.Hardswish,
            "elu": nn.ELU,
            "log_softmax": lambda: nn.LogSoftmax(0),
            "softmax": lambda: nn.Softmax(0),
        }.items()
    ),
    module("glu", lambda: nn.GLU(1), f("N", 6, "L")),
    module("softmax2d", nn.Softmax2d, f("N", 4, "H", "W")),
    call("log_of_sigmoid", lambda x: F.sigmoid(x).log(), f("N", 7, scale=4)),
    call("logit", lambda x: x.logit(1e-3), unit("N", 9, low=0.0, high=1.0)),
    call("rrelu_eval", lambda x: F.rrelu(x, 0.1, 0.3, training=False), f("N", 7)),
    call("hard_gumbel_like", lambda x: F.one_hot(x.argmax(-1), 6).float(), f("N", 6)),
]
