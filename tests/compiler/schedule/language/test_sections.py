"""Tests of schedules of several kernels in one text, and of compiling with such a text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import compiler
from compilarium.group import commands
from compiler.errors import CompileError
from compiler.schedule.language.sections import parse_sections, section

TWO = """
graph g(x: f32[6,40], w: f32[40,24]) {
  const v: f32[24,24] = splat(0.5)
  h: f32[6,24] = matmul(x, w)
  y: f32[6,24] = exp(h)
  z: f32[6,24] = matmul(y, v)
  return z
}
"""
SCHEDULE = """
// columns first
kernel matmul_1 {
  Y: split(n, 8, no, ni)
  Y: reorder(m, no, k, ni)
  Y: vectorize(ni)
}
"""


def test_sections_are_read_with_the_lines_they_begin_at() -> None:
    (a, b, c) = parse_sections('// all\nkernel a, "b c" {\n  Y: unroll(i)\n}\nkernel d { // e\n}\n')
    assert (a.kernel, a.text, a.first_line) == ("a", "  Y: unroll(i)", 3)
    assert (b.kernel, b.text) == ("b c", a.text)
    assert (c.kernel, c.text, c.first_line) == ("d", "", 6)


def test_a_section_is_read_back() -> None:
    text = section(["a", "b/c:0"], ["Y: unroll(i)"])
    assert [s.kernel for s in parse_sections(text)] == ["a", "b/c:0"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("Y: unroll(i)", 1, "needed `kernel NAME {`"),
        ("\nkernel {\n}", 2, "needed the name of a kernel"),
        ("kernel a b {\n}", 1, "needed `,` or `{`"),
        ("kernel a {\n", 1, "not closed"),
        ("kernel a {\n}\nkernel b, a {\n}", 3, "a already has a schedule above"),
        ("kernel\u00a0a {\n}", 1, "needed `kernel NAME {`"),
        ("kernel \u00e4 {\n}", 1, "needed the name of a kernel"),
        ("x" * 10_000_000, 1, "at most 4,000,000 characters"),
    ],
)
def test_a_mistake_between_sections_has_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        parse_sections(text)
    assert (caught.value.code, caught.value.where.line) == ("E-SCHEDULE-TEXT", line)
    assert message in caught.value.message


def feeds() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {n: rng.normal(size=s).astype(np.float32) for n, s in [("x", (6, 40)), ("w", (40, 24))]}


def test_the_schedules_of_all_kernels_give_the_same_machine_code() -> None:
    graph = compiler.parse(TWO)
    program = compiler.compile(graph)
    text = program.emit("schedules")
    assert isinstance(text, str)
    again = compiler.compile(graph, schedules=text)
    assert again.emit("llvm") == program.emit("llvm")
    assert again.emit("schedules") == text


@pytest.mark.parametrize("shape", ["f32[6,40]", "f32[N,40]"])
def test_a_schedule_by_hand_takes_the_place_of_the_policy(shape: str) -> None:
    graph = compiler.parse(TWO.replace("f32[6", shape[:-4]))
    plain = compiler.compile(graph, "none")
    program = compiler.compile(graph, "none", schedules=SCHEDULE)
    assert "vector ni in 0..8" in str(program.emit("loops"))
    assert "vector ni in 0..8" not in str(plain.emit("loops"))
    np.testing.assert_allclose(program.run(feeds())["z"], plain.run(feeds())["z"], rtol=1e-5)
    by_value = compiler.compile(graph, "none", schedules={"h": ""})
    assert "vector" not in str(by_value.emit("loops")).split("kernel")[1]


def test_a_kernel_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(CompileError, match="did you mean 'matmul_1'") as caught:
        compiler.compile(compiler.parse(TWO), "none", schedules={"matmul1": ""})
    assert caught.value.code == "E-SCHEDULE-NAME"
    assert caught.value.hint == "the kernels are matmul_1, exp, matmul_2"


def test_one_kernel_has_one_schedule_by_whatever_names() -> None:
    text = f"{SCHEDULE}kernel h {{\n}}\n"
    with pytest.raises(CompileError, match="'h' and 'matmul_1' name the same kernel") as caught:
        compiler.compile(compiler.parse(TWO), "none", schedules=text)
    assert (caught.value.code, caught.value.where.line) == ("E-SCHEDULE-NAME", 8)


def test_the_name_of_a_kernel_is_not_the_value_of_another() -> None:
    graph = compiler.parse(TWO.replace("h:", "exp:").replace("exp(h)", "exp(exp)"))
    made = compiler.compile(graph, "none", schedules={"exp": "Y: unroll(i)"})
    assert "unroll i in 0..6" in str(made.emit("loops"))


def test_a_move_that_is_not_legal_has_its_line_in_the_file() -> None:
    text = SCHEDULE.replace("vectorize(ni)", "vectorize(no)")
    with pytest.raises(CompileError, match="must be innermost") as caught:
        compiler.compile(compiler.parse(TWO), "none", schedules=text)
    assert (caught.value.code, caught.value.where.line) == ("E-SCHEDULE-MOVE", 6)


def test_commands_take_a_file_with_schedules(tmp_path: Path) -> None:
    model = "samples/digits_mlp.onnx"
    file = tmp_path / "mine.schedule"
    run = CliRunner()
    made = run.invoke(commands, ["compile", model, "--emit", "schedules", "-o", str(file)])
    assert made.exit_code == 0, made.output
    for command in (
        ["run", model, "--random", "1", "--shape", "image=3,1,8,8"],
        ["compile", model],
    ):
        done = run.invoke(commands, [*command, "--schedule", str(file)])
        assert done.exit_code == 0, done.output
    lost = run.invoke(commands, ["compile", model, "--schedule", str(tmp_path / "none")])
    assert "E-SCHEDULE-FILE" in lost.output


def test_check_names_the_shapes_for_which_a_schedule_is_needed(tmp_path: Path) -> None:
    model, file = "samples/digits_mlp.onnx", str(tmp_path / "mine.schedule")
    for shapes, verdict in (((), 1), (("--shape", "image=1,1,8,8"), 0)):
        command = ["compile", model, *shapes, "--emit", "schedules", "-o", file]
        assert CliRunner().invoke(commands, command).exit_code == 0
        checked = CliRunner().invoke(commands, ["check", model, "--schedule", file])
        assert checked.exit_code == verdict, checked.output
        assert ("compile --shape image=1,1,8,8" in checked.output) == (verdict == 1)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [("kernel a {", "E-SCHEDULE-TEXT", 1), ("\n\nkernel nobody {\n}\n", "E-SCHEDULE-NAME", 3)],
)
def test_an_error_names_the_file_and_its_line(
    tmp_path: Path, text: str, code: str, line: int
) -> None:
    file = tmp_path / "mine.schedule"
    file.write_text(text)
    command = ["compile", "samples/digits_mlp.onnx", "--schedule", str(file)]
    made = CliRunner().invoke(commands, command)
    assert made.exit_code == 1
    assert code in made.output
    assert f"{file}:{line}:" in made.output
