"""Tests that programs on several threads give the results of one thread, bit for bit."""

from __future__ import annotations

import multiprocessing
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.codegen.threads import openmp
from compiler.codegen.threads.pool_text import SHARE
from compiler.errors import CompileError
from compiler.loops import grain
from compiler.loops.sharing import has_parallel
from compiler.runtime import threads as threads_of
from compiler.runtime.inputs import random_inputs
from tests.platforms import needs_fork

SAMPLES = Path(__file__).parents[3] / "samples"
Array = np.ndarray[Any, np.dtype[Any]]

GRAPHS = {
    "elementwise": """graph g(x: f32[37,50], b: f32[50]) {
      s: f32[37,50] = add(x, b)
      y: f32[37,50] = tanh(s)
      return y
    }""",
    "reductions": """graph g(x: f32[7,300]) {
      s: f32[7] = reduce_sum(x, axes=[1], keepdims=false)
      m: f32[300] = reduce_max(x, axes=[0], keepdims=false)
      return s, m
    }""",
    "softmax": """graph g(x: f32[5,9,33]) {
      y: f32[5,9,33] = softmax(x, axis=2)
      return y
    }""",
    "products": """graph g(x: f32[45,70], w: f32[70,90], v: f32[90,33]) {
      h: f32[45,90] = matmul(x, w)
      r: f32[45,90] = relu(h)
      y: f32[45,33] = matmul(r, v)
      return y
    }""",
    "movement": """graph g(x: f32[6,7,8,9]) {
      t: f32[8,6,9,7] = transpose(x, perm=[2,0,3,1])
      y: f32[8,6,9,14] = concat(t, t, axis=3)
      return y
    }""",
}


@pytest.fixture
def every_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share every loop among threads, however small it is."""
    monkeypatch.setattr(grain, "FORK_CYCLES", 0)


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[k], b[k]) for k in a)


@pytest.mark.usefixtures("every_loop")
@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("name", GRAPHS)
def test_every_class_of_kernel_computes_what_one_thread_does(name: str, threads: int) -> None:
    graph = compiler.parse(GRAPHS[name])
    inputs = random_inputs(graph)
    program = compiler.compile(graph, threads=threads)
    assert any(k.loops is not None and has_parallel(k.loops.body) for k in program.kernels)
    expected = compiler.compile(graph).run(inputs)
    assert all(same(program.run(inputs), expected) for _ in range(5))


@pytest.mark.usefixtures("every_loop")
@pytest.mark.parametrize("seed", range(4))
def test_convolutions_with_halos_and_tails(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one = "strides=[1,1], dilations=[1,1]"
    c, d, n = (int(v) for v in rng.integers(3, 40, 3))
    text = f"""graph g(x: f32[1,{c},{n + 3},{n + 3}], w: f32[{d},{c},3,3], v: f32[{c},{d},1,1]) {{
      a: f32[1,{d},{n + 3},{n + 3}] = conv(x, w, {one}, pads=[1,1,1,1])
      r: f32[1,{d},{n + 3},{n + 3}] = relu(a)
      b: f32[1,{c},{n + 3},{n + 3}] = conv(r, v, {one}, pads=[0,0,0,0])
      y: f32[1,{c},{n + 3},{n + 3}] = add(b, x)
      return y
    }}"""
    graph = compiler.parse(text)
    inputs = random_inputs(graph, seed)
    expected = compiler.compile(graph).run(inputs)
    for threads in (2, 3):
        assert same(compiler.compile(graph, threads=threads).run(inputs), expected)


@pytest.mark.usefixtures("every_loop")
@pytest.mark.parametrize("name", ["digits_cnn", "digits_lstm", "digits_transformer"])
def test_whole_networks(name: str) -> None:
    graph = compiler.load(SAMPLES / f"{name}.onnx")
    inputs = random_inputs(graph, 5)
    shapes = {k: v.shape for k, v in inputs.items()}
    expected = compiler.compile(graph, inputs=shapes).run(inputs)
    program = compiler.compile(graph, threads=3, inputs=shapes)
    assert all(same(program.run(inputs), expected) for _ in range(3))


@pytest.mark.usefixtures("every_loop")
@pytest.mark.parametrize("n", [1, 2, 17, 400])
def test_open_sizes_are_shared_too(n: int) -> None:
    graph = compiler.parse(
        """graph g(x: f32[N,24], w: f32[24,40]) {
          h: f32[N,40] = matmul(x, w)
          y: f32[N,40] = softmax(h, axis=1)
          return y
        }"""
    )
    rng = np.random.default_rng(n)
    inputs = {
        "x": rng.normal(size=(n, 24)).astype(np.float32),
        "w": rng.normal(size=(24, 40)).astype(np.float32),
    }
    program = compiler.compile(graph, threads=3)
    assert program.serves_all_sizes
    assert any(name in str(program.emit("llvm")) for name in (SHARE, "GOMP", "kmpc"))
    assert same(program.run(inputs), compiler.compile(graph).run(inputs))


def large() -> tuple[compiler.Graph, dict[str, Any], dict[str, Any]]:
    """Return a product that is large enough to be shared, its inputs, and one thread's results."""
    graph = compiler.parse(
        "graph g(x: f32[200,150], w: f32[150,170]) {\n"
        "  y: f32[200,170] = matmul(x, w)\n  return y\n}"
    )
    inputs = random_inputs(graph)
    return graph, inputs, compiler.compile(graph).run(inputs)


