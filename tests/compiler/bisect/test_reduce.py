from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from compiler.bisect.probe import Settings
from compiler.bisect.reduce import Case, all_values, reduce_case, with_nodes
from compiler.bisect.repro import read_repro, write_repro
from compiler.bisect.run import bisect
from compiler.errors import CompileError
from compiler.ir.verify import verify
from compiler.passes.pipeline.text import parse_pipeline
from compiler.passes.rules.calls import o
from compiler.runtime.inputs import random_inputs
from tests.compiler.passes.networks import NETWORKS
from tests.compiler.passes.numbers import graph
from tests.faults.fault import body, instead

DEFAULT = parse_pipeline("default")


def case_of(text: str) -> Case:
    g = graph(text)
    return Case(g, random_inputs(g))


def has(*ops: str) -> Any:
    return lambda case: set(ops) <= {n.op for n in case.graph.nodes}


def test_nodes_that_do_not_matter_become_inputs_with_their_values() -> None:
    case = Case(NETWORKS["cnn"], random_inputs(NETWORKS["cnn"]))
    made = reduce_case(case, has("relu", "max_pool"), 20)
    verify(made.graph)
    assert [n.op for n in made.graph.nodes] == ["relu", "max_pool"]
    assert [v.name for v in made.graph.inputs] == ["res"]
    assert made.feeds["res"].shape == made.graph.inputs[0].type.static_shape  # type: ignore[union-attr]


def test_the_values_of_what_is_gone_are_those_that_were_computed() -> None:
    case = case_of("""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = exp(x)
      b: f32[2,3] = neg(a)
      return b
    }
    """)
    made = with_nodes(case, ["b"], all_values(case))
    assert made is not None
    np.testing.assert_array_equal(made.feeds["a"], np.exp(case.feeds["x"]))


def test_sizes_and_numbers_become_plain() -> None:
    many = ",".join(str(i / 2) for i in range(16))
    case = case_of(f"""
    graph g(x: f32[17,16]) {{
      const c: f32[16] = literal({many})
      y: f32[17,16] = mul(x, c)
      return y
    }}
    """)
    made = reduce_case(case, has("mul"), 20)
    assert [v.type.static_shape for v in made.graph.inputs] == [(1, 1)]  # type: ignore[union-attr]
    assert made.feeds["x"].tolist() == [[1.0]]


def test_regions_are_thinned_out() -> None:
    case = case_of("""
    graph g(x: f32[2,3], n: i64[]) {
      y: f32[2,3] = onnx.Loop(n, _, x, opset=16) {
        body: graph body(i: i64[], on: bool[], s: f32[2,3]) {
          t: f32[2,3] = exp(s)
          u: f32[2,3] = neg(t)
          v: f32[2,3] = tanh(u)
          return on, v
        }
      }
      return y
    }
    """)

    def fails(c: Case) -> bool:
        inner = [m.op for n in c.graph.nodes for r in n.regions.values() for m in r.nodes]
        return "neg" in inner

    made = reduce_case(case, fails, 20)
    (loop,) = made.graph.nodes
    assert [n.op for n in loop.regions["body"].nodes] == ["neg"]


def test_no_time_leaves_the_case_as_it_is() -> None:
    case = case_of("""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = exp(x)
      return a
    }
    """)
    assert reduce_case(case, has("exp"), 0) is case


def wrong_square(old: Any) -> Any:
    return lambda x: o.mul(x, o.mul(x, x))


def test_a_reproducer_is_small_replays_and_heals(tmp_path: Path) -> None:
    """A network becomes one or two nodes; the folder fails with the fault and passes without it."""
    network = NETWORKS["elementwise"]
    with body("square", wrong_square)():
        found = bisect(network, Settings(DEFAULT))
        assert found.answer.rules == ("square",)
        assert found.repro is not None
        assert len(found.repro.case.graph.nodes) <= 2
        write_repro(tmp_path / "shown", found.repro, found.answer)
        again = read_repro(tmp_path / "shown")
        assert again.case.graph == found.repro.case.graph
        assert again.still_fails()
    assert not read_repro(tmp_path / "shown").still_fails()
    written = {p.name for p in (tmp_path / "shown").iterdir()}
    assert written >= {"graph.txt", "pipeline.txt", "failure.json", "inputs.npz", "README.md"}
    assert "compilarium bisect --replay" in (tmp_path / "shown" / "README.md").read_text()


def test_large_constants_and_short_floats_survive_the_folder(tmp_path: Path) -> None:
    values = ",".join(str(i / 8) for i in range(16))
    g = graph(f"""
    graph g(x: bf16[4,4]) {{
      const c: f32[4,4] = literal({values})
      a: f32[4,4] = cast(x, to=f32)
      n: f32[4,4] = neg(a)
      m: f32[4,4] = neg(n)
      y: f32[4,4] = add(m, c)
      return y
    }}
    """)
    with instead("drop_double_negation", lambda x: o.neg(x))():
        found = bisect(g, Settings(DEFAULT), reduce_seconds=0)
        assert found.repro is not None
        write_repro(tmp_path, found.repro, found.answer)
        again = read_repro(tmp_path)
        assert again.case.feeds["x"].dtype == ml_dtypes.bfloat16
        assert again.still_fails()


def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(CompileError) as e:
        read_repro(tmp_path)
    assert e.value.code == "E-REPRO-FOLDER"


def test_what_only_moves_the_numbers_replays_as_such(tmp_path: Path) -> None:
    g = graph("""
    graph g(x: f32[3,5]) {
      const a: f32[5] = literal(0.1, 0.7, -0.3, 1.9, 0.2)
      const b: f32[5] = literal(3.1, -0.9, 0.3, 0.6, 7.7)
      c: f32[3,5] = add(x, a)
      d: f32[3,5] = add(c, b)
      e: f32[3,5] = tanh(d)
      return e
    }
    """)
    found = bisect(g, Settings(DEFAULT, moved=0.0, ways=("results",)))
    assert found.repro is not None
    assert len(found.repro.case.graph.nodes) < 3
    write_repro(tmp_path, found.repro, found.answer)
    again = read_repro(tmp_path)
    assert again.settings.moved == 0.0
    assert again.still_fails()
