"""Layout assignment for images: blocked channels or channels last, halos, and minimal copies.

Each kernel has a cost for each layout, and each copy between layouts has a cost. The pass minimises
the total cost. `problem` defines the choices, and `labels` finds the minimum; docs/layouts.md
explains both.
Source: the global layout choice of Liu et al. 2019 (NeoCPU, arXiv:1809.02697), solved by minimum
cuts as in Boykov, Veksler and Zabih 2001.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from compiler.ir.graph import Graph
from compiler.ir.types import TensorType
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.step_kind import step_kind
from compiler.passes.layout.labels import Energy, by_kernel, components, is_needed
from compiler.passes.layout.place import Placer
from compiler.passes.layout.problem import LABELS, PLAIN_LABEL, RULES, WORDS, Problem
from compiler.passes.layout.units import is_image
from compiler.trace import Log

EXAMPLE = """
graph g(x: f32[1,3,9,8]) {
  const w: f32[32,3,3,3] = splat(0.5)
  const v: f32[16,32,3,3] = splat(0.25)
  a: f32[1,32,9,8] = conv(x, w, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
  y: f32[1,16,9,8] = conv(a, v, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
  return y
}
=>
graph g(x: f32[1,3,9,8]) {
  const w: f32[32,3,3,3] = splat(0.5)
  const v: f32[16,32,3,3] = splat(0.25)
  x.laid: f32[1,3,9,8]{halo=1x1} = relayout(x) <- a
  a: f32[1,32,9,8]{c16,halo=1x1} =
    conv(x.laid, w, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
  y.blocked: f32[1,16,9,8]{c16} =
    conv(a, v, strides=[1,1], pads=[1,1,1,1], dilations=[1,1]) @ y
  y: f32[1,16,9,8] = relayout(y.blocked) @ y_2 <- y
  return y
}
"""


@graph_pass(
    known_as={
        "XLA": "LayoutAssignment",
        "TVM": "ConvertLayout",
        "ONNX Runtime": "NchwcTransformer",
    },
    for_code=True,
    example=EXAMPLE,
    needs=("fusion",),
    gives=("layouts",),
    near_miss="""
    graph g(x: f32[1,3,9,8]) {
      const w: f32[5,3,1,1] = splat(0.5)
      a: f32[1,5,9,8] = conv(x, w, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
      return a
    }
    """,
    steps=[
        step_kind(
            "block_channels",
            "Store the channels of a group of kernels in blocks of one vector.",
        ),
        step_kind(
            "channels_last",
            "Store the channels of a group of kernels last, next to each other for each pixel.",
            example="""
            graph g(x: f32[1,32,9,8]) {
              const w: f32[32,32,3,3] = splat(0.5)
              const v: f32[32,32,3,3] = splat(0.25)
              a: f32[1,32,9,8] = conv(x, w, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
              y: f32[1,32,9,8] = conv(a, v, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
              return y
            }
            =>
            graph g(x: f32[1,32,9,8]) {
              const w: f32[32,32,3,3] = splat(0.5)
              const v: f32[32,32,3,3] = splat(0.25)
              x.laid: f32[1,32,9,8]{halo=1x1} = relayout(x) <- a
              a: f32[1,32,9,8]{c32,halo=1x1} =
                conv(x.laid, w, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
              y.blocked: f32[1,32,9,8]{c32} =
                conv(a, v, strides=[1,1], pads=[1,1,1,1], dilations=[1,1]) @ y
              y: f32[1,32,9,8] = relayout(y.blocked) @ y_2 <- y
              return y
            }
            """,
            options={"layouts": "last"},
        ),
        step_kind(
            "halo",
            "Write zeros around an image: windows at the border then need no bounds tests.",
        ),
        step_kind(
            "relayout",
            "Copy a value whose reader requires another layout.",
        ),
    ],
)
def assign_layout(
    graph: Graph,
    log: Log,
    *,
    block: int = 16,
    layouts: Literal["plain", "blocked", "last", "all"] = "blocked",
) -> Graph:
    """Choose memory layouts of images to minimise the total cost of the graph.

    A convolution with channels in blocks of one vector loads weights as full vectors, and each
    pixel only once. A convolution whose input has a halo of zeros needs no border tests. The cost
    of a copy between two layouts follows from its bytes. The pass minimises the total cost of
    kernels and copies. The minimum is exact for a choice between plain order and blocks, or between
    plain order and channels last (`layouts=last`). With `layouts=all` a local search chooses among
    plain order, blocks and channels last.
    """
    if any(not t.layout.is_plain for t in graph.types.values() if isinstance(t, TensorType)):
        log.declined("assign_layout", graph.name, "layouts are assigned already")
        return graph
    if block < 2:
        because = f"a block of {block} channels has the same layout as plain order"
        log.declined("assign_layout", graph.name, because)
        return graph
    if not any(is_image(t) for t in graph.types.values()):
        return graph
    if not log.may("assign_layout", graph.name):
        return graph
    problem, energy, chosen = _chosen(graph, log, block, LABELS[layouts])
    placer = Placer(problem, chosen, log)
    _explain(problem, energy, chosen, log)
    _explain_borders(problem, log)
    after = placer.apply()
    if after is not graph:
        _summarise(energy, chosen, graph, placer, log)
    return after


def _chosen(
    graph: Graph, log: Log, block: int, labels: tuple[int, ...]
) -> tuple[Problem, Energy, list[int]]:
    """Return the layouts of minimum cost among the layouts that the gate of the log permits."""
    allowed: set[str] = set()
    refused: set[str] = set()
    while True:
        problem = Problem(graph, block, labels, frozenset(refused))
        energy = problem.energy()
        chosen = energy.best(labels)
        before = len(refused)
        for i, label in enumerate(chosen):
            at = problem.units[i].node.output
            if label != PLAIN_LABEL and at not in allowed:
                (allowed if log.may(RULES[label], at) else refused).add(at)
        for value, uses in problem.uses.items():
            if problem.reach(uses) and value not in allowed:
                if problem.pads_plain(value) and not log.may("halo", value):
                    refused.add(value)
        if len(refused) == before:
            return problem, energy, chosen


def _explain(problem: Problem, energy: Energy, chosen: Sequence[int], log: Log) -> None:
    """Record a step for each group of connected kernels, with the cost of each layout."""
    touching = by_kernel(energy.copies)
    for kernels in components(energy, chosen):
        label = chosen[kernels[0]]
        others = sorted({x for i in kernels for x in energy.kernels[i]} - {label})
        if not others:
            continue
        copies = list({id(c): c for i in kernels for c in touching.get(i, ())}.values())

        def cost(to: int, kernels=kernels, copies=copies) -> float:
            near = {i for c in copies for i in (*c.readers, c.maker) if i is not None}
            moved = {i: chosen[i] for i in near}
            moved.update((i, to if to in energy.kernels[i] else PLAIN_LABEL) for i in kernels)
            alone = sum(energy.kernels[i][moved[i]] for i in kernels)
            return (alone + sum(c.cost for c in copies if is_needed(c, moved))) * 1e-12

        against = ", ".join(f"{cost(x) * 1e6:,.1f} us with {WORDS[x]}" for x in others)
        because = f"{cost(label) * 1e6:,.1f} us with {WORDS[label]}, {against}, copies included"
        members = [problem.units[i].node.output for i in kernels]
        if label != PLAIN_LABEL:
            log.applied(RULES[label], members[0], because, members, members)
        else:
            log.declined(RULES[others[0]], members[0], because, members)


def _explain_borders(problem: Problem, log: Log) -> None:
    """Record a step for each image that gets no halo because border tests cost less than a copy."""
    for value, uses in problem.uses.items():
        reach = "x".join(map(str, problem.reach(uses)))
        if reach and value not in problem.refused and not problem.pads_plain(value):
            gain, cost = problem.border_gain(value) * 1e-6, problem.border_cost(value) * 1e-6
            because = (
                f"a halo of zeros ({reach}) would save {gain:,.1f} us, but needs a copy of "
                f"{cost:,.1f} us"
            )
            log.declined("halo", value, because, [value])


def _summarise(
    energy: Energy, chosen: Sequence[int], graph: Graph, placer: Placer, log: Log
) -> None:
    plain = energy.of([PLAIN_LABEL] * len(chosen))
    n_bytes = placer.bytes_copied
    copies = "1 copy moves" if placer.n_copies == 1 else f"{placer.n_copies} copies move"
    log.applied(
        "assign_layout",
        graph.name,
        f"an estimated {energy.of(chosen) * 1e-6:,.1f} us instead of {plain * 1e-6:,.1f} us with "
        f"all tensors in plain order; {copies} {n_bytes:,} bytes",
    )
