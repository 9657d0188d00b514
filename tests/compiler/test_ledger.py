"""Tests of queries on the ledger, on graphs with known answers."""

from __future__ import annotations

import pytest

import compiler
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ledger import Ledger
from compiler.passes import run_pipeline
from compiler.trace import Step
from tests.compiler.passes.numbers import graph

SMALL = graph("""
graph g(x: f32[2,3], r: f32[2,5]) {
  const w: f32[3,5] = splat(0.25)
  const k: f32[5] = literal(1.0,2.0,3.0,4.0,5.0)
  const half: f32[] = literal(0.5)
  i: f32[2,3] = identity(x)
  m: f32[2,5] = matmul(i, w)
  h: f32[5] = mul(k, half)
  a: f32[2,5] = add(m, r)
  b: f32[2,5] = mul(a, h)
  s: f32[2] = reduce_sum(b, axes=[1], keepdims=false)
  d: f32[2,3] = exp(x)
  return s
}
""")


def ledger(g: Graph = SMALL, pipeline: str = "default") -> Ledger:
    return Ledger(run_pipeline(g, pipeline)[1])


@pytest.mark.parametrize(
    ("node", "kind", "rule"),
    [
        ("i", "removed", "drop_identity"),
        ("h", "folded", "fold_constants"),
        ("d", "removed", "dead_code_elimination"),
        ("a", "kept", "fuse"),
    ],
)
def test_the_fate_of_a_node_names_the_rule(node: str, kind: str, rule: str) -> None:
    fate = ledger().fate(node)
    assert fate.kind == kind, str(fate)
    assert rule in [c.step.rule for c in fate.chapters], str(fate)
    assert fate.chapters[-1].step.because in str(fate)


def test_a_node_is_found_by_a_value_too() -> None:
    g = graph("""
    graph g(x: f32[2,3]) {
      y: f32[2,3] = exp(x) @ layer/Exp <- layer/Exp
      return y
    }
    """)
    assert ledger(g).fate("y").node == "layer/Exp"


def chain(n: int) -> Graph:
    """Return consecutive products and activations, two of which share each kernel."""
    links = "\n".join(
        f"m{i}: f32[2,3] = matmul(h{i}, w) @ m{i} <- m{i}\n"
        f"h{i + 1}: f32[2,3] = relu(m{i}) @ h{i + 1} <- h{i + 1}"
        for i in range(n)
    )
    return graph(f"""
    graph g(h0: f32[2,3]) {{
      const w: f32[3,3] = splat(0.25)
      {links}
      return h{n}
    }}
    """)


def test_a_question_takes_no_longer_in_a_larger_model(monkeypatch: pytest.MonkeyPatch) -> None:
    # A page queries each edge, so time linear in the model here is quadratic there.
    spans = compiler.ledger._spans
    looked_at: list[str] = []

    def counted(step: Step, a: set[str], b: set[str]) -> bool:
        looked_at.append(step.at)
        return spans(step, a, b)

    small, large = ledger(chain(10)), ledger(chain(40))
    monkeypatch.setattr("compiler.ledger._spans", counted)
    monkeypatch.setattr("compiler.ledger.all_nodes", lambda _: pytest.fail("walks the graph"))
    effort: list[int] = []
    for asked in (small, large):
        looked_at.clear()
        assert asked.why("m4", "h5").verdict == "together"
        assert asked.why("h5", "m5").verdict == "apart"
        effort.append(len(looked_at))
    assert effort[0] == effort[1] > 0


def test_a_node_that_became_a_constant_when_the_model_was_read_is_not_asked_for() -> None:
    g = graph("""
    graph g(x: f32[3]) {
      const c: f32[3] = splat(2.0) <- Constant_0
      y: f32[3] = add(x, c) @ Add_1 <- Add_1
      return y
    }
    """)
    with pytest.raises(CompileError, match="E-NODE-NAME"):
        ledger(g).why("Constant_0", "Add_1")


def test_two_nodes_of_one_kernel_are_together_and_it_is_said_who_joined_them() -> None:
    answer = ledger().why("m", "a")
    assert answer.verdict == "together"
    assert answer.chapters[0].step.rule == "fuse"


def test_two_nodes_that_stayed_apart_have_the_reason() -> None:
    answer = ledger().why("b", "s")
    assert answer.verdict == "apart"
    assert "one contraction or reduction" in answer.because


def test_a_node_that_is_gone_answers_with_its_fate() -> None:
    answer = ledger().why("i", "m")
    assert answer.verdict == "gone"
    assert answer.chapters[-1].step.rule == "drop_identity"


def test_nodes_far_apart_are_no_neighbours() -> None:
    g = graph("""
    graph g(x: f32[2,3], y: f32[4,5]) {
      a: f32[2,3] = exp(x)
      b: f32[4,5] = sqrt(y)
      return a, b
    }
    """)
    assert ledger(g).why("a", "b").verdict == "not neighbours"


def test_without_passes_every_node_is_kept() -> None:
    assert {f.kind for f in ledger(pipeline="cost_analysis").fates()} == {"kept"}


def test_a_name_that_is_not_there_is_an_error_with_names_that_are() -> None:
    with pytest.raises(CompileError) as e:
        ledger().fate("nothing")
    assert e.value.code == "E-NODE-NAME"
    assert "m" in e.value.hint


def test_a_program_has_its_ledger_unless_it_was_dropped() -> None:
    program = compiler.compile(SMALL)
    assert program.ledger.fate("h").kind == "folded"
    with pytest.raises(CompileError) as e:
        compiler.compile(SMALL, trace=False).ledger.fate("h")
    assert e.value.code == "E-OPTION-VALUE"


def test_nodes_of_a_branch_that_is_not_taken_are_accounted_for() -> None:
    g = graph("""
    graph g(x: f32[2,3]) {
      const yes: bool[] = literal(true)
      y: f32[2,3] = onnx.If(yes, opset=16) {
        then_branch: graph then() {
          a: f32[2,3] = exp(x)
          return a
        }
        else_branch: graph otherwise() {
          const c: f32[] = literal(2.5)
          d: f32[2,3] = abs(x)
          e: f32[2,3] = mul(d, c)
          return e
        }
      }
      return y
    }
    """)
    fate = ledger(g).fate("e")
    assert fate.kind == "removed"
    assert fate.chapters[-1].step.rule == "fold_constant_branches"
