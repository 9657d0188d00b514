from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import compiler
from compiler.errors import CompileError
from compiler.runtime.inputs import random_inputs

GRAPH = compiler.parse(
    "graph g(x: f32[3,4]) {\n"
    "  a: f32[3,4] = neg(x)\n"
    "  b: f32[3,4] = neg(a)\n"
    "  y: f32[3,4] = exp(b)\n"
    "  return y\n}"
)


def onnx_bytes() -> bytes:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Exp", ["x"], ["y"], name="the_exp")],
        "g",
        [value("x", TensorProto.FLOAT, ["N", 3])],
        [value("y", TensorProto.FLOAT, ["N", 3])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return model.SerializeToString()


def test_the_trace_has_an_event_per_pass_with_its_steps() -> None:
    program = compiler.compile(GRAPH)
    assert program.trace is not None
    names = [e.name for e in program.trace.events]
    assert "simplify" in names
    assert program.trace.events[0].before == GRAPH
    assert program.trace.events[-1].after is program.graph
    simplify = program.trace.events[names.index("simplify")]
    assert simplify.changed
    assert any(s.outcome == "applied" and s.because for s in simplify.steps)


def test_running_does_not_depend_on_the_trace() -> None:
    program = compiler.compile(GRAPH, trace=False)
    assert program.trace is None
    x = random_inputs(GRAPH)
    assert np.allclose(program.run(x)["y"], np.exp(x["x"]))


def test_steps_of_the_compilation_are_timed_and_told_as_they_happen() -> None:
    told: list[str] = []
    passes: list[str] = []

    def progress(step: str, event: Any) -> None:
        (told if event is None else passes).append(step)

    program = compiler.compile(GRAPH, progress=progress)
    assert [s.name for s in program.stages] == told
    assert {"passes", "loops", "llvm", "memory", "machine code"} <= set(told)
    assert all(s.seconds >= 0 for s in program.stages)
    assert program.trace is not None
    # Ordering launches is not a pass: only the trace contains it.
    assert [*passes, "order"] == [e.name for e in program.trace.events]


def test_files_and_bytes_of_models_are_compiled_directly(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx_bytes())
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    for model in (path, str(path), onnx_bytes()):
        program = compiler.compile(model, inputs={"x": (2, 3)})
        assert np.allclose(program.run({"x": x})["y"], np.exp(x))
        assert [k.origins for k in program.kernels] == [("the_exp",)]
    assert onnx.load(path).graph.node[0].name == "the_exp"


def test_the_pipeline_may_be_text_a_preset_or_none() -> None:
    x = random_inputs(GRAPH)
    counts = {}
    for pipeline in ("none", "default", "dead_code_elimination,simplify", "default,-fuse"):
        program = compiler.compile(GRAPH, pipeline=pipeline)
        counts[pipeline] = len(program.kernels)
        assert np.allclose(program.run(x)["y"], np.exp(x["x"]))
    assert counts["none"] == 3
    assert counts["default"] == 1


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"pipeline": "no_such_pass"}, "E-PIPELINE-PASS"),
        ({"pipeline": "simplify{"}, "E-PIPELINE-SYNTAX"),
        ({"target": "z80"}, "E-TARGET-NAME"),
        ({"threads": 0}, "E-OPTION-VALUE"),
        ({"threads": 257}, "E-OPTION-VALUE"),
        ({"threads": 2.0}, "E-OPTION-VALUE"),
        ({"threads": True}, "E-OPTION-VALUE"),
        ({"precision": "int8"}, "E-OPTION-VALUE"),
        ({"precision": "f17"}, "E-OPTION-VALUE"),
        ({"inputs": {"z": (1,)}}, "E-INPUT-NAME"),
        ({"inputs": {"x": (3, 5)}}, "E-INPUT-SHAPE"),
    ],
)
def test_options_that_cannot_be_honoured_are_refused(options: dict[str, Any], code: str) -> None:
    with pytest.raises(CompileError) as caught:
        compiler.compile(GRAPH, **options)
    assert caught.value.code == code
    assert caught.value.hint


def test_a_run_that_contradicts_the_model_inside_is_an_error_of_its_user() -> None:
    graph = compiler.parse(
        "graph g(x: f32[N,3], w: f32[M,4]) {\n  y: f32[N,4] = matmul(x, w)\n  return y\n}"
    )
    program = compiler.compile(graph)
    with pytest.raises(CompileError) as caught:
        program.run({"x": np.zeros((2, 3), np.float32), "w": np.zeros((5, 4), np.float32)})
    assert caught.value.code == "E-OP-SHAPE"
