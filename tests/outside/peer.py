"""ONNX Runtime with the CPU provider and without graph optimizations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import onnxruntime
from onnx import GraphProto, ModelProto, NodeProto, helper

from compiler.ops.evaluation.corrections import corrected_evaluator
from tests.outside.recurrences import LAYERS
from tests.outside.values import NARROW, Array, code, label_of, numpy_type

IR_VERSION = 10


class PeerRefused(Exception):
    """ONNX Runtime refuses a model, or these inputs."""


@lru_cache(maxsize=1)
def _options() -> Any:
    options: Any = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return options


def peer_session(model: bytes) -> Any:
    """Return a session. Errors: PeerRefused."""
    onnxruntime.set_default_logger_severity(4)
    try:
        return onnxruntime.InferenceSession(model, _options(), ["CPUExecutionProvider"])
    except Exception as e:  # the exceptions of the package have no common base class
        raise PeerRefused(str(e)) from e


def run_session(session: Any, feeds: Mapping[str, Any]) -> list[Any]:
    """Return the outputs in order. Errors: PeerRefused."""
    try:
        made: list[Any] = session.run(None, dict(feeds))
    except Exception as e:
        raise PeerRefused(str(e)) from e
    return made


def run_peer(model: bytes, feeds: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results by name. Errors: PeerRefused."""
    session = peer_session(model)
    made = run_session(session, feeds)
    return {o.name: v for o, v in zip(session.get_outputs(), made, strict=True)}


def free_names(node: NodeProto) -> list[str]:
    """Return the names that a node reads: its operands, then outer values read by its bodies."""
    found = [n for n in node.input if n]
    for attribute in node.attribute:
        if attribute.HasField("g"):
            found += _free_of_graph(attribute.g)
    return list(dict.fromkeys(found))


def _free_of_graph(graph: GraphProto) -> list[str]:
    made = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    found: list[str] = []
    for node in graph.node:
        found += [n for n in free_names(node) if n not in made]
        made |= set(node.output)
    return found + [o.name for o in graph.output if o.name not in made]


def run_node(node: NodeProto, values: Mapping[str, Any], opset: int) -> list[Any]:
    """Return the results of one node for these values. Errors: PeerRefused."""
    names = free_names(node)
    key = tuple((n, *_kind_of(values[n])) for n in names)
    session, narrow = _node_session(node.SerializeToString(), key, opset)
    made = run_session(session, {n: _fed(values[n]) for n in names})
    return [
        np.asarray(v).astype(numpy_type(t)) if t else _as_array(v)
        for v, t in zip(made, narrow, strict=True)
    ]


def _kind_of(value: Any) -> tuple[Any, ...]:
    """Return the part of a value in an input declaration: element type and rank, or `seq`."""
    if isinstance(value, list):
        items: list[Any] = value
        return ("seq", label_of(items[0]) if items else "f32", 0)
    return ("tensor", label_of(value), value.ndim)


def _fed(value: Any) -> Any:
    label = label_of(value)
    return value.astype(numpy_type(NARROW[label])) if label in NARROW else value


@lru_cache(maxsize=4096)
def _node_session(
    text: bytes, key: tuple[tuple[Any, ...], ...], opset: int
) -> tuple[Any, list[str]]:
    node = NodeProto.FromString(text)
    before: list[NodeProto] = []
    inputs: list[Any] = []
    for name, kind, label, rank in key:
        if kind == "seq":
            inputs.append(helper.make_tensor_sequence_value_info(name, code(label), None))
            continue
        given = str(NARROW.get(label, label))
        shape = [None] * rank
        if given == label:
            inputs.append(helper.make_tensor_value_info(name, code(label), shape))
            continue
        inputs.append(helper.make_tensor_value_info(f"{name}.wide", code(given), shape))
        before.append(helper.make_node("Cast", [f"{name}.wide"], [name], to=code(label)))
    names = dict(zip((k[0] for k in key), (i.name for i in inputs), strict=True))
    outputs = [n for n in node.output if n]
    nodes = [*before, node]
    session = peer_session(assembled(nodes, inputs, outputs, opset).SerializeToString())
    types = [_TEXTS.get(o.type, "") for o in session.get_outputs()]
    if any(types):
        wide = {n: f"{n}.wide" for n, t in zip(outputs, types, strict=True) if t}
        nodes += [
            helper.make_node("Cast", [n], [wide[n]], to=code(NARROW[t]))
            for n, t in zip(outputs, types, strict=True)
            if t
        ]
        shown = [wide.get(n, n) for n in outputs]
        session = peer_session(assembled(nodes, inputs, shown, opset).SerializeToString())
    return _Renamed(session, names), types


class _Renamed:
    """A session whose inputs have the names of a node's operands."""

    def __init__(self, session: Any, names: Mapping[str, str]) -> None:
        self.session, self.names = session, names

    def run(self, outputs: None, feeds: Mapping[str, Any]) -> list[Any]:
        return self.session.run(outputs, {self.names[n]: v for n, v in feeds.items()})


_TEXTS = {
    "tensor(bfloat16)": "bf16",
    "tensor(int4)": "i4",
    "tensor(uint4)": "u4",
    "tensor(float8e4m3fn)": "f8e4m3fn",
    "tensor(float8e4m3fnuz)": "f8e4m3fnuz",
    "tensor(float8e5m2)": "f8e5m2",
    "tensor(float8e5m2fnuz)": "f8e5m2fnuz",
}


def assembled(
    nodes: Sequence[NodeProto],
    inputs: Sequence[Any],
    outputs: Sequence[str],
    opset: int,
    initializers: Sequence[Any] = (),
) -> ModelProto:
    """Return a model whose results have no declared types."""
    graph = helper.make_graph(list(nodes), "drawn", list(inputs), [], list(initializers))
    for name in outputs:
        graph.output.add().name = name
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION
    )


def run_onnx_reference(model: ModelProto, feeds: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the results of onnx.reference by name; None if it fails."""
    try:
        with np.errstate(all="ignore"):
            evaluator = corrected_evaluator(model, LAYERS)
            needed = {str(n) for n in evaluator.input_names}
            made = evaluator.run(None, {n: v for n, v in feeds.items() if n in needed})
    except Exception:  # any failure on a model means that it has no result to compare
        return None
    names = [str(n) for n in evaluator.output_names]
    assert isinstance(made, list)
    return {n: _as_array(v) for n, v in zip(names, made, strict=True)}


def _as_array(value: Any) -> Any:
    return value if value is None or isinstance(value, list) else _array(value)


def _array(value: Any) -> Array:
    return np.asarray(value)
