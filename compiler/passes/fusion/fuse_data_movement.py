"""Fusion of data movement: a chain of nodes becomes one kernel that copies each element once."""

from __future__ import annotations

from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS, with_trait
from compiler.ir.types import TensorType, open_symbols
from compiler.ops.fusion import fuse_nodes
from compiler.passes.engine.cost import traffic_text
from compiler.passes.engine.declaration import graph_pass
from compiler.trace import Log

INJECTIVE = with_trait("injective")
"""Operators that lower to a single load per element."""


@graph_pass(
    aliases=("fuse_movement",),
    for_code=True,
    needs=["layouts"],
    gives=["movement"],
    example="""
    graph g(x: f32[1,2,3,5]) {
      const s: i64[4] = literal(1,6,1,5)
      t: f32[1,3,2,5] = transpose(x, perm=[0,2,1,3])
      r: f32[1,6,1,5] = reshape(t, s)
      y: f32[1,6,1,5]{halo=0x2} = relayout(r)
      return y
    }
    =>
    graph g(x: f32[1,2,3,5]) {
      const s: i64[4] = literal(1,6,1,5)
      y: f32[1,6,1,5]{halo=0x2} = fusion(x, s, kind="movement") <- t, r, y {
        body: graph movement(x: f32[1,2,3,5], s: i64[4]) {
          t: f32[1,3,2,5] = transpose(x, perm=[0,2,1,3])
          r: f32[1,6,1,5] = reshape(t, s)
          y: f32[1,6,1,5]{halo=0x2} = relayout(r)
          return y
        }
      }
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[1,2,3,5]) {
      t: f32[1,3,2,5] = transpose(x, perm=[0,2,1,3])
      r: f32[1,3,2,5] = relu(t)
      y: f32[1,2,3,5] = transpose(r, perm=[0,2,1,3])
      return y
    }
    """,
)
def fuse_data_movement(graph: Graph, log: Log) -> Graph:
    """Replace a chain of copies with a single copy.

    Transposes, reshapes and changes of layout compose to a single index map. One kernel evaluates
    the composed index map, so intermediate values are never stored.
    """
    editor, changed = Editor(graph), False
    for last in reversed(graph.nodes):
        if not editor.alive(last) or not _moves(last, editor):
            continue
        chain = _chain(editor, last, log)
        if len(chain) < 2 or not log.may("fuse_data_movement", last.output):
            continue
        inner = [n.tensor.assumed for n in chain[:-1] if not _is_view(n)]
        saved = sum(2 * t.nbytes for t in inner)
        node = fuse_nodes(editor, chain, "movement")
        editor.update(last, node)
        editor.remove_unused(n.output for n in reversed(chain[:-1]))
        log.applied(
            "fuse_data_movement",
            last.output,
            f"{traffic_text(saved)}: {len(chain)} nodes become one copy",
            took=chain,
            made=[node],
        )
        changed = True
    return editor.graph() if changed else graph


def _moves(node: Node, editor: Editor) -> bool:
    return node.op in INJECTIVE and _has_sizes_of_operand(node, editor)


def _has_sizes_of_operand(node: Node, editor: Editor) -> bool:
    """Whether a node's result sizes follow from the operand's sizes, without data."""
    before, after = editor.type(node.inputs[0]), node.type
    if not (isinstance(before, TensorType) and isinstance(after, TensorType)):
        return False
    ranked = before.is_ranked and after.is_ranked
    return ranked and open_symbols([after]) <= open_symbols([before])


def _is_view(node: Node) -> bool:
    return node.op in OPERATORS and OPERATORS[node.op].kind == "view"


def _chain(editor: Editor, last: Node, log: Log) -> list[Node]:
    """Return the chain that ends in `last`: each node has one reader, and the first node copies."""
    chain = [last]
    while True:
        before = editor.producer(chain[0].inputs[0])
        if before is None or not (_moves(before, editor) or _is_view(before)):
            break
        if not _has_sizes_of_operand(before, editor):
            break
        if editor.n_uses(before.output) != 1:
            log.declined(
                "fuse_data_movement",
                before.output,
                f"{before.output} has {editor.n_uses(before.output)} readers, so it has to "
                "be stored",
                took=[before, chain[0]],
            )
            break
        chain.insert(0, before)
    # A leading view costs nothing, so the chain need not include it.
    while _is_view(chain[0]):
        chain.pop(0)
    return chain
