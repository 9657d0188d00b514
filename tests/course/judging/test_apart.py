"""Tests of judging in a sandbox: the same answers as in this process, and hostile code."""

from __future__ import annotations

from typing import Any

import pytest

from course.judging import judge_in_process
from course.judging.apart import judge_apart
from course.judging.exercise import Exercise, exercise_of
from sandbox.limits import Limits
from tests.course.exercises.kinds import SAMPLES

LIMITS = Limits(seconds=60, output_bytes=1 << 20)
SETTINGS = {
    "rules": ["drop_negations"],
    "graph": [
        {"text": "graph g(x: f32[2,3]) {\n  a = neg(x)\n  y = neg(a)\n  z = abs(y)\n  return z\n}"}
    ],
}
EXERCISE = {"id": "70-x/exercise-1", "kind": "write_rule", "settings": SETTINGS}
RULE = SAMPLES["write_rule"].solution


def find(name: str) -> Exercise:
    assert name == "70-x/exercise-1"
    return exercise_of(EXERCISE)


def request(text: str, exercise: object = "70-x/exercise-1") -> dict[str, Any]:
    return {"version": 1, "exercise": exercise, "files": {"solution.py": text}, "seed": 5}


def test_a_sandbox_and_this_process_give_the_same_answer() -> None:
    for text in (RULE, RULE.replace("return x", "print('hi')\n    return o.relu(x)")):
        here = judge_in_process(request(text, EXERCISE))
        assert judge_apart(request(text), find, LIMITS) == here


def test_a_server_takes_no_exercise_from_the_client() -> None:
    answer = judge_apart(request(RULE, EXERCISE), find, LIMITS)
    assert (answer["verdict"], answer["error"]["code"]) == ("error", "E-ANSWER-FORM")


@pytest.mark.parametrize(
    ("code", "verdict", "error"),
    [
        ("import os\nos._exit(0)", "error", "E-ANSWER-FORM"),
        ("import os\nos.kill(os.getpid(), 9)", "error", "E-LIMIT-CRASH"),
        ("import sys\nsys.exit(3)", "error", "E-ANSWER-PYTHON"),
        ("import os\nos.write(1, b'{}')\n1/0", "error", "E-ANSWER-PYTHON"),
        ("open('/etc/passwd')", "error", "E-ANSWER-PYTHON"),
    ],
)
def test_hostile_code_gets_no_other_verdict(code: str, verdict: str, error: str) -> None:
    answer = judge_apart(request(f"{RULE}\n{code}"), find, LIMITS)
    assert (answer["verdict"], answer["error"]["code"]) == (verdict, error)


def test_an_endless_loop_ends_at_the_limit() -> None:
    answer = judge_apart(request(f"{RULE}\nwhile True: pass"), find, Limits(seconds=3))
    assert (answer["verdict"], answer["error"]["code"]) == ("timeout", "E-LIMIT-SECONDS")
