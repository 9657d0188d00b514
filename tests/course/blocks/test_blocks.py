"""Tests of every kind of block: its results, its errors and their lines."""

from __future__ import annotations

import pytest

from compiler import parse
from compiler.errors import CompileError
from course.blocks.all import BLOCKS, read_lesson
from course.blocks.run import filled_prose, run_lesson
from course.format.lesson import Prose
from tests.course.lessons import CHAIN, error_of, lesson_text, ran, results, values

EXPERIMENT = """```experiment {name=trips of=chain draw=bars}
measure = ["kernels", "bytes"]

[case.separate]
pipeline = "none"

[case.fused]
pipeline = "fuse"

[ratio.saved]
quantity = "bytes"
over = ["separate", "fused"]
```
"""


def test_a_graph_without_types_has_types_and_quantities() -> None:
    run = ran(CHAIN)
    assert "  b: f32[6,5] = exp(a)" in results(run, "chain").texts["graph"]
    found = values(run, "chain")
    assert (found["nodes"], found["kernels"], found["bytes"]) == (3, 3, 3 * 2 * 120)
    assert "seconds" not in found


def test_an_error_of_a_graph_is_at_its_line() -> None:
    error = error_of(CHAIN.replace("exp(a)", "matmul(a, x)"))
    assert (error.code, error.where.line) == ("E-OP-SHAPE", 13)


def test_an_expected_error_is_shown_and_must_occur() -> None:
    wrong = CHAIN.replace("{name=chain}", "{name=chain expect=E-OP-SHAPE}")
    run = ran(wrong.replace("exp(a)", "matmul(a, x)"))
    assert "E-OP-SHAPE" in results(run, "chain").texts["error"]
    assert error_of(wrong).code == "E-LESSON-RESULT"


def test_an_experiment_counts_each_case_and_their_ratio() -> None:
    run = ran(CHAIN, EXPERIMENT)
    assert values(run, "trips") == {
        "separate.kernels": 3,
        "fused.kernels": 1,
        "separate.bytes": 720,
        "fused.bytes": 240,
        "saved": 3,
    }


def test_times_have_intervals_and_interleaved_rounds() -> None:
    run = ran(CHAIN, EXPERIMENT.replace('"kernels"', '"seconds"'), seconds=0.05)
    time = results(run, "trips").amounts["fused.seconds"]
    assert time.low is not None
    assert time.high is not None
    assert 0 < time.low <= time.value <= time.high
    assert " to " in time.text()
    rounds = results(run, "trips").data["rounds"]
    assert len(rounds["fused"]) == len(rounds["separate"]) >= 10


def test_without_seconds_nothing_is_timed() -> None:
    run = ran(CHAIN, EXPERIMENT.replace('"kernels"', '"seconds"'))
    assert "fused.seconds" not in values(run, "trips")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"kernels"', '"kernel"', "no quantity is named 'kernel'"),
        ('pipeline = "fuse"', 'pipelines = "fuse"', "'pipelines' is unknown"),
        ('quantity = "bytes"', 'quantity = "flops"', "a ratio has a measured quantity"),
        ('["separate", "fused"]', '["separate", "x"]', "two cases in `over`"),
        ("[ratio.saved]", "[ratio.fused]", "one case or one ratio"),
    ],
)
def test_a_wrong_experiment_is_refused_with_its_line(old: str, new: str, words: str) -> None:
    error = error_of(CHAIN, EXPERIMENT.replace(old, new))
    assert error.code == "E-LESSON-BLOCK"
    assert error.where.line >= 19
    assert words in error.message


def test_an_experiment_may_compare_samples() -> None:
    graph = parse("graph g(x: f32[2,3]) {\n  y: f32[2,3] = exp(x)\n  return y\n}")
    text = EXPERIMENT.replace("of=chain", 'of="sample:digits"')
    run, found = run_lesson(read_lesson(lesson_text(text)), lambda name: graph, 0)
    assert found[0].error is None
    assert values(run, "trips")["fused.bytes"] == 48
    assert error_of(text).code == "E-LESSON-RESULT"


