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
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.models import machine


@dataclass(frozen=True, slots=True)
class Part:
    """A section of the page: title, description, and the command that measures the figures.

    The command may contain the placeholders `{seconds}`, `{output}` and `{folders}`. The times and
    ratios of a part with a `column` become columns of the table of the part before.
    """

    name: str
    title: str
    words: str
    command: str
    threads: int = 1
    column: str = ""


MODELS = "benchmarks.models --seconds {seconds} --output {output} {folders}"

PARTS = (
    Part(
        "models",
        "Whole models",
        "One thread and f32 accuracy, unless a column names `--precision fast`, `--precision bf16` "
        "or `--threads 2`. Ratio: the time "
        "of the faster of ONNX Runtime and OpenVINO (set to f32) over the time of Compilarium. The "
        "peer of bf16 is OpenVINO with default settings. With two threads, all programs have two. "
        "Light models have seeded random weights.",
        MODELS,
    ),
    Part(
        "models-fast",
        "Whole models, `--precision fast`, one thread",
        "",
        f"{MODELS} --precision fast",
        column="fast",
    ),
    Part(
        "models-bf16",
        "Whole models, `--precision bf16`, one thread",
        "",
        f"{MODELS} --precision bf16",
        column="bf16",
    ),
    Part(
        "models-threads",
        "Whole models at f32 accuracy, two threads",
        "",
        f"{MODELS} --threads 2",
        threads=2,
        column="2 threads",
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
        "Of the peak: the share of the measured peak of multiply-adds, which Winograd's algorithm "
        "may exceed. Ratio: the time of the fastest peer over the time of Compilarium. Both are "
        "geometric means. `benchmarks/products.py` and `benchmarks/convolutions.py` define the "
        "groups. For a single convolution, peers must reorder its operands; in entire models, "
        "often not.",
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
        "The three ratios are geometric means: the times of the same program without fusion, of "
        "ONNX Runtime and of OpenVINO over the time of Compilarium. *Of a copy* is the speed in "
        "bytes per second, relative to a copy of as many bytes. *Lowest ratio* is the lowest ratio "
        "of any case, to the faster of both runtimes.",
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
        "growth",
        "Growth with depth, one thread",
        "Transformer encoders of equal layers (384 wide, 12 heads, 128 positions), compiled "
        "without caches. ![Seconds over layers](images/growth.svg)",
        "benchmarks.growth --picture docs/images/growth.svg",
    ),
    Part(
        "scaling",
        "Growth of the optimizer's time, one thread",
        "`O3` with the ledger, and with verification of the graph after each pass. "
        "`benchmarks/scaling.py` generates the families in five sizes; the table has the largest. "
        "![Seconds over nodes](images/scaling.svg)",
        "benchmarks.scaling --picture docs/images/scaling.svg",
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
        command = f"`{told['command']}` (load average {told['load_average']:.1f} before it)"
        text = str(told["text"])
        if part.column:
            lines[-2] = with_columns(lines[-2], text, part.column)
            continue
        body = text if text.startswith("|") else f"```\n{text}\n```"
        lines += [f"## {part.title}", "", command, ""]
        lines += [textwrap.fill(part.words, 125), ""] if part.words else []
        lines += [body, ""]
    return "\n".join(lines)


def with_columns(text: str, other: str, name: str) -> str:
    """Return a table with the times and ratios of another table, as columns called `name`."""
    rows = {cells[0]: cells for cells in map(cells_of, other.splitlines()) if cells}
    head = rows["model"]
    columns = [i for i, title in enumerate(head) if title in ("Compilarium ms", "ratio")]
    titles = {"model": [f"{name} ms", f"{name} ratio"], "---": ["---", "---"]}
    lines: list[str] = []
    for line in text.splitlines():
        if cells := cells_of(line):
            found = rows.get(cells[0], [])
            cells += titles.get(cells[0], [found[i] if i < len(found) else "" for i in columns])
            line = f"| {' | '.join(cells)} |"
        lines.append(line)
    mean = other.splitlines()[-1]
    return "\n".join([*lines, f"{mean} ({name})"])


def cells_of(line: str) -> list[str]:
    """Return the cells of a row of a table; none for another line."""
    return [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []


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
