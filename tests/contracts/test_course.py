"""Tests that the lesson engine works where only numpy is installed, as in a page."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.course.exercises.kinds import SAMPLES

REPOSITORY = Path(__file__).resolve().parents[2]
ABSENT = (
    "llvmlite", "flask", "ortools", "numba", "sqlalchemy", "onnx", "xgboost", "networkx", "click",
    "rich", "sandbox", "subprocess", "multiprocessing",
)  # fmt: skip
SERVER_ONLY = {"course.judging.apart"}

PROGRAM = """
import importlib, json, sys

absent, names, requests = json.loads(sys.stdin.read())

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in absent:
            raise ModuleNotFoundError(f"{name} is not here", name=name)

sys.meta_path.insert(0, Missing())
for name in names:
    importlib.import_module(name)
from app.wire.in_page import judge_text
judged = [json.loads(judge_text(json.dumps(request), 30.0)) for request in requests]
print(json.dumps([each["verdict"] for each in judged]))
"""


def modules() -> list[str]:
    paths = sorted((REPOSITORY / "course").rglob("*.py"))
    parts = (p.relative_to(REPOSITORY).with_suffix("").parts for p in paths)
    names = {".".join(p[:-1] if p[-1] == "__init__" else p) for p in parts}
    return sorted(names - SERVER_ONLY)


def test_all_kinds_of_exercises_are_judged_without_further_packages() -> None:
    requests = [
        {
            "version": 1,
            "exercise": {"id": f"x/{kind}", "kind": kind, "settings": sample.settings},
            "files": {"solution.py": sample.solution, "solution.txt": sample.solution},
            "seed": 3,
        }
        for kind, sample in SAMPLES.items()
    ]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([ABSENT, modules(), requests]),
        cwd=REPOSITORY, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["passed"] * len(SAMPLES)
