from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.errors import CompileError
from compiler.runtime.compare import compare, worst
from compiler.runtime.inputs import random_inputs
from compiler.runtime.program import MAX_SPECIALIZATIONS, Program

PIPELINES = ("none", "default")


def text_graph(signature: str, *lines: str, results: str) -> compiler.Graph:
    body = "\n".join(f"  {line}" for line in lines)
    return compiler.parse(f"graph g({signature}) {{\n{body}\n  return {results}\n}}")


def check(graph: compiler.Graph, pipeline: str, seed: int = 0, **options: Any) -> Program:
    """Compile, run twice, and compare both runs with the reference."""
    program = compiler.compile(graph, pipeline=pipeline, **options)
    for s in (seed, seed + 1):
        inputs = random_inputs(graph, s)
        before = {k: np.array(v) for k, v in inputs.items() if isinstance(v, np.ndarray)}
        made, expected = program.run(inputs), compiler.reference(graph, inputs)
        assert list(made) == list(expected)
        assert worst(compare(made, expected)) < 1e-5
        for name, value in before.items():
            assert np.array_equal(inputs[name], value), f"{name} was modified"
    return program


MLP = text_graph(
    "x: f32[3,7], w: f32[7,5], b: f32[5]",
    "h: f32[3,5] = matmul(x, w) @ first",
    "s: f32[3,5] = add(h, b) @ second",
    "y: f32[3,5] = relu(s) @ third",
    results="y",
)

CHAIN = text_graph(
    "x: f32[40,33]",
    "a: f32[40,33] = exp(x)",
    "b: f32[40,33] = sigmoid(a)",
    "c: f32[40,33] = add(a, b)",
    "d: f32[33,40] = transpose(c, perm=[1,0])",
    "e: f32[33,40] = neg(d)",
    results="e",
)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_programs_compute_what_the_reference_computes(pipeline: str) -> None:
    program = check(MLP, pipeline)
    assert all(k.native for k in program.kernels)
    check(CHAIN, pipeline)


def test_kernels_know_their_nodes_their_work_and_their_function() -> None:
    program = check(MLP, "none")
    assert [k.name for k in program.kernels] == ["matmul", "add", "relu"]
    assert [k.origins for k in program.kernels] == [("first",), ("second",), ("third",)]
    matmul = program.kernels[0]
    assert matmul.flops == 2 * 3 * 5 * 7
    assert (matmul.bytes_read, matmul.bytes_written) == (4 * (21 + 35), 4 * 15)
    fused = check(MLP, "default")
    assert {o for k in fused.kernels for o in k.origins} == {"first", "second", "third"}


def test_memory_is_reused_and_written_in_place() -> None:
    program = check(CHAIN, "none")
    size = 40 * 33 * 4
    memory = program.memory
    # a is live while b is computed; c reuses the memory of one of them; e is the caller's array.
    gap = -size % memory.alignment_bytes
    assert memory.lower_bound_bytes == memory.peak_bytes == 2 * size + gap
    assert sorted(v for b in memory.buffers for v in b.values) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize(
    "results",
    ["x", "x, again=x", "v", "r, again=r", "r, v2", "v2, r", "c", "c, r, x, v", "v, w"],
)
def test_results_may_be_inputs_constants_views_or_the_same_value_twice(
    pipeline: str, results: str
) -> None:
    graph = text_graph(
        "x: f32[4,6]",
        "const c: f32[2] = literal(1.5,-2.0)",
        "const shape: i64[2] = literal(3,8)",
        "v: f32[3,8] = reshape(x, shape)",
        "r: f32[4,6] = relu(x)",
        "v2: f32[3,8] = reshape(r, shape)",
        "w: f32[3,8] = exp(v2)",
        results=results,
    )
    program = check(graph, pipeline)
    inputs = random_inputs(graph)
    made = program.run(inputs)
    arrays = [*made.values(), inputs["x"]]
    for i, a in enumerate(arrays):
        for b in arrays[i + 1 :]:
            assert not np.shares_memory(a, b)


def test_every_run_gives_new_arrays() -> None:
    program = compiler.compile(MLP)
    inputs = random_inputs(MLP)
    first = program.run(inputs)["y"]
    kept = first.copy()
    program.run(random_inputs(MLP, 5))
    assert np.array_equal(first, kept)


def test_equal_kernels_share_one_function_and_have_names_of_their_own() -> None:
    graph = text_graph(
        "x: f32[6,6], w: f32[6,6]",
        "a: f32[6,6] = matmul(x, w)",
        "b: f32[6,6] = matmul(a, w)",
        "c: f32[6,6] = matmul(b, x)",
        results="c",
    )
    program = check(graph, "none")
    assert len({k.name for k in program.kernels}) == 3
    assert len({k.symbol for k in program.kernels}) == 1
    assert program.emit("llvm").count("define void") == 1 + 2  # type: ignore[arg-type]


