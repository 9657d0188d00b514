"""Small models of students, each different: a few layers with seeded sizes and weights."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from benchmarks.made import Maker, encoder


def small_model(seed: int) -> bytes:
    """Return the bytes of an ONNX file with about 3 to 40 nodes and at most 300 kB."""
    chance = random.Random(seed)
    return chance.choice(_FAMILIES)(chance, Maker(seed))


def _perceptron(chance: random.Random, m: Maker) -> bytes:
    """A multi-layer perceptron: dense layers with an activation after each."""
    n_in = width = chance.randint(8, 96)
    x = "x"
    for _ in range(chance.randint(1, 4)):
        n_out = chance.randint(8, 96)
        x = m.add("Gemm", x, m.weight(width, n_out), _bias(m, n_out))
        x, width = m.add(chance.choice(("Relu", "Tanh", "Sigmoid")), x), n_out
    x = m.add("Softmax", x, axis=-1)
    batch = chance.randint(1, 8)
    return m.model("perceptron", (batch, n_in), (batch, width), x)


def _convolutions(chance: random.Random, m: Maker) -> bytes:
    """A convolutional network with pooling and a classifier."""
    size, channels = 4 * chance.randint(3, 7), chance.randint(1, 3)
    given, x = (1, channels, size, size), "x"
    for _ in range(chance.randint(1, 3)):
        n_out = 2 * chance.randint(2, 12)
        x = m.add("Conv", x, m.weight(n_out, channels, 3, 3), _bias(m, n_out), pads=[1, 1, 1, 1])
        x, channels = m.add("Relu", x), n_out
        if chance.random() < 0.5:
            x = m.add("BatchNormalization", x, *(_positive(m, channels) for _ in range(4)))
    x = m.add("Flatten", m.add("GlobalAveragePool", x))
    n_classes = chance.randint(2, 12)
    x = m.add("Gemm", x, m.weight(channels, n_classes), _bias(m, n_classes))
    return m.model("convolutions", given, (1, n_classes), x)


def _attention(chance: random.Random, m: Maker) -> bytes:
    """A layer of a transformer encoder."""
    return encoder(1, 4 * chance.randint(1, 6), 16 * chance.randint(1, 4), chance.choice((1, 2, 4)))


def _formula(chance: random.Random, m: Maker) -> bytes:
    """A chain of elementwise operators and a reduction."""
    shape = (chance.randint(2, 32), chance.randint(2, 64))
    x = "x"
    for _ in range(chance.randint(3, 12)):
        scale = m.constant(np.float32(chance.uniform(0.5, 2.0)))
        both = m.add(chance.choice(("Mul", "Add", "Sub")), x, scale)
        x = m.add(chance.choice(("Relu", "Abs", "Tanh", "Neg", "Sigmoid")), both)
    x = m.add("ReduceMean", x, axes=[1], keepdims=1)
    return m.model("formula", shape, (shape[0], 1), x)


def _bias(m: Maker, n: int) -> str:
    return m.constant((m.chance.standard_normal(n) * 0.1).astype(np.float32))


def _positive(m: Maker, n: int) -> str:
    return m.constant(m.chance.uniform(0.5, 1.5, n).astype(np.float32))


_FAMILIES: tuple[Callable[[random.Random, Maker], bytes], ...] = (
    _perceptron,
    _convolutions,
    _attention,
    _formula,
)
