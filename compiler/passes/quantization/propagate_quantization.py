"""Data movement between quantizing and dequantizing moves bytes instead of floats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from compiler.ir.constant import Constant
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, merge_origins
from compiler.ir.types import DType, TensorType
from compiler.ops.window import extent
from compiler.passes.engine.cost import cost_of
from compiler.passes.engine.declaration import graph_pass
from compiler.trace import Log

MOVES = frozenset(
    {"identity", "reshape", "flatten", "squeeze", "unsqueeze", "transpose", "slice", "gather"}
    | {"expand", "tile", "depth_to_space", "space_to_depth", "concat", "max_pool"}
)
"""Operators whose result holds elements of their first operand (a concatenation's: of all)."""

BYTES = (DType.u8, DType.i8, DType.u16, DType.i16)
"""Codes that are whole bytes."""

SELECTS = frozenset({"slice", "gather", "max_pool"})
"""Those of them whose result leaves elements out."""


@graph_pass(
    needs=["constants"],
    example="""
    graph g(x: u8[2,3,4]) {
      const s: f32[] = literal(0.1)
      const z: u8[] = literal(130)
      d: f32[2,3,4] = dequantize(x, s, z, to=f32)
      t: f32[3,4,2] = transpose(d, perm=[1,2,0])
      y: f32[3,4,2] = exp(t)
      return y
    }
    =>
    graph g(x: u8[2,3,4]) {
      const s: f32[] = literal(0.1)
      const z: u8[] = literal(130)
      t.codes: u8[3,4,2] = transpose(x, perm=[1,2,0])
      t: f32[3,4,2] = dequantize(t.codes, s, z, to=f32)
      y: f32[3,4,2] = exp(t)
      return y
    }
    """,
)
def propagate_quantization(graph: Graph, log: Log) -> Graph:
    """Dequantize behind operators that only move elements, and quantize before them.

    A byte is moved instead of a float, and pairs that belong to different operators meet, so that
    they cancel. A maximum may be taken among codes too: larger numbers have larger ones. Every
    element keeps its bits.
    Source: QDQPropagation of ONNX Runtime.
    """
    if not any(n.op in ("quantize", "dequantize") for n in graph.nodes):
        return graph
    ed = Editor(graph)
    n_done = sum(_down(ed, log, n.output) for n in graph.nodes if n.op in MOVES)
    behind = [n.output for n in reversed(ed.graph().nodes) if n.op in MOVES - SELECTS - {"concat"}]
    n_done += sum(_up(ed, log, value) for value in behind)
    return ed.graph() if n_done else graph


def _down(ed: Editor, log: Log, value: str) -> bool:
    """Dequantize the result of a move rather than its operands."""
    node = ed.producer(value)
    if node is None:
        return False
    data = node.inputs if node.op == "concat" else node.inputs[:1]
    makers = [ed.producer(i) for i in data]
    if any(m is None or m.op != "dequantize" for m in makers):
        return False
    made = [m for m in makers if m is not None]
    objection = _objection(ed, node, made)
    if objection:
        log.declined("dequantize_later", value, objection, [*made, node])
        return False
    if not log.may("dequantize_later", value):
        return False
    first = made[0]
    codes = ed.fresh(f"{value}.codes")
    source = {m.output: m.inputs[0] for m in made}
    moved = replace(
        node,
        inputs=tuple(source.get(i, i) if i in data else i for i in node.inputs),
        outputs=(codes,),
        types=(TensorType(_codes_of(ed, first), node.tensor.shape),),
    )
    after = replace(
        first,
        inputs=(codes, *first.inputs[1:]),
        outputs=node.outputs,
        types=node.types,
        attrs={**first.attrs, "axis": _moved_axis(ed, first, node)},
        name=first.name,
        origins=merge_origins(*(m.origins for m in made)),
    )
    _exchange(ed, log, "dequantize_later", node, made, moved, after)
    return True


def _up(ed: Editor, log: Log, value: str) -> bool:
    """Quantize the operand of a move rather than its result."""
    node = ed.producer(value)
    readers = ed.users(value)
    if node is None or len(readers) != 1 or readers[0].op != "quantize" or ed.is_result(value):
        return False
    after = readers[0]
    if after.inputs[0] != value or value in after.inputs[1:]:
        return False
    objection = _objection_up(ed, node, after)
    if objection:
        log.declined("quantize_earlier", value, objection, [node, after])
        return False
    if not log.may("quantize_earlier", value):
        return False
    t = ed.type(node.inputs[0])
    assert isinstance(t, TensorType)
    codes = ed.fresh(f"{after.output}.codes")
    quantized = replace(
        after,
        inputs=(node.inputs[0], *after.inputs[1:]),
        outputs=(codes,),
        types=(TensorType(after.tensor.dtype, t.shape),),
    )
    moved = replace(
        node, inputs=(codes, *node.inputs[1:]), outputs=after.outputs, types=after.types
    )
    _exchange(ed, log, "quantize_earlier", after, [node], quantized, moved)
    return True


def _exchange(
    ed: Editor, log: Log, rule: str, root: Node, before: list[Node], first: Node, last: Node
) -> None:
    """Put two nodes in the place of a root and what only it reads."""
    cost_before = cost_of([*before, root], ed.type)
    ed.add(first)
    ed.update(root, last)
    cost_after = cost_of([first, last], ed.type)
    ed.remove_unused([n.output for n in before])
    moves = first if rule == "dequantize_later" else last
    saved = ""
    if cost_before is not None and cost_after is not None:
        saved = f": {cost_before.bytes_moved - cost_after.bytes_moved:,} bytes less are moved"
    log.applied(
        rule,
        last.output,
        f"{moves.op} works on {moves.tensor.dtype}{saved}",
        [*before, root],
        [first, last],
        cost_before=cost_before,
        cost_after=cost_after,
    )


def _objection(ed: Editor, node: Node, made: list[Node]) -> str:
    """Why the result of a move cannot be dequantized instead of its operands."""
    first = made[0]
    if _codes_of(ed, first) not in BYTES:
        return f"codes of {_codes_of(ed, first)} are no whole bytes, or no smaller than floats"
    for m in made:
        if not _moves_alone(ed, m):
            return f"{m.output} is read elsewhere too, so it would be dequantized twice"
        if _codes_of(ed, m) is not _codes_of(ed, first) or not _same_steps(ed, m, first):
            return f"{m.output} and {first.output} have different steps"
    sizes = [ed.type(m.output) for m in made]
    if not all(isinstance(t, TensorType) and t.is_ranked for t in (*sizes, node.type)):
        return f"the rank of {node.inputs[0]} is not known"
    if any(not t.layout.is_plain for t in (*sizes, node.tensor) if isinstance(t, TensorType)):
        return "layouts are chosen already"
    if first.attrs["block_size"]:
        return f"blocks of {first.attrs['block_size']} numbers have scales of their own"
    if not _is_single(ed, first) and node.op != "transpose":
        return f"each index along axis {first.attrs['axis']} has a scale of its own"
    if node.op in ("expand", "tile", "gather") and _grows(ed, node):
        return f"{node.output} has more elements than {node.inputs[0]}"
    return _objection_to_pool(ed, node, first) if node.op == "max_pool" else ""


def _moves_alone(ed: Editor, made: Node) -> bool:
    """Whether all that reads a dequantized tensor moves its elements, each at most once."""
    readers = ed.users(made.output)
    if ed.is_result(made.output) or any(u.op not in MOVES for u in readers):
        return False
    sizes = [ed.type(made.output), *(u.type for u in readers)]
    if len(readers) == 1:
        return True
    counts = [t.n_elements for t in sizes if isinstance(t, TensorType) and t.is_static]
    return len(counts) == len(sizes) and sum(counts[1:]) <= counts[0]


def _objection_up(ed: Editor, node: Node, after: Node) -> str:
    t = ed.type(node.inputs[0])
    if not isinstance(t, TensorType) or not t.is_ranked or not node.tensor.is_ranked:
        return f"the rank of {node.inputs[0]} is not known"
    if not t.layout.is_plain or not node.tensor.layout.is_plain:
        return "layouts are chosen already"
    if not _is_single(ed, after) or after.attrs["block_size"]:
        return f"each index along axis {after.attrs['axis']} has a scale of its own"
    if after.tensor.dtype not in BYTES or not t.dtype.is_float:
        return f"{after.tensor.dtype} are no whole bytes, or no smaller than {t.dtype}"
    return ""


def _objection_to_pool(ed: Editor, node: Node, first: Node) -> str:
    """Codes are in the order of numbers when scales are positive, and windows are never empty."""
    scale = ed.constant(first.inputs[1])
    if scale is None or not bool((scale.array() > 0).all()):
        return f"the scale {first.inputs[1]} is not known to be positive"
    return empty_window(node)


def empty_window(node: Node) -> str:
    """Why a window of a pool may lie in the padding altogether; nothing when none does."""
    kernel, n = node.attrs["kernel"], len(node.attrs["kernel"])
    pads = node.attrs["pads"] if node.attrs["auto_pad"] == "notset" else (0,) * (2 * n)
    for d, size in enumerate(kernel):
        widest = max(pads[d], pads[n + d])
        if widest >= size:
            return f"windows of {size} fit into {widest} rows of padding"
        if extent(size, node.attrs["dilations"][d]) != size and widest:
            return "windows with gaps may step over the image"
    return ""


def _same_steps(ed: Editor, a: Node, b: Node) -> bool:
    """Whether two nodes have scales and zero points of the same content."""
    if dict(a.attrs) != dict(b.attrs) or len(a.inputs) != len(b.inputs):
        return False
    pairs = zip(a.inputs[1:], b.inputs[1:], strict=True)
    return all(x == y or _same_constant(ed.constant(x), ed.constant(y)) for x, y in pairs)


def _same_constant(a: Constant | None, b: Constant | None) -> bool:
    return a is not None and b is not None and a.type == b.type and a.storage == b.storage


def _is_single(ed: Editor, node: Node) -> bool:
    """Whether one scale and one zero point stand for the whole tensor."""
    return all(t.is_static and t.n_elements == 1 and t.rank <= 1 for t in _parameters(ed, node))


def _parameters(ed: Editor, node: Node) -> Iterator[TensorType]:
    for name in filter(None, node.inputs[1:]):
        t = ed.type(name)
        assert isinstance(t, TensorType)
        yield t if t.is_ranked else TensorType(t.dtype, (2,))


def _moved_axis(ed: Editor, first: Node, node: Node) -> int:
    """The axis that scales run along behind a move."""
    axis = first.attrs["axis"]
    if node.op != "transpose" or _is_single(ed, first):
        return axis
    return tuple(node.attrs["perm"]).index(axis % node.tensor.rank)


def _codes_of(ed: Editor, node: Node) -> DType:
    t = ed.type(node.inputs[0])
    assert isinstance(t, TensorType)
    return t.dtype


def _grows(ed: Editor, node: Node) -> bool:
    t = ed.type(node.inputs[0])
    known = isinstance(t, TensorType) and t.is_static and node.tensor.is_static
    return not known or node.tensor.n_elements > t.n_elements  # type: ignore[union-attr]
