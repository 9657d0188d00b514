"""The regions that are compiled although the reference implementation runs their nodes."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ir.regions import Closed, close
from compiler.ir.verify import verify
from compiler.ops.control_flow.control import CONTROL_FLOW
from compiler.runtime.thunks.native import Launchable
from compiler.runtime.thunks.select import FallbackThunk, in_memory


def compiled_bodies(thunk: Launchable, graph: Graph) -> Iterator[tuple[str, Closed]]:
    """Yield those regions of a control-flow fallback whose inputs have known sizes."""
    node = thunk.node
    if not isinstance(thunk, FallbackThunk) or node.op not in CONTROL_FLOW:
        return
    for key, region in node.regions.items():
        closed = close(region, graph.types, graph.constants)
        if not all(in_memory(v.type) for v in closed.graph.inputs):
            continue
        try:
            verify(closed.graph)
        except CompileError:
            continue  # the region fails at run time, if it is ever executed
        yield key, closed
