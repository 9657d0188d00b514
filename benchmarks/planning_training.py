"""Generated traces of training steps of large models, with approximately a given buffer count.

Each trace follows the requests to a framework's allocator: weights and optimizer states live
throughout, activations from the forward to the backward pass in reverse order, gradients, and
temporaries within an operator. Shapes are random.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.planning_tape import Tape
from compiler.memory.buffer import Buffer


@dataclass(frozen=True)
class Model:
    """The sizes of a transformer: bytes per element, and counts."""

    layers: int
    width: int
    hidden: int
    heads: int
    words: int
    element: int = 2

    @staticmethod
    def random(chance: random.Random) -> Model:
        """Return random sizes, from a small to a large language model."""
        width = 64 * chance.randint(8, 64)
        hidden = int(width * chance.choice([2.6875, 3.5, 4])) // 8 * 8
        words = chance.choice([32_000, 50_257, 128_256])
        return Model(chance.randint(8, 48), width, hidden, width // 64, words)

    @property
    def weights(self) -> list[int]:
        """Return the elements of one layer's weights: projections, multilayer perceptron, norms."""
        w = self.width
        return [3 * w * w, w * w, 2 * w * self.hidden, w * self.hidden, w, w]

    def saved(self, tokens: int, length: int) -> list[int]:
        """Return the elements of the activations that one layer saves for its backward pass."""
        w, h = tokens * self.width, tokens * self.hidden
        return [w, tokens * 2, 3 * w, self.heads * tokens * length, w, w, tokens * 2, 2 * h, h]


