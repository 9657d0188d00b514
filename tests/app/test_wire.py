"""The contract's examples have the shapes that the server describes."""

from __future__ import annotations

import json
import re

from app.api import ROUTES
from app.api.openapi import description
from app.wire.graphs import cut_text, shortened, steps_payload
from app.wire.programs import split_assembly, split_llvm
from app.wire.requests import JobRequest
from compiler.trace import Step
from tests.app.schema import check

# The examples of docs/wire.md, in order.
EXAMPLES = (
    "Failure", "About", "Samples", "Pipelines", "CheckedPipeline", "Operators", "Upload",
    "JobRequest", "Job", "Result", "StageGraph", "Steps", "StageText", "Diff", "Union",
    "KernelText", "Provenance",
)  # fmt: skip


def test_every_example_of_the_contract_has_the_described_shape(repository):
    text = (repository / "docs" / "wire.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    described = description(ROUTES)
    assert len(blocks) == len(EXAMPLES)
    for name, block in zip(EXAMPLES, blocks, strict=True):
        check(json.loads(block), described["components"]["schemas"][name], described, name)


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
    payload = steps_payload(1, [*declined, *applied])
    assert (payload["n_steps"], payload["n_dropped"]) == (20_000, 10_005)
    assert [s["at"] for s in payload["steps"][-5:]] == [f"a{i}" for i in range(5)]


def test_modules_are_split_into_their_functions():
    first = 'define void @"a.b"(ptr %x) nounwind {\nentry:\n  ret void\n}'
    second = "define void @c() {\nentry:\n  ret void\n}"
    llvm = f"declare float @f(float)\n{first}\n\n{second}\n"
    assert split_llvm(llvm) == {"a.b": first, "c": second}
    asm = "\t.text\n\t.globl\ta.b\na.b:\n.LBB0_1:\n\tretq\n.Lfunc_end0:\nc:\n\tretq\n"
    assert set(split_assembly(asm)) == {"a.b", "c"}
    assert split_assembly(asm)["a.b"].startswith("a.b:\n.LBB0_1:\n\tretq")
