"""Tests of random programs that mix views, fallbacks, in-place launches and results."""

import random

import pytest

import compiler
from compiler.runtime.compare import compare, worst
from compiler.runtime.inputs import random_inputs

SHAPES = ("4,6", "6,4", "24")


def random_graph(seed: int) -> compiler.Graph:
    """Return up to 14 nodes over three shapes of 24 elements; any value may be a result."""
    chance = random.Random(seed)
    made: list[tuple[str, str]] = [("x", "4,6"), ("z", "24")]
    lines = [f"const s{i}: i64[{s.count(',') + 1}] = literal({s})" for i, s in enumerate(SHAPES)]
    lines.append("const c: f32[4,6] = splat(0.5)")
    made.append(("c", "4,6"))
    for n in range(chance.randint(1, 14)):
        value, shape = chance.choice(made[-6:])
        name = f"v{n}"
        kind = chance.choice(["unary", "unary", "binary", "binary", "view", "move", "fallback"])
        if kind == "unary":
            text = f"{chance.choice(['tanh', 'neg', 'relu', 'sigmoid'])}({value})"
        elif kind == "binary":
            other = chance.choice([v for v, s in made if s == shape])
            text = f"{chance.choice(['add', 'mul', 'sub', 'max'])}({value}, {other})"
        elif kind == "view":
            target = chance.randrange(len(SHAPES))
            shape = SHAPES[target]
            text = f"reshape({value}, s{target})"
        elif kind == "move" and "," in shape:
            shape = ",".join(reversed(shape.split(",")))
            text = f"transpose({value}, perm=[1,0])"
        else:
            text = f"onnx.Mish({value}, opset=18)"
        lines.append(f"{name}: f32[{shape}] = {text}")
        made.append((name, shape))
    results = [v for v, _ in chance.sample(made, chance.randint(1, min(4, len(made))))]
    named = ", ".join(f"r{i}={v}" for i, v in enumerate([*results, results[0]]))
    body = "\n".join(f"  {line}" for line in lines)
    return compiler.parse(f"graph g(x: f32[4,6], z: f32[24]) {{\n{body}\n  return {named}\n}}")


@pytest.mark.parametrize("pipeline", ["none", "default"])
@pytest.mark.parametrize("seed", range(25))
def test_random_programs_compute_what_the_reference_computes(seed: int, pipeline: str) -> None:
    graph = random_graph(seed)
    program = compiler.compile(graph, pipeline=pipeline)
    for run in range(2):
        inputs = random_inputs(graph, run)
        made, expected = program.run(inputs), compiler.reference(graph, inputs)
        assert worst(compare(made, expected)) < 1e-5, str(graph)
