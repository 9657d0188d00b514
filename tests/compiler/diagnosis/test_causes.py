"""Tests of causes: an example of each, and what compiled models give."""

from __future__ import annotations

from dataclasses import replace

import pytest

import compiler
from compiler.diagnosis.actions import ACTIONS
from compiler.diagnosis.causes import CAUSES, diagnose
from compiler.diagnosis.facts import Facts
from compiler.diagnosis.programs import diagnoses
from compiler.diagnosis.work import Work, work_of
from compiler.figures.times import Times
from compiler.machine.machine import Machine, estimated
from compiler.machine.roofline import predicted
from compiler.runtime.profile import Profile
from compiler.runtime.thunks.kernels import KernelInfo
from compiler.targets.target import by_name

TARGET = by_name("x86-64-v3")
MACHINE = estimated(TARGET)
LAUNCH_S = 1e-6


def facts(
    seconds: float,
    *,
    flops: int = 0,
    dram: float = 0.0,
    work: Work | None = None,
    native: bool = True,
    n_inside: int = 0,
    machine: Machine = MACHINE,
) -> Facts:
    kernel = KernelInfo("k", "onnx.Op", ("k",), native, flops, 0, 0, "k", "no rule applies")
    bound = predicted(flops, {"DRAM": dram}, machine, LAUNCH_S)
    times: Times = {
        "median_s": seconds, "min_s": seconds, "low_s": seconds, "high_s": seconds, "share": 1.0,
        "predicted_s": bound.seconds, "roof_s": bound.roof_seconds, "bound": bound.bound,
        "ratio": None, "potential_s": None,
    }  # fmt: skip
    no_work = Work({}, 0.0, ())
    return Facts(kernel, times, bound, work or no_work, machine, 1, 4, "f32", n_inside)


def varying(low: float, found: Facts) -> Facts:
    times: Times = {**found.times, "low_s": low, "high_s": 2 * found.times["median_s"]}
    return replace(found, times=times)


def steps(seconds: float) -> float:
    return seconds / Work({"scalar": 1.0}, 0.0, ()).seconds("scalar")


EXAMPLES = {
    "reference_implementation": facts(5e-6, native=False),
    "control_flow": facts(5e-3, n_inside=3),
    "launch_overhead": facts(1.5e-6, flops=300),
    "memory_bandwidth": facts(1.2e-3, dram=1e-3 * MACHINE.dram_bytes_per_second),
    "arithmetic": facts(1.3e-3, flops=int(1e-3 * MACHINE.flops_per_second)),
    "varying_times": varying(1.2e-3, facts(9e-3, flops=int(1e-3 * MACHINE.flops_per_second))),
    "functions": facts(3e-3, flops=900, work=Work({"function": steps(2e-3)}, 0.0, ("erf",))),
    "strided_access": facts(3e-3, flops=900, work=Work({"strided": steps(2e-3)}, 0.0, ())),
    "computed_indices": facts(3e-3, flops=900, work=Work({"computed": steps(2e-3)}, 0.0, ())),
    "scalar_code": facts(3e-3, flops=900, work=Work({"scalar": steps(2e-3)}, 0.0, ())),
    "short_rows": facts(3e-3, flops=900, work=Work({"vector": steps(2.5e-3)}, 0.8, ())),
    "schedule": facts(3e-3, flops=900),
}


def test_every_cause_has_an_example() -> None:
    assert list(EXAMPLES) == list(CAUSES)


@pytest.mark.parametrize("name", CAUSES)
def test_the_example_of_a_cause_has_this_cause(name: str) -> None:
    found = diagnose(EXAMPLES[name])
    assert found.cause.name == name
    assert found.evidence.endswith(".")
    assert found.cause.words.endswith(".")
    assert found.actions
    assert set(found.actions) <= set(ACTIONS)


def test_a_long_kernel_is_not_explained_by_its_launch() -> None:
    assert diagnose(facts(5e-6, flops=300)).cause.name == "schedule"


def test_work_must_explain_the_time_above_the_roofline() -> None:
    little = Work({"function": steps(1e-3)}, 0.0, ("erf",))
    assert diagnose(facts(3e-3, flops=900, work=little)).cause.name == "schedule"


def test_times_that_vary_far_from_the_roofline_are_explained_by_work() -> None:
    kernel = facts(9e-3, flops=900, work=Work({"function": steps(8e-3)}, 0.0, ("erf",)))
    assert diagnose(varying(1.2e-3, kernel)).cause.name == "functions"


def test_actions_without_an_effect_are_left_out() -> None:
    near = EXAMPLES["memory_bandwidth"]
    assert diagnose(near).actions == ("fuse", "precision", "threads")
    assert diagnose(replace(near, n_processors=1)).actions == ("fuse", "precision")
    assert diagnose(replace(near, precision="int8")).actions == ("fuse", "threads")


def test_a_kernel_faster_than_the_machine_asks_to_measure_the_machine() -> None:
    found = diagnose(facts(5e-4, dram=1e-3 * MACHINE.dram_bytes_per_second))
    assert "measure the machine" in found.evidence


@pytest.mark.parametrize(("shape", "cause"), [((4,), "launch_overhead"), ((3, 7001), "functions")])
def test_causes_of_a_compiled_model(shape: tuple[int, ...], cause: str) -> None:
    sizes = ",".join(map(str, shape))
    program = compiler.compile(
        compiler.parse(
            f"graph g(x: f32[{sizes}]) {{\n  y: f32[{sizes}] = erf(x)\n  return y\n}}\n"
        ),
        target=TARGET,
    )
    (kernel,) = program.kernels
    estimate = predicted(kernel.flops, {"L1": kernel.bytes_read}, MACHINE, LAUNCH_S)
    invented = Profile((kernel.name,), [[estimate.seconds + steps_of(kernel)]])
    invented.predicted = {kernel.name: estimate}
    (found,) = diagnoses(program, invented, 1, "f32").values()
    assert found.cause.name == cause


def steps_of(kernel: KernelInfo) -> float:
    """Return the estimated time of a kernel's functions in seconds."""
    assert kernel.loops is not None
    return work_of(kernel.loops, TARGET).seconds("function")


def test_an_estimate_above_the_measured_time_is_no_part_of_it() -> None:
    works = (Work({"scalar": steps(5e-3)}, 0.0, ()), Work({"function": steps(5e-3)}, 0.0, ("erf",)))
    for work in works:
        found = diagnose(facts(3e-3, flops=900, work=work))
        assert found.evidence.endswith("take all of this time, by an estimate.")


def test_only_the_evidence_states_a_share_of_the_time() -> None:
    for each in CAUSES.values():
        assert "most of the time" not in each.words.lower(), each.name


def test_a_short_kernel_slower_than_its_estimates_names_the_busy_machine() -> None:
    assert "do not explain" in diagnose(facts(3.2e-6, flops=300)).evidence
    assert "do not explain" not in diagnose(facts(1.2e-6, flops=300)).evidence
