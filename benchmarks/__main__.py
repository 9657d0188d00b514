"""Run all benchmarks in one command; write docs/performance.md, and the figures as JSON.

    python -m benchmarks [--output var/benchmarks] [--page docs/performance.md] [--only PART ...]
        [--seconds 4] [FOLDER ...]

Each part is a separate command. It runs its programs interleaved in one process, on one processor
(parts with two threads: on two), and prints minima and ratios. The machine should be idle
otherwise. FOLDER has further models; inputs, if required, are in an .npz file of the same name.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.models import machine


@dataclass(frozen=True, slots=True)
class Part:
    """A section of the page: title, description, and the command that measures the figures.

    The command may contain the placeholders `{seconds}`, `{output}` and `{folders}`.
    """

    name: str
    title: str
    words: str
    command: str
    threads: int = 1


MODELS = "benchmarks.models --seconds {seconds} --output {output} {folders}"

PARTS = (
    Part(
        "models",
        "Whole models at f32 accuracy, one thread",
        "Ratio: the better of ONNX Runtime and OpenVINO (set to f32) over Compilarium; "
        "above 1 is faster. Light models have seeded random weights.",
        MODELS,
    ),
    Part(
        "models-fast",
        "Whole models, `--precision fast`, one thread",
        "The same peers at f32; [precision.md](precision.md) has the error bounds of `fast`.",
        f"{MODELS} --precision fast",
    ),
    Part(
        "models-bf16",
        "Whole models, `--precision bf16`, one thread",
        "The peer is OpenVINO with default settings, which computes in bf16 if the processor "
        "supports it.",
        f"{MODELS} --precision bf16",
    ),
    Part(
        "models-threads",
        "Whole models at f32 accuracy, two threads",
        "All programs have two threads.",
        f"{MODELS} --threads 2",
        threads=2,
    ),
    Part(
        "quantized",
        "Models quantized with ONNX Runtime's tools, one thread",
        "",
        "benchmarks.quantized --seconds {seconds} --json {output}/quantized.json",
    ),
    Part(
        "contractions",
        "Matrix products and convolutions, one thread",
        "For a single convolution, peers must reorder its operands; in entire models, often not.",
        "benchmarks.contractions --json {output}/contractions.json",
    ),
    Part(
        "winograd",
        "Winograd convolutions compared with direct convolutions",
        "",
        "benchmarks.winograd",
    ),
    Part(
        "memory",
        "Memory-bound kernels, one thread",
        "",
        "benchmarks.memory_bound",
    ),
    Part(
        "arenas",
        "Memory of running programs, one thread",
        "Megabytes used by the runs of a process, counted by the kernel; "
        "[memory-planning.md](memory-planning.md) defines the columns.",
        "benchmarks.arenas --json {output}/arenas.json {folders}",
    ),
    Part(
        "compiling",
        "Compiling",
        "Each figure is from a separate process and includes the imports of `compile`.",
        "benchmarks.compiling --json {output}/compiling.json",
        threads=2,
    ),
    Part(
        "page",
        "The page",
        "In headless Chromium with software rendering; server and browser share processors.",
        "benchmarks.page --json {output}/page.json",
        threads=2,
    ),
)


def run(part: Part, options: argparse.Namespace) -> dict[str, object]:
    """Run the command of a part; return its output and exit code."""
    values = {
        "seconds": options.seconds,
        "output": options.output,
        "folders": " ".join(map(str, options.folders)),
    }
    words = part.command.format(**values).split()
    processors = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    pin = (
        (lambda: os.sched_setaffinity(0, processors[-part.threads :]))
        if len(processors) > part.threads
        else None
    )
    began = machine()["load_average"]
    done = subprocess.run(
        [sys.executable, "-m", *words], stdout=subprocess.PIPE, text=True, preexec_fn=pin
    )
    return {
        "name": part.name,
        "command": f"python -m {' '.join(words)}",
        "text": done.stdout.strip(),
        "ok": done.returncode == 0,
        "load_average": began,
    }


def page(found: Sequence[tuple[Part, dict[str, object]]], head: str) -> str:
    """Return the text of docs/performance.md: `head`, followed by a section for each part."""
    lines = [head.rstrip(), ""]
    for part, told in found:
        text = str(told["text"])
        body = text if text.startswith("|") else f"```\n{text}\n```"
        load = f"load average {told['load_average']:.1f} before it"
        lines += [f"## {part.title}", "", f"`{told['command']}` ({load})", ""]
        lines += [part.words, ""] if part.words else []
        lines += [body, ""]
    return "\n".join(lines)


MARK = "<!-- below: written by `python -m benchmarks` -->"


def main() -> int:
    """Measure the selected parts, print the figures, and write JSON and page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", type=Path, nargs="*", help="folders of further models")
    parser.add_argument("--only", nargs="*", default=[p.name for p in PARTS])
    parser.add_argument("--seconds", type=float, default=4.0, help="per model")
    parser.add_argument("--output", type=Path, default=Path("var/benchmarks"))
    parser.add_argument("--page", type=Path, help="page to regenerate below its mark")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    found: list[tuple[Part, dict[str, object]]] = []
    for part in PARTS:
        if part.name in options.only:
            print(f"\n# {part.title}\n", flush=True)
            found.append((part, run(part, options)))
            print(found[-1][1]["text"], flush=True)
    report = {
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "parts": [told for _, told in found],
    }
    (options.output / "all.json").write_text(json.dumps(report, indent=2) + "\n")
    if options.page is not None:
        head = options.page.read_text().split(MARK)[0] + MARK + "\n"
        options.page.write_text(page(found, head))
    return 0 if all(told["ok"] for _, told in found) else 1


if __name__ == "__main__":
    sys.exit(main())