def test_a_pipeline_reports_its_steps() -> None:
    run = ran(CHAIN, "```pipeline {name=fused of=chain}\nfuse{policy=elementwise}\n```\n")
    found = values(run, "fused")
    assert (found["before.kernels"], found["after.kernels"], found["applied"]) == (3, 1, 1)
    steps = results(run, "fused").data["passes"][0]["steps"]
    assert "3 nodes in one kernel" in steps[0]["because"]
    error = error_of(CHAIN, "```pipeline {name=fused of=chain}\nfuze\n```\n")
    assert (error.code, error.where.line) == ("E-PIPELINE-PASS", 20)


def test_a_pipeline_counts_the_steps_of_each_rule() -> None:
    graph = """```graph {name=trivial}
graph g(x: f32[4,5]) {
  const zero: f32[] = splat(0.0)
  a = add(x, zero)
  b = mul(a, zero)
  c = sub(b, zero)
  return c
}
```
"""
    found = values(ran(graph, "```pipeline {name=p of=trivial}\nsimplify\n```\n"), "p")
    assert found["applied.drop_add_zero"] == found["applied.drop_subtract_zero"] == 1
    assert found["declined.multiply_by_zero"] == 1


PRODUCT = """```graph {name=product}
graph g(x: f32[N,30]) {
  const w: f32[30,7] = seeded(1, 0.1)
  const rows: i64[2] = literal(7,1)
  y = matmul(x, w)
  z = exp(y)
  return z
}
```
"""

BATCHES = """```experiment {name=batches of=product}
measure = ["parameters", "flops", "contractions", "contraction_flops", "contraction_bytes"]

[case.open]

[case.one]
sizes = { N = 1 }

[case.four]
sizes = { N = 4 }
```
"""


def test_cases_of_an_experiment_may_fix_open_sizes() -> None:
    found = values(ran(PRODUCT, BATCHES), "batches")
    assert found["open.flops"] == 0
    assert found["one.flops"] == 2 * 30 * 7 + 7
    assert found["four.flops"] == 4 * found["one.flops"]
    assert {found[f"{case}.parameters"] for case in ("open", "one", "four")} == {210}
    for size, words in (("M = 1", "no open size 'M'"), ("N = 0", "sizes are positive")):
        error = error_of(PRODUCT, BATCHES.replace("N = 4", size))
        assert words in error.message


def test_contractions_have_shares_of_operations_and_traffic() -> None:
    found = values(ran(PRODUCT, BATCHES), "batches")
    assert found["one.contractions"] == 1
    assert found["one.contraction_flops"] == 420 / 427
    product, exponential = 4 * (30 + 210 + 7), 4 * (7 + 7)
    assert found["one.contraction_bytes"] == product / (product + exponential)


def test_a_pipeline_needs_a_graph_above_it() -> None:
    error = error_of("```pipeline {name=p of=chain}\nfuse\n```\n", CHAIN)
    assert (error.code, error.where.line) == ("E-LESSON-RESULT", 10)


PLAN = """```planner {name=plan}
plan 0 bytes, alignment 1 {
  a: 4 bytes, live 0..2
  b: 3 bytes, live 1..3
  c: 5 bytes, live 2..4
}
```
"""


def test_a_planner_places_the_buffers() -> None:
    found = values(ran(PLAN), "plan")
    assert found == {
        "peak_bytes": 8,
        "lower_bound_bytes": 8,
        "unshared_bytes": 12,
        "buffers": 3,
    }
    error = error_of(PLAN.replace("live 1..3", "live"))
    assert (error.code, error.where.line) == ("E-TEXT-SYNTAX", 13)


SCHEDULE = "```schedule {name=loops of=chain}\n// wide\na: vectorize(i1, 8)\n```\n"


def test_a_schedule_counts_loops() -> None:
    run = ran(CHAIN, "```schedule {name=loops of=chain}\n```\n")
    assert values(run, "loops") == {"loops": 2, "depth": 2, "iterations": 30, "moves": 0}
    assert results(run, "loops").texts["loops"].startswith("for ")


def test_a_refused_schedule_names_its_line() -> None:
    text = "```schedule {name=loops of=chain}\n// a comment\na: split(nothing, 4, p, q)\n```\n"
    error = error_of(CHAIN, text)
    assert error.code.startswith("E-SCHEDULE")
    assert error.where.line == 21
    run = ran(CHAIN, text.replace("of=chain", f"of=chain expect={error.code}"))
    assert error.code in results(run, "loops").texts["error"]
    text = "```schedule {name=loops of=chain kernel=7}\n```\n"
    assert error_of(CHAIN, text).code == "E-LESSON-RESULT"


