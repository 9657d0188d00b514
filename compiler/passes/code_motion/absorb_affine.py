"""Motion of per-channel scales and shifts towards inputs, into weights that absorb them."""

from __future__ import annotations

from dataclasses import replace

from compiler.dataclass import dataclass
from compiler.ir.constant import Constant
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, merge_origins
from compiler.ir.operator import Cost
from compiler.ir.types import TensorType, logical
from compiler.passes.code_motion.absorbers import WAYS, Affine, Edits, absorb
from compiler.passes.engine.cost import bytes_saved, node_cost, traffic_text
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.pattern import ConstTensor, uniform
from compiler.passes.engine.rule import ROUNDINGS
from compiler.passes.engine.step_kind import step_kind
from compiler.passes.rules.affine_parts import Objection, channels
from compiler.trace import Log


@graph_pass(
    known_as={"TVM": "FoldScaleAxis"},
    needs=["constants", "single uses"],
    example="""
    graph g(x: f32[1,2,3], y: f32[1,1,3]) {
      const v: f32[2,2,1] = literal(1.0,2.0,3.0,4.0)
      const w: f32[1,1,1] = literal(5.0)
      const s: f32[3,1] = literal(2.0,10.0,0.5)
      a: f32[1,2,3] = conv(x, v, strides=[1], pads=[0,0], dilations=[1])
      b: f32[1,1,3] = conv(y, w, strides=[1], pads=[0,0], dilations=[1])
      c: f32[1,3,3] = concat(a, b, axis=1)
      r: f32[1,3,3] = relu(c)
      z: f32[1,3,3] = mul(r, s)
      return z
    }
    =>
    graph g(x: f32[1,2,3], y: f32[1,1,3]) {
      const a.w: f32[2,2,1] = literal(2.0,4.0,30.0,40.0)
      const b.w: f32[1,1,1] = literal(2.5)
      a: f32[1,2,3] = conv(x, a.w, strides=[1], pads=[0,0], dilations=[1])
      b: f32[1,1,3] = conv(y, b.w, strides=[1], pads=[0,0], dilations=[1])
      c: f32[1,3,3] = concat(a, b, axis=1)
      r: f32[1,3,3] = relu(c)
      return z=r
    }
    """,
    steps=[
        step_kind(
            "absorb_scale",
            """Multiply the weights before concatenations, sums and activations by a constant scale.

            A negative scale does not commute with an activation such as relu.""",
            near_miss="""
            graph g(x: f32[1,2,3], y: f32[1,1,3]) {
              const v: f32[2,2,1] = literal(1.0,2.0,3.0,4.0)
              const w: f32[1,1,1] = literal(5.0)
              const s: f32[3,1] = literal(2.0,-10.0,0.5)
              a: f32[1,2,3] = conv(x, v, strides=[1], pads=[0,0], dilations=[1])
              b: f32[1,1,3] = conv(y, w, strides=[1], pads=[0,0], dilations=[1])
              c: f32[1,3,3] = concat(a, b, axis=1)
              r: f32[1,3,3] = relu(c)
              z: f32[1,3,3] = mul(r, s)
              return z
            }
            """,
        ),
        step_kind(
            "absorb_shift",
            """Add a constant shift to the biases before concatenations, sums and pools.

            A shift does not commute with an activation.""",
            example="""
            graph g(x: f32[1,2,3], y: f32[1,1,3]) {
              const v: f32[2,2,1] = literal(1.0,2.0,3.0,4.0)
              const w: f32[1,1,1] = literal(5.0)
              const s: f32[3,1] = literal(2.0,10.0,0.5)
              a: f32[1,2,3] = conv(x, v, strides=[1], pads=[0,0], dilations=[1])
              b: f32[1,1,3] = conv(y, w, strides=[1], pads=[0,0], dilations=[1])
              c: f32[1,3,3] = concat(a, b, axis=1)
              z: f32[1,3,3] = add(c, s)
              return z
            }
            =>
            graph g(x: f32[1,2,3], y: f32[1,1,3]) {
              const v: f32[2,2,1] = literal(1.0,2.0,3.0,4.0)
              const w: f32[1,1,1] = literal(5.0)
              const a.b: f32[2] = literal(2.0,10.0)
              const b.b: f32[1] = literal(0.5)
              a: f32[1,2,3] = conv(x, v, a.b, strides=[1], pads=[0,0], dilations=[1]) <- a, z
              b: f32[1,1,3] = conv(y, w, b.b, strides=[1], pads=[0,0], dilations=[1]) <- b, z
              c: f32[1,3,3] = concat(a, b, axis=1)
              return z=c
            }
            """,
            near_miss="""
            graph g(x: f32[1,2,3], y: f32[1,1,3]) {
              const v: f32[2,2,1] = literal(1.0,2.0,3.0,4.0)
              const w: f32[1,1,1] = literal(5.0)
              const s: f32[3,1] = literal(2.0,10.0,0.5)
              a: f32[1,2,3] = conv(x, v, strides=[1], pads=[0,0], dilations=[1])
              b: f32[1,1,3] = conv(y, w, strides=[1], pads=[0,0], dilations=[1])
              c: f32[1,3,3] = concat(a, b, axis=1)
              r: f32[1,3,3] = relu(c)
              z: f32[1,3,3] = add(r, s)
              return z
            }
            """,
        ),
    ],
)
def absorb_affine(graph: Graph, log: Log) -> Graph:
    """Fold a scale or shift into weights across sums, concatenations, pools and activations.

    A scale commutes with a sum if both operands absorb it, and with a concatenation if all operands
    do. Positive scales also commute with a relu and a maximum. The pass rewrites only if every path
    ends in weights or constants without other readers; the multiplication is then removed.
    """
    ed = Editor(graph)
    n_done = 0
    for old in graph.nodes:
        node = ed.producer(old.output)
        if node is not None and node.op in ("mul", "add") and len(node.inputs) == 2:
            n_done += _visit(ed, node, log)
    return ed.graph() if n_done else graph


