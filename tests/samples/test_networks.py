"""Tests of the layers that train the samples: finite differences, and exports against ONNX."""

from __future__ import annotations

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from samples.attention import Attention, Gelu, LayerNorm, Patches, Positions, Residual
from samples.networks import (
    BatchNorm,
    Convolution,
    Dense,
    Flatten,
    Layer,
    MaxPool,
    Network,
    Relu,
    Scale,
    cross_entropy,
)
from samples.recurrent import Lstm, Rows
from samples.train import NETWORKS, accuracy, digits_mlp, hold_out, to_onnx, train

LAYERS = {
    "dense": lambda rng: (Dense(6, 4, rng), (5, 6)),
    "convolution": lambda rng: (Convolution(2, 3, rng), (2, 2, 4, 6)),
    "batch_norm": lambda rng: (BatchNorm(3), (4, 3, 2, 5)),
    "relu": lambda rng: (Relu(), (3, 7)),
    "max_pool": lambda rng: (MaxPool(), (2, 3, 4, 6)),
    "flatten": lambda rng: (Flatten(), (2, 3, 4, 1)),
    "scale": lambda rng: (Scale(16), (2, 5)),
    "dense_of_tokens": lambda rng: (Dense(6, 4, rng, as_gemm=False), (2, 3, 6)),
    "rows": lambda rng: (Rows(3, 5), (2, 1, 3, 5)),
    "lstm": lambda rng: (Lstm(3, 5, rng), (4, 2, 3)),
    "patches": lambda rng: (Patches(), (2, 1, 8, 8)),
    "positions": lambda rng: (Positions(3, 4, rng), (2, 3, 4)),
    "layer_norm": lambda rng: (LayerNorm(6), (2, 3, 6)),
    "gelu": lambda rng: (Gelu(), (2, 3, 4)),
    "attention": lambda rng: (Attention(3, 8, 2, rng), (2, 3, 8)),
    "residual": lambda rng: (
        Residual([("norm", LayerNorm(6)), ("dense", Dense(6, 6, rng, as_gemm=False))]),
        (2, 3, 6),
    ),
}
WITH_PARAMETERS = ["dense", "convolution", "batch_norm", "dense_of_tokens", "lstm", "positions",
                   "layer_norm", "attention", "residual"]  # fmt: skip


def slope(layer: Layer, x: np.ndarray, along: np.ndarray, weights: np.ndarray) -> float:
    """Return the derivative of sum(weights * y) for x along a direction, by central difference."""
    h = 1e-2
    up, down = (
        layer.forward(x + h * along, training=True),
        layer.forward(x - h * along, training=True),
    )
    return float(((up.astype(float) - down) * weights).sum() / (2 * h))


@pytest.mark.parametrize("name", LAYERS)
def test_backward_is_the_slope_of_forward(name: str) -> None:
    rng = np.random.default_rng(3)
    layer, shape = LAYERS[name](rng)
    # Distinct, well separated values: a step h crosses no maximum of a pool and no zero of a relu.
    x = (rng.permutation(np.prod(shape)).reshape(shape) / 4 - 2.1).astype(np.float32)
    weights = rng.normal(size=layer.forward(x, training=True).shape).astype(np.float32)
    dx = layer.backward(weights)
    assert dx.shape == x.shape
    for _ in range(3):
        along = rng.normal(size=shape).astype(np.float32)
        along /= np.abs(along).max()
        expected = slope(layer, x, along, weights)
        scale = float(np.abs(dx * along).sum())
        assert float((dx * along).sum()) == pytest.approx(expected, abs=5e-3 * scale)


@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_gradients_of_parameters_are_slopes(name: str) -> None:
    rng = np.random.default_rng(4)
    layer, shape = LAYERS[name](rng)
    x = rng.normal(size=shape).astype(np.float32)
    weights = rng.normal(size=layer.forward(x, training=True).shape).astype(np.float32)
    layer.backward(weights)
    for _, value, gradient in layer.parameters():
        kept, along = value.copy(), rng.normal(size=value.shape).astype(np.float32)
        ends = []
        for sign in (1, -1):
            value[...] = kept + sign * 1e-2 * along
            ends.append(float((layer.forward(x, training=True).astype(float) * weights).sum()))
        value[...] = kept
        scale = float(np.abs(gradient * along).sum())
        assert float((gradient * along).sum()) == pytest.approx(
            (ends[0] - ends[1]) / 2e-2, abs=5e-3 * scale
        )


@pytest.mark.parametrize("make", NETWORKS.values())
def test_an_exported_network_computes_what_was_trained(make) -> None:
    rng = np.random.default_rng(5)
    network: Network = make(rng)
    images = rng.integers(0, 17, (6, 1, 8, 8)).astype(np.float32)
    labels = np.arange(6) % 3
    train(network, images, labels, rng, n_epochs=2, batch_size=3)
    scores = network.scores(images)
    expected = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    (got,) = ReferenceEvaluator(to_onnx(network)).run(None, {"image": images})
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)


def test_training_learns_labels_that_can_be_learned() -> None:
    rng = np.random.default_rng(6)
    labels = rng.integers(0, 3, 96)
    images = rng.random((96, 1, 8, 8)).astype(np.float32)
    images[np.arange(96), 0, labels] += 12
    network = digits_mlp(rng)
    losses = train(network, images[:64], labels[:64], rng, n_epochs=20, batch_size=16)
    assert losses[-1] < losses[0] / 10
    assert accuracy(network.scores(images[64:]), labels[64:]) == 1


def test_cross_entropy_of_equal_scores_is_the_logarithm_of_their_number() -> None:
    loss, gradient = cross_entropy(np.zeros((2, 4), np.float32), np.array([1, 3]))
    assert loss == pytest.approx(np.log(4))
    np.testing.assert_allclose(gradient[0], [0.125, -0.375, 0.125, 0.125])


def test_one_image_in_five_of_every_digit_is_held_out() -> None:
    labels = np.repeat(np.arange(10), [10, 11, 14, 15, 19, 20, 24, 25, 29, 30])
    held_out = hold_out(labels, np.random.default_rng(1))
    assert [int(held_out[labels == d].sum()) for d in range(10)] == [2, 2, 2, 3, 3, 4, 4, 5, 5, 6]
