"""Memory of activations in running programs, measured by the kernel, compared with ONNX Runtime.

    python -m benchmarks.arenas [--only NAME ...] [--large-pages] [--json FILE] [FOLDER ...]

Each figure is from a separate process with one thread. The child process builds its program, frees
temporary memory, and notifies its parent. The parent reads the anonymous resident bytes of the
child in /proc, lets the child run the program `RUNS` times, and reads again. The increase is the
memory that the runs have written: arenas, results, and other retained memory. Neither program nor
runtime reports any figure itself. Pages have 4 KiB; with `--large-pages` the system chooses the
size, which may be 2 MiB. Freed memory returns to the system before the first run, so that no run
reuses uncounted memory.

ONNX Runtime is measured twice: with default settings, and as `sparing`. `sparing` has an arena that
grows by the requested bytes only and contains no weights, and disables the memory pattern, which
allocates a second block in the second run. The ratio is the smaller of both figures over ours:
above 1, Compilarium uses less memory.

The exit code is 1 if a program of ours exceeds its plan and results. Linux only.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.subjects import Subject, catalogue

RUNS = 4

SLACK_BYTES = 256 << 10
"""Bytes that Python code around a run may retain: some tens of pages."""

LARGE_PAGE_BYTES = 2 << 20

PR_SET_THP_DISABLE, M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = 41, -1, -3
"""Constants from <linux/prctl.h> and <malloc.h>."""

Run = Callable[[], Sequence[Any]]
"""Function that runs a program once and returns the results."""


def main() -> int:
    options = _options()
    if options.child is not None:
        kind, name = options.child
        return _child(kind, catalogue(options.folders)[name](), options.large_pages)
    found: list[dict[str, Any]] = []
    print("\n".join(HEADER), flush=True)
    for name in options.only or catalogue(options.folders):
        found.append(measure(name, options))
        print(row(found[-1]), flush=True)
    print(summary(found))
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=2) + "\n")
    return 0 if all(f["as_planned"] for f in found) else 1


def measure(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Measure one model; return the figures of all programs. Units: bytes."""
    ours = _outside("compilarium", name, options)
    said_bytes = ours["planned_bytes"] + ours["result_bytes"]
    slack_bytes = SLACK_BYTES + (LARGE_PAGE_BYTES if options.large_pages else 0)
    found: dict[str, Any] = {
        "name": name,
        "planned_bytes": ours["planned_bytes"],
        "result_bytes": ours["result_bytes"],
        "ours_bytes": ours["taken_bytes"],
        "as_planned": ours["taken_bytes"] <= said_bytes + slack_bytes,
    }
    for kind in ("onnxruntime", "onnxruntime-sparing"):
        found[f"{kind}_bytes"] = _outside(kind, name, options)["taken_bytes"]
    best = min(found["onnxruntime_bytes"], found["onnxruntime-sparing_bytes"])
    found["ratio"] = best / max(found["ours_bytes"], 1)
    return found


# Measurements of the parent process


