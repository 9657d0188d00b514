"""Tests of every kind of exercise: solutions pass, wrong answers fail with their message."""

from __future__ import annotations

import json
from time import perf_counter
from typing import Any

import pytest

import course.exercises
from compiler import parse
from compiler.errors import CompileError
from course.judging import judge_in_process
from course.judging.exercise import KINDS, exercise_of
from tests.course.exercises.kinds import SAMPLES


def request(kind: str, text: str, seed: int = 1, **settings: Any) -> dict[str, Any]:
    chosen = {**SAMPLES[kind].settings, **settings}
    exercise = {"id": f"x/{kind}", "kind": kind, "settings": chosen}
    return {"version": 1, "exercise": exercise, "files": {KINDS[kind].file: text}, "seed": seed}


def judged(kind: str, text: str, **settings: Any) -> dict[str, Any]:
    answer = judge_in_process(request(kind, text, **settings))
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer, "answers are plain JSON"
    return answer


def messages(answer: dict[str, Any]) -> str:
    failed = [f"{t['name']}: {t['message']}" for t in answer["tests"] if not t["passed"]]
    return "\n".join([*failed, answer.get("error", {}).get("message", "")])


def test_every_kind_has_a_sample_and_words() -> None:
    assert SAMPLES.keys() == KINDS.keys() == set(course.exercises.__all__)
    for kind in KINDS.values():
        assert kind.title.endswith(".") or kind.title.endswith(":"), kind.name


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_solution_passes(kind: str) -> None:
    answer = judged(kind, SAMPLES[kind].solution)
    assert answer["verdict"] == "passed", messages(answer)
    assert all(s["reached"] for s in answer["scores"])


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [(kind, *wrong) for kind, sample in SAMPLES.items() for wrong in sample.wrong],
    ids=[f"{k}-{i}" for k, sample in SAMPLES.items() for i, _ in enumerate(sample.wrong)],
)
def test_a_wrong_answer_fails_with_its_message(kind: str, text: str, words: str) -> None:
    answer = judged(kind, text)
    assert answer["verdict"] in ("failed", "error")
    assert words in messages(answer)


@pytest.mark.parametrize("kind", ["write_graph", "write_pass"])
def test_a_graph_that_refuses_all_inputs_never_passes(kind: str) -> None:
    text = """
graph g(x: i64[2]) {
  const w: f32[0,3] = splat(1.0)
  y = gather(w, x, axis=0)
  return y
}
"""
    given = {"text": text}
    settings = {"graph": given if kind == "write_graph" else [given], "without": []}
    if kind == "write_pass":
        del settings["without"]
    answer = judged(kind, text if kind == "write_graph" else KEEP, **settings)
    assert answer["verdict"] == "error"
    assert "refuses random inputs" in answer["error"]["message"]


KEEP = "def run(graph, log):\n    return graph\n"
"""A pass that changes nothing."""


def test_the_same_seed_gives_the_same_answer() -> None:
    wrong = SAMPLES["write_rule"].wrong[0][0]
    assert judged("write_rule", wrong) == judged("write_rule", wrong)


def counterexample(answer: dict[str, Any]) -> dict[str, Any]:
    return next(t["counterexample"] for t in answer["tests"] if "counterexample" in t)


@pytest.mark.parametrize("number", [0, 2])
def test_a_wrong_rule_is_answered_with_a_small_graph_in_time(number: int) -> None:
    start = perf_counter()
    shown = counterexample(judged("write_rule", SAMPLES["write_rule"].wrong[number][0]))
    assert perf_counter() - start < 25
    graph = parse(shown["graph"])
    assert len(graph.nodes) <= 2
    assert shown["inputs"].keys() == {v.name for v in graph.inputs}
    assert shown["expected"] != shown["got"]
    assert "differ" in shown["differs"]
    assert shown["step"]["rule"] == "drop_negations"


def test_a_wrong_plan_is_shown_for_few_buffers() -> None:
    shown = counterexample(judged("write_planner", SAMPLES["write_planner"].wrong[1][0]))
    assert shown["problem"].count("live") == 2
    assert "both are alive" in shown["differs"]
    assert " at 0" in shown["plan"]


def test_errors_name_the_line_of_the_answer_and_output_is_kept() -> None:
    rule = SAMPLES["write_rule"].solution.replace("return x", 'print("here")\n    return 1 / 0')
    answer = judged("write_rule", rule)
    assert answer["verdict"] == "error"
    where = answer["error"]["where"]
    assert (where["source"], where["line"]) == ("solution.py", 7)
    assert "here" in answer["output"]


