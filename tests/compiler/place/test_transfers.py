"""Tests of graphs with transfer nodes: all transfers included, and equal results."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.ir.graph import Graph
from compiler.ir.verify import verify
from compiler.passes.pipeline.run import run_pipeline
from compiler.place.of_graph import tasks_of
from compiler.place.place import place
from compiler.place.platform_text import load_platform
from compiler.place.simulate import Conduct
from compiler.place.transfers import with_transfers
from compiler.runtime.inputs import random_inputs

BRANCHES = """graph g(x: f32[1,16,40,48]) {
  const s: i64[2] = literal(16,1920)
  const w: f32[32,16,3,3] = splat(0.01)
  a: f32[1,32,38,46] = conv(x, w, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
  t: f32[1,32,38,46] = tanh(a)
  e: f32[1,16,40,48] = exp(x)
  b: f32[1,32,38,46] = conv(e, w, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
  y: f32[1,32,38,46] = add(t, b)
  v: f32[16,1920] = reshape(e, s)
  z: f32[16] = reduce_max(v, axes=[1], keepdims=false)
  return y, z, again=v
}"""


@pytest.mark.parametrize("platform", ["gpu", "npu", "board"])
@pytest.mark.parametrize("pipeline", ["none", "default"])
def test_the_graph_computes_what_it_did(platform: str, pipeline: str) -> None:
    graph = compiler.parse(BRANCHES)
    graph = graph if pipeline == "none" else run_pipeline(graph, pipeline)[0]
    machine = load_platform(platform)
    tasks = tasks_of(graph)
    made = place(tasks, machine, scheduler="ready_fifo", conduct=Conduct(1))
    placed = with_transfers(graph, tasks, machine, made)
    verify(placed)
    moved = [m for m in made.moves if m.datum in graph.types and m.datum not in graph.constants]
    assert sum(n.op == "transfer" for n in placed.nodes) == len(moved)
    assert compiler.parse(str(placed)) == placed
    assert_same(graph, placed)


def assert_same(graph: Graph, placed: Graph) -> None:
    inputs = random_inputs(graph)
    expected = compiler.reference(graph, inputs)
    for found in (compiler.reference(placed, inputs), compiler.compile(placed).run(inputs)):
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=2e-4, atol=1e-5)


def test_readers_read_what_is_in_the_memory_of_their_device() -> None:
    graph = compiler.parse(BRANCHES)
    tasks = tasks_of(graph)
    ways = {"a": "cpu", "t": "cpu", "e": "gpu", "b": "gpu", "y": "cpu", "z": "gpu"}
    seconds = {d: [1.0 if ways[t.name] == d else 90.0 for t in tasks.tasks] for d in ("cpu", "gpu")}
    for device, times in seconds.items():
        tasks = tasks.with_seconds(device, times)
    made = place(tasks, load_platform("gpu"))
    assert {s.task: s.device for s in made.slots} == ways
    placed = with_transfers(graph, tasks, load_platform("gpu"), made)
    node = {n.output: n for n in placed.nodes}
    assert node["e"].inputs == ("x.vram",)
    assert node["b"].inputs == ("e", "w")
    assert node["y"].inputs == ("t", "b.ram")
    assert node["x.vram"].attrs == {"source": "ram", "to": "vram"}
    assert {r.name for r in placed.results} == {"y", "z", "again"}
    assert_same(graph, placed)
