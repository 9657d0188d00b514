"""Trains the sample models and writes them beside this file: `make samples`.

`python -m samples.train NAME...` trains some of them. It needs numpy, onnx and scikit-learn.

The data are the 1,797 handwritten digits of 8x8 pixels that scikit-learn carries (the extra
`train`). One image in five is held out, and stored as digits_test.npz, so that the accuracy that
catalogue.json states can be measured again, before and after compiling. Everything is seeded.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from samples.attention import (
    Attention,
    Gelu,
    LayerNorm,
    Patches,
    Positions,
    Residual,
)
from samples.networks import (
    Array,
    BatchNorm,
    Convolution,
    Dense,
    Flatten,
    Layer,
    MaxPool,
    Network,
    Relu,
    Scale,
    adam,
    cross_entropy,
)
from samples.recurrent import Lstm, Rows

HERE = Path(__file__).resolve().parent
CATALOGUE = HERE / "catalogue.json"
TEST_IMAGES = HERE / "digits_test.npz"

SEED = 20
N_CLASSES = 10
N_EPOCHS = 40
OPSET = 20  # the first with Gelu
OPSETS = {"digits_mlp": 18, "digits_cnn": 18}  # what stands here is left as it was trained
IR_VERSION = 9

Labels = NDArray[np.int64]


def digits_mlp(rng: np.random.Generator) -> Network:
    """Two hidden layers, written as MatMul and Add, so that a pass may join them."""
    return Network(
        "digits_mlp",
        [
            ("to_unit_range", Scale(16)),
            ("flatten", Flatten()),
            ("hidden1", Dense(64, 64, rng, as_gemm=False)),
            ("relu1", Relu()),
            ("hidden2", Dense(64, 32, rng, as_gemm=False)),
            ("relu2", Relu()),
            ("scores", Dense(32, N_CLASSES, rng, as_gemm=False)),
        ],
    )


def digits_cnn(rng: np.random.Generator) -> Network:
    """Two convolutions with a batch normalisation each, so that folding has work to do."""
    return Network(
        "digits_cnn",
        [
            ("to_unit_range", Scale(16)),
            ("conv1", Convolution(1, 16, rng)),
            ("norm1", BatchNorm(16)),
            ("relu1", Relu()),
            ("pool1", MaxPool()),
            ("conv2", Convolution(16, 32, rng)),
            ("norm2", BatchNorm(32)),
            ("relu2", Relu()),
            ("pool2", MaxPool()),
            ("flatten", Flatten()),
            ("scores", Dense(128, N_CLASSES, rng)),
        ],
    )


def digits_lstm(rng: np.random.Generator) -> Network:
    """Reads the image row by row, from the top, and says at the end what it was."""
    return Network(
        "digits_lstm",
        [
            ("to_unit_range", Scale(16)),
            ("rows", Rows(8, 8)),
            ("lstm", Lstm(8, 48, rng)),
            ("scores", Dense(48, N_CLASSES, rng)),
        ],
    )


def digits_transformer(rng: np.random.Generator) -> Network:
    """Two blocks of attention and two dense layers each, over the squares of two by two pixels."""
    n_tokens, width = 16, 32

    def block(number: int) -> list[tuple[str, Layer]]:
        attends: list[tuple[str, Layer]] = [
            ("norm", LayerNorm(width)),
            ("attention", Attention(n_tokens, width, 4, rng)),
        ]
        thinks: list[tuple[str, Layer]] = [
            ("norm", LayerNorm(width)),
            ("wide", Dense(width, 2 * width, rng, as_gemm=False)),
            ("gelu", Gelu()),
            ("narrow", Dense(2 * width, width, rng, as_gemm=False)),
        ]
        return [(f"attend{number}", Residual(attends)), (f"think{number}", Residual(thinks))]

    return Network(
        "digits_transformer",
        [
            ("to_unit_range", Scale(16)),
            ("patches", Patches()),
            ("embed", Dense(4, width, rng, as_gemm=False)),
            ("positions", Positions(n_tokens, width, rng)),
            *block(1),
            *block(2),
            ("norm", LayerNorm(width)),
            ("flatten", Flatten()),
            ("scores", Dense(n_tokens * width, N_CLASSES, rng)),
        ],
    )


NETWORKS = {
    make.__name__: make for make in (digits_mlp, digits_cnn, digits_lstm, digits_transformer)
}


def load_digits() -> tuple[Array, Labels]:
    """Images [1797, 1, 8, 8] with grey levels 0 to 16, and which digit each one is."""
    from sklearn import datasets

    digits: Any = datasets.load_digits()
    images = digits.images.astype(np.float32)[:, None]
    return images, digits.target.astype(np.int64)


def hold_out(labels: Labels, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Marks one image in five, the same share of every digit."""
    held_out = np.zeros(len(labels), bool)
    for digit in range(N_CLASSES):
        of_digit = np.flatnonzero(labels == digit)
        held_out[rng.permutation(of_digit)[: len(of_digit) // 5]] = True
    return held_out


def train(
    network: Network,
    images: Array,
    labels: Labels,
    rng: np.random.Generator,
    *,
    n_epochs: int,
    batch_size: int = 32,
    rate: float = 2e-3,
) -> list[float]:
    """Fit the network, and give the mean loss of each epoch."""
    losses = []
    n_batches = len(images) // batch_size
    step = adam(network, rate=rate)
    for _epoch in range(n_epochs):
        order = rng.permutation(len(images))
        total = 0.0
        for batch in np.array_split(order, n_batches):
            loss, gradient = cross_entropy(
                network.scores(images[batch], training=True), labels[batch]
            )
            network.backward(gradient)
            step()
            total += loss
        losses.append(total / n_batches)
    return losses


def to_onnx(network: Network) -> onnx.ModelProto:
    """The network with a softmax behind its scores; the batch size stays open as `N`."""
    nodes: list[onnx.NodeProto] = []
    tensors: dict[str, Any] = {}
    value = "image"
    for name, layer in network.layers:
        made, read = layer.nodes(name, value, f"{name}.out")
        nodes += made
        tensors |= read
        value = f"{name}.out"
    nodes.append(helper.make_node("Softmax", [value], ["probabilities"], name="softmax", axis=1))
    graph = helper.make_graph(
        nodes,
        network.name,
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["N", N_CLASSES])],
        [numpy_helper.from_array(np.ascontiguousarray(t), name) for name, t in tensors.items()],
    )
    model = helper.make_model(
        graph,
        producer_name="compilarium samples/train.py",
        opset_imports=[helper.make_opsetid("", OPSETS.get(network.name, OPSET))],
        ir_version=IR_VERSION,
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def accuracy(scores: NDArray[Any], labels: Labels) -> float:
    """The share of images whose largest score is that of the right digit."""
    return float((scores.argmax(axis=1) == labels).mean())


def main(names: Sequence[str]) -> None:
    """Train networks; write them, the held-out images, and what the catalogue says."""
    images, labels = load_digits()
    held_out = hold_out(labels, np.random.default_rng(SEED))
    test_images, test_labels = images[held_out], labels[held_out]
    np.savez_compressed(
        TEST_IMAGES, images=test_images.astype(np.uint8), labels=test_labels.astype(np.uint8)
    )
    catalogue = json.loads(CATALOGUE.read_text(encoding="utf-8"))
    entries = {entry["name"]: entry for entry in catalogue["samples"]}
    for name in names:
        rng = np.random.default_rng(SEED)
        network = NETWORKS[name](rng)
        losses = train(network, images[~held_out], labels[~held_out], rng, n_epochs=N_EPOCHS)
        model = to_onnx(network)
        onnx.save_model(model, HERE / f"{network.name}.onnx")
        share = accuracy(network.scores(test_images), test_labels)
        entries[network.name] |= {
            "accuracy": round(share, 4),
            "n_nodes": len(model.graph.node),
            "n_parameters": sum(value.size for _, value, _ in network.parameters()),
        }
        print(f"{network.name}: loss {losses[0]:.3f} to {losses[-1]:.4f}, held out {share:.4f}")
    CATALOGUE.write_text(json.dumps(catalogue, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:] or list(NETWORKS))
