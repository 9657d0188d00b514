"""Requests of jobs that compile a model.

Each other kind of job declares its request in its own module. See `Asked` in asked.py, and the
files of app/jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from app.wire.asked import asked
from app.wire.fields import FLAG, MOST_SEED, fields_of, needed, text, whole

_PIPELINE = text(20_000)
_NAME = text(1_000)
_RULE, _N_RULES = text(200), 200
_N_SHAPES = 1_000
_RANK, _DIM = 32, whole(0, 2**31 - 1)
_N_THREADS = 64
"""Maximum number of threads; the stack of each thread counts toward the job's memory limit."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a job; the compiler itself rejects unknown targets and precisions."""

    target: str = asked(_NAME, "host")
    precision: str = asked(_NAME, "f32")
    threads: int = asked(whole(0, _N_THREADS), 1)
    measure: bool = asked(FLAG, True)
    check: bool = asked(FLAG, True)
    accuracy: bool = asked(FLAG, True)
    seed: int = asked(whole(0, MOST_SEED), 0)

    @staticmethod
    def from_json(value: Any) -> Options:
        """Parse the options of a request. Errors: E-REQUEST-BODY."""
        checks = {f.name: f.metadata["check"] for f in fields(Options)}
        given = fields_of(value, "options", checks.keys())
        return Options(**{k: checks[k].of(f"options.{k}", v) for k, v in given.items()})


@dataclass(frozen=True, slots=True)
class JobRequest:
    """The request of a new job."""

    kind: Literal["compile", "inspect"]
    model: Mapping[str, str]
    pipeline: str = "default"
    shapes: Mapping[str, list[int]] = field(default_factory=dict)
    options: Options = Options()
    tuned: str = ""
    without: list[str] = field(default_factory=list)

    @staticmethod
    def from_json(body: Any) -> JobRequest:
        """Parse the body of a request. Errors: E-REQUEST-BODY."""
        given = fields_of(body, "the request", {f.name for f in fields(JobRequest)})
        kind = given.get("kind")
        if kind not in ("compile", "inspect"):
            raise needed("kind", '"compile" or "inspect"', kind)
        return JobRequest(
            kind,
            _model(given.get("model")),
            _PIPELINE.of("pipeline", given.get("pipeline", "default")),
            _shapes(given.get("shapes", {})),
            Options.from_json(given.get("options", {})),
            text(60).of("tuned", given.get("tuned", "")),
            _rules(given.get("without", [])),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the request as JSON, with all defaults."""
        return asdict(self)


def pipeline_text(body: Any) -> str:
    """Parse a request to check a pipeline, and return the pipeline's text. Errors:
    E-REQUEST-BODY."""
    return _PIPELINE.of("text", fields_of(body, "the request", {"text"}).get("text"))


def _model(value: Any) -> dict[str, str]:
    given = fields_of(value, "model", {"sample", "upload"})
    if len(given) != 1:
        raise needed("model", 'exactly one of "sample" and "upload"', sorted(given))
    return {k: _NAME.of(f"model.{k}", v) for k, v in given.items()}


def _rules(value: Any) -> list[str]:
    if not isinstance(value, list) or len(value) > _N_RULES:
        raise needed("without", f"at most {_N_RULES} rules", value)
    return [_RULE.of("without", each) for each in value]


def _shapes(value: Any) -> dict[str, list[int]]:
    given = fields_of(value, "shapes", None)
    if len(given) > _N_SHAPES:
        raise needed("shapes", f"at most {_N_SHAPES} shapes", f"{len(given)} shapes")
    for name, dims in given.items():
        fits = isinstance(dims, list) and len(dims) <= _RANK
        if not fits or not all(map(_DIM.fits, dims)):
            raise needed(f"shapes.{name[:60]}", f"up to {_RANK} sizes from 0 to {2**31 - 1}", dims)
    return given
