"""The choice between direct and Winograd convolution.

The attribute `algorithm` of a convolution records the choice; the semantics remain those of the
direct sum. `budget` limits the added error relative to the scale of the results. With a budget of
0, every convolution stays direct. Source: Lavin and Gray 2016 (arXiv:1509.09308).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from compiler.dataclass import dataclass
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.types import Layout, TensorType
from compiler.ops.convolution.window import Window, resolve
from compiler.ops.convolution.winograd import ALGORITHMS, Tiling, unsuitable
from compiler.passes.algorithms.cycles import Products, Shape
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.rule import ROUNDINGS
from compiler.passes.engine.step_kind import step_kind
from compiler.passes.layout.units import Unit, unit_of
from compiler.trace import Log
from compiler.units import count_text, error_text

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
"""Smallest estimated speed-up that selects Winograd: a margin for errors of the model."""


@graph_pass(
    known_as={"XLA": "GpuConvAlgorithmPicker"},
    for_code=True,
    example=EXAMPLE,
    needs=("layouts",),
    gives=("algorithms",),
    steps=[
        step_kind(
            "winograd2",
            "Convolve with a 3x3 window by tiles of 2x2 results: 16 products "
            "instead of 36 per tile.",
            near_miss="""
            graph g(x: f32[1,64,56,54]{c16,halo=1x1}) {
              const v: f32[48,64,3,3] = splat(0.25)
              y: f32[1,48,28,27]{c16} =
                conv(x, v, strides=[2,2], pads=[1,1,1,1], dilations=[1,1])
              return y
            }
            """,
        ),
        step_kind(
            "winograd4",
            "Convolve with a 3x3 window by tiles of 4x4 results: 36 products "
            "instead of 144 per tile.",
            example="""
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
                conv(
                  a, v, strides=[1,1], pads=[1,1,1,1], dilations=[1,1], algorithm="winograd4"
                ) @ y
              y: f32[1,48,56,54] = relayout(y.blocked) @ y_2 <- y
              return y
            }
            """,
            options={"budget": 1.0},
            near_miss="""
            graph g(x: f32[1,64,56,54]{c16,halo=1x1}) {
              const v: f32[48,64,3,3] = splat(0.25)
              y: f32[1,48,28,27]{c16} =
                conv(x, v, strides=[2,2], pads=[1,1,1,1], dilations=[1,1])
              return y
            }
            """,
        ),
        step_kind(
            "relayout",
            "Copy an image in plain order into the layout that Winograd tiles read.",
            example="""
            graph g(x: f32[1,32,30,28]) {
              const v: f32[48,32,3,3] = splat(0.25)
              y: f32[1,48,30,28]{c16} =
                conv(x, v, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
              return y
            }
            =>
            graph g(x: f32[1,32,30,28]) {
              const v: f32[48,32,3,3] = splat(0.25)
              x.laid: f32[1,32,30,28]{c16,halo=1x1} = relayout(x) <- y
              y: f32[1,48,30,28]{c16} =
                conv(
                  x.laid, v, strides=[1,1], pads=[1,1,1,1], dilations=[1,1],
                  algorithm="winograd2"
                )
              return y
            }
            """,
            near_miss="""
            graph g(x: f32[1,32,30,28]) {
              const v: f32[48,32,3,3] = splat(0.25)
              y: f32[1,48,15,14]{c16} =
                conv(x, v, strides=[2,2], pads=[1,1,1,1], dilations=[1,1])
              return y
            }
            """,
        ),
    ],
)
def choose_algorithms(
    graph: Graph,
    log: Log,
    *,
    budget: float = ROUNDINGS,
    direct: Products = "f32",
) -> Graph:
    """Select Winograd convolution, which needs fewer multiplications, where it is faster.

    For a 3x3 window, a tile of 2x2 results needs 16 products instead of 36, and a tile of 4x4
    results 36 instead of 144. The cost of transforms grows with the number of channels, the cost of
    products with the number of channel pairs. The weights grow by a factor of 1.8 or 4, which does
    not pay for small images. The larger tiles have ten times the rounding error: `budget` limits
    the error. `direct` is the hardware that multiplies in direct sums: vectors of f32 or bf16, or
    matrix tiles of bf16. If `direct` is "parts", each f32 product is computed by three tile
    products of bf16 parts. Winograd tiles are always multiplied as f32 vectors.
    """
    ed, n_chosen = Editor(graph), 0
    for node in graph.nodes:
        unit = _convolution(node, graph)
        if unit is None:
            continue
        chosen = _chosen(unit, graph, budget, direct, log)
        if chosen is not None:
            made = _computed_by(node, unit, chosen)
            ed.update(node, made)
            if _is_plain(unit, graph):
                _copy_image(ed, made, unit, log)
            n_chosen += 1
    return ed.graph() if n_chosen else graph


def _convolution(node: Node, graph: Graph) -> Unit | None:
    """Return the kernel of a node if its anchor is a direct convolution, else None."""
    if node.op not in ("conv", "fusion"):
        return None
    unit = unit_of(node, graph)
    anchor = unit.anchor
    if anchor is None or anchor.op != "conv" or anchor.attrs["algorithm"] != DIRECT:
        return None
    return unit if all(i in unit.operand_of for i in anchor.inputs[:2]) else None


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An algorithm for a convolution; `gain` is the estimated speed-up."""

    name: str
    tiling: Tiling
    gain: float


def _chosen(unit: Unit, graph: Graph, budget: float, direct: Products, log: Log) -> str | None:
    """Return the fastest algorithm within the budget; None for the direct sum."""
    conv, at = unit.anchor, unit.node.output
    assert conv is not None, "a convolution has an anchor"
    obstacle = _obstacle(unit, conv, graph)
    if obstacle:
        log.declined("tile", at, obstacle, [unit.node])
        return None
    shape = replace(_shape(unit, conv, graph), products=direct)
    is_plain = _is_plain(unit, graph)
    copied = " (with a copy of the image into blocks of channels)" if is_plain else ""
    found = _candidates(shape, shape.copy if is_plain else 0)
    for c in sorted(found, key=lambda c: -c.gain):
        what = f"estimated {c.gain:.2f} times as fast as direct convolution{copied}"
        if c.gain < LEAST_GAIN:
            log.declined(c.name, at, f"{what}: {_why_not(shape, c.tiling)}", [unit.node])
        elif c.tiling.error > budget:
            error, most = error_text(c.tiling.error), error_text(budget)
            because = f"{what}, but its error, {error}, exceeds the budget, {most}"
            log.declined(c.name, at, because, [unit.node])
        elif log.may(c.name, at):
            because = f"{what}: {_products(shape, c.tiling)}"
            log.applied(c.name, at, because, [unit.node], [at], error=c.tiling.error)
            return c.name
    return None


def _candidates(shape: Shape, before: float) -> Iterator[_Candidate]:
    for name, tiling in ALGORITHMS.items():
        if tiling is not None:
            yield _Candidate(name, tiling, shape.direct / (before + shape.tiled(tiling)))


def _obstacle(unit: Unit, conv: Node, graph: Graph) -> str:
    """Return the reason that Winograd does not apply to a convolution, or "" if it does."""
    x, w = graph.types[unit.data], graph.types[unit.weights]
    y = unit.node.types[0]
    if not all(isinstance(t, TensorType) and t.is_ranked for t in (x, w, y)):
        return "the sizes are known only at run time"
    assert isinstance(x, TensorType)
    assert isinstance(w, TensorType)
    assert isinstance(y, TensorType)
    if not w.is_static or not x.is_static:
        return "the sizes are known only at run time"
    window = _window(conv, x, w)
    sizes = (*conv_sizes(conv), *x.static_shape[:2])
    obstacle = unsuitable(x.dtype, sizes, window, int(conv.attrs["groups"]))
    if obstacle:
        return obstacle
    if unit.weights not in graph.constants:
        return "the weights are computed at run time"
    if y.layout.block == 1:
        return "the result is in plain order, but Winograd tiles need blocks of channels"
    if x.layout.block == 1:
        n, block = x.static_shape[1], y.layout.block
        if n >= block:
            return ""
        return f"the image has {count_text(n, 'channel')}, fewer than a block of {block}"
    if any(h < p for h, p in zip(x.layout.halo_of(4), window.pads_begin, strict=True)):
        return "the image is stored without its zero padding: each tile would test for the border"
    return ""


def conv_sizes(conv: Node) -> tuple[int, ...]:
    """Return the shape of a convolution's result."""
    made = conv.types[0]
    assert isinstance(made, TensorType)
    return made.static_shape


def _window(conv: Node, x: TensorType, w: TensorType) -> Window:
    """Return the window of a convolution with known sizes."""
    attrs = {k: conv.attrs[k] for k in ("strides", "pads", "dilations", "auto_pad")}
    return resolve(x.static_shape[2:], w.static_shape[2:], **attrs)


def _is_plain(unit: Unit, graph: Graph) -> bool:
    """Whether the image is in plain order; Winograd then first copies it into channel blocks."""
    x = graph.types[unit.data]
    return isinstance(x, TensorType) and x.layout.block == 1


def _copy_image(ed: Editor, node: Node, unit: Unit, log: Log) -> None:
    """Copy the image of a convolution into the layout of its tiles, or change the existing copy."""
    x, y = ed.type(unit.data), node.types[0]
    assert isinstance(x, TensorType)
    assert isinstance(y, TensorType)
    w = ed.type(unit.weights)
    assert unit.anchor is not None
    assert isinstance(w, TensorType)
    window = _window(unit.anchor, x, w)
    halo = tuple(map(max, window.pads_begin, window.pads_end))
    laid = x.with_layout(Layout(y.layout.block, halo))
    maker = ed.producer(unit.data)
    if maker is not None and maker.op == "relayout" and ed.n_uses(unit.data) == 1:
        ed.update(maker, replace(maker, types=(laid,)))
        return
    made = ed.fresh(f"{unit.data}.laid")
    origins = node.origins if maker is None else maker.origins
    ed.add(Node("relayout", (unit.data,), (made,), (laid,), {}, made, origins))
    ed.update(node, node.with_inputs({unit.data: made}))
    order = str(laid.layout) or "plain order"
    because = (
        f"{x} is copied to {order}, the layout that Winograd tiles read; the copy moves "
        f"{x.nbytes + laid.nbytes:,} bytes"
    )
    log.applied("relayout", unit.data, because, [unit.data], [made])


def _shape(unit: Unit, conv: Node, graph: Graph) -> Shape:
    x = graph.types[unit.data]
    assert isinstance(x, TensorType)
    images, outputs, height, width = conv_sizes(conv)
    return Shape(images, x.static_shape[1], outputs, height, width)


def _products(shape: Shape, tiling: Tiling) -> str:
    m = tiling.outputs
    n_tiles = -(-shape.height // m) * -(-shape.width // m)
    tiled, direct = tiling.inputs**2 * n_tiles, 9 * shape.height * shape.width
    return f"{tiled:,} multiplications per pair of channels instead of {direct:,}"


def _why_not(shape: Shape, tiling: Tiling) -> str:
    growth = tiling.inputs**2 / 9
    n_bytes = 36 * shape.channels * shape.outputs
    return (
        f"{_products(shape, tiling)}, but {n_bytes:,} bytes of weights grow by a factor of "
        f"{growth:.1f}, and {shape.channels} input and {shape.outputs} output channels need "
        "transforms"
    )


def _computed_by(node: Node, unit: Unit, algorithm: str) -> Node:
    """Return the node with `algorithm` set on its convolution."""
    conv = unit.anchor
    assert conv is not None, "a convolution has an anchor"
    made = replace(conv, attrs={**conv.attrs, "algorithm": algorithm})
    if node.op == "conv":
        return made
    body = node.regions["body"]
    nodes = tuple(made if n is conv else n for n in body.nodes)
    return replace(node, regions={**node.regions, "body": replace(body, nodes=nodes)})
