import onnx.parser
import pytest

import compiler
from compiler.conformance.outcome import KINDS, Outcome
from compiler.conformance.report import fallbacks, in_general, in_order, page, totals


def outcomes() -> list[Outcome]:
    unique, open_shape = (
        "onnx.Unique has no lowering to loops",
        ("the shape of h_3, f32[h_3_d0,4], is known only when the program runs"),
    )
    return [
        Outcome(
            "simple", "test_b", ("Abs", "Relu"), "native", n_native=1, n_kernels=1, seconds=0.25
        ),
        Outcome(
            "node",
            "test_c",
            ("Relu", "Unique"),
            "mixed",
            n_native=1,
            n_kernels=4,
            fallbacks=(("onnx.Unique", unique), ("relu", open_shape), ("relu", open_shape)),
        ),
        Outcome(
            "node",
            "test_a",
            ("Unique",),
            "fallback",
            remark="random",
            n_kernels=1,
            fallbacks=(("onnx.Unique", unique),),
        ),
        Outcome(
            "simple",
            "test_a",
            ("Relu", "ai.onnx.ml.Scaler"),
            "refused",
            code="E-RUN-OPERATOR",
            why="no\nx | y",
        ),
    ]


def test_outcomes_are_sorted_by_suite_and_name() -> None:
    names = [(o.suite, o.name) for o in in_order(outcomes())]
    assert names == [
        ("node", "test_a"),
        ("node", "test_c"),
        ("simple", "test_a"),
        ("simple", "test_b"),
    ]


def test_totals_count_suites_and_all() -> None:
    counts = totals(outcomes())
    assert list(counts) == ["node", "simple", "all"]
    assert counts["node"] == dict.fromkeys(KINDS, 0) | {"mixed": 1, "fallback": 1}
    assert sum(counts["all"].values()) == 4


def test_fallbacks_are_counted_by_case_and_not_by_kernel() -> None:
    found = fallbacks(outcomes())
    assert list(found) == ["onnx.Unique", "relu"]
    assert (found["onnx.Unique"].cases, found["onnx.Unique"].alone) == (2, 1)
    assert found["onnx.Unique"].reasons == {"has no lowering to loops": 2}
    assert (found["relu"].cases, found["relu"].alone) == (1, 0)
    assert found["relu"].reasons == {"a shape is known only when the program runs": 1}


def test_reasons_lose_the_names_of_one_model() -> None:
    assert (
        in_general("slice", "x_1 is seq(f32[2]), which is not a tensor")
        == "a value is not a tensor"
    )
    assert in_general("slice", "x_1 holds strings") == "a value holds strings"
    state = "an iteration turns the state with initial value s from seq(f32[...]) into seq(f32[3])"
    assert in_general("onnx.Loop", state) == "a state changes its type"
    other = "elements of type i4 have no generated code"
    assert in_general("slice", other) == other


MODELS = {
    "a shape is known only when the program runs": """
        agraph (float[4] x, bool[4] c) => (float[n] y) {
          z = Compress<axis=0>(x, c)
          y = Abs(z)
        }""",
    "a value holds strings": "agraph (string[2,3] x) => (string[3,2] y) { y = Transpose(x) }",
    "a value is not a tensor": """
        agraph (seq(float[3]) s, bool c, int64 n) => (float[3] y) {
          y = If(c) <
            then_branch = t () => (float[3] a) { a = SequenceAt(s, n) },
            else_branch = e () => (float[3] b) { m = SequenceAt(s, n)  b = Abs(m) }
          >
        }""",
    "a value is not a numeric tensor of known rank": """
        agraph (seq(float[3]) s, bool c, int64 n, float[3] x) => (seq(float[3]) y) {
          y = Loop(n, c, s) <
            body = b (int64 i, bool again, seq(float[3]) l) => (bool more, seq(float[3]) longer) {
              more = Identity(again)
              longer = SequenceInsert(l, x)
            }
          >
        }""",
    "a state changes its type": """
        agraph (float[3] s, bool c, int64 n, float[3] x) => (float[k] y) {
          y = Loop(n, c, s) <
            body = b (int64 i, bool again, float[q] a) => (bool more, float[r] longer) {
              more = Identity(again)
              longer = Concat<axis=0>(a, x)
            }
          >
        }""",
}


@pytest.mark.parametrize("because", MODELS)
def test_reasons_of_compiled_models_lose_their_names(because: str) -> None:
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]>{MODELS[because]}')
    program = compiler.compile(compiler.load(model.SerializeToString()))
    reasons = {in_general(k.op, k.because) for k in program.kernels if not k.native}
    assert because in reasons, reasons


def test_the_page_has_every_table_and_nothing_of_the_run() -> None:
    text = page(outcomes(), "1.2.3", "compilarium conformance --output x.md")
    lines = text.splitlines()
    assert "| node | 2 | 0 | 1 | 1 | 0 | 0 | 0 |" in lines
    assert "| all | 4 | 1 | 1 | 1 | 1 | 0 | 0 |" in lines
    assert "Random cases: 1." in lines
    assert "| simple | test_a | refused | E-RUN-OPERATOR no x \\| y |" in lines
    assert "| `onnx.Unique` | 2 | 1 | has no lowering to loops (2) |" in lines
    relu = (
        "| `Relu` | 3 | 1 | 1 | 0 | 1 | 0 | 0 | E-RUN-OPERATOR (1), `onnx.Unique` (1), `relu` (1) |"
    )
    assert relu in lines
    assert "`Abs` (1)." in text
    assert not any(line.startswith("| `Abs`") for line in lines)
    assert lines[-1].startswith("| `ai.onnx.ml.Scaler` | 1 | 0 |")
    later = [Outcome.from_json({**o.to_json(), "seconds": 9.0}) for o in reversed(outcomes())]
    assert page(later, "1.2.3", "compilarium conformance --output x.md") == text
