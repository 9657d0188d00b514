"""Tests of regions that are illegal for the sizes of a run, and fail only if they run."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import pytest

import compiler
from compiler.errors import CompileError

BODY = """b (int64 i, bool again, float[q] a) => (bool more, float[r] longer) {
  more = Identity(again)
  bad = Add(x, y)
  e = Exp(bad)
  m = ReduceSum<keepdims = 0>(e)
  longer = Add(a, m)
}"""
BRANCHES = """<
  then_branch = t () => (float[p] a) { a = Add(x, y) },
  else_branch = e () => (float[p] b) { d = Add(x, y)  b = Exp(d) }
>"""
SIZES = {"x": 2, "y": 3, "s": 2}

NEVER_RUN = {
    "a branch not taken": (
        """(bool c, float[n] x, float[m] y) => (float[k] z) {
            z = If(c) <
              then_branch = t () => (float[p] a) { a = Add(x, y) },
              else_branch = e () => (float[p] b) { b = Exp(x) }
            >
        }""",
        {"c": False},
    ),
    "equal branches inside a branch not taken": (
        f"""(bool c, bool d, float[n] x, float[m] y) => (float[k] z) {{
            z = If(c) <
              then_branch = o () => (float[p] w) {{ w = If(d) {BRANCHES} }},
              else_branch = u () => (float[p] v) {{ v = Identity(x) }}
            >
        }}""",
        {"c": False, "d": True},
    ),
    "a loop without iterations": (
        f"""(float[n] x, float[m] y, float[n] s) => (float[k] z) {{
            t = Constant<value = int64 {{0}}>()
            z = Loop(t, , s) <body = {BODY}>
        }}""",
        {},
    ),
    "a loop whose trip count is data": (
        f"""(int64 t, float[n] x, float[m] y, float[n] s) => (float[k] z) {{
            z = Loop(t, , s) <body = {BODY}>
        }}""",
        {"t": 0},
    ),
    "a loop whose condition is data": (
        f"""(bool c, float[n] x, float[m] y, float[n] s) => (float[k] z) {{
            z = Loop(, c, s) <body = {BODY}>
        }}""",
        {"c": False},
    ),
}

ALWAYS_RUN = {
    "equal branches": (
        f"(bool c, float[n] x, float[m] y) => (float[k] z) {{ z = If(c) {BRANCHES} }}",
        {"c": True},
    ),
    "a taken branch": (NEVER_RUN["a branch not taken"][0], {"c": True}),
    "two iterations": (
        NEVER_RUN["a loop without iterations"][0].replace("int64 {0}", "int64 {2}"),
        {},
    ),
    "one iteration": (NEVER_RUN["a loop whose trip count is data"][0], {"t": 1}),
}


def program(text: str, pipeline: str, is_open: bool) -> Any:
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]>g {text}')
    names = [i.name for i in model.graph.input]
    shapes = {} if is_open else {k: (n,) for k, n in SIZES.items() if k in names}
    graph = compiler.load(model.SerializeToString())
    return compiler.compile(graph, pipeline=pipeline, inputs=shapes or None)


def feeds(text: str, given: dict[str, Any]) -> dict[str, Any]:
    floats = {
        k: np.arange(n, dtype=np.float32) for k, n in SIZES.items() if f"float[n] {k}" in text
    }
    return {**floats, "y": np.ones(3, np.float32), **{k: np.array(v) for k, v in given.items()}}


CHOICES = [(p, o) for p in ("default", "O3") for o in (False, True)]


@pytest.mark.parametrize(("pipeline", "is_open"), CHOICES)
@pytest.mark.parametrize("name", NEVER_RUN)
def test_an_illegal_region_that_never_runs_changes_nothing(
    name: str, pipeline: str, is_open: bool
) -> None:
    text, given = NEVER_RUN[name]
    (z,) = program(text, pipeline, is_open).run(feeds(text, given)).values()
    x = np.arange(2, dtype=np.float32)
    np.testing.assert_allclose(z, np.exp(x) if name == "a branch not taken" else x, rtol=1e-6)


@pytest.mark.parametrize(("pipeline", "is_open"), CHOICES)
@pytest.mark.parametrize("name", ALWAYS_RUN)
def test_an_illegal_region_fails_when_it_runs(name: str, pipeline: str, is_open: bool) -> None:
    text, given = ALWAYS_RUN[name]
    compiled = program(text, pipeline, is_open)
    with pytest.raises(CompileError) as caught:
        compiled.run(feeds(text, given))
    assert caught.value.code in ("E-RUN-OPERATOR", "E-OP-SHAPE")