def test_programs_for_different_numbers_of_threads_run_at_once_from_many_threads() -> None:
    graph, inputs, expected = large()
    programs = [compiler.compile(graph, threads=n) for n in (1, 2, 3)]
    wrong: list[int] = []

    def run(number: int) -> None:
        for iteration in range(20):
            if not same(programs[(number + iteration) % 3].run(inputs), expected):
                wrong.append(number)

    started = [threading.Thread(target=run, args=(n,)) for n in range(4)]
    for t in started:
        t.start()
    for t in started:
        t.join()
    assert not wrong


@needs_fork
def test_a_child_process_has_threads_of_its_own() -> None:
    graph, inputs, expected = large()
    program = compiler.compile(graph, threads=2)
    assert same(program.run(inputs), expected)
    context = multiprocessing.get_context("fork")
    for _ in range(2):
        child = context.Process(target=_exit_if_same, args=(program, inputs, expected))
        child.start()
        child.join(60)
        assert child.exitcode == 0, "the child waits for threads of its parent"
        assert same(program.run(inputs), expected)


def _exit_if_same(program: Any, inputs: dict[str, Any], expected: dict[str, Any]) -> None:
    sys.exit(0 if same(program.run(inputs), expected) else 1)


def test_without_a_runtime_one_thread_does_it_and_the_program_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(openmp, "runtime", lambda: None)
    monkeypatch.setattr(threads_of, "has_thread_pool", lambda _: False)
    graph, inputs, expected = large()
    program = compiler.compile(graph, threads=2)
    assert not any(name in str(program.emit("llvm")) for name in (SHARE, "omp_"))
    assert same(program.run(inputs), expected)
    assert any("no OpenMP runtime" in note and "libgomp1" in note for note in program.notes)


def test_more_threads_than_processors_are_noted() -> None:
    program = compiler.compile(large()[0], threads=200)
    assert any("200 threads share" in note for note in program.notes)


@pytest.mark.parametrize("threads", [0, -1, 257, 1.5, "2", True, None])
def test_what_is_no_number_of_threads_is_refused(threads: Any) -> None:
    with pytest.raises(CompileError) as caught:
        compiler.compile(large()[0], threads=threads)
    assert caught.value.code == "E-OPTION-VALUE"


def test_code_for_other_machines_is_written_for_threads_too() -> None:
    program = compiler.compile(large()[0], threads=4, target="aarch64")
    assert "i32 4, i32 0)" in str(program.emit("llvm"))
    assert "GOMP_parallel" in str(program.emit("asm"))
