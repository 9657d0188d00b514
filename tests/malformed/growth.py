"""Small files that describe huge values, endless computations, or exponentially many nodes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import onnx
from onnx import helper

from tests.malformed.hostile import Maker, family
from tests.onnx_models import BOOL, F32, I64, STRING, function, graph, model, node, stored, value

Named = Iterator[tuple[str, Maker]]
SIZES = (2**20, 2**28, 2**33, 2**40, 2**62, 2**63 - 1)


def made(*given: Any, **rest: Any) -> bytes:
    return model(*given, **rest).SerializeToString()


def chain(op: str, n: int, constant: bool = False, **attributes: Any) -> bytes:
    """Return a model that applies an operator `n` times, each time to copies of its result."""
    inputs = {"Concat": 2, "Add": 2, "Mul": 2, "MatMul": 2, "Sum": 4}.get(op, 1)
    nodes = [node(op, [f"v{i}"] * inputs, [f"v{i + 1}"], **attributes) for i in range(n)]
    if constant:
        return made(
            [*nodes, node("ReduceSum", [f"v{n}"], ["y"], keepdims=0)],
            [],
            [value("y", None)],
            [stored("v0", np.ones((4, 4)), np.float32)],
        )
    return made(nodes, [value("v0", (4, 4))], [value(f"v{n}", None)])


@family
def doubling() -> Named:
    """Yield models whose inputs, or folded constants, grow by a factor in each node."""
    for n in (14, 24, 34, 62, 100):
        for constant in (False, True):
            what = "constant" if constant else "input"
            yield f"concat_{what}_{n}", partial(chain, "Concat", n, constant, axis=0)
            yield f"stack_matmul_{what}_{n}", partial(chain, "MatMul", n, constant)
            yield f"add_{what}_{n}", partial(chain, "Add", n, constant)
    for op in ("Tile", "Expand", "Pad", "Resize", "ConstantOfShape", "Reshape", "Range"):
        for n in (2, 8, 20, 40, 62):
            yield f"{op.lower()}_2_to_the_{n}", partial(by_operand, op, 2**n)
    for op in ("RandomNormal", "RandomUniform", "EyeLike", "OneHot", "Unsqueeze", "Bernoulli"):
        for size in (2**20, 2**31, 2**44):
            yield f"{op.lower()}_{size}", partial(by_attribute, op, size)


def by_operand(op: str, size: int) -> bytes:
    """Return a model in which an operator's constant operand requests a huge result."""
    x, y = value("x", (1, 1, 2, 2)), value("y", None)

    def one(*operands: tuple[str, Any], **attributes: Any) -> bytes:
        kept = [stored(name, array) for name, array in operands]
        return made(
            [node(op, ["x", *(n for n, _ in operands)], ["y"], **attributes)], [x], [y], kept
        )

    whole = np.array([1, 1, size, 1], np.int64)
    match op:
        case "Tile" | "Expand" | "Reshape":
            return one(("n", whole))
        case "Pad":
            return one(("n", np.array([0, 0, size, 0] * 2, np.int64)))
        case "Resize":
            none = ("", np.zeros(0, np.float32))
            n = node(op, ["x", "", "", "sizes"], ["y"])
            return made([n], [x], [y], [stored("sizes", whole), stored("unused", none[1])])
        case "ConstantOfShape":
            return made([node(op, ["n"], ["y"])], [], [y], [stored("n", whole)])
        case _:
            nodes = [node("Range", ["a", "b", "c"], ["r"]), node("ReduceSum", ["r"], ["y"])]
            ends = [stored(k, v, np.int64) for k, v in (("a", 0), ("b", size), ("c", 1))]
            return made(nodes, [], [value("y", None, I64)], ends)


def by_attribute(op: str, size: int) -> bytes:
    y = value("y", None)
    match op:
        case "RandomNormal" | "RandomUniform":
            nodes = [node(op, [], ["r"], shape=[size, 64]), node("Neg", ["r"], ["y"])]
            return made(nodes, [], [y])
        case "EyeLike":
            nodes = [node("ConstantOfShape", ["n"], ["c"]), node(op, ["c"], ["y"])]
            return made(nodes, [], [y], [stored("n", [size, 64], np.int64)])
        case "OneHot":
            kept = [stored("d", size, np.int64), stored("v", [0.0, 1.0], np.float32)]
            return made([node(op, ["i", "d", "v"], ["y"])], [value("i", (64,), I64)], [y], kept)
        case "Unsqueeze":
            return made([node(op, ["x", "a"], ["y"])], None, [y], [stored("a", [size], np.int64)])
        case _:
            n = [node("ConstantOfShape", ["n"], ["c"]), node(op, ["c"], ["y"])]
            return made(n, [], [y], [stored("n", [size], np.int64)])


