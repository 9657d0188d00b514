"""Declaration of foreign nodes as native operators, once their ranks and parameters are known.

Nodes that the importer could not declare (such as `onnx.ReduceSum` with axes from an input) stay
foreign. Once shapes or values are chosen, the import facets of their operators run again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from compiler.errors import CompileError
from compiler.ir.constant import Constant
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.infer import Facts, keep_layout, specialize, stated
from compiler.ir.operator import Array
from compiler.ops import protos
from compiler.ops.onnx_import.facets import is_declarable, through_facet


def specialised(
    graph: Graph, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, Array]
) -> Graph:
    """Specialise a graph for these input shapes, and for these values of some inputs.

    The graph keeps all inputs, but readers of the inputs in `values` read constants instead.
    Errors: as `compiler.ir.infer.specialize`.
    """
    known = with_values(specialize(graph, shapes) if shapes else graph, values)
    return declared(known)


def with_values(graph: Graph, values: Mapping[str, Array]) -> Graph:
    """Replace inputs with constants, and keep the inputs in the signature."""
    if not values:
        return graph
    taken = {v.name for v in graph.inputs} | set(graph.constants) | set(graph.types)
    names: dict[str, str] = {}
    constants = dict(graph.constants)
    for name, value in values.items():
        fresh = f"{name}.given"
        while fresh in taken:
            fresh += "_"
        names[name] = fresh
        constants[fresh] = Constant.of(value)
    nodes = tuple(n.with_inputs(names) for n in graph.nodes)
    results = tuple(replace(r, value=names.get(r.value, r.value)) for r in graph.results)
    return replace(graph, nodes=nodes, constants=constants, results=results)


def declared(graph: Graph, outer: Facts | None = None) -> Graph:
    """Infer all types again, and declare foreign nodes where possible."""
    editor = Editor(Graph(graph.name, (), (), ()), outer)
    for v in graph.inputs:
        editor.add_input(v)
    for name, c in graph.constants.items():
        made = editor.add_constant(c, name)
        assert made == name, f"the constant {name!r} is defined twice"
    names: dict[str, str] = {}
    for node in graph.nodes:
        node = node.with_inputs(names) if names else node
        values = _redeclared(editor, node)
        if values is None:
            _add(editor, node)
            continue
        names.update((o, v) for o, v in zip(node.outputs, values, strict=True) if o != v)
    results = tuple(replace(r, value=names.get(r.value, r.value)) for r in graph.results)
    editor.results = list(results)
    return editor.graph()


def _redeclared(editor: Editor, node: Node) -> list[str] | None:
    try:
        return redeclare(editor, node) if is_declarable(node) else None
    except CompileError:
        return None  # The failure recurs at run time, if the node runs.


def redeclare(editor: Editor, node: Node) -> list[str] | None:
    """Declare a foreign node by its facet; return the values of its outputs under new names.

    Return None if the facet leaves the node foreign. Errors: as `through_facet`.
    """
    domain, op_type = protos.split_name(node.op)
    attrs = {k: v for k, v in node.attrs.items() if k != "opset"}
    opset = int(node.attrs["opset"])
    outputs = [editor.fresh(o) if o else "" for o in node.outputs]
    return through_facet(
        editor, op_type, domain, opset, node.inputs, attrs, outputs, node.name, node.origins
    )


def _add(editor: Editor, node: Node) -> None:
    facts = editor.facts
    if node.op != "fusion" and node.regions:
        regions = {k: declared(g, _inside(facts)) for k, g in node.regions.items()}
        node = replace(node, regions=regions)
    found = facts.visit(node)
    types = tuple(
        keep_layout(stated(t, old), old) for t, old in zip(found, node.types, strict=True)
    )
    editor.add(replace(node, types=types))


def _inside(facts: Facts) -> Facts:
    return Facts(dict(facts.types), dict(facts.known), True)
