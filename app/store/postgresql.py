"""The settings of PostgreSQL connections: limits on waiting for a server that does not answer."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import URL, Engine, create_engine

from compiler.errors import CompileError

_PARAMETERS: Mapping[str, str | int] = {
    "application_name": "compilarium",
    "connect_timeout": 10,
    # A machine that vanished from the network is noticed after 20 s.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 20_000,
    # A process that was stopped within a transaction must not hold its locks.
    "options": "-c lock_timeout=10s -c idle_in_transaction_session_timeout=10s",
}
"""Parameters of libpq, unless the URL has them. Units: seconds, but `tcp_user_timeout` in ms."""


def postgresql_engine(url: URL) -> Engine:
    """Create an engine with a pool of connections, each of which is tested before its use.

    Errors: E-OPTION-VALUE if the driver is not installed.
    """
    parameters = {name: value for name, value in _PARAMETERS.items() if name not in url.query}
    try:
        return create_engine(
            url.set(drivername="postgresql+psycopg"), pool_pre_ping=True, connect_args=parameters
        )
    except ModuleNotFoundError:
        message = "the database is PostgreSQL, and its driver psycopg is not installed"
        hint = 'pip install "compilarium[postgresql]"'
        raise CompileError("E-OPTION-VALUE", message, hint=hint) from None
