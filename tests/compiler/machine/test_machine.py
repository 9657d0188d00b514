"""Tests of machine speeds: estimated, parsed, measured and stored."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from compiler.cache.store import GuardedStore
from compiler.codegen.jit import assembly
from compiler.codegen.module import module_ir
from compiler.machine import keep, measure
from compiler.machine.machine import LEVELS, Machine, estimated
from compiler.machine.probes import copying, dots, multiply_adds, reading, tiles
from compiler.machine.roofline import predicted
from compiler.targets.target import TARGETS, by_name, host
from tests.kernel_runs import compare

SLOW = replace(
    estimated(by_name("x86-64-v3")),
    flops_per_second=1e9,
    l1_bytes_per_second=8e9,
    l2_bytes_per_second=4e9,
    l3_bytes_per_second=2e9,
    dram_bytes_per_second=1e9,
    l1_bytes=100,
    l2_bytes=1000,
    l3_bytes=10000,
)


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_has_an_estimate_whose_levels_get_slower(name: str) -> None:
    machine = estimated(by_name(name))
    rates = [machine.bytes_per_second(level) for level in LEVELS]
    assert rates == sorted(rates, reverse=True)
    assert not machine.is_measured
    assert Machine.from_json(json.loads(json.dumps(machine.to_json()))) == machine


def test_wider_vectors_have_the_higher_peak() -> None:
    peaks = [estimated(by_name(n)).flops_per_second for n in ("x86-64", "x86-64-v3", "x86-64-v4")]
    assert peaks == [peaks[0], 4 * peaks[0], 8 * peaks[0]]


@pytest.mark.parametrize(
    ("nbytes", "level"), [(0, "L1"), (100, "L1"), (101, "L2"), (10000, "L3"), (10001, "DRAM")]
)
def test_the_level_is_the_smallest_that_holds_it(nbytes: int, level: str) -> None:
    assert SLOW.level_of(nbytes) == level


def test_a_kernel_is_bound_by_what_takes_longest() -> None:
    assert predicted(1e6, {"DRAM": 1e3}, SLOW, 0.0).bound == "compute"
    memory = predicted(1e3, {"L1": 8e3, "DRAM": 1e6}, SLOW, 0.0)
    assert memory.bound == "DRAM"
    assert memory.seconds == pytest.approx(1e-6 + 1e-3)
    fast = replace(SLOW, int8_ops_per_second=4e9, bf16_flops_per_second=0.0)
    assert predicted(1e6, {}, fast, 0.0, "int8").seconds == pytest.approx(0.25e-3)
    assert predicted(1e6, {}, fast, 0.0, "bf16").seconds == pytest.approx(1e-3)
    call = predicted(1e3, {}, SLOW, 1e-3)
    assert (call.bound, call.seconds) == ("overhead", pytest.approx(1e-3 + 1e-6))


@pytest.mark.parametrize(
    "damage",
    ["{}", "no json", '{"name": 1}', json.dumps({**SLOW.to_json(), "l1_bytes_per_second": 0})],
)
def test_damaged_figures_count_as_none(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILARIUM_CACHE", str(tmp_path))
    file = keep.path()
    assert file is not None
    assert GuardedStore(file.parent, 1 << 20).write(file.name, damage.encode())
    assert keep.known() == estimated(host())


def test_speeds_without_the_keyed_digest_count_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILARIUM_CACHE", str(tmp_path))
    file = keep.keep(replace(SLOW, is_measured=True))
    assert file is not None
    file.write_text(json.dumps(SLOW.to_json()))
    keep._read.cache_clear()
    assert keep.known() == estimated(host())


def test_a_kept_machine_is_known_and_only_for_code_of_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILARIUM_CACHE", str(tmp_path))
    assert keep.keep(replace(SLOW, is_measured=True)) == keep.path()
    assert keep.machine_of(host()) == replace(SLOW, is_measured=True)
    other = by_name("aarch64")
    assert keep.machine_of(other) == estimated(other)
    monkeypatch.setenv("COMPILARIUM_CACHE", "")
    assert keep.keep(SLOW) is None
    assert keep.known() == estimated(host())


def test_probes_count_their_work() -> None:
    assert multiply_adds(8, 5).work == 2 * 12 * 4 * 5 * 8
    read = reading(8, 100_000, 3)
    assert read.work == 3 * read.kernel.buffers["x"].nbytes
    assert dots("int8", 8, 5).work == 4 * dots("bf16", 4, 5).work == 2 * 12 * 4 * 5 * 8 * 4
    assert copying(8, 100_000).work == copying(8, 100_000).kernel.buffers["y"].nbytes


@pytest.mark.parametrize("kind", ["int8", "bf16"])
def test_tiles_of_the_probe_stay_where_they_are(kind: str) -> None:
    probe, target = tiles(kind, 3), by_name("x86-64-amx")
    text = assembly(module_ir({"k": probe.kernel}, [], target), target)
    assert text.count("tdp") == 4
    assert text.count("ldtilecfg") == 1
    group = 4 if kind == "int8" else 2
    assert probe.work == 2 * 3 * 32 * 32 * 16 * group
    compare(str(probe.kernel), rtol=1e-5, target=replace(host(), emulates_tiles=True))


def test_matrix_tiles_are_units_of_their_own() -> None:
    fast = replace(SLOW, bf16_tile_flops_per_second=10e9)
    assert predicted(1e6, {}, fast, 0.0, "bf16_tiles").seconds == pytest.approx(0.1e-3)
    assert predicted(1e6, {}, fast, 0.0, "int8_tiles").seconds == pytest.approx(1e-3)
    made = estimated(by_name("x86-64-amx"))
    assert made.int8_tile_ops_per_second > made.bf16_tile_flops_per_second
    assert made.bf16_tile_flops_per_second > made.bf16_flops_per_second


def test_this_machine_can_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "ROUNDS", 3)
    monkeypatch.setattr(measure, "ROUND_SECONDS", 1e-4)
    monkeypatch.setattr(measure, "LARGEST_BYTES", 1 << 20)
    told: list[str] = []
    machine = measure.measure("here", told.append)
    assert machine.is_measured
    assert (machine.int8_ops_per_second > 0) == host().has_int8_dot
    assert (machine.bf16_flops_per_second > 0) == host().has_bf16_dot
    assert (machine.bf16_tile_flops_per_second > 0) == host().has_bf16_tiles
    assert machine.name == "here"
    assert told[0] == "compiling probes"
    assert Machine.from_json(machine.to_json()) == machine
    assert machine.launch_seconds < machine.call_seconds
