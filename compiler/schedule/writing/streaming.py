"""Non-temporal stores, for results larger than all caches.

A plain store first fetches its cache line (write allocate). For results larger than the last cache,
write allocations are a third of the traffic of an elementwise chain with one operand. Smaller
results keep plain stores, since the next kernel reads them from a cache. Measured: non-temporal
stores are 1.3 to 1.8 times as fast for 64 MB, but twice as slow for results that fit L2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from compiler.compute.statements import Loop, Statement, Store
from compiler.schedule.nest import Nest
from compiler.targets.target import Target


def streamed(nest: Nest, outputs: Iterable[str], target: Target) -> frozenset[str]:
    """Return the results of a nest that need non-temporal stores."""
    if nest.reductions:
        return frozenset()
    read = {r.tensor for r in nest.reads()}
    found = {b.target for b in nest.results} & set(outputs) - read
    return frozenset(t for t in found if _is_large(nest, t, target))


def _is_large(nest: Nest, tensor: str, target: Target) -> bool:
    t = nest.tensors[tensor]
    return t.is_static and t.layout.is_plain and t.nbytes >= target.l3_bytes


def with_streams(body: Iterable[Statement], tensors: frozenset[str]) -> tuple[Statement, ...]:
    """Make the stores to some tensors non-temporal."""

    def one(s: Statement) -> Statement:
        if isinstance(s, Store):
            return replace(s, stream=True) if s.buffer in tensors else s
        return replace(s, body=with_streams(s.body, tensors)) if isinstance(s, Loop) else s

    return tuple(map(one, body)) if tensors else tuple(body)