class Training:
    """A training run on a tape: each step runs forward and backward passes over micro-batches."""

    def __init__(self, chance: random.Random, *, sharded: bool = False) -> None:
        self.tape, self.chance = Tape(), chance
        self.model = Model.random(chance)
        self.length = 2 ** chance.randint(8, 11)
        self.batch = chance.randint(1, 8)
        self.sharded = sharded
        self.shards = chance.choice([4, 8]) if sharded else 1
        states = 1 if sharded else chance.choice([1, 3, 4])
        for size in self.weights():
            for _ in range(states):
                self.tape.take(4 * size / self.shards)

    def weights(self) -> list[int]:
        """Return the elements of each weight of the model."""
        model = self.model
        return [model.words * model.width] + model.layers * model.weights

    def tokens(self, *, open_lengths: bool) -> tuple[int, int]:
        """Return the number of tokens of a micro-batch, and the length of its sequences."""
        length = self.chance.randint(self.length // 4, self.length) if open_lengths else self.length
        return self.batch * length, length

    def forward(
        self, tokens: int, length: int, layers: range, kept: str = "all"
    ) -> list[list[int]]:
        """Return the saved activations by layer: all, or only the layer's input (checkpoints)."""
        found: list[list[int]] = []
        for _ in layers:
            whole = self.gathered()
            values = self.layer(tokens, length)
            if kept == "inputs":
                self.tape.free(*values[1:])
                values = values[:1]
            self.tape.free(*whole)
            found.append(values)
        return found

    def layer(self, tokens: int, length: int) -> list[int]:
        """Run one layer's forward pass with temporaries; return the saved activations."""
        tape, element = self.tape, self.model.element
        values: list[int] = []
        for size in self.model.saved(tokens, length):
            if self.chance.random() < 0.5:
                tape.passing(element * size, *self.workspace())
            values.append(tape.take(element * size))
        return values

    def workspace(self) -> list[float]:
        """Return the size of a kernel's scratch memory, of random size; may be empty."""
        return [2 ** self.chance.uniform(8, 23)] if self.chance.random() < 0.3 else []

    def gathered(self) -> list[int]:
        """Allocate a layer's weights gathered from all shards, while the layer runs."""
        if not self.sharded:
            return []
        return [self.tape.take(self.model.element * sum(self.model.weights))]

    def backward(
        self, kept: list[list[int]], tokens: int, length: int, gradients: list[int]
    ) -> None:
        """Free saved activations, last layer first; gradients of the first micro-batch stay."""
        tape, element, width = self.tape, self.model.element, self.model.width
        flowing = tape.take(element * tokens * width)
        for values in reversed(kept):
            whole = self.gathered()
            if len(values) == 1:
                values = values + self.layer(tokens, length)
            for size, value in zip(
                reversed(self.model.saved(tokens, length)), reversed(values), strict=False
            ):
                following = tape.take(element * size)
                tape.passing(*self.workspace())
                tape.free(value, flowing)
                flowing = following
            tape.free(*values[: max(0, len(values) - len(self.model.saved(tokens, length)))])
            for size in self.model.weights:
                gradients.append(tape.take(element * size / self.shards))
                if len(gradients) > self.model.layers * len(self.model.weights):
                    tape.free(gradients.pop())
            tape.free(*whole)
        tape.free(flowing)

    def loss(self, tokens: int) -> None:
        """Allocate and free logits, softmax and gradient: the largest temporaries."""
        logits = tokens * self.model.words
        self.tape.passing(2 * logits, 4 * logits, 4 * logits)

    def optimizer(self, gradients: list[int]) -> None:
        """Update weight by weight, and free the gradients."""
        for gradient, size in zip(gradients, self.model.layers * self.model.weights, strict=False):
            self.tape.passing(4 * size / self.shards, 4 * size / self.shards)
            self.tape.free(gradient)
        gradients.clear()


def plain(n_buffers: int, chance: random.Random) -> list[Buffer]:
    """Run forward and backward passes with all activations saved."""
    return _steps(n_buffers, Training(chance), "all")


def checkpointed(n_buffers: int, chance: random.Random) -> list[Buffer]:
    """Save only the inputs of layers, and recompute other activations in the backward pass."""
    return _steps(n_buffers, Training(chance), "inputs")


def sharded(n_buffers: int, chance: random.Random) -> list[Buffer]:
    """Gather sharded weights for each layer; sequences have different lengths."""
    return _steps(n_buffers, Training(chance, sharded=True), "all", open_lengths=True)


def open_lengths(n_buffers: int, chance: random.Random) -> list[Buffer]:
    """Use a new sequence length in each micro-batch, and checkpoints in every second step."""
    return _steps(n_buffers, Training(chance), "all", open_lengths=True)


def _steps(n: int, run: Training, kept: str, *, open_lengths: bool = False) -> list[Buffer]:
    """Run training steps of some micro-batches until the number of buffers is reached."""
    micro_batches = run.chance.choice([1, 2, 4])
    gradients: list[int] = []
    while len(run.tape) < n:
        for _ in range(micro_batches):
            tokens, length = run.tokens(open_lengths=open_lengths)
            values = run.forward(tokens, length, range(run.model.layers), kept)
            run.loss(tokens)
            run.backward(values, tokens, length, gradients)
        run.optimizer(gradients)
    return run.tape.buffers()


def pipeline(n_buffers: int, chance: random.Random) -> list[Buffer]:
    """Run one pipeline stage: some forward passes, then alternating forward and backward passes."""
    run = Training(chance)
    ahead = chance.randint(2, 8)
    waiting: list[tuple[list[list[int]], int, int]] = []
    gradients: list[int] = []
    stage = range(max(1, run.model.layers // 4))
    while len(run.tape) < n_buffers:
        for number in range(4 * ahead):
            tokens, length = run.tokens(open_lengths=True)
            waiting.append((run.forward(tokens, length, stage), tokens, length))
            if number >= ahead:
                run.backward(*waiting.pop(0), gradients)
        while waiting:
            run.backward(*waiting.pop(0), gradients)
        run.optimizer(gradients)
    return run.tape.buffers()


def experts(n_buffers: int, chance: random.Random) -> list[Buffer]:
    """Run a mixture of experts: tokens are distributed unevenly, so sizes are irregular."""
    tape, width = Tape(), 64 * chance.randint(8, 32)
    n_experts, layers = chance.choice([8, 16, 64]), chance.randint(6, 24)
    for _ in range(layers * n_experts):
        tape.take(2 * 3 * width * width)
    while len(tape) < n_buffers:
        tokens = chance.randint(1000, 8000)
        kept: list[list[tuple[int, int]]] = []
        for _ in range(layers):
            sizes = [tokens * width * 2, tokens * width * 6]
            shares = [chance.gammavariate(0.7, 1) for _ in range(n_experts)]
            routed = [1 + int(2 * tokens * s / sum(shares)) for s in shares]
            sizes += [2 * n * width for n in routed] + [6 * n * width for n in routed]
            kept.append([(tape.take(size), size) for size in sizes])
            tape.passing(2 * tokens * width, 4 * tokens * n_experts)
        for layer in reversed(kept):
            for handle, size in reversed(layer):
                gradient = tape.take(size)
                tape.free(handle)
                if chance.random() < 0.2:
                    tape.passing(6 * width * width)
                tape.free(gradient)
    return tape.buffers()


def convolutions(n_buffers: int, chance: random.Random) -> list[Buffer]:
    """Train a convolutional network with skip connections: images shrink, channels grow."""
    tape = Tape()
    stages = [(chance.randint(2, 8), 64 * 2**s, 112 // 2**s) for s in range(4)]
    blocks = [(c, side) for count, c, side in stages for _ in range(count)]
    for channels, _ in blocks:
        for size in (9 * channels * channels, channels * channels, channels, channels):
            for _ in range(3):
                tape.take(4 * size)
    while len(tape) < n_buffers:
        batch = chance.choice([16, 24, 32, 64])
        kept: list[tuple[int, list[int]]] = []
        for channels, side in blocks:
            size = 4 * batch * channels * side * side
            values = []
            for _ in range(3):
                values += [tape.take(size), tape.take(4 * channels), tape.take(4 * channels)]
                tape.passing(size, 2 ** chance.uniform(10, 27))
                values.append(tape.take(size / 8))
            kept.append((size, values))
        flowing = tape.take(4 * batch * 1000)
        for (channels, _), (size, values) in zip(reversed(blocks), reversed(kept), strict=True):
            skip = tape.take(size)
            for value in reversed(values):
                following = tape.take(size) if chance.random() < 0.4 else -1
                tape.passing(36 * channels * channels, 2 ** chance.uniform(10, 27))
                tape.free(value)
                if following >= 0:
                    tape.free(flowing)
                    flowing = following
            tape.free(skip)
        tape.free(flowing)
    return tape.buffers()


def unet(n_buffers: int, chance: random.Random) -> list[Buffer]:
    """Run a diffusion model's U-Net repeatedly, with skip connections from encoder to decoder."""
    tape = Tape()
    levels = [(chance.choice([128, 192, 320]) * k, 64 // 2**i) for i, k in enumerate((1, 2, 4, 4))]
    for channels, _ in levels * 4:
        tape.take(36 * channels * channels)
    while len(tape) < n_buffers:
        batch = chance.randint(1, 8)
        skips: list[tuple[int, int]] = []
        for channels, side in levels * 2:
            size = 2 * batch * channels * side * side
            last = tape.chain([size] * chance.randint(3, 9))
            tape.passing(2 * batch * 8 * side**3, size, size)
            skips.append((last, size))
        for handle, size in reversed(skips):
            joined = tape.take(2 * size)
            tape.free(handle)
            tape.free(tape.chain([size] * chance.randint(3, 9)))
            tape.passing(size, size, 4 * size)
            tape.free(joined)
    return tape.buffers()


TRAINING: Mapping[str, Callable[[int, random.Random], list[Buffer]]] = {
    f"training, {f.__name__.replace('_', ' ')}": f
    for f in (plain, checkpointed, sharded, open_lengths, pipeline, experts, convolutions, unet)
}
