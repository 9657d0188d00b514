"""Tests that every call of the public API respects limits on time and memory."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

import compiler
from compiler import CompileError, Limits
from compiler.limits import check, check_bytes, check_work, limited
from compiler.machine.machine import estimated
from compiler.targets.memory import machine_bytes
from compiler.targets.target import host
from tests.malformed.growth import doubled_functions, strings_doubled

PRODUCTS = """
graph g(x: f32[N,4096]) {
  const w: f32[4096,4096] = splat(0.5)
  y: f32[N,4096] = matmul(x, w)
  z: f32[N,4096] = exp(y)
  return z
}
"""


def products(n: int) -> tuple[compiler.Graph, dict[str, np.ndarray]]:
    graph = compiler.parse(PRODUCTS.replace("N", str(n)))
    return graph, {"x": np.zeros((n, 4096), np.float32)}


def test_no_time_is_not_enough_to_load_or_compile() -> None:
    graph = compiler.parse("graph g(x: f32[2,3]) {\n  y: f32[2,3] = relu(x)\n  return y\n}")
    with pytest.raises(CompileError) as loading:
        compiler.load(compiler.to_onnx(graph), Limits(seconds=0))
    with pytest.raises(CompileError) as compiling:
        compiler.compile(graph, limits=Limits(seconds=0))
    assert loading.value.code == compiling.value.code == "E-LIMIT-SECONDS"


def test_ample_limits_change_no_result() -> None:
    graph, inputs = products(3)
    ample = Limits(seconds=600, bytes=1 << 30)
    made = compiler.compile(graph, limits=ample).run(inputs, limits=ample)["z"]
    np.testing.assert_array_equal(made, compiler.compile(graph).run(inputs)["z"])
    np.testing.assert_allclose(made, compiler.reference(graph, inputs, limits=ample)["z"])


def test_open_sizes_run_within_limits() -> None:
    graph = compiler.parse("graph g(x: f32[N,3]) {\n  y: f32[N,3] = exp(x)\n  return y\n}")
    x = np.arange(15, dtype=np.float32).reshape(5, 3)
    program = compiler.compile(graph)
    np.testing.assert_array_equal(
        program.run({"x": x}, limits=Limits(seconds=60))["y"], program.run({"x": x})["y"]
    )
    with pytest.raises(CompileError) as e:
        program.run({"x": x}, limits=Limits(bytes=20))
    assert e.value.code == "E-RUN-MEMORY"


def test_a_run_that_cannot_end_in_time_says_its_work_and_is_not_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph, inputs = products(512)
    program = compiler.compile(graph)
    operations = 2 * 512 * 4096**2
    # A slow machine, so that the limit is far from the time on a busy machine.
    slow = replace(estimated(host()), flops_per_second=operations / 1000)
    monkeypatch.setattr("compiler.runtime.within.machine_of", lambda _: slow)
    monkeypatch.setattr("compiler.limits.OPERATIONS_PER_SECOND", operations / 1000)
    with pytest.raises(CompileError) as e:
        program.run(inputs, limits=Limits(seconds=300))
    assert e.value.code == "E-LIMIT-SECONDS"
    assert f"{operations:,}"[:3] in e.value.message
    assert "not started" in e.value.message
    with pytest.raises(CompileError, match="not started") as e:
        compiler.reference(graph, inputs, limits=Limits(seconds=300))
    assert e.value.code == "E-LIMIT-SECONDS"


def test_results_beyond_the_bytes_are_refused_before_they_are_made() -> None:
    graph, inputs = products(512)
    few = Limits(bytes=1 << 20)
    program = compiler.compile(graph)
    for run in (
        lambda: program.run(inputs, limits=few),
        lambda: compiler.reference(graph, inputs, limits=few),
    ):
        with pytest.raises(CompileError) as e:
            run()
        assert e.value.code == "E-RUN-MEMORY"


def test_a_loop_stops_when_it_is_asked() -> None:
    text = """
    graph g(n: i64[], go: bool[], x: f32[4]) {
      y: f32[4] = onnx.Loop(n, go, x, opset=17) { body: graph b(i: i64[], c: bool[], s: f32[4]) {
        t: f32[4] = sin(s)
        d: bool[] = identity(c)
        return d, t
      } }
      return y
    }
    """
    graph = compiler.parse(text)
    inputs = {
        "n": np.array(1 << 40),
        "go": np.array(True),
        "x": np.ones(4, np.float32),
    }
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    with pytest.raises(CompileError) as e:
        compiler.reference(graph, inputs, limits=Limits(stop=stop))
    assert e.value.code == "E-LIMIT-SECONDS"
    assert "cancelled on request" in e.value.message
    with pytest.raises(CompileError) as e:
        compiler.reference(graph, inputs, limits=Limits(seconds=0.2))
    assert e.value.code == "E-LIMIT-SECONDS"


def test_python_between_two_checks_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    spinning = threading.Event()

    def clock() -> float:
        """Return a time beyond the limit once a test spins, except to the watchdog thread."""
        if threading.current_thread() is not threading.main_thread():
            spinning.wait()
        return 1.0 if spinning.is_set() else 0.0

    def work() -> None:
        check("spinning")
        spinning.set()
        n = 0
        while True:
            try:
                n += 1
            except Exception:
                continue

    monkeypatch.setattr("compiler.limits.monotonic", clock)
    with pytest.raises(CompileError) as e, limited(Limits(seconds=0.1)):
        work()
    assert e.value.code == "E-LIMIT-SECONDS"
    assert "spinning" in e.value.message
    time.sleep(0.6)  # no interrupt arrives afterwards


@pytest.mark.parametrize(("seconds", "code"), [(1000, "pass"), (0.1, "while True: pass")])
def test_a_profiler_works_after_a_deadline_whether_it_passed_or_not(
    seconds: float, code: str
) -> None:
    """A flag of CPython that stays set would end no call under a profiler."""
    program = f"""
