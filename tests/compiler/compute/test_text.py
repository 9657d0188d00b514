import pytest

from compiler.compute.builder import Lowering
from compiler.compute.computation import Stage
from compiler.compute.scalar import FUNCTIONS, Accumulated, Number, Read, Reduce, apply
from compiler.compute.text import parse_computation, parse_scalar
from compiler.errors import CompileError
from compiler.ir.types import DType, TensorType

TYPES = {"X": DType.f32, "N": DType.i64, "B": DType.bool, "K.t'": DType.f32}


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_every_function_reads_back(fn: str):
    number = Number(2, DType.i64) if fn in ("shl", "shr") else Number(-0.5, DType.f32)
    args = [number] * FUNCTIONS[fn]
    if fn == "select":
        args[0] = Number(True, DType.bool)
    value = apply(fn, *args)
    assert parse_scalar(str(value), {}) == value


@pytest.mark.parametrize(
    "text",
    [
        "f32(0.5)",
        "f32(-inf)",
        "f32(1e-05)",
        "i64(-9223372036854775808)",
        "bool(True)",
        "X[]",
        "K.t'[i, 2*j+1]",
        "index_i64((i+3)//4)",
        "to_f16(X[i])",
        "inside([(h-1, 14), (w-1, 14)], X[h-1, w-1], f32(0.0))",
        "reduce_max([j, k], mul(X[i, j], X[j, k]))",
        "accumulated_f32()",
        "select(B[i], X[i], neg(X[i]))",
        "eq(N[i], i64(3))",
    ],
)
def test_every_kind_of_expression_prints_as_it_reads(text: str):
    assert str(parse_scalar(text, TYPES)) == text


def test_element_types_come_from_the_declarations():
    read = parse_scalar("N[0]", TYPES)
    assert read == Read("N", (0,), DType.i64)
    assert parse_scalar("lt(N[0], i64(1))", TYPES).dtype is DType.bool
    assert parse_scalar("accumulated_i32()", {}) == Accumulated(DType.i32)
    assert isinstance(parse_scalar("reduce_add([i], X[i])", TYPES), Reduce)


def test_nan_reads_as_nan():
    found = parse_scalar("f32(nan)", {})
    assert isinstance(found, Number)
    assert found.value != found.value


def softmax():
    k = Lowering("softmax")
    t = TensorType(DType.f32, (4, 10))
    x, y = k.input("X", t), k.output("Y", t)
    top, total = k.temporary((4,), DType.f32), k.temporary((4,), DType.f32)
    (i,), j = k.axes((4,)), k.axis(10, "j")
    k.assign(top[i], k.reduce("max", x[i, j], j))
    k.assign(total[i], k.sum(k.exp(x[i, j] - top[i]), j))
    k.assign(y[i, j], k.exp(x[i, j] - top[i]) / total[i])
    return k.computation()


def test_a_computation_reads_back():
    found = softmax()
    assert parse_computation(str(found)) == found


@pytest.mark.parametrize("end", ["\n}", "\n  Z[i] = A[i]  for i<4 }", " }", ", j<M\n  // done\n}"])
def test_an_open_extent_may_end_a_line(end: str):
    text = f"computation copy(A: f32[N]) -> Y: f32[N] {{\n  Y[i] = A[i]  for i<N{end}"
    stage = parse_computation(text).stages[0]
    assert isinstance(stage, Stage)
    assert str(stage.extents["i"]) == "N"


def test_a_computation_of_numbers_has_stages_without_a_domain():
    k = Lowering("one")
    k.assign(k.output("Y", TensorType(DType.f32, ()))[()], k.number(1.0, DType.f32))
    found = k.computation()
    assert parse_computation(str(found)) == found


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("add(X[i])", "operands that add takes"),
        ("add(X[i], N[i])", "operands that add takes"),
        ("inside([(i, 3)], X[i], N[i])", "an expression of type f32"),
        ("Z[i]", "a declared tensor"),
        ("to_f99(X[i])", "an element type"),
        ("f32(1.0) f32(2.0)", "the end"),
        ("X[i", "','"),
        ("X[i+]", "an integer expression"),
    ],
)
def test_broken_expressions_say_what_was_needed(text: str, needed: str):
    with pytest.raises(CompileError) as e:
        parse_scalar(text, TYPES)
    assert e.value.code == "E-TEXT-SYNTAX"
    assert needed in e.value.message
    assert e.value.where.line == 1
