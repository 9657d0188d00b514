"""Random graphs built from the examples and near misses of rules and passes.

Random operators seldom match the patterns of rules. In these graphs, every piece matches a pattern
or nearly does, and pieces read the results of earlier pieces. So rules are applied to the results
of other rules.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from compiler.ir.graph import Graph, Result, Value
from compiler.ir.regions import rename_values
from compiler.ir.types import TensorType
from compiler.ir.verify import verify
from compiler.passes import PASSES, RULES

MAX_ELEMENTS = 20_000
"""Pieces with larger tensors are omitted, because they reveal no more faults than small pieces."""


@cache
def pieces() -> Sequence[Graph]:
    """Return examples before their rewrites, and near misses, with static sizes."""
    found = [r.example_graphs()[0] for r in RULES.values()]
    found += [r.near_miss_graph() for r in RULES.values() if r.near_miss]
    found += [p.example_graphs()[0] for p in PASSES.values()]
    return [g for g in found if _is_small(g)]


def _is_small(g: Graph) -> bool:
    return all(
        isinstance(t, TensorType) and t.is_static and t.n_elements <= MAX_ELEMENTS
        for t in g.types.values()
    )


def graph_of_pieces(seed: int, most: int = 6) -> Graph:
    """Return a graph of a few pieces, which read earlier values if the types agree."""
    chance = random.Random(seed)
    whole = Graph("pieces", (), (), ())
    for i in range(chance.randint(1, most)):
        whole = _joined(whole, _renamed(chance.choice(pieces()), f"p{i}."), chance)
    read = {i for n in whole.nodes for i in n.reads}
    values = [o for n in whole.nodes for o in n.outputs if o]
    kept = [v for v in values if v not in read or chance.random() < 0.1]
    whole = replace(whole, results=tuple(Result(v, v) for v in kept))
    verify(whole)
    return whole


def _renamed(piece: Graph, prefix: str) -> Graph:
    """Return a piece with unique names, including those of origins and regions."""
    names = {name: prefix + name for name in piece.types}
    made = rename_values(piece, names)
    nodes = tuple(replace(n, name=n.output, origins=(n.output,)) for n in made.nodes)
    return replace(made, nodes=nodes)


def _joined(whole: Graph, piece: Graph, chance: random.Random) -> Graph:
    inputs = list(whole.inputs)
    renamed: dict[str, str] = {}
    for v in piece.inputs:
        same = [name for name, t in whole.types.items() if t == v.type]
        if same and chance.random() < 0.8:
            renamed[v.name] = chance.choice(same)
        else:
            inputs.append(Value(v.name, v.type))
    nodes = tuple(n.with_inputs(renamed) for n in piece.nodes)
    return Graph(
        whole.name,
        tuple(inputs),
        (),
        whole.nodes + nodes,
        {**whole.constants, **piece.constants},
    )