PYTHON = """```python {name=code}
from course.student.graphs import parse
from course.student.show import show
print("hello")
show("nodes", 3)
show("size", 2e3, "B")
```
"""


def test_python_reports_values_and_output() -> None:
    run = ran(PYTHON)
    assert results(run, "code").output == "hello\n"
    assert results(run, "code").amounts["size"].text() == "2 kB"
    error = error_of(PYTHON.replace('show("nodes", 3)', "1/0"))
    assert (error.code, error.where.line) == ("E-ANSWER-PYTHON", 14)
    assert error_of(PYTHON.replace('"nodes", 3', '"nodes", "x"')).code == "E-ANSWER-FORM"
    assert error_of(PYTHON.replace("print(", "print((")).where.line == 13


def test_an_error_that_python_code_must_raise_is_shown_and_must_occur() -> None:
    expecting = PYTHON.replace("{name=code}", "{name=code expect=E-ANSWER-PYTHON}")
    run = ran(expecting.replace('show("nodes", 3)', "1/0"))
    assert "division by zero" in results(run, "code").texts["error"]
    assert error_of(expecting).code == "E-LESSON-RESULT"


PREDICT = """```predict {name=guess}
ask = "How many bytes move?"
about = "trips.fused.bytes"
```
"""

CHOICES = """```predict {name=guess}
ask = "How much is saved?"

[[choice]]
text = "nothing"
when = "trips.saved <= 1"
feedback = "Each intermediate value makes a round trip."

[[choice]]
text = "more than half"
when = "trips.fused.bytes < trips.separate.bytes"
feedback = "Only the ends of the chain remain."
```
"""


def test_a_prediction_is_answered_by_a_later_experiment() -> None:
    assert values(ran(CHAIN, PREDICT, EXPERIMENT), "guess") == {"answer": 240}
    assert values(ran(CHAIN, CHOICES, EXPERIMENT), "guess") == {"answer": 2}
    between = CHOICES.replace("saved <= 1", "saved > 1 and trips.saved < 3")
    assert values(ran(CHAIN, between, EXPERIMENT), "guess") == {"answer": 2}
    both = CHOICES.replace("saved <= 1", "saved >= 1 and trips.saved <= 3")
    assert "exactly one choice" in error_of(CHAIN, both, EXPERIMENT).message


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (PREDICT.replace("trips.fused.bytes", "trips"), "E-LESSON-TEXT"),
        (PREDICT.replace("about", "abuot"), "E-LESSON-BLOCK"),
        (PREDICT.replace('about = "trips.fused.bytes"', ""), "E-LESSON-BLOCK"),
        (PREDICT.replace("ask = ", "within = 7\nask = "), "E-LESSON-BLOCK"),
        (CHOICES.replace("<= 1", "~ 1"), "E-LESSON-BLOCK"),
        (PREDICT.replace("fused.bytes", "fused.bits"), "E-LESSON-RESULT"),
    ],
)
def test_a_wrong_prediction_is_refused(text: str, code: str) -> None:
    assert error_of(CHAIN, text, EXPERIMENT).code == code


WHY = """```why
ask = "Why does it help?"

[[answer]]
text = "Fewer operations"
feedback = "The operations are the same."

[[answer]]
text = "Fewer trips to memory"
feedback = "Yes."
right = true
```
"""


def test_a_question_has_feedback_for_each_answer() -> None:
    content = read_lesson(lesson_text(WHY)).blocks[0].content
    assert [a.right for a in content.answers] == [False, True]
    for text in (WHY.replace("right = true", ""), WHY.replace('feedback = "Yes."', "")):
        assert error_of(text).code == "E-LESSON-BLOCK"