def test_inputs_may_be_lists_and_arrays_in_any_order_of_memory() -> None:
    program = compiler.compile(MLP)
    inputs = random_inputs(MLP)
    expected = program.run(inputs)["y"]
    strided = np.zeros((3, 14), np.float32)[:, ::2]
    strided[...] = inputs["x"]
    odd = np.empty(35 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(7, 5)
    odd[...] = inputs["w"]
    given = {"b": inputs["b"].tolist(), "w": odd, "x": strided}
    assert np.array_equal(program.run(given)["y"], expected)
    transposed = np.asfortranarray(inputs["x"])
    assert np.array_equal(program.run({**inputs, "x": transposed})["y"], expected)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"x": np.zeros((3, 8), np.float32)}, "E-INPUT-SHAPE"),
        ({"x": np.zeros((3, 7), np.float64)}, "E-INPUT-DTYPE"),
        ({"other": np.zeros(1)}, "E-INPUT-NAME"),
        ({"x": None}, "E-INPUT-DTYPE"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(change: dict[str, Any], code: str) -> None:
    program = compiler.compile(MLP)
    with pytest.raises(CompileError) as caught:
        program.run({**random_inputs(MLP), **change})
    assert caught.value.code == code
    with pytest.raises(CompileError):
        program.run({"x": np.zeros((3, 7), np.float32)})


MIXED = text_graph(
    "x: f32[3,4]",
    "a: f32[3,4] = exp(x)",
    "i: i64[2,n] = onnx.NonZero(a, opset=17)",
    "t: i64[n,2] = transpose(i, perm=[1,0])",
    "q: seq(f32[4]) = onnx.SplitToSequence(a, axis=0, keepdims=0, opset=17)",
    "m: f32[3,4] = onnx.Mish(a, opset=18)",
    "y: f32[3,4] = neg(m)",
    "z: f32[3,4] = add(y, a)",
    results="t, q, m, z",
)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_fallbacks_run_between_native_kernels(pipeline: str) -> None:
    program = check(MIXED, pipeline)
    told = {k.op: k.because for k in program.kernels if not k.native}
    assert set(told) >= {"onnx.SplitToSequence"}
    assert all(told.values())
    assert any(k.native for k in program.kernels)
    outputs = program.run(random_inputs(MIXED))
    assert isinstance(outputs["q"], list)
    assert len(outputs["q"]) == 3


def test_a_kept_sequence_does_not_change_when_its_memory_is_reused() -> None:
    graph = text_graph(
        "x: f32[2,4]",
        "a: f32[2,4] = exp(x)",
        "q: seq(f32[4]) = onnx.SplitToSequence(a, axis=0, keepdims=0, opset=17)",
        "b: f32[2,4] = neg(a)",
        "c: f32[2,4] = exp(b)",
        "d: f32[2,4] = neg(c)",
        results="q, d",
    )
    check(graph, "none")


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_programs_without_any_native_kernel_run(pipeline: str) -> None:
    graph = text_graph(
        "s: string[3]",
        'u: string[3] = onnx.StringNormalizer(s, case_change_action="UPPER", opset=17)',
        results="u",
    )
    program = compiler.compile(graph, pipeline=pipeline)
    words = np.array(["a", "bc", "d"], np.object_)
    assert program.run({"s": words})["u"].tolist() == ["A", "BC", "D"]
    assert [k.native for k in program.kernels] == [False]
    assert program.memory.peak_bytes == 0


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_empty_tensors_and_single_numbers_run(pipeline: str) -> None:
    graph = text_graph(
        "x: f32[0,3], y: f32[]",
        "a: f32[0,3] = exp(x)",
        "b: f32[] = neg(y)",
        "c: f32[0,3] = mul(a, b)",
        results="c, b",
    )
    check(graph, pipeline)


OPEN = text_graph(
    "x: f32[N,4], w: f32[4,M]",
    "h: f32[N,M] = matmul(x, w)",
    "y: f32[N,M] = relu(h)",
    results="y",
)


def shaped(n: int, m: int) -> dict[str, Any]:
    return random_inputs(OPEN, 1, {"x": (n, 4), "w": (4, m)})


def test_one_program_serves_all_sizes() -> None:
    program = compiler.compile(OPEN)
    assert program.serves_all_sizes
    assert not program.is_open
    assert program.notes == ("one program serves all sizes",)
    for n, m in ((2, 3), (5, 1), (2, 3), (17, 70), (0, 4)):
        inputs = shaped(n, m)
        made = program.run(inputs)
        assert worst(compare(made, compiler.reference(OPEN, inputs))) < 1e-5
    assert program.specializations == []
    assert all(k.native for k in program.kernels)


OPEN_RANK = text_graph("x: f32[...]", "y: f32[...] = relu(x)", results="y")


def ranked(*shape: int) -> dict[str, Any]:
    return random_inputs(OPEN_RANK, 1, {"x": shape})


def test_what_has_no_code_for_open_sizes_is_specialised_at_the_first_run_with_each_shape() -> None:
    program = compiler.compile(OPEN_RANK)
    assert program.is_open
    assert program.kernels == ()
    assert "the rank of the input x is open" in program.notes[0]
    for shape in ((2, 3), (5,), (2, 3)):
        inputs = ranked(*shape)
        made = program.run(inputs)
        assert worst(compare(made, compiler.reference(OPEN_RANK, inputs))) < 1e-5
    assert [s.shapes for s in program.specializations] == [{"x": (2, 3)}, {"x": (5,)}]
    assert all(s.seconds > 0 for s in program.specializations)
    assert "x=2x3" in program.specializations[0].because
    assert all(k.native for k in program.kernels)
    assert program.emit("loops")


def test_open_dimensions_given_to_compile_leave_nothing_open() -> None:
    program = compiler.compile(OPEN, inputs={"x": (2, 4), "w": (4, 3)})
    assert not program.is_open
    program.run(shaped(2, 3))
    with pytest.raises(CompileError) as caught:
        program.run(shaped(3, 3))
    assert caught.value.code == "E-INPUT-SHAPE"


def test_only_so_many_specialisations_are_kept() -> None:
    program = compiler.compile(OPEN_RANK, pipeline="none")
    for n in range(1, MAX_SPECIALIZATIONS + 3):
        program.run(ranked(n, 1))
    assert len(program.specializations) == MAX_SPECIALIZATIONS + 2
    program.run(ranked(MAX_SPECIALIZATIONS + 2, 1))
    assert len(program.specializations) == MAX_SPECIALIZATIONS + 2
    program.run(ranked(1, 1))
    assert len(program.specializations) == MAX_SPECIALIZATIONS + 3


def test_code_for_each_shape_is_there_only_after_a_run() -> None:
    program = compiler.compile(OPEN_RANK)
    assert "relu" in str(program.emit("graph"))
    with pytest.raises(CompileError) as caught:
        program.emit("llvm")
    assert caught.value.code == "E-SHAPE-OPEN"
    program.run(ranked(2, 2))
    assert "define void" in str(program.emit("llvm"))


def test_code_for_open_sizes_is_there_without_a_run() -> None:
    program = compiler.compile(OPEN)
    assert "[M, N](" in str(program.emit("loops")) or "[N, M](" in str(program.emit("loops"))
    assert "define void" in str(program.emit("llvm"))
    assert program.emit("asm")


def test_the_plan_of_an_open_program_is_that_of_the_last_run() -> None:
    program = compiler.compile(OPEN, pipeline="none")
    for n, m in ((2, 3), (5, 7)):
        program.run(shaped(n, m))
        assert [b.size for b in program.memory.buffers] == [4 * n * m]
        assert program.kernels[0].flops == 2 * n * 4 * m


def test_several_threads_may_run_one_program() -> None:
    program = compiler.compile(CHAIN, pipeline="none")
    inputs = [random_inputs(CHAIN, seed) for seed in range(6)]
    expected = [program.run(x)["e"] for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda i: program.run(inputs[i % 6])["e"], range(120)))
    for i, y in enumerate(made):
        assert np.array_equal(y, expected[i % 6])


