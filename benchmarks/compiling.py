"""Time and memory from a model file to a program: cold, cached on disk, and with tier 0.

    python -m benchmarks.compiling [--models resnet50,squeezenet] [--rounds 3] [--json FILE]

Each figure is from a separate process that has imported numpy but no module of this project, so the
imports of `compiler.compile` count. `cold` starts with an empty disk cache; writes to the cache
after `compile` has returned do not count. `kept` loads the program from the cache. `tier 0` starts
with an empty cache, and returns the program with quickly generated code. The peak is the increase
of the process's peak resident bytes during compilation; the table also has the bytes of the
weights. Times are minima over rounds. Model files have random weights, and are in the page cache.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from compiler.frontend.random_weights import random_weights
from tests.models import light_model

MODELS = ("resnet50", "squeezenet", "densenet121")

SCRIPT = """
import json, re, sys, time
import numpy
def peak():  # getrusage would include the peak of the parent
    return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) * 1024
before = peak()
start = time.perf_counter()
import compiler
program = compiler.compile(sys.argv[1], tier=int(sys.argv[2]))
seconds = time.perf_counter() - start
after = peak()
told = {"seconds": seconds, "peak_bytes": after - before, "kind": type(program).__name__}
if told["kind"] == "Program":
    told["stages"] = {s.name: s.seconds for s in program.stages}
    told["weight_bytes"] = program.weight_bytes
print(json.dumps(told))
sys.stdout.flush()
import os
if sys.argv[2] == "1":
    program.settle()  # wait until the program is on disk
os._exit(0)  # do not wait for the compilation of better code
"""


def measure(path: Path, rounds: int) -> dict[str, Any]:
    """Measure one model; return the figures by kind of compilation. Units: seconds, bytes."""
    found: dict[str, Any] = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            now = {
                "tier 0": _compiled(path, Path(cache) / "quick", tier=0),
                "cold": _compiled(path, Path(cache) / "whole"),
                "kept": _compiled(path, Path(cache) / "whole"),
            }
        for kind, told in now.items():
            if kind not in found or told["seconds"] < found[kind]["seconds"]:
                found[kind] = told
    return found


def _compiled(path: Path, cache: Path, tier: int = 1) -> dict[str, Any]:
    environment = {**os.environ, "COMPILARIUM_CACHE": str(cache)}
    # The first import after an installation compiles modules to bytecode, which must not count.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", SCRIPT, str(path), str(tier)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def row(name: str, found: Mapping[str, Any]) -> str:
    """Return a row of the table."""
    cold = found["cold"]
    stages = ", ".join(f"{k} {v:.2f}" for k, v in cold["stages"].items())
    return (
        f"| {name} | {cold['seconds']:.2f} | {found['kept']['seconds']:.3f} "
        f"| {found['tier 0']['seconds']:.2f} | {cold['peak_bytes'] / 1e6:.0f} "
        f"| {cold['weight_bytes'] / 1e6:.0f} | {stages} |"
    )


COLUMNS = ("model", "cold s", "kept s", "tier 0 s", "peak MB", "weights MB", "of the cold one, s")


def main() -> None:
    """Measure the models, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models.split(","):
            path = Path(folder) / f"{name}.onnx"
            path.write_bytes(random_weights(light_model(name), 1))
            results[name] = measure(path, options.rounds)
            print(row(name, results[name]), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