def test_prose_shows_the_values_of_its_references() -> None:
    words = "It saves {{trips.saved}}: {{trips.fused.bytes}}, not {{trips.separate.bytes|count}}.\n"
    run = ran(CHAIN, EXPERIMENT, words)
    prose = [p for p in run.lesson.parts if isinstance(p, Prose)][-1]
    assert "It saves 3: 240 B, not 720." in filled_prose(run, prose)
    for wrong in ("{{trips.nothing}}", "{{nothing.bytes}}", "{{trips.saved|miles}}"):
        run = ran(CHAIN, EXPERIMENT, wrong)
        with pytest.raises(CompileError, match="E-LESSON-RESULT"):
            filled_prose(run, [p for p in run.lesson.parts if isinstance(p, Prose)][-1])


def test_every_kind_has_words_and_every_block_round_trips() -> None:
    for kind in BLOCKS.values():
        assert kind.title.endswith("."), kind.name
        assert len(kind.title.split()) <= 25, kind.name
    lesson = read_lesson(lesson_text(CHAIN, EXPERIMENT, CHOICES, WHY, PLAN, PYTHON))
    assert read_lesson(str(lesson)) == lesson


def test_code_is_counted_only_where_it_is_compiled() -> None:
    names = '"instructions", "vector_instructions", "llvm_lines"'
    measured = EXPERIMENT.replace('"kernels"', names)
    assert "fused.instructions" not in values(ran(CHAIN, measured), "trips")
    found = values(ran(CHAIN, measured, seconds=0.01), "trips")
    assert found["separate.instructions"] > found["fused.instructions"]
    assert found["fused.instructions"] > found["fused.vector_instructions"] > 0
    assert found["separate.llvm_lines"] > found["fused.llvm_lines"] > 0


VIEWED = """```graph {name=viewed}
graph viewed(x: f32[6,40]) {
  const flat: i64[1] = literal(240)
  a = exp(x)
  b = reshape(a, flat)
  c = neg(b)
  d = exp(c)
  e = reduce_sum(d, axes=[0], keepdims=false)
  return e
}
```
"""


def test_memory_is_counted_with_and_without_sharing() -> None:
    found = values(ran(VIEWED), "viewed")
    assert found["views"] == 1
    assert found["loop_lines"] > found["kernels"]
    assert found["live_bytes"] <= found["peak_bytes"] <= found["unshared_bytes"]


def test_constants_of_equal_elements_store_one_of_them() -> None:
    constants = "  const zeros: f32[90] = splat(0.0)\n  const some: f32[3] = literal(1.0,2.0,4.0)\n"
    found = values(ran(VIEWED.replace("  a = exp", f"{constants}  a = exp")), "viewed")
    assert found["weight_bytes"] == 4 * 93 + 8
    assert found["stored_bytes"] == 4 + 12 + 8


SUMS = """```graph {name=sums}
graph sums(x: f32[4,30]) {
  const w: f32[30,5] = seeded(1, 1.0)
  const s: f32[5] = seeded(2, 1.0)
  p = matmul(x, w)
  y = mul(p, s)
  return y
}
```
```experiment {name=moved of=sums}
measure = ["error", "changed"]

[case.given]

[case.folded]
pipeline = "fold_affine"
```
"""


def test_an_experiment_compares_results_before_and_after_passes() -> None:
    found = values(ran(SUMS), "moved")
    assert found["given.changed"] == 0
    assert 0 < found["given.error"] < 1e-6
    assert 0.1 < found["folded.changed"] <= 1
    assert 0 < found["folded.error"] < 1e-5


SCHEDULED = (
    """```graph {name=product}
graph product(x: f32[6,32]) {
  const w: f32[32,24] = seeded(1, 0.2)
  y = matmul(x, w)
  return y
}
```
```experiment {name=loops of=product}
measure = ["vector_instructions"]

[case.plain]
schedule = { y = "" }

[case.lanes]
schedule = { y = """
    + "'''"
    + """
Y: split(n, 8, no, nl)
Y: reorder(m, no, k, nl)
Y: vectorize(nl)
"""
    + "'''"
    + """ }
```
"""
)


def test_a_case_may_have_schedules() -> None:
    found = values(ran(SCHEDULED, seconds=0.01), "loops")
    assert found["lanes.vector_instructions"] != found["plain.vector_instructions"]
    error = error_of(SCHEDULED.replace("schedule = { y", "schedule = { nothing"), seconds=0.01)
    assert error.code == "E-SCHEDULE-NAME"