@family
def huge_dims() -> Named:
    """Yield models that declare inputs and splats of huge sizes in files of a few bytes."""
    for size in SIZES:
        yield f"input_{size}", partial(relu_of, (size,))
        yield f"inputs_squared_{size}", partial(relu_of, (size, size))
        yield f"splat_{size}", partial(splat, (size,), False)
        yield f"splat_sum_{size}", partial(splat, (size, 4), True)
    for rank in (8, 32, 33, 64, 65, 1000):
        yield f"rank_{rank}", partial(relu_of, (1,) * rank)
    yield "rank_32_of_2", partial(relu_of, (2,) * 32)
    yield "zero_sizes", partial(relu_of, (0, 2**40, 0))


def relu_of(shape: tuple[int, ...]) -> bytes:
    return made([node("Relu", ["x"], ["y"])], [value("x", shape)], [value("y", None)])


def splat(shape: tuple[int, ...], summed: bool) -> bytes:
    last = node("ReduceSum", ["b"], ["y"], keepdims=0) if summed else node("Exp", ["b"], ["y"])
    nodes = [
        node("ConstantOfShape", ["n"], ["a"], value=stored("v", [0.5], np.float32)),
        node("Cos", ["a"], ["b"]),
        last,
    ]
    return made(nodes, [], [value("y", None)], [stored("n", shape, np.int64)])


@family
def work() -> Named:
    """Yield models with many operations on values of moderate size."""
    for n, size in ((1, 2048), (3, 4096), (20, 8192), (5, 65536)):
        yield f"products_{n}_of_{size}", partial(products, n, size)
        yield f"constant_products_{n}_of_{size}", partial(constant_products, n, size)
    for channels, side, window in ((64, 512, 7), (512, 1024, 11), (1, 8192, 255), (4096, 64, 3)):
        yield f"conv_{channels}_{side}_{window}", partial(conv, channels, side, window)
    for op in ("MaxPool", "AveragePool", "LpPool"):
        yield f"{op.lower()}_of_large_windows", partial(pool, op, 2048, 1023)
    for n in (64, 512, 4096):
        yield f"einsum_{n}", partial(einsum, n)
        yield f"det_{n}", partial(unary, "Det", (n, n))
        yield f"cumsum_{n}", partial(cumsum, n * n)
        yield f"sort_{n}", partial(top_k, n * n * 4)
        yield f"dft_{n}", partial(dft, n * 1021)
    for op in ("LSTM", "GRU", "RNN"):
        for steps in (10, 100_000, 10_000_000):
            yield f"{op.lower()}_{steps}", partial(recurrent, op, steps)
    yield "non_max_suppression", partial(boxes, 100_000)
    yield "scatter_many", partial(scatter, 5_000_000)
    for n in (1_000, 1_000_000, 2**40, 2**62):
        yield f"loop_{n}", partial(loop, n)
        yield f"growing_loop_{n}", partial(loop, n, growing=True)
        yield f"nested_loops_{n}", partial(nested_loops, n)
    yield "endless_loop", partial(loop, None)


def products(n: int, size: int) -> bytes:
    nodes = [node("MatMul", [f"v{i}", "v0"], [f"v{i + 1}"]) for i in range(n)]
    return made(nodes, [value("v0", (size, size))], [value(f"v{n}", None)])


def constant_products(n: int, size: int) -> bytes:
    nodes = [
        node("ConstantOfShape", ["n"], ["z"]),
        node("RandomNormalLike", ["z"], ["v0"], seed=1.0),
        *(node("MatMul", [f"v{i}", "v0"], [f"v{i + 1}"]) for i in range(n)),
        node("ReduceSum", [f"v{n}"], ["y"], keepdims=0),
    ]
    return made(nodes, [], [value("y", None)], [stored("n", [size, size], np.int64)])


