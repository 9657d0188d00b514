"""Tests of requests and payloads, one builder at a time."""

from __future__ import annotations

from typing import Any

from onnx import TensorProto

import compiler
from app.wire.identities import Identified
from app.wire.kernels import kernel_rows, running_row
from app.wire.programs import (
    assembly,
    listings_of,
    provenance,
    split_assembly,
    split_llvm,
    texts,
)
from app.wire.requests import JobRequest
from app.wire.steps import steps_payload
from app.wire.texts import cut_text, shortened
from compiler.figures.passes import Supply
from compiler.machine.machine import estimated
from compiler.runtime.program import Program
from compiler.targets.target import by_name
from compiler.trace import Step
from tests.onnx_models import BOOL, graph, model, node, value

SUPPLY = Supply(estimated(by_name("x86-64-v3")), "L1")


def test_a_request_has_the_same_meaning_after_a_round_trip():
    body = {"kind": "compile", "model": {"sample": "a"}, "shapes": {"x": [1, 2]}}
    request = JobRequest.from_json(body)
    assert JobRequest.from_json(request.to_json()) == request
    assert request.pipeline == "default"
    assert request.options.measure


def test_long_lines_and_many_lines_are_cut_and_counted():
    text, cut = cut_text([str(i) for i in range(20_010)])
    assert (len(text.split("\n")), cut) == (20_000, 10)
    line = shortened("a" * 3000 + "b" * 3000, 2000)
    assert len(line) <= 2000
    assert line.startswith("aaa")
    assert line.endswith("bbb")
    assert "…" in line
    assert shortened("short", 2000) == "short"


def test_of_too_many_steps_the_declined_ones_go_first():
    declined = [Step("r", "declined", "no", f"d{i}") for i in range(30_000)]
    applied = [Step("r", "applied", "yes", f"a{i}") for i in range(5)]
    payload = steps_payload(1, [*declined, *applied], SUPPLY)
    assert (payload["n_steps"], payload["n_dropped"]) == (20_000, 10_005)
    assert [s["at"] for s in payload["steps"][-5:]] == [f"a{i}" for i in range(5)]


def test_modules_are_split_into_their_functions():
    first = 'define void @"a.b"(ptr %x) nounwind {\nentry:\n  ret void\n}'
    second = "define void @c() {\nentry:\n  ret void\n}"
    llvm = f"declare float @f(float)\n{first}\n\n{second}\n"
    assert split_llvm(llvm) == {"a.b": first, "c": second}
    asm = "\t.text\n\t.globl\ta.b\na.b:\n.LBB0_1:\n\tretq\n.Lfunc_end0:\nc:\n\tretq\n"
    assert set(split_assembly(asm)) == {"a.b", "c"}
    assert split_assembly(asm)["a.b"] == "a.b:\n.LBB0_1:\n\tretq"


def test_the_listing_of_a_kernel_ends_before_the_constants_of_the_next_kernel():
    program = compiler.compile(
        compiler.parse(
            "graph g(x: f32[5,9]) {\n  a: f32[5,9] = exp(x)\n"
            "  b: f32[9,5] = transpose(a, perm=[1,0])\n"
            "  c: f32[9,5] = softmax(b, axis=-1)\n  return a, c\n}"
        ),
        target="x86-64-v3",
    )
    functions = split_assembly(str(program.emit("asm")))
    assert len(program.kernels) > 1
    for kernel in program.kernels:
        *_, last = functions[kernel.symbol].split("\n")
        assert last.strip().startswith(("ret", "jmp")), functions[kernel.symbol]
        assert ".LCPI0_0:" not in functions[kernel.symbol]
        assert ".section" not in functions[kernel.symbol]


def a_choice() -> Program:
    """A sum, then its exponential or negative by a condition, and a concatenation of strings."""
    branches: dict[str, Any] = {
        f"{name}_branch": graph([node(op, ["k"], ["t"], op)], outputs=[value("t", None)])
        for name, op in (("then", "Exp"), ("else", "Neg"))
    }
    made = model(
        [
            node("Add", ["x", "x"], ["k"], "twice"),
            node("If", ["c"], ["y"], "choice", **branches),
            node("StringConcat", ["s", "s"], ["z"], "words"),
        ],
        [value("x", (2, 3)), value("c", (), BOOL), value("s", (4,), TensorProto.STRING)],
        [value("y", None), value("z", (4,), TensorProto.STRING)],
        opset=20,
    )
    return compiler.compile(made.SerializeToString())


def test_kernels_inside_control_flow_say_where_they_run():
    program = a_choice()
    rows = kernel_rows(program, Identified(program.graph))
    by_name = {row["name"]: row for row in rows}
    around = by_name["onnx.If"]
    assert (around["node"], around["words"], around["inside"]) == ("y", "control", None)
    assert around["parts"] == ["llvm", "asm"]
    for name, region, origin in (("exp", "then_branch", "Exp"), ("neg", "else_branch", "Neg")):
        row = by_name[name]
        assert (row["inside"], row["region"]) == (around["kernel"], region)
        assert row["node"] == f"y→{region}→t"
        assert (row["origins"], row["words"]) == ([origin], "elementwise")
        assert "loops" in row["parts"]
    onnx = {row["name"]: row for row in provenance({0: Identified(program.graph)}, program)["onnx"]}
    assert onnx["Exp"]["nodes"] == {"0": ["y→then_branch→t"]}
    assert onnx["choice"]["nodes"] == {"0": ["y"]}
    assert onnx["Exp"]["kernels"] == [by_name["exp"]["kernel"]]


def test_a_kernel_names_the_texts_that_it_has():
    # Concatenating a few numbers needs no move, so there is no schedule to show.
    names = [f"x{i}" for i in range(3)]
    made = model(
        [node("Concat", names, ["y"], axis=0)], [value(n, (1,)) for n in names], [value("y", (3,))]
    )
    program = compiler.compile(made.SerializeToString())
    (row,) = kernel_rows(program, Identified(program.graph))
    written = {
        *dict(texts(program)),
        *dict(assembly(program, listings_of(program).plain)),
    }
    assert {f"kernel-0-{part}" for part in row["parts"]} == {
        name for name in written if name.startswith("kernel-0-")
    }
    assert row["parts"] == ["computation", "loops", "llvm", "asm"]


def test_a_run_is_divided_between_code_and_reference():
    program = a_choice()
    rows = kernel_rows(program, Identified(program.graph))
    fallback = next(row for row in rows if not row["native"])
    assert (fallback["op"], fallback["parts"]) == ("onnx.StringConcat", [])
    assert fallback["words"]
    row = running_row(program)
    assert (row["n_native"], row["n_inside"], row["n_fallback"]) == (2, 2, 1)
    assert row["n_crossings"] == 1
    assert row["flops"] == row["native_flops"] > 0
    assert row["specializations"] == []
