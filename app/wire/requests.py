"""What clients send, checked: every mistake is one CompileError that names the field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from app.wire.schedules import CHARACTERS as _SCHEDULE_CHARACTERS
from compiler.errors import CompileError
from compiler.frontend.written import LANGUAGES, PAGE_LIMITS
from compiler.place.place import SCHEDULERS
from compiler.place.platform_text import shipped

_PIPELINE_CHARACTERS = 20_000
_NAME_CHARACTERS = 1_000
_N_SHAPES = 1_000
_N_RULES, _RULE_CHARACTERS = 200, 200
_RANK, _DIM = 32, 2**31 - 1
_MOST_AHEAD = 1_000_000
_MOST_SEED = 2**32 - 1
_PROFILE_SECONDS = (0.1, 20.0)
_N_KERNELS = 1_000_000
_SEARCHES = ("annealing", "genetic", "random")
_N_THREADS = 64
"""Each takes a stack out of the memory that a job may use."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a job does besides compiling; targets and precisions are the compiler's to refuse."""

    target: str = "host"
    precision: str = "f32"
    threads: int = 1
    measure: bool = True
    check: bool = True
    accuracy: bool = True
    seed: int = 0


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What a new job is to do."""

    kind: Literal["compile", "inspect"]
    model: Mapping[str, str]
    pipeline: str = "default"
    shapes: Mapping[str, list[int]] = field(default_factory=dict)
    options: Options = Options()
    tuned: str = ""
    without: list[str] = field(default_factory=list)

    @staticmethod
    def from_json(body: Any) -> JobRequest:
        """Errors: E-REQUEST-BODY."""
        fields = _object(body, "the request", set(JobRequest.__slots__))
        kind = fields.get("kind")
        if kind not in ("compile", "inspect"):
            raise _needed("kind", '"compile" or "inspect"', kind)
        return JobRequest(
            kind,
            _model(fields.get("model")),
            _text(fields.get("pipeline", "default"), "pipeline", _PIPELINE_CHARACTERS),
            _shapes(fields.get("shapes", {})),
            _options(fields.get("options", {})),
            _text(fields.get("tuned", ""), "tuned", 60),
            _rules(fields.get("without", [])),
        )

    def to_json(self) -> dict[str, Any]:
        """The request with all defaults."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class PlaceRequest:
    """Where the kernels of a compiled model are to be placed, and how.

    `job` compiled it; `ahead` and `contention` are as in `compiler.place.simulate.Conduct`.
    """

    job: str
    platform: str
    scheduler: str = "iterated"
    ahead: int | None = None
    contention: bool = True

    @staticmethod
    def from_json(job: str, body: Any) -> PlaceRequest:
        """Errors: E-REQUEST-BODY."""
        fields = _object(body, "the request", set(PlaceRequest.__slots__) - {"job"})
        platform, known = fields.get("platform"), shipped()
        if platform not in known:  # never a path: the server reads only files of its own
            raise _needed("platform", f"one of {', '.join(known)}", platform)
        scheduler = fields.get("scheduler", "iterated")
        if not isinstance(scheduler, str) or scheduler not in SCHEDULERS:
            raise _needed("scheduler", f"one of {', '.join(SCHEDULERS)}", scheduler)
        ahead, contention = fields.get("ahead"), fields.get("contention", True)
        if ahead is not None and not (type(ahead) is int and 0 <= ahead <= _MOST_AHEAD):
            raise _needed("ahead", f"null or a number from 0 to {_MOST_AHEAD}", ahead)
        if type(contention) is not bool:
            raise _needed("contention", "true or false", contention)
        return PlaceRequest(job, platform, scheduler, ahead, contention)

    def to_json(self) -> dict[str, Any]:
        """The request with its kind and all defaults."""
        return {"kind": "place", **asdict(self)}


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """Which compilation (`job`) is to be checked, on random inputs of which seed."""

    job: str
    seed: int = 0

    @staticmethod
    def from_json(job: str, seed: int, body: Any) -> CheckRequest:
        """Without a seed of its own the one given. Errors: E-REQUEST-BODY."""
        fields = _object(body, "the request", {"seed"})
        given = fields.get("seed", seed)
        if not (type(given) is int and 0 <= given <= _MOST_SEED):
            raise _needed("seed", f"a number from 0 to {_MOST_SEED}", given)
        return CheckRequest(job, given)

    def to_json(self) -> dict[str, Any]:
        """The request with its kind and all defaults."""
        return {"kind": "check", **asdict(self)}