def conv(channels: int, side: int, window: int) -> bytes:
    w = np.zeros((1, 1, 1, 1), np.float32)
    nodes = [
        node("Expand", ["e", "s"], ["w"]),
        node("Conv", ["x", "w"], ["y"], pads=[window // 2] * 4),
    ]
    s = stored("s", [channels, channels, window, window], np.int64)
    x = value("x", (1, channels, side, side))
    return made(nodes, [x], [value("y", None)], [stored("e", w), s])


def pool(op: str, side: int, window: int) -> bytes:
    n = node(op, ["x"], ["y"], kernel_shape=[window, window])
    return made([n], [value("x", (1, 1, side, side))], [value("y", None)])


def einsum(n: int) -> bytes:
    nodes = [node("Einsum", ["x", "x", "x", "x"], ["y"], equation="ab,bc,cd,da->abcd")]
    return made(nodes, [value("x", (n, n))], [value("y", None)])


def unary(op: str, shape: tuple[int, ...]) -> bytes:
    return made([node(op, ["x"], ["y"])], [value("x", shape)], [value("y", None)])


def cumsum(n: int) -> bytes:
    nodes = [node("CumSum", ["x", "a"], ["y"])]
    return made(nodes, [value("x", (n,))], [value("y", None)], [stored("a", 0, np.int64)])


def top_k(n: int) -> bytes:
    nodes = [node("TopK", ["x", "k"], ["y", "i"])]
    outputs = [value("y", None), value("i", None, I64)]
    return made(nodes, [value("x", (n,))], outputs, [stored("k", [n], np.int64)])


def dft(n: int) -> bytes:
    nodes = [node("DFT", ["x"], ["y"], axis=1)]
    return made(nodes, [value("x", (1, n, 1))], [value("y", None)])


def recurrent(op: str, steps: int) -> bytes:
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    kept = [
        stored("w", np.full((1, gates * 8, 4), 0.1), np.float32),
        stored("r", np.full((1, gates * 8, 8), 0.1), np.float32),
    ]
    nodes = [node(op, ["x", "w", "r"], ["", "y"], hidden_size=8)]
    return made(nodes, [value("x", (steps, 1, 4))], [value("y", None)], kept)


def boxes(n: int) -> bytes:
    kept = [stored("m", [n], np.int64), stored("t", [0.99], np.float32)]
    inputs = [value("b", (1, n, 4)), value("s", (1, 1, n))]
    nodes = [node("NonMaxSuppression", ["b", "s", "m", "t"], ["y"])]
    return made(nodes, inputs, [value("y", None, I64)], kept)


def scatter(n: int) -> bytes:
    nodes = [node("ScatterElements", ["x", "i", "u"], ["y"], axis=0, reduction="mul")]
    inputs = [value("x", (n,)), value("i", (n,), I64), value("u", (n,))]
    return made(nodes, inputs, [value("y", None)], opset=18)


def loop(n: int | None, growing: bool = False) -> bytes:
    """Return a loop of `n` iterations; a growing loop concatenates the state with itself."""
    step = node("Concat", ["s", "s"], ["t"], axis=0) if growing else node("Sin", ["s"], ["t"])
    inside = [value("i", (), I64), value("c", (), BOOL), value("s", None if growing else (4,))]
    body = graph(
        [step, node("Identity", ["c"], ["d"])], inside, [value("d", (), BOOL), value("t", None)]
    )
    counted = [] if n is None else [stored("n", n, np.int64)]
    nodes = [node("Loop", ["" if n is None else "n", "go", "x"], ["y"], body=body)]
    kept = [*counted, stored("go", True, np.bool_)]
    return made(nodes, [value("x", (4,))], [value("y", None)], kept)


def nested_loops(n: int) -> bytes:
    body = graph(
        [node("Sin", ["s"], ["t"]), node("Identity", ["c"], ["d"])],
        [value("i", (), I64), value("c", (), BOOL), value("s", (4,))],
        [value("d", (), BOOL), value("t", (4,))],
    )
    for depth in range(3):
        inner = node("Loop", ["n", "go", "s"], [f"t{depth}"], body=body)
        body = graph(
            [inner, node("Identity", ["c"], [f"d{depth}"])],
            [value("i", (), I64), value("c", (), BOOL), value("s", (4,))],
            [value(f"d{depth}", (), BOOL), value(f"t{depth}", (4,))],
        )
    kept = [stored("n", n, np.int64), stored("go", True, np.bool_)]
    nodes = [node("Loop", ["n", "go", "x"], ["y"], body=body)]
    return made(nodes, [value("x", (4,))], [value("y", (4,))], kept)


@family
def functions() -> Named:
    """Yield models in which functions call functions: doubling, nesting, recursion."""
    for n in (4, 8, 12, 14, 16, 20, 30, 31, 60, 2000):
        yield f"doubling_{n}", partial(doubled_functions, n, 2)
    for n in (31, 33, 500, 5000):
        yield f"chain_{n}", partial(doubled_functions, n, 1)
    yield "thousandfold_3", partial(doubled_functions, 3, 1000)
    yield "in_branches_14", partial(functions_in_branches, 14)


def doubled_functions(n: int, times: int) -> bytes:
    bodies = [function("f0", ["x"], ["y"], [node("Sin", ["x"], ["y"])])]
    for i in range(1, n + 1):
        names = ["x", *(f"m{k}" for k in range(times - 1)), "y"]
        calls = [
            node(f"f{i - 1}", [names[k]], [names[k + 1]], domain="local") for k in range(times)
        ]
        bodies.append(function(f"f{i}", ["x"], ["y"], calls))
    call = node(f"f{n}", ["x"], ["y"], domain="local")
    return made([call], functions=bodies, domains=["local"])


def functions_in_branches(n: int) -> bytes:
    bodies = [function("f0", ["x"], ["y"], [node("Sin", ["x"], ["y"])])]
    for i in range(1, n + 1):
        call = partial(node, f"f{i - 1}", ["x"], domain="local")
        branches = [graph([call(["t"])], [], [value("t", None)], name="a")] * 2
        cond = node("Constant", [], ["c"], value=stored("c", True, np.bool_))
        choose = node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])
        bodies.append(function(f"f{i}", ["x"], ["y"], [cond, choose]))
    call = node(f"f{n}", ["x"], ["y"], domain="local")
    return made([call], functions=bodies, domains=["local"])


