"""The database: SQLite in the data folder, or the database named by an SQLAlchemy URL.

The database opens at the first use, so the start of a server does not wait for it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import URL, Connection, Engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.orm import Session
from sqlalchemy.pool import ConnectionPoolEntry

from app.store.copies import keep_copy
from app.store.dialects import announce
from app.store.postgresql import postgresql_engine
from app.store.sqlite import READING, foreign_orphans, let_migrate, require_local, sqlite_engine
from app.store.watch import Watch
from compiler.errors import CompileError

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

log = logging.getLogger("compilarium.store")

MIGRATIONS = Path(__file__).resolve().parent / "migrations"
_TABLES_LOCK = 0x636F6D70696C61
"""The key of the advisory lock that guards the tables in PostgreSQL."""


FILE_NAME = "compilarium.db"
"""The file of a SQLite database in the data folder."""


def sqlite_url(folder: Path) -> str:
    """Return the URL of the database in this data folder."""
    return f"sqlite:///{folder.resolve() / FILE_NAME}"


def absolute(url: str) -> str:
    """Return a URL that means the same in another working folder."""
    if not url:
        return url
    made = _parsed(url)
    if made.get_backend_name() == "sqlite" and made.database and made.database != ":memory:":
        made = made.set(database=str(Path(made.database).resolve()))
    return made.render_as_string(hide_password=False)


class Database:
    """A database, with sessions from any thread. With `migrates` off, its tables are not migrated.

    Errors: E-OPTION-VALUE for an unknown URL, and for a SQLite file on a network file system; at
    the first use, E-DATA-NEWER for tables that a newer program has made, and the errors of
    `keep_copy`.
    """

    def __init__(self, url: str, *, migrates: bool = True) -> None:
        self.url, self.migrates = _parsed(url), migrates
        if self.url.get_backend_name() == "sqlite" and self.url.database:
            require_local(Path(self.url.database))
        self._engine: Engine | None = None
        self._opening = threading.Lock()
        self.watch = Watch(lambda: self.engine)

    @contextmanager
    def session(self) -> Generator[Session]:
        """Open a session; commit at the end of the `with` block, or roll back on an exception."""
        with Session(self.engine) as session, session.begin():
            yield session

    @contextmanager
    def reading(self) -> Generator[Session]:
        """Open a session that only reads: in SQLite it waits for no other session."""
        with Session(self.engine.execution_options(**{READING: True})) as session, session.begin():
            yield session

    @property
    def engine(self) -> Engine:
        """Return the engine, and migrate its tables at the first use."""
        with self._opening:
            if self._engine is None:
                engine = _engine(self.url)
                if self.migrates:
                    _migrate(engine)
                self._engine = engine
            return self._engine

    def prepare(self) -> None:
        """Open the database and migrate it, ahead of its use.

        Errors: E-OPTION-VALUE if it cannot be used; else those of the class.
        """
        try:
            _ = self.engine
        except (DBAPIError, OSError) as e:
            error = getattr(e, "orig", e)
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            message = f"the database cannot be used: {reason:.200}"
            hint = "check the settings data_folder and database_url"
            raise CompileError("E-OPTION-VALUE", message, hint=hint) from e

    def exists(self) -> bool:
        """Return whether the database may have rows: a SQLite file is created at the first use."""
        file = self.url.database if self.url.get_backend_name() == "sqlite" else None
        return not file or Path(file).exists()

    @contextmanager
    def changing(self) -> Generator[Connection]:
        """Open a transaction that writes, and wake the threads that wait for changes."""
        with self.engine.begin() as connection:
            yield connection
            announce(connection)
        self.watch.poke()

    @contextmanager
    def looking(self) -> Generator[Connection]:
        """Open a transaction that only reads: in SQLite it waits for no other transaction."""
        with self.engine.execution_options(**{READING: True}).begin() as connection:
            yield connection

    def close(self) -> None:
        """Close the connections; those in use are closed after their use.

        A later use of the database opens new connections.
        """
        self.watch.close()
        with self._opening:
            if self._engine is not None:
                event.listen(self._engine.pool, "checkin", _close)
                self._engine.dispose()
                self._engine = None


def _migrate(engine: Engine) -> None:
    """Run the missing migrations in one transaction, after a copy of a SQLite database."""
    with engine.connect() as connection:
        let_migrate(connection)
        with connection.begin():
            _alone(connection)
            before, head = revision_of(connection), _scripts().get_current_head()
            require_known(before, "the database")
            if before == head:
                return
            kept = _kept(engine, before, str(head)) if before else ""
            orphans = foreign_orphans(connection)
            try:
                upgrade(connection)
                if len(foreign_orphans(connection)) > len(orphans):
                    raise RuntimeError("the migration leaves rows that refer to missing rows")
            except Exception:
                log.error("the migration failed, and the database is as before%s", kept)
                raise


def _kept(engine: Engine, before: str, head: str) -> str:
    """Copy a database before its migration, and return words on the copy for the log."""
    words = f"the database is migrated from version {before} to {head}"
    file = engine.url.database if engine.dialect.name == "sqlite" else None
    if engine.dialect.name != "sqlite":
        log.warning("%s; its copies are made with pg_dump, not by this program", words)
    elif file and file != ":memory:":
        copy = keep_copy(Path(file), before)
        log.warning("%s; a copy of version %s is %s", words, before, copy)
        return f"; its copy is {copy}"
    return ""


def _close(connection: DBAPIConnection | None, _: ConnectionPoolEntry) -> None:
    if connection is not None:
        connection.close()


def _alone(connection: Connection) -> None:
    """Lock the tables against other processes until this transaction commits.

    Without this lock, two processes may create the same table in PostgreSQL. A transaction of
    SQLite has this lock already.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL lock_timeout = 0")  # others may migrate for long
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_TABLES_LOCK})")


