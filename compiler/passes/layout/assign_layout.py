"""Where each image lies in memory: channels in blocks, zeros round the borders, few copies.

Values that one kernel reads and writes element by element should agree, so they form components.
Each component takes the layout that the bytes moved through it vote for; a `relayout` node stands
only where two components with different layouts meet.
Source: the frontier rule of ONNX Runtime's NCHWc transformer, and Liu et al. 2019 (NeoCPU,
arXiv:1809.02697), whose search over block sizes this leaves out.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.types import PLAIN, Layout, TensorType, Type
from compiler.ops.relayout import relayout
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.layout.choice import (
    Choice,
    Unit,
    blocked_fit,
    is_flexible,
    kind_of,
    reach_outside,
    unit_of,
)
from compiler.trace import Log

EXAMPLE = """
graph g(x: f32[1,3,9,8]) {
  const w: f32[32,3,3,3] = splat(0.5)
  const v: f32[16,32,1,1] = splat(0.25)
  a: f32[1,32,9,8] = conv(x, w, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
  y: f32[1,16,9,8] = conv(a, v, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
  return y
}
=>
graph g(x: f32[1,3,9,8]) {
  const w: f32[32,3,3,3] = splat(0.5)
  const v: f32[16,32,1,1] = splat(0.25)
  x.laid: f32[1,3,9,8]{halo=1x1} = relayout(x) <- a
  a: f32[1,32,9,8]{c16} = conv(x.laid, w, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
  y.blocked: f32[1,16,9,8]{c16} =
    conv(a, v, strides=[1,1], pads=[0,0,0,0], dilations=[1,1]) @ y
  y: f32[1,16,9,8] = relayout(y.blocked) @ y_2 <- y
  return y
}
"""


@graph_pass(example=EXAMPLE, needs=("fusion",), gives=("layouts",))
def assign_layout(graph: Graph, log: Log, *, block: int = 16) -> Graph:
    """Give every image the memory layout that its kernels work best in.

    A convolution that writes its channels in blocks of one vector loads weights as whole vectors
    and needs each pixel only once; one whose input has zeros around it needs no test at the border.
    Values that meet in one kernel share a layout, and copies stand only where that cannot be.
    """
    if any(not t.layout.is_plain for t in graph.types.values() if isinstance(t, TensorType)):
        log.declined("assign_layout", graph.name, "the graph has layouts already")
        return graph
    if not log.may("assign_layout", graph.name):
        return graph
    choice = Choice(graph, block)
    choice.vote()
    _explain(choice, log)
    return _Applier(graph, choice, log).apply()


def _explain(choice: Choice, log: Log) -> None:
    """One step for each component that some convolution has an opinion on."""
    for root, (in_favour, against) in choice.tally.items():
        if not in_favour:
            continue
        members = [v for v in choice.members(root) if v in choice.graph.producers]
        balance = f"{in_favour:,.0f} bytes for blocks of {choice.block}, {against:,.0f} against"
        if in_favour > against:
            log.applied("block_channels", root, balance, took=members, made=members)
        else:
            log.declined("block_channels", root, balance, took=members)


class _Applier:
    """Writes the chosen layouts into the graph and places the copies."""

    def __init__(self, graph: Graph, choice: Choice, log: Log) -> None:
        self.graph, self.choice, self.log = graph, choice, log
        self.editor = Editor(graph)
        self.laid: dict[tuple[str, Layout], str] = {}
        self.halos = self._wanted_halos()

    def apply(self) -> Graph:
        for node in self.graph.nodes:
            self._place(node)
        for r in self.graph.results:
            self._plain_result(r.value)
        return self.editor.graph() if self.editor.made or self._changed() else self.graph

    def _changed(self) -> bool:
        return any(
            not t.layout.is_plain
            for n in self.editor.nodes()
            for t in n.types
            if isinstance(t, TensorType)
        )

    def _layout(self, value: str) -> Layout:
        """The layout a value is made in."""
        node = self.editor.producer(value)
        if node is None or not self.choice.is_image(value) or kind_of(node) == "view":
            return PLAIN
        if node.op.startswith("onnx."):
            return PLAIN
        block = self.choice.block if self.choice.blocked(value) else 1
        return Layout(block, self.halos.get(value, ()))

    def _place(self, node: Node) -> None:
        unit = unit_of(node)
        types: list[Type] = []
        for value, t in zip(node.outputs, node.types, strict=True):
            wanted = self._layout(value) if value else PLAIN
            types.append(t.with_layout(wanted) if isinstance(t, TensorType) else t)
        rename: dict[str, str] = {}
        for operand in dict.fromkeys(filter(None, node.inputs)):
            rename[operand] = self._operand(unit, operand, types)
        current = self.editor.producer(node.output)
        assert current is not None
        new = replace(current, types=tuple(types)).with_inputs(
            {a: b for a, b in rename.items() if a != b}
        )
        if new.types != current.types or new.inputs != current.inputs:
            self.editor.update(current, new)

    def _operand(self, unit: Unit, operand: str, types: list[Type]) -> str:
        """The operand in a layout that the kernel takes: itself, or a copy."""
        t = self.editor.type(operand)
        if not self.choice.is_image(operand) or not isinstance(t, TensorType):
            return operand
        out = types[0]
        out_block = out.layout.block if isinstance(out, TensorType) else 1
        conv = unit.anchor if unit.anchor is not None and unit.anchor.op == "conv" else None
        is_data = conv is not None and unit.operand_of.get(conv.inputs[0]) == operand
        if is_data:
            return self._data_operand(unit, operand, t, out_block)
        if is_flexible(unit, self.graph, self.choice.block) or conv is not None:
            ok = t.layout.block == out_block or t.dims[1] == 1
            return operand if ok else self._copy(operand, Layout(out_block))
        return operand if t.layout.is_plain else self._copy(operand, PLAIN)

    def _data_operand(self, unit: Unit, operand: str, t: TensorType, out_block: int) -> str:
        needs_same = blocked_fit(unit, self.graph, self.choice.block) != "output"
        block = t.layout.block
        if (needs_same and block != out_block) or (out_block == 1 and block != 1):
            block = out_block
        halo = reach_outside(unit, self.graph, t)
        has = t.layout.halo_of(t.rank)
        if all(h <= o for h, o in zip(halo, has, strict=True)):
            halo = has
        if block == t.layout.block and halo == has:
            return operand
        return self._copy(operand, Layout(block, halo))

    def _copy(self, value: str, layout: Layout) -> str:
        if (value, layout) not in self.laid:
            made = self.editor.build(
                relayout(self.editor.tensor(value)),
                hint=f"{value}.laid",
                origins=self._origins(value),
            )
            node = self.editor.producer(made)
            assert node is not None
            self.editor.update(node, replace(node, types=(node.tensor.with_layout(layout),)))
            self.log.applied(
                "relayout",
                value,
                f"{self.editor.type(value)} as its reader takes it: {layout or 'plain order'}",
                took=[value],
                made=[made],
            )
            self.laid[value, layout] = made
        return self.laid[value, layout]

    def _origins(self, value: str) -> tuple[str, ...]:
        producer = self.graph.producers.get(value)
        if producer is not None:
            return producer.origins
        readers = self.graph.users.get(value, ())
        return readers[0].origins if readers else ()

    def _plain_result(self, value: str) -> None:
        t = self.editor.type(value)
        if not isinstance(t, TensorType) or t.layout.is_plain:
            return
        node = self.editor.producer(value)
        assert node is not None
        inner = self.editor.fresh(f"{value}.blocked")
        self.editor.rename_output(node, value, inner)
        built = self.editor.build(
            relayout(self.editor.tensor(inner)),
            origins=node.origins,
            name=self.editor.fresh(node.name),
            outputs=[value],
        )
        self.log.applied(
            "relayout",
            value,
            "results are handed out in plain order",
            took=[value],
            made=[inner, built],
        )

    def _wanted_halos(self) -> dict[str, tuple[int, ...]]:
        """The zeros that convolutions want around each value made by a kernel."""
        wanted: dict[str, tuple[int, ...]] = {}
        for node in self.graph.nodes:
            unit = unit_of(node)
            conv = unit.anchor
            if conv is None or conv.op != "conv":
                continue
            data = unit.operand_of.get(conv.inputs[0], "")
            if not self.choice.is_image(data):
                continue
            t = self.graph.types[data]
            assert isinstance(t, TensorType)
            reach = reach_outside(unit, self.graph, t)
            if any(reach):
                old = wanted.get(data, (0,) * len(reach))
                wanted[data] = tuple(max(a, b) for a, b in zip(old, reach, strict=True))
        return wanted