def _outside(kind: str, name: str, options: argparse.Namespace) -> dict[str, int]:
    """Return a child process's report, and the bytes of its runs as counted by the kernel."""
    command = [sys.executable, "-m", "benchmarks.arenas", *map(str, options.folders)]
    command += ["--large-pages"] if options.large_pages else []
    with subprocess.Popen(
        [*command, "--child", kind, name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        told = json.loads(_answer(child.stdout.readline(), kind, name))
        before = anonymous_bytes(child.pid)
        child.stdin.write("run\n")
        child.stdin.flush()
        told["result_bytes"] = int(_answer(child.stdout.readline(), kind, name))
        told["taken_bytes"] = anonymous_bytes(child.pid) - before
        child.stdin.close()
    return told


def _answer(line: str, kind: str, name: str) -> str:
    if not line:
        raise SystemExit(f"{kind} could not run {name}")
    return line


def anonymous_bytes(pid: int) -> int:
    """Return the anonymous resident bytes of a process, which are not mapped from files."""
    found = re.search(
        r"^Anonymous:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M
    )
    assert found is not None, "this kernel does not count anonymous pages"
    return int(found[1]) * 1024


# The child process


def _child(kind: str, subject: Subject, large_pages: bool) -> int:
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_THP_DISABLE, 0 if large_pages else 1, 0, 0, 0)
    # By default, glibc raises both thresholds when large blocks are freed, and retains more memory.
    libc.mallopt(M_MMAP_THRESHOLD, 128 << 10)
    libc.mallopt(M_TRIM_THRESHOLD, 128 << 10)
    run, facts = _ours(subject) if kind == "compilarium" else _onnxruntime(subject, kind)
    gc.collect()
    libc.malloc_trim(0)
    print(json.dumps(facts), flush=True)
    sys.stdin.readline()
    results: list[Any] = []
    for _ in range(RUNS):
        results.clear()
        results += run()
    print(sum(r.nbytes for r in results), flush=True)
    sys.stdin.readline()  # wait for the parent's reading, with the last results still allocated
    return 0


def _ours(subject: Subject) -> tuple[Run, dict[str, int]]:
    import compiler

    shapes = {name: value.shape for name, value in subject.inputs.items()}
    program = compiler.compile(subject.model.SerializeToString(), inputs=shapes, trace=False)
    program.settle()
    inputs = dict(subject.inputs)
    return lambda: list(program.run(inputs).values()), {"planned_bytes": program.memory.peak_bytes}


def _onnxruntime(subject: Subject, kind: str) -> tuple[Run, dict[str, int]]:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    if kind == "onnxruntime-sparing":
        settings = {
            "max_mem": 0,
            "arena_extend_strategy": 1,
            "initial_chunk_size_bytes": -1,
            "max_dead_bytes_per_chunk": -1,
        }
        cpu = ort.OrtMemoryInfo(
            "Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT
        )
        ort.create_and_register_allocator(cpu, ort.OrtArenaCfg(settings))
        options.enable_mem_pattern = False
        options.add_session_config_entry("session.use_env_allocators", "1")
        options.add_session_config_entry("session.use_device_allocator_for_initializers", "1")
    data = subject.model.SerializeToString()
    session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    inputs = dict(subject.inputs)
    return lambda: session.run(None, inputs), {}


# Output

HEADER = (
    "| model | planned | results | taken | ONNX Runtime | sparing | ratio |",
    "|---|---:|---:|---:|---:|---:|---:|",
)


def row(found: Mapping[str, Any]) -> str:
    """Return a row of the table. Units: megabytes of 10^6 bytes."""
    names = ("planned", "result", "ours", "onnxruntime", "onnxruntime-sparing")
    sizes = " | ".join(f"{found[f'{n}_bytes'] / 1e6:.2f}" for n in names)
    more = "" if found["as_planned"] else " (more than planned)"
    return f"| {found['name']}{more} | {sizes} | {found['ratio']:.2f} |"


def summary(found: list[dict[str, Any]]) -> str:
    """Return the summary line below the table."""
    ratios = [f["ratio"] for f in found]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    over = max(f["ours_bytes"] - f["planned_bytes"] - f["result_bytes"] for f in found)
    return (
        f"\nGeometric mean of the ratios {mean:.2f}, least {min(ratios):.2f}; "
        f"taken beyond plan and results: {over / 1e3:.0f} KB at most."
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", type=Path, nargs="*", help="folders of further models")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="models by name")
    parser.add_argument("--large-pages", action="store_true", help="allow large pages")
    parser.add_argument("--json", help="file for the figures")
    parser.add_argument("--child", nargs=2, metavar=("KIND", "NAME"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = catalogue(options.folders)
    for name in options.only:
        if name not in names:
            parser.error(f"no model is named {name}; models: {', '.join(names)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