import cProfile
from compiler.errors import CompileError
from compiler.limits import Limits, limited

def profiled():
    return 1

try:
    with limited(Limits(seconds={seconds})):
        {code}
except CompileError as e:
    assert e.code == "E-LIMIT-SECONDS"
print(cProfile.Profile().runcall(profiled))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=100)
    assert done.stdout == b"1\n", done.stderr


def test_inner_limits_hold_within_outer_ones() -> None:
    with limited(Limits(seconds=1000, bytes=100)), limited(Limits(seconds=2000, bytes=200)):
        check_bytes(100, "a step")
        with pytest.raises(CompileError):
            check_bytes(101, "a step")
        check_work(10**9, "a step")
        with pytest.raises(CompileError):
            check_work(10**15, "a step")
    check_bytes(machine_bytes(), "a step")
    check_work(10**30, "a step")


@pytest.mark.parametrize("bad", [{"seconds": -1}, {"seconds": "1"}, {"bytes": -1}, {"bytes": 0.5}])
def test_limits_are_numbers(bad: dict[str, float]) -> None:
    with pytest.raises(CompileError) as e:
        Limits(**bad)  # type: ignore[arg-type]
    assert e.value.code == "E-OPTION-VALUE"


def test_strings_that_double_are_refused_before_they_fill_the_memory() -> None:
    with pytest.raises(CompileError) as e:
        compiler.compile(compiler.load(strings_doubled())).run({}, limits=Limits(bytes=1 << 20))
    assert e.value.code == "E-RUN-MEMORY"


def test_a_count_of_hundreds_of_digits_is_not_written_out() -> None:
    with pytest.raises(CompileError) as e:
        compiler.load(doubled_functions(2000, 2))
    assert e.value.code == "E-MODEL-SIZE"
    assert len(e.value.message) < 200
