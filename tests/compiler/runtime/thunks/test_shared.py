"""Tests of concats, splits and slices without copies: shared memory, refusals, correct results."""

from __future__ import annotations

import random

import numpy as np
import pytest

import compiler
from compiler.errors import CompileError
from compiler.ir.types import TensorType, parse_type
from compiler.runtime.compare import compare, worst
from compiler.runtime.frame import Workspace
from compiler.runtime.inputs import random_inputs
from compiler.runtime.thunks.shared import bytes_before
from tests.platforms import needs_own_threads


def kernels(text: str, **options: object) -> tuple[compiler.Graph, list[str]]:
    """Check a graph against the reference, and return the operators of its kernels."""
    graph = compiler.parse(text)
    program = compiler.compile(graph, "none", **options)  # type: ignore[arg-type]
    inputs = random_inputs(graph)
    made, expected = program.run(inputs), compiler.reference(graph, inputs)
    assert worst(compare(made, expected)) < 1e-5
    return graph, [k.op for k in program.kernels]


def rows(body: str, results: str = "y") -> str:
    return f"graph g(x: f32[16,5], z: f32[32,5]) {{\n{body}\n  return {results}\n}}"


JOINED = rows("""
  a: f32[16,5] = tanh(x)
  b: f32[32,5] = neg(z)
  c: f32[48,5] = concat(a, b, axis=0)
  y: f32[48,5] = sigmoid(c)""")


def test_the_parts_of_a_concat_are_written_into_it() -> None:
    graph, ops = kernels(JOINED)
    assert ops == ["tanh", "neg", "sigmoid"]
    (buffer,) = compiler.compile(graph, "none").memory.buffers
    assert (buffer.name, buffer.size) == ("c", 48 * 5 * 4)
    assert dict(zip(buffer.values, buffer.starts, strict=True)) == {"a": 0, "b": 320, "c": 0}


A, B = "  a: f32[16,5] = tanh(x)", "  b: f32[32,5] = neg(z)"


@pytest.mark.parametrize(
    ("lines", "results"),
    [
        (["  c: f32[48,5] = concat(x, z, axis=0)", "  y: f32[48,5] = tanh(c)"], "y"),
        ([A, "  c: f32[32,5] = concat(a, a, axis=0)", "  y: f32[32,5] = neg(c)"], "y"),
        ([A, B, "  y: f32[48,5] = concat(a, b, axis=0)"], "y"),
        ([A, B, "  c: f32[48,5] = concat(b, a, axis=0)", "  y: f32[48,5] = tanh(c)"], "y, a"),
        ([A, "  c: f32[16,10] = concat(a, x, axis=1)", "  y: f32[16,10] = tanh(c)"], "y"),
    ],
    ids=["inputs", "twice", "a result", "a part is a result", "inner axis"],
)
def test_what_cannot_be_shared_is_copied(lines: list[str], results: str) -> None:
    _, ops = kernels(rows("\n".join(lines), results))
    assert "concat" in ops


def test_a_part_that_ends_within_a_line_is_followed_by_nothing() -> None:
    """Kernels may use non-temporal stores of entire lines, which no other value may share."""
    odd = """graph g(x: f32[3,5], z: f32[7,5]) {
  a: f32[3,5] = tanh(x)
  b: f32[7,5] = neg(z)
  c: f32[10,5] = concat(a, b, axis=0)
  y: f32[10,5] = sigmoid(c)
  return y
}"""
    assert "concat" in kernels(odd)[1]
    swapped = odd.replace("3,5", "16,5").replace("10,5", "23,5")
    assert "concat" not in kernels(swapped)[1]


def test_a_value_is_part_of_one_concat_and_copied_into_others() -> None:
    _, ops = kernels(
        rows("""
  a: f32[16,5] = tanh(x)
  b: f32[32,5] = neg(z)
  c: f32[48,5] = concat(a, b, axis=0)
  d: f32[48,5] = concat(b, a, axis=0)
  y: f32[48,5] = sub(c, d)""")
    )
    assert ops.count("concat") == 1


