"""Tests of the options of `compile`: one declaration, its checks, and the signature that users
see."""

import ast
import inspect
from dataclasses import fields, replace
from pathlib import Path

import pytest

import compiler
from compiler.errors import CompileError
from compiler.options import Options
from compiler.targets.target import by_name

SCHEDULES = "kernel exp {\n  y: vectorize(i)\n}"


def test_the_parameters_of_compile_are_the_declared_options() -> None:
    graph, *parameters = inspect.signature(compiler.compile).parameters.values()
    assert (graph.name, graph.default) == ("graph", inspect.Parameter.empty)
    assert [(p.name, p.default) for p in parameters] == [
        (f.name, f.default) for f in fields(Options)
    ]
    assert {p.kind for p in parameters} == {inspect.Parameter.POSITIONAL_OR_KEYWORD}


def test_editors_and_python_find_the_same_names() -> None:
    tree = ast.parse(Path(compiler.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        (f"{node.module}.{alias.name}", alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    homes = {name: home for name, (home, _) in compiler._HOMES.items() if name != "reference"}
    assert {(f"{home}.{name}", name) for name, home in homes.items()} < seen
    assert "compiler.cached.compile" in dict(seen)


def test_a_changed_copy_keeps_the_other_options() -> None:
    options = Options(
        "fuse", "x86-64-v3", 2, "fast", {"x": [2, 3]}, schedules=SCHEDULES, seconds={"y": 1.0}
    )
    assert options.target is by_name("x86-64-v3")
    assert options.inputs == {"x": (2, 3)}
    assert [s.kernel for s in options.schedules] == ["exp"]
    changed = replace(options, tier=0)
    assert replace(changed, tier=1) == options
    assert changed.code == replace(options.code, tier=0)


def test_a_precision_mode_changes_the_passes_but_not_the_given_pipeline() -> None:
    options = Options("fuse", precision="bf16")
    assert [x.name for x in options.pipeline.passes] == ["fuse"]
    assert "lower_precision" in [x.name for x in options.passes.passes]
    assert Options("fuse").passes.lines == options.pipeline.lines


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("target", "vax", "E-TARGET-NAME"),
        ("threads", 0, "E-OPTION-VALUE"),
        ("precision", "f17", "E-OPTION-VALUE"),
        ("inputs", {"x": 3}, "E-INPUT-SHAPE"),
        ("schedules", "kernel", "E-SCHEDULE-TEXT"),
        ("tier", 2, "E-OPTION-VALUE"),
        ("order", "shuffled", "E-OPTION-VALUE"),
        ("memory_limit_bytes", -1, "E-OPTION-VALUE"),
        ("spread", "nodes", "E-OPTION-VALUE"),
        ("seconds", {"y": -1.0}, "E-OPTION-VALUE"),
        ("pipeline", "no_such_pass", "E-PIPELINE-PASS"),
        ("trace", "no", "E-OPTION-VALUE"),
        ("verify", 2, "E-OPTION-VALUE"),
        ("progress", 3, "E-OPTION-VALUE"),
        ("gate", "all", "E-OPTION-VALUE"),
        ("tuned", 5, "E-OPTION-VALUE"),
        ("limits", 5, "E-OPTION-VALUE"),
    ],
)
def test_each_declared_check_refuses(name: str, value: object, code: str) -> None:
    with pytest.raises(CompileError) as e:
        Options(**{name: value})  # type: ignore[arg-type]
    assert e.value.code == code


def test_every_checked_option_has_a_refusal_above() -> None:
    (mark,) = test_each_declared_check_refuses.pytestmark  # type: ignore[attr-defined]
    refused = {name for name, _, _ in mark.args[1]}
    assert refused == {f.name for f in fields(Options) if "converter" in f.metadata}
