"""Generated traces of serving large models, and of allocators, with a given number of buffers."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from benchmarks.planning_tape import Tape
from compiler.memory.buffer import Buffer


@dataclass
class Request:
    """A served sequence: its current number of tokens, its final number, and its caches."""

    length: int
    until: int
    caches: list[int] = field(default_factory=list)
    room: int = 0


class Batching:
    """Continuous batching: requests arrive at random; in each round, sequences grow by a token."""

    def __init__(self, chance: random.Random, most_running: int, *, layers: int = 1) -> None:
        self.tape, self.chance = Tape(), chance
        self.width = 64 * chance.randint(16, 64)
        self.layers, self.most_running = layers, most_running
        self.running: list[Request] = []
        for _ in range(chance.randint(100, 400)):
            self.tape.take(self.width * self.width * chance.choice([2, 2, 8]))
        self.bytes_a_token = 4 * self.width * 32 // layers // chance.choice([1, 4, 8])

    def request(self) -> Request:
        """Return a request whose prompt and answer have heavy-tailed lengths."""
        prompt = min(8000, int(self.chance.lognormvariate(5.5, 1.2)) + 1)
        answer = min(2000, int(self.chance.expovariate(1 / 200)) + 1)
        return Request(prompt, prompt + answer)

    def prefill(self, request: Request) -> None:
        """Allocate and free temporaries for all tokens of the prompt."""
        size = 2 * self.width * request.length
        for _ in range(self.chance.randint(1, 4)):
            self.tape.passing(size, 3 * size, size)
            self.tape.free(self.tape.chain([size, 4 * size, size]))

    def decode(self) -> None:
        """Allocate and free temporaries for one token of each sequence."""
        size = 2 * self.width * max(1, len(self.running))
        self.tape.free(self.tape.chain([size, 3 * size, size, 4 * size, size]))
        self.tape.passing(64_000 * len(self.running) + 64)

    def round(self, grow: Callable[[Request], None]) -> None:
        """Admit new requests, grow all caches, and end complete requests."""
        while len(self.running) < self.most_running and self.chance.random() < 0.5:
            request = self.request()
            self.prefill(request)
            self.running.append(request)
        self.decode()
        steps = self.chance.randint(4, 40)
        for request in self.running:
            request.length += steps
            grow(request)
        for request in [r for r in self.running if r.length >= r.until]:
            self.tape.free(*request.caches)
            self.running.remove(request)


def reserved(n_buffers: int, chance: random.Random) -> list[Buffer]:
    """Reserve one cache for each request and layer, sized for the longest permitted answer."""
    run = Batching(chance, chance.randint(16, 128), layers=chance.choice([1, 4, 16]))

    def grow(request: Request) -> None:
        if not request.caches:
            size = run.bytes_a_token * request.until
            request.caches = [run.tape.take(size) for _ in range(run.layers)]

    return _rounds(n_buffers, run, grow)


def growing(n_buffers: int, chance: random.Random) -> list[Buffer]:
    """Copy full caches to caches of 1.5 times or twice as many tokens."""
    run = Batching(chance, chance.randint(16, 96), layers=chance.choice([1, 2, 8]))
    factor = chance.choice([1.5, 2])

    def grow(request: Request) -> None:
        if request.length > request.room:
            request.room = int(max(request.length, 16) * factor)
            old, size = request.caches, run.bytes_a_token * request.room
            request.caches = []
            for at in range(run.layers):
                request.caches.append(run.tape.take(size))
                run.tape.free(*old[at : at + 1])

    return _rounds(n_buffers, run, grow)


def paged(n_buffers: int, chance: random.Random) -> list[Buffer]:
    """Store caches in pages of equal size, with prefill and decode temporaries in between."""
    run = Batching(chance, chance.randint(32, 128))
    page = chance.choice([16, 32, 128])

    def grow(request: Request) -> None:
        while request.room < request.length:
            request.room += page
            request.caches.append(run.tape.take(run.bytes_a_token * page))

    return _rounds(n_buffers, run, grow)


def powers(n_buffers: int, chance: random.Random) -> list[Buffer]:
    """Round the tokens of caches up to powers of two, which form separate size classes."""
    run = Batching(chance, chance.randint(16, 128), layers=chance.choice([2, 8]))

    def grow(request: Request) -> None:
        if request.length > request.room:
            request.room = 1 << request.length.bit_length()
            run.tape.free(*request.caches)
            size = run.bytes_a_token * request.room
            request.caches = [run.tape.take(size) for _ in range(run.layers)]

    return _rounds(n_buffers, run, grow)


def _rounds(n: int, run: Batching, grow: Callable[[Request], None]) -> list[Buffer]:
    while len(run.tape) < n:
        run.round(grow)
    return run.tape.buffers()


def beams(n_buffers: int, chance: random.Random) -> list[Buffer]:
    """Run beam search: each round copies a request's caches in the order of the best beams."""
    tape, width = Tape(), 64 * chance.randint(8, 32)
    layers, most = chance.choice([2, 6, 12]), chance.randint(2, 8)
    for _ in range(100):
        tape.take(8 * width * width)
    running: list[tuple[int, int, int, list[int]]] = []
    while len(tape) < n_buffers:
        if len(running) < most:
            length = min(2000, int(chance.lognormvariate(4.5, 1)) + 2)
            beam, size = chance.randint(2, 10), 4 * width * length
            running.append((beam, length, length + chance.randint(2, 60), []))
            tape.passing(size, 3 * size, 4 * size, size)
        following = []
        for beam, length, until, caches in running:
            tape.passing(4 * beam * 32_000, 8 * beam, 8 * beam)
            found = []
            for at in range(layers):
                found.append(tape.take(4 * beam * width * (length + 1)))
                tape.free(*caches[at : at + 1])
            if length + 1 < until:
                following.append((beam, length + 1, until, found))
            else:
                tape.free(*found)
        running = following
    return tape.buffers()


