"""Tests of small files that request terabytes or years: a result or an error, in time.

`make sweep-malformed` tests all such files; this file tests some of each kind.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from compiler.errors import CompileError
from compiler.frontend import load
from tests.malformed import growth, mutations, odd_values
from tests.malformed.hostile import FAMILIES, hostile_files

REPOSITORY = Path(__file__).parents[2]
MODULES = (growth, mutations, odd_values)

SMALL = ("doubling", "functions", "huge_dims", "strings")


def swept(*options: str) -> subprocess.CompletedProcess[str]:
    """Return the output of a sweep, which counts the files with a wrong answer."""
    command = [sys.executable, "-m", "tests.malformed.sweep", "--list", *options]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)


def test_there_are_hundreds_of_hostile_files() -> None:
    cheap = [name for name in FAMILIES if name not in ("attributes", "operands")]
    assert sum(1 for _ in hostile_files(tuple(cheap))) >= 500


def test_some_of_each_kind_are_answered_in_time_and_memory() -> None:
    families = [word for name in SMALL for word in ("--family", name)]
    made = swept(*families, "--every", "11")
    assert made.returncode == 0, made.stdout + made.stderr
    assert "E-MODEL-SIZE" in made.stdout


@pytest.mark.parametrize(
    "name", ["operands_concat_100000", "sequence_type_45", "symbols_joined_10000"]
)
def test_too_many_of_something_is_refused_with_the_count(name: str) -> None:
    make = next(f.make for f in hostile_files(("wide",)) if f.name == name)
    with pytest.raises(CompileError) as e:
        load(make())
    assert e.value.code == "E-MODEL-SIZE"
    assert "the limit is" in e.value.message


@pytest.mark.slow
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_all_of_a_family_are_answered_in_time_and_memory(family: str) -> None:
    every = "5" if family in ("attributes", "operands") else "1"
    made = swept("--family", family, "--every", every)
    assert made.returncode == 0, made.stdout[-5000:] + made.stderr
