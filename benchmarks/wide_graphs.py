"""Generated models with wide branching: random wiring, cells from architecture search, Inception.

Nodes are in the order of an exporter: block by block, branch by branch, operator by operator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from benchmarks.made import Maker

Edges = dict[int, set[int]]
"""For each node of a wiring, the nodes that it reads, which have smaller numbers."""


@dataclass(frozen=True, slots=True)
class Map:
    """A feature map: the value's name, its channels, and its height and width."""

    name: str
    channels: int
    size: int


class Net:
    """A builder of convolutional networks with known sizes, operator by operator."""

    def __init__(self, seed: int, size: int = 224) -> None:
        self.maker = Maker(seed)
        self.start = Map("x", 3, size)

    def conv(
        self,
        x: Map,
        channels: int,
        kernel: tuple[int, int] = (1, 1),
        stride: int = 1,
        groups: int = 1,
        dilation: int = 1,
    ) -> Map:
        """Add a convolution with padding that preserves the image size, except for the stride."""
        m = self.maker
        pads = [dilation * (k - 1) // 2 for k in kernel]
        name = m.add(
            "Conv",
            x.name,
            m.weight(channels, x.channels // groups, *kernel),
            _bias(m, channels),
            strides=[stride, stride],
            dilations=[dilation, dilation],
            group=groups,
            pads=[*pads, *pads],
        )
        return Map(name, channels, -(-x.size // stride))

    def relu(self, x: Map) -> Map:
        """Add a relu."""
        return Map(self.maker.add("Relu", x.name), x.channels, x.size)

    def conv_relu(
        self, x: Map, channels: int, kernel: tuple[int, int] = (1, 1), stride: int = 1
    ) -> Map:
        """Add a convolution and a relu."""
        return self.relu(self.conv(x, channels, kernel, stride))

    def separable(
        self, x: Map, channels: int, kernel: int = 3, stride: int = 1, dilation: int = 1
    ) -> Map:
        """Add a separable convolution: depthwise, then pointwise."""
        deep = self.conv(x, x.channels, (kernel, kernel), stride, x.channels, dilation)
        return self.conv(deep, channels)

    def add(self, *xs: Map) -> Map:
        """Add the sum of maps as a chain of binary additions."""
        total = xs[0]
        for x in xs[1:]:
            total = Map(self.maker.add("Add", total.name, x.name), x.channels, x.size)
        return total

    def scaled(self, x: Map) -> Map:
        """Add the product of a map and a learned scalar."""
        factor = self.maker.constant(np.float32(self.maker.chance.uniform(0.2, 0.8)))
        return Map(self.maker.add("Mul", x.name, factor), x.channels, x.size)

    def concat(self, *xs: Map) -> Map:
        """Add a concatenation of maps along the channels."""
        name = self.maker.add("Concat", *(x.name for x in xs), axis=1)
        return Map(name, sum(x.channels for x in xs), xs[0].size)

    def pool(self, x: Map, kind: str, stride: int = 1) -> Map:
        """Add a 3x3 pool of a kind: `MaxPool` or `AveragePool`."""
        name = self.maker.add(
            kind, x.name, kernel_shape=[3, 3], strides=[stride, stride], pads=[1, 1, 1, 1]
        )
        return Map(name, x.channels, -(-x.size // stride))

    def model(self, name: str, x: Map, n_classes: int = 1000) -> bytes:
        """Return the bytes of the ONNX file, with a classifier after the last map."""
        m = self.maker
        mean = m.add("Flatten", m.add("GlobalAveragePool", x.name))
        y = m.add(
            "Add", m.add("MatMul", mean, m.weight(x.channels, n_classes)), _bias(m, n_classes)
        )
        size = self.start.size
        return m.model(name, (1, 3, size, size), (1, n_classes), y)


def _bias(m: Maker, n: int) -> str:
    return m.constant((m.chance.standard_normal(n) * 0.1).astype(np.float32))


# Random wiring


def watts_strogatz(n: int, seed: int, k: int = 4, p: float = 0.75) -> Edges:
    """Return a ring with `k` neighbours per node, whose edges are rewired with probability `p`."""
    chance = Random(seed)
    pairs = {frozenset((i, (i + j) % n)) for i in range(n) for j in range(1, k // 2 + 1)}
    for pair in sorted(pairs, key=sorted):
        if chance.random() < p:
            here = min(pair)
            free = [t for t in range(n) if t != here and frozenset((here, t)) not in pairs]
            pairs.discard(pair)
            pairs.add(frozenset((here, chance.choice(free))))
    return _directed(n, pairs)


def erdos_renyi(n: int, seed: int, p: float = 0.2) -> Edges:
    """Return a graph with an edge between each pair of nodes with probability `p`."""
    chance = Random(seed)
    return _directed(
        n, {frozenset((i, j)) for j in range(n) for i in range(j) if chance.random() < p}
    )


def barabasi_albert(n: int, seed: int, m: int = 5) -> Edges:
    """Return a graph by preferential attachment of each new node to `m` existing nodes."""
    chance = Random(seed)
    ends = list(range(m))
    pairs: set[frozenset[int]] = set()
    for new in range(m, n):
        chosen: set[int] = set()
        while len(chosen) < m:
            chosen.add(chance.choice(ends))
        pairs |= {frozenset((new, t)) for t in chosen}
        ends += [*sorted(chosen), *[new] * m]
    return _directed(n, pairs)


def _directed(n: int, pairs: set[frozenset[int]]) -> Edges:
    return {j: {min(p) for p in pairs if max(p) == j} for j in range(n)}


def random_wired(
    wiring: Callable[[int, int], Edges], seed: int, n: int = 32, channels: int = 78
) -> bytes:
    """Return RandWire in the small regime (Xie et al. 2019, arXiv:1904.01569): three random stages.

    A node computes the weighted sum of its operands, a relu, and a separable convolution.
    """
    net = Net(seed)
    x = net.conv_relu(net.start, channels // 2, (3, 3), 2)
    x = net.conv(x, channels, (3, 3), 2)
    for stage in range(3):
        x = _random_stage(net, x, wiring(n, seed * 3 + stage), channels << stage)
    return net.model("random_wired", net.conv_relu(net.relu(x), 1280))


def _random_stage(net: Net, x: Map, wiring: Edges, channels: int) -> Map:
    made: list[Map] = []
    for node, reads in sorted(wiring.items()):
        first = not reads
        given = [x] if first else [net.scaled(made[r]) for r in sorted(reads)]
        made.append(net.separable(net.relu(net.add(*given)), channels, stride=2 if first else 1))
        assert len(made) == node + 1, "nodes are numbered in order"
    read = set[int]().union(*wiring.values())
    ends = [made[i] for i in wiring if i not in read]
    return net.scaled(net.add(*ends)) if len(ends) > 1 else ends[0]


# Cells

Op = Callable[[Net, Map, int, int], Map]
"""Function that adds an operation of a cell, for a map, output channels, and a stride."""


def _sep(kernel: int) -> Op:
    def op(net: Net, x: Map, channels: int, stride: int) -> Map:
        x = net.separable(net.relu(x), channels, kernel, stride)
        return net.separable(net.relu(x), channels, kernel)

    return op


def _dil(kernel: int) -> Op:
    return lambda net, x, channels, stride: net.separable(
        net.relu(x), channels, kernel, stride, dilation=2
    )


def _long(kernel: int) -> Op:
    def op(net: Net, x: Map, channels: int, stride: int) -> Map:
        x = net.conv(net.relu(x), channels, (1, kernel), stride)
        return net.conv(x, channels, (kernel, 1))

    return op


def _same(net: Net, x: Map, channels: int, stride: int) -> Map:
    return x if stride == 1 else net.conv(net.relu(x), channels, (1, 1), stride)


OPS: Mapping[str, Op] = {
    "sep3": _sep(3),
    "sep5": _sep(5),
    "sep7": _sep(7),
    "dil3": _dil(3),
    "dil5": _dil(5),
    "long7": _long(7),
    "conv1": lambda net, x, channels, stride: net.conv(net.relu(x), channels, (1, 1), stride),
    "avg": lambda net, x, channels, stride: net.pool(x, "AveragePool", stride),
    "max": lambda net, x, channels, stride: net.pool(x, "MaxPool", stride),
    "same": _same,
}

Block = tuple[str, int, str, int]
"""Two operations, each with the number of the state that it reads; their sum is a new state. States
0 and 1 are the results of the cell before the last and of the last cell."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Blocks in order, and the states that are concatenated to the result."""

    blocks: tuple[Block, ...]
    joined: tuple[int, ...]


NASNET = (
    Cell(
        (
            ("sep3", 1, "same", 1),
            ("sep3", 0, "sep5", 1),
            ("avg", 1, "same", 0),
            ("avg", 0, "avg", 0),
            ("sep5", 0, "sep3", 0),
        ),
        (0, 2, 3, 4, 5, 6),
    ),
    Cell(
        (
            ("sep7", 0, "sep5", 1),
            ("max", 1, "sep7", 0),
            ("avg", 1, "sep5", 0),
            ("max", 1, "sep3", 2),
            ("avg", 2, "same", 3),
        ),
        (3, 4, 5, 6),
    ),
)
"""NASNet-A, the normal and the reduction cell. Source: Zoph et al. 2018, arXiv:1707.07012."""

AMOEBANET = (
    Cell(
        (
            ("avg", 0, "max", 1),
            ("sep3", 1, "same", 0),
            ("sep3", 2, "sep3", 0),
            ("same", 0, "sep3", 3),
            ("avg", 1, "avg", 5),
        ),
        (4, 6),
    ),
    Cell(
        (
            ("avg", 0, "sep3", 1),
            ("max", 0, "sep7", 2),
            ("sep7", 0, "avg", 1),
            ("max", 0, "max", 1),
            ("conv1", 0, "sep3", 5),
        ),
        (3, 4, 6),
    ),
)
"""Cells similar to AmoebaNet-A. Source: Real et al. 2019, arXiv:1802.01548."""

DARTS = (
    Cell(
        (
            ("sep3", 0, "sep3", 1),
            ("sep3", 0, "sep3", 1),
            ("sep3", 1, "same", 0),
            ("same", 0, "dil3", 2),
        ),
        (2, 3, 4, 5),
    ),
    Cell(
        (
            ("max", 0, "max", 1),
            ("same", 2, "max", 1),
            ("max", 0, "same", 2),
            ("same", 2, "max", 1),
        ),
        (2, 3, 4, 5),
    ),
)
"""Cells of DARTS, second version. Source: Liu et al. 2019, arXiv:1806.09055."""


def cells(pair: Sequence[Cell], seed: int, n_cells: int = 3, channels: int = 44) -> bytes:
    """Return a network of three stages of normal cells, separated by reduction cells."""
    normal, reduction = pair
    net = Net(seed)
    stem = net.conv(net.start, channels, (3, 3), 2)
    stem = net.conv(net.relu(stem), channels, (3, 3), 2)
    before = last = stem
    for stage in range(3):
        if stage:
            channels *= 2
            before, last = last, _cell(net, reduction, before, last, channels, 2)
        for _ in range(n_cells):
            before, last = last, _cell(net, normal, before, last, channels, 1)
    return net.model("cells", net.relu(last))


def _cell(net: Net, cell: Cell, before: Map, last: Map, channels: int, stride: int) -> Map:
    shrink = before.size // last.size
    states = [
        net.conv(net.relu(before), channels, (1, 1), shrink),
        net.conv(net.relu(last), channels),
    ]
    for first, a, second, b in cell.blocks:
        made = [
            OPS[op](net, states[i], channels, stride if i < 2 else 1)
            for op, i in ((first, a), (second, b))
        ]
        states.append(net.add(*made))
    size = states[-1].size
    joined = [s for i in cell.joined if (s := states[i]).size == size]
    return net.concat(*joined)


def random_cells(seed: int) -> bytes:
    """Return a network with random cells, as an architecture search generates."""
    chance = Random(seed)

    def cell() -> Cell:
        names, blocks = [n for n in OPS if n not in ("same", "sep7")], list[Block]()
        for made in range(5):
            a, b = chance.choice(names), chance.choice(names)
            blocks.append((a, chance.randrange(2 + made), b, chance.randrange(2 + made)))
        read = {i for _, a, _, b in blocks for i in (a, b)}
        return Cell(tuple(blocks), tuple(i for i in range(2, 7) if i not in read))

    return cells((cell(), cell()), seed)


# Inception


def inception(seed: int = 1) -> bytes:
    """Return Inception-v3, padding all layers. Source: Szegedy et al. 2016, arXiv:1512.00567."""
    net = Net(seed, 299)
    x = net.conv_relu(net.start, 32, (3, 3), 2)
    x = net.conv_relu(net.conv_relu(x, 32, (3, 3)), 64, (3, 3))
    x = net.conv_relu(net.conv_relu(net.pool(x, "MaxPool", 2), 80), 192, (3, 3))
    x = net.pool(x, "MaxPool", 2)
    for pooled in (32, 64, 64):
        x = _inception_a(net, x, pooled)
    x = _shrunk(net, x, (384,), (64, 96, 96))
    for inner in (128, 160, 160, 192):
        x = _inception_c(net, x, inner)
    x = _shrunk(net, x, (192, 320), (192, 192, 192))
    for _ in range(2):
        x = _inception_e(net, x)
    return net.model("inception", x)


def _chain(net: Net, x: Map, *layers: tuple[int, tuple[int, int]]) -> Map:
    for channels, kernel in layers:
        x = net.conv_relu(x, channels, kernel)
    return x


def _inception_a(net: Net, x: Map, pooled: int) -> Map:
    return net.concat(
        _chain(net, x, (64, (1, 1))),
        _chain(net, x, (48, (1, 1)), (64, (5, 5))),
        _chain(net, x, (64, (1, 1)), (96, (3, 3)), (96, (3, 3))),
        net.conv_relu(net.pool(x, "AveragePool"), pooled),
    )


def _inception_c(net: Net, x: Map, inner: int) -> Map:
    wide, high = (1, 7), (7, 1)
    return net.concat(
        _chain(net, x, (192, (1, 1))),
        _chain(net, x, (inner, (1, 1)), (inner, wide), (192, high)),
        _chain(net, x, (inner, (1, 1)), (inner, high), (inner, wide), (inner, high), (192, wide)),
        net.conv_relu(net.pool(x, "AveragePool"), 192),
    )


def _inception_e(net: Net, x: Map) -> Map:
    first = _chain(net, x, (384, (1, 1)))
    second = _chain(net, x, (448, (1, 1)), (384, (3, 3)))
    return net.concat(
        _chain(net, x, (320, (1, 1))),
        *(net.conv_relu(first, 384, kernel) for kernel in ((1, 3), (3, 1))),
        *(net.conv_relu(second, 384, kernel) for kernel in ((1, 3), (3, 1))),
        net.conv_relu(net.pool(x, "AveragePool"), 192),
    )


def _shrunk(net: Net, x: Map, first: Sequence[int], second: Sequence[int]) -> Map:
    """Add a reduction: branches whose last convolution has stride 2, and a pool."""

    def branch(widths: Sequence[int]) -> Map:
        y = x
        for i, channels in enumerate(widths):
            last = i == len(widths) - 1
            y = net.conv_relu(y, channels, (3, 3) if i else (1, 1), 2 if last else 1)
        return y

    return net.concat(branch(first), branch(second), net.pool(x, "MaxPool", 2))


WIDE: Mapping[str, Callable[[], bytes]] = {
    **{f"watts_strogatz_{s}": lambda s=s: random_wired(watts_strogatz, s) for s in (1, 2, 3)},
    **{f"erdos_renyi_{s}": lambda s=s: random_wired(erdos_renyi, s) for s in (1, 2, 3)},
    **{f"barabasi_albert_{s}": lambda s=s: random_wired(barabasi_albert, s) for s in (1, 2)},
    "nasnet": lambda: cells(NASNET, 1),
    "amoebanet": lambda: cells(AMOEBANET, 1),
    "darts": lambda: cells(DARTS, 1),
    **{f"random_cells_{s}": lambda s=s: random_cells(s) for s in (1, 2, 3)},
    "inception": inception,
}
"""All models by name."""
