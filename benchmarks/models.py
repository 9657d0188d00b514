"""Time the four CNNs of the onnx package here and in ONNX Runtime, and write what was measured.

    python -m benchmarks.models [--seconds 10] [--output var/benchmarks]

One thread on one processor, random weights (the models have none that mean anything), rounds in
turns in one process per model, ratio of minima with a bootstrap interval. Writes `models.json` and
a table, `models.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import onnx

from compiler.targets.target import host

MODELS = ("squeezenet", "resnet50", "shufflenet", "inception_v2")
PEER = "onnxruntime"


def main() -> int:
    options = _options()
    results: list[dict[str, Any]] = []
    for name in options.models.split(","):
        results.append(measure(name, options.seconds, options.seed))
        print(table_row(results[-1]), flush=True)
    report = {
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "seconds_per_model": options.seconds,
        "weights_seed": options.seed,
        "results": results,
    }
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "models.json").write_text(json.dumps(report, indent=2) + "\n")
    (options.output / "models.md").write_text(markdown(report))
    return 0 if all(r["ok"] for r in results) else 1


def measure(name: str, seconds: float, seed: int) -> dict[str, Any]:
    """What `compilarium bench` says about one model, measured in a process of its own."""
    light = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    command = [
        sys.executable, "-m", "compiler", "bench", str(light / f"light_{name}.onnx"),
        "--against", PEER, "--threads", "1", "--random-weights", str(seed),
        "--seconds", str(seconds), "--json",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)
    except json.JSONDecodeError:
        found = {"ok": False, "error": {"message": done.stderr[-2000:]}}
    return {**found, "model": name}


def machine() -> dict[str, Any]:
    """What the figures depend on, without the machine's name."""
    t = host()
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "vector_bytes": t.vector_bytes,
        "l1d_bytes": t.l1d_bytes,
        "l2_bytes": t.l2_bytes,
        "l3_bytes": t.l3_bytes,
        "n_processors": t.n_cores,
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def table_row(r: dict[str, Any]) -> str:
    if not r["ok"]:
        return f"| {r['model']} | failed: {r['error']['message'].splitlines()[0]} |||||"
    ours, theirs = r["programs"]["compilarium"], r["programs"][PEER]
    ratio = r["ratios"][PEER]
    return (
        f"| {r['model']} | {ours['min_s'] * 1e3:.2f} ({ours['median_s'] * 1e3:.2f}) "
        f"| {theirs['min_s'] * 1e3:.2f} ({theirs['median_s'] * 1e3:.2f}) "
        f"| {ratio['of_minima']:.2f} | {ratio['low']:.2f}-{ratio['high']:.2f} "
        f"| {ratio['relative_error']:.1e} |"
    )


def markdown(report: dict[str, Any]) -> str:
    m = report["machine"]
    version = next((r["programs"][PEER]["version"] for r in report["results"] if r["ok"]), "?")
    head = (
        f"One thread, batch 1, f32, {m['system']}, vectors of {m['vector_bytes']} bytes, L2 "
        f"{m['l2_bytes'] / 2**20:.1f} MiB; ONNX Runtime {version}; {report['measured']}. "
        "Milliseconds: minimum (median). The ratio is of minima, below 1 where Compilarium is "
        "faster; the interval holds 95 % of bootstrap resamples. The error is relative to the "
        "output's largest magnitude.\n"
    )
    rows = [
        "| model | Compilarium ms | ONNX Runtime ms | ratio | interval | rel. error |",
        "|---|---|---|---|---|---|",
        *(table_row(r) for r in report["results"]),
    ]
    return head + "\n" + "\n".join(rows) + "\n"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--models", default=",".join(MODELS), help="names, with commas")
    parser.add_argument("--seconds", type=float, default=10.0, help="per model")
    parser.add_argument("--seed", type=int, default=1, help="of the random weights")
    parser.add_argument("--output", type=Path, default=Path("var/benchmarks"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
