"""Storage of this machine's measured speeds, in a file keyed by all facts that affect the
speeds."""

from __future__ import annotations

import hashlib
import json
import platform
from functools import cache
from pathlib import Path

import llvmlite

from compiler import __version__
from compiler.cache.directory import kept_directory
from compiler.cache.store import GuardedStore
from compiler.machine.machine import Machine, estimated
from compiler.targets.target import Target, host

FORMAT = 2

LIMIT_BYTES = 1 << 20
"""Maximum size in bytes of a file of speeds."""


@cache
def processor() -> str:
    """Return the processor's name, a label on which no decision depends."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        return next(x.partition(":")[2].strip() for x in lines if x.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def key_of(target: Target) -> str:
    """Return the key of measured speeds: processor, features, and versions of code generators."""
    facts = (FORMAT, __version__, llvmlite.__version__, processor(), *_facts(target))
    return hashlib.sha256("\0".join(map(str, facts)).encode()).hexdigest()[:16]


def kind_of(target: Target) -> str:
    """Return the digest of a kind of machine; measured times and code are valid for one kind."""
    facts = map(str, (processor(), *_facts(target)))
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()[:16]


def _facts(target: Target) -> tuple[object, ...]:
    caches = (target.l1d_bytes, target.l2_bytes, target.l3_bytes)
    return (target.triple, target.cpu, target.features, *caches, target.n_cores)


def path() -> Path | None:
    """Return the path of this machine's file; None if caching is disabled."""
    directory = kept_directory("measured")
    return None if directory is None else directory / f"machine-{key_of(host())}.json"


def keep(machine: Machine) -> Path | None:
    """Write the speeds; return the path of the file, or None if no directory is writable."""
    _forget()
    file = path()
    if file is None:
        return None
    text = json.dumps(machine.to_json(), indent=1)
    return file if _files(file).write(file.name, text.encode()) else None


def _files(file: Path) -> GuardedStore:
    return GuardedStore(file.parent, LIMIT_BYTES)


def give(machine: Machine, measured_at: float) -> None:
    """Use these measured speeds in this process, which cannot read their file."""
    global _given
    _given = (machine, measured_at)


_given: tuple[Machine, float] | None = None


def known() -> Machine:
    """Return this machine's measured speeds, or estimates; a damaged file is ignored."""
    if _given is not None:
        return _given[0]
    file = path()
    return estimated(host()) if file is None else _read(file)


def refresh() -> None:
    """Load the speeds again if their file has changed."""
    global _stamp
    file = path()
    try:
        facts = file.stat() if file is not None else None
    except OSError:
        facts = None
    stamp = (str(file), facts and (facts.st_mtime_ns, facts.st_size, facts.st_ino))
    if stamp != _stamp:
        _forget()
        _stamp = stamp
    measured_at()


_stamp: object = None


def _forget() -> None:
    _read.cache_clear()
    _written.cache_clear()


def measured_at() -> float | None:
    """Return the time of the stored measurement, in Unix seconds; None for estimates."""
    if _given is not None:
        return _given[1]
    file = path()
    return _written(file) if file is not None and known().is_measured else None


@cache
def _written(file: Path) -> float | None:
    try:
        return file.stat().st_mtime
    except OSError:
        return None


@cache
def _read(file: Path) -> Machine:
    text = _files(file).read(file.name)
    try:
        return estimated(host()) if text is None else Machine.from_json(json.loads(text))
    except (ValueError, TypeError):  # written by another version
        return estimated(host())


def machine_of(target: Target) -> Machine:
    """Return the speeds of a target: this machine's speeds for the host, else estimates."""
    return known() if target.name == "host" else estimated(target)