def test_a_concat_may_be_part_of_a_concat_and_be_cut() -> None:
    graph, ops = kernels(
        """graph g(x: f32[16,5], z: f32[32,5]) {
  const r: i64[2] = literal(80,3)
  const first: i64[1] = literal(17)
  const end: i64[1] = literal(40)
  a: f32[16,5] = tanh(x)
  b: f32[32,5] = neg(z)
  c: f32[48,5] = concat(a, b, axis=0)
  e: f32[48,5] = sigmoid(c)
  w: f32[96,5] = concat(c, e, axis=0)
  s: f32[23,5] = slice(w, first, end)
  p: f32[32,5], q: f32[64,5] = split(w, axis=0, sizes=[32,64])
  t: f32[23,5] = tanh(s)
  y: f32[32,5] = neg(p)
  v: f32[64,5] = sigmoid(q)
  return t, y, v
}"""
    )
    assert not {"concat", "slice", "split"} & set(ops)
    assert compiler.compile(graph, "none").memory.peak_bytes == 96 * 5 * 4


@pytest.mark.parametrize("steps", ["2", "-1"])
def test_slices_with_other_steps_are_copied(steps: str) -> None:
    start, end, n = ("1", "9", 4) if steps == "2" else ("9", "1", 8)
    _, ops = kernels(
        f"""graph g(x: f32[16,5]) {{
  const first: i64[1] = literal({start})
  const end: i64[1] = literal({end})
  const axes: i64[1] = literal(0)
  const steps: i64[1] = literal({steps})
  a: f32[16,5] = tanh(x)
  s: f32[{n},5] = slice(a, first, end, axes, steps)
  y: f32[{n},5] = neg(s)
  return y
}}"""
    )
    assert "slice" in ops


def test_a_slice_up_to_an_end_that_is_computed_is_read_in_place() -> None:
    """The type determines the end of a slice; only its beginning must be constant."""
    graph, ops = kernels(
        """graph g(x: f32[16,5]) {
  const first: i64[1] = literal(3)
  const half: i64[1] = literal(7)
  end: i64[1] = add(half, half)
  a: f32[16,5] = tanh(x)
  s: f32[11,5] = slice(a, first, end)
  y: f32[11,5] = neg(s)
  return y
}"""
    )
    assert "slice" not in ops
    computed = str(graph).replace("slice(a, first, end)", "slice(a, begin, end)")
    computed = computed.replace("literal(7)", "literal(7)\n  begin: i64[1] = sub(half, four)")
    computed = computed.replace("const half", "const four: i64[1] = literal(4)\n  const half")
    assert "slice" in kernels(computed)[1]


@pytest.mark.parametrize(
    ("part", "whole", "begin", "expected"),
    [
        ("f32[1,32,6,7]{c16}", "f32[1,80,6,7]{c16}", (0, 48, 0, 0), 48 * 42 * 4),
        ("f32[1,32,6,7]{c16}", "f32[1,80,6,7]{c16}", (0, 40, 0, 0), None),
        ("f32[1,24,6,7]{c16}", "f32[1,80,6,7]{c16}", (0, 48, 0, 0), None),
        ("f32[2,32,6,7]{c16}", "f32[2,80,6,7]{c16}", (0, 48, 0, 0), None),
        ("f32[1,32,6,7]{c16}", "f32[1,80,6,7]{c8}", (0, 48, 0, 0), None),
        ("f32[1,32,6,7]{c16,halo=1x1}", "f32[1,80,6,7]{c16,halo=1x1}", (0, 48, 0, 0), 48 * 72 * 4),
        ("f32[1,32,6,7]{c16}", "f32[1,80,6,7]{c16,halo=1x1}", (0, 48, 0, 0), None),
        ("f32[1,1,3,7]{halo=1x1}", "f32[1,1,6,7]{halo=1x1}", (0, 0, 3, 0), None),
        ("f32[1,1,3,7]", "f32[1,1,6,7]", (0, 0, 3, 0), 3 * 7 * 4),
        ("f32[3,7]", "f32[6,8]", (3, 1), None),
        ("f32[1,7]", "f32[6,8]", (3, 1), 25 * 4),
        ("f32[0,8]", "f32[6,8]", (3, 0), None),
        ("i64[3]", "f32[6]", (3,), None),
    ],
)
def test_where_a_part_begins(
    part: str, whole: str, begin: tuple[int, ...], expected: int | None
) -> None:
    small, large = parse_type(part), parse_type(whole)
    assert isinstance(small, TensorType)
    assert isinstance(large, TensorType)
    assert bytes_before(small, large, begin) == expected