@family
def wide() -> Named:
    """Yield models with very many operands, nodes, symbols, constants, results or characters."""
    for n in (100, 3_000, 100_000, 5_000_000):
        yield f"operands_sum_{n}", partial(operands, "Sum", n)
        yield f"operands_concat_{n}", partial(operands, "Concat", n, axis=0)
    for n in (1_000, 30_000, 900_000):
        yield f"nodes_chain_{n}", partial(chain, "Neg", n)
        yield f"nodes_apart_{n}", partial(nodes_apart, n)
    for n in (20, 200, 1_000, 10_000, 100_000):
        yield f"symbols_{n}", partial(symbols, n)
        yield f"symbols_joined_{n}", partial(symbols_joined, n)
    yield "split_65536", partial(split, 65_536)
    for n in (100, 10_000, 200_000):
        yield f"constants_{n}", partial(constants, n)
        yield f"results_{n}", partial(results, n)
    for n in (7, 20, 45):
        yield f"sequence_type_{n}", partial(nested_type, n, "sequence")
        yield f"optional_type_{n}", partial(nested_type, n, "optional")
        yield f"map_type_{n}", partial(nested_type, n, "map")
    for n in (5, 13, 24, 30):
        yield f"nested_if_{n}", partial(nested_if, n, False)
        yield f"nested_if_twice_{min(n, 16)}", partial(nested_if, min(n, 16), True)
    for n in (1_000, 1_000_000):
        yield f"attribute_list_{n}", partial(attribute_list, n)


def operands(op: str, n: int, **attributes: Any) -> bytes:
    return made([node(op, ["x"] * n, ["y"], **attributes)], None, [value("y", None)])


def nodes_apart(n: int) -> bytes:
    nodes = [node("Exp", ["x"], [f"v{i}"]) for i in range(n)]
    return made([*nodes, node("Relu", ["x"], ["y"])])


def symbols(n: int) -> bytes:
    inputs = [value(f"x{i}", (f"n{i}", 4)) for i in range(n)]
    nodes = [node("Relu", [f"x{i}"], [f"y{i}"]) for i in range(n)]
    return made(nodes, inputs, [value(f"y{i}", None) for i in range(n)])


def symbols_joined(n: int) -> bytes:
    inputs = [value(f"x{i}", (f"n{i}", 4)) for i in range(n)]
    joined = node("Concat", [f"x{i}" for i in range(n)], ["y"], axis=0)
    return made([joined], inputs, [value("y", None)])


def split(n: int) -> bytes:
    n_split = node("Split", ["x"], [f"v{i}" for i in range(n)], axis=0, num_outputs=n)
    nodes = [n_split, node("Neg", [f"v{n - 1}"], ["y"])]
    return made(nodes, [value("x", (n, 2))], [value("y", None)], opset=18)


