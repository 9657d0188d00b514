"""Verdicts of comparisons on a busy server: fusion on against off, and A against A.

    python -m benchmarks.comparisons [--tries 20] [--tabs 5] [--pass fuse] [MODEL ...]

A server runs in this process, and `--tabs` clients compile models all the time. Each try compiles
the model anew, and compares it without the pass, and with itself. The right verdicts are "slower"
and "same". MODEL is the name of a sample, or an ONNX file; by default digits_cnn and SqueezeNet.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flask.testing import FlaskClient

from app import create_app
from app.usage import UNLIMITED

ROOT = "/api/v1"
TABS = ("digits_cnn", "digits_mlp", "digits_lstm", "digits_transformer")
"""The samples that the other clients compile."""


def main() -> None:
    """Print each verdict, and the number of verdicts by model and comparison."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.comparisons", description=__doc__)
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--tabs", type=int, default=5)
    parser.add_argument("--pass", dest="left_out", default="fuse")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = {"data_folder": Path(folder), "queue_limit": 100, "n_jobs_kept": 1000}
        app = create_app({**settings, **UNLIMITED})
        try:
            client = app.test_client()
            models = [chosen(client, name) for name in options.models or _default()]
            pipeline = without(client, options.left_out)
            with busy(client, options.tabs):
                counts = Counter(_verdicts(client, models, pipeline, options.tries))
        finally:
            app.extensions["jobs"].stop()
    for (model, against, verdict), n in sorted(counts.items()):
        print(f"{model} against {against}: {verdict} in {n} of {options.tries}")


def _default() -> list[str]:
    from tests.models import light_model

    return ["digits_cnn", str(light_model("squeezenet"))]


def chosen(client: FlaskClient, name: str) -> tuple[str, dict[str, str]]:
    """Return a model's short name, and the choice of a sample or an uploaded file."""
    path = Path(name)
    if path.suffix != ".onnx":
        return name, {"sample": name}
    body = path.read_bytes()
    answer = client.post(f"{ROOT}/uploads?name={path.name}", data=body).get_json()
    return path.stem, {"upload": answer["id"]}


def without(client: FlaskClient, left_out: str) -> str:
    """Return the default pipeline without a pass."""
    presets = client.get(f"{ROOT}/pipelines").get_json()["presets"]
    lines = next(p["lines"] for p in presets if p["name"] == "default")
    kept = [line["text"] for line in lines if line["text"].partition("{")[0] != left_out]
    assert len(kept) < len(lines), f"{left_out} is no line of the pipeline"
    return ",".join(kept)


def _verdicts(
    client: FlaskClient, models: list[tuple[str, dict[str, str]]], pipeline: str, tries: int
) -> Iterator[tuple[str, str, str]]:
    for n in range(tries):
        for name, model in models:
            request = {"kind": "compile", "model": model, "options": {"check": False, "seed": n}}
            a = finished(client, "/jobs", **request)
            for against, text in (("itself", "default"), ("the other pipeline", pipeline)):
                b = finished(client, "/jobs", **request, pipeline=text)
                job = finished(client, f"/jobs/{a}/comparison", other=b)
                found = client.get(f"{ROOT}/jobs/{job}/comparison").get_json()
                print(_line(name, against, found), flush=True)
                yield name, against, found["verdict"]


def _line(name: str, against: str, found: dict[str, Any]) -> str:
    shares = " ".join(f"{100 * (found[key] - 1):+.2f}" for key in ("ratio", "low", "high"))
    causes = ", ".join(found["disturbance"]["causes"]) or "undisturbed"
    return (
        f"{name} against {against}: {found['verdict']}, {shares} %, "
        f"{found['n_copies']} copies, {found['n_blocks']} blocks; {causes}"
    )


def finished(client: FlaskClient, path: str, **body: Any) -> str:
    """Return the id of a job after its successful end."""
    answer = client.post(f"{ROOT}{path}", json=body)
    job = answer.get_json()
    assert answer.status_code == 202, job
    while job["state"] in ("queued", "running"):
        time.sleep(0.05)
        job = client.get(f"{ROOT}/jobs/{job['id']}").get_json()
    assert job["state"] == "succeeded", job["error"]
    return job["id"]


@contextmanager
def busy(client: FlaskClient, n_tabs: int) -> Iterator[None]:
    """Let other clients compile and measure samples all the time."""
    over = threading.Event()

    def tab(number: int) -> None:
        own, n = client.application.test_client(), 0
        while not over.is_set():
            n += 1
            sample = TABS[(number + n) % len(TABS)]
            options = {"seed": 1_000_000 + 1000 * number + n % 1000}
            finished(own, "/jobs", kind="compile", model={"sample": sample}, options=options)

    threads = [threading.Thread(target=tab, args=(k,), daemon=True) for k in range(n_tabs)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(timeout=60)


if __name__ == "__main__":
    main()
