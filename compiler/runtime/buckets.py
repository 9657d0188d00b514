"""Specialised code for frequent sizes, and its selection at run time.

A bucket is a program specialised for chosen sizes; runs with exactly these sizes use it. If the
program computes each row independently, inputs with fewer rows are padded to the smallest
sufficient bucket, and the bucket's results are truncated. If rows are not independent, padding
could change results: runs with other sizes use the program for all sizes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir.graph import Graph
from compiler.ir.types import TensorType, Type
from compiler.runtime.open.sizes import sizes_of_inputs

if TYPE_CHECKING:
    from compiler.runtime.program import Program

MAX_BUCKETS = 64
"""Maximum number of combinations of sizes that are compiled."""

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Bucket:
    """A program for chosen sizes; inputs of `smallest` or larger sizes are padded to the chosen
    sizes.

    Units: operations and bytes of one run; seconds of compilation.
    """

    sizes: Sizes
    program: Program
    seconds: float
    smallest: Sizes

    @property
    def flops(self) -> int:
        """Return the operations of a run, including padding."""
        return sum(k.flops for k in self.program.kernels)

    @property
    def nbytes(self) -> int:
        """Return the bytes read and written by a run."""
        return sum(k.bytes_read + k.bytes_written for k in self.program.kernels)

    @property
    def waste(self) -> float:
        """Return the fraction of padding in a run with the smallest sizes that use this bucket."""
        kept = 1.0
        for name, n in self.sizes.items():
            kept *= self.smallest[name] / n if n else 1.0
        return 1.0 - kept

    def __str__(self) -> str:
        named = ", ".join(f"{k}={n}" for k, n in self.sizes.items())
        text = f"bucket {named}: compiled in {self.seconds:.2f} s, {self.flops:,} operations, "
        text += f"{self.nbytes:,} bytes per run"
        if self.waste:
            least = ", ".join(f"{k}={n}" for k, n in self.smallest.items())
            text += f"; serves sizes from {least} by padding, which wastes up to {self.waste:.0%}"
        return text


@dataclass(frozen=True)
class Buckets:
    """All buckets of a program, ordered by size; `padded` are the symbols that may be padded.

    `graph` is the graph of the model, with the types of inputs and results.
    """

    graph: Graph
    buckets: tuple[Bucket, ...]
    padded: frozenset[str]

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the results of the smallest sufficient bucket; None if no bucket suffices."""
        sizes = sizes_of_inputs(self.graph, inputs)
        found = self.choose(sizes)
        if found is None:
            return None
        if all(sizes[name] == n for name, n in found.sizes.items()):
            return found.program.run(inputs)
        larger = {v.name: _padded(inputs[v.name], v.type, found.sizes) for v in self.graph.inputs}
        made = found.program.run(larger)
        types = self.graph.types
        return {
            r.name: _cut(made[r.name], types[r.value], found.sizes, sizes)
            for r in self.graph.results
        }

    def choose(self, sizes: Sizes) -> Bucket | None:
        """Return the smallest sufficient bucket for these sizes; None if no bucket suffices."""
        fitting = [b for b in self.buckets if self._holds(b, sizes)]
        return min(fitting, key=lambda b: tuple(b.sizes.values()), default=None)

    def _holds(self, bucket: Bucket, sizes: Sizes) -> bool:
        return all(
            sizes[name] == n or (name in self.padded and 0 < sizes[name] < n)
            for name, n in bucket.sizes.items()
        )


def _padded(value: Any, t: Type, sizes: Sizes) -> Any:
    """Pad an input with copies of its last row: the padding adds no special values."""
    name = _rows_of(t)
    if name not in sizes or np.shape(value)[0] == sizes[name]:
        return value
    array = np.asarray(value)
    missing = sizes[name] - array.shape[0]
    return np.concatenate([array, np.repeat(array[-1:], missing, axis=0)])


def _cut(value: Any, t: Type, larger: Sizes, sizes: Sizes) -> Any:
    name = _rows_of(t)
    if name not in larger or larger[name] == sizes[name]:
        return value
    return np.ascontiguousarray(value[: sizes[name]])


def _rows_of(t: Type) -> str:
    """Return the symbol that is a type's first dimension; "" for other types."""
    if not isinstance(t, TensorType) or not t.shape:
        return ""
    return affine.axis_symbol(t.shape[0]) or ""


def checked_buckets(graph: Graph, given: object) -> dict[str, tuple[int, ...]]:
    """Return the requested buckets, sorted. Errors: E-OPTION-VALUE for an unknown size."""
    if not isinstance(given, Mapping):
        raise CompileError("E-OPTION-VALUE", f"buckets must map names to sizes, got {given!r:.60}")
    known = {s: None for v in graph.inputs for s in _alone(v.type)}
    found: dict[str, tuple[int, ...]] = {}
    for name, sizes in given.items():
        if name not in known:
            listed = ", ".join(known) or "none"
            raise CompileError(
                "E-OPTION-VALUE", f"no input has a size named {name!r:.60}; open sizes: {listed}"
            )
        whole = isinstance(sizes, Sequence) and all(type(n) is int and n >= 0 for n in sizes)
        if not whole or not sizes:
            raise CompileError(
                "E-OPTION-VALUE", f"the buckets of {name} are whole numbers, got {sizes!r:.60}"
            )
        found[str(name)] = tuple(sorted(set(sizes)))
    if len(list(itertools.product(*found.values()))) > MAX_BUCKETS:
        raise CompileError(
            "E-OPTION-VALUE", f"buckets exceed the limit of {MAX_BUCKETS} combinations of sizes"
        )
    return found


def _alone(t: Type) -> Iterator[str]:
    for d in (t.shape or ()) if isinstance(t, TensorType) else ():
        s = affine.axis_symbol(d)
        if s is not None:
            yield s


def make_buckets(
    graph: Graph,
    wanted: Mapping[str, tuple[int, ...]],
    padded: frozenset[str],
    compiled: Callable[[Sizes], tuple[Program, float]],
) -> Buckets:
    """Compile a bucket for each combination of sizes."""
    made: list[Bucket] = []
    for sizes in itertools.product(*wanted.values()):
        named = dict(zip(wanted, sizes, strict=True))
        program, seconds = compiled(named)
        smallest = {
            name: _smallest(n, wanted[name]) if name in padded else n for name, n in named.items()
        }
        made.append(Bucket(named, program, seconds, smallest))
    return Buckets(graph, tuple(made), padded)


def _smallest(n: int, sizes: Sequence[int]) -> int:
    """Return the smallest number of rows that is padded to n, given all bucket sizes."""
    below = [m for m in sizes if m < n]
    return max(below) + 1 if below else min(n, 1)
