"""A random model with inputs; the same (seed, index) gives the same case."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, numpy_helper

from tests.outside import families
from tests.outside.defined import is_defined
from tests.outside.draft import Draft, is_tame
from tests.outside.peer import PeerRefused, free_names, run_node
from tests.outside.steps import draw_steps
from tests.outside.values import NARROW, Array, label_of

assert families.__all__, "importing the families registers the operators"

OPSETS = (13, 17, 18, 18, 20, 21, 22, 23, 24, 25)
"""Opset versions of generated models."""

Feeds = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A model and its inputs: those of its generation, then inputs of other sizes."""

    model: ModelProto
    feeds: list[Feeds]

    @property
    def opset(self) -> int:
        return self.model.opset_import[0].version


def draw_case(seed: int, index: int, nodes: tuple[int, int] = (5, 60)) -> Case:
    """Return the case of a seed and an index."""
    chance = random.Random(f"{seed}/{index}")
    while True:
        d = Draft(chance, chance.choice(OPSETS))
        low, high = nodes
        draw_steps(d, int(low * (high / low) ** chance.random()))
        model = _model(d)
        if model is None:
            continue
        feeds = {v.name: d.values[v.name] for v in model.graph.input}
        more: list[Feeds] = []
        if chance.random() < 0.5 and _open_sizes(chance, model, feeds):
            more = [f for f in (_resized(chance, model, feeds) for _ in range(2)) if f]
        return Case(model, [feeds, *more])


def _model(d: Draft) -> ModelProto | None:
    """Return the model with some values as results, and without unused nodes."""
    read = {n for node in d.nodes for n in free_names(node)}
    made = [o for node in d.nodes for o in node.output if o and _is_result(d.values[o])]
    leaves = [n for n in made if n not in read]
    if not leaves:
        return None
    results = d.chance.sample(leaves, min(len(leaves), d.chance.choice((1, 3, 8, 12))))
    results += [n for n in d.chance.sample(made, min(2, len(made))) if n not in results]
    shown: list[str] = []
    for name in results:
        label = label_of(d.values[name])
        shown.append(d.cast(name, NARROW[label]) if label in NARROW else name)
    model = d.model(shown)
    drop_unused(model)
    return model


def _is_result(value: Any) -> bool:
    return value is not None and not (isinstance(value, list) and not value)


def drop_unused(model: ModelProto) -> None:
    """Remove nodes, constants and inputs that no result needs."""
    wanted = {o.name for o in model.graph.output}
    kept: list[NodeProto] = []
    for node in reversed(model.graph.node):
        if wanted & {o for o in node.output if o}:
            kept.append(node)
            wanted |= set(free_names(node))
    nodes = [NodeProto.FromString(n.SerializeToString()) for n in reversed(kept)]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    for k in reversed(range(len(model.graph.initializer))):
        if model.graph.initializer[k].name not in wanted:
            del model.graph.initializer[k]
    for k in reversed(range(len(model.graph.input))):
        if model.graph.input[k].name not in wanted:
            del model.graph.input[k]


# Open sizes


def _open_sizes(chance: random.Random, model: ModelProto, feeds: Feeds) -> bool:
    """Replace sizes of inputs by symbols, equal sizes by the same symbol, and a few others too."""
    shared = chance.random() < 0.1
    nameless = chance.random() < 0.2
    found = False
    for v in model.graph.input:
        for dim in v.type.tensor_type.shape.dim:
            if chance.random() < 0.5:
                size, found = dim.dim_value, True
                dim.Clear()
                if not nameless:
                    dim.dim_param = "N" if shared else f"n{size}"
    return found


def _resized(chance: random.Random, model: ModelProto, feeds: Feeds) -> Feeds | None:
    """Return inputs of other sizes; None if the model refuses them or is undefined for them."""
    changes: dict[int, int] = {}
    made: Feeds = {}
    for v in model.graph.input:
        array = feeds[v.name]
        for axis, dim in enumerate(v.type.tensor_type.shape.dim):
            if dim.HasField("dim_value"):
                continue
            size = array.shape[axis]
            others = (size, size + 1, 2 * size, size + 5, 1, 3, 33)
            size = changes.setdefault(size, chance.choice(others))
            if not array.shape[axis] and size:
                return None
            array = np.take(array, np.arange(size), axis, mode="wrap") if size else array
        made[v.name] = array
    if not any(changes[s] != s for s in changes):
        return None
    return made if values_of(model, made) is not None else None


def values_of(model: ModelProto, feeds: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return all values of a model, node by node; None if a node is refused or undefined."""
    values: dict[str, Any] = {**feeds, **constants_of(model.graph)}
    opset = model.opset_import[0].version
    for node in model.graph.node:
        try:
            made = run_node(node, values, opset)
        except PeerRefused:
            return None
        if not all(map(is_tame, made)) or not is_defined(node, values):
            return None
        values.update(zip((o for o in node.output if o), made, strict=True))
    return values


def constants_of(graph: GraphProto) -> dict[str, Array]:
    return {t.name: _plain(numpy_helper.to_array(t)) for t in graph.initializer}


def _plain(array: Array) -> Array:
    if array.dtype != object:
        return array
    texts = [s.decode() if isinstance(s, bytes) else s for s in array.flat]
    return np.array(texts, dtype=object).reshape(array.shape)
