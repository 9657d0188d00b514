"""One case of the grid: an ONNX operator with its parameters, as a model of one node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from compiler.ir.operator import Array

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """An operator and its operands: inputs as shapes, constants as arrays, None if omitted."""

    op: str
    name: str
    operands: Sequence[Shape | Array | None]
    attrs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    dtype: Any = np.float32
    n_outputs: int = 1
    is_open: bool = False
    """Whether the model leaves the sizes of its inputs open."""

    def model(self) -> bytes:
        """Return the bytes of a model with this node only."""
        inputs: list[onnx.ValueInfoProto] = []
        constants: list[onnx.TensorProto] = []
        names: list[str] = []
        for i, operand in enumerate(self.operands):
            names.append("" if operand is None else f"x{i}")
            if isinstance(operand, np.ndarray):
                constants.append(numpy_helper.from_array(operand, f"x{i}"))
            elif operand is not None:
                sizes = [f"d{i}_{a}" for a in range(len(operand))] if self.is_open else operand
                kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
                inputs.append(helper.make_tensor_value_info(f"x{i}", kind, sizes))
        outputs = [f"y{i}" for i in range(self.n_outputs)]
        node = helper.make_node(self.op, names, outputs, name=self.op, **self.attrs)
        made = [helper.make_empty_tensor_value_info(name) for name in outputs]
        graph = helper.make_graph([node], "one", inputs, made, constants)
        opsets = [helper.make_opsetid("", 22)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        inferred = onnx.shape_inference.infer_shapes(model)
        return inferred.SerializeToString()

    def inputs(self) -> dict[str, Array]:
        """Return seeded random arrays for the inputs."""
        chance = np.random.default_rng(0)
        return {
            f"x{i}": _random(o, self.dtype, chance)
            for i, o in enumerate(self.operands)
            if isinstance(o, tuple)
        }


def _random(shape: Shape, dtype: Any, chance: np.random.Generator) -> Array:
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return chance.random(shape) < 0.5
    if kind.kind in "iu":
        return chance.integers(0, 100, shape).astype(kind)
    return chance.standard_normal(shape, np.float32).astype(kind)