def constants(n: int) -> bytes:
    kept = [stored(f"c{i}", [i], np.float32) for i in range(n)]
    return made([node("Relu", ["x"], ["y"])], initialisers=kept)


def results(n: int) -> bytes:
    nodes = [node("Relu", ["x"], [f"y{i}"]) for i in range(n)]
    return made(nodes, None, [value(f"y{i}", None) for i in range(n)])


def nested_type(n: int, kind: str) -> bytes:
    t = helper.make_tensor_type_proto(F32, (2,))
    for _ in range(n):
        match kind:
            case "sequence":
                t = helper.make_sequence_type_proto(t)
            case "optional":
                t = helper.make_optional_type_proto(t)
            case _:
                t = helper.make_map_type_proto(I64, t)
    inputs = [onnx.ValueInfoProto(name="x", type=t)]
    outputs = [onnx.ValueInfoProto(name="y", type=t)]
    return made([node("Identity", ["x"], ["y"])], inputs, outputs)


def nested_if(n: int, twice: bool) -> bytes:
    inner = graph([node("Exp", ["x"], ["t"])], [], [value("t", None)])
    for i in range(n):
        other = inner if twice else graph([node("Neg", ["x"], ["e"])], [], [value("e", None)])
        n_if = node("If", ["c"], [f"t{i}"], then_branch=inner, else_branch=other)
        inner = graph([n_if], [], [value(f"t{i}", None)])
    nodes = [node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)]
    return made(nodes, [value("x"), value("c", (), BOOL)], [value("y", None)])


def attribute_list(n: int) -> bytes:
    nodes = [node("Constant", [], ["c"], value_floats=[0.5] * n), node("ReduceSum", ["c"], ["y"])]
    return made(nodes, [], [value("y", None)])


@family
def strings() -> Named:
    """Yield models with long strings, many strings, or patterns that cause backtracking."""
    bombs = (
        "(a+)+b",
        "(a|a)*b",
        "(a|aa)+$",
        "(.*)*x",
        "a{1,1000}{1,1000}",
        "((a{1,30}){1,30}){9}",
    )
    for k, pattern in enumerate(bombs):
        yield f"pattern_{k}", partial(pattern_match, pattern, b"a" * 64)
        yield f"pattern_{k}_long", partial(pattern_match, pattern, b"a" * 100_000)
    yield "pattern_backreference", partial(pattern_match, r"(a)\1", b"aa")
    yield "pattern_broken", partial(pattern_match, "(((", b"a")
    yield "pattern_of_a_megabyte", partial(pattern_match, "(a?){500000}", b"a")
    for n in (1 << 20, 30 << 20):
        yield f"one_string_{n}", partial(string_tensor, [b"x" * n])
        yield f"strings_of_one_{n}", partial(string_tensor, [b"x"] * (n // 8))
    yield "split_strings", partial(string_split, b"a " * 500_000)
    yield "strings_doubled", strings_doubled
    yield "strings_with_nul", partial(string_tensor, [b"a\0b", b"\xff\xfe", b""])


def text_tensor(name: str, texts: list[bytes]) -> onnx.TensorProto:
    return onnx.TensorProto(name=name, data_type=STRING, dims=[len(texts)], string_data=texts)


def pattern_match(pattern: str, text: bytes) -> bytes:
    tensor = text_tensor("s", [text])
    nodes = [node("RegexFullMatch", ["s"], ["y"], pattern=pattern)]
    return made(nodes, [], [value("y", None, BOOL)], [tensor], opset=20)


def string_tensor(texts: list[bytes]) -> bytes:
    tensor = text_tensor("s", texts)
    return made([node("Identity", ["s"], ["y"])], [], [value("y", None, STRING)], [tensor])


def string_split(text: bytes) -> bytes:
    tensor = text_tensor("s", [text])
    nodes = [node("StringSplit", ["s"], ["y", "n"], delimiter=" ")]
    outputs = [value("y", None, STRING), value("n", None, I64)]
    return made(nodes, [], outputs, [tensor], opset=20)


def strings_doubled() -> bytes:
    nodes = [node("StringConcat", [f"v{i}", f"v{i}"], [f"v{i + 1}"]) for i in range(40)]
    tensor = text_tensor("v0", [b"abcd"])
    return made(nodes, [], [value("v40", None, STRING)], [tensor], opset=20)