@dataclass(frozen=True)
class _Root:
    """A scale or shift by a constant: the node, and the value scaled or shifted."""

    node: Node
    value: str
    constant: str

    @property
    def rule(self) -> str:
        return "absorb_scale" if self.node.op == "mul" else "absorb_shift"


def _visit(ed: Editor, node: Node, log: Log) -> bool:
    known = [i for i in node.inputs if i in ed.constants]
    if len(known) != 1:
        return False
    (value,) = (i for i in node.inputs if i != known[0])
    root = _Root(node, value, known[0])
    maker = ed.producer(value)
    if maker is None or maker.op not in WAYS or not isinstance(node.type, TensorType):
        return False
    if not node.tensor.dtype.is_float or (maker.op == "matmul" and node.op == "add"):
        return False  # The following addition is the only bias of a product.
    edits = Edits(ed)
    try:
        absorb(edits, value, node, _affine(ed, root))
    except Objection as e:
        log.declined(root.rule, node.output, str(e), [maker, node])
        return False
    if not log.may(root.rule, node.output):
        return False
    _apply(ed, root, edits, log)
    return True


def _affine(ed: Editor, root: _Root) -> Affine:
    """Return the factor or summand: one number, or one number for each index along an axis."""
    t, c = ed.type(root.value), ed.constants[root.constant]
    if not isinstance(t, TensorType) or not t.is_ranked or not t.layout.is_plain:
        raise Objection(f"the rank of {root.value} is not known")
    if logical(t) != logical(root.node.type):
        raise Objection(f"{root.value} is {t}, but the result is {root.node.type}")
    number = uniform(c)
    kind = "scale" if root.node.op == "mul" else "shift"
    if number is not None:
        single = Constant.splat(number, TensorType(c.type.dtype, (1,)))
        return Affine(kind, None, single)
    shape = (1,) * (t.rank - c.type.rank) + c.type.static_shape
    axes = [d for d, n in enumerate(shape) if n != 1]
    if len(axes) != 1:
        raise Objection(f"{root.constant} varies along {len(axes)} axes; a single axis is needed")
    operand = ConstTensor(root.constant, c.type, None, c)
    return Affine(kind, axes[0], channels(operand, t.rank, axes[0], shape[axes[0]]))


def _apply(ed: Editor, root: _Root, edits: Edits, log: Log) -> None:
    """Update the nodes that absorb the scale or shift, and remove the root."""
    ed.made_constants.clear()
    cost = node_cost(root.node, ed.type)
    changed: list[Node] = []
    for node, operands in edits.found:
        names = {
            at: ed.add_constant(c, f"{node.output}.{label}") for at, (label, c) in operands.items()
        }
        inputs = [*node.inputs, *[""] * (max(names) + 1 - len(node.inputs))]
        for at, name in names.items():
            inputs[at] = name
        origins = merge_origins(node.origins, root.node.origins)
        made = replace(node, inputs=tuple(inputs), origins=origins)
        ed.update(node, made)
        changed.append(made)
    ed.replace(root.node.output, root.value)
    ed.remove(root.node)
    saved = "" if cost is None else f"; {traffic_text(bytes_saved(cost, Cost()))}"
    names = ", ".join(n.output for n in changed)
    log.applied(
        root.rule,
        root.node.output,
        f"{names} {'absorb' if len(changed) > 1 else 'absorbs'} the constant{saved}",
        [*(n.output for n in changed), root.node.output, root.constant],
        [*changed, *ed.made_constants],
        error=ROUNDINGS,
        cost_before=cost,
        cost_after=Cost(),
    )
