"""Tests of written models: checks in a persistent child, and compilation like an upload."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

import compiler
from app.wire.written import examples
from app.written import TextReader
from compiler.errors import CompileError
from compiler.frontend.written import LANGUAGES, PAGE_LIMITS
from compiler.runtime.inputs import random_inputs
from tests.app.conftest import PATIENCE_S, jobs_of, wait

EXAMPLES = examples()


def checked(client: FlaskClient, language: str, text: str) -> dict[str, Any]:
    answer = client.post("/api/v1/texts/check", json={"language": language, "text": text})
    assert answer.status_code == 200, answer.get_json()
    return answer.get_json()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e["name"])
def test_the_examples_are_models_and_their_code_is_right(example):
    written = LANGUAGES[example["language"]](example["text"], "x", PAGE_LIMITS)
    assert written.problems == ()
    assert written.graph
    assert example["words"].endswith(".")
    inputs = random_inputs(written.graph, 3)
    found = compiler.compile(written.graph).run(inputs)
    for name, expected in compiler.reference(written.graph, inputs).items():
        np.testing.assert_allclose(found[name], expected, rtol=2e-4, atol=2e-5)


def test_a_text_is_checked_as_somebody_types(real):
    text = "def m(x: f32[2,3]):\n    h = relu(x)\n    return h @ hh\n"
    found = checked(real, "py", text)
    [problem] = found["problems"]
    assert problem["code"] == "E-GRAPH-NAME"
    assert problem["where"] == {"source": "", "line": 3, "column": 16, "length": 2, "node": ""}
    assert found["lines"] == [{"line": 2, "name": "h", "type": "f32[2,3]"}]
    assert found["n_nodes"] is None
    right = checked(real, "py", text.replace("hh", "h.T"))
    assert (right["problems"], right["n_nodes"]) == ([], 3)
    assert compiler.parse(right["ir"])
    assert checked(real, "ir", right["ir"])["n_nodes"] == 3


def test_what_is_too_long_or_of_no_language_is_refused(real):
    [problem] = checked(real, "py", "x" * 20_001)["problems"]
    assert problem["code"] == "E-WRITE-LIMIT"
    assert "20,001" in problem["message"]
    for body in (
        {"language": "cobol", "text": ""},
        {"language": "py"},
        {"language": "py", "text": 3},
    ):
        assert real.post("/api/v1/texts/check", json=body).status_code == 400


def test_texts_are_not_checked_in_bulk(make_app):
    client = make_app(texts_per_minute=1).test_client()
    texts = [{"language": "cobol", "text": ""}] * 2
    answers = [client.post("/api/v1/texts/check", json=each) for each in texts]
    assert [each.status_code for each in answers] == [400, 429]
    path = f"/api/v1/jobs/20260101-{'0' * 20}/kernels/0/schedule/check"
    assert client.post(path, json={"text": ""}).status_code == 429


def test_a_written_model_is_compiled_and_its_numbers_are_checked(real):
    text = EXAMPLES[0]["text"].encode()
    upload = real.post("/api/v1/uploads?name=mine.py", data=text).get_json()["id"]
    options = {"measure": False, "accuracy": False}
    body = {"kind": "compile", "model": {"upload": upload}, "options": options}
    job = real.post("/api/v1/jobs", json=body).get_json()["id"]
    assert wait(real, job)["state"] == "succeeded"
    result = real.get(f"/api/v1/jobs/{job}/result").get_json()
    assert result["model"]["name"] == "mine.py"
    assert result["check"]["outputs"]
    assert "seeded(" in real.get(f"/api/v1/jobs/{job}/stages/0/text").get_json()["text"]


def test_a_mistake_in_an_uploaded_text_names_its_place(real):
    text = b"def m(x: f32[2]):\n    return y"
    upload = real.post("/api/v1/uploads?name=mine.py", data=text).get_json()["id"]
    body = {"kind": "inspect", "model": {"upload": upload}}
    job = wait(real, real.post("/api/v1/jobs", json=body).get_json()["id"])
    assert job["error"]["code"] == "E-GRAPH-NAME"
    assert (job["error"]["where"]["line"], job["error"]["where"]["column"]) == (2, 12)


def test_a_child_that_hangs_or_dies_is_replaced(client):
    slow = TextReader(jobs_of(client).runner, limit_s=0.3, memory_bytes=4 << 30)
    with pytest.raises(CompileError, match="E-LIMIT-SECONDS"):
        slow.read("py", "hang")
    slow.limit_s = PATIENCE_S  # the other children answer at once if the machine permits
    with pytest.raises(CompileError, match="E-LIMIT-CRASH"):
        slow.read("py", "die")
    assert slow.read("py", "fine") == {"problems": []}
    assert slow.read("py", "complain") == {"problems": []}
    slow.stop()
    slow.stop()
