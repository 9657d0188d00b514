"""Decomposition of dynamic quantization into a range computation and an elementwise quantize."""

from __future__ import annotations

from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.types import DType
from compiler.passes.engine.cost import cost_of
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.rules.calls import o
from compiler.trace import Log

RULE = "decompose_dynamic_quantization"

READERS = {"conv_codes", "conv_integer", "window_sums", "pad"}  # Own: a matter of speed.
"""Operators on quantized images that are faster in layouts other than plain order."""


@graph_pass(
    aliases=("split_ranges",),
    for_code=True,
    example="""
    graph g(x: f32[1,32,5,6]) {
      const w: i8[16,32,1,1] = splat(7)
      q: u8[1,32,5,6], s: f32[], z: u8[] = dynamic_quantize(x)
      y: i32[1,16,5,6] = conv_codes(q, w, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
      return y
    }
    =>
    graph g(x: f32[1,32,5,6]) {
      const w: i8[16,32,1,1] = splat(7)
      q.range: f32[], q.range_2: u8[], q.range_3: f32[], q.range_4: f32[] =
        quantization_range(x) <- q
      q: u8[1,32,5,6] = quantize(x, q.range, q.range_2, to=u8, precision=f32)
      y: i32[1,16,5,6] = conv_codes(q, w, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[4,32]) {
      const w: i8[32,16] = splat(7)
      q: u8[4,32], s: f32[], z: u8[] = dynamic_quantize(x)
      y: i32[4,16] = matmul_integer(q, w, z)
      return y
    }
    """,
)
def decompose_dynamic_quantization(graph: Graph, log: Log) -> Graph:
    """Split dynamic quantization into a range computation and an elementwise quantize.

    The range depends on all elements, but each quantized element depends on a single element. The
    quantize node can therefore read and write any memory layout.
    """
    ed, n_done = Editor(graph), 0
    for node in graph.nodes:
        if node.op != "dynamic_quantize":
            continue
        readers = {n.op for n in graph.users.get(node.output, ())}
        if not readers & READERS:
            log.declined(RULE, node.output, "no convolution reads the quantized image", [node])
        elif log.may(RULE, node.output):
            _split(ed, log, node)
            n_done += 1
    return ed.graph() if n_done else graph


def _split(ed: Editor, log: Log, node: Node) -> None:
    ed.made.clear()
    before, x = cost_of([node], ed.type), ed.tensor(node.inputs[0])
    found = o.quantization_range(x)
    numbers = [
        ed.build(found.out(i), hint=f"{node.output}.range", origins=node.origins) for i in (0, 1)
    ]
    scale, zero = map(ed.tensor, numbers)
    call = o.quantize(x, scale, zero, to=DType.u8, precision=x.dtype)
    made = ed.producer(ed.build(call, hint=node.output, origins=node.origins))
    assert made is not None
    for old, new in zip(node.outputs[1:], numbers, strict=True):
        ed.replace(old, new)
    ed.rename(made, node)
    because = "the image and the quantized image may have a layout of channel blocks"
    after = cost_of(ed.made, ed.type)
    log.applied(RULE, node.output, because, [node], ed.made, 0.0, "", before, after)