@dataclass(frozen=True, slots=True)
class BisectRequest:
    """Of which compilation (`job`) the rewrites are looked for that move its numbers.

    `moved` is as in `compiler.bisect.probe.Settings`.
    """

    job: str
    seed: int = 0
    moved: float | None = None

    @staticmethod
    def from_json(job: str, seed: int, body: Any) -> BisectRequest:
        """Without a seed of its own the one given. Errors: E-REQUEST-BODY."""
        fields = _object(body, "the request", {"seed", "moved"})
        checked = CheckRequest.from_json(job, seed, {k: fields[k] for k in fields if k == "seed"})
        moved = fields.get("moved")
        if moved is not None and not (type(moved) in (int, float) and 0 <= moved <= 1):
            raise _needed("moved", "null or a number from 0 to 1", moved)
        return BisectRequest(job, checked.seed, None if moved is None else float(moved))

    def to_json(self) -> dict[str, Any]:
        """The request with its kind and all defaults."""
        return {"kind": "bisect", **asdict(self)}


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """A compiled model whose kernels are to be timed again; `job` compiled it.

    `seconds` is about how long; `machine`: measure the speeds of the machine before, and keep them.
    """

    job: str
    seconds: float = 2.0
    machine: bool = False

    @staticmethod
    def from_json(job: str, body: Any) -> ProfileRequest:
        """Errors: E-REQUEST-BODY."""
        fields = _object(body, "the request", set(ProfileRequest.__slots__) - {"job"})
        seconds, machine = fields.get("seconds", 2.0), fields.get("machine", False)
        low, high = _PROFILE_SECONDS
        if type(seconds) not in (int, float) or not low <= seconds <= high:
            raise _needed("seconds", f"a number from {low:g} to {high:g}", seconds)
        if type(machine) is not bool:
            raise _needed("machine", "true or false", machine)
        return ProfileRequest(job, float(seconds), machine)

    def to_json(self) -> dict[str, Any]:
        """The request with its kind and all defaults."""
        return {"kind": "profile", **asdict(self)}


@dataclass(frozen=True, slots=True)
class TargetsRequest:
    """Of which kernel of a compiled model code is to be made for other machines."""

    job: str
    kernel: int

    @staticmethod
    def from_json(job: str, body: Any) -> TargetsRequest:
        """Errors: E-REQUEST-BODY."""
        kernel = _object(body, "the request", {"kernel"}).get("kernel")
        if type(kernel) is not int or not 0 <= kernel < _N_KERNELS:
            raise _needed("kernel", f"a number from 0 to {_N_KERNELS - 1}", kernel)
        return TargetsRequest(job, kernel)

    def to_json(self) -> dict[str, Any]:
        """The request with its kind."""
        return {"kind": "targets", **asdict(self)}


@dataclass(frozen=True, slots=True)
class TuneRequest:
    """A compiled model whose kernels, or one of them, are to be tuned, for how long and how."""

    job: str
    budget_seconds: float = 20.0
    search: str = "annealing"
    kernel: int | None = None
    seed: int = 0

    @staticmethod
    def from_json(job: str, body: Any, most_seconds: float) -> TuneRequest:
        """Errors: E-REQUEST-BODY."""
        fields = _object(body, "the request", set(TuneRequest.__slots__) - {"job"})
        seconds = fields.get("budget_seconds", min(20.0, most_seconds))
        if type(seconds) not in (int, float) or not 1 <= seconds <= most_seconds:
            raise _needed("budget_seconds", f"a number from 1 to {most_seconds:g}", seconds)
        search, kernel = fields.get("search", "annealing"), fields.get("kernel")
        if search not in _SEARCHES:
            raise _needed("search", f"one of {', '.join(_SEARCHES)}", search)
        if kernel is not None and not (type(kernel) is int and 0 <= kernel < _N_KERNELS):
            raise _needed("kernel", f"null or a number from 0 to {_N_KERNELS - 1}", kernel)
        seed = fields.get("seed", 0)
        if not (type(seed) is int and 0 <= seed < 2**31):
            raise _needed("seed", f"a number from 0 to {2**31 - 1}", seed)
        return TuneRequest(job, float(seconds), search, kernel, seed)

    def to_json(self) -> dict[str, Any]:
        """The request with its kind and all defaults."""
        return {"kind": "tune", **asdict(self)}