def chained(seed: int) -> compiler.Graph:
    """Return up to 20 nodes over images: concats and slices of channels, also of each other."""
    chance = random.Random(seed)
    made = [("x", 16), ("z", 32)]
    lines: list[str] = []
    for n in range(chance.randint(4, 20)):
        value, c = chance.choice(made[-7:])
        name, kind = f"v{n}", chance.choice(["unary", "binary", "concat", "concat", "cut", "split"])
        if kind == "binary":
            other = chance.choice([v for v, size in made if size == c])
            text = f"{chance.choice(['add', 'mul', 'sub', 'max'])}({value}, {other})"
        elif kind == "concat" and c < 200:
            others = chance.sample(made, min(len(made), chance.randint(1, 3)))
            c += sum(size for _, size in others)
            text = f"concat({', '.join([value, *(v for v, _ in others)])}, axis=1)"
        elif kind == "cut" and c > 2:
            begin = chance.randrange(c - 1)
            end = chance.randint(begin + 1, c)
            for label, number in (("b", begin), ("e", end), ("a", 1)):
                lines.append(f"const {label}{n}: i64[1] = literal({number})")
            text, c = f"slice({value}, b{n}, e{n}, a{n})", end - begin
        elif kind == "split" and c > 2:
            first = chance.randrange(1, c)
            lines.append(
                f"{name}: f32[1,{first},4,4], {name}b: f32[1,{c - first},4,4] = "
                f"split({value}, axis=1, sizes=[{first},{c - first}])"
            )
            made += [(name, first), (f"{name}b", c - first)]
            continue
        elif kind == "concat" and chance.random() < 0.2:
            text = f"onnx.Mish({value}, opset=18)"
        else:
            text = f"{chance.choice(['tanh', 'neg', 'relu', 'sigmoid'])}({value})"
        lines.append(f"{name}: f32[1,{c},4,4] = {text}")
        made.append((name, c))
    results = [v for v, _ in chance.sample(made[-6:], chance.randint(1, 3))]
    named = ", ".join(f"r{i}={v}" for i, v in enumerate(results))
    body = "\n".join(f"  {line}" for line in lines)
    head = "graph g(x: f32[1,16,4,4], z: f32[1,32,4,4])"
    return compiler.parse(f"{head} {{\n{body}\n  return {named}\n}}")


@pytest.fixture
def poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fill arenas with NaN, so that reads before writes show."""
    fresh = Workspace.of

    def full(arena_bytes: int, n_inputs: int, n_outputs: int) -> Workspace:
        space = fresh(arena_bytes, n_inputs, n_outputs)
        space.arena[...] = 0xFF
        return space

    monkeypatch.setattr(Workspace, "of", staticmethod(full))


@needs_own_threads
@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("seed", range(30))
def test_chains_of_concats_and_cuts_compute_what_the_reference_computes(
    seed: int, threads: int
) -> None:
    graph = chained(seed)
    inputs = random_inputs(graph, seed)
    expected = compiler.reference(graph, inputs)
    spread = "branches" if seed % 2 else "loops"
    pipeline = "none" if seed % 3 else "default"
    program = compiler.compile(graph, pipeline, threads=threads, spread=spread)
    for _ in range(2):
        assert worst(compare(program.run(inputs), expected)) < 1e-5, str(graph)


def limited_to(graph: compiler.Graph, limit_bytes: int) -> compiler.Program | None:
    """Return the program within a memory limit; None if none was found."""
    try:
        return compiler.compile(graph, "none", memory_limit_bytes=limit_bytes)
    except CompileError as e:
        if e.code != "E-LIMIT-ARENA":
            raise
        return None


@pytest.mark.usefixtures("poisoned")
def test_chains_within_a_memory_limit() -> None:
    n_limited = 0
    for seed in range(8):
        graph = chained(seed)
        inputs = random_inputs(graph, seed)
        free = compiler.compile(graph, "none")
        limit_bytes = max(1, free.memory.peak_bytes * 92 // 100)
        limited = limited_to(graph, limit_bytes)
        if limited is None:
            continue
        n_limited += 1
        assert limited.memory.peak_bytes <= limit_bytes
        made = limited.run(inputs)
        for name, value in free.run(inputs).items():
            np.testing.assert_array_equal(made[name], value)
    assert n_limited


def test_some_chains_share() -> None:
    """The random graphs of these tests must contain shared memory."""
    lefts = 0
    for seed in range(20):
        graph = chained(seed)
        moved = ("concat", "slice", "split")
        n_moved = sum(n.op in moved for n in graph.nodes)
        program = compiler.compile(graph, "none")
        lefts += n_moved - sum(k.op in moved for k in program.kernels)
    assert lefts >= 20
