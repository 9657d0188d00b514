"""Layers small enough to read: forward, backward and the ONNX node of each, in plain numpy.

They exist to train the sample models (see train.py). Images are [N, channels, height, width] and
everything is f32. A layer's `backward` may be called once after its `forward` in training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, helper

Array = NDArray[np.float32]


class Layer(Protocol):
    """What the training loop and the export need of a layer."""

    def forward(self, x: Array, *, training: bool) -> Array:
        """What comes out; in training it keeps what `backward` needs."""
        ...

    def backward(self, dy: Array) -> Array:
        """The gradient of the loss by the layer's input, given that by its output."""
        ...

    def parameters(self) -> list[tuple[str, Array, Array]]:
        """Name, value and gradient of what is learned; the arrays are the layer's own."""
        ...

    def nodes(self, name: str, x: str, y: str) -> tuple[list[NodeProto], dict[str, Any]]:
        """The ONNX nodes from value `x` to value `y`, and the tensors that they read."""
        ...


class _Plain:
    """A layer without parameters that is one ONNX node with fixed attributes."""

    operator = ""
    attributes: ClassVar[dict[str, Any]] = {}

    def parameters(self) -> list[tuple[str, Array, Array]]:
        return []

    def nodes(self, name: str, x: str, y: str) -> tuple[list[NodeProto], dict[str, Any]]:
        return [helper.make_node(self.operator, [x], [y], name=name, **self.attributes)], {}


class Relu(_Plain):
    """Keep positives, zero the rest."""

    operator = "Relu"

    def forward(self, x: Array, *, training: bool) -> Array:
        self.positive = x > 0
        return x * self.positive

    def backward(self, dy: Array) -> Array:
        return dy * self.positive


class Flatten(_Plain):
    """All of an image in one row."""

    operator = "Flatten"
    attributes: ClassVar[dict[str, Any]] = {"axis": 1}

    def forward(self, x: Array, *, training: bool) -> Array:
        self.shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, dy: Array) -> Array:
        return dy.reshape(self.shape)


