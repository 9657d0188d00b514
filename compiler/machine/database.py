"""The database of tuned schedules: SQLite, one row per computation and machine.

Python's `sqlite3` module suffices: a single command writes the only table, and each process reads
the entire table once. An object-relational mapper would only add a dependency to each compilation.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import field, replace
from os import PathLike
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any

import llvmlite

from compiler import __version__
from compiler.cache.directory import kept_directory
from compiler.cache.notices import say_refused
from compiler.cache.trust import NotPrivate, make_folder, open_private, require
from compiler.compute.computation import Computation
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.machine.keep import processor
from compiler.targets.options import CodeOptions
from compiler.targets.target import Target

if TYPE_CHECKING:
    import sqlite3

FORMAT = 1
"""The version of the row format; a database of another version is rejected."""

LANGUAGE = 2
"""The version of the schedule language; rows of older versions are ignored."""

_TABLE = """
create table if not exists schedules (
    computation text not null,
    machine text not null,
    name text not null,
    schedule text not null,
    seconds real not null,
    untuned_seconds real not null,
    n_tried integer not null,
    why_stopped text not null,
    search text not null,
    seed integer not null,
    written real not null,
    primary key (computation, machine)
)
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """The result of tuning a computation on a machine.

    `schedule` is the text of the best schedule, or "" if no schedule was faster than the policy's
    schedule by more than noise. Seconds are per call. `why_stopped` is budget, converged, exhausted
    or interrupted.
    """

    computation: str
    name: str
    schedule: str
    seconds: float
    untuned_seconds: float
    n_tried: int
    why_stopped: str
    search: str
    seed: int


def computation_key(computation: Computation, constants: frozenset[str]) -> str:
    """Return the database key of a computation and its constants; the key ignores `origins`."""
    text = f"{replace(computation, origins=())}\0{sorted(constants)}"
    return hashlib.sha256(text.encode()).hexdigest()


def machine_key(options: CodeOptions) -> str:
    """Return the key of a machine: processor, features, threads, versions of code generators."""
    t: Target = options.target
    caches = (t.l1d_bytes, t.l2_bytes, t.l3_bytes)
    facts = (
        FORMAT,
        LANGUAGE,
        __version__,
        llvmlite.__version__,
        processor(),
        t.triple,
        t.cpu,
        t.features,
    )
    whole = "\0".join(map(str, (*facts, *caches, options.threads)))
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


def default_path() -> Path | None:
    """Return the path of the user's database; None if caching is disabled."""
    directory = kept_directory("measured")
    return None if directory is None else directory / "schedules.sqlite"


def usable_path() -> Path | None:
    """Return the path of the user's database, if this program can read its schedules."""
    path = default_path()
    try:
        if path is None or not path.is_file():
            return None
        Database(path).entries("")
    except (CompileError, OSError):
        return None
    return path


class Database:
    """A file of schedules. Errors: E-TUNE-DATABASE for a damaged or unwritable file."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)

    def entries(self, machine: str) -> dict[str, Entry]:
        """Return all entries for a machine, by computation; {} if the file does not exist."""
        if not self.path.exists():
            return {}
        import sqlite3  # imported only here, since most compilations find no database

        try:
            rows = self._rows(machine)
        except sqlite3.Error as e:
            raise self._broken(str(e)) from e
        found = (Entry(*row) for row in rows)
        return {e.computation: e for e in found}

    def put(self, machine: str, entry: Entry) -> None:
        """Write an entry; replace any entry for the same computation and machine."""
        try:
            if self.path == default_path():
                make_folder(self.path.parent)
            else:
                self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise self._broken(str(e)) from e
        values = (entry.computation, machine, entry.name, entry.schedule, entry.seconds)
        more = (entry.untuned_seconds, entry.n_tried, entry.why_stopped, entry.search, entry.seed)
        with self._open() as connection:
            connection.execute(
                "insert or replace into schedules values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*values, *more, time()),
            )
            connection.commit()

    def _rows(self, machine: str) -> list[tuple[Any, ...]]:
        """Read the rows of a machine from the file, which may be read-only."""
        import sqlite3

        self._require_private(os.O_RDONLY)
        address = f"{self.path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, timeout=10, uri=True)) as connection:
            _distrust(connection)
            if self._version(connection) == 0:
                return []  # an empty file
            return connection.execute(
                "select computation, name, schedule, seconds, untuned_seconds, n_tried, "
                "why_stopped, search, seed from schedules where machine = ?",
                (machine,),
            ).fetchall()

    def _version(self, connection: sqlite3.Connection) -> int:
        (version,) = connection.execute("pragma user_version").fetchone()
        if version not in (0, FORMAT):
            raise self._broken(f"its format is {version}, this program needs {FORMAT}")
        return version

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        import sqlite3

        self._require_private(os.O_RDWR | os.O_CREAT)
        try:
            with closing(sqlite3.connect(self.path, timeout=10)) as connection:
                _distrust(connection)
                self._version(connection)
                connection.execute(_TABLE)
                connection.execute(f"pragma user_version = {FORMAT}")
                yield connection
        except sqlite3.Error as e:
            raise self._broken(str(e)) from e

    def _require_private(self, flags: int) -> None:
        """Check that no other user could have written the user's own database.

        `flags` open the file. A file that the user names is trusted. Errors: E-TUNE-DATABASE.
        """
        if self.path != default_path():
            return
        try:
            require(self.path.parent)
            os.close(open_private(self.path, flags))
        except NotPrivate as e:
            say_refused(self.path.parent, e.refusal)
            raise self._broken(str(e.refusal)) from e
        except OSError as e:
            raise self._broken(str(e)) from e

    def _broken(self, why: str) -> CompileError:
        return CompileError(
            "E-TUNE-DATABASE",
            f"the database of schedules {self.path} cannot be used: {why}",
            hint="name another file with --database, or move this file away",
        )


@dataclass(eq=False)
class Tuned:
    """The tuned schedules for a compilation, by computation key.

    `used` has the keys of the schedules that the compilation found here. A schedule that is no
    longer legal for its computation is ignored.
    """

    source: str
    schedules: Mapping[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def __call__(self, computation: Computation, constants: frozenset[str]) -> str | None:
        """Return the tuned schedule of a computation with these constants, or None."""
        key = computation_key(computation, constants)
        found = self.schedules.get(key)
        if found:
            self.used.add(key)
        return found or None

    def __str__(self) -> str:
        n = len(self.used)
        kernels = "1 kernel runs a schedule" if n == 1 else f"{n} kernels run schedules"
        return f"{kernels} tuned on this machine ({self.source})"


def _distrust(connection: sqlite3.Connection) -> None:
    """Refuse functions in the schema of a database, and check its pages."""
    connection.execute("pragma trusted_schema = off")
    connection.execute("pragma cell_size_check = on")


def tuned_schedules(path: str | PathLike[str] | None, options: CodeOptions) -> Tuned | None:
    """Return the schedules of a database (default: the user's) for this machine.

    The result is None if there are no schedules, or if the code is for another machine. A damaged
    database of the user is treated as empty. Errors: E-TUNE-DATABASE for a damaged database given
    by `path`.
    """
    if options.target.name != "host":
        return None
    file = default_path() if path is None else Path(path)
    if file is None:
        return None
    try:
        entries = Database(file).entries(machine_key(options))
    except CompileError:
        if path is not None:
            raise
        return None
    schedules = {key: e.schedule for key, e in entries.items() if e.schedule}
    return Tuned(str(file), schedules) if schedules else None
