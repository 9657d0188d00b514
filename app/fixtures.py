"""A complete trace as the JSON files that the page fetches: `python -m app.fixtures FOLDER`.

Tests of the server and of the page share the files in tests/golden/wire. Ids, dates, seconds,
versions and the machine vary from run to run, so fixed values replace them.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from flask.testing import FlaskClient

from app import create_app
from compiler.diagnosis.causes import CAUSES, Diagnosis, diagnosis_json

JOB = {"kind": "compile", "model": {"sample": "digits_cnn"}, "pipeline": "default"}
PLACE = {"platform": "gpu", "scheduler": "peft"}
_N_ROWS, _COLUMNS = 3, 100
JOB_ID = "20260101-00000000000000000000"
Get = Callable[[str], Any]
_SECONDS = {
    "seconds",
    "verify_seconds",
    "median_s",
    "min_s",
    "low_s",
    "high_s",
    "slow_s",
    "predicted_s",
    "roof_s",
    "potential_s",
    "kernels_s",
    "outside_s",
    "run_bound_s",
    "call_s",
    "created",
}
_RATES = {"gflops", "gbytes_per_s", "flops_per_s", "ceiling_flops_per_s"}
_SHARES = {"share", "ratio", "reached"}
_QUIET = {
    "threads": 1,
    "n_processors": 2,
    "busy_processors": 0.1,
    "waiting_share": 0.0,
    "steal_share": 0.0,
    "causes": [],
    "machine": "example",
    "words": "Undisturbed: other processes used 0.1 of 2 processors. Machine: example.",
}
_MACHINE = {
    "versions": {"compilarium": "0.1.0"},
    "host": {"name": "a machine", "triple": "x86_64-unknown-linux-gnu", "vector_bytes": 64},
    "machines": [
        {
            "name": "example",
            "kind": "0123456789abcdef",
            "facts": {
                "processor": "a processor",
                "triple": "x86_64-unknown-linux-gnu",
                "features": ["vectors of 64 bytes", "fused multiply-add"],
                "vector_bytes": 64,
                "n_processors": 2,
                "l1d_bytes": 49152,
                "l2_bytes": 2097152,
                "l3_bytes": 33554432,
            },
        }
    ],
    "machine": {
        "name": "a processor",
        "features": ["vectors of 64 bytes", "fused multiply-add"],
        "n_processors": 2,
        "is_measured": True,
        "measured": 1767225600.0,
        "peaks": [{"unit": "f32", "flops_per_second": 1e11, "is_used": True}],
        "levels": [
            {"level": "L1", "bytes": 49152, "bytes_per_second": 2e11},
            {"level": "L2", "bytes": 2097152, "bytes_per_second": 1e11},
            {"level": "L3", "bytes": 33554432, "bytes_per_second": 2e10},
            {"level": "DRAM", "bytes": None, "bytes_per_second": 1e10},
        ],
        "call_s": 0.000001,
    },
}


def payloads() -> Iterator[tuple[str, Any]]:
    """Yield the file names and payloads of the trace, fetched from a temporary server."""
    with tempfile.TemporaryDirectory() as folder:
        app = create_app({"data_folder": Path(folder), "machine_name": "example"})
        try:
            yield from _fetch(app.test_client())
        finally:
            app.extensions["jobs"].stop()


def _fetch(client: FlaskClient) -> Iterator[tuple[str, Any]]:
    def get(path: str) -> Any:
        answer = client.get(f"/api/v1/{path}")
        if answer.status_code != 200:
            raise RuntimeError(f"{path}: {answer.get_data(as_text=True)[:500]}")
        return answer.get_json()

    job = client.post("/api/v1/jobs", json=JOB).get_json()["id"]
    events = client.get(f"/api/v1/jobs/{job}/events").get_data(as_text=True)
    yield "about", steady(get("about"), job)
    yield from _catalogues(get)
    yield "events", steady(_events(events), job)
    yield "job", steady(get(f"jobs/{job}"), job)
    result = get(f"jobs/{job}/result")
    yield "result", steady(result, job)
    for number, parts in stage_parts(result["stages"]):
        for part in parts:
            payload = get(f"jobs/{job}/stages/{number}/{part}")
            yield f"stage-{number}-{part}", steady(payload, job)
    for kernel in result["kernels"][:2]:
        number = kernel["kernel"]
        for part in kernel["parts"]:
            payload = get(f"jobs/{job}/kernels/{number}/{part}")
            yield f"kernel-{number}-{part}", steady(payload, job)
        yield f"kernel-{number}-links", steady(get(f"jobs/{job}/kernels/{number}/links"), job)
    yield "union", steady(get(f"jobs/{job}/union"), job)
    yield "neighbours", steady(get(f"jobs/{job}/neighbours"), job)
    yield "provenance", steady(get(f"jobs/{job}/provenance"), job)
    yield "profile", steady(get(f"jobs/{job}/profile"), job)
    yield from _placements(client, get, job)
    yield from _numerics(client, get, job)
    yield from _targets(client, get, job)
    yield "error", client.get("/api/v1/jobs/nothing").get_json()


def _catalogues(get: Get) -> Iterator[tuple[str, Any]]:
    """Yield answers that need no job: some rows of long lists, all presets, one platform."""
    yield "samples", _first_rows(get("samples"), "samples")
    yield "pipelines", _first_rows(get("pipelines"), "passes", "rules")
    yield "operators", _first_rows(get("operators"), "operators")
    known = get("platforms")
    used = [p for p in known["platforms"] if p["name"] == PLACE["platform"]]
    yield "platforms", {**known, "platforms": used}


def _first_rows(payload: dict[str, Any], *fields: str) -> dict[str, Any]:
    return {**payload, **{field: payload[field][:_N_ROWS] for field in fields}}


def stage_parts(rows: list[dict[str, Any]]) -> Iterator[tuple[int, list[str]]]:
    """Yield the stored parts of all changed stages of the trace, and of one unchanged stage.

    The trace contains graphs as deltas, and the last graph also in full.
    """
    own = [r["stage"] for r in rows if r["graph_stage"] == r["stage"]]
    unchanged = next(r["stage"] for r in rows if r["graph_stage"] != r["stage"])
    for stage in sorted([*own, unchanged]):
        parts = ["steps", "diff"] if stage == unchanged else ["delta", "text", "steps", "diff"]
        yield stage, [*parts, *["graph"] * (stage == own[-1])]


def _placements(client: FlaskClient, get: Get, job: str) -> Iterator[tuple[str, Any]]:
    """Yield placements on another platform by all quick schedulers, and one complete schedule."""
    answer = client.post(f"/api/v1/jobs/{job}/placements", json=PLACE)
    placing = answer.get_json()["id"]
    client.get(f"/api/v1/jobs/{placing}/events").get_data()
    yield "placements", steady(get(f"jobs/{placing}/placements"), job)
    yield "placement", steady(get(f"jobs/{placing}/placements/{PLACE['scheduler']}"), job)


def _numerics(client: FlaskClient, get: Get, job: str) -> Iterator[tuple[str, Any]]:
    """Yield the check of every pass, and the errors of values at the first stage with changed
    numbers."""
    checking = client.post(f"/api/v1/jobs/{job}/numerics", json={}).get_json()["id"]
    client.get(f"/api/v1/jobs/{checking}/events").get_data()
    found = get(f"jobs/{checking}/numerics")
    yield "numerics", steady(found, job)
    stage = found["rows"][found["first_moved"] or 0]["values_stage"]
    yield "numerics-values", steady(get(f"jobs/{checking}/numerics/{stage}"), job)


def _targets(client: FlaskClient, get: Get, job: str) -> Iterator[tuple[str, Any]]:
    """Yield instruction counts of the first kernel for all targets, and its code for one target."""
    answer = client.post(f"/api/v1/jobs/{job}/targets", json={"kernel": 0})
    making = answer.get_json()["id"]
    client.get(f"/api/v1/jobs/{making}/events").get_data()
    found = get(f"jobs/{making}/targets")
    rows = [row for row in found["rows"] if row["target"] != "host"]
    yield "targets", steady({**found, "rows": rows}, job)
    yield "target", steady(get(f"jobs/{making}/targets/aarch64"), job)


def _events(stream: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for block in stream.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if line[:1] != ":")
        if "event" in fields:
            data = json.loads(fields["data"])
            found.append({"id": int(fields["id"]), "event": fields["event"], "data": data})
    return found


_CAUSE = CAUSES["schedule"]
_DIAGNOSIS = diagnosis_json(Diagnosis(_CAUSE, "It takes 1 ms without the call.", _CAUSE.actions))


def steady(value: Any, job: str) -> Any:
    """In a payload, replace all values that depend on the run or the machine."""
    if isinstance(value, list):
        return [steady(v, job) for v in value]
    if isinstance(value, dict):
        return {k: _steady_field(k, v, job) for k, v in value.items()}
    return JOB_ID if value == job else value


def _steady_field(name: str, value: Any, job: str) -> Any:
    if name in _SECONDS and value is not None:
        return 0.001
    if name in _RATES and value is not None:
        return 10.0
    if name in _SHARES and value is not None:
        return 0.5
    if name == "repeats":
        return 3
    if name == "disturbance" and value is not None:
        return _QUIET
    if name == "diagnosis":
        return _DIAGNOSIS
    if name == "bound" and value:
        return "compute"
    if name == "supplied_by":
        return "L1"
    if name == "traffic":
        return {"L1": sum(value.values())} if value else {}
    is_name = isinstance(value, str)  # the name of a machine is a setting
    return _MACHINE[name] if name in _MACHINE and not is_name else steady(value, job)


def write(folder: Path) -> list[str]:
    """Write the files of the trace, and return their names."""
    folder.mkdir(parents=True, exist_ok=True)
    names: list[str] = []
    for name, payload in payloads():
        text = in_lines(payload)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        names.append(f"{name}.json")
    for old in folder.glob("*.json"):
        if old.name not in names:
            old.unlink()
    return names


def in_lines(value: Any, indent: int = 0) -> str:
    """Format JSON; a value that fits into about `_COLUMNS` columns stays on a single line."""
    flat = json.dumps(value, ensure_ascii=False)
    if indent + len(flat) <= _COLUMNS or not isinstance(value, list | dict):
        return flat
    if isinstance(value, list):
        items = [in_lines(item, indent + 1) for item in value]
    else:
        items = [
            f"{json.dumps(k, ensure_ascii=False)}: {in_lines(v, indent + 1)}"
            for k, v in value.items()
        ]
    lines: list[str] = []
    for item in items:
        fits = lines and "\n" not in lines[-1] + item
        if fits and indent + len(lines[-1]) + len(item) + 3 <= _COLUMNS:
            lines[-1] += f", {item}"
        else:
            lines.append(item)
    pad = "\n" + " " * (indent + 1)
    return f"{flat[0]}{pad}{f',{pad}'.join(lines)}\n{' ' * indent}{flat[-1]}"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m app.fixtures FOLDER")
    write(Path(sys.argv[1]))