def test_a_profile_names_every_kernel_in_order() -> None:
    program = compiler.compile(MIXED, pipeline="none")
    found = program.profile(random_inputs(MIXED), repeat=3)
    assert list(found) == [k.name for k in program.kernels]
    assert all(s >= 0 for s in found.values())
    assert list(found.medians) == list(found)
    assert all(found[n] <= found.medians[n] for n in found)
    assert len(found.runs) == 3
    with pytest.raises(CompileError) as caught:
        program.profile(random_inputs(MIXED), repeat=0)
    assert caught.value.code == "E-OPTION-VALUE"


def test_every_level_is_emitted() -> None:
    program = compiler.compile(MLP, pipeline="none")
    assert compiler.parse(str(program.emit("graph"))) == program.graph
    assert "matmul" in str(program.emit("computation"))
    assert str(program.emit("schedules")).startswith("kernel matmul {")
    assert str(program.emit("loops")).startswith("kernel ")
    assert "define void @run(" in str(program.emit("llvm"))
    assert "run" in str(program.emit("asm"))
    assert program.emit("object")[:4] == b"\x7fELF" or isinstance(program.emit("object"), bytes)
    assert str(program.emit("memory")).startswith("plan ")
    with pytest.raises(CompileError) as caught:
        program.emit("poetry")
    assert caught.value.code == "E-OPTION-VALUE"


def test_code_for_another_machine_is_emitted_and_refuses_to_run() -> None:
    program = compiler.compile(MLP, target="aarch64")
    assert "aarch64" in str(program.emit("llvm"))
    assert "fmla" in str(program.emit("asm"))
    for use in (program.run, lambda x: program.profile(x, 1)):
        with pytest.raises(CompileError) as caught:
            use(random_inputs(MLP))
        assert caught.value.code == "E-TARGET-RUN"