@pytest.mark.parametrize("kind", ["write_rule", "write_pass", "write_planner"])
def test_endless_code_is_stopped_at_its_line(kind: str) -> None:
    answer = judge_in_process(request(kind, "a = 1\nwhile True:\n    pass\n"), 0.5)
    assert answer["verdict"] == "timeout"
    assert answer["error"]["code"] == "E-LIMIT-SECONDS"
    assert answer["error"]["where"]["source"] == "solution.py"
    assert answer["error"]["where"]["line"] in (2, 3)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"version": 2}, "E-ANSWER-FORM"),
        ({"files": {}}, "E-ANSWER-FORM"),
        ({"files": {"solution.py": 3}}, "E-ANSWER-FORM"),
        ({"files": {"solution.py": "x" * 300_000}}, "E-ANSWER-SIZE"),
        ({"exercise": "70-fusion/exercise-1"}, "E-EXERCISE-FORM"),
        ({"exercise": {"id": "x", "kind": "nothing"}}, "E-EXERCISE-FORM"),
        ({"exercise": {"id": "x", "kind": "write_rule"}}, "E-EXERCISE-FORM"),
    ],
)
def test_a_wrong_request_is_an_answer_with_an_error(change: dict[str, Any], code: str) -> None:
    answer = judge_in_process(request("write_rule", "") | change)
    assert (answer["verdict"], answer["error"]["code"]) == ("error", code)
    assert judge_in_process("nothing")["verdict"] == "error"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "settings", "words"),
    [
        ("write_buckets", {"runs": [{"lengths": [3, 0], "buckets": 2}]}, "positive lengths"),
        ("write_buckets", {"runs": [{"lengths": [3, 1.5], "buckets": 2}]}, "list of integers"),
        ("write_buckets", {"random": 101}, "random is at most 100"),
        ("write_rule", {"rules": []}, "at least one rule"),
        ("write_rule", {"graph": []}, "at least one graph"),
        ("write_rule", {"graph": [{"text": "graph g("}]}, "graph 1"),
        ("write_rule", {"more": 1}, "'more' is unknown"),
        ("write_pass", {"graph": [{"text": "x", "goals": {"speed": 1}}]}, "no quantity"),
        ("write_pass", {"graph": [{"text": "x", "goals": {"seconds": 1}}]}, "does not follow"),
        ("write_pass", {"graph": [{"text": "x", "sizes": {"N": ["a"]}}]}, "a list of sizes"),
        ("write_planner", {"against": "nothing"}, "no planner"),
        ("write_planner", {"random": 900}, "at most 200"),
        ("write_scheduler", {"platform": "nothing"}, "settings"),
        ("order_passes", {"graph": [{"text": SAMPLES["order_passes"].settings["graph"][0]["text"],
                                     "types": ["f32"], "sizes": {"N": [2]}}]}, "needs goals"),
        ("edit_schedule", {"computation": "x"}, "the computation"),
        ("edit_schedule", {"goals": {"speed": 1}}, "'speed' is unknown"),
        ("predict", {"quantity": "seconds"}, "does not follow"),
        ("predict", {"pipeline": "fuze"}, "fuze"),
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(kind: str, settings: dict[str, Any], words: str) -> None:
    chosen = {**SAMPLES[kind].settings, **settings}
    with pytest.raises(CompileError, match="E-EXERCISE-FORM") as caught:
        exercise_of({"id": "x", "kind": kind, "settings": chosen})
    assert words in str(caught.value)


FACTORED = """graph g(x: f32[9], y: f32[9], z: f32[9]) {
  a = mul(x, z)
  b = mul(y, z)
  c = sub(a, b)
  return c
}"""


@pytest.mark.parametrize(("moderate", "verdict"), [(False, "failed"), (True, "passed")])
def test_an_answer_may_differ_for_infinities_if_the_exercise_says_so(
    moderate: bool, verdict: str
) -> None:
    text = FACTORED.replace(
        "a = mul(x, z)\n  b = mul(y, z)\n  c = sub(a, b)", "a = sub(x, y)\n  c = mul(a, z)"
    )
    given = {"text": FACTORED, "goals": {"multiplications": 9}}
    answer = judged("write_graph", text, graph=given, without=[], error=1e-5, moderate=moderate)
    assert answer["verdict"] == verdict


def test_a_schedule_has_goals_on_a_target() -> None:
    settings = {"target": "x86-64-v3", "goals": {"registers": 16, "loads": 5}}
    answer = judged("edit_schedule", SAMPLES["edit_schedule"].solution, **settings)
    assert "loads: " in messages(answer)
    assert "registers: " not in messages(answer)
    refused = judged("edit_schedule", "", target="pdp-11")
    assert "pdp-11" in messages(refused)


def test_a_rule_that_returns_a_class_is_told_to_make_a_value() -> None:
    text = SAMPLES["write_rule"].solution.replace("return x", "return Skip")
    answer = judged("write_rule", text.replace("import Any,", "import Any, Skip,"))
    assert answer["error"]["message"] == "drop_negations returned the class Skip"
    assert answer["error"]["hint"] == 'make a value of it, such as Skip("the reason")'


def test_the_hint_for_a_wrong_move_names_what_a_lesson_shows() -> None:
    answer = judged("edit_schedule", "Y: vectorize(no_such_loop)")
    assert answer["error"]["hint"] == "compare with the loops that the task shows"


def test_a_score_names_its_test() -> None:
    answer = judged("write_rule", SAMPLES["write_rule"].solution)
    names = [test["name"] for test in answer["tests"]]
    assert {score["test"] for score in answer["scores"]} <= set(names)
