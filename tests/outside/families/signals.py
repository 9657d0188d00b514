"""Fourier transforms and window functions of signals."""

from __future__ import annotations

import numpy as np

from tests.outside.draft import Draft
from tests.outside.family import family
from tests.outside.values import code


@family("BlackmanWindow", "HammingWindow", "HannWindow", weight=0.5)
def _(d: Draft, op: str) -> None:
    size = d.numbers(d.chance.choice((2, 3, 8, 17)))
    # The other windows' coefficients are f32 in ONNX Runtime, even for f64.
    label = d.chance.choice((None, code("f32"), *([code("f64")] if op == "HannWindow" else [])))
    d.one(op, [size], periodic=d.chance.choice((None, 0, 1)), output_datatype=label)


@family("DFT")
def _(d: Draft, op: str) -> None:
    parts = d.chance.choice((1, 1, 2))
    batch, n = d.chance.choice((1, 2)), d.chance.choice((1, 3, 8, 17))
    x = d.like(d.some_label(("f32", "f64")), (batch, n, parts))
    onesided = d.chance.choice((None, 0, 1)) if parts == 1 else None
    inverse = d.chance.choice((None, 0, 1)) if parts == 2 else None
    length = [d.numbers(d.chance.choice((2, 5, 16)))] if d.maybe(0.3) else []
    if d.opset >= 20:
        axis = [d.numbers(d.chance.choice((1, -2)))] if d.maybe() else []
        tail = [*(length or ([""] if axis else [])), *axis]
        d.one(op, [x, *tail], onesided=onesided, inverse=inverse)
    else:
        d.one(op, [x, *length], axis=1, onesided=onesided, inverse=inverse)


@family("STFT", weight=0.7)
def _(d: Draft, op: str) -> None:
    n, frame = d.chance.choice((16, 33)), d.chance.choice((4, 8))
    x = d.like("f32", (d.chance.choice((1, 2)), n, 1))
    step = d.numbers(d.chance.choice((2, 3, 4)))
    numbers = np.random.default_rng(d.chance.getrandbits(32))
    window = d.constant(numbers.uniform(0.1, 1, frame).astype(np.float32))
    tail = d.chance.choice(([window], [window, d.constant(frame)], ["", d.constant(frame)]))
    d.one(op, [x, step, *tail], onesided=d.chance.choice((None, 0, 1)))


@family("MelWeightMatrix", weight=0.4)
def _(d: Draft, op: str) -> None:
    bins, size, rate = d.chance.choice((4, 8)), d.chance.choice((16, 64)), 8000
    ends = [d.constant(np.asarray(v, np.float32)) for v in (100.0, 3500.0)]
    d.one(op, [d.constant(bins), d.constant(size), d.constant(rate), *ends])
