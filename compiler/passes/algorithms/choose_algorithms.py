"""Which convolutions are computed in tiles, with fewer products (Winograd), and which are not.

A choice is visible: the attribute `algorithm` of the convolution says how its code computes it, its
meaning stays the direct sum. `budget` is the error that one choice may add, relative to the scale
of its results; with 0 every convolution stays as it is.
Source: Lavin and Gray 2016 (arXiv:1509.09308).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.types import TensorType
from compiler.ops.window import resolve
from compiler.ops.winograd import ALGORITHMS, Tiling, unsuitable
from compiler.passes.algorithms.cycles import Shape
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.rule import ROUNDINGS
from compiler.passes.layout.units import Unit, unit_of
from compiler.trace import Log

DIRECT = "direct"

EXAMPLE = """
graph g(x: f32[1,3,56,54]) {
  const w: f32[64,3,3,3] = splat(0.5)
  const v: f32[48,64,3,3] = splat(0.25)
  x.laid: f32[1,3,56,54]{halo=1x1} = relayout(x) <- a
  a: f32[1,64,56,54]{c16,halo=1x1} =
    conv(x.laid, w, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
  y.blocked: f32[1,48,56,54]{c16} =
    conv(a, v, strides=[1,1], pads=[1,1,1,1], dilations=[1,1]) @ y
  y: f32[1,48,56,54] = relayout(y.blocked) @ y_2 <- y
  return y
}
=>
graph g(x: f32[1,3,56,54]) {
  const w: f32[64,3,3,3] = splat(0.5)
  const v: f32[48,64,3,3] = splat(0.25)
  x.laid: f32[1,3,56,54]{halo=1x1} = relayout(x) <- a
  a: f32[1,64,56,54]{c16,halo=1x1} =
    conv(x.laid, w, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
  y.blocked: f32[1,48,56,54]{c16} =
    conv(a, v, strides=[1,1], pads=[1,1,1,1], dilations=[1,1], algorithm="winograd2") @ y
  y: f32[1,48,56,54] = relayout(y.blocked) @ y_2 <- y
  return y
}
"""

LEAST_GAIN = 1.05
"""By how much a choice has to be faster by the model, which is not that exact."""


@graph_pass(
    example=EXAMPLE,
    needs=("layouts",),
    gives=("algorithms",),
)
def choose_algorithms(graph: Graph, log: Log, *, budget: float = ROUNDINGS) -> Graph:
    """Compute convolutions in tiles where that needs fewer products and is faster.

    A tile of 2x2 results of a 3x3 window takes 16 products instead of 36, one of 4x4 takes 36
    instead of 144. Transforms of the image and the results are paid for once per channel, products
    once per pair of channels. The weights grow 1.8 or 4 times, which small images do not pay for.
    The larger tiles round ten times as much: `budget` says how much error is allowed.
    """
    ed, n_chosen = Editor(graph), 0
    for node in graph.nodes:
        unit = _convolution(node, graph)
        if unit is None:
            continue
        chosen = _chosen(unit, graph, budget, log)
        if chosen is not None:
            ed.update(node, _computed_by(node, unit, chosen))
            n_chosen += 1
    return ed.graph() if n_chosen else graph


def _convolution(node: Node, graph: Graph) -> Unit | None:
    """The kernel of a node, when it is built around one convolution that is computed directly."""
    if node.op not in ("conv", "fusion"):
        return None
    unit = unit_of(node, graph)
    anchor = unit.anchor
    if anchor is None or anchor.op != "conv" or anchor.attrs["algorithm"] != DIRECT:
        return None
    return unit if all(i in unit.operand_of for i in anchor.inputs[:2]) else None


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An algorithm for one convolution; `gain` is how many times as fast it is by the model."""

    name: str
    tiling: Tiling
    gain: float


def _chosen(unit: Unit, graph: Graph, budget: float, log: Log) -> str | None:
    """The fastest algorithm within the budget; None for the direct sum."""
    conv, at = unit.anchor, unit.node.output
    assert conv is not None, "a convolution has an anchor"
    obstacle = _obstacle(unit, conv, graph)
    if obstacle:
        log.declined("tile", at, obstacle, [unit.node])
        return None
    shape = _shape(unit, conv, graph)
    for c in sorted(_candidates(shape), key=lambda c: -c.gain):
        what = f"by the model {c.gain:.2f} times as fast as the direct sum"
        if c.gain < LEAST_GAIN:
            log.declined(c.name, at, f"{what}: {_why_not(shape, c.tiling)}", [unit.node])
        elif c.tiling.error > budget:
            because = f"{what}, but its error of {c.tiling.error:g} is above {budget:g}"
            log.declined(c.name, at, because, [unit.node])
        elif log.may(c.name, at):
            because = f"{what}: {_products(shape, c.tiling)}"
            log.applied(c.name, at, because, [unit.node], [at], error=c.tiling.error)
            return c.name
    return None


def _candidates(shape: Shape) -> Iterator[_Candidate]:
    for name, tiling in ALGORITHMS.items():
        if tiling is not None:
            yield _Candidate(name, tiling, shape.direct / shape.tiled(tiling))


def _obstacle(unit: Unit, conv: Node, graph: Graph) -> str:
    """Why a convolution cannot be computed in tiles, whatever that would gain; "" when it can."""
    x, w = graph.types[unit.data], graph.types[unit.weights]
    y = unit.node.types[0]
    if not all(isinstance(t, TensorType) and t.is_ranked for t in (x, w, y)):
        return "its sizes are known only when the program runs"
    assert isinstance(x, TensorType)
    assert isinstance(w, TensorType)
    assert isinstance(y, TensorType)
    if not w.is_static or not x.is_static:
        return "its sizes are known only when the program runs"
    attrs = {k: conv.attrs[k] for k in ("strides", "pads", "dilations", "auto_pad")}
    window = resolve(x.static_shape[2:], w.static_shape[2:], **attrs)
    sizes = (*conv_sizes(conv), *x.static_shape[:2])
    obstacle = unsuitable(x.dtype, sizes, window, int(conv.attrs["groups"]))
    if obstacle:
        return obstacle
    if unit.weights not in graph.constants:
        return "its weights are computed when the program runs"
    for what, t in (("image", x), ("result", y)):
        if t.layout.block == 1:
            return f"its {what} lies in plain order: tiles are computed for blocks of channels"
    if any(h < p for h, p in zip(x.layout.halo_of(4), window.pads_begin, strict=True)):
        return "there are no zeros around its image: every tile would test for the border"
    return ""


def conv_sizes(conv: Node) -> tuple[int, ...]:
    """The shape of what a convolution makes."""
    made = conv.types[0]
    assert isinstance(made, TensorType)
    return made.static_shape


def _shape(unit: Unit, conv: Node, graph: Graph) -> Shape:
    x = graph.types[unit.data]
    assert isinstance(x, TensorType)
    images, outputs, height, width = conv_sizes(conv)
    return Shape(images, x.static_shape[1], outputs, height, width)


def _products(shape: Shape, tiling: Tiling) -> str:
    m = tiling.outputs
    n_tiles = -(-shape.height // m) * -(-shape.width // m)
    tiled, direct = tiling.inputs**2 * n_tiles, 9 * shape.height * shape.width
    return f"{tiled:,} products for each pair of channels instead of {direct:,}"


def _why_not(shape: Shape, tiling: Tiling) -> str:
    growth = tiling.inputs**2 / 9
    n_bytes = 36 * shape.channels * shape.outputs
    return (
        f"{_products(shape, tiling)}, weights grow {growth:.1f} times from {n_bytes:,} bytes, and "
        f"{shape.channels} and {shape.outputs} channels are transformed"
    )


def _computed_by(node: Node, unit: Unit, algorithm: str) -> Node:
    """The node with its convolution computed so."""
    conv = unit.anchor
    assert conv is not None, "a convolution has an anchor"
    made = replace(conv, attrs={**conv.attrs, "algorithm": algorithm})
    if node.op == "conv":
        return made
    body = node.regions["body"]
    nodes = tuple(made if n is conv else n for n in body.nodes)
    return replace(node, regions={**node.regions, "body": replace(body, nodes=nodes)})