def models(n_buffers: int, chance: random.Random) -> list[Buffer]:
    """Run several models concurrently, with activations for batches of different sizes."""
    tape = Tape()
    nets = [
        [int(2 ** chance.uniform(12, 22)) for _ in range(chance.randint(20, 120))]
        for _ in range(chance.randint(3, 8))
    ]
    for net in nets:
        for size in net:
            tape.take(size * chance.uniform(0.5, 3))
    running: list[tuple[list[int], int, int, list[tuple[int, int]]]] = []
    while len(tape) < n_buffers:
        if len(running) < 12 and chance.random() < 0.3:
            running.append((chance.choice(nets), chance.randint(1, 32), 0, []))
        if not running:
            continue
        turn = chance.randrange(len(running))
        net, batch, at, alive = running[turn]
        tape.free(*[handle for handle, until in alive if until <= at])
        alive = [(handle, until) for handle, until in alive if until > at]
        if at == len(net):
            tape.free(*[handle for handle, _ in alive])
            del running[turn]
            continue
        alive.append((tape.take(batch * net[at]), at + 1 + int(chance.paretovariate(1.2))))
        if chance.random() < 0.3:
            tape.passing(2 ** chance.uniform(10, 24))
        running[turn] = (net, batch, at + 1, alive)
    return tape.buffers()


def noise(n_buffers: int, chance: random.Random) -> list[Buffer]:
    """Return buffers with lifetimes of up to a tenth of all steps, and heavy-tailed sizes.

    Half of the sizes are powers of two.
    """
    longest = chance.choice([50, 20, 10])
    return _random(n_buffers, chance, n_buffers / longest)


def crowded(n_buffers: int, chance: random.Random) -> list[Buffer]:
    """Let requests wait for free memory, so that memory is nearly always full."""
    return _admitted(n_buffers, chance, chance.choice([30, 100, 300, 1000]), chance.uniform(0.5, 1))


def crowded_by_large(n_buffers: int, chance: random.Random) -> list[Buffer]:
    """Let requests wait for free memory, which ten to thirty buffers fill."""
    return _admitted(n_buffers, chance, chance.randint(10, 30), 0.5)


def _admitted(n: int, chance: random.Random, n_alive: int, spread: float) -> list[Buffer]:
    """Return buffers within a capacity of `n_alive` mean sizes, approximately.

    Sizes are log-normal, lifetimes exponential.
    """
    capacity = int(n_alive * 1e6)
    rows: list[Buffer] = []
    ends: list[tuple[int, int]] = []
    step = used = 0
    while len(rows) < n:
        size = int(1e6 * chance.lognormvariate(-spread * spread / 2, spread)) + 1
        size = min(size, capacity // 3)
        while used + size > capacity:
            step, given = heapq.heappop(ends)
            used -= given
        end = step + 1 + int(chance.expovariate(1 / (8 * n_alive)))
        rows.append(Buffer(f"b{len(rows)}", size, step, end))
        heapq.heappush(ends, (end, size))
        used += size
    return rows


def heavy(n_buffers: int, chance: random.Random) -> list[Buffer]:
    """As `noise`, with short lifetimes: few buffers are alive at a step, so large ones dominate."""
    return _random(n_buffers, chance, chance.choice([100, 300, 1000]))


def _random(n_buffers: int, chance: random.Random, longest: float) -> list[Buffer]:
    rows: list[Buffer] = []
    spread = chance.uniform(1, 2)
    for i in range(n_buffers):
        size = int(min(chance.lognormvariate(10, spread), 2e7)) + 1
        if chance.random() < 0.5:
            size = 1 << size.bit_length()
        start, life = chance.randrange(n_buffers), int(longest ** chance.random())
        rows.append(Buffer(f"b{i}", size, start, start + max(1, life)))
    return rows


SERVING: Mapping[str, Callable[[int, random.Random], list[Buffer]]] = {
    **{f"serving, {f.__name__}": f for f in (reserved, growing, paged, powers, beams, models)},
    "noise": noise,
    "noise, few alive": heavy,
    "crowded": crowded,
    "crowded by large": crowded_by_large,
}
