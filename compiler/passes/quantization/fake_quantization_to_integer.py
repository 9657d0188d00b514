"""Conversion of convolutions and matrix products of dequantized operands to integer arithmetic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import Array, Call, Operand
from compiler.ir.regions import close
from compiler.ir.types import DType
from compiler.passes.control_flow.loop_invariant_code_motion import LOOPS
from compiler.passes.engine.cost import cost_of
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.rule import ROUNDINGS
from compiler.passes.quantization.codes import (
    Codes,
    RunCodes,
    Weights,
    as_bytes,
    codes_of,
    objection_to_groups,
    operand,
    run_codes_of,
    weights_of,
)
from compiler.passes.rules.calls import o
from compiler.trace import Log

RULE = "fake_quantization_to_integer"

MOST_TERMS = 1 << 16
"""Largest number of u8 by i8 products whose sum fits into i32; half as many for u8 by u8."""

MOST_CODE = 255

WINDOW = ("strides", "pads", "dilations", "groups", "auto_pad")
"""Attributes of a convolution that determine the elements that it reads."""

FEWEST_COLUMNS = 8
"""Smallest number of columns; fewer columns would fill too few lanes of a vector."""


@graph_pass(
    aliases=("integer_products",),
    known_as={"TVM": "FakeQuantizationToInteger", "ONNX Runtime": "QDQSelectorActionTransformer"},
    for_code=True,
    needs=["constants"],
    example="""
    graph g(x: u8[3,2]) {
      const s: f32[] = literal(0.5)
      const z: u8[] = literal(130)
      const w: i8[2,8] = splat(7)
      const t: f32[] = literal(0.25)
      a: f32[3,2] = dequantize(x, s, z, to=f32)
      b: f32[2,8] = dequantize(w, t, to=f32)
      y: f32[3,8] = matmul(a, b)
      return y
    }
    =>
    graph g(x: u8[3,2]) {
      const y.a.x.a.b: i8[2,8] = literal(7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7) <- y
      const y.a.x.b: i32[8] = literal(-1820,-1820,-1820,-1820,-1820,-1820,-1820,-1820) <- y
      const y.b: f32[] = literal(0.125) <- y
      y.a.x.a: i32[3,8] = matmul_integer(x, y.a.x.a.b) <- y
      y.a.x: i32[3,8] = add(y.a.x.a, y.a.x.b) <- y
      y.a: f32[3,8] = cast(y.a.x, to=f32) <- y
      y: f32[3,8] = mul(y.a, y.b)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[3,2]) {
      const w: i8[2,8] = splat(7)
      const t: f32[] = literal(0.25)
      b: f32[2,8] = dequantize(w, t, to=f32)
      y: f32[3,8] = matmul(x, b)
      return y
    }
    """,
)
def fake_quantization_to_integer(graph: Graph, log: Log) -> Graph:
    """Multiply quantized integers and scale the i32 sums, instead of dequantizing operands.

    Let s and t be scales, z and v zero points. The sum of s(x - z) * t(w - v) is
    s * t * (A - z * B). Here, A is the sum of x * (w - v), and B is the sum of w - v, a constant.
    An integer instruction multiplies four pairs of bytes in the time that a float instruction needs
    for one pair. Scaling each sum once, instead of every operand, reduces rounding errors.
    Source: Jacob et al. 2018 (arXiv:1712.05877), section 2.3; QDQ transformers of ONNX Runtime.
    """
    if not any(n.op == "dequantize" for n in graph.nodes):
        return graph
    ed, n_done = Editor(graph), 0
    for node in graph.nodes:
        if node.op in ("conv", "matmul"):
            n_done += _change(ed, log, node)
        elif node.op in LOOPS:
            n_done += _brought_in(ed, graph, node)
    return ed.graph() if n_done else graph


def _brought_in(ed: Editor, graph: Graph, loop: Node) -> bool:
    """Copy dequantize nodes of weights into a loop body; return whether any were copied."""
    body = loop.regions["body"]
    inner = Editor(close(body, graph.types, graph.constants).graph)
    nodes: list[Node] = []
    for node in body.nodes:
        makers = _makers_outside(ed, inner, node) if node.op == "matmul" else ()
        names = {m.output: ed.fresh(m.output) for m in makers}
        nodes += (replace(m.with_inputs(names), outputs=(names[m.output],)) for m in makers)
        nodes.append(node.with_inputs(names))
    if len(nodes) == len(body.nodes):
        return False
    ed.update(loop, replace(loop, regions={"body": replace(body, nodes=tuple(nodes))}))
    return True


def _makers(ed: Editor, value: str) -> dict[Node, None]:
    """Return all nodes on which a value depends, in topological order."""
    maker = ed.producer(value)
    if maker is None:
        return {}
    found: dict[Node, None] = {}
    for i in filter(None, maker.inputs):
        found |= _makers(ed, i)
    return {**found, maker: None}


def _makers_outside(ed: Editor, inner: Editor, node: Node) -> tuple[Node, ...]:
    """Return the nodes outside a loop that dequantize weights for a product inside the loop."""
    if ed.producer(node.inputs[1]) is None or inner.producer(node.inputs[1]) is not None:
        return ()
    w = _columns(ed, node)
    if isinstance(w, str) or _objection(node, _rows(inner, node), w):
        return ()
    return tuple(_makers(ed, node.inputs[1]))


def _change(ed: Editor, log: Log, node: Node) -> bool:
    x, w = _rows(ed, node), _columns(ed, node)
    if isinstance(x, str) and isinstance(w, str):
        return False
    objection = _objection(node, x, w)
    if objection:
        log.declined(RULE, node.output, objection, [node])
        return False
    assert not isinstance(x, str)
    assert isinstance(w, Weights)
    if not log.may(RULE, node.output):
        return False
    took = [x.node, *w.nodes, node]
    before = cost_of([node], ed.type)
    ed.made.clear()
    ed.made_constants.clear()
    if isinstance(x, RunCodes):
        call = _product_by_run(ed, node, x, w)
    else:
        call = _convolution(ed, node, x, w) if node.op == "conv" else _product(ed, node, x, w)
    made = ed.producer(ed.build(call, hint=node.output, origins=node.origins))
    assert made is not None
    ed.rename(made, node)
    ed.remove_unused([n.output for n in took[:-1] if n.outputs])
    because = (
        f"sums of {_n_terms(w, node):,} products of {ed.tensor(x.value).dtype} and i8 are exact "
        "in i32, and are scaled once"
    )
    new = [*ed.made, *ed.made_constants]
    log.applied(
        RULE, node.output, because, took, new, ROUNDINGS, "", before, cost_of(ed.made, ed.type)
    )
    return True


def _rows(ed: Editor, node: Node) -> Codes | RunCodes | str:
    """Return the quantized first operand; the scale of a matrix may be known only at run time."""
    found = run_codes_of(ed, node.inputs[0]) if node.op == "matmul" else None
    return codes_of(ed, node.inputs[0]) if found is None else found


def _columns(ed: Editor, node: Node) -> Weights | str:
    """Return the quantized second operand, transposed if the product transposes it."""
    w = weights_of(ed, node.inputs[1])
    if isinstance(w, Weights) and node.attrs.get("transpose_b") and w.codes.ndim == 2:
        return w.turned((1, 0))
    return w


def _objection(node: Node, x: Codes | RunCodes | str, w: Weights | str) -> str:
    """Return the reason that a product stays in floats, or "" if integers can be multiplied."""
    for found in (x, w):
        if isinstance(found, str):
            return found
    assert isinstance(w, Weights)
    found = _stored(w, node)
    if found is None:
        low, high = w.codes.min(), w.codes.max()
        return f"the weights minus their zero points, {low} to {high}, exceed the range of a byte"
    if _n_terms(w, node) > (MOST_TERMS if found[1] is None else MOST_TERMS // 2):
        return f"sums of {_n_terms(w, node):,} products may overflow i32"
    if node.op == "matmul":
        return _objection_to_columns(node, w)
    return _objection_to_filters(node, w)


def _stored(w: Weights, node: Node) -> tuple[Array, Array | None] | None:
    """Return weights as i8, or as u8 with a zero point per filter or column if they exceed i8.

    Return None if the weights of a filter or column exceed the range of a byte.
    """
    as_signed = as_bytes(w.codes)
    if as_signed is not None:
        return as_signed, None
    kept = 0 if node.op == "conv" else w.codes.ndim - 1
    others = tuple(d for d in range(w.codes.ndim) if d != kept)
    least = np.minimum(w.codes.min(axis=others, keepdims=True), 0)
    moved = w.codes - least
    if moved.max() > MOST_CODE or least.min() < -MOST_CODE:
        return None
    return moved.astype(np.uint8), (-least).astype(np.uint8).reshape(-1)


def _objection_to_columns(node: Node, w: Weights) -> str:
    if w.codes.ndim != 2:
        return f"weights with {w.codes.ndim} axes are not a matrix"
    if node.attrs["transpose_a"]:
        return "the other operand is transposed"
    if w.codes.shape[1] < FEWEST_COLUMNS:
        return f"{w.codes.shape[1]} columns fill too few lanes of a vector"
    along = w.scale.size == 1 or w.axis == 1
    return "" if along else "the scales vary along the axis of summation"


def _objection_to_filters(node: Node, w: Weights) -> str:
    n_filters, per_group = w.codes.shape[:2]
    objection = objection_to_groups(int(node.attrs["groups"]), n_filters, per_group)
    if objection:
        return objection
    if n_filters < 2:
        return "a single filter fills too few lanes of a vector"
    along = w.scale.size == 1 or w.axis == 0
    return "" if along else "the scales vary along the summed channels"


def _n_terms(w: Weights, node: Node) -> int:
    n = w.codes.shape[0] if node.op == "conv" else w.codes.shape[-1]
    return w.codes.size // max(n, 1)


def _convolution(ed: Editor, node: Node, x: Codes, w: Weights) -> Call:
    behind = (-1, *[1] * (w.codes.ndim - 2))
    window = {k: node.attrs[k] for k in WINDOW}
    codes = ed.tensor(x.value)
    found = _stored(w, node)
    assert found is not None
    stored, zeros = found
    added = np.zeros(len(stored), np.int64)
    if zeros is None:
        sums = o.conv_codes(codes, stored, around=x.zero, **window)
        added = -x.zero * w.codes.sum(axis=tuple(range(1, w.codes.ndim)), dtype=np.int64)
    else:
        sums = o.conv_integer(codes, stored, np.array(x.zero, codes.dtype.numpy), zeros, **window)
    scale = (x.scale * w.scale).astype(np.float32)
    bias: Operand = None
    if operand(node, 2):
        whole = _whole_bias(ed, operand(node, 2), scale)
        if whole is not None:
            added = added + whole
        else:
            bias = o.reshape(ed.tensor(operand(node, 2)), np.array(behind, np.int64))
    scales = scale.reshape(behind) if scale.size > 1 else scale.reshape(())
    return _scaled(sums, added.reshape(behind), scales, bias)


def _product(ed: Editor, node: Node, x: Codes, w: Weights) -> Call:
    codes = ed.tensor(x.value)
    found = _stored(w, node)
    assert found is not None
    stored, zeros = found
    added = np.zeros(stored.shape[1], np.int64)
    if zeros is None:
        sums = o.matmul_integer(codes, stored)
        added = -x.zero * w.codes.sum(axis=0, dtype=np.int64)
    else:
        sums = o.matmul_integer(codes, stored, np.array(x.zero, codes.dtype.numpy), zeros)
    scale = (x.scale * w.scale).astype(np.float32)
    scales = scale if scale.size > 1 else scale.reshape(())
    return _scaled(sums, added, scales, None)


def _product_by_run(ed: Editor, node: Node, x: RunCodes, w: Weights) -> Call:
    found = _stored(w, node)
    assert found is not None
    sums = o.matmul_integer(ed.tensor(x.value), found[0], ed.tensor(x.zero), found[1])
    scales = w.scale if w.scale.size > 1 else w.scale.reshape(())
    return o.mul(o.cast(sums, to=DType.f32), o.mul(ed.tensor(x.scale), scales))


def _scaled(sums: Call, added: Array, scale: Array, bias: Operand) -> Call:
    """Add the correction for zero points to the sums, and scale them."""
    total: Operand = o.add(sums, added.astype(np.int32)) if added.any() else sums
    made = o.mul(o.cast(total, to=DType.f32), scale)
    return made if bias is None else o.add(made, bias)


def _whole_bias(ed: Editor, value: str, scale: Array) -> Array | None:
    """Return the bias as quantized integers if it has the scale of the sums, else None."""
    found = weights_of(ed, value)
    if isinstance(found, str) or found.codes.ndim != 1:
        return None
    fits = found.scale.size in (1, scale.size) and np.allclose(
        found.scale, scale, rtol=1e-5, atol=0
    )
    return found.codes.astype(np.int64) if fits else None
