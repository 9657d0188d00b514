"""Tests that all rules together terminate: no rule reverts another, on any graph."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, Result, Value
from compiler.ir.types import DType, TensorType
from compiler.ir.verify import verify
from compiler.passes import PASSES, RULES
from compiler.reference import reference
from compiler.trace import Log
from tests.compiler.passes.numbers import random_inputs
from tests.noise import expectations, objection
from tests.selection import few

SIMPLIFY = PASSES["simplify"]


def _is_steady(v: Value) -> bool:
    """Return whether an input has a known size and determines neither sizes nor indices."""
    return isinstance(v.type, TensorType) and v.type.is_static and v.type.dtype is not DType.i64


EXAMPLES = [
    g for g in (r.example_graphs()[0] for r in SIMPLIFY.rules) if all(map(_is_steady, g.inputs))
]
PASSES_AROUND = (
    *(
        "fold_constants",
        "remove_empty_tensors",
        "common_subexpression_elimination",
        "sink_transposes",
        "fold_split_concat",
    ),
    *("absorb_affine", "sink_elementwise", "sink_casts", "fold_affine", "dead_code_elimination"),
)


def joined(rng: random.Random, n: int) -> Graph:
    """Return the examples of some rules in one graph; results become inputs if types agree."""
    ed = Editor(Graph("joined", (), (), ()))
    values: list[str] = []
    for k, example in enumerate(rng.choices(EXAMPLES, k=n)):
        names = {v: f"{v}_{k}" for v in example.types}
        for v in example.inputs:
            same = [u for u in values if ed.type(u) == v.type]
            if same and rng.random() < 0.8:
                names[v.name] = rng.choice(same)
            else:
                ed.add_input(Value(names[v.name], v.type))
                values.append(names[v.name])
        for name, c in example.constants.items():
            names[name] = ed.add_constant(c, hint=names[name])
        for node in example.nodes:
            values += [o for o in ed.add(_renamed(node, names)).outputs if o]
    made = [v for v in values if ed.producer(v) is not None]
    read = [v for v in made if not ed.n_uses(v) or rng.random() < 0.1]
    ed.results = [Result(f"r{i}", v) for i, v in enumerate(read)]
    return ed.graph()


def _renamed(node: Node, names: dict[str, str]) -> Node:
    outputs = tuple(names.get(o, o) for o in node.outputs)
    return replace(node.with_inputs(names), outputs=outputs, name=outputs[0], origins=outputs[:1])


def assert_it_ends(g: Graph) -> Graph:
    """Apply simplification and its neighbours until nothing changes, within a time limit."""
    for _ in range(8):
        before = g
        log = Log()
        g = SIMPLIFY.run(g, log)
        assert "budget" not in {s.rule for s in log.steps}, _loop(log)
        again = Log()
        assert SIMPLIFY.run(g, again) is g, _loop(again)
        verify(g)
        for name in PASSES_AROUND:
            g = PASSES[name].run(g)
        if g is before:
            return g
    raise AssertionError(f"the passes do not terminate; last graph\n{before}")


def _loop(log: Log) -> str:
    return "\n".join(f"{s.rule} at {s.at}" for s in log.steps if s.outcome == "applied")[-2000:]


@pytest.mark.parametrize("seed", range(30))
def test_rules_whose_examples_are_joined_come_to_an_end(seed: int) -> None:
    g = joined(random.Random(seed), 12)
    verify(g)
    after = assert_it_ends(g)
    feeds = random_inputs(g, seed)
    expected = expectations(g, feeds)
    made = reference(after, feeds)
    wrong = {name: objection(made[name], e) for name, e in expected.items()}
    assert not any(wrong.values()), wrong


@pytest.mark.parametrize("side", few(("before", "after"), 1))
def test_every_rule_alone_comes_to_an_end_with_all_the_others(side: str) -> None:
    for r in RULES.values():
        before, after = r.example_graphs()
        assert_it_ends(before if side == "before" else after)