@dataclass(frozen=True, slots=True)
class ScheduleRequest:
    """Which kernel of a compiled model is to be run with which schedule."""

    job: str
    kernel: int
    text: str

    @staticmethod
    def from_json(job: str, body: Any) -> ScheduleRequest:
        """Errors: E-REQUEST-BODY."""
        fields = _object(body, "the request", {"kernel", "text"})
        kernel = fields.get("kernel")
        if type(kernel) is not int or not 0 <= kernel < _N_KERNELS:
            raise _needed("kernel", f"a number from 0 to {_N_KERNELS - 1}", kernel)
        return ScheduleRequest(job, kernel, _text(fields.get("text"), "text", _SCHEDULE_CHARACTERS))

    def to_json(self) -> dict[str, Any]:
        """The request with its kind."""
        return {"kind": "schedule", **asdict(self)}


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """Which stage of a compilation is to be an ONNX file; `fused`: each fusion as one function."""

    job: str
    stage: int
    fused: bool = False

    @staticmethod
    def from_json(job: str, stage: int, body: Any) -> ExportRequest:
        """Errors: E-REQUEST-BODY."""
        fused = _object(body, "the request", {"fused"}).get("fused", False)
        if type(fused) is not bool:
            raise _needed("fused", "true or false", fused)
        return ExportRequest(job, stage, fused)

    def to_json(self) -> dict[str, Any]:
        """The request with its kind and all defaults."""
        return {"kind": "export", **asdict(self)}


def schedule_text(body: Any) -> str:
    """The text of a schedule to check. Errors: E-REQUEST-BODY."""
    fields = _object(body, "the request", {"text"})
    return _text(fields.get("text"), "text", _SCHEDULE_CHARACTERS)


def pipeline_text(body: Any) -> str:
    """The text of a pipeline to check. Errors: E-REQUEST-BODY."""
    fields = _object(body, "the request", {"text"})
    return _text(fields.get("text"), "text", _PIPELINE_CHARACTERS)


def text_to_check(body: Any) -> tuple[str, str]:
    """Language and text of a model that is being written. Errors: E-REQUEST-BODY."""
    fields = _object(body, "the request", {"language", "text"})
    language, text = fields.get("language"), fields.get("text")
    if language not in LANGUAGES:
        raise _needed("language", f"one of {', '.join(LANGUAGES)}", language)
    # Longer texts are read as far as saying that they are too long.
    return language, _text(text, "text", 10 * PAGE_LIMITS.characters)


def whole_number(text: str | None, name: str, default: int, low: int, high: int) -> int:
    """A count in an address. Errors: E-REQUEST-BODY."""
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 12 and low <= int(text) <= high):
        raise _needed(name, f"a whole number from {low} to {high}", text)
    return int(text)


def _model(value: Any) -> dict[str, str]:
    fields = _object(value, "model", {"sample", "upload"})
    if len(fields) != 1:
        raise _needed("model", 'exactly one of "sample" and "upload"', sorted(fields))
    return {k: _text(v, f"model.{k}", _NAME_CHARACTERS) for k, v in fields.items()}


def _rules(value: Any) -> list[str]:
    if not isinstance(value, list) or len(value) > _N_RULES:
        raise _needed("without", f"at most {_N_RULES} rules", value)
    return [_text(each, "without", _RULE_CHARACTERS) for each in value]


def _shapes(value: Any) -> dict[str, list[int]]:
    fields = _object(value, "shapes", None)
    if len(fields) > _N_SHAPES:
        raise _needed("shapes", f"at most {_N_SHAPES} shapes", f"{len(fields)} shapes")
    for name, dims in fields.items():
        fits = isinstance(dims, list) and len(dims) <= _RANK
        if not fits or not all(type(d) is int and 0 <= d <= _DIM for d in dims):
            raise _needed(f"shapes.{name[:60]}", f"up to {_RANK} sizes from 0 to {_DIM}", dims)
    return fields


def _options(value: Any) -> Options:
    fields = _object(value, "options", set(Options.__slots__))
    defaults = Options()
    for name, given in fields.items():
        wanted = type(getattr(defaults, name))
        if type(given) is not wanted:
            raise _needed(f"options.{name}", _KINDS[wanted], given)
    for name, most in (("threads", _N_THREADS), ("seed", _MOST_SEED)):
        if not 0 <= fields.get(name, 0) <= most:
            raise _needed(f"options.{name}", f"a number from 0 to {most}", fields[name])
    for name in ("target", "precision"):
        _text(fields.get(name, ""), f"options.{name}", _NAME_CHARACTERS)
    return Options(**fields)


_KINDS = {str: "a text", int: "a whole number", bool: "true or false"}


def _object(value: Any, name: str, allowed: set[str] | None) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _needed(name, "an object", value)
    for key in value:
        if allowed is not None and key not in allowed:
            raise _needed(name, f"only the fields {', '.join(sorted(allowed))}", key)
    return value


def _text(value: Any, name: str, limit: int) -> str:
    if not isinstance(value, str) or len(value) > limit:
        raise _needed(name, f"a text of at most {limit:,} characters", value)
    return value


def _needed(name: str, needed: str, got: Any) -> CompileError:
    return CompileError("E-REQUEST-BODY", f"{name}: needed {needed}, got {got!r:.80}")
