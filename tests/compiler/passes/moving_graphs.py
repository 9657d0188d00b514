"""Random graphs of views and data movement, with a few operators that move nothing."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from compiler.ir.affine import Affine, symbol
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Result, Value
from compiler.ir.operator import Array, Operand, Out, Tensor
from compiler.ir.types import Dim, DType, TensorType
from compiler.passes.rules.calls import o

FAR = int(np.iinfo(np.int64).max)
ELEMENTS = 4000
"""Maximum number of elements of a value that a step may enlarge."""


def moving_graph(seed: int, *, is_open: bool) -> Graph:
    """Return a graph of 2 to 6 steps from one or two inputs, with open sizes if requested."""
    rng = random.Random(seed)
    ed = Editor(Graph("moving", (), (), (), {}))
    shapes: list[tuple[Dim, ...]] = [
        rng.choice([(2, 3, 4), (4, 6), (2, 1, 3, 5), (5,), (3, 2, 1, 4), (1, 6, 2), ()])
    ]
    if is_open:
        n, m = symbol("N"), symbol("M")
        shapes = [rng.choice([(n, 3, 4), (2, n, m), (n, m), (1, n, 6), (n, 4, m, 1), (n,)])]
    shapes += shapes * rng.randint(0, 1)
    for i, shape in enumerate(shapes):
        ed.add_input(Value(f"x{i}", TensorType(DType.f32, shape)))
    steps = _Steps(ed, rng, [f"x{i}" for i in range(len(shapes))])
    for _ in range(rng.randint(2, 6)):
        steps.step()
    last = steps.values[-rng.randint(1, 2) :]
    ed.results = [Result(f"y{i}", v) for i, v in enumerate(dict.fromkeys(last))]
    return ed.graph()


class _Steps:
    """Adds operators one after another to existing values."""

    def __init__(self, ed: Editor, rng: random.Random, values: list[str]) -> None:
        self.ed, self.rng, self.values = ed, rng, values
        self.kinds: list[Callable[[Tensor], Operand | None]] = [
            self.transpose, self.transpose, self.reshape, self.computed_reshape, self.flatten,
            self.squeeze, self.unsqueeze, self.slice, self.slice, self.concat, self.rejoin,
            self.stack, self.split, self.expand, self.tile, self.gather, self.pad, self.each,
            self.both, self.largest, self.sizes,
        ]  # fmt: skip

    def step(self) -> None:
        for _ in range(20):
            recent = self.values[-3:]
            x = self.ed.tensor(self.rng.choice(recent))
            made = self.rng.choice(self.kinds)(x)
            if made is not None:
                self.values.append(self.ed.build(made, hint=f"v{len(self.values)}"))
                return

    def numbers(self, *values: int) -> Array:
        return np.array(values, np.int64)

    def fixed_axes(self, x: Tensor) -> list[int]:
        return [i for i, d in enumerate(x.shape) if isinstance(d, int) and d > 0]

    def transpose(self, x: Tensor) -> Operand | None:
        if x.rank < 2:
            return None
        return o.transpose(x, perm=tuple(self.rng.sample(range(x.rank), x.rank)))

    def reshape(self, x: Tensor) -> Operand | None:
        if not x.type.is_static:
            kept = [0] * max(x.rank - 2, 0)
            return o.reshape(x, self.numbers(*kept, -1)) if x.rank > 1 else None
        n, sizes = x.type.n_elements, list[int]()
        while n > 1 and len(sizes) < 3:
            sizes.append(self.rng.choice([d for d in range(1, n + 1) if n % d == 0]))
            n //= sizes[-1]
        sizes.append(n if self.rng.random() < 0.5 or 0 in (n, *sizes) else -1)
        return o.reshape(x, self.numbers(*sizes), allowzero=0 in sizes)

    def computed_reshape(self, x: Tensor) -> Operand | None:
        """Reshape to a shape computed from sizes of the tensor."""
        if x.rank < 2:
            return None
        first = self.rng.randrange(x.rank - 1)
        sizes = o.shape(x)
        head = [
            o.unsqueeze(o.gather(sizes, np.array(i), axis=0), axes=(0,)) for i in range(first + 1)
        ]
        if self.rng.random() < 0.5:
            return o.reshape(x, o.concat(*head, self.numbers(-1), axis=0))
        after = o.slice(sizes, self.numbers(first + 1), self.numbers(FAR))
        return o.reshape(x, o.concat(*head, after, self.numbers(1), axis=0))

    def flatten(self, x: Tensor) -> Operand | None:
        return o.flatten(x, axis=self.rng.randint(-x.rank, x.rank))

    def squeeze(self, x: Tensor) -> Operand | None:
        ones = [i for i, d in enumerate(x.shape) if d == 1]
        if not ones:
            return None
        axes = self.rng.sample(ones, self.rng.randint(1, len(ones)))
        return o.squeeze(x, axes=tuple(a - x.rank * self.rng.randint(0, 1) for a in axes))

    def unsqueeze(self, x: Tensor) -> Operand | None:
        if x.rank > 4:
            return None
        n = self.rng.randint(1, 2)
        return o.unsqueeze(x, axes=tuple(self.rng.sample(range(x.rank + n), n)))

    def slice(self, x: Tensor) -> Operand | None:
        if not x.rank:
            return None
        axis = self.rng.randrange(x.rank)
        size = x.shape[axis]
        if not isinstance(size, int):
            cut = self.rng.choice([(0, FAR, 1), (1, FAR, 1), (0, 2, 1), (0, FAR, 2), (1, 4, 1)])
        elif self.rng.random() < 0.3:
            cut = (self.rng.randint(-size - 1, size), self.rng.choice([-FAR, -size - 1]), -1)
        else:
            start = self.rng.randint(-size, size)
            cut = (start, self.rng.choice([FAR, size, -1, start + 2]), self.rng.randint(1, 2))
        start, end, step = cut
        lists = [self.numbers(start), self.numbers(end), self.numbers(axis - x.rank)]
        return o.slice(x, *lists, *([self.numbers(step)] if step != 1 else []))

    def concat(self, x: Tensor) -> Operand | None:
        if not x.rank or _large(x):
            return None
        axis = self.rng.randrange(-x.rank, x.rank)
        others = [v for v in self.values if self.ed.type(v) == x.type]
        return o.concat(x, *(self.ed.tensor(self.rng.choice(others)) for _ in range(2)), axis=axis)

    def rejoin(self, x: Tensor) -> Operand | None:
        """Concatenate parts of a tensor, in order or permuted."""
        axes = [i for i in self.fixed_axes(x) if x.shape[i] != 1]
        if not axes:
            return None
        axis = self.rng.choice(axes)
        size = x.shape[axis]
        assert isinstance(size, int)
        cut = self.rng.randint(1, size - 1)
        at = self.numbers(axis)
        parts: list[Operand] = [
            o.slice(x, self.numbers(0), self.numbers(cut), at),
            o.slice(x, self.numbers(cut), self.numbers(self.rng.choice([FAR, size])), at),
        ]
        if self.rng.random() < 0.5:
            pieces = o.split(x, axis=axis, sizes=(cut, size - cut))
            parts = [Out(pieces, 0), Out(pieces, 1)]
        if self.rng.random() < 0.3:
            parts.reverse()
        return o.concat(*parts, axis=axis)

    def stack(self, x: Tensor) -> Operand | None:
        """Concatenate views of tensors of one shape."""
        if not x.rank or x.rank > 4 or _large(x):
            return None
        others = [v for v in self.values if self.ed.type(v) == x.type]
        at, axis = self.rng.randint(0, x.rank), self.rng.randint(0, x.rank)
        tensors = [x, *(self.ed.tensor(self.rng.choice(others)) for _ in range(2))]
        return o.concat(*(o.unsqueeze(t, axes=(at,)) for t in tensors), axis=axis)

    def split(self, x: Tensor) -> Operand | None:
        axes = self.fixed_axes(x)
        if not axes:
            return None
        axis = self.rng.choice(axes)
        size = x.shape[axis]
        assert isinstance(size, int)
        cut = self.rng.randint(0, size)
        pieces = o.split(x, axis=axis, sizes=(cut, size - cut))
        self.values.append(self.ed.build(Out(pieces, 0), hint=f"v{len(self.values)}"))
        return Out(pieces, 1)

    def expand(self, x: Tensor) -> Operand | None:
        if _large(x):
            return None
        sizes = [self.rng.choice([1, 3]) if d == 1 else 1 for d in x.shape]
        return o.expand(x, self.numbers(*([2] * self.rng.randint(0, 1)), *sizes))

    def tile(self, x: Tensor) -> Operand | None:
        if _large(x):
            return None
        return o.tile(x, self.numbers(*(self.rng.choice([1, 1, 2]) for _ in x.shape)))

    def gather(self, x: Tensor) -> Operand | None:
        axes = self.fixed_axes(x)
        if not axes:
            return None
        axis = self.rng.choice(axes)
        size = x.shape[axis]
        assert isinstance(size, int)
        first, step = self.rng.randrange(size), self.rng.choice([1, -1, 2])
        rows = [
            np.array(first - size * self.rng.randint(0, 1)),
            np.arange(size)[first::step],
            np.array([self.rng.randrange(-size, size) for _ in range(3)]),
        ]
        return o.gather(x, self.rng.choice(rows), axis=axis)

    def pad(self, x: Tensor) -> Operand | None:
        axes = self.fixed_axes(x)
        if not axes or _large(x):
            return None
        axis = self.rng.choice(axes)
        amounts = [self.rng.choice([-1, 0, 1, 3]), self.rng.choice([0, 2])]
        if x.shape[axis] == 1:
            amounts = [abs(n) for n in amounts]
        value = self.rng.choice([None, np.array(2, x.dtype.numpy)])
        mode = self.rng.choice(["constant", "constant", "edge"])
        return o.pad(x, self.numbers(*amounts), value, self.numbers(axis), mode=mode)

    def each(self, x: Tensor) -> Operand | None:
        return self.rng.choice([o.neg, o.relu])(x) if x.dtype is DType.f32 else None

    def both(self, x: Tensor) -> Operand | None:
        """Combine with another tensor of the same shape, or with constants for the last axis."""
        others = [v for v in self.values if self.ed.type(v) == x.type]
        if x.rank and isinstance(n := x.shape[-1], int) and self.rng.random() < 0.5:
            return o.mul(x, np.arange(1, n + 1).astype(x.dtype.numpy))
        return o.add(x, self.ed.tensor(self.rng.choice(others)))

    def largest(self, x: Tensor) -> Operand | None:
        axes = self.fixed_axes(x)
        if not axes:
            return None
        return o.reduce_max(x, axes=(self.rng.choice(axes),), keepdims=self.rng.random() < 0.5)

    def sizes(self, x: Tensor) -> Operand | None:
        """Return a tensor of numbers in the shape of another, or the shape itself."""
        if x.dtype is not DType.f32:
            return None
        filled = o.fill(o.shape(x), value=1.5)
        return o.add(x, filled) if self.rng.random() < 0.7 else o.shape(x)


def _large(x: Tensor) -> bool:
    sizes = [5 if isinstance(d, Affine) else d for d in x.shape]
    return int(np.prod(sizes, dtype=np.int64)) > ELEMENTS