def revision_of(connection: Connection) -> str:
    """Return the version of the tables in a database; "" if it has no tables."""
    from alembic.migration import MigrationContext

    return MigrationContext.configure(connection).get_current_revision() or ""


def require_known(revision: str, what: str) -> None:
    """Check that this program has the migrations of a version. Errors: E-DATA-NEWER."""
    scripts = _scripts()
    known = {script.revision for script in scripts.walk_revisions()}
    if revision and revision not in known:
        raise CompileError(
            "E-DATA-NEWER",
            f"{what} has tables of version {revision}, and this program knows versions up to "
            f"{scripts.get_current_head()}",
        )


def _scripts() -> ScriptDirectory:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    return ScriptDirectory.from_config(_with_scripts(Config()))


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Run the missing migrations on a connection, up to this version. Errors: E-DATA-NEWER."""
    from alembic import command

    require_known(revision_of(connection), "the database")
    command.upgrade(_migrations(connection), revision)


def downgrade(connection: Connection, revision: str) -> None:
    """Revert migrations down to this version; "base" is the state before the first migration."""
    from alembic import command

    command.downgrade(_migrations(connection), revision)


def _migrations(connection: Connection) -> Config:
    from alembic.config import Config

    config = _with_scripts(Config())
    config.attributes["connection"] = connection
    return config


def _with_scripts(config: Config) -> Config:
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def _parsed(url: str) -> URL:
    """Parse the URL of a database. Errors: E-OPTION-VALUE."""
    made: URL | None = None
    with suppress(ArgumentError):
        made = make_url(url)
    if made is None or made.get_backend_name() not in _ENGINES:
        raise CompileError(
            "E-OPTION-VALUE",
            "the URL of the database is neither of SQLite nor of PostgreSQL",
            hint="COMPILARIUM_DATABASE_URL=postgresql+psycopg://USER:PASSWORD@HOST/NAME",
        )
    return made


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite" and url.database:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return _ENGINES[url.get_backend_name()](url)


_ENGINES: Mapping[str, Callable[[URL], Engine]] = {
    "sqlite": sqlite_engine,
    "postgresql": postgresql_engine,
}
