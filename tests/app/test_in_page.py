"""Tests of the judge as the worker of a page calls it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.wire import lessons
from app.wire.in_page import judge_text, why_on_the_server
from course.judging import judge_in_process
from tests.course.exercises.kinds import ONE_NEGATION, SAMPLES


def request_of(kind: str, code: str, **settings: Any) -> dict[str, Any]:
    exercise = {"id": "x/1", "kind": kind, "settings": {**SAMPLES[kind].settings, **settings}}
    return {"version": 1, "exercise": exercise, "files": {"solution.py": code}, "seed": 3}


@pytest.mark.parametrize("kind", ["write_rule", "write_pass"])
def test_the_text_protocol_gives_the_answers_of_the_judge(kind: str) -> None:
    sample = SAMPLES[kind]
    for code in (sample.solution, sample.wrong[0][0]):
        request = request_of(kind, code)
        assert json.loads(judge_text(json.dumps(request), 30.0)) == lessons.judgement(
            judge_in_process(request)
        )


@pytest.mark.parametrize("label", ["bf16", "f8e4m3fn", "i4"])
def test_types_of_ml_dtypes_need_the_server(label: str) -> None:
    graph = [{"name": "g", "text": ONE_NEGATION.replace("f32", label)}]
    request = request_of("write_rule", SAMPLES["write_rule"].solution, graph=graph)
    assert json.loads(judge_text(json.dumps(request), 30.0)) == {
        "server": f"the page has no arithmetic of {label}"
    }


@pytest.mark.parametrize("text", ["f32[2,3]", "f16", "x.i4", "bf16_scale", "abf16", "{i32}"])
def test_other_words_do_not_need_the_server(text: str) -> None:
    assert why_on_the_server(text) == ""