class MaxPool(_Plain):
    """The largest of every two by two pixels; height and width must be even."""

    operator = "MaxPool"
    attributes: ClassVar[dict[str, Any]] = {"kernel_shape": [2, 2], "strides": [2, 2]}

    def forward(self, x: Array, *, training: bool) -> Array:
        n, c, h, w = x.shape
        windows = x.reshape(n, c, h // 2, 2, w // 2, 2)
        y = windows.max(axis=(3, 5))
        chosen = windows == y[:, :, :, None, :, None]
        # Where pixels tie, all of them share the gradient.
        self.share = chosen / chosen.sum(axis=(3, 5), keepdims=True)
        self.shape = x.shape
        return y

    def backward(self, dy: Array) -> Array:
        spread = self.share * dy[:, :, :, None, :, None]
        return spread.reshape(self.shape).astype(np.float32)


class Scale:
    """Divide by a constant: grey levels 0 to 16 become 0 to 1."""

    def __init__(self, divisor: float) -> None:
        self.divisor = np.float32(divisor)

    def forward(self, x: Array, *, training: bool) -> Array:
        return x / self.divisor

    def backward(self, dy: Array) -> Array:
        return dy / self.divisor

    def parameters(self) -> list[tuple[str, Array, Array]]:
        return []

    def nodes(self, name: str, x: str, y: str) -> tuple[list[NodeProto], dict[str, Any]]:
        divisor = f"{name}.divisor"
        return [helper.make_node("Div", [x, divisor], [y], name=name)], {divisor: self.divisor}


class _Learned:
    """A layer with a weight and a bias, and room for their gradients."""

    def __init__(self, weight: NDArray[Any], bias: NDArray[Any]) -> None:
        self.weight, self.bias = weight.astype(np.float32), bias.astype(np.float32)
        self.d_weight, self.d_bias = np.zeros_like(self.weight), np.zeros_like(self.bias)

    def parameters(self) -> list[tuple[str, Array, Array]]:
        return [("weight", self.weight, self.d_weight), ("bias", self.bias, self.d_bias)]


class Dense(_Learned):
    """x @ weight + bias, as one Gemm or as MatMul and Add.

    Shapes: x [N, n_in], or [N, n_tokens, n_in] without Gemm; weight [n_in, n_out]; He's initial
    spread, 2 / n_in.
    """

    def __init__(
        self, n_in: int, n_out: int, rng: np.random.Generator, *, as_gemm: bool = True
    ) -> None:
        super().__init__(rng.normal(0, (2 / n_in) ** 0.5, (n_in, n_out)), np.zeros(n_out))
        self.as_gemm = as_gemm

    def forward(self, x: Array, *, training: bool) -> Array:
        self.x = x
        return x @ self.weight + self.bias

    def backward(self, dy: Array) -> Array:
        rows = dy.reshape(-1, dy.shape[-1])
        self.d_weight[...] = self.x.reshape(-1, self.x.shape[-1]).T @ rows
        self.d_bias[...] = rows.sum(axis=0)
        return dy @ self.weight.T

    def nodes(self, name: str, x: str, y: str) -> tuple[list[NodeProto], dict[str, Any]]:
        weight, bias = f"{name}.weight", f"{name}.bias"
        if self.as_gemm:
            # Stored as exporters do: one row per output, transposed by the node.
            gemm = helper.make_node("Gemm", [x, weight, bias], [y], name=name, transB=1)
            return [gemm], {weight: self.weight.T, bias: self.bias}
        product = f"{name}.product"
        return [
            helper.make_node("MatMul", [x, weight], [product], name=f"{name}.matmul"),
            helper.make_node("Add", [product, bias], [y], name=f"{name}.add"),
        ], {weight: self.weight, bias: self.bias}


class Convolution(_Learned):
    """Three by three pixels, edges padded with zeros, so that height and width stay.

    Shapes: x [N, n_in, h, w], weight [n_out, n_in, 3, 3].
    """

    def __init__(self, n_in: int, n_out: int, rng: np.random.Generator) -> None:
        spread = (2 / (9 * n_in)) ** 0.5
        super().__init__(rng.normal(0, spread, (n_out, n_in, 3, 3)), np.zeros(n_out))

    def forward(self, x: Array, *, training: bool) -> Array:
        self.windows = _windows_of_three(x)
        return (
            np.einsum("nchwij,ocij->nohw", self.windows, self.weight, optimize=True)
            + (self.bias[:, None, None])
        )

    def backward(self, dy: Array) -> Array:
        self.d_weight[...] = np.einsum("nchwij,nohw->ocij", self.windows, dy, optimize=True)
        self.d_bias[...] = dy.sum(axis=(0, 2, 3))
        flipped = self.weight[:, :, ::-1, ::-1]
        return np.einsum("nohwij,ocij->nchw", _windows_of_three(dy), flipped, optimize=True)

    def nodes(self, name: str, x: str, y: str) -> tuple[list[NodeProto], dict[str, Any]]:
        weight, bias = f"{name}.weight", f"{name}.bias"
        attributes: dict[str, Any] = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
        conv = helper.make_node("Conv", [x, weight, bias], [y], name=name, **attributes)
        return [conv], {weight: self.weight, bias: self.bias}


class BatchNorm(_Learned):
    """Give every channel mean `bias` and deviation `weight`, over a batch and, later, over all.

    Source: Ioffe and Szegedy 2015 (arXiv:1502.03167), algorithms 1 and 2.
    """

    epsilon = np.float32(1e-5)
    kept = np.float32(0.9)  # of the running mean and variance, at each batch

    def __init__(self, n_channels: int) -> None:
        super().__init__(np.ones(n_channels), np.zeros(n_channels))
        self.mean = np.zeros(n_channels, np.float32)
        self.variance = np.ones(n_channels, np.float32)

    def forward(self, x: Array, *, training: bool) -> Array:
        mean, variance = self.mean, self.variance
        if training:
            mean, variance = x.mean(axis=(0, 2, 3)), x.var(axis=(0, 2, 3))
            self.mean = self.kept * self.mean + (1 - self.kept) * mean
            self.variance = self.kept * self.variance + (1 - self.kept) * variance
        deviation = np.sqrt(variance + self.epsilon)[:, None, None]
        self.per_deviation: Array = np.divide(np.float32(1), deviation, dtype=np.float32)
        self.normal = (x - mean[:, None, None]) * self.per_deviation
        return self.normal * self.weight[:, None, None] + self.bias[:, None, None]

    def backward(self, dy: Array) -> Array:
        over = (0, 2, 3)
        self.d_weight[...] = (dy * self.normal).sum(axis=over)
        self.d_bias[...] = dy.sum(axis=over)
        d_normal = dy * self.weight[:, None, None]
        along = d_normal.mean(axis=over)[:, None, None]
        across = (d_normal * self.normal).mean(axis=over)[:, None, None]
        return (d_normal - along - self.normal * across) * self.per_deviation

    def nodes(self, name: str, x: str, y: str) -> tuple[list[NodeProto], dict[str, Any]]:
        tensors = {
            f"{name}.weight": self.weight,
            f"{name}.bias": self.bias,
            f"{name}.mean": self.mean,
            f"{name}.variance": self.variance,
        }
        node = helper.make_node(
            "BatchNormalization", [x, *tensors], [y], name=name, epsilon=float(self.epsilon)
        )
        return [node], tensors


def _windows_of_three(x: Array) -> Array:
    """Every pixel's neighbourhood of three by three: [n, c, h, w] gives [n, c, h, w, 3, 3]."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))


class Network:
    """Named layers, one after the other; what comes out are scores, one per class."""

    def __init__(self, name: str, layers: Sequence[tuple[str, Layer]]) -> None:
        self.name = name
        self.layers = list(layers)

    def scores(self, x: Array, *, training: bool = False) -> Array:
        """The scores of each image; in training every layer keeps what `backward` needs."""
        for _, layer in self.layers:
            x = layer.forward(x, training=training)
        return x

    def backward(self, d_scores: Array) -> None:
        """Fill the gradient of every parameter, given the gradient of the loss by the scores."""
        for _, layer in reversed(self.layers):
            d_scores = layer.backward(d_scores)

    def parameters(self) -> list[tuple[str, Array, Array]]:
        """Name, value and gradient of every parameter of every layer."""
        return [
            (f"{name}.{part}", value, gradient)
            for name, layer in self.layers
            for part, value, gradient in layer.parameters()
        ]


def cross_entropy(scores: Array, labels: NDArray[np.integer[Any]]) -> tuple[float, Array]:
    """The mean of -log(probability of the right class), and its gradient by the scores."""
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    probabilities = shifted / shifted.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = float(-np.log(probabilities[rows, labels] + 1e-12).mean())
    gradient = probabilities.astype(np.float32)
    gradient[rows, labels] -= 1
    return loss, gradient / np.float32(len(labels))


def adam(network: Network, *, rate: float) -> Callable[[], None]:
    """A step of the optimiser over the gradients that the network holds at that time.

    Source: Kingma and Ba 2015 (arXiv:1412.6980), algorithm 1, with the constants given there.
    """
    first: dict[str, Array] = {}
    second: dict[str, Array] = {}
    n_steps = 0

    def step() -> None:
        nonlocal n_steps
        n_steps += 1
        for name, value, gradient in network.parameters():
            first[name] = 0.9 * first.get(name, 0) + 0.1 * gradient
            second[name] = 0.999 * second.get(name, 0) + 0.001 * gradient**2
            mean = first[name] / (1 - 0.9**n_steps)
            spread = second[name] / (1 - 0.999**n_steps)
            value -= (rate * mean / (np.sqrt(spread) + 1e-8)).astype(np.float32)

    return step
