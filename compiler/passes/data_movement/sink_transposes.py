"""Code motion of transposes: pairs cancel, and fewer bytes are copied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.constant import Constant, Splat
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, merge_origins
from compiler.ir.operator import Operand
from compiler.passes.data_movement.orders import (
    Perm,
    composed,
    inverse,
    is_identity,
    lifted,
)
from compiler.passes.data_movement.parts import is_plain
from compiler.passes.data_movement.region import Region, in_order
from compiler.passes.engine.counts import counted_verb
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.rule import ROUNDINGS
from compiler.passes.rules.calls import o
from compiler.trace import Log
from compiler.units import count_text

SWEEPS = 8
"""Limit on the number of iterations over all transposes; each rewrite lowers the cost of copies."""


@graph_pass(
    known_as={"OpenVINO": "TransposeSinking", "ONNX Runtime": "TransposeOptimizer"},
    needs=["constants", "single uses"],
    gives=["movement"],
    example="""
    graph g(x: f32[2,3,4,5], y: f32[2,4,5,3]) {
      const c: f32[3] = literal(0.5,-1.0,2.0)
      a: f32[2,4,5,3] = transpose(x, perm=[0,2,3,1])
      b: f32[2,4,5,3] = mul(a, c)
      d: f32[2,4,5,3] = sigmoid(b)
      e: f32[2,3,4,5] = transpose(d, perm=[0,3,1,2])
      return e
    }
    =>
    graph g(x: f32[2,3,4,5], y: f32[2,4,5,3]) {
      const c_2: f32[1,3,1,1] = literal(0.5,-1.0,2.0)
      b_2: f32[2,3,4,5] = mul(x, c_2)
      d_2: f32[2,3,4,5] = sigmoid(b_2)
      return e=d_2
    }
    """,
    near_miss="""
    graph g(x: f32[2,3,4,5]) {
      a: f32[2,4,5,3] = transpose(x, perm=[0,2,3,1])
      b: f32[2,4,5,3] = sigmoid(a)
      return b
    }
    """,
)
def sink_transposes(graph: Graph, log: Log, *, inexact: bool = True) -> Graph:
    """Move transposes toward each other so that pairs cancel.

    Most operators accept any order of axes. A minimum cut selects the nodes around a transpose that
    should run with permuted axes. Each value needed in both axis orders costs a copy. With
    `inexact=false` no sum is reordered. Source: ONNX Runtime's transpose optimizer, which pushes
    transposes by estimated cost instead of by a cut.
    """
    if not any(n.op == "transpose" for n in graph.nodes):
        return graph
    ed, n_moved, told = Editor(graph), 0, set[str]()
    for _ in range(SWEEPS):
        seeds, seen = [n for n in ed.graph().nodes if n.op == "transpose"], set[str]()
        moved = 0
        for seed in seeds:
            if seed.output not in seen:
                moved += _moved(ed, seed, log, inexact, told, seen)
        n_moved += moved
        if not moved:
            break
    return ed.graph() if n_moved else graph


def _moved(ed: Editor, seed: Node, log: Log, inexact: bool, told: set[str], seen: set[str]) -> bool:
    """Permute the region around a transpose if copies get cheaper; return whether they do.

    If copies do not get cheaper, the transposes of the region are added to `seen`.
    """
    if not ed.alive(seed) or not all(is_plain(ed, v) for v in (seed.inputs[0], seed.output)):
        return False
    region = Region.around(ed, seed)
    if not region.nodes:
        return False
    if not inexact and not all(how.exact for _, how in region.nodes.values()):
        return _declined(log, seed, "a sum would add its terms in another order", told)
    energy, nodes = region.energy()
    chosen = energy.best((0, 1))
    before = energy.of([0, 1, *(0 for _ in nodes)])
    after = energy.of(chosen)
    if after >= before:
        seen.update(region.transposes())
        because = (
            f"permuting the {count_text(len(nodes), 'node')} around it would not save bytes: "
            f"copies and launches cost {before:,} bytes"
        )
        return _declined(log, seed, because, told)
    if not log.may("sink_transposes", seed.output):
        return False
    picked = [n for n, label in zip(nodes, chosen[2:], strict=True) if label]
    _Rewrite(ed, region, picked).run(seed, f"{after:,} bytes instead of {before:,}", log)
    return True


def _declined(log: Log, seed: Node, because: str, told: set[str]) -> bool:
    if seed.output not in told:
        told.add(seed.output)
        log.declined("sink_transposes", seed.output, because, [seed])
    return False


@dataclass(slots=True)
class _Rewrite:
    """Builds the nodes with permuted axes, redirects readers to them, and removes the old nodes."""

    ed: Editor
    region: Region
    picked: Sequence[Node]
    primes: dict[str, str] = field(default_factory=dict)
    """The name of the permuted value for each old name."""

    def run(self, seed: Node, costs: str, log: Log) -> None:
        ed = self.ed
        old = {n.output: n for n in self.picked}
        ed.made.clear()
        for node in self.in_order(old):
            self.make(node)
        touched = [seed.output, *(o for n in old.values() for o in n.outputs if o)]
        took = [seed, *old.values()]
        for node in old.values():
            for value in filter(None, node.outputs):
                took += self.hand_over(value, old)
        removed = ed.remove_unused([*touched, *(i for n in took for i in n.inputs if i)])
        inexact = any(not self.region.nodes[k][1].exact for k in old)
        nodes = counted_verb(len(old), "node", "runs", "run")
        because = f"{nodes} with permuted axes: copies and launches cost {costs}"
        gone = {n.output: n for n in (*took, *removed) if ed.producer(n.output) is None}
        log.applied(
            "sink_transposes",
            seed.output,
            because,
            gone.values(),
            [n for n in ed.made if ed.alive(n)],
            ROUNDINGS if inexact else 0.0,
        )

    def in_order(self, old: dict[str, Node]) -> list[Node]:
        """Sort the nodes topologically."""
        found: dict[str, Node] = {}
        pending = list(reversed(old.values()))
        while pending:
            node = pending[-1]
            before = [self.ed.producer(v) for v in node.inputs if v]
            waits = [b for b in before if b and b.output in old and b.output not in found]
            if waits:
                pending += waits
                continue
            found[pending.pop().output] = node
        return list(found.values())

    def make(self, node: Node) -> None:
        """Build a node with permuted axes."""
        how = self.region.nodes[node.output][1]
        n = max(len(node.inputs), *(i + 1 for i in how.parameters), 1)
        operands: list[Operand] = []
        for i in range(n):
            value = node.inputs[i] if i < len(node.inputs) else ""
            if i in how.parameters:
                operands.append(how.parameters[i])
            elif i in how.reads:
                operands.append(self.ed.tensor(self.prime(value, how.reads[i])))
            else:
                operands.append(self.ed.tensor(value) if value else None)
        call = o[node.op](*operands, **{**node.attrs, **how.attrs})
        names = [self.ed.fresh(v) if v else "" for v in node.outputs]
        self.ed.build(call, hint=node.output, origins=node.origins, name=node.name, outputs=names)
        self.primes.update({v: p for v, p in zip(node.outputs, names, strict=True) if v})

    def prime(self, value: str, perm: Perm) -> str:
        """Return a value with its axes permuted, and build it if no node computes it yet."""
        ed, rank = self.ed, len(perm)
        key = value if ed.tensor(value).rank == rank else f"{value} of {rank} axes"
        if key in self.primes:
            return self.primes[key]
        c = ed.constants.get(value)
        if c is not None:
            made = ed.add_constant(_in_order(c, perm), value, c.origins)
        elif key == value and (source := self.region.source(value)):
            made = source
        elif key == value and (back := self.returned(value)):
            made = back
        else:
            x: Operand = ed.tensor(value)
            if key != value:
                x = o.unsqueeze(x, axes=tuple(range(rank - ed.tensor(value).rank)))
            node = ed.producer(value)
            origins = node.origins if node is not None else ()
            call = x if is_identity(inverse(perm)) else o.transpose(x, perm=inverse(perm))
            made = ed.build(call, hint=value, origins=origins)
        self.primes[key] = made
        return made

    def returned(self, value: str) -> str:
        """Return the output of an existing transpose to these axes, or ""."""
        users = self.ed.users(value)
        return next((u.output for u in users if self.region.returned(value, u)), "")

    def hand_over(self, value: str, old: dict[str, Node]) -> list[Node]:
        """Redirect outside readers to the inverse transpose; return removed transposes."""
        ed, perm, prime = self.ed, self.region.orders[value], self.primes[value]
        went: list[Node] = []
        for user in [u for u in ed.users(value) if u.op == "transpose" and u.output not in old]:
            order = composed(perm, tuple(user.attrs["perm"]))
            if is_identity(order):
                ed.replace(user.output, prime)
                ed.remove(user)
                self.absorb(prime, user)
            else:
                new = ed.build(
                    o.transpose(ed.tensor(prime), perm=order),
                    hint=user.output,
                    origins=user.origins,
                )
                made = ed.producer(new)
                assert made is not None, f"{new} was built"
                ed.rename(made, user)
            went.append(user)
        rest = [u for u in ed.users(value) if u.output not in old]
        if rest or ed.is_result(value):
            node = ed.producer(value)
            origins = node.origins if node is not None else ()
            call = o.transpose(ed.tensor(prime), perm=perm)
            back = ed.build(call, hint=value, origins=origins)
            for user in rest:
                ed.update(user, user.with_inputs({value: back}))
            ed.results = [replace(r, value=back) if r.value == value else r for r in ed.results]
        return went

    def absorb(self, value: str, node: Node) -> None:
        """Add a removed node's origins to the producer of a value."""
        kept = self.ed.producer(value)
        if kept is not None:
            origins = merge_origins(kept.origins, node.origins)
            self.ed.update(kept, replace(kept, origins=origins))


def _in_order(c: Constant, perm: Perm) -> Constant:
    """Transpose a constant."""
    t = in_order(c.type, perm)
    if isinstance(c.storage, Splat):
        return Constant(t, c.storage, c.origins)
    array = c.array().reshape(lifted(c.type.static_shape, len(perm)))
    return Constant.of(np.ascontiguousarray(array.transpose(inverse(perm))), t.dtype, c.origins)
