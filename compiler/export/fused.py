"""The export of fusions as model-local functions: one call per kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from compiler.export.names import Names
from compiler.export.scope import Scope
from compiler.ir.graph import Graph, Node
from compiler.ir.types import logical

DOMAIN = "compilarium"

WriteBody = Callable[[Scope, Graph, Sequence[tuple[str, str]]], None]


class _ByPosition(Names):
    """Names that are numbered in order of creation, so equal fusions serialize to equal bytes."""

    def fresh(self, hint: str) -> str:
        return super().fresh(f"v{len(self._taken)}")


def call_function(scope: Scope, node: Node, outputs: Sequence[str], write_body: WriteBody) -> None:
    """Write a fusion as a call of a function, shared by equal fusions."""
    import onnx

    body = node.regions["body"]
    inner_model = replace(scope.model, names=_ByPosition(), node_names=Names())
    inner = Scope(inner_model, in_function=True)
    inputs = [inner_model.names.fresh(v.name) for v in body.inputs]
    for v, name, operand in zip(body.inputs, inputs, node.inputs, strict=True):
        inner.define(v.name, name, logical(v.type), scope.constant(operand))
    results = [inner_model.names.fresh(r.name) for r in body.results]
    values = (r.value for r in body.results)
    write_body(inner, body, list(zip(values, results, strict=True)))
    for n in inner.nodes:
        n.ClearField("name")
        n.ClearField("metadata_props")
    domains = {"": scope.model.opset}
    domains |= {n.domain: scope.model.domains[n.domain] for n in inner.nodes if n.domain}
    proto = onnx.FunctionProto(domain=DOMAIN, input=inputs, output=results, node=inner.nodes)
    proto.opset_import.extend(
        onnx.OperatorSetIdProto(domain=d, version=v) for d, v in sorted(domains.items())
    )
    key = proto.SerializeToString(deterministic=True)
    if key not in scope.model.functions:
        proto.name = f"{node.attrs.get('kind', 'fusion')}_{len(scope.model.functions) + 1}"
        scope.model.functions[key] = proto
    scope.model.domains[DOMAIN] = 1
    scope.node(
        scope.model.functions[key].name,
        [scope.value(i) for i in node.inputs],
        outputs,
        domain=DOMAIN,
        name=node.name,
        origins=node.origins,
    )
