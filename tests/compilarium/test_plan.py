"""Tests of the command `plan`."""

from pathlib import Path

import pytest

from tests.compilarium.commands import invoke, told

PROBLEM = "id,lower,upper,size\na,0,2,100\nb,2,4,50\nc,1,3,30\n"


def test_plan_solves_a_problem(tmp_path: Path) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text(PROBLEM)
    solution = tmp_path / "s.csv"
    facts = told("plan", problem, "-o", solution, "--capacity", 130)
    assert (facts["peak_bytes"], facts["lower_bound_bytes"]) == (130, 130)
    lines = solution.read_text().splitlines()
    assert lines[0] == "id,lower,upper,size,offset"
    assert len(lines) == 4
    assert told("plan", problem, "--alignment", 64)["peak_bytes"] == 158
    assert "lower bound" in invoke("plan", problem, "--planner", "hill_climb").output


def test_plan_says_when_the_capacity_is_too_small(tmp_path: Path) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text(PROBLEM)
    error = told("plan", problem, "--capacity", 129, code=1)["error"]
    assert error["code"] == "E-PLAN-CAPACITY"
    assert "no plan needs less than 130 bytes" in error["notes"]


def test_plan_takes_pins_shared_places_and_alignments_from_columns(tmp_path: Path) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text(
        "id,lower,upper,size,shares,pinned,alignment\n"
        "a,0,2,30,s,,\nb,3,5,20,s,,\nc,0,5,10,,64,\nd,2,4,7,,,16\n"
    )
    facts = told("plan", problem, "-o", tmp_path / "s.csv")
    assert facts["offsets"]["a"] == facts["offsets"]["b"]
    assert (facts["offsets"]["c"], facts["offsets"]["d"] % 16) == (64, 0)
    assert (facts["peak_bytes"], facts["stopped"]) == (74, "optimal")
    again = told("plan", tmp_path / "s.csv", "--planner", "naive")
    assert again["n_buffers"] == 4


@pytest.mark.parametrize(
    "text",
    [
        "id,lower,upper,size\na,0,3,4\nb,0,9999999999999999999999999,4\n",
        "id,lower,upper,size\na,0,3,4\nb,0,3,1e9\n",
        "id,lower,upper,size\na,0,3,4\n,0,3,1\n",
        "id,lower,upper,size,alignment\na,0,3,4,\nb,0,3,1,3\n",
        'id,lower,upper,size\na,0,3,4\n"b,0,3,1\n',
        "id,lower,upper,size\na,0,3,4\nb,0,3\x001,4\n",
        "id,lower,upper,size\na,0,3,4\n" + "b" * 200_000 + ",0,3,4\n",
    ],
    ids=["step", "float", "no id", "alignment", "quote", "zero byte", "long"],
)
def test_plan_names_the_line_of_a_row_that_makes_no_sense(tmp_path: Path, text: str) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text(text)
    error = told("plan", problem, code=1)["error"]
    assert error["code"] == "E-PLAN-INPUT"
    assert error["where"]["line"] == 3


def test_plan_refuses_pins_that_cannot_be_kept(tmp_path: Path) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text("id,lower,upper,size,pinned\na,0,3,4,0\nb,2,4,4,3\n")
    assert told("plan", problem, code=1)["error"]["code"] == "E-PLAN-INPUT"


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1"])
def test_plan_takes_no_time_that_never_ends(tmp_path: Path, seconds: str) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text(PROBLEM)
    result = invoke("plan", problem, "--time-limit", seconds)
    assert result.exit_code == 2
    assert "Invalid value for '--time-limit'" in result.stderr


def test_what_was_there_stays_when_no_solution_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, solution = tmp_path / "p.csv", tmp_path / "s.csv"
    problem.write_text(PROBLEM)
    solution.write_text("precious")
    solution.chmod(0o640)
    told("plan", problem, "-o", solution, "--capacity", 129, code=1)
    with monkeypatch.context() as m:
        write = Path.write_bytes

        def full(path: Path, raw: bytes) -> int:
            write(path, raw[: len(raw) // 2])
            raise OSError(28, "No space left on device")

        m.setattr(Path, "write_bytes", full)
        error = told("plan", problem, "-o", solution, code=1)["error"]
    assert error["code"] == "E-OUTPUT-FILE"
    assert solution.read_text() == "precious"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.csv", "s.csv"]
    told("plan", problem, "-o", solution)
    assert solution.read_text().startswith("id,")
    assert solution.stat().st_mode & 0o777 == 0o640
