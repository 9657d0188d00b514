"""Tests of tasks: their text form, and their creation from graphs."""

from __future__ import annotations

import pytest

import compiler
from compiler.errors import CompileError
from compiler.ir.operator import Cost
from compiler.place.of_graph import tasks_of
from compiler.place.placement import Placement, Slot, parse_placement
from compiler.place.tasks import Datum, Task, TaskGraph
from compiler.place.tasks_text import parse_tasks
from tests.task_graphs import FAMILIES, random_tasks

TEXT = """
tasks fork {
  given x: 4096 bytes
  weight "the w": 1024 bytes
  h: 2048 bytes, i: 7 bytes = a(x, "the w") as conv+relu, 2000 flops, 50 read <- Conv_0, "R 1"
  y: 2048 bytes = b(h), cpu 0.002 s, "my gpu" 1e-05 s
  c(i)
  return y
}
"""


def test_the_text_is_read() -> None:
    g = parse_tasks(TEXT)
    a, b, c = g.tasks
    assert a == Task(
        "a", ("conv", "relu"), ("x", "the w"), ("h", "i"), Cost(2000, 50), {}, ("Conv_0", "R 1")
    )
    assert b.seconds == {"cpu": 0.002, "my gpu": 1e-5}
    assert (c.reads, c.makes) == (("i",), ())
    assert g.datum["the w"] == Datum("the w", 1024, is_weight=True)
    assert g.datum["y"].is_result
    assert g.maker == {"h": 0, "i": 0, "y": 1}
    assert g.readers["h"] == (1,)


def test_the_text_reads_back_as_it_prints() -> None:
    assert parse_tasks(str(parse_tasks(TEXT))) == parse_tasks(TEXT)
    for family in FAMILIES:
        g = random_tasks(family, 23, 5)
        assert parse_tasks(str(g)) == g
    late = TaskGraph(
        "late",
        (Task("a", (), (), ("h",)), Task("b", (), ("w",))),
        (Datum("h", 8), Datum("w", 8, is_weight=True)),
    )
    assert parse_tasks(str(late)) == late  # given for a task without results


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("z: 1 bytes = d(q)", "'q'"),
        ("h: 1 bytes = d(x)", "'h' is already defined"),
        ("z: 1 bytes = a(x)", "task 'a' is already"),
        ("z: 1 bytes = d(z)", "its own result"),
        ("z: -1 bytes = d(x)", "cannot read"),
        ("z: many bytes = d(x)", "number of bytes"),
        ("z: 1 bytes = d(x), cpu fast s", "number of seconds"),
        ("z: 1 bytes = d(x), cpu 1e999 s", "number of seconds"),
        (f"z: {'9' * 5000} bytes = d(x)", "number of bytes"),
        (f"z: 1 bytes = d(x), {'9' * 5000} flops", "number of seconds"),
        (r'"\q": 1 bytes = d(x)', "not a JSON string"),
        ("z: 1 bytes = d(x) s", "unexpected"),
        ("z: 1 bytes d(x)", "expected '='"),
        ("d(x", "expected ')'"),
        ("given", "expected a name"),
        ("return zz", "'zz'"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(line: str, words: str) -> None:
    with pytest.raises(CompileError) as caught:
        parse_tasks(TEXT.replace("  return y", f"  {line}"), "mine")
    assert caught.value.code == "E-TASKS-TEXT"
    assert words in caught.value.message
    assert caught.value.where.line == 8


def test_tasks_need_an_end() -> None:
    with pytest.raises(CompileError, match="E-TASKS-TEXT"):
        parse_tasks("tasks a {")
    with pytest.raises(CompileError, match="after the end"):
        parse_tasks("tasks a {\n}\nb()")


GRAPH = """graph g(x: f32[4,6]) {
  const w: f32[6,5] = splat(0.5)
  const v: f32[5] = splat(0.25)
  h: f32[4,5] = matmul(x, w)
  b: f32[4,5] = add(h, v)
  f: f32[20] = reshape(b, s)
  e: f32[20] = exp(f)
  c: f32[4,5] = mul(b, v)
  return e, c, second=f
}"""


def test_nodes_become_tasks_and_views_do_not() -> None:
    text = GRAPH.replace("  h:", "  const s: i64[1] = literal(20)\n  h:")
    g = tasks_of(compiler.parse(text))
    assert [t.name for t in g.tasks] == ["h", "b", "e", "c"]
    assert g.tasks[2].reads == ("b",)
    assert g.tasks[0].reads == ("x", "h.weights")
    assert g.datum["h.weights"] == Datum("h.weights", 120, is_weight=True)
    assert g.datum["v"] == Datum("v", 20, is_weight=True)  # two tasks read it
    assert g.datum["b"].is_result  # f is a view of it
    assert g.tasks[0].cost.flops == 2 * 4 * 5 * 6
    assert g.tasks[0].operators == ("matmul",)


def test_a_fused_group_is_a_task_with_all_its_operators() -> None:
    text = GRAPH.replace("  h:", "  const s: i64[1] = literal(20)\n  h:")
    graph = compiler.compile(compiler.parse(text)).graph
    g = tasks_of(graph)
    assert [t.name for t in g.tasks if t.operators == ("matmul", "add")] == ["b"]
    assert {o for t in g.tasks for o in t.operators} >= {"exp", "mul"}
    assert {d.name for d in g.data if d.is_result} <= set(graph.types)


def test_a_placement_reads_back_as_it_prints() -> None:
    made = Placement((Slot("a", "cpu", 0.0, 2.5e-7), Slot("b c", "my gpu", 1e-6, 3.0)))
    assert parse_placement(str(made), ("a", "b c")) == made
    assert made.orders == {"cpu": ("a",), "my gpu": ("b c",)}
    assert made.end_seconds == 3.0
    wrong = (
        "cpu: a 0", "cpu a 0..1", "cpu: a 0..1e999", "cpu: a 0..1.2.3",
        r'cpu: "\q" 0..1', r'"\q": a 0..1', r'cpu: "\u12" 0..1', 'cpu: "\t" 0..1',
    )  # fmt: skip
    for text in ("", "placement {", *(f"placement {{\n  {line}\n}}" for line in wrong)):
        with pytest.raises(CompileError, match="E-TASKS-TEXT"):
            parse_placement(text)
    with pytest.raises(CompileError, match="twice"):
        parse_placement("placement {\n  cpu: a 0.0..1.0, a 1.0..2.0\n}")
    with pytest.raises(CompileError, match="not list the given tasks"):
        parse_placement(str(made), ("a",))


def test_times_that_were_measured_take_the_place_of_the_roofline() -> None:
    g = parse_tasks(TEXT).with_seconds("cpu", [0.5, None, 2.0])
    assert [dict(t.seconds).get("cpu") for t in g.tasks] == [0.5, 0.002, 2.0]
    assert isinstance(g, TaskGraph)
